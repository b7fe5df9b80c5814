//! The entries of a module.

use crate::backend::observed::Entry;

/// The entries of PTX that the simulator can read.
pub fn entries(image: &[u8]) -> Option<Vec<Entry>> {
    let program = ptx_sim::Program::parse(std::str::from_utf8(image).ok()?).ok()?;
    let entry = |function: &ptx_sim::program::Function| Entry {
        name: function.name.clone(),
        params: function.params.iter().map(|param| (param.name.clone(), param.size)).collect(),
    };
    Some(program.entries().map(entry).collect())
}
