. "$CASES/../lib.sh"
cat >dirty.c <<'EOF'
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
int main(void)
{
    char *volatile block = malloc(500);
    int n = 0;
    memset(block, 7, 500);
    free(block);
    block = malloc(500);
    for (int i = 0; i < 500; i++)
        n += block[i] != 0;
    puts(n ? "dirty" : "zero");
    return 0;
}
EOF
gcc -O0 -o dirty dirty.c
./dirty
mtrace-record -q -o run.dat -- ./dirty
mtrace-record -q -o zero.dat --zero-memory -- ./dirty
mtrace-record -q -o sampled.dat --sample-bytes 1MiB --zero-memory -- ./dirty
# expect stdout
#|dirty
#|dirty
#|zero
#|zero
