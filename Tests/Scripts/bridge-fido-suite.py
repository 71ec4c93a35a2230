#!/usr/bin/env python3
"""python-fido2's own device tests at touchstone-fido, over a socket in the place of the kernel's device."""

import os
import re
import shutil
import subprocess

from device import LONGEST_WAIT, REPOSITORY, Device, check, main
from fido import Service, Typist

# It wants a token for large blobs, and this authenticator refuses that earlier than the test expects.
WITHOUT = "test_credman.py::test_missing_permissions"
# What a Typist answers before it is out of lines: more than these tests ask for.
PROMPTS = 200


def python_fido2s_own_tests():
    """FD-6, FD-11, FD-14, FD-15, FD-41, FD-55, FD-57, FD-58: its device tests, with the fixtures of fido2_fixtures.py.

    With the passcode, because they remove passkeys. Their client has a token for each passkey. Those of credential management begin,
    because they want to find none."""
    with Device() as device:
        device.set_up("271828")
        with Service(device, "--strict-uv") as service, Typist(device, *["271828"] * PROMPTS):
            source = device.work / "fido2"
            source.mkdir()
            archive = REPOSITORY / ".build-python/fido2/fido2-2.2.1.tar.gz"
            check(archive.exists(), f"{archive} is not there: run script/python-environment")
            subprocess.run(["tar", "-x", "-z", "-C", source, "--strip-components=2", "-f", archive, "--wildcards", "*/tests/device/*"], check=True)
            folder = source / "device"
            shutil.copy(REPOSITORY / "Tests/Scripts/fido2_fixtures.py", folder / "conftest.py")
            done = subprocess.run(
                [REPOSITORY / ".build-python/bin/python", "-m", "pytest", "-p", "no:cacheprovider", "-q", "-rs", "--tb=short", f"--deselect=device/{WITHOUT}",
                 *(folder / f"test_{name}.py" for name in ("credman", "info", "hid", "credentials", "client", "prf"))],
                env=os.environ | {"TOUCHSTONE_FIDO_PACKETS": str(service.packets), "PYTHONDONTWRITEBYTECODE": "1"},
                capture_output=True, text=True, timeout=10 * LONGEST_WAIT, cwd=source)
            print("".join(f"  {line}\n" for line in done.stdout.splitlines()[-14:]), end="")
            check(done.returncode == 0, done.stdout[-4000:] + done.stderr[-500:] + service.log[-500:])
            passed = int(re.search(r"(\d+) passed", done.stdout)[1])
            check(passed >= 21, f"{passed} passed")


main(python_fido2s_own_tests)
