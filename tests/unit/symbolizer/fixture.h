/* SPDX-License-Identifier: MIT */
#ifndef MTRACE_TESTS_UNIT_SYMBOLIZER_FIXTURE_H
#define MTRACE_TESTS_UNIT_SYMBOLIZER_FIXTURE_H

#ifdef __cplusplus
extern "C"
#endif
    int
    fixture_other_unit(int n);

#endif
