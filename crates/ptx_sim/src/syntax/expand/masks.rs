//! `vote` and `shfl` without a mask, which PTX had before the targets whose lanes diverge freely.

use crate::syntax::tree::Module;

/// Whether ptxas takes the instructions for a module's target and version.
pub fn are_implicit(module: &Module<'_>) -> bool {
    module.version < (6, 4) || sm(module.target) < 70
}

/// Returns the number of an architecture such as `sm_90a`.
fn sm(target: &str) -> u32 {
    let digits = target.trim_start_matches("sm_").trim_end_matches(|c: char| c.is_ascii_alphabetic());
    digits.parse().unwrap_or(0)
}

/// Returns the instruction with a mask of lanes that stands for one without, which ptxas takes for targets before
/// `sm_70` and versions before 6.4.
pub fn with_mask(opcode: &str) -> Option<&'static str> {
    if !opcode.starts_with("vote.") && !opcode.starts_with("shfl.") {
        return None;
    }
    let words: Vec<&str> = opcode.split('.').collect();
    let is = |others: [&str; 3]| words.len() == 3 && others.iter().all(|other| words.contains(other));
    const NAMES: [([&str; 3], &str); 8] = [
        (["vote", "all", "pred"], "vote.sync.all.pred"),
        (["vote", "any", "pred"], "vote.sync.any.pred"),
        (["vote", "uni", "pred"], "vote.sync.uni.pred"),
        (["vote", "ballot", "b32"], "vote.sync.ballot.b32"),
        (["shfl", "up", "b32"], "shfl.sync.up.b32"),
        (["shfl", "down", "b32"], "shfl.sync.down.b32"),
        (["shfl", "bfly", "b32"], "shfl.sync.bfly.b32"),
        (["shfl", "idx", "b32"], "shfl.sync.idx.b32"),
    ];
    NAMES.into_iter().find(|(words, _)| is(*words)).map(|(_, name)| name)
}
