/* SPDX-License-Identifier: MIT */
/*
 * findings: what to look at first in a run, as at most five sentences.
 *
 * The summary, the HTML report and the pages of mtrace-serve begin with the same findings. Order:
 * severity, then cost: the share of the peak for memory, the share of the run for time.
 *
 *   critical  memory that rises as long as the program works
 *   warning   a large part of the memory or time that a change of the program would save
 *   info      where the memory is
 */
#ifndef MTRACE_QUERIES_FINDINGS_H
#define MTRACE_QUERIES_FINDINGS_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct error;
struct query;
struct summary_numbers;

enum finding_severity {
    FINDING_CRITICAL,
    FINDING_WARNING,
    FINDING_INFO
};

enum {
    FINDINGS_SHOWN = 5,
    FINDINGS_CAPACITY = 20
};

struct finding {
    enum finding_severity severity;
    double cost;    /* sort key among those of one severity */
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

const char *finding_severity_name(enum finding_severity severity);

/* "mtrace-query leaks run.db --site 12". An untrusted client gets "run.db" for the file's name. */
void finding_put_command(const struct query *query, const struct finding *finding, FILE *out);

/* numbers: of the same process. */
int findings_collect(const struct query *query, int64_t process_id,
                     const struct summary_numbers *numbers, struct findings *findings,
                     struct error *err);

/* Prints nothing if there are none. */
void findings_print(const struct query *query, const struct findings *findings);

/* An array with an object per finding. */
void findings_put_json(const struct query *query, const struct findings *findings, FILE *out);

#endif
