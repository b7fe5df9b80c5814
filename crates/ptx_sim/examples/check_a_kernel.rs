//! Checks a correct kernel, and the same kernel without its barrier.
//!
//! `cargo run -p ptx_sim --example check_a_kernel`

use ptx_sim::{Failure, test_text};

/// Each block reverses 64 numbers in shared memory. `BARRIER` is the text between the stores and the loads.
const REVERSE: &str = "
.version 7.8
.target sm_75
.address_size 64

.visible .entry reverse(.param .u64 from, .param .u64 to)
{
    .reg .b32 %r<8>;
    .reg .b64 %rd<6>;
    .shared .align 4 .b8 tile[256];
    ld.param.u64 %rd1, [from];
    ld.param.u64 %rd2, [to];
    mov.u32 %r1, %tid.x;
    mov.u32 %r2, %ctaid.x;
    mad.lo.s32 %r3, %r2, 64, %r1;
    mul.wide.u32 %rd3, %r3, 4;
    add.s64 %rd4, %rd1, %rd3;
    add.s64 %rd5, %rd2, %rd3;
    mov.u32 %r4, tile;
    mad.lo.s32 %r5, %r1, 4, %r4;
    ld.global.u32 %r6, [%rd4];
    st.shared.u32 [%r5], %r6;
    BARRIER
    mad.lo.s32 %r5, %r1, -4, %r4;
    ld.shared.u32 %r7, [%r5+252];
    st.global.u32 [%rd5], %r7;
    ret;
}";

fn main() -> Result<(), Failure> {
    let from: Vec<u32> = (0..128).collect();
    let mut to: Vec<u32> = Vec::new();

    let correct = REVERSE.replace("BARRIER", "bar.sync 0;");
    let report =
        test_text(&correct)?.entry("reverse").grid(2).block(64).buffer(&from).output(&mut to, 128).seeds(3).run()?;
    assert!(to[..64].iter().eq(from[..64].iter().rev()));
    assert_eq!(report.counters.bank_conflicts, 0);
    println!("reverse is correct, and runs {} warp instructions.\n", report.counters.warp_instructions);

    let forgotten = REVERSE.replace("BARRIER", "");
    let found = test_text(&forgotten)?.entry("reverse").grid(2).block(64).buffer(&from).output(&mut to, 128).run();
    match found {
        Err(failure) => println!("{failure}"),
        Ok(_) => println!("no bug found"),
    }
    Ok(())
}
