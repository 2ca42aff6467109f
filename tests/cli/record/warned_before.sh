# Warnings before the program starts: a static program, an embedded allocator that is not redirected, children that are not followed.
. "$CASES/../lib.sh"
cat >static.c <<'C'
#include <stdio.h>
#include <stdlib.h>
int main(void) { fprintf(stderr, "the program runs\n"); return malloc(1) ? 0 : 1; }
C
gcc -static -o static static.c 2>/dev/null || { echo "skipped: no static C library"; exit 77; }
cat >own.c <<'C'
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
static char arena[1 << 20];
static size_t used;
void *malloc(size_t n) { used += (n + 15) & ~(size_t)15; return arena + used; }
void free(void *p) { (void)p; }
int main(void) { char *block = malloc(777); fprintf(stderr, "the program runs\n"); free(block); return 0; }
C
gcc -O0 -fno-builtin -o own own.c
printf '#!/bin/sh\necho the program runs >&2\ntrue\n' >script
chmod +x script
first() { echo "$*" >&2; mtrace-record -f "$@" 2>&1 | sed -n '1,2p' >&2; }
first -o run.dat -- ./static
first -o run.dat -- ./own
first -o run.dat -- ./script
first -o run.dat -- sh ./script
first --follow-children -o run.dat -- ./script
first -q -o run.dat -- ./script
first -o run.dat -- sh -c 'echo the program runs >&2'
# expect stderr glob
#|-o run.dat -- ./static
#|mtrace-record: warning: nothing will be recorded of './static': it is statically linked, so no library can be preloaded; link it dynamically
#|the program runs
#|-o run.dat -- ./own
#|mtrace-record: warning: blocks of malloc inside './own' will not be recorded (with --patch they may be, see 'man mtrace-record')
#|the program runs
#|-o run.dat -- ./script
#|mtrace-record: warning: processes that sh starts will not be recorded; --follow-children records them, too
#|the program runs
#|-o run.dat -- sh ./script
#|mtrace-record: warning: processes that sh starts will not be recorded; --follow-children records them, too
#|the program runs
#|--follow-children -o run.dat -- ./script
#|the program runs
#|mtrace-record: run.dat*
#|-q -o run.dat -- ./script
#|the program runs
#|-o run.dat -- sh -c echo the program runs >&2
#|the program runs
#|mtrace-record: run.dat*
