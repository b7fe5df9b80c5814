//! Tests of loads and stores of every shape, against a computation byte by byte.

use super::*;
use crate::level::Level;
use crate::memory::storage::Storage;
use crate::program::{Address, Order, Scope, Space};

const BYTES: usize = 8192;
/// Initial value of registers, kept where no value is loaded.
const KEPT: u64 = 0x1234_5678_9abc_def0;

fn access(bytes: u8, count: u32, wide: bool, sign_extend: u8) -> Access {
    let (order, scope, space) = (Order::Weak, Scope::Gpu, Space::Global);
    let (non_coherent, used_bytes) = (false, u64::MAX);
    let address = Address { base: 0, narrow: false, offset: 0 };
    // A 16-byte element takes two rows.
    let registers = (0..count).map(|i| if bytes == 16 { 2 * i } else { i }).collect();
    Access { space, order, scope, bytes, wide, sign_extend, registers, address, non_coherent, used_bytes }
}

/// Elements of all sizes, alone and as vectors, for registers of both widths.
fn accesses() -> Vec<Access> {
    let mut all = Vec::new();
    for count in [1, 2, 4] {
        for bytes in [1, 2, 4] {
            let signs = [0, 16, 32, 64].into_iter().filter(|bits| *bits == 0 || *bits >= 8 * bytes);
            for sign in signs {
                all.push(access(bytes, count, true, sign));
                if sign < 64 {
                    all.push(access(bytes, count, false, sign));
                }
            }
        }
        all.push(access(8, count, true, 0));
    }
    all.extend([access(4, 8, false, 0), access(16, 1, true, 0), access(16, 2, true, 0)]);
    all
}

/// Adjacent at every size, equal, with gaps, descending, in two groups.
const PATTERNS: [fn(u64) -> u64; 11] = [
    |lane| 32 + 4 * lane,
    |lane| 8 * lane,
    |lane| 64 + 16 * lane,
    |lane| 32 * lane,
    |_| 96,
    |lane| 160 * lane,
    |lane| 32 * (31 - lane),
    |lane| lane % 16 * 32 + lane / 16 * 1024,
    |lane| lane % 16 * 4 + lane / 16 * 640,
    |lane| 128 + lane / 16 * 2048,
    |lane| lane,
];

fn on_each(mut test: impl FnMut(Level, &Access, &[u64; LANES], u32)) {
    for level in Level::available() {
        for access in accesses() {
            let size = u64::from(access.bytes) * access.registers.len() as u64;
            for pattern in PATTERNS {
                let addresses = std::array::from_fn(|lane| pattern(lane as u64) / size * size);
                for mask in [u32::MAX, 0x0000_ffff, 0x8421_7ff0, 1 << 31] {
                    test(level, &access, &addresses, mask);
                }
            }
        }
    }
}

fn memory() -> Vec<u8> {
    (0..BYTES as u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 13) as u8).collect()
}

fn words(memory: &[u8]) -> Vec<u32> {
    memory.chunks_exact(4).map(|word| little(word) as u32).collect()
}

fn little(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |value, byte| value << 8 | u64::from(*byte))
}

fn registers(value: impl Fn(usize) -> u64) -> Registers {
    let w64 = (0..8).map(|row| std::array::from_fn(|lane| value(row * LANES + lane))).collect();
    let w32 = (0..8).map(|row| std::array::from_fn(|lane| value(row * LANES + lane) as u32)).collect();
    Registers { w32, w64, ..Registers::default() }
}

/// Computes, byte by byte, the register value of element `index` of a load.
fn loaded(memory: &[u8], access: &Access, address: u64, index: usize) -> u64 {
    let at = address as usize + index * usize::from(access.bytes);
    let bytes = &memory[at..at + usize::from(access.bytes.min(8))];
    let value = little(bytes);
    if access.sign_extend == 0 || bytes[bytes.len() - 1] < 0x80 {
        return value;
    }
    let above = u64::MAX.checked_shl(8 * bytes.len() as u32).unwrap_or(0);
    (value | above) & u64::MAX >> (64 - access.sign_extend)
}

#[test]
fn loads_of_every_shape() {
    let memory = memory();
    let (words, storage) = (words(&memory), Storage::zeroed(BYTES as u64).expect("memory"));
    storage.write(0, &memory);
    on_each(|level, access, addresses, mask| {
        let lanes = Lanes { access, addresses, mask, spread: &Spread::of(addresses, mask) };
        let (mut one, mut other) = (registers(|_| KEPT), registers(|_| KEPT));
        level.perform(&mut Fill { lanes, registers: &mut one, source: words.as_slice() });
        level.perform(&mut Fill { lanes, registers: &mut other, source: Allocated { storage: &storage, base: 0 } });
        assert!(one.w32 == other.w32 && one.w64 == other.w64, "{access:?} {mask:x} {addresses:?}");
        for (index, &slot) in access.registers.iter().enumerate() {
            for (lane, &address) in addresses.iter().enumerate() {
                let here = mask >> lane & 1 != 0;
                let expected = if here { loaded(&memory, access, address, index) } else { KEPT };
                let (narrow, wide) = (one.w32[slot as usize][lane], one.w64[slot as usize][lane]);
                match access.wide {
                    true => assert_eq!(wide, expected, "{access:?}, lane {lane} of {mask:x}, {addresses:?}"),
                    false => {
                        assert_eq!(narrow, expected as u32, "{access:?}, lane {lane} of {mask:x}, {addresses:?}")
                    }
                }
                if access.bytes == 16 && here {
                    let at = address as usize + 16 * index + 8;
                    assert_eq!(one.w64[slot as usize + 1][lane], little(&memory[at..at + 8]));
                }
            }
        }
    });
}

#[test]
fn stores_of_every_shape() {
    let before = memory();
    let registers = registers(|at| (at as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    on_each(|level, access, addresses, mask| {
        let lanes = Lanes { access, addresses, mask, spread: &Spread::of(addresses, mask) };
        let mut stored = words(&before);
        level.perform(&mut Drain { lanes, registers: &registers, sink: stored.as_mut_slice() });
        let storage = Storage::zeroed(BYTES as u64).expect("memory");
        storage.write(0, &before);
        level.perform(&mut Drain { lanes, registers: &registers, sink: Allocated { storage: &storage, base: 0 } });
        let mut expected = before.clone();
        for (index, &slot) in access.registers.iter().enumerate() {
            each(mask, |lane| {
                let (slot, size) = (slot as usize, usize::from(access.bytes));
                let at = addresses[lane] as usize + index * size;
                let value = if access.wide { registers.w64[slot][lane] } else { registers.w32[slot][lane].into() };
                let bytes = value.to_le_bytes();
                expected[at..at + size.min(8)].copy_from_slice(&bytes[..size.min(8)]);
                if size == 16 {
                    let upper = registers.w64[slot + 1][lane].to_le_bytes();
                    expected[at + 8..at + 16].copy_from_slice(&upper);
                }
            });
        }
        assert!(words(&expected) == stored, "shared: {access:?}, lanes {mask:x}, {addresses:?}");
        let mut found = vec![0; BYTES];
        storage.read(0, &mut found);
        assert!(expected == found, "global: {access:?}, lanes {mask:x}, {addresses:?}");
    });
}

#[test]
fn local_memory_is_by_lane() {
    on_each(|level, access, addresses, mask| {
        let lanes = Lanes { access, addresses, mask, spread: &Spread::of(addresses, mask) };
        let stored = registers(|at| (at as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let mut rows = vec![[0; LANES]; BYTES / 4];
        level.perform(&mut Drain { lanes, registers: &stored, sink: rows.as_mut_slice() });
        let mut loaded = registers(|_| KEPT);
        level.perform(&mut Fill { lanes, registers: &mut loaded, source: rows.as_slice() });
        let bits = 8 * u32::from(access.bytes.min(8));
        if access.sign_extend != 0 {
            return;
        }
        for &slot in &access.registers {
            for lane in 0..LANES {
                let of = |registers: &Registers| match access.wide {
                    true => registers.w64[slot as usize][lane],
                    false => registers.w32[slot as usize][lane].into(),
                };
                let kept = if access.wide { KEPT } else { KEPT & 0xffff_ffff };
                let expected = if mask >> lane & 1 != 0 { of(&stored) & u64::MAX >> (64 - bits) } else { kept };
                assert_eq!(of(&loaded), expected, "{access:?}, lane {lane} of {mask:x}");
            }
        }
    });
}
