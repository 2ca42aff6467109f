# A database with omitted tables refuses reports and SQL that need them, and names what is omitted. Queries on totals still work.
. "$CASES/../fixture.sh"
make_fixture rows.db "$source/tests/sql/code.sql" "$CASES/../fixtures/rows.sql"
for command in threads groups flows by-group; do mtrace-query $command rows.db; done > whole
sqlite3 rows.db "INSERT INTO meta VALUES ('lean', 4)"
for command in threads groups flows by-group; do mtrace-query $command rows.db; done | cmp - whole && echo same
for command in hot leaks summary growth heap-map; do mtrace-query $command rows.db || echo "$command $?"; done
mtrace-query sql "SELECT count(*) FROM site_leaks" rows.db || echo "sql $?"
mtrace-query sql "SELECT name FROM groups AS g JOIN (SELECT count(*) AS name FROM heap_pages) LIMIT 1" rows.db || echo "view $?"
for command in hot allocations "tree nowhere" nonsense threads; do mtrace-query --about rows.db $command > about.out 2>&1 && echo "$command is answered" || echo "about: $command $?"; done
sqlite3 rows.db "DELETE FROM meta WHERE key = 'slim'; INSERT INTO meta VALUES ('slim', 1)"
mtrace-query --about rows.db allocations || echo "about: allocations $?"
# What a command needs by the table of commands (--await) is what it really needs, for every set of omitted tables.
cat > needs.py <<'END'
import socket, subprocess, sys
own, its = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
query = subprocess.Popen(["mtrace-query", "--await", "--about", "rows.db", *sys.argv[1:]], stdin=its, stderr=subprocess.DEVNULL)
its.close()
needs, = own.recv(8)
own.close()
assert query.wait() == 1
print(needs)
END
known=0
commands=$({ mtrace-query nonsense 2>&1 || true; } | sed -n 's/,//g; s/.*commands: //p')
for command in $commands; do
    case $command in
        block | stack) words="$command 1" ;;
        callers | callees | lines | describe) words="$command nowhere" ;;
        live) words="live --at peak" ;;
        diff) words="diff --at 0% --at 90%" ;;
        export) words="export --to flamegraph.pl" ;;
        sql) continue ;;
        *) words=$command ;;
    esac
    # shellcheck disable=SC2086
    needs=$(python3 needs.py $words)
    for left_out in 1 2 3 4 5; do
        [ $command$left_out = heap-map1 ] && continue # there is no heap to draw
        case $needs,$((needs + left_out)) in [0-5],[!56]*) continue ;; esac # the most that it goes without, and one more
        sqlite3 rows.db "UPDATE meta SET value = $left_out WHERE key = 'lean'"
        # shellcheck disable=SC2086
        mtrace-query --about rows.db $words > about.out 2>&1 && found=0 || found=$?
        case $needs,$((needs + left_out > 5)),$found in
            [0-5],0,[46] | [0-5],1,[!4] | 6,?,6 | 7,?,[!6] | [!0-7]*) echo "$words needs $needs, ends with $found without $left_out" ;;
            *) known=$((known + 1)) ;;
        esac
    done
done
echo "needs of $((known > 95)) are known"
sqlite3 rows.db "UPDATE meta SET value = 4 WHERE key = 'lean'"
# SQL on rows of single blocks is refused through every view.
for from in allocations "allocation_rows a" "(SELECT size_bytes FROM allocations)" realloc_chains pool_blocks group_moves; do
    mtrace-query --about rows.db sql "SELECT count(*) FROM $from" || echo "sql $from $?"
done
mtrace-query --about rows.db sql "SELECT count(*) > 0 AS threads FROM threads"
# A database of a live report has no views: SQL that lists views concerns a database that has them.
for from in leaks sqlite_schema; do
    echo "$from needs $(python3 needs.py sql "SELECT count(*) FROM $from")"
done
# Waiting for a database that no process creates ends without a message.
mtrace-query --await --about rows.db threads < /dev/null || echo "await $?"
# expect stdout
#|same
#|hot 1
#|rows.db  server (process 1, pid 812), 100 ms, exited with status 0
#|leaks 1
#|summary 1
#|growth 1
#|heap-map 1
#|sql 1
#|view 1
#|about: hot 4
#|allocations is answered
#|about: tree nowhere 2
#|about: nonsense 2
#|threads is answered
#|about: allocations 6
#|needs of 1 are known
#|sql allocations 6
#|sql allocation_rows a 6
#|sql (SELECT size_bytes FROM allocations) 6
#|sql realloc_chains 6
#|sql pool_blocks 6
#|sql group_moves 6
#|threads
#|      1
#|leaks needs 1
#|sqlite_schema needs 5
#|await 1
# expect stderr
#|mtrace-query: note: no rows
#|mtrace-query: note: no rows
#|mtrace-query: note: no rows
#|mtrace-query: note: no rows
#|mtrace-query: 'rows.db' has totals only, and no site_totals
#|mtrace-query: 'rows.db' has totals only, and no site_leaks
#|mtrace-query: 'rows.db' has totals only, and no site_totals
#|mtrace-query: 'rows.db' has totals only, and no site_growth
#|mtrace-query: 'rows.db' has totals only, and no snapshots
#|mtrace-query: 'rows.db' has totals only, and no site_leaks
#|mtrace-query: 'rows.db' has totals only, and no heap_pages
#|mtrace-query: the recording has totals only, and this query needs rows of single blocks
#|mtrace-query: the recording has totals only, and no allocations
#|mtrace-query: the recording has totals only, and no allocations
#|mtrace-query: the recording has totals only, and no allocations
#|mtrace-query: the recording has totals only, and no realloc_chains
#|mtrace-query: the recording has totals only, and no pool_blocks
#|mtrace-query: the recording has totals only, and no group_moves
