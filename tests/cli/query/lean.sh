# What a lean import leaves out is refused by its name, in reports and in SQL; what needs totals only is answered as ever.
. "$CASES/../fixture.sh"
make_fixture rows.db "$source/tests/sql/code.sql" "$CASES/../fixtures/rows.sql"
for command in threads groups flows by-group; do mtrace-query $command rows.db; done > whole
sqlite3 rows.db "INSERT INTO meta VALUES ('lean', 1)"
for command in threads groups flows by-group; do mtrace-query $command rows.db; done | cmp - whole && echo same
for command in hot leaks summary growth heap-map; do mtrace-query $command rows.db || echo "$command $?"; done
mtrace-query sql "SELECT count(*) FROM site_leaks" rows.db || echo "sql $?"
mtrace-query sql "SELECT name FROM groups AS g JOIN (SELECT count(*) AS name FROM heap_pages) LIMIT 1" rows.db || echo "view $?"
for command in hot allocations "tree nowhere" nonsense threads; do mtrace-query --about rows.db $command > about.out 2>&1 && echo "$command is answered" || echo "about: $command $?"; done
sqlite3 rows.db "DELETE FROM meta WHERE key = 'slim'; INSERT INTO meta VALUES ('slim', 1)"
mtrace-query --about rows.db allocations || echo "about: allocations $?"
# What the table of commands says a command needs (--needs) is what it turns out to need.
known=0
commands=$({ mtrace-query nonsense 2>&1 || true; } | sed -n 's/,//g; s/.*commands: //p')
for command in $commands; do
    case $command in
        block | stack) words="$command 1" ;;
        callers | callees | lines | describe) words="$command nowhere" ;;
        live) words="live --at peak" ;;
        diff) words="diff --at 0% --at 90%" ;;
        export) words="export --to heaptrack" ;;
        sql) continue ;;
        *) words=$command ;;
    esac
    # shellcheck disable=SC2086
    mtrace-query --needs --about rows.db $words 2>/dev/null && needs=0 || needs=$?
    # shellcheck disable=SC2086
    mtrace-query --about rows.db $words > about.out 2>&1 && found=0 || found=$?
    case $needs,$found in
        16,[46] | 17,[!4] | 19,[!6] | [!1]*,*) echo "$words needs $needs, ends with $found" ;;
        *) known=$((known + 1)) ;;
    esac
done
echo "needs of $((known > 45)) are known"
# Of rows of single blocks SQL is refused, too, whatever view reads them.
for from in allocations "allocation_rows a" "(SELECT size_bytes FROM allocations)" realloc_chains pool_blocks group_moves; do
    mtrace-query --about rows.db sql "SELECT count(*) FROM $from" || echo "sql $from $?"
done
mtrace-query --about rows.db sql "SELECT count(*) > 0 AS threads FROM threads"
