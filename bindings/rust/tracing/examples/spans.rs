/* SPDX-License-Identifier: MIT */
//! Spans of `tracing` are groups: what a request allocates is charged to it in whichever thread it goes on.

use std::thread;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

/// A query is charged to itself, and has the tags of the request around it.
fn query(rows: usize) -> Vec<u8> {
    let _entered = tracing::info_span!("query", rows).entered();
    vec![1u8; rows * 1000]
}

fn serve(tenant: &'static str) -> (Vec<u8>, Vec<u8>) {
    let request = tracing::info_span!("request", tenant, user = tracing::field::Empty);
    let head = request.in_scope(|| vec![2u8; 5000]);

    request.record("user", 7);
    let body = thread::spawn(move || request.in_scope(|| query(30))).join().expect("the thread ends by itself");
    (head, body)
}

fn main() {
    tracing_subscriber::registry().with(mtrace_tracing::SpanGroups).init();
    let kept: Vec<_> = ["acme", "acme", "other"].into_iter().map(serve).collect();

    println!("{} bytes", kept.iter().map(|(head, body)| head.len() + body.len()).sum::<usize>());
    std::mem::forget(kept);
}
