/*
 * pack_test.c - archives and manifests of packs: each fault is refused with its own message. An archive in which a byte
 * is changed or missing is refused, or has the same contents.
 */
#include "adl/value/buffer.h"
#include "adl/value/memory.h"
#include "host/plugin/pack/archive.h"
#include "host/plugin/pack/pack.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

/* ---- Making archives ---- */

struct file {
    const char *path, *text;
    bool program;
};

static const struct file plain[] = {
    {"a.yaml", "version: \"1.0\"\n", false}, {"plugins/x.so", "no code", true}, {"prompts/empty.txt", "", false}};

static void hash_of(const char *text, char out[TN_SHA256_TEXT]) {
    struct tn_sha256 state;
    tn_sha256_init(&state);
    tn_sha256_update(&state, text, strlen(text));
    tn_sha256_finish_text(&state, out);
}

/* A manifest of some files. `more`: further members, each with a comma at its end. */
static char *manifest_of(const char *more, const struct file *files, size_t count) {
    struct buffer out;
    buffer_init(&out, SIZE_MAX);
    buffer_format(
        &out, "{\"name\":\"acme\",\"version\":\"1.0.0\",\"title\":\"T\",%s\"plugins\":[\"plugins/x.so\"],\"files\":{",
        more);
    for (size_t i = 0; i < count; i++) {
        char hash[TN_SHA256_TEXT];
        hash_of(files[i].text, hash);
        buffer_format(&out, "%s\"%s\":\"%s\"", i ? "," : "", files[i].path, hash);
    }
    buffer_text(&out, "}}");
    return buffer_detach(&out, NULL);
}

struct archive {
    char *bytes;
    size_t length;
    FILE *file;
};

static void archive_begin(struct archive *archive) {
    *archive = (struct archive){0};
    archive->file = open_memstream(&archive->bytes, &archive->length);
    assert_non_null(archive->file);
}

/* Returns the position of the header. */
static size_t archive_add(struct archive *archive, const char *path, const char *text, bool program) {
    struct archive_member member = {.size = strlen(text), .program = program};
    snprintf(member.path, sizeof member.path, "%s", path);
    size_t at = (size_t)ftello(archive->file);
    archive_write_header(archive->file, &member);
    fwrite(text, 1, strlen(text), archive->file);
    archive_write_padding(archive->file, member.size);
    return at;
}

static void archive_end(struct archive *archive, bool zeros) {
    if (zeros) archive_write_end(archive->file);
    assert_int_equal(fclose(archive->file), 0);
}

/* Writes the pack.json of `listed`, then the members. */
static void archive_make(struct archive *archive, const struct file *listed, size_t listed_count,
                         const struct file *members, size_t count) {
    char *manifest = manifest_of("", listed, listed_count);
    archive_begin(archive);
    archive_add(archive, PACK_MANIFEST, manifest, false);
    for (size_t i = 0; i < count; i++) archive_add(archive, members[i].path, members[i].text, members[i].program);
    archive_end(archive, true);
    mem_free(manifest);
}

static int32_t read_all(const char *bytes, size_t length, struct error *error) {
    struct pack *pack = NULL;
    int32_t status = pack_open_memory("x.tenonpack", bytes, length, &pack, error);
    if (status == TN_OK) status = pack_read_files(pack, NULL, error);
    pack_close(pack);
    return status;
}

static void expect_refused(const char *bytes, size_t length, const char *code, const char *why) {
    struct error error = ERROR_INIT;
    int32_t status = read_all(bytes, length, &error);
    if (status == TN_OK || strcmp(error.code, code) != 0 || !strstr(error.message, why))
        fail_msg("expected %s (%s), found %d %s: %s", code, why, status, error.code ? error.code : "",
                 error.message ? error.message : "");
    assert_true(strncmp(error.message, "x.tenonpack", 11) == 0);
    error_finish(&error);
}

static void refuse_and_free(struct archive *archive, const char *why) {
    expect_refused(archive->bytes, archive->length, "PACK_INVALID", why);
    free(archive->bytes);
}

/* ---- Contents ---- */

struct seen {
    char text[512];
};

static int32_t record_begin(void *user, const char *path, uint64_t size, bool program, struct error *error) {
    struct seen *seen = user;
    size_t length = strlen(seen->text);
    (void)error;
    snprintf(seen->text + length, sizeof seen->text - length, "%s %d%s:", path, (int)size, program ? " x" : "");
    return TN_OK;
}

static int32_t record_data(void *user, const void *bytes, size_t size, struct error *error) {
    struct seen *seen = user;
    size_t length = strlen(seen->text);
    (void)error;
    snprintf(seen->text + length, sizeof seen->text - length, "%.*s", (int)size, (const char *)bytes);
    return TN_OK;
}

static int32_t record_end(void *user, struct error *error) {
    struct seen *seen = user;
    (void)error;
    strcat(seen->text, "|");
    return TN_OK;
}

static void test_reads_what_was_written(void **state) {
    (void)state;
    struct archive archive;
    struct pack *pack;
    struct seen seen = {""};
    size_t length;
    archive_make(&archive, plain, 3, plain, 3);
    assert_int_equal(pack_open_memory("x", archive.bytes, archive.length, &pack, NULL), TN_OK);
    assert_string_equal(pack_manifest(pack)->name, "acme");
    assert_string_equal(pack_manifest(pack)->version, "1.0.0");
    assert_int_equal(value_count(pack_manifest(pack)->files), 3);
    assert_true(pack_is_plugin(pack_manifest(pack), "plugins/x.so"));
    assert_null(pack_signature_text(pack, &length));
    assert_int_equal(pack_read_files(pack, &(struct pack_sink){record_begin, record_data, record_end, &seen}, NULL),
                     TN_OK);
    assert_string_equal(seen.text, "a.yaml 15:version: \"1.0\"\n|plugins/x.so 7 x:no code|prompts/empty.txt 0:|");
    struct error error = ERROR_INIT;
    assert_int_not_equal(pack_read_files(pack, NULL, &error), TN_OK); /* it may be called only once */
    error_finish(&error);
    pack_close(pack);
    free(archive.bytes);
}

static int32_t fail_data(void *user, const void *bytes, size_t size, struct error *error) {
    (void)user, (void)bytes, (void)size;
    return error_set(error, TN_LIMIT, "LIMIT", "no room");
}

static void test_a_sink_ends_it(void **state) {
    (void)state;
    struct archive archive;
    struct pack *pack;
    struct seen seen = {""};
    struct error error = ERROR_INIT;
    archive_make(&archive, plain, 3, plain, 3);
    assert_int_equal(pack_open_memory("x", archive.bytes, archive.length, &pack, NULL), TN_OK);
    assert_int_equal(pack_read_files(pack, &(struct pack_sink){record_begin, fail_data, record_end, &seen}, &error),
                     TN_LIMIT);
    assert_string_equal(error.message, "no room");
    assert_string_equal(seen.text, "a.yaml 15:");
    error_finish(&error);
    pack_close(pack);
    free(archive.bytes);
}

static void test_signature_comes_second(void **state) {
    (void)state;
    struct archive archive;
    struct pack *pack;
    size_t length;
    char *manifest = manifest_of("", plain, 3);
    archive_begin(&archive);
    archive_add(&archive, PACK_MANIFEST, manifest, false);
    archive_add(&archive, PACK_SIGNATURE, "{}", false);
    for (size_t i = 0; i < 3; i++) archive_add(&archive, plain[i].path, plain[i].text, plain[i].program);
    archive_end(&archive, true);
    assert_int_equal(pack_open_memory("x", archive.bytes, archive.length, &pack, NULL), TN_OK);
    assert_string_equal(pack_signature_text(pack, &length), "{}");
    assert_int_equal(length, 2);
    assert_int_equal(pack_read_files(pack, NULL, NULL), TN_OK);
    pack_close(pack);
    free(archive.bytes);

    archive_begin(&archive);
    archive_add(&archive, PACK_MANIFEST, manifest, false);
    archive_add(&archive, plain[0].path, plain[0].text, false);
    archive_add(&archive, PACK_SIGNATURE, "{}", false);
    archive_end(&archive, true);
    refuse_and_free(&archive, "`pack.sig` is in the pack twice, or not at its beginning");

    archive_begin(&archive);
    archive_add(&archive, PACK_SIGNATURE, "{}", false);
    archive_end(&archive, true);
    refuse_and_free(&archive, "expected pack.json first, found pack.sig");

    char *large = mem_zalloc(PACK_SIGNATURE_MAX + 2);
    memset(large, ' ', PACK_SIGNATURE_MAX + 1);
    archive_begin(&archive);
    archive_add(&archive, PACK_MANIFEST, manifest, false);
    archive_add(&archive, PACK_SIGNATURE, large, false);
    archive_end(&archive, true);
    expect_refused(archive.bytes, archive.length, "LIMIT", "pack.sig is larger than 4 KiB");
    free(archive.bytes);
    mem_free(large);
    mem_free(manifest);
}

/* ---- Members ---- */

static void test_members_are_the_files(void **state) {
    (void)state;
    struct archive archive;
    const struct file twice[] = {plain[0], plain[0], plain[1], plain[2]};
    const struct file order[] = {plain[1], plain[0], plain[2]};
    const struct file unlisted[] = {plain[0], {"b.yaml", "", false}, plain[1], plain[2]};
    const struct file other[] = {{"a.yaml", "version: \"1.1\"\n", false}, plain[1], plain[2]};
    const struct file mode[] = {{plain[0].path, plain[0].text, true}, plain[1], plain[2]};
    const struct file no_mode[] = {plain[0], {plain[1].path, plain[1].text, false}, plain[2]};
    archive_make(&archive, plain, 3, twice, 4);
    refuse_and_free(&archive, "`a.yaml` is in the pack twice, or out of order");
    archive_make(&archive, plain, 3, order, 3);
    refuse_and_free(&archive, "`a.yaml` is listed in pack.json and missing, or out of order: found `plugins/x.so`");
    archive_make(&archive, plain, 3, unlisted, 4);
    refuse_and_free(&archive, "`b.yaml` is in the pack, but not listed");
    archive_make(&archive, plain, 3, plain, 2);
    refuse_and_free(&archive, "`prompts/empty.txt` is listed in pack.json and missing");
    archive_make(&archive, plain, 2, plain, 3);
    refuse_and_free(&archive, "`prompts/empty.txt` is in the pack, but not listed");
    archive_make(&archive, plain, 3, other, 3);
    refuse_and_free(&archive, "`a.yaml`: its hash is ");
    archive_make(&archive, plain, 3, mode, 3);
    refuse_and_free(&archive, "`a.yaml` is executable");
    archive_make(&archive, plain, 3, no_mode, 3);
    refuse_and_free(&archive, "`plugins/x.so` is not executable");
    archive_begin(&archive);
    archive_end(&archive, true);
    refuse_and_free(&archive, "expected pack.json first, found nothing");
    expect_refused("", 0, "PACK_INVALID", "truncated");
}

/* ---- Headers ---- */

static void set_checksum(char *header) {
    unsigned sum = 0;
    memset(header + 148, ' ', 8);
    for (size_t i = 0; i < ARCHIVE_BLOCK; i++) sum += (unsigned char)header[i];
    snprintf(header + 148, 7, "%06o", sum);
}

/* Changes one field of the first file's header, and corrects the checksum. */
static void refuse_header(size_t at, const char *bytes, size_t length, const char *code, const char *why) {
    struct archive archive;
    char *manifest = manifest_of("", plain, 3);
    archive_begin(&archive);
    archive_add(&archive, PACK_MANIFEST, manifest, false);
    fflush(archive.file);
    size_t header = (size_t)ftello(archive.file);
    for (size_t i = 0; i < 3; i++) archive_add(&archive, plain[i].path, plain[i].text, plain[i].program);
    archive_end(&archive, true);
    memcpy(archive.bytes + header + at, bytes, length);
    set_checksum(archive.bytes + header);
    expect_refused(archive.bytes, archive.length, code, why);
    free(archive.bytes);
    mem_free(manifest);
}

static void test_headers(void **state) {
    (void)state;
    static const struct {
        size_t at;
        const char *bytes;
        size_t length;
        const char *why;
    } cases[] = {
        {156, "1", 1, "`a.yaml` is a hard link"},
        {156, "2", 1, "`a.yaml` is a symbolic link"},
        {156, "3", 1, "`a.yaml` is a device"},
        {156, "4", 1, "`a.yaml` is a device"},
        {156, "5", 1, "`a.yaml` is a folder"},
        {156, "6", 1, "`a.yaml` is a named pipe"},
        {156, "x", 1, "`a.yaml` is an extended header"},
        {156, "g", 1, "`a.yaml` is an extended header"},
        {156, "L", 1, "`a.yaml` is an extended header"},
        {156, "S", 1, "`a.yaml` is a sparse file"},
        {156, "\0", 1, "`a.yaml` is a file of an old format"},
        {156, "Z", 1, "`a.yaml` is a member of unknown type"},
        {0, "../.so", 6, "`../.so`: it leads out of the pack"},
        {0, "x/../y", 6, "`x/../y`: it leads out of the pack"},
        {0, "/a.yam", 6, "`/a.yam`: it is absolute"},
        {0, ".a.yam", 6, "a name in it begins with a dot"},
        {0, "x//yml", 6, "it has an empty name"},
        {0, "a.yam/", 6, "it has an empty name"},
        {0, "a\\yaml", 6, "it has a backslash"},
        {0, "a\nyaml", 6, "it has a control character"},
        {0, "a\377yaml", 6, "it is not UTF-8"},
        {0, "\0.yaml", 6, "it is empty"},
        {345, "..", 2, "`../a.yaml`: it leads out of the pack"},
        {100, "0004755\0", 8, "its mode is neither 0644 nor 0755"},
        {100, "0000666\0", 8, "its mode is neither 0644 nor 0755"},
        {108, "0001000\0", 8, "its header differs from what `tenon pack build` writes, at byte 1"},
        {136, "00000000001\0", 12, "its header differs from what `tenon pack build` writes, at byte 1"},
        {157, "b.yaml", 6, "its header differs from what `tenon pack build` writes, at byte 157"},
        {265, "root", 4, "its header differs from what `tenon pack build` writes, at byte 265"},
        {50, "x", 1, "its header differs from what `tenon pack build` writes, at byte 50"},
        {500, "x", 1, "its header differs from what `tenon pack build` writes, at byte 500"},
        {257, "gnutar", 6, "the archive is damaged: expected a header"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        refuse_header(cases[i].at, cases[i].bytes, cases[i].length, "PACK_INVALID", cases[i].why);
    refuse_header(124, "77777777777\0", 12, "LIMIT", "`a.yaml` is larger than 256 MiB");
    refuse_header(124, "\200\0\0\0\0\0\0\0\0\0\0\1", 12, "LIMIT", "`a.yaml` is larger than 256 MiB");
    refuse_header(124, "         15\0", 12, "LIMIT", "`a.yaml` is larger than 256 MiB");
    refuse_header(124, "02000000000\0", 12, "PACK_INVALID", "truncated, in or after a.yaml"); /* 256 MiB */
    char prefix[PACK_PATH_MAX];
    memset(prefix, 'p', sizeof prefix);
    refuse_header(345, prefix, sizeof prefix, "LIMIT", "a path in it is longer than 155 bytes");
}

static void test_sums(void **state) {
    (void)state;
    struct archive archive;
    archive_make(&archive, plain, 3, plain, 3);
    archive.bytes[0] ^= 1;
    refuse_and_free(&archive, "the checksum of a header is wrong");
    expect_refused("\177ELF", 4, "PACK_INVALID", "truncated");
    char *other = mem_zalloc(1024);
    memset(other, 'x', 1024);
    expect_refused(other, 1024, "PACK_INVALID", "not a pack");
    mem_free(other);
}

static void test_totals(void **state) {
    (void)state;
    struct archive_reader reader;
    struct archive_member member = {.size = PACK_FILE_MAX};
    struct error error = ERROR_INIT;
    bool more;
    struct archive archive;
    archive_begin(&archive);
    archive_add(&archive, "a", "", false);
    archive_add(&archive, "b", "", false);
    archive_end(&archive, true);
    FILE *file = fmemopen(archive.bytes, archive.length, "rb");
    archive_read_init(&reader, file, "x");
    reader.members = PACK_FILES_MAX + 1;
    assert_int_equal(archive_next(&reader, &member, &more, &error), TN_OK);
    assert_int_equal(archive_next(&reader, &member, &more, &error), TN_LIMIT);
    assert_string_equal(error.message, "x: the pack has more than 10000 files");
    fclose(file);
    free(archive.bytes);
    error_finish(&error);

    archive_begin(&archive);
    archive_add(&archive, "a", "12", false);
    archive_end(&archive, true);
    file = fmemopen(archive.bytes, archive.length, "rb");
    archive_read_init(&reader, file, "x");
    reader.total = PACK_SIZE_MAX - 1;
    assert_int_equal(archive_next(&reader, &member, &more, &error), TN_LIMIT);
    assert_string_equal(error.message, "x: the files together are larger than 1024 MiB");
    fclose(file);
    free(archive.bytes);
    error_finish(&error);
}

/* Paths of every length are split into prefix and name, and joined again. */
static void test_long_paths(void **state) {
    (void)state;
    for (size_t length = 1; length <= PACK_PATH_MAX; length++) {
        struct archive archive;
        struct archive_reader reader;
        struct archive_member member;
        bool more;
        char path[PACK_PATH_MAX + 1];
        for (size_t i = 0; i < length; i++) path[i] = i % 40 == 39 && i + 1 < length ? '/' : 'p';
        path[length] = 0;
        archive_begin(&archive);
        archive_add(&archive, path, "", false);
        archive_end(&archive, true);
        FILE *file = fmemopen(archive.bytes, archive.length, "rb");
        archive_read_init(&reader, file, "x");
        assert_int_equal(archive_next(&reader, &member, &more, NULL), TN_OK);
        assert_string_equal(member.path, path);
        assert_int_equal(archive_next(&reader, &member, &more, NULL), TN_OK);
        assert_false(more);
        fclose(file);
        free(archive.bytes);
    }
}

/* ---- Every byte ---- */

static void test_every_truncation(void **state) {
    (void)state;
    struct archive archive;
    archive_make(&archive, plain, 3, plain, 3);
    for (size_t length = 0; length < archive.length; length++) {
        struct error error = ERROR_INIT;
        assert_int_not_equal(read_all(archive.bytes, length, &error), TN_OK);
        assert_string_equal(error.code, "PACK_INVALID");
        error_finish(&error);
    }
    char *longer = mem_zalloc(archive.length + 1);
    memcpy(longer, archive.bytes, archive.length);
    expect_refused(longer, archive.length + 1, "PACK_INVALID", "found bytes after the end");
    mem_free(longer);
    free(archive.bytes);
}

static void test_every_bit(void **state) {
    (void)state;
    struct archive archive;
    archive_make(&archive, plain, 3, plain, 3);
    char *manifest = manifest_of("", plain, 3);
    size_t end = ARCHIVE_BLOCK + strlen(manifest), taken = 0;
    for (size_t i = 0; i < archive.length; i++)
        for (int bit = 0; bit < 8; bit++) {
            struct error error = ERROR_INIT;
            archive.bytes[i] = (char)(archive.bytes[i] ^ (1 << bit));
            if (read_all(archive.bytes, archive.length, &error) == TN_OK) {
                /* Only a signature detects a change of the texts in pack.json. */
                assert_true(i >= ARCHIVE_BLOCK && i < end);
                taken++;
            } else {
                assert_non_null(error.code);
            }
            error_finish(&error);
            archive.bytes[i] = (char)(archive.bytes[i] ^ (1 << bit));
        }
    assert_in_range(taken, 1, 8 * strlen("acme1.0.0Ttitleplugins") + 64);
    assert_int_equal(read_all(archive.bytes, archive.length, NULL), TN_OK);
    mem_free(manifest);
    free(archive.bytes);
}

/* ---- Names and manifests ---- */

static void test_names(void **state) {
    (void)state;
    static const char *const names[] = {"a", "acme-text", "a1-2--b"};
    static const char *const no_names[] = {"", "A", "1a", "-a", "a_b", "a.b", "a/b", "..", "a b", "\303\244"};
    static const char *const versions[] = {"0.0.0", "1.2.3", "10.20.30", "1.0.0-rc.1", "1.0.0-0a", "1.0.0-a-b"};
    static const char *const no_versions[] = {"",       "1",         "1.2",        "1.2.3.4", "01.2.3",
                                              "1.2.3-", "1.2.3-01",  "1.2.3-a..b", "1.2.3+b", "v1.2.3",
                                              "1.2.x",  "1.2.3-a/b", "../1",       "1.2.3 "};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) assert_true(pack_name_valid(names[i]));
    for (size_t i = 0; i < sizeof no_names / sizeof *no_names; i++) assert_false(pack_name_valid(no_names[i]));
    for (size_t i = 0; i < sizeof versions / sizeof *versions; i++) assert_true(pack_version_valid(versions[i]));
    for (size_t i = 0; i < sizeof no_versions / sizeof *no_versions; i++)
        if (pack_version_valid(no_versions[i])) fail_msg("%s", no_versions[i]);
    char name[PACK_NAME_MAX + 2];
    memset(name, 'a', sizeof name);
    name[PACK_NAME_MAX + 1] = 0;
    assert_false(pack_name_valid(name));
    name[PACK_NAME_MAX] = 0;
    assert_true(pack_name_valid(name));
    char path[PACK_PATH_MAX + 2];
    const char *why;
    for (size_t i = 0; i < sizeof path; i++) path[i] = i % 40 == 39 ? '/' : 'p';
    assert_true(pack_path_valid(path, PACK_PATH_MAX, &why));
    assert_false(pack_path_valid(path, PACK_PATH_MAX + 1, &why));
    assert_string_equal(why, "it is longer than 155 bytes");
    memset(path, 'p', sizeof path);
    assert_true(pack_path_valid(path, PACK_COMPONENT_MAX, &why));
    assert_false(pack_path_valid(path, PACK_COMPONENT_MAX + 1, &why));
    assert_string_equal(why, "a name in it is longer than 100 bytes");
}

#define HASH  "\"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855\""
#define NAMES "\"name\":\"a\",\"version\":\"1.0.0\",\"title\":\"T\""
#define FILES "\"files\":{\"a\":" HASH "}"

static void test_manifests(void **state) {
    (void)state;
    static const struct {
        const char *text, *why; /* NULL: valid */
    } cases[] = {
        {"{" NAMES "," FILES "}", NULL},
        {"{" NAMES "," FILES ",\"of a later version\":{}}", NULL},
        {"{" NAMES "," FILES ",\"documents\":[\"a\"],\"tenon\":\">= 0.1, < 1\",\"licence\":\"MIT\"}", NULL},
        {"", "pack.json: "},
        {"[]", "found array, expected an object"},
        {"{" NAMES "," FILES "} x", "pack.json: "},
        {"{" NAMES "," FILES "," FILES "}", "files"},
        {"{" NAMES "}", "`files`: expected an object of paths and their hashes, which `tenon pack build` writes, and"},
        {"{" NAMES ",\"files\":{}}", "`files`: expected an object"},
        {"{" NAMES ",\"files\":[]}", "`files`: expected an object"},
        {"{\"version\":\"1.0.0\",\"title\":\"T\"," FILES "}", "the key `name` is missing"},
        {"{\"name\":\"a\",\"title\":\"T\"," FILES "}", "the key `version` is missing"},
        {"{\"name\":\"a\",\"version\":\"1.0.0\"," FILES "}", "the key `title` is missing"},
        {"{\"name\":1,\"version\":\"1.0.0\",\"title\":\"T\"," FILES "}", "`name`: found int, expected a text"},
        {"{\"name\":\"../a\",\"version\":\"1.0.0\",\"title\":\"T\"," FILES "}",
         "`name`: found `../a`, expected a lowercase letter"},
        {"{\"name\":\"a\\u0000\",\"version\":\"1.0.0\",\"title\":\"T\"," FILES "}", "`name`: it has a NUL"},
        {"{\"name\":\"a\",\"version\":\"1.0\",\"title\":\"T\"," FILES "}", "`version`: found `1.0`, expected three"},
        {"{" NAMES "," FILES ",\"tenon\":\"maybe\"}", "`tenon`: found `maybe`"},
        {"{" NAMES "," FILES ",\"licence\":[]}", "`licence`: found array"},
        {"{" NAMES "," FILES ",\"plugins\":\"a\"}", "`plugins`: found string, expected a list of paths"},
        {"{" NAMES "," FILES ",\"plugins\":[1]}", "`plugins`: found int, expected a path"},
        {"{" NAMES "," FILES ",\"plugins\":[\"b\"]}", "`plugins`: `b` is not in `files`"},
        {"{" NAMES "," FILES ",\"plugins\":[\"../b\"]}", "`plugins`: found the path `../b`: it leads out"},
        {"{" NAMES "," FILES ",\"documents\":[\"a\",\"a\"]}", "`documents`: `a` is listed twice"},
        {"{" NAMES ",\"files\":{\"a\":\"e3b0\"}}", "`files`: `a`: expected a SHA-256 hash"},
        {"{" NAMES ",\"files\":{\"a\":1}}", "`files`: `a`: expected a SHA-256 hash"},
        {"{" NAMES ",\"files\":{\"b\":" HASH ",\"a\":" HASH "}}", "`files`: `a` is out of order"},
        {"{" NAMES ",\"files\":{\"/a\":" HASH "}}", "found the path `/a`: it is absolute"},
        {"{" NAMES ",\"files\":{\"a\\u0000b\":" HASH "}}", "it has a control character"},
        {"{" NAMES ",\"files\":{\"a\":" HASH ",\"a/b\":" HASH "}}", "`a` is a file and a folder"},
        {"{" NAMES ",\"files\":{\"a\":" HASH ",\"a-\":" HASH ",\"a/b/c\":" HASH "}}", "`a` is a file and a folder"},
        {"{" NAMES ",\"files\":{\"pack.json\":" HASH "}}", "the name `pack.json` is reserved"},
        {"{" NAMES ",\"files\":{\"pack.sig/x\":" HASH "}}", "the name `pack.sig` is reserved"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct pack_manifest manifest = {0};
        struct error error = ERROR_INIT;
        int32_t status = pack_manifest_read("x", cases[i].text, strlen(cases[i].text), &manifest, &error);
        if ((status == TN_OK) != !cases[i].why || (cases[i].why && !strstr(error.message, cases[i].why)))
            fail_msg("%s\nexpected %s\nfound %s", cases[i].text, cases[i].why, error.message);
        if (status != TN_OK) assert_string_equal(error.code, "PACK_INVALID");
        pack_manifest_finish(&manifest);
        error_finish(&error);
    }
}

static void test_manifest_bounds(void **state) {
    (void)state;
    struct buffer text;
    struct pack_manifest manifest;
    struct error error = ERROR_INIT;
    for (unsigned count = PACK_FILES_MAX; count <= PACK_FILES_MAX + 1; count++) {
        buffer_init(&text, SIZE_MAX);
        buffer_text(&text, "{" NAMES ",\"files\":{");
        for (unsigned i = 0; i < count; i++) buffer_format(&text, "%s\"%05u\":" HASH, i ? "," : "", i);
        buffer_text(&text, "}}");
        int32_t status = pack_manifest_read("x", text.data, text.length, &manifest, &error);
        assert_int_equal(status, count > PACK_FILES_MAX ? TN_LIMIT : TN_OK);
        if (status == TN_OK) pack_manifest_finish(&manifest);
        buffer_finish(&text);
    }
    assert_string_equal(error.message, "x: pack.json: `files`: more than 10000");
    buffer_init(&text, SIZE_MAX);
    buffer_text(&text, "{" NAMES "," FILES ",\"plugins\":[");
    for (unsigned i = 0; i <= PACK_PLUGINS_MAX; i++) buffer_text(&text, i ? ",\"a\"" : "\"a\"");
    buffer_text(&text, "]}");
    assert_int_equal(pack_manifest_read("x", text.data, text.length, &manifest, &error), TN_LIMIT);
    assert_string_equal(error.message, "x: pack.json: `plugins`: more than 100 entries");
    buffer_finish(&text);
    buffer_init(&text, SIZE_MAX);
    buffer_text(&text, "{" NAMES "," FILES "}");
    while (text.length <= PACK_MANIFEST_MAX) buffer_char(&text, ' ');
    assert_int_equal(pack_manifest_read("x", text.data, text.length, &manifest, &error), TN_LIMIT);
    buffer_finish(&text);
    error_finish(&error);
}

static void test_sources(void **state) {
    (void)state;
    struct error error = ERROR_INIT;
    tn_value source = value_set_take(value_object(), "name", value_text("a"));
    source = value_set_take(source, "version", value_text("1.0.0"));
    source = value_set_take(source, "title", value_text("T"));
    assert_int_equal(pack_manifest_check_source("x", source, &error), TN_OK);
    source = value_set_take(source, "plugin", value_array());
    assert_int_equal(pack_manifest_check_source("x", source, &error), TN_INVALID);
    assert_string_equal(error.message, "x: pack.json: found the unknown key `plugin`; did you mean `plugins`?");
    value_unref(source);
    error_finish(&error);
}

/* The descriptor is that of the opened file, also after another file has its path. */
static void test_descriptor(void **state) {
    (void)state;
    struct archive archive;
    struct pack *pack;
    char path[] = "/tmp/tenon-pack-XXXXXX", bytes[ARCHIVE_BLOCK];
    archive_make(&archive, plain, 3, plain, 3);
    assert_int_equal(pack_open_memory("x", archive.bytes, archive.length, &pack, NULL), TN_OK);
    assert_int_equal(pack_descriptor(pack), -1);
    pack_close(pack);
    int file = mkstemp(path);
    assert_true(file >= 0 && write(file, archive.bytes, archive.length) == (ssize_t)archive.length);
    close(file);
    assert_int_equal(pack_open(path, &pack, NULL), TN_OK);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(pread(pack_descriptor(pack), bytes, sizeof bytes, 0), sizeof bytes);
    assert_memory_equal(bytes, archive.bytes, sizeof bytes);
    pack_close(pack);
    free(archive.bytes);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reads_what_was_written),
        cmocka_unit_test(test_a_sink_ends_it),
        cmocka_unit_test(test_signature_comes_second),
        cmocka_unit_test(test_members_are_the_files),
        cmocka_unit_test(test_headers),
        cmocka_unit_test(test_sums),
        cmocka_unit_test(test_totals),
        cmocka_unit_test(test_long_paths),
        cmocka_unit_test(test_every_truncation),
        cmocka_unit_test(test_every_bit),
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_manifests),
        cmocka_unit_test(test_manifest_bounds),
        cmocka_unit_test(test_sources),
        cmocka_unit_test(test_descriptor),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
