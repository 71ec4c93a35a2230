#!/usr/bin/env python3
"""Passphrases of gpg's keys: the real gpg, gpg-agent and pass; typed once in an ordinary pinentry, then released by a finger."""

import json
import os
import select
import socket
import subprocess

from bridges import BRIDGES, with_device
from device import LONGEST_WAIT, check, confirm, equal, is_alive, main, wait_for

PINENTRY = BRIDGES / "pinentry-touchstone"
PASSPHRASE = "correct horse 1%2"
OTHER = "battery staple 3"
KEYGRIP = "FBA64A015D759D0C719996BB819993C8922FE9C5"

# A pinentry that types what a file says: a line for each question, and cancels where none is left.
ORDINARY = '''#!/usr/bin/python3
import sys
work, out = sys.argv[1], sys.stdout.buffer
def say(line):
    out.write(line + b"\\n")
    out.flush()
say(b"OK ready")
for line in sys.stdin.buffer:
    line = line.rstrip(b"\\n")
    with open(work + "/said", "ab") as file:
        file.write(line + b"\\n")
    if line in (b"GETPIN", b"CONFIRM"):
        with open(work + "/answers") as file:
            first, *rest = file.read().split("\\n")
        with open(work + "/answers", "w") as file:
            file.write("\\n".join(rest))
        if not first:
            say(b"ERR 83886179 Operation cancelled <Pinentry>")
            continue
        if line == b"GETPIN":
            say(b"D " + first.replace("%", "%25").encode())
    say(b"OK")
'''


class GPG:
    """A home of gpg's with pinentry-touchstone, and somebody who types."""

    def __init__(self, device, resident, *options):
        self.resident, self.work = resident, device.work
        self.home = device.work / "gnupg"
        self.home.mkdir(mode=0o700)
        for name in ("answers", "said"):
            (self.work / name).write_text("")
        (self.work / "ordinary.py").write_text(ORDINARY)
        self.script("ordinary", f"exec /usr/bin/python3 {self.work}/ordinary.py {self.work}")
        self.script("pinentry", f'exec {PINENTRY} --fallback {self.work}/ordinary "$@"')
        lines = [f"pinentry-program {self.work}/pinentry", "default-cache-ttl 0", "max-cache-ttl 0", *options]
        (self.home / "gpg-agent.conf").write_text("\n".join(lines) + "\n")
        resident.environment["GNUPGHOME"] = str(self.home)
        resident.environment["LC_ALL"] = "C.UTF-8"

    def script(self, name, line):
        (self.work / name).write_text(f"#!/bin/sh\n{line}\n")
        (self.work / name).chmod(0o755)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.resident.run("gpgconf", "--kill", "gpg-agent", status=None)

    def end_agent(self):
        """Until it is gone: one that ends still takes connections, and closes them."""
        said = self.resident.run("gpg-connect-agent", "GETINFO pid", "/bye")
        agent = int(said.split()[1])
        self.resident.run("gpgconf", "--kill", "gpg-agent")
        wait_for(lambda: not is_alive(agent), "gpg-agent to end")

    def type(self, *answers):
        (self.work / "answers").write_text("\n".join(answers))
        (self.work / "said").write_text("")

    @property
    def said(self):
        """What the ordinary pinentry was told since something was typed."""
        return (self.work / "said").read_text()

    def gpg(self, *arguments, **settings):
        return self.resident.run("gpg", "--batch", "--yes", "--quiet", *arguments, **settings)

    def sign(self, **settings):
        self.gpg("--detach-sign", "--output", self.work / "signature", input="a text", **settings)
        if settings.get("status", 0) == 0:
            self.gpg("--verify", self.work / "signature", "-", input="a text")

    def make_key(self, usage="sign"):
        """With a passphrase; a key that signs does so once, for which it is typed, and then kept.

        Not in a dialog: gpg-agent remembers that passphrase within the same second, so that it asks for it once more only sometimes.
        """
        kind = "ed25519" if usage == "sign" else "future-default"
        self.gpg("--pinentry-mode", "loopback", "--passphrase", PASSPHRASE, "--quick-gen-key", "Ann <ann@example.org>", kind, usage, "never")
        if usage == "sign":
            self.type(PASSPHRASE)
            self.sign()


def call(resident, method, **item):
    """The socket of touchstone-credentials, as any program can speak to it."""
    connection = socket.socket(socket.AF_UNIX)
    connection.settimeout(LONGEST_WAIT)
    connection.connect(str(resident.socket))
    request = {"method": f"io.touchstone.Credentials.{method}", "parameters": {"item": {"kind": "gpg", "place": "", **item}}}
    connection.sendall(json.dumps(request).encode() + b"\0")
    reply = b""
    while not reply.endswith(b"\0"):
        more = connection.recv(65536)
        check(more, "no answer")
        reply += more
    connection.close()
    return json.loads(reply[:-1])["parameters"]


def kept(resident):
    return [item["place"] for item in call(resident, "List").get("items", [])]


def one_is_kept(resident):
    wait_for(lambda: len(kept(resident)) == 1, "the passphrase to be kept")
    return kept(resident)[0]


@with_device
def a_passphrase_is_typed_once_and_then_released_by_the_finger(device, resident, person):
    """PE-1, PE-2, PE-3, PE-6."""
    with GPG(device, resident) as gpg:
        gpg.make_key()
        keygrip = one_is_kept(resident)
        check(keygrip in resident.run("gpg", "--list-secret-keys", "--with-keygrip"), "the keygrip")
        check("Touchstone will keep the passphrase." in gpg.said, gpg.said)
        check("external-password-cache" not in gpg.said and "SETKEYINFO" not in gpg.said, gpg.said)
        equal(person.asked(), 0, "prompts so far")
        gpg.type()
        for _ in range(2):
            gpg.sign()
            prompt = person.prompts[0]
            equal(person.asked(), 1, "prompts of a signature")
        equal(gpg.said, "", "what the ordinary pinentry was told")
        equal(os.path.basename(prompt["client"]["identifier"]), "gpg-agent", "who asks")
        equal(prompt["reason"], "read the passphrase of gpg's key “Ann <ann@example.org>”", "what for")
        facts = {fact["kind"]: fact["text"] for fact in prompt["facts"]}
        equal(facts, {"item": f"keygrip {keygrip}", "account": "Ann <ann@example.org>"}, "the facts")
        check(PASSPHRASE not in resident.log + json.dumps(prompt), "the passphrase was told")


@with_device
def without_the_owner_an_ordinary_pinentry_asks(device, resident, person):
    """PE-3, PE-6: a wrong finger, a cancel, a locked device, no touchstone-credentials."""
    with GPG(device, resident) as gpg:
        gpg.make_key()
        one_is_kept(resident)
        # Fingers that match nobody's; then the one that does.
        person.answer = "nothing"
        arguments = ["gpg", "--batch", "--yes", "--quiet", "--detach-sign", "--output", str(gpg.work / "signature")]
        process = subprocess.Popen(arguments, env=resident.environment, stdin=subprocess.PIPE)
        process.stdin.write(b"a text")
        process.stdin.close()
        prompt = person.told.get(timeout=LONGEST_WAIT)
        confirm(device, {"prompt": prompt})
        gpg.type()
        for _ in range(2):
            device.client("Device").PresentFinger(finger=None)
        equal((process.poll(), gpg.said), (None, ""), "gpg, after a wrong finger")
        device.client("Device").PresentFinger(finger="thumb")
        equal(process.wait(LONGEST_WAIT), 0, "gpg, after the right one")
        person.asked()
        gpg.type()
        person.answer = "cancel"
        gpg.sign(status=2)
        check("You cancelled Touchstone's prompt." in gpg.said, gpg.said)
        equal(person.asked(), 1, "prompts")
        # A person who knows the passphrase needs no device.
        resident.environment["TOUCHSTONE_CREDENTIALS"] = str(gpg.work / "nobody")
        gpg.end_agent()
        gpg.type(PASSPHRASE)
        gpg.sign()
        check("Touchstone cannot unlock it: Touchstone cannot ask you" in gpg.said, gpg.said)
        gpg.type()
        gpg.sign(status=2)
        equal(person.asked(), 0, "prompts without touchstone-credentials")


@with_device
def a_passphrase_that_gpg_refuses_is_forgotten(device, resident, person):
    """PE-4."""
    with GPG(device, resident) as gpg:
        gpg.make_key()
        keygrip = one_is_kept(resident)
        # To change it gpg-agent wants the old one typed, too: it does not name the key.
        gpg.type(PASSPHRASE, OTHER, OTHER)
        gpg.gpg("--change-passphrase", "ann@example.org")
        equal(person.asked(), 0, "prompts for a change")
        # What is typed wrong after that is not kept either.
        gpg.type("wrong 1", "wrong 2")
        gpg.sign(status=2)
        check("The passphrase that Touchstone kept is wrong, and is forgotten." in gpg.said, gpg.said)
        check("SETERROR Bad Passphrase" in gpg.said, gpg.said)
        equal(person.asked(), 1, "prompts of a signature")
        equal(kept(resident), [], "what is kept")
        gpg.type("wrong 1", OTHER)
        gpg.sign()
        equal(person.asked(), 0, "prompts when nothing is kept")
        gpg.type(OTHER)
        gpg.sign()
        equal(one_is_kept(resident), keygrip, "what is kept")
        gpg.type()
        gpg.sign()
        equal((person.asked(), gpg.said), (1, ""), "prompts of the new one")


@with_device
def nothing_is_kept_where_gpg_agent_does_not_allow_it(device, resident, person):
    """PE-2."""
    with GPG(device, resident, "no-allow-external-cache") as gpg:
        gpg.make_key()
        gpg.type(PASSPHRASE)
        gpg.sign()
        check("Touchstone" not in gpg.said, gpg.said)
        # What is encrypted with a passphrase alone is no key's.
        gpg.type(PASSPHRASE, PASSPHRASE)
        gpg.gpg("--symmetric", "--output", gpg.work / "encrypted", input="a text")
        equal((kept(resident), person.asked()), ([], 0), "what is kept")


@with_device
def pass_shows_a_password_after_the_finger(device, resident, person):
    """PE-1."""
    with GPG(device, resident) as gpg:
        gpg.make_key("default")
        resident.environment["PASSWORD_STORE_DIR"] = str(gpg.work / "store")
        resident.run("pass", "init", "ann@example.org")
        resident.run("pass", "insert", "--multiline", "mail", input="hunter2\n")
        before = len(kept(resident))
        gpg.type(PASSPHRASE)
        equal(resident.run("pass", "show", "mail"), "hunter2\n", "the password, with a passphrase that was typed")
        wait_for(lambda: len(kept(resident)) == before + 1, "the passphrase to be kept")
        person.asked()
        gpg.type()
        equal(resident.run("pass", "show", "mail"), "hunter2\n", "the password, with a finger")
        equal((person.asked(), gpg.said), (1, ""), "prompts")
        person.answer = "cancel"
        resident.run("pass", "show", "mail", status=2)


# A program without rights of its own, so that the kernel shows it only what it shows to any program of the user.
PLAIN = ["setpriv", "--inh-caps=-all", "--ambient-caps=-all", "--bounding-set=-all"] if os.getuid() == 0 else []


def can_be_looked_into(process):
    return subprocess.run([*PLAIN, "readlink", f"/proc/{process.pid}/exe"], stdout=subprocess.DEVNULL,
                          stderr=subprocess.DEVNULL, timeout=LONGEST_WAIT).returncode == 0


class Talk:
    """pinentry-touchstone without gpg-agent: whoever started it says what they want."""

    def __init__(self, resident):
        self.process = subprocess.Popen(
            [*PLAIN, PINENTRY, "--fallback", "/bin/false"], env=resident.environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)
        equal(self.line(), b"OK Pleased to meet you", "the greeting")

    def line(self):
        check(select.select([self.process.stdout], [], [], LONGEST_WAIT)[0], "pinentry-touchstone says nothing")
        return self.process.stdout.readline().rstrip(b"\n")

    def send(self, line):
        rest = line + b"\n"
        while rest:
            rest = rest[self.process.stdin.write(rest):]

    def say(self, line, expected=b"OK"):
        self.send(line)
        check(self.line().startswith(expected), f"the answer to {line[:50]!r}")

    def ask(self):
        for line in (b"OPTION allow-external-password-cache", b"SETKEYINFO n/" + KEYGRIP.encode(), b"SETDESC %22Ann%22"):
            self.say(line)
        self.send(b"GETPIN")

    def end(self):
        self.process.stdin.close()
        equal(self.process.wait(LONGEST_WAIT), 0, "the end")
        self.process.stdout.close()


def store(resident):
    item = {"kind": "gpg", "place": KEYGRIP, "account": "Ann"}
    connection = socket.socket(socket.AF_UNIX)
    connection.settimeout(LONGEST_WAIT)
    connection.connect(str(resident.socket))
    parameters = {"item": item, "secret": "c3dvcmRmaXNo"}
    connection.sendall(json.dumps({"method": "io.touchstone.Credentials.Store", "parameters": parameters}).encode() + b"\0")
    check(b"error" not in connection.recv(65536), "the storing")
    connection.close()


@with_device
def other_programs_get_nothing_without_the_owner(device, resident, person):
    """PE-6, PE-7: neither by the socket nor by the program, whose memory is closed when it has a passphrase."""
    store(resident)
    person.answer = "nothing"
    talk = Talk(resident)
    talk.ask()
    prompt = person.told.get(timeout=LONGEST_WAIT)
    check("python" in prompt["client"]["identifier"], f"who asks: {prompt}")
    check(can_be_looked_into(talk.process), "before the answer")
    confirm(device, {"prompt": prompt})
    device.client("Device").PresentFinger(finger="thumb")
    equal((talk.line(), talk.line()), (b"D swordfish", b"OK"), "the passphrase")
    check(not can_be_looked_into(talk.process), "it is open after the answer")
    talk.send(b"BYE")
    talk.end()
    person.asked()
    # Cancelled last: for ten seconds the same question is refused without a prompt.
    person.answer = "cancel"
    equal(call(resident, "Get", place=KEYGRIP), {"result": "cancelled"}, "what another program gets")
    check("python" in person.prompts[0]["client"]["identifier"], person.prompts[0])
    equal(person.asked(), 1, "prompts")
    call(resident, "Erase", place=KEYGRIP)
    equal((person.asked(), kept(resident)), (1, [KEYGRIP]), "a forgetting that the owner refused")


@with_device
def whoever_leaves_takes_the_prompt_along(device, resident, person):
    """PE-6."""
    store(resident)
    person.answer = "nothing"
    talk = Talk(resident)
    talk.ask()
    person.told.get(timeout=LONGEST_WAIT)
    talk.end()
    # The next one is asked at once: the prompt of the first one is gone.
    person.answer = "finger"
    talk = Talk(resident)
    talk.ask()
    equal(talk.line(), b"D swordfish", "the passphrase of the next one")
    talk.end()


@with_device
def hostile_lines_are_refused_and_others_still_answered(device, resident, person):
    """PE-5."""
    talk = Talk(resident)
    talk.say(b"x" * 100_000, b"ERR 83886343")
    talk.say(b"EXEC /bin/sh", b"ERR 83886355")
    talk.say(b"SETDESC \0", b"ERR 83886356")
    talk.say(b"SETDESC %zz%")
    talk.say(b"SETKEYINFO n/" + b"A" * 900)
    # Without an ordinary pinentry there is an error, and no silence.
    talk.say(b"GETPIN", b"ERR 838860")
    talk.say(b"CONFIRM", b"ERR 838860")
    talk.say(b"NOP")
    talk.end()
    equal(person.asked(), 0, "prompts")


main(
    a_passphrase_is_typed_once_and_then_released_by_the_finger, without_the_owner_an_ordinary_pinentry_asks,
    a_passphrase_that_gpg_refuses_is_forgotten, nothing_is_kept_where_gpg_agent_does_not_allow_it,
    pass_shows_a_password_after_the_finger, other_programs_get_nothing_without_the_owner, whoever_leaves_takes_the_prompt_along,
    hostile_lines_are_refused_and_others_still_answered)
