# Short-lived threads and libraries leave no definitions in a bounded log beyond the first ones: its size does not depend on their number.
# Totals include all.
. "$CASES/../lib.sh"
cat >library.c <<'END'
#include <stdlib.h>

void *give(void)
{
    return malloc(33);
}
END
cat >program.c <<'END'
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>

static void *kept[1000];

static void *work(void *argument)
{
    for (int i = 0; i < 20; i++)
        free(malloc(100 + i));
    *(void **)argument = malloc(77);
    return NULL;
}

static int run_thread(void *place)
{
    pthread_t thread;

    return pthread_create(&thread, NULL, work, place) || pthread_join(thread, NULL);
}

/* Its link map is elsewhere each time. */
static int open_library(void **place)
{
    void *library = dlopen("./libgive.so", RTLD_NOW);
    void *(*give)(void) = library ? (void *(*)(void))dlsym(library, "give") : NULL;

    if (!give)
        return 1;
    free(give());
    *place = malloc(1 + rand() % 2000);
    return dlclose(library);
}

int main(int argc, char **argv)
{
    int n = atoi(argv[2]);

    for (int i = 0; i < n; i++)
        if (*argv[1] == 't' ? run_thread(&kept[i]) : open_library(&kept[i]))
            return 1;
    return 0;
}
END
gcc -O0 -fno-builtin -w -shared -fPIC -Wl,--build-id -o libgive.so library.c
gcc -O0 -fno-builtin -w -o program program.c -lpthread -ldl
export MTRACE_MAX_THREADS=100
sums="SELECT sum(allocated_blocks), sum(allocated_bytes), sum(freed_blocks), sum(freed_bytes), sum(leaked_blocks), sum(leaked_bytes)"
for what in threads libraries; do
    for n in 200 500; do
        mtrace-record -f -q -o $n.dat --aggregate -- ./program $what $n
        mtrace-import -f --no-symbols $n.dat $n.db 2>/dev/null
    done
    # samples of memory come by the clock: a hundred bytes or so for each tenth of a second; three hundred definitions have 7,000 at least
    few=$(stat -c %s 200.dat)
    [ "$(stat -c %s 500.dat)" -lt $((few + 3000)) ] && echo "$what: no more is defined" || stat -c "%n has %s bytes" 200.dat 500.dat
    MTRACE_MAX_THREADS=0 mtrace-record -f -q -o plain.dat -- ./program $what 500
    mtrace-import -f --no-symbols plain.dat plain.db 2>/dev/null
    for table in threads backtrace_totals; do
        columns=$sums
        [ $table = threads ] || columns="SELECT sum(allocated_blocks), sum(allocated_bytes), sum(freed_blocks), sum(freed_bytes)"
        for name in plain 500; do
            sqlite3 $name.db "$columns FROM $table" >$name.sums
        done
        cmp plain.sums 500.sums && echo "$what: sums of $table"
    done
    [ $what = libraries ] || sqlite3 500.db "SELECT name, count(*), sum(allocated_blocks), sum(freed_blocks), sum(leaked_blocks) FROM threads GROUP BY name ORDER BY name"
    [ $what = libraries ] || mtrace-query 500.db threads -n 1 2>&1 >/dev/null
done
sqlite3 500.db "SELECT count(*), sum(unloaded_ns IS NOT NULL) FROM modules JOIN objects USING (object_id) WHERE path GLOB '*/libgive.so'"
# expect stdout
#|threads: no more is defined
#|threads: sums of threads
#|threads: sums of backtrace_totals
#|other threads|1|8421|8020|401
#|program|100|2080|1980|100
#|mtrace-query: note: 400 threads share a row with others (MTRACE_MAX_THREADS): a row called 'other threads' stands for several, one after the other
#|libraries: no more is defined
#|libraries: sums of threads
#|libraries: sums of backtrace_totals
#|1|0
