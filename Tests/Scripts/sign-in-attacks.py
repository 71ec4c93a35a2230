#!/usr/bin/env python3
"""
Attacks on `touchstone-signin`: on one process with SQLite, and on two processes with one PostgreSQL.

The other end is signin.py, which knows the protocol from docs/sign-in.md alone and holds a software key (NP-21). Beside each
attack stands what is accepted, so that a server that refuses everything passes nothing.
"""

import base64
import concurrent.futures
import contextlib
import functools
import hashlib
import http.client
import itertools
import json
import os
import pathlib
import re
import secrets
import signal
import socket
import statistics
import threading
import time

from device import LONGEST_WAIT, check, equal, main, wait_for
from postgresql import PostgreSQL
from signin import ORDER, REFUSED, Client, Key, Server, User, b64, claims_of, expect, field, jwt, refused, unb64

from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, utils


def at_once(*acts):
    """Runs all of them at the same moment; what each returned."""
    barrier = threading.Barrier(len(acts))

    def run(act):
        barrier.wait(LONGEST_WAIT)
        return act()

    with concurrent.futures.ThreadPoolExecutor(len(acts)) as pool:
        return list(pool.map(run, acts))


def alive(server):
    equal(Client(server).get("/healthz").status, 200, "the server's health")


# Signing in


def a_software_key_registers_and_signs_in(server):
    user = User(server)
    equal(user.devices(), {user.key.id: "active"}, "the devices")
    session = user.sign_in()
    check(session.is_alive(), "the session is not taken")
    claims = claims_of(session.access)
    equal(
        (claims["sub"], claims["key"], claims["cnf"]["jkt"]),
        (b64(user.user_handle), b64(user.key.id), session.key.thumbprint), "who the token is for")
    check(claims["exp"] - claims["iat"] <= 300, f"the token is good for long: {claims}")


def a_response_is_taken_once(server):
    user = User(server)
    request = user.sign_in_request()
    expect(user.post("/v1/sessions", request), 200)
    for _ in range(3):
        refused(user.post("/v1/sessions", request), "a replay")
    # Nor with a counter that is higher: the challenge is gone.
    challenge = user.challenge()
    expect(user.post("/v1/sessions", user.sign_in_request(challenge)), 200)
    refused(user.post("/v1/sessions", user.sign_in_request(challenge)), "the challenge once more")
    # A registration likewise.
    bearer = user.password_session()
    challenge = expect(user.post("/v1/registrations/challenge", {}, bearer), 200).json["challenge"]
    other = Key()
    details = {"publicKey": other.pem, "deviceID": b64(secrets.token_bytes(16)), "deviceName": "Other"}
    request = user.signed("register", details, challenge, key=other)
    expect(user.post("/v1/registrations", request, bearer), 201)
    refused(user.post("/v1/registrations", request, bearer), "a registration's replay")


def of_many_submissions_at_once_one_is_taken(server, *others, rounds=6):
    user = User(server)
    servers = [server, *others]
    for number in range(rounds):
        request = user.sign_in_request(user.challenge(to=servers[number % len(servers)]))
        answers = at_once(*(
            functools.partial(user.post, "/v1/sessions", request, to=servers[place % len(servers)]) for place in range(8)))
        equal(sorted(answer.status for answer in answers), [200] + [401] * 7, "eight submissions of one response")
    # The losers' counters did not rise, and are no sign of a copy.
    expect(user.post("/v1/sessions", user.sign_in_request()), 200)


def a_failed_check_does_not_give_the_challenge_back(server):
    user = User(server)
    challenge = user.challenge()
    refused(user.post("/v1/sessions", user.sign_in_request(challenge, signer=Key())), "a signature by another key")
    refused(user.post("/v1/sessions", user.sign_in_request(challenge)), "the challenge after a failed check")
    expect(user.post("/v1/sessions", user.sign_in_request()), 200)


def each_wrong_field_is_refused(server):
    user, stranger = User(server), User(server)
    audience = server.audience
    wrong = {
        "another audience": {"audience": "attacker.example"},
        "the audience's parent": {"audience": audience.partition(".")[2] or "x"},
        "the audience with a dot": {"audience": audience + "."},
        "the audience in capitals": {"audience": audience.upper() if audience.upper() != audience else "X" + audience},
        "the audience with a NUL": {"audience": audience + "\0"},
        "the audience with a space": {"audience": " " + audience},
        "an origin for the audience": {"audience": "https://" + audience},
        "no audience": {"audience": ""},
        "a long audience": {"audience": "a" * 256},
        "an audience that is no UTF-8": {"audience": b"\xff\xfe"},
        "another application": {"application": "org.example.other"},
        "no application": {"application": ""},
        **{f"purpose {name}": {"purpose": name} for name in (
            "register", "confirm-transaction", "rotate", "revoke", "", "sign-in ", "Sign-In", "sign-in\0", "x" * 33)},
        "version 0": {"version": 0}, "version 2": {"version": 2}, "version 255": {"version": 255},
        "another magic": {"magic": b"LASIGM"}, "no magic": {"magic": b""},
        "a trailing byte": {"trailing": b"\0"}, "a trailing field": {"trailing": field(b"")},
        "a message twice": {"trailing": b"LASIGN\1"},
        "a long trail": {"trailing": b"x" * 4000},
        "a stranger's key id": {"key_id": stranger.key.id}, "no key's id": {"key_id": bytes(32)},
        "a short key id": {"key_id": user.key.id[:31]}, "a long key id": {"key_id": user.key.id + b"\0"},
        "a stranger's user handle": {"user_handle": stranger.user_handle}, "a short user handle": {"user_handle": bytes(15)},
        "a long challenge": {"challenge": bytes(33)}, "no challenge": {"challenge": b""},
        "a challenge of one's own": {"challenge": secrets.token_bytes(32)},
        "a short nonce": {"client_nonce": bytes(31)}, "a short counter": {"counter": bytes(7)},
        "a long counter": {"counter": bytes(9)},
        "another body's hash": {"details_hash": hashlib.sha256(b"{}").digest()}, "a short hash": {"details_hash": bytes(31)},
    }
    for what, fields in wrong.items():
        answer = user.post("/v1/sessions", user.sign_in_request(**fields))
        check(answer.status in (400, 401), f"{what}: {answer}")
        if answer.status == 401:
            equal(answer.body, REFUSED, what)
    # Each byte of a message, changed after it was signed.
    request = user.sign_in_request()
    message = unb64(request["message"])
    for place in range(0, len(message), 7):
        changed = bytearray(message)
        changed[place] ^= 1
        answer = user.post("/v1/sessions", request | {"message": b64(bytes(changed))})
        check(answer.status in (400, 401), f"byte {place} changed: {answer}")
    # Cut short anywhere.
    for length in range(0, len(message), 17):
        answer = user.post("/v1/sessions", request | {"message": b64(message[:length])})
        check(answer.status in (400, 401), f"cut to {length}: {answer}")
    check(user.key.id in user.devices() and user.devices()[user.key.id] == "active", "the key is revoked")
    expect(user.post("/v1/sessions", user.sign_in_request()), 200)


def a_challenge_is_for_one_key_and_one_purpose(server):
    user, stranger = User(server), User(server)
    refused(user.post("/v1/sessions", user.sign_in_request(stranger.challenge())), "a challenge for another key")
    for purpose in ("rotate", "revoke"):
        refused(user.post("/v1/sessions", user.sign_in_request(user.challenge(purpose))), f"a challenge to {purpose}")
    # A signature for one purpose does not count for another (NP-13), and a page's details do not count for a program.
    session = user.sign_in()
    asked = expect(session.post("/v1/transactions", {"text": "Pay 5 to Mallory"}), 200).json
    refused(
        user.post("/v1/transactions/confirm", user.sign_in_request(asked["challenge"])), "a sign-in that confirms")
    asked = expect(session.post("/v1/transactions", {"text": "Pay 5 to Mallory"}), 200).json
    confirmation = {"transaction": asked["transaction"], "text": asked["text"]}
    refused(
        user.post("/v1/sessions", user.signed("confirm-transaction", confirmation, asked["challenge"])),
        "a confirmation that signs in")
    answer = user.post("/v1/sessions", user.signed(
        "sign-in", {"web": "x", "code": "x", "origin": server.origin}, user.challenge()))
    check(answer.status in (400, 401), f"a page's details: {answer}")
    expect(user.post("/v1/sessions", user.sign_in_request()), 200)


def a_transaction_is_what_the_owner_saw(server):
    user, stranger = User(server), User(server)
    session = user.sign_in()

    def ask():
        return expect(session.post("/v1/transactions", {"text": "Pay 5 to Mallory"}), 200).json

    def confirm(asked, by=user, **changes):
        details = {"transaction": asked["transaction"], "text": asked["text"], **changes}
        return by.post("/v1/transactions/confirm", by.signed("confirm-transaction", details, asked["challenge"]))

    refused(confirm(ask(), text="Pay 500 to Mallory"), "another text")
    refused(confirm(ask(), transaction=ask()["transaction"]), "another transaction")
    refused(confirm(ask(), by=stranger), "another owner")
    asked = ask()
    equal(expect(confirm(asked), 200).json["state"], "confirmed", "the state")
    refused(confirm(asked), "confirmed twice")


def der(r, s):
    def number(value):
        data = value if isinstance(value, bytes) else value.to_bytes(value.bit_length() // 8 + 1, "big")
        return b"\x02" + bytes([len(data)]) + data

    content = number(r) + number(s)
    return b"\x30" + bytes([len(content)]) + content


def a_signature_is_strict_der_in_range(server):
    user = User(server)

    def parts(message):
        return utils.decode_dss_signature(user.key.sign(message))

    def positive(value):
        return value.to_bytes(value.bit_length() // 8 + 1, "big")

    wrong = {
        "a trailing byte": lambda m: user.key.sign(m) + b"\0",
        "a trailing byte inside": lambda m: (lambda d: b"\x30" + bytes([d[1] + 1]) + d[2:] + b"\0")(user.key.sign(m)),
        "cut short": lambda m: user.key.sign(m)[:-1],
        "no bytes": lambda m: b"\0",
        "raw, not DER": lambda m: user.key.sign_raw(m),
        "a length in the long form": lambda m: (lambda d: b"\x30\x81" + d[1:])(user.key.sign(m)),
        "an indefinite length": lambda m: (lambda d: b"\x30\x80" + d[2:] + b"\0\0")(user.key.sign(m)),
        "a set": lambda m: b"\x31" + user.key.sign(m)[1:],
        "a padded r": lambda m: (lambda r, s: der(b"\0" + positive(r), s))(*parts(m)),
        "a padded s": lambda m: (lambda r, s: der(r, b"\0" + positive(s)))(*parts(m)),
        "a negative r": lambda m: (lambda r, s: der((r - (1 << 264)).to_bytes(34, "big", signed=True), s))(*parts(m)),
        "an r without bytes": lambda m: (lambda r, s: der(b"", s))(*parts(m)),
        "r = 0": lambda m: der(0, parts(m)[1]), "s = 0": lambda m: der(parts(m)[0], 0), "both 0": lambda m: der(0, 0),
        "r = n": lambda m: der(ORDER, parts(m)[1]), "s = n": lambda m: der(parts(m)[0], ORDER),
        "r + n": lambda m: (lambda r, s: der(r + ORDER, s))(*parts(m)),
        "s + n": lambda m: (lambda r, s: der(r, s + ORDER))(*parts(m)),
        "a huge r": lambda m: der(b"\1" + bytes(100), parts(m)[1]),
        "r for s": lambda m: (lambda r, s: der(s, r))(*parts(m)),
        "a third number": lambda m: (lambda d: b"\x30" + bytes([d[1] + 3]) + d[2:] + b"\x02\x01\x01")(user.key.sign(m)),
        "over other bytes": lambda m: user.key.sign(m + b"\0"),
        "with SHA-384": lambda m: user.key.private.sign(m, ec.ECDSA(hashes.SHA384())),
        "a long one": lambda m: b"\x30\x82\x0f\xff" + bytes(4095),
    }
    for what, signature in wrong.items():
        answer = user.post("/v1/sessions", user.sign_in_request(signature=signature))
        check(answer.status in (400, 401), f"{what}: {answer}")
        if what not in ("no bytes", "a long one"):
            refused(answer, what)
    # What is made by hand in the same way, with nothing wrong in it, is taken: the table above fails for its faults alone.
    expect(user.post("/v1/sessions", user.sign_in_request(signature=lambda m: der(*parts(m)))), 200)


def pem(data, label="PUBLIC KEY"):
    text = base64.b64encode(data).decode()
    return f"-----BEGIN {label}-----\n" + "\n".join(text[i:i + 64] for i in range(0, len(text), 64)) + f"\n-----END {label}-----\n"


def a_key_that_is_none_is_not_registered(server):
    from cryptography.hazmat.primitives.asymmetric import ed25519, rsa
    user = User(server, registered=False)

    def of(private):
        return private.public_key().public_bytes(
            serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo).decode()

    good = user.key.der
    compressed = user.key.private.public_key().public_bytes(
        serialization.Encoding.X962, serialization.PublicFormat.CompressedPoint)
    off = bytearray(good)
    off[-1] ^= 1
    beyond = good[:27] + b"\xff" * 32 + good[59:]
    wrong = {
        "a point off the curve": pem(bytes(off)),
        "a coordinate beyond the field": pem(beyond),
        "the point of zeros": pem(good[:27] + bytes(64)),
        "infinity": pem(b"\x30\x17" + good[2:23] + b"\x03\x02\x00\x00"),
        "P-384": of(ec.generate_private_key(ec.SECP384R1())),
        "secp256k1": of(ec.generate_private_key(ec.SECP256K1())),
        "RSA": of(rsa.generate_private_key(65537, 2048)),
        "Ed25519": of(ed25519.Ed25519PrivateKey.generate()),
        "a trailing byte": pem(good + b"\0"),
        "another label": pem(good, "CERTIFICATE"),
        "two keys": user.key.pem + Key().pem,
        "no PEM": b64(good), "nothing": "", "an X9.63 point alone": pem(good[26:]),
        "a long one": pem(good + bytes(2000)),
    }
    for what, text in wrong.items():
        answer = user.register(pem=text)
        check(answer.status in (400, 401), f"{what}: {answer}")
    # The same key in other bytes would be another key id: not the one in the message.
    answer = user.register(pem=pem(b"\x30\x39" + good[2:23] + b"\x03\x22\x00" + compressed))
    check(answer.status in (400, 401), f"a compressed point: {answer}")
    equal(user.devices(), {}, "the devices after these")
    expect(user.register(), 201)


def a_registration_proves_possession_and_a_password(server):
    user, stranger = User(server, registered=False), User(server)
    refused(user.register(signer=Key()), "a signature by another key")
    refused(user.register(pem=Key().pem), "another key than the message's")
    bearer = user.password_session()
    challenge = expect(user.post("/v1/registrations/challenge", {}, bearer), 200).json["challenge"]
    details = {"publicKey": user.key.pem, "deviceID": b64(user.device), "deviceName": "Test"}
    request = user.signed("register", details, challenge)
    refused(user.post("/v1/registrations", request), "no password")
    refused(user.post("/v1/registrations", request, {"Authorization": "Bearer " + b64(bytes(32))}), "another's token")
    refused(user.post("/v1/registrations/challenge", {}), "a challenge without a password")
    # With a stranger's password session, whose challenge it is not.
    challenge = expect(user.post("/v1/registrations/challenge", {}, bearer), 200).json["challenge"]
    theirs = stranger.password_session()
    refused(
        user.post("/v1/registrations", user.signed("register", details, challenge), theirs), "a stranger's session")
    refused(
        user.post("/v1/registrations", user.signed(
            "register", details, expect(user.post("/v1/registrations/challenge", {}, bearer), 200).json["challenge"],
            user_handle=stranger.user_handle), bearer), "a stranger's user handle")
    # A password session is for registering, and for the list.
    refused(user.post("/v1/transactions", {"text": "Pay"}, bearer), "a password session for a transaction")
    equal(user.devices(), {}, "the devices after these")
    expect(user.register(), 201)
    # A key that is somebody's is nobody else's.
    answer = stranger.register(key=user.key)
    check(answer.status in (401, 409), f"a key that is another's: {answer}")
    equal(user.devices(), {user.key.id: "active"}, "the owner's device")


def a_revoked_key_is_nobodys_any_more(server):
    user = User(server)
    session = user.sign_in()
    kept = user.challenge(), user.challenge("revoke")
    # Somebody else cannot revoke it.
    stranger = User(server)

    def revoke(by, challenge):
        return by.post("/v1/keys/revoke", by.signed("revoke", {"keyID": b64(user.key.id)}, challenge))

    check(revoke(stranger, stranger.challenge("revoke")).status in (401, 404), "a stranger's revocation")
    check(session.is_alive(), "a stranger ended the session")
    expect(revoke(user, user.challenge("revoke")), 204)
    # There is no new challenge (NP-30), and an earlier one is worth nothing.
    refused(user.post("/v1/challenges", {"keyID": b64(user.key.id), "purpose": "sign-in"}), "a challenge for it")
    refused(user.post("/v1/sessions", user.sign_in_request(kept[0])), "an earlier challenge")
    refused(revoke(user, kept[1]), "its own revocation")
    refused(session.get("/v1/devices"), "its session")
    refused(session.refresh(), "its refresh token")
    check(user.register().status in (401, 409), "a revoked key came back")
    equal(user.devices(), {user.key.id: "revoked"}, "the devices")
    old, user.key = user.key, Key()
    expect(user.register(), 201)
    user.sign_in()
    equal(user.devices(), {old.id: "revoked", user.key.id: "active"}, "the devices")


def a_new_password_revokes_every_key(server):
    user = User(server)
    session = user.sign_in()
    bearer = user.password_session()
    user.password = "another password altogether"
    server.set_password(user.name, user.password)
    refused(session.get("/v1/devices"), "an earlier session")
    refused(user.post("/v1/challenges", {"keyID": b64(user.key.id), "purpose": "sign-in"}), "an earlier key")
    refused(user.get("/v1/devices", bearer), "an earlier password session")
    user.key = Key()
    expect(user.register(), 201)


def registering_a_device_again_replaces_its_key(server):
    user = User(server)
    session, old = user.sign_in(), user.key
    user.key = Key()
    expect(user.register(), 201)
    equal(user.devices(), {old.id: "revoked", user.key.id: "active"}, "one key for a device and an account (NP-22)")
    refused(session.get("/v1/devices"), "the session of the key that was replaced")
    user.device = secrets.token_bytes(16)
    second = Key()
    expect(user.register(key=second), 201)
    equal(list(user.devices().values()).count("active"), 2, "the keys of two devices")


def a_rotation_takes_both_keys(server):
    user = User(server)
    session = user.sign_in()

    def rotate(new, by=None, **fields):
        return user.post("/v1/keys/rotate", user.signed(
            "rotate", {"publicKey": new.pem}, user.challenge("rotate"), new_key=by, **fields))

    new, kept = Key(), user.challenge()
    answer = rotate(new)
    check(answer.status in (400, 401), f"without the new key's signature: {answer}")
    refused(rotate(new, Key()), "another key's for the new one's")
    refused(rotate(new, user.key), "the old key's for the new one's")
    refused(rotate(new, new, signer=new), "without the old key's")
    expect(rotate(user.key, user.key), 409)
    equal(expect(rotate(new, new), 200).json["keyID"], b64(new.id), "the new key")
    refused(user.post("/v1/sessions", user.sign_in_request(kept)), "the old key")
    refused(session.get("/v1/devices"), "the old key's session")
    old, user.key = user.key, new
    user.sign_in()
    equal(user.devices(), {old.id: "revoked", new.id: "active"}, "the devices")


def a_counter_that_does_not_rise_revokes_the_key(server):
    for counter in (10, 9, 0):
        user = User(server)
        user.sign_in()
        user.key.counter = 9
        session, kept = user.sign_in(), user.challenge()
        refused(user.post("/v1/sessions", user.sign_in_request(counter=counter)), f"counter {counter} after 10")
        refused(session.get("/v1/devices"), "the session of what may be a copy")
        refused(user.post("/v1/sessions", user.sign_in_request(kept)), "the key of what may be a copy")
        equal(user.devices(), {user.key.id: "revoked"}, "the devices")
    # No counter is zero: not even a new key's first.
    user = User(server, registered=False)
    refused(user.register(counter=0), "a registration with counter 0")
    expect(user.register(), 201)
    refused(user.post("/v1/sessions", user.sign_in_request(counter=0)), "counter 0")
    # Whoever has no key cannot revoke one so: the counter counts after the signature.
    user = User(server)
    user.sign_in()
    refused(user.post("/v1/sessions", user.sign_in_request(counter=1, signer=Key())), "a forged rollback")
    user.sign_in()


def a_counter_may_be_as_large_as_its_field(server):
    user = User(server)
    for large in ((1 << 63) - 1, 1 << 63, (1 << 64) - 2, (1 << 64) - 1):
        expect(user.post("/v1/sessions", user.sign_in_request(counter=large)), 200)
    refused(user.post("/v1/sessions", user.sign_in_request(counter=1 << 63)), "a smaller one")
    equal(user.devices(), {user.key.id: "revoked"}, "the devices")


def the_clients_clock_does_not_matter(server):
    user = User(server)
    for issued in (0, 1, int(time.time()) - 10 * 365 * 86400, int(time.time()) + 86400, 1 << 62, (1 << 64) - 1):
        expect(user.post("/v1/sessions", user.sign_in_request(issued_at=issued)), 200)
    answer = expect(user.post("/v1/challenges", {"keyID": b64(user.key.id), "purpose": "sign-in"}), 200).json
    check(abs(answer["serverTime"] - time.time()) < 30, f"the server tells its time: {answer}")


def what_expired_is_refused(server):
    """On a server whose challenges and pages' codes are good for six seconds."""
    user = User(server)
    user.sign_in()
    challenge = user.challenge()
    asked, browser = ask_for_page(user)
    # The server's clock is what counts; there is none but the real one in its process.
    time.sleep(6.5)
    refused(user.post("/v1/sessions", user.sign_in_request(challenge)), "an expired challenge")
    refused(user.post("/v1/web/requests/approve", approve(user, asked)), "an expired page's request")
    equal(user.get("/v1/web/requests/state", browser).json["state"], "expired", "the page's state")


# Pages


def cookie(answer):
    found = [value.partition(";")[0] for name, value in answer.headers if name.lower() == "set-cookie"]
    check(found, f"no cookie: {answer}")
    return {"Cookie": "; ".join(found)}


def ask_for_page(user):
    answer = expect(user.post("/v1/web/requests", {}, {"Origin": user.server.origin}), 201)
    return answer.json, cookie(answer)


def approve(user, asked, **changes):
    details = {"web": asked["request"], "code": asked["code"], "origin": user.server.origin, **changes}
    return user.signed("sign-in", details, user.challenge())


def a_pages_request_is_approved_once_for_its_browser(server):
    user, stranger = User(server), User(server)
    for headers in ({}, {"Origin": "https://attacker.example"}, {"Origin": "null"}, {"Origin": server.origin + ".attacker.example"}):
        refused(user.post("/v1/web/requests", {}, headers), f"a request of a page of {headers}")
    asked, browser = ask_for_page(user)
    equal(user.get("/v1/web/requests/state", browser).json["state"], "pending", "the state")
    request = approve(user, asked)
    expect(user.post("/v1/web/requests/approve", request), 204)
    refused(user.post("/v1/web/requests/approve", request), "an approval's replay")
    refused(stranger.post("/v1/web/requests/approve", approve(stranger, asked)), "a second approval")
    # Who knows the request and not the cookie gets nothing.
    for headers in ({}, {"Cookie": re.sub("=.*", "=" + b64(bytes(32)), browser["Cookie"])}):
        answer = user.get("/v1/web/requests/state", headers)
        check(answer.status in (401, 404) and b"approved" not in answer.body, f"without the cookie: {answer}")
    answer = expect(user.get("/v1/web/requests/state", browser), 200)
    equal(answer.json, {"state": "approved", "account": user.name}, "the state")
    session = cookie(answer)
    for name, value in answer.headers:
        if name.lower() == "set-cookie" and "=;" not in value:
            check("HttpOnly" in value and "SameSite=" in value and "SameSite=None" not in value, f"a cookie: {value}")
    equal(expect(user.get("/v1/web/session", session), 200).json["account"], user.name, "the page's account")
    # The first approved answer has the session, and no other.
    again = user.get("/v1/web/requests/state", browser)
    check(not any(name.lower() == "set-cookie" and session["Cookie"].split(";")[0] in value for name, value in again.headers),
          "the session was handed out twice")
    ended = user.post("/v1/web/session/end", {}, session | {"Origin": server.origin})
    expect(ended, 204)
    expect(user.get("/v1/web/session", session), 204)


def a_page_with_another_code_or_origin_is_refused(server):
    user = User(server)
    other = ask_for_page(user)[0]
    wrong = {
        "another code": {"code": other["code"]}, "no code": {"code": ""}, "another request's": {"web": other["request"]},
        "another origin": {"origin": "https://attacker.example"}, "the origin with a slash": {"origin": server.origin + "/"},
        "no origin": {"origin": "null"},
    }
    for what, changes in wrong.items():
        asked, browser = ask_for_page(user)
        answer = user.post("/v1/web/requests/approve", approve(user, asked, **changes))
        check(answer.status in (400, 401), f"{what}: {answer}")
        state = user.get("/v1/web/requests/state", browser).json["state"]
        check(state in (("pending",) if "web" in changes else ("refused", "pending")), f"{what}: {state}")
        if what == "another code":
            equal(state, "refused", "the page is told")
            refused(user.post("/v1/web/requests/approve", approve(user, asked)), "the right code after a wrong one")
    # A sign-in of a program does not count for a page.
    asked, browser = ask_for_page(user)
    answer = user.post("/v1/web/requests/approve", user.sign_in_request())
    check(answer.status in (400, 401), f"a program's details: {answer}")
    # Who denies has to know the code.
    answer = user.post("/v1/web/requests/deny", {"request": asked["request"], "code": "WRONG"})
    check(answer.status != 204, f"denied without the code: {answer}")
    equal(user.get("/v1/web/requests/state", browser).json["state"], "pending", "the state")
    expect(user.post("/v1/web/requests/deny", {"request": asked["request"], "code": asked["code"]}), 204)
    equal(user.get("/v1/web/requests/state", browser).json["state"], "denied", "the state")
    refused(user.post("/v1/web/requests/approve", approve(user, asked)), "an approval after the denial")


# Who is there


def same_but_for_chance(first, second, what):
    """Two challenges: the same answers, but for the random bytes and the clock."""
    def masked(answer):
        body = answer.json
        check(len(unb64(body["challenge"])) == 32, f"a challenge: {body}")
        body["challenge"], body["serverTime"] = "", 0
        status, headers, _ = answer.shown
        return status, headers, len(answer.body), list(body.items())

    equal(masked(first), masked(second), what)


def answers_do_not_tell_who_is_there(server):
    user = User(server)
    known = user.post("/v1/password-sessions", {"name": user.name, "password": "wrong"})
    unknown = user.post("/v1/password-sessions", {"name": "nobody-" + b64(secrets.token_bytes(4)), "password": "wrong"})
    refused(known, "a wrong password")
    equal(unknown.shown, known.shown, "an unknown name's answer, byte for byte")
    for purpose in ("sign-in", "rotate", "revoke"):
        same_but_for_chance(
            user.post("/v1/challenges", {"keyID": b64(secrets.token_bytes(32)), "purpose": purpose}),
            user.post("/v1/challenges", {"keyID": b64(user.key.id), "purpose": purpose}), f"challenges to {purpose}")
    # And with such a challenge: the same refusal.
    ghost = User(server, registered=False)
    ghost.password_session()
    wrong_key = user.post("/v1/sessions", user.sign_in_request(signer=Key()))
    no_key = ghost.post("/v1/sessions", ghost.sign_in_request())
    no_challenge = ghost.post("/v1/sessions", ghost.sign_in_request(challenge=b64(secrets.token_bytes(32))))
    equal(no_key.shown, wrong_key.shown, "a sign-in by a key that nobody has, byte for byte")
    equal(no_challenge.shown, wrong_key.shown, "a sign-in without a challenge, byte for byte")
    equal(known.shown, wrong_key.shown, "each refusal is the same, byte for byte")


# The quicker quarters of what is there and what is not may differ by so much; the noise of one machine is within it.
SAME_TIME = 1.25


def times_do_not_tell_who_is_there(server):
    user = User(server)

    def timed(act):
        started = time.perf_counter()
        act()
        return time.perf_counter() - started

    def compare(what, known, unknown, times):
        for more in range(1, 12):
            # In turns, and each as often first, so that what else the machine does meets both.
            sides = {known: [], unknown: []}
            for pair in range(times * more):
                for act in (known, unknown) if pair % 2 else (unknown, known):
                    sides[act].append(timed(act))
            # What waited for the machine is in the slower quarters.
            first, second = (statistics.quantiles(side, n=4)[0] for side in sides.values())
            ratio = max(first, second) / min(first, second)
            print(f"  {what}: {first * 1000:.2f} ms there, {second * 1000:.2f} ms not, ratio {ratio:.2f}")
            if ratio <= SAME_TIME:
                return
        raise AssertionError(f"{what}: the times tell it, ratio {ratio:.2f}")

    def password(name):
        # Each from an address of its own: the limit is not what is measured.
        expect(Client(server).post("/v1/password-sessions", {"name": name, "password": "wrong"}), 401)

    names = (f"nobody{number}" for number in itertools.count())
    compare("a name", lambda: password(user.name), lambda: password(next(names)), 6)
    users = [User(server) for _ in range(3)]
    turns = itertools.count()

    def challenge(key_id):
        expect(Client(server).post("/v1/challenges", {"keyID": b64(key_id), "purpose": "sign-in"}), 200)

    compare(
        "a key id", lambda: challenge(users[next(turns) % 3].key.id), lambda: challenge(secrets.token_bytes(32)), 18)


def who_asks_too_often_waits(server):
    user, stranger = User(server), User(server)
    # All within one window of a minute; a busy machine may need one from its beginning.
    for latest in (45, 5, 5):
        if time.time() % 60 > latest:
            time.sleep(60 - time.time() % 60 + 0.1)
        window = time.time() // 60
        try:
            return they_wait(server, user, stranger)
        except AssertionError:
            if window == time.time() // 60:
                raise
    raise AssertionError("no minute was long enough")


def they_wait(server, user, stranger):
    def challenges(who, key):
        return who.post("/v1/challenges", {"keyID": b64(key), "purpose": "sign-in"})

    unknown = secrets.token_bytes(32)
    counts = []
    for key in (user.key.id, unknown):
        answers, asking = [], Client(server)
        for _ in range(200):
            answers.append(challenges(asking, key))
            if answers[-1].status == 429:
                break
        equal(answers[-1].status, 429, "the last of many challenges for one key")
        check(int(answers[-1].header("Retry-After")) > 0, f"{answers[-1].headers}")
        counts.append(len(answers))
        # Its owner is somewhere else, and is not kept out.
        expect(challenges(Client(server), key), 200)
    equal(counts[0], counts[1], "how many are given for a key that is there, and for one that is not")
    expect(challenges(stranger, stranger.key.id), 200)
    # From everywhere at once there is a limit too, far higher.
    for count in range(500):  # noqa: B007
        if challenges(Client(server), stranger.key.id).status == 429:
            break
    check(100 < count < 499, f"{count} challenges for one key, each for another address")
    # One name's password, guessed from one address: its owner, at another one, is not kept out.
    guessing = Client(server)
    for guess in range(200):
        answer = guessing.post("/v1/password-sessions", {"name": user.name, "password": f"guess {guess}"})
        if answer.status == 429:
            break
        refused(answer, "a guess")
    equal(answer.status, 429, "the last of many guesses")
    user.password_session()


# Bytes

# How long the server gives a client for one whole request.
SLOW_SECONDS = 15


def first(server, data):
    """The first that the server answers to these bytes; none where it closes instead."""
    with socket.create_connection(("127.0.0.1", server.port), LONGEST_WAIT) as connection:
        connection.settimeout(SLOW_SECONDS - 5)
        with contextlib.suppress(ConnectionError):
            connection.sendall(data)
        with contextlib.suppress(ConnectionError):
            return connection.recv(4096)
        return b""


def head(*lines, path="/v1/challenges", method="POST"):
    return "\r\n".join([f"{method} {path} HTTP/1.1", "Host: x", "Content-Type: application/json", *lines, "", ""]).encode()


def resident(server):
    """Bytes of memory that the server has."""
    status = pathlib.Path(f"/proc/{server.process.pid}/status").read_text()
    return int(re.search(r"VmRSS:\s+(\d+) kB", status)[1]) * 1024


def large_requests_are_not_taken(server):
    client = Client(server)
    limit = 16 * 1024
    padded = b'{"keyID":"%s","purpose":"sign-in"%s}' % (b64(bytes(32)).encode(), b" " * limit)
    equal(expect(client.post("/v1/challenges", padded), 413).body, b'{"error":"tooLarge"}', "a large body")
    fits = padded[:-1].rstrip()
    fits = fits + b" " * (limit - len(fits) - 1) + b"}"
    equal(len(fits), limit, "the bytes")
    expect(client.post("/v1/challenges", fits), 200)
    # Said to be large: refused once more came than may, whatever is still to come.
    answer = first(server, head("Content-Length: 99999999999") + b"x" * (limit + 1))
    check(b" 413 " in answer[:30] or answer == b"", f"a body said to be large: {answer[:80]}")
    for length in ("99999999999999999999999999", "-1", "1, 2", "0x10"):
        answer = first(server, head(f"Content-Length: {length}"))
        check(b" 400 " in answer[:30] or b" 413 " in answer[:30] or answer == b"", f"Content-Length {length}: {answer[:80]}")
    # In pieces without an end: nothing of it is kept, and it ends with the time that a request has.
    before, sent, answer = resident(server), 0, b""
    with socket.create_connection(("127.0.0.1", server.port), LONGEST_WAIT) as connection:
        connection.settimeout(LONGEST_WAIT)
        connection.sendall(head("Transfer-Encoding: chunked"))
        with contextlib.suppress(ConnectionError):
            while sent < 64_000_000:
                connection.sendall(b"10000\r\n" + b"x" * 65536 + b"\r\n")
                sent += 65536
        with contextlib.suppress(ConnectionError):
            answer = connection.recv(4096)
    check(b" 413 " in answer[:30] or answer == b"", f"pieces without an end: {answer[:80]}")
    grown = resident(server) - before
    check(grown < 24_000_000, f"{sent} bytes in pieces: the server has grown by {grown}")
    # Head lines.
    for lines in (["X-Long: " + "x" * 100_000], [f"X-{number}: x" for number in range(5000)]):
        answer = first(server, head(*lines, "Content-Length: 2") + b"{}")
        check(re.match(rb"HTTP/1.1 4\d\d ", answer) or answer == b"", f"a large head: {answer[:80]}")
    answer = first(server, head(path="/" + "x" * 200_000, method="GET"))
    check(re.match(rb"HTTP/1.1 4\d\d ", answer) or answer == b"", f"a long path: {answer[:80]}")
    alive(server)


def heads_cannot_be_smuggled_or_split(server):
    body = b'{"keyID":"%s","purpose":"sign-in"}' % b64(bytes(32)).encode()
    answer = first(server, head(f"Content-Length: {len(body)}", "Transfer-Encoding: chunked") + body)
    check(b" 200 " not in answer[:30], f"a length and pieces: {answer[:80]}")
    answer = first(server, head(f"Content-Length: {len(body)}", "Content-Length: 3") + body)
    check(b" 200 " not in answer[:30], f"two lengths: {answer[:80]}")
    for line in ("X-Name : x", "X-Name: a\0b", " folded: x", "X\tY: z"):
        answer = first(server, head(line, f"Content-Length: {len(body)}") + body)
        check(re.match(rb"HTTP/1.1 [24]\d\d ", answer) or answer == b"", f"{line!r}: {answer[:80]}")
    # Nothing that came in goes out in a head.
    client = Client(server)
    planted = "planted\r\nSet-Cookie: planted=1"
    for path, sent in (
        ("/v1/password-sessions", {"name": planted, "password": planted}),
        ("/v1/challenges", {"keyID": planted, "purpose": planted}),
        ("/v1/web/requests/deny", {"request": planted, "code": planted}),
    ):
        answer = client.post(path, sent)
        check(answer.status in (400, 401, 404), f"{path}: {answer}")
        check("planted" not in str(answer.headers) and b"planted" not in answer.body, f"{path} repeats what came: {answer}")
    for path in ("/v1/%0d%0aSet-Cookie:%20planted=1", "/planted?x=%0d%0aplanted:%201", "//planted", "/v1/../planted"):
        answer = client.get(path)
        check(answer.status in (400, 404), f"{path}: {answer}")
        check("planted" not in str(answer.headers), f"{path}: {answer.headers}")
    # Nor does it make a line of its own in the log.
    client.post("/v1/password-sessions", {"name": "x\n{\"level\":\"planted\"}", "password": "x"})
    check(not [line for line in server.log.splitlines() if line.startswith('{"level":"planted"')], "a planted line in the log")
    # A page of another site's gets no leave to read, and none to send.
    answer = client.request("OPTIONS", "/v1/challenges", None, {
        "Origin": "https://attacker.example", "Access-Control-Request-Method": "POST",
        "Access-Control-Request-Headers": "content-type"})
    check(answer.header("Access-Control-Allow-Origin") is None, f"{answer.headers}")
    answer = client.request("POST", "/v1/web/requests", b"{}", {"Content-Type": "text/plain", "Origin": "null"})
    check(answer.status in (400, 401, 415) and not answer.header("Set-Cookie"), f"what a form could send: {answer}")


def json_is_read_strictly(server):
    user = User(server)
    key_id = b64(user.key.id)
    bodies = {
        "nothing": b"", "a word": b"refused", "a number": b"1", "null": b"null", "a list": b"[]", "an empty object": b"{}",
        "a deep list": b"[" * 8000, "a deep object": b'{"keyID":' * 1500, "a closed deep list": b"[" * 8000 + b"]" * 8000,
        "deep in a field": b'{"purpose":"sign-in","keyID":' + b"[" * 7000 + b"]" * 7000 + b"}",
        "a huge number": b'{"keyID":%s,"purpose":"sign-in"}' % (b"9" * 12000),
        "a huge exponent": b'{"keyID":1e999999999,"purpose":"sign-in"}',
        "a number for text": b'{"keyID":7,"purpose":"sign-in"}', "null for text": b'{"keyID":null,"purpose":"sign-in"}',
        "another purpose": b'{"keyID":"%s","purpose":"admin"}' % key_id.encode(),
        "to register": b'{"keyID":"%s","purpose":"register"}' % key_id.encode(),
        "no UTF-8": b'{"keyID":"\xff\xfe","purpose":"sign-in"}', "a lone surrogate": b'{"keyID":"\\ud800","purpose":"sign-in"}',
        "a NUL": b'{"keyID":"\\u0000","purpose":"sign-in"}', "UTF-16": '{"keyID":"x","purpose":"sign-in"}'.encode("utf-16"),
        "a comment": b'{"keyID":"%s",/**/"purpose":"sign-in"}' % key_id.encode(),
        "two values": b'{"keyID":"%s","purpose":"sign-in"}{}' % key_id.encode(),
        "padded base64": b'{"keyID":"%s=","purpose":"sign-in"}' % key_id.encode(),
        "base64 with a line": b'{"keyID":"%s\\n","purpose":"sign-in"}' % key_id.encode(),
        "base64 whose last bits are not zero": b'{"keyID":"%s","purpose":"sign-in"}' % (
            key_id[:-1] + next(c for c in "BCDFGH" if c != key_id[-1])).encode(),
        "a short id": b'{"keyID":"AAAA","purpose":"sign-in"}',
    }
    for what, body in bodies.items():
        answer = user.post("/v1/challenges", body)
        check(answer.status == 400, f"{what}: {answer}")
        equal(answer.body, b'{"error":"malformed"}', what)
    # A key twice: which of the two counts is not left to chance. The signed bytes decide, or the request is refused.
    request = user.sign_in_request()
    text = json.dumps(request)
    for twice in (
        text[:-1] + ',"details":"%s"}' % b64(b'{"sessionKey":"x"}'),
        text[:-1] + ',"message":"%s"}' % b64(b"x"),
    ):
        answer = user.post("/v1/sessions", twice.encode())
        check(answer.status in (200, 400, 401), f"a key twice: {answer}")
    both = [Key().thumbprint, Key().thumbprint]
    details = '{"sessionKey":"%s","sessionKey":"%s"}' % tuple(both)
    answer = user.post("/v1/sessions", user.signed("sign-in", details.encode(), user.challenge()))
    check(answer.status in (400, 401) or claims_of(answer.json["accessToken"])["cnf"]["jkt"] in both, f"{answer}")
    refused(
        user.post("/v1/sessions", user.signed("sign-in", {"sessionKey": both[0], "more": 1}, user.challenge())),
        "a field more in the signed details")
    # What is not said to be JSON is not read.
    answer = user.request(
        "POST", "/v1/challenges", b'{"keyID":"%s","purpose":"sign-in"}' % key_id.encode(), {"Content-Type": "text/plain"})
    check(answer.status in (400, 415), f"JSON said to be text: {answer}")
    alive(server)


def slow_clients_hold_nobody_up(server):
    started = time.monotonic()
    slow = []
    for number in range(60):
        connection = socket.create_connection(("127.0.0.1", server.port), LONGEST_WAIT)
        connection.sendall(head("Content-Length: 1000")[:40] if number % 2 else head("Content-Length: 1000") + b'{"k')
        slow.append(connection)
    # Others are served meanwhile.
    worst = max(timed_get(server) for _ in range(10))
    check(worst < SLOW_SECONDS - 5, f"an answer took {worst:.1f} s beside slow clients")
    closed = 0
    for connection in slow:
        connection.settimeout(max(0.1, LONGEST_WAIT - (time.monotonic() - started)))
        with contextlib.suppress(ConnectionError, TimeoutError):
            while connection.recv(4096):
                pass
            closed += 1
        connection.close()
    equal(closed, len(slow), "the slow clients that were let go")
    print(f"  all were let go after {time.monotonic() - started:.1f} s; the worst answer meanwhile {worst * 1000:.0f} ms")


def timed_get(server):
    started = time.monotonic()
    expect(Client(server).get("/healthz"), 200)
    return time.monotonic() - started


def a_flood_of_connections_is_bounded(server):
    def descriptors():
        return len(os.listdir(f"/proc/{server.process.pid}/fd"))

    before, flood, worst = descriptors(), [], 0
    try:
        for _ in range(300):
            with contextlib.suppress(OSError):
                flood.append(socket.create_connection(("127.0.0.1", server.port), 0.25))
            worst = max(worst, descriptors())
    finally:
        for connection in flood:
            connection.close()
    print(f"  {len(flood)} connections; descriptors {before} before, {worst} at most")
    check(worst - before <= server.MAXIMUM_CONNECTIONS + 20, f"{worst} descriptors")
    wait_for(lambda: timed_get(server) < 2, "an answer after the flood")
    wait_for(lambda: descriptors() <= before + 20, "the descriptors to be given back")


# Tokens


def a_token_alone_is_worth_nothing(server):
    user = User(server)
    session, other = user.sign_in(), user.sign_in()
    path = "/v1/devices"
    refused(user.get(path, {"Authorization": f"DPoP {session.access}"}), "no proof")
    refused(user.get(path, {"Authorization": f"Bearer {session.access}"}), "as a bearer")
    refused(user.get(path, {"Authorization": f"Bearer {session.access}", "DPoP": session.proof("GET", path)}), "as a bearer with a proof")
    proof = session.proof("GET", path)
    expect(session.get(path, proof), 200)
    refused(session.get(path, proof), "a proof twice")
    wrong = {
        "another method": session.proof("POST", path), "another path": session.proof("GET", "/v1/transactions"),
        "another host": session.proof("GET", path, htu="https://attacker.example" + path),
        "no host": session.proof("GET", path, htu=path), "no ath": session.proof("GET", path, token=False),
        "another token's ath": session.proof("GET", path, token=other.access),
        "another key": session.proof("GET", path, key=other.key), "no jti": session.proof("GET", path, jti=None),
        "a long jti": session.proof("GET", path, jti="x" * 3000),
        "no iat": session.proof("GET", path, iat=None), "an old proof": session.proof("GET", path, iat=int(time.time()) - 4000),
        "a proof of the future": session.proof("GET", path, iat=int(time.time()) + 4000),
        "a text for iat": session.proof("GET", path, iat="now"), "another typ": session.proof("GET", path, header={"typ": "JWT"}),
        "alg none": session.proof("GET", path, header={"alg": "none"}, signature=b""),
        "alg HS256": session.proof("GET", path, header={"alg": "HS256"}),
        "another's jwk": session.proof("GET", path, header={"jwk": other.key.jwk}),
        "a private jwk": session.proof("GET", path, header={"jwk": session.key.jwk | {"d": b64(bytes(32))}}),
        "a jwk off the curve": session.proof("GET", path, header={"jwk": session.key.jwk | {"y": b64(bytes(32))}}),
        "DER for raw": (lambda signed: signed + "." + b64(session.key.sign(signed.encode())))(
            session.proof("GET", path).rpartition(".")[0]),
        "no token at all": "x", "three dots": "...", "two proofs": session.proof("GET", path) + "," + session.proof("GET", path),
    }
    for what, proof in wrong.items():
        refused(session.get(path, proof), what)
    # The name that the client asks by is not the server's to believe.
    host = {"Host": "attacker.example"}
    refused(user.get(path, session.headers("GET", path, session.proof("GET", path, htu="http://attacker.example" + path)) | host), "its Host")
    check(session.is_alive(), "the session is ended")


def a_token_is_this_servers(server):
    import hmac
    user = User(server)
    session = user.sign_in()
    header, claims = (json.loads(unb64(part)) for part in session.access.split(".")[:2])
    keys = expect(user.get("/.well-known/jwks.json"), 200).json["keys"]
    public = next(key for key in keys if key["kid"] == header["kid"])
    check(header["alg"] == "ES256" and not any("d" in key for key in keys), f"{header}, {keys}")
    # A foreign implementation of JWS verifies it by the JWKS alone.
    numbers = ec.EllipticCurvePublicNumbers(*(int.from_bytes(unb64(public[name]), "big") for name in "xy"), ec.SECP256R1())
    signed, _, signature = session.access.rpartition(".")
    raw_signature = unb64(signature)
    numbers.public_key().verify(
        utils.encode_dss_signature(*(int.from_bytes(half, "big") for half in (raw_signature[:32], raw_signature[32:]))),
        signed.encode(), ec.ECDSA(hashes.SHA256()))

    def hs256(secret):
        head = ".".join(b64(json.dumps(part).encode()) for part in ({**header, "alg": "HS256"}, claims))
        return f"{head}.{b64(hmac.digest(secret, head.encode(), 'sha256'))}"

    point = b"\4" + unb64(public["x"]) + unb64(public["y"])
    spki = numbers.public_key().public_bytes(serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo)
    own = Key()
    stranger = User(server)
    forged = {
        "alg none": jwt({**header, "alg": "none"}, claims, signature=b""), "alg None": jwt({**header, "alg": "None"}, claims, signature=b""),
        "no signature": signed + ".", "HS256 with the point": hs256(point), "HS256 with the DER": hs256(spki),
        "HS256 with the PEM": hs256(pem(spki).encode()), "HS256 with nothing": hs256(b""),
        "a key of one's own": jwt(header, claims, own), "a jwk of one's own": jwt({**header, "jwk": own.jwk}, claims, own),
        "a jku": jwt({**header, "jku": "http://127.0.0.1:1/"}, claims, own), "no kid": jwt({"alg": "ES256", "typ": "JWT"}, claims, own),
        "an odd kid": jwt({**header, "kid": "../../etc/passwd"}, claims, own),
        "a signature of zeros": jwt(header, claims, signature=bytes(64)),
        "other claims": ".".join((session.access.split(".")[0], b64(json.dumps({**claims, "sub": b64(stranger.user_handle)}).encode()), signature)),
        "the refresh token": session.refresh_token, "nothing": "", "three dots": "...",
    }
    for what, token in forged.items():
        answer = user.get("/v1/devices", {"Authorization": f"DPoP {token}", "DPoP": session.proof("GET", "/v1/devices", token=token)})
        refused(answer, what)
    check(session.is_alive(), "the session is ended")


def a_refresh_token_is_used_once(server, *others):
    other = others[0] if others else server
    user = User(server)
    session = user.sign_in()
    first = session.refresh_token
    # Only by its session key.
    refused(session.refresh(proof=session.proof("POST", "/v1/sessions/refresh", token=False, key=Key())), "another key")
    refused(user.post("/v1/sessions/refresh", {"refreshToken": first}), "no proof")
    session.take(expect(session.refresh(to=other), 200).json)
    check(session.refresh_token != first, "the token is the same")
    check(session.is_alive(to=other), "the session after a refresh")
    refused(session.refresh(first), "a refresh token twice")
    refused(session.refresh(to=other), "the token of a session that ended")
    refused(session.get("/v1/devices"), "the session after its token came twice")
    # At once: one of them is the copy.
    session = user.sign_in()
    answers = at_once(*(
        functools.partial(session.refresh, to=(server, other)[place % 2]) for place in range(4)))
    equal(sorted(answer.status for answer in answers), [200, 401, 401, 401], "four refreshes at once")
    session = user.sign_in()
    expect(session.post("/v1/sessions/end", {}), 204)
    refused(session.get("/v1/devices"), "an ended session")
    refused(session.refresh(), "an ended session's refresh token")


# Two processes on one store


def each_process_knows_what_the_other_was_told(first, second):
    user = User(first)
    # A challenge of the one, answered at the other.
    expect(user.post("/v1/sessions", user.sign_in_request(user.challenge(to=first)), to=second), 200)
    session = user.sign_in(to=second)
    check(session.is_alive(to=first), "a token of the other process")
    proof = session.proof("GET", "/v1/devices")
    expect(session.get("/v1/devices", proof, to=first), 200)
    refused(session.get("/v1/devices", proof, to=second), "a proof at the other process")
    equal(
        *(sorted(key["kid"] for key in user.get("/.well-known/jwks.json", to=to).json["keys"]) for to in (first, second)),
        "the keys of both")
    # A counter that was used there, here.
    kept = user.challenge()
    refused(user.post("/v1/sessions", user.sign_in_request(kept, counter=user.key.counter), to=first), "a counter twice")
    refused(session.get("/v1/devices", to=second), "what may be a copy's session at the other process")
    user.key = Key()
    expect(user.register(), 201)
    session, kept = user.sign_in(to=second), user.challenge()
    expect(user.post(
        "/v1/keys/revoke", user.signed("revoke", {"keyID": b64(user.key.id)}, user.challenge("revoke")), to=first), 204)
    refused(session.get("/v1/devices", to=second), "a revoked key's session at the other process")
    refused(user.post("/v1/sessions", user.sign_in_request(kept), to=second), "a revoked key at the other process")


def of_two_processes_one_does_it(first, second):
    servers = (first, second)
    user, other = User(first), User(first)

    def everywhere(path, *bodies):
        """Each body is sent to both processes at once."""
        return sorted(answer.status for answer in at_once(*(
            functools.partial(user.post, path, body, to=to) for body in bodies for to in servers)))

    for _ in range(3):
        asked, browser = ask_for_page(user)
        # Two answers, both good, and each sent to both. Of two owners, whose counters and challenges have nothing to do with
        # each other: what decides is the page's request.
        approvals = [approve(user, asked), approve(other, asked)]
        equal(
            everywhere("/v1/web/requests/approve", *approvals), [204, 401, 401, 401], "approvals of one page")
        looks = at_once(*(functools.partial(user.get, "/v1/web/requests/state", browser, to=to) for to in servers * 2))
        equal([look.json["state"] for look in looks], ["approved"] * 4, "the page's state")
        handed = [look for look in looks if look.header("Set-Cookie")]
        equal(len(handed), 1, "the sessions handed out")
        session = user.sign_in()
        asked = expect(session.post("/v1/transactions", {"text": "Pay 5"}), 200).json
        details = {"transaction": asked["transaction"], "text": asked["text"]}
        confirmation = user.signed("confirm-transaction", details, asked["challenge"])
        equal(everywhere("/v1/transactions/confirm", confirmation), [200, 401], "confirmations of one transaction")
        new = Key()
        rotation = user.signed("rotate", {"publicKey": new.pem}, user.challenge("rotate"), new_key=new)
        equal(everywhere("/v1/keys/rotate", rotation), [200, 401], "rotations of one key")
        user.key = new
    # One key, registered twice at once under two challenges.
    bearer, key = user.password_session(), Key()
    requests = []
    for _ in range(2):
        challenge = expect(user.post("/v1/registrations/challenge", {}, bearer), 200).json["challenge"]
        details = {"publicKey": key.pem, "deviceID": b64(secrets.token_bytes(16)), "deviceName": "Test"}
        requests.append(user.signed("register", details, challenge, key=key))
    statuses = sorted(answer.status for answer in at_once(*(
        functools.partial(user.post, "/v1/registrations", request, bearer, to=to)
        for request, to in zip(requests, servers))))
    # Both are good but for the other: each has a challenge that only it used.
    equal(statuses, [201, 409], "one key registered twice at once")
    equal(user.devices().get(key.id), "active", "the key that was registered twice")


def processes_count_together(first, second):
    user = User(first)
    # All within one window of a minute, in which each process alone would let 20 through.
    if time.time() % 60 > 45:
        time.sleep(60 - time.time() % 60 + 0.1)
    taken, asking = 0, Client(first)
    for to in itertools.cycle((first, second)):
        answer = asking.post("/v1/challenges", {"keyID": b64(user.key.id), "purpose": "sign-in"}, to=to)
        if answer.status == 429:
            break
        expect(answer, 200)
        taken += 1
        check(taken < 200, "no limit")
    check(taken <= 20, f"{taken} challenges for one key within a minute")


def a_process_that_is_killed_loses_nothing(postgresql):
    """One of two is killed in the midst of registrations and sign-ins; clients go on with the other."""
    with Server(postgresql.new_database(), postgresql.environment) as survivor, Server(like=survivor) as victim:
        users = [User(survivor, registered=False) for _ in range(4)]
        accepted, spent, stop = [], [], threading.Event()

        def work(user):
            while not stop.is_set():
                for to in (victim, survivor):
                    key = Key()
                    user.device = secrets.token_bytes(16)
                    try:
                        bearer = user.bearer
                        challenge = expect(user.post("/v1/registrations/challenge", {}, bearer, to=to), 200).json["challenge"]
                        details = {"publicKey": key.pem, "deviceID": b64(user.device), "deviceName": "Test"}
                        answer = user.post(
                            "/v1/registrations", user.signed("register", details, challenge, key=key), bearer, to=to)
                        expect(answer, 201)
                        accepted.append((user, key))
                        request = user.sign_in_request(user.challenge(key=key, to=to), key=key)
                        answer = user.post("/v1/sessions", request, to=to)
                        expect(answer, 200)
                        spent.append(request)
                    except (OSError, http.client.HTTPException):
                        # Its process is gone, with or without having done it.
                        check(to is victim, "the other process went too")

        for user in users:
            user.bearer = user.password_session()
        with concurrent.futures.ThreadPoolExecutor(len(users)) as pool:
            working = [pool.submit(work, user) for user in users]
            wait_for(lambda: len(spent) >= 12, "some sign-ins")
            victim.process.kill()
            before = len(accepted)
            wait_for(lambda: len(accepted) >= before + 8 or any(one.done() for one in working), "more of the other's")
            stop.set()
            for one in working:
                one.result(LONGEST_WAIT)
        kept = {user.name: user.devices() for user in users}
        lost = [key for user, key in accepted if kept[user.name].get(key.id) != "active"]
        equal(lost, [], "registrations that were accepted and are not there")
        for request in spent:
            refused(Client(survivor).post("/v1/sessions", request), "an accepted response, sent to the other process")
        print(f"  {len(accepted)} registrations and {len(spent)} sign-ins, none lost and none taken twice")


# Coming and going


def a_shutdown_finishes_what_runs():
    with Server() as server:
        user = User(server)
        request = json.dumps(user.sign_in_request()).encode()
        with socket.create_connection(("127.0.0.1", server.port), LONGEST_WAIT) as connection:
            connection.settimeout(LONGEST_WAIT)
            message = head(f"Content-Length: {len(request)}", path="/v1/sessions") + request
            connection.sendall(message[:-10])
            # Until the server has its head. Its event loops take connections in turn, so one of these is answered after it on its own loop.
            for _ in range(2 * os.cpu_count()):
                alive(server)
            server.process.send_signal(signal.SIGTERM)
            wait_for(lambda: not can_connect(server), "the server to take no more connections")
            connection.sendall(message[-10:])
            answer = b""
            while chunk := connection.recv(65536):
                answer += chunk
        check(answer.startswith(b"HTTP/1.1 200 "), f"a request that ran at the shutdown: {answer[:200]}")
        equal(server.process.wait(LONGEST_WAIT), 0, "the exit status")
        # Started again on the same store: what was spent stays spent.
        server.start()
        refused(user.post("/v1/sessions", request), "the response after a restart")
        user.sign_in()


def can_connect(server):
    try:
        socket.create_connection(("127.0.0.1", server.port), 1).close()
        return True
    except OSError:
        return False


def nothing_secret_is_in_the_log(server):
    """Last: what all of the attacks before it left there."""
    user = User(server)
    session = user.sign_in()
    expect(user.post("/v1/password-sessions", {"name": user.name, "password": "a wrong password of mine"}), 401)
    log = server.log
    for what in (user.password, "a wrong password of mine", session.access, session.refresh_token, session.access.split(".")[2]):
        check(what not in log, "a secret is in the log")
    check(not server.failures(), f"the log has failures:\n{server.failures()}")


def the_keys_of_tokens_change(server):
    """On a server whose keys sign for sixteen seconds."""
    user = User(server)
    session = user.sign_in()

    def keys():
        return [key["kid"] for key in expect(user.get("/.well-known/jwks.json"), 200).json["keys"]]

    def kid(token):
        return json.loads(unb64(token.split(".")[0]))["kid"]

    first = kid(session.access)
    # The next key is shown before it signs, and the earlier one after it has signed its last.
    seen, limit = {first}, time.monotonic() + 90
    while kid(session.access) == first:
        check(time.monotonic() < limit, "the key that signs does not change")
        shown = keys()
        old, session = session, user.sign_in()
        check(kid(session.access) in seen | set(shown), "a key signs that was never shown")
        check(first in keys(), "the earlier key is gone")
        seen |= set(shown)
        # A key has 20 challenges a minute.
        time.sleep(1.5)
    check(session.is_alive() and old.is_alive(), "a token of either key")
    check(len(set(keys())) >= 2, "both keys are shown")


def main_with_servers():
    with contextlib.ExitStack() as stack:
        # Killed at once and restarted for each run: only processes die here, not the machine.
        postgresql = stack.enter_context(PostgreSQL("fsync=off"))
        # With room for all that one test asks for; the limits are looked at on the others.
        sqlite = stack.enter_context(Server(limit_per_key=100_000, limit_per_account=100_000))
        short = stack.enter_context(Server(challenge_seconds=6, web_request_seconds=6, token_key_seconds=16))
        first = stack.enter_context(Server(postgresql.new_database(), postgresql.environment))
        second = stack.enter_context(Server(like=first))

        # It waits for the server most of the time: beside everything else, on a server of its own.
        slow = stack.enter_context(concurrent.futures.ThreadPoolExecutor(1)).submit(
            slow_clients_hold_nobody_up, stack.enter_context(Server()))

        def slow_clients_held_nobody_up():
            slow.result(LONGEST_WAIT)

        def on(servers, *tests):
            servers = servers if isinstance(servers, tuple) else (servers,)
            return [functools.partial(test, *servers) for test in tests]

        main(
            *on(sqlite, a_software_key_registers_and_signs_in, a_response_is_taken_once,
                of_many_submissions_at_once_one_is_taken, a_failed_check_does_not_give_the_challenge_back,
                each_wrong_field_is_refused, a_challenge_is_for_one_key_and_one_purpose, a_transaction_is_what_the_owner_saw,
                a_signature_is_strict_der_in_range, a_key_that_is_none_is_not_registered,
                a_registration_proves_possession_and_a_password, a_revoked_key_is_nobodys_any_more,
                a_new_password_revokes_every_key, registering_a_device_again_replaces_its_key, a_rotation_takes_both_keys,
                a_counter_that_does_not_rise_revokes_the_key, a_counter_may_be_as_large_as_its_field,
                the_clients_clock_does_not_matter, a_pages_request_is_approved_once_for_its_browser,
                a_page_with_another_code_or_origin_is_refused, answers_do_not_tell_who_is_there,
                times_do_not_tell_who_is_there, large_requests_are_not_taken,
                heads_cannot_be_smuggled_or_split, json_is_read_strictly, a_token_alone_is_worth_nothing,
                a_token_is_this_servers, a_refresh_token_is_used_once),
            *on(short, who_asks_too_often_waits, what_expired_is_refused, the_keys_of_tokens_change),
            *on((first, second), of_many_submissions_at_once_one_is_taken, a_refresh_token_is_used_once,
                each_process_knows_what_the_other_was_told, of_two_processes_one_does_it, processes_count_together),
            # The same checks of what a store keeps, on the other store.
            *on(first, a_response_is_taken_once, a_counter_that_does_not_rise_revokes_the_key,
                a_counter_may_be_as_large_as_its_field, a_revoked_key_is_nobodys_any_more, a_rotation_takes_both_keys,
                a_pages_request_is_approved_once_for_its_browser, a_new_password_revokes_every_key,
                registering_a_device_again_replaces_its_key),
            functools.partial(a_process_that_is_killed_loses_nothing, postgresql), a_shutdown_finishes_what_runs,
            *on(sqlite, a_flood_of_connections_is_bounded), slow_clients_held_nobody_up,
            *(test for server in (sqlite, first, second, short) for test in on(server, nothing_secret_is_in_the_log)))


main_with_servers()
