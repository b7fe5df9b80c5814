//! Options of a build.

use std::hash::{DefaultHasher, Hash, Hasher};

/// How much the PTX records about the Rust source.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum DebugInfo {
    /// No line information.
    None,
    /// `.loc` directives with inlined-at chains, from which profilers and the simulator name Rust lines. Generated code
    /// is the same as without them.
    #[default]
    LineTables,
    /// Debug sections for cuda-gdb as well; ptxas optimises less when it sees them.
    Full,
}

impl DebugInfo {
    /// Value of `-Cdebuginfo`. Line tables need level 1, which keeps the names of inlined functions.
    pub(crate) fn rustc_level(self) -> &'static str {
        match self {
            Self::None => "0",
            Self::LineTables => "1",
            Self::Full => "2",
        }
    }

    /// Suffix of cargo's target folder: different flags for rustc in one folder would compile everything again.
    pub(crate) fn folder_suffix(self) -> &'static str {
        match self {
            Self::LineTables => "",
            Self::None => "-no-lines",
            Self::Full => "-debug",
        }
    }
}

/// How the entries of a crate are divided into PTX modules.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Modules {
    /// One module with all entries.
    #[default]
    Whole,
    /// One module per family, which is a top-level Rust module of the crate. Entries at the root of the crate form a
    /// module with the crate's name. An edit rebuilds only the families whose code it changes.
    PerFamily,
}

/// Options of code generation.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Options {
    /// Whether to optimise by `-O3`; otherwise only the passes that correct code needs are run.
    pub optimise: bool,
    pub debug: DebugInfo,
    pub ftz: bool,
    pub fast_div: bool,
    pub fast_sqrt: bool,
    pub fma_contraction: bool,
    /// PTX ISA version, `major * 10 + minor`.
    pub ptx: u32,
    pub modules: Modules,
    /// Of [`Modules::PerFamily`], the families to build; `None` for all.
    pub families: Option<Vec<String>>,
    /// Whether kernels of dependencies become entries too.
    pub dependency_kernels: bool,
    /// Whether line tables record the folder of the workspace.
    pub source_root: bool,
}

impl Default for Options {
    /// The options of a new [`crate::CudaBuilder`].
    fn default() -> Self {
        Self {
            optimise: true,
            debug: DebugInfo::default(),
            ftz: false,
            fast_div: false,
            fast_sqrt: false,
            fma_contraction: true,
            ptx: 78,
            modules: Modules::default(),
            families: None,
            dependency_kernels: false,
            source_root: true,
        }
    }
}

impl Options {
    /// Suffix that keeps the files of builds with different options apart; empty for the default options.
    pub fn folder_suffix(&self) -> String {
        if *self == Self::default() {
            return String::new();
        }
        let mut hasher = DefaultHasher::new();
        self.hash(&mut hasher);
        format!("-{:08x}", hasher.finish() as u32)
    }
}
