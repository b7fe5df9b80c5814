//! An instruction that needs a later `.target` than the module's is refused by both, with every target: all
//! instructions that only compute, and those of `targets.txt`. Those of `refused.txt` are refused with the newest one.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::process::Command;
use std::{env, fs};

use ptx_sim::Program;
use ptx_sim::isa::{File, Signature, signatures};

/// Instructions that do more than compute.
const LIST: &str = include_str!("targets.txt");

/// Instructions that no target has.
const REFUSED: &str = include_str!("refused.txt");

/// Targets of the modules; the last one has every instruction of the test.
const TARGETS: [&str; 15] = [
    "sm_50", "sm_52", "sm_53", "sm_60", "sm_61", "sm_70", "sm_72", "sm_75", "sm_80", "sm_86", "sm_89", "sm_90",
    "sm_90a", "sm_100", "sm_100a",
];

#[test]
fn targets_of_instructions_as_in_ptxas() {
    let mut instructions: Vec<String> = signatures().iter().filter_map(text_of).collect();
    instructions.extend(LIST.lines().map(str::to_string));
    // ptxas, too, refuses the instructions for which this parser refuses the module.
    let parses = |one: &String| Program::parse(&module(std::slice::from_ref(one), "sm_100a")).is_ok();
    let (instructions, wrong): (Vec<String>, Vec<String>) = instructions.into_iter().partition(parses);
    let refused = refused_by_ptxas(&module(&wrong, "sm_100a"), "");
    let accepted: Vec<&String> = (0..wrong.len()).filter(|i| !refused.contains(i)).map(|i| &wrong[i]).collect();
    assert!(accepted.is_empty(), "accepted by ptxas alone: {accepted:#?}");
    let newest = module(&instructions, "sm_100a");
    let (ours, theirs) = (refused_here(&newest, ""), refused_by_ptxas(&newest, ""));
    let both: Vec<String> = (0..instructions.len())
        .filter(|i| !ours.contains(i) && !theirs.contains(i))
        .map(|i| instructions[i].clone())
        .collect();
    assert!(both.len() > 5000, "{} instructions are accepted by both", both.len());
    let missing: Vec<&str> = LIST.lines().filter(|line| !both.iter().any(|one| one == line)).collect();
    assert!(missing.is_empty(), "instructions of the list that one of them refuses: {missing:#?}");
    for target in TARGETS {
        let text = module(&both, target);
        let (ours, theirs) = (refused_here(&text, "needs `.target"), refused_by_ptxas(&text, ".target"));
        let named = |set: BTreeSet<usize>| set.into_iter().map(|i| both[i].clone()).collect::<BTreeSet<_>>();
        let (ours, theirs) = (named(ours), named(theirs));
        let only = |a: &BTreeSet<String>, b: &BTreeSet<String>| a.difference(b).cloned().collect::<Vec<_>>();
        assert_eq!(only(&theirs, &ours), Vec::<String>::new(), "{target}: refused by ptxas alone");
        assert_eq!(only(&ours, &theirs), Vec::<String>::new(), "{target}: refused here alone");
    }
}

#[test]
fn instructions_that_ptxas_refuses_are_refused() {
    let instructions: Vec<String> = REFUSED.lines().map(str::to_string).collect();
    let text = module(&instructions, "sm_100a");
    for (by, refused) in [("here", refused_here(&text, "")), ("by ptxas", refused_by_ptxas(&text, ""))] {
        let accepted = (0..instructions.len()).filter(|i| !refused.contains(i)).map(|i| &instructions[i]);
        assert_eq!(accepted.collect::<Vec<_>>(), Vec::<&String>::new(), "accepted {by}");
    }
}

/// Returns an instruction of the table with registers as operands; `None` for rows whose names are no opcodes.
fn text_of(signature: &Signature) -> Option<String> {
    let Signature { opcode, destinations, sources, .. } = *signature;
    let first = opcode.split('.').next().unwrap_or_default();
    if matches!(first, "pack" | "unpack" | "video") || opcode.starts_with("mov.v") {
        return None;
    }
    let opcode = opcode.replace("min3.", "min.").replace("max3.", "max.");
    // Widths of the registers of a conversion.
    let opcode = opcode
        .find(".r")
        .filter(|at| opcode[at + 2..].starts_with(char::is_numeric))
        .map_or(opcode.as_str(), |at| &opcode[..at]);
    let registers = |files: &[File], start: usize| -> Vec<String> {
        files.iter().enumerate().map(|(i, file)| format!("{}{}", prefix(*file), start + i)).collect()
    };
    let mut operands = vec![registers(destinations, 1).join("|")];
    operands.extend(registers(sources, 3));
    if let Some(table) = operands.get_mut(4).filter(|_| first == "lop3") {
        *table = "0x1b".to_string();
    }
    Some(format!("{opcode} {};", operands.join(", ")))
}

fn prefix(file: File) -> &'static str {
    match file {
        File::Pred => "%p",
        File::Half => "%h",
        File::Word => "%r",
        File::Single => "%f",
        File::Long => "%rd",
        File::Double => "%fd",
    }
}

/// Lines of a module before its instructions.
const HEAD: usize = 6;

fn module(instructions: &[String], target: &str) -> String {
    let mut text = format!(
        ".version 9.0\n.target {target}\n.address_size 64\n.visible .entry k(.param .u64 prm) {{\n\
         .reg .pred %p<20>; .reg .b16 %h<20>; .reg .b32 %r<40>; .reg .b64 %rd<40>; .reg .f32 %f<40>; \
         .reg .f64 %fd<20>; .reg .b128 %q<8>; .reg .b8 %b<4>;\n.shared .align 128 .b8 sh[1024];\n"
    );
    for instruction in instructions {
        let _ = writeln!(text, "{instruction}");
    }
    text + "ret;\n}\n"
}

/// Indices of the instructions that the simulator refuses for a reason with these words.
fn refused_here(text: &str, words: &str) -> BTreeSet<usize> {
    let program = Program::parse(text).unwrap_or_else(|error| panic!("{error}"));
    let reasons = program.unsupported().filter(|(_, reason)| reason.contains(words));
    reasons.map(|(line, _)| line as usize - HEAD - 1).collect()
}

/// Indices of the instructions that ptxas refuses in a message with these words.
fn refused_by_ptxas(text: &str, words: &str) -> BTreeSet<usize> {
    let ptxas = env::var_os("PTXAS").unwrap_or_else(|| "ptxas".into());
    let file = env::temp_dir().join(format!("targets-{}.ptx", std::process::id()));
    fs::write(&file, text).expect("a temporary file");
    let arguments = ["-c", "-O0", "-arch", "sm_100a", "-o"];
    let output = Command::new(&ptxas).args(arguments).arg(file.with_extension("cubin")).arg(&file).output();
    let output = output.unwrap_or_else(|error| panic!("this test runs ptxas; set PTXAS to its path: {error}"));
    fs::remove_file(&file).expect("a temporary file is removed");
    // ptxas ends with an error except for the module without refused instructions.
    drop(fs::remove_file(file.with_extension("cubin")));
    let messages = String::from_utf8_lossy(&output.stderr);
    let line = |message: &str| {
        let (_, rest) = message.split_once("line ")?;
        let (number, what) = rest.split_once(';')?;
        (what.contains("error") && what.contains(words)).then(|| number.parse::<usize>().ok())?
    };
    // The declaration of registers of 128 bits is refused too.
    messages.lines().filter_map(line).filter_map(|line| line.checked_sub(HEAD + 1)).collect()
}
