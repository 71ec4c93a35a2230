#!/usr/bin/env python3
"""touchstone-ssh-agent with OpenSSH's own programs, with git, and with programs that want a signature without the owner.

Written for OpenSSH 9.2 and git 2.39. sshd runs on loopback in a mount namespace of its own.
"""

import contextlib
import functools
import os
import pathlib
import shlex
import shutil
import signal
import socket
import struct
import subprocess
import sys
import threading
import time

from completing import completions
from device import LONGEST_WAIT, REPOSITORY, Device, check, confirm, equal, main, wait_for
from sshserver import SSHD, Server

BRIDGES = pathlib.Path(os.environ.get("TOUCHSTONE_BRIDGES_BIN", REPOSITORY / ".build/debug")).resolve()
FINGER = "thumb"
for program in ("touchstone-ssh-agent", "touchstone-ssh"):
    if not os.access(BRIDGES / program, os.X_OK):
        sys.exit(f"{BRIDGES / program} is not there: run make bridges")


class Owner:
    """A person: sees each prompt, and does what `act` says of it: touches the sensor, cancels, or leaves it alone.

    `act` is one of these words, or says it of a prompt.
    """

    def __init__(self, device):
        self.device, self.prompts, self.act = device, [], "touch"
        self.dismissed = 0
        self.events = device.client("Agent").Subscribe(_more=True)
        equal(next(self.events)["event"], "ready", "the first event")
        threading.Thread(target=self.run, daemon=True).start()

    def run(self):
        with contextlib.suppress(Exception):
            for event in self.events:
                if event["event"] == "show":
                    self.prompts.append(event["prompt"])
                    act = self.act(event["prompt"]) if callable(self.act) else self.act
                    if act == "touch":
                        confirm(self.device, event)
                        self.device.client("Device").PresentFinger(finger=FINGER)
                    elif act == "cancel":
                        self.device.client("Agent").Cancel(prompt=event["prompt"]["identifier"])
                    else:
                        confirm(self.device, event)
                elif event["event"] == "dismissed":
                    self.dismissed += 1

    def took(self, body, act="touch"):
        """What `body` returns, and the prompts that it took."""
        self.act, before = act, len(self.prompts)
        return body(), self.prompts[before:]


class Bench:
    """A device with a finger, the agent, and its keys."""

    def __init__(self, device):
        self.device = device
        self.socket = device.work / "agent.sock"
        apps = device.state / "apps.d"
        apps.mkdir(mode=0o700, exist_ok=True)
        manifest = apps / "touchstone-ssh-agent.conf"
        manifest.write_text(
            f"[Application]\nIdentity={BRIDGES / 'touchstone-ssh-agent'}\nName=ssh agent\nActsForClients=true\n")
        manifest.chmod(0o600)
        self.environment = device.environment | {
            "SSH_AUTH_SOCK": str(self.socket), "GIT_CONFIG_NOSYSTEM": "1", "LC_ALL": "C.UTF-8",
            "GIT_AUTHOR_NAME": "Ann", "GIT_AUTHOR_EMAIL": "ann@example.org", "GIT_COMMITTER_NAME": "Ann",
            "GIT_COMMITTER_EMAIL": "ann@example.org"}
        self.owner = Owner(device)
        self.agent = subprocess.Popen(
            [str(BRIDGES / "touchstone-ssh-agent"), "--socket", str(self.socket)], env=device.environment,
            stdout=subprocess.PIPE, stderr=open(device.work / "agent.log", "wb"), text=True)
        check(self.agent.stdout.readline().startswith("ready: "), "the agent's first line")

    @property
    def log(self):
        return (self.device.work / "agent.log").read_text()

    def run(self, *command, input=None, status=0, cwd=None, timeout=LONGEST_WAIT):
        result = subprocess.run(
            [str(word) for word in command], env=self.environment, input=input, text=True, capture_output=True,
            timeout=timeout, cwd=cwd or self.device.work)
        if status is not None:
            equal(result.returncode, status, f"{command}: {result.stdout}{result.stderr}\n{self.log}")
        return result

    def ssh(self, *arguments, **options):
        return self.run(BRIDGES / "touchstone-ssh", *arguments, **options)

    def make(self, name, *arguments, reuse=None):
        """A key; returns its public half's file."""
        self.ssh("create", name, *arguments)
        if reuse is not None:
            self.ssh("set", name, "--login-reuse", reuse)
        return self.device.work / f"config/touchstone/ssh/{name}.pub"

    def connect(self):
        connection = socket.socket(socket.AF_UNIX)
        connection.settimeout(LONGEST_WAIT)
        connection.connect(str(self.socket))
        return connection

    def clear(self):
        """No keys: a server counts those that it does not know."""
        for line in self.run("ssh-add", "-L", status=None).stdout.splitlines():
            if line.startswith("ecdsa-sha2-nistp256 "):
                self.ssh("remove", line.split()[2])

    def close(self):
        self.agent.send_signal(signal.SIGTERM)
        equal(self.agent.wait(LONGEST_WAIT), 0, "the agent's end by SIGTERM")
        check(not self.socket.exists(), "the socket is removed")


def string(data):
    return struct.pack(">I", len(data)) + data


def ask(connection, message):
    """One request; returns the answer's type and body."""
    connection.sendall(string(message))

    def read(count):
        data = b""
        while len(data) < count:
            more = connection.recv(count - len(data))
            if not more:
                raise ConnectionError("closed")
            data += more
        return data

    answer = read(struct.unpack(">I", read(4))[0])
    return answer[0], answer[1:]


def sign_request(blob, data):
    return b"\x0d" + string(blob) + string(data) + bytes(4)


def blob_of(file):
    import base64
    return base64.b64decode(file.read_text().split()[1])


def message(namespace):
    return b"SSHSIG" + string(namespace) + string(b"") + string(b"sha512") + string(b"7" * 64)


def keys_are_made_listed_and_removed(bench):
    # SA-21.
    file = bench.make("laptop")
    line = file.read_text().strip()
    equal(bench.run("ssh-add", "-L").stdout.strip(), line, "ssh-add -L")
    check("(ECDSA)" in bench.run("ssh-add", "-l").stdout, "ssh-add -l")
    check(line in bench.ssh("list").stdout, "touchstone-ssh list")
    offered = completions(
        BRIDGES / "touchstone-ssh", "touchstone-ssh", "remove", "--socket", str(bench.socket), "lap", environment=bench.device.environment)
    equal(offered, ["laptop"], "what the Tab key offers after touchstone-ssh remove")
    bench.ssh("create", "laptop", status=1)
    bench.ssh("remove", "laptop")
    equal(bench.run("ssh-add", "-L", status=1).stdout.strip(), "The agent has no identities.", "after removal")
    check(not file.exists(), "the public half is removed")
    bench.ssh("remove", "laptop", status=1)
    # Of another device's key, which is still in use.
    file.write_text("another\n")
    check("another key" in bench.ssh("create", "laptop", status=1).stderr, "a file that is there")
    equal(file.read_text(), "another\n", "the file")
    file.unlink()


def the_agent_is_locked_with_a_word(bench):
    # SA-2: ssh-add -x and -X.
    bench.make("locked")
    def typed(option, word, status):
        script = bench.device.work / "askpass"
        script.write_text(f"#!/bin/sh\necho {word}\n")
        script.chmod(0o700)
        bench.environment |= {"SSH_ASKPASS": str(script), "SSH_ASKPASS_REQUIRE": "force"}
        bench.run("ssh-add", option, status=status)
    typed("-x", "word", 0)
    bench.run("ssh-add", "-L", status=1)
    typed("-X", "other", 1)
    bench.run("ssh-add", "-L", status=1)
    typed("-X", "word", 0)
    check("locked" in bench.run("ssh-add", "-L").stdout, "unlocked")
    # SA-2: keys are not taken away, and none is taken in.
    bench.run("ssh-add", "-D", status=1)
    check("locked" in bench.run("ssh-add", "-L").stdout, "still there")
    bench.ssh("remove", "locked")


def messages_are_signed_with_the_finger(bench):
    # SA-20, SA-35: the prompt names ssh-keygen; without the finger there is no signature.
    file = bench.make("signer")
    text = bench.device.work / "text"
    text.write_text("to be signed\n")
    allowed = bench.device.work / "allowed"
    allowed.write_text(f"ann@example.org {file.read_text()}")
    sign = functools.partial(bench.run, "ssh-keygen", "-Y", "sign", "-f", file, "-n", "file", text)
    _, prompts = bench.owner.took(sign)
    equal(len(prompts), 1, "prompts")
    prompt = prompts[0]
    # ND-1: who asks is ssh-keygen, as touchstoned sees it.
    equal(prompt["client"]["identifier"], shutil.which("ssh-keygen"), "who asks")
    equal({"kind": "namespace", "text": "file"} in prompt["facts"], True, f"the facts {prompt['facts']}")
    verify = ("ssh-keygen", "-Y", "verify", "-f", allowed, "-I", "ann@example.org", "-n", "file", "-s", f"{text}.sig")
    check("Good \"file\" signature" in bench.run(*verify, input=text.read_text()).stdout, "the signature")
    bench.run(*verify, input="something else\n", status=255)
    # Another namespace is refused without a prompt (SA-15, SA-22).
    os.unlink(f"{text}.sig")
    _, prompts = bench.owner.took(lambda: bench.run("ssh-keygen", "-Y", "sign", "-f", file, "-n", "mail", text, status=255))
    equal(prompts, [], "prompts for another namespace")
    began = time.monotonic()
    _, prompts = bench.owner.took(lambda: sign(status=255), "cancel")
    equal(len(prompts), 1, "prompts of the cancelled one")
    check(not os.path.exists(f"{text}.sig"), "no signature")
    # BR-29: again at once, and the owner is not asked again.
    result, prompts = bench.owner.took(lambda: sign(status=None))
    # The device asks again after 10 seconds.
    if time.monotonic() - began < 8:
        equal((result.returncode, prompts), (255, []), "right after a cancel")


def commits_are_signed(bench):
    file = bench.make("commits")
    repository = bench.device.work / "repository"
    git = functools.partial(bench.run, "git", "-C", repository)
    bench.run("git", "init", "-q", repository)
    allowed = bench.device.work / "allowed-commits"
    allowed.write_text(f"ann@example.org {file.read_text()}")
    for key, value in (
            ("gpg.format", "ssh"), ("user.signingkey", file), ("gpg.ssh.allowedSignersFile", allowed)):
        git("config", key, value)
    _, prompts = bench.owner.took(lambda: git("commit", "-q", "--allow-empty", "-S", "-m", "one"))
    equal(len(prompts), 1, "prompts")
    check("sign a commit" in prompts[0]["reason"], prompts[0]["reason"])
    check("Good \"git\" signature" in git("verify-commit", "HEAD").stderr, "git verify-commit")
    _, prompts = bench.owner.took(lambda: git("commit", "-q", "--allow-empty", "-S", "-m", "two", status=128), "cancel")
    equal(len(prompts), 1, "prompts of the cancelled one")
    equal(git("log", "--format=%s").stdout, "one\n", "the log")


def logins_take_the_finger(bench):
    file = bench.make("login")
    with Server(bench, "sshd-one") as server:
        server.authorized.write_text(file.read_text())
        # SA-10, SA-14: bound to the host whose key signed.
        began = time.monotonic()
        result, prompts = bench.owner.took(server.login)
        equal((result.stdout, len(prompts)), ("in\n", 1), f"the login {bench.log}")
        check("sign in to" in prompts[0]["reason"] and "root" in prompts[0]["reason"], prompts[0]["reason"])
        kinds = {fact["kind"]: fact["text"] for fact in prompts[0]["facts"]}
        check(kinds["hostKey"].startswith("SHA256:"), kinds)
        check(kinds["hostKey"].endswith(", checked, named by its command line"), kinds)
        equal(kinds["host"], f"“{server.address}”", "the host as it is claimed")
        # SA-22, BR-25: the same again within 30 seconds is not asked again; SA-16: the host is known by now.
        result, prompts = bench.owner.took(server.login)
        equal(result.stdout, "in\n", "the login after it")
        if time.monotonic() - began < 30:
            equal(prompts, [], "prompts of the login after it")
        bench.ssh("set", "login", "--login-reuse", "0")
        result, prompts = bench.owner.took(server.login)
        equal((result.stdout, len(prompts)), ("in\n", 1), "the login without reuse")
        kinds = {fact["kind"]: fact["text"] for fact in prompts[0]["facts"]}
        equal(kinds["host"], server.address, "the host as it is recorded")
        check("checked, known since" in kinds["hostKey"], kinds)
        # ND-3, BR-26, SA-32: eight at once, each asked for, and none fails.
        def eight():
            processes = [subprocess.Popen(
                [str(word) for word in server.command("echo", "in")], env=bench.environment, stdout=subprocess.PIPE,
                stderr=subprocess.PIPE, text=True) for _ in range(8)]
            return [process.communicate(timeout=LONGEST_WAIT) + (process.returncode,) for process in processes]

        results, prompts = bench.owner.took(eight)
        equal([result[0] for result in results], ["in\n"] * 8, f"eight at once: {results} {bench.log}")
        equal(len(prompts), 8, "prompts of eight without reuse")
        # BR-26: with reuse they are one prompt.
        bench.ssh("set", "login", "--login-reuse", "60")
        results, prompts = bench.owner.took(eight)
        equal([result[0] for result in results], ["in\n"] * 8, f"eight at once: {results} {bench.log}")
        equal(len(prompts), 1, "prompts of eight with reuse")
        bench.ssh("set", "login", "--login-reuse", "0")
        # And the twin: the owner says no, and nobody gets in.
        result, prompts = bench.owner.took(lambda: server.login(status=255), "cancel")
        equal(len(prompts), 1, "prompts of the refused login")
        check("Permission denied" in result.stderr, result.stderr)
        # BR-28: a client that leaves takes its prompt with it. Another key, since the last one was just refused.
        server.authorized.write_text(bench.make("left").read_text())
        bench.owner.act, before = "leave", len(bench.owner.prompts)
        bench.ssh("remove", "login")
        client = subprocess.Popen(
            [str(word) for word in server.command("echo", "in")], env=bench.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        wait_for(lambda: len(bench.owner.prompts) > before, "the prompt")
        dismissed = bench.owner.dismissed
        client.kill()
        client.communicate()
        wait_for(lambda: bench.owner.dismissed > dismissed, "the prompt is taken down")
        bench.owner.act = "touch"


def a_refused_key_is_followed_by_the_next(_):
    """SA-31: ssh is told that the agent refused, and tries its next key; the log says why."""
    # A device of its own: after three cancels within two minutes an app waits.
    with Device() as device:
        device.set_up("271828", FINGER)
        bench = Bench(device)
        try:
            files = [bench.make(name) for name in ("first", "second")]
            with Server(bench, "sshd-next") as server:
                server.authorized.write_text("".join(file.read_text() for file in files))
                owner = bench.owner
                result, prompts = owner.took(
                    lambda: server.login("echo", "in"), lambda prompt: "cancel" if len(owner.prompts) == 1 else "touch")
                equal((result.stdout, len(prompts)), ("in\n", 2), f"the login with the second key: {result.stderr}")
                check("agent refused operation" in result.stderr, result.stderr)
                check("/ssh: no signature: cancelled" in bench.log, bench.log)
                # The twin: the next login is not refused, so one key is enough.
                bench.ssh("remove", "first")
                result, prompts = owner.took(lambda: server.login("echo", "in"))
                equal((result.stdout, "refused" in result.stderr), ("in\n", False), f"the login with one key: {result.stderr}")
        finally:
            bench.close()


def a_certificate_signs_in(bench):
    """SA-5: beside its key, to a server that trusts who made it; not an expired one, and not that of another key."""
    file, other = bench.make("certified"), bench.make("other")
    authority = bench.device.work / "authority"
    bench.run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", authority)

    def certify(of, *options):
        bench.run("ssh-keygen", "-q", "-s", authority, "-I", "ann", "-n", "root", *options, of)

    def listed():
        return [line.split()[0] for line in bench.run("ssh-add", "-L").stdout.splitlines()]

    plain, certificate = "ecdsa-sha2-nistp256", "ecdsa-sha2-nistp256-cert-v01@openssh.com"
    beside = file.with_name("certified-cert.pub")
    with Server(bench, "sshd-certificates", f"TrustedUserCAKeys {authority}.pub\n") as server:
        equal(listed(), [plain] * 2, "the list without a certificate")
        server.login(status=255)
        certify(file)
        equal(sorted(listed()), [plain] * 2 + [certificate], "the list with one")
        result, prompts = bench.owner.took(server.login)
        equal((result.stdout, len(prompts)), ("in\n", 1), f"the login {bench.log}")
        check("sign in to" in prompts[0]["reason"], prompts[0]["reason"])
        result, prompts = bench.owner.took(lambda: server.login(status=255, options=("-i", other, "-o", "IdentitiesOnly=yes")))
        equal(prompts, [], "prompts of a key without a certificate")
        certify(file, "-V", "20200101:20200102")
        equal(listed(), [plain] * 2, "the list with an expired one")
        server.login(status=255)
        certify(other)
        other.with_name("other-cert.pub").rename(beside)
        equal(listed(), [plain] * 2, "the list with that of another key")
        beside.unlink()
        os.mkfifo(beside)
        equal(listed(), [plain] * 2, "the list with a FIFO, which nobody writes to")
        beside.unlink()
        beside.write_text("nonsense")
        equal(listed(), [plain] * 2, "the list with a malformed one")
        beside.unlink()


def a_pinned_key_is_for_one_host(bench):
    # SA-22, SA-23.
    with Server(bench, "sshd-mine") as mine, Server(bench, "sshd-other") as other:
        file = bench.make("pinned", "--for", mine.address)
        for server in (mine, other):
            server.authorized.write_text(file.read_text())
        result, prompts = bench.owner.took(mine.login)
        equal((result.stdout, len(prompts)), ("in\n", 1), "the first login")
        check("SHA256:" in bench.ssh("list").stdout, "the key is pinned by now")
        result, prompts = bench.owner.took(lambda: other.login(status=255))
        equal(prompts, [], "prompts of a login elsewhere")
        check("Permission denied" in result.stderr, result.stderr)
        # Without a binding nobody knows where the login goes: refused, too.
        with bench.connect() as connection:
            blob = blob_of(file)
            login = (string(b"1" * 32) + b"\x32" + string(b"root") + string(b"ssh-connection") + string(b"publickey") + b"\x01"
                     + string(b"ecdsa-sha2-nistp256") + string(blob))
            equal(ask(connection, sign_request(blob, login))[0], 5, "an unbound login")
        bench.ssh("remove", "pinned")


def text_of(command):
    """A command for the shell of another host."""
    return shlex.join(str(word) for word in command)


def other_hosts_use_a_key_only_if_its_owner_wants(bench):
    # SA-10, SA-24: ssh -A through the first server to the second one.
    file = bench.make("carried", reuse=0)
    with Server(bench, "sshd-first") as first, Server(bench, "sshd-second") as second:
        for server in (first, second):
            server.authorized.write_text(file.read_text())

        def on_the_first(*command, status=0):
            return first.login(text_of(command), options=("-A",), status=status)

        def through(status=0):
            return on_the_first(*second.command("echo", "there"), status=status)

        # SA-22, SA-23: other hosts see no key, and get no signature.
        result, prompts = bench.owner.took(lambda: through(255))
        equal(len(prompts), 1, "prompts: for the first host alone")
        check("Permission denied" in result.stderr, result.stderr)
        result, prompts = bench.owner.took(lambda: on_the_first("ssh-add", "-L", status=1))
        check("no identities" in result.stdout, result.stdout)
        # The twin. The second host has not been seen yet: the command line is not about it.
        bench.ssh("set", "carried", "--forwarding", "ask")
        equal(on_the_first("ssh-add", "-L").stdout, file.read_text(), "ssh-add -L on the first host")
        # SA-2: it does not lock the agent for everybody.
        askpass = first.directory / "askpass"
        askpass.write_text("#!/bin/sh\necho word\n")
        askpass.chmod(0o700)
        on_the_first("env", f"SSH_ASKPASS={askpass}", "SSH_ASKPASS_REQUIRE=force", "ssh-add", "-x", status=1)
        equal(bench.run("ssh-add", "-L").stdout, file.read_text(), "ssh-add -L here")
        result, prompts = bench.owner.took(through)
        equal((result.stdout, len(prompts)), ("there\n", 2), f"the login through the first host {bench.log}")
        check("asked by" not in prompts[0]["reason"], prompts[0]["reason"])
        reason = prompts[1]["reason"]
        check(f"asked by a program on {first.address}" in reason, reason)
        check("sign in to a host that is not known yet as “root”" in reason, reason)
        equal(prompts[1]["client"]["identifier"], shutil.which("ssh"), "who asks here")
        fingerprint = bench.run("ssh-keygen", "-lf", second.directory / "host.pub").stdout.split()[1]
        check({"kind": "hostKey", "text": f"{fingerprint[:23]}, checked, not known yet"} in prompts[1]["facts"], prompts[1]["facts"])
        # What the first host asked for is not recorded under its own name.
        result, prompts = bench.owner.took(first.login)
        check("beware" not in prompts[0]["reason"], prompts[0]["reason"])
        # A message, too, names the host.
        on_the_first("sh", "-c", f"echo text > {first.directory}/text")
        sign = ("ssh-keygen", "-Y", "sign", "-f", file, "-n", "file", first.directory / "text")
        _, prompts = bench.owner.took(lambda: on_the_first(*sign))
        equal(len(prompts), 2, "prompts of a message")
        check(f"asked by a program on {first.address}: sign for “file”" in prompts[1]["reason"], prompts[1]["reason"])
        # BR-25: what the owner approved here is not approved for the first host.
        bench.ssh("set", "carried", "--login-reuse", "300")
        _, prompts = bench.owner.took(second.login)
        equal(len(prompts), 1, "prompts of a login from here")
        _, prompts = bench.owner.took(through)
        equal(len(prompts), 2, "prompts of the login through the first host")
        check(f"asked by a program on {first.address}: sign in to {second.address} as “root”" in prompts[1]["reason"], prompts[1]["reason"])
        result, prompts = bench.owner.took(through)
        equal((result.stdout, prompts), ("there\n", []), "the same again")
        # And the owner says no to the first host: it is not let in, and programs of here are still asked for.
        bench.ssh("set", "carried", "--login-reuse", "0")
        result, prompts = bench.owner.took(
            lambda: through(255), lambda prompt: "cancel" if "asked by" in prompt["reason"] else "touch")
        equal(len(prompts), 2, "prompts of the refused one")
        check("Permission denied" in result.stderr, result.stderr)
        result, prompts = bench.owner.took(second.login)
        equal((result.stdout, len(prompts)), ("in\n", 1), "a login from here after it")


def files_are_copied_with_the_finger(bench):
    # SA-40: scp, by sftp and by the older protocol.
    file = bench.make("copies", reuse=0)
    with Server(bench, "sshd-copies") as server:
        server.authorized.write_text(file.read_text())
        source = bench.device.work / "copied"
        source.write_text("a file\n")

        def copy(name, *options, status=0):
            target = server.directory / name
            bench.run(
                "scp", "-q", *server.options, "-P", server.port, *options, source, f"root@127.0.0.1:{target}", status=status)
            return target

        for options in ((), ("-O",)):
            target, prompts = bench.owner.took(lambda: copy(f"copy{len(options)}", *options))
            equal((target.read_text(), len(prompts)), ("a file\n", 1), f"scp {options}")
            check(f"sign in to {'' if options else '“'}{server.address}" in prompts[0]["reason"], prompts[0]["reason"])
        bench.ssh("set", "copies", "--pin", "SHA256:another")
        target, prompts = bench.owner.took(lambda: copy("refused", status=255))
        equal((target.exists(), prompts), (False, []), "a copy with a key that is for another host")


def submodules_are_cloned_together(bench):
    # SA-40, BR-26: nine logins, eight of them at once.
    file = bench.make("clones", reuse=0)
    work = bench.device.work
    with Server(bench, "sshd-clones") as server:
        server.authorized.write_text(file.read_text())
        git = functools.partial(bench.run, "git")
        git("init", "-q", work / "part")
        git("-C", work / "part", "commit", "-q", "--allow-empty", "-m", "part")
        head = git("-C", work / "part", "rev-parse", "HEAD").stdout.strip()
        git("init", "-q", work / "whole")
        modules = ""
        for number in range(8):
            git("clone", "-q", "--bare", work / "part", work / f"part{number}.git")
            modules += (
                f'[submodule "part{number}"]\n\tpath = part{number}\n'
                f"\turl = ssh://root@127.0.0.1:{server.port}{work}/part{number}.git\n")
            git("-C", work / "whole", "update-index", "--add", "--cacheinfo", f"160000,{head},part{number}")
        (work / "whole/.gitmodules").write_text(modules)
        git("-C", work / "whole", "add", ".gitmodules")
        git("-C", work / "whole", "commit", "-q", "-m", "whole")
        bench.environment["GIT_SSH_COMMAND"] = text_of(("ssh", *server.options))

        def clone(name, status=0):
            result = git(
                "clone", "--recurse-submodules", "--jobs", "8", f"ssh://root@127.0.0.1:{server.port}{work}/whole",
                work / name, status=status)
            # git tries a submodule that failed once more.
            equal("Retry scheduled" in result.stderr, False, result.stderr)
            return work / name

        try:
            for name, reuse, count in (("one", 0, 9), ("two", 300, 1)):
                bench.ssh("set", "clones", "--login-reuse", reuse)
                directory, prompts = bench.owner.took(lambda: clone(name))
                equal(len(prompts), count, f"prompts with a reuse of {reuse} s")
                for number in range(8):
                    equal(
                        git("-C", directory / f"part{number}", "rev-parse", "HEAD").stdout.strip(), head,
                        f"part {number}")
            bench.ssh("set", "clones", "--pin", "SHA256:another")
            directory, prompts = bench.owner.took(lambda: clone("three", status=128))
            equal((directory.exists(), prompts), (False, []), "a clone with a key that is for another host")
        finally:
            del bench.environment["GIT_SSH_COMMAND"]


def a_shared_connection_asks_once(bench):
    # SA-40: ControlMaster.
    file = bench.make("shared", reuse=0)
    with Server(bench, "sshd-shared") as server:
        server.authorized.write_text(file.read_text())
        control = server.directory / "control"

        def started():
            process = subprocess.Popen(
                [str(word) for word in server.command(options=("-M", "-N", "-S", control))], env=bench.environment)
            wait_for(lambda: control.exists() or process.poll() is not None, "the first session")
            return process

        process, prompts = bench.owner.took(started)
        try:
            equal(len(prompts), 1, f"prompts of the first session {bench.log}")
            result, prompts = bench.owner.took(lambda: server.login(options=("-S", control)))
            equal((result.stdout, prompts), ("in\n", []), "the second session")
            # The twin: one that does not share is asked for.
            result, prompts = bench.owner.took(lambda: server.login(options=("-S", "none")))
            equal((result.stdout, len(prompts)), ("in\n", 1), "a session of its own")
        finally:
            process.terminate()
            process.wait()
        # The device has ssh wait after the third cancel in two minutes: this is the third, and the last one here.
        result, prompts = bench.owner.took(started, "cancel")
        equal((result.wait(), len(prompts), control.exists()), (255, 1, False), "a first session that the owner refuses")


def hostile_clients_get_nothing(bench):
    # SA-41.
    file = bench.make("wanted")
    blob = blob_of(file)
    bench.owner.act, before = "touch", len(bench.owner.prompts)
    with bench.connect() as connection:
        equal(ask(connection, b"\x1b" + string(b"query"))[0], 29, "query (SA-3)")
        equal(ask(connection, b"\x1b" + string(b"nothing@example.org"))[0], 5, "an unknown extension")
        for number in (1, 3, 7, 8, 9, 17, 18, 19, 20, 21, 24, 25, 26, 200):
            equal(ask(connection, bytes([number]) + string(b"x"))[0], 5, f"message {number} (SA-2)")
        equal(ask(connection, sign_request(blob, b"anything"))[0], 5, "unknown data (SA-15)")
        equal(ask(connection, sign_request(b"no key", message(b"git")))[0], 5, "a key that is not there")
        # A binding whose signature is wrong, and then a login for it (SA-11, SA-14).
        key = string(b"ssh-ed25519") + string(b"k" * 32)
        bind = b"\x1b" + string(b"session-bind@openssh.com") + string(key) + string(b"i" * 32) + string(
            string(b"ssh-ed25519") + string(b"s" * 64))
        equal(ask(connection, bind + b"\x01")[0], 28, "a forged binding")
        # It said that it was forwarded: from then on nothing is signed, and nothing shown.
        equal(ask(connection, sign_request(blob, message(b"git")))[0], 5, "a forwarded request")
        equal(ask(connection, b"\x0b")[1][:4], bytes(4), "keys on a forwarded connection")
        # Orders are for touchstone-ssh alone.
        equal(ask(connection, b"\x1b" + string(b"manage@touchstone") + b'{"list":{}}')[0], 5, "an order")
    with bench.connect() as connection:
        equal(ask(connection, b"\x1b" + string(b"manage@touchstone") + b'{"list":{}}')[0], 5, "an order")
    equal(len(bench.owner.prompts), before, "prompts for all of this")
    # SA-1: what is no frame ends the connection.
    for bad in (bytes(4), b"\xff" * 4, struct.pack(">I", (256 << 10) + 1)):
        with bench.connect() as connection:
            connection.sendall(bad)
            equal(connection.recv(1), b"", f"after {bad}")
    # BR-51: of one process 32 connections are served.
    def are_served():
        with contextlib.ExitStack() as stack:
            connections = [stack.enter_context(bench.connect()) for _ in range(40)]
            served = 0
            for connection in connections:
                with contextlib.suppress(OSError):
                    served += ask(connection, b"\x0b")[0] == 12
        check(served <= 32, f"{served} connections of one process are served")
        return served == 32
    # The agent may not have noticed that earlier ones are closed.
    wait_for(are_served, "32 connections of one process to be served")
    # The twin: with the finger there is a signature, for the same process.
    def signs():
        with bench.connect() as connection:
            return ask(connection, sign_request(blob, message(b"git")))[0]
    wait_for(lambda: bench.run("ssh-add", "-L", status=None).returncode == 0, "the agent still answers")
    answer, prompts = bench.owner.took(signs)
    equal((answer, len(prompts)), (14, 1), f"with the finger {bench.log}")


# Connects as often as it may, sends the beginning of a message on each second one, and says that it is done.
CROWD = """
import socket, sys
held = []
for number in range(32):
    held.append(socket.socket(socket.AF_UNIX))
    held[-1].connect(sys.argv[1])
    if number % 2: held[-1].send(b"\\0")
print("ready", flush=True)
sys.stdin.read()
"""


def a_crowd_keeps_nobody_out(bench):
    # BR-51: nine processes take all places, and somebody waits for the finger meanwhile.
    blob = blob_of(bench.make("crowded"))
    may = threading.Event()

    def act(_):
        check(may.wait(LONGEST_WAIT), "the crowd did not come")
        return "touch"

    bench.owner.act, before = act, len(bench.owner.prompts)
    with contextlib.ExitStack() as stack:
        signing = stack.enter_context(bench.connect())
        signing.sendall(string(sign_request(blob, message(b"git"))))
        wait_for(lambda: len(bench.owner.prompts) > before, "the prompt")
        for _ in range(9):
            crowd = subprocess.Popen([sys.executable, "-c", CROWD, bench.socket], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
            stack.callback(crowd.wait, LONGEST_WAIT)
            stack.callback(crowd.stdin.close)
            stack.callback(crowd.stdout.close)
            equal(crowd.stdout.readline(), "ready\n", "the crowd")
        equal(bench.run("ssh-add", "-L").stdout.count("ecdsa-sha2-nistp256"), 1, "the keys for a newcomer")
        may.set()
        length = struct.unpack(">I", signing.recv(4, socket.MSG_WAITALL))[0]
        equal(signing.recv(length, socket.MSG_WAITALL)[:1], b"\x0e", "the answer to who waited for the finger")
    wait_for(lambda: bench.run("ssh-add", "-L", status=None).returncode == 0, "the agent to answer afterwards")


def nobody_speaks_in_anothers_name(bench):
    # BR-10, BR-12: a program that connects, and another process that speaks on its connection.
    file = bench.make("name")
    blob = blob_of(file)

    def from_a_child():
        with bench.connect() as connection:
            child = os.fork()
            if child == 0:
                try:
                    connection.sendall(string(sign_request(blob, message(b"git"))))
                finally:
                    os._exit(0)
            os.waitpid(child, 0)
            return ask(connection, b"\x0b")[0]

    answer, prompts = bench.owner.took(from_a_child)
    equal((answer, len(prompts)), (14, 1), "a request of a child's")
    equal(prompts[0].get("client"), None, "nobody is named")
    check("could not be identified" in prompts[0]["reason"], prompts[0]["reason"])

    # BR-11: a program that executes another while its prompt is up gets no answer, and the prompt goes.
    script = (
        "import os, socket, struct, sys\n"
        f"connection = socket.socket(socket.AF_UNIX); connection.connect({str(bench.socket)!r}); os.set_inheritable(connection.fileno(), True)\n"
        f"connection.sendall(bytes.fromhex({string(sign_request(blob, message(b'git'))).hex()!r}))\n"
        "sys.stdin.readline(); os.execv('/bin/sleep', ['sleep', '1000'])\n")
    bench.owner.act, before = "leave", len(bench.owner.prompts)
    process = subprocess.Popen([sys.executable, "-c", script], stdin=subprocess.PIPE, text=True)
    wait_for(lambda: len(bench.owner.prompts) > before, "the prompt")
    dismissed = bench.owner.dismissed
    process.stdin.write("\n")
    process.stdin.flush()
    wait_for(lambda: bench.owner.dismissed > dismissed, "the prompt is taken down")
    process.kill()
    process.wait()
    bench.owner.act = "touch"


def a_locked_device_is_unlocked_first(bench):
    # SA-30, ND-6: keys are listed while the device is locked; a signature asks to unlock it, and then for itself.
    blob = blob_of(bench.make("behind"))
    bench.device.run("device", "lock")

    def signs():
        with bench.connect() as connection:
            equal(ask(connection, b"\x0b")[1][:4], b"\0\0\0\1", "the list of a locked device")
            return ask(connection, sign_request(blob, message(b"git")))[0]

    answer, prompts = bench.owner.took(signs)
    equal((answer, len(prompts), prompts[0]["phase"]), (14, 2, "unlock"), f"the signature {prompts} {bench.log}")


def a_second_agent_does_not_take_the_socket(bench):
    result = bench.run(BRIDGES / "touchstone-ssh-agent", "--socket", bench.socket, status=None)
    check(result.returncode != 0 and "listens there already" in result.stderr, result.stderr)
    equal(oct(os.stat(bench.socket).st_mode & 0o777), "0o600", "the socket's mode")


def residents_say_what_is_missing_at_their_start(bench):
    """Each begins in the same way; the twins that start are in each bridge's own tests."""
    path = bench.device.work / "unused.sock"
    for name in ("touchstone-ssh-agent", "touchstone-pkcs11"):
        said = bench.run(BRIDGES / name, status=64).stderr
        check("--socket PATH" in said, f"{name}: {said}")
    for name in ("touchstone-ssh-agent", "touchstone-pkcs11", "touchstone-credentials"):
        said = bench.run("env", "TOUCHSTONE_DEVICE=../other", BRIDGES / name, "--socket", path, status=64).stderr
        check("TOUCHSTONE_DEVICE" in said and not path.exists(), f"{name}: {said}")
        said = bench.run(BRIDGES / name, "--socket", f"{path}/{'x' * 100}", status=64).stderr
        check("at most 107 bytes" in said, f"{name}: {said}")


def the_agent_ends_with_sigterm(bench):
    bench.close()


with Device() as device:
    device.set_up("271828", FINGER)
    bench = Bench(device)
    tests = [
        keys_are_made_listed_and_removed, the_agent_is_locked_with_a_word, messages_are_signed_with_the_finger,
        commits_are_signed, hostile_clients_get_nothing, a_crowd_keeps_nobody_out, nobody_speaks_in_anothers_name,
        a_locked_device_is_unlocked_first, a_second_agent_does_not_take_the_socket, residents_say_what_is_missing_at_their_start, logins_take_the_finger,
        a_refused_key_is_followed_by_the_next, a_certificate_signs_in, a_pinned_key_is_for_one_host, other_hosts_use_a_key_only_if_its_owner_wants, files_are_copied_with_the_finger,
        submodules_are_cloned_together, a_shared_connection_asks_once,
    ]
    check(SSHD, "sshd is not there: install openssh-server (script/install-packages test does)")
    check(os.geteuid() == 0, "sshd has a place of its own here, which only root can make")

    def named(test):
        def run():
            bench.clear()
            test(bench)

        run.__name__ = test.__name__
        return run

    try:
        main(*(named(test) for test in [*tests, the_agent_ends_with_sigterm]))
    finally:
        if bench.agent.poll() is None:
            bench.agent.kill()
            print(bench.log)
