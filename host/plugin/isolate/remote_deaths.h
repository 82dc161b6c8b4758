/*
 * remote_deaths.h - the record of how often the processes of a plugin have ended: FOLDER/deaths/ID.json.
 *
 * Hosts write it, so that `tenon plugin list` and `tenon doctor` can report what happened in other processes. It also
 * carries `tenon plugin reset` to them: a host that has written the record and no longer finds it has been reset. It
 * does not pass a pause to another host: a command that a person starts makes its attempt at once.
 *
 *     id = deaths_add(folder, &death);                 // in a host, at each death
 *     if (deaths_were_reset(folder, "acme.x", id)) …   // in the same host, later
 *     tn_value record = deaths_read(folder, "acme.x"); // NULL if there is none
 *     deaths_clear(folder, "acme.x");                  // `tenon plugin reset acme.x`
 *
 * A record that cannot be written or read counts as absent: it only informs. Thread: any. No function blocks on a lock.
 */
#ifndef TENON_HOST_PLUGIN_ISOLATE_REMOTE_DEATHS_H
#define TENON_HOST_PLUGIN_ISOLATE_REMOTE_DEATHS_H

#include "adl/value/value.h"
#include <stdbool.h>
#include <stdint.h>

#define DEATHS_RECORD_MAX 65536u /* bytes of a record; a longer one counts as absent */

struct death {
    const char *plugin, *file, *message;
    uint32_t in_a_row;
    int64_t now_ms;   /* since 1970 */
    int64_t pause_ms; /* until the next start */
};

/* The folder of all records of this user, to be freed with mem_free; NULL if neither XDG_STATE_HOME nor HOME is set. */
char *deaths_folder(void);
/* Adds a death to the record, or makes one. Returns the id of the record, or 0 if it cannot be written. */
int64_t deaths_add(const char *folder, const struct death *death);
/* True if the record with that id, which is not 0, is gone. False while another host is writing. */
bool deaths_were_reset(const char *folder, const char *plugin, int64_t id);
/* In the functions below, `folder` may be NULL: then there is no record. */
/*
 * {plugin, file, deaths, in_a_row, last_ms, restart_ms, host, message, record}, a new reference. `host` is a process
 * id, `record` the id of the record: it is random, so that a later record has another one.
 */
tn_value deaths_read(const char *folder, const char *plugin);
/* Removes the record. Returns the number of deaths in it, 0 if there was none. */
int64_t deaths_clear(const char *folder, const char *plugin);

#endif
