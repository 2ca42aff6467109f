/* SPDX-License-Identifier: MIT */
/*
 * executed: which of our libraries a program that is about to be executed can load.
 *
 * Model:   a system of 64 bits runs programs of 32, too, and ld.so refuses a library of the other width, aloud. The loader
 *          of another libc ends a program that is given ours. So the file is looked at, or the interpreter that a script
 *          names. The library for the other width lies where mtrace-record looks for it
 *          (recorder/session/collector_library.h).
 * Threads: any, a vfork child, too. Signals: safe. Failure: what cannot be read counts as one of our own width.
 */
#ifndef MTRACE_COLLECTOR_EXEC_TARGET_H
#define MTRACE_COLLECTOR_EXEC_TARGET_H

#include <stdbool.h>

/* The path of the library for the program at a path, or for the one that PATH has for a name (is_searched); NULL:
 * there is none for it. */
const char *exec_target_library(const char *path, bool is_searched);

/* The same for a path below the folder of a descriptor, as execveat has it; "": for what the descriptor is open for. */
const char *exec_target_library_at(int directory, const char *path);

#endif
