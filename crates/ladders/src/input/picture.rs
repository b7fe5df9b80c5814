//! Pictures: PNG and JPEG files as arrays of u8.

use super::replace::replace;
use super::{file_size, has_extension, require_fit, unreadable};
use crate::error::{Error, Result};
use image::{DynamicImage, ExtendedColorType, ImageFormat, ImageReader};
use rustwarp::element::{Array, Dtype};
use rustwarp::tensor::{self, Tensor};
use std::path::Path;

/// Whether the file's name has a picture's extension.
pub fn is_picture(path: &Path) -> bool {
    ["png", "jpg", "jpeg"].iter().any(|known| has_extension(path, known))
}

/// Reads a picture: height x width for grey, height x width x 3 (red, green, blue) for colours. Transparency is
/// dropped, and 16 bits per channel are reduced to 8.
///
/// # Errors
/// [`Error::Input`] for a file that is not a picture, [`Error::Usage`] for a picture that is larger than this machine's
/// memory.
pub fn read(path: &Path) -> Result<Tensor> {
    file_size(path)?;
    let wrong = |error: image::ImageError| Error::input(path, format!("it can't be read as a picture: {error}"));
    let open = || ImageReader::open(path).and_then(ImageReader::with_guessed_format);
    let (width, height) = open().map_err(|error| unreadable(path, &error))?.into_dimensions().map_err(wrong)?;
    require_fit(path, u64::from(width) * u64::from(height) * 8)?;
    let picture = open().map_err(|error| unreadable(path, &error))?.decode().map_err(wrong)?;
    let (height, width) = (height as usize, width as usize);
    match picture {
        DynamicImage::ImageLuma8(_)
        | DynamicImage::ImageLumaA8(_)
        | DynamicImage::ImageLuma16(_)
        | DynamicImage::ImageLumaA16(_) => {
            Ok(Tensor::new(&[height, width], Array::Bytes(Dtype::U8, picture.into_luma8().into_raw()))?)
        }
        colours => Ok(Tensor::new(&[height, width, 3], Array::Bytes(Dtype::U8, colours.into_rgb8().into_raw()))?),
    }
}

/// Writes height x width (grey) or height x width x 3 (red, green, blue). Floats are rounded and clamped to 0…255. An
/// existing file is replaced once all bytes are written.
///
/// # Errors
/// [`Error::Usage`] for other shapes and types; [`Error::Write`], and no file is left behind then.
pub fn write(path: &Path, picture: &Tensor) -> Result<()> {
    let (height, width, colour) = match *picture.shape() {
        [height, width] | [height, width, 1] => (height, width, ExtendedColorType::L8),
        [height, width, 3] => (height, width, ExtendedColorType::Rgb8),
        _ => {
            let shape = tensor::text(picture.shape());
            return Err(Error::Usage(format!("a result of shape {shape} is not a picture: write it to a .npy file")));
        }
    };
    let bytes = match picture.data() {
        Array::Bytes(Dtype::U8, bytes) => bytes.clone(),
        Array::F32(values) => values.iter().map(|x| x.round() as u8).collect(),
        Array::F64(values) => values.iter().map(|x| x.round() as u8).collect(),
        other => {
            return Err(Error::Usage(format!("{} can't be written as a picture: use a .npy file", other.dtype())));
        }
    };
    let format = if has_extension(path, "png") { ImageFormat::Png } else { ImageFormat::Jpeg };
    replace(path, |out| {
        let written = image::write_buffer_with_format(out, &bytes, width as u32, height as u32, colour, format);
        written.map_err(|error| match error {
            image::ImageError::IoError(error) => error,
            other => std::io::Error::other(other),
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pictures_keep_their_shape_and_bytes() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("x.png");
        for shape in [&[2, 3][..], &[3, 2, 3]] {
            let bytes: Vec<u8> = (0..shape.iter().product::<usize>()).map(|i| 7 * i as u8).collect();
            let picture = Tensor::new(shape, Array::Bytes(Dtype::U8, bytes)).expect("a picture");
            write(&path, &picture).expect("written");
            assert_eq!(read(&path).expect("read"), picture);
        }
    }

    #[test]
    fn floats_are_rounded_and_clamped() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("x.png");
        let values = Array::F32(vec![-3.0, 0.6, 254.4, 300.0, f32::NAN, 12.0]);
        write(&path, &Tensor::new(&[2, 3], values).expect("a picture")).expect("written");
        let wanted = Array::Bytes(Dtype::U8, vec![0, 1, 254, 255, 0, 12]);
        assert_eq!(read(&path).expect("read").into_data(), wanted);
    }

    #[test]
    fn a_picture_that_fails_leaves_the_old_one() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("x.jpg");
        let of = |shape: &[usize]| Tensor::new(shape, Array::zeros(Dtype::U8, shape.iter().product())).expect("made");
        write(&path, &of(&[8, 8])).expect("written");
        let old = std::fs::read(&path).expect("a picture");
        // The sides of a JPEG picture are at most 65535.
        assert!(matches!(write(&path, &of(&[1, 70_000])), Err(Error::Write { .. })));
        assert_eq!(std::fs::read(&path).expect("still there"), old);
        assert_eq!(std::fs::read_dir(folder.path()).expect("a folder").count(), 1);
    }

    #[test]
    fn what_is_no_picture_is_refused() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("x.png");
        std::fs::write(&path, b"hello").expect("written");
        assert!(matches!(read(&path), Err(Error::Input { .. })));
        assert!(matches!(write(&path, &Array::F32(vec![0.0]).into()), Err(Error::Usage(_))));
        assert!(is_picture(Path::new("a.JPG")) && !is_picture(Path::new("a.npy")));
    }
}
