/* SPDX-License-Identifier: MIT */
/*
 * Databases that others made (foreign_database.h), queried by every command and symbolized again:
 * each gives an answer or one line with the reason, within bounds, and only symbolizing changes
 * the file. The first byte of an input says where in the list of queries to begin; all of them
 * draw more queries, of any command with any filters (random_query.h).
 */
#include "importer/cli/import.h"
#include "lib/base/error.h"
#include "queries/api/queries.h"
#include "tests/fuzz/foreign_database.h"
#include "tests/fuzz/random_query.h"

#include <signal.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

enum {
    LISTED = 3, /* queries of a database */
    DRAWN = 7,
    SECONDS = 60, /* of the processor, for a database; what ends takes milliseconds */
    MEMORY_BYTES = 600 << 20
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Words of queries: "%" the database, "$" its name, name=value a parameter. */
static struct word_list queries = {
    .text = "summary %|summary % format=json|leaks %|leaks % count=0 format=csv process=1|"
            "leaks % size_min=10|leaks % function_regex=e at=98%|leaks-by-stack % count=0|"
            "temporary % count=0 lifetime_min=1ns|peak % count=0|"
            "peak % format=json source_regex=c|live % at=50%|live % at=peak|hot % count=0|"
            "hot % count=0 library_regex=lib|groups % count=0|"
            "groups % format=json lifetime=only_leaked|allocations % count=0|"
            "allocations % count=0 format=json|"
            "allocations % format=csv count=0 function_regex=a site=3|block % 0x10010|"
            "growth % count=0|growth % count=0 function_regex=a|reallocs % count=0|"
            "fragmentation % count=0|fragmentation % at=50%|pinning % count=0|"
            "pinning % at=end|holes % count=0|holes % at=60% format=json|heap-map %|"
            "heap-map %|heap-map % at=50%|by-function % count=0|"
            "by-function % count=0 size_min=1|by-module % count=0|tree %|"
            "tree % bottom_up= measure=allocated by=blocks|"
            "tree % format=csv min_share=0% measure=leaked|flamegraph %|"
            "flamegraph % measure=allocated|flamegraph % measure=live at=50%|"
            "callers % main|callees % main measure=allocated|lines % cache.c|"
            "lines % work.c measure=allocated|diff % $|diff % at=10% at=90%|"
            "processes % count=0|flows % count=0|threads % count=0|timeline % count=0|"
            "timeline %|mmaps % count=0 format=json|mallopts % count=0|"
            "allocation-failures % count=0|realloc-chains % count=0|errors % count=0|"
            "range % count=0 from=10% to=90%|size-histogram % count=0|"
            "lifetime-histogram % count=0|unwind-quality % count=0|stack % 4|"
            "stack % 8 format=json|export % process=1 to=flamegraph.pl|"
            "export % process=1 to=flamegraph.pl measure=allocated|"
            "export % process=1 to=dhat|export % process=1 to=heaptrack|"
            "export % process=1 to=json|export % process=1 to=massif|"
            "export % process=1 to=pprof|export % process=1 to=speedscope|"
            "sql % SELECT*FROM(stack_frames)LIMIT(1000)|"
            "sql % SELECT*FROM(allocations)LIMIT(1000)|resymbolize %|"
            "groups % count=9223372036854775807|"
            "leaks % count=9223372036854775807 skip=9223372036854775807"};

static char path[4096];
static char suppressions[4096 + 8];
static FILE *sink;
static const char *asked;
static unsigned long n_databases, n_queries, n_answered;

static void require(bool is_good, const char *what)
{
    if (is_good)
        return;
    (void)fprintf(stderr, "%s: %s\n", asked, what);
    abort();
}

/* The time of a case is over: prints the query, which is needed to reproduce it. */
static void end_hang(int signal)
{
    (void)signal;
    (void)!write(STDERR_FILENO, asked, strlen(asked));
    (void)!write(STDERR_FILENO, ": does not end\n", 15);
    abort();
}

static void finish(void)
{
    (void)fprintf(stderr, "%lu databases, %lu queries, %lu of them answered\n", n_databases,
                  n_queries, n_answered);
    (void)unlink(path);
    (void)unlink(suppressions);
}

static void write_suppressions(void)
{
    FILE *file;

    (void)snprintf(suppressions, sizeof(suppressions), "%s.supp", path);
    file = fopen(suppressions, "we");
    require(file && fputs("# kept\nleak:worker\nleak:^Cache*reserve$\nleak:libwork\n", file) >= 0
                && fclose(file) == 0,
            "suppressions");
}

static void set_up(void)
{
    const char *folder = getenv("TMPDIR");

    (void)snprintf(path, sizeof(path), "%s/fuzz-%ld.db", folder ? folder : "/tmp", (long)getpid());
    sink = fopen("/dev/null", "we");
    asked = "set up";
    /* Half of the time would go into SQLite's small allocations, which are not what is tested. */
    require(sqlite3_config(SQLITE_CONFIG_LOOKASIDE, 1200, 6000) == SQLITE_OK, "SQLite");
    require(sink != NULL, "/dev/null");
    require(signal(SIGPROF, end_hang) != SIG_ERR, "SIGPROF");
    write_suppressions();
    (void)atexit(finish);
}

/* An answer, or one line; never a statement of mtrace that SQLite refuses. */
static void check_result(int rc, const struct error *err)
{
    require(rc == 0 || (err->code == rc && *err->text), "failed without a word");
    require(rc == 0 || !strchr(err->text, '\n'), err->text);
    require(rc != ERROR_BUG && !strstr(err->text, "cannot run the statement"), err->text);
    require(sqlite3_memory_highwater(1) < MEMORY_BYTES, "takes too much memory");
}

static void resymbolize(void)
{
    struct symbols_options options = {.n_threads = 1};
    struct progress progress;
    struct error err = {0};

    progress_init(&progress, NULL, NULL);
    check_result(import_resymbolize(path, &options, &progress, &err), &err);
}

static void drop_note(void *context, const char *text)
{
    (void)context;
    require(*text && !strchr(text, '\n'), text);
}

/* A word of a query: "%" the database, "$" its name as an argument, name=value a parameter, else
 * an argument. */
static void emit(struct query_request *query, char *word)
{
    struct error err = {0};
    char *value = strchr(word, '=');

    if (value && queries_find_parameter(word, (size_t)(value - word)) >= 0) {
        *value++ = '\0';
        require(queries_set(query, word, *value ? value : NULL, &err) == 0, err.text);
    } else if (strcmp(word, "%") == 0) {
        require(queries_set_database(query, path, &err) == 0, err.text);
    } else {
        require(queries_add_argument(query, strcmp(word, "$") == 0 ? path : word, &err) == 0,
                err.text);
    }
}

static void ask(struct query_request *query, const struct queries_output *output)
{
    struct stat before, after;
    struct error err = {0};
    int rc;

    require(stat(path, &before) == 0, "no file");
    rc = queries_run(query, output, &err);
    check_result(rc, &err);
    n_queries++;
    n_answered += rc == 0;
    require(stat(path, &after) == 0 && after.st_mtim.tv_nsec == before.st_mtim.tv_nsec
                && after.st_size == before.st_size,
            "changed the file");
    queries_free(query);
}

static void ask_listed(const char *text)
{
    struct query_request *query = queries_new(drop_note, NULL);
    const struct command *command;
    struct error err = {0};
    char *words = strdup(text);
    char *rest = words;

    asked = text;
    require(queries_find_command(strsep(&rest, " "), &command, &err) == 0, err.text);
    queries_set_command(query, command);
    for (char *word; (word = strsep(&rest, " "));)
        emit(query, word);
    require(queries_check(query, &err) == 0, err.text);
    ask(query, &(struct queries_output){.out = sink});
    free(words);
}

static void ask_drawn(struct drawn_dice *dice)
{
    const struct drawn_place place = {path, suppressions, drop_note};
    struct random_query drawn = random_query_make(dice, &place);
    const struct queries_output output = {
        .out = sink, .name = drawn.output_name, .width = drawn.width};

    asked = drawn.text;
    if (drawn.query)
        ask(drawn.query, &output);
    asked = "";
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    size_t first = size ? data[0] : 0;
    struct drawn_dice dice = drawn_dice_of(data, size);

    if (!sink)
        set_up();
    foreign_database_write(data + (size > 0), size - (size > 0), path);
    n_databases++;
    (void)sqlite3_memory_highwater(1);
    (void)setitimer(ITIMER_PROF, &(struct itimerval){.it_value.tv_sec = SECONDS}, NULL);
    for (size_t i = 0; i < DRAWN; i++)
        ask_drawn(&dice);
    for (size_t i = 0; i < LISTED; i++) {
        const char *query = queries.at[(first * LISTED + i) % word_list_split(&queries)];
        asked = query;
        if (strncmp(query, "resymbolize", 11) == 0)
            resymbolize();
        else
            ask_listed(query);
    }
    (void)setitimer(ITIMER_PROF, &(struct itimerval){.it_value.tv_sec = 0}, NULL);
    return 0;
}
