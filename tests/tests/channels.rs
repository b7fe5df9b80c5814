//! Histograms of interleaved channels on the simulator with every checker on, against a plain count.
#![expect(clippy::expect_used, reason = "a test stops at the first error")]

use rustwarp::backend::Shape;
use rustwarp::histogram::{self, Bins, Channels, Letter, Plan};
use rustwarp::streamed::{self, Settings};
use rustwarp::{Error, Tuning};
use tests::checked::{device as sim, require_no_finding};

/// Bytes in which every channel has values of its own, and all values occur.
fn bytes(n: usize) -> Vec<u8> {
    (0..n).map(|i| (i * i / 7 + i % 12 * 19) as u8).collect()
}

/// All channels, with each number of them counted.
fn all() -> impl Iterator<Item = Channels> {
    (1..=4).flat_map(|all| (1..=all).map(move |counted| Channels::new(all, counted).expect("channels")))
}

fn expected(bytes: &[u8], channels: Channels, bins: usize) -> Vec<u64> {
    let mut counts = vec![0; channels.counted() as usize * bins];
    for (i, &byte) in bytes.iter().enumerate() {
        let (channel, value) = (i % channels.interleaved() as usize, usize::from(byte));
        if channel < channels.counted() as usize && value < bins {
            counts[channel * bins + value] += 1;
        }
    }
    counts
}

/// The parts start at every place of a vector, and end before, at and after an edge of a vector and of a pixel.
#[test]
fn every_start_and_channel() {
    let (device, bytes) = (sim(), bytes(3000));
    let input = device.upload(&bytes).expect("memory");
    for channels in all() {
        for (start, end) in (0..17).map(|start| (start, 2900 + 5 * start)).chain([(1, 1), (3, 9), (15, 17), (16, 64)]) {
            let what = format!("{channels:?}, {start}..{end}");
            let part = input.view(start..end).expect("a part");
            let counts = device.histogram_of_channels(part, channels, 256).and_then(|counts| counts.download());
            assert!(counts.expect("counts") == expected(&bytes[start..end], channels, 256), "{what}");
            require_no_finding(&device, &what);
        }
    }
}

/// Rounds of all loads, grids of any number of warps, and a plan that is launched again.
#[test]
fn every_grid() {
    let (device, bytes) = (sim(), bytes(40_003));
    let input = device.upload(&bytes).expect("memory");
    for channels in all() {
        for (block, grid) in [(32, 1), (64, 1), (32, 5), (96, 2), (128, 1), (512, 3), (1024, 1)] {
            let what = format!("{channels:?} by {grid} blocks of {block}");
            let tuning = Tuning { block: Some(block), grid: Some(grid) };
            let bins = Bins::of_channels(channels, 200);
            let plan = Plan::<u8>::new(&device, bytes.len(), bins, tuning).expect("a plan");
            let mut counts = device.uninit::<u64>(bins.counts()).expect("memory");
            for _ in 0..2 {
                plan.launch(&input, &mut counts).expect("a launch");
                assert!(counts.download().expect("counts") == expected(&bytes, channels, 200), "{what}");
                require_no_finding(&device, &what);
            }
        }
    }
}

/// The kernels that lanes with shared columns need, which the simulator's shared memory does not ask for.
#[test]
fn columns_of_two_lanes() {
    let (device, bytes) = (sim(), bytes(9001));
    let image = rustwarp::ptx::find_family("kernels-gpu", "histogram", None, None).expect("the kernels' PTX");
    let module = device.load(&image.bytes, "histogram").expect("a module");
    let input = device.upload(&bytes).expect("memory");
    for pixel in histogram::channels::KERNELS.0 {
        let len = pixel.counted() as usize * 256;
        let (totals, ticket) = (device.zeros::<u64>(len).expect("memory"), device.zeros::<u32>(1).expect("memory"));
        let counts = device.uninit::<u64>(len).expect("memory");
        let outputs = [totals.ptr(), counts.ptr()];
        let call = histogram::channels::call(input.slice(bytes.len()), (pixel, 16), 256, outputs, ticket.ptr());
        let columns = kernels_gpu::histogram::best::channels::shared_bytes(pixel.counted(), 16);
        // SAFETY: whole warps, memory for 16 columns, a count for each bin, totals and a ticket of 0.
        unsafe { module.launch(&call, Shape::linear(2, 128).with_shared(columns)) }.expect("a launch");
        assert!(counts.download().expect("counts") == expected(&bytes, pixel, 256), "{pixel:?}");
        require_no_finding(&device, &format!("{pixel:?}"));
    }
}

#[test]
fn more_bins_than_values_and_no_elements() {
    let (device, bytes) = (sim(), bytes(1000));
    let input = device.upload(&bytes).expect("memory");
    for bins in [1, 7, 300] {
        let counts = histogram::of_channels(&input, Channels::RGBX, bins).and_then(|counts| counts.download());
        assert_eq!(counts.expect("counts"), expected(&bytes, Channels::RGBX, bins as usize), "{bins} bins");
    }
    let none = device.upload::<u8>(&[]).expect("memory");
    let counts = histogram::of_channels(&none, Channels::RGB, 256).and_then(|counts| counts.download());
    assert_eq!(counts.expect("counts"), [0; 768]);
}

#[test]
fn what_is_refused() {
    let device = sim();
    let input = device.upload(&[1_u8; 64]).expect("memory");
    let refused = |result: Result<(), Error>| match result.expect_err("refused") {
        Error::Argument(text) => text,
        other => panic!("{other}"),
    };
    assert!(refused(histogram::of_channels(&input, Channels::RGB, 0).map(drop)).contains("at least one bin"));
    let many = Plan::<u8>::new(&device, 64, Bins::of_channels(Channels::RGB, u32::MAX), Tuning::default());
    assert!(refused(many.map(drop)).contains("not 12884901885"));
    assert!(refused(Channels::new(5, 1).map(drop)).contains("1 of 5"));
    let other = sim().histogram_of_channels(&input, Channels::RGB, 256);
    assert!(matches!(other, Err(Error::OtherDevice { .. })));
    // Chunks may end within a pixel.
    let bins = Bins::of_channels(Channels::RGB, 256);
    let chunks = streamed::histogram(&device, &&[1_u8; 64][..], 0..64, bins, &Settings::default());
    assert!(refused(chunks.map(drop)).contains("in chunks"));
}

/// Letters have one channel, and their counts are those of the groups.
#[test]
fn letters_have_one_channel() {
    let bins = Bins::<Letter>::letters();
    assert_eq!((bins.count(), bins.counts()), (7, 7));
    assert_eq!(Bins::of_channels(Channels::RGBX, 7).counts(), 21);
}
