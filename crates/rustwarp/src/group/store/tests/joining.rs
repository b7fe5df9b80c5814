//! Ranks that do not join, are refused, or are strangers.

use super::{Client, Config, Hello, LONG, Place, SHORT, each, error_with, hello};
use crate::group::launcher::Launcher;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread;
use std::time::Duration;

#[test]
fn missing_ranks_are_named_to_all() {
    let place = Place { timeout: SHORT, ..Place::new(4) };
    for client in place.join_all(&[0, 2]) {
        error_with(client, &["ranks 1 and 3 of 4 did not join within 2 s", &format!("127.0.0.1:{}", place.port)]);
    }
}

#[test]
fn a_missing_rank_0_is_reported_with_its_place() {
    let place = Place { timeout: Duration::from_millis(50), ..Place::new(2) };
    drop(place.listener.lock().expect("no panic").take());
    let at = format!("127.0.0.1:{}", place.port);
    error_with(place.join(1), &["rank 1 cannot reach rank 0 at", &at, "within 0.05 s", "MASTER_ADDR"]);
}

#[test]
fn rank_0_may_start_later() {
    // An address that no other test uses.
    let probe = TcpListener::bind("127.9.8.7:0").expect("a free port");
    let port = probe.local_addr().expect("an address").port();
    drop(probe);
    let join = |rank| Client::join(&Launcher::new(rank, 2, "127.9.8.7", port).with_timeout(LONG), hello(rank));
    thread::scope(|scope| {
        let early = scope.spawn(|| join(1).expect("a group").exchange("sum", vec![1]).expect("all post"));
        thread::sleep(Duration::from_millis(100));
        let late = join(0).expect("a group").exchange("sum", vec![0]).expect("all post");
        assert_eq!(early.join().expect("no panic"), late);
    });
}

#[test]
fn another_secret_is_refused_and_the_group_waits_on() {
    let place = Place::new(2);
    let with = |rank: usize, secret: &str| place.launcher(rank).with_secret(secret);
    thread::scope(|scope| {
        let rank_0 = scope.spawn(|| place.join_as(&with(0, "one"), hello(0)).expect("a group").exchange("sum", vec![]));
        let expected = ["refuses the secret: set RUSTWARP_SECRET to the same text for every rank"];
        error_with(place.join_as(&with(1, "two"), hello(1)), &expected);
        error_with(place.join(1), &expected);
        let rank_1 = place.join_as(&with(1, "one"), hello(1)).expect("a group");
        rank_1.exchange("sum", vec![]).expect("all post");
        rank_0.join().expect("no panic").expect("all post");
    });
}

#[test]
fn refused_ranks_do_not_disturb_the_group() {
    let place = Place::new(2);
    thread::scope(|scope| {
        let rank_0 = scope.spawn(|| place.join(0));
        let other_size = Launcher::new(1, 4, "127.0.0.1", place.port);
        let expected = ["rank 1 (node1 4711) was started as one of 4 ranks, and rank 0 as one of 2"];
        error_with(place.join_as(&other_size, hello(1)), &expected);
        let rank_1 = place.join(1).expect("a group");
        let rank_0 = rank_0.join().expect("no panic").expect("a group");
        let twice = place.join_as(&place.launcher(1), hello(9));
        error_with(twice, &["rank 1 has joined already: it is `node1 4711`, and now `node9 4711`"]);
        let ticket = rank_0.post("sum", vec![]).expect("no failure");
        rank_1.exchange("sum", vec![]).expect("all post");
        rank_0.wait(ticket).expect("all post");
    });
}

#[test]
fn versions_and_devices_must_be_equal() {
    type Change = fn(&mut Hello);
    let changes: [(Change, &str); 3] = [
        (|hello| hello.version = "2".into(), "version of rustwarp: 1 on ranks 0 and 1, 2 on rank 2"),
        (|hello| hello.nccl.clear(), "version of NCCL: 2.23 on ranks 0 and 1, none on rank 2"),
        (|hello| hello.device = "gpu".into(), "kind of device: sim on ranks 0 and 1, gpu on rank 2"),
    ];
    for (change, expected) in changes {
        let place = Place::new(3);
        thread::scope(|scope| {
            let two = scope.spawn(|| place.join_all(&[0, 1]));
            let mut other = hello(2);
            change(&mut other);
            error_with(place.join_as(&place.launcher(2), other), &[expected]);
            two.join().expect("no panic").into_iter().for_each(|client| drop(error_with(client, &[expected])));
        });
    }
}

/// Strangers that send text, nothing, a part of a handshake and a huge length, and stay connected.
fn strangers(port: u16) -> Vec<TcpStream> {
    let begun = b"rwgroup1aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";
    let huge = [begun.as_slice(), &[255; 4]].concat();
    let half = [begun.as_slice(), &[100, 0, 0, 0], b"half a hello"].concat();
    [b"GET / HTTP/1.1\r\n\r\n".as_slice(), b"", b"rwgr", begun, &huge, &half, &[0; 4096]]
        .into_iter()
        .map(|bytes| {
            let mut stream = TcpStream::connect(("127.0.0.1", port)).expect("a listener");
            // The server may close the connection before it has read all.
            let _ = stream.write_all(bytes);
            stream
        })
        .collect()
}

#[test]
fn strangers_do_not_disturb_a_group_that_joins_and_works() {
    let place = Place::new(3);
    let before = strangers(place.port);
    let clients: Vec<Client> = place.join_all(&[0, 1, 2]).into_iter().map(|client| client.expect("a group")).collect();
    let port = place.port;
    each(clients, |client| {
        for round in 0..10 {
            let _during = strangers(port);
            client.exchange(&format!("round {round}"), vec![round]).expect("all post");
        }
    });
    drop(before);
}

#[test]
fn strangers_are_limited_in_number_and_time() {
    let place = Place::new(2);
    let config = Config { strangers: 3, handshake: SHORT, ..place.config };
    let place = Place { config, ..place };
    thread::scope(|scope| {
        let rank_0 = scope.spawn(|| place.join(0));
        // They are connected before rank 1, and stay silent.
        let silent: Vec<TcpStream> =
            (0..20).map(|_| TcpStream::connect(("127.0.0.1", place.port)).expect("a listener")).collect();
        let rank_1 = place.join(1).expect("a group");
        rank_0.join().expect("no panic").expect("a group");
        for mut stream in silent {
            stream.set_read_timeout(Some(LONG)).expect("a connection");
            assert!(!stream.read(&mut [0]).is_ok_and(|length| length > 0), "strangers get no byte");
        }
        drop(rank_1);
    });
}
