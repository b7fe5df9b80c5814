//! Names the library and the version of its symbols as programs ask for them.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    if std::env::var("CARGO_CFG_TARGET_OS").is_ok_and(|os| os == "linux") {
        // Programs require the symbols' version, which is the library's name. Only GNU ld gives it without a list of
        // versions, which would exclude the list of symbols that rustc passes.
        for argument in ["-fuse-ld=bfd", "-Wl,-soname,libcudart.so.12", "-Wl,--default-symver"] {
            println!("cargo:rustc-cdylib-link-arg={argument}");
        }
    }
}
