# A recording without allocations says so when it is recorded, imported and asked; JSON stays JSON.
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
