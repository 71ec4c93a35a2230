#!/usr/bin/env python3
"""What the system service promises against other users, against programs of its owner, and against a touchstoned that was taken over.

Each attack runs in a container on the service as it is installed. That it would have been seen to succeed is seen in the same run: on a
service whose units are weakened, or by root, against whom nothing of this is promised."""

import functools
import json
import os
import subprocess
import time

from container import MEMORY, OWNER, OWNER_ID, PRELUDE, REFUSED, STRANGER, STRANGER_ID, Container
from device import check, equal, main, wait_for

PASSCODE = "canary-passcode-31415926"
CANARY = "canary-7f3d9c1e-of-the-attacks"
ENCLAVE, DAEMON = f"touchstone-enclave@{OWNER_ID}.service", f"touchstoned@{OWNER_ID}.service"
STATE, RUNTIME = f"/var/lib/touchstone/{OWNER_ID}", f"/run/touchstone/{OWNER_ID}"
VICTIM, EVIL = f"/home/{OWNER}/victim", f"/home/{OWNER}/evil"
DENIED = "org.varlink.service.PermissionDenied"
TOUCHSTONED = "touchstone"

ITEM = f"""
item = {{"class": {{"string": "genp"}}, "acct": {{"string": "canary-account"}}}}
secret = base64.b64encode(b"{CANARY}").decode()
def read(connection):
    error, reply = call(connection, "Keychain.CopyMatching", query=item | {{"r_Data": {{"boolean": True}}}})
    return reply["items"][0]["data"] if error is None else reply.get("status", error)
"""


SOCKET_OF = "SOCKET = '/run/touchstone/%d/touchstoned.sock'\ndef connect(path=SOCKET, connect=connect): return connect(path)\n"


def weaken(name, text):
    """Sockets for everybody, in directories for everybody; and a library of the owner in the enclave."""
    text = text.replace("SocketMode=0600", "SocketMode=0666").replace("DirectoryMode=0755", "DirectoryMode=0777")
    if name == "touchstone-enclave@.service":
        text = text.replace("ProtectHome=yes", "ProtectHome=no")
        text = text.replace("[Service]\n", f"[Service]\nEnvironment=LD_PRELOAD=/home/{OWNER}/evil.so\n")
    return text


def set_up(container):
    container.create()
    # Two apps of the owner: copies of an interpreter that say what they are told.
    for program in (VICTIM, EVIL):
        container.run("install", "-o", OWNER, "-m", "755", os.path.realpath("/usr/bin/python3"), program)
    container.run("cp", "/lib/x86_64-linux-gnu/libBrokenLocale.so.1", f"/home/{OWNER}/evil.so")
    container.run("chmod", "755", f"/home/{OWNER}")
    container.touchstone("device", "passcode", "set", input=f"{PASSCODE}\n")
    equal(app(container, VICTIM, ITEM + 'say(call(connect(), "Keychain.Add", attributes=item | {"v_Data": {"data": secret}})[0])'),
          None, "the victim's item")


def app(container, program, source, user=OWNER):
    """Runs source in one of the owner's programs, and returns what it prints as JSON."""
    result = container.run(program, "-I", "-", user=user, input=PRELUDE + source)
    return json.loads(result.stdout.splitlines()[-1])


def secret():
    import base64
    return base64.b64encode(CANARY.encode()).decode()


# memory

def memory_is_closed(container):
    """ptrace, process_vm_readv, /proc/PID/mem, borrowing descriptors, signals, limits, the control group."""
    for unit in (ENCLAVE, DAEMON, "touchstone-peers.service"):
        pid = container.main_pid(unit)
        address = int(container.run("head", "-c", "12", f"/proc/{pid}/maps").stdout.split("-")[0], 16)
        source = f"pid, address = {pid}, {address}\n" + MEMORY
        attackers = [OWNER, STRANGER] + ([TOUCHSTONED] if unit != DAEMON else [])
        for user in attackers:
            found = container.python(source, user=user)
            equal({what: code for what, code in found.items() if code not in REFUSED}, {}, f"{unit}, attacked by {user}")
        # Root is stopped by nothing: the attacks do what they say. In a container root may lack the right to set limits.
        found = container.python(source)
        if "EPERM" == found["prlimit"]:
            del found["prlimit"]
        equal({what: code for what, code in found.items() if code is not None}, {}, f"{unit}, attacked by root")


def a_touchstoned_cannot_look_into_another(container):
    """Its own user, and still nothing: it is undumpable, and touchstone-peers has capabilities that it has not."""
    pid = container.main_pid(DAEMON)
    address = int(container.run("head", "-c", "12", f"/proc/{pid}/maps").stdout.split("-")[0], 16)
    found = container.python(f"pid, address = {pid}, {address}\n" + MEMORY, user=TOUCHSTONED)
    open_to_it = {what for what, code in found.items() if code not in REFUSED}
    check(open_to_it <= {"kill", "prlimit"}, f"touchstoned, attacked by another of its user: {found}")


# files

def files_are_closed(container):
    listing = container.run("find", STATE, f"/run/touchstone-enclave/{OWNER_ID}", "-type", "f").stdout.split()
    check(len(listing) >= 5, f"the device's files: {listing}")
    source = f"say({{path: number(lambda: os.close(os.open(path, os.O_RDONLY))) for path in {listing!r}}})"
    write = f"say({{path: number(lambda: os.close(os.open(path, os.O_WRONLY))) for path in {listing!r}}})"
    lists = "say({path: number(lambda: os.listdir(path)) for path in %r})" % [
        f"{STATE}/enclave", f"{STATE}/keychain", STATE, f"/run/touchstone-enclave/{OWNER_ID}"]
    # The key that passcodes are sealed with, and the name of whom root made the device for.
    public = {f"{STATE}/public/passcode.pub", f"{STATE}/owner"}
    for user in (OWNER, STRANGER):
        found = container.python(source, user=user)
        equal({path for path, code in found.items() if code not in REFUSED}, public, f"what {user} reads")
        equal([path for path, code in container.python(write, user=user).items() if code not in REFUSED], [], f"what {user} writes")
        equal([path for path, code in container.python(lists, user=user).items() if code not in REFUSED], [], f"what {user} lists")
    # A touchstoned that was taken over still holds no key: neither the enclave's files nor the published key are its own.
    found = {path for path, code in container.python(source, user=TOUCHSTONED).items() if code not in REFUSED}
    check(all(path.startswith(f"{STATE}/keychain/") or path in public for path in found), f"what touchstoned reads: {found}")
    found = {path for path, code in container.python(write, user=TOUCHSTONED).items() if code not in REFUSED}
    check(found and all(path.startswith(f"{STATE}/keychain/") for path in found), f"what touchstoned writes: {found}")
    equal({path for path, code in container.python(source).items() if code is not None}, set(), "what root cannot read")


def directories_cannot_be_replaced(container):
    source = f"""
def attempt(body):
    return number(body)
say({{
    "rename state": number(lambda: os.rename("{STATE}/enclave", "{STATE}/gone")),
    "rename device": number(lambda: os.rename("{STATE}", "{STATE}.gone")),
    "new device": number(lambda: os.mkdir("/var/lib/touchstone/{STRANGER_ID}")),
    "new key": number(lambda: os.close(os.open("{STATE}/public/.passcode.pub.new", os.O_CREAT | os.O_WRONLY))),
    "link": number(lambda: os.symlink("/tmp", "{STATE}/public/x")),
    "chmod": number(lambda: os.chmod("{STATE}/enclave", 0o777)),
}})
"""
    for user in (OWNER, STRANGER, TOUCHSTONED):
        found = container.python(source, user=user)
        equal({what: code for what, code in found.items() if code not in REFUSED}, {}, f"attempts of {user}")


def secrets_are_nowhere_in_the_clear(container):
    words = [CANARY, PASSCODE, "canary-account", secret()[:-4], CANARY.encode().hex()]
    pattern = [argument for word in words for argument in ("-e", word)]
    places = ["/var/lib/touchstone", "/var/log", "/var/tmp", "/run", "/tmp", "/dev/shm", "/etc/touchstone", f"/home/{OWNER}"]
    result = container.run("grep", "-rlasF", *pattern, *places, status=None)
    equal(result.stdout, "", "files with a secret in them")
    for unit in (ENCLAVE, DAEMON, "touchstone-peers.service"):
        pid = container.main_pid(unit)
        result = container.run("grep", "-lasF", *pattern, f"/proc/{pid}/environ", f"/proc/{pid}/cmdline", status=None)
        equal(result.stdout, "", f"a secret in {unit}'s environment or arguments")
    # What is looked for would be found.
    container.write("/tmp/control", f"x{CANARY}x")
    check(container.run("grep", "-rlasF", *pattern, "/tmp", status=None).stdout, "the control")


def a_crash_leaves_nothing_behind(container):
    pid = container.main_pid(ENCLAVE)
    container.run("sh", "-c", f"cd /tmp && kill -SEGV {pid}")
    wait_for(lambda: container.main_pid(ENCLAVE) not in (0, pid), "another enclave")
    journal = container.journal(ENCLAVE)
    check("code=killed, status=11/SEGV" in journal or "signal=SEGV" in journal or "SEGV" in journal, journal[-800:])
    check("code=dumped" not in journal and "Registers" not in journal, journal[-2000:])
    places = ["/", "/tmp", "/var/tmp", "/var/lib/systemd", STATE, f"{STATE}/enclave", f"/run/touchstone-enclave/{OWNER_ID}"]
    equal(container.run("find", *places, "-maxdepth", "2", "-name", "core*", "-type", "f", status=None).stdout, "", "core files")


# the environment of the daemons

def libraries(container):
    return container.run("cat", f"/proc/{container.main_pid(ENCLAVE)}/maps").stdout


def nobody_preloads_a_library(container):
    """The daemons are started by who wants something of them: from its environment nothing comes along."""
    container.run("systemctl", "stop", DAEMON, ENCLAVE)
    container.run("env", f"LD_PRELOAD=/home/{OWNER}/evil.so", "touchstone", "device", "status", user=OWNER, status=None)
    wait_for(lambda: container.main_pid(ENCLAVE), "the enclave")
    check("touchstone-enclave" in libraries(container) and "evil.so" not in libraries(container), "the owner's library in the enclave")
    for command in (
        ["systemctl", "--no-ask-password", "set-environment", f"LD_PRELOAD=/home/{OWNER}/evil.so"],
        ["systemctl", "--no-ask-password", "restart", ENCLAVE], ["systemctl", "--no-ask-password", "stop", DAEMON],
        ["systemctl", "--no-ask-password", "edit", "--runtime", ENCLAVE], ["sh", "-c", "echo x > /etc/ld.so.preload"],
        ["touch", f"/run/systemd/system/{ENCLAVE}"],
    ):
        check(container.run(*command, user=OWNER, status=None).returncode != 0, f"{command} by the owner")


# sockets

CONNECT = """
def connects(path, type=socket.SOCK_STREAM):
    def body():
        with socket.socket(socket.AF_UNIX, type) as connection:
            connection.connect(path)
    return number(body)
say({"enclave": connects("/run/touchstone/%d/enclave.sock"), "peers": connects("/run/touchstone/peers.sock", socket.SOCK_SEQPACKET),
     "keychain": connects(SOCKET)})
""" % OWNER_ID

SQUAT = """
path, results = os.path.dirname(SOCKET), {}
def squat():
    os.rename(SOCKET, SOCKET + ".old")
    server = socket.socket(socket.AF_UNIX)
    server.bind(SOCKET)
    server.close()
    os.unlink(SOCKET)
    os.rename(SOCKET + ".old", SOCKET)
results["replace"] = number(squat)
results["unlink"] = number(lambda: os.unlink(SOCKET)) if results["replace"] else None
def beside():
    server = socket.socket(socket.AF_UNIX)
    server.bind(path + "/another.sock")
    os.unlink(path + "/another.sock")
results["beside"] = number(beside)
results["another user's"] = number(lambda: os.mkdir("/run/touchstone/12345"))
say(results)
"""


def sockets_are_closed(container):
    equal(container.python(CONNECT, user=OWNER), {"enclave": "EACCES", "peers": "EACCES", "keychain": None}, "connections of the owner's")
    equal(set(container.python(CONNECT, user=STRANGER).values()), {"EACCES"}, "connections of a stranger's")


def sockets_cannot_be_squatted(container):
    for user in (OWNER, STRANGER, TOUCHSTONED):
        found = container.python(SQUAT, user=user)
        equal({what for what, code in found.items() if code not in REFUSED}, set(), f"squatting by {user}")
    # Neither while nobody serves.
    container.run("systemctl", "stop", DAEMON, ENCLAVE)
    for user in (OWNER, STRANGER):
        found = container.python(SQUAT, user=user)
        equal({what for what, code in found.items() if code not in REFUSED}, set(), f"squatting by {user} while nobody serves")


# who is at the other end

def another_program_does_not_get_it(container):
    equal(app(container, VICTIM, ITEM + "say(read(connect()))"), secret(), "the victim's own item")
    equal(app(container, EVIL, ITEM + "say(read(connect()))"), -25300, "the victim's item for another program")


# Connects, waits for the first answer, then executes another program, which goes on with the connection.
EXEC = """
connection = connect()
%s
os.set_inheritable(connection.fileno(), True)
code = PRELUDE_AND_ITEM + "connection = socket.socket(fileno=%%d)\\nconnection.settimeout(15)\\ntry: say(read(connection))\\nexcept OSError: say('closed')\\n" %% connection.fileno()
os.execv(%r, [%r, "-I", "-c", code])
"""


def after_exec(container, first, second, before=""):
    source = f"PRELUDE_AND_ITEM = {PRELUDE + ITEM!r}\n" + ITEM + EXEC % (before, second, second)
    return app(container, first, source)


# Nothing that asks who connects; then a process that shares the memory, and keeps it while this one executes another program.
SHARED = r"""
connection.sendall(b'{"method": "org.varlink.service.GetInfo"}\0')
while not connection.recv(65536).endswith(b"\0"):
    pass
stack = ctypes.create_string_buffer(1 << 16)
top = ctypes.c_void_p((ctypes.addressof(stack) + len(stack)) & ~15)
CLONE_VM = 0x100
sibling = libc.clone(ctypes.cast(libc.sleep, ctypes.c_void_p), top, CLONE_VM | signal.SIGCHLD, ctypes.c_void_p(60))
assert sibling > 0, ctypes.get_errno()
PRELUDE_AND_ITEM += f"import atexit; atexit.register(os.kill, {sibling}, 9)\n"
"""


def connect_then_exec_gets_nothing(container):
    hello = 'assert call(connection, "Authentication.CreateContext")[0] is None'
    for first, second, before in (
        (EVIL, VICTIM, hello), (VICTIM, EVIL, hello), (VICTIM, EVIL, "assert read(connection) == secret"),
        # The same file again is another program run: who connected is gone.
        (VICTIM, VICTIM, hello), (EVIL, VICTIM, SHARED),
    ):
        equal(after_exec(container, first, second, before), DENIED, f"{first} connects, and executes {second}; {before}")


# Connects while nobody looks who does, leaves the connection to a child, and executes another program before somebody looks. $1: what is
# sent by then, or after it by the child; root lets touchstoned look when the other program runs.
QUEUED = """
def become(program, code):
    os.setgroups([]); os.setresgid(GID, GID, GID); os.setresuid(UID, UID, UID)
    os.execv(program, [program, "-I", "-c", PRELUDE_AND_ITEM + code])

ready, told = os.pipe()
os.set_inheritable(told, True)
if os.fork() == 0:
    os.close(ready)
    become(FIRST, f'''
query = item | {{"r_Data": {{"boolean": True}}}}
connection = connect()
if {SENT!r} == "before":
    send(connection, "Keychain.CopyMatching", query=query)
if {FIRST!r} == {SECOND!r}:
    os.write({told}, b"x")
else:
    parent = os.getpid()
    if os.fork() != 0:
        os.execv({SECOND!r}, [{SECOND!r}, "-I", "-c", "import time; time.sleep(20)"])
    while os.readlink(f"/proc/{{parent}}/exe") != {SECOND!r}:
        time.sleep(0.01)
    if {SENT!r} == "between":
        send(connection, "Keychain.CopyMatching", query=query)
    os.write({told}, b"x")
    time.sleep(0.2)
try:
    error, reply = "io.touchstone.SendAgain", None
    if {SENT!r} in ("before", "between"):
        error, reply = receive(connection)
    if error == "io.touchstone.SendAgain":
        error, reply = call(connection, "Keychain.CopyMatching", query=query)
    say(reply["items"][0]["data"] if error is None else reply.get("status", error))
except OSError as error:
    say(type(error).__name__)
if {FIRST!r} != {SECOND!r}:
    os.kill(parent, 9)
''')
os.close(told)
os.read(ready, 1)
if PID:
    os.kill(PID, signal.SIGCONT)
os.wait()
"""


def queued(container, first, second, sent, stop):
    pid = 0
    if stop == "held":
        app(container, VICTIM, ITEM + "say(read(connect()))")
        pid = container.main_pid(DAEMON)
        container.run("kill", "-STOP", pid)
    else:
        container.run("systemctl", "stop", DAEMON, ENCLAVE)
    names = dict(UID=OWNER_ID, GID=OWNER_ID, FIRST=first, SECOND=second, SENT=sent, PID=pid, PRELUDE_AND_ITEM=PRELUDE + ITEM)
    source = "".join(f"{name} = {value!r}\n" for name, value in names.items()) + QUEUED
    result = container.run("python3", "-I", "-", input=PRELUDE + source)
    return json.loads(result.stdout.splitlines()[-1])


def an_exec_before_anybody_looks_gets_nothing(container):
    """Neither what was sent before touchstoned knows who connects counts, nor what another process sends after it (DEC-055)."""
    for stop in ("held", "not started"):
        for sent in ("before", "between", "after"):
            found = queued(container, EVIL, VICTIM, sent, stop)
            check(found in (DENIED, "closed", "BrokenPipeError", "ConnectionResetError"),
                  f"the victim's item, asked for {sent} touchstoned, {stop}, looks: {found}")
            # The twin: who stays who it is gets its own item, however early it asked.
            if sent != "between":
                # Its own, that is, behind the lock where touchstoned began again: what is another's is not found.
                expected = secret() if stop == "held" else -25308
                equal(queued(container, VICTIM, VICTIM, sent, stop), expected, f"the victim, asking {sent} touchstoned, {stop}, looks")
    container.touchstone("device", "unlock", input=f"{PASSCODE}\n")


# The victim connects and passes the connection on; it ends; another program gets its number. $1: how the number comes to be the same.
REUSE = """
ours, theirs = socket.socketpair()
child = os.fork()
if child == 0:
    os.setresgid(GID, GID, GID); os.setresuid(UID, UID, UID)
    ours.close()
    os.set_inheritable(theirs.fileno(), True)
    os.execv(VICTIM, [VICTIM, "-I", "-c", PRELUDE_AND_ITEM + "theirs = socket.socket(fileno=%d)\\nconnection = connect()\\n"
             "assert read(connection) == secret\\nsocket.send_fds(theirs, [b'x'], [connection.fileno()])" % theirs.fileno()])
theirs.close()
_, (fd,), _, _ = socket.recv_fds(ours, 1, 1)
os.waitpid(child, 0)
os.set_inheritable(fd, True)
code = PRELUDE_AND_ITEM + "connection = socket.socket(fileno=%d)\\nconnection.settimeout(15)\\ntry: found = read(connection)\\nexcept OSError: found = 'closed'\\nsay([os.getpid(), found])" % fd
# clone3 with set_tid: what chance, and many processes, would bring about.
wanted = (ctypes.c_int * 1)(child)
arguments = struct.pack("11Q", 0, 0, 0, 0, signal.SIGCHLD, 0, 0, 0, ctypes.addressof(wanted), 1, 0)
sys.stdout.flush()
new = libc.syscall(435, arguments, len(arguments))
if new == 0:
    os.setgroups([]); os.setresgid(GID, GID, GID); os.setresuid(UID, UID, UID)
    os.execv(EVIL, [EVIL, "-I", "-c", code])
assert new == child, (new, child, ctypes.get_errno())
os.waitpid(new, 0)
"""


def a_reused_number_gets_nothing(container):
    source = f"PRELUDE_AND_ITEM = {PRELUDE + ITEM!r}\nUID = GID = {OWNER_ID}\nVICTIM, EVIL = {VICTIM!r}, {EVIL!r}\n" + REUSE
    result = container.run("python3", "-I", "-", input=PRELUDE + ITEM + source)
    pid, found = json.loads(result.stdout.splitlines()[-1])
    equal(found, DENIED, f"another program with the victim's number {pid}, on the victim's connection")


PASSED = """
ours, theirs = socket.socketpair()
child = os.fork()
if child == 0:
    os.set_inheritable(theirs.fileno(), True)
    os.execv(EVIL, [EVIL, "-I", "-c", PRELUDE + "theirs = socket.socket(fileno=%d)\\nconnection = connect()\\n"
             "socket.send_fds(theirs, [b'x'], [connection.fileno()])\\ntheirs.recv(1)" % theirs.fileno()])
_, (fd,), _, _ = socket.recv_fds(ours, 1, 1)
connection = socket.socket(fileno=fd)
connection.settimeout(15)
found = read(connection)
ours.send(b"x")
os.waitpid(child, 0)
say(found)
"""


def a_passed_connection_stays_its_makers(container):
    """A program that gets another's connection speaks for the other: nobody lends an identity to who passes a connection in."""
    source = f"PRELUDE, EVIL = {PRELUDE!r}, {EVIL!r}\n" + ITEM + PASSED
    equal(app(container, VICTIM, source), DENIED, "the victim's item over a connection that another program made")
    source = source.replace("connection = connect()\\n", "connection = connect()\\ncall(connection, 'Device.GetStatus')\\n")
    equal(app(container, VICTIM, source), -25300, "the same over a connection that its maker has used")


def passed_descriptors_go_nowhere(container):
    """A connection on which descriptors come with a request ends, and they are not taken (DEC-593)."""
    def count():
        return len(container.run("ls", f"/proc/{container.main_pid(DAEMON)}/fd").stdout.split())

    app(container, VICTIM, ITEM + "say(read(connect()))")
    before = count()
    found = app(container, VICTIM, ITEM + """
pipes = [os.pipe() for _ in range(8)]
request = json.dumps({"method": "org.varlink.service.GetInfo", "parameters": {}}).encode() + b"\\0"
for _ in range(100):
    connection = connect()
    socket.send_fds(connection, [request], [end for pipe in pipes for end in pipe])
    try:
        while connection.recv(65536):
            pass
    except ConnectionResetError:
        pass
    connection.close()
print(json.dumps(read(connect()))); sys.stdout.flush()
""")
    equal(found, secret(), "a connection after that")
    check(count() <= before + 2, f"{count()} descriptors of touchstoned's, {before} before")


# As touchstoned asks touchstone-peers: what a process runs, then what is known of that. $1: the process.
ASK = """
import array
def ask(question):
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as peers:
        peers.connect("/run/touchstone/peers.sock")
        peers.sendmsg([json.dumps(question).encode()], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [os.pidfd_open(PID)]))])
        message, descriptors, _, _ = socket.recv_fds(peers, 1 << 18, 1)
        for descriptor in descriptors:
            os.close(descriptor)
        return json.loads(message)
question = {"processID": PID, "userID": UID, "ownerID": UID}
executable = ask(question | {"kind": "watch"})["executable"]
identity = ask(question | {"kind": "identify", "executable": executable})["identity"]
say([identity["identity"]["identifier"], identity.get("faceIDUsageDescription")])
"""


def nothing_of_another_user_is_in_a_prompt(container):
    """touchstone-peers may read every file, and what stands in one beside an app's executable can appear in a prompt."""
    home, away = f"/home/{OWNER}/bundle", f"/home/{STRANGER}/bundle"
    text = "<plist version=\"1.0\"><dict><key>NSFaceIDUsageDescription</key><string>%s</string></dict></plist>"
    container.run("install", "-d", "-o", OWNER, "-m", "755", home)
    container.run("install", "-o", OWNER, "-m", "755", os.path.realpath("/usr/bin/python3"), f"{home}/app")
    container.run("install", "-d", "-o", STRANGER, "-m", "700", away)
    container.write(f"{away}/Info.plist", text % "of the stranger's")
    container.run("chown", STRANGER, f"{away}/Info.plist")

    def description(*commands):
        container.run("rm", "-rf", f"{home}/Resources", f"{home}/Info.plist")
        for command in commands:
            container.run(*command)
        app = subprocess.Popen(container.command(f"{home}/app", "-I", "-c", "import os, sys; print(os.getpid(), flush=True); sys.stdin.read()",
                                                 user=OWNER), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        pid = int(app.stdout.readline())
        found = container.python(f"PID, UID = {pid}, {OWNER_ID}\n" + ASK, user=TOUCHSTONED)
        app.stdin.close()
        app.wait()
        equal(found[0], f"{home}/app", "the app")
        return found[1]

    container.write(f"/home/{OWNER}/Info.plist", text % "the owner's own")
    for user in (OWNER, "root"):
        equal(description(["mkdir", f"{home}/Resources"], ["install", "-o", user, f"/home/{OWNER}/Info.plist", f"{home}/Resources/Info.plist"]),
              "the owner's own", f"a description in a file of {user}'s")
    equal(description(["ln", "-s", away, f"{home}/Resources"]), None, "a description in a linked directory")
    equal(description(["ln", "-s", f"{away}/Info.plist", f"{home}/Info.plist"]), None, "a description in a linked file")
    equal(description(["ln", f"{away}/Info.plist", f"{home}/Info.plist"]), None, "a description in a file of another user's")


# Stands for a file system that does not answer: whoever opens the file waits until this program ends (fanotify).
STALL = """
FAN_CLASS_CONTENT, FAN_CLOEXEC, FAN_MARK_ADD, FAN_OPEN_PERM = 0x4, 0x1, 0x1, 0x10000
group = libc.fanotify_init(FAN_CLASS_CONTENT | FAN_CLOEXEC, os.O_RDONLY)
assert group >= 0, ctypes.get_errno()
assert libc.fanotify_mark(group, FAN_MARK_ADD, ctypes.c_uint64(FAN_OPEN_PERM), -100, b"%s") == 0, ctypes.get_errno()
print("stalls", flush=True)
sys.stdin.read()
"""
# Programs of the owner that connect, wait until their file does not answer any more, and then want what only a known app gets.
STALLED = """
connections = [connect() for _ in range(40)]
for connection in connections:
    call(connection, "Device.GetNothing")
open("/home/%s/ready", "w").close()
while not os.path.exists("/home/%s/go"):
    time.sleep(0.01)
for connection in connections:
    send(connection, "Keychain.CopyMatching", query=item)
sys.stdin.read()
""" % (OWNER, OWNER)
LONGEST_DELAY = 2


def a_slow_file_system_holds_up_its_owner_alone(container):
    """Programs that lie where nobody answers: another user's app gets its answer at once, and touchstone-peers has few threads for them."""
    slow, peers = f"/home/{OWNER}/slow", container.main_pid("touchstone-peers.service")
    container.run("touchstone", "system", "create", STRANGER)
    container.run("install", "-o", OWNER, "-m", "755", os.path.realpath("/usr/bin/python3"), slow)
    other = SOCKET_OF % (STRANGER_ID, ) + ITEM + "began = time.monotonic()\nfound = read(connect())\nsay([found, time.monotonic() - began])"
    known = ITEM + "began = time.monotonic()\nfound = read(connect())\nsay([found, time.monotonic() - began])"
    equal(app(container, "/usr/bin/python3", other, user=STRANGER)[0], -25300, "the stranger's device")

    def threads():
        return len(container.run("ls", f"/proc/{peers}/task").stdout.split())

    before = threads()
    code = PRELUDE + ITEM + STALLED
    stalled = subprocess.Popen(container.command(slow, "-I", "-c", code, user=OWNER), stdin=subprocess.PIPE, text=True)
    stall = None
    try:
        wait_for(lambda: container.run("ls", f"/home/{OWNER}/ready", status=None).returncode == 0, "the slow program's connections")
        stall = subprocess.Popen(container.command("python3", "-I", "-c", PRELUDE + STALL % slow), stdin=subprocess.PIPE,
                                 stdout=subprocess.PIPE, text=True)
        equal(stall.stdout.readline(), "stalls\n", "the file system")
        container.run("touch", f"/home/{OWNER}/go", user=OWNER)
        time.sleep(1)
        for user, source, program, expected in ((STRANGER, other, "/usr/bin/python3", -25300), (OWNER, known, VICTIM, secret())):
            for _ in range(5):
                found, seconds = app(container, program, source, user=user)
                equal(found, expected, f"the answer for {user} beside it")
                check(seconds < LONGEST_DELAY, f"{user} waits {seconds:.1f} s beside it")
        # Longer than a question is waited for, so that they are asked again.
        time.sleep(12)
        check(threads() <= before + 12, f"{threads()} threads of touchstone-peers', {before} before")
        found, seconds = app(container, "/usr/bin/python3", other, user=STRANGER)
        check(found == -25300 and seconds < LONGEST_DELAY, f"{found} for the stranger after {seconds:.1f} s")
    finally:
        for process in (stall, stalled):
            if process is not None:
                process.stdin.close()
                process.wait()
    # When it answers again, so does everything.
    equal(app(container, slow, ITEM + "say(read(connect()))"), -25300, "the slow program, when it is not")
    equal(app(container, VICTIM, ITEM + "say(read(connect()))"), secret(), "the victim's item after it")
    equal(container.main_pid("touchstone-peers.service"), peers, "touchstone-peers")
    container.run("touchstone", "system", "remove", STRANGER, "--yes")


def weakened_sockets_are_reached(container):
    """The controls: what the units keep out gets in, and what the programs check themselves still holds."""
    set_up(container)
    equal(container.python(CONNECT, user=STRANGER), {"enclave": None, "peers": None, "keychain": None}, "connections of a stranger's")
    equal(container.python(SQUAT, user=STRANGER)["replace"], None, "squatting by a stranger")
    check("evil.so" in libraries(container), "the owner's library in the enclave")
    # Whom the socket let in, the daemons do not answer.
    enclave = container.python(f"""
connection = connect("/run/touchstone/{OWNER_ID}/enclave.sock")
connection.settimeout(1)
try: say(call(connection, "Enclave.GetFacts", app="")[0])
except OSError as error: say(type(error).__name__)""", user=OWNER)
    check(enclave in ("closed", "TimeoutError", "BrokenPipeError", "ConnectionResetError"), f"the enclave answers the owner: {enclave}")
    found = container.python('say([call(connect(), "Device.GetStatus"), call(connect(), "Keychain.CopyMatching", query={"class": {"string": "genp"}})])',
                             user=STRANGER)
    equal({error for error, _ in found}, {DENIED}, "what the stranger is answered")


with Container(weaken) as container:
    main(functools.partial(weakened_sockets_are_reached, container))
with Container() as container:
    set_up(container)
    main(*(
        functools.partial(test, container)
        for test in (
            memory_is_closed, a_touchstoned_cannot_look_into_another, files_are_closed, directories_cannot_be_replaced,
            sockets_are_closed, another_program_does_not_get_it, connect_then_exec_gets_nothing,
            an_exec_before_anybody_looks_gets_nothing, a_slow_file_system_holds_up_its_owner_alone,
            nothing_of_another_user_is_in_a_prompt, a_reused_number_gets_nothing,
            a_passed_connection_stays_its_makers, passed_descriptors_go_nowhere, secrets_are_nowhere_in_the_clear,
            a_crash_leaves_nothing_behind, nobody_preloads_a_library, sockets_cannot_be_squatted)))
