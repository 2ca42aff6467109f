/* SPDX-License-Identifier: MIT */
#include "collector/process/self_report.h"

#include "collector/events/in_flight.h"
#include "collector/events/record.h"
#include "collector/log/segment.h"
#include "collector/os/fmt.h"
#include "collector/os/sys.h"
#include "collector/thread/state.h"
#include "collector/thread/thread.h"

#include <errno.h>
#include <time.h>

enum {
    COPY_BYTES = 1024, /* on the stack of the program's thread */
    NAP_NS = 1000000,
    BUSY_NAP_NS = 50000000,
    MAX_CONNECTIONS = 5,
    MAX_NAPS_FOR_RECORDER = 10000,
    LOOK_NS = 100000000, /* between looks at the heartbeat */
};

static const uint64_t STILL_NS = 10000000000;

/* The program may close our descriptor and open a file of its own under its number. */
struct open_fd {
    int number; /* -1: none */
    struct sys_file_id id;
};

/* IQ-2: signals are blocked except during waits and writes. is_lost: after a wait the log no longer
 * belongs to this process. */
struct self_report {
    struct log_header *log;
    uint64_t generation;
    bool is_lost;
    struct signals_block quiet;
    struct open_fd fd; /* the socket, then the file with the answer */
    uint64_t beat_ns;  /* when the heartbeat was seen to change; 0: before the first look */
    uint32_t heartbeat;
};

/* The request of this thread (IQ-3). */
static _Thread_local struct {
    uintptr_t frame; /* 0: none */
    uint64_t generation;
    struct open_fd fd;
} g_asking __attribute__((tls_model("initial-exec")));

static void wait_begins(const struct self_report *self_report)
{
    signals_block_end(&self_report->quiet);
}

static bool has_log(const struct self_report *self_report)
{
    return atomic_load_explicit(g_state_generation, memory_order_relaxed)
           == self_report->generation;
}

/* A handler may have forked during the wait: this may be the child. */
static void wait_ended(struct self_report *self_report)
{
    (void)signals_block_begin_always(&self_report->quiet);
    self_report->is_lost = !has_log(self_report);
}

/* False: the log is lost. */
static bool nap(void *user, uint64_t ns)
{
    struct self_report *self_report = user;

    wait_begins(self_report);
    sys_nap(ns);
    wait_ended(self_report);
    return !self_report->is_lost;
}

static void set_fd(struct self_report *self_report, int number)
{
    self_report->fd.number = number;
    if (number >= 0 && sys_file_id(number, &self_report->fd.id) < 0)
        self_report->fd.id.inode = 0;
    g_asking.fd = self_report->fd;
}

static void close_if_ours(const struct open_fd *fd)
{
    struct sys_file_id now;

    if (fd->number >= 0 && sys_file_id(fd->number, &now) >= 0 && now.device == fd->id.device
        && now.inode == fd->id.inode)
        sys_close(fd->number);
}

static void close_fd(struct self_report *self_report)
{
    close_if_ours(&self_report->fd);
    set_fd(self_report, -1);
}

/* IQ-4. False: no answer will come. */
static bool is_answering(struct self_report *self_report)
{
    uint32_t heartbeat =
        atomic_load_explicit(&log_mailbox_of(self_report->log)->heartbeat, memory_order_relaxed);
    uint64_t now_ns = sys_clock_ns(CLOCK_MONOTONIC);

    if (self_report->beat_ns == 0 || heartbeat != self_report->heartbeat)
        self_report->beat_ns = now_ns;
    self_report->heartbeat = heartbeat;
    return now_ns - self_report->beat_ns < STILL_NS;
}

static long connect_to(uint32_t recorder_pid)
{
    char name[32];
    struct fmt out = FMT_BUFFER(name);

    fmt_string(&out, LOG_CONTROL_NAME);
    fmt_decimal(&out, recorder_pid);
    return sys_connect(name);
}

/* It has another PID namespace, where it still listens. */
static bool is_recorder_elsewhere(void)
{
    long fd = connect_to((uint32_t)state_config()->recorder_pid);

    if (fd >= 0)
        sys_close((int)fd);
    return fd >= 0 || fd == -EAGAIN;
}

/* The recorder of a child may not have found its log yet. */
static bool wait_for_recorder(struct self_report *self_report)
{
    const struct log_header *log = self_report->log;
    bool is_expected = state_config()->recorder_pid != 0;

    for (unsigned naps = 0; is_expected && naps < MAX_NAPS_FOR_RECORDER; naps++) {
        if (atomic_load_explicit(&log->recorder_pid, memory_order_relaxed) != 0
            || (sys_process_exists((long)state_config()->recorder_pid) != 0
                && !is_recorder_elsewhere()))
            break;
        if (!nap(self_report, NAP_NS))
            return false;
    }
    return atomic_load_explicit(&log->recorder_pid, memory_order_relaxed) != 0;
}

static bool is_peer_recorder(const struct self_report *self_report)
{
    long pid = sys_peer_pid(self_report->fd.number);

    return pid == 0
           || pid
                  == (long)atomic_load_explicit(&self_report->log->recorder_pid,
                                                memory_order_relaxed);
}

static int connect_to_recorder(struct self_report *self_report)
{
    const struct log_header *log = self_report->log;
    long fd;

    while ((fd = connect_to(atomic_load_explicit(&log->recorder_pid, memory_order_relaxed)))
               == -EAGAIN
           || fd == -EINTR) {
        if (!is_answering(self_report))
            return ENOTCONN;
        if (!nap(self_report, NAP_NS))
            return ECANCELED;
    }
    if (fd < 0)
        return fd == -EMFILE || fd == -ENFILE ? (int)-fd : ENOTCONN;
    set_fd(self_report, (int)fd);
    return is_peer_recorder(self_report) ? 0 : ENOTCONN;
}

/* Waits for a message; *ret_fd: the descriptor that came with it, or -1. `text` ends with NUL
 * then. */
static int receive(struct self_report *self_report, char *text, size_t n_bytes, int *ret_fd)
{
    long n;

    while ((n = sys_receive(self_report->fd.number, text, n_bytes - 1, ret_fd)) == -EAGAIN) {
        if (!is_answering(self_report))
            return ENOTCONN;
        wait_begins(self_report);
        (void)sys_wait_readable(self_report->fd.number, LOOK_NS);
        wait_ended(self_report);
        if (self_report->is_lost)
            return ECANCELED;
    }
    text[n > 0 ? n : 0] = '\0';
    return n > 0 ? 0 : ENOTCONN;
}

static int await_turn(struct self_report *self_report)
{
    char text[64];
    struct fmt out = FMT_BUFFER(text);
    int unused;
    int code;

    fmt_decimal(&out, (uint64_t)sys_getpid());
    fmt_string(&out, " ask ");
    fmt_decimal(&out, self_report->log->run_id);
    if (sys_send(self_report->fd.number, text, fmt_length(text), NULL, 0) < 0)
        return ENOTCONN;
    code = receive(self_report, text, sizeof(text), &unused);
    if (code == 0 && fmt_is_equal(text, "busy"))
        return EAGAIN;
    return code == 0 && !fmt_is_equal(text, "go") ? ENOTCONN : code;
}

/* Writes the marker. All that this thread did comes before it; what any thread does from now on
 * does not. False: no space. *ret_ticks: as record_named_event. */
static bool put_marker(uint32_t number, uint64_t *ret_ticks)
{
    char name[32];
    struct fmt out = FMT_BUFFER(name);
    uint64_t words[3] = {0, 0, 0};

    fmt_string(&out, LOG_REQUEST_MARKER);
    fmt_decimal(&out, number);
    return record_labelled(LOG_MARK, 0, words, 3, name, ret_ticks);
}

static int post(struct self_report *self_report, const char *words)
{
    struct log_mailbox *mailbox = log_mailbox_of(self_report->log);
    uint32_t number = atomic_fetch_add_explicit(&mailbox->n_markers, 1, memory_order_relaxed) + 1;
    char head[LOG_REQUEST_PREFIX_BYTES];
    struct fmt out = FMT_BUFFER(head);
    uint64_t ticks;

    if (!put_marker(number, &ticks))
        return ENOSPC;
    (void)in_flight_wait(nap, self_report);
    if (self_report->is_lost)
        return ECANCELED;
    fmt_decimal(&out, ticks);
    fmt_char(&out, ' ');
    fmt_decimal(&out, number);
    fmt_char(&out, ' ');
    return sys_send(self_report->fd.number, head, fmt_length(head), words, fmt_length(words)) < 0
               ? ECANCELED /* the thread was held up, and the recorder answered others */
               : 0;
}

/* IQ-2 */
static int copy(struct self_report *self_report, int from, int to)
{
    char bytes[COPY_BYTES];
    long n = 1;
    int code = 0;

    wait_begins(self_report);
    while (code == 0 && n > 0 && has_log(self_report)) {
        n = sys_read(from, bytes, sizeof(bytes));
        if (n > 0)
            code = sys_write_all(to, bytes, (size_t)n);
    }
    wait_ended(self_report);
    return self_report->is_lost ? ECANCELED : n < 0 ? (int)-n : code;
}

static int take_answer(struct self_report *self_report, int to)
{
    char text[16];
    const char *at = text;
    uint64_t status = EIO;
    int file;
    int code = receive(self_report, text, sizeof(text), &file);

    close_fd(self_report);
    set_fd(self_report, file);
    if (code == 0)
        (void)fmt_parse_decimal(&at, &status);
    if (code == 0 && file < 0 && status == 0)
        code = EMFILE; /* the kernel had no descriptor for it */
    if (code == 0 && file >= 0)
        code = copy(self_report, file, to);
    return status && code == 0 ? (int)status : code;
}

/* The recorder closes a connection whose thread gets no processor for a second. */
static int connect_in_turn(struct self_report *self_report)
{
    int code = ENOTCONN;

    for (int i = 0; i < MAX_CONNECTIONS && (code == ENOTCONN || code == EAGAIN); i++) {
        code = connect_to_recorder(self_report);
        if (code)
            break;
        code = await_turn(self_report);
        if (code)
            close_fd(self_report);
        if (code == EAGAIN) { /* too many wait */
            i = 0;
            if (!nap(self_report, BUSY_NAP_NS))
                code = ECANCELED;
        }
    }
    return code;
}

static int ask(struct self_report *self_report, const char *words, int fd)
{
    int code;

    if (!wait_for_recorder(self_report))
        return self_report->is_lost ? ECANCELED : ENOTCONN;
    code = connect_in_turn(self_report);
    if (code == 0)
        code = post(self_report, words);
    return code ? code : take_answer(self_report, fd);
}

_Static_assert(LOG_REQUEST_BYTES == 1536, "the limit 1535 is also in mtrace.h and docs/api.md");

/* A request that is not sent to the recorder. */
static int refuse(int fd, const char *why, int code)
{
    (void)sys_write_all(fd, why, fmt_length(why));
    return code;
}

/* IQ-3. Another generation: of the parent process, whose request its own frame ends. */
static bool is_in_request(const struct self_report *self_report, uintptr_t frame)
{
    if (g_asking.frame == 0 || g_asking.generation != self_report->generation)
        return false;
    if (!thread_has_left(&g_thread, g_asking.frame, frame))
        return true;
    close_if_ours(&g_asking.fd);
    return false;
}

int self_report_ask(const char *text, int fd)
{
    struct self_report self_report = {.fd = {.number = -1}};
    uintptr_t frame = (uintptr_t)__builtin_frame_address(0);
    int status = EDEADLK;

    if (!text)
        return refuse(fd, "not understood, it is NULL\n", EINVAL);
    if (fmt_length(text) >= LOG_REQUEST_BYTES)
        return refuse(fd, "a request has at most 1535 bytes\n", E2BIG);
    if (sys_is_forbidden() || !signals_block_begin(&self_report.quiet))
        return ENOTCONN;
    self_report.log = segment_log();
    self_report.generation = atomic_load_explicit(g_state_generation, memory_order_relaxed);
    if (!is_in_request(&self_report, frame)) {
        g_asking.frame = frame;
        g_asking.generation = self_report.generation;
        set_fd(&self_report, -1);
        status = ask(&self_report, text, fd);
        close_fd(&self_report);
        g_asking.frame = 0;
    }
    signals_block_end(&self_report.quiet);
    return status;
}

int self_report_heap_image(const char *cause, const char *name, uintptr_t frame)
{
    char text[64 + LOG_MAILBOX_NAME_BYTES];
    struct fmt out = FMT_BUFFER(text);

    if (fmt_length(name) >= LOG_MAILBOX_NAME_BYTES)
        return E2BIG;
    if (!state_is_own_process()) /* a vfork child has its parent's log */
        return ENOTCONN;
    fmt_string(&out, LOG_HEAP_IMAGE_WORDS);
    fmt_string(&out, cause);
    fmt_char(&out, ' ');
    fmt_decimal(&out, (uint64_t)sys_gettid());
    fmt_char(&out, ' ');
    fmt_decimal(&out, frame);
    fmt_char(&out, ' ');
    fmt_string(&out, name);
    return self_report_ask(text, -1);
}
