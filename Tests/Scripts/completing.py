"""What bash offers at a Tab, for the tests in this directory; no test itself."""

import os
import subprocess

from device import LONGEST_WAIT, equal


def completions(program, *words, environment):
    """For the last of `words`, which begin with the program's name. `environment` is the shell's."""
    made = subprocess.run([program, "--generate-completion-script", "bash"], capture_output=True, text=True, timeout=LONGEST_WAIT)
    equal(made.returncode, 0, made.stderr)
    line = " ".join(words)
    typed = " ".join(f"'{word}'" for word in words)
    shell = f"""
        eval "$SCRIPT"
        COMP_WORDS=({typed}) COMP_CWORD={len(words) - 1} COMP_LINE='{line}' COMP_POINT={len(line)}
        "$(complete -p {words[0]} | sed 's/.*-F \\([^ ]*\\).*/\\1/')" {words[0]} '{words[-1]}' '{words[-2]}'
        printf '%s\\n' "${{COMPREPLY[@]}}" """
    found = subprocess.run(
        ["bash", "--norc", "-c", shell], capture_output=True, text=True, timeout=LONGEST_WAIT,
        env=environment | {"SCRIPT": made.stdout, "PATH": f"{program.parent}:{os.environ['PATH']}"})
    equal(found.returncode, 0, found.stderr)
    return found.stdout.split()
