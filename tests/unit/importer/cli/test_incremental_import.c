/* SPDX-License-Identifier: MIT */
/* A log that grows, cut anywhere: after each round the database is that of a single import of the
 * same bytes. test_standing_import long: five times as much happens, in more runs, cut oftener; any
 * other word: the tests of that name. */
#include "importer/cli/import.h"
#include "importer/cli/incremental_import.h"
#include "tests/lib/log_builder.h"

#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
/* clang-format off: cmocka.h wants the others before it */
#include <cmocka.h>

/* clang-format on */

#define MS      UINT64_C(1000000)
#define SECONDS 8 /* that a run lasts, about */

enum {
    MAX_STEPS = 8000,
    SHORT_STEPS = 1600,
    N_THREADS = 6,
    N_BLOCKS = 400,
    MAX_NODES = 30, /* fewer than a bounded log has pairs of */
    MAX_GROUPS = 30,
    N_POOLS = 3,
    WALKER = 2,       /* the thread that says what its objects own */
    WALK_STAGES = 12, /* records of a walk */
    RUN_ID = 77,
};

/* What a program did, and when it wrote that down; it is done again for each cut. */
struct step {
    enum {
        ALLOC,
        FREE,
        REALLOC,
        FALLBACK,
        MAP,
        UNMAP,
        NODE,
        SEAL,
        THREAD_END,
        MARKER,
        GROUP,
        ENTER,
        MOVE,
        POOL,
        WALK,
    } kind;

    uint32_t thread, node;
    uint64_t ticks, begin_ticks;
    uint64_t address, old_address, size;
    uint32_t index;  /* of a group as the log calls it, or a pool */
    uint32_t number; /* of a group that is defined, or of a record of walks */
};

/* What the program does beside malloc, and how its log is written. */
struct traits {
    bool is_packed;
    bool has_groups, has_pools, has_walks;
    size_t first_group; /* step */
    bool are_cuts;      /* what is made of it: as of instants that often lie behind what is kept */
    bool loses_done;    /* is_saved: segments that are done are gone in the next round */
    bool is_saved;      /* after each round; the next one goes on with what was loaded */
    size_t n_steps;     /* 0: n_steps_of_run */
    size_t n_flips;     /* bits that are wrong from the beginning on */
};

/* Of the form that was asked for. */
static size_t n_steps_of_run = SHORT_STEPS;
static unsigned n_min_rounds = 2, n_damaged_runs = 5;
/* Of the seeds: where a run takes four times as long, every third is enough, odd and even in
 * turns. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
static uint64_t seeds_apart = 3;
#else
static uint64_t seeds_apart = 1;
#endif

struct script {
    struct step steps[MAX_STEPS];
    bool tells_last; /* the header, when it was written last */
    uint64_t start_ns, start_unix_ns;
};

struct place {
    char folder[64], packed[96], live[128], whole[96], other[96], kept_db[96], single_db[96];
};

static uint64_t next_random(uint64_t *random)
{
    *random = *random * 6364136223846793005u + 1442695040888963407u;
    return *random >> 33;
}

/* ---- what happens ---- */

struct writer {
    uint64_t random, now;
    uint64_t last[N_THREADS + 1]; /* stamp of a thread */
    uint64_t blocks[N_BLOCKS];    /* addresses of live ones, 0: none */
    uint32_t n_nodes;
    const struct traits *traits;
    uint32_t n_groups, n_walk_records;
};

/* A thread stamps, and is held up for a while before it writes. */
static uint64_t stamp(struct writer *writer, uint32_t thread)
{
    uint64_t held_ns =
        next_random(&writer->random) % 4 == 0 ? next_random(&writer->random) % 90000 : 0;
    uint64_t ticks;

    ticks = writer->now - held_ns;
    if (ticks < writer->last[thread])
        ticks = writer->last[thread];
    return writer->last[thread] = ticks;
}

static void take_block(struct writer *writer, struct step *step)
{
    size_t i = next_random(&writer->random) % N_BLOCKS;
    uint64_t fresh = 0x10000000 + next_random(&writer->random) % 4096 * 64;

    for (size_t k = 0; k < N_BLOCKS; k++)
        if (writer->blocks[k] == fresh)
            i = k;
    step->size = 1 + next_random(&writer->random) % 60;
    if (writer->blocks[i] == 0) {
        step->kind = next_random(&writer->random) % 40 == 0 ? FALLBACK : ALLOC;
        step->address = writer->blocks[i] = fresh;
    } else if (next_random(&writer->random) % 5 == 0 && writer->blocks[i] != fresh) {
        step->kind = REALLOC;
        step->old_address = writer->blocks[i];
        step->begin_ticks = step->ticks - next_random(&writer->random) % 3 * 700;
        step->address = writer->blocks[i] = fresh;
    } else {
        step->kind = FREE;
        step->address = writer->blocks[i];
        writer->blocks[i] = 0;
    }
}

/* Not in the order in which they are made; the fourth is the group of untracked blocks. */
static uint32_t group_index(uint32_t number)
{
    return number == 3 ? LOG_GROUP_UNTRACKED : 2 + number * 7 % 31;
}

static void take_group(struct writer *writer, struct step *step)
{
    uint64_t dice = next_random(&writer->random) % 16;

    step->kind = dice < 10 ? ENTER : MOVE;
    step->index = LOG_GROUP_ROOT;
    step->address = writer->blocks[next_random(&writer->random) % N_BLOCKS];
    if (writer->n_groups == 0 || (dice == 15 && writer->n_groups < MAX_GROUPS)) {
        step->kind = GROUP;
        step->number = writer->n_groups;
        step->index = group_index(writer->n_groups++);
    } else if (dice == 14) {
        step->kind = ENTER;
        step->index = 999; /* that does not exist */
    } else if (dice % 4) {
        step->index = group_index((uint32_t)next_random(&writer->random) % writer->n_groups);
    }
    if (step->kind == MOVE && !step->address)
        step->kind = ENTER;
}

static void take_walk_record(struct writer *writer, struct step *step)
{
    step->kind = WALK;
    step->number = writer->n_walk_records++;
    step->thread = WALKER;
    step->ticks = stamp(writer, WALKER);
    step->address = writer->blocks[next_random(&writer->random) % N_BLOCKS];
    step->size = 1 + next_random(&writer->random) % 60;
}

static void take_pool(struct writer *writer, struct step *step)
{
    step->kind = POOL;
    step->index = 1 + (uint32_t)next_random(&writer->random) % N_POOLS;
    step->address = writer->blocks[next_random(&writer->random) % N_BLOCKS];
    step->number = (uint32_t)next_random(&writer->random) % 50;
    if (!step->address)
        step->address = 0x20000000 + next_random(&writer->random) % 64 * 64;
}

static bool take_more(struct writer *writer, size_t i, struct step *step)
{
    const struct traits *traits = writer->traits;
    uint64_t dice = next_random(&writer->random) % 16;
    bool is_group =
        traits->has_groups && i >= traits->first_group && (dice < 2 || i == traits->first_group);

    if (is_group)
        take_group(writer, step);
    else if (traits->has_walks && dice < 4)
        take_walk_record(writer, step);
    else if (traits->has_pools && dice < 7)
        take_pool(writer, step);
    else
        return false;
    return true;
}

static void make_step(struct writer *writer, size_t i, struct step *step)
{
    static const int rare[] = {MAP, UNMAP, NODE, NODE, SEAL, SEAL, THREAD_END, MARKER};
    uint64_t dice = next_random(&writer->random) % (n_steps_of_run < MAX_STEPS ? 50 : 150);

    writer->now += next_random(&writer->random) % (2 * SECONDS * 1000 * MS / n_steps_of_run);
    if (next_random(&writer->random) % (n_steps_of_run / 4) == 0)
        writer->now += 1500 * MS; /* nothing happens */
    step->thread = 1 + (uint32_t)(next_random(&writer->random) % N_THREADS);
    if (step->thread == N_THREADS && next_random(&writer->random) % (n_steps_of_run / 27))
        step->thread = 1; /* the last one hardly ever writes: its segment stays open for long */
    step->node = LOG_NODE_FIRST + (uint32_t)(next_random(&writer->random) % writer->n_nodes);
    step->ticks = stamp(writer, step->thread);
    if (take_more(writer, i, step))
        return;
    if (dice >= sizeof rare / sizeof rare[0]) {
        take_block(writer, step);
        return;
    }
    *(int *)&step->kind = rare[dice];
    step->address = 0x7f0000000000 + next_random(&writer->random) % 32 * 4096;
    step->size = 4096 * (1 + next_random(&writer->random) % 3);
    if (step->kind == NODE && writer->n_nodes < MAX_NODES)
        writer->n_nodes++;
    else if (step->kind == NODE)
        step->kind = SEAL;
}

static void make_script(struct script *script, uint64_t seed, const struct traits *traits)
{
    struct writer writer = {.random = seed, .n_nodes = 1, .traits = traits};
    struct timespec now;

    assert_int_equal(clock_gettime(CLOCK_MONOTONIC, &now), 0);
    memset(script, 0, sizeof *script);
    /* The recorder, which is this process, was there before. */
    /* later than now: else a slow machine would take the end of the log for one that nobody goes on
     * with (log_set_watermark) */
    script->start_ns = writer.now =
        ((uint64_t)now.tv_sec + 3600) * 1000 * MS + (uint64_t)now.tv_nsec;
    assert_int_equal(clock_gettime(CLOCK_REALTIME, &now), 0);
    script->start_unix_ns = (uint64_t)now.tv_sec * 1000 * MS;
    for (size_t i = 0; i < n_steps_of_run; i++)
        make_step(&writer, i, &script->steps[i]);
}

/* ---- what is in the log by then ---- */

static void side(struct log_builder *log, const struct step *step)
{
    const uint64_t words[] = {LOG_ALLOC | (uint64_t)step->node << 32, step->address, step->size};

    log_builder_fallback(log, step->thread, step->ticks, words, 3);
}

static void map(struct log_builder *log, const struct step *step)
{
    const uint64_t words[] = {LOG_MMAP | (uint64_t)step->node << 32,
                              step->address,
                              step->size,
                              3 | UINT64_C(0x22) << 32,
                              UINT32_MAX,
                              0};
    const uint64_t unmap[] = {LOG_MUNMAP | (uint64_t)step->node << 32, step->address, step->size};

    if (step->kind == MAP)
        log_builder_event(log, step->thread, step->ticks, words, 6);
    else
        log_builder_event(log, step->thread, step->ticks, unmap, 3);
}

static void define(struct log_builder *log, enum log_def_kind kind, uint32_t id, const char *text,
                   size_t n)
{
    const struct log_def def = {.kind = (uint8_t)kind, .id = id};

    log_builder_def(log, &def, text, n);
}

static void mark(struct log_builder *log, const struct step *step)
{
    uint32_t id = (uint32_t)(step->address >> 12 & 31) + 1;
    const uint64_t words[] = {LOG_MARK, 0, id};
    char text[32];
    int n = snprintf(text, sizeof text, "marker %u", id);

    define(log, LOG_DEF_MARKER, id, text, (size_t)n);
    log_builder_event(log, step->thread, step->ticks, words, 3);
}

/* Three groups share each value of a tag, and each has one of its own. */
static void define_group(struct log_builder *log, const struct step *step)
{
    char text[64];
    int n = snprintf(text, sizeof text, "group %u%ckind%c%u%cown%c%u", step->number, 0, 0,
                     step->number % 7, 0, 0, step->number);

    define(log, LOG_DEF_GROUP, step->index, text, (size_t)n);
}

static void change_group(struct log_builder *log, const struct step *step)
{
    const uint64_t words[] = {(step->kind == MOVE ? LOG_MOVE : LOG_GROUP)
                                  | (uint64_t)step->index << 32,
                              step->kind == MOVE ? step->address : 0};

    log_builder_event(log, step->thread, step->ticks, words, 2);
}

static void use_pool(struct log_builder *log, const struct step *step)
{
    const uint64_t end[] = {LOG_POOL_END, step->index};
    const uint64_t alloc[] = {LOG_POOL_ALLOC | (uint64_t)step->node << 32, step->address + 8,
                              16 | (uint64_t)step->index << LOG_SIZE_BITS};
    const uint64_t freed[] = {LOG_POOL_FREE | (uint64_t)step->node << 32, step->address + 8,
                              step->index};

    define(log, LOG_DEF_POOL, step->index, "a pool", 6);
    if (step->number == 0)
        log_builder_event(log, step->thread, step->ticks, end, 2);
    else
        log_builder_event(log, step->thread, step->ticks, step->number % 3 ? alloc : freed, 3);
}

/* A walk's beginning, two nodes, claims, a warning, its end. */
static void walk(struct log_builder *log, const struct step *step)
{
    enum {
        NAME = 77,
        UNIQUE = 1,
    };

    uint64_t number = 1 + step->number / WALK_STAGES;
    uint32_t stage = step->number % WALK_STAGES;
    const uint64_t begin[] = {LOG_OBJECT_WALK, 0, NAME | number << 32};
    const uint64_t end[] = {LOG_OBJECT_WALK, 0, number << 32};
    const uint64_t warning[] = {LOG_OBJECT_WARNING, 0, NAME | number << 32};
    const uint64_t node[] = {LOG_OBJECT_NODE, stage,
                             NAME | (uint64_t)LOG_OBJECT_BLOCK << 32 | number << LOG_SIZE_BITS,
                             (stage - 1) | UINT64_C(1) << 32, step->size};
    const uint64_t claim[] = {LOG_OBJECT_CLAIM, step->address, step->size | number << LOG_SIZE_BITS,
                              (1 + stage % 2) | (uint64_t)UNIQUE << 32};

    define(log, LOG_DEF_MARKER, NAME, "walk", 4);
    if (stage == 1 || stage == 2)
        log_builder_event(log, WALKER, step->ticks, node, 5);
    else if (stage > 2 && stage < WALK_STAGES - 2)
        log_builder_event(log, WALKER, step->ticks, claim, 4);
    else
        log_builder_event(log, WALKER, step->ticks,
                          stage == 0                 ? begin
                          : stage == WALK_STAGES - 1 ? end
                                                     : warning,
                          3);
}

static void write_more(struct log_builder *log, const struct step *step)
{
    if (step->kind == GROUP)
        define_group(log, step);
    else if (step->kind == POOL)
        use_pool(log, step);
    else if (step->kind == WALK)
        walk(log, step);
    else
        change_group(log, step);
}

static void write_step(struct log_builder *log, const struct step *step, uint32_t module,
                       uint32_t *n_nodes)
{
    switch (step->kind) {
    case ALLOC:
        log_builder_malloc(log, step->thread, step->ticks, step->address, step->size, step->node);
        return;
    case FREE:
        log_builder_free(log, step->thread, step->ticks, step->address, step->node);
        return;
    case REALLOC:
        log_builder_realloc(log, step->thread, step->begin_ticks, step->ticks, step->old_address,
                            step->address, step->size, step->node);
        return;
    case FALLBACK:
        side(log, step);
        return;
    case MAP:
    case UNMAP:
        map(log, step);
        return;
    case NODE: /* below one that is there, so that ids in preorder change */
        log_builder_node(log, *n_nodes % 3 ? LOG_NODE_FIRST + *n_nodes / 2 : LOG_NODE_COMPLETE,
                         module, 0x401000 + *n_nodes * 16);
        ++*n_nodes;
        return;
    case SEAL:
        log_builder_seal(log, step->thread);
        return;
    case THREAD_END:
        log_builder_thread_end(log, step->thread, step->ticks);
        return;
    case MARKER:
        mark(log, step);
        return;
    default:
        write_more(log, step);
    }
}

/* The log that was written last. */
static void map_as_recorder(const char *path)
{
    static void *mapped;

    if (mapped)
        log_builder_unmap(mapped);
    mapped = log_builder_map(path);
}

/* Times of the packed file are as coarse as a packed file's may be: what is kept was often read in
 * the pool. */
static void write_log(const struct script *script, size_t n_steps, const char *path, bool is_packed)
{
    const char *arguments[] = {"program", NULL};
    struct log_builder_options options = {
        .is_packed = is_packed, .zstd_level = 1, .time_shift = 12, .run_id = RUN_ID};
    uint32_t n_nodes = 1;
    uint32_t module;

    options.start_ns = script->start_ns;
    struct log_builder *log = log_builder_open(path, &options);
    log_builder_header(log)->recorder_pid = (uint32_t)getpid();
    log_builder_header(log)->start_unix_ns = script->start_unix_ns;
    if (script->tells_last && n_steps)
        log_builder_header(log)->last_ticks = log_builder_header(log)->last_monotonic_ns =
            script->steps[n_steps - 1].ticks;
    log_builder_process(log, "/bin/program", arguments);
    module = log_builder_module(log, "/bin/program", "\1\2\3\4", 4, 0x400000, script->start_ns);
    for (uint32_t i = 1; i <= N_THREADS; i++)
        (void)log_builder_thread(log, 1000 + i, i == 1 ? "main" : NULL, script->start_ns);
    (void)log_builder_node(log, LOG_NODE_COMPLETE, module, 0x401000);
    for (size_t i = 0; i < n_steps; i++)
        write_step(log, &script->steps[i], module, &n_nodes);
    log_builder_close(log);
    if (!is_packed)
        map_as_recorder(path);
}

/* Where something may be: a raw log is mostly holes. More of it in headers and definitions. */
static off_t any_place(uint64_t *random)
{
    enum {
        SEGMENT_BYTES = 1 << 16,
        N_SEGMENTS = 12
    };

    uint64_t shift = next_random(random) % 12;
    uint64_t segment = next_random(random) % N_SEGMENTS;

    if (next_random(random) % 2)
        return (off_t)(next_random(random) % ((N_SEGMENTS * SEGMENT_BYTES) >> shift));
    return (off_t)(LOG_FILE_HEADER_BYTES + segment * SEGMENT_BYTES
                   + next_random(random) % ((SEGMENT_BYTES / 4) >> shift));
}

/* The same ones each time. */
static void flip_bits(const char *path, uint64_t seed, size_t n_flips)
{
    uint64_t random = seed;
    int fd = open(path, O_RDWR | O_CLOEXEC);

    assert_true(fd >= 0);
    for (size_t i = 0; i < n_flips; i++) {
        off_t at = any_place(&random);
        uint8_t bits = (uint8_t)(1u << next_random(&random) % 8);
        uint8_t byte;
        if (pread(fd, &byte, 1, at) != 1)
            continue;
        byte ^= bits;
        assert_int_equal(pwrite(fd, &byte, 1, at), 1);
    }
    close(fd);
}

static char *read_file(const char *path, size_t *ret_bytes)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct stat status;

    assert_true(fd >= 0);
    assert_int_equal(fstat(fd, &status), 0);
    *ret_bytes = (size_t)status.st_size;
    char *bytes = malloc(*ret_bytes + 1);
    assert_non_null(bytes);
    assert_int_equal(read(fd, bytes, *ret_bytes), status.st_size);
    close(fd);
    return bytes;
}

/* The packed file as far as both it and that of a later time have it, and no further than `share`
 * of 1000. */
static void cut_packed(const struct place *place, uint64_t share)
{
    size_t n_whole, n_now;
    char *whole = read_file(place->whole, &n_whole);
    char *now = read_file(place->other, &n_now);
    size_t n = LOG_FILE_HEADER_BYTES;
    int fd = open(place->packed, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

    while (n < n_whole && n < n_now && whole[n] == now[n])
        n++;
    n = LOG_FILE_HEADER_BYTES + (n - LOG_FILE_HEADER_BYTES) * share / 1000;
    assert_true(fd >= 0);
    struct stat status;
    assert_int_equal(fstat(fd, &status), 0);
    if ((size_t)status.st_size > n)
        n = (size_t)status.st_size; /* it never shrinks */
    assert_int_equal(pwrite(fd, whole, n, 0), (ssize_t)n);
    close(fd);
    free(whole);
    free(now);
}

/* ---- databases ---- */

/* Every row of every table, but how long it took. */
static char *dump(const char *path)
{
    sqlite3 *db;
    sqlite3_stmt *tables;
    char *text = NULL;
    size_t n_text;
    FILE *out = open_memstream(&text, &n_text);

    assert_non_null(out);
    assert_int_equal(sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY, NULL), SQLITE_OK);
    assert_int_equal(
        sqlite3_prepare_v2(db, "SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY 1", -1,
                           &tables, NULL),
        SQLITE_OK);
    while (sqlite3_step(tables) == SQLITE_ROW) {
        sqlite3_stmt *rows;
        const char *table = (const char *)sqlite3_column_text(tables, 0);
        char *sql = sqlite3_mprintf("SELECT * FROM %w", table);
        assert_true(fprintf(out, "%s\n", sql) > 0);
        assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &rows, NULL), SQLITE_OK);
        sqlite3_free(sql);
        while (sqlite3_step(rows) == SQLITE_ROW) {
            char line[4096];
            size_t used = 0;
            for (int i = 0; i < sqlite3_column_count(rows) && used < sizeof line; i++) {
                const char *value = (const char *)sqlite3_column_text(rows, i);
                used +=
                    (size_t)snprintf(line + used, sizeof line - used, "%s|", value ? value : "-");
            }
            if (!strstr(line, "import.seconds"))
                assert_true(fprintf(out, "%s\n", line) > 0);
        }
        sqlite3_finalize(rows);
    }
    sqlite3_finalize(tables);
    sqlite3_close(db);
    assert_int_equal(fclose(out), 0);
    return text;
}

static void assert_same_databases(const struct place *place, size_t n_steps)
{
    char *kept = dump(place->kept_db);
    char *single = dump(place->single_db);
    const char *table = "";

    for (char *a = kept, *b = single; *a || *b;) {
        size_t n_a = strcspn(a, "\n"), n_b = strcspn(b, "\n");
        if (strncmp(a, "SELECT", 6) == 0)
            table = a;
        if (n_a != n_b || memcmp(a, b, n_a) != 0)
            fail_msg("after %zu steps: %.*s\n kept   %.*s\n single %.*s", n_steps,
                     (int)strcspn(table, "\n"), table, (int)n_a, a, (int)n_b, b);
        a += n_a + 1;
        b += n_b + 1;
    }
    free(kept);
    free(single);
}

/* ---- rounds ---- */

static void make_place(struct place *place)
{
    /* databases are brought to the disk, which takes long where there is one */
    strcpy(place->folder, access("/dev/shm", W_OK) == 0 ? "/dev/shm/test_standing.XXXXXX"
                                                        : "/tmp/test_standing.XXXXXX");
    assert_non_null(mkdtemp(place->folder));
    (void)snprintf(place->packed, sizeof place->packed, "%s/run.dat", place->folder);
    (void)snprintf(place->live, sizeof place->live, "%s.live", place->packed);
    (void)snprintf(place->whole, sizeof place->whole, "%s/whole", place->folder);
    (void)snprintf(place->other, sizeof place->other, "%s/other", place->folder);
    (void)snprintf(place->kept_db, sizeof place->kept_db, "%s/kept.db", place->folder);
    (void)snprintf(place->single_db, sizeof place->single_db, "%s/single.db", place->folder);
}

static void remove_place(const struct place *place)
{
    const char *const all[] = {place->packed, place->live,    place->whole,
                               place->other,  place->kept_db, place->single_db};

    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        (void)unlink(all[i]);
    assert_int_equal(rmdir(place->folder), 0);
}

struct outcome {
    unsigned n_rounds, n_read;
    unsigned n_lost;    /* segments, before the last round */
    bool is_gone[4096]; /* by sequence */
    uint64_t n_kept;    /* before the last round */
};

/* Of the marker that came last and has a name of its own; NULL: there is none. *ret_ticks: its
 * stamp. */
static const char *marker_of(const struct script *script, size_t n_steps, uint64_t *ret_ticks)
{
    static char name[32];
    unsigned n[33] = {0};
    uint32_t id = 0;

    for (size_t i = 0; i < n_steps; i++)
        if (script->steps[i].kind == MARKER)
            n[(script->steps[i].address >> 12 & 31) + 1]++;
    for (size_t i = 0; i < n_steps; i++)
        if (script->steps[i].kind == MARKER && n[(script->steps[i].address >> 12 & 31) + 1] == 1) {
            id = (uint32_t)(script->steps[i].address >> 12 & 31) + 1;
            *ret_ticks = script->steps[i].ticks;
        }
    (void)snprintf(name, sizeof name, "marker %u", id);
    return id ? name : NULL;
}

/* Kept is what is older than a tenth of the run, or in the first round nine tenths; one instant in
 * four is older. */
static void choose_instant(const struct script *script, size_t n_steps, bool is_first,
                           uint64_t *random, struct import_options *options,
                           uint64_t *ret_kept_until_ns)
{
    uint64_t length_ns = script->steps[n_steps - 1].ticks - script->start_ns;
    uint64_t tail_ns = length_ns / 10 * (is_first ? 9 : 1);
    uint64_t back_ns = tail_ns / 100 * (75 + next_random(random) % 100);

    uint64_t marker_ticks = 0;

    options->until_marker =
        next_random(random) % 3 ? NULL : marker_of(script, n_steps, &marker_ticks);
    options->marker_ticks = options->until_marker ? marker_ticks : 0;
    if (back_ns >= length_ns)
        back_ns = length_ns - 1;
    options->until_ns = options->until_marker ? 0 : length_ns - next_random(random) % (back_ns + 1);
    options->slim = next_random(random) % 4 != 0;
    *ret_kept_until_ns = script->start_ns + length_ns - tail_ns;
}

/* What a standing import wrote and what a single one of the same logs did; with their words where
 * they failed. */
struct pair {
    struct import_result kept, single;
    struct error err, single_err;
    int code, single_code;
};

static void import_single(struct pair *pair, const struct place *place,
                          const struct import_options *options)
{
    struct import_options single = *options;
    struct progress progress;

    progress_init(&progress, NULL, NULL);
    single.target = place->single_db;
    pair->single_code = import_run(&single, &progress, &pair->single, &pair->single_err);
    if (pair->single_code != pair->code)
        fail_msg("kept: %s; single: %s", pair->err.text, pair->single_err.text);
    if (pair->code) {
        assert_string_equal(pair->err.text, pair->single_err.text);
        return;
    }
    assert_int_equal(pair->kept.n_events, pair->single.n_events);
    assert_string_equal(pair->kept.damage_text, pair->single.damage_text);
}

static void cut_both(struct incremental_import *incremental, const struct place *place,
                     const struct import_options *options, uint64_t kept_until_ns,
                     struct outcome *outcome)
{
    struct pair pair = {.code = 0};

    pair.code = incremental_import_advance(incremental, kept_until_ns, &pair.err);
    if (pair.code == 0)
        pair.code = incremental_import_cut(incremental, options, 0, &pair.kept, &pair.err);
    import_single(&pair, place, options);
    if (pair.code)
        fail_msg("neither: %s", pair.err.text);
    outcome->n_read++;
}

/* The segments that were taken in and will not grow are gone from the pool, for good. */
static unsigned lose_done(const struct incremental_import *incremental, const char *path,
                          struct outcome *outcome)
{
    int fd = open(path, O_RDWR | O_CLOEXEC);
    struct log_segment segment;
    unsigned n_lost = 0;

    assert_true(fd >= 0);
    for (off_t at = LOG_FILE_HEADER_BYTES;
         pread(fd, &segment, sizeof segment, at) == sizeof segment; at += LOG_SEGMENT_BYTES) {
        bool has_events =
            segment.kind == LOG_SEGMENT_EVENTS || segment.kind == LOG_SEGMENT_FALLBACK;
        if (!has_events)
            continue;
        assert_true(segment.sequence < sizeof outcome->is_gone);
        outcome->is_gone[segment.sequence] |=
            incremental_import_is_done(incremental, segment.run_id, segment.sequence);
        if (!outcome->is_gone[segment.sequence])
            continue;
        memset(&segment, 0, sizeof segment); /* as one without any event */
        assert_int_equal(pwrite(fd, &segment, sizeof segment, at), sizeof segment);
        n_lost++;
    }
    close(fd);
    return n_lost;
}

/* The single import is of all; what is kept goes on with what the log has still. */
static void import_what_is_left(struct incremental_import *incremental, const struct place *place,
                                const struct import_options *options, bool is_last,
                                struct outcome *outcome)
{
    struct pair pair = {.code = 0};
    struct import_options single = *options;
    struct progress progress;

    progress_init(&progress, NULL, NULL);
    single.target = place->single_db;
    assert_int_equal(import_run(&single, &progress, &pair.single, NULL), 0);
    outcome->n_lost = lose_done(incremental, place->live, outcome);
    pair.code = incremental_import_advance(incremental, UINT64_MAX, &pair.err);
    if (pair.code == 0)
        pair.code = incremental_import_write(incremental, options, is_last, &pair.kept, &pair.err);
    if (pair.code)
        fail_msg("%s", pair.err.text);
    assert_int_equal(pair.kept.n_events, pair.single.n_events);
    outcome->n_read++;
}

/* false: neither can read it, or a damaged log, of which each reads other parts. */
static bool import_both(struct incremental_import *incremental, const struct place *place,
                        const struct import_options *options, bool is_last, bool is_damaged,
                        struct outcome *outcome)
{
    struct pair pair = {.code = 0};

    pair.code = incremental_import_advance(incremental, UINT64_MAX, &pair.err);
    if (pair.code == 0)
        pair.code = incremental_import_write(incremental, options, is_last, &pair.kept, &pair.err);
    outcome->n_read += pair.code == 0;
    if (is_damaged)
        return false;
    import_single(&pair, place, options);
    if (pair.code)
        return false;
    assert_int_equal(pair.kept.is_growing, pair.single.is_growing);
    return true;
}

/* ---- a state ---- */

struct saved {
    char *chunks[4096];
    size_t n_bytes[4096];
    size_t n, at;
};

static int put_chunk(void *context, const void *chunk, size_t n_bytes, struct error *err)
{
    struct saved *saved = context;

    (void)err;
    assert_true(saved->n < sizeof saved->chunks / sizeof saved->chunks[0]);
    assert_in_range(n_bytes, 1, CHECKPOINT_CHUNK_BYTES);
    saved->chunks[saved->n] = malloc(n_bytes);
    assert_non_null(saved->chunks[saved->n]);
    memcpy(saved->chunks[saved->n], chunk, n_bytes);
    saved->n_bytes[saved->n++] = n_bytes;
    return 0;
}

static int next_chunk(void *context, const void **ret_chunk, size_t *ret_bytes, struct error *err)
{
    struct saved *saved = context;

    (void)err;
    *ret_bytes = saved->at < saved->n ? saved->n_bytes[saved->at] : 0;
    *ret_chunk = saved->at < saved->n ? saved->chunks[saved->at++] : NULL;
    return 0;
}

static void saved_done(struct saved *saved)
{
    for (size_t i = 0; i < saved->n; i++)
        free(saved->chunks[i]);
    free(saved);
}

/* A wrong byte anywhere, or an end that is missing, is refused. */
static void refuse_damaged(struct saved *saved, const struct import_options *options,
                           struct progress *progress)
{
    const struct checkpoint_io_source source = {.next = next_chunk, .context = saved};
    size_t n_chunks = saved->n;

    for (size_t i = 0; i <= n_chunks; i++) {
        struct incremental_import *loaded;
        struct error err = {0};
        char *byte = i < n_chunks ? &saved->chunks[i][i * 31 % saved->n_bytes[i]] : NULL;
        if (byte)
            *byte ^= 1;
        saved->n = n_chunks - (byte == NULL);
        saved->at = 0;
        assert_int_equal(incremental_import_open(options, progress, &loaded, NULL), 0);
        assert_int_not_equal(incremental_import_load(loaded, &source, &err), 0);
        assert_non_null(strstr(err.text, "checkpoint of the recording"));
        incremental_import_close(loaded);
        if (byte)
            *byte ^= 1;
    }
    saved->n = n_chunks;
    saved->at = 0;
}

/* What is saved and loaded goes on in its place. */
static struct incremental_import *reload(struct incremental_import *incremental,
                                         const struct import_options *options,
                                         struct progress *progress)
{
    struct saved *saved = calloc(1, sizeof *saved);
    const struct checkpoint_io_sink sink = {.put = put_chunk, .context = saved};
    const struct checkpoint_io_source source = {.next = next_chunk, .context = saved};
    struct incremental_import *loaded;
    struct error err;

    assert_non_null(saved);
    if (incremental_import_save(incremental, &sink, &err) != 0)
        fail_msg("save: %s", err.text);
    refuse_damaged(saved, options, progress);
    assert_int_equal(incremental_import_open(options, progress, &loaded, NULL), 0);
    if (incremental_import_load(loaded, &source, &err) != 0)
        fail_msg("load: %s", err.text);
    assert_int_equal(incremental_import_n_kept(loaded), incremental_import_n_kept(incremental));
    saved_done(saved);
    incremental_import_close(incremental);
    return loaded;
}

static struct outcome run(uint64_t seed, const struct traits *traits)
{
    static struct script script;
    struct place place;
    struct progress progress;
    struct incremental_import *incremental;
    struct outcome outcome = {0};
    uint64_t random = seed;
    size_t n_all = traits->n_steps ? traits->n_steps : n_steps_of_run;

    make_place(&place);
    make_script(&script, seed, traits);
    script.tells_last = traits->are_cuts && seed > 12;
    const char *const logs[] = {traits->is_packed ? place.packed : place.live};
    struct import_options options = {
        .logs = logs, .n_logs = 1, .target = place.kept_db, .force = true, .no_symbols = true};
    progress_init(&progress, NULL, NULL);
    assert_int_equal(incremental_import_open(&options, &progress, &incremental, NULL), 0);
    if (traits->is_saved)
        incremental_import_be_bounded(incremental);
    if (traits->is_packed) {
        write_log(&script, n_all, place.whole, true);
        flip_bits(place.whole, seed, traits->n_flips);
    }
    for (size_t n_steps = 0; n_steps < n_all; outcome.n_rounds++) {
        n_steps += 1 + next_random(&random) % (n_all / n_min_rounds);
        n_steps = n_steps < n_all ? n_steps : n_all;
        write_log(&script, n_steps, place.live, false);
        flip_bits(place.live, seed, traits->is_packed ? 0 : traits->n_flips);
        if (traits->is_packed) {
            write_log(&script, n_steps, place.other, true);
            flip_bits(place.other, seed, traits->n_flips);
            cut_packed(&place, next_random(&random) % 1001);
        }
        options.slim = true;
        outcome.n_kept = incremental_import_n_kept(incremental);
        if (traits->are_cuts) {
            struct import_options cut = options;
            uint64_t kept_until_ns;
            choose_instant(&script, n_steps, outcome.n_rounds == 0, &random, &cut, &kept_until_ns);
            cut_both(incremental, &place, &cut, kept_until_ns, &outcome);
            assert_same_databases(&place, n_steps);
        } else if (traits->loses_done) {
            import_what_is_left(incremental, &place, &options, n_steps == n_all, &outcome);
            assert_same_databases(&place, n_steps);
        } else if (import_both(incremental, &place, &options, n_steps == n_all, traits->n_flips,
                               &outcome))
            assert_same_databases(&place, n_steps);
        if (traits->is_saved && n_steps < n_all)
            incremental = reload(incremental, &options, &progress);
    }
    incremental_import_close(incremental);
    remove_place(&place);
    return outcome;
}

static void check_run(uint64_t seed, const struct traits *traits)
{
    struct outcome outcome = run(seed, traits);

    assert_true(outcome.n_rounds >= n_min_rounds && outcome.n_read == outcome.n_rounds);
    assert_true(outcome.n_kept > n_steps_of_run / 3);
}

static void check_runs(bool is_packed)
{
    check_run(1, &(struct traits){.is_packed = is_packed});
    check_run(2, &(struct traits){.is_packed = is_packed, .has_groups = true});
    check_run(3, &(struct traits){.is_packed = is_packed, .has_groups = true, .has_walks = true});
}

static void raw(void **state)
{
    (void)state;
    check_runs(false);
}

static void packed_beside_its_pool(void **state)
{
    (void)state;
    check_runs(true);
}

/* As of an instant: by time and by marker, with and without rows, before and behind the end of what
 * is kept. */
static void cuts(void **state)
{
    (void)state;
    for (uint64_t seed = 11; seed <= 16; seed += seeds_apart)
        check_run(seed, &(struct traits){.is_packed = seed % 2,
                                         .has_groups = seed > 11,
                                         .has_walks = seed == 13,
                                         .are_cuts = true});
}

/* What is kept is saved after each round, and the next one goes on with what was loaded. */
static void saved_and_loaded(void **state)
{
    (void)state;
    for (uint64_t seed = 21; seed <= 27; seed += seeds_apart)
        check_run(seed, &(struct traits){
                            .is_packed = seed % 2, .has_groups = seed > 23, .is_saved = true});
}

/* Of a log that has lost what was taken in before, nothing is made up. */
static void another_log_after_a_state(void **state)
{
    static struct script script;
    const struct traits traits = {.is_saved = true};
    struct place place;
    struct progress progress;
    struct incremental_import *incremental;
    struct error err = {0};

    (void)state;
    make_place(&place);
    make_script(&script, 51, &traits);
    const char *const logs[] = {place.live};
    struct import_options options = {.logs = logs,
                                     .n_logs = 1,
                                     .target = place.kept_db,
                                     .force = true,
                                     .no_symbols = true,
                                     .slim = true};
    progress_init(&progress, NULL, NULL);
    assert_int_equal(incremental_import_open(&options, &progress, &incremental, NULL), 0);
    incremental_import_be_bounded(incremental);
    write_log(&script, n_steps_of_run, place.live, false);
    assert_int_equal(incremental_import_advance(incremental, UINT64_MAX, &err), 0);
    assert_true(incremental_import_n_kept(incremental) > 0);
    incremental = reload(incremental, &options, &progress);
    assert_int_equal(unlink(place.live), 0);
    write_log(&script, n_steps_of_run / 8, place.live, false);
    assert_int_equal(incremental_import_advance(incremental, UINT64_MAX, &err), ERROR_FORMAT);
    assert_non_null(strstr(err.text, "its definitions have changed"));
    incremental_import_close(incremental);
    remove_place(&place);
}

/* What the log lost since is in what was saved. */
static void loaded_without_segments(void **state)
{
    (void)state;
    for (uint64_t seed = 31; seed <= 34; seed += seeds_apart) {
        struct traits traits = {.has_groups = seed > 32, .is_saved = true, .loses_done = true};
        struct outcome outcome = run(seed, &traits);
        assert_true(outcome.n_read == outcome.n_rounds && outcome.n_lost > 3);
    }
}

/* Until the first one nobody counted what the root was charged: read once more from the
 * beginning. */
static void groups_late(void **state)
{
    (void)state;
    check_run(4, &(struct traits){.has_groups = true, .first_group = n_steps_of_run / 2});
}

/* Of the program's own allocators, beside walks that claim their blocks. */
static void pools(void **state)
{
    (void)state;
    for (uint64_t seed = 5; seed <= 6; seed++)
        check_run(seed, &(struct traits){.is_packed = seed % 2,
                                         .has_groups = seed == 6,
                                         .has_pools = true,
                                         .has_walks = true});
}

/* Wherever it is, and whatever it says: most is read. */
static void damaged(void **state)
{
    unsigned n_read = 0;

    (void)state;
    for (uint64_t seed = 1; seed <= n_damaged_runs; seed++) {
        struct traits traits = {.is_packed = seed % 2,
                                .has_groups = true,
                                .has_walks = true,
                                .n_steps = 1000,
                                .n_flips = seed % 5};
        n_read += run(seed, &traits).n_read;
    }
    assert_true(n_read > n_damaged_runs);
}

static pid_t start_recorder(void)
{
    pid_t pid = fork();

    assert_true(pid >= 0);
    if (pid == 0) {
        for (;;)
            pause();
    }
    return pid;
}

/* Who waits for the next round hears at once that nobody writes any more. */
static void looks_whether_it_grows(void **state)
{
    static struct script script;
    pid_t pid;
    uint32_t recorder_pid;
    struct incremental_import *incremental;
    struct progress progress;
    struct place place;

    (void)state;
    make_place(&place);
    make_script(&script, 1, &(struct traits){.is_packed = false});
    write_log(&script, 100, place.live, false);
    pid = start_recorder();
    recorder_pid = (uint32_t)pid;
    int fd = open(place.live, O_WRONLY | O_CLOEXEC);
    assert_int_equal(
        pwrite(fd, &recorder_pid, sizeof recorder_pid, offsetof(struct log_header, recorder_pid)),
        sizeof recorder_pid);
    close(fd);
    const char *const logs[] = {place.live};
    struct import_options options = {.logs = logs, .n_logs = 1, .target = place.kept_db};
    progress_init(&progress, NULL, NULL);
    assert_int_equal(incremental_import_open(&options, &progress, &incremental, NULL), 0);
    assert_false(incremental_import_is_growing(incremental));
    assert_int_equal(incremental_import_advance(incremental, UINT64_MAX, NULL), 0);
    assert_true(incremental_import_is_growing(incremental));
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    assert_false(incremental_import_is_growing(incremental));
    incremental_import_close(incremental);
    remove_place(&place);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(raw),
        cmocka_unit_test(packed_beside_its_pool),
        cmocka_unit_test(groups_late),
        cmocka_unit_test(pools),
        cmocka_unit_test(damaged),
        cmocka_unit_test(cuts),
        cmocka_unit_test(looks_whether_it_grows),
        cmocka_unit_test(saved_and_loaded),
        cmocka_unit_test(another_log_after_a_state),
        cmocka_unit_test(loaded_without_segments),
    };
    if (argc > 1 && strcmp(argv[1], "long") == 0) {
        n_steps_of_run = MAX_STEPS;
        seeds_apart = 1;
        n_min_rounds = 6;
        n_damaged_runs = 20;
    } else if (argc > 1) {
        cmocka_set_test_filter(argv[1]);
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
