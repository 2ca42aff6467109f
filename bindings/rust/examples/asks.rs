/* SPDX-License-Identifier: MIT */
//! A program counts its own memory by a tracker, and asks mtrace about itself while it runs.

use mtrace::{Event, EventKind, Group, Tracker};
use std::io::{self, ErrorKind};
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::Arc;

fn change(event: &Event) -> i64 {
    match event.kind {
        EventKind::ALLOC => event.size_bytes as i64,
        EventKind::FREE => -(event.size_bytes as i64),
        _ => event.size_bytes as i64 - event.old_size_bytes as i64,
    }
}

fn main() -> io::Result<()> {
    let cache = Group::intern("cache", &[("component", "index")]);
    let live_bytes = Arc::new(AtomicI64::new(0));
    let counted = live_bytes.clone();
    let tracker = Tracker::new(EventKind::ALL, move |event| {
        if event.current_group == cache.id() {
            counted.fetch_add(change(event), Ordering::Relaxed);
        }
    });

    let scope = cache.enter();
    let mut kept = vec![1u8; 1000];
    kept.reserve_exact(2000);
    drop(vec![1u8; 777]);
    scope.exit();
    drop(tracker);
    println!("{} bytes live in the cache", live_bytes.load(Ordering::Relaxed));
    println!("{}", if Group::of(kept.as_ptr()) == Some(cache) { "charged to the cache" } else { "charged to nobody" });

    match mtrace::report("by-group --csv", io::stdout()) {
        Err(error) if error.kind() == ErrorKind::NotConnected => println!("not recorded"),
        other => other?,
    }
    Ok(())
}
