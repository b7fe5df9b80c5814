//! The page as HTML: one self-contained file, with the numbers as JSON inside, in a light and a dark scheme.

use super::escape::escape;
use super::measures::MEASURES;
use super::page::{Page, Variant};
use super::{svg, text};
use std::fmt::Write;

/// Number of variants whose plots are open; those of further variants are folded.
const OPEN: usize = 2;

/// Returns the file's contents.
///
/// # Errors
/// Serialisation cannot fail: all maps of the page have string keys.
pub fn render(page: &Page) -> serde_json::Result<String> {
    let mut out = format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n\
         <meta name=\"viewport\" content=\"width=device-width, \
         initial-scale=1\"/>\n<title>{}</title>\n<style>{STYLE}</style>\n\
         </head>\n<body>\n<main>\n<h1>{}</h1>\n<p class=\"sub\">Counted by the simulator, times estimated for {} from \
         a cold cache: \
         {} multiprocessors, {:.0} GB/s.</p>\n",
        escape(&page.title),
        escape(&page.title),
        escape(&page.device.name),
        page.device.multiprocessors,
        page.device.memory_gbps
    );
    times(&mut out, page);
    if let [a, b] = page.variants.as_slice() {
        let _ = writeln!(out, "<p class=\"verdict\">{}.</p>", escape(&text::compare(a, b)));
    }
    if let Some(next) = &page.next {
        let _ = writeln!(out, "<p>Next rung: {}.</p>", escape(next));
    }
    measures(&mut out, page);
    let roofline = svg::roofline(page);
    if !roofline.is_empty() {
        let _ = writeln!(
            out,
            "<section><h2>Roofline</h2>{roofline}<p class=\"note\">Operations per byte that has to come from memory \
             at least \
             once; the roofs are the device's nominal limits.</p></section>"
        );
    }
    for (number, variant) in page.variants.iter().enumerate() {
        section(&mut out, variant, number < OPEN && page.variants.len() <= OPEN);
    }
    // A closing tag inside a string must not end the element.
    let data = serde_json::to_string(page)?.replace("</", "<\\/");
    let _ = writeln!(out, "<script type=\"application/json\" id=\"data\">{data}</script>\n</main>\n</body>\n</html>");
    Ok(out)
}

fn times(out: &mut String, page: &Page) {
    let longest = page.variants.iter().map(|variant| variant.time_us).fold(0.0, f64::max).max(1e-9);
    out.push_str("<section><h2>Estimated time</h2><div class=\"times\">");
    for variant in &page.variants {
        let _ = write!(
            out,
            "<div class=\"name\">{}</div><div class=\"track\"><div class=\"fill\" style=\"width:{:.1}%\"></div></div>\
             <div class=\"value\">{:.1} us</div><div class=\"why\">{}</div>",
            escape(&variant.name),
            100.0 * variant.time_us / longest,
            variant.time_us,
            escape(&variant.limited_by())
        );
    }
    out.push_str("</div>");
    if let Some(accuracy) = &page.accuracy {
        let _ = write!(out, "<p class=\"note\">The {}.</p>", escape(accuracy));
    }
    out.push_str("</section>\n");
}

fn measures(out: &mut String, page: &Page) {
    out.push_str("<section><h2>Counters</h2><div class=\"scroll\"><table><thead><tr><th></th>");
    for variant in &page.variants {
        let _ = write!(out, "<th class=\"n\">{}</th>", escape(&variant.name));
    }
    out.push_str("<th>what it means</th></tr></thead><tbody>\n");
    for measure in MEASURES {
        let values: Vec<f64> = page.variants.iter().map(measure.of).collect();
        if values.iter().all(|value| *value == 0.0) {
            continue;
        }
        let low = values.iter().copied().fold(f64::MAX, f64::min);
        let high = values.iter().copied().fold(f64::MIN, f64::max);
        let _ = write!(out, "<tr><th>{}</th>", measure.name);
        for value in values {
            let best = measure.fewer.is_some_and(|fewer| low < high && value == if fewer { low } else { high });
            let class = if best { "n best" } else { "n" };
            let _ = write!(out, "<td class=\"{class}\">{}</td>", measure.unit.write(value));
        }
        let _ = writeln!(out, "<td class=\"note\">{}</td></tr>", measure.meaning);
    }
    out.push_str("</tbody></table></div></section>\n");
}

/// A table of times, each with its name and a description.
fn named_times<'p>(out: &mut String, rows: impl Iterator<Item = (&'p str, f64, &'p str)>) {
    out.push_str("<table class=\"limits\"><tbody>");
    for (name, us, text) in rows {
        let text = escape(text);
        let _ = write!(out, "<tr><th>{name}</th><td class=\"n\">{us:.1} us</td><td class=\"note\">{text}</td></tr>");
    }
    out.push_str("</tbody></table>");
}

fn section(out: &mut String, variant: &Variant, open: bool) {
    let _ = writeln!(
        out,
        "<details{}><summary><h2>{}</h2> <span class=\"note\">{}</span></summary>",
        if open { " open=\"open\"" } else { "" },
        escape(&variant.name),
        escape(&variant.idea)
    );
    if variant.verified == Some(false) {
        out.push_str("<p><strong>Wrong result: the kernel explained below computes something else.</strong></p>");
    }
    out.push_str("<h3>The lines that cost most</h3><ol class=\"lines\">");
    for line in &variant.lines {
        let place = if line.file.is_empty() {
            format!("PTX line {}", line.line)
        } else {
            format!("{}:{}", line.file, line.line)
        };
        let _ = write!(
            out,
            "<li><span class=\"share\">{:.1} %</span> <span class=\"place\">{}</span><pre>{}</pre><p>{}</p></li>",
            line.share * 100.0,
            escape(&place),
            escape(&line.text),
            escape(&line.reason)
        );
    }
    out.push_str("</ol>\n");
    if let Some(launch) = variant.longest() {
        let (parts, heading) = (escape(&variant.parts()), escape(&variant.heading_of_limits()));
        let _ = write!(out, "<h3>What limits the longest launch</h3><p>{parts}.</p><p>{heading}:</p>");
        named_times(out, launch.time.limits.iter().map(|limit| (limit.name, limit.us, limit.why.as_str())));
        if !launch.time.changes.is_empty() {
            out.push_str("<h3>What would change it, and the kernel's time then at best</h3>");
            named_times(out, launch.time.changes.iter().map(|change| (change.name, change.us, change.what)));
        }
        let _ = writeln!(
            out,
            "<p class=\"note\">Occupancy {:.0} %: {} blocks of {} threads per multiprocessor, limited \
             by {}.</p>",
            launch.occupancy.2 * 100.0,
            launch.occupancy.0,
            launch.block.iter().product::<u32>(),
            escape(&launch.occupancy_limits.join(" and "))
        );
    }
    plot(
        out,
        "Active lanes over time, first block",
        &svg::activity(variant),
        "A row per warp, its instructions from left to right; the darker, the more of the 32 lanes are active.",
    );
    if let Some(banks) = variant.longest().and_then(|launch| launch.banks.as_ref()) {
        let all: u64 = banks.wavefronts.iter().sum();
        let mut passes = String::new();
        for (count, requests) in banks.wavefronts.iter().enumerate().filter(|(_, requests)| **requests > 0) {
            let _ = write!(
                passes,
                "{}{count} wavefronts: {:.1} %",
                if passes.is_empty() { "" } else { ", " },
                100.0 * *requests as f64 / all.max(1) as f64
            );
        }
        let place = if banks.line == 0 { String::new() } else { format!(" ({}:{})", banks.file, banks.line) };
        let note = format!(
            "<code>{}</code>{}, the shared-memory instruction with the most conflicts: one request of a warp that \
             took the most wavefronts. Of all its requests, {passes}.",
            escape(&banks.ptx),
            escape(&place)
        );
        plot(out, "Banks by lane", &svg::banks(variant), &note);
    }
    plot(
        out,
        "Sectors per request",
        &svg::sectors(variant),
        "Loads and stores of global memory. 32 neighbouring 4-byte words are 4 sectors, 16-byte ones 16.",
    );
    out.push_str("</details>\n");
}

fn plot(out: &mut String, title: &str, svg: &str, note: &str) {
    if !svg.is_empty() {
        let _ = writeln!(out, "<figure><h3>{title}</h3>{svg}<figcaption class=\"note\">{note}</figcaption></figure>");
    }
}

const STYLE: &str = "
:root { color-scheme: light dark; --page: #fcfcfb; --ink: #1f1e1b; --soft: #6b6a63; --line: #dddbd3; \
--field: #f1efe8; --a: #2a6fc9; --b: #c4571f; --good: #1a7f4b; }
@media (prefers-color-scheme: dark) { :root { --page: #191918; --ink: #eceae3; --soft: #a09e95; --line: #3a3936; \
--field: #242422; --a: #6aa5f0; --b: #ee9560; --good: #5cc48d; } }
body { margin: 0; background: var(--page); color: var(--ink); font: 15px/1.5 system-ui, sans-serif; }
main { max-width: 1080px; margin: 0 auto; padding: 28px 24px 60px; }
h1 { font-size: 26px; margin: 0; } h2 { font-size: 19px; margin: 30px 0 8px; } \
h3 { font-size: 15px; margin: 22px 0 6px; }
.sub, .note { color: var(--soft); } .note { font-size: 13px; } .verdict { font-size: 17px; }
.times { display: grid; grid-template-columns: max-content minmax(120px, 1fr) max-content minmax(0, 1.2fr); \
gap: 6px 12px; align-items: center; }
.track { background: var(--field); border-radius: 3px; height: 14px; } \
.fill { background: var(--a); border-radius: 3px; height: 14px; }
.times .value { text-align: right; font-variant-numeric: tabular-nums; } \
.times .why { color: var(--soft); font-size: 13px; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; } th, td { text-align: left; padding: 4px 12px 4px 0; \
border-bottom: 1px solid var(--line); font-weight: normal; vertical-align: top; }
thead th { color: var(--soft); font-size: 13px; } \
.n { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; } \
.best { color: var(--good); font-weight: 600; }
tbody th, td.note { white-space: nowrap; }
details { border-top: 1px solid var(--line); margin-top: 28px; } summary { cursor: pointer; } \
summary h2 { display: inline-block; margin: 18px 6px 6px 0; }
.lines { padding-left: 22px; } .lines p { margin: 2px 0 10px; } .share { font-weight: 600; } \
.place { color: var(--soft); font-size: 13px; }
pre { background: var(--field); padding: 6px 10px; margin: 4px 0; overflow-x: auto; border-radius: 4px; \
font-size: 13px; } code { font-size: 12px; }
figure { margin: 0; } svg { width: 100%; height: auto; display: block; } \
svg text { fill: var(--ink); font: 12px system-ui, sans-serif; }
.end { text-anchor: end; } .middle { text-anchor: middle; } .heat, .bar { fill: var(--a); } \
.field { fill: var(--field); }
.grid { stroke: var(--line); fill: none; } .roof { stroke: var(--soft); stroke-width: 2; fill: none; } \
.p0 { fill: var(--a); } .p1 { fill: var(--b); }
";
