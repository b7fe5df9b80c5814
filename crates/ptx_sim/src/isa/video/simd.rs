//! Operations on two half-words or four bytes of each operand.

use super::{Control, extract, range, video};
use crate::isa::lift::lift_call;
use crate::isa::table::Table;

fn average(a: i64, b: i64) -> i64 {
    (a + b + i64::from(a + b >= 0)) >> 1
}

/// Computes an element for each of `n` parts of the operands, and merges them into `c` or adds them to it.
fn simd(n: u32, add: bool, f: fn(i64, i64) -> i64, [a, b, c]: [u32; 3], control: Control) -> u32 {
    let width = 32 / n;
    let both = u64::from(a) | u64::from(b) << 32;
    let (low, high) = range(width, control.is_signed(0));
    let source = |operand, i| {
        extract(both, (width * control.part(operand, i) % 64, width), control.is_signed(1 + operand as usize))
    };
    (0..n).filter(|i| control.bit(Control::DESTINATION + i)).fold(c, |d, i| {
        let element: i64 = f(source(0, i), source(1, i));
        let element = if control.is_saturated() { element.clamp(low, high) } else { element };
        let field = (((1u64 << width) - 1) as u32) << (width * i);
        if add { d.wrapping_add(element as u32) } else { d & !field | (element as u32) << (width * i) & field }
    })
}

/// Adds these rows.
pub fn list(t: &mut Table) {
    macro_rules! operation {
        ($name:literal, |$a:ident, $b:ident| $value:expr) => {
            operation!($name, "", |$a, $b| $value);
        };
        ($name:literal, $mode:literal, |$a:ident, $b:ident| $value:expr) => {
            operation!(@ $name, "2", $mode, 2, |$a, $b| $value);
            operation!(@ $name, "4", $mode, 4, |$a, $b| $value);
        };
        (@ $name:literal, $n:literal, $mode:literal, $count:expr, |$a:ident, $b:ident| $value:expr) => {
            operation!(@ concat!("video.v", $name, $n, $mode), $count, false, |$a, $b| $value);
            operation!(@ concat!("video.v", $name, $n, $mode, ".add"), $count, true, |$a, $b| $value);
        };
        (@ $name:expr, $count:expr, $add:literal, |$a:ident, $b:ident| $value:expr) => {
            t.row($name, video($count), lift_call!((u32, u32, u32, u32) -> u32, |a, b, c, control| {
                simd($count, $add, |$a, $b| $value, [a, b, c], Control(control))
            }));
        };
    }
    operation!("add", |a, b| a + b);
    operation!("sub", |a, b| a - b);
    operation!("avrg", |a, b| average(a, b));
    operation!("absdiff", |a, b| (a - b).abs());
    operation!("min", |a, b| a.min(b));
    operation!("max", |a, b| a.max(b));
    operation!("set", ".eq", |a, b| i64::from(a == b));
    operation!("set", ".ne", |a, b| i64::from(a != b));
    operation!("set", ".lt", |a, b| i64::from(a < b));
    operation!("set", ".le", |a, b| i64::from(a <= b));
    operation!("set", ".gt", |a, b| i64::from(a > b));
    operation!("set", ".ge", |a, b| i64::from(a >= b));
}

#[cfg(test)]
mod tests {
    use super::Control;
    use crate::isa::testing::run;

    /// The control word of an instruction of two or four elements in their places.
    fn places(n: u32) -> Control {
        (0..n)
            .fold(Control::default(), |control, i| control.select(0, i, i).select(1, i, n + i))
            .destination((1 << n) - 1)
    }

    fn on(opcode: &str, a: u32, b: u32, c: u32, control: Control) -> u64 {
        run(opcode, &[a.into(), b.into(), c.into(), control.word().into()])[0]
    }

    #[test]
    fn elements() {
        let (unsigned, signed) = (places(4), places(4).signed(0).signed(1).signed(2));
        assert_eq!(on("video.vadd4", 0xff01_7f10, 0x0101_0101, 0, unsigned), 0x0002_8011);
        assert_eq!(on("video.vadd4", 0xff01_7f10, 0x0101_0101, 0, unsigned.saturated()), 0xff02_8011);
        assert_eq!(on("video.vadd4", 0xff01_7f10, 0x0101_0101, 0, signed.saturated()), 0x0002_7f11);
        assert_eq!(on("video.vabsdiff4.add", 0xff00_0503, 0x0002_0701, 1000, unsigned), 1000 + 255 + 2 + 2 + 2);
        assert_eq!(on("video.vavrg4", 0xff00_0503, 0xff03_0601, 0, unsigned), 0xff02_0602);
        assert_eq!(on("video.vavrg2", 0xffff_0001, 0xfffe_0002, 0, places(2).signed(1).signed(2)), 0xfffe_0002);
        assert_eq!(on("video.vset2.lt", 0xffff_0001, 0x0000_0002, 0, places(2)), 1);
        assert_eq!(on("video.vset2.lt", 0xffff_0001, 0x0000_0002, 0, places(2).signed(1).signed(2)), 0x0001_0001);
        // Elements that are not written come from the third operand; others may come from either source.
        let swapped = Control::default().select(0, 0, 3).select(1, 0, 1).destination(1);
        assert_eq!(on("video.vsub2", 0x0005_0000, 0x0009_0000, 0xabcd_1234, swapped), 0xabcd_0004);
    }
}
