# SIGINT and SIGTERM
# interrupted SIGNAL ARGUMENT…: runs in the foreground's signal state; sends the signal when the node has started
interrupted() {
    local signal=$1 pid line
    shift
    mkfifo "$work/fifo"
    env --default-signal=INT "$TENON" run "$@" 2>"$work/err" >"$work/fifo" </dev/null &
    pid=$!
    exec 3<"$work/fifo"
    : >"$work/out"
    while IFS= read -r line <&3; do
        echo "$line" >>"$work/out"
        [[ $line == *'"event":"start"'* ]] || continue
        kill "-$signal" "$pid"
        break
    done
    cat <&3 >>"$work/out"
    exec 3<&-
    code=0
    wait "$pid" || code=$?
    rm "$work/fifo"
}
for signal in INT TERM; do
    last="run slow.yaml --json, then SIG$signal"
    interrupted $signal slow.yaml --json
    expect_code 130 && once "[CANCELLED]" && expect_in err "the run was cancelled in step 1"
    ! grep -qF "what was committed is kept" "$work/err" || fails "nothing is kept without a thread"
    tail -n 1 "$work/out" | grep -q '^{"type":"result","status":"cancelled",' || fails "unexpected last line"
done
