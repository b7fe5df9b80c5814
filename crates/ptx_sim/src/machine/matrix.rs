//! `mma`, `ldmatrix`, `stmatrix`, `movmatrix` and `wmma`: the whole warp executes them together.
//!
//! Lanes that arrive first wait for the others of their warp as at a `*.sync` instruction; all must arrive at the same
//! instruction.

use super::access::{Shape, addresses};
use super::block::Block;
use super::faults::At;
use super::warp::{Split, State, Warp};
use super::worker::Worker;
use crate::isa::matrix::multiply;
use crate::lanes;
use crate::observe::{AccessKind, Observer, Shadow, Site};
use crate::program::{Access, Address, Collective, Fragment, Matrix, MatrixKind, Order, Order2, Scope, Space};
use crate::registers::{LANES, NO_SLOT, Registers};
use crate::stop::Stop;

impl<O: Observer> Worker<'_, O> {
    /// Executes a matrix instruction with all lanes.
    ///
    /// # Errors
    /// A stop if lanes are missing, or an address faults.
    #[inline(never)]
    pub fn matrix(
        &mut self,
        block: &mut Block<O::Block>,
        warp: &mut Warp,
        registers: &mut Registers,
        matrix: &Matrix,
        at: At,
    ) -> Result<(), Stop> {
        if O::Shadow::ON {
            let (shadow, mut scene) = self.shadow(block, warp, at.site);
            shadow.matrix(&mut scene, registers, matrix);
        }
        match &matrix.kind {
            MatrixKind::Multiply(shape) => {
                multiply(registers, [&matrix.d, &matrix.a, &matrix.b, &matrix.c], shape);
            }
            MatrixKind::Transpose => {
                if let (&[d], &[a]) = (matrix.d.as_slice(), matrix.a.as_slice()) {
                    let rows = registers.w32[a as usize];
                    write(registers, d, transpose(&rows));
                }
            }
            MatrixKind::Load { transposed } => self.load_matrices(block, warp, registers, matrix, *transposed, at)?,
            MatrixKind::Store { transposed } => self.store_matrices(block, warp, registers, matrix, *transposed, at)?,
            MatrixKind::LoadFragment(fragment) => self.load_fragment(block, warp, registers, matrix, fragment, at)?,
            MatrixKind::StoreFragment(fragment) => self.store_fragment(block, warp, registers, matrix, fragment, at)?,
        }
        self.observer.meet(&mut block.observed, warp.index, u32::MAX, warp.live);
        Ok(())
    }

    /// Lets some lanes wait for the others.
    ///
    /// # Errors
    /// A stop if lanes are missing, or an address faults.
    pub fn matrix_waits(
        &mut self,
        block: &mut Block<O::Block>,
        warp: &mut Warp,
        split: Split,
        site: Site,
    ) -> Result<(), Stop> {
        if warp.live != u32::MAX {
            return Err(self.partial(block, warp, split.mask, site));
        }
        let state = State::Collective { mask: u32::MAX, kind: Collective::Matrix };
        warp.splits.push(Split { state, ..split });
        self.meet_parked(block, warp)?;
        Ok(())
    }

    /// Called when all live lanes wait at a matrix instruction: if it is the same one, they become one split and
    /// execute it.
    ///
    /// # Errors
    /// A stop if lanes are missing, or an address faults.
    pub fn matrix_meets(
        &mut self,
        block: &mut Block<O::Block>,
        warp: &mut Warp,
        group: &[Split],
        came: u32,
    ) -> Result<(), Stop> {
        let Some(first) = group.first() else { return Ok(()) };
        let site = Site { function: warp.frames[first.frame as usize].function, pc: first.pc };
        if came != u32::MAX {
            return Err(self.partial(block, warp, came, site));
        }
        if let Some(other) = group.iter().find(|split| (split.frame, split.pc) != (first.frame, first.pc)) {
            let line = self.context.program.functions[warp.frames[other.frame as usize].function as usize]
                .code
                .get(other.pc as usize)
                .map_or(0, |inst| inst.line);
            let title = format!(
                "{} execute this `.aligned` instruction, {} the one in line {line}",
                lanes::describe(first.mask),
                lanes::describe(other.mask)
            );
            return Err(self.fault(block, warp.index, lanes::first(first.mask), site, "not-aligned", title));
        }
        for split in group {
            warp.splits.push(Split { state: State::Ready, ..*split });
        }
        if let Some(mut split) = warp.pick() {
            warp.absorb(&mut split);
            warp.splits.push(split);
        }
        Ok(())
    }

    /// Marks bytes that each lane of `mask` writes as defined.
    #[expect(clippy::too_many_arguments, reason = "the parts of one access")]
    fn lanes_write(
        &mut self,
        block: &mut Block<O::Block>,
        warp: &mut Warp,
        at: At,
        space: Space,
        addresses: &[u64; LANES],
        mask: u32,
        bytes: u32,
    ) {
        if O::Shadow::ON {
            let (shadow, mut scene) = self.shadow(block, warp, at.site);
            lanes::each(mask, |lane| shadow.writes(&mut scene, space, lane, addresses[lane], u64::from(bytes)));
        }
    }

    fn partial(&mut self, block: &Block<O::Block>, warp: &Warp, came: u32, site: Site) -> Stop {
        let title = format!(
            "a matrix instruction needs all 32 lanes of the warp, but only {} have not exited",
            lanes::describe(came & warp.live)
        );
        self.fault(block, warp.index, lanes::first(came), site, "missing-lanes", title)
    }

    fn load_matrices(
        &mut self,
        block: &mut Block<O::Block>,
        warp: &mut Warp,
        registers: &mut Registers,
        matrix: &Matrix,
        transposed: bool,
        at: At,
    ) -> Result<(), Stop> {
        let Some(address) = &matrix.address else { return Ok(()) };
        let addresses = addresses(registers, address);
        let mask = rows_mask(matrix.d.len());
        let mut rows = [[0u32; 4]; LANES];
        self.in_each_space(matrix.space, &addresses, mask, |this, space, addresses, mask| {
            this.only_shared(block, warp, space, mask, at)?;
            let shape = weak(AccessKind::Load, 16, true);
            this.check(block, warp, space, addresses, mask, shape, at, None)?;
            lanes::each(mask, |lane| {
                rows[lane] = std::array::from_fn(|word| {
                    lanes::load_words(&block.shared, addresses[lane] + 4 * word as u64, 4) as u32
                });
            });
            Ok(())
        })?;
        for (i, &slot) in matrix.d.iter().enumerate() {
            let held = std::array::from_fn(|lane| rows[8 * i + lane / 4][lane % 4]);
            write(registers, slot, if transposed { transpose(&held) } else { held });
        }
        Ok(())
    }

    fn store_matrices(
        &mut self,
        block: &mut Block<O::Block>,
        warp: &mut Warp,
        registers: &Registers,
        matrix: &Matrix,
        transposed: bool,
        at: At,
    ) -> Result<(), Stop> {
        let Some(address) = &matrix.address else { return Ok(()) };
        let addresses = addresses(registers, address);
        let mask = rows_mask(matrix.a.len());
        // Word `w` of the matrix row whose address a lane holds.
        let mut words = [[0; LANES]; 4];
        for (i, &slot) in matrix.a.iter().enumerate() {
            let held = registers.w32[slot as usize];
            let held = if transposed { transpose(&held) } else { held };
            for (lane, &value) in held.iter().enumerate() {
                words[lane % 4][(8 * i + lane / 4) % LANES] = value;
            }
        }
        // The equivalent ordinary store of these rows, for the observers.
        let scratch = Registers { w32: words.to_vec(), ..Registers::default() };
        let access = stored(matrix, 4, vec![0, 1, 2, 3]);
        self.in_each_space(matrix.space, &addresses, mask, |this, space, addresses, mask| {
            this.only_shared(block, warp, space, mask, at)?;
            let shape = weak(AccessKind::Store, 16, true);
            this.check(block, warp, space, addresses, mask, shape, at, Some((&scratch, &access)))?;
            this.lanes_write(block, warp, at, space, addresses, mask, 16);
            lanes::each(mask, |lane| {
                for (w, row) in words.iter().enumerate() {
                    lanes::store_words(&mut block.shared, addresses[lane] + 4 * w as u64, 4, u64::from(row[lane]));
                }
            });
            Ok(())
        })?;
        warp.wrote = true;
        Ok(())
    }

    /// Checks that fragments of `wmma` are in shared or device memory.
    fn not_local(&mut self, block: &Block<O::Block>, warp: &Warp, space: Space, mask: u32, at: At) -> Result<(), Stop> {
        if matches!(space, Space::Shared | Space::Global | Space::Const) {
            return Ok(());
        }
        let title =
            format!("a matrix lies in {} memory, not in global or shared memory", crate::memory::address::name(space));
        Err(self.fault(block, warp.index, lanes::first(mask), at.site, "wrong-space", title))
    }

    fn only_shared(
        &mut self,
        block: &Block<O::Block>,
        warp: &Warp,
        space: Space,
        mask: u32,
        at: At,
    ) -> Result<(), Stop> {
        if space == Space::Shared {
            return Ok(());
        }
        let title =
            format!("the rows of a matrix lie in {} memory, not in shared memory", crate::memory::address::name(space));
        Err(self.fault(block, warp.index, lanes::first(mask), at.site, "wrong-space", title))
    }

    /// Executes `wmma.load` element by element, or register by register where its elements are adjacent in memory.
    fn load_fragment(
        &mut self,
        block: &mut Block<O::Block>,
        warp: &mut Warp,
        registers: &mut Registers,
        matrix: &Matrix,
        fragment: &Fragment,
        at: At,
    ) -> Result<(), Stop> {
        let parts = Parts::of(registers, matrix, fragment);
        for (r, &slot) in matrix.d.iter().enumerate() {
            let mut row = [0u64; LANES];
            for j in 0..parts.count {
                let places = parts.addresses(fragment, r, j);
                self.in_each_space(matrix.space, &places, u32::MAX, |this, space, places, mask| {
                    this.not_local(block, warp, space, mask, at)?;
                    let shape = weak(AccessKind::Load, parts.bytes, false);
                    this.check(block, warp, space, places, mask, shape, at, None)?;
                    let mut found = [0; LANES];
                    this.read_lanes(block, space, places, mask, parts.bytes as u8, &mut found);
                    lanes::each(mask, |lane| row[lane] |= found[lane] << (8 * parts.bytes as usize * j));
                    Ok(())
                })?;
            }
            if slot == NO_SLOT {
                continue;
            }
            match fragment.bits {
                64 => registers.w64[slot as usize] = row,
                _ => registers.w32[slot as usize] = row.map(|value| value as u32),
            }
        }
        Ok(())
    }

    /// Executes `wmma.store`.
    fn store_fragment(
        &mut self,
        block: &mut Block<O::Block>,
        warp: &mut Warp,
        registers: &Registers,
        matrix: &Matrix,
        fragment: &Fragment,
        at: At,
    ) -> Result<(), Stop> {
        let parts = Parts::of(registers, matrix, fragment);
        for (r, &slot) in matrix.a.iter().enumerate() {
            let row: [u64; LANES] = match fragment.bits {
                64 => registers.w64[slot as usize],
                _ => registers.w32[slot as usize].map(u64::from),
            };
            for j in 0..parts.count {
                let values = row.map(|value| value >> (8 * parts.bytes as usize * j));
                let scratch = Registers { w64: vec![values], ..Registers::default() };
                let access = Access { wide: true, ..stored(matrix, parts.bytes as u8, vec![0]) };
                let places = parts.addresses(fragment, r, j);
                self.in_each_space(matrix.space, &places, u32::MAX, |this, space, places, mask| {
                    this.not_local(block, warp, space, mask, at)?;
                    let shape = weak(AccessKind::Store, parts.bytes, false);
                    this.check(block, warp, space, places, mask, shape, at, Some((&scratch, &access)))?;
                    this.lanes_write(block, warp, at, space, places, mask, parts.bytes);
                    this.write_lanes(block, space, places, mask, parts.bytes as u8, &values);
                    Ok(())
                })?;
            }
        }
        warp.wrote = true;
        Ok(())
    }

    /// Reads bytes of shared or device memory whose addresses were checked.
    fn read_lanes(
        &mut self,
        block: &Block<O::Block>,
        space: Space,
        places: &[u64; LANES],
        mask: u32,
        bytes: u8,
        found: &mut [u64; LANES],
    ) {
        match space {
            Space::Shared => {
                lanes::each(mask, |lane| found[lane] = lanes::load_words(&block.shared, places[lane], bytes));
            }
            _ => lanes::each(mask, |lane| {
                if let Some(view) = self.snapshot.find(places[lane]) {
                    found[lane] = view.storage.load(places[lane] - view.base, bytes);
                }
            }),
        }
    }

    fn write_lanes(
        &mut self,
        block: &mut Block<O::Block>,
        space: Space,
        places: &[u64; LANES],
        mask: u32,
        bytes: u8,
        values: &[u64; LANES],
    ) {
        match space {
            Space::Shared => {
                lanes::each(mask, |lane| lanes::store_words(&mut block.shared, places[lane], bytes, values[lane]));
            }
            _ => lanes::each(mask, |lane| {
                if let Some(view) = self.snapshot.find(places[lane]) {
                    view.storage.store(places[lane] - view.base, bytes, values[lane]);
                }
            }),
        }
    }
}

/// Accesses for the elements of a fragment's register.
struct Parts {
    base: [u64; LANES],
    stride: u64,
    /// Number of accesses per register.
    count: usize,
    /// Bytes of each access.
    bytes: u32,
}

impl Parts {
    fn of(registers: &Registers, matrix: &Matrix, fragment: &Fragment) -> Self {
        let base = match &matrix.address {
            Some(address) => addresses(registers, address),
            None => [0; LANES],
        };
        let contiguous = match fragment.order {
            Order2::Row => fragment.columns,
            Order2::Column => fragment.rows,
        };
        let stride = matrix.stride.map_or(contiguous as u64, |slot| u64::from(registers.w32[slot as usize][0]));
        let per_register = (32 / fragment.bits).max(1);
        // The elements of sums stored by columns are not adjacent.
        let together = !fragment.sum || fragment.order == Order2::Row;
        let (count, elements) = if together { (1, per_register) } else { (per_register, 1) };
        Self { base, stride, count, bytes: (fragment.bits * elements / 8) as u32 }
    }

    fn addresses(&self, fragment: &Fragment, register: usize, j: usize) -> [u64; LANES] {
        let element = fragment.bits as u64 / 8;
        std::array::from_fn(|lane| {
            let offset = fragment.offset(fragment.place(register, lane, j), self.stride);
            self.base[lane].wrapping_add(offset.wrapping_mul(element))
        })
    }
}

/// Builds a store of these registers of the lanes.
fn stored(matrix: &Matrix, bytes: u8, registers: Vec<u32>) -> Access {
    Access {
        space: matrix.space,
        order: Order::Weak,
        scope: Scope::Sys,
        bytes,
        wide: false,
        sign_extend: 0,
        registers,
        address: matrix.address.unwrap_or(Address { base: 0, narrow: false, offset: 0 }),
        non_coherent: false,
        used_bytes: u64::MAX,
    }
}

/// Returns the mask of the lanes whose addresses are rows of that number of 8x8 matrices.
fn rows_mask(matrices: usize) -> u32 {
    u32::MAX >> (32 - 8 * matrices.clamp(1, 4))
}

fn write(registers: &mut Registers, slot: u32, row: [u32; LANES]) {
    if slot != NO_SLOT {
        registers.w32[slot as usize] = row;
    }
}

/// Transposes an 8x8 matrix of 16-bit elements: lane `4 r + c` holds elements `2 c` and `2 c + 1` of row `r`.
fn transpose(held: &[u32; LANES]) -> [u32; LANES] {
    let element = |row: usize, column: usize| held[4 * row + column / 2] >> (16 * (column % 2)) & 0xffff;
    std::array::from_fn(|lane| {
        let (row, column) = (lane / 4, lane % 4 * 2);
        element(column, row) | element(column + 1, row) << 16
    })
}

fn weak(kind: AccessKind, bytes: u32, matrix_rows: bool) -> Shape {
    Shape { kind, order: Order::Weak, scope: Scope::Sys, bytes, matrix_rows }
}
