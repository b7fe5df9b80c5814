//! Source files that line tables name: the compiler's record of each, and the file that holds its text now.
//!
//! `cuda_builder` writes a comment after each `.file`, such as `// md5 0123… in /home/me/project`: the hash of the text
//! that was compiled, and the folder that a relative name starts from. A file with another hash is not shown, so that
//! a report never quotes a line that was not compiled. PTX of other compilers has no hashes; its names are used as they
//! are.

mod find;
mod opened;
mod recorded;

pub use find::Unavailable;
pub(crate) use opened::{Files, Opened};
pub use recorded::Recorded;
pub(crate) use recorded::unescape;
