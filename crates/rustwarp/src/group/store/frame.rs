//! The messages of an authenticated connection.

use super::clamped::clamped;
use std::io::{self, Read, Write};
use std::sync::Arc;

/// Longest payload, in bytes.
pub const LONGEST_PAYLOAD: usize = 1 << 30;
/// Longest label or reason, in bytes.
pub const LONGEST_LABEL: usize = 16 << 10;
/// Bytes that a header has.
const HEADER: usize = 25;
/// Payload up to which a frame is written at once, and the first step in which one is read, in bytes.
const STEP: usize = 64 << 10;

/// What a frame means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A sign of life.
    Beat,
    /// To all ranks: all have joined. The payload has their hellos.
    Start,
    /// From a rank: its part of an exchange, and the label.
    Post,
    /// To all ranks: the part of `rank`, whose label is right. To `rank` itself it is sent without the bytes.
    Part,
    /// From a rank: it leaves.
    Bye,
    /// To the ranks: rank 0 has left, and its server ends. The label is the reason.
    Gone,
    /// In both directions: the group has failed. The label is the reason.
    Fail,
}

const KINDS: [Kind; 7] = [Kind::Beat, Kind::Start, Kind::Post, Kind::Part, Kind::Bye, Kind::Gone, Kind::Fail];

/// One message. A payload is shared by the frames that forward it.
#[derive(Clone, Debug)]
pub struct Frame {
    /// What it means.
    pub kind: Kind,
    /// The rank whose part it is.
    pub rank: u32,
    /// The number of the exchange.
    pub number: u64,
    /// The label, or a reason.
    pub label: String,
    /// The bytes.
    pub payload: Arc<Vec<u8>>,
}

/// Why no frame can be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Broken {
    /// The connection is closed.
    Closed,
    /// Nothing has come within the stream's timeout.
    Silent,
    /// The bytes are not a frame.
    Invalid,
}

impl Frame {
    /// A frame without content.
    pub fn new(kind: Kind) -> Self {
        Self { kind, rank: 0, number: 0, label: String::new(), payload: Arc::default() }
    }

    /// A frame with a reason.
    pub fn reason(kind: Kind, reason: &str) -> Self {
        Self { label: clamped(reason, LONGEST_LABEL).to_owned(), ..Self::new(kind) }
    }

    /// Writes the frame.
    ///
    /// # Errors
    /// Those of the stream.
    pub fn write(&self, stream: &mut impl Write) -> io::Result<()> {
        let kind = KINDS.iter().position(|kind| *kind == self.kind).unwrap_or_default();
        let mut head = Vec::with_capacity(HEADER + self.label.len());
        // The kinds, labels and payloads are below the limits of these types.
        head.push(kind as u8);
        head.extend(self.rank.to_le_bytes());
        head.extend(self.number.to_le_bytes());
        head.extend((self.label.len() as u32).to_le_bytes());
        head.extend((self.payload.len() as u64).to_le_bytes());
        head.extend(self.label.as_bytes());
        if self.payload.len() <= STEP {
            head.extend(self.payload.as_slice());
            return stream.write_all(&head);
        }
        stream.write_all(&head)?;
        stream.write_all(&self.payload)
    }

    /// Reads a frame.
    ///
    /// # Errors
    /// [`Broken`], which says why there is none.
    pub fn read(stream: &mut impl Read) -> Result<Self, Broken> {
        let mut header = [0; HEADER];
        stream.read_exact(&mut header).map_err(broken)?;
        let mut rest = header.as_slice();
        let kind = *KINDS.get(usize::from(u8::from_le_bytes(field(&mut rest)?))).ok_or(Broken::Invalid)?;
        let rank = u32::from_le_bytes(field(&mut rest)?);
        let number = u64::from_le_bytes(field(&mut rest)?);
        let label = u64::from(u32::from_le_bytes(field(&mut rest)?));
        let payload = u64::from_le_bytes(field(&mut rest)?);
        let label = String::from_utf8(bytes(stream, label, LONGEST_LABEL)?).map_err(|_| Broken::Invalid)?;
        let payload = Arc::new(bytes(stream, payload, LONGEST_PAYLOAD)?);
        Ok(Self { kind, rank, number, label, payload })
    }
}

/// Takes the next field of the header.
fn field<const N: usize>(header: &mut &[u8]) -> Result<[u8; N], Broken> {
    let (field, rest) = header.split_first_chunk().ok_or(Broken::Invalid)?;
    *header = rest;
    Ok(*field)
}

/// Reads bytes in steps that double, so that the memory is at most about twice what has come, whatever the length says.
fn bytes(stream: &mut impl Read, length: u64, limit: usize) -> Result<Vec<u8>, Broken> {
    let length = usize::try_from(length).ok().filter(|length| *length <= limit).ok_or(Broken::Invalid)?;
    let mut bytes = Vec::new();
    while bytes.len() < length {
        let step = (length - bytes.len()).min(bytes.len().max(STEP));
        bytes.try_reserve_exact(step).map_err(|_| Broken::Invalid)?;
        let read = stream.take(step as u64).read_to_end(&mut bytes).map_err(broken)?;
        if read < step {
            return Err(Broken::Closed);
        }
    }
    Ok(bytes)
}

/// Distinguishes a timeout from the errors of a closed connection.
fn broken(error: io::Error) -> Broken {
    match error.kind() {
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => Broken::Silent,
        _ => Broken::Closed,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(frame: &Frame) -> Vec<u8> {
        let mut bytes = Vec::new();
        frame.write(&mut bytes).expect("a vector takes all");
        bytes
    }

    #[test]
    fn reads_what_was_written() {
        for kind in KINDS {
            for length in [0, 1, STEP, STEP + 1, 5 * STEP + 7] {
                let payload = Arc::new((0..length).map(|i| i as u8).collect::<Vec<_>>());
                let frame = Frame { kind, rank: 7, number: 1 << 40, label: "sum".to_owned(), payload };
                let read = Frame::read(&mut written(&frame).as_slice()).expect("a frame");
                assert_eq!((read.kind, read.rank, read.number), (kind, 7, 1 << 40));
                assert_eq!((read.label, read.payload), (frame.label, frame.payload));
            }
        }
    }

    #[test]
    fn a_frame_that_stops_is_closed() {
        let frame = Frame { payload: Arc::new(vec![1; 9]), ..Frame::reason(Kind::Post, "sum") };
        let bytes = written(&frame);
        for length in 0..bytes.len() {
            assert_eq!(Frame::read(&mut &bytes[..length]).expect_err("too short"), Broken::Closed);
        }
    }

    #[test]
    fn lengths_beyond_the_limits_are_invalid() {
        let mut bytes = written(&Frame::new(Kind::Post));
        bytes[17..25].copy_from_slice(&(LONGEST_PAYLOAD as u64 + 1).to_le_bytes());
        assert_eq!(Frame::read(&mut bytes.as_slice()).expect_err("too long"), Broken::Invalid);
        let mut bytes = written(&Frame::new(Kind::Post));
        bytes[13..17].copy_from_slice(&u32::MAX.to_le_bytes());
        assert_eq!(Frame::read(&mut bytes.as_slice()).expect_err("too long"), Broken::Invalid);
        let mut bytes = written(&Frame::new(Kind::Post));
        bytes[0] = 200;
        assert_eq!(Frame::read(&mut bytes.as_slice()).expect_err("no kind"), Broken::Invalid);
    }

    /// A length that nothing follows.
    #[test]
    fn a_lying_length_allocates_little() {
        let mut few = [1_u8; 100].as_slice();
        assert_eq!(bytes(&mut few, LONGEST_PAYLOAD as u64, LONGEST_PAYLOAD).expect_err("too short"), Broken::Closed);
        assert!(few.is_empty());
    }
}
