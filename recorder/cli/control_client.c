/* SPDX-License-Identifier: MIT */
#include "recorder/cli/control_client.h"

#include "lib/base/utf8.h"
#include "lib/logfile/log_name.h"
#include "lib/process/proc_files.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

enum {
    REPORT_SECONDS = 90, /* a report or an image takes long */
    ANSWER_SECONDS = 10,
    STRANGER_SECONDS = 2,
    CONNECT_SECONDS = 5,
    MOST_CALLS = 5, /* a recorder closes a client that gets no processor for 1 s */
    MOST_RECORDERS = 4096,
};

enum {
    NOT_ITS = 1,
    HUNG_UP = 2,
    NOT_LISTENING = 3,
};

struct search {
    const struct control_request *request;
    unsigned n_asked;
    unsigned n_of_others; /* other users' */
    pid_t silent;         /* a recorder that may have the process but does not answer; 0: none */
    pid_t ended;          /* a recorder that ended before it answered; 0: none */
    char answer[CONTROL_MESSAGE_BYTES];
};

/* The PID in a line of /proc/net/unix; 0: not a recorder's socket. */
static pid_t recorder_in(const char *line)
{
    const char *name = strstr(line, " @" LOG_CONTROL_NAME);
    char *end;
    long pid;

    if (!name)
        return 0;
    name += sizeof(" @" LOG_CONTROL_NAME) - 1;
    pid = strtol(name, &end, 10);
    return *name >= '1' && *name <= '9' && (*end == '\n' || !*end) && pid > 0 && pid <= INT32_MAX
               ? (pid_t)pid
               : 0;
}

/* Remembers contacted recorders: a socket has one line for itself and one per connection. */
static bool is_new(pid_t *seen, size_t *n, pid_t pid)
{
    for (size_t i = 0; i < *n; i++)
        if (seen[i] == pid)
            return false;
    if (*n == MOST_RECORDERS)
        return false;
    seen[(*n)++] = pid;
    return true;
}

/* Any user may listen under a recorder's name. Only recorders of this user are trusted; root also
 * trusts those of the process's owner. */
static bool is_trusted(struct search *search, uid_t uid)
{
    const pid_t pid = search->request->pid;
    struct thread_status target;

    if (uid == geteuid()
        || (geteuid() == 0 && thread_status_read(pid, pid, &target) && uid == target.uid))
        return true;
    search->n_of_others++;
    return false;
}

struct log_sought {
    pid_t recorder;
    uint64_t device, inode;
    bool is_found;
};

static bool compare_log(const struct process_mapping *mapping, void *context)
{
    struct log_sought *sought = context;

    sought->is_found = mapping->device == sought->device && mapping->inode == sought->inode;
    return !sought->is_found;
}

static bool look_for_log(const struct process_mapping *mapping, void *context)
{
    struct log_sought *sought = context;

    if (!log_name_is_live(mapping->path)
        || (mapping->device == sought->device && mapping->inode == sought->inode))
        return true;
    sought->device = mapping->device;
    sought->inode = mapping->inode;
    if (!process_maps_visit(sought->recorder, compare_log, sought))
        sought->is_found = true;
    return !sought->is_found;
}

/* A recorder maps the log of its process; also true if its mappings cannot be read. */
static bool may_record(pid_t recorder, pid_t pid)
{
    struct log_sought sought = {.recorder = recorder};

    return !process_maps_visit(pid, look_for_log, &sought) || sought.is_found;
}

/* When detaching a process whose own recorder has exited, do not wait for recorders of other
 * processes. They are asked all the same: an exec successor may have no log yet. */
static bool is_stranger(const struct search *search, pid_t recorder)
{
    const struct control_request *request = search->request;

    return request->verb == CONTROL_DETACH && request->pid != recorder
           && !may_record(recorder, request->pid);
}

static void note_silent(struct search *search, pid_t recorder)
{
    if (!is_stranger(search, recorder))
        search->silent = recorder;
}

static int answer_seconds(const struct search *search, pid_t recorder)
{
    const enum control_verb verb = search->request->verb;

    if (is_stranger(search, recorder))
        return STRANGER_SECONDS;
    return verb == CONTROL_REPORT || verb == CONTROL_HEAP_IMAGE || verb == CONTROL_DETACH
               ? REPORT_SECONDS
               : ANSWER_SECONDS;
}

/* The recorder exists but cannot be inspected: /proc hides other users' processes (hidepid). */
static bool is_hidden(pid_t recorder)
{
    return kill(recorder, 0) != 0 && errno == EPERM;
}

/* Checked before connecting: a recorder that never polls its socket would block us. */
static bool may_answer(struct search *search, pid_t recorder)
{
    struct thread_status status;

    if (!thread_status_read(recorder, recorder, &status)) {
        search->n_of_others += is_hidden(recorder);
        return false;
    }
    if (!is_trusted(search, status.uid))
        return false;
    if (status.state == 'T')
        note_silent(search, recorder);
    return status.state != 'T';
}

/* -1: not there, not what its name says (CM-1), or too many clients wait. */
static int connect_to(struct search *search, pid_t recorder)
{
    const struct timeval time_limit = {.tv_sec = answer_seconds(search, recorder)};
    const struct timeval connect_time_limit = {.tv_sec = CONNECT_SECONDS};
    struct sockaddr_un address;
    socklen_t n = control_message_address(recorder, &address);
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    struct ucred peer;
    bool is_connected;

    if (fd < 0)
        return -1;
    (void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &time_limit, sizeof(time_limit));
    (void)setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &connect_time_limit, sizeof(connect_time_limit));
    is_connected = connect(fd, (const struct sockaddr *)(const void *)&address, n) == 0;
    if (!is_connected && errno == EAGAIN)
        note_silent(search, recorder);
    if (is_connected && control_message_peer(fd, &peer) && peer.pid == recorder
        && is_trusted(search, peer.uid))
        return fd;
    (void)close(fd);
    return -1;
}

/* Interprets the answer. */
static int judge(const struct search *search, struct error *err)
{
    if (search->answer[0] == '0' + CONTROL_NOT_MINE
        || strcmp(search->answer + 1, CONTROL_NOT_UNDERSTOOD) == 0)
        return NOT_ITS;
    if (search->answer[0] != '0' + CONTROL_DONE && search->answer[0] != '0' + CONTROL_LATER)
        return error_set(err, ERROR_IO, "%s", search->answer + 1);
    return 0;
}

/* NOT_ITS; HUNG_UP: it did not read the request, or has exited; NOT_LISTENING: it accepts no
 * connections. */
static int ask_once(struct search *search, pid_t recorder, struct error *err)
{
    const struct control_request *request = search->request;
    char text[CONTROL_MESSAGE_BYTES];
    int fd = connect_to(search, recorder);
    ssize_t n_read;
    int n;

    if (fd < 0)
        return NOT_LISTENING;
    search->n_asked++;
    n = snprintf(text, sizeof(text), "%d %s%s%s", (int)request->pid,
                 control_message_verb(request->verb), request->name[0] ? " " : "", request->name);
    n_read = send(fd, text, (size_t)n, MSG_NOSIGNAL) == n
                 ? recv(fd, search->answer, sizeof(search->answer) - 1, 0)
                 : -1;
    int os_errno = errno;
    (void)close(fd);
    if (n_read == 0 || (n_read < 0 && (os_errno == ECONNRESET || os_errno == EPIPE)))
        return HUNG_UP;
    if (n_read < 0 && os_errno == EAGAIN) {
        note_silent(search, recorder); /* another one may record it */
        return NOT_ITS;
    }
    if (n_read < 0)
        return error_set(err, ERROR_IO, "mtrace-record %d does not answer: %s", (int)recorder,
                         strerror(os_errno));
    search->answer[n_read] = '\0';
    utf8_clean(search->answer);
    return judge(search, err);
}

/* NOT_ITS: the recorder has another process. One that has exited is not found in the next round. */
static int ask(struct search *search, pid_t recorder, struct error *err)
{
    int code = HUNG_UP;
    int n_calls = 0;

    while (n_calls < MOST_CALLS && code == HUNG_UP) {
        code = ask_once(search, recorder, err);
        n_calls++;
    }
    if (code == HUNG_UP)
        note_silent(search, recorder);
    if (code == NOT_LISTENING && n_calls > 1)
        search->ended = recorder;
    return code == HUNG_UP || code == NOT_LISTENING ? NOT_ITS : code;
}

static int explain(const struct search *search, struct error *err)
{
    pid_t pid = search->request->pid;
    bool is_there = kill(pid, 0) == 0 || errno != ESRCH;

    if (!is_there)
        return error_set(err, ERROR_NOT_FOUND, "there is no process %d", (int)pid);
    if (search->silent && search->ended != pid) /* else the command named the recorder that ended */
        return error_set(err, ERROR_IO,
                         "mtrace-record %d does not answer; no other recorder has process %d",
                         (int)search->silent, (int)pid);
    if (search->ended)
        return error_set(
            err, ERROR_NOT_FOUND,
            "mtrace-record %d ended before it answered; no other recorder has process %d",
            (int)search->ended, (int)pid);
    if (geteuid() != 0 && search->n_of_others && !search->n_asked)
        return error_set(err, ERROR_NOT_FOUND,
                         "process %d is not recorded by an mtrace-record of yours; recorders of "
                         "other users do not take your commands",
                         (int)pid);
    return error_set(err, ERROR_NOT_FOUND,
                     "process %d is not being recorded: no running mtrace-record of yours has it "
                     "(if it was killed, 'mtrace-record --detach %d' ends its log); 'mtrace-record "
                     "--attach %d' records it from now on",
                     (int)pid, (int)pid, (int)pid);
}

int control_client_run(const struct control_request *request, int *ret_status, struct error *err)
{
    struct search search = {.request = request};
    static pid_t seen[MOST_RECORDERS];
    size_t n_seen = 0;
    FILE *list = fopen("/proc/net/unix", "re");
    char line[512];
    int code = NOT_ITS;

    if (!list)
        return error_set_errno(err, errno, "cannot read '/proc/net/unix'");
    while (code == NOT_ITS && fgets(line, sizeof(line), list)) {
        pid_t recorder = recorder_in(line);
        if (recorder && may_answer(&search, recorder) && is_new(seen, &n_seen, recorder))
            code = ask(&search, recorder, err);
    }
    (void)fclose(list);
    if (code == NOT_ITS)
        return explain(&search, err);
    if (code == 0)
        (void)printf("%s\n", search.answer + 1);
    *ret_status = code == 0 && search.answer[0] == '0' + CONTROL_LATER ? CONTROL_CLIENT_LATER : 0;
    return code;
}
