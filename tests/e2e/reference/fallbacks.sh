# The list of errors after which the next model is tried is the same in the reference and in the program.
topic adl
topic config
for topic in adl config; do
    section=$(awk '/^###? models$|^## models$/ { on = 1; next } /^##/ { on = 0 } on' "$topic.md")
    next=$(printf '%s\n' "$section" | sed -n '/errors with these codes are:$/{n;p;}' | grep -oE '[A-Z_]+')
    [ "$next" = "$(of 's/^ *CODE\(([A-Z_]+), true, .*/\1/p' "$SOURCE/adl/value/codes.h")" ] || fails "$topic: expected the retryable codes of codes.h, found: $next"
    also=$(printf '%s\n' "$section" | sed -n '/^Errors that are not retryable, but/p' | grep -oE '`[A-Z_]+`' | tr -d '`')
    [[ $also == *AUTH*QUOTA*NOT_FOUND*CONTEXT_LENGTH* ]] || fails "$topic: expected AUTH and others, found: $also"
    others=$(printf '%s\n' "$section" | sed -n '/^All other errors/p' | grep -oE '`[A-Z_]+`' | tr -d '`')
    [[ $others == *INVALID_REQUEST* && $others != *AUTH* ]] || fails "$topic: expected INVALID_REQUEST among the other codes, found: $others"
    # The program uses the same list.
    for failure in OVERLOADED RATE_LIMITED INVALID_RESPONSE TIMEOUT CONNECT $also $others; do
        run tenon model test --no-config -M "[{\"provider\": \"scripted\", \"replies\": [{\"error\": {\"code\": \"$failure\"}}]}, {\"provider\": \"scripted\", \"replies\": [\"spare\"]}]"
        case " $(echo $next $also) " in
        *" $failure "*) expect_code 0 && expect_out spare ;;
        *) expect_code 1 && expect_in err "[$failure]" ;;
        esac
    done
done

