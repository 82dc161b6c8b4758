# `providers` in tenon.yaml: names of model providers, in lists, checks, bindings and suggestions.
cat >tenon.yaml <<'Y'
providers:
  lab: {provider: scripted, replies: ["From the lab"], model: small}
  labs: {provider: lab, replies: ["From the labs"]}
  scripted: {provider: scripted, replies: ["Changed"]}
models: {default: lab, other: "labs:big", plain: "scripted:x"}
Y
run tenon model list
expect_code 0 && expect_in out '  lab              `scripted` with the configuration of tenon.yaml' && expect_in out '  groq             Models on Groq'
run tenon model list --json
expect_in out '"provider":"labs","title":"`lab` with the configuration of tenon.yaml","plugin":"tenon.scripted","component":"scripted"'
expect_in out '"provider":"mistral","title":"Models of Mistral","plugin":"tenon.openai","component":"openai","base_url":"https://api.mistral.ai/v1"'
[ "$(grep -o "\"provider\":\"scripted\",\"title\"" "$work/out" | wc -l)" = 1 ] || fails "the changed row is listed twice"
for model in "default:From the lab:lab:small" "other:From the labs:labs:big" "plain:Changed:scripted:x"; do
    IFS=: read -r role text provider name <<<"$model"
    run tenon model test "$role" --json
    expect_code 0 && expect_in out "$text" && expect_in out "\"model\":\"$provider:$name\""
done
run tenon model test groqq:x
expect_code 4 && expect_in err 'did you mean `groq`?'
run tenon model test laab:x
expect_in err 'did you mean `lab`?'

# Mistakes.
cat >graph.yaml <<'Y'
version: "1.0"
agent: {name: rows}
channels: [{name: out, type: last_value}]
nodes: [{id: ask, type: llm, config: {prompt: "Well?", output_key: out}}]
edges: [{from: START, to: ask}, {from: ask, to: END}]
Y
wrong() { # the row, then a text of the message
    printf 'providers:\n  lab: %s\nmodels: {default: scripted}\n' "$1" >wrong.yaml
    run tenon check graph.yaml -c wrong.yaml
    expect_in err "$2"
}
wrong '3' 'wrong.yaml:2:8: '
wrong '{base_url: "http://x"}' '`providers.lab`: found no `provider`'
wrong '{provider: mistrall}' 'providers.lab: no plugin provides the model provider `mistrall`; did you mean `mistral`?'
wrong '{provider: openai, dialekt: {}}' 'providers.lab: the configuration of the model `lab`: '
wrong '{provider: openai, dialect: {seed: maybe}}' 'providers.lab: the configuration of the model `lab`: /dialect/seed'
wrong '{provider: openai, api_key: {env: X}}' 'belongs under `secrets` in tenon.yaml'
printf 'providers: {a: {provider: b}, b: {provider: a}}\nmodels: {default: a}\n' >wrong.yaml
run tenon check graph.yaml -c wrong.yaml
expect_in err "providers.a: the rows that it is based on do not end at a plugin's model" && expect_in err 'no plugin provides the model provider `a`'
printf 'providers: {"a b": {provider: openai}}\n' >wrong.yaml
run tenon check graph.yaml -c wrong.yaml
expect_in err 'found a name with other characters'
printf 'providers: {lab: {provider: openai, api_key: {secret: NO_SUCH_KEY}}}\n' >wrong.yaml
run tenon doctor -c wrong.yaml
expect_in out 'providers: ' && expect_in out NO_SUCH_KEY

unset GROQ_API_KEY
printf 'models: {default: ["scripted:x", "groq:y"], mine: {provider: groq, model: z, api_key: k}}\n' >wrong.yaml
run tenon doctor -c wrong.yaml
expect_in out 'models.default: the secret `GROQ_API_KEY`, the key of `groq`, is not available' && expect_not_in out models.mine
GROQ_API_KEY=gsk-1 run tenon doctor -c wrong.yaml
expect_not_in out 'the key of `groq`'

# A row without an address.
run tenon model test azure:gpt-4o
expect_code 4 && expect_in err 'this provider has no `base_url`'
