//! `host FAMILY --gpus N` as the ranks of a launcher: several processes on loopback, with simulators.
#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

mod program;

use program::{command, lines};
use serde_json::Value;
use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Read, Write};
use std::iter;
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Stdio};
use std::sync::Mutex;
use std::sync::mpsc::{Receiver, channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// A limit that no test reaches, unless something waits for ever.
const LIMIT: Duration = Duration::from_secs(180);

/// The variables of one rank.
type Variables = Vec<(&'static str, String)>;

/// A port at which nothing listens.
fn free_port() -> u16 {
    static GIVEN: Mutex<BTreeSet<u16>> = Mutex::new(BTreeSet::new());
    let new = || TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let mut given = GIVEN.lock().unwrap();
    iter::repeat_with(new).find(|port| given.insert(*port)).unwrap()
}

/// The variables of torchrun.
fn torchrun(rank: usize, size: usize, port: u16) -> Variables {
    vec![
        ("RANK", rank.to_string()),
        ("WORLD_SIZE", size.to_string()),
        ("LOCAL_RANK", rank.to_string()),
        ("MASTER_ADDR", "127.0.0.1".to_owned()),
        ("MASTER_PORT", port.to_string()),
        ("RUSTWARP_TIMEOUT", "120".to_owned()),
    ]
}

/// A process, which does not outlive the test.
struct Rank {
    child: Child,
    stdout: Option<JoinHandle<String>>,
    /// Lines of standard error as they come.
    stderr: Receiver<String>,
}

/// What a process has left.
struct Left {
    code: Option<i32>,
    stdout: String,
    stderr: String,
}

impl Rank {
    fn start(args: &[&str], variables: &Variables) -> Self {
        let mut command = command(args);
        for name in ["RUSTWARP_SECRET", "RUSTWARP_PORT", "RUSTWARP_TIMEOUT", "TORCHELASTIC_USE_AGENT_STORE"] {
            command.env_remove(name);
        }
        command.envs(variables.iter().map(|(name, value)| (name, value)));
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let (mut out, err) = (child.stdout.take().unwrap(), child.stderr.take().unwrap());
        let (sender, stderr) = channel();
        thread::spawn(move || {
            for line in BufReader::new(err).lines().map_while(Result::ok) {
                let _ = sender.send(line);
            }
        });
        let stdout = thread::spawn(move || {
            let mut text = Vec::new();
            out.read_to_end(&mut text).unwrap();
            program::text(&text)
        });
        Self { child, stdout: Some(stdout), stderr }
    }

    /// Waits for a line of standard error that contains `words`.
    fn wait_for(&self, words: &str) {
        let end = Instant::now() + LIMIT;
        while let Ok(line) = self.stderr.recv_timeout(end.saturating_duration_since(Instant::now())) {
            if line.contains(words) {
                return;
            }
        }
        panic!("`{words}` was not printed");
    }

    /// Waits for the process to end.
    fn end(mut self) -> Left {
        let end = Instant::now() + LIMIT;
        let status = loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                break status;
            }
            assert!(Instant::now() < end, "a process does not end");
            thread::sleep(Duration::from_millis(10));
        };
        let stdout = self.stdout.take().unwrap().join().unwrap();
        let stderr = self.stderr.iter().collect::<Vec<_>>().join("\n");
        Left { code: status.code(), stdout, stderr }
    }
}

impl Drop for Rank {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A family whose results have the same bits for any number of ranks, and whose kernels are loaded fast.
const SUM: [&str; 2] = ["exact_sum", "--dtype=f64"];

/// The arguments of a sum of generated numbers.
fn sum(n: &'static str) -> Vec<&'static str> {
    [&SUM[..], &["--n", n, "--gpus", "all", "--device", "sim", "--json"]].concat()
}

/// Starts all ranks, and waits for them.
fn all(args: &[&str], variables: impl IntoIterator<Item = Variables>) -> Vec<Left> {
    let ranks: Vec<_> = variables.into_iter().map(|variables| Rank::start(args, &variables)).collect();
    ranks.into_iter().map(Rank::end).collect()
}

/// Checks that rank 0 has printed the row of one device, and the others nothing.
fn fine(left: &[Left], one: &Value) {
    for (rank, Left { code, stdout, stderr }) in left.iter().enumerate() {
        assert_eq!(*code, Some(0), "rank {rank}: {stdout}{stderr}");
        assert!(rank == 0 || stdout.is_empty() && stderr.is_empty(), "rank {rank} prints {stdout}{stderr}");
    }
    let rows = lines(&left[0].stdout);
    assert_eq!(rows.len(), 1);
    for field in ["family", "variant", "op", "dtype", "n", "value", "reference", "error", "verified", "wrapped"] {
        assert_eq!(rows[0][field], one[field], "{field}");
    }
    assert_eq!(rows[0]["device"], format!("{} x sim", left.len()));
}

/// Checks that a rank has ended with 5, and that its error has these words; a rank other than 0 says which it is.
fn failed(left: &Left, rank: usize, words: &[&str]) {
    assert_eq!(left.code, Some(5), "rank {rank}: {}{}", left.stdout, left.stderr);
    assert_eq!(left.stdout, "", "rank {rank}");
    for word in words {
        assert!(left.stderr.contains(word), "rank {rank}: `{word}` is missing in\n{}", left.stderr);
    }
    let own = |line: &str| rank == 0 || line.starts_with(&format!("rank {rank}: "));
    assert!(left.stderr.lines().all(own), "rank {rank}: {}", left.stderr);
}

fn one(n: &'static str) -> Value {
    program::object(&[&SUM[..], &["--n", n, "--variant", "best", "--device", "sim", "--json"]].concat(), 0)
}

#[test]
fn ranks_solve_what_one_device_solves() {
    let port = free_port();
    let reduce = ["reduce", "--dtype", "i32", "--n", "100003", "--device", "sim", "--json"];
    let of_one = program::object(&[&reduce[..], &["--variant", "best"]].concat(), 0);
    let of_all = [&reduce[..], &["--gpus", "all"]].concat();
    fine(&all(&of_all, (0..3).map(|rank| torchrun(rank, 3, port))), &of_one);
    // Rank 0 writes the elements of all.
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let (of_ranks, of_one) = (path("ranks.npy"), path("one.npy"));
    let scan = ["scan", "--n", "20011", "--dtype", "i64", "--exclusive", "--device", "sim", "--json", "--output"];
    let port = free_port();
    let args = [&scan[..], &[&of_ranks, "--gpus", "3"]].concat();
    let left = all(&args, (0..3).map(|rank| torchrun(rank, 3, port)));
    assert!(left.iter().all(|left| left.code == Some(0)), "{}", left[0].stderr);
    program::object(&[&scan[..], &[&of_one, "--variant", "best"]].concat(), 0);
    assert!(std::fs::read(of_ranks).unwrap() == std::fs::read(of_one).unwrap());
}

#[test]
fn open_mpi_needs_no_address_on_one_machine() {
    let port = free_port();
    let variables = |rank: usize| {
        let names = ["OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"];
        let local = ["OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE"];
        let own = [names[0], local[0]].map(|name| (name, rank.to_string()));
        let of_all = [names[1], local[1]].map(|name| (name, "2".to_owned()));
        let port = [("RUSTWARP_PORT", port.to_string())];
        own.into_iter().chain(of_all).chain(port).collect()
    };
    fine(&all(&sum("5003"), (0..2).map(variables)), &one("5003"));
}

#[test]
fn ranks_are_read_from_the_variables_of_srun() {
    let port = free_port();
    let variables = |rank: usize| {
        let own = ["SLURM_PROCID", "SLURM_LOCALID"].map(|name| (name, rank.to_string()));
        let of_all = [("SLURM_NTASKS", "2"), ("SLURM_STEP_ID", "0"), ("MASTER_ADDR", "127.0.0.1")];
        let of_all = of_all.map(|(name, value)| (name, value.to_owned()));
        own.into_iter().chain(of_all).chain([("RUSTWARP_PORT", port.to_string())]).collect()
    };
    fine(&all(&sum("5003"), (0..2).map(variables)), &one("5003"));
}

#[test]
fn a_rank_that_is_killed_ends_the_others() {
    let port = free_port();
    let args = sum("2^23");
    let mut ranks: Vec<_> = (0..3).map(|rank| Rank::start(&args, &torchrun(rank, 3, port))).collect();
    // All have joined, and compute.
    ranks[0].wait_for("using 3 x sim");
    ranks[2].child.kill().unwrap();
    ranks.truncate(2);
    for (rank, left) in ranks.into_iter().map(Rank::end).enumerate() {
        failed(&left, rank, &["rank 2", "ended"]);
    }
}

/// Each of these waits for its time-out; together they take as long as one.
#[test]
fn ranks_that_do_not_belong_together_are_errors() {
    thread::scope(|scope| {
        for one in [a_rank_that_does_not_come_is_named, ranks_of_another_size_are_refused, another_secret_is_refused] {
            scope.spawn(one);
        }
    });
}

fn a_rank_that_does_not_come_is_named() {
    let port = free_port();
    let short = |rank: usize| {
        let mut variables = torchrun(rank, 3, port);
        variables.push(("RUSTWARP_TIMEOUT", "4".to_owned()));
        variables
    };
    for (rank, left) in all(&sum("1000"), [0, 1].map(short)).into_iter().enumerate() {
        failed(&left, rank, &["rank 2"]);
    }
}

fn ranks_of_another_size_are_refused() {
    let port = free_port();
    let of_size = |rank: usize, size: usize| {
        let mut variables = torchrun(rank, size, port);
        variables.push(("RUSTWARP_TIMEOUT", "4".to_owned()));
        variables
    };
    let left = all(&sum("1000"), [of_size(0, 2), of_size(1, 3)]);
    failed(&left[0], 0, &["rank 1"]);
    failed(&left[1], 1, &["2", "3"]);
    // The number on the command line is that of the launcher.
    let left = all(&["reduce", "--n", "1000", "--gpus", "4", "--device", "sim"], [torchrun(1, 2, free_port())]);
    assert_eq!(left[0].code, Some(2), "{}", left[0].stderr);
    assert!(
        left[0].stderr.starts_with("rank 1: error: --gpus 4: the launcher has started 2 ranks"),
        "{}",
        left[0].stderr
    );
}

fn another_secret_is_refused() {
    let port = free_port();
    let with = |rank: usize, secret: &str| {
        let mut variables = torchrun(rank, 2, port);
        variables.push(("RUSTWARP_TIMEOUT", "4".to_owned()));
        variables.push(("RUSTWARP_SECRET", secret.to_owned()));
        variables
    };
    let left = all(&sum("1000"), [with(0, "swordfish"), with(1, "goldfish")]);
    failed(&left[0], 0, &["rank 1"]);
    failed(&left[1], 1, &["RUSTWARP_SECRET"]);
    for left in &left {
        assert!(!left.stderr.contains("swordfish") && !left.stderr.contains("goldfish"), "{}", left.stderr);
    }
    let port = free_port();
    let with = |rank: usize| {
        let mut variables = torchrun(rank, 2, port);
        variables.push(("RUSTWARP_SECRET", "swordfish".to_owned()));
        variables
    };
    fine(&all(&sum("1000"), [0, 1].map(with)), &one("1000"));
}

#[test]
fn ranks_with_other_inputs_are_named() {
    let port = free_port();
    let ranks = [("3000", 0), ("4000", 1)].map(|(n, rank)| Rank::start(&sum(n), &torchrun(rank, 2, port)));
    for (rank, left) in ranks.into_iter().map(Rank::end).enumerate() {
        failed(&left, rank, &["rank 0 calls `exact_sum of 3000 f64`", "rank 1 `exact_sum of 4000 f64`"]);
    }
}

#[test]
fn strangers_at_the_port_do_no_harm() {
    let port = free_port();
    let args = sum("5003");
    let mut ranks = vec![Rank::start(&args, &torchrun(0, 3, port))];
    let end = Instant::now() + LIMIT;
    let mut strangers = Vec::new();
    for garbage in [&b"GET / HTTP/1.1\r\nHost: example\r\n\r\n"[..], &[0xff; 4096], b""] {
        let stranger = loop {
            match TcpStream::connect(("127.0.0.1", port)) {
                Ok(stream) => break stream,
                Err(error) => assert!(Instant::now() < end, "rank 0 does not listen: {error}"),
            }
            thread::sleep(Duration::from_millis(20));
        };
        // It may be closed already.
        let _ = (&stranger).write_all(garbage);
        strangers.push(stranger);
    }
    ranks.extend([1, 2].map(|rank| Rank::start(&args, &torchrun(rank, 3, port))));
    let left: Vec<_> = ranks.into_iter().map(Rank::end).collect();
    fine(&left, &one("5003"));
    drop(strangers);
}
