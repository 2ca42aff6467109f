. "$CASES/../lib.sh"
. "$CASES/../fixture.sh"
complain mtrace-query diff run.db
complain mtrace-query diff run.db --at 1s
complain mtrace-query diff run.db --at 1s --at 2s --measure leaked
complain mtrace-query diff run.db missing.db
complain mtrace-query diff run.db run.db run.db
# expect stdout
#|status 2, lines on stderr 2
#|status 2, lines on stderr 2
#|status 2, lines on stderr 2
#|status 1, lines on stderr 1
#|status 2, lines on stderr 2
# expect stderr
#|mtrace-query: diff needs two databases, or two times: --at A --at B
#|Try 'mtrace-query --help'.
#|mtrace-query: diff needs two databases, or two times: --at A --at B
#|Try 'mtrace-query --help'.
#|mtrace-query: diff of two times counts live blocks, not leaked ones
#|Try 'mtrace-query --help'.
#|mtrace-query: cannot open 'missing.db': No such file or directory
#|mtrace-query: unexpected argument 'run.db'
#|Try 'mtrace-query --help'.
