# Third-party descriptions, served by a mock server that rejects requests that do not match them.
npm_packages @stoplight/prism-cli @readme/oas-examples
examples=$modules/@readme/oas-examples
prisms=0
# serve DESCRIPTION: starts a mock server for the description. $there is its address, $prism is its process.
# Each server has a separate log, so the address is never that of the previous server.
serve() {
    prisms=$((prisms + 1))
    local log=prism-$prisms.log
    "$modules/.bin/prism" mock -p 0 --errors "$1" >$log 2>&1 &
    prism=$!
    servers+=($prism)
    listens() { grep -q 'listening on' $log || has_ended $prism; }
    wait_until listens
    there=$(sed -n 's/.*listening on \(http[^ ]*\).*/\1/p' $log | head -1 | sed 's/\x1b\[[0-9;]*m//g')
    [ -n "$there" ] || fails "prism printed no address: $(tail -n 5 $log)"
}
for version in 3.0 3.1; do
    serve "$examples/$version/json/petstore.json"
    echo "plugins: {config: {tenon.openapi: {services: {pets: {document: \"$examples/$version/json/petstore.json\", base_url: \"$there\", auth: {api_key: special, petstore_auth: token}}}}}}" >tenon.yaml
    call pets.getPetById '{"petId": 3}'
    expect_code 0 && expect_in out '"name":'
    call pets.findPetsByStatus '{"status": ["sold", "pending"]}'
    expect_code 0 && expect_in out '[{"id":' && expect_in out '"photoUrls":['
    call pets.placeOrder '{"body": {"petId": 3, "quantity": 1, "status": "placed"}}'
    expect_code 0 && expect_in out ',"quantity":'
    upload='{"additionalMetadata": "x"}' # a form; in the newer one bytes
    [ $version = 3.0 ] || upload='"aGVsbG8="'
    call pets.uploadFile "{\"petId\": 3, \"body\": $upload}"
    expect_code 0 && expect_in out ',"message":"string"}'
    call pets.loginUser '{"username": "a b", "password": "c"}'
    expect_code 0
    kill $prism
done
serve "$examples/3.1/json/train-travel.json"
echo "plugins: {config: {tenon.openapi: {services: {trains: {document: \"$examples/3.1/json/train-travel.json\", base_url: \"$there\", auth: {OAuth2: token}}}}}}" >tenon.yaml
call trains.get-trips '{"origin": "efdbb9d1-02c2-4bc3-afb7-6788d8782b1e", "destination": "b2e783e1-c824-4d63-b37a-d8d698862f1d", "date": "2024-02-01T09:00:00Z"}'
expect_code 0 && expect_in out '{"data":[{"id":'
call trains.create-booking '{"body": {"trip_id": "efdbb9d1-02c2-4bc3-afb7-6788d8782b1e", "passenger_name": "Ada"}}'
expect_code 0
