/*
 * strategy.h - the contract of strategies: documents that handle a Task of the state kernel.
 *
 * A strategy receives {task} and returns {user_output, task_state, error?} (sdk/schema/component/1/runner.schema.json).
 * It receives `runner_id` and `options`, too, if it declares channels with these names.
 *
 *     struct document *document = document_read(source, &catalog, found);
 *     document_check_strategy(document, found);
 */
#ifndef TENON_ADL_STRATEGY_H
#define TENON_ADL_STRATEGY_H

#include "adl/document/document.h"

struct diagnostics;

/*
 * Reports what is not as the contract says: ADL-E071 to ADL-E075. The document may have errors; a text that could not
 * be read completely is not checked. The text is read once more, for the positions. Any thread.
 */
void document_check_strategy(const struct document *document, struct diagnostics *found);

#endif
