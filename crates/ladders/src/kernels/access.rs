//! Access: every element of a matrix is doubled; the variants differ in the mapping of threads to elements.

use super::generic::with_float;
use super::ladder::{Chosen, Ladder, Run, Rung};
use super::plan::Plan;
use super::settings::{Number, Setting};
use super::{BlockRule, Case, Entry, Family, Job, Limits, Operand, Oracle, Problem, Resolved, Work};
use crate::compare::Expected;
use crate::error::{Error, Result};
use crate::kernels::spelling::BLOCK_SIZE;
use cuda_std::launch::{Call, PtrMut, Slice};
use kernels_gpu::access::*;
use rustwarp::backend::{Buffer, Shape, require_memory};
use rustwarp::element::{Dtype, Element, Value};
use rustwarp::require_grid;
use std::marker::PhantomData;

const STRIDE: Setting<Number> = Setting {
    name: "stride",
    help: "elements from lane to lane of the variant strided",
    generated: false,
    kind: Number { default: 2, min: 1, max: 32 },
};

const OFFSET: Setting<Number> = Setting {
    name: "offset",
    help: "lanes that the variant offset leaves idle at the start",
    generated: false,
    kind: Number { default: 1, min: 0, max: 32 },
};

/// The family.
pub const FAMILY: Family = Family {
    name: "access",
    idea: "double a matrix: the order of accesses decides how many sectors move",
    operands: &[Operand::of_elements("matrix")],
    ops: &[],
    dtypes: DTYPES,
    only: &[],
    settings: &[STRIDE.listed(), OFFSET.listed()],
    variants: || FAMILY.merge(resolve),
    cases,
    sizes,
    of_vectors: false,
    generate: |demand| Ok(vec![demand.tensor(0, &demand.axes::<2>("ROWSxCOLUMNS, or one number for a square")?)?]),
    resolve: |problem| resolve(problem.op, problem.dtype),
    specials: false,
    limits: Limits::DEFAULT,
    peers: &["elementwise"],
};

const DTYPES: &[Dtype] = &[Dtype::F32, Dtype::F64];

fn resolve(_: &str, dtype: Dtype) -> Result<Resolved> {
    with_float!(FAMILY, dtype, T => Ok(Resolved::of::<Access<T>>()))
}

/// The family for one element type.
struct Access<T>(PhantomData<T>);

/// The launcher of a rung, and the number of threads that it needs.
struct Kernel<T: 'static> {
    launcher: Launcher<T>,
    /// Number of threads that the launch needs.
    threads: fn(&Extent) -> u64,
}

/// A launcher, by the arguments that it takes beside input and output.
enum Launcher<T: 'static> {
    /// The numbers of rows and columns.
    Walk(for<'a> fn(Slice<'a, T>, u32, u32, PtrMut<'a, T>) -> Call<'a>),
    /// A property of the problem.
    Step(fn(&Extent) -> u64, for<'a> fn(Slice<'a, T>, u32, PtrMut<'a, T>) -> Call<'a>),
    /// No further argument.
    Flat(for<'a> fn(Slice<'a, T>, PtrMut<'a, T>) -> Call<'a>),
}

/// The properties that determine the number of threads.
struct Extent {
    rows: u64,
    columns: u64,
    stride: u64,
    offset: u64,
    /// Bytes of an element.
    size: u64,
}

impl Extent {
    fn len(&self) -> u64 {
        self.rows * self.columns
    }
}

const BLOCKS: BlockRule = BlockRule::Any { default: BLOCK };

/// A matrix on a device.
struct Matrix<'j, T> {
    input: Buffer<'j, T>,
    extent: Extent,
}

impl<T: Element> Ladder for Access<T> {
    const FAMILY: &'static str = FAMILY.name;
    type Kernel = Kernel<T>;
    type Operands<'j> = Matrix<'j, T>;

    fn rungs() -> Vec<Rung<Kernel<T>>> {
        use Launcher::{Flat, Step, Walk};
        let rung =
            |name, idea, launcher, threads| Rung { name, idea, block: BLOCKS, kernel: Kernel { launcher, threads } };
        vec![
            rung("row_walk", row_walk::IDEA, Walk(row_walk::access_row_walk::<T>), |extent| extent.rows),
            rung("strided", strided::IDEA, Step(|extent| extent.stride, strided::access_strided::<T>), |extent| {
                extent.len().next_multiple_of(32 * extent.stride)
            }),
            rung("structures", structures::IDEA, Flat(structures::access_structures::<T>), |extent| {
                extent.len().div_ceil(FIELDS as u64)
            }),
            rung("offset", offset::IDEA, Step(|extent| extent.offset, offset::access_offset::<T>), |extent| {
                extent.len() + extent.offset
            }),
            rung("arrays", arrays::IDEA, Flat(arrays::access_arrays::<T>), |extent| {
                extent.len().div_ceil(FIELDS as u64)
            }),
            rung("column_walk", column_walk::IDEA, Walk(column_walk::access_column_walk::<T>), |extent| extent.columns),
            rung(
                "structures_vector",
                structures_vector::IDEA,
                Flat(structures_vector::access_structures_vector::<T>),
                |extent| extent.len().div_ceil(16 / extent.size).max(4),
            ),
        ]
    }

    fn entries(rung: &Rung<Kernel<T>>) -> Vec<Entry> {
        vec![match rung.kernel.launcher {
            Launcher::Walk(launcher) => Entry::of(launcher),
            Launcher::Step(_, launcher) => Entry::of(launcher),
            Launcher::Flat(launcher) => Entry::of(launcher),
        }]
    }

    fn oracle(problem: Problem<'_>) -> Result<Oracle<'_>> {
        let shape = problem.inputs[0].matrix("the operand of access")?;
        let input = problem.view::<T>(0)?;
        let expected = move |i: usize, _| Expected::exactly(doubled(input[i]));
        Ok(Oracle::elements::<T>(shape.to_vec(), expected))
    }

    fn upload<'j>(job: &'j Job<'_>, _: &[Chosen<'_, Kernel<T>>]) -> Result<Matrix<'j, T>> {
        let input = job.problem.view::<T>(0)?;
        let [rows, columns] = job.problem.inputs[0].matrix("the operand of access")?;
        if rows > u32::MAX as usize || columns > u32::MAX as usize {
            return Err(Error::Usage(format!("access takes up to 2^32 - 1 rows and columns, not {rows}x{columns}")));
        }
        let extent = Extent {
            rows: rows as u64,
            columns: columns as u64,
            stride: job.problem.settings.number(&STRIDE),
            offset: job.problem.settings.number(&OFFSET),
            size: size_of::<T>() as u64,
        };
        let bytes = 2 * size_of_val(input) as u64;
        require_memory(job.device, Some(bytes), "access of a matrix and its double", "use a smaller one")?;
        Ok(Matrix { input: Buffer::from_slice(job.device, input, "input")?, extent })
    }

    fn work(matrix: &Matrix<'_, T>) -> Work {
        Work::bytes(2 * matrix.input.bytes())
    }

    fn prepare(matrix: &Matrix<'_, T>, rung: &Chosen<'_, Kernel<T>>, run: Run<'_>) -> Result<()> {
        rung.require_no_grid()?;
        let Matrix { input, extent } = matrix;
        let (rows, columns) = (extent.rows as u32, extent.columns as u32);
        let blocks = if input.is_empty() { 0 } else { (rung.kernel.threads)(extent).div_ceil(rung.block.into()) };
        let grid =
            require_grid(blocks, &format!("{} of {rows}x{columns}", rung.name), &format!("use a larger {BLOCK_SIZE}"))?;
        let output = rung.uninit::<T>(input.len(), "output")?;
        let values = input.slice(input.len());
        let call = match rung.kernel.launcher {
            Launcher::Walk(launcher) => launcher(values, rows, columns, output.ptr()),
            Launcher::Step(number, launcher) => launcher(values, number(extent) as u32, output.ptr()),
            Launcher::Flat(launcher) => launcher(values, output.ptr()),
        };
        let result = [rows as usize, columns as usize];
        // SAFETY: the kernel's own launcher made the call, with matrices of this size, and as many threads as it needs.
        let plan = unsafe { Plan::of(call, Shape::linear(grid, rung.block), &output, &result) };
        run(plan.with_depth(1))
    }
}

fn cases() -> Vec<Case> {
    let shapes = [[0, 0], [0, 5], [1, 1], [1, 33], [257, 3], [3, 257], [31, 32], [32, 33], [64, 64]];
    let steps = [(1, 0), (3, 8), (8, 7), (31, 31), (32, 32)];
    let with = |(stride, offset): &(u32, u32)| {
        Case::new(&[33, 65]).with("stride", &stride.to_string()).with("offset", &offset.to_string())
    };
    shapes.iter().map(|shape| Case::new(shape)).chain(steps.iter().map(with)).collect()
}

fn sizes() -> Vec<Case> {
    let square = |side: u64| Case::new(&[side, side]);
    let strides = [4, 8, 32].map(|stride| square(8192).with("stride", &stride.to_string()));
    [square(1024), square(4096), square(8192)].into_iter().chain(strides).collect()
}

/// Twice the element: twice a float is a float or an infinity, and integers wrap.
fn doubled<T: Element>(x: T) -> Value {
    match x.value() {
        Value::Float(x) => T::round(Value::Float(2.0 * x)).value(),
        Value::Int(x) => T::round(Value::Int(2 * x)).value(),
    }
}
