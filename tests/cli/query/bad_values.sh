# A value that cannot be used: one line says which option, which value, and what may be written.
. "$CASES/../lib.sh"
. "$CASES/../fixture.sh"
make_fixture rows.db "$source/tests/sql/code.sql" "$CASES/../fixtures/rows.sql"
complain mtrace-query allocations rows.db --address-min 0xg
complain mtrace-query allocations rows.db --sise-min 4
complain mtrace-query allocations rows.db --kind nothing
complain mtrace-query allocations rows.db --to 101%
complain mtrace-query allocations rows.db --function-regex "a(b"
complain mtrace-query allocations rows.db --size-min 5x
complain mtrace-query allocations rows.db --thread nobody
complain mtrace-query allocations rows.db --from 5x
complain mtrace-query allocations rows.db --lifetime foo
complain mtrace-query leaks run.db -n many
complain mtrace-query leaks run.db --process 9
complain mtrace-query leaks run.db --sort-by bites
complain mtrace-query leaks run.db --format xml
# expect stdout
#|status 2, lines on stderr 2
#|status 2, lines on stderr 2
#|status 2, lines on stderr 2
#|status 2, lines on stderr 2
#|status 2, lines on stderr 2
#|status 2, lines on stderr 2
#|status 2, lines on stderr 2
#|status 2, lines on stderr 2
#|status 2, lines on stderr 2
#|status 2, lines on stderr 2
#|status 1, lines on stderr 1
#|status 2, lines on stderr 2
#|status 2, lines on stderr 2
# expect stderr
#|mtrace-query: --address-min: '0xg' is not an address; write it as 0x7f00 or in decimal
#|Try 'mtrace-query --help'.
#|mtrace-query: unknown option '--sise-min'; did you mean --size-min?
#|Try 'mtrace-query --help'.
#|mtrace-query: --kind: 'nothing' is none of malloc, calloc, realloc, aligned_alloc
#|Try 'mtrace-query --help'.
#|mtrace-query: --to: '101%' is not a percentage; write a number from 0 to 100 with %
#|Try 'mtrace-query --help'.
#|mtrace-query: 'a(b' is not a regular expression: missing closing parenthesis at character 4
#|Try 'mtrace-query --help'.
#|mtrace-query: --size-min: '5x' is not a size; write bytes, or a number with KiB, MiB, GiB or TiB
#|Try 'mtrace-query --help'.
#|mtrace-query: --thread: 'nobody' is none of 1, 2, 3, 4, 812, 820, 813, 814, server, pool, server, sh
#|Try 'mtrace-query --help'.
#|mtrace-query: --from: '5x' is not a time; write seconds, or numbers with d, h, m, s, ms, us or ns, as in 4m12s
#|Try 'mtrace-query --help'.
#|mtrace-query: --lifetime: 'foo' is none of all, only_leaked, only_chain_leaked, only_not_deallocated_in_current_range, only_deallocated_in_current_range, only_temporary, only_whole_group_leaked
#|Try 'mtrace-query --help'.
#|mtrace-query: --count 'many': a whole number is expected
#|Try 'mtrace-query --help'.
#|mtrace-query: 'run.db' has no process 9; mtrace-query processes lists them
#|mtrace-query: 'bites' is not a sort key of leaks; allowed: process_id, leaked_bytes, leaked_blocks, share_of_site, function, source, line, module, call_site_id, stacks, leaked_first_ns, leaked_last_ns, pattern, usually_freed_in, suppressed_by, weight, leaked_bytes_margin, leaked_blocks_margin
#|Try 'mtrace-query --help'.
#|mtrace-query: --format 'xml': table, json or csv is expected
#|Try 'mtrace-query --help'.
