# SPDX-License-Identifier: MIT
# shellcheck shell=bash
. "$CASES/../fixture.sh"
# case describe
mtrace-query describe leaks
# expect stdout
#|leaks: one row per call site whose blocks were never freed by the end of their process.
#|
#|pattern says how these blocks came, by the rule of the view _site_shapes:
#|  'once': a single block.
#|  'burst': half of the bytes or more came in one of 64 parts of the analysis range; or there are two blocks.
#|  'plateau': nine tenths came in the first two thirds; or the call site stopped growing: new blocks replaced old ones.
#|  'saw tooth': as plateau, and live bytes once fell to less than a half.
#|  'late': nine tenths came in the second half; the leak continues.
#|  'steady': everything else; the leak continues.
#|If the process was killed or is still running, leaked means live at that time (processes.end_kind).
#|Rows are sorted by weight: leaked_bytes times 64 if the leak continues. Suppressed rows come last.
#|A call site with some suppressed stacks has a row for each rule, and one for the other stacks.
#|
#|column                meaning
#|process_id            joins processes
#|leaked_bytes          requested bytes never freed
#|leaked_blocks         blocks never freed
#|share_of_site         leaked_blocks as a share of all blocks of the stacks that leak, 0 to 1; othe..
#|function              function of the call site; NULL: unknown
#|source                its source file; NULL: no debug information
#|line                  line in source
#|module                file that holds the code; NULL: code outside any file
#|call_site_id          joins call_sites; NULL: the stack has no call site
#|stacks                distinct stacks that leak here
#|leaked_first_ns       when the first leaked block was allocated
#|leaked_last_ns        when the last leaked block was allocated
#|pattern               'steady', 'late', 'burst', 'plateau', 'saw tooth' or 'once'; NULL: less than..
#|usually_freed_in      call site that frees most of the other blocks of these stacks; NULL: none we..
#|suppressed_by         rule that removes this row from reports; NULL: none
#|weight                sort key of the rows
#|leaked_bytes_margin   half of the width of the 95 % interval of leaked_bytes; NULL: it is exact
#|leaked_blocks_margin  the same of leaked_blocks
#|verdict               of the last heap image: 'lost' if the program could reach less than half of ..
# case all
# Every column of every public table and view has a meaning.
mtrace-query views --format csv | cut -d, -f1 | tail -n +2 | while read -r name; do
    mtrace-query describe "$name" --format csv | sed -nE "/,(\"\")?\$/s/^/$name: /p"
done
# case table
mtrace-query describe heap_states
# expect stdout
#|heap_states: parts of a heap at a snapshot. The six parts sum to extent_bytes; if the heap has unseen_blocks, the columns from overhead_bytes on are NULL
#|
#|column                 meaning
#|snapshot_id            snapshot of the peak or the end
#|heap_id                the heap
#|extent_bytes           from the start of the heap to its end at that time if it was sampled, else ..
#|live_bytes             requested bytes of live blocks
#|slack_bytes            usable minus requested bytes of live blocks
#|overhead_bytes         headers and own structures of the allocator, where known
#|hole_bytes             free bytes in pages that hold a live byte
#|free_page_bytes        wholly free pages below the topmost live block
#|top_bytes              wholly free pages above the topmost live block: trimmable
#|topmost_allocation_id  live block at the highest address, which prevents trimming
#|topmost_backtrace_id   stack that allocated that block; NULL: no block is live
#|pages_to_25            used pages of which live blocks fill less than a quarter (by usable bytes)
#|pages_to_50            used pages filled to at least a quarter and less than a half
#|pages_to_75            used pages filled to at least a half and less than three quarters
#|pages_to_100           all other used pages
