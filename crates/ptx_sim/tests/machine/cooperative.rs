//! The barrier of a cooperative launch's grid, as `cooperative_groups.h` writes it.

use crate::HEADER;
use ptx_sim::{Checks, Config, Launch, Machine, Program, StopKind};

/// A kernel `k(a)` of one warp per block: each block stores a number into its element, all meet `rounds` times, and
/// then each copies the next block's element to behind the last.
fn meeting(rounds: u32, meets: bool) -> Program {
    let meet =
        if meets { "atom.add.release.gpu.global.u32 %old, [%bar], %step;" } else { "ld.global.u32 %old, [%bar];" };
    let wait = if meets { "@%waits bra WAIT;" } else { "" };
    let text = format!(
        "{HEADER}
        .visible .entry k(.param .u64 a)
        {{
        .reg .pred %waits, %more, %first; .reg .b64 %a, %bar, %to, %from, %bytes;
        .reg .b32 %low, %high, %id, %n, %old, %now, %step, %next, %round, %one, %lane, %differ;
        ld.param.b64 %a, [a];
        mov.u32 %lane, %tid.x;
        mov.u32 %id, %ctaid.x;
        mov.u32 %n, %nctaid.x;
        mov.u32 %high, %envreg1;
        mov.u32 %low, %envreg2;
        mov.b64 %bar, {{%low, %high}};
        add.s64 %bar, %bar, 4;
        mul.wide.u32 %bytes, %id, 4;
        add.s64 %to, %a, %bytes;
        setp.ne.u32 %first, %lane, 0;
        @%first bra END;
        add.u32 %one, %id, 100;
        st.global.u32 [%to], %one;
        mov.u32 %round, 0;
        ROUND:
        sub.u32 %step, 0x80000001, %n;
        setp.eq.u32 %first, %id, 0;
        selp.u32 %step, %step, 1, %first;
        {meet}
        WAIT:
        ld.acquire.gpu.global.u32 %now, [%bar];
        xor.b32 %differ, %now, %old;
        setp.ge.s32 %waits, %differ, 0;
        {wait}
        add.u32 %round, %round, 1;
        setp.lt.u32 %more, %round, {rounds};
        @%more bra ROUND;
        add.u32 %next, %id, 1;
        rem.u32 %next, %next, %n;
        mul.wide.u32 %bytes, %next, 4;
        add.s64 %from, %a, %bytes;
        ld.global.u32 %one, [%from];
        mul.wide.u32 %bytes, %n, 4;
        add.s64 %to, %to, %bytes;
        st.global.u32 [%to], %one;
        END:
        ret;
        }}"
    );
    Program::parse(&text).expect("PTX")
}

const BLOCKS: u32 = 5;

fn run(machine: &mut Machine, program: &Program, cooperative: bool) -> Result<(Vec<u32>, usize), ptx_sim::Stop> {
    let a = machine.alloc(u64::from(BLOCKS) * 8, "a")?;
    let params = [a.to_le_bytes().to_vec()];
    let (grid, block) = ([BLOCKS, 1, 1], [32, 1, 1]);
    let launch = Launch { entry: "k", grid, block, params: &params, cooperative, ..Launch::default() };
    let report = machine.launch(program, &launch)?;
    let mut bytes = vec![0; BLOCKS as usize * 8];
    machine.read(a, &mut bytes)?;
    let words = bytes.chunks_exact(4).map(|word| u32::from_le_bytes([word[0], word[1], word[2], word[3]]));
    Ok((words.skip(BLOCKS as usize).collect(), report.findings.len()))
}

#[test]
fn all_blocks_meet_at_the_workspace() {
    let mut machine = Machine::new(Config { checks: Checks::DEFECTS, ..Config::default() });
    // The second launch finds the workspace as the first one did.
    for rounds in [1, 4] {
        let seen = run(&mut machine, &meeting(rounds, true), true).expect("runs");
        assert_eq!(seen, (vec![101, 102, 103, 104, 100], 0));
    }
}

#[test]
fn blocks_that_do_not_meet_race() {
    let (_, findings) =
        run(&mut Machine::new(Config { checks: Checks::DEFECTS, ..Config::default() }), &meeting(1, false), true)
            .expect("runs");
    assert_ne!(findings, 0);
}

#[test]
fn other_launches_have_no_workspace() {
    let stop =
        run(&mut Machine::new(Config { checks: Checks::DEFECTS, ..Config::default() }), &meeting(1, true), false)
            .expect_err("null pointer");
    assert_eq!(stop.kind(), StopKind::Fault);
}
