/* SPDX-License-Identifier: MIT */
#include "collector/life/inquiry.h"

#include "collector/log/segment.h"
#include "collector/platform/fmt.h"
#include "collector/platform/memory.h"
#include "collector/platform/sys.h"
#include "collector/record/groups.h"
#include "collector/record/record.h"
#include "collector/record/state.h"
#include "collector/record/thread.h"
#include "collector/record/unfinished.h"

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
    MOST_NAPS_IDLE = 3000,           /* unfinished_wait takes a second at most */
    MOST_NAPS_FOR_RECORDER = 10000,
    MOST_NAPS_FOR_EARLIER = 50, /* who came before may be gone, or have left by longjmp */
};

static struct log_question *question_of(struct log_file *log)
{
    return (struct log_question *)(void *)((unsigned char *)log + LOG_QUESTION_OFFSET);
}

/* Naps, and how long the recorder has been still meanwhile. */
struct patience {
    unsigned naps_until_look, still_looks;
    uint32_t beat;
};

/* Before one sleeps. False: there is no recorder any more. */
static bool has_recorder(struct patience *patience, const struct log_file *log,
                         const struct log_question *question)
{
    uint32_t pid = atomic_load_explicit(&log->recorder_pid, memory_order_relaxed);
    uint32_t beat;

    if (sys_is_forbidden())
        return false;
    if (patience->naps_until_look > 0)
        return true;
    patience->naps_until_look = NAPS_PER_LOOK;
    beat = atomic_load_explicit(&question->beat, memory_order_relaxed);
    patience->still_looks = beat == patience->beat ? patience->still_looks + 1 : 0;
    patience->beat = beat;
    return patience->still_looks <= MOST_STILL_LOOKS_OF_NOBODY
           || (patience->still_looks <= MOST_STILL_LOOKS && sys_process_exists((long)pid) == 0);
}

/* Until somebody wakes who waits for `word` with one of the bits, as long as n naps at most; returns how many it was. A signal of the program's
 * ends a wait early, as does a kernel that cannot wait: naps count instead, so that neither ends our patience nor makes it endless. */
static unsigned sleep_on(const _Atomic uint32_t *word, uint32_t seen, uint32_t bits, unsigned n,
                         struct patience *patience)
{
    long code = sys_wait_shared(word, seen, bits, (uint64_t)n * NAP_NS);

    if (code == 0 || code == -EAGAIN)
        return 0;
    if (code != -ETIMEDOUT) {
        sys_nap(NAP_NS);
        n = 1;
    }
    patience->naps_until_look -= n < patience->naps_until_look ? n : patience->naps_until_look;
    return n;
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
    return atomic_load_explicit(&log->recorder_pid, memory_order_relaxed) != 0;
}

/* Of this thread's question: IQ-3 */
static _Thread_local struct {
    uintptr_t frame;
    uint32_t number;
} g_asking __attribute__((tls_model("initial-exec")));

/* Who left it by longjmp is no deeper on its stack now than it was; a handler that interrupts it is. */
static bool is_left(uintptr_t frame)
{
    return g_asking.frame == 0
           || (frame >= g_asking.frame && thread_is_on_own_stack(&g_thread, frame)
               && thread_is_on_own_stack(&g_thread, g_asking.frame) && !sys_is_on_signal_stack());
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
static void wait_for_turn(const struct log_question *question, struct place *place,
                          struct patience *patience)
{
    unsigned n = !place->holder             ? MOST_NAPS_FOR_EARLIER + 1
                 : is_next(question, place) ? NAPS_OF_NEXT
                                            : NAPS_PER_LOOK;

    n = sleep_on(&question->asker, place->holder, bit_of(place->ticket), n, patience);
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
static int take_turn(const struct log_file *log, struct log_question *question, uint32_t asker,
                     uintptr_t frame)
{
    struct patience patience = {.beat = 0};
    struct place place = {.naps_free = 0};

    if (atomic_load_explicit(&question->asker, memory_order_relaxed) == asker)
        return is_left(frame) ? 0 : EDEADLK;
    place.ticket = atomic_fetch_add_explicit(&question->n_tickets, 1, memory_order_relaxed);
    for (;;) {
        see_turn(question, &place);
        if (may_take_turn(question, &place) && take_turn_of(question, asker, &place))
            return 0;
        if (!has_recorder(&patience, log, question))
            return ENOTCONN;
        wait_for_turn(question, &place, &patience);
    }
}

/* Also when it is another's by now. */
static void give_turn_up(struct log_question *question, uint32_t asker)
{
    g_asking.frame = 0;
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
    words[2] = groups_label(name);
    if (words[2])
        *ret_ticks = record_event(LOG_MARK, 0, words, 3, NULL);
    return words[2] != 0;
}

/* Of the number that it should get to; ECANCELED: the turn was taken away. */
static int wait_for(const struct log_file *log, const struct log_question *question,
                    const _Atomic uint32_t *counter, uint32_t number)
{
    struct patience patience = {.beat = 0};
    uint32_t seen;

    while ((seen = atomic_load_explicit(counter, memory_order_acquire)) != number) {
        if (atomic_load_explicit(&question->n_asked, memory_order_relaxed) != g_asking.number)
            return ECANCELED;
        if (!has_recorder(&patience, log, question))
            return ENOTCONN;
        (void)sleep_on(counter, seen, UINT32_MAX, NAPS_PER_LOOK, &patience);
    }
    return 0;
}

static int open_answer(const struct log_question *question)
{
    char path[LOG_QUESTION_PATH_BYTES];

    memcpy(path, question->answer_path, sizeof(path));
    path[sizeof(path) - 1] = '\0';
    return (int)sys_open(path, O_RDONLY | O_CLOEXEC, 0);
}

static int copy_answer(int from, int to)
{
    char *buffer = memory_map(COPY_BYTES);
    int code = buffer ? 0 : ENOMEM;
    long n = 0;

    while (code == 0 && (n = sys_read(from, buffer, COPY_BYTES)) > 0)
        code = sys_write_all(to, buffer, (size_t)n);
    memory_unmap(buffer, COPY_BYTES);
    return code ? code : (int)-n;
}

/* Of who may not open it. */
static int copy_parts(const struct log_file *log, struct log_question *question, int to)
{
    for (;;) {
        uint32_t n =
            atomic_fetch_add_explicit(&question->n_parts_wanted, 1, memory_order_release) + 1;
        int code = wait_for(log, question, &question->n_parts_given, n);
        uint32_t n_bytes = question->part_bytes;
        if (code || n_bytes == 0 || n_bytes > LOG_QUESTION_BYTES)
            return code;
        code = sys_write_all(to, question->text, n_bytes);
        if (code)
            return code;
    }
}

/* IQ-4 */
static int take_answer(const struct log_file *log, struct log_question *question, uint32_t asker,
                       int fd)
{
    uint32_t number = g_asking.number;
    int status = atomic_load_explicit(&question->status, memory_order_relaxed);
    int from = open_answer(question);
    int copied = 0;

    if (from < 0)
        copied = copy_parts(log, question, fd);
    if (atomic_load_explicit(&question->n_asked, memory_order_relaxed) == number)
        atomic_store_explicit(&question->n_read, number, memory_order_release);
    give_turn_up(question, asker);
    if (from >= 0) {
        copied = copy_answer(from, fd);
        sys_close(from);
    }
    return status ? status : copied;
}

static int ask(struct log_file *log, struct log_question *question, uint32_t asker,
               const char *text, size_t n_bytes)
{
    uint32_t number = atomic_load_explicit(&question->n_asked, memory_order_relaxed) + 1;

    memcpy(question->text, text, n_bytes + 1);
    atomic_store_explicit(&question->n_parts_wanted,
                          atomic_load_explicit(&question->n_parts_given, memory_order_relaxed),
                          memory_order_relaxed);
    if (!put_marker(number, &question->marker_ticks))
        return ENOSPC;
    g_asking.number = number;
    (void)unfinished_wait();
    if (atomic_load_explicit(&question->asker, memory_order_relaxed) != asker)
        return ECANCELED;
    atomic_store_explicit(&question->n_asked, number, memory_order_release);
    return wait_for(log, question, &question->n_answered, number);
}

_Static_assert(LOG_QUESTION_BYTES == 1536, "what is said of it here, in mtrace.h and docs/api.md");

/* What the recorder is never asked. */
static int refuse(int fd, const char *why, int code)
{
    (void)sys_write_all(fd, why, fmt_length(why));
    return code;
}

int inquiry_ask(const char *text, int fd)
{
    struct log_file *log = state_is_recording() ? segment_log() : NULL;
    uintptr_t frame = (uintptr_t)__builtin_frame_address(0);
    struct log_question *question;
    long id = sys_gettid();
    int status;

    if (!text)
        return refuse(fd, "not understood, it is NULL\n", EINVAL);
    if (fmt_length(text) >= LOG_QUESTION_BYTES)
        return refuse(fd, "a question has 1535 bytes at most\n", E2BIG);
    if (!log || id <= 0 || !wait_for_recorder(log))
        return ENOTCONN;
    question = question_of(log);
    status = take_turn(log, question, (uint32_t)id, frame);
    if (status)
        return status;
    g_asking.frame = frame;
    status = ask(log, question, (uint32_t)id, text, fmt_length(text));
    if (status == 0)
        return take_answer(log, question, (uint32_t)id, fd);
    give_turn_up(question, (uint32_t)id);
    return status;
}
