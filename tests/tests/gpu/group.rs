//! Groups of GPUs: of one process, and of a process for each GPU.

use crate::{again, trial};
use libtest_mimic::Trial;
use rustwarp::{Device, Error, Group, Launcher};
use std::net::TcpListener;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

/// Names a process that another test has started.
const ROLE: &str = "RUSTWARP_TEST_ROLE";

/// How long a test waits for a process.
const LIMIT: Duration = Duration::from_secs(120);

pub fn trials() -> Vec<Trial> {
    let mut trials = vec![
        trial("group::all_gpus_of_a_process", all_gpus_of_a_process),
        trial("group::a_process_for_each_gpu", a_process_for_each_gpu),
    ];
    // These say nothing about a single GPU.
    if count() > 1 {
        trials.push(trial("group::exact_sums_of_one_and_all_gpus", exact_sums_of_one_and_all_gpus));
        trials.push(trial("group::a_rank_that_dies_ends_the_others", a_rank_that_dies_ends_the_others));
        trials.push(trial("group::a_rank_that_is_late_is_named", a_rank_that_is_late_is_named));
    }
    trials
}

fn count() -> usize {
    rustwarp::backend::gpus().expect("GPUs").len()
}

fn all_gpus_of_a_process() {
    let group = Group::all().expect("a group");
    assert_eq!(group.size(), count());
    tests::group::test_all(&group);
}

fn exact_sums_of_one_and_all_gpus() {
    let values: Vec<f32> = (0..1 << 22).map(|i: u32| (i.wrapping_mul(2_654_435_761) as f32).sin() * 1e3).collect();
    let expected = rustwarp::exact_sum::on_cpu(&values).to_bits();
    for size in 1..=count() as u32 {
        let group = Group::gpus(size).expect("a group");
        let found = group.shard(&values).and_then(|x| group.exact_sum(&x)).expect("a sum");
        assert_eq!(found.to_bits(), expected, "{size} GPUs");
    }
}

fn a_process_for_each_gpu() {
    if let Some(launcher) = role() {
        let device = Device::gpu(launcher.local_rank as u32).expect("a GPU");
        tests::group::test_all(&Group::join(device, &launcher).expect("a group"));
        return;
    }
    let ranks = start("group::a_process_for_each_gpu", count());
    for (rank, mut child) in ranks.into_iter().enumerate() {
        assert!(ended(&mut child), "rank {rank} fails");
    }
}

/// The last rank aborts while the others reduce; they report it, and none of them hangs.
fn a_rank_that_dies_ends_the_others() {
    if let Some(launcher) = role() {
        let device = Device::gpu(launcher.local_rank as u32).expect("a GPU");
        let group = Group::join(device, &launcher).expect("a group");
        let mut values = group.replicate(&vec![1.0_f32; 1 << 24]).expect("memory");
        group.all_reduce_sum(&mut values).expect("the first sums");
        group.synchronize().expect("all ranks");
        if launcher.rank + 1 == launcher.size {
            std::process::abort();
        }
        let begin = Instant::now();
        let error = loop {
            if let Err(error) = group.all_reduce_sum(&mut values).and_then(|()| group.synchronize()) {
                break error;
            }
        };
        let last = format!("rank {}", launcher.size - 1);
        assert!(matches!(&error, Error::Group(text) if text.contains(&last)), "{error}");
        println!("rank {} after {:?}: {error}", launcher.rank, begin.elapsed());
        return;
    }
    let mut ranks = start("group::a_rank_that_dies_ends_the_others", count());
    let mut last = ranks.pop().expect("a rank");
    assert!(!ended(&mut last), "the last rank aborts");
    for (rank, mut child) in ranks.into_iter().enumerate() {
        assert!(ended(&mut child), "rank {rank} fails");
    }
}

/// The last rank lives, but makes no further call; the time-out ends the others, whose devices wait for it.
fn a_rank_that_is_late_is_named() {
    if let Some(launcher) = role() {
        let device = Device::gpu(launcher.local_rank as u32).expect("a GPU");
        let group = Group::join(device, &launcher.clone().with_timeout(Duration::from_secs(4))).expect("a group");
        let x = group.shard(&[1_i32; 1000]).expect("memory");
        assert_eq!(group.sum(&x).expect("the first sum"), 1000);
        if launcher.rank + 1 == launcher.size {
            std::thread::sleep(Duration::from_secs(12));
            return;
        }
        let error = group.sum(&x).expect_err("the last rank makes no call");
        let last = format!("rank {}", launcher.size - 1);
        assert!(matches!(&error, Error::Group(text) if text.contains(&last)), "{error}");
        println!("rank {}: {error}", launcher.rank);
        return;
    }
    for (rank, mut child) in start("group::a_rank_that_is_late_is_named", count()).into_iter().enumerate() {
        assert!(ended(&mut child), "rank {rank} fails");
    }
}

/// This process as a rank, if a test has started it.
fn role() -> Option<Launcher> {
    std::env::var_os(ROLE)?;
    Some(Launcher::from_environment().expect("variables").expect("a launcher"))
}

/// Starts the ranks of a test.
fn start(test: &str, size: usize) -> Vec<Child> {
    let port = TcpListener::bind("127.0.0.1:0").and_then(|free| free.local_addr()).expect("a port").port();
    let start = |rank: usize| {
        let mut command = again(test);
        let variables = [("RANK", rank), ("LOCAL_RANK", rank), ("WORLD_SIZE", size), ("MASTER_PORT", port.into())];
        command.env(ROLE, "rank").env("MASTER_ADDR", "127.0.0.1").stdin(Stdio::null());
        command.envs(variables.map(|(name, value)| (name, value.to_string())));
        command.spawn().expect("a process")
    };
    (0..size).map(start).collect()
}

/// Waits for a process, and returns whether it succeeded.
fn ended(child: &mut Child) -> bool {
    let begin = Instant::now();
    while begin.elapsed() < LIMIT {
        if let Some(status) = child.try_wait().expect("a status") {
            return status.success();
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    child.kill().expect("the end of the process");
    panic!("a rank hangs");
}
