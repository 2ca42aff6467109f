/* SPDX-License-Identifier: MIT */
#include "collector/process/environment.h"

#include "collector/log/segment.h"
#include "collector/os/fmt.h"
#include "collector/os/memory.h"
#include "collector/os/real.h"
#include "collector/os/sys.h"
#include "collector/process/output.h"
#include "collector/thread/state.h"
#include "collector/thread/thread.h"

#include <stdint.h>
#include <string.h>
#include <unistd.h>

enum {
    SETTINGS_BYTES = 16384
};

static const char *const g_private[] = {"MTRACE_RECORDER=", "MTRACE_PARENT="};

/* Settings that an exec gets if the environment lacks them: with --follow-children all, else
 * MTRACE_RECORDER. */
static char *g_kept_one[2];
static char **g_kept = g_kept_one;

static bool is_private(const char *variable)
{
    for (size_t i = 0; i < sizeof(g_private) / sizeof(g_private[0]); i++)
        if (fmt_after_prefix(variable, g_private[i]))
            return true;
    return false;
}

static bool is_separator(char c)
{
    return c == ':' || c == ' ';
}

/* `base` begins with a slash, which the entry may lack. */
static bool is_named(const char *entry, size_t length, const char *base)
{
    size_t base_length = fmt_length(base);

    if (length == base_length - 1)
        return bytes_equal(entry, base + 1, length);
    return length > base_length && bytes_equal(entry + length - base_length, base, base_length);
}

/* An entry is ours when it is the path ld.so opened, or another name of the same file. */
static bool is_ours(const char *entry, size_t length)
{
    const char *own = real_own_path();
    return (fmt_length(own) == length && bytes_equal(own, entry, length))
           || is_named(entry, length, "/libmtrace.so")
           || is_named(entry, length, "/libmtrace-new.so");
}

bool environment_without_us(const char *preload, struct fmt *out)
{
    bool is_any_left = false;

    while (*preload) {
        size_t length = 0;
        while (preload[length] && !is_separator(preload[length]))
            length++;
        if (is_ours(preload, length)) {
            preload += length;
            /* A separator after our entry shows that the user's value was set. */
            if (*preload) {
                is_any_left = true;
                preload++;
            }
            continue;
        }
        is_any_left = true;
        fmt_bytes(out, preload, length);
        preload += length;
        if (*preload)
            fmt_char(out, *preload++);
    }
    return is_any_left;
}

static const char g_preload_name[] = "LD_PRELOAD=";
static const char g_asan_name[] = "ASAN_OPTIONS=";
/* recorder/session/program.c adds it. */
static const char g_asan_option[] = "verify_asan_link_order=0";

/* Appends the options without ours, which is the last one. False: nothing is left of them. */
static bool append_users_options(const char *options, struct fmt *out)
{
    size_t length = fmt_length(options);
    size_t own_length = sizeof(g_asan_option) - 1;

    if (length >= own_length
        && bytes_equal(options + length - own_length, g_asan_option, own_length)) {
        length -= own_length;
        if (length == 0)
            return false;
        length--; /* the separator */
    }
    fmt_bytes(out, options, length);
    return true;
}

static bool is_rewritten(const char *variable)
{
    return fmt_after_prefix(variable, g_preload_name) || fmt_after_prefix(variable, g_asan_name);
}

/* The new form of `variable`: itself, a new text in *out, or NULL if it is removed. */
static char *restored(char *variable, struct fmt *out)
{
    const char *preload = fmt_after_prefix(variable, g_preload_name);
    const char *options = fmt_after_prefix(variable, g_asan_name);
    char *text = out->text + out->size_bytes;
    bool is_any_left;

    if (is_private(variable))
        return NULL;
    if (preload) {
        fmt_string(out, g_preload_name);
        is_any_left = environment_without_us(preload, out);
    } else if (options && state_config()->adds_asan_option) {
        fmt_string(out, g_asan_name);
        is_any_left = append_users_options(options, out);
    } else {
        return variable;
    }
    out->size_bytes++; /* the NUL stays */
    return is_any_left ? text : NULL;
}

/* Writes the entries of `kept`, then repeats the last one up to n. */
static void overwrite(char **initial, size_t n, char *const *kept, size_t n_kept)
{
    for (size_t i = 0; i < n; i++)
        initial[i] = i < n_kept ? kept[i] : n_kept ? kept[n_kept - 1] : NULL;
}

static bool is_own_settings(const char *variable)
{
    return fmt_after_prefix(variable, g_private[0]) != NULL;
}

/* Copies, because the program may overwrite the memory of its arguments with a title. */
static char *copied(const char *variable, struct fmt *out)
{
    char *copy = out->text + out->size_bytes;

    fmt_string(out, variable);
    out->size_bytes++; /* the NUL stays */
    return copy;
}

static void keep_own_settings(char *const *variables, struct fmt *out)
{
    for (; *variables; variables++)
        if (is_own_settings(*variables))
            g_kept_one[0] = copied(*variables, out);
}

bool environment_keep(const char *settings)
{
    static char kept[SETTINGS_BYTES];
    struct fmt out = FMT_BUFFER(kept);

    fmt_string(&out, settings);
    g_kept_one[0] = out.is_cut ? NULL : kept;
    return !out.is_cut;
}

static size_t restore_into(char **array, char *const *variables, struct fmt *out)
{
    size_t n_kept = 0;

    for (; *variables; variables++) {
        char *variable = restored(*variables, out);
        if (variable)
            array[n_kept++] = variable;
    }
    array[n_kept] = NULL;
    return n_kept;
}

static size_t rewritten_bytes(char *const *variables)
{
    size_t n_bytes = 0;

    for (; *variables; variables++)
        if (is_rewritten(*variables) || is_own_settings(*variables))
            n_bytes += fmt_length(*variables) + 2;
    return n_bytes;
}

/* A constructor that ran before ours may have called setenv. Then `environ` is libc's own array, in
 * which unsetenv also moves entries down. */
void environment_restore(char **initial)
{
    char ***variable = real_environ();
    bool is_other = *variable && *variable != initial;
    size_t text_bytes = 1 + rewritten_bytes(initial) + (is_other ? rewritten_bytes(*variable) : 0);
    size_t n = 0;
    size_t n_kept;
    char **array;
    struct fmt out;

    while (initial[n])
        n++;
    array = memory_map_inherited((n + 1) * sizeof(*array) + text_bytes);
    if (!array)
        return;
    out = (struct fmt){(char *)(array + n + 1), text_bytes, 0, false};
    keep_own_settings(initial, &out);
    n_kept = restore_into(array, initial, &out);
    if (is_other)
        restore_into(*variable, *variable, &out);
    else if (*variable)
        *variable = array;
    overwrite(initial, n, array, n_kept);
}

/* ---- exec ------------------------------------------------------------------------------------ */

static bool has_us(const char *preload)
{
    while (*preload) {
        size_t length = 0;
        while (preload[length] && !is_separator(preload[length]))
            length++;
        if (is_ours(preload, length))
            return true;
        preload += length + (preload[length] != '\0');
    }
    return false;
}

/* Each MTRACE_ variable of our own environment is part of how this run is recorded. */
static bool is_settings(const char *variable)
{
    return fmt_after_prefix(variable, "MTRACE_") && !fmt_after_prefix(variable, "MTRACE_PARENT=");
}

void environment_keep_all(char *const *variables)
{
    size_t n_slots = 1;
    size_t text_bytes = 1;
    size_t n = 0;
    char **array;
    struct fmt out;

    for (char *const *at = variables; *at; at++)
        if (is_settings(*at)) {
            n_slots++;
            text_bytes += fmt_length(*at) + 1;
        }
    array = memory_map_inherited(n_slots * sizeof(*array) + text_bytes);
    if (!array)
        return;
    out = (struct fmt){(char *)(array + n_slots), text_bytes, 0, false};
    for (char *const *at = variables; *at; at++)
        if (is_settings(*at))
            array[n++] = copied(*at, &out);
    array[n] = NULL;
    g_kept = array;
}

static bool has_name_of(char *const *environment, const char *variable)
{
    size_t name_length = 0;

    while (variable[name_length] && variable[name_length] != '=')
        name_length++;
    for (; *environment; environment++)
        if (bytes_equal(*environment, variable, name_length + 1))
            return true;
    return false;
}

/* Always of the same length, so that it can be overwritten in place. */
static void append_padded(struct fmt *out, uint64_t value, uint64_t power)
{
    for (; power; power /= 10)
        fmt_char(out, (char)('0' + value / power % 10));
    fmt_char(out, ':');
}

static _Atomic bool g_is_tracing;

static void append_parent(struct fmt *out)
{
    fmt_string(out, "MTRACE_PARENT=");
    append_padded(out, segment_log()->run_id, 10000000000000000000u);
    append_padded(out, segment_log()->pid, 1000000000u);
    append_padded(out, g_is_tracing, 1);
    fmt_string(out, output_first_path());
}

static char *g_announced; /* our MTRACE_PARENT in environ; written by environment_announce */

static const size_t g_tracing_place = sizeof("MTRACE_PARENT=12345678901234567890:1234567890:") - 1;

static _Atomic bool g_is_left;

/* One digit: a concurrent reader sees the old one or the new one. */
static void put_digit(char digit)
{
    __atomic_store_n(&g_announced[g_tracing_place], digit, __ATOMIC_SEQ_CST);
}

/* After environment_note_left the digit stays. In the total order of these operations, a digit
 * written after that one is followed by a read that finds g_is_left. The fence is for emulators
 * that let an ordered load pass an ordered store (QEMU's of AArch64). */
static void put_tracing(void)
{
    if (!g_announced)
        return;
    put_digit(g_is_tracing ? '1' : '0');
    atomic_thread_fence(memory_order_seq_cst);
    if (g_is_left)
        put_digit(CONFIG_ANCESTOR_LEFT);
}

void environment_note_tracing(bool is_on)
{
    g_is_tracing = is_on;
    put_tracing();
}

void environment_note_left(void)
{
    g_is_left = true;
    put_tracing();
}

void environment_update(void)
{
    struct fmt out = {g_announced, CONFIG_PATH_BYTES + 64, 0, false};

    g_is_left = false;
    if (g_announced)
        append_parent(&out);
}

void environment_announce(void)
{
    char **variables = *real_environ();
    size_t n = 0;
    size_t n_kept = 0;
    char **array;

    while (variables && variables[n])
        n++;
    array = memory_map_inherited((n + 2) * sizeof(*array) + CONFIG_PATH_BYTES + 64);
    if (!array)
        return;
    for (size_t i = 0; i < n; i++)
        if (!fmt_after_prefix(variables[i], "MTRACE_PARENT="))
            array[n_kept++] = variables[i];
    g_announced = (char *)(array + n + 2);
    environment_update();
    array[n_kept++] = g_announced;
    array[n_kept] = NULL;
    *real_environ() = array;
}

/* Memory of the thread, until its next exec. A vfork child shares that of its parent. */
static void *exec_scratch(size_t size_bytes)
{
    struct thread *thread = &g_thread;

    if (thread->exec_scratch_bytes < size_bytes) {
        memory_unmap(thread->exec_scratch, thread->exec_scratch_bytes);
        thread->exec_scratch = memory_map_inherited(size_bytes); /* a handler may fork */
        thread->exec_scratch_bytes = thread->exec_scratch ? size_bytes : 0;
    }
    return thread->exec_scratch;
}

/* The array for an exec, and space after it for rewritten variables. */
struct exec_list {
    char **array;
    size_t n;
    struct fmt out;
};

/* NAME=first:second, or with one of them alone. */
static void add_joined(struct exec_list *list, const char *name, const char *first,
                       const char *second)
{
    list->array[list->n++] = list->out.text + list->out.size_bytes;
    fmt_string(&list->out, name);
    if (first)
        fmt_string(&list->out, first);
    if (first && second)
        fmt_char(&list->out, ':');
    if (second)
        fmt_string(&list->out, second);
    list->out.size_bytes++; /* the NUL stays */
}

/* LD_PRELOAD with our library first, then the entries of others. */
static void add_preload(struct exec_list *list, const char *library, const char *preload)
{
    struct fmt *out = &list->out;
    char *text = out->text + out->size_bytes;

    fmt_string(out, g_preload_name);
    fmt_string(out, library);
    fmt_char(out, ':');
    if (!environment_without_us(preload, out))
        out->text[--out->size_bytes] = '\0';
    out->size_bytes++; /* the NUL stays */
    list->array[list->n++] = text;
}

/* True if ASAN_OPTIONS must have our option and does not mention it yet. */
static bool lacks_option(const char *options)
{
    const char *name = "verify_asan_link_order";
    size_t length = fmt_length(name);

    for (; *options; options++)
        if (fmt_length(options) >= length && bytes_equal(options, name, length))
            return false;
    return state_config()->adds_asan_option;
}

/* Adds the wanted variables, joined with ours. */
static void add_wanted(struct exec_list *list, char *const *wanted, const char *library)
{
    const bool is_own = library == real_own_path();
    bool has_preload = false;
    bool has_options = false;

    for (char *const *at = wanted; *at; at++) {
        const char *preload = fmt_after_prefix(*at, g_preload_name);
        const char *options = fmt_after_prefix(*at, g_asan_name);
        has_preload = has_preload || preload;
        has_options = has_options || options;
        if (preload && !(is_own && has_us(preload)))
            add_preload(list, library, preload);
        else if (options && lacks_option(options))
            add_joined(list, g_asan_name, options, g_asan_option);
        else if (!fmt_after_prefix(*at, "MTRACE_PARENT="))
            list->array[list->n++] = *at;
    }
    if (!has_preload)
        add_joined(list, g_preload_name, library, NULL);
    if (!has_options && lacks_option(""))
        add_joined(list, g_asan_name, NULL, g_asan_option);
}

static void add_lacking_settings(struct exec_list *list, char *const *variables)
{
    for (; *variables; variables++) {
        list->array[list->n] = NULL;
        if (is_settings(*variables) && !has_name_of(list->array, *variables))
            list->array[list->n++] = *variables;
    }
}

char *const *environment_for_exec(char *const *wanted, const char *library)
{
    static char *const none[] = {NULL};
    char *const *current = state_config()->follows_children ? *real_environ() : NULL;
    char *const *own = current && sys_strings_are_readable(current) ? current : none;
    char *const *variables = wanted ? wanted : none;
    size_t n_slots = 6;
    size_t text_bytes = fmt_length(library ? library : "") + CONFIG_PATH_BYTES + 256;
    struct exec_list list = {0};
    struct signals_block quiet;

    if (!sys_strings_are_readable(variables))
        return wanted;
    for (char *const *at = variables; *at; at++, n_slots++)
        if (is_rewritten(*at))
            text_bytes += fmt_length(*at);
    for (char *const *at = own; *at; at++)
        n_slots++;
    for (char *const *at = g_kept; *at; at++)
        n_slots++;
    list.array = exec_scratch(n_slots * sizeof(*list.array) + text_bytes);
    if (!list.array)
        return wanted;
    list.out = (struct fmt){(char *)(list.array + n_slots), text_bytes, 0, false};
    if (!library) {
        restore_into(list.array, variables, &list.out);
        return list.array;
    }
    add_wanted(&list, variables, library);
    add_lacking_settings(&list, own);
    add_lacking_settings(&list, g_kept);
    if (signals_block_begin(&quiet)) {
        list.array[list.n++] = list.out.text + list.out.size_bytes;
        append_parent(&list.out);
        signals_block_end(&quiet);
    }
    list.array[list.n] = NULL;
    return list.array;
}

/* For example a shell, which keeps the variables that it got before. */
char *const *environment_once_left(char *const *wanted)
{
    char **array;
    size_t n = 0;
    bool is_reported = false;

    if (!g_is_left || !g_announced || !wanted || !sys_strings_are_readable(wanted))
        return wanted;
    while (wanted[n])
        is_reported |= fmt_after_prefix(wanted[n++], "MTRACE_PARENT=") != NULL;
    array = is_reported ? exec_scratch((n + 1) * sizeof(*array)) : NULL;
    if (!array)
        return wanted;
    for (size_t i = 0; i < n; i++)
        array[i] = fmt_after_prefix(wanted[i], "MTRACE_PARENT=") ? g_announced : wanted[i];
    array[n] = NULL;
    return array;
}
