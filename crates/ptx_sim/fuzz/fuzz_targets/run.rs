//! Runs arbitrary text: PTX runs to its end or to a stop, twice with the same outcome.
#![no_main]

libfuzzer_sys::fuzz_target!(|text: &str| ptx_sim_fuzz::run(text));
