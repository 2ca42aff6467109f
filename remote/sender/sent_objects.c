/* SPDX-License-Identifier: MIT */
#include "remote/sender/sent_objects.h"

#include "lib/base/dynamic_array.h"
#include "lib/base/file_io.h"
#include "lib/logfile/definition_parts.h"
#include "lib/logfile/pack.h"
#include "remote/sender/mapped_objects.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char debug_folder[] = "/usr/lib/debug/.build-id";

static void close_file(struct sent_objects *list)
{
    if (list->fd >= 0)
        close(list->fd);
    list->fd = -1;
}

void sent_objects_init(struct sent_objects *list)
{
    *list = (struct sent_objects){.fd = -1};
}

void sent_objects_done(struct sent_objects *list)
{
    close_file(list);
    for (size_t i = 0; i < list->n; i++)
        free(list->objects[i].path);
    free(list->objects);
}

/* ---- finding objects ------------------------------------------------------------------------- */

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
            ? dynamic_array_reserve(list->objects, &list->capacity, list->n + 1, sizeof(*objects))
            : NULL;

    if (!objects) {
        list->n_beyond++;
        free(path);
        return;
    }
    list->objects = objects;
    objects[list->n++] = (struct sent_object){.id = *id, .kind = kind, .path = path};
}

/* Adds the two files that one build id may have; path is copied. */
static void add_both(struct sent_objects *list, const struct build_id *id, const char *path,
                     size_t n_path)
{
    char *debug = NULL;
    char first[3];
    char rest[2 * BUILD_ID_BYTES];

    if (is_known(list, id))
        return;
    build_id_format(id, first, rest);
    add(list, id, WIRE_OBJECT_FILE, strndup(path, n_path));
    if (asprintf(&debug, "%s/%s/%s.debug", debug_folder, first, rest) >= 0)
        add(list, id, WIRE_OBJECT_DEBUG, debug);
}

static void take_module(struct sent_objects *list, const struct log_def *def)
{
    const uint8_t *text = (const uint8_t *)(def + 1);
    struct build_id id = {.n = def->extra};

    if (def->kind != LOG_DEF_MODULE || id.n < BUILD_ID_LEAST_BYTES || id.n > BUILD_ID_BYTES
        || id.n >= def->text_bytes || text[id.n] != '/')
        return;
    memcpy(id.bytes, text, id.n);
    add_both(list, &id, (const char *)text + id.n, def->text_bytes - id.n);
}

static void take_definitions(void *context, const void *payload, size_t n_bytes)
{
    const struct log_def *def;
    size_t at = 0;

    while ((def = definition_parts_def(payload, n_bytes, &at)) != NULL)
        take_module(context, def);
}

static void take_mapped(void *context, const struct build_id *id, const char *path)
{
    add_both(context, id, path, strlen(path));
}

/* The definitions were punched out here. What the program has mapped now is equivalent, except for
 * unloaded modules. */
static void learn_mapped(struct sent_objects *list, const struct log_tail *tail,
                         const char *log_path)
{
    _Alignas(struct log_file) uint8_t page[LOG_FILE_HEADER_BYTES];

    list->has_missed = true;
    if (log_tail_read_header(tail, page))
        mapped_objects_visit(log_path, (pid_t)((const struct log_file *)page)->pid, take_mapped,
                             list);
}

void sent_objects_learn(struct sent_objects *list, const struct log_tail *tail,
                        const char *log_path, uint64_t *at)
{
    if (*at < tail->punched_hole)
        learn_mapped(list, tail, log_path);
    log_tail_read_definitions(tail, at, take_definitions, list);
}

/* ---- sending --------------------------------------------------------------------------------- */

/* SJ-1. Follows links: libraries are often named by one. */
static int open_object(const struct sent_object *object, uint64_t *ret_bytes)
{
    char path[PATH_MAX];
    struct build_id found;
    struct stat status;
    int fd = -1;

    if (realpath(object->path, path))
        file_io_open_regular_foreign(path, &fd, &status);
    if (fd < 0)
        return -1;
    if (!build_id_read(fd, &found) || !build_id_is_same(&found, &object->id)) {
        close(fd);
        return -1;
    }
    *ret_bytes = (uint64_t)status.st_size;
    return fd;
}

/* Debug files are not missed: most files have none. */
static bool is_missed(struct sent_object *object)
{
    if (object->kind == WIRE_OBJECT_FILE)
        return true;
    object->state = SENT_OBJECT_SETTLED;
    object->outcome = WIRE_HAS_IT;
    return false;
}

bool sent_objects_next(struct sent_objects *list, struct wire_object *ret_offer,
                       uint32_t *ret_number)
{
    while (!list->is_one_offered && list->next < list->n) {
        struct sent_object *object = &list->objects[list->next++];
        if (object->state == SENT_OBJECT_SETTLED)
            continue;
        list->size_bytes = 0;
        list->sent_bytes = 0;
        list->fd = open_object(object, &list->size_bytes);
        if (list->fd < 0 && !is_missed(object))
            continue;
        *ret_offer = (struct wire_object){
            .kind = object->kind, .n_id = (uint32_t)object->id.n, .size_bytes = list->size_bytes};
        memcpy(ret_offer->id, object->id.bytes, sizeof(ret_offer->id));
        *ret_number = (uint32_t)(list->next - 1);
        object->state = SENT_OBJECT_OFFERED;
        list->is_one_offered = true;
        return true;
    }
    return false;
}

const struct sent_object *sent_objects_flowing(const struct sent_objects *list)
{
    const struct sent_object *object = list->is_one_offered ? &list->objects[list->next - 1] : NULL;

    return object && object->state == SENT_OBJECT_FLOWING ? object : NULL;
}

static void end_with(struct sent_objects *list, enum sent_object_state state)
{
    list->objects[list->next - 1].state = state;
    list->is_one_offered = false;
    close_file(list);
}

void sent_objects_end(struct sent_objects *list)
{
    end_with(list, SENT_OBJECT_ENDING);
}

bool sent_objects_take(struct sent_objects *list, uint32_t number, uint64_t wish, bool *ret_is_cut)
{
    struct sent_object *object = number < list->n ? &list->objects[number] : NULL;

    *ret_is_cut = false;
    if (!object || wish >= WIRE_WISHES || object->state == SENT_OBJECT_WAITING
        || object->state == SENT_OBJECT_SETTLED)
        return false;
    if (wish == WIRE_WANTED) {
        bool is_offered = object->state == SENT_OBJECT_OFFERED && list->fd >= 0;
        object->state = is_offered ? SENT_OBJECT_FLOWING : object->state;
        return is_offered;
    }
    *ret_is_cut = object->state == SENT_OBJECT_FLOWING;
    object->outcome = (enum wire_wish)wish;
    if (object->state == SENT_OBJECT_ENDING)
        object->state = SENT_OBJECT_SETTLED;
    else
        end_with(list, SENT_OBJECT_SETTLED);
    return true;
}

bool sent_objects_are_settled(const struct sent_objects *list)
{
    for (size_t i = 0; i < list->n; i++)
        if (list->objects[i].state != SENT_OBJECT_SETTLED)
            return false;
    return true;
}

size_t sent_objects_count(const struct sent_objects *list, enum wire_wish outcome,
                          const char **ret_path)
{
    size_t n = 0;

    for (size_t i = 0; i < list->n; i++) {
        if (list->objects[i].state != SENT_OBJECT_SETTLED || list->objects[i].outcome != outcome)
            continue;
        *ret_path = list->objects[i].path;
        n++;
    }
    return n;
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
    close_file(list);
    list->is_one_offered = false;
    list->next = 0;
    for (size_t i = 0; i < list->n; i++)
        if (list->objects[i].state != SENT_OBJECT_SETTLED
            || (list->objects[i].outcome != WIRE_HAS_IT && list->objects[i].outcome != WIRE_KEPT))
            list->objects[i].state = SENT_OBJECT_WAITING;
}
