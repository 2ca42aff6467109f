/* SPDX-License-Identifier: MIT */
/*
 * A C program opens a C++ plugin and cancels a thread inside it. The destructors run only when the
 * plugin's _Unwind_* bind to libgcc_s, as they do without a collector.
 */
#include "tests/workloads/workload.h"

#include <dlfcn.h>
#include <pthread.h>

int main(int argc, char **argv)
{
    if (argc != 2)
        return 2;
    void *plugin = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
    if (plugin == NULL)
        return 3;
    void *(*work)(void *) = (void *(*)(void *))dlsym(plugin, "plugin_thread");
    int (*throw_inside)(int) = (int (*)(int))dlsym(plugin, "plugin_throw");
    void (*plugin_expect)(void) = (void (*)(void))dlsym(plugin, "plugin_expect");
    unsigned long long n_cancelled = 0;
    int n_destroyed = 0;
    for (int i = 0; i < 20; i++) {
        pthread_t thread;
        void *result = NULL;
        pthread_create(&thread, NULL, work, &n_destroyed);
        usleep(2000);
        pthread_cancel(thread);
        pthread_join(thread, &result);
        n_cancelled += result == PTHREAD_CANCELED;
    }
    expect("cancelled", n_cancelled);
    expect("destructors", (unsigned long long)n_destroyed);
    expect("caught", (unsigned long long)throw_inside(42));
    plugin_expect();
    return n_destroyed == 200 ? 0 : 1;
}
