#!/usr/bin/env python3
"""Passkeys behind a real /dev/uhid, with the programs that people use: in a guest, because not every kernel has that device."""

import pathlib

import guest
from container import OWNER
from device import main


def passkeys_in_a_guest():
    guest.run(pathlib.Path(__file__).with_name("fido_guest.py"), OWNER, seconds=540)


main(passkeys_in_a_guest)
