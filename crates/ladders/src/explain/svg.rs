//! The plots, as SVG elements whose colours are the page's own.

use super::page::{Page, Variant};
use std::fmt::Write;

/// Number of columns into which a warp's instructions are grouped.
const COLUMNS: usize = 160;

/// Number of warps that are shown.
const WARPS: usize = 16;

/// Plots active lanes over time: a row per warp with its instructions from left to right, dark where all lanes are
/// active.
pub fn activity(variant: &Variant) -> String {
    let Some(launch) = variant.longest() else { return String::new() };
    let warps = &launch.activity[..launch.activity.len().min(WARPS)];
    let longest = warps.iter().map(|runs| runs.iter().map(|run| run.0).sum::<u32>()).max().unwrap_or(0).max(1);
    let (left, row, width) = (60.0, 14.0, 560.0);
    let height = warps.len() as f64 * row + 34.0;
    let mut out = open(640.0, height, "active lanes over time");
    for (warp, runs) in warps.iter().enumerate() {
        let y = warp as f64 * row;
        let _ =
            write!(out, "<text x=\"{:.0}\" y=\"{:.1}\" class=\"end\">warp {warp}</text>", left - 6.0, y + row - 3.5);
        // One column per instruction, up to the number that fits.
        let columns = COLUMNS.min(longest as usize);
        let mut sums = vec![(0_u64, 0_u64); columns];
        let mut at = 0_u64;
        for (length, lanes) in runs {
            for step in at..at + u64::from(*length) {
                let sum = &mut sums[(step * columns as u64 / u64::from(longest)) as usize];
                *sum = (sum.0 + u64::from(*lanes), sum.1 + 1);
            }
            at += u64::from(*length);
        }
        let step = width / columns as f64;
        for (column, (lanes, count)) in sums.iter().enumerate().filter(|(_, (_, count))| *count > 0) {
            let part = *lanes as f64 / (*count * 32) as f64;
            let x = left + column as f64 * step;
            let _ = write!(
                out,
                "<rect x=\"{x:.1}\" y=\"{:.1}\" width=\"{:.2}\" height=\"{:.1}\" class=\"heat\" \
                 fill-opacity=\"{:.2}\"/>",
                y + 1.0,
                step + 0.2,
                row - 2.0,
                0.08 + 0.92 * part
            );
        }
    }
    let y = height - 18.0;
    let _ = write!(out, "<text x=\"{left:.0}\" y=\"{y:.1}\">first instruction</text>");
    let _ = write!(out, "<text x=\"{:.0}\" y=\"{y:.1}\" class=\"end\">instruction {longest}</text>", left + width);
    close(out)
}

/// Plots the bank of each lane, in the worst request of the instruction with the most conflicts.
pub fn banks(variant: &Variant) -> String {
    let Some(banks) = variant.longest().and_then(|launch| launch.banks.as_ref()) else { return String::new() };
    let most = banks.words.iter().flatten().copied().max().unwrap_or(0).max(1);
    let (left, top, cell) = (60.0, 4.0, 9.5);
    let side = 32.0 * cell;
    let mut out = open(left + side + 10.0, top + side + 40.0, "words by lane and bank");
    let _ = write!(out, "<rect x=\"{left}\" y=\"{top}\" width=\"{side}\" height=\"{side}\" class=\"field\"/>");
    for (lane, row) in banks.words.iter().enumerate() {
        for (bank, words) in row.iter().enumerate().filter(|(_, words)| **words > 0) {
            let _ = write!(
                out,
                "<rect x=\"{:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{:.1}\" class=\"heat\" \
                 fill-opacity=\"{:.2}\"/>",
                left + bank as f64 * cell,
                top + lane as f64 * cell,
                cell - 1.0,
                cell - 1.0,
                0.25 + 0.75 * f64::from(*words) / f64::from(most)
            );
        }
    }
    for mark in [0, 8, 16, 24, 31] {
        let at = f64::from(mark) * cell + cell / 2.0;
        let _ = write!(out, "<text x=\"{:.1}\" y=\"{:.1}\" class=\"end\">{mark}</text>", left - 6.0, top + at + 4.0);
        let _ =
            write!(out, "<text x=\"{:.1}\" y=\"{:.1}\" class=\"middle\">{mark}</text>", left + at, top + side + 14.0);
    }
    let middle = top + side / 2.0;
    let _ = write!(
        out,
        "<text x=\"14\" y=\"{middle:.1}\" class=\"middle\" transform=\"rotate(-90 14 {middle:.1})\">lane</text>\
         <text x=\"{:.1}\" y=\"{:.1}\" class=\"middle\">bank</text>",
        left + side / 2.0,
        top + side + 32.0
    );
    close(out)
}

/// Plots the number of sectors of the requests to global memory.
pub fn sectors(variant: &Variant) -> String {
    let Some(launch) = variant.longest() else { return String::new() };
    let bars: Vec<(usize, u64)> = launch
        .sectors
        .iter()
        .copied()
        .enumerate()
        .filter(|(sectors, requests)| *sectors > 0 && *requests > 0)
        .collect();
    let all: u64 = bars.iter().map(|bar| bar.1).sum();
    if all == 0 {
        return String::new();
    }
    let (left, width, row) = (90.0, 400.0, 20.0);
    let mut out = open(700.0, bars.len() as f64 * row + 6.0, "requests by sectors");
    for (at, (sectors, requests)) in bars.iter().enumerate() {
        let (y, part) = (at as f64 * row, *requests as f64 / all as f64);
        let plural = if *sectors == 1 { "" } else { "s" };
        let _ = write!(
            out,
            "<text x=\"{:.0}\" y=\"{:.1}\" class=\"end\">{sectors} sector{plural}</text>\
             <rect x=\"{left:.0}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{:.1}\" class=\"bar\"/>\
             <text x=\"{:.1}\" y=\"{:.1}\">{} requests, {:.1} %</text>",
            left - 6.0,
            y + 14.0,
            y + 3.0,
            (part * width).max(1.0),
            row - 6.0,
            left + (part * width).max(1.0) + 6.0,
            y + 14.0,
            super::measures::grouped(*requests),
            part * 100.0
        );
    }
    close(out)
}

/// Plots every variant under the device's two limits: memory and arithmetic.
pub fn roofline(page: &Page) -> String {
    let device = &page.device;
    let double = page.variants.iter().any(|variant| variant.counters.f64_flops > variant.counters.f32_flops);
    let peak = if double { device.fp64_gflops } else { device.fp32_gflops };
    let points: Vec<_> =
        page.variants.iter().filter(|v| v.ratios.gflops > 0.0 && v.ratios.flops_per_dram_byte > 0.0).collect();
    if points.is_empty() || peak <= 0.0 || device.memory_gbps <= 0.0 {
        return String::new();
    }
    let ridge = peak / device.memory_gbps;
    let xs = || points.iter().map(|v| v.ratios.flops_per_dram_byte);
    let low_x = xs().fold(ridge / 30.0, f64::min) / 3.0;
    let high_x = xs().fold(ridge, f64::max) * 8.0;
    let low_y = points.iter().map(|v| v.ratios.gflops).fold(low_x * device.memory_gbps, f64::min) / 3.0;
    let high_y = peak * 3.0;
    let (left, top, width, height) = (70.0, 8.0, 560.0, 300.0);
    let x = |value: f64| left + (value / low_x).ln() / (high_x / low_x).ln() * width;
    let y = |value: f64| top + height - (value / low_y).ln() / (high_y / low_y).ln() * height;
    let mut out = open(660.0, top + height + 44.0, "roofline");
    let decades =
        |low: f64, high: f64| (low.log10().ceil() as i32..=high.log10().floor() as i32).map(|power| 10_f64.powi(power));
    for value in decades(low_x, high_x) {
        let at = x(value);
        let _ = write!(
            out,
            "<line x1=\"{at:.1}\" x2=\"{at:.1}\" y1=\"{top}\" y2=\"{:.1}\" class=\"grid\"/>\
             <text x=\"{at:.1}\" y=\"{:.1}\" class=\"middle\">{value}</text>",
            top + height,
            top + height + 16.0
        );
    }
    for value in decades(low_y, high_y) {
        let at = y(value);
        let _ = write!(
            out,
            "<line x1=\"{left}\" x2=\"{:.1}\" y1=\"{at:.1}\" y2=\"{at:.1}\" class=\"grid\"/>\
             <text x=\"{:.1}\" y=\"{:.1}\" class=\"end\">{value}</text>",
            left + width,
            left - 6.0,
            at + 4.0
        );
    }
    let _ = write!(
        out,
        "<polyline points=\"{:.1},{:.1} {:.1},{:.1} {:.1},{:.1}\" class=\"roof\"/>\
         <text x=\"{:.1}\" y=\"{:.1}\" class=\"end\">{:.0} GB/s</text>\
         <text x=\"{:.1}\" y=\"{:.1}\" class=\"end\">{:.0} GFLOP/s on {}</text>",
        x(low_x),
        y(low_x * device.memory_gbps).min(top + height),
        x(ridge),
        y(peak),
        x(high_x),
        y(peak),
        x(ridge / 4.0) - 8.0,
        y(peak / 4.0) - 6.0,
        device.memory_gbps,
        x(high_x) - 4.0,
        y(peak) - 8.0,
        peak,
        if double { "f64" } else { "f32" }
    );
    // Labels are in a column of their own, since variants often are at the same point, and stay above the axis.
    let mut order: Vec<(usize, &&Variant)> = points.iter().enumerate().collect();
    order.sort_by(|a, b| b.1.ratios.gflops.total_cmp(&a.1.ratios.gflops));
    let column = x(points.iter().map(|v| v.ratios.flops_per_dram_byte).fold(low_x, f64::max)) + 34.0;
    let mut labels: Vec<f64> = Vec::new();
    for (_, variant) in &order {
        let wanted = y(variant.ratios.gflops) + 4.0;
        labels.push(labels.last().map_or(wanted, |last| wanted.max(last + 15.0)));
    }
    let over = labels.last().map_or(0.0, |last| last - (top + height - 6.0)).max(0.0);
    for ((number, variant), label) in order.into_iter().zip(labels) {
        let (px, py, label) = (x(variant.ratios.flops_per_dram_byte), y(variant.ratios.gflops), label - over);
        let _ = write!(
            out,
            "<circle cx=\"{px:.1}\" cy=\"{py:.1}\" r=\"4.5\" class=\"point p{}\"/>\
             <line x1=\"{:.1}\" y1=\"{py:.1}\" x2=\"{:.1}\" y2=\"{:.1}\" class=\"grid\"/>\
             <text x=\"{column:.1}\" y=\"{label:.1}\">{}: {:.1} GFLOP/s</text>",
            number % 2,
            px + 5.0,
            column - 4.0,
            label - 4.0,
            super::escape::escape(&variant.name),
            variant.ratios.gflops
        );
    }
    let _ = write!(
        out,
        "<text x=\"{:.1}\" y=\"{:.1}\" class=\"middle\">operations per byte from memory</text>\
         <text x=\"14\" y=\"{:.1}\" class=\"middle\" transform=\"rotate(-90 14 {:.1})\">GFLOP/s</text>",
        left + width / 2.0,
        top + height + 36.0,
        top + height / 2.0,
        top + height / 2.0
    );
    close(out)
}

fn open(width: f64, height: f64, label: &str) -> String {
    format!(
        "<svg viewBox=\"0 0 {width:.0} {height:.0}\" role=\"img\" aria-label=\"{label}\" \
         style=\"max-width:{width:.0}px\">"
    )
}

fn close(mut svg: String) -> String {
    svg.push_str("</svg>");
    svg
}
