/*
 * oci_docker.h - passwords for registries that `docker login`, and other clients of registries, have saved.
 *
 * They are in $DOCKER_CONFIG/config.json, or ~/.docker/config.json: {"auths": {HOST: {"auth": base64 of
 * "USER:PASSWORD"}}}. The file is only read. Credential helpers, which are programs that the file may name, are not
 * started.
 *
 *     tn_value pair;
 *     if (oci_docker_password("ghcr.io", &pair, &error) == TN_OK && pair) …        // "jane:secret", as bytes
 *
 * Thread: any.
 */
#ifndef TENON_HOST_NET_OCI_OCI_DOCKER_H
#define TENON_HOST_NET_OCI_OCI_DOCKER_H

#include "adl/value/error.h"
#include "adl/value/value.h"

#define OCI_DOCKER_FILE_MAX (1u << 20) /* bytes of config.json */

/* Sets *out to USER:PASSWORD as bytes, a new reference, or to NULL. INVALID_CONFIG if the file cannot be used. */
int32_t oci_docker_password(const char *host, tn_value *out, struct error *error);

#endif
