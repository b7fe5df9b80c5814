//! Groups of simulated devices of one process.
#![expect(clippy::expect_used, reason = "a test stops at the first error")]

use rustwarp::group::Grid;
use rustwarp::reduce::Sum;
use rustwarp::streamed::{Settings, Source};
use rustwarp::{Device, Error, Group};
use std::io;

/// Tests groups of these sizes, of the same simulators: each loads the kernels once.
fn every_function_of_groups(sizes: &[usize]) {
    let most = sizes.iter().copied().max().unwrap_or(0);
    let devices: Vec<_> = (0..most).map(|_| Device::sim().expect("a simulator")).collect();
    for &size in sizes {
        let group = Group::of(devices[..size].to_vec()).expect("a group");
        assert_eq!((group.size(), group.ranks(), group.devices().len()), (size, 0..size, size));
        tests::group::test_all(&group);
    }
}

#[test]
fn every_function_of_groups_of_1_2_and_4_devices() {
    every_function_of_groups(&[1, 2, 4]);
}

#[test]
fn every_function_of_groups_of_3_and_6_devices() {
    every_function_of_groups(&[3, 6]);
}

#[test]
fn an_exact_sum_has_the_same_bits_for_any_number_of_devices() {
    let values: Vec<f32> = (0..10_007).map(|i| ((i * 2_654_435_761_u64 % 9973) as f32).powi(3) * 1e-7).collect();
    let bits = |size| {
        let group = Group::simulated(size).expect("a group");
        let x = group.shard(&values).expect("memory");
        group.exact_sum(&x).expect("a sum").to_bits()
    };
    let one = Device::sim().and_then(|device| device.exact_sum(&device.upload(&values)?)).expect("a sum").to_bits();
    assert!((1..=5).all(|size| bits(size) == one));
}

#[test]
fn memory_belongs_to_its_group() {
    let [one, other] = [(); 2].map(|()| Group::simulated(2).expect("a group"));
    let x = one.shard(&[1_u32, 2, 3]).expect("memory");
    let error = other.sum(&x).expect_err("memory of another group");
    assert!(matches!(&error, Error::Mismatch(text) if text.contains("another group")), "{error}");
    assert!(x.part(1).is_ok() && x.part(2).is_err());
    assert_eq!((x.len(), x.range(0), x.range(1)), (3, 0..1, 1..3));
}

#[test]
fn requests_that_no_group_fulfils() {
    let group = Group::simulated(2).expect("a group");
    assert!(matches!(Group::of(Vec::new()), Err(Error::Argument(_))));
    assert!(matches!(group.shard_rows(&[1.0_f32; 5], 2), Err(Error::Mismatch(_))));
    assert!(matches!(group.shard_with(3, |_| Ok(vec![0_u32; 9])), Err(Error::Mismatch(_))));
    assert!(matches!(group.shard_blocks(&[0_f32; 4], [2, 2], Grid::of(3)), Err(Error::Argument(_))));
    let (short, long) = (group.shard(&[1_f32; 3]).expect("memory"), group.shard(&[1_f32; 4]).expect("memory"));
    assert!(matches!(group.dot(&short, &long), Err(Error::Mismatch(_))));
    assert!(matches!(
        group.reduce_scatter_sum(&group.replicate(&[1_u32; 3]).expect("memory")),
        Err(Error::Mismatch(_))
    ));
    assert!(matches!(group.gather_to(&short, 2), Err(Error::Argument(_))));
    let no_unit = group.shard_rows::<f32>(&[], 0).expect("nothing");
    assert!(no_unit.is_empty());
}

#[test]
fn a_fault_on_one_device_is_the_result() {
    let group = Group::simulated(2).expect("a group");
    let x = group.shard(&[1_u32; 8]).expect("memory");
    let ptx = b".version 7.8\n.target sm_75\n.address_size 64\n.visible .entry k() { trap; ret; }\n";
    let second = group.devices().nth(1).expect("a device");
    let module = second.load(ptx, "k.ptx").expect("a module");
    // SAFETY: the kernel has no parameters and accesses no memory.
    let launched = unsafe { module.launch(&rustwarp::Call::new("k"), rustwarp::Shape::linear(1, 32)) };
    launched.expect("a launch");
    assert!(matches!(group.sum(&x), Err(Error::Fault(_))));
}

/// Bytes of zeros, of which those from an offset on cannot be read.
struct Damaged(u64);

impl Source for Damaged {
    fn bytes(&self) -> u64 {
        1 << 20
    }

    fn read_at(&self, offset: u64, into: &mut [u8]) -> io::Result<()> {
        if offset >= self.0 {
            return Err(io::Error::other("a damaged sector"));
        }
        into.fill(0);
        Ok(())
    }
}

#[test]
fn an_input_that_cannot_be_read_ends_all_ranks() {
    let settings = Settings { chunk: Some(1 << 12), ..Settings::default() };
    for size in [1, 3] {
        let group = Group::simulated(size).expect("a group");
        let sum = |source: &dyn Source| group.reduce_streamed::<Sum, i64>(source, 1 << 17, &settings);
        assert_eq!(sum(&Damaged(u64::MAX)).expect("a sum").value, 0);
        // The last rank's part cannot be read; the first ones stop, and the error is that of the last.
        let error = sum(&Damaged((1 << 20) - 5000)).expect_err("a damaged sector");
        let named = matches!(&error, Error::Stream { source, .. } if source.to_string() == "a damaged sector");
        assert!(named, "{error}");
    }
}
