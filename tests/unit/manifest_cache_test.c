/*
 * manifest_cache_test.c - the cache of manifests: what it saves, when it is not used, and what a cache that is damaged,
 * lies, or belongs to another user can do.
 */
#include "adl/value/buffer.h"
#include "adl/value/json.h"
#include "adl/value/memory.h"
#include "host/base/log.h"
#include "host/plugin/abi/abi.h"
#include "host/plugin/registry/elf_note.h"
#include "host/plugin/registry/manifest.h"
#include "host/plugin/registry/manifest_cache.h"
#include "host/plugin/registry/plugin.h"
#include "host/plugin/registry/plugin_search.h"
#include "host/plugin/registry/registry.h"
#include <dirent.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#define AT(name) TENON_TEST_PLUGINS "/" name

/* ---- A folder of plugins, and a place for caches ---- */

static char root[] = "/tmp/tenon-manifests-XXXXXX", folder[64], place[64];

static const tn_core_1 core = {.size = sizeof(tn_core_1)};

static const char *no_text(tn_value value, uint64_t *length) {
    (void)value, (void)length;
    return NULL;
}

static tn_value no_member(tn_value object, const char *key, uint64_t length) {
    (void)object, (void)key, (void)length;
    return NULL;
}

static const tn_value_1 values = {.size = sizeof(tn_value_1), .get = no_member, .as_text = no_text};
static const struct registry_interface interfaces[] = {
    {TN_CORE_1, &core, false, NULL},
    {TN_VALUE_1, &values, false, NULL},
    {TN_TASK_1, &core, false, NULL},
    {NULL, NULL, false, NULL},
};

/* A path below the root, until the next call but three. */
__attribute__((format(printf, 1, 2))) static const char *at(const char *format, ...) {
    static char paths[4][512];
    static unsigned next;
    char *path = paths[next++ % 4];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(path, sizeof paths[0], format, arguments);
    va_end(arguments);
    return path;
}

static char *read_file(const char *path, size_t *size) {
    FILE *in = fopen(path, "rb");
    if (!in) fail_msg("%s", path);
    fseek(in, 0, SEEK_END);
    *size = (size_t)ftell(in);
    rewind(in);
    char *bytes = mem_alloc(*size + 1);
    assert_int_equal(fread(bytes, 1, *size, in), *size);
    fclose(in);
    return bytes;
}

static void write_file(const char *path, const char *bytes, size_t size) {
    FILE *out = fopen(path, "wb");
    if (!out) fail_msg("%s", path);
    assert_int_equal(fwrite(bytes, 1, size, out), size);
    assert_int_equal(fclose(out), 0);
}

static void copy_plugin(const char *from, const char *name) {
    size_t size;
    char *bytes = read_file(from, &size);
    write_file(at("%s/%s", folder, name), bytes, size);
    mem_free(bytes);
}

static void remove_all(const char *path) {
    DIR *list = opendir(path);
    for (const struct dirent *item; list && (item = readdir(list));) {
        char inner[512];
        if (strcmp(item->d_name, ".") == 0 || strcmp(item->d_name, "..") == 0) continue;
        snprintf(inner, sizeof inner, "%s/%s", path, item->d_name);
        if (unlink(inner) != 0) remove_all(inner);
    }
    if (list) closedir(list);
    (void)rmdir(path);
}

static struct registry *scan_with(const char *where, bool refresh) {
    struct registry *registry = registry_new(
        &(struct registry_options){.interfaces = interfaces, .cache_place = where, .cache_refresh = refresh});
    struct search search;
    search_init(&search);
    search_add(&search, folder, SEARCH_CONFIG, "tenon.yaml");
    assert_int_equal(registry_scan(registry, &search, NULL), TN_OK);
    search_finish(&search);
    return registry;
}

static struct registry *scan(void) { return scan_with(place, false); }

/* True if the cache has this file, as it is now. */
static bool is_cached(const char *name) {
    struct manifest_cache *cache = manifest_cache_open(place, folder, false);
    struct stat status;
    assert_int_equal(stat(at("%s/%s", folder, name), &status), 0);
    bool found = manifest_cache_lookup(cache, name, &status) != NULL;
    manifest_cache_free(cache);
    return found;
}

/* A file that was changed just now is not cached: scans until it is old enough. */
static void fill(const char *name) {
    while (!is_cached(name)) registry_free(scan());
}

static const char *cache_file(void) {
    DIR *list = opendir(place);
    const char *path = NULL;
    for (const struct dirent *item; list && (item = readdir(list));)
        if (item->d_name[0] != '.') path = at("%s/%s", place, item->d_name);
    if (list) closedir(list);
    return path;
}

static int setup(void **state) {
    (void)state;
    snprintf(root, sizeof root, "/tmp/tenon-manifests-XXXXXX");
    assert_non_null(mkdtemp(root));
    snprintf(folder, sizeof folder, "%s/plugins", root);
    snprintf(place, sizeof place, "%s/cache/manifests", root);
    assert_int_equal(mkdir(folder, 0755), 0);
    copy_plugin(AT("good/good.so"), "good.so");
    return 0;
}

static int teardown(void **state) {
    (void)state;
    (void)chmod(at("%s/cache", root), 0700);
    remove_all(root);
    return 0;
}

/* The plugin of good.so is as it is without a cache, and works. */
static void is_right(struct registry *registry) {
    struct component *component = NULL;
    struct error error = ERROR_INIT;
    const struct component_info *info = registry_known(registry, "node", "test.one");
    assert_non_null(info);
    assert_string_not_equal(info->title, "");
    assert_non_null(info->manifest);
    struct manifest manifest;
    assert_int_equal(manifest_read(AT("good/good.so"), &manifest, NULL), TN_OK);
    assert_true(value_equal(plugin_manifest(registry_plugin(registry, "test.good")), manifest.value));
    manifest_finish(&manifest);
    if (registry_resolve(registry, "node", "test.one", &component, &error) != TN_OK) fail_msg("%s", error.message);
    assert_ptr_equal(component->info, info);
    error_finish(&error);
}

/* ---- What it saves ---- */

static void remembers(void **state) {
    (void)state;
    fill("good.so");
    struct registry *registry = scan();
    assert_string_equal(plugin_version(registry_plugin(registry, "test.good")), "1.2.3");
    is_right(registry);
    registry_free(registry);
    struct stat status;
    assert_int_equal(stat(cache_file(), &status), 0);
    assert_int_equal(status.st_mode & 0777, 0600);
    assert_int_equal(stat(place, &status), 0);
    assert_int_equal(status.st_mode & 0777, 0700);
    /* Nothing has changed: the file is not written again. */
    ino_t before = (assert_int_equal(stat(cache_file(), &status), 0), status.st_ino);
    registry_free(scan());
    assert_int_equal(stat(cache_file(), &status), 0);
    assert_int_equal(status.st_ino, before);
    registry_free(scan_with(place, true)); /* `refresh` writes it */
    assert_int_equal(stat(cache_file(), &status), 0);
    assert_int_not_equal(status.st_ino, before);
}

static void count_plugin(void *user, struct plugin *plugin) {
    (void)plugin;
    ++*(size_t *)user;
}

static size_t plugins_of(struct registry *registry) {
    size_t count = 0;
    registry_each_found_plugin(registry, count_plugin, &count);
    return count;
}

static void follows_the_files(void **state) {
    (void)state;
    copy_plugin(AT("later/later.so"), "later.so");
    copy_plugin(AT("library/library.so"), "library.so"); /* not a plugin */
    fill("good.so");
    fill("later.so");
    struct registry *registry = scan();
    assert_int_equal(plugins_of(registry), 2);
    registry_free(registry);
    /* Another file of the same name, in the same inode and then in another one. */
    copy_plugin(AT("impostor/impostor.so"), "good.so");
    registry = scan();
    assert_string_equal(plugin_version(registry_plugin(registry, "test.good")), "9.9.9");
    registry_free(registry);
    fill("good.so");
    copy_plugin(AT("good/good.so"), "new");
    assert_int_equal(rename(at("%s/new", folder), at("%s/good.so", folder)), 0);
    registry = scan();
    is_right(registry);
    registry_free(registry);
    fill("good.so");
    /* Only the times differ. */
    assert_int_equal(utimensat(AT_FDCWD, at("%s/good.so", folder), NULL, 0), 0);
    assert_false(is_cached("good.so"));
    fill("good.so");
    assert_int_equal(unlink(at("%s/good.so", folder)), 0);
    registry = scan();
    assert_int_equal(plugins_of(registry), 1);
    assert_null(registry_plugin(registry, "test.good"));
    registry_free(registry);
    copy_plugin(AT("good/good.so"), "good.so");
    assert_false(is_cached("good.so")); /* it was forgotten */
    assert_true(is_cached("later.so"));
}

static bool list_component(void *user, const struct component_info *component) {
    buffer_format(user, "%s %s %s\n", component->kind, component->id, component->title);
    return true;
}

/* Components and problems, as text. Free it with mem_free. */
static char *describe(struct registry *registry) {
    struct buffer text;
    struct catalog catalog = {.self = NULL};
    buffer_init(&text, SIZE_MAX);
    registry_catalog(registry, &catalog);
    catalog.each(catalog.self, NULL, list_component, &text);
    for (size_t i = 0; i < registry_problems(registry); i++) {
        const struct problem *problem = registry_problem_at(registry, i);
        buffer_format(&text, "%s %s %s\n", problem->path, problem->code, problem->message);
    }
    return buffer_detach(&text, NULL);
}

/* Plugins that claim the same component or id, reserved names, and broken files: the same with a cache and without. */
static void reports_the_same(void **state) {
    (void)state;
    copy_plugin(AT("duplicate/duplicate.so"), "duplicate.so");
    copy_plugin(AT("impostor/impostor.so"), "impostor.so");
    copy_plugin(AT("bad_manifest/bad_manifest.so"), "bad.so");
    copy_plugin(AT("broken_schema/broken_schema.so"), "broken.so");
    copy_plugin(TENON_CORE_PLUGIN, "core.so"); /* a copy of a bundled one: that one would be used */
    write_file(at("%s/text.so", folder), "text", 4);
    static const char *const names[] = {"good.so", "duplicate.so", "impostor.so", "broken.so"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) fill(names[i]);
    struct registry *plain = scan_with(NULL, false), *cached = scan();
    char *expected = describe(plain), *found = describe(cached);
    assert_string_equal(found, expected);
    assert_non_null(strstr(found, "PLUGIN_DUPLICATE"));
    mem_free(expected);
    mem_free(found);
    registry_free(plain);
    registry_free(cached);
}

/* Many components, so that their table grows, each found by its name, in both ways. */
static void finds_among_many(void **state) {
    (void)state;
    size_t size;
    char *bytes = read_file(AT("good/good.so"), &size), name[32];
    for (int i = 0; i < 300; i++) { /* test.good, test.one and test.two get other names of the same length */
        static const char *const from[] = {"test.good", "test.one", "test.two"};
        char *changed = mem_alloc(size + 1);
        memcpy(changed, bytes, size);
        for (size_t k = 0; k < sizeof from / sizeof *from; k++) {
            size_t length = strlen(from[k]);
            for (size_t byte = 0; byte + length <= size; byte++)
                if (memcmp(changed + byte, from[k], length) == 0) {
                    snprintf(name, sizeof name, "%03d", i);
                    memcpy(changed + byte + 1, name, 3);
                }
        }
        snprintf(name, sizeof name, "%03d.so", i);
        write_file(at("%s/%s", folder, name), changed, size);
        mem_free(changed);
    }
    mem_free(bytes);
    fill("299.so");
    struct registry *registry = scan();
    uint64_t generation = registry_generation(registry);
    for (int i = 299; i >= 0; i--) {
        snprintf(name, sizeof name, "t%03d.one", i);
        const struct component_info *info = registry_known(registry, "node", name);
        if (!info) fail_msg("%s", name);
        assert_string_equal(info->id, name);
        assert_string_equal(value_chars(value_get(info->manifest, "id"), NULL), name);
        assert_ptr_equal(registry_known(registry, "node", name), info);
    }
    assert_null(registry_known(registry, "node", "t300.one"));
    assert_null(registry_known(registry, "tool", "t000.one"));
    struct registry *plain = scan_with(NULL, false);
    char *expected = describe(plain), *found = describe(registry);
    assert_string_equal(found, expected);
    assert_true(registry_generation(registry) == generation); /* what was known does not count as new */
    mem_free(expected);
    mem_free(found);
    registry_free(plain);
    registry_free(registry);
}

/* ---- A cache that lies ---- */

/* Writes a cache that says `names` and `notes` of good.so. Takes what the manifests have. */
static void lie_take(struct manifest *names, struct manifest *notes) {
    struct manifest_cache *cache = manifest_cache_open(place, folder, true);
    struct stat status;
    assert_int_equal(stat(at("%s/good.so", folder), &status), 0);
    struct manifest lie = {
        .value = names->value, .notes = notes->notes, .notes_size = notes->notes_size, .status = status};
    manifest_cache_add(cache, "good.so", &status, &lie);
    manifest_cache_save(cache);
    manifest_cache_free(cache);
    manifest_finish(names);
    manifest_finish(notes);
    assert_true(is_cached("good.so"));
}

static void is_refused(const char *id, const char *component_id) {
    struct registry *registry = scan();
    struct component *component = NULL;
    struct error error = ERROR_INIT;
    assert_non_null(registry_plugin(registry, id));
    assert_int_not_equal(registry_resolve(registry, "node", component_id, &component, &error), TN_OK);
    assert_null(component);
    if (!strstr(error.message, "the cached manifest is not the plugin's; the cache was removed: start again"))
        fail_msg("%s", error.message);
    assert_string_equal(error.code, "PLUGIN_REFUSED");
    assert_int_equal(plugin_state(registry_plugin(registry, id)), PLUGIN_REFUSED);
    error_finish(&error);
    registry_free(registry);
    assert_null(cache_file());
    registry = scan(); /* the next start is right */
    is_right(registry);
    registry_free(registry);
}

static struct manifest manifest_at(const char *path) {
    struct manifest manifest;
    assert_int_equal(manifest_read(path, &manifest, NULL), TN_OK);
    return manifest;
}

/* {"effects": […]} of a component is replaced. Takes the manifest. */
static tn_value with_effects_take(tn_value manifest, const char *effect) {
    tn_value components = value_array();
    for (size_t i = 0; i < value_count(manifest_components(manifest)); i++) {
        tn_value effects = value_push_take(value_array(), value_text(effect));
        components = value_push_take(
            components, value_set_take(value_ref(value_at(manifest_components(manifest), i)), "effects", effects));
    }
    return value_set_take(manifest, "components", components);
}

static void lies_give_no_rights(void **state) {
    (void)state;
    fill("good.so"); /* it is old enough now */
    /* The notes of another plugin: everything agrees, but the file is not that plugin. */
    struct manifest names = manifest_at(AT("impostor/impostor.so")), notes = manifest_at(AT("impostor/impostor.so"));
    lie_take(&names, &notes);
    is_refused("test.good", "test.impostor");
    /* Names that the notes do not have: components, the version, a flag. */
    names = manifest_at(AT("impostor/impostor.so")), notes = manifest_at(AT("good/good.so"));
    fill("good.so");
    lie_take(&names, &notes);
    is_refused("test.good", "test.impostor");
    names = manifest_at(AT("good/good.so")), notes = manifest_at(AT("good/good.so"));
    names.value = with_effects_take(names.value, "secret:KEY");
    fill("good.so");
    lie_take(&names, &notes);
    is_refused("test.good", "test.one");
    /* Effects without a flag come from the notes. */
    names = manifest_at(AT("good/good.so")), notes = manifest_at(AT("good/good.so"));
    names.value = with_effects_take(names.value, "fs.write:/");
    fill("good.so");
    lie_take(&names, &notes);
    struct registry *registry = scan();
    is_right(registry);
    registry_free(registry);
}

/* One more effect in the notes: they agree with the names, but not with the file. */
static void notes_are_compared(void **state) {
    (void)state;
    static const char text[] = "{\"plugin\":{\"effects\":[\"fs.write:/\"]}}";
    struct manifest names = manifest_at(AT("good/good.so")), notes = manifest_at(AT("good/good.so"));
    uint32_t length = sizeof text - 1;
    fill("good.so");
    notes.notes = mem_resize(notes.notes, notes.notes_size + sizeof length + length);
    memcpy(notes.notes + notes.notes_size, &length, sizeof length);
    memcpy(notes.notes + notes.notes_size + sizeof length, text, length);
    notes.notes_size += sizeof length + length;
    lie_take(&names, &notes);
    is_refused("test.good", "test.one");
}

/* ---- Damage ---- */

/* What the registry knows is right, whatever the cache file is. */
static void is_right_with(const char *path, const char *bytes, size_t size) {
    write_file(path, bytes, size);
    struct registry *registry = scan();
    const struct component_info *info = registry_known(registry, "node", "test.one");
    assert_non_null(info);
    assert_non_null(info->manifest);
    assert_string_not_equal(info->title, "");
    assert_string_equal(plugin_version(registry_plugin(registry, "test.good")), "1.2.3");
    assert_int_equal(plugin_state(registry_plugin(registry, "test.good")), PLUGIN_KNOWN);
    registry_free(registry);
}

static void ignores_damage(void **state) {
    (void)state;
    size_t size;
    fill("good.so");
    const char *path = strdup(cache_file());
    char *bytes = read_file(path, &size);
    assert_true(size < 16384);
    for (size_t i = 0; i < size; i++) {
        bytes[i] = (char)(bytes[i] ^ (1 << i % 8));
        is_right_with(path, bytes, size);
        bytes[i] = (char)(bytes[i] ^ (1 << i % 8));
    }
    for (size_t length = 0; length < size; length += length < 512 ? 1 : 37) is_right_with(path, bytes, length);
    bytes[size] = 0;
    is_right_with(path, bytes, size + 1);
    is_right_with(path, bytes, size);
    mem_free(bytes);
    free((void *)(uintptr_t)path);
}

/* ---- Places and permissions ---- */

static void uses_only_its_own(void **state) {
    (void)state;
    fill("good.so");
    const char *path = strdup(cache_file());
    assert_int_equal(chmod(path, 0620), 0);
    assert_false(is_cached("good.so"));
    assert_int_equal(chmod(path, 0602), 0);
    assert_false(is_cached("good.so"));
    assert_int_equal(chmod(path, 0600), 0);
    assert_true(is_cached("good.so"));
    assert_int_equal(chmod(place, 0777), 0);
    assert_false(is_cached("good.so"));
    assert_int_equal(unlink(path), 0);
    registry_free(scan());
    assert_null(cache_file()); /* and writes none there */
    assert_int_equal(chmod(place, 0700), 0);
    /* A link, a pipe and a folder instead of the file. */
    size_t size;
    fill("good.so");
    char *bytes = read_file(path, &size);
    write_file(at("%s/elsewhere", root), bytes, size);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(symlink(at("%s/elsewhere", root), path), 0);
    assert_false(is_cached("good.so"));
    assert_int_equal(unlink(path), 0);
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_false(is_cached("good.so"));
    assert_int_equal(unlink(path), 0);
    assert_int_equal(mkdir(path, 0700), 0);
    struct registry *registry = scan();
    is_right(registry);
    registry_free(registry);
    mem_free(bytes);
    free((void *)(uintptr_t)path);
}

static void works_without_a_place(void **state) {
    (void)state;
    fill("good.so");
    write_file(at("%s/file", root), "", 0);
    struct registry *registry = scan_with(at("%s/file/manifests", root), false);
    is_right(registry);
    registry_free(registry);
    registry = scan_with("/proc/self/nothing", false);
    is_right(registry);
    registry_free(registry);
    /* A full disk: no file remains, not even a part of one. */
    struct rlimit limit, low;
    assert_int_equal(unlink(cache_file()), 0);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
    low = limit;
    low.rlim_cur = 100;
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &low), 0);
    registry = scan();
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    is_right(registry);
    registry_free(registry);
    assert_null(cache_file());
}

static void finds_its_place(void **state) {
    (void)state;
    setenv("HOME", "/home/ada", 1);
    unsetenv("XDG_CACHE_HOME");
    unsetenv(MANIFEST_CACHE_VARIABLE);
    char *found = manifest_cache_place();
    assert_string_equal(found, "/home/ada/.cache/tenon/manifests");
    mem_free(found);
    setenv("XDG_CACHE_HOME", "/var/cache/ada", 1);
    found = manifest_cache_place();
    assert_string_equal(found, "/var/cache/ada/tenon/manifests");
    mem_free(found);
    setenv("XDG_CACHE_HOME", "relative", 1);
    found = manifest_cache_place();
    assert_string_equal(found, "/home/ada/.cache/tenon/manifests");
    mem_free(found);
    setenv(MANIFEST_CACHE_VARIABLE, "off", 1);
    assert_null(manifest_cache_place());
    unsetenv(MANIFEST_CACHE_VARIABLE);
    unsetenv("HOME");
    assert_null(manifest_cache_place());
}

static size_t files_at_place(void) {
    DIR *list = opendir(place);
    size_t count = 0;
    for (const struct dirent *item; list && (item = readdir(list));) count += item->d_name[0] != '.';
    if (list) closedir(list);
    return count;
}

static void bounds_the_files(void **state) {
    (void)state;
    fill("good.so");
    for (unsigned i = 0; i < MANIFEST_CACHE_FOLDERS; i++) {
        const char *path = at("%s/%032u", place, i);
        write_file(path, "old", 3);
        struct timespec times[2] = {{1000 + i, 0}, {1000 + i, 0}};
        assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
    }
    write_file(at("%s/left.1.tmp", place), "x", 1);
    struct timespec times[2] = {{1000, 0}, {1000, 0}};
    assert_int_equal(utimensat(AT_FDCWD, at("%s/left.1.tmp", place), times, 0), 0);
    registry_free(scan_with(place, true));
    assert_int_equal(files_at_place(), MANIFEST_CACHE_FOLDERS / 2);
    assert_int_equal(access(at("%s/left.1.tmp", place), F_OK), -1);
    assert_int_equal(access(at("%s/%032u", place, MANIFEST_CACHE_FOLDERS - 1), F_OK), 0); /* the newest ones stay */
    assert_true(is_cached("good.so"));
}

/* ---- Several processes ---- */

static void survives_concurrent_writers(void **state) {
    (void)state;
    pid_t children[3];
    copy_plugin(AT("later/later.so"), "later.so");
    fill("good.so");
    for (size_t i = 0; i < 3; i++) {
        children[i] = fork();
        if (children[i] != 0) continue;
        for (int round = 0; round < 100; round++) {
            struct registry *registry = scan_with(place, round % 2 == 0);
            const struct component_info *info = registry_known(registry, "node", "test.one");
            bool good = info && info->manifest && *info->title && plugins_of(registry) == 2;
            registry_free(registry);
            if (!good) _exit(1);
        }
        _exit(0);
    }
    for (size_t i = 0; i < 3; i++) {
        int status;
        assert_int_equal(waitpid(children[i], &status, 0), children[i]);
        assert_int_equal(status, 0);
    }
    assert_int_equal(files_at_place(), 1);
    assert_true(is_cached("good.so"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(remembers, setup, teardown),
        cmocka_unit_test_setup_teardown(follows_the_files, setup, teardown),
        cmocka_unit_test_setup_teardown(reports_the_same, setup, teardown),
        cmocka_unit_test_setup_teardown(finds_among_many, setup, teardown),
        cmocka_unit_test_setup_teardown(lies_give_no_rights, setup, teardown),
        cmocka_unit_test_setup_teardown(notes_are_compared, setup, teardown),
        cmocka_unit_test_setup_teardown(ignores_damage, setup, teardown),
        cmocka_unit_test_setup_teardown(uses_only_its_own, setup, teardown),
        cmocka_unit_test_setup_teardown(works_without_a_place, setup, teardown),
        cmocka_unit_test(finds_its_place),
        cmocka_unit_test_setup_teardown(bounds_the_files, setup, teardown),
        cmocka_unit_test_setup_teardown(survives_concurrent_writers, setup, teardown),
    };
    log_set_level(NULL, LOG_ERROR);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
