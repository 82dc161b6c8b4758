/*
 * pipe.c - prompt, model and parser as a pipe of three components, and a pipe that is refused because they do not fit.
 *
 *     cc pipe.c $(pkg-config --cflags --libs tenon) -o pipe && ./pipe
 *
 * The model is `scripted`, which answers without a network. Replace it by a role of tenon.yaml, or by openai:gpt-4o.
 */
#include <stdio.h>
#include <tenon/embed.h>

static tn_value json(const char *text) {
    tn_value value = NULL;
    tenon_values()->from_json(NULL, text, TN_Z, &value, NULL);
    return value;
}

/* A component with a configuration as JSON. */
static tenon_runnable *component(tenon *host, const char *kind, const char *id, const char *config) {
    tn_value value = json(config);
    tenon_runnable *made = tenon_component(host, kind, id, value);
    tenon_values()->release(value);
    if (!made) fprintf(stderr, "%s\n", tenon_error(host));
    return made;
}

int main(void) {
    tenon *host = tenon_open(NULL, NULL);
    tenon_runnable *stages[] = {
        component(host, "node", "prompt",
                  "{\"messages\": [{\"type\": \"user\", \"content\": \"Name an animal: {kind}\"}],"
                  " \"output_key\": \"messages\"}"),
        component(host, "model", "scripted",
                  "{\"replies\": [\"{\\\"animal\\\": \\\"owl\\\"}\"], \"templates\": false}"),
        component(host, "node", "parse", "{\"input_key\": \"message\", \"output_key\": \"answer\"}")};

    tenon_runnable *chain = tenon_pipe(host, stages, 3);
    char *answer = chain ? tenon_invoke_json(chain, "{\"kind\": \"bird\"}") : NULL;
    printf("answer: %s\n", answer ? answer : tenon_error(host));
    tenon_free(answer);
    tenon_release(chain);

    /* The parser's output has no messages for a model: no run is needed to find that. */
    tenon_runnable *reversed[] = {stages[2], stages[1]};
    chain = tenon_pipe(host, reversed, 2);
    printf("refused: %s\n", chain ? "no" : tenon_error(host));
    tenon_release(chain);

    for (int i = 0; i < 3; i++) tenon_release(stages[i]);
    tenon_close(host);
    return 0;
}
