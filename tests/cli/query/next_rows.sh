# The suggested next command names the first row and has a non-empty answer.
cat >program.c <<'EOC'
#include <malloc.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static void *volatile g_kept[200];

static void *work(void *unused)
{
    for (int i = 0; i < 100; i++)
        free(malloc(50));
    return unused;
}

int main(void)
{
    pthread_t thread;

    mallopt(M_TOP_PAD, 4096);
    g_kept[0] = malloc(10);
    for (int i = 0; i < 30; i++)
        g_kept[0] = realloc(g_kept[0], 100 + 100 * i);
    for (int i = 1; i < 200; i++)
        g_kept[i] = malloc(4000);
    for (int i = 1; i < 200; i += 2)
        free(g_kept[i]);
    pthread_create(&thread, NULL, work, NULL);
    pthread_join(thread, NULL);
    return 0;
}
EOC
gcc -g -O0 -fno-builtin -w -pthread -o program program.c
mtrace-record -q -o run.dat -- ./program
mtrace-import run.dat run.db 2>/dev/null >/dev/null
for command in leaks 'leaks --wide' leaks-by-stack temporary peak 'live --at 99%' hot groups allocations reallocs 'range --from 0s --to 90%' fragmentation pinning holes windows \
    'callees main' processes threads timeline mallopts; do
    read -ra words <<<"$command"
    next=$(mtrace-query "${words[0]}" run.db "${words[@]:1}" 2>/dev/null | sed -n 's/^next: //p')
    echo "$command: ${next%%    #*}" | sed 's/[0-9][0-9]*\(e*\)$/ID\1/'
    [ -z "$next" ] && continue
    bash -c "$next" >out.txt 2>err.txt
    case $next in
    *.svg) rm he*.svg ;;
    *) [ "$(wc -l <out.txt)" -gt 1 ] || cat out.txt ;;
    esac
    grep 'no rows' err.txt || :
done
# expect stdout
#|leaks: mtrace-query leaks run.db --site ID
#|leaks --wide: mtrace-query leaks run.db --site ID
#|leaks-by-stack: mtrace-query stack run.db ID
#|temporary: mtrace-query groups run.db --site ID
#|peak: mtrace-query groups run.db --site ID
#|live --at 99%: mtrace-query groups run.db --site ID
#|hot: mtrace-query groups run.db --site ID
#|groups: mtrace-query stack run.db ID
#|allocations: mtrace-query stack run.db ID
#|reallocs: mtrace-query groups run.db --site ID
#|range --from 0s --to 90%: mtrace-query groups run.db --site ID
#|fragmentation: mtrace-query pinning run.db
#|pinning: mtrace-query groups run.db --site ID
#|holes: mtrace-query heap-map run.db -o heaps.svg
#|windows: mtrace-query hot run.db --window ID
#|callees main: mtrace-query flamegraph run.db -o heap.svg
#|processes: mtrace-query peak run.db --process ID
#|threads: mtrace-query hot run.db --thread ID
#|timeline: mtrace-query live run.db --at peak
#|mallopts: 
