#!/usr/bin/env python3
"""python-fido2's own device tests at touchstone-fido, over a socket in the place of the kernel's device."""

import os
import re
import shutil
import subprocess

from device import LONGEST_WAIT, REPOSITORY, check, main
from fido import with_fido


@with_fido
def python_fido2s_own_tests(device, service, person):
    """FD-6, FD-11, FD-14, FD-15, FD-41: those of its device tests that need no PIN, with the fixtures of fido2_fixtures.py."""
    source = device.work / "fido2"
    source.mkdir()
    archive = REPOSITORY / ".build-python/fido2/fido2-2.2.1.tar.gz"
    check(archive.exists(), f"{archive} is not there: run script/python-environment")
    subprocess.run(["tar", "-x", "-z", "-C", source, "--strip-components=2", "-f", archive, "--wildcards", "*/tests/device/*"], check=True)
    folder = source / "device"
    shutil.copy(REPOSITORY / "Tests/Scripts/fido2_fixtures.py", folder / "conftest.py")
    done = subprocess.run(
        [REPOSITORY / ".build-python/bin/python", "-m", "pytest", "-p", "no:cacheprovider", "-q", "-rs", "--tb=short",
         *(folder / f"test_{name}.py" for name in ("info", "hid", "credentials", "client", "prf"))],
        env=os.environ | {"TOUCHSTONE_FIDO_PACKETS": str(service.packets), "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True, text=True, timeout=10 * LONGEST_WAIT, cwd=source)
    print("".join(f"  {line}\n" for line in done.stdout.splitlines()[-12:]), end="")
    check(done.returncode == 0, done.stdout[-4000:] + done.stderr[-500:] + service.log[-500:])
    passed = int(re.search(r"(\d+) passed", done.stdout)[1])
    check(passed >= 17, f"{passed} passed")


main(python_fido2s_own_tests)
