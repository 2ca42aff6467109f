# Every command evaluates --fail-if for its rows or refuses the option; a check that is ignored would never fail.
. "$CASES/../fixture.sh"
make_fixture rows.db "$source/tests/sql/code.sql" "$CASES/../fixtures/rows.sql"
sqlite3 -bail rows.db <"$source/tests/sql/image.sql"
for command in $(mtrace-query qqqqqqqq 2>&1 | sed -n 's/.*commands: //p' | tr -d ,); do
    case $command in
        live) set -- --at 50% ;; range) set -- --from 50% ;; block) set -- 0x1000 ;; callers|callees) set -- main ;; lines) set -- session.c ;; diff) set -- --at 10% --at 50% ;;
        heap-map|flamegraph) set -- -o picture.svg ;; stack) set -- 4 ;; export) set -- --to json ;; sql) set -- 'SELECT 1' ;; describe) set -- leaks ;;
        *) set -- ;;
    esac
    status=0
    mtrace-query "$command" rows.db "$@" --fail-if 'nonsense > 1' >answer 2>&1 || status=$?
    test $status = 2 || echo "$command took a column that there is not: status $status"
    status=0
    mtrace-query "$command" rows.db "$@" --fail-if 1 --csv >answer 2>&1 || status=$?
    rows=$(($(wc -l <answer) - 1))
    case $status in
        0) test $rows -le 0 || echo "$command did not fail" ;;
        2) echo "$command: $(sed -n 1p answer)" ;;
        3) echo "$command: failed" ;;
        *) echo "$command: status $status" ;;
    esac
done
# expect stdout
#|summary: failed
#|leaks: failed
#|leaks-by-stack: failed
#|temporary: failed
#|peak: failed
#|live: failed
#|hot: failed
#|groups: failed
#|allocations: failed
#|range: failed
#|holes: failed
#|heap-map: mtrace-query: --fail-if applies to rows, and heap-map has none
#|windows: failed
#|tree: failed
#|flamegraph: mtrace-query: --fail-if applies to rows, and flamegraph has none
#|report: mtrace-query: --fail-if applies to rows, and report has none
#|callers: failed
#|callees: failed
#|lines: failed
#|diff: failed
#|processes: failed
#|threads: failed
#|mmaps: failed
#|lost: failed
#|why: mtrace-query: --fail-if applies to rows, and why has none
#|held: failed
#|retained: failed
#|realloc-chains: failed
#|size-histogram: failed
#|lifetime-histogram: failed
#|unwind-quality: failed
#|stack: mtrace-query: --fail-if applies to rows, and stack has none
#|export: mtrace-query: --fail-if applies to rows, and export has none
#|sql: mtrace-query: --fail-if applies to rows, and sql has none
#|views: mtrace-query: --fail-if applies to rows, and views has none
#|describe: mtrace-query: --fail-if applies to rows, and describe has none
