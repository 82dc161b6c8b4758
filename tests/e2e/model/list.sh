# `tenon model list` shows providers and roles, but no secret that tenon.yaml contains.
cat >keys.yaml <<'Y'
models:
  default: {provider: openai, model: x, api_key: sk-12345678, headers: {authorization: Bearer sk-12345678, accept: text}}
  other: ["scripted:one", {provider: anthropic, model: y, api_key: {secret: MY_KEY}}, {provider: gemini, api_key: sk-12345678}]
Y
for form in "" --json; do
    # shellcheck disable=SC2086
    run tenon model list -c keys.yaml $form
    expect_code 0 && expect_not_in out sk-12345678 && expect_in out '"api_key":"(hidden)"' && expect_in out '"accept":"text"'
    expect_in out '{"secret":"MY_KEY"}' && expect_in out '"authorization":"(hidden)"'
done
run tenon model list
expect_code 0 && expect_in out "  scripted " && expect_in out '  default          {"provider":"scripted"'
run tenon model list --json
expect_in out '"provider":"scripted","title":' && expect_in out '"roles":{"default":'
