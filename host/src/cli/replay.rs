//! The command that repeats a run on the simulator, for the report of a fault on a GPU.

/// What to do about a fault on a GPU, whose report has no source line: `arguments` are those of the process.
pub(super) fn advice(arguments: &[String]) -> String {
    let program = arguments.first().map_or("host", String::as_str);
    if arguments.iter().any(|argument| argument == "bench") {
        let command = format!("{} check FAMILY --variant VARIANT", quoted(program));
        return format!(
            "to get the source line, run what faulted on the simulator, which measures no times: {command}"
        );
    }
    let sized = arguments.iter().any(|argument| argument == "--n" || argument.starts_with("--n="));
    let smaller = if sized { " (a smaller --n takes less time)" } else { "" };
    format!("to get the source line, run it again on the simulator{smaller}: {}", command(arguments))
}

/// The command line with `--device sim` in the place of any other device.
fn command(arguments: &[String]) -> String {
    let mut words: Vec<String> = Vec::with_capacity(arguments.len() + 2);
    let mut is_device = false;
    for argument in arguments {
        if !std::mem::replace(&mut is_device, argument == "--device")
            && !is_device
            && !argument.starts_with("--device=")
        {
            words.push(quoted(argument));
        }
    }
    words.extend(["--device", "sim"].map(str::to_owned));
    words.join(" ")
}

/// The argument as a POSIX shell reads it.
fn quoted(argument: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_-./:=,^%+@".contains(c);
    match !argument.is_empty() && argument.chars().all(plain) {
        true => argument.to_owned(),
        false => format!("'{}'", argument.replace('\'', r"'\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(line: &[&str]) -> String {
        advice(&line.iter().map(|&word| word.to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn the_command_is_the_same_on_the_simulator() {
        let start = "to get the source line, run it again on the simulator";
        assert_eq!(
            of(&["target/release/host", "transpose", "--input", "x.npy"]),
            format!("{start}: target/release/host transpose --input x.npy --device sim")
        );
        for device in [&["--device", "gpu:1"][..], &["--device=gpu"][..], &[][..]] {
            let line = [&["host", "reduce"], device, &["--n", "2^20"]].concat();
            let expected = format!("{start} (a smaller --n takes less time): host reduce --n 2^20 --device sim");
            assert_eq!(of(&line), expected, "{device:?}");
        }
    }

    #[test]
    fn a_shell_reads_the_arguments_as_they_were() {
        let text = of(&["host", "run", "my kernels.ptx", "--arg", "buf:f32:@it's.npy", ""]);
        assert!(text.ends_with(r"host run 'my kernels.ptx' --arg 'buf:f32:@it'\''s.npy' '' --device sim"), "{text}");
    }

    #[test]
    fn a_benchmark_leads_to_a_check() {
        let text = of(&["host", "bench", "reduce", "--device", "gpu"]);
        assert!(text.ends_with("which measures no times: host check FAMILY --variant VARIANT"), "{text}");
    }
}
