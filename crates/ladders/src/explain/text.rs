//! The page as text for a terminal.

use super::measures::{MEASURES, Measure};
use super::page::{Page, Variant};
use crate::table::{Cell, Column, Grid, Look, Tone};
use crate::wrap::wrap;
use std::fmt::Write;

/// Renders tables and sentences; colours mark the better value of two.
pub fn render(page: &Page, look: Look) -> String {
    let mut out = format!("{}\nestimated for {}, from a cold cache\n", page.title, page.device.name);
    if let Some(accuracy) = &page.accuracy {
        let _ = writeln!(out, "{}", wrap(accuracy, look.width, 0));
    }
    out.push('\n');
    out += &measures(page, look);
    for variant in &page.variants {
        write_variant(&mut out, variant, look);
    }
    if let [a, b] = page.variants.as_slice() {
        let _ = writeln!(out, "\n{}", wrap(&compare(a, b), look.width, 0));
    }
    if let Some(next) = &page.next {
        let _ = writeln!(out, "\n{}", wrap(&format!("next rung: {next}"), look.width, 2));
    }
    out
}

/// Narrowest column for the meaning of a measure.
const MEANING: usize = 20;

/// The table of counters; several below each other where the variants do not fit beside each other.
fn measures(page: &Page, look: Look) -> String {
    let shown: Vec<&Measure> =
        MEASURES.iter().filter(|measure| page.variants.iter().any(|variant| (measure.of)(variant) != 0.0)).collect();
    // Name, meaning and borders, and as many variants as the rest has room for.
    let names = shown.iter().map(|measure| measure.name.len()).max().unwrap_or(0);
    let mut groups: Vec<Vec<&Variant>> = vec![Vec::new()];
    let mut used = names + MEANING + 7;
    for variant in &page.variants {
        let cells = shown.iter().map(|measure| measure.unit.write((measure.of)(variant)).chars().count());
        let width = cells.chain([variant.name.chars().count()]).max().unwrap_or(0) + 3;
        if look.width.is_some_and(|limit| used + width > limit) && groups.last().is_some_and(|group| !group.is_empty())
        {
            groups.push(Vec::new());
            used = names + MEANING + 7;
        }
        used += width;
        if let Some(group) = groups.last_mut() {
            group.push(variant);
        }
    }
    let tables = groups.iter().map(|group| table(page, group, &shown, look));
    tables.collect::<Vec<_>>().join("\n\n") + "\n"
}

fn table(page: &Page, variants: &[&Variant], shown: &[&Measure], look: Look) -> String {
    let names = variants.iter().map(|variant| Column::number(variant.name.as_str()));
    let meaning = Column::sentences("what it means", MEANING).rank(1);
    let mut table =
        Grid::new([Column::text("")].into_iter().chain(names).chain([meaning]), "a wider terminal shows it");
    for measure in shown {
        // The best and the worst of all variants.
        let all: Vec<f64> = page.variants.iter().map(measure.of).collect();
        let cells = variants.iter().map(|variant| cell(measure, (measure.of)(variant), &all));
        let meaning = Cell::new(measure.meaning, Tone::Quiet);
        table.row([Cell::from(measure.name)].into_iter().chain(cells).chain([meaning]));
    }
    table.render(look)
}

fn cell(measure: &Measure, value: f64, all: &[f64]) -> Cell {
    let (low, high) = all.iter().fold((f64::MAX, f64::MIN), |(low, high), v| (low.min(*v), high.max(*v)));
    let tone = match measure.fewer {
        Some(fewer) if low < high && value == if fewer { low } else { high } => Tone::Good,
        Some(fewer) if low < high && value == if fewer { high } else { low } => Tone::Poor,
        _ => Tone::Plain,
    };
    Cell::new(measure.unit.write(value), tone)
}

fn write_variant(out: &mut String, variant: &Variant, look: Look) {
    let mut wrapped = |text: String, width, indent| {
        *out += &wrap(&text, width, indent);
        out.push('\n');
    };
    wrapped(String::new(), look.width, 0);
    wrapped(format!("{}: {}", variant.name, variant.idea), look.width, 2);
    match variant.verified {
        Some(true) => {}
        Some(false) => {
            wrapped("  WRONG RESULT: the kernel explained below computes something else".to_owned(), look.width, 4)
        }
        None => wrapped("  NOT JUDGED: there is no result to compare with".to_owned(), look.width, 4),
    }
    wrapped(format!("  about {:.1} us, limited by {}", variant.time_us, variant.limited_by()), look.width, 4);
    wrapped(format!("  {}", variant.parts()), look.width, 4);
    if let Some(launch) = variant.longest() {
        wrapped(format!("  {}", variant.heading_of_limits()), look.width, 4);
        for limit in launch.time.limits.iter().filter(|limit| limit.us >= 0.05 * launch.time.kernel_us) {
            wrapped(format!("    {:<10} {:>9.1} us  {}", limit.name, limit.us, limit.why), look.width, 29);
        }
        if !launch.time.changes.is_empty() {
            wrapped("  what would change it, and the kernel's time then at best".to_owned(), look.width, 4);
        }
        for change in &launch.time.changes {
            wrapped(format!("    {:<14} {:>5.1} us  {}", change.name, change.us, change.what), look.width, 29);
        }
    }
    wrapped("  the lines that cost most:".to_owned(), look.width, 4);
    for costly in &variant.lines {
        let place = if costly.file.is_empty() {
            format!("PTX line {}", costly.line)
        } else {
            format!("{}:{}", costly.file, costly.line)
        };
        wrapped(format!("    {:>5.1} %  {place}", costly.share * 100.0), look.width, 13);
        // Excerpts of the source stay on one line.
        wrapped(format!("             {}", costly.text), None, 0);
        wrapped(format!("             {}", costly.reason), look.width, 13);
    }
}

/// Compares two variants in one sentence.
pub fn compare(a: &Variant, b: &Variant) -> String {
    let (slow, fast) = if a.time_us >= b.time_us { (a, b) } else { (b, a) };
    let factor = if fast.time_us > 0.0 { slow.time_us / fast.time_us } else { 1.0 };
    if factor < 1.03 {
        return format!(
            "{} and {} would take the same time: {} is limited by {}, {} by {}",
            slow.name,
            fast.name,
            slow.name,
            slow.limited_by(),
            fast.name,
            fast.limited_by()
        );
    }
    format!(
        "{} would be {factor:.2}x as fast as {}. {} is limited by {}, {} by {}",
        fast.name,
        slow.name,
        slow.name,
        slow.limited_by(),
        fast.name,
        fast.limited_by()
    )
}

#[cfg(test)]
mod tests {
    use super::super::page::tests::variant;
    use super::*;
    use rustwarp::backend::Device;

    fn page(names: &[&str]) -> Page {
        let device = Device {
            name: "H200".to_owned(),
            multiprocessors: 132,
            memory_gbps: 4800.0,
            fp32_gflops: 1.0,
            fp64_gflops: 1.0,
        };
        let variants = names.iter().map(|name| variant(name, &[10.0, 2.0], 0, &[])).collect();
        Page { title: "reduce".to_owned(), n: 1, shape: String::new(), device, accuracy: None, variants, next: None }
    }

    #[test]
    fn the_text_fits_and_says_where_the_time_goes() {
        let text = render(&page(&["slow", "fast"]), Look { width: Some(70), colour: false });
        for part in [
            "limited by nothing in particular",
            "12.0 us in kernels, and 4.0 us for 2 launches",
            "take the same time: slow is",
        ] {
            assert!(text.contains(part), "{part} is missing in\n{text}");
        }
        let tables = |text: &str| text.matches("what it means").count();
        let widest = |text: &str| text.lines().map(|line| line.chars().count()).max();
        assert_eq!((tables(&text), widest(&text) <= Some(70)), (1, true), "{text}");
        let names: Vec<String> = (0..12).map(|k| format!("variant_{k}")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let text = render(&page(&names), Look { width: Some(80), colour: false });
        assert!(tables(&text) > 1 && widest(&text) <= Some(80), "{text}");
        assert!(names.iter().all(|name| text.contains(name)));
        assert_eq!(tables(&render(&page(&names), Look::default())), 1);
    }
}
