"""`touchstone-login` on a simulated device; no test itself."""

import os
import pathlib
import subprocess
import sys
import tempfile

from device import LONGEST_WAIT, REPOSITORY, check, wait_for

PASSCODE, FINGER = "271828", "right-index"


class Login:
    """The command, as the device's owner runs it."""

    PROGRAM = pathlib.Path(
        os.environ.get("TOUCHSTONE_LOGIN", REPOSITORY / "SignIn/.build/debug/touchstone-login")).resolve()

    def __init__(self, device):
        if not os.access(self.PROGRAM, os.X_OK):
            sys.exit(f"{self.PROGRAM} is not there: run make sign-in")
        self.device = device

    def touch(self):
        self.device.run("device", "match", FINGER, "--wait", str(LONGEST_WAIT))

    def register(self, server, name, password):
        """With the finger that the new key's first signature asks for."""
        process = subprocess.Popen(
            [self.PROGRAM, "register", server.origin, "--name", name, "--device-name", "Laptop"],
            env=self.device.environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        process.stdin.write(f"{password}\n")
        process.stdin.flush()
        self.touch()
        output, _ = process.communicate(timeout=LONGEST_WAIT)
        check(process.returncode == 0, f"touchstone-login register: exit {process.returncode}\n{output}")

    def approve(self, *options):
        return Approver(self, *options)


class Approver:
    """`touchstone-login approve`, with what its terminal shows."""

    def __init__(self, login, *options):
        self.login, self.options = login, options

    def __enter__(self):
        self.file = tempfile.NamedTemporaryFile("r", prefix="touchstone-approver.")
        with open(self.file.name, "ab") as output:
            self.process = subprocess.Popen(
                [self.login.PROGRAM, "approve", *self.options], env=self.login.device.environment, stdin=subprocess.DEVNULL,
                stdout=output, stderr=output)
        try:
            wait_for(lambda: self.process.poll() is not None or "ready" in self.output, "the approver")
            check(self.process.poll() is None, f"the approver ended: {self.output}")
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait(LONGEST_WAIT)
        self.file.close()

    @property
    def output(self):
        return pathlib.Path(self.file.name).read_text()
