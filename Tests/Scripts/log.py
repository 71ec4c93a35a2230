#!/usr/bin/env python3
"""`touchstone log` against its file, changed from outside in every way that verification promises to find."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys

from completing import completions
from device import LONGEST_WAIT, PROGRAMS, Device, Evaluation, check, confirm, equal, main, wait_for

TOUCHSTONE = PROGRAMS / "touchstone"


def lines(device):
    return (device.state / "audit.log").read_text().splitlines()


def write(device, lines):
    (device.state / "audit.log").write_text("".join(f"{line}\n" for line in lines))


def used(device):
    """A device with a log of an owner's day."""
    device.set_up("correct-horse", "thumb")
    agent = device.client("Agent")
    events = agent.Subscribe(_more=True)
    next(events)
    for finger in ("nobody", "thumb"):
        evaluation = Evaluation(device, reason="CANARY")
        equal(confirm(device, next(events))["event"], "show", "the prompt")
        device.client("Device").PresentFinger(finger=finger)
        if finger == "nobody":
            equal(next(events)["event"], "show", "the prompt after a non-match")
            device.client("Device").PresentFinger(finger="thumb")
        equal(evaluation.result()[0], None, "the evaluation")
        equal(next(events)["event"], "succeeded", "the end of the prompt")
    device.run("device", "lock")
    device.run("device", "unlock", input="wrong-horse\n", status=6)
    device.run("device", "unlock", input="correct-horse\n")
    agent.close()
    wait_for(lambda: "agent-lost" in "".join(lines(device)), "the agent's end in the log")
    # What is only counted so far is written.
    device.run("log", "verify")
    return lines(device)


def verified(device, *arguments):
    """The exit status, and what is said of the places."""
    result = device.touchstone("log", "verify", *arguments)
    return result.returncode, result.stdout.splitlines()


def what_happened_is_shown():
    with Device() as device:
        used(device)
        entries = [json.loads(line) for line in device.run("log", "--json").stdout.splitlines()]
        equal([entry["sequence"] for entry in entries], list(range(1, len(entries) + 1)), "the sequence")
        told = [(entry["event"], entry.get("factors"), entry["result"]) for entry in entries]
        for expected in [
            ("passcode-set", None, "ok"), ("biometry-enrolled", ["touch-id"], "ok"),
            ("biometry-rejected", ["touch-id"], "not-matched"), ("evaluation-ended", ["touch-id"], "ok"),
            ("locked", None, "ok"), ("passcode-rejected", None, "wrong"), ("unlocked", ["passcode"], "ok"),
        ]:
            check(expected in told, f"{expected} in {told}")
        check(all(entry["app"] == os.path.realpath(sys.executable) for entry in entries if entry["event"] == "evaluation-ended"), "the app")
        table = device.run("log", "-n", "2").stdout
        equal(len(table.splitlines()), 3, "a head and two rows")
        check("\x1b" not in table, "no colour in a pipe")
        equal(device.run("log", "--since", "1h", "--json").stdout, device.run("log", "--json").stdout, "since an hour")
        equal(device.run("log", "--since", "2999-01-01").stdout, "", "since a time to come")
        text = "\n".join(lines(device)) + device.log
        for secret in ("CANARY", "correct-horse", "wrong-horse", "thumb"):
            check(secret not in text, f"{secret} is in a log")
        equal(oct((device.state / "audit.log").stat().st_mode & 0o777), "0o600", "the mode of the file")


def apps_have_their_names_and_the_tab_key_knows_them():
    with Device() as device:
        used(device)
        app = os.path.realpath(sys.executable)
        check(app not in device.run("log").stdout or len(app) <= 32, "a long path is whole")
        manifests = device.state / "apps.d"
        manifests.mkdir(mode=0o700)
        (manifests / "test.conf").write_text(f"[Application]\nIdentity={app}\nName=The Test\n")
        table = device.run("log").stdout
        check("The Test (" in table, table)
        for words in ("wrong finger or face", "not recognised", "answered: finger or face", "wrong passcode"):
            check(words in table, f"{words}: {table}")
        check("biometryAny" not in table and "touch-id" not in table, f"a constant is shown: {table}")
        for words in (("device", "background"), ("keychain", "quota")):
            offered = completions(TOUCHSTONE, "touchstone", *words, app[:4], environment=device.environment)
            equal(offered, [app], f"what is offered after touchstone {' '.join(words)}")
        device.shutdown()
        equal(completions(TOUCHSTONE, "touchstone", "keychain", "quota", app[:4], environment=device.environment), [], "of a device that is off")


def every_change_is_found():
    with Device() as device, Device("other") as other:
        good, foreign = used(device), used(other)
        count = len(good)
        equal(verified(device)[0], 0, "an untouched log")
        changes = {
            "an edit": ([*good[:3], good[3].replace('"result":"ok"', '"result":"no"'), *good[4:]], "line 4, which says it is entry 4"),
            "a deletion": ([*good[:5], *good[6:]], "entry 6 is missing"),
            "a deletion at the beginning": (good[2:], "entries 1 to 2 are missing"),
            "a cut": (good[:-3], f"entries {count - 2} to {count} are missing"),
            "nothing left": ([], f"entries 1 to {count} are missing"),
            "an exchange": ([*good[:2], good[3], good[2], *good[4:]], "entry 3 is in the wrong place, in line 4"),
            "a repetition": ([*good, good[1]], f"entry 2 is there twice, again in line {count + 1}"),
            "an insertion": ([*good[:4], '{"sequence":5}', *good[4:]], "line 5: changed, or not of this device"),
            "another device's": (foreign, "line 1, which says it is entry 1: changed, or not of this device"),
            "another device's entry": ([*good[:6], foreign[6], *good[7:]], "line 7, which says it is entry 7"),
        }
        for what, (changed, said) in changes.items():
            write(device, changed)
            status, places = verified(device)
            equal(status, 1, f"the status of {what}")
            check(places and places[0].startswith(said), f"{what}: {places}")
        # Every byte of one line.
        for index in range(0, len(good[2]), 7):
            changed = bytearray(good[2].encode())
            changed[index] ^= 1
            (device.state / "audit.log").write_bytes(
                "\n".join(good[:2]).encode() + b"\n" + bytes(changed) + b"\n" + "\n".join(good[3:]).encode() + b"\n")
            equal(verified(device)[0], 1, f"byte {index}")
        write(device, good)
        equal(verified(device)[0], 0, "what was put back")


def it_goes_on_over_restarts_and_shows_crashes():
    with Device() as device:
        before = used(device)
        device.run("device", "reboot", "--wait", str(LONGEST_WAIT))
        wait_for(lambda: device.status, "the device to be there again")
        wait_for(lambda: len(lines(device)) >= len(before) + 2, "the log to go on")
        device.processes += device.daemons.values()
        os.kill(device.daemons["touchstoned"], signal.SIGKILL)
        wait_for(lambda: [line for line in lines(device) if "after-crash" in line], "the crash in the log")
        wait_for(lambda: device.status, "the device to be there again")
        device.processes += device.daemons.values()
        equal(verified(device)[0], 0, "the log over a reboot and a crash")
        device.shutdown()
        result = device.touchstone("log", "verify")
        equal((result.returncode, "is off" in result.stderr), (69, True), "a device that is off")
        check('"device-stopped"' in lines(device)[-1], "the last entry of an orderly end")
        # A cut while it is off.
        write(device, lines(device)[:-1])
        device.boot()
        status, places = verified(device)
        equal((status, len(places)), (1, 1), f"a cut while it was off: {places}")
        check("is missing" in places[0], places[0])
        check('"result":"log-cut"' in lines(device)[-1], "the start says so")


def a_full_disk_stops_nothing():
    with Device() as device:
        used(device)
        before = lines(device)
        # Nothing can be written to a directory; the daemon has its file open, so that it is put in the way before a boot.
        device.shutdown()
        shutil.move(device.state / "audit.log", device.state / "kept")
        (device.state / "audit.log").mkdir(mode=0o700)
        device.boot()
        device.run("device", "unlock", input="correct-horse\n")
        check("the log cannot be" in device.log, "touchstoned's own log says it")
        os.rmdir(device.state / "audit.log")
        shutil.move(device.state / "kept", device.state / "audit.log")
        device.run("device", "lock")
        device.run("device", "unlock", "--finger", "thumb")
        check(len(lines(device)) >= len(before) + 4, "what waited was written")
        status, places = verified(device)
        # The enclave could not be given the last line, so that it went on where its state said: after the orderly end.
        equal((status, places), (0, [f"the log is whole: entries 1 to {len(lines(device))}, each as the enclave of test wrote it"]), "the log")


def archived_files_are_checked_by_name():
    with Device() as device:
        good = used(device)
        archive = device.work / "archive"
        archive.write_text("".join(f"{line}\n" for line in good[:4]))
        write(device, good[4:])
        equal(verified(device)[0], 1, "without what was moved away")
        equal(verified(device, "--from", "5")[0], 0, "from the entry that is the first")
        equal(verified(device, str(archive))[0], 0, "what was moved away")
        equal(verified(device, str(archive), str(device.state / "audit.log"))[0], 0, "both")
        equal(verified(device, str(device.state / "audit.log"), str(archive))[0], 1, "both the wrong way round")
        # As a rotation does.
        shutil.move(archive, device.state / "audit.log.1")
        os.chmod(device.state / "audit.log.1", 0o600)
        equal(verified(device)[0], 0, "a log in two files")


def new_entries_are_followed():
    with Device() as device:
        device.set_up("correct-horse", "thumb")
        follower = subprocess.Popen(
            [str(device.programs / "touchstone"), "log", "--follow", "-n", "1"], env=device.environment,
            stdout=subprocess.PIPE, text=True)
        try:
            check(follower.stdout.readline().startswith("TIME"), "the head")
            check("finger or face added" in follower.stdout.readline(), "the newest")
            device.run("device", "lock")
            check(re.search(r"locked\b.*\bok", follower.stdout.readline()), "the new one")
        finally:
            follower.kill()
            follower.wait()


def at_a_terminal_it_is_in_colour():
    if not shutil.which("tmux"):
        return print("skipped: no tmux")
    with Device() as device:
        used(device)
        tmux = ["tmux", "-S", str(device.work / "tmux"), "-f", "/dev/null"]
        subprocess.run([*tmux, "new-session", "-d", "-x", "140", "-y", "30"], env=device.environment, check=True)
        try:
            subprocess.run([*tmux, "send-keys", f"{device.programs}/touchstone log -n 8; echo en''d", "Enter"], check=True)

            def capture(*options):
                return subprocess.run(
                    [*tmux, "capture-pane", "-p", *options], stdout=subprocess.PIPE, text=True, check=True).stdout

            wait_for(lambda: "\nend" in capture(), "the command to end")
            print(capture())
            check(re.search(r"\x1b\[31m[^\n]*wrong", capture("-e")), "what was refused is red")
        finally:
            subprocess.run([*tmux, "kill-server"])


if __name__ == "__main__":
    main(
        what_happened_is_shown, apps_have_their_names_and_the_tab_key_knows_them, every_change_is_found, it_goes_on_over_restarts_and_shows_crashes,
        a_full_disk_stops_nothing, archived_files_are_checked_by_name, new_entries_are_followed,
        at_a_terminal_it_is_in_colour)
