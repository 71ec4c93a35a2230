#!/usr/bin/env python3
"""Passkeys: libfido2, python-fido2 and a client that knows the standard alone, with an owner who is judged for each use."""

import base64
import ctypes
import hashlib
import json
import pathlib
import re
import shutil
import subprocess
import tempfile
import time

from bridges import BRIDGES, Person
from device import REPOSITORY, Device, check, equal, main, wait_for
from fido import (
    CANCEL,
    CBOR,
    DESCRIPTOR,
    ERROR,
    HASH,
    PING,
    Channel,
    LibFIDO2,
    Service,
    SocketConnection,
    Typist,
    get_request,
    make_request,
    with_fido,
)

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from fido2 import cbor
from fido2.cose import ES256
from fido2.ctap import CtapError
from fido2.ctap2 import Ctap2
from fido2.ctap2.credman import CredentialManagement
from fido2.ctap2.pin import ClientPin
from fido2.hid import CtapHidDevice
from fido2.webauthn import AuthenticatorData
from webauthn import verify_authentication_response, verify_registration_response

PRESENT_AND_VERIFIED = 0x05


def verifies(answer, key):
    try:
        key.verify(answer[3], answer[2] + HASH, ec.ECDSA(hashes.SHA256()))
        return True
    except InvalidSignature:
        return False


def public_key(made):
    point = AuthenticatorData(made[2]).credential_data.public_key
    return ec.EllipticCurvePublicNumbers(
        int.from_bytes(point[-2], "big"), int.from_bytes(point[-3], "big"), ec.SECP256R1()).public_key()


@with_fido
def libfido2_makes_passkeys_and_signs_in(device, service, person):
    """FD-5, FD-13, FD-14, FD-30, FD-35, FD-41."""
    client = LibFIDO2(service)
    error, found = client.make(rk=client.TRUE)
    equal(error, 0, "make")
    equal(client.library.fido_cred_flags(found) & 0x3D, PRESENT_AND_VERIFIED, "flags: neither BE nor BS")
    prompt = person.prompts[0]
    equal((prompt["app"]["name"], prompt.get("client")), ("Touchstone's passkeys", None), "who asks: the kernel does not say")
    equal(prompt["reason"], "create a passkey for “example.com” for a program on this computer (browsers do this)", "the words")
    equal({fact["kind"]: fact["text"] for fact in prompt["facts"]}, {"site": "“example.com”", "account": "“ada”"}, "the facts")
    error, other = client.make(site=b"other.example", user=b"second")
    equal(error, 0, "one that is not discoverable")
    equal(person.asked(), 2, "one prompt for each")

    error, signed = client.get()
    equal((error, client.library.fido_assert_count(signed)), (0, 1), "signed in without an id")
    equal(client.library.fido_assert_flags(signed, 0), PRESENT_AND_VERIFIED, "flags")
    equal(client.verify(signed, 0, found), 0, "its signature")
    check(client.verify(signed, 0, other) != 0, "another key verifies it")
    equal(client.bytes("fido_assert_user_id", signed, 0), b"user", "the user")
    equal(person.prompts[0]["reason"], "sign you in to “example.com” for a program on this computer (browsers do this)", "the words")
    equal(person.asked(), 1, "prompts")
    for wanted in (client.OMIT, client.FALSE, client.TRUE):
        error, signed = client.get(site=b"other.example", allowed=[client.bytes("fido_cred_id", other)], uv=wanted)
        equal((error, client.library.fido_assert_flags(signed, 0)), (0, PRESENT_AND_VERIFIED), f"uv {wanted}")
        equal(client.verify(signed, 0, other), 0, "its signature")
    equal(person.asked(), 3, "prompts")
    # 0x2E: not discoverable, another site, nothing at all.
    for site, allowed in ((b"other.example", []), (b"example.com", [client.bytes("fido_cred_id", other)]), (b"none.example", [])):
        equal(client.get(site=site, allowed=allowed)[0], 0x2E, f"{site} {allowed}")
    equal(client.make(excluded=[b"none", client.bytes("fido_cred_id", found)])[0], 0x19, "one that is here already")
    check("is on this computer already" in person.prompts[0]["reason"], person.prompts)
    equal(person.asked(), 1, "prompts")


@with_fido
def a_silent_look_verifies_nothing(device, service, person):
    """FD-32: Firefox looks so before it asks; and ssh's no-touch-required."""
    client = LibFIDO2(service)
    _, found = client.make(rk=client.TRUE)
    name = client.bytes("fido_cred_id", found)
    person.asked()
    error, signed = client.get(allowed=[b"none", name], up=client.FALSE)
    equal((error, client.library.fido_assert_flags(signed, 0)), (0, 0), "it is here")
    equal(client.bytes("fido_assert_id", signed, 0), name, "which one")
    check(client.verify(signed, 0, found) != 0, "a signature without the owner verifies")
    equal(client.get(up=client.FALSE)[0], 0x2E, "nobody learns of accounts")
    equal(person.asked(), 0, "prompts")


@with_fido
def secrets_come_out_the_same_with_both_protocols(device, service, person):
    """FD-15: libfido2 1.12 and python-fido2, with one and two salts."""
    client = LibFIDO2(service)
    error, found = client.make(rk=client.TRUE, extensions=client.HMAC_SECRET)
    equal(error, 0, "make")
    name, salts = client.bytes("fido_cred_id", found), (b"1" * 32, b"2" * 32)
    error, signed = client.get(allowed=[name], salt=salts[0])
    equal((error, client.verify(signed, 0, found)), (0, 0), "signed in")
    first = client.bytes("fido_assert_hmac_secret", signed, 0)
    equal(len(first), 32, "its length")
    _, signed = client.get(allowed=[name], salt=salts[0] + salts[1])
    both = client.bytes("fido_assert_hmac_secret", signed, 0)
    equal((both[:32], len(both)), (first, 64), "with two salts")
    equal(person.asked(), 3, "one prompt for each, and none for the secret")
    from fido2.ctap2.pin import PinProtocolV1, PinProtocolV2

    for protocol in (PinProtocolV1(), PinProtocolV2()):
        ctap = Ctap2(CtapHidDevice(DESCRIPTOR, SocketConnection(service)))
        key, shared = protocol.encapsulate(ctap.client_pin(protocol.VERSION, 2)[1])
        encrypted = protocol.encrypt(shared, salts[1])
        secret = {1: key, 2: encrypted, 3: protocol.authenticate(shared, encrypted), 4: protocol.VERSION}
        answer = ctap.get_assertion("example.com", HASH, [{"id": name, "type": "public-key"}], {"hmac-secret": secret})
        equal(protocol.decrypt(shared, answer.auth_data.extensions["hmac-secret"]), both[32:], f"protocol {protocol.VERSION}")


@with_fido
def py_webauthn_verifies_what_comes_out(device, service, person):
    """FD-13, FD-30, FD-41: registration and sign-in as a website checks them."""
    def encoded(data):
        return base64.urlsafe_b64encode(data).rstrip(b"=").decode()

    ctap = Ctap2(CtapHidDevice(DESCRIPTOR, SocketConnection(service)))
    challenge = b"a challenge of a website"
    client_data = {kind: json.dumps({"type": f"webauthn.{kind}", "challenge": encoded(challenge), "origin": "https://example.com",
                                     "crossOrigin": False}).encode() for kind in ("create", "get")}
    made = ctap.make_credential(
        hashlib.sha256(client_data["create"]).digest(), {"id": "example.com", "name": "Example"}, {"id": b"user", "name": "ada"},
        [{"type": "public-key", "alg": -8}, {"type": "public-key", "alg": -7}], options={"rk": True, "uv": True})
    name = made.auth_data.credential_data.credential_id
    statement = cbor.encode({"fmt": made.fmt, "attStmt": made.att_stmt, "authData": bytes(made.auth_data)})
    common = {"id": encoded(name), "rawId": encoded(name), "type": "public-key"}
    settled = {"expected_challenge": challenge, "expected_rp_id": "example.com", "expected_origin": "https://example.com",
               "require_user_verification": True}
    registered = verify_registration_response(
        credential=common | {"response": {"clientDataJSON": encoded(client_data["create"]), "attestationObject": encoded(statement)}},
        **settled)
    equal((registered.fmt, registered.user_verified, registered.sign_count), ("packed", True, 0), "the registration")
    equal((registered.credential_device_type, registered.credential_backed_up), ("single_device", False), "a key of one device")
    signed = ctap.get_assertion("example.com", hashlib.sha256(client_data["get"]).digest())
    response = {"clientDataJSON": encoded(client_data["get"]), "authenticatorData": encoded(bytes(signed.auth_data)),
                "signature": encoded(signed.signature), "userHandle": encoded(signed.user["id"])}
    authenticated = verify_authentication_response(
        credential=common | {"response": response}, credential_public_key=registered.credential_public_key,
        credential_current_sign_count=0, **settled)
    check(authenticated.user_verified, "the sign-in is not verified")
    # The twin: another challenge.
    try:
        verify_authentication_response(
            credential=common | {"response": response}, credential_public_key=registered.credential_public_key,
            credential_current_sign_count=0, **(settled | {"expected_challenge": b"another"}))
    except Exception as refused:
        check("challenge" in str(refused), str(refused))
    else:
        raise AssertionError("an answer to another challenge was taken")


@with_fido
def several_accounts_are_one_prompt(device, service, person):
    """FD-14, FD-34: python-fido2 asks for the next ones."""
    ctap = Ctap2(CtapHidDevice(DESCRIPTOR, SocketConnection(service)))
    keys = {}
    for user in (b"1", b"2", b"3"):
        made = ctap.make_credential(HASH, {"id": "example.com"}, {"id": user, "name": f"user {user.decode()}"},
                                    [{"type": "public-key", "alg": -7}], options={"rk": True})
        keys[user] = ES256(made.auth_data.credential_data.public_key)
    person.asked()
    found = ctap.get_assertions("example.com", HASH)
    equal([each.user["id"] for each in found], [b"3", b"2", b"1"], "the newest first")
    for each in found:
        each.verify(HASH, keys[each.user["id"]])
        equal(int(each.auth_data.flags), PRESENT_AND_VERIFIED, "flags")
    equal([fact["text"] for fact in person.prompts[0]["facts"]], ["“example.com”", "“user 3”", "“user 2”", "“user 1”"], "the facts")
    equal(person.asked(), 1, "prompts")
    try:
        ctap.get_next_assertion()
    except CtapError as error:
        equal(error.code, CtapError.ERR.NOT_ALLOWED, "one more")
    else:
        raise AssertionError("there is one more")


def answers_of(service, options=None):
    """Status and flags of a registration and a sign-in."""
    channel = Channel(service)
    made = channel.call(1, make_request(user=b"new", options=options))
    got = channel.call(2, get_request(options=options))
    channel.close()
    return tuple((status, AuthenticatorData(answer[2]).flags if status == 0 else None) for status, answer in (made, got))


OPTIONS = (None, {"up": True}, {"uv": True}, {"uv": False}, {"up": True, "uv": True}, {"up": True, "uv": False})


@with_fido
def the_bit_says_that_the_owner_was_judged(device, service, person):
    """FD-30, FD-34, FD-42: each of the options, with a finger."""
    channel = Channel(service)
    equal(channel.call(1, make_request(options={"rk": True}))[0], 0, "make")
    for options in OPTIONS:
        equal(answers_of(service, options), ((0, 0x45), (0, 0x05)), f"finger, {options}")
    equal(person.asked(), 1 + 2 * len(OPTIONS), "each has a prompt of its own")
    equal(channel.call(1, make_request("other.example", options={"up": False}))[0], 0x2C, "made without the owner")
    equal(channel.call(2, get_request("other.example", options={"up": False, "uv": True}))[0], 0x2E, "verified where nothing is")
    equal(person.asked(), 0, "prompts")
    got, answer = channel.call(2, get_request(options={"up": False, "uv": True}))
    equal((got, AuthenticatorData(answer[2]).flags, person.asked()), (0, 0x05, 1), "verified, as ssh-keygen asks")


@with_fido
def a_no_is_an_answer(device, service, person):
    """FD-33, FD-42: cancelled, for each kind of request; right after it nobody is asked again, and another site is."""
    channel = Channel(service)
    equal(channel.call(1, make_request(options={"rk": True}))[0], 0, "make")
    person.answer = "cancel"
    equal(channel.call(2, get_request(options={"uv": True}))[0], 0x27, "a sign-in")
    person.asked()
    equal(channel.call(2, get_request())[0], 0x27, "right after it")
    equal(person.asked(), 0, "prompts right after a no")
    equal(channel.call(1, make_request("other.example"))[0], 0x27, "a registration")
    person.answer = "finger"
    equal(channel.call(1, make_request("third.example", options={"rk": True}))[0], 0, "another site")
    equal([each["site"] for each in json.loads(service.command("list", "--json"))], ["example.com", "third.example"], "what is kept")


def rows(service):
    """FD-42: each row of options, for both requests, each at a site of its own: it is made, or signed, and the flags say so."""
    channel = Channel(service)
    for number, options in enumerate(OPTIONS):
        for command, request, flags in ((1, make_request, 0x45), (2, get_request, 0x05)):
            got, answer = channel.call(command, request(f"site{number}.example", options=options))
            equal((got, AuthenticatorData(answer[2]).flags if answer else None), (0, flags), f"command {command}, {options}")
    channel.close()


def with_a_passkey_at_each_site(service):
    channel = Channel(service)
    for number in range(len(OPTIONS)):
        equal(channel.call(1, make_request(f"site{number}.example", user=b"first", options={"rk": True}))[0], 0, "make")
    channel.close()


def every_cell_cancelled():
    """FD-33, FD-42: 0x27, no flags, nothing made. Each three are on a device of their own, because nobody is asked after three noes."""
    cells = [(command, options) for options in OPTIONS for command in (1, 2)]
    for first in range(0, len(cells), 3):
        with Device() as device:
            device.set_up("271828", "thumb")
            with Service(device) as service:
                person, channel = Person(device), Channel(service)
                for site in range(3):
                    equal(channel.call(1, make_request(f"site{site}.example", options={"rk": True}))[0], 0, "make")
                kept = service.command("list", "--json")
                person.answer = "cancel"
                for site, (command, options) in enumerate(cells[first:first + 3]):
                    person.prompts = []
                    request = {1: make_request, 2: get_request}[command](f"site{site}.example", options=options)
                    equal(channel.call(command, request), (0x27, {}), f"command {command}, {options}")
                    equal([prompt["phase"] for prompt in person.prompts], ["biometry"], f"prompts, command {command}, {options}")
                equal(service.command("list", "--json"), kept, "what is kept")


@with_fido
def wrong_fingers_verify_nobody(device, service, person):
    """FD-33, FD-42: three misses, and nobody who enters the passcode."""
    channel = Channel(service)
    equal(channel.call(1, make_request(options={"rk": True}))[0], 0, "make")

    def misses(prompt):
        device.client("Agent").ConfirmShown(prompt=prompt["identifier"])
        for _ in range(3):
            device.client("Device").PresentFinger(finger="somebody's")

    person.answer = misses
    channel.ask(2, get_request())
    # The finger counts no more, and the prompt wants the passcode.
    wait_for(lambda: len(person.prompts) > 1, "the prompt")
    device.client("Agent").Cancel(prompt=person.prompts[-1]["identifier"])
    equal(channel.answer(), (0x27, {}), "the request")


def the_passcode_verifies_where_only_that_counts():
    """FD-31, FD-42: --strict-uv; the finger does nothing, the passcode does, and a wrong one does not."""
    with Device() as device:
        device.set_up("271828", "thumb")
        with Service(device, "--strict-uv") as service:
            channel = Channel(service)
            with Typist(device, "314159", *["271828"] * (2 + 3 * len(OPTIONS))):
                status, made = channel.call(1, make_request(options={"rk": True}))
                equal((status, AuthenticatorData(made[2]).flags), (0, 0x45), "make")
                status, got = channel.call(2, get_request())
                equal((status, AuthenticatorData(got[2]).flags), (0, 0x05), "get")
                check(verifies(got, public_key(made)), "it does not verify")
                with_a_passkey_at_each_site(service)
                rows(service)


def a_weak_sensor_verifies_nobody():
    """FD-31, FD-42: a PAM service recognises whoever it likes; the passcode alone is asked for, and verifies."""
    services = pathlib.Path(tempfile.mkdtemp(prefix="touchstone-pam."))
    try:
        (services / "camera").write_text("auth required pam_permit.so\n")
        with Device(create=("--sensor", "pam:camera", "--services", str(services))) as device:
            device.set_up("271828")
            with Service(device) as service:
                with Typist(device, *["271828"] * (3 * len(OPTIONS))):
                    with_a_passkey_at_each_site(service)
                    rows(service)
                # The twin: the sensor recognises, and the passcode is not entered.
                phases = []

                def shown(prompt):
                    phases.append(prompt["phase"])
                    device.client("Agent").ConfirmShown(prompt=prompt["identifier"])
                    device.client("Agent").Cancel(prompt=prompt["identifier"])

                Person(device, shown)
                channel = Channel(service)
                equal(channel.call(2, get_request("site0.example"))[0], 0x27, "sign in")
                equal(channel.call(1, make_request("site0.example"))[0], 0x27, "make")
                equal(set(phases), {"passcode"}, "what the prompts want")
    finally:
        shutil.rmtree(services)


def nobody_who_can_be_asked():
    """FD-11, FD-33, FD-42: no passcode: it is not there; no agent: 0x7F at once; nobody answers, or unlocks: 0x2F after 30 s."""
    with Device() as device, Service(device, appears=False) as service:
        equal(service.is_there(), b"", "without a passcode")
        device.set_up("271828", "thumb")
        wait_for(service.is_there, "it to appear")
        channel, began = Channel(service), time.monotonic()
        equal(channel.call(1, make_request())[0], 0x7F, "no agent")
        check(time.monotonic() - began < 25, "without an agent it waits")
        def shown(prompt):
            device.client("Agent").ConfirmShown(prompt=prompt["identifier"])

        person, began = Person(device, shown), time.monotonic()
        equal(channel.call(1, make_request())[0], 0x2F, "nobody answers")
        check(29 < time.monotonic() - began < 90, f"it waited {time.monotonic() - began} s")
        check(len(channel.keepalives) > 30, f"{len(channel.keepalives)} keepalives in 30 s")
        check(any(payload == b"\2" for _, payload in channel.keepalives), "nobody is told that a person is waited for")
        person.answer = "finger"
        equal(channel.call(1, make_request(options={"rk": True}))[0], 0, "make")
        person.answer = "nothing"
        device.run("device", "lock")
        equal(channel.call(2, get_request(options={"up": False}, allowed=[b"none"]))[0], 0x2E, "a silent look behind the lock")
        equal(channel.call(2, get_request())[0], 0x2F, "nobody unlocks it")


@with_fido
def a_cancel_is_heard_in_each_state(device, service, person):
    """FD-6, FD-7: before, while a prompt is up, and after it; by the channel itself, another one, and nobody who has it open."""
    channel, other = Channel(service), Channel(service)
    channel.send(CANCEL)
    equal(channel.call(4)[0], 0, "a request after a cancel of nothing")
    person.answer = "nothing"
    for request in ((1, make_request()), (2, get_request(allowed=None))):
        if request[0] == 2:
            person.answer = "finger"
            equal(channel.call(1, make_request(options={"rk": True}))[0], 0, "make")
            person.answer = "nothing"
        person.asked()
        channel.ask(*request)
        wait_for(lambda: person.prompts, "the prompt")
        other.send(CANCEL)
        other.send(CBOR, b"\4")
        equal(other.message(), (ERROR, b"\6"), "another channel")
        channel.send(CANCEL)
        began = time.monotonic()
        equal(channel.answer()[0], 0x2D, "the request")
        check(time.monotonic() - began < 25, "a cancel takes long")
        wait_for(lambda: not device.status["hasPrompt"], "the prompt to go")
    # Nobody who has it open: the prompt goes as well.
    person.asked()
    channel.ask(1, make_request())
    wait_for(lambda: person.prompts, "the prompt")
    channel.close()
    other.close()
    wait_for(lambda: not device.status["hasPrompt"], "the prompt to go")
    person.answer = "finger"
    last = Channel(service)
    equal(wait_for(lambda: (lambda answer: answer if answer[0] == CBOR else None)((last.send(CBOR, b"\4"), last.message())[1]),
                   "it to be free")[1][0], 0, "the next client")


@with_fido
def what_is_hostile_is_refused(device, service, person):
    """FD-6, FD-8, FD-9: wrong lengths, wrong orders, and a thousand requests that are no CBOR, and then it works as before."""
    channel = Channel(service)
    for command, payload, code in ((0x03, b"\0", 1), (0x04, b"\1", 1), (CBOR, b"", 3), (0x7E, b"", 1)):
        channel.send(command, payload)
        equal(channel.message(), (ERROR, bytes([code])), f"command {command:#x}")
    channel.send(PING, bytes(7609))
    equal(channel.message(), (PING, bytes(7609)), "the longest message")
    channel.send(PING, b"", length=7610)
    equal(channel.message(), (ERROR, b"\3"), "a longer one")
    channel.send(PING, b"1", length=100)
    equal(channel.message(), (ERROR, b"\5"), "the rest does not come")
    channel.connection.sendall(bytes(13))
    channel.connection.sendall(b"\xff" * 64)
    for number in range(1000):
        payload = hashlib.sha512(str(number).encode()).digest()[:1 + number % 57]
        channel.send(CBOR, bytes([1 + number % 2]) + payload[1:])
        check(channel.answer()[0] in (0x11, 0x12, 0x14), "what is no CBOR")
    for _ in range(300):
        channel.send(0x06, b"12345678")
        channel.message()
    equal(person.asked(), 0, "prompts")
    equal(channel.call(1, make_request(options={"rk": True}))[0], 0, "make")
    # Somebody who does not read loses the device, and nobody else waits.
    lazy = service.connect()
    for _ in range(100):
        channel.send(PING, bytes(7609))
        channel.message()
    lazy.close()
    equal(channel.call(2, get_request())[0], 0, "sign in")


@with_fido
def a_device_is_chosen_and_nothing_kept(device, service, person):
    """FD-16: as Firefox and Chromium do, as python-fido2 does, and by the command of CTAP 2.1."""
    channel = Channel(service)
    for site in ("make.me.blink", ".dummy"):
        equal(channel.call(1, make_request(site))[0], 0, site)
        equal(channel.call(1, make_request(site, _8=b"", _9=1))[0], 0x35, f"{site} without a PIN")
    equal(channel.call(0x0B)[0], 0, "selection")
    equal([(prompt["reason"], prompt.get("facts", [])) for prompt in person.prompts],
          [("use the passkeys of this computer for a program on this computer (browsers do this)", [])] * 5, "the prompts")
    equal(json.loads(service.command("list", "--json")), [], "what is kept")


@with_fido
def the_owner_lists_and_removes(device, service, person):
    """FD-17: by site and by id, with the passcode; a reset does nothing."""
    channel = Channel(service)
    for site in ("one.example", "two.example"):
        equal(channel.call(1, make_request(site, options={"rk": True}, _6={"hmac-secret": True}))[0], 0, site)
    equal(channel.call(7)[0], 0x30, "reset")
    said = service.command("list")
    check("one.example  ada@example.com" in said and "two.example" in said, said)
    check("no such passkey" in service.command("remove", "three.example", status=1), "one that is not there")
    person.answer = "cancel"
    check("you said no" in service.command("remove", "one.example", status=1), "a no")
    equal(person.prompts[-1]["reason"].split(" for ever")[0], "delete the passkey for “one.example”", "the words")
    equal(len(json.loads(service.command("list", "--json"))), 2, "both are there")
    equal(channel.call(2, get_request("one.example"))[0], 0x27, "(the finger is not given)")


def a_passkey_is_removed_with_the_passcode():
    """FD-17: and its key signs no more."""
    with Device() as device:
        device.set_up("271828")
        with Service(device) as service, Typist(device, *["271828"] * 4):
            channel = Channel(service)
            equal(channel.call(1, make_request("one.example", options={"rk": True}))[0], 0, "make")
            found = json.loads(service.command("list", "--json"))
            check("removed the passkey of one.example" in service.command("remove", found[0]["id"][:8]), "it was not removed")
            equal(json.loads(service.command("list", "--json")), [], "what is left")
            equal(channel.call(2, get_request("one.example"))[0], 0x2E, "sign in")


def the_numbers_are_those_of_two_libraries():
    """FD-6, FD-9: each status, command and error of the sources, by its name in libfido2 and python-fido2."""
    from fido2.hid import CTAPHID

    library = ctypes.CDLL("libfido2.so.1")
    library.fido_strerr.restype = ctypes.c_char_p
    sources = REPOSITORY / "Bridges/Sources"

    def cases(file, kind):
        text = (sources / file).read_text()
        found = re.findall(r"(?:case|static let) (\w+)(?:: UInt8)? = (?:Permissions\(rawValue: )?(0x\w+)", text[text.index(kind):].split("\n}", 1)[0])
        check(found, f"{file} has no numbers")
        return [(re.sub(r"([a-z])(?=[A-Z])", r"\1_", name).upper().replace("KEEP_ALIVE", "KEEPALIVE").replace("CREDENTIAL_MANAGEMENT", "CREDENTIAL_MGMT"), int(number, 16)) for name, number in found]

    # PIN_REQUIRED is what CTAP 2.0 called it.
    other = {"UNEXPECTED_TYPE": "CBOR_UNEXPECTED_TYPE", "OTHER": "ERR_OTHER", "PUAT_REQUIRED": "PIN_REQUIRED", "UNAUTHORIZED_PERMISSION": "UNAUTHORIZED_PERM"}
    # libfido2 1.12 has no name for this one.
    unnamed = {"INVALID_SUBCOMMAND"}
    for name, number in cases("CTAP/CTAPStatus.swift", "enum CTAPStatus"):
        equal(CtapError.ERR(number).name, {"UNEXPECTED_TYPE": "CBOR_UNEXPECTED_TYPE"}.get(name, name), f"python-fido2, {number:#x}")
        if name not in unnamed:
            equal(library.fido_strerr(number).decode(), f"FIDO_ERR_{other.get(name, name)}", f"libfido2, {number:#x}")
    for name, number in cases("CTAPHID/HIDMessage.swift", "enum HIDError"):
        equal(CtapError.ERR(number).name, {"INVALID_SEQUENCE": "INVALID_SEQ"}.get(name, name), f"python-fido2, {number:#x}")
    for name, number in cases("CTAPHID/HIDMessage.swift", "enum HIDCommand"):
        equal(CTAPHID(number & 0x7F).name, {"INITIALIZE": "INIT"}.get(name, name), f"python-fido2, {number:#x}")
    for name, number in cases("CTAP/CTAPRequest.swift", "enum Command"):
        equal(Ctap2.CMD(number).name, name, f"python-fido2, {number:#x}")
    for name, number in cases("CTAP/ClientPIN.swift", "enum Subcommand"):
        equal(ClientPin.CMD(number).name, {"GET_UVRETRIES": "GET_UV_RETRIES"}.get(name, name), f"python-fido2, {number:#x}")
    for name, number in cases("CTAP/CredentialManagement.swift", "enum Subcommand"):
        equal(CredentialManagement.CMD(number).name, name, f"python-fido2, {number:#x}")
    for name, number in cases("CTAP/AuthToken.swift", "struct Permissions"):
        equal(ClientPin.PERMISSION(number).name, name, f"python-fido2, {number:#x}")


def a_wrong_standard_input_is_refused():
    """FD-3: it takes the kernel's device alone, and opens none."""
    with Device() as device:
        for name in ("/dev/null", "/dev/tty0"):
            try:
                file = open(name, "rb")
            except OSError:
                continue
            with file:
                done = subprocess.run([BRIDGES / "touchstone-fido"], env=device.environment, stdin=file, capture_output=True, text=True, timeout=60)
            check(done.returncode != 0 and "standard input is not /dev/uhid" in done.stderr, f"{name}: {done}")


main(
    libfido2_makes_passkeys_and_signs_in, a_silent_look_verifies_nothing, secrets_come_out_the_same_with_both_protocols,
    py_webauthn_verifies_what_comes_out, several_accounts_are_one_prompt, the_bit_says_that_the_owner_was_judged, a_no_is_an_answer,
    every_cell_cancelled, wrong_fingers_verify_nobody, a_weak_sensor_verifies_nobody, the_passcode_verifies_where_only_that_counts, nobody_who_can_be_asked,
    a_cancel_is_heard_in_each_state, what_is_hostile_is_refused, a_device_is_chosen_and_nothing_kept, the_owner_lists_and_removes,
    a_passkey_is_removed_with_the_passcode, the_numbers_are_those_of_two_libraries, a_wrong_standard_input_is_refused)
