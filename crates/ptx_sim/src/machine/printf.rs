//! C's `printf` formats, for `vprintf` with CUDA's arguments: integers of 4 bytes, all other arguments of 8 bytes, each
//! aligned to its size.

/// Result of a formatted call.
#[derive(Debug, PartialEq, Eq)]
pub struct Printed {
    pub text: String,
    /// Number of arguments that were consumed.
    pub arguments: u64,
}

/// One conversion: the flags between `%` and its letter.
#[derive(Clone, Copy, Debug, Default)]
struct Spec {
    left: bool,
    plus: bool,
    space: bool,
    alternate: bool,
    zero: bool,
    width: usize,
    precision: Option<usize>,
    wide: bool,
    /// Width in bits for `h` and `hh`.
    narrow: Option<u32>,
}

/// Limit on widths and precisions, so that an arbitrary `*` argument cannot exhaust memory.
const MOST: usize = 4096;

/// Formats a string. `next(bytes)` returns the next argument; `string` reads a string at a pointer, up to a number of
/// bytes.
pub fn format(
    format: &[u8],
    next: &mut dyn FnMut(u64) -> u64,
    string: &mut dyn FnMut(u64, u64) -> Option<Vec<u8>>,
) -> Printed {
    let mut out = Vec::new();
    let mut arguments = 0;
    let mut next = |bytes| {
        arguments += 1;
        next(bytes)
    };
    let mut rest = format;
    while let Some((&byte, after)) = rest.split_first() {
        rest = after;
        if byte != b'%' {
            out.push(byte);
            continue;
        }
        let (spec, after) = parse(rest, &mut next);
        let Some((&letter, after)) = after.split_first() else {
            out.push(b'%');
            break;
        };
        rest = after;
        match letter {
            b'%' => out.push(b'%'),
            b's' => {
                let address = next(8);
                let most = spec.precision.unwrap_or(usize::MAX);
                let mut text = string(address, most as u64).unwrap_or_else(|| b"(null)".to_vec());
                text.truncate(most);
                pad(&mut out, spec, b"", &text, false);
            }
            b'c' => pad(&mut out, spec, b"", &[next(4) as u8], false),
            b'd' | b'i' | b'u' | b'o' | b'x' | b'X' => {
                let value = next(if spec.wide { 8 } else { 4 });
                integer(&mut out, spec, letter, value);
            }
            b'p' => {
                let digits = format!("{:#x}", next(8));
                pad(&mut out, spec, b"", digits.as_bytes(), false);
            }
            b'f' | b'F' | b'e' | b'E' | b'g' | b'G' | b'a' | b'A' => {
                float(&mut out, spec, letter, f64::from_bits(next(8)));
            }
            other => out.extend([b'%', other]),
        }
    }
    Printed { text: String::from_utf8_lossy(&out).into_owned(), arguments }
}

fn parse<'a>(mut rest: &'a [u8], next: &mut dyn FnMut(u64) -> u64) -> (Spec, &'a [u8]) {
    let mut spec = Spec::default();
    while let Some((&flag, after)) = rest.split_first() {
        match flag {
            b'-' => spec.left = true,
            b'+' => spec.plus = true,
            b' ' => spec.space = true,
            b'#' => spec.alternate = true,
            b'0' => spec.zero = true,
            _ => break,
        }
        rest = after;
    }
    let width;
    (width, rest) = number(rest, next);
    let width = width.unwrap_or(0);
    spec.left |= width < 0;
    spec.width = width.unsigned_abs() as usize;
    spec.width = spec.width.min(MOST);
    if let Some(after) = rest.strip_prefix(b".") {
        let precision;
        (precision, rest) = number(after, next);
        // A negative precision counts as absent.
        spec.precision = usize::try_from(precision.unwrap_or(0)).ok().map(|precision| precision.min(MOST));
    }
    while let Some((&letter, after)) = rest.split_first() {
        match letter {
            b'h' => spec.narrow = Some(if spec.narrow.is_some() { 8 } else { 16 }),
            b'l' | b'j' | b'z' | b't' | b'L' | b'q' => spec.wide = true,
            _ => break,
        }
        rest = after;
    }
    (spec, rest)
}

fn number<'a>(rest: &'a [u8], next: &mut dyn FnMut(u64) -> u64) -> (Option<i32>, &'a [u8]) {
    if let Some(after) = rest.strip_prefix(b"*") {
        return (Some(next(4) as i32), after);
    }
    let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let (digits, after) = rest.split_at(digits);
    let value =
        digits.iter().fold(0_i32, |value, digit| value.saturating_mul(10).saturating_add(i32::from(digit - b'0')));
    ((!digits.is_empty()).then_some(value), after)
}

fn integer(out: &mut Vec<u8>, spec: Spec, letter: u8, value: u64) {
    let bits = if spec.wide { 64 } else { spec.narrow.unwrap_or(32) };
    let unsigned = if bits == 64 { value } else { value & ((1 << bits) - 1) };
    let signed = (value << (64 - bits)) as i64 >> (64 - bits);
    let mut digits = match letter {
        b'd' | b'i' => signed.unsigned_abs().to_string(),
        b'o' => format!("{unsigned:o}"),
        b'x' => format!("{unsigned:x}"),
        b'X' => format!("{unsigned:X}"),
        _ => unsigned.to_string(),
    };
    if let Some(precision) = spec.precision {
        if precision == 0 && unsigned == 0 {
            digits.clear();
        }
        digits.insert_str(0, &"0".repeat(precision.saturating_sub(digits.len())));
    }
    let prefix: &[u8] = match letter {
        b'd' | b'i' => sign(spec, signed < 0),
        b'x' if spec.alternate && unsigned != 0 => b"0x",
        b'X' if spec.alternate && unsigned != 0 => b"0X",
        b'o' if spec.alternate && !digits.starts_with('0') => b"0",
        _ => b"",
    };
    pad(out, spec, prefix, digits.as_bytes(), spec.precision.is_none());
}

fn float(out: &mut Vec<u8>, spec: Spec, letter: u8, value: f64) {
    let magnitude = value.abs();
    let precision = spec.precision.unwrap_or(6);
    let digits = if !value.is_finite() {
        if value.is_nan() { "nan".to_owned() } else { "inf".to_owned() }
    } else {
        match letter.to_ascii_lowercase() {
            b'f' => fixed(magnitude, precision, spec.alternate),
            b'e' => exponential(magnitude, precision, spec.alternate),
            b'g' => general(magnitude, precision.max(1), spec.alternate),
            _ => hexadecimal(magnitude, spec.precision),
        }
    };
    let digits = if letter.is_ascii_uppercase() { digits.to_ascii_uppercase() } else { digits };
    let negative = value.is_sign_negative() && !value.is_nan();
    pad(out, spec, sign(spec, negative), digits.as_bytes(), value.is_finite());
}

fn fixed(value: f64, precision: usize, point: bool) -> String {
    let point = if point && precision == 0 { "." } else { "" };
    format!("{value:.precision$}{point}")
}

fn exponential(value: f64, precision: usize, point: bool) -> String {
    let text = format!("{value:.precision$e}");
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let point = if point && precision == 0 { "." } else { "" };
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{mantissa}{point}e{sign}{:02}", exponent.abs())
}

fn general(value: f64, precision: usize, keep_zeros: bool) -> String {
    let scientific = exponential(value, precision - 1, keep_zeros);
    let exponent: i32 = scientific.split_once('e').and_then(|(_, exponent)| exponent.parse().ok()).unwrap_or(0);
    let use_fixed = (-4..precision as i32).contains(&exponent);
    let text =
        if use_fixed { fixed(value, (precision as i32 - 1 - exponent) as usize, keep_zeros) } else { scientific };
    if keep_zeros {
        return text;
    }
    let (number, tail) = text.split_once('e').unwrap_or((&text, ""));
    let number = if number.contains('.') { number.trim_end_matches('0').trim_end_matches('.') } else { number };
    if tail.is_empty() { number.to_owned() } else { format!("{number}e{tail}") }
}

fn hexadecimal(value: f64, precision: Option<usize>) -> String {
    let bits = value.to_bits();
    let (mut fraction, stored) = (bits & ((1 << 52) - 1), (bits >> 52 & 0x7ff) as i32);
    let exponent = if bits == 0 { 0 } else { stored.max(1) - 1023 };
    let mut lead = u64::from(stored != 0);
    if let Some(digits) = precision.filter(|digits| *digits < 13) {
        let dropped = 52 - 4 * digits as u32;
        let whole = lead << 52 | fraction;
        let half = 1_u64 << (dropped - 1);
        let even = whole >> dropped & 1;
        let rounded = (whole + half - 1 + even) >> dropped << dropped;
        (lead, fraction) = (rounded >> 52, rounded & ((1 << 52) - 1));
    }
    let mut digits = format!("{fraction:013x}");
    match precision {
        Some(wanted) => {
            digits.truncate(wanted);
            digits.push_str(&"0".repeat(wanted.saturating_sub(digits.len())));
        }
        None => digits.truncate(digits.trim_end_matches('0').len()),
    }
    let point = if digits.is_empty() { "" } else { "." };
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("0x{lead}{point}{digits}p{sign}{}", exponent.abs())
}

fn sign(spec: Spec, negative: bool) -> &'static [u8] {
    match (negative, spec.plus, spec.space) {
        (true, ..) => b"-",
        (_, true, _) => b"+",
        (_, _, true) => b" ",
        _ => b"",
    }
}

fn pad(out: &mut Vec<u8>, spec: Spec, prefix: &[u8], digits: &[u8], zeros: bool) {
    let missing = spec.width.saturating_sub(prefix.len() + digits.len());
    let fill = |out: &mut Vec<u8>, byte| out.extend(std::iter::repeat_n(byte, missing));
    let zero = spec.zero && zeros && !spec.left;
    if !spec.left && !zero {
        fill(out, b' ');
    }
    out.extend(prefix);
    if zero {
        fill(out, b'0');
    }
    out.extend(digits);
    if spec.left {
        fill(out, b' ');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Formats with arguments given as the bits that `vprintf` would read.
    fn printed(text: &str, arguments: &[u64]) -> String {
        let mut rest = arguments.iter();
        let mut next = |_| *rest.next().expect("argument");
        let mut string = |address, _| (address != 0).then(|| format!("s{address}").into_bytes());
        let printed = format(text.as_bytes(), &mut next, &mut string);
        assert_eq!(printed.arguments, arguments.len() as u64);
        printed.text
    }

    #[test]
    fn integers() {
        assert_eq!(printed("%d|%5d|%-5d|%05d|%+d", &[1, 2, 3, 4, 5]), "1|    2|3    |00004|+5");
        assert_eq!(printed("%d %u", &[u64::from(u32::MAX), u64::from(u32::MAX)]), "-1 4294967295");
        assert_eq!(printed("%x %X %#x %#o %08x", &[255, 255, 255, 8, 0xabc]), "ff FF 0xff 010 00000abc");
        assert_eq!(printed("%lld %llu %ld %zu", &[u64::MAX, u64::MAX, 1, 2]), "-1 18446744073709551615 1 2");
        assert_eq!(printed("%hhd %hu", &[0x180, 0x1_0001]), "-128 1");
        assert_eq!(printed("[%*d] [%-*d] [%.3d] [%.0d]", &[4, 7, 4, 7, 7, 0]), "[   7] [7   ] [007] []");
    }

    #[test]
    fn floats() {
        let f = |value: f64| value.to_bits();
        assert_eq!(printed("%f %.2f %8.3f %.0f", &[f(1.5), f(2.345), f(-1.0), f(2.5)]), "1.500000 2.35   -1.000 2");
        assert_eq!(printed("%e %.2E %e", &[f(12345.678), f(0.00012), f(0.0)]), "1.234568e+04 1.20E-04 0.000000e+00");
        assert_eq!(
            printed("%g %g %g %g %g", &[f(100000.0), f(1e6), f(0.0001), f(1e-5), f(0.5)]),
            "100000 1e+06 0.0001 1e-05 0.5"
        );
        assert_eq!(printed("%g %#g %.3g", &[f(0.0), f(1.0), f(1234.0)]), "0 1.00000 1.23e+03");
        assert_eq!(
            printed("%f %F %5.1f|%05f", &[f(f64::INFINITY), f(f64::NAN), f(-0.0), f(f64::NEG_INFINITY)]),
            "inf NAN  -0.0| -inf"
        );
        assert_eq!(printed("%a %a %.1a", &[f(1.0), f(0.15625), f(1.97)]), "0x1p+0 0x1.4p-3 0x2.0p+0");
    }

    #[test]
    fn the_rest() {
        assert_eq!(printed("%s|%6s|%-6s|%.1s|%s", &[1, 2, 3, 4, 0]), "s1|    s2|s3    |s|(null)");
        assert_eq!(printed("%c%c %p 100%%", &[72, 105, 0xff]), "Hi 0xff 100%");
        assert_eq!(printed("%q", &[]), "%");
        assert_eq!(printed("50%", &[]), "50%");
    }
}
