//! Variables at addresses that the caller chooses.

use ptx_sim::{Config, Machine, Program};
use std::collections::BTreeMap;

use crate::{HEADER, launch};

#[test]
fn a_managed_variable_is_where_the_caller_has_memory() {
    let text = format!(
        "{HEADER}
        .global .attribute(.managed) .align 4 .u32 shared = 5;
        .global .attribute(.unified(19, 87), .managed) .align 4 .u32 both;
        .global .align 4 .u32 own = 7;
        .visible .entry k(.param .u64 a)
        {{ .reg .b32 %r<3>;
        ld.global.u32 %r1, [shared]; ld.global.u32 %r2, [own]; add.u32 %r1, %r1, %r2; st.global.u32 [shared], %r1;
        ret; }}"
    );
    let program = Program::parse(&text).expect("PTX");
    let managed: Vec<&str> =
        program.variables().iter().filter(|variable| variable.managed).map(|variable| &*variable.name).collect();
    assert_eq!(managed, ["shared", "both"]);
    let mut machine = Machine::new(Config::default());
    let place = machine.alloc(4, "place").expect("memory");
    let placed = BTreeMap::from([("shared".to_owned(), place)]);
    machine.load_at(&program, 0, &placed).expect("it is loaded");
    assert_eq!(machine.symbol(&program, "shared").expect("a variable"), (place, 4));
    launch(&mut machine, &program, 1, 1, 0).expect("it runs");
    let mut bytes = [0; 4];
    machine.read(place, &mut bytes).expect("read");
    assert_eq!(u32::from_le_bytes(bytes), 12);
    // The memory remains the caller's.
    machine.unload(&program, 0);
    machine.free(place).expect("it is still there");
    assert_eq!(machine.load_at(&program, 1, &placed).expect_err("it is gone").code(), "out-of-bounds");
    let wrong = text.replace(".attribute(.managed)", ".attribute(.mangled)");
    assert!(Program::parse(&wrong).expect_err("no attribute").to_string().contains("`.managed` or `.unified`"));
}
