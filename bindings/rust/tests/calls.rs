/* SPDX-License-Identifier: MIT */
//! What each call gives alone, as it says after "absent:", and recorded: `mtrace-record -- target/debug/deps/calls-*`. Odd texts, orders
//! and functions do no harm in either.

use mtrace::{Context, Counters, EventKind, Group, Phase, Pool, Tracker};
use std::fs::File;
use std::hint::black_box;
use std::io::ErrorKind;
use std::process::abort;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{spawn, yield_now};

const ALIVE: u64 = 0xa11fe;
const ROUNDS: usize = 30_000;

#[test]
fn calls_without_a_collector() {
    if mtrace::is_present() {
        return;
    }
    let group = Group::register("one", &[("key", "value")]);
    let _scope = group.enter();

    assert_eq!((mtrace::api_version(), mtrace::is_tracking()), (0, false));
    assert_eq!((group, Group::intern("two", &[]), Group::current()), (Group::ROOT, Group::ROOT, Group::ROOT));
    assert!(!group.take(&0u8) && Group::of(&0u8).is_none());
    assert!(Tracker::new(EventKind::ALL, |_| ()).is_none());
    assert_eq!(mtrace::counters(), Counters::default());
    let refused = mtrace::report("by-group", File::open("/dev/null").unwrap()).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::NotConnected);
}

#[test]
fn calls_in_a_recording() {
    if !mtrace::is_present() {
        return;
    }
    let (group, other) = (Group::register("one", &[("key", "value")]), Group::register("one", &[("key", "value")]));
    let _ = Group::of::<u8>(std::ptr::null());
    let (before, block) = (mtrace::counters(), group.charge(|| Box::new(7u8)));

    assert!(mtrace::api_version() >= 2 && group != other && Group::intern("two", &[]) == Group::intern("two", &[]));
    assert_eq!(Group::of(&*block), Some(group));
    assert!(other.take(&*block));
    assert_eq!(Group::of(&*block), Some(other));
    Group::register("three", &[]);
    assert!(mtrace::counters().groups > before.groups);
    let refused = mtrace::report("by-grope", File::create("/dev/null").unwrap()).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::InvalidInput);
}

#[test]
fn trackers_that_panic_and_end_themselves() {
    let own = Arc::new(Mutex::new(None));
    let (calls, of_function) = (Arc::new(AtomicUsize::new(0)), own.clone());
    let counted = calls.clone();

    *own.lock().unwrap() = Tracker::new(EventKind::ALLOC, move |event| {
        if event.size_bytes == 777_777 {
            counted.fetch_add(1, Ordering::Relaxed);
            drop(of_function.lock().unwrap().take());
            assert_eq!(counted.load(Ordering::Relaxed), 0, "what a function holds lives until it returns");
        }
    });
    for _ in 0..3 {
        drop(vec![0u8; 777_777]);
    }
    assert_eq!(calls.load(Ordering::Relaxed), usize::from(mtrace::is_present()));
    wait_until_gone(&calls);
}

/// What a function held that ended its own tracker goes with a later tracker, once no other thread is in it.
fn wait_until_gone<T>(held: &Arc<T>) {
    for _ in 0..100_000 {
        if Arc::strong_count(held) == 1 {
            return;
        }
        drop(Tracker::new(EventKind::FREE, |_| ()));
        yield_now();
    }
    panic!("the function is still there");
}

/// Shows a call after its end.
struct Alive(AtomicU64);

impl Drop for Alive {
    fn drop(&mut self) {
        self.0.store(0, Ordering::SeqCst);
    }
}

fn allocate_until(is_over: &AtomicBool) {
    while !is_over.load(Ordering::Relaxed) {
        for size in 1..50 {
            black_box(vec![0u8; size]);
        }
    }
}

/// It drops its tracker in the first call that finds it; the others are in their calls meanwhile, or about to be.
fn end_inside() -> Arc<AtomicBool> {
    let own = Arc::new(Mutex::new(None));
    let ended = Arc::new(AtomicBool::new(false));
    let (of_function, says, alive) = (own.clone(), ended.clone(), Alive(AtomicU64::new(ALIVE)));

    let tracker = Tracker::new(EventKind::ALL, move |_| {
        if alive.0.load(Ordering::SeqCst) != ALIVE {
            abort();
        }
        if let Some(tracker) = of_function.try_lock().ok().and_then(|mut own| own.take()) {
            drop(tracker);
            says.store(true, Ordering::SeqCst);
        }
    });
    if tracker.is_none() {
        return Arc::new(AtomicBool::new(true)); // 16 of them are not gone yet
    }
    *own.lock().unwrap() = tracker;
    while !ended.load(Ordering::SeqCst) {
        black_box(vec![1u8; 3]);
    }
    ended
}

#[test]
fn trackers_that_end_while_other_threads_call_them() {
    if !mtrace::is_present() {
        return;
    }
    let is_over = Arc::new(AtomicBool::new(false));
    let threads: Vec<_> = (0..6)
        .map(|_| {
            let is_over = is_over.clone();
            spawn(move || allocate_until(&is_over))
        })
        .collect();
    let last: Vec<_> = (0..ROUNDS).map(|_| end_inside()).collect();
    is_over.store(true, Ordering::Relaxed);
    for thread in threads {
        thread.join().unwrap();
    }
    for held in &last {
        wait_until_gone(held);
    }
}

#[test]
fn texts_of_any_length() {
    let long = "x".repeat(100_000);
    let many: Vec<(&str, &str)> = (0..500).map(|_| ("key", "value")).collect();

    for name in ["", "short", "with\0nul", &long, &long[..1023], &long[..1024]] {
        for tags in [&[][..], &[("", "")], &[(name, name)], &many] {
            let _scope = Group::register(name, tags).enter();
            let _phase = Phase::begin(name);
            mtrace::marker(name);
        }
    }
}

#[test]
fn scopes_end_in_any_order() {
    let first = Group::intern("first", &[]).enter();
    let second = Context::capture().adopt();

    first.exit();
    second.exit();
    assert_eq!(Group::current(), Group::ROOT);
    assert_eq!(Group::intern("first", &[]).charge(|| 5), 5);
    assert_eq!(Group::current(), Group::ROOT);
}

#[test]
fn pools_and_switches() {
    let pool = Pool::new("pool");
    let memory = [0u8; 100];

    pool.alloc(&memory[0], 10);
    pool.resize(&memory[0], &memory[50], 20);
    pool.free(&memory[50]);
    pool.clear();
    Context::inherit_groups(false);
    let was_on = mtrace::is_tracking();
    mtrace::set_tracking(was_on);
    assert_eq!(mtrace::is_tracking(), was_on);
}
