# The story that `demo` tells: prompts, fingers and secrets as their owner sees them. Statuses stand small behind.
#
# Sourced after stage.bash, which runs the device and compares what comes back. Expects `is_person`: whether a person presses the fingers.

readonly pause_seconds=1.2 tries_of_a_person=5
faint='' strong=''
[[ -z $bold ]] || faint=$'\e[2m' strong=$'\e[1;36m'

# tell SENTENCE…: each on a line.
tell() {
    [[ $mode == check ]] && return
    printf '  %s\n' "$@"
    breathe
}

breathe() { [[ $mode == check || $is_person ]] || sleep "$pause_seconds"; }

# What a program printed: secrets plainly, statuses small.
result() {  # TEXT
    local line
    [[ $mode != check ]] || return 0
    while IFS= read -r line; do
        case $line in
            '') ;;
            *errSec* | *'CryptoTokenKit '* | *': success' | *': user'*) printf '      %s%s%s\n' "$faint" "$(sed -E 's/ \(.*\)$//' <<<"$line")" "$plain" ;;
            *) printf '    → %s%s%s\n' "$strong" "$line" "$plain" ;;
        esac
    done <<<"$1"
    breathe
}

# scene EXIT LINE… -- PROGRAM…: as `step`, with every prompt and touch in sight. `touches` are what touches the sensor.
scene() {
    local expected_exit=$1 expected=() tries
    shift
    while [[ $1 != -- ]]; do
        expected+=("$1")
        shift
    done
    shift
    local program=$1
    shift
    [[ ! -x $programs/$program ]] || program=$programs/$program
    steps=$((steps + 1))
    for ((tries = 1; ; tries++)); do
        local status=0 got=''
        if ((${#touches[@]})); then
            if [[ $is_person ]]; then person "$program" "$@"; else owner "$program" "$@"; fi
        else
            got=$(timeout "$longest_step_seconds" "$program" "$@" <<<"$hands_input" 2>&1) || status=$?
        fi
        [[ $status != "$expected_exit" || $got != "$(printf '%s\n' "${expected[@]}")" ]] || break
        if [[ ! $is_person ]] || ((${#touches[@]} == 0 || tries == tries_of_a_person)); then
            {
                printf '  expected: %s\n' "${expected[@]}" "exit $expected_exit"
                sed 's/^/  got:      /' <<<"$got"
                printf '  got:      exit %s\n' "$status"
            } >&2
            fail "${program##*/} $*"
        fi
        result "$got"
        tell 'You did not approve, so the program ended. It asks once more.'
    done
    touches=() hands_input=''
    result "$got"
}

# The owner of a story without a person: sees the prompt, then touches the sensor. Sets `got` and `status`.
owner() {
    local touch
    agent ignore
    start_hands
    "$@" <<<"$hands_input" >"$work/scene.out" 2>&1 &
    local process=$!
    in_background+=("$process")
    await_in "$work/agent.log" '\[c\]'
    prompt_as_it_appears
    for touch in "${touches[@]}"; do
        if [[ $touch == nomatch ]]; then tell 'A finger that is not enrolled touches the sensor.'; else tell 'The owner touches the sensor.'; fi
        "$touchstone" device match "$touch" --wait "$longest_step_seconds" >"$work/fingers.log" 2>&1 || true  # a miss is no success
        if [[ $touch == nomatch ]]; then
            await_in "$work/agent.log" 'Not recognised'
            result 'Not recognised. Try again.'
        fi
    done
    wait "$process" || status=$?
    unset 'in_background[-1]'
    got=$(<"$work/scene.out")
    stop_hands
}

# The person at this terminal: the agent shows the prompt here, and keys are fingers. Sets `got` and `status`.
person() {
    local keys='' touch
    for touch in "${touches[@]}"; do
        if [[ $touch == nomatch ]]; then keys+=', then n (a finger that is not enrolled)'; else keys+=', then 1 (your finger)'; fi
    done
    tell "You are the owner. Press${keys#, then}. Or press c to cancel."
    (
        until [[ $("$touchstone" device status --json) == *'"hasAgent" : true'* ]]; do sleep 0.05; done
        "$@" <<<"$hands_input" >"$work/scene.out" 2>&1 && echo 0 >"$work/scene.status" || echo $? >"$work/scene.status"
    ) &
    local process=$!
    in_background+=("$process")
    "$touchstone" agent --once --fingers --no-reconnect || true
    wait "$process" || true
    unset 'in_background[-1]'
    got=$(<"$work/scene.out") status=$(<"$work/scene.status")
}

await_in() {  # FILE WORDS
    local tries
    for ((tries = 0; tries < longest_step_seconds * 50; tries++)); do
        ! grep -q -- "$2" "$1" || return 0
        sleep 0.02
    done
    fail "waited for: $2"
}

prompt_as_it_appears() {
    [[ $mode == check ]] && return
    echo
    awk '/^─/ { rules++ } rules { print "    " $0 } rules == 2 { exit }' "$work/agent.log"
    echo
    breathe
}

# ---------------------------------------------------------------------------------------------------------------------
# Its parts

tell_secret() {
    chapter '1  A secret waits for its owner'
    tell 'A device is new: one keychain, one passcode, one finger.'
    device 'set up' passcode set <<<"$passcode"
    device 'a finger' enroll "$finger_one"
    tell 'An app stores a password behind the owner’s finger. Nobody is asked for that.'
    hands_input='correct horse'
    scene 0 "SecItemAdd: $success" -- credentials save alice mail.example.org

    tell 'A copy of that app in another directory looks for the password. It finds nothing.'
    mkdir -p "$work/elsewhere"
    cp "$programs/credentials" "$work/elsewhere/credentials"
    scene 1 "SecItemCopyMatching: $not_found" -- "$work/elsewhere/credentials" read mail.example.org

    tell 'The app that stored it asks. This is the prompt:'
    touches=(nomatch "$finger_one")
    scene 0 "SecItemCopyMatching: $success" 'alice: correct horse' -- credentials read mail.example.org
}

tell_fingers() {
    chapter '2  When the enrolled fingers change'
    tell 'Anybody can encrypt a note to a key in the enclave. Only a finger opens it.'
    hands_input='bread and roses'
    scene 0 'write: 16 bytes became 97 in note' -- enclave-note write "$work/note"
    touches=("$finger_one")
    scene 0 'bread and roses' -- enclave-note read "$work/note"
    tell 'Somebody who knows the passcode enrols another finger. The key was bound to the earlier fingers.'
    device 'another finger' enroll "$finger_three"
    touches=("$finger_one")
    scene_without_prompt 1 "read: $key_gone" -- enclave-note read "$work/note"
    tell 'The note is lost for good, even if the new finger is removed again.'
    device 'removed again' remove "$finger_three"
    scene 0 '' -- enclave-note forget
}

# scene_without_prompt …: as `scene`, where the program may end before it asks.
scene_without_prompt() {
    touches=()
    agent ignore
    start_hands
    scene "$@"
    stop_hands
}

tell_commit() {
    chapter '3  A commit that a finger signs'
    local repository=$work/story-repository
    git_begins ada
    tell 'git commit -S asks Touchstone’s ssh agent. Its key never leaves the enclave.'
    git init --quiet "$repository"
    touches=("$finger_one")
    scene 0 'The first' -- sh -c \
        'git -C "$0" commit --quiet --allow-empty --gpg-sign --message "The first" && git -C "$0" log -1 --format=%s' "$repository"
    tell 'git checks the signature:'
    scene 0 'Good "git" signature for ada@example.org with ECDSA key' \
        -- sh -c 'git -C "$0" verify-commit HEAD 2>&1 | sed "s/ SHA256:.*//"' "$repository"
}

tell_passwords() {
    chapter '4  Passwords for git, and for one command'
    export TOUCHSTONE_CREDENTIALS=$work/run/story-credentials.sock
    bridge touchstone-credentials 'Touchstone’s passwords'
    background 'the program with the passwords runs' ready touchstone-credentials --socket "$TOUCHSTONE_CREDENTIALS"
    git config --global credential.helper touchstone
    tell 'git has Touchstone as its helper. It stores a password, and nobody is asked for that.'
    hands_input=$'protocol=https\nhost=git.example.org\nusername=ada\npassword=correct horse'
    scene 0 'stored' -- sh -c 'git credential approve && echo stored'
    tell 'The next clone needs it. git asks:'
    hands_input=$'protocol=https\nhost=git.example.org\n' touches=("$finger_one")
    scene 0 'protocol=https' 'host=git.example.org' 'username=ada' 'password=correct horse' -- git credential fill
    tell 'A token for npm is kept, too. touchstone run gives it to one command, and to no other.'
    hands_input='a token'
    scene 0 '' -- touchstone-run secret set npm/token
    touches=("$finger_one")
    scene 0 'it has 7 letters' \
        -- env NPM_TOKEN=touchstone://npm/token touchstone-run run -- sh -c 'echo "it has ${#NPM_TOKEN} letters"'
}

# side LAPTOP DESKTOP: what happens on one of the two, in its column.
side() {
    say "  $(printf '%-40s' "$1")$2"
    breathe
}

# on DEVICE WORD PROGRAM…: runs it for that device in the background, and goes on once it has said WORD. Its output is in $work/on.DEVICE.
on() {
    local name=$1 word=$2
    shift 2
    : >"$work/on.$name"
    # In the background bash takes standard input away, unless it is named.
    TOUCHSTONE_DEVICE=$name "$@" <&0 >"$work/on.$name" 2>&1 &
    in_background+=($!)
    await_in "$work/on.$name" "$word"
}

# Waits until an app of the device reads this, and shows it in the device's column with how long that took.
arrives() {  # DEVICE LINE
    local got='' since=${EPOCHREALTIME/[.,]/} tenths
    until got=$(TOUCHSTONE_DEVICE=$1 "$programs/credentials" read mail.example.org | tail -n 1) && [[ $got == "$2" ]]; do
        ((${EPOCHREALTIME/[.,]/} - since < longest_step_seconds * 1000000)) || fail "$1 read '$got', and not '$2'"
        sleep 0.05
    done
    tenths=$(((${EPOCHREALTIME/[.,]/} - since) / 100000))
    [[ $1 == laptop ]] || { side '' "→ $strong$got$plain   $faint$((tenths / 10)).$((tenths % 10)) s$plain"; return; }
    # Colours are no letters, so they stand after the column.
    side "→ $got   $((tenths / 10)).$((tenths % 10)) s" ''
}

tell_two_devices() {
    chapter '5  Two devices, and one keychain'
    local shared=$work/shared owner digits joining approving TOUCHSTONE_DEVICE
    export TOUCHSTONE_DEVICE
    mkdir "$shared"
    # Open in both directions, so that neither end waits for the other.
    mkfifo "$work/owner"
    exec {owner}<>"$work/owner"
    for TOUCHSTONE_DEVICE in laptop desktop; do
        new_device "$TOUCHSTONE_DEVICE" touchid
        device 'a passcode' passcode set <<<"$passcode"
    done
    tell 'They share a folder, which Syncthing may copy. It could also be PostgreSQL, or an object store.'
    side "${bold}laptop$plain${bold:+        }" "${bold}desktop$plain"
    side 'touchstone sync create shared/' ''
    TOUCHSTONE_DEVICE=laptop "$touchstone" sync create "$shared" --name laptop <<<"$passcode" >"$work/device.log" 2>&1 ||
        fail "touchstone sync create: $(<"$work/device.log")"
    side '' 'touchstone sync join shared/'
    on desktop 'touchstone sync approve' "$touchstone" sync join "$shared" --name desktop < <(echo "$passcode")
    joining=${in_background[-1]}
    side 'touchstone sync approve' ''
    on laptop . "$touchstone" sync approve <&"$owner"
    approving=${in_background[-1]}
    await_in "$work/on.desktop" '^ *[0-9]\{3\} *[0-9]\{3\}$'
    digits=$(grep '^ *[0-9]\{3\} *[0-9]\{3\}$' "$work/on.desktop" | tr -d ' ')
    side '' "It shows the digits ${digits:0:3} ${digits:3}."
    printf '%s\n%s\n' "$digits" "$passcode" >&"$owner"
    wait "$approving" || fail "touchstone sync approve: $(<"$work/on.laptop")"
    side "The owner types ${digits:0:3} ${digits:3}." ''
    wait "$joining" || fail "touchstone sync join: $(<"$work/on.desktop")"
    on laptop ready "$bridges/touchstone-sync"
    on desktop ready "$bridges/touchstone-sync"
    tell 'touchstone-sync now runs on both.' 'An app on the laptop adds a password with kSecAttrSynchronizable.' 'The same app on the desktop reads it.'
    side 'SecItemAdd' ''
    TOUCHSTONE_DEVICE=laptop "$programs/credentials" save --synchronizable alice mail.example.org <<<'correct horse' >/dev/null
    arrives desktop 'alice: correct horse'
    side '' 'SecItemUpdate'
    TOUCHSTONE_DEVICE=desktop "$programs/credentials" save --synchronizable alice mail.example.org <<<'battery staple' >/dev/null
    arrives laptop 'alice: battery staple'
    tell 'The folder has only sealed records. Nobody who reads it finds the password, or its name.'
    ! grep -rqE 'horse|staple|alice|mail' "$shared" || fail "the folder between the devices tells something: $shared"
}

tell_sign_in() {
    chapter '6  A server, and a site that looks like it'
    local server database=$work/story.sqlite port
    server=$(free_port)
    input 'correct horse battery staple'
    step 'an account at a new server' 0 '' -- "$signin/touchstone-signin" account add --database "$database" alice
    background 'the server' serving "$signin/touchstone-signin" serve --database "$database" --port "$server" \
        --audience demo.example --origin "http://127.0.0.1:$server" --application touchstone-login
    tell 'The password is sent once, to register this device. A finger approves the new key.'
    hands_input='correct horse battery staple' touches=("$finger_one")
    scene 0 "registered with demo.example; the account's devices:" \
        -- sh -c '"$0" register "$1" --name alice --audience demo.example --device-name laptop 2>/dev/null | head -n 1' \
        "$signin/touchstone-login" "http://127.0.0.1:$server"
    tell 'From now on a finger signs in, and no password is sent.'
    touches=("$finger_one")
    scene 0 'signed in to demo.example as alice' -- "$signin/touchstone-login" sign-in
    tell 'A page of another site asks for a sign-in, too. This machine refuses it, and no prompt appears.'
    background 'pages may ask' ready "$signin/touchstone-login" approve --port 0
    port=$(grep -o '127\.0\.0\.1:[0-9]*' "$work/background.$((${#in_background[@]} - 1))" | head -n 1)
    scene 0 "this device is not registered with that page's server" -- sh -c \
        'curl --silent --header "Origin: https://demo-example.net" --header "Content-Type: application/json" \
            --data-binary "{\"request\":\"AAAA\",\"code\":\"000000\"}" "$0" | grep -o "this device is not registered with that page.s server"' \
        "http://$port/approve"
    scene 0 'forgot demo.example' -- "$signin/touchstone-login" forget
}

tell_story() {
    local TOUCHSTONE_DEVICE=story touches=()
    export TOUCHSTONE_DEVICE
    new_device story touchid
    tell_secret
    tell_fingers
    tell_commit
    tell_passwords
    tell_two_devices
    [[ ! $has_sign_in ]] || tell_sign_in
    say
    say 'Every program and every prompt of this story is real. Only the fingers were simulated.'
}
