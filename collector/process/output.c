/* SPDX-License-Identifier: MIT */
#include "collector/process/output.h"

#include "collector/arch/arch.h"
#include "collector/log/definition.h"
#include "collector/log/segment.h"
#include "collector/os/clock.h"
#include "collector/os/fmt.h"
#include "collector/os/sys.h"
#include "lib/abi/file_systems.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

enum {
    MAX_NAMES = 10000, /* tried before giving up on %n or .<pid>.<n> */
    LOG_MODE = 0600,   /* arguments and paths are private to the owner */
};

static char g_path[CONFIG_PATH_BYTES];  /* of this log; written by output_open */
static char g_first[CONFIG_PATH_BYTES]; /* of the first log of the run */
static char g_later[CONFIG_PATH_BYTES]; /* name of this log after the attaching recorder moved it */
static uint32_t g_image;

const char *output_path(void)
{
    return g_path;
}

const char *output_first_path(void)
{
    return g_first;
}

static void make_absolute(const char *path, struct fmt *out)
{
    static char directory[CONFIG_PATH_BYTES]; /* only one thread opens the log */

    if (*path != '/' && sys_getcwd(directory, sizeof(directory)) > 0) {
        fmt_string(out, directory);
        fmt_char(out, '/');
    }
    fmt_string(out, path);
}

static void child_name(const char *first, uint32_t pid, unsigned image, bool is_live,
                       struct fmt *out)
{
    fmt_string(out, first);
    fmt_char(out, '.');
    fmt_decimal(out, pid);
    fmt_char(out, '.');
    fmt_decimal(out, image);
    if (is_live)
        fmt_string(out, ".live");
}

void output_child_path(const struct config *config, uint32_t pid, struct fmt *out)
{
    child_name(g_first, pid, 0, config->recorder_pid != 0, out);
}

/* The program's umask must not apply to the log: it may be 0, or deny the owner to open it
 * again. */
static int create(const char *path)
{
    int fd = (int)sys_open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, LOG_MODE);

    if (fd >= 0)
        sys_change_mode(fd, LOG_MODE);
    return fd;
}

/* The inode of our PID namespace, from the link "pid:[4026531836]". 0: there is no /proc. */
static uint32_t pid_space(void)
{
    char text[32] = "";
    uint64_t inode = 0;
    long length = sys_readlink("/proc/self/ns/pid", text, sizeof(text) - 1);
    const char *digits = length > 0 ? fmt_after_prefix(text, "pid:[") : NULL;

    return digits && fmt_parse_decimal(&digits, &inode) ? (uint32_t)inode : 0;
}

/* A log whose writer has exited may be replaced. A log in use, or any other file, may not. */
static bool is_replaceable(const char *path)
{
    struct log_header header;
    int fd = (int)sys_open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY, 0);
    long length;

    if (fd < 0)
        return false;
    length = sys_read(fd, &header, sizeof(header));
    sys_close(fd);
    if (length < (long)sizeof(header) || !bytes_equal(header.magic, LOG_MAGIC, 8))
        return false;
    if (header.form == LOG_FORM_PACKED)
        return true;
    if (header.pid_space != pid_space()) /* its PID means another process here */
        return false;
    return header.pid == (uint32_t)sys_getpid() || sys_process_exists((long)header.pid) == -ESRCH;
}

/* The recorder packed a live log of this name and removed it. */
static bool is_packed_already(uint32_t pid, unsigned image)
{
    static char packed[CONFIG_PATH_BYTES];
    struct fmt path = FMT_BUFFER(packed);
    int fd;

    child_name(g_first, pid, image, false, &path);
    fd = (int)sys_open(packed, O_PATH | O_NOFOLLOW, 0);
    if (fd >= 0)
        sys_close(fd);
    return fd >= 0;
}

/* OU-3: the recorder creates the packed log before it removes the live one, so the live name may
 * have become free since the test. */
static int create_live(uint32_t pid, unsigned image)
{
    struct fmt path = FMT_BUFFER(g_path);
    int fd = -EEXIST;

    child_name(g_first, pid, image, true, &path);
    if (!is_packed_already(pid, image))
        fd = create(g_path);
    if (fd < 0 || !is_packed_already(pid, image))
        return fd;
    sys_unlink(g_path);
    sys_close(fd);
    return -EEXIST;
}

/* For a child or a later image: takes the first free image number. */
static int create_child_file(const struct config *config)
{
    bool is_live = config->recorder_pid != 0;
    uint32_t pid = (uint32_t)sys_getpid();
    int fd = -EEXIST;

    for (g_image = 0; g_image < MAX_NAMES && fd == -EEXIST; g_image++) {
        struct fmt path = FMT_BUFFER(g_path);
        if (is_live) {
            fd = create_live(pid, g_image);
        } else {
            child_name(g_first, pid, g_image, false, &path);
            fd = create(g_path);
        }
    }
    g_image--;
    return fd;
}

static int create_first_file(const struct config *config, const char *pattern)
{
    static char expanded[CONFIG_PATH_BYTES];
    unsigned n_names = config_is_numbered(pattern) ? MAX_NAMES : 1;
    int fd = -EEXIST;

    for (unsigned number = 0; number < n_names && fd == -EEXIST; number++) {
        struct fmt name = FMT_BUFFER(expanded);
        struct fmt path = FMT_BUFFER(g_path);
        config_expand(pattern, number, &name);
        make_absolute(expanded, &path);
        fd = create(g_path);
    }
    if (fd == -EEXIST && n_names == 1 && is_replaceable(g_path)) {
        sys_unlink(g_path);
        fd = create(g_path);
    }
    memcpy(g_first, g_path, sizeof(g_first));
    if (fd != -EEXIST)
        return fd;
    message(CONFIG_LEVEL_INFO, "exists and is in use or no log, another name is taken: ", g_path,
            0);
    return create_child_file(config);
}

/* Places for the first log: as requested, for temporary files, in memory (LOG_FLAG_WEAK). */
enum place {
    PLACE_WANTED,
    PLACE_TEMPORARY,
    PLACE_MEMORY,
    N_PLACES
};

static int create_in_folder(const struct config *config, const char *folder)
{
    static char pattern[CONFIG_PATH_BYTES];
    struct fmt out = FMT_BUFFER(pattern);
    const char *base = config->output;

    for (const char *c = config->output; *c; c++)
        if (*c == '/')
            base = c + 1;
    fmt_string(&out, folder);
    fmt_char(&out, '/');
    fmt_string(&out, base);
    return create_first_file(config, pattern);
}

static int create_at(const struct config *config, enum place place)
{
    if (place == PLACE_WANTED)
        return create_first_file(config, config->output);
    return create_in_folder(config,
                            place == PLACE_MEMORY ? "/dev/shm" : config->temporary_directory);
}

/* MADV_RANDOM: otherwise the first page touched reads ahead, up to a whole live log of zeros, which
 * costs 3 ms. */
static void advise(struct log_header *file, size_t size_bytes)
{
    sys_advise(file, size_bytes, MADV_DONTFORK);
    sys_advise(file, size_bytes, MADV_DONTDUMP);
    sys_advise(file, size_bytes, MADV_RANDOM);
}

static struct log_header *map_whole(int fd, size_t size_bytes)
{
    long address = sys_map_file(fd, 0, size_bytes);

    if (address < 0 && address > -4096)
        return NULL;
    advise((struct log_header *)(uintptr_t)address, size_bytes);
    return (struct log_header *)(uintptr_t)address;
}

static uint64_t random_id(void)
{
    uint64_t id = 0;

    if (sys_random(&id, sizeof(id)) != (long)sizeof(id) || id == 0)
        id = sys_clock_ns(CLOCK_REALTIME) * 0x9e3779b97f4a7c15u ^ (uint64_t)sys_getpid();
    return id;
}

static uint32_t settings_flags(const struct config *config)
{
    return (config->has_free_backtraces ? LOG_FLAG_FREE_BACKTRACES : 0u)
           | (config->is_attached ? LOG_FLAG_ATTACHED : 0u);
}

static void fill_header(struct log_header *file, const struct config *config,
                        const struct output_parent *parent)
{
    struct clock_instant now = clock_now();
    struct fmt version = FMT_BUFFER(file->collector_version);

    file->version = LOG_VERSION;
    file->form = LOG_FORM_RAW;
    log_file_set_machine(file);
    file->page_bytes = (uint32_t)sys_page_bytes();
    file->segment_bytes = LOG_SEGMENT_BYTES;
    file->clock = (uint32_t)clock_unit();
    file->sample_bytes = config->sample_bytes;
    if (file->run_id == 0)
        file->run_id = random_id();
    file->parent_run_id = parent->run_id;
    file->parent_pid = parent->pid;
    file->pid = (uint32_t)sys_getpid();
    file->pid_space = pid_space();
    file->image = g_image;
    file->flags |= settings_flags(config) | (parent->is_forked_from ? LOG_FLAG_FORKED : 0u);
    file->start_ticks = file->last_ticks = now.ticks;
    file->start_monotonic_ns = file->last_monotonic_ns = now.monotonic_ns;
    file->start_unix_ns = sys_clock_ns(CLOCK_REALTIME);
    fmt_string(&version, MTRACE_VERSION);
    atomic_store_explicit(&file->n_nodes, LOG_NODE_FIRST, memory_order_relaxed);
    if (atomic_load_explicit(&file->next_sequence, memory_order_relaxed) == 0)
        atomic_store_explicit(&file->next_sequence, 1, memory_order_relaxed);
}

/* OU-2. Release: a reader that sees the magic sees the header. */
static void publish_header(struct log_header *file)
{
    uint64_t magic;

    memcpy(&magic, LOG_MAGIC, sizeof(magic));
    __atomic_store_n((uint64_t *)(void *)file->magic, magic, __ATOMIC_RELEASE);
}

/* The recorder's live log belongs to the first image that claims its pid field. */
static bool open_pool(const struct config *config, const struct output_parent *parent)
{
    struct segment_file where = {.path = g_path, .max_bytes = config->max_live_bytes};
    struct fmt path = FMT_BUFFER(g_path);
    struct fmt first = FMT_BUFFER(g_first);
    struct fmt later = FMT_BUFFER(g_later);
    struct log_header *file = NULL;
    uint32_t unclaimed = 0;
    uint64_t n_segments;
    int fd;

    make_absolute(config->output, &first); /* also if the live log is packed and removed already */
    fmt_string(&path, config->pool);
    if (config->is_attached) {
        fmt_string(&later, g_first);
        fmt_string(&later, ".live");
        where.later_path = g_later;
    }
    fd = (int)sys_open(g_path, O_RDWR | O_NOFOLLOW, 0);
    if (fd < 0)
        return false;
    if (sys_file_id(fd, &where.id) == 0 && where.id.size_bytes > LOG_FILE_HEADER_BYTES)
        file = map_whole(fd, (size_t)where.id.size_bytes);
    sys_close(fd);
    if (!file)
        return false;
    if (!__atomic_compare_exchange_n(&file->pid, &unclaimed, (uint32_t)sys_getpid(), false,
                                     __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
        sys_unmap(file, (size_t)where.id.size_bytes);
        return false;
    }
    n_segments = ((uint64_t)where.id.size_bytes - LOG_FILE_HEADER_BYTES) / LOG_SEGMENT_BYTES;
    if (n_segments > atomic_load_explicit(&file->n_segments, memory_order_relaxed))
        n_segments = atomic_load_explicit(&file->n_segments, memory_order_relaxed);
    fill_header(file, config, parent);
    segment_attach(file, (uint32_t)n_segments, &where);
    publish_header(file);
    return true;
}

enum {
    RAW_BYTES = LOG_FILE_HEADER_BYTES + SEGMENT_CHUNK * LOG_SEGMENT_BYTES /* a new raw log */
};

/* Closes fd. On failure removes the file and returns a negative errno. must_keep: also fails if
 * reserved space may be missing when it is written. */
static long reserve_and_map(int fd, bool must_keep, struct log_header **ret_file,
                            struct sys_file_id *ret_id)
{
    bool is_weak = sys_copies_on_write(fd);
    long result = is_weak && must_keep ? -EOPNOTSUPP : 0;

    if (result >= 0)
        result = segment_reserve_space(fd, 0, RAW_BYTES, &is_weak);
    if (result >= 0)
        result = sys_file_id(fd, ret_id);
    if (result >= 0)
        result = sys_map_file(fd, 0, RAW_BYTES);
    sys_close(fd);
    if (result < 0 && result > -4096) {
        sys_unlink(g_path);
        return result;
    }
    *ret_file = (struct log_header *)(uintptr_t)result;
    advise(*ret_file, RAW_BYTES);
    (*ret_file)->flags |= is_weak ? LOG_FLAG_WEAK : 0u;
    return 0;
}

static struct log_header *make_first(const struct config *config, struct sys_file_id *ret_id,
                                     bool *ret_is_elsewhere)
{
    for (unsigned place = PLACE_WANTED; place < N_PLACES; place++) {
        struct log_header *file;
        long result = create_at(config, (enum place)place);
        if (result >= 0)
            result = reserve_and_map((int)result, false, &file, ret_id);
        if (result == 0) {
            file->flags |= place == PLACE_MEMORY ? LOG_FLAG_WEAK : 0u;
            *ret_is_elsewhere = place != PLACE_WANTED;
            return file;
        }
        message(CONFIG_LEVEL_ERROR, "cannot create a log here: ", g_path, result);
    }
    return NULL;
}

/* Creates the log in shared memory, with a link where the recorder looks for it. */
static long make_in_memory(struct log_header **ret_file, struct sys_file_id *ret_id)
{
    static char link[CONFIG_PATH_BYTES];
    struct fmt path = FMT_BUFFER(g_path);
    long result;

    memcpy(link, g_path, sizeof(link));
    fmt_string(&path, FILE_SYSTEMS_MEMORY_PREFIX);
    fmt_hex(&path, random_id());
    fmt_string(&path, ".live");
    result = create(g_path);
    if (result >= 0)
        result = reserve_and_map((int)result, false, ret_file, ret_id);
    if (result >= 0 && (result = sys_link(g_path, link)) < 0) {
        sys_unmap(*ret_file, RAW_BYTES);
        sys_unlink(g_path);
    }
    if (result >= 0)
        (*ret_file)->flags |= LOG_FLAG_WEAK;
    return result;
}

/* Tells the recorder why there is no log; otherwise it only sees that the process has none. */
static void leave_word(void)
{
    struct fmt path = FMT_BUFFER(g_path);

    child_name(g_first, (uint32_t)sys_getpid(), g_image, true, &path);
    sys_link(FILE_SYSTEMS_NO_ROOM, g_path);
}

/* A log that the recorder will pack may be in shared memory until then. A log that stays must be in
 * its place. */
static struct log_header *make_later(const struct config *config, struct sys_file_id *ret_id)
{
    bool is_live = config->recorder_pid != 0;
    struct log_header *file;
    long result = create_child_file(config);

    if (result >= 0) {
        result = reserve_and_map((int)result, is_live, &file, ret_id);
        if (result < 0 && is_live && make_in_memory(&file, ret_id) >= 0)
            result = 0;
        else if (result == -EOPNOTSUPP && (result = create_child_file(config)) >= 0)
            result = reserve_and_map((int)result, false, &file, ret_id);
    }
    if (result == 0)
        return file;
    message(CONFIG_LEVEL_ERROR, "cannot create a log here: ", g_path, result);
    if (is_live && file_systems_is_lack_of_room((int)-result))
        leave_word();
    return NULL;
}

static bool open_raw(const struct config *config, const struct output_parent *parent)
{
    struct segment_file where = {.path = g_path, .max_bytes = config->max_live_bytes};
    struct fmt first = FMT_BUFFER(g_first);
    bool is_elsewhere = false;
    struct log_header *file;

    g_image = 0;
    if (parent->path && parent->path != g_first)
        fmt_string(&first, parent->path);
    file =
        parent->path ? make_later(config, &where.id) : make_first(config, &where.id, &is_elsewhere);
    if (!file) {
        message(CONFIG_LEVEL_ERROR, "nothing is recorded", NULL, 0);
        return false;
    }
    fill_header(file, config, parent);
    segment_attach(file, SEGMENT_CHUNK, &where);
    segment_add_free(0, SEGMENT_CHUNK);
    atomic_store_explicit(&file->n_segments, SEGMENT_CHUNK, memory_order_relaxed);
    publish_header(file);
    if (is_elsewhere)
        message(CONFIG_LEVEL_ERROR, "the log is not at the requested path, but at ", g_path, 0);
    return true;
}

bool output_open(const struct config *config, const struct output_parent *parent)
{
    struct output_parent own_pool = {NULL, 0, 0, false};

    if (!parent->path && config->pool[0]) {
        if (open_pool(config, parent))
            return true;
        if (config->is_attached) /* the recorder that attached is gone */
            return false;
        own_pool = *parent;
        own_pool.path = g_first; /* another image has the live log: name the log after it */
        parent = &own_pool;
    }
    return open_raw(config, parent);
}
