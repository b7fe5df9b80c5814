//! Modules with instructions of exactly one GPU: their PTX is for `sm_90a`, in a build for `sm_90`.

use crate::arch::Arch;

/// The starts of instructions that only targets with the suffix `a` have (PTX ISA 9.0, "Target ISA Notes"). Kernels
/// contain them as inline assembly.
const INSTRUCTIONS: [&str; 4] = ["wgmma.mma_async.", "wgmma.fence.", "setmaxnreg.dec.", "setmaxnreg.inc."];

/// The architecture of a module's PTX in a build for `arch`.
pub(super) fn arch(module: &str, arch: Arch) -> Arch {
    let needed = module.lines().any(|line| line.contains(" asm ") && INSTRUCTIONS.iter().any(|i| line.contains(i)));
    if needed { arch.exact().unwrap_or(arch) } else { arch }
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
}
