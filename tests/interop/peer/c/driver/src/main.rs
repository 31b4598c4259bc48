//! The reference's C driver, configured by `AERON_*`. It says that it is ready, and ends with its input.
//! Its first agent runs on the main thread, as under `aeronmd`, so that any threading mode will do.

use rusteron_media_driver::bindings::*;
use std::ffi::CStr;
use std::io::Read;
use std::process::exit;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};

static ENDED: AtomicBool = AtomicBool::new(false);

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
        check(aeron_driver_start(driver, true));
    }
    println!("ready");
    std::thread::spawn(|| {
        let _ = std::io::stdin().read_to_end(&mut Vec::new());
        ENDED.store(true, SeqCst);
    });
    while !ENDED.load(SeqCst) {
        unsafe { aeron_driver_main_idle_strategy(driver, aeron_driver_main_do_work(driver)) };
    }
    unsafe {
        check(aeron_driver_close(driver));
        check(aeron_driver_context_close(context));
    }
}
