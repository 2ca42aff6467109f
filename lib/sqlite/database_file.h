/* SPDX-License-Identifier: MIT */
/*
 * database_file: whose a file is, before somebody replaces it, and why SQLite does not open it.
 *
 * Model: SQLite's first page names the application that made the file. Only the first bytes are
 *        read: a database of ours that is damaged or locked is still ours.
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
    DATABASE_FILE_FOREIGN, /* of another program, no database, empty, or not to be read */
};

enum database_file_owner database_file_owner(const char *path);

/* Of a file that SQLite did not open: ERROR_IO where its name is longer, with all folders, than SQLite takes, of which it only says
 * that it was unable to; else 0. opened: what it is called meanwhile. */
int database_file_check_name(const char *name, const char *opened, struct error *err);

#endif
