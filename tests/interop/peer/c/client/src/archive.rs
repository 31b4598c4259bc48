//! The archive client: its requests by the names of the Java client's methods, and listings.

use crate::calls::{Arguments, Found};
use crate::objects::{self, add, check, Fault, Object};
use crate::request::{c_text, Request};
use crate::transport::{Client, Log, Publication, Subscription};
use rusteron_archive::bindings::*;
use serde_json::{json, Value};
use std::ffi::{c_char, c_int, c_void, CStr};
use std::ptr::{null_mut, slice_from_raw_parts};
use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering::SeqCst};
use std::sync::Mutex;

/// An archive client and what its handlers saw.
pub struct Archive {
    client: &'static Client,
    archive: AtomicPtr<aeron_archive_t>,
    closed: AtomicBool,
    seen: Mutex<Vec<Value>>,
}

impl Archive {
    fn pointer(&self) -> Result<*mut aeron_archive_t, Fault> {
        if self.closed.load(SeqCst) || self.client.closed.load(SeqCst) {
            return Err(Fault::closed("the archive client"));
        }
        Ok(self.archive.load(SeqCst))
    }
}

/// The channels and the patience of a request, in a context of the archive client.
pub fn context(request: &Request) -> Result<*mut aeron_archive_context_t, Fault> {
    let mut context = null_mut();
    let to = c_text(request.text_or("request_channel", "aeron:ipc"))?;
    let back = c_text(request.text_or("response_channel", "aeron:ipc"))?;
    let timeout = request.number("message_timeout_ms", 30_000) as u64 * 1_000_000;
    let stream = |name, default| request.number(name, default) as i32;
    unsafe {
        check(aeron_archive_context_init(&mut context))?;
        check(aeron_archive_context_set_control_request_channel(context, to.as_ptr()))?;
        check(aeron_archive_context_set_control_response_channel(context, back.as_ptr()))?;
        check(aeron_archive_context_set_control_request_stream_id(context, stream("request_stream", 10)))?;
        check(aeron_archive_context_set_control_response_stream_id(context, stream("response_stream", 20)))?;
        check(aeron_archive_context_set_message_timeout_ns(context, timeout))?;
    }
    Ok(context)
}

pub fn connect(request: &Request) -> Result<Value, Fault> {
    let client = objects::client(request.number("client", -1))?;
    let archive: &'static Archive = Box::leak(Box::new(Archive {
        client,
        archive: AtomicPtr::new(null_mut()),
        closed: AtomicBool::new(false),
        seen: Mutex::default(),
    }));
    let seen: *mut c_void = std::ptr::from_ref(archive).cast_mut().cast();
    let context = context(request)?;
    let mut pointer = null_mut();
    unsafe {
        check(aeron_archive_context_set_aeron(context, client.pointer()?))?;
        check(aeron_archive_context_set_owns_aeron_client(context, false))?;
        check(aeron_archive_context_set_recording_signal_consumer(context, Some(on_signal), seen))?;
        check(aeron_archive_context_set_error_handler(context, Some(on_error), seen))?;
        check(aeron_archive_connect(&mut pointer, context))?;
    }
    archive.archive.store(pointer, SeqCst);
    let mut answer = add(Object::Archive(archive));
    answer["controlSessionId"] = json!(unsafe { aeron_archive_control_session_id(pointer) });
    answer["archiveId"] = json!(unsafe { aeron_archive_get_archive_id(pointer) });
    Ok(answer)
}

const SIGNALS: [&str; 8] = ["START", "STOP", "EXTEND", "REPLICATE", "MERGE", "SYNC", "DELETE", "REPLICATE_END"];

unsafe extern "C" fn on_signal(signal: *mut aeron_archive_recording_signal_t, seen: *mut c_void) {
    let (archive, signal) = (&*seen.cast::<Archive>(), &*signal);
    let name = SIGNALS.get(signal.recording_signal_code as usize).unwrap_or(&"NULL_VAL");
    archive.seen.lock().unwrap().push(json!({
        "event": "signal", "controlSessionId": signal.control_session_id, "recordingId": signal.recording_id,
        "subscriptionId": signal.subscription_id, "position": signal.position, "signal": name,
    }));
}

unsafe extern "C" fn on_error(seen: *mut c_void, code: c_int, message: *const c_char) {
    let (archive, message) = (&*seen.cast::<Archive>(), CStr::from_ptr(message).to_string_lossy());
    let event = json!({"event": "error", "class": "ArchiveException", "code": code, "message": message});
    archive.seen.lock().unwrap().push(event);
}

/// Polls the control responses once; the recording signals and errors seen since the last call.
pub fn signals(request: &Request) -> Result<Value, Fault> {
    let archive = objects::archive(request.number("archive", -1))?;
    let mut count = 0;
    check(unsafe { aeron_archive_poll_for_recording_signals(&mut count, archive.pointer()?) })?;
    Ok(Value::Array(std::mem::take(&mut archive.seen.lock().unwrap())))
}

unsafe fn text(pointer: *const c_char, length: usize) -> String {
    String::from_utf8_lossy(&*slice_from_raw_parts(pointer.cast::<u8>(), length)).into_owned()
}

unsafe extern "C" fn on_recording(entry: *mut aeron_archive_recording_descriptor_t, found: *mut c_void) {
    let entry = &*entry;
    (*found.cast::<Vec<Value>>()).push(json!({
        "recordingId": entry.recording_id,
        "startTimestamp": entry.start_timestamp,
        "stopTimestamp": entry.stop_timestamp,
        "startPosition": entry.start_position,
        "stopPosition": entry.stop_position,
        "initialTermId": entry.initial_term_id,
        "segmentFileLength": entry.segment_file_length,
        "termBufferLength": entry.term_buffer_length,
        "mtuLength": entry.mtu_length,
        "sessionId": entry.session_id,
        "streamId": entry.stream_id,
        "strippedChannel": text(entry.stripped_channel, entry.stripped_channel_length),
        "originalChannel": text(entry.original_channel, entry.original_channel_length),
        "sourceIdentity": text(entry.source_identity, entry.source_identity_length),
    }));
}

/// {"recording_id"} or {"from", "count"} or those with {"channel", "stream"}: the descriptors.
pub fn list(request: &Request) -> Result<Value, Fault> {
    let archive = objects::archive(request.number("archive", -1))?.pointer()?;
    let mut found: Vec<Value> = Vec::new();
    let state: *mut c_void = std::ptr::from_mut(&mut found).cast();
    let mut listed = 0;
    let (from, count) = (request.number("from", 0), request.number("count", 1000) as i32);
    check(if request.has("recording_id") {
        let id = request.number("recording_id", -1);
        unsafe { aeron_archive_list_recording(&mut listed, archive, id, Some(on_recording), state) }
    } else if request.has("channel") {
        let channel = c_text(request.text("channel"))?;
        let stream = request.number("stream", 0) as i32;
        unsafe {
            aeron_archive_list_recordings_for_uri(
                &mut listed, archive, from, count, channel.as_ptr(), stream, Some(on_recording), state,
            )
        }
    } else {
        unsafe { aeron_archive_list_recordings(&mut listed, archive, from, count, Some(on_recording), state) }
    })?;
    Ok(Value::Array(found))
}

unsafe extern "C" fn on_subscription(
    entry: *mut aeron_archive_recording_subscription_descriptor_t, found: *mut c_void,
) {
    let entry = &*entry;
    (*found.cast::<Vec<Value>>()).push(json!({
        "subscriptionId": entry.subscription_id, "streamId": entry.stream_id,
        "strippedChannel": text(entry.stripped_channel, entry.stripped_channel_length),
    }));
}

pub fn list_subscriptions(request: &Request) -> Result<Value, Fault> {
    let archive = objects::archive(request.number("archive", -1))?.pointer()?;
    let mut found: Vec<Value> = Vec::new();
    let mut listed = 0;
    let channel = c_text(request.text("channel"))?;
    check(unsafe {
        aeron_archive_list_recording_subscriptions(
            &mut listed, archive, request.number("from", 0) as i32, request.number("count", 1000) as i32,
            channel.as_ptr(), request.number("stream", 0) as i32, request.flag("apply_stream", false),
            Some(on_subscription), std::ptr::from_mut(&mut found).cast(),
        )
    })?;
    Ok(Value::Array(found))
}

fn location(name: &str) -> aeron_archive_source_location_t {
    if name == "REMOTE" {
        aeron_archive_source_location_en::AERON_ARCHIVE_SOURCE_LOCATION_REMOTE
    } else {
        aeron_archive_source_location_en::AERON_ARCHIVE_SOURCE_LOCATION_LOCAL
    }
}

/// The parameters of a replay that starts at a position and has a length.
fn replay_parameters(position: i64, length: i64) -> Result<aeron_archive_replay_params_t, Fault> {
    let mut parameters: aeron_archive_replay_params_t = unsafe { std::mem::zeroed() };
    check(unsafe { aeron_archive_replay_params_init(&mut parameters) })?;
    parameters.position = position;
    parameters.length = length;
    Ok(parameters)
}

pub fn call(archive: &'static Archive, method: &str, arguments: &Arguments) -> Found {
    if method == "close" {
        if !archive.closed.load(SeqCst) {
            let pointer = archive.pointer()?;
            archive.closed.store(true, SeqCst);
            check(unsafe { aeron_archive_close(pointer) })?;
        }
        return Ok(Some(Value::Null));
    }
    let pointer = archive.pointer()?;
    if let Some(answer) = call_for_positions(pointer, method, arguments)? {
        return Ok(Some(answer));
    }
    if let Some(answer) = call_for_segments(pointer, method, arguments)? {
        return Ok(Some(answer));
    }
    if let Some(answer) = call_for_replays(archive, pointer, method, arguments)? {
        return Ok(Some(answer));
    }
    call_for_recordings(archive, pointer, method, arguments)
}

fn call_for_positions(archive: *mut aeron_archive_t, method: &str, arguments: &Arguments) -> Found {
    let function = match method {
        "getStartPosition" => aeron_archive_get_start_position,
        "getStopPosition" => aeron_archive_get_stop_position,
        "getRecordingPosition" => aeron_archive_get_recording_position,
        "getMaxRecordedPosition" => aeron_archive_get_max_recorded_position,
        "purgeRecording" => aeron_archive_purge_recording,
        "deleteDetachedSegments" => aeron_archive_delete_detached_segments,
        "attachSegments" => aeron_archive_attach_segments,
        "controlSessionId" => return Ok(Some(json!(unsafe { aeron_archive_control_session_id(archive) }))),
        "archiveId" => return Ok(Some(json!(unsafe { aeron_archive_get_archive_id(archive) }))),
        _ => return Ok(None),
    };
    let mut value = 0;
    check(unsafe { function(&mut value, archive, arguments.number(0)?) })?;
    Ok(Some(json!(value)))
}

fn call_for_segments(archive: *mut aeron_archive_t, method: &str, arguments: &Arguments) -> Found {
    let mut value = 0;
    let function = match method {
        "truncateRecording" => aeron_archive_truncate_recording,
        "purgeSegments" => aeron_archive_purge_segments,
        "migrateSegments" => aeron_archive_migrate_segments,
        "detachSegments" => {
            check(unsafe { aeron_archive_detach_segments(archive, arguments.number(0)?, arguments.number(1)?) })?;
            return Ok(Some(Value::Null));
        }
        _ => return Ok(None),
    };
    check(unsafe { function(&mut value, archive, arguments.number(0)?, arguments.number(1)?) })?;
    Ok(Some(json!(value)))
}

/// replay and startReplay(recording, position, length, channel, stream), stopReplay, stopAllReplays.
fn call_for_replays(
    owner: &'static Archive, archive: *mut aeron_archive_t, method: &str, arguments: &Arguments,
) -> Found {
    match (method, arguments.0.len()) {
        ("replay" | "startReplay", 5) => {
            let recording = arguments.number(0)?;
            let mut parameters = replay_parameters(arguments.number(1)?, arguments.number(2)?)?;
            let (channel, stream) = (c_text(arguments.text(3)?)?, arguments.stream(4)?);
            if method == "startReplay" {
                let mut session = 0;
                check(unsafe {
                    aeron_archive_start_replay(
                        &mut session, archive, recording, channel.as_ptr(), stream, &mut parameters,
                    )
                })?;
                return Ok(Some(json!(session)));
            }
            let mut subscription = null_mut();
            check(unsafe {
                aeron_archive_replay(
                    &mut subscription, archive, recording, channel.as_ptr(), stream, &mut parameters,
                )
            })?;
            Ok(Some(add(Object::Subscription(Subscription::new(owner.client, subscription)))))
        }
        ("stopReplay", 1) => {
            check(unsafe { aeron_archive_stop_replay(archive, arguments.number(0)?) })?;
            Ok(Some(Value::Null))
        }
        ("stopAllReplays", 1) => {
            check(unsafe { aeron_archive_stop_all_replays(archive, arguments.number(0)?) })?;
            Ok(Some(Value::Null))
        }
        _ => Ok(None),
    }
}

fn call_for_recordings(
    owner: &'static Archive, archive: *mut aeron_archive_t, method: &str, arguments: &Arguments,
) -> Found {
    let count = arguments.0.len();
    let mut number = 0;
    let mut is_stopped = false;
    match (method, count) {
        ("startRecording", 3 | 4) => {
            let channel = c_text(arguments.text(0)?)?;
            let ends = count == 4 && arguments.0[3] == true;
            let (stream, location) = (arguments.stream(1)?, location(arguments.text(2)?));
            check(unsafe {
                aeron_archive_start_recording(&mut number, archive, channel.as_ptr(), stream, location, ends)
            })?;
        }
        ("extendRecording", 4) => {
            let channel = c_text(arguments.text(1)?)?;
            let (stream, location) = (arguments.stream(2)?, location(arguments.text(3)?));
            check(unsafe {
                aeron_archive_extend_recording(
                    &mut number, archive, arguments.number(0)?, channel.as_ptr(), stream, location, false,
                )
            })?;
        }
        ("stopRecording", 1) => {
            check(unsafe { aeron_archive_stop_recording_subscription(archive, arguments.number(0)?) })?;
            return Ok(Some(Value::Null));
        }
        ("stopRecording" | "tryStopRecording", 2) => {
            let (channel, stream) = (c_text(arguments.text(0)?)?, arguments.stream(1)?);
            if method == "stopRecording" {
                check(unsafe {
                    aeron_archive_stop_recording_channel_and_stream(archive, channel.as_ptr(), stream)
                })?;
                return Ok(Some(Value::Null));
            }
            check(unsafe {
                aeron_archive_try_stop_recording_channel_and_stream(
                    &mut is_stopped, archive, channel.as_ptr(), stream,
                )
            })?;
            return Ok(Some(json!(is_stopped)));
        }
        ("tryStopRecordingByIdentity", 1) => {
            check(unsafe {
                aeron_archive_try_stop_recording_by_identity(&mut is_stopped, archive, arguments.number(0)?)
            })?;
            return Ok(Some(json!(is_stopped)));
        }
        ("findLastMatchingRecording", 4) => {
            let channel = c_text(arguments.text(1)?)?;
            check(unsafe {
                aeron_archive_find_last_matching_recording(
                    &mut number, archive, arguments.number(0)?, channel.as_ptr(), arguments.stream(2)?,
                    arguments.stream(3)?,
                )
            })?;
        }
        ("addRecordedPublication", 2) => {
            let mut log = null_mut();
            let channel = c_text(arguments.text(0)?)?;
            check(unsafe {
                aeron_archive_add_recorded_publication(&mut log, archive, channel.as_ptr(), arguments.stream(1)?)
            })?;
            return Ok(Some(add(Object::Publication(Publication::new(owner.client, Log::Shared(log))))));
        }
        _ => return Ok(None),
    }
    Ok(Some(json!(number)))
}
