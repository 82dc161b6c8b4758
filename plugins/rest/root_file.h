/*
 * root_file.h - reads files below folders that the operator has named in tenon.yaml, for arguments that a model wrote.
 *
 *     struct tn_text_buffer bytes = TN_TEXT_BUFFER(1 << 20);
 *     const char *why = root_file_read(section_folders, "reports/may.pdf", &bytes);   // NULL: it was read
 *
 * A name is relative to one of the folders, which are tried in order, or absolute and below one of them. It has no `..`
 * and leads through no symbolic link. Each step is opened from the one before it, so a link that is created in between
 * makes the opening fail. Only regular files are read.
 */
#ifndef TENON_PLUGINS_REST_ROOT_FILE_H
#define TENON_PLUGINS_REST_ROOT_FILE_H

#include <tenon/easy.h>
#include <tenon/util/text.h>

/*
 * Appends the file to `out`. Returns NULL, or why the file cannot be read, a phrase after "the file …"; `out` is then
 * unchanged, and its status is TN_LIMIT if the file is longer than the limit. Thread: any; blocks on a slow disk.
 */
const char *root_file_read(tn_value folders, const char *name, struct tn_text_buffer *out);

#endif
