/* SPDX-License-Identifier: MIT */
#include "recorder/session/collector_commands.h"

#include <stdatomic.h>
#include <string.h>

bool collector_commands_ask(struct collector_commands *commands, const struct command *command)
{
    if (command->command != LOG_COMMAND_MARK) {
        commands->wanted = *command;
        commands->n_wanted++;
        return true;
    }
    if (commands->n_marks - commands->n_marks_given >= COLLECTOR_COMMANDS_MAX_WAITING)
        return false;
    commands->marks[commands->n_marks++ % COLLECTOR_COMMANDS_MAX_WAITING] = *command;
    return true;
}

void collector_commands_resume(struct collector_commands *commands, const struct live_log *live)
{
    struct log_mailbox *mailbox = log_mailbox_of(live->file);

    *commands = (struct collector_commands){
        .n_given = atomic_load_explicit(&mailbox->n_given, memory_order_relaxed)};
    commands->n_wanted = commands->n_wanted_given =
        atomic_load_explicit(&mailbox->wanted, memory_order_relaxed)
        >> (LOG_WANTED_COMMAND_BITS + LOG_WANTED_REASON_BITS);
    commands->n_marks = commands->n_marks_given =
        atomic_load_explicit(&mailbox->n_marks, memory_order_relaxed);
    commands->marked_at = commands->n_given;
}

bool collector_commands_are_any(const struct collector_commands *commands)
{
    return commands->n_wanted != 0 || commands->n_marks != 0;
}

static uint32_t n_handled(const struct live_log *live)
{
    return atomic_load_explicit(&log_mailbox_of(live->file)->n_handled, memory_order_acquire);
}

static void give_wanted(struct collector_commands *commands, struct log_mailbox *mailbox)
{
    const struct command *command = &commands->wanted;
    uint32_t number = commands->n_wanted_given = commands->n_wanted;

    atomic_store_explicit(&mailbox->wanted,
                          (uint32_t)command->command
                              | (uint32_t)command->reason << LOG_WANTED_COMMAND_BITS
                              | number << (LOG_WANTED_COMMAND_BITS + LOG_WANTED_REASON_BITS),
                          memory_order_relaxed);
}

static void give_mark(struct collector_commands *commands, struct log_mailbox *mailbox)
{
    const struct command *command =
        &commands->marks[commands->n_marks_given++ % COLLECTOR_COMMANDS_MAX_WAITING];

    memcpy(mailbox->name, command->name, sizeof(mailbox->name));
    atomic_store_explicit(&mailbox->n_marks, commands->n_marks_given, memory_order_release);
    commands->marked_at = commands->n_given + 1;
}

/* The program has taken the last name, or was never given one. */
static bool may_mark(const struct collector_commands *commands, const struct live_log *live)
{
    return commands->n_marks_given == 0 || (int32_t)(n_handled(live) - commands->marked_at) >= 0;
}

static void give(struct collector_commands *commands, const struct live_log *live)
{
    struct log_mailbox *mailbox = log_mailbox_of(live->file);
    bool is_wanted = commands->n_wanted != commands->n_wanted_given;
    bool is_mark = commands->n_marks != commands->n_marks_given && may_mark(commands, live);

    if (!is_wanted && !is_mark)
        return;
    if (is_wanted)
        give_wanted(commands, mailbox);
    if (is_mark)
        give_mark(commands, mailbox);
    atomic_store_explicit(&mailbox->n_given, ++commands->n_given, memory_order_release);
}

void collector_commands_step(struct collector_commands *commands, const struct live_log *live)
{
    if (collector_commands_are_any(commands) && live->has_begun)
        give(commands, live);
}

bool collector_commands_is_idle(const struct collector_commands *commands,
                                const struct live_log *live)
{
    return commands->n_wanted == commands->n_wanted_given
           && commands->n_marks == commands->n_marks_given && n_handled(live) == commands->n_given;
}

uint32_t collector_commands_window(const struct live_log *live)
{
    return atomic_load_explicit(&log_mailbox_of(live->file)->is_open, memory_order_relaxed);
}

bool collector_commands_is_window_open(const struct live_log *live)
{
    return collector_commands_window(live) != 0;
}
