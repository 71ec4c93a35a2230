"""A real fprintd with a virtual fingerprint reader, on a bus of its own, for tests in this directory; no test itself."""

import contextlib
import getpass
import json
import os
import pathlib
import queue
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time

from device import LONGEST_WAIT, Device, call, check, equal, wait_for

FPRINTD = "/usr/libexec/fprintd"
for program in (FPRINTD, "/usr/bin/dbus-daemon", "/usr/bin/fprintd-enroll", "/usr/bin/gdbus"):
    if not os.access(program, os.X_OK):
        sys.exit(f"{program} is not there: run script/install-packages test")

USER = getpass.getuser()
# Anybody may say anything here: whom the enclave believes is for the enclave to tell.
BUS = """<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
 "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
<busconfig><type>system</type><listen>unix:path={socket}</listen><auth>EXTERNAL</auth>
<policy context="default"><allow send_destination="*" eavesdrop="true"/><allow eavesdrop="true"/><allow own="*"/>
<allow user="*"/></policy></busconfig>
"""

# libfprint's, by the variable that plugs one in.
DRIVERS = {"FP_VIRTUAL_DEVICE": "virtual_device", "FP_VIRTUAL_DEVICE_STORAGE": "virtual_device_storage"}


class Reader:
    """The bus, a polkit that says yes, and fprintd; all gone at the end of `with`."""

    def __init__(self):
        self.work = pathlib.Path(tempfile.mkdtemp(prefix="touchstone-reader."))
        # Of the other reader there is nothing until fprintd is started with it.
        self.bus, self.templates, self.device, self.other = (
            self.work / name for name in ("bus", "templates", "reader", "other"))
        self.templates.mkdir(mode=0o700)
        self.environment = {
            "PATH": os.environ["PATH"], "HOME": str(self.work), "DBUS_SYSTEM_BUS_ADDRESS": f"unix:path={self.bus}",
            "LC_ALL": "C.UTF-8",
        }
        self.children = {}

    def __enter__(self):
        try:
            configuration = self.work / "bus.conf"
            configuration.write_text(BUS.format(socket=self.bus))
            self.start("bus", "dbus-daemon", f"--config-file={configuration}", "--nofork")
            wait_for(lambda: self.gdbus("org.freedesktop.DBus", "/", "org.freedesktop.DBus.GetId"), "the bus")
            # The system's Python: the packaged one knows the packaged bindings.
            self.start("polkit", "/usr/bin/python3", "-m", "dbusmock", "--system", "--template", "polkitd")
            wait_for(
                lambda: self.gdbus(
                    "org.freedesktop.PolicyKit1", "/org/freedesktop/PolicyKit1/Authority",
                    "org.freedesktop.DBus.Mock.AllowUnknown", "true"), "the polkit")
            self.start_fprintd()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        for child in reversed(list(self.children.values())):
            child.kill()
            child.wait()
        shutil.rmtree(self.work, ignore_errors=True)

    def start(self, name, *arguments, **environment):
        with open(self.work / f"{name}.log", "ab") as log:
            self.children[name] = subprocess.Popen(
                arguments, env=self.environment | environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    def start_fprintd(self, *readers):
        """readers: "reader", "other" or both, which is of another model; none: the first."""
        plugged = {name: value for name, value in (
            ("FP_VIRTUAL_DEVICE", self.device), ("FP_VIRTUAL_DEVICE_STORAGE", self.other))
            if value.name in (readers or ("reader",))}
        self.start(
            "fprintd", FPRINTD, "-t", FP_DRIVERS_WHITELIST=":".join(DRIVERS[name] for name in plugged),
            STATE_DIRECTORY=str(self.templates), **{name: str(value) for name, value in plugged.items()})
        wait_for(self.path, "fprintd to have the reader")

    def stop(self, name="fprintd"):
        """Kills one of the programs."""
        child = self.children.pop(name)
        child.kill()
        child.wait()

    def gdbus(self, destination, path, method, *arguments):
        """What a method answers, as GVariant text; None where it fails."""
        result = subprocess.run(
            ["gdbus", "call", "--system", "-d", destination, "-o", path, "-m", method, *arguments],
            env=self.environment, capture_output=True, text=True, timeout=LONGEST_WAIT)
        return result.stdout.strip() if result.returncode == 0 else None

    def path(self):
        """The object path of the reader; None where there is none."""
        answer = self.gdbus(
            "net.reactivated.Fprint", "/net/reactivated/Fprint/Manager", "net.reactivated.Fprint.Manager.GetDefaultDevice")
        return answer and answer.split("'")[1]

    # the reader

    def tell(self, command):
        """One command to the virtual reader; False where nobody has it open."""
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(LONGEST_WAIT)
            try:
                connection.connect(str(self.device))
                connection.sendall(command.encode())
                connection.shutdown(socket.SHUT_WR)
                while connection.recv(1024):
                    pass
            except (FileNotFoundError, ConnectionError):
                return False
        return True

    @property
    def is_open(self):
        """Whether somebody has claimed the reader."""
        with socket.socket(socket.AF_UNIX) as connection:
            try:
                connection.connect(str(self.device))
                return True
            except (FileNotFoundError, ConnectionError):
                return False

    def touch(self, finger):
        """Lays this finger on the reader as soon as somebody has it open."""
        wait_for(lambda: self.tell(f"SCAN {finger}"), "the reader to be opened")

    def is_looking(self, prompts):
        """Waits until a finger would be seen: what the reader is told before that may be lost when it is closed."""
        def is_hinted():
            self.tell("RETRY 1")
            return prompts.comes("show", 0.3, hint="swipeTooShort")

        wait_for(is_hinted, "the reader to look")

    # fprintd's own tools

    def tool(self, name, *arguments):
        return subprocess.Popen(
            [f"fprintd-{name}", *arguments], env=self.environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True)

    def enroll(self, name, finger, device=None):
        """Enrols a finger under a name of fprintd, with its own program, and waits until the device, if one is given, has seen it."""
        enrolling = self.tool("enroll", "-f", name, USER)
        limit = time.monotonic() + LONGEST_WAIT
        while enrolling.poll() is None:
            check(time.monotonic() < limit, "the enrolment to be done")
            self.tell(f"SCAN {finger}")
            time.sleep(0.02)
        output = enrolling.stdout.read()
        check("enroll-completed" in output, output)
        if device:
            wait_for(lambda: can_evaluate(device)[0] is None, "the device to know the finger")

    def delete(self, *names):
        """Deletes one finger, or all."""
        result = self.tool("delete", USER, *(("-f", names[0]) if names else ()))
        equal(result.wait(LONGEST_WAIT), 0, result.stdout.read())


def names_of(reader, pid):
    """The unique names on the bus of a process."""
    names = reader.gdbus("org.freedesktop.DBus", "/", "org.freedesktop.DBus.ListNames")
    return [
        name for name in names.split("'") if name.startswith(":") and re.fullmatch(rf"\(uint32 {pid},\)", reader.gdbus(
            "org.freedesktop.DBus", "/", "org.freedesktop.DBus.GetConnectionUnixProcessID", name) or "")]


class Prompts:
    """An agent that says of each prompt that it is shown, shows it to nobody, and remembers the last one."""

    def __init__(self, device):
        self.connection, self.calls = device.connect(), device.connect()
        self.events, self.last = queue.Queue(), None
        request = {"method": "io.touchstone.Agent.Subscribe", "parameters": {}, "more": True}
        self.connection.sendall(json.dumps(request).encode() + b"\0")
        threading.Thread(target=self.listen, daemon=True).start()
        self.until("ready")

    def listen(self):
        """Puts every event into `events`, and None once the connection is closed."""
        buffer, confirmed = b"", None
        with contextlib.suppress(OSError, ValueError):
            while chunk := self.connection.recv(65536):
                *frames, buffer = (buffer + chunk).split(b"\0")
                for frame in frames:
                    parameters = json.loads(frame)["parameters"]
                    prompt = (parameters.get("prompt") or {}).get("identifier")
                    if prompt and prompt != confirmed:
                        confirmed = prompt
                        # One that is gone by now needs none.
                        call(self.calls, "Agent.ConfirmShown", prompt=prompt)
                    self.events.put(parameters)
        self.events.put(None)

    def until(self, event, **shown):
        """Reads until this event comes, with these values in its prompt, and returns the prompt."""
        check(self.comes(event, LONGEST_WAIT, **shown), f"{event} {shown} was awaited, and the last prompt is {self.last}")
        return self.last

    def comes(self, event, seconds, **shown):
        """Whether this event comes, with these values in its prompt, within so many seconds."""
        limit = time.monotonic() + seconds
        while True:
            try:
                parameters = self.events.get(timeout=max(0, limit - time.monotonic()))
            except queue.Empty:
                return False
            check(parameters, "the daemon closed the agent's connection")
            self.last = parameters.get("prompt") or {}
            if parameters["event"] == event and all(self.last.get(key) == value for key, value in shown.items()):
                return True

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.connection.close()
        self.calls.close()


def with_reader(reader, *options, **device):
    """A device whose sensor is fprintd on the reader's bus."""
    return Device(
        create=("--sensor", "fprintd", "--bus", str(reader.bus), "--templates", str(reader.templates), *options), **device)


def can_evaluate(device, policy=1):
    """(code or None, domain state or None)"""
    error, reply = call(device.connect(), "Authentication.CanEvaluatePolicy", context=None, policy=policy)
    equal(error, None, "the question")
    return reply.get("code"), reply.get("domainState")


def next_state(device, *seen):
    """Waits until the enclave has looked. Returns the domain state, which differs from those."""
    return wait_for(
        lambda: (state := can_evaluate(device)[1]) not in (None, *seen) and state, "the domain state to be another")
