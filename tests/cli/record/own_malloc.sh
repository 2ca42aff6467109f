. "$CASES/../lib.sh"
printf '#include <stddef.h>\n#include <stdlib.h>\n#include <unistd.h>\nstatic char arena[1 << 20];\nstatic size_t used;\nvoid *malloc(size_t n) { used += (n + 15) & ~(size_t)15; return arena + used; }\nvoid free(void *p) { (void)p; }\nint main(void) { return malloc(100) != NULL ? 3 : 4; }\n' >program.c
gcc -fno-builtin -o program program.c
complain mtrace-record -o run.dat -- ./program
