# Shared by the tests of `tenon model`: a tenon.yaml with roles, fallbacks and prices.
cat >tenon.yaml <<'Y'
models:
  default: {provider: scripted, replies: ["Hello {input}"], model: small}
  busy:
    - {provider: scripted, model: full, replies: [{message: "Wait", error: {code: OVERLOADED}}], cycle: true}
    - {provider: scripted, model: spare, replies: ["From the spare one"]}
  denied:
    - {provider: scripted, model: locked, replies: [{error: {code: AUTH, message: "the key is wrong"}}]}
    - {provider: scripted, model: spare, replies: [never]}
  gone: [{provider: nobody}, {provider: scripted, replies: [here]}]
prices:
  "scripted:*": {input: 1000000, output: 2000000}
  "scripted:spare": {input: 0, output: 0}
Y
