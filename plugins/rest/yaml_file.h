/*
 * yaml_file.h - reads a YAML file (or JSON, which is a subset) as a value.
 *
 *     tn_value root = yaml_read_file(path, path);     // NULL: error logged, with the name and the line
 *
 * Duplicate keys, keys that are not strings, and files with more than one document are errors.
 */
#ifndef TENON_PLUGINS_REST_YAML_FILE_H
#define TENON_PLUGINS_REST_YAML_FILE_H

#include "encode.h"

#define YAML_BYTES_MAX (16u << 20) /* of a file */
#define YAML_NODES_MAX 2000000u    /* aliases count as the values they stand for */
#define YAML_DEPTH_MAX 200u

/* `name` stands for the file in the log: its path, or also what uses it. */
tn_value yaml_read_file(const char *path, const char *name);

#endif
