//! What a device can do, and the two that there are: a GPU and the simulator. Every algorithm is written once, against
//! [`Backend`].

use crate::diagnostic::Diagnostic;
use crate::element::Dtype;
use crate::error::{Error, Result};
use cuda_std::launch::Call;
use std::fmt;

mod gpu;
pub mod occupancy;
mod options;
mod sim;
pub mod texture;

pub use options::{
    Atomics, CHECKERS, Checker, Checkers, Checks, Choice, Code, Printed, SameValue, Severity, Simulation, code,
};
pub use sim::{Analysis, Counters, SourceLine};
pub use texture::{Sampling, Texture};

/// Device memory of code that borrows its device.
pub type Buffer<'d, T> = crate::buffer::Buffer<T, &'d dyn Backend>;

/// What is known about a device.
#[derive(Clone, Debug, serde::Serialize)]
pub struct DeviceInfo {
    /// As the command line names it: `gpu:0`, `sim`.
    pub device: String,
    /// The product's name.
    pub name: String,
    /// Compute capability times ten, 90 for sm_90; the simulator runs them all.
    pub sm: Option<u32>,
    /// Bytes of memory in all.
    pub memory: u64,
    /// Streaming multiprocessors, which grids are sized for.
    pub multiprocessors: u32,
    /// Most threads in a block.
    pub max_block: u32,
    /// Most dynamic shared memory of a block, in bytes, when the kernel asks for it.
    pub max_shared: u32,
    /// Bytes of L2 cache.
    pub l2: u64,
    /// Peak memory bandwidth from clock and bus width, in GB/s.
    pub peak_gbps: Option<f64>,
    /// Highest clock of the multiprocessors, in MHz.
    pub clock_mhz: Option<f64>,
    /// The driver and what it knows.
    pub driver: Option<String>,
}

impl DeviceInfo {
    /// Times mean something here.
    pub fn is_gpu(&self) -> bool {
        self.sm.is_some()
    }

    /// Peak of fused multiply-adds that round as this type does, two operations each, in 10^12 per second:
    /// multiply-adds per multiprocessor and clock from the table "Throughput of Native Arithmetic Instructions" of the
    /// CUDA C++ Programming Guide. Tensor cores count for f64, which they compute in full: twice the table's rate on
    /// sm_80 and sm_90 (NVIDIA's data sheets: A100 9.7 and 19.5, H100 and H200 34 and 67 TFLOP/s), and no more than the
    /// table's elsewhere. For f32 they do not count, because they round what they multiply to TF32. `None` for other
    /// types and for GPUs that the table does not have.
    pub fn peak_tflops(&self, dtype: Dtype) -> Option<f64> {
        let each = match (dtype, self.sm?) {
            (Dtype::F32, 70 | 72 | 75 | 80) => 64,
            (Dtype::F32, 60..=129) => 128,
            (Dtype::F64, 60 | 70 | 72) => 32,
            (Dtype::F64, 80) => 2 * 32,
            (Dtype::F64, 90) => 2 * 64,
            (Dtype::F64, 100) => 64,
            (Dtype::F64, 61..=129) => 2,
            _ => return None,
        };
        Some(f64::from(self.multiprocessors * each * 2) * self.clock_mhz? / 1e6)
    }
}

/// A loaded PTX module. Belongs to the backend that gave it, until that is dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Module(usize);

/// The shape of a launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Blocks.
    pub grid: [u32; 3],
    /// Threads of a block.
    pub block: [u32; 3],
    /// Bytes of dynamic shared memory of a block.
    pub shared: u32,
    /// Blocks of a cluster; `None` for what the kernel requires. The simulator's alone.
    pub cluster: Option<[u32; 3]>,
    /// Every block is resident at once, so that they may wait for each other. The simulator's alone.
    pub cooperative: bool,
}

impl Shape {
    /// One-dimensional, without dynamic shared memory.
    pub fn linear(grid: u32, block: u32) -> Self {
        Self { grid: [grid, 1, 1], block: [block, 1, 1], shared: 0, cluster: None, cooperative: false }
    }

    /// The same with dynamic shared memory.
    pub fn with_shared(self, bytes: u32) -> Self {
        Self { shared: bytes, ..self }
    }

    /// Threads in a block.
    pub fn threads(&self) -> u64 {
        self.block.iter().map(|&n| u64::from(n)).product()
    }
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (g, b) = (self.grid, self.block);
        write!(f, "grid {}x{}x{}, block {}x{}x{}", g[0], g[1], g[2], b[0], b[1], b[2])?;
        if self.shared > 0 {
            write!(f, ", {} bytes of dynamic shared memory", self.shared)?;
        }
        Ok(())
    }
}

/// How close an opcode's results on the simulator are to those of a GPU.
#[derive(Clone, Debug, serde::Serialize)]
pub struct Fidelity {
    /// As written.
    pub opcode: String,
    /// `exact`, `approximate`, `unspecified` or `unsupported`.
    pub fidelity: &'static str,
    /// How far from the exact result, or why a GPU gives other values in every run.
    pub bound: Option<&'static str>,
    /// By warps.
    pub executions: u64,
    /// Where it stands in the PTX, in the functions that ran.
    pub lines: Vec<u32>,
}

/// What the simulator saw since it was last asked.
#[derive(Clone, Debug, Default)]
pub struct Observed {
    /// Sums over the launches.
    pub counters: Counters,
    /// In order of the launches; also those of a launch that ended in a fault.
    pub findings: Vec<Diagnostic>,
    /// Opcodes of the last launch that ended well.
    pub fidelity: Vec<Fidelity>,
    /// The launches explained, on a device that [`explaining`] opened.
    pub launches: Vec<Analysis>,
    /// Copies from device memory to device memory.
    pub copies: u32,
}

/// A device: memory, modules, launches, and a clock.
///
/// [`launch`](Self::launch) alone is unsafe: only the kernel's author knows what the kernel may be given. The other
/// methods take addresses that `alloc` gave, and the simulator and the driver refuse any other. Device memory comes
/// back as elements for which every bit pattern is valid.
pub trait Backend {
    /// What is known about it.
    fn info(&self) -> &DeviceInfo;

    /// Bytes that can be allocated now.
    fn free_memory(&self) -> Result<u64>;

    /// Loads a PTX module (a GPU takes a cubin too). `name` appears in messages.
    ///
    /// # Errors
    /// [`Error::BadPtx`] for text that is no PTX, [`Error::NoPtx`] for PTX that this device or driver can't run.
    fn load(&self, image: &[u8], name: &str) -> Result<Module>;

    /// Uninitialised memory whose address is a multiple of `align`, a power of two up to 256; `name` appears in the
    /// simulator's reports. Zero bytes are fine.
    fn alloc(&self, bytes: u64, align: u64, name: &str) -> Result<u64>;

    /// Gives memory back.
    fn free(&self, address: u64);

    /// Copies to the device.
    fn write(&self, address: u64, bytes: &[u8]) -> Result<()>;

    /// Copies from the device, after everything launched before has ended.
    fn read(&self, address: u64, bytes: &mut [u8]) -> Result<()>;

    /// Sets every byte, in stream order.
    fn fill(&self, address: u64, byte: u8, bytes: u64) -> Result<()>;

    /// Copies on the device, in stream order.
    fn copy(&self, to: u64, from: u64, bytes: u64) -> Result<()>;

    /// A texture with these texels, whose bytes are as many as `sampling` says; `name` appears in messages. The handle
    /// is what kernels take. [`Texture`] is the safe way to it.
    ///
    /// # Errors
    /// [`Error::Usage`] for more texels along an axis than the device allows, and for more than it has room for.
    fn texture(&self, sampling: &Sampling, texels: &[u8], name: &str) -> Result<u64>;

    /// Gives a texture and its memory back, when everything launched has ended.
    fn free_texture(&self, handle: u64);

    /// Starts a kernel, in stream order. A fault may show here or at the next wait.
    ///
    /// # Safety
    /// The kernel's own contract holds for these arguments and this shape: the parameters are those of the entry, and
    /// the memory behind them lives until the kernel has ended. A kernel that breaks its contract mostly gives wrong
    /// numbers or an [`Error::Fault`], but where GPUs reach the host's memory (HMM, ATS) it can write there too. The
    /// simulator catches what leaves its memory.
    unsafe fn launch(&self, module: Module, call: &Call<'_>, shape: Shape) -> Result<()>;

    /// Waits for everything launched.
    fn synchronize(&self) -> Result<()>;

    /// Milliseconds between two events around what `run` launches; `None` on a device whose time means nothing.
    fn time(&self, run: &mut dyn FnMut() -> Result<()>) -> Result<Option<f64>>;

    /// Says how the next launches are simulated.
    ///
    /// # Errors
    /// [`Error::Usage`] on a GPU, and for a profile that can't be used.
    fn simulate(&self, how: &Simulation) -> Result<()> {
        let _ = how;
        Err(Error::Usage("--seeds, --profile and --workers are the simulator's: add --device sim".to_owned()))
    }

    /// What was counted and found since the last call; `None` on a GPU.
    fn observed(&self) -> Option<Observed>;
}

/// A device as estimates of time see it.
#[derive(Clone, Debug, serde::Serialize)]
pub struct Device {
    /// Of its profile.
    pub name: String,
    /// Streaming multiprocessors.
    pub multiprocessors: u32,
    /// Nominal bandwidth of its memory in GB/s.
    pub memory_gbps: f64,
    /// Nominal peak on `f32`, without tensor cores, in GFLOP/s.
    pub fp32_gflops: f64,
    /// The same on `f64`.
    pub fp64_gflops: f64,
}

/// The simulator with every launch explained for a device: a built-in name such as `H200`, or a TOML file.
///
/// # Errors
/// [`Error::Usage`] for a profile that there is not.
pub fn explaining(profile: &str, printed: Printed) -> Result<(Box<dyn Backend>, Device)> {
    let sim = sim::Sim::explaining(profile, printed)?;
    let device = sim.device().ok_or_else(|| Error::Usage(format!("no profile '{profile}'")))?;
    Ok((Box::new(sim), device))
}

/// Opens a device. `Choice::Auto` never fails for want of a GPU; the text says which device it took, and why.
///
/// # Errors
/// [`Error::NoDevice`] when the GPU that was asked for is not there.
pub fn open(choice: Choice, checks: Checks) -> Result<(Box<dyn Backend>, String)> {
    open_printing(choice, checks, Printed::Stdout)
}

/// [`open`] with a say in where kernels print to.
///
/// # Errors
/// As [`open`].
pub fn open_printing(choice: Choice, checks: Checks, printed: Printed) -> Result<(Box<dyn Backend>, String)> {
    match choice {
        Choice::Sim => {
            let sim = sim::Sim::new(checks, printed);
            Ok((Box::new(sim), "using the simulator, as asked".to_owned()))
        }
        Choice::Gpu(number) => {
            let gpu = gpu::Gpu::open(number)?;
            let text = format!("using {} ({}), as asked", gpu.info().device, gpu.info().name);
            Ok((Box::new(gpu), text))
        }
        Choice::Auto => match gpu::Gpu::open(0) {
            Ok(gpu) => {
                let text = format!("using {} ({}): it answers", gpu.info().device, gpu.info().name);
                Ok((Box::new(gpu), text))
            }
            Err(reason) => Ok((Box::new(sim::Sim::new(checks, printed)), format!("using the simulator: {reason}"))),
        },
    }
}

/// An entry of a PTX file, as its text declares it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Behind `.entry`.
    pub name: String,
    /// Name and bytes of each parameter, in order.
    pub params: Vec<(String, u64)>,
}

/// The entries of a PTX file; `None` for what the simulator can't read (a cubin, PTX beyond what it knows).
pub fn entries(image: &[u8]) -> Option<Vec<Entry>> {
    sim::entries(image)
}

/// Every GPU, or why there is none; the simulator is always there.
pub fn gpus() -> Result<Vec<DeviceInfo>> {
    gpu::list()
}

/// The simulator, as `host devices` shows it.
pub fn simulator() -> DeviceInfo {
    sim::Sim::new(Checks::Bounds, Printed::Stdout).info().clone()
}

/// Fails when `bytes` don't fit, before anything is allocated; `advice` says what the user can do.
///
/// # Errors
/// [`Error::Usage`] that names both sizes.
pub fn require_memory(device: &dyn Backend, bytes: Option<u64>, what: &str, advice: &str) -> Result<()> {
    let free = device.free_memory()?;
    match bytes {
        Some(bytes) if bytes <= free => Ok(()),
        Some(bytes) => Err(Error::Usage(format!(
            "{what} needs {} of device memory, and {} has {} free: {advice}",
            human(bytes),
            device.info().device,
            human(free)
        ))),
        None => Err(Error::Usage(format!("{what} needs more bytes than 64 bits can count: {advice}"))),
    }
}

/// Fails when `bytes` of data don't fit beside everything else in this machine's own memory; `advice` as above.
///
/// # Errors
/// [`Error::Usage`] that names both sizes.
pub fn require_host_memory(bytes: u64, what: &str, advice: &str) -> Result<()> {
    let free = host_memory("MemAvailable:");
    if bytes <= free {
        return Ok(());
    }
    let (bytes, free) = (human(bytes), human(free));
    Err(Error::Usage(format!("{what} needs {bytes} of this machine's memory, and {free} are free: {advice}")))
}

/// A line of `/proc/meminfo`, in bytes; 8 GiB where there is no such file.
fn host_memory(line: &str) -> u64 {
    let text = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let kilobytes = text.lines().find_map(|l| l.strip_prefix(line)?.trim().trim_end_matches(" kB").parse::<u64>().ok());
    kilobytes.map_or(8 << 30, |n| n * 1024)
}

/// Bytes for people: two digits and a binary unit.
pub fn human(bytes: u64) -> String {
    let units = ["bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    let power = (bytes.max(1).ilog2() / 10) as usize;
    match power {
        0 => format!("{bytes} bytes"),
        _ => format!("{:.1} {}", bytes as f64 / (1_u64 << (10 * power)) as f64, units[power]),
    }
}

/// Columns, rows and planes.
pub fn extent_text([x, y, z]: [u64; 3]) -> String {
    format!("{x}x{y}x{z}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn peaks_are_those_of_the_data_sheets() {
        let peak = |sm, multiprocessors, clock: f64, dtype| {
            let info = DeviceInfo { sm: Some(sm), multiprocessors, clock_mhz: Some(clock), ..simulator() };
            info.peak_tflops(dtype).map(|peak| peak.round())
        };
        // H200, A100, L40S.
        assert_eq!((peak(90, 132, 1980.0, Dtype::F32), peak(90, 132, 1980.0, Dtype::F64)), (Some(67.0), Some(67.0)));
        assert_eq!((peak(80, 108, 1410.0, Dtype::F32), peak(80, 108, 1410.0, Dtype::F64)), (Some(19.0), Some(19.0)));
        assert_eq!((peak(89, 142, 2520.0, Dtype::F32), peak(89, 142, 2520.0, Dtype::F64)), (Some(92.0), Some(1.0)));
        assert_eq!((peak(90, 132, 1980.0, Dtype::I32), simulator().peak_tflops(Dtype::F32)), (None, None));
    }

    #[test]
    fn sizes_are_readable() {
        assert_eq!(human(0), "0 bytes");
        assert_eq!(human(1023), "1023 bytes");
        assert_eq!(human(1 << 30), "1.0 GiB");
        assert_eq!(human(u64::MAX), "16.0 EiB");
    }
}
