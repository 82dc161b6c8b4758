/*
 * driver.h - libcurl's multi handle on the host's loop: sockets are tenon.poll's, its timer is tenon.core's.
 *
 * What libcurl calls back only takes down what has come; handlers are called when it has returned, from `settle`: they
 * may then do anything, and libcurl may be called again.
 *
 *     driver_open(settle);                 // settle: called after each time that libcurl has done something
 *     driver_add(easy); … driver_remove(easy);
 *     driver_wake();                       // settle, soon, though nothing has come
 *     driver_close();
 */
#ifndef TENON_PLUGINS_HTTP_DRIVER_H
#define TENON_PLUGINS_HTTP_DRIVER_H

#include "base.h"
#include <curl/curl.h>

bool driver_open(void (*settle)(void));
void driver_close(void); /* no handle may be left in it */
bool driver_add(CURL *easy);
void driver_remove(CURL *easy);
void driver_wake(void);
/* The next that has ended, and how; NULL: none. It is still to be removed. */
CURL *driver_ended(CURLcode *code);

#endif
