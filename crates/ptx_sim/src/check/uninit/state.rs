//! The state of the check of one worker.

use super::origin::Origins;
use super::plan::Plan;
use std::sync::Arc;

/// The check of one worker.
#[derive(Debug)]
pub struct Uninit {
    /// By function.
    pub(super) plans: Arc<[Plan]>,
    /// Fresh registers and memory count as undefined; otherwise only overflow is looked for.
    pub(super) tracked: bool,
    pub(super) origins: Origins,
}

impl Uninit {
    pub fn new(plans: Arc<[Plan]>, tracked: bool) -> Self {
        Self { plans, tracked, origins: Origins::default() }
    }
}
