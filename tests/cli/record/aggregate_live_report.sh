# A live report of an --aggregate recording has all totals, by SQL, too, and rows of the live blocks, which equal those of the finished log.
. "$CASES/../lib.sh"
cat >program.c <<'END'
#include <errno.h>
#include <fcntl.h>
#include <mtrace.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* Blocks live for longer than a segment lasts, or they are elided and it takes long until there is a state. */
enum { N = 20000, AT_ONCE = 100 };

static int ask(const char *request, const char *path)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    int code = mtrace_report(request, fd);

    close(fd);
    return code;
}

int main(void)
{
    static void *blocks[N];
    void *kept[3];
    struct mtrace_scope scope;
    int codes[7], next = 0;

    for (int round = 0; access("run.dat.state", F_OK) != 0 && round < 100000; round++) {
        for (int i = 0; i < AT_ONCE; i++) {
            free(blocks[next]);
            blocks[next] = malloc(10 + i);
            next = (next + 1) % N;
        }
        usleep(1000);
    }
    for (int i = 0; i < N; i++)
        free(blocks[i]);
    scope = mtrace_enter(mtrace_group_intern("cache", NULL, 0));
    for (int i = 0; i < 3; i++)
        kept[i] = malloc(7000 + i);
    mtrace_exit(scope);
    codes[0] = ask("threads --csv", "threads.live");
    codes[1] = ask("leaks --group cache --no-symbols --csv", "leaks.live");
    codes[2] = ask("by-group --size-min 7000 --csv", "rows.live");
    codes[3] = ask("export --to flamegraph.pl --measure live --at end --size-min 7000 --no-symbols", "export.live");
    codes[4] = ask("sql 'SELECT count(*), sum(size_bytes) FROM allocations WHERE size_bytes BETWEEN 7000 AND 7002' --csv", "sql.live");
    codes[5] = ask("report", "page.html");
    codes[6] = ask("sql 'SELECT count(*) AS known_threads FROM threads' --csv", "known.live");
    for (int i = 0; i < 7; i++)
        printf("%d%c", codes[i], i < 6 ? ' ' : '\n');
    free(kept[1]); /* later than all requests */
    return kept[0] == kept[2];
}
END
api=$(dirname "$(dirname "$CASES")")
gcc -O0 -fno-builtin -w -I"${api%/tests*}/include" -o program program.c
MTRACE_RING_BYTES=100000 mtrace-record -q -o run.dat --aggregate -- ./program
cat sql.live known.live
grep -c '</html>' page.html
sed 's/.* //' export.live
cut -d, -f1 rows.live
# The finished log without the third block, which was freed after the report.
mtrace-import -f --no-symbols run.dat run.db 2>/dev/null
mtrace-query sql 'SELECT count(*), sum(size_bytes) FROM allocations WHERE size_bytes BETWEEN 7000 AND 7002' --csv run.db 2>/dev/null
# expect stdout
#|0 0 0 0 0 0 0
#|count(*),sum(size_bytes)
#|3,21003
#|known_threads
#|1
#|1
#|21003
#|process_id
#|1
#|count(*),sum(size_bytes)
#|2,14002
