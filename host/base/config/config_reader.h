/*
 * config_reader.h - the reading of one tenon.yaml, for the files that read parts of it: config_read.c,
 * config_schedules.c and config_work.c.
 *
 * Each mistake becomes a diagnostic with its position, and reading continues with the next key. Messages do not show
 * values that can contain a secret.
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
/*
 * Returns how many entries of the list or mapping at `where` may be used: `max` at most. If there are more, reports the
 * first surplus one. `entries` is what they are, for example "paths".
 */
uint32_t config_usable_count(struct config_reader *reader, const struct tree_node *list, const char *where,
                             uint32_t max, const char *entries);
/* Returns true for a mapping. Reports any other value, except an empty one. */
bool config_expect_mapping(struct config_reader *reader, const struct tree_node *node, const char *where,
                           const char *expected);

#define KEY_UNKNOWN SIZE_MAX
/*
 * Returns the index of the item's key in `names`, or reports the key and returns KEY_UNKNOWN. `mapping` names the
 * mapping in the message, for example "`limits`" or "a price".
 */
size_t config_expect_key(struct config_reader *reader, const struct tree_item *item, const char *mapping,
                         const char *const *names, size_t count);
/* The path with the folder that it starts at, to be freed with mem_free: "~/x" at the home folder, "x" at the file's.
 */
char *config_resolve_path(const struct config_reader *reader, const char *path);

/* Reads the value of `schedules` (config_schedules.c). */
void config_read_schedule_list(struct config_reader *reader, const struct tree_node *node);
/* False if the value is not a duration, `30s` or a number of seconds; *ms is unchanged then. Reports nothing. */
bool config_as_duration(const struct tree_node *node, int64_t *ms);

/* Reads the value of `work` (config_work.c). */
void config_read_task_types(struct config_reader *reader, const struct tree_node *node);

#endif
