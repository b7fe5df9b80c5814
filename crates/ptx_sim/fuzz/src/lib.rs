//! Properties that hold for any text. The fuzz targets check them, and so does `tests/fuzz_corpus.rs`, which needs no
//! fuzzer.

pub mod mutation;

use ptx_sim::program::{Function, Kind};
use ptx_sim::texture::{Channel, Filter, Format, Layout, Texture};
use ptx_sim::{Checks, Config, Launch, Level, Machine, Program, Trace};

/// Fuel of a launch in warp instructions.
const FUEL: u64 = 20_000;
/// Size of each buffer in bytes; the first half is initialised.
const BUFFER: u64 = 512;

/// Checks that parsing returns a program, or an error whose position lies in the text.
pub fn parse(text: &str) {
    if let Err(error) = Program::parse(text) {
        // The end of the text may count as a line of its own.
        assert!(error.line as usize <= text.lines().count() + 1, "line {} of {text:?}", error.line);
        assert!(!error.to_string().is_empty());
    }
}

/// Checks that a program runs to its end or to a stop, with the same outcome on a second run at another level of host
/// instructions.
pub fn run(text: &str) {
    let Ok(program) = Program::parse(text) else { return };
    for entry in program.functions().iter().filter(|function| function.kind == Kind::Entry).take(2) {
        let first = launch(text, &program, entry, Level::best());
        let second = launch(text, &program, entry, Level::BASELINE);
        assert!(first == second, "two runs differ:\n{first}\n---\n{second}");
    }
}

/// Returns everything that a launch reports, and the memory it leaves.
fn launch(text: &str, program: &Program, entry: &Function, level: Level) -> String {
    let mut config =
        Config { workers: 1, fuel: Some(FUEL), level, checks: CHECKS, host_bytes: 256 << 20, ..Config::default() };
    // A given text always has the same configuration, and similar texts cover all configurations.
    match text.bytes().fold(0_u32, |hash, byte| hash.wrapping_mul(31).wrapping_add(u32::from(byte))) % 5 {
        0 => config.seed = Some(text.len() as u64),
        1 => (config.checks, config.trace) = (Checks::NONE, Some(Trace::default())),
        2 => (config.checks, config.counters) = (Checks::NONE, false),
        _ => {}
    }
    let mut machine = Machine::new(config);
    let texels = machine.alloc(BUFFER, "texels").expect("512 bytes");
    let layout = Layout::Pitched { address: texels, width: 8, height: 5, pitch: 64 };
    let format = Format { channel: Channel::F16, channels: 2 };
    let texture = Texture { filter: Filter::Linear, ..Texture::new(layout, format) };
    machine.texture(&texture).expect("a texture");
    let mut buffers = Vec::new();
    let mut params = Vec::new();
    for (index, param) in entry.params.iter().enumerate() {
        let mut bytes = vec![0; usize::try_from(param.size).unwrap_or(usize::MAX).min(4096)];
        if bytes.len() == 8 {
            let buffer = machine.alloc(BUFFER, &format!("arg{index}")).expect("512 bytes");
            let half: Vec<u8> = (0..BUFFER as u32 / 8).flat_map(u32::to_le_bytes).collect();
            machine.write(buffer, &half).expect("the buffer");
            bytes.copy_from_slice(&buffer.to_le_bytes());
            buffers.push(buffer);
        } else if let Some(low) = bytes.first_mut() {
            *low = 64;
        }
        params.push(bytes);
    }
    let shape = Shape::of(text, entry);
    let launch = Launch {
        entry: &entry.name,
        grid: shape.grid,
        block: shape.block,
        dynamic_shared: 1024,
        params: &params,
        cluster: shape.cluster,
        cooperative: shape.cooperative,
        ..Launch::default()
    };
    let mut outcome = match machine.launch(program, &launch) {
        Ok(report) => format!("{report:?}"),
        Err(stop) => format!("{stop:?}\n{stop}\n{}", stop.printed()),
    };
    for buffer in buffers {
        let mut bytes = [0; BUFFER as usize];
        // The kernel may have freed the buffer.
        if machine.read(buffer, &mut bytes).is_ok() {
            outcome += &format!("\n{bytes:?}");
        }
    }
    outcome
}

const CHECKS: Checks = Checks { overflow: true, ..Checks::DEFECTS };

struct Shape {
    grid: [u32; 3],
    block: [u32; 3],
    cluster: Option<[u32; 3]>,
    cooperative: bool,
}

impl Shape {
    /// Returns the shape in the program's `//@ launch` line, or one that the kernel accepts, limited to small shapes.
    fn of(text: &str, entry: &Function) -> Self {
        let mut shape = Self { grid: [2, 1, 1], block: [40, 1, 1], cluster: None, cooperative: false };
        let small = |value: [u32; 3], most: u32| value.iter().fold(1_u32, |a, &b| a.saturating_mul(b)) <= most;
        let line = text.lines().find_map(|line| line.strip_prefix("//@ launch ")).unwrap_or_default();
        for word in line.split_whitespace() {
            match word.split_once('=') {
                Some(("grid", value)) => shape.grid = triple(value).filter(|&v| small(v, 8)).unwrap_or(shape.grid),
                Some(("block", value)) => shape.block = triple(value).filter(|&v| small(v, 128)).unwrap_or(shape.block),
                Some(("cluster", value)) => shape.cluster = triple(value).filter(|&v| small(v, 8)),
                Some(("cooperative", _)) => shape.cooperative = true,
                _ => {}
            }
        }
        shape.block = entry.required_block.filter(|&block| small(block, 128)).unwrap_or(shape.block);
        if let Some(cluster) = entry.required_cluster.filter(|&cluster| small(cluster, 8)) {
            (shape.cluster, shape.grid) = (Some(cluster), cluster);
        }
        shape
    }
}

fn triple(text: &str) -> Option<[u32; 3]> {
    let mut axes = text.split('x').map(|axis| axis.parse().ok());
    let mut axis = |default| axes.next().unwrap_or(default);
    Some([axis(None)?, axis(Some(1))?, axis(Some(1))?])
}
