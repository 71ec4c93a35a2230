#!/usr/bin/env python3
"""touchstone-security: what scripts that were written for macOS's `security` do with passwords."""

import contextlib
import json
import os
import pathlib
import shutil
import subprocess

from bridges import BRIDGES, Resident, with_device
from device import LONGEST_WAIT, check, confirm, equal, main, wait_for

SECURITY = BRIDGES / "touchstone-security"


def security(resident, *words, **settings):
    return resident.run(SECURITY, *words, **settings)


@with_device
def a_password_is_kept_and_read_with_the_finger(device, resident, person):
    """SC-2, SC-3, SC-5: added without a question, found with one; attributes without one."""
    security(resident, "add-generic-password", "-s", "npm", "-a", "me", "-w", input="swordfish\n")
    equal(person.asked(), 0, "prompts for a new password")
    equal(security(resident, "find-generic-password", "-s", "npm", "-w"), "swordfish\n", "the password")
    check("npm/me" in person.prompts[0]["reason"], person.prompts)
    equal(person.asked(), 1, "prompts")
    shown = 'keychain: "touchstone"\nversion: 512\nclass: "genp"\nattributes:\n    0x00000007 <blob>="npm"\n' \
            '    "acct"<blob>="me"\n    "svce"<blob>="npm"\n'
    equal(security(resident, "find-generic-password", "-s", "npm", "-a", "me"), shown, "the attributes")
    equal(person.asked(), 0, "prompts for attributes")
    equal(security(resident, "find-generic-password", "-g", "-s", "npm"), shown, "the attributes with -g")
    equal(resident.said, 'password: "swordfish"\n', "the password with -g")
    equal(person.asked(), 1, "prompts with -g")
    security(resident, "delete-generic-password", "-s", "npm", "-a", "me")
    equal(resident.said, "password has been deleted.\n", "after deleting")
    security(resident, "find-generic-password", "-s", "npm", "-w", status=44)


@with_device
def statuses_are_those_that_scripts_test(device, resident, person):
    """SC-2: 36, 44, 45, 128, 53, 206 and 2, each with its twin; SC-4: the words of what is not there."""
    security(resident, "find-generic-password", "-s", "npm", "-w", status=44)
    equal(resident.said, "touchstone-security: npm not found in this tool's items\n", "what is not there")
    security(resident, "delete-generic-password", "-s", "npm", status=44)
    equal(person.asked(), 0, "prompts for what is not there")
    add = ("add-generic-password", "-s", "npm", "-a", "me", "-w")
    security(resident, *add, input="one")
    security(resident, *add, input="two", status=45)
    equal(person.asked(), 0, "prompts for a second one")
    equal(security(resident, "find-generic-password", "-s", "npm", "-w"), "one\n", "what a second one left")
    security(resident, *add[:-1], "-U", "-w", input="two")
    equal(security(resident, "find-generic-password", "-s", "npm", "-w"), "two\n", "what -U wrote")
    # Two accounts of one service: none is deleted by the service alone.
    security(resident, "add-generic-password", "-s", "npm", "-a", "you", "-w", input="three")
    security(resident, "delete-generic-password", "-s", "npm", status=206)
    equal(security(resident, "find-generic-password", "-s", "npm", "-a", "you", "-w"), "three\n", "what is left")
    security(resident, "find-certificate", "-a", status=2)
    security(resident, "find-generic-password", "-w", status=2)
    person.answer = "cancel"
    person.asked()
    equal(security(resident, "find-generic-password", "-s", "npm", "-a", "me", "-w", status=128), "", "after a cancel")
    equal(person.asked(), 1, "prompts that were cancelled")
    person.answer = "nothing"
    device.run("device", "lock")
    equal(security(resident, "find-generic-password", "-s", "npm", "-a", "you", "-w", status=36), "", "while locked")
    resident.process.terminate()
    resident.process.wait(LONGEST_WAIT)
    security(resident, "find-generic-password", "-s", "npm", "-a", "me", "-w", status=53)


@with_device
def a_script_that_runs_unattended_says_so(device, resident, person):
    """SC-5: -A asks nobody; without it somebody is asked."""
    security(resident, "add-generic-password", "-A", "-s", "ci", "-a", "bot", "-w", input="open")
    security(resident, "add-generic-password", "-s", "ci", "-a", "me", "-w", input="closed")
    person.answer = "cancel"
    equal(security(resident, "find-generic-password", "-s", "ci", "-a", "bot", "-w"), "open\n", "with -A")
    equal(person.asked(), 0, "prompts with -A")
    security(resident, "find-generic-password", "-s", "ci", "-a", "me", "-w", status=128)
    equal(person.asked(), 1, "prompts without -A")


@with_device
def an_open_password_is_no_trap_for_the_next_one(device, resident, person):
    """SC-5, GC-3: what takes the place of an open password is guarded, whoever kept the open one."""
    git = BRIDGES / "git-credential-touchstone"
    security(resident, "add-internet-password", "-A", "-s", "git.example", "-a", "octocat", "-r", "htps", "-w", input="bait")
    equal(security(resident, "find-internet-password", "-s", "git.example", "-a", "octocat", "-w"), "bait\n", "while it is open")
    equal(person.asked(), 0, "prompts while it is open")
    resident.run(git, "store", input="protocol=https\nhost=git.example\nusername=octocat\npassword=correct horse\n")
    person.asked()
    resident.process.terminate()
    resident.process.wait(LONGEST_WAIT)
    with Resident(device) as again:
        person.answer = "cancel"
        security(again, "find-internet-password", "-s", "git.example", "-a", "octocat", "-w", status=128)
        equal(person.asked(), 1, "prompts once it is guarded")


@with_device
def a_password_among_the_arguments_is_warned_about_and_wiped(device, resident, person):
    """SC-6: the warning, its absence, and what other programs see while it is stored."""
    words = ("add-generic-password", "-s", "npm", "-a", "me", "-w", "swordfish-8417")
    security(resident, *words)
    check("other programs could read" in resident.said and "swordfish" not in resident.said, resident.said)
    resident.environment["TOUCHSTONE_SECURITY_QUIET"] = "1"
    security(resident, *words[:2], "other", *words[3:])
    equal(resident.said, "", "with TOUCHSTONE_SECURITY_QUIET")
    # Replacing it waits for the owner: meanwhile its arguments can be read.
    person.answer = "nothing"
    person.asked()
    process = subprocess.Popen([SECURITY, words[0], "-U", *words[1:-1], "swordfish-9525"], env=resident.environment, stderr=subprocess.DEVNULL)
    try:
        wait_for(lambda: person.prompts, "the prompt")
        line = pathlib.Path(f"/proc/{process.pid}/cmdline").read_bytes()
        check(b"add-generic-password" in line and b"swordfish" not in line, line)
    finally:
        process.kill()
        process.wait(LONGEST_WAIT)


@with_device
def internet_passwords_are_those_of_git(device, resident, person):
    """SC-4: one item for git and for this command; not for another protocol, port or host."""
    security(resident, "add-internet-password", "-s", "git.example", "-a", "octocat", "-r", "htps", "-w", input="correct horse")
    found = resident.run(BRIDGES / "git-credential-touchstone", "get", input="protocol=https\nhost=git.example\n")
    check("username=octocat\npassword=correct horse\n" in found, found)
    equal(security(resident, "find-internet-password", "-s", "git.example", "-w"), "correct horse\n", "the password")
    check('"srvr"<blob>="git.example"' in security(resident, "find-internet-password", "-s", "git.example"), "the attributes")
    for other in (("-r", "http"), ("-P", "8443"), ("-a", "you")):
        security(resident, "find-internet-password", "-s", "git.example", *other, "-w", status=44)
    security(resident, "find-generic-password", "-s", "git.example", "-w", status=44)
    person.asked()
    person.answer = "cancel"
    security(resident, "delete-internet-password", "-s", "git.example", "-a", "octocat", status=128, start_new_session=True)
    equal(person.asked(), 1, "prompts for deleting by another session")
    person.answer = "finger"
    security(resident, "delete-internet-password", "-s", "git.example", "-a", "octocat", start_new_session=True)
    security(resident, "find-internet-password", "-s", "git.example", "-w", status=44)


# A program that starts others, and ends as they do.
STARTS = "import subprocess, sys; sys.exit(subprocess.run(sys.argv[1:]).returncode)"


class Starter:
    """A program of its own, by this name, that starts touchstone-security."""

    def __init__(self, device, resident, name):
        self.path, self.resident = device.work / name, resident
        shutil.copy(os.path.realpath("/usr/bin/python3"), self.path)
        # Others than root may write it, also where root runs the tests: then its content counts, too.
        self.path.chmod(0o775)

    def run(self, *words, **settings):
        return self.resident.run(self.path, "-S", "-c", STARTS, *words, **settings)

    def reads(self, service="ci", **settings):
        return self.run(SECURITY, "find-generic-password", "-s", service, "-w", **settings)


@with_device
def a_program_reads_what_it_was_granted(device, resident, person):
    """BR-30, BR-31, SC-5: -T lets in that program, itself and through others; no other one, and not after its file was changed."""
    deploy, other = Starter(device, resident, "deploy"), Starter(device, resident, "other")
    security(resident, "add-generic-password", "-s", "ci", "-a", "bot", "-T", deploy.path, "-T", "", "-w", input="swordfish")
    equal((resident.said, person.asked()), ("", 0), "what is said, and prompts for a new password")
    security(resident, "add-generic-password", "-s", "closed", "-a", "bot", "-w", input="trout")
    person.answer = "cancel"
    equal(deploy.reads(), "swordfish\n", "what the program reads")
    equal(deploy.run("/bin/sh", "-c", f"{SECURITY} find-generic-password -s ci -w; true"), "swordfish\n", "what a shell of its own reads")
    equal(deploy.run("sh", "-c", "touchstone-run read touchstone://ci/bot; true"), "swordfish", "what it reads by its reference")
    equal(person.asked(), 0, "prompts of the program")
    check(f"{deploy.path} read what it was granted" in resident.log, resident.log)
    equal(other.reads(status=128), "", "what another program reads")
    person.answer = "finger"
    equal(deploy.reads("closed"), "trout\n", "what was not granted, with the finger")
    equal(security(resident, "find-generic-password", "-s", "ci", "-w"), "swordfish\n", "what the test itself reads, with the finger")
    equal(person.asked(), 3, "prompts for what was not granted, and of others")
    # It holds after a new start, and not for another file under the same name.
    resident.process.terminate()
    resident.process.wait(LONGEST_WAIT)
    with Resident(device) as again:
        deploy.resident = again
        equal(deploy.reads(), "swordfish\n", "what it reads after a new start")
        device.run("device", "lock")
        deploy.reads(status=36)
        device.run("device", "unlock", input="271828\n")
        equal(deploy.reads(), "swordfish\n", "what it reads once the device is unlocked")
        equal(person.asked(), 0, "prompts of the program")
        changed = device.work / "changed"
        shutil.copy(deploy.path, changed)
        with open(changed, "ab") as file:
            file.write(b"\0")
        changed.replace(deploy.path)
        equal(deploy.reads(), "swordfish\n", "what a changed program reads, with the finger")
        equal(person.asked(), 1, "prompts of a changed program")


@with_device
def grants_are_listed_and_revoked(device, resident, person):
    """BR-33: by the command, for one password or all of a program; BR-30, BR-32: a change asks, and ends them, as a deletion does."""
    deploy, other = Starter(device, resident, "deploy"), Starter(device, resident, "other")

    def grants(*words, **settings):
        return resident.run(device.programs / "touchstone", "bridge", "grants", *words, **settings)

    def listed():
        return {(grant["program"], grant["secret"]) for grant in json.loads(grants("list", "--json"))}

    def add(service, *words, **settings):
        security(resident, "add-generic-password", "-s", service, "-a", "bot", *words, "-w", **settings)

    equal(grants("list"), "", "the list of nothing")
    lets = ("-T", deploy.path, "-T", other.path)
    for service in ("ci", "npm"):
        add(service, *lets, input="swordfish")
    security(resident, "add-internet-password", "-s", "git.example", "-a", "octocat", "-T", deploy.path, "-w", input="correct horse")
    equal(len(listed()), 5, "how many there are")
    check((str(deploy.path), "https://octocat@git.example") in listed(), listed())
    line = f"{other.path} reads touchstone://npm/bot, since "
    check(line in grants("list") and "while its file is the same" in grants("list"), grants("list"))
    filled = deploy.run("git", "-c", "credential.helper=", "-c", "credential.helper=touchstone", "credential", "fill",
                        input="protocol=https\nhost=git.example\n")
    check("password=correct horse" in filled, filled)
    equal(person.asked(), 0, "prompts so far")
    grants("revoke", other.path, "touchstone://npm/bot")
    other.reads("npm")
    equal(person.asked(), 1, "prompts for what was revoked")
    equal((other.reads(), deploy.reads("npm")), ("swordfish\n", "swordfish\n"), "what is still granted")
    grants("revoke", other.path)
    grants("revoke", other.path, status=1)
    check("no such password without asking" in resident.said, resident.said)
    other.reads()
    equal(person.asked(), 1, "prompts once all is revoked")
    equal({program for program, _ in listed()}, {str(deploy.path)}, "whose grants are left")
    # A cancelled change leaves them, one with the finger ends them.
    person.answer = "cancel"
    add("ci", "-U", status=128, input="other", start_new_session=True)
    equal(deploy.reads(), "swordfish\n", "after a cancelled change")
    person.answer = "finger"
    person.asked()
    add("ci", "-U", input="trout", start_new_session=True)
    deploy.reads()
    equal(person.asked(), 2, "prompts for a change, and for reading after it")
    add("ci", "-U", "-T", deploy.path, input="salmon", start_new_session=True)
    check("let “" in person.prompts[0]["reason"] and "deploy” read it without asking" in person.prompts[0]["reason"], person.prompts[0])
    equal(person.asked(), 1, "prompts for a change that lets a program in")
    equal((deploy.reads(), person.asked()), ("salmon\n", 0), "what it reads then")
    security(resident, "delete-generic-password", "-s", "ci")
    check(not any("ci/bot" in secret for _, secret in listed()), listed())


@with_device
def programs_that_run_anything_are_not_let_in(device, resident, person):
    """BR-13, SC-5: shells, scripts and what is not there; a path that is not absolute is wrong usage."""
    script = device.work / "script"
    script.write_text("#!/bin/sh\n")
    script.chmod(0o755)
    words = ("add-generic-password", "-a", "bot", "-w", "x", "-s")
    for path in ("/bin/sh", "/usr/bin/nohup", "/usr/bin/find", SECURITY, script, "/nowhere/at/all", "/dev/null", device.work):
        security(resident, *words, path, "-T", path)
        check(f"{path} still has to ask" in resident.said, resident.said)
    security(resident, *words, "y", "-T", "deploy", status=2)
    equal(json.loads(resident.run(device.programs / "touchstone", "bridge", "grants", "list", "--json")), [], "the grants")


@with_device
def too_many_that_wait_are_refused(device, resident, person):
    """SC-2: 51, while the owner has not answered those before."""
    security(resident, "add-generic-password", "-s", "npm", "-a", "me", "-w", input="one")
    equal(security(resident, "find-generic-password", "-s", "npm", "-w"), "one\n", "what is read while nobody waits")
    person.answer = lambda prompt: confirm(device, {"prompt": prompt})
    waiting = [
        subprocess.Popen([SECURITY, "find-generic-password", "-s", "npm", "-w"], env=resident.environment,
                         stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) for _ in range(40)
    ]
    try:
        refused = wait_for(lambda: next((each for each in waiting if each.poll() is not None), None), "one that is refused")
        equal((refused.returncode, "too many requests wait" in refused.stderr.read()), (51, True), "how it ends")
    finally:
        for each in waiting:
            each.kill()
            each.communicate(timeout=LONGEST_WAIT)


# As it stands in public scripts, but for the name of the program.
FUNCTION = """
security() { "$SECURITY" "$@"; }
keychain_get() { security find-generic-password -a "$USER" -s "$1" -w 2>/dev/null; }
keychain_set() { security add-generic-password -U -a "$USER" -s "$1" -w "$2"; }
token="$(keychain_get api-token)" || {
    [ $? -eq 44 ] || exit 9
    keychain_set api-token "s3cr3t"
    token="$(keychain_get api-token)"
}
printf %s "$token"
"""


@with_device
def a_shell_function_of_a_script_for_macos_works(device, resident, person):
    """SC-7: printable, empty, UTF-8 and binary passwords, byte for byte; a function of a shell script."""
    resident.environment |= {"SECURITY": str(SECURITY), "USER": "me"}
    for turn in ("the first time", "the second time"):
        equal(resident.run("bash", "-c", FUNCTION), "s3cr3t", turn)
    for number, (word, expected) in enumerate((("20", " \n"), ("c3b6", "c3b6\n"), ("00ff", "00ff\n"), ("61", "a\n"))):
        security(resident, "add-generic-password", "-s", f"b{number}", "-a", "me", "-X", word)
        equal(security(resident, "find-generic-password", "-s", f"b{number}", "-w"), expected, f"the bytes {word}")


@with_device
def commands_come_over_standard_input(device, resident, person):
    """SC-8: one or several, with words in quotation marks; the last one's status; nothing among the arguments."""
    security(resident, "-i", input="add-generic-password -s npm -a me -w 'sword fish'\n")
    equal(resident.said, "", "a warning of what no other program saw")
    equal(security(resident, "find-generic-password", "-s", "npm", "-w"), "sword fish\n", "the password")
    lines = 'add-generic-password -s two -a me -w "a \\"b\\""\n\n  find-generic-password -s two -w\nfind-generic-password -s npm -w\n'
    equal(security(resident, "-i", input=lines), 'a "b"\nsword fish\n', "what three commands print")
    security(resident, "-i", input="find-generic-password -s npm -w\nfind-generic-password -s none -w\n", status=44)
    equal(security(resident, "-i", input="find-generic-password -s none -w\nfind-generic-password -s npm\nquit\nnonsense\n").count("svce"), 1, "before quit")
    security(resident, "-i", input="nonsense\n", status=2)
    security(resident, "-i", input="find-generic-password -s 'npm\n", status=2)
    equal(security(resident, "-i", input=""), "", "no command")
    security(resident, "-q", "add-generic-password", "-s", "quiet", "-a", "me", "-T", "/bin/x", "-w", "x")
    equal(resident.said, "", "with -q")
    # What waits for the owner has its password in no argument.
    person.answer = "nothing"
    person.asked()
    lines = b"add-generic-password -U -s npm -a me -w swordfish-7417\nfind-generic-password -s two\n"
    process = subprocess.Popen([SECURITY, "-i"], env=resident.environment, stdin=subprocess.PIPE, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    try:
        process.stdin.write(lines)
        process.stdin.close()
        wait_for(lambda: person.prompts, "the prompt")
        for entry in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
            with contextlib.suppress(OSError):
                check(b"swordfish-7417" not in entry.read_bytes(), f"the arguments of {entry}")
    finally:
        process.kill()
        process.wait(LONGEST_WAIT)


if not os.access(SECURITY, os.X_OK):
    raise SystemExit(f"{SECURITY} is not there: run make bridges")
main(
    a_password_is_kept_and_read_with_the_finger, statuses_are_those_that_scripts_test, a_script_that_runs_unattended_says_so,
    a_password_among_the_arguments_is_warned_about_and_wiped, internet_passwords_are_those_of_git,
    a_program_reads_what_it_was_granted, grants_are_listed_and_revoked, programs_that_run_anything_are_not_let_in, too_many_that_wait_are_refused,
    commands_come_over_standard_input, a_shell_function_of_a_script_for_macos_works, an_open_password_is_no_trap_for_the_next_one)
