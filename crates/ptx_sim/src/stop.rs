//! Stops and findings: why a run ended and what the checkers found, each with the responsible party and every place
//! involved.

use crate::files::{Opened, Recorded, Unavailable};
use std::fmt;
use std::ops::Range;
use std::path::PathBuf;

/// Label in [`Diagnostic::related`] of a place whose call led to the place of the report.
pub(crate) const CALLED_HERE: &str = "called here:";

/// Classification of a stop by who has to act on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum StopKind {
    /// The program is wrong: an access out of bounds, a trap, a barrier in a divergent branch.
    Fault,
    /// The program may be correct, but the simulator does not support a feature that it uses.
    Unsupported,
    /// No thread can make progress, or the fuel is used up.
    Stuck,
    /// The launch or a call of the host API is wrong; no instruction is at fault.
    Usage,
}

/// A position in a source file.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Source {
    /// File name as the compiler wrote it.
    pub file: String,
    /// What the compiler recorded about the file.
    pub recorded: Recorded,
    /// Line number, from 1.
    pub line: u32,
    /// Column, from 1; 0 when unknown.
    pub column: u32,
    /// Demangled name of the inlined function that the line belongs to; `None` for the outermost function.
    pub function: Option<String>,
}

/// Position of an instruction, in the PTX and in the source language.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Place {
    /// Name of the PTX function.
    pub function: String,
    /// Line of the PTX text, from 1.
    pub ptx_line: u32,
    /// Column where the instruction starts on that line, from 1, a tab counting as one; 0 when unknown.
    pub ptx_column: u32,
    /// Text of that line, trimmed; the opcode when the text is not available.
    pub ptx: String,
    /// Source line, then the call sites that it was inlined into, innermost first. Empty without line tables.
    pub source: Vec<Source>,
}

/// One thread of a launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Thread {
    /// Block index, `%ctaid`.
    pub block: [u32; 3],
    /// Thread index, `%tid`.
    pub thread: [u32; 3],
}

/// Sort key for blocks in launch order: reports name the first block, regardless of the order in which workers find
/// occurrences.
pub(crate) fn block_order([x, y, z]: [u32; 3]) -> [u32; 3] {
    [z, y, x]
}

/// A titled report with places: the part that stops and findings have in common.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Diagnostic {
    /// Short, stable code for tests and scripts: `out-of-bounds`, `race-raw`.
    pub code: &'static str,
    /// One sentence that states the defect.
    pub title: String,
    /// Place of the defect.
    pub place: Option<Place>,
    /// Label of the place in a report of several places: `the later read`.
    pub label: Option<String>,
    /// The thread that executed the instruction.
    pub thread: Option<Thread>,
    /// Other places involved, each with a label.
    pub related: Vec<(String, Place)>,
    /// Facts that explain the defect.
    pub notes: Vec<String>,
    /// What to do next.
    pub help: Option<String>,
}

/// A defect that a checker found; the run continued.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Finding {
    /// An occurrence in the first block that has one.
    pub diagnostic: Diagnostic,
    /// Number of occurrences, those of the merged findings included.
    pub count: u64,
    /// Number of other findings that this one stands for: the same defect at the same source lines by other
    /// instructions, such as those of the other fields of a struct, or of the copies of an unrolled line.
    pub merged: u64,
    /// The bytes that the occurrences concern, counted from the start of the allocation that the title names; `None` if
    /// they are not in one allocation, or the checker does not record them.
    pub bytes: Option<Range<u64>>,
}

/// Error that ended a run early or prevented it from starting.
#[derive(Clone, Debug)]
pub struct Stop(Box<Details>);

#[derive(Clone, Debug)]
struct Details {
    kind: StopKind,
    diagnostic: Diagnostic,
    /// The lane of the thread, if one access of one lane is at fault.
    lane: Option<usize>,
    printed: String,
    findings: Vec<Finding>,
}

impl Diagnostic {
    /// Creates a report that has only a title.
    pub fn new(code: &'static str, title: impl Into<String>) -> Self {
        Self {
            code,
            title: title.into(),
            place: None,
            label: None,
            thread: None,
            related: Vec::new(),
            notes: Vec::new(),
            help: None,
        }
    }

    /// Returns the source line for the user to look at: the innermost line outside library code, of the place itself or
    /// of the nearest caller that has one. When all code is library code, the instruction's own line.
    pub fn user_source(&self) -> Option<&Source> {
        let place = self.headline()?;
        place.user_line().or_else(|| place.source.first())
    }

    /// Returns the place that [`Diagnostic::user_source`] belongs to.
    pub(crate) fn headline(&self) -> Option<&Place> {
        let place = self.place.as_ref()?;
        let mut chain = std::iter::once(place).chain(self.callers());
        chain.find(|place| place.user_line().is_some()).or(Some(place))
    }

    /// Returns the calls that led to the place, innermost first.
    pub(crate) fn callers(&self) -> impl Iterator<Item = &Place> {
        self.related.iter().filter(|(what, _)| what == CALLED_HERE).map(|(_, place)| place)
    }
}

impl Finding {
    /// Creates a finding that stands for itself alone.
    pub fn new(diagnostic: Diagnostic, count: u64) -> Self {
        Self { diagnostic, count, merged: 0, bytes: None }
    }

    /// Merges another finding of the same kind at the same place; the occurrence in the first block is kept.
    pub(crate) fn absorb(&mut self, other: Self) {
        let count = self.count + other.count;
        let block = |finding: &Self| finding.diagnostic.thread.map(|thread| block_order(thread.block));
        if block(&other) < block(self) {
            *self = other;
        }
        self.count = count;
    }
}

impl Stop {
    pub(crate) fn new(kind: StopKind, diagnostic: Diagnostic) -> Self {
        Self(Box::new(Details { kind, diagnostic, lane: None, printed: String::new(), findings: Vec::new() }))
    }

    pub(crate) fn usage(code: &'static str, title: impl Into<String>) -> Self {
        Self::new(StopKind::Usage, Diagnostic::new(code, title))
    }

    pub(crate) fn with_help(mut self, help: impl Into<String>) -> Self {
        self.0.diagnostic.help = Some(help.into());
        self
    }

    /// Adds a place that is involved.
    pub(crate) fn relate(&mut self, what: &str, place: Place) {
        self.0.diagnostic.related.push((what.to_owned(), place));
    }

    pub(crate) fn by_lane(mut self, lane: usize) -> Self {
        self.0.lane = Some(lane);
        self
    }

    pub(crate) fn lane(&self) -> Option<usize> {
        self.0.lane
    }

    pub(crate) fn with_run(mut self, printed: String, findings: Vec<Finding>) -> Self {
        self.0.printed = printed;
        self.0.findings = findings;
        self
    }

    /// Returns the classification by who has to act.
    pub fn kind(&self) -> StopKind {
        self.0.kind
    }

    /// Returns the short, stable code for tests and scripts: `out-of-bounds`, `trap`, `unknown-entry`.
    pub fn code(&self) -> &'static str {
        self.0.diagnostic.code
    }

    /// Returns the report that `Display` prints.
    pub fn diagnostic(&self) -> &Diagnostic {
        &self.0.diagnostic
    }

    /// Returns what the kernel had printed before the stop; the message of a panic is part of it.
    pub fn printed(&self) -> &str {
        &self.0.printed
    }

    /// Returns what the checkers had found before the stop.
    pub fn findings(&self) -> &[Finding] {
        &self.0.findings
    }
}

impl std::error::Error for Stop {}

impl Source {
    /// Returns the file that holds the text that was compiled.
    ///
    /// # Errors
    /// If there is none: the file has changed since, or is not on this machine.
    pub fn path(&self) -> Result<PathBuf, Unavailable> {
        self.open().found.map(|(path, _)| path)
    }

    /// Returns the text that was compiled.
    ///
    /// # Errors
    /// As [`Source::path`].
    pub fn text(&self) -> Result<String, Unavailable> {
        self.open().found.map(|(_, text)| text)
    }

    /// Returns the file's path for display: relative to the current folder if the file is below it, and otherwise as
    /// the compiler wrote it, or absolute if it is of another workspace.
    pub fn shown(&self) -> String {
        self.open().shown
    }

    fn open(&self) -> Opened {
        Opened::new(&self.file, &self.recorded)
    }
}

impl Place {
    /// Returns the first position outside library code, or else the instruction's own. For a report with callers,
    /// [`Diagnostic::user_source`] is more exact.
    pub fn user_source(&self) -> Option<&Source> {
        self.user_line().or_else(|| self.source.first())
    }

    /// Returns the first position outside library code.
    pub(crate) fn user_line(&self) -> Option<&Source> {
        self.source.iter().find(|source| !is_library(&source.file))
    }

    /// Whether the instruction belongs to CUB, Thrust or libcu++ alone: what CUDA's intrinsics do for them included.
    pub(crate) fn is_of_algorithm(&self) -> bool {
        self.user_line().is_none() && self.source.iter().any(|source| is_algorithm(&source.file))
    }
}

/// Whether a file is library code, which users rarely inspect: Rust's own library under the compilers' names for it,
/// packages from a registry, the device library under any path, and the headers of CUDA C++.
fn is_library(file: &str) -> bool {
    ["/library/core/", "/library/alloc/", "/library/stdarch/", "/rustc/", "/registry/src/", "cuda_std/src/"]
        .iter()
        .any(|part| file.contains(part))
        || is_algorithm(file)
        || is_cuda_header(file)
}

/// Whether a file belongs to CUB, Thrust or libcu++.
fn is_algorithm(file: &str) -> bool {
    let folders = ["cccl/", "cub/", "cuda/__", "cuda/std/", "thrust/"];
    included(file).is_some_and(|name| folders.iter().any(|folder| name.starts_with(folder)))
}

/// Whether a file is one of CUDA's other headers.
fn is_cuda_header(file: &str) -> bool {
    let Some(name) = included(file) else { return false };
    let header = name.strip_suffix(".h").or_else(|| name.strip_suffix(".hpp")).unwrap_or(name);
    name.starts_with("cooperative_groups/") || CUDA_HEADERS.contains(&header)
}

/// Returns the name under which a program includes a header of a folder `include`.
fn included(file: &str) -> Option<&str> {
    file.rsplit_once("/include/").map(|(_, name)| name)
}

/// Names of headers with device code, without `.h` and `.hpp`: a user's header may be in a folder of the same name.
#[rustfmt::skip]
const CUDA_HEADERS: [&str; 47] = [
    "cooperative_groups",
    "crt/common_functions", "crt/device_double_functions", "crt/device_fp128_functions", "crt/device_functions",
    "crt/math_functions", "crt/mma", "crt/sm_100_rt", "crt/sm_70_rt", "crt/sm_80_rt", "crt/sm_90_rt",
    "cuda/annotated_ptr", "cuda/atomic", "cuda/barrier", "cuda/discard_memory", "cuda/latch", "cuda/pipeline",
    "cuda/ptx", "cuda/semaphore",
    "cuda_awbarrier", "cuda_awbarrier_helpers", "cuda_awbarrier_primitives",
    "cuda_bf16", "cuda_fp16", "cuda_fp4", "cuda_fp6", "cuda_fp8",
    "cuda_pipeline", "cuda_pipeline_helpers", "cuda_pipeline_primitives",
    "cuda_surface_types", "cuda_texture_types", "device_atomic_functions",
    "nv/target",
    "sm_20_atomic_functions", "sm_20_intrinsics", "sm_30_intrinsics", "sm_32_atomic_functions", "sm_32_intrinsics",
    "sm_35_atomic_functions", "sm_35_intrinsics", "sm_60_atomic_functions", "sm_61_intrinsics",
    "surface_indirect_functions", "surface_types", "texture_indirect_functions", "texture_types",
];

/// Returns the name in the form of the source language, Rust or C++, without the types of parameters.
pub(crate) fn demangled(name: &str) -> String {
    if let (Err(_), true) = (rustc_demangle::try_demangle(name), name.starts_with("_Z"))
        && let Ok(symbol) = cpp_demangle::Symbol::new(name.as_bytes())
        && let Ok(readable) =
            symbol.demangle_with_options(&cpp_demangle::DemangleOptions::new().no_params().no_return_type())
    {
        return readable;
    }
    format!("{:#}", rustc_demangle::demangle(name))
}

impl fmt::Display for Thread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [x, y, z] = self.thread;
        write!(f, "block {}, thread ({x}, {y}, {z})", Triple(self.block))
    }
}

/// Displays an extent or index as `(x, y, z)`.
pub(crate) struct Triple(pub [u32; 3]);

impl fmt::Display for Triple {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [x, y, z] = self.0;
        write!(f, "({x}, {y}, {z})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_the_source() {
        assert_eq!(demangled("_ZN6kernel3sum17h0123456789abcdefE"), "kernel::sum");
        assert_eq!(demangled("_Z3addPKfS0_Pfi"), "add");
        assert_eq!(demangled("_ZN3app6reduceIfLi256EEEvPKT_PS1_"), "app::reduce<float, 256>");
        assert_eq!(demangled("_ZZ6reducePfE4tile"), "reduce(float*)::tile");
        for name in ["reduce", "_Z", "_Znonsense", "_ZN", ""] {
            assert_eq!(demangled(name), name);
        }
    }

    #[test]
    fn headers_of_cuda_and_of_the_user() {
        for file in ["cub/util_ptx.cuh", "cccl/thrust/detail/reference.h", "cuda/std/array", "cuda/__ptx/ptx.h"] {
            let file = format!("/opt/cuda/include/{file}");
            assert!(is_library(&file) && is_algorithm(&file), "{file}");
        }
        for file in ["sm_30_intrinsics.hpp", "crt/sm_70_rt.hpp", "cuda/barrier", "cooperative_groups/details/sync.h"] {
            let file = format!("/opt/cuda/include/{file}");
            assert!(is_library(&file) && !is_algorithm(&file), "{file}");
        }
        for file in
            ["cuda/x.cuh", "cuda/barrier.cuh", "sm_80_kernels.h", "nv/x.h", "crt/x.h", "cuda_fp_tools.h", "cub.h"]
        {
            let file = format!("p/include/{file}");
            assert!(!is_library(&file), "{file}");
        }
        assert!(!is_library("thrust/engine.cu"));
    }
}
