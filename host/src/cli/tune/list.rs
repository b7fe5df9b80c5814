//! The folder that `cargo xtask tune` makes: PTX of a family's variants, and the list of them.

use ladders::error::{Error, Result};
use ladders::kernels::{self, Family};
use serde::Deserialize;
use std::path::Path;

/// File name of the list.
const NAME: &str = "variants.json";

/// The list of a family's variants.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct List {
    /// Name of the family.
    pub family: String,
    /// Architecture of the PTX.
    pub arch: String,
    /// Commit of the sources.
    pub commit: String,
    /// File name of the PTX without a change.
    pub present: String,
    /// The variants.
    pub variants: Vec<Listed>,
}

/// A value of a constant.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Listed {
    /// Name of the constant.
    pub constant: String,
    /// Its file and line.
    pub place: String,
    /// Its value in the sources.
    pub present: u64,
    /// The value of this variant.
    pub value: u64,
    /// File name of the variant's PTX; `None` if the value is refused.
    pub ptx: Option<String>,
    /// Why the value cannot be used.
    pub refused: Option<String>,
}

impl List {
    /// Reads the list of a folder.
    ///
    /// # Errors
    /// [`Error::Usage`] if there is none, or it is not such a list.
    pub fn read(folder: &Path) -> Result<Self> {
        let path = folder.join(NAME);
        let wrong = |problem: String| Error::Usage(format!("{}: {problem}", path.display()));
        let text = std::fs::read_to_string(&path).map_err(|error| {
            wrong(format!("{error}: name a folder that `cargo xtask tune FAMILY --prepare` has made"))
        })?;
        let list: Self = serde_json::from_str(&text).map_err(|error| wrong(error.to_string()))?;
        for Listed { constant, value, ptx, refused, .. } in &list.variants {
            if ptx.is_some() == refused.is_some() {
                return Err(wrong(format!("{constant} = {value} has either PTX or the reason why it is refused")));
            }
        }
        Ok(list)
    }

    /// The family.
    ///
    /// # Errors
    /// [`Error::Usage`] if this program has none of this name.
    pub fn family(&self) -> Result<&'static Family> {
        kernels::family(&self.family)
            .ok_or_else(|| Error::Usage(format!("unknown family `{}`: see `host list`", self.family)))
    }
}
