. "$CASES/../lib.sh"
. "$CASES/../fixture.sh"
complain mtrace-query tree run.db --measure live
complain mtrace-query tree run.db --measure much
complain mtrace-query tree run.db --by size
complain mtrace-query tree run.db --min-share 5
complain mtrace-query leaks run.db --measure peak
complain mtrace-query leaks run.db --by blocks
complain mtrace-query leaks run.db --invert
complain mtrace-query flamegraph run.db --format csv
complain mtrace-query flamegraph run.db --function-regex nowhere
# expect stdout
#|status 2, lines on stderr 2
#|status 2, lines on stderr 2
#|status 2, lines on stderr 2
#|status 2, lines on stderr 2
#|status 2, lines on stderr 2
#|status 2, lines on stderr 2
#|status 2, lines on stderr 2
#|status 2, lines on stderr 2
#|status 1, lines on stderr 1
# expect stderr
#|mtrace-query: --measure=live needs --at TIME: a time, a percentage of the run, peak or end
#|Try 'mtrace-query --help'.
#|mtrace-query: --measure 'much': peak, leaked, allocated, freed, temporary or live is expected
#|Try 'mtrace-query --help'.
#|mtrace-query: --by 'size': bytes or blocks is expected
#|Try 'mtrace-query --help'.
#|mtrace-query: --min-share '5': a percentage is expected, as 0.5%
#|Try 'mtrace-query --help'.
#|mtrace-query: --measure cannot be used with leaks
#|Try 'mtrace-query --help'.
#|mtrace-query: --by cannot be used with leaks
#|Try 'mtrace-query --help'.
#|mtrace-query: --bottom-up is for tree and flamegraph, not for leaks
#|Try 'mtrace-query --help'.
#|mtrace-query: pictures have the format SVG only
#|Try 'mtrace-query --help'.
#|mtrace-query: nothing to draw: server (pid 812 and 2 more): live at the peak, 0 B in 0 blocks of 0 stacks; function_regex nowhere
