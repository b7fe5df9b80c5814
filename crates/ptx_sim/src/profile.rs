//! Device profiles: limits of a multiprocessor, granularity of its allocations, and its speeds.
//!
//! Profiles are data: TOML files under `profiles/`, each with its sources. Users can write files of their own with the
//! same keys.

use crate::stop::Stop;
use serde::Deserialize;
use std::path::Path;

/// Properties of a device. [`Profile::default`] is an H200.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Profile {
    /// Name for messages and for [`Profile::named`], which ignores case, spaces and dashes.
    pub name: String,
    /// Compute capability, major and minor; written `"9.0"` in a file.
    #[serde(deserialize_with = "capability")]
    pub compute_capability: (u32, u32),
    /// Number of streaming multiprocessors, `%nsmid`.
    pub multiprocessors: u32,

    /// Maximum resident threads of a multiprocessor, a multiple of 32.
    pub threads_per_multiprocessor: u32,
    /// Maximum resident blocks of a multiprocessor.
    pub blocks_per_multiprocessor: u32,
    /// Maximum threads of a block.
    pub threads_per_block: u32,
    /// Granularity of warp allocation: registers are allocated to groups of this many warps.
    pub warp_unit: u32,

    /// 32-bit registers of a multiprocessor.
    pub registers_per_multiprocessor: u32,
    /// Maximum 32-bit registers of one block.
    pub registers_per_block: u32,
    /// Maximum 32-bit registers of one thread.
    pub registers_per_thread: u32,
    /// Allocation unit of registers.
    pub register_unit: u32,
    /// Granularity of register allocation: per warp or per block.
    pub register_allocation: RegisterAllocation,

    /// Shared memory of a multiprocessor in bytes.
    pub shared_per_multiprocessor: u64,
    /// Maximum shared memory of one block in bytes, with the opt-in for large dynamic shared memory.
    pub shared_per_block: u64,
    /// Shared memory in bytes that the system reserves in each block.
    pub shared_reserved: u64,
    /// Allocation unit of shared memory in bytes.
    pub shared_unit: u64,

    /// Maximum blocks of a cluster; 1 when the device has no clusters.
    pub cluster_blocks: u32,

    /// Highest clock of a multiprocessor in MHz; 0 when unknown, as for the following speeds.
    pub clock_mhz: u32,
    /// Bandwidth of device memory in 10^9 bytes per second.
    pub memory_gbps: f64,
    /// Size of the second-level cache in bytes.
    pub l2_bytes: u64,
    /// Single-precision throughput in 10^9 operations per second; a fused multiply-add counts as two.
    pub fp32_gflops: f64,
    /// Double-precision throughput in 10^9 operations per second.
    pub fp64_gflops: f64,

    /// Stack per thread in bytes.
    #[serde(default = "stack_bytes")]
    pub stack_bytes: u64,
}

/// Unit of work that registers are allocated to, with rounding up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum RegisterAllocation {
    /// Each warp, on compute capability 2.0 and later.
    Warp,
    /// Each block, on compute capability 1.x.
    Block,
}

/// The profiles that come with the crate; the first is the default.
const BUILT_IN: [&str; 7] = [
    include_str!("../profiles/h200.toml"),
    include_str!("../profiles/h100.toml"),
    include_str!("../profiles/a100.toml"),
    include_str!("../profiles/rtx-3050-laptop.toml"),
    include_str!("../profiles/g80.toml"),
    include_str!("../profiles/gt200.toml"),
    include_str!("../profiles/course.toml"),
];

impl Profile {
    /// Returns the profiles that come with the crate.
    pub fn built_in() -> impl Iterator<Item = Self> {
        BUILT_IN.iter().filter_map(|text| Self::from_toml(text).ok())
    }

    /// Returns the built-in profile with a name such as `H200` or `rtx-3050-laptop`.
    ///
    /// # Errors
    /// `unknown-profile` with the list of names.
    pub fn named(name: &str) -> Result<Self, Stop> {
        let plain = |name: &str| name.replace([' ', '-', '_'], "").to_ascii_lowercase();
        Self::built_in().find(|profile| plain(&profile.name) == plain(name)).ok_or_else(|| {
            let names: Vec<_> = Self::built_in().map(|profile| profile.name).collect();
            Stop::usage(
                "unknown-profile",
                format!("unknown device profile `{name}`; expected one of {}", names.join(", ")),
            )
            .with_help("or give the path of a TOML file with your own profile")
        })
    }

    /// Reads a profile from a TOML file with the same keys as the files under `profiles/`.
    ///
    /// # Errors
    /// `bad-profile` if the file cannot be read, a key is missing or unknown, or a number is out of range.
    pub fn from_file(path: &Path) -> Result<Self, Stop> {
        let wrong = |why: String| Stop::usage("bad-profile", format!("the profile {}: {why}", path.display()));
        let text = std::fs::read_to_string(path).map_err(|error| wrong(error.to_string()))?;
        Self::from_toml(&text).map_err(wrong)
    }

    /// Finds a built-in profile by name, or reads a file if the argument contains a `.` or a path separator.
    ///
    /// # Errors
    /// As [`Profile::named`] and [`Profile::from_file`].
    pub fn find(name_or_path: &str) -> Result<Self, Stop> {
        match Self::named(name_or_path) {
            Err(_) if name_or_path.contains(['.', '/', '\\']) => Self::from_file(Path::new(name_or_path)),
            found => found,
        }
    }

    /// Maximum resident warps of a multiprocessor.
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
                "threads, registers of a thread, multiprocessors and allocation units must be at most 65536".to_owned()
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
        // Parsed on every call: a machine is created rarely, and a test shows that the built-in profiles parse.
        Self::from_toml(BUILT_IN[0]).unwrap_or_else(|error| unreachable!("the first built-in profile: {error}"))
    }
}

/// The largest value that cudaLimitStackSize accepts.
fn stack_bytes() -> u64 {
    512 * 1024
}

fn capability<'d, D: serde::Deserializer<'d>>(deserializer: D) -> Result<(u32, u32), D::Error> {
    let text = String::deserialize(deserializer)?;
    let parts = text.split_once('.').and_then(|(major, minor)| Some((major.parse().ok()?, minor.parse().ok()?)));
    parts.ok_or_else(|| {
        serde::de::Error::custom(format!("`{text}` is not a compute capability; expected a form such as \"9.0\""))
    })
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
    fn errors_name_the_cause() {
        let unknown = Profile::find("H2000").expect_err("unknown").to_string();
        assert!(unknown.contains("A100"), "{unknown}");
        assert_eq!(Profile::find("./no/such.toml").expect_err("no file").code(), "bad-profile");
        let zero = BUILT_IN[0].replace("register_unit = 256", "register_unit = 0");
        assert!(Profile::from_toml(&zero).expect_err("zero").contains("register_unit"));
        let extra = format!("{}\nwraps = 3\n", BUILT_IN[0]);
        assert!(Profile::from_toml(&extra).expect_err("a typing error").contains("wraps"));
    }
}
