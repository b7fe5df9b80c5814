//! Includes the kernels of the folder `embedded`, which `cargo xtask embed` makes and which the published crate
//! contains. Where it is empty, the feature `kernels` compiles them; without that, the library looks for files.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::{env, fs};

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

/// The families that the library's functions launch; `cargo xtask embed` makes the files of these.
const LIBRARY: &str = include_str!("families.txt");

fn main() -> Result<()> {
    let out = PathBuf::from(env::var_os("OUT_DIR").unwrap_or_default());
    let folder = Path::new("embedded");
    println!("cargo:rerun-if-changed={}", folder.display());
    let mut files = packed(folder)?;
    if files.is_empty() {
        files = compiled(&out)?;
    }
    let mut families: BTreeMap<String, BTreeSet<PathBuf>> =
        LIBRARY.lines().map(|name| (name.to_owned(), BTreeSet::new())).collect();
    for path in files {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if let Some((family, _)) = name.split_once('.') {
            families.entry(family.to_owned()).or_default().insert(path.clone());
        }
    }
    let mut text = String::new();
    for (family, paths) in &families {
        text += &format!("pub(crate) static {}: Kernels = Kernels::new({family:?}, &[\n", family.to_uppercase());
        for path in paths {
            text += &image(path)?;
        }
        text += "]);\n";
    }
    let all: Vec<_> = families.keys().map(|family| format!("&{}", family.to_uppercase())).collect();
    text += &format!("pub(crate) static ALL: &[&Kernels] = &[{}];\n", all.join(", "));
    fs::write(out.join("embedded.rs"), text)?;
    Ok(())
}

/// The compressed kernels in a folder.
fn packed(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut paths = Vec::new();
    for entry in fs::read_dir(folder)? {
        paths.push(fs::canonicalize(entry?.path())?);
    }
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "br"));
    Ok(paths)
}

#[cfg(not(feature = "kernels"))]
fn compiled(_: &Path) -> Result<Vec<PathBuf>> {
    Ok(Vec::new())
}

/// Compiles the kernels beside this crate, as in a checkout or in the repository of a git dependency.
#[cfg(feature = "kernels")]
fn compiled(out: &Path) -> Result<Vec<PathBuf>> {
    use cuda_builder::{Arch, CudaBuilder, embed, toolchain::Search};

    let list = |variable: &str| -> Vec<String> {
        println!("cargo:rerun-if-env-changed={variable}");
        let words = env::var(variable).unwrap_or_default();
        words.split([',', ' ']).filter(|word| !word.is_empty()).map(str::to_owned).collect()
    };
    let mut families = list("RUSTWARP_FAMILIES");
    if families == ["none"] {
        // Where all features are on for a check of the code, without a device toolchain.
        return Ok(Vec::new());
    }
    let source = Path::new("../../kernels-gpu");
    if !source.is_dir() {
        let here = env::current_dir()?;
        return Err(format!(
            "the feature `kernels` of `rustwarp` compiles {}, which is not there: depend on a checkout or on the git \
             repository, or leave the feature out, since the package of the registry contains the kernels",
            here.join(source).display()
        )
        .into());
    }
    if families.is_empty() {
        families = LIBRARY.lines().map(str::to_owned).collect();
    } else if let Some(unknown) = families.iter().find(|family| !LIBRARY.lines().any(|line| line == *family)) {
        let known = LIBRARY.lines().collect::<Vec<_>>().join(",");
        return Err(format!("RUSTWARP_FAMILIES names `{unknown}`: the families of the library are {known}").into());
    }
    let gpus =
        list("RUSTWARP_MACHINE_CODE").iter().map(|name| name.parse()).collect::<std::result::Result<Vec<Arch>, _>>()?;
    // Each family is a feature of the crate, too: the others are not compiled.
    let features = families.join(",");
    let builder = CudaBuilder::new(source).families(families).source_root(false).target_dir(out.join("nvptx"));
    let artifacts = builder.build_args(&["--no-default-features", "--features", &features]).build_all()?;
    let codes = embed::machine_code(&artifacts, &gpus, &Search::default().cache)?;
    let packed = embed::pack(&artifacts, &codes, &out.join("embedded"), embed::Effort::Build)?;
    Ok(packed.into_iter().map(|file| file.path).collect())
}

/// The expression for a file `FAMILY.ARCH.ptx.br` or `FAMILY.ARCH.cubin.br`.
fn image(path: &Path) -> Result<String> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let (arch, code) = match name.split('.').collect::<Vec<_>>()[..] {
        [_, arch, "ptx", "br"] => (arch, "Ptx"),
        [_, arch, "cubin", "br"] => (arch, "Machine"),
        _ => return Err(format!("{}: not a file of `cargo xtask embed`", path.display()).into()),
    };
    let bytes = format!("include_bytes!({:?})", path.display().to_string());
    Ok(format!("    crate::ptx::Packed {{ arch: {arch:?}, code: crate::ptx::Code::{code}, bytes: {bytes} }},\n"))
}
