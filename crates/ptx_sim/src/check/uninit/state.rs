//! State of the check in one worker.

use super::origin::Origins;
use super::plan::Plan;
use std::sync::Arc;

/// The check in one worker.
#[derive(Debug)]
pub struct Uninit {
    /// Plans by function.
    pub(super) plans: Arc<[Plan]>,
    /// Whether new registers and memory count as undefined; otherwise only overflow is checked.
    pub(super) tracked: bool,
    pub(super) origins: Origins,
}

impl Uninit {
    pub fn new(plans: Arc<[Plan]>, tracked: bool) -> Self {
        Self { plans, tracked, origins: Origins::default() }
    }
}
