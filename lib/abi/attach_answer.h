/* SPDX-License-Identifier: MIT */
/* attach_answer: results of mtrace_attach, which mtrace-record calls in a running program. */
#ifndef MTRACE_LIB_ATTACH_ANSWER_H
#define MTRACE_LIB_ATTACH_ANSWER_H

enum attach_answer {
    ATTACH_ANSWER_DONE,
    ATTACH_ANSWER_ATTACHED,      /* it is already attached */
    ATTACH_ANSWER_NO_LOG,        /* the live log cannot be opened or mapped */
    ATTACH_ANSWER_NO_LOADER,     /* unknown ld.so */
    ATTACH_ANSWER_RECORDED,      /* the program was started with the collector */
    ATTACH_ANSWER_NO_EXECUTABLE, /* done, but no allocation by the executable itself is seen */
};

#endif
