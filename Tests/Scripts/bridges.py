"""Programs of the package Bridges and a person for the tests in this directory, which are executable; this file is not, and no test."""

import os
import pathlib
import queue
import subprocess
import sys
import threading

from device import LONGEST_WAIT, REPOSITORY, Device, check, confirm

BRIDGES = pathlib.Path(os.environ.get("TOUCHSTONE_BRIDGES", REPOSITORY / ".build/debug")).resolve()


class Person:
    """Sees each prompt, keeps it, and answers it: `finger`, `cancel`, nothing, or what a function of the prompt returns."""

    def __init__(self, device, answer="finger"):
        self.device, self.answer, self.prompts, self.told = device, answer, [], queue.Queue()
        self.ready = threading.Event()
        threading.Thread(target=self.look, daemon=True).start()
        check(self.ready.wait(LONGEST_WAIT), "the agent is not ready")

    def look(self):
        try:
            self.agent = self.device.client("Agent")
            for event in self.agent.Subscribe(version=1, _more=True):
                if event["event"] == "ready":
                    self.ready.set()
                elif event["event"] == "show":
                    self.prompts.append(event["prompt"])
                    self.told.put(event["prompt"])
                    answer = self.answer(event["prompt"]) if callable(self.answer) else self.answer
                    if answer == "cancel":
                        self.device.client("Agent").Cancel(prompt=event["prompt"]["identifier"])
                    elif answer == "finger":
                        confirm(self.device, event)
                        self.device.client("Device").PresentFinger(finger="thumb")
        except Exception as error:  # the device was shut down
            self.error = error

    def leave(self):
        """Nothing shows prompts any more."""
        self.agent.close()

    def asked(self):
        """How many prompts came since the last time."""
        count = len(self.prompts)
        self.prompts = []
        return count


class Resident:
    """`touchstone-credentials` in the foreground, known to the device as a bridge."""

    def __init__(self, device, *options, is_bridge=True, manifest=""):
        self.device, self.socket = device, device.work / "credentials.sock"
        if is_bridge:
            manifests = device.state / "apps.d"
            manifests.mkdir(mode=0o700, exist_ok=True)
            (manifests / "credentials.conf").write_text(
                f"[Application]\nIdentity={BRIDGES}/touchstone-credentials\nName=Touchstone's passwords\nActsForClients=true\n{manifest}")
        self.errors = open(device.work / "credentials.log", "w+")
        self.process = subprocess.Popen(
            [BRIDGES / "touchstone-credentials", "--socket", self.socket, *options], env=device.environment,
            stdout=subprocess.PIPE, stderr=self.errors, text=True)
        line = self.process.stdout.readline()
        check(line.startswith("ready"), f"touchstone-credentials: {line!r} {self.log}")
        self.environment = device.environment | {
            "TOUCHSTONE_CREDENTIALS": str(self.socket), "PATH": f"{BRIDGES}:{os.environ['PATH']}",
            "GIT_CONFIG_NOSYSTEM": "1", "GIT_TERMINAL_PROMPT": "0", "GIT_ASKPASS": "/bin/false",
        }

    @property
    def log(self):
        return pathlib.Path(self.errors.name).read_text()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait(LONGEST_WAIT)

    def run(self, *arguments, input="", status=0, timeout=LONGEST_WAIT, **settings):
        """Its standard output, as text."""
        done = subprocess.run(
            [str(argument) for argument in arguments], env=self.environment, input=input.encode() if isinstance(input, str) else input,
            capture_output=True, timeout=timeout, **settings)
        check(status is None or done.returncode == status,
              f"{arguments}: exit {done.returncode}, expected {status}\n{done.stdout}\n{done.stderr.decode(errors='replace')}{self.log}")
        self.said = done.stderr.decode(errors="replace")
        return done.stdout.decode(errors="surrogateescape")


def with_device(body):
    """A device with a passcode and a finger, touchstone-credentials, and a person."""

    def run():
        with Device() as device:
            device.set_up("271828", "thumb")
            with Resident(device) as resident:
                body(device, resident, Person(device))

    run.__name__ = body.__name__
    return run


for program in ("touchstone-credentials", "git-credential-touchstone", "docker-credential-touchstone", "touchstone-run"):
    if not os.access(BRIDGES / program, os.X_OK):
        sys.exit(f"{BRIDGES / program} is not there: run make bridges")
