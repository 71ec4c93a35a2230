"""A throw-away simulated device for the tests in this directory, which are executable; this file is not, and no test."""

import contextlib
import glob
import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import traceback

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
PROGRAMS = pathlib.Path(os.environ.get("TOUCHSTONE_BIN", REPOSITORY / ".build/debug")).resolve()
# Longest wait for anything that a machine does, in seconds; only a failing test takes so long.
LONGEST_WAIT = 90

sys.path[:0] = glob.glob(str(REPOSITORY / ".build-python/lib/python3*/site-packages"))
try:
    import varlink
except ImportError:
    sys.exit("the Python package varlink is not there: run script/python-environment")
for program in ("touchstone", "touchstoned", "touchstone-enclave"):
    if not os.access(PROGRAMS / program, os.X_OK):
        sys.exit(f"{PROGRAMS / program} is not there: run make build")


def check(condition, what):
    if not condition:
        raise AssertionError(what)


def equal(found, expected, what):
    check(found == expected, f"{what}: {found!r}, expected {expected!r}")


def wait_for(condition, what, seconds=LONGEST_WAIT):
    """Polls until `condition` returns something true, and returns it."""
    limit = time.monotonic() + seconds
    while True:
        value = condition()
        if value:
            return value
        check(time.monotonic() < limit, f"waited {seconds} s for {what}")
        time.sleep(0.01)


def is_alive(pid):
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def confirm(device, event):
    """Does what an agent does once the owner sees the prompt: half a second later the sensor counts for it."""
    # One that is gone by now needs none.
    with contextlib.suppress(varlink.VarlinkError):
        device.client("Agent").ConfirmShown(prompt=event["prompt"]["identifier"])
    return event


class Device:
    """Created, and booted, in directories of its own; shut down and removed at the end of `with`."""

    def __init__(self, name="test", biometry="touchid", boot=True, user=None, create=(), beside=None):
        """beside: another device, whose owner and directories this one shares; it ends first."""
        self.name, self.biometry, self.user, self.create = name, biometry, user, create
        self.boots = boot
        self.work = beside.work if beside else pathlib.Path(tempfile.mkdtemp(prefix="touchstone-test."))
        for directory in ("state", "run", "config"):
            (self.work / directory).mkdir(mode=0o700, exist_ok=True)
        self.environment = {
            "PATH": os.environ["PATH"], "HOME": str(self.work), "TOUCHSTONE_DEVICE": name,
            "XDG_STATE_HOME": str(self.work / "state"), "XDG_RUNTIME_DIR": str(self.work / "run"),
            "XDG_CONFIG_HOME": str(self.work / "config"),
        }
        self.programs = PROGRAMS
        if user:
            # Where the sources lie another user may not be allowed to look.
            self.programs = self.work / "bin"
            self.programs.mkdir()
            for program in ("touchstone", "touchstoned", "touchstone-enclave"):
                shutil.copy(PROGRAMS / program, self.programs / program)
            for path in (self.work, *self.work.iterdir()):
                os.chown(path, user, user)
        self.state = self.work / "state/touchstone/devices" / name
        self.runtime = self.work / "run/touchstone" / name
        self.socket = self.runtime / "touchstoned.sock"
        self.processes = []
        self.beside = beside

    def __enter__(self):
        try:
            self.run("device", "create", self.name, "--biometry", self.biometry, *self.create)
            if self.boots:
                self.boot()
        except BaseException:
            self.clean_up()
            raise
        return self

    def __exit__(self, *_):
        self.clean_up()

    def clean_up(self):
        with contextlib.suppress(Exception):
            self.touchstone("device", "shutdown", self.name)
        for pid in self.processes:
            with contextlib.suppress(OSError):
                if is_alive(pid) and os.readlink(f"/proc/{pid}/exe").startswith(str(self.programs)):
                    os.kill(pid, signal.SIGKILL)
        if not self.beside:
            shutil.rmtree(self.work, ignore_errors=True)

    # programs

    def touchstone(self, *arguments, input=""):
        def become():
            os.setgroups([])
            os.setresgid(self.user, self.user, self.user)
            os.setresuid(self.user, self.user, self.user)

        return subprocess.run(
            [str(self.programs / "touchstone"), *arguments], env=self.environment, input=input, text=True,
            capture_output=True, timeout=2 * LONGEST_WAIT, preexec_fn=become if self.user else None)

    def run(self, *arguments, input="", status=0):
        result = self.touchstone(*arguments, input=input)
        check(
            result.returncode == status,
            f"touchstone {' '.join(arguments)}: exit {result.returncode}, expected {status}\n"
            f"{result.stdout}{result.stderr}")
        return result

    def boot(self):
        self.run("device", "boot", self.name, "--detach", "--wait", str(LONGEST_WAIT))
        self.processes += [self.supervisor, *self.daemons.values()]

    def shutdown(self):
        self.run("device", "shutdown", self.name)

    def set_up(self, passcode="271828", *fingers):
        self.run("device", "passcode", "set", input=f"{passcode}\n")
        for finger in fingers:
            self.run("device", "enroll", finger)

    @property
    def status(self):
        """As JSON; None while the device does not answer."""
        result = self.touchstone("device", "status", "--json", self.name)
        return json.loads(result.stdout) if result.returncode == 0 else None

    @property
    def supervisor(self):
        return int((self.runtime / "supervisor.pid").read_text())

    @property
    def daemons(self):
        """The process ids of the supervisor's children, by program."""
        found = {}
        for line in glob.glob(f"/proc/{self.supervisor}/task/*/children"):
            children = ""
            # The thread may have ended since.
            with contextlib.suppress(OSError):
                children = pathlib.Path(line).read_text()
            for pid in children.split():
                with contextlib.suppress(OSError):
                    # Undumpable, so that only root may read exe; the command line is for everybody.
                    program = pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")[0].decode()
                    found[os.path.basename(program)] = int(pid)
        return found

    @property
    def log(self):
        return (self.state / "supervisor.log").read_text(errors="replace")

    # connections

    def client(self, interface):
        """One connection of the foreign client's, for one interface."""
        return varlink.Client(address=f"unix:{self.socket}").open(f"io.touchstone.{interface}")

    def connect(self):
        connection = socket.socket(socket.AF_UNIX)
        connection.settimeout(LONGEST_WAIT)
        connection.connect(str(self.socket))
        return connection


def call(connection, method, /, **parameters):
    """One call without any library. Returns (error or None, parameters); EOF is ConnectionError."""
    connection.sendall(json.dumps({"method": f"io.touchstone.{method}", "parameters": parameters}).encode() + b"\0")
    reply = bytearray()
    while not reply.endswith(b"\0"):
        chunk = connection.recv(65536)
        if not chunk:
            raise ConnectionError("closed")
        reply += chunk
    reply = json.loads(reply[:-1])
    return reply.get("error"), reply.get("parameters", {})


class Evaluation:
    """An app that asks for the owner, on a connection and a thread of its own."""

    def __init__(self, device, policy=1, reason="the test"):
        self.connection = device.connect()
        _, reply = call(self.connection, "Authentication.CreateContext")
        self.context = reply["context"]
        self.answer, self.ended = None, None
        options = {"reason": reason, "reuseDuration": 0.0, "interactionNotAllowed": False}

        def run():
            try:
                self.answer = call(
                    self.connection, "Authentication.EvaluatePolicy", context=self.context, policy=policy,
                    options=options)
            except OSError as error:
                self.answer = (type(error).__name__, {})
            self.ended = time.monotonic()

        self.thread = threading.Thread(target=run, daemon=True)
        self.thread.start()

    def result(self):
        """(error or None, parameters)"""
        self.thread.join(LONGEST_WAIT)
        check(not self.thread.is_alive(), "the evaluation is not answered")
        return self.answer


def expect_error(name, body, **parameters):
    """Runs `body`, which must be answered with this error and these parameters of it."""
    try:
        result = body()
    except varlink.VarlinkError as error:
        equal(error.error(), name, "the error")
        found = error.parameters() or {}
        for key, value in parameters.items():
            equal(found.get(key), value, f"{name}.{key}")
        return found
    raise AssertionError(f"{name} was expected, and this came back: {result!r}")


def main(*tests):
    """Runs each test, says which failed and why, and ends the program where one did."""
    failed = 0
    for test in tests:
        started, name = time.monotonic(), getattr(test, "func", test).__name__
        try:
            test()
            print(f"ok {name} ({time.monotonic() - started:.1f} s)", flush=True)
        except Exception:
            failed += 1
            print(f"FAILED {name}\n{traceback.format_exc()}", flush=True)
    if failed:
        sys.exit(f"{failed} of {len(tests)} failed")
