# A block allocated before ld.so finished relocating the collector, unknown to every real allocator, can be freed and resized.
. "$CASES/../lib.sh"
cat >early.c <<'END'
#include <stdlib.h>
static void *blocks[2];
static int answer(void) { return 42; }
static int (*resolve(void))(void)
{
    blocks[0] = malloc(100);
    blocks[1] = malloc(100);
    return answer;
}
int ask(void) __attribute__((ifunc("resolve")));
void *early_block(int i) { return blocks[i]; }
END
# relocated behind that one and before what is preloaded, it has the resolver asked in between
cat >asking.c <<'END'
int ask(void);
static int (*asking)(void) = ask;
int asked(void) { return asking(); }
END
cat >main.c <<'END'
#include <stdio.h>
#include <stdlib.h>
void *early_block(int i);
int asked(void);
int main(void)
{
    char *block = early_block(0);
    free(block);
    block = realloc(early_block(1), 5000);
    free(block);
    printf("%d\n", asked());
    return 0;
}
END
gcc -shared -fPIC -o libearly.so early.c -Wl,-z,now
gcc -shared -fPIC -o libasking.so asking.c -L. -learly -Wl,-rpath,"$PWD"
gcc -o main main.c -L. -lasking -learly -Wl,-rpath,"$PWD" -Wl,-z,now
./main
mtrace-record -q -o run.dat -- ./main
mtrace-record -q -o sampled.dat --sample-bytes 1MiB -- ./main
# expect stdout
#|42
#|42
#|42
