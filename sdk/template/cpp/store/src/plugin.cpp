/*
 * plugin.cpp - the plugin @ID@: a store in one file.
 *
 * All records are in memory, in a map of the SDK, and in one file of JSON. A commit writes the whole file again and
 * renames it, so it is done completely or not at all, even if the machine fails. That suits some thousand records; a
 * store for more appends its changes to a log, or uses a database. A lock excludes other processes.
 *
 * Functions that can fail return a failure of tenon/store/base.h, or nullptr. No exception may reach the host, because
 * its frames cannot unwind: `guarded` converts one to a failure.
 */
#include <cerrno>
#include <climits>
#include <exception>
#include <fcntl.h>
#include <string>
#include <sys/file.h>
#include <sys/stat.h>
#include <tenon/store/backend.h>
#include <tenon/store/map.h>
#include <unistd.h>
#include <vector>

TN_PLUGIN("@ID@", "0.1.0", "What the plugin is for, in one line")
TN_NOTE("{\"plugin\": {\"licence\": \"MIT\"}}")

struct tn_store {
    struct tn_store_map map {};
    std::string path;
    int lock = -1;
    struct stat seen {}; /* of the file whose records are in the map */
};

namespace {

/* ---- Helpers ---- */

/* A reference to a value, released at the end of its scope. */
class Value {
  public:
    explicit Value(tn_value owned) : value(owned) {}
    ~Value() { tn_release(value); }
    Value(const Value &) = delete;
    Value &operator=(const Value &) = delete;
    operator tn_value() const { return value; }

  private:
    tn_value value;
};

/* A descriptor, closed at the end of its scope. */
class File {
  public:
    File(const std::string &path, int flags) : descriptor(open(path.c_str(), flags | O_CLOEXEC, 0600)) {}
    ~File() {
        if (descriptor >= 0) (void)close(descriptor);
    }
    File(const File &) = delete;
    File &operator=(const File &) = delete;
    operator int() const { return descriptor; }

  private:
    int descriptor;
};

template <typename Body> tn_value guarded(Body body) noexcept {
    try {
        return body();
    } catch (const std::exception &exception) {
        return tn_store_failure("STORE_ERROR", "%s", exception.what());
    }
}

tn_value file_failure(const tn_store *store, const char *what) {
    const char *code = errno == ENOSPC || errno == EDQUOT || errno == EFBIG ? "STORE_FULL"
                       : errno == EROFS || errno == EACCES                   ? "STORE_READ_ONLY"
                                                                             : "STORE_ERROR";
    return tn_store_failure(code, "%s: cannot %s: %s", store->path.c_str(), what, strerror(errno));
}

/* ---- Files ---- */

bool write_all(int file, struct tn_store_text text) {
    for (ssize_t written; text.length > 0; text.data += written, text.length -= static_cast<uint64_t>(written))
        if ((written = write(file, text.data, text.length)) < 0) return false;
    return fsync(file) == 0;
}

/* Replaces the file. The directory is synchronised too, so that the new name is durable. */
tn_value replace_file(const tn_store *store, struct tn_store_text text) {
    const std::string made = store->path + ".new";
    {
        const File file(made, O_WRONLY | O_CREAT | O_TRUNC);
        if (file < 0) return file_failure(store, "create the new file");
        if (!write_all(file, text)) return file_failure(store, "write");
    }
    if (rename(made.c_str(), store->path.c_str()) != 0) return file_failure(store, "rename the new file");
    const File folder(store->path.substr(0, store->path.find_last_of('/')), O_RDONLY | O_DIRECTORY);
    return folder >= 0 && fsync(folder) == 0 ? nullptr : file_failure(store, "synchronise its folder");
}

/* ---- Records as JSON ---- */

void put_entry(tn_builder *builder, struct tn_store_text collection, const struct tn_store_entry *entry) {
    tn.value->begin(builder, TN_OBJECT);
    tn_put_take(builder, "collection", tn_text_n(collection.data, collection.length));
    tn_put_take(builder, "key", tn_text_n(entry->key.data, entry->key.length));
    tn_put_int(builder, "version", entry->version);
    tn_put(builder, "value", entry->value);
    tn_put_int(builder, "size", static_cast<int64_t>(entry->size));
    if (entry->words.data != nullptr) tn_put_take(builder, "words", tn_text_n(entry->words.data, entry->words.length));
    tn_put_begin(builder, "vector", TN_ARRAY);
    for (uint64_t i = 0; i < entry->vector_count; i++)
        tn_put_num(builder, nullptr, static_cast<double>(entry->vector[i]));
    tn.value->end(builder);
    tn_put_int(builder, "expires_at", entry->expires_at);
    tn.value->end(builder);
}

tn_value save(tn_store *store) {
    tn_builder *builder = tn_builder_new();
    tn.value->begin(builder, TN_ARRAY);
    for (const struct tn_store_collection *at = store->map.collections; at != nullptr; at = at->next)
        for (uint64_t i = 0; i < at->count; i++) put_entry(builder, at->name, at->entries[i]);
    tn.value->end(builder);
    const Value all(tn_finish(builder)), json(all != nullptr ? tn_to_json(all) : nullptr);
    const struct tn_store_text text = tn_store_text_of(json);
    tn_value why = text.data != nullptr ? replace_file(store, text) : tn_store_failure_memory();
    if (why == nullptr) (void)stat(store->path.c_str(), &store->seen);
    return why;
}

tn_value load_entry(struct tn_store_map *map, tn_value saved) {
    const struct tn_store_text name = tn_store_text_of(tn_get(saved, "collection"));
    tn_value numbers = tn_get(saved, "vector");
    std::vector<float> vector;
    for (uint64_t i = 0, count = tn.value->count(numbers); i < count; i++) {
        double number = 0;
        (void)tn.value->as_double(tn.value->at(numbers, i), &number);
        vector.push_back(static_cast<float>(number));
    }
    struct tn_store_entry made {};
    made.key = tn_store_text_of(tn_get(saved, "key"));
    made.version = tn_get_int(saved, "version", 0);
    made.value = tn_get(saved, "value");
    made.size = static_cast<uint64_t>(tn_get_int(saved, "size", 0));
    made.words = tn_store_text_of(tn_get(saved, "words"));
    made.vector = vector.empty() ? nullptr : vector.data(); /* tn_store_map_entry_new copies it */
    made.vector_count = vector.size();
    made.expires_at = tn_get_int(saved, "expires_at", INT64_MAX);
    if (name.data == nullptr || made.key.data == nullptr || made.version < 1 || made.value == nullptr)
        return tn_store_failure("STORE_CORRUPT", "the file has a record that this store has not written");
    struct tn_store_entry *entry = tn_store_map_entry_new(&made);
    const bool put = entry != nullptr && tn_store_map_put_take(map, tn_store_map_collection(map, name), entry);
    return put ? nullptr : tn_store_failure_memory();
}

tn_value load_text(tn_store *store, const std::string &json) {
    const Value all(tn_from_json(json.data(), json.size()));
    tn_value why = tn.value->kind(all) == TN_ARRAY
                       ? nullptr
                       : tn_store_failure("STORE_CORRUPT", "%s does not hold an array of records", store->path.c_str());
    tn_store_map_finish(&store->map);
    for (uint64_t i = 0; why == nullptr && i < tn.value->count(all); i++)
        why = load_entry(&store->map, tn.value->at(all, i));
    tn_store_map_commit(&store->map);
    return why;
}

/* Reads the file, if another process has written it. */
tn_value load(tn_store *store) {
    struct stat now;
    if (stat(store->path.c_str(), &now) != 0) return errno == ENOENT ? nullptr : file_failure(store, "read");
    if (now.st_ino == store->seen.st_ino && now.st_mtim.tv_sec == store->seen.st_mtim.tv_sec &&
        now.st_mtim.tv_nsec == store->seen.st_mtim.tv_nsec)
        return nullptr;
    const File file(store->path, O_RDONLY);
    if (file < 0) return file_failure(store, "read");
    std::string text;
    std::vector<char> piece(65536);
    ssize_t length;
    while ((length = read(file, piece.data(), piece.size())) > 0)
        text.append(piece.data(), static_cast<std::size_t>(length));
    if (length < 0) return file_failure(store, "read");
    tn_value why = load_text(store, text);
    if (why == nullptr) store->seen = now;
    return why;
}

/* ---- The functions of a backend ---- */

tn_value lock_and_load(tn_store *store) {
    if (flock(store->lock, LOCK_EX) != 0) return file_failure(store, "lock");
    tn_value why = guarded([=] { return load(store); });
    if (why != nullptr) (void)flock(store->lock, LOCK_UN);
    return why;
}

void unlock(tn_store *store) { (void)flock(store->lock, LOCK_UN); }

void backend_rollback(tn_store *store) {
    tn_store_map_rollback(&store->map);
    unlock(store);
}

tn_value backend_commit(tn_store *store) {
    tn_value why = store->map.undo_count > 0 ? guarded([=] { return save(store); }) : nullptr;
    if (why != nullptr) return why; /* backend_rollback follows */
    tn_store_map_commit(&store->map);
    unlock(store);
    return nullptr;
}

tn_value backend_find(tn_store *store, struct tn_store_text collection, struct tn_store_text key, int64_t now,
                      bool want_value, struct tn_store_record *out) {
    return tn_store_map_read(&store->map, collection, key, now, want_value, out);
}

tn_value backend_write(tn_store *store, const struct tn_store_change *change, int64_t now) {
    return tn_store_map_write(&store->map, change, now);
}

tn_value backend_remove(tn_store *store, struct tn_store_text collection, struct tn_store_text key) {
    return tn_store_map_delete(&store->map, collection, key);
}

tn_value backend_remove_range(tn_store *store, const struct tn_store_selection *selection, int64_t now,
                              int64_t *count) {
    return tn_store_map_delete_range(&store->map, selection, now, count);
}

tn_value backend_list(tn_store *store, const struct tn_store_selection *selection, int64_t now,
                      struct tn_store_page *page) {
    return tn_store_map_list(&store->map, selection, now, page);
}

tn_value backend_count(tn_store *store, const struct tn_store_selection *selection, int64_t now, int64_t *count) {
    return tn_store_map_count(&store->map, selection, now, count);
}

tn_value backend_search(tn_store *store, const struct tn_store_selection *selection, int64_t now,
                        struct tn_store_page *page) {
    return tn_store_map_search(&store->map, selection, now, page);
}

tn_value backend_collections(tn_store *store, int64_t now, struct tn_store_page *page) {
    return tn_store_map_collections(&store->map, now, page);
}

const struct tn_store_backend backend = {lock_and_load, backend_commit, backend_rollback,     backend_find,
                                         backend_write, backend_remove, backend_remove_range, backend_list,
                                         backend_count, backend_search, backend_collections, nullptr,
                                         nullptr,       nullptr};

/* ---- The interface ---- */

void TN_ABI store_close(tn_store *store) {
    if (store == nullptr) return;
    if (store->lock >= 0) (void)close(store->lock);
    tn_store_map_finish(&store->map);
    delete store;
}

tn_value open_path(tn_store *store, tn_value options) {
    static const char *const own[] = {nullptr}; /* names of further options */
    struct tn_store_text path;
    tn_value why = tn_store_read_options(options, "@ID@", own, &path);
    if (why != nullptr) return why;
    store->path.assign(path.data, path.length);
    store->lock = open((store->path + ".lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (store->lock < 0) return file_failure(store, "open the file of its lock");
    why = lock_and_load(store); /* reports a damaged file now */
    if (why == nullptr) unlock(store);
    return why;
}

int32_t TN_ABI store_open(void *, tn_value options, tn_store **out, tn_value *error) {
    tn_store *store = nullptr;
    tn_value why = guarded([&] {
        store = new tn_store;
        return open_path(store, options);
    });
    if (why == nullptr)
        *out = store;
    else
        store_close(store);
    return tn_store_fail_take(why, error);
}

int32_t TN_ABI store_commit(tn_store *store, tn_value batch, tn_value *result, tn_value *error) {
    return tn_store_backend_commit(&backend, store, batch, result, error);
}

int32_t TN_ABI store_query(tn_store *store, tn_value query, tn_value *result, tn_value *error) {
    tn_value why = lock_and_load(store);
    if (why != nullptr) return tn_store_fail_take(why, error);
    const int32_t status = tn_store_backend_query(&backend, store, query, result, error);
    unlock(store);
    return status;
}

int32_t TN_ABI store_maintain(tn_store *store, tn_value *result, tn_value *error) {
    int64_t removed = 0, bytes = 0;
    tn_value why = lock_and_load(store);
    if (why != nullptr) return tn_store_fail_take(why, error);
    why = tn_store_map_remove_expired(&store->map, tn.core->wall_ms(tn.host), &removed, &bytes);
    if (why == nullptr && removed > 0) why = guarded([=] { return save(store); });
    if (why == nullptr)
        tn_store_map_commit(&store->map);
    else
        tn_store_map_rollback(&store->map);
    unlock(store);
    return why != nullptr ? tn_store_fail_take(why, error) : tn_store_make_maintained(removed, bytes, result);
}

const tn_store_draft store_functions = {sizeof(tn_store_draft), store_open,  store_close,
                                        store_commit,           store_query, store_maintain,
                                        nullptr,                nullptr,     nullptr};

} // namespace

TN_PROVIDES(store, TN_STORE_DRAFT, &store_functions)
