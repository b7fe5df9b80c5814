//! Bugs planted into the PTX of a kernel for products, and what the simulator finds then.

use rustwarp::backend::Backend;
use rustwarp::{Error, Result};

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

/// The codes of the simulator's findings, in order, and of the fault of a run.
pub fn codes(device: &dyn Backend, ran: &Result<()>) -> Vec<String> {
    let found = device.observed().map(|observed| observed.findings).unwrap_or_default();
    let mut codes: Vec<_> = found.iter().map(|finding| finding.code.to_string()).collect();
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

/// A [`WAIT`] that does not wait.
pub fn no_wait(line: &str) -> String {
    format!("setp.eq.u32 ended, 0, 0;{}", line.split_once(';').expect("an instruction").1)
}
