//! Kernels inside a program: machine code, compression, and the Rust file that includes both.
//!
//! A driver compiles PTX on its first use on a machine, which takes seconds for a large module. Machine code starts at
//! once, on the GPUs that it was made for; the PTX beside it serves the others. PTX and machine code shrink to a tenth
//! when they are compressed.

mod machine;

use std::{
    fs,
    io::Write,
    path::{Path, PathBuf},
};

use flate2::{Compression, GzBuilder};

use crate::{arch::Arch, artifact::Artifact, error::Error};

pub(crate) use machine::remove_old;
pub use machine::{MachineCode, machine_code};

/// A compressed file of one module.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Packed {
    /// Name of the module.
    pub module: String,
    /// The architecture of the PTX, or the GPU of the machine code.
    pub arch: Arch,
    /// Whether it is machine code.
    pub machine_code: bool,
    /// Path of the file: `<module>.<arch>.ptx.gz` or `<module>.<arch>.cubin.gz`. PTX that differs by its target alone
    /// is one file for several architectures, `<module>.<arch>.<arch>.ptx.gz`.
    pub path: PathBuf,
}

/// Compresses PTX and machine code into `folder`.
///
/// # Errors
/// [`Error::Io`] if a file cannot be read or written.
pub fn pack(artifacts: &[Artifact], codes: &[MachineCode], folder: &Path) -> Result<Vec<Packed>, Error> {
    fs::create_dir_all(folder).map_err(Error::io("create", folder))?;
    let mut packed = Vec::new();
    for Shared { module, archs, contents } in shared(artifacts)? {
        let names: String = archs.iter().map(|arch| format!("{arch}.")).collect();
        let path = folder.join(format!("{module}.{names}ptx.gz"));
        compress(&contents, &path)?;
        let image = |arch| Packed { module: module.to_owned(), arch, machine_code: false, path: path.clone() };
        packed.extend(archs.into_iter().map(image));
    }
    for MachineCode { module, arch, cubin } in codes {
        let path = folder.join(format!("{module}.{arch}.cubin.gz"));
        compress(&fs::read(cubin).map_err(Error::io("read", cubin))?, &path)?;
        packed.push(Packed { module: module.clone(), arch: *arch, machine_code: true, path });
    }
    Ok(packed)
}

/// PTX that serves several architectures.
struct Shared<'a> {
    module: &'a str,
    /// In order; the contents are for the first.
    archs: Vec<Arch>,
    contents: Vec<u8>,
}

/// The PTX of these modules without layout, each text once.
fn shared(artifacts: &[Artifact]) -> Result<Vec<Shared<'_>>, Error> {
    let mut artifacts: Vec<&Artifact> = artifacts.iter().collect();
    artifacts.sort_by_key(|artifact| artifact.arch);
    let mut files: Vec<Shared<'_>> = Vec::new();
    for Artifact { module, arch, ptx, .. } in artifacts {
        let contents = without_layout(fs::read(ptx).map_err(Error::io("read", ptx))?);
        let is_same = |file: &&mut Shared<'_>| {
            // What only one GPU runs is not what an earlier one runs, even if it is the same text.
            let general = !arch.is_specific() && !file.archs[0].is_specific();
            file.module == module && general && without_target(&file.contents) == without_target(&contents)
        };
        match files.iter_mut().find(is_same) {
            Some(file) if file.archs.contains(arch) => {}
            Some(file) => file.archs.push(*arch),
            None => files.push(Shared { module, archs: vec![*arch], contents }),
        }
    }
    Ok(files)
}

/// The lines of PTX that do not name its target.
fn without_target(ptx: &[u8]) -> Vec<&[u8]> {
    ptx.split(|byte| *byte == b'\n').filter(|line| !line.starts_with(b".target")).collect()
}

/// PTX without indentation, and without what LLVM writes at each position of the line table beside the directive: a
/// comment that repeats it, and a label for debug sections. Together they are a quarter of the compressed size.
fn without_layout(ptx: Vec<u8>) -> Vec<u8> {
    let Ok(text) = std::str::from_utf8(&ptx) else { return ptx };
    let labels_are_used = text.contains(".debug_info");
    let mut short = String::with_capacity(text.len());
    for line in text.lines() {
        let line = line.trim_start_matches(['\t', ' ']);
        if line.starts_with("$L__tmp") && line.ends_with(':') && !labels_are_used {
            continue;
        }
        let position = line.strip_prefix(".loc").and_then(|rest| Some(&line[..4 + rest.find("//")?]));
        short += position.map_or(line, str::trim_end);
        short.push('\n');
    }
    short.into_bytes()
}

/// Writes the gzip of these contents. The same contents give the same bytes; a file with these bytes is left alone.
fn compress(contents: &[u8], to: &Path) -> Result<(), Error> {
    let mut encoder = GzBuilder::new().write(Vec::new(), Compression::best());
    let bytes = encoder.write_all(contents).and_then(|()| encoder.finish()).map_err(Error::io("compress to", to))?;
    if fs::read(to).is_ok_and(|old| old == bytes) {
        return Ok(());
    }
    fs::write(to, bytes).map_err(Error::io("write", to))
}

/// The Rust expression that includes the files: an array of `rustwarp::ptx::Packed`.
pub(crate) fn expression(packed: &[Packed]) -> String {
    let images: String = packed
        .iter()
        .map(|image| {
            let code = if image.machine_code { "Machine" } else { "Ptx" };
            format!(
                "    ::rustwarp::ptx::Packed {{ arch: \"{}\", code: ::rustwarp::ptx::Code::{code}, bytes: \
                 include_bytes!({:?}) }},\n",
                image.arch,
                image.path.display().to_string()
            )
        })
        .collect();
    format!("[\n{images}]\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;

    #[test]
    fn ptx_keeps_everything_but_layout() {
        let loc = ".loc\t1 43 26, function_name $L__info_string0, inlined_at 1 35 1";
        let text = format!("// from a.rs\n\t{loc}\t// a.rs:43:26\n$L__tmp1:\n\tret; // x\n");
        let short = String::from_utf8(without_layout(text.as_bytes().to_vec())).expect("text");
        let expected = format!("// from a.rs\n{loc}\nret; // x\n");
        assert_eq!(short, expected);
        let debug = "$L__tmp1:\n.section .debug_info\n";
        assert_eq!(without_layout(debug.as_bytes().to_vec()), debug.as_bytes());
    }

    #[test]
    fn files_are_compressed_once_and_come_back() {
        let folder = tempfile::tempdir().expect("a folder");
        let (ptx, cubin) = (folder.path().join("sum.ptx"), folder.path().join("sum.sm_90.cubin"));
        let text = ".version 7.8\n".repeat(1000);
        fs::write(&ptx, &text).expect("a file");
        fs::write(&cubin, [1, 2, 3]).expect("a file");
        let module = "sum".to_owned();
        let artifact =
            Artifact { arch: Arch::Compute75, module: module.clone(), ptx, llvm_ir: None, bitcode: None, fresh: true };
        let code = MachineCode { arch: Arch::Compute90, module, cubin };
        let packed = pack(&[artifact], &[code], &folder.path().join("packed")).expect("packed");

        let names: Vec<_> = packed.iter().map(|image| image.path.file_name().expect("a name")).collect();
        assert_eq!(names, ["sum.sm_75.ptx.gz", "sum.sm_90.cubin.gz"]);
        let bytes = fs::read(&packed[0].path).expect("a file");
        assert!(bytes.len() < 200, "{} bytes", bytes.len());
        let mut back = String::new();
        flate2::read::GzDecoder::new(&*bytes).read_to_string(&mut back).expect("gzip");
        assert_eq!(back, text);

        let expression = expression(&packed);
        assert_eq!(expression.matches("::rustwarp::ptx::Packed").count(), 2);
        assert!(expression.contains("{ arch: \"sm_90\", code: ::rustwarp::ptx::Code::Machine, bytes: include_bytes!("));
    }

    #[test]
    fn ptx_that_differs_by_its_target_alone_is_one_file() {
        let folder = tempfile::tempdir().expect("a folder");
        let artifact = |arch: Arch, module: &str, body: &str| {
            let ptx = folder.path().join(format!("{module}.{arch}.ptx"));
            fs::write(&ptx, format!(".version 8.0\n.target {arch}\n{body}\n")).expect("a file");
            Artifact { arch, module: module.to_owned(), ptx, llvm_ir: None, bitcode: None, fresh: true }
        };
        let artifacts = [
            artifact(Arch::Compute90, "same", "ret;"),
            artifact(Arch::Compute75, "same", "ret;"),
            artifact(Arch::Compute75, "other", "ret;"),
            artifact(Arch::Compute90, "other", "trap;"),
            artifact(Arch::Compute75, "exact", "ret;"),
            artifact(Arch::Compute90a, "exact", "ret;"),
        ];
        let packed = pack(&artifacts, &[], &folder.path().join("packed")).expect("packed");
        let mut found: Vec<_> = packed
            .iter()
            .map(|image| (image.path.file_name().expect("a name").to_string_lossy(), image.arch))
            .collect();
        found.sort();
        let expected = [
            ("exact.sm_75.ptx.gz", Arch::Compute75),
            ("exact.sm_90a.ptx.gz", Arch::Compute90a),
            ("other.sm_75.ptx.gz", Arch::Compute75),
            ("other.sm_90.ptx.gz", Arch::Compute90),
            ("same.sm_75.sm_90.ptx.gz", Arch::Compute75),
            ("same.sm_75.sm_90.ptx.gz", Arch::Compute90),
        ];
        assert_eq!(found, expected.map(|(name, arch)| (name.into(), arch)));
        let mut text = String::new();
        let same = packed.iter().find(|image| image.module == "same").expect("the module");
        let bytes = fs::read(&same.path).expect("a file");
        flate2::read::GzDecoder::new(&*bytes).read_to_string(&mut text).expect("gzip");
        assert!(text.contains(".target sm_75"), "the earliest GPU runs it: {text}");
    }
}
