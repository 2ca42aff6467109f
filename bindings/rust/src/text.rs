/* SPDX-License-Identifier: MIT */
//! Texts with their NUL, as the table of functions takes them, made on the stack where they are short: telling mtrace of the program's
//! memory should not change it. A text ends at a NUL within it.

use crate::table::RawTag;
use std::mem::MaybeUninit;
use std::os::raw::c_char;
use std::ptr::null;

const SHORT_BYTES: usize = 1024;
const FEW_TAGS: usize = 16;

/// Texts one behind another, in room that is large enough for all of them.
struct Texts {
    next: *mut u8,
}

impl Texts {
    /// # Safety
    /// There are at least as many bytes as the text has, and one more.
    unsafe fn add(&mut self, text: &str) -> *const c_char {
        let begin = self.next;
        unsafe {
            begin.copy_from_nonoverlapping(text.as_ptr(), text.len());
            begin.add(text.len()).write(0);
            self.next = begin.add(text.len() + 1);
        }
        begin as *const c_char
    }
}

/// Room for n of T: on the stack, or by Vec where more than FEW are wanted.
fn with_room<T: Copy, R, const FEW: usize>(n: usize, use_it: impl FnOnce(*mut T) -> R) -> R {
    if n <= FEW {
        let mut room = [MaybeUninit::<T>::uninit(); FEW];
        use_it(room.as_mut_ptr().cast())
    } else {
        let mut room = Vec::<T>::with_capacity(n);
        use_it(room.as_mut_ptr())
    }
}

pub(crate) fn with_text<R>(text: &str, use_it: impl FnOnce(*const c_char) -> R) -> R {
    with_room::<u8, R, SHORT_BYTES>(text.len() + 1, |room| {
        // SAFETY: there is as much room as was asked for.
        use_it(unsafe { Texts { next: room }.add(text) })
    })
}

pub(crate) fn with_tags<R>(
    name: &str,
    tags: &[(&str, &str)],
    use_it: impl FnOnce(*const c_char, *const RawTag, usize) -> R,
) -> R {
    let n_bytes = tags.iter().fold(name.len() + 1, |sum, (key, value)| sum + key.len() + value.len() + 2);
    with_room::<u8, R, SHORT_BYTES>(n_bytes, |room| {
        let mut texts = Texts { next: room };
        // SAFETY: the room is as large as all of them together.
        let name = unsafe { texts.add(name) };
        with_room::<RawTag, R, FEW_TAGS>(tags.len(), |table| {
            for (i, (key, value)) in tags.iter().enumerate() {
                // SAFETY: as above; and table has room for tags.len().
                unsafe { table.add(i).write(RawTag { key: texts.add(key), value: texts.add(value) }) };
            }
            use_it(name, if tags.is_empty() { null() } else { table }, tags.len())
        })
    })
}
