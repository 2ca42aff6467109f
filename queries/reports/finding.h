/* SPDX-License-Identifier: MIT */
/*
 * finding: one sentence about a run, and the parts that all findings have.
 *
 *   critical  memory that rises as long as the program works
 *   warning   a large part of the memory or time that a change of the program would save
 *   info      where the memory is
 */
#ifndef MTRACE_QUERIES_FINDING_H
#define MTRACE_QUERIES_FINDING_H

#include "lib/abi/attr.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct error;
struct query;
struct sqlite3_stmt;
struct summary_numbers;

enum finding_severity {
    FINDING_CRITICAL,
    FINDING_WARNING,
    FINDING_INFO
};

enum {
    FINDINGS_SHOWN = 5,
    FINDINGS_CAPACITY = 20,
    FINDING_PLACE_BYTES = 256,
    FINDING_KIB = 1024,
    FINDING_MIB = 1024 * FINDING_KIB
};

enum finding_kind {
    FINDING_OF_MEMORY,
    FINDING_OF_LEAKS,
    FINDING_OF_CHURN /* time that malloc and realloc cost */
};

struct finding {
    enum finding_severity severity;
    enum finding_kind kind;
    double cost;    /* sort key among those of one rank */
    int64_t bytes;  /* concerned; -1: the finding is not about bytes */
    int64_t blocks; /* the same */
    char sentence[1024];
    char command[96]; /* of mtrace-query, one level deeper: "leaks" */
    char options[96]; /* of this command: "--site 12", or "" */
    char page[128];   /* of mtrace-serve, below its recording: "leaks-by-stack?process=1&site=12" */
    char sql[512];    /* a SELECT whose rows are behind the sentence */
};

struct findings {
    struct finding list[FINDINGS_CAPACITY];
    size_t n; /* at most FINDINGS_SHOWN after findings_collect */
};

/* The process that the findings are about. */
struct finding_run {
    const struct query *query;
    const struct summary_numbers *numbers;
    struct findings *findings;
    int64_t process_id;
    int64_t peak_bytes;
    double duration_ns;
};

const char *finding_severity_name(enum finding_severity severity);

/* A value of the view summary; 0 if it is unknown. */
int64_t finding_number(const struct finding_run *run, const char *name);

double finding_share_of_peak(const struct finding_run *run, int64_t bytes);

/* Of so many bytes that the program got during its work and may never free. */
enum finding_severity finding_growth_severity(const struct finding_run *run, int64_t bytes);

/* The program ended by exit: nothing can be done about its heap any more. */
bool finding_has_exited(const struct finding_run *run);

/* Empties the sentence; for a finding that replaces another one. */
void finding_begin(struct finding *finding, enum finding_severity severity, double cost,
                   int64_t bytes, int64_t blocks);

/* A new finding with an empty sentence; bytes and blocks as in struct finding. */
struct finding *finding_add(const struct finding_run *run, enum finding_severity severity,
                            double cost, int64_t bytes, int64_t blocks);

/* Appends to the sentence; a sentence that is too long is cut. */
void finding_append(struct finding *finding, const char *format, ...) MTRACE_PRINTF(2, 3);

/* Sets command, options and page. page: without a process; NULL: the command. site_id 0: none. */
void finding_lead(const struct finding_run *run, struct finding *finding, const char *command,
                  const char *page, int64_t site_id);

/* The view of this name, with "_" for "-", is the answer of the command: sets all four. */
void finding_lead_to_view(const struct finding_run *run, struct finding *finding,
                          const char *command);

/* Sets the SQL: "SELECT * FROM view WHERE process_id = 1" and the formatted text, if any. */
void finding_show_sql(const struct finding_run *run, struct finding *finding, const char *view,
                      const char *format, ...) MTRACE_PRINTF(4, 5);

/* "mtrace-query leaks run.db --site 12", to be freed; NULL: no memory. An untrusted client gets
 * "run.db" for the file's name. */
char *finding_command(const struct query *query, const struct finding *finding);

/* The command, or a narrower one of the same subject: "leaks-by-stack" is about "leaks". */
bool finding_is_about(const struct finding *finding, const char *command);

/* "function (file.c:12)" of four columns of a row: function, source, line, module. */
void finding_format_place(struct sqlite3_stmt *row, int column, char ret_text[FINDING_PLACE_BYTES]);

/* The same of "function /path/file.c:12", the label of a call site. */
void finding_format_label(const char *label, char ret_text[FINDING_PLACE_BYTES]);

/* Prepares a statement whose parameter ?1 is the process. */
int finding_prepare(const struct finding_run *run, const char *sql, struct sqlite3_stmt **ret_stmt,
                    struct error *err);

/* The statement's first row: 1, none: 0, or an error. Finalize the statement after 1. */
int finding_first_row(const struct finding_run *run, const char *sql,
                      struct sqlite3_stmt **ret_stmt, struct error *err);

#endif
