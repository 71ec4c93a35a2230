#!/usr/bin/env python3
"""Damage to the database is found, mended and kept; a newer database is refused; what was altered is found and accepted."""

import os
import re
import sqlite3

from daemons import add_guarded, delete_guarded, has_guarded
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


def an_older_database_is_found_and_accepted():
    with Device() as device:
        device.set_up(PASSCODE)
        database = device.state / "keychain/keychain.db"
        with device.connect() as connection:
            for name in ("one", "two"):
                equal(add_guarded(connection, name), 0, name)
        add(device, "plain")
        device.shutdown()
        sqlite(database, "PRAGMA wal_checkpoint(TRUNCATE)")
        older = database.read_bytes()
        device.boot()
        with device.connect() as connection:
            equal(delete_guarded(connection, "one"), 0, "the deletion")
        device.run("keychain", "check")
        device.shutdown()
        for suffix in ("-wal", "-shm"):
            database.with_name(database.name + suffix).unlink(missing_ok=True)
        database.write_bytes(older)
        device.boot()
        check("altered the keychain" in device.log, "it is said at boot")
        device.run("device", "unlock", input=f"{PASSCODE}\n")
        found = device.run("keychain", "check", status=1)
        check(re.search(r"altered: inet item 1 of \S+, created 2", found.stdout), found.stdout)
        check("in 1 group" in found.stderr and "one" not in re.findall(r"\w+", found.stdout), found)
        equal(len(accounts(device)), 1, "what has no access control is as it was")
        check(device.touchstone("keychain", "check", "--accept", input="wrong\n").returncode != 0, "a wrong passcode")
        device.run("keychain", "check", status=1)
        said = device.run("keychain", "check", "--accept", input=f"{PASSCODE}\n").stdout
        check("accepted: 1 group" in said, said)
        said = device.run("log").stdout
        check("altered items accepted" in said, said)
        device.run("keychain", "check")
        with device.connect() as connection:
            check(has_guarded(connection, "one"), "it opens for its owner")
        device.shutdown()
        check(device.touchstone("keychain", "check", "--accept").returncode != 0, "nobody accepts while it is off")


main(damage_is_found_and_mended, a_newer_database_is_refused_untouched, an_older_database_is_found_and_accepted)
