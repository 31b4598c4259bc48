//! The programs find the libraries beside them.

fn main() {
    println!("cargo:rustc-link-arg=-Wl,-rpath,$ORIGIN");
}
