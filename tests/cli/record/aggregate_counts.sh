# mtrace-record, mtrace-import and summary report the same numbers for a bounded and a plain log; with one thread the peak is exact.
. "$CASES/../lib.sh"
cat >program.c <<'END'
#include <stdlib.h>

int main(void)
{
    for (int i = 0; i < 50000; i++)
        free(malloc(16 + i % 100));
    return 0;
}
END
gcc -O0 -fno-builtin -w -o program program.c
mtrace-record -o plain.dat -- ./program 2>plain.txt
mtrace-record -o run.dat --aggregate -- ./program 2>run.txt
for name in plain run; do
    mtrace-import --no-symbols $name.dat $name.db 2>$name.import
    sed 's/.*, \([0-9,]* allocations from [0-9,]* events\),.*/\1/' $name.import >$name.counts
done
cmp plain.counts run.counts && echo "as many allocations and events"
for name in plain run; do
    sed -n 's/.*, \([0-9,]*\) events.*/\1/p' $name.txt >$name.printed
done
cmp plain.printed run.printed && echo "as many events are said"
elided=$(sed -n 's/.* events, \([0-9,]*\) blocks elided.*/\1/p' run.txt)
mtrace-query summary run.db | sed -n "s/^elided      $elided blocks/as many elided as was said/p"
# expect stdout
#|as many allocations and events
#|as many events are said
#|as many elided as was said, all of them freed soon: in all totals, without rows
