//! Parses arbitrary bytes: the result is a program, or an error with its position.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| ptx_sim_fuzz::parse(&String::from_utf8_lossy(bytes)));
