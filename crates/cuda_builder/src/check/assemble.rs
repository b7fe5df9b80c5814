//! Assembles PTX by `ptxas`, which reports the resources of each entry, and disassembles by `nvdisasm`.

use std::{path::Path, process::Command};

use crate::{Arch, Error, cuda_tools::CudaTool, process, target_of::to_assemble};

/// Resources of a multiprocessor that one entry uses.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Usage {
    /// Name of the entry.
    pub entry: String,
    /// Registers of one thread.
    pub registers: u32,
    /// Bytes of stack of one thread.
    pub stack: u32,
    /// Bytes of spill stores in the code.
    pub spill_stores: u32,
    /// Bytes of spill loads in the code.
    pub spill_loads: u32,
    /// Barriers of one block.
    pub barriers: u32,
    /// Bytes of static shared memory of one block.
    pub shared: u32,
}

/// Assembles `ptx` for `arch` into `cubin`, with source lines; PTX for exactly these GPUs as such.
///
/// # Errors
/// [`Error::Tool`] with the output of ptxas if it rejects the PTX; [`Error::Start`] if it does not start.
pub fn assemble(ptxas: &CudaTool, ptx: &Path, arch: Arch, cubin: &Path) -> Result<Vec<Usage>, Error> {
    run(ptxas, ptx, arch, &["-lineinfo"], cubin)
}

/// Assembles `ptx` for `arch`, and returns the resources of its entries: without source lines, which take ptxas a
/// quarter of its time, and without a file.
///
/// # Errors
/// Those of [`assemble`].
pub fn usages(ptxas: &CudaTool, ptx: &Path, arch: Arch) -> Result<Vec<Usage>, Error> {
    run(ptxas, ptx, arch, &[], Path::new("/dev/null"))
}

/// Like [`usages`], of one entry; `None` if the file has no such entry. A file of many entries takes ptxas many times
/// as long.
///
/// # Errors
/// Those of [`assemble`].
pub fn usage_of(ptxas: &CudaTool, ptx: &Path, arch: Arch, entry: &str) -> Result<Option<Usage>, Error> {
    let usages = run(ptxas, ptx, arch, &["--entry", entry], Path::new("/dev/null"))?;
    Ok(usages.into_iter().find(|usage| usage.entry == entry))
}

fn run(ptxas: &CudaTool, ptx: &Path, arch: Arch, options: &[&str], cubin: &Path) -> Result<Vec<Usage>, Error> {
    let arch = to_assemble(ptx, arch)?;
    let mut command = Command::new(&ptxas.path);
    command.args(["-v", "-arch", arch.target_cpu()]).args(options).arg(ptx).arg("-o").arg(cubin);
    let output = process::run(&mut command, &format!("assemble {} for {arch}", ptx.display()))?;
    Ok(parse(&String::from_utf8_lossy(&output.stderr)))
}

/// The machine code of `cubin` as text, with source lines.
///
/// # Errors
/// [`Error::Tool`] or [`Error::Start`] if nvdisasm does not run.
pub fn disassemble(nvdisasm: &CudaTool, cubin: &Path) -> Result<String, Error> {
    let mut command = Command::new(&nvdisasm.path);
    process::read(command.args(["-c", "-gi"]).arg(cubin), &format!("disassemble {}", cubin.display()))
}

/// Parses the output of `ptxas -v`.
fn parse(text: &str) -> Vec<Usage> {
    let mut usages: Vec<Usage> = Vec::new();
    // The properties of device functions belong to no entry.
    let mut about_entry = false;
    for line in text.lines() {
        if let Some((_, rest)) = line.split_once("Compiling entry function '") {
            let entry = rest.split('\'').next().unwrap_or_default().to_owned();
            usages.push(Usage { entry, ..Usage::default() });
            continue;
        }
        let Some(usage) = usages.last_mut() else { continue };
        if let Some((_, name)) = line.split_once("Function properties for ") {
            about_entry = name.trim() == usage.entry;
        } else if line.contains("bytes stack frame") && about_entry {
            usage.stack = number_before(line, "bytes stack frame");
            usage.spill_stores = number_before(line, "bytes spill stores");
            usage.spill_loads = number_before(line, "bytes spill loads");
        } else if line.contains(": Used ") {
            usage.registers = number_before(line, "registers");
            usage.barriers = number_before(line, "barriers");
            usage.shared = number_before(line, "bytes smem");
        }
    }
    usages
}

/// The number before a unit; 0 if the unit is absent.
fn number_before(line: &str, unit: &str) -> u32 {
    let before = line.split_once(unit).map_or("", |(before, _)| before);
    before.split_whitespace().next_back().and_then(|number| number.parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_registers_spills_and_shared_memory() {
        let text = "\
ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function 'sum' for 'sm_75'
ptxas info    : Function properties for helper
    64 bytes stack frame, 8 bytes spill stores, 8 bytes spill loads
ptxas info    : Function properties for sum
    16 bytes stack frame, 4 bytes spill stores, 12 bytes spill loads
ptxas info    : Used 14 registers, used 1 barriers, 1024 bytes smem, 372 bytes cmem[0]
ptxas info    : Compiling entry function 'max' for 'sm_75'
ptxas info    : Function properties for max
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 8 registers, used 0 barriers
";
        let usages = parse(text);
        assert_eq!(usages.len(), 2);
        let sum = Usage {
            entry: "sum".into(),
            registers: 14,
            stack: 16,
            spill_stores: 4,
            spill_loads: 12,
            barriers: 1,
            shared: 1024,
        };
        assert_eq!(usages[0], sum);
        assert_eq!((usages[1].registers, usages[1].shared), (8, 0));
    }
}
