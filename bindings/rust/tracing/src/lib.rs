/* SPDX-License-Identifier: MIT */
//! Spans of the crate `tracing` as groups: a layer for the subscriber's registry.
//!
//! A span's group has the name of the span; its tags are those of the span around it, then the fields of its own, of which one
//! replaces the same one from outside. Spans of equal names and tags are one group. What a thread allocates inside a span is charged to
//! it, wherever and how often the span is entered: a task is charged for what it does, whichever thread polls it.
//!
//! ```
//! use tracing_subscriber::prelude::*;
//!
//! tracing_subscriber::registry().with(mtrace_tracing::SpanGroups).init();
//! let _request = tracing::info_span!("request", tenant = "acme").entered();
//! ```
#![deny(missing_docs)]

use mtrace::{is_present, Group, Scope};
use std::cell::RefCell;
use std::fmt::Debug;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::Subscriber;
use tracing_subscriber::layer::{Context, Layer};
use tracing_subscriber::registry::{LookupSpan, SpanRef};

/// The layer: `tracing_subscriber::registry().with(mtrace_tracing::SpanGroups)`. absent: does nothing
///
/// Fields recorded later count from the next time the span is entered, and for spans that begin in it from then on.
#[derive(Clone, Copy, Debug, Default)]
pub struct SpanGroups;

#[derive(Clone, Default)]
struct Tags(Vec<(&'static str, String)>);

struct SpanGroup {
    group: Group,
    tags: Tags,
}

thread_local! {
    // What this thread has entered, the innermost last.
    static ENTERED: RefCell<Vec<(u64, Scope)>> = const { RefCell::new(Vec::new()) };
}

impl Tags {
    fn set(&mut self, field: &Field, value: String) {
        match self.0.iter_mut().find(|(key, _)| *key == field.name()) {
            Some((_, old)) => *old = value,
            None => self.0.push((field.name(), value)),
        }
    }

    fn group(&self, name: &str) -> Group {
        let tags: Vec<_> = self.0.iter().map(|(key, value)| (*key, value.as_str())).collect();
        Group::intern(name, &tags)
    }
}

impl Visit for Tags {
    fn record_str(&mut self, field: &Field, value: &str) {
        self.set(field, value.to_owned());
    }

    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.set(field, format!("{value:?}"));
    }
}

fn tags_of<'a, S: LookupSpan<'a>>(span: &SpanRef<'a, S>) -> Option<Tags> {
    span.extensions().get::<SpanGroup>().map(|of| of.tags.clone())
}

impl<S: Subscriber + for<'a> LookupSpan<'a>> Layer<S> for SpanGroups {
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        if !is_present() {
            return;
        }
        let _nobody = Group::UNTRACKED.enter();
        if let Some(span) = context.span(id) {
            let mut tags = span.parent().and_then(|parent| tags_of(&parent)).unwrap_or_default();
            attributes.record(&mut tags);
            let group = tags.group(span.name());
            span.extensions_mut().replace(SpanGroup { group, tags });
        }
    }

    fn on_record(&self, id: &Id, values: &Record<'_>, context: Context<'_, S>) {
        if !is_present() {
            return;
        }
        let _nobody = Group::UNTRACKED.enter();
        if let Some(span) = context.span(id) {
            if let Some(of) = span.extensions_mut().get_mut::<SpanGroup>() {
                values.record(&mut of.tags);
                of.group = of.tags.group(span.name());
            }
        }
    }

    fn on_enter(&self, id: &Id, context: Context<'_, S>) {
        let group = context.span(id).and_then(|span| span.extensions().get::<SpanGroup>().map(|of| of.group));
        if let Some(group) = group {
            // In the last moments of a thread there is nothing to remember it by.
            let _ = ENTERED.try_with(|entered| {
                Group::UNTRACKED.charge(|| entered.borrow_mut().reserve(1));
                entered.borrow_mut().push((id.into_u64(), group.enter()));
            });
        }
    }

    fn on_exit(&self, id: &Id, _context: Context<'_, S>) {
        let _ = ENTERED.try_with(|entered| {
            let mut entered = entered.borrow_mut();
            if let Some(at) = entered.iter().rposition(|(of, _)| *of == id.into_u64()) {
                drop(entered.remove(at));
            }
        });
    }
}
