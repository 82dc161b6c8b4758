/*
 * defects.c - a plugin with one defect, which DEFECT names, for tests/e2e/exercise.sh.
 */
#include <stdlib.h>
#include <string.h>
#include <tenon/easy.h>

TN_PLUGIN("test.defects", "1.0.0", "Has one defect")
TN_NOTE("{\"plugin\": {\"licence\": \"MIT\"}}")

TN_NODE(one, "test.defect", "Has one defect.", TN_PURE, (TEXT, what, "any text"), (WRITE, out, "a channel")) {
    (void)input;
#if DEFECT == 1 /* it dies of what its schema allows */
    if (strchr(config->what, ' ')) abort();
#elif DEFECT == 2 /* it leaks values */
    tn_value text = tn.value->make_text("never released", 14);
    (void)text;
#elif DEFECT == 4 /* it does not look whether there was memory */
    char *memory = tn.core->alloc(tn.host, 100);
    memset(memory, 0, 100);
    tn.core->release(tn.host, memory);
#endif
    return tn_done_written(task, tn_write_int(task, config->out, (int64_t)strlen(config->what)));
}
