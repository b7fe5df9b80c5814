//! Access: every element of a matrix is doubled; what differs is which thread touches which element.

use super::block;
use super::generic::with_float;
use super::settings::{Number, Setting};
use super::{BlockRule, Case, Entry, Family, Job, Limits, Operand, Oracle, Problem, Row, Trial, VariantInfo, Work};
use crate::compare::Expected;
use cuda_std::launch::{Call, PtrMut, Slice};
use kernels_gpu::access::*;
use rustwarp::backend::{Buffer, Shape, require_memory};
use rustwarp::element::{Dtype, Element, Value};
use rustwarp::error::{Error, Result};
use rustwarp::tensor::Tensor;

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
    variants,
    cases,
    sizes,
    generate: |demand| Ok(vec![demand.tensor(0, &demand.axes::<2>("ROWSxCOLUMNS, or one number for a square")?)?]),
    oracle,
    run,
    specials: false,
    limits: Limits::DEFAULT,
    peer: None,
};

const DTYPES: &[Dtype] = &[Dtype::F32, Dtype::F64];

/// What a kernel takes beside input and output.
enum Kernel<T: 'static> {
    /// Rows and columns.
    Walk(for<'a> fn(Slice<'a, T>, u32, u32, PtrMut<'a, T>) -> Call<'a>),
    /// A setting.
    Step(Setting<Number>, for<'a> fn(Slice<'a, T>, u32, PtrMut<'a, T>) -> Call<'a>),
    /// Nothing.
    Flat(for<'a> fn(Slice<'a, T>, PtrMut<'a, T>) -> Call<'a>),
}

/// A row of the table.
struct Variant<T: 'static> {
    name: &'static str,
    idea: &'static str,
    kernel: Kernel<T>,
    /// Threads that it needs.
    threads: fn(&Extent) -> u64,
}

/// What decides how many threads are needed.
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

/// The table, slowest first.
fn table<T: Element>() -> Vec<Variant<T>> {
    vec![
        Variant {
            name: "row_walk",
            idea: row_walk::IDEA,
            kernel: Kernel::Walk(row_walk::access_row_walk::<T>),
            threads: |extent| extent.rows,
        },
        Variant {
            name: "strided",
            idea: strided::IDEA,
            kernel: Kernel::Step(STRIDE, strided::access_strided::<T>),
            threads: |extent| extent.len().next_multiple_of(32 * extent.stride),
        },
        Variant {
            name: "structures",
            idea: structures::IDEA,
            kernel: Kernel::Flat(structures::access_structures::<T>),
            threads: |extent| extent.len().div_ceil(FIELDS as u64),
        },
        Variant {
            name: "offset",
            idea: offset::IDEA,
            kernel: Kernel::Step(OFFSET, offset::access_offset::<T>),
            threads: |extent| extent.len() + extent.offset,
        },
        Variant {
            name: "arrays",
            idea: arrays::IDEA,
            kernel: Kernel::Flat(arrays::access_arrays::<T>),
            threads: |extent| extent.len().div_ceil(FIELDS as u64),
        },
        Variant {
            name: "column_walk",
            idea: column_walk::IDEA,
            kernel: Kernel::Walk(column_walk::access_column_walk::<T>),
            threads: |extent| extent.columns,
        },
        Variant {
            name: "structures_vector",
            idea: structures_vector::IDEA,
            kernel: Kernel::Flat(structures_vector::access_structures_vector::<T>),
            threads: |extent| extent.len().div_ceil(16 / extent.size).max(4),
        },
    ]
}

const BLOCKS: BlockRule = BlockRule::Any { default: BLOCK };

impl<T: Element> Kernel<T> {
    fn call<'a>(&self, problem: &Problem<'_>, shape: [u32; 2], input: Slice<'a, T>, output: PtrMut<'a, T>) -> Call<'a> {
        match self {
            Self::Walk(kernel) => kernel(input, shape[0], shape[1], output),
            Self::Step(setting, kernel) => kernel(input, problem.settings.number(setting) as u32, output),
            Self::Flat(kernel) => kernel(input, output),
        }
    }
}

fn variants() -> Vec<VariantInfo> {
    fn entry<T: Element>(row: usize) -> Entry {
        // SAFETY: nothing is launched; only the name and the parameters are of interest.
        let (none, out) = unsafe { (Slice::<T>::new(0, 0), PtrMut::<T>::new(0)) };
        match table::<T>()[row].kernel {
            Kernel::Walk(kernel) => kernel(none, 0, 0, out),
            Kernel::Step(_, kernel) => kernel(none, 0, out),
            Kernel::Flat(kernel) => kernel(none, out),
        }
        .into()
    }
    let info = |(row, variant): (usize, Variant<f32>)| {
        let entries = vec![entry::<f32>(row), entry::<f64>(row)];
        VariantInfo { name: variant.name, idea: variant.idea, block: BLOCKS, entries }
    };
    table::<f32>().into_iter().enumerate().map(info).collect()
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

fn oracle(problem: Problem<'_>) -> Result<Oracle<'_>> {
    let shape = problem.inputs[0].matrix("the operand of access")?;
    with_float!(FAMILY, problem.dtype, T => {
        let input = problem.view::<T>(0)?;
        let expected = move |i: usize, _| Expected::exactly(doubled(input[i]));
        Ok(Oracle::elements::<T>(shape.to_vec(), expected))
    })
}

/// Twice a float is a float, or an infinity.
fn doubled<T: Element>(x: T) -> Value {
    match x.value() {
        Value::Float(x) => T::round(Value::Float(2.0 * x)).value(),
        Value::Int(x) => T::round(Value::Int(2 * x)).value(),
    }
}

fn run(job: &Job<'_>, emit: &mut dyn FnMut(Row)) -> Result<Tensor> {
    with_float!(FAMILY, job.problem.dtype, T => typed::<T>(job, emit))
}

fn typed<T: Element>(job: &Job<'_>, emit: &mut dyn FnMut(Row)) -> Result<Tensor> {
    let input = job.problem.view::<T>(0)?;
    let [rows, columns] = job.problem.inputs[0].matrix("the operand of access")?;
    let (Ok(height), Ok(width)) = (u32::try_from(rows), u32::try_from(columns)) else {
        return Err(Error::Usage(format!("access takes up to 2^32 - 1 rows and columns, not {rows}x{columns}")));
    };
    let extent = Extent {
        rows: rows as u64,
        columns: columns as u64,
        stride: job.problem.settings.number(&STRIDE),
        offset: job.problem.settings.number(&OFFSET),
        size: size_of::<T>() as u64,
    };
    let bytes = 2 * size_of_val(input) as u64;
    require_memory(job.device, Some(bytes), "access of a matrix and its double", "use a smaller one")?;
    let device_input = Buffer::from_slice(job.device, input, "input")?;
    let mut result = Tensor::new(&[rows, columns], T::wrap(input.to_vec()))?;
    for name in job.variants {
        let Some(variant) = table::<T>().into_iter().find(|variant| variant.name == *name) else {
            return Err(Error::Usage(format!("access has no variant '{name}'")));
        };
        job.require_no_grid(name)?;
        let block = BLOCKS.choose(job.block, name, job.device.info().max_block)?;
        let blocks = if input.is_empty() { 0 } else { (variant.threads)(&extent).div_ceil(block.into()) };
        let grid = block::grid(blocks, &format!("{name} of {rows}x{columns}"), "use a larger --block")?;
        // Of its own for each variant, so that none can pass with what another one wrote.
        let output = Buffer::<T>::uninit(job.device, input.len(), "output")?;
        let call = variant.kernel.call(&job.problem, [height, width], device_input.slice(input.len()), output.ptr());
        let trial = Trial {
            family: FAMILY.name,
            variant: name,
            shape: (block, grid),
            output: &output,
            result: vec![rows, columns],
            depth: 1,
            work: Work::bytes(bytes),
        };
        let row;
        (result, row) = job.measure(&trial, &mut || match grid {
            0 => Ok(()),
            // SAFETY: the call is the kernel's own launcher's, with matrices of this size, and as many threads as it
            // needs.
            _ => unsafe { job.device.launch(job.module, &call, Shape::linear(grid, block)) },
        })?;
        emit(row);
    }
    Ok(result)
}
