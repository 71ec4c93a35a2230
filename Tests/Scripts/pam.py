"""pam_touchstone.so in a PAM service of a test's own, and a program that uses it; no test itself."""

import pathlib
import re
import shutil
import subprocess
import tempfile

from device import LONGEST_WAIT, REPOSITORY, check

HERE = pathlib.Path(__file__).resolve().parent
SUCCESS, SYSTEM_ERR, AUTH_ERR, UNAVAIL, UNKNOWN = 0, 4, 7, 9, 10
SANITIZED = ("-fsanitize=address,undefined", "-fno-omit-frame-pointer")


class Stack:
    """A directory of PAM services with the module, built as `flags` say, and the program that authenticates."""

    def __init__(self, *flags, helper=None):
        self.work = pathlib.Path(tempfile.mkdtemp(prefix="touchstone-pam."))
        # Another user starts the helper, too.
        self.work.chmod(0o755)
        self.helper, self.services = self.work / "helper", self.work / "pam.d"
        self.services.mkdir()
        self.module, self.host = self.work / "pam_touchstone.so", self.work / "pam_host"
        path = helper or self.helper
        self.build(REPOSITORY / "script/pam-module", self.work, f'-DTOUCHSTONE_PAM_HELPER="{path}"', *flags)
        self.build("gcc", "-g", "-O1", *flags, "-o", self.host, HERE / "pam_host.c", "-lpam", "-lpthread", "-ldl")
        self.service("other", "auth required pam_deny.so")
        self.use()

    @staticmethod
    def build(*command):
        done = subprocess.run(list(map(str, command)), capture_output=True, text=True)
        check(done.returncode == 0, f"{command[0]}: {done.stdout}{done.stderr}")

    def service(self, name, *lines):
        (self.services / name).write_text("".join(f"{line}\n" for line in lines))

    def use(self, *options):
        """One service with the module alone, and these options of it."""
        self.service("sudo", f"auth required {self.module} {' '.join(options)}")

    def tell(self, script):
        """What the helper does instead of its work: a script of the shell, with the socket as descriptor 3."""
        new = self.helper.with_suffix(".new")
        new.write_text(f"#!/bin/sh\n{script}\n")
        new.chmod(0o755)
        new.rename(self.helper)

    def run(self, *words, service="sudo", user="root", before=(), environment=None):
        """What the program says: result, lines, milliseconds, descriptors that it lost, and whether it has children."""
        done = subprocess.run(
            [*before, self.host, self.services, service, user, *words], capture_output=True, text=True, errors="replace", timeout=LONGEST_WAIT * 3,
            stdin=subprocess.DEVNULL, env=environment)
        lines = done.stdout.splitlines()
        found = re.fullmatch(r"result (\d+) ([\d.]+) (-?\d+) ([01])", lines[-1]) if lines else None
        check(found, f"the host: exit {done.returncode}\n{done.stdout}{done.stderr}")
        self.errors = done.stderr
        return Said(int(found[1]), lines[:-1], float(found[2]), int(found[3]), found[4] == "1")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.work, ignore_errors=True)


class Said:
    def __init__(self, result, lines, milliseconds, descriptors, has_children):
        self.result, self.lines, self.milliseconds = result, lines, milliseconds
        self.descriptors, self.has_children = descriptors, has_children

    def __repr__(self):
        return f"{self.result} {self.lines} {self.milliseconds} ms, {self.descriptors} descriptors, children: {self.has_children}"
