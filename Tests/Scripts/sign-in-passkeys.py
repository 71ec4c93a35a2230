#!/usr/bin/env python3
"""Passkeys at the sign-in server: those of touchstone-fido, and of an authenticator in software that does everything wrong. py_webauthn judges the same."""

import hashlib
import json

from bridges import Person
from device import Device, check, equal, main
from fido import DESCRIPTOR, Service, SocketConnection
from passkeys import BACKED_UP, CREDENTIAL, PRESENT, VERIFIED, Page, Passkey, keep
from signin import Key, Server, User, b64, expect, free_port, refused, unb64

from fido2 import cbor
from fido2.ctap2 import Ctap2
from fido2.hid import CtapHidDevice
from webauthn import verify_authentication_response, verify_registration_response

SITE = "localhost"


def at_localhost(**settings):
    """No browser has passkeys for an address of numbers."""
    port = free_port()
    return Server(origin=f"http://{SITE}:{port}", port=port, **settings)


def judged(server, options, answer, key=None, counter=0):
    """Whether py_webauthn takes it, and what it made of it."""
    settled = {"credential": answer, "expected_challenge": unb64(options["challenge"]), "expected_rp_id": SITE,
               "expected_origin": server.origin, "require_user_verification": True}
    try:
        if key is None:
            return verify_registration_response(**settled)
        return verify_authentication_response(**settled, credential_public_key=key, credential_current_sign_count=counter)
    except Exception:
        return None


def with_server(body):
    def run():
        with at_localhost() as server:
            body(server)
            check(not server.failures(), f"the log:\n{server.failures()}")

    run.__name__ = body.__name__
    return run


def last_refusal(server):
    """Reason and, of a passkey, why."""
    lines = [json.loads(line) for line in server.log.splitlines() if line.startswith("{")]
    last = [line for line in lines if line.get("message") == "request refused"][-1]
    found = last.get("metadata", last)
    return found["reason"], found.get("passkey")


@with_server
def a_passkey_of_touchstone_fido_signs_in(server):
    """FD-13, FD-30, FD-50, FD-51: through CTAP, with the owner's finger."""
    user = User(server)
    page = Page(server).sign_in(user)
    with Device() as device:
        device.set_up("271828", "thumb")
        with Service(device) as service:
            person = Person(device)
            ctap = Ctap2(CtapHidDevice(DESCRIPTOR, SocketConnection(service)))
            browser = Passkey(SITE, server.origin)
            options = page.creation()
            said = [browser.client_data("create", options["challenge"])]
            made = ctap.make_credential(
                hashlib.sha256(said[0]).digest(), options["rp"], options["user"] | {"id": unb64(options["user"]["id"])},
                options["pubKeyCredParams"], options={"rk": True, "uv": True})
            browser.id = made.auth_data.credential_data.credential_id
            attestation = cbor.encode({"fmt": made.fmt, "attStmt": made.att_stmt, "authData": bytes(made.auth_data)})
            registration = browser.answer(clientDataJSON=said[0], attestationObject=attestation)
            found = judged(server, options, registration)
            check(found, "py_webauthn refuses the registration")
            expect(page.post("/v1/web/passkeys/registrations", registration), 201)
            check("attestation: own" in server.log, "how the key vouched for itself")

            page.sign_out()
            equal(page.account(), None, "signed out")
            wanted = page.request_options()
            said.append(browser.client_data("get", wanted["challenge"]))
            signed = ctap.get_assertion(wanted["rpId"], hashlib.sha256(said[1]).digest())
            answer = browser.answer(
                clientDataJSON=said[1], authenticatorData=bytes(signed.auth_data), signature=signed.signature, userHandle=signed.user["id"])
            check(judged(server, wanted, answer, found.credential_public_key), "py_webauthn refuses the sign-in")
            equal(expect(page.post("/v1/web/passkeys/sign-ins", answer), 200).json, {"account": user.name}, "who is signed in")
            equal(page.account(), user.name, "the page's account")
            equal(person.asked(), 2, "prompts")

            # FD-32: a silent look signs nobody in.
            wanted = page.request_options()
            said.append(browser.client_data("get", wanted["challenge"]))
            silent = ctap.get_assertion(
                SITE, hashlib.sha256(said[2]).digest(), [{"id": browser.id, "type": "public-key"}], options={"up": False})
            answer = browser.answer(
                clientDataJSON=said[2], authenticatorData=bytes(silent.auth_data), signature=silent.signature, userHandle=browser.user_handle)
            answer["response"]["userHandle"] = options["user"]["id"]
            refused(page.post("/v1/web/passkeys/sign-ins", answer), "a silent look")
            equal(last_refusal(server), ("passkey", "userNotPresent"), "why")
            equal(person.asked(), 0, "prompts of a silent look")
            keep("touchstone-fido", SITE, server.origin, said, attestation, bytes(signed.auth_data), signed.signature)


OTHER = Key()
# What is wrong, why it is refused, and whether py_webauthn refuses it too.
REGISTRATIONS = {
    "an answer to another question": ({"type": "webauthn.get"}, "ceremony", True),
    "another site's origin": ({"origin": "http://localhost.attacker.example"}, "origin", True),
    # It does not look.
    "a frame of another site": ({"cross_origin": True}, "crossOrigin", False),
    "another site's data": ({"site": "attacker.example"}, "relyingParty", True),
    "nobody there": ({"flags": VERIFIED | CREDENTIAL}, "userNotPresent", True),
    "nobody verified": ({"flags": PRESENT | CREDENTIAL}, "userNotVerified", True),
    "a backup of what has none": ({"flags": PRESENT | VERIFIED | CREDENTIAL | BACKED_UP}, "backupState", True),
    "without a credential": ({"flags": PRESENT | VERIFIED}, "authenticatorDataForm", True),
    "more than there is": ({"trailing": b"x"}, "authenticatorDataForm", True),
    "another algorithm": ({"cose": {3: -257}}, "algorithm", True),
    "a point beside the curve": ({"cose": {-2: bytes(32)}}, "keyForm", True),
    "another key's signature": ({"signer": OTHER}, "attestationSignature", True),
    "another format": ({"format": "fido-u2f", "statement": {"x5c": []}}, "attestationFormat", True),
    # Nor here.
    "none, and yet something": ({"format": "none", "statement": {"x": 1}}, "attestationForm", False),
    "no object": ({"object": b"\xbf\xff"}, "attestationForm", True),
}
SIGN_INS = {
    "an answer to another question": ({"type": "webauthn.create"}, "ceremony", True),
    "another site's origin": ({"origin": "https://localhost"}, "origin", True),
    "a frame of another site": ({"cross_origin": True}, "crossOrigin", False),
    "another site's data": ({"site": "attacker.example"}, "relyingParty", True),
    "nobody there": ({"flags": VERIFIED}, "userNotPresent", True),
    "nobody verified": ({"flags": PRESENT}, "userNotVerified", True),
    "a backup of what has none": ({"flags": PRESENT | VERIFIED | BACKED_UP}, "backupState", True),
    "more than there is": ({"trailing": b"x"}, "authenticatorDataForm", True),
    "another key's signature": ({"signer": OTHER}, "signature", True),
    "no signature": ({"signature": b"\x30\x00"}, "signature", True),
}


@with_server
def what_is_wrong_with_a_registration_is_refused(server):
    """FD-50: each thing by itself; then the same without it is taken."""
    page = Page(server).sign_in(User(server))
    for what, (faults, why, others) in REGISTRATIONS.items():
        passkey = Passkey(SITE, server.origin)
        options = page.creation()
        answer = passkey.make(options, **faults)
        refused(page.post("/v1/web/passkeys/registrations", answer), what)
        equal(last_refusal(server), ("passkey", why), what)
        equal(judged(server, options, answer) is None, others, f"py_webauthn, {what}")
    for format in ("packed", "none"):
        expect(page.register(Passkey(SITE, server.origin), format=format), 201)


@with_server
def what_is_wrong_with_a_sign_in_is_refused(server):
    """FD-51."""
    user = User(server)
    page, passkey = Page(server).sign_in(user), Passkey(SITE, server.origin)
    options = page.creation()
    made = passkey.make(options)
    key = judged(server, options, made).credential_public_key
    expect(page.post("/v1/web/passkeys/registrations", made), 201)
    page.sign_out()
    for what, (faults, why, others) in SIGN_INS.items():
        wanted = page.request_options()
        answer = passkey.get(wanted, **faults)
        refused(page.post("/v1/web/passkeys/sign-ins", answer), what)
        equal(last_refusal(server), ("passkey", why), what)
        equal(judged(server, wanted, answer, key) is None, others, f"py_webauthn, {what}")
        equal(page.account(), None, f"signed in by {what}")
    for what, faults in {"another user": {"user_handle": bytes(16)}, "no user": {"user_handle": None}}.items():
        refused(page.use(passkey, **faults), what)
        equal(last_refusal(server), ("userHandle", None), what)
    refused(page.use(Passkey(SITE, server.origin, passkey.user_handle)), "a passkey that nobody has")
    equal(last_refusal(server), ("keyUnknown", None), "why")
    equal(expect(page.use(passkey), 200).json, {"account": user.name}, "without a fault")


@with_server
def a_challenge_is_good_once_for_one_browser_and_purpose(server):
    """FD-52."""
    user = User(server)
    page, passkey = Page(server).sign_in(user), Passkey(SITE, server.origin)
    made = passkey.make(page.creation())
    expect(page.post("/v1/web/passkeys/registrations", made), 201)
    refused(page.post("/v1/web/passkeys/registrations", made), "a registration sent again")
    equal(last_refusal(server), ("challengeUnknown", None), "why")
    answer = passkey.get(page.request_options())
    expect(page.post("/v1/web/passkeys/sign-ins", answer), 200)
    page.request_options()
    refused(page.post("/v1/web/passkeys/sign-ins", answer), "a sign-in sent again")
    # Of another browser, of none, and of the other purpose.
    other = Page(server)
    other.request_options()
    refused(other.post("/v1/web/passkeys/sign-ins", passkey.get(page.request_options())), "another browser's challenge")
    equal(last_refusal(server), ("challengeForAnother", None), "why")
    refused(Page(server).post("/v1/web/passkeys/sign-ins", passkey.get(page.request_options())), "a browser without a cookie")
    page.request_options()
    refused(page.post("/v1/web/passkeys/sign-ins", passkey.get(page.creation())), "a registration's challenge")
    equal(last_refusal(server), ("challengeForAnother", None), "why")
    second = Page(server).sign_in(user)
    refused(second.post("/v1/web/passkeys/registrations", Passkey(SITE, server.origin).make(page.creation())), "another session's challenge")
    # Devices' challenges are no pages', nor the other way round.
    page.request_options()
    refused(page.post("/v1/web/passkeys/sign-ins", passkey.get({"challenge": user.challenge()})), "a device's challenge")
    refused(user.post("/v1/sessions", user.sign_in_request(challenge=page.request_options()["challenge"])), "a page's challenge")
    # A page of another site asks for nothing.
    for path in ("registrations/challenge", "registrations", "sign-ins/challenge", "sign-ins"):
        for origin in ("https://attacker.example", "null"):
            refused(page.post(f"/v1/web/passkeys/{path}", {}, {"Origin": origin}), f"{path} for {origin}")
    # Without a session there is no registration.
    for path in ("registrations/challenge", "registrations"):
        refused(Page(server).post(f"/v1/web/passkeys/{path}", passkey.make(page.creation())), path)


@with_server
def a_passkey_is_a_key_of_its_account(server):
    """FD-54: it is listed, revoked and copied as a device's, and is no device's key."""
    user = User(server)
    page, passkey = Page(server).sign_in(user), Passkey(SITE, server.origin)
    expect(page.register(passkey), 201)
    equal(page.creation()["excludeCredentials"], [{"type": "public-key", "id": b64(passkey.id)}], "what is not to be made again")
    again = Passkey(SITE, server.origin)
    again.id = passkey.id
    equal(page.register(again).status, 409, "the same credential with another key")
    again.id, again.key = Key().id, passkey.key
    equal(page.register(again).status, 409, "the same key by another name")
    listed = user.devices()
    equal(listed[passkey.key.id], "active", "the list")
    # Its key signs nothing of the devices' protocol.
    refused(user.post("/v1/sessions", user.sign_in_request(challenge=user.challenge(key=passkey.key), key=passkey.key)), "as a device")
    equal(last_refusal(server)[0], "keyUnknown", "why")
    # One that counts, and then does not: a copy.
    counts = Passkey(SITE, server.origin)
    counts.counter = 5
    expect(page.register(counts), 201)
    expect(page.use(counts, counter=6), 200)
    refused(page.use(counts, counter=6), "an earlier counter")
    equal(last_refusal(server), ("passkey", "counter"), "why")
    refused(page.use(counts, counter=9), "a copied passkey")
    equal(last_refusal(server)[0], "keyRevoked", "why")
    # Revoked by a device of the account: its sessions end.
    expect(page.use(passkey), 200)
    equal(page.account(), user.name, "signed in")
    request = user.signed("revoke", {"keyID": b64(passkey.key.id)}, user.challenge("revoke"))
    expect(user.post("/v1/keys/revoke", request), 204)
    equal(page.account(), None, "signed in with a revoked passkey")
    refused(page.use(passkey), "a revoked passkey")
    # A new password revokes passkeys as it does devices.
    page.sign_in(user)
    last = Passkey(SITE, server.origin)
    expect(page.register(last), 201)
    server.set_password(user.name, "another password for it")
    refused(page.use(last), "a passkey that is older than the password")


main(
    a_passkey_of_touchstone_fido_signs_in, what_is_wrong_with_a_registration_is_refused, what_is_wrong_with_a_sign_in_is_refused,
    a_challenge_is_good_once_for_one_browser_and_purpose, a_passkey_is_a_key_of_its_account)
