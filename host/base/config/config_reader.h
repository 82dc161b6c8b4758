/*
 * config_reader.h - the reading of one tenon.yaml, for the files that read parts of it.
 *
 * config_keys.def has one row for each key. CONFIG_KEY("plugins", plugin_path, "path", …) is the key `path` in the
 * mapping at the key `plugins`; its value is read by config_read_plugin_path. config_read_keys calls that function for
 * each key that it finds. config_plugins.c, config_packs.c, config_models.c, config_schedules.c, config_serve.c and
 * config_work.c have the readers of one key at the top and of the keys below it, config_read.c the others,
 * config_reader.c what all use.
 *
 * Each mistake becomes a diagnostic with its position, and reading continues with the next key. Messages do not show
 * values that can contain a secret. A relative path starts at the folder of the file. The files that paths name are not
 * opened.
 *
 * Diagnostics: E020 is a value of a wrong kind, E021 an unknown key, E022 a missing key, E023 an unknown word, E025 a
 * number out of range, E027 too many entries.
 */
#ifndef TENON_HOST_BASE_CONFIG_CONFIG_READER_H
#define TENON_HOST_BASE_CONFIG_CONFIG_READER_H

#include "adl/tree/tree.h"
#include "host/base/config/config.h"

struct config_reader {
    struct config *config;
    struct source *source;
    struct diagnostics *diagnostics;
    char *folder; /* the folder of the file, absolute if it exists */
};

/* The full path of a key, "models.planner", as messages name it. A longer path is cut. */
struct config_where {
    char text[160];
};
/* Of `key` in the mapping at `parent`. `.text` is valid until the end of the expression that contains the call. */
struct config_where config_where(const char *parent, tn_value key);

/* The number of bytes to show of a text: 100 at most, and no part of a character. */
int config_shown_length(const char *text, size_t length);

/*
 * Reports a value of a wrong kind; its text is not shown, because it can be a secret. `where` is the full path of the
 * key, for example "plugins.path".
 */
void config_report_kind(struct config_reader *reader, const struct tree_node *node, const char *where,
                        const char *expected);
/* Reports a value that is not one of the expected words or numbers, and shows it. For keys that never have a secret. */
void config_report_value(struct config_reader *reader, const struct tree_node *node, const char *where,
                         const char *expected);
/* True if the value is a whole number from `least` to `most`; otherwise reports it. */
bool config_expect_integer(struct config_reader *reader, const struct tree_node *node, const char *where, int64_t least,
                           int64_t most);
/*
 * Returns how many entries of the list or mapping at `where` may be used: `max` at most. If there are more, reports the
 * first surplus one. `entries` is what they are, for example "paths".
 */
uint32_t config_usable_count(struct config_reader *reader, const struct tree_node *list, const char *where,
                             uint32_t max, const char *entries);
/* Returns true for a mapping. Reports any other value, except an empty one. */
bool config_expect_mapping(struct config_reader *reader, const struct tree_node *node, const char *where,
                           const char *expected);

/* Calls `one` for the node, or for each item if it is a list, of which at most `max` are read. */
void config_read_list(struct config_reader *reader, const struct tree_node *node, const char *key, uint32_t max,
                      const char *items, void (*one)(struct config_reader *reader, const struct tree_node *node));

#define KEY_UNKNOWN SIZE_MAX
/* Returns the index of the key in `names`. If it is not there, returns KEY_UNKNOWN and sets *meant to the nearest name,
 * or NULL. */
size_t config_lookup_key(tn_value key, const char *const *names, size_t count, const char **meant);
/*
 * Returns the index of the item's key in `names`, or reports the key and returns KEY_UNKNOWN. `mapping` names the
 * mapping in the message, for example "`limits`" or "a price".
 */
size_t config_expect_key(struct config_reader *reader, const struct tree_item *item, const char *mapping,
                         const char *const *names, size_t count);
/* Reports a key that is not one of `mapping`; `meant` is the nearest name, or NULL. */
void config_report_unknown_key(struct config_reader *reader, const struct tree_item *item, const char *mapping,
                               const char *meant);
/* Reads the keys in the mapping at the key `parent`, for example "plugins", or at the top of the file if it is "". */
void config_read_keys(struct config_reader *reader, const struct tree_node *node, const char *parent);

/*
 * The folder of a file (mem_free it). It is absolute, because other processes and later readers of a path in the file
 * may have another working folder. A folder that does not exist stays as in `name`.
 */
char *config_folder_of(const char *name);
/*
 * Returns the path with the folder that it starts at (mem_free it): "~/x" starts at the home folder, "x" at the folder
 * of the file.
 */
char *config_resolve_path(const struct config_reader *reader, const char *path);
/* The same for the string `node`; a new reference. */
tn_value config_resolve_node(const struct config_reader *reader, const struct tree_node *node);
/* The same for a document, whose name can also be `tenon:NAME` or `pack:NAME/FILE`. */
tn_value config_resolve_document(const struct config_reader *reader, const struct tree_node *node);

/* False if the value is not a duration, `30s` or a number of seconds; *ms is unchanged then. Reports nothing. */
bool config_as_duration(const struct tree_node *node, int64_t *ms);

/* The readers, one for each row of config_keys.def. */
#define CONFIG_KEY(parent, identifier, name, form, example, documentation)                                             \
    void config_read_##identifier(struct config_reader *reader, const struct tree_node *node);
#include "host/base/config/config_keys.def"
#undef CONFIG_KEY

#endif
