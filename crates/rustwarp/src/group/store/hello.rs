//! What a rank states about itself when it joins.

use super::clamped::clamped;

/// Longest of the texts, in bytes; longer ones are cut.
const LONGEST: usize = 512;

/// What a rank states about itself when it joins. All but the host must be equal on all ranks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Hello {
    /// Version of this library.
    pub version: String,
    /// Version of NCCL; empty if it is not used.
    pub nccl: String,
    /// Kind of the devices: `gpu` or `sim`.
    pub device: String,
    /// Host and process, for messages.
    pub host: String,
}

impl Hello {
    /// Appends the texts, each behind its length in two bytes.
    pub fn write(&self, bytes: &mut Vec<u8>) {
        for text in [&self.version, &self.nccl, &self.device, &self.host] {
            let text = clamped(text, LONGEST);
            // The length is at most `LONGEST`.
            bytes.extend((text.len() as u16).to_le_bytes());
            bytes.extend(text.as_bytes());
        }
    }

    /// Reads what [`Hello::write`] has written, and moves `bytes` behind it; `None` if it is not that.
    pub fn read(bytes: &mut &[u8]) -> Option<Self> {
        let mut text = || {
            let (length, rest) = bytes.split_first_chunk()?;
            let (text, rest) = rest.split_at_checked(usize::from(u16::from_le_bytes(*length)))?;
            *bytes = rest;
            String::from_utf8(text.to_vec()).ok()
        };
        Some(Self { version: text()?, nccl: text()?, device: text()?, host: text()? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_was_written_and_nothing_shorter() {
        let hello = Hello { version: "0.1".into(), nccl: String::new(), device: "sim".into(), host: "nöde 7".into() };
        let mut bytes = Vec::new();
        hello.write(&mut bytes);
        for length in 0..bytes.len() {
            assert_eq!(Hello::read(&mut &bytes[..length]), None);
        }
        bytes.push(9);
        let mut rest = bytes.as_slice();
        assert_eq!(Hello::read(&mut rest), Some(hello));
        assert_eq!(rest, [9]);
    }

    #[test]
    fn long_texts_are_cut() {
        let hello = Hello { host: "x".repeat(100_000), ..Hello::default() };
        let mut bytes = Vec::new();
        hello.write(&mut bytes);
        assert_eq!(Hello::read(&mut bytes.as_slice()).map(|hello| hello.host.len()), Some(LONGEST));
    }
}
