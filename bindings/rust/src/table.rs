/* SPDX-License-Identifier: MIT */
//! The table of functions that libmtrace.so exports, as `struct mtrace_api` of mtrace.h has it, and where it is.
//!
//! It is asked for by name, once: a weak reference, as the header has, is nothing that stable Rust can write down. The pointer
//! is one of three: null, not asked yet; `&ABSENT`; the table, which stays for ever.

use crate::trackers::Event;
use std::mem::size_of;
use std::os::raw::{c_char, c_int, c_uint, c_void};
use std::ptr::{addr_of, null_mut};
use std::sync::atomic::{AtomicPtr, Ordering};

/// `struct mtrace_scope`
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct RawScope {
    group: u32,
    depth: u32,
    owner: u64,
}

/// `struct mtrace_context`
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct RawContext {
    pub group: u32,
    pub parent: u64,
}

/// `struct mtrace_tag`
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct RawTag {
    pub key: *const c_char,
    pub value: *const c_char,
}

/// What went wrong or was left out, of this process so far.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Events that are missing in the recording.
    pub dropped: u64,
    /// Scopes that were ended already, or are another thread's.
    pub stale_exits: u64,
    /// Ids of groups and pools that no call gave.
    pub bad_handles: u64,
    /// Groups without memory for them; they are [`Group::ROOT`](crate::Group::ROOT).
    pub refused_groups: u64,
    /// Registered and interned.
    pub groups: u64,
    /// Frees and moves of blocks, or all events of a block, that no tracker got.
    pub unreported: u64,
}

/// `struct mtrace_api`: the same members in the same order.
#[repr(C)]
pub(crate) struct Table {
    pub version: u32,
    pub size_bytes: u32,
    pub present: unsafe extern "C" fn() -> bool,
    pub group_register: unsafe extern "C" fn(*const c_char, *const RawTag, usize) -> u32,
    pub group_intern: unsafe extern "C" fn(*const c_char, *const RawTag, usize) -> u32,
    pub enter: unsafe extern "C" fn(u32) -> RawScope,
    pub exit: unsafe extern "C" fn(RawScope),
    pub current_group: unsafe extern "C" fn() -> u32,
    pub r#move: unsafe extern "C" fn(*mut c_void, u32) -> bool,
    pub context_capture: unsafe extern "C" fn() -> RawContext,
    pub context_adopt: unsafe extern "C" fn(RawContext) -> RawScope,
    pub inherit_groups: unsafe extern "C" fn(bool),
    pub tracking: unsafe extern "C" fn(bool),
    pub is_tracking: unsafe extern "C" fn() -> bool,
    pub marker: unsafe extern "C" fn(*const c_char),
    pub phase_begin: unsafe extern "C" fn(*const c_char) -> RawScope,
    pub phase_end: unsafe extern "C" fn(RawScope),
    pub counters: unsafe extern "C" fn(*mut Counters, usize),
    pub pool_create: unsafe extern "C" fn(*const c_char) -> u32,
    pub pool_alloc: unsafe extern "C" fn(u32, *const c_void, usize),
    pub pool_resize: unsafe extern "C" fn(u32, *const c_void, *const c_void, usize),
    pub pool_free: unsafe extern "C" fn(u32, *const c_void),
    pub pool_destroy: unsafe extern "C" fn(u32),
    pub objects: *const c_void,
    pub group_of: unsafe extern "C" fn(*const c_void) -> u32,
    pub tracker_add:
        unsafe extern "C" fn(unsafe extern "C" fn(*const Event, *mut c_void), *mut c_void, c_uint) -> c_int,
    pub tracker_remove: unsafe extern "C" fn(c_int, bool) -> c_int,
    pub report: unsafe extern "C" fn(*const c_char, c_int) -> c_int,
    pub heap_image: unsafe extern "C" fn(*const c_char) -> c_int,
}

static FOUND: AtomicPtr<Table> = AtomicPtr::new(null_mut());
static ABSENT: u8 = 0;

/// None: absent.
#[inline]
pub(crate) fn get() -> Option<&'static Table> {
    let mut found = FOUND.load(Ordering::Acquire);
    if found.is_null() {
        found = find();
    }
    if found == absent() {
        None
    } else {
        // SAFETY: a table that find() has checked, in a library that is never unloaded.
        Some(unsafe { &*found })
    }
}

#[inline]
fn absent() -> *mut Table {
    addr_of!(ABSENT) as *mut Table
}

#[cold]
fn find() -> *mut Table {
    extern "C" {
        fn dlsym(handle: *mut c_void, name: *const c_char) -> *mut c_void;
        fn dlerror() -> *mut c_char;
    }
    // SAFETY: the name ends with its NUL. What the symbol leads to begins with version and size, and is read on only if those say
    // that it has all members that are known here. What was not found is nobody's error.
    let found = unsafe {
        let table = dlsym(null_mut(), b"mtrace_api_2\0".as_ptr().cast()) as *mut Table;
        if table.is_null() {
            dlerror();
            absent()
        } else if (*table).version >= 2 && (*table).size_bytes as usize >= size_of::<Table>() {
            table
        } else {
            absent()
        }
    };
    FOUND.store(found, Ordering::Release);
    found
}
