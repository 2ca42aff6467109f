# Few blocks and a count of all of them cannot both be had, of a program that is run or of one that runs.
. "$CASES/../lib.sh"
complain mtrace-record --sample-bytes 1MiB --cull-temporary 10 -- true
complain mtrace-record --sample-bytes 1MiB --cull-temporary 10 --attach $$
# expect stdout
#|status 2, lines on stderr 2
#|status 2, lines on stderr 2
# expect stderr
#|mtrace-record: --cull-temporary counts all blocks, and --sample-bytes (or MTRACE_SAMPLE_BYTES) records few
#|Try 'mtrace-record --help' or 'mtrace-record --usage' for more information.
#|mtrace-record: --cull-temporary counts all blocks, and --sample-bytes (or MTRACE_SAMPLE_BYTES) records few
#|Try 'mtrace-record --help' or 'mtrace-record --usage' for more information.
