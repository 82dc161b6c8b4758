/*
 * driver.h - libcurl's multi handle on the host's loop: sockets use tenon.poll, the timer uses tenon.core.
 *
 * The callbacks of libcurl only store what arrived. Handlers are called from `advance`, after libcurl has returned;
 * they may call any function, also libcurl's.
 *
 *     driver_open(advance);                // advance is called whenever libcurl has made progress
 *     driver_add(easy); … driver_remove(easy);
 *     driver_wake();                       // calls advance soon, without progress
 *     driver_close();
 */
#ifndef TENON_PLUGINS_HTTP_DRIVER_H
#define TENON_PLUGINS_HTTP_DRIVER_H

#include "base.h"
#include <curl/curl.h>

bool driver_open(void (*advance)(void)); /* false: memory ran out */
void driver_close(void);                 /* all handles must have been removed */
bool driver_add(CURL *easy);
void driver_remove(CURL *easy);
void driver_wake(void);
/* Returns the next handle whose transfer has ended, and its code; NULL if there is none. The caller removes it. */
CURL *driver_next_ended(CURLcode *code);

#endif
