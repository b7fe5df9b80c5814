//! Fat binaries, as nvcc writes them: a list of entries, each PTX or machine code for one architecture, PTX often
//! compressed. The fields are those that the tests' files show.

use super::{KEEP_PTX, Refused};
use crate::code::Code;
use crate::host_memory;
use std::io::Read;

/// Magic numbers of the wrapper, and of the binary itself.
pub const WRAPPER: u32 = 0x4662_43b1;
pub const FATBIN: u32 = 0xba55_ed50;

/// Kind of an entry with PTX.
const PTX: u16 = 1;
/// Flags of an entry: how the payload is compressed.
const LZ4: u64 = 0x2000;
const ZSTD: u64 = 0x8000;
/// Greatest size of a binary, and of an uncompressed text, in bytes: more is a damaged file.
const MOST: u64 = 1 << 32;

/// An entry.
struct Entry<'a> {
    kind: u16,
    architecture: u32,
    flags: u64,
    /// The payload, without padding.
    payload: &'a [u8],
    /// Size of the text before compression; 0 if it is not compressed.
    size: u64,
}

/// Returns the PTX texts of a binary, or of each binary of a wrapper, for a device of this architecture. What lies at
/// the address is read through the system, so that a damaged binary cannot crash the program; `room` is the number of
/// its bytes, if that is known.
///
/// # Errors
/// If one of them has no PTX, or is damaged.
pub fn texts(address: u64, room: u64, architecture: u32) -> Result<Vec<String>, Refused> {
    if u32::from_le_bytes(read(address)?) == FATBIN {
        return best(address, room, architecture).map(|text| vec![text]);
    }
    // A wrapper has 24 bytes: magic number, version, and two pointers.
    let version = u32::from_le_bytes(read(address + 4)?);
    let [data, others] = [read(address + 8)?, read(address + 16)?].map(u64::from_le_bytes);
    let own = best(data, u64::MAX, architecture);
    let mut texts = Vec::new();
    if version == 2 && others != 0 {
        // A null pointer ends the list of binaries.
        let mut place = others;
        loop {
            match u64::from_le_bytes(read(place)?) {
                0 => break,
                binary => texts.push(best(binary, u64::MAX, architecture)?),
            }
            place = place.wrapping_add(8);
        }
    }
    match own {
        Ok(text) => texts.insert(0, text),
        // The linked machine code; the texts that it was made of are in the list.
        Err(refused) if refused.code == Code::NO_BINARY_FOR_GPU && !texts.is_empty() => {}
        Err(refused) => return Err(refused),
    }
    Ok(texts)
}

fn damaged() -> Refused {
    Refused::new(Code::INVALID_IMAGE, "the fat binary is damaged")
}

/// Reads bytes of the program's memory.
fn read<const N: usize>(address: u64) -> Result<[u8; N], Refused> {
    let mut bytes = [0; N];
    host_memory::read(address, &mut bytes).map(|()| bytes).map_err(|_| damaged())
}

/// Joins texts that refer to each other's functions: the first keeps its header.
pub fn link(texts: &[String]) -> String {
    let is_header = |line: &&str| {
        let line = line.trim_start();
        [".version", ".target", ".address_size"].iter().any(|directive| line.starts_with(directive))
    };
    let Some((first, others)) = texts.split_first() else { return String::new() };
    let mut joined = first.clone();
    for text in others {
        joined.push('\n');
        text.lines().filter(|line| !is_header(line)).for_each(|line| {
            joined.push_str(line);
            joined.push('\n');
        });
    }
    joined
}

/// Returns the text for the highest architecture that the device has, or else for the lowest above it. (A GPU's driver
/// would refuse the latter; libraries that ship PTX for the newest GPU only need it.)
fn best(address: u64, room: u64, architecture: u32) -> Result<String, Refused> {
    // Magic number, version, header size, size of the entries.
    let start: [u8; 16] = read(address)?;
    let header = u64::from(u16::from_le_bytes([start[6], start[7]]));
    let size = start[8..].try_into().map(u64::from_le_bytes).map_err(|_| damaged())?;
    let end = header.checked_add(size).filter(|end| *end <= room).and_then(|end| end.checked_add(address));
    if start[..4] != FATBIN.to_le_bytes() || header < 16 || size > MOST || end.is_none() {
        return Err(damaged());
    }
    let mut bytes = Vec::new();
    let no_room = |_| Refused::new(Code::OUT_OF_MEMORY, "the fat binary is larger than the memory that is left");
    bytes.try_reserve_exact(size as usize).map_err(no_room)?;
    bytes.resize(size as usize, 0);
    host_memory::read(address + header, &mut bytes).map_err(|_| damaged())?;
    let entries = entries(&bytes).ok_or_else(damaged)?;
    let texts = || entries.iter().filter(|entry| entry.kind == PTX);
    let below = texts().filter(|entry| entry.architecture <= architecture).max_by_key(|entry| entry.architecture);
    let chosen = below.or_else(|| texts().min_by_key(|entry| entry.architecture));
    let Some(chosen) = chosen else {
        let found: Vec<String> =
            entries.iter().map(|entry| format!("machine code for sm_{}", entry.architecture)).collect();
        let why = format!("the fat binary has no PTX, only {}. {KEEP_PTX}", found.join(", "));
        return Err(Refused::new(Code::NO_BINARY_FOR_GPU, why));
    };
    let bytes = uncompressed(chosen).ok_or_else(damaged)?;
    let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
    String::from_utf8(bytes[..end].to_vec()).map_err(|_| damaged())
}

fn entries(mut bytes: &[u8]) -> Option<Vec<Entry<'_>>> {
    let mut entries = Vec::new();
    while bytes.len() >= 64 {
        let word = |at: usize| bytes.get(at..at + 4).and_then(|word| word.try_into().ok()).map(u32::from_le_bytes);
        let long = |at: usize| bytes.get(at..at + 8).and_then(|long| long.try_into().ok()).map(u64::from_le_bytes);
        let (header, padded) = (word(4)? as usize, usize::try_from(long(8)?).ok()?);
        let (compressed, size) = (word(16)? as usize, long(56)?);
        let end = header.checked_add(padded)?;
        let payload = bytes.get(header..end)?;
        entries.push(Entry {
            kind: word(0)? as u16,
            architecture: word(28)?,
            flags: long(40)?,
            payload: if compressed == 0 { payload } else { payload.get(..compressed)? },
            size,
        });
        // An entry has at least its header, so that this ends.
        bytes = bytes.get(end.max(64)..)?;
    }
    Some(entries)
}

fn uncompressed(entry: &Entry<'_>) -> Option<Vec<u8>> {
    if entry.size == 0 {
        return Some(entry.payload.to_vec());
    }
    if entry.size > MOST {
        return None;
    }
    let size = usize::try_from(entry.size).ok()?;
    match (entry.flags & LZ4 != 0, entry.flags & ZSTD != 0) {
        (true, _) => lz4_flex::block::decompress(entry.payload, size).ok(),
        (_, true) => {
            let decoder = ruzstd::decoding::StreamingDecoder::new(entry.payload).ok()?;
            let mut bytes = Vec::new();
            decoder.take(entry.size).read_to_end(&mut bytes).ok()?;
            (bytes.len() == size).then_some(bytes)
        }
        _ => Some(entry.payload.to_vec()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A fat binary with these entries: kind, architecture, flags, payload, size before compression.
    fn binary(entries: &[(u16, u32, u64, &[u8], usize)]) -> Vec<u8> {
        let mut body = Vec::new();
        for (kind, architecture, flags, payload, size) in entries {
            let padded = payload.len().next_multiple_of(8);
            let mut header = [0_u8; 64];
            header[..2].copy_from_slice(&kind.to_le_bytes());
            header[4..8].copy_from_slice(&64_u32.to_le_bytes());
            header[8..16].copy_from_slice(&(padded as u64).to_le_bytes());
            let compressed = if *size == 0 { 0 } else { payload.len() as u32 };
            header[16..20].copy_from_slice(&compressed.to_le_bytes());
            header[28..32].copy_from_slice(&architecture.to_le_bytes());
            header[40..48].copy_from_slice(&flags.to_le_bytes());
            header[56..64].copy_from_slice(&(*size as u64).to_le_bytes());
            body.extend(header);
            body.extend(*payload);
            body.resize(body.len() + padded - payload.len(), 0);
        }
        let mut all = FATBIN.to_le_bytes().to_vec();
        all.extend([1, 0, 16, 0]);
        all.extend((body.len() as u64).to_le_bytes());
        all.extend(body);
        all
    }

    fn text_for(binary: &[u8], architecture: u32) -> Result<String, String> {
        let texts = texts(binary.as_ptr() as u64, binary.len() as u64, architecture);
        texts.map(|texts| link(&texts)).map_err(|refused| refused.why)
    }

    #[test]
    fn the_newest_text_that_the_device_can_run() {
        let binary = binary(&[
            (1, 75, 0, b"old\0", 0),
            (2, 90, 0, b"\x7fELF", 0),
            (1, 80, 0, b"newer", 0),
            (1, 120, 0, b"x", 0),
        ]);
        assert_eq!(text_for(&binary, 90).as_deref(), Ok("newer"));
        assert_eq!(text_for(&binary, 75).as_deref(), Ok("old"));
        assert_eq!(text_for(&binary, 60).as_deref(), Ok("old"));
    }

    #[test]
    fn compressed_texts() {
        let text = b".version 9.5 .target sm_90 ".repeat(50);
        let block = lz4_flex::block::compress(&text);
        let expected = String::from_utf8(text.clone()).expect("text");
        assert_eq!(text_for(&binary(&[(1, 90, LZ4, &block, text.len())]), 90), Ok(expected.clone()));
        let frame = ruzstd::encoding::compress_to_vec(&text[..], ruzstd::encoding::CompressionLevel::Fastest);
        assert_eq!(text_for(&binary(&[(1, 90, ZSTD, &frame, text.len())]), 90), Ok(expected));
        let wrong = text_for(&binary(&[(1, 90, ZSTD, &frame, text.len() + 1)]), 90);
        assert!(wrong.expect_err("damaged").contains("damaged"));
    }

    #[test]
    fn machine_code_alone_is_refused_with_advice() {
        let why = text_for(&binary(&[(2, 90, 0, b"\x7fELF", 0)]), 90).expect_err("no PTX");
        assert!(why.contains("only machine code for sm_90") && why.contains("-arch=compute_90"), "{why}");
        assert!(text_for(&binary(&[(1, 90, 0, b"text", 0)])[..], 90).is_ok());
    }

    /// What `nvcc -rdc=true` makes: linked machine code, and the binaries that it was linked of.
    #[test]
    fn linked_machine_code_comes_with_its_texts() {
        let [linked, first, second] = [
            binary(&[(2, 90, 0, b"\x7fELF", 0)]),
            binary(&[(2, 90, 0, b"\x7fELF", 0), (1, 90, 0, b"first", 0)]),
            binary(&[(1, 90, 0, b"second", 0)]),
        ];
        let wrapped = |version: u64, data: &[u8], others: &[&[u8]]| {
            let list: Vec<u64> = others.iter().map(|other| other.as_ptr() as u64).chain([0]).collect();
            let wrapper = [0x4662_43b1 | version << 32, data.as_ptr() as u64, list.as_ptr() as u64];
            texts(wrapper.as_ptr() as u64, u64::MAX, 90).map_err(|refused| refused.why)
        };
        assert_eq!(wrapped(2, &linked, &[&first, &second]), Ok(vec!["first".to_owned(), "second".to_owned()]));
        assert_eq!(wrapped(2, &first, &[&second]), Ok(vec!["first".to_owned(), "second".to_owned()]));
        assert!(wrapped(2, &linked, &[]).expect_err("no text").contains("only machine code"));
        assert!(wrapped(1, &linked, &[&first]).expect_err("no text").contains("only machine code"));
    }

    /// Sizes that reach past the image, or past all memory.
    #[test]
    fn damaged_sizes_are_errors() {
        let good = binary(&[(1, 90, 0, b"text", 0)]);
        assert_eq!(text_for(&good, 90).as_deref(), Ok("text"));
        for size in [good.len() as u64, 1 << 40, u64::MAX - 8, u64::MAX] {
            let mut bad = good.clone();
            bad[8..16].copy_from_slice(&size.to_le_bytes());
            assert!(text_for(&bad, 90).expect_err("damaged").contains("damaged"), "{size:#x}");
            // A client's image has no known size: only what cannot be read is known to be wrong.
            let found = texts(bad.as_ptr() as u64, u64::MAX, 90);
            assert!(found.is_err() || size == good.len() as u64, "{size:#x}");
        }
        // The sizes of the entry: header, payload, compressed payload, text.
        for (at, bytes) in [(16 + 4, 4), (16 + 8, 8), (16 + 16, 4)] {
            let mut bad = good.clone();
            bad[at..at + bytes].fill(0xff);
            assert!(text_for(&bad, 90).expect_err("damaged").contains("damaged"), "{at}");
        }
        for address in [0, 16, u64::MAX - 8] {
            assert!(texts(address, u64::MAX, 90).is_err());
        }
    }

    #[test]
    fn linked_texts_have_one_header() {
        let texts = [".version 9.0\n.target sm_90\nA".to_owned(), ".version 9.0\n.target sm_90\nB".to_owned()];
        assert_eq!(link(&texts), ".version 9.0\n.target sm_90\nA\nB\n");
    }
}
