"""Somebody at a terminal in which `touchstone setup` runs, for tests in this directory; no test itself."""

import fcntl
import os
import select
import subprocess
import termios
import time

from device import LONGEST_WAIT, check, equal


class Person:
    """Somebody at a terminal, who reads and types."""

    def __init__(self, device, *arguments, environment=None):
        self.ours, theirs = os.openpty()
        self.child = subprocess.Popen(
            [device.programs / "touchstone", "setup", *arguments], env=device.environment | (environment or {}), stdin=theirs, stdout=theirs,
            stderr=theirs, start_new_session=True, preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))
        os.close(theirs)
        self.shown, self.all = "", ""

    def reads(self, text):
        """Waits until this is shown, after what was read before."""
        limit = time.monotonic() + LONGEST_WAIT
        while text not in self.shown:
            ready = select.select([self.ours], [], [], max(0, limit - time.monotonic()))[0]
            check(ready, f"{text!r} was awaited, and this is shown:\n{self.all}")
            try:
                chunk = os.read(self.ours, 65536).decode(errors="replace").replace("\r\n", "\n")
            except OSError:
                chunk = ""
            check(chunk, f"{text!r} was awaited, and the end came:\n{self.all}")
            self.shown += chunk
            self.all += chunk
        before, _, self.shown = self.shown.partition(text)
        return before

    def types(self, text="", end="\n"):
        os.write(self.ours, (text + end).encode())

    def answers(self, question, answer=""):
        self.reads(question)
        self.types(answer)

    def ends(self, status=0):
        limit = time.monotonic() + LONGEST_WAIT
        while True:
            check(time.monotonic() < limit, f"the end was awaited, and this is shown:\n{self.all}")
            try:
                chunk = os.read(self.ours, 65536) if select.select([self.ours], [], [], 0.1)[0] else None
            except OSError:
                break
            if chunk is not None:
                if not chunk:
                    break
                self.all += chunk.decode(errors="replace").replace("\r\n", "\n")
        equal(self.child.wait(LONGEST_WAIT), status, f"the exit status of\n{self.all}")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.child.poll() is None:
            self.child.kill()
            self.child.wait()
        os.close(self.ours)


def touches(reader, person, finger, until="Enrolled."):
    """Lays a finger on the reader as often as it is asked for; a touch before the reader looks is lost."""
    limit = time.monotonic() + LONGEST_WAIT
    while until not in person.shown:
        check(time.monotonic() < limit, f"{until!r} was awaited:\n{person.all}")
        reader.tell(f"SCAN {finger}")
        if select.select([person.ours], [], [], 0.02)[0]:
            chunk = os.read(person.ours, 65536).decode().replace("\r\n", "\n")
            person.shown += chunk
            person.all += chunk
