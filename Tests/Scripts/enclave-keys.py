#!/usr/bin/env python3
"""Attacks on keys of the enclave: by apps that lie, by what was overheard, by a hostile touchstoned, and by whoever searches."""

import base64
import contextlib
import hashlib
import json
import os
import pathlib
import random
import re
import shutil
import signal
import socket as sockets
import subprocess
import sys
import threading
import time

from device import LONGEST_WAIT, REPOSITORY, Device, Evaluation, call, check, equal, is_alive, main, wait_for
from enclave import (
    BIOMETRY_ANY,
    BIOMETRY_CURRENT_SET,
    PRIVATE_KEY_USAGE,
    Agent,
    Opened,
    create_key,
    encode,
    is_signature_of,
    new_context,
    seal_passcodes,
    with_the_finger,
)

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec

PASSCODE = "271828"
DIGEST = hashlib.sha256(b"a nonce").digest()
FAILED = "io.touchstone.Key.Failed"
# LAAccessControlOperation
USE_KEY_SIGN = 3
# Failed, because the owner's proof is wanted and the call does not say how to ask for it.
NEEDED = "interactionForbidden"


def sign(connection, key, context=None, digest=DIGEST):
    error, reply = call(connection, "Key.Sign", key=key, data=encode(digest), context=context)
    return NEEDED if (reply or {}).get("reason") == NEEDED else error, reply


def ready(device):
    device.set_up(PASSCODE, "thumb")
    return device


# apps

def an_app_that_answers_itself_gets_no_signature():
    with Device() as device:
        ready(device)
        connection = device.connect()
        key, point = create_key(connection)
        context = new_context(connection)
        error, reply = sign(connection, key, context)
        equal(error, NEEDED, "without a proof")
        equal(reply["status"], -25308, "the status without a proof")

        # It says to itself that the owner was there, and makes up whatever it could have been told.
        for invented in (None, "", "0" * len(context), context[:-1], context.upper() + "0", "\U0001f511", "x" * 10_000):
            equal(sign(connection, key, invented)[0], NEEDED, f"on the context {invented!r:.40}")
        # It sends the daemon the answers that it would have liked.
        for forged in ({"parameters": {"domainState": encode(bytes(32))}}, {"parameters": {"evaluation": "e", "outcome": "succeeded"}}):
            with device.connect() as other:
                other.sendall(json.dumps(forged).encode() + b"\0")
                with contextlib.suppress(ConnectionError):
                    check(sign(other, key, context)[0] is not None, "a signature after a forged answer")
        # It has something weaker evaluated than the key's control: nothing is asked, and all is well; the key knows better.
        options = {"reason": "the test", "reuseDuration": 300.0, "interactionNotAllowed": True}
        for weaker in ({"protection": "aku", "flags": PRIVATE_KEY_USAGE}, {"protection": "aku", "flags": 0}):
            call(
                connection, "Authentication.EvaluateAccessControl", context=context, accessControl=weaker,
                operation=USE_KEY_SIGN, options=options)
            equal(sign(connection, key, context)[0], NEEDED, "after a weaker control")
        # A prompt that is up, one that is dismissed and a wrong finger are no proof either.
        agent = Agent(device)
        evaluation = Evaluation(device)
        shown = agent.wait_for("show")
        equal(sign(connection, key, context)[0], NEEDED, "while a prompt is up")
        equal(device.client("Device").PresentFinger(finger=None)["touch"], "notMatched", "a wrong finger")
        equal(sign(connection, key, evaluation.context)[0], NEEDED, "after a wrong finger")
        device.client("Agent").Cancel(prompt=shown["prompt"]["identifier"])
        evaluation.result()
        equal(sign(connection, key, evaluation.context)[0], NEEDED, "after the cancelled prompt")
        agent.close()

        # The twin: the finger itself.
        error, reply = with_the_finger(device, connection, "Key.Sign", key=key, data=encode(DIGEST), context=context)
        equal(error, None, "after the finger")
        check(is_signature_of(point, base64.b64decode(reply["signature"]), DIGEST), "the signature")


class Relay:
    """Stands between an app and the daemon, and keeps all that passes."""

    def __init__(self, device):
        self.device, self.path = device, device.work / "relay.sock"
        self.frames = {"app": b"", "daemon": b""}
        self.listener = sockets.socket(sockets.AF_UNIX)
        self.listener.bind(str(self.path))
        self.listener.listen()
        threading.Thread(target=self.run, daemon=True).start()

    def run(self):
        while True:
            app, _ = self.listener.accept()
            daemon = self.device.connect()
            daemon.settimeout(None)
            for side, source, target in (("app", app, daemon), ("daemon", daemon, app)):
                threading.Thread(target=self.carry, args=(side, source, target), daemon=True).start()

    def carry(self, side, source, target):
        while chunk := source.recv(65536):
            self.frames[side] += chunk
            target.sendall(chunk)
        with contextlib.suppress(OSError):
            target.shutdown(sockets.SHUT_RDWR)

    def connect(self):
        connection = sockets.socket(sockets.AF_UNIX)
        connection.settimeout(LONGEST_WAIT)
        connection.connect(str(self.path))
        return connection

    @property
    def calls(self):
        return [frame + b"\0" for frame in self.frames["app"].split(b"\0")[:-1]]


# Sends recorded calls, one after the other, and prints the answers: run by another process.
REPLAY = """
import json, socket, sys
connection = socket.socket(socket.AF_UNIX)
connection.connect(sys.argv[1])
connection.settimeout(15)
for line in sys.stdin.buffer.read().split(b"\\0")[:-1]:
    connection.sendall(line + b"\\0")
    answer = b""
    while not answer.endswith(b"\\0"):
        chunk = connection.recv(65536)
        if not chunk: sys.exit(0)
        answer += chunk
    print(answer[:-1].decode())
"""


def replay(device, calls, program=sys.executable):
    """The answers to recorded calls, given to another process that executes `program`."""
    result = subprocess.run(
        [program, "-c", REPLAY, str(device.socket)], input=b"".join(calls), capture_output=True, timeout=60)
    equal(result.returncode, 0, f"the replay: {result.stderr.decode()[-500:]}")
    return [json.loads(line) for line in result.stdout.decode().splitlines()]


def refused(answers, what):
    check(answers, f"{what}: no answer at all")
    for answer in answers:
        check("signature" not in answer.get("parameters", {}), f"{what}: {answer}")
    equal(answers[-1].get("parameters", {}).get("reason"), NEEDED, f"{what}: the answer to the recorded Sign")


def a_recorded_exchange_gets_nothing_when_it_is_replayed():
    with Device() as device:
        ready(device)
        relay = Relay(device)
        app = relay.connect()
        key, point = create_key(app)
        context = new_context(app)
        with_the_finger(device, app, "Key.Sign", key=key, data=encode(DIGEST), context=context)
        error, reply = sign(app, key, context)
        equal(error, None, "the exchange that is recorded")
        check(is_signature_of(point, base64.b64decode(reply["signature"]), DIGEST), "its signature")
        calls = relay.calls
        equal(len(calls), 4, "the calls that were recorded")

        # While the proven context still lives, by another process of the same program, which is the same app.
        refused(replay(device, calls), "a replay by another process")
        refused(replay(device, calls[-1:]), "a replay of the one call by another process")
        # The owner's app still works.
        equal(sign(app, key, context)[0], None, "the app itself")
        # By the app itself once its connection has gone, and the context with it.
        app.close()
        wait_for(lambda: sign(device.connect(), key, context)[0] == NEEDED, "the context to end")
        with device.connect() as again:
            answers = []
            for frame in calls:
                request = json.loads(frame[:-1])
                name = request["method"].removeprefix("io.touchstone.")
                error, parameters = call(again, name, **request["parameters"])
                answers.append({"error": error, "parameters": parameters})
            refused(answers, "a replay on another connection")
        device.shutdown()
        device.boot()
        device.run("device", "unlock", input=f"{PASSCODE}\n")
        refused(replay(device, calls), "a replay after a restart")


def a_key_of_another_app_or_device_and_a_changed_one_are_refused():
    with Device("one") as one, Device("two") as two:
        for device in (one, two):
            ready(device)
        connection = one.connect()
        # Without a constraint, so that nothing but the blob itself stands in the way.
        key, point = create_key(connection, flags=PRIVATE_KEY_USAGE)
        error, reply = sign(connection, key)
        check(is_signature_of(point, base64.b64decode(reply["signature"]), DIGEST), "the key as it is")

        blob = base64.b64decode(key)
        check(len(blob) > 200, "the blob")
        for index in range(len(blob)):
            changed = bytearray(blob)
            changed[index] ^= 1 << random.randrange(8)
            for method, parameters in {
                "Sign": {"data": encode(DIGEST)}, "Inspect": {}, "ExchangeKeys": {"publicKey": encode(point), "operation": 5},
            }.items():
                answer = call(connection, f"Key.{method}", key=encode(bytes(changed)), **parameters)
                equal(answer, (FAILED, {"status": -26275}), f"{method}, byte {index}")
        for wrong in (b"", blob[:1], blob[:-1], blob + b"\0", bytes(len(blob)), os.urandom(100_000)):
            equal(sign(connection, encode(wrong)), (FAILED, {"status": -26275}), f"{len(wrong)} other bytes")

        equal(sign(two.connect(), key), (FAILED, {"status": -26275}), "on another device")

        # Another program, therefore another app.
        other = one.work / "another-app"
        shutil.copy(os.path.realpath(sys.executable), other)
        call_of_sign = {"method": "io.touchstone.Key.Sign", "parameters": {"key": key, "data": encode(DIGEST)}}
        frame = json.dumps(call_of_sign).encode() + b"\0"
        equal(
            replay(one, [frame], other), [{"error": FAILED, "parameters": {"status": -25300}}], "by another app")
        check("signature" in replay(one, [frame])[0]["parameters"], "by another process of the same app")


# a hostile touchstoned

class HostileDaemon:
    """Speaks to the real enclave process in touchstoned's place."""

    def __init__(self, device):
        self.calls, calls = sockets.socketpair()
        self.events, events = sockets.socketpair()
        self.calls.settimeout(LONGEST_WAIT)
        self.published = device.state / "enclave/passcode.pub"

        def place():
            a, b = os.dup2(calls.fileno(), 100), os.dup2(events.fileno(), 101)
            os.dup2(a, 3)
            os.dup2(b, 4)
            os.closerange(5, 200)

        self.log = open(device.work / "hostile.log", "wb")
        self.process = subprocess.Popen(
            [device.programs / "touchstone-enclave", "run", "--state", device.state / "enclave"],
            stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log, env=device.environment, preexec_fn=place,
            close_fds=False)
        calls.close()
        events.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for end in (self.calls, self.events, self.log):
            end.close()
        self.process.kill()
        self.process.wait(LONGEST_WAIT)

    def call(self, method, **parameters):
        return call(self.calls, f"Enclave.{method}", **parameters)

    @property
    def public_key(self):
        """Of this boot: the enclave has written it by its first answer."""
        return self.published.read_bytes()

    def facts(self):
        return self.call("GetFacts", app="a")[1]["facts"]

    def unlock(self, passcode):
        """Hands on what the owner typed into the lock screen, which it cannot read."""
        nonce = base64.b64decode(self.call("GetNonce")[1]["nonce"])
        error, _ = self.call("Unlock", passcode=seal_passcodes(self.public_key, [passcode], nonce + b"unlock"))
        equal(error, None, "unlocking")
        wait_for(lambda: not self.facts()["isLocked"], "the device to unlock")


def a_hostile_touchstoned_cannot_sign_without_the_finger():
    with Device() as device:
        ready(device)
        device.shutdown()
        for seed in range(12):
            with HostileDaemon(device) as daemon:
                daemon.unlock(PASSCODE)
                attack(daemon, random.Random(seed), seed)
        # The twin: one finger on the sensor, and the same calls sign.
        with HostileDaemon(device) as daemon:
            daemon.unlock(PASSCODE)
            control = {"protection": "dku", "flags": PRIVATE_KEY_USAGE | BIOMETRY_ANY}
            key = daemon.call("CreateKey", kind="p256", accessControl=control, accessGroup="a", app="a")[1]
            context = daemon.call("CreateContext", app="a", accessGroups=["a"])[1]["context"]
            requirement = {"proofs": ["biometryAny"], "anyOne": False}
            begun = daemon.call(
                "BeginEvaluation", context=context, app="a", requirement=requirement, isFallbackHidden=False,
                isFaceIDDescribed=False)[1]
            # A touch before the prompt was seen is not a proof.
            equal(daemon.call("PresentFinger", finger="thumb")[1]["touch"], "notWaiting", "the finger before")
            shown = daemon.call("SetShown", evaluation=begun["evaluation"], isShown=True)[1]
            check(0.3 < shown["touchesAfterSeconds"] <= 0.5, f"the sensor counts after {shown['touchesAfterSeconds']} s")
            time.sleep(shown["touchesAfterSeconds"])
            equal(daemon.call("PresentFinger", finger="thumb")[1]["touch"], "matched", "the finger")
            use = {"key": key["key"], "app": "a", "accessGroups": ["a"], "context": context}
            error, reply = daemon.call("Sign", use=use, data=encode(DIGEST))
            equal(error, None, "signing after the finger")
            signature = base64.b64decode(reply["signature"])
            check(is_signature_of(base64.b64decode(key["publicKey"]), signature, DIGEST), "the signature")


def keys_are_wrapped_ahead_for_items_without_an_access_control_alone():
    """AC-10: what an item is bound to is as of its adding, so that a key of a guarded one is never there before it (DEC-581)."""
    with Device() as device:
        ready(device)
        device.shutdown()
        with HostileDaemon(device) as daemon:
            daemon.unlock(PASSCODE)
            own = {"accessGroup": "a", "item": encode(b"genp" + bytes(32))}

            def wrap(count, flags=0, length=32):
                spares = [{"item": encode(b"genp" + bytes([number + 1]) * 32), "key": encode(bytes([number]) * length)} for number in range(count)]
                error, reply = daemon.call(
                    "WrapKey", accessControl={"protection": "dku", "flags": flags}, binding=own, key=encode(bytes(32)), app="a",
                    spares=spares)
                return error, reply, spares

            for what, arguments in {
                "a finger": (1, BIOMETRY_ANY), "a private key": (1, PRIVATE_KEY_USAGE), "too many": (17,), "a short key": (2, 0, 31),
            }.items():
                error, reply, _ = wrap(*arguments)
                equal((error, reply.get("status")), ("io.touchstone.Enclave.NotWrapped", -50), what)
            # The twin: each of sixteen opens with its own binding, and with no other.
            error, reply, spares = wrap(16)
            equal((error, len(reply["spares"])), (None, 16), "sixteen spare keys")

            def opened(number, place):
                item = {"wrappedKey": reply["spares"][number], "binding": {"accessGroup": "a", "item": spares[place]["item"]}}
                return daemon.call("UnwrapKeys", items=[item], app="a")[1]["items"][0]

            for number in range(16):
                equal(opened(number, number)["key"], spares[number]["key"], f"spare key {number}")
                equal(opened(number, (number + 1) % 16)["state"], "gone", "with another item's binding")


def attack(daemon, moments, seed):
    """300 calls in a random order: every one that the enclave has, with whatever the answers so far gave."""
    apps, groups = ["a", "b", ""], ["a", "b", "", "\U0001f511"]
    contexts, evaluations, nonces, sessions = ["0" * 32], ["0" * 32], [bytes(16)], ["0" * 32]
    proofs = ["presence", "biometryAny", "biometryCurrentSet", "passcode", "companion"]
    one_of = moments.choice
    keys = []
    for kind in ("p256", "mldsa65", "mlkem768"):
        for flags in (BIOMETRY_ANY, BIOMETRY_CURRENT_SET):
            control = {"protection": "dku", "flags": PRIVATE_KEY_USAGE | flags}
            keys.append(daemon.call("CreateKey", kind=kind, accessControl=control, accessGroup="a", app="a")[1]["key"])
    point = daemon.call("InspectKey", key=keys[0], accessGroups=["a"])[1]["publicKey"]

    def requirement():
        return {"proofs": moments.sample(proofs, moments.randrange(3)), "anyOne": one_of([True, False])}

    def guess(*contexts):
        # A passcode that it does not know.
        words = ["1111", ""] if len(contexts) > 1 else ["1111"]
        return seal_passcodes(daemon.public_key, words, one_of(nonces) + one_of(contexts))

    def binding():
        return {"accessGroup": one_of(groups), "item": encode(moments.randbytes(36))}

    def control():
        flags = one_of([0, BIOMETRY_ANY, PRIVATE_KEY_USAGE, PRIVATE_KEY_USAGE | BIOMETRY_CURRENT_SET])
        return {"protection": one_of(["aku", "dku", "akpu"]), "flags": flags}

    def use():
        return {
            "key": one_of(keys), "app": one_of(apps), "accessGroups": moments.sample(groups, moments.randrange(5)),
            "context": one_of(contexts + [None])}

    def backup_keys():
        return [{"wrappedKey": one_of(keys), "binding": binding(), "accessControl": control()}]

    def rows():
        return encode(one_of([b"", b"genp" + bytes(32), (b"keys" + bytes(32)) * 3]))

    def some_bytes():
        return encode(moments.randbytes(one_of([0, 32, 1024])))

    generators = {
        "GetFacts": lambda: {"app": one_of(apps)},
        "CreateContext": lambda: {"app": one_of(apps), "accessGroups": moments.sample(groups, 3)},
        "InvalidateContext": lambda: {"context": one_of(contexts)},
        "SetCredential": lambda: {
            "context": one_of(contexts), "app": one_of(apps), "credential": one_of([None, guess(b"credential x")])},
        "IsCredentialSet": lambda: {"context": one_of(contexts), "app": one_of(apps)},
        "Preflight": lambda: {
            "context": one_of(contexts + [None]), "app": one_of(apps), "requirement": requirement(),
            "reuseDuration": one_of([0.0, 300.0, 1e300, -1.0]), "isFaceIDDescribed": one_of([True, False])},
        "BeginEvaluation": lambda: {
            "context": one_of(contexts), "app": one_of(apps), "requirement": requirement(),
            "isFallbackHidden": one_of([True, False]), "isFaceIDDescribed": one_of([True, False]),
            "reuseDuration": one_of([None, 300.0, -1.0]), "accessGroups": one_of([None, moments.sample(groups, 3)])},
        "EndEvaluation": lambda: {"evaluation": one_of(evaluations)},
        "SetShown": lambda: {"evaluation": one_of(evaluations), "isShown": one_of([True, False])},
        "ChooseFallback": lambda: {"evaluation": one_of(evaluations)},
        "AnswerPermission": lambda: {"evaluation": one_of(evaluations), "isAllowed": one_of([True, False])},
        "TryAgain": lambda: {"evaluation": one_of(evaluations)},
        "ListFaceIDPermissions": dict,
        "SetFaceIDPermission": lambda: {"app": one_of(apps), "isAllowed": one_of([True, False, None])},
        "SetEraseData": lambda: {"isOn": one_of([True, False]), "passcode": guess(b"erase data on")},
        "SubmitPasscode": lambda: {"evaluation": one_of(evaluations), "passcode": guess(b"prompt a", b"unlock")},
        "GetNonce": lambda: {"connection": one_of([None, 0, 1, -1])},
        "EndConnection": lambda: {"connection": one_of([0, 1, -1])},
        "ChangePasscode": lambda: {"passcodes": guess(b"change", b"change")},
        "Unlock": lambda: {"passcode": guess(b"unlock")},
        "ForgetReader": lambda: {"passcode": guess(b"forget reader")},
        "AddReader": lambda: {
            "bus": "/bus", "templates": "/templates", "passcode": guess(b"add reader /bus\0/templates")},
        "Lock": lambda: {"requiresPasscode": one_of([True, False, None])},
        "ListFingers": dict,
        # It may touch the sensor with anything but what the owner enrolled.
        "PresentFinger": lambda: {"finger": one_of([None, "index", "", "thumb ", "Thumb"])},
        "RemoveFinger": lambda: {"finger": "index"},
        "SetSensorConnected": lambda: {"isConnected": one_of([True, False])},
        "AdvanceClock": lambda: {"seconds": one_of([1.0, 60.0, 3600.0])},
        "InspectClassKeys": dict,
        "InspectItems": lambda: {
            "items": [{"wrappedKey": one_of(keys), "binding": binding()}], "privateKeys": [one_of(keys)]},
        "GetLookupKey": dict,
        "GetMetadataKeys": dict,
        "ConfirmErasure": dict,
        "CompareItems": lambda: {
            "items": rows(), "isFirst": one_of([True, False]), "isLast": one_of([True, False]),
            "takes": one_of([None, True])},
        "RecordItems": lambda: {
            "removed": rows(), "added": rows(), "isFirst": one_of([True, False]), "isLast": one_of([True, False]),
            "isDeletion": one_of([True, False])},
        "SettleItems": dict,
        "AcceptItems": lambda: {"look": "00", "passcode": guess(b"accept items 00")},
        "WrapKey": lambda: {
            "accessControl": control(), "binding": binding(), "key": encode(bytes(32)), "app": one_of(apps),
            "context": one_of(contexts + [None]),
            "spares": one_of([None, [], [{"item": encode(moments.randbytes(36)), "key": some_bytes()}] * one_of([1, 16, 17])])},
        "UnwrapKeys": lambda: {
            "items": [{"wrappedKey": one_of(keys), "binding": binding()}], "app": one_of(apps),
            "context": one_of(contexts + [None])},
        "CreateKey": lambda: {
            "kind": "p256", "accessControl": {"protection": "dku", "flags": PRIVATE_KEY_USAGE | BIOMETRY_ANY},
            "accessGroup": one_of(groups), "app": one_of(apps), "context": None},
        "InspectKey": lambda: {"key": one_of(keys), "accessGroups": groups},
        "Sign": lambda: {"use": use(), "data": encode(DIGEST)},
        "ExchangeKeys": lambda: {"use": use(), "publicKey": point, "operation": one_of([3, 4, 5])},
        "SignMessage": lambda: {"use": use(), "message": encode(DIGEST), "signatureContext": ""},
        "Decapsulate": lambda: {"use": use(), "encapsulated": encode(bytes(1088))},
        "AuthorizeBackup": lambda: {"direction": one_of(["export", "import"]), "passcode": guess(b"export", b"import")},
        "ExportKeys": lambda: {"session": one_of(sessions), "keys": backup_keys()},
        "ImportKeys": lambda: {"session": one_of(sessions), "keys": backup_keys()},
        "EndBackup": lambda: {"session": one_of(sessions)},
        "ResumeLog": lambda: {"newestLines": moments.sample(["", "{}", "x"], moments.randrange(3))},
        "GetLogHead": dict,
        "CheckLog": lambda: {"lines": ["", "{}"]},
        "NoteObservation": lambda: {"observation": one_of(["agentConnected", "agentLost"]), "count": one_of([None, 1])},
        "CloseLog": dict,
        "GetCircle": dict,
        "FoundCircle": lambda: {"name": "desk", "passcode": guess(b"found circle desk")},
        "ApplyToCircle": lambda: {"name": one_of(["desk", ""])},
        "ChallengeApplicant": lambda: {"application": some_bytes()},
        "RevealToCircle": lambda: {"challenge": some_bytes()},
        "ApproveApplicant": lambda: {"application": some_bytes(), "reveal": some_bytes(), "passcode": guess(b"approve device x")},
        "JoinCircle": lambda: {"links": [some_bytes()], "passcode": guess(b"join circle x")},
        "RemoveMember": lambda: {
            "member": "00" * 32, "name": "lap", "lastCounter": one_of([0, -1, 2 ** 53]), "passcode": guess(b"remove device x")},
        "AddRecoveryKey": lambda: {"name": "paper", "passcode": guess(b"add recovery key paper")},
        "AuthorizeHistory": lambda: {"number": one_of([None, 1, -1]), "passcode": guess(b"show history", b"restore version 1")},
        "RecoverCircle": lambda: {"links": [some_bytes()], "name": "desk", "passcode": guess(b"recover circle x desk")},
        "AddLinks": lambda: {"links": [some_bytes()]},
        "SealRecords": lambda: {"records": [{
            "name": encode(bytes(32)), "counter": one_of([1, -1]), "clock": one_of([0, -1, 1 << 60]),
            "item": one_of([None, {"item": {"wrappedKey": one_of(keys), "binding": binding()}, "attributes": "", "secret": ""}])}]},
        "OpenRecords": lambda: {"records": [some_bytes()]},
        "SignHead": lambda: {"head": some_bytes()},
    }
    text = (REPOSITORY / "Sources/TouchstoneEnclaveInterface/io.touchstone.Enclave.varlink").read_text()
    methods = set(re.findall(r"^method (\w+)\(", text, re.M))
    # The stream of events takes a connection of its own. Enrolling is what simulated devices have instead of a sensor: whoever may do it
    # is the owner there.
    equal(methods - set(generators), {"WatchEvents", "Enroll"}, "the enclave's calls that are not tried")

    names = sorted(generators) + ["Sign", "ExchangeKeys"] * 9 + ["SignMessage", "Decapsulate"] * 3 + ["BeginEvaluation", "CreateContext", "Preflight"] * 2
    asked = 0
    for number in range(300):
        name = one_of(names)
        if name in ("Lock", "ChangePasscode", "Unlock", "SubmitPasscode", "AuthorizeBackup") and moments.random() < 0.7:
            continue
        error, reply = daemon.call(name, **generators[name]())
        check("signature" not in reply and "sharedSecret" not in reply, f"seed {seed}, call {number}, {name}: {reply}")
        for item in reply.get("items", []):
            check(item.get("key") is None, f"seed {seed}, call {number}: a private key is unwrapped as an item's")
        # A call that the enclave does not even read attacks nothing.
        check(not str(error).startswith("org.varlink.service"), f"seed {seed}, call {number}, {name}: {error}")
        asked += name in ("Sign", "ExchangeKeys", "SignMessage", "Decapsulate")
        contexts += [reply["context"]] if "context" in reply else []
        evaluations += [reply["evaluation"]] if "evaluation" in reply else []
        keys += [reply["key"]] if name == "CreateKey" and error is None else []
        for found in (reply.get("nonce"), reply.get("progress", {}).get("nonce")):
            nonces += [base64.b64decode(found)] if found else []
    check(asked > 50, f"seed {seed}: {asked} attempts to use a key")


# whoever searches

def memory(pid):
    """What a process has in its memory, as far as it can be read."""
    found = []
    with open(f"/proc/{pid}/maps") as maps, open(f"/proc/{pid}/mem", "rb", 0) as file:
        for line in maps:
            region, permissions = line.split()[:2]
            if permissions.startswith("r"):
                start, end = (int(part, 16) for part in region.split("-"))
                with contextlib.suppress(OSError, ValueError, OverflowError):
                    file.seek(start)
                    found.append(file.read(end - start))
    return b"".join(found)


# An app that makes a key and signs with it, a hundred times, and then waits to be searched.
APP = """
import base64, json, os, socket, sys
connection = socket.socket(socket.AF_UNIX)
connection.connect(sys.argv[1])
def call(method, **parameters):
    connection.sendall(json.dumps({"method": "io.touchstone.Key." + method, "parameters": parameters}).encode() + b"\\0")
    reply = b""
    while not reply.endswith(b"\\0"): reply += connection.recv(65536)
    reply = json.loads(reply[:-1])
    assert "error" not in reply, reply
    return reply["parameters"]
made = call("Create", kind="p256", accessControl={"protection": "aku", "flags": 1 << 30})
for number in range(100):
    call("Sign", key=made["key"], data=base64.b64encode(number.to_bytes(32, "big")).decode())
    call("ExchangeKeys", key=made["key"], publicKey=made["publicKey"], operation=5)
print(json.dumps(made), flush=True)
sys.stdin.read()
"""


def nobody_finds_the_private_number():
    with Device() as device:
        ready(device)
        relay = Relay(device)
        app = subprocess.Popen(
            [sys.executable, "-c", APP, str(relay.path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        try:
            made = json.loads(app.stdout.readline())
            blob, point = base64.b64decode(made["key"]), base64.b64decode(made["publicKey"])
            # From the key file, the state and the passcode, by what the documents say.
            number, named = Opened(device, PASSCODE).private_number(blob, "aku")
            equal(named, point, "the public key in the blob")
            key = ec.derive_private_key(int.from_bytes(number, "big"), ec.SECP256R1())
            form = (serialization.Encoding.X962, serialization.PublicFormat.UncompressedPoint)
            equal(key.public_key().public_bytes(*form), point, "the private key that was dug out")

            def words(secret):
                """A secret as it may stand in a text: as it is, reversed, in hexadecimal, and in base64 at each of its offsets."""
                encoded = [base64.b64encode(bytes(shift) + secret)[4 if shift else 0:-4] for shift in range(3)]
                return [secret, secret[::-1], secret.hex().encode(), secret.hex().upper().encode(), *encoded]

            def search(what, content):
                for word in words(number):
                    check(word not in content, f"the private number is in {what}")

            places = {"what went to the daemon": relay.frames["app"], "what came from it": relay.frames["daemon"]}
            places["the app's memory"] = memory(app.pid)
            if os.geteuid() == 0:
                places["touchstoned's memory"] = memory(device.daemons["touchstoned"])
            for what, content in places.items():
                search(what, content)
                # The twin: what is no secret is found. touchstoned zeroes what it frees, and the test `memory` shows that.
                check(what == "touchstoned's memory" or any(word in content for word in words(blob) + words(point)), f"nothing at all is found in {what}")
        finally:
            app.kill()
            app.wait()

        # Cores: a daemon that dies of a signal that makes one leaves none.
        before = set(device.work.rglob("*"))
        enclave = device.daemons["touchstone-enclave"]
        os.kill(enclave, signal.SIGABRT)
        wait_for(lambda: not is_alive(enclave), "the enclave to die")
        # Nor does the runtime write down what was in its registers.
        check("Backtrac" not in device.log and "Registers" not in device.log, "a report of the crash is in the log")
        cores = [path for path in {*device.work.rglob("*")} - before if "core" in path.name]
        cores += [path for path in pathlib.Path.cwd().glob("core*") if str(enclave) in path.name]
        equal(cores, [], "cores")
        wait_for(lambda: device.status, "the device to be up again")
        device.shutdown()
        seen = 0
        for path in device.work.rglob("*"):
            if path.is_file():
                seen += 1
                search(path, path.read_bytes())
        check(seen >= 5, f"{seen} files were searched: too few to be the device's")


main(
    an_app_that_answers_itself_gets_no_signature, a_recorded_exchange_gets_nothing_when_it_is_replayed,
    a_key_of_another_app_or_device_and_a_changed_one_are_refused, a_hostile_touchstoned_cannot_sign_without_the_finger,
    keys_are_wrapped_ahead_for_items_without_an_access_control_alone, nobody_finds_the_private_number)
