//! Graphs.

use rustwarp::reduce::{Plan, Sum};
use rustwarp::scan::{self, Kind};
use rustwarp::{Buffer, Device, Error, Handle, Tuning, View};

use super::{load, shift, shift_call};

pub(super) fn a_graph_is_replayed(device: &Device) -> rustwarp::Result<()> {
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

pub(super) fn a_graph_is_updated(device: &Device) -> rustwarp::Result<()> {
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

pub(super) fn a_graph_launches_cooperatively(device: &Device) -> rustwarp::Result<()> {
    let module = load(device)?;
    let x = device.upload(&[0_u32; 300])?;
    let (call, shape) = shift_call(View::from(&x), 1);
    let mut graph = device.capture(|device| {
        device.will_write(&x)?;
        // SAFETY: the kernel accesses the elements of `x`, one per thread.
        unsafe { module.launch(&call, shape.cooperative()) }
    })?;
    for round in 1..=3 {
        graph.launch()?;
        assert_eq!(x.download()?, [round; 300]);
    }
    let (call, shape) = shift_call(View::from(&x), 10);
    // SAFETY: the kernel accesses the elements of `x`, which the graph keeps already.
    unsafe { graph.set_kernel(0, &module, &call, shape.cooperative())? };
    graph.launch()?;
    assert_eq!(x.download()?, [13; 300]);
    // A launch whose blocks may run one after the other does not replace it; the graph is unchanged.
    let (call, shape) = shift_call(View::from(&x), 1000);
    // SAFETY: as above.
    let plain = unsafe { graph.set_kernel(0, &module, &call, shape) };
    assert!(matches!(plain, Err(Error::Mismatch(_))), "{plain:?}");
    graph.launch()?;
    assert_eq!(x.download()?, [23; 300]);
    Ok(())
}

pub(super) fn a_graph_keeps_its_memory(device: &Device) -> rustwarp::Result<()> {
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

pub(super) fn a_graph_contains_no_waiting(device: &Device) -> rustwarp::Result<()> {
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
    // What was refused left nothing behind.
    assert_eq!(graph.kernels(), 1);
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

pub(super) fn what_is_made_in_a_capture_outlives_it(device: &Device) -> rustwarp::Result<()> {
    let x = device.upload(&[1_u32, 2, 3])?;
    let mut sum = device.uninit::<u32>(1)?;
    let (mut plan, mut zeros) = (None, None);
    let graph = device.capture(|device| {
        // The plan's records are 0 at once, and not only where the graph runs: three blocks use them.
        plan = Some(Plan::<Sum, u32>::new(device, 3, Tuning { grid: Some(3), ..Tuning::default() })?);
        zeros = Some(device.zeros::<u32>(1000)?);
        // A graph cannot keep memory that borrows its device.
        let borrowed = rustwarp::backend::Buffer::<u32>::uninit(device.backend(), 4, "borrowed")?;
        let refused = borrowed.fill(1);
        assert!(matches!(refused, Err(Error::Capturing { .. })), "{refused:?}");
        Ok(())
    })?;
    let (plan, zeros) = (plan.expect("a plan"), zeros.expect("zeros"));
    plan.launch(&x, &mut sum)?;
    assert_eq!((sum.read(1)?[0], device.sum(&zeros)?, graph.kernels()), (6, 0, 0));
    Ok(())
}

pub(super) fn empty_inputs_do_not_wait(device: &Device) -> rustwarp::Result<()> {
    let empty = device.upload::<f64>(&[])?;
    let mut results = device.upload(&[1.0_f64; 3])?;
    let graph = device.capture(|_| {
        rustwarp::reduce::sum_into(&empty, results.view_mut(..1)?)?;
        rustwarp::reduce::max_into(&empty, results.view_mut(1..2)?)?;
        rustwarp::dot::dot_into(&empty, &empty, results.view_mut(2..)?)
    })?;
    assert_eq!(results.download()?, [1.0; 3]);
    graph.launch()?;
    assert_eq!(results.download()?, [0.0, f64::NEG_INFINITY, 0.0]);
    Ok(())
}
