//! Kernels inside a program: machine code, compression, and the Rust file that includes both.
//!
//! A driver compiles PTX on its first use on a machine, which takes seconds for a large module. Machine code starts at
//! once, on the GPUs that it was made for; the PTX beside it serves the others. PTX and machine code shrink to a
//! twentieth when they are compressed. Brotli's window of 16 MiB sees the repetitions of a whole module, so that its
//! files are half the size of gzip's.

mod machine;

use std::{
    fs,
    path::{Path, PathBuf},
};

use brotli::enc::BrotliEncoderParams;

use crate::{arch::Arch, artifact::Artifact, error::Error, workers::on_all_processors};

pub(crate) use machine::remove_old;
pub use machine::{MachineCode, machine_code};

/// How long compression may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Effort {
    /// For a build: 20 MB a second.
    Build,
    /// For files that are published, which are a fifth smaller: 2 MB a second.
    Publish,
}

impl Effort {
    /// Brotli's quality. (The best, 11, takes three times as long as 10 for another twelfth of the size.)
    const fn quality(self) -> i32 {
        match self {
            Self::Build => 9,
            Self::Publish => 10,
        }
    }
}

/// Logarithm of brotli's window in bytes.
const WINDOW: i32 = 24;

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
    /// Path of the file: `<module>.<arch>.ptx.br` or `<module>.<arch>.cubin.br`.
    pub path: PathBuf,
}

/// Compresses PTX and machine code into `folder`, on all processors.
///
/// # Errors
/// [`Error::Io`] if a file cannot be read or written.
pub fn pack(
    artifacts: &[Artifact],
    codes: &[MachineCode],
    folder: &Path,
    effort: Effort,
) -> Result<Vec<Packed>, Error> {
    fs::create_dir_all(folder).map_err(Error::io("create", folder))?;
    let (mut packed, mut sources) = (Vec::new(), Vec::new());
    for Artifact { module, arch, ptx, .. } in artifacts {
        let path = folder.join(format!("{module}.{arch}.ptx.br"));
        packed.push(Packed { module: module.clone(), arch: *arch, machine_code: false, path });
        sources.push(ptx);
    }
    for MachineCode { module, arch, cubin } in codes {
        let path = folder.join(format!("{module}.{arch}.cubin.br"));
        packed.push(Packed { module: module.clone(), arch: *arch, machine_code: true, path });
        sources.push(cubin);
    }
    let mut jobs: Vec<_> = sources.into_iter().zip(&packed).collect();
    // The largest last: they are taken first.
    jobs.sort_by_key(|(source, _)| fs::metadata(source).map_or(0, |data| data.len()));
    on_all_processors(jobs, |(source, packed)| {
        let contents = fs::read(source).map_err(Error::io("read", source))?;
        let contents = if packed.machine_code { contents } else { without_layout(contents) };
        compress(&contents, &packed.path, effort)
    })?;
    Ok(packed)
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

/// Writes these contents as a brotli stream. The same contents give the same bytes; a file with these bytes is left
/// alone.
fn compress(contents: &[u8], to: &Path, effort: Effort) -> Result<(), Error> {
    let quality = effort.quality();
    let params = BrotliEncoderParams { quality, lgwin: WINDOW, size_hint: contents.len(), ..Default::default() };
    let mut bytes = Vec::new();
    brotli::BrotliCompress(&mut &contents[..], &mut bytes, &params).map_err(Error::io("compress to", to))?;
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
        let to = folder.path().join("packed");
        let packed = pack(&[artifact], &[code], &to, Effort::Publish).expect("packed");

        let names: Vec<_> = packed.iter().map(|image| image.path.file_name().expect("a name")).collect();
        assert_eq!(names, ["sum.sm_75.ptx.br", "sum.sm_90.cubin.br"]);
        let bytes = fs::read(&packed[0].path).expect("a file");
        assert!(bytes.len() < 200, "{} bytes", bytes.len());
        let mut back = Vec::new();
        brotli::BrotliDecompress(&mut &bytes[..], &mut back).expect("a brotli stream");
        assert_eq!(back, text.as_bytes());

        let expression = expression(&packed);
        assert_eq!(expression.matches("::rustwarp::ptx::Packed").count(), 2);
        assert!(expression.contains("{ arch: \"sm_90\", code: ::rustwarp::ptx::Code::Machine, bytes: include_bytes!("));
    }
}
