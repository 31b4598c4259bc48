//! What a test holds by number. Objects live as long as the process: a peer serves one test run,
//! and a callback may come after a close.

use crate::archive::Archive;
use crate::follow::Following;
use crate::transport::{Client, Counter, Image, Publication, Subscription};
use rusteron_archive::bindings::{aeron_errcode, aeron_errmsg};
use serde_json::{json, Value};
use std::collections::HashMap;
use std::ffi::CStr;
use std::sync::{LazyLock, Mutex};

#[derive(Clone, Copy)]
pub enum Object {
    Client(&'static Client),
    Publication(&'static Publication),
    Subscription(&'static Subscription),
    Image(&'static Image),
    Counter(&'static Counter),
    Archive(&'static Archive),
    Following(&'static Following),
}

static OBJECTS: LazyLock<Mutex<HashMap<i64, Object>>> = LazyLock::new(Mutex::default);

/// Notes an object; what the test gets of it.
pub fn add(object: Object) -> Value {
    let mut objects = OBJECTS.lock().unwrap();
    let handle = objects.len() as i64 + 1;
    objects.insert(handle, object);
    let class = match object {
        Object::Client(_) => "Aeron",
        Object::Publication(publication) if publication.is_exclusive() => "ExclusivePublication",
        Object::Publication(_) => "Publication",
        Object::Subscription(_) => "Subscription",
        Object::Image(_) => "Image",
        Object::Counter(_) => "Counter",
        Object::Archive(_) => "AeronArchive",
        Object::Following(_) => "Following",
    };
    json!({"handle": handle, "class": class})
}

pub fn get(handle: i64) -> Result<Object, Fault> {
    let found = OBJECTS.lock().unwrap().get(&handle).copied();
    found.ok_or_else(|| Fault::usage(format!("unknown handle {handle}")))
}

pub fn client(handle: i64) -> Result<&'static Client, Fault> {
    match get(handle)? {
        Object::Client(client) => Ok(client),
        _ => Err(Fault::usage(format!("{handle} is no client"))),
    }
}

pub fn publication(handle: i64) -> Result<&'static Publication, Fault> {
    match get(handle)? {
        Object::Publication(publication) => Ok(publication),
        _ => Err(Fault::usage(format!("{handle} is no publication"))),
    }
}

pub fn archive(handle: i64) -> Result<&'static Archive, Fault> {
    match get(handle)? {
        Object::Archive(archive) => Ok(archive),
        _ => Err(Fault::usage(format!("{handle} is no archive client"))),
    }
}

/// An error as the Java peer tells it: a class, a message, and the code of the driver or archive.
pub struct Fault {
    class: &'static str,
    message: String,
    code: Option<i64>,
}

impl Fault {
    pub fn usage(message: String) -> Fault {
        Fault { class: "IllegalArgumentException", message, code: None }
    }

    pub fn closed(what: &str) -> Fault {
        Fault { class: "AeronException", message: format!("{what} is closed"), code: None }
    }

    pub fn timeout(what: &str) -> Fault {
        Fault { class: "TimeoutException", message: what.into(), code: None }
    }

    /// The C library's last error of this thread. A driver's code is kept negated, an archive's in the text.
    pub fn last() -> Fault {
        let number = unsafe { aeron_errcode() };
        let message = unsafe { CStr::from_ptr(aeron_errmsg()) }.to_string_lossy().into_owned();
        let archive_code = message
            .split_once("errorCode=")
            .and_then(|(_, rest)| rest.split(',').next()?.parse().ok());
        if let Some(code) = archive_code {
            Fault { class: "ArchiveException", message, code: Some(code) }
        } else if number < 0 {
            Fault { class: "RegistrationException", message, code: Some(-i64::from(number)) }
        } else {
            Fault { class: "AeronException", message, code: None }
        }
    }

    pub fn to_json(&self) -> Value {
        let mut error = json!({"class": self.class, "message": self.message});
        if let Some(code) = self.code {
            error["code"] = json!(code);
        }
        error
    }
}

/// A C call's result, or the error that it left.
pub fn check(result: i32) -> Result<i32, Fault> {
    if result < 0 { Err(Fault::last()) } else { Ok(result) }
}
