/*
 * plugin.c - the plugin `example.triage`: nodes for sorting mail. Each other file implements one node or shared
 * helpers.
 */
#include <tenon/easy.h>

TN_PLUGIN("example.triage", "1.0.0",
          "Reading mail, guessing languages, scoring keywords, finding entities, drawing tables")
TN_NOTE("{\"plugin\": {\"licence\": \"MIT\"}}")
