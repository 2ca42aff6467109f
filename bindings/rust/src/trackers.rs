/* SPDX-License-Identifier: MIT */
//! Trackers: functions that are called on each event.
//!
//! The function is counted (`Arc`) by the tracker and by each call of it that is under way: mtrace waits for calls in other threads before a
//! tracker is gone, and a function that ends its own tracker stays until it returns.

use crate::table;
use std::ops::BitOr;
use std::os::raw::{c_int, c_void};
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::Arc;

/// One kind of event, or several: `EventKind::ALLOC | EventKind::FREE`.
#[repr(transparent)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct EventKind(u32);

impl EventKind {
    /// Before the program has the block.
    pub const ALLOC: EventKind = EventKind(1);
    /// Before the allocator has it back.
    pub const FREE: EventKind = EventKind(2);
    /// A realloc, which is one event.
    pub const RESIZE: EventKind = EventKind(4);
    /// All of them.
    pub const ALL: EventKind = EventKind(7);
}

impl BitOr for EventKind {
    type Output = EventKind;

    fn bitor(self, other: EventKind) -> EventKind {
        EventKind(self.0 | other.0)
    }
}

/// What a tracker is told: `struct mtrace_event`. 0: not known.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Event {
    /// One of them.
    pub kind: EventKind,
    /// That the block is charged to; RESIZE: was, until now.
    pub group: u32,
    /// Of this thread; RESIZE: charged to it from now on.
    pub current_group: u32,
    /// Has the number of the recording's thread.
    pub thread_id: u32,
    /// That allocated the block.
    pub alloc_thread_id: u32,
    /// Equal for equal stacks; not the number in the database.
    pub stack_id: u32,
    /// Where the block was allocated.
    pub alloc_stack_id: u32,
    /// Of the block.
    pub address: *const c_void,
    /// RESIZE: where it was; else null.
    pub old_address: *const c_void,
    /// As asked for.
    pub size_bytes: usize,
    /// As the allocator gave.
    pub usable_bytes: usize,
    /// RESIZE: until now.
    pub old_size_bytes: usize,
    /// RESIZE: until now.
    pub old_usable_bytes: usize,
    /// Since the recording began.
    pub time_ns: u64,
}

type Callback = Box<dyn Fn(&Event) + Send + Sync>;

/// A function that is called on each event, up to the end of this value.
#[must_use = "the function is called as long as this value lives"]
pub struct Tracker {
    handle: c_int,
    callback: *const Callback,
}

// SAFETY: the function is Send and Sync, and a tracker may be removed in any thread.
unsafe impl Send for Tracker {}
// SAFETY: nothing can be done with a &Tracker.
unsafe impl Sync for Tracker {}

impl Tracker {
    /// From now on the function is called on each event of the kinds, in the thread that causes it. What it allocates and frees itself is
    /// told to nobody. It may take locks that nobody holds while it allocates, and must return; a panic ends in it. None: absent, or
    /// more than 16 at once.
    pub fn new(kinds: EventKind, function: impl Fn(&Event) + Send + Sync + 'static) -> Option<Tracker> {
        let table = table::get()?;
        let callback = Arc::into_raw(Arc::new(Box::new(function) as Callback));
        // SAFETY: the Arc is given back in Drop, once nobody else runs the function.
        let handle = unsafe { (table.tracker_add)(call, callback as *mut c_void, kinds.0) };
        // One that could not be added ends here, and with it the function.
        let tracker = Tracker { handle, callback };
        if handle > 0 {
            Some(tracker)
        } else {
            None
        }
    }
}

impl Drop for Tracker {
    fn drop(&mut self) {
        if let (1.., Some(table)) = (self.handle, table::get()) {
            unsafe { (table.tracker_remove)(self.handle) };
        }
        // SAFETY: of Arc::into_raw; no other thread runs the function, and this one, if it does, holds a count of its own.
        drop(unsafe { Arc::from_raw(self.callback) });
    }
}

unsafe extern "C" fn call(event: *const Event, user: *mut c_void) {
    let callback = user as *const Callback;
    // SAFETY: `user` is what Arc::into_raw gave, and lives until Drop has waited for this call.
    let callback = unsafe {
        Arc::increment_strong_count(callback);
        Arc::from_raw(callback)
    };
    // SAFETY: valid during the call.
    let event = unsafe { &*event };
    // The panic was reported by the hook of panics; the program's allocation goes on.
    let _ = catch_unwind(AssertUnwindSafe(|| callback(event)));
}
