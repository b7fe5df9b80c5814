//! Level of the host's vector instructions for loops over lanes, selected when a machine runs.
//!
//! The loops are plain Rust. Levels differ in the instructions that the compiler may use: the body of every hot
//! instruction, and of the loop over instructions, is compiled once per level, as a function with `#[target_feature]`
//! around the same inlined code. All levels therefore compute the same bits. The selected level is represented by a
//! value: a value of type [`V3`] exists only on a processor with these features, and is needed to call code compiled
//! for them.

use crate::registers::{Args, Pure, Registers};
use std::fmt;

/// A level of vector instructions that this host supports.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Level(Choice);

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Choice {
    Baseline(Baseline),
    #[cfg(target_arch = "x86_64")]
    V3(V3),
}

/// The features of every processor of the architecture.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Baseline;

/// Proof that the processor has x86-64-v3: AVX2, FMA, F16C and bit manipulation.
#[cfg(target_arch = "x86_64")]
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct V3(());

#[cfg(target_arch = "x86_64")]
impl V3 {
    /// Detects the features that every `#[target_feature]` of this crate names.
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
    /// The level of every processor of the architecture.
    pub const BASELINE: Self = Self(Choice::Baseline(Baseline));

    /// Returns the fastest level of this host.
    pub fn best() -> Self {
        #[cfg(target_arch = "x86_64")]
        if let Some(found) = V3::detect() {
            return Self(Choice::V3(found));
        }
        Self::BASELINE
    }

    /// Returns all levels of this host, the slowest first.
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

/// Displays `baseline` or `x86-64-v3`.
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

/// A level that code is compiled for.
pub(crate) trait Host: Copy {
    /// Executes an instruction.
    fn run(self, pure: &Pure, registers: &mut Registers, mask: u32, args: &Args);
    /// Runs a task.
    fn perform<T: Task>(self, task: &mut T) -> T::Output;
}

/// Code that is compiled for every level: a closure whose body is always inlined.
pub(crate) trait Task {
    /// Result of the task.
    type Output;
    /// Runs the body. Implementations are `#[inline(always)]`, as are all functions in it with loops over lanes.
    ///
    /// Passed by reference, because copying a value right after its construction has to wait for the stores of its
    /// parts.
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
        // SAFETY: the only requirement of the function is the features that `self` proves: see `Pure::lifted`.
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

/// For code in which the level is not known at compile time.
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
    fn the_best_level_matches_the_processor() {
        assert_eq!(Level::available()[0], Level::BASELINE);
        assert_eq!(Level::available().last(), Some(&Level::best()));
        #[cfg(target_arch = "x86_64")]
        assert_eq!(Level::best() != Level::BASELINE, V3::detect().is_some());
    }

    /// A function that requires more features than `detect` tests for would run on processors without them.
    #[test]
    fn code_for_a_level_requires_exactly_the_detected_features() {
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
