//! The loops of the benchmarks in C clients: numbered messages as fast as they go, and round trips. A
//! subscriber checks number and length of each message and stops at the first that is wrong.

use crate::objects::{self, check, Fault, Object};
use crate::request::Request;
use crate::transport::{fragment_handler, Image, Log};
use rusteron_archive::bindings::*;
use serde_json::{json, Value};
use std::ffi::{c_int, c_void};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering::Relaxed, Ordering::SeqCst};
use std::thread;
use std::time::{Duration, Instant};

const LIMIT: usize = 10; // fragments of a poll
const SETTLE: Duration = Duration::from_secs(5);
const PATIENCE: Duration = Duration::from_secs(10);

extern "C" {
    fn aeron_idle_strategy_backoff_state_init(
        state: *mut *mut c_void, max_spins: u64, max_yields: u64, min_park_ns: u64, max_park_ns: u64,
    ) -> c_int;
    fn aeron_idle_strategy_backoff_idle(state: *mut c_void, work_count: c_int);
}

/// The reference's idle strategy that backs off, with its usual limits.
struct Idle(*mut c_void);

impl Idle {
    fn new() -> Result<Idle, Fault> {
        let mut state = null_mut();
        check(unsafe { aeron_idle_strategy_backoff_state_init(&mut state, 10, 20, 1_000, 1_000_000) })?;
        Ok(Idle(state))
    }

    fn idle(&self, work: c_int) {
        unsafe { aeron_idle_strategy_backoff_idle(self.0, work) };
    }
}

/// What a thread works with; pointers go with it.
struct Sender(*mut aeron_exclusive_publication_t, Idle);
struct Receiver(*mut aeron_image_t, Idle);

unsafe impl Send for Sender {}
unsafe impl Send for Receiver {}

impl Sender {
    fn of(request: &Request, name: &str) -> Result<Sender, Fault> {
        match objects::publication(request.number(name, -1))?.log()? {
            Log::Exclusive(log) => Ok(Sender(log, Idle::new()?)),
            Log::Shared(_) => Err(Fault::usage(format!("{name} is shared"))),
        }
    }

    fn offer(&self, message: &[u8]) -> i64 {
        unsafe { aeron_exclusive_publication_offer(self.0, message.as_ptr(), message.len(), None, null_mut()) }
    }
}

impl Receiver {
    fn of(request: &Request, name: &str) -> Result<Receiver, Fault> {
        let Object::Image(Image { image, .. }) = objects::get(request.number(name, -1))? else {
            return Err(Fault::usage(format!("{name} is no image")));
        };
        Ok(Receiver(*image, Idle::new()?))
    }

    fn poll(&self, handler: aeron_fragment_handler_t, state: *mut c_void, limit: usize) -> c_int {
        unsafe { aeron_image_poll(self.0, handler, state, limit) }
    }
}

struct Expected {
    next: i64,
    length: usize,
    failed: bool,
}

unsafe extern "C" fn on_numbered(state: *mut c_void, data: *const u8, length: usize, _: *mut aeron_header_t) {
    let expected = &mut *state.cast::<Expected>();
    expected.failed |= length != expected.length || data.cast::<i64>().read_unaligned() != expected.next;
    expected.next += 1;
}

struct Echo {
    sender: Sender,
    stop: &'static AtomicBool,
}

unsafe extern "C" fn on_call(state: *mut c_void, data: *const u8, length: usize, _: *mut aeron_header_t) {
    let echo = &*state.cast::<Echo>();
    while !echo.stop.load(Relaxed)
        && aeron_exclusive_publication_offer(echo.sender.0, data, length, None, null_mut()) < 0
    {}
}

fn leaked<T>(value: T) -> &'static T {
    Box::leak(Box::new(value))
}

fn send(sender: &Sender, length: usize, count: &AtomicI64, stop: &AtomicBool) {
    let mut message = vec![0; length];
    let mut number = 0_i64;
    while !stop.load(Relaxed) {
        message[..8].copy_from_slice(&number.to_le_bytes());
        if sender.offer(&message) > 0 {
            number += 1;
            count.store(number, SeqCst);
            sender.1.idle(1);
        } else {
            sender.1.idle(0);
        }
    }
}

fn receive(receiver: &Receiver, length: usize, count: &AtomicI64, stop: &AtomicBool) -> bool {
    let mut expected = Expected { next: 0, length, failed: false };
    let state = std::ptr::from_mut(&mut expected).cast();
    let handler = fragment_handler(on_numbered);
    while !stop.load(Relaxed) && !expected.failed {
        receiver.1.idle(receiver.poll(handler, state, LIMIT));
        count.store(expected.next, SeqCst);
    }
    !expected.failed
}

/// {"publication", "image", "length", "intervals", "interval_ms"}: messages a second in each interval.
pub fn throughput(request: &Request) -> Result<Value, Fault> {
    let (sender, receiver) = (Sender::of(request, "publication")?, Receiver::of(request, "image")?);
    let length = request.number("length", 32) as usize;
    let [sent, received] = [(); 2].map(|()| leaked(AtomicI64::new(0)));
    let [end_of_sender, end_of_receiver] = [(); 2].map(|()| leaked(AtomicBool::new(false)));
    let to = thread::spawn(move || receive(&receiver, length, received, end_of_receiver));
    let from = thread::spawn(move || send(&sender, length, sent, end_of_sender));
    let mut rates = Vec::new();
    let (mut count, mut then) = (received.load(SeqCst), Instant::now());
    for _ in 0..request.number("intervals", 1) {
        thread::sleep(Duration::from_millis(request.number("interval_ms", 1000) as u64));
        let (before, since) = (count, then);
        (count, then) = (received.load(SeqCst), Instant::now());
        rates.push((count - before) as f64 / (then - since).as_secs_f64());
    }
    end_of_sender.store(true, SeqCst);
    from.join().expect("the sender's thread");
    let deadline = Instant::now() + SETTLE;
    while received.load(SeqCst) < sent.load(SeqCst) && Instant::now() < deadline {
        thread::sleep(Duration::from_millis(10));
    }
    end_of_receiver.store(true, SeqCst);
    let in_order = to.join().expect("the receiver's thread");
    Ok(json!({
        "rates": rates, "sent": sent.load(SeqCst), "received": received.load(SeqCst), "in_order": in_order,
    }))
}

/// {"ping", "there", "pong", "back", "length", "warm_up", "count"}: nanoseconds of each round trip.
pub fn round_trips(request: &Request) -> Result<Value, Fault> {
    let (ping, back) = (Sender::of(request, "ping")?, Receiver::of(request, "back")?);
    let there = Receiver::of(request, "there")?;
    let stop = leaked(AtomicBool::new(false));
    let echo = Echo { sender: Sender::of(request, "pong")?, stop };
    let other = thread::spawn(move || {
        let echo = echo;
        let there = there;
        let state = std::ptr::from_ref(&echo).cast_mut().cast();
        while !echo.stop.load(Relaxed) {
            there.poll(fragment_handler(on_call), state, LIMIT);
        }
    });
    let times = call(request, &ping, &back);
    stop.store(true, SeqCst);
    other.join().expect("the echo's thread");
    times.map(|times| json!(times))
}

fn call(request: &Request, ping: &Sender, back: &Receiver) -> Result<Vec<u64>, Fault> {
    let length = request.number("length", 32) as usize;
    let (warm_up, count) = (request.number("warm_up", 0), request.number("count", 1));
    let mut message = vec![0; length];
    let mut expected = Expected { next: 0, length, failed: false };
    let state = std::ptr::from_mut(&mut expected);
    let handler = fragment_handler(on_numbered);
    let mut times = Vec::with_capacity((warm_up + count) as usize);
    for number in 0..warm_up + count {
        message[..8].copy_from_slice(&number.to_le_bytes());
        let start = Instant::now();
        while ping.offer(&message) < 0 {
            if start.elapsed() > PATIENCE {
                return Err(Fault::timeout("a round trip"));
            }
        }
        while unsafe { (*state).next } == number {
            if back.poll(handler, state.cast(), 1) == 0 && start.elapsed() > PATIENCE {
                return Err(Fault::timeout("a round trip"));
            }
        }
        times.push(start.elapsed().as_nanos() as u64);
        if unsafe { (*state).failed } {
            return Err(Fault::usage(format!("round trip {number} is wrong")));
        }
    }
    Ok(times.split_off(warm_up as usize))
}
