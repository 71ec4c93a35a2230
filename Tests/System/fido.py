#!/usr/bin/env python3
"""Passkeys behind a real /dev/uhid, with the programs that people use: in a guest, because not every kernel has that device.

    fido.py                 all tests of fido_guest.py
    fido.py ssh pam         those whose name has one of these words
"""

import os
import pathlib
import sys

import guest
from container import OWNER
from device import main

# Longest time of the guest.
SECONDS = int(os.environ.get("TOUCHSTONE_GUEST_SECONDS", "1200"))


def passkeys_in_a_guest():
    packages = sorted((guest.REPOSITORY / ".build-python/lib").glob("python3*/site-packages"))
    if not packages:
        sys.exit("the Python packages of the tests are not there: run script/python-environment")
    guest.run(
        pathlib.Path(__file__).with_name("fido_guest.py"), OWNER, SECONDS,
        {"ONLY": " ".join(sys.argv[1:]), "PYTHONPATH": str(packages[-1])})


main(passkeys_in_a_guest)
