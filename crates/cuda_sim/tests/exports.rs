//! The library exports every function that programs may link to or look up.

use std::path::PathBuf;

/// The shared library, which cargo builds beside the tests.
fn library() -> PathBuf {
    let test = std::env::current_exe().expect("this program");
    test.with_file_name("libcuda_sim.so")
}

#[test]
fn every_function_of_the_table_is_exported() {
    // SAFETY: its initialisers only set up the standard library.
    let library = unsafe { libloading::Library::new(library()) }.expect("the library is built with its tests");
    let symbols: Vec<&str> =
        include_str!("../src/functions.txt").lines().filter_map(|line| line.split(' ').nth(2)).collect();
    assert!(symbols.len() > 600);
    let is_missing = |symbol: &&&str| {
        // SAFETY: the symbol is only looked up.
        unsafe { library.get::<*const ()>(symbol.as_bytes()) }.is_err()
    };
    let missing: Vec<&&str> = symbols.iter().filter(is_missing).collect();
    assert!(missing.is_empty(), "not exported: {missing:?}");
}
