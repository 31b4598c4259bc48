//! Clients, publications, subscriptions and counters, and the requests on them that need a loop or
//! a callback.

use crate::objects::{self, add, check, Fault, Object};
use crate::request::{c_text, hex, unhex, Request};
use rusteron_archive::bindings::*;
use serde_json::{json, Value};
use std::ffi::{c_char, c_int, c_void, CStr};
use std::ptr::{null_mut, slice_from_raw_parts};
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicPtr, Ordering::SeqCst};
use std::sync::Mutex;
use std::time::{Duration, Instant};

const PATIENCE: Duration = Duration::from_secs(30);

/// A client with a conductor thread of its own, and what its handlers saw.
pub struct Client {
    pub aeron: AtomicPtr<aeron_t>,
    pub closed: AtomicBool,
    pub events: Mutex<Vec<Value>>,
}

impl Client {
    pub fn pointer(&self) -> Result<*mut aeron_t, Fault> {
        if self.closed.load(SeqCst) {
            return Err(Fault::closed("the client"));
        }
        Ok(self.aeron.load(SeqCst))
    }

    pub fn see(&self, event: Value) {
        self.events.lock().unwrap().push(event);
    }

    pub fn close(&self) -> Result<(), Fault> {
        if !self.closed.swap(true, SeqCst) {
            check(unsafe { aeron_close(self.aeron.load(SeqCst)) })?;
        }
        Ok(())
    }
}

#[derive(Clone, Copy)]
pub enum Log {
    Shared(*mut aeron_publication_t),
    Exclusive(*mut aeron_exclusive_publication_t),
}

pub struct Publication {
    pub client: &'static Client,
    log: Log,
    closed: AtomicBool,
}

unsafe impl Sync for Publication {}
unsafe impl Send for Publication {}

/// Calls the function for a shared or the one for an exclusive publication.
macro_rules! by_kind {
    ($log:expr, $shared:ident, $exclusive:ident $(, $argument:expr)*) => {
        match $log {
            Log::Shared(log) => unsafe { $shared(log $(, $argument)*) },
            Log::Exclusive(log) => unsafe { $exclusive(log $(, $argument)*) },
        }
    };
}

impl Publication {
    pub fn new(client: &'static Client, log: Log) -> &'static Publication {
        Box::leak(Box::new(Publication { client, log, closed: AtomicBool::new(false) }))
    }

    pub fn is_exclusive(&self) -> bool {
        matches!(self.log, Log::Exclusive(_))
    }

    pub fn is_closed(&self) -> bool {
        self.closed.load(SeqCst) || self.client.closed.load(SeqCst)
    }

    pub fn log(&self) -> Result<Log, Fault> {
        if self.is_closed() { Err(Fault::closed("the publication")) } else { Ok(self.log) }
    }

    pub fn constants(&self) -> Result<aeron_publication_constants_t, Fault> {
        let mut constants = aeron_publication_constants_t::default();
        check(by_kind!(
            self.log()?,
            aeron_publication_constants,
            aeron_exclusive_publication_constants,
            &mut constants
        ))?;
        Ok(constants)
    }

    pub fn position(&self) -> Result<i64, Fault> {
        Ok(by_kind!(self.log()?, aeron_publication_position, aeron_exclusive_publication_position))
    }

    pub fn position_limit(&self) -> Result<i64, Fault> {
        Ok(by_kind!(
            self.log()?,
            aeron_publication_position_limit,
            aeron_exclusive_publication_position_limit
        ))
    }

    pub fn is_connected(&self) -> Result<bool, Fault> {
        Ok(by_kind!(
            self.log()?,
            aeron_publication_is_connected,
            aeron_exclusive_publication_is_connected
        ))
    }

    pub fn close(&self) -> Result<(), Fault> {
        if self.is_closed() {
            return Ok(());
        }
        self.closed.store(true, SeqCst);
        let gone = AtomicBool::new(false);
        check(by_kind!(
            self.log,
            aeron_publication_close,
            aeron_exclusive_publication_close,
            Some(set_flag),
            std::ptr::from_ref(&gone).cast_mut().cast()
        ))?;
        await_flag(&gone, "the close of a publication")
    }

    /// Ends the stream at once; the C client can do that with an exclusive publication only.
    pub fn revoke(&self) -> Result<(), Fault> {
        let Log::Exclusive(log) = self.log()? else {
            return Err(Fault::usage("only an exclusive publication can be revoked".into()));
        };
        self.closed.store(true, SeqCst);
        let gone = AtomicBool::new(false);
        let flag = std::ptr::from_ref(&gone).cast_mut().cast();
        check(unsafe { aeron_exclusive_publication_revoke(log, Some(set_flag), flag) })?;
        await_flag(&gone, "the end of a publication")
    }

    /// Adds or removes a destination and waits until the driver has done so.
    pub fn destination(&self, channel: &str, is_added: bool) -> Result<i64, Fault> {
        let channel = c_text(channel)?;
        let client = self.client.pointer()?;
        let mut request = null_mut();
        check(match (self.log()?, is_added) {
            (Log::Shared(log), true) => unsafe {
                aeron_publication_async_add_destination(&mut request, client, log, channel.as_ptr())
            },
            (Log::Shared(log), false) => unsafe {
                aeron_publication_async_remove_destination(&mut request, client, log, channel.as_ptr())
            },
            (Log::Exclusive(log), true) => unsafe {
                aeron_exclusive_publication_async_add_destination(&mut request, client, log, channel.as_ptr())
            },
            (Log::Exclusive(log), false) => unsafe {
                aeron_exclusive_publication_async_remove_destination(&mut request, client, log, channel.as_ptr())
            },
        })?;
        let id = unsafe { aeron_async_destination_get_registration_id(request) };
        await_done("a destination", || unsafe { aeron_publication_async_destination_poll(request) })?;
        Ok(id)
    }

    fn offer(&self, message: &[u8], reserved_value: i64) -> Result<i64, Fault> {
        let value: *mut c_void = std::ptr::from_ref(&reserved_value).cast_mut().cast();
        Ok(by_kind!(
            self.log()?,
            aeron_publication_offer,
            aeron_exclusive_publication_offer,
            message.as_ptr(),
            message.len(),
            Some(give_reserved_value),
            value
        ))
    }

    fn claim(&self, message: &[u8], is_aborted: bool) -> Result<i64, Fault> {
        let mut claim = aeron_buffer_claim_t::default();
        let position = by_kind!(
            self.log()?,
            aeron_publication_try_claim,
            aeron_exclusive_publication_try_claim,
            message.len(),
            &mut claim
        );
        if position > 0 {
            unsafe { claim.data.copy_from(message.as_ptr(), message.len()) };
            check(if is_aborted {
                unsafe { aeron_buffer_claim_abort(&mut claim) }
            } else {
                unsafe { aeron_buffer_claim_commit(&mut claim) }
            })?;
        }
        Ok(position)
    }
}

/// A subscription; `left` once an image of it has gone.
pub struct Subscription {
    pub client: &'static Client,
    subscription: AtomicPtr<aeron_subscription_t>,
    registration_id: AtomicI64,
    left: AtomicBool,
    closed: AtomicBool,
}

impl Subscription {
    /// Of a subscription that exists, or of none yet.
    pub fn new(client: &'static Client, pointer: *mut aeron_subscription_t) -> &'static Subscription {
        Box::leak(Box::new(Subscription {
            client,
            subscription: AtomicPtr::new(pointer),
            registration_id: AtomicI64::new(-1),
            left: AtomicBool::new(false),
            closed: AtomicBool::new(false),
        }))
    }

    pub fn is_closed(&self) -> bool {
        self.closed.load(SeqCst) || self.client.closed.load(SeqCst)
    }

    pub fn pointer(&self) -> Result<*mut aeron_subscription_t, Fault> {
        if self.is_closed() {
            return Err(Fault::closed("the subscription"));
        }
        Ok(self.subscription.load(SeqCst))
    }

    pub fn constants(&self) -> Result<aeron_subscription_constants_t, Fault> {
        let mut constants: aeron_subscription_constants_t = unsafe { std::mem::zeroed() };
        check(unsafe { aeron_subscription_constants(self.pointer()?, &mut constants) })?;
        Ok(constants)
    }

    pub fn images(&self) -> Result<Vec<&'static Image>, Fault> {
        let pointer = self.pointer()?;
        let mut found = Vec::new();
        for index in 0.. {
            let image = unsafe { aeron_subscription_image_at_index(pointer, index) };
            if image.is_null() {
                break;
            }
            found.push(&*Box::leak(Box::new(Image { image, client: self.client })));
        }
        Ok(found)
    }

    pub fn destination(&self, channel: &str, is_added: bool) -> Result<(), Fault> {
        let (client, subscription) = (self.client.pointer()?, self.pointer()?);
        let channel = c_text(channel)?;
        let mut request = null_mut();
        check(unsafe {
            if is_added {
                aeron_subscription_async_add_destination(&mut request, client, subscription, channel.as_ptr())
            } else {
                aeron_subscription_async_remove_destination(&mut request, client, subscription, channel.as_ptr())
            }
        })?;
        await_done("a destination", || unsafe { aeron_subscription_async_destination_poll(request) })
    }

    pub fn close(&self) -> Result<(), Fault> {
        if self.is_closed() {
            return Ok(());
        }
        let pointer = self.pointer()?;
        self.closed.store(true, SeqCst);
        let gone = AtomicBool::new(false);
        let flag = std::ptr::from_ref(&gone).cast_mut().cast();
        check(unsafe { aeron_subscription_close(pointer, Some(set_flag), flag) })?;
        await_flag(&gone, "the close of a subscription")
    }
}

/// An image that the peer holds on to, so that it can be asked after it has gone.
pub struct Image {
    pub image: *mut aeron_image_t,
    client: &'static Client,
}

unsafe impl Sync for Image {}

impl Image {
    pub fn constants(&self) -> Result<aeron_image_constants_t, Fault> {
        self.client.pointer()?;
        image_constants(self.image)
    }
}

fn image_constants(image: *mut aeron_image_t) -> Result<aeron_image_constants_t, Fault> {
    let mut constants: aeron_image_constants_t = unsafe { std::mem::zeroed() };
    check(unsafe { aeron_image_constants(image, &mut constants) })?;
    Ok(constants)
}

pub struct Counter {
    pub client: &'static Client,
    pub counter: *mut aeron_counter_t,
}

unsafe impl Sync for Counter {}

unsafe extern "C" fn set_flag(flag: *mut c_void) {
    (*flag.cast::<AtomicBool>()).store(true, SeqCst);
}

unsafe extern "C" fn give_reserved_value(value: *mut c_void, _: *mut u8, _: usize) -> i64 {
    *value.cast::<i64>()
}

/// Waits for a conductor's callback; without it the flag must stay where it is, so the peer ends.
fn await_flag(flag: &AtomicBool, what: &str) -> Result<(), Fault> {
    let deadline = Instant::now() + PATIENCE;
    while !flag.load(SeqCst) {
        assert!(Instant::now() < deadline, "no word of {what}");
        std::thread::yield_now();
    }
    Ok(())
}

/// Polls what was asked of the driver until it is done.
fn await_done(what: &str, mut poll: impl FnMut() -> c_int) -> Result<(), Fault> {
    let deadline = Instant::now() + PATIENCE;
    while check(poll())? == 0 {
        if Instant::now() > deadline {
            return Err(Fault::timeout(what));
        }
        std::thread::yield_now();
    }
    Ok(())
}

pub fn connect(request: &Request) -> Result<Value, Fault> {
    let client: &'static Client = Box::leak(Box::new(Client {
        aeron: AtomicPtr::new(null_mut()),
        closed: AtomicBool::new(false),
        events: Mutex::default(),
    }));
    let seen: *mut c_void = std::ptr::from_ref(client).cast_mut().cast();
    let mut context = null_mut();
    let mut aeron = null_mut();
    let (dir, name) = (c_text(request.text("dir"))?, c_text(request.text("name"))?);
    unsafe {
        check(aeron_context_init(&mut context))?;
        check(aeron_context_set_dir(context, dir.as_ptr()))?;
        check(aeron_context_set_client_name(context, name.as_ptr()))?;
        let timeout = request.number("driver_timeout_ms", 30_000) as u64;
        check(aeron_context_set_driver_timeout_ms(context, timeout))?;
        let keepalive = request.number("keepalive_ms", 500) as u64 * 1_000_000;
        check(aeron_context_set_keepalive_interval_ns(context, keepalive))?;
        check(aeron_context_set_error_handler(context, Some(on_error), seen))?;
        check(aeron_context_set_publication_error_frame_handler(context, Some(on_error_frame), seen))?;
        check(aeron_context_set_on_available_counter(context, Some(on_counter), seen))?;
        check(aeron_context_set_on_unavailable_counter(context, Some(on_counter_gone), seen))?;
        check(aeron_context_set_on_close_client(context, Some(on_close), seen))?;
        check(aeron_init(&mut aeron, context))?;
        check(aeron_start(aeron))?;
    }
    client.aeron.store(aeron, SeqCst);
    let mut answer = add(Object::Client(client));
    answer["clientId"] = json!(unsafe { aeron_client_id(aeron) });
    Ok(answer)
}

unsafe fn client_of(seen: *mut c_void) -> &'static Client {
    &*seen.cast::<Client>()
}

unsafe extern "C" fn on_error(seen: *mut c_void, code: c_int, message: *const c_char) {
    let message = CStr::from_ptr(message).to_string_lossy();
    client_of(seen).see(json!({"event": "error", "class": "AeronException", "code": code, "message": message}));
}

unsafe extern "C" fn on_error_frame(seen: *mut c_void, frame: *mut aeron_publication_error_values_t) {
    let frame = &*frame;
    let (registration, session, code) = (frame.registration_id, frame.session_id, frame.error_code);
    let text = slice_from_raw_parts(frame.error_message.as_ptr(), frame.error_message_length as usize);
    client_of(seen).see(json!({
        "event": "publication_error", "registrationId": registration, "sessionId": session,
        "errorCode": code, "message": String::from_utf8_lossy(&*text),
    }));
}

unsafe extern "C" fn on_counter(seen: *mut c_void, _: *mut aeron_counters_reader_t, registration: i64, id: i32) {
    client_of(seen).see(json!({"event": "available_counter", "registrationId": registration, "id": id}));
}

unsafe extern "C" fn on_counter_gone(seen: *mut c_void, _: *mut aeron_counters_reader_t, registration: i64, id: i32) {
    client_of(seen).see(json!({"event": "unavailable_counter", "registrationId": registration, "id": id}));
}

unsafe extern "C" fn on_close(seen: *mut c_void) {
    client_of(seen).see(json!({"event": "closed"}));
}

unsafe fn image_event(kind: &str, subscription: &Subscription, image: *mut aeron_image_t) {
    let Ok(constants) = image_constants(image) else { return };
    let source = CStr::from_ptr(constants.source_identity).to_string_lossy();
    subscription.client.see(json!({
        "event": kind, "sessionId": constants.session_id, "correlationId": constants.correlation_id,
        "subscription": subscription.registration_id.load(SeqCst), "position": aeron_image_position(image),
        "joinPosition": constants.join_position, "sourceIdentity": source,
    }));
}

unsafe extern "C" fn on_image(seen: *mut c_void, _: *mut aeron_subscription_t, image: *mut aeron_image_t) {
    image_event("available_image", &*seen.cast::<Subscription>(), image);
}

unsafe extern "C" fn on_image_gone(seen: *mut c_void, _: *mut aeron_subscription_t, image: *mut aeron_image_t) {
    let subscription = &*seen.cast::<Subscription>();
    subscription.left.store(true, SeqCst);
    image_event("unavailable_image", subscription, image);
}

/// What the handlers of a client saw since the last call.
pub fn events(request: &Request) -> Result<Value, Fault> {
    let client = objects::client(request.number("client", -1))?;
    Ok(Value::Array(std::mem::take(&mut client.events.lock().unwrap())))
}

pub fn add_publication(client: &'static Client, channel: &str, stream: i32, is_exclusive: bool) -> Result<Value, Fault> {
    let aeron = client.pointer()?;
    let channel = c_text(channel)?;
    let mut request = null_mut();
    let log = if is_exclusive {
        let mut log = null_mut();
        check(unsafe { aeron_async_add_exclusive_publication(&mut request, aeron, channel.as_ptr(), stream) })?;
        await_done("a publication", || unsafe { aeron_async_add_exclusive_publication_poll(&mut log, request) })?;
        Log::Exclusive(log)
    } else {
        let mut log = null_mut();
        check(unsafe { aeron_async_add_publication(&mut request, aeron, channel.as_ptr(), stream) })?;
        await_done("a publication", || unsafe { aeron_async_add_publication_poll(&mut log, request) })?;
        Log::Shared(log)
    };
    Ok(add(Object::Publication(Publication::new(client, log))))
}

pub fn add_subscription(client: &'static Client, channel: &str, stream: i32) -> Result<Value, Fault> {
    let aeron = client.pointer()?;
    let channel = c_text(channel)?;
    let subscription = Subscription::new(client, null_mut());
    let seen: *mut c_void = std::ptr::from_ref(subscription).cast_mut().cast();
    let mut request = null_mut();
    let mut pointer = null_mut();
    check(unsafe {
        aeron_async_add_subscription(
            &mut request, aeron, channel.as_ptr(), stream, Some(on_image), seen, Some(on_image_gone), seen,
        )
    })?;
    let id = unsafe { aeron_async_add_subscription_get_registration_id(request) };
    subscription.registration_id.store(id, SeqCst);
    await_done("a subscription", || unsafe { aeron_async_add_subscription_poll(&mut pointer, request) })?;
    subscription.subscription.store(pointer, SeqCst);
    Ok(add(Object::Subscription(subscription)))
}

pub fn add_counter(client: &'static Client, type_id: i32, label: &str) -> Result<Value, Fault> {
    let aeron = client.pointer()?;
    let mut request = null_mut();
    let mut counter = null_mut();
    check(unsafe {
        aeron_async_add_counter(
            &mut request, aeron, type_id, null_mut(), 0, label.as_ptr().cast(), label.len(),
        )
    })?;
    await_done("a counter", || unsafe { aeron_async_add_counter_poll(&mut counter, request) })?;
    Ok(add(Object::Counter(Box::leak(Box::new(Counter { client, counter })))))
}

fn until_taken(deadline: Instant, mut attempt: impl FnMut() -> Result<i64, Fault>) -> Result<i64, Fault> {
    loop {
        let result = attempt()?;
        let is_transient = [
            AERON_PUBLICATION_NOT_CONNECTED,
            AERON_PUBLICATION_BACK_PRESSURED,
            AERON_PUBLICATION_ADMIN_ACTION,
        ]
        .iter()
        .any(|&status| i64::from(status) == result);
        if result >= 0 {
            return Ok(result);
        }
        if !is_transient {
            return Err(Fault::usage(format!("offer refused: {result}")));
        }
        if Instant::now() > deadline {
            return Err(Fault::timeout(&format!("offer timed out: {result}")));
        }
        std::thread::yield_now();
    }
}

/// Offers the messages in order, each until it is taken; the positions.
pub fn offer(request: &Request) -> Result<Value, Fault> {
    let publication = objects::publication(request.number("publication", -1))?;
    let deadline = request.deadline();
    let reserved = request.number("reserved_value", 0);
    let mut positions = Vec::new();
    for text in request.list("messages") {
        let message = unhex(text.as_str().unwrap_or_default());
        positions.push(if request.flag("retry", true) {
            until_taken(deadline, || publication.offer(&message, reserved))?
        } else {
            publication.offer(&message, reserved)?
        });
    }
    Ok(json!(positions))
}

/// Claims, writes and commits (or aborts) one message; the position.
pub fn claim(request: &Request) -> Result<Value, Fault> {
    let publication = objects::publication(request.number("publication", -1))?;
    let message = unhex(request.text("message"));
    let is_aborted = request.flag("abort", false);
    Ok(json!(until_taken(request.deadline(), || publication.claim(&message, is_aborted))?))
}

/// Message `number` of the numbered stream: its number, then bytes that count up from it.
fn numbered(number: i64, length: usize) -> Vec<u8> {
    let body = (0..length.saturating_sub(8)).map(|i| (number + i as i64) as u8);
    number.to_le_bytes().into_iter().chain(body).collect()
}

/// Offers numbered messages; how many, and the last position.
pub fn offer_numbered(request: &Request) -> Result<Value, Fault> {
    let publication = objects::publication(request.number("publication", -1))?;
    let (first, count) = (request.number("first", 0), request.number("count", 0));
    let deadline = request.deadline();
    let mut position = 0;
    for number in first..first + count {
        let message = numbered(number, request.number("length", 8) as usize);
        position = until_taken(deadline, || publication.offer(&message, 0))?;
    }
    Ok(json!({"count": count, "position": position}))
}

/// What is done with each message, given to the C library through a pointer.
type Handler<'a> = dyn FnMut(&[u8], *mut aeron_header_t) + 'a;

unsafe extern "C" fn on_fragment(handler: *mut c_void, data: *const u8, length: usize, header: *mut aeron_header_t) {
    let handler = &mut **handler.cast::<&mut Handler>();
    handler(&*slice_from_raw_parts(data, length), header);
}

/// A function as the bindings' type of fragment handlers. Those of 1.54 are of another convention of
/// calls, in which only panics differ; no handler here panics.
pub fn fragment_handler(
    function: unsafe extern "C" fn(*mut c_void, *const u8, usize, *mut aeron_header_t),
) -> aeron_fragment_handler_t {
    unsafe { std::mem::transmute(function as *const ()) }
}

/// Polls until enough messages came, the time is up or, when asked, every image has ended.
fn poll_until(request: &Request, taken: &dyn Fn() -> i64, mut handler: &mut Handler) -> Result<(), Fault> {
    let source = objects::get(request.number("subscription", -1))?;
    let count = request.number("count", i64::MAX);
    let until_eos = request.flag("until_eos", false);
    let deadline = request.deadline();
    let delegate: *mut c_void = std::ptr::from_mut(&mut handler).cast();
    let mut assembler = null_mut();
    check(unsafe { aeron_fragment_assembler_create(&mut assembler, fragment_handler(on_fragment), delegate) })?;
    let (function, state): (aeron_fragment_handler_t, *mut c_void) = if request.flag("assemble", true) {
        (fragment_handler(aeron_fragment_assembler_handler), assembler.cast())
    } else {
        (fragment_handler(on_fragment), delegate)
    };
    while taken() < count && Instant::now() < deadline {
        let limit = (count - taken()).min(64) as usize;
        let fragments = check(match source {
            Object::Subscription(subscription) => unsafe {
                aeron_subscription_poll(subscription.pointer()?, function, state, limit)
            },
            Object::Image(image) => unsafe { aeron_image_poll(image.image, function, state, limit) },
            _ => return Err(Fault::usage("this cannot be polled".into())),
        })?;
        if fragments == 0 {
            if until_eos && is_drained(source)? {
                break;
            }
            std::thread::yield_now();
        }
    }
    check(unsafe { aeron_fragment_assembler_delete(assembler) })?;
    Ok(())
}

/// An image that has gone, and left nobody, was drained: its end may have been seen by an earlier poll.
fn is_drained(source: Object) -> Result<bool, Fault> {
    let has_ended = |image: &Image| unsafe {
        aeron_image_is_end_of_stream(image.image) || aeron_image_is_closed(image.image)
    };
    Ok(match source {
        Object::Subscription(subscription) => {
            let images = subscription.images()?;
            let have_ended = images.iter().all(|image| has_ended(image));
            for image in &images {
                unsafe { aeron_subscription_image_release(subscription.pointer()?, image.image) };
            }
            if images.is_empty() { subscription.left.load(SeqCst) } else { have_ended }
        }
        Object::Image(image) => has_ended(image),
        _ => false,
    })
}

pub fn poll(request: &Request) -> Result<Value, Fault> {
    let messages = std::cell::RefCell::new(Vec::new());
    poll_until(request, &|| messages.borrow().len() as i64, &mut |data, header| {
        let mut values: aeron_header_values_t = unsafe { std::mem::zeroed() };
        unsafe { aeron_header_values(header, &mut values) };
        let frame = values.frame;
        let (session, stream, term) = (frame.session_id, frame.stream_id, frame.term_id);
        let (offset, flags, reserved) = (frame.term_offset, frame.flags, frame.reserved_value);
        messages.borrow_mut().push(json!({
            "data": hex(data), "position": unsafe { aeron_header_position(header) },
            "sessionId": session, "streamId": stream, "termId": term, "termOffset": offset,
            "flags": flags, "reservedValue": reserved,
        }));
    })?;
    Ok(Value::Array(messages.into_inner()))
}

/// Polls numbered messages and checks each byte; the count, the last position, the first difference.
pub fn poll_numbered(request: &Request) -> Result<Value, Fault> {
    let (first, length) = (request.number("first", 0), request.number("length", 8) as usize);
    let count = std::cell::Cell::new(0);
    let (mut position, mut first_wrong) = (0, None);
    poll_until(request, &|| count.get(), &mut |data, header| {
        if first_wrong.is_none() && data != numbered(first + count.get(), length) {
            first_wrong = Some(count.get());
        }
        count.set(count.get() + 1);
        position = unsafe { aeron_header_position(header) };
    })?;
    Ok(json!({"count": count.get(), "position": position, "first_wrong": first_wrong}))
}

/// One call of the reader's walk over the counters.
struct Walk {
    reader: *mut aeron_counters_reader_t,
    found: Vec<Value>,
}

unsafe extern "C" fn on_listed(
    value: i64, id: i32, type_id: i32, key: *const u8, key_length: usize, label: *const c_char,
    label_length: usize, walk: *mut c_void,
) {
    let walk = &mut *walk.cast::<Walk>();
    let (mut registration, mut owner, mut reference) = (0, 0, 0);
    aeron_counters_reader_counter_registration_id(walk.reader, id, &mut registration);
    aeron_counters_reader_counter_owner_id(walk.reader, id, &mut owner);
    aeron_counters_reader_counter_reference_id(walk.reader, id, &mut reference);
    walk.found.push(json!({
        "id": id, "typeId": type_id, "key": hex(&*slice_from_raw_parts(key, key_length)),
        "label": String::from_utf8_lossy(&*slice_from_raw_parts(label.cast::<u8>(), label_length)),
        "value": value, "registrationId": registration, "ownerId": owner, "referenceId": reference,
    }));
}

pub fn counters(request: &Request) -> Result<Value, Fault> {
    let aeron = objects::client(request.number("client", -1))?.pointer()?;
    let reader = unsafe { aeron_counters_reader(aeron) };
    let mut walk = Walk { reader, found: Vec::new() };
    let state = std::ptr::from_mut(&mut walk).cast();
    unsafe { aeron_counters_reader_foreach_counter(reader, Some(on_listed), state) };
    Ok(Value::Array(walk.found))
}
