//! The table of what every run checks.

use super::table::{Code, Severity};

/// Codes of findings and stops of the checks that every run makes. A test compares them with the machine's sources.
pub const EVERY_RUN: &[Code] = &[
    error(
        "out-of-bounds",
        "Access outside of every allocation",
        "Compare the index with the length before the access.",
    ),
    error("null-pointer", "Access through a null pointer", "Pass the address of an allocation."),
    error("misaligned", "Misaligned access", "The address of an access must be a multiple of its size."),
    error(
        "wrong-space",
        "Access to the wrong address space",
        "Pass a pointer into the space that the instruction names.",
    ),
    error(
        "read-only",
        "Store to read-only memory",
        "Write to global memory, or initialise the variable from the host.",
    ),
    error(
        "use-after-free",
        "Access to freed memory",
        "Keep the allocation until the last launch that uses it has ended.",
    ),
    error(
        "block-ended",
        "Access to the shared memory of a block that has ended",
        "Put a cluster barrier before the end of the blocks.",
    ),
    error("double-free", "Memory is freed twice", "Let one owner free it."),
    error(
        "bad-free",
        "An address is freed that `malloc` did not return",
        "Free the address that `malloc` returned, once.",
    ),
    error(
        "stack-overflow",
        "The stack of a thread is full",
        "Limit the depth of the recursion, or the size of local arrays.",
    ),
    error(
        "out-of-memory",
        "The host has too little memory for the stacks of the threads",
        "Launch fewer threads, or make the problem smaller.",
    ),
    error(
        "bad-call",
        "Call of an address that is not a function",
        "Call through an address taken from a function of this module.",
    ),
    error(
        "branch-index",
        "The index of an indexed branch is outside its table",
        "Compare the index with the number of targets before the branch.",
    ),
    error(
        "bad-texture",
        "Wrong use of a texture or surface",
        "Pass a handle of an object whose format and shape match the instruction.",
    ),
    error(
        "printf",
        "Wrong arguments of `printf`",
        "Pass a format that ends, and one value for each of its conversions.",
    ),
    error("trap", "The kernel trapped", "The kernel panicked or an assertion failed: see the printed message."),
    error("assert", "An assertion failed", "See the printed message."),
    error("deadlock", STUCK.0, STUCK.1),
    error("livelock", STUCK.0, STUCK.1),
    error("fuel", "The launch did not end in time", "Look for a loop that does not end, or allow more instructions."),
    error("timeout", "The launch did not end in time", "Look for a loop that does not end, or allow more time."),
    error("barrier-divergence", "Part of a warp did not reach a barrier", "Move the barrier out of the branch."),
    error("barrier-id", "A barrier has no such number", "Use a number from 0 to 15."),
    error(
        "barrier-count",
        "The number of threads of a barrier is wrong",
        "Name the same multiple of 32 threads in every participant.",
    ),
    error(
        "cluster-barrier",
        "Arrivals and waits of a cluster barrier do not alternate",
        "Wait once after each arrival.",
    ),
    error(
        "cluster-rank",
        "A cluster has no block of this rank",
        "Use a rank below the number of blocks of the cluster.",
    ),
    error(
        "missing-lanes",
        "Lanes of a mask never arrive",
        "The mask must name the lanes that execute the instruction.",
    ),
    error(
        "not-in-mask",
        "A lane executes an instruction whose mask does not name it",
        "Name every lane that executes the instruction in the mask.",
    ),
    error(
        "not-aligned",
        "Lanes of a warp execute different `.aligned` instructions",
        "Let all lanes of the warp execute the same instruction together.",
    ),
    error(
        "sparse-metadata",
        "Metadata of a sparse matrix without a meaning",
        "Store two different indices for each pair of elements, in ascending order.",
    ),
    error(
        "shuffle-source",
        "Shuffle from a lane that does not participate",
        "Read only from lanes that the mask names.",
    ),
    error(
        "mbarrier-uninitialised",
        "Use of an mbarrier that is not initialised",
        "Initialise it, and order the initialisation before its first use by a barrier.",
    ),
    error(
        "mbarrier-overwritten",
        "The memory of an mbarrier was overwritten",
        "Keep other data out of its eight bytes, or invalidate it before their reuse.",
    ),
    error("mbarrier-again", "An mbarrier is initialised again", "Initialise it once, or invalidate it before."),
    error("mbarrier-in-use", "An mbarrier is invalidated while copies signal it", "Wait for the copies first."),
    error(
        "mbarrier-count",
        "The number of arrivals of an mbarrier is out of range",
        "Initialise it with the number of threads and copies that arrive.",
    ),
    error(
        "mbarrier-overflow",
        "More arrivals at an mbarrier than it expects",
        "Initialise it with the number of arrivals of a phase.",
    ),
    error(
        "mbarrier-bytes",
        "The pending bytes of an mbarrier are out of range",
        "Expect as many bytes as the copies of the phase write.",
    ),
    error(
        "mbarrier-complete",
        "The last arrival of a phase has `noComplete`",
        "Let another arrival complete the phase.",
    ),
    error(
        "mbarrier-block",
        "The mbarrier of an asynchronous store lies in another block",
        "Signal an mbarrier of the block that the store writes to.",
    ),
    error(
        "async-size",
        "The size of an asynchronous copy is not possible",
        "Copy multiples of 16 bytes, and read at most as many bytes as are written.",
    ),
    error(
        "async-not-waited",
        "Access to the bytes of an asynchronous copy before it has ended",
        "Wait for the copy before its bytes are used.",
    ),
    error(
        "tensor-map",
        "Wrong use of a tensor map",
        "Pass the address of a map that `cuTensorMapEncodeTiled` made on this device, with fields that fit each other.",
    ),
    error(
        "tensor-map-not-fenced",
        "A copy may not see how its tensor map was changed",
        "Execute `fence.proxy.tensormap::generic.acquire` between the change and the copy.",
    ),
    error(
        "warpgroup",
        "The warps of a warpgroup differ",
        "Let the four warps of an aligned group execute the same `wgmma` with the same descriptors.",
    ),
    error(
        "wgmma-not-waited",
        "Access to a register of an asynchronous product before it has ended",
        "Commit the product and wait for its group before its registers are used.",
    ),
    error(
        "wgmma-not-fenced",
        "An asynchronous product accesses registers without a fence",
        "Execute `wgmma.fence` after other accesses to the registers of a product.",
    ),
    error(
        "async-source-overwritten",
        "The source of an asynchronous copy is overwritten before it has been read",
        "Wait for the copy's reads before the source is written.",
    ),
];

const STUCK: (&str, &str) = (
    "Threads wait for an event that cannot occur",
    "Find the threads that should have arrived: the report shows where each is.",
);

const fn error(code: &'static str, title: &'static str, advice: &'static str) -> Code {
    Code { code, severity: Severity::Error, title, advice }
}

#[cfg(test)]
mod tests {
    use super::super::code;
    use super::EVERY_RUN;
    use std::collections::BTreeSet;
    use std::path::Path;

    /// Codes of launches that are refused, which are errors of the call and not findings.
    const REFUSED: &[&str] =
        &["grid-size", "block-size", "stack-size", "shared-size", "cluster-size", "cooperative-size"];
    /// Codes of programs that are not supported.
    const UNSUPPORTED: &[&str] = &["unknown-function"];

    /// The words with a hyphen between quotes in the machine's sources, all of which are codes.
    fn written(folder: &Path, found: &mut BTreeSet<String>) {
        for entry in std::fs::read_dir(folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                written(&path, found);
                continue;
            }
            let text = std::fs::read_to_string(&path).expect("a source");
            let is_code = |word: &&str| {
                word.contains('-')
                    && word.split('-').all(|part| !part.is_empty() && part.bytes().all(|b| b.is_ascii_lowercase()))
            };
            found.extend(text.split('"').filter(is_code).map(str::to_owned));
        }
    }

    #[test]
    fn every_code_of_the_machine_has_a_row_of_its_own() {
        let mut found = BTreeSet::new();
        written(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src/machine"), &mut found);
        assert!(found.contains("mbarrier-again") && found.contains("async-not-waited"), "{found:?}");
        let known = |name: &str| code(name).is_some() || REFUSED.contains(&name) || UNSUPPORTED.contains(&name);
        let missing: Vec<_> = found.iter().filter(|name| !known(name)).collect();
        assert!(missing.is_empty(), "codes without a row in every_run.rs: {missing:?}");
        let stale = EVERY_RUN.iter().map(|row| row.code).filter(|code| code.contains('-') && !found.contains(*code));
        assert_eq!(stale.collect::<Vec<_>>(), Vec::<&str>::new(), "rows that nothing reports");
    }

    #[test]
    fn no_code_has_two_rows() {
        let mut codes = BTreeSet::new();
        assert!(EVERY_RUN.iter().all(|row| codes.insert(row.code)));
        assert!(EVERY_RUN.iter().all(|row| !row.title.is_empty() && row.advice.ends_with('.')));
    }
}
