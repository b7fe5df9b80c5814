//! The variants of a family: its PTX for each value of each marked constant, and the list of them that `host tune`
//! reads.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result, anyhow, bail};
use cuda_builder::{
    Arch, CudaBuilder, Error, check,
    cuda_tools::{self, CudaTool},
    toolchain::{Search, Toolchain},
};

use super::{
    marks::{self, Mark},
    sources::Sources,
};
use crate::workspace;

/// File name of the PTX without a change.
const PRESENT: &str = "present.ptx";

/// File name of the list.
const LIST: &str = "variants.json";

/// A marked constant and the file that it is in.
struct Place<'s> {
    path: &'s Path,
    text: &'s str,
    mark: Mark,
}

/// The outcome for one value.
#[derive(Debug, PartialEq, Eq)]
enum Variant {
    /// It has PTX.
    Built,
    /// It cannot be used, for this reason.
    Refused(String),
}

/// The tools of a build.
struct Build<'a> {
    family: &'a str,
    arch: Arch,
    ptxas: Option<CudaTool>,
    /// Name of the tools, whose other versions make other PTX.
    versions: String,
    /// Folder of the copied sources and of the files of their builds.
    work: PathBuf,
}

/// Compiles the variants of a family that are not there yet, and returns their folder.
///
/// # Errors
/// Fails for an unknown family or a bad mark, if the present kernels do not compile, and if a file cannot be written.
pub fn prepare(family: &str, arch: Arch, toolchain: &Toolchain) -> Result<PathBuf> {
    let sources = Sources::read(&workspace::root())?;
    let places = places(&sources, family)?;
    let above = workspace::root().join("target/tune");
    let folder = above.join(family);
    fs::create_dir_all(&folder).with_context(|| format!("cannot create {}", folder.display()))?;
    let _lock = locked(&above)?;
    let build = Build::new(family, arch, toolchain, &above);
    if build.ptxas.is_none() {
        eprintln!("ptxas is missing: values that make kernels spill registers are not refused (`cargo xtask setup`)");
    }
    let present = folder.join(PRESENT);
    if let Variant::Refused(why) = build.variant(&sources, &present, None)? {
        bail!("{family} without a change: {why}");
    }
    let mut rows = Vec::new();
    for Place { path, text, mark } in &places {
        for &value in &mark.candidates {
            let changed = sources.with(path, marks::substitute(text, mark, value));
            let file = file_name(family, path, &mark.name, value);
            let variant = build.variant(&changed, &folder.join(&file), Some(&present))?;
            match &variant {
                Variant::Built => eprintln!("{} = {value}: {file}", mark.name),
                Variant::Refused(why) => eprintln!("{} = {value}: refused: {why}", mark.name),
            }
            rows.push(row(path, mark, value, &file, &variant));
        }
    }
    let list = serde_json::json!({
        "family": family,
        "arch": arch.to_string(),
        "commit": commit(),
        "present": PRESENT,
        "variants": rows,
    });
    let path = folder.join(LIST);
    fs::write(&path, format!("{list:#}\n")).with_context(|| format!("cannot write {}", path.display()))?;
    Ok(folder)
}

/// Waits until no other run has the folder of the copied sources: two at once would change each other's.
fn locked(above: &Path) -> Result<fs::File> {
    fs::create_dir_all(above).with_context(|| format!("cannot create {}", above.display()))?;
    let path = above.join(".lock");
    let file = fs::File::create(&path).with_context(|| format!("cannot write {}", path.display()))?;
    file.lock().with_context(|| format!("cannot lock {}", path.display()))?;
    Ok(file)
}

/// The marked constants of a family.
///
/// # Errors
/// Fails if there is no such family, or a mark is bad.
fn places<'s>(sources: &'s Sources, family: &str) -> Result<Vec<Place<'s>>> {
    let mut files = sources.below(&format!("kernels-gpu/src/{family}")).peekable();
    if files.peek().is_none() || family.is_empty() || family.contains(['/', '.']) {
        bail!("unknown family `{family}`: `host list` shows them");
    }
    let mut places = Vec::new();
    for (path, text) in files {
        for mark in marks::parse(text) {
            let mark = mark.map_err(|bad| anyhow!("{}:{bad}", path.display()))?;
            places.push(Place { path, text, mark });
        }
    }
    Ok(places)
}

/// Name of a variant's PTX, which the file of the constant is a part of: `best-UNROLL-2.ptx`.
fn file_name(family: &str, path: &Path, constant: &str, value: u64) -> String {
    let own = path.strip_prefix(format!("kernels-gpu/src/{family}")).unwrap_or(path).with_extension("");
    let words: Vec<_> = own.iter().map(|word| word.to_string_lossy()).collect();
    format!("{}-{constant}-{value}.ptx", words.join("-"))
}

/// A row of the list.
fn row(path: &Path, mark: &Mark, value: u64, file: &str, variant: &Variant) -> serde_json::Value {
    let (ptx, refused) = match variant {
        Variant::Built => (Some(file), None),
        Variant::Refused(why) => (None, Some(why)),
    };
    serde_json::json!({
        "constant": mark.name,
        "place": format!("{}:{}", path.display(), mark.line),
        "present": mark.present,
        "value": value,
        "ptx": ptx,
        "refused": refused,
    })
}

/// The commit of the sources, and whether they differ from it.
fn commit() -> String {
    let git = |arguments: &[&str]| {
        let output = Command::new("git").args(arguments).current_dir(workspace::root()).output().ok()?;
        output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
    };
    match (git(&["rev-parse", "--short=12", "HEAD"]), git(&["status", "--porcelain", "--", "kernels-gpu", "crates"])) {
        (Some(commit), Some(changes)) if changes.is_empty() => commit,
        (Some(commit), _) => format!("{commit} with changes"),
        (None, _) => "unknown".to_owned(),
    }
}

impl<'a> Build<'a> {
    fn new(family: &'a str, arch: Arch, toolchain: &Toolchain, above: &Path) -> Self {
        let ptxas = cuda_tools::find("ptxas", &Search::default().cache);
        let versions = format!(
            "{} {:?} {} ptxas {:?} {arch}",
            toolchain.version.release,
            toolchain.version.commit,
            toolchain.version.llvm,
            ptxas.as_ref().map(|tool| tool.version),
        );
        Self { family, arch, ptxas, versions, work: above.join(".build") }
    }

    /// Makes the PTX `file`, unless it is there already. `present` is the PTX without the change.
    ///
    /// # Errors
    /// Fails if the build fails for another reason than the value.
    fn variant(&self, sources: &Sources, file: &Path, present: Option<&Path>) -> Result<Variant> {
        // The second line of the key's file is the reason of a refusal.
        let (key, path) = (sources.key(&self.versions), file.with_extension("key"));
        if let Some((old, why)) = fs::read_to_string(&path).ok().as_deref().and_then(|text| text.split_once('\n')) {
            match why {
                "" if old == key && file.exists() => return Ok(Variant::Built),
                "" => {}
                why if old == key => return Ok(Variant::Refused(why.to_owned())),
                _ => {}
            }
        }
        let variant = self.compile(sources, file, present)?;
        let why = if let Variant::Refused(why) = &variant { why } else { "" };
        fs::write(&path, format!("{key}\n{why}")).with_context(|| format!("cannot write {}", path.display()))?;
        Ok(variant)
    }

    fn compile(&self, sources: &Sources, file: &Path, present: Option<&Path>) -> Result<Variant> {
        let copy = self.work.join("sources");
        sources.write(&copy)?;
        let builder = CudaBuilder::new(copy.join("kernels-gpu")).arch(self.arch).families([self.family]);
        // The other families would take most of the time.
        let builder = builder.build_args(&["--no-default-features", "--features", self.family]);
        let artifacts = match builder.source_root(false).target_dir(self.work.join("target")).build_all() {
            Ok(artifacts) => artifacts,
            Err(error @ (Error::Compile { .. } | Error::Kernel { .. })) => {
                return Ok(Variant::Refused(format!("it does not compile: {}", one_line(&error.to_string()))));
            }
            Err(error) => return Err(error.into()),
        };
        let [artifact] = artifacts.as_slice() else { bail!("the build of `{}` made no PTX, or several", self.family) };
        if let (Some(ptxas), Some(present)) = (&self.ptxas, present)
            && let Some(why) = self.spills(ptxas, &artifact.ptx, present)?
        {
            return Ok(Variant::Refused(why));
        }
        fs::copy(&artifact.ptx, file).with_context(|| format!("cannot write {}", file.display()))?;
        Ok(Variant::Built)
    }

    /// Which kernel spills more registers than the present one.
    fn spills(&self, ptxas: &CudaTool, ptx: &Path, present: &Path) -> Result<Option<String>> {
        let usages = |ptx: &Path| check::usages(ptxas, ptx, self.arch);
        Ok(more_spills(&usages(ptx)?.iter().map(spilled).collect::<Vec<_>>(), &{
            usages(present)?.iter().map(spilled).collect::<Vec<_>>()
        }))
    }
}

/// An entry with the bytes that it spills.
type Spilled = (String, u32);

fn spilled(usage: &check::Usage) -> Spilled {
    (usage.entry.clone(), usage.spill_stores + usage.spill_loads)
}

/// Describes the entry that spills most, of those that spill more than the entry of the same name in `present`.
fn more_spills(entries: &[Spilled], present: &[Spilled]) -> Option<String> {
    let before = |name: &str| present.iter().find(|(entry, _)| entry == name).map_or(0, |(_, bytes)| *bytes);
    let more = entries.iter().filter(|(entry, bytes)| *bytes > before(entry)).max_by_key(|(_, bytes)| *bytes)?;
    Some(format!("it spills registers: {} bytes in `{}`, {} at present", more.1, more.0, before(&more.0)))
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_family_has_the_marks_of_its_folder() {
        let sources = Sources::read(&workspace::root()).expect("the sources");
        let names = |family| -> Result<Vec<String>, String> {
            let places = places(&sources, family).map_err(|error| error.to_string())?;
            Ok(places.iter().map(|place| format!("{} {}", place.path.display(), place.mark.name)).collect())
        };
        assert_eq!(names("dot"), Ok(vec!["kernels-gpu/src/dot/best.rs UNROLL".to_owned()]));
        assert_eq!(names("vecadd"), Ok(vec!["kernels-gpu/src/vecadd/best.rs EACH".to_owned()]));
        assert_eq!(names("conv1d"), Ok(vec![]));
        for family in ["dott", "", "..", "dot/best.rs", "do"] {
            assert!(names(family).is_err_and(|error| error.contains("unknown family")), "{family}");
        }
        let path = Path::new("kernels-gpu/src/dot/best.rs");
        let bad = sources.with(path, "//! Text.\n// tune: 1 1\nconst A: u32 = 2;\n".to_owned());
        let error = places(&bad, "dot").err().expect("a bad mark").to_string();
        assert_eq!(error, "kernels-gpu/src/dot/best.rs:2: the value 1 is listed twice: remove one");
    }

    #[test]
    fn constants_of_one_name_have_files_of_their_own() {
        let name = |path: &str| file_name("scan", Path::new(path), "ROWS", 4);
        assert_eq!(name("kernels-gpu/src/scan/best/mod.rs"), "best-mod-ROWS-4.ptx");
        assert_eq!(name("kernels-gpu/src/scan/best/ring.rs"), "best-ring-ROWS-4.ptx");
    }

    #[test]
    fn only_more_spills_than_at_present_are_a_reason() {
        let of = |entries: &[(&str, u32)]| entries.iter().map(|(name, bytes)| ((*name).to_owned(), *bytes)).collect();
        let present: Vec<Spilled> = of(&[("a", 0), ("b", 16)]);
        let more = |entries: &[(&str, u32)]| more_spills(&of(entries), &present);
        assert_eq!(more(&[("a", 0), ("b", 16)]), None);
        assert_eq!(more(&[("a", 0), ("b", 8)]), None);
        let why = more(&[("a", 4), ("b", 24)]).expect("a reason");
        assert_eq!(why, "it spills registers: 24 bytes in `b`, 16 at present");
        assert!(more(&[("a", 4), ("b", 16)]).expect("a reason").contains("4 bytes in `a`, 0 at present"));
    }

    /// A value that a const assertion of the kernel forbids has the reason, and does not end the task; another one has
    /// PTX of its own, in which fewer loads are in flight.
    #[test]
    fn a_value_has_ptx_or_the_reason_why_not() {
        let toolchain = crate::setup::toolchain().expect("the device toolchain");
        let sources = Sources::read(&workspace::root()).expect("the sources");
        let folder = tempfile::tempdir().expect("a folder");
        let above = workspace::root().join("target/tune");
        let _lock = locked(&above).expect("the lock");
        let build = Build::new("dot", Arch::Compute75, &toolchain, &above);
        let places = places(&sources, "dot").expect("marks");
        let [Place { path, text, mark }] = places.as_slice() else { panic!("one mark") };
        let of = |value: u64, present: Option<&Path>| {
            let file = folder.path().join(format!("{value}.ptx"));
            let sources = sources.with(path, marks::substitute(text, mark, value));
            (build.variant(&sources, &file, present).expect("a build"), file)
        };
        let (present, file) = of(mark.present, None);
        assert_eq!(present, Variant::Built);
        for _ in 0..2 {
            // The second time, without a build.
            let (three, no_file) = of(3, Some(&file));
            assert!(matches!(&three, Variant::Refused(why) if why.starts_with("it does not compile")), "{three:?}");
            assert!(!no_file.exists());
        }
        let (two, other) = of(2, Some(&file));
        assert_eq!(two, Variant::Built);
        let loads = |file: &Path| fs::read_to_string(file).expect("PTX").matches("ld.global.nc.v4").count();
        assert!(loads(&other) < loads(&file), "{} and {} loads", loads(&other), loads(&file));
    }
}
