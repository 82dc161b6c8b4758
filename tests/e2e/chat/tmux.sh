# In tmux: pastes, /retry, /edit, /model, /tools, /save, folded reasoning and sources, images, attachments, and usage.
command -v tmux >/dev/null || skips "tmux is not installed"
[[ $(ldd "$TENON") == *libedit* ]] || skips "built without libedit"
unset TMUX
export TMUX_TMPDIR=$work EDITOR= VISUAL=
n=0
trap 'tmux -L "chat$n" kill-server 2>/dev/null || true' EXIT
# screen TEXT: waits until the screen, with what has left it, contains TEXT.
has() { tmux -L "chat$n" capture-pane -p -J -S - -t chat >"$work/out" && grep -qF -- "$1" "$work/out"; }
screen() { last="tmux: screen $1" code=0; wait_until has "$1"; }
type_line() { tmux -L "chat$n" send-keys -t chat -l -- "$1" && tmux -L "chat$n" send-keys -t chat Enter; }
opens() { # ARGUMENTS…: starts a chat in a new terminal
    tmux -L "chat$n" kill-server 2>/dev/null || true
    n=$((n + 1)) # a server that ends can refuse the next one
    tmux -L "chat$n" -f /dev/null new-session -d -s chat -x 150 -y 50 "\"$TENON\" chat $*; echo ended with \$?; sleep 60"
    screen "> "
}
printf '\x89PNG\r\n\x1a\n and more' >dot.png
picture=$(base64 -w0 dot.png)
cat >rich.yaml <<Y
version: "1.0"
agent: {name: rich}
models:
  default:
    provider: scripted
    by: calls
    rules:
      - {contains: show me, reply: {type: ai, content: [{type: reasoning, text: "first I think"}, {type: text, text: "Look:"}, {type: image, media_type: image/png, data: $picture}, {type: audio, media_type: "audio/L16;codec=pcm;rate=24000", data: AQACAA==}, {type: audio, media_type: audio/aac, data: AQACAA==}, {type: source, title: "A page", url: "https://a.example/page"}]}}
    replies:
      - "reply {call} to {input}"
channels: [{name: messages, type: reduce, reducer: messages}]
nodes: [{id: answer, type: llm, config: {messages_key: messages}}]
edges: [{from: START, to: answer}, {from: answer, to: END}]
Y
opens rich.yaml
type_line "show me"
screen "thinking… /more shows it"
screen "image/png, 17 bytes: $XDG_STATE_HOME/tenon/chat/"
screen "audio/wav, 48 bytes: $XDG_STATE_HOME/tenon/chat/" # raw samples got a header
[ "$(head -c 4 "$XDG_STATE_HOME"/tenon/chat/*.wav)" = RIFF ] || fails "the audio is not a WAV file"
screen "audio/aac, 4 bytes: $XDG_STATE_HOME/tenon/chat/"
screen "1 source: a.example; /more shows them"
screen "tokens in, "
has "first I think" && fails "the reasoning is not folded"
cmp dot.png "$XDG_STATE_HOME"/tenon/chat/*.png || fails "the saved image differs"
type_line /more
screen "first I think"
screen "1. A page https://a.example/page"
# A paste of several lines is one message; its line ends and tabs stay.
printf 'one\n\ttwo\nthree' >lines
tmux -L "chat$n" load-buffer lines && tmux -L "chat$n" paste-buffer -p -t chat
screen "> one␤␉two␤three"
type_line ""
screen "reply 2 to one"
type_line "/save said.json"
screen "saved 4 messages in said.json"
grep -qF '"one\n\ttwo\nthree"' said.json || fails "the paste was changed"
type_line "/save said.json"
screen "said.json exists already"
type_line "/save said.md"
screen "saved 4 messages in said.md"
grep -qF '## user' said.md || fails "expected Markdown"
# A long paste is shown by its name.
seq 1 600 | tr "\n" "\r" >long
tmux -L "chat$n" load-buffer long && tmux -L "chat$n" paste-buffer -p -t chat
screen "[paste 1: 601 lines]"
type_line ""
screen "reply 3 to 1"
# What a paste contains is text: it neither ends the line, nor is a key.
printf 'a\001b\033[Ac\n' >keys
tmux -L "chat$n" load-buffer keys && tmux -L "chat$n" paste-buffer -p -t chat
screen "> ab[Ac␤"
type_line ""
screen "reply 4 to ab[Ac"
# The last message again, or another one instead.
type_line /retry
screen "reply 5 to ab[Ac"
type_line /edit
screen "> ab[Ac␤"
tmux -L "chat$n" send-keys -t chat C-a C-k
type_line "instead"
screen "reply 6 to instead"
type_line /history
screen "user   instead"
has "reply 5 to" || fails "the screen has lost its lines"
[ "$(grep -c 'user   ab' "$work/out")" = 0 ] || fails "the discarded message is still part of the conversation"
# Files
type_line "what is @dot.png?"
screen "reply 7 to what is @dot.png?"
type_line "/save parts.json"
screen "saved 10 messages in parts.json"
grep -qF "\"data\": \"$picture\"" parts.json || fails "the file was not attached"
type_line "and @none.png"
screen "@none.png: found no such file"
mkdir -p folder
type_line "and @./folder"
screen "@./folder: found no regular file of this name"
type_line "read @lines"
screen "is neither an image, a PDF nor audio"
type_line "ask @home"
screen "reply 8 to ask @home"
# Models and tools
type_line "/model"
screen "default"
type_line '/model {"provider": "scripted", "replies": ["from another model"]}'
type_line "who?"
screen "from another model"
type_line "/model nobody:x"
screen "nobody"
type_line "/model"
screen '{"provider":"scripted","replies":["from another model"]}'
[ "$(grep -c '  default .*nobody' "$work/out")" = 0 ] || fails "a model that cannot be used is still bound"
type_line "still?"
screen "> still?"
type_line "/tools links"
screen "extract"
type_line "/exit"
screen "ended with 0"
# With an editor
cat >editor <<'S'
#!/bin/sh
cat "$2" >before
printf 'from the\neditor\n' >"$2"
S
chmod +x editor
export EDITOR="$PWD/editor -x"
opens echo.yaml
type_line "typed"
screen "you said typed, calm"
type_line /edit
screen "you said from the"
[ "$(cat before)" = typed ] || fails "expected the message in the editor"
type_line /history
screen "editor, calm"
[ "$(grep -c 'user   typed' "$work/out")" = 0 ] || fails "the edited message is still there"
type_line "/save"
screen "expected a file"
type_line "/exit"
screen "ended with 0"
# With a thread: /retry in another process, and a turn that was cancelled is not resumed there.
if [ -e "$BINARY/lib/tenon/plugins/sqlite.so" ]; then
    echo '{}' >tenon.yaml
    opens rich.yaml --thread ida
    type_line "show me"
    screen "tokens in, "
    type_line "/exit"
    screen "ended with 0"
    opens rich.yaml --thread ida
    screen "2 messages so far"
    type_line "/retry"
    screen "thinking… "
    screen "tokens in, "
    type_line "/exit"
    screen "ended with 0"
    run tenon thread state ida
    [ "$(grep -o '"type":"user"' "$work/out" | wc -l)" = 1 ] || fails "expected one message of the user"
    # A message that another program has sent can have characters that are keys; /edit does not press them.
    export EDITOR=
    run tenon run rich.yaml --thread eva --input '{"messages": "one\r\u0015two\u001b[200~"}'
    opens rich.yaml --thread eva
    type_line "/edit"
    screen "> onetwo[200~"
    type_line "/exit"
    screen "> onetwo[200~/exit"
    type_line "/exit"
    screen "ended with 0"
    sed 's/by: calls/by: calls\n    delay_ms: 3000/' rich.yaml >slow.yaml
    opens slow.yaml --thread joe
    type_line "hello"
    screen "> hello"
    wait_until sh -c '"$TENON" thread show joe >/dev/null 2>&1'
    tmux -L "chat$n" send-keys -t chat C-c
    screen "(cancelled"
    type_line "/exit"
    screen "ended with 0"
    opens slow.yaml --thread joe
    screen "1 messages so far"
    type_line "/exit"
    screen "ended with 0"
fi
# Images on terminals that can show them
export TERM=xterm
printf '#!/bin/sh\necho "sixels of $4" \n' >img2sixel
chmod +x img2sixel
for how in kitty sixel; do
    PATH=$PWD:$PATH XDG_STATE_HOME=$XDG_STATE_HOME/a\ b terminal "$TENON" chat rich.yaml --color always --images $how <<'T'
wait > 
send show me
wait image/png
wait > 
key C-d
end
T
    expect_code 0
    [ $how = kitty ] && expect_in out "$(printf '\033_Ga=T,f=100,q=2,m=0;%s\033\\' "$picture")"
    [ $how = sixel ] && expect_in out "sixels of $XDG_STATE_HOME/a b/tenon/chat/"
    expect_in out "$(printf '\033]8;;file://%s/a%%20b/tenon/chat/' "$XDG_STATE_HOME")"
done
