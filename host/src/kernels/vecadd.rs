//! Vector addition: `out[i] = a[i] + b[i]`.

use super::{BlockRule, Family, Job, Row, VariantInfo};
use crate::backend::{Buffer, Shape, require_memory};
use crate::compare::{Verdict, elementwise};
use crate::element::{Array, Dtype, Element, Value};
use crate::error::{Error, Result};
use crate::with_dtype;
use cuda_std::launch::{PtrMut, Slice};
use kernels_gpu::vecadd;

/// The family.
pub const FAMILY: Family = Family {
    name: "vecadd",
    idea: "out[i] = a[i] + b[i]: the smallest kernel",
    operands: 2,
    ops: &[],
    dtypes: Dtype::NUMBERS,
    variants,
    run,
};

/// The only variant.
const NAME: &str = "grid_stride";
const BLOCK: BlockRule = BlockRule::Any { default: vecadd::BLOCK };

fn variants() -> Vec<VariantInfo> {
    fn entry<T: Element>() -> String {
        // SAFETY: nothing is launched; only the name is of interest.
        let (none, out) = unsafe { (Slice::<T>::new(0, 0), PtrMut::<T>::new(0)) };
        vecadd::vecadd::<T>(none, none, out).entry.into_owned()
    }
    let entries = Dtype::NUMBERS.iter().filter_map(|dtype| with_dtype!(dtype, T => Some(entry::<T>()), else => None));
    let idea = "each thread jumps by the size of the grid: any grid handles any length";
    vec![VariantInfo { name: NAME, idea, block: BLOCK, entries: entries.collect() }]
}

fn run(job: &Job<'_>, emit: &mut dyn FnMut(Row)) -> Result<Array> {
    let dtype = job.inputs[0].dtype();
    with_dtype!(dtype, T => typed::<T>(job, emit), else => Err(Error::Usage(format!("vecadd has no kernel for {dtype}"))))
}

fn typed<T: Element>(job: &Job<'_>, emit: &mut dyn FnMut(Row)) -> Result<Array> {
    let [Some(a), Some(b)] = [T::view(&job.inputs[0]), T::view(&job.inputs[1])] else {
        return Err(Error::Usage("vecadd needs two inputs of one type".into()));
    };
    if a.len() != b.len() {
        return Err(Error::Usage(format!("vecadd needs two inputs of one length, not {} and {}", a.len(), b.len())));
    }
    let n = a.len();
    let bytes = 3 * size_of_val(a) as u64;
    require_memory(job.device, Some(bytes), "vecadd of three arrays", "use a smaller --n or input")?;
    let device_a = Buffer::from_slice(job.device, a, "a")?;
    let device_b = Buffer::from_slice(job.device, b, "b")?;
    let device_out = Buffer::<T>::uninit(job.device, n, "out")?;

    let info = job.device.info();
    let block = BLOCK.choose(job.block, NAME, info.max_block)?;
    // Enough blocks to fill the device, and no more than there is work for.
    let fill = info.multiprocessors * (2048 / block).max(1);
    let needed = (n as u64).div_ceil(u64::from(block));
    let grid = job.grid.unwrap_or_else(|| needed.min(u64::from(fill)) as u32);

    let call = vecadd::vecadd::<T>(device_a.slice(n), device_b.slice(n), device_out.ptr());
    let mut launch = || match grid {
        0 => Ok(()),
        // SAFETY: the call is the kernel's own launcher's; its buffers live on and have the `n` elements that it takes, and any
        // grid and block will do.
        _ => unsafe { job.device.launch(job.module, &call, Shape::linear(grid, block)) },
    };
    job.device.observed();
    launch()?;
    let out = device_out.read(n)?;
    let observed = job.device.observed();

    let sums = a.iter().zip(b).map(|(&a, &b)| reference(a, b));
    let mismatches = elementwise(sums, &out);
    let mut row =
        Row::new(FAMILY.name, NAME, job, Verdict { verified: mismatches.count == 0, error: mismatches.largest });
    (row.block, row.grid) = (block, grid);
    row.wrapped = a.iter().zip(b).any(|(&a, &b)| wraps(a, b));
    row.observe(observed);
    row.time(job, bytes, &mut launch)?;
    emit(row);
    Ok(T::wrap(out))
}

/// The sum as the type gives it: computed in a wider type, then rounded (floats) or wrapped (integers). Rounding the f64 sum of
/// two f32 to f32 gives the correctly rounded sum, since 53 >= 2 * 24 + 2 (Figueroa, 1995).
fn reference<T: Element>(a: T, b: T) -> Value {
    T::round(wide(a, b)).value()
}

fn wraps<T: Element>(a: T, b: T) -> bool {
    match (wide(a, b), reference(a, b)) {
        (Value::Int(wide), Value::Int(sum)) => wide != sum,
        _ => false,
    }
}

fn wide<T: Element>(a: T, b: T) -> Value {
    match (a.value(), b.value()) {
        (Value::Int(a), Value::Int(b)) => Value::Int(a + b),
        (Value::Float(a), Value::Float(b)) => Value::Float(a + b),
        _ => Value::Float(f64::NAN),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reference_rounds_and_wraps() {
        assert!(matches!(reference(i32::MAX, 1), Value::Int(x) if x == i128::from(i32::MIN)));
        assert!(wraps(i32::MAX, 1) && !wraps(i32::MAX, 0) && !wraps(f32::MAX, f32::MAX));
        assert!(matches!(reference(f32::MAX, f32::MAX), Value::Float(x) if x == f64::INFINITY));
        assert!(matches!(reference(1.0_f32, f32::EPSILON / 2.0), Value::Float(1.0)), "a tie goes to even");
        assert!(matches!(reference(f64::NAN, 1.0), Value::Float(x) if x.is_nan()));
    }
}
