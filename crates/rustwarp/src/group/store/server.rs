//! The store's server, which rank 0 hosts: it seats the ranks that join, and forwards what they post.

use super::config::Config;
use super::frame::{Broken, Frame, Kind};
use super::handshake;
use super::ledger::Ledger;
use super::names::{ranks, seconds};
use super::secret::Secret;
use super::sender::Sender;
use super::timed::{deadline, wait_until};
use crate::error::{Error, Result};
use crate::sync::lock;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::thread;
use std::time::{Duration, Instant};

/// The store's server: one thread accepts connections, two serve each rank.
pub struct Server {
    room: Arc<Room>,
    address: SocketAddr,
}

/// What the server's threads share.
struct Room {
    config: Config,
    secret: Secret,
    size: usize,
    state: Mutex<State>,
    changed: Condvar,
}

struct State {
    ledger: Ledger,
    lines: Vec<Option<Line>>,
    /// Connections of ranks that are open.
    connections: usize,
    /// Connections that are not yet authenticated.
    strangers: usize,
    /// The number of refused connections, and why the last one was.
    refused: (usize, String),
    has_started: bool,
    failure: Option<String>,
    /// Rank 0 has left in order: the others close their connections.
    is_ending: bool,
    /// The server accepts no more connections.
    is_closing: bool,
}

/// The connection of a rank.
struct Line {
    stream: Arc<TcpStream>,
    sender: Arc<Sender>,
}

impl Server {
    /// Starts the server.
    ///
    /// # Errors
    /// [`Error::Group`] if the operating system refuses the thread.
    pub fn start(listener: TcpListener, secret: Secret, size: usize, config: Config) -> Result<Self> {
        let cannot = |error: std::io::Error| Error::Group(format!("cannot start the store of the group: {error}"));
        let address = reachable(listener.local_addr().map_err(cannot)?);
        let state = State {
            ledger: Ledger::new(size),
            lines: (0..size).map(|_| None).collect(),
            connections: 0,
            strangers: 0,
            refused: (0, String::new()),
            has_started: false,
            failure: None,
            is_ending: false,
            is_closing: false,
        };
        let room = Arc::new(Room { config, secret, size, state: Mutex::new(state), changed: Condvar::new() });
        let accepting = Arc::clone(&room);
        spawn("accept", move || accept(&accepting, &listener)).map_err(cannot)?;
        Ok(Self { room, address })
    }

    /// The address at which this process reaches the server.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Waits until all ranks have joined, or fails the group at the deadline. `place` is where the ranks look for rank
    /// 0, and `limit` the time that they had.
    pub fn wait_for_ranks(&self, deadline: Instant, limit: Duration, place: &str) {
        let mut state = lock(&self.room.state);
        while !state.has_started && state.failure.is_none() {
            let in_time;
            (state, in_time) = wait_until(&self.room.changed, state, deadline);
            if !in_time {
                let refused = match &state.refused {
                    (0, _) => String::new(),
                    (1, reason) => format!("; one connection was refused: {reason}"),
                    (count, reason) => format!("; {count} connections were refused, the last one because {reason}"),
                };
                let text = format!(
                    "{} of {} did not join within {}: check that they run and reach {place}{refused}",
                    ranks(&state.ledger.missing()),
                    self.room.size,
                    seconds(limit),
                );
                self.room.fail(&mut state, text);
            }
        }
    }

    /// Fails the group.
    pub fn fail(&self, reason: &str) {
        self.room.fail(&mut lock(&self.room.state), reason.to_owned());
    }
}

impl Drop for Server {
    /// Waits until the other ranks have left, for a limited time, and ends the threads.
    fn drop(&mut self) {
        let room = &self.room;
        let mut state = room.wait_for_leaving(lock(&room.state), room.config.linger);
        if state.failure.is_some() {
            state = room.wait_for_leaving(state, room.config.report);
        } else if state.connections > 0 {
            // The ranks close their connections when they have received all in front of this.
            state.is_ending = true;
            let gone = Frame::reason(Kind::Gone, &format!("{} has left the group", state.ledger.name(0)));
            state.lines.iter().flatten().for_each(|line| line.sender.finish(gone.clone()));
            state = room.wait_for_leaving(state, room.config.silence);
        }
        state.is_closing = true;
        // An error means that the connection is closed already.
        state.lines.iter().flatten().for_each(|line| drop(line.stream.shutdown(Shutdown::Both)));
        drop(state);
        // Ends the wait for the next connection.
        drop(TcpStream::connect_timeout(&self.address, Duration::from_secs(1)));
    }
}

impl Room {
    /// Fails the group, unless it has failed: all ranks get the reason, in front of what still waits to be sent.
    fn fail(&self, state: &mut State, reason: String) {
        if state.failure.is_none() {
            let frame = Frame::reason(Kind::Fail, &reason);
            state.lines.iter().flatten().for_each(|line| line.sender.cut(Some(frame.clone())));
            state.failure = Some(reason);
            self.changed.notify_all();
        }
    }

    /// Waits until no rank is connected, for a limited time.
    fn wait_for_leaving<'a>(&self, mut state: MutexGuard<'a, State>, limit: Duration) -> MutexGuard<'a, State> {
        let deadline = deadline(limit);
        let mut in_time = true;
        while state.connections > 0 && in_time {
            (state, in_time) = wait_until(&self.changed, state, deadline);
        }
        state
    }

    /// Authenticates a connection, and gives the rank its seat.
    fn admit(&self, stream: &Arc<TcpStream>) -> std::result::Result<(usize, Arc<Sender>), String> {
        let deadline = deadline(self.config.handshake);
        let applicant = handshake::receive(stream, &self.secret, deadline)?;
        let rank = applicant.rank;
        let mut state = lock(&self.state);
        let seated = match &state.failure {
            Some(failure) => Err(failure.clone()),
            None => state.ledger.seat(rank, applicant.size, applicant.hello.clone()),
        };
        if let Err(reason) = seated {
            drop(state);
            applicant.refuse(stream, &self.secret, deadline, &reason);
            return Err(reason);
        }
        let sender = Arc::new(Sender::default());
        state.lines[rank] = Some(Line { stream: Arc::clone(stream), sender: Arc::clone(&sender) });
        state.connections += 1;
        self.start_if_complete(&mut state);
        drop(state);
        // The thread that reads finds a connection on which the verdict could not be sent.
        let _ = applicant.accept(stream, &self.secret, deadline);
        Ok((rank, sender))
    }

    /// Starts the group when the last rank has joined.
    fn start_if_complete(&self, state: &mut State) {
        let Some(hellos) = state.ledger.hellos() else { return };
        if let Err(reason) = state.ledger.check_hellos() {
            return self.fail(state, reason);
        }
        let mut payload = Vec::new();
        hellos.iter().for_each(|hello| hello.write(&mut payload));
        let start = Frame { payload: Arc::new(payload), ..Frame::new(Kind::Start) };
        state.lines.iter().flatten().for_each(|line| line.sender.push(start.clone()));
        state.has_started = true;
        self.changed.notify_all();
    }

    /// Reads what a rank sends, until its connection is closed.
    fn serve(self: &Arc<Self>, rank: usize, stream: &Arc<TcpStream>, sender: &Arc<Sender>) {
        let (to, frames, heartbeat) = (Arc::clone(stream), Arc::clone(sender), self.config.heartbeat);
        let ready = stream
            .set_write_timeout(None)
            .and_then(|()| stream.set_read_timeout(Some(self.config.silence)))
            .and_then(|()| spawn("send", move || frames.run(&to, heartbeat)));
        let reason = match ready {
            Err(error) => format!("has ended: rank 0 cannot serve it: {error}"),
            Ok(()) => {
                let mut reader: &TcpStream = stream;
                let broken = loop {
                    match Frame::read(&mut reader) {
                        Ok(frame) => self.handle(rank, frame),
                        Err(broken) => break broken,
                    }
                };
                match broken {
                    Broken::Closed => "has ended".to_owned(),
                    Broken::Silent => format!("has ended: it sent nothing for {}", seconds(self.config.silence)),
                    Broken::Invalid => "has ended: it sent bytes that are not a message of a rank".to_owned(),
                }
            }
        };
        let mut state = lock(&self.state);
        if !state.ledger.has_left(rank) && !state.is_ending && !state.is_closing {
            let text = format!("{} {reason}", state.ledger.name(rank));
            self.fail(&mut state, text);
        }
        sender.cut(None);
        // An error means that the connection is closed already.
        let _ = stream.shutdown(Shutdown::Both);
        state.lines[rank] = None;
        state.connections -= 1;
        self.changed.notify_all();
    }

    /// Does what a rank's frame asks for.
    fn handle(&self, rank: usize, frame: Frame) {
        let mut state = lock(&self.state);
        if state.failure.is_some() && frame.kind != Kind::Bye {
            return;
        }
        match frame.kind {
            Kind::Beat => {}
            Kind::Post if state.has_started => match state.ledger.post(rank, frame.number, &frame.label) {
                Ok(()) => {
                    let part = Frame { kind: Kind::Part, rank: rank as u32, label: String::new(), ..frame };
                    // The rank has its own part, and waits for the word that the label is right.
                    let accepted = Frame { payload: Arc::default(), ..part.clone() };
                    for (other, line) in state.lines.iter().enumerate() {
                        let Some(line) = line else { continue };
                        line.sender.push(if other == rank { accepted.clone() } else { part.clone() });
                    }
                }
                Err(reason) => self.fail(&mut state, reason),
            },
            Kind::Bye => {
                let left = state.ledger.leave(rank);
                if let Some(line) = &state.lines[rank] {
                    line.sender.cut(None);
                }
                if let Err(reason) = left {
                    self.fail(&mut state, reason);
                }
            }
            Kind::Fail => self.fail(&mut state, frame.label),
            Kind::Post | Kind::Start | Kind::Part | Kind::Gone => {
                let text = format!("{} has sent a message out of order", state.ledger.name(rank));
                self.fail(&mut state, text);
            }
        }
    }
}

/// Accepts connections until the server ends.
fn accept(room: &Arc<Room>, listener: &TcpListener) {
    loop {
        let accepted = listener.accept();
        let mut state = lock(&room.state);
        if state.is_closing {
            return;
        }
        let Ok((stream, _)) = accepted else {
            drop(state);
            // The process may have too many files open for the moment.
            thread::sleep(Duration::from_millis(50));
            continue;
        };
        if state.strangers >= room.config.strangers.max(room.size) {
            state.refused.0 += 1;
            state.refused.1 = "too many connected at one time without the secret".to_owned();
            continue;
        }
        state.strangers += 1;
        drop(state);
        let guest = Arc::clone(room);
        if spawn("rank", move || receive(&guest, &Arc::new(stream))).is_err() {
            lock(&room.state).strangers -= 1;
        }
    }
}

/// Serves a connection: that of a stranger first, and that of a rank once it has joined.
fn receive(room: &Arc<Room>, stream: &Arc<TcpStream>) {
    let admitted = stream.set_nodelay(true).map_err(|error| error.to_string()).and_then(|()| room.admit(stream));
    let mut state = lock(&room.state);
    state.strangers -= 1;
    match admitted {
        Ok((rank, sender)) => {
            drop(state);
            room.serve(rank, stream, &sender);
        }
        Err(reason) => {
            state.refused.0 += 1;
            state.refused.1 = reason;
        }
    }
}

/// The address at which this process reaches its own listener.
fn reachable(mut address: SocketAddr) -> SocketAddr {
    match address.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => address.set_ip(Ipv4Addr::LOCALHOST.into()),
        IpAddr::V6(ip) if ip.is_unspecified() => address.set_ip(Ipv6Addr::LOCALHOST.into()),
        _ => {}
    }
    address
}

/// Starts a thread of the store.
///
/// # Errors
/// Those of the operating system.
pub fn spawn(what: &str, body: impl FnOnce() + Send + 'static) -> std::io::Result<()> {
    thread::Builder::new().name(format!("group {what}")).spawn(body).map(drop)
}
