//! Timing: warm-up, a cold or a warm cache, the median of many samples, and the limit that a time is compared with.

use crate::error::{Error, Result};
use crate::kernels::spelling::REPEAT;
use rustwarp::backend::{Backend, Buffer};
use serde::Serialize;

/// State of the L2 cache before each sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Cache {
    /// The cache is flushed, as for a caller who reads the data for the first time.
    Cold,
    /// The cache is as the previous run left it, so data that fits is read from it.
    Warm,
}

/// Parameters of the measurements.
pub struct Plan<'d> {
    /// Number of samples; the median of an even number is the lower of the middle two.
    pub repeat: u32,
    /// State of the L2 cache.
    pub cache: Cache,
    /// Copy bandwidth of the device as measured, in GB/s, read and written bytes together.
    pub copy_gbps: f64,
    /// The bandwidth in GB/s that others are compared with: the device's nominal peak, or `copy_gbps` if the driver
    /// does not report it. Reading alone is faster than copying, so the copy is no upper limit.
    pub limit_gbps: f64,
    /// Memory that is written before each cold sample.
    flush: Option<Buffer<'d, u8>>,
}

/// Times of the samples, in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Timing {
    /// Lower median, in milliseconds.
    pub median_ms: f64,
    /// Fastest sample, in milliseconds.
    pub min_ms: f64,
    /// Slowest sample, in milliseconds.
    pub max_ms: f64,
    /// Half the distance between the first and the third quartile, as a fraction of the median.
    pub spread: f64,
    /// Number of samples.
    pub samples: u32,
    /// State of the L2 cache.
    pub cache: Cache,
}

/// Number of runs before the first sample: clocks rise, code is loaded, pages are mapped.
pub(crate) const WARM_UP: u32 = 3;

/// Data larger than this many times the L2 cache leaves too little in it to matter, so flushing would only cost time.
const FITS: u64 = 4;

impl<'d> Plan<'d> {
    /// Measures the device's copy bandwidth, and allocates memory for flushing the cache. `None` on the simulator,
    /// which measures no times.
    ///
    /// # Errors
    /// [`Error::Usage`] if `repeat` is 0; the errors of the device's copies and allocations.
    pub fn new(device: &'d dyn Backend, repeat: u32, cache: Cache) -> Result<Option<Self>> {
        if !device.info().is_gpu() {
            return Ok(None);
        }
        if repeat == 0 {
            return Err(Error::Usage(format!("{REPEAT} 0 measures nothing: use 1 or more")));
        }
        let copy_gbps = copy_bandwidth(device)?;
        let limit_gbps = limit(device.info().peak_gbps, copy_gbps);
        let flush = match cache {
            Cache::Cold => Some(Buffer::uninit(device, 2 * device.info().l2.max(1 << 20) as usize, "cache flush")?),
            Cache::Warm => None,
        };
        Ok(Some(Self { repeat, cache, copy_gbps, limit_gbps, flush }))
    }

    /// Times `run`, which moves `bytes`.
    ///
    /// # Errors
    /// Those of `run`; [`rustwarp::Error::Unsupported`] if the device measures no times.
    pub fn measure(
        &self,
        device: &dyn Backend,
        bytes: u64,
        run: &mut dyn FnMut() -> rustwarp::Result<()>,
    ) -> Result<Timing> {
        for _ in 0..WARM_UP {
            run()?;
        }
        let flush = self.flush.as_ref().filter(|_| bytes <= FITS * device.info().l2);
        let mut samples = Vec::new();
        for sample in 0..self.repeat {
            if let Some(flush) = flush {
                flush.fill(sample as u8)?;
            }
            let time = device.time(run)?;
            samples.push(time.ok_or_else(no_clock)?);
        }
        Ok(Timing::of(samples, if flush.is_some() { Cache::Cold } else { self.cache }))
    }
}

fn no_clock() -> Error {
    Error::Library(rustwarp::Error::Unsupported("this device has no clock".to_owned()))
}

impl Timing {
    /// The summary of samples in milliseconds, of which there is at least one.
    pub(crate) fn of(mut samples: Vec<f64>, cache: Cache) -> Self {
        samples.sort_by(f64::total_cmp);
        let last = samples.len() - 1;
        let at = |quarter: usize| samples[last * quarter / 4];
        let median_ms = at(2);
        Self {
            median_ms,
            min_ms: at(0),
            max_ms: at(4),
            spread: (at(3) - at(1)) / 2.0 / median_ms,
            samples: samples.len() as u32,
            cache,
        }
    }
}

/// Bytes read plus bytes written per second, in GB/s, of the driver's own copy from device memory to device memory: the
/// median of seven copies of 1 GiB, or of a quarter of the free memory where that is less.
///
/// # Errors
/// The errors of the device's copies and allocations; [`rustwarp::Error::Unsupported`] if it measures no times.
pub fn copy_bandwidth(device: &dyn Backend) -> Result<f64> {
    let bytes = (device.free_memory()? / 4).clamp(1, 1 << 30);
    let buffer = |name| Buffer::<u8>::uninit(device, bytes as usize, name);
    let (from, to) = (buffer("copy source")?, buffer("copy target")?);
    from.fill(0)?;
    let mut copy = || to.copy_from(&from);
    copy()?;
    let mut samples = Vec::new();
    for _ in 0..7 {
        let time = device.time(&mut copy)?;
        samples.push(time.ok_or_else(no_clock)?);
    }
    Ok(2.0 * bytes as f64 / Timing::of(samples, Cache::Warm).median_ms / 1e6)
}

/// The value of [`Plan::limit_gbps`].
fn limit(peak_gbps: Option<f64>, copy_gbps: f64) -> f64 {
    peak_gbps.unwrap_or(copy_gbps)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limit_is_the_nominal_peak_where_that_is_known() {
        assert_eq!(limit(Some(4800.0), 4000.0), 4800.0);
        assert_eq!(limit(None, 4000.0), 4000.0);
    }

    #[test]
    fn the_median_is_the_lower_middle() {
        let timing = Timing::of(vec![4.0, 1.0, 3.0, 2.0], Cache::Warm);
        assert_eq!((timing.median_ms, timing.min_ms, timing.max_ms, timing.samples), (2.0, 1.0, 4.0, 4));
        let timing = Timing::of(vec![5.0], Cache::Cold);
        assert_eq!((timing.median_ms, timing.spread), (5.0, 0.0));
        let timing = Timing::of(vec![1.0, 2.0, 3.0, 4.0, 5.0], Cache::Cold);
        assert_eq!((timing.median_ms, timing.spread), (3.0, 1.0 / 3.0));
    }
}
