//! Times of copies between pinned memory and the devices of a group: the bound of streamed inputs.

use super::sample::Subject;
use super::wall;
use crate::error::Result;
use crate::input::generate::generate_with;
use rustwarp::{Buffer, Device, Group, PinnedBuffer};

/// What was copied, and how long it took.
pub(super) struct Copied {
    /// Bytes of all devices and directions.
    pub bytes: u64,
    /// Median time in milliseconds.
    pub time_ms: f64,
    /// Whether all bytes arrived.
    pub verified: bool,
}

/// Times copies of `bytes` bytes for each device of a group and each direction of the subject, all at the same time.
///
/// # Errors
/// [`rustwarp::Error::OutOfMemory`] if a device has less memory free or this machine cannot pin as much, and the errors
/// of the devices.
pub(super) fn time(group: &Group, subject: Subject, bytes: usize, repeat: u32) -> Result<Copied> {
    let values = generate_with(bytes, 1, |random| random as u8);
    let directions: &[Direction] = match subject {
        Subject::ToDevice => &[Direction::ToDevice],
        Subject::ToHost => &[Direction::ToHost],
        _ => &[Direction::ToDevice, Direction::ToHost],
    };
    let lanes = group.devices().flat_map(|device| directions.iter().map(move |&direction| (device, direction)));
    let mut lanes =
        lanes.map(|(device, direction)| Lane::new(device, direction, &values)).collect::<rustwarp::Result<Vec<_>>>()?;
    let mut copy = || {
        let pending = lanes.iter_mut().map(Lane::start).collect::<rustwarp::Result<Vec<_>>>()?;
        lanes.iter_mut().zip(pending).try_for_each(|(lane, pending)| {
            lane.host = pending.map(rustwarp::Pending::wait).transpose()?;
            Ok(())
        })
    };
    let time_ms = wall::time(group, repeat, &mut copy)?.median_ms;
    let mut verified = true;
    for lane in &lanes {
        verified &= lane.has_copied(&values)?;
    }
    Ok(Copied { bytes: (bytes * lanes.len()) as u64, time_ms, verified })
}

/// A direction of copies.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Direction {
    ToDevice,
    ToHost,
}

/// The copies of one device in one direction, in a stream of their own.
struct Lane {
    stream: Device,
    direction: Direction,
    memory: Buffer<u8>,
    /// `None` while a copy uses it.
    host: Option<PinnedBuffer<u8>>,
}

impl Lane {
    /// Memory of which one end has the values, and the other one zeros.
    fn new(device: &Device, direction: Direction, values: &[u8]) -> rustwarp::Result<Self> {
        let stream = device.stream()?;
        let (memory, host) = match direction {
            Direction::ToDevice => (stream.zeros(values.len())?, stream.pinned_from(values)?),
            Direction::ToHost => (stream.upload(values)?, stream.pinned(values.len())?),
        };
        Ok(Self { stream, direction, memory, host: Some(host) })
    }

    /// Starts a copy.
    fn start(&mut self) -> rustwarp::Result<Option<rustwarp::Pending<PinnedBuffer<u8>>>> {
        let Some(host) = self.host.take() else { return Ok(None) };
        Ok(Some(match self.direction {
            Direction::ToDevice => self.stream.upload_pinned(host, &mut self.memory)?,
            Direction::ToHost => self.stream.download_pinned(&self.memory, host)?,
        }))
    }

    /// Whether the values are at the end to which they were copied.
    fn has_copied(&self, values: &[u8]) -> rustwarp::Result<bool> {
        Ok(match (self.direction, &self.host) {
            (Direction::ToDevice, _) => self.memory.download()? == values,
            (Direction::ToHost, Some(host)) => **host == *values,
            (Direction::ToHost, None) => false,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_bytes_arrive() {
        let group = Group::simulated(2).expect("simulators");
        for (subject, lanes) in [(Subject::ToDevice, 2), (Subject::ToHost, 2), (Subject::BothWays, 4)] {
            let copied = time(&group, subject, 1000, 2).expect("copies");
            assert!(copied.verified && copied.bytes == 1000 * lanes && copied.time_ms > 0.0, "{subject:?}");
        }
    }

    #[test]
    fn bytes_that_were_not_copied_are_noticed() {
        let device = Device::sim().expect("the simulator");
        for direction in [Direction::ToDevice, Direction::ToHost] {
            let mut lane = Lane::new(&device, direction, &[1, 2, 3]).expect("memory");
            assert!(!lane.has_copied(&[1, 2, 3]).expect("bytes"), "{direction:?}");
            let pending = lane.start().expect("a copy");
            lane.host = pending.map(|pending| pending.wait().expect("the memory"));
            assert!(lane.has_copied(&[1, 2, 3]).expect("bytes"), "{direction:?}");
        }
    }
}
