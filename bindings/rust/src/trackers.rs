/* SPDX-License-Identifier: MIT */
//! Trackers: functions that are called on each event.
//!
//! The function is counted (`Arc`) by the tracker and by each call of it that is under way: a function that ends its own tracker stays until
//! it returns. Between mtrace's call and its count there is a moment that only mtrace can see: dropping a tracker waits for it, but
//! inside of a function, where nobody may wait. What other threads may still be about to call there is parked, and goes with a later tracker.

use crate::table;
use std::ops::BitOr;
use std::os::raw::{c_int, c_void};
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicI32, AtomicPtr, Ordering};
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
    /// To another group, by [`Group::take`](crate::Group::take); earlier collectors tell of none.
    pub const MOVE: EventKind = EventKind(8);
    /// All of them.
    pub const ALL: EventKind = EventKind(15);
}

impl BitOr for EventKind {
    type Output = EventKind;

    fn bitor(self, other: EventKind) -> EventKind {
        EventKind(self.0 | other.0)
    }
}

/// An event for a tracker: `struct mtrace_event`. 0: not known.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Event {
    /// One of them.
    pub kind: EventKind,
    /// That the block is charged to; RESIZE, MOVE: was, until now.
    pub group: u32,
    /// Of this thread; RESIZE: charged to it from now on; MOVE: to this one, whichever group the thread is in.
    pub current_group: u32,
    /// Has the number of the recording's thread; MOVE: who moves it.
    pub thread_id: u32,
    /// That allocated the block.
    pub alloc_thread_id: u32,
    /// Equal for equal stacks; not the number in the database. MOVE: 0.
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

/// A function, and what it needs to be parked.
struct Callback {
    function: Box<dyn Fn(&Event) + Send + Sync>,
    handle: AtomicI32,
    next: AtomicPtr<Callback>,
}

impl Callback {
    fn new(function: impl Fn(&Event) + Send + Sync + 'static) -> Callback {
        Callback { function: Box::new(function), handle: AtomicI32::new(0), next: AtomicPtr::new(null_mut()) }
    }
}

/// Those whose trackers were dropped inside of a function while other threads were in them: a list without a lock, as functions run
/// in the midst of allocations, and a fork child may begin there.
static PARKED: AtomicPtr<Callback> = AtomicPtr::new(null_mut());

const EBUSY: c_int = 16;

/// Of the table.
type Remove = unsafe extern "C" fn(c_int, bool) -> c_int;

/// A function that is called on each event, up to the end of this value. Dropping it waits for other threads that run the function;
/// inside of any function it does not, and what the function holds may then go only when a later tracker is made or dropped.
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
    /// Calls the function on each event of the kinds from now on, in the thread that causes it. Events of the function itself are not
    /// reported. It must return, and may take only locks that no thread holds while it allocates; a panic ends in it. None: absent, or
    /// more than 16 trackers.
    pub fn new(kinds: EventKind, function: impl Fn(&Event) + Send + Sync + 'static) -> Option<Tracker> {
        let table = table::get()?;
        work_off_parked(table.tracker_remove);
        let callback = Arc::into_raw(Arc::new(Callback::new(function)));
        // SAFETY: the Arc is given back by end(), once no other thread is in the function.
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
            // SAFETY: from here on nobody knows the handle, or the pointer, but those who are in the function.
            unsafe { end(table.tracker_remove, self.callback, self.handle, true) };
            work_off_parked(table.tracker_remove);
        } else {
            // SAFETY: of Arc::into_raw; it was never added.
            drop(unsafe { Arc::from_raw(self.callback) });
        }
    }
}

/// Gives the tracker's count back if no other thread is in the function, else parks it.
///
/// # Safety
/// The callback is of Arc::into_raw, and that count nobody else's to give back.
unsafe fn end(remove: Remove, callback: *const Callback, handle: c_int, waits: bool) {
    // SAFETY: of the table. Not busy: no other thread is in the function or will be; this one, if it is, holds a count of its own.
    unsafe {
        if remove(handle, waits) == EBUSY {
            park(&*callback, handle);
        } else {
            drop(Arc::from_raw(callback));
        }
    }
}

/// Its count goes along.
fn park(callback: &Callback, handle: c_int) {
    let own = callback as *const Callback as *mut Callback;
    let mut first = PARKED.load(Ordering::Relaxed);

    callback.handle.store(handle, Ordering::Relaxed);
    loop {
        callback.next.store(first, Ordering::Relaxed);
        match PARKED.compare_exchange_weak(first, own, Ordering::Release, Ordering::Relaxed) {
            Ok(_) => return,
            Err(now) => first = now,
        }
    }
}

/// Never waits: the caller may hold what a parked function waits for.
fn work_off_parked(remove: Remove) {
    let mut parked: *const Callback = PARKED.swap(null_mut(), Ordering::Acquire);

    while !parked.is_null() {
        // SAFETY: the whole list is this thread's now, and what is in it lives until end().
        unsafe {
            let (handle, next) = ((*parked).handle.load(Ordering::Relaxed), (*parked).next.load(Ordering::Relaxed));
            end(remove, parked, handle, false);
            parked = next;
        }
    }
}

unsafe extern "C" fn call(event: *const Event, user: *mut c_void) {
    let callback = user as *const Callback;
    // SAFETY: `user` is what Arc::into_raw gave; end() lets nothing go as long as mtrace says that another thread is in here.
    let callback = unsafe {
        Arc::increment_strong_count(callback);
        Arc::from_raw(callback)
    };
    // SAFETY: valid during the call.
    let event = unsafe { &*event };
    // The panic was reported by the hook of panics; the program's allocation goes on.
    let _ = catch_unwind(AssertUnwindSafe(move || (callback.function)(event)));
}

#[cfg(test)]
mod tests {
    use super::*;

    static SAID: AtomicI32 = AtomicI32::new(EBUSY);
    static ASKED: AtomicI32 = AtomicI32::new(0);

    unsafe extern "C" fn say(handle: c_int, _waits: bool) -> c_int {
        ASKED.fetch_add(handle, Ordering::Relaxed);
        SAID.load(Ordering::Relaxed)
    }

    #[test]
    fn what_another_thread_may_call_stays() {
        let held = Arc::new(());
        for handle in [1, 10] {
            let of_function = held.clone();
            let callback = Arc::into_raw(Arc::new(Callback::new(move |_| drop(of_function.clone()))));
            // SAFETY: nobody calls it.
            unsafe { end(say, callback, handle, true) };
        }
        for n_asked in [11, 22] {
            assert_eq!((Arc::strong_count(&held), ASKED.load(Ordering::Relaxed)), (3, n_asked));
            work_off_parked(say);
        }
        SAID.store(0, Ordering::Relaxed);
        work_off_parked(say);
        assert_eq!((Arc::strong_count(&held), ASKED.load(Ordering::Relaxed)), (1, 44));
    }
}
