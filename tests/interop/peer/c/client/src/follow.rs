//! A persistent subscription that runs on a thread of its own and checks every message.

use crate::archive;
use crate::calls::Found;
use crate::objects::{add, check, Fault, Object};
use crate::request::{c_text, Request};
use crate::transport::fragment_handler;
use rusteron_archive::bindings::*;
use serde_json::{json, Value};
use std::ffi::{c_char, c_int, c_void, CStr};
use std::ptr::{null_mut, slice_from_raw_parts};
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering::SeqCst};
use std::sync::Mutex;
use std::time::Duration;

const HEAD: usize = 12; // number and checksum of a message

/// What the subscription has seen; asked for from other threads.
pub struct Following {
    next: AtomicI64,
    count: AtomicI64,
    position: AtomicI64,
    wrong: Mutex<String>,
    error: Mutex<String>,
    events: Mutex<Vec<String>>,
    live: AtomicBool,
    told_to_end: AtomicBool,
    ended: AtomicBool,
}

impl Following {
    pub fn call(&self, method: &str) -> Found {
        Ok(Some(match method {
            "nextNumber" => json!(self.next.load(SeqCst)),
            "count" => json!(self.count.load(SeqCst)),
            "position" => json!(self.position.load(SeqCst)),
            "wrong" => json!(*self.wrong.lock().unwrap()),
            "error" => json!(*self.error.lock().unwrap()),
            "events" => json!(*self.events.lock().unwrap()),
            "isLive" => json!(self.live.load(SeqCst)),
            "end" => {
                self.told_to_end.store(true, SeqCst);
                while !self.ended.load(SeqCst) {
                    std::thread::sleep(Duration::from_millis(1));
                }
                Value::Null
            }
            _ => return Ok(None),
        }))
    }

    fn take(&self, data: &[u8], position: i64) {
        let number = i64::from_le_bytes(data[..8].try_into().unwrap());
        let stated = u32::from_le_bytes(data[8..HEAD].try_into().unwrap());
        let due = self.next.load(SeqCst);
        let mut wrong = self.wrong.lock().unwrap();
        if wrong.is_empty() && stated != crc32(data[..8].iter().chain(&data[HEAD..])) {
            *wrong = format!("message {number} is damaged");
        } else if wrong.is_empty() && due >= 0 && due != number {
            *wrong = format!("{number} came when {due} was due");
        }
        self.next.store(number + 1, SeqCst);
        self.count.fetch_add(1, SeqCst);
        self.position.store(position, SeqCst);
    }
}

/// The CRC-32 of zlib, bit by bit: the messages of tests are small.
fn crc32<'a>(bytes: impl Iterator<Item = &'a u8>) -> u32 {
    !bytes.fold(u32::MAX, |crc, &byte| {
        (0..8).fold(crc ^ u32::from(byte), |c, _| if c & 1 == 1 { 0xEDB8_8320 ^ (c >> 1) } else { c >> 1 })
    })
}

unsafe fn of(state: *mut c_void) -> &'static Following {
    &*state.cast::<Following>()
}

unsafe extern "C" fn on_message(state: *mut c_void, data: *const u8, length: usize, header: *mut aeron_header_t) {
    of(state).take(&*slice_from_raw_parts(data, length), aeron_header_position(header));
}

unsafe extern "C" fn on_joined(state: *mut c_void) {
    of(state).events.lock().unwrap().push("joined".into());
}

unsafe extern "C" fn on_left(state: *mut c_void) {
    of(state).events.lock().unwrap().push("left".into());
}

unsafe extern "C" fn on_error(state: *mut c_void, _: c_int, message: *const c_char) {
    let message = CStr::from_ptr(message).to_string_lossy().into_owned();
    of(state).events.lock().unwrap().push(message);
}

/// {"dir", channels, streams, "recording_id", "start_position"}: a running persistent subscription.
pub fn follow(request: &Request) -> Result<Value, Fault> {
    let following: &'static Following = Box::leak(Box::new(Following {
        next: AtomicI64::new(-1),
        count: AtomicI64::new(0),
        position: AtomicI64::new(-1),
        wrong: Mutex::default(),
        error: Mutex::default(),
        events: Mutex::default(),
        live: AtomicBool::new(false),
        told_to_end: AtomicBool::new(false),
        ended: AtomicBool::new(false),
    }));
    let state: *mut c_void = std::ptr::from_ref(following).cast_mut().cast();
    let listener = aeron_archive_persistent_subscription_listener_t {
        on_live_joined: Some(on_joined),
        on_live_left: Some(on_left),
        on_error: Some(on_error),
        clientd: state,
    };
    let archive = archive::context(request)?;
    let (dir, live) = (c_text(request.text("dir"))?, c_text(request.text("live_channel"))?);
    let replay = c_text(request.text("replay_channel"))?;
    let mut context = null_mut();
    let mut subscription = null_mut();
    unsafe {
        use aeron_archive_persistent_subscription_context_set_replay_channel as set_replay_channel;
        use aeron_archive_persistent_subscription_context_set_replay_stream_id as set_replay_stream;
        let start = request.number("start_position", -1);
        let stream = |name, default| request.number(name, default) as i32;
        check(aeron_archive_persistent_subscription_context_init(&mut context))?;
        check(aeron_archive_persistent_subscription_context_set_aeron_directory_name(context, dir.as_ptr()))?;
        check(aeron_archive_persistent_subscription_context_set_archive_context(context, archive))?;
        check(aeron_archive_persistent_subscription_context_set_recording_id(
            context,
            request.number("recording_id", -1),
        ))?;
        check(aeron_archive_persistent_subscription_context_set_start_position(context, start))?;
        check(aeron_archive_persistent_subscription_context_set_live_channel(context, live.as_ptr()))?;
        check(aeron_archive_persistent_subscription_context_set_live_stream_id(context, stream("live_stream", 0)))?;
        check(set_replay_channel(context, replay.as_ptr()))?;
        check(set_replay_stream(context, stream("replay_stream", 40)))?;
        check(aeron_archive_persistent_subscription_context_set_listener(context, &listener))?;
        check(aeron_archive_persistent_subscription_create(&mut subscription, context))?;
    }
    let address = subscription as usize; // The thread alone uses it from here on.
    std::thread::spawn(move || {
        run(address as *mut aeron_archive_persistent_subscription_t, following);
        following.ended.store(true, SeqCst);
    });
    Ok(add(Object::Following(following)))
}

fn run(subscription: *mut aeron_archive_persistent_subscription_t, following: &'static Following) {
    let state: *mut c_void = std::ptr::from_ref(following).cast_mut().cast();
    let handler = fragment_handler(on_message);
    while !following.told_to_end.load(SeqCst) {
        let work = unsafe { aeron_archive_persistent_subscription_poll(subscription, handler, state, 64) };
        following.live.store(unsafe { aeron_archive_persistent_subscription_is_live(subscription) }, SeqCst);
        if unsafe { aeron_archive_persistent_subscription_has_failed(subscription) } {
            let (mut code, mut reason) = (0, std::ptr::null());
            unsafe {
                aeron_archive_persistent_subscription_failure_reason(subscription, &mut code, &mut reason);
                *following.error.lock().unwrap() = CStr::from_ptr(reason).to_string_lossy().into_owned();
            }
            break;
        }
        if work <= 0 {
            std::thread::sleep(Duration::from_micros(200));
        }
    }
    unsafe { aeron_archive_persistent_subscription_close(subscription) };
}
