//! Any text: what is PTX runs to its end or to a stop, twice the same.
#![no_main]

libfuzzer_sys::fuzz_target!(|text: &str| ptx_sim_fuzz::run(text));
