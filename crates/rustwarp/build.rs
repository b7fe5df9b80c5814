//! Includes the kernels of the folder `embedded`, which `cargo xtask embed` makes and which the published crate
//! contains. Without it the library looks for files.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::{env, fs, io};

/// The families that the library's functions launch; `cargo xtask embed` makes the files of these.
const LIBRARY: &str = include_str!("families.txt");

fn main() -> io::Result<()> {
    let folder = Path::new("embedded");
    println!("cargo:rerun-if-changed={}", folder.display());
    let mut families: BTreeMap<String, BTreeSet<PathBuf>> =
        LIBRARY.lines().map(|name| (name.to_owned(), BTreeSet::new())).collect();
    for entry in fs::read_dir(folder)? {
        let path = fs::canonicalize(entry?.path())?;
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if let Some((family, _)) = name.split_once('.').filter(|_| name.ends_with(".gz")) {
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
    let out = PathBuf::from(env::var_os("OUT_DIR").unwrap_or_default());
    fs::write(out.join("embedded.rs"), text)
}

/// The expression for a file `FAMILY.ARCH.ptx.gz` or `FAMILY.ARCH.cubin.gz`.
fn image(path: &Path) -> io::Result<String> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let parts: Vec<&str> = name.split('.').collect();
    let code = match parts[..] {
        [_, _, "ptx", "gz"] => "Ptx",
        [_, _, "cubin", "gz"] => "Machine",
        _ => return Err(io::Error::other(format!("{}: not a file of `cargo xtask embed`", path.display()))),
    };
    let arch = parts[1];
    Ok(format!(
        "    crate::ptx::Packed {{ arch: {arch:?}, code: crate::ptx::Code::{code}, bytes: include_bytes!({:?}) }},\n",
        path.display().to_string()
    ))
}
