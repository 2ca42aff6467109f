/* SPDX-License-Identifier: MIT */
#include "collector/log/message.h"

#include "collector/log/definition.h"
#include "collector/os/fmt.h"
#include "collector/os/sys.h"
#include "lib/abi/log_format.h"

#include <fcntl.h>
#include <stdatomic.h>

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

    if (atomic_fetch_add_explicit(&g_n_messages, 1, memory_order_relaxed) >= MESSAGE_MOST)
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
