/* SPDX-License-Identifier: MIT */
/*
 * database_file: whose a file is, before somebody replaces it.
 *
 * Model: SQLite's first page names the application that made the file. Only the first bytes are
 *        read: a database of ours that is damaged or locked is still ours.
 */
#ifndef MTRACE_SUPPORT_DATABASE_FILE_H
#define MTRACE_SUPPORT_DATABASE_FILE_H

enum {
    DATABASE_FILE_APPLICATION_ID = 1836348003 /* 'mtrc', as schema/10_recording.sql sets it */
};

enum database_file_owner {
    DATABASE_FILE_ABSENT,
    DATABASE_FILE_OURS,
    DATABASE_FILE_FOREIGN, /* of another program, no database, empty, or not to be read */
};

enum database_file_owner database_file_owner(const char *path);

#endif
