//! Places of a frame's variables, far from each other.

use super::debug::Local;
use crate::syntax::tree::Part;
use std::ops::Range;

/// Smallest and largest distance between two parts in bytes.
const GAPS: Range<u64> = 64..4096;
/// Limit on the bytes that the distances of a frame add, without those of alignment. Frames of many parts have shorter
/// distances, because a warp of CUB's unoptimised kernels has a thousand variables in each of its 32 threads.
const MOST_ADDED: u64 = 1 << 15;
/// Distance between two parts of a frame that has many.
const NARROW: u64 = 16;
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

/// Gives the parts their places, each with its old offset modulo `align`, and returns the size of the frame. Gaps lie
/// before the first part and behind the last, too.
pub fn spread(parts: &mut [Moved], align: u64) -> u64 {
    let sizes: Vec<u64> = parts.iter().map(|moved| moved.part.size).collect();
    let size = |at: Option<usize>| at.and_then(|at| sizes.get(at)).copied().unwrap_or(0);
    let wide = |at: usize| size(at.checked_sub(1)).max(size(Some(at))).clamp(GAPS.start, GAPS.end);
    let most = (MOST_ADDED / (sizes.len() as u64 + 1)).max(NARROW);
    let gap = |at: usize| wide(at).min(most);
    let mut end = 0;
    for (at, moved) in parts.iter_mut().enumerate() {
        let start: u64 = end + gap(at);
        moved.part.start = start + moved.from.wrapping_sub(start) % align;
        end = moved.part.start + moved.part.size;
    }
    end + gap(sizes.len())
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
        let size = spread(&mut parts, 16);
        let mut end = 0;
        for moved in &parts {
            assert_eq!(moved.part.start % 16, moved.from % 16);
            assert!(moved.part.start >= end + 64, "{moved:?}");
            end = moved.part.start + moved.part.size;
        }
        assert_eq!((parts[3].part.size, size), (3000, end + 4096));
        assert!(parts[4].part.start - (parts[3].part.start + 3000) >= 4096);
        // Many variables are closer to each other.
        let many: Vec<Local> = (0..2000).map(|at| local("a", at * 8, 8)).collect();
        let mut parts = super::parts(&many, 16000).expect("they fit");
        let size = spread(&mut parts, 16);
        assert!((16000 + 2000 * 16..16000 + 2000 * 32).contains(&size), "{size}");
    }
}
