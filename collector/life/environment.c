/* SPDX-License-Identifier: MIT */
#include "collector/life/environment.h"

#include "collector/life/output.h"
#include "collector/log/segment.h"
#include "collector/platform/memory.h"
#include "collector/platform/real.h"
#include "collector/record/state.h"
#include "collector/record/thread.h"

#include <stdint.h>
#include <string.h>
#include <unistd.h>

static const char *const g_private[] = {"MTRACE_RECORDER=", "MTRACE_PARENT="};

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
        return memory_equal(entry, base + 1, length);
    return length > base_length && memory_equal(entry + length - base_length, base, base_length);
}

/* An entry is ours when it is the path ld.so opened, or another name of the same file. */
static bool is_ours(const char *entry, size_t length)
{
    const char *own = real_own_path();
    return (fmt_length(own) == length && memory_equal(own, entry, length))
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
            /* The separator that stood between us and the user's value says there was one. */
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

/* What `variable` becomes: itself, a new text in *out, or NULL when it goes. */
static char *restored(char *variable, struct fmt *out)
{
    const char *preload = fmt_after_prefix(variable, g_preload_name);
    char *text = out->text + out->size_bytes;

    if (is_private(variable))
        return NULL;
    if (!preload)
        return variable;
    fmt_string(out, g_preload_name);
    return environment_without_us(preload, out) ? text : NULL;
}

/* Entries of `kept` first; what is missing to n is filled with the last one. */
static void overwrite(char **initial, size_t n, char *const *kept, size_t n_kept)
{
    for (size_t i = 0; i < n; i++)
        initial[i] = i < n_kept ? kept[i] : n_kept ? kept[n_kept - 1] : NULL;
}

void environment_restore(char **initial)
{
    size_t n = 0;
    size_t n_kept = 0;
    size_t text_bytes = 1;
    char **array;
    struct fmt out;

    for (; initial[n]; n++)
        if (fmt_after_prefix(initial[n], g_preload_name))
            text_bytes += fmt_length(initial[n]) + 1;
    array = memory_map_inherited((n + 1) * sizeof(*array) + text_bytes);
    if (!array)
        return;
    out = (struct fmt){(char *)(array + n + 1), text_bytes, 0, false};
    for (size_t i = 0; i < n; i++) {
        char *variable = restored(initial[i], &out);
        if (variable)
            array[n_kept++] = variable;
    }
    array[n_kept] = NULL;
    if (environ == initial)
        environ = array;
    overwrite(initial, n, array, n_kept);
}

/* ---- exec with follow --------------------------------------------------------------------------
 */

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

/* Every MTRACE_ variable of our own environment is part of how this run is recorded. */
static bool is_settings(const char *variable)
{
    return fmt_after_prefix(variable, "MTRACE_") && !fmt_after_prefix(variable, "MTRACE_PARENT=");
}

static bool has_name_of(char *const *environment, const char *variable)
{
    size_t name_length = 0;

    while (variable[name_length] && variable[name_length] != '=')
        name_length++;
    for (; *environment; environment++)
        if (memory_equal(*environment, variable, name_length + 1))
            return true;
    return false;
}

/* Of one length always, so that it can be rewritten in place. */
static void append_padded(struct fmt *out, uint64_t value, uint64_t power)
{
    for (; power; power /= 10)
        fmt_char(out, (char)('0' + value / power % 10));
    fmt_char(out, ':');
}

static void append_parent(struct fmt *out)
{
    fmt_string(out, "MTRACE_PARENT=");
    append_padded(out, segment_log()->run_id, 10000000000000000000u);
    append_padded(out, segment_log()->pid, 1000000000u);
    fmt_string(out, output_first_path());
}

static char *g_announced; /* our MTRACE_PARENT in environ; written by environment_announce */

void environment_update(void)
{
    struct fmt out = {g_announced, CONFIG_PATH_BYTES + 64, 0, false};

    if (g_announced)
        append_parent(&out);
}

void environment_announce(void)
{
    size_t n = 0;
    size_t n_kept = 0;
    char **array;

    while (environ && environ[n])
        n++;
    array = memory_map_inherited((n + 2) * sizeof(*array) + CONFIG_PATH_BYTES + 64);
    if (!array)
        return;
    for (size_t i = 0; i < n; i++)
        if (!fmt_after_prefix(environ[i], "MTRACE_PARENT="))
            array[n_kept++] = environ[i];
    g_announced = (char *)(array + n + 2);
    environment_update();
    array[n_kept++] = g_announced;
    array[n_kept] = NULL;
    environ = array;
}

/* A region of the thread that lasts until its next exec: a vfork child's is its parent's. */
static void *exec_scratch(size_t size_bytes)
{
    struct thread *thread = &g_thread;

    if (thread->exec_scratch_bytes < size_bytes) {
        memory_unmap(thread->exec_scratch, thread->exec_scratch_bytes);
        thread->exec_scratch = memory_map(size_bytes);
        thread->exec_scratch_bytes = thread->exec_scratch ? size_bytes : 0;
    }
    return thread->exec_scratch;
}

char *const *environment_for_exec(char *const *wanted)
{
    static char *const none[] = {NULL};
    char *const *own = environ ? environ : none;
    size_t n_slots = 3;
    size_t n = 0;
    size_t text_bytes = fmt_length(real_own_path()) + CONFIG_PATH_BYTES + 128;
    bool has_preload = false;
    char **array;
    struct fmt out;

    if (!wanted)
        wanted = none;
    if (!state_is_recording())
        return wanted;
    for (char *const *at = wanted; *at; at++, n_slots++)
        if (fmt_after_prefix(*at, g_preload_name))
            text_bytes += fmt_length(*at);
    for (char *const *at = own; *at; at++)
        n_slots++;
    array = exec_scratch(n_slots * sizeof(*array) + text_bytes);
    if (!array)
        return wanted;
    out = (struct fmt){(char *)(array + n_slots), text_bytes, 0, false};
    for (char *const *at = wanted; *at; at++) {
        const char *preload = fmt_after_prefix(*at, g_preload_name);
        if (fmt_after_prefix(*at, "MTRACE_PARENT="))
            continue;
        has_preload = has_preload || preload;
        if (!preload || has_us(preload)) {
            array[n++] = *at;
            continue;
        }
        array[n++] = out.text + out.size_bytes;
        fmt_string(&out, g_preload_name);
        fmt_string(&out, real_own_path());
        fmt_char(&out, ':');
        fmt_string(&out, preload);
        out.size_bytes++; /* the NUL stays */
    }
    for (char *const *at = own; *at; at++)
        if (is_settings(*at) && !has_name_of(wanted, *at))
            array[n++] = *at;
    if (!has_preload) {
        array[n++] = out.text + out.size_bytes;
        fmt_string(&out, g_preload_name);
        fmt_string(&out, real_own_path());
        out.size_bytes++;
    }
    array[n++] = out.text + out.size_bytes;
    append_parent(&out);
    array[n] = NULL;
    return array;
}
