# --sample-bytes and --cull-temporary exclude each other, for started and for attached programs.
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
