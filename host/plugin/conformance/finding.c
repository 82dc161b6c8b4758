/*
 * finding.c - the table of findings.
 */
#include "host/plugin/conformance/finding.h"
#include <string.h>

const struct finding_info *finding_info(enum finding finding) {
#define FINDING_ROW(code, severity, meaning) {#code, CONFORMANCE_##severity, meaning},
    static const struct finding_info infos[] = {FINDINGS(FINDING_ROW)};
#undef FINDING_ROW
    return &infos[finding];
}

const struct finding_info *finding_find(const char *code) {
    for (int i = 0; i < FINDING_COUNT; i++)
        if (strcmp(finding_info((enum finding)i)->code, code) == 0) return finding_info((enum finding)i);
    return NULL;
}

const char *conformance_severity_name(enum conformance_severity severity) {
    static const char *const names[] = {
        [CONFORMANCE_NOTE] = "note", [CONFORMANCE_WARNING] = "warning", [CONFORMANCE_ERROR] = "error"};
    return names[severity];
}
