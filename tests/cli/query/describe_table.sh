. "$CASES/../fixture.sh"
mtrace-query describe heap_states
# expect stdout
#|heap_states: the six parts sum to extent_bytes; of a heap with unseen_blocks all but the first three are NULL
#|
#|column                 meaning
#|snapshot_id            of the peak or the end
#|heap_id                the heap
#|extent_bytes           from the heap's start to its end at that time as far as it was sampled, els..
#|live_bytes             requested
#|slack_bytes            usable minus requested
#|overhead_bytes         the allocator's headers and its own structures, where known
#|hole_bytes             free bytes in pages that hold a live byte
#|free_page_bytes        wholly free pages below the topmost live block
#|top_bytes              wholly free pages above the topmost live block: trimmable
#|topmost_allocation_id  the block that blocks trimming, and its stack
#|topmost_backtrace_id   where that block was allocated; NULL: nothing is live
#|pages_to_25            used pages whose live blocks' usable bytes are less than a quarter of the p..
#|pages_to_50            at least a quarter and less than a half
#|pages_to_75            at least a half and less than three quarters
#|pages_to_100           the rest
