//! The planted bugs: the simulator finds each, and reports its Rust line.

use ptx_sim::{Finding, stop::Diagnostic};
use test_kernels::planted::{Bug, all};
use tests::cases::{program, simulate};

/// The codes under which a bug may be reported.
fn codes(bug: Bug) -> &'static [&'static str] {
    match bug {
        Bug::Race => &["race-raw", "race-war", "race-waw"],
        Bug::OutOfBounds => &["out-of-bounds"],
        Bug::Panic => &["trap"],
        Bug::BarrierDivergence => &["barrier-divergence"],
    }
}

/// The source location that a report names, as `file:line`.
fn headline(diagnostic: &Diagnostic) -> Option<String> {
    diagnostic.user_source().map(|source| format!("{}:{}", source.file, source.line))
}

/// What the checkers find in a planted kernel.
fn findings(name: &str) -> Vec<Finding> {
    let planted = all().into_iter().find(|planted| planted.case.name == name).expect("a planted kernel");
    simulate(&program(), &planted.case).result.expect("a run to the end").findings
}

#[test]
fn a_forgotten_barrier_is_one_finding_for_all_fields_of_a_struct() {
    let found = findings("race_struct");
    let [one] = &found[..] else { panic!("{} findings: {found:#?}", found.len()) };
    assert!(one.merged > 3, "the four fields, in each copy of the loop's body: {one:?}");
    assert_eq!(one.bytes, Some(16..2048), "elements 1 to 127, which one step writes and the next one reads");
    let text = one.to_string();
    let note = format!("and {} more places of the same lines, bytes 16..2048", one.merged);
    assert!(text.contains(&note), "{text}");
}

#[test]
fn every_planted_bug_is_found_at_its_line() {
    let program = program();
    let mut wrong = Vec::new();
    for planted in all() {
        let run = simulate(&program, &planted.case);
        let (mut diagnostics, printed) = match run.result {
            Ok(report) => (report.findings.iter().map(|f| f.diagnostic.clone()).collect(), report.printed),
            Err(stop) => {
                let mut found: Vec<_> = stop.findings().iter().map(|f| f.diagnostic.clone()).collect();
                found.push(stop.diagnostic().clone());
                (found, stop.printed().to_owned())
            }
        };
        diagnostics.retain(|d| codes(planted.bug).contains(&d.code));
        assert_ne!(planted.line, 0, "{}: no line is marked", planted.case.name);
        let line = format!("{}:{}", planted.file, planted.line);
        let headlines: Vec<_> = diagnostics.iter().filter_map(headline).collect();
        // All headlines must name that line: a report that also names another line misleads its reader.
        if headlines.is_empty() || !headlines.iter().all(|headline| headline.ends_with(&line)) {
            wrong.push(format!(
                "{}: expected {:?} at {line}; found {headlines:?}: {diagnostics:#?}",
                planted.case.name, planted.bug
            ));
        }
        for part in planted.printed {
            if !printed.contains(part) {
                wrong.push(format!("{} did not print '{part}' but:\n{printed}", planted.case.name));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
