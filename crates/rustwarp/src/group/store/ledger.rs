//! Which ranks have joined, what they have posted, and what of it is a failure of the group.

use super::hello::Hello;
use super::names::{name, ranks};
use std::collections::BTreeMap;

/// Which ranks have joined, and what they have posted. An error is the reason why the group fails, or why a rank is
/// refused.
pub struct Ledger {
    seats: Vec<Option<Seat>>,
    /// The exchanges to which a rank has posted its part, and another has not.
    open: BTreeMap<u64, Exchange>,
}

/// A rank that has joined.
struct Seat {
    hello: Hello,
    /// The number of the exchange that it posts next.
    next: u64,
    has_left: bool,
}

/// An exchange to which not all ranks have posted.
struct Exchange {
    label: String,
    /// The rank that posted first.
    first: usize,
    has_posted: Vec<bool>,
}

impl Ledger {
    /// A group without ranks.
    pub fn new(size: usize) -> Self {
        Self { seats: (0..size).map(|_| None).collect(), open: BTreeMap::new() }
    }

    /// Adds a rank.
    pub fn seat(&mut self, rank: usize, size: usize, hello: Hello) -> Result<(), String> {
        let expected = self.seats.len();
        if size != expected {
            return Err(format!(
                "{} was started as one of {size} ranks, and rank 0 as one of {expected}: start all with one size",
                name(rank, Some(&hello))
            ));
        }
        match self.seats.get_mut(rank) {
            None => Err(format!("rank {rank} is out of range: the group has {expected} ranks, numbered from 0")),
            Some(Some(seat)) => Err(format!(
                "rank {rank} has joined already: it is `{}`, and now `{}` asks to be rank {rank}",
                seat.hello.host, hello.host
            )),
            Some(seat) => {
                *seat = Some(Seat { hello, next: 0, has_left: false });
                Ok(())
            }
        }
    }

    /// The ranks that have not joined.
    pub fn missing(&self) -> Vec<usize> {
        (0..self.seats.len()).filter(|rank| self.seats[*rank].is_none()).collect()
    }

    /// The ranks' hellos, once all have joined.
    pub fn hellos(&self) -> Option<Vec<Hello>> {
        self.seats.iter().map(|seat| seat.as_ref().map(|seat| seat.hello.clone())).collect()
    }

    /// The rank, with its host if it is known.
    pub fn name(&self, rank: usize) -> String {
        name(rank, self.seats.get(rank).and_then(Option::as_ref).map(|seat| &seat.hello))
    }

    /// Notes that a rank posts its part of an exchange.
    pub fn post(&mut self, rank: usize, number: u64, label: &str) -> Result<(), String> {
        let in_order = self.seats.get_mut(rank).and_then(Option::as_mut).filter(|seat| seat.next == number);
        match in_order {
            Some(seat) => seat.next += 1,
            None => return Err(format!("{} has sent the parts of exchanges out of order", self.name(rank))),
        }
        if let Some(gone) = self.left_before(number) {
            return Err(self.left_early(gone, label));
        }
        let size = self.seats.len();
        let exchange = self.open.entry(number).or_insert_with(|| Exchange {
            label: label.to_owned(),
            first: rank,
            has_posted: vec![false; size],
        });
        if exchange.label != label {
            let mut two = [(exchange.first, exchange.label.as_str()), (rank, label)];
            two.sort_unstable();
            let [(a, first), (b, second)] = two;
            return Err(format!("the ranks do not do the same: rank {a} calls `{first}`, rank {b} `{second}`"));
        }
        exchange.has_posted[rank] = true;
        if exchange.has_posted.iter().all(|posted| *posted) {
            self.open.remove(&number);
        }
        Ok(())
    }

    /// Notes that a rank leaves.
    pub fn leave(&mut self, rank: usize) -> Result<(), String> {
        if let Some(seat) = self.seats.get_mut(rank).and_then(Option::as_mut) {
            seat.has_left = true;
        }
        match self.open.values().find(|exchange| !exchange.has_posted[rank]) {
            Some(exchange) => Err(self.left_early(rank, &exchange.label)),
            None if !self.missing().is_empty() => {
                Err(format!("{} has left before all ranks had joined", self.name(rank)))
            }
            None => Ok(()),
        }
    }

    /// Whether the rank has left.
    pub fn has_left(&self, rank: usize) -> bool {
        self.seats.get(rank).and_then(Option::as_ref).is_some_and(|seat| seat.has_left)
    }

    /// The rank that left before it posted to the exchange.
    fn left_before(&self, number: u64) -> Option<usize> {
        self.seats.iter().position(|seat| seat.as_ref().is_some_and(|seat| seat.has_left && seat.next <= number))
    }

    fn left_early(&self, rank: usize, label: &str) -> String {
        format!("{} has left the group while others waited for it in `{label}`", self.name(rank))
    }

    /// Checks that all ranks have the same library and kind of device.
    pub fn check_hellos(&self) -> Result<(), String> {
        type Property = (&'static str, fn(&Hello) -> &str, &'static str);
        const PROPERTIES: [Property; 3] = [
            ("kind of device", |hello| &hello.device, "choose the same kind on every rank"),
            ("version of rustwarp", |hello| &hello.version, "install the same version on every machine"),
            ("version of NCCL", |hello| &hello.nccl, "install the same version on every machine"),
        ];
        for (what, property, advice) in PROPERTIES {
            let mut with: Vec<(&str, Vec<usize>)> = Vec::new();
            for (rank, seat) in self.seats.iter().enumerate() {
                let Some(seat) = seat else { continue };
                let value = property(&seat.hello);
                match with.iter_mut().find(|(known, _)| *known == value) {
                    Some((_, list)) => list.push(rank),
                    None => with.push((value, vec![rank])),
                }
            }
            if with.len() > 1 {
                let list: Vec<String> = with
                    .iter()
                    .map(|(value, list)| {
                        format!("{} on {}", if value.is_empty() { "none" } else { value }, ranks(list))
                    })
                    .collect();
                return Err(format!("the ranks differ in the {what}: {}: {advice}", list.join(", ")));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hello(rank: usize) -> Hello {
        Hello { version: "1".into(), nccl: "2.23".into(), device: "gpu".into(), host: format!("node{rank} 9") }
    }

    fn group(size: usize) -> Ledger {
        let mut ledger = Ledger::new(size);
        (0..size).for_each(|rank| ledger.seat(rank, size, hello(rank)).expect("a free seat"));
        ledger
    }

    #[test]
    fn seats_are_taken_once_and_by_ranks_of_the_same_group() {
        let mut ledger = Ledger::new(3);
        ledger.seat(1, 3, hello(1)).expect("a free seat");
        assert_eq!(ledger.missing(), [0, 2]);
        let error = ledger.seat(1, 3, hello(7)).expect_err("a taken seat");
        assert!(error.contains("rank 1 has joined already: it is `node1 9`, and now `node7 9`"), "{error}");
        let error = ledger.seat(2, 4, hello(2)).expect_err("another size");
        assert!(error.contains("rank 2 (node2 9) was started as one of 4 ranks, and rank 0 as one of 3"), "{error}");
        let error = ledger.seat(3, 3, hello(3)).expect_err("no such rank");
        assert!(error.contains("rank 3 is out of range: the group has 3 ranks"), "{error}");
    }

    #[test]
    fn differences_list_who_has_what() {
        let mut ledger = Ledger::new(4);
        for rank in 0..4 {
            let nccl = if rank == 2 { "2.21" } else { "2.23" };
            ledger.seat(rank, 4, Hello { nccl: nccl.into(), ..hello(rank) }).expect("a free seat");
        }
        let error = ledger.check_hellos().expect_err("two versions");
        assert!(error.contains("version of NCCL: 2.23 on ranks 0, 1 and 3, 2.21 on rank 2"), "{error}");
        assert_eq!(group(4).check_hellos(), Ok(()));
    }

    #[test]
    fn labels_must_be_equal() {
        let mut ledger = group(2);
        ledger.post(1, 0, "max of 1000 f32").expect("the first");
        let error = ledger.post(0, 0, "sum of 1000 f32").expect_err("another label");
        let expected = "the ranks do not do the same: rank 0 calls `sum of 1000 f32`, rank 1 `max of 1000 f32`";
        assert_eq!(error, expected);
    }

    #[test]
    fn complete_exchanges_are_closed() {
        let mut ledger = group(2);
        for number in 0..3 {
            ledger.post(0, number, "sum").expect("in order");
        }
        ledger.post(1, 0, "sum").expect("in order");
        assert_eq!(ledger.open.len(), 2);
        let error = ledger.post(1, 2, "sum").expect_err("out of order");
        assert!(error.contains("rank 1 (node1 9) has sent the parts of exchanges out of order"), "{error}");
    }

    #[test]
    fn leaving_fails_only_what_waits() {
        let mut ledger = group(2);
        ledger.post(0, 0, "sum").expect("in order");
        ledger.post(1, 0, "sum").expect("in order");
        ledger.post(1, 1, "max").expect("in order");
        assert_eq!(ledger.leave(1), Ok(()));
        ledger.post(0, 1, "max").expect("the other part was posted before");
        let expected = "rank 1 (node1 9) has left the group while others waited for it in `min`";
        assert_eq!(ledger.post(0, 2, "min").expect_err("left"), expected);

        let mut ledger = group(2);
        ledger.post(0, 0, "min").expect("in order");
        assert_eq!(ledger.leave(1).expect_err("waited for"), expected);
    }
}
