//! The public interface of the machine.

mod calls;
mod cooperative;
mod counts;
mod grammar;
mod memory;
mod order;
mod placed;
mod refusals;
mod stops;

use ptx_sim::{Launch, Machine, Program, Report, Stop};

const HEADER: &str = ".version 8.7\n.target sm_100\n.address_size 64\n";

/// A kernel `k(a)` whose threads have their index in %r1, 4 times the index in %rd2, and `a` in %rd1.
fn kernel(body: &str) -> Program {
    let text = format!(
        "{HEADER}
        .visible .entry k(.param .u64 a)
        {{
        .reg .pred %p<8>; .reg .b32 %r<16>; .reg .b64 %rd<16>;
        .shared .align 16 .b8 smem[8192];
        ld.param.b64 %rd1, [a];
        mov.u32 %r1, %tid.x;
        mul.wide.u32 %rd2, %r1, 4;
        mov.b64 %rd3, smem;
        {body}
        ret;
        }}"
    );
    Program::parse(&text).expect("PTX")
}

fn launch(machine: &mut Machine, program: &Program, blocks: u32, threads: u32, a: u64) -> Result<Report, Stop> {
    let params = [a.to_le_bytes().to_vec()];
    let (grid, block) = ([blocks, 1, 1], [threads, 1, 1]);
    machine.launch(program, &Launch { entry: "k", grid, block, params: &params, ..Launch::default() })
}
