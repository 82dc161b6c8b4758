/*
 * plugin.cpp - the plugin @ID@: a node that counts the words of a text.
 */
#include <exception>
#include <sstream>
#include <string>
#include <tenon/easy.h>

TN_PLUGIN("@ID@", "0.1.0", "What the plugin is for, in one line")
TN_NOTE("{\"plugin\": {\"licence\": \"MIT\"}}")
TN_NOTE("{\"component\": {\"id\": \"@ID@.words\", \"documentation\": \"Words are separated by blanks.\"}}")

static int64_t count_words(const std::string &text) {
    std::istringstream words(text);
    int64_t count = 0;
    for (std::string word; words >> word;) count++;
    return count;
}

TN_NODE(words, "@ID@.words", "Counts the words of a text.", TN_PURE, (READ, input_key, "the text's channel"),
        (WRITE, output_key, "where the number goes")) {
    tn_value text = tn_read_text(task, config->input_key);
    if (text == nullptr) return TN_FAILED; /* the task has been failed */
    int32_t status;
    try { /* no exception may reach the host, because its frames cannot unwind */
        status = tn_done_written(task, tn_write_int(task, config->output_key, count_words(tn_chars(text, nullptr))));
    } catch (const std::exception &exception) {
        status = tn_fail(task, "EXCEPTION", exception.what());
    }
    tn_release(text);
    return status;
}
