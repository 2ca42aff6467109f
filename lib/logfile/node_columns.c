/* SPDX-License-Identifier: MIT */
#include "lib/logfile/node_columns.h"

#include "lib/abi/varint.h"

#include <string.h>

enum {
    PLACE_EXPECTED = 0,
    PLACE_NEW = 1,
    PLACE_BACK = 2, /* from here on: counted back from the newest */
};

static void start(struct node_columns *columns)
{
    columns->n_places = 0;
    columns->last_address = 0;
    columns->places[0].called = 0;
    memset(columns->slots, 0, sizeof(columns->slots));
}

/* The place of a node's parent; 0 if it is not in this part. */
static uint32_t parent_place(const struct node_columns *columns, size_t i, uint32_t distance)
{
    return distance >= 1 && distance <= i ? columns->place_of[i - distance] : 0;
}

static uint32_t add_place(struct node_columns *columns, uint64_t address, uint32_t module)
{
    columns->places[++columns->n_places] =
        (struct node_place){.address = address, .module = module};
    columns->last_address = address;
    return columns->n_places;
}

/* ---- encoding -------------------------------------------------------------------------------- */

static bool is_place(const struct node_columns *columns, uint32_t index, uint64_t address,
                     uint32_t module)
{
    return columns->places[index].address == address && columns->places[index].module == module;
}

/* The slot with the place's index, or the slot with 0 where it belongs. */
static uint16_t *find_slot(struct node_columns *columns, uint64_t address, uint32_t module)
{
    uint32_t slot = (uint32_t)((address + module) * 0x9e3779b97f4a7c15u >> 51);

    while (columns->slots[slot] && !is_place(columns, columns->slots[slot], address, module))
        slot = (slot + 1) & (NODE_COLUMNS_SLOTS - 1);
    return &columns->slots[slot];
}

/* Writes the node's place and returns its index. */
static uint32_t put_place(struct node_columns *columns, uint8_t **at, uint32_t expected,
                          uint64_t address, uint32_t module)
{
    uint64_t distance = address - columns->last_address;
    uint16_t *slot;

    if (expected && is_place(columns, expected, address, module)) {
        *at[NODE_COLUMN_PLACE]++ = PLACE_EXPECTED;
        return expected;
    }
    slot = find_slot(columns, address, module);
    if (*slot) {
        at[NODE_COLUMN_PLACE] =
            varint_put(at[NODE_COLUMN_PLACE], PLACE_BACK + columns->n_places - *slot);
        return *slot;
    }
    *at[NODE_COLUMN_PLACE]++ = PLACE_NEW;
    at[NODE_COLUMN_ADDRESS] = varint_put(at[NODE_COLUMN_ADDRESS], zigzag_encode((int64_t)distance));
    at[NODE_COLUMN_ADDRESS] = varint_put(at[NODE_COLUMN_ADDRESS], module);
    *slot = (uint16_t)add_place(columns, address, module);
    return *slot;
}

void node_columns_encode(struct node_columns *columns, const struct log_node *nodes, size_t n_nodes,
                         uint32_t first_id)
{
    uint8_t *at[NODE_COLUMN_COUNT];

    start(columns);
    for (int i = 0; i < NODE_COLUMN_COUNT; i++)
        at[i] = columns->bytes[i];
    for (size_t i = 0; i < n_nodes; i++) {
        uint64_t address = atomic_load_explicit(&nodes[i].address, memory_order_relaxed);
        uint32_t distance = first_id + (uint32_t)i - nodes[i].parent;
        struct node_place *caller = &columns->places[parent_place(columns, i, distance)];
        at[NODE_COLUMN_PARENT] = varint_put(at[NODE_COLUMN_PARENT], distance);
        caller->called = (uint16_t)put_place(columns, at, caller->called, address, nodes[i].module);
        columns->place_of[i] = caller->called;
    }
    columns->encoded = (struct column_bytes){0};
    for (int i = 0; i < NODE_COLUMN_COUNT; i++) {
        columns->encoded.at[i] = columns->bytes[i];
        columns->encoded.n_bytes[i] = (size_t)(at[i] - columns->bytes[i]);
    }
}

/* ---- decoding -------------------------------------------------------------------------------- */

struct reader {
    const uint8_t *at[NODE_COLUMN_COUNT];
    const uint8_t *ends[NODE_COLUMN_COUNT];
};

static bool get(struct reader *reader, enum node_column column, uint64_t *ret_value)
{
    const uint8_t *next = varint_get(reader->at[column], reader->ends[column], ret_value);

    if (next)
        reader->at[column] = next;
    return next != NULL;
}

/* Reads a node's place and returns its index; 0 if damaged. */
static uint32_t get_place(struct node_columns *columns, struct reader *reader, uint32_t expected)
{
    uint64_t value;
    uint64_t distance;
    uint64_t module;

    if (!get(reader, NODE_COLUMN_PLACE, &value))
        return 0;
    if (value == PLACE_EXPECTED)
        return expected;
    if (value == PLACE_NEW) {
        if (!get(reader, NODE_COLUMN_ADDRESS, &distance)
            || !get(reader, NODE_COLUMN_ADDRESS, &module))
            return 0;
        return add_place(columns, columns->last_address + (uint64_t)zigzag_decode(distance),
                         (uint32_t)module);
    }
    return value - PLACE_BACK < columns->n_places
               ? columns->n_places - (uint32_t)(value - PLACE_BACK)
               : 0;
}

bool node_columns_decode(struct node_columns *columns, const struct column_bytes *in,
                         struct log_node *nodes, size_t n_nodes, uint32_t first_id)
{
    struct reader reader;
    uint64_t distance;

    start(columns);
    for (int i = 0; i < NODE_COLUMN_COUNT; i++) {
        reader.at[i] = in->at[i];
        reader.ends[i] = in->at[i] + in->n_bytes[i];
    }
    for (size_t i = 0; i < n_nodes; i++) {
        struct node_place *caller;
        uint32_t place;
        if (!get(&reader, NODE_COLUMN_PARENT, &distance))
            return false;
        caller = &columns->places[parent_place(columns, i, (uint32_t)distance)];
        place = get_place(columns, &reader, caller->called);
        if (place == 0)
            return false;
        caller->called = columns->place_of[i] = (uint16_t)place;
        nodes[i].parent = first_id + (uint32_t)i - (uint32_t)distance;
        nodes[i].module = columns->places[place].module;
        atomic_store_explicit(&nodes[i].address, columns->places[place].address,
                              memory_order_relaxed);
    }
    for (int i = 0; i < NODE_COLUMN_COUNT; i++)
        if (reader.at[i] != reader.ends[i])
            return false;
    return true;
}
