//! Reading NumPy's `.npz` archives: a zip file with a `.npy` file for each array. `data.npz:weights` names one of them.

use super::file::{file_size, require_fit, unreadable};
use super::npy;
use super::stored::Loaded;
use crate::error::{Error, Result};
use std::fs::File;
use std::io::{Read, Seek};
use std::path::{Path, PathBuf};
use zip::ZipArchive;

/// Splits `data.npz:weights` into file and array. A path that exists is never split.
pub(super) fn split(path: &Path) -> Option<(PathBuf, String)> {
    let text = path.to_str().filter(|_| !path.exists())?;
    let at = text.to_ascii_lowercase().find(".npz:")? + ".npz".len();
    Some((PathBuf::from(&text[..at]), text[at + 1..].to_owned()))
}

/// Reads the array with this name, or the only one.
pub(super) fn read(path: &Path, array: Option<&str>) -> Result<Loaded> {
    file_size(path)?;
    let file = File::open(path).map_err(|error| unreadable(path, &error))?;
    read_from(path, file, array, &path.display().to_string())
}

/// Reads an array of the archive in `source`, which errors name `path`; `named` is how `--input` names the archive.
pub(super) fn read_from(path: &Path, source: impl Read + Seek, array: Option<&str>, named: &str) -> Result<Loaded> {
    let damaged = |error: zip::result::ZipError| {
        Error::input(path, format!("it is not a .npz file: {error}; save it with np.savez"))
    };
    let mut archive = ZipArchive::new(source).map_err(damaged)?;
    let names = archive.file_names().filter_map(std::result::Result::ok);
    let arrays: Vec<String> = names.filter_map(|name| Some(name.strip_suffix(".npy")?.to_owned())).collect();
    let choose = |what: &str| {
        let example = arrays.first().map_or("", String::as_str);
        Error::input(path, format!("{what}; there are: {}; choose one with {named}:{example}", arrays.join(" ")))
    };
    let name = match (array, arrays.as_slice()) {
        (_, []) => return Err(Error::input(path, "it has no arrays: save them with np.savez")),
        (None, [only]) => only,
        (None, several) => return Err(choose(&format!("it has {} arrays", several.len()))),
        (Some(name), all) => {
            all.iter().find(|have| *have == name).ok_or_else(|| choose(&format!("it has no array `{name}`")))?
        }
    };
    let mut entry = archive.by_name(&format!("{name}.npy")).map_err(damaged)?;
    let size = entry.size();
    require_fit(path, size)?;
    let label = if arrays.len() > 1 { format!("{}:{name}", path.display()) } else { path.display().to_string() };
    // The size is the archive's claim: more bytes than that are not read.
    let mut limited = entry.by_ref().take(size);
    let loaded = npy::read_from(Path::new(&label), &mut limited, size)?;
    // The checksum is compared when the end is reached.
    std::io::copy(&mut entry, &mut std::io::sink()).map_err(|error| unreadable(path, &error))?;
    Ok(loaded)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustwarp::element::Array;
    use rustwarp::tensor::Tensor;
    use std::io::{Cursor, Write};
    use zip::write::{SimpleFileOptions, ZipWriter};

    fn archive(arrays: &[(&str, Array)], method: zip::CompressionMethod) -> Vec<u8> {
        let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
        for (name, array) in arrays {
            writer
                .start_file(format!("{name}.npy"), SimpleFileOptions::default().compression_method(method))
                .expect("a file");
            writer.write_all(&npy::bytes(&Tensor::from(array.clone())).expect("a type of NumPy")).expect("written");
        }
        writer.finish().expect("an archive").into_inner()
    }

    fn loaded(bytes: Vec<u8>, name: Option<&str>) -> Result<Loaded> {
        read_from(Path::new("x.npz"), Cursor::new(bytes), name, "x.npz")
    }

    #[test]
    fn arrays_are_chosen_by_name() {
        let (a, b) = (Array::F32(vec![1.5; 1000]), Array::I32(vec![7]));
        for method in [zip::CompressionMethod::Stored, zip::CompressionMethod::Deflated] {
            let two = archive(&[("a", a.clone()), ("b", b.clone())], method);
            assert_eq!(loaded(two.clone(), Some("a")).expect("a").into_tensor().0, a.clone().into());
            assert_eq!(loaded(two.clone(), Some("b")).expect("b").into_tensor().0, b.clone().into());
            for (name, words) in [(None, "it has 2 arrays"), (Some("c"), "no array `c`")] {
                let text = loaded(two.clone(), name).expect_err("refused").to_string();
                assert!(text.contains(words) && text.contains("a b") && text.contains("x.npz:a"), "{text}");
            }
            let one = archive(&[("x", b.clone())], method);
            assert_eq!(loaded(one, None).expect("the only one").into_tensor().0, b.clone().into());
        }
    }

    #[test]
    fn damaged_archives_are_refused() {
        let whole = archive(&[("a", Array::F32(vec![1.5; 100]))], zip::CompressionMethod::Stored);
        assert!(loaded(b"no archive".to_vec(), None).expect_err("refused").to_string().contains("np.savez"));
        assert!(loaded(whole[..whole.len() / 2].to_vec(), None).is_err());
        let mut changed = whole.clone();
        changed[300] ^= 1;
        assert!(loaded(changed, None).is_err(), "the checksum differs");
        assert!(loaded(archive(&[], zip::CompressionMethod::Stored), None).is_err());
    }

    #[test]
    fn a_name_follows_the_file() {
        let split = |text: &str| split(Path::new(text));
        assert_eq!(split("no/x.npz:a"), Some(("no/x.npz".into(), "a".to_owned())));
        assert_eq!(split("no/X.NPZ:a:b"), Some(("no/X.NPZ".into(), "a:b".to_owned())));
        assert_eq!(split("no/x.npz"), None);
    }
}
