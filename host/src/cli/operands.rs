//! The operands of a family: the contents of the files that `--input` names, or generated elements.

use super::{number, rank};
use ladders::error::{Error, Result};
use ladders::input::{self, Loaded, STANDARD_INPUT, Stored, size};
use ladders::kernels::{Demand, Family, Operand, Settings};
use rustwarp::backend::Backend;
use rustwarp::element::Dtype;
use rustwarp::tensor::Tensor;
use std::path::PathBuf;

/// Options for the operands.
#[derive(Clone, Debug, clap::Args)]
#[group(skip)]
pub(super) struct Options {
    /// Type of the elements: f32 f64 i32 u32 i64 u64 u8 f16 bf16 [default: the file's type, f32 for one that a
    /// family has on request only, or the family's first]
    #[arg(long, value_parser = str::parse::<Dtype>)]
    pub dtype: Option<Dtype>,
    /// A file for each operand, in order: .npy, .npz (data.npz:NAME for one of several arrays), .csv, .txt, .png, .jpg,
    /// raw little-endian elements, or - for standard input
    #[arg(long, value_name = "FILE", conflicts_with_all = ["n", "shape", "seed"])]
    pub input: Vec<PathBuf>,
    /// Generate this many elements (matrices and pictures: rows and columns): 1000000, 4M, 2^22 [default: 2^22 on a
    /// GPU, 2^16 on the simulator (1024 and 64)]
    #[arg(long, value_parser = size::parse)]
    pub n: Option<u64>,
    /// Generate operands of this shape, for families of more than one axis: 1080x1920; for products of matrices MxNxK,
    /// or BxMxNxK for a batch of B products
    #[arg(long, value_parser = size::parse, value_delimiter = 'x', conflicts_with = "n")]
    pub shape: Vec<u64>,
    /// Seed of the generated numbers: SplitMix64, the same numbers on every machine
    #[arg(long, default_value_t = 42, value_parser = number::any::<u64>)]
    pub seed: u64,
}

/// The operands: those of the files, or generated ones.
pub(super) fn or_generated(
    family: &Family,
    options: &Options,
    settings: &Settings,
    device: &dyn Backend,
    files: Option<Vec<Tensor>>,
) -> Result<Vec<Tensor>> {
    if let Some(inputs) = files {
        return Ok(inputs);
    }
    let (default, square) = if device.info().is_gpu() { (1 << 22, 1024) } else { (1 << 16, 64) };
    let vectors = family.of_vectors;
    let size = match (options.n, options.shape.as_slice()) {
        (Some(n), _) => vec![n],
        (None, []) => vec![if vectors { default } else { square }],
        (None, shape) => shape.to_vec(),
    };
    let dtype = options.dtype.unwrap_or(family.dtypes[0]);
    (family.generate)(&Demand { size: &size, dtype, seed: options.seed, settings })
}

/// The operands of the files, or `None` if data is to be generated. Conversions are reported on standard error.
pub(super) fn read(family: &Family, options: &Options) -> Result<Option<Vec<Tensor>>> {
    if options.input.is_empty() {
        return Ok(None);
    }
    if options.input.len() != family.operands.len() {
        let names: Vec<_> = family.operands.iter().map(|operand| operand.name).collect();
        let (have, need) = (options.input.len(), family.operands.len());
        let advice = match names.get(have..).unwrap_or_default() {
            [] => "leave the others out".to_owned(),
            [missing] => format!("give the {missing} as another --input behind"),
            missing => format!("give {} as further --input behind", missing.join(" and ")),
        };
        return Err(Error::Usage(format!(
            "{} takes {need} --input ({}), not {have}: {advice}",
            family.name,
            names.join(", ")
        )));
    }
    if options.input.iter().filter(|path| path.as_os_str() == STANDARD_INPUT).count() > 1 {
        return Err(Error::Usage("standard input can be read once: use files for the other operands".to_owned()));
    }
    let load = |(path, operand): (&PathBuf, &Operand)| match operand.dtype {
        None => {
            // What the whole family requires of types is checked below; a text has the type that is requested.
            let raw = operand.raw.filter(|_| !input::says_type(path));
            input::load(path, options.dtype.map(|dtype| operand.dtype_in(dtype)).or(raw))
        }
        Some(_) => input::load(path, None),
    };
    let loaded: Vec<Loaded> = options.input.iter().zip(family.operands).map(load).collect::<Result<_>>()?;
    let dtype = common_type(family, options, &loaded)?;
    let mut tensors = Vec::new();
    for (loaded, operand) in loaded.into_iter().zip(family.operands) {
        let (tensor, notes) = match (operand.dtype, dtype) {
            (Some(dtype), _) => {
                let (tensor, notes) = loaded.into_tensor();
                (tensor.whole_numbers(dtype, operand.name)?, notes)
            }
            (None, Some(dtype)) => loaded.convert(operand.dtype_in(dtype))?,
            (None, None) => loaded.into_tensor(),
        };
        notes.iter().for_each(rank::note_once);
        tensors.push(tensor);
    }
    Ok(Some(tensors))
}

/// The type of all operands of elements: the requested one; that of the files with a type of the family, which must be
/// the same in all; or the family's closest one that holds every value of the files' types. The bytes of a picture are
/// bytes if the family takes them, else numbers of its first type. A type with fewer operations than the first is only
/// used on request if another one holds its values: only `best` sums f16, but all variants sum it as f32.
fn common_type(family: &Family, options: &Options, loaded: &[Loaded]) -> Result<Option<Dtype>> {
    let elements: Vec<(Stored, bool)> = loaded
        .iter()
        .zip(family.operands)
        .filter(|(_, operand)| operand.dtype.is_none())
        .map(|(loaded, _)| (loaded.stored, loaded.is_picture))
        .collect();
    let Some(&(first, _)) = elements.first() else { return Ok(None) };
    if let Some(dtype) = options.dtype {
        return family.require_kernel(dtype).map(|()| Some(dtype));
    }
    let dtypes: Vec<Dtype> = family.dtypes.iter().copied().filter(|dtype| !on_request(family, *dtype)).collect();
    let known = |stored: Stored| match stored {
        Stored::Known(dtype) if dtypes.contains(&dtype) => Some(dtype),
        _ => None,
    };
    let mut fixed = elements.iter().filter_map(|&(stored, _)| known(stored));
    if let Some(dtype) = fixed.next() {
        return match elements.iter().find(|(stored, _)| !stored.widens_to(dtype)) {
            Some((other, _)) => {
                Err(Error::Usage(format!("{} needs inputs of one type, not {dtype} and {other}", family.name)))
            }
            None => Ok(Some(dtype)),
        };
    }
    let types: Vec<Stored> = elements.iter().map(|(stored, _)| *stored).collect();
    let of_pictures = elements.iter().all(|(_, is_picture)| *is_picture).then_some(family.dtypes[0]);
    let dtype = of_pictures.or_else(|| Stored::common(&types, &dtypes));
    dtype.map(Some).ok_or_else(|| {
        let names: Vec<_> = family.dtypes.iter().map(|dtype| dtype.name()).collect();
        let one = types.iter().find(|stored| Stored::common(&[**stored], &dtypes).is_none()).unwrap_or(&first);
        Error::Usage(format!("{} has no kernel for {one}: convert the data to one of {}", family.name, names.join(" ")))
    })
}

/// Whether files keep this type only on request: also where the other operands would have another type than these
/// files.
fn on_request(family: &Family, dtype: Dtype) -> bool {
    let lacks = |op: &&str| family.has(op, family.dtypes[0]) && !family.has(op, dtype);
    let differ = family.operands.iter().any(|operand| operand.dtype.is_none() && operand.dtype_in(dtype) != dtype);
    let others: Vec<Dtype> = family.dtypes.iter().copied().filter(|other| *other != dtype).collect();
    (differ || family.ops.iter().any(lacks)) && Stored::common(&[dtype.into()], &others).is_some()
}
