//! Texture: an array of one, two or three dimensions is sampled between its elements, on a grid that an affine map
//! places in it.
//!
//! The operand's last axis is x. It may have one axis more than there are dimensions: 1 to 4 channels of each texel,
//! which a picture in colour has. Along an axis of n texels, of which i reaches from i to i + 1, `--window LOW:HIGH` is
//! the part from LOW n to HIGH n; it is divided into `--scale` per cent as many samples as it has texels, each in the
//! middle of its share; `--turn` turns x and y around the window's middle. With `--normalised` the kernels get
//! coordinates from 0 to 1.
//!
//! u8 are read as numbers from 0 to 1 with `--read normalised`; otherwise the result is u8 again, rounded.

use super::entry::Nothing;
use super::ladder::{Chosen, Ladder, Run, Rung, merge};
use super::plan::Plan;
use super::{BlockRule, Case, Demand, Entry, Family, Job, Limits, Operand, Oracle, Problem, Resolved, Work};
use crate::error::{Error, Result};
use cuda_std::launch::{Call, PtrMut, Slice};
use kernels_gpu::texture::*;
use options::{DIMS, SCALE, SETTINGS};
use request::{Read, Request};
use rustwarp::backend::texture::{AddressMode, Channel, Filter, Layout};
use rustwarp::backend::{Backend, Buffer, Sampling, Shape, Texture, require_memory};
use rustwarp::element::{Array, Dtype, Scalar};
use rustwarp::tensor::Tensor;
use std::marker::PhantomData;

mod options;
mod oracle;
mod request;

/// The family.
pub const FAMILY: Family = Family {
    name: "texture",
    idea: "an array sampled between its elements: filter, borders and conversion by hand, and by the texture unit",
    operands: &[Operand::of_elements("texels")],
    ops: &[],
    dtypes: &[Dtype::F32, Dtype::U8],
    only: &[],
    settings: SETTINGS,
    variants,
    cases,
    sizes,
    of_vectors: false,
    generate,
    resolve: |problem| Request::new(*problem).map(|request| resolve(request.dimensions, request.read)),
    specials: false,
    limits: Limits::DEFAULT,
    peers: &[],
};

/// The kernel of a rung, by the way in which it reads texels.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kernel {
    Global,
    Texels,
    Unit,
    Best,
}

const BLOCKS: BlockRule = BlockRule::OneOf { sizes: &[BLOCK], default: BLOCK };

/// Resolves the ladder for this number of dimensions, and for texels that are read in this way.
fn resolve(dimensions: usize, read: Read) -> Resolved {
    fn of<F: Format<Element: Scalar, Result: Scalar> + 'static>(dimensions: usize) -> Resolved {
        match dimensions {
            1 => Resolved::of::<Sampled<Line, F>>(),
            2 => Resolved::of::<Sampled<Plane, F>>(),
            _ => Resolved::of::<Sampled<Space, F>>(),
        }
    }
    match read {
        Read::Float => of::<Float>(dimensions),
        Read::Fraction => of::<Fraction>(dimensions),
        Read::Byte => of::<Byte>(dimensions),
    }
}

fn variants() -> Vec<super::VariantInfo> {
    let reads = [Read::Float, Read::Fraction, Read::Byte];
    merge(reads.iter().flat_map(|read| (1..=3).map(move |dimensions| resolve(dimensions, *read))))
}

/// The family for textures of these dimensions and this format.
struct Sampled<D, F>(PhantomData<(D, F)>);

/// Texels on a device, and the requested samples.
struct Texels<'j, T> {
    buffer: Buffer<'j, T>,
    /// The texels on the host.
    data: &'j Array,
    request: Request,
    /// Number of elements of the result.
    samples: usize,
}

impl<D: Dimensions, F: Format<Element: Scalar, Result: Scalar> + 'static> Ladder for Sampled<D, F> {
    const FAMILY: &'static str = FAMILY.name;
    type Kernel = Kernel;
    type Operands<'j> = Texels<'j, F::Element>;

    fn rungs() -> Vec<Rung<Kernel>> {
        let rung = |name, idea, kernel| Rung { name, idea, block: BLOCKS, kernel };
        vec![
            rung("global", global::IDEA, Kernel::Global),
            rung("texels", texels::IDEA, Kernel::Texels),
            rung("unit", unit::IDEA, Kernel::Unit),
            rung("best", best::IDEA, Kernel::Best),
        ]
    }

    fn entries(rung: &Rung<Kernel>) -> Vec<Entry> {
        let arguments = Arguments {
            texture: 0,
            texels: Slice::nothing(),
            extent: [0; 3],
            channels: 0,
            how: [0; 3],
            map: [0.0; 8],
            size: [0; 3],
            output: PtrMut::nothing(),
        };
        vec![call::<D, F>(rung.kernel, &arguments).into()]
    }

    fn oracle(problem: Problem<'_>) -> Result<Oracle<'_>> {
        oracle::oracle(problem)
    }

    fn upload<'j>(job: &'j Job<'_>, _: &[Chosen<'_, Kernel>]) -> Result<Texels<'j, F::Element>> {
        let (request, elements) = (Request::new(job.problem)?, job.problem.view::<F::Element>(0)?);
        let samples = request.samples()?;
        let bytes = (size_of_val(elements) + samples * size_of::<F::Result>()) as u64;
        // The texels exist once more as a texture, with a fourth channel where there are three.
        let needed = bytes + 2 * size_of_val(elements) as u64;
        let advice = &format!("use less data or a smaller {SCALE}");
        require_memory(job.device, Some(needed), "sampling the texels into another array", advice)?;
        let buffer = Buffer::from_slice(job.device, elements, "texels")?;
        Ok(Texels { buffer, data: job.problem.inputs[0].data(), request, samples })
    }

    fn work(texels: &Texels<'_, F::Element>) -> Work {
        Work::bytes(texels.buffer.bytes() + (texels.samples * size_of::<F::Result>()) as u64)
    }

    fn prepare(texels: &Texels<'_, F::Element>, rung: &Chosen<'_, Kernel>, run: Run<'_>) -> Result<()> {
        rung.require_no_grid()?;
        let Texels { buffer, data, request, samples } = texels;
        let shape = shape(request, *rung.kernel)?;
        let depth = oracle::depth(request, matches!(rung.kernel, Kernel::Global | Kernel::Texels));
        let output = rung.uninit::<F::Result>(*samples, "samples")?;
        let plan = Plan::new(rung.block, shape.grid.iter().product(), &output, &request.shape()).with_depth(depth);
        if *samples == 0 {
            return run(plan);
        }
        let texture = texture(rung.device, request, *rung.kernel, data)?;
        let arguments = Arguments::<F> {
            texture: texture.as_ref().map_or(0, Texture::handle),
            texels: buffer.slice(buffer.len()),
            extent: request.extent.map(|n| n as u32),
            channels: request.channels as u32,
            how: request.how(),
            map: request.map,
            size: request.size.map(|n| n as u32),
            output: output.ptr(),
        };
        // SAFETY: the kernel's own launcher made the call; texels, texture and output have the extents and formats that
        // it is passed, and every sample has its thread.
        run(unsafe { plan.launch(call::<D, F>(*rung.kernel, &arguments), shape) })
    }
}

fn cases() -> Vec<Case> {
    let line = |n: u64| Case::new(&[n]).with("dims", "1");
    vec![
        line(0),
        Case::new(&[0, 5]),
        line(1).with("address", "border").with("window", "-1:2").with("scale", "700"),
        line(33).with("address", "wrap").with("normalised", "").with("window", "-1.5:2.5").with("scale", "130"),
        // The distance is half a texel, and the first sample lies between two.
        line(257).with("filter", "point").with("window", "-0.25:1.25").with("scale", "200"),
        Case::new(&[16, 23]).with("turn", "30").with("scale", "150"),
        Case::new(&[31, 33])
            .with("filter", "point")
            .with("address", "mirror")
            .with("normalised", "")
            .with("window", "-1:2"),
        Case::new(&[7, 5]).with("address", "border").with("window", "-0.5:1.5").with("scale", "300"),
        Case::new(&[19, 33]).with("read", "normalised").with("scale", "75").with("turn", "90"),
        Case::new(&[40, 24])
            .with("filter", "point")
            .with("address", "wrap")
            .with("normalised", "")
            .with("read", "normalised"),
        Case::new(&[5, 6, 7]).with("scale", "150"),
        Case::new(&[4, 9, 3])
            .with("dims", "3")
            .with("filter", "point")
            .with("address", "border")
            .with("window", "-0.5:1.5"),
        Case::new(&[6, 5, 4])
            .with("dims", "3")
            .with("address", "mirror")
            .with("normalised", "")
            .with("read", "normalised")
            .with("window", "-1:2")
            .with("scale", "60")
            .with("turn", "200"),
        Case::new(&[12, 10, 3]).with("dims", "2").with("scale", "170"),
        Case::new(&[9, 8, 4]).with("dims", "2").with("turn", "45").with("address", "border"),
        Case::new(&[11, 2]).with("dims", "1").with("filter", "point").with("scale", "250"),
    ]
}

fn sizes() -> Vec<Case> {
    let square = || Case::new(&[4096, 4096]);
    vec![
        Case::new(&[131_072]).with("dims", "1").with("scale", "1600"),
        square(),
        square().with("turn", "30"),
        square().with("filter", "point").with("turn", "90"),
        Case::new(&[2048, 2048, 4]).with("dims", "2").with("turn", "30"),
        Case::new(&[256, 256, 256]).with("dims", "3").with("turn", "30"),
    ]
}

/// One number stands for as many equal ones as there are dimensions.
fn generate(demand: &Demand<'_>) -> Result<Vec<Tensor>> {
    let text = &format!("as many numbers as {DIMS}, or one more: the channels");
    let shape = match (demand.size, demand.settings.choice(&DIMS)) {
        ([_], "1") => demand.axes::<1>(text)?.to_vec(),
        ([_], "auto" | "2") | ([_, _], _) => demand.axes::<2>(text)?.to_vec(),
        ([_], _) | ([_, _, _], _) => demand.axes::<3>(text)?.to_vec(),
        _ => demand.axes::<4>(text)?.to_vec(),
    };
    Ok(vec![demand.tensor(0, &shape)?])
}

/// The arguments of the kernels of all rungs, of which each takes a part.
struct Arguments<'a, F: Format> {
    texture: u64,
    texels: Slice<'a, F::Element>,
    extent: [u32; 3],
    channels: u32,
    how: [u32; 3],
    map: Map,
    size: [u32; 3],
    output: PtrMut<'a, F::Result>,
}

fn call<'a, D: Dimensions, F: Format>(rung: Kernel, arguments: &Arguments<'a, F>) -> Call<'a> {
    let Arguments { texture, texels, extent, channels, how, map, size, output } = *arguments;
    match rung {
        Kernel::Global => global::texture_global::<D, F>(texels, extent, channels, how, map, size, output),
        Kernel::Texels => texels::texture_texels::<D, F>(texture, extent, channels, how, map, size, output),
        Kernel::Unit => unit::texture_unit::<D, F>(texture, channels, map, size, output),
        Kernel::Best => best::texture_best::<D, F>(texture, channels, map, size, output),
    }
}

/// Shape with a block for each tile of samples.
fn shape(request: &Request, rung: Kernel) -> Result<Shape> {
    let flat = request.dimensions == 1;
    let rows = [BLOCK / COLUMNS, 1][usize::from(flat)];
    let columns = BLOCK / rows;
    let (tile, block) = match rung {
        Kernel::Best => (best::tile(request.dimensions as u32), [BLOCK, 1, 1]),
        _ => ([columns, rows], [columns, rows, 1]),
    };
    let size = request.size.map(|n| n as u32);
    let grid = [size[0].div_ceil(tile[0]), size[1].div_ceil(tile[1]), size[2]];
    if grid[1] > 65_535 || grid[2] > 65_535 {
        let text = format!(
            "{} rows and {} planes of samples are more than one grid has: use a smaller {SCALE}",
            size[1], size[2]
        );
        return Err(Error::Usage(text));
    }
    Ok(Shape::new(grid, block))
}

/// The texture that a rung reads.
fn texture<'d>(
    device: &'d dyn Backend,
    request: &Request,
    rung: Kernel,
    texels: &Array,
) -> Result<Option<Texture<'d>>> {
    let channel = match request.read {
        Read::Float => Channel::F32,
        Read::Fraction | Read::Byte => Channel::U8,
    };
    let padded = request.padded(texels);
    let channels = request.channels.next_power_of_two() as u32;
    let [x, y, z] = request.extent.map(|n| n as u64);
    let layout = match request.dimensions {
        1 => Layout::Array([x, 0, 0]),
        2 => Layout::Array([x, y, 0]),
        _ => Layout::Array([x, y, z]),
    };
    let sampling = match rung {
        Kernel::Global => return Ok(None),
        Kernel::Texels => {
            let layout = if request.dimensions == 1 { Layout::Linear(x) } else { layout };
            Sampling { normalised_reads: request.read == Read::Fraction, ..Sampling::new(layout, channel, channels) }
        }
        Kernel::Unit | Kernel::Best => Sampling {
            filter: match request.how()[0] {
                filter::POINT => Filter::Point,
                _ => Filter::Linear,
            },
            // An axis that does not exist is clamped: a GPU treats one dimension as two rows and would add half a
            // border.
            address: [0, 1, 2].map(|axis| match request.how()[1] {
                _ if axis >= request.dimensions => AddressMode::Clamp,
                address::WRAP => AddressMode::Wrap,
                address::MIRROR => AddressMode::Mirror,
                address::BORDER => AddressMode::Border,
                _ => AddressMode::Clamp,
            }),
            normalised_coordinates: request.normalised,
            normalised_reads: channel == Channel::U8,
            ..Sampling::new(layout, channel, channels)
        },
    };
    Ok(Some(Texture::new(device, &sampling, &padded, "texels")?))
}
