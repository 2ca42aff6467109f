/* SPDX-License-Identifier: MIT */
#include "collector/log/definition.h"

#include "collector/log/segment.h"
#include "collector/os/clock.h"
#include "collector/os/fmt.h"
#include "collector/os/sys.h"
#include "lib/abi/log_format.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <string.h>

/* A full segment is not sealed: another thread may be about to store a magic in it. Readers accept
 * DEFS in any state except FREE. */
static struct segment_shared g_shared = {.kind = LOG_SEGMENT_DEFS};

void definition_forget(void)
{
    atomic_store_explicit(&g_shared.current, NULL, memory_order_relaxed);
}

bool definition_write(const struct log_def *def, const void *text, size_t text_bytes,
                      const void *more, size_t more_bytes)
{
    const size_t most = LOG_DEF_MAX_BYTES - sizeof(struct log_def);
    struct log_segment *segment;
    struct log_def *out;
    size_t size_bytes;

    if (text_bytes > most)
        text_bytes = most;
    if (more_bytes > most - text_bytes)
        more_bytes = most - text_bytes;
    size_bytes = sizeof(*out) + text_bytes + more_bytes;
    size_bytes = (size_bytes + LOG_DEF_ALIGN - 1) & ~(size_t)(LOG_DEF_ALIGN - 1);
    out = segment_reserve(&g_shared, (uint32_t)size_bytes, &segment);
    if (!out)
        return false;
    out->kind = def->kind;
    out->text_bytes = (uint16_t)(text_bytes + more_bytes);
    out->id = def->id;
    out->extra = def->extra;
    out->ticks = def->ticks ? def->ticks : clock_ticks_before();
    out->a = def->a;
    out->b = def->b;
    out->c = def->c;
    if (text_bytes) /* else it may be NULL */
        memcpy(out + 1, text, text_bytes);
    if (more_bytes)
        memcpy((unsigned char *)(out + 1) + text_bytes, more, more_bytes);
    /* Release: the record is complete before its magic is visible. */
    atomic_store_explicit(&out->magic, LOG_DEF_MAGIC, memory_order_release);
    return true;
}

bool definition_text(enum log_def_kind kind, uint32_t id, const char *text, size_t text_bytes)
{
    struct log_def def = {.kind = (uint8_t)kind, .id = id};

    return definition_write(&def, text, text_bytes, NULL, 0);
}

/* ---- messages ---- */

static enum config_level g_level;      /* written by message_init */
static char g_path[CONFIG_PATH_BYTES]; /* "" = stderr */
static _Atomic uint32_t g_n_messages;

void message_init(const struct config *config)
{
    struct fmt path = FMT_BUFFER(g_path);

    g_level = config->level;
    g_path[0] = '\0';
    config_expand(config->log_file, 0, &path);
}

static void show(const struct fmt *line)
{
    int fd = 2;

    if (g_path[0]) {
        fd = (int)sys_open(g_path, O_WRONLY | O_CREAT | O_APPEND | O_NOCTTY, 0600);
        if (fd < 0)
            return;
    }
    sys_write(fd, line->text, line->size_bytes);
    if (g_path[0])
        sys_close(fd);
}

void message(enum config_level level, const char *what, const char *path, long error)
{
    char text[512];
    struct fmt line = FMT_BUFFER(text);

    if (atomic_fetch_add_explicit(&g_n_messages, 1, memory_order_relaxed) >= MESSAGE_MAX)
        return;
    fmt_string(&line, "mtrace: ");
    fmt_string(&line, what);
    if (path)
        fmt_string(&line, path);
    if (error < 0) {
        fmt_string(&line, " (errno ");
        fmt_decimal(&line, (uint64_t)-error);
        fmt_string(&line, ")");
    }
    definition_text(LOG_DEF_MESSAGE, 0, line.text, line.size_bytes);
    fmt_char(&line, '\n');
    if (level <= g_level)
        show(&line);
}
