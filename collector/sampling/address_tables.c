/* SPDX-License-Identifier: MIT */
#include "collector/sampling/address_tables.h"

#include "collector/os/memory.h"

bool address_tables_add(struct address_tables *tables, unsigned table, size_t place_bytes)
{
    size_t size_bytes = place_bytes * ADDRESS_TABLES_PLACES
                        << (ADDRESS_TABLES_FIRST_BUCKETS_LOG2 + table);
    void *none = NULL;
    void *fresh;

    if (table >= ADDRESS_TABLES_MAX)
        return false;
    if (address_tables_places(tables, table))
        return true;
    fresh = memory_map_inherited(size_bytes);
    if (!fresh)
        return false;
    if (!atomic_compare_exchange_strong_explicit(&tables->tables[table], &none, fresh,
                                                 memory_order_acq_rel, memory_order_acquire))
        memory_unmap(fresh, size_bytes);
    return true;
}
