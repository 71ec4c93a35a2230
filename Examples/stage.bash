# The stage on which `demo` walks: a throw-away device, the owner's hands, and steps that know what must come back.
#
# Sourced. Expects `mode`, `touchstone`, `programs` and `bridges`.

readonly longest_step_seconds=20

# ---------------------------------------------------------------------------------------------------------------------
# What is shown

bold='' green='' red='' plain=''
if [[ -t 1 && -z ${NO_COLOR:-} ]]; then
    bold=$'\e[1m' green=$'\e[32m' red=$'\e[31m' plain=$'\e[0m'
fi

say() {
    [[ $mode == check ]] || printf '%s\n' "$*"
}

chapter() {
    say
    say "$bold$1$plain"
}

# One step on one line: what happens, and what came back.
show() {
    steps=$((steps + 1))
    [[ $mode != steps ]] || printf '  %-66s %s%s%s\n' "$1" "$green" "$2" "$plain"
}

fail() {
    {
        printf '%sfailed:%s %s\n' "$red" "$plain" "$1"
        [[ ! -s $work/agent.log ]] || sed 's/^/  agent:    /' "$work/agent.log"
        [[ ! -s $work/fingers.log ]] || sed 's/^/  sensor:   /' "$work/fingers.log"
    } >&2
    exit 1
}

# ---------------------------------------------------------------------------------------------------------------------
# The throw-away device, and what is left of it: nothing

steps=0
work=$(mktemp -d "${TMPDIR:-/tmp}/touchstone-demo.XXXXXX")
mkdir -m 0700 "$work/state" "$work/run" "$work/config"
export XDG_STATE_HOME=$work/state XDG_RUNTIME_DIR=$work/run XDG_CONFIG_HOME=$work/config
export TOUCHSTONE_DEVICE=demo
devices=() in_background=()
agent_process='' fingers_process=''

clean_up() {
    local status=$? device
    trap - EXIT
    stop_hands
    ((${#in_background[@]} == 0)) || kill "${in_background[@]}" 2>/dev/null || true
    for device in "${devices[@]}"; do
        "$touchstone" device shutdown "$device" || true
        "$touchstone" device erase "$device" --force || true
    done >>"$work/device.log" 2>&1
    rm -rf "$work"
    exit "$status"
}
trap clean_up EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM

# device NARRATION COMMAND…: drives the device; what it wants typed comes from standard input.
device() {
    local narration=$1
    shift
    "$touchstone" device "$@" >"$work/device.log" 2>&1 || {
        sed 's/^/  /' "$work/device.log" >&2
        fail "$narration (touchstone device $*)"
    }
    show "$narration" "touchstone device $*"
}

# background NARRATION WORD PROGRAM…: runs a program until the demonstration ends, and goes on once it has said WORD.
background() {
    local narration=$1 word=$2 said=$work/background.${#in_background[@]} tries
    shift 2
    # Before it runs, so that the file is there when it is read.
    : >"$said"
    "$@" >"$said" 2>&1 &
    in_background+=($!)
    for ((tries = 0; tries < 500; tries++)); do
        if grep -q -- "$word" "$said"; then
            show "$narration" "${1##*/}"
            return
        fi
        kill -0 "${in_background[-1]}" 2>/dev/null || break
        sleep 0.02
    done
    sed 's/^/  /' "$said" >&2
    fail "$narration (${1##*/})"
}

# free_port: a port of this machine where nothing listens.
free_port() {
    local port
    while port=$((20000 + RANDOM % 10000)); do
        (: </dev/tcp/127.0.0.1/"$port") 2>/dev/null || break
    done
    echo "$port"
}

# ---------------------------------------------------------------------------------------------------------------------
# The owner's hands: set for the next program, gone after it

hands_agent=() hands_fingers=() hands_input=''

agent() { hands_agent=("$@"); }      # what the agent answers, in order; without this nobody can be asked
fingers() { hands_fingers=("$@"); }  # what touches the sensor once it waits, in order
input() { hands_input=$1; }          # what the program reads

start_hands() {
    : >"$work/agent.log"
    : >"$work/fingers.log"
    if ((${#hands_agent[@]})); then
        printf '%s\n' "${hands_agent[@]}" >"$work/agent.script"
        "$touchstone" agent --script "$work/agent.script" >"$work/agent.log" 2>&1 &
        agent_process=$!
        await_agent
    fi
    if ((${#hands_fingers[@]})); then
        set -m  # a process group of its own, so that no finger outlives its step
        (
            for finger in "${hands_fingers[@]}"; do
                "$touchstone" device match "$finger" --wait "$longest_step_seconds" || true  # a miss is no success
            done
        ) >"$work/fingers.log" 2>&1 &
        fingers_process=$!
        set +m
    fi
}

await_agent() {
    local tries
    for ((tries = 0; tries < 500; tries++)); do
        ! grep -q '^ready' "$work/agent.log" || return 0
        kill -0 "$agent_process" 2>/dev/null || break
        sleep 0.02
    done
    fail 'the agent did not become ready'
}

stop_hands() {
    if [[ -n $fingers_process ]]; then
        kill -- "-$fingers_process" 2>/dev/null || true
        wait "$fingers_process" 2>/dev/null || true
    fi
    if [[ -n $agent_process ]]; then
        kill "$agent_process" 2>/dev/null || true
        wait "$agent_process" 2>/dev/null || true
    fi
    agent_process='' fingers_process=''
    hands_agent=() hands_fingers=() hands_input=''
}

# step NARRATION EXIT LINE… -- PROGRAM…: runs a program, one of the examples or another, and compares its exit code and every
# line it prints.
step() {
    local narration=$1 expected_exit=$2 expected=() got status=0
    shift 2
    while [[ $1 != -- ]]; do
        expected+=("$1")
        shift
    done
    local program=$2
    shift 2
    [[ ! -x $programs/$program ]] || program=$programs/$program

    start_hands
    got=$(timeout "$longest_step_seconds" "$program" "$@" <<<"$hands_input" 2>&1) || status=$?
    if [[ $status != "$expected_exit" || $got != "$(printf '%s\n' "${expected[@]}")" ]]; then
        {
            printf '  expected: %s\n' "${expected[@]}" "exit $expected_exit"
            sed 's/^/  got:      /' <<<"$got"
            printf '  got:      exit %s\n' "$status"
        } >&2
        fail "${program##*/} $*: $narration"
    fi
    stop_hands
    show "$narration" "$(sed -E 's/^[^:]*: //; s/ \(.*\)$//' <<<"$got" | paste -sd, | sed 's/,/, /g')"
}

for program in curl git openssl python3 ssh-keygen; do
    command -v "$program" >/dev/null || fail "$program is not there: install it (script/install-packages demo does)"
done
wanted=("$touchstone" "$programs"/{credentials,enclave-note})
# The table has all examples.
[[ $mode == story || $mode == auto ]] || wanted+=("$programs"/{gate,authenticate-me,owner-check,re-registration,nonce,supported-biometry})
for program in "${wanted[@]}" "$bridges"/{touchstone-{ssh,ssh-agent,credentials,run,sync},git-credential-touchstone}; do
    [[ -x $program ]] || fail "$program is not there: build the packages first (make demo does)"
done
