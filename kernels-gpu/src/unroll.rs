//! Unrolled loops over a thread's registers: an array that is indexed at run time would be in local memory, and LLVM
//! does not unroll loops with a long body.

/// `unroll!(i < N => { … })`: repeats the block for every number below the constant `N`, at most 32, with `i` as a
/// constant. All 32 are expanded, so an inner loop belongs in a function; `if const` drops those from `N` on for LLVM.
macro_rules! unroll {
    ($i:ident < $n:expr => $body:block) => {
        $crate::unroll::unroll! {
            @ $i $n, $body; 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31
        }
    };
    (@ $i:ident $n:expr, $body:block; $($k:literal)*) => {
        const { assert!($n <= 32, "`unroll!` supports at most 32 rounds") };
        $(
            if const { $k < $n } {
                let $i = $crate::unroll::known($k);
                $body
            }
        )*
    };
}
pub(crate) use unroll;

/// Returns the number. A literal index would make rustc report an error in a block that is never reached.
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
