//! The reference's C driver, configured by `AERON_*`. It says that it is ready, and ends with its input.

use rusteron_media_driver::bindings::*;
use std::ffi::CStr;
use std::io::Read;
use std::process::exit;
use std::ptr::null_mut;

/// Ends the process with the driver's own words when a call failed.
fn check(result: i32) {
    if result < 0 {
        let message = unsafe { CStr::from_ptr(aeron_errmsg()) };
        eprintln!("{}", message.to_string_lossy());
        exit(1);
    }
}

fn main() {
    let mut context = null_mut();
    let mut driver = null_mut();
    unsafe {
        check(aeron_driver_context_init(&mut context));
        check(aeron_driver_init(&mut driver, context));
        check(aeron_driver_start(driver, false));
    }
    println!("ready");
    let _ = std::io::stdin().read_to_end(&mut Vec::new());
    unsafe {
        check(aeron_driver_close(driver));
        check(aeron_driver_context_close(context));
    }
}
