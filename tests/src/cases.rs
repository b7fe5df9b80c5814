//! Runs the cases of `test-kernels`: on the simulator, where printing and findings can be looked at, and on any backend.

use cuda_std::launch::Call;
use host::backend::{Backend, Module, Shape};
use ptx_sim::{Checks, Config, Launch, Machine, Program, Report, Stop};
use test_kernels::case::{Case, Initial};

/// The test kernels, decoded.
///
/// # Panics
/// When they are not built.
pub fn program() -> Program {
    let image = host::ptx::find("test-kernels", None, None).expect("the test kernels' PTX");
    Program::parse(&String::from_utf8(image.bytes).expect("PTX is text")).expect("PTX that the simulator reads")
}

/// What a case left behind on the simulator.
pub struct Simulated {
    /// The launch's end.
    pub result: Result<Report, Stop>,
    /// Contents of the buffers after the launch.
    pub buffers: Vec<Vec<u8>>,
}

/// Runs a case on the simulator, with every checker on.
///
/// # Panics
/// When memory can't be had.
pub fn simulate(program: &Program, case: &Case) -> Simulated {
    let mut machine = Machine::new(Config { checks: Checks::ALL, ..Config::default() });
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
    let call: Call<'_> = (case.call)(&addresses);
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

/// Runs a case on a backend and judges its buffers; what it prints goes to standard output.
///
/// # Errors
/// What was wrong.
pub fn launch(device: &dyn Backend, module: Module, case: &Case) -> Result<(), String> {
    let text = |error: host::Error| format!("{}: {error}", case.name);
    let mut addresses = Vec::new();
    for buffer in &case.buffers {
        let address = device.alloc(buffer.len() as u64, &case.name).map_err(text)?;
        addresses.push(address);
        if let Initial::Bytes(bytes) = &buffer.initial {
            device.write(address, bytes).map_err(text)?;
        }
    }
    let shape = Shape { grid: case.grid, block: case.block, shared: case.shared, cluster: None, cooperative: false };
    // SAFETY: a case gives its kernel the buffers and the shape that its contract asks for; they are freed below.
    unsafe { device.launch(module, &(case.call)(&addresses), shape) }.map_err(text)?;
    device.synchronize().map_err(text)?;
    for (number, (buffer, address)) in case.buffers.iter().zip(&addresses).enumerate() {
        let mut bytes = vec![0; buffer.len()];
        device.read(*address, &mut bytes).map_err(text)?;
        buffer.check(&bytes).map_err(|why| format!("{}, buffer {number}: {why}", case.name))?;
        device.free(*address);
    }
    Ok(())
}

/// The lines, sorted: threads print in any order.
pub fn sorted_lines(text: &str) -> Vec<&str> {
    let mut lines: Vec<_> = text.lines().collect();
    lines.sort_unstable();
    lines
}
