# The host of a research is killed at a write to its store, and resumes the thread: nothing is created twice. Here at every
# 29th write; `RESEARCH_STRIDE=1 ctest -R e2e_research_killed_writes` takes each of them, for minutes.
shim=$BINARY/tests/crash/libcrash.so
[ -e "$shim" ] || skips "built without tests/crash"
document report.yaml 'input_key: question'
serve '{}'
stride=${RESEARCH_STRIDE:-29} finished=0 asked=0
[ -z "${SANITIZE:-}" ] || stride=$((stride * 2))

for ((number = 5; ; number += stride)); do
    rm -rf .tenon hit
    : >log
    CRASH_AT=$number CRASH_FAILURE=$([ $((number / stride % 2)) = 0 ] && echo before || echo after) CRASH_MARK=hit LD_PRELOAD=$shim \
        run tenon run -q report.yaml --thread t --set question='Do they work?'
    [ -e hit ] || break # there are fewer writes
    run tenon run -q report.yaml --thread t --resume
    if [ "$code" != 0 ] && grep -qE '\[(NOT_FOUND|DONE|STORE_NOT_FOUND)\]' "$work/err"; then
        continue # it was killed before the thread existed, or when it was done
    fi
    case $code in
    0) finished=$((finished + 1)) && expect_in out "$report" ;;
    5) asked=$((asked + 1)) && expect_in err "Create another one?" ;;
    *) fails "killed at write $number" ;;
    esac
    [ "$(creates)" -le 1 ] || fails "killed at write $number: created twice"
done
servers_stop
[ "$finished" -gt 0 ] || fails "no run was continued"
echo "$finished continued, $asked asked"
