/* SPDX-License-Identifier: MIT */
//! A service charges requests, tenants and its cache; for `mtrace-record -- target/debug/examples/charge`.

use mtrace::{Context, Group, Phase, Pool};
use std::thread;

/// Gives out parts of one block.
struct Arena {
    pool: Pool, // ends before the memory does
    memory: Vec<u8>,
    used_bytes: usize,
}

impl Arena {
    fn new(name: &str, size_bytes: usize) -> Arena {
        Arena { pool: Pool::new(name), memory: vec![0; size_bytes], used_bytes: 0 }
    }

    fn take(&mut self, size_bytes: usize) -> &mut [u8] {
        let block = &mut self.memory[self.used_bytes..][..size_bytes];
        self.used_bytes += size_bytes;
        self.pool.alloc(block.as_ptr(), size_bytes);
        block
    }
}

/// The answer is the cache's from now on.
fn serve(tenant: &str, number: usize) -> Option<Box<[u8; 500]>> {
    let _scope = Group::register("request", &[("tenant", tenant)]).enter();
    let _work = vec![1u8; 1000];

    if number % 10 != 0 {
        return None;
    }
    let answer = Box::new([2u8; 500]);
    Group::intern("cache", &[]).take(&*answer);
    Some(answer)
}

fn main() {
    let serving = Phase::begin("serving");
    let cache: Vec<_> = (0..100).filter_map(|i| serve(if i % 3 == 0 { "other" } else { "acme" }, i)).collect();
    serving.end();
    mtrace::marker("served");

    let context = Group::intern("import", &[]).charge(Context::capture);
    let imported = thread::spawn(move || {
        let _scope = context.adopt();
        vec![3u8; 123_456]
    });
    let imported = imported.join().expect("the thread ends by itself");

    let mut names = Arena::new("names", 10_000);
    for _ in 0..50 {
        names.take(20)[0] = 1;
    }
    println!("{} in the cache, {} imported, {} named", cache.len(), imported.len(), names.used_bytes);
    std::mem::forget((cache, imported, names)); // stay to the end
}
