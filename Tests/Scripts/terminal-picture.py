#!/usr/bin/env python3
"""The picture of the front page shows what the programs do today: a prompt for a commit, the finger, the good signature."""

import pathlib
import subprocess
import tempfile

from device import LONGEST_WAIT, REPOSITORY, check, equal, main

SCRIPT, PICTURE = REPOSITORY / "script/terminal-picture", REPOSITORY / "docs/images/commit.svg"


def checked(picture):
    return subprocess.run([SCRIPT, "--check", picture], capture_output=True, text=True, timeout=2 * LONGEST_WAIT)


def the_picture_shows_what_the_programs_do():
    result = checked(PICTURE)
    equal(result.returncode, 0, f"terminal-picture --check: {result.stderr}")


def a_picture_of_another_prompt_is_refused():
    text = PICTURE.read_text()
    for words, others in (("Touch the fingerprint sensor", "Press the button"), ("Good &quot;", "Bad &quot;"), ("git commit", "git push")):
        words = words if words in text else words.replace("&quot;", '"')
        check(words in text, f"the picture does not show {words}")
        with tempfile.TemporaryDirectory() as directory:
            other = pathlib.Path(directory) / "other.svg"
            other.write_text(text.replace(words, others.replace("&quot;", '"'), 1))
            result = checked(other)
        equal(result.returncode, 1, f"terminal-picture --check of {others}: {result.stderr}")
        check("shows something else" in result.stderr, result.stderr)


main(the_picture_shows_what_the_programs_do, a_picture_of_another_prompt_is_refused)
