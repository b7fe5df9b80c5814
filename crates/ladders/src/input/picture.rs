//! Pictures: PNG and JPEG files as arrays of u8.

use super::file::{file_size, has_extension, require_fit, unreadable};
use super::replace::replace;
use super::stored::Loaded;
use crate::error::{Error, Result};
use image::{ExtendedColorType, ImageFormat, ImageReader};
use rustwarp::element::Array;
use rustwarp::tensor::{self, Tensor};
use std::fs::File;
use std::io::{BufRead, BufReader, Seek};
use std::path::Path;

/// Whether the file's name has a picture's extension.
pub fn is_picture(path: &Path) -> bool {
    ["png", "jpg", "jpeg"].iter().any(|known| has_extension(path, known))
}

/// Reads a picture: height x width for grey, height x width x 3 (red, green, blue) for colours, and height x width x 4
/// (with alpha) if a pixel is not opaque. 16 bits per channel are reduced to 8, which a note says.
///
/// # Errors
/// [`Error::Input`] for a file that is not a picture, [`Error::Usage`] for a picture that is larger than this machine's
/// memory.
pub fn read(path: &Path) -> Result<Loaded> {
    file_size(path)?;
    read_from(path, || File::open(path).map(BufReader::new))
}

/// Reads a picture from a source that can be opened twice, which errors name `path`.
pub(super) fn read_from<S: BufRead + Seek>(path: &Path, open: impl Fn() -> std::io::Result<S>) -> Result<Loaded> {
    let wrong = |error: image::ImageError| Error::input(path, format!("it can't be read as a picture: {error}"));
    let open = || open().map(ImageReader::new).and_then(ImageReader::with_guessed_format);
    let (width, height) = open().map_err(|error| unreadable(path, &error))?.into_dimensions().map_err(wrong)?;
    require_fit(path, u64::from(width) * u64::from(height) * 8)?;
    let picture = open().map_err(|error| unreadable(path, &error))?.decode().map_err(wrong)?;
    let colour = picture.color();
    let opaque = !colour.has_alpha() || picture.to_rgba16().pixels().all(|pixel| pixel.0[3] == u16::MAX);
    let (channels, bytes) = match (opaque, colour.has_color()) {
        (false, _) => (Some(4), picture.into_rgba8().into_raw()),
        (true, true) => (Some(3), picture.into_rgb8().into_raw()),
        (true, false) => (None, picture.into_luma8().into_raw()),
    };
    let shape: Vec<_> = [height as usize, width as usize].into_iter().chain(channels).collect();
    let tensor = Tensor::new(&shape, Array::U8(bytes))?;
    let mut loaded = Loaded { is_picture: true, ..Loaded::new(path.display().to_string(), tensor) };
    let bits = colour.bits_per_pixel() / u16::from(colour.channel_count());
    if bits > 8 {
        let name = path.display();
        loaded.notes.push(format!("{name} has {bits} bits per channel: reduced to 8 (a .npy file keeps them)"));
    }
    Ok(loaded)
}

/// Writes height x width (grey), height x width x 3 (red, green, blue), or height x width x 4 (with alpha, as PNG).
/// Floats are rounded and clamped to 0…255. An existing file is replaced once all bytes are written.
///
/// # Errors
/// [`Error::Usage`] for other shapes and types; [`Error::Write`], and no file is left behind then.
pub fn write(path: &Path, picture: &Tensor) -> Result<()> {
    let (height, width, colour) = match *picture.shape() {
        [height, width] | [height, width, 1] => (height, width, ExtendedColorType::L8),
        [height, width, 3] => (height, width, ExtendedColorType::Rgb8),
        [height, width, 4] if has_extension(path, "png") => (height, width, ExtendedColorType::Rgba8),
        [_, _, 4] => {
            return Err(Error::Usage(format!(
                "{} cannot be written with the result's alpha channel: use a .png file",
                path.display()
            )));
        }
        _ => {
            let shape = tensor::text(picture.shape());
            return Err(Error::Usage(format!("a result of shape {shape} is not a picture: write it to a .npy file")));
        }
    };
    let bytes = match picture.data() {
        Array::U8(bytes) => bytes.clone(),
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
    use rustwarp::element::Dtype;

    fn read(path: &Path) -> Result<Tensor> {
        super::read(path).map(|loaded| loaded.into_tensor().0)
    }

    #[test]
    fn pictures_keep_their_shape_and_bytes() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("x.png");
        for shape in [&[2, 3][..], &[3, 2, 3], &[3, 2, 4]] {
            let bytes: Vec<u8> = (0..shape.iter().product::<usize>()).map(|i| 7 * i as u8).collect();
            let picture = Tensor::new(shape, Array::U8(bytes)).expect("a picture");
            write(&path, &picture).expect("written");
            assert_eq!(read(&path).expect("read"), picture);
        }
    }

    #[test]
    fn alpha_is_kept_unless_all_pixels_are_opaque() {
        use image::{LumaA, Rgba};
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("x.png");
        let read = || super::read(&path).expect("read");
        image::RgbaImage::from_pixel(2, 1, Rgba([1, 2, 3, 255])).save(&path).expect("written");
        assert_eq!((read().tensor.shape(), read().notes.len()), (&[1, 2, 3][..], 0));
        image::RgbaImage::from_pixel(2, 1, Rgba([1, 2, 3, 7])).save(&path).expect("written");
        assert_eq!(read().tensor.data(), &Array::U8(vec![1, 2, 3, 7, 1, 2, 3, 7]));
        image::GrayAlphaImage::from_pixel(1, 1, LumaA([5, 9])).save(&path).expect("written");
        assert_eq!(read().tensor.data(), &Array::U8(vec![5, 5, 5, 9]));
        let transparent = Tensor::new(&[1, 1, 4], Array::zeros(Dtype::U8, 4)).expect("a picture");
        let jpeg = write(Path::new("x.jpg"), &transparent).expect_err("JPEG has no alpha").to_string();
        assert!(jpeg.contains(".png"), "{jpeg}");
    }

    #[test]
    fn a_lost_depth_is_said() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("x.png");
        let deep = image::ImageBuffer::<image::Luma<u16>, _>::from_pixel(2, 1, image::Luma([0x1234]));
        deep.save(&path).expect("written");
        let loaded = super::read(&path).expect("read");
        assert_eq!(loaded.tensor.data(), &Array::U8(vec![0x12, 0x12]));
        assert!(loaded.notes[0].contains("x.png has 16 bits per channel"), "{:?}", loaded.notes);
    }

    #[test]
    fn floats_are_rounded_and_clamped() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("x.png");
        let values = Array::F32(vec![-3.0, 0.6, 254.4, 300.0, f32::NAN, 12.0]);
        write(&path, &Tensor::new(&[2, 3], values).expect("a picture")).expect("written");
        let wanted = Array::U8(vec![0, 1, 254, 255, 0, 12]);
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
