. "$CASES/../fixture.sh"
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
