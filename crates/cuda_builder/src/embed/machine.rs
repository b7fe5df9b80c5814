//! Machine code of modules, assembled on all processors.

use std::{
    borrow::Cow,
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

use crate::{
    arch::Arch, artifact::Artifact, cache::Cache, cuda_tools, error::Error, process, target_of::to_assemble,
    workers::on_all_processors,
};

/// Machine code of one module for one architecture.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct MachineCode {
    /// The GPU that it is for; later GPUs of the same major version run it too.
    pub arch: Arch,
    /// Name of the module.
    pub module: String,
    /// Path of the cubin: beside the PTX, named `<module>.<arch>.cubin`.
    pub cubin: PathBuf,
}

/// Assembles every module for each of `archs` by ptxas, from the newest PTX that runs there. A cubin that is newer than
/// its PTX is kept. Modules that call functions through pointers get none: their threads' stack has no known size, and
/// programs enlarge it when they see such a call in the PTX.
///
/// # Errors
/// - [`Error::Options`] if the modules have no PTX that runs on one of `archs`;
/// - [`Error::NoCudaTool`] if there is no ptxas;
/// - [`Error::Tool`] if it rejects the PTX.
pub fn machine_code(artifacts: &[Artifact], archs: &[Arch], cache: &Cache) -> Result<Vec<MachineCode>, Error> {
    let mut jobs = Vec::new();
    // Each once: two jobs must not write the same file.
    for arch in archs.iter().copied().collect::<BTreeSet<_>>() {
        for artifact in sources(artifacts, arch)? {
            if calls_through_pointers(&artifact.ptx)? {
                continue;
            }
            let cubin = artifact.ptx.with_extension(format!("{arch}.cubin"));
            jobs.push((artifact, MachineCode { arch, module: artifact.module.clone(), cubin }));
        }
    }
    let codes = jobs.iter().map(|(_, code)| code.clone()).collect();
    jobs.retain(|(artifact, code)| !is_current(&code.cubin, &artifact.ptx));
    if jobs.is_empty() {
        return Ok(codes);
    }
    let ptxas = cuda_tools::require("ptxas", cache, "make machine code")?;
    // The largest last: they are taken first.
    jobs.sort_by_key(|(artifact, _)| fs::metadata(&artifact.ptx).map_or(0, |data| data.len()));
    on_all_processors(jobs, |(artifact, code)| assemble(&ptxas.path, &artifact.ptx, &code))?;
    Ok(codes)
}

/// Of each module, the newest PTX that runs on `arch`; nothing of modules that only later GPUs run, if there are
/// others.
fn sources(artifacts: &[Artifact], arch: Arch) -> Result<Vec<&Artifact>, Error> {
    let runs = |artifact: &&Artifact| {
        let general = !artifact.arch.is_specific() && artifact.arch.capability() <= arch.capability();
        artifact.arch == arch || Some(artifact.arch) == arch.exact() || general
    };
    let is_later = |artifact: &Artifact| !artifact.arch.is_specific() && artifact.arch.capability() > arch.capability();
    let mut found: Vec<&Artifact> = Vec::new();
    let mut missing = None;
    for artifact in artifacts {
        let mut of_module = artifacts.iter().filter(|other| other.module == artifact.module);
        let best = of_module.clone().filter(runs).max_by_key(|other| (other.arch.capability(), other.arch == arch));
        match best {
            Some(best) if found.iter().any(|other| other.module == best.module) => {}
            Some(best) => found.push(best),
            None if of_module.any(is_later) => missing = missing.or(Some((artifact, true))),
            None => missing = Some((artifact, false)),
        }
    }
    match missing {
        Some((artifact, may_miss)) if !may_miss || found.is_empty() => Err(Error::Options(format!(
            "machine code for {arch} needs PTX of {arch} or older, and {} has none: add it by `archs`",
            artifact.module
        ))),
        _ => Ok(found),
    }
}

fn calls_through_pointers(ptx: &Path) -> Result<bool, Error> {
    let text = fs::read_to_string(ptx).map_err(Error::io("read", ptx))?;
    Ok(text.contains(".callprototype"))
}

/// Assembles the PTX without its line table, from which ptxas would copy itself the whole text into the cubin.
fn assemble(ptxas: &Path, ptx: &Path, code: &MachineCode) -> Result<(), Error> {
    let [partial, bare] = ["cubin.part", "ptx.part"].map(|extension| code.cubin.with_extension(extension));
    let text = fs::read_to_string(ptx).map_err(Error::io("read", ptx))?;
    fs::write(&bare, without_line_table(&text).as_bytes()).map_err(Error::io("write", &bare))?;
    let mut command = std::process::Command::new(ptxas);
    command.args(["-arch", to_assemble(ptx, code.arch)?.target_cpu()]).arg(&bare).arg("-o").arg(&partial);
    let on_tensor_cores = text.contains("wgmma.mma_async");
    if on_tensor_cores {
        command.arg("-v");
    }
    let purpose = format!("assemble {} for {}", ptx.display(), code.arch);
    let output = process::run(&mut command, &purpose)?;
    let said = String::from_utf8_lossy(&output.stderr);
    let slow = slow_products(&said);
    if on_tensor_cores && !slow.is_empty() {
        let status = "no error, but with asynchronous products that are slow: keep their sums in registers, and touch \
                      them only after a wait"
            .to_owned();
        return Err(Error::Tool { program: ptxas.display().to_string(), purpose, status, output: slow.join("\n") });
    }
    fs::remove_file(&bare).map_err(Error::io("remove", &bare))?;
    fs::rename(&partial, &code.cubin).map_err(Error::io("write", &code.cubin))
}

/// The lines of ptxas's output that say that asynchronous products run one after the other, or that registers are
/// spilled.
fn slow_products(output: &str) -> Vec<&str> {
    let spills = |line: &str| line.contains("bytes spill stores") && !line.contains(" 0 bytes spill stores");
    output.lines().filter(|line| line.contains("wgmma.mma_async instructions are serialized") || spills(line)).collect()
}

/// The PTX with an empty line for each position, so that messages of ptxas name the lines of the file: the machine code
/// is the same, and the cubin a quarter of the size.
fn without_line_table(ptx: &str) -> Cow<'_, str> {
    if ptx.contains(".debug_info") {
        return Cow::Borrowed(ptx);
    }
    let is_position = |line: &str| [".loc", ".file"].iter().any(|directive| line.trim_start().starts_with(directive));
    let lines = ptx.split_inclusive('\n').map(|line| if is_position(line) { "\n" } else { line });
    Cow::Owned(lines.collect())
}

/// Whether the cubin was made after the PTX.
fn is_current(cubin: &Path, ptx: &Path) -> bool {
    let time = |path: &Path| fs::metadata(path).and_then(|data| data.modified()).ok();
    matches!((time(cubin), time(ptx)), (Some(cubin), Some(ptx)) if cubin >= ptx)
}

/// Removes the machine code that was made of a PTX file before it was written again.
pub(crate) fn remove_old(ptx: &Path) -> Result<(), Error> {
    let (Some(folder), Some(stem)) = (ptx.parent(), ptx.file_stem()) else { return Ok(()) };
    let start = format!("{}.", stem.to_string_lossy());
    for entry in fs::read_dir(folder).map_err(Error::io("read", folder))? {
        let path = entry.map_err(Error::io("read", folder))?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let arch = name.strip_prefix(&start).and_then(|rest| rest.strip_suffix(".cubin"));
        if arch.is_some_and(|arch| arch.starts_with("sm_")) {
            fs::remove_file(&path).map_err(Error::io("remove", &path))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn serialised_and_spilled_products_are_found() {
        let serial = "ptxas info    : (C7510) Potential Performance Loss: wgmma.mma_async instructions are serialized \
                      due to insufficient register resources for the wgmma pipeline in the function 'f'";
        let spilled = "    8 bytes stack frame, 4 bytes spill stores, 4 bytes spill loads";
        let text = format!("{serial}\n    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n{spilled}\n");
        assert_eq!(slow_products(&text), [serial, spilled]);
    }

    fn artifact(arch: Arch, module: &str) -> Artifact {
        let (module, ptx) = (module.to_owned(), PathBuf::from(format!("{arch}/{module}.ptx")));
        Artifact { arch, module, ptx, llvm_ir: None, bitcode: None, fresh: true }
    }

    #[test]
    fn machine_code_is_made_of_the_newest_ptx_that_runs_there() {
        let artifacts = [
            artifact(Arch::Compute75, "sum"),
            artifact(Arch::Compute75, "max"),
            artifact(Arch::Compute90, "sum"),
            artifact(Arch::Compute90, "max"),
            artifact(Arch::Compute90a, "sum"),
        ];
        let exact = [artifact(Arch::Compute75, "matmul"), artifact(Arch::Compute90a, "matmul")];
        let of = |arch| {
            let found = sources(&artifacts, arch).map_err(|error| error.to_string())?;
            Ok(found.iter().map(|artifact| (artifact.module.as_str(), artifact.arch)).collect::<Vec<_>>())
        };
        assert_eq!(of(Arch::Compute86), Ok(vec![("sum", Arch::Compute75), ("max", Arch::Compute75)]));
        assert_eq!(of(Arch::Compute90), Ok(vec![("sum", Arch::Compute90), ("max", Arch::Compute90)]));
        assert_eq!(of(Arch::Compute90a), Ok(vec![("sum", Arch::Compute90a), ("max", Arch::Compute90)]));
        assert_eq!(of(Arch::Compute120), Ok(vec![("sum", Arch::Compute90), ("max", Arch::Compute90)]));
        let of_exact = |arch| sources(&exact, arch).map(|found| found[0].arch).map_err(|error| error.to_string());
        assert_eq!(of_exact(Arch::Compute90), Ok(Arch::Compute90a), "a GPU of sm_90 runs it");
        assert_eq!(of_exact(Arch::Compute100), Ok(Arch::Compute75));
        let later = [artifact(Arch::Compute75, "sum"), artifact(Arch::Compute80, "mma")];
        let of_later = |arch| sources(&later, arch).map(|found| found.len()).map_err(|error| error.to_string());
        assert_eq!((of_later(Arch::Compute75), of_later(Arch::Compute86)), (Ok(1), Ok(2)));
        let earlier = [artifact(Arch::Compute75, "sum"), artifact(Arch::Compute90a, "mma")];
        assert!(sources(&earlier, Arch::Compute100).is_err(), "no PTX of `mma` runs on later GPUs");
        let refusal: Result<Vec<(&str, Arch)>, String> = of(Arch::Compute70);
        let reason = "machine code for sm_70 needs PTX of sm_70 or older, and sum has none: add it by `archs`";
        assert_eq!(refusal, Err(reason.to_owned()));
    }

    #[test]
    fn machine_code_is_assembled_without_line_tables() {
        let text = ".file 1 \"a.rs\"\n.entry f() {\n\t.loc\t1 2 3\n\tadd.u32 %r1, %r1, 1; // .loc\n}\n";
        assert_eq!(without_line_table(text), "\n.entry f() {\n\n\tadd.u32 %r1, %r1, 1; // .loc\n}\n");
        let debug = format!("{text}.section .debug_info {{ }}\n");
        assert_eq!(without_line_table(&debug), debug, "its labels need the positions");
    }

    #[test]
    fn only_machine_code_of_the_same_module_is_removed() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = |name: &str| folder.path().join(name);
        let names = ["sum.sm_80.cubin", "sum.sm_90.cubin", "sum.ptx", "sums.sm_90.cubin", "sum.cubin", "sum.x.cubin"];
        for name in names {
            fs::write(path(name), "").expect("a file");
        }
        remove_old(&path("sum.ptx")).expect("removed");
        assert_eq!(names.map(|name| path(name).exists()), [false, false, true, true, true, true]);
    }

    #[test]
    fn an_architecture_that_is_named_twice_is_assembled_once() {
        let folder = tempfile::tempdir().expect("a folder");
        let ptx = folder.path().join("sum.ptx");
        fs::write(&ptx, "").expect("a file");
        for arch in ["sm_80", "sm_90"] {
            fs::write(ptx.with_extension(format!("{arch}.cubin")), "").expect("a file");
        }
        let artifacts = [Artifact { ptx, ..artifact(Arch::Compute75, "sum") }];
        let archs = [Arch::Compute90, Arch::Compute80, Arch::Compute90];
        let codes = machine_code(&artifacts, &archs, &Cache::at(folder.path().join("cache"))).expect("all are there");
        let archs: Vec<_> = codes.iter().map(|code| code.arch).collect();
        assert_eq!(archs, [Arch::Compute80, Arch::Compute90]);
    }

    #[test]
    fn machine_code_older_than_its_ptx_is_made_again() {
        let folder = tempfile::tempdir().expect("a folder");
        let [ptx, cubin] = ["k.ptx", "k.sm_90.cubin"].map(|name| folder.path().join(name));
        fs::write(&ptx, "").expect("a file");
        assert!(!is_current(&cubin, &ptx), "there is none");
        fs::write(&cubin, "").expect("a file");
        assert!(is_current(&cubin, &ptx));
        let later = std::time::SystemTime::now() + std::time::Duration::from_secs(60);
        fs::File::options().write(true).open(&ptx).and_then(|file| file.set_modified(later)).expect("a new time");
        assert!(!is_current(&cubin, &ptx));
    }
}
