//! Every form of the scalar video instructions against the PTX ISA's pseudocode, written here once more: selectors,
//! saturation, second operations, merges, and the signs and shifts of `vmad`.

use ptx_sim::{Config, Launch, Machine, Program};

const PARTS: [&str; 7] = ["", ".b0", ".b1", ".b2", ".b3", ".h0", ".h1"];
const TYPES: [&str; 2] = ["u32", "s32"];

/// Operands, with those whose sums and products leave 32 bits.
const INPUTS: [[u32; 3]; 10] = [
    [0, 0, 0],
    [5, 3, 100],
    [3, 5, 0xffff_ffff],
    [0xffff_ffff, 1, 0x8000_0000],
    [0x8000_0000, 0x7fff_ffff, 7],
    [0x7fff_ffff, 0x7fff_ffff, 0x7fff_ffff],
    [0x8000_0000, 0x8000_0000, 0xffff_ff80],
    [0x1234_5678, 0x20, 0x89ab_cdef],
    [0x80ff_7f01, 0x7f80_ff21, 0x1122_3344],
    [0xffff_8000, 0x0000_ffff, 0x0001_0000],
];

/// One instruction, by its parts.
#[derive(Clone)]
struct Form {
    name: &'static str,
    /// Types of the destination, `a` and `b`; `vset` has none of the first.
    types: [&'static str; 3],
    saturated: bool,
    /// `clamp`, `wrap` or a comparison.
    mode: &'static str,
    second: &'static str,
    /// Parts of the destination, `a` and `b`.
    parts: [&'static str; 3],
    /// Signs of `a`, `b` and `c`.
    minus: [bool; 3],
    plus_one: bool,
    shift: u32,
}

impl Form {
    fn text(&self) -> String {
        let mut words = vec![self.name.to_owned()];
        words.extend(self.types.iter().skip(usize::from(self.name == "vset")).map(|kind| (*kind).to_owned()));
        let optional = [
            (self.plus_one, "po".to_owned()),
            (self.saturated, "sat".to_owned()),
            (self.shift != 0, format!("shr{}", self.shift)),
            (!self.mode.is_empty(), self.mode.to_owned()),
            (!self.second.is_empty(), self.second.to_owned()),
        ];
        words.extend(optional.into_iter().filter(|(there, _)| *there).map(|(_, word)| word));
        let sign = self.minus.map(|minus| if minus { "-" } else { "" });
        let [d, a, b] = self.parts;
        let third = self.name == "vmad" || !d.is_empty() || !self.second.is_empty();
        let c = if third { format!(", {}%r3", sign[2]) } else { String::new() };
        format!("{} %r4{d}, {}%r1{a}, {}%r2{b}{c};", words.join("."), sign[0], sign[1])
    }

    fn result(&self, [a, b, c]: [u32; 3]) -> u32 {
        let signed = self.types.map(|kind| kind == "s32");
        let a = extended(a, self.parts[1], signed[1]);
        let b = extended(b, self.parts[2], signed[2]);
        if self.name == "vmad" {
            return self.multiply_add(a, b, c);
        }
        let exact = match self.name {
            "vadd" => a + b,
            "vsub" => a - b,
            "vabsdiff" => (a - b).abs(),
            "vmin" => a.min(b),
            "vmax" => a.max(b),
            "vshl" | "vshr" => {
                let distance = if self.mode == "wrap" { b % 32 } else { b.min(32) } as u32;
                let power = 1i128 << distance;
                if self.name == "vshl" { a * power } else { a.div_euclid(power) }
            }
            _ => i128::from(match self.mode {
                "eq" => a == b,
                "ne" => a != b,
                "lt" => a < b,
                "le" => a <= b,
                "gt" => a > b,
                _ => a >= b,
            }),
        };
        let bits = match self.parts[0].chars().nth(1) {
            None => 32,
            Some('b') => 8,
            Some(_) => 16,
        };
        let limited = if self.saturated { clamped(exact, bits, signed[0]) } else { exact };
        let number = |x: i128| if signed[0] { i128::from(x as i32) } else { i128::from(x as u32) };
        let second = match self.second {
            "add" => number(limited) + number(c.into()),
            "min" => number(limited).min(number(c.into())),
            "max" => number(limited).max(number(c.into())),
            _ => limited,
        } as u32;
        let at = self.parts[0].chars().nth(2).and_then(|digit| digit.to_digit(10)).unwrap_or(0) * bits;
        let mask = (((1u64 << bits) - 1) << at) as u32;
        c & !mask | (u64::from(second) << at) as u32 & mask
    }

    fn multiply_add(&self, a: i128, b: i128, c: u32) -> u32 {
        let minus = self.minus[0] != self.minus[1];
        let signed = self.types[1] == "s32" || self.types[2] == "s32" || minus || self.minus[2];
        let c = if signed { i128::from(c as i32) } else { i128::from(c) };
        let sum = if minus { -(a * b) } else { a * b } + if self.minus[2] { -c } else { c };
        let shifted = (sum + i128::from(self.plus_one)).div_euclid(1 << self.shift);
        (if self.saturated { clamped(shifted, 32, signed) } else { shifted }) as u32
    }
}

fn extended(word: u32, part: &str, signed: bool) -> i128 {
    let bytes = word.to_le_bytes();
    let at = part.get(2..).and_then(|digit| digit.parse::<usize>().ok()).unwrap_or(0);
    let bits = match part.get(1..2) {
        Some("b") => u32::from(bytes[at]).to_le_bytes(),
        Some(_) => [bytes[2 * at], bytes[2 * at + 1], 0, 0],
        None => bytes,
    };
    let (word, bits) = (u32::from_le_bytes(bits), if part.is_empty() { 32 } else { 8 * bits_of(part) });
    let value = i128::from(word);
    if signed && word >> (bits - 1) & 1 != 0 { value - (1 << bits) } else { value }
}

fn bits_of(part: &str) -> u32 {
    if part.starts_with(".b") { 1 } else { 2 }
}

fn clamped(x: i128, bits: u32, signed: bool) -> i128 {
    if signed { x.clamp(-(1 << (bits - 1)), (1 << (bits - 1)) - 1) } else { x.clamp(0, (1 << bits) - 1) }
}

/// All forms, each with the whole operands and with other parts of them.
fn forms() -> Vec<Form> {
    let plain = Form {
        name: "",
        types: ["u32"; 3],
        saturated: false,
        mode: "",
        second: "",
        parts: [""; 3],
        minus: [false; 3],
        plus_one: false,
        shift: 0,
    };
    let mut found = Vec::new();
    for d in TYPES {
        for a in TYPES {
            for b in TYPES {
                for saturated in [false, true] {
                    let typed = Form { types: [d, a, b], saturated, ..plain.clone() };
                    for name in ["vadd", "vsub", "vabsdiff", "vmin", "vmax"] {
                        ends(&mut found, &Form { name, ..typed.clone() });
                    }
                    for mode in ["clamp", "wrap"].into_iter().filter(|_| b == "u32") {
                        ends(&mut found, &Form { name: "vshl", mode, ..typed.clone() });
                        ends(&mut found, &Form { name: "vshr", mode, ..typed.clone() });
                    }
                    for mode in ["eq", "ne", "lt", "le", "gt", "ge"].into_iter().filter(|_| d == "u32" && !saturated) {
                        ends(&mut found, &Form { name: "vset", mode, ..typed.clone() });
                    }
                    for shift in [0, 7, 15] {
                        products(&mut found, &Form { name: "vmad", shift, ..typed.clone() });
                    }
                }
            }
        }
    }
    found
}

/// Adds a form with every second operation and every part of the destination.
fn ends(found: &mut Vec<Form>, form: &Form) {
    let seconds = ["add", "min", "max"].map(|second| Form { second, ..form.clone() });
    let parts = PARTS.map(|part| Form { parts: [part, "", ""], ..form.clone() });
    for form in seconds.into_iter().chain(parts) {
        selected(found, form);
    }
}

fn products(found: &mut Vec<Form>, form: &Form) {
    for minus in [[false; 3], [true, false, false], [false, true, false], [true, true, false], [false, false, true]] {
        selected(found, Form { minus, ..form.clone() });
    }
    selected(found, Form { plus_one: true, ..form.clone() });
}

/// Adds a form with whole sources, and with parts of them that vary from form to form.
fn selected(found: &mut Vec<Form>, form: Form) {
    let number = found.len() / 2;
    let parts = [form.parts[0], PARTS[number % 7], PARTS[(number / 7 + 3) % 7]];
    found.push(form.clone());
    found.push(Form { parts, ..form });
}

#[test]
fn scalar_forms_are_as_the_ptx_isa_defines_them() {
    let forms = forms();
    assert!(forms.len() > 3000, "{} forms", forms.len());
    let stores: String = forms
        .iter()
        .enumerate()
        .map(|(i, form)| format!("{} st.global.u32 [%rd2+{}], %r4;\n", form.text(), 4 * i))
        .collect();
    let text = format!(
        ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 in, .param .u64 out) {{
        .reg .b32 %r<8>; .reg .b64 %rd<8>; ld.param.u64 %rd1, [in]; ld.param.u64 %rd2, [out];
        mov.u32 %r5, %tid.x; mad.wide.u32 %rd1, %r5, 12, %rd1; mad.wide.u32 %rd2, %r5, {}, %rd2;
        ld.global.u32 %r1, [%rd1]; ld.global.u32 %r2, [%rd1+4]; ld.global.u32 %r3, [%rd1+8];\n{stores} ret; }}",
        4 * forms.len()
    );
    let program = Program::parse(&text).expect("PTX");
    let mut machine = Machine::new(Config::default());
    let values: Vec<u8> = INPUTS.iter().flatten().flat_map(|word| word.to_le_bytes()).collect();
    let input = machine.alloc(values.len() as u64, "in").expect("memory");
    machine.write(input, &values).expect("write");
    let mut found = vec![0; 4 * forms.len() * INPUTS.len()];
    let output = machine.alloc(found.len() as u64, "out").expect("memory");
    let params = [input.to_le_bytes().to_vec(), output.to_le_bytes().to_vec()];
    let block = [INPUTS.len() as u32, 1, 1];
    let launch = Launch { entry: "k", grid: [1; 3], block, params: &params, ..Launch::default() };
    machine.launch(&program, &launch).unwrap_or_else(|stop| panic!("{stop}"));
    machine.read(output, &mut found).expect("read");
    let mut wrong = Vec::new();
    for (case, input) in INPUTS.into_iter().enumerate() {
        for (i, form) in forms.iter().enumerate() {
            let at = 4 * (case * forms.len() + i);
            let word = u32::from_le_bytes(std::array::from_fn(|k| found[at + k]));
            let expected = form.result(input);
            if word != expected {
                wrong.push(format!("{} of {input:x?}: {word:x}, not {expected:x}", form.text()));
            }
        }
    }
    assert!(wrong.is_empty(), "{} of {}: {:#?}", wrong.len(), forms.len(), &wrong[..wrong.len().min(20)]);
}

#[test]
fn what_ptxas_refuses_is_refused() {
    let refused = [
        "vadd.u32.u32.u32.add.min %r4, %r1, %r2, %r3;",
        "vadd.u32.u32.u32.add %r4.b0, %r1, %r2, %r3;",
        "vadd.u32.u32.u32 %r4.b0, %r1, %r2;",
        "vadd.u32.u32.u32 %r4, -%r1, %r2;",
        "vadd.u32.u32.u32.shr7 %r4, %r1, %r2;",
        "vadd.u32.u32 %r4, %r1, %r2;",
        "vadd.clamp.u32.u32.u32 %r4, %r1, %r2;",
        "vset.u32.u32.eq.sat %r4, %r1, %r2;",
        "vset.u32.u32 %r4, %r1, %r2;",
        "vset.u32.u32.u32.eq %r4, %r1, %r2;",
        "vshl.u32.u32.s32.clamp %r4, %r1, %r2;",
        "vshl.u32.u32.u32 %r4, %r1, %r2;",
        "vmad.u32.u32.u32 %r4, %r1, %r2;",
        "vmad.u32.u32.u32 %r4.b0, %r1, %r2, %r3;",
        "vmad.u32.u32.u32 %r4, %r1, %r2, %r3.b0;",
        "vmad.u32.u32.u32.add %r4, %r1, %r2, %r3;",
        "vmad.u32.u32.u32.shr7.shr15 %r4, %r1, %r2, %r3;",
        "vmad.u32.u32.u32 %r4, -%r1, %r2, -%r3;",
        "vmad.u32.u32.u32.po %r4, %r1, %r2, -%r3;",
        "vadd2.u32.u32.u32.sat.add %r4, %r1, %r2, %r3;",
        "vadd2.u32.u32.u32.min %r4, %r1, %r2, %r3;",
        "vadd4.u32.u32.u32 %r4, -%r1, %r2, %r3;",
    ];
    let head = ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k() {\n.reg .b32 %r<8>;\n";
    let program = Program::parse(&format!("{head}{}\nret;\n}}", refused.join("\n"))).expect("PTX");
    let lines: Vec<usize> = program.unsupported().map(|(line, _)| line as usize - 6).collect();
    assert_eq!(lines, (0..refused.len()).collect::<Vec<_>>());
}
