//! Registers that an instruction reads and writes, by role.

use super::{
    Address, Async, Atomic, BarrierKind, BarrierReduce, Callee, Matrix, MatrixKind, Mbarrier, Op, Product, Texture,
    TextureKind, Warpgroup,
};
use crate::isa::File;
use crate::isa::lift::Meaning;
use crate::registers::Slot;

/// The registers of an instruction besides its guard, by file and row. A row may be `NO_SLOT`, where PTX has `_`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Operands {
    /// Registers that control the instruction or from which it computes: addresses, masks, sources.
    pub decides: Vec<(File, Slot)>,
    /// Registers that the instruction defines by itself.
    pub defines: Vec<(File, Slot)>,
    /// Registers whose values go to memory or to other lanes.
    pub sends: Vec<(File, Slot)>,
    /// Registers that receive values from memory or from other lanes.
    pub receives: Vec<(File, Slot)>,
}

/// Returns the operands of an instruction, given its meaning if it computes on registers.
pub(crate) fn operands(op: &Op, meaning: Option<&Meaning>) -> Operands {
    let none = Operands::default;
    match op {
        Op::Pure(_, args) => {
            let (s, d) = meaning.map_or((&[][..], &[][..]), |meaning| (meaning.s, meaning.d));
            Operands { decides: zip(s, &args.s), defines: zip(d, &args.d), ..none() }
        }
        Op::ReadTimer { destination, wide, .. } => Operands { defines: vec![(word(*wide), *destination)], ..none() },
        Op::Load(access) => Operands {
            decides: vec![base(&access.address)],
            receives: data(&access.registers, access.wide, access.bytes),
            ..none()
        },
        Op::Store(access) => Operands {
            decides: vec![base(&access.address)],
            sends: data(&access.registers, access.wide, access.bytes),
            ..none()
        },
        Op::Discard { address, .. } => Operands { decides: vec![base(address)], ..none() },
        Op::Atomic(atomic) => atomics(std::slice::from_ref(atomic)),
        Op::AtomicVector(parts) => atomics(parts),
        Op::AtomicWide(halves) => atomics(halves.as_slice()),
        Op::ConvertAddress { destination, source, .. } => {
            Operands { decides: vec![(File::Long, *source)], defines: vec![(File::Long, *destination)], ..none() }
        }
        Op::IsSpace { destination, source, .. } => {
            Operands { decides: vec![(File::Long, *source)], defines: vec![(File::Pred, *destination)], ..none() }
        }
        Op::BranchIndexed { index, .. } => Operands { decides: vec![(File::Word, *index)], ..none() },
        Op::Call { callee: Callee::Indirect(slot), .. } => Operands { decides: vec![(File::Long, *slot)], ..none() },
        Op::Barrier { id, count, kind, .. } => {
            let mut found = Operands { decides: vec![(File::Word, *id)], ..none() };
            found.decides.extend(count.map(|count| (File::Word, count)));
            if let BarrierKind::Reduce { op, source, destination, .. } = kind {
                found.decides.push((File::Pred, *source));
                let file = if *op == BarrierReduce::Popc { File::Word } else { File::Pred };
                found.defines.push((file, *destination));
            }
            found
        }
        Op::Collective { mask, args, .. } => {
            let (s, d) = meaning.map_or((&[][..], &[][..]), |meaning| (meaning.s, meaning.d));
            let (sends, receives) = (zip(s, &args.s), zip(d, &args.d));
            Operands { decides: vec![(File::Word, *mask)], sends, receives, ..none() }
        }
        Op::Texture(texture) => fetch(texture),
        Op::Matrix(matrix) => product(matrix),
        Op::Warpgroup(Warpgroup::Multiply(op)) => group_product(op),
        Op::Warpgroup(Warpgroup::Fence | Warpgroup::Commit | Warpgroup::Wait { .. }) => none(),
        Op::Async(op) => asynchronous(op),
        Op::Alloca { destination, size, wide, .. } => {
            Operands { decides: vec![(word(*wide), *size)], defines: vec![(File::Long, *destination)], ..none() }
        }
        Op::StackSave(destination) => Operands { defines: vec![(File::Long, *destination)], ..none() },
        Op::StackRestore(source) => Operands { sends: vec![(File::Long, *source)], ..none() },
        Op::Fence(..)
        | Op::Branch { .. }
        | Op::Call { callee: Callee::Direct(_), .. }
        | Op::Return
        | Op::Exit
        | Op::Trap
        | Op::Nanosleep
        | Op::Nothing
        | Op::Unsupported(_) => none(),
    }
}

fn zip(files: &[File], slots: &[Slot]) -> Vec<(File, Slot)> {
    files.iter().copied().zip(slots.iter().copied()).collect()
}

fn word(wide: bool) -> File {
    if wide { File::Long } else { File::Word }
}

fn all(file: File, slots: &[Slot]) -> Vec<(File, Slot)> {
    slots.iter().map(|slot| (file, *slot)).collect()
}

fn base(address: &Address) -> (File, Slot) {
    (word(!address.narrow), address.base)
}

/// Returns the registers of a load or store; 16 bytes are two neighbouring rows.
fn data(slots: &[Slot], wide: bool, bytes: u8) -> Vec<(File, Slot)> {
    let mut found = all(word(wide), slots);
    if bytes == 16 {
        found.extend(slots.iter().map(|slot| (File::Long, slot.saturating_add(1))));
    }
    found
}

fn atomics(parts: &[Atomic]) -> Operands {
    let mut found = Operands {
        decides: parts.first().map(|part| base(&part.address)).into_iter().collect(),
        ..Operands::default()
    };
    for part in parts {
        let file = word(part.wide);
        found.sends.extend([(file, part.b), (file, part.c)]);
        found.receives.extend(part.destination.map(|slot| (file, slot)));
    }
    found
}

fn fetch(texture: &Texture) -> Operands {
    let mut found = Operands { decides: vec![(File::Long, texture.handle)], ..Operands::default() };
    found.decides.extend(texture.layer.map(|layer| (File::Word, layer)));
    found.decides.extend(all(File::Word, &texture.coordinates));
    let data = all(word(texture.wide), &texture.data);
    match texture.kind {
        TextureKind::Store { .. } => found.sends = data,
        _ => found.defines = data,
    }
    found
}

fn product(matrix: &Matrix) -> Operands {
    let (mut terms, mut sums) = (File::Word, File::Word);
    match matrix.kind {
        MatrixKind::Multiply(shape) => {
            terms = word(shape.a.bits() == 64);
            sums = word(shape.d.bits() == 64);
        }
        MatrixKind::LoadFragment(fragment) | MatrixKind::StoreFragment(fragment) => {
            terms = word(fragment.bits == 64);
            sums = terms;
        }
        MatrixKind::Load { .. } | MatrixKind::Store { .. } | MatrixKind::Transpose => {}
    }
    let mut sends = all(terms, &matrix.a);
    sends.extend(all(terms, &matrix.b));
    sends.extend(all(sums, &matrix.c));
    sends.extend(matrix.metadata.map(|slot| (File::Word, slot)));
    sends.extend(matrix.address.iter().map(base));
    sends.extend(matrix.stride.map(|stride| (File::Word, stride)));
    Operands { sends, receives: all(sums, &matrix.d), ..Operands::default() }
}

fn group_product(op: &Product) -> Operands {
    let mut decides = vec![(File::Pred, op.adds.0)];
    decides.extend(op.descriptors().into_iter().flatten().map(|slot| (File::Long, slot)));
    let mut sends = all(File::Word, op.fragments());
    sends.extend(all(File::Word, &op.d));
    Operands { decides, sends, receives: all(File::Word, &op.d), ..Operands::default() }
}

/// Returns the registers with the addresses of an asynchronous instruction, and those that it writes immediately.
fn asynchronous(op: &Async) -> Operands {
    let none = Operands::default;
    match op {
        Async::Copy { to, from, source_bytes, ignore, .. } => {
            let mut decides = vec![base(to), base(from)];
            decides.extend(source_bytes.map(|slot| (File::Word, slot)));
            Operands { decides, sends: ignore.iter().map(|(slot, _)| (File::Pred, *slot)).collect(), ..none() }
        }
        Async::Bulk { to, from, bytes, mbarrier, multicast, .. } => {
            let mut decides = vec![base(&to.1), base(&from.1), (File::Word, *bytes)];
            decides.extend(mbarrier.as_ref().map(base));
            Operands { decides, sends: multicast.iter().map(|slot| (File::Word, *slot)).collect(), ..none() }
        }
        Async::Tensor { shared, map, coordinates, mbarrier, multicast, .. } => {
            let mut decides = vec![base(shared), (File::Long, *map)];
            decides.extend(all(File::Word, coordinates));
            decides.extend(mbarrier.as_ref().map(base));
            Operands { decides, sends: multicast.iter().map(|slot| (File::Word, *slot)).collect(), ..none() }
        }
        Async::Remote { to, values, wide, mbarrier, .. } => {
            Operands { decides: vec![base(to), base(mbarrier)], sends: all(word(*wide), values), ..none() }
        }
        Async::ArriveAfterCopies { mbarrier, .. } => Operands { decides: vec![base(&mbarrier.1)], ..none() },
        Async::Mbarrier { kind, address: (_, place), .. } => {
            let mut found = Operands { decides: vec![base(place)], ..none() };
            match kind {
                Mbarrier::Init(count) => found.decides.push((File::Word, *count)),
                Mbarrier::Invalidate => {}
                Mbarrier::ExpectBytes(bytes) | Mbarrier::CompleteBytes(bytes) => found.sends.push((File::Word, *bytes)),
                Mbarrier::Arrive { state, count, bytes, .. } => {
                    found.defines.push((File::Long, *state));
                    found.sends.extend([*count, *bytes].into_iter().flatten().map(|slot| (File::Word, slot)));
                }
                Mbarrier::Test { destination, phase, parity } => {
                    found.defines.push((File::Pred, *destination));
                    found.sends.push((word(!parity), *phase));
                }
            }
            found
        }
        Async::PendingCount(destination, state) => {
            Operands { defines: vec![(File::Word, *destination)], sends: vec![(File::Long, *state)], ..none() }
        }
        Async::Mapa { destination, source, rank, wide, .. } => Operands {
            decides: vec![(word(*wide), *source), (File::Word, *rank)],
            defines: vec![(word(*wide), *destination)],
            ..none()
        },
        Async::Rank { destination, source, wide, .. } => {
            Operands { decides: vec![(word(*wide), *source)], defines: vec![(File::Word, *destination)], ..none() }
        }
        Async::ReplaceField { map, value, wide, .. } => {
            Operands { decides: vec![base(&map.1)], sends: vec![(word(*wide), *value)], ..none() }
        }
        Async::AcquireMap(map) => Operands { decides: vec![base(map)], ..none() },
        Async::CopyMap { to, from } => Operands { decides: vec![base(to), base(from)], ..none() },
        Async::Commit(_)
        | Async::Wait { .. }
        | Async::ProxyFence
        | Async::ClusterArrive { .. }
        | Async::ClusterWait { .. } => none(),
    }
}
