/* SPDX-License-Identifier: MIT */
#include "recorder/session/report_service.h"

#include "lib/base/error.h"
#include "lib/base/monotonic.h"
#include "lib/logfile/left_out.h"
#include "lib/process/child_process.h"
#include "lib/process/cut_request.h"
#include "recorder/session/request_words.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
    EXIT_RULE_HOLDS = 3, /* a rule of --fail-if holds; the answer is complete */
    EXIT_TOO_LONG = 124,
    MAX_ANSWER_SECONDS = 30, /* CPU time; other requests wait */
    EXIT_NOT_RUN = 127,
    END_PAUSE_NS = 2000000,
};

/* A client that has not posted for this long after "go" loses its turn: its thread is held up, or
 * left by longjmp. */
static const uint64_t SILENCE_NS = 5000000000;

/* ---- in the process that answers ------------------------------------------------------------- */

/* State of the answering process. */
struct answering {
    const struct report_service_job *job;
    const char *database;
    int follower_end;          /* -1: none */
    int complaints;            /* gets error messages of child processes */
    bool is_made, has_symbols; /* of the database */
    int failure;               /* an errno value, if it could not be made */
    bool has_rows;
};

/* Reports why a child process ended without a message of its own. */
static void explain_end(const struct answering *answering, const char *program, int status)
{
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGXCPU)
        (void)dprintf(answering->complaints,
                      "not answered within %d s of CPU time: request less, or query the log\n",
                      MAX_ANSWER_SECONDS);
    else if (WIFSIGNALED(status))
        (void)dprintf(answering->complaints, "'%s' was ended by signal %d, before it was done\n",
                      program, WTERMSIG(status));
    else if (WEXITSTATUS(status) == EXIT_NOT_RUN)
        (void)dprintf(answering->complaints, "'%s' cannot be run\n", program);
}

/* An import always ends; a query may not. */
static void limit_request(const struct answering *answering, const char *program)
{
    struct rlimit limit;

    if (program != answering->job->programs->query || getrlimit(RLIMIT_CPU, &limit) != 0
        || limit.rlim_cur <= MAX_ANSWER_SECONDS)
        return;
    limit.rlim_cur = MAX_ANSWER_SECONDS;
    (void)setrlimit(RLIMIT_CPU, &limit);
}

static int exit_status(int status)
{
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGXCPU)
        return EXIT_TOO_LONG;
    return WIFEXITED(status) ? WEXITSTATUS(status) : EXIT_NOT_RUN;
}

/* Child processes must not read the recorder's standard input. */
static bool set_standard_input(int in)
{
    int fd = in >= 0 ? in : open("/dev/null", O_RDONLY | O_CLOEXEC);

    return fd >= 0 && dup2(fd, STDIN_FILENO) >= 0;
}

/* Returns its PID, or -1 after a message. in -1: no input. */
static pid_t start(const struct answering *answering, const char *const *words, int in, int out)
{
    pid_t pid = fork();

    if (pid == 0) {
        limit_request(answering, words[0]);
        if (set_standard_input(in) && dup2(out, STDOUT_FILENO) >= 0
            && dup2(answering->complaints, STDERR_FILENO) >= 0)
            execv(words[0], (char *const *)(uintptr_t)words);
        _exit(EXIT_NOT_RUN);
    }
    if (pid < 0)
        (void)dprintf(answering->complaints, "'%s' cannot be run: %s\n", words[0], strerror(errno));
    return pid;
}

/* Its exit status. */
static int wait_for(const struct answering *answering, const char *program, pid_t pid)
{
    int status = -1;

    if (pid < 0)
        return EXIT_NOT_RUN;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        continue;
    explain_end(answering, program, status);
    return exit_status(status);
}

static int run(const struct answering *answering, const char *const *words, int out)
{
    return wait_for(answering, words[0], start(answering, words, -1, out));
}

/* The importer's own hint is for users who import by hand, and does not help here. */
static void explain_no_room(const struct answering *answering)
{
    (void)dprintf(
        answering->complaints,
        "not enough room for the database of a report in '%s': free some, or set TMPDIR for "
        "mtrace-record\n",
        report_folder_base());
}

static bool empty(int fd, off_t start)
{
    return ftruncate(fd, start) == 0 && lseek(fd, start, SEEK_SET) == start;
}

/* False: there is no follower, or it has exited. */
static bool ask_follower(const struct answering *answering, bool has_rows, bool has_symbols,
                         struct cut_reply *ret_reply)
{
    const struct report_service_job *job = answering->job;
    struct cut_request request = {.until_ns = job->until_marker ? 0 : job->until_ns,
                                  .marker_ticks = job->marker_ticks,
                                  .run_id = job->run_id,
                                  .has_rows = has_rows,
                                  .has_symbols = has_symbols};

    if (answering->follower_end < 0)
        return false;
    (void)snprintf(request.target, sizeof(request.target), "%s", answering->database);
    if (job->until_marker)
        (void)snprintf(request.until_marker, sizeof(request.until_marker), "%s", job->until_marker);
    return cut_request_send(answering->follower_end, &request, ret_reply);
}

static void take_failure(struct answering *answering, const struct cut_reply *reply)
{
    answering->failure = reply->has_no_room ? ENOSPC : EIO;
    if (reply->has_no_room)
        explain_no_room(answering);
    else
        (void)dprintf(answering->complaints, "mtrace-import: %s\n", reply->text);
}

/* Does nothing if the existing database is sufficient. */
static bool make_database(struct answering *answering, bool has_rows, bool has_symbols)
{
    struct cut_reply reply;

    if (answering->is_made && answering->has_rows >= has_rows
        && answering->has_symbols == has_symbols)
        return true;
    if (!ask_follower(answering, has_rows, has_symbols, &reply))
        reply =
            (struct cut_reply){.code = ERROR_IO, .text = "it ended before it answered: try again"};
    answering->is_made = reply.code == 0;
    if (reply.code)
        take_failure(answering, &reply);
    answering->has_rows = has_rows;
    answering->has_symbols = has_symbols;
    return answering->is_made;
}

/* A request as words; --no-symbols is an option of the import. */
struct request {
    struct request_words split;
    const char *words[REQUEST_WORDS_MAX + 4]; /* of mtrace-query */
    bool has_symbols;
};

/* NULL, or an error text. */
static const char *parse(struct request *request, const struct answering *answering,
                         const char *text)
{
    const char *wrong = request_words_split(&request->split, text);
    size_t n = 0;

    request->has_symbols = true;
    if (wrong || request->split.n == 0)
        return wrong ? wrong : "it is empty";
    request->words[n++] = answering->job->programs->query;
    request->words[n++] = "--about";
    request->words[n++] = answering->database;
    for (size_t i = 0; i < request->split.n; i++) {
        if (strcmp(request->split.words[i], "--no-symbols") == 0)
            request->has_symbols = false;
        else
            request->words[n++] = request->split.words[i];
    }
    request->words[n] = NULL;
    return NULL;
}

/* Most requests need totals only. mtrace-query says if this one needs rows of single blocks. */
static int try_databases(struct answering *answering, const struct request *request,
                         int *ret_status)
{
    int fd = answering->job->fd;
    off_t start = lseek(fd, 0, SEEK_CUR);
    bool has_rows = false;

    for (;;) {
        if (!make_database(answering, has_rows, request->has_symbols))
            return answering->failure;
        if (!empty(fd, start) || !empty(answering->complaints, 0))
            return EIO;
        *ret_status = run(answering, request->words, fd);
        if (*ret_status != LEFT_OUT_EXIT || has_rows)
            return 0;
        has_rows = true;
        if (!empty(answering->complaints, 0))
            return EIO;
    }
}

static int answer_parsed(struct answering *answering, const struct request *request)
{
    int fd = answering->job->fd;
    off_t start = lseek(fd, 0, SEEK_CUR);
    int status = EXIT_NOT_RUN;
    int code = try_databases(answering, request, &status);

    if (code == 0 && (status == 0 || status == EXIT_RULE_HOLDS))
        return status == 0 ? 0 : ERANGE;
    if (!empty(fd, start))
        return EIO;
    if (code)
        return code;
    if (status == EXIT_NOT_RUN)
        return EIO;
    return status == EXIT_TOO_LONG || status == ERROR_EXIT_LATE ? ETIMEDOUT : EINVAL;
}

static void copy_complaints(const struct answering *answering)
{
    char bytes[4096];
    ssize_t n;

    (void)lseek(answering->complaints, 0, SEEK_SET);
    while ((n = read(answering->complaints, bytes, sizeof(bytes))) > 0)
        if (write(answering->job->fd, bytes, (size_t)n) != n)
            return;
}

static int answer(struct answering *answering, const char *text)
{
    struct request request;
    const char *wrong = parse(&request, answering, text);
    int code;

    if (wrong) {
        (void)dprintf(answering->job->fd, "not understood, %s%s%s\n", wrong,
                      request.split.n ? ": " : "", request.split.n ? text : "");
        return EINVAL;
    }
    code = answer_parsed(answering, &request);
    if (code && code != ERANGE)
        copy_complaints(answering);
    return code;
}

static int answer_all(const struct report_service_job *job, const struct report_folder *folder,
                      const struct follower_process *follower)
{
    char database[PATH_MAX];
    struct answering answering = {.job = job,
                                  .database = database,
                                  .follower_end = follower_process_request_fd(follower),
                                  .complaints = memfd_create("complaints", MFD_CLOEXEC)};
    int code = answering.complaints < 0 ? errno : 0;

    (void)snprintf(database, sizeof(database), "%s/run.db", folder->path);
    for (size_t i = 0; code == 0 && job->requests[i]; i++) {
        if (job->requests[1])
            (void)dprintf(job->fd, "%s== %s\n", i ? "\n" : "", job->requests[i]);
        code = answer(&answering, job->requests[i]);
    }
    return code;
}

/* In the child process, which continues if the recorder is killed, because it must remove the
 * folder. */
static int answer_in_folder(const struct report_service_job *job, struct report_folder *folder,
                            const struct follower_process *follower)
{
    int code = report_folder_make(folder);

    if (code) {
        (void)dprintf(job->fd, "%s: %s\n", folder->path, strerror(code));
        return code;
    }
    code = answer_all(job, folder, follower);
    report_folder_remove(folder);
    return code;
}

/* ---- starting it ----------------------------------------------------------------------------- */

int report_service_start(const struct report_service_job *job, struct follower_process *follower,
                         struct report_service_work *work)
{
    int code = 0;
    pid_t pid;

    if (!job->programs->import || !job->programs->query)
        return ENOSYS;
    code = report_folder_name(&work->folder);
    if (code)
        return code;
    follower_process_start(follower, job->programs->import);
    pid = child_process_start(&work->child);
    if (pid == 0)
        _exit(answer_in_folder(job, &work->folder, follower));
    if (pid > 0)
        return 0;
    code = errno;
    report_service_end(work);
    return code;
}

void report_service_end(struct report_service_work *work)
{
    report_folder_remove(&work->folder);
    work->child = (struct child_process){.pid = 0};
}

void report_service_stop(struct report_service_work *work)
{
    child_process_end_now(&work->child);
    report_service_end(work);
}

/* ---- requests of the program ----------------------------------------------------------------- */

bool report_service_take(struct report_service *service, int fd)
{
    if (service->n_clients == REPORT_SERVICE_CLIENTS) {
        (void)!send(fd, "busy", 4, MSG_DONTWAIT | MSG_NOSIGNAL);
        return false;
    }
    service->clients[service->n_clients++] = fd;
    return true;
}

static void set_phase(const struct live_log *live, enum log_request_phase phase)
{
    atomic_store_explicit(&live_log_mailbox(live)->phase, phase, memory_order_seq_cst);
}

/* Also if the client is gone: it has no answer then. */
static void next_client(struct report_service *service, const struct live_log *live)
{
    close(service->clients[0]);
    service->n_clients--;
    memmove(service->clients, service->clients + 1,
            service->n_clients * sizeof(service->clients[0]));
    service->has_turn = service->is_posted = false;
    set_phase(live, LOG_REQUEST_NONE);
}

/* The phase is set before the program writes its marker (PG-6). */
static void give_turn(struct report_service *service, const struct live_log *live, uint64_t now_ns)
{
    set_phase(live, LOG_REQUEST_TURN);
    service->has_turn = true;
    service->turn_ns = now_ns;
    if (send(service->clients[0], "go", 2, MSG_DONTWAIT | MSG_NOSIGNAL) != 2)
        next_client(service, live);
}

/* "TICKS NUMBER WORDS". False: something else. */
static bool parse_post(struct report_service *service)
{
    char *at = service->text;

    errno = 0;
    service->marker_ticks = strtoull(at, &at, 10);
    service->number = (uint32_t)strtoul(at, &at, 10);
    service->words = at + 1;
    return *at == ' ' && errno == 0 && strlen(service->words) < LOG_REQUEST_BYTES;
}

static void receive(struct report_service *service, const struct live_log *live, uint64_t now_ns)
{
    ssize_t n = recv(service->clients[0], service->text, sizeof(service->text) - 1, MSG_DONTWAIT);

    if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
        if (now_ns - service->turn_ns > SILENCE_NS)
            next_client(service, live);
        return;
    }
    service->text[n > 0 ? n : 0] = '\0';
    service->is_posted = n > 0 && parse_post(service);
    if (service->is_posted)
        set_phase(live, LOG_REQUEST_POSTED);
    else
        next_client(service, live);
}

bool report_service_is_asked(struct report_service *service, const struct live_log *live,
                             uint64_t now_ns)
{
    if (service->n_clients == 0 || service->work.child.pid > 0)
        return false;
    if (!service->has_turn)
        give_turn(service, live, now_ns);
    else if (!service->is_posted)
        receive(service, live, now_ns);
    return service->is_posted;
}

/* A client that is gone loses its answer. */
static void answer_client(const struct report_service *service, int status)
{
    char text[16];
    struct iovec part = {text, (size_t)snprintf(text, sizeof(text), "%d", status)};

    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(sizeof(int))];
    } control = {.header = {.cmsg_len = CMSG_LEN(sizeof(int)),
                            .cmsg_level = SOL_SOCKET,
                            .cmsg_type = SCM_RIGHTS}};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};

    if (service->answer_fd >= 0 && lseek(service->answer_fd, 0, SEEK_SET) == 0) {
        memcpy(CMSG_DATA(&control.header), &service->answer_fd, sizeof(int));
        message.msg_control = &control;
        message.msg_controllen = sizeof(control);
    }
    (void)!sendmsg(service->clients[0], &message, MSG_DONTWAIT | MSG_NOSIGNAL);
}

static void finish(struct report_service *service, const struct live_log *live, int status)
{
    answer_client(service, status);
    if (service->answer_fd >= 0)
        close(service->answer_fd);
    service->answer_fd = -1;
    next_client(service, live);
}

/* A heap image; the program need not wait until it is written. */
static void begin_image(struct report_service *service, const struct live_log *live,
                        const char *log_path)
{
    int code;

    if (!image_service_is_idle(&service->images))
        return;
    code = image_service_answer(&service->images, live, service->pid, log_path,
                                service->words + strlen(LOG_HEAP_IMAGE_WORDS));
    service->answer_fd = memfd_create("mtrace answer", MFD_CLOEXEC); /* empty */
    finish(service, live, code);
}

static bool is_for_image(const struct report_service *service)
{
    return strncmp(service->words, LOG_HEAP_IMAGE_WORDS, strlen(LOG_HEAP_IMAGE_WORDS)) == 0;
}

static void begin(struct report_service *service, const struct live_log *live,
                  const struct report_service_programs *programs)
{
    char marker[64];
    const char *const requests[] = {service->words, NULL};
    struct report_service_job job = {.programs = programs,
                                     .until_marker = marker,
                                     .marker_ticks = service->marker_ticks,
                                     .run_id = live->seen.run_id,
                                     .requests = requests};
    int code;

    (void)snprintf(marker, sizeof(marker), LOG_REQUEST_MARKER "%u", service->number);
    service->answer_fd = job.fd = memfd_create("mtrace answer", MFD_CLOEXEC);
    service->has_ended = false;
    code = job.fd < 0 ? errno : report_service_start(&job, service->follower, &service->work);
    if (code)
        finish(service, live, code);
}

static void look_for_end(struct report_service *service, const struct live_log *live)
{
    int status = service->wait_status;

    if (!service->has_ended && !child_process_has_ended(&service->work.child, &status))
        return;
    report_service_end(&service->work);
    finish(service, live, status != -1 && WIFEXITED(status) ? WEXITSTATUS(status) : EIO);
}

bool report_service_is_awaited(const struct report_service *service)
{
    return service->n_clients > 0 && service->work.child.pid <= 0;
}

void report_service_step(struct report_service *service, const struct live_log *live,
                         const char *log_path, const struct report_service_programs *programs)
{
    atomic_fetch_add_explicit(&live_log_mailbox(live)->heartbeat, 1, memory_order_relaxed);
    (void)image_service_is_idle(&service->images);
    if (service->work.child.pid > 0)
        look_for_end(service, live);
    else if (service->is_posted && is_for_image(service))
        begin_image(service, live, log_path);
    else if (service->is_posted)
        begin(service, live, programs);
}

void report_service_note_end(struct report_service *service, pid_t pid, int wait_status)
{
    follower_process_note_end(service->follower, pid);
    if (service->work.child.pid != pid || pid <= 0)
        return;
    service->has_ended = true;
    service->wait_status = wait_status;
}

bool report_service_try_done(struct report_service *service)
{
    if (!service->has_ended && !child_process_end(&service->work.child))
        return false;
    image_service_done(&service->images);
    report_service_end(&service->work);
    if (service->answer_fd >= 0)
        close(service->answer_fd);
    service->answer_fd = -1;
    while (service->n_clients > 0)
        close(service->clients[--service->n_clients]);
    return true;
}

void report_service_done(struct report_service *service)
{
    const struct timespec pause = {.tv_nsec = END_PAUSE_NS};

    while (!report_service_try_done(service))
        nanosleep(&pause, NULL);
}
