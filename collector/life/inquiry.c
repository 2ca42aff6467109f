/* SPDX-License-Identifier: MIT */
#include "collector/life/inquiry.h"

#include "collector/log/segment.h"
#include "collector/platform/fmt.h"
#include "collector/platform/memory.h"
#include "collector/platform/sys.h"
#include "collector/record/groups.h"
#include "collector/record/record.h"
#include "collector/record/state.h"
#include "collector/record/unfinished.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

enum {
    COPY_BYTES = 65536,
    NAP_NS = 1000000,
    NAPS_PER_LOOK = 100, /* at whether there is still a recorder */
    MOST_NAPS_FOR_RECORDER = 10000,
};

static struct log_question *question_of(struct log_file *log)
{
    return (struct log_question *)(void *)((unsigned char *)log + LOG_QUESTION_OFFSET);
}

static bool has_recorder(const struct log_file *log)
{
    uint32_t pid = atomic_load_explicit(&log->recorder_pid, memory_order_relaxed);

    return pid != 0 && sys_process_exists((long)pid) == 0;
}

/* The recorder of a child may not have found its log yet. */
static bool wait_for_recorder(const struct log_file *log)
{
    bool is_expected = state_config()->recorder_pid != 0;

    for (unsigned naps = 0; is_expected && naps < MOST_NAPS_FOR_RECORDER; naps++) {
        if (atomic_load_explicit(&log->recorder_pid, memory_order_relaxed) != 0
            || sys_process_exists((long)state_config()->recorder_pid) != 0)
            break;
        sys_nap(NAP_NS);
    }
    return has_recorder(log);
}

/* IQ-1 */
static int take_turn(const struct log_file *log, struct log_question *question, uint32_t asker)
{
    for (unsigned naps = 0;; naps++) {
        uint32_t nobody = 0;
        if (atomic_compare_exchange_strong_explicit(&question->asker, &nobody, asker,
                                                    memory_order_acquire, memory_order_relaxed))
            return 0;
        if (nobody == asker)
            return EDEADLK;
        if (sys_is_forbidden() || (naps % NAPS_PER_LOOK == 0 && !has_recorder(log)))
            return ENOTCONN;
        sys_nap(NAP_NS);
    }
}

/* What this thread did is before the marker, and nothing that anyone does from now on. False: no room. */
static bool put_marker(uint32_t number)
{
    char name[32];
    struct fmt out = FMT_BUFFER(name);
    uint64_t words[3] = {0, 0, 0};

    fmt_string(&out, LOG_QUESTION_MARKER);
    fmt_decimal(&out, number);
    words[2] = groups_label(name);
    if (words[2])
        record_event(LOG_MARK, 0, words, 3, NULL);
    return words[2] != 0;
}

static int wait_for_answer(const struct log_file *log, const struct log_question *question,
                           uint32_t number)
{
    for (unsigned naps = 1;
         atomic_load_explicit(&question->n_answered, memory_order_acquire) != number; naps++) {
        if (sys_is_forbidden() || (naps % NAPS_PER_LOOK == 0 && !has_recorder(log)))
            return ENOTCONN;
        sys_nap(NAP_NS);
    }
    return atomic_load_explicit(&question->status, memory_order_relaxed);
}

static long write_all(int fd, const char *bytes, size_t n_bytes)
{
    while (n_bytes > 0) {
        long n = sys_write(fd, bytes, n_bytes);
        if (n == -EINTR)
            continue;
        if (n < 0)
            return n;
        bytes += n;
        n_bytes -= (size_t)n;
    }
    return 0;
}

static int copy_answer(const struct log_question *question, int to)
{
    char path[LOG_QUESTION_PATH_BYTES];
    char *buffer = memory_map(COPY_BYTES);
    long n = -ENOMEM;
    int from;

    memcpy(path, question->answer_path, sizeof(path));
    path[sizeof(path) - 1] = '\0';
    from = (int)sys_open(path, O_RDONLY, 0);
    if (from >= 0 && buffer) {
        while ((n = sys_read(from, buffer, COPY_BYTES)) > 0)
            if ((n = write_all(to, buffer, (size_t)n)) < 0)
                break;
    }
    memory_unmap(buffer, COPY_BYTES);
    if (from >= 0)
        sys_close(from);
    return from < 0 ? -from : (int)-n;
}

static int ask(struct log_file *log, struct log_question *question, const char *text, int fd)
{
    uint32_t number = atomic_load_explicit(&question->n_asked, memory_order_relaxed) + 1;
    size_t n_bytes = fmt_length(text);
    int status;
    int copied;

    if (n_bytes >= LOG_QUESTION_BYTES)
        return E2BIG;
    memcpy(question->text, text, n_bytes + 1);
    if (!put_marker(number))
        return ENOSPC;
    (void)unfinished_wait();
    atomic_store_explicit(&question->n_asked, number, memory_order_release);
    status = wait_for_answer(log, question, number);
    if (status == ENOTCONN)
        return status;
    copied = copy_answer(question, fd);
    atomic_store_explicit(&question->n_read, number, memory_order_release);
    return status ? status : copied;
}

int inquiry_ask(const char *text, int fd)
{
    struct log_file *log = state_is_recording() ? segment_log() : NULL;
    struct log_question *question;
    long id = sys_gettid();
    int status;

    if (!text)
        return EINVAL;
    if (!log || id <= 0 || !wait_for_recorder(log))
        return ENOTCONN;
    question = question_of(log);
    status = take_turn(log, question, (uint32_t)id);
    if (status)
        return status;
    status = ask(log, question, text, fd);
    atomic_store_explicit(&question->asker, 0, memory_order_release);
    return status;
}
