#!/usr/bin/env python3
"""The manual pages say what the commands are, and render without a warning; bash, zsh and fish complete them."""

import json
import os
import pathlib
import pty
import re
import select
import signal
import subprocess
import tempfile
import time

import completing
from device import LONGEST_WAIT, PROGRAMS, REPOSITORY, check, equal

TOUCHSTONE = PROGRAMS / "touchstone"
BRIDGES = pathlib.Path(os.environ.get("TOUCHSTONE_BRIDGES_BIN", REPOSITORY / ".build/debug"))
OF_BRIDGES = (
    "age-plugin-touchstone", "touchstone-credentials", "touchstone-fido", "touchstone-pkcs11", "touchstone-run", "touchstone-secret-service", "touchstone-ssh", "touchstone-ssh-agent")
DESKTOP = pathlib.Path(os.environ.get("TOUCHSTONE_DESKTOP_BIN", REPOSITORY / "Desktop/.build/debug"))
SIMULATOR = pathlib.Path(os.environ.get("TOUCHSTONE_SIMULATOR", REPOSITORY / ".build/debug/touchstone-simulator"))
SIGNIN = pathlib.Path(os.environ.get("SIGNIN_BIN", REPOSITORY / "SignIn/.build/debug"))


def output(*command, environment=None, status=0):
    found = subprocess.run(command, env=os.environ | (environment or {}), capture_output=True, text=True, timeout=LONGEST_WAIT)
    equal(found.returncode, status, f"{command[0]}: {found.stderr}")
    return found


def every_command():
    """Every command that has a page, as (path, what its program says of it)."""
    for program in (TOUCHSTONE, SIGNIN / "touchstone-login", SIGNIN / "touchstone-signin", *(BRIDGES / name for name in OF_BRIDGES)):
        yield from commands(json.loads(output(program, "--experimental-dump-help").stdout)["command"])


def commands(command, path=()):
    path = (*path, command["commandName"])
    yield path, command
    for child in command.get("subcommands", []):
        if child["commandName"] != "help":
            yield from commands(child, path)


def everyCommandHasAPageThatRendersWithoutAWarning(work):
    pages = {page.name for page in work.iterdir()}
    found = dict(every_command())
    # They are the programs touchstone-run and touchstone-fido, and have the pages of those.
    del found["touchstone", "run"], found["touchstone", "fido"]
    check(len(found) > 40, f"only {len(found)} commands")
    written = list((REPOSITORY / "debian").glob("*.[18]"))
    programs = re.findall(r'\.executable\(name: "(.*?)"', (REPOSITORY / "Package.swift").read_text())
    daemons = {f"{name}.8" for name in programs if name != "touchstone"} - {page.name for page in written}
    equal(pages, {"-".join(path) + ".1" for path in found} | daemons, "the pages")
    for page in [*work.iterdir(), *written]:
        rendered = output("groff", "-man", "-Tascii", "-ww", "-b", str(page))
        equal(rendered.stderr, "", f"{page.name}: what groff warns of")
    for path, command in found.items():
        shown = output("man", "-l", str(work / ("-".join(path) + ".1")), environment={"MANWIDTH": "100"}).stdout
        words = " ".join(shown.split())
        check(command["abstract"].rstrip(".") in words, f"{path}: the page does not say what it does")
        for argument in command.get("arguments", []):
            if not argument["shouldDisplay"] or len(path) > 1 and argument["valueName"] in ("help", "version"):
                continue
            for name in argument.get("names", []):
                typed = ("--" if name["kind"] == "long" else "-") + name["name"]
                check(typed in words, f"{path}: the page does not say {typed}")
            check(argument.get("abstract", "").replace("…", "...") in words, f"{path}: nothing of {argument['valueName']}")


def everyProgramSaysItsVersion():
    """One version, also in the packages that cannot import it from the root's."""
    expected = re.search(r'current = "(.*)"', (REPOSITORY / "Sources/TouchstoneCore/TouchstoneVersion.swift").read_text()).group(1)
    helpers = ("git-credential-touchstone", "touchstone-security")
    own = ("touchstone", "touchstoned", "touchstone-enclave", "touchstone-peers", "touchstone-pam-verify", "touchstone-sync")
    for program in (
            *(PROGRAMS / name for name in own), DESKTOP / "touchstone-agent",
            SIGNIN / "touchstone-login", SIGNIN / "touchstone-signin", SIMULATOR, *(BRIDGES / name for name in (*OF_BRIDGES, *helpers))):
        equal(output(program, "--version").stdout, f"{expected}\n", f"{program.name} --version")
    said = output(BRIDGES / "pinentry-touchstone", "--version").stdout
    equal(said, f"pinentry-touchstone (Touchstone) {expected}\n", "pinentry-touchstone --version")
    said = output(BRIDGES / "docker-credential-touchstone", "version").stdout
    equal(said, f"docker-credential-touchstone (Touchstone) {expected}\n", "docker-credential-touchstone version")
    check(f"## {expected}" in (REPOSITORY / "CHANGELOG.md").read_text(), "the changelog knows no such version")


def aLineThatLooksLikeRoffIsText(work):
    """With what could end a page or hide a line: programs that say so, in place of the real ones."""
    programs = work / "programs"
    programs.mkdir()
    said = {"serializationVersion": 0, "command": {
        "commandName": "touchstone", "abstract": "Dots.", "discussion": ".so /etc/passwd\n'br here\nback\\slash -dash",
        "shouldDisplay": True, "arguments": [], "subcommands": []}}
    (work / "help.json").write_text(json.dumps(said))
    for program in ("touchstone", "touchstoned", "touchstone-enclave", "touchstone-peers"):
        (programs / program).write_text(
            f'#!/bin/sh\n[ "$1" = --version ] && echo 1 && exit\n[ "$1" = --help ] && echo usage && exit\ncat {work}/help.json\n')
        (programs / program).chmod(0o755)
    output(str(REPOSITORY / "script/man-pages"), str(programs), str(work / "pages"))
    shown = output("groff", "-man", "-Tascii", "-P-cbou", "-ww", str(work / "pages/touchstone.1"))
    equal(shown.stderr, "", "what groff warns of")
    check(".so /etc/passwd 'br here back\\slash -dash" in " ".join(shown.stdout.split()), shown.stdout)


def script(work, shell, name):
    path = work / name
    path.write_text(output(TOUCHSTONE, "--generate-completion-script", shell).stdout)
    return path


def bashCompletesACommandAndAnOption(work):
    names = {"XDG_STATE_HOME": str(work / "state")}

    def completions(*words):
        return completing.completions(TOUCHSTONE, *words, environment=os.environ | names)

    equal(completions("touchstone", "dev"), ["device"], "touchstone dev")
    equal(completions("touchstone", "device", "pass"), ["passcode"], "touchstone device pass")
    check("--json" in completions("touchstone", "device", "status", "--"), "touchstone device status --")
    equal(completions("touchstone", "device", "create", "--biometry", "face"), ["faceid"], "a value")
    (work / "state/touchstone/devices/laptop").mkdir(parents=True)
    equal(completions("touchstone", "device", "status", "--device", "lap"), ["laptop"], "a device after --device")
    equal(completions("touchstone", "device", "status", "lap"), ["laptop"], "a device by its place")
    equal(completions("touchstone", "device", "status", "phone"), [], "no such device")
    equal(completions("touchstone", "agent", "--pinentry", "pinentry-q"), ["pinentry-qt"], "a pinentry")


def fishCompletesACommand(work):
    path = script(work, "fish", "touchstone.fish")
    found = output("fish", "--no-config", "-c", f"source {path}; complete -C 'touchstone device passc'").stdout
    equal([line.split("\t")[0] for line in found.splitlines()], ["passcode"], "touchstone device passc")


def zshCompletesACommand(work):
    """At a terminal: zsh completes nowhere else."""
    functions = work / "functions"
    functions.mkdir()
    script(functions, "zsh", "_touchstone")
    pid, terminal = pty.fork()
    if pid == 0:
        os.execvpe("zsh", ["zsh", "-f", "-i"], os.environ | {"TERM": "dumb", "PS1": "> ", "ZDOTDIR": str(work)})
    shown = b""

    def until(expected):
        nonlocal shown
        limit = time.monotonic() + LONGEST_WAIT
        while expected not in shown:
            check(time.monotonic() < limit, f"zsh does not show {expected}: {shown.decode(errors='replace')}")
            if select.select([terminal], [], [], 0.2)[0]:
                shown += os.read(terminal, 4096)
        shown = shown[shown.index(expected) + len(expected):]

    try:
        os.write(
            terminal, f"fpath=({functions} $fpath); autoload -U compinit; compinit -u -d {work}/dump; echo rea''dy\n".encode())
        until(b"ready")
        os.write(terminal, b"echo touch''ed; touchstone device passc\t")
        until(b"passcode")
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        os.close(terminal)


with tempfile.TemporaryDirectory() as directory:
    folder = pathlib.Path(directory)
    pages = folder / "man"
    output(str(REPOSITORY / "script/man-pages"), str(PROGRAMS), str(pages), str(SIGNIN), str(BRIDGES))
    everyCommandHasAPageThatRendersWithoutAWarning(pages)
    everyProgramSaysItsVersion()
    for test in (aLineThatLooksLikeRoffIsText, bashCompletesACommandAndAnOption, fishCompletesACommand, zshCompletesACommand):
        (folder / test.__name__).mkdir()
        test(folder / test.__name__)
print("ok")
