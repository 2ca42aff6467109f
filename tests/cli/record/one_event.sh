# A count of one is printed in the singular.
. "$CASES/../lib.sh"
cat >program.c <<'EOF'
#include <stdlib.h>

static void *volatile g_kept;

int main(void)
{
    g_kept = malloc(10);
    return 0;
}
EOF
gcc -O0 -fno-builtin -o program program.c
mtrace-record -o run.dat -- ./program 2>&1 | sed 's/: [^,]*, /: /'
mtrace-import --no-symbols run.dat run.db 2>&1 | sed 's/: [^,]*, /: /; s/, in .*//'
mtrace-query leaks run.db | sed -n '/^leaked/s/; [^;]*$//p'
# expect stdout
#|mtrace-record: 3 events; next: mtrace-query run.dat
#|run.db: 1 allocation from 3 events, 1 process
#|leaked 10 B in 1 block of 1 site
