#!/usr/bin/env python3
"""The app API against two real daemons: runs the suite of the test bundle that wants a booted device."""

import contextlib
import subprocess
import threading

from device import REPOSITORY, Device, check, confirm, equal, main

# Built beside the programs by `swift build --build-tests`.
BUNDLE = REPOSITORY / ".build/debug/touchstonePackageTests.xctest"


def touch_every_prompt(device, finger):
    """An owner who touches whatever asks, but for the prompt that says that nobody does."""
    events, owner = device.client("Agent").Subscribe(_more=True), device.client("Device")
    equal(next(events)["event"], "ready", "the agent's first event")

    def attend():
        # Until the device is gone.
        with contextlib.suppress(Exception):
            for event in events:
                if event["event"] == "show" and event["prompt"]["reason"] != "nobody touches":
                    confirm(device, event)
                    owner.PresentFinger(finger=finger)

    threading.Thread(target=attend, daemon=True).start()


def run_tests(device, names):
    """Those tests of the suite, by a regular expression: the finished process, and what it said."""
    result = subprocess.run(
        [BUNDLE, "--testing-library", "swift-testing", "--filter", f"BootedDeviceTests/({names})"],
        env=device.environment | {"TOUCHSTONE_TEST_DEVICE": device.name}, capture_output=True, text=True, timeout=500)
    return result.returncode, result.stdout + result.stderr


def the_app_api_works_over_the_socket():
    check(BUNDLE.exists(), f"{BUNDLE} is not there: run swift build --build-tests")
    with Device() as device:
        device.set_up("271828", "thumb")
        # Before there is an agent, which would be asked for the password.
        code, output = run_tests(device, "applicationPassword")
        equal(code, 0, f"the tests' exit status\n{output}")
        check("1 test in 1 suite passed" in output, f"what was run\n{output}")
        # The key in the enclave's file is what counts: with another one nothing is set.
        key = device.state / "enclave/passcode.pub"
        key.write_bytes(bytes(range(32)))
        code, output = run_tests(device, "applicationPassword")
        check(code != 0, "with another key the tests fail")


def forgotten_contexts_hear_of_the_finger():
    with Device() as device:
        device.set_up("271828", "thumb")
        touch_every_prompt(device, "thumb")
        code, output = run_tests(device, "forgottenContexts|invalidated")
        equal(code, 0, f"the tests' exit status\n{output[-4000:]}")
        check("2 tests in 1 suite passed" in output, f"what was run\n{output}")


main(the_app_api_works_over_the_socket, forgotten_contexts_hear_of_the_finger)
