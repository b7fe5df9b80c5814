//! Loops over a thread's registers. An array that is indexed at run time would lie in memory, and LLVM leaves large nests as loops.

/// `unroll!(i in 0..N => { … })`: the block once for each `i`, which is a constant there; at most 16 times. The compiler sees all of them, so
/// the inner loop of a nest belongs into a function of its own.
macro_rules! unroll {
    ($i:ident in 0..$n:expr => $body:block) => {
        $crate::matmul::unroll::unroll!(@ $i, $n, $body, 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15)
    };
    (@ $i:ident, $n:expr, $body:block, $($k:literal)*) => {
        const { assert!($n <= 16, "more rounds than `unroll!` has") };
        $( if $k < $n {
            let $i: usize = $k;
            $body
        } )*
    };
}
pub(super) use unroll;
