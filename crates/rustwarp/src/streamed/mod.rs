//! Streaming: operations on inputs that are larger than device memory, read in chunks from a file.
//!
//! ```no_run
//! use rustwarp::reduce::Sum;
//! use rustwarp::streamed::{self, FilePart, Settings};
//!
//! let device = rustwarp::Device::default()?;
//! // A file of 64-bit integers, of any size.
//! let file = FilePart::whole(std::fs::File::open("numbers.bin").expect("a file")).expect("its size");
//! let n = streamed::Source::bytes(&file) / 8;
//! let total = streamed::reduce::<Sum, i64>(&device, &file, 0..n, &Settings::default())?;
//! println!("{}", total.value);
//! # Ok::<(), rustwarp::Error>(())
//! ```
//!
//! Every operation takes a [`Source`], which is read at positions, and a range of its elements, so that several devices
//! can each take a part of one file; results of neighbouring ranges are merged as the operation's text says.
//!
//! - *Pipeline*: threads read pieces of at most 2 MiB to pinned memory; a stream of its own copies each piece to its
//!   place in a chunk of device memory; kernels work on a chunk in the device's own stream once all of its pieces are
//!   there. All of it runs at the same time, on three chunks by default, so the slowest part determines the speed: the
//!   disk or page cache, the bus, or the kernels. [`scan()`] and [`matmul()`] copy and write their results at
//!   the same time, too.
//! - *Memory*: [`Settings::slots`] chunks for every source, and two for the results of a scan or a product. A chunk has
//!   [`default_chunk`] bytes unless [`Settings::chunk`] says otherwise; results of a product have at least 256 rows.
//! - *Determinism*: results that depend on the order of additions have bits fixed by the range, the chunk and the grid.
//! - *Errors*: a piece that cannot be read or written is an [`Error::Stream`](crate::Error::Stream) with its place and
//!   the operating system's reason, also where a file became shorter meanwhile. After an error no thread is left, and
//!   panics of sources and sinks are those of the call.

mod crew;
mod cut;
mod dot;
mod histogram;
mod matmul;
mod panel;
mod pipeline;
mod reduce;
mod results;
mod scan;
mod settings;
mod sink;
mod source;
#[cfg(target_os = "linux")]
mod turns;

pub use cut::default_chunk;
pub use dot::dot;
pub use histogram::histogram;
pub use matmul::matmul;
pub use pipeline::{Chunk, for_each_chunk};
pub use reduce::reduce;
pub use scan::{depth as scan_depth, scan};
pub use settings::{Progress, Settings, Total};
pub use sink::Sink;
pub use source::{FilePart, Source};
