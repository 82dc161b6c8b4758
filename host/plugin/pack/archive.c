/*
 * archive.c - reads and writes the one form of ustar that packs use.
 *
 * A header is checked in three steps. First its type, so that the error can name a link or a device. Then its path,
 * size and mode. Finally it is compared with the header that the writer would write for these, which refuses every
 * deviation in other fields. Bounds are checked before anything is read or allocated.
 */
#include "host/plugin/pack/archive.h"
#include <string.h>

/* Offsets and widths of the header's fields that are not 0. */
enum {
    AT_NAME = 0,
    AT_MODE = 100,
    AT_UID = 108,
    AT_GID = 116,
    AT_SIZE = 124,
    AT_TIME = 136,
    AT_SUM = 148,
    AT_TYPE = 156,
    AT_MAGIC = 257,
    AT_MAJOR = 329,
    AT_MINOR = 337,
    AT_PREFIX = 345,
    NAME_LENGTH = 100,
    PREFIX_LENGTH = 155
};

_Static_assert(PACK_PATH_MAX <= PREFIX_LENGTH && PACK_COMPONENT_MAX <= NAME_LENGTH,
               "every valid path fits into prefix and name, at whichever slash it is split");

static const char magic[8] = {'u', 's', 't', 'a', 'r', 0, '0', '0'};
static const char zeros[ARCHIVE_BLOCK];

/* ---- Headers ---- */

/* Writes octal digits with leading zeros, and a NUL. */
static void archive_write_octal(char *field, size_t width, uint64_t number) {
    field[width - 1] = 0;
    for (size_t i = width - 1; i-- > 0; number >>= 3) field[i] = (char)('0' + (number & 7));
}

/* Returns false if the field is not octal digits and a NUL. */
static bool archive_parse_octal(const char *field, size_t width, uint64_t *out) {
    uint64_t number = 0;
    for (size_t i = 0; i < width - 1; i++) {
        if (field[i] < '0' || field[i] > '7') return false;
        number = number << 3 | (uint64_t)(field[i] - '0');
    }
    *out = number;
    return field[width - 1] == 0;
}

/* The sum of all bytes; the bytes of the checksum field count as blanks. */
static uint32_t archive_header_sum(const char *header) {
    uint32_t sum = 0;
    for (size_t i = 0; i < ARCHIVE_BLOCK; i++)
        sum += i >= AT_SUM && i < AT_TYPE ? (unsigned char)' ' : (unsigned char)header[i];
    return sum;
}

static void archive_format_header(char header[ARCHIVE_BLOCK], const struct archive_member *member) {
    size_t length = strlen(member->path);
    const char *name = member->path;
    memset(header, 0, ARCHIVE_BLOCK);
    if (length > NAME_LENGTH) { /* split at the first slash after which the name fits */
        name = strchr(member->path + length - NAME_LENGTH - 1, '/');
        memcpy(header + AT_PREFIX, member->path, (size_t)(name - member->path));
        name++;
    }
    /* A name that fills the field has no NUL. */
    memcpy(header + AT_NAME, name, length - (size_t)(name - member->path));
    archive_write_octal(header + AT_MODE, 8, member->program ? 0755 : 0644);
    archive_write_octal(header + AT_UID, 8, 0);
    archive_write_octal(header + AT_GID, 8, 0);
    archive_write_octal(header + AT_SIZE, 12, member->size);
    archive_write_octal(header + AT_TIME, 12, 0);
    header[AT_TYPE] = '0';
    memcpy(header + AT_MAGIC, magic, sizeof magic);
    archive_write_octal(header + AT_MAJOR, 8, 0);
    archive_write_octal(header + AT_MINOR, 8, 0);
    archive_write_octal(header + AT_SUM, 7, archive_header_sum(header));
    header[AT_SUM + 7] = ' ';
}

/* ---- Writing ---- */

void archive_write_header(FILE *file, const struct archive_member *member) {
    char header[ARCHIVE_BLOCK];
    archive_format_header(header, member);
    fwrite(header, 1, sizeof header, file);
}

static uint64_t archive_padding(uint64_t size) { return (ARCHIVE_BLOCK - size % ARCHIVE_BLOCK) % ARCHIVE_BLOCK; }

void archive_write_padding(FILE *file, uint64_t size) { fwrite(zeros, 1, (size_t)archive_padding(size), file); }

void archive_write_end(FILE *file) {
    fwrite(zeros, 1, sizeof zeros, file);
    fwrite(zeros, 1, sizeof zeros, file);
}

/* ---- Reading ---- */

void archive_read_init(struct archive_reader *reader, FILE *file, const char *name) {
    *reader = (struct archive_reader){.file = file, .name = name};
}

static int32_t archive_read_exactly(struct archive_reader *reader, void *bytes, size_t size, struct error *error) {
    if (fread(bytes, 1, size, reader->file) == size) return TN_OK;
    if (ferror(reader->file)) return error_set(error, TN_ERROR, "IO", "%s: cannot be read", reader->name);
    return error_set(error, TN_INVALID, "PACK_INVALID", "%s: the archive is truncated%s%s: download it again",
                     reader->name, reader->path[0] ? ", in or after " : "", reader->path);
}

int32_t archive_read(struct archive_reader *reader, void *bytes, size_t size, size_t *got, struct error *error) {
    size_t length = reader->left < size ? (size_t)reader->left : size;
    int32_t status = length ? archive_read_exactly(reader, bytes, length, error) : TN_OK;
    if (status != TN_OK) return status;
    reader->left -= length;
    *got = length;
    return TN_OK;
}

/* Skips the rest of the member, and checks the zeros that fill its last block. */
static int32_t archive_skip_member(struct archive_reader *reader, struct error *error) {
    char chunk[4096];
    size_t got = 1;
    int32_t status = TN_OK;
    while (status == TN_OK && got) status = archive_read(reader, chunk, sizeof chunk, &got, error);
    if (status == TN_OK) status = archive_read_exactly(reader, chunk, (size_t)reader->padding, error);
    if (status == TN_OK && memcmp(chunk, zeros, (size_t)reader->padding) != 0)
        status = error_set(error, TN_INVALID, "PACK_INVALID", "%s: %s: found bytes between it and the next file",
                           reader->name, reader->path);
    reader->padding = 0;
    return status;
}

static int32_t archive_read_end(struct archive_reader *reader, struct error *error) {
    char block[ARCHIVE_BLOCK];
    int32_t status = archive_read_exactly(reader, block, sizeof block, error);
    if (status != TN_OK) return status;
    if (memcmp(block, zeros, sizeof block) != 0 || fgetc(reader->file) != EOF)
        return error_set(error, TN_INVALID, "PACK_INVALID", "%s: found bytes after the end", reader->name);
    return TN_OK;
}

static const char *archive_type_name(char type) {
    static const struct {
        char type;
        const char *name;
    } types[] = {{'1', "a hard link"},
                 {'2', "a symbolic link"},
                 {'3', "a device"},
                 {'4', "a device"},
                 {'5', "a folder"},
                 {'6', "a named pipe"},
                 {'g', "an extended header"},
                 {'x', "an extended header"},
                 {'L', "an extended header"},
                 {'K', "an extended header"},
                 {'S', "a sparse file"},
                 {'7', "a contiguous file"},
                 {0, "a file of an old format"}};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (types[i].type == type) return types[i].name;
    return "a member of unknown type";
}

/* Joins prefix and name, which may lack a NUL. Returns false if the path is too long. */
static bool archive_join_path(const char *header, char path[PACK_PATH_MAX + 1]) {
    size_t prefix = strnlen(header + AT_PREFIX, PREFIX_LENGTH), name = strnlen(header + AT_NAME, NAME_LENGTH);
    if (prefix + (prefix > 0) + name > PACK_PATH_MAX) return false;
    memcpy(path, header + AT_PREFIX, prefix);
    if (prefix) path[prefix++] = '/';
    memcpy(path + prefix, header + AT_NAME, name);
    path[prefix + name] = 0;
    return true;
}

static int32_t archive_read_header(const struct archive_reader *reader, const char *header,
                                   struct archive_member *member, struct error *error) {
    char expected[ARCHIVE_BLOCK];
    uint64_t number;
    const char *why;
    if (memcmp(header + AT_MAGIC, magic, sizeof magic) != 0)
        return error_set(error, TN_INVALID, "PACK_INVALID",
                         reader->members ? "%s: the archive is damaged: expected a header"
                                         : "%s: not a pack: expected an archive written by `tenon pack build`",
                         reader->name);
    if (!archive_parse_octal(header + AT_SUM, 7, &number) || number != archive_header_sum(header))
        return error_set(error, TN_INVALID, "PACK_INVALID",
                         "%s: the archive is damaged: the checksum of a header is wrong", reader->name);
    if (!archive_join_path(header, member->path))
        return error_set(error, TN_LIMIT, "LIMIT", "%s: a path in it is longer than %u bytes", reader->name,
                         PACK_PATH_MAX);
    if (header[AT_TYPE] != '0')
        return error_set(error, TN_INVALID, "PACK_INVALID", "%s: `%s` is %s; a pack contains only regular files",
                         reader->name, member->path, archive_type_name(header[AT_TYPE]));
    if (!pack_path_valid(member->path, strlen(member->path), &why))
        return error_set(error, TN_INVALID, "PACK_INVALID", "%s: found the path `%s`: %s", reader->name, member->path,
                         why);
    if (!archive_parse_octal(header + AT_SIZE, 12, &member->size) || member->size > PACK_FILE_MAX)
        return error_set(error, TN_LIMIT, "LIMIT", "%s: `%s` is larger than %u MiB", reader->name, member->path,
                         (unsigned)(PACK_FILE_MAX >> 20));
    if (!archive_parse_octal(header + AT_MODE, 8, &number) || (number != 0644 && number != 0755))
        return error_set(error, TN_INVALID, "PACK_INVALID", "%s: `%s`: its mode is neither 0644 nor 0755", reader->name,
                         member->path);
    member->program = number == 0755;
    archive_format_header(expected, member);
    memcpy(expected + AT_SUM, header + AT_SUM, 7); /* already checked; it would hide the byte that differs */
    for (size_t i = 0; i < ARCHIVE_BLOCK; i++)
        if (header[i] != expected[i])
            return error_set(error, TN_INVALID, "PACK_INVALID",
                             "%s: `%s`: its header differs from what `tenon pack build` writes, at byte %zu",
                             reader->name, member->path, i);
    return TN_OK;
}

int32_t archive_next(struct archive_reader *reader, struct archive_member *member, bool *more, struct error *error) {
    char header[ARCHIVE_BLOCK];
    int32_t status = archive_skip_member(reader, error);
    if (status == TN_OK) status = archive_read_exactly(reader, header, sizeof header, error);
    if (status != TN_OK) return status;
    if (memcmp(header, zeros, sizeof header) == 0) {
        *more = false;
        return archive_read_end(reader, error);
    }
    status = archive_read_header(reader, header, member, error);
    if (status != TN_OK) return status;
    if (++reader->members > PACK_FILES_MAX + 2)
        return error_set(error, TN_LIMIT, "LIMIT", "%s: the pack has more than %u files", reader->name, PACK_FILES_MAX);
    reader->total += member->size;
    if (reader->total > PACK_SIZE_MAX)
        return error_set(error, TN_LIMIT, "LIMIT", "%s: the files together are larger than %u MiB", reader->name,
                         (unsigned)(PACK_SIZE_MAX >> 20));
    reader->left = member->size;
    reader->padding = archive_padding(member->size);
    memcpy(reader->path, member->path, sizeof reader->path);
    *more = true;
    return TN_OK;
}
