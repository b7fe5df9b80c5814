//! Architectures of PTX, and the header of a PTX file.

use crate::error::{Error, Result};
use std::fmt;

/// An architecture, in the form of `.target` and file names: `sm_90`, `sm_90a`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Arch {
    /// The number: 90 for `sm_90a`.
    pub number: u32,
    /// The suffix: `a` (this GPU only) or `f` (this family only); empty for this and every later GPU.
    pub suffix: String,
}

impl Arch {
    /// Parses the form of `sm_90` and `sm_90a`.
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.strip_prefix("sm_")?;
        let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
        Some(Self { number: text[..digits].parse().ok()?, suffix: text[digits..].to_owned() })
    }

    /// The reason why a GPU cannot run the architecture; `None` if it can.
    pub fn why_not(&self, sm: u32) -> Option<String> {
        match self.suffix.as_str() {
            "a" if self.number != sm => Some(format!("it is for {self} only, and this is sm_{sm}")),
            "f" if self.number / 10 != sm / 10 || self.number > sm => {
                Some(format!("it is for the family of {self} only, and this is sm_{sm}"))
            }
            _ if self.number > sm => Some(format!("it is for {self} and later, and this is sm_{sm}")),
            _ => None,
        }
    }

    /// Whether a GPU runs machine code that was made for the architecture: the same major version, and no earlier minor
    /// one ("Binary compatibility" in the CUDA C++ Programming Guide).
    pub fn runs_machine_code(&self, sm: u32) -> bool {
        self.number / 10 == sm / 10 && self.why_not(sm).is_none()
    }
}

impl fmt::Display for Arch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "sm_{}{}", self.number, self.suffix)
    }
}

/// The header of a PTX file.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Header {
    /// PTX ISA version, e.g. (7, 8).
    pub version: (u32, u32),
    /// The target architecture.
    pub target: Arch,
}

impl Header {
    /// Reads `.version` and `.target`.
    ///
    /// # Errors
    /// [`Error::BadPtx`] for text without them.
    pub fn read(text: &str, name: &str) -> Result<Self> {
        let word = |directive: &str| {
            text.lines()
                .find_map(|line| line.trim().strip_prefix(directive)?.split([' ', '\t', ',']).find(|w| !w.is_empty()))
        };
        let version = word(".version").and_then(|v| v.split_once('.'));
        let version = version.and_then(|(major, minor)| Some((major.parse().ok()?, minor.parse().ok()?)));
        match (version, word(".target").and_then(Arch::parse)) {
            (Some(version), Some(target)) => Ok(Self { version, target }),
            (None, _) => Err(Error::BadPtx(format!("{name} is not PTX: it has no .version line"))),
            (_, None) => Err(Error::BadPtx(format!("{name} is not PTX: it has no .target line with an architecture"))),
        }
    }
}

/// What the user does to get PTX for an architecture, e.g. `sm_70`: the last part of an error's text.
pub(super) type Advice = fn(&str) -> String;

/// The architecture to use of those that are present in `place`.
pub(super) fn choose(
    present: &[Arch],
    sm: Option<u32>,
    arch: Option<&str>,
    place: &str,
    advice: Advice,
) -> Result<Arch> {
    let names: Vec<_> = present.iter().map(ToString::to_string).collect();
    let names = names.join(", ");
    if let Some(arch) = arch {
        let found = present.iter().find(|have| have.to_string() == arch);
        return found.cloned().ok_or_else(|| {
            Error::NoPtx(format!("there is no PTX for {arch} in {place}, only for {names}: {}", advice(arch)))
        });
    }
    let runs = |arch: &&Arch| sm.is_none_or(|sm| arch.why_not(sm).is_none());
    present.iter().filter(runs).max().cloned().ok_or_else(|| {
        let gpu = format!("sm_{}", sm.unwrap_or_default());
        Error::NoPtx(format!("the PTX in {place} is for {names} and this GPU is {gpu}: {}", advice(&gpu)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arch(text: &str) -> Arch {
        Arch::parse(text).expect("an architecture")
    }

    #[test]
    fn an_arch_says_where_it_runs() {
        assert!(arch("sm_75").why_not(90).is_none());
        assert!(arch("sm_90").why_not(90).is_none());
        assert!(arch("sm_100").why_not(90).is_some());
        assert!(arch("sm_90a").why_not(90).is_none());
        assert!(arch("sm_90a").why_not(100).is_some());
        assert!(arch("sm_100f").why_not(103).is_none());
        assert!(arch("sm_100f").why_not(120).is_some());
        assert!(Arch::parse("compute_90").is_none());
    }

    #[test]
    fn machine_code_runs_on_one_major_version() {
        let runs = |text, sm| Arch::parse(text).expect("an architecture").runs_machine_code(sm);
        assert!(runs("sm_80", 80) && runs("sm_80", 86) && runs("sm_80", 89));
        assert!(!runs("sm_86", 80) && !runs("sm_80", 90) && !runs("sm_90", 89));
        assert!(runs("sm_90a", 90) && !runs("sm_100a", 103) && runs("sm_100f", 103));
    }

    #[test]
    fn a_header_is_read_or_refused() {
        let header = Header::read("// x\n.version 7.8\n.target sm_90a, debug\n", "x").expect("a header");
        assert_eq!((header.version, header.target.to_string()), ((7, 8), "sm_90a".into()));
        for text in ["", "hello", ".version 7\n.target sm_90", ".version 7.8\n.target texmode_unified"] {
            assert!(matches!(Header::read(text, "x"), Err(Error::BadPtx(_))), "{text}");
        }
    }

    #[test]
    fn the_best_file_is_chosen() {
        let present = [arch("sm_75"), arch("sm_100"), arch("sm_90")];
        let best =
            |sm| choose(&present, sm, None, "ptx", |arch| format!("build it for {arch}")).map(|arch| arch.number).ok();
        assert_eq!(best(Some(89)), Some(75));
        assert_eq!(best(Some(90)), Some(90));
        assert_eq!(best(Some(120)), Some(100));
        assert_eq!(best(None), Some(100));
        assert_eq!(best(Some(70)), None);
        let error = |sm, arch| match choose(&present, sm, arch, "ptx", |arch| format!("build it for {arch}")) {
            Err(Error::NoPtx(text)) => text,
            other => panic!("{other:?}"),
        };
        assert!(error(None, Some("sm_80")).ends_with(": build it for sm_80"));
        assert!(error(Some(70), None).ends_with("this GPU is sm_70: build it for sm_70"));
    }
}
