/*
 * plugin.cpp - the plugin @ID@: a tool that repeats a text.
 */
#include <exception>
#include <string>
#include <tenon/easy.h>
#include <vector>

TN_PLUGIN("@ID@", "0.1.0", "What the plugin is for, in one line")
TN_NOTE("{\"plugin\": {\"licence\": \"MIT\"}}")
TN_NOTE("{\"component\": {\"id\": \"@ID@.repeat\", \"documentation\": \"Returns a list of `times` texts.\"}}")

/* A list of texts as a value: a new reference. */
static tn_value to_value(const std::vector<std::string> &texts) {
    tn_builder *builder = tn_builder_new();
    tn.value->begin(builder, TN_ARRAY);
    for (const std::string &text : texts) tn.value->add_text(builder, text.data(), text.size());
    tn.value->end(builder);
    return tn_finish(builder);
}

TN_TOOL(repeat, "@ID@.repeat", "Repeats a text.", TN_PURE, (TEXT, text, "what to repeat"),
        (INT_OR, times, 2, "how often, at most 100")) {
    if (args->times < 0 || args->times > 100) return tn_fail(task, "INVALID_INPUT", "`times` must be 0 to 100");
    try { /* no exception may reach the host, because its frames cannot unwind */
        const std::string text(args->text, static_cast<std::size_t>(args->text_length));
        return tn_done_take(task, to_value(std::vector<std::string>(static_cast<std::size_t>(args->times), text)));
    } catch (const std::exception &exception) {
        return tn_fail(task, "EXCEPTION", exception.what());
    }
}
