//! The IR pass: adds what code for a GPU needs and rustc can't express. Text in, text out, before any optimisation.
//!
//! rustc has no address spaces, does not mark inline assembly as convergent, and writes more debug information than
//! line tables need. Each file here corrects one of these.

mod bounds;
mod convergence;
mod cpu;
mod debug;
mod floats;
mod maps;
mod memory;
mod scopes;
mod size;

use std::path::Path;

use crate::options::DebugInfo;

/// Inputs of the pass beside the module.
pub(super) struct Settings<'a> {
    pub debug: DebugInfo,
    pub ftz: bool,
    /// Source files below it are named relative to it.
    pub workspace: &'a Path,
    /// The architecture of the build, as attributes name it: `sm_90`.
    pub cpu: &'a str,
}

/// Result of the pass.
#[derive(Debug)]
pub(super) struct Passed {
    /// The module.
    pub module: String,
    /// Symbols that must stay visible: the host writes them by name.
    pub keep: Vec<String>,
}

/// Runs the whole pass.
///
/// # Errors
/// A sentence about the kernel crate, where it breaks a rule of the device.
pub(super) fn run(module: &str, settings: &Settings<'_>) -> Result<Passed, String> {
    let module = bounds::apply(module)?;
    let module = maps::apply(&module)?;
    let placed = memory::place(&scopes::flatten(&module, settings.debug))?;
    let mut groups = convergence::function_groups(&placed.module);
    groups.sort_unstable();
    groups.dedup();
    let mut out = String::with_capacity(placed.module.len() + placed.module.len() / 16);
    for line in placed.module.lines() {
        let line = convergence::mark(line, &groups);
        let line = size::shrink(&line).unwrap_or(line);
        let line = debug::rename(&debug::shorten(&line, settings.debug), settings.workspace);
        let line = cpu::set(&line, settings.cpu);
        let line = if settings.ftz { floats::flush(&line, &groups) } else { line };
        out.push_str(&line);
        out.push('\n');
    }
    if settings.ftz {
        floats::add_flag(&mut out);
    }
    Ok(Passed { module: out, keep: placed.keep })
}
