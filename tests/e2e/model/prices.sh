# Mistakes in the section `prices` of tenon.yaml.
for prices in '{"a:b": 3}' '{"a:b": {input: -1}}' '{"a:b": {inptu: 1}}' '3'; do
    echo "prices: $prices" >wrong.yaml
    run tenon model list -c wrong.yaml
    expect_code 4 && expect_in err "wrong.yaml:1:"
done
echo 'prices: {"a:b": {inptu: 1}}' >wrong.yaml
run tenon model list -c wrong.yaml
expect_in err 'did you mean `input`'
