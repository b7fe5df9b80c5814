//! Tests of kernels in a `#[test]`: parse the PTX, pass arguments, run with every checker, and fail with a readable
//! report.
//!
//! ```
//! use ptx_sim::{Failure, test};
//!
//! # #[allow(clippy::test_attr_in_doctest)]
//! # fn saxpy() -> Result<(), Failure> {
//! let x = vec![1.0_f32; 1000];
//! let mut y = vec![2.0_f32; 1000];
//! let test = test("examples/saxpy.ptx")?.entry("saxpy").grid(4).block(256).arg(1000_u32).arg(3.0_f32);
//! test.buffer(&x).buffer_mut(&mut y).run()?;
//! assert!(y.iter().all(|&y| y == 5.0));
//! # Ok(())
//! # }
//! # saxpy().unwrap();
//! ```
//!
//! Arguments are given in the order of the kernel's parameters and checked against their sizes. Each schedule of
//! [`Test::seeds`] runs on a machine of its own, whose memory starts with the contents given.
//!
//! For several launches on the same memory, global variables and textures, use [`Machine`](crate::Machine) directly;
//! this module is a layer on top of it.

mod argument;
mod failure;
mod run;

pub use argument::{Argument, Dim, Number};
pub use failure::Failure;

use crate::check::Checks;
use crate::program::Program;
use crate::stop::Stop;
use argument::{Back, Given, Grown, Item, Written, raw};
use std::path::Path;
use std::sync::Arc;

/// Default of [`Test::fuel`]: warp instructions after which a test is stopped. They take minutes.
const FUEL: u64 = 1 << 32;

/// Loads the kernels of a PTX file. A relative path is relative to the current directory, which under cargo is the
/// folder of the package.
///
/// # Errors
/// `unreadable` if the file cannot be read, `bad-ptx` if it is not PTX; the message names the line.
pub fn test(path: impl AsRef<Path>) -> Result<Kernels, Failure> {
    let path = path.as_ref();
    let name = path.display().to_string();
    let text = std::fs::read_to_string(path).map_err(|error| {
        let here = std::env::current_dir().map(|here| here.display().to_string()).unwrap_or_default();
        Stop::usage("unreadable", format!("cannot read {name}: {error}"))
            .with_help(format!("relative paths are resolved against {here}"))
    })?;
    Kernels::parse(&text, &name)
}

/// Loads the kernels of a PTX text, such as `include_str!("kernel.ptx")`.
///
/// # Errors
/// `bad-ptx` if the text is not PTX; the message names the line.
pub fn test_text(ptx: &str) -> Result<Kernels, Failure> {
    Kernels::parse(ptx, "the PTX")
}

/// A PTX module whose kernels can be tested.
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

    /// Creates a test of the kernel with this name in the PTX.
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
            checks: Checks::DEFECTS,
            profile: None,
            seeds: 0,
            reproducible: false,
            fuel: FUEL,
            misuse: None,
        }
    }

    /// Returns the parsed program.
    pub fn program(&self) -> &Program {
        &self.program
    }
}

/// A kernel to be tested, with its arguments and launch shape.
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
    /// A wrong combination of calls, which `run` reports.
    misuse: Option<&'static str>,
}

impl<'a> Test<'a> {
    /// Sets the number of blocks: `4`, `(4, 2)`, `(4, 2, 1)` or `[4, 2, 1]` for x, y, z.
    pub fn grid(mut self, blocks: impl Into<Dim>) -> Self {
        self.grid = Some(blocks.into());
        self
    }

    /// Sets the threads of a block. Optional when the kernel requires a shape (`.reqntid`).
    pub fn block(mut self, threads: impl Into<Dim>) -> Self {
        self.block = Some(threads.into());
        self
    }

    /// Sets the blocks of a cluster.
    pub fn cluster(mut self, blocks: impl Into<Dim>) -> Self {
        self.cluster = Some(blocks.into());
        self
    }

    /// Makes the launch cooperative: all blocks are resident at once, so they may wait for each other.
    pub fn cooperative(mut self) -> Self {
        self.cooperative = true;
        self
    }

    /// Sets the dynamic shared memory of a block in bytes.
    pub fn shared(mut self, bytes: u64) -> Self {
        self.dynamic_shared = bytes;
        self
    }

    /// Passes a value: a number, or an array or struct for a parameter that holds several. Write the type (`4_u32`): a
    /// bare `4` is an `i32` in Rust.
    pub fn arg(self, value: impl Argument) -> Self {
        let bytes = raw(std::slice::from_ref(&value));
        self.give(Given::Value { bytes, what: argument::name_of(&value) })
    }

    /// Passes the bytes of a struct by value.
    pub fn bytes(self, bytes: &[u8]) -> Self {
        self.give(Given::Value { bytes: bytes.to_vec(), what: format!("{} bytes", bytes.len()) })
    }

    /// Passes the address of memory that holds these elements. The kernel's changes are not copied back.
    pub fn buffer<T: Number>(self, elements: &[T]) -> Self {
        let init = Some(raw(elements));
        self.memory::<T>(elements.len(), init, None, Written::May)
    }

    /// Passes the address of memory that holds these elements. They are copied back when the test succeeds.
    pub fn buffer_mut<T: Number>(self, elements: &'a mut [T]) -> Self {
        let init = Some(raw(elements));
        self.memory::<T>(elements.len(), init, Some(Box::new(elements)), Written::May)
    }

    /// Passes the address of uninitialised memory for `count` elements. When the test succeeds, `elements` receives the
    /// contents of that memory. The test fails (`output-not-written`) if the kernel leaves elements unwritten and
    /// [`Checks::uninit`] is on; use [`Test::buffer_mut`] for a kernel that may do so.
    pub fn output<T: Number>(self, elements: &'a mut Vec<T>, count: usize) -> Self {
        self.memory::<T>(count, None, Some(Box::new(Grown(elements))), Written::Must)
    }

    /// Passes the address of uninitialised memory for `count` elements of type `T`, which is not copied back.
    pub fn scratch<T: Number>(self, count: usize) -> Self {
        self.memory::<T>(count, None, None, Written::May)
    }

    /// Passes two parameters, the address and the number of the elements: a parameter `&[T]` of a Rust kernel.
    pub fn slice<T: Number>(self, elements: &[T]) -> Self {
        self.buffer(elements).len_of(elements.len())
    }

    /// Passes two parameters, the address and the number of the elements: a parameter `DisjointSlice<T>` of a Rust
    /// kernel.
    pub fn slice_mut<T: Number>(self, elements: &'a mut [T]) -> Self {
        let count = elements.len();
        self.buffer_mut(elements).len_of(count)
    }

    /// Sets the name of the buffer given last in reports, in place of the parameter's name.
    pub fn named(mut self, name: &str) -> Self {
        let is_length = |item: &Item<'_>| matches!(item.given, Given::Value { .. }) && item.of_slice;
        let last = self.items.iter_mut().rev().find(|item| !is_length(item));
        match last {
            Some(item) if matches!(item.given, Given::Memory { .. }) => item.name = Some(name.to_owned()),
            _ => self.misuse = Some("`named` must directly follow a buffer"),
        }
        self
    }

    /// Selects the checkers; the default is [`Checks::DEFECTS`].
    pub fn checks(mut self, checks: Checks) -> Self {
        self.checks = checks;
        self
    }

    /// Selects the device: the name of a built-in profile such as `a100`, or the path of a file. The default is an
    /// H200.
    pub fn profile(mut self, name_or_path: &str) -> Self {
        self.profile = Some(name_or_path.to_owned());
        self
    }

    /// Runs the kernel under `count` schedules in addition to the default one, with other orders of blocks, warps and
    /// diverged lanes. The first failure ends the test; the error names the seed.
    pub fn seeds(mut self, count: u64) -> Self {
        self.seeds = count;
        self
    }

    /// Makes the test fail (`not-reproducible`) when a buffer that is copied back has different contents under one of
    /// the other schedules of [`Test::seeds`].
    pub fn reproducible(mut self) -> Self {
        self.reproducible = true;
        self
    }

    /// Sets the number of warp instructions after which the run is stopped.
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
        self.give(Given::Memory {
            element: argument::name::<T>(),
            size: size_of::<T>() as u64,
            count: count as u64,
            init,
            back,
            written,
        })
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

/// Compiles and runs the code of the crate's README as doctests.
#[cfg(doctest)]
#[doc = include_str!("../../README.md")]
struct Readme;
