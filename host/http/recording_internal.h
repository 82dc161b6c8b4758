/*
 * recording_internal.h - what writing (record.c) and reading (replay.c) a recording share: its form.
 */
#ifndef TENON_HOST_HTTP_RECORDING_INTERNAL_H
#define TENON_HOST_HTTP_RECORDING_INTERNAL_H

#include "host/http/recording.h"

#define RECORDING_FORMAT "tenon-http/1"

#endif
