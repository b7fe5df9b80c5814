//! Tensor maps among a kernel's parameters: `#[kernel]` takes 128 bytes by value, and calls a function named
//! `rustwarp.kernel.tensor_map` with the parameter's number where the kernel uses the map.
//!
//! Copies read a map from where the launch has put it, aligned to 64. Rust can neither name that place nor align a
//! parameter, so the pass replaces the call by the address of the parameter in PTX, and aligns the parameter.

use std::borrow::Cow;
use std::collections::HashMap;

const CALL: &str = " i64 @rustwarp.kernel.tensor_map(i32 noundef ";

/// Replaces the calls.
///
/// # Errors
/// A sentence about a call that this pass does not understand.
pub(super) fn apply(module: &str) -> Result<Cow<'_, str>, String> {
    if !module.contains(CALL) {
        return Ok(Cow::Borrowed(module));
    }
    let maps = maps(module)?;
    let mut out = String::with_capacity(module.len() + 128 * maps.len());
    let mut entry = "";
    for line in module.lines() {
        if let Some(numbers) = maps.get(line) {
            entry = name(line).unwrap_or_default();
            out.push_str(&aligned(line, numbers).ok_or_else(|| unclear(line))?);
        } else if let Some((result, number)) = call(line) {
            out.push_str(&format!(
                "{result} = call i64 asm \"{{ .reg .u64 map; mov.u64 map, {entry}_param_{number}; \
                 cvta.param.u64 $0, map; }}\", \"=l\"()"
            ));
        } else {
            out.push_str(line);
        }
        out.push('\n');
    }
    Ok(Cow::Owned(out))
}

fn unclear(line: &str) -> String {
    format!("a tensor map among a kernel's parameters cannot be read: {line}")
}

/// The numbers of the parameters that are maps, by the kernel's `define` line.
fn maps(module: &str) -> Result<HashMap<&str, Vec<usize>>, String> {
    let mut maps = HashMap::<&str, Vec<usize>>::new();
    let mut function = "";
    for line in module.lines() {
        if line.starts_with("define ") {
            function = line;
        } else if line.contains(CALL) && !line.starts_with("declare ") {
            let (_, number) = call(line).ok_or_else(|| unclear(line))?;
            maps.entry(function).or_default().push(number);
        }
    }
    Ok(maps)
}

/// The result, `  %_5`, and the number of `  %_5 = call noundef i64 @rustwarp.kernel.tensor_map(i32 noundef 3) #2`.
fn call(line: &str) -> Option<(&str, usize)> {
    let (result, _) = line.split_once(" = ")?;
    let (number, _) = line.split_once(CALL)?.1.split_once(')')?;
    Some((result, number.parse().ok()?))
}

/// `k` of `define ptx_kernel void @k(…`.
fn name(line: &str) -> Option<&str> {
    Some(line.split_once('@')?.1.split_once('(')?.0.trim_matches('"'))
}

/// The line with these parameters aligned to 64.
fn aligned(line: &str, numbers: &[usize]) -> Option<String> {
    let open = line.find('@').and_then(|at| Some(at + line[at..].find('(')?))? + 1;
    let (mut out, mut depth, mut number) = (line[..open].to_owned(), 0, 0);
    for (at, c) in line[open..].char_indices() {
        match c {
            '(' | '[' | '{' | '<' => depth += 1,
            ')' if depth == 0 => {
                out.push_str(&line[open + at..]);
                return (numbers.iter().all(|wanted| *wanted < number + 1)).then_some(out);
            }
            ')' | ']' | '}' | '>' => depth -= 1,
            ',' if depth == 0 => number += 1,
            _ => {}
        }
        out.push(c);
        // The attribute follows the parameter's type.
        if depth == 0 && c == ']' && numbers.contains(&number) {
            out.push_str(" alignstack(64)");
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_map_is_aligned_and_its_address_taken() {
        let module = "define ptx_kernel void @k(ptr align 4 %x, [16 x i64] %m, i32 range(i32 0, 2) %i) #0 {\n  \
                      %_5 = call noundef i64 @rustwarp.kernel.tensor_map(i32 noundef 1) #2, !dbg !3\n  ret void\n}\n\
                      declare noundef i64 @rustwarp.kernel.tensor_map(i32 noundef) unnamed_addr #1\n";
        let expected = "define ptx_kernel void @k(ptr align 4 %x, [16 x i64] alignstack(64) %m, i32 range(i32 0, 2) \
                        %i) #0 {\n  %_5 = call i64 asm \"{ .reg .u64 map; mov.u64 map, k_param_1; \
                        cvta.param.u64 $0, map; }\", \"=l\"()\n  ret void\n}\n\
                        declare noundef i64 @rustwarp.kernel.tensor_map(i32 noundef) unnamed_addr #1\n";
        assert_eq!(apply(module).expect("understood"), expected);
        assert!(matches!(apply("define void @f() {\n}\n"), Ok(Cow::Borrowed(_))));
    }

    #[test]
    fn a_number_that_is_not_constant_is_refused() {
        let module = "define ptx_kernel void @k([16 x i64] %m) {\n  \
                      %a = call noundef i64 @rustwarp.kernel.tensor_map(i32 noundef %n)\n}\n";
        assert!(apply(module).expect_err("refused").contains("cannot be read"));
        assert!(apply(&module.replace("%n", "3")).is_err());
    }
}
