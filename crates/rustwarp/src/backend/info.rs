//! Properties of devices.

use crate::element::Dtype;

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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::simulator;

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
