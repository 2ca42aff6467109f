/* SPDX-License-Identifier: MIT */
/*
 * HTTP requests as the guard and the routes of the server get them, without sockets: each is
 * answered, or refused with one line and a status. An input is read as choices: of a database
 * (intact or changed), of the client, of endpoints, parameters and values that belong together or
 * do not, of the cached answer of the client, and of bytes of its own. Answers of type JSON are
 * JSON. No message names the path of a database. No client is admitted without the token if there
 * is one, or by the name of another host.
 */
#include "lib/base/error.h"
#include "queries/api/queries.h"
#include "server/cli/routes.h"
#include "server/core/query_watchdog.h"
#include "server/core/recordings.h"
#include "server/core/request.h"
#include "server/http/auth.h"
#include "server/http/exchange.h"
#include "tests/fuzz/foreign_database.h"
#include "tests/fuzz/random_query.h"

#include <signal.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/time.h>
#include <unistd.h>

enum {
    MAX_REQUESTS = 24, /* of an input */
    MAX_PARAMETERS = 5,
    TEXT_BYTES = 48,
    MAX_WORDS = 12, /* of a statement */
    BODY_BYTES = MAX_WORDS * 32,
    SECONDS = 60,    /* of the processor, for an input */
    MAX_LOOKS = 2000 /* before the client leaves: events never end */
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* ---- choices ---- */

struct input {
    const uint8_t *at, *end;
};

static unsigned draw(struct input *input, unsigned n)
{
    unsigned byte = input->at < input->end ? *input->at++ : 0;

    if (n > 256 && input->at < input->end)
        byte = byte << 8 | *input->at++;
    return n ? byte % n : 0;
}

/* Bytes of the input's own. */
static const char *draw_raw(struct input *input, char *ret_text, size_t *ret_length)
{
    size_t length = draw(input, TEXT_BYTES);
    size_t left = (size_t)(input->end - input->at);

    length = length < left ? length : left;
    memcpy(ret_text, input->at, length);
    ret_text[length] = '\0';
    input->at += length;
    *ret_length = length;
    return ret_text;
}

static const char *draw_bytes(struct input *input, char *ret_text)
{
    size_t length;

    return draw_raw(input, ret_text, &length);
}

static const char *draw_word(struct input *input, struct word_list *list)
{
    unsigned n = word_list_split(list);

    return list->at[draw(input, n)];
}

#define DRAW(input, list) (list)[draw(input, sizeof(list) / sizeof((list)[0]))]

static const char *const ids[] = {"last", "0123", ""};

static const char *const resources[] = {"values", "source", "notes", "sql", "nothing"};

static struct word_list data_paths = {
    .text = "timeline|timeline_leaked|timeline_maps|allocations|allocation_groups|mmaps|"
            "mallopts|export/flamegraph|export/flamegraph.pl/x|export/heaptrack|"
            "allocation_ascii_tree|maps|mmaps/x"};

static struct word_list others = {
    .text = "/|/api/v1|/api/v1/|/api/v1/openapi.json|/list|/view/x|/favicon|/api/v1/events|"
            "/api/v2/|/data/|/data/last|/../etc/passwd||/api/v1//|/api/v1/last/leaks/more"};

static struct word_list names = {
    .text = "argument|format|path|parameter|part|show_sql|token|count|skip|after|sort_by|"
            "order|from|to|alive_at|min_share|measure"};

static struct word_list data_names = {
    .text = "from|to|alive_at|alive_at_2|lifetime|lifetime_min|lifetime_max|address_min|"
            "address_max|size_min|size_max|first_size_min|last_size_max|chain_length_min|"
            "position_in_chain_at_least|position_in_chain_at_most|chain_alive_for_at_least|"
            "backtraces|deallocation_backtraces|backtrace_depth_min|mmaped|arena|"
            "function_regex|negative_source_regex|marker|group_interval_min|"
            "group_allocations_max|group_leaked_allocations_min|custom_filter|count|skip|"
            "sort_by|order"};

static struct word_list values = {
    .text = "|0|1|2|4|-1|10|100|50%|100%|0.5%|peak|end|1ms|1h2m3s|9223372036854775807|"
            "18446744073709551615|1700000000000|0x10010|4KiB|yes|no|true|false|only_true|"
            "only_leaked|only_temporary|only_whole_group_leaked|main|malloc|asc|dsc|json|"
            "csv|table|timestamp|size|address|only_matched.size|all.leaked_count|"
            "leaked_bytes|peak_rss|leaked|allocated|live|blocks|last|cache.c|/src/cache.c|"
            "work|^main$|(a+)+$|function_regex|kind|process|leaks|flamegraph.pl|heaptrack|"
            "pprof|dhat|massif|speedscope"};

static const char *const bodies[] = {
    "SELECT 1",
    "SELECT * FROM allocations",
    "SELECT * FROM stack_frames LIMIT 100",
    "SELECT 1; SELECT 2",
    "DELETE FROM meta",
    "ATTACH '/tmp/x' AS x",
    "PRAGMA table_info(meta)",
    "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT x FROM c LIMIT 9999",
    "SELECT zeroblob(1 << 20)",
    "SELECT 9e999, x'00ff', 'a' || char(0) || 'b', char(55296), '\"\\'",
    "VACUUM INTO '/tmp/x'",
    "SELECT fts3_tokenizer('simple')",
    "EXPLAIN QUERY PLAN SELECT * FROM leaks",
    ""};

/* Parts of statements that no person would write. */
static struct word_list words = {
    .text = "SELECT |* |count(*) |sum(size_bytes) |FROM |allocations |leaks |stacks |meta |"
            "sqlite_schema |WHERE |size_bytes > 10 |LIMIT 5 |UNION |JOIN |"
            "USING (backtrace_id) |ORDER BY 1 |; |(|) |NULL |-9223372036854775808 |'|\"|"
            "x'ff' |-- |/* |WITH a AS (SELECT 1) |GROUP BY 1 |?1 |json_each('[1]') |"
            "pragma_table_info('meta') |load_extension('x') |char(0) |, "};

/* ---- the place ---- */

enum {
    SOUND, /* databases */
    FOREIGN,
    DATABASES
};

static char paths[DATABASES][4096];
static struct recordings recordings;
#define TOKEN "0123456789abcdefghijklmnopqrstuvwxyz-_ABCDE"
static struct auth guards[2]; /* without a token, and with one */
static const char *asked;
static FILE *sink; /* where an answer goes: memory, so that it can be looked at */
static char *answer;
static size_t answer_bytes;
static sqlite3_stmt *is_json;
static unsigned long n_requests, n_answered, n_strangers;
static char last_etag[EXCHANGE_ETAG_BYTES];

static void require(bool is_good, const char *what, const char *detail)
{
    if (is_good)
        return;
    (void)fprintf(stderr, "%s: %s: %s\n", asked, what, detail);
    abort();
}

static void end_hang(int signal)
{
    (void)signal;
    (void)!write(STDERR_FILENO, asked, strlen(asked));
    (void)!write(STDERR_FILENO, ": does not end\n", 15);
    abort();
}

static void finish(void)
{
    (void)fprintf(stderr, "%lu requests, %lu of them answered, %lu of strangers\n", n_requests,
                  n_answered, n_strangers);
    for (size_t i = 0; i < DATABASES; i++)
        (void)unlink(paths[i]);
}

static struct request_place *get_place(void)
{
    static struct request_place place;
    const char *folder = getenv("TMPDIR");
    struct error err = {0};
    sqlite3 *memory;

    if (place.watch)
        return &place;
    asked = "set up";
    (void)atexit(finish);
    for (size_t i = 0; i < DATABASES; i++) {
        (void)snprintf(paths[i], sizeof(paths[i]), "%s/fuzz-requests-%ld-%zu.db",
                       folder ? folder : "/tmp", (long)getpid(), i);
        foreign_database_write((const uint8_t *)"", 0, paths[i]);
        require(recordings_add(&recordings, paths[i], &err) == 0, "recordings", err.text);
    }
    memcpy(guards[1].token, TOKEN, sizeof(TOKEN));
    place =
        (struct request_place){.recordings = &recordings, .time_limit = "2s", .sql_limit = "2s"};
    require(query_watchdog_start(&place.watch, &err) == 0, "watch", err.text);
    require(sqlite3_open(":memory:", &memory) == SQLITE_OK
                && sqlite3_prepare_v2(memory, "SELECT json_valid(?)", -1, &is_json, NULL)
                       == SQLITE_OK,
            "SQLite", "");
    (void)signal(SIGPROF, end_hang);
    return &place;
}

/* ---- one request ---- */

/* Of eight requests six are about the database that is as it should be. */
static const char *choose_id(struct input *input)
{
    unsigned kind = draw(input, 8);

    if (kind == 7)
        return DRAW(input, ids);
    return recordings.items[kind == 6 ? FOREIGN : SOUND].id;
}

static void choose_path(struct input *input, struct exchange *exchange, char *text, size_t size)
{
    char own[TEXT_BYTES];
    unsigned n_commands = 0;
    unsigned kind = draw(input, 16);

    while (queries_commands[n_commands].name)
        n_commands++;
    if (kind < 6)
        (void)snprintf(text, size, "/api/v1/%s/%s", choose_id(input),
                       queries_commands[draw(input, n_commands)].name);
    else if (kind < 8)
        (void)snprintf(text, size, "/api/v1/%s/%s", choose_id(input), DRAW(input, resources));
    else if (kind < 14)
        (void)snprintf(text, size, "/data/%s/%s", choose_id(input), draw_word(input, &data_paths));
    else if (kind == 14)
        (void)snprintf(text, size, "%s", draw_word(input, &others));
    else
        (void)snprintf(text, size, "/%s", draw_bytes(input, own));
    exchange->path = text;
    exchange->method = draw(input, 16) ? "GET" : "POST";
    if (strstr(text, "/sql"))
        exchange->method = "POST";
}

static const char *choose_name(struct input *input, bool is_data, char *text)
{
    struct queries_parameter parameter;
    unsigned n = 0;

    while (queries_parameter_at(n, &parameter))
        n++;
    switch (draw(input, 16)) {
    case 0:
        return draw_bytes(input, text);
    case 1:
    case 2:
    case 3:
    case 4:
        return draw_word(input, &names);
    default:
        if (is_data)
            return draw_word(input, &data_names);
        (void)queries_parameter_at(draw(input, n), &parameter);
        return parameter.name;
    }
}

struct client {
    struct exchange exchange;
    struct auth_claims claims;
    char headers[6][TEXT_BYTES]; /* of claims */
    char etag[TEXT_BYTES];
    char path[128];
    char texts[2 * MAX_PARAMETERS][TEXT_BYTES];
    char body[BODY_BYTES];
    int n_looks;
};

static bool is_abandoned(const void *client)
{
    struct client *request = (struct client *)(uintptr_t)client;

    return ++request->n_looks > MAX_LOOKS;
}

static void send_now(const void *client)
{
    struct client *request = (struct client *)(uintptr_t)client;

    request->n_looks = MAX_LOOKS - 1; /* of a stream without end one look */
}

static const char *choose_header(struct input *input, const char *const *list, unsigned n,
                                 char *text)
{
    unsigned kind = draw(input, 8);

    return kind == 0 ? draw_bytes(input, text) : kind < 6 ? list[0] : list[draw(input, n)];
}

#define CHOOSE(input, list, text) choose_header(input, list, sizeof(list) / sizeof((list)[0]), text)

/* The first of each list is the value of an honest client. */
static void choose_claims(struct input *input, struct client *request)
{
    static const char *const hosts[] = {
        "127.0.0.1:8080", "localhost",  "LOCALHOST:1", "[::1]:65535",
        "evil.example",   "127.0.0.1:", "localhost:x", NULL};
    static const char *const origins[] = {NULL, "http://127.0.0.1:8080", "null", "http://evil", ""};
    static const char *const sites[] = {NULL, "same-origin", "cross-site", "none", ""};
    static const char *const bearers[] = {
        NULL, "Bearer ", "Bearer x", "Bearer " TOKEN, "bearer " TOKEN, TOKEN};
    static const char *const tokens[] = {NULL, TOKEN, "", "x"};

    request->claims = (struct auth_claims){.host = hosts[0], .cookie = TOKEN};
    if (draw(input, 8))
        return;
    request->claims =
        (struct auth_claims){.host = CHOOSE(input, hosts, request->headers[0]),
                             .origin = CHOOSE(input, origins, request->headers[1]),
                             .fetch_site = CHOOSE(input, sites, request->headers[2]),
                             .authorization = CHOOSE(input, bearers, request->headers[3]),
                             .cookie = CHOOSE(input, tokens, request->headers[4]),
                             .token = CHOOSE(input, tokens, request->headers[5])};
}

/* The ETag of the last answer, variants of it, or anything. */
static const char *choose_etag(struct input *input, struct client *request)
{
    static const char *const etags[] = {"*", "W/\"0\"", "\"", "", "\"a\", \"b\""};

    switch (draw(input, 8)) {
    case 0:
        return last_etag;
    case 1:
        return DRAW(input, etags);
    case 2:
        return draw_bytes(input, request->etag);
    default:
        return NULL;
    }
}

/* Mostly parameters of the command. */
static const char *choose_value(struct input *input, const char *name, char *text)
{
    struct queries_parameter parameter;
    long index = queries_find_parameter(name, strlen(name));
    const char *value = NULL;

    switch (draw(input, 8)) {
    case 0:
        return draw_bytes(input, text);
    case 1:
        return draw_word(input, &values);
    default:
        if (index >= 0 && queries_parameter_at((size_t)index, &parameter))
            value =
                random_query_value(draw(input, 256), parameter.value ? parameter.value : "yes|no");
        return value ? value : draw_word(input, &values);
    }
}

/* An argument where the command wants one. */
static size_t choose_argument(struct input *input, const char *path,
                              struct exchange_parameter *ret_argument)
{
    const struct command *command;
    const char *name = strrchr(path, '/');
    const char *value;
    char wanted[TEXT_BYTES];

    if (strncmp(path, "/api/v1/", 8) != 0 || !draw(input, 8)
        || queries_find_command(name + 1, &command, NULL) != 0 || !command->argument)
        return 0;
    (void)snprintf(wanted, sizeof(wanted), "an argument: %s", command->argument);
    value = random_query_value(draw(input, 256), wanted);
    *ret_argument = (struct exchange_parameter){
        "argument", value ? value : recordings.items[draw(input, DATABASES)].id};
    return 1;
}

/* Few more often than many, because one that does not belong there ends a request; one in eight is
 * given again. */
static void choose_parameters(struct input *input, struct client *request)
{
    struct exchange *exchange = &request->exchange;
    const bool is_data = strncmp(request->path, "/data/", 6) == 0;
    size_t n = draw(input, draw(input, 2) ? 2 : MAX_PARAMETERS + 1);
    size_t n_given = choose_argument(input, request->path, exchange->parameters);

    for (size_t i = 0; i < n; i++) {
        struct exchange_parameter *given = &exchange->parameters[n_given++];
        bool is_repeated = n_given > 1 && draw(input, 8) == 0;

        given->name =
            is_repeated ? given[-1].name : choose_name(input, is_data, request->texts[2 * i]);
        given->value = choose_value(input, given->name, request->texts[2 * i + 1]);
    }
    exchange->n_parameters = n_given;
}

static void choose_body(struct input *input, struct client *request)
{
    struct exchange *exchange = &request->exchange;
    unsigned kind = draw(input, 4);
    size_t used = 0;

    if (kind == 1) /* any bytes, a zero among them */
        exchange->body = draw_raw(input, request->body, &used);
    else if (kind > 1)
        exchange->body = DRAW(input, bodies);
    else
        for (unsigned n = draw(input, MAX_WORDS + 1); n > 0; n--)
            used += (size_t)snprintf(request->body + used, sizeof(request->body) - used, "%s",
                                     draw_word(input, &words));
    if (kind == 0)
        exchange->body = request->body;
    exchange->body_bytes = kind > 1 ? strlen(exchange->body) : used;
}

static void choose(struct input *input, struct client *request)
{
    struct exchange *exchange = &request->exchange;

    *request = (struct client){.exchange = {.status = 200,
                                            .content_type = "application/json",
                                            .out = sink,
                                            .is_abandoned = is_abandoned,
                                            .send_now = send_now,
                                            .client = request}};
    choose_claims(input, request);
    exchange->if_none_match = choose_etag(input, request);
    choose_path(input, exchange, request->path, sizeof(request->path));
    choose_parameters(input, request);
    if (strcmp(exchange->method, "POST") == 0)
        choose_body(input, request);
}

static bool is_json_answer(const struct exchange *exchange)
{
    return exchange->status == 200 && strcmp(exchange->content_type, "application/json") == 0
           && !exchange->content_encoding && answer_bytes < 1 << 22;
}

static void check_answer(const struct client *request, int rc, const struct error *err)
{
    const struct exchange *exchange = &request->exchange;

    if (rc != 0) {
        require(*err->text && !strchr(err->text, '\n'), "a message of one line", err->text);
        for (size_t i = 0; i < DATABASES; i++)
            require(!strstr(err->text, paths[i]), "a message without a path", err->text);
        require(exchange_status_of(rc) >= 400, "a status of an error", err->text);
        return;
    }
    if (!is_json_answer(exchange) || request->n_looks > MAX_LOOKS)
        return;
    sqlite3_bind_text(is_json, 1, answer, (int)answer_bytes, SQLITE_STATIC);
    require(sqlite3_step(is_json) == SQLITE_ROW && sqlite3_column_int(is_json, 0) == 1,
            "JSON is expected", answer);
    sqlite3_reset(is_json);
    sqlite3_clear_bindings(is_json);
}

/* The guard's decision, computed in another way. */
static bool is_admitted(const struct auth *guard, const struct auth_claims *claims)
{
    enum auth_verdict verdict = auth_check(guard, claims);
    bool has_token =
        (claims->cookie && strcmp(claims->cookie, guard->token) == 0)
        || (claims->authorization && strncasecmp(claims->authorization, "Bearer ", 7) == 0
            && strcmp(claims->authorization + 7, guard->token) == 0);

    require(*auth_text(verdict) || verdict == AUTH_ADMITTED || verdict == AUTH_GIVE_COOKIE,
            "a reason", "");
    if (verdict != AUTH_ADMITTED)
        return false;
    require(!*guard->token || has_token, "a token", claims->authorization);
    require(*guard->token || (claims->host && !strstr(claims->host, "evil")), "a host",
            claims->host);
    return true;
}

static void ask(struct input *input, const struct request_place *place)
{
    static struct client request;
    struct error err = {0};
    int rc;

    sink = open_memstream(&answer, &answer_bytes);
    require(sink != NULL, "memory", "");
    choose(input, &request);
    asked = request.path;
    n_requests++;
    if (!is_admitted(&guards[draw(input, 4) == 3], &request.claims)) {
        n_strangers++;
        (void)fclose(sink);
        free(answer);
        return;
    }
    rc = routes_answer(place, &request.exchange, &err);
    (void)fclose(sink);
    n_answered += rc == 0;
    memcpy(last_etag, request.exchange.etag, sizeof(last_etag));
    check_answer(&request, rc, &err);
    free(answer);
    asked = "between requests";
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct itimerval limit = {.it_value.tv_sec = SECONDS};
    const struct itimerval none = {.it_value.tv_sec = 0};
    struct input input = {data, data + size};
    const struct request_place *place = get_place();
    size_t n_program = draw(&input, 4) ? 0 : draw(&input, 64);

    if (n_program > (size_t)(input.end - input.at))
        n_program = (size_t)(input.end - input.at);
    if (n_program > 0)
        foreign_database_write(input.at, n_program, paths[FOREIGN]);
    input.at += n_program;
    (void)setitimer(ITIMER_PROF, &limit, NULL);
    for (int i = 0; i < MAX_REQUESTS && input.at < input.end; i++)
        ask(&input, place);
    (void)setitimer(ITIMER_PROF, &none, NULL);
    return 0;
}
