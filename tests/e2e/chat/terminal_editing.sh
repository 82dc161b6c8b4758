# On a terminal: a line can be edited, and earlier lines are recalled, also in another process. This needs libedit.
command -v python3 >/dev/null || skips "python3 is not installed"
[[ $(ldd "$TENON") == *libedit* ]] || skips "built without libedit"
export TERM=xterm
terminal "$TENON" chat echo.yaml --set mood=glad <<'T'
wait > 
type hllo thére
key C-a
key C-f
send e
wait you said hello thére, glad
wait > 
key C-p
send !
wait you said hello thére!, glad
wait > 
send one\
wait ... 
send two
wait two, glad
wait > 
key C-d
end
T
expect_code 0
[ "$(stat -c %a "$XDG_STATE_HOME/tenon/chat_history")" = 600 ] || fails "expected a history for its user only"
terminal "$TENON" chat echo.yaml <<'T'
wait > 
key C-p
key C-p
key C-p
send
wait you said hello thére!, calm
wait > 
key C-c
end
T
expect_code 130
terminal "$TENON" chat echo.yaml --channel absent <<<end
expect_code 3
# A terminal that cannot edit has no editor.
TERM=dumb terminal "$TENON" chat echo.yaml <<'T'
wait > 
send hi
wait you said hi, calm
wait > 
key C-d
end
T
expect_code 0 && expect_not_in out "$(printf '\033')"
