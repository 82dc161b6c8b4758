# --set: a value is JSON if it parses as JSON, otherwise text. A path creates objects and keeps their other members.
graph same passthrough '{}'
run tenon run same.yaml --input '{"a": {"x": 1, "z": null}}' --set a.y.deep=2 --set a.z.w='[1, "t", null]' --set b=true
expect_out '{"a":{"x":1,"z":{"w":[1,"t",null]},"y":{"deep":2}},"b":true}'
run tenon run same.yaml --set 'a={not json' --set 'b=x=y'
expect_out '{"a":"{not json","b":"x=y"}'
run tenon run same.yaml --set a= --set 'b="1"'
expect_out '{"a":"","b":"1"}'
for wrong in a =1 '' .a=1 a.=1 a..b=1 .=1; do
    run tenon run same.yaml --set "$wrong"
    expect_code 2 && once "--set: found" && expect_in err "as in user.name"
done
run tenon run same.yaml --input '{"a": [1]}' --set a.0=2
expect_code 2 && once 'found array at `a`, expected an object'
run tenon run same.yaml --input '[1]' --set a=2
expect_code 2 && once "--input: found array, expected an object"
run tenon run same.yaml --set "$(printf 'a.%.0s' {1..80})a=1"
expect_code 2 && once "expected 1 to 64 names"
run tenon run same.yaml --set $'a=\377'
expect_code 2 && once "is not valid UTF-8"
run tenon run same.yaml --set $'a.b\377=1'
expect_code 2 && once "--set: the path before \`=\` is not valid UTF-8"
