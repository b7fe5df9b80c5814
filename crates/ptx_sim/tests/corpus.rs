//! Runs the programs in `tests/pass` and `tests/fail` and compares the outcome with the expectations in their comments.

#[path = "corpus/program.rs"]
mod program;

use program::{Test, programs};
use ptx_sim::stop::Diagnostic;
use ptx_sim::{Finding, Machine};

#[test]
fn correct_programs_run_clean() {
    let problems: Vec<String> = programs("pass").iter().filter_map(|path| wrong(&Test::read(path)).err()).collect();
    assert!(problems.is_empty(), "{}", problems.join("\n\n"));
}

/// The results do not depend on the order in which warps and blocks run, nor on the length of their turns.
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
    // With more workers the blocks run in another order; the results of these programs do not depend on it.
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

impl Test {
    fn again(&self) -> Self {
        let (name, text) = (self.name.clone(), self.text.clone());
        Self { name, text, workers: self.workers, seed: self.seed, correct: self.correct }
    }

    fn with_workers(&self, workers: usize) -> Self {
        Self { workers: Some(workers), ..self.again() }
    }

    /// Returns line, code and words of every `//~` comment.
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
