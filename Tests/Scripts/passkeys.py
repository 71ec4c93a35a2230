"""An authenticator and its browser in software, and a page of the sign-in server; no test itself."""

import base64
import hashlib
import json
import os
import pathlib
import re
import secrets
import struct

from signin import Client, Key, b64, expect, unb64

from fido2 import cbor

PRESENT, VERIFIED, BACKUP, BACKED_UP, CREDENTIAL, EXTENSIONS = 0x01, 0x04, 0x08, 0x10, 0x40, 0x80
MODEL = bytes(range(16))


class Passkey:
    """ES256 in software. What `faults` names differs from what an authenticator and a browser would send."""

    def __init__(self, site, origin, user_handle=None):
        self.site, self.origin, self.user_handle = site, origin, user_handle
        self.key, self.id, self.counter = Key(), secrets.token_bytes(32), 0

    def client_data(self, kind, challenge, **faults):
        return json.dumps({
            "type": faults.get("type", f"webauthn.{kind}"), "challenge": faults.get("challenge", challenge),
            "origin": faults.get("origin", self.origin), "crossOrigin": faults.get("cross_origin", False)}).encode()

    def data(self, with_credential, **faults):
        flags = faults.get("flags", PRESENT | VERIFIED | (CREDENTIAL if with_credential else 0))
        data = hashlib.sha256(faults.get("site", self.site).encode()).digest() + bytes([flags])
        data += struct.pack(">I", faults.get("counter", self.counter))
        if with_credential:
            cose = {1: 2, 3: -7, -1: 1, -2: unb64(self.key.jwk["x"]), -3: unb64(self.key.jwk["y"])} | faults.get("cose", {})
            name = faults.get("id", self.id)
            data += MODEL + struct.pack(">H", len(name)) + name + cbor.encode(cose)
        return data + faults.get("trailing", b"")

    def make(self, options, **faults):
        """What PublicKeyCredential.toJSON has after create()."""
        self.user_handle = unb64(options["user"]["id"])
        client_data = self.client_data("create", options["challenge"], **faults)
        data = self.data(True, **faults)
        statement = {}
        if faults.get("format", "packed") == "packed":
            signer = faults.get("signer", self.key)
            statement = {"alg": -7, "sig": signer.sign(data + hashlib.sha256(client_data).digest())}
        attestation = {"fmt": faults.get("format", "packed"), "attStmt": statement | faults.get("statement", {}), "authData": data}
        return self.answer(clientDataJSON=client_data, attestationObject=faults.get("object", cbor.encode(attestation)))

    def get(self, options, **faults):
        """What PublicKeyCredential.toJSON has after get()."""
        client_data = self.client_data("get", options["challenge"], **faults)
        data = self.data(False, **faults)
        signature = faults.get("signature") or faults.get("signer", self.key).sign(data + hashlib.sha256(client_data).digest())
        return self.answer(
            clientDataJSON=client_data, authenticatorData=data, signature=signature, userHandle=faults.get("user_handle", self.user_handle))

    def answer(self, **response):
        return {
            "id": b64(self.id), "rawId": b64(self.id), "type": "public-key",
            "response": {name: b64(value) for name, value in response.items() if value is not None}}


class Page(Client):
    """A browser at the server's page."""

    def __init__(self, server):
        super().__init__(server)
        self.cookies = {}

    def request(self, method, path, body=None, headers=None, to=None):
        cookies = {"Cookie": "; ".join(f"{name}={value}" for name, value in self.cookies.items())} if self.cookies else {}
        answer = super().request(method, path, body, {"Origin": self.server.origin, **cookies, **(headers or {})}, to)
        for name, value in answer.headers:
            if name.lower() == "set-cookie":
                found = re.match(r"([^=]+)=([^;]*)", value)
                self.cookies[found[1]] = found[2]
        return answer

    def sign_in(self, user):
        """With a device's key."""
        asked = expect(self.post("/v1/web/requests"), 201).json
        details = {"web": asked["request"], "code": asked["code"], "origin": self.server.origin}
        expect(user.post("/v1/web/requests/approve", user.signed("sign-in", details, user.challenge())), 204)
        expect(self.get("/v1/web/requests/state"), 200)
        return self

    def account(self):
        answer = self.get("/v1/web/session")
        return answer.json["account"] if answer.status == 200 else None

    def sign_out(self):
        expect(self.post("/v1/web/session/end"), 204)

    def creation(self):
        return expect(self.post("/v1/web/passkeys/registrations/challenge"), 200).json

    def request_options(self):
        return expect(self.post("/v1/web/passkeys/sign-ins/challenge"), 200).json

    def register(self, passkey, **faults):
        return self.post("/v1/web/passkeys/registrations", passkey.make(self.creation(), **faults))

    def use(self, passkey, **faults):
        return self.post("/v1/web/passkeys/sign-ins", passkey.get(self.request_options(), **faults))


def keep(name, site, origin, said, attestation, data, signature):
    """As a fixture of the package SignIn, where TOUCHSTONE_PASSKEY_FIXTURES says; nowhere without it.

    said: the browser's client data, of the registration and of the sign-in."""
    folder = os.environ.get("TOUCHSTONE_PASSKEY_FIXTURES")
    if not folder:
        return

    def plain(data):
        return base64.b64encode(data).decode()

    made = cbor.decode(attestation)
    vector = {
        "name": name, "domain": site, "origin": origin, "challenges": [plain(unb64(json.loads(each)["challenge"])) for each in said[:2]],
        "clientData": [plain(each) for each in said[:2]], "attestationObject": plain(attestation),
        "attestation": "own" if made["fmt"] == "packed" else "none", "authenticatorData": plain(data), "signature": plain(signature),
        "counters": [struct.unpack(">I", each[33:37])[0] for each in (made["authData"], data)]}
    (pathlib.Path(folder) / f"{name}.json").write_text(json.dumps(vector, indent=1) + "\n")
