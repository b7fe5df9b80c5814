//! Limits of launches: `#[kernel(launch_bounds(256), …)]` calls functions named `rustwarp.kernel.maxntid` and so on,
//! with constants. The pass removes the calls and gives the calling function the attribute, `"nvvm.maxntid"="256"`,
//! from which LLVM makes the PTX directive. Rust has no such attributes.

use std::borrow::Cow;
use std::collections::HashMap;

use super::convergence::attributes_start;

const CALL: &str = "call void @rustwarp.kernel.";

/// The directives, which are LLVM's names of the attributes after `nvvm.`.
const DIRECTIVES: [&str; 5] = ["maxntid", "reqntid", "minctasm", "cluster_dim", "maxnreg"];

/// Replaces the calls.
///
/// # Errors
/// A sentence about a call that this pass does not understand.
pub(super) fn apply(module: &str) -> Result<Cow<'_, str>, String> {
    if !module.contains(CALL) {
        return Ok(Cow::Borrowed(module));
    }
    let limits = limits(module)?;
    let mut out = String::with_capacity(module.len() + 64 * limits.len());
    for line in module.lines().filter(|line| !line.contains(CALL)) {
        let limited = limits.get(line).and_then(|attributes| Some((attributes, attributes_start(line)?)));
        match limited {
            Some((attributes, at)) => {
                out.push_str(&line[..at]);
                out.push_str(attributes);
                out.push_str(&line[at..]);
            }
            None => out.push_str(line),
        }
        out.push('\n');
    }
    Ok(Cow::Owned(out))
}

/// The attributes of each function that has limits, by its `define` line.
fn limits(module: &str) -> Result<HashMap<&str, String>, String> {
    let mut limits = HashMap::<&str, String>::new();
    let mut function = "";
    for line in module.lines() {
        if line.starts_with("define ") {
            function = line;
        } else if let Some((_, call)) = line.split_once(CALL) {
            let (name, values) = parse(call).ok_or_else(|| format!("a limit of a kernel cannot be read: {line}"))?;
            // Any limit of registers, however large, changes how ptxas schedules: 0 is for kernels without one.
            if values != "0" {
                let attributes = limits.entry(function).or_default();
                attributes.push_str(&format!(" \"nvvm.{name}\"=\"{values}\""));
            }
        }
    }
    Ok(limits)
}

/// The directive and its values, `256,1`, of `maxntid(i32 noundef 256, i32 noundef 1) #3`.
fn parse(call: &str) -> Option<(&str, String)> {
    let (name, rest) = call.split_once('(')?;
    let (arguments, _) = rest.split_once(')')?;
    let value = |argument: &str| argument.rsplit(' ').next()?.parse::<u32>().ok();
    let values = arguments.split(", ").map(value).collect::<Option<Vec<_>>>()?;
    let text: Vec<_> = values.iter().map(u32::to_string).collect();
    DIRECTIVES.contains(&name).then(|| (name, text.join(",")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_become_attributes() {
        let module = "define ptx_kernel void @k(ptr %x) unnamed_addr #0 !dbg !1 {\n  \
                      call void @rustwarp.kernel.maxntid(i32 noundef 256) #2, !dbg !3\n  \
                      call void @rustwarp.kernel.reqntid(i32 noundef 16, i32 noundef 8) #2, !dbg !3\n  ret void\n}\n\
                      define void @f() {\n  ret void\n}\n";
        let expected = "define ptx_kernel void @k(ptr %x) unnamed_addr \"nvvm.maxntid\"=\"256\" \
                        \"nvvm.reqntid\"=\"16,8\" #0 !dbg !1 {\n  ret void\n}\ndefine void @f() {\n  ret void\n}\n";
        assert_eq!(apply(module).expect("readable"), expected);
    }

    #[test]
    fn no_registers_are_no_limit() {
        let of = |registers: u32| {
            let call = format!("call void @rustwarp.kernel.maxnreg(i32 noundef {registers}) #2, !dbg !3");
            let module = format!("define ptx_kernel void @k() #0 {{\n  {call}\n  ret void\n}}\n");
            apply(&module).expect("readable").into_owned()
        };
        assert_eq!(of(0), "define ptx_kernel void @k() #0 {\n  ret void\n}\n");
        assert!(of(64).contains(" \"nvvm.maxnreg\"=\"64\" #0"), "{}", of(64));
    }

    #[test]
    fn an_unknown_limit_is_an_error() {
        let module = |call: &str| format!("define void @k() {{\n  call void @rustwarp.kernel.{call}\n}}\n");
        for call in ["maxntid(i32 %x)", "maxthreads(i32 1)"] {
            let error = apply(&module(call)).expect_err("refused");
            assert!(error.contains("cannot be read"), "{error}");
        }
        assert!(matches!(apply("define void @k() {\n}\n"), Ok(Cow::Borrowed(_))));
    }
}
