//! The log: calls that are not supported, and why code could not be loaded.

use std::collections::BTreeSet;
use std::io::Write;
use std::sync::{Mutex, PoisonError};

/// Writes a line that was not written before: to the file that `RUSTWARP_SIM_LOG` names, or to the standard error
/// output.
pub fn once(text: &str) {
    static WRITTEN: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());
    if !WRITTEN.lock().unwrap_or_else(PoisonError::into_inner).insert(text.to_owned()) {
        return;
    }
    let line = format!("cudart_sim: {text}\n");
    let path = std::env::var("RUSTWARP_SIM_LOG").ok().filter(|path| !path.is_empty() && path != "-");
    let file = path.and_then(|path| std::fs::File::options().create(true).append(true).open(path).ok());
    match file {
        // A log that cannot be written is not worth an error of the program.
        Some(mut file) => drop(file.write_all(line.as_bytes())),
        // SAFETY: the buffer has as many bytes.
        None => drop(unsafe { libc::write(2, line.as_ptr().cast(), line.len()) }),
    }
}
