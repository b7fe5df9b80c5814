//! Loops over a thread's registers. An array that is indexed at run time would lie in local memory, and LLVM keeps
//! loops whose unrolled form is long.

/// `unroll!(i < N => { … })`: the block once for every number below a constant, 32 at most, each time with the number
/// as one that LLVM knows. The compiler sees 32 of them, so the inner loop of a nest belongs into a function of its
/// own.
macro_rules! unroll {
    ($i:ident < $n:expr => $body:block) => {
        $crate::unroll::unroll! {
            @ $i $n, $body; 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31
        }
    };
    (@ $i:ident $n:expr, $body:block; $($k:literal)*) => {
        const { assert!($n <= 32, "more rounds than `unroll!` has") };
        $(
            if $k < $n {
                let $i = $crate::unroll::known($k);
                $body
            }
        )*
    };
}
pub(crate) use unroll;

/// The number itself. rustc would complain about a literal index in a block that is never reached.
#[inline(always)]
pub(crate) fn known(number: usize) -> usize {
    number
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_number_once_in_order() {
        fn rounds<const N: usize>() -> usize {
            let mut next = 0;
            unroll!(i < N => {
                assert_eq!(i, next);
                next += 1;
            });
            next
        }
        assert_eq!((rounds::<0>(), rounds::<1>(), rounds::<31>(), rounds::<32>()), (0, 1, 31, 32));
    }
}
