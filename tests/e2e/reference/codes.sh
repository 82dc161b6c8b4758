# The topics diagnostics and errors: a section and a page for every code in the sources.
topic diagnostics
topic errors
rows=$(of 's/^DIAGNOSTIC_CODE\(([EWH][0-9]{3}), .*/\1/p' "$SOURCE/adl/diagnostic/codes.def")
for row in $rows; do
    grep -q "^## ADL-$row: " diagnostics.md || fails "the topic diagnostics lacks the section ADL-$row"
    run tenon reference "ADL-$row"
    expect_code 0 && head -n 1 "$work/out" | grep -q "^## ADL-$row: " || fails "cannot print the page ADL-$row"
    [ "$(grep -c '^## ' "$work/out")" = 1 ] && [ "$(wc -w <"$work/out")" -gt 15 ] || fails "the page ADL-$row must be one section of more than 15 words"
    [ "$(section diagnostics.md "$(sed -n '1s/^## //p' "$work/out")" | tr -d '\n')" = "$(tail -n +2 "$work/out" | tr -d '\n')" ] ||
        fails "the page ADL-$row differs from its section in the topic"
done
rows=$(of 's/^ *CODE\(([A-Z_]+), (true|false), .*/\1/p' "$SOURCE/adl/value/codes.h")
for row in $rows; do
    [ -n "$(section errors.md "$row")" ] || fails "the topic errors lacks the section $row"
    run tenon reference "$row"
    expect_code 0 && expect_in out "## $row" && expect_in out "Retryable: "
done

# The table has every code that the sources use. These words in upper case are not codes:
cat >words <<'W'
ABORTED ALREADY_EXISTS DATA_LOSS DEADLINE_EXCEEDED FAILED_PRECONDITION INVALID_ARGUMENT OUT_OF_RANGE RESOURCE_EXHAUSTED
UNAUTHENTICATED UNAVAILABLE UNIMPLEMENTED UNKNOWN
ANY AUTO NONE HIGH LOW MEDIUM MINIMAL BLOCKLIST MAX_TOKENS MODEL_ARMOR PROHIBITED_CONTENT RECITATION SAFETY SPII STOP
IMAGE_PROHIBITED_CONTENT IMAGE_RECITATION IMAGE_SAFETY MALFORMED_FUNCTION_CALL UNEXPECTED_TOOL_CALL
URL_RETRIEVAL_STATUS_SUCCESS RESTARTED RETRIEVAL_DOCUMENT RETRIEVAL_QUERY START
COMPLETE ERROR_LIMIT ERROR_TOXIC REQUIRED STOP_SEQUENCE TOOL_CALL
AWS_ACCESS_KEY_ID AWS_BEARER_TOKEN_BEDROCK AWS_DEFAULT_REGION AWS_REGION AWS_SECRET_ACCESS_KEY AWS_SESSION_TOKEN
AZURE_CLIENT_ID AZURE_CLIENT_SECRET AZURE_TENANT_ID ANTHROPIC_API_KEY COHERE_API_KEY CLOUDSDK_CONFIG GCE_METADATA_HOST GEMINI_API_KEY GOOGLE_API_KEY GOOGLE_APPLICATION_CREDENTIALS HOME
LANG LC_ALL OPENAI_API_KEY PATH TENON_IDEMPOTENCY_KEY TMPDIR TZ VERTEX_LOCATION VERTEX_PROJECT_ID XDG_CACHE_HOME XDG_STATE_HOME
ACTIVITY_SNAPSHOT CUSTOM REASONING_END REASONING_MESSAGE_CONTENT REASONING_MESSAGE_END REASONING_MESSAGE_START REASONING_START RUN_ERROR
RUN_FINISHED RUN_STARTED STATE_DELTA STATE_SNAPSHOT STEP_FINISHED STEP_STARTED SUBAGENT_FINISHED SUBAGENT_STARTED TEXT_MESSAGE_CONTENT
TEXT_MESSAGE_END TEXT_MESSAGE_START TOOL_CALL_ARGS TOOL_CALL_END TOOL_CALL_RESULT TOOL_CALL_START
BEGIN COMMIT ROLLBACK DELETE GET HEAD OPTIONS PATCH POST PUT TRACE
API_KEY_ AUDIO EC END FALSE GENERIC_INDEX JWT NULL OKP OTHER RIFF RSA SINGLE_EMBEDDING STORE_ TEXT_RETRIEVAL TRUE WAVE WEBP
AGENT_NOT_FOUND CONTENT_TYPE_NOT_SUPPORTED EXTENDED_AGENT_CARD_NOT_CONFIGURED INTERNAL_ERROR INVALID_PARAMS JSONRPC
METHOD_NOT_FOUND PARSE_ERROR PUSH_NOTIFICATION_NOT_SUPPORTED ROLE_AGENT ROLE_USER TASK_NOT_CANCELABLE TASK_NOT_FOUND
TASK_STATE_AUTH_REQUIRED TASK_STATE_CANCELED TASK_STATE_COMPLETED TASK_STATE_FAILED TASK_STATE_INPUT_REQUIRED
TASK_STATE_REJECTED TASK_STATE_SUBMITTED TASK_STATE_WORKING UNSUPPORTED_OPERATION VERSION_NOT_SUPPORTED
W
{ of 's/^ *CODE\(([A-Z_]+), .*/\1/p' "$SOURCE/adl/value/codes.h"; tr ' ' '\n' <words; } | sort -u >known
{ grep -rhoE --include=*.c --include=*.h '"[A-Z]{2}[A-Z_]*"' "$SOURCE/plugins"
  find "$SOURCE/host" "$SOURCE/adl" -name '*.c' -exec cat {} + | tr -d '\n' | grep -oE 'error_set\([^;"]*"[A-Z]{2}[A-Z_]*"' |
      grep -oE '"[A-Z_]+"'; } | tr -d '"' | sort -u >given
[ "$(wc -l <given)" -gt 100 ] || fails "expected more than 100 codes in the sources"
[ -z "$(comm -23 given known)" ] || fails "the table of codes (adl/value/codes.h) lacks $(comm -23 given known | tr "\n" " ")"
