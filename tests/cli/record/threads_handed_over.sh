# Threads that reuse a number are distinct: blocks left to the next thread are not temporary, and events of last destructors belong to the
# old thread. Counts equal the program's own.
. "$CASES/../lib.sh"
cat >program.c <<'END_C'
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>

/* ---- one thread after the other: 5,000 bytes from each to the next, 100 bytes of its own ---- */

static void *left;

static void *work(void *argument)
{
    free(left);
    left = malloc(5000);
    free(malloc(100));
    return argument;
}

static int run_thread(void)
{
    pthread_t thread;

    return pthread_create(&thread, NULL, work, NULL) || pthread_join(thread, NULL);
}

/* ---- one that is still in its last destructors while the next one has its number already ---- */

static pthread_key_t key;
static sem_t may_end, may_begin, has_left;
static void *given;
static int n_rounds;

/* Of a key that is younger than the collector's: of each round it is the last. */
static void destroy(void *value)
{
    if (++n_rounds < 4) {
        pthread_setspecific(key, value);
        return;
    }
    sem_post(&may_begin);
    sem_wait(&may_end);
    free(given);
    for (int i = 0; i < 10; i++)
        free(malloc(700));
    sem_post(&has_left);
}

static void *be_first(void *argument)
{
    free(malloc(100));
    pthread_setspecific(key, &key);
    return argument;
}

static void *be_second(void *argument)
{
    sem_wait(&may_begin);
    given = malloc(5000);
    sem_post(&may_end);
    sem_wait(&has_left);
    return argument;
}

static int overlap(void)
{
    pthread_t threads[2];

    if (sem_init(&may_end, 0, 0) || sem_init(&may_begin, 0, 0) || sem_init(&has_left, 0, 0)
        || pthread_key_create(&key, destroy) || pthread_create(&threads[0], NULL, be_first, NULL)
        || pthread_create(&threads[1], NULL, be_second, NULL))
        return 1;
    return pthread_join(threads[0], NULL) || pthread_join(threads[1], NULL);
}

int main(int argc, char **argv)
{
    free(malloc(100));
    if (argc == 1)
        return overlap();
    for (int i = 0; i < atoi(argv[1]); i++)
        if (run_thread())
            return 1;
    return 0;
}
END_C
gcc -O0 -fno-builtin -w -o program program.c -lpthread
temporary="SELECT from_bytes <= 5000 AND to_bytes >= 5000, sum(allocated_blocks), sum(temporary_blocks) FROM size_classes
    WHERE 5000 BETWEEN from_bytes AND to_bytes OR 100 BETWEEN from_bytes AND to_bytes GROUP BY 1"
for most in 0 1 40; do
    for how in --no-cull --aggregate; do
        [ $how = --aggregate ] && options="-f --aggregate" || options=-f
        MTRACE_MAX_THREADS=$most mtrace-record $options -q -o run.dat -- ./program 300
        mtrace-import -f --no-symbols run.dat run.db 2>/dev/null
        echo "at most $most $options: all, temporary of 100 bytes, of 5000:"
        sqlite3 run.db "$temporary"
        sqlite3 run.db "SELECT count(*), count(DISTINCT name) FROM threads"
        mtrace-query run.db threads -n 1 2>&1 >/dev/null
        [ $how = --aggregate ] || sqlite3 run.db "SELECT count(*), count(intervening_allocations), count(free_thread_id) FROM allocations WHERE size_bytes = 5000"
    done
done
MTRACE_MAX_THREADS=1 mtrace-record -f -q -o run.dat -- ./program
mtrace-import -f --no-symbols run.dat run.db 2>/dev/null
echo "in destructors: blocks of 700 bytes by thread, and who frees the 5000, temporary or not:"
sqlite3 run.db "SELECT coalesce(name, 'not known'), tid, count(*) FROM allocations JOIN threads USING (thread_id) WHERE size_bytes = 700 GROUP BY thread_id"
sqlite3 run.db "SELECT t.name, coalesce(f.name, 'not known'), intervening_allocations IS NULL FROM allocations a JOIN threads t USING (thread_id) LEFT JOIN threads f ON f.thread_id = free_thread_id WHERE size_bytes = 5000"
# expect stdout
#|at most 0 -f: all, temporary of 100 bytes, of 5000:
#|0|301|301
#|1|300|0
#|301|1
#|300|0|299
#|at most 0 -f --aggregate: all, temporary of 100 bytes, of 5000:
#|0|301|301
#|1|300|0
#|301|1
#|at most 1 -f: all, temporary of 100 bytes, of 5000:
#|0|301|301
#|1|300|0
#|2|2
#|mtrace-query: note: 299 threads share a row with others (MTRACE_MAX_THREADS): a row called 'other threads' stands for several, one after the other
#|300|0|299
#|at most 1 -f --aggregate: all, temporary of 100 bytes, of 5000:
#|0|301|301
#|1|300|0
#|2|2
#|mtrace-query: note: 299 threads share a row with others (MTRACE_MAX_THREADS): a row called 'other threads' stands for several, one after the other
#|at most 40 -f: all, temporary of 100 bytes, of 5000:
#|0|301|301
#|1|300|0
#|41|2
#|mtrace-query: note: 260 threads share a row with others (MTRACE_MAX_THREADS): a row called 'other threads' stands for several, one after the other
#|300|0|299
#|at most 40 -f --aggregate: all, temporary of 100 bytes, of 5000:
#|0|301|301
#|1|300|0
#|41|2
#|mtrace-query: note: 260 threads share a row with others (MTRACE_MAX_THREADS): a row called 'other threads' stands for several, one after the other
#|in destructors: blocks of 700 bytes by thread, and who frees the 5000, temporary or not:
#|not known|0|10
#|other threads|not known|1
