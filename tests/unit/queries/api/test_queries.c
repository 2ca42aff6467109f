/* SPDX-License-Identifier: MIT */
/* The query library as a server uses it: many requests, several databases and threads, no
 * output. */
#include "lib/base/error.h"
#include "lib/sqlite/embedded_sql.h"
#include "queries/api/queries.h"
#include "tests/lib/unit.h"

#include <fcntl.h>
#include <pthread.h>
#include <sqlite3.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

extern const struct embedded_sql embedded_schema[];
extern const struct embedded_sql embedded_views[];
extern const struct embedded_sql embedded_facts[]; /* tests/sql: code, totals, made_tables */

enum {
    N_ROUNDS = 40,
    TEXT_BYTES = 1 << 16
};

static char folder[] = "/tmp/test_queries.XXXXXX";
static char one_db[64], three_db[64], deep_db[64];

/* ---- databases ---- */

static void run_sql(struct sqlite3 *db, const char *sql)
{
    char *message = NULL;

    if (sqlite3_exec(db, sql, NULL, NULL, &message) != SQLITE_OK)
        fail_msg("%s", message);
}

static void run_all(struct sqlite3 *db, const struct embedded_sql *parts)
{
    for (; parts->name; parts++)
        run_sql(db, parts->text);
}

/* The facts of tests/sql, and a change of them. */
static void make_database(const char *path, const char *change)
{
    struct sqlite3 *db;

    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    run_sql(db, "PRAGMA synchronous = OFF; BEGIN");
    run_all(db, embedded_schema);
    run_sql(db, embedded_facts[0].text);
    run_sql(db, embedded_facts[1].text);
    run_sql(db, change);
    run_all(db, embedded_views);
    run_sql(db, embedded_facts[2].text);
    run_sql(db, "COMMIT");
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

/* A function that calls itself 20,000 times, and allocates each time. */
static const char deep[] =
    "CREATE TEMP TABLE n AS WITH RECURSIVE n(i) AS (VALUES (12) UNION ALL SELECT i + 1 FROM n WHERE i < 20011)"
    " SELECT i FROM n;"
    "INSERT INTO backtraces SELECT i, i - 1, 20011, 3, i - 9, 2, 'complete' FROM n;"
    "UPDATE backtraces SET last_descendant_id = 20011 WHERE backtrace_id IN (10, 11);"
    "INSERT INTO backtrace_totals SELECT 1, i, 1, 16, 0, 0, 1, 16, 5, 5, 0, 0, 1, 16, 16, 5, 5, 5, 16, 16, 8, 0, 1, 1,"
    " 0, 0, 0, 0, NULL, NULL, NULL, NULL, NULL, NULL FROM n;"
    "INSERT INTO packed_allocation_rows SELECT 5, NULL, NULL, 16, 8, i, NULL, NULL, 0, i FROM n;"
    "DROP TABLE n;";

static int make_databases(void **state)
{
    (void)state;
    if (!mkdtemp(folder))
        return -1;
    (void)snprintf(one_db, sizeof(one_db), "%s/one.db", folder);
    (void)snprintf(three_db, sizeof(three_db), "%s/three.db", folder);
    make_database(one_db, "");
    (void)snprintf(deep_db, sizeof(deep_db), "%s/deep.db", folder);
    make_database(deep_db, deep);
    make_database(three_db, "UPDATE backtrace_totals SET leaked_bytes = 3 * leaked_bytes");
    return 0;
}

static int remove_databases(void **state)
{
    (void)state;
    return unlink(one_db) || unlink(three_db) || unlink(deep_db) || rmdir(folder) ? -1 : 0;
}

/* The answer of SQLite itself. */
static long long stock_number(const char *path, const char *sql)
{
    struct sqlite3 *db;
    struct sqlite3_stmt *stmt;
    long long number;

    assert_int_equal(sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &stmt, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_step(stmt), SQLITE_ROW);
    number = sqlite3_column_int64(stmt, 0);
    sqlite3_finalize(stmt);
    sqlite3_close(db);
    return number;
}

/* ---- a client ---- */

struct client {
    char answer[TEXT_BYTES], notes[1024];
    size_t n_answer;
    bool is_gone; /* takes no more */
    struct error err;
};

static void take_note(void *context, const char *text)
{
    struct client *client = context;
    size_t used = strlen(client->notes);

    (void)snprintf(client->notes + used, sizeof(client->notes) - used, "%s|", text);
}

static bool take_answer(void *context, const char *data, size_t size)
{
    struct client *client = context;

    if (client->is_gone || client->n_answer + size >= TEXT_BYTES)
        return false;
    memcpy(client->answer + client->n_answer, data, size);
    client->n_answer += size;
    client->answer[client->n_answer] = '\0';
    return true;
}

/* "name=value&name=value", as in an address. */
static int set_parameters(struct query_request *request, const char *parameters, struct error *err)
{
    char copy[4096];
    char *rest = copy;
    int rc = 0;

    (void)snprintf(copy, sizeof(copy), "%s", parameters);
    for (char *pair; rc == 0 && (pair = strsep(&rest, "&")) && *pair;) {
        char *value = pair;
        const char *name = strsep(&value, "=");
        rc = strcmp(name, "argument") == 0 ? queries_add_argument(request, value, err)
                                           : queries_set(request, name, value, err);
    }
    return rc;
}

static int make_request(struct client *client, const char *name, const char *path,
                        const char *parameters, struct query_request **ret_request)
{
    const struct command *command;
    struct query_request *request = queries_new(take_note, client);
    int rc;

    assert_non_null(request);
    *ret_request = request;
    client->n_answer = 0;
    client->answer[0] = client->notes[0] = '\0';
    rc = queries_find_command(name, &command, &client->err);
    if (rc == 0) {
        queries_set_command(request, command);
        rc = set_parameters(request, parameters, &client->err);
    }
    return rc == 0 && path ? queries_set_database(request, path, &client->err) : rc;
}

static int ask_request(struct client *client, struct query_request *request)
{
    const struct queries_output output = {.write = take_answer, .context = client};

    return queries_run(request, &output, &client->err);
}

static int ask(struct client *client, const char *name, const char *path, const char *parameters)
{
    struct query_request *request;
    int rc = make_request(client, name, path, parameters, &request);

    if (rc == 0)
        rc = ask_request(client, request);
    queries_free(request);
    return rc;
}

/* The sum of the column leaked_bytes of a CSV. */
static long long sum_second_column(const char *csv)
{
    long long sum = 0;

    for (const char *line = strchr(csv, '\n'); line && line[1]; line = strchr(line + 1, '\n'))
        sum += strtoll(strchr(line, ',') + 1, NULL, 10);
    return sum;
}

/* ---- tests ---- */

TEST(test_answers)
{
    static struct client client;
    static const char sql[] = "SELECT sum(leaked_bytes) FROM leaks WHERE suppressed_by IS NULL";
    long long one = stock_number(one_db, sql);

    assert_true(one > 0);
    for (int round = 0; round < 3; round++) {
        assert_int_equal(ask(&client, "leaks", one_db, "format=csv"), 0);
        assert_int_equal(sum_second_column(client.answer), one);
        assert_int_equal(ask(&client, "leaks", three_db, "format=csv"), 0);
        assert_int_equal(sum_second_column(client.answer), stock_number(three_db, sql));
    }
    assert_int_equal(ask(&client, "leaks", one_db, "format=json&count=1"), 0);
    assert_memory_equal(client.answer, "[\n {\"", 5);
    assert_int_equal(ask(&client, "leaks", one_db, "show_sql=yes"), 0);
    assert_memory_equal(client.answer, "SELECT ", 7);
    assert_string_equal(client.notes, "");
    assert_int_equal(ask(&client, "processes", one_db, "fail-if=pid < 0"), 0);
}

/* Filters stand in the tables of a connection: the next request must not see them. */
TEST(test_filters_end_with_their_request)
{
    static struct client all, some, again;

    assert_int_equal(ask(&all, "groups", one_db, "format=csv"), 0);
    assert_int_equal(ask(&some, "groups", one_db, "format=csv&group_allocations_min=5"), 0);
    assert_int_equal(ask(&again, "groups", one_db, "format=csv"), 0);
    assert_true(some.n_answer < all.n_answer);
    assert_string_equal(all.answer, again.answer);
}

TEST(test_errors_name_the_parameter)
{
    static struct client client;

    static const struct {
        const char *command, *parameters, *part;
    } cases[] = {
        {"leeks", "", "did you mean leaks?"},
        {"leaks", "no_such=1", "unknown parameter 'no_such'"},
        {"leaks", "count=many", "count"},
        {"leaks", "format=xml", "table, json or csv"},
        {"leaks", "wide=perhaps", "yes or no"},
        {"leaks", "lifetime=long", "only_leaked"},
        {"leaks", "size_min=red", "size_min"},
        {"leaks", "sort_by=colour&format=csv", "leaked_bytes"},
        {"leaks", "bottom_up=yes", "tree and flamegraph"},
        {"leaks", "to=pprof", "export"},
        {"stack", "", "stack needs ID"},
        {"export", "to=html", "speedscope"},
        {"summary", "size_min=1", "takes no filters"},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        assert_int_equal(ask(&client, cases[i].command, one_db, cases[i].parameters), ERROR_USAGE);
        if (!strstr(client.err.text, cases[i].part))
            fail_msg("%s %s: %s", cases[i].command, cases[i].parameters, client.err.text);
    }
    assert_int_equal(ask(&client, "leaks", NULL, ""), ERROR_USAGE);
    assert_int_equal(ask(&client, "leaks", "/nowhere/run.db", ""), ERROR_IO);
}

TEST(test_client_that_is_gone)
{
    static struct client client = {.is_gone = true};

    assert_int_equal(ask(&client, "leaks", one_db, "format=json"), ERROR_IO);
}

TEST(test_every_parameter_is_found_by_its_names)
{
    struct queries_parameter parameter;
    size_t n = 0;

    for (; queries_parameter_at(n, &parameter); n++) {
        char dashed[64] = "";

        assert_int_equal(queries_find_parameter(parameter.name, strlen(parameter.name)), n);
        for (size_t i = 0; parameter.name[i]; i++)
            dashed[i] = parameter.name[i] == '_' ? '-' : parameter.name[i];
        assert_int_equal(queries_find_parameter(dashed, strlen(dashed)), n);
        if (parameter.alias)
            assert_int_equal(queries_find_parameter(parameter.alias, strlen(parameter.alias)), n);
    }
    assert_true(n > 50);
}

/* Two threads, each with requests of its own to the same two databases. */
struct requester {
    pthread_t thread;
    const char *parameters;
    const char *expected[2];
    int n_wrong;
};

static void *ask_often(void *argument)
{
    struct requester *requester = argument;
    struct client *client = calloc(1, sizeof(*client));

    for (int i = 0; client && i < N_ROUNDS; i++) {
        const char *path = i % 2 ? three_db : one_db;
        requester->n_wrong += ask(client, "leaks", path, requester->parameters) != 0
                              || strcmp(client->answer, requester->expected[i % 2]) != 0;
    }
    free(client);
    return NULL;
}

TEST(test_threads)
{
    static struct client answers[2][2];
    struct requester requesters[2] = {{.parameters = "format=json"},
                                      {.parameters = "format=csv&group_allocations_min=5"}};

    for (int i = 0; i < 2; i++) {
        for (int k = 0; k < 2; k++) {
            assert_int_equal(
                ask(&answers[i][k], "leaks", k ? three_db : one_db, requesters[i].parameters), 0);
            requesters[i].expected[k] = answers[i][k].answer;
        }
        assert_int_equal(pthread_create(&requesters[i].thread, NULL, ask_often, &requesters[i]), 0);
    }
    for (int i = 0; i < 2; i++) {
        assert_int_equal(pthread_join(requesters[i].thread, NULL), 0);
        assert_int_equal(requesters[i].n_wrong, 0);
    }
}

static const char endless[] =
    "argument=WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n)"
    " SELECT count(*) FROM n";

struct waiting {
    struct client client;
    struct query_request *request;
    int rc;
};

static void *ask_waiting(void *argument)
{
    struct waiting *waiting = argument;

    waiting->rc = ask_request(&waiting->client, waiting->request);
    return NULL;
}

/* Others go on, and what is interrupted before it is asked is not answered. */
TEST(test_interrupt_ends_one_request)
{
    static struct waiting waiting;
    static struct client other;
    pthread_t thread;

    assert_int_equal(make_request(&waiting.client, "sql", one_db, endless, &waiting.request), 0);
    assert_int_equal(pthread_create(&thread, NULL, ask_waiting, &waiting), 0);
    assert_int_equal(ask(&other, "leaks", one_db, ""), 0);
    queries_interrupt(waiting.request);
    assert_int_equal(ask(&other, "leaks", three_db, ""), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(waiting.rc, ERROR_INTERRUPTED);
    assert_non_null(strstr(waiting.client.err.text, "interrupted"));
    queries_free(waiting.request);
    assert_int_equal(make_request(&waiting.client, "leaks", one_db, "", &waiting.request), 0);
    queries_interrupt(waiting.request);
    assert_int_equal(ask_request(&waiting.client, waiting.request), ERROR_INTERRUPTED);
    queries_free(waiting.request);
}

TEST(test_time_limit)
{
    static struct client client;
    char parameters[256];

    (void)snprintf(parameters, sizeof(parameters), "time_limit=50ms&%s", endless);
    assert_int_equal(ask(&client, "sql", one_db, parameters), ERROR_INTERRUPTED);
    assert_non_null(strstr(client.err.text, "time limit"));
    assert_int_equal(ask(&client, "leaks", one_db, "time_limit=10m"), 0);
    assert_int_equal(ask(&client, "leaks", one_db, "time_limit=soon"), ERROR_USAGE);
}

enum {
    ENOUGH_BYTES = 16 << 20
};

struct reader {
    struct query_request *request;
    size_t n_bytes;
};

static bool read_enough(void *context, const char *data, size_t size)
{
    struct reader *reader = context;

    (void)data;
    reader->n_bytes += size;
    if (reader->n_bytes > ENOUGH_BYTES)
        queries_interrupt(reader->request);
    return true;
}

/* Answers as long as the square of the depth, or as slow to compute, are ended halfway. */
TEST(test_ends_within_deep_stacks)
{
    static const char *const asked[][2] = {
        {"export", "to=flamegraph.pl"}, {"export", "to=speedscope"},
        {"export", "to=pprof"},         {"export", "to=dhat&process=1"},
        {"tree", "bottom_up"},          {"callers", "argument=Session::clone"}};

    for (size_t i = 0; i < sizeof(asked) / sizeof(asked[0]); i++) {
        static struct client client;
        struct reader reader = {.n_bytes = 0};
        const struct queries_output output = {.write = read_enough, .context = &reader};
        char parameters[128];
        struct timespec begin, end;

        (void)snprintf(parameters, sizeof(parameters), "time_limit=200ms&%s", asked[i][1]);
        assert_int_equal(make_request(&client, asked[i][0], deep_db, parameters, &reader.request),
                         0);
        (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &begin);
        if (queries_run(reader.request, &output, &client.err) != ERROR_INTERRUPTED)
            fail_msg("%s %s: %s", asked[i][0], asked[i][1], client.err.text);
        (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &end);
        assert_in_range(reader.n_bytes, 0, 2 * ENOUGH_BYTES);
        assert_in_range(end.tv_sec - begin.tv_sec, 0, 3);
        queries_free(reader.request);
    }
}

/* No request, valid or not, changes stdout and stderr. */
TEST(test_nothing_is_printed)
{
    static struct client client;
    char path[64];
    struct stat written;
    int saved[2] = {dup(1), dup(2)};
    int fd;

    (void)snprintf(path, sizeof(path), "%s/printed", folder);
    fd = open(path, O_CREAT | O_RDWR | O_CLOEXEC, 0600);
    assert_true(fd >= 0 && dup2(fd, 1) == 1 && dup2(fd, 2) == 2);
    for (const struct command *command = queries_commands; command->name; command++) {
        (void)ask(&client, command->name, one_db, "");
        (void)ask(&client, command->name, one_db, "format=json&to=json");
        (void)ask(&client, command->name, one_db, "at=50%&fail_if=1");
        (void)ask(&client, command->name, "/nowhere", "");
    }
    (void)fflush(NULL);
    assert_int_equal(fstat(fd, &written), 0);
    (void)dup2(saved[0], 1);
    (void)dup2(saved[1], 2);
    (void)close(fd);
    (void)unlink(path);
    assert_int_equal(written.st_size, 0);
}

TEST(test_notes_go_to_the_client)
{
    static struct client client;

    assert_int_equal(ask(&client, "groups", one_db, "group_allocations_min=1000000"), 0);
    assert_non_null(strstr(client.notes, "7 of 1,061 events (0.7 %) were dropped: "));
    assert_non_null(strstr(client.notes, "|no rows|"));
}

TESTS_WITH(make_databases, remove_databases);
