# On a terminal: commands, history, Ctrl-C, and a turn that fails.
command -v python3 >/dev/null || skips "python3 is not installed"
terminal "$TENON" chat echo.yaml <<'T'
wait > 
send /history
wait there are no messages yet
wait > 
send hey
wait you said hey, calm
wait > 
send /history
wait ai     you said hey
wait > 
send /usage
wait no model has been called
send /help
wait show the messages of the conversation
wait /quit
wait > 
send /what
wait unknown command /what
wait show the messages of the conversation
send /exit
end
T
expect_code 0
terminal "$TENON" chat fails.yaml <<'T'
wait > 
send bad
wait tenon:
wait > 
send good
wait n1
wait > 
send /history
wait user   good
wait > 
send /exit
end
T
expect_code 0 && expect_not_in out "user   bad"
# The last turn was the first one: it is made again from --set.
terminal "$TENON" chat echo.yaml --set mood=grim <<'T'
wait > 
send hey
wait you said hey, grim
wait > 
send /retry
wait you said hey, grim
wait > 
send /save ~/said.md
wait saved 2 messages in /
wait > 
send /exit
end
T
expect_code 0 && [ -s ~/said.md ] || fails "expected ~/said.md"
# Ctrl-C cancels an answer; the conversation continues.
sed 's/replies:/delay_ms: 2000\n    chunk: 1\n    replies:/' auto.yaml >slow.yaml
terminal "$TENON" chat slow.yaml <<'T'
wait > 
send which?
wait L
key C-c
wait (cancelled
wait > 
key C-d
end
T
expect_code 0
terminal "$TENON" chat slow.yaml <<'T'
wait > 
key C-c
end
T
expect_code 130
# So it does with --thread.
if [ -e "$BINARY/lib/tenon/plugins/sqlite.so" ]; then
    echo '{}' >tenon.yaml
    terminal "$TENON" chat slow.yaml --thread slow <<'T'
wait > 
send which?
wait L
key C-c
wait (cancelled
wait > 
send now?
wait L
key C-c
wait (cancelled
wait > 
key C-d
end
T
    expect_code 0 && expect_not_in out UNFINISHED
    run tenon thread state slow
    expect_in out '"now?"' && expect_not_in out '"which?"'
    # Ctrl-C at a question ends the conversation; the thread waits for the answer.
    terminal "$TENON" chat agent.yaml --thread asked <<'T'
wait > 
send which?
wait [e]dit?
key C-c
wait tenon thread answer asked
end
T
    expect_code 130
    run tenon thread show asked
    expect_in out interrupted
fi
