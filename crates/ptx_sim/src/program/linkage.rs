//! Functions that a program calls and does not define.

use super::layout::reachable;
use super::{Callee, Kind, Op, Program};
use crate::stop::{Place, Stop, demangled};

/// Names of the functions that the driver defines.
const PROVIDED: [&str; 4] = ["vprintf", "malloc", "free", "__assertfail"];

/// Starts of the names of the functions by which a kernel launches kernels.
const LAUNCHES: [&str; 3] = ["cudaLaunchDevice", "cudaGetParameterBuffer", "__cudaCDP"];

/// Checks that every function that a kernel may call is defined, or provided by the driver. A driver rejects the module
/// otherwise, whether the call is executed or not.
///
/// # Errors
/// `unknown-function`, with the place of a call.
pub fn linked(program: &Program, entry: u32) -> Result<(), Stop> {
    let reachable = reachable(program, entry);
    let missing = |index: u32| {
        let function = program.functions.get(index as usize)?;
        (function.kind == Kind::Extern && !PROVIDED.contains(&function.name.as_str())).then_some(function)
    };
    let Some((callee, index)) = reachable.iter().find_map(|&index| Some((missing(index)?, index))) else {
        return Ok(());
    };
    let name = program.functions.get(entry as usize).map_or("", |function| function.name.as_str());
    let title =
        format!("cannot launch `{}`: the function `{}` is not defined", demangled(name), demangled(&callee.name));
    let help = match LAUNCHES.iter().any(|start| callee.name.starts_with(start)) {
        true => {
            "it launches a kernel from a kernel (dynamic parallelism), which the simulator does not support: launch \
            that kernel from the host, after this one, or make its work a function of this kernel"
                .to_owned()
        }
        false => {
            format!("define it, or link its definition into the PTX; the driver provides {}", PROVIDED.join(", "))
        }
    };
    let mut stop = Stop::usage("unknown-function", title).with_help(help);
    for &caller in &reachable {
        let code = program.functions.get(caller as usize).map_or(&[][..], |function| &function.code);
        let calls = |op: &Op| matches!(op, Op::Call { callee: Callee::Direct(callee), .. } if *callee == index);
        if let Some(pc) = code.iter().position(|inst| calls(&inst.op)) {
            stop.relate("called here", Place::of(program, caller, pc as u32));
            break;
        }
    }
    Err(stop)
}
