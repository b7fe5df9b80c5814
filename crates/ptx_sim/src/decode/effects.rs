//! The table of instructions that affect more than registers: one row each, in the chapter that decodes it.

use super::decoder::Effect;
use super::{asynchronous, cluster, control, matrix, memory, moves, sparse, tensor_maps, texture, video, warpgroup};

const CHAPTERS: [&[Effect]; 11] = [
    memory::ROWS,
    control::ROWS,
    asynchronous::ROWS,
    cluster::ROWS,
    matrix::ROWS,
    sparse::ROWS,
    tensor_maps::ROWS,
    texture::ROWS,
    moves::ROWS,
    video::ROWS,
    warpgroup::ROWS,
];

/// Returns the row with the longest name that an opcode starts with.
pub fn find(opcode: &str) -> Option<&'static Effect> {
    let fits =
        |row: &&Effect| opcode.strip_prefix(row.name).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'));
    CHAPTERS.into_iter().flatten().filter(fits).max_by_key(|row| row.name.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_name_counts() {
        let name = |opcode| find(opcode).map(|row| row.name);
        assert_eq!(name("barrier.cluster.arrive.aligned"), Some("barrier.cluster.arrive"));
        assert_eq!(name("barrier.cta.sync.aligned"), Some("barrier"));
        assert_eq!(name("ld.global.b32"), Some("ld"));
        assert_eq!(name("ret"), Some("ret"));
        assert_eq!(name("retain"), None);
    }

    #[test]
    fn names_are_different() {
        let mut names: Vec<&str> = CHAPTERS.into_iter().flatten().map(|row| row.name).collect();
        let all = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), all);
    }
}
