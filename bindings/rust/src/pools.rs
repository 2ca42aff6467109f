/* SPDX-License-Identifier: MIT */
//! Pools: blocks inside blocks.

use crate::table;
use crate::text;
use std::os::raw::c_void;

/// An allocator of the program's own, which takes large blocks and gives out parts of them. Its end ends all blocks in it, so it is to
/// end before the memory below them is given back: as a field in front of the one that owns the memory.
///
/// Addresses are written down and never read. absent: nothing
#[derive(Debug)]
pub struct Pool(u32);

impl Pool {
    /// A new one each time.
    pub fn new(name: &str) -> Pool {
        // SAFETY: a text with its NUL.
        Pool(table::get().map_or(0, |table| text::with_text(name, |name| unsafe { (table.pool_create)(name) })))
    }

    /// It gave out a block: to be called after it did. Null: it failed, and nothing is recorded.
    #[inline]
    pub fn alloc<T: ?Sized>(&self, block: *const T, size_bytes: usize) {
        if let Some(table) = table::get() {
            unsafe { (table.pool_alloc)(self.0, block.cast::<c_void>(), size_bytes) }
        }
    }

    /// One event: the block is now at `block` and has another size; after it happened.
    #[inline]
    pub fn resize<T: ?Sized, U: ?Sized>(&self, old_block: *const T, block: *const U, size_bytes: usize) {
        if let Some(table) = table::get() {
            unsafe { (table.pool_resize)(self.0, old_block.cast::<c_void>(), block.cast::<c_void>(), size_bytes) }
        }
    }

    /// To be called before another thread can be given the block.
    #[inline]
    pub fn free<T: ?Sized>(&self, block: *const T) {
        if let Some(table) = table::get() {
            unsafe { (table.pool_free)(self.0, block.cast::<c_void>()) }
        }
    }

    /// Ends all blocks in it; it may be used on.
    #[inline]
    pub fn clear(&self) {
        if let Some(table) = table::get() {
            unsafe { (table.pool_destroy)(self.0) }
        }
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        self.clear();
    }
}
