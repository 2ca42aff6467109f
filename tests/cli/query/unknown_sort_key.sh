. "$CASES/../fixture.sh"
mtrace-query leaks run.db --sort-by bites
# expect status 2
# expect stderr
#|mtrace-query: 'bites' is not a sort key of leaks; allowed: process_id, leaked_bytes, leaked_blocks, share_of_site, function, source, line, module, call_site_id, stacks, leaked_first_ns, leaked_last_ns, pattern, usually_freed_in, suppressed_by, weight, leaked_bytes_margin, leaked_blocks_margin
#|Try 'mtrace-query --help'.
