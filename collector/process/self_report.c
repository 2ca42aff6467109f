/* SPDX-License-Identifier: MIT */
#include "collector/process/self_report.h"

#include "collector/events/in_flight.h"
#include "collector/events/record.h"
#include "collector/log/segment.h"
#include "collector/os/fmt.h"
#include "collector/os/sys.h"
#include "collector/process/control_commands.h"
#include "collector/thread/state.h"
#include "collector/thread/thread.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

enum {
    COPY_BYTES = 65536,
    NAP_NS = 1000000,
    NAPS_PER_LOOK = 100, /* between looks at the recorder */
    NAPS_OF_NEXT = 10,   /* until the next thread checks that the holder of the slot exists */
    MOST_STILL_LOOKS = 100,
    MAX_STILL_LOOKS_WITHOUT_RECORDER =
        10,                /* its PID does not exist, maybe because of another PID namespace */
    MOST_NAPS_IDLE = 3000, /* in_flight_wait takes a second at most */
    MOST_NAPS_FOR_RECORDER = 10000,
    MOST_NAPS_FOR_EARLIER = 50, /* an earlier thread may be gone, or have left by longjmp */
};

/* IQ-7: signals are blocked except during sleeps and writes. is_lost: after a sleep the log no
 * longer belongs to this process. It is not touched then, and all functions return ECANCELED. */
struct self_report {
    struct log_file *log;
    struct log_request *request;
    uint64_t generation;
    uint32_t requester;
    bool is_lost;
    struct quiet quiet;
    uintptr_t frame; /* of the request */
    void *answer;    /* mapped, of answer_bytes; NULL: none, or it is empty */
    size_t answer_bytes;
};

static void sleep_begins(const struct self_report *self_report)
{
    quiet_end(&self_report->quiet);
}

static bool has_log(const struct self_report *self_report)
{
    return atomic_load_explicit(g_state_generation, memory_order_relaxed)
           == self_report->generation;
}

/* A handler may have forked during the sleep: this may be the child. */
static void sleep_ended(struct self_report *self_report)
{
    (void)quiet_begin_always(&self_report->quiet);
    self_report->is_lost = !has_log(self_report);
}

/* Sleeps. False: the log is lost. */
static bool nap(void *user, uint64_t ns)
{
    struct self_report *self_report = user;

    sleep_begins(self_report);
    sys_nap(ns);
    sleep_ended(self_report);
    return !self_report->is_lost;
}

/* Time until the next look at the recorder, and how long it has been still. */
struct time_limit {
    unsigned naps_until_look, still_looks;
    uint32_t heartbeat;
};

/* Before a sleep. False: no reply will come. */
static bool is_answering(struct time_limit *time_limit)
{
    enum recorder_liveness recorder_liveness;

    if (sys_is_forbidden())
        return false;
    if (time_limit->naps_until_look > 0)
        return true;
    time_limit->naps_until_look = NAPS_PER_LOOK;
    recorder_liveness = recorder_liveness_look(&time_limit->heartbeat);
    time_limit->still_looks = recorder_liveness == RECORDER_ALIVE ? 0 : time_limit->still_looks + 1;
    return time_limit->still_looks <= (recorder_liveness == RECORDER_DEAD
                                           ? MAX_STILL_LOOKS_WITHOUT_RECORDER
                                           : MOST_STILL_LOOKS);
}

/* Sleeps until a wakeup of `word` with one of the bits, for n naps at most; returns their number. A
 * signal ends a wait early, as does a kernel that cannot wait. Then one nap is taken and counted,
 * so that neither ends the time limit nor makes it endless. */
static unsigned sleep_on(struct self_report *self_report, const _Atomic uint32_t *word,
                         uint32_t seen, uint32_t bits, unsigned n, struct time_limit *time_limit)
{
    long code;

    sleep_begins(self_report);
    code = sys_wait_shared(word, seen, bits, (uint64_t)n * NAP_NS);
    sleep_ended(self_report);
    if (code == 0 || code == -EAGAIN)
        return 0;
    if (code != -ETIMEDOUT && !self_report->is_lost) {
        (void)nap(self_report, NAP_NS);
        n = 1;
    }
    time_limit->naps_until_look -=
        n < time_limit->naps_until_look ? n : time_limit->naps_until_look;
    return n;
}

/* The recorder of a child may not have found its log yet. */
static bool wait_for_recorder(struct self_report *self_report)
{
    const struct log_file *log = self_report->log;
    bool is_expected = state_config()->recorder_pid != 0;

    for (unsigned naps = 0; is_expected && naps < MOST_NAPS_FOR_RECORDER; naps++) {
        if (atomic_load_explicit(&log->recorder_pid, memory_order_relaxed) != 0
            || sys_process_exists((long)state_config()->recorder_pid) != 0)
            break;
        if (!nap(self_report, NAP_NS))
            return false;
    }
    return atomic_load_explicit(&log->recorder_pid, memory_order_relaxed) != 0;
}

/* The request of this thread: IQ-3 */
static _Thread_local struct {
    uintptr_t frame;
    uint32_t number;
    uintptr_t answer_frame; /* of the outermost reply that is being written */
    void *answer;
    size_t answer_bytes;
} g_asking __attribute__((tls_model("initial-exec")));

static bool is_left(uintptr_t asked, uintptr_t frame)
{
    return asked == 0 || thread_has_left(&g_thread, asked, frame);
}

/* No request waits for its reply: the holder of the slot must act. */
static bool is_holder_due(const struct log_request *request)
{
    return atomic_load_explicit(&request->n_posted, memory_order_relaxed)
           == atomic_load_explicit(&request->n_answered, memory_order_relaxed);
}

/* IQ-6: a thread that waits for the slot. */
struct place {
    uint32_t ticket;
    uint32_t holder, number; /* the holder that was seen last, and its request */
    unsigned naps_free;      /* while the slot was free all the time */
    unsigned naps_idle;      /* while the holder did nothing */
};

static bool is_next(const struct log_request *request, const struct place *place)
{
    uint32_t n_admitted = atomic_load_explicit(&request->n_admitted, memory_order_relaxed);

    return (int32_t)(place->ticket - n_admitted) <= 0;
}

static bool is_first(const struct log_request *request, const struct place *place)
{
    return is_next(request, place) || place->naps_free > MOST_NAPS_FOR_EARLIER;
}

static void observe_slot(const struct log_request *request, struct place *place)
{
    uint32_t holder = atomic_load_explicit(&request->requester, memory_order_relaxed);
    uint32_t number = atomic_load_explicit(&request->n_posted, memory_order_relaxed);
    bool is_same = holder == place->holder && number == place->number;

    if (!is_same || holder)
        place->naps_free = 0;
    if (!is_same || !holder || !is_holder_due(request))
        place->naps_idle = 0;
    place->holder = holder;
    place->number = number;
}

static bool may_take_slot(const struct log_request *request, const struct place *place)
{
    if (!place->holder)
        return is_first(request, place);
    return place->naps_idle > MOST_NAPS_IDLE || sys_thread_exists((long)place->holder) == -ESRCH;
}

/* Only waiters with this bit are woken: one in 32, with the next one among them. */
static uint32_t bit_of(uint32_t ticket)
{
    return UINT32_C(1) << ticket % 32;
}

/* Threads that are not next look less often for a slot that its holder never releases: there may be
 * many. */
static void wait_for_slot(struct self_report *self_report, struct place *place,
                          struct time_limit *time_limit)
{
    const struct log_request *request = self_report->request;
    unsigned n = !place->holder            ? MOST_NAPS_FOR_EARLIER + 1
                 : is_next(request, place) ? NAPS_OF_NEXT
                                           : NAPS_PER_LOOK;

    n = sleep_on(self_report, &request->requester, place->holder, bit_of(place->ticket), n,
                 time_limit);
    place->naps_free += n;
    place->naps_idle += n;
}

/* A thread that was passed over is first then. */
static void admit(struct log_request *request, const struct place *place)
{
    uint32_t n_admitted = atomic_load_explicit(&request->n_admitted, memory_order_relaxed);

    if ((int32_t)(place->ticket + 1 - n_admitted) > 0)
        atomic_store_explicit(&request->n_admitted, place->ticket + 1, memory_order_relaxed);
}

/* Takes the slot from the holder that was seen. */
static bool take_slot_of(struct log_request *request, uint32_t requester, const struct place *place)
{
    uint32_t holder = place->holder;
    bool is_taken = atomic_compare_exchange_strong_explicit(
        &request->requester, &holder, requester, memory_order_seq_cst, memory_order_relaxed);

    if (is_taken)
        admit(request, place);
    return is_taken;
}

/* IQ-1, IQ-3, IQ-6. Only this thread can make itself the holder. */
static int take_slot(struct self_report *self_report)
{
    struct log_request *request = self_report->request;
    struct time_limit time_limit = {.heartbeat = 0};
    struct place place = {.naps_free = 0};

    if (atomic_load_explicit(&request->requester, memory_order_relaxed) == self_report->requester)
        return is_left(g_asking.frame, self_report->frame) ? 0 : EDEADLK;
    place.ticket = atomic_fetch_add_explicit(&request->n_tickets, 1, memory_order_relaxed);
    for (;;) {
        observe_slot(request, &place);
        if (may_take_slot(request, &place) && take_slot_of(request, self_report->requester, &place))
            return 0;
        if (!is_answering(&time_limit))
            return ENOTCONN;
        wait_for_slot(self_report, &place, &time_limit);
        if (self_report->is_lost)
            return ECANCELED;
    }
}

/* Also works if another thread has taken the slot. */
static void release_slot(const struct self_report *self_report)
{
    struct log_request *request = self_report->request;
    uint32_t requester = self_report->requester;

    g_asking.frame = 0;
    if (self_report->is_lost)
        return;
    if (atomic_compare_exchange_strong_explicit(&request->requester, &requester, 0,
                                                memory_order_release, memory_order_relaxed)
        && !sys_is_forbidden())
        sys_wake_shared(&request->requester,
                        bit_of(atomic_load_explicit(&request->n_admitted, memory_order_relaxed)));
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

/* Waits until the counter is `number`. ECANCELED: the slot was taken away. */
static int wait_for(struct self_report *self_report, const _Atomic uint32_t *counter,
                    uint32_t number)
{
    struct time_limit time_limit = {.heartbeat = 0};
    uint32_t seen;

    while ((seen = atomic_load_explicit(counter, memory_order_acquire)) != number) {
        if (atomic_load_explicit(&self_report->request->n_posted, memory_order_relaxed)
            != g_asking.number)
            return ECANCELED;
        if (!is_answering(&time_limit))
            return ENOTCONN;
        (void)sleep_on(self_report, counter, seen, UINT32_MAX, NAPS_PER_LOOK, &time_limit);
        if (self_report->is_lost)
            return ECANCELED;
    }
    return 0;
}

/* Unmaps a reply that this thread left by longjmp, but not one that it will continue to write after
 * a handler. */
static void forget_left_answer(const struct self_report *self_report)
{
    if (!g_asking.answer || !is_left(g_asking.answer_frame, self_report->frame))
        return;
    sys_unmap(g_asking.answer, g_asking.answer_bytes);
    g_asking.answer = NULL;
}

static void keep_answer(struct self_report *self_report, void *answer, size_t answer_bytes)
{
    self_report->answer = answer;
    self_report->answer_bytes = answer_bytes;
    if (g_asking.answer)
        return;
    g_asking.answer = answer;
    g_asking.answer_bytes = answer_bytes;
    g_asking.answer_frame = self_report->frame;
}

static void forget_answer(const struct self_report *self_report)
{
    if (g_asking.answer == self_report->answer)
        g_asking.answer = NULL;
    if (self_report->answer)
        sys_unmap(self_report->answer, self_report->answer_bytes);
}

static bool fits_in_memory(int64_t n_bytes)
{
    return n_bytes >= 0 && (int64_t)(size_t)n_bytes == n_bytes;
}

/* Maps the reply: writing it may take long, and no descriptor is held during that. False: it may
 * not be opened, or is too large for memory. */
static bool open_answer(struct self_report *self_report)
{
    const struct log_request *request = self_report->request;
    char path[LOG_REQUEST_PATH_BYTES];
    struct sys_file_id file;
    long start = 0;
    long fd;

    memcpy(path, request->answer_path, sizeof(path));
    path[sizeof(path) - 1] = '\0';
    fd = sys_open(path, O_RDONLY | O_CLOEXEC, 0);
    if (fd < 0)
        return false;
    if (sys_file_id((int)fd, &file) < 0 || !fits_in_memory(file.size_bytes))
        file.size_bytes = -1;
    else if (file.size_bytes > 0)
        start = sys_map_readable((int)fd, (size_t)file.size_bytes);
    sys_close((int)fd);
    if (file.size_bytes < 0 || (start < 0 && start > -4096))
        return false;
    keep_answer(self_report, (void *)(uintptr_t)start, (size_t)file.size_bytes);
    return true;
}

/* The kernel reads the mapping: if the file is shorter by now, the write fails without a signal. */
static int copy_answer(struct self_report *self_report, int to)
{
    int code = 0;

    sleep_begins(self_report);
    for (size_t at = 0; code == 0 && at < self_report->answer_bytes; at += COPY_BYTES) {
        size_t left = self_report->answer_bytes - at;
        code = has_log(self_report) ? sys_write_all(to, (const char *)self_report->answer + at,
                                                    left < COPY_BYTES ? left : COPY_BYTES)
                                    : ECANCELED;
    }
    sleep_ended(self_report);
    forget_answer(self_report);
    return self_report->is_lost ? ECANCELED : code;
}

/* For a process that cannot open or map the reply. */
static int copy_parts(struct self_report *self_report, int to)
{
    struct log_request *request = self_report->request;

    for (;;) {
        uint32_t n =
            atomic_fetch_add_explicit(&request->n_parts_wanted, 1, memory_order_release) + 1;
        int code = wait_for(self_report, &request->n_parts_given, n);
        uint32_t n_bytes = code ? 0 : request->part_bytes;
        if (code || n_bytes == 0 || n_bytes > LOG_REQUEST_BYTES)
            return code;
        sleep_begins(self_report);
        code = sys_write_all(to, request->text, n_bytes);
        sleep_ended(self_report);
        if (self_report->is_lost)
            return ECANCELED;
        if (code)
            return code;
    }
}

/* IQ-4 */
static int take_answer(struct self_report *self_report, int fd)
{
    struct log_request *request = self_report->request;
    uint32_t number = g_asking.number;
    int status = atomic_load_explicit(&request->status, memory_order_relaxed);
    bool is_open = open_answer(self_report);
    int copied = is_open ? 0 : copy_parts(self_report, fd);

    if (!self_report->is_lost
        && atomic_load_explicit(&request->n_posted, memory_order_relaxed) == number)
        atomic_store_explicit(&request->n_read, number, memory_order_release);
    release_slot(self_report);
    if (is_open)
        copied = copy_answer(self_report, fd);
    return status && !self_report->is_lost ? status : copied;
}

static int ask(struct self_report *self_report, const char *text, size_t n_bytes)
{
    struct log_request *request = self_report->request;
    uint32_t number = atomic_load_explicit(&request->n_posted, memory_order_relaxed) + 1;

    memcpy(request->text, text, n_bytes + 1);
    atomic_store_explicit(&request->n_parts_wanted,
                          atomic_load_explicit(&request->n_parts_given, memory_order_relaxed),
                          memory_order_relaxed);
    if (!put_marker(number, &request->marker_ticks))
        return ENOSPC;
    g_asking.number = number;
    (void)in_flight_wait(nap, self_report);
    if (self_report->is_lost
        || atomic_load_explicit(&request->requester, memory_order_relaxed)
               != self_report->requester)
        return ECANCELED;
    atomic_store_explicit(&request->n_posted, number, memory_order_release);
    if (!sys_is_forbidden()) /* else the recorder sees it at its next look */
        sys_wake_shared(&request->n_posted, UINT32_MAX);
    return wait_for(self_report, &request->n_answered, number);
}

static int post_in_turn(struct self_report *self_report, const char *text, int fd)
{
    int status;

    if (!wait_for_recorder(self_report))
        return self_report->is_lost ? ECANCELED : ENOTCONN;
    status = take_slot(self_report);
    if (status)
        return status;
    forget_left_answer(self_report);
    g_asking.frame = self_report->frame;
    status = ask(self_report, text, fmt_length(text));
    if (status == 0)
        return take_answer(self_report, fd);
    release_slot(self_report);
    return status;
}

_Static_assert(LOG_REQUEST_BYTES == 1536, "what is said of it here, in mtrace.h and docs/api.md");

/* A request that is not sent to the recorder. */
static int refuse(int fd, const char *why, int code)
{
    (void)sys_write_all(fd, why, fmt_length(why));
    return code;
}

int self_report_ask(const char *text, int fd)
{
    struct self_report self_report = {.frame = (uintptr_t)__builtin_frame_address(0)};
    long id = sys_gettid();
    int status;

    if (!text)
        return refuse(fd, "the request is NULL\n", EINVAL);
    if (fmt_length(text) >= LOG_REQUEST_BYTES)
        return refuse(fd, "a request has at most 1535 bytes\n", E2BIG);
    if (id <= 0 || !quiet_begin(&self_report.quiet))
        return ENOTCONN;
    self_report.log = segment_log();
    self_report.request = log_request_of(self_report.log);
    self_report.requester = (uint32_t)id;
    self_report.generation = atomic_load_explicit(g_state_generation, memory_order_relaxed);
    status = post_in_turn(&self_report, text, fd);
    quiet_end(&self_report.quiet);
    return status;
}
