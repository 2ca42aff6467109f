/* SPDX-License-Identifier: MIT */
/*
 * summary_numbers: the values of the view `summary` of one process, by name. The summary, its
 * findings and the HTML report read the view once and share the values.
 */
#ifndef MTRACE_QUERIES_SUMMARY_NUMBERS_H
#define MTRACE_QUERIES_SUMMARY_NUMBERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct error;
struct query;

enum {
    SUMMARY_MAX_NUMBERS = 96
};

struct summary_number {
    char name[48];
    char text[160]; /* cut; of a value that is text */
    char unit[8];
    int64_t value;
    double share;
    bool is_known;
};

struct summary_numbers {
    struct summary_number list[SUMMARY_MAX_NUMBERS];
    size_t n;
};

int summary_numbers_read(const struct query *query, int64_t process_id,
                         struct summary_numbers *numbers, struct error *err);

/* NULL: the view has no value of this name. */
const struct summary_number *summary_numbers_find(const struct summary_numbers *numbers,
                                                  const char *name);

/* 0 if the value is unknown. */
int64_t summary_number(const struct summary_numbers *numbers, const char *name);
double summary_share(const struct summary_numbers *numbers, const char *name);

/* "" if the value is unknown. */
const char *summary_text(const struct summary_numbers *numbers, const char *name);

/* The allocator if it is known and not glibc's; else NULL. */
const char *summary_other_allocator(const struct summary_numbers *numbers);

bool summary_is_known(const struct summary_numbers *numbers, const char *name);

/* The margin of a number, which is the value NAME_margin; negative: the number is exact. */
double summary_margin(const struct summary_numbers *numbers, const char *name);

#endif
