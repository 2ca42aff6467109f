/* SPDX-License-Identifier: MIT */
//! A program tells mtrace whose memory it allocates, and when: the calls of `mtrace.h`.
//!
//! * Model: nothing is linked. Where the program is recorded, `libmtrace.so` is in it and exports one table of functions, which the first
//!   call looks for by name; where it is not, every call is a load, a branch, and the value that stands here as "absent:".
//! * Threads: all calls, from any thread. What is entered belongs to its thread, so [`Scope`] is not `Send`.
//! * Signals: after a first call elsewhere ([`is_present`]), groups may be entered and left, and instants marked, in handlers.
//! * Failure: nothing panics. What cannot be done is counted: [`counters`].
//!
//! ```
//! use mtrace::Group;
//!
//! let cache = Group::intern("cache", &[("component", "index")]);
//! let kept = {
//!     let _scope = cache.enter();
//!     vec![0u8; 1000] // charged to the cache
//! };
//! # drop(kept);
//! ```
#![deny(unsafe_op_in_unsafe_fn, missing_docs)]

#[cfg(not(all(target_os = "linux", target_pointer_width = "64")))]
compile_error!("mtrace records 64-bit programs on Linux");

mod groups;
mod pools;
mod table;
mod text;
mod trackers;

pub use groups::{Context, Group, Scope};
pub use pools::Pool;
pub use table::Counters;
pub use trackers::{Event, EventKind, Tracker};

use std::io;
use std::mem::size_of;
use std::os::unix::io::{AsFd, AsRawFd};

const ENOTCONN: i32 = 107;

/// Is the program recorded? absent: false; also in a child that is not followed.
#[inline]
pub fn is_present() -> bool {
    table::get().map_or(false, |table| unsafe { (table.present)() })
}

/// Of the collector. absent: 0
#[inline]
pub fn api_version() -> u32 {
    table::get().map_or(0, |table| table.version)
}

/// Recording of allocations on or off, for the whole process. While it is off the ends of recorded blocks are recorded: live figures
/// never drift.
#[inline]
pub fn set_tracking(on: bool) {
    if let Some(table) = table::get() {
        unsafe { (table.tracking)(on) }
    }
}

/// absent: false
#[inline]
pub fn is_tracking() -> bool {
    table::get().map_or(false, |table| unsafe { (table.is_tracking)() })
}

/// A named instant.
#[inline]
pub fn marker(text: &str) {
    if let Some(table) = table::get() {
        text::with_text(text, |text| unsafe { (table.marker)(text) });
    }
}

/// What went wrong or was left out, of this process so far. absent: all zero
#[inline]
pub fn counters() -> Counters {
    let mut counters = Counters::default();
    if let Some(table) = table::get() {
        // SAFETY: no more is written than the size that is known here.
        unsafe { (table.counters)(&mut counters, size_of::<Counters>()) }
    }
    counters
}

/// A named time of the whole process, up to the end of this value, in whichever thread. Phases may overlap.
#[must_use = "the phase ends with this value"]
#[derive(Debug)]
pub struct Phase(table::RawScope);

impl Phase {
    /// The phase begins now.
    #[inline]
    pub fn begin(name: &str) -> Phase {
        Phase(table::get().map_or_else(table::RawScope::default, |table| {
            text::with_text(name, |name| unsafe { (table.phase_begin)(name) })
        }))
    }

    /// Now, and not later.
    pub fn end(self) {}
}

impl Drop for Phase {
    #[inline]
    fn drop(&mut self) {
        if let Some(table) = table::get() {
            unsafe { (table.phase_end)(self.0) }
        }
    }
}

/// Asks what `mtrace-query` would answer about this process, as of this instant, and writes it to `to`: `"by-group --csv"`,
/// `"groups --size-min 4KiB"`. The words are split and quoted as by a shell. Waits for the answer, while other threads go on.
///
/// # Errors
/// `NotConnected`: absent, or recorded without mtrace-record. `InvalidInput`: not understood; why was written to `to`. ERANGE: the
/// rule of `--fail-if` holds; the answer was written all the same. Else what the operating system said.
pub fn report(request: &str, to: impl AsFd) -> io::Result<()> {
    let code = table::get().map_or(ENOTCONN, |table| {
        let fd = to.as_fd().as_raw_fd();
        text::with_text(request, |request| unsafe { (table.report)(request, fd) })
    });
    match code {
        0 => Ok(()),
        code => Err(io::Error::from_raw_os_error(code)),
    }
}

/// Notes which blocks the program can reach now, for `mtrace-query lost`, `held` and `why`. All threads stand still for about 0.5 s
/// for each GiB.
///
/// # Errors
/// `NotConnected`: absent, or recorded without mtrace-record. EIO: there is no image; mtrace-record has printed why. E2BIG: `name` has
/// more than 63 bytes.
pub fn heap_image(name: &str) -> io::Result<()> {
    match table::get().map_or(ENOTCONN, |table| text::with_text(name, |name| unsafe { (table.heap_image)(name) })) {
        0 => Ok(()),
        code => Err(io::Error::from_raw_os_error(code)),
    }
}
