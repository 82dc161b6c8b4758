/*
 * pack_install.c - installs and removes packs.
 *
 * All checks come before the rename. The contents are flushed to the disk before the rename, so that an installed pack
 * is complete even after a power failure. If the rename itself cannot be flushed, it is undone.
 */
#include "host/plugin/pack/pack_install.h"
#include "adl/document/version.h"
#include "adl/value/json.h"
#include "adl/value/memory.h"
#include "adl/value/nearest.h"
#include "host/base/config/config.h"
#include "host/base/folder.h"
#include "host/plugin/pack/pack_files.h"
#include "host/plugin/pack/pack_installed.h"
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define WALK_DESCRIPTORS 16
#define INCOMING         ".new" /* the pack that is being installed; only one, because of the lock */
#define OUTGOING         ".old" /* the pack that is being removed */

/* ---- The folder of packs ---- */

/* The folder of packs, locked. */
struct packs_lock {
    char *folder;
    int descriptor, lock;
};

static int32_t packs_io_error(struct error *error, const char *what, const char *path) {
    return error_set(error, TN_ERROR, "IO", "cannot %s %s: %s", what, path, strerror(errno));
}

static int packs_remove_entry(const char *path, const struct stat *status, int type, struct FTW *walk) {
    (void)status, (void)type, (void)walk;
    return remove(path);
}

static bool packs_remove_tree(const char *path) {
    return nftw(path, packs_remove_entry, WALK_DESCRIPTORS, FTW_DEPTH | FTW_PHYS) == 0 || errno == ENOENT;
}

/* Removes what a killed installer has left behind. Requires the lock. */
static void packs_remove_leftovers(const struct packs_lock *packs) {
    static const char *const names[] = {INCOMING, OUTGOING};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        tn_value path = value_format("%s/%s", packs->folder, names[i]);
        packs_remove_tree(value_chars(path, NULL));
        value_unref(path);
    }
}

static void packs_unlock(struct packs_lock *packs) {
    if (packs->lock >= 0) close(packs->lock);
    if (packs->descriptor >= 0) close(packs->descriptor);
    mem_free(packs->folder);
}

/* Opens and locks the folder. If it does not exist, creates it, or returns NOT_FOUND if `create` is false. */
static int32_t packs_lock(struct packs_lock *packs, bool create, struct error *error) {
    *packs = (struct packs_lock){.folder = config_packs_folder(), .descriptor = -1, .lock = -1};
    if (!packs->folder)
        return error_set(error, TN_NOT_FOUND, "NOT_FOUND",
                         "no folder for packs: neither XDG_DATA_HOME nor HOME is set");
    int32_t status = create ? folder_create(packs->folder, error) : TN_OK;
    if (status != TN_OK) return status;
    packs->descriptor = open(packs->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (packs->descriptor < 0) {
        bool missing = errno == ENOENT;
        status = packs_io_error(error, "open", packs->folder);
        return missing ? TN_NOT_FOUND : status;
    }
    packs->lock = openat(packs->descriptor, ".lock", O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0666);
    int locked = -1;
    if (packs->lock >= 0) do
            locked = flock(packs->lock, LOCK_EX);
        while (locked != 0 && errno == EINTR);
    if (locked != 0) return packs_io_error(error, "lock", packs->folder);
    packs_remove_leftovers(packs);
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
        if (mkdirat(to->descriptor, folder, 0777) != 0 && errno != EEXIST)
            return packs_io_error(error, "create", folder);
    }
    to->file =
        openat(to->descriptor, path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, program ? 0777 : 0666);
    return to->file >= 0 ? TN_OK : packs_io_error(error, "write", path);
}

static int32_t unpack_data(void *user, const void *bytes, size_t length, struct error *error) {
    struct unpacking *to = user;
    for (const char *at = bytes; length > 0;) {
        ssize_t written = write(to->file, at, length);
        if (written < 0 && errno == EINTR) continue;
        if (written <= 0) return packs_io_error(error, "write", to->path);
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
    return good ? TN_OK : packs_io_error(error, "write", to->path);
}

static int32_t unpack_text(struct unpacking *to, const char *path, const char *text, size_t length,
                           struct error *error) {
    int32_t status = unpack_begin(to, path, length, false, error);
    if (status == TN_OK) status = unpack_data(to, text, length, error);
    if (status == TN_OK) status = unpack_end(to, error);
    return status;
}

/* Writes the record of an installation to the file `path`. */
static int32_t unpack_record(struct unpacking *to, const char *path, const struct pack *pack, const char *key,
                             const char *from, struct error *error) {
    tn_value record = value_set_take(value_object(), "manifest", value_text(pack_manifest(pack)->hash));
    if (key) record = value_set_take(record, "key", value_text(key));
    if (from) record = value_set_take(record, "from", value_text(from));
    char *text = json_text(record, JSON_COMPACT);
    int32_t status = unpack_text(to, path, text, strlen(text), error);
    mem_free(text);
    value_unref(record);
    return status;
}

static int packs_sync_folder(const char *path, const struct stat *status, int type, struct FTW *walk) {
    (void)status, (void)walk;
    if (type != FTW_D) return 0;
    int folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int result = folder >= 0 ? fsync(folder) : -1;
    if (folder >= 0) close(folder);
    return result;
}

static int32_t unpack_pack(struct pack *pack, const char *key, const char *from, const char *folder,
                           struct error *error) {
    struct unpacking to = {
        .folder = folder, .descriptor = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC), .file = -1};
    const struct pack_sink sink = {unpack_begin, unpack_data, unpack_end, &to};
    size_t length, signature_length;
    const char *text = pack_manifest_text(pack, &length), *signature = pack_signature_text(pack, &signature_length);
    if (to.descriptor < 0) return packs_io_error(error, "open", folder);
    int32_t status = unpack_text(&to, PACK_MANIFEST, text, length, error);
    if (status == TN_OK && signature) status = unpack_text(&to, PACK_SIGNATURE, signature, signature_length, error);
    if (status == TN_OK) status = pack_read_files(pack, &sink, error);
    if (status == TN_OK) status = unpack_record(&to, PACK_RECORD, pack, key, from, error);
    /* Also flush the folders, which contain the names of the files. */
    if (status == TN_OK && nftw(folder, packs_sync_folder, WALK_DESCRIPTORS, FTW_PHYS) != 0)
        status = packs_io_error(error, "write", folder);
    if (to.file >= 0) close(to.file);
    close(to.descriptor);
    return status;
}

/* ---- Installing ---- */

static int32_t pack_check_host(const struct pack *pack, struct error *error) {
    struct version version;
    size_t at;
    tn_value required = value_get(pack_manifest(pack)->value, "tenon");
    if (!required || !version_parse(TENON_VERSION, strlen(TENON_VERSION), &version)) return TN_OK;
    const char *constraint = value_chars(required, NULL);
    if (constraint_holds(constraint, strlen(constraint), &version, &at) > 0) return TN_OK;
    return error_set(error, TN_INVALID, "PACK_REFUSED", "%s: it requires Tenon %s; this is Tenon %s", pack_file(pack),
                     constraint, TENON_VERSION);
}

/*
 * A pack of this name and version is installed: fails unless both are the same build, complete and unchanged. Sets
 * *moved if its record names another reference than `from`, or none.
 */
static int32_t pack_compare_installed(struct pack *pack, const char *key, const char *from, const char *place,
                                      bool *moved, struct error *error) {
    const struct pack_manifest *manifest = pack_manifest(pack);
    struct installed_pack installed;
    int32_t status = pack_read_files(pack, NULL, error);
    if (status == TN_OK) status = pack_inspect(place, &installed, error);
    if (status != TN_OK) return status;
    if (strcmp(installed.manifest.hash, manifest->hash) != 0)
        status =
            error_set(error, TN_INVALID, "PACK_REFUSED",
                      "%s: a different build of %s %s is installed; change the version of this one, or run `tenon pack "
                      "remove %s %s` first",
                      pack_file(pack), manifest->name, manifest->version, manifest->name, manifest->version);
    else if (!key != !installed.key || (key && strcmp(key, installed.key) != 0))
        status =
            error_set(error, TN_INVALID, "PACK_REFUSED",
                      "%s: %s %s is installed %s; run `tenon pack remove %s %s` first", pack_file(pack), manifest->name,
                      manifest->version, installed.key ? "with the signature of another key" : "without a signature",
                      manifest->name, manifest->version);
    else
        status = pack_verify_all(&installed, error);
    *moved = from && (!installed.from || strcmp(from, installed.from) != 0);
    installed_pack_finish(&installed);
    return status;
}

/* Replaces the record of an installed pack, so that `pack install` finds it by the reference `from`. */
static int32_t pack_replace_record(const struct packs_lock *packs, const struct pack *pack, const char *key,
                                   const char *from, const char *place, struct error *error) {
    struct unpacking to = {.folder = packs->folder, .descriptor = packs->descriptor, .file = -1};
    tn_value incoming = value_format("%s/" INCOMING, packs->folder);
    tn_value record = value_format("%s/" PACK_RECORD, place);
    int32_t status = unpack_record(&to, INCOMING, pack, key, from, error);
    if (status == TN_OK && rename(value_chars(incoming, NULL), value_chars(record, NULL)) != 0)
        status = packs_io_error(error, "replace", value_chars(record, NULL));
    if (to.file >= 0) close(to.file);
    if (status != TN_OK) packs_remove_tree(value_chars(incoming, NULL));
    value_unref(incoming);
    value_unref(record);
    return status;
}

static int32_t pack_install_again(const struct packs_lock *packs, struct pack *pack, const char *key, const char *from,
                                  const char *place, struct error *error) {
    bool moved = false;
    int32_t status = pack_compare_installed(pack, key, from, place, &moved, error);
    return status == TN_OK && moved ? pack_replace_record(packs, pack, key, from, place, error) : status;
}

/* Flushes the folder of a pack's versions, and its name. On failure errno says why. */
static bool packs_sync_name(const struct packs_lock *packs, const char *name) {
    int folder = openat(packs->descriptor, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0) return false;
    bool synced = fsync(folder) == 0;
    int failure = errno;
    close(folder);
    errno = failure;
    return synced && fsync(packs->descriptor) == 0;
}

/* The last step: makes the pack visible. */
static int32_t pack_publish(const struct packs_lock *packs, const char *name, const char *from, const char *place,
                            struct error *error) {
    if (mkdirat(packs->descriptor, name, 0777) != 0 && errno != EEXIST) return packs_io_error(error, "create", place);
    if (rename(from, place) != 0) {
        int32_t status = packs_io_error(error, "install", place);
        unlinkat(packs->descriptor, name, AT_REMOVEDIR); /* fails if it is not empty */
        return status;
    }
    if (!packs_sync_name(packs, name)) {
        int32_t status = packs_io_error(error, "install", place);
        (void)rename(place, from); /* the caller removes it */
        unlinkat(packs->descriptor, name, AT_REMOVEDIR);
        return status;
    }
    return TN_OK;
}

static int32_t pack_install_new(const struct packs_lock *packs, struct pack *pack, const char *key, const char *from,
                                const char *place, struct error *error) {
    tn_value incoming = value_format("%s/" INCOMING, packs->folder);
    const char *path = value_chars(incoming, NULL);
    int32_t status = mkdir(path, 0777) == 0 ? TN_OK : packs_io_error(error, "create", path);
    if (status == TN_OK) status = unpack_pack(pack, key, from, path, error);
    if (status == TN_OK) status = pack_check_plugins(pack_file(pack), path, pack_manifest(pack), error);
    if (status == TN_OK) status = pack_publish(packs, pack_manifest(pack)->name, path, place, error);
    if (status != TN_OK) packs_remove_tree(path);
    value_unref(incoming);
    return status;
}

int32_t packs_install(struct pack *pack, const char *key, const char *from, enum pack_installed *outcome,
                      struct error *error) {
    const struct pack_manifest *manifest = pack_manifest(pack);
    struct packs_lock packs;
    struct stat installed;
    int32_t status = pack_check_host(pack, error);
    if (status != TN_OK) return status;
    status = packs_lock(&packs, true, error);
    if (status == TN_OK) {
        tn_value place = value_format("%s/%s/%s", packs.folder, manifest->name, manifest->version);
        const char *path = value_chars(place, NULL);
        *outcome = lstat(path, &installed) == 0 ? PACK_ALREADY_INSTALLED : PACK_NEW;
        status = *outcome == PACK_NEW ? pack_install_new(&packs, pack, key, from, path, error)
                                      : pack_install_again(&packs, pack, key, from, path, error);
        value_unref(place);
    }
    packs_unlock(&packs);
    return status;
}

/* ---- Removing ---- */

/* The rename removes the version; deleting the files can be repeated later. */
static int32_t pack_remove_version(const struct packs_lock *packs, const char *name, const char *version,
                                   struct error *error) {
    tn_value place = value_format("%s/%s/%s", packs->folder, name, version);
    tn_value outgoing = value_format("%s/" OUTGOING, packs->folder);
    int32_t status = TN_OK;
    if (rename(value_chars(place, NULL), value_chars(outgoing, NULL)) != 0)
        status = packs_io_error(error, "remove", value_chars(place, NULL));
    else
        packs_remove_tree(value_chars(outgoing, NULL));
    value_unref(place);
    value_unref(outgoing);
    return status;
}

/* What is to be removed. */
struct pack_removal {
    const char *name, *version;
    tn_value versions; /* installed versions to remove */
    tn_value names;    /* names of all installed packs */
    bool known;        /* a pack of this name is installed */
};

static void pack_removal_visit(void *user, const struct installed_pack *pack) {
    struct pack_removal *removal = user;
    removal->names = value_push_take(removal->names, value_text(pack->name));
    if (strcmp(pack->name, removal->name) != 0) return;
    removal->known = true;
    if (!removal->version || strcmp(pack->version, removal->version) == 0)
        removal->versions = value_push_take(removal->versions, value_text(pack->version));
}

static int32_t pack_removal_not_found(const struct pack_removal *removal, struct error *error) {
    struct nearest near;
    if (removal->known)
        return error_set(error, TN_NOT_FOUND, "NOT_FOUND",
                         "version %s of the pack `%s` is not installed; `tenon pack list` shows the installed ones",
                         removal->version, removal->name);
    nearest_init(&near, removal->name, strlen(removal->name));
    for (size_t i = 0; i < value_count(removal->names); i++) {
        const char *name = value_chars(value_at(removal->names, i), NULL);
        nearest_add_candidate(&near, name, strlen(name));
    }
    return error_set(error, TN_NOT_FOUND, "NOT_FOUND", "the pack `%s` is not installed%s", removal->name,
                     near.best ? nearest_hint(&near).text : "; `tenon pack list` shows the installed ones");
}

int32_t packs_remove(const char *name, const char *version, uint32_t *count, struct error *error) {
    struct pack_removal removal = {.name = name, .version = version, .versions = value_array(), .names = value_array()};
    struct packs_lock packs;
    *count = 0;
    int32_t status = packs_lock(&packs, false, error);
    if (status == TN_OK) packs_each(NULL, pack_removal_visit, &removal);
    if ((status == TN_OK && value_count(removal.versions) == 0) || status == TN_NOT_FOUND)
        status = pack_removal_not_found(&removal, error);
    for (size_t i = 0; status == TN_OK && i < value_count(removal.versions); i++) {
        status = pack_remove_version(&packs, name, value_chars(value_at(removal.versions, i), NULL), error);
        *count += status == TN_OK;
    }
    if (status == TN_OK) unlinkat(packs.descriptor, name, AT_REMOVEDIR); /* fails if other versions exist */
    value_unref(removal.versions);
    value_unref(removal.names);
    packs_unlock(&packs);
    return status;
}
