//! Streams, events, pinned memory, pools and several devices.

use cuda_std::launch::Call;
use rustwarp::{Buffer, Device, Error, Shape, View};

use super::{load, shift, shift_call};

pub(super) fn streams_are_ordered_by_memory(device: &Device) -> rustwarp::Result<()> {
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

pub(super) fn events_order_streams(device: &Device) -> rustwarp::Result<()> {
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

pub(super) fn results_are_awaited(device: &Device) -> rustwarp::Result<()> {
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

pub(super) fn pinned_memory_is_given_back(device: &Device) -> rustwarp::Result<()> {
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
    // Each device releases its own pinned memory.
    let elsewhere = Device::sim()?.pinned_from(&vec![0_u32; n])?;
    assert!(matches!(device.upload_pinned(elsewhere, &mut x), Err(Error::OtherDevice { .. })));
    let elsewhere = Device::sim()?.pinned::<u32>(n)?;
    assert!(matches!(device.download_pinned(&x, elsewhere), Err(Error::OtherDevice { .. })));
    let short = device.pinned_from(&[1_u32, 2])?;
    assert!(matches!(device.upload_pinned(short, &mut x), Err(Error::Mismatch(_))));
    let pair = device.pinned_from(&[1_u32, 2])?;
    device.upload_pinned(pair, x.view_mut(1..3)?)?.wait()?;
    assert_eq!(x.read(4)?, [9, 1, 2, 9]);
    Ok(())
}

pub(super) fn freed_memory_is_reused(device: &Device) -> rustwarp::Result<()> {
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

pub(super) fn small_uploads_are_in_order(device: &Device) -> rustwarp::Result<()> {
    for round in 0..50_u32 {
        let x = device.upload(&[round; 5000])?;
        assert_eq!(device.sum(&x)?, 5000 * round);
    }
    let large = vec![1_u32; 1 << 20];
    assert_eq!(device.sum(&device.upload(&large)?)?, 1 << 20);
    Ok(())
}

/// Each stream is gone before the next one comes; the buffer is written behind all of them.
pub(super) fn many_streams_read_one_buffer(device: &Device) -> rustwarp::Result<()> {
    let n = if device.info().is_gpu() { 1 << 24 } else { 1 << 12 };
    let mut x = device.upload(&vec![1_u32; n])?;
    let mut sums = Vec::new();
    for _ in 0..100 {
        let mut sum = device.uninit::<u32>(1)?;
        let stream = device.stream()?;
        let mut own = stream.uninit::<u32>(1)?;
        rustwarp::reduce::sum_into(&x, &mut own)?;
        sum.view_mut(..)?.copy_from(&own)?;
        sums.push(sum);
    }
    x.view_mut(..)?.fill(0)?;
    for sum in sums {
        assert_eq!(sum.read(1)?, [n as u32]);
    }
    assert_eq!(device.sum(&x)?, 0);
    Ok(())
}

pub(super) fn threads_share_a_device(device: &Device) -> rustwarp::Result<()> {
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

pub(super) fn memory_is_given_and_taken(device: &Device) -> rustwarp::Result<()> {
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
    if !device.info().is_gpu() {
        // A GPU may report it here, if the kernel has ended.
        let copy = device.download_async(&x).map(rustwarp::Pending::wait);
        assert!(matches!(copy, Ok(Err(Error::Fault(_)))), "{copy:?}");
    }
    let sum = device.sum_async(&x).and_then(rustwarp::Pending::wait);
    assert!(matches!(sum, Err(Error::Fault(_))), "{sum:?}");
    for later in [x.download().map(|_| ()), device.synchronize(), stream.synchronize()] {
        assert!(matches!(later, Err(Error::Fault(_))), "{later:?}");
    }
    Ok(())
}
