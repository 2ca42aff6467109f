# Few blocks and a count of all of them cannot both be had, of a program that is run or of one that runs.
. "$CASES/../lib.sh"
complain mtrace-record --sample-bytes 1MiB --cull-temporary 10 -- true
complain mtrace-record --sample-bytes 1MiB --cull-temporary 10 --attach $$
