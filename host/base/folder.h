/*
 * folder.h - creates a folder and the folders that contain it.
 *
 *     if (folder_create("/home/u/.local/share/tenon/packs", &error) != TN_OK) return report(&error);
 *
 * Thread: any.
 */
#ifndef TENON_HOST_BASE_FOLDER_H
#define TENON_HOST_BASE_FOLDER_H

#include "adl/value/error.h"

/* A folder that exists already is not changed. Fails with IO; then some of the folders may have been created. */
int32_t folder_create(const char *path, struct error *error);

#endif
