//! Fat binaries, as nvcc writes them: a list of entries, each PTX or machine code for one architecture, PTX often
//! compressed. The fields are those that the tests' files show.

use super::{KEEP_PTX, Refused};
use crate::code::Code;
use std::io::Read;

/// Magic numbers of the wrapper, and of the binary itself.
pub const WRAPPER: u32 = 0x4662_43b1;
pub const FATBIN: u32 = 0xba55_ed50;

/// Kind of an entry with PTX.
const PTX: u16 = 1;
/// Flags of an entry: how the payload is compressed.
const LZ4: u64 = 0x2000;
const ZSTD: u64 = 0x8000;
/// Greatest size of an uncompressed text in bytes: more is a damaged file.
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

/// Returns the PTX texts of a binary, or of each binary of a wrapper, for a device of this architecture.
///
/// # Errors
/// If one of them has no PTX, or is damaged.
///
/// # Safety
/// `address` must be a fat binary or its wrapper.
pub unsafe fn texts(address: *const u8, architecture: u32) -> Result<Vec<String>, Refused> {
    // SAFETY: by contract; both kinds start with 16 bytes.
    let magic = unsafe { address.cast::<u32>().read_unaligned() };
    if magic == FATBIN {
        // SAFETY: by contract.
        return unsafe { best(address, architecture) }.map(|text| vec![text]);
    }
    // SAFETY: a wrapper has 24 bytes: magic number, version, and two pointers.
    let (version, data, others) = unsafe {
        let words = address.cast::<u32>();
        let pointers = address.add(8).cast::<*const u8>();
        (words.add(1).read_unaligned(), pointers.read_unaligned(), pointers.add(1).read_unaligned())
    };
    // SAFETY: by contract, the first pointer is a binary.
    let mut texts = vec![unsafe { best(data, architecture) }?];
    if version == 2 && !others.is_null() {
        let mut list = others.cast::<*const u8>();
        // SAFETY: by contract, a null pointer ends the list of binaries.
        while let Some(binary) = std::ptr::NonNull::new(unsafe { list.read_unaligned() }.cast_mut()) {
            // SAFETY: as above.
            unsafe {
                texts.push(best(binary.as_ptr(), architecture)?);
                list = list.add(1);
            }
        }
    }
    Ok(texts)
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
unsafe fn best(address: *const u8, architecture: u32) -> Result<String, Refused> {
    let damaged = || Refused::new(Code::INVALID_IMAGE, "the fat binary is damaged");
    // SAFETY: by contract, it starts with 16 bytes: magic number, version, header size, size of the entries.
    let (magic, header, size) = unsafe {
        let magic = address.cast::<u32>().read_unaligned();
        let header = address.add(6).cast::<u16>().read_unaligned();
        (magic, usize::from(header), address.add(8).cast::<u64>().read_unaligned())
    };
    let size = usize::try_from(size).map_err(|_| damaged())?;
    if magic != FATBIN || header < 16 {
        return Err(damaged());
    }
    // SAFETY: by contract, as many bytes follow the header.
    let bytes = unsafe { std::slice::from_raw_parts(address.add(header), size) };
    let entries = entries(bytes).ok_or_else(damaged)?;
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
        // SAFETY: `binary` made it.
        let texts = unsafe { texts(binary.as_ptr(), architecture) };
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

    #[test]
    fn linked_texts_have_one_header() {
        let texts = [".version 9.0\n.target sm_90\nA".to_owned(), ".version 9.0\n.target sm_90\nB".to_owned()];
        assert_eq!(link(&texts), ".version 9.0\n.target sm_90\nA\nB\n");
    }
}
