//! Groups with ranks that end, leave, hang or differ.

use super::{Client, Config, LONG, Place, SHORT, each, error_with, group, has_failed, hello};
use crate::group::store::frame::{Frame, Kind};
use crate::group::store::{handshake, secret::Secret};
use std::io::Write;
use std::net::Shutdown;
use std::thread;
use std::time::Instant;

#[test]
fn a_killed_rank_has_ended() {
    let (clients, puppet) = Place::new(4).with_puppet();
    let ticket = clients[1].post("sum", vec![]).expect("no failure");
    drop(puppet);
    let start = Instant::now();
    error_with(clients[1].wait(ticket), &["rank 3 (node3 4711) has ended"]);
    clients.iter().for_each(|client| while client.failure().is_none() && start.elapsed() < LONG {});
    clients.iter().for_each(|client| has_failed(client, "rank 3 (node3 4711) has ended"));
    drop(clients);
    assert!(start.elapsed() < LONG / 2);
}

#[test]
fn a_rank_that_leaves_is_missed_only_if_needed() {
    let mut clients = group(3);
    let last = clients.pop().expect("a rank");
    let tickets: Vec<_> = clients.iter().map(|client| client.post("max", vec![]).expect("no failure")).collect();
    drop(last.post("max", vec![7]).expect("no failure"));
    drop(last);
    for (client, ticket) in clients.iter().zip(tickets) {
        assert_eq!(client.wait(ticket).expect("all have posted")[2], [7]);
    }
    let expected = "rank 2 (node2 4711) has left the group while others waited for it in `sum of 1000 f32`";
    error_with(clients[0].exchange("sum of 1000 f32", vec![]), &[expected]);
    has_failed(&clients[0], expected);
}

#[test]
fn a_rank_that_leaves_while_others_wait_fails_them() {
    let mut clients = group(3);
    let ticket = clients[0].post("sum", vec![]).expect("no failure");
    drop(clients.pop());
    error_with(clients[0].wait(ticket), &["rank 2 (node2 4711) has left the group", "waited for it in `sum`"]);
}

#[test]
fn ranks_must_do_the_same() {
    let labels = ["sum of 1000 f32", "max of 1000 f32"];
    for error in each(group(2), |client| error_with(client.exchange(labels[client.rank()], vec![]), &[])) {
        let expected = "the ranks do not do the same: rank 0 calls `sum of 1000 f32`, rank 1 `max of 1000 f32`";
        assert_eq!(error, expected);
    }
}

#[test]
fn a_late_rank_is_named() {
    let clients = Place { timeout: SHORT, ..Place::new(3) };
    let clients: Vec<Client> =
        clients.join_all(&[0, 1, 2]).into_iter().map(|client| client.expect("a group")).collect();
    drop(clients[2].post("sum", vec![]).expect("no failure"));
    let error = error_with(clients[2].exchange("max", vec![]), &["ranks 0 and 1 of 3 did not call `max` within 2 s"]);
    error_with(clients[0].exchange("sum", vec![]).map(drop).and_then(|()| clients[0].wait_for_failure()), &[&error]);
}

#[test]
fn a_vanished_machine_has_ended() {
    let place = Place::new(2);
    let place = Place { config: Config { silence: SHORT, ..place.config }, ..place };
    let (clients, _silent) = place.with_puppet();
    error_with(clients[0].exchange("sum", vec![]), &["rank 1 (node1 4711) has ended: it sent nothing for 2 s"]);
}

#[test]
fn bytes_that_are_no_frame_end_the_rank() {
    let (clients, mut puppet) = Place::new(2).with_puppet();
    puppet.write_all(&[99; 64]).expect("a reader");
    error_with(clients[0].exchange("sum", vec![]), &["rank 1 (node1 4711) has ended: it sent bytes"]);
    let (clients, mut puppet) = Place::new(2).with_puppet();
    Frame { number: 5, ..Frame::new(Kind::Post) }.write(&mut puppet).expect("a reader");
    error_with(
        clients[0].exchange("sum", vec![]),
        &["rank 1 (node1 4711) has sent the parts of exchanges out of order"],
    );
}

#[test]
fn a_failure_is_reported_to_all() {
    let clients = group(3);
    let ticket = clients[0].post("sum", vec![]).expect("no failure");
    clients[2].fail("no memory for `sum`");
    let expected = "rank 2 (node2 4711) has stopped: no memory for `sum`";
    error_with(clients[0].wait(ticket), &[expected]);
    error_with(clients[1].wait_for_failure(), &[expected]);
    clients.iter().for_each(|client| has_failed(client, expected));
}

#[test]
fn rank_0_may_finish_first() {
    let mut clients = group(3);
    let tickets: Vec<_> =
        clients.iter().map(|client| client.post("sum", vec![1; 1 << 20]).expect("no failure")).collect();
    drop(clients.remove(0));
    let mut tickets = tickets.into_iter().skip(1);
    for client in &clients {
        let parts = client.wait(tickets.next().expect("a ticket")).expect("all have posted");
        assert_eq!(parts, vec![vec![1; 1 << 20]; 3]);
        assert_eq!(client.failure(), None);
    }
    has_failed(&clients[0], "rank 0 (node0 4711) has left the group");
}

/// A server which ends as that of a killed process does.
#[test]
fn a_killed_rank_0_has_ended() {
    let place = Place::new(2);
    let listener = place.listener.lock().expect("no panic").take().expect("a listener");
    thread::scope(|scope| {
        scope.spawn(move || {
            let (mut stream, _) = listener.accept().expect("a connection");
            let (secret, until) = (Secret::new(None), Instant::now() + LONG);
            let applicant = handshake::receive(&stream, &secret, until).expect("a rank");
            applicant.accept(&stream, &secret, until).expect("a reader");
            let mut payload = Vec::new();
            (0..2).for_each(|rank| hello(rank).write(&mut payload));
            let start = Frame { payload: payload.into(), ..Frame::new(Kind::Start) };
            start.write(&mut stream).expect("a reader");
            assert_eq!(Frame::read(&mut stream).expect("a frame").label, "sum");
        });
        let client = place.join(1).expect("a group");
        error_with(client.exchange("sum", vec![]), &["rank 0 (node0 4711) has ended, and with it the store"]);
        has_failed(&client, "rank 0 (node0 4711) has ended");
    });
}

#[test]
fn a_half_closed_connection_ends_the_rank() {
    let (clients, puppet) = Place::new(2).with_puppet();
    puppet.shutdown(Shutdown::Write).expect("a connection");
    error_with(clients[0].exchange("sum", vec![]), &["rank 1 (node1 4711) has ended"]);
}
