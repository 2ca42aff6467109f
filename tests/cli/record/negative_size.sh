# A failed request with a negative size does not change the samples of the thread.
. "$CASES/../lib.sh"
cat >negative.c <<'EOF'
#include <stdlib.h>
int main(void)
{
    void *volatile block = malloc((size_t)-2000000000);
    volatile size_t half = (size_t)1 << (8 * sizeof(size_t) - 1);
    if (block || calloc(1, (size_t)-2000000000) || malloc(half + 1000000) || malloc(half + 1000000))
        return 1;
    for (int i = 0; i < 100000; i++) {
        block = malloc(1000);
        free(block);
    }
    return 0;
}
EOF
gcc -O0 -Wno-alloc-size-larger-than -o negative negative.c
mtrace-record -o run.dat --sample-bytes=10000 -- ./negative 2>closing.txt
n=$(sed -n 's/.* \([0-9,]*\) events.*/\1/p' closing.txt | tr -d ,)
[ "$n" -gt 5000 ] && echo "samples are drawn" || cat closing.txt
# expect stdout
#|samples are drawn
