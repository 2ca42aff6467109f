/* SPDX-License-Identifier: MIT */
#include "collector/process/describe.h"

#include "collector/events/embedded_allocator.h"
#include "collector/log/definition.h"
#include "collector/log/segment.h"
#include "collector/os/fmt.h"
#include "collector/os/memory.h"
#include "collector/os/real.h"
#include "collector/os/sys.h"
#include "collector/process/output.h"
#include "collector/thread/state.h"

#include <fcntl.h>
#include <stddef.h>

static bool is_file(const char *path, struct sys_file_id *ret_id)
{
    long fd = sys_open(path, O_PATH, 0);
    bool is_known = fd >= 0 && sys_file_id((int)fd, ret_id) >= 0;

    if (fd >= 0)
        sys_close((int)fd);
    return is_known;
}

/* The name by which the program was called, if that is another name of the same file (redis-server
 * is a link to redis-check-rdb); else the name of the file. A script's name is not that of its
 * interpreter. */
static void name_executable(struct fmt *out)
{
    const char *called = (const char *)sys_auxiliary_value(AT_EXECFN);
    struct sys_file_id own;
    struct sys_file_id other;
    long length;

    if (called && *called == '/' && is_file("/proc/self/exe", &own) && is_file(called, &other)
        && own.inode == other.inode && own.device == other.device) {
        fmt_string(out, called);
        return;
    }
    length = sys_readlink("/proc/self/exe", out->text, out->capacity_bytes - 1);
    out->size_bytes = length > 0 ? (size_t)length : 0;
}

static void define_process(char *const *arguments)
{
    static char text[LOG_DEF_MAX_BYTES - sizeof(struct log_def)];
    struct fmt out = FMT_BUFFER(text);
    struct log_def def = {.kind = LOG_DEF_PROCESS};

    name_executable(&out);
    for (; *arguments && !out.is_cut; arguments++) {
        fmt_char(&out, '\0');
        fmt_string(&out, *arguments);
    }
    definition_write(&def, text, out.size_bytes, NULL, 0);
}

static void define_setting(const char *name, uint64_t value)
{
    char text[64];
    struct fmt out = FMT_BUFFER(text);

    fmt_string(&out, name);
    fmt_char(&out, '=');
    fmt_decimal(&out, value);
    definition_text(LOG_DEF_SETTING, 0, text, out.size_bytes);
}

static void define_settings(void)
{
    static const char *const unwinders[] = {"fast", "libunwind", "frame-pointer", "none", "check"};
    char text[64];
    struct fmt out = FMT_BUFFER(text);

    fmt_string(&out, "MTRACE_UNWINDER=");
    fmt_string(&out, unwinders[g_state_config.unwinder]);
    definition_text(LOG_DEF_SETTING, 0, text, out.size_bytes);
    define_setting("MTRACE_BACKTRACES_ON_FREE", g_state_config.has_free_backtraces);
    define_setting("MTRACE_MAX_DEPTH", g_state_config.max_depth);
    define_setting("MTRACE_MAX_LIVE", g_state_config.max_live_bytes);
    define_setting("MTRACE_KEEP_SYMBOLS", g_state_config.keep_symbols_bytes);
    define_setting("MTRACE_MAX_THREADS", g_state_config.max_threads);
    define_setting("MTRACE_SAMPLE_BYTES", g_state_config.sample_bytes);
    define_setting("MTRACE_FOLLOW_CHILDREN", g_state_config.follows_children);
    define_setting("MTRACE_ZERO_MEMORY", g_state_config.zeroes_memory);
    define_setting("MTRACE_GATHER_MMAPS", g_state_config.gathers_mmaps);
}

void describe_recording(char *const *arguments)
{
    define_process(arguments);
    define_settings();
    if (g_state_config.bad_variable)
        message(CONFIG_LEVEL_WARN, "ignored invalid value: ", g_state_config.bad_variable, 0);
    segment_log()->embedded_status = embedded_allocator_state();
    if (embedded_allocator_state() != LOG_EMBEDDED_RECORDED
        && embedded_allocator_state() != LOG_EMBEDDED_PARTLY && !real_is_malloc_ours()) {
        __atomic_fetch_or(&segment_log()->flags, LOG_FLAG_FOREIGN_MALLOC, __ATOMIC_RELAXED);
        message(CONFIG_LEVEL_WARN,
                "malloc is defined before this library, so its calls are not "
                "recorded",
                NULL, 0);
    }
    if (real_is_new_foreign()) {
        __atomic_fetch_or(&segment_log()->flags, LOG_FLAG_FOREIGN_NEW, __ATOMIC_RELAXED);
        message(CONFIG_LEVEL_WARN,
                "operator new belongs to the allocator, so its blocks are not recorded; set "
                "MTRACE_LIBRARY to libmtrace-new.so beside ",
                real_own_path(), 0);
    }
    message(CONFIG_LEVEL_INFO, "recording into ", output_path(), 0);
}

void describe_child(uint32_t pid, enum log_child what)
{
    struct log_def def = {.kind = LOG_DEF_CHILD, .extra = what, .a = pid};
    struct signals_block quiet;
    struct fmt out;

    if (!signals_block_begin(&quiet))
        return;
    out = (struct fmt){memory_borrow(), MEMORY_BORROWED_BYTES, 0, false};
    if (out.text) {
        output_child_path(state_config(), pid, &out);
        definition_write(&def, out.text, out.size_bytes, NULL, 0);
        memory_return(out.text);
    }
    signals_block_end(&quiet);
}
