//! What every device can do.

use super::observed::Observed;
use super::options::Simulation;
use super::sampling::Sampling;
use crate::element::Dtype;
use crate::error::{Error, Result};
use cuda_std::launch::Call;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};

/// Properties of a device.
#[derive(Clone, Debug, serde::Serialize)]
#[non_exhaustive]
pub struct DeviceInfo {
    /// Name on the command line: `gpu:0`, `sim`.
    pub device: String,
    /// The product's name.
    pub name: String,
    /// Compute capability times ten, 90 for sm_90; `None` for the simulator, which supports all of them.
    pub sm: Option<u32>,
    /// Total memory in bytes.
    pub memory: u64,
    /// Number of streaming multiprocessors, from which grids are sized.
    pub multiprocessors: u32,
    /// Largest number of threads in a block.
    pub max_block: u32,
    /// Largest dynamic shared memory of a block in bytes, if the kernel requests it.
    pub max_shared: u32,
    /// Size of the L2 cache in bytes.
    pub l2: u64,
    /// Peak memory bandwidth from clock and bus width, in GB/s.
    pub peak_gbps: Option<f64>,
    /// Highest clock of the multiprocessors, in MHz.
    pub clock_mhz: Option<f64>,
    /// The driver and its CUDA version.
    pub driver: Option<String>,
}

impl DeviceInfo {
    /// Whether the device measures times.
    pub fn is_gpu(&self) -> bool {
        self.sm.is_some()
    }

    /// Peak of fused multiply-adds that round as this type does, two operations each, in 10^12 per second:
    /// multiply-adds per multiprocessor and clock from the table "Throughput of Native Arithmetic Instructions" of the
    /// CUDA C++ Programming Guide. Tensor cores count for f64, which they compute in full: twice the table's rate on
    /// `sm_80` and `sm_90` (NVIDIA's data sheets: A100 9.7 and 19.5, H100 and H200 34 and 67 TFLOP/s), and no more than
    /// the table's elsewhere. For f32 they do not count, because they round factors to TF32. `None` for other types and
    /// for GPUs that are not in the table.
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

/// A loaded PTX module. It is valid for the device that loaded it, until that is closed; others reject it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Module {
    device: DeviceId,
    index: usize,
}

impl Module {
    /// The module at this index of a device's list.
    pub(super) fn new(device: DeviceId, index: usize) -> Self {
        Self { device, index }
    }

    /// The module's index in the list of this device.
    ///
    /// # Errors
    /// [`Error::OtherModule`] if another device loaded the module.
    pub(super) fn index_on(self, device: DeviceId, info: &DeviceInfo) -> Result<usize> {
        if self.device == device {
            return Ok(self.index);
        }
        Err(Error::OtherModule { device: info.device.clone() })
    }
}

/// The number of an open device, which no other device of the process has or had.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct DeviceId(u64);

impl DeviceId {
    /// Returns the next number.
    pub fn next() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        Self(NEXT.fetch_add(1, Ordering::Relaxed))
    }
}

/// The shape of a launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Shape {
    /// Number of blocks along x, y and z.
    pub grid: [u32; 3],
    /// Number of threads of a block along x, y and z.
    pub block: [u32; 3],
    /// Dynamic shared memory of a block in bytes.
    pub shared: u32,
    /// Blocks of a cluster; `None` for the size that the kernel requires. It applies to the simulator only.
    pub cluster: Option<[u32; 3]>,
    /// Whether all blocks are resident at the same time, so that they may wait for each other. It applies to the
    /// simulator only.
    pub cooperative: bool,
}

impl Shape {
    /// A shape of these numbers of blocks, and of threads of a block, along x, y and z, without dynamic shared memory.
    pub fn new(grid: [u32; 3], block: [u32; 3]) -> Self {
        Self { grid, block, shared: 0, cluster: None, cooperative: false }
    }

    /// A one-dimensional shape without dynamic shared memory.
    pub fn linear(grid: u32, block: u32) -> Self {
        Self::new([grid, 1, 1], [block, 1, 1])
    }

    /// Sets the dynamic shared memory in bytes.
    pub fn with_shared(self, bytes: u32) -> Self {
        Self { shared: bytes, ..self }
    }

    /// Sets the number of blocks of a cluster. It applies to the simulator only.
    pub fn with_cluster(self, blocks: [u32; 3]) -> Self {
        Self { cluster: Some(blocks), ..self }
    }

    /// Makes all blocks resident at the same time. It applies to the simulator only.
    pub fn cooperative(self) -> Self {
        Self { cooperative: true, ..self }
    }

    /// Number of threads in a block.
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

/// A device: memory, modules, launches, and a clock.
///
/// [`launch`](Self::launch) is unsafe, since each kernel has a contract of its own, and so are the methods that take
/// addresses: on systems where GPUs can access the host's memory (HMM, ATS), an address may refer to that.
/// [`Memory`](super::Memory) and [`Texture`](super::Texture) are the safe interfaces. Device memory is read as elements
/// for which every bit pattern is valid.
///
/// # Safety
/// The other methods' proofs rely on an implementation: `alloc` returns memory of at least the requested size and
/// alignment that overlaps no other allocation until it is freed; `write`, `read`, `fill` and `copy` access no more
/// than the bytes that they are given, in stream order; `read` and `free` wait for everything launched; and `info`
/// always describes the same device.
pub unsafe trait Backend {
    /// The device's properties.
    fn info(&self) -> &DeviceInfo;

    /// Number of bytes that can be allocated now.
    ///
    /// # Errors
    /// [`Error::Device`] if the driver fails.
    fn free_memory(&self) -> Result<u64>;

    /// Loads a PTX module (a GPU also loads a cubin). `name` appears in messages.
    ///
    /// # Errors
    /// [`Error::BadPtx`] for text that is not PTX, [`Error::NoPtx`] for PTX that this device or driver cannot run.
    fn load(&self, image: &[u8], name: &str) -> Result<Module>;

    /// Allocates uninitialised memory whose address is a multiple of `align`, a power of two up to 256; `name` appears
    /// in the simulator's reports. Zero bytes are allowed.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`] with the size if there is too little memory; [`Error::Device`] if the driver fails.
    fn alloc(&self, bytes: u64, align: u64, name: &str) -> Result<u64>;

    /// Releases memory after everything launched has ended.
    ///
    /// # Safety
    /// `alloc` of this device returned the address, and the caller does not use the memory again.
    unsafe fn free(&self, address: u64);

    /// Copies to the device.
    ///
    /// # Errors
    /// [`Error::Device`] or [`Error::Fault`] if the copy fails, on a GPU also because an earlier launch did.
    ///
    /// # Safety
    /// The bytes at the address lie in one allocation of this device, which is not freed.
    unsafe fn write(&self, address: u64, bytes: &[u8]) -> Result<()>;

    /// Copies from the device, after everything launched before has ended.
    ///
    /// # Errors
    /// Those of [`write`](Self::write).
    ///
    /// # Safety
    /// That of [`write`](Self::write).
    unsafe fn read(&self, address: u64, bytes: &mut [u8]) -> Result<()>;

    /// Sets every byte, in stream order.
    ///
    /// # Errors
    /// Those of [`write`](Self::write).
    ///
    /// # Safety
    /// That of [`write`](Self::write).
    unsafe fn fill(&self, address: u64, byte: u8, bytes: u64) -> Result<()>;

    /// Copies within device memory, in stream order.
    ///
    /// # Errors
    /// Those of [`write`](Self::write).
    ///
    /// # Safety
    /// That of [`write`](Self::write), for both addresses.
    unsafe fn copy(&self, to: u64, from: u64, bytes: u64) -> Result<()>;

    /// Creates a texture with these texels, whose number of bytes `sampling` determines; `name` appears in messages.
    /// Returns the handle that kernels take. [`Texture`](super::Texture) is the safe interface.
    ///
    /// # Errors
    /// [`Error::Argument`] if an axis has more texels than the device allows, [`Error::OutOfMemory`] if the device has
    /// too little memory.
    fn texture(&self, sampling: &Sampling, texels: &[u8], name: &str) -> Result<u64>;

    /// Releases a texture and its memory after everything launched has ended.
    ///
    /// # Safety
    /// `texture` of this device returned the handle, and the caller does not use it again.
    unsafe fn free_texture(&self, handle: u64);

    /// Starts a kernel, in stream order.
    ///
    /// # Errors
    /// [`Error::Argument`] for a shape or an entry that does not exist on the device, [`Error::OtherModule`] for a
    /// module of another device; [`Error::Fault`] if the kernel faults, which on a GPU may be reported by a later call.
    ///
    /// # Safety
    /// The kernel's contract holds for these arguments and this shape: the parameters are those of the entry, and the
    /// memory that they refer to lives until the kernel has ended. A kernel that breaks its contract usually gives
    /// wrong numbers or an [`Error::Fault`], but on systems where GPUs can access the host's memory (HMM, ATS) it can
    /// write there too. The simulator reports every access outside its memory.
    unsafe fn launch(&self, module: Module, call: &Call<'_>, shape: Shape) -> Result<()>;

    /// Waits until everything launched has ended.
    ///
    /// # Errors
    /// [`Error::Fault`] if a kernel faulted; [`Error::Device`] if the driver fails.
    fn synchronize(&self) -> Result<()>;

    /// Measures the milliseconds between two events around the launches of `run`; `None` on a device that measures no
    /// times.
    ///
    /// # Errors
    /// Those of `run`, and of [`synchronize`](Self::synchronize).
    fn time(&self, run: &mut dyn FnMut() -> Result<()>) -> Result<Option<f64>>;

    /// Sets the options of the following simulated launches.
    ///
    /// # Errors
    /// [`Error::Argument`] on a GPU, and for a profile that cannot be used.
    fn simulate(&self, how: &Simulation) -> Result<()> {
        let _ = how;
        Err(Error::Argument(
            "seeds, profiles and workers are options of the simulator, which a GPU does not have".to_owned(),
        ))
    }

    /// Returns the observations since the last call; `None` on a GPU.
    fn observed(&self) -> Option<Observed>;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::{Checks, Choice, open, simulator};

    #[test]
    fn a_module_of_another_device_is_rejected() {
        let ptx = b".version 7.8\n.target sm_75\n.address_size 64\n.visible .entry k() { ret; }\n";
        let [one, other] = [(); 2].map(|()| open(Choice::Sim, Checks::Bounds).expect("the simulator").0);
        let module = one.load(ptx, "k.ptx").expect("a module");
        other.load(ptx, "k.ptx").expect("a module at the same index");
        // SAFETY: the kernel has no parameters and accesses no memory.
        let launch = |device: &dyn Backend| unsafe { device.launch(module, &Call::new("k"), Shape::linear(1, 32)) };
        launch(&*one).expect("a launch");
        assert!(matches!(launch(&*other), Err(Error::OtherModule { .. })));
    }

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
}
