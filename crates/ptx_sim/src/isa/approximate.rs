//! The fast functions of `f32` and `f64`: computed in `f64` and rounded once, which is within the error bounds that PTX
//! gives, and not always the bits that a GPU gives.

use super::float::{canonical, canonical64, flush, with_ftz};
use super::lift::lift_call;
use super::table::Table;

/// Adds this chapter's rows.
pub fn list(t: &mut Table) {
    with_ftz!(t, lift_call, ["div.approx"], (a, b), divide(a, b));
    with_ftz!(t, lift_call, ["rcp.approx"], (a), 1.0 / a);
    with_ftz!(t, lift_call, ["sqrt.approx"], (a), a.sqrt());
    with_ftz!(t, lift_call, ["rsqrt.approx"], (a), (1.0 / f64::from(a).sqrt()) as f32);
    with_ftz!(t, lift_call, ["ex2.approx"], (a), f64::from(a).exp2() as f32);
    with_ftz!(t, lift_call, ["lg2.approx"], (a), f64::from(a).log2() as f32);
    with_ftz!(t, lift_call, ["sin.approx"], (a), f64::from(a).sin() as f32);
    with_ftz!(t, lift_call, ["cos.approx"], (a), f64::from(a).cos() as f32);
    t.row("tanh.approx.f32", lift_call!((f32) -> f32, |a| canonical(f64::from(a).tanh() as f32)));
    t.row("rcp.approx.ftz.f64", lift_call!((f64) -> f64, |a| upper(1.0 / flush64(upper(a)))));
    t.row("rsqrt.approx.ftz.f64", lift_call!((f64) -> f64, |a| upper(1.0 / flush64(upper(a)).sqrt())));
    t.row("rsqrt.approx.f64", lift_call!((f64) -> f64, |a| canonical64(1.0 / a.sqrt())));
}

/// For divisors above 2^126 the hardware multiplies by a reciprocal that is zero.
fn divide(a: f32, b: f32) -> f32 {
    let limit = f32::from_bits(0x7e80_0000);
    if b.abs() > limit && b.is_finite() {
        return if a.is_infinite() || a.is_nan() { f32::NAN } else { 0.0f32.copysign(a) * 1.0f32.copysign(b) };
    }
    a / b
}

/// The upper half of the bits: all that these instructions read and write.
fn upper(x: f64) -> f64 {
    f64::from_bits(x.to_bits() >> 32 << 32)
}

fn flush64(x: f64) -> f64 {
    if x.abs() < f64::MIN_POSITIVE { 0.0f64.copysign(x) } else { x }
}
