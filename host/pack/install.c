/*
 * install.c - installing and removing packs.
 *
 * All that can be refused is refused before the rename, and the rename is the last thing that can fail. The folder is
 * made durable first: what has its name after a loss of power has its contents as well.
 */
#include "host/pack/install.h"
#include "adl/document/version.h"
#include "adl/value/json.h"
#include "adl/value/memory.h"
#include "adl/value/nearest.h"
#include "host/pack/installed.h"
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define WALK_DESCRIPTORS 16
#define COMING           ".new" /* the folder of what is being installed, */
#define GOING            ".old" /* and of what is being removed: one each, as there is one lock */

/* ---- The folder of packs ---- */

struct packs {
    char *folder;
    int descriptor, lock;
};

static int32_t failed(struct error *error, const char *what, const char *path) {
    return error_set(error, TN_ERROR, "IO", "cannot %s %s: %s", what, path, strerror(errno));
}

static int32_t make_folders(char *path, struct error *error) {
    for (char *at = path + 1;; at++) {
        char end = *at;
        if (end && end != '/') continue;
        *at = 0;
        bool made = mkdir(path, 0777) == 0 || errno == EEXIST;
        int32_t status = made ? TN_OK : failed(error, "make", path);
        *at = end;
        if (!made || !end) return status;
    }
}

static int remove_one(const char *path, const struct stat *status, int type, struct FTW *walk) {
    (void)status, (void)type, (void)walk;
    return remove(path);
}

static bool remove_all(const char *path) {
    return nftw(path, remove_one, WALK_DESCRIPTORS, FTW_DEPTH | FTW_PHYS) == 0 || errno == ENOENT;
}

/* What somebody who was killed has left behind: nobody else is here while we hold the lock. */
static void clear_away(const struct packs *packs) {
    static const char *const names[] = {COMING, GOING};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        tn_value path = value_format("%s/%s", packs->folder, names[i]);
        remove_all(value_chars(path, NULL));
        value_unref(path);
    }
}

static void packs_close(struct packs *packs) {
    if (packs->lock >= 0) close(packs->lock);
    if (packs->descriptor >= 0) close(packs->descriptor);
    mem_free(packs->folder);
}

/* Opens it, alone. Where it is not there and `make` is false, it is not made: NOT_FOUND. */
static int32_t packs_open(struct packs *packs, bool make, struct error *error) {
    *packs = (struct packs){.folder = packs_folder(), .descriptor = -1, .lock = -1};
    if (!packs->folder)
        return error_set(error, TN_NOT_FOUND, "NOT_FOUND",
                         "there is no place for packs: neither XDG_DATA_HOME nor HOME is set");
    int32_t status = make ? make_folders(packs->folder, error) : TN_OK;
    if (status != TN_OK) return status;
    packs->descriptor = open(packs->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (packs->descriptor < 0) {
        status = failed(error, "open", packs->folder);
        return errno == ENOENT ? TN_NOT_FOUND : status;
    }
    packs->lock = openat(packs->descriptor, ".lock", O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0666);
    int locked = -1;
    if (packs->lock >= 0) do
            locked = flock(packs->lock, LOCK_EX);
        while (locked != 0 && errno == EINTR);
    if (locked != 0) return failed(error, "lock", packs->folder);
    clear_away(packs);
    return TN_OK;
}

/* ---- Unpacking ---- */

struct unpacking {
    const char *folder; /* for messages */
    int descriptor, file;
    char path[PACK_PATH_MAX + 1];
};

static int32_t unpack_begin(void *user, const char *path, uint64_t size, bool program, struct error *error) {
    struct unpacking *to = user;
    char folder[PACK_PATH_MAX + 1];
    (void)size;
    snprintf(to->path, sizeof to->path, "%s", path);
    for (const char *slash = strchr(path, '/'); slash; slash = strchr(slash + 1, '/')) {
        snprintf(folder, sizeof folder, "%.*s", (int)(slash - path), path);
        if (mkdirat(to->descriptor, folder, 0777) != 0 && errno != EEXIST) return failed(error, "make", folder);
    }
    to->file =
        openat(to->descriptor, path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, program ? 0777 : 0666);
    return to->file >= 0 ? TN_OK : failed(error, "write", path);
}

static int32_t unpack_data(void *user, const void *bytes, size_t length, struct error *error) {
    struct unpacking *to = user;
    for (const char *at = bytes; length > 0;) {
        ssize_t written = write(to->file, at, length);
        if (written < 0 && errno == EINTR) continue;
        if (written <= 0) return failed(error, "write", to->path);
        at += written;
        length -= (size_t)written;
    }
    return TN_OK;
}

static int32_t unpack_end(void *user, struct error *error) {
    struct unpacking *to = user;
    bool good = fsync(to->file) == 0;
    good &= close(to->file) == 0;
    to->file = -1;
    return good ? TN_OK : failed(error, "write", to->path);
}

static int32_t put_text(struct unpacking *to, const char *path, const char *text, size_t length, struct error *error) {
    int32_t status = unpack_begin(to, path, length, false, error);
    if (status == TN_OK) status = unpack_data(to, text, length, error);
    if (status == TN_OK) status = unpack_end(to, error);
    return status;
}

static int32_t put_record(struct unpacking *to, const struct pack *pack, const char *key, struct error *error) {
    tn_value record = value_set_take(value_object(), "manifest", value_text(pack_manifest(pack)->hash));
    if (key) record = value_set_take(record, "key", value_text(key));
    char *text = json_text(record, JSON_COMPACT);
    int32_t status = put_text(to, PACK_RECORD, text, strlen(text), error);
    mem_free(text);
    value_unref(record);
    return status;
}

static int sync_folder(const char *path, const struct stat *status, int type, struct FTW *walk) {
    (void)status, (void)walk;
    if (type != FTW_D) return 0;
    int folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int result = folder >= 0 ? fsync(folder) : -1;
    if (folder >= 0) close(folder);
    return result;
}

static int32_t unpack(struct pack *pack, const char *key, const char *folder, struct error *error) {
    struct unpacking to = {
        .folder = folder, .descriptor = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC), .file = -1};
    const struct pack_sink sink = {unpack_begin, unpack_data, unpack_end, &to};
    size_t length, signature_length;
    const char *text = pack_manifest_text(pack, &length), *signature = pack_signature_text(pack, &signature_length);
    if (to.descriptor < 0) return failed(error, "open", folder);
    int32_t status = put_text(&to, PACK_MANIFEST, text, length, error);
    if (status == TN_OK && signature) status = put_text(&to, PACK_SIGNATURE, signature, signature_length, error);
    if (status == TN_OK) status = pack_read_files(pack, &sink, error);
    if (status == TN_OK) status = put_record(&to, pack, key, error);
    /* The names of the files are their folders' contents. */
    if (status == TN_OK && nftw(folder, sync_folder, WALK_DESCRIPTORS, FTW_PHYS) != 0)
        status = failed(error, "write", folder);
    if (to.file >= 0) close(to.file);
    close(to.descriptor);
    return status;
}

/* ---- Installing ---- */

static int32_t check_host(const struct pack *pack, struct error *error) {
    struct version version;
    size_t at;
    tn_value wanted = value_get(pack_manifest(pack)->value, "tenon");
    if (!wanted || !version_parse(TENON_VERSION, strlen(TENON_VERSION), &version)) return TN_OK;
    const char *constraint = value_chars(wanted, NULL);
    if (constraint_holds(constraint, strlen(constraint), &version, &at) > 0) return TN_OK;
    return error_set(error, TN_INVALID, "PACK_REFUSED", "%s: it needs Tenon %s, and this is Tenon %s", pack_file(pack),
                     constraint, TENON_VERSION);
}

/* A pack of that name and version is there: this one, as it was, or not. */
static int32_t compare_installed(struct pack *pack, const char *key, const char *place, struct error *error) {
    const struct pack_manifest *manifest = pack_manifest(pack);
    struct installed_pack there;
    int32_t status = pack_inspect(place, &there, error);
    if (status != TN_OK) return status;
    if (strcmp(there.manifest.hash, manifest->hash) != 0)
        status =
            error_set(error, TN_INVALID, "PACK_REFUSED",
                      "%s: another build of %s %s is installed; give this one a version of its own, or `tenon pack "
                      "remove %s %s` first",
                      pack_file(pack), manifest->name, manifest->version, manifest->name, manifest->version);
    else if (!key != !there.key || (key && strcmp(key, there.key) != 0))
        status = error_set(
            error, TN_INVALID, "PACK_REFUSED", "%s: %s %s is installed with %s; `tenon pack remove %s %s` first",
            pack_file(pack), manifest->name, manifest->version,
            there.key ? "the signature of another key" : "no signature", manifest->name, manifest->version);
    else
        status = pack_verify_all(&there, error);
    installed_pack_finish(&there);
    return status;
}

/* The last step: it is there, or it is not. */
static int32_t put_in_place(const struct packs *packs, const char *name, const char *from, const char *place,
                            struct error *error) {
    if (mkdirat(packs->descriptor, name, 0777) != 0 && errno != EEXIST) return failed(error, "make", place);
    if (rename(from, place) != 0) {
        int32_t status = failed(error, "install", place);
        unlinkat(packs->descriptor, name, AT_REMOVEDIR); /* where it is empty */
        return status;
    }
    int parent = openat(packs->descriptor, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (parent >= 0) fsync(parent);
    if (parent >= 0) close(parent);
    fsync(packs->descriptor);
    return TN_OK;
}

static int32_t install_new(const struct packs *packs, struct pack *pack, const char *key, const char *place,
                           struct error *error) {
    tn_value fresh = value_format("%s/" COMING, packs->folder);
    const char *path = value_chars(fresh, NULL);
    int32_t status = mkdir(path, 0777) == 0 ? TN_OK : failed(error, "make", path);
    if (status == TN_OK) status = unpack(pack, key, path, error);
    if (status == TN_OK) status = put_in_place(packs, pack_manifest(pack)->name, path, place, error);
    if (status != TN_OK) remove_all(path);
    value_unref(fresh);
    return status;
}

int32_t packs_install(struct pack *pack, const char *key, enum pack_installed *outcome, struct error *error) {
    const struct pack_manifest *manifest = pack_manifest(pack);
    struct packs packs;
    struct stat there;
    int32_t status = check_host(pack, error);
    if (status != TN_OK) return status;
    status = packs_open(&packs, true, error);
    if (status == TN_OK) {
        tn_value place = value_format("%s/%s/%s", packs.folder, manifest->name, manifest->version);
        const char *path = value_chars(place, NULL);
        *outcome = lstat(path, &there) == 0 ? PACK_THERE_ALREADY : PACK_NEW;
        status = *outcome == PACK_NEW ? install_new(&packs, pack, key, path, error)
                                      : compare_installed(pack, key, path, error);
        value_unref(place);
    }
    packs_close(&packs);
    return status;
}

/* ---- Removing ---- */

/* It is gone with the rename; what follows is tidying up. */
static int32_t remove_version(const struct packs *packs, const char *name, const char *version, struct error *error) {
    tn_value place = value_format("%s/%s/%s", packs->folder, name, version);
    tn_value away = value_format("%s/" GOING, packs->folder);
    int32_t status = TN_OK;
    if (rename(value_chars(place, NULL), value_chars(away, NULL)) != 0)
        status = failed(error, "remove", value_chars(place, NULL));
    else
        remove_all(value_chars(away, NULL));
    value_unref(place);
    value_unref(away);
    return status;
}

struct removal {
    const char *name, *version;
    tn_value versions; /* that are there, and meant */
    tn_value names;    /* of all packs */
    bool known;        /* the name is one of them */
};

static void look_for(void *user, const struct installed_pack *pack) {
    struct removal *removal = user;
    removal->names = value_push_take(removal->names, value_text(pack->name));
    if (strcmp(pack->name, removal->name) != 0) return;
    removal->known = true;
    if (!removal->version || strcmp(pack->version, removal->version) == 0)
        removal->versions = value_push_take(removal->versions, value_text(pack->version));
}

static int32_t not_installed(const struct removal *removal, struct error *error) {
    struct nearest near;
    if (removal->known)
        return error_set(error, TN_NOT_FOUND, "NOT_FOUND",
                         "version %s of the pack `%s` is not installed; `tenon pack list` shows those that are",
                         removal->version, removal->name);
    nearest_init(&near, removal->name, strlen(removal->name));
    for (size_t i = 0; i < value_count(removal->names); i++) {
        const char *name = value_chars(value_at(removal->names, i), NULL);
        nearest_offer(&near, name, strlen(name));
    }
    const char *meant = nearest_result(&near);
    return error_set(error, TN_NOT_FOUND, "NOT_FOUND", "there is no pack `%s`; %s%s%s", removal->name,
                     meant ? "did you mean `" : "`tenon pack list` shows those that are installed", meant ? meant : "",
                     meant ? "`?" : "");
}

int32_t packs_remove(const char *name, const char *version, uint32_t *count, struct error *error) {
    struct removal removal = {.name = name, .version = version, .versions = value_array(), .names = value_array()};
    struct packs packs;
    *count = 0;
    int32_t status = packs_open(&packs, false, error);
    if (status == TN_OK) packs_each(NULL, look_for, &removal);
    if ((status == TN_OK && value_count(removal.versions) == 0) || status == TN_NOT_FOUND)
        status = not_installed(&removal, error);
    for (size_t i = 0; status == TN_OK && i < value_count(removal.versions); i++) {
        status = remove_version(&packs, name, value_chars(value_at(removal.versions, i), NULL), error);
        *count += status == TN_OK;
    }
    if (status == TN_OK) unlinkat(packs.descriptor, name, AT_REMOVEDIR); /* unless other versions stay */
    value_unref(removal.versions);
    value_unref(removal.names);
    packs_close(&packs);
    return status;
}
