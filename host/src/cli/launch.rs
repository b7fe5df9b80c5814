//! The part that `run` and `check` share: launching an entry of any PTX file with arguments from the command line.

use super::argument::Argument;
use super::{look, names, number, output, seeds, simulation, stdout};
use ladders::error::{Error, Result};
use ladders::input;
use ladders::kernels::FAMILIES;
use rustwarp::Call;
use rustwarp::backend::{self, Backend, Buffer, Entry, Shape, require_memory};
use rustwarp::diagnostic::{Diagnostic, note};
use rustwarp::element::{Array, Dtype};
use rustwarp::ptx::Image;
use std::path::{Path, PathBuf};

/// Options of both commands.
#[derive(Clone, Debug, clap::Args)]
#[group(skip)]
pub(super) struct Options {
    /// Name of the .entry to launch
    #[arg(long)]
    pub entry: Option<String>,
    /// Blocks: X, or X,Y or X,Y,Z
    #[arg(long, value_parser = triple, default_value = "1")]
    pub grid: Triple,
    /// Threads of a block: X, or X,Y or X,Y,Z
    #[arg(long, value_parser = triple, default_value = "1")]
    pub block: Triple,
    /// Bytes of dynamic shared memory
    #[arg(long, value_name = "BYTES", default_value_t = 0, value_parser = number::any::<u32>)]
    pub shared: u32,
    /// An argument of the entry, in order: u32:7, f32:1.5, buf:f32:1024 (uninitialised), buf:f32:@in.npy; a structure
    /// by its bytes, as hexadecimal digits or in a file: bytes:0000c03f07000000, bytes:@in.bin. A buffer of any other
    /// type is one of u8
    #[arg(long = "arg", value_name = "ARG", value_parser = str::parse::<Argument>)]
    pub args: Vec<Argument>,
    /// Write buffer K, counting the --arg from 0, to a file afterwards: .npy, .csv, .txt, .json or .bin
    #[arg(long, value_name = "K=FILE", value_parser = output_file)]
    pub out: Vec<(usize, PathBuf)>,
    /// Blocks of a cluster, on the simulator: X, or X,Y or X,Y,Z; default: what the kernel requires
    #[arg(long, value_parser = triple)]
    pub cluster: Option<Triple>,
    /// Start all blocks at once, so that they may wait for each other; an error if they do not fit
    #[arg(long)]
    pub cooperative: bool,
}

/// Output of both commands besides the kernels' own.
#[derive(Clone, Copy, Debug, clap::Args)]
#[group(skip)]
pub(super) struct Show {
    /// Print counters, findings and a fault of the simulator as one JSON object
    #[arg(long)]
    pub json: bool,
    /// Show how closely each executed opcode matches a GPU: exact, approximate within a bound, unspecified, unsupported
    #[arg(long, conflicts_with = "seeds")]
    pub fidelity: bool,
}

/// The three sizes of a shape.
#[derive(Clone, Copy, Debug)]
pub(super) struct Triple(pub [u32; 3]);

/// Launches the entry and prints what was observed, after a fault too; returns whether no checker found anything.
pub(super) fn run(
    device: &dyn Backend,
    image: &Image,
    options: &Options,
    how: &simulation::Options,
    show: Show,
    found: &mut Vec<Diagnostic>,
) -> anyhow::Result<bool> {
    if show.fidelity && device.info().is_gpu() {
        let text = "--fidelity needs the simulator: add --device sim";
        return Err(Error::Usage(text.to_owned()).into());
    }
    how.apply(device)?;
    if let Some(seeds) = how.seeds {
        if !options.out.is_empty() {
            return Err(Error::Usage("--seeds runs several times: leave --out out".to_owned()).into());
        }
        let work = || launch(device, image, options).map(|()| Vec::new());
        let emit = |found: &Diagnostic| if show.json { stdout::line(&seeds::object(found)) } else { Ok(()) };
        *found = seeds::explore(device, how, seeds, show.json, emit, work)?;
        return Ok(found.is_empty());
    }
    let result = launch(device, image, options);
    match result {
        Ok(()) => report(device, None, show, found),
        Err(Error::Fault(fault)) => {
            report(device, Some(&fault), show, found)?;
            Err(Error::Fault(fault).into())
        }
        // No kernel was launched.
        Err(error) => Err(error.into()),
    }
}

/// The PTX file that is the target of `check` or `explain`, if the target is not a family.
///
/// # Errors
/// [`Error::Usage`] with the list of families, if the target neither exists nor has the name of a PTX file.
pub(super) fn ptx_file(target: &str) -> Result<&Path> {
    let path = Path::new(target);
    if path.extension().is_some_and(|extension| extension == "ptx") || path.exists() {
        return Ok(path);
    }
    let names: Vec<_> = FAMILIES.iter().map(|family| family.name).collect();
    Err(Error::Usage(format!("`{target}` is neither a family nor a PTX file; families: {}", names.join(" "))))
}

/// Launches the entry; on success writes the buffers that `--out` names to their files.
pub(super) fn launch(device: &dyn Backend, image: &Image, options: &Options) -> Result<()> {
    let entry = options.entry.as_deref().ok_or_else(|| no_entry(image))?;
    let mut shape = Shape::new(options.grid.0, options.block.0).with_shared(options.shared);
    shape.cluster = options.cluster.map(|cluster| cluster.0);
    shape.cooperative = options.cooperative;
    check_shape(device, &shape)?;
    for (k, path) in &options.out {
        let why = match options.args.get(*k) {
            Some(Argument::Uninit(dtype, _) | Argument::File(dtype, _)) => {
                input::require_vector_format(path, &format!("the buffer of --arg number {k}"), Some(*dtype))?;
                input::require_writable(path)?;
                continue;
            }
            _ => format!("--arg number {k} (from 0) is not a buffer"),
        };
        return Err(Error::Usage(format!("--out {k}={}: {why}", path.display())));
    }
    let name = image.path.display().to_string();
    let module = device.load(&image.bytes, &name)?;
    // A GPU also runs files that cannot be parsed here (cubins, the newest PTX); the user is responsible for their
    // parameters.
    if let Some(entries) = backend::entries(&image.bytes) {
        check_params(&entries, entry, &options.args, &name)?;
    }

    let mut memory = Memory { device, buffers: Vec::new() };
    let mut call = Call::new(entry.to_owned());
    for (k, argument) in options.args.iter().enumerate() {
        call.params.push(memory.argument(k, argument)?);
    }
    // SAFETY: number and sizes of the parameters are the entry's if its text can be read, and the buffers live until
    // `memory` is dropped. The user who wrote the launch upholds the rest of the contract.
    unsafe { device.launch(module, &call, shape)? };
    device.synchronize()?;
    for (k, path) in &options.out {
        memory.save(*k, path)?;
    }
    Ok(())
}

/// The buffers of one launch.
struct Memory<'d> {
    device: &'d dyn Backend,
    /// Number of the argument, its bytes, type, and number of elements.
    buffers: Vec<(usize, Buffer<'d, u8>, Dtype, u64)>,
}

impl Memory<'_> {
    /// Makes the parameter's bytes.
    fn argument(&mut self, k: usize, argument: &Argument) -> Result<Vec<u8>> {
        let (dtype, len, array) = match argument {
            Argument::Value(bytes) => return Ok(bytes.clone()),
            Argument::Uninit(dtype, len) => (*dtype, *len, None),
            Argument::File(dtype, path) => {
                let (tensor, notes) = input::load(path, Some(*dtype))?.convert(*dtype)?;
                notes.iter().for_each(note);
                (*dtype, tensor.len() as u64, Some(tensor.into_data()))
            }
        };
        let bytes = len.checked_mul(dtype.size() as u64);
        require_memory(self.device, bytes, &format!("--arg number {k}"), "use a smaller buffer")?;
        // Every allocation is aligned to 256 bytes.
        let buffer = Buffer::uninit(self.device, bytes.unwrap_or_default() as usize, &format!("--arg number {k}"))?;
        if let Some(array) = array {
            buffer.write(array.bytes())?;
        }
        let address = buffer.address();
        self.buffers.push((k, buffer, dtype, len));
        Ok(address.to_le_bytes().to_vec())
    }

    fn save(&self, k: usize, path: &Path) -> Result<()> {
        // `launch` has checked that the argument is a buffer.
        let Some((_, buffer, dtype, len)) = self.buffers.iter().find(|buffer| buffer.0 == k) else { return Ok(()) };
        let mut array = Array::zeros(*dtype, *len as usize);
        array.bytes_mut().copy_from_slice(&buffer.download()?);
        input::write(path, &array.into())
    }
}

fn no_entry(image: &Image) -> Error {
    // The entries of a file that cannot be parsed here are not listed.
    let entries = backend::entries(&image.bytes).unwrap_or_default();
    let names: Vec<_> = entries.iter().map(|entry| entry.name.as_str()).collect();
    let there = if names.is_empty() { String::new() } else { format!("; {}", names::some(&names)) };
    Error::Usage(format!("choose the entry of {} to launch with --entry NAME{there}", image.path.display()))
}

fn check_shape(device: &dyn Backend, shape: &Shape) -> Result<()> {
    let info = device.info();
    if info.is_gpu() && shape.cluster.is_some() {
        return Err(Error::Usage("--cluster needs the simulator: add --device sim".to_owned()));
    }
    if shape.grid.contains(&0) || shape.block.contains(&0) {
        return Err(Error::Usage(format!("{shape} launches nothing: every size must be 1 or more")));
    }
    if shape.threads() > u64::from(info.max_block) {
        return Err(Error::Usage(format!(
            "{shape} has {} threads in a block, and at most {} are allowed",
            shape.threads(),
            info.max_block
        )));
    }
    Ok(())
}

/// Compares the sizes of the arguments with those of the entry's parameters, since the driver reads as many bytes as a
/// parameter has.
fn check_params(entries: &[Entry], entry: &str, args: &[Argument], name: &str) -> Result<()> {
    let Some(found) = entries.iter().find(|found| found.name == entry) else {
        let names: Vec<_> = entries.iter().map(|found| found.name.as_str()).collect();
        return Err(Error::Usage(format!("{name} has no entry `{entry}`; {}", names::near(entry, &names))));
    };
    if found.params.len() != args.len() {
        let list: Vec<_> = found.params.iter().map(|(name, bytes)| format!("{name}: {bytes} bytes")).collect();
        return Err(Error::Usage(format!(
            "`{entry}` has {} parameters ({}), and there are {} --arg",
            found.params.len(),
            list.join(", "),
            args.len()
        )));
    }
    for (k, ((param, bytes), argument)) in found.params.iter().zip(args).enumerate() {
        let size = match argument {
            Argument::Value(bytes) => bytes.len() as u64,
            _ => 8,
        };
        if *bytes != size {
            return Err(Error::Usage(format!(
                "--arg number {k} has {size} bytes, and parameter `{param}` of `{entry}` has {bytes}"
            )));
        }
    }
    Ok(())
}

fn triple(text: &str) -> Result<Triple> {
    let wrong = || Error::Usage(format!("`{text}` is not a shape: write X, or X,Y or X,Y,Z"));
    let mut shape = [1; 3];
    for (i, number) in text.split(',').enumerate() {
        *shape.get_mut(i).ok_or_else(wrong)? = number.trim().parse().map_err(|_| wrong())?;
    }
    Ok(Triple(shape))
}

fn output_file(text: &str) -> Result<(usize, PathBuf)> {
    let parts = text.split_once('=').and_then(|(k, path)| Some((k.parse().ok()?, PathBuf::from(path))));
    parts.ok_or_else(|| Error::Usage(format!("`{text}` is not an output: write K=FILE.npy")))
}

/// Prints what was observed, and returns whether no checker found anything. A launch that ends in a fault has no
/// counters.
fn report(
    device: &dyn Backend,
    fault: Option<&Diagnostic>,
    show: Show,
    found: &mut Vec<Diagnostic>,
) -> anyhow::Result<bool> {
    let observed = device.observed();
    let findings = observed.as_ref().map_or(&[][..], |observed| &observed.findings);
    let counters = observed.as_ref().map(|observed| &observed.counters).filter(|_| fault.is_none());
    let fidelity = observed.as_ref().map(|observed| &observed.fidelity).filter(|_| show.fidelity && fault.is_none());
    if show.json {
        let mut object = serde_json::json!({ "counters": counters, "findings": findings, "fault": fault });
        if show.fidelity {
            object["fidelity"] = serde_json::json!(fidelity);
        }
        stdout::line(&object.to_string())?;
    } else if let Some(counters) = counters {
        stdout::line(&output::counters(counters).render(look::stdout()))?;
        if let Some(fidelity) = fidelity {
            stdout::line(&format!("\n{}", output::fidelity(fidelity).render(look::stdout())))?;
        }
    }
    for finding in findings {
        note(look::report(finding));
    }
    found.extend(findings.iter().chain(fault).cloned());
    Ok(findings.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes_as_documented() {
        assert_eq!(triple("4").expect("a shape").0, [4, 1, 1]);
        assert_eq!(triple("4,2,3").expect("a shape").0, [4, 2, 3]);
        for text in ["", "x", "1,2,3,4", "-1", "1,"] {
            assert!(triple(text).is_err(), "{text}");
        }
    }

    #[test]
    fn parameters_are_compared_before_anything_is_launched() {
        // Comments are no declarations.
        let text = ".version 7.8\n.target sm_75\n.address_size 64\n// .entry add2(.param .u32 x)\n/* .entry ghost() \
            */\n\
                    .visible .entry add2(\n.param .u64 .ptr .global .align 4 a, // first (of 3),\n.param .u32 n,\n\
                    .param .align 8 .b8 s[24]\n)\n{ ret; }\n.entry add ( ) { ret; }\n.entry none { ret; }";
        let entries = backend::entries(text.as_bytes()).expect("PTX");
        let names: Vec<_> = entries.iter().map(|entry| entry.name.as_str()).collect();
        assert_eq!(names, ["add2", "add", "none"]);
        let sizes: Vec<_> = entries[0].params.iter().map(|param| param.1).collect();
        assert_eq!(sizes, [8, 4, 24]);
        let args = [Argument::Uninit(Dtype::F32, 1), Argument::Value(vec![0; 4]), Argument::Value(vec![0; 24])];
        let check = |entry, args: &[Argument]| check_params(&entries, entry, args, "x");
        assert!(check("add2", &args).is_ok() && check("none", &[]).is_ok());
        assert!(check("add2", &args[..2]).is_err());
        assert!(check("add", &args).is_err());
        assert!(check("ghost", &[]).is_err());
        assert!(check("add2", &[args[1].clone(), args[1].clone(), args[2].clone()]).is_err());
        assert!(backend::entries(b"no PTX").is_none());
    }
}
