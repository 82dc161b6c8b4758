/*
 * lsp_watch.c - watches folders with libuv, and delays the reports.
 *
 * Folders appear and disappear: after each report, every place is looked up again, and another folder is watched where
 * that has changed. The handles do not keep the loop running.
 */
#include "host/server/lsp/lsp_watch.h"
#include "adl/value/memory.h"
#include "host/base/container_of.h"
#include "host/base/loop.h"
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <uv.h>

struct watched_place {
    uv_fs_event_t handle; /* first: it is freed after it was closed */
    struct watched_place *next;
    struct lsp_watch *watch;
    char *path;
    char *folder; /* that is watched: the place or one above it; NULL: none */
    char *name;   /* the entry of the folder that leads to the place; NULL if the place is the folder */
    dev_t device; /* of the folder: another one may take its place */
    ino_t inode;
    bool wanted;
};

struct lsp_watch {
    struct loop *loop;
    lsp_watch_look *look;
    void *user;
    struct watched_place *places;
    size_t count;
    struct loop_timer timer;
};

/* ---- One place ---- */

/* "acme" of "acme.so": changes of "acme.tenon.json" count, too. */
static size_t stem_length(const char *name) {
    size_t length = strlen(name);
    return length > 3 && strcmp(name + length - 3, ".so") == 0 ? length - 3 : length;
}

static void place_on_event(uv_fs_event_t *handle, const char *file, int events, int status) {
    const struct watched_place *place = CONTAINER_OF(handle, struct watched_place, handle);
    bool other = file && status == 0 && place->name && strncmp(file, place->name, stem_length(place->name)) != 0;
    (void)events;
    if (!other) lsp_watch_touch(place->watch);
}

/* Sets the folder of the place and the name in it, as they are now. Returns false if nothing can be watched. */
static bool place_find(const char *path, char **folder, char **name, struct stat *status) {
    char *above = mem_text(path);
    *name = NULL;
    while (stat(above, status) != 0 || !S_ISDIR(status->st_mode)) {
        char *slash = strrchr(above, '/');
        mem_free(*name);
        *name = mem_text(slash ? slash + 1 : above);
        if (!slash && strcmp(above, ".") == 0) break;
        if (slash) {
            slash[slash == above] = '\0';
        } else { /* a name has at least one character */
            above[0] = '.';
            above[1] = '\0';
        }
    }
    *folder = above;
    return S_ISDIR(status->st_mode);
}

static void place_stop(struct watched_place *place) {
    if (place->folder) (void)uv_fs_event_stop(&place->handle);
    mem_free(place->folder);
    mem_free(place->name);
    place->folder = place->name = NULL;
}

/* Watches the folder in which the next change of the place is visible. */
static void place_renew(struct watched_place *place) {
    struct stat status = {0};
    char *folder, *name;
    bool found = place_find(place->path, &folder, &name, &status);
    bool same = found && place->folder && strcmp(place->folder, folder) == 0 && place->device == status.st_dev &&
                place->inode == status.st_ino;
    if (same) {
        mem_free(folder);
        mem_free(place->name);
        place->name = name;
        return;
    }
    place_stop(place);
    if (found && uv_fs_event_start(&place->handle, place_on_event, folder, 0) == 0) {
        place->folder = folder;
        place->name = name;
        place->device = status.st_dev;
        place->inode = status.st_ino;
    } else {
        mem_free(folder);
        mem_free(name);
    }
}

static void place_on_closed(uv_handle_t *handle) { mem_free(handle); }

static void place_close(struct watched_place *place) {
    place_stop(place);
    mem_free(place->path);
    loop_watch(place->watch->loop, false);
    uv_close((uv_handle_t *)&place->handle, place_on_closed);
}

/* ---- All places ---- */

struct lsp_watch *lsp_watch_new(struct loop *loop, lsp_watch_look *look, void *user) {
    struct lsp_watch *watch = mem_zalloc(sizeof *watch);
    watch->loop = loop;
    watch->look = look;
    watch->user = user;
    return watch;
}

static void watch_on_timer(struct loop_timer *timer) {
    struct lsp_watch *watch = CONTAINER_OF(timer, struct lsp_watch, timer);
    bool again = watch->look(watch->user);
    for (struct watched_place *place = watch->places; place; place = place->next) place_renew(place);
    if (again) lsp_watch_touch(watch);
}

void lsp_watch_touch(struct lsp_watch *watch) {
    if (!loop_timer_is_running(&watch->timer))
        loop_timer_start(watch->loop, &watch->timer, LSP_WATCH_DELAY_MS, watch_on_timer);
}

void lsp_watch_begin(struct lsp_watch *watch) {
    for (struct watched_place *place = watch->places; place; place = place->next) place->wanted = false;
}

void lsp_watch_add(struct lsp_watch *watch, const char *path) {
    struct watched_place *place = watch->places;
    while (place && strcmp(place->path, path) != 0) place = place->next;
    if (!place && watch->count < LSP_WATCHES_MAX) {
        place = mem_zalloc(sizeof *place);
        place->watch = watch;
        place->path = mem_text(path);
        (void)uv_fs_event_init(loop_uv(watch->loop), &place->handle);
        uv_unref((uv_handle_t *)&place->handle);
        loop_watch(watch->loop, true);
        place->next = watch->places;
        watch->places = place;
        watch->count++;
        place_renew(place);
    }
    if (place) place->wanted = true;
}

void lsp_watch_end(struct lsp_watch *watch) {
    for (struct watched_place **link = &watch->places; *link;) {
        struct watched_place *place = *link;
        if (place->wanted) {
            link = &place->next;
            continue;
        }
        *link = place->next;
        watch->count--;
        place_close(place);
    }
}

void lsp_watch_free(struct lsp_watch *watch) {
    if (!watch) return;
    loop_timer_stop(watch->loop, &watch->timer);
    lsp_watch_begin(watch);
    lsp_watch_end(watch);
    mem_free(watch);
}
