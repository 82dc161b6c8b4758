/*
 * http_recording_internal.h - the format of recordings, shared by http_record.c and http_replay.c.
 */
#ifndef TENON_HOST_NET_HTTP_RECORDING_INTERNAL_H
#define TENON_HOST_NET_HTTP_RECORDING_INTERNAL_H

#include "host/net/http_recording.h"

#define RECORDING_FORMAT     "tenon-http/1"
#define RECORDING_KEY_MEMBER "dev.tenon/idempotency-key" /* in params/_meta of an MCP request; not compared */

#endif
