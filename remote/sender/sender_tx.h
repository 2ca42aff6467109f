/* SPDX-License-Identifier: MIT */
/*
 * sender_tx: sends messages to an mtrace-gather.
 *
 * Invariants
 *   SK-1 At most one part of a log waits in the channel; the next is read when it has been sent.
 *
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

/* BEGIN or AGAIN, with the log's header page. */
int sender_tx_send_begin(struct sender *sender, enum wire_kind kind, uint32_t number,
                         struct sent_log *log, struct error *err);

/* Sends from all logs as much as the channel takes now. */
int sender_tx_send_logs(struct sender *sender, struct error *err);

#endif
