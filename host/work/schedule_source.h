/*
 * schedule_source.h - mistakes in the schedules of a tenon.yaml, at their places in the text: for editors.
 *
 *     struct config *config = config_read(name, text, length, found);   // reports mistakes of form
 *     schedules_check_source(source, config_schedules(config), found);  // and this wrong expressions and time zones
 *
 * Thread: any.
 */
#ifndef TENON_HOST_WORK_SCHEDULE_SOURCE_H
#define TENON_HOST_WORK_SCHEDULE_SOURCE_H

#include "adl/value/value.h"

struct diagnostics;
struct source;

/* `schedules` is what config_schedules returns for this text. It is read again only if one of them has a mistake. */
void schedules_check_source(struct source *source, tn_value schedules, struct diagnostics *found);

#endif
