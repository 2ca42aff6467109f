/* SPDX-License-Identifier: MIT */
#include "recorder/patch/trampoline.h"

#include <dlfcn.h>
#include <string.h>
#if defined(MTRACE_HAS_ZYDIS)
#    include <Zydis/Zydis.h>
#endif

enum {
    MAX_FUNCTION_BYTES = 1 << 20,
    DISPLACEMENT_BYTES = 4,
    SCAN_BYTES = 64,
};

static bool is_hit(const struct trampoline *moved, uint64_t target)
{
    return target - moved->address - 1 < (uint64_t)moved->n_expected - 1;
}

#if defined(MTRACE_HAS_ZYDIS)

static const uint8_t g_endbr64[] = {0xf3, 0x0f, 0x1e, 0xfa};

/* The functions of Zydis in use. */
struct zydis {
    ZyanStatus (*init)(ZydisDecoder *, ZydisMachineMode, ZydisStackWidth);
    ZyanStatus (*decode)(const ZydisDecoder *, ZydisDecoderContext *, const void *, ZyanUSize,
                         ZydisDecodedInstruction *);
};

#    if defined(MTRACE_ZYDIS_SONAME)
/* Loaded at first use: few programs have an allocator inside, and its 2,500 relocations would take
 * a fifth of the recorder's time for a short program. */
static const struct zydis *load(void)
{
    static struct zydis zydis;
    static bool is_tried;
    void *library = is_tried ? NULL : dlopen(MTRACE_ZYDIS_SONAME, RTLD_LAZY | RTLD_LOCAL);

    is_tried = true;
    if (library) {
        *(void **)&zydis.init = dlsym(library, "ZydisDecoderInit");
        *(void **)&zydis.decode = dlsym(library, "ZydisDecoderDecodeInstruction");
    }
    return zydis.init && zydis.decode ? &zydis : NULL;
}
#    else
#        define MTRACE_ZYDIS_SONAME "Zydis"

static const struct zydis *load(void)
{
    static const struct zydis zydis = {ZydisDecoderInit, ZydisDecoderDecodeInstruction};

    return &zydis;
}
#    endif

struct code {
    const struct zydis *zydis;
    ZydisDecoder decoder;
    const uint8_t *bytes;
    size_t n;
    uint64_t address;
};

static bool decode(const struct code *code, size_t at, ZydisDecodedInstruction *ret)
{
    return at < code->n
           && ZYAN_SUCCESS(
               code->zydis->decode(&code->decoder, ZYAN_NULL, code->bytes + at, code->n - at, ret))
           && ret->length > 0 && ret->length <= code->n - at;
}

static bool is_relative(const ZydisDecodedInstruction *instruction)
{
    return instruction->raw.imm[0].size > 0 && instruction->raw.imm[0].is_relative;
}

/* The target of a relative branch at `at`. */
static uint64_t target_of(const struct code *code, size_t at,
                          const ZydisDecodedInstruction *instruction)
{
    return code->address + at + instruction->length + (uint64_t)instruction->raw.imm[0].value.s;
}

static bool is_rip_relative(const ZydisDecodedInstruction *instruction)
{
    return (instruction->attributes & ZYDIS_ATTRIB_HAS_MODRM) && instruction->raw.modrm.mod == 0
           && instruction->raw.modrm.rm == 5 && instruction->raw.disp.size == 32;
}

static bool is_jump(const ZydisDecodedInstruction *instruction)
{
    return instruction->meta.category == ZYDIS_CATEGORY_UNCOND_BR;
}

static bool is_plain_condition(const ZydisDecodedInstruction *instruction)
{
    return instruction->meta.category == ZYDIS_CATEGORY_COND_BR
           && (instruction->opcode_map == ZYDIS_OPCODE_MAP_0F
                   ? (instruction->opcode & 0xf0) == 0x80
                   : (instruction->opcode & 0xf0) == 0x70);
}

/* NULL: the instruction can be moved, if its displacement is adjusted; else the reason. */
static const char *why_not(const ZydisDecodedInstruction *instruction)
{
    switch (instruction->meta.category) {
    case ZYDIS_CATEGORY_CALL:
        return "a call is among its first instructions";
    case ZYDIS_CATEGORY_RET:
    case ZYDIS_CATEGORY_INTERRUPT:
    case ZYDIS_CATEGORY_SYSCALL:
    case ZYDIS_CATEGORY_SYSRET:
    case ZYDIS_CATEGORY_SYSTEM:
        return "it is too short or does what cannot be moved";
    default:
        break;
    }
    if (is_relative(instruction)
        && ((!is_jump(instruction) && !is_plain_condition(instruction))
            || instruction->raw.prefix_count > 0))
        return "a branch among its first instructions cannot be moved";
    return NULL;
}

static void put(struct trampoline *moved, const uint8_t *bytes, size_t n)
{
    memcpy(moved->bytes + moved->n_bytes, bytes, n);
    moved->n_bytes = (uint8_t)(moved->n_bytes + n);
}

/* Writes a branch with a 32-bit displacement; opcode[0] may be absent. */
static void put_branch(struct trampoline *moved, const uint8_t *opcode, size_t n, uint64_t target)
{
    static const uint8_t none[DISPLACEMENT_BYTES];

    put(moved, opcode, n);
    moved->fixes[moved->n_fixes++] =
        (struct moved_fix){moved->n_bytes, (uint8_t)(moved->n_bytes + sizeof(none)), target};
    put(moved, none, sizeof(none));
}

static void put_jump(struct trampoline *moved, uint64_t target)
{
    put_branch(moved, (const uint8_t[]){0xe9}, 1, target);
}

static void put_instruction(struct trampoline *moved, const struct code *code, size_t at,
                            const ZydisDecodedInstruction *instruction)
{
    uint8_t begin = moved->n_bytes;

    if (is_relative(instruction) && is_jump(instruction)) {
        put_jump(moved, target_of(code, at, instruction));
        return;
    }
    if (is_relative(instruction)) {
        const uint8_t opcode[] = {0x0f, (uint8_t)(0x80 | (instruction->opcode & 0xf))};
        put_branch(moved, opcode, sizeof(opcode), target_of(code, at, instruction));
        return;
    }
    put(moved, code->bytes + at, instruction->length);
    if (is_rip_relative(instruction))
        moved->fixes[moved->n_fixes++] = (struct moved_fix){
            (uint8_t)(begin + instruction->raw.disp.offset), moved->n_bytes,
            code->address + at + instruction->length + (uint64_t)instruction->raw.disp.value};
}

/* Moves instructions from `at` on until a jump fits. */
static const char *move(const struct code *code, size_t at, struct trampoline *moved)
{
    size_t begin = at;
    bool goes_on = true;

    while (at - begin < TRAMPOLINE_JUMP_BYTES) {
        ZydisDecodedInstruction instruction;
        const char *why;
        if (!goes_on || at >= code->n)
            return "it is shorter than a jump";
        if (!decode(code, at, &instruction))
            return "its first instructions cannot be decoded";
        why = why_not(&instruction);
        if (why)
            return why;
        put_instruction(moved, code, at, &instruction);
        goes_on = !is_jump(&instruction);
        at += instruction.length;
    }
    moved->address = code->address + begin;
    moved->n_expected = (uint8_t)(at - begin);
    memcpy(moved->expected, code->bytes + begin, moved->n_expected);
    if (goes_on)
        put_jump(moved, code->address + at);
    return NULL;
}

static bool start(struct code *code)
{
    code->zydis = load();
    return code->zydis
           && ZYAN_SUCCESS(
               code->zydis->init(&code->decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64));
}

bool trampoline_is_hit_by(const uint8_t *function, size_t n, uint64_t address,
                          const struct trampoline *moved)
{
    struct code code = {.bytes = function, .n = n, .address = address};
    bool is_known = start(&code);

    for (size_t at = 0; is_known && at < n;) {
        ZydisDecodedInstruction instruction;
        is_known = decode(&code, at, &instruction);
        if (is_known && is_relative(&instruction)
            && is_hit(moved, target_of(&code, at, &instruction)))
            return true;
        at += is_known ? instruction.length : 0;
    }
    return !is_known;
}

bool trampoline_has_reference(const uint8_t *function, size_t n, uint64_t address,
                              trampoline_visit *visit, void *context)
{
    struct code code = {.bytes = function, .n = n, .address = address};
    ZydisDecodedInstruction instruction;

    if (!start(&code))
        return false;
    for (size_t at = 0; decode(&code, at, &instruction); at += instruction.length) {
        uint64_t next = address + at + instruction.length;
        if (is_relative(&instruction) && visit(target_of(&code, at, &instruction), context))
            return true;
        if (is_rip_relative(&instruction)
            && visit(next + (uint64_t)instruction.raw.disp.value, context))
            return true;
    }
    return false;
}

const char *trampoline_make(const uint8_t *function, size_t n, uint64_t address,
                            struct trampoline *ret_moved)
{
    struct code code = {.bytes = function, .n = n, .address = address};
    bool is_marked = n >= sizeof(g_endbr64) && memcmp(function, g_endbr64, sizeof(g_endbr64)) == 0;
    const char *why;

    *ret_moved = (struct trampoline){.address = address};
    if (n == 0 || n > MAX_FUNCTION_BYTES)
        return "its length is not known";
    if (!start(&code))
        return MTRACE_ZYDIS_SONAME ", which decodes instructions, cannot be loaded";
    why = move(&code, is_marked ? sizeof(g_endbr64) : 0, ret_moved);
    if (why)
        return why;
    return trampoline_is_hit_by(function, n, address, ret_moved)
               ? "it jumps back between its first instructions, or cannot be decoded"
               : NULL;
}

#else

bool trampoline_is_hit_by(const uint8_t *function, size_t n, uint64_t address,
                          const struct trampoline *moved)
{
    (void)function;
    (void)n;
    (void)address;
    (void)moved;
    return true;
}

bool trampoline_has_reference(const uint8_t *function, size_t n, uint64_t address,
                              trampoline_visit *visit, void *context)
{
    (void)function;
    (void)n;
    (void)address;
    (void)visit;
    (void)context;
    return false;
}

const char *trampoline_make(const uint8_t *function, size_t n, uint64_t address,
                            struct trampoline *ret_moved)
{
    (void)function;
    (void)n;
    *ret_moved = (struct trampoline){.address = address};
    return "mtrace was built without Zydis, which decodes instructions";
}

#endif

/* Size of a displacement at `i`, judged by the bytes before it; 0: none. */
static size_t displacement_bytes(const uint8_t *text, size_t i)
{
    uint8_t opcode = text[i - 1];

    if (opcode == 0xeb || (opcode & 0xf0) == 0x70 || (opcode & 0xfc) == 0xe0)
        return 1; /* jmp, jcc, loop and jrcxz */
    if (opcode == 0xe8 || opcode == 0xe9
        || (i >= 2 && (opcode & 0xf0) == 0x80 && text[i - 2] == 0x0f))
        return DISPLACEMENT_BYTES; /* call, jmp, jcc */
    return 0;
}

/* The target of a displacement. */
static uint64_t displaced(const uint8_t *displacement, size_t n)
{
    int32_t value;

    if (n == 1)
        return 1 + (uint64_t)(int64_t)(int8_t)*displacement;
    memcpy(&value, displacement, sizeof(value));
    return n + (uint64_t)(int64_t)value;
}

/* The index of the first trampoline that begins after the target; the one before it may contain the
 * target. */
static size_t find_behind(const struct trampoline *const *ascending, size_t n, uint64_t target)
{
    size_t low = 0;

    while (low < n) {
        size_t middle = low + (n - low) / 2;
        if (ascending[middle]->address < target)
            low = middle + 1;
        else
            n = middle;
    }
    return low;
}

/* The address range that covers all moved instructions. */
struct reach {
    uint64_t first;
    uint64_t last;
};

static struct reach reach_of(const struct trampoline *const *ascending, size_t n)
{
    struct reach reach = {ascending[0]->address + 1, 0};

    for (size_t i = 0; i < n; i++) {
        uint64_t last = ascending[i]->address + ascending[i]->n_expected - 1;
        reach.last = last > reach.last ? last : reach.last;
    }
    return reach;
}

/* Could any of the SCAN_BYTES positions from `i` on be a 32-bit displacement into reach, whatever
 * precedes it? Only the lower 32 bits of the target are compared, which gives a superset. Uses the
 * compiler's vectors, because a text of 200 MB is scanned. */
static bool may_reach(const uint8_t *text, size_t i, uint64_t address, const struct reach *reach)
{
    typedef uint32_t vector __attribute__((vector_size(16)));
    typedef int32_t signed_vector __attribute__((vector_size(16)));
    const vector lanes = {0, 4, 8, 12};
    /* A target within reach becomes one of the smallest signed numbers. */
    uint32_t to_least =
        (uint32_t)(address + i + DISPLACEMENT_BYTES - reach->first) + UINT32_C(0x80000000);
    uint64_t span = reach->last - reach->first;
    int32_t most = span < UINT32_MAX ? (int32_t)((uint32_t)span + UINT32_C(0x80000000)) : INT32_MAX;
    signed_vector found = {0};

    for (uint32_t k = 0; k < SCAN_BYTES; k += sizeof(vector))
        for (uint32_t shift = 0; shift < sizeof(uint32_t); shift++) {
            vector value;
            memcpy(&value, text + i + k + shift, sizeof(value));
            found |= (signed_vector)(value + lanes + (to_least + k + shift)) <= most;
        }
    return found[0] | found[1] | found[2] | found[3];
}

/* 8-bit displacements from here could lead into reach. */
static bool is_near(uint64_t place, const struct reach *reach)
{
    return place + SCAN_BYTES + INT8_MAX + 1 >= reach->first && place <= reach->last + INT8_MAX + 1;
}

/* Skips blocks without suspects; returns where one may be, from i on. */
static size_t skip(const uint8_t *text, size_t i, size_t n, uint64_t address,
                   const struct reach *reach)
{
    while (n - i >= SCAN_BYTES + DISPLACEMENT_BYTES && !is_near(address + i, reach)
           && !may_reach(text, i, address, reach))
        i += SCAN_BYTES;
    return i;
}

size_t trampoline_find_suspect(const uint8_t *text, size_t n, uint64_t address,
                               const struct trampoline *const *ascending, size_t n_moved,
                               size_t *at)
{
    size_t i = *at < 1 ? 1 : *at;
    size_t end = i; /* of the block that is scanned byte by byte */
    struct reach reach;

    if (n_moved == 0)
        return 0;
    reach = reach_of(ascending, n_moved);
    for (; i < n; i++) {
        size_t n_bytes;
        uint64_t target;
        size_t behind;
        if (i >= end) {
            i = skip(text, i, n, address, &reach);
            end = i + SCAN_BYTES;
        }
        n_bytes = displacement_bytes(text, i);
        if (n_bytes == 0 || n_bytes > n - i)
            continue;
        target = address + i + displaced(text + i, n_bytes);
        behind = find_behind(ascending, n_moved, target);
        if (behind > 0 && is_hit(ascending[behind - 1], target)) {
            *at = i + 1;
            return behind - 1;
        }
    }
    return n_moved;
}
