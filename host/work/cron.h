/*
 * cron.h - cron expressions: five fields as in crontab(5), and the next time at which they are due in a time zone.
 *
 *     struct cron cron;
 *     if (cron_parse("0 3 * * mon-fri", 15, &cron, &error) != TN_OK) return report(&error);
 *     if (cron_next(&cron, "Europe/Berlin", now_s, &due_s)) ...   // the first due time after now
 *
 * The fields are minute (0-59), hour (0-23), day of month (1-31), month (1-12 or jan-dec) and day of week (0-7 or
 * sun-sat; 0 and 7 are Sunday). A field is `*` or a list of numbers, names and ranges; `*` and ranges can have a step
 * (`9-17/2`). @hourly, @daily (@midnight), @weekly, @monthly and @yearly (@annually) stand for expressions.
 * Seconds, years, @reboot, `L`, `W` and `#` do not exist.
 *
 * If both day fields are restricted, a day that matches one of them matches. A field that begins with `*` is not
 * restricted, even with a step: then both fields must match. This is the rule of Debian's cron.
 *
 * Daylight saving: an expression with all 24 hours follows elapsed time: it is due at each minute in which the clock of
 * the zone shows a matching time. In the hour that occurs twice it is due twice, and in the hour that is skipped it is
 * not due. Any other expression has fixed times: a time is due when the clock of the zone first shows this time or a
 * later one. So a time that is skipped is due at the first instant after the gap, together with all others in the gap,
 * and a time that occurs twice is due at its first occurrence. Debian's cron has the same rule for changes of up to
 * three hours (cron(8), "daylight saving"), except that it decides by `*` in the fields for minute and hour.
 *
 * A value of plain data: copy it freely. Thread: any.
 */
#ifndef TENON_HOST_WORK_CRON_H
#define TENON_HOST_WORK_CRON_H

#include "adl/value/error.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CRON_TEXT_MAX  256 /* bytes of an expression */
#define CRON_YEARS_MAX 41  /* years searched for a due time: 29 February on one weekday can be 40 years away */
#define CRON_TIME_LAST                                                                                                 \
    INT64_C(200000000000) /* seconds since 1970, in the year 8307: no due time is searched after it */

struct cron {
    uint64_t minutes; /* bit n: minute n */
    uint32_t hours;   /* bit n: hour n */
    uint32_t days;    /* bit n: day n of the month, from 1 */
    uint16_t months;  /* bit n: month n, from 1 */
    uint8_t weekdays; /* bit n: day n of the week; Sunday is 0 */
    bool any_day;     /* the field for the day of month begins with `*` */
    bool any_weekday; /* the same for the day of week */
};

/*
 * Reads an expression. Fails with INVALID_CONFIG: the message states the field, its column, what was found and what was
 * expected. An expression that is never due, such as 30 February, is an error, too.
 */
int32_t cron_parse(const char *text, size_t length, struct cron *out, struct error *error);
/*
 * Sets *due to the first due time after `after`, both in seconds since 1970 UTC. `zone` is "UTC" or a name that
 * zone_find knows. Returns false if the zone is unknown, or if `after` is before 1970 or after CRON_TIME_LAST.
 */
bool cron_next(const struct cron *cron, const char *zone, int64_t after, int64_t *due);

#endif
