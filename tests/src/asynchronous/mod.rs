//! Streams, events, pinned memory, pools, graphs and several devices: the same tests for the simulator and for a GPU.

mod graphs;
mod streams;

pub use streams::{a_fault_is_awaited, two_devices};

use cuda_std::launch::Call;
use rustwarp::{Buffer, Device, Module, Shape, View};

/// The kernels of these tests: `shift` adds a number to each element, `fault` traps.
const PTX: &str = "
.version 7.0
.target sm_75
.address_size 64

.visible .entry shift(.param .u64 shift_x, .param .u64 shift_n, .param .u32 shift_by)
{
    .reg .pred %p;
    .reg .b32 %r<6>;
    .reg .b64 %d<6>;
    ld.param.u64 %d1, [shift_x];
    ld.param.u64 %d2, [shift_n];
    ld.param.u32 %r1, [shift_by];
    mov.u32 %r2, %ctaid.x;
    mov.u32 %r3, %ntid.x;
    mov.u32 %r4, %tid.x;
    mad.lo.s32 %r5, %r2, %r3, %r4;
    cvt.u64.u32 %d3, %r5;
    setp.ge.u64 %p, %d3, %d2;
    @%p bra DONE;
    cvta.to.global.u64 %d4, %d1;
    shl.b64 %d3, %d3, 2;
    add.s64 %d5, %d4, %d3;
    ld.global.u32 %r2, [%d5];
    add.u32 %r2, %r2, %r1;
    st.global.u32 [%d5], %r2;
DONE:
    ret;
}

.visible .entry fault()
{
    trap;
}
";

/// A test on a device, which it does not harm.
pub type Test = fn(&Device) -> rustwarp::Result<()>;

/// The tests with their names.
pub const ALL: &[(&str, Test)] = &[
    ("streams_are_ordered_by_memory", streams::streams_are_ordered_by_memory),
    ("events_order_streams", streams::events_order_streams),
    ("results_are_awaited", streams::results_are_awaited),
    ("pinned_memory_is_given_back", streams::pinned_memory_is_given_back),
    ("freed_memory_is_reused", streams::freed_memory_is_reused),
    ("a_graph_is_replayed", graphs::a_graph_is_replayed),
    ("a_graph_is_updated", graphs::a_graph_is_updated),
    ("a_graph_launches_cooperatively", graphs::a_graph_launches_cooperatively),
    ("a_graph_keeps_its_memory", graphs::a_graph_keeps_its_memory),
    ("a_graph_contains_no_waiting", graphs::a_graph_contains_no_waiting),
    ("what_is_made_in_a_capture_outlives_it", graphs::what_is_made_in_a_capture_outlives_it),
    ("empty_inputs_do_not_wait", graphs::empty_inputs_do_not_wait),
    ("small_uploads_are_in_order", streams::small_uploads_are_in_order),
    ("many_streams_read_one_buffer", streams::many_streams_read_one_buffer),
    ("threads_share_a_device", streams::threads_share_a_device),
    ("memory_is_given_and_taken", streams::memory_is_given_and_taken),
];

fn shift_call<'a>(x: View<'a, u32>, by: u32) -> (Call<'a>, Shape) {
    let mut call = Call::new("shift");
    call.ptr_mut(x.ptr());
    call.scalar(x.len() as u64);
    call.scalar(by);
    (call, Shape::linear(x.len().div_ceil(256) as u32, 256))
}

/// Adds a number to each element, as a kernel of a user.
fn shift(module: &Module, x: &mut Buffer<u32>, by: u32) -> rustwarp::Result<()> {
    module.device().will_write(&*x)?;
    let (call, shape) = shift_call(View::from(&*x), by);
    // SAFETY: the kernel accesses the elements of `x`, one per thread.
    unsafe { module.launch(&call, shape) }
}

fn load(device: &Device) -> rustwarp::Result<Module> {
    device.load(PTX.as_bytes(), "shift.ptx")
}
