/* SPDX-License-Identifier: MIT */
/*
 * operator_names: the list of the operators new and delete that an allocator's library may define.
 *
 * DO(kind, slot, name) for each. kind: 0 for a single object, 1 for an array; slot: an enum
 * operator_slot; name: the mangled name (Itanium C++ ABI 5.1.5).
 */
#ifndef MTRACE_COLLECTOR_OPERATOR_NAMES_H
#define MTRACE_COLLECTOR_OPERATOR_NAMES_H

enum operator_slot {
    CREATE,
    CREATE_QUIETLY,
    CREATE_ALIGNED,
    CREATE_ALIGNED_QUIETLY,
    DESTROY,
    DESTROY_SIZED,
    DESTROY_QUIETLY,
    DESTROY_ALIGNED,
    DESTROY_SIZED_ALIGNED,
    DESTROY_ALIGNED_QUIETLY,
    N_OPERATOR_SLOTS,
};

#define OPERATOR_NAMES(DO)                                              \
    DO(0, CREATE, _Znwm)                                                \
    DO(0, CREATE_QUIETLY, _ZnwmRKSt9nothrow_t)                          \
    DO(0, CREATE_ALIGNED, _ZnwmSt11align_val_t)                         \
    DO(0, CREATE_ALIGNED_QUIETLY, _ZnwmSt11align_val_tRKSt9nothrow_t)   \
    DO(0, DESTROY, _ZdlPv)                                              \
    DO(0, DESTROY_SIZED, _ZdlPvm)                                       \
    DO(0, DESTROY_QUIETLY, _ZdlPvRKSt9nothrow_t)                        \
    DO(0, DESTROY_ALIGNED, _ZdlPvSt11align_val_t)                       \
    DO(0, DESTROY_SIZED_ALIGNED, _ZdlPvmSt11align_val_t)                \
    DO(0, DESTROY_ALIGNED_QUIETLY, _ZdlPvSt11align_val_tRKSt9nothrow_t) \
    DO(1, CREATE, _Znam)                                                \
    DO(1, CREATE_QUIETLY, _ZnamRKSt9nothrow_t)                          \
    DO(1, CREATE_ALIGNED, _ZnamSt11align_val_t)                         \
    DO(1, CREATE_ALIGNED_QUIETLY, _ZnamSt11align_val_tRKSt9nothrow_t)   \
    DO(1, DESTROY, _ZdaPv)                                              \
    DO(1, DESTROY_SIZED, _ZdaPvm)                                       \
    DO(1, DESTROY_QUIETLY, _ZdaPvRKSt9nothrow_t)                        \
    DO(1, DESTROY_ALIGNED, _ZdaPvSt11align_val_t)                       \
    DO(1, DESTROY_SIZED_ALIGNED, _ZdaPvmSt11align_val_t)                \
    DO(1, DESTROY_ALIGNED_QUIETLY, _ZdaPvSt11align_val_tRKSt9nothrow_t)

#endif
