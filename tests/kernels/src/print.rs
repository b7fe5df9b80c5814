//! `print!` and `println!`.

use cuda_std::io::vprintf;
use cuda_std::prelude::*;

/// A line per thread, of integers in several forms.
#[kernel]
pub unsafe fn print_integers(offset: i32) {
    let t = thread::thread_idx_x();
    println!("thread {t} of block {}: {:+} {:#06x} {:?}", thread::block_idx_x(), offset - t as i32, t * 1000, t < 2);
}

/// Floats in decimal and in scientific form.
#[kernel]
pub unsafe fn print_floats(x: f32, y: f64) {
    println!("{x} {y:.3} {x:?} {y:e} {}", f32::NAN);
}

/// More text than one call of `vprintf` takes.
#[kernel]
pub unsafe fn print_long(n: u32) {
    for i in 0..n {
        print!("{i},");
    }
    println!();
    println!("{:a>300}|{:b<10}|{}", "", "x", "a text with a % sign and a \0 zero");
}

/// C's own formatting, by `vprintf`.
#[kernel]
pub unsafe fn print_c(value: u32) {
    #[repr(C)]
    struct Arguments {
        value: u32,
        half: f64,
        text: *const core::ffi::c_char,
    }
    let mut arguments = Arguments { value, half: f64::from(value) / 2.0, text: c"text".as_ptr() };
    // SAFETY: the arguments match the format.
    unsafe { vprintf(c"%u %.2f %s %%\n".as_ptr(), (&raw mut arguments).cast()) };
}

/// Launches of the kernels above with the lines that they print.
#[cfg(not(target_arch = "nvptx64"))]
pub fn cases() -> std::vec::Vec<crate::case::Case> {
    use crate::case::Case;
    use std::format;
    use std::string::String;

    let mut integers = Case::new("print_integers", 2, 3).calls(|_| print_integers(-5));
    for (block, t) in (0..2).flat_map(|b| (0..3).map(move |t| (b, t))) {
        integers = integers.prints(format!("thread {t} of block {block}: {:+} {:#06x} {:?}", -5 - t, t * 1000, t < 2));
    }
    let (x, y) = (1.5f32, -1234.5678f64);
    let numbers: String = (0..200).map(|i| format!("{i},")).collect();
    std::vec![
        integers,
        Case::new("print_floats", 1, 1)
            .prints(format!("{x} {y:.3} {x:?} {y:e} {}", f32::NAN))
            .calls(move |_| print_floats(x, y)),
        Case::new("print_long", 1, 1)
            .prints(numbers)
            .prints(format!("{:a>300}|{:b<10}|{}", "", "x", "a text with a % sign and a  zero"))
            .calls(|_| print_long(200)),
        Case::new("print_c", 1, 1).prints("7 3.50 text %").calls(|_| print_c(7)),
    ]
}
