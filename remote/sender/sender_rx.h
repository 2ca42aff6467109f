/* SPDX-License-Identifier: MIT */
/*
 * sender_rx: handles the messages of an mtrace-gather to the sender.
 *
 * Invariants
 *   HW-1 Messages are checked against what was sent; an impossible acknowledgement or log number
 *        ends the connection.
 *
 * Threads: one.
 */
#ifndef MTRACE_REMOTE_SENDER_RX_H
#define MTRACE_REMOTE_SENDER_RX_H

struct error;
struct sender;

/* Handles everything that has arrived. */
int sender_rx_take_all(struct sender *sender, struct error *err);

#endif
