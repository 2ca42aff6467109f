. "$CASES/../lib.sh"
. "$CASES/../fixture.sh"
complain mtrace-query diff run.db
complain mtrace-query diff run.db --at 1s
complain mtrace-query diff run.db --at 1s --at 2s --measure leaked
complain mtrace-query diff run.db missing.db
complain mtrace-query diff run.db run.db run.db
