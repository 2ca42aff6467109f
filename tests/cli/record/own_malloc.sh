# A program's own malloc is recorded by its name with --patch; without --patch the last line says why no event was recorded.
. "$CASES/../lib.sh"
printf '#include <stddef.h>\n#include <stdlib.h>\n#include <unistd.h>\nstatic char arena[1 << 20];\nstatic size_t used;\nvoid *malloc(size_t n) { used += (n + 15) & ~(size_t)15; return arena + used; }\nvoid free(void *p) { (void)p; }\nint main(void) { free(malloc(200)); return malloc(100) != NULL ? 3 : 4; }\n' >program.c
gcc -O0 -fno-builtin -o program program.c
complain mtrace-record -o run.dat -- ./program
complain mtrace-record --patch -o run.dat -- ./program
mtrace-import run.dat run.db >import.txt 2>&1 || cat import.txt
mtrace-query run.db sql 'SELECT size_bytes, is_leaked FROM allocations WHERE size_bytes IN (100, 200) ORDER BY size_bytes'
# expect stdout
#|status 3, lines on stderr 2
#|status 3, lines on stderr 1
#|size_bytes  is_leaked
#|     100 B          1
#|     200 B          0
# expect stderr glob
#|mtrace-record: warning: blocks of malloc inside './program' will not be recorded (with --patch they may be*)
#|mtrace-record: nothing was recorded of './program': *malloc*
#|mtrace-record: run.dat: * events; next: mtrace-query run.dat
