. "$CASES/../fixture.sh"
mtrace-query describe leaks
# expect stdout
#|leaks: one row per call site whose blocks were never freed by the end of their process.
#|
#|pattern says how these blocks came, by the rule of the view _site_shapes: 'once': a single block. 'burst': half of the
#|bytes or more in one of 64 parts of the time that is judged, or two blocks. 'plateau': nine tenths came in the first two thirds, or the call site
#|grew no further: new blocks took the place of old ones. 'saw tooth': the same, and in between its live bytes fell to less
#|than a half. 'late': nine tenths came in the second half, and it goes on. 'steady': everything else: it will go on, too. When the
#|process was killed or is still running, leaked means live at that instant (processes.end_kind). Rows come in the order
#|of weight, which is leaked_bytes times 64 for what goes on, times 8 for a burst; suppressed rows come last.
#|A call site some of whose stacks are suppressed has a row for each rule and one for the rest.
#|
#|column                meaning
#|process_id            joins processes
#|leaked_bytes          requested bytes never freed
#|leaked_blocks         blocks never freed
#|share_of_site         leaked_blocks as a share of all blocks the call site allocated, 0 to 1
#|function              function of the call site; NULL: unknown
#|source                its source file; NULL: no debug information
#|line                  line in source
#|module                file that holds the code; NULL: code outside any file
#|call_site_id          joins call_sites; NULL: the stack has no call site
#|stacks                distinct stacks that leak here
#|leaked_first_ns       birth of the first leaked block
#|leaked_last_ns        birth of the last leaked block
#|pattern               'steady', 'late', 'burst', 'plateau', 'saw tooth' or 'once'; NULL: less than..
#|usually_freed_in      where most of the call site's other blocks are freed; NULL: none were, or no..
#|suppressed_by         the rule that leaves this row out of reports; NULL: none
#|weight                what rows are sorted by
#|leaked_bytes_margin   half of the width of the 95 % interval of leaked_bytes; NULL: it is exact
#|leaked_blocks_margin  the same of leaked_blocks
