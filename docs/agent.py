#!/usr/bin/env python3
"""An agent in Python: shows the prompts of a device, and answers them. docs/agents.md explains it.

    agent.py SOCKET KEY

SOCKET is the device's touchstoned.sock, KEY the enclave's public key. Of packages it needs `cryptography` only.
"""

import base64
import getpass
import hmac
import json
import os
import socket
import stat
import sys

from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

VERSION = 1


# HPKE (RFC 9180), base mode: DHKEM(X25519, HKDF-SHA256), HKDF-SHA256, ChaCha20-Poly1305

KEM, SUITE = b"KEM\x00\x20", b"HPKE\x00\x20\x00\x01\x00\x03"


def extract(suite, salt, label, material):
    return hmac.digest(salt, b"HPKE-v1" + suite + label + material, "sha256")


def expand(suite, key, label, info, length):
    # Never more than one block of SHA-256 here.
    info = length.to_bytes(2, "big") + b"HPKE-v1" + suite + label + info
    return hmac.digest(key, info + b"\x01", "sha256")[:length]


def hpke_seal(public_key, info, authenticated, plaintext):
    """Returns the encapsulated key and the ciphertext."""
    ephemeral = X25519PrivateKey.generate()
    encapsulated = ephemeral.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)
    agreed = ephemeral.exchange(X25519PublicKey.from_public_bytes(public_key))
    secret = extract(KEM, b"", b"eae_prk", agreed)
    secret = expand(KEM, secret, b"shared_secret", encapsulated + public_key, 32)
    context = b"\x00" + extract(SUITE, b"", b"psk_id_hash", b"") + extract(SUITE, b"", b"info_hash", info)
    secret = extract(SUITE, secret, b"secret", b"")
    key = expand(SUITE, secret, b"key", context, 32)
    nonce = expand(SUITE, secret, b"base_nonce", context, 12)
    return encapsulated, ChaCha20Poly1305(key).encrypt(nonce, plaintext, authenticated)


def seal(public_key, prompt, typed):
    """What `EnterPasscode` and `Unlock` want, for what was typed at this prompt."""
    typed = typed.encode()
    if len(typed) > 256:
        raise ValueError("longer than 256 bytes")
    if prompt["phase"] == "unlock":
        purpose = "unlock"
    elif prompt["phase"] == "applicationPassword":
        purpose = "credential " + prompt["context"]
    else:
        purpose = "prompt " + prompt["app"]["identifier"]
    encapsulated, ciphertext = hpke_seal(
        public_key, b"io.touchstone.passcode 1", base64.b64decode(prompt["nonce"]) + purpose.encode(),
        len(typed).to_bytes(2, "little") + typed.ljust(256, b"\0"))
    return {
        "encapsulatedKey": base64.b64encode(encapsulated).decode(), "ciphertext": base64.b64encode(ciphertext).decode(),
        "key": base64.b64encode(public_key).decode()}


def read_key(path):
    """The enclave's key; refused where somebody else could have put another in its place."""
    with open(os.open(path, os.O_RDONLY | os.O_NOFOLLOW), "rb") as file:
        facts = os.fstat(file.fileno())
        if facts.st_uid not in (0, os.geteuid()) or facts.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
            sys.exit(f"{path} can be written by others")
        key = file.read(33)
    if len(key) != 32:
        sys.exit(f"{path} is no key")
    return key


# Varlink: JSON objects, each with a NUL behind it


class Connection:
    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(path)
        self.received = b""
        # What comes before touchstoned has looked at who connects it wants again: io.touchstone.SendAgain. Any answer will do here.
        self.socket.sendall(b'{"method": "org.varlink.service.GetInfo"}\0')
        self.receive()

    def send(self, method, more=False, **parameters):
        message = {"method": f"io.touchstone.{method}", "parameters": parameters, "more": more}
        self.socket.sendall(json.dumps(message).encode() + b"\0")

    def receive(self):
        while b"\0" not in self.received:
            chunk = self.socket.recv(65536)
            if not chunk:
                sys.exit("the device ended the connection")
            self.received += chunk
        message, self.received = self.received.split(b"\0", 1)
        return json.loads(message)

    def call(self, method, **parameters):
        """Returns the answer, or what the error says."""
        self.send(method, **parameters)
        return self.receive().get("parameters", {})


def clean(text):
    """Names of files may hold anything; claims come cleaned. Neither may hold a quotation mark that looks like ours."""
    text = "".join(character if character.isprintable() else "\ufffd" for character in text)
    text = text.translate({ord(mark): "'" for mark in "\"\u201c\u201d\u201e\u201f\u2033\u301d\u301e\uff02"})
    return text if len(text) <= 100 else f"{text[:50]}\u2026{text[-50:]}"


def show(prompt):
    """What was verified first, then what the app claims, and never the one as the other."""
    # A bridge asks for a client, which is shown in its place.
    bridge, origin = prompt["app"], prompt.get("origin") or {}
    app = prompt.get("client") or bridge
    print(f"{prompt['phase']} for \u201c{clean(app['name'])}\u201d")
    print(f"  asked by \u201c{clean(app['identifier'])}\u201d (verified: {app['evidence']}), process {app['processID']}")
    print("  in a session that is", origin.get("place", "unknown"))
    for ancestor in origin.get("ancestors", [])[:5]:
        unknown = "" if ancestor.get("executable") else "a process that calls itself "
        print(f"  started by {unknown}\u201c{clean(ancestor.get('executable') or ancestor['name'])}\u201d")
    if prompt.get("client"):
        print(f"  through \u201c{clean(bridge['name'])}\u201d, \u201c{clean(bridge['identifier'])}\u201d")
    for fact in prompt.get("facts") or []:
        print(f"  the bridge says: {fact['kind']} \u201c{clean(fact['text'])}\u201d")
    items = prompt.get("items") or {"names": []}
    for name in items["names"]:
        print(f"  wants to use an item called \u201c{clean(name)}\u201d")
    if items.get("count", 0) > len(items["names"]):
        print(f"  wants to use {items['count']} items in all")
    if prompt["reason"]:
        print(f"  says: \u201c{clean(prompt['reason'])}\u201d")
    if prompt["wrongPasscode"]:
        print("  that was wrong")
    sys.stdout.flush()


def answer(calls, key, prompt):
    if prompt["phase"] in ("passcode", "applicationPassword", "unlock"):
        if prompt.get("retryAfterSeconds"):
            return print(f"  try again in {prompt['retryAfterSeconds']:.0f} s: Cancel is all that helps now", flush=True)
        typed = getpass.getpass("  password: ") if sys.stdin.isatty() else sys.stdin.readline().rstrip("\n")
        if typed and prompt["phase"] == "unlock":
            # The lock screen's nonces are the connection's. How the prompt stands then, an event says.
            nonce = calls.call("Device.GetNonce")["nonce"]
            return calls.call("Device.Unlock", passcode=seal(read_key(key), prompt | {"nonce": nonce}, typed))
        if typed:
            sealed = seal(read_key(key), prompt, typed)
            return calls.call("Agent.EnterPasscode", prompt=prompt["identifier"], passcode=sealed)
        return calls.call("Agent.Cancel", prompt=prompt["identifier"])
    if prompt["phase"] == "permission":
        return calls.call("Agent.AnswerPermission", prompt=prompt["identifier"], isAllowed=False)
    if prompt.get("fallbackTitle") and prompt["phase"] == "fallback":
        return calls.call("Agent.ChooseFallback", prompt=prompt["identifier"])
    # The sensor waits: there is nothing to do but to wait for the next event.


def main(path, key):
    read_key(key)  # So that what is wrong with it is said before anybody types.
    # The events take one connection, for as long as the agent runs; the answers another.
    events, calls = Connection(path), Connection(path)
    events.send("Agent.Subscribe", more=True, version=VERSION)
    shown = None
    while True:
        message = events.receive()
        if "error" in message:
            sys.exit(f"{message['error']}: {message['parameters']}")
        event, prompt = message["parameters"]["event"], message["parameters"].get("prompt")
        if event == "show":
            show(prompt)
            if shown != prompt["identifier"]:
                calls.call("Agent.ConfirmShown", prompt=prompt["identifier"])
            shown = prompt["identifier"]
            answer(calls, key, prompt)
        else:
            print(event, flush=True)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    try:
        main(*sys.argv[1:])
    except KeyboardInterrupt:
        pass
