//! How a thread's sums become elements of the product.

use super::problem::Problem;
use super::ring::SUMS;
use crate::epilogue::{Epilogue, FINISHED};
use crate::unroll::unroll;
use cuda_std::misc::opaque;
use cuda_std::warpgroup::Sums;

/// Blocks of 8 columns of which a thread loads the addends before it uses the first.
const AT_ONCE: usize = 4;

/// The product in memory, and what becomes of its sums.
#[derive(Clone, Copy)]
pub struct Output {
    pub c: *mut f32,
    /// Bits of [`crate::epilogue`].
    pub how: u32,
    /// What becomes of sums with [`FINISHED`].
    pub epilogue: Epilogue<f32>,
}

impl Output {
    /// The output of a product: its memory and, if there is one, its addend.
    #[inline(always)]
    pub fn of(mut self, problem: &Problem, product: u32) -> Self {
        let elements = problem.steps[2] as usize * product as usize;
        self.c = self.c.wrapping_add(elements);
        let addend = self.epilogue.addend.cast::<f32>();
        if !addend.is_null() {
            self.epilogue.addend = addend.wrapping_add(elements).cast();
        }
        self
    }

    /// Stores a thread's elements, those inside the product, the first of which has this row and column.
    ///
    /// # Safety
    /// There is room for the product, and the epilogue has its vectors and matrix.
    #[inline(always)]
    pub unsafe fn store(self, problem: &Problem, total: &Sums<SUMS>, row: u32, column: u32) {
        // SAFETY: the caller upholds this function's contract.
        unsafe {
            if self.how & FINISHED != 0 {
                self.finish(problem, total, row, column);
            } else {
                write(problem, total, row, column, self.pairs(problem), self.c);
            }
        }
    }

    /// Finishes and writes an element.
    ///
    /// # Safety
    /// As for [`store`](Self::store), for an element inside the product.
    #[inline(always)]
    pub unsafe fn write(self, problem: &Problem, place: [u32; 2], sum: f32) {
        // SAFETY: the caller upholds this function's contract.
        unsafe {
            let element = if self.how & FINISHED == 0 {
                sum
            } else {
                let [row, column] = place.map(|at| at as usize);
                let mut result = [sum];
                let (rows, columns) = ([self.epilogue.row(row)], self.epilogue.columns(column, problem.n as usize));
                self.epilogue.finish(&mut result, &rows, &columns, &[self.addend(problem, place)], self.how);
                result[0]
            };
            problem.element(self.c, place[0], place[1]).write(element);
        }
    }

    /// An element of the addend; 0 without one.
    ///
    /// # Safety
    /// The element is inside the product.
    #[inline(always)]
    unsafe fn addend(self, problem: &Problem, [row, column]: [u32; 2]) -> f32 {
        let addend = self.epilogue.addend.cast_mut().cast::<f32>();
        // SAFETY: the caller upholds this function's contract.
        if addend.is_null() { 0.0 } else { unsafe { problem.element(addend, row, column).read() } }
    }

    /// Finishes and writes a thread's elements.
    ///
    /// # Safety
    /// As for [`store`](Self::store).
    #[inline(always)]
    unsafe fn finish(self, problem: &Problem, total: &Sums<SUMS>, row: u32, column: u32) {
        let (total, rows) = (total.get(), [row, row + 8]);
        let last = problem.m.wrapping_sub(1);
        // SAFETY: a row that is not there has the scale of the last one, which is not used.
        let scales = rows.map(|row| unsafe { self.epilogue.row(row.min(last) as usize) });
        let pairs = self.pairs(problem);
        let mut group = 0;
        // Loops around code that is there once; only the registers differ, which have no index.
        while group < SUMS / (4 * AT_ONCE) {
            let first = column + (group * AT_ONCE) as u32 * 8;
            let mut sums = [0.0; 4 * AT_ONCE];
            unroll!(known < SUMS / (4 * AT_ONCE) => { if known == group { take(&mut sums, total, known) } });
            let mut addends = [0.0; 4 * AT_ONCE];
            unroll!(block < AT_ONCE => {
                // SAFETY: the caller upholds this function's contract.
                unsafe { self.load_addends(problem, rows, first + block as u32 * 8, pairs, &mut addends, block * 4) };
            });
            // LLVM does not know the end, and does not unroll the loop.
            let (mut block, end) = (0, opaque(AT_ONCE as u64) as u32);
            while block < end {
                let four = [sums[0], sums[1], sums[2], sums[3]];
                let added = [addends[0], addends[1], addends[2], addends[3]];
                // SAFETY: the caller upholds this function's contract.
                unsafe { self.finish_block(problem, (rows, first + block * 8), scales, pairs, (four, added)) };
                turn(&mut sums);
                turn(&mut addends);
                block += 1;
            }
            group += 1;
        }
    }

    /// Whether two neighbours, the first of which is in an even column, lie on a boundary in the product and the
    /// addend.
    #[inline(always)]
    fn pairs(self, problem: &Problem) -> bool {
        let even = (problem.n | problem.pitches[2]).is_multiple_of(2);
        even && (self.c.addr() | self.epilogue.addend.addr()).is_multiple_of(8)
    }

    /// Reads the addends of two rows and two columns, those inside the product, to four places from `at` on.
    ///
    /// # Safety
    /// As for [`store`](Self::store).
    #[inline(always)]
    unsafe fn load_addends<const N: usize>(
        self,
        problem: &Problem,
        rows: [u32; 2],
        column: u32,
        pairs: bool,
        to: &mut [f32; N],
        at: usize,
    ) {
        let addend = self.epilogue.addend.cast_mut().cast::<f32>();
        if addend.is_null() {
            return;
        }
        unroll!(half < 2 => {
            if rows[half] < problem.m && column < problem.n {
                let from = problem.element(addend, rows[half], column);
                // SAFETY: the elements are inside the product, as is the second if the first is on a boundary.
                unsafe {
                    if pairs {
                        let both = from.cast::<u64>().read();
                        to[at + 2 * half] = f32::from_bits(both as u32);
                        to[at + 2 * half + 1] = f32::from_bits((both >> 32) as u32);
                    } else {
                        to[at + 2 * half] = from.read();
                        if column + 1 < problem.n {
                            to[at + 2 * half + 1] = from.add(1).read();
                        }
                    }
                }
            }
        });
    }

    /// Finishes and writes the sums of two rows and two columns, those inside the product.
    ///
    /// # Safety
    /// As for [`store`](Self::store).
    #[inline(always)]
    unsafe fn finish_block(
        self,
        problem: &Problem,
        (rows, column): ([u32; 2], u32),
        scales: [f32; 2],
        pairs: bool,
        (mut sums, addends): ([f32; 4], [f32; 4]),
    ) {
        if sums[0].is_nan() | sums[1].is_nan() | sums[2].is_nan() | sums[3].is_nan() {
            // SAFETY: the caller upholds this function's contract.
            unsafe { correct_sums(problem, rows, column, &mut sums) };
        }
        // SAFETY: the product has `n` columns.
        let [even, odd] = unsafe { self.epilogue.columns(column as usize, problem.n as usize) };
        let rows_of_sums = [scales[0], scales[0], scales[1], scales[1]];
        self.epilogue.finish(&mut sums, &rows_of_sums, &[even, odd, even, odd], &addends, self.how);
        // SAFETY: the caller upholds this function's contract.
        unsafe {
            write_pair(problem, [sums[0], sums[1]], rows[0], column, pairs, self.c);
            write_pair(problem, [sums[2], sums[3]], rows[1], column, pairs, self.c);
        }
    }
}

/// Computes the NaN among the sums of two rows and two columns again, those inside the product.
///
/// # Safety
/// The factors have their sizes.
#[inline(always)]
unsafe fn correct_sums(problem: &Problem, rows: [u32; 2], column: u32, sums: &mut [f32; 4]) {
    let (mut i, end) = (0, opaque(4) as u32);
    while i < end {
        let (row, column) = (if i < 2 { rows[0] } else { rows[1] }, column + i % 2);
        if sums[0].is_nan() && row < problem.m && column < problem.n {
            // SAFETY: row and column are inside the product.
            sums[0] = unsafe { problem.plain(row, column) };
        }
        *sums = [sums[1], sums[2], sums[3], sums[0]];
        i += 1;
    }
}

/// Copies the sums of this group.
#[inline(always)]
fn take<const N: usize>(to: &mut [f32; N], total: &[f32; SUMS], group: usize) {
    unroll!(i < N => { to[i] = total[group * N + i] });
}

/// Moves four numbers from the start to the end.
#[inline(always)]
fn turn<const N: usize>(numbers: &mut [f32; N]) {
    let before = *numbers;
    unroll!(i < N => { numbers[i] = before[(i + 4) % N] });
}

/// Writes the thread's elements, those inside the product.
///
/// # Safety
/// As for [`write_pair`].
#[inline(always)]
unsafe fn write(problem: &Problem, total: &Sums<SUMS>, row: u32, column: u32, pairs: bool, c: *mut f32) {
    let total = total.get();
    let mut has_nan = false;
    unroll!(block < SUMS / 4 => {
        unroll!(half < 2 => {
            let [even, odd] = [total[block * 4 + half * 2], total[block * 4 + half * 2 + 1]];
            has_nan |= even.is_nan() | odd.is_nan();
            // SAFETY: the caller upholds this function's contract.
            unsafe { write_pair(problem, [even, odd], row + half as u32 * 8, column + block as u32 * 8, pairs, c) };
        });
    });
    if has_nan {
        // SAFETY: the caller upholds this function's contract.
        unsafe { correct(problem, row, column, c) };
    }
}

/// Writes two neighbours, at once if `pairs`.
///
/// # Safety
/// `c` has room for the product, and is aligned to 8 if `pairs`, with an even number of columns and an even pitch.
#[inline(always)]
unsafe fn write_pair(problem: &Problem, values: [f32; 2], row: u32, column: u32, pairs: bool, c: *mut f32) {
    if row >= problem.m || column >= problem.n {
        return;
    }
    let at = problem.element(c, row, column);
    // SAFETY: row and column are inside; the next column is, too, if there is an even number of them.
    unsafe {
        if pairs {
            at.cast::<u64>().write(u64::from(values[0].to_bits()) | u64::from(values[1].to_bits()) << 32);
        } else {
            at.write(values[0]);
            if column + 1 < problem.n {
                at.add(1).write(values[1]);
            }
        }
    }
}

/// Computes the NaN among the thread's elements again. They are read back from the product, so that there is no second
/// use of the registers.
///
/// # Safety
/// The thread has written its elements to `c`.
#[inline(always)]
unsafe fn correct(problem: &Problem, row: u32, column: u32, c: *mut f32) {
    let mut i = 0;
    while i < SUMS as u32 {
        let (row, column) = (row + i / 2 % 2 * 8, column + i / 4 * 8 + i % 2);
        if row < problem.m && column < problem.n {
            let at = problem.element(c, row, column);
            // SAFETY: the element is inside the product, and this thread has written it.
            unsafe {
                if (*at).is_nan() {
                    *at = problem.plain(row, column);
                }
            }
        }
        i += 1;
    }
}
