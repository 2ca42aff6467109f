/* SPDX-License-Identifier: MIT */
/* A receiver that never finishes its announcement does not block the sender (SN-3). */
#include "remote/sender/sender_rx.h"
#include "remote/sender/sender_state.h"
#include "remote/sender/sender_tx.h"
#include "tests/lib/unit.h"

#include <string.h>

/* needs the headers above */

enum {
    MAX_READS = 100
};

static int n_reads;

/* As much as there is room for, of whole messages. */
ssize_t channel_get(struct channel *channel, void *bytes, size_t n_bytes, struct error *err)
{
    const struct wire_head ping = {.kind = WIRE_PING};
    size_t n = 0;

    (void)channel, (void)err;
    assert_true(++n_reads < MAX_READS);
    for (; n + sizeof(ping) <= n_bytes; n += sizeof(ping))
        memcpy((uint8_t *)bytes + n, &ping, sizeof(ping));
    return (ssize_t)n;
}

/* Other messages are ignored. */
int sender_tx_send(struct sender *sender, enum wire_kind kind, uint32_t number, uint64_t offset,
                   const void *payload, size_t n_bytes, struct error *err)
{
    (void)sender, (void)kind, (void)number, (void)offset, (void)payload, (void)n_bytes, (void)err;
    return -1;
}

int sender_tx_send_begin(struct sender *sender, enum wire_kind kind, uint32_t number,
                         struct sent_log *log, struct error *err)
{
    (void)sender, (void)kind, (void)number, (void)log, (void)err;
    return -1;
}

bool sent_log_is_under_way(const struct sent_log *log)
{
    (void)log;
    return false;
}

ssize_t log_tail_read(struct log_tail *tail, void *bytes, size_t n_bytes, uint64_t offset)
{
    (void)tail, (void)bytes, (void)n_bytes, (void)offset;
    return -1;
}

void log_tail_remove(struct log_tail *tail, uint64_t synced)
{
    (void)tail, (void)synced;
}

void log_tail_close(struct log_tail *tail)
{
    (void)tail;
}

TEST(a_flood_of_pings_is_left_for_the_rest)
{
    static struct wire_reader reader;
    struct sender sender = {.reader = &reader, .is_connected = true, .has_greeted = true};

    wire_reader_init(&reader);
    assert_int_equal(sender_rx_take_all(&sender, NULL), 0);
    assert_true(n_reads > 0);
}
