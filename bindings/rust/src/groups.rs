/* SPDX-License-Identifier: MIT */
//! Groups, whom memory is charged to; scopes, within which it is; contexts, which carry a scope elsewhere.

use crate::table::{self, RawContext, RawScope, Table};
use crate::text;
use std::marker::PhantomData;
use std::os::raw::{c_char, c_void};

/// Whom memory is charged to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Group(u32);

type Make = unsafe extern "C" fn(*const c_char, *const table::RawTag, usize) -> u32;

impl Group {
    /// Charged to nobody.
    pub const UNTRACKED: Group = Group(0);
    /// Where no scope is open.
    pub const ROOT: Group = Group(1);

    /// A new one each time. absent, or no memory: [`Group::ROOT`]. Name and tags may take 8000 bytes together; of longer ones the last
    /// tags are left out, then the name is cut.
    #[inline]
    pub fn register(name: &str, tags: &[(&str, &str)]) -> Group {
        Group::make(name, tags, |table| table.group_register)
    }

    /// The same one for the same name and the same tags in the same order. absent: [`Group::ROOT`]
    #[inline]
    pub fn intern(name: &str, tags: &[(&str, &str)]) -> Group {
        Group::make(name, tags, |table| table.group_intern)
    }

    fn make(name: &str, tags: &[(&str, &str)], by: impl FnOnce(&Table) -> Make) -> Group {
        table::get().map_or(Group::ROOT, |table| {
            // SAFETY: what with_tags gives is what the table takes.
            text::with_tags(name, tags, |name, tags, n| Group(unsafe { by(table)(name, tags, n) }))
        })
    }

    /// What this thread's innermost scope charges. absent: [`Group::ROOT`]
    #[inline]
    pub fn current() -> Group {
        table::get().map_or(Group::ROOT, |table| Group(unsafe { (table.current_group)() }))
    }

    /// Whom the block is charged to. None: absent, nobody's, or not a live block that was born after the program first asked; so ask
    /// once at the start, with a null pointer. From then on each event costs more.
    #[inline]
    pub fn of<T: ?Sized>(block: *const T) -> Option<Group> {
        // SAFETY: the address is looked up, not read.
        let id = table::get().map_or(0, |table| unsafe { (table.group_of)(block.cast::<c_void>()) });
        if id == 0 {
            None
        } else {
            Some(Group(id))
        }
    }

    /// The number of the group in the recording.
    #[inline]
    pub const fn id(self) -> u32 {
        self.0
    }

    /// What this thread allocates is charged to the group until the scope ends.
    #[inline]
    pub fn enter(self) -> Scope {
        Scope::new(table::get().map_or_else(RawScope::default, |table| unsafe { (table.enter)(self.0) }))
    }

    /// The function, with what it allocates charged to the group; returns what it returns.
    #[inline]
    pub fn charge<R>(self, function: impl FnOnce() -> R) -> R {
        let _scope = self.enter();
        function()
    }

    /// From now on the block is charged to the group. false: absent, no such group, or not recorded.
    #[inline]
    pub fn take<T: ?Sized>(self, block: *const T) -> bool {
        // SAFETY: the address is written down, not read.
        table::get().map_or(false, |table| unsafe { (table.r#move)(block.cast::<c_void>() as *mut c_void, self.0) })
    }
}

/// What this thread allocates is charged to a group until the end of this value; whatever was left open inside ends with it.
#[must_use = "the scope ends with this value"]
#[derive(Debug)]
pub struct Scope {
    scope: RawScope,
    of_its_thread: PhantomData<*const ()>,
}

impl Scope {
    #[inline]
    fn new(scope: RawScope) -> Scope {
        Scope { scope, of_its_thread: PhantomData }
    }

    /// Now, and not later.
    pub fn exit(self) {}
}

impl Drop for Scope {
    #[inline]
    fn drop(&mut self) {
        if let Some(table) = table::get() {
            // SAFETY: a scope of this thread, as Scope is not Send; the table minds itself about those that have ended.
            unsafe { (table.exit)(self.scope) }
        }
    }
}

/// What is entered where it is captured, to be entered elsewhere: in another thread, task or callback.
#[derive(Clone, Copy, Debug)]
pub struct Context(RawContext);

impl Context {
    /// Of this thread, now.
    #[inline]
    pub fn capture() -> Context {
        Context(
            table::get()
                .map_or(RawContext { group: Group::ROOT.0, parent: 0 }, |table| unsafe { (table.context_capture)() }),
        )
    }

    /// Entered here, in this thread.
    #[inline]
    pub fn adopt(self) -> Scope {
        Scope::new(table::get().map_or_else(RawScope::default, |table| unsafe { (table.context_adopt)(self.0) }))
    }

    /// Threads made from now on begin in their creator's group, not in [`Group::ROOT`].
    #[inline]
    pub fn inherit_groups(on: bool) {
        if let Some(table) = table::get() {
            unsafe { (table.inherit_groups)(on) }
        }
    }
}
