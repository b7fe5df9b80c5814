//! `host explain`: the cost of variants, its causes, and their estimated times on a device. The simulator counts,
//! traces and estimates; this module makes a page of the results, for a terminal, for a browser, and as JSON.

pub mod accuracy;
mod escape;
pub mod html;
pub mod measures;
pub mod page;
pub mod predict;
mod svg;
pub mod text;

pub use page::Page;
