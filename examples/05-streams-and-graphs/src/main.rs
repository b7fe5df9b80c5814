//! Copies and work in two streams, and a graph that replays a sequence of calls.

use rustwarp::reduce::{Plan, Sum};
use rustwarp::scan::{self, Kind};
use rustwarp::{Device, Error, Tuning};

fn main() -> Result<(), Error> {
    let device = Device::default()?;
    let n = 1 << 16;

    // ANCHOR: streams
    // A second stream copies the next batch while the first one works on the last. Two buffers take turns: a copy into
    // one waits for the sum of what it held before.
    let copies = device.stream()?;
    let mut pinned = device.pinned_from(&vec![1_u32; n])?;
    let mut buffers = [copies.uninit::<u32>(n)?, copies.uninit::<u32>(n)?];
    let mut sums = Vec::new();
    for batch in 1..=4 {
        pinned.fill(batch);
        let x = &mut buffers[batch as usize % 2];
        let sent = copies.upload_pinned(pinned, &mut *x)?;
        sums.push(device.sum_async(&*x)?);
        // The pinned memory can be filled again once the copy has ended; the sums are still under way.
        pinned = sent.wait()?;
    }
    let sums: Vec<u32> = sums.into_iter().map(|sum| sum.wait()).collect::<Result<_, _>>()?;
    // ANCHOR_END: streams
    assert_eq!(sums, [1, 2, 3, 4].map(|batch| batch * n as u32));
    println!("sums of four batches: {sums:?}");

    // ANCHOR: graph
    // A graph starts several kernels by one call, on the memory's current contents.
    let x = device.upload(&vec![1_u32; n])?;
    let (mut prefixes, mut total) = (device.zeros::<u32>(n)?, device.zeros::<u32>(1)?);
    let plan = Plan::<Sum, u32>::new(&device, n, Tuning::default())?;
    let mut graph = device.capture(|_| {
        scan::sums_into(&x, Kind::Inclusive, &mut prefixes)?;
        plan.launch(&prefixes, &mut total)?;
        x.copy_from(&prefixes)
    })?;
    let start = device.record()?;
    for _ in 0..3 {
        graph.launch()?;
    }
    let end = device.record()?;
    // ANCHOR_END: graph
    println!("after three running sums, the first elements are {:?}", x.read(4)?);
    assert_eq!(x.read(4)?, [1, 4, 10, 20]);
    if let Some(milliseconds) = end.elapsed_since(&start)? {
        println!("{} kernels in {milliseconds:.3} ms", 3 * graph.kernels());
    }

    // ANCHOR: update
    // The same steps on other memory.
    let y = device.upload(&vec![2_u32; n])?;
    graph.update(|_| {
        scan::sums_into(&y, Kind::Inclusive, &mut prefixes)?;
        plan.launch(&prefixes, &mut total)?;
        y.copy_from(&prefixes)
    })?;
    graph.launch()?;
    // ANCHOR_END: update
    println!("the running sums of other memory begin with {:?}", y.read(4)?);
    assert_eq!((x.read(4)?, y.read(4)?), (vec![1, 4, 10, 20], vec![2, 4, 6, 8]));
    y.fill(0)?;
    graph.launch()?;
    assert_eq!(total.download()?, [0]);
    Ok(())
}
