//! Streams, events, pinned memory, pools, graphs and several devices: the same tests for the simulator and for a GPU.

use cuda_std::launch::Call;
use rustwarp::reduce::{Plan, Sum};
use rustwarp::scan::{self, Kind};
use rustwarp::{Buffer, Device, Error, Module, Shape, Tuning, View};

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
    ("streams_are_ordered_by_memory", streams_are_ordered_by_memory),
    ("events_order_streams", events_order_streams),
    ("results_are_awaited", results_are_awaited),
    ("pinned_memory_is_given_back", pinned_memory_is_given_back),
    ("freed_memory_is_reused", freed_memory_is_reused),
    ("a_graph_is_replayed", a_graph_is_replayed),
    ("a_graph_is_updated", a_graph_is_updated),
    ("a_graph_keeps_its_memory", a_graph_keeps_its_memory),
    ("a_graph_contains_no_waiting", a_graph_contains_no_waiting),
    ("threads_share_a_device", threads_share_a_device),
    ("memory_is_given_and_taken", memory_is_given_and_taken),
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

fn streams_are_ordered_by_memory(device: &Device) -> rustwarp::Result<()> {
    let n = 1 << 20;
    let other = device.stream()?;
    let (module, module_of_other) = (load(device)?, load(device)?.on(&other)?);
    let mut x = device.upload(&vec![1_u32; n])?;
    for round in 1..=20 {
        shift(&module, &mut x, 1)?;
        // The sum of the other stream waits for the kernel, and the next kernel for the sum.
        assert_eq!(other.sum(&x)?, (2 * round) * n as u32);
        shift(&module_of_other, &mut x, 1)?;
        assert_eq!(device.sum(&x)?, (2 * round + 1) * n as u32);
    }
    let copy = other.copy(&x)?;
    drop(x);
    // The memory of `x` may be reused here, behind the copy.
    let zeros = device.zeros::<u32>(n)?;
    assert_eq!((copy.read(1)?, device.sum(&zeros)?), (vec![41], 0));
    Ok(())
}

fn events_order_streams(device: &Device) -> rustwarp::Result<()> {
    let other = device.stream()?;
    let (module, module_of_other) = (load(device)?, load(device)?.on(&other)?);
    let mut x = device.upload(&vec![0_u32; 1 << 20])?;
    let start = device.record()?;
    for _ in 0..10 {
        let (call, shape) = shift_call(View::from(&x), 1);
        // SAFETY: the kernel accesses the elements of `x`; the event orders it before that of the other stream.
        unsafe { module.launch(&call, shape)? };
        other.wait(&device.record()?)?;
        // SAFETY: as above.
        unsafe { module_of_other.launch(&call, shape)? };
        device.wait(&other.record()?)?;
    }
    let end = device.record()?;
    end.synchronize()?;
    assert!(end.is_reached()? && start.is_reached()?);
    let time = end.elapsed_since(&start)?;
    assert_eq!(time.is_some(), device.info().is_gpu());
    assert!(time.is_none_or(|milliseconds| milliseconds > 0.0));
    device.synchronize()?;
    assert!(device.is_idle()?);
    x.view_mut(1..)?.fill(0)?;
    assert_eq!(x.read(2)?, [20, 0]);
    Ok(())
}

fn results_are_awaited(device: &Device) -> rustwarp::Result<()> {
    let x = device.upload(&(0..1000).map(f64::from).collect::<Vec<_>>())?;
    let sum = device.sum_async(&x)?;
    let (max, min) = (device.max_async(x.view(..500)?)?, device.min_async(x.view(500..)?)?);
    let (argmax, argmin) = (device.argmax_async(&x)?, device.argmin_async(&x)?);
    let (dot, all) = (device.dot_async(&x, &x)?, device.download_async(&x)?);
    let empty = device.upload::<f64>(&[])?;
    let nowhere = device.argmax_async(&empty)?;
    drop(device.max_async(&x)?);
    // The memory is released behind the work.
    drop(x);
    assert_eq!((sum.wait()?, max.wait()?, min.wait()?), (499_500.0, 499.0, 500.0));
    assert_eq!((argmax.wait()?, argmin.wait()?, nowhere.wait()?), (Some(999), Some(0), None));
    assert_eq!((dot.wait()?, all.wait()?.last()), (332_833_500.0, Some(&999.0)));
    Ok(())
}

fn pinned_memory_is_given_back(device: &Device) -> rustwarp::Result<()> {
    let n = 100_003;
    let mut x = device.zeros::<u32>(n)?;
    let mut pinned = device.pinned::<u32>(n)?;
    assert!(pinned.iter().all(|x| *x == 0));
    for round in 0..10 {
        pinned.fill(round);
        let sent = device.upload_pinned(pinned, &mut x)?;
        let received = device.download_pinned(&x, device.pinned(n)?)?;
        pinned = sent.wait()?;
        assert!(received.wait()?.iter().all(|x| *x == round));
        // What is dropped is not awaited, and its memory not reused before the copy has ended.
        drop(device.download_async(&x)?);
    }
    let short = device.pinned_from(&[1_u32, 2])?;
    assert!(matches!(device.upload_pinned(short, &mut x), Err(Error::Mismatch(_))));
    let pair = device.pinned_from(&[1_u32, 2])?;
    device.upload_pinned(pair, x.view_mut(1..3)?)?.wait()?;
    assert_eq!(x.read(4)?, [9, 1, 2, 9]);
    Ok(())
}

fn freed_memory_is_reused(device: &Device) -> rustwarp::Result<()> {
    let before = device.free_memory()?;
    let mut sums = 0;
    for round in 0..50 {
        // 64 MiB each: more than the memory of no GPU, unless it is reused.
        let x = device.zeros::<u32>(if device.info().is_gpu() { 1 << 24 } else { 1 << 12 })?;
        sums += device.sum(&x)? + round;
    }
    assert_eq!(sums, 49 * 50 / 2);
    device.trim_memory()?;
    if device.info().is_gpu() {
        assert!(device.free_memory()? + (256 << 20) > before, "{before} bytes were free");
    }
    let too_much = device.uninit::<u64>(1 << 44).map(|_| ());
    assert!(matches!(too_much, Err(Error::OutOfMemory(_))), "{too_much:?}");
    Ok(())
}

fn a_graph_is_replayed(device: &Device) -> rustwarp::Result<()> {
    let n = 10_007;
    let module = load(device)?;
    let mut x = device.upload(&vec![0_u32; n])?;
    let mut sums = device.zeros::<u32>(1)?;
    let mut prefixes = device.zeros::<u32>(n)?;
    let plan = Plan::<Sum, u32>::new(device, n, Tuning::default())?;
    let graph = device.capture(|device| {
        shift(&module, &mut x, 1)?;
        plan.launch(&x, &mut sums)?;
        // A function that allocates scratch memory, which the graph keeps.
        scan::sums_into(&x, Kind::Inclusive, &mut prefixes)?;
        device.will_read(&x)
    })?;
    // Nothing has run yet.
    assert_eq!((x.read(1)?, sums.read(1)?, graph.kernels()), (vec![0], vec![0], 3));
    let other = device.stream()?;
    for round in 1..=100 {
        if round % 2 == 0 {
            graph.launch()?
        } else {
            graph.launch_on(&other)?
        }
        assert_eq!(sums.read(1)?, [round * n as u32]);
        assert_eq!(prefixes.view(n - 1..)?.download()?, [round * n as u32]);
    }
    x.write(&vec![7; n])?;
    graph.launch()?;
    assert_eq!((x.read(1)?, sums.read(1)?), (vec![8], vec![8 * n as u32]));
    Ok(())
}

fn a_graph_is_updated(device: &Device) -> rustwarp::Result<()> {
    let module = load(device)?;
    let mut x = device.upload(&[0_u32; 300])?;
    let mut y = device.upload(&[100_u32; 300])?;
    let mut sum = device.zeros::<u32>(1)?;
    let plan = Plan::<Sum, u32>::new(device, 300, Tuning::default())?;
    let mut graph = device.capture(|_| {
        shift(&module, &mut x, 1)?;
        plan.launch(&x, &mut sum)
    })?;
    graph.launch()?;
    assert_eq!(sum.read(1)?, [300]);
    // Another argument of the first kernel.
    let (call, shape) = shift_call(View::from(&x), 10);
    // SAFETY: the kernel accesses the elements of `x`, which the graph keeps already.
    unsafe { graph.set_kernel(0, &module, &call, shape)? };
    graph.launch()?;
    assert_eq!(sum.read(1)?, [300 * 11]);
    // SAFETY: as above.
    let missing = unsafe { graph.set_kernel(2, &module, &call, shape) };
    assert!(matches!(missing, Err(Error::Mismatch(_))), "{missing:?}");
    // Other memory for all of it.
    graph.update(|_| {
        shift(&module, &mut y, 2)?;
        plan.launch(&y, &mut sum)
    })?;
    graph.launch()?;
    assert_eq!((sum.read(1)?, x.read(1)?, y.read(1)?), (vec![300 * 102], vec![11], vec![102]));
    // Other steps need another graph; this one is unchanged.
    let other = graph.update(|_| shift(&module, &mut y, 2));
    assert!(matches!(other, Err(Error::Mismatch(_))), "{other:?}");
    graph.launch()?;
    assert_eq!(sum.read(1)?, [300 * 104]);
    Ok(())
}

fn a_graph_keeps_its_memory(device: &Device) -> rustwarp::Result<()> {
    let module = load(device)?;
    let mut result = device.zeros::<u32>(1)?;
    let mut graph = {
        let mut x = device.upload(&[1_u32; 5000])?;
        device.capture(|_| {
            shift(&module, &mut x, 1)?;
            rustwarp::reduce::sum_into(&x, &mut result)
        })?
    };
    // These would take the place of the buffer and of the scratch memory.
    let others: Vec<Buffer<u32>> = (0..20).map(|_| device.upload(&[9; 5000])).collect::<Result<_, _>>()?;
    graph.keep(&result)?;
    for round in 2..5 {
        graph.launch()?;
        assert_eq!(result.read(1)?, [round * 5000]);
    }
    assert!(others.iter().all(|other| other.read(1).is_ok_and(|first| first == [9])));
    let in_use = result.into_raw().map(|_| ());
    assert!(matches!(in_use, Err(Error::Argument(_))), "{in_use:?}");
    Ok(())
}

fn a_graph_contains_no_waiting(device: &Device) -> rustwarp::Result<()> {
    let mut x = device.upload(&[1_u32, 2, 3])?;
    let refused = |result: rustwarp::Result<()>| match result {
        Err(Error::Capturing { .. }) => Ok(()),
        other => panic!("{other:?} in a capture"),
    };
    let module = load(device)?;
    let graph = device.capture(|device| {
        refused(x.download().map(|_| ()))?;
        refused(x.write(&[4, 5, 6]))?;
        refused(device.sum(&x).map(|_| ()))?;
        refused(device.sum_async(&x).map(|_| ()))?;
        refused(device.synchronize())?;
        refused(device.record().map(|_| ()))?;
        refused(device.capture(|_| Ok(())).map(|_| ()))?;
        // New memory is filled at once, without being part of the graph.
        let y = device.upload(&[10_u32, 20, 30])?;
        x.view_mut(..)?.copy_from(&y)?;
        shift(&module, &mut x, 1)
    })?;
    assert_eq!(x.download()?, [1, 2, 3]);
    graph.launch()?;
    assert_eq!(x.download()?, [11, 21, 31]);
    // An error and a panic end the capture.
    let failed = device.capture(|_| Err(Error::Argument("stop".to_owned()))).map(|_| ());
    assert!(matches!(failed, Err(Error::Argument(_))), "{failed:?}");
    let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        device.capture(|_| std::panic::resume_unwind(Box::new("stop"))).map(|_| ())
    }));
    assert!(panicked.is_err());
    assert_eq!(device.sum(&x)?, 63);
    Ok(())
}

fn threads_share_a_device(device: &Device) -> rustwarp::Result<()> {
    let x = device.upload(&(0..5000_u64).collect::<Vec<_>>())?;
    std::thread::scope(|scope| {
        let work = |k: usize| {
            let x = &x;
            scope.spawn(move || {
                let stream = device.stream()?;
                (0..20).map(|_| stream.sum(x.view(k..)?)).collect::<rustwarp::Result<Vec<_>>>()
            })
        };
        let threads: Vec<_> = (0..4).map(work).collect();
        for (k, thread) in threads.into_iter().enumerate() {
            let sums = thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
            let expected: u64 = (k as u64..5000).sum();
            assert!(sums.len() == 20 && sums.iter().all(|sum| *sum == expected));
        }
        Ok(())
    })
}

fn memory_is_given_and_taken(device: &Device) -> rustwarp::Result<()> {
    let x = device.upload(&[3_u32, 4])?;
    // SAFETY: the memory is that of `x`, which the owner below keeps.
    let borrowed = unsafe { Buffer::<u32>::borrow_raw(device, x.address(), 2, std::sync::Arc::new(())) };
    assert_eq!(device.sum(&borrowed)?, 7);
    drop(borrowed);
    let address = x.into_raw()?;
    // SAFETY: `into_raw` has just returned the address.
    let x = unsafe { Buffer::<u32>::from_raw(device, address, 2) };
    assert_eq!(x.download()?, [3, 4]);
    assert_eq!(device.raw().is_some(), device.info().is_gpu());
    if let Some(raw) = device.raw() {
        // SAFETY: the clone keeps the context and the stream.
        let same = unsafe { Device::from_raw(raw, device.clone())? };
        let y = same.upload(&[1_u64, 2])?;
        assert_eq!(same.sum(&y)?, 3);
    }
    Ok(())
}

/// Two devices with memory of their own: copies between them, and events across them.
pub fn two_devices(one: &Device, other: &Device) -> rustwarp::Result<()> {
    let x = one.upload(&(0..1000_u32).collect::<Vec<_>>())?;
    assert!(matches!(other.sum(&x), Err(Error::OtherDevice { .. })));
    let copy = other.copy(x.view(10..)?)?;
    assert_eq!(other.sum(&copy)?, (10..1000).sum::<u32>());
    let (module, mut copy) = (load(other)?, copy);
    other.wait(&one.record()?)?;
    shift(&module, &mut copy, 1)?;
    let back = one.copy(&copy)?;
    // The source is released behind the copy.
    drop(copy);
    let zeros = other.zeros::<u32>(990)?;
    assert_eq!((one.sum(&back)?, other.sum(&zeros)?), ((11..=1000).sum::<u32>(), 0));
    Ok(())
}

/// A fault is reported where work is awaited, and by every later call.
///
/// # Panics
/// Panics if it is not. The device cannot be used afterwards.
pub fn a_fault_is_awaited(device: &Device) -> rustwarp::Result<()> {
    let (module, stream) = (load(device)?, device.stream()?);
    let x = device.upload(&[1_u32, 2])?;
    // SAFETY: the kernel has no parameters and accesses no memory.
    unsafe { module.launch(&Call::new("fault"), Shape::linear(1, 32))? };
    let sum = device.sum_async(&x).and_then(rustwarp::Pending::wait);
    assert!(matches!(sum, Err(Error::Fault(_))), "{sum:?}");
    for later in [x.download().map(|_| ()), device.synchronize(), stream.synchronize()] {
        assert!(matches!(later, Err(Error::Fault(_))), "{later:?}");
    }
    Ok(())
}
