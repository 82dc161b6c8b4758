/*
 * schema_checks.h - validation by the checks of a schema alone, without its plan (adl/schema/plan.h).
 *
 * Both must always have the same verdict; only a limit may end one of them earlier.
 */
#ifndef TENON_TESTS_SCHEMA_CHECKS_H
#define TENON_TESTS_SCHEMA_CHECKS_H

#include "adl/schema/internal.h"

static inline int32_t validate_by_checks(const struct schema *schema, tn_value instance) {
    struct schema_errors errors = SCHEMA_ERRORS_INIT;
    struct run run;
    run_init(&run, schema);
    run.errors = run.report = &errors;
    bool good = evaluate(&run, schema->root, instance, NULL, NULL);
    run_finish(&run);
    int32_t status = run.status;
    schema_errors_finish(&errors);
    return status != TN_OK ? status : good ? TN_OK : TN_INVALID;
}

#endif
