/* SPDX-License-Identifier: MIT */
#include "importer/log/log_damage.h"

void log_damage_add(struct log_damage_report *report, enum log_damage_kind kind, const char *path,
                    uint64_t offset, uint64_t bytes, const char *what)
{
    report->count[kind]++;
    report->lost_bytes += bytes;
    if (report->n_kept < LOG_DAMAGE_KEPT) {
        report->kept[report->n_kept++] = (struct log_damage){
            .kind = kind, .path = path, .offset = offset, .bytes = bytes, .what = what};
    }
}

const char *log_damage_name(enum log_damage_kind kind)
{
    static const char *const names[LOG_DAMAGE_KINDS] = {
        [LOG_DAMAGE_TRUNCATED] = "truncated",
        [LOG_DAMAGE_CHECKSUM] = "checksum",
        [LOG_DAMAGE_HEADER] = "header",
        [LOG_DAMAGE_RECORD] = "record",
        [LOG_DAMAGE_UNKNOWN] = "unknown",
        [LOG_DAMAGE_NODE] = "node",
        [LOG_DAMAGE_TIME] = "time",
        [LOG_DAMAGE_MISSING_CHILD] = "missing_child",
        [LOG_DAMAGE_MISSING_PART] = "missing_part",
    };
    return names[kind];
}
