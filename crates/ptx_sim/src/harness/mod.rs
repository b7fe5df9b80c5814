//! Kernels in a `#[test]`: parse, give arguments, run with every checker, fail with a report that can be read.
//!
//! ```
//! use ptx_sim::{Failure, test};
//!
//! # #[allow(clippy::test_attr_in_doctest)]
//! # fn saxpy() -> Result<(), Failure> {
//! let x = vec![1.0_f32; 1000];
//! let mut y = vec![2.0_f32; 1000];
//! test("examples/saxpy.ptx")?.entry("saxpy").grid(4).block(256).arg(1000_u32).arg(3.0_f32).buffer(&x).buffer_mut(&mut y).run()?;
//! assert!(y.iter().all(|&y| y == 5.0));
//! # Ok(())
//! # }
//! # saxpy().unwrap();
//! ```
//!
//! Arguments are given in the order of the kernel's parameters and checked against their sizes. Each schedule of
//! [`Test::seeds`] runs on a machine of its own, with memory as it was given.
//!
//! For several launches on the same memory, global variables and textures there is [`Machine`](crate::Machine), which
//! this module only calls.

mod argument;
mod failure;
mod run;

pub use argument::{Argument, Dim, Number};
pub use failure::Failure;

use crate::machine::Checks;
use crate::program::Program;
use crate::stop::Stop;
use argument::{Back, Given, Grown, Item, Written, raw};
use std::path::Path;
use std::sync::Arc;

/// Warp instructions after which a test is stopped, unless [`Test::fuel`] says otherwise: minutes.
const FUEL: u64 = 1 << 32;

/// The kernels of a PTX file. A relative path starts where the test runs: cargo runs tests in their package's folder.
///
/// # Errors
/// The file can't be read, or is not PTX; the error names the line.
pub fn test(path: impl AsRef<Path>) -> Result<Kernels, Failure> {
    let path = path.as_ref();
    let name = path.display().to_string();
    let text = std::fs::read_to_string(path).map_err(|error| {
        let here = std::env::current_dir().map(|here| here.display().to_string()).unwrap_or_default();
        Stop::usage("unreadable", format!("cannot read {name}: {error}"))
            .with_help(format!("a relative path starts in {here}"))
    })?;
    Kernels::parse(&text, &name)
}

/// The kernels of a PTX text, such as `include_str!("kernel.ptx")`.
///
/// # Errors
/// The text is not PTX; the error names the line.
pub fn test_text(ptx: &str) -> Result<Kernels, Failure> {
    Kernels::parse(ptx, "the PTX")
}

/// A PTX module whose kernels are to be tested.
#[derive(Clone, Debug)]
#[must_use = "choose a kernel with `entry`"]
pub struct Kernels {
    program: Arc<Program>,
    name: Arc<str>,
}

impl Kernels {
    fn parse(text: &str, name: &str) -> Result<Self, Failure> {
        match Program::parse(text) {
            Ok(program) => Ok(Self { program: Arc::new(program), name: name.into() }),
            Err(error) => Err(Stop::usage("bad-ptx", format!("{name}: {error}")).into()),
        }
    }

    /// A test of one kernel, by its name in the PTX.
    pub fn entry<'a>(&self, name: &str) -> Test<'a> {
        Test {
            kernels: self.clone(),
            entry: name.to_owned(),
            grid: None,
            block: None,
            dynamic_shared: 0,
            cluster: None,
            cooperative: false,
            items: Vec::new(),
            checks: Checks::ALL,
            profile: None,
            seeds: 0,
            reproducible: false,
            fuel: FUEL,
            misuse: None,
        }
    }

    /// What was parsed.
    pub fn program(&self) -> &Program {
        &self.program
    }
}

/// One kernel with its arguments and the shape it runs in.
#[must_use = "nothing runs before `run` is called"]
pub struct Test<'a> {
    kernels: Kernels,
    entry: String,
    grid: Option<Dim>,
    block: Option<Dim>,
    dynamic_shared: u64,
    cluster: Option<Dim>,
    cooperative: bool,
    items: Vec<Item<'a>>,
    checks: Checks,
    profile: Option<String>,
    seeds: u64,
    reproducible: bool,
    fuel: u64,
    /// A call that can't be meant; told by `run`.
    misuse: Option<&'static str>,
}

impl<'a> Test<'a> {
    /// Blocks: `4`, `(4, 2)`, `(4, 2, 1)` or `[4, 2, 1]` for x, y, z.
    pub fn grid(mut self, blocks: impl Into<Dim>) -> Self {
        self.grid = Some(blocks.into());
        self
    }

    /// Threads of a block. May be left out when the kernel requires a shape (`.reqntid`).
    pub fn block(mut self, threads: impl Into<Dim>) -> Self {
        self.block = Some(threads.into());
        self
    }

    /// Blocks of a cluster.
    pub fn cluster(mut self, blocks: impl Into<Dim>) -> Self {
        self.cluster = Some(blocks.into());
        self
    }

    /// All blocks are resident at once, so that they may wait for each other.
    pub fn cooperative(mut self) -> Self {
        self.cooperative = true;
        self
    }

    /// Bytes of dynamic shared memory of a block.
    pub fn shared(mut self, bytes: u64) -> Self {
        self.dynamic_shared = bytes;
        self
    }

    /// A value: a number, or an array of numbers for a parameter that holds several. Write the type (`4_u32`): a bare
    /// `4` is an `i32`, as everywhere in Rust.
    pub fn arg(self, value: impl Argument) -> Self {
        let bytes = value.to_bytes();
        self.give(Given::Value { bytes, what: value.describe() })
    }

    /// The bytes of a struct that is passed by value.
    pub fn bytes(self, bytes: &[u8]) -> Self {
        self.give(Given::Value { bytes: bytes.to_vec(), what: format!("{} bytes", bytes.len()) })
    }

    /// The address of memory that holds these elements. What the kernel does to them is not copied back.
    pub fn buffer<T: Number>(self, elements: &[T]) -> Self {
        let init = Some(raw(elements));
        self.memory::<T>(elements.len(), init, None, Written::May)
    }

    /// The address of memory that holds these elements, which are copied back when the test succeeds.
    pub fn buffer_mut<T: Number>(self, elements: &'a mut [T]) -> Self {
        let init = Some(raw(elements));
        self.memory::<T>(elements.len(), init, Some(Box::new(elements)), Written::May)
    }

    /// The address of memory for `count` elements, which nobody has written; `elements` becomes what the kernel leaves
    /// there, when the test succeeds. It fails (`output-not-written`) when the kernel leaves elements out and
    /// [`Checks::uninit`] is on: use [`Test::buffer_mut`] where that is right.
    pub fn output<T: Number>(self, elements: &'a mut Vec<T>, count: usize) -> Self {
        self.memory::<T>(count, None, Some(Box::new(Grown(elements))), Written::Must)
    }

    /// The address of memory for `count` elements of type `T`, which nobody has written and nobody reads afterwards.
    pub fn scratch<T: Number>(self, count: usize) -> Self {
        self.memory::<T>(count, None, None, Written::May)
    }

    /// Two parameters, the address and the number of the elements: what kernels in Rust take as `&[T]`.
    pub fn slice<T: Number>(self, elements: &[T]) -> Self {
        self.buffer(elements).len_of(elements.len())
    }

    /// Two parameters, the address and the number of the elements: what kernels in Rust take as `&mut [T]`.
    pub fn slice_mut<T: Number>(self, elements: &'a mut [T]) -> Self {
        let count = elements.len();
        self.buffer_mut(elements).len_of(count)
    }

    /// What reports call the buffer given last, instead of the parameter's name.
    pub fn named(mut self, name: &str) -> Self {
        let is_length = |item: &Item<'_>| matches!(item.given, Given::Value { .. }) && item.of_slice;
        let last = self.items.iter_mut().rev().find(|item| !is_length(item));
        match last {
            Some(item) if matches!(item.given, Given::Memory { .. }) => item.name = Some(name.to_owned()),
            _ => self.misuse = Some("`named` comes right after a buffer"),
        }
        self
    }

    /// What is looked for; [`Checks::ALL`] unless this is called.
    pub fn checks(mut self, checks: Checks) -> Self {
        self.checks = checks;
        self
    }

    /// The device: the name of a built-in profile such as `a100`, or the path of a file. An H200 unless this is called.
    pub fn profile(mut self, name_or_path: &str) -> Self {
        self.profile = Some(name_or_path.to_owned());
        self
    }

    /// Runs under `count` more schedules than the usual one: blocks, warps and parted lanes in other orders. The first
    /// failure ends the test; the error names the seed.
    pub fn seeds(mut self, count: u64) -> Self {
        self.seeds = count;
        self
    }

    /// Fails (`not-reproducible`) when a buffer that is copied back holds other bytes under one of the other schedules
    /// of [`Test::seeds`].
    pub fn reproducible(mut self) -> Self {
        self.reproducible = true;
        self
    }

    /// Warp instructions after which the run is stopped.
    pub fn fuel(mut self, warp_instructions: u64) -> Self {
        self.fuel = warp_instructions;
        self
    }

    fn memory<T: Number>(
        self,
        count: usize,
        init: Option<Vec<u8>>,
        back: Option<Box<dyn Back + 'a>>,
        written: Written,
    ) -> Self {
        self.give(Given::Memory { element: T::NAME, size: T::BYTES as u64, count: count as u64, init, back, written })
    }

    fn len_of(mut self, count: usize) -> Self {
        let bytes = (count as u64).to_le_bytes().to_vec();
        let given = Given::Value { bytes, what: format!("the length {count}") };
        self.items.push(Item { name: None, given, of_slice: true });
        self
    }

    fn give(mut self, given: Given<'a>) -> Self {
        self.items.push(Item { name: None, given, of_slice: false });
        self
    }
}

/// The guide's code is compiled and run.
#[cfg(doctest)]
#[doc = include_str!("../../../../docs/testing-with-ptx_sim.md")]
struct Guide;
