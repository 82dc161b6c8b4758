/*
 * rank.c - the node type `acme.lists.rank`: sorts a list by an expression, and renders its best items as text.
 *
 * Its configuration has every kind of name that a document can write: channels, an expression and a template. The host
 * compiles them and reports mistakes when it builds the graph; the node uses their indices. Items with equal scores
 * keep their order.
 */
#include <stdlib.h>
#include <tenon/easy.h>
#include <tenon/util/build.h>
#include <tenon/util/text.h>

#define REPORT_MAX 1048576 /* bytes of the text */

TN_PLUGIN("acme.lists", "1.0.0", "Nodes that work on lists")
TN_NOTE("{\"plugin\": {\"licence\": \"MIT\"}}")
/* What the fields of TN_NODE cannot express is added to the schema by notes, and the host checks it. */
TN_NOTE("{\"component\": {\"id\": \"acme.lists.rank\", \"config\": {\"properties\": {"
        "\"first\": {\"minimum\": 1},"
        "\"line\": {\"x-tenon-variables\": [\"item\", \"rank\", \"score\"]}}}}}")

/* For editors and `tenon reference`; `tenon plugin check` creates the node from the examples. */
TN_NOTE(
    "{\"component\": {\"id\": \"acme.lists.rank\", \"documentation\": \"Computes `score` for each item, and keeps the "
    "items from rank `first` to `last`, best first. Items with equal scores keep their order.\", \"examples\": [{"
    "\"title\": \"The three talks with the most votes\", \"config\": {\"input_key\": \"talks\", \"score\": "
    "\"item.votes\", \"last\": 3, \"output_key\": \"best\"}}]}}")

struct ranked {
    tn_value item;  /* borrowed from the list */
    tn_value score; /* owned */
    double number;  /* the score */
    uint64_t index;
};

static int compare_ranked(const void *a, const void *b) {
    const struct ranked *left = a, *right = b;
    if (left->number != right->number) return left->number > right->number ? -1 : 1;
    return left->index < right->index ? -1 : 1;
}

/* Fails the task and returns false if the score is not a number. */
static bool compute_score(tn_task task, uint32_t expression, struct ranked *ranked) {
    char message[128];
    ranked->score = tn_evaluate_item(task, expression, ranked->item);
    if (ranked->score == NULL) return false; /* the task has been failed */
    if (tn.value->as_double(ranked->score, &ranked->number) == TN_OK) return true;
    (void)snprintf(message, sizeof(message), "`score` must be a number; for item %llu it is %s",
                   (unsigned long long)ranked->index, tn_kind_name(ranked->score));
    (void)tn_fail(task, "TYPE", message);
    return false;
}

static bool append_line(tn_task task, uint32_t line, const struct ranked *ranked, int64_t rank,
                        struct tn_text_buffer *report) {
    tn_value variables = tn_build("{s:I, s:v, s:v}", "rank", rank, "score", ranked->score, "item", ranked->item);
    tn_value text = tn_render(task, line, variables);
    uint64_t length;
    tn_release(variables);
    if (text == NULL) return false; /* the task has been failed */
    const char *chars = tn_chars(text, &length);
    tn_text_append_n(report, chars, length);
    tn_text_append(report, "\n");
    tn_release(text);
    return true;
}

TN_NODE(rank, "acme.lists.rank", "Sorts a list by a score, best first.", TN_PURE,
        (READ, input_key, "the list's channel"),
        (EXPR, score, "the score of an item, a number: an expression over `item`"),
        (TEMPLATE_OR, line, "{rank}. {item}", "the text of an item, with {item}, {rank} and {score}"),
        (INT_OR, first, 1, "the rank of the first item to keep"),
        (INT_OR, last, 10, "the rank of the last item to keep"), (WRITE, output_key, "gets the items"),
        (WRITE_OPT, text_key, "gets their texts, one per line")) {
    tn_value list = tn_read(task, config->input_key);
    uint64_t count = tn.value->count(list), end;
    int32_t status = TN_FAILED;
    struct tn_text_buffer report = TN_TEXT_BUFFER(REPORT_MAX);
    struct ranked *ranked = calloc(count + 1, sizeof(*ranked));
    tn_value kept = tn_from_json("[]", TN_Z);

    if (ranked == NULL || kept == NULL) {
        status = TN_NO_MEMORY;
        goto out;
    }
    if (tn.value->kind(list) != TN_ARRAY) {
        status = tn_fail(task, "TYPE", "the channel of `input_key` must hold an array");
        goto out;
    }
    for (uint64_t i = 0; i < count; i++) {
        ranked[i].item = tn.value->at(list, i);
        ranked[i].index = i;
        if (!compute_score(task, config->score, &ranked[i])) goto out;
    }
    qsort(ranked, count, sizeof(*ranked), compare_ranked);
    end = (uint64_t)config->last < count ? (uint64_t)config->last : count;
    for (uint64_t i = (uint64_t)config->first - 1; i < end; i++) {
        if ((status = tn.value->append(&kept, ranked[i].item)) != TN_OK) goto out;
        status = TN_FAILED;
        if (config->text_key == TN_UNBOUND) continue;
        if (!append_line(task, config->line, &ranked[i], (int64_t)i + 1, &report)) goto out;
    }
    status = report.status == TN_OK ? tn_write(task, config->output_key, kept) : report.status;
    if (status == TN_OK && config->text_key != TN_UNBOUND)
        status =
            tn_write_take(task, config->text_key, tn_text_n(report.bytes != NULL ? report.bytes : "", report.length));
    status = tn_done_written(task, status);
out:
    for (uint64_t i = 0; ranked != NULL && i < count; i++) tn_release(ranked[i].score);
    tn_text_free(&report);
    free(ranked);
    tn_release(kept);
    tn_release(list);
    return status;
}

/* What the schema cannot express: two members that do not fit together. */
TN_CHECK(rank) {
    if (config->first <= config->last) return TN_OK;
    char message[128];
    (void)snprintf(message, sizeof(message), "`first` is %lld, so `last` must be at least %lld; found %lld",
                   (long long)config->first, (long long)config->first, (long long)config->last);
    return tn_refuse_at("/last", "INVALID_CONFIG", message);
}
