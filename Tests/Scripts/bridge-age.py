#!/usr/bin/env python3
"""Files encrypted with the real age 1.1.1 (Debian 12), and decrypted with a finger by age-plugin-touchstone."""

import base64
import os
import pathlib
import shutil
import subprocess

from bridges import BRIDGES, Person
from device import LONGEST_WAIT, Device, check, confirm, equal, is_alive, main, wait_for

PLUGIN = BRIDGES / "age-plugin-touchstone"
TEXT = b"the plan\n" * 10_000


class Age:
    """age, with the plugin of this build, on a device."""

    def __init__(self, device, is_bridge=True):
        self.device = device
        self.environment = device.environment | {"PATH": f"{BRIDGES}:{os.environ['PATH']}"}
        if is_bridge:
            manifests = device.state / "apps.d"
            manifests.mkdir(mode=0o700, exist_ok=True)
            (manifests / "age.conf").write_text(f"[Application]\nIdentity={PLUGIN}\nName=age's keys\nActsForClients=true\n")

    def run(self, *arguments, input=b"", status=0):
        done = subprocess.run([str(argument) for argument in arguments], env=self.environment, input=input, capture_output=True,
                              timeout=LONGEST_WAIT)
        check(status is None or done.returncode == status, f"{arguments}: exit {done.returncode}\n{done.stderr.decode()}")
        self.said = done.stderr.decode(errors="replace")
        return done.stdout

    def key(self, name="key.txt", *options):
        """An identity file, and its recipient."""
        file = self.device.work / name
        self.run(PLUGIN, "keygen", "-o", file, *options)
        return file, self.run(PLUGIN, "recipients", file).decode().strip()

    def encrypted(self, name, recipient, *others, text=TEXT):
        file = self.device.work / name
        file.write_bytes(self.run("age", *(word for one in (recipient, *others) for word in ("-r", one)), input=text))
        return file

    def decrypted(self, file, *identities, status=0):
        return self.run("age", "-d", *(word for one in identities for word in ("-i", one)), file, status=status)


class Conversation:
    """A client of the plugin, as age is one, that speaks about several files at once and sends grease."""

    def __init__(self, age, half="identity-v1"):
        self.process = subprocess.Popen([PLUGIN, f"--age-plugin={half}"], env=age.environment, stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def say(self, *arguments, body=b""):
        text = base64.b64encode(body).decode().rstrip("=")
        lines = [text[start:start + 64] for start in range(0, len(text) + 1, 64)]
        self.process.stdin.write(("-> " + " ".join(arguments) + "\n" + "\n".join(lines) + "\n").encode())
        self.process.stdin.flush()

    def hear(self):
        line = self.process.stdout.readline().decode()
        check(line.startswith("-> "), f"{line!r} {self.process.stderr.read().decode() if not line else ''}")
        text = ""
        while True:
            more = self.process.stdout.readline().decode().rstrip("\n")
            text += more
            if len(more) < 64:
                return line.split()[1:], base64.b64decode(text + "=" * (-len(text) % 4))

    def answers(self):
        """What the plugin says until it is done; each is answered with ok."""
        self.say("done")
        found = []
        while True:
            arguments, body = self.hear()
            if arguments == ["done"]:
                equal(self.process.wait(LONGEST_WAIT), 0, "exit status")
                return found
            if arguments[0] != "msg":
                found.append((arguments, body))
            self.say("ok")


def header(file):
    """The stanzas of a file."""
    stanzas = []
    for line in file.read_bytes().split(b"\n---")[0].decode().split("\n")[1:]:
        if line.startswith("-> "):
            stanzas.append((line.split()[1:], ""))
        else:
            stanzas[-1] = stanzas[-1][0], stanzas[-1][1] + line
    return [(arguments, base64.b64decode(text + "=" * (-len(text) % 4))) for arguments, text in stanzas]


def identity(file):
    return [line for line in file.read_text().split("\n") if line and not line.startswith("#")][0]


def with_age(body):
    """A device with a passcode and a finger, a person, and age."""

    def run():
        with Device() as device:
            device.set_up("271828", "thumb")
            body(device, Person(device), Age(device))

    run.__name__ = body.__name__
    run.__doc__ = body.__doc__
    return run


@with_age
def a_file_is_decrypted_with_the_finger(device, person, age):
    """AG-3, AG-4, AG-6, AG-8: encrypting asks nobody and needs no device; decrypting asks once, and says who wants it."""
    equal(age.run("age", "--version").decode().strip().lstrip("v"), "1.1.1", "the version of age that this was written for")
    file, recipient = age.key()
    check(recipient.startswith("age1touchstone1"), recipient)
    equal(oct(file.stat().st_mode & 0o777), "0o600", "the mode of the identity file")
    age.run(PLUGIN, "keygen", "-o", file, status=None)
    check("there already" in age.said, age.said)
    device.shutdown()
    text = age.encrypted("notes.age", recipient)
    check(b"plan" not in text.read_bytes(), "the text is readable")
    device.boot()
    device.run("device", "unlock", input="271828\n")
    person = Person(device)
    equal(age.decrypted(text, file), TEXT, "what was decrypted")
    equal(len(person.prompts), 1, "prompts")
    prompt = person.prompts[0]
    equal(prompt["reason"], "decrypt a file", "what for")
    equal(os.path.basename(prompt["client"]["identifier"]), "age", "who asks")
    equal(prompt["facts"], [{"kind": "recipient", "text": recipient}], "the facts")
    check("Touchstone asks" in age.said, age.said)
    # Each run asks: a second file is a second prompt.
    equal(age.decrypted(text, file), TEXT, "what was decrypted again")
    equal(len(person.prompts), 2, "prompts of two runs")
    # age encrypts to an identity, too.
    other = device.work / "other.age"
    other.write_bytes(age.run("age", "-e", "-i", file, input=b"short"))
    equal(age.decrypted(other, file), b"short", "a file that was encrypted to an identity")


@with_age
def several_files_take_one_prompt(device, person, age):
    """AG-2, AG-4: two files of one conversation, with grease between; a third one is somebody else's."""
    file, recipient = age.key()
    _, foreign = age.key("foreign.txt")
    client = Conversation(age)
    client.say("grease-4f", "x", body=b"\1\2\3")
    client.say("add-identity", identity(file))
    for number, (name, to) in enumerate((("a.age", recipient), ("b.age", recipient), ("c.age", foreign))):
        for arguments, body in header(age.encrypted(name, to)):
            client.say("recipient-stanza", str(number), *arguments, body=body)
        client.say("grease-9x")
    found = client.answers()
    equal([arguments for arguments, _ in found], [["file-key", "0"], ["file-key", "1"]], "the answers")
    equal([len(key) for _, key in found], [16, 16], "the keys")
    check(found[0][1] != found[1][1], "two files have one key")
    equal([prompt["reason"] for prompt in person.prompts], ["decrypt 2 files"], "the prompts")


@with_age
def only_what_is_for_the_key_asks(device, person, age):
    """AG-4: a file for others asks nobody; of several identities the right one is used, with one prompt."""
    file, recipient = age.key()
    other, second = age.key("second.txt")
    text = age.encrypted("notes.age", second)
    age.decrypted(text, file, status=1)
    check("no identity matched" in age.said, age.said)
    equal(person.asked(), 0, "prompts for a file of another key")
    equal(age.decrypted(text, file, other), TEXT, "with both identities")
    equal(person.asked(), 1, "prompts with both identities")
    # For both, and for a key without a plugin.
    plain = device.work / "plain.txt"
    age.run("age-keygen", "-o", plain)
    both = age.encrypted("both.age", recipient, second, age.run("age-keygen", "-y", plain).decode().strip())
    for one in (file, other, plain):
        equal(age.decrypted(both, one), TEXT, f"with {one.name}")
    equal(person.asked(), 2, "prompts of three identities, one of them without a plugin")


@with_age
def without_the_owner_nothing_is_decrypted(device, person, age):
    """AG-7: a cancel, a wrong finger, a locked device and no device end age, with a sentence; the finger does it."""
    file, recipient = age.key("key.txt", "--access-control", "any-biometry")
    text = age.encrypted("notes.age", recipient)
    person.answer = "cancel"
    equal(age.decrypted(text, file, status=1), b"", "what came out after a cancel")
    check("you cancelled it" in age.said, age.said)
    person.answer = "nothing"
    person.asked()
    process = subprocess.Popen(["age", "-d", "-i", file, text], env=age.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    wait_for(lambda: person.prompts, "the prompt")
    confirm(device, {"prompt": person.prompts[0]})
    owner = device.client("Device")

    def missed():
        if process.poll() is None:
            owner.PresentFinger(finger="stranger")
        return process.poll() is not None

    wait_for(missed, "the end of age after wrong fingers")
    out, error = process.communicate()
    equal((process.returncode, out), (1, b""), "age after wrong fingers")
    check(b"did not match" in error or b"cancelled" in error, error)
    # The passcode ends a lockout; then the finger is enough.
    device.run("device", "lock")
    device.run("device", "unlock", input="271828\n")
    person.answer = "finger"
    equal(age.decrypted(text, file), TEXT, "with the finger")
    device.shutdown()
    age.decrypted(text, file, status=1)
    check("start the device" in age.said, age.said)


@with_age
def a_key_is_of_use_to_its_program_and_device_alone(device, person, age):
    """AG-5: another program has the identity and cannot use it, nor can this one on another device."""
    file, recipient = age.key()
    text = age.encrypted("notes.age", recipient)
    elsewhere = device.work / "elsewhere"
    elsewhere.mkdir()
    shutil.copy(PLUGIN, elsewhere)
    mine = age.environment
    age.environment = mine | {"PATH": f"{elsewhere}:{os.environ['PATH']}"}
    age.decrypted(text, file, status=1)
    check("not on this device" in age.said, age.said)
    equal(person.asked(), 0, "prompts for another program")
    age.environment = mine
    with Device("other") as other:
        other.set_up("314159", "thumb")
        age.environment = mine | {name: other.environment[name] for name in other.environment if "TOUCHSTONE" in name or "XDG" in name}
        age.decrypted(text, file, status=1)
        check("not a key of this device" in age.said or "not on this device" in age.said, age.said)
    age.environment = mine
    equal(age.decrypted(text, file), TEXT, "its own program, on its own device")


@with_age
def a_client_that_ends_takes_its_prompt_down(device, person, age):
    """BR-28: age is killed while the prompt is up."""
    file, recipient = age.key()
    text = age.encrypted("notes.age", recipient)
    person.answer = "nothing"
    process = subprocess.Popen(["age", "-d", "-i", file, text], env=age.environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    wait_for(lambda: person.prompts, "the prompt")
    # age is Go: any of its threads may have started the plugin.
    threads = pathlib.Path(f"/proc/{process.pid}/task").glob("*/children")
    plugin, = (int(child) for children in threads for child in children.read_text().split())
    process.kill()
    process.wait(LONGEST_WAIT)
    wait_for(lambda: not is_alive(plugin), "the end of the plugin")
    # The next one has its own prompt, at once: the old one is gone.
    person.asked()
    person.answer = "finger"
    equal(age.decrypted(text, file), TEXT, "after it")
    equal(person.asked(), 1, "prompts")


@with_age
def what_is_malformed_is_refused(device, person, age):
    """AG-2, AG-3: unknown halves, stanzas that are none, and headers that are wrong; nobody is asked."""
    file, recipient = age.key()
    age.run(PLUGIN, "--age-plugin=identity-v9", status=1)
    for half in ("identity-v1", "recipient-v1"):
        for text in (b"", b"-> done", b"nonsense\n", b"-> a  b\n\n-> done\n\n", b"-> a\n" + b"A" * 65 + b"\n\n", b"-> add-identity\n\n",
                     b"-> a\nAA==\n-> done\n\n", b"-> " + b"a" * 70_000 + b"\n\n", b"\0" * 1000, b"-> x\n\n" * 200_000):
            equal(age.run(PLUGIN, f"--age-plugin={half}", input=text, status=1), b"", f"the answer to {text[:40]!r}")
    age.run("age", "-r", recipient[:-1] + ("q" if recipient[-1] != "q" else "p"), input=b"text", status=1)
    stanza = header(age.encrypted("notes.age", recipient))[0]
    for arguments, body in ((stanza[0] + ["more"], stanza[1]), (stanza[0], stanza[1][:-1]), (stanza[0][:2], stanza[1])):
        client = Conversation(age)
        client.say("add-identity", identity(file))
        client.say("recipient-stanza", "0", *arguments, body=body)
        equal([found for found, _ in client.answers()], [["error", "stanza", "0", "0"]], f"the answer to {arguments}")
    equal(person.asked(), 0, "prompts")


@with_age
def each_access_control_is_the_keys(device, person, age):
    """AG-5: the words of age-plugin-se; `none` asks nobody, all others ask."""
    for word, prompts in (("none", 0), ("passcode", 1), ("any-biometry", 1), ("any-biometry-or-passcode", 1), ("any-biometry-and-passcode", 1),
                          ("current-biometry", 1), ("current-biometry-and-passcode", 1)):
        file, recipient = age.key(f"{word}.txt", "--access-control", word)
        check(f"# access control: {word}\n" in file.read_text(), file.read_text())
        text = age.encrypted(f"{word}.age", recipient)
        if word.endswith("-and-passcode") or word == "passcode":
            person.answer = "cancel"
            age.decrypted(text, file, status=1)
        else:
            person.answer = "finger"
            equal(age.decrypted(text, file), TEXT, word)
        equal(person.asked() > 0, prompts > 0, f"prompts of {word}")
    age.run(PLUGIN, "keygen", "--access-control", "everybody", status=64)


main(
    a_file_is_decrypted_with_the_finger, several_files_take_one_prompt, only_what_is_for_the_key_asks,
    without_the_owner_nothing_is_decrypted, a_key_is_of_use_to_its_program_and_device_alone, a_client_that_ends_takes_its_prompt_down,
    what_is_malformed_is_refused, each_access_control_is_the_keys)
