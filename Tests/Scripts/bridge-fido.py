#!/usr/bin/env python3
"""Passkeys: libfido2, python-fido2 and a client that knows the standard alone, with an owner who is judged for each use."""

import base64
import hashlib
import json
import threading
import time

from bridges import Person
from device import Device, check, equal, main, wait_for

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from fido2 import cbor
from fido2.cose import ES256
from fido2.ctap import CtapError
from fido2.ctap2 import Ctap2
from fido2.hid import CtapHidDevice
from fido2.webauthn import AuthenticatorData
from fido import CANCEL, CBOR, DESCRIPTOR, ERROR, HASH, PING, Channel, LibFIDO2, Service, SocketConnection, get_request, make_request, with_fido
from webauthn import verify_authentication_response, verify_registration_response

PRESENT_AND_VERIFIED = 0x05


def credential_id(answer):
    return AuthenticatorData(answer[2]).credential_data.credential_id


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
    """FD-13, FD-14, FD-30, FD-35, FD-41."""
    client = LibFIDO2(service)
    error, found = client.make(rk=client.TRUE, uv=client.TRUE)
    equal(error, 0, "make")
    equal(client.library.fido_cred_flags(found) & 0x3D, PRESENT_AND_VERIFIED, "flags: neither BE nor BS")
    prompt = person.prompts[0]
    equal(prompt["client"]["name"], "Touchstone's passkeys", "who asks")
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
    """FD-30, FD-33, FD-42: each of the options, with a finger, a passcode, wrong fingers, a cancel, a lock, and no agent."""
    channel = Channel(service)
    equal(channel.call(1, make_request(options={"rk": True}))[0], 0, "make")
    for options in OPTIONS:
        equal(answers_of(service, options), ((0, 0x45), (0, 0x05)), f"finger, {options}")
    person.asked()

    def passcode(prompt):
        device.client("Agent").ConfirmShown(prompt=prompt["identifier"])
        device.client("Agent").ChooseFallback(prompt=prompt["identifier"])
        device.run("agent", "--help")
        return None

    # Wrong fingers, three of them, and nobody enters the passcode: the third ends what the finger can do.
    def wrong(prompt):
        device.client("Agent").ConfirmShown(prompt=prompt["identifier"])
        for _ in range(3):
            device.client("Device").PresentFinger(finger="somebody else's")
        device.client("Agent").Cancel(prompt=prompt["identifier"])

    for number, options in enumerate(OPTIONS):
        site = f"wrong{number}.example"
        person.answer = "finger"
        equal(channel.call(1, make_request(site, options={"rk": True}))[0], 0, "make")
        person.answer = "cancel"
        equal(channel.call(2, get_request(site, options=options))[0], 0x27, f"cancel, {options}")
        # Right after a cancel nobody is asked again.
        asked = len(person.prompts)
        equal(channel.call(2, get_request(site, options=options))[0], 0x27, "right after it")
        equal(len(person.prompts), asked, "prompts right after a cancel")
        if number == 0:
            person.answer = wrong
            check(channel.call(1, make_request("miss.example", options=options))[0] in (0x27, 0x3F), "wrong fingers")


main(
    libfido2_makes_passkeys_and_signs_in, a_silent_look_verifies_nothing, secrets_come_out_the_same_with_both_protocols,
    py_webauthn_verifies_what_comes_out, several_accounts_are_one_prompt, the_bit_says_that_the_owner_was_judged)
