//! One request of a test and its fields.

use crate::objects::Fault;
use serde_json::Value;
use std::ffi::CString;
use std::time::{Duration, Instant};

pub struct Request(Value);

impl Request {
    pub fn parse(line: &str) -> Request {
        Request(serde_json::from_str(line).expect("a request in JSON"))
    }

    pub fn has(&self, name: &str) -> bool {
        !self.0[name].is_null()
    }

    pub fn number(&self, name: &str, default: i64) -> i64 {
        self.0[name].as_i64().unwrap_or(default)
    }

    pub fn flag(&self, name: &str, default: bool) -> bool {
        self.0[name].as_bool().unwrap_or(default)
    }

    pub fn text(&self, name: &str) -> &str {
        self.text_or(name, "")
    }

    pub fn text_or<'a>(&'a self, name: &str, default: &'a str) -> &'a str {
        self.0[name].as_str().unwrap_or(default)
    }

    pub fn list(&self, name: &str) -> &[Value] {
        self.0[name].as_array().map_or(&[], Vec::as_slice)
    }

    /// When the request's "timeout" in seconds ends.
    pub fn deadline(&self) -> Instant {
        Instant::now() + Duration::from_secs_f64(self.0["timeout"].as_f64().unwrap_or(30.0))
    }
}

/// Text as C takes it.
pub fn c_text(text: &str) -> Result<CString, Fault> {
    CString::new(text).map_err(|_| Fault::usage("a text with a zero byte".into()))
}

pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

pub fn unhex(text: &str) -> Vec<u8> {
    (0..text.len() / 2)
        .map(|i| u8::from_str_radix(&text[2 * i..2 * i + 2], 16).expect("hexadecimal text"))
        .collect()
}
