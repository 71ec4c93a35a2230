#!/usr/bin/env python3
"""Damage to the database is found, mended and kept; a newer database is refused."""

import os
import re
import sqlite3

from device import Device, check, equal, main
from keychain import PASSCODE, accounts, add


def sqlite(database, statement):
    connection = sqlite3.connect(database)
    connection.execute(statement).fetchall()
    connection.commit()
    connection.close()


def damage_is_found_and_mended():
    with Device() as device:
        device.set_up(PASSCODE)
        add(device, *(f"item {number}" for number in range(100)))
        database = device.state / "keychain/keychain.db"
        said = device.run("keychain", "check").stdout
        check("100 items checked; 0 damaged" in said, said)
        # One row.
        sqlite(database, "UPDATE item SET secret = zeroblob(60) WHERE rowid = 5")
        said = device.run("keychain", "check", status=1).stdout
        check(re.search(r"damaged: genp item 5, class ak, created 2\S+: its secret does not open\n", said), said)
        said = device.run("keychain", "check", "--repair").stdout
        check("put aside" in said, said)
        check("99 items checked; 0 damaged; 1 put aside" in device.run("keychain", "check").stdout, "mended")
        equal(len(accounts(device)), 99, "items")
        # One page, of a device that is off.
        device.shutdown()
        equal(device.run("keychain", "check").stdout.startswith("the database is whole"), True, "whole")
        sqlite(database, "PRAGMA wal_checkpoint(TRUNCATE)")
        file = bytearray(database.read_bytes())
        leaves = [page for page in range(4096, len(file), 4096) if file[page] == 0x0D and file[page + 4] > 1]
        file[leaves[-1]:leaves[-1] + 4096] = os.urandom(4096)
        database.write_bytes(file)
        check("database: " in device.run("keychain", "check", status=1).stdout, "reported")
        equal(database.read_bytes(), bytes(file), "a check alone changes nothing")
        said = device.run("keychain", "check", "--repair").stdout
        check("items are in a fresh database" in said, said)
        kept = next(device.state.glob("keychain.damaged-*"))
        equal((kept / "keychain.db").read_bytes(), bytes(file), "the old one is kept")
        device.boot()
        device.run("device", "unlock", input=f"{PASSCODE}\n")
        check(90 <= len(accounts(device)) < 99, "the items that could be read")
        device.run("keychain", "check")
        # Not even a database any more.
        device.shutdown()
        sqlite(database, "PRAGMA wal_checkpoint(TRUNCATE)")
        database.write_bytes(b"x" * 8192)
        device.run("device", "boot", device.name, "--detach", status=78)
        device.run("keychain", "check", status=1)
        device.run("keychain", "check", "--repair")
        device.boot()


def a_newer_database_is_refused_untouched():
    with Device() as device:
        device.set_up(PASSCODE)
        add(device, "a")
        device.shutdown()
        database = device.state / "keychain/keychain.db"
        sqlite(database, "INSERT INTO grdb_migrations VALUES ('99')")
        sqlite(database, "PRAGMA wal_checkpoint(TRUNCATE)")
        before = database.read_bytes()
        said = device.run("device", "boot", device.name, "--detach", status=78)
        check("newer version" in said.stderr + device.log, said.stderr)
        device.run("keychain", "check", "--repair", status=78)
        equal(database.read_bytes(), before, "the database")


main(damage_is_found_and_mended, a_newer_database_is_refused_untouched)
