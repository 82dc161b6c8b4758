/*
 * http_recording_internal.h - the format of recordings, shared by http_record.c and http_replay.c.
 */
#ifndef TENON_HOST_NET_HTTP_RECORDING_INTERNAL_H
#define TENON_HOST_NET_HTTP_RECORDING_INTERNAL_H

#include "host/net/http_recording.h"

#define RECORDING_FORMAT "tenon-http/1"

#endif
