/* SPDX-License-Identifier: MIT */
/*
 * asking WHAT: questions that are hard to answer. Says what came of them, for tests/e2e/live_reports.py.
 */
#include "api/mtrace.h"
#include "tests/workloads/workload.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>

enum {
    N_THREADS = 6,
};

static void say(const char *what, int code)
{
    printf("%s %s\n", what, code ? strerrorname_np(code) : "0");
    fflush(stdout);
}

static void senseless(void)
{
    static char endless[5000];

    memset(endless, 'x', sizeof(endless) - 1);
    say("command", mtrace_report("nonsense", STDERR_FILENO));
    say("shell", mtrace_report("groups | cat", STDERR_FILENO));
    say("substitution", mtrace_report("groups $(id)", STDERR_FILENO));
    say("nothing", mtrace_report("", STDERR_FILENO));
    say("null", mtrace_report(NULL, STDERR_FILENO));
    say("endless", mtrace_report(endless, STDERR_FILENO));
    say("descriptor", mtrace_report("threads", -1));
    say("sensible", mtrace_report("threads --csv", open("/dev/null", O_WRONLY)));
}

/* What we may not do ourselves, but our recorder may: the folder we are in is root's, and closed to us. */
static void unprivileged(void)
{
    static const char *const questions[] = {
        "summary -o written",       "summary --output=written",
        "summary --outp written",   "summary -wo written",
        "summary --force",          "leaks --suppressions read",
        "leaks suppressions=read",  "diff other.db",
        "--about other.db summary", "summary other.db",
        "summary --output",         "summary -- -o written",
    };
    char what[20];

    if (getuid() == 0 && (setgid(65534) != 0 || setuid(65534) != 0))
        abort();
    for (size_t i = 0; i < sizeof(questions) / sizeof(questions[0]); i++) {
        snprintf(what, sizeof(what), "question%zu", i);
        say(what, mtrace_report(questions[i], STDERR_FILENO));
    }
    mtrace_report("sql \"SELECT '$SECRET' AS words\" --csv", STDERR_FILENO);
    mtrace_report("sql $SECRET", STDERR_FILENO);
    mtrace_report("sql *", STDERR_FILENO);
    say("harmless", mtrace_report("threads --csv", STDERR_FILENO));
}

static void *ask_at_once(void *argument)
{
    char question[100];
    char answer[200] = "";
    int ends[2];

    snprintf(question, sizeof(question),
             "sql 'SELECT %d AS own, count(*) >= 6 AS all_there FROM threads' --csv",
             (int)(intptr_t)argument);
    if (pipe(ends) != 0)
        abort();
    int code = mtrace_report(question, ends[1]);
    close(ends[1]);
    if (read(ends[0], answer, sizeof(answer) - 1) < 0)
        abort();
    snprintf(question, sizeof(question), "own,all_there\n%d,1\n", (int)(intptr_t)argument);
    return (void *)(intptr_t)(code ? code : strcmp(answer, question) ? EPROTO : 0);
}

static pthread_barrier_t g_begin;

static void *begin_together(void *argument)
{
    free(keep(malloc(100)));
    pthread_barrier_wait(&g_begin);
    return ask_at_once(argument);
}

static void together(void)
{
    pthread_t threads[N_THREADS];
    int code = 0;

    pthread_barrier_init(&g_begin, NULL, N_THREADS);
    for (intptr_t i = 0; i < N_THREADS; i++)
        pthread_create(&threads[i], NULL, begin_together, (void *)i);
    for (int i = 0; i < N_THREADS; i++) {
        void *result;
        pthread_join(threads[i], &result);
        code = code ? code : (int)(intptr_t)result;
    }
    say("together", code);
}

static int g_code_of_handler = -1;

static void handle(int number)
{
    (void)number;
    g_code_of_handler = mtrace_report("threads", STDERR_FILENO);
}

static void *disturb(void *argument)
{
    usleep(3000);
    pthread_kill(*(pthread_t *)argument, SIGUSR2);
    return NULL;
}

static void in_handler(void)
{
    pthread_t self = pthread_self();
    pthread_t thread;

    signal(SIGUSR2, handle);
    pthread_create(&thread, NULL, disturb, &self);
    int code = mtrace_report("threads", open("/dev/null", O_WRONLY));
    pthread_join(thread, NULL);
    say("asker", code);
    say("handler", g_code_of_handler);
}

static sigjmp_buf g_back;

static void leave(int number)
{
    (void)number;
    siglongjmp(g_back, 1);
}

static void *ask_elsewhere(void *unused)
{
    (void)unused;
    return (void *)(intptr_t)mtrace_report("threads", open("/dev/null", O_WRONLY));
}

static void end_thread(int number)
{
    (void)number;
    pthread_exit(NULL);
}

static void *ask_and_end(void *unused)
{
    signal(SIGUSR2, end_thread);
    return ask_elsewhere(unused);
}

/* The turn to ask is nobody's for ever: threads leave it by siglongjmp, and end in its midst. */
static void left_behind(void)
{
    pthread_t thread;
    void *result;

    signal(SIGUSR2, leave);
    pthread_t self = pthread_self();
    if (sigsetjmp(g_back, 1) == 0) {
        pthread_create(&thread, NULL, disturb, &self);
        say("first", mtrace_report("threads", open("/dev/null", O_WRONLY)));
    }
    pthread_join(thread, NULL);
    pthread_create(&thread, NULL, ask_elsewhere, NULL);
    pthread_join(thread, &result);
    say("elsewhere", (int)(intptr_t)result);
    say("again", mtrace_report("threads", open("/dev/null", O_WRONLY)));
    pthread_create(&thread, NULL, ask_and_end, NULL);
    usleep(3000);
    pthread_kill(thread, SIGUSR2);
    pthread_join(thread, NULL);
    say("after_its_end", mtrace_report("threads", open("/dev/null", O_WRONLY)));
}

static void in_child(void)
{
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        free(keep(malloc(3777)));
        say("child", mtrace_report("threads", open("/dev/null", O_WRONLY)));
        _exit(0);
    }
    waitpid(child, NULL, 0);
    say("parent", mtrace_report("threads", open("/dev/null", O_WRONLY)));
}

/* Its parent has gone, and its recorder waits for any child. */
static void outlives(void)
{
    pid_t parent = getpid();

    if (fork() != 0)
        return;
    while (getppid() == parent)
        usleep(1000);
    free(keep(malloc(3777)));
    for (int i = 0; i < 3; i++) {
        int code = mtrace_report("threads", open("/dev/null", O_WRONLY));
        dprintf(STDOUT_FILENO, "orphan%d %s\n", i, code ? strerrorname_np(code) : "0");
    }
    _exit(0);
}

static void *kill_recorder(void *unused)
{
    usleep(2000);
    kill(getppid(), SIGKILL);
    return unused;
}

static void left_alone(void)
{
    pthread_t thread;

    pthread_create(&thread, NULL, kill_recorder, NULL);
    int code = mtrace_report("threads", open("/dev/null", O_WRONLY));
    pthread_join(thread, NULL);
    usleep(10000);
    say("again", mtrace_report("threads", open("/dev/null", O_WRONLY)));
    (void)code;
}

/* Holds a block until it is told to end; its figures are for reports that others ask for. */
static void wait_for_end(void)
{
    own_malloc(123);
    say("ready", 0);
    while (getchar() != EOF)
        ;
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(void);
    } parts[] = {
        {"senseless", senseless},       {"together", together}, {"in_handler", in_handler},
        {"unprivileged", unprivileged}, {"in_child", in_child}, {"left_alone", left_alone},
        {"wait", wait_for_end},         {"outlives", outlives}, {"left_behind", left_behind},
    };

    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
        if (argc > 1 && strcmp(argv[1], parts[i].name) == 0) {
            parts[i].run();
            return 0;
        }
    }
    return 2;
}
