/* SPDX-License-Identifier: MIT */
/*
 * hearing: what an mtrace-gather says to a sender.
 *
 * Invariants
 *   HW-1 What it says is checked against what was sent: who acknowledges, wants or brought to its disk what it cannot have, or speaks of an
 *        unknown log, is not believed, and the connection ends.
 * Threads: one.
 */
#ifndef MTRACE_REMOTE_SENDER_RX_H
#define MTRACE_REMOTE_SENDER_RX_H

struct error;
struct sender;

/* All that has come. */
int sender_rx_take_all(struct sender *sender, struct error *err);

#endif
