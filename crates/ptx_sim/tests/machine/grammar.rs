//! Grammar that programs of other compilers need.

use crate::{HEADER, launch};
use ptx_sim::{Config, Machine, Program};

/// Runs a kernel that stores one word.
fn stored(functions: &str, body: &str) -> u32 {
    let text = format!("{HEADER}{functions} .visible .entry k(.param.u64 a) {{ {body} ret; }}");
    let program = Program::parse(&text).expect("PTX");
    let mut machine = Machine::new(Config::default());
    let a = machine.alloc(4, "a").expect("alloc");
    launch(&mut machine, &program, 1, 1, a).expect("runs");
    let mut bytes = [0; 4];
    machine.read(a, &mut bytes).expect("read");
    u32::from_le_bytes(bytes)
}

#[test]
fn directives_without_blanks_between_them() {
    let body = "{.reg.b64 %a; .reg.b32 %v;.reg.b8 %t; .shared.align 4.b8 s[4]; ld.param.u64 %a, [a];
        mov.b32 %v, WARP_SZ; st.shared.u32 [s], %v; ld.shared.u8 %t, [s]; st.global.u8 [%a], %t;}";
    assert_eq!(stored("", body), 32);
}

#[test]
fn a_weak_function_gives_way() {
    let body = ".reg .b64 %a; .reg .b32 %v; ld.param.u64 %a, [a];
        { .param .b32 r; call (r), number, (); ld.param.b32 %v, [r]; } st.global.u32 [%a], %v;";
    let number = |linkage: &str, value: u32| {
        format!("{linkage} .func (.param .b32 r) number() {{ st.param.b32 [r], {value}; ret; }}\n")
    };
    let (first, second, strong) = (number(".weak", 1), number(".weak", 2), number(".visible", 3));
    assert_eq!(stored(&(first.clone() + &second), body), 1);
    assert_eq!(stored(&(first.clone() + &strong + &second), body), 3);
    assert_eq!(stored(&(strong.clone() + &first), body), 3);
    let error = Program::parse(&(HEADER.to_owned() + &strong + &strong)).expect_err("two definitions");
    assert!(error.to_string().contains("duplicate definition of `number`"), "{error}");
}
