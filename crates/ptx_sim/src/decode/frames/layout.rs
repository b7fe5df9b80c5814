//! Places of a frame's variables, far from each other.

use super::debug::Local;
use crate::syntax::tree::Part;
use std::ops::Range;

/// Smallest and largest distance between two parts in bytes.
const GAPS: Range<u64> = 64..4096;
/// Bytes that the distances of a frame add at most, unless all are [`NARROW`]. Frames of many parts have shorter
/// distances, because a warp of CUB's unoptimised kernels has a thousand variables in each of its 32 threads.
const ADDED: u64 = 1 << 15;
/// Least distance between two parts.
const NARROW: u64 = 16;
/// Limit on the bytes that are added, with those of alignment.
const MOST_ADDED: u64 = 1 << 17;
/// Limits on the number of parts of a frame, and on its size in bytes.
const MOST: (usize, u64) = (1 << 13, 1 << 24);

/// A part of a frame before and after it is spread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Moved {
    /// Offset in the frame of the compiler.
    pub from: u64,
    /// The part where it lies now.
    pub part: Part,
    /// Whether it is one of more variables of the source, and not what lies between those.
    pub named: bool,
}

/// Divides a frame into parts, in order: the variables, where those that overlap are one part, and what lies between
/// them. `None` if the variables do not fit the frame.
pub fn parts(locals: &[Local], size: u64) -> Option<Vec<Moved>> {
    let mut locals: Vec<&Local> = locals.iter().collect();
    locals.sort_by_key(|local| (local.start, std::cmp::Reverse(local.size)));
    let mut parts: Vec<Moved> = Vec::new();
    let mut end = 0;
    for local in locals {
        let last = local.start.checked_add(local.size).filter(|last| *last <= size && local.size > 0)?;
        match parts.last_mut() {
            Some(part) if local.start < end => {
                part.part.size = part.part.size.max(last - part.from);
            }
            _ => {
                parts.extend(between(end, local.start));
                let part = Part { name: name(&local.name), start: local.start, size: local.size };
                parts.push(Moved { from: local.start, part, named: true });
            }
        }
        end = end.max(last);
    }
    parts.extend(between(end, size));
    (parts.len() <= MOST.0 && size <= MOST.1).then_some(parts)
}

/// What lies between two variables, if there is anything.
fn between(start: u64, end: u64) -> Option<Moved> {
    let part = Part { name: None, start, size: end.saturating_sub(start) };
    (part.size > 0).then_some(Moved { from: start, part, named: false })
}

/// Returns the name of a variable of the source. The front end's own variables have names such as `__T1`.
fn name(name: &str) -> Option<String> {
    let number = name.strip_prefix("__T").filter(|number| !number.is_empty());
    let own = number.is_some_and(|number| number.bytes().all(|byte| byte.is_ascii_digit()));
    (!own && !name.is_empty()).then(|| name.to_owned())
}

/// Gives the parts of a frame of `before` bytes their places, and returns the size of the frame, which grows by a
/// multiple of its alignment `align`, so that all calls are aligned as before. Gaps lie before the first part and
/// behind the last, too. `None` if the frame would become too large.
///
/// A part keeps its old offset modulo `widest`, the width of the widest access, and its own alignment up to `align`.
pub fn spread(parts: &mut [Moved], before: u64, align: u64, widest: u64) -> Option<u64> {
    let sizes: Vec<u64> = parts.iter().map(|moved| moved.part.size).collect();
    let size = |at: Option<usize>| at.and_then(|at| sizes.get(at)).copied().unwrap_or(0);
    let wide = |at: usize| size(at.checked_sub(1)).max(size(Some(at))).clamp(GAPS.start, GAPS.end);
    let most = (ADDED / (sizes.len() as u64 + 1)).max(NARROW);
    let gap = |at: usize| wide(at).min(most);
    let mut end = 0;
    for (at, moved) in parts.iter_mut().enumerate() {
        let start: u64 = end + gap(at);
        let own = 1_u64.checked_shl(moved.from.trailing_zeros()).unwrap_or(align).clamp(widest, align.max(widest));
        moved.part.start = start + moved.from.wrapping_sub(start) % own;
        end = moved.part.start + moved.part.size;
    }
    let added = (end + gap(sizes.len())).saturating_sub(before).next_multiple_of(align.max(widest));
    (added <= MOST_ADDED).then_some(before + added)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn local(name: &str, start: u64, size: u64) -> Local {
        Local { name: name.to_owned(), start, size }
    }

    fn shape(parts: &[Moved]) -> Vec<(u64, u64, Option<&str>)> {
        parts.iter().map(|moved| (moved.from, moved.part.size, moved.part.name.as_deref())).collect()
    }

    #[test]
    fn a_frame_is_divided() {
        let locals = [local("b", 16, 16), local("a", 0, 12), local("__T3", 40, 8), local("c", 24, 12)];
        let parts = parts(&locals, 64).expect("they fit");
        let expected = [(0, 12, Some("a")), (12, 4, None), (16, 20, Some("b")), (36, 4, None), (40, 8, None)];
        assert_eq!(shape(&parts), [&expected[..], &[(48, 16, None)]].concat());
    }

    #[test]
    fn odd_variables_are_refused() {
        assert!(parts(&[local("a", 0, 16)], 12).is_none());
        assert!(parts(&[local("a", u64::MAX, 16)], 12).is_none());
        assert!(parts(&[local("a", 0, 0)], 12).is_none());
        let many: Vec<Local> = (0..9000).map(|at| local("a", at * 4, 4)).collect();
        assert!(parts(&many, 36000).is_none());
    }

    #[test]
    fn parts_keep_order_and_alignment() {
        let locals = [local("a", 0, 1), local("b", 1, 10), local("c", 16, 3000), local("d", 3016, 8000)];
        let mut parts = parts(&locals, 11016).expect("they fit");
        let size = spread(&mut parts, 11016, 16, 16).expect("it is not too large");
        let mut end = 0;
        for moved in &parts {
            assert_eq!(moved.part.start % 16, moved.from % 16);
            assert!(moved.part.start >= end + 64, "{moved:?}");
            end = moved.part.start + moved.part.size;
        }
        assert_eq!(parts[3].part.size, 3000);
        assert!((end + 4096..end + 4096 + 16).contains(&size) && (size - 11016).is_multiple_of(16), "{size}");
        assert!(parts[4].part.start - (parts[3].part.start + 3000) >= 4096);
        // Many variables are closer to each other.
        let many: Vec<Local> = (0..2000).map(|at| local("a", at * 8, 8)).collect();
        let mut parts = super::parts(&many, 16000).expect("they fit");
        let size = spread(&mut parts, 16000, 16, 16).expect("it is not too large");
        assert!((16000 + 2000 * 16..16000 + 2000 * 32).contains(&size), "{size}");
    }

    #[test]
    fn only_aligned_variables_are_aligned_and_frames_have_a_limit() {
        let locals = [local("a", 0, 4), local("b", 4096, 4), local("c", 4100, 40), local("d", 4160, 32)];
        let mut parts = parts(&locals, 8192).expect("they fit");
        let size = spread(&mut parts, 8192, 4096, 32).expect("it is not too large");
        let starts: Vec<u64> = parts.iter().map(|moved| moved.part.start).collect();
        assert!(starts[0].is_multiple_of(4096) && (size - 8192).is_multiple_of(4096), "{starts:?} {size}");
        assert!(parts.iter().all(|moved| moved.part.start % 32 == moved.from % 32), "{starts:?}");
        let aligned = parts.iter().find(|moved| moved.from == 4096).expect("b");
        assert!(aligned.part.start.is_multiple_of(4096), "{starts:?}");
        let many: Vec<Local> = (0..8000).map(|at| local("a", at * 4, 4)).collect();
        let mut parts = super::parts(&many, 32000).expect("they fit");
        assert_eq!(spread(&mut parts, 32000, 4096, 32), None);
    }
}
