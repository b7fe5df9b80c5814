//! The driver's errors in this library's words.

use crate::diagnostic::Diagnostic;
use crate::error::{Error, Result};
use crate::ptx::Header;
use cuda_driver::sys;

/// Converts a result of the driver; an error names the attempted operation.
pub(super) fn check(result: sys::CUresult, attempt: impl Fn() -> String) -> Result<()> {
    match result {
        sys::CUresult::CUDA_SUCCESS => Ok(()),
        sys::CUresult(code) => Err(explain(code, &attempt())),
    }
}

fn explain(code: u32, attempt: &str) -> Error {
    let name = cuda_driver::error_name(code);
    let fault = match code {
        700 => "the kernel accessed memory outside its buffers",
        716 => "the kernel made a misaligned access",
        710 => "an assertion in the kernel failed",
        714 | 715 | 717 | 718 => "the kernel executed something invalid",
        719 => "the kernel trapped (a panic, or an access outside its memory)",
        702 => "the kernel ran longer than the driver allows",
        2 => return Error::Device(format!("{attempt}: the GPU is out of memory ({name})")),
        _ => return Error::Device(format!("{attempt}: the driver returned {name} (error {code})")),
    };
    let text = format!("{attempt}: {fault} ({name})\nhelp: {REPLAY}");
    let help = Some(REPLAY.to_owned());
    Error::Fault(Box::new(Diagnostic { help, ..Diagnostic::new("fault", name.to_string(), fault, text) }))
}

/// What to do about a fault, of which the driver reports no more than its kind.
const REPLAY: &str = "to get the source line, make the same calls on the simulator, with `Device::sim()` as the \
                      device, or launch the kernel alone by `host check KERNELS.ptx`";

/// Explains why the driver rejects a module with this code, with the first line of its compiler's log.
pub(super) fn explain_load(code: u32, log: &str, image: &[u8], name: &str, cuda: (u32, u32)) -> Error {
    let line = log.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    let says = if line.is_empty() { String::new() } else { format!(" Its message: {line}") };
    let header = std::str::from_utf8(image).ok().and_then(|text| Header::read(text, name).ok());
    match (code, header) {
        // 218 is CUDA_ERROR_INVALID_PTX, 222 CUDA_ERROR_UNSUPPORTED_PTX_VERSION.
        (218 | 222, Some(header)) if code == 222 || line.contains(".version") => Error::NoPtx(format!(
            "{name} is PTX ISA {}.{}, which this driver (CUDA {}.{}) does not support: update the driver, or build for \
             an older \
             PTX ISA.{says}",
            header.version.0, header.version.1, cuda.0, cuda.1
        )),
        (218, _) => Error::BadPtx(format!("the driver's compiler rejects {name}.{says}")),
        (200 | 209, _) => {
            Error::NoPtx(format!("{name} contains no code for this GPU: build it for its architecture.{says}"))
        }
        (code, _) => explain(code, &format!("loading {name}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fault_says_how_to_get_its_line_on_the_simulator() {
        for code in [700, 702, 710, 714, 715, 716, 717, 718, 719] {
            let Error::Fault(fault) = explain(code, "running `scan`") else { panic!("{code} is a fault") };
            let help = fault.help.clone().expect("help");
            assert!(help.contains("`Device::sim()`") && help.contains("`host check KERNELS.ptx`"), "{help}");
            let text = Error::Fault(fault).to_string();
            assert!(text.starts_with("running `scan`: "), "{text}");
            assert!(text.ends_with(&format!("\nhelp: {help}")), "{text}");
        }
        assert!(matches!(explain(2, "allocating `x`"), Error::Device(text) if !text.contains("help")));
    }
}
