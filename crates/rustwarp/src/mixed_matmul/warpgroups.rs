//! Products by warpgroups, fed by tensor maps; without tensor cores, by each thread.

use super::divided::Divided;
use super::factor::{Factor, Operand, TILES};
use super::problem::Problem;
use super::stored::{Copies, Request, Stored, boxes};
use super::{Forced, has_warpgroups, tile};
use crate::backend::{Handle, Shape, View};
use crate::element::Scalar;
use crate::epilogue::Parameters;
use crate::error::Result;
use crate::launch::{Launch, require_grid};
use cuda_std::launch::{Call, Ptr, PtrMut};
use cuda_std::memory::TensorMap;
use kernels_gpu::epilogue::FINISHED;
use kernels_gpu::tensor::mixed::problem::{A_ACROSS, A_SHARED, B_ACROSS, B_SHARED, BY_ELEMENTS, PLAIN};
use kernels_gpu::tensor::mixed::product::BLOCK;
use kernels_gpu::tensor::mixed::{COPY_ROWS, pad};

/// Least number of multiplications of a product for which a copy of a factor with rows of whole cache lines costs less
/// than it saves (`docs/results/h200`).
const COPY_PAYS: u128 = 1 << 32;

/// A plan.
pub struct Warpgroups<H: Handle> {
    problem: Problem,
    factors: [Stored<H>; 2],
    /// Numbers of the tile and of the storage orders, for which there is a kernel.
    kernel: [usize; 2],
    /// The launch on tensor cores; `None` on devices without them, and if nothing is added.
    shape: Option<Shape>,
    /// The launch without them.
    plain: Shape,
    /// Bits for the storage orders of the factors, which PTX for older GPUs reads.
    orders: u32,
    /// The parts that the launch on tensor cores computes.
    parts: Option<Divided<H>>,
}

/// The maps that a launch takes.
struct Maps<T: Operand> {
    factors: [TensorMap<T::Precision>; 2],
    product: TensorMap,
}

/// What stands for a map that a launch does not use.
const NO_MAP: TensorMap = TensorMap::new([0; 16]);

impl<T: Operand> Maps<T> {
    const NONE: Self = Self { factors: [NO_MAP.cast(); 2], product: NO_MAP };
}

impl<H: Handle> Warpgroups<H> {
    /// Plans products of these sizes.
    ///
    /// # Errors
    /// Those of [`Plan::new`](super::Plan::new).
    pub fn new<T: Operand>(device: &H, problem: Problem, transposed: [bool; 2], forced: Forced) -> Result<Self> {
        let info = device.backend().info();
        let choice = forced.choose::<T>(&TILES, tile::WAIT, &problem, info);
        let (size, _) = TILES[choice.tile];
        let tensor = has_warpgroups(info) && problem.depth > 0;
        let parts = if tensor { Divided::new(device, &problem, size, choice.part)? } else { None };
        let tiles = u64::from(require_grid(tile::count(&problem, size), "the product", "multiply in parts")?);
        let (blocks, elements) = (u64::from(info.multiprocessors), problem.elements());
        let across @ [across_a, across_b] = [transposed[0], !transposed[1]];
        // Copies of boxes whose rows are not whole cache lines take twice the time.
        let Problem { rows, columns, depth, .. } = problem;
        let large = [rows, columns, depth].into_iter().map(u128::from).product::<u128>() >= COPY_PAYS;
        let multiple = tensor.then_some(if large { pad::LINE } else { pad::UNIT });
        let factor = |factor: usize, lines, tile| {
            let ((count, step), depth, pitch) = (problem.matrices(factor), problem.depth, problem.pitches[factor]);
            let (across, turns) = (across[factor], tensor && !T::EITHER);
            Stored::new::<T>(device, &Request { lines, depth, count, step, pitch, across, tile, turns, multiple })
        };
        let order = if T::EITHER { usize::from(across_a) * 2 + usize::from(across_b) } else { 0 };
        Ok(Self {
            problem,
            factors: [factor(0, problem.rows, size.rows)?, factor(1, problem.columns, size.columns)?],
            kernel: [choice.tile, order],
            shape: tensor.then(|| match &parts {
                // The blocks of a tile wait for each other.
                Some(parts) => Shape::linear(tiles as u32 * parts.count, BLOCK).with_shared(size.shared).cooperative(),
                None => Shape::linear(blocks.min(tiles) as u32, BLOCK).with_shared(size.shared),
            }),
            plain: Shape::linear((blocks * 4).min(elements.div_ceil(BLOCK.into())) as u32, BLOCK),
            orders: (u32::from(across_a) * A_ACROSS) | (u32::from(across_b) * B_ACROSS),
            parts,
        })
    }

    /// The launches that write the product of A and B, in order.
    ///
    /// # Errors
    /// Those of the device.
    ///
    /// # Safety
    /// The matrices have the plan's sizes, and the epilogue its lengths.
    pub unsafe fn prepare<'a, T: Factor<O>, O: Scalar>(
        &'a self,
        device: &H,
        [a, b]: [View<'a, T, H>; 2],
        epilogue: Parameters<'a>,
        product: View<'a, O, H>,
    ) -> Result<Vec<Launch<'a>>> {
        let factors = [(&self.factors[0], a), (&self.factors[1], b)];
        let mapped = factors.iter().all(|(stored, view)| stored.has_map(view.address()));
        let places = [a.address(), b.address()];
        let used = [a.reads(), b.reads()];
        let (Some(shape), true, false) = (self.shape, mapped, self.problem.elements() == 0) else {
            let Parameters { how, .. } = epilogue;
            let epilogue = Parameters { how: how | PLAIN, ..epilogue };
            // SAFETY: the caller upholds this function's contract.
            let call = unsafe { self.call::<T>(Maps::NONE, places, epilogue, None, product.address()) };
            // SAFETY: the matrices have the plan's sizes, and the block is the kernel's, which takes any grid.
            let launch = unsafe { Launch::new(call, self.plain) };
            return Ok(vec![launch.using(used).using([product.writes()])]);
        };
        let mut launches: Vec<_> =
            factors.iter().filter_map(|(stored, view)| stored.prepare(*view, Copies::Tensor)).collect();
        let map = match &self.parts {
            Some(_) => None,
            None => product_map::<O, H>(device, product.address(), &self.problem, epilogue.how)?,
        };
        let alone = self.parts.is_some();
        let shared = |factor: usize, bit: u32| if alone || self.problem.steps[factor] == 0 { bit } else { 0 };
        let bits = shared(0, A_SHARED) | shared(1, B_SHARED) | if map.is_some() { 0 } else { BY_ELEMENTS };
        let parameters = Parameters { how: epilogue.how | bits, ..epilogue };
        let [of_a, of_b] = &self.factors;
        let factors = [of_a.map::<T>(device, a.address())?, of_b.map::<T>(device, b.address())?];
        let maps = Maps { factors, product: map.unwrap_or(NO_MAP) };
        // SAFETY: the caller upholds this function's contract.
        let call = unsafe { self.call::<T>(maps, places, parameters, self.parts.as_ref(), product.address()) };
        // SAFETY: by contract the matrices have the plan's sizes, the maps describe them with the kernel's boxes, the
        // launches before write the copies, and block and shared memory are the kernel's. If the depth is
        // divided, the shape of `new` is cooperative, with a block for each part of each tile, for which there are sums
        // and words; the words are 0 at first, and only launches of this plan, one after the other, write them.
        let launch = unsafe { Launch::new(call, shape) }.using(used).using([product.writes()]);
        let scratch = self.parts.iter().flat_map(|parts| [parts.sums.writes(), parts.words.writes()]);
        let launch = scratch.fold(launch, |launch, scratch| launch.using([scratch]));
        let copies = self.factors.iter().filter_map(Stored::copy);
        launches.push(copies.fold(launch, |launch, copy| launch.using([copy.reads()])));
        Ok(launches)
    }

    /// The call for the products, computed in parts or as a whole, at an address.
    ///
    /// # Safety
    /// The factors are at their places, and there is room for the products.
    unsafe fn call<'a, T: Operand>(
        &self,
        maps: Maps<T>,
        [a, b]: [u64; 2],
        epilogue: Parameters<'a>,
        parts: Option<&'a Divided<H>>,
        out: u64,
    ) -> Call<'a> {
        let Parameters { how, alpha, beta, addend, vectors: [row_scales, column_scales, bias] } = epilogue;
        let Problem { rows, columns, depth, count, steps, pitches } = self.problem;
        // SAFETY: by contract the matrices are there; kernels that compute whole products do not use scratch memory.
        let (on_a, on_b, out, nothing) = unsafe { (Ptr::new(a), Ptr::new(b), PtrMut::new(out), PtrMut::new(0)) };
        let (count, part, sums, words) = match parts {
            Some(parts) => (parts.count, parts.part, parts.sums.ptr(), parts.words.ptr()),
            None => (count, 0, nothing, nothing),
        };
        let Maps { factors: [a_map, b_map], product: c_map } = maps;
        let [tile, order] = self.kernel;
        T::KERNELS[tile][order](
            a_map,
            b_map,
            c_map,
            on_a,
            on_b,
            out,
            rows,
            columns,
            depth,
            count,
            part,
            sums,
            words,
            steps,
            pitches,
            how | self.orders,
            alpha,
            beta,
            addend,
            row_scales,
            column_scales,
            bias,
        )
    }
}

/// The map by which products are stored; `None` if sums are finished on the way, or if rows or products do not start at
/// multiples of 16 bytes, or rows do not end there: a store by a map writes whole units of 16 bytes.
///
/// # Errors
/// Those of the device.
fn product_map<O: Scalar, H: Handle>(
    device: &H,
    address: u64,
    problem: &Problem,
    how: u32,
) -> Result<Option<TensorMap>> {
    let Problem { rows, columns, count, steps: [_, _, step], pitches: [_, _, pitch], .. } = *problem;
    let whole = |elements: u64| (elements * size_of::<O>() as u64).is_multiple_of(pad::UNIT.into());
    let apart = whole(pitch.into()) && (count <= 1 || whole(step));
    if how & FINISHED != 0 || !address.is_multiple_of(16) || !apart || !whole(columns.into()) {
        return Ok(None);
    }
    boxes::<O, H>(device, address, [columns, rows, count], [pitch.into(), step], COPY_ROWS).map(Some)
}
