#!/usr/bin/env python3
"""sudo, su, pkexec, login and a screen locker with pam_touchstone.so, under systemd in a container: each refusal beside the finger.

Whatever fails, the password lets the owner in, a wrong one lets nobody in, and nobody is let in without finger, passcode or password.
"""

import contextlib
import json
import os
import pathlib
import pty
import re
import subprocess
import sys
import tempfile
import threading
import time

from container import DAEMONS, OWNER, OWNER_ID, STRANGER, SYSTEM, Container
from device import PROGRAMS, REPOSITORY, check, equal, main, wait_for
from system_reader import TOUCH, VIRTUAL

BRIDGES = pathlib.Path(os.environ.get("TOUCHSTONE_BRIDGES", REPOSITORY / ".build/debug")).resolve()
HELPER = f"{DAEMONS}/touchstone-pam-helper"
PASSCODE, PASSWORD = "271828", "correct horse"
RUNTIME = f"/run/touchstone/{OWNER_ID}"
ENROLLED = f"/etc/touchstone/pam/{OWNER_ID}"
ENCLAVE, DAEMON = f"touchstone-enclave@{OWNER_ID}", f"touchstoned@{OWNER_ID}"
# Of the programs that this was written for.
VERSIONS = {"sudo": "1.9.13", "login": "1:4.13", "polkitd": "122", "pkexec": "122", "i3lock": "2.14", "swaylock": "1.7", "pamtester": "0.1.2", "libpam0g": "1.5.2"}
PROMPT = re.compile(r"[Pp]assword(?: for [\w-]+)?: *$")
LONGEST = 40

for program in ("/usr/bin/sudo", "/usr/bin/pkexec", "/usr/bin/i3lock", "/usr/bin/swaylock", "/usr/bin/sway", "/usr/bin/wtype", "/usr/bin/Xvfb", "/usr/bin/xdotool", "/usr/bin/pamtester", "/usr/bin/login"):
    if not os.access(program, os.X_OK):
        sys.exit(f"{program} is not there: run script/install-packages test system")
for program in (BRIDGES / "touchstone-pam-helper", PROGRAMS / "touchstone-pam-verify"):
    if not os.access(program, os.X_OK):
        sys.exit(f"{program} is not there: run make test-system")


def put(container, source, target, mode="755"):
    with open(source, "rb") as file:
        subprocess.run(
            container.command("sh", "-c", 'mkdir -p "$(dirname "$1")" && cat > "$1.new" && chmod "$2" "$1.new" && mv "$1.new" "$1"', "sh", target, mode),
            stdin=file, check=True)


class Terminal:
    """A program at a terminal of its own, and a person who reads and types."""

    def __init__(self, container, *command, user=OWNER):
        self.shown = ""
        words = container.command(*command, user=user)
        self.started = time.monotonic()
        self.process, self.terminal = pty.fork()
        if self.process == 0:
            os.execvp(words[0], words)
        self.reader = threading.Thread(target=self.look, daemon=True)
        self.reader.start()

    def look(self):
        with contextlib.suppress(OSError):
            while chunk := os.read(self.terminal, 4096):
                self.shown += chunk.decode(errors="replace")

    def until(self, pattern, seconds=LONGEST):
        """Waits for what the program shows; returns for how long."""
        started = time.monotonic()
        try:
            wait_for(lambda: re.search(pattern, self.shown) or self.is_over, pattern, seconds)
        except AssertionError as error:
            raise AssertionError(f"{error}, and there is: {self.shown!r}") from error
        if not self.process:
            # What it wrote last is still on its way.
            self.reader.join(LONGEST)
        check(re.search(pattern, self.shown), f"{pattern} was awaited, and the program ended with: {self.shown!r}")
        return time.monotonic() - started

    def type(self, text):
        os.write(self.terminal, text.encode())

    @property
    def is_over(self):
        if self.process and os.waitpid(self.process, os.WNOHANG)[0]:
            self.process = 0
        return not self.process

    def password(self, text, pattern=PROMPT):
        self.until(pattern)
        # What came before the prompt is thrown away.
        time.sleep(0.3)
        self.shown = ""
        self.type(f"{text}\n")

    def end(self):
        with contextlib.suppress(OSError):
            if self.process:
                os.kill(self.process, 9)
                os.waitpid(self.process, 0)
            self.process = 0
        with contextlib.suppress(OSError):
            os.close(self.terminal)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.end()


class Owner(Terminal):
    """`touchstone agent` at a terminal; each prompt gets the next of `answers`, the last of them again and again.

    An answer is "cancel", "passcode", a row of fingers ("BBB", of which A is the owner's), or None.
    """

    # What the agent shows of a prompt for the first time, and not again after a miss.
    BEGINS = re.compile(r"\r\n\r\n  Touch the fingerprint sensor|Unlock for")

    def __init__(self, container, *answers):
        super().__init__(container, "touchstone", "agent")
        self.container, self.answers, self.asked, self.threads, self.is_ended = container, list(answers), 0, [], False
        self.until("ready")

    def look(self):
        with contextlib.suppress(OSError):
            while chunk := os.read(self.terminal, 4096):
                self.shown += chunk.decode(errors="replace")
                while len(self.BEGINS.findall(self.shown)) > self.asked:
                    self.asked += 1
                    what = self.answers[0] if len(self.answers) == 1 else self.answers.pop(0)
                    self.threads.append(threading.Thread(target=self.answer, args=(what,)))
                    self.threads[-1].start()

    def answer(self, what):
        # Keys and fingers count half a second after a prompt is shown.
        time.sleep(0.8)
        with contextlib.suppress(OSError, AssertionError):
            if what == "cancel":
                self.type("c")
            elif what == "passcode":
                # The other way is offered after a finger that did not match.
                self.touch("B")
                for shown, keys in (("Enter Passcode", "f"), ("Enter the passcode", f"{PASSCODE}\n")):
                    self.until(shown)
                    time.sleep(0.7)
                    self.type(keys)
            else:
                for finger in what or "":
                    self.touch(finger)
                    time.sleep(0.5)

    def touch(self, finger):
        """As soon as the reader is open, and not after this test."""
        while not self.is_ended and not self.container.python(TOUCH + f'say(tell("SCAN {finger}"))'):
            time.sleep(0.05)

    def end(self):
        self.is_ended = True
        super().end()
        for thread in self.threads:
            thread.join()


def touch(container, finger):
    check(container.python(TOUCH + f'say(touch("{finger}"))'), "the reader is open")


def status(container):
    return json.loads(container.touchstone("device", "status", "--json").stdout)


def set_up(container):
    container.write("/run/systemd/system/fprintd.service.d/virtual.conf", VIRTUAL)
    for folder, place in (("apps", "/usr/share/touchstone/apps"), ("pam-configs", "/usr/share/pam-configs")):
        for file in (SYSTEM / folder).iterdir():
            container.write(f"{place}/{file.name}", file.read_text())
    put(container, BRIDGES / "touchstone-pam-helper", HELPER)
    put(container, PROGRAMS / "touchstone-pam-verify", f"{DAEMONS}/touchstone-pam-verify")
    folder = container.work.with_suffix(".module")
    try:
        subprocess.run([REPOSITORY / "script/pam-module", folder], check=True)
        architecture = subprocess.run(["gcc", "-print-multiarch"], check=True, capture_output=True, text=True).stdout.strip()
        put(container, folder / "pam_touchstone.so", f"/usr/lib/{architecture}/security/pam_touchstone.so", "644")
    finally:
        subprocess.run(["rm", "-rf", folder], check=True)
    container.run("systemctl", "daemon-reload")
    # Until then pam_nologin lets only root log in.
    container.run("systemctl", "start", "polkit.service", "systemd-user-sessions.service")
    container.create("--biometry", "touchid", "--", "--sensor", "fprintd", "--bus", "/run/dbus/system_bus_socket", "--templates", "/var/lib/fprint")
    container.touchstone("device", "passcode", "set", input=f"{PASSCODE}\n")
    container.python(TOUCH + f"""
enrolling = subprocess.Popen(["fprintd-enroll", "-f", "right-index-finger", "{OWNER}"], stdout=subprocess.DEVNULL)
while enrolling.poll() is None:
    tell("SCAN A")
    time.sleep(0.02)
say(enrolling.returncode)""")
    wait_for(lambda: status(container)["isEnrolled"], "the enclave to know of the finger")
    container.run("chpasswd", input=f"{OWNER}:{PASSWORD}\nroot:another one\n")
    container.run("usermod", "-aG", "sudo", OWNER)
    container.write("/etc/sudoers.d/owner", f"Defaults timestamp_timeout=0, !lecture\n{OWNER} ALL=(ALL) ALL\n")
    container.run("chmod", "440", "/etc/sudoers.d/owner")


def fresh(container):
    """Anew: three cancelled prompts of one program within two minutes are the last for five."""
    container.run("systemctl", "stop", DAEMON, ENCLAVE)
    container.run("systemctl", "reset-failed")
    container.touchstone("device", "unlock", input=f"{PASSCODE}\n")


def sudo(container):
    return Terminal(container, "sudo", "id", "-u")


def by_password(terminal, within=LONGEST):
    """The way in that always works, and the one that never does: a wrong password first, the right one then."""
    waited = terminal.until(PROMPT, within)
    terminal.password("wrong")
    terminal.until("Sorry, try again")
    # The module is asked once more, before the password is.
    terminal.password(PASSWORD)
    terminal.until(r"\b0\r\n")
    return waited


def password_works(container, within=LONGEST):
    with sudo(container) as terminal:
        return by_password(terminal, within)


def versions():
    found = dict(line.split() for line in subprocess.run(
        ["dpkg-query", "--show", "--showformat", "${Package} ${Version}\n", *VERSIONS], capture_output=True, text=True, check=True).stdout.splitlines())
    for name, version in VERSIONS.items():
        print(f"  {name} {found[name]}" + ("" if found[name].startswith(version) else f", written for {version}"), flush=True)


def nothing_changes_before_it_is_enabled(container):
    """BR-5, PM-11: both profiles are off; only root enrols; the password is all there is."""
    container.run("pam-auth-update", "--package")
    check("touchstone" not in container.run("cat", "/etc/pam.d/common-auth").stdout, "the module is in use by being installed")
    said = container.touchstone("pam", "enroll", OWNER, status=5).stderr
    check("only root" in said, said)
    check("enrolled: nobody" in container.touchstone("pam", "status").stdout, "the status")
    password_works(container)
    # The twin: enrolled and enabled.
    said = container.run("touchstone", "pam", "enroll", OWNER).stdout
    check(f"{OWNER} is enrolled" in said and "pam-auth-update --enable touchstone" in said, said)
    container.run("pam-auth-update", "--enable", "touchstone")
    stack = container.run("grep", "-v", "^#", "/etc/pam.d/common-auth").stdout.split("\n")
    lines = [line.split() for line in stack if line.split()]
    equal(lines[0], ["auth", "sufficient", "pam_touchstone.so"], "the first line of common-auth")
    # So that what nobody answers costs eight seconds here.
    container.run("sed", "-i", "s/pam_touchstone.so *$/pam_touchstone.so timeout=8/", "/etc/pam.d/common-auth")
    equal(container.run("stat", "-c", "%U %a", ENROLLED).stdout, "root 644\n", "the enrolled key")
    found = json.loads(container.run("touchstone", "pam", "status", "--json").stdout)
    equal((found["isInstalled"], found["services"], [(user["name"], user["state"]) for user in found["users"]]),
          (True, ["common-auth"], [(OWNER, "works")]), "the status")
    check("[ok] sudo and login: they ask for your finger first" in container.touchstone("doctor").stdout, "the doctor")
    # The module alone, for the tests below.
    container.write("/etc/pam.d/alone", "auth required pam_touchstone.so timeout=5\n")


def a_finger_does_for_sudo(container):
    """PM-1, PM-5, PM-7: no password is asked for, and the prompt says who asks."""
    with Owner(container, "A") as owner, sudo(container) as terminal:
        terminal.until(r"\b0\r\n")
        # sudo tells every module to be silent.
        equal(terminal.shown, "0\r\n", "what the terminal shows")
        check("\u201csudo\u201d" in owner.shown and "confirm that it is you" in owner.shown, owner.shown)
        check("/usr/bin/sudo" in owner.shown and "Touchstone's sign-in" in owner.shown and "Use Password" in owner.shown, owner.shown)
        equal(owner.asked, 1, "prompts")


def the_passcode_does(container):
    with Owner(container, "passcode"), sudo(container) as terminal:
        terminal.until(r"\b0\r\n")


def a_wrong_finger_asks_for_the_password(container):
    """PM-8: three misses are PAM_AUTH_ERR, and pam_faillock counts them; the password still works."""
    with Owner(container, "BBB", "cancel"), sudo(container) as terminal:
        by_password(terminal)
    container.touchstone("device", "lock")
    container.touchstone("device", "unlock", input=f"{PASSCODE}\n")
    service = ("auth required pam_faillock.so preauth silent deny=99", "auth sufficient pam_touchstone.so timeout=5", "auth [default=die] pam_faillock.so authfail deny=99")
    container.write("/etc/pam.d/counted", "".join(f"{line}\n" for line in service))
    container.run("faillock", "--user", OWNER, "--reset")

    def counted():
        return len(re.findall(r"^\d{4}-", container.run("faillock", "--user", OWNER).stdout, re.M))

    with Owner(container, "BBB"):
        container.run("pamtester", "counted", OWNER, "authenticate", status=1)
    equal(counted(), 1, "what pam_faillock counted of three misses")
    container.touchstone("device", "lock")
    container.touchstone("device", "unlock", input=f"{PASSCODE}\n")
    with Owner(container, "A"):
        container.run("pamtester", "counted", OWNER, "authenticate")
    container.run("faillock", "--user", OWNER, "--reset")


def use_password_hands_over_at_once(container):
    """PM-8"""
    with Owner(container, "cancel") as owner, sudo(container) as terminal:
        by_password(terminal)
        check(owner.asked <= 2, "prompts")


def use_password_three_times_is_explained(container):
    """PM-7, PM-8: the prompt stays away for a while then, and the terminal says why; the finger does again after that."""
    explanation = "Use Password was chosen three times"
    with Owner(container, "cancel") as owner:
        for _ in range(3):
            with sudo(container) as terminal:
                terminal.until(PROMPT)
                check(explanation not in terminal.shown, terminal.shown)
                terminal.password(PASSWORD)
                terminal.until(r"\b0\r\n")
        with sudo(container) as terminal:
            terminal.until(PROMPT)
            check(f"{explanation}, so no finger is asked for. Try again in 5 minutes." in terminal.shown, terminal.shown)
            terminal.password(PASSWORD)
            terminal.until(r"\b0\r\n")
        equal(owner.asked, 3, "prompts")
    fresh(container)
    with Owner(container, "A"), sudo(container) as terminal:
        terminal.until(r"\b0\r\n")
        check(explanation not in terminal.shown, terminal.shown)


def nobody_at_the_prompt_is_waited_for_in_vain(container):
    """PM-21: after the timeout the prompt is gone, and the password is asked for."""
    with Owner(container, None) as owner, sudo(container) as terminal:
        waited = by_password(terminal)
        check(7 < waited < 25, f"{waited} s")
        wait_for(lambda: not status(container)["hasPrompt"], "the prompt to be gone")
        equal(owner.asked, 2, "prompts: of both times that sudo asked")


def it_stands_aside_at_once(container):
    """PM-10, PM-4: no agent, a locked device, another machine, a user who is not enrolled or not there: twenty times each, by pamtester."""
    def took(*words, user=OWNER, service="alone", runs=20, result="Authentication service cannot retrieve authentication info"):
        times = []
        for _ in range(runs):
            started = time.monotonic()
            said = container.run("pamtester", *words, service, user, "authenticate", status=1)
            times.append(time.monotonic() - started)
            check(result in said.stderr + said.stdout, f"{words} {user}: {said.stdout}{said.stderr}")
        return sorted(times)[-1]

    base = took(user="nobody-there", result="User not known", runs=5)
    slowest = {"no agent": took()}
    with Owner(container, "A") as owner:
        slowest["another machine"] = took("-I", "rhost=192.0.2.7")
        slowest["not enrolled"] = took(user=STRANGER, result="User not known to the underlying authentication module")
        container.write("/etc/pam.d/wrong", "auth required pam_touchstone.so tiemout=5\n")
        slowest["a wrong option"] = took(service="wrong")
        container.touchstone("device", "lock")
        slowest["a locked device"] = took()
        container.touchstone("device", "unlock", input=f"{PASSCODE}\n")
        equal(owner.asked, 0, "prompts")
        # The twins.
        for words in ((), ("-I", "rhost=localhost")):
            container.run("pamtester", *words, "alone", OWNER, "authenticate")
    print(f"  slowest of 20, with the start of pamtester in the container ({base * 1000:.0f} ms for nobody): "
          + ", ".join(f"{what} {seconds * 1000:.0f} ms" for what, seconds in slowest.items()), flush=True)
    # A debug build on a machine that may be four times overloaded; the figures above are what counts.
    check(max(slowest.values()) < 3, f"{slowest}")
    password_works(container, within=3)


def its_limits_hold(container):
    """PM-8, PM-10: 20 ms to stand aside, and 50 ms from "Use Password" to the next module, each at the median of 20.

    With PAM_LIMITS=1, on a quiet machine and with release builds. Otherwise the figures are told, and a second is enough.
    """
    aside, hand_over = (20, 50) if os.environ.get("PAM_LIMITS") else (1000, 1000)
    runs = 20
    with tempfile.TemporaryDirectory() as folder:
        host = pathlib.Path(folder, "host")
        subprocess.run(["gcc", "-O1", "-o", host, REPOSITORY / "Tests/Scripts/pam_host.c", "-lpam", "-lpthread", "-ldl"], check=True)
        # The owner may cancel a program three times: each is another one.
        for number in range(runs):
            put(container, host, f"/usr/local/bin/host-{number}")

    def start(number, *words):
        return subprocess.Popen(
            container.command(f"/usr/local/bin/host-{number}", "/etc/pam.d", "alone", OWNER, *words), stdout=subprocess.PIPE, text=True)

    def result(process):
        with process:
            line = next(line.split() for line in process.stdout if line.startswith("result "))
            process.stdout.read()
        equal(line[1], "9", "the result, which is PAM_AUTHINFO_UNAVAIL")
        return float(line[2])

    def tell(what, milliseconds, limit):
        median = sorted(milliseconds)[runs // 2]
        print(f"  {what}: p50 {median:.1f} ms, slowest {max(milliseconds):.1f} ms", flush=True)
        check(median <= limit, f"{what}: {median} ms, and not {limit}")

    tell("without an agent", [result(start(number)) for number in range(runs)], aside)
    with Owner(container, None) as owner:
        tell("for another machine", [result(start(number, "rhost=192.0.2.7")) for number in range(runs)], aside)
        container.touchstone("device", "lock")
        tell("with a locked device", [result(start(number)) for number in range(runs)], aside)
        container.touchstone("device", "unlock", input=f"{PASSCODE}\n")
        equal(owner.asked, 0, "prompts")
        times = []
        for number in range(runs):
            process = start(number)
            wait_for(lambda number=number: owner.asked == number + 1, "the prompt")
            # Keys count half a second after a prompt is shown.
            time.sleep(0.8)
            began = time.monotonic()
            owner.type("c")
            result(process)
            times.append((time.monotonic() - began) * 1000)
        tell('from "Use Password" to the end of the host', times, hand_over)


def over_ssh_the_password_is_asked_for(container):
    """PM-10: sudo keeps the variable that sshd sets in its own environment."""
    with Owner(container, "A") as owner, Terminal(container, "env", "SSH_CONNECTION=192.0.2.7 1 192.0.2.1 22", "sudo", "id", "-u") as terminal:
        by_password(terminal)
        equal(owner.asked, 0, "prompts")


def a_daemon_that_is_gone_or_stuck_is_no_obstacle(container):
    """PM-21: stopped, and SIGSTOP in the middle of a prompt or before."""
    with Owner(container, "A"):
        sockets = [f"{unit}.socket" for unit in (DAEMON, ENCLAVE)]
        container.run("systemctl", "stop", *sockets, DAEMON, ENCLAVE)
        password_works(container, within=5)
        container.run("systemctl", "start", *sockets)
        for unit in (DAEMON, ENCLAVE):
            container.touchstone("device", "unlock", input=f"{PASSCODE}\n", status=None)
            pid = wait_for(lambda unit=unit: container.main_pid(unit), unit)
            container.run("kill", "-STOP", pid)
            try:
                password_works(container, within=25)
            finally:
                container.run("kill", "-CONT", pid)


def a_helper_that_ends_is_no_answer(container):
    """PM-21: killed, and stopped, while the prompt is up."""
    for signal, longest in (("KILL", 4), ("STOP", 20)):
        with Owner(container, None) as owner, sudo(container) as terminal:
            wait_for(lambda owner=owner: owner.asked, "the prompt")
            container.run("pkill", f"-{signal}", "-f", f"^{HELPER} confirm")
            terminal.until(PROMPT, longest)
            wait_for(lambda: not status(container)["hasPrompt"], "the prompt to be gone")
    equal(container.run("pgrep", "-f", f"^{HELPER}", status=1).stdout, "", "helpers that are left")
    with Owner(container, "A"), sudo(container) as terminal:
        terminal.until(r"\b0\r\n")


# Says yes to everything, and signs with zeros, or with a key of its own.
LIAR = """
import base64, json, os, socket, sys, threading
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric.utils import Prehashed, decode_dss_signature
key = ec.generate_private_key(ec.SECP256R1())
status = {"name": "system", "isSimulated": "simulated" in sys.argv, "isEnrolled": True, "isPasscodeSet": True, "isLocked": "locked" in sys.argv,
          "hasAgent": True, "passcodeFailures": 0}

def sign(digest):
    if "zeros" in sys.argv:
        return bytes(64)
    r, s = decode_dss_signature(key.sign(digest, ec.ECDSA(Prehashed(hashes.SHA256()))))
    return r.to_bytes(32, "big") + s.to_bytes(32, "big")

def serve(connection):
    buffer = b""
    while chunk := connection.recv(65536):
        buffer += chunk
        *requests, buffer = buffer.split(b"\\0")
        for request in map(json.loads, requests):
            method = request["method"].rpartition(".")[2]
            print(method, file=sys.stderr, flush=True)
            answer = {"GetStatus": {"status": status}, "CreateContext": {"context": "c"},
                      "DescribeClient": {"app": {"name": "sudo"}, "origin": {"place": "local"}}}.get(method, {})
            if method == "Sign":
                answer = {"signature": base64.b64encode(sign(base64.b64decode(request["parameters"]["data"]))).decode()}
            if "silent" in sys.argv:
                continue
            if "endless" in sys.argv:
                while True:
                    connection.sendall(b"x" * 65536)
            if "garbage" in sys.argv:
                connection.sendall(b"\\xff{}]\\0")
            if "truncated" in sys.argv:
                connection.sendall(b'{"parameters": {"status"')
                connection.close()
                break
            connection.sendall(json.dumps({"parameters": answer}).encode() + b"\\0")

listener = socket.socket(socket.AF_UNIX)
with_path = sys.argv[1]
if os.path.exists(with_path):
    os.unlink(with_path)
listener.bind(with_path)
os.chmod(with_path, 0o666)
listener.listen()
print("ready", flush=True)
while True:
    threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()
"""


@contextlib.contextmanager
def liar(container, *words, path=f"{RUNTIME}/touchstoned.sock"):
    """In the place of touchstoned, where only root can put it."""
    container.run("systemctl", "stop", f"{DAEMON}.socket", DAEMON)
    container.write("/run/liar.py", LIAR)
    python = sys.executable if sys.prefix == sys.base_prefix else "python3"
    process = subprocess.Popen(
        container.command(python, "/run/liar.py", path, *words), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        check(process.stdout.readline() == "ready\n", "the liar")
        yield process
    finally:
        container.run("pkill", "-f", "/run/liar.py", status=None)
        process.kill()
        process.wait()
        container.run("rm", "-f", path)
        # It was started more often than systemd likes.
        container.run("systemctl", "reset-failed")
        container.run("systemctl", "start", f"{DAEMON}.socket")


def a_daemon_that_lies_lets_nobody_in(container):
    """PM-1, PM-3: in touchstoned's place, says yes to everything; a key of its own, zeros, "unlocked", a simulated device, nonsense."""
    container.write("/etc/pam.d/unlocking", "auth required pam_touchstone.so unlock timeout=5\n")
    for words, service, result in (
        ((), "alone", "System error"), (("zeros",), "alone", "System error"), (("locked",), "unlocking", "System error"),
        (("simulated",), "alone", "User not known"), (("garbage",), "alone", "cannot retrieve"), (("truncated",), "alone", "cannot retrieve"),
        (("silent",), "alone", "cannot retrieve"), (("endless",), "alone", "cannot retrieve"),
    ):
        with liar(container, *words):
            said = container.run("pamtester", service, OWNER, "authenticate", status=1)
            check(result in said.stderr + said.stdout, f"{words}: {said.stdout}{said.stderr}")
            if words == ():
                password_works(container)
    check("cannot be trusted; nobody was let in" in container.journal(), "the alert in the journal")
    # The twin: the real one. A folder that is not root's does not count.
    container.touchstone("device", "unlock", input=f"{PASSCODE}\n", status=None)
    with Owner(container, "A"):
        container.run("pamtester", "alone", OWNER, "authenticate")
        container.run("chmod", "777", RUNTIME)
        said = container.run("pamtester", "alone", OWNER, "authenticate", status=1)
        check("cannot retrieve" in said.stderr, said.stderr)
        container.run("chmod", "755", RUNTIME)


def a_key_that_others_can_write_is_not_believed(container):
    """PM-1: a file or folder that is not root's alone, another user's key, another's public key in its place."""
    folder = "/etc/touchstone/pam"
    kept = container.run("cat", ENROLLED).stdout
    with Owner(container, "A"):
        for change, back in (
            (("chmod", "666", ENROLLED), ("chmod", "644", ENROLLED)), (("chmod", "777", folder), ("chmod", "755", folder)),
            (("chown", OWNER, ENROLLED), ("chown", "root", ENROLLED)), (("chown", OWNER, folder), ("chown", "root", folder)),
            (("truncate", "-s", "40", ENROLLED), ("sh", "-c", f"cat > {ENROLLED}")),
        ):
            container.run(*change)
            said = container.run("pamtester", "alone", OWNER, "authenticate", status=1)
            check("System error" in said.stderr + said.stdout, f"{change}: {said.stdout}{said.stderr}")
            container.run(*back, input=kept)
        # The public half of the key that asks nobody, beside the other's blob: signed by one, looked at with the other.
        lines = kept.splitlines()
        swapped = f"{lines[0]}\n{lines[1]}\npresence {lines[3].split()[1]} {lines[2].split()[2]}\nunlocked {lines[2].split()[1]} {lines[3].split()[2]}\n"
        container.write(ENROLLED, swapped)
        said = container.run("pamtester", "alone", OWNER, "authenticate", status=1)
        check("System error" in said.stderr + said.stdout, said.stderr)
        container.run("touchstone", "pam", "status", status=1)
        container.write(ENROLLED, kept)
        container.run("pamtester", "alone", OWNER, "authenticate")


def su_asks_the_one_who_is_meant(container):
    """PM-4: from another user to the owner; and to root, who has no device."""
    with Owner(container, "A") as owner, Terminal(container, "su", OWNER, "-c", "id -u", user=STRANGER) as terminal:
        terminal.until(rf"\b{OWNER_ID}\r\n")
        check("Touch the fingerprint reader, or choose Use Password in the prompt." in terminal.shown, terminal.shown)
        check("\u201csu\u201d" in owner.shown and OWNER in owner.shown, owner.shown)
    with Owner(container, "A") as owner, Terminal(container, "su", "-c", "id -u") as terminal:
        terminal.password("another one")
        terminal.until(r"\b0\r\n")
        equal(owner.asked, 0, "prompts for root")
    with Owner(container, "cancel"), Terminal(container, "su", OWNER, "-c", "id -u", user=STRANGER) as terminal:
        terminal.password("wrong")
        terminal.until("Authentication failure")


def pkexec(container):
    # polkit's own agent of this user's: the one inside pkexec 122 is taken for root's ("No session for cookie").
    return Terminal(container, "sh", "-c", "pkttyagent --process $$ & agent=$!; sleep 1; pkexec id -u; kill $agent")


def pkexec_takes_a_finger(container):
    """PM-6: the real pkexec and polkit 122, whose helper is setuid."""
    with Owner(container, "A") as owner, pkexec(container) as terminal:
        terminal.until(r"[m\n]0\r\n")
        check("confirm that it is you (for the service" in owner.shown and "polkit" in owner.shown, owner.shown)
    with Owner(container, "cancel"), pkexec(container) as terminal:
        terminal.password(PASSWORD)
        terminal.until(r"[m\n]0\r\n")
    with Owner(container, "cancel"), pkexec(container) as terminal:
        terminal.password("wrong")
        terminal.until("Not authorized|FAILED")


def polkits_later_unit_is_served(container):
    """PM-33: the settings and the name of the unit in which polkit 127 runs PAM; any other unit has another identity, and no key."""
    settings = ("ProtectHome=yes", "PrivateDevices=yes", "PrivateNetwork=yes", "RestrictAddressFamilies=AF_UNIX")
    words = [word for setting in settings for word in ("-p", setting)]

    def run(unit, code):
        container.run("systemd-run", "--quiet", "--wait", "--collect", f"--unit={unit}", *words, "pamtester", "alone", OWNER, "authenticate", status=code)

    with Owner(container, "A"):
        run("polkit-agent-helper@0-1-0.service", 0)
        run("another.service", 1)


def login_opens_the_device(container):
    """PM-24: the password that was typed is tried once as the passcode, if the owner said that they are the same."""
    container.run("chpasswd", input=f"{OWNER}:{PASSCODE}\n")
    container.run("pam-auth-update", "--enable", "touchstone-unlock")
    check("optional\tpam_touchstone.so unlock_device" in container.run("cat", "/etc/pam.d/common-auth").stdout, "the profile")

    def reboot():
        container.run("systemctl", "stop", DAEMON, ENCLAVE)
        wait_for(lambda: status(container)["isLocked"], "the device to be locked")

    def log_in(password):
        with Terminal(container, "login", OWNER, user=None) as terminal:
            terminal.password(password)
            terminal.until(r"\$ $|Login incorrect")
            return "Login incorrect" not in terminal.shown

    def failures():
        return status(container)["passcodeFailures"]

    # Nobody said so: nothing is tried.
    reboot()
    check(log_in(PASSCODE), "the login")
    check(status(container)["isLocked"] and failures() == 0, "the device was unlocked unasked")
    container.touchstone("device", "unlock", input=f"{PASSCODE}\n")
    container.run("touchstone", "pam", "enroll", OWNER, "--same-passcode")
    reboot()
    check(not log_in("wrong"), "a wrong password")
    equal(failures(), 0, "what a wrong login password cost of the device's tries")
    check(log_in(PASSCODE), "the login")
    check(not status(container)["isLocked"], "the device after the login")
    # They are not the same any more: one try, and no other.
    container.run("chpasswd", input=f"{OWNER}:{PASSWORD}\n")
    reboot()
    for _ in range(3):
        check(log_in(PASSWORD), "the login")
    check(status(container)["isLocked"], "the device")
    equal(failures(), 1, "tries")
    check("same-passcode" in container.journal(), "the journal says how to switch it on again")
    container.touchstone("device", "unlock", input=f"{PASSCODE}\n")
    container.run("pam-auth-update", "--remove", "touchstone-unlock")


@contextlib.contextmanager
def started(container, *words):
    """A program of the owner's that runs meanwhile; what ends it is its process."""
    process = subprocess.Popen(container.command(*words, user=OWNER), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        yield process
    finally:
        process.terminate()
        process.wait()


class Screen:
    """A display with a locker on it, and who types there."""

    def __init__(self, container, environment, locker, write, press):
        self.container, self.environment = container, ("env", *environment)
        self.locker, self.writer, self.presser = locker, write, press

    def write(self, text):
        self.container.run(*self.environment, *self.writer, text, user=OWNER)

    def press(self, key):
        self.container.run(*self.environment, *self.presser, key, user=OWNER)

    def lock(self):
        locker = subprocess.Popen(
            self.container.command(*self.environment, *self.locker, user=OWNER), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        # It has the keyboard soon after it is there.
        time.sleep(2)
        check(locker.poll() is None, f"{self.locker}")
        return locker


def opens(locker, seconds=LONGEST):
    with contextlib.suppress(subprocess.TimeoutExpired):
        return locker.wait(seconds) == 0
    return False


def a_locker_opens_with_the_finger_that_opens_the_device(container):
    """PM-22, PM-40: i3lock on an X server."""
    screen = Screen(container, ["DISPLAY=:77"], ["i3lock", "-n", "-c", "000000"], ["xdotool", "type"], ["xdotool", "key"])
    with started(container, "Xvfb", ":77", "-ac"):
        time.sleep(1)
        a_screen_is_locked_and_opened(container, screen)


def a_locker_of_wayland_opens_with_it_too(container):
    """PM-22, PM-40: swaylock on sway without a screen."""
    place = "/tmp/wayland"
    container.run("install", "-d", "-m", "700", "-o", OWNER, place)
    # Its keyboard is a new one each time, of which swaylock has to hear first.
    wtype = ("wtype", "-s", "700")
    screen = Screen(
        container, [f"XDG_RUNTIME_DIR={place}", "WAYLAND_DISPLAY=wayland-1"], ["swaylock", "-c", "000000"], [*wtype, "-d", "20"],
        [*wtype, "-k"])
    environment = (f"XDG_RUNTIME_DIR={place}", "WLR_BACKENDS=headless", "WLR_LIBINPUT_NO_DEVICES=1", "WLR_RENDERER=pixman")
    with started(container, "env", *environment, "sway", "--config", "/dev/null"):
        wait_for(lambda: container.run("test", "-S", f"{place}/wayland-1", status=None).returncode == 0, "the compositor")
        a_screen_is_locked_and_opened(container, screen)


def a_screen_is_locked_and_opened(container, screen):
    """With the finger, and with the password; a wrong one, a daemon that is gone, and no answer leave it locked."""
    name = screen.locker[0]
    container.write(f"/etc/pam.d/{name}", "auth sufficient pam_touchstone.so unlock timeout=10\nauth required pam_unix.so\naccount required pam_permit.so\n")
    try:
        with Owner(container, None) as owner:
            container.touchstone("device", "lock")
            locker = screen.lock()
            screen.press("Return")
            wait_for(lambda: owner.asked, "the prompt to unlock")
            check(locker.poll() is None, "it opened by itself")
            touch(container, "B")
            time.sleep(2)
            check(locker.poll() is None and status(container)["isLocked"], "a wrong finger opened it")
            touch(container, "A")
            check(opens(locker), "the finger did not open it")
            check(not status(container)["isLocked"], "the device")
        # Device and locker are not locked together: then it is a prompt like any other.
        with Owner(container, "A"):
            locker = screen.lock()
            screen.press("Return")
            check(opens(locker), "the finger did not open it")
        # Gone daemon: nothing but the password opens it.
        container.run("systemctl", "stop", f"{DAEMON}.socket", DAEMON)
        locker = screen.lock()
        screen.press("Return")
        time.sleep(3)
        check(locker.poll() is None, "it opened without a device")
        screen.write("wrong")
        screen.press("Return")
        time.sleep(4)
        check(locker.poll() is None, "a wrong password opened it")
        screen.press("Escape")
        screen.write(PASSWORD)
        screen.press("Return")
        check(opens(locker), "the password did not open it")
        container.run("systemctl", "start", f"{DAEMON}.socket")
        container.touchstone("device", "unlock", input=f"{PASSCODE}\n", status=None)
    finally:
        container.run("pkill", name, status=None)


def a_trial_runs_the_stack_without_risk(container):
    """`touchstone pam test`"""
    with Owner(container, "A"):
        check("sudo would let you in" in container.touchstone("pam", "test", "sudo").stdout, "the trial of sudo")
        check("the module would let you in" in container.touchstone("pam", "test").stdout, "the trial of the module")
    said = container.touchstone("pam", "test", "sudo", status=1).stderr
    check("the finger did not do" in said, said)
    container.touchstone("pam", "test", "no-such-service", status=69)


def a_simulated_device_is_refused(container):
    """PM-3: and so is a user without a device."""
    said = container.run("touchstone", "pam", "enroll", STRANGER, status=5)
    check("has no device" in said.stderr, said.stderr)
    container.run("touchstone", "system", "create", STRANGER, "--biometry", "touchid", "--", "--simulated")
    container.touchstone("device", "passcode", "set", user=STRANGER, input=f"{PASSCODE}\n")
    said = container.run("touchstone", "pam", "enroll", STRANGER, status=5)
    check("simulated" in said.stderr, said.stderr)


def it_is_taken_out_again(container):
    """BR-5: after `remove` and `pam-auth-update --remove` all is as before."""
    container.run("touchstone", "pam", "remove", OWNER)
    container.run("touchstone", "pam", "remove", OWNER, status=1)
    with Owner(container, "A") as owner:
        password_works(container)
        equal(owner.asked, 0, "prompts")
    container.run("pam-auth-update", "--package", "--remove", "touchstone", "touchstone-unlock")
    check("touchstone" not in container.run("cat", "/etc/pam.d/common-auth").stdout, "common-auth")
    password_works(container)


TESTS = (
    nothing_changes_before_it_is_enabled, a_finger_does_for_sudo, the_passcode_does, a_wrong_finger_asks_for_the_password, use_password_hands_over_at_once,
    use_password_three_times_is_explained, nobody_at_the_prompt_is_waited_for_in_vain, it_stands_aside_at_once, its_limits_hold, over_ssh_the_password_is_asked_for, a_daemon_that_is_gone_or_stuck_is_no_obstacle,
    a_helper_that_ends_is_no_answer, a_daemon_that_lies_lets_nobody_in, a_key_that_others_can_write_is_not_believed, su_asks_the_one_who_is_meant,
    pkexec_takes_a_finger, polkits_later_unit_is_served, login_opens_the_device, a_locker_opens_with_the_finger_that_opens_the_device,
    a_locker_of_wayland_opens_with_it_too, a_trial_runs_the_stack_without_risk, a_simulated_device_is_refused, it_is_taken_out_again)


def all_of_them():
    versions()
    with Container() as container:
        set_up(container)
        for test in TESTS:
            if len(sys.argv) > 1 and test.__name__ not in ("nothing_changes_before_it_is_enabled", *sys.argv[1:]):
                continue
            started = time.monotonic()
            try:
                fresh(container)
                test(container)
            except BaseException:
                print(container.journal()[-6000:], flush=True)
                raise
            print(f"  ok {test.__name__} ({time.monotonic() - started:.1f} s)", flush=True)


main(all_of_them)
