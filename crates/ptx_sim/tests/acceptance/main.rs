//! What ptxas accepts, the simulator accepts, and the reverse: on the programs of `tests/pass` and `tests/fail`, and on
//! small mutations of them.
//!
//! Only the feature `ptxas` compiles this test, and then ptxas is needed: in `PTXAS`, or on the path. `known.txt` has
//! the disagreements that are known; the test fails for another one, and for one of the list that is gone.
//! `UPDATE_KNOWN=1` writes the list.

mod mutations;
mod targets;

use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::{env, fs, thread};

use ptx_sim::Program;

/// Architecture for which ptxas compiles: a program is for this one or an older one, or has instructions of `sm_100a`.
fn architecture(text: &str) -> &'static str {
    if text.contains(".target sm_100") { "sm_100a" } else { "sm_90a" }
}

/// A program, and whether both accept it.
struct Verdict {
    name: String,
    ptxas: bool,
    ours: bool,
}

#[test]
fn ptxas_accepts_what_the_simulator_accepts() {
    let programs = programs();
    let next = AtomicUsize::new(0);
    let verdicts = Mutex::new(Vec::new());
    let threads = thread::available_parallelism().map_or(2, usize::from);
    thread::scope(|scope| {
        for number in 0..threads {
            let (next, verdicts, programs) = (&next, &verdicts, &programs);
            scope.spawn(move || {
                while let Some((name, text)) = programs.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let verdict = Verdict { name: name.clone(), ptxas: assembles(text, number), ours: accepted(text) };
                    verdicts.lock().unwrap_or_else(PoisonError::into_inner).push(verdict);
                }
            });
        }
    });
    let verdicts = verdicts.into_inner().unwrap_or_else(PoisonError::into_inner);
    assert_eq!(verdicts.len(), programs.len(), "a thread ended early");
    let refused = verdicts.iter().filter(|verdict| !verdict.ptxas).count();
    let found: BTreeSet<String> = verdicts.iter().filter(|verdict| verdict.ptxas != verdict.ours).map(line).collect();
    println!(
        "{} programs; ptxas refuses {refused}; the simulator agrees on {} and not on {}",
        verdicts.len(),
        verdicts.len() - found.len(),
        found.len()
    );
    assert!(refused > verdicts.len() / 4 && refused < verdicts.len(), "ptxas refuses {refused}");
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/acceptance/known.txt");
    if env::var_os("UPDATE_KNOWN").is_some() {
        fs::write(&path, found.iter().map(|line| format!("{line}\n")).collect::<String>())
            .expect("known.txt is written");
    }
    let known: BTreeSet<String> = fs::read_to_string(&path).expect("known.txt").lines().map(str::to_string).collect();
    let new: Vec<&String> = found.difference(&known).collect();
    let gone: Vec<&String> = known.difference(&found).collect();
    assert!(new.is_empty() && gone.is_empty(), "new disagreements: {new:#?}\nknown ones that are gone: {gone:#?}");
}

fn line(verdict: &Verdict) -> String {
    let by = if verdict.ptxas { "refused here" } else { "accepted here" };
    format!("{by}: {}", verdict.name)
}

/// Whether the simulator can run all instructions of a text.
fn accepted(text: &str) -> bool {
    Program::parse(text).is_ok_and(|program| program.unsupported().next().is_none())
}

/// Whether ptxas makes machine code of a text.
fn assembles(text: &str, number: usize) -> bool {
    let ptxas = env::var_os("PTXAS").unwrap_or_else(|| "ptxas".into());
    let file = env::temp_dir().join(format!("acceptance-{}-{number}.ptx", std::process::id()));
    fs::write(&file, text).expect("a temporary file");
    let mut command = Command::new(&ptxas);
    command.args(["-c", "-O0", "-arch", architecture(text), "-o"]).arg(file.with_extension("cubin")).arg(&file);
    let status = command.stdout(Stdio::null()).stderr(Stdio::null()).status();
    let status = status.unwrap_or_else(|error| panic!("this test runs ptxas; set PTXAS to its path: {error}"));
    for file in [file.with_extension("cubin"), file] {
        if file.exists() {
            fs::remove_file(&file).expect("a temporary file is removed");
        }
    }
    status.success()
}

/// The programs and their mutations, each with its name.
fn programs() -> Vec<(String, String)> {
    let mut programs = Vec::new();
    for folder in ["pass", "fail"] {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(folder);
        let mut files: Vec<_> =
            fs::read_dir(folder).expect("programs").map(|entry| entry.expect("a file").path()).collect();
        files.retain(|file| file.extension().is_some_and(|extension| extension == "ptx"));
        files.sort();
        for file in files {
            let name = file.file_stem().expect("a name").to_string_lossy().into_owned();
            let text = fs::read_to_string(&file).expect("a program");
            for (mutation, text) in mutations::of(&name, &text) {
                programs.push((format!("{name}: {mutation}"), text));
            }
        }
    }
    assert!(programs.len() > 1000, "{} programs", programs.len());
    programs
}
