//! `host explain`: what variants cost, why, and how long they would take on a device. The simulator counts and traces,
//! its model of time estimates, and this module puts it on one page: for people in a terminal or a browser, and as
//! JSON.

pub mod html;
pub mod page;
mod svg;
pub mod text;

pub use page::Page;
