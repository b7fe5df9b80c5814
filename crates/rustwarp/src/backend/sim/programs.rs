//! Modules that several simulators load, which are parsed once.

use crate::sync::lock;
use ptx_sim::{ParseError, Program};
use std::sync::{Arc, Mutex, Weak};

/// The program of a PTX text. The devices of a group load the same kernels, and parsing those of a family takes longer
/// than running a small one.
///
/// # Errors
/// Those of [`Program::parse`].
pub(super) fn parsed(text: &str) -> Result<Arc<Program>, ParseError> {
    /// The programs that simulators have loaded, with the lengths of their texts.
    static LOADED: Mutex<Vec<(usize, Weak<Program>)>> = Mutex::new(Vec::new());
    let like: Vec<_> = lock(&LOADED).iter().filter(|(len, _)| *len == text.len()).map(|(_, one)| one.clone()).collect();
    if let Some(same) = like.iter().filter_map(Weak::upgrade).find(|one| *one.source() == *text) {
        return Ok(same);
    }
    // Two threads may parse the same text; each result is right.
    let program = Arc::new(Program::parse(text)?);
    let mut loaded = lock(&LOADED);
    loaded.retain(|(_, one)| one.strong_count() > 0);
    loaded.push((text.len(), Arc::downgrade(&program)));
    Ok(program)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn simulators_share_the_program_of_a_text() {
        let text = |name: &str| format!(".version 7.8\n.target sm_90\n.address_size 64\n.entry {name}() {{ ret; }}\n");
        let one = parsed(&text("shared_a")).expect("PTX");
        let [same, other] = ["shared_a", "shared_b"].map(|name| parsed(&text(name)).expect("PTX"));
        assert!(Arc::ptr_eq(&one, &same) && !Arc::ptr_eq(&one, &other));
        let weak = Arc::downgrade(&one);
        drop((one, same));
        assert_eq!(weak.strong_count(), 0, "a program is released with its last simulator");
        assert!(parsed("no PTX").is_err());
    }
}
