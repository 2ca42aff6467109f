/* SPDX-License-Identifier: MIT */
/* Names of functions and of a variable in libc. Without headers, which would declare them
 * differently. */
#include <unistd.h>

struct own_environ {
    char text[16];
};

extern struct own_environ own_environ __asm__("environ");
struct own_environ own_environ = {"not a pointer"};

__attribute__((noreturn)) static void called(const char *name, unsigned long length)
{
    if (write(STDERR_FILENO, name, length) < 0)
        _exit(98);
    _exit(99);
}

#define OWN(name)                                                         \
    void own_##name(void) __asm__(#name);                                 \
    void own_##name(void)                                                 \
    {                                                                     \
        called(#name " was called\n", sizeof(#name " was called\n") - 1); \
    }

OWN(dl_iterate_phdr)
OWN(dlclose)
OWN(dlopen)
OWN(dlsym)
OWN(getauxval)
OWN(gnu_get_libc_version)
OWN(on_exit)
OWN(pthread_attr_destroy)
OWN(pthread_attr_getstacksize)
OWN(pthread_attr_init)
OWN(pthread_getspecific)
OWN(pthread_key_create)
OWN(pthread_mutex_lock)
OWN(pthread_mutex_trylock)
OWN(pthread_mutex_unlock)
OWN(pthread_self)
OWN(pthread_setcancelstate)
OWN(pthread_setspecific)
OWN(sigaction)
