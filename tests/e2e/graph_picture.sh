# `tenon graph --format svg` and `--format html`: XML whose elements match the document, a page whose policy has the hashes of
# its parts, and, if Chromium is installed, a page that a person can move and search.
command -v python3 >/dev/null || skips "python3 is not installed"

# picture FILE CHECK: draws the document, and runs the check with `svg`, `nodes` (data-node to element) and `lines`.
picture() {
    run tenon graph "$1" --format svg "${@:3}"
    expect_code 0
    python3 - "$work/out" "$1" "$2" <<'PY' || fails "the picture of $1 is not as expected"
import sys, xml.etree.ElementTree as tree
space = "{http://www.w3.org/2000/svg}"
svg = tree.parse(sys.argv[1]).getroot()
nodes = {g.get("data-node"): g for g in svg.iter(space + "g") if g.get("class") == "node"}
lines = open(sys.argv[2], encoding="utf-8").read().split("\n")
identifiers = [g.get("id") for g in svg.iter() if g.get("id")]
assert svg.tag == space + "svg" and svg.get("role") == "img" and svg.find(space + "title").text
assert len(set(identifiers)) == len(identifiers)
names = {g.tag.removeprefix(space) for g in svg.iter()}
assert names <= {"svg", "g", "path", "rect", "text", "title", "desc", "style"}, names
x, y, width, height = map(float, svg.get("viewBox").split())
assert (str(width), str(height)) == (str(float(svg.get("width"))), str(float(svg.get("height"))))
for name, node in nodes.items():
    if node.get("data-line") and name.isidentifier(): assert name in lines[int(node.get("data-line")) - 1]
exec(sys.argv[3])
PY
}

for sample in triage/triage from-langgraph/review hello/hello chat/chat generator/generator; do
    picture "$SOURCE/samples/$sample.yaml" 'assert nodes and all(node.get("data-line") for node in nodes.values())'
done
picture "$SOURCE/samples/triage/triage.yaml" '
edges = {(g.get("data-from"), g.get("data-to")): g.get("class") for g in svg.iter() if g.get("class", "").startswith("edge")}
assert edges["read", "sort"] == "edge map" and edges["report", "END"] == "edge otherwise" and edges["START", "read"] == "edge plain"'
cmp -s "$work/out" "$SOURCE/samples/triage/triage.svg" ||
    fails "samples/triage/triage.svg is old; run: tenon graph samples/triage/triage.yaml --format svg"
picture "$SOURCE/samples/agent/agent.yaml" 'assert list(nodes) == ["solve"]'

# Documents inside nodes have no lines, because these are in another text.
cat >inner.yaml <<'YAML'
version: "1.0"
nodes: [{id: inner, type: passthrough}]
edges: [{from: START, to: inner}, {from: inner, to: END}]
YAML
cat >outer.yaml <<'YAML'
version: "1.0"
nodes: [{id: outer, type: subgraph, config: {document: inner.yaml}}]
edges: [{from: START, to: outer}, {from: outer, to: END}]
YAML
picture outer.yaml 'assert nodes["inner"].get("id") == "node-outer.0.inner" and not nodes["inner"].get("data-line")' --inside

# Texts of a document stay texts.
cat >hostile.yaml <<'YAML'
version: "1.0"
agent: {name: "</title><script>alert(1)</script>", description: "]]> & \" ' \u202e"}
channels: [{name: n, type: last_value, default: 0}]
nodes:
  - {id: "<img src=x onerror=alert(1)>", type: passthrough}
  - {id: "a\" onload=\"alert(1)", type: passthrough}
  - {id: "b\t\u0001\u001b\ufffe\u2028", type: passthrough}
  - {id: "שלום 世界 😀", type: passthrough}
edges:
  - {from: START, to: ["<img src=x onerror=alert(1)>", "a\" onload=\"alert(1)"]}
  - from: "a\" onload=\"alert(1)"
    type: conditional
    conditions: [{expression: "'</text><script>' != \"&amp;\" && state.n < 1", to: "b\t\u0001\u001b\ufffe\u2028"}, {expression: default, to: "שלום 世界 😀"}]
YAML
picture hostile.yaml '
assert set(nodes) == {"<img src=x onerror=alert(1)>", "a\" onload=\"alert(1)", "b\t\ufffd\ufffd\ufffd\u2028", "שלום 世界 😀"}
assert svg.find(space + "title").text == "</title><script>alert(1)</script>"
for g in svg.iter(): assert not any(name.startswith("on") for name in g.attrib)'

# ---- The page ----
run tenon graph hostile.yaml --format html
expect_code 0
python3 - "$work/out" <<'PY' || fails "the page is not as expected"
import base64, hashlib, html.parser, sys
class Page(html.parser.HTMLParser):
    tags, parts, policy, inside = [], [], "", None
    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        if tag == "meta" and dict(attributes).get("http-equiv"): self.policy = dict(attributes)["content"]
        if tag in ("script", "style"): self.inside = [tag, ""]
        assert not any(name.startswith("on") or name in ("src", "href", "style") for name, value in attributes), attributes
    def handle_data(self, data):
        if self.inside: self.inside[1] += data
    def handle_endtag(self, tag):
        if self.inside and tag == self.inside[0]:
            self.parts.append(tuple(self.inside))
            self.inside = None
page = Page()
page.feed(open(sys.argv[1], encoding="utf-8").read())
assert page.tags.count("script") == 1 and page.tags.count("svg") == 1 and "img" not in page.tags
assert len(page.parts) == 3 and "default-src 'none'" in page.policy and "unsafe" not in page.policy
for tag, text in page.parts:
    digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
    assert f"'sha256-{digest}'" in page.policy.split(tag + "-src ")[1].split(";")[0], tag
PY
cp "$work/out" hostile.html
run tenon graph "$SOURCE/samples/triage/triage.yaml" --format html
expect_code 0
cp "$work/out" page.html

browser=
for name in chromium chromium-browser google-chrome; do
    if [ -z "$browser" ] && command -v "$name" >"$work/which"; then browser=$name; fi
done
[ -z "$browser" ] || python3 "$SOURCE/tests/e2e/page_check.py" "$browser" page.html hostile.html || fails "the page does not work in $browser"
