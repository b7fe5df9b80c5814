//! `host scaling --from`: the model and its predictions, from times that were measured elsewhere.
#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

mod program;

use program::{host, refused_in_a_line, text};

/// Times as four GPUs would have them: sums with 20 us and 4 TB/s, all-reduces with 6 us per step and 360 GB/s.
fn measured() -> String {
    let mut lines = String::new();
    let mut add = |subject: &str, scaling: &str, gpus: u64, n: u64, us: f64| {
        lines += &serde_json::json!({
            "subject": subject, "scaling": scaling, "gpus": gpus, "n": n, "time_ms": us / 1e3, "verified": true,
            "device": format!("{gpus} x gpu (NVIDIA H200)"),
        })
        .to_string();
        lines += "\n";
    };
    let n = 1 << 30;
    let sum = |n: u64| 20.0 + 4.0 * n as f64 / 4e6;
    for part in [64, 8] {
        add("reduce", "size", 1, n / part, sum(n / part));
    }
    for gpus in [1, 2, 4] {
        let steps = 2.0 * f64::from((gpus as u32).ilog2());
        add("reduce", "weak", gpus, n * gpus, sum(n) + 5.0 * steps);
        add("reduce", "strong", gpus, n, sum(n / gpus) + 5.0 * steps);
        for power in (3..=32).filter(|_| gpus > 1) {
            let bytes = f64::powi(2.0, power);
            let share = 2.0 * (gpus as f64 - 1.0) / gpus as f64;
            add("all-reduce", "size", gpus, 1 << power, 6.0 * steps + share * bytes / 360e3);
        }
    }
    lines
}

#[test]
fn stored_times_give_tables_a_model_and_a_plot() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name).display().to_string();
    let (file, plot) = (path("times.json"), path("plot.svg"));
    std::fs::write(&file, measured()).unwrap();
    let output = host(&["scaling", "--from", &file, "--plot", &plot]);
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(output.status.code(), Some(0), "{err}");
    for part in [
        "reduce: launch 20.0 us, 4000 GB/s per GPU, 5.0 us per step",
        "all-reduce: 6.0 us per step, bus 360 GB/s",
        "hosts of 8 GPUs",
        "50 GB/s",
        "1024",
        "weak",
        "strong",
        "predicted (3 GPUs and more): ",
    ] {
        assert!(out.contains(part), "{part} is missing in\n{out}");
    }
    let picture = std::fs::read_to_string(&plot).unwrap();
    for part in ["efficiency, weak scaling", "efficiency, strong scaling", "reduce, predicted", "GPUs"] {
        assert!(picture.contains(part), "{part} is missing");
    }
    let slower = text(&host(&["scaling", "all-reduce", "--from", &file, "--network", "10"]).stdout);
    assert!(slower.contains("10 GB/s") && !slower.contains("reduce: launch"), "{slower}");
}

#[test]
fn what_is_no_measurement_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("times.json").display().to_string();
    refused_in_a_line(&["scaling", "--from", &path], 2, &["times.json", "No such file"]);
    for (text, words) in [
        ("", "no times of the subjects"),
        ("nonsense\n", "line 1 is no time"),
        (&measured().replacen("\"gpus\":1", "\"gpus\":0", 1), "line 1 has no GPU"),
    ] {
        std::fs::write(&path, text).unwrap();
        refused_in_a_line(&["scaling", "--from", &path], 2, &["times.json", words]);
    }
    refused_in_a_line(&["scaling"], 3, &["no-such-libcuda.so"]);
}
