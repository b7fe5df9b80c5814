//! Implements `ftz`: f32 operations treat subnormal numbers as zero.

use super::convergence::add_attribute;

/// Adds the attribute to the groups of definitions.
pub(super) fn flush(line: &str, groups: &[&str]) -> String {
    if !line.starts_with("attributes #") {
        return line.to_owned();
    }
    add_attribute(line, groups, "\"denormal-fp-math-f32\"=\"preserve-sign,preserve-sign\"")
}

/// Sets the module flag that `__nvvm_reflect("__CUDA_FTZ")` reads.
pub(super) fn add_flag(module: &mut String) {
    let next = module.lines().filter_map(metadata_number).max().map_or(0, |number| number + 1);
    let flag = format!("!{next} = !{{i32 4, !\"nvvm-reflect-ftz\", i32 1}}\n");
    const FLAGS: &str = "!llvm.module.flags = !{";
    match module.find(FLAGS) {
        Some(at) => {
            let inside = at + FLAGS.len();
            let separator = if module[inside..].starts_with('}') { "" } else { ", " };
            module.insert_str(inside, &format!("!{next}{separator}"));
        }
        None => module.push_str(&format!("{FLAGS}!{next}}}\n")),
    }
    module.push_str(&flag);
}

/// The number 17 of `!17 = …`.
fn metadata_number(line: &str) -> Option<u32> {
    line.strip_prefix('!')?.split(' ').next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn definitions_flush_and_the_module_says_so() {
        let line = flush("attributes #0 = { nounwind }", &["#0"]);
        assert!(line.contains(r#""denormal-fp-math-f32"="preserve-sign,preserve-sign" nounwind"#), "{line}");
        let mut module = "!llvm.module.flags = !{!7}\n!7 = !{i32 1}\n".to_owned();
        add_flag(&mut module);
        assert!(module.starts_with("!llvm.module.flags = !{!8, !7}"), "{module}");
        assert!(module.ends_with("!8 = !{i32 4, !\"nvvm-reflect-ftz\", i32 1}\n"), "{module}");
    }
}
