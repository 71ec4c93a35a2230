#!/usr/bin/env python3
"""A refused call says why: a line on standard error where TOUCHSTONE_EXPLAIN=1 asks for it, and an entry of the log."""

import json
import os
import pathlib
import subprocess
import time

from device import LONGEST_WAIT, REPOSITORY, Device, check, confirm, equal, main, wait_for

import varlink

EXAMPLES = pathlib.Path(os.environ.get("TOUCHSTONE_EXAMPLES", REPOSITORY / ".build/debug")).resolve()


def begin(device, explains=True):
    """An app that adds an item under userPresence and reads it."""
    environment = dict(device.environment)
    if explains:
        environment["TOUCHSTONE_EXPLAIN"] = "1"
    return subprocess.Popen(
        [EXAMPLES / "owner-check"], env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def end(app):
    """Its exit status and the lines of its standard error."""
    _, errors = app.communicate(timeout=LONGEST_WAIT)
    return app.returncode, errors.splitlines()


def refused(device):
    """What the log has of refused calls: what was asked, why not, how often."""
    entries = [json.loads(line) for line in device.run("log", "--refused", "--json").stdout.splitlines()]
    counts = {}
    for entry in entries:
        why = (entry["event"], entry.get("asked"), entry["result"])
        counts[why] = counts.get(why, 0) + entry.get("count", 1)
    return counts


def every_refusal_has_its_line_and_its_entry():
    with Device() as device:
        # Nothing set up.
        line = "touchstone: SecItemAdd -25293: userPresence, and no passcode is set. Try: touchstone device passcode set"
        equal(end(begin(device)), (1, [line]), "without a passcode")
        equal(end(begin(device, explains=False)), (1, []), "without a passcode, and without the variable")
        equal(refused(device), {("call-refused", "presence", "passcodeNotSet"): 2}, "the log")
        device.run(*line.partition("Try: touchstone ")[2].split(), input="correct-horse\n")

        # Nobody there.
        line = (
            "touchstone: SecItemCopyMatching -25308: userPresence, and no agent is connected to show the prompt."
            " Try: touchstone agent")
        equal(end(begin(device)), (1, [line]), "without an agent")
        equal(end(begin(device, explains=False)), (1, []), "without an agent, and without the variable")
        wait_for(lambda: refused(device).get(("call-refused", "presence", "noAgent")) == 2, "both in the log")

        # The twin: what succeeds says nothing.
        device.run("device", "enroll", "right-index")
        agent = device.client("Agent")
        events = agent.Subscribe(_more=True)
        equal(next(events)["event"], "ready", "the agent")
        app = begin(device)
        equal(confirm(device, next(events))["event"], "show", "the prompt")
        device.client("Device").PresentFinger(finger="right-index")
        equal(end(app), (0, []), "with a finger")
        agent.close()

        # Locked: that the item is there already is told all the same, and is not a refusal.
        device.run("device", "lock")
        line = "touchstone: SecItemCopyMatching -25308: the device is locked. Try: touchstone device unlock"
        equal(end(begin(device)), (1, [line]), "locked")
        device.run("device", "unlock", input="correct-horse\n")

        text = (device.state / "audit.log").read_text()
        check("owner-check" not in text.replace(str(EXAMPLES / "owner-check"), ""), "an item's service is in the log")

        # Off.
        device.run("device", "shutdown", device.name)
        status, lines = end(begin(device))
        line = "touchstone: SecItemAdd -25291: no device answers. Try: touchstone doctor"
        equal((status, lines.count(line)), (1, 1), f"off: {lines}")
        _, lines = end(begin(device, explains=False))
        check(line not in lines, f"off, and without the variable: {lines}")


def the_rows_of_refused_calls_are_shown():
    with Device() as device:
        end(begin(device))
        rows = device.run("log", "--refused").stdout.splitlines()
        equal(len(rows), 2, "a head and a row")
        check("call refused: finger, face or passcode" in rows[1] and rows[1].endswith("no passcode is set"), rows[1])
        equal(device.run("log", "--refused", "-n", "0").stdout, "", "none of them")


def a_flood_of_refused_calls_neither_fills_the_log_nor_holds_up_others():
    with Device() as device:
        client = device.client("Keychain")
        item = {"class": {"string": "genp"}, "agrp": {"string": "not.mine"}, "v_Data": {"data": ""}}
        begun = time.monotonic()
        count = 0
        while time.monotonic() - begun < 2:
            try:
                client.Add(attributes=item, context=None)
                check(False, "a foreign group was taken")
            except varlink.VarlinkError:
                count += 1
        seconds = time.monotonic() - begun
        check(count > 100, f"{count} refused calls")
        equal(refused(device), {("call-refused", None, "foreignAccessGroup"): count}, "each is counted")
        lines = (device.state / "audit.log").read_text().splitlines()
        entries = sum("call-refused" in line for line in lines)
        check(entries <= 2 + seconds, f"{entries} entries of {count} calls")


if __name__ == "__main__":
    main(
        every_refusal_has_its_line_and_its_entry, the_rows_of_refused_calls_are_shown,
        a_flood_of_refused_calls_neither_fills_the_log_nor_holds_up_others)
