# Two keys: neither sees chats of the other one, and a chat of the same id is another chat.
command -v python3 >/dev/null || skips "python3 is not installed"
for name in ada bob; do
    run tenon key create $name --scope run
    expect_code 0
    declare "$name=$(grep -o 'tn_[A-Za-z0-9_-]*' "$work/out" | head -n 1)"
done
run tenon key create eve --scope read --owner ada
eve=$(grep -o 'tn_[A-Za-z0-9_-]*' "$work/out" | head -n 1)
# Longer than the requests that are made meanwhile.
sed 's/name: slow/name: slower/; s/delay_ms: 15/delay_ms: 100/' graphs/slow.yaml >graphs/slower.yaml
web_start
# call KEY METHOD PATH [DATA]: the body is in the file `body`, the status in $status
call() {
    status=$(curl -sN -m 60 -o body -w '%{http_code}' -X "$2" "$url$3" -H "Authorization: Bearer $1" -H 'Content-Type: application/json' ${4:+-d "$4"})
}
message() { echo "{\"id\": \"$1\", \"messages\": [{\"id\": \"u\", \"role\": \"user\", \"parts\": [{\"type\": \"text\", \"text\": \"$2\"}]}]}"; }
expect_status() { [ "$status" = "$1" ] || { cat body >&2; fails "expected the status $1, found $status"; }; }
call "$ada" POST '/api/chat?graph=chat' "$(message same 'the secret of Ada')"
expect_status 200
grep -q 'DONE' body || fails "the answer is not complete"
grep -q '@ada' body && fails "the answer names its owner"
call "$ada" GET /api/chat/same/messages
expect_status 200
grep -q 'secret of Ada' body || fails "Ada does not see her chat"
for id in same @ada:same; do
    call "$bob" GET /api/chat/$id/messages
    expect_status 404
    grep -q secret body && fails "Bob sees a chat of Ada"
    call "$bob" GET /api/chat/$id/stream
    [ "$status" = 204 ] || expect_status 404
done
call "$bob" POST '/api/chat?graph=chat' "$(message same hello)"
expect_status 200
grep -q '"delta":"1' body || fails "Bob continues the chat of Ada"
call "$bob" POST '/api/chat?graph=chat' "$(message @ada:same hello)"
expect_status 404
# An active answer of Ada: Bob can neither read nor cancel it; Eve, who may read for Ada, can read it only.
curl -sN -m 60 -o ada.sse -X POST "$url/api/chat?graph=slower" -H "Authorization: Bearer $ada" -H 'Content-Type: application/json' -d "$(message active go)" &
client=$!
wait_until grep -qs '"delta"' ada.sse
call "$bob" GET /api/chat/active/stream
expect_status 204
call "$bob" DELETE /api/chat/@ada:active/stream
[ "$status" = 204 ] || expect_status 404
call "$eve" DELETE /api/chat/active/stream
expect_status 403
call "$eve" POST '/api/chat?graph=chat' "$(message eve hello)"
expect_status 403
call "$eve" GET /api/chat/active/stream
expect_status 200
grep -q DONE body || fails "Eve does not read to the end"
wait "$client"
grep -q '"finishReason":"stop"' ada.sse || fails "Bob has cancelled the answer of Ada"

run python3 "$SOURCE/tests/e2e/ai_sdk/unread.py" "$url" "$bob"
expect_code 0

# Requests with wrong members: none of them is a server error, and none of the streams is cut.
run python3 "$SOURCE/tests/e2e/ai_sdk/hostile.py" "$url" "$ada" 150
expect_code 0
serve_stop
