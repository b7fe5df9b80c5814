//! Groups whose ranks are threads, over loopback.

mod failing;
mod joining;
mod working;

use super::config::Config;
use super::connect::reach;
use super::{Client, Hello};
use crate::error::Result;
use crate::group::launcher::Launcher;
use std::net::{TcpListener, TcpStream};
use std::sync::Mutex;
use std::thread;
use std::time::{Duration, Instant};

/// A limit which tests that end early do not reach.
const LONG: Duration = Duration::from_secs(120);
/// A limit which tests wait for.
const SHORT: Duration = Duration::from_secs(2);

/// The place of a group, and how its ranks join.
struct Place {
    size: usize,
    listener: Mutex<Option<TcpListener>>,
    port: u16,
    timeout: Duration,
    config: Config,
}

impl Place {
    fn new(size: usize) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let port = listener.local_addr().expect("an address").port();
        let config = Config {
            heartbeat: Duration::from_millis(100),
            silence: LONG,
            linger: Duration::from_millis(300),
            ..Config::default()
        };
        Self { size, listener: Mutex::new(Some(listener)), port, timeout: LONG, config }
    }

    fn launcher(&self, rank: usize) -> Launcher {
        Launcher::new(rank, self.size, "127.0.0.1", self.port).with_timeout(self.timeout)
    }

    fn join_as(&self, launcher: &Launcher, hello: Hello) -> Result<Client> {
        let listener = if launcher.rank == 0 { self.listener.lock().expect("no panic").take() } else { None };
        Client::join_with(launcher, hello, self.config, listener)
    }

    fn join(&self, rank: usize) -> Result<Client> {
        self.join_as(&self.launcher(rank), hello(rank))
    }

    /// The clients of these ranks, which join at the same time.
    fn join_all(&self, ranks: &[usize]) -> Vec<Result<Client>> {
        thread::scope(|scope| {
            let threads: Vec<_> = ranks.iter().map(|rank| scope.spawn(move || self.join(*rank))).collect();
            threads.into_iter().map(|thread| thread.join().expect("no panic")).collect()
        })
    }

    /// The connection of a rank that has authenticated, and sends nothing by itself.
    fn puppet(&self, rank: usize) -> TcpStream {
        reach(&self.launcher(rank), &hello(rank), &self.config, Instant::now() + LONG, None).expect("a seat")
    }

    /// All ranks but the last one, whose connection the test operates.
    fn with_puppet(&self) -> (Vec<Client>, TcpStream) {
        let ranks: Vec<usize> = (0..self.size - 1).collect();
        let (clients, puppet) = thread::scope(|scope| {
            let puppet = scope.spawn(|| self.puppet(self.size - 1));
            (self.join_all(&ranks), puppet.join().expect("no panic"))
        });
        (clients.into_iter().map(|client| client.expect("a group")).collect(), puppet)
    }
}

fn hello(rank: usize) -> Hello {
    Hello { version: "1".into(), nccl: "2.23".into(), device: "sim".into(), host: format!("node{rank} 4711") }
}

fn group(size: usize) -> Vec<Client> {
    let ranks: Vec<usize> = (0..size).collect();
    Place::new(size).join_all(&ranks).into_iter().map(|client| client.expect("a group")).collect()
}

/// Runs the body of each rank in a thread, and returns the results.
fn each<R: Send>(clients: Vec<Client>, body: impl Fn(Client) -> R + Sync) -> Vec<R> {
    thread::scope(|scope| {
        let body = &body;
        let threads: Vec<_> = clients.into_iter().map(|client| scope.spawn(move || body(client))).collect();
        threads.into_iter().map(|thread| thread.join().expect("no panic")).collect()
    })
}

/// The message of an error, which contains all parts.
#[track_caller]
fn error_with<T>(result: Result<T>, parts: &[&str]) -> String {
    let Err(error) = result else { panic!("no error") };
    let error = error.to_string();
    for part in parts {
        assert!(error.contains(part), "`{error}` lacks `{part}`");
    }
    error
}

/// The group has failed, and all calls return the same reason.
#[track_caller]
fn has_failed(client: &Client, part: &str) {
    let first = error_with(client.exchange("later", vec![1]), &[part]);
    assert_eq!(client.failure().as_deref(), Some(first.as_str()));
    assert_eq!(error_with(client.post("later", vec![1]).map(drop), &[]), first);
}

impl Client {
    /// Waits until the group has failed.
    fn wait_for_failure(&self) -> Result<()> {
        let start = Instant::now();
        while self.failure().is_none() {
            assert!(start.elapsed() < LONG, "no failure");
            thread::yield_now();
        }
        self.post("after the failure", vec![]).map(drop)
    }
}
