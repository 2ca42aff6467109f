/* SPDX-License-Identifier: MIT */
/*
 * Opens and closes converters in turn. The C library loads a module for each and unloads old ones
 * without a visible call of dlclose; the next takes their place. These modules allocate when they
 * are initialized: each block must be attributed to its module.
 */
#include "tests/workloads/workload.h"

#include <iconv.h>

enum {
    N_ROUNDS = 60,
    N_CHARSETS = 7, /* another order in each round, so that modules change places */
};

int main(void)
{
    static const char *const charsets[N_CHARSETS] = {"UTF-16",  "ISO-8859-2", "UTF-32", "KOI8-R",
                                                     "UNICODE", "ISO-8859-5", "UTF-16"};
    for (int round = 0; round < N_ROUNDS; round++) {
        for (int i = 0; i < N_CHARSETS; i++) {
            iconv_t converter = iconv_open(charsets[(i * 3 + round) % N_CHARSETS], "UTF-8");
            if (converter == (iconv_t)-1)
                skip("the C library's converters are not installed");
            iconv_close(converter);
        }
        own_free(own_malloc(1), 1);
    }
    expect("in_utf_16", 2ull * N_ROUNDS);
    expect("in_utf_32", N_ROUNDS);
    expect("in_unicode", N_ROUNDS);
    expect_own();
    return 0;
}
