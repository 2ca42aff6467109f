/* SPDX-License-Identifier: MIT */
/* attach_answer: what mtrace_attach, called in a program that runs, answers to mtrace-record. */
#ifndef MTRACE_LIB_ATTACH_ANSWER_H
#define MTRACE_LIB_ATTACH_ANSWER_H

enum attach_answer {
    ATTACH_ANSWER_DONE,
    ATTACH_ANSWER_ATTACHED,      /* it records already */
    ATTACH_ANSWER_NO_LOG,        /* the pool cannot be opened or mapped */
    ATTACH_ANSWER_NO_LOADER,     /* ld.so is none that is known */
    ATTACH_ANSWER_RECORDED,      /* by the collector that it was started with */
    ATTACH_ANSWER_NO_EXECUTABLE, /* done, but the executable has no reference that leads to us now */
};

#endif
