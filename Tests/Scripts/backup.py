#!/usr/bin/env python3
"""Backup and moving house, from outside; and the age program."""

import os
import pty

from device import Device, call, check, equal, main
from keychain import PASSPHRASE, accounts, add, backup, two_devices


def age(*arguments, questions):
    """Runs the age program at a terminal of its own, which it asks for passphrases at."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.execvp("age", ["age", *arguments])
    seen, answered = b"", 0
    while True:
        try:
            chunk = os.read(terminal, 4096)
        except OSError:
            break
        if not chunk:
            break
        seen += chunk
        if answered < questions and seen.count(b"assphrase") > answered and seen.rstrip().endswith(b":"):
            os.write(terminal, f"{PASSPHRASE}\n".encode())
            answered += 1
    os.close(terminal)
    equal(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), 0, f"age {arguments}: {seen.decode(errors='replace')}")


@two_devices
def a_backup_moves_house(one, two):
    add(one, "a", "b")
    add(one, "here", accessible="aku")
    file = one.work / "backup.age"
    said = backup(one, "export", file).stdout
    check("3 exported (1 for this device only)" in said, said)
    equal(file.stat().st_mode & 0o777, 0o600, "mode")
    check(file.read_bytes().startswith(b"age-encryption.org/v1\n-> scrypt "), "an age file")
    said = backup(two, "import", file).stdout
    check("2 added" in said and "1 left out" in said, said)
    equal(accounts(two), ["a", "b"], "on the other device")
    said = backup(two, "import", file).stdout
    check("0 added" in said and "2 kept" in said, said)
    backup(two, "import", file, "--replace")
    # The same device, erased but for its root of trust: not simulated here; the same one, emptied.
    error, _ = call(one.connect(), "Keychain.Delete", query={"class": {"string": "genp"}})
    equal((error, accounts(one)), (None, []), "emptied")
    check("3 added" in backup(one, "import", file).stdout, "all three come back where they were")


@two_devices
def the_age_program_reads_and_writes_it(one, two):
    add(one, *(f"item {number}" for number in range(300)))
    file, plain, again = (one.work / name for name in ("backup.age", "plain", "again.age"))
    backup(one, "export", file)
    age("--decrypt", "--output", str(plain), str(file), questions=1)
    payload = plain.read_bytes()
    check(payload.startswith(b"touchstone-backup 1\n"), "the head of the payload")
    check(len(payload) > 65536, "more than one chunk")
    check(b"of item 7" not in payload, "secrets are under their own key also there")
    age("--encrypt", "--passphrase", "--output", str(again), str(plain), questions=2)
    check("300 added" in backup(two, "import", again).stdout, "an age file of the age program")


@two_devices
def what_is_wrong_is_said_and_changes_nothing(one, two):
    add(one, "a")
    file = one.work / "backup.age"
    for weak in ("short", "1234567890123", "aaaaaaaaaaaaaaaa", "abcdefghijklmnop", "passwordpassword"):
        check("passphrase" in backup(one, "export", file, passphrase=weak, status=5).stderr, weak)
    backup(one, "export", file, passcode="000000", status=6)
    equal(sorted(path.name for path in one.work.iterdir()), ["config", "run", "state"], "nothing is left")
    backup(one, "export", file)
    before = file.read_bytes()
    check("--force" in backup(one, "export", file, status=5).stderr, "there already")
    equal(file.read_bytes(), before, "the backup")
    backup(one, "export", file, "--force")
    check(file.read_bytes() != before, "replaced")
    check("passphrase does not open" in backup(two, "import", file, passphrase="another one altogether", status=6).stderr, "")
    backup(two, "import", file, passcode="000000", status=6)
    for name, change in {
        "flipped": lambda b: b[:-5] + bytes([b[-5] ^ 1]) + b[-4:], "cut": lambda b: b[:-40], "none": lambda b: b"",
        "text": lambda b: b"hello\n" * 100, "longer": lambda b: b + b"x",
    }.items():
        bad = one.work / name
        bad.write_bytes(change(file.read_bytes()))
        backup(two, "import", bad, status=78)
    backup(two, "import", one.work / "missing", status=1)
    equal(accounts(two), [], "on the other device")
    one.run("device", "lock")
    check("locked" in backup(one, "export", one.work / "x", status=5).stderr, "locked")
    with Device("three") as bare:
        check("passcode set" in backup(bare, "export", bare.work / "x", status=5).stderr, "no passcode")
    # Neither secret is ever an argument.
    for option in ("--passphrase", "--passcode"):
        one.run("keychain", "export", "x", option, "y", status=64)


main(a_backup_moves_house, the_age_program_reads_and_writes_it, what_is_wrong_is_said_and_changes_nothing)
