/* SPDX-License-Identifier: MIT */
/*
 * handler_stack PLUGIN FUNCTION: the unwind tables of a plugin are unreadable when a function of it
 * allocates for the first time. Reading them causes a signal, whose handler has no alternate stack.
 * The handler must run on the thread's own stack, with all of its space, as handlers that scan
 * stacks expect. It makes the tables readable. Prints `handlers N elsewhere M`, not compared with
 * an untracked run but by tests/preload/side_effects.py.
 */
#include "tests/workloads/workload.h"

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <sys/mman.h>

enum {
    LOCAL_BYTES = 96 * 1024
};

struct range {
    uintptr_t start;
    size_t size_bytes;
};

static struct range stack, tables;
static unsigned n_handlers, n_elsewhere;

static void on_signal(int number)
{
    volatile unsigned char local[LOCAL_BYTES];

    (void)number;
    n_handlers++;
    if ((uintptr_t)__builtin_frame_address(0) - stack.start >= stack.size_bytes)
        n_elsewhere++;
    else
        for (size_t i = 0; i < sizeof(local); i += 512)
            local[i] = 0x5a;
    mprotect((void *)tables.start, tables.size_bytes, PROT_READ);
}

/* The segment of the plugin that has its unwind tables: only the unwinder reads it. */
static int find_tables(struct dl_phdr_info *object, size_t size_bytes, void *address)
{
    uintptr_t at = 0;

    (void)size_bytes;
    if (object->dlpi_addr != *(uintptr_t *)address)
        return 0;
    for (int i = 0; i < object->dlpi_phnum; i++)
        if (object->dlpi_phdr[i].p_type == PT_GNU_EH_FRAME)
            at = object->dlpi_phdr[i].p_vaddr;
    for (int i = 0; i < object->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &object->dlpi_phdr[i];
        if (part->p_type == PT_LOAD && part->p_flags == PF_R
            && at - part->p_vaddr < part->p_filesz) {
            tables.start = (object->dlpi_addr + part->p_vaddr) & ~(uintptr_t)4095;
            tables.size_bytes = object->dlpi_addr + part->p_vaddr + part->p_filesz - tables.start;
        }
    }
    return 1;
}

static void find_stack(void)
{
    pthread_attr_t attributes;
    void *start;

    pthread_getattr_np(pthread_self(), &attributes);
    pthread_attr_getstack(&attributes, &start, &stack.size_bytes);
    pthread_attr_destroy(&attributes);
    stack.start = (uintptr_t)start;
}

static void *work(void *function)
{
    find_stack();
    if (mprotect((void *)tables.start, tables.size_bytes, PROT_NONE) != 0)
        _exit(1);
    ((void *(*)(unsigned))function)(0);
    return NULL;
}

int main(int argc, char **argv)
{
    struct sigaction action = {.sa_handler = on_signal};
    void *plugin = argc == 3 ? dlopen(argv[1], RTLD_NOW) : NULL;
    void *function = plugin ? dlsym(plugin, argv[2]) : NULL;
    struct link_map *map;
    pthread_t worker;

    if (!function || dlinfo(plugin, RTLD_DI_LINKMAP, &map) != 0)
        return 1;
    dl_iterate_phdr(find_tables, &map->l_addr);
    if (tables.size_bytes == 0)
        skip("the plugin's tables are not in a segment of their own");
    sigaction(SIGSEGV, &action, NULL);
    pthread_create(&worker, NULL, work, function);
    pthread_join(worker, NULL);
    printf("handlers %u elsewhere %u\n", n_handlers, n_elsewhere);
    return 0;
}
