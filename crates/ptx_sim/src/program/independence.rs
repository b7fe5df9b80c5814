//! Kernels whose blocks cannot tell in which order they run.

use super::layout::reachable;
use super::uses::is_read;
use super::{
    Async, Atomic, AtomicOperation, Callee, Function, Inst, Kind, Op, Order, Program, Scope, Space, TextureKind,
};
use crate::registers::NO_SLOT;

/// Whether no instruction that a kernel may execute can show a block what other blocks have done, unless they race, or
/// a warp what others of its block are doing at the time. It reads global memory by ordinary loads only; it drops the
/// results of its atomics in global memory, which are one operation on integers, so that their order does not matter;
/// it waits in shared memory for nothing but barriers; it reads no clock. Blocks of such a kernel do the same in every
/// schedule.
///
/// A warp whose atomics change nothing looks like one that waits, and gives its other lanes turns sooner or later as
/// other blocks move or not. `activemask` shows which lanes run together, so a kernel with both is not independent.
pub fn blocks_are_independent(program: &Program, entry: u32) -> bool {
    let mut sums = None;
    let mut fences = false;
    let (mut atomics, mut masks) = (false, false);
    for index in reachable(program, entry) {
        let Some(function) = program.functions.get(index as usize) else { return false };
        if function.kind == Kind::Extern && function.name != "__assertfail" {
            return false;
        }
        for inst in &function.code {
            fences |= matches!(inst.op, Op::Fence(_, scope) if scope != Scope::Cta);
            atomics |= matches!(inst.op, Op::Atomic(_));
            masks |= program.opcodes.get(inst.opcode as usize).is_some_and(|opcode| opcode.starts_with("activemask"));
            match &inst.op {
                Op::Atomic(atomic) => {
                    let Some(sum) = commutes(program, function, inst, atomic) else { return false };
                    let is_global = atomic.space != Space::Shared;
                    if is_global && *sums.get_or_insert(sum) != sum {
                        return false;
                    }
                }
                op if !is_independent(op) => return false,
                _ => {}
            }
        }
    }
    // A fence would make the atomics order other accesses, or not, as the blocks happen to run.
    (sums.is_none() || !fences) && !(atomics && masks)
}

/// Whether an instruction other than an atomic is as [`blocks_are_independent`] requires.
fn is_independent(op: &Op) -> bool {
    match op {
        Op::Load(access) => access.order == Order::Weak,
        Op::Store(access) => access.order == Order::Weak || access.space == Space::Shared,
        Op::Async(operation) => is_local(operation),
        Op::Texture(texture) => matches!(texture.kind, TextureKind::Query(_)),
        Op::Call { callee, .. } => matches!(callee, Callee::Direct(_)),
        Op::Atomic(_)
        | Op::AtomicVector(_)
        | Op::AtomicWide(_)
        | Op::ReadTimer { .. }
        | Op::Nanosleep
        | Op::Unsupported(_) => false,
        Op::Pure(..)
        | Op::Discard { .. }
        | Op::Fence(..)
        | Op::ConvertAddress { .. }
        | Op::IsSpace { .. }
        | Op::Branch { .. }
        | Op::BranchIndexed { .. }
        | Op::Return
        | Op::Exit
        | Op::Trap
        | Op::Barrier { .. }
        | Op::Collective { .. }
        | Op::Matrix(_)
        | Op::Warpgroup(_)
        | Op::Alloca { .. }
        | Op::StackSave(_)
        | Op::StackRestore(_)
        | Op::Nothing => true,
    }
}

/// The operation and the type of an atomic whose result is not used and whose order among its like does not matter:
/// relaxed, and of integers.
fn commutes<'a>(
    program: &'a Program,
    function: &Function,
    inst: &Inst,
    atomic: &Atomic,
) -> Option<(AtomicOperation, &'a str)> {
    use AtomicOperation::{Add, And, Max, Min, Or, Xor};
    let kind = program.opcodes.get(inst.opcode as usize)?.rsplit('.').next()?;
    let of_integers = kind.starts_with(['s', 'u', 'b']) && !kind.starts_with("bf");
    let in_any_order = matches!(atomic.operation, Add | And | Max | Min | Or | Xor) && atomic.order == Order::Relaxed;
    let is_used = atomic.destination.is_some_and(|slot| slot != NO_SLOT && is_read(function, slot));
    (of_integers && in_any_order && !is_used).then_some((atomic.operation, kind))
}

/// Whether an asynchronous instruction is a copy of a thread's own, by `cp.async`. The race checker does not see what
/// bulk copies read in global memory.
fn is_local(operation: &Async) -> bool {
    match operation {
        Async::Copy { .. } | Async::Commit(_) | Async::Wait { .. } | Async::ProxyFence => true,
        Async::Bulk { .. }
        | Async::Tensor { .. }
        | Async::ArriveAfterCopies { .. }
        | Async::Mbarrier { .. }
        | Async::PendingCount(..)
        | Async::Remote { .. }
        | Async::Mapa { .. }
        | Async::Rank { .. }
        | Async::ClusterArrive { .. }
        | Async::ClusterWait { .. }
        | Async::ReplaceField { .. }
        | Async::CopyMap { .. }
        | Async::AcquireMap(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::blocks_are_independent;
    use crate::Program;

    fn independent(statements: &str) -> bool {
        let text = format!(
            ".version 8.7\n.target sm_90\n.address_size 64\n.shared .align 8 .b8 s[64];\n\
             .extern .func (.param .b32 r) vprintf(.param .b64 a, .param .b64 b);\n\
             .visible .entry k()\n{{\n.reg .pred %p<3>;\n.reg .b32 %r<5>;\n.reg .f32 %f<5>;\n.reg .b64 %rd<4>;\n\
             {statements}\nret;\n}}\n.visible .entry other()\n{{\n.reg .b32 %r<2>;\nmov.u32 %r1, %clock;\nret;\n}}\n"
        );
        blocks_are_independent(&Program::parse(&text).expect("PTX"), 1)
    }

    #[test]
    fn ordinary_accesses_show_no_order() {
        assert!(independent("ld.global.b32 %r1, [%rd1];\nst.global.b32 [%rd1], %r1;\nbar.sync 0;\nfence.acq_rel.gpu;"));
        assert!(independent(
            "red.global.add.u32 [%rd1], %r1;\natom.global.add.u32 %r2, [%rd1], %r1;\nfence.acq_rel.cta;"
        ));
        assert!(independent("red.shared.max.s32 [s], %r1;\nred.shared.add.u32 [s], %r1;"));
        assert!(independent("cp.async.ca.shared.global [s], [%rd1], 4;\ncp.async.wait_all;"));
    }

    #[test]
    fn what_observes_other_blocks_does() {
        for statements in [
            "ld.volatile.global.b32 %r1, [%rd1];",
            "ld.acquire.gpu.b32 %r1, [%rd1];",
            "atom.global.add.u32 %r1, [%rd1], 1;\nst.global.b32 [%rd2], %r1;",
            "red.global.add.f32 [%rd1], %f1;",
            "red.global.add.noftz.bf16x2 [%rd1], %r1;",
            "red.global.add.u32 [%rd1], 5;\nred.global.max.u32 [%rd1], 3;",
            "red.global.max.s32 [%rd1], 5;\nred.global.max.u32 [%rd1], 3;",
            "red.global.add.u32 [%rd1], 5;\nfence.acq_rel.gpu;",
            "red.release.gpu.global.add.u32 [%rd1], 5;",
            "atom.global.exch.b32 %r1, [%rd1], 1;",
            "mov.u32 %r1, %clock;",
            "cp.async.bulk.global.shared::cta.bulk_group [%rd1], [s], 16;",
            "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [s], [%rd1], 16, [s];",
            "call (%r1), %rd1, (), p;\np: .callprototype (.param .b32 r) _ ();",
        ] {
            assert!(!independent(statements), "{statements}");
        }
    }

    #[test]
    fn what_observes_other_warps_does() {
        assert!(!independent("ld.volatile.shared.b32 %r1, [s];"));
        assert!(!independent("atom.shared.cas.b32 %r1, [s], 0, 1;\nst.global.b32 [%rd1], %r1;"));
    }

    /// Which lanes run together depends on the schedule only where a warp may look like waiting.
    #[test]
    fn the_lanes_that_run_together_do_after_an_atomic() {
        let [mask, max] = ["activemask.b32 %r1;\nst.global.b32 [%rd1], %r1;", "red.shared.max.u32 [s], 0;\n"];
        assert!(independent(mask) && independent(max));
        assert!(!independent(&format!("{max}{mask}")));
        assert!(!independent(&format!("red.global.max.u32 [%rd2], 0;\n{mask}")));
    }
}
