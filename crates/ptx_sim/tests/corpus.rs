//! Runs the programs in `tests/pass` and `tests/fail` and compares what happens with what their comments say:
//!
//! ```text
//! //@ launch ENTRY grid=XxYxZ block=XxYxZ shared=BYTES cluster=XxYxZ cooperative=true args=buf:u32:N[=iota|=zero],u32:7   buffers are called arg0, arg1, ...
//!                        tex:f32:N: a texture of N elements 0, 1, ... in linear memory
//! //@ checks race uninit leaks overflow atomics=ptx atomics=source same-value=ignore    `pass` programs are always checked for races
//! //@ config workers=1 fuel=1000000 seed=7 profile=a100
//! //@ expect K[I] = V     element I of argument K;  `expect K all V`: every element
//! //@ prints TEXT         what vprintf wrote, `\n` for a line's end
//! //@ stops CODE          a stop that belongs to no line
//! //~ CODE: WORDS         on the line of an instruction: a stop or finding there, whose text has the words;
//!                        a line may have several
//! ```

use ptx_sim::stop::Diagnostic;
use ptx_sim::{Atomics, Checks, Config, Finding, Launch, Machine, Profile, Program, Report, SameValue, Stop, texture};
use std::path::{Path, PathBuf};

#[test]
fn correct_programs_run_clean() {
    let problems: Vec<String> = programs("pass").iter().filter_map(|path| wrong(&Test::read(path)).err()).collect();
    assert!(problems.is_empty(), "{}", problems.join("\n\n"));
}

/// Whatever runs first, and for however long.
#[test]
fn correct_programs_run_clean_under_other_schedules() {
    let mut problems = Vec::new();
    for path in programs("pass") {
        for seed in 1..=3 {
            let test = Test { seed: Some(seed), ..Test::read(&path) };
            if let Err(problem) = test.run().and_then(|(machine, buffers, result)| {
                let report = result.map_err(|stop| format!("{}: {stop}", test.name))?;
                match report.findings.first() {
                    Some(finding) => Err(format!("{}: {finding}", test.name)),
                    None => test.check_values(&machine, &buffers),
                }
            }) {
                problems.push(format!("seed {seed}: {problem}"));
            }
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n\n"));
}

#[test]
fn planted_bugs_are_found() {
    let problems: Vec<String> = programs("fail").iter().filter_map(|path| missed(&Test::read(path)).err()).collect();
    assert!(problems.is_empty(), "{}", problems.join("\n\n"));
}

fn wrong(test: &Test) -> Result<(), String> {
    let (machine, buffers, result) = test.run()?;
    let report = result.map_err(|stop| format!("{}: {stop}\n{}", test.name, stop.printed()))?;
    if let Some(finding) = report.findings.first() {
        return Err(format!("{}: {finding}", test.name));
    }
    test.check_values(&machine, &buffers)?;
    if let Some(printed) = test.directive("prints").filter(|text| report.printed != text.replace("\\n", "\n")) {
        return Err(format!("{}: printed\n{}instead of\n{printed}", test.name, report.printed));
    }
    // With more workers the blocks run in another order; the results of these programs don't depend on it.
    let (machine, buffers, result) = test.with_workers(3).run()?;
    result.map_err(|stop| format!("{} with 3 workers: {stop}", test.name))?;
    test.check_values(&machine, &buffers)
}

fn missed(test: &Test) -> Result<(), String> {
    let (_, _, result) = test.run()?;
    let line = |diagnostic: &Diagnostic| diagnostic.place.as_ref().map_or(0, |place| place.ptx_line);
    let seen_finding = |finding: &Finding| (line(&finding.diagnostic), finding.diagnostic.code, finding.to_string());
    let seen: Vec<_> = match &result {
        Ok(report) => report.findings.iter().map(seen_finding).collect(),
        Err(stop) => {
            let own = (line(stop.diagnostic()), stop.code(), stop.to_string());
            stop.findings().iter().map(seen_finding).chain([own]).collect()
        }
    };
    let mut wanted = test.marks();
    wanted.extend(test.directive("stops").map(|code| (0, code.to_owned(), String::new())));
    for (line, code, text) in &seen {
        let at = wanted.iter().position(|(l, c, words)| l == line && c == code && text.contains(words.as_str()));
        let Some(at) = at else { return Err(format!("{}: not expected at line {line}: {text}", test.name)) };
        wanted.remove(at);
    }
    if wanted.is_empty() { Ok(()) } else { Err(format!("{}: not found: {wanted:?}\n{seen:#?}", test.name)) }
}

/// The machine afterwards, address and length of each argument, and how the launch ended.
type Ran = (Machine, Vec<(u64, usize)>, Result<Report, Stop>);

struct Test {
    name: String,
    text: String,
    workers: Option<usize>,
    seed: Option<u64>,
    /// From `pass`.
    correct: bool,
}

fn programs(folder: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(folder);
    let mut paths: Vec<PathBuf> =
        std::fs::read_dir(folder).expect("folder").map(|entry| entry.expect("entry").path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "ptx"));
    paths.sort();
    assert!(paths.len() >= 10);
    paths
}

impl Test {
    fn read(path: &Path) -> Self {
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
        Checks {
            // A launch that is checked for races has one worker.
            race: self.workers.is_none() && (self.correct || words.contains(&"race")),
            atomics: words.iter().find_map(|word| match *word {
                "atomics=ptx" => Some(Atomics::Ptx),
                "atomics=source" => Some(Atomics::Source),
                _ => None,
            }),
            same_value_writes: match words.contains(&"same-value=ignore") {
                true => SameValue::Ignore,
                false => SameValue::Report,
            },
            uninit: words.contains(&"uninit"),
            leaks: self.correct || words.contains(&"leaks"),
            overflow: words.contains(&"overflow"),
        }
    }

    fn again(&self) -> Self {
        let (name, text) = (self.name.clone(), self.text.clone());
        Self { name, text, workers: self.workers, seed: self.seed, correct: self.correct }
    }

    fn with_workers(&self, workers: usize) -> Self {
        Self { workers: Some(workers), ..self.again() }
    }

    fn directives<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        let rest = self.text.lines().filter_map(|line| line.strip_prefix("//@ "));
        rest.filter_map(move |line| line.strip_prefix(name)?.strip_prefix(' '))
    }

    fn directive(&self, name: &str) -> Option<&str> {
        self.text
            .lines()
            .filter_map(|line| line.strip_prefix("//@ "))
            .find_map(|line| line.strip_prefix(name)?.strip_prefix(' '))
    }

    /// Line, code and words of every `//~`.
    fn marks(&self) -> Vec<(u32, String, String)> {
        let mut marks = Vec::new();
        for (line, text) in self.text.lines().enumerate() {
            for mark in text.split("//~ ").skip(1) {
                let (code, words) = mark.split_once(": ").unwrap_or((mark, ""));
                marks.push((line as u32 + 1, code.trim().to_owned(), words.trim().to_owned()));
            }
        }
        marks
    }

    fn run(&self) -> Result<Ran, String> {
        let program = Program::parse(&self.text).map_err(|error| format!("{}: {error}", self.name))?;
        let mut config = Config { workers: 1, ..Config::default() };
        config.checks = self.checks();
        for word in self.directive("config").unwrap_or_default().split_whitespace() {
            match word.split_once('=') {
                Some(("workers", value)) => config.workers = value.parse().expect("workers"),
                Some(("fuel", value)) => config.fuel = Some(value.parse().expect("fuel")),
                Some(("seed", value)) => config.seed = Some(value.parse().expect("seed")),
                Some(("profile", value)) => config.profile = Profile::named(value).expect("profile"),
                _ => panic!("{}: config {word}", self.name),
            }
        }
        config.workers = self.workers.unwrap_or(config.workers);
        config.seed = self.seed.or(config.seed);
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

    fn check_values(&self, machine: &Machine, buffers: &[(u64, usize)]) -> Result<(), String> {
        for expect in self.directives("expect") {
            let words: Vec<&str> = expect.split_whitespace().collect();
            let value: u32 = words[words.len() - 1].parse().expect("value");
            let (buffer, range) = match words[0].split_once('[') {
                Some((buffer, index)) => {
                    let index: usize = index.trim_end_matches(']').parse().expect("index");
                    (buffer, index..index + 1)
                }
                None => (words[0], 0..usize::MAX),
            };
            let (address, len) = buffers[buffer.parse::<usize>().expect("argument")];
            for index in range.start..range.end.min(len) {
                let mut bytes = [0; 4];
                machine.read(address + 4 * index as u64, &mut bytes).expect("read");
                let found = u32::from_le_bytes(bytes);
                if found != value {
                    return Err(format!("{}: expect {expect}: found {found} at {index}", self.name));
                }
            }
        }
        Ok(())
    }
}

fn triple(text: &str) -> [u32; 3] {
    let mut axes = text.split('x').map(|axis| axis.parse().expect("axis"));
    std::array::from_fn(|_| axes.next().unwrap_or(1))
}

/// The bytes of an argument; for a buffer, its address and number of elements.
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
        // A row of f32 elements, each its number.
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
