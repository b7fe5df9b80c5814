//! A rank's side of the store: it joins, posts its parts of exchanges, and waits for those of the others.

use super::clamped::clamped;
use super::config::Config;
use super::connect::{listen, place, reach};
use super::exchanges::State;
use super::frame::{Broken, Frame, Kind, LONGEST_LABEL, LONGEST_PAYLOAD};
use super::hello::Hello;
use super::names::{name, ranks, seconds};
use super::secret::Secret;
use super::sender::Sender;
use super::server::{Server, spawn};
use super::timed::{deadline, wait_until};
use crate::error::{Error, Result};
use crate::group::launcher::Launcher;
use crate::sync::lock;
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

/// A rank's side of the store. After a failure of the group, every call returns its reason at once.
pub struct Client {
    rank: usize,
    size: usize,
    hellos: Vec<Hello>,
    timeout: Duration,
    config: Config,
    stream: Arc<TcpStream>,
    sender: Arc<Sender>,
    shared: Arc<Shared>,
    /// Rank 0's, which ends behind its client.
    server: Option<Server>,
}

/// A posted exchange. Dropped without a wait, it gives up the parts of the others.
#[must_use]
pub struct Ticket {
    number: u64,
    label: String,
    shared: Arc<Shared>,
}

/// What the thread that receives shares with the callers.
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

impl Client {
    /// Joins the group: returns when all ranks have joined. Rank 0 also starts the server.
    ///
    /// # Errors
    /// [`Error::Argument`] for a place that is not valid, or an address that needs a secret; [`Error::Group`] if a rank
    /// does not join in time, is refused, or differs.
    pub fn join(launcher: &Launcher, hello: Hello) -> Result<Self> {
        Self::join_with(launcher, hello, Config::default(), None)
    }

    /// Joins with other limits. Rank 0 may pass a listener that is open already.
    ///
    /// # Errors
    /// Those of [`Client::join`].
    pub fn join_with(launcher: &Launcher, hello: Hello, config: Config, listener: Option<TcpListener>) -> Result<Self> {
        launcher.check()?;
        let until = deadline(launcher.timeout);
        let server = match launcher.rank {
            0 => {
                let listener = listener.map_or_else(|| listen(launcher), Ok)?;
                Some(Server::start(listener, Secret::new(launcher.secret()), launcher.size, config)?)
            }
            _ => None,
        };
        let stream = reach(launcher, &hello, &config, until, server.as_ref().map(Server::address));
        let stream = stream.inspect_err(|error| {
            if let Some(server) = &server {
                server.fail(&format!("rank 0 could not join its own store: {error}"));
            }
        })?;
        let mut client = Self {
            rank: launcher.rank,
            size: launcher.size,
            hellos: Vec::new(),
            timeout: launcher.timeout,
            config,
            stream: Arc::new(stream),
            sender: Arc::default(),
            shared: Arc::new(Shared {
                state: Mutex::new(State::new(launcher.rank, launcher.size)),
                changed: Condvar::new(),
            }),
            server,
        };
        client.start_threads()?;
        if let Some(server) = &client.server {
            server.wait_for_ranks(until, launcher.timeout, &place(launcher));
        }
        client.hellos = client.wait_for_start(until.max(Instant::now()) + config.report)?;
        Ok(client)
    }

    /// The number of this rank.
    #[cfg(test)]
    pub fn rank(&self) -> usize {
        self.rank
    }

    /// The number of ranks.
    #[cfg(test)]
    pub fn size(&self) -> usize {
        self.size
    }

    /// What the ranks have stated about themselves, in their order.
    #[cfg(test)]
    pub fn hellos(&self) -> &[Hello] {
        &self.hellos
    }

    /// Posts this rank's part of the next exchange, and does not wait. Exchanges are numbered in the order of the
    /// posts, and all ranks must have the same label, which describes the operation.
    ///
    /// # Errors
    /// [`Error::Argument`] for a label or payload beyond the limits, [`Error::Group`] if the group has failed.
    pub fn post(&self, label: &str, payload: Vec<u8>) -> Result<Ticket> {
        if label.len() > LONGEST_LABEL || payload.len() > LONGEST_PAYLOAD {
            return Err(Error::Argument(format!(
                "an exchange of {} bytes, with a label of {}: the limits are {LONGEST_PAYLOAD} and {LONGEST_LABEL}",
                payload.len(),
                label.len()
            )));
        }
        let payload = Arc::new(payload);
        let mut state = lock(&self.shared.state);
        state.check(true)?;
        let number = state.post(Arc::clone(&payload));
        // Pushed under the lock, so that the parts are sent in the order of their numbers.
        self.sender.push(Frame { kind: Kind::Post, rank: self.rank as u32, number, label: label.to_owned(), payload });
        Ok(Ticket { number, label: label.to_owned(), shared: Arc::clone(&self.shared) })
    }

    /// Waits for the parts of all ranks, and returns them in the order of the ranks.
    ///
    /// # Errors
    /// [`Error::Group`] if the group has failed, or a part has not come within the launcher's timeout, which fails it.
    pub fn wait(&self, ticket: Ticket) -> Result<Vec<Vec<u8>>> {
        let until = deadline(self.timeout);
        let mut state = lock(&self.shared.state);
        let parts = loop {
            state.check(false)?;
            if state.is_complete(ticket.number) {
                break state.take(ticket.number);
            }
            state.check(true)?;
            let in_time;
            (state, in_time) = wait_until(&self.shared.changed, state, until);
            if !in_time {
                let reason = self.late(&state, &ticket);
                drop(state);
                return Err(self.fail_with(reason));
            }
        };
        drop(state);
        // The own part is shared with the sender as long as it has not sent it.
        Ok(parts.into_iter().map(Arc::unwrap_or_clone).collect())
    }

    /// Whether [`Client::wait`] would return at once, with the parts or with a failure.
    #[cfg(test)]
    pub fn is_done(&self, ticket: &Ticket) -> bool {
        let state = lock(&self.shared.state);
        state.failure.is_some() || state.gone.is_some() || state.is_complete(ticket.number)
    }

    /// Posts and waits.
    ///
    /// # Errors
    /// Those of [`Client::post`] and [`Client::wait`].
    pub fn exchange(&self, label: &str, payload: Vec<u8>) -> Result<Vec<Vec<u8>>> {
        self.wait(self.post(label, payload)?)
    }

    /// The reason why the group has failed, if it has.
    pub fn failure(&self) -> Option<String> {
        lock(&self.shared.state).failure.clone()
    }

    /// Fails the group: reports to the other ranks that this one stops, and why.
    pub fn fail(&self, reason: &str) {
        self.fail_with(format!("{} has stopped: {reason}", name(self.rank, self.hellos.get(self.rank))));
    }

    /// Fails the group, unless it has failed, and returns the reason.
    fn fail_with(&self, reason: String) -> Error {
        let reason = clamped(&reason, LONGEST_LABEL);
        let mut state = lock(&self.shared.state);
        if state.failure.is_none() {
            self.sender.cut(Some(Frame::reason(Kind::Fail, reason)));
            state.fail(reason.to_owned());
            self.shared.changed.notify_all();
        }
        Error::Group(state.failure.clone().unwrap_or_default())
    }

    /// The error for parts that have not come in time.
    fn late(&self, state: &State, ticket: &Ticket) -> String {
        let mut missing = state.missing(ticket.number);
        if missing.is_empty() {
            // Rank 0 has not even accepted this rank's part.
            missing.push(0);
        }
        let who = match missing.as_slice() {
            [one] => name(*one, self.hellos.get(*one)),
            many => ranks(many),
        };
        format!(
            "{who} of {} did not call `{}` within {}, while {} waited there: look for what they do instead, or raise \
             RUSTWARP_TIMEOUT",
            self.size,
            ticket.label,
            seconds(self.timeout),
            name(self.rank, self.hellos.get(self.rank))
        )
    }

    /// Starts the threads that send and receive.
    fn start_threads(&self) -> Result<()> {
        let (to, frames, heartbeat) = (Arc::clone(&self.stream), Arc::clone(&self.sender), self.config.heartbeat);
        let (from, cut, shared) = (Arc::clone(&self.stream), Arc::clone(&self.sender), Arc::clone(&self.shared));
        let (size, silence) = (self.size, self.config.silence);
        self.stream
            .set_write_timeout(None)
            .and_then(|()| self.stream.set_read_timeout(Some(silence)))
            .and_then(|()| spawn("send", move || frames.run(&to, heartbeat)))
            .and_then(|()| spawn("receive", move || receive(&shared, &from, &cut, size, silence)))
            .map_err(|error| {
                lock(&self.shared.state).has_ended = true;
                Error::Group(format!("cannot start the connection with rank 0: {error}"))
            })
    }

    /// Waits until all ranks have joined.
    fn wait_for_start(&self, until: Instant) -> Result<Vec<Hello>> {
        let mut state = lock(&self.shared.state);
        loop {
            state.check(true)?;
            if let Some(hellos) = &state.hellos {
                return Ok(hellos.clone());
            }
            let in_time;
            (state, in_time) = wait_until(&self.shared.changed, state, until);
            if !in_time {
                drop(state);
                let reason = format!("rank {} has waited for the other ranks for {}", self.rank, seconds(self.timeout));
                return Err(self.fail_with(reason));
            }
        }
    }
}

impl Drop for Client {
    /// Leaves in order: sends what was posted and the farewell, and waits for a limited time until rank 0 has that.
    fn drop(&mut self) {
        let mut state = lock(&self.shared.state);
        state.is_leaving = true;
        self.sender.finish(Frame::new(Kind::Bye));
        let until = deadline(self.config.silence);
        let mut in_time = true;
        while !state.has_ended && in_time {
            (state, in_time) = wait_until(&self.shared.changed, state, until);
        }
        drop(state);
        // An error means that the connection is closed already.
        let _ = self.stream.shutdown(Shutdown::Both);
        drop(self.server.take());
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        lock(&self.shared.state).abandon(self.number);
    }
}

/// Receives what rank 0 forwards, until the connection is closed.
fn receive(shared: &Shared, mut stream: &TcpStream, sender: &Sender, size: usize, silence: Duration) {
    let broken = loop {
        let frame = match Frame::read(&mut stream) {
            Ok(frame) => frame,
            Err(broken) => break broken,
        };
        let mut state = lock(&shared.state);
        if state.failure.is_some() {
            continue;
        }
        match frame.kind {
            Kind::Part => {
                if !state.place(frame.number, frame.rank as usize, frame.payload) {
                    continue;
                }
            }
            Kind::Start => match read_hellos(&frame.payload, size) {
                Some(hellos) => state.hellos = Some(hellos),
                None => break Broken::Invalid,
            },
            Kind::Fail => {
                state.fail(frame.label);
                sender.cut(None);
            }
            Kind::Gone => {
                state.gone = Some(frame.label);
                sender.cut(None);
            }
            Kind::Beat => continue,
            Kind::Post | Kind::Bye => break Broken::Invalid,
        }
        shared.changed.notify_all();
    };
    let mut state = lock(&shared.state);
    if state.gone.is_none() && !state.is_leaving {
        let rank_0 = name(0, state.hellos.as_ref().and_then(|hellos| hellos.first()));
        state.fail(match broken {
            Broken::Closed => format!("{rank_0} has ended, and with it the store of the group"),
            Broken::Silent => format!("{rank_0} has ended: it sent nothing for {}", seconds(silence)),
            Broken::Invalid => format!("{rank_0} has sent bytes that are not a message of the store"),
        });
    }
    sender.cut(None);
    // An error means that the connection is closed already.
    let _ = stream.shutdown(Shutdown::Both);
    state.has_ended = true;
    shared.changed.notify_all();
}

/// The hellos of all ranks.
fn read_hellos(mut payload: &[u8], size: usize) -> Option<Vec<Hello>> {
    (0..size).map(|_| Hello::read(&mut payload)).collect()
}
