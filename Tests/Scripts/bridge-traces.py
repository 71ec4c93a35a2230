#!/usr/bin/env python3
"""What each bridge leaves behind of a secret: nothing in files, logs, arguments and variables; nothing in its memory after the lock.

Runs as root, which may read the memory of hardened processes."""

import json
import os
import secrets
import subprocess
import sys
import time

from bridges import BRIDGES, Person, with_device
from device import LONGEST_WAIT, Device, check, equal, main
from scanning import Value, search
from secretservice import Bus

if os.geteuid() != 0:
    sys.exit("bridge-traces: run it as root: it reads the memory of hardened processes")


def secret(name):
    return Value(name, f"{name}-{secrets.token_hex(12)}".encode())


def search_after_lock(device, values, process):
    """Searches until nothing is found; shorter than an approval lasts, which is 60 seconds."""
    limit = time.monotonic() + 30
    while True:
        time.sleep(1)
        try:
            return search(device, values, process)
        except AssertionError:
            if time.monotonic() > limit:
                raise


def text(value):
    return value.content.decode()


@with_device
def the_search_finds_what_is_there(device, resident, person):
    """BR-52: the control of the other tests: a file, a variable and a memory that have it."""
    value = secret("control")
    search(device, [value], resident.process.pid)
    file = device.work / "file"
    file.write_bytes(b"x" * 100 + value.content)
    try:
        search(device, [value])
        found = False
    except AssertionError as error:
        found = str(file) in str(error)
    check(found, "a file that has it is not found")
    search(device, [value], leaving=(file,))


@with_device
def passwords_of_git_docker_and_commands_leave_no_trace(device, resident, person):
    """BR-52: stored, given out to each helper, changed; then the device is locked."""
    git, docker, run, script = (secret(name) for name in ("git", "docker", "run", "script"))
    place = "protocol=https\nhost=git.example\nusername=octocat\n"
    helper = BRIDGES / "git-credential-touchstone"
    resident.run(helper, "store", input=f"{place}password={text(git)}\n\n")
    check(text(git) in resident.run(helper, "get", input=place + "\n"), "git's password")
    stored = json.dumps({"ServerURL": "registry.example", "Username": "octocat", "Secret": text(docker)})
    resident.run(BRIDGES / "docker-credential-touchstone", "store", input=stored)
    check(text(docker) in resident.run(BRIDGES / "docker-credential-touchstone", "get", input="registry.example"), "docker's password")
    resident.run(BRIDGES / "touchstone-run", "secret", "set", "npm/token", input=text(run))
    equal(resident.run(BRIDGES / "touchstone-run", "read", "npm/token"), text(run), "the token")
    resident.run(BRIDGES / "touchstone-security", "add-generic-password", "-s", "ci", "-a", "bot", "-w", input=text(script))
    equal(resident.run(BRIDGES / "touchstone-security", "find-generic-password", "-s", "ci", "-w"), f"{text(script)}\n", "the script's password")
    check(person.asked() > 0, "nobody was asked")
    device.run("device", "lock")
    search_after_lock(device, [git, docker, run, script], resident.process.pid)


# An ordinary pinentry in which somebody types what a file says.
TYPED = """#!/bin/sh
echo OK
while read -r line; do
    [ "$line" = GETPIN ] && echo "D $(cat {file})"
    echo OK
done
"""


@with_device
def a_passphrase_of_gpg_leaves_no_trace(device, resident, person):
    """BR-52, PE-1: typed in an ordinary pinentry and kept, then released by a finger; then the device is locked."""
    value, ordinary, typed = secret("gpg"), device.work / "ordinary", device.work / "typed"
    ordinary.write_text(TYPED.format(file=typed))
    ordinary.chmod(0o700)
    lines = ("OPTION allow-external-password-cache", f"SETKEYINFO n/{'AB' * 20}", "SETDESC Ann", "GETPIN", "BYE")
    for what, prompts in ((text(value), 0), ("nothing", 1)):
        typed.write_text(what)
        # It ends with whoever wants the passphrase, so its input stays open.
        pinentry = subprocess.Popen(
            [BRIDGES / "pinentry-touchstone", "--fallback", ordinary], env=resident.environment, stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, text=True)
        pinentry.stdin.write("".join(f"{line}\n" for line in lines))
        pinentry.stdin.flush()
        said = pinentry.stdout.read()
        check(f"D {text(value)}\n" in said, said)
        equal(pinentry.wait(LONGEST_WAIT), 0, "the end of the pinentry")
        pinentry.stdin.close()
        equal(person.asked(), prompts, "prompts")
    device.run("device", "lock")
    search_after_lock(device, [value], resident.process.pid)


def passwords_of_desktop_programs_leave_no_trace():
    """BR-52: stored and looked up with secret-tool; then the device is locked."""
    with Device() as device:
        device.set_up("271828", "thumb")
        with Bus(device) as bus:
            Person(device)
            value = secret("desktop")
            bus.run("secret-tool", "store", "--label=A label", "user", "x", input=text(value))
            equal(bus.run("secret-tool", "lookup", "user", "x"), text(value), "the password")
            device.run("device", "lock")
            search_after_lock(device, [value], bus.service.pid)


main(
    the_search_finds_what_is_there, passwords_of_git_docker_and_commands_leave_no_trace, a_passphrase_of_gpg_leaves_no_trace, passwords_of_desktop_programs_leave_no_trace)
