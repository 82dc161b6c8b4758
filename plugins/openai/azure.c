/*
 * azure.c - models on Azure with tokens of Microsoft Entra instead of a key: `entra` of the configuration.
 */
#include "dialect.h"
#include "entra.h"
#include "openai.h"

static const struct token_maker azure_maker = ENTRA_MAKER("openai");

/* Sets the source of the model's tokens. Returns TN_OK, or the status of a refusal. */
static int32_t azure_set_tokens(struct model *model, tn_value entra) {
    tn_value section = openai_get_section();
    const char *fault = entra_fault(entra, model->base_url, tn_get_text(section, "azure_url", NULL));
    if (fault == NULL && tn.value->kind(tn_get(model->config, "api_key")) > TN_NULL)
        fault = "both `api_key` and `entra` are set; remove one of them";
    if (fault != NULL) return tn_refuse("INVALID_CONFIG", fault);
    model->credentials = "`entra`, and whether the application or the machine has access to the resource";
    model->tokens = entra_source_new(&azure_maker, entra, section, model->http);
    return model->tokens != NULL ? TN_OK : TN_NO_MEMORY;
}

int32_t openai_azure_create(struct model *model) {
    tn_value entra = tn_get(model->config, "entra");
    int32_t status = openai_dialect_create(model);
    if (status != TN_OK || tn.value->kind(entra) != TN_OBJECT) return status;
    status = azure_set_tokens(model, entra);
    if (status != TN_OK) openai_dialect_destroy(model);
    return status;
}
