//! The reference's C client for tests, by the same lines as the Java peer: each line of standard
//! input is a request {"id", "op", ...}, each line of standard output its answer {"id", "result"}
//! or {"id", "error"}. Requests with "background" run on a thread of their own and are answered
//! when they are done. The process ends when its input does.

mod archive;
mod calls;
mod follow;
mod loops;
mod objects;
mod request;
mod transport;

use crate::objects::Fault;
use crate::request::Request;
use serde_json::{json, Value};
use std::io::{BufRead, Write};

fn run(request: &Request) -> Result<Value, Fault> {
    match request.text("op") {
        "call" => calls::call(request),
        "properties" => calls::properties(request),
        "connect" => transport::connect(request),
        "events" => transport::events(request),
        "offer" | "offer_exclusive" => transport::offer(request),
        "offer_numbered" => transport::offer_numbered(request),
        "claim" => transport::claim(request),
        "poll" => transport::poll(request),
        "poll_numbered" => transport::poll_numbered(request),
        "counters" => transport::counters(request),
        "archive_connect" => archive::connect(request),
        "archive_signals" => archive::signals(request),
        "archive_list" => archive::list(request),
        "archive_list_subscriptions" => archive::list_subscriptions(request),
        "loops_throughput" => loops::throughput(request),
        "loops_round_trips" => loops::round_trips(request),
        "join_follow" => follow::follow(request),
        other => Err(Fault::usage(format!("unknown op {other}"))),
    }
}

fn serve(request: &Request) {
    let answer = match run(request) {
        Ok(result) => json!({"id": request.number("id", 0), "result": result}),
        Err(fault) => json!({"id": request.number("id", 0), "error": fault.to_json()}),
    };
    let mut out = std::io::stdout().lock();
    let _ = writeln!(out, "{answer}").and_then(|()| out.flush());
}

fn main() {
    println!("ready");
    for line in std::io::stdin().lock().lines() {
        let Ok(line) = line else { break };
        let request = Request::parse(&line);
        if request.flag("background", false) {
            std::thread::spawn(move || serve(&request));
        } else {
            serve(&request);
        }
    }
    std::process::exit(0); // Threads that still run are dropped with the process, as are clients.
}
