//! Kernels whose blocks cannot tell in which order they run.

use super::layout::reachable;
use super::uses::is_read;
use super::{
    Async, Atomic, AtomicOperation, Callee, Function, Inst, Kind, Op, Order, Program, Space, Texture, TextureKind,
};
use crate::registers::NO_SLOT;

/// Whether no instruction that a kernel may execute can show a block what other blocks have done, unless they race: it
/// reads global memory by ordinary loads only, drops the results of its atomics, whose sums are the same in every
/// order, and reads no clock. Blocks of such a kernel do the same in every schedule.
pub fn blocks_are_independent(program: &Program, entry: u32) -> bool {
    reachable(program, entry).into_iter().all(|index| {
        let Some(function) = program.functions.get(index as usize) else { return false };
        match function.kind {
            Kind::Extern => function.name == "__assertfail",
            _ => function.code.iter().all(|inst| is_independent(program, function, inst)),
        }
    })
}

fn is_independent(program: &Program, function: &Function, inst: &Inst) -> bool {
    match &inst.op {
        Op::Load(access) | Op::Store(access) => access.order == Order::Weak || of_the_block(access.space),
        Op::Atomic(atomic) => of_the_block(atomic.space) || only_adds(program, function, inst, atomic),
        Op::AtomicVector(parts) => parts.iter().all(|atomic| of_the_block(atomic.space)),
        Op::AtomicWide(halves) => halves.iter().all(|atomic| of_the_block(atomic.space)),
        Op::Async(operation) => is_local(operation),
        Op::Texture(texture) => !is_surface(texture),
        Op::ReadTimer { .. } | Op::Nanosleep | Op::Unsupported(_) => false,
        Op::Call { callee, .. } => matches!(callee, Callee::Direct(_)),
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

/// Whether other blocks have no access to a state space, without clusters.
fn of_the_block(space: Space) -> bool {
    matches!(space, Space::Shared | Space::Local | Space::Frame | Space::Param | Space::Const)
}

/// Whether an atomic is one of integers whose order does not matter, and its result is not used.
fn only_adds(program: &Program, function: &Function, inst: &Inst, atomic: &Atomic) -> bool {
    use AtomicOperation::{Add, And, Max, Min, Or, Xor};
    let name = program.opcodes.get(inst.opcode as usize).map_or("", String::as_str);
    let of_integers = name.rsplit('.').next().is_some_and(|kind| kind.starts_with(['s', 'u', 'b']));
    let in_any_order = matches!(atomic.operation, Add | And | Max | Min | Or | Xor);
    let is_used = atomic.destination.is_some_and(|slot| slot != NO_SLOT && is_read(function, slot));
    of_integers && in_any_order && !is_used
}

/// Whether an asynchronous instruction only reads global memory, and signals within the block.
fn is_local(operation: &Async) -> bool {
    match operation {
        Async::Copy { .. }
        | Async::Commit(_)
        | Async::Wait { .. }
        | Async::ArriveAfterCopies { .. }
        | Async::Mbarrier { .. }
        | Async::PendingCount(..)
        | Async::ProxyFence => true,
        Async::Bulk { to: (space, _), multicast, reduce, .. } => {
            *space == Space::Shared && multicast.is_none() && reduce.is_none()
        }
        Async::Tensor { mbarrier, multicast, reduce, .. } => {
            mbarrier.is_some() && multicast.is_none() && reduce.is_none()
        }
        Async::Remote { .. }
        | Async::Mapa { .. }
        | Async::Rank { .. }
        | Async::ClusterArrive { .. }
        | Async::ClusterWait { .. }
        | Async::ReplaceField { .. }
        | Async::CopyMap { .. }
        | Async::AcquireMap(_) => false,
    }
}

fn is_surface(texture: &Texture) -> bool {
    matches!(texture.kind, TextureKind::Load { .. } | TextureKind::Store { .. })
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
        assert!(independent("ld.global.b32 %r1, [%rd1];\nst.global.b32 [%rd1], %r1;\nbar.sync 0;"));
        assert!(independent(
            "ld.volatile.shared.b32 %r1, [s];\natom.shared.add.u32 %r2, [s], %r1;\nst.b32 [%rd1], %r2;"
        ));
        assert!(independent(
            "red.global.add.u32 [%rd1], %r1;\natom.global.max.s32 %r2, [%rd1], %r1;\nfence.acq_rel.gpu;"
        ));
        assert!(independent("cp.async.ca.shared.global [s], [%rd1], 4;\ncp.async.wait_all;"));
    }

    #[test]
    fn what_observes_other_blocks_does() {
        assert!(!independent("ld.volatile.global.b32 %r1, [%rd1];"));
        assert!(!independent("ld.acquire.gpu.b32 %r1, [%rd1];"));
        assert!(!independent("atom.global.add.u32 %r1, [%rd1], 1;\nst.global.b32 [%rd2], %r1;"));
        assert!(!independent("red.global.add.f32 [%rd1], %f1;"));
        assert!(!independent("atom.global.exch.b32 %r1, [%rd1], 1;"));
        assert!(!independent("mov.u32 %r1, %clock;"));
        assert!(!independent("cp.async.bulk.global.shared::cta.bulk_group [%rd1], [s], 16;"));
        assert!(!independent("call (%r1), %rd1, (), p;\np: .callprototype (.param .b32 r) _ ();"));
    }
}
