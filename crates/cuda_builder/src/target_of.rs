//! The architecture that a PTX file is for.

use std::{
    fs::File,
    io::{BufRead, BufReader},
    path::Path,
};

use crate::{arch::Arch, error::Error};

/// The architecture to assemble a PTX file for, where GPUs of `arch` are meant: that of the file if it is for exactly
/// these, or for later GPUs only.
///
/// # Errors
/// [`Error::Io`] if the file cannot be read.
pub(crate) fn to_assemble(ptx: &Path, arch: Arch) -> Result<Arch, Error> {
    for line in BufReader::new(File::open(ptx).map_err(Error::io("read", ptx))?).lines() {
        let line = line.map_err(Error::io("read", ptx))?;
        if let Some(target) = line.trim().strip_prefix(".target") {
            let name = target.split([' ', '\t', ',']).find(|word| !word.is_empty());
            let target = name.and_then(|name| name.parse::<Arch>().ok());
            let is_needed = |target: &Arch| {
                Some(*target) == arch.exact() || !target.is_specific() && target.capability() > arch.capability()
            };
            return Ok(target.filter(is_needed).unwrap_or(arch));
        }
    }
    Ok(arch)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_ptx_for_exactly_these_gpus_or_later_ones_changes_the_architecture() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("k.ptx");
        let of = |target: &str, arch| {
            std::fs::write(&path, format!("//\n.version 8.0\n.target {target}\n")).expect("a file");
            to_assemble(&path, arch).map_err(|error| error.to_string())
        };
        assert_eq!(of("sm_90a", Arch::Compute90), Ok(Arch::Compute90a));
        assert_eq!(of("sm_90a, debug", Arch::Compute90), Ok(Arch::Compute90a));
        assert_eq!(of("sm_90", Arch::Compute90), Ok(Arch::Compute90));
        assert_eq!(of("sm_90a", Arch::Compute100), Ok(Arch::Compute100));
        assert_eq!(of("sm_80", Arch::Compute75), Ok(Arch::Compute80));
        assert_eq!(of("sm_80", Arch::Compute90), Ok(Arch::Compute90));
        assert_eq!(of("sm_90a", Arch::Compute75), Ok(Arch::Compute75));
    }
}
