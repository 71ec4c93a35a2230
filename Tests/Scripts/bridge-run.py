#!/usr/bin/env python3
"""Secrets for commands: one prompt for one command, which takes the program's place; descriptors, masks, texts."""

import json
import os
import shutil
import signal
import socket
import subprocess

from bridges import BRIDGES, Person, Resident, with_device
from device import LONGEST_WAIT, PROGRAMS, Device, check, confirm, equal, main, wait_for

RUN = BRIDGES / "touchstone-run"
TOUCHSTONE = PROGRAMS / "touchstone"


def keep(resident, reference, secret):
    resident.run(RUN, "secret", "set", reference, input=secret)


def start(resident, *arguments, **settings):
    return subprocess.Popen(
        [str(argument) for argument in (RUN, *arguments)], env=resident.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **settings)


@with_device
def secrets_are_kept_listed_and_removed(device, resident, person):
    """EX-6, EX-7."""
    keep(resident, "touchstone://npm/token", "first secret\n")
    keep(resident, "db/a%20b", "second")
    equal(resident.run(RUN, "secret", "list"), "touchstone://db/a%20b\ntouchstone://npm/token\n", "the list")
    equal(json.loads(resident.run(RUN, "secret", "list", "--json"))[0], "touchstone://db/a%20b", "the list as JSON")
    equal(person.asked(), 0, "prompts so far")
    equal(resident.run(RUN, "read", "npm/token"), "first secret", "what was kept")
    check("npm/token" in json.dumps(person.prompts[0]), person.prompts[0])
    equal(person.asked(), 1, "prompts of a reading")
    resident.run(RUN, "read", "npm/token")
    equal(person.asked(), 1, "prompts of a second reading: nothing is remembered")
    resident.run(RUN, "secret", "set", "npm/token", input="", status=2)
    resident.run(RUN, "secret", "set", "npm/token/field", input="x", status=2)
    resident.run(RUN, "read", "npm/other", status=2)
    resident.run(RUN, "read", "npm", status=64)
    equal(person.asked(), 0, "prompts for what is not there")
    person.answer = "cancel"
    resident.run(RUN, "secret", "remove", "npm/token", status=130)
    person.answer = "finger"
    resident.run(RUN, "secret", "remove", "db/a%20b")
    equal(resident.run(RUN, "secret", "list"), "touchstone://npm/token\n", "the list after a removal")


@with_device
def a_command_has_its_secrets_after_one_prompt(device, resident, person):
    """EX-1, EX-2, EX-3, EX-5."""
    keep(resident, "npm/token", "first secret")
    keep(resident, "db/login", '{"user":"me","password":"second secret"}')
    file = device.work / ".env"
    file.write_text("TOKEN=touchstone://npm/token\nPASSWORD='touchstone://db/login/password'\nUSER_NAME=touchstone://db/login/user\nPLAIN=x touchstone://npm/token\n")
    resident.environment["INHERITED"] = "touchstone://npm/token"
    said = resident.run(
        RUN, "run", "--env-file", file, "--secret", "MORE=touchstone://npm/token", "--", "/bin/sh", "-c",
        'printf "%s|" "$TOKEN" "$PASSWORD" "$USER_NAME" "$PLAIN" "$INHERITED" "$MORE"; echo $$ "$0"; exit 7', "zero", status=7)
    equal(said.rpartition("|")[0], "first secret|second secret|me|x touchstone://npm/token|first secret|first secret", "the variables")
    prompt = json.dumps(person.prompts[0])
    check("first secret" not in prompt, prompt)
    # Which secrets they are, from what is kept; the names of variables are the command's words.
    reason, facts = person.prompts[0]["reason"], [fact["text"] for fact in person.prompts[0]["facts"] if fact["kind"] == "secrets"]
    check(reason.startswith("give 2 secrets (npm/token, db/login) to “/bin/sh"), reason)
    check(facts[0].startswith("npm/token as “MORE, ") and "TOKEN" in facts[0], facts)
    equal(facts[1], "db/login as “PASSWORD, USER_NAME”", "the second secret")
    equal(person.asked(), 1, "prompts")
    # Without a reference nothing is asked.
    del resident.environment["INHERITED"]
    equal(resident.run(RUN, "run", "--", "echo", "-n", "x"), "x", "a command without secrets")
    equal(person.asked(), 0, "prompts")
    process = start(resident, "run", "--secret", "A=touchstone://npm/token", "--", "/bin/sh", "-c", "echo $$; kill -TERM $$")
    output, _ = process.communicate(timeout=LONGEST_WAIT)
    equal((int(output), process.returncode), (process.pid, -signal.SIGTERM), "the command takes the program's place")


@with_device
def the_prompt_says_which_secrets_go_out_whatever_they_are_called(device, resident, person):
    """EX-2: a name that speaks of another secret, names that are too few, many secrets, names that look like two."""
    for number in range(7):
        keep(resident, f"many/{number}", "x")
    keep(resident, "aws/root", "x")
    keep(resident, "npm/a%2C%20b", "x")

    def call(items, **more):
        connection = socket.socket(socket.AF_UNIX)
        connection.settimeout(LONGEST_WAIT)
        connection.connect(str(resident.socket))
        items = [{"kind": "secret", "place": place, "account": account} for place, account in items]
        parameters = {"items": items, **more}
        connection.sendall(json.dumps({"method": "io.touchstone.Credentials.Open", "parameters": parameters}).encode() + b"\0")
        reply = b""
        while not reply.endswith(b"\0"):
            reply += connection.recv(65536)
        connection.close()
        return json.loads(reply[:-1])

    def asked():
        prompt = person.prompts[0]
        equal(person.asked(), 1, "prompts")
        return prompt["reason"], [fact["text"] for fact in prompt["facts"] if fact["kind"] == "secrets"]

    for names in ([], ["A"], ["A", "B", "C"]):
        answer = call([("aws", "root"), ("many", "1")], names=names, command="x")
        equal(answer["parameters"].get("result"), "invalid", f"the answer to {len(names)} names for two secrets")
    equal(person.asked(), 0, "prompts for what is refused")
    answer = call([("aws", "root"), ("npm", "a, b")], names=["npm/token”, “x", "B"], command="true")
    equal(len(answer["parameters"]["secrets"]), 2, "the secrets")
    equal(asked(), ("give 2 secrets (aws/root, npm/a%2C%20b) to “true”", ["aws/root as “npm/token', 'x”", "npm/a%2C%20b as “B”"]), "the prompt")
    call([("many", str(number)) for number in range(7)])
    equal(asked(), ("read 7 secrets (many/0, many/1, many/2, many/3, many/4 and 2 more)",
                    ["many/0", "many/1", "many/2", "many/3", "many/4", "2 more"]), "the prompt of seven")


@with_device
def a_command_is_not_run_without_the_owner(device, resident, person):
    """EX-1, EX-2."""
    keep(resident, "npm/token", "first secret")
    mark = device.work / "ran"
    person.answer = "cancel"
    resident.run(RUN, "run", "--secret", "A=touchstone://npm/token", "--", "touch", mark, status=130)
    equal(person.asked(), 1, "prompts")
    person.answer = "finger"
    for options in (["--secret", "A=touchstone://npm/other"], ["--secret", "A=touchstone://npm"], ["--secret", "1=touchstone://npm/token"],
                    ["--secret", "A"], ["--fd", "2=touchstone://npm/token"], ["--env-file", "/nowhere"]):
        resident.run(RUN, "run", *options, "--", "touch", mark, status=2)
    resident.run(RUN, "run", "--secret", "A=touchstone://npm/token", "--", "no-such-command", status=127)
    equal(person.asked(), 0, "prompts for what is refused")
    check(not mark.exists(), "the command ran")


@with_device
def secrets_come_as_files_too(device, resident, person):
    """EX-4: with every byte, and not in the environment."""
    secret = bytes(range(256))
    keep(resident, "a/binary", secret)
    resident.run(RUN, "run", "--secret", "A=touchstone://a/binary", "--", "true", status=2)
    person.asked()
    script = 'cat <&5; cat "$FILE"; tr "\\0" "\\n" < /proc/self/environ | grep -c secret >&2; echo x 2>/dev/null >&5; true'
    process = start(resident, "run", "--fd", "5=touchstone://a/binary", "--secret", "FILE=@touchstone://a/binary", "--", "/bin/sh", "-c", script)
    output, errors = process.communicate(timeout=LONGEST_WAIT)
    equal(output, secret * 2, "what came through the descriptors")
    equal(person.asked(), 1, "prompts")


@with_device
def a_descriptor_keeps_a_secret_out_of_the_environment_alone(device, resident, person):
    """EX-4: what the guide says of other programs of the user is true."""
    keep(resident, "npm/token", "swordfish")
    process = start(resident, "run", "--fd", "5=touchstone://npm/token", "--", "/bin/sh", "-c", "echo ready; read line",
                    stdin=subprocess.PIPE)
    equal(process.stdout.readline(), b"ready\n", "the command")
    with open(f"/proc/{process.pid}/environ", "rb") as file:
        check(b"swordfish" not in file.read(), "the secret is in the environment")
    with open(f"/proc/{process.pid}/fd/5", "rb") as file:
        equal(file.read(), b"swordfish", "what another program of the user reads")
    process.communicate(b"\n", timeout=LONGEST_WAIT)
    check("--fd" in resident.run(RUN, "run", "--help") and "open files" in resident.run(RUN, "run", "--help"), "the help")


# A program without rights of its own, so that the kernel shows it only what it shows to any program of the user.
PLAIN = ["setpriv", "--inh-caps=-all", "--ambient-caps=-all", "--bounding-set=-all"] if os.getuid() == 0 else []


def can_be_looked_into(process):
    return subprocess.run([*PLAIN, "readlink", f"/proc/{process.pid}/exe"], stdout=subprocess.DEVNULL,
                          stderr=subprocess.DEVNULL, timeout=LONGEST_WAIT).returncode == 0


@with_device
def whoever_has_an_answer_is_closed_to_other_programs(device, resident, person):
    """EX-5: before the answer each is open, after it none is."""
    keep(resident, "npm/token", "swordfish")
    git = ["git", "-c", "credential.helper=", "-c", "credential.helper=touchstone", "credential", "approve"]
    resident.run(*git, input="protocol=https\nhost=git.example\nusername=octocat\npassword=swordfish\n")
    docker = BRIDGES / "docker-credential-touchstone"
    resident.run(docker, "store", input='{"ServerURL": "docker.io", "Username": "me", "Secret": "swordfish"}')
    programs = [([RUN, "read", "npm/token"], ""), ([RUN, "inject"], "{{ touchstone://npm/token }}"),
                ([RUN, "run", "--mask", "--secret", "A=touchstone://npm/token", "--", "sh", "-c", "echo $A"], ""),
                ([BRIDGES / "git-credential-touchstone", "get"], "protocol=https\nhost=git.example\n"), ([docker, "get"], "docker.io")]
    for arguments, text in programs:
        # Nobody reads what it writes, and there is no room for it: so it stays after the answer.
        output, full = os.pipe()
        os.set_blocking(full, False)
        try:
            while os.write(full, b"x"):
                pass
        except BlockingIOError:
            os.set_blocking(full, True)
        person.answer = "nothing"
        process = subprocess.Popen([*PLAIN, *map(str, arguments)], env=resident.environment, stdin=subprocess.PIPE, stdout=full)
        process.stdin.write(text.encode())
        process.stdin.close()
        prompt = person.told.get(timeout=LONGEST_WAIT)
        check(can_be_looked_into(process), f"{arguments} before the answer")
        confirm(device, {"prompt": prompt})
        device.client("Device").PresentFinger(finger="thumb")
        wait_for(lambda: not can_be_looked_into(process), f"{arguments} to close itself")
        equal(process.poll(), None, f"the end of {arguments}")
        os.close(full)
        os.close(output)
        process.wait(LONGEST_WAIT)


@with_device
def a_mask_hides_secrets_and_passes_statuses_and_signals_on(device, resident, person):
    """EX-3."""
    keep(resident, "npm/token", "swordfish")
    script = 'printf "a sword"; sleep 0.2; printf "fish b"; printf "%s" "$A" >&2; exit 9'
    said = resident.run(RUN, "run", "--mask", "--secret", "A=touchstone://npm/token", "--", "/bin/sh", "-c", script, status=9)
    equal(said, "a <concealed by touchstone> b", "standard output")
    equal(resident.said, "<concealed by touchstone>", "standard error")
    process = start(resident, "run", "--mask", "--secret", "A=touchstone://npm/token", "--", "/bin/sh", "-c",
                    'trap "echo told; exit 5" TERM; echo ready; while :; do sleep 0.1; done')
    equal(process.stdout.readline(), b"ready\n", "the command")
    process.send_signal(signal.SIGTERM)
    output, _ = process.communicate(timeout=LONGEST_WAIT)
    equal((output, process.returncode), (b"told\n", 5), "a signal is sent on")
    resident.run(RUN, "run", "--mask", "--", "/bin/sh", "-c", "kill -KILL $$", status=128 + signal.SIGKILL)


@with_device
def texts_get_their_secrets(device, resident, person):
    """EX-1, EX-7."""
    keep(resident, "npm/token", "swordfish")
    text = "a={{ touchstone://npm/token }} b={{touchstone://npm/token}} {{ other }}\n"
    equal(resident.run(RUN, "inject", input=text), "a=swordfish b=swordfish {{ other }}\n", "the text")
    equal(person.asked(), 1, "prompts")
    resident.run(RUN, "inject", input="{{ touchstone://npm }}", status=2)
    equal(resident.run(RUN, "inject", input="nothing\n"), "nothing\n", "a text without places")
    first, second = os.openpty()
    for arguments in (("read", "npm/token"), ("inject",)):
        done = subprocess.run([RUN, *arguments], env=resident.environment, stdin=subprocess.DEVNULL, stdout=second,
                              stderr=subprocess.PIPE, timeout=LONGEST_WAIT)
        equal(done.returncode, 2, f"{arguments} at a terminal")
    equal(person.asked(), 0, "prompts")
    done = subprocess.run([RUN, "read", "--reveal", "npm/token"], env=resident.environment, stdin=subprocess.DEVNULL, stdout=second,
                          stderr=subprocess.PIPE, timeout=LONGEST_WAIT)
    equal((done.returncode, os.read(first, 100)), (0, b"swordfish\r\n"), "read --reveal at a terminal")


@with_device
def an_approval_is_used_again_only_if_the_owner_is_told_so(device, resident, person):
    """EX-6: --reuse, for the same secrets and the same session."""
    keep(resident, "npm/token", "swordfish")
    keep(resident, "npm/other", "swordfish")
    arguments = (RUN, "run", "--reuse", "60", "--secret", "A=touchstone://npm/token")
    resident.run(*arguments, "--", "true")
    resident.run(*arguments, "--", "true")
    equal(person.asked(), 1, "prompts of two runs with --reuse")
    resident.run(*arguments, "--secret", "B=touchstone://npm/other", "--", "true")
    equal(person.asked(), 1, "prompts with another secret")
    resident.run(*arguments, "--", "true", start_new_session=True)
    equal(person.asked(), 1, "prompts of another session")


def what_item_keeps_is_read_and_the_other_way_round():
    """EX-6, EX-10, KC-43: one secret for both programs if their manifests name one group; without them each has its own."""
    for is_shared in (True, False):
        with Device() as device:
            device.set_up("271828", "thumb")
            group = "Family=touchstone\napplication-groups=touchstone.secrets\n" if is_shared else ""
            with Resident(device, manifest=group) as resident:
                (device.state / "apps.d/touchstone.conf").write_text(f"[Application]\nIdentity={TOUCHSTONE}\nName=Touchstone\n{group}")
                person = Person(device)
                resident.run(TOUCHSTONE, "item", "add", "npm", "token", input="swordfish")
                keep(resident, "db/root", "other")
                found = resident.run(RUN, "read", "npm/token", status=0 if is_shared else 2)
                equal(found, "swordfish" if is_shared else "", "what read finds")
                found = resident.run(TOUCHSTONE, "item", "show", "db", status=0 if is_shared else 1)
                equal(found, "other" if is_shared else "", "what item finds")
                equal(person.asked(), 2 if is_shared else 0, "prompts")
                # What a program was granted ends with the secret, whichever of both stores over it (BR-30).
                starter = device.work / "starter"
                shutil.copy(os.path.realpath("/usr/bin/python3"), starter)
                for service in ("ci", "db"):
                    resident.run(BRIDGES / "touchstone-security", "add-generic-password", "-U", "-s", service, "-a", "root", "-T", starter, "-w", input="other")
                equal(resident.run(TOUCHSTONE, "bridge", "grants", "list").count(" reads "), 2, "the grants")
                person.asked()
                resident.run(TOUCHSTONE, "item", "add", "ci", "root", "--replace", input="new")
                equal(resident.run(TOUCHSTONE, "bridge", "grants", "list").count(" reads "), 1 if is_shared else 2, "after storing over one")
                resident.run(BRIDGES / "touchstone-security", "delete-generic-password", "-s", "ci")
                resident.run(TOUCHSTONE, "item", "remove", "db", "root", "--yes", status=0 if is_shared else 1)
                equal(resident.run(TOUCHSTONE, "bridge", "grants", "list").count(" reads "), 0 if is_shared else 1, "after a removal")
                expected = "touchstone://npm/token\n" if is_shared else "touchstone://db/root\n"
                equal(resident.run(RUN, "secret", "list"), expected, "the list after a removal")


@with_device
def touchstone_becomes_the_program_that_does_the_command(device, resident, person):
    """EX-3: with its status, signals, options and help; and nothing is done where that program is not there."""
    resident.run(TOUCHSTONE, "secret", "set", "npm/token", input="swordfish")
    equal(resident.run(TOUCHSTONE, "secret", "list"), "touchstone://npm/token\n", "the list")
    equal(resident.run(TOUCHSTONE, "read", "npm/token"), "swordfish", "the secret")
    equal(resident.run(TOUCHSTONE, "inject", input="a={{ touchstone://npm/token }}"), "a=swordfish", "the text")
    equal(person.asked(), 2, "prompts")
    said = resident.run(TOUCHSTONE, "run", "--secret", "A=touchstone://npm/token", "--", "/bin/sh", "-c", 'echo "$A" "$0"; exit 7', "--help", status=7)
    equal(said, "swordfish --help\n", "what the command wrote")
    check("/bin/sh" in person.prompts[0]["reason"], person.prompts[0])
    process = subprocess.Popen([TOUCHSTONE, "run", "--", "/bin/sh", "-c", "echo $$; kill -PIPE $$"], env=resident.environment, stdout=subprocess.PIPE)
    output, _ = process.communicate(timeout=LONGEST_WAIT)
    equal((int(output), process.returncode), (process.pid, -signal.SIGPIPE), "the command takes the program's place")
    resident.run(TOUCHSTONE, "read", "npm/other", status=2)
    for command, option in (("run", "--env-file"), ("read", "--reveal"), ("inject", "--reveal"), ("secret", "list")):
        check(option in resident.run(TOUCHSTONE, command, "--help"), f"the help of {command}")
        check(f"  {command} " in resident.run(TOUCHSTONE, "--help"), f"{command} in the help")
        check(command in resident.run(TOUCHSTONE, "--generate-completion-script", "bash"), f"{command} in the completions")
    alone = device.work / "alone"
    alone.mkdir()
    shutil.copy(TOUCHSTONE, alone)
    resident.environment["PATH"] = "/usr/bin:/bin"
    mark = device.work / "ran"
    resident.run(alone / "touchstone", "run", "--", "/usr/bin/touch", mark, status=70)
    check("touchstone-bridges" in resident.said and "touchstone-run is not installed" in resident.said, resident.said)
    check(not mark.exists(), "the command ran")


main(
    what_item_keeps_is_read_and_the_other_way_round, touchstone_becomes_the_program_that_does_the_command, secrets_are_kept_listed_and_removed, a_command_has_its_secrets_after_one_prompt,
    the_prompt_says_which_secrets_go_out_whatever_they_are_called, a_command_is_not_run_without_the_owner,
    secrets_come_as_files_too, a_descriptor_keeps_a_secret_out_of_the_environment_alone,
    whoever_has_an_answer_is_closed_to_other_programs, a_mask_hides_secrets_and_passes_statuses_and_signals_on, texts_get_their_secrets,
    an_approval_is_used_again_only_if_the_owner_is_told_so)
