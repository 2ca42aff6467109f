/* SPDX-License-Identifier: MIT */
/*
 * database_file: which program made a file, before it is replaced, and why SQLite does not open it.
 *
 * SQLite's first page names the application that made the file. Only the first bytes are read: a
 * damaged or locked database of mtrace is still recognized.
 */
#ifndef MTRACE_LIB_DATABASE_FILE_H
#define MTRACE_LIB_DATABASE_FILE_H

struct error;

enum {
    DATABASE_FILE_APPLICATION_ID = 1836348003 /* 'mtrc', as schema/10_recording.sql sets it */
};

enum database_file_owner {
    DATABASE_FILE_ABSENT,
    DATABASE_FILE_OURS,
    DATABASE_FILE_FOREIGN, /* of another program, no database, empty, or unreadable */
};

enum database_file_owner database_file_owner(const char *path);

/* For a file that SQLite failed to open: ERROR_IO if its name with all folders is longer than
 * SQLite allows, for which SQLite reports only that it was unable to; else 0. opened: the name used
 * for opening. */
int database_file_check_name(const char *name, const char *opened, struct error *err);

#endif
