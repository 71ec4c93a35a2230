#!/usr/bin/env python3
"""A device whose root of trust is a TPM: its life, and every way in which the TPM can fail it."""

import contextlib
import fcntl
import hashlib
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import threading
import time

import device
import keychain
from device import LONGEST_WAIT, PROGRAMS, Device, call, check, equal
from enclave import PRIVATE_KEY_USAGE, create_key, encode, is_signature_of, new_context, with_the_finger
from swtpm import TPM, Relay

PASSCODE = "271828"


@contextlib.contextmanager
def bound(address, boot=True, options=()):
    """A device at the TPM at `address`, with its passcode, and its recovery key."""
    made = Device(boot=False, create=["--root-of-trust", "tpm2", "--tcti", address, *options])
    made.recovery_key = ""
    run = made.run

    def create(*arguments, **options):
        result = run(*arguments, **options)
        if arguments[:2] == ("device", "create"):
            made.recovery_key = result.stdout.strip()
        return result

    made.run = create
    with made:
        made.run = run
        equal(len(made.recovery_key), 39, "the length of the recovery key, which is all that is on standard output")
        if boot:
            made.boot()
            made.set_up(PASSCODE)
        yield made


def unlock(made, passcode=PASSCODE, status=0):
    return made.run("device", "unlock", input=f"{passcode}\n", status=status)


def refused_boot(made, *words):
    result = made.touchstone("device", "boot", made.name, "--detach")
    equal(result.returncode, 78, f"booting: {result.stdout}{result.stderr}")
    for word in words:
        check(word in result.stderr, f"{word!r} is not in {result.stderr!r}")
    check("Fatal" not in result.stderr, result.stderr)


def enclave(*arguments, status):
    """touchstone-enclave without the command line before it; what it says is wrong."""
    result = subprocess.run(
        [str(PROGRAMS / "touchstone-enclave"), *arguments], stdin=subprocess.DEVNULL, capture_output=True, text=True,
        timeout=LONGEST_WAIT)
    equal(result.returncode, status, f"touchstone-enclave {' '.join(arguments)}: {result.stderr}")
    return result.stderr


def whole():
    """Nothing is made over what a device has of one or the other kind of root, or while its enclave runs."""
    with TPM() as tpm:
        create = ["create", "--simulated", "--biometry", "none"]
        for kind in ([], ["--tpm", tpm.address]):
            for left in ("state", "root.key", "root.tpm"):
                with tempfile.TemporaryDirectory() as directory:
                    file = pathlib.Path(directory) / left
                    file.write_bytes(b"another's")
                    file.chmod(0o600)
                    check("already exists" in enclave(*create, "--state", directory, *kind, status=78), left)
                    equal([(kept.name, kept.read_bytes()) for kept in file.parent.iterdir()], [(left, b"another's")], "files")
            with tempfile.TemporaryDirectory() as directory:
                lock = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
                fcntl.flock(lock, fcntl.LOCK_EX)
                check("another enclave" in enclave(*create, "--state", directory, *kind, status=78), "a second one")
                os.close(lock)
                equal(os.listdir(directory), [], "files")
        equal(tpm.counters, [], "counters in the TPM")


def usage():
    """What only a running enclave is told is not an option of what is done to a device."""
    options = {"--owner": "1", "--client": "root", "--logind": "/socket", "--public": "/directory"}
    with tempfile.TemporaryDirectory() as directory:
        for command in (["create", "--simulated", "--biometry", "none"], ["recover"], ["forget"]):
            for option, value in options.items():
                check("Usage:" in enclave(*command, "--state", directory, option, value, status=64), option)
        equal(os.listdir(directory), [], "files")


def life():
    """Created, booted, locked and unlocked; what is said of it; what a listener between it and the TPM hears; erased."""
    with TPM() as tpm, Relay(tpm) as relay:
        with bound(relay.address) as made:
            equal(made.status["rootOfTrust"], "swtpm", "its root of trust")
            text = made.run("device", "status", made.name).stdout
            check("a TPM that is a program" in text and "key file" not in text, text)
            doctor = made.touchstone("doctor", made.name).stdout
            check("root of trust: swtpm: a TPM that is a program" in doctor and "[ok] root of trust" not in doctor, doctor)
            made.run("device", "lock")
            unlock(made, "314159", 6)
            unlock(made)
            made.run("device", "passcode", "change", input=f"{PASSCODE}\n161803\n")
            made.shutdown()
            made.boot()
            unlock(made, PASSCODE, 6)
            unlock(made, "161803")
            heard = bytes(relay.bytes)
            check(len(heard) > 5000, "the listener heard nothing")
            for secret in (PASSCODE, "161803", "314159", made.recovery_key, made.recovery_key.replace("-", "")):
                check(secret.encode() not in heard, "a secret was on the line")
            directory = b"".join(file.read_bytes() for file in made.state.rglob("*") if file.is_file())
            check(made.recovery_key.encode() not in directory, "the recovery key is on the disk")
            made.shutdown()
            equal(len(tpm.counters), 2, "the counter and the passcode's gate in the TPM")
            made.run("device", "erase", "--force", made.name)
            equal(tpm.counters, [], "counters in the TPM after the device was erased")


def power():
    """The TPM loses its power while the device is on, and is away for a while; then the device does."""
    with TPM() as tpm, bound(tpm.address) as made:
        tpm.off()
        made.run("device", "lock")
        result = unlock(made, status=5)
        check("TPM" in result.stderr, result.stderr)
        equal(made.status["passcodeFailures"], 0, "wrong passcodes after one that nobody looked at")
        check("cannot be opened" in made.log, "the log does not say what is wrong with the TPM")
        tpm.on()
        unlock(made)
        made.shutdown()
        tpm.off()
        refused_boot(made, "cannot be opened", "Is there a TPM")
        tpm.on()
        made.boot()
        unlock(made)


def cleared():
    """The TPM was cleared: said so; the recovery key and the passcode bring everything back, and nothing else does."""
    with TPM() as tpm, bound(tpm.address) as made:
        made.run("device", "enroll", "thumb")
        made.shutdown()
        tpm.tool("tpm2_clear")
        tpm.tool("tpm2_shutdown", "-c")
        refused_boot(made, "was cleared", "touchstone device recover")
        files = {name: (made.state / "enclave" / name).read_bytes() for name in ("state", "root.tpm")}

        def recover(*lines, status):
            return made.run("device", "recover", made.name, input="".join(f"{line}\n" for line in lines), status=status).stderr

        check("is not a recovery key" in recover("ABCD", status=5), "nonsense for a key")
        check("passcode is wrong" in recover(made.recovery_key, "314159", status=5), "a wrong passcode")
        check("standard input ended" in recover(made.recovery_key, status=5), "no passcode")
        for name, before in files.items():
            equal((made.state / "enclave" / name).read_bytes(), before, f"{name} after what was refused")
        equal(tpm.counters, [], "counters left in the TPM by what was refused")
        recover(made.recovery_key.lower().replace("-", " "), PASSCODE, status=0)
        made.boot()
        unlock(made)
        check("thumb" in made.run("device", "fingers").stdout, "the finger is gone")
        check("booted" in recover(made.recovery_key, PASSCODE, status=5), "recovered while it is on")


def swapped():
    """Another TPM in its place: refused; then moved there for good, and the old one is of no use any more."""
    with TPM() as old, TPM() as new, bound(old.address) as made:
        made.shutdown()
        old.off()
        new.off()
        shutil.copytree(new.work, old.work / "kept", dirs_exist_ok=True)
        old.work, kept = new.work, old.work
        old.on()
        refused_boot(made, "is not the one with which this device was created")
        made.run("device", "recover", made.name, input=f"{made.recovery_key}\n{PASSCODE}\n")
        made.boot()
        unlock(made)
        made.shutdown()
        old.off()
        old.work = kept


def interrupted():
    """Ctrl-C at the passcode of a recovery: nothing is left in the TPM, doctor says what to do, and that does it."""
    with TPM() as tpm, bound(tpm.address) as made:
        made.shutdown()
        tpm.tool("tpm2_clear")
        tpm.tool("tpm2_shutdown", "-c")
        recovering = made.state / "enclave/root.tpm.new"
        process = subprocess.Popen(
            [str(PROGRAMS / "touchstone"), "device", "recover", made.name], env=made.environment, stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, text=True, start_new_session=True)
        process.stdin.write(f"{made.recovery_key}\n")
        process.stdin.flush()
        device.wait_for(lambda: recovering.exists() and recovering.stat().st_size > 0, "the passcode to be asked for")
        os.killpg(process.pid, signal.SIGINT)
        check(process.wait(LONGEST_WAIT) != 0, "it went on")
        device.wait_for(tpm.listens, "the TPM to be free")
        equal(tpm.counters, [], "counters in the TPM")
        check("a recovery was interrupted" in made.touchstone("doctor", made.name).stdout, "doctor does not say so")
        made.run("device", "recover", made.name, input=f"{made.recovery_key}\n{PASSCODE}\n")
        check(not recovering.exists(), "what was cut off is still known")
        check("a recovery was interrupted" not in made.touchstone("doctor", made.name).stdout, "doctor says so still")
        equal(len(tpm.counters), 2, "the counter and the passcode's gate")
        made.boot()
        unlock(made)


def rollback():
    """PC-34: an old copy of everything on the disk is told by the TPM's counter."""
    with TPM() as tpm, bound(tpm.address) as made:
        made.run("device", "lock")
        made.shutdown()
        copy = made.work / "copy"
        shutil.copytree(made.state, copy)
        made.boot()
        unlock(made, "314159", 6)
        made.shutdown()
        new = made.work / "new"
        made.state.rename(new)
        shutil.copytree(copy, made.state)
        # Everything that a file could remember is gone too.
        shutil.rmtree(made.runtime)
        refused_boot(made, "older")
        shutil.rmtree(made.state)
        new.rename(made.state)
        made.boot()
        equal(made.status["passcodeFailures"], 1, "wrong passcodes")
        unlock(made)


NV_INCREMENT, SIGN = 0x134, 0x15D


def keys():
    """DEC-059: P-256 keys that the TPM makes and uses, by the same proofs; what is said of them; what becomes of them without it."""
    with TPM() as tpm, Relay(tpm) as relay, bound(relay.address, options=["--keys", "tpm"]) as made:
        made.run("device", "enroll", "thumb")
        check(made.status["areKeysInTPM"], "its status does not say where keys are")
        check("in the TPM" in made.run("device", "status", made.name).stdout, "nor for people")
        check("P-256 keys of apps are made in the TPM" in made.touchstone("doctor", made.name).stdout, "nor doctor")
        app = made.connect()
        key, point = create_key(app)
        digest = hashlib.sha256(b"keys").digest()

        def sign(key, context=None):
            return call(app, "Key.Sign", key=key, data=encode(digest), context=context)

        context = new_context(app)
        error, reply = sign(key, context)
        equal((error, reply["reason"]), ("io.touchstone.Key.Failed", "interactionForbidden"), "without a finger")
        check(SIGN not in relay.codes, "the TPM was asked all the same")
        error, reply = with_the_finger(made, app, "Key.Sign", key=key, data=encode(digest), context=context)
        equal(error, None, "with the finger")
        check(SIGN in relay.codes, "the TPM was not asked")
        check(is_signature_of(point, keychain.base64.b64decode(reply["signature"]), digest), "the signature")
        # A TPM that is slow with one app's signature keeps nobody else waiting.
        keychain.add(made, "open")
        free, _ = create_key(app, flags=PRIVATE_KEY_USAGE)
        relay.delays[SIGN] = 2
        signed = []
        waiting = threading.Thread(target=lambda: signed.append(sign(free)))
        waiting.start()
        device.wait_for(lambda: relay.codes[-1:] == [SIGN], "the TPM to be asked")
        other = made.connect()
        query = {"class": {"string": "genp"}, "acct": {"string": "open"}, "r_Data": {"boolean": True}}
        equal(call(other, "Keychain.CopyMatching", query=query)[0], None, "an item meanwhile")
        check(not signed, "another app waited for the TPM")
        waiting.join(LONGEST_WAIT)
        equal(signed[0][0], None, "the slow signature")
        relay.delays = {}
        # Away: refused, said why, and there again.
        tpm.off()
        equal(sign(free), ("io.touchstone.Key.Failed", {"status": -25291, "reason": "deviceNotWorking"}), "without a TPM")
        check("a key in the TPM cannot be used" in made.log, made.log)
        tpm.on()
        equal(sign(free)[0], None, "with the TPM again")
        made.shutdown()
        # Cleared and recovered: the key is lost, and said to be.
        tpm.tool("tpm2_clear")
        tpm.tool("tpm2_shutdown", "-c")
        made.run("device", "recover", made.name, input=f"{made.recovery_key}\n{PASSCODE}\n")
        made.boot()
        unlock(made)
        app = made.connect()
        equal(sign(free)[0], "io.touchstone.Key.Invalidated", "a key that is older than the clearing of the TPM")
    result = Device(boot=False).touchstone("device", "create", "other", "--keys", "tpm")
    check(result.returncode == 64 and "--root-of-trust tpm2" in result.stderr, result.stderr)


def slow():
    """DEC-058: a TPM that takes seconds for what one app does keeps no other app waiting."""
    with TPM() as tpm, Relay(tpm) as relay, bound(relay.address) as made:
        keychain.add(made, "open")
        app = made.connect()
        key, point = create_key(app, flags=PRIVATE_KEY_USAGE)
        digest = hashlib.sha256(b"slow").digest()
        query = {"class": {"string": "genp"}, "acct": {"string": "open"}, "r_Data": {"boolean": True}}
        longest, calls = 0, 0
        relay.delays[NV_INCREMENT] = 2
        relay.commands = 0
        changing = threading.Thread(target=lambda: made.run("device", "enroll", "thumb"))
        changing.start()
        limit = time.monotonic() + 3
        while time.monotonic() < limit:
            started = time.monotonic()
            error, reply = call(app, "Keychain.CopyMatching", query=query)
            equal((error, len(reply["items"])), (None, 1), "an open item")
            error, reply = call(app, "Key.Sign", key=key, data=encode(digest))
            equal(error, None, "a signature")
            longest, calls = max(longest, time.monotonic() - started), calls + 1
        check(longest < 1.5, f"another app waited {longest:.1f} s for the TPM")
        check(calls > 3 and relay.commands > 0, f"{calls} calls, {relay.commands} commands of the TPM's")
        check(is_signature_of(point, keychain.base64.b64decode(reply["signature"]), digest), "the signature")
        changing.join(LONGEST_WAIT)
        # Who waits for a verdict does wait, and gets it.
        made.run("device", "lock")
        started = time.monotonic()
        unlock(made)
        check(time.monotonic() - started > 2, "a guess was looked at before it was sure to be remembered")
        relay.delays = {}


def lockout():
    """Our own budget comes first: the TPM's last try is never used, whoever used the others; no guess of ours is lost by it."""
    with TPM(tries=3) as tpm, bound(tpm.address) as made:
        made.run("device", "lock")
        unlock(made, "314159", 6)
        unlock(made, "314159", 6)
        equal(made.status["passcodeFailures"], 1, "the same wrong one twice is one")
        unlock(made, "314160", 6)
        result = unlock(made, "314161", 5)
        check("accepts no passcode now" in result.stderr, result.stderr)
        equal(made.status["passcodeFailures"], 2, "wrong passcodes: what was not looked at is not counted")
        made.shutdown()
        equal((tpm.variable("TPM2_PT_LOCKOUT_COUNTER"), tpm.variable("inLockout")), (2, 0), "the TPM's counter")
        tpm.tool("tpm2_dictionarylockout", "-c")
        tpm.tool("tpm2_shutdown", "-c")
        made.boot()
        unlock(made)


def cuts():
    """The line is cut in every step of a creation, before the TPM heard of it and after: no device, or a whole one."""
    with TPM() as tpm, Relay(tpm) as relay, Device(boot=False) as made:
        options = ["--root-of-trust", "tpm2", "--tcti", relay.address]
        devices = made.state.parent
        for answers_last in (False, True):
            relay.answers_last = answers_last
            for step in range(1, 40):
                relay.commands, relay.cut_at = 0, step
                result = made.touchstone("device", "create", "other", *options)
                relay.cut_at = None
                if result.returncode == 0:
                    break
                equal((result.returncode, result.stdout), (78, ""), f"cut at {step}: {result.stderr}")
                check("stopped answering" in result.stderr, f"cut at {step}: {result.stderr}")
                check(not (devices / "other").exists(), "half a device")
            check(5 < step < 39, f"{step} steps")
            made.run("device", "boot", "other", "--detach")
            made.run("device", "shutdown", "other")
            made.run("device", "erase", "--force", "other")
            equal(tpm.counters, [], "counters left by what was cut off")
        # And the TPM stays away: what it keeps of what was cut off is taken out with the next creation.
        relay.commands, relay.cut_at = 0, None
        made.run("device", "create", "whole", *options)
        steps = relay.commands
        made.run("device", "erase", "--force", "whole")
        relay.commands, relay.cut_at, relay.stays_away = 0, steps - 3, True
        made.run("device", "create", "other", *options, status=78)
        relay.cut_at, relay.stays_away = None, False
        left = tpm.counters
        made.run("device", "create", "other", *options)
        made.run("device", "erase", "--force", "other")
        equal((len(left), tpm.counters), (1, []), "counters, before what was cut off was taken out and after")


device.main(whole, usage, life, power, cleared, swapped, interrupted, rollback, slow, keys, lockout, cuts)
