//! Warnings about kernels that are slow or fragile although they compile: each with its Rust line.
//!
//! A lint reports what is certain from the PTX of one function, and stays silent where it would have to guess. It says
//! nothing about code that only leads to a panic.

mod barriers;
mod kinds;
mod memory;
mod numbers;

use std::collections::{BTreeMap, BTreeSet};

pub use super::listing::Place;
use super::{Usage, divergence::Divergence, flow::Flow, listing::Listing};
use kinds::Found;
pub use kinds::{Lint, Warning};

/// Prefix of the exported symbols that turn lints off for one entry: `rustwarp.allow.<lint>.<entry>`.
pub(crate) const ALLOW: &str = "rustwarp.allow.";

/// Returns the warnings about a PTX text, by line. `usages` is what `ptxas` reports about its entries, if it was run;
/// `allowed` decides whether a lint is turned off for an entry.
pub fn lint(ptx: &str, usages: &[Usage], allowed: &dyn Fn(Lint, &str) -> bool) -> Vec<Warning> {
    let listing = Listing::of(ptx);
    let mut found = Found { entry: "", line: None, all: BTreeMap::new(), allowed };
    for code in listing.functions.iter().filter(|function| function.is_entry) {
        found.entry = code.name;
        found.line = code.place.clone();
        let flow = Flow::of(code);
        memory::local(&listing, code, &flow, &mut found);
        memory::generic_shared(code, &flow, &mut found);
        memory::core_atomics(code, &flow, &mut found);
        numbers::f64_of_f32(code, &flow, &mut found);
        barriers::divergent(code, &flow, &Divergence::of(code, &flow), &mut found);
        if let Some(usage) = usages.iter().find(|usage| usage.entry == code.name && usage.spill_stores > 0) {
            let (stores, loads) = (usage.spill_stores, usage.spill_loads);
            found.add(
                Lint::Spills,
                code.place.as_ref(),
                format!("{stores} bytes of spill stores and {loads} of loads"),
            );
        }
    }
    let all = found.all.into_iter();
    all.map(|((place, lint, what), entries)| Warning { lint, place, what, entries: entries.into_iter().collect() })
        .collect()
}

/// The lints that exported symbols turn off, by entry.
#[derive(Clone, Debug, Default)]
pub(crate) struct Allowed(BTreeSet<(String, String)>);

impl Allowed {
    /// Reads those of `names` that have the prefix [`ALLOW`].
    pub fn of(names: &[String]) -> Self {
        let parts = names.iter().filter_map(|name| name.strip_prefix(ALLOW)?.split_once('.'));
        Self(parts.map(|(lint, entry)| (lint.to_owned(), entry.to_owned())).collect())
    }

    pub fn allows(&self, lint: Lint, entry: &str) -> bool {
        self.0.contains(&(lint.name().to_owned(), entry.to_owned()))
    }

    /// The same as text, in a fixed order.
    pub fn text(&self) -> String {
        self.0.iter().map(|(lint, entry)| format!("{lint}.{entry}\n")).collect()
    }
}

#[cfg(test)]
mod tests;
