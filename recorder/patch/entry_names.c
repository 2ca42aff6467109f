/* SPDX-License-Identifier: MIT */
#include "recorder/patch/entry_names.h"

#include <stddef.h>
#include <string.h>

/* The allocators that have a word. */
enum {
    STANDARD = 1,
    JEMALLOC = 2,
    TCMALLOC = 4,
    MIMALLOC = 8,
    SNMALLOC = 16,
    RPMALLOC = 32,
    OPERATORS = 64, /* of C++, without prefix */
    CAMEL = 128,    /* TCMallocInternalMalloc */
    MIMALLOC_HEAP = 256,
    TELLING = 512, /* with a prefix */
};

static const struct {
    const char *text;
    const char *allocator;
    unsigned words;
} g_prefixes[] = {
    {"_rjem_", "jemalloc", STANDARD | JEMALLOC},
    {"je_", "jemalloc", STANDARD | JEMALLOC},
    {"tc_", "tcmalloc", STANDARD | TCMALLOC},
    {"TCMallocInternal", "tcmalloc", CAMEL},
    {"mi_heap_", "mimalloc", 0}, /* like below, with a heap as first argument */
    {"mi_theap_", "mimalloc", 0},
    {"mi_", "mimalloc", STANDARD | MIMALLOC},
    {"sn_", "snmalloc", STANDARD | SNMALLOC},
    {"scudo_", "Scudo", STANDARD},
    {"rp", "rpmalloc", STANDARD | RPMALLOC},
    {"dl", "dlmalloc", STANDARD},
    {"", "malloc", STANDARD | JEMALLOC | OPERATORS},
};

static const struct word {
    const char *text;
    const char *shape;
    enum log_call call;
    unsigned of;
} g_words[] = {
    {"malloc", "+s", LOG_CALL_MALLOC, STANDARD | TELLING},
    {"calloc", "+ns", LOG_CALL_CALLOC, STANDARD},
    {"realloc", "=ps", LOG_CALL_REALLOC, STANDARD},
    {"reallocarray", "=pns", LOG_CALL_REALLOCARRAY, STANDARD},
    {"free", "-p", LOG_CALL_MALLOC, STANDARD},
    {"cfree", "-p", LOG_CALL_MALLOC, STANDARD},
    {"free_sized", "-p", LOG_CALL_MALLOC, STANDARD},
    {"free_aligned_sized", "-p", LOG_CALL_MALLOC, STANDARD},
    {"posix_memalign", "@ras", LOG_CALL_POSIX_MEMALIGN, STANDARD},
    {"aligned_alloc", "+as", LOG_CALL_ALIGNED_ALLOC, STANDARD},
    {"memalign", "+as", LOG_CALL_MEMALIGN, STANDARD},
    {"valloc", "+s", LOG_CALL_VALLOC, STANDARD},
    {"pvalloc", "+s", LOG_CALL_PVALLOC, STANDARD},
    {"malloc_usable_size", "u", LOG_CALL_MALLOC, STANDARD},

    {"mallocx", "+sf", LOG_CALL_MALLOCX, JEMALLOC},
    {"rallocx", "=psf", LOG_CALL_RALLOCX, JEMALLOC},
    {"xallocx", "xps", LOG_CALL_RALLOCX, JEMALLOC},
    {"dallocx", "-p", LOG_CALL_MALLOC, JEMALLOC},
    {"sdallocx", "-p", LOG_CALL_MALLOC, JEMALLOC},
    {"sallocx", "u", LOG_CALL_MALLOC, JEMALLOC},

    {"malloc_skip_new_handler", "+s", LOG_CALL_MALLOC, TCMALLOC},
    {"malloc_size", "u", LOG_CALL_MALLOC, TCMALLOC},
    {"new", "+s", LOG_CALL_NEW, TCMALLOC | MIMALLOC},
    {"new_nothrow", "+s", LOG_CALL_NEW, TCMALLOC | MIMALLOC},
    {"newarray", "+s", LOG_CALL_NEW, TCMALLOC},
    {"newarray_nothrow", "+s", LOG_CALL_NEW, TCMALLOC},
    {"new_aligned", "+sa", LOG_CALL_NEW, TCMALLOC | MIMALLOC},
    {"new_aligned_nothrow", "+sa", LOG_CALL_NEW, TCMALLOC | MIMALLOC},
    {"newarray_aligned", "+sa", LOG_CALL_NEW, TCMALLOC},
    {"newarray_aligned_nothrow", "+sa", LOG_CALL_NEW, TCMALLOC},
    {"delete", "-p", LOG_CALL_MALLOC, TCMALLOC},
    {"delete_nothrow", "-p", LOG_CALL_MALLOC, TCMALLOC},
    {"delete_sized", "-p", LOG_CALL_MALLOC, TCMALLOC},
    {"delete_aligned", "-p", LOG_CALL_MALLOC, TCMALLOC},
    {"delete_aligned_nothrow", "-p", LOG_CALL_MALLOC, TCMALLOC},
    {"delete_sized_aligned", "-p", LOG_CALL_MALLOC, TCMALLOC},
    {"deletearray", "-p", LOG_CALL_MALLOC, TCMALLOC},
    {"deletearray_nothrow", "-p", LOG_CALL_MALLOC, TCMALLOC},
    {"deletearray_sized", "-p", LOG_CALL_MALLOC, TCMALLOC},
    {"deletearray_aligned", "-p", LOG_CALL_MALLOC, TCMALLOC},
    {"deletearray_aligned_nothrow", "-p", LOG_CALL_MALLOC, TCMALLOC},
    {"deletearray_sized_aligned", "-p", LOG_CALL_MALLOC, TCMALLOC},

    {"malloc_small", "+s", LOG_CALL_MALLOC, MIMALLOC},
    {"zalloc", "+s", LOG_CALL_CALLOC, MIMALLOC | RPMALLOC},
    {"zalloc_small", "+s", LOG_CALL_CALLOC, MIMALLOC},
    {"mallocn", "+ns", LOG_CALL_MALLOC, MIMALLOC},
    {"malloc_aligned", "+sa", LOG_CALL_ALIGNED_ALLOC, MIMALLOC | TELLING},
    {"malloc_aligned_at", "+sa-", LOG_CALL_ALIGNED_ALLOC, MIMALLOC},
    {"zalloc_aligned", "+sa", LOG_CALL_ALIGNED_ALLOC, MIMALLOC},
    {"zalloc_aligned_at", "+sa-", LOG_CALL_ALIGNED_ALLOC, MIMALLOC},
    {"calloc_aligned", "+nsa", LOG_CALL_ALIGNED_ALLOC, MIMALLOC},
    {"calloc_aligned_at", "+nsa-", LOG_CALL_ALIGNED_ALLOC, MIMALLOC},
    {"realloc_aligned", "=psa", LOG_CALL_REALLOC, MIMALLOC},
    {"realloc_aligned_at", "=psa-", LOG_CALL_REALLOC, MIMALLOC},
    {"rezalloc", "=ps", LOG_CALL_REALLOC, MIMALLOC},
    {"rezalloc_aligned", "=psa", LOG_CALL_REALLOC, MIMALLOC},
    {"rezalloc_aligned_at", "=psa-", LOG_CALL_REALLOC, MIMALLOC},
    {"reallocn", "=pns", LOG_CALL_REALLOCARRAY, MIMALLOC},
    {"recalloc", "=pns", LOG_CALL_REALLOCARRAY, MIMALLOC},
    {"recalloc_aligned", "=pnsa", LOG_CALL_REALLOCARRAY, MIMALLOC},
    {"recalloc_aligned_at", "=pnsa-", LOG_CALL_REALLOCARRAY, MIMALLOC},
    {"new_n", "+ns", LOG_CALL_NEW, MIMALLOC},
    {"new_realloc", "=ps", LOG_CALL_REALLOC, MIMALLOC},
    {"new_reallocn", "=pns", LOG_CALL_REALLOCARRAY, MIMALLOC},
    {"alloc_new", "+s", LOG_CALL_NEW, MIMALLOC_HEAP},
    {"alloc_new_n", "+ns", LOG_CALL_NEW, MIMALLOC_HEAP},
    {"reallocf", "?", LOG_CALL_REALLOC, MIMALLOC}, /* frees the old block on failure */
    {"strdup", "+", LOG_CALL_MALLOC, MIMALLOC},
    {"strndup", "+", LOG_CALL_MALLOC, MIMALLOC},
    {"realpath", "+", LOG_CALL_MALLOC, MIMALLOC},
    {"free_size", "-p", LOG_CALL_MALLOC, MIMALLOC},
    {"free_aligned", "-p", LOG_CALL_MALLOC, MIMALLOC},
    {"free_size_aligned", "-p", LOG_CALL_MALLOC, MIMALLOC},
    {"usable_size", "u", LOG_CALL_MALLOC, MIMALLOC},

    {"rust_alloc", "+as", LOG_CALL_MALLOC, SNMALLOC | TELLING},
    {"rust_alloc_zeroed", "+as", LOG_CALL_CALLOC, SNMALLOC},
    {"rust_dealloc", "-p", LOG_CALL_MALLOC, SNMALLOC},
    {"rust_realloc", "=pa-s", LOG_CALL_REALLOC, SNMALLOC},
    {"rust_usable_size", "u", LOG_CALL_MALLOC, SNMALLOC},

    {"aligned_calloc", "+ans", LOG_CALL_CALLOC, RPMALLOC},
    {"aligned_realloc", "=pas", LOG_CALL_REALLOC, RPMALLOC},
    {"malloc_heap_free", "?", LOG_CALL_MALLOC, RPMALLOC}, /* for heaps of the program */
    {"malloc_heap_realloc", "?", LOG_CALL_REALLOC, RPMALLOC},

    {"Malloc", "+s", LOG_CALL_MALLOC, CAMEL | TELLING},
    {"Calloc", "+ns", LOG_CALL_CALLOC, CAMEL},
    {"Realloc", "=ps", LOG_CALL_REALLOC, CAMEL},
    {"ReallocArray", "=pns", LOG_CALL_REALLOCARRAY, CAMEL},
    {"Memalign", "+as", LOG_CALL_MEMALIGN, CAMEL},
    {"AlignedAlloc", "+as", LOG_CALL_ALIGNED_ALLOC, CAMEL},
    {"PosixMemalign", "@ras", LOG_CALL_POSIX_MEMALIGN, CAMEL},
    {"Valloc", "+s", LOG_CALL_VALLOC, CAMEL},
    {"Pvalloc", "+s", LOG_CALL_PVALLOC, CAMEL},
    {"New", "+s", LOG_CALL_NEW, CAMEL},
    {"NewArray", "+s", LOG_CALL_NEW, CAMEL},
    {"NewNothrow", "+s", LOG_CALL_NEW, CAMEL},
    {"NewArrayNothrow", "+s", LOG_CALL_NEW, CAMEL},
    {"NewAligned", "+sa", LOG_CALL_NEW, CAMEL},
    {"NewAlignedNothrow", "+sa", LOG_CALL_NEW, CAMEL},
    {"NewArrayAligned", "+sa", LOG_CALL_NEW, CAMEL},
    {"NewArrayAlignedNothrow", "+sa", LOG_CALL_NEW, CAMEL},
    {"Free", "-p", LOG_CALL_MALLOC, CAMEL},
    {"Cfree", "-p", LOG_CALL_MALLOC, CAMEL},
    {"FreeSized", "-p", LOG_CALL_MALLOC, CAMEL},
    {"FreeAlignedSized", "-p", LOG_CALL_MALLOC, CAMEL},
    {"Sdallocx", "-p", LOG_CALL_MALLOC, CAMEL},
    {"Delete", "-p", LOG_CALL_MALLOC, CAMEL},
    {"DeleteSized", "-p", LOG_CALL_MALLOC, CAMEL},
    {"DeleteAligned", "-p", LOG_CALL_MALLOC, CAMEL},
    {"DeleteSizedAligned", "-p", LOG_CALL_MALLOC, CAMEL},
    {"DeleteNothrow", "-p", LOG_CALL_MALLOC, CAMEL},
    {"DeleteAlignedNothrow", "-p", LOG_CALL_MALLOC, CAMEL},
    {"DeleteArray", "-p", LOG_CALL_MALLOC, CAMEL},
    {"DeleteArraySized", "-p", LOG_CALL_MALLOC, CAMEL},
    {"DeleteArrayAligned", "-p", LOG_CALL_MALLOC, CAMEL},
    {"DeleteArraySizedAligned", "-p", LOG_CALL_MALLOC, CAMEL},
    {"DeleteArrayNothrow", "-p", LOG_CALL_MALLOC, CAMEL},
    {"DeleteArrayAlignedNothrow", "-p", LOG_CALL_MALLOC, CAMEL},
    {"MallocSize", "u", LOG_CALL_MALLOC, CAMEL},

    {"_Znwm", "+s", LOG_CALL_NEW, OPERATORS},
    {"_Znam", "+s", LOG_CALL_NEW, OPERATORS},
    {"_ZnwmRKSt9nothrow_t", "+s", LOG_CALL_NEW, OPERATORS},
    {"_ZnamRKSt9nothrow_t", "+s", LOG_CALL_NEW, OPERATORS},
    {"_ZnwmSt11align_val_t", "+sa", LOG_CALL_NEW, OPERATORS},
    {"_ZnamSt11align_val_t", "+sa", LOG_CALL_NEW, OPERATORS},
    {"_ZnwmSt11align_val_tRKSt9nothrow_t", "+sa", LOG_CALL_NEW, OPERATORS},
    {"_ZnamSt11align_val_tRKSt9nothrow_t", "+sa", LOG_CALL_NEW, OPERATORS},
    {"_ZdlPv", "-p", LOG_CALL_MALLOC, OPERATORS},
    {"_ZdaPv", "-p", LOG_CALL_MALLOC, OPERATORS},
    {"_ZdlPvm", "-p", LOG_CALL_MALLOC, OPERATORS},
    {"_ZdaPvm", "-p", LOG_CALL_MALLOC, OPERATORS},
    {"_ZdlPvRKSt9nothrow_t", "-p", LOG_CALL_MALLOC, OPERATORS},
    {"_ZdaPvRKSt9nothrow_t", "-p", LOG_CALL_MALLOC, OPERATORS},
    {"_ZdlPvSt11align_val_t", "-p", LOG_CALL_MALLOC, OPERATORS},
    {"_ZdaPvSt11align_val_t", "-p", LOG_CALL_MALLOC, OPERATORS},
    {"_ZdlPvmSt11align_val_t", "-p", LOG_CALL_MALLOC, OPERATORS},
    {"_ZdaPvmSt11align_val_t", "-p", LOG_CALL_MALLOC, OPERATORS},
    {"_ZdlPvSt11align_val_tRKSt9nothrow_t", "-p", LOG_CALL_MALLOC, OPERATORS},
    {"_ZdaPvSt11align_val_tRKSt9nothrow_t", "-p", LOG_CALL_MALLOC, OPERATORS},
};

static bool find_word(const char *text, unsigned of, struct entry_name *ret_name)
{
    for (size_t i = 0; i < sizeof(g_words) / sizeof(*g_words); i++)
        if ((g_words[i].of & of) && strcmp(text, g_words[i].text) == 0) {
            ret_name->shape = g_words[i].shape;
            ret_name->call = g_words[i].call;
            ret_name->is_telling = *ret_name->prefix && (g_words[i].of & TELLING);
            return true;
        }
    return false;
}

/* mi_heap_malloc(heap, size): the known arguments follow one that is ignored. */
static bool find_with_heap(const char *text, struct entry_name *ret_name)
{
    static const struct {
        const char *plain;
        const char *with_heap;
    } shapes[] = {{"+", "+"},
                  {"+s", "+-s"},
                  {"+ns", "+-ns"},
                  {"+sa", "+-sa"},
                  {"+sa-", "+-sa-"},
                  {"+nsa", "+-nsa"},
                  {"+nsa-", "+-nsa-"},
                  {"=ps", "=-ps"},
                  {"=psa", "=-psa"},
                  {"=psa-", "=-psa-"},
                  {"=pns", "=-pns"},
                  {"=pnsa", "=-pnsa"},
                  {"=pnsa-", "=-pnsa-"},
                  {"?", "?"}};

    /* mi_heap_new makes a heap; the operator is mi_heap_alloc_new. */
    if (!find_word(text, MIMALLOC_HEAP, ret_name)
        && (!find_word(text, STANDARD | MIMALLOC, ret_name) || ret_name->call == LOG_CALL_NEW))
        return false;
    for (size_t i = 0; i < sizeof(shapes) / sizeof(*shapes); i++)
        if (strcmp(ret_name->shape, shapes[i].plain) == 0) {
            ret_name->shape = shapes[i].with_heap;
            return true;
        }
    return false;
}

/* Most names of a large program are mangled C++ names, of which only operators matter. */
static bool is_mangled(const char *name)
{
    return strncmp(name, "_Z", 2) == 0 && strncmp(name, "_Zn", 3) != 0
           && strncmp(name, "_Zd", 3) != 0;
}

int entry_names_jemalloc_prefix(const char *name)
{
    static const char word[] = "mallocx";
    size_t n = strlen(name);
    size_t n_prefix = n - strlen(word);

    if (n < strlen(word) || strcmp(name + n_prefix, word) != 0
        || (n_prefix > 0 && name[n_prefix - 1] != '_'))
        return -1;
    return (int)n_prefix;
}

bool entry_names_find(const char *name, const char *own_prefix, struct entry_name *ret_name)
{
    size_t n_own = own_prefix ? strlen(own_prefix) : 0;

    if (is_mangled(name))
        return false;
    if (n_own > 0 && strncmp(name, own_prefix, n_own) == 0) {
        *ret_name = (struct entry_name){.allocator = "jemalloc", .prefix = own_prefix};
        return find_word(name + n_own, STANDARD | JEMALLOC, ret_name);
    }
    for (size_t i = 0; i < sizeof(g_prefixes) / sizeof(*g_prefixes); i++) {
        size_t n = strlen(g_prefixes[i].text);
        if (strncmp(name, g_prefixes[i].text, n) != 0)
            continue;
        *ret_name =
            (struct entry_name){.allocator = g_prefixes[i].allocator, .prefix = g_prefixes[i].text};
        if (g_prefixes[i].words == 0) {
            ret_name->prefix = "mi_";
            if (find_with_heap(name + n, ret_name))
                return true;
        } else if (find_word(name + n, g_prefixes[i].words, ret_name)) {
            return true;
        }
    }
    return false;
}
