//! Bugs planted into the PTX of a kernel for products, and what the simulator finds then.

use rustwarp::backend::Backend;
use rustwarp::{Diagnostic, Error, Result};

/// A wait for a barrier.
pub const WAIT: &str = "mbarrier.try_wait.parity.shared::cta.b64 ended";

/// The PTX of a family with one entry changed. `entry` is its start, from `.entry` to the parenthesis.
pub fn ptx(family: &str, entry: &str, change: impl Fn(&str) -> String) -> String {
    let image = rustwarp::ptx::find_family("kernels-gpu", family, None, None).expect("the kernels' PTX");
    let text = String::from_utf8(image.bytes).expect("PTX is text");
    let start = text.find(entry).expect("the kernel");
    let end = start + text[start..].find("\n}").expect("its end");
    format!("{}{}{}", &text[..start], change(&text[start..end]), &text[end..])
}

/// The simulator's findings, in order.
pub fn findings(device: &dyn Backend) -> Vec<Diagnostic> {
    device.observed().map(|observed| observed.findings).unwrap_or_default()
}

/// The codes of the simulator's findings, in order, and of the fault of a run.
pub fn codes(device: &dyn Backend, ran: &Result<()>) -> Vec<String> {
    let mut codes: Vec<_> = findings(device).iter().map(|finding| finding.code.to_string()).collect();
    if let Err(Error::Fault(fault)) = ran {
        codes.push(fault.code.to_string());
    }
    codes.dedup();
    codes
}

/// The entry with the last `what` before the first `before` changed, to the end of its line.
pub fn changed(entry: &str, before: &str, what: &str, change: impl Fn(&str) -> String) -> String {
    let end = entry.find(before).expect(before);
    let at = entry[..end].rfind(what).expect(what);
    let line = at + entry[at..].find('\n').expect("a line");
    format!("{}{}{}", &entry[..at], change(&entry[at..line]), &entry[line..])
}

/// The entry without what is at this place: the rest of the line becomes a comment.
pub fn without(entry: &str, place: Option<(usize, &str)>) -> String {
    let (at, what) = place.expect("an instruction");
    format!("{}// {what}{}", &entry[..at], &entry[at + what.len()..])
}

/// A descriptor of rows of 128 bytes without its start: the bytes of the leading dimension and of the stride, and the
/// swizzle's number.
pub const fn descriptor(leading: u64, stride: u64, swizzle: u64) -> u64 {
    swizzle << 62 | (stride / 16) << 32 | (leading / 16) << 16
}

/// The entry with other descriptors in the place of those that are `right`, to which the compiler may have added a
/// start.
pub fn with_descriptor(entry: &str, right: u64, wrong: u64) -> String {
    const START: u64 = 0x3fff;
    let mut found = false;
    let other = |digits: &str| {
        let bits = digits.parse::<u64>().ok().filter(|bits| bits & !START == right)?;
        found = true;
        Some((bits - right + wrong).to_string())
    };
    let changed = numbers(entry, other);
    assert!(found, "a descriptor {right:#x}");
    changed
}

/// The text with those numbers changed for which there is another text.
fn numbers(text: &str, mut other: impl FnMut(&str) -> Option<String>) -> String {
    let mut changed = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find(|c: char| c.is_ascii_digit()) {
        let (before, number) = rest.split_at(start);
        let end = number.find(|c: char| !c.is_ascii_digit()).unwrap_or(number.len());
        let (digits, after) = number.split_at(end);
        changed.push_str(before);
        changed.push_str(&other(digits).unwrap_or_else(|| digits.to_owned()));
        rest = after;
    }
    changed + rest
}

/// A [`WAIT`] that does not wait.
pub fn no_wait(line: &str) -> String {
    format!("setp.eq.u32 ended, 0, 0;{}", line.split_once(';').expect("an instruction").1)
}
