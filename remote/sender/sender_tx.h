/* SPDX-License-Identifier: MIT */
/*
 * speaking: what a sender says to an mtrace-gather: logs first, and what they name in the room that they leave.
 *
 * Invariants
 *   SK-1 No more than a part of a log or of a file waits in the channel: what is behind it is read when that has gone.
 * Threads: one.
 */
#ifndef MTRACE_REMOTE_SENDER_TX_H
#define MTRACE_REMOTE_SENDER_TX_H

#include "remote/wire/wire.h"

#include <stddef.h>
#include <stdint.h>

struct error;
struct sender;
struct sent_log;

int sender_tx_send(struct sender *sender, enum wire_kind kind, uint32_t number, uint64_t offset,
                   const void *payload, size_t n_bytes, struct error *err);

/* BEGIN or ANEW, with the log's page. */
int sender_tx_send_begin(struct sender *sender, enum wire_kind kind, uint32_t number,
                         struct sent_log *log, struct error *err);

/* What there is of all logs, as much as the channel takes now. */
int sender_tx_send_logs(struct sender *sender, struct error *err);
int sender_tx_send_objects(struct sender *sender, struct error *err);

#endif
