//! The failing examples: the simulator diagnoses each with the code in the examples' table at the line marked in its
//! source, or its result differs from the right one; and the correct rung passes all checks.

use ladders::Error;
use ladders::kernels::failing::{self, EXAMPLES};
use ladders::kernels::{self, Case, Demand, FAMILIES, Family, Job, Problem, Settings};
use rustwarp::backend::{Backend, Checkers, Checks, Choice, Module, Printed, open_printing};
use rustwarp::element::{Array, Dtype};
use rustwarp::{Diagnostic, Tensor};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::Path;
use tests::matrix::{largest, load, ops};

struct Simulator {
    device: Box<dyn Backend>,
    /// Modules of the families, loaded on first use.
    modules: RefCell<BTreeMap<&'static str, Module>>,
}

impl Simulator {
    fn new() -> Self {
        let checks = Checks::On(Checkers::default());
        let (device, _) = open_printing(Choice::Sim, checks, Printed::Stderr).expect("the simulator");
        Self { device, modules: RefCell::default() }
    }

    fn module(&self, family: &Family) -> Module {
        *self.modules.borrow_mut().entry(family.name).or_insert_with(|| load(&*self.device, family.name, None))
    }

    /// What the checkers find in one variant, a fault included, and whether its result is right; `None` if the variant
    /// does not have the operation.
    fn check(&self, family: &Family, op: &str, variant: &'static str, case: &Case) -> Option<(Vec<Diagnostic>, bool)> {
        let given = case.settings.iter().map(|(name, value)| (*name, value.as_str()));
        let settings = Settings::new(family.settings, given).expect("settings of the family");
        let dtype = family.dtypes[0];
        let demand = Demand { size: &case.size, dtype, seed: 3, settings: &settings };
        let inputs = (family.generate)(&demand).expect("operands");
        let problem = Problem { inputs: &inputs, dtype, op, settings: &settings };
        let ladder = family.resolve(&problem).expect("kernels");
        let oracle = ladder.oracle(problem).expect("an oracle");
        let (device, module, variants) =
            (&*self.device, self.module(family), &family.select(variant).expect("a variant"));
        if ladder.refusal(variants[0], problem).is_some() {
            return None;
        }
        let job = Job { device, module, problem, oracle: &oracle, variants, block: None, grid: None, plan: None };
        let (mut found, mut right) = (Vec::new(), false);
        let result = ladder.run(&job, &mut |row| {
            right = row.is_verified();
            found.extend(row.findings);
        });
        if let Err(error) = result {
            // Findings of a launch that ended in a fault were made before the fault.
            found.extend(device.observed().expect("the simulator's").findings);
            match error {
                Error::Fault(fault) => found.push(*fault),
                other => panic!("{} {variant}: {other}", family.name),
            }
        }
        Some((found, right))
    }
}

fn source(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../kernels-gpu/src/failing").join(name).with_extension("rs");
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Line numbers in an example's source, counted from 1: the one marked `FINDING`, and those marked `AS WELL`, where the
/// same mistake also shows.
fn marked(name: &str) -> (u32, Vec<u32>) {
    let source = source(name);
    let ending = |mark: &str| -> Vec<u32> {
        source.lines().zip(1..).filter(|(line, _)| line.ends_with(mark)).map(|(_, number)| number).collect()
    };
    let [line] = ending("// FINDING")[..] else { panic!("{name}: one line must be marked") };
    (line, ending("// AS WELL"))
}

#[test]
fn every_example_is_diagnosed_at_its_line() {
    let simulator = Simulator::new();
    let mut wrong = Vec::new();
    let findings = || EXAMPLES.iter().filter(|example| example.wrong.is_none());
    for example in findings() {
        let (found, _) = simulator.check(&failing::FAMILY, "", example.name, &Case::new(&[1])).expect("a kernel");
        let (line, as_well) = marked(example.name);
        let at = |found: &Diagnostic, lines: &[u32]| {
            let file = found.file.as_deref().unwrap_or_default();
            file.ends_with(&format!("failing/{}.rs", example.name)) && found.line.is_some_and(|at| lines.contains(&at))
        };
        let codes: Vec<_> = found.iter().filter(|found| at(found, &[line])).map(|found| found.code.as_str()).collect();
        let elsewhere = found.iter().filter(|found| !at(found, &[line]) && !at(found, &as_well));
        let elsewhere: Vec<_> = elsewhere.map(ToString::to_string).collect();
        // All codes must be at that line: a report that also names another line misleads its reader.
        if !codes.contains(&example.finding) || !elsewhere.is_empty() {
            wrong.push(format!(
                "{}: expected {} at line {line}; found {codes:?} there, and elsewhere {}",
                example.name,
                example.finding,
                elsewhere.join("\n")
            ));
        }
    }
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), findings().count(), wrong.join("\n"));
}

/// The checkers find nothing in these examples, so only the oracle detects the mistake.
#[test]
fn every_wrong_result_is_wrong_as_described() {
    let simulator = Simulator::new();
    let mut count = 0;
    for (example, described) in EXAMPLES.iter().filter_map(|example| Some((example, example.wrong?))) {
        let (found, right) = simulator.check(&failing::FAMILY, "", example.name, &Case::new(&[1])).expect("a kernel");
        let said: Vec<_> = found.iter().map(|found| (found.code.as_str(), found.title.as_str())).collect();
        assert_eq!((right, said.as_slice()), (false, &[("wrong-result", described)][..]), "{}", example.name);
        assert_eq!(example.finding, "wrong-result");
        let source = source(example.name);
        let marked = source.lines().filter(|line| line.trim_start().starts_with("// WRONG: ")).count();
        assert_eq!(marked, 1, "{}: one line must be marked", example.name);
        count += 1;
    }
    assert!(
        count >= 8 && EXAMPLES.iter().all(|example| example.wrong.is_some() == (example.finding == "wrong-result"))
    );
}

#[test]
fn the_correct_rung_has_no_findings() {
    let simulator = Simulator::new();
    for example in EXAMPLES {
        let (family, rung) = example.right;
        let family = kernels::family(family).unwrap_or_else(|| panic!("{}: no family {family}", example.name));
        let variant = family.select(rung).expect("its rung")[0].name;
        // The largest case that the family's tests run has several blocks, the last of which is not full.
        let case = largest(family);
        // Every operation is run, since a mistake may change the result of some operations only.
        let mut ran = 0;
        for op in ops(family, family.dtypes[0]) {
            let Some((found, right)) = simulator.check(family, op, variant, &case) else { continue };
            assert!(right && found.is_empty(), "{} {variant} {op}: {found:?}", family.name);
            ran += 1;
        }
        assert!(ran > 0, "{} {variant} has no operation", family.name);
    }
}

/// The correct rung on the input that the examples get wrong: negative numbers only, and their maximum.
#[test]
fn a_maximum_of_negative_numbers_is_one_of_them() {
    let simulator = Simulator::new();
    let reduce = kernels::family("reduce").expect("a family");
    let inputs = [Tensor::from(Array::F32((0..1024).map(|i| -1.0 - i as f32).collect()))];
    let settings = Settings::default();
    let problem = Problem { inputs: &inputs, dtype: Dtype::F32, op: "max", settings: &settings };
    let ladder = reduce.resolve(&problem).expect("kernels");
    let oracle = ladder.oracle(problem).expect("an oracle");
    let (device, module, variants) =
        (&*simulator.device, simulator.module(reduce), &reduce.select("grid_stride").expect("a variant"));
    let job = Job { device, module, problem, oracle: &oracle, variants, block: None, grid: None, plan: None };
    let result = ladder.run(&job, &mut |row| assert!(row.is_clean(), "{:?}", row.findings)).expect("a run");
    assert_eq!(result, Tensor::from(Array::F32(vec![-1.0])));
}

/// The examples are in no list of families, so no test, run or benchmark of all families includes them.
#[test]
fn the_examples_are_not_a_family() {
    assert!(kernels::family(failing::FAMILY.name).is_none());
    let normal: Vec<_> = FAMILIES.iter().flat_map(|family| (family.variants)()).flat_map(|v| v.entries).collect();
    assert!(failing::entries().iter().all(|entry| entry.name.starts_with("failing_") && !normal.contains(entry)));
    let files = Path::new(env!("CARGO_MANIFEST_DIR")).join("../kernels-gpu/src/failing");
    let files = std::fs::read_dir(files).expect("the examples").count();
    assert_eq!(files, EXAMPLES.len() + 1, "a file for each, and mod.rs");
}
