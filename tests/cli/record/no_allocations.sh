# A recording without allocations is reported as such by recorder, importer and queries; JSON stays valid.
. "$CASES/../lib.sh"
printf 'int main(void) { return 0; }\n' >program.c
gcc -O0 -o program program.c
complain mtrace-record -o run.dat -- ./program
mtrace-import run.dat run.db >size.txt
mtrace-query run.db leaks | sed -n '/no allocation/p'
complain mtrace-query run.db leaks --json
mtrace-query report run.db -o run.html
sed -n 's/.*\(no allocation was recorded\).*/in the report: \1/p' run.html
printf '#include <stdlib.h>\nint main(void) { free(malloc(9)); return 0; }\n' >other.c
gcc -O0 -fno-builtin -o other other.c
mtrace-record -o other.dat -- ./other 2>&1 | sed -n '/no allocation/p'
mtrace-query other.dat 2>&1 | sed -n '/no allocation/p'
# expect stdout
#|status 0, lines on stderr 2
#|no allocation was recorded: the program allocated nothing while it was recorded, or has a built-in allocator; see docs/troubleshooting.md
#|[
#|]
#|status 0, lines on stderr 1
#|in the report: no allocation was recorded
# expect stderr glob
#|mtrace-record: no allocation of './program' was recorded: it allocated nothing while it was recorded, or has a built-in allocator; see docs/troubleshooting.md
#|mtrace-record: run.dat: * event; next: mtrace-query run.dat
#|mtrace-import: warning: the log has no allocations: the program allocated nothing while it was recorded, or has a built-in allocator; see docs/troubleshooting.md
#|run.db: *
#|mtrace-query: note: no allocation was recorded: the program allocated nothing while it was recorded, or has a built-in allocator; see docs/troubleshooting.md
#|mtrace-query: note: no allocation was recorded: the program allocated nothing while it was recorded, or has a built-in allocator; see docs/troubleshooting.md
