//! The target of modules whose instructions need another than the build's. With instructions of exactly one GPU, the
//! PTX is for `sm_90a` in a build for `sm_90`; with those that came with sm_80, it is for sm_80 in a build for an
//! earlier architecture; with those of a later PTX ISA than the build's, it is of that version.

use crate::arch::Arch;

/// The starts of instructions that only targets with the suffix `a` have (PTX ISA 9.0, "Target ISA Notes"). Kernels
/// contain them as inline assembly.
const INSTRUCTIONS: [&str; 4] = ["wgmma.mma_async.", "wgmma.fence.", "setmaxnreg.dec.", "setmaxnreg.inc."];

/// The starts of instructions that came with sm_80 and that kernels contain whatever the build is for.
const SINCE_SM_80: [&str; 4] =
    ["mma.sync.aligned.m16n8k", "cp.async.cg.", "cp.async.commit_group", "cp.async.wait_group"];

/// The starts of instructions that came with PTX ISA 8.0.
const SINCE_8_0: [&str; 4] =
    ["cp.async.bulk.", "mbarrier.arrive.expect_tx.", "mbarrier.try_wait.", "fence.mbarrier_init."];

/// The architecture of a module's PTX in a build for `arch`.
pub(super) fn arch(module: &str, arch: Arch) -> Arch {
    if has_any(module, &INSTRUCTIONS) {
        arch.exact().unwrap_or(arch)
    } else if has_any(module, &SINCE_SM_80) {
        arch.max(Arch::Compute80)
    } else {
        arch
    }
}

/// The PTX ISA version of a module, as `major * 10 + minor`, in a build for `version`.
pub(super) fn version(module: &str, version: u32) -> u32 {
    if has_any(module, &SINCE_8_0) { version.max(80) } else { version }
}

/// Whether inline assembly of the module has one of the instructions.
fn has_any(module: &str, instructions: &[&str]) -> bool {
    module.lines().any(|line| line.contains(" asm ") && instructions.iter().any(|i| line.contains(i)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_modules_with_such_instructions_are_for_one_gpu() {
        let uses = "  tail call void asm sideeffect \"wgmma.fence.sync.aligned;\", \"~{memory}\"()\n";
        let names = "!1 = !DIFile(filename: \"wgmma.fence.rs\")\n  call void asm sideeffect \"bar.sync 0;\", \"\"()\n";
        assert_eq!(arch(uses, Arch::Compute90), Arch::Compute90a);
        assert_eq!(arch(uses, Arch::Compute90a), Arch::Compute90a);
        assert_eq!(arch(uses, Arch::Compute75), Arch::Compute75, "there is no sm_75a");
        assert_eq!(arch(names, Arch::Compute90), Arch::Compute90);
    }

    #[test]
    fn only_modules_with_such_instructions_are_for_sm_80() {
        let uses = "  call { float } asm \"mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {$0}\", \"=r\"()\n";
        let none = "  call void asm sideeffect \"bar.sync 0;\", \"\"()\n";
        assert_eq!((arch(uses, Arch::Compute75), arch(none, Arch::Compute75)), (Arch::Compute80, Arch::Compute75));
        for copies in ["cp.async.cg.shared.global [$0], [$1], 16;", "cp.async.commit_group;", "cp.async.wait_group 1;"]
        {
            let uses = format!("  call void asm sideeffect \"{copies}\", \"r,l\"()\n");
            assert_eq!(arch(&uses, Arch::Compute75), Arch::Compute80, "{copies}");
        }
        assert_eq!((arch(uses, Arch::Compute80), arch(uses, Arch::Compute90)), (Arch::Compute80, Arch::Compute90));
    }

    #[test]
    fn only_modules_with_later_instructions_are_of_a_later_version() {
        let uses = "  call void asm sideeffect \"fence.mbarrier_init.release.cluster;\", \"\"()\n";
        assert_eq!((version(uses, 78), version(uses, 83)), (80, 83));
        assert_eq!(version("  call void asm sideeffect \"bar.sync 0;\", \"\"()\n", 78), 78);
    }
}
