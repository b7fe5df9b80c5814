//! Kernels with one bug each, which the simulator must find and report at its Rust line: the line marked with `//
//! FINDING` and the kernel's name.

pub mod barrier;
pub mod bounds;
pub mod race;

#[cfg(not(target_arch = "nvptx64"))]
pub use table::{Bug, Planted, all};

#[cfg(not(target_arch = "nvptx64"))]
mod table {
    use std::string::String;
    use std::vec::Vec;

    use crate::case::{Case, out, slice, view};

    /// The bug of a planted kernel.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Bug {
        /// Two threads access the same shared memory without a barrier between them, and one of them writes.
        Race,
        /// An access outside every allocation.
        OutOfBounds,
        /// A Rust panic: its report is printed, then the launch traps.
        Panic,
        /// A barrier that only some threads of the block reach.
        BarrierDivergence,
    }

    /// A launch that must end with a finding.
    pub struct Planted {
        /// The launch. The contents of its buffers are not checked.
        pub case: Case,
        /// The bug that must be found.
        pub bug: Bug,
        /// End of the path of the source file that must be reported.
        pub file: &'static str,
        /// The line that must be reported, counted from 1.
        pub line: u32,
        /// Parts of the text that the launch must print.
        pub printed: &'static [&'static str],
    }

    /// The line of `source` that ends in `// FINDING kernel`.
    fn line(source: &str, kernel: &str) -> u32 {
        let mark = std::format!("// FINDING {kernel}");
        let found = source.lines().position(|line| line.trim_end().ends_with(&mark));
        found.map_or(0, |index| index as u32 + 1)
    }

    macro_rules! planted {
        ($($bug:ident in $file:literal: $kernel:ident, $case:expr, prints $printed:expr;)*) => {
            std::vec![ $( Planted {
                case: $case,
                bug: Bug::$bug,
                file: std::concat!("tests/kernels/src/", $file),
                line: line(include_str!(std::concat!("../", $file)), stringify!($kernel)),
                printed: $printed,
            } ),* ]
        };
    }

    /// All planted bugs.
    pub fn all() -> Vec<Planted> {
        use super::{barrier::*, bounds::*, race::*};
        use crate::panic::*;

        let new = |name: &str, grid, block| Case::new(name, grid, block);
        let ones: Vec<f32> = std::vec![1.0; 256];
        let words: Vec<u32> = (0..35).collect();
        let values = ones.clone();
        planted! {
            Race in "planted/race.rs": race_tree, new("race_tree", 1, 256).input(&ones).output(&[0f32])
                .calls(|b| race_tree(slice(b[0], 256), out(b[1]))), prints &[];
            Race in "planted/race.rs": race_struct,
                new("race_struct", 1, 256).input(&values).output(&[0u32; 4])
                .calls(|b| race_struct(slice(b[0], 256), out(b[1]))), prints &[];
            Race in "planted/race.rs": race_scan, new("race_scan", 1, 256).input(&values).output(&ones)
                .calls(|b| race_scan(slice(b[0], 256), out(b[1]))), prints &[];
            OutOfBounds in "planted/bounds.rs": bounds_write, new("bounds_write", 4, 32).output(&[0u32; 100])
                .calls(|b| bounds_write(out(b[0]))), prints &[];
            OutOfBounds in "planted/bounds.rs": bounds_read,
                new("bounds_read", 1, 32).input(&[1u32; 32]).output(&[0u32; 32])
                .calls(|b| bounds_read(slice(b[0], 32), out(b[1]))), prints &[];
            OutOfBounds in "planted/bounds.rs": bounds_shared, new("bounds_shared", 1, 65).output(&[0u32; 65])
                .calls(|b| bounds_shared(out(b[0]))), prints &[];
            BarrierDivergence in "planted/barrier.rs": barrier_in_branch,
                new("barrier_in_branch", 1, 64).shared(256).output(&[0u32; 64])
                .calls(|b| barrier_in_branch(out(b[0]))), prints &[];
            BarrierDivergence in "planted/barrier.rs": tile_in_branch,
                new("tile_in_branch", 1, 32).output(&[0u32; 32])
                .calls(|b| tile_in_branch(view(b[0], 32))), prints &[];
            Panic in "panic.rs": panic_index, new("panic_index", 2, 32).input(&words).output(&[0u32; 64])
                .calls(|b| panic_index(slice(b[0], 35), out(b[1]))),
                prints &["panic.rs:", "block (1,0,0) thread (3,0,0)", "index out of bounds: the len is 35 but the \
                    index is 35"];
            Panic in "panic.rs": panic_message, new("panic_message", 1, 64).calls(|_| panic_message(40)),
                prints &["panic.rs:", "block (0,0,0) thread (40,0,0)", "thread 40 reached the limit of 40"];
            Panic in "panic.rs": panic_unwrap, new("panic_unwrap", 1, 1).calls(|_| panic_unwrap(0)),
                prints &["panic.rs:", "block (0,0,0) thread (0,0,0)", "a divisor that is not zero"];
        }
    }

    /// Names for messages.
    impl Planted {
        /// The kernel's name.
        pub fn name(&self) -> String {
            self.case.name.clone()
        }
    }
}
