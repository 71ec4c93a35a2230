"""What fido.py runs in its guest, as root: the units as they are installed, a person at the screen, and the clients. No test itself."""

import base64
import contextlib
import glob
import json
import os
import pathlib
import pty
import re
import select
import subprocess
import sys
import threading
import time
import traceback

from container import DAEMONS, OWNER, OWNER_ID, PROGRAMS, STRANGER, STRANGER_ID, SYSTEM, Container
from device import REPOSITORY, check, equal, wait_for
from fido import CANCEL, CBOR, ERROR, HASH, PING, Channel, make_request
from guest import DONE
from system_reader import VIRTUAL, tell, touch

from fido2.ctap import CtapError
from fido2.ctap2 import Ctap2
from fido2.hid import open_device

BRIDGES = REPOSITORY / ".build/debug"
UNREADABLE = f"{DAEMONS}/system"
PASSCODE = "271828"
UNIT = "touchstone-fido@{}.service".format
LONGEST = 120
PROMPT = "Touch the fingerprint sensor|Enter the passcode"


class Machine(Container):
    """The guest itself: what tests do in a container they do here."""

    patience = 150

    def __init__(self):
        self.change = lambda name, text: text

    def command(self, *arguments, user=None):
        become = ["setpriv", f"--reuid={user}", f"--regid={user}", "--init-groups", "--inh-caps=-all"] if user else []
        environment = ["env", "-i", "PATH=/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C.UTF-8", f"HOME={f'/home/{user}' if user else '/root'}"]
        return [*become, *environment, *map(str, arguments)]

    def child(self):
        return 1

    def shell(self, script, user=OWNER, status=0, input=""):
        """Standard output of a script of sh, in the user's home."""
        return self.run("sh", "-c", f"cd && {script}", user=user, status=status, input=input).stdout


class Owner:
    """`touchstone agent` at a terminal of the user's, and a person who does `answer` at each prompt: "finger", "passcode" or "cancel"."""

    def __init__(self, machine, user=OWNER, answer="finger"):
        self.machine, self.answer, self.shown, self.drawn = machine, answer, "", 0
        self.process, self.terminal = pty.fork()
        if self.process == 0:
            command = machine.command("touchstone", "agent", user=user)
            os.execvp(command[0], command)
        threading.Thread(target=self.look, daemon=True).start()
        wait_for(lambda: "ready" in self.shown, f"the agent of {user}", LONGEST)

    @property
    def asked(self):
        """How many prompts there were. One is drawn again in place, so those are counted that end, and what comes after."""
        return sum(re.search(PROMPT, part) is not None for part in re.split(r"Recognised: |Dismissed: |Cancelled\.", self.shown))

    def look(self):
        with contextlib.suppress(OSError):
            while chunk := os.read(self.terminal, 4096):
                self.shown += chunk.decode(errors="replace")
                count = len(re.findall(PROMPT, self.shown))
                if count > self.drawn:
                    self.drawn = count
                    threading.Timer(0.8, self.act).start()

    def act(self):
        if self.answer == "cancel":
            os.write(self.terminal, b"c")
        elif self.answer == "passcode":
            os.write(self.terminal, f"{PASSCODE}\n".encode())
        elif self.answer == "finger":
            touch("A", LONGEST)


def say(what):
    print(f"  {time.clock_gettime(time.CLOCK_BOOTTIME):.0f} s after the boot: {what}", flush=True)


def set_up(machine):
    for program in ("touchstoned", "touchstone-enclave", "touchstone-peers"):
        pathlib.Path(DAEMONS).mkdir(parents=True, exist_ok=True)
        pathlib.Path(f"{DAEMONS}/{program}").touch()
        machine.run("mount", "--bind", PROGRAMS / program, f"{DAEMONS}/{program}")
    machine.run("install", "-m", "755", PROGRAMS / "touchstone", BRIDGES / "touchstone-fido", "/usr/bin")
    machine.run("install", "-D", "-m", "711", "-t", UNREADABLE, "/usr/bin/touchstone-fido")
    machine.boot()
    say("the units are there")
    for file in (SYSTEM / "apps").iterdir():
        machine.write(f"/usr/share/touchstone/apps/{file.name}", file.read_text())
    machine.write("/run/systemd/system/fprintd.service.d/virtual.conf", VIRTUAL)
    machine.run("systemctl", "daemon-reload")
    # Somebody is at the screen: until then pam_nologin lets only root log in.
    machine.run("systemctl", "start", "systemd-user-sessions.service")
    machine.run("systemctl", "start", "getty@tty1.service")
    wait_for(lambda: re.search(rf"{OWNER} +seat0", machine.run("loginctl", "list-sessions", "--no-legend").stdout), "the owner at the screen", LONGEST)
    say("the owner is at the screen")
    machine.create("--biometry", "touchid", "--", "--sensor", "fprintd", "--bus", "/run/dbus/system_bus_socket", "--templates", "/var/lib/fprint")
    machine.touchstone("device", "passcode", "set", input=f"{PASSCODE}\n")
    say("the device is there")
    enrolling = subprocess.Popen(["fprintd-enroll", "-f", "right-index-finger", OWNER], stdout=subprocess.DEVNULL)
    while enrolling.poll() is None:
        tell("SCAN A")
        time.sleep(0.1)
    check(enrolling.returncode == 0, "the finger is enrolled")
    wait_for(lambda: json.loads(machine.touchstone("device", "status", "--json").stdout)["isEnrolled"], "the enclave to know of the finger", LONGEST)


def nodes():
    return sorted(glob.glob("/dev/hidraw*"))


def allowed(machine, user, path, how):
    """Whether a user's program can open a file."""
    return machine.run("python3", "-c", f"open({path!r}, {how!r}, buffering=0)", user=user, status=None).returncode == 0


def root_enables_it_once(machine, owner):
    """BR-5, FD-3, FD-4: the command that root runs; then the owner at the screen has the security key, and nobody has /dev/uhid."""
    check("not enabled" in machine.touchstone("bridge", "status").stdout, "before")
    equal(nodes(), [], "before")
    said = machine.touchstone("bridge", "enable", "fido", "--yes", status=5).stderr
    wanted = f"systemctl enable --now {UNIT(OWNER_ID)}"
    check(f"sudo {wanted}" in said, said)
    machine.run(*wanted.split())
    wait_for(nodes, f"the device; {machine.journal(UNIT(OWNER_ID))}", LONGEST)
    said = machine.touchstone("bridge", "enable", "fido", "--yes").stdout
    check("systemctl" not in said, said)
    machine.run("udevadm", "settle")
    [node] = nodes()
    properties = machine.run("udevadm", "info", node).stdout
    check("ID_FIDO_TOKEN=1" in properties and ":uaccess:" in properties.replace("CURRENT_TAGS", "TAGS"), properties)
    wait_for(lambda: allowed(machine, OWNER, node, "r+b"), f"the owner's right to {node}: {properties}", LONGEST)
    check(not allowed(machine, STRANGER, node, "rb"), f"somebody else reads {node}")
    for user in (OWNER, STRANGER):
        check(not allowed(machine, user, "/dev/uhid", "rb"), f"{user} reads /dev/uhid")
    status = os.stat("/dev/uhid")
    equal((status.st_uid, status.st_gid, status.st_mode & 0o777), (0, 0, 0o600), "/dev/uhid")
    # What the program can open itself, and whether others see into it.
    pid = machine.main_pid(UNIT(OWNER_ID))
    equal(sorted(os.listdir(f"/proc/{pid}/root/dev")).count("uhid"), 0, "/dev/uhid is not in what the program sees")
    check(not allowed(machine, OWNER, f"/proc/{pid}/mem", "rb"), "its memory")
    check(not allowed(machine, OWNER, f"/proc/{pid}/fd/0", "rb"), "its descriptors")


def it_says_how_it_is(machine, owner):
    """IM-32: the status, and the doctor's row; killed, it comes back."""
    said = machine.touchstone("bridge", "status").stdout
    check("fido" in said and "cannot act as it" in said, said)
    said = machine.touchstone("doctor", status=None).stdout
    check(re.search(r"fido bridge.*answers", said, re.S), said)
    pid = machine.main_pid(UNIT(OWNER_ID))
    machine.run("kill", "-9", str(pid))
    wait_for(lambda: machine.main_pid(UNIT(OWNER_ID)) not in (0, pid), "it to start again", LONGEST)
    wait_for(lambda: len(nodes()) == 1 and allowed(machine, OWNER, nodes()[0], "r+b"), "the device to be there again", LONGEST)


def key(machine, user=OWNER):
    """The node of a user's security key, by the name that the kernel has of it."""
    return wait_for(lambda: next((node for node in nodes() if allowed(machine, user, node, "r+b")), None), "a security key", LONGEST)


def fido2_token_finds_it(machine, owner):
    """FD-2, FD-11, FD-40: fido2-token -L and -I."""
    node = key(machine)
    said = machine.run("fido2-token", "-L", user=OWNER).stdout
    check(said.startswith(f"{node}: vendor=0xf1d0, product=0x7053 ") and said.count("\n") == 1, said)
    said = machine.run("fido2-token", "-I", node, user=OWNER).stdout
    for wanted in ("version strings: FIDO_2_0, FIDO_2_1", "extension strings: credProtect, hmac-secret", "maxmsgsiz: 1800", "cbor, nomsg"):
        check(wanted in said, f"{wanted}: {said}")
    equal(set(re.search(r"options: (.*)", said)[1].split(", ")), {"rk", "up", "uv", "noplat", "alwaysUv", "credMgmt", "pinUvAuthToken"}, said)
    equal(owner.asked, 0, "nobody is asked")


def lines(*values):
    return "".join(f"{value}\n" for value in values)


def fido2_cred_and_fido2_assert(machine, owner):
    """FD-13, FD-14, FD-30, FD-32, FD-40: -M and -V with and without rk and uv, -G and -V; and up=false, which does not verify."""
    node = key(machine)
    hash64 = "MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY="
    for number, options in enumerate(([], ["-r"], ["-v"], ["-r", "-v"])):
        site = f"site{number}.example"
        before = owner.asked
        made = machine.run("fido2-cred", "-M", *options, node, user=OWNER, input=lines(hash64, site, "ada", "dXNlcg==")).stdout
        verified = machine.run("fido2-cred", "-V", *(["-v"] if "-v" in options else []), user=OWNER, input=made).stdout
        name, public = verified.split("\n", 1)
        machine.write("/tmp/public.pem", public)
        wanted = lines(hash64, site) + ("" if "-r" in options else lines(name))
        for more in ([["-t", "uv=true"], ["-t", "up=true"], ["-t", "uv=true"], []][number], []):
            got = machine.run("fido2-assert", "-G", *(["-r"] if "-r" in options else []), *more, node, user=OWNER, input=wanted).stdout
            machine.run("fido2-assert", "-V", "-p", "-v", "/tmp/public.pem", "es256", user=OWNER, input="\n".join(got.splitlines()[:4]) + "\n")
        equal(owner.asked - before, 3, f"prompts for {options}")
        silent = machine.run("fido2-assert", "-G", "-t", "up=false", node, user=OWNER, input=lines(hash64, site, name)).stdout
        equal(owner.asked - before, 3, "a silent look asks nobody")
        said = machine.run("fido2-assert", "-V", "/tmp/public.pem", "es256", user=OWNER, input="\n".join(silent.splitlines()[:4]) + "\n", status=1).stderr
        check("fido_assert_verify" in said, said)


SSHD = """Port 2222
ListenAddress 127.0.0.1
HostKey /root/sshd/host
PidFile /root/sshd/pid
UsePAM no
PasswordAuthentication no
AuthorizedKeysFile /home/%u/.ssh/authorized_keys
PubkeyAuthOptions {options}
"""


def ssh_keys(machine, owner):
    """FD-40: ssh-keygen -t ecdsa-sk, in a file and resident, and logins to a real sshd; without the owner nobody logs in."""
    machine.shell("rm -rf sshd; mkdir -p sshd /run/sshd; ssh-keygen -q -t ed25519 -N '' -f sshd/host", user=None)
    machine.shell("mkdir -m 700 -p .ssh")
    # A lock on the password would refuse the key, too.
    machine.run("usermod", "-p", "*", OWNER)
    login = "ssh -p 2222 -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -o IdentitiesOnly=yes -o BatchMode=yes -i {} 127.0.0.1 'echo in; id -u'"

    @contextlib.contextmanager
    def server(options):
        machine.write("/root/sshd/config", SSHD.format(options=options))
        process = subprocess.Popen(["/usr/sbin/sshd", "-D", "-e", "-f", "/root/sshd/config"], stderr=open("/root/sshd/log", "a"))
        try:
            wait_for(lambda: pathlib.Path("/root/sshd/pid").exists(), "sshd", LONGEST)
            yield
        finally:
            process.terminate()
            process.wait()
            pathlib.Path("/root/sshd/pid").unlink(missing_ok=True)

    before = owner.asked
    machine.shell("ssh-keygen -q -t ecdsa-sk -N '' -f .ssh/plain && ssh-keygen -q -t ecdsa-sk -O resident -O verify-required -N '' -f .ssh/resident")
    machine.shell("ssh-keygen -q -t ecdsa-sk -O resident -O application=ssh:other -O user=ada -N '' -f .ssh/other")
    # Where a key may be there already, ssh-keygen looks for it with a token first.
    equal(owner.asked - before, 5, "prompts of ssh-keygen")
    machine.shell("cat .ssh/plain.pub .ssh/other.pub > .ssh/authorized_keys; (printf 'verify-required '; cat .ssh/resident.pub) >> .ssh/authorized_keys")
    with server("none"):
        for name in ("plain", "resident", "other"):
            said = machine.shell(login.format(f".ssh/{name}") + " 2>&1", status=None)
            check(f"in\n{OWNER_ID}\n" in said, f"{name}: {said}\n{pathlib.Path('/root/sshd/log').read_text()[-1500:]}\n{owner.shown[-500:]}")
        owner.answer = "cancel"
        said = machine.shell(login.format(".ssh/plain") + " 2>&1", status=255)
        check("Permission denied" in said, said)
        owner.answer = "finger"


def pam_u2f(machine, owner):
    """FD-40: pam_u2f, by pamtester, with what a stack can want of it; its mapping is made by fido2-cred.

    pamu2fcfg 1.1 takes no key without a certificate of its maker, and says so."""
    before, node = owner.asked, key(machine)
    said = machine.run("pamu2fcfg", "-o", "pam://guest", "-i", "pam://guest", "-u", OWNER, user=OWNER, status=None)
    check(said.returncode == 0 or "fido_cred_verify (-7)" in said.stderr, f"{said}")
    made = machine.run("fido2-cred", "-M", node, user=OWNER, input=lines(
        "MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=", "pam://guest", OWNER, "dXNlcg==")).stdout
    name, public = machine.run("fido2-cred", "-V", user=OWNER, input=made).stdout.split("\n", 1)
    point = base64.b64decode("".join(public.splitlines()[1:-1]))[-64:]
    machine.write("/etc/u2f_mappings", f"{OWNER}:{name},{base64.b64encode(point).decode()},es256,+presence\n")
    for options in ("", "userverification=1", "cue"):
        machine.write("/etc/pam.d/guest-test", f"auth required pam_u2f.so authfile=/etc/u2f_mappings origin=pam://guest appid=pam://guest {options}\n"
                      "account required pam_permit.so\n")
        said = machine.run("pamtester", "guest-test", OWNER, "authenticate", user=OWNER)
        check("successfully authenticated" in said.stdout + said.stderr, f"{options}: {said}")
    equal(owner.asked - before, 5, "prompts")
    owner.answer = "cancel"
    said = machine.run("pamtester", "guest-test", OWNER, "authenticate", user=OWNER, status=None)
    check(said.returncode != 0, f"a no lets in: {said}")
    owner.answer = "finger"


@contextlib.contextmanager
def opened(path):
    """python-fido2's device, by its node."""
    device = open_device(path)
    try:
        yield device
    finally:
        device.close()


def make(ctap, site):
    return ctap.make_credential(
        HASH, {"id": site, "name": site}, {"id": b"user", "name": "ada"}, [{"type": "public-key", "alg": -7}], options={"rk": True})


class Node:
    """The kernel's device in the place of the socket that our own client speaks to."""

    def __init__(self, path):
        self.file = os.open(path, os.O_RDWR)

    def sendall(self, packet):
        # The number of the report stands in front.
        os.write(self.file, b"\0" + packet)

    def recv(self, count):
        check(select.select([self.file], [], [], LONGEST)[0], "nothing comes")
        return os.read(self.file, count)

    def close(self):
        os.close(self.file)


def two_programs_at_once(machine, owner):
    """FD-6, FD-7: two programs with channels of their own; one waits for the owner, and the other hears "busy"; a cancel ends it."""
    node = key(machine)
    first, second = Channel(None, Node(node)), Channel(None, Node(node))
    check(first.number != second.number, "their channels")
    owner.answer, before = "nothing", owner.asked
    first.ask(1, make_request("first.example"))
    wait_for(lambda: owner.asked > before, "the prompt", LONGEST)
    second.send(CBOR, b"\4")
    equal(second.message(), (ERROR, b"\6"), "the other program")
    first.send(PING, bytes(100))
    equal(first.message(), (ERROR, b"\6"), "the program itself, beside its request")
    first.send(CANCEL)
    equal(first.answer(), (0x2D, {}), "the one that was cancelled")
    check(any(payload == b"\2" for _, payload in first.keepalives), "it hears that a person is waited for")
    second.send(PING, bytes(1800))
    equal(second.message(), (PING, bytes(1800)), "the longest message that clients are told of")
    equal(second.call(4)[0], 0, "the other one, afterwards")
    first.close()
    second.close()
    # Whoever closes the device while the owner is asked takes the prompt along.
    owner.answer = "nothing"
    before = owner.asked
    asking = subprocess.Popen(machine.command("fido2-cred", "-M", node, user=OWNER), stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
    asking.stdin.write(lines("MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=", "killed.example", "ada", "dXNlcg=="))
    asking.stdin.close()
    wait_for(lambda: owner.asked > before, "the prompt", LONGEST)
    asking.kill()
    asking.wait()
    wait_for(lambda: not json.loads(machine.touchstone("device", "status", "--json").stdout)["hasPrompt"], "the prompt to go", LONGEST)
    owner.answer = "finger"


def a_second_one_beside_it(machine, owner):
    """FD-16, FD-40: another user's security key on the same computer; a program that chooses among both gets the one whose owner answers."""
    machine.run("touchstone", "system", "create", STRANGER)
    machine.touchstone("device", "passcode", "set", user=STRANGER, input=f"{PASSCODE}\n")
    first = key(machine)
    machine.run("systemctl", "start", UNIT(STRANGER_ID))
    wait_for(lambda: len(nodes()) == 2, "the second device", LONGEST)
    [second] = [node for node in nodes() if node != first]
    wait_for(lambda: allowed(machine, OWNER, second, "r+b"), "the seat's right to it", LONGEST)
    equal(machine.run("fido2-token", "-L", user=OWNER).stdout.count("product=0x7053"), 2, "how many there are")
    other = Owner(machine, STRANGER, "passcode")
    with opened(first) as one, opened(second) as two:
        made = make(Ctap2(one), "both.example")
        for device, wanted in ((one, 0), (two, CtapError.ERR.NO_CREDENTIALS)):
            try:
                Ctap2(device).get_assertion("both.example", HASH, [{"id": made.auth_data.credential_data.credential_id, "type": "public-key"}],
                                            options={"up": False})
                code = 0
            except CtapError as error:
                code = error.code
            equal(code, wanted, "who has the passkey")
    # ssh-keygen asks both to be chosen: the owner does nothing, the other one says yes. Then that one is asked for the key.
    owner.answer, before = "nothing", (owner.asked, other.asked)
    machine.shell("ssh-keygen -q -t ecdsa-sk -N '' -f .ssh/chosen")
    equal((owner.asked - before[0], other.asked - before[1]), (1, 2), "who was asked")
    # The twin: the other one does nothing.
    owner.answer, other.answer, before = "finger", "nothing", (owner.asked, other.asked)
    machine.shell("ssh-keygen -q -t ecdsa-sk -N '' -f .ssh/chosen2")
    equal((owner.asked - before[0], other.asked - before[1]), (2, 1), "who was asked")
    machine.run("systemctl", "stop", UNIT(STRANGER_ID))
    wait_for(lambda: nodes() == [first], "the second device to go", LONGEST)


def it_goes_with_the_passcode_and_the_unit(machine, owner):
    """BR-5, FD-11, FD-17: the list; disabled it is gone, and the doctor says what is so."""
    said = machine.touchstone("fido", "list").stdout
    check("both.example" in said and "ssh:" in said, said)
    said = machine.touchstone("bridge", "disable", "fido", "--yes", status=None)
    wanted = f"systemctl disable --now {UNIT(OWNER_ID)}"
    check(wanted in said.stdout + said.stderr, f"{said}")
    machine.run(*wanted.split())
    wait_for(lambda: nodes() == [], "the device to go", LONGEST)
    check("not enabled" in machine.touchstone("bridge", "status").stdout, "afterwards")


TESTS = (
    root_enables_it_once, it_says_how_it_is, fido2_token_finds_it, fido2_cred_and_fido2_assert, ssh_keys, pam_u2f, two_programs_at_once,
    a_second_one_beside_it, it_goes_with_the_passcode_and_the_unit)


def all_of_them():
    machine = Machine()
    say("the test begins")
    set_up(machine)
    owner, failed = Owner(machine), False
    say("the agent is there")
    words = os.environ.get("ONLY", "").split()
    # The first of them is what the others need.
    for test in [test for test in TESTS if not words or test is TESTS[0] or any(word in test.__name__ for word in words)]:
        began = time.monotonic()
        try:
            test(machine, owner)
        except Exception:
            traceback.print_exc()
            print(f"  FAILED {test.__name__}\n{machine.journal(UNIT(OWNER_ID))[-1500:]}\n{owner.shown[-600:]}", flush=True)
            failed = True
            owner.answer = "finger"
        else:
            say(f"ok {test.__name__} ({time.monotonic() - began:.0f} s)")
    if not failed:
        print(DONE, flush=True)


for program in (BRIDGES / "touchstone-fido", *map(pathlib.Path, (
        "/usr/bin/fido2-token", "/usr/bin/pamu2fcfg", "/usr/bin/pamtester", "/usr/sbin/sshd", "/usr/bin/ssh-keygen", "/usr/bin/fprintd-enroll",
        f"/lib/{os.uname().machine}-linux-gnu/security/pam_u2f.so"))):
    if not program.exists():
        sys.exit(f"{program} is not there: run make test-system")
all_of_them()
