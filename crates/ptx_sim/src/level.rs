//! Which vector instructions of the host the loops over lanes may use, chosen when a machine runs.
//!
//! The loops are plain Rust. What differs is what the compiler may make of them: the body of every hot instruction, and
//! of the loop over instructions, is compiled once per level, as a function with `#[target_feature]` around the same
//! inlined code. So all levels compute the same bits, and only one place knows which of them runs: a value of type
//! [`V3`] exists only on a processor that has what it stands for, and is needed to call what was compiled for it.

use crate::registers::{Args, Pure, Registers};
use std::fmt;

/// A set of vector instructions that this host has.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Level(Choice);

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Choice {
    Baseline(Baseline),
    #[cfg(target_arch = "x86_64")]
    V3(V3),
}

/// What every processor of the architecture has.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Baseline;

/// Proof that the processor has x86-64-v3: AVX2, FMA, F16C and bit manipulation.
#[cfg(target_arch = "x86_64")]
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct V3(());

#[cfg(target_arch = "x86_64")]
impl V3 {
    /// The same features as in every `#[target_feature]` of this crate.
    fn detect() -> Option<Self> {
        let found = is_x86_feature_detected!("avx2")
            && is_x86_feature_detected!("bmi1")
            && is_x86_feature_detected!("bmi2")
            && is_x86_feature_detected!("f16c")
            && is_x86_feature_detected!("fma")
            && is_x86_feature_detected!("lzcnt")
            && is_x86_feature_detected!("movbe")
            && is_x86_feature_detected!("popcnt");
        found.then_some(Self(()))
    }
}

impl Level {
    /// What every processor of the architecture has.
    pub const BASELINE: Self = Self(Choice::Baseline(Baseline));

    /// The fastest that this host has.
    pub fn best() -> Self {
        #[cfg(target_arch = "x86_64")]
        if let Some(found) = V3::detect() {
            return Self(Choice::V3(found));
        }
        Self::BASELINE
    }

    /// All that this host has, slowest first.
    pub fn available() -> Vec<Self> {
        let mut all = vec![Self::BASELINE, Self::best()];
        all.dedup();
        all
    }
}

impl Default for Level {
    fn default() -> Self {
        Self::best()
    }
}

/// `baseline`, `x86-64-v3`.
impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.0 {
            Choice::Baseline(_) => "baseline",
            #[cfg(target_arch = "x86_64")]
            Choice::V3(_) => "x86-64-v3",
        })
    }
}

impl fmt::Debug for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

/// Runs code compiled for its level.
pub(crate) trait Host: Copy {
    /// Runs an instruction.
    fn run(self, pure: &Pure, registers: &mut Registers, mask: u32, args: &Args);
    /// Runs a task.
    fn perform<T: Task>(self, task: &mut T) -> T::Output;
}

/// Code to be compiled for every level: a closure whose body is inlined for certain.
pub(crate) trait Task {
    /// What it gives.
    type Output;
    /// The body. Implementations are `#[inline(always)]`, and so is all that has loops over lanes in it.
    ///
    /// By reference: a value that is copied right after it was put together waits until the parts have reached the
    /// cache.
    fn run<H: Host>(&mut self, host: H) -> Self::Output;
}

impl Host for Baseline {
    #[inline(always)]
    fn run(self, pure: &Pure, registers: &mut Registers, mask: u32, args: &Args) {
        (pure.baseline)(registers, mask, args);
    }

    #[inline(always)]
    fn perform<T: Task>(self, task: &mut T) -> T::Output {
        #[inline(never)]
        fn baseline<T: Task>(task: &mut T) -> T::Output {
            task.run(Baseline)
        }
        baseline(task)
    }
}

#[cfg(target_arch = "x86_64")]
impl Host for V3 {
    #[inline(always)]
    fn run(self, pure: &Pure, registers: &mut Registers, mask: u32, args: &Args) {
        // SAFETY: the function needs the features that `self` proves to be there, and nothing else: see `Pure::lifted`.
        unsafe { (pure.v3)(registers, mask, args) }
    }

    #[inline(always)]
    fn perform<T: Task>(self, task: &mut T) -> T::Output {
        #[target_feature(enable = "avx2,bmi1,bmi2,f16c,fma,lzcnt,movbe,popcnt")]
        #[inline(never)]
        fn v3<T: Task>(host: V3, task: &mut T) -> T::Output {
            task.run(host)
        }
        debug_assert!(Self::detect().is_some());
        // SAFETY: `self` proves that the processor has the features of the function.
        unsafe { v3(self, task) }
    }
}

/// Where the level is not known when the code is compiled.
impl Host for Level {
    fn run(self, pure: &Pure, registers: &mut Registers, mask: u32, args: &Args) {
        match self.0 {
            Choice::Baseline(host) => host.run(pure, registers, mask, args),
            #[cfg(target_arch = "x86_64")]
            Choice::V3(host) => host.run(pure, registers, mask, args),
        }
    }

    #[inline(always)]
    fn perform<T: Task>(self, task: &mut T) -> T::Output {
        match self.0 {
            Choice::Baseline(host) => host.perform(task),
            #[cfg(target_arch = "x86_64")]
            Choice::V3(host) => host.perform(task),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_level_is_what_the_processor_has() {
        assert_eq!(Level::available()[0], Level::BASELINE);
        assert_eq!(Level::available().last(), Some(&Level::best()));
        #[cfg(target_arch = "x86_64")]
        assert_eq!(Level::best() != Level::BASELINE, V3::detect().is_some());
    }

    /// A function that needs more than `detect` looks for would run on processors that don't have it.
    #[test]
    fn code_for_a_level_needs_the_features_that_are_detected() {
        let own = include_str!("level.rs");
        let detect = own.split("fn detect").nth(1).and_then(|rest| rest.split("fn best").next()).expect("detection");
        let detected: Vec<&str> =
            detect.split("detected!(\"").skip(1).filter_map(|rest| rest.split('"').next()).collect();
        assert!(detected.len() >= 8);
        let mut found = 0;
        for text in [own, include_str!("isa/lift.rs")] {
            let needed = text.lines().filter_map(|line| line.trim().strip_prefix("#[target_feature(enable = \""));
            for needed in needed.filter_map(|rest| rest.split('"').next()) {
                assert_eq!(needed.split(',').collect::<Vec<_>>(), detected);
                found += 1;
            }
        }
        assert_eq!(found, 2);
    }
}
