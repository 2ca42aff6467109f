# The first help screen fits a terminal; lists of commands, filters and options, and help of one command, work in every word order.
. "$CASES/../lib.sh"
mtrace-query --help
mtrace-query --help | awk 'length > 80 || NR > 24'
for words in help -h '-?' 'run.db --help'; do
    cmp <(mtrace-query $words) <(mtrace-query --help)
done
cmp <(mtrace-query leaks --help) <(mtrace-query help leaks)
mtrace-query help leaks
mtrace-query help diff | sed -n "/^Columns/p"
mtrace-query help commands | sed -n 1,3p
mtrace-query help filters | sed -n 4,5p
mtrace-query help filters | grep -A1 only_temporary
mtrace-query help options | sed -n 1,3p
mtrace-query --usage
complain mtrace-query help filtres
# expect stdout
#|Usage: mtrace-query [COMMAND] run.db [FILTER...] [OPTION...]
#|Start here
#|  summary         what to look at first (also without a command)
#|  leaks           blocks that were never freed, by call site
#|  temporary       blocks freed right after they were allocated
#|  peak            call sites that held the memory when it was highest
#|  growth          call sites whose live bytes keep rising
#|  fragmentation   why the process is larger than its live blocks
#|  flamegraph      the call tree as a picture: -o heap.svg
#|  report          everything on one HTML page: -o report.html
#|  diff B.db       what changed between two recordings
#|  sql STATEMENT   your own query: sql run.db 'SELECT ...'
#|
#|More commands, explained by 'mtrace-query help commands'
#|  Call stacks:    leaks-by-stack live hot groups by-function by-module tree ...
#|  Single blocks:  allocations block range reallocs lost why held retained ...
#|  Address space:  pinning holes heap-map mmaps mallopts
#|  Process, time:  windows processes flows threads timeline ...
#|  With mtrace.h:  by-group by-tag by-pool objects unclaimed claimed-twice ...
#|  Exports, SQL:   export views describe
#|
#|Filters: --from 10s --to 20s --size-min 4KiB --function-regex parse --at 50%
#|Options: -n ROWS -w (wide) --stacks --json --csv -o FILE -f (overwrite)
#|More:    mtrace-query help filters, help options, help COMMAND
#|Usage: mtrace-query leaks run.db [OPTION...]
#|call sites whose blocks were never freed
#|
#|Filters: all
#|Columns: mtrace-query describe leaks
#|All filters and options: mtrace-query help filters, mtrace-query help options
#|Columns: change_bytes, change_blocks, before_bytes, after_bytes, function, source, line, module
#|Start here
#|  summary         the one screen to look at first (the default)
#|  leaks           call sites whose blocks were never freed
#|  --from=TIME             allocated at this time or later
#|  --to=TIME               allocated at this time or earlier; of export: the
#|  --lifetime=WORD         all, only_leaked, only_chain_leaked, only_temporary
#|                          (bytehound's name: freed before the end), …
#|Which process or call site
#|  --process=ID            only this process
#|  --site=ID               only this call site
#|Usage: mtrace-query [COMMAND] run.db [FILTER...] [OPTION...]
#|status 2, lines on stderr 2
# expect stderr
#|mtrace-query: unknown command 'filtres'; commands: summary, leaks, leaks-by-stack, temporary, peak, live, hot, groups, allocations, block, growth, range, reallocs, fragmentation, pinning, holes, heap-map, by-function, by-module, by-group, by-tag, by-pool, objects, unclaimed, claimed-twice, spare-capacity, object-growth, phases, windows, tree, flamegraph, report, callers, callees, lines, diff, processes, flows, threads, timeline, mmaps, mallopts, allocation-failures, lost, why, held, retained, errors, realloc-chains, size-histogram, lifetime-histogram, unwind-quality, stack, export, sql, views, describe
#|Try 'mtrace-query --help'.
