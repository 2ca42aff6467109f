# Recorder and importer count the same events, also if threads use one segment after each other.
. "$CASES/../lib.sh"
cat >program.c <<'END'
#include <pthread.h>
#include <stdlib.h>

static void *work(void *argument)
{
    for (int i = 0; i < 10; i++)
        free(malloc(100));
    return argument;
}

int main(void)
{
    for (int i = 0; i < 50; i++) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, work, NULL) != 0)
            return 1;
        pthread_join(thread, NULL);
    }
    return 0;
}
END
gcc -O0 -fno-builtin -o program program.c -lpthread
for option in --sample-memory=100 --no-compress; do
    mtrace-record --force $option -o run.dat -- ./program 2>stderr.txt
    mtrace-import --force run.dat run.db >import.txt 2>&1 || cat import.txt
    printed=$(sed -n 's/.*, \([0-9,]*\) events.*/\1/p' stderr.txt | tr -d ,)
    counted=$(mtrace-query run.db sql "SELECT value FROM meta WHERE key = 'events'" --format csv | tail -1)
    [ "$printed" -gt 1000 ] && [ "$printed" = "$counted" ] && echo same || echo "mtrace-record says $printed, mtrace-import $counted"
done
# expect stdout
#|same
#|same
