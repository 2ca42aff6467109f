/* SPDX-License-Identifier: MIT */
#include "collector/os/config.h"

#include "collector/os/sys.h"
#include "lib/abi/log_format.h"
#include "lib/abi/settings.h"

#include <signal.h>
#include <time.h>

enum {
    MAX_LINES = 32
};

/* Need not end with a NUL: values of MTRACE_RECORDER end with their assignment. */
struct span {
    const char *text;
    size_t length;
};

struct choice {
    const char *name;
    unsigned value;
};

static const struct choice g_unwinders[] = {
    {"fast", CONFIG_UNWINDER_FAST},
    {"libunwind", CONFIG_UNWINDER_LIBUNWIND},
    {"frame-pointer", CONFIG_UNWINDER_FRAME_POINTER},
    {"none", CONFIG_UNWINDER_NONE},
    {"check", CONFIG_UNWINDER_CHECK},
    {NULL, 0},
};

static const struct choice g_levels[] = {
    {"trace", CONFIG_LEVEL_TRACE}, {"debug", CONFIG_LEVEL_DEBUG}, {"info", CONFIG_LEVEL_INFO},
    {"warn", CONFIG_LEVEL_WARN},   {"error", CONFIG_LEVEL_ERROR}, {NULL, 0},
};

static const struct choice g_signals[] = {
    {"SIGUSR1", SIGUSR1}, {"SIGUSR2", SIGUSR2}, {"SIGHUP", SIGHUP},
    {"SIGQUIT", SIGQUIT}, {"SIGPROF", SIGPROF}, {NULL, 0},
};

static const struct choice g_images[] = {{"exit", true}, {NULL, 0}};

static const struct choice g_clocks[] = {{"tsc", true}, {"monotonic", false}, {NULL, 0}};

static const struct choice g_booleans[] = {
    {"1", 1},     {"true", 1}, {"yes", 1}, {"on", 1}, {"0", 0},
    {"false", 0}, {"no", 0},   {"off", 0}, {NULL, 0},
};

const char *config_find(const char *const *environment, const char *name)
{
    for (; environment && *environment; environment++) {
        const char *rest = **environment == *name ? fmt_after_prefix(*environment, name) : NULL;
        if (rest && *rest == '=')
            return rest + 1;
    }
    return NULL;
}

/* Where settings are looked up; the assignments of MTRACE_RECORDER are split once. */
struct source {
    const char *const *environment;
    const char *lines[MAX_LINES];
    unsigned n_lines;
    const char *rest; /* assignments that did not fit; mostly "" */
};

static const char *line_end(const char *line)
{
    while (*line && *line != SETTINGS_SEPARATOR)
        line++;
    return line;
}

static struct source open_source(const char *const *environment)
{
    const char *lines = config_find(environment, "MTRACE_RECORDER");
    struct source source = {.environment = environment, .rest = lines ? lines : ""};

    while (*source.rest && source.n_lines < MAX_LINES) {
        const char *end = line_end(source.rest);
        source.lines[source.n_lines++] = source.rest;
        source.rest = *end ? end + 1 : end;
    }
    return source;
}

/* The value, if the assignment is one of `name`. */
static bool read_line(const char *line, const char *name, struct span *ret_value)
{
    const char *rest = fmt_after_prefix(line, name);

    if (!rest || *rest != '=')
        return false;
    *ret_value = (struct span){rest + 1, (size_t)(line_end(rest) - rest - 1)};
    return true;
}

static bool find_assignment(const struct source *source, const char *name, struct span *ret_value)
{
    const char *rest = source->rest;

    for (unsigned i = 0; i < source->n_lines; i++)
        if (read_line(source->lines[i], name, ret_value))
            return true;
    while (*rest && !read_line(rest, name, ret_value)) {
        const char *end = line_end(rest);
        rest = *end ? end + 1 : end;
    }
    return *rest != '\0';
}

const char *config_find_assignment(const char *const *environment, const char *name,
                                   size_t *ret_bytes)
{
    struct source source = open_source(environment);
    struct span value;

    if (!find_assignment(&source, name, &value))
        return NULL;
    *ret_bytes = value.length;
    return value.text;
}

static bool find_value(const struct source *source, const char *name, struct span *ret_value)
{
    const char *own;

    if (find_assignment(source, name, ret_value))
        return true;
    own = config_find(source->environment, name);
    if (own)
        *ret_value = (struct span){own, fmt_length(own)};
    return own != NULL;
}

static bool span_is(struct span span, const char *text)
{
    const char *rest = fmt_after_prefix(span.text, text);

    return rest == span.text + span.length;
}

static void read_choice(const struct source *source, const char *name, const struct choice *choices,
                        struct config *config, unsigned *value)
{
    struct span span;

    if (!find_value(source, name, &span) || span.length == 0)
        return;
    for (; choices->name; choices++)
        if (span_is(span, choices->name)) {
            *value = choices->value;
            return;
        }
    config->bad_variable = name;
}

static bool read_boolean(const struct source *source, const char *name, struct config *config,
                         bool preset)
{
    unsigned value = preset;

    read_choice(source, name, g_booleans, config, &value);
    return value != 0;
}

static unsigned unit_shift(char unit)
{
    switch (unit) {
    case 'k':
    case 'K':
        return 10;
    case 'm':
    case 'M':
        return 20;
    case 'g':
    case 'G':
        return 30;
    case 't':
    case 'T':
        return 40;
    default:
        return 0;
    }
}

/* A number with an optional unit: 4096, 64K, 64KiB, 4GiB, 4GB (units are powers of 1024). */
static bool parse_size(struct span span, uint64_t *ret_value)
{
    const char *at = span.text;
    const char *end = span.text + span.length;
    uint64_t value;
    unsigned shift;

    if (span.length == 0 || !fmt_parse_decimal(&at, &value) || at > end)
        return false;
    shift = at < end ? unit_shift(*at) : 0;
    if (shift > 0)
        at++;
    if (shift > 0 && at < end && *at == 'i')
        at++;
    if (at < end && *at == 'B')
        at++;
    if (at != end || (value << shift) >> shift != value)
        return false;
    *ret_value = value << shift;
    return true;
}

static uint64_t read_number(const struct source *source, const char *name, struct config *config,
                            uint64_t preset, uint64_t most)
{
    struct span span;
    uint64_t value = preset;

    if (!find_value(source, name, &span) || span.length == 0 || span_is(span, "none"))
        return preset;
    if (!parse_size(span, &value) || value > most) {
        config->bad_variable = name;
        return preset;
    }
    return value;
}

static void read_text(const struct source *source, const char *name, struct config *config,
                      char *text, const char *preset)
{
    struct fmt out = {text, CONFIG_PATH_BYTES, 0, false};
    struct span span = {preset, fmt_length(preset)};

    find_value(source, name, &span);
    text[0] = '\0';
    fmt_bytes(&out, span.text, span.length);
    if (out.is_cut)
        config->bad_variable = name;
}

/* MTRACE_PARENT=<run id>:<pid>:<window>:<path of the log>, set by our exec wrappers. window: 1
 * while a window is open, 0, or 2 after recording has ended for good. */
static void read_ancestor(const char *const *environment, struct config *config)
{
    const char *at = config_find(environment, "MTRACE_PARENT");
    struct fmt out = {config->ancestor, CONFIG_PATH_BYTES, 0, false};
    uint64_t run_id;
    uint64_t pid;
    uint64_t is_tracing;

    config->ancestor[0] = '\0';
    if (!at || !fmt_parse_decimal(&at, &run_id) || *at++ != ':' || !fmt_parse_decimal(&at, &pid)
        || *at++ != ':' || !fmt_parse_decimal(&at, &is_tracing) || *at++ != ':')
        return;
    config->is_ancestor_tracing = is_tracing == 1;
    config->is_ancestor_left = is_tracing == CONFIG_ANCESTOR_LEFT - '0';
    config->ancestor_run_id = run_id;
    config->ancestor_pid = (uint32_t)pid;
    fmt_string(&out, at);
}

static int toggle_signal(const struct source *source, struct config *config)
{
    unsigned number = config->is_disabled_by_default ? SIGUSR1 : 0;

    read_choice(source, "MTRACE_SIGNAL_TOGGLE", g_signals, config, &number);
    return (int)number;
}

static void read_fallback_directory(const char *const *environment, struct config *config)
{
    const char *directory = config_find(environment, "TMPDIR");
    struct fmt out = {config->fallback_directory, CONFIG_PATH_BYTES, 0, false};

    fmt_string(&out, directory && *directory == '/' ? directory : "/tmp");
}

void config_read(const char *const *environment, struct config *ret_config)
{
    const struct source source = open_source(environment);
    struct config *config = ret_config;
    unsigned unwinder = CONFIG_UNWINDER_FAST;
    unsigned level = CONFIG_LEVEL_SILENT;
    unsigned may_use_tsc = true;
    unsigned takes_exit_image = false;

    config->bad_variable = NULL;
    read_text(&source, "MTRACE_OUTPUT", config, config->output, "mtrace_%e_%t_%p.dat");
    read_text(&source, "MTRACE_LOGFILE", config, config->log_file, "");
    read_text(&source, "MTRACE_POOL", config, config->pool, "");
    read_ancestor(environment, config);
    read_fallback_directory(environment, config);
    read_choice(&source, "MTRACE_UNWINDER", g_unwinders, config, &unwinder);
    read_choice(&source, "MTRACE_LOG", g_levels, config, &level);
    read_choice(&source, "MTRACE_CLOCK", g_clocks, config, &may_use_tsc);
    config->may_use_tsc = may_use_tsc;
    config->unwinder = (enum config_unwinder)unwinder;
    config->level = (enum config_level)level;
    config->recorder_pid =
        (uint32_t)read_number(&source, "MTRACE_RECORDER_PID", config, 0, INT32_MAX);
    config->target_pid = (uint32_t)read_number(&source, "MTRACE_TARGET_PID", config, 0, INT32_MAX);
    config->max_depth = (uint32_t)read_number(&source, "MTRACE_MAX_DEPTH", config, 0, UINT32_MAX);
    config->max_live_bytes =
        read_number(&source, "MTRACE_MAX_LIVE", config, (uint64_t)4 << 30, UINT64_MAX);
    config->keep_symbols_bytes =
        read_number(&source, "MTRACE_KEEP_SYMBOLS", config, (uint64_t)64 << 20, UINT64_MAX / 2);
    config->max_threads =
        (uint32_t)read_number(&source, "MTRACE_MAX_THREADS", config, 0, UINT32_MAX);
    config->sample_bytes =
        read_number(&source, "MTRACE_SAMPLE_BYTES", config, 0, LOG_MAX_SAMPLE_BYTES);
    config->sample_seed = read_number(&source, "MTRACE_SAMPLE_SEED", config, 0, UINT64_MAX);
    config->is_disabled_by_default =
        read_boolean(&source, "MTRACE_DISABLE_BY_DEFAULT", config, false);
    config->toggle_signal = toggle_signal(&source, config);
    /* Only mtrace-record, which sets it, can open the window. */
    if (config->recorder_pid && read_boolean(&source, "MTRACE_WINDOW_CLOSED", config, false))
        config->is_disabled_by_default = true;
    config->has_free_backtraces = read_boolean(&source, "MTRACE_BACKTRACES_ON_FREE", config, true);
    config->follows_children = read_boolean(&source, "MTRACE_FOLLOW_CHILDREN", config, false);
    config->adds_asan_option = read_boolean(&source, "MTRACE_ASAN_OPTION", config, false);
    config->is_left = read_boolean(&source, "MTRACE_IS_LEFT", config, false);
    config->zeroes_memory = read_boolean(&source, "MTRACE_ZERO_MEMORY", config, false);
    read_choice(&source, "MTRACE_HEAP_IMAGE", g_images, config, &takes_exit_image);
    config->takes_exit_image = takes_exit_image && config->recorder_pid;
    config->gathers_mmaps = read_boolean(&source, "MTRACE_GATHER_MMAPS", config, true);
}

static void append_executable(struct fmt *out)
{
    static char path[CONFIG_PATH_BYTES]; /* only one thread starts */
    long length = sys_readlink("/proc/self/exe", path, sizeof(path) - 1);
    size_t start = 0;

    if (length <= 0) {
        fmt_string(out, "unknown");
        return;
    }
    for (size_t i = 0; i < (size_t)length; i++)
        if (path[i] == '/')
            start = i + 1;
    fmt_bytes(out, path + start, (size_t)length - start);
}

void config_expand(const char *pattern, unsigned number, struct fmt *out)
{
    for (; *pattern; pattern++) {
        if (*pattern != '%' || !pattern[1]) {
            fmt_char(out, *pattern);
            continue;
        }
        switch (*++pattern) {
        case 'e':
            append_executable(out);
            break;
        case 't':
            fmt_decimal(out, sys_clock_ns(CLOCK_REALTIME) / 1000000000u);
            break;
        case 'p':
            fmt_decimal(out, (uint64_t)sys_getpid());
            break;
        case 'n':
            fmt_decimal(out, number);
            break;
        case '%':
            fmt_char(out, '%');
            break;
        default:
            fmt_char(out, '%');
            fmt_char(out, *pattern);
        }
    }
}

bool config_is_numbered(const char *pattern)
{
    for (; *pattern; pattern++) {
        if (pattern[0] != '%' || !pattern[1])
            continue;
        if (*++pattern == 'n')
            return true;
    }
    return false;
}
