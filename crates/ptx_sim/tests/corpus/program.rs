//! The format of programs in `tests/pass` and `tests/fail`, whose comments specify the launch and its outcome:
//!
//! ```text
//! //@ launch ENTRY grid=XxYxZ block=XxYxZ shared=BYTES cluster=XxYxZ cooperative=true
//!                        args=buf:u32:N[=iota|=zero],u32:7
//!                        buffers are called arg0, arg1, ...
//!                        tex:f32:N: a texture of N elements 0, 1, ... in linear memory
//! //@ checks NAME… atomics=ptx atomics=source same-value=ignore volatile=weak
//!                        `pass` programs are always checked for races
//! //@ config workers=1 fuel=1000000 seed=7 profile=a100 keep-going=true
//! //@ expect K[I] = V     element I of argument K;  `expect K all V`: every element
//! //@ prints TEXT         the output of vprintf, `\n` for the end of a line
//! //@ stops CODE          a stop without a line
//! //~ CODE: WORDS         on the line of an instruction: a stop or finding there, whose text contains the words;
//!                        a line may have several
//! ```

use ptx_sim::check::CHECKERS;
use ptx_sim::{Atomics, Checks, Config, Launch, Machine, Profile, Program, Report, SameValue, Stop, Volatile, texture};
use std::path::{Path, PathBuf};

/// The machine after the launch, address and length of each argument, and the outcome of the launch.
pub type Ran = (Machine, Vec<(u64, usize)>, Result<Report, Stop>);

pub struct Test {
    pub name: String,
    pub text: String,
    pub workers: Option<usize>,
    pub seed: Option<u64>,
    /// Whether the program is from `tests/pass`.
    pub correct: bool,
}

pub fn programs(folder: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(folder);
    let mut paths: Vec<PathBuf> =
        std::fs::read_dir(folder).expect("folder").map(|entry| entry.expect("entry").path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "ptx"));
    paths.sort();
    assert!(paths.len() >= 10);
    paths
}

impl Test {
    pub fn read(path: &Path) -> Self {
        let text = std::fs::read_to_string(path).expect("program");
        let correct = path.parent().is_some_and(|folder| folder.ends_with("pass"));
        Self {
            name: path.file_stem().expect("name").to_string_lossy().into_owned(),
            text,
            workers: None,
            seed: None,
            correct,
        }
    }

    fn checks(&self) -> Checks {
        let words: Vec<&str> = self.directives("checks").flat_map(str::split_whitespace).collect();
        let mut checks = Checks {
            atomics: words.iter().find_map(|word| match *word {
                "atomics=ptx" => Some(Atomics::Ptx),
                "atomics=source" => Some(Atomics::Source),
                _ => None,
            }),
            same_value_writes: match words.contains(&"same-value=ignore") {
                true => SameValue::Ignore,
                false => SameValue::Report,
            },
            volatile: match words.contains(&"volatile=weak") {
                true => Volatile::Weak,
                false => Volatile::Strong,
            },
            ..Checks::NONE
        };
        for checker in CHECKERS {
            let on = words.contains(&checker.name) || self.correct && matches!(checker.name, "race" | "leaks");
            // A small launch that is checked for races has one worker.
            let possible = checker.name != "race" || self.workers.is_none();
            *checks.switch(checker.name).expect("a checker of the table") = on && possible;
        }
        checks
    }

    pub fn directives<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        let rest = self.text.lines().filter_map(|line| line.strip_prefix("//@ "));
        rest.filter_map(move |line| line.strip_prefix(name)?.strip_prefix(' '))
    }

    pub fn directive(&self, name: &str) -> Option<&str> {
        self.text
            .lines()
            .filter_map(|line| line.strip_prefix("//@ "))
            .find_map(|line| line.strip_prefix(name)?.strip_prefix(' '))
    }

    /// Runs the program with the arguments of its `//@ launch` line, and returns the machine, the buffers (address and
    /// number of elements) and the result of the launch.
    ///
    /// # Errors
    /// Fails if the text does not parse; a launch that stops is part of the value.
    ///
    /// # Panics
    /// Panics if a directive is malformed.
    pub fn run(&self) -> Result<Ran, String> {
        self.run_with(|_| ())
    }

    /// As [`Test::run`], with another configuration.
    ///
    /// # Errors
    /// As [`Test::run`].
    pub fn run_with(&self, change: impl FnOnce(&mut Config)) -> Result<Ran, String> {
        let program = Program::parse(&self.text).map_err(|error| format!("{}: {error}", self.name))?;
        let mut config = Config { workers: 1, ..Config::default() };
        config.checks = self.checks();
        for word in self.directive("config").unwrap_or_default().split_whitespace() {
            match word.split_once('=') {
                Some(("workers", value)) => config.workers = value.parse().expect("workers"),
                Some(("fuel", value)) => config.fuel = Some(value.parse().expect("fuel")),
                Some(("seed", value)) => config.seed = Some(value.parse().expect("seed")),
                Some(("keep-going", value)) => config.keep_going = value.parse().expect("keep-going"),
                Some(("profile", value)) => config.profile = Profile::named(value).expect("profile"),
                _ => panic!("{}: config {word}", self.name),
            }
        }
        config.workers = self.workers.unwrap_or(config.workers);
        config.seed = self.seed.or(config.seed);
        change(&mut config);
        let mut machine = Machine::new(config);
        let mut words = self.directive("launch").expect("launch").split_whitespace();
        let entry = words.next().expect("entry");
        let (mut grid, mut block, mut dynamic_shared) = ([1; 3], [1; 3], 0);
        let (mut cluster, mut cooperative) = (None, false);
        let (mut params, mut buffers) = (Vec::new(), Vec::new());
        for word in words {
            match word.split_once('=') {
                Some(("grid", value)) => grid = triple(value),
                Some(("block", value)) => block = triple(value),
                Some(("shared", value)) => dynamic_shared = value.parse().expect("shared"),
                Some(("cluster", value)) => cluster = Some(triple(value)),
                Some(("cooperative", value)) => cooperative = value.parse().expect("cooperative"),
                Some(("args", value)) => {
                    for (index, arg) in value.split(',').enumerate() {
                        let (param, buffer) = argument(&mut machine, index, arg);
                        params.push(param);
                        buffers.push(buffer);
                    }
                }
                _ => panic!("{}: launch {word}", self.name),
            }
        }
        let launch = Launch { entry, grid, block, dynamic_shared, params: &params, cluster, ..Launch::default() };
        let launch = Launch { cooperative, ..launch };
        let result = machine.launch(&program, &launch);
        Ok((machine, buffers, result))
    }
}

fn triple(text: &str) -> [u32; 3] {
    let mut axes = text.split('x').map(|axis| axis.parse().expect("axis"));
    std::array::from_fn(|_| axes.next().unwrap_or(1))
}

/// Returns the bytes of an argument and, for a buffer, its address and number of elements.
fn argument(machine: &mut Machine, index: usize, arg: &str) -> (Vec<u8>, (u64, usize)) {
    let (arg, fill) = arg.split_once('=').unwrap_or((arg, ""));
    match arg.split(':').collect::<Vec<_>>().as_slice() {
        ["buf", "u32", len] => {
            let len: u32 = len.parse().expect("length");
            let address = machine.alloc(u64::from(len) * 4, &format!("arg{index}")).expect("alloc");
            if fill == "iota" {
                let bytes: Vec<u8> = (0..len).flat_map(u32::to_le_bytes).collect();
                machine.write(address, &bytes).expect("write");
            }
            if fill == "zero" {
                machine.fill(address, 0, u64::from(len) * 4).expect("fill");
            }
            (address.to_le_bytes().to_vec(), (address, len as usize))
        }
        // A texture of one row of f32 elements, each equal to its index.
        ["tex", "f32", len] => {
            let elements: u64 = len.parse().expect("length");
            let address = machine.alloc(elements * 4, &format!("arg{index}")).expect("alloc");
            let bytes: Vec<u8> = (0..elements).flat_map(|i| (i as f32).to_le_bytes()).collect();
            machine.write(address, &bytes).expect("write");
            let format = texture::Format { channel: texture::Channel::F32, channels: 1 };
            let texture = texture::Texture::new(texture::Layout::Linear { address, elements }, format);
            let handle = machine.texture(&texture).expect("texture");
            (handle.to_le_bytes().to_vec(), (address, elements as usize))
        }
        ["u32", value] => (value.parse::<u32>().expect("value").to_le_bytes().to_vec(), (0, 0)),
        _ => panic!("argument {arg}"),
    }
}
