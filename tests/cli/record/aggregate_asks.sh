# A program that asks about itself under --aggregate has all that is made of totals, by SQL, too; a question about single blocks is refused, and says why, and what is recorded stays right.
. "$CASES/../lib.sh"
cat >program.c <<'END'
#include <errno.h>
#include <fcntl.h>
#include <mtrace.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { N = 1000 };

int main(void)
{
    static void *blocks[N];
    int totals;
    int rows;
    int sql;
    int page;

    for (int round = 0; access("run.dat.state", F_OK) != 0 && round < 100000; round++) {
        for (int i = 0; i < N; i++)
            blocks[i] = malloc(10 + i % 200);
        for (int i = 0; i < N; i++)
            free(blocks[i]);
        usleep(1000);
    }
    totals = mtrace_report("threads --csv", 1);
    rows = mtrace_report("allocations -n 2", 1);
    printf("\n%s, %s\n", totals == 0 ? "answered" : "refused", rows == EIO ? "refused" : "answered");
    fflush(stdout);
    sql = mtrace_report("sql 'SELECT count(*) AS known_threads FROM threads' --csv", 1);
    rows = mtrace_report("sql 'SELECT count(*) FROM allocations'", 1);
    page = mtrace_report("report", open("page.html", O_WRONLY | O_CREAT, 0600));
    printf("\nby SQL %d, %s; a page %d\n", sql, rows == EIO ? "refused" : "answered", page);
    return 0;
}
END
api=$(dirname "$(dirname "$CASES")")
gcc -O0 -fno-builtin -w -I"${api%/tests*}/api" -o program program.c
MTRACE_RING_BYTES=100000 mtrace-record -q -o run.dat --aggregate -- ./program | sed -n '/^thread_id/s/,.*//p; /^this question/p; /^known/,+1p; /^answered/p; $p'
grep -c '</html>' page.html
