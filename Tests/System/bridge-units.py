#!/usr/bin/env python3
"""The bridges as services of the system (BR-2): what the owner's other programs cannot do to them, and can to a program of the owner's own."""

import contextlib
import os
import pathlib
import pty
import subprocess
import sys
import threading

from container import MEMORY, OWNER, OWNER_ID, PLACES, REFUSED, STRANGER, SYSTEM, Container
from device import LONGEST_WAIT, REPOSITORY, check, equal, main, wait_for

BRIDGES = pathlib.Path(os.environ.get("TOUCHSTONE_BRIDGES", REPOSITORY / ".build/debug")).resolve()
PROGRAMS = (
    "touchstone-credentials", "git-credential-touchstone", "docker-credential-touchstone", "touchstone-ssh-agent", "touchstone-ssh", "touchstone-pkcs11",
    "touchstone-sync")
RESIDENT = {"touchstone-credentials": "credentials.sock", "touchstone-ssh-agent": "ssh-agent.sock", "touchstone-pkcs11": "pkcs11.sock"}
PASSCODE = "a-passcode-of-the-bridges"
PLACE = "protocol=https\nhost=git.example\n"
KEPT = PLACE + "username=octocat\npassword=correct horse\n"
# As system/README.md says.
UNREADABLE = "/usr/libexec/touchstone/system"
RUNTIME = f"/run/touchstone/{OWNER_ID}"


def set_up(container):
    container.create()
    container.touchstone("device", "passcode", "set", input=f"{PASSCODE}\n")
    for program in PROGRAMS:
        with open(BRIDGES / program, "rb") as file:
            subprocess.run(container.command("sh", "-c", 'cat > "$1" && chmod 755 "$1"', "sh", f"/usr/bin/{program}"), stdin=file, check=True)
    container.run("install", "-D", "-m", "711", "-t", UNREADABLE, *(f"/usr/bin/{program}" for program in RESIDENT))
    for file in (SYSTEM / "apps").iterdir():
        container.write(f"/usr/share/touchstone/apps/{file.name}", file.read_text())


# What a program of the owner's tries: `rounds` times it ends `name`, makes systemd start it again, and opens its memory until it answers.
START = """
def found(name):
    for number in os.listdir("/proc"):
        try:
            if number.isdigit() and open(f"/proc/{number}/comm").read() == name[:15] + "\\n":
                yield int(number)
        except OSError:
            pass

def try_to_open(before):
    for number in os.listdir("/proc"):
        if number not in before and number.isdigit():
            try:
                os.close(os.open(f"/proc/{number}/mem", os.O_RDWR))
            except OSError:
                continue
            if int(number) in found(name):
                return True
    return False

opened = 0
for round in range(rounds):
    for pid in found(name):
        os.kill(pid, signal.SIGKILL)
    while list(found(name)):
        time.sleep(0.01)
    before = set(os.listdir("/proc"))
    connection = connect(path)
    connection.sendall(request)
    connection.setblocking(False)
    success, answer, end = False, b"", time.monotonic() + 30
    while not answer:
        success = success or try_to_open(before)
        try:
            answer = connection.recv(1)
        except BlockingIOError:
            continue
        if not answer or time.monotonic() > end:
            sys.exit("it did not start again")
    opened += success
say(opened)
"""
LIST = {
    "touchstone-credentials": b'{"method":"org.varlink.service.GetInfo","parameters":{}}\0', "touchstone-ssh-agent": b"\0\0\0\x01\x0b", "touchstone-pkcs11": b"\0"}


class Owner:
    """`touchstone agent` at a terminal, where the passcode is typed for each prompt."""

    def __init__(self, container):
        self.shown, self.error = "", None
        process, self.terminal = pty.fork()
        if process == 0:
            command = container.command("touchstone", "agent", user=OWNER)
            os.execvp(command[0], command)
        self.process = process
        self.thread = threading.Thread(target=self.look, daemon=True)
        self.thread.start()
        wait_for(lambda: self.shown, "the agent")

    def look(self):
        answered = 0
        with contextlib.suppress(OSError):
            while chunk := os.read(self.terminal, 4096):
                self.shown += chunk.decode(errors="replace")
                if self.shown.count("Enter the passcode") > answered:
                    answered = self.shown.count("Enter the passcode")
                    # Keys count half a second after a prompt is shown.
                    threading.Timer(1, os.write, (self.terminal, f"{PASSCODE}\n".encode())).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        os.kill(self.process, 15)
        os.waitpid(self.process, 0)
        os.close(self.terminal)


def git(container, action, text, **variables):
    settings = ("-c", "credential.helper=", "-c", "credential.helper=touchstone")
    variables |= {"GIT_TERMINAL_PROMPT": "0", "GIT_ASKPASS": "/bin/false"}
    words = [f"{name}={value}" for name, value in variables.items()]
    return container.run("env", *words, "git", *settings, "credential", action, user=OWNER, input=text, status=None)


def enabling_needs_root_once(container):
    """BR-5: the command that root runs; then the same as on a device of one's own."""
    for bridge, program in (("git", "touchstone-credentials"), ("ssh", "touchstone-ssh-agent"), ("pkcs11", "touchstone-pkcs11")):
        said = container.touchstone("bridge", "enable", bridge, "--yes", status=5).stderr
        wanted = f"systemctl enable --now {program}@{OWNER_ID}.socket"
        check(f"sudo {wanted}" in said, said)
        container.run(*wanted.split())
        said = container.touchstone("bridge", "enable", bridge, "--yes").stdout
        check("systemctl" not in said, said)
        container.run("test", "!", "-e", f"/home/{OWNER}/.config/systemd")
    check(f"{RUNTIME}/ssh-agent.sock" in container.run("cat", f"/home/{OWNER}/.ssh/config").stdout, "ssh's agent")
    said = container.touchstone("bridge", "status").stdout
    equal(said.count("cannot act as it"), 4, f"the states of ssh, git, credentials and pkcs11: {said}")


def they_are_known_by_their_units(container):
    """BR-2: a password is kept, and given out after the passcode, in a prompt that names who asks; a key is made and listed."""
    git(container, "approve", KEPT)
    equal(git(container, "fill", PLACE).stdout, "", "the password without an agent")
    with Owner(container) as owner:
        said = git(container, "fill", PLACE)
        check("password=correct horse\n" in said.stdout, f"{said} {owner.shown}")
        check("read the password of octocat at git.example" in owner.shown, owner.shown)
        check("git" in owner.shown and "could not be identified" not in owner.shown, owner.shown)
    agent = {"SSH_AUTH_SOCK": f"{RUNTIME}/ssh-agent.sock"}
    words = ["env", *(f"{name}={value}" for name, value in agent.items())]
    container.run(*words, "touchstone-ssh", "create", "laptop", user=OWNER)
    check("laptop" in container.run(*words, "ssh-add", "-l", user=OWNER).stdout, "the key")
    for program in RESIDENT:
        check("an ordinary program" not in container.journal(f"{program}@{OWNER_ID}.service"), "what it says of itself")


def nobody_looks_into_them(container):
    """BR-2: memory, descriptors, tracing; the same ways into the same program as one of the owner's own."""
    own = subprocess.Popen(
        container.command("touchstone-credentials", "--socket", f"/home/{OWNER}/own.sock", user=OWNER), stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL, text=True)
    try:
        check(own.stdout.readline().startswith("ready"), "a program of the owner's own")

        def ways(pid, user):
            address = int(container.run("head", "-c", "12", f"/proc/{pid}/maps").stdout.split("-")[0], 16)
            found = container.python(f"pid, address = {pid}, {address}\n" + MEMORY, user=user)
            return {what for what, code in found.items() if code not in REFUSED}

        for program, socket in RESIDENT.items():
            pid = container.main_pid(f"{program}@{OWNER_ID}.service")
            check(pid > 0, f"{program} does not run")
            equal(container.run("stat", "-c", "%U %a", f"{RUNTIME}/{socket}").stdout, f"{OWNER} 600\n", f"who may use {socket}")
            # It has the owner's number, so that signals and limits are not refused.
            check(ways(pid, OWNER) <= {"kill", "prlimit"}, f"{program}, attacked by its owner's programs: {ways(pid, OWNER)}")
            equal(ways(pid, STRANGER), set(), f"{program}, attacked by another user")
        pid = int(container.run("pgrep", "-f", "own.sock", user=OWNER).stdout.split()[0])
        check({"ptrace", "mem", "process_vm_readv", "fd"} <= ways(pid, OWNER), "the attacks find nothing in a program of the owner's own")
        # It is another app: what the service keeps is not there.
        equal(git(container, "fill", PLACE, TOUCHSTONE_CREDENTIALS=f"/home/{OWNER}/own.sock").stdout, "", "the password from another program")
    finally:
        own.kill()
        own.wait()


def nobody_looks_into_them_while_they_start(container):
    """BR-2: a start that a program of the owner's causes; the same into a file that the owner can read."""
    def opened(program, rounds):
        values = f"name, path, request, rounds = {program!r}, {RUNTIME + '/' + RESIDENT[program]!r}, {LIST[program]!r}, {rounds}\n"
        return container.python(values + START, user=OWNER)

    for program in RESIDENT:
        place = f"/run/systemd/system/{program}@"
        # systemd gives up after some starts. A patient attacker waits.
        container.write(f"{place}.service.d/starts.conf", "[Unit]\nStartLimitIntervalSec=0\n")
        container.write(f"{place}.socket.d/starts.conf", "[Socket]\nTriggerLimitIntervalSec=0\n")
        readable = f"{place}.service.d/readable.conf"
        container.write(readable, f"[Service]\nExecStart=\nExecStart=/usr/bin/{program}\n")
        container.run("systemctl", "daemon-reload")
        # More tries where the machine is busy.
        check(any(opened(program, 5) for _ in range(10)), f"{program}: the attack never finds a readable file's process open")
        container.run("rm", readable)
        container.run("systemctl", "daemon-reload")
        equal(sum(opened(program, 5) for _ in range(10)), 0, f"{program}: how often its memory was opened in 50 starts")


def removing_the_device_disables_them(container):
    """BR-5: their sockets go with the device."""
    units = [f"{program}@{OWNER_ID}.socket" for program in RESIDENT]
    equal(container.run("systemctl", "is-enabled", *units).stdout, "enabled\n" * len(units), "before")
    equal(container.run("systemctl", "is-active", *units).stdout, "active\n" * len(units), "before")
    container.run("touchstone", "system", "remove", "--yes", OWNER)
    equal(container.run("systemctl", "is-enabled", *units, status=None).stdout, "disabled\n" * len(units), "after")
    equal(container.run("systemctl", "is-active", *units, status=None).stdout, "inactive\n" * len(units), "after")
    for socket in RESIDENT.values():
        container.run("test", "!", "-e", f"{RUNTIME}/{socket}")


def another_program_is_not_served(container):
    """GC-1: as a service of the system it serves our helpers alone; another user reaches no socket."""
    source = (
        'import sys\nconnection = connect("%s/credentials.sock")\n'
        'send(connection, "Credentials.List", item={"kind": "git", "place": ""})\nsay(receive(connection)[0])')
    equal(container.python(source % RUNTIME, user=OWNER), "org.varlink.service.PermissionDenied", "a program of the owner's")
    equal(container.python(f'say(number(lambda: connect("{RUNTIME}/credentials.sock")))', user=STRANGER), "EACCES", "another user")


@contextlib.contextmanager
def synchronizing(container):
    """The owner's touchstone-sync, and what it says."""
    process = subprocess.Popen(
        container.command("touchstone-sync", user=OWNER), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        yield process.stdout
    finally:
        container.run("pkill", "-u", OWNER, "-x", "touchstone-sync", status=None)
        process.wait(LONGEST_WAIT)


def synchronizing_is_on_the_packages_list(container):
    """SY-32: its touchstone-sync has the owner's interface, as the command has. The twin: without its line it is told so."""
    container.run("install", "-d", "-o", OWNER, "-m", "700", "/home/store")
    listed = f"{PLACES['owner-programs.d']}/touchstone-sync.conf"
    container.run("mv", listed, "/root")
    said = container.touchstone("sync", "create", "/home/store", input=f"{PASSCODE}\n", status=5).stderr
    check("root has not listed touchstone-sync" in said and "as root" in said, said)
    container.touchstone("sync", "status", status=1)
    container.run("mv", "/root/touchstone-sync.conf", listed)
    said = container.touchstone("sync", "create", "/home/store", input=f"{PASSCODE}\n").stdout
    check("TOUCHSTONE_DEVICE=system touchstone-sync &" in said, said)
    with synchronizing(container) as said:
        equal(said.readline(), "ready: device system, store /home/store\n", "touchstone-sync")
        check('"isRunning" : true' in container.touchstone("sync", "status", "--json").stdout, "sync status")
    container.run("mv", listed, "/root")
    with synchronizing(container) as said:
        check("root has not listed touchstone-sync" in (line := said.readline()), line)
    container.run("mv", "/root/touchstone-sync.conf", listed)


TESTS = (
    enabling_needs_root_once, they_are_known_by_their_units, synchronizing_is_on_the_packages_list, nobody_looks_into_them, nobody_looks_into_them_while_they_start,
    another_program_is_not_served, removing_the_device_disables_them)


def all_of_them():
    with Container() as container:
        set_up(container)
        for test in TESTS:
            test(container)
            print(f"  ok {test.__name__}", flush=True)


for program in PROGRAMS:
    if not os.access(BRIDGES / program, os.X_OK):
        sys.exit(f"{BRIDGES / program} is not there: run make bridges")
main(all_of_them)
