# Files in requests: from Artifacts, from paths below `upload_roots`, and from the arguments; and no other file.
cat >files.yaml <<'Y'
openapi: 3.1.0
info: {title: Files, version: "1"}
paths:
  /form:
    post:
      operationId: files/upload
      requestBody:
        required: true
        content:
          application/x-www-form-urlencoded: {schema: {type: object}}
          multipart/form-data:
            schema: {$ref: "#/components/schemas/Upload"}
            encoding: {picture: {contentType: "image/png"}, note: {contentType: "text/markdown"}, any: {contentType: "image/*"}}
  /file: {put: {operationId: put, requestBody: {content: {"image/*": {}}}}, post: {operationId: post, requestBody: {content: {application/octet-stream: {schema: {type: string, format: binary}}}}}}
components:
  schemas:
    Upload:
      required: [file]
      allOf:
        - {type: object, properties: {file: {type: string, format: binary, description: The report.}, meta: {type: object}}}
      properties:
        note: {type: string}
        picture: {contentMediaType: image/png}
        any: {type: string, contentMediaType: application/octet-stream}
        coded: {type: string, contentEncoding: base64, contentMediaType: image/png}
        url: {type: string, contentEncoding: base64url}
        many: {type: array, items: {$ref: "#/components/schemas/Bytes"}}
        id: {type: integer, readOnly: true}
    Bytes: {type: string, format: binary}
Y
mkdir -p out/sub secret
head -c 300000 /dev/urandom >out/big.bin
printf 'hello' >out/sub/hello.txt
printf 'hunter2' >secret/key
ln -s ../secret/key out/link
ln -s ../secret out/folder
mkfifo out/pipe
cat >tenon.yaml <<Y
plugins:
  config:
    tenon.openapi:
      services:
        f: {document: files.yaml, base_url: "$at", upload_roots: [out], max_upload_bytes: 400000}
        g: {document: files.yaml, base_url: "$at"}
Y
# What a model sees: a file is an object, and only permitted sources are named.
run tenon tool show f.files_upload --json
expect_in out 'The report.\n\nA file: exactly one of `artifact_id`, `path`, `text` and `data`.' && expect_not_in out '"id":{'
expect_in out "\"fs.read:$PWD/out\"" && expect_in out '"state.read"'
run tenon tool show g.files_upload --json
expect_in out 'exactly one of `artifact_id`, `text` and `data`' && expect_not_in out fs.read

upload() { run tenon tool call "$@" --yes; }
# parts EXPRESSION: fails unless this Python expression about the parts p is true
parts() {
    expect_code 0
    python3 -c 'import json, sys; p = json.load(open(sys.argv[1])); assert eval(sys.argv[2]), p' "$work/out" "$1" || fails "expected: $1"
}
sum=$(sha256sum out/big.bin | cut -d' ' -f1)
upload f.files_upload '{"body": {"file": {"path": "big.bin"}, "note": "n", "meta": {"a": 1}}}'
parts "[(x['name'], x['filename'], x['type'], x['size']) for x in p] == [('file', 'big.bin', 'application/octet-stream', 300000), ('note', None, 'text/markdown', 1), ('meta', None, 'application/json', 7)]"
parts "p[0]['sha256'] == '$sum'"
upload f.files_upload "{\"body\": {\"file\": {\"path\": \"$PWD/out/sub/hello.txt\"}, \"picture\": {\"text\": \"x\"}, \"any\": {\"data\": \"aGVsbG8\", \"media_type\": \"image/gif\", \"filename\": \"a\\\"b\\r\\n.gif\"}}}"
parts "[(x['filename'], x['type'], x['text']) for x in p] == [('hello.txt', 'application/octet-stream', 'hello'), ('file', 'image/png', 'x'), ('a%22b%0D%0A.gif', 'image/gif', 'hello')]"
upload f.files_upload '{"body": {"file": {"text": "", "type": "file"}, "coded": {"text": "hi"}, "url": {"data": "+/8="}, "many": [{"text": "1"}, {"text": "2"}]}}'
parts "[(x['name'], x['size'], x['encoding']) for x in p] == [('file', 0, None), ('coded', 2, 'base64'), ('url', 3, None), ('many', 1, None), ('many', 1, None)]"
# A part that contains the boundary.
upload f.files_upload '{"body": {"file": {"text": "--tenon-7d1f5a0c9b3e4826--"}}}'
parts "len(p) == 1 and p[0]['size'] == 26"

# Artifacts, also large ones.
run tenon artifact write out/big.bin --type image/webp --metadata '{"filename": "dir/may.webp"}'
expect_code 0
id=$(cat "$work/out")
upload f.files_upload "{\"body\": {\"file\": {\"artifact_id\": \"$id\"}}}"
parts "p[0]['sha256'] == '$sum' and p[0]['filename'] == 'may.webp' and p[0]['type'] == 'image/webp'"
upload f.put "{\"body\": {\"artifact_id\": \"$id\"}}"
parts "p['sha256'] == '$sum' and p['type'] == 'image/webp'"
upload f.post "{\"body\": {\"artifact_id\": \"$id\"}}"
parts "p['sha256'] == '$sum' and p['type'] == 'application/octet-stream'"
upload f.post '{"body": "aGVsbG8="}'
parts "p['text'] == 'hello'"
upload f.files_upload '{"body": {"file": {"artifact_id": "nowhere"}}}'
expect_code 1 && expect_in err NOT_FOUND

# The limit counts all files of a call.
upload f.files_upload "{\"body\": {\"file\": {\"path\": \"big.bin\"}, \"many\": [{\"path\": \"big.bin\"}]}}"
expect_code 1 && expect_in err '[LIMIT]' && expect_in err 'than 400000 bytes in all, which is the limit; `max_upload_bytes` of the service `f`'
upload f.files_upload "{\"body\": {\"file\": {\"artifact_id\": \"$id\"}, \"many\": [{\"artifact_id\": \"$id\"}]}}"
expect_code 1 && expect_in err '[LIMIT]'
many=$(printf '{"text": ""},%.0s' {1..64})
upload f.files_upload "{\"body\": {\"file\": {\"text\": \"\"}, \"many\": [${many%,}]}}"
expect_code 1 && expect_in err 'more than 64 files'

# No other file of the host.
refused() { # PATH MESSAGE
    upload f.files_upload "{\"body\": {\"file\": {\"path\": \"$1\"}}}"
    expect_code 1 && expect_in err "the file \`$1\` $2" && expect_not_in err hunter2 && expect_not_in out hunter2
}
refused "../secret/key" 'is not named by a path below `upload_roots`'
refused "sub/../../secret/key" 'is not named by a path below'
refused "$PWD/secret/key" 'is not named by a path below'
refused "$PWD/out/../secret/key" 'is not named by a path below'
refused "${PWD}/outside" 'is not named by a path below'
refused /etc/passwd 'is not named by a path below'
refused "" 'is not named by a path below'
refused link 'is a symbolic link, which is not followed'
refused folder/key 'does not exist below `upload_roots`'
refused pipe 'is not a regular file'
refused sub 'is not a regular file'
refused missing 'does not exist below'
upload g.files_upload '{"body": {"file": {"path": "out/sub/hello.txt"}}}'
expect_code 2 && expect_in err path
upload f.files_upload '{"body": {"file": {"path": "big.bin", "text": "x"}}}'
expect_code 1 && expect_in err 'expected exactly one of'
upload f.files_upload '{"body": {"file": {"data": "no base64!"}}}'
expect_code 1 && expect_in err '`data` is not base64'
upload f.post '{"body": "no base64!"}'
expect_code 1 && expect_in err 'the body must be base64 or a file'
# In isolation, too: the process can open the root and nothing else.
upload f.files_upload '{"body": {"file": {"path": "sub/hello.txt"}}}' --isolate tenon.openapi
parts "p[0]['text'] == 'hello'"
upload f.files_upload "{\"body\": {\"file\": {\"artifact_id\": \"$id\"}}}" --isolate tenon.openapi
parts "p[0]['sha256'] == '$sum'"

# What is longer than a body of tenon.http fails in one place, too: in base64, 48 MiB are 64 MiB.
truncate -s 50331648 out/max.bin
sed -i 's/max_upload_bytes: 400000/max_upload_bytes: 50331648/' tenon.yaml
upload f.files_upload '{"body": {"file": {"text": ""}, "coded": {"path": "max.bin"}}}'
expect_code 1 && expect_in err 'the body is longer than 64 MiB, which is the limit' && expect_in err '[LIMIT]'
