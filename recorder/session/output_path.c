/* SPDX-License-Identifier: MIT */
#include "recorder/session/output_path.h"

#include "lib/base/fault_point.h"
#include "lib/base/file_io.h"
#include "lib/logfile/log_header.h"
#include "lib/logfile/log_name.h"
#include "lib/logfile/log_rotation.h"
#include "lib/logfile/successor_logs.h"
#include "lib/process/writer_liveness.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static int report_written(const char *path, const struct log_header *header, struct error *err)
{
    int pid = (int)header->pid;

    if (!writer_liveness_knows_pid(header))
        return error_set(
            err, ERROR_EXISTS,
            "a process of another pid namespace still writes '%s'; choose another name", path);
    return error_set(err, ERROR_EXISTS,
                     "process %d still writes '%s': 'mtrace-record --detach %d' ends that; or "
                     "choose another name",
                     pid, path, pid);
}

static int check_file(const char *path, struct error *err)
{
    struct log_header header;
    struct stat status;
    struct error none;
    int code = 0;
    int fd;

    if (file_io_open_regular(path, ERROR_IO, &fd, &status, &none) != 0)
        return 0;
    if (pread(fd, &header, sizeof(header), 0) == (ssize_t)sizeof(header)
        && log_header_is_ours(&header) && header.form == LOG_FORM_RAW
        && writer_liveness_of_writer(&header, fd) == WRITER_LIVENESS_ALIVE)
        code = report_written(path, &header, err);
    close(fd);
    return code;
}

int output_path_check(const char *path, struct error *err)
{
    char *live_path = log_name_live(path);
    int code = live_path ? 0 : error_set(err, ERROR_NOMEM, "not enough memory");
    bool is_recorded = file_lock_is_taken(path); /* creating the files detects that anyway */

    if (code == 0 && !is_recorded)
        code = check_file(live_path, err);
    if (code == 0 && !is_recorded)
        code = check_file(path, err); /* raw log of LD_PRELOAD */
    free(live_path);
    return code;
}

int output_path_beside(const char *path, char **ret_beside, struct error *err)
{
    int code = packed_log_check_target(path, true, err);

    if (code)
        return code;
    if (asprintf(ret_beside, "%s.attaching", path) < 0) {
        *ret_beside = NULL;
        return error_set(err, ERROR_NOMEM, "not enough memory");
    }
    return output_path_check(*ret_beside, err); /* its recorder was killed after attaching */
}

static void note_raw(void *context, const char *path)
{
    bool *has_raw = context;

    (void)path;
    *has_raw = true;
}

bool output_path_is_finished(const char *path)
{
    struct log_header header;
    struct stat status;
    struct error none;
    bool is_ours;
    bool has_raw = false;
    int fd;

    if (file_lock_is_taken(path) || log_name_has_live(path)
        || file_io_open_regular(path, ERROR_IO, &fd, &status, &none) != 0)
        return false;
    is_ours = pread(fd, &header, sizeof(header), 0) == (ssize_t)sizeof(header)
              && log_header_is_ours(&header)
              && (header.form == LOG_FORM_PACKED
                  || writer_liveness_of_writer(&header, fd) == WRITER_LIVENESS_DEAD);
    close(fd);
    if (is_ours)
        successor_logs_find(path, false, note_raw, &has_raw);
    return is_ours && !has_raw;
}

static int move_recording(const char *path, const char *kept, struct error *err)
{
    int code = packed_log_check_target(kept, true, err);

    if (code)
        return code;
    successor_logs_remove(kept);
    log_rotation_remove(kept);
    successor_logs_move(path, kept);
    log_rotation_move(path, kept);
    if (rename(path, kept) != 0)
        code = error_set_errno(err, errno, "cannot rename '%s' to '%s'", path, kept);
    return code;
}

int output_path_keep(const char *path, struct error *err)
{
    char *kept = NULL;
    int code;

    if (asprintf(&kept, "%s.old", path) < 0)
        return error_set(err, ERROR_NOMEM, "not enough memory");
    code = move_recording(path, kept, err);
    free(kept);
    return code;
}

/* Links the log under both names. The new name comes last: until then the log can be packed under
 * the other one, even if the recorder is killed. */
int output_path_take(struct recording *recording, const char *path, struct error *err)
{
    char *live_path = log_name_live(path);
    int code;

    if (!live_path)
        return error_set(err, ERROR_NOMEM, "not enough memory");
    fault_point("attached");
    successor_logs_remove(path);
    log_rotation_remove(path);
    code = packed_log_rename(&recording->packed, path, err);
    fault_point("replaced");
    if (code == 0)
        code = live_log_rename(&recording->live, live_path, err);
    free(live_path);
    return code;
}
