#!/usr/bin/env python3
"""The demonstration at a terminal: a person's keys are the fingers, a wrong one is seen, and another try is asked for."""

import os
import pathlib
import pty
import re
import select
import subprocess
import time

from device import LONGEST_WAIT, REPOSITORY, check, equal, main


class Person:
    """A terminal with the demonstration, and what it showed so far."""

    def __init__(self, **environment):
        self.terminal, theirs = pty.openpty()
        self.process = subprocess.Popen(
            [REPOSITORY / "Examples/demo"], env=os.environ | {"DEMO": "story", "NO_COLOR": "1", "TERM": "dumb"} | environment,
            stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True)
        os.close(theirs)
        self.shown, self.read_to = "", 0

    def sees(self, words):
        """Waits for the words, from where the last ones ended."""
        limit = time.monotonic() + LONGEST_WAIT
        while not (found := re.compile(words).search(self.shown, self.read_to)):
            check(time.monotonic() < limit, f"waited for {words!r}: {self.shown[self.read_to:]}")
            if select.select([self.terminal], [], [], 1)[0]:
                try:
                    self.shown += os.read(self.terminal, 65536).decode(errors="replace").replace("\r\n", "\n")
                except OSError:
                    check(re.compile(words).search(self.shown, self.read_to), f"it ended without {words!r}: {self.shown}")
        self.read_to = found.end()

    def presses(self, keys):
        os.write(self.terminal, keys.encode())

    def ends(self):
        return self.process.wait(LONGEST_WAIT)


def a_person_presses_the_fingers():
    person = Person(SIGNIN_BIN="/nowhere")
    try:
        person.sees(r"Press n .*, then 1 ")
        person.sees(r"\[c\] Cancel")
        person.presses("n")
        person.sees("Not recognised")
        person.presses("1")
        person.sees("alice: correct horse")
        # Who cancels sees what the program got, and is asked again.
        person.sees(r"\[c\] Cancel")
        person.presses("c")
        person.sees("read: userCancel")
        person.sees("asks once more")
        person.sees(r"\[c\] Cancel")
        person.presses("1")
        person.sees("bread and roses")
        person.sees("CryptoTokenKit -3")
        person.sees(r"\[c\] Cancel")
        person.presses("1")
        person.sees('Good "git" signature')
        person.sees(r"\[c\] Cancel")
        person.presses("1")
        person.sees("password=correct horse")
        person.sees(r"\[c\] Cancel")
        person.presses("1")
        person.sees("it has 7 letters")
        person.sees(r"\[y/N\]")
        person.presses("\n")
        equal(person.ends(), 0, f"exit status: {person.shown}")
    finally:
        person.process.kill()
        person.process.wait(LONGEST_WAIT)
    left = [path for path in pathlib.Path(os.environ.get("TMPDIR", "/tmp")).glob("touchstone-demo.*") if str(path) in person.shown]
    equal(left, [], "what is left")


def without_a_program_it_says_what_to_build():
    result = subprocess.run(
        [REPOSITORY / "Examples/demo", "--check"], env=os.environ | {"SIGNIN_BIN": "/nowhere"}, capture_output=True, text=True,
        stdin=subprocess.DEVNULL, timeout=LONGEST_WAIT)
    equal(result.returncode, 1, "exit status without the server")
    check("SIGN_IN=yes" in result.stderr, result.stderr)


main(a_person_presses_the_fingers, without_a_program_it_says_what_to_build)
