/* SPDX-License-Identifier: MIT */
/*
 * fuzz_state: the checkpoint of a bounded log, changed anywhere, with valid checksums: it is
 * refused with one line, or the import continues from it, and makes a checkpoint and a database. A
 * log that has something of every part of a checkpoint is made once, and a checkpoint of its first
 * half. Byte 0 says what is changed. Bit 0: the file, as it is; else the contents of its chunks,
 * which are packed again. Bit 1: a database is made, too. Then changes of eight bytes each: what (3
 * bits), how many bytes (5 bits); the part (or 0: anywhere in the file); where (two bytes); four
 * bytes of a value.
 */
#include "importer/cli/bounded_import.h"
#include "importer/cli/incremental_import.h"
#include "importer/log/checkpoint_file.h"
#include "tests/fuzz/log_set_properties.h"
#include "tests/lib/log_builder.h"

#define XXH_INLINE_ALL
#include <stddef.h>
#include <sys/stat.h>
#include <xxhash.h>
#include <zstd.h>

#define MS       UINT64_C(1000000)
#define START_NS (1000 * MS)

enum {
    IS_FILE = 1,
    HAS_DATABASE = 2,
    CHANGE_BYTES = 8,
    MAX_CHANGES = 64,
    MAX_BYTES = 1 << 17, /* of a part */
    RAW_BYTES = CHECKPOINT_CHUNK_BYTES - 1024,
    N_STEPS = 400,
    N_THREADS = 3,
};

struct part {
    struct checkpoint_io_chunk head;
    uint8_t bytes[MAX_BYTES];
    size_t n;
};

struct parts {
    struct part parts[CHECKPOINT_PARTS];
    unsigned order[CHECKPOINT_PARTS], n;
};

struct place {
    char folder[64], log[96], state[96], database[96];
};

/* Chunks that are taken, or made, of parts. */
struct chunks {
    const struct parts *parts;
    unsigned at;
    size_t offset;
    uint8_t chunk[CHECKPOINT_CHUNK_BYTES + 1024];
};

static struct place place;
static struct parts saved;
static uint8_t saved_file[MAX_BYTES];
static size_t saved_file_bytes;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* ---- the log ---- */

static void define(struct log_builder *log, enum log_def_kind kind, uint32_t id, const char *text,
                   size_t n)
{
    const struct log_def def = {.kind = (uint8_t)kind, .id = id};

    log_builder_def(log, &def, text, n);
}

static void event(struct log_builder *log, uint32_t thread, uint64_t ns, uint64_t kind, uint64_t a,
                  uint64_t b, uint64_t c, uint64_t d)
{
    const uint64_t words[] = {kind, a, b, c, d, 0};

    log_builder_event(log, thread, ns, words, log_event_words((unsigned)kind & 255));
}

static void write_rare(struct log_builder *log, unsigned i, uint64_t ns, uint64_t node)
{
    uint64_t block = 0x10000000 + (i - 3) % 128 * 256;
    uint64_t walk = 1 + i / 60;

    switch (i % 12) {
    case 0:
        event(log, 1, ns, LOG_MMAP | node << 32, 0x7f0000000000 + i * UINT64_C(4096), 8192,
              3 | UINT64_C(0x22) << 32, UINT32_MAX);
        break;
    case 1:
        event(log, 1, ns, LOG_GROUP | (uint64_t)(2 + i % 3) << 32, 0, 0, 0, 0);
        break;
    case 2:
        event(log, 1, ns, LOG_MOVE | UINT64_C(3) << 32, block, 0, 0, 0);
        break;
    case 3:
        event(log, 2, ns, LOG_POOL_ALLOC | node << 32, block + 8, 16 | UINT64_C(1) << LOG_SIZE_BITS,
              0, 0);
        break;
    case 4:
        event(log, 2, ns, LOG_MARK, 0, 1 + i % 2, 0, 0);
        break;
    case 5:
        event(log, 2, ns, LOG_OBJECT_WALK, 0, (i % 60 == 5 ? 1 : 0) | walk << 32, 0, 0);
        break;
    case 6:
        event(log, 2, ns, LOG_OBJECT_NODE, 1 + i % 60 / 12,
              1 | (uint64_t)LOG_OBJECT_BLOCK << 32 | walk << LOG_SIZE_BITS,
              i % 60 / 12 | UINT64_C(1) << 32, 64);
        break;
    case 7:
        event(log, 2, ns, LOG_OBJECT_CLAIM, block, 16 | walk << LOG_SIZE_BITS,
              1 | UINT64_C(1) << 32, 0);
        break;
    case 8:
        event(log, 1, ns, LOG_HEAP_EXTENT, 0x10000000, 0x10000000 + i * UINT64_C(4096), 1, 0);
        break;
    default:
        event(log, 1, ns, LOG_MUNMAP | node << 32, 0x7f0000000000 + (i - 9) * UINT64_C(4096), 4096,
              0, 0);
    }
}

static void write_names(struct log_builder *log)
{
    static const char first[] = "one\0kind\0a";
    static const char second[] = "two\0kind\0b";

    define(log, LOG_DEF_GROUP, 2, first, sizeof first - 1);
    define(log, LOG_DEF_GROUP, 3, second, sizeof second - 1);
    define(log, LOG_DEF_POOL, 1, "pool", 4);
    define(log, LOG_DEF_MARKER, 1, "first", 5);
    define(log, LOG_DEF_MARKER, 2, "second", 6);
}

static void write_steps(struct log_builder *log)
{
    uint32_t module = log_builder_module(log, "/bin/program", "\1\2\3\4", 4, 0x400000, START_NS);
    uint32_t nodes[8] = {LOG_NODE_COMPLETE};
    uint64_t ns = START_NS;

    for (uint32_t i = 1; i < 8; i++)
        nodes[i] = log_builder_node(log, nodes[i / 2], module, 0x401000 + 16 * i);
    for (uint32_t i = 0; i < N_THREADS; i++)
        (void)log_builder_thread(log, 1000 + i, "thread", START_NS);
    write_names(log);
    for (unsigned i = 0; i < N_STEPS; i++) {
        uint64_t address = 0x10000000 + i % 128 * 256;
        ns += 20 * MS;
        log_builder_malloc(log, 1 + i % N_THREADS, ns, address, 8 + i % 7 * 30, nodes[1 + i % 7]);
        write_rare(log, i, ns + 1, nodes[1 + i % 5]);
        if (i % 4)
            log_builder_free(log, 1 + i / 2 % N_THREADS, ns + 2000, address, nodes[1 + i % 3]);
        if (i % 50 == 49)
            log_builder_seal(log, 1 + i / 50 % N_THREADS);
    }
}

static void write_samples(struct log_builder *log)
{
    struct log_sample samples[32];

    for (unsigned i = 0; i < 32; i++)
        samples[i] = (struct log_sample){
            .monotonic_ns = START_NS + i * 250 * MS,
            .kind = i % 2 ? LOG_SAMPLE_MEMORY : LOG_SAMPLE_HEAP,
            .a = i % 2 ? 1 << 20 : 0x10000000,
            .b = i % 2 ? 1 << 19 : 0x10000000 + i * UINT64_C(4096),
            .c = 1,
        };
    log_builder_samples(log, samples, 32);
}

static void make_log(void)
{
    const struct log_builder_options options = {.is_packed = true, .start_ns = START_NS};
    const char *arguments[] = {"program", NULL};
    struct log_builder *log = log_builder_open(place.log, &options);

    log_builder_process(log, "/bin/program", arguments);
    write_steps(log);
    write_samples(log);
    log_builder_header(log)->flags |= LOG_FLAG_BOUNDED;
    log_builder_header(log)->end_kind = LOG_END_EXIT;
    log_builder_close(log);
}

/* ---- its checkpoint ---- */

static int take_chunk(void *context, const void *chunk, size_t n_bytes, struct error *err)
{
    struct parts *parts = context;
    const uint8_t *stored = chunk;
    struct checkpoint_io_chunk head;
    struct part *part;
    size_t n;

    (void)err;
    memcpy(&head, chunk, sizeof head);
    require(head.part < CHECKPOINT_PARTS && n_bytes == sizeof head + head.stored_bytes);
    part = &parts->parts[head.part];
    if (part->n == 0)
        parts->order[parts->n++] = head.part;
    part->head = head;
    require(part->n + head.raw_bytes <= MAX_BYTES);
    n = ZSTD_decompress(part->bytes + part->n, head.raw_bytes, stored + sizeof head,
                        head.stored_bytes);
    require(n == head.raw_bytes);
    part->n += n;
    return 0;
}

/* Updates checksums and lengths. */
static int make_chunk(void *context, const void **ret_chunk, size_t *ret_bytes, struct error *err)
{
    struct chunks *chunks = context;
    struct checkpoint_io_chunk head;
    uint8_t *stored = chunks->chunk + sizeof head;
    const struct part *part;
    size_t n;

    (void)err;
    *ret_bytes = 0;
    while (chunks->at < chunks->parts->n
           && chunks->offset == chunks->parts->parts[chunks->parts->order[chunks->at]].n) {
        chunks->at++;
        chunks->offset = 0;
    }
    if (chunks->at == chunks->parts->n)
        return 0;
    part = &chunks->parts->parts[chunks->parts->order[chunks->at]];
    n = part->n - chunks->offset < RAW_BYTES ? part->n - chunks->offset : RAW_BYTES;
    head = part->head;
    head.raw_bytes = (uint32_t)n;
    head.stored_bytes = (uint32_t)ZSTD_compress(stored, sizeof chunks->chunk - sizeof head,
                                                part->bytes + chunks->offset, n, 1);
    chunks->offset += n;
    head.checksum = 0;
    head.checksum = XXH64(stored, head.stored_bytes, XXH64(&head, sizeof head, 0));
    memcpy(chunks->chunk, &head, sizeof head);
    *ret_chunk = chunks->chunk;
    *ret_bytes = sizeof head + head.stored_bytes;
    return 0;
}

static void write_file(const struct parts *parts)
{
    struct chunks chunks = {.parts = parts};
    struct log_header header = {.run_id = 1};
    struct state_writer *writer;
    struct checkpoint_io_sink sink;
    const void *chunk;
    size_t n = 0;

    require(state_writer_open(place.log, &writer, NULL) == 0);
    require(state_writer_begin(writer, &header, NULL) == 0);
    sink = state_writer_sink(writer);
    while (make_chunk(&chunks, &chunk, &n, NULL) == 0 && n)
        require(sink.put(sink.context, chunk, n, NULL) == 0);
    bool has_old;
    require(state_writer_commit(writer, &has_old, NULL) == 0);
    state_writer_close(writer);
}

static struct import_options options_of(const char *const *logs)
{
    return (struct import_options){.logs = logs,
                                   .n_logs = 1,
                                   .target = place.database,
                                   .force = true,
                                   .slim = true,
                                   .is_aggregate = true,
                                   .no_symbols = true};
}

static void make_state(void)
{
    const char *const logs[] = {place.log};
    struct import_options options = options_of(logs);
    const struct checkpoint_io_sink sink = {.put = take_chunk, .context = &saved};
    struct incremental_import *incremental;
    struct progress progress;

    progress_init(&progress, NULL, NULL);
    require(incremental_import_open(&options, &progress, &incremental, NULL) == 0);
    incremental_import_leave_rows_out(incremental);
    incremental_import_be_sole(incremental, NULL);
    require(incremental_import_advance(incremental, START_NS + 10 * MS * N_STEPS, NULL) == 0);
    require(incremental_import_save(incremental, &sink, NULL) == 0);
    incremental_import_close(incremental);
    require(saved.n == CHECKPOINT_PARTS); /* otherwise a part would never be changed */
}

static void remove_place(void)
{
    (void)unlink(place.database);
    (void)unlink(place.state);
    (void)unlink(place.log);
    (void)rmdir(place.folder);
}

/* In memory if there is such a folder: checkpoints are synced to the disk. */
static void make_place(void)
{
    FILE *file;

    (void)snprintf(place.folder, sizeof place.folder, "%s/fuzz_state.XXXXXX",
                   access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
    require(mkdtemp(place.folder) != NULL);
    (void)snprintf(place.log, sizeof place.log, "%s/run.dat", place.folder);
    (void)snprintf(place.state, sizeof place.state, "%s/run.dat.state", place.folder);
    (void)snprintf(place.database, sizeof place.database, "%s/run.db", place.folder);
    (void)atexit(remove_place);
    make_log();
    make_state();
    write_file(&saved);
    file = fopen(place.state, "rb");
    require(file != NULL);
    saved_file_bytes = fread(saved_file, 1, sizeof saved_file, file);
    fclose(file);
}

/* ---- what is changed ---- */

static size_t change(uint8_t *bytes, size_t n, const uint8_t *step)
{
    static const uint64_t numbers[] = {
        0, 1, 2, 255, UINT16_MAX, INT32_MAX, UINT32_MAX, INT64_MAX, (uint64_t)1 << 63, UINT64_MAX};
    size_t at = n ? (size_t)(step[2] | step[3] << 8) % n : 0;
    size_t width = (step[0] >> 3) % 8 + 1u;
    uint64_t number = numbers[step[4] % (sizeof numbers / sizeof numbers[0])];

    width = width < n - at ? width : n - at;
    switch (step[0] & 7) {
    case 0:
        if (n)
            bytes[at] ^= (uint8_t)(1 << (step[4] & 7));
        break;
    case 1:
    case 2:
        memcpy(bytes + at, step + 4, width < 4 ? width : 4);
        break;
    case 3:
    case 4:
        memcpy(bytes + at, &number, width);
        break;
    case 5:
        memmove(bytes + at, bytes + at + width, n - at - width);
        return n - width;
    case 6:
        return step[4] % 4 ? n : at;
    default:
        if (n + 256 <= MAX_BYTES) {
            memmove(bytes + at + width, bytes + at, n - at);
            return n + width;
        }
    }
    return n;
}

static void require_line(int code, const struct error *err)
{
    require(code == 0 || (err->text[0] != '\0' && !strchr(err->text, '\n')));
}

static int ignore_chunk(void *context, const void *chunk, size_t n_bytes, struct error *err)
{
    (void)context;
    (void)chunk;
    (void)n_bytes;
    (void)err;
    return 0;
}

static void go_on(const struct parts *parts, bool is_as_it_was, bool has_database)
{
    const char *const logs[] = {place.log};
    struct import_options options = options_of(logs);
    struct chunks chunks = {.parts = parts};
    const struct checkpoint_io_source source = {.next = make_chunk, .context = &chunks};
    const struct checkpoint_io_sink sink = {.put = ignore_chunk};
    struct incremental_import *incremental;
    struct import_result result;
    struct progress progress;
    struct error err = {0};
    int code;

    progress_init(&progress, NULL, NULL);
    require(incremental_import_open(&options, &progress, &incremental, NULL) == 0);
    incremental_import_leave_rows_out(incremental);
    code = incremental_import_load(incremental, &source, &err);
    if (code == 0)
        code = incremental_import_advance(incremental, UINT64_MAX, &err);
    if (code == 0)
        code = incremental_import_save(incremental, &sink, &err);
    if (code == 0 && has_database)
        code = incremental_import_write(incremental, &options, true, &result, &err);
    require_line(code, &err);
    require(code == 0 || !is_as_it_was);
    incremental_import_close(incremental);
}

static void import_file(const uint8_t *bytes, size_t n)
{
    const char *const logs[] = {place.log};
    struct import_options options = options_of(logs);
    struct import_result result;
    struct progress progress;
    struct error err = {0};
    FILE *file = fopen(place.state, "wb");

    require(file && fwrite(bytes, 1, n, file) == n && fclose(file) == 0);
    progress_init(&progress, NULL, NULL);
    require_line(bounded_import_run(&options, &progress, &result, &err), &err);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct parts parts;
    static uint8_t file[MAX_BYTES];
    size_t file_bytes = saved_file_bytes;

    if (!*place.folder)
        make_place();
    if (size == 0)
        return 0;
    parts = saved;
    memcpy(file, saved_file, saved_file_bytes);
    file_bytes = saved_file_bytes;
    for (size_t i = 0; i < MAX_CHANGES && 1 + (i + 1) * CHANGE_BYTES <= size; i++) {
        const uint8_t *step = data + 1 + i * CHANGE_BYTES;
        struct part *part = &parts.parts[parts.order[step[1] % parts.n]];
        if (data[0] & IS_FILE)
            file_bytes = change(file, file_bytes, step);
        else
            part->n = change(part->bytes, part->n, step);
    }
    if (data[0] & IS_FILE)
        import_file(file, file_bytes);
    else
        go_on(&parts, size == 1, data[0] & HAS_DATABASE);
    return 0;
}
