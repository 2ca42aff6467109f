/* SPDX-License-Identifier: MIT */
/*
 * modules.h and stack_tree.h without a log, for running the unwinder alone. One thread at a time.
 */
#include "tests/unwind/plain_modules.h"

#include "collector/log/modules.h"
#include "collector/log/stack_tree.h"
#include "lib/abi/log_format.h"

#include <dlfcn.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>

enum {
    N_MODULES = 256,
    N_BUCKETS = 1 << 20
};

static const void *g_maps[N_MODULES];
_Atomic uint32_t g_modules_epoch = 1;
static uint32_t g_n_former; /* ids used up in former epochs */
static struct plain_node *g_nodes;
static uint32_t g_n_nodes = LOG_NODE_FIRST;
static uint32_t g_capacity;
static uint32_t g_buckets[N_BUCKETS];

bool modules_find(uintptr_t address, struct module *ret_module)
{
    struct dl_find_object object;
    uint32_t index = 0;

    *ret_module = (struct module){.id = 0};
    if (_dl_find_object((void *)address, &object) != 0)
        return false;
    while (g_maps[index] != NULL && g_maps[index] != object.dlfo_link_map)
        index++;
    g_maps[index] = object.dlfo_link_map;
    *ret_module = (struct module){.id = g_n_former + index + 1,
                                  .start = (uintptr_t)object.dlfo_map_start,
                                  .end = (uintptr_t)object.dlfo_map_end,
                                  .load_address = object.dlfo_link_map->l_addr,
                                  .eh_frame_hdr = object.dlfo_eh_frame};
#if DLFO_STRUCT_HAS_EH_COUNT
    ret_module->n_entries = (uint32_t)object.dlfo_eh_count;
#endif
    return true;
}

void modules_bump_epoch(void)
{
    g_modules_epoch++; /* and with it all ids: an object at the same place may be another one */
    for (uint32_t i = 0; i < N_MODULES && g_maps[i] != NULL; i++)
        g_n_former++;
    memset(g_maps, 0, sizeof(g_maps));
}

uint32_t stack_tree_next(uint32_t parent, uintptr_t address, uint32_t module, bool is_exact)
{
    (void)parent, (void)address, (void)module, (void)is_exact;
    return LOG_NODE_NONE;
}

uint32_t stack_tree_search(uint32_t parent, uintptr_t address, uint32_t module, bool is_exact)
{
    uint64_t hash = (address * 31 + parent * 7 + module * 3 + is_exact) * 0x9e3779b97f4a7c15ull;
    uint32_t *link = &g_buckets[hash >> 44];

    for (; *link != 0; link = &g_nodes[*link].next) {
        const struct plain_node *node = &g_nodes[*link];
        if (node->parent == parent && node->address == address && node->module == module
            && node->is_exact == is_exact)
            return *link;
    }
    if (g_n_nodes >= g_capacity) {
        g_capacity = g_capacity ? 2 * g_capacity : 1 << 20;
        g_nodes = realloc(g_nodes, g_capacity * sizeof(*g_nodes));
        if (g_nodes == NULL)
            abort();
        return stack_tree_search(parent, address, module, is_exact);
    }
    *link = g_n_nodes;
    g_nodes[g_n_nodes] = (struct plain_node){parent, module, address, is_exact, 0};
    return g_n_nodes++;
}

const struct plain_node *plain_node(uint32_t node)
{
    return &g_nodes[node];
}
