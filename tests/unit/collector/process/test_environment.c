/* SPDX-License-Identifier: MIT */
/* The environment as the program sees it. */
#include "collector/process/environment.h"
#include "collector/thread/state.h"
#include "tests/lib/unit.h"
#include "tests/unit/collector/log_fixture.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum {
    N_ROUNDS = 30000
};

/* As setenv in a constructor leaves it. */
TEST(an_array_that_is_not_the_kernels_is_restored_in_place)
{
    char preload[] = "LD_PRELOAD=/x/libmtrace.so:liba.so";
    char recorder[] = "MTRACE_RECORDER=MTRACE_OUTPUT=x";
    char *initial[] = {preload, recorder, (char[]){"A=1"}, NULL};
    char *other[] = {recorder, preload, (char[]){"A=1"}, (char[]){"C=3"}, NULL};
    char **old = environ;

    environ = other;
    environment_restore(initial);
    assert_ptr_equal(environ, other);
    assert_string_equal(other[0], "LD_PRELOAD=liba.so");
    assert_string_equal(other[1], "A=1");
    assert_string_equal(other[2], "C=3");
    assert_null(other[3]);
    assert_string_equal(initial[0], "LD_PRELOAD=liba.so");
    assert_string_equal(initial[1], "A=1");
    environ = old;
}

static void assert_options(const char *recorders, const char *expected)
{
    char text[256];
    char *initial[] = {text, (char[]){"A=1"}, NULL};
    char **old = environ;

    (void)snprintf(text, sizeof(text), "ASAN_OPTIONS=%s", recorders);
    environ = initial;
    environment_restore(initial);
    assert_string_equal(initial[0], expected);
    environ = old;
}

TEST(only_the_recorders_own_option_of_a_sanitizer_goes)
{
    assert_options("verify_asan_link_order=0", "ASAN_OPTIONS=verify_asan_link_order=0");
    g_state_config.adds_asan_option = true;
    assert_options("verify_asan_link_order=0", "A=1");
    assert_options(":verify_asan_link_order=0", "ASAN_OPTIONS=");
    assert_options("exitcode=3:verify_asan_link_order=0", "ASAN_OPTIONS=exitcode=3");
    assert_options("verify_asan_link_order=0:exitcode=3",
                   "ASAN_OPTIONS=verify_asan_link_order=0:exitcode=3");
    g_state_config.adds_asan_option = false;
}

/* ---- the environment of executed programs ---- */

static _Atomic unsigned g_n_come;

/* Both run at the same time. */
static void meet(unsigned round)
{
    atomic_fetch_add(&g_n_come, 1);
    while (atomic_load(&g_n_come) < 2 * round)
        ;
}

static void *switch_always(void *unused)
{
    for (unsigned i = 1; i < 2 * N_ROUNDS; i += 2) {
        meet(i);
        environment_note_tracing(true);
        meet(i + 1);
    }
    return unused;
}

TEST(a_detached_process_stays_detached_when_threads_switch_tracing)
{
    char *none[] = {NULL};
    char **old = environ;
    unsigned n_wrong = 0;
    struct log_fixture log;
    pthread_t thread;
    const char *digit;

    log_fixture_open(&log, 1, 1 << 24);
    environ = none;
    environment_announce();
    digit = strrchr(environ[0], ':') - 1;
    assert_int_equal(pthread_create(&thread, NULL, switch_always, NULL), 0);
    for (unsigned i = 1; i < 2 * N_ROUNDS; i += 2) {
        environment_update();
        meet(i);
        environment_note_left();
        meet(i + 1);
        n_wrong += *digit != CONFIG_ANCESTOR_LEFT;
    }
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(n_wrong, 0);
    environ = old;
    log_fixture_close(&log);
}
