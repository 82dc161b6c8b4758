# What the operator names may be anywhere, and of any kind.
document prompts/hello.md >d.yaml
run tenon run "$PWD/d.yaml"
expect_code 0
cd ../secret
run tenon run ../project/d.yaml
expect_code 0 && expect_in out "Hello Ada"
echo '{"name": "Bob"}' >input.json
cd ../project
run tenon run d.yaml --input @../secret/input.json
expect_code 0 && expect_in out "Hello Bob"
