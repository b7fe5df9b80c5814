//! Ranks and durations in messages.

use super::hello::Hello;
use std::time::Duration;

/// Ranks that a message lists; the others are counted.
const LISTED: usize = 16;

/// The rank with its host: `rank 3 (node7 4711)`.
pub fn name(rank: usize, hello: Option<&Hello>) -> String {
    match hello {
        Some(hello) if !hello.host.is_empty() => format!("rank {rank} ({})", hello.host),
        _ => format!("rank {rank}"),
    }
}

/// The ranks: `rank 3`, `ranks 2, 5 and 7`.
pub fn ranks(ranks: &[usize]) -> String {
    let mut listed: Vec<String> = ranks.iter().take(LISTED).map(usize::to_string).collect();
    if ranks.len() > LISTED {
        listed.push(format!("{} more", ranks.len() - LISTED));
    }
    match listed.as_slice() {
        [] => "no rank".to_owned(),
        [one] => format!("rank {one}"),
        [first @ .., last] => format!("ranks {} and {last}", first.join(", ")),
    }
}

/// The duration: `300 s`.
pub fn seconds(duration: Duration) -> String {
    format!("{} s", duration.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_are_listed_up_to_a_limit() {
        assert_eq!(ranks(&[3]), "rank 3");
        assert_eq!(ranks(&[2, 5]), "ranks 2 and 5");
        assert_eq!(ranks(&[2, 5, 7]), "ranks 2, 5 and 7");
        let many: Vec<usize> = (0..20).collect();
        assert!(ranks(&many).ends_with(", 15 and 4 more"));
    }

    #[test]
    fn durations_are_seconds() {
        assert_eq!(seconds(Duration::from_secs(300)), "300 s");
        assert_eq!(seconds(Duration::from_millis(250)), "0.25 s");
    }
}
