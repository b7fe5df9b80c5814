//! The macro behind the table of checkers, and the types of its rows.

use crate::observe::{Observer, Setting};
use crate::stop::Finding;

/// A checker that costs time and can be switched on by its name.
#[derive(Clone, Copy, Debug)]
pub struct Checker {
    /// Name on a command line.
    pub name: &'static str,
    /// What it looks for, in a few words.
    pub help: &'static str,
    /// On unless a user chooses: its findings are mistakes.
    pub default: bool,
    /// Codes of its findings.
    pub codes: &'static [Code],
}

/// The code of a finding or a stop, with what it means.
#[derive(Clone, Copy, Debug)]
pub struct Code {
    /// The code, such as `race-raw`.
    pub code: &'static str,
    /// How serious it is.
    pub severity: Severity,
    /// What it says, without the facts of a case.
    pub title: &'static str,
    /// What to do about it.
    pub advice: &'static str,
}

/// How serious a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    /// Wrong on every GPU.
    Error,
    /// Wrong on some GPUs, slow, or intended by some programs.
    Warning,
}

/// A checker that receives events and has no options: the table names its type.
pub trait Check: Observer<Shadow = ()> + Default {
    /// The findings, by place.
    fn finish(self, setting: &Setting<'_>) -> Vec<Finding>;
}

/// Checkers in a list, each if it is on.
pub trait Several {
    /// The findings of all of them.
    fn finish(self, setting: &Setting<'_>) -> Vec<Finding>;
}

impl Several for () {
    fn finish(self, _: &Setting<'_>) -> Vec<Finding> {
        Vec::new()
    }
}

impl<A: Check, B: Several> Several for (Option<A>, B) {
    fn finish(self, setting: &Setting<'_>) -> Vec<Finding> {
        let mut findings = self.0.map_or_else(Vec::new, |check| check.finish(setting));
        findings.extend(self.1.finish(setting));
        findings
    }
}

/// Makes of the rows: [`CHECKERS`](super::CHECKERS), [`Checks`](super::Checks), and the observer `Listed` of all
/// checkers that a row names by type.
macro_rules! checkers {
    ($(
        $(#[doc = $doc:literal])*
        $field:ident $name:literal $default:ident $help:literal $(by $check:ty)? {
            $($code:literal $severity:ident $title:literal $advice:literal)*
        }
    )*) => {
        /// All checkers that cost time.
        pub const CHECKERS: &[Checker] = &[$(Checker {
            name: $name,
            help: $help,
            default: $default,
            codes: &[$(Code { code: $code, severity: Severity::$severity, title: $title, advice: $advice }),*],
        }),*];

        /// Checks that cost time. Bounds, alignment, state spaces, barriers and `*.sync` masks are checked in every
        /// run.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct Checks {
            $($(#[doc = $doc])* pub $field: bool,)*
            /// How plain atomics are interpreted; `None`: [`Atomics::Source`] for PTX that says that LLVM wrote it,
            /// else [`Atomics::Ptx`].
            pub atomics: Option<Atomics>,
            /// Whether unordered stores of one value are races.
            pub same_value_writes: SameValue,
        }

        impl Checks {
            /// Nothing beyond what every run checks.
            pub const NONE: Self =
                Self { $($field: false,)* atomics: None, same_value_writes: SameValue::Report };
            /// Every check whose findings are mistakes.
            pub const ALL: Self = Self { $($field: $default,)* ..Self::NONE };

            /// The switch of the checker of that name; `None` when there is no such checker.
            pub fn switch(&mut self, name: &str) -> Option<&mut bool> {
                match name {
                    $($name => Some(&mut self.$field),)*
                    _ => None,
                }
            }
        }

        /// The checkers that rows name by type, each if it is on.
        pub(crate) type Listed = checkers!(@pair $($(Option<$check>)?)*);

        /// The observer of a launch's checkers that rows name by type; `None` when all of them are off.
        pub(crate) fn listed(checks: Checks) -> Option<Listed> {
            let any = $($(checkers!(@on [$check] checks.$field) |)?)* false;
            any.then(|| checkers!(@new $($([$check] checks.$field)?)*))
        }
    };
    (@pair) => { () };
    (@pair Option<$first:ty> $($rest:tt)*) => { (Option<$first>, checkers!(@pair $($rest)*)) };
    (@new) => { () };
    (@new [$first:ty] $checks:ident.$field:ident $($rest:tt)*) => {
        ($checks.$field.then(<$first>::default), checkers!(@new $($rest)*))
    };
    (@on [$check:ty] $checks:ident.$field:ident) => { $checks.$field };
}
pub(super) use checkers;
