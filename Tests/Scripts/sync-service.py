#!/usr/bin/env python3
"""The user's real systemd runs touchstone-sync after `touchstone sync create`, and no more after `leave`."""

import subprocess
import tempfile

import usersystemd
from device import Device, check, equal, main, wait_for
from keychain import PASSCODE

usersystemd.enter(__file__)


def the_unit_runs_until_the_device_leaves():
    with Device("test") as device, tempfile.TemporaryDirectory(prefix="touchstone-store.") as store, usersystemd.running(device.environment):
        def is_active():
            return subprocess.run(
                ["systemctl", "--user", "--quiet", "is-active", "touchstone-sync.service"], env=device.environment).returncode == 0

        device.set_up(PASSCODE)
        said = device.run("sync", "create", store, input=f"{PASSCODE}\n").stdout
        check("touchstone-sync runs now" in said, said)
        wait_for(is_active, "the unit")
        wait_for(lambda: '"isRunning" : true' in device.run("sync", "status", "--json").stdout, "touchstone-sync, in the unit's confinement")
        device.run("sync", "leave", input=f"{PASSCODE}\n")
        equal(is_active(), False, "after leaving")


main(the_unit_runs_until_the_device_leaves)
