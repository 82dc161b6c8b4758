# Shared by the tests of tools.
plugin=(--plugins "$TEST_NODES" --allow-drafts)
# configure: writes a tenon.yaml that allows, asks for and denies tools
configure() {
    cat >tenon.yaml <<'Y'
tools:
  approval: {"effect:destructive": deny, "t.*": ask, t.add: auto, t.ask: auto}
  audit: ./log/audit.jsonl
Y
}
