//! The versions and architectures of PTX. PTX ISA, "PTX Module Directives" and "Release Notes".

/// The minor numbers of each major version.
const VERSIONS: [(u32, u32); 9] = [(1, 5), (2, 3), (3, 2), (4, 3), (5, 0), (6, 5), (7, 8), (8, 8), (9, 5)];

/// Architectures, and the version that introduced each.
const TARGETS: [(u32, (u32, u32)); 31] = [
    (10, (1, 0)),
    (11, (1, 0)),
    (12, (1, 2)),
    (13, (1, 2)),
    (20, (2, 0)),
    (21, (2, 0)),
    (30, (3, 0)),
    (32, (4, 0)),
    (35, (3, 1)),
    (37, (4, 1)),
    (50, (4, 0)),
    (52, (4, 1)),
    (53, (4, 2)),
    (60, (5, 0)),
    (61, (5, 0)),
    (62, (5, 0)),
    (70, (6, 0)),
    (72, (6, 1)),
    (75, (6, 3)),
    (80, (7, 0)),
    (86, (7, 1)),
    (87, (7, 4)),
    (88, (9, 0)),
    (89, (7, 8)),
    (90, (7, 8)),
    (100, (8, 6)),
    (101, (8, 6)),
    (103, (8, 8)),
    (110, (9, 0)),
    (120, (8, 7)),
    (121, (8, 8)),
];

/// Whether there is a version.
pub fn is_version((major, minor): (u32, u32)) -> bool {
    VERSIONS.iter().any(|&(known, last)| known == major && minor <= last)
}

/// Returns the first version that has an architecture, such as `sm_90a`; `None` if there is no such architecture.
pub fn first_version(target: &str) -> Option<(u32, u32)> {
    let number = target.strip_prefix("sm_").or_else(|| target.strip_prefix("compute_"))?;
    let digits = number.trim_end_matches(['a', 'f']);
    let known = TARGETS.iter().find(|(sm, _)| sm.to_string() == digits)?;
    match number.strip_prefix(digits)? {
        "" => Some(known.1),
        "a" if known.0 >= 90 => Some(known.1.max((8, 0))),
        "f" if known.0 >= 100 => Some(known.1.max((8, 8))),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_and_targets_of_ptxas() {
        assert!(is_version((9, 0)) && is_version((5, 0)) && !is_version((5, 1)) && !is_version((42, 0)));
        assert_eq!(first_version("sm_75"), Some((6, 3)));
        assert_eq!(first_version("sm_90a"), Some((8, 0)));
        assert_eq!(first_version("sm_100f"), Some((8, 8)));
        assert_eq!([first_version("sm_75a"), first_version("sm_91"), first_version("75")], [None; 3]);
    }
}
