/*
 * yaml_file.h - a file of YAML, or of JSON, which is YAML, as a value.
 *
 *     tn_value root = yaml_read_file("/etc/acme/api.yaml");     // NULL: what is wrong has been logged, with its line
 *
 * Two equal keys, keys that are no texts, and more than one document are refused.
 */
#ifndef TENON_PLUGINS_REST_YAML_FILE_H
#define TENON_PLUGINS_REST_YAML_FILE_H

#include "text.h"

#define YAML_BYTES_MAX (16u << 20) /* of a file */
#define YAML_NODES_MAX 2000000u    /* with what aliases stand for */
#define YAML_DEPTH_MAX 200u

tn_value yaml_read_file(const char *path);

#endif
