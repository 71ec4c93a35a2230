#!/usr/bin/env python3
"""Programs that want everything for themselves: the owner's own programs, and other apps, are served beside them."""

import base64
import contextlib
import json
import os
import pathlib
import re
import resource
import select
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

from bridges import Person
from device import LONGEST_WAIT, REPOSITORY, Device, call, check, equal, main, wait_for

# Opens connections, says so, and keeps them until its standard input ends. The first argument is the socket, the second how
# many, the third a request that each connection sends, or nothing.
HOLDER = """
import socket, sys
path, count, request = sys.argv[1], int(sys.argv[2]), sys.argv[3]
kept = []
for _ in range(count):
    connection = socket.socket(socket.AF_UNIX)
    try:
        connection.connect(path)
        if request:
            connection.sendall(request.encode() + b"\\0")
            connection.recv(65536)
    except OSError:
        pass
    kept.append(connection)
print("ready", flush=True)
sys.stdin.read()
"""
KNOWN = '{"method":"io.touchstone.Authentication.CanEvaluatePolicy","parameters":{"policy":1}}'


@contextlib.contextmanager
def holders(device, processes, connections, request=""):
    """So many processes that hold so many connections each."""
    children = [
        subprocess.Popen(
            [sys.executable, "-c", HOLDER, str(device.socket), str(connections), request],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for _ in range(processes)]
    try:
        for child in children:
            equal(child.stdout.readline(), "ready\n", "a program that holds connections")
        yield
    finally:
        for child in children:
            child.stdin.close()
        for child in children:
            child.wait(LONGEST_WAIT)


def open_sockets(device):
    return len(os.listdir(f"/proc/{device.daemons['touchstoned']}/fd"))


def the_owner_is_served(device):
    device.run("device", "lock")
    device.run("device", "unlock", input="271828\n")


def whoever_asks_nothing_keeps_nobody_out():
    with Device() as device:
        device.set_up("271828")
        with holders(device, 36, 120):
            the_owner_is_served(device)
            with device.connect() as other:
                error, _ = call(other, "Authentication.CanEvaluatePolicy", policy=1)
                equal(error, None, "another app's call")


def one_app_has_not_all_connections():
    with Device() as device:
        device.set_up("271828")
        before = open_sockets(device)
        # All of them are one app: its executable is that of Python.
        with holders(device, 16, 120, KNOWN):
            held = open_sockets(device) - before
            # A socket and a descriptor of its process, each.
            check(held <= 2 * (1024 + 512) + 64, f"one app holds {held} descriptors")
            the_owner_is_served(device)


def without_descriptors_it_rests_and_goes_on():
    with Device() as device:
        device.set_up("271828")
        process = device.daemons["touchstoned"]
        old = resource.prlimit(process, resource.RLIMIT_NOFILE)
        highest = max(int(name) for name in os.listdir(f"/proc/{process}/fd"))
        # 64 are left to others than connections.
        limit = highest + 64 + 10
        resource.prlimit(process, resource.RLIMIT_NOFILE, (limit, old[1]))
        connections = [device.connect() for _ in range(60)]
        spent = processor_seconds(process)
        began = time.monotonic()
        time.sleep(2)
        share = (processor_seconds(process) - spent) / (time.monotonic() - began)
        check(share < 0.2, f"touchstoned uses {share:.0%} of a core while it waits for descriptors")
        highest = max(int(name) for name in os.listdir(f"/proc/{process}/fd"))
        check(highest < limit - 16, f"of {limit} descriptors connections have those up to {highest}")
        for connection in connections[:-1]:
            connection.close()
        error, _ = call(connections[-1], "Authentication.CanEvaluatePolicy", policy=1)
        equal(error, None, "the call of the last that connected")
        resource.prlimit(process, resource.RLIMIT_NOFILE, old)
        the_owner_is_served(device)


def processor_seconds(process):
    with open(f"/proc/{process}/stat") as file:
        fields = file.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


# Programs that act as other apps: their first argument is the socket. Each says a line when it has done what it is for.
ASK = """
import base64, json, os, socket, sys, time
def connect():
    connection = socket.socket(socket.AF_UNIX)
    connection.connect(sys.argv[1])
    return connection
def send(connection, method, more=False, **parameters):
    frame = {"method": "io.touchstone." + method, "parameters": parameters} | ({"more": True} if more else {})
    connection.sendall(json.dumps(frame).encode() + bytes(1))
def answer(connection):
    reply = b""
    while not reply.endswith(bytes(1)):
        chunk = connection.recv(1 << 20)
        if not chunk: sys.exit("closed")
        reply += chunk
    return json.loads(reply[:-1])
def say(value): print(json.dumps(value), flush=True)
def fill(count, size):
    connection = connect()
    for number in range(count):
        send(connection, "Keychain.Add", attributes={
            "class": {"string": "genp"}, "acct": {"string": str(number)},
            "v_Data": {"data": base64.b64encode(os.urandom(size)).decode()}})
        if "error" in answer(connection): sys.exit("not added")
"""
ALL = {"class": {"string": "genp"}, "m_Limit": {"string": "m_LimitAll"}, "r_Data": {"boolean": True}}
# Begins searches and hangs up.
ABANDONER = ASK + """
kept = [connect() for _ in range(int(sys.argv[2]))]
for connection in kept:
    send(connection, "Keychain.CopyMatching", query=json.loads(sys.argv[3]))
    connection.close()
say("ready")
sys.stdin.read()
"""
# Begins streams of which it reads nothing, until its standard input ends; says how many the daemon has not closed.
IDLER = ASK + """
kept = [connect() for _ in range(int(sys.argv[2]))]
for connection in kept: send(connection, "Keychain.CopyMatching", more=True, query=json.loads(sys.argv[3]))
say("ready")
sys.stdin.readline()
def is_open(connection):
    # What has come, and no end behind it: of a stream that nobody takes only a part is sent.
    connection.setblocking(False)
    try:
        while connection.recv(1 << 20): pass
        return False
    except BlockingIOError: return True
    except OSError: return False
say(sum(map(is_open, kept)))
"""
# The same with items of its own, so many of so many bytes: the fourth and fifth argument.
OWN_IDLER = ASK + "fill(int(sys.argv[4]), int(sys.argv[5]))" + IDLER.removeprefix(ASK)
# Watches the environment with requests of 100 KiB, on so many connections.
WATCHER = ASK + """
kept = [connect() for _ in range(int(sys.argv[2]))]
for connection in kept:
    frame = {"method": "io.touchstone.Authentication.GetEnvironment", "parameters": {}, "more": True, "pad": "x" * 100_000}
    connection.sendall(json.dumps(frame).encode() + bytes(1))
    answer(connection)
say("ready")
sys.stdin.readline()
"""
# Sets application passwords, each in a context of its own and all at once, until its standard input ends.
SETTER = ASK + """
import threading
from agent import seal, read_key
key = read_key(sys.argv[3])
def set_one(connection, context):
    send(connection, "Authentication.SetCredential", context=context,
         credential=seal(key, {"phase": "applicationPassword", "context": context, "nonce": ""}, "a password"))
kept = []
for _ in range(int(sys.argv[2])):
    connection = connect()
    send(connection, "Authentication.CreateContext")
    kept.append((connection, answer(connection)["parameters"]["context"]))
def run(connection, context):
    while True:
        set_one(connection, context)
        answer(connection)
for one in kept: threading.Thread(target=run, args=one, daemon=True).start()
say("ready")
sys.stdin.readline()
os._exit(0)
"""
# Asks once each time that it is told to, on a connection of its own, and says how long that took.
ASKER = ASK + """
say("ready")
for line in sys.stdin:
    began = time.monotonic()
    connection = connect()
    send(connection, "Authentication.CanEvaluatePolicy", policy=1)
    answer(connection)
    say(time.monotonic() - began)
"""
# Adds so many items of so many bytes; then searches for all of them, as often at once as each line says, and says the replies' lengths.
READER = ASK + """
import threading
fill(int(sys.argv[2]), int(sys.argv[3]))
def read(lengths):
    connection = connect()
    send(connection, "Keychain.CopyMatching", query=json.loads(sys.argv[4]))
    count = 0
    while True:
        chunk = connection.recv(1 << 20)
        if not chunk: break
        count += len(chunk)
        if chunk.endswith(bytes(1)): break
    lengths.append(count)
say("ready")
for line in sys.stdin:
    lengths = []
    threads = [threading.Thread(target=read, args=(lengths,)) for _ in range(int(line))]
    for thread in threads: thread.start()
    for thread in threads: thread.join()
    say(lengths)
"""
# On each of so many connections a request of almost 1 MiB is answered, one stays under way, and most of another has come.
HOARDER = ASK + """
import select
def padded(method, bytes, end=b"}" + bytes(1), **more):
    frame = json.dumps({"method": "io.touchstone." + method, "parameters": {}} | more)[:-1].encode() + b', "pad": "'
    return frame + b"x" * (bytes - len(frame) - 2) + b'"' + end
kept = [connect() for _ in range(int(sys.argv[2]))]
end = time.monotonic() + 20
for connection in kept:
    connection.setblocking(False)
    for message in (padded("Authentication.GetIdentity", 1 << 20), padded("Authentication.GetEnvironment", 200, more=True),
                    padded("Authentication.GetIdentity", (1 << 20) - 100, end=b"")):
        while message and time.monotonic() < end:
            try:
                message = message[connection.send(message):]
            except BlockingIOError: select.select([], [connection], [], 0.1)
            except OSError: break
say("ready")
sys.stdin.readline()
"""


class App:
    """Another app, a copy of Python's executable, or this one in another process. What it says is read as JSON, line by line."""

    def __init__(self, device, program, *arguments, size=0, is_this=False):
        if device.user:
            # Where this Python lies, that user may not be allowed to look.
            self.executable, environment = "/usr/bin/python3", {"PATH": os.environ["PATH"]}
            become = {"user": device.user, "group": device.user, "extra_groups": []}
        else:
            directory = pathlib.Path(tempfile.mkdtemp(prefix="app.", dir=device.work))
            self.executable, become = directory / "app", {}
            (os.symlink if is_this else shutil.copy)(os.path.realpath(sys.executable), self.executable)
            if size:
                os.truncate(self.executable, size)
            environment = os.environ | {
                "PYTHONHOME": sys.base_prefix,
                "PYTHONPATH": ":".join([*filter(None, sys.path), str(REPOSITORY / "docs")])}
        self.process = subprocess.Popen(
            [self.executable, "-c", program, str(device.socket), *map(str, arguments)], env=environment, cwd="/",
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, **become)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.kill()
        self.process.wait(LONGEST_WAIT)

    def hear(self):
        line = self.process.stdout.readline()
        check(line, "the other app ended")
        return json.loads(line)

    def tell(self, what=""):
        self.process.stdin.write(f"{what}\n")
        self.process.stdin.flush()


def as_deployed():
    """The user that a device runs as; root's has all its memory locked, of which the kernel takes none back."""
    return 65534 if os.geteuid() == 0 else None


def fill(device, count, size):
    with device.connect() as connection:
        for number in range(count):
            attributes = {
                "class": {"string": "genp"}, "acct": {"string": f"{number}"},
                "v_Data": {"data": base64.b64encode(os.urandom(size)).decode()}}
            error, _ = call(connection, "Keychain.Add", attributes=attributes)
            equal(error, None, "an addition")


def search(device, query=ALL):
    """Sends a search on a connection of its own."""
    connection = device.connect()
    connection.settimeout(300)
    connection.sendall(json.dumps({"method": "io.touchstone.Keychain.CopyMatching", "parameters": {"query": query}}).encode() + b"\0")
    return connection


def length(connection):
    """Reads one reply to its end. Returns its length."""
    count = 0
    while True:
        chunk = connection.recv(1 << 20)
        check(chunk, "closed")
        count += len(chunk)
        if chunk.endswith(b"\0"):
            return count


def spent(device):
    """Processor seconds of both daemons."""
    return sum(processor_seconds(process) for process in device.daemons.values())


def add_one(device, account):
    with device.connect() as connection:
        attributes = {
            "class": {"string": "genp"}, "acct": {"string": account}, "v_Data": {"data": base64.b64encode(b"x").decode()}}
        error, _ = call(connection, "Keychain.Add", attributes=attributes)
        equal(error, None, "an addition")


def searches_that_nobody_waits_for_end():
    with Device() as device:
        device.set_up("271828")
        fill(device, 300, 16)
        began = spent(device)
        for _ in range(10):
            with search(device) as connection:
                length(connection)
        one = (spent(device) - began) / 10
        before = open_sockets(device)
        began = spent(device)
        with contextlib.ExitStack() as stack:
            # They live on: what a program sent that is gone is not looked at.
            apps = [stack.enter_context(App(device, ABANDONER, 120, json.dumps(ALL), is_this=True)) for _ in range(8)]
            for app in apps:
                equal(app.hear(), "ready", "who hangs up")
            add_one(device, "meanwhile")
            until_addition = spent(device) - began
            wait_for(lambda: open_sockets(device) <= before + 8, "the connections to be gone")
            with search(device) as connection:
                length(connection)
            all = spent(device) - began
        print(f"  960 searches: {960 * one:.1f} s of work; an addition after {until_addition:.1f} s, all after {all:.1f} s")
        check(until_addition < 960 * one / 4, "an addition waited for searches that nobody waits for")
        check(all < 960 * one / 4, "searches that nobody waits for were carried out")


def searches_of_one_process_leave_others_theirs():
    """A program that begins many and takes none of what is found has its turns, and no other's."""
    with Device() as device:
        device.set_up("271828")
        # More than the kernel keeps for who does not read.
        fill(device, 20, 100_000)
        with App(device, IDLER, 100, json.dumps(ALL), is_this=True) as idler:
            equal(idler.hear(), "ready", "the other app")
            for _ in range(3):
                with search(device) as connection:
                    check(length(connection) > 20 * 100_000, "what was found")
            add_one(device, "beside")
            the_owner_is_served(device)
            idler.tell()
            check(idler.hear() > 90, "the others were served because what waits was ended")


def searches_of_many_apps_leave_prompts_and_agents_theirs():
    """DEC-590: all turns of searches are taken, and many more wait."""
    with Device() as device, contextlib.ExitStack() as stack:
        device.set_up("271828", "thumb")
        # Four of each have a turn.
        apps = [stack.enter_context(App(device, OWN_IDLER, 60, json.dumps(ALL), 20, 100_000)) for _ in range(12)]
        for app in apps:
            equal(app.hear(), "ready", "an app that searches")
        threads = int(re.search(r"^Threads:\s+(\d+)", pathlib.Path(f"/proc/{device.daemons['touchstoned']}/status").read_text(), re.M)[1])
        print(f"  720 searches under way or waiting: touchstoned has {threads} threads")
        check(threads < 200, f"searches that wait have threads: {threads}")
        person = Person(device)
        with device.connect() as connection:
            _, reply = call(connection, "Authentication.CreateContext")
            options = {"reason": "meanwhile", "reuseDuration": 0.0, "interactionNotAllowed": False}
            error, _ = call(connection, "Authentication.EvaluatePolicy", context=reply["context"], policy=1, options=options)
            equal(error, None, "an evaluation meanwhile")
        equal(person.asked(), 1, "prompts meanwhile")
        add_one(device, "meanwhile")
        the_owner_is_served(device)


def results_take_a_bounded_amount_of_memory():
    with Device(user=as_deployed()) as device:
        device.set_up("271828")
        with App(device, READER, 280, 100_000, json.dumps(ALL)) as app:
            equal(app.hear(), "ready", "the other app")
            app.tell(1)
            whole = app.hear()
            check(whole[0] > 280 * 100_000, "the length of what was found")
            wait_for(lambda: memory(device)[1] < 128 << 20, "the memory of one search to go back")
            before = memory(device)[1]
            app.tell(40)
            equal(app.hear(), whole * 40, "the lengths of what was found")
            most = memory(device)[0]
            with contextlib.suppress(AssertionError):
                wait_for(lambda: memory(device)[1] < before + (64 << 20), "the memory to go back")
            after = memory(device)[1]
            print(f"  40 searches for 28 MB: at most {most >> 20} MiB; before {before >> 20}, after {after >> 20} MiB")
            check(most < 384 << 20, f"touchstoned took {most >> 20} MiB")
            check(after < before + (64 << 20), f"{after - before >> 20} MiB did not go back")


def requests_take_a_bounded_amount_of_memory():
    """DEC-589: whatever an app sends and however it stops."""
    with Device(user=as_deployed()) as device:
        device.set_up("271828")
        before = memory(device)[1]
        with contextlib.ExitStack() as stack:
            apps = [stack.enter_context(App(device, HOARDER, 120)) for _ in range(8)]
            for app in apps:
                equal(app.hear(), "ready", "who sends")
            most = memory(device)[0]
            print(f"  960 connections with almost 3 MiB each: at most {most >> 20} MiB, before {before >> 20}")
            check(most < before + (256 << 20), f"touchstoned took {most >> 20} MiB")
            the_owner_is_served(device)
            with App(device, READER, 1, 16, json.dumps(ALL)) as other:
                equal(other.hear(), "ready", "who adds an item beside them")


def who_is_answered_for_ever_keeps_no_turn():
    """DEC-589: apps that watch with large requests do not keep large requests of others waiting."""
    with Device() as device, contextlib.ExitStack() as stack:
        device.set_up("271828")
        apps = [stack.enter_context(App(device, WATCHER, 8)) for _ in range(9)]
        for app in apps:
            equal(app.hear(), "ready", "an app that watches")
        fill(device, 1, 100_000)


# Sends a descriptor along on each of so many connections: a TCP socket that waits an hour until its peer has read everything.
LINGERER = """
import array, socket, struct, sys, threading
path, count = sys.argv[1], int(sys.argv[2])
listener = socket.create_server(("127.0.0.1", 0), backlog=count)
kept = []
def send(number):
    lingering = socket.create_connection(listener.getsockname())
    lingering.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 3600))
    lingering.setblocking(False)
    try:
        while True: lingering.send(bytes(65536))
    except BlockingIOError: pass
    connection = socket.socket(socket.AF_UNIX)
    connection.connect(path)
    kept.append(connection)
    descriptors = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [lingering.fileno()]))]
    connection.sendmsg([b"x"], descriptors, socket.MSG_OOB if number % 3 == 2 else 0)
    # Whoever is last waits: the receiver, or this thread.
    lingering.close()
    connection.close()
for number in range(count): threading.Thread(target=send, args=[number]).start()
"""


def a_descriptor_that_takes_an_hour_to_close_holds_up_nobody():
    with Device() as device:
        device.set_up("271828")
        attacker = subprocess.Popen([sys.executable, "-c", LINGERER, str(device.socket), "48"])
        try:
            for _ in range(20):
                the_owner_is_served(device)
                time.sleep(0.1)
        finally:
            attacker.kill()
            attacker.wait()


def memory(device):
    """The most that touchstoned had in memory, and what it has now, in bytes."""
    status = pathlib.Path(f"/proc/{device.daemons['touchstoned']}/status").read_text()
    return [int(re.search(rf"^{name}:\s+(\d+) kB", status, re.M).group(1)) << 10 for name in ("VmHWM", "VmRSS")]


def passwords_of_one_app_keep_no_other_waiting():
    sys.path.append(str(REPOSITORY / "docs"))
    from agent import read_key, seal

    with Device() as device:
        device.set_up("271828")
        path = next(device.state.glob("**/passcode.pub"))
        key = read_key(path)
        with device.connect() as connection:
            _, reply = call(connection, "Authentication.CreateContext")
            context = reply["context"]

            def seconds():
                credential = seal(key, {"phase": "applicationPassword", "context": context, "nonce": ""}, "mine")
                began = time.monotonic()
                error, _ = call(connection, "Authentication.SetCredential", context=context, credential=credential)
                equal(error, None, "a password")
                return time.monotonic() - began

            alone = statistics.median(seconds() for _ in range(9))
            with App(device, SETTER, 100, path) as setter:
                equal(setter.hear(), "ready", "the other app")
                beside = statistics.median(seconds() for _ in range(9))
            # The machine may have become busy meanwhile.
            alone = max(alone, statistics.median(seconds() for _ in range(9)))
            print(f"  a password alone: {alone * 1000:.0f} ms, beside a hundred of another app: {beside * 1000:.0f} ms")
            # In one queue it is a hundred times as long.
            check(beside < 25 * alone, f"{beside:.2f} s, {alone:.2f} s alone")


def a_large_executable_holds_up_who_runs_it():
    with Device() as device:
        device.set_up("271828")
        # While a manifest says whose digest it wants, whoever is new is read whole (DEC-295).
        manifests = device.state / "apps.d"
        manifests.mkdir(mode=0o700, exist_ok=True)
        (manifests / "pinned.conf").write_text(f"[Application]\nIdentity=/usr/bin/pinned\nName=Pinned\nSHA256={'0' * 64}\n")
        connections = [device.connect() for _ in range(8)]
        for connection in connections:
            call(connection, "Authentication.CanEvaluatePolicy", policy=1)
        with App(device, ASKER, size=250_000_000) as large:
            equal(large.hear(), "ready", "the large app")
            rounds = []
            for _ in range(8):
                # It has changed: its digest is not known any more.
                os.chmod(large.executable, 0o755)
                large.tell()
                longest = 0
                while not select.select([large.process.stdout], [], [], 0)[0]:
                    for connection in connections:
                        began = time.monotonic()
                        call(connection, "Authentication.CanEvaluatePolicy", policy=1)
                        longest = max(longest, time.monotonic() - began)
                first = large.hear()
                large.tell()
                rounds.append((first, longest, large.hear()))
                if longest < first / 2 and rounds[-1][2] < first / 2:
                    break
            print(f"  {first * 1000:.0f} ms until it is known, others {longest * 1000:.0f} ms, then {rounds[-1][2] * 1000:.0f} ms")
            check(longest < first / 2, f"others waited for it: {rounds}")
            check(rounds[-1][2] < first / 2, f"it is not remembered: {rounds}")


main(
    whoever_asks_nothing_keeps_nobody_out, one_app_has_not_all_connections, without_descriptors_it_rests_and_goes_on,
    searches_that_nobody_waits_for_end, searches_of_one_process_leave_others_theirs,
    searches_of_many_apps_leave_prompts_and_agents_theirs, results_take_a_bounded_amount_of_memory, requests_take_a_bounded_amount_of_memory, who_is_answered_for_ever_keeps_no_turn,
    a_descriptor_that_takes_an_hour_to_close_holds_up_nobody, passwords_of_one_app_keep_no_other_waiting,
    a_large_executable_holds_up_who_runs_it)
