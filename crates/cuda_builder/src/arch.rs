//! GPU architectures that kernels can be compiled for.

use std::{fmt, str::FromStr};

macro_rules! architectures {
    ($($variant:ident $number:literal $suffix:literal $ptx:literal),* $(,)?) => {
        /// A GPU architecture, under the names that the upstream builder gives them.
        ///
        /// PTX for a plain number (`sm_90`) runs on every later GPU too. The suffix `a` allows instructions of exactly
        /// this GPU, `f` those of its family; such PTX runs on no other.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[non_exhaustive]
        pub enum Arch {
            $(
                #[doc = concat!("`sm_", $number, $suffix, "`")]
                $variant,
            )*
        }

        impl Arch {
            /// Every architecture, oldest first.
            pub const ALL: &[Self] = &[$(Self::$variant),*];

            /// Name for `rustc -Ctarget-cpu`, `llc -mcpu` and `ptxas -arch`: `sm_90a`.
            pub const fn target_cpu(self) -> &'static str {
                match self {
                    $(Self::$variant => concat!("sm_", $number, $suffix),)*
                }
            }

            /// Compute capability, major and minor digits together: 90 for `sm_90` and for `sm_90a`.
            pub const fn capability(self) -> u32 {
                match self {
                    $(Self::$variant => $number,)*
                }
            }

            /// The PTX ISA version that introduced it, as `major * 10 + minor`.
            pub const fn minimum_ptx(self) -> u32 {
                match self {
                    $(Self::$variant => $ptx,)*
                }
            }
        }
    };
}

// Last column: the first PTX ISA version with the target (PTX ISA 9.0, table "Release notes").
architectures! {
    Compute70 70 "" 60, Compute72 72 "" 61, Compute75 75 "" 63,
    Compute80 80 "" 70, Compute86 86 "" 71, Compute87 87 "" 74, Compute89 89 "" 78,
    Compute90 90 "" 78, Compute90a 90 "a" 80,
    Compute100 100 "" 86, Compute100f 100 "f" 88, Compute100a 100 "a" 86,
    Compute103 103 "" 88, Compute103f 103 "f" 88, Compute103a 103 "a" 88,
    Compute110 110 "" 90, Compute110f 110 "f" 90, Compute110a 110 "a" 90,
    Compute120 120 "" 87, Compute120f 120 "f" 88, Compute120a 120 "a" 87,
    Compute121 121 "" 88, Compute121f 121 "f" 88, Compute121a 121 "a" 88,
}

/// Name of [`Arch`] in the upstream builder.
pub type NvvmArch = Arch;

impl Arch {
    /// Architectures of a build that names none: the oldest that current tools support, and Hopper.
    pub const DEFAULT: &[Self] = &[Self::Compute75, Self::Compute90];

    /// The name in upstream's spelling: `compute_90a`.
    pub fn compute_name(self) -> String {
        self.target_cpu().replacen("sm_", "compute_", 1)
    }

    /// The architecture of the same number whose PTX may use every instruction of exactly this GPU: `sm_90a` of
    /// `sm_90`. `None` before `sm_90`, where there is none.
    pub fn exact(self) -> Option<Self> {
        let is_exact = |arch: &Self| arch.capability() == self.capability() && arch.target_cpu().ends_with('a');
        Self::ALL.iter().copied().find(is_exact)
    }

    /// Whether its PTX runs only on the GPU (`a`) or the family of GPUs (`f`) that its number names.
    pub fn is_specific(self) -> bool {
        self.target_cpu().ends_with(['a', 'f'])
    }
}

/// Error for a text that is not the name of an architecture.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown architecture `{name}`; expected one of {}", known())]
#[non_exhaustive]
pub struct UnknownArch {
    /// The text.
    pub name: String,
}

/// Every name, for messages.
fn known() -> String {
    Arch::ALL.iter().map(|arch| arch.target_cpu()).collect::<Vec<_>>().join(" ")
}

impl fmt::Display for Arch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.target_cpu())
    }
}

impl FromStr for Arch {
    type Err = UnknownArch;

    /// Reads `sm_90`, `compute_90`, `90` or `9.0`.
    fn from_str(text: &str) -> Result<Self, UnknownArch> {
        let number =
            text.strip_prefix("sm_").or_else(|| text.strip_prefix("compute_")).unwrap_or(text).replace('.', "");
        Self::ALL
            .iter()
            .copied()
            .find(|arch| arch.target_cpu().strip_prefix("sm_") == Some(number.as_str()))
            .ok_or_else(|| UnknownArch { name: text.to_owned() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_read_back() -> Result<(), UnknownArch> {
        for &arch in Arch::ALL {
            assert_eq!(arch.target_cpu().parse::<Arch>()?, arch);
            assert_eq!(arch.compute_name().parse::<Arch>()?, arch);
        }
        assert_eq!("9.0".parse::<Arch>()?, Arch::Compute90);
        assert_eq!("120".parse::<Arch>()?, Arch::Compute120);
        Ok(())
    }

    #[test]
    fn an_unknown_name_is_rejected_with_the_known_ones() {
        let message = match "sm_42".parse::<Arch>() {
            Err(error) => error.to_string(),
            Ok(arch) => panic!("sm_42 was read as {arch}"),
        };
        assert!(message.contains("sm_42") && message.contains("sm_75"), "{message}");
    }

    #[test]
    fn all_is_in_order_and_suffixes_are_specific() {
        assert!(Arch::ALL.is_sorted_by_key(|arch| arch.capability()));
        assert!(Arch::Compute90a.is_specific());
        assert!(!Arch::Compute90.is_specific());
    }
}
