/* SPDX-License-Identifier: MIT */
#include "recorder/recording/reporter.h"

#include "recorder/recording/question_words.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
    EXIT_NOT_RUN = 127,
    PART_PAUSE_NS = 2000000, /* longer than the program naps */
    MOST_PARTS_PER_STEP = 16,
};

/* ---- in the process that answers ---------------------------------------------------------------
 */

/* True when it exits with 0. */
static bool run(const char *const *words, int out, int complaints)
{
    int status;
    pid_t pid = fork();

    if (pid == 0) {
        if (dup2(out, STDOUT_FILENO) >= 0 && dup2(complaints, STDERR_FILENO) >= 0)
            execv(words[0], (char *const *)(uintptr_t)words);
        _exit(EXIT_NOT_RUN);
    }
    while (pid > 0 && waitpid(pid, &status, 0) < 0)
        if (errno != EINTR)
            return false;
    return pid > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static bool import(const struct reporter_job *job, const char *database, bool has_rows,
                   bool has_symbols)
{
    const char *words[10] = {job->programs->import, "--only", "--force", job->until};
    size_t n = 4;

    if (!has_rows)
        words[n++] = "--slim";
    if (!has_symbols)
        words[n++] = "--no-symbols";
    words[n++] = job->log_path;
    words[n++] = database;
    return run(words, job->complaints, job->complaints);
}

/* A question as words; --no-symbols is a word of the import. */
struct question {
    struct question_words split;
    const char *words[QUESTION_WORDS_MOST + 5];
    bool has_symbols;
};

static bool parse(struct question *question, const struct reporter_job *job, const char *text,
                  const char *database)
{
    size_t n = 0;

    question->has_symbols = true;
    if (!question_words_split(&question->split, text) || question->split.n == 0)
        return false;
    question->words[n++] = job->programs->query;
    question->words[n++] = "--about";
    question->words[n++] = database;
    for (size_t i = 0; i < question->split.n; i++) {
        if (strcmp(question->split.words[i], "--no-symbols") == 0)
            question->has_symbols = false;
        else
            question->words[n++] = question->split.words[i];
    }
    question->words[n] = NULL;
    return true;
}

static bool empty(int fd, off_t start)
{
    return ftruncate(fd, start) == 0 && lseek(fd, start, SEEK_SET) == start;
}

/* Without the advice what to ask next of this database, which is about to go; returns the bytes that stay. */
static size_t drop_advice(char *text, size_t n_bytes, const char *database)
{
    size_t kept = 0;

    for (size_t at = 0; at < n_bytes;) {
        const char *end = memchr(text + at, '\n', n_bytes - at);
        size_t length = end ? (size_t)(end - text) + 1 - at : n_bytes - at;
        if (strncmp(text + at, "next: ", 6) != 0
            || !memmem(text + at, length, database, strlen(database))) {
            memmove(text + kept, text + at, length);
            kept += length;
        }
        at += length;
    }
    return kept;
}

/* False: it stays as it was. */
static bool tidy(int fd, off_t start, const char *database)
{
    off_t end = lseek(fd, 0, SEEK_END);
    size_t n_bytes = end > start ? (size_t)(end - start) : 0;
    char *text = malloc(n_bytes + 1);
    bool is_read = text && pread(fd, text, n_bytes, start) == (ssize_t)n_bytes;
    size_t kept = n_bytes;

    if (is_read) {
        text[n_bytes] = '\0';
        kept = drop_advice(text, n_bytes, database);
    }
    bool is_done = is_read && kept < n_bytes && pwrite(fd, text, kept, start) == (ssize_t)kept
                   && ftruncate(fd, start + (off_t)kept) == 0;
    free(text);
    (void)lseek(fd, 0, SEEK_END);
    return is_done;
}

/* Most questions need no row for each allocation, which is most of an import. Who does says so, but for SQL,
 * which would find none. */
static int answer_parsed(const struct reporter_job *job, const struct question *question,
                         const char *database)
{
    off_t start = lseek(job->fd, 0, SEEK_CUR);
    int has_rows = strcmp(question->words[1], "sql") == 0;

    for (; has_rows <= 1; has_rows++) {
        if (!empty(job->fd, start) || !empty(job->complaints, 0)
            || !import(job, database, has_rows, question->has_symbols))
            return EIO;
        if (empty(job->complaints, 0) && run(question->words, job->fd, job->complaints)) {
            (void)tidy(job->fd, start, database);
            return 0;
        }
    }
    return empty(job->fd, start) ? EINVAL : EIO;
}

static void copy_complaints(const struct reporter_job *job)
{
    char bytes[4096];
    ssize_t n;

    (void)lseek(job->complaints, 0, SEEK_SET);
    while ((n = read(job->complaints, bytes, sizeof(bytes))) > 0)
        if (write(job->fd, bytes, (size_t)n) != n)
            return;
}

static int answer(const struct reporter_job *job, const char *text, const char *database)
{
    struct question question;
    int code;

    if (!parse(&question, job, text, database)) {
        (void)dprintf(job->fd, "not understood: %s\n", text);
        return EINVAL;
    }
    code = answer_parsed(job, &question, database);
    if (code)
        copy_complaints(job);
    return code;
}

static int answer_all(const struct reporter_job *job)
{
    const char *base = getenv("TMPDIR");
    char folder[4096];
    char database[4110];
    int code = 0;

    (void)snprintf(folder, sizeof(folder), "%s/mtrace-XXXXXX", base && *base ? base : "/tmp");
    if (!mkdtemp(folder)) {
        code = errno;
        (void)dprintf(job->fd, "%s: %s\n", folder, strerror(code));
        return code;
    }
    (void)snprintf(database, sizeof(database), "%s/run.db", folder);
    for (size_t i = 0; code == 0 && job->questions[i]; i++) {
        if (job->questions[1])
            (void)dprintf(job->fd, "%s== %s\n", i ? "\n" : "", job->questions[i]);
        code = answer(job, job->questions[i], database);
    }
    unlink(database);
    rmdir(folder);
    return code;
}

/* ---- starting it -------------------------------------------------------------------------------
 */

pid_t reporter_start(const struct reporter_job *job)
{
    pid_t pid;

    if (!job->programs->import || !job->programs->query)
        return -1;
    pid = fork();
    if (pid == 0) {
        sigset_t none;
        sigemptyset(&none);
        (void)setpgid(0, 0); /* ^C is the program's */
        (void)signal(SIGPIPE, SIG_DFL);
        sigprocmask(SIG_SETMASK, &none, NULL);
        _exit(answer_all(
            &(struct reporter_job){.programs = job->programs,
                                   .log_path = job->log_path,
                                   .until = job->until,
                                   .questions = job->questions,
                                   .fd = job->fd,
                                   .complaints = memfd_create("complaints", MFD_CLOEXEC)}));
    }
    return pid;
}

/* ---- questions of the program ------------------------------------------------------------------
 */

static struct log_question *question_of(const struct live_log *live)
{
    return (struct log_question *)(void *)((unsigned char *)live->file + LOG_QUESTION_OFFSET);
}

static void finish(struct reporter *reporter, struct log_question *question, int status)
{
    (void)snprintf(question->answer_path, sizeof(question->answer_path), "/proc/%d/fd/%d",
                   (int)getpid(), reporter->answer_fd);
    atomic_store_explicit(&question->status, status, memory_order_relaxed);
    atomic_store_explicit(&question->n_answered, reporter->number, memory_order_release);
}

static bool give_part(struct reporter *reporter, struct log_question *question)
{
    uint32_t n_wanted = atomic_load_explicit(&question->n_parts_wanted, memory_order_acquire);
    ssize_t n;

    if (n_wanted == atomic_load_explicit(&question->n_parts_given, memory_order_relaxed))
        return false;
    n = pread(reporter->answer_fd, question->text, LOG_QUESTION_BYTES, reporter->given_bytes);
    question->part_bytes = n > 0 ? (uint32_t)n : 0;
    reporter->given_bytes += question->part_bytes;
    atomic_store_explicit(&question->n_parts_given, n_wanted, memory_order_release);
    return true;
}

/* To who may not open the answer; the next one is wanted soon. */
static void give_parts(struct reporter *reporter, struct log_question *question)
{
    const struct timespec pause = {.tv_nsec = PART_PAUSE_NS};
    unsigned n_parts = 0;

    while (n_parts < MOST_PARTS_PER_STEP && give_part(reporter, question)) {
        n_parts++;
        nanosleep(&pause, NULL);
    }
}

static void close_answer(struct reporter *reporter)
{
    if (reporter->answer_fd >= 0)
        close(reporter->answer_fd);
    reporter->answer_fd = -1;
}

/* RP-2: the text is read once, whatever the program writes there meanwhile. */
static void begin(struct reporter *reporter, struct log_question *question, uint32_t number,
                  const char *log_path, const struct reporter_programs *programs)
{
    char text[LOG_QUESTION_BYTES + 1];
    char until[64];
    const char *const questions[] = {text, NULL};
    struct reporter_job job = {
        .programs = programs, .log_path = log_path, .until = until, .questions = questions};

    memcpy(text, question->text, LOG_QUESTION_BYTES);
    text[LOG_QUESTION_BYTES] = '\0';
    (void)snprintf(until, sizeof(until), "--until-marker=" LOG_QUESTION_MARKER "%u", number);
    close_answer(reporter); /* of a question that its thread has left */
    reporter->number = number;
    reporter->given_bytes = 0;
    reporter->answer_fd = job.fd = memfd_create("mtrace answer", MFD_CLOEXEC);
    reporter->has_ended = false;
    reporter->pid = job.fd >= 0 ? reporter_start(&job) : -1;
    if (reporter->pid <= 0) {
        reporter->pid = 0;
        finish(reporter, question, ENOSYS);
    }
}

/* WAIT: until it has ended. */
static void look_for_end(struct reporter *reporter, struct log_question *question)
{
    int status = reporter->wait_status;
    pid_t ended = reporter->has_ended ? reporter->pid : waitpid(reporter->pid, &status, WNOHANG);

    if (ended == 0 || (ended < 0 && errno == EINTR))
        return;
    reporter->pid = 0;
    finish(reporter, question, ended > 0 && WIFEXITED(status) ? WEXITSTATUS(status) : EIO);
}

void reporter_step(struct reporter *reporter, const struct live_log *live, const char *log_path,
                   const struct reporter_programs *programs)
{
    struct log_question *question = question_of(live);
    uint32_t n_asked = atomic_load_explicit(&question->n_asked, memory_order_acquire);

    atomic_fetch_add_explicit(&question->beat, 1, memory_order_relaxed);
    if (reporter->pid > 0) {
        look_for_end(reporter, question);
        return;
    }
    if (reporter->answer_fd >= 0 && n_asked == reporter->number)
        give_parts(reporter, question);
    if (reporter->answer_fd >= 0
        && atomic_load_explicit(&question->n_read, memory_order_acquire) == reporter->number)
        close_answer(reporter);
    if (n_asked != reporter->number && programs)
        begin(reporter, question, n_asked, log_path, programs);
}

void reporter_note_end(struct reporter *reporter, pid_t pid, int wait_status)
{
    if (reporter->pid != pid || pid <= 0)
        return;
    reporter->has_ended = true;
    reporter->wait_status = wait_status;
}

void reporter_done(struct reporter *reporter)
{
    if (reporter->pid > 0 && !reporter->has_ended) {
        (void)kill(-reporter->pid, SIGTERM);
        while (waitpid(reporter->pid, NULL, 0) < 0 && errno == EINTR)
            ;
    }
    reporter->pid = 0;
    close_answer(reporter);
}
