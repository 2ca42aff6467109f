/* SPDX-License-Identifier: MIT */
//! A program counts its own memory by a tracker, and asks mtrace about itself while it runs.

use mtrace::{Event, EventKind, Group, Tracker};
use std::io::{self, ErrorKind};
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::Arc;

/// What is charged to the group by the event, less what is not any more.
fn change(event: &Event, group: u32) -> i64 {
    let comes = event.kind != EventKind::FREE && event.current_group == group;
    let went_bytes = match event.kind {
        EventKind::ALLOC => 0,
        EventKind::RESIZE => event.old_size_bytes,
        _ => event.size_bytes,
    };

    i64::from(comes) * event.size_bytes as i64 - i64::from(event.group == group) * went_bytes as i64
}

fn main() -> io::Result<()> {
    let cache = Group::intern("cache", &[("component", "index")]);
    let live_bytes = Arc::new(AtomicI64::new(0));
    let counted = live_bytes.clone();
    let tracker = Tracker::new(EventKind::ALL, move |event| {
        counted.fetch_add(change(event, cache.id()), Ordering::Relaxed);
    });

    let scope = cache.enter();
    let mut kept = vec![1u8; 1000];
    kept.reserve_exact(2000);
    drop(vec![1u8; 777]);
    scope.exit();
    let moved = Group::intern("request", &[]).charge(|| vec![1u8; 5000]);
    cache.take(moved.as_ptr());
    drop(tracker);
    println!("{} bytes live in the cache", live_bytes.load(Ordering::Relaxed));
    println!("{}", if Group::of(kept.as_ptr()) == Some(cache) { "charged to the cache" } else { "charged to nobody" });

    match mtrace::report("by-group --csv", io::stdout()) {
        Err(error) if error.kind() == ErrorKind::NotConnected => println!("not recorded"),
        other => other?,
    }
    Ok(())
}
