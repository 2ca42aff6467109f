/* SPDX-License-Identifier: MIT */
#include "tests/lib/log_builder.h"

#include "lib/logfile/pack.h"
#include "lib/process/writer_liveness.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
    USABLE_ALIGN = 16,
    USABLE_MIN = 24,
};

/* A segment in the making: header and payload as in a raw file. */
struct open_segment {
    struct open_segment *next; /* of the partly filled ones */
    struct log_segment header;
    uint32_t used_bytes;
    uint32_t last_def; /* DEFS: where the latest one begins */
    uint32_t last_thread;
    uint64_t base_ticks; /* the last one written */
    uint64_t payload[LOG_SEGMENT_PAYLOAD_BYTES / sizeof(uint64_t)];
};

struct log_builder {
    const char *path;
    int fd;
    struct log_header header;
    uint32_t ticks_per_ns;
    log_builder_put_fn *put_events;
    void *put_context;
    struct pack *pack;
    struct pack_settings settings;
    uint64_t file_bytes; /* packed: where the next frame goes */
    struct open_segment **threads;
    size_t n_threads; /* entries of `threads`; index 0 is the segment of thread 0 */
    struct open_segment *partial;
    struct open_segment *defs, *nodes, *side;
    uint32_t n_modules;
    uint8_t frame[PACK_SEGMENT_MAX_BYTES + PACK_FRAME_OVERHEAD];
};

static _Noreturn void die(const char *what, const char *path)
{
    fprintf(stderr, "log_builder: cannot %s '%s': %s\n", what, path, strerror(errno));
    exit(1);
}

static void write_at(struct log_builder *builder, const void *bytes, size_t n, uint64_t offset)
{
    if (pwrite(builder->fd, bytes, n, (off_t)offset) != (ssize_t)n)
        die("write", builder->path);
}

static void *allocate(size_t n_bytes)
{
    void *memory = calloc(1, n_bytes);
    if (!memory)
        die("allocate memory for", "a log");
    return memory;
}

struct log_builder *log_builder_open(const char *path, const struct log_builder_options *options)
{
    struct log_builder *builder = allocate(sizeof(*builder));
    struct log_header *header = &builder->header;

    builder->path = path;
    builder->fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    builder->pack = pack_new();
    if (builder->fd < 0 || !builder->pack)
        die("create", path);
    builder->settings.zstd_level = options->zstd_level;
    builder->settings.time_shift = options->time_shift;
    builder->ticks_per_ns = options->ticks_per_ns;
    builder->put_events = options->put_events;
    builder->put_context = options->put_context;
    builder->file_bytes = LOG_FILE_HEADER_BYTES;
    memcpy(header->magic, LOG_MAGIC, sizeof(header->magic));
    header->version = LOG_VERSION;
    header->form = options->is_packed ? LOG_FORM_PACKED : LOG_FORM_RAW;
    log_file_set_machine(header);
    header->page_bytes = 4096;
    header->segment_bytes = LOG_SEGMENT_BYTES;
    header->clock = options->clock ? options->clock : LOG_CLOCK_MONOTONIC;
    header->run_id = options->run_id ? options->run_id : 1;
    header->parent_run_id = options->parent_run_id;
    header->pid = options->pid ? options->pid : 1000;
    header->parent_pid = options->parent_pid;
    header->image = options->image;
    header->start_monotonic_ns = options->start_ns ? options->start_ns : 1000000000;
    header->start_ticks = options->start_ticks ? options->start_ticks : header->start_monotonic_ns;
    header->start_unix_ns = 1700000000000000000;
    header->n_nodes = LOG_NODE_FIRST;
    header->next_sequence = 1;
    strcpy(header->collector_version, "builder");
    return builder;
}

struct log_header *log_builder_header(struct log_builder *builder)
{
    return &builder->header;
}

static struct open_segment *begin_segment(struct log_builder *builder, enum log_segment_kind kind,
                                          uint64_t base_ticks)
{
    struct open_segment *segment = allocate(sizeof(*segment));

    segment->header.kind = kind;
    segment->header.state = LOG_STATE_SEALED;
    segment->header.sequence = builder->header.next_sequence++;
    segment->header.index = builder->header.n_segments++;
    segment->header.run_id = builder->header.run_id;
    segment->header.base_ticks = base_ticks;
    if (builder->header.clock == LOG_CLOCK_MONOTONIC)
        segment->header.base_monotonic_ns = base_ticks;
    else if (builder->ticks_per_ns)
        segment->header.base_monotonic_ns =
            builder->header.start_monotonic_ns
            + (base_ticks - builder->header.start_ticks) / builder->ticks_per_ns;
    segment->base_ticks = base_ticks;
    return segment;
}

static void append_frame(struct log_builder *builder, size_t n_bytes, bool is_of_events)
{
    if (is_of_events && builder->put_events) {
        builder->put_events(builder->put_context, &builder->header, builder->frame, n_bytes);
        return;
    }
    write_at(builder, builder->frame, n_bytes, builder->file_bytes);
    builder->file_bytes += n_bytes;
}

static void write_frame(struct log_builder *builder, const struct log_segment *header,
                        const void *payload, uint32_t n_bytes)
{
    size_t n = pack_segment(builder->pack, &builder->settings, header, payload, 0, n_bytes,
                            builder->frame);

    append_frame(builder, n,
                 header->kind == LOG_SEGMENT_EVENTS || header->kind == LOG_SEGMENT_FALLBACK);
}

/* Writes a segment and forgets it; NULL is fine. */
static void end_segment(struct log_builder *builder, struct open_segment *segment)
{
    uint64_t offset;

    if (!segment)
        return;
    segment->header.committed_bytes = segment->used_bytes;
    segment->header.reserved_bytes = segment->used_bytes;
    offset = LOG_FILE_HEADER_BYTES + (uint64_t)segment->header.index * LOG_SEGMENT_BYTES;
    if (builder->header.form == LOG_FORM_RAW) {
        write_at(builder, &segment->header, sizeof(segment->header), offset);
        write_at(builder, segment->payload, sizeof(segment->payload),
                 offset + LOG_SEGMENT_HEADER_BYTES);
    } else {
        write_frame(builder, &segment->header, segment->payload, segment->used_bytes);
    }
    free(segment);
}

static bool has_room(const struct open_segment *segment, size_t n_bytes)
{
    return segment && segment->used_bytes + n_bytes <= LOG_SEGMENT_PAYLOAD_BYTES;
}

static void *take(struct open_segment *segment, size_t n_bytes)
{
    void *place = (char *)segment->payload + segment->used_bytes;
    segment->used_bytes += (uint32_t)n_bytes;
    return place;
}

void log_builder_def(struct log_builder *builder, const struct log_def *def, const void *text,
                     size_t text_bytes)
{
    size_t n_bytes = (sizeof(*def) + text_bytes + LOG_DEF_ALIGN - 1) & ~(size_t)(LOG_DEF_ALIGN - 1);
    struct log_def *place;

    if (!has_room(builder->defs, n_bytes)) {
        end_segment(builder, builder->defs);
        builder->defs = begin_segment(builder, LOG_SEGMENT_DEFS, builder->header.start_ticks);
    }
    builder->defs->last_def = builder->defs->used_bytes;
    place = take(builder->defs, n_bytes);
    memcpy(place, def, sizeof(*def));
    place->text_bytes = (uint16_t)text_bytes;
    place->magic = LOG_DEF_MAGIC;
    if (text_bytes > 0)
        memcpy(place + 1, text, text_bytes);
}

void log_builder_torn_def(struct log_builder *builder)
{
    struct open_segment *defs = builder->defs;
    struct open_segment copy = *defs;
    struct log_def *last = (struct log_def *)(void *)((char *)copy.payload + defs->last_def);

    last->magic = 0;
    memset((char *)(last + 1) + 1, 0, last->text_bytes - 1u);
    write_frame(builder, &copy.header, copy.payload, copy.used_bytes);
}

void log_builder_process(struct log_builder *builder, const char *executable,
                         const char *const *arguments)
{
    struct log_def def = {.kind = LOG_DEF_PROCESS, .ticks = builder->header.start_ticks};
    char text[LOG_DEF_MAX_BYTES - sizeof(struct log_def)];
    size_t n = strlen(executable) + 1;

    memcpy(text, executable, n);
    for (; *arguments; arguments++) {
        size_t n_argument = strlen(*arguments) + 1;
        if (n + n_argument > sizeof(text))
            break;
        memcpy(text + n, *arguments, n_argument);
        n += n_argument;
    }
    log_builder_def(builder, &def, text, n);
}

uint32_t log_builder_module(struct log_builder *builder, const char *path, const char *build_id,
                            size_t build_id_bytes, uint64_t load_address, uint64_t ticks)
{
    struct log_def def = {.kind = LOG_DEF_MODULE,
                          .id = ++builder->n_modules,
                          .extra = (uint32_t)build_id_bytes,
                          .ticks = ticks,
                          .a = load_address,
                          .b = load_address,
                          .c = 1 << 20};
    char text[512];

    memcpy(text, build_id, build_id_bytes);
    strcpy(text + build_id_bytes, path);
    log_builder_def(builder, &def, text, build_id_bytes + strlen(path));
    return def.id;
}

uint32_t log_builder_thread(struct log_builder *builder, uint32_t tid, const char *name,
                            uint64_t ticks)
{
    uint32_t index = ++builder->header.n_threads;
    struct log_def def = {.kind = LOG_DEF_THREAD, .id = index, .ticks = ticks, .a = tid};

    log_builder_def(builder, &def, NULL, 0);
    if (name) {
        def = (struct log_def){.kind = LOG_DEF_THREAD_NAME, .id = index, .ticks = ticks};
        log_builder_def(builder, &def, name, strlen(name));
    }
    return index;
}

static struct open_segment **thread_slot(struct log_builder *builder, uint32_t thread)
{
    size_t n = builder->n_threads ? builder->n_threads : 64;

    while (n <= thread)
        n *= 2;
    if (n != builder->n_threads) {
        builder->threads = realloc(builder->threads, n * sizeof(struct open_segment *));
        if (!builder->threads)
            die("allocate memory for", builder->path);
        memset(builder->threads + builder->n_threads, 0,
               (n - builder->n_threads) * sizeof(struct open_segment *));
        builder->n_threads = n;
    }
    return &builder->threads[thread];
}

void log_builder_thread_end(struct log_builder *builder, uint32_t thread, uint64_t ticks)
{
    struct log_def def = {.kind = LOG_DEF_THREAD_END, .id = thread, .ticks = ticks};
    struct open_segment **slot = thread_slot(builder, thread);

    log_builder_def(builder, &def, NULL, 0);
    if (*slot) {
        (*slot)->next = builder->partial;
        builder->partial = *slot;
        *slot = NULL;
    }
}

uint32_t log_builder_node(struct log_builder *builder, uint32_t parent, uint32_t module,
                          uint64_t address)
{
    uint32_t id = builder->header.n_nodes++;
    struct log_node *node;

    if (!has_room(builder->nodes, sizeof(*node))) {
        end_segment(builder, builder->nodes);
        builder->nodes = begin_segment(builder, LOG_SEGMENT_NODES, builder->header.start_ticks);
        builder->nodes->header.first_node = id;
    }
    node = take(builder->nodes, sizeof(*node));
    node->parent = parent;
    node->module = module;
    node->address = address;
    return id;
}

/* The segment that a thread writes into, with room for n_words, its time bases included; since:
 * when the event began (LF-8). */
static struct open_segment *segment_for(struct log_builder *builder, uint32_t thread,
                                        uint64_t since, uint64_t ticks, size_t n_words)
{
    uint64_t first_ticks = ticks - since > LOG_EARLY_TICKS ? since : ticks;
    struct open_segment **slot = thread_slot(builder, thread);
    size_t n_bytes = (n_words + 4) * sizeof(uint64_t);
    uint64_t *words;

    if (!*slot && has_room(builder->partial, n_bytes)) {
        *slot = builder->partial;
        builder->partial = (*slot)->next;
    }
    if (!has_room(*slot, n_bytes)) {
        end_segment(builder, *slot);
        *slot = begin_segment(builder, LOG_SEGMENT_EVENTS, first_ticks);
        (*slot)->header.thread = thread;
        (*slot)->last_thread = thread;
    }
    if ((*slot)->last_thread != thread) {
        words = take(*slot, 2 * sizeof(*words));
        words[0] = LOG_THREAD | (uint64_t)thread << 32;
        (*slot)->last_thread = thread;
    }
    if (ticks < (*slot)->base_ticks || ticks - (*slot)->base_ticks >= 1ull << LOG_TIME_BITS) {
        words = take(*slot, 2 * sizeof(*words));
        words[0] = LOG_TIME_BASE;
        words[1] = ticks;
        (*slot)->base_ticks = ticks;
    }
    return *slot;
}

static void add_event(struct log_builder *builder, uint32_t thread, uint64_t since, uint64_t ticks,
                      const uint64_t *words, size_t n_words)
{
    struct open_segment *segment = segment_for(builder, thread, since, ticks, n_words);
    uint64_t time = ticks - segment->base_ticks;
    uint64_t *place = take(segment, n_words * sizeof(*words));

    memcpy(place, words, n_words * sizeof(*words));
    place[0] |= (time & 0xffffff) << 8;
    if (n_words > 1)
        place[1] |= time >> 24 << LOG_ADDRESS_BITS;
}

void log_builder_event(struct log_builder *builder, uint32_t thread, uint64_t ticks,
                       const uint64_t *words, size_t n_words)
{
    add_event(builder, thread, ticks, ticks, words, n_words);
}

static uint64_t word_0(unsigned kind, uint32_t node)
{
    return kind | (uint64_t)node << 32;
}

static uint64_t size_word(uint64_t size_bytes, enum log_call call)
{
    uint64_t usable = (size_bytes + 8 + USABLE_ALIGN - 1) / USABLE_ALIGN * USABLE_ALIGN - 8;

    if (usable < USABLE_MIN)
        usable = USABLE_MIN;
    return size_bytes | (usable - size_bytes) << LOG_SIZE_BITS
           | (uint64_t)call << (LOG_SIZE_BITS + LOG_SLACK_BITS);
}

void log_builder_malloc(struct log_builder *builder, uint32_t thread, uint64_t ticks,
                        uint64_t address, uint64_t size_bytes, uint32_t node)
{
    uint64_t words[] = {word_0(LOG_ALLOC, node), address, size_word(size_bytes, LOG_CALL_MALLOC)};
    log_builder_event(builder, thread, ticks, words, 3);
}

void log_builder_free(struct log_builder *builder, uint32_t thread, uint64_t ticks,
                      uint64_t address, uint32_t node)
{
    uint64_t words[] = {word_0(LOG_FREE, node), address};
    log_builder_event(builder, thread, ticks, words, 2);
}

void log_builder_realloc(struct log_builder *builder, uint32_t thread, uint64_t begin_ticks,
                         uint64_t end_ticks, uint64_t old_address, uint64_t address,
                         uint64_t size_bytes, uint32_t node)
{
    uint64_t duration = end_ticks - begin_ticks;
    uint64_t narrow[] = {word_0(LOG_REALLOC, node), address,
                         size_word(size_bytes, LOG_CALL_REALLOC),
                         old_address | duration << LOG_ADDRESS_BITS};
    uint64_t wide[] = {word_0(LOG_REALLOC_WIDE, node),
                       address,
                       LOG_CALL_REALLOC | duration << 8,
                       old_address,
                       size_bytes,
                       size_bytes};

    if (duration < 1u << LOG_DURATION_BITS)
        add_event(builder, thread, begin_ticks, end_ticks, narrow, 4);
    else
        add_event(builder, thread, begin_ticks, end_ticks, wide, 6);
}

void log_builder_fallback(struct log_builder *builder, uint32_t thread, uint64_t ticks,
                          const uint64_t *words, size_t n_words)
{
    struct log_fallback_record *record;

    if (!has_room(builder->side, sizeof(*record))) {
        end_segment(builder, builder->side);
        builder->side = begin_segment(builder, LOG_SEGMENT_FALLBACK, ticks);
    }
    record = take(builder->side, sizeof(*record));
    memcpy(record->words, words, n_words * sizeof(*words));
    record->ticks = ticks;
    record->thread = thread;
    record->valid = LOG_FALLBACK_VALID;
}

void log_builder_seal(struct log_builder *builder, uint32_t thread)
{
    struct open_segment **slot = thread_slot(builder, thread);

    end_segment(builder, *slot);
    *slot = NULL;
}

void log_builder_samples(struct log_builder *builder, const struct log_sample *samples, size_t n)
{
    size_t n_bytes =
        pack_bytes(builder->pack, &builder->settings, LOG_FRAME_SAMPLES, builder->header.run_id,
                   samples, (uint32_t)(n * sizeof(*samples)), builder->frame);

    append_frame(builder, n_bytes, true);
}

void log_builder_flush(struct log_builder *builder)
{
    end_segment(builder, builder->defs);
    end_segment(builder, builder->nodes);
    builder->defs = builder->nodes = NULL;
    write_at(builder, &builder->header, sizeof(builder->header), 0);
    if (!file_lock_take(builder->fd))
        die("lock", builder->path);
}

/* The last segment of a raw file reaches to its end, as the space of a real one is reserved. */
static void end_file(struct log_builder *builder)
{
    size_t n;

    write_at(builder, &builder->header, sizeof(builder->header), 0);
    if (builder->header.form == LOG_FORM_RAW) {
        uint64_t size =
            LOG_FILE_HEADER_BYTES + (uint64_t)builder->header.n_segments * LOG_SEGMENT_BYTES;
        if (ftruncate(builder->fd, (off_t)size) != 0)
            die("extend", builder->path);
        return;
    }
    n = pack_bytes(builder->pack, &builder->settings, LOG_FRAME_TRAILER, builder->header.run_id,
                   &builder->header, sizeof(builder->header), builder->frame);
    write_at(builder, builder->frame, n, builder->file_bytes);
}

/* In a raw log it continues, as far as the segment is filled. */
static void end_open_segment(struct log_builder *builder, struct open_segment *segment)
{
    if (segment && builder->header.form == LOG_FORM_RAW)
        segment->header.state = LOG_STATE_FILLING;
    end_segment(builder, segment);
}

void log_builder_close(struct log_builder *builder)
{
    end_open_segment(builder, builder->defs);
    end_open_segment(builder, builder->nodes);
    end_open_segment(builder, builder->side);
    for (size_t i = 0; i < builder->n_threads; i++)
        end_open_segment(builder, builder->threads[i]);
    while (builder->partial) {
        struct open_segment *next = builder->partial->next;
        end_open_segment(builder, builder->partial);
        builder->partial = next;
    }
    end_file(builder);
    close(builder->fd);
    pack_free(builder->pack);
    free(builder->threads);
    free(builder);
}

enum {
    MAPPED_BYTES = 1 /* the page that it is in */
};

void *log_builder_map(const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    void *mapped = fd >= 0 ? mmap(NULL, MAPPED_BYTES, PROT_READ, MAP_SHARED, fd, 0) : MAP_FAILED;

    if (mapped == MAP_FAILED)
        die("map", path);
    close(fd);
    return mapped;
}

void log_builder_unmap(void *mapped)
{
    (void)munmap(mapped, MAPPED_BYTES);
}
