//! Errors of the runtime API. Where the driver has an error of the same meaning, its number is the same.

use std::ffi::CStr;

/// An error, `cudaError_t`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Code(pub u32);

/// What every function returns.
pub type Answer<T = ()> = Result<T, Code>;

impl Code {
    /// `cudaErrorInvalidValue`.
    pub const INVALID_VALUE: Self = Self(1);
    /// `cudaErrorInvalidConfiguration`.
    pub const INVALID_CONFIGURATION: Self = Self(9);
    /// `cudaErrorInvalidPitchValue`.
    pub const INVALID_PITCH: Self = Self(12);
    /// `cudaErrorInvalidSymbol`.
    pub const INVALID_SYMBOL: Self = Self(13);
    /// `cudaErrorInvalidChannelDescriptor`.
    pub const INVALID_CHANNEL_DESCRIPTOR: Self = Self(20);
    /// `cudaErrorInvalidMemcpyDirection`.
    pub const INVALID_DIRECTION: Self = Self(21);
    /// `cudaErrorInsufficientDriver`.
    pub const INSUFFICIENT_DRIVER: Self = Self(35);
    /// `cudaErrorCallRequiresNewerDriver`.
    pub const NEWER_DRIVER: Self = Self(36);
    /// `cudaErrorMissingConfiguration`.
    pub const MISSING_CONFIGURATION: Self = Self(52);
    /// `cudaErrorInvalidDeviceFunction`.
    pub const INVALID_FUNCTION: Self = Self(98);
    /// `cudaErrorInvalidDevice`.
    pub const INVALID_DEVICE: Self = Self(101);
    /// `cudaErrorDeviceUninitialized`.
    pub const NO_CONTEXT: Self = Self(201);
    /// `cudaErrorInvalidResourceHandle`.
    pub const INVALID_HANDLE: Self = Self(400);
    /// `cudaErrorSymbolNotFound`.
    pub const NOT_FOUND: Self = Self(500);
    /// `cudaErrorNotSupported`.
    pub const NOT_SUPPORTED: Self = Self(801);
    /// `cudaErrorUnknown`.
    pub const UNKNOWN: Self = Self(999);

    /// Returns the result of a call of the driver.
    ///
    /// # Errors
    /// Any number but 0.
    pub fn check(code: u32) -> Answer {
        if code == 0 { Ok(()) } else { Err(Self(code)) }
    }

    /// Replaces one error by another.
    #[must_use]
    pub fn or(self, from: Self, to: Self) -> Self {
        if self == from { to } else { self }
    }
}

/// Numbers and names of all errors, as `driver_types.h` has them, a zero byte after each name.
const NAMES: &[(u32, &CStr)] = &include!("names.in");

/// Descriptions of the errors that the driver lacks.
const TEXTS: &[(u32, &CStr)] = &include!("texts.in");

/// The name of an error, for example `cudaErrorInvalidValue`.
pub fn name(code: u32) -> Option<&'static CStr> {
    NAMES.iter().find(|(known, _)| *known == code).map(|(_, name)| *name)
}

/// The description of an error that the driver lacks.
pub fn text(code: u32) -> Option<&'static CStr> {
    TEXTS.iter().find(|(known, _)| *known == code).map(|(_, text)| *text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_texts() {
        assert!(NAMES.windows(2).all(|pair| pair[0].0 < pair[1].0));
        assert_eq!(name(9), Some(c"cudaErrorInvalidConfiguration"));
        assert_eq!(name(11), None);
        assert!(TEXTS.iter().all(|(code, text)| name(*code).is_some() && !text.is_empty()));
    }
}
