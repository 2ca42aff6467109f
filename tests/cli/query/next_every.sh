# Each command of the list that prints a next command prints one that is accepted, and has rows.
. "$CASES/../fixture.sh"
make_fixture rows.db "$source/tests/sql/code.sql" "$CASES/../fixtures/rows.sql"
sqlite3 -bail rows.db <"$source/tests/sql/image.sql"
sqlite3 rows.db <<'END'
INSERT INTO unmatched_frees (unmatched_free_id, process_id, thread_id, at_ns, backtrace_id, call, address) VALUES (1, 1, 2, 45000000, 8, 'free', 0x30010);
INSERT INTO allocation_groups VALUES (2, 'request');
INSERT INTO allocation_group_tags VALUES (2, 'tenant', 'acme & co');
INSERT INTO group_rows VALUES (2, 2, NULL), (3, 2, NULL);
INSERT INTO group_totals(process_id, group_id, allocated_blocks, allocated_bytes, freed_blocks, freed_bytes, freed_elsewhere_blocks, freed_elsewhere_bytes,
  moved_in_blocks, moved_in_bytes, moved_out_blocks, moved_out_bytes, leaked_blocks, leaked_bytes, peak_bytes, peak_ns) VALUES (1, 2, 2, 250, 0, 0, 0, 0, 0, 0, 0, 0, 2, 250, 250, 50);
INSERT INTO tag_totals(process_id, key, value, allocated_blocks, allocated_bytes, freed_blocks, freed_bytes, freed_elsewhere_blocks, freed_elsewhere_bytes,
  moved_in_blocks, moved_in_bytes, moved_out_blocks, moved_out_bytes, leaked_blocks, leaked_bytes, peak_bytes)
  VALUES (1, 'tenant', 'acme & co', 2, 250, 0, 0, 0, 0, 0, 0, 0, 0, 2, 250, 250);
INSERT INTO phases (phase_id, process_id, depth, name, start_ns, allocated_blocks, allocated_bytes, freed_blocks, freed_bytes, live_start_bytes, live_end_bytes,
  peak_bytes, leaked_blocks, leaked_bytes, first_allocation_id, last_allocation_id) VALUES (1, 1, 1, 'load', 0, 5, 300, 0, 0, 0, 0, 300, 2, 250, 2, 6);
INSERT INTO mmaps VALUES (1, 1, 1, 1, 4, 0x10000, 8192, 3, 0x22, NULL, 0, NULL, 1000000000, 3000000000, 1, 7, NULL, 4096, 2000000000);
DELETE FROM site_growth;
INSERT INTO site_growth(process_id, call_site_id, snapshots, from_bytes, to_bytes, pattern, since_ns, until_ns, bytes_per_s) VALUES (1, 2, 64, 0, 9000000, 'steady', 0, 90000000, 1);
END
cp rows.db other.db
sqlite3 other.db "UPDATE backtrace_totals SET allocated_bytes = allocated_bytes + 5000 WHERE backtrace_id = 4 AND process_id = 1"
set_words() { # the arguments of commands that need some
    case $1 in
    block | why) words=(0x10080) ;;
    live) words=(--at peak) ;;
    range) words=(--from 10ms --to 80ms) ;;
    callers | callees) words=(main) ;;
    lines) words=(main.c) ;;
    diff) words=(other.db) ;;
    stack) words=(4) ;;
    export) words=(--to json) ;;
    sql) words=('SELECT 1') ;;
    describe) words=(leaks) ;;
    flamegraph | heap-map) words=(-o drawn.svg) ;;
    report) words=(-o page.html) ;;
    *) words=() ;;
    esac
}
for command in $(mtrace-query none rows.db 2>&1 | sed -n 's/.*commands: //p' | tr -d ,); do
    [ "$command" != holes ] || continue # without tables of heaps there is nothing to draw: see next_rows.sh
    for more in '' --stacks --wide '--process 1'; do
        set_words "$command"
        # shellcheck disable=SC2086
        mtrace-query "$command" rows.db "${words[@]}" $more 2>/dev/null | sed -n 's/^next: //p' >next.txt || :
        rm -f drawn.svg page.html
        while read -r next; do
            [ "$more" ] || echo "$command: ${next%%    #*}"
            bash -c "$next" >out.txt 2>err.txt || { echo "$command $more: $next"; cat err.txt; }
            grep -q 'no rows' err.txt && echo "$command $more: no rows: $next"
            rm -f he*.svg
        done <next.txt
    done
done
# expect stdout
#|summary: mtrace-query leaks rows.db
#|leaks: mtrace-query leaks rows.db --process 1 --site 3
#|leaks: mtrace-query leaks rows.db --process 2 --site 1
#|leaks-by-stack: mtrace-query stack rows.db 6
#|temporary: mtrace-query groups rows.db --site 2
#|peak: mtrace-query groups rows.db --site 3
#|live: mtrace-query groups rows.db --site 3
#|hot: mtrace-query groups rows.db --site 2
#|groups: mtrace-query stack rows.db 6
#|allocations: mtrace-query stack rows.db 4
#|block: mtrace-query stack rows.db 4
#|growth: mtrace-query groups rows.db --site 2
#|range: mtrace-query groups rows.db --site 3
#|by-group: mtrace-query groups rows.db --group 2
#|by-tag: mtrace-query groups rows.db --tag tenant='acme & co'
#|phases: mtrace-query groups rows.db --phase 1
#|tree: mtrace-query callees rows.db main
#|callers: mtrace-query flamegraph rows.db -o heap.svg
#|callees: mtrace-query flamegraph rows.db -o heap.svg
#|diff: mtrace-query diff rows.db other.db --measure allocated
#|processes: mtrace-query peak rows.db --process 1
#|timeline: mtrace-query live rows.db --at peak
#|mmaps: mtrace-query stack rows.db 4
#|lost: mtrace-query leaks rows.db --site 3 --stacks
#|retained: mtrace-query why rows.db 0x10080
#|errors: mtrace-query block rows.db 0x30010
