//! Mutants of the tests' programs, with tokens and lines exchanged.
//!
//! Random bytes rarely parse. Here names are replaced by names of the same program, opcodes by opcodes, and numbers by
//! boundary values, so that most mutants decode and many of them run.

use std::path::Path;

/// Boundary values: of widths, lanes, banks, pages, and windows of the generic address space.
const NUMBERS: [&str; 34] = [
    "0",
    "1",
    "-1",
    "2",
    "3",
    "4",
    "7",
    "8",
    "15",
    "16",
    "17",
    "31",
    "32",
    "33",
    "63",
    "64",
    "127",
    "128",
    "255",
    "256",
    "1023",
    "1024",
    "4095",
    "4096",
    "65535",
    "65536",
    "1048576",
    "2147483647",
    "2147483648",
    "4294967295",
    "4294967296",
    "9223372036854775807",
    "9223372036854775808",
    "18446744073709551615",
];

/// Statements that demand many resources; their registers are replaced by registers of the program.
const STATEMENTS: [&str; 28] = [
    ".reg .b32 %many<1000000>;",
    ".local .align 16 .b8 big[500000];",
    ".shared .align 16 .b8 wide[200000];",
    ".local .b8 huge[4294967295];",
    ".param .b8 given[1048576];",
    "alloca.u64 %rd1, %rd1;",
    "alloca.u64 %rd1, 1099511627776;",
    "alloca.u64 %rd1, 16, 1073741824;",
    "stackrestore.u64 %rd1;",
    "stacksave.u64 %rd1;",
    "bar.sync 0, %r1;",
    "bar.sync %r1;",
    "bar.red.popc.u32 %r1, %r1, %r1, %p1;",
    "barrier.cluster.arrive;",
    "barrier.cluster.wait;",
    "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], [%rd1], %r1, [%r1];",
    "cp.async.bulk.global.shared::cta.bulk_group [%rd1], [%r1], %r1;",
    "cp.async.ca.shared.global [%r1], [%rd1], 16, %r1;",
    "cp.async.mbarrier.arrive.shared.b64 [%r1];",
    "mbarrier.init.shared.b64 [%r1], %r1;",
    "mbarrier.expect_tx.relaxed.cta.shared.b64 [%r1], %r1;",
    "mbarrier.arrive.noComplete.shared.b64 %rd1, [%r1], %r1;",
    "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r1, %r1, %r1, %r1}, [%r1];",
    "mapa.u64 %rd1, %rd1, %r1;",
    "mov.u64 %rd1, 9079256848778919937;",
    "shfl.sync.idx.b32 %r1|%p1, %r1, %r1, %r1, %r1;",
    "match.all.sync.b64 %r1|%p1, %rd1, %r1;",
    "ret;",
];

/// Material for mutants.
pub struct Seeds {
    programs: Vec<String>,
    opcodes: Vec<String>,
    statements: Vec<String>,
}

impl Seeds {
    /// Reads the programs of the crate's tests and the corpus, in the order of their paths.
    pub fn read(crate_folder: &Path) -> Self {
        let mut paths = Vec::new();
        for folder in ["tests/pass", "tests/fail", "fuzz/corpus/run"] {
            let entries = std::fs::read_dir(crate_folder.join(folder)).expect("folder of programs");
            paths.extend(entries.map(|entry| entry.expect("entry").path()));
        }
        paths.retain(|path| path.extension().is_some_and(|extension| extension == "ptx"));
        paths.sort();
        let programs: Vec<String> = paths.iter().map(|path| std::fs::read_to_string(path).expect("program")).collect();
        let mut opcodes: Vec<String> =
            ptx_sim::isa::signatures().iter().map(|signature| signature.opcode.to_owned()).collect();
        let mut statements: Vec<String> = STATEMENTS.map(str::to_owned).to_vec();
        for line in programs.iter().flat_map(|text| text.lines()).map(str::trim).filter(|line| line.contains(';')) {
            let first = line.split_whitespace().find(|word| !word.starts_with('@')).unwrap_or_default();
            if first.starts_with(|c: char| c.is_ascii_lowercase()) {
                opcodes.push(first.trim_end_matches(';').to_owned());
                statements.push(line.to_owned());
            }
        }
        for list in [&mut opcodes, &mut statements] {
            list.sort();
            list.dedup();
        }
        Self { programs, opcodes, statements }
    }

    /// Returns the fuzzer's dictionary: the parts of opcodes, and words of the programs that look like directives.
    pub fn dictionary(&self) -> String {
        let directives = self.programs.iter().flat_map(|text| text.split(|c: char| c.is_whitespace() || c == ';'));
        let directives = directives.filter(|word| word.starts_with('.') && word.len() > 2);
        let plain = |word: &&str| word.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b':'));
        let mut words: Vec<String> = directives.filter(plain).map(str::to_owned).collect();
        for opcode in &self.opcodes {
            let (name, modifiers) = opcode.split_once('.').unwrap_or((opcode, ""));
            words.push(name.to_owned());
            words.extend(modifiers.split('.').filter(|word| !word.is_empty()).map(|word| format!(".{word}")));
        }
        words.sort();
        words.dedup();
        words.iter().map(|word| format!("\"{word}\"\n")).collect()
    }
}

/// Generator of mutants; `choose(n)` returns a number below `n`.
pub struct Mutator<'s, C> {
    seeds: &'s Seeds,
    choose: C,
}

impl<'s, C: FnMut(usize) -> usize> Mutator<'s, C> {
    /// Creates a generator that takes its choices from `choose`.
    pub fn new(seeds: &'s Seeds, choose: C) -> Self {
        Self { seeds, choose }
    }

    /// Returns one program with up to eight mutations.
    pub fn program(&mut self) -> String {
        let seeds = self.seeds;
        let mut lines: Vec<String> = self.pick(&seeds.programs).lines().map(str::to_owned).collect();
        for _ in 0..=(self.choose)(8) {
            let before = lines.clone();
            self.mutate(&mut lines);
            // A mutant that does not parse is rarely useful, so it is usually replaced by another try.
            if ptx_sim::Program::parse(&lines.join("\n")).is_err() && (self.choose)(8) != 0 {
                lines = before;
            }
        }
        lines.join("\n")
    }

    fn pick<'a, T>(&mut self, list: &'a [T]) -> &'a T {
        &list[(self.choose)(list.len())]
    }

    fn mutate(&mut self, lines: &mut Vec<String>) {
        let code: Vec<usize> =
            (0..lines.len()).filter(|&at| !lines[at].trim().is_empty() && !lines[at].starts_with("//@")).collect();
        if code.is_empty() {
            return;
        }
        let at = *self.pick(&code);
        match (self.choose)(12) {
            0 => drop(lines.remove(at)),
            1 => {
                let other = *self.pick(&code);
                lines.swap(at, other);
            }
            2 => {
                let line = lines[*self.pick(&code)].clone();
                lines.insert(at, line);
            }
            3 | 4 => {
                let statement = self.statement(lines);
                lines.insert(at, statement);
            }
            _ => lines[at] = self.token(lines, at),
        }
    }

    /// Returns a statement of any program, on registers of this one.
    fn statement(&mut self, lines: &[String]) -> String {
        let seeds = self.seeds;
        let template = self.pick(&seeds.statements).clone();
        let names = names(lines);
        let mut statement = String::new();
        for token in tokens(&template) {
            let register = token.starts_with('%') && !token.contains('.');
            match register && !names.is_empty() {
                true => statement += similar(token, &names, &mut self.choose),
                false => statement += token,
            }
        }
        statement
    }

    /// Returns the line with one token exchanged.
    fn token(&mut self, lines: &[String], at: usize) -> String {
        let line = &lines[at];
        let all: Vec<&str> = tokens(line).collect();
        let wordy =
            |token: &str| token.starts_with(|c: char| c.is_ascii_alphanumeric() || matches!(c, '%' | '.' | '$'));
        let places: Vec<usize> = (0..all.len()).filter(|&index| wordy(all[index])).collect();
        if places.is_empty() {
            return line.clone();
        }
        let place = *self.pick(&places);
        let old = all[place];
        let seeds = self.seeds;
        let names = names(lines);
        let new = if old.starts_with(|c: char| c.is_ascii_digit()) {
            (*self.pick(&NUMBERS)).to_owned()
        } else if old.starts_with('%') && !names.is_empty() {
            match (self.choose)(8) {
                0 => (*self.pick(&NUMBERS)).to_owned(),
                1 => (*self.pick(&names)).to_owned(),
                _ => similar(old, &names, &mut self.choose).to_owned(),
            }
        } else if old.contains('.') {
            self.opcode(old, &seeds.opcodes)
        } else {
            all[*self.pick(&places)].to_owned()
        };
        let whole: Vec<&str> =
            all.iter().enumerate().map(|(i, token)| if i == place { &new } else { *token }).collect();
        whole.concat()
    }

    /// Returns another opcode of the same family, or the old one with a modifier exchanged, added or removed.
    fn opcode(&mut self, old: &str, opcodes: &[String]) -> String {
        let family = old.split('.').next().unwrap_or_default();
        let relatives: Vec<&String> =
            opcodes.iter().filter(|opcode| opcode.split('.').next() == Some(family)).collect();
        let other = match (self.choose)(4) {
            0 => self.pick(opcodes).as_str(),
            _ if relatives.is_empty() => self.pick(opcodes).as_str(),
            _ => self.pick(&relatives).as_str(),
        };
        if (self.choose)(2) == 0 {
            return other.to_owned();
        }
        let mut words: Vec<&str> = old.split('.').collect();
        let theirs: Vec<&str> = other.split('.').collect();
        let (at, word) = ((self.choose)(words.len()), theirs[(self.choose)(theirs.len())]);
        match (self.choose)(3) {
            0 if at > 0 => drop(words.remove(at)),
            1 => words.insert(at + 1, word),
            _ => words[at] = word,
        }
        words.join(".")
    }
}

/// Choices encoded in bytes, two for each choice; zeros once the bytes are used up.
pub fn choices(bytes: &[u8]) -> impl FnMut(usize) -> usize {
    let mut pairs = bytes.chunks(2);
    move |below| {
        let pair = pairs.next().unwrap_or_default();
        pair.iter().fold(0, |value, byte| value << 8 | usize::from(*byte)) % below.max(1)
    }
}

/// Returns the registers that a program uses.
fn names(lines: &[String]) -> Vec<&str> {
    let mut names: Vec<&str> =
        lines.iter().flat_map(|line| tokens(line)).filter(|token| token.starts_with('%')).collect();
    names.sort_unstable();
    names.dedup();
    names
}

/// Returns a name with the same prefix as `old`, if there is one.
fn similar<'n>(old: &str, names: &[&'n str], choose: &mut impl FnMut(usize) -> usize) -> &'n str {
    let stem = old.trim_end_matches(|c: char| c.is_ascii_digit());
    let near: Vec<&str> =
        names.iter().copied().filter(|name| name.trim_end_matches(|c: char| c.is_ascii_digit()) == stem).collect();
    let list = if near.is_empty() { names } else { &near };
    list[choose(list.len())]
}

/// Splits a line into words and the text between them, without loss.
fn tokens(line: &str) -> impl Iterator<Item = &str> {
    let word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '%' | '$' | ':');
    let mut rest = line;
    std::iter::from_fn(move || {
        let first = rest.chars().next()?;
        let length = rest.find(|c| word(c) != word(first)).unwrap_or(rest.len());
        let (token, after) = rest.split_at(length);
        rest = after;
        Some(token)
    })
}
