//! Sets the architecture of all functions: LLVM inlines no function that was compiled for another architecture.
//!
//! `core` is compiled once for all architectures, and its functions name rustc's default.

/// Replaces the architecture in an attribute group.
pub(super) fn set(line: &str, cpu: &str) -> String {
    const ATTRIBUTE: &str = "\"target-cpu\"=\"";
    let named = || {
        let (head, rest) = line.split_once(ATTRIBUTE)?;
        let (_, rest) = rest.split_once('"')?;
        Some(format!("{head}{ATTRIBUTE}{cpu}\"{rest}"))
    };
    let replaced = line.starts_with("attributes #").then(named).flatten();
    replaced.unwrap_or_else(|| line.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_name_the_architecture_of_the_build() {
        assert_eq!(
            set(r#"attributes #1 = { nounwind "target-cpu"="sm_70" "x"="y" }"#, "sm_90a"),
            r#"attributes #1 = { nounwind "target-cpu"="sm_90a" "x"="y" }"#
        );
        let others = ["attributes #2 = { nounwind }", r#"@x = constant c"\22target-cpu\22=\22""#];
        others.iter().for_each(|line| assert_eq!(set(line, "sm_90"), *line));
    }
}
