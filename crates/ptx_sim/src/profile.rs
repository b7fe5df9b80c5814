//! What a device has: limits of a multiprocessor, how it hands out registers and shared memory, how fast it is.
//!
//! Profiles are data: TOML files under `profiles/`, each with its sources, and files of a user's own with the same
//! keys.

use crate::stop::Stop;
use serde::Deserialize;
use std::path::Path;

/// A device. [`Profile::default`] is an H200.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Profile {
    /// For messages, and what [`Profile::named`] finds it by: case, spaces and dashes don't matter.
    pub name: String,
    /// Major and minor; `"9.0"` in a file.
    #[serde(deserialize_with = "capability")]
    pub compute_capability: (u32, u32),
    /// Streaming multiprocessors, `%nsmid`.
    pub multiprocessors: u32,

    /// Resident threads of a multiprocessor, a multiple of 32.
    pub threads_per_multiprocessor: u32,
    /// Resident blocks of a multiprocessor.
    pub blocks_per_multiprocessor: u32,
    /// Threads of a block.
    pub threads_per_block: u32,
    /// Warps are given registers in groups of so many.
    pub warp_unit: u32,

    /// 32-bit registers of a multiprocessor.
    pub registers_per_multiprocessor: u32,
    /// 32-bit registers that one block can have.
    pub registers_per_block: u32,
    /// 32-bit registers that one thread can have.
    pub registers_per_thread: u32,
    /// Registers are handed out in multiples of this.
    pub register_unit: u32,
    /// To whom.
    pub register_allocation: RegisterAllocation,

    /// Bytes of shared memory of a multiprocessor.
    pub shared_per_multiprocessor: u64,
    /// Bytes of shared memory that one block can have, when the launch asks for it.
    pub shared_per_block: u64,
    /// Bytes of shared memory that the system takes of each block.
    pub shared_reserved: u64,
    /// Shared memory is handed out in multiples of so many bytes.
    pub shared_unit: u64,

    /// Blocks of the largest cluster; 1 when the device has no clusters.
    pub cluster_blocks: u32,

    /// Highest clock of a multiprocessor in MHz; 0 when unknown, as all that follow.
    pub clock_mhz: u32,
    /// Bandwidth of the device's memory in 10^9 bytes per second.
    pub memory_gbps: f64,
    /// Bytes of the second-level cache.
    pub l2_bytes: u64,
    /// 10^9 single-precision operations per second, a fused multiply-add as two.
    pub fp32_gflops: f64,
    /// The same in double precision.
    pub fp64_gflops: f64,

    /// Bytes of stack per thread.
    #[serde(default = "stack_bytes")]
    pub stack_bytes: u64,
}

/// Who registers are rounded up for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RegisterAllocation {
    /// Each warp; compute capability 2.0 and later.
    Warp,
    /// Each block; compute capability 1.x.
    Block,
}

/// The files that come with the crate, the default first.
const BUILT_IN: [&str; 6] = [
    include_str!("../profiles/h200.toml"),
    include_str!("../profiles/a100.toml"),
    include_str!("../profiles/rtx-3050-laptop.toml"),
    include_str!("../profiles/g80.toml"),
    include_str!("../profiles/gt200.toml"),
    include_str!("../profiles/course.toml"),
];

impl Profile {
    /// The profiles that come with the crate.
    pub fn built_in() -> impl Iterator<Item = Self> {
        BUILT_IN.iter().filter_map(|text| Self::from_toml(text).ok())
    }

    /// The built-in profile of a name such as `H200` or `rtx-3050-laptop`.
    ///
    /// # Errors
    /// A usage stop that lists the names.
    pub fn named(name: &str) -> Result<Self, Stop> {
        let plain = |name: &str| name.replace([' ', '-', '_'], "").to_ascii_lowercase();
        Self::built_in().find(|profile| plain(&profile.name) == plain(name)).ok_or_else(|| {
            let names: Vec<_> = Self::built_in().map(|profile| profile.name).collect();
            Stop::usage("unknown-profile", format!("no device profile `{name}`; there are {}", names.join(", ")))
                .with_help("or name a TOML file with a profile of your own")
        })
    }

    /// A profile of a user's own: a TOML file with the keys of those under `profiles/`.
    ///
    /// # Errors
    /// A usage stop: the file can't be read, a key is missing or unknown, or a number makes no sense.
    pub fn from_file(path: &Path) -> Result<Self, Stop> {
        let wrong = |why: String| Stop::usage("bad-profile", format!("the profile {}: {why}", path.display()));
        let text = std::fs::read_to_string(path).map_err(|error| wrong(error.to_string()))?;
        Self::from_toml(&text).map_err(wrong)
    }

    /// A built-in name, or else the path of a file (with a `.` or a separator in it).
    ///
    /// # Errors
    /// As [`Profile::named`] and [`Profile::from_file`].
    pub fn find(name_or_path: &str) -> Result<Self, Stop> {
        match Self::named(name_or_path) {
            Err(_) if name_or_path.contains(['.', '/', '\\']) => Self::from_file(Path::new(name_or_path)),
            found => found,
        }
    }

    /// Warps that a multiprocessor holds.
    pub fn warps_per_multiprocessor(&self) -> u32 {
        self.threads_per_multiprocessor / 32
    }

    fn from_toml(text: &str) -> Result<Self, String> {
        let profile: Self = toml::from_str(text).map_err(|error| error.to_string())?;
        let not_zero = [
            ("multiprocessors", u64::from(profile.multiprocessors)),
            ("threads_per_multiprocessor", u64::from(profile.threads_per_multiprocessor / 32)),
            ("blocks_per_multiprocessor", u64::from(profile.blocks_per_multiprocessor)),
            ("threads_per_block", u64::from(profile.threads_per_block)),
            ("warp_unit", u64::from(profile.warp_unit)),
            ("registers_per_multiprocessor", u64::from(profile.registers_per_multiprocessor)),
            ("register_unit", u64::from(profile.register_unit)),
            ("shared_unit", profile.shared_unit),
            ("cluster_blocks", u64::from(profile.cluster_blocks)),
        ];
        if let Some((key, _)) = not_zero.iter().find(|(_, value)| *value == 0) {
            return Err(format!("`{key}` is too small"));
        }
        let too_many = |count: u32| count > 1 << 16;
        let registers =
            [profile.registers_per_thread, profile.register_unit, profile.warp_unit, profile.multiprocessors];
        if registers.into_iter().any(too_many) || too_many(profile.threads_per_multiprocessor) {
            return Err(
                "there are at most 65536 threads, registers of a thread, multiprocessors, and in a unit".to_owned()
            );
        }
        if profile.threads_per_block > 1024 || profile.cluster_blocks > 16 {
            return Err("a block has at most 1024 threads, and a cluster at most 16 blocks".to_owned());
        }
        if profile.shared_per_block > 1 << 24 || profile.stack_bytes > 1 << 30 {
            return Err("a block has at most 16 MiB of shared memory, and a thread at most 1 GiB of stack".to_owned());
        }
        Ok(profile)
    }
}

impl Default for Profile {
    fn default() -> Self {
        // Parsed again for every call: a machine is made once, and a test makes sure that it can't fail.
        Self::from_toml(BUILT_IN[0]).unwrap_or_else(|error| unreachable!("the first built-in profile: {error}"))
    }
}

/// The most that cudaLimitStackSize accepts.
fn stack_bytes() -> u64 {
    512 * 1024
}

fn capability<'d, D: serde::Deserializer<'d>>(deserializer: D) -> Result<(u32, u32), D::Error> {
    let text = String::deserialize(deserializer)?;
    let parts = text.split_once('.').and_then(|(major, minor)| Some((major.parse().ok()?, minor.parse().ok()?)));
    parts.ok_or_else(|| serde::de::Error::custom(format!("`{text}` is no compute capability such as \"9.0\"")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn built_in_profiles_are_complete() {
        for text in BUILT_IN {
            let profile = Profile::from_toml(text).expect("a profile");
            assert_eq!(Profile::named(&profile.name).expect("by name"), profile);
            assert!(profile.shared_per_block <= profile.shared_per_multiprocessor);
            assert!(profile.threads_per_block <= profile.threads_per_multiprocessor);
        }
        assert_eq!(Profile::default().name, "H200");
        assert_eq!(Profile::find("rtx-3050-laptop").expect("found").compute_capability, (8, 6));
    }

    #[test]
    fn what_is_wrong_is_said() {
        let unknown = Profile::find("H2000").expect_err("unknown").to_string();
        assert!(unknown.contains("A100"), "{unknown}");
        assert_eq!(Profile::find("./no/such.toml").expect_err("no file").code(), "bad-profile");
        let zero = BUILT_IN[0].replace("register_unit = 256", "register_unit = 0");
        assert!(Profile::from_toml(&zero).expect_err("zero").contains("register_unit"));
        let extra = format!("{}\nwraps = 3\n", BUILT_IN[0]);
        assert!(Profile::from_toml(&extra).expect_err("a typing error").contains("wraps"));
    }
}
