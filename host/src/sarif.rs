//! Diagnostics as SARIF 2.1.0, which CI systems show on a pull request
//! (<https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html>).
//!
//! By hand, over serde_json: serde-sarif 0.8.0 generates its types from the schema in a build script and brings 15
//! further packages (regex among them), for one log with the few properties that are written here.

use ladders::error::Result;
use rustwarp::backend::{Severity, code};
use rustwarp::diagnostic::{Diagnostic, Place};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::path::Path;

/// Writes the file, even without results: a CI system then closes those that it showed before.
///
/// # Errors
/// [`Error::Write`](ladders::Error::Write).
pub fn write(path: &Path, found: &[Diagnostic]) -> Result<()> {
    let text = format!("{:#}\n", log(found));
    ladders::input::write_text(path, &text)
}

/// Makes the log of one run of this tool, with a rule for each code that occurs.
pub fn log(found: &[Diagnostic]) -> Value {
    let codes: BTreeSet<&str> = found.iter().map(|diagnostic| diagnostic.code.as_str()).collect();
    let codes: Vec<&str> = codes.into_iter().collect();
    let rules: Vec<Value> = codes.iter().map(|code| rule(code)).collect();
    let results: Vec<Value> = found.iter().map(|diagnostic| result(diagnostic, &codes)).collect();
    json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": { "name": "rustwarp", "version": env!("CARGO_PKG_VERSION"), "rules": rules } },
            "results": results,
        }],
    })
}

fn result(found: &Diagnostic, codes: &[&str]) -> Value {
    let help = found.help.as_ref().map(|help| format!("\nhelp: {help}"));
    let who = match (found.block, found.thread) {
        (Some([a, b, c]), Some([x, y, z])) => format!("\nblock ({a}, {b}, {c}), thread ({x}, {y}, {z})"),
        _ => String::new(),
    };
    let notes: String = found.notes.iter().map(|note| format!("\nnote: {note}")).collect();
    let mut result = json!({
        "ruleId": found.code,
        "ruleIndex": codes.iter().position(|code| *code == found.code),
        "level": level(found),
        "message": { "text": format!("{}{who}{notes}{}", found.title, help.unwrap_or_default()) },
        "partialFingerprints": { "rustwarp/v1": fingerprint(found) },
        "occurrenceCount": found.count.max(1),
    });
    if found.merged > 0 {
        result["properties"] = json!({ "merged": found.merged, "bytes": found.bytes });
    }
    let mut places = found.places.iter().filter_map(|place| Some((place, physical(place)?)));
    if let Some((place, location)) = places.next() {
        let function = json!([{ "fullyQualifiedName": place.function, "kind": "function" }]);
        result["locations"] = json!([{ "physicalLocation": location, "logicalLocations": function }]);
    }
    let related = places.enumerate().map(|(id, (place, location))| {
        let label = place.label.clone().unwrap_or_else(|| format!("in {}", place.function));
        json!({ "id": id, "physicalLocation": location, "message": { "text": label } })
    });
    result["relatedLocations"] = related.collect();
    result
}

/// Severity: faults and findings that are wrong on every GPU are errors; reliance on lock step and wrapping arithmetic
/// are not.
fn level(found: &Diagnostic) -> &'static str {
    let lenient = code(&found.code).is_some_and(|row| row.severity == Severity::Warning);
    if found.kind == "finding" && lenient { "warning" } else { "error" }
}

/// The location of the Rust line, or of the PTX line without line tables.
fn physical(place: &Place) -> Option<Value> {
    let (file, line, column) = match (&place.file, place.line) {
        (Some(file), Some(line)) if line > 0 => (file, line, place.column),
        _ if place.ptx_line > 0 && !place.ptx_file.is_empty() => (&place.ptx_file, place.ptx_line, None),
        _ => return None,
    };
    let mut region = json!({ "startLine": line });
    if let Some(column) = column.filter(|column| *column > 0) {
        region["startColumn"] = column.into();
    }
    Some(json!({ "artifactLocation": artifact(file), "region": region }))
}

/// The file's path relative to the current directory, which in CI is the root of the sources; absolute for files
/// elsewhere.
fn artifact(file: &str) -> Value {
    let path = Path::new(file);
    let here = std::env::current_dir().ok();
    match here.and_then(|here| path.strip_prefix(here).ok()).or(path.is_relative().then_some(path)) {
        Some(below) => json!({ "uri": uri(&below.to_string_lossy()), "uriBaseId": "%SRCROOT%" }),
        None => json!({ "uri": format!("file://{}", uri(file)) }),
    }
}

/// Percent-encodes what RFC 3986 does not allow in a path.
fn uri(path: &str) -> String {
    let encode = |byte: u8| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'-' | b'.' | b'_' | b'~' | b'+' | b',' | b'@' => {
            char::from(byte).to_string()
        }
        _ => format!("%{byte:02X}"),
    };
    path.bytes().map(encode).collect()
}

/// A fingerprint that stays the same while the code, the functions and the text of the lines do, even if edits
/// elsewhere move the lines.
fn fingerprint(found: &Diagnostic) -> String {
    let mut text = found.code.clone();
    for place in &found.places {
        let line = source_line(place).unwrap_or_else(|| place.ptx.clone());
        text += &format!("\0{}\0{}", place.function, line.trim());
    }
    if found.places.is_empty() {
        text += &format!("\0{}", found.title);
    }
    // This is FNV-1a with 64 bits (http://www.isthe.com/chongo/tech/comp/fnv/), which is the same in every version of
    // this program.
    let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
    format!("{:016x}", text.bytes().fold(0xcbf2_9ce4_8422_2325, step))
}

fn source_line(place: &Place) -> Option<String> {
    let path = Path::new(place.file.as_ref()?);
    // The name comes from the PTX, and may be any text.
    if !path.is_file() {
        return None;
    }
    let text = std::fs::read_to_string(path).ok()?;
    text.lines().nth((place.line? as usize).checked_sub(1)?).map(str::to_owned)
}

/// The rule of a code: from the simulator's tables, but for what the comparison with the reference finds.
fn rule(name: &str) -> Value {
    let known = code(name).map(|row| (row.title.to_owned(), row.advice));
    let (short, help) = known.unwrap_or_else(|| match name {
        "wrong-result" => {
            ("A result differs from the reference".to_owned(), "Compare with the findings of the checkers first.")
        }
        _ => (name.replace(['-', '_'], " "), "The result's message says what happened and what to do."),
    });
    json!({ "id": name, "shortDescription": { "text": short }, "help": { "text": help } })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(file: &str, line: u32, label: Option<&str>) -> Place {
        Place {
            label: label.map(str::to_owned),
            file: Some(file.to_owned()),
            line: Some(line),
            column: Some(5),
            function: "k".to_owned(),
            ptx_file: "k.ptx".to_owned(),
            ptx_line: 9,
            ptx: "st.global.b32 [%rd1], %r1;".to_owned(),
            inlined_at: Vec::new(),
        }
    }

    /// What the schema requires of the parts that are used here.
    fn validate(log: &Value) {
        assert_eq!(log["version"], "2.1.0");
        for run in log["runs"].as_array().expect("runs") {
            let driver = &run["tool"]["driver"];
            assert!(driver["name"].is_string() && driver["version"].is_string(), "{driver}");
            let rules = driver["rules"].as_array().expect("rules");
            let mut ids: Vec<_> = rules.iter().map(|rule| rule["id"].as_str().expect("an id")).collect();
            assert!(
                rules
                    .iter()
                    .all(|rule| rule["shortDescription"]["text"].is_string() && rule["help"]["text"].is_string())
            );
            ids.dedup();
            assert_eq!(ids.len(), rules.len(), "unique");
            for result in run["results"].as_array().expect("results") {
                let index = result["ruleIndex"].as_u64().expect("an index") as usize;
                assert_eq!(rules[index]["id"], result["ruleId"]);
                assert!(["none", "note", "warning", "error"].contains(&result["level"].as_str().expect("a level")));
                assert!(!result["message"]["text"].as_str().expect("a message").is_empty());
                assert!(
                    result["partialFingerprints"].as_object().expect("fingerprints").values().all(Value::is_string)
                );
                let places = |name: &str| result[name].as_array().cloned().unwrap_or_default();
                for place in places("locations").into_iter().chain(places("relatedLocations")) {
                    let physical = &place["physicalLocation"];
                    let uri = physical["artifactLocation"]["uri"].as_str().expect("a uri");
                    assert!(!uri.contains([' ', '\\']) && (!uri.starts_with('/')), "{uri}");
                    assert!(physical["region"]["startLine"].as_u64().expect("a line") >= 1);
                }
            }
        }
    }

    #[test]
    fn logs_have_what_the_schema_requires() {
        let mut race = Diagnostic::new("finding", "race-raw", "data race", "report");
        race.places =
            vec![place("src/a b.rs", 3, Some("the later read")), place("/else/where.rs", 7, Some("the earlier write"))];
        let mut hazard = Diagnostic::new("finding", "race-warp-raw", "hazard", "report");
        hazard.places = vec![Place { file: None, line: None, ..place("", 0, None) }];
        let fault = Diagnostic::new("fault", "trap", "trapped", "report");
        let log = log(&[race.clone(), hazard, fault, race]);
        validate(&log);
        let results = &log["runs"][0]["results"];
        let location = &results[0]["locations"][0]["physicalLocation"];
        assert_eq!(location["artifactLocation"], json!({ "uri": "src/a%20b.rs", "uriBaseId": "%SRCROOT%" }));
        assert_eq!(location["region"], json!({ "startLine": 3, "startColumn": 5 }));
        let related = &results[0]["relatedLocations"][0];
        assert_eq!(related["message"]["text"], "the earlier write");
        assert_eq!(related["physicalLocation"]["artifactLocation"]["uri"], "file:///else/where.rs");
        assert_eq!(results[1]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"], "k.ptx");
        assert_eq!(
            (&results[0]["level"], &results[1]["level"], &results[2]["level"]),
            (&"error".into(), &"warning".into(), &"error".into())
        );
        assert_eq!(log["runs"][0]["tool"]["driver"]["rules"].as_array().map(Vec::len), Some(3));
    }

    #[test]
    fn a_finding_that_stands_for_others_says_for_how_many() {
        let one = Diagnostic::new("finding", "race-raw", "data race", "report");
        let note = "and 26 more places of the same lines, bytes 0..256".to_owned();
        let many = Diagnostic { merged: 26, bytes: Some([0, 256]), notes: vec![note], ..one.clone() };
        let object = serde_json::to_value(&many).expect("JSON");
        assert_eq!((&object["merged"], &object["bytes"]), (&json!(26), &json!([0, 256])));
        let log = log(&[many, one]);
        validate(&log);
        let results = &log["runs"][0]["results"];
        assert_eq!(results[0]["properties"], json!({ "merged": 26, "bytes": [0, 256] }));
        let text = results[0]["message"]["text"].as_str().expect("a message");
        assert!(text.contains("and 26 more places of the same lines, bytes 0..256"), "{text}");
        assert_eq!(results[1]["properties"], Value::Null);
    }

    #[test]
    fn nothing_found_is_a_log_too() {
        let log = log(&[]);
        validate(&log);
        assert_eq!(log["runs"][0]["results"], json!([]));
    }

    #[test]
    fn fingerprints_move_with_their_lines() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("k.rs");
        let file = path.display().to_string();
        let print = |text: &str, line: u32| {
            std::fs::write(&path, text).expect("a file");
            let mut found = Diagnostic::new("finding", "race-raw", "data race", "report");
            found.places = vec![place(&file, line, None)];
            fingerprint(&found)
        };
        let before = print("x\n  write(i);\n", 2);
        assert_eq!(before, print("x\ny\nz\n    write(i);\n", 4));
        assert_ne!(before, print("x\n  write(j);\n", 2));
    }
}
