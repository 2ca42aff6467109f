/* SPDX-License-Identifier: MIT */
#include "collector/process/self_report.h"

#include "collector/events/in_flight.h"
#include "collector/events/record.h"
#include "collector/log/segment.h"
#include "collector/os/fmt.h"
#include "collector/os/sys.h"
#include "collector/process/presence.h"
#include "collector/thread/quiet.h"
#include "collector/thread/state.h"
#include "collector/thread/thread.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

enum {
    COPY_BYTES = 65536,
    NAP_NS = 1000000,
    NAPS_PER_LOOK = 100, /* at whether there is still a recorder */
    NAPS_OF_NEXT = 10,   /* until it looks whether who has the turn is still there */
    MOST_STILL_LOOKS = 100,
    MOST_STILL_LOOKS_OF_NOBODY = 10, /* its pid is nobody's, which may mean another pid namespace */
    MOST_NAPS_IDLE = 3000,           /* in_flight_wait takes a second at most */
    MOST_NAPS_FOR_RECORDER = 10000,
    MOST_NAPS_FOR_EARLIER = 50, /* who came before may be gone, or have left by longjmp */
};

/*
 * IQ-7: signals are blocked, but where it sleeps or writes. is_lost: the log was this process's when it fell asleep, and is
 * not any more; then it is not touched, and all that was begun ends with ECANCELED.
 */
struct self_report {
    struct log_file *log;
    struct log_question *question;
    uint64_t generation;
    uint32_t asker;
    bool is_lost;
    struct quiet quiet;
    uintptr_t frame; /* where it was asked */
    void *answer;    /* mapped, of answer_bytes; NULL: none, or it is empty */
    size_t answer_bytes;
};

static void sleep_begins(const struct self_report *inquiry)
{
    quiet_end(&inquiry->quiet);
}

static bool has_log(const struct self_report *inquiry)
{
    return atomic_load_explicit(g_state_generation, memory_order_relaxed) == inquiry->generation;
}

/* A handler may have forked meanwhile: this may be the child. */
static void sleep_ended(struct self_report *inquiry)
{
    (void)quiet_begin_always(&inquiry->quiet);
    inquiry->is_lost = !has_log(inquiry);
}

/* Of who waits for what others do meanwhile. False: the log is lost. */
static bool nap(void *user, uint64_t ns)
{
    struct self_report *inquiry = user;

    sleep_begins(inquiry);
    sys_nap(ns);
    sleep_ended(inquiry);
    return !inquiry->is_lost;
}

/* Naps, and how long the recorder has been still meanwhile. */
struct patience {
    unsigned naps_until_look, still_looks;
    uint32_t beat;
};

/* Before one sleeps. False: nobody will answer. */
static bool is_answering(struct patience *patience)
{
    enum presence presence;

    if (sys_is_forbidden())
        return false;
    if (patience->naps_until_look > 0)
        return true;
    patience->naps_until_look = NAPS_PER_LOOK;
    presence = presence_look(&patience->beat);
    patience->still_looks = presence == PRESENCE_BEATS ? 0 : patience->still_looks + 1;
    return patience->still_looks
           <= (presence == PRESENCE_NOBODY ? MOST_STILL_LOOKS_OF_NOBODY : MOST_STILL_LOOKS);
}

/* Until somebody wakes who waits for `word` with one of the bits, as long as n naps at most; returns how many it was. A signal of the program's
 * ends a wait early, as does a kernel that cannot wait: naps count instead, so that neither ends our patience nor makes it endless. */
static unsigned sleep_on(struct self_report *inquiry, const _Atomic uint32_t *word, uint32_t seen,
                         uint32_t bits, unsigned n, struct patience *patience)
{
    long code;

    sleep_begins(inquiry);
    code = sys_wait_shared(word, seen, bits, (uint64_t)n * NAP_NS);
    sleep_ended(inquiry);
    if (code == 0 || code == -EAGAIN)
        return 0;
    if (code != -ETIMEDOUT && !inquiry->is_lost) {
        (void)nap(inquiry, NAP_NS);
        n = 1;
    }
    patience->naps_until_look -= n < patience->naps_until_look ? n : patience->naps_until_look;
    return n;
}

/* The recorder of a child may not have found its log yet. */
static bool wait_for_recorder(struct self_report *inquiry)
{
    const struct log_file *log = inquiry->log;
    bool is_expected = state_config()->recorder_pid != 0;

    for (unsigned naps = 0; is_expected && naps < MOST_NAPS_FOR_RECORDER; naps++) {
        if (atomic_load_explicit(&log->recorder_pid, memory_order_relaxed) != 0
            || sys_process_exists((long)state_config()->recorder_pid) != 0)
            break;
        if (!nap(inquiry, NAP_NS))
            return false;
    }
    return atomic_load_explicit(&log->recorder_pid, memory_order_relaxed) != 0;
}

/* Of this thread's question: IQ-3 */
static _Thread_local struct {
    uintptr_t frame;
    uint32_t number;
    uintptr_t answer_frame; /* of the outermost answer that is being written */
    void *answer;
    size_t answer_bytes;
} g_asking __attribute__((tls_model("initial-exec")));

static bool is_left(uintptr_t asked, uintptr_t frame)
{
    return asked == 0 || thread_has_left(&g_thread, asked, frame);
}

/* Nothing is asked that is not answered: it is for the holder of the turn to go on. */
static bool is_its_holders_turn(const struct log_question *question)
{
    return atomic_load_explicit(&question->n_asked, memory_order_relaxed)
           == atomic_load_explicit(&question->n_answered, memory_order_relaxed);
}

/* IQ-6: of who waits, not of who has the turn. */
struct place {
    uint32_t ticket;
    uint32_t holder, number; /* the turn that was seen last, and its question */
    unsigned naps_free;      /* of a turn that was nobody's all the time */
    unsigned naps_idle;      /* of a holder that did nothing all the time */
};

static bool is_next(const struct log_question *question, const struct place *place)
{
    uint32_t n_admitted = atomic_load_explicit(&question->n_admitted, memory_order_relaxed);

    return (int32_t)(place->ticket - n_admitted) <= 0;
}

static bool is_first(const struct log_question *question, const struct place *place)
{
    return is_next(question, place) || place->naps_free > MOST_NAPS_FOR_EARLIER;
}

static void see_turn(const struct log_question *question, struct place *place)
{
    uint32_t holder = atomic_load_explicit(&question->asker, memory_order_relaxed);
    uint32_t number = atomic_load_explicit(&question->n_asked, memory_order_relaxed);
    bool is_same = holder == place->holder && number == place->number;

    if (!is_same || holder)
        place->naps_free = 0;
    if (!is_same || !holder || !is_its_holders_turn(question))
        place->naps_idle = 0;
    place->holder = holder;
    place->number = number;
}

static bool may_take_turn(const struct log_question *question, const struct place *place)
{
    if (!place->holder)
        return is_first(question, place);
    return place->naps_idle > MOST_NAPS_IDLE || sys_thread_exists((long)place->holder) == -ESRCH;
}

/* Of the waiters for a turn one in so many is woken, who is next among them. */
static uint32_t bit_of(uint32_t ticket)
{
    return UINT32_C(1) << ticket % 32;
}

/* The others look more seldom, at a turn that nobody gives up any more: there may be many. */
static void wait_for_turn(struct self_report *inquiry, struct place *place,
                          struct patience *patience)
{
    const struct log_question *question = inquiry->question;
    unsigned n = !place->holder             ? MOST_NAPS_FOR_EARLIER + 1
                 : is_next(question, place) ? NAPS_OF_NEXT
                                            : NAPS_PER_LOOK;

    n = sleep_on(inquiry, &question->asker, place->holder, bit_of(place->ticket), n, patience);
    place->naps_free += n;
    place->naps_idle += n;
}

/* Who was passed over is first then. */
static void admit(struct log_question *question, const struct place *place)
{
    uint32_t n_admitted = atomic_load_explicit(&question->n_admitted, memory_order_relaxed);

    if ((int32_t)(place->ticket + 1 - n_admitted) > 0)
        atomic_store_explicit(&question->n_admitted, place->ticket + 1, memory_order_relaxed);
}

/* From who was seen to have it. */
static bool take_turn_of(struct log_question *question, uint32_t asker, const struct place *place)
{
    uint32_t holder = place->holder;
    bool is_taken = atomic_compare_exchange_strong_explicit(
        &question->asker, &holder, asker, memory_order_seq_cst, memory_order_relaxed);

    if (is_taken)
        admit(question, place);
    return is_taken;
}

/* IQ-1, IQ-3, IQ-6. Nobody but this thread makes it the holder. */
static int take_turn(struct self_report *inquiry)
{
    struct log_question *question = inquiry->question;
    struct patience patience = {.beat = 0};
    struct place place = {.naps_free = 0};

    if (atomic_load_explicit(&question->asker, memory_order_relaxed) == inquiry->asker)
        return is_left(g_asking.frame, inquiry->frame) ? 0 : EDEADLK;
    place.ticket = atomic_fetch_add_explicit(&question->n_tickets, 1, memory_order_relaxed);
    for (;;) {
        see_turn(question, &place);
        if (may_take_turn(question, &place) && take_turn_of(question, inquiry->asker, &place))
            return 0;
        if (!is_answering(&patience))
            return ENOTCONN;
        wait_for_turn(inquiry, &place, &patience);
        if (inquiry->is_lost)
            return ECANCELED;
    }
}

/* Also when it is another's by now. */
static void give_turn_up(const struct self_report *inquiry)
{
    struct log_question *question = inquiry->question;
    uint32_t asker = inquiry->asker;

    g_asking.frame = 0;
    if (inquiry->is_lost)
        return;
    if (atomic_compare_exchange_strong_explicit(&question->asker, &asker, 0, memory_order_release,
                                                memory_order_relaxed)
        && !sys_is_forbidden())
        sys_wake_shared(&question->asker,
                        bit_of(atomic_load_explicit(&question->n_admitted, memory_order_relaxed)));
}

/* What this thread did is before the marker, and nothing that anyone does from now on. False: no room. *ret_ticks: as record_event. */
static bool put_marker(uint32_t number, uint64_t *ret_ticks)
{
    char name[32];
    struct fmt out = FMT_BUFFER(name);
    uint64_t words[3] = {0, 0, 0};

    fmt_string(&out, LOG_QUESTION_MARKER);
    fmt_decimal(&out, number);
    return record_labelled(LOG_MARK, 0, words, 3, name, ret_ticks);
}

/* Of the number that it should get to; ECANCELED: the turn was taken away. */
static int wait_for(struct self_report *inquiry, const _Atomic uint32_t *counter, uint32_t number)
{
    struct patience patience = {.beat = 0};
    uint32_t seen;

    while ((seen = atomic_load_explicit(counter, memory_order_acquire)) != number) {
        if (atomic_load_explicit(&inquiry->question->n_asked, memory_order_relaxed)
            != g_asking.number)
            return ECANCELED;
        if (!is_answering(&patience))
            return ENOTCONN;
        (void)sleep_on(inquiry, counter, seen, UINT32_MAX, NAPS_PER_LOOK, &patience);
        if (inquiry->is_lost)
            return ECANCELED;
    }
    return 0;
}

/* What this thread has left by longjmp: not what it is about to go on with behind a handler. */
static void forget_left_answer(const struct self_report *inquiry)
{
    if (!g_asking.answer || !is_left(g_asking.answer_frame, inquiry->frame))
        return;
    sys_unmap(g_asking.answer, g_asking.answer_bytes);
    g_asking.answer = NULL;
}

static void keep_answer(struct self_report *inquiry, void *answer, size_t answer_bytes)
{
    inquiry->answer = answer;
    inquiry->answer_bytes = answer_bytes;
    if (g_asking.answer)
        return;
    g_asking.answer = answer;
    g_asking.answer_bytes = answer_bytes;
    g_asking.answer_frame = inquiry->frame;
}

static void forget_answer(const struct self_report *inquiry)
{
    if (g_asking.answer == inquiry->answer)
        g_asking.answer = NULL;
    if (inquiry->answer)
        sys_unmap(inquiry->answer, inquiry->answer_bytes);
}

static bool fits_in_memory(int64_t n_bytes)
{
    return n_bytes >= 0 && (int64_t)(size_t)n_bytes == n_bytes;
}

/* Maps it: what is written from there may take long, and no descriptor is held meanwhile. False: it may not be opened, or is larger than
 * memory can be. */
static bool open_answer(struct self_report *inquiry)
{
    const struct log_question *question = inquiry->question;
    char path[LOG_QUESTION_PATH_BYTES];
    struct sys_file_id file;
    long start = 0;
    long fd;

    memcpy(path, question->answer_path, sizeof(path));
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
    keep_answer(inquiry, (void *)(uintptr_t)start, (size_t)file.size_bytes);
    return true;
}

/* The kernel reads what is mapped: where the file is shorter by now that is a failure, and no signal. */
static int copy_answer(struct self_report *inquiry, int to)
{
    int code = 0;

    sleep_begins(inquiry);
    for (size_t at = 0; code == 0 && at < inquiry->answer_bytes; at += COPY_BYTES) {
        size_t left = inquiry->answer_bytes - at;
        code = has_log(inquiry) ? sys_write_all(to, (const char *)inquiry->answer + at,
                                                left < COPY_BYTES ? left : COPY_BYTES)
                                : ECANCELED;
    }
    sleep_ended(inquiry);
    forget_answer(inquiry);
    return inquiry->is_lost ? ECANCELED : code;
}

/* Of who may not open it, or not map it. */
static int copy_parts(struct self_report *inquiry, int to)
{
    struct log_question *question = inquiry->question;

    for (;;) {
        uint32_t n =
            atomic_fetch_add_explicit(&question->n_parts_wanted, 1, memory_order_release) + 1;
        int code = wait_for(inquiry, &question->n_parts_given, n);
        uint32_t n_bytes = code ? 0 : question->part_bytes;
        if (code || n_bytes == 0 || n_bytes > LOG_QUESTION_BYTES)
            return code;
        sleep_begins(inquiry);
        code = sys_write_all(to, question->text, n_bytes);
        sleep_ended(inquiry);
        if (inquiry->is_lost)
            return ECANCELED;
        if (code)
            return code;
    }
}

/* IQ-4 */
static int take_answer(struct self_report *inquiry, int fd)
{
    struct log_question *question = inquiry->question;
    uint32_t number = g_asking.number;
    int status = atomic_load_explicit(&question->status, memory_order_relaxed);
    bool is_open = open_answer(inquiry);
    int copied = is_open ? 0 : copy_parts(inquiry, fd);

    if (!inquiry->is_lost
        && atomic_load_explicit(&question->n_asked, memory_order_relaxed) == number)
        atomic_store_explicit(&question->n_read, number, memory_order_release);
    give_turn_up(inquiry);
    if (is_open)
        copied = copy_answer(inquiry, fd);
    return status && !inquiry->is_lost ? status : copied;
}

static int ask(struct self_report *inquiry, const char *text, size_t n_bytes)
{
    struct log_question *question = inquiry->question;
    uint32_t number = atomic_load_explicit(&question->n_asked, memory_order_relaxed) + 1;

    memcpy(question->text, text, n_bytes + 1);
    atomic_store_explicit(&question->n_parts_wanted,
                          atomic_load_explicit(&question->n_parts_given, memory_order_relaxed),
                          memory_order_relaxed);
    if (!put_marker(number, &question->marker_ticks))
        return ENOSPC;
    g_asking.number = number;
    (void)in_flight_wait(nap, inquiry);
    if (inquiry->is_lost
        || atomic_load_explicit(&question->asker, memory_order_relaxed) != inquiry->asker)
        return ECANCELED;
    atomic_store_explicit(&question->n_asked, number, memory_order_release);
    if (!sys_is_forbidden()) /* else it is seen at the recorder's next look */
        sys_wake_shared(&question->n_asked, UINT32_MAX);
    return wait_for(inquiry, &question->n_answered, number);
}

static int ask_in_turn(struct self_report *inquiry, const char *text, int fd)
{
    int status;

    if (!wait_for_recorder(inquiry))
        return inquiry->is_lost ? ECANCELED : ENOTCONN;
    status = take_turn(inquiry);
    if (status)
        return status;
    forget_left_answer(inquiry);
    g_asking.frame = inquiry->frame;
    status = ask(inquiry, text, fmt_length(text));
    if (status == 0)
        return take_answer(inquiry, fd);
    give_turn_up(inquiry);
    return status;
}

_Static_assert(LOG_QUESTION_BYTES == 1536, "what is said of it here, in mtrace.h and docs/api.md");

/* What the recorder is never asked. */
static int refuse(int fd, const char *why, int code)
{
    (void)sys_write_all(fd, why, fmt_length(why));
    return code;
}

int self_report_ask(const char *text, int fd)
{
    struct self_report inquiry = {.frame = (uintptr_t)__builtin_frame_address(0)};
    long id = sys_gettid();
    int status;

    if (!text)
        return refuse(fd, "not understood, it is NULL\n", EINVAL);
    if (fmt_length(text) >= LOG_QUESTION_BYTES)
        return refuse(fd, "a question has 1535 bytes at most\n", E2BIG);
    if (id <= 0 || !quiet_begin(&inquiry.quiet))
        return ENOTCONN;
    inquiry.log = segment_log();
    inquiry.question = log_question_of(inquiry.log);
    inquiry.asker = (uint32_t)id;
    inquiry.generation = atomic_load_explicit(g_state_generation, memory_order_relaxed);
    status = ask_in_turn(&inquiry, text, fd);
    quiet_end(&inquiry.quiet);
    return status;
}
