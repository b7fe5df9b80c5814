//! Runs the cases of `test-kernels`: on the simulator, where printed text and findings can be inspected, and on any
//! backend.

use cuda_std::launch::Call;
use ptx_sim::texture as sim;
use ptx_sim::{Checks, Config, Launch, Machine, Program, Report, Stop};
use rustwarp::backend::texture::{Channel, Filter, Layout, Sampling, Texture};
use rustwarp::backend::{Backend, Buffer, Module, Shape};
use test_kernels::case::{self, Case, Initial, Memory, Texels};

/// The test kernels, decoded.
///
/// # Panics
/// Panics if they are not built.
pub fn program() -> Program {
    let image = rustwarp::ptx::find("test-kernels", None, None).expect("the test kernels' PTX");
    Program::parse(&String::from_utf8(image.bytes).expect("PTX is text")).expect("PTX that the simulator reads")
}

/// The outcome of a case on the simulator.
pub struct Simulated {
    /// How the launch ended.
    pub result: Result<Report, Stop>,
    /// Contents of the buffers after the launch.
    pub buffers: Vec<Vec<u8>>,
}

/// Runs a case on the simulator, with every checker on.
///
/// # Panics
/// Panics if memory cannot be allocated.
pub fn simulate(program: &Program, case: &Case) -> Simulated {
    let mut machine = Machine::new(Config { checks: Checks::DEFECTS, ..Config::default() });
    let addresses: Vec<u64> = case
        .buffers
        .iter()
        .enumerate()
        .map(|(number, buffer)| {
            let address = machine.alloc(buffer.len() as u64, &format!("buffer {number}")).expect("memory");
            if let Initial::Bytes(bytes) = &buffer.initial {
                machine.write(address, bytes).expect("memory that is there");
            }
            address
        })
        .collect();
    let textures = case.textures.iter().map(|texture| {
        let texels = texture.texels.bytes();
        let address = machine.alloc(texels.len() as u64, "texels").expect("memory");
        machine.write(address, &texels).expect("memory that is there");
        machine.texture(&simulated(texture, address)).expect("a texture")
    });
    let arguments: Vec<u64> = addresses.iter().copied().chain(textures.collect::<Vec<_>>()).collect();
    let call: Call<'_> = (case.call)(&arguments);
    let launch = Launch {
        entry: &call.entry,
        grid: case.grid,
        block: case.block,
        dynamic_shared: u64::from(case.shared),
        params: &call.params,
        ..Launch::default()
    };
    let result = machine.launch(program, &launch);
    let read = |(buffer, address): (&test_kernels::case::Buffer, &u64)| {
        let mut bytes = vec![0; buffer.len()];
        machine.read(*address, &mut bytes).expect("memory that is there");
        bytes
    };
    Simulated { result, buffers: case.buffers.iter().zip(&addresses).map(read).collect() }
}

/// Runs a case on a backend and checks its buffers. What it prints goes to standard output.
///
/// # Errors
/// Describes the first call that failed or the first buffer with wrong contents.
pub fn launch(device: &dyn Backend, module: Module, case: &Case) -> Result<(), String> {
    let text = |error: rustwarp::Error| format!("{}: {error}", case.name);
    let mut buffers = Vec::new();
    for buffer in &case.buffers {
        let memory = Buffer::<u8>::uninit(device, buffer.len(), &case.name).map_err(text)?;
        if let Initial::Bytes(bytes) = &buffer.initial {
            memory.write(bytes).map_err(text)?;
        }
        buffers.push(memory);
    }
    let make = |texture: &case::Texture| Texture::new(device, &sampling(texture), &texture.texels.bytes(), &case.name);
    let textures: Vec<_> = case.textures.iter().map(make).collect::<rustwarp::Result<_>>().map_err(text)?;
    let handles = textures.iter().map(Texture::handle);
    let arguments: Vec<u64> = buffers.iter().map(Buffer::address).chain(handles).collect();
    let shape = Shape::new(case.grid, case.block).with_shared(case.shared);
    // SAFETY: a case launches its kernel with the buffers and the shape that the kernel's contract requires; the
    // buffers outlive it.
    unsafe { device.launch(module, &(case.call)(&arguments), shape) }.map_err(text)?;
    device.synchronize().map_err(text)?;
    for (number, (buffer, memory)) in case.buffers.iter().zip(&buffers).enumerate() {
        let bytes = memory.download().map_err(text)?;
        buffer.check(&bytes).map_err(|why| format!("{}, buffer {number}: {why}", case.name))?;
    }
    Ok(())
}

/// Converts a case's texture for a backend.
fn sampling(texture: &case::Texture) -> Sampling {
    let layout = match texture.memory {
        Memory::Linear => Layout::Linear(texture.extent[0]),
        Memory::Array => Layout::Array(texture.extent),
    };
    let channel = match texture.texels {
        Texels::F32(_) => Channel::F32,
        Texels::I8(_) => Channel::I8,
        Texels::U16(_) => Channel::U16,
    };
    let filter = if texture.linear { Filter::Linear } else { Filter::Point };
    Sampling { filter, normalised_reads: texture.normalised_reads, ..Sampling::new(layout, channel, texture.channels) }
}

/// Converts a case's texture for the simulator.
fn simulated(texture: &case::Texture, address: u64) -> sim::Texture {
    let layout = match texture.memory {
        Memory::Linear => sim::Layout::Linear { address, elements: texture.extent[0] },
        Memory::Array => sim::Layout::Array { address, extent: texture.extent.map(|n| n.max(1)), layered: false },
    };
    let channel = match texture.texels {
        Texels::F32(_) => sim::Channel::F32,
        Texels::I8(_) => sim::Channel::I8,
        Texels::U16(_) => sim::Channel::U16,
    };
    let format = sim::Format { channel, channels: texture.channels };
    let filter = if texture.linear { sim::Filter::Linear } else { sim::Filter::Point };
    sim::Texture { filter, normalized_reads: texture.normalised_reads, ..sim::Texture::new(layout, format) }
}

/// The lines of `text`, sorted, since threads print in any order.
pub fn sorted_lines(text: &str) -> Vec<&str> {
    let mut lines: Vec<_> = text.lines().collect();
    lines.sort_unstable();
    lines
}
