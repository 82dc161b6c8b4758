# tenon:research writes a report whose citations resolve, from what the tools of parallel researchers have returned.
is_strategy research
cp "$SOURCE/plugins/strategies/research/scripted.yaml" preset.yaml
asked() { run tenon run -q tenon:research "${@:2}" --input "{\"task\": {\"task_type\": \"work\", \"payload\": {\"text\": \"Are heat pumps good?\"}}, \"options\": $1}"; }

# ---- Two researchers with contexts of their own ----
cp preset.yaml tenon.yaml
asked '{}' --stream updates,tasks
expect_code 0 && expect_answer task_state '"done"'
expect_answer user_output '"Heat pumps work in the cold [1]. They cost 20,000 [2] and save a third [1].\n\n[1]: https://example.org/study \"Field study\"\n[2]: https://example.org/prices \"https://example.org/prices\""'
expect_not_in out invented # an address that no tool has returned
[ "$(grep -c '"node":"write".*"event":"start"' "$work/err")" = 2 ] || fails "a report that cites an unknown source must be written again"
# Neither context has what the other tool has returned.
grep '"path":\["investigate\[0\]"\]' "$work/err" | grep -q 'example.org/prices' && fails "a researcher has seen the context of another"
asked '{"max_topics": 1}'
expect_code 0 && expect_not_in out 'example.org/prices'
for options in '{"max_topics": 0}' '{"max_turns": 51}' '{"topics": 2}'; do
    asked "$options"
    expect_code 1 && expect_in err 'channel `options`'
done

# ---- Models that fail ----
# with_role ROLE REPLIES [AGAIN]: the preset models, and another one for a role; AGAIN is its reply to "Your last report …"
with_role() {
    local again="rules: [{contains: Your last report, reply: ${3:-none}}]"
    python3 - "$1" "$2, $again" <<'P' || fails "no yaml"
import re, sys
text = open("preset.yaml").read()
text = re.sub(r"(?ms)^  %s:\n.*?(?=^  \w|\Z)" % sys.argv[1], "  %s: {provider: scripted, replies: %s}\n" % (sys.argv[1], sys.argv[2].replace("\\", "\\\\")), text)
open("tenon.yaml", "w").write(text)
P
}
refused='{"error": {"code": "REFUSED", "message": "no"}}'
sed -i 's/They cost 20,000\./They cost 20,000 [77]./' preset.yaml # a number that a claim has cites nothing
with_role report "[$refused]"
asked '{}'
expect_code 0 && expect_in out '- They cost 20,000 . [2]' && expect_in out '[2]: https://example.org/prices'
cp "$SOURCE/plugins/strategies/research/scripted.yaml" preset.yaml
with_role report '["Nothing is cited."]' '"Still nothing."'
asked '{}'
expect_code 0 && expect_in out '"user_output":"Still nothing.' && expect_in out '"sources":[{"url":"https://example.org/study"'
with_role report '["One [1], nine [9]."]' '"One [1], eight [8]."'
asked '{}'
expect_code 0 && expect_in out '"user_output":"One [1], eight .\n\n[1]: https://example.org/study'
# Citations in other forms resolve; an address that no source has is removed, with its link.
with_role report '["Work [1, 2]; twice [^2], not [1-9]."]' '"Work [1, 2]; twice [^2], not [1-9]."'
asked '{}'
expect_code 0 && expect_in out '"user_output":"Work [1][2]; twice [2], not [1].\n\n[1]: https://example.org/study \"Field study\"\n[2]: '
with_role report '["[A study](https://example.org/no) and https://example.net/no. [1]"]' '"[A study](https://example.org/no) and https://example.net/no. [1]"'
asked '{}'
expect_code 0 && expect_in out '"user_output":"A study and  [1]\n\n[1]: '
with_role report '["[9]"]' '"[9]"'
asked '{}'
expect_code 0 && expect_in out '- They cost 20,000. [2]\n- They save a third. [1]'
# Long reports, and as many findings as are kept.
with_role report "[\"$(head -c 70000 /dev/zero | tr '\0' a) [1]\"]" '"none"'
asked '{}'
expect_code 0 && expect_in out 'aaa [1]","task_state":"done"'
python3 - <<'P'
import json
def preset(**more):
    return {"provider": "scripted", "templates": False, **more}
topics = [{"title": "T%d-" % topic, "question": "?"} for topic in range(20)]
def call(topic):
    text = " ".join("https://example.org/%d/%d" % (topic, number) for number in range(800))
    return {"type": "ai", "content": "", "tool_calls": [{"id": "c1", "name": "extract", "arguments": {"from": text, "what": "links"}}]}
def notes(topic):
    return json.dumps({"summary": "", "findings": [{"claim": "c", "url": "https://example.org/%d/%d" % (topic, number), "title": ""} for number in range(40)]})
models = {
    "brief": preset(replies=[json.dumps({"brief": "b", "topics": topics})]),
    "research": preset(rules=[{"contains": "# The topic: T%d-" % topic, "in": "last", "reply": call(topic)} for topic in range(20)], replies=["done"]),
    "compress": preset(rules=[{"contains": "T%d-" % topic, "reply": notes(topic)} for topic in range(20)], replies=["?"]),
    "report": preset(replies=["First [1], last [800]."])}
json.dump({"models": models}, open("tenon.yaml", "w"))
P
asked '{"max_topics": 20}'
expect_code 0 && expect_in out '"user_output":"First [1], last [800].\n\n[1]: https://example.org/0/0 ' && expect_in out '[800]: https://example.org/19/39 '
# A tool that fails is named.
sed -i 's/"what": "links"/"what": "wrong"/g' tenon.yaml
asked '{"max_topics": 1}'
expect_code 0 && expect_in out '"code":"NO_RESULT"' && expect_in out 'a tool failed: '
with_role compress "[$refused]"
asked '{}'
expect_code 0 && expect_answer task_state '"failed"' && expect_in out '"code":"NO_RESULT"'
with_role research "[$refused]"
asked '{}'
expect_code 0 && expect_in out '"code":"NO_RESULT"' # there were no results of tools
with_role brief "[$refused]"
asked '{}'
expect_code 0 && expect_in out '"code":"NO_RESULT"' # one topic, for which the preset models have no reply
with_role research '[{"error": {"code": "AUTH", "message": "no key"}}]'
asked '{}'
expect_code 1 && expect_in err '[AUTH]'
