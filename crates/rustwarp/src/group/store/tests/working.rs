//! Groups in which all ranks do the same.

use super::{Client, LONG, each, error_with, group, hello};
use crate::group::launcher::Launcher;
use std::thread;
use std::time::Instant;

#[test]
fn all_ranks_get_all_parts() {
    for size in [1, 2, 5] {
        each(group(size), |client| {
            assert_eq!(client.size(), size);
            assert_eq!(client.hellos(), (0..size).map(hello).collect::<Vec<_>>());
            for round in 0..100_u8 {
                let parts = client.exchange("round", vec![round, client.rank() as u8]).expect("all post");
                assert_eq!(parts, (0..size).map(|rank| vec![round, rank as u8]).collect::<Vec<_>>());
            }
            assert_eq!(client.failure(), None);
        });
    }
}

#[test]
fn waits_may_have_another_order_than_posts() {
    each(group(3), |client| {
        let part = |number: usize| vec![number as u8; number];
        let mut tickets: Vec<_> =
            (0..20).map(|number| client.post("part", part(number)).expect("no failure")).collect();
        // An exchange that is given up is still complete for the others.
        drop(tickets.remove(7 + client.rank()));
        while let Some(ticket) = tickets.pop() {
            let parts = client.wait(ticket).expect("all post");
            assert!(parts.iter().all(|other| *other == parts[0]) && parts.len() == 3);
        }
    });
}

#[test]
fn polling_ends() {
    let clients = group(2);
    let first = clients[0].post("sum", vec![]).expect("no failure");
    assert!(!clients[0].is_done(&first));
    let second = clients[1].post("sum", vec![]).expect("no failure");
    let start = Instant::now();
    while !(clients[0].is_done(&first) && clients[1].is_done(&second)) {
        assert!(start.elapsed() < LONG);
        thread::yield_now();
    }
    clients[0].wait(first).expect("done");
}

#[test]
fn large_payloads_arrive() {
    each(group(3), |client| {
        // A period that is no multiple of the steps in which frames are read.
        let part = |rank: usize| [rank as u8, 1, 2, 3, 5, 8, 13].repeat(5_000_000);
        let parts = client.exchange("large", part(client.rank())).expect("all post");
        for (rank, found) in parts.into_iter().enumerate() {
            assert!(found == part(rank), "rank {rank}");
        }
    });
}

#[test]
fn limits_of_a_post_are_arguments() {
    let clients = group(1);
    error_with(clients[0].post(&"x".repeat(1 << 20), vec![]).map(drop), &["the limits are"]);
    assert_eq!(clients[0].failure(), None);
    error_with(Client::join(&Launcher::new(2, 2, "127.0.0.1", 1), hello(2)), &["rank 2 of a group of 2"]);
}
