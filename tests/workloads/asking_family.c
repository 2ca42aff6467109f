/* SPDX-License-Identifier: MIT */
/*
 * asking_family FOLDER N_CHILDREN N_BLOCKS: a process and its fork children, several at a time,
 * request reports about themselves, alternately and together. Each writes its answers to
 * FOLDER/WHO.N.REQUEST, and its own counts to FOLDER/WHO.N.books, for tests/e2e/live_reports.py:
 * lines "group blocks bytes live_blocks live_bytes".
 */
#include "include/mtrace.h"
#include "tests/workloads/workload.h"

#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/wait.h>

enum {
    MAX_GROUPS = 64,
    N_KEPT = 1 << 16,
};

struct books {
    long blocks, bytes, live_blocks, live_bytes;
};

static struct books books[MAX_GROUPS];
static void *kept[N_KEPT];
static size_t n_kept;
static const char *folder;
static char who[32];
static int n_asked;

static const char *const requests[][2] = {
    {"groups", "by-group --csv --count 0"},
    {"tags", "by-tag --csv --count 0"},
    {"processes", "processes --csv"},
    {"threads", "threads --csv --count 0"},
    {"live", "live --at end --csv --count 0"},
    {"rows",
     "sql 'SELECT group_id, count(*) AS blocks, sum(size_bytes) AS bytes FROM allocations WHERE free_ns IS NULL GROUP BY 1' --csv --count 0"},
};

/* Every third block stays. */
static void work(uint32_t group, int n_blocks, size_t size_bytes)
{
    struct mtrace_scope scope = mtrace_enter(group);

    for (int i = 0; i < n_blocks; i++) {
        void *block = malloc(size_bytes);
        books[group].blocks++;
        books[group].bytes += (long)size_bytes;
        if (i % 3 || n_kept == N_KEPT) {
            free(block);
            continue;
        }
        kept[n_kept++] = block;
        books[group].live_blocks++;
        books[group].live_bytes += (long)size_bytes;
    }
    mtrace_exit(scope);
}

static int open_file(const char *what)
{
    char path[512];

    snprintf(path, sizeof(path), "%s/%s.%d.%s", folder, who, n_asked, what);
    return open(path, O_WRONLY | O_CREAT | O_TRUNC, 0666);
}

static void ask(void)
{
    int fd;

    n_asked++;
    for (size_t i = 0; i < sizeof(requests) / sizeof(requests[0]); i++) {
        fd = open_file(requests[i][0]);
        int code = mtrace_report(requests[i][1], fd);
        if (code)
            dprintf(STDERR_FILENO, "%s %d %s: %s\n", who, n_asked, requests[i][0],
                    strerrorname_np(code));
        close(fd);
    }
    fd = open_file("books");
    for (uint32_t group = 0; group < MAX_GROUPS; group++)
        if (books[group].blocks)
            dprintf(fd, "%u %ld %ld %ld %ld\n", group, books[group].blocks, books[group].bytes,
                    books[group].live_blocks, books[group].live_bytes);
    close(fd);
}

/* Blocks from before the fork are its parent's. */
static void be_child(int number, int n_blocks)
{
    struct mtrace_tag tag = {"child", who};

    snprintf(who, sizeof(who), "child%d", number);
    memset(books, 0, sizeof(books));
    n_asked = 0;
    uint32_t own = mtrace_group_intern(who, &tag, 1); /* each process has this number for another
                                                       * one */
    work(own, n_blocks + number, 100 + (size_t)number);
    ask();
    work(own, n_blocks, 50);
    ask();
    _exit(0);
}

int main(int argc, char **argv)
{
    int n_children = argc > 2 ? atoi(argv[2]) : 2;
    int n_blocks = argc > 3 ? atoi(argv[3]) : 30;

    folder = argc > 1 ? argv[1] : ".";
    snprintf(who, sizeof(who), "parent");
    uint32_t common = mtrace_group_intern("common", NULL, 0);
    work(common, n_blocks, 1000);
    ask();
    for (int i = 0; i < n_children; i++)
        if (fork() == 0)
            be_child(i, n_blocks);
    uint32_t own = mtrace_group_intern("parent", NULL, 0);
    work(own, n_blocks, 700);
    ask();
    while (wait(NULL) > 0)
        continue;
    work(own, n_blocks, 600);
    ask();
    return 0;
}
