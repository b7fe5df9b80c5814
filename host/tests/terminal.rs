//! What people read: tables that fit the terminal, colours, help, completions, manual pages. On the simulator.
#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

mod program;

use ladders::input;
use ladders::kernels::FAMILIES;
use program::{command, data, host, refused, text};
use rustwarp::Tensor;
use rustwarp::element::Array;
use std::path::Path;

/// Standard output of a command that succeeds, for a terminal of this many columns.
fn on(columns: usize, args: &[&str]) -> String {
    let output = command(args).env("COLUMNS", columns.to_string()).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{args:?}\n{}", text(&output.stderr));
    text(&output.stdout)
}

/// Length of the longest line of a table.
fn widest(text: &str) -> usize {
    text.lines().filter(|line| line.starts_with('|')).map(|line| line.chars().count()).max().unwrap_or(0)
}

const RUNGS: [&str; 7] =
    ["reduce", "--n", "2^14", "--variant", "interleaved,interleaved_strided,best", "--device", "sim"];

#[test]
fn tables_fit_the_terminal() {
    let explain = ["explain", "reduce", "--variant", "interleaved", "--against", "sequential", "--n", "5000"];
    for args in [&RUNGS[..], &["list"], &["list", "--failing"], &["devices"], &explain] {
        for columns in [80, 100, 120] {
            let fitted = on(columns, args);
            assert!((1..=columns).contains(&widest(&fitted)), "{args:?} in {columns}:\n{fitted}");
            // Excerpts of source files stay on one line.
            let text = fitted.lines().filter(|line| !line.starts_with("             "));
            let longest = text.map(|line| line.chars().count()).max();
            assert!(longest <= Some(columns), "{args:?} in {columns}: {longest:?}\n{fitted}");
        }
    }
    let narrow = on(80, &RUNGS);
    assert!(narrow.contains("left out for lack of width: ") && narrow.contains("--json shows all"), "{narrow}");
    assert!(narrow.contains("| variant") && narrow.contains("verified"), "{narrow}");
    let wide = on(300, &RUNGS);
    assert!(wide.contains("barriers") && !wide.contains("left out"), "{wide}");
    // Without a terminal there is no limit.
    assert_eq!(text(&host(&RUNGS).stdout), wide);
    assert!(widest(&text(&host(&["list"]).stdout)) > 120);
}

#[test]
fn colours_are_for_terminals_and_on_request() {
    let all = |extra: &[&str]| {
        let output = host(&[&RUNGS[..], extra].concat());
        text(&output.stdout)
    };
    assert!(!all(&[]).contains('\u{1b}') && !all(&["--color", "never"]).contains('\u{1b}'));
    assert!(all(&["--color", "always"]).contains('\u{1b}'));
    for args in [
        &["check", "failing", "--variant", "missing_barrier", "--color", "always"][..],
        &["--color", "always", "check", "failing", "--variant", "missing_barrier"],
    ] {
        let found = host(args);
        assert_eq!(found.status.code(), Some(1), "{}", text(&found.stderr));
        assert!(text(&found.stderr).contains('\u{1b}'), "{args:?}: {}", text(&found.stderr));
    }
    refused(&["list", "--color", "sometimes"], 2, &["--color", "sometimes"]);
}

/// What `host list` prints to a terminal, with this variable.
#[cfg(target_os = "linux")]
fn printed_to_a_terminal(variable: (&str, &str)) -> String {
    use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
    use std::io::Read;
    let reader = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&reader).and_then(|()| unlockpt(&reader)).unwrap();
    let path = ptsname(&reader, Vec::new()).unwrap();
    let terminal = std::fs::File::options().read(true).write(true).open(path.to_str().unwrap()).unwrap();
    let mut child = command(&["list"]).env(variable.0, variable.1).stdout(terminal).spawn().unwrap();
    let mut printed = Vec::new();
    // Where no process has the terminal open any more, reading it is an error.
    let _ = std::fs::File::from(reader).read_to_end(&mut printed);
    assert!(child.wait().unwrap().success());
    text(&printed)
}

#[test]
#[cfg(target_os = "linux")]
fn a_rank_of_open_mpi_prints_as_to_a_file() {
    // `mpirun` gives each rank a terminal, and writes what it reads there to a file, too.
    let [coloured, plain] = ["SOME_VARIABLE", "OMPI_COMM_WORLD_RANK"].map(|name| printed_to_a_terminal((name, "0")));
    assert!(coloured.contains('\u{1b}') && !plain.contains('\u{1b}'), "{coloured}{plain}");
    assert!(plain.contains("reduce"), "{plain}");
}

#[test]
fn an_f32_has_the_digits_of_an_f32() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("x.txt");
    std::fs::write(&file, "3.65 0.1").unwrap();
    let file = file.display().to_string();
    let table = |dtype: &str, family: &str| {
        let args = [family, "--input", &file, "--dtype", dtype, "--variant", "best", "--device", "sim"];
        text(&host(&[&args[..], if family == "reduce" { &["--op", "max"] } else { &[] }].concat()).stdout)
    };
    assert!(table("f32", "reduce").contains("| 3.65 "), "{}", table("f32", "reduce"));
    assert!(table("f64", "reduce").contains("| 3.65 "));
    assert!(table("f32", "scan").ends_with("result: 3.65 3.75\n"), "{}", table("f32", "scan"));
}

#[test]
fn the_help_of_a_family_is_its_own() {
    for family in FAMILIES {
        let help = text(&host(&[family.name, "--help"]).stdout);
        for variant in (family.variants)() {
            assert!(help.contains(variant.name), "{}: {} is missing in\n{help}", family.name, variant.name);
        }
        let types: Vec<_> = family.dtypes.iter().map(|dtype| dtype.name()).collect();
        assert!(help.contains(&format!("Type of the elements: {} ", types.join(" "))), "{help}");
        assert_eq!(help.contains("--op <"), !family.ops.is_empty(), "{}", family.name);
        assert_eq!(help.contains("--input <"), !family.operands.is_empty(), "{}", family.name);
        assert!(family.ops.iter().all(|op| help.contains(op)), "{}", family.name);
        assert!(help.contains("Examples:") && help.contains(&format!("host check {}", family.name)), "{help}");
    }
    // A long idea continues below its start.
    let help = on(80, &["matmul", "--help"]);
    let (_, variants) = help.split_once("Variants, slowest first:\n").unwrap();
    let variants: Vec<&str> = variants.lines().take_while(|line| !line.is_empty()).collect();
    let (names, rest): (Vec<&str>, Vec<&str>) = variants.iter().partition(|line| !line.starts_with("   "));
    assert_eq!(
        names.len(),
        (FAMILIES.iter().find(|family| family.name == "matmul").unwrap().variants)().len(),
        "{help}"
    );
    let column = names[0].find("one thread per element").unwrap();
    assert!(!rest.is_empty() && rest.iter().all(|line| line.len() - line.trim_start().len() == column), "{help}");
    assert!(variants.iter().all(|line| line.chars().count() <= 80), "{help}");
    let help = text(&host(&["check", "failing", "--help"]).stdout);
    assert!(help.contains("missing_barrier") && !help.contains("Examples:"), "{help}");
}

#[test]
fn the_examples_of_the_help_run() {
    let folder = tempfile::tempdir().unwrap();
    for (name, shape) in [("a", &[8, 8][..]), ("b", &[8, 8])] {
        let tensor = Tensor::new(shape, Array::F32(vec![1.5; 64])).unwrap();
        input::write(&folder.path().join(format!("{name}.npy")), &tensor).unwrap();
    }
    let mut count = 0;
    for family in ["vecadd", "matmul", "threads", "atomics"] {
        let help = text(&host(&[family, "--help"]).stdout);
        let examples = help.split("Examples:\n").nth(1).unwrap();
        for line in examples.lines().filter(|line| line.starts_with("  host ") && !line.contains("explain")) {
            let words: Vec<&str> = line.split_whitespace().skip(1).collect();
            // The file of atomics has another name and type.
            if family == "atomics" && line.contains(".npy") {
                continue;
            }
            let output = command(&words).current_dir(folder.path()).output().unwrap();
            assert_eq!(output.status.code(), Some(0), "{line}\n{}", text(&output.stderr));
            count += 1;
        }
    }
    assert!(count >= 9, "{count}");
    assert!(folder.path().join("result.npy").exists());
}

#[test]
fn completions_for_every_shell() {
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let output = host(&["completions", shell]);
        let script = text(&output.stdout);
        assert!(output.status.success() && script.contains("segreduce") && script.contains("variant"), "{shell}");
    }
    refused(&["completions", "tcsh"], 2, &["tcsh"]);
}

#[test]
fn manual_pages() {
    let page = |args: &[&str]| text(&host(args).stdout);
    assert!(page(&["man"]).contains(".TH host 1"), "{}", page(&["man"]));
    let reduce = page(&["man", "reduce"]);
    assert!(reduce.contains("host\\-reduce") && reduce.contains("interleaved_strided"), "{reduce}");
    // A page has the same lines wherever it is made, and the pager does not break them.
    let (_, variants) = reduce.split_once("Variants, slowest first").unwrap();
    assert!(variants.lines().all(|line| line.replace('\\', "").chars().count() <= 72), "{variants}");
    assert_eq!(on(40, &["man", "reduce"]), reduce);
    refused(&["man", "redcue"], 2, &["redcue", "host --help"]);
    let folder = tempfile::tempdir().unwrap();
    let all = folder.path().join("man");
    assert_eq!(host(&["man", "--all", &all.display().to_string()]).status.code(), Some(0));
    for name in ["host.1", "host-reduce.1", "host-explain.1"] {
        assert!(all.join(name).exists(), "{name}");
    }
    assert!(std::fs::read_dir(&all).unwrap().count() > FAMILIES.len());
    assert!(!Path::new(&data("host.1")).exists());
}

/// The parts of an explanation add up, and its counts say where they differ from the counters.
#[test]
fn an_explanation_adds_up() {
    let page = on(120, &["explain", "reduce", "--variant", "sequential", "--against", "best", "--n", "2^18"]);
    for words in ["us in kernels, and ", " launches", "for 1 launch", "which goes to", "is limited by "] {
        assert!(page.contains(words), "`{words}` is missing in\n{page}");
    }
    for words in ["of them one after the other", "1.0 of them", "1.0 in turn"] {
        assert!(!page.contains(words), "{page}");
    }
    let number = |text: &str| text.trim().parse::<f64>().unwrap();
    let mut checked = 0;
    let lines: Vec<&str> = page.lines().collect();
    for (about, parts) in lines.iter().zip(&lines[1..]).filter(|(_, parts)| parts.contains("us in kernels")) {
        let total = number(about.trim().strip_prefix("about ").unwrap().split(" us").next().unwrap());
        let (kernels, launching) = parts.split_once(" us in kernels, and ").unwrap();
        let sum = number(kernels) + number(launching.split(" us").next().unwrap());
        assert!((total - sum).abs() < 0.15, "{about}\n{parts}");
        checked += 1;
    }
    assert_eq!(checked, 2);
    for (at, heading) in lines.iter().enumerate().filter(|(_, line)| line.contains("which goes to")) {
        let kernel = number(heading.split(" us").next().unwrap().rsplit(' ').next().unwrap());
        let part = |line: &&str| line.split(" us  ").next()?.rsplit(' ').next()?.parse::<f64>().ok();
        let ends = |line: &&&str| !line.contains("the lines that cost most") && !line.contains("what would change it");
        let below = lines[at + 1..].iter().take_while(ends);
        let parts: Vec<f64> = below.filter_map(part).collect();
        let sum: f64 = parts.iter().sum();
        // Parts below a twentieth are left out, and each is rounded.
        assert!(parts.len() > 1 && sum > 0.7 * kernel && sum < kernel + 0.05 * parts.len() as f64 + 0.05, "{page}");
    }
}
