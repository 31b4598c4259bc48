//! Calls on objects by the names that the Java client's methods have, so that one test body drives
//! either peer. What the C client has no function for is refused.

use crate::archive;
use crate::objects::{add, check, get, Fault, Object};
use crate::request::Request;
use crate::transport::{add_counter, add_publication, add_subscription, Client, Counter, Image, Publication, Subscription};
use rusteron_archive::bindings::*;
use serde_json::{json, Map, Value};
use std::ffi::{CStr, CString};
use std::sync::atomic::Ordering::SeqCst;

/// The arguments of a call, taken in order.
pub struct Arguments<'a>(pub &'a [Value]);

impl Arguments<'_> {
    pub fn number(&self, index: usize) -> Result<i64, Fault> {
        self.0[index].as_i64().ok_or_else(|| Fault::usage(format!("argument {index} is no number")))
    }

    pub fn stream(&self, index: usize) -> Result<i32, Fault> {
        i32::try_from(self.number(index)?).map_err(|_| Fault::usage(format!("argument {index} is too large")))
    }

    pub fn text(&self, index: usize) -> Result<&str, Fault> {
        self.0[index].as_str().ok_or_else(|| Fault::usage(format!("argument {index} is no text")))
    }
}

/// {"handle", "method", "args"}.
pub fn call(request: &Request) -> Result<Value, Fault> {
    on(get(request.number("handle", -1))?, request.text("method"), &Arguments(request.list("args")))
}

/// {"handle", "names"}: the results of several methods without arguments.
pub fn properties(request: &Request) -> Result<Value, Fault> {
    let target = get(request.number("handle", -1))?;
    let mut answer = Map::new();
    for name in request.list("names") {
        let name = name.as_str().unwrap_or_default();
        answer.insert(name.into(), on(target, name, &Arguments(&[]))?);
    }
    Ok(Value::Object(answer))
}

fn on(target: Object, method: &str, arguments: &Arguments) -> Result<Value, Fault> {
    let found = match target {
        Object::Client(client) => on_client(client, method, arguments),
        Object::Publication(publication) => on_publication(publication, method, arguments),
        Object::Subscription(subscription) => on_subscription(subscription, method, arguments),
        Object::Image(image) => on_image(image, method, arguments),
        Object::Counter(counter) => on_counter(counter, method, arguments),
        Object::Archive(archive) => archive::call(archive, method, arguments),
        Object::Following(following) => following.call(method),
    };
    found?.ok_or_else(|| Fault::usage(format!("no method {method} with {} arguments", arguments.0.len())))
}

/// A method's result, or none when there is no such method.
pub type Found = Result<Option<Value>, Fault>;

fn on_client(client: &'static Client, method: &str, arguments: &Arguments) -> Found {
    let count = arguments.0.len();
    Ok(Some(match (method, count) {
        ("addPublication", 2) => add_publication(client, arguments.text(0)?, arguments.stream(1)?, false)?,
        ("addExclusivePublication", 2) => add_publication(client, arguments.text(0)?, arguments.stream(1)?, true)?,
        ("addSubscription", 2) => add_subscription(client, arguments.text(0)?, arguments.stream(1)?)?,
        ("addCounter", 2) => add_counter(client, arguments.stream(0)?, arguments.text(1)?)?,
        ("clientId", 0) => json!(unsafe { aeron_client_id(client.pointer()?) }),
        ("nextCorrelationId", 0) => json!(unsafe { aeron_next_correlation_id(client.pointer()?) }),
        ("isClosed", 0) => json!(client.closed.load(SeqCst) || unsafe { aeron_is_closed(client.pointer()?) }),
        ("close", 0) => {
            client.close()?;
            Value::Null
        }
        _ => return Ok(None),
    }))
}

fn on_publication(publication: &'static Publication, method: &str, arguments: &Arguments) -> Found {
    if method == "isClosed" {
        return Ok(Some(json!(publication.is_closed())));
    }
    if method == "close" {
        publication.close()?;
        return Ok(Some(Value::Null));
    }
    let constants = publication.constants()?;
    Ok(Some(match (method, arguments.0.len()) {
        ("sessionId", 0) => json!(constants.session_id),
        ("streamId", 0) => json!(constants.stream_id),
        ("channel", 0) => json!(text_of(constants.channel)),
        ("registrationId", 0) => json!(constants.registration_id),
        ("originalRegistrationId", 0) => json!(constants.original_registration_id),
        ("initialTermId", 0) => json!(constants.initial_term_id),
        ("termBufferLength", 0) => json!(constants.term_buffer_length),
        ("maxMessageLength", 0) => json!(constants.max_message_length),
        ("maxPayloadLength", 0) => json!(constants.max_payload_length),
        ("maxPossiblePosition", 0) => json!(constants.max_possible_position),
        ("channelStatusId", 0) => json!(constants.channel_status_indicator_id),
        ("positionLimitId", 0) => json!(constants.publication_limit_counter_id),
        ("position", 0) => json!(publication.position()?),
        ("positionLimit", 0) => json!(publication.position_limit()?),
        ("isConnected", 0) => json!(publication.is_connected()?),
        ("addDestination", 1) => json!(publication.destination(arguments.text(0)?, true)?),
        ("removeDestination", 1) => json!(publication.destination(arguments.text(0)?, false)?),
        ("revoke", 0) => {
            publication.revoke()?;
            Value::Null
        }
        _ => return Ok(None),
    }))
}

fn on_subscription(subscription: &'static Subscription, method: &str, arguments: &Arguments) -> Found {
    Ok(Some(match (method, arguments.0.len()) {
        ("isClosed", 0) => json!(subscription.is_closed()),
        ("close", 0) => {
            subscription.close()?;
            Value::Null
        }
        ("isConnected", 0) => json!(unsafe { aeron_subscription_is_connected(subscription.pointer()?) }),
        ("imageCount", 0) => json!(unsafe { aeron_subscription_image_count(subscription.pointer()?) }),
        ("channelStatus", 0) => json!(unsafe { aeron_subscription_channel_status(subscription.pointer()?) }),
        ("registrationId", 0) => json!(subscription.constants()?.registration_id),
        ("streamId", 0) => json!(subscription.constants()?.stream_id),
        ("channel", 0) => json!(text_of(subscription.constants()?.channel)),
        ("channelStatusId", 0) => json!(subscription.constants()?.channel_status_indicator_id),
        ("images", 0) => {
            let images = subscription.images()?;
            json!(images.into_iter().map(|image| add(Object::Image(image))).collect::<Vec<_>>())
        }
        ("addDestination", 1) => {
            subscription.destination(arguments.text(0)?, true)?;
            Value::Null
        }
        ("removeDestination", 1) => {
            subscription.destination(arguments.text(0)?, false)?;
            Value::Null
        }
        ("tryResolveChannelEndpointPort", 0) => {
            let mut uri = [0u8; 4096];
            let pointer = uri.as_mut_ptr().cast();
            check(unsafe {
                aeron_subscription_try_resolve_channel_endpoint_port(subscription.pointer()?, pointer, uri.len())
            })?;
            let text = text_of(uri.as_ptr().cast());
            if text.is_empty() { Value::Null } else { json!(text) }
        }
        _ => return Ok(None),
    }))
}

fn on_image(image: &'static Image, method: &str, arguments: &Arguments) -> Found {
    let constants = image.constants()?;
    Ok(Some(match (method, arguments.0.len()) {
        ("position", 0) => json!(unsafe { aeron_image_position(image.image) }),
        ("isClosed", 0) => json!(unsafe { aeron_image_is_closed(image.image) }),
        ("isEndOfStream", 0) => json!(unsafe { aeron_image_is_end_of_stream(image.image) }),
        ("endOfStreamPosition", 0) => json!(unsafe { aeron_image_end_of_stream_position(image.image) }),
        ("isPublicationRevoked", 0) => json!(unsafe { aeron_image_is_publication_revoked(image.image) }),
        ("activeTransportCount", 0) => json!(unsafe { aeron_image_active_transport_count(image.image) }),
        ("sessionId", 0) => json!(constants.session_id),
        ("correlationId", 0) => json!(constants.correlation_id),
        ("joinPosition", 0) => json!(constants.join_position),
        ("initialTermId", 0) => json!(constants.initial_term_id),
        ("termBufferLength", 0) => json!(constants.term_buffer_length),
        ("mtuLength", 0) => json!(constants.mtu_length),
        ("sourceIdentity", 0) => json!(text_of(constants.source_identity)),
        ("reject", 1) => {
            let reason = CString::new(arguments.text(0)?).map_err(|_| Fault::usage("a zero byte".into()))?;
            check(unsafe { aeron_image_reject(image.image, reason.as_ptr()) })?;
            Value::Null
        }
        _ => return Ok(None),
    }))
}

fn on_counter(counter: &'static Counter, method: &str, arguments: &Arguments) -> Found {
    counter.client.pointer()?;
    let value = unsafe { &*aeron_counter_addr(counter.counter).cast::<std::sync::atomic::AtomicI64>() };
    let mut constants = aeron_counter_constants_t::default();
    check(unsafe { aeron_counter_constants(counter.counter, &mut constants) })?;
    Ok(Some(match (method, arguments.0.len()) {
        ("id", 0) => json!(constants.counter_id),
        ("registrationId", 0) => json!(constants.registration_id),
        ("get", 0) => json!(value.load(SeqCst)),
        ("set" | "setRelease", 1) => {
            value.store(arguments.number(0)?, SeqCst);
            Value::Null
        }
        _ => return Ok(None),
    }))
}

pub fn text_of(pointer: *const std::ffi::c_char) -> String {
    unsafe { CStr::from_ptr(pointer) }.to_string_lossy().into_owned()
}
