#!/usr/bin/env python3
"""Passwords for git and docker: git's and docker's protocols, and who is asked. bridge-git and bridge-registry have the real clients."""

import base64
import concurrent.futures
import json
import os
import shutil
import socket
import subprocess
import time

from bridges import BRIDGES, Person, Resident, with_device
from device import LONGEST_WAIT, Device, check, equal, main, wait_for

ASKED = "protocol=https\nhost=git.example\n"
KEPT = ASKED + "username=octocat\npassword=correct horse\n"


def git(resident, *arguments, **settings):
    return resident.run("git", "-c", "credential.helper=", "-c", "credential.helper=touchstone", *arguments, **settings)


def helper(resident, action, input, **settings):
    return resident.run(BRIDGES / "git-credential-touchstone", action, input=input, **settings)


@with_device
def git_keeps_a_password_and_the_owner_is_asked_for_it(device, resident, person):
    """GC-1, GC-2, GC-12, GC-13, GC-15."""
    git(resident, "credential", "approve", input=KEPT)
    equal(person.asked(), 0, "prompts for a new password")
    began = time.monotonic()
    found = git(resident, "credential", "fill", input=ASKED)
    check("username=octocat\npassword=correct horse\n" in found, found)
    prompt = person.prompts[0]
    equal(person.asked(), 1, "prompts for the first reading")
    equal(os.path.basename(prompt["client"]["identifier"]), "git", "who asks")
    check("python" in prompt["origin"]["ancestors"][0]["executable"], f"who started it: {prompt}")
    equal(prompt["reason"], "read the password of octocat at git.example", "what for")
    equal({fact["kind"]: fact["text"] for fact in prompt["facts"]}, {"host": "git.example", "account": "octocat"}, "the facts")
    git(resident, "credential", "approve", input=KEPT)
    found = git(resident, "credential", "fill", input=ASKED)
    check("correct horse" in found, found)
    again = person.asked()
    if time.monotonic() - began < 60:
        equal(again, 0, "prompts within the minute, and for a password that is kept already")
    # Another session is another starter.
    found = git(resident, "credential", "fill", input=ASKED, start_new_session=True)
    check("correct horse" in found, found)
    equal(person.asked(), 1, "prompts for a second starter")


# Calls a method of the keychain's and prints the answer.
CALL = """
import socket, sys
connection = socket.socket(socket.AF_UNIX)
connection.connect(sys.argv[1])
connection.sendall(sys.argv[2].encode() + b"\\0")
reply = b""
while not reply.endswith(b"\\0"): reply += connection.recv(65536)
print(reply[:-1].decode())
"""

# A service manager by its name. It takes over a helper whose parent ended.
MANAGER = """
import ctypes, os, sys, time
manager = os.getpid()
ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)  # PR_SET_CHILD_SUBREAPER
if os.fork() == 0:
    if os.fork() == 0:
        while os.getppid() != manager: time.sleep(0.01)
        os.execvp(sys.argv[1], sys.argv[1:])
    os._exit(0)
os.wait()
os.wait()
"""


@with_device
def an_orphan_is_not_shown_as_the_service_manager(device, resident, person):
    """GC-1: nobody knows who started it, and it uses no other's approval; what git starts is git's all the same."""
    git(resident, "credential", "approve", input=KEPT)
    manager = device.work / "systemd"
    shutil.copy(os.path.realpath("/usr/bin/python3"), manager)

    def orphan(*arguments):
        return resident.run(manager, "-S", "-c", MANAGER, *arguments, input=ASKED)

    for _ in range(2):
        check("correct horse" in orphan(BRIDGES / "git-credential-touchstone", "get"), "nothing came back")
        check("could not be identified" in person.prompts[0]["reason"], f"who asks: {person.prompts[0]}")
        equal(person.asked(), 1, "prompts of an orphan")
    found = orphan("git", "-c", "credential.helper=", "-c", "credential.helper=touchstone", "credential", "fill")
    check("correct horse" in found, found)
    equal(os.path.basename(person.prompts[0]["client"]["identifier"]), "git", "who asks")


@with_device
def nothing_is_given_out_without_the_finger(device, resident, person):
    """GC-12: cancelled, nothing there, another place."""
    git(resident, "credential", "approve", input=KEPT)
    for other in ("protocol=http\nhost=git.example\n", "protocol=https\nhost=git.example:8443\n",
                  "protocol=https\nhost=sub.git.example\n", ASKED + "username=other\n", ASKED + "path=x.git\n"):
        equal(helper(resident, "get", other), "", f"the password of another place: {other!r}")
    equal(person.asked(), 0, "prompts for what is not there")
    person.answer = "cancel"
    equal(helper(resident, "get", ASKED), "quit=1\n", "the answer after a cancel")
    equal(person.asked(), 1, "prompts")
    started = time.monotonic()
    equal(helper(resident, "get", ASKED), "quit=1\n", "the answer right after it")
    if time.monotonic() - started < 5:
        equal(person.asked(), 0, "prompts right after a cancel")
    # git itself stops, and asks for no password.
    git(resident, "credential", "fill", input=ASKED, status=128, start_new_session=True)
    check("quit" in resident.said, resident.said)


@with_device
def a_locked_device_and_no_agent_give_nothing(device, resident, person):
    """GC-12: no output, exit 0, one line."""
    git(resident, "credential", "approve", input=KEPT)
    person.answer = "nothing"
    device.run("device", "lock")
    equal(helper(resident, "get", ASKED), "", "the answer of a locked device")
    equal(resident.said.count("\n"), 1, resident.said)
    resident.process.terminate()
    resident.process.wait(LONGEST_WAIT)
    equal(helper(resident, "get", ASKED), "", "the answer without touchstone-credentials")
    equal(resident.said.count("\n"), 1, resident.said)
    check(not resident.socket.exists(), "the socket stays")


@with_device
def a_password_is_erased_by_who_knows_it(device, resident, person):
    """GC-13."""
    git(resident, "credential", "approve", input=KEPT)
    git(resident, "credential", "reject", input=ASKED + "username=octocat\npassword=another\n")
    check("correct horse" in git(resident, "credential", "fill", input=ASKED), "a password distinct from the input is erased")
    equal(person.asked(), 1, "prompts: for the reading")
    git(resident, "credential", "reject", input="protocol=https\n", status=None)
    check("correct horse" in git(resident, "credential", "fill", input=ASKED), "an erasing without a host erases")
    # Somebody who was never given it is asked, and so is who names none.
    person.answer = "cancel"
    helper(resident, "erase", KEPT, start_new_session=True)
    equal(person.asked(), 1, "prompts for a stranger's erasing")
    person.answer = "finger"
    check("correct horse" in git(resident, "credential", "fill", input=ASKED), "a stranger erased it")
    person.asked()
    git(resident, "credential", "reject", input=KEPT)
    equal(helper(resident, "get", ASKED), "", "what was erased")
    equal(person.asked(), 0, "prompts for an erasing by who has the password")


@with_device
def storing_over_a_password_asks(device, resident, person):
    """GC-13."""
    git(resident, "credential", "approve", input=KEPT)
    other = KEPT.replace("correct horse", "battery staple")
    person.answer = "cancel"
    helper(resident, "store", other, start_new_session=True)
    equal([prompt["reason"] for prompt in person.prompts], ["store over the password of octocat at git.example"], "the prompts")
    person.asked()
    person.answer = "finger"
    check("correct horse" in git(resident, "credential", "fill", input=ASKED), "stored over after a cancel")
    person.asked()
    git(resident, "credential", "approve", input=other)
    equal(person.asked(), 1, "prompts")
    check("battery staple" in git(resident, "credential", "fill", input=ASKED), "not stored over after the finger")


@with_device
def a_password_ends_when_its_server_says(device, resident, person):
    """GC-17: also one that was stored over another; without an end it does not end."""
    later, ended = (f"password_expiry_utc={int(time.time()) + seconds}\n" for seconds in (86400, -1))
    for end, expected in (("", ""), (later, later), (ended, None), (later, later), ("", "")):
        helper(resident, "store", KEPT + end, start_new_session=True)
        found = helper(resident, "get", ASKED)
        equal(found if "correct horse" not in found else found.split("correct horse\n")[1], "" if expected is None else expected, f"after {end!r}")
        equal("correct horse" in found, expected is not None, f"the password after {end!r}")


@with_device
def what_is_malformed_is_refused(device, resident, person):
    """GC-11, GC-16."""
    for action in ("get", "store", "erase"):
        for text in ("host\n", "protocol=https\nhost=a\r\n", "protocol=https\nhost=a\nhost=b\n", "protocol=https\nhost=a/b\n",
                     "protocol=https\nhost=a:x\n", "host=\0\n", "password=" + "x" * 65536):
            equal(helper(resident, action, text, status=1), "", f"the answer to {text[:40]!r}")
    equal(helper(resident, "capability", ""), "version 0\n", "the capabilities")
    equal(helper(resident, "get", "\n"), "", "the answer to nothing")
    equal(helper(resident, "later", ASKED), "", "an action of another version")
    first, second = os.openpty()
    done = subprocess.run([BRIDGES / "git-credential-touchstone", "get"], env=resident.environment, stdin=subprocess.DEVNULL,
                          stdout=second, stderr=subprocess.PIPE, timeout=LONGEST_WAIT)
    equal(done.returncode, 1, "get at a terminal")
    check(b"terminal" in done.stderr, done.stderr)
    os.close(first)
    os.close(second)
    equal(person.asked(), 0, "prompts")


@with_device
def docker_speaks_to_its_helper(device, resident, person):
    """GC-3, GC-20, GC-21."""
    def docker(action, input="", status=0):
        return resident.run(BRIDGES / "docker-credential-touchstone", *([action] if action else []), input=input, status=status)

    server = "https://index.docker.io/v1/"
    equal(docker("list"), "{}\n", "an empty list")
    equal(docker("get", server, 1), "credentials not found in native keychain\n", "what is not there")
    equal(docker("get", " \n", 1), "no credentials server URL\n", "no server")
    equal(docker("erase", "", 1), "no credentials server URL\n", "no server")
    equal(docker("store", json.dumps({"Username": "a", "Secret": "b"}), 1), "no credentials server URL\n", "no server")
    equal(docker("store", json.dumps({"ServerURL": server, "Secret": "b"}), 1), "no credentials username\n", "no user")
    docker("store", "nonsense", 1)
    docker("other", "", 1)
    docker(None, "", 1)
    docker("version")
    docker("store", json.dumps({"ServerURL": server, "Username": "<token>", "Secret": "s\"ö"}))
    docker("store", json.dumps({"ServerURL": "docker.io", "Username": "me", "Secret": "other"}))
    equal(json.loads(docker("list")), {server: "<token>", "docker.io": "me"}, "the list")
    equal(person.asked(), 0, "prompts so far")
    equal(json.loads(docker("get", server + "\n")), {"ServerURL": server, "Username": "<token>", "Secret": "s\"ö"}, "what was kept")
    equal(person.asked(), 1, "prompts of a reading")
    equal(docker("get", "index.docker.io", 1), "credentials not found in native keychain\n", "another address")
    docker("erase", "docker.io")
    equal(json.loads(docker("list")), {server: "<token>"}, "the list after an erasing")
    equal(helper(resident, "get", "protocol=https\nhost=docker.io\n"), "", "git is given what is docker's")
    device.run("device", "lock")
    said = docker("get", server, 1)
    check("not found" not in said and "locked" in said, said)


@with_device
def a_program_that_speaks_for_itself_is_shown_as_itself(device, resident, person):
    """GC-1: no helper in between."""
    git(resident, "credential", "approve", input=KEPT)
    connection = socket.socket(socket.AF_UNIX)
    connection.settimeout(LONGEST_WAIT)
    connection.connect(str(resident.socket))
    item = {"kind": "git", "scheme": "https", "place": "git.example"}
    connection.sendall(json.dumps({"method": "io.touchstone.Credentials.Get", "parameters": {"item": item}}).encode() + b"\0")
    reply = b""
    while not reply.endswith(b"\0"):
        reply += connection.recv(65536)
    equal(base64.b64decode(json.loads(reply[:-1])["parameters"]["secrets"][0]), b"correct horse", "what came back")
    check("python" in person.prompts[0]["client"]["identifier"], f"who asks: {person.prompts[0]}")
    for nonsense in (b"{}\0", b"[" * 5000 + b"\0", b'{"method":"io.touchstone.Credentials.Get","parameters":{}}\0',
                     b'{"method":"io.touchstone.Credentials.Other","parameters":{}}\0', b"\xff\0"):
        connection.sendall(nonsense)
        reply = b""
        while not reply.endswith(b"\0"):
            reply += connection.recv(65536)
        check("error" in json.loads(reply[:-1]), reply)


def other_program(device):
    """A program that shares a group with touchstone-credentials; that keeps its items there from now on."""
    other = device.work / "other"
    shutil.copy(os.path.realpath("/usr/bin/python3"), other)
    manifests = device.state / "apps.d"
    shared = "Family=F\nkeychain-access-groups=F.shared\n"
    with open(manifests / "credentials.conf", "a") as file:
        file.write(shared)
    (manifests / "other.conf").write_text(f"[Application]\nIdentity={other}\nName=other\n{shared}")
    return other


def call(device, resident, program, method, parameters):
    """Has the program call the keychain."""
    message = json.dumps({"method": f"io.touchstone.Keychain.{method}", "parameters": parameters})
    said = resident.run(program, "-S", "-c", CALL, device.socket, message)
    check("error" not in json.loads(said), said)


@with_device
def what_was_half_deleted_can_be_stored_and_erased(device, resident, person):
    """GC-3: the row is there and its password is not, as after a deletion that was cut off."""
    other = other_program(device)

    def lose_passwords():
        call(device, resident, other, "Delete", {"query": {"class": {"string": "genp"}, "svce": {"string": "io.touchstone.Credentials"}}})

    def docker(action, input=""):
        return resident.run(BRIDGES / "docker-credential-touchstone", action, input=input)

    # By who has it and by somebody else; the same password and another one.
    for password, settings in (("correct horse", {}), ("battery staple", {}), ("first of all", {"start_new_session": True})):
        git(resident, "credential", "approve", input=KEPT)
        lose_passwords()
        equal(helper(resident, "get", ASKED), "", "what is not there")
        git(resident, "credential", "approve", input=KEPT.replace("correct horse", password), **settings)
        check(password in git(resident, "credential", "fill", input=ASKED), f"{password} was not stored")
        lose_passwords()
        helper(resident, "erase", ASKED, **settings)
    docker("store", json.dumps({"ServerURL": "docker.io", "Username": "me", "Secret": "a"}))
    lose_passwords()
    docker("store", json.dumps({"ServerURL": "docker.io", "Username": "you", "Secret": "b"}))
    equal(json.loads(docker("list")), {"docker.io": "you"}, "the list with another user")
    lose_passwords()
    docker("erase", "docker.io")
    equal(json.loads(docker("list")), {}, "the list after the erasing")


@with_device
def an_account_goes_after_the_next_one_came(device, resident, person):
    """GC-3: docker keeps one account of a server; the old one goes when the new one is kept, and not before."""
    bridge = BRIDGES / "touchstone-credentials"

    def docker(action, input="", status=0):
        return resident.run(BRIDGES / "docker-credential-touchstone", action, input=input, status=status)

    def store(user, secret, status=0):
        docker("store", json.dumps({"ServerURL": "docker.io", "Username": user, "Secret": secret}), status)

    def kept():
        found = json.loads(docker("get", "docker.io"))
        equal(json.loads(docker("list")), {"docker.io": found["Username"]}, "the list")
        return found["Username"], found["Secret"]

    def rows():
        (use,) = json.loads(device.run("keychain", "quota", str(bridge), "--json").stdout)
        return use["used"]["items"]

    store("me", "first")
    device.run("keychain", "quota", str(bridge), "--size", "16KiB")
    store("you", "x" * 32768, 1)
    equal(kept(), ("me", "first"), "after a store for which there was no room")
    store("you", "second")
    equal((kept(), rows()), (("you", "second"), 2), "after a store for which there was room")


@with_device
def a_store_that_was_cut_off_leaves_the_new_account(device, resident, person):
    """GC-3: the old account is still there; the new one is given, and the next store takes the old one away."""
    def docker(action, input=""):
        return resident.run(BRIDGES / "docker-credential-touchstone", action, input=input)

    def store(user, secret):
        docker("store", json.dumps({"ServerURL": "docker.io", "Username": user, "Secret": secret}))

    other = other_program(device)

    def add(**attributes):
        kinds = {name: {"data": base64.b64encode(value).decode()} if isinstance(value, bytes) else {"string": value} for name, value in attributes.items()}
        call(device, resident, other, "Add", {"attributes": kinds | {"pdmn": {"string": "aku"}}})

    store("you", "second")
    add(**{"class": "genp", "svce": "io.touchstone.Credentials", "desc": "value", "acct": "old", "v_Data": b"first"})
    add(**{"class": "inet", "srvr": "docker.io", "desc": "docker", "acct": "me", "v_Data": b"old"})
    equal(json.loads(docker("get", "docker.io"))["Secret"], "second", "what is given")
    # Even if nothing else changes.
    store("you", "second")
    equal(json.loads(docker("list")), {"docker.io": "you"}, "the list after the next store")
    equal(json.loads(docker("get", "docker.io"))["Secret"], "second", "what is given then")
    docker("erase", "docker.io")
    equal(json.loads(docker("list")), {}, "the list after an erasing")


def a_device_that_knows_no_bridge_shows_the_client_as_a_claim():
    """Without a manifest there is no client to name: it is a claim in the reason."""
    with Device() as device:
        device.set_up("271828", "thumb")
        with Resident(device, is_bridge=False) as resident:
            person = Person(device)
            git(resident, "credential", "approve", input=KEPT)
            check("correct horse" in git(resident, "credential", "fill", input=ASKED), "nothing came back")
            check("git" in person.prompts[0]["reason"], person.prompts[0])
            check("an ordinary program" in resident.log, resident.log)


@with_device
def secrets_stay_out_of_files(device, resident, person):
    """A password is in no file, argument or variable."""
    git(resident, "credential", "approve", input=KEPT.replace("correct horse", "Xylophon-7731"))
    check("Xylophon-7731" in git(resident, "credential", "fill", input=ASKED), "nothing came back")
    for folder, _, names in os.walk(device.work):
        for name in names:
            path = os.path.join(folder, name)
            if os.path.isfile(path):
                with open(path, "rb") as file:
                    check(b"Xylophon-7731" not in file.read(), f"{path} has the password")
    for name in ("cmdline", "environ"):
        with open(f"/proc/{resident.process.pid}/{name}", "rb") as file:
            check(b"Xylophon-7731" not in file.read(), name)


@with_device
def what_a_request_needed_is_given_back(device, resident, person):
    """A moment after the last client left, code that was in use is not resident any more (DEC-401)."""

    def resident_pages():
        with open(f"/proc/{resident.process.pid}/statm") as file:
            return int(file.read().split()[1])

    def in_use_by(fill):
        """The most pages while it runs."""
        most = 0
        with concurrent.futures.ThreadPoolExecutor() as pool:
            filled = pool.submit(fill)
            while not filled.done():
                most = max(most, resident_pages())
                time.sleep(0.001)
            filled.result()
        return most

    git(resident, "credential", "approve", input=KEPT)
    # Until the start is over, and given back.
    time.sleep(3)
    in_use = max(in_use_by(lambda: git(resident, "credential", "fill", input=ASKED)) for _ in range(3))
    wait_for(lambda: resident_pages() < in_use * 3 // 4, f"fewer than {in_use} pages")
    check("correct horse" in git(resident, "credential", "fill", input=ASKED), "it does not answer any more")


main(
    git_keeps_a_password_and_the_owner_is_asked_for_it, an_orphan_is_not_shown_as_the_service_manager, nothing_is_given_out_without_the_finger,
    a_locked_device_and_no_agent_give_nothing, a_password_is_erased_by_who_knows_it, storing_over_a_password_asks,
    a_password_ends_when_its_server_says, what_is_malformed_is_refused, docker_speaks_to_its_helper,
    a_program_that_speaks_for_itself_is_shown_as_itself, what_was_half_deleted_can_be_stored_and_erased, an_account_goes_after_the_next_one_came,
    a_store_that_was_cut_off_leaves_the_new_account, a_device_that_knows_no_bridge_shows_the_client_as_a_claim,
    secrets_stay_out_of_files, what_a_request_needed_is_given_back)
