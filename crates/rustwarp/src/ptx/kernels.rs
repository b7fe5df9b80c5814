//! Kernels inside the program: compressed PTX and machine code.

use super::arch::{Advice, Arch, choose};
use super::image::{Image, load_first};
use crate::backend::{Backend, Module};
use crate::error::{Error, Result};
use std::fmt;
use std::path::Path;

/// One module's kernels, for several architectures, as [`kernels!`](crate::kernels) includes them in a program.
///
/// ```ignore
/// static KERNELS: rustwarp::Kernels = rustwarp::kernels!("kernels.rs");
/// let module = device.load_kernels(&KERNELS)?;
/// ```
#[derive(Clone, Copy)]
pub struct Kernels {
    name: &'static str,
    images: &'static [Packed],
}

/// A compressed image of a module.
#[derive(Clone, Copy)]
pub struct Packed {
    /// The architecture of the PTX, or the GPU of the machine code, in the form of `sm_90`.
    pub arch: &'static str,
    /// What it is.
    pub code: Code,
    /// The image as a brotli stream.
    pub bytes: &'static [u8],
}

/// The form of an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Code {
    /// PTX, which a driver compiles for its GPU on first use, and which the simulator runs.
    Ptx,
    /// Machine code (a cubin), which a GPU runs as it is.
    Machine,
}

impl Kernels {
    /// Kernels with this name for messages.
    pub const fn new(name: &'static str, images: &'static [Packed]) -> Self {
        Self { name, images }
    }

    /// The name for messages.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Whether there are no images.
    pub(super) fn is_empty(&self) -> bool {
        self.images.is_empty()
    }

    /// The architectures of the PTX.
    fn archs(&self) -> Vec<(Arch, &'static Packed)> {
        let ptx = self.images.iter().filter(|image| image.code == Code::Ptx);
        ptx.filter_map(|image| Some((Arch::parse(image.arch)?, image))).collect()
    }

    /// The PTX for a device of compute capability `sm` (`None`: the highest, for the simulator), or for exactly `arch`.
    ///
    /// # Errors
    /// [`Error::NoPtx`] if there is none.
    pub fn ptx(&self, sm: Option<u32>, arch: Option<&str>) -> Result<Image> {
        self.ptx_or(sm, arch, in_build_script)
    }

    /// Like [`Kernels::ptx`], with the advice of the error for kernels that the program's build script does not build.
    pub(super) fn ptx_or(&self, sm: Option<u32>, arch: Option<&str>, advice: Advice) -> Result<Image> {
        let archs = self.archs();
        let present: Vec<_> = archs.iter().map(|(arch, _)| arch.clone()).collect();
        let chosen = choose(&present, sm, arch, &format!("the program's kernels `{}`", self.name), advice)?;
        match archs.iter().find(|(arch, _)| *arch == chosen) {
            Some((_, image)) => image.unpack(self.name),
            None => unreachable!("`choose` returns one of the architectures"),
        }
    }

    /// The text of the PTX of the highest architecture, for tests on the simulator.
    ///
    /// # Errors
    /// [`Error::NoPtx`] if there is none.
    pub fn text(&self) -> Result<String> {
        let image = self.ptx(None, None)?;
        let damaged = |error| Error::BadPtx(format!("{}: {error}: build the program again", image.path.display()));
        String::from_utf8(image.bytes).map_err(damaged)
    }

    /// The machine code for a GPU of this compute capability, if there is any.
    ///
    /// # Errors
    /// [`Error::BadPtx`] if the program's copy is damaged.
    pub fn machine_code(&self, sm: u32) -> Result<Option<Image>> {
        let machine = self.images.iter().filter(|image| image.code == Code::Machine);
        let runs = machine.filter_map(|image| {
            let arch = Arch::parse(image.arch)?;
            arch.runs_machine_code(sm).then_some((arch, image))
        });
        runs.max_by_key(|(arch, _)| arch.clone()).map(|(_, image)| image.unpack(self.name)).transpose()
    }

    /// Loads the module: machine code where the program has it for this GPU, else PTX, which the driver compiles.
    ///
    /// # Errors
    /// Those of [`Backend::load`], and of [`Kernels::ptx`].
    pub(crate) fn load_on(&self, device: &dyn Backend) -> Result<Module> {
        self.load_or(device, in_build_script)
    }

    /// Like [`Kernels::load_on`], with the advice of [`Kernels::ptx_or`].
    pub(super) fn load_or(&self, device: &dyn Backend, advice: Advice) -> Result<Module> {
        let sm = device.info().sm;
        let code = sm.map(|sm| self.machine_code(sm)).transpose()?.flatten();
        load_first(device, code, || self.ptx_or(sm, None, advice))
    }
}

/// The advice for kernels that the program's own build script embeds.
fn in_build_script(arch: &str) -> String {
    format!("build the kernels for {arch} or an earlier architecture, which `CudaBuilder::arch` sets in `build.rs`")
}

impl fmt::Debug for Kernels {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Kernels({}, {} images)", self.name, self.images.len())
    }
}

impl Packed {
    fn unpack(&self, module: &str) -> Result<Image> {
        let extension = match self.code {
            Code::Ptx => "ptx",
            Code::Machine => "cubin",
        };
        let path = Path::new("in the program").join(self.arch).join(format!("{module}.{extension}"));
        let mut bytes = Vec::new();
        match brotli_decompressor::BrotliDecompress(&mut &self.bytes[..], &mut bytes) {
            Ok(()) => Ok(Image { path, bytes }),
            Err(error) => Err(Error::BadPtx(format!("{}: {error}: build the program again", path.display()))),
        }
    }
}

/// The kernels that [`CudaBuilder::embed`] wrote to this file of `OUT_DIR`: a constant [`Kernels`]. It can be followed
/// by the name for messages, by default the package's.
///
/// [`CudaBuilder::embed`]: https://docs.rs/cuda_builder
#[macro_export]
macro_rules! kernels {
    ($file:literal) => {
        $crate::kernels!($file, env!("CARGO_PKG_NAME"))
    };
    ($file:literal, $name:expr) => {
        $crate::Kernels::new($name, &include!(concat!(env!("OUT_DIR"), "/", $file)))
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn image(arch: &'static str, code: Code) -> Packed {
        Packed { arch, code, bytes: b"damaged" }
    }

    static KERNELS: Kernels = Kernels::new(
        "sum",
        &[
            image("sm_75", Code::Ptx),
            image("sm_90", Code::Ptx),
            image("sm_80", Code::Machine),
            image("sm_86", Code::Machine),
        ],
    );

    #[test]
    fn machine_code_is_preferred_where_it_runs() {
        let chosen = |sm| match KERNELS.machine_code(sm) {
            Ok(image) => image.map(|image| image.path.display().to_string()),
            Err(error) => Some(error.to_string()),
        };
        assert_eq!(chosen(75), None);
        assert!(chosen(80).is_some_and(|text| text.starts_with("in the program/sm_80/sum.cubin: ")));
        assert!(chosen(89).is_some_and(|text| text.starts_with("in the program/sm_86/sum.cubin: ")));
        assert_eq!(chosen(90), None);
    }

    /// A brotli stream of "PTX", stored as it is.
    const STREAM: &[u8] = &[0x0b, 0x01, 0x80, b'P', b'T', b'X', 0x03];

    #[test]
    fn a_stream_that_is_cut_off_is_damaged() {
        let unpack = |bytes| Packed { arch: "sm_75", code: Code::Ptx, bytes }.unpack("sum");
        assert_eq!(unpack(STREAM).map(|image| image.bytes).ok(), Some(b"PTX".to_vec()));
        for len in 0..STREAM.len() {
            assert!(matches!(unpack(&STREAM[..len]), Err(Error::BadPtx(_))), "{len} bytes");
        }
    }

    #[test]
    fn ptx_is_chosen_by_device_or_by_name() {
        let chosen = |sm, arch| KERNELS.ptx(sm, arch).expect_err("the bytes are no brotli stream").to_string();
        assert!(chosen(Some(89), None).starts_with("in the program/sm_75/sum.ptx: "));
        assert!(chosen(Some(120), None).starts_with("in the program/sm_90/sum.ptx: "));
        assert!(chosen(None, None).starts_with("in the program/sm_90/sum.ptx: "));
        assert!(chosen(None, Some("sm_75")).starts_with("in the program/sm_75/sum.ptx: "));
        let none = chosen(None, Some("sm_80"));
        assert!(none.starts_with("there is no PTX for sm_80 in the program's kernels `sum`"), "{none}");
        let early = chosen(Some(70), None);
        assert!(early.contains("is for sm_75, sm_90 and this GPU is sm_70"), "{early}");
        // A project that embeds its kernels has a build script, and no task of this project.
        for error in [none, early] {
            assert!(error.contains("`CudaBuilder::arch` sets in `build.rs`") && !error.contains("xtask"), "{error}");
        }
    }
}
