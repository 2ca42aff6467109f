/* SPDX-License-Identifier: MIT */
#include "recorder/sending/sent_objects.h"

#include "recorder/live/definition_parts.h"
#include "support/growing.h"
#include "support/pack.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char debug_folder[] = "/usr/lib/debug/.build-id";

void sent_objects_init(struct sent_objects *list)
{
    *list = (struct sent_objects){.fd = -1};
}

void sent_objects_done(struct sent_objects *list)
{
    sent_objects_close(list);
    for (size_t i = 0; i < list->n; i++)
        free(list->objects[i].path);
    free(list->objects);
}

/* ---- what logs name ---- */

static bool is_known(const struct sent_objects *list, const struct build_id *id)
{
    for (size_t i = 0; i < list->n; i++)
        if (build_id_is_same(&list->objects[i].id, id))
            return true;
    return false;
}

static void add(struct sent_objects *list, const struct build_id *id, uint32_t kind, char *path)
{
    struct sent_object *objects =
        list->n < SENT_OBJECTS_MOST && path
            ? growing_reserve(list->objects, &list->capacity, list->n + 1, sizeof(*objects))
            : NULL;

    if (!objects) {
        free(path);
        return;
    }
    list->objects = objects;
    objects[list->n++] = (struct sent_object){.id = *id, .kind = kind, .path = path};
}

static void take_module(struct sent_objects *list, const struct log_def *def)
{
    const uint8_t *text = (const uint8_t *)(def + 1);
    struct build_id id = {.n = def->extra};
    char *debug = NULL;
    char first[3];
    char rest[2 * BUILD_ID_BYTES];

    if (def->kind != LOG_DEF_MODULE || id.n < BUILD_ID_LEAST_BYTES || id.n > BUILD_ID_BYTES
        || id.n >= def->text_bytes)
        return;
    memcpy(id.bytes, text, id.n);
    if (is_known(list, &id))
        return;
    build_id_format(&id, first, rest);
    add(list, &id, WIRE_OBJECT_FILE, strndup((const char *)text + id.n, def->text_bytes - id.n));
    if (asprintf(&debug, "%s/%s/%s.debug", debug_folder, first, rest) >= 0)
        add(list, &id, WIRE_OBJECT_DEBUG, debug);
}

static void take_definitions(void *context, const void *payload, size_t n_bytes)
{
    const struct log_def *def;
    size_t at = 0;

    while ((def = definition_parts_def(payload, n_bytes, &at)) != NULL)
        take_module(context, def);
}

void sent_objects_learn(struct sent_objects *list, const struct log_tail *tail, uint64_t *at)
{
    log_tail_read_definitions(tail, at, take_definitions, list);
}

/* ---- in turns ---- */

/* SJ-1. A library is often named by a link to it. */
static int open_object(const struct sent_object *object, uint64_t *ret_bytes)
{
    char path[PATH_MAX];
    struct build_id found;
    struct stat status;
    int fd = *object->path == '/' && realpath(object->path, path)
                 ? open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
                 : -1;

    if (fd < 0)
        return -1;
    if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode) || !build_id_read(fd, &found)
        || !build_id_is_same(&found, &object->id)) {
        close(fd);
        return -1;
    }
    *ret_bytes = (uint64_t)status.st_size;
    return fd;
}

bool sent_objects_next(struct sent_objects *list, struct wire_object *ret_offer)
{
    while (list->next < list->n) {
        const struct sent_object *object = &list->objects[list->next++];
        list->fd = open_object(object, &list->size_bytes);
        if (list->fd < 0)
            continue;
        *ret_offer = (struct wire_object){
            .kind = object->kind, .n_id = (uint32_t)object->id.n, .size_bytes = list->size_bytes};
        memcpy(ret_offer->id, object->id.bytes, sizeof(ret_offer->id));
        list->sent_bytes = 0;
        list->is_wanted = false;
        return true;
    }
    return false;
}

void sent_objects_close(struct sent_objects *list)
{
    if (list->fd >= 0)
        close(list->fd);
    list->fd = -1;
}

bool sent_objects_got_further(struct sent_objects *list)
{
    if (list->next < list->most_next
        || (list->next == list->most_next && list->sent_bytes <= list->most_bytes))
        return false;
    list->most_next = list->next;
    list->most_bytes = list->sent_bytes;
    return true;
}

void sent_objects_restart(struct sent_objects *list)
{
    sent_objects_close(list);
    list->next = 0;
}
