//! The edges of a picture: grey values and edges by kernels of this example, the blur between them by the library. The
//! picture stays on the device from the upload of its pixels to the download of its edges.
//!
//! `image-pipeline [INPUT [OUTPUT.png]]`; without an output, only the number of edges is printed.

use std::error::Error;

use image::{GrayImage, ImageReader};
use image_pipeline_kernels::{edges, grey};
use rustwarp::{Device, Module, Shape, filter::Border};

/// The kernels as PTX text, which `build.rs` has made.
const PTX: &str = include_str!(concat!(env!("OUT_DIR"), "/kernels.ptx"));

/// A blur of 5 x 5 pixels: the products of 1, 4, 6, 4, 1, divided by their sum.
const BLUR: [f32; 5] = [1.0, 4.0, 6.0, 4.0, 1.0];

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let input = arguments.next().unwrap_or_else(|| concat!(env!("CARGO_MANIFEST_DIR"), "/../../data/cat.png").into());
    let picture = ImageReader::open(&input)?.decode()?.into_rgb8();
    let (width, height) = picture.dimensions();

    let device = Device::default()?;
    println!("{}", device.choice());
    let module = device.load(PTX.as_bytes(), "kernels.ptx")?;
    let found = find_edges(&module, picture.as_raw(), width, height)?;
    let strong = found.iter().filter(|strength| **strength >= 128).count();
    println!("{input}: {width} x {height} pixels, {strong} of them on a strong edge");
    if let Some(output) = arguments.next() {
        GrayImage::from_raw(width, height, found).ok_or("a byte per pixel")?.save(&output)?;
        println!("wrote {output}");
    }
    Ok(())
}

/// The strength of the edge at each pixel; `module` has the kernels of this example.
fn find_edges(module: &Module, rgb: &[u8], width: u32, height: u32) -> rustwarp::Result<Vec<u8>> {
    let device = module.device();
    let pixels = width as usize * height as usize;
    let rgb = device.upload(rgb)?;

    let mut grey_values = device.uninit::<f32>(pixels)?;
    let call = grey(rgb.slice(3 * pixels), grey_values.slice_mut(pixels));
    // SAFETY: the kernel is safe, the module was compiled from it, and its device holds the memory.
    unsafe { module.launch(&call, Shape::linear((pixels as u32).div_ceil(256), 256)) }?;

    let mask: Vec<f32> = BLUR.iter().flat_map(|a| BLUR.map(|b| a * b / 256.0)).collect();
    let shape = [height as usize, width as usize, 1];
    let blurred = device.conv2d(&grey_values, shape, &mask, [5, 5], Border::Clamp)?;

    let mut strengths = device.uninit::<u8>(pixels)?;
    let out = strengths.slice_mut(pixels).matrix(height as usize, width as usize);
    let call = edges(blurred.slice(pixels), out);
    let grid = [width.div_ceil(32), height.div_ceil(8), 1];
    // SAFETY: as above.
    unsafe { module.launch(&call, Shape::new(grid, [32, 8, 1])) }?;
    strengths.download()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A picture whose left half is black and whose right half is white has one edge, in the middle.
    #[test]
    fn an_edge_is_found_where_it_is() -> rustwarp::Result<()> {
        let (width, height) = (40, 9);
        let rgb: Vec<u8> = (0..width * height).flat_map(|i| [if i % width < 20 { 0 } else { 255 }; 3]).collect();
        let module = Device::sim()?.load(PTX.as_bytes(), "kernels.ptx")?;
        let found = find_edges(&module, &rgb, width, height)?;
        for (i, strength) in found.iter().enumerate() {
            let x = i % width as usize;
            assert_eq!(*strength == 255, (18..22).contains(&x), "pixel {x}: {strength}");
            assert_eq!(*strength == 0, !(17..23).contains(&x), "pixel {x}: {strength}");
        }
        Ok(())
    }
}
