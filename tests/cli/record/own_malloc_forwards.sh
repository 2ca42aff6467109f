# A program whose malloc forwards to the next definition is recorded, and the last lines say what may be missing.
. "$CASES/../lib.sh"
cat >program.c <<'END'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>

static unsigned long n_calls;

void *malloc(size_t n_bytes)
{
    void *(*next)(size_t);

    *(void **)&next = dlsym(RTLD_NEXT, "malloc");
    n_calls++;
    return next(n_bytes);
}

int main(void)
{
    for (int i = 0; i < 50; i++)
        if (!malloc(4777))
            return 1;
    return n_calls < 50;
}
END
gcc -O0 -fno-builtin -o program program.c -ldl
complain mtrace-record -o run.dat -- ./program
mtrace-import run.dat run.db >import.txt 2>&1 || cat import.txt
mtrace-query run.db sql 'SELECT count(*) AS blocks, sum(is_leaked) AS leaked FROM allocations WHERE size_bytes = 4777'
# expect stdout
#|status 0, lines on stderr 2
#|blocks  leaked
#|    50      50
# expect stderr glob
#|mtrace-record: './program' is recorded in part: it defines its own malloc*
#|mtrace-record: run.dat: * events; next: mtrace-query run.dat
