/*
 * metaschema.c - the documents of the 2020-12 dialect, so that a schema can refer to the metaschemas.
 *
 * They are stored as JSON text and become values when a schema refers to them. Titles are left out; all assertions are
 * present.
 */
#include <string.h>

#include "adl/schema/internal.h"
#include "adl/value/json.h"

#define DRAFT            "https://json-schema.org/draft/2020-12/"
#define HEAD(name)       "{\"$schema\":\"" DRAFT "schema\",\"$id\":\"" DRAFT name "\",\"$dynamicAnchor\":\"meta\","
#define META             "{\"$dynamicRef\":\"#meta\"}"
#define META_MAP         "{\"type\":\"object\",\"additionalProperties\":" META ",\"default\":{}}"
#define REF(name)        "{\"$ref\":\"#/$defs/" name "\"}"
#define META_REF(m)      "{\"$ref\":\"meta/" m "\"}"
#define OBJECT           "\"type\":[\"object\",\"boolean\"],"
#define VOCABULARY(name) "\"" DRAFT "vocab/" name "\":true"

/* clang-format off */
static const struct {
    const char *name, *text;
} documents[] = {
    {"schema",
     HEAD("schema")
     "\"$vocabulary\":{" VOCABULARY("core") "," VOCABULARY("applicator") "," VOCABULARY("unevaluated") ","
     VOCABULARY("validation") "," VOCABULARY("meta-data") "," VOCABULARY("format-annotation") ","
     VOCABULARY("content") "},"
     "\"allOf\":[" META_REF("core") "," META_REF("applicator") "," META_REF("unevaluated") "," META_REF("validation")
     "," META_REF("meta-data") "," META_REF("format-annotation") "," META_REF("content") "]," OBJECT
     "\"properties\":{"
     "\"definitions\":{\"type\":\"object\",\"additionalProperties\":" META ",\"deprecated\":true,\"default\":{}},"
     "\"dependencies\":{\"type\":\"object\",\"additionalProperties\":{\"anyOf\":[" META
     ",{\"$ref\":\"meta/validation#/$defs/stringArray\"}]},\"deprecated\":true,\"default\":{}},"
     "\"$recursiveAnchor\":{\"$ref\":\"meta/core#/$defs/anchorString\",\"deprecated\":true},"
     "\"$recursiveRef\":{\"$ref\":\"meta/core#/$defs/uriReferenceString\",\"deprecated\":true}}}"},
    {"meta/core",
     HEAD("meta/core") OBJECT
     "\"properties\":{"
     "\"$id\":{\"$ref\":\"#/$defs/uriReferenceString\",\"pattern\":\"^[^#]*#?$\"},"
     "\"$schema\":" REF("uriString") ","
     "\"$ref\":" REF("uriReferenceString") ","
     "\"$anchor\":" REF("anchorString") ","
     "\"$dynamicRef\":" REF("uriReferenceString") ","
     "\"$dynamicAnchor\":" REF("anchorString") ","
     "\"$vocabulary\":{\"type\":\"object\",\"propertyNames\":" REF("uriString")
     ",\"additionalProperties\":{\"type\":\"boolean\"}},"
     "\"$comment\":{\"type\":\"string\"},"
     "\"$defs\":{\"type\":\"object\",\"additionalProperties\":" META "}},"
     "\"$defs\":{"
     "\"anchorString\":{\"type\":\"string\",\"pattern\":\"^[A-Za-z_][-A-Za-z0-9._]*$\"},"
     "\"uriString\":{\"type\":\"string\",\"format\":\"uri\"},"
     "\"uriReferenceString\":{\"type\":\"string\",\"format\":\"uri-reference\"}}}"},
    {"meta/applicator",
     HEAD("meta/applicator") OBJECT
     "\"properties\":{"
     "\"prefixItems\":" REF("schemaArray") ",\"items\":" META ",\"contains\":" META ","
     "\"additionalProperties\":" META ",\"properties\":" META_MAP ","
     "\"patternProperties\":{\"type\":\"object\",\"additionalProperties\":" META
     ",\"propertyNames\":{\"format\":\"regex\"},\"default\":{}},"
     "\"dependentSchemas\":" META_MAP ",\"propertyNames\":" META ","
     "\"if\":" META ",\"then\":" META ",\"else\":" META ","
     "\"allOf\":" REF("schemaArray") ",\"anyOf\":" REF("schemaArray") ",\"oneOf\":" REF("schemaArray") ","
     "\"not\":" META "},"
     "\"$defs\":{\"schemaArray\":{\"type\":\"array\",\"minItems\":1,\"items\":" META "}}}"},
    {"meta/unevaluated",
     HEAD("meta/unevaluated") OBJECT
     "\"properties\":{\"unevaluatedItems\":" META ",\"unevaluatedProperties\":" META "}}"},
    {"meta/validation",
     HEAD("meta/validation") OBJECT
     "\"properties\":{"
     "\"type\":{\"anyOf\":[" REF("simpleTypes") ",{\"type\":\"array\",\"items\":" REF("simpleTypes")
     ",\"minItems\":1,\"uniqueItems\":true}]},"
     "\"const\":true,\"enum\":{\"type\":\"array\",\"items\":true},"
     "\"multipleOf\":{\"type\":\"number\",\"exclusiveMinimum\":0},"
     "\"maximum\":{\"type\":\"number\"},\"exclusiveMaximum\":{\"type\":\"number\"},"
     "\"minimum\":{\"type\":\"number\"},\"exclusiveMinimum\":{\"type\":\"number\"},"
     "\"maxLength\":" REF("nonNegativeInteger") ",\"minLength\":" REF("nonNegativeIntegerDefault0") ","
     "\"pattern\":{\"type\":\"string\",\"format\":\"regex\"},"
     "\"maxItems\":" REF("nonNegativeInteger") ",\"minItems\":" REF("nonNegativeIntegerDefault0") ","
     "\"uniqueItems\":{\"type\":\"boolean\",\"default\":false},"
     "\"maxContains\":" REF("nonNegativeInteger") ","
     "\"minContains\":{\"$ref\":\"#/$defs/nonNegativeInteger\",\"default\":1},"
     "\"maxProperties\":" REF("nonNegativeInteger") ",\"minProperties\":" REF("nonNegativeIntegerDefault0") ","
     "\"required\":" REF("stringArray") ","
     "\"dependentRequired\":{\"type\":\"object\",\"additionalProperties\":" REF("stringArray") "}},"
     "\"$defs\":{"
     "\"nonNegativeInteger\":{\"type\":\"integer\",\"minimum\":0},"
     "\"nonNegativeIntegerDefault0\":{\"$ref\":\"#/$defs/nonNegativeInteger\",\"default\":0},"
     "\"simpleTypes\":{\"enum\":[\"array\",\"boolean\",\"integer\",\"null\",\"number\",\"object\",\"string\"]},"
     "\"stringArray\":{\"type\":\"array\",\"items\":{\"type\":\"string\"},\"uniqueItems\":true,\"default\":[]}}}"},
    {"meta/meta-data",
     HEAD("meta/meta-data") OBJECT
     "\"properties\":{\"title\":{\"type\":\"string\"},\"description\":{\"type\":\"string\"},\"default\":true,"
     "\"deprecated\":{\"type\":\"boolean\",\"default\":false},\"readOnly\":{\"type\":\"boolean\",\"default\":false},"
     "\"writeOnly\":{\"type\":\"boolean\",\"default\":false},\"examples\":{\"type\":\"array\",\"items\":true}}}"},
    {"meta/format-annotation",
     HEAD("meta/format-annotation") OBJECT "\"properties\":{\"format\":{\"type\":\"string\"}}}"},
    {"meta/format-assertion",
     HEAD("meta/format-assertion") OBJECT "\"properties\":{\"format\":{\"type\":\"string\"}}}"},
    {"meta/content",
     HEAD("meta/content") OBJECT
     "\"properties\":{\"contentEncoding\":{\"type\":\"string\"},\"contentMediaType\":{\"type\":\"string\"},"
     "\"contentSchema\":" META "}}"},
};
/* clang-format on */

tn_value metaschema_document(const char *uri) {
    if (strncmp(uri, DRAFT, strlen(DRAFT)) != 0) return NULL;
    for (size_t i = 0; i < sizeof documents / sizeof *documents; i++) {
        if (strcmp(uri + strlen(DRAFT), documents[i].name) != 0) continue;
        tn_value value = NULL;
        (void)json_read(documents[i].text, strlen(documents[i].text), NULL, &value, NULL);
        return value;
    }
    return NULL;
}
