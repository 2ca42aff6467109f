/* SPDX-License-Identifier: MIT */
/* Prints "ready", and then each signal that it receives, with its value, until SIGTERM. */
#include "tests/workloads/workload.h"

#include <signal.h>

int main(void)
{
    sigset_t all;
    siginfo_t info;

    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, NULL);
    setvbuf(stdout, NULL, _IOLBF, BUFSIZ);
    own_free(own_malloc(1), 1);
    puts("ready");
    while (sigwaitinfo(&all, &info) != SIGTERM)
        printf("%d %d\n", info.si_signo, info.si_code == SI_QUEUE ? info.si_value.sival_int : 0);
    return 3;
}
