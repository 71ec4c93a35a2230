"""
The sign-in protocol by docs/sign-in.md alone, with another implementation of its cryptography, and real servers; no test itself.

The key is software: what a patched client can do (NP-21). So each byte of what is sent is the test's to choose.
"""

import base64
import contextlib
import hashlib
import http.client
import itertools
import json
import os
import pathlib
import secrets
import shutil
import socket
import struct
import subprocess
import sys
import tempfile
import time
import urllib.parse

from device import LONGEST_WAIT, REPOSITORY, check, wait_for

try:
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec, utils
except ImportError:
    sys.exit("the Python package cryptography is not there: run script/python-environment")

APPLICATION = "org.example.app"
# What `touchstone-login` calls itself.
LOGIN_APPLICATION = "touchstone-login"
PASSWORD = "correct horse battery staple"
# The order of P-256's group.
ORDER = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def b64(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def unb64(text):
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def field(data):
    return struct.pack(">I", len(data)) + data


class Key:
    """P-256, as a device key or as a session key."""

    def __init__(self):
        self.private = ec.generate_private_key(ec.SECP256R1())
        public = self.private.public_key()
        self.der = public.public_bytes(serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo)
        self.pem = public.public_bytes(
            serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo).decode()
        self.id = hashlib.sha256(self.der).digest()
        numbers = public.public_numbers()
        self.jwk = {
            "crv": "P-256", "kty": "EC", "x": b64(numbers.x.to_bytes(32, "big")), "y": b64(numbers.y.to_bytes(32, "big"))}
        self.counter = 0

    @property
    def thumbprint(self):
        return b64(hashlib.sha256(json.dumps(self.jwk, separators=(",", ":"), sort_keys=True).encode()).digest())

    def sign(self, data):
        return self.private.sign(data, ec.ECDSA(hashes.SHA256()))

    def sign_raw(self, data):
        r, s = utils.decode_dss_signature(self.sign(data))
        return r.to_bytes(32, "big") + s.to_bytes(32, "big")

    def next(self):
        self.counter += 1
        return self.counter


class Message:
    """The signed message; each field may be set to what it must not be."""

    def __init__(self, **fields):
        self.magic, self.version, self.trailing = b"LASIGN", 1, b""
        self.__dict__.update(fields)

    @property
    def bytes(self):
        fields = (
            self.purpose, self.audience, self.application, self.key_id, self.user_handle, self.challenge,
            self.client_nonce, self.counter, self.issued_at, self.details_hash)
        encoded = b"".join(
            field(value.encode() if isinstance(value, str) else struct.pack(">Q", value) if isinstance(value, int) else value)
            for value in fields)
        return self.magic + bytes([self.version]) + encoded + self.trailing


def jwt(header, claims, key=None, signature=None):
    signed = ".".join(b64(json.dumps(part, separators=(",", ":")).encode()) for part in (header, claims))
    return f"{signed}.{b64(key.sign_raw(signed.encode()) if key else signature)}"


def claims_of(token):
    return json.loads(unb64(token.split(".")[1]))


class Answer:
    def __init__(self, status, headers, body):
        self.status, self.headers, self.body = status, headers, body

    @property
    def json(self):
        return json.loads(self.body)

    @property
    def shown(self):
        """All of it that a client sees, but for the clock."""
        return self.status, sorted((name.lower(), value) for name, value in self.headers if name.lower() != "date"), self.body

    def header(self, name):
        return next((value for found, value in self.headers if found.lower() == name.lower()), None)

    def __repr__(self):
        return f"{self.status} {self.body[:200]!r}"


class Client:
    """Requests to one server, from an address of its own where the server believes its proxy."""

    addresses = itertools.count(1)

    def __init__(self, server):
        self.server = server
        number = next(Client.addresses)
        self.address = f"10.{number >> 16 & 255}.{number >> 8 & 255}.{number & 255}"

    def request(self, method, path, body=None, headers=None, to=None):
        """body: bytes as they are, or what is sent as JSON."""
        headers = {"X-Forwarded-For": self.address, **(headers or {})}
        if body is not None and not isinstance(body, bytes):
            body = json.dumps(body).encode()
        if body is not None:
            headers.setdefault("Content-Type", "application/json")
        connection = http.client.HTTPConnection("127.0.0.1", (to or self.server).port, timeout=LONGEST_WAIT)
        try:
            connection.request(method, path, body, headers)
            response = connection.getresponse()
            return Answer(response.status, response.getheaders(), response.read())
        finally:
            connection.close()

    def post(self, path, body=None, headers=None, to=None):
        return self.request("POST", path, {} if body is None else body, headers, to)

    def get(self, path, headers=None, to=None):
        return self.request("GET", path, None, headers, to)


class User(Client):
    """An account with a device key, which is registered."""

    names = itertools.count(1)

    def __init__(self, server, registered=True, name=None):
        """name: an account that is there; without one it is added."""
        super().__init__(server)
        self.name, self.password = name or f"user{next(User.names)}", PASSWORD
        if not name:
            server.add_account(self.name, self.password)
        self.key, self.device = Key(), secrets.token_bytes(16)
        self.session = None
        if registered:
            expect(self.register(), 201)

    # the four steps

    def password_session(self):
        answer = expect(self.post("/v1/password-sessions", {"name": self.name, "password": self.password}), 200)
        self.user_handle = unb64(answer.json["userHandle"])
        return {"Authorization": f"Bearer {answer.json['token']}"}

    def register(self, key=None, pem=None, signer=None, bearer=None, **fields):
        key = key or self.key
        bearer = bearer or self.password_session()
        challenge = expect(self.post("/v1/registrations/challenge", {}, bearer), 200).json["challenge"]
        details = {"publicKey": key.pem if pem is None else pem, "deviceID": b64(self.device), "deviceName": "Test"}
        request = self.signed("register", details, challenge, key=key, signer=signer, **fields)
        return self.post("/v1/registrations", request, bearer)

    def challenge(self, purpose="sign-in", key=None, to=None):
        answer = expect(self.post("/v1/challenges", {"keyID": b64((key or self.key).id), "purpose": purpose}, to=to), 200)
        return answer.json["challenge"]

    def message(self, what, details, challenge, key=None, **fields):
        key = key or self.key
        fields = {
            "purpose": what, "audience": self.server.audience, "application": APPLICATION, "key_id": key.id,
            "user_handle": self.user_handle, "challenge": challenge if isinstance(challenge, bytes) else unb64(challenge), "client_nonce": secrets.token_bytes(32),
            "issued_at": int(time.time()), "details_hash": hashlib.sha256(details).digest(), **fields}
        # A counter is spent only where the test gives none.
        fields.setdefault("counter", None)
        if fields["counter"] is None:
            fields["counter"] = key.next()
        return Message(**fields)

    def signed(self, what, details, challenge, key=None, signer=None, signature=None, new_key=None, **fields):
        """A signed request for a purpose; signature: the bytes, or what makes them of the message."""
        details = details if isinstance(details, bytes) else json.dumps(details).encode()
        message = self.message(what, details, challenge, key, **fields).bytes
        if callable(signature):
            signature = signature(message)
        request = {
            "message": b64(message), "signature": b64(signature or (signer or key or self.key).sign(message)),
            "details": b64(details)}
        if new_key:
            request["newSignature"] = b64(new_key.sign(message))
        return request

    def sign_in_request(self, challenge=None, session_key=None, **fields):
        session_key = session_key or Key()
        challenge = self.challenge() if challenge is None else challenge
        return self.signed("sign-in", {"sessionKey": session_key.thumbprint}, challenge, **fields)

    def sign_in(self, to=None):
        session_key = Key()
        answer = expect(self.post("/v1/sessions", self.sign_in_request(session_key=session_key), to=to), 200)
        self.session = Session(self, session_key, answer.json)
        return self.session

    def devices(self):
        return {unb64(device["keyID"]): device["state"] for device in expect(
            self.get("/v1/devices", self.password_session()), 200).json["devices"]}


class Session:
    """An access token with its session key."""

    def __init__(self, user, key, reply):
        self.user, self.key = user, key
        self.take(reply)

    def take(self, reply):
        self.access, self.refresh_token = reply["accessToken"], reply["refreshToken"]

    def proof(self, method, path, token=True, key=None, header=None, signature=None, **claims):
        """A DPoP proof (RFC 9449)."""
        key = key or self.key
        payload = {
            "jti": b64(secrets.token_bytes(16)), "htm": method, "htu": self.user.server.origin + path,
            "iat": int(time.time())}
        if token:
            access = self.access if token is True else token
            payload["ath"] = b64(hashlib.sha256(access.encode()).digest())
        payload |= claims
        payload = {name: value for name, value in payload.items() if value is not None}
        header = {"typ": "dpop+jwt", "alg": "ES256", "jwk": key.jwk} | (header or {})
        return jwt(header, payload, None if signature is not None else key, signature)

    def headers(self, method, path, proof=None, access=None):
        access = access or self.access
        return {"Authorization": f"DPoP {access}", "DPoP": proof or self.proof(method, path, token=access)}

    def get(self, path, proof=None, access=None, to=None):
        return self.user.get(path, self.headers("GET", path, proof, access), to)

    def post(self, path, body=None, proof=None, to=None):
        return self.user.post(path, body, self.headers("POST", path, proof), to)

    def is_alive(self, to=None):
        return self.get("/v1/devices", to=to).status == 200

    def refresh(self, token=None, proof=None, to=None):
        path = "/v1/sessions/refresh"
        return self.user.post(
            path, {"refreshToken": token or self.refresh_token},
            {"DPoP": proof or self.proof("POST", path, token=False)}, to)


REFUSED = b'{"error":"refused"}'


def expect(answer, status):
    check(answer.status == status, f"{answer}, expected {status}")
    return answer


def refused(answer, what):
    """One answer for whatever is wrong with who someone is (NP-42)."""
    check((answer.status, answer.body) == (401, REFUSED), f"{what}: {answer}")


class RunningServer:
    """Where a server is that somebody else started."""

    def __init__(self, port, origin, audience):
        self.port, self.origin, self.audience = port, origin, audience


class Server:
    """`touchstone-signin serve`, a process of its own; `like` another one shares its store, its secret and its name."""

    PROGRAM = pathlib.Path(
        os.environ.get("TOUCHSTONE_SIGNIN", REPOSITORY / "SignIn/.build/debug/touchstone-signin")).resolve()
    MAXIMUM_CONNECTIONS = 64

    def __init__(self, database=None, environment=None, origin=None, like=None, port=None, **settings):
        """settings: options of `serve`, as challenge_seconds=1."""
        if not os.access(self.PROGRAM, os.X_OK):
            sys.exit(f"{self.PROGRAM} is not there: run make sign-in")
        self.port = port or free_port()
        self.like, self.settings = like, settings
        self.process = None
        if like:
            self.database, self.environment, self.secret = like.database, like.environment, like.secret
            self.origin, self.audience = like.origin, like.audience
            return
        self.origin = origin or f"http://127.0.0.1:{self.port}"
        self.audience = urllib.parse.urlsplit(self.origin).netloc
        self.environment = {"PATH": os.environ["PATH"], **(environment or {})}
        self.database = database

    def __enter__(self):
        self.work = pathlib.Path(tempfile.mkdtemp(prefix="touchstone-signin."))
        if not self.like:
            self.database = self.database or str(self.work / "signin.sqlite")
            self.secret = self.work / "secret"
            self.secret.touch(0o600)
            self.secret.write_bytes(secrets.token_bytes(32))
        try:
            self.start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        self.stop()
        shutil.rmtree(self.work, ignore_errors=True)

    def start(self):
        options = [f"--{name.replace('_', '-')}={value}" for name, value in {
            # Each client of the tests comes from an address of its own, so that no test runs into the limits of another.
            "trusted_proxy": "127.0.0.1", "connections": self.MAXIMUM_CONNECTIONS, **self.settings}.items()]
        with open(self.work / "log", "ab") as log:
            self.process = subprocess.Popen(
                [self.PROGRAM, "serve", "--port", str(self.port), "--audience", self.audience, "--origin", self.origin,
                 "--application", APPLICATION, "--application", LOGIN_APPLICATION, "--database", self.database,
                 "--secret-file", self.secret, "--log-format", "json", *options],
                env=self.environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        wait_for(self.answers, "the server to answer")

    def answers(self):
        check(self.process.poll() is None, f"the server ended: {self.log}")
        with contextlib.suppress(OSError, http.client.HTTPException):
            return Client(self).get("/healthz").status == 200

    def stop(self):
        if self.process:
            self.process.kill()
            self.process.wait(LONGEST_WAIT)

    # administration

    def administer(self, *words, input=""):
        ran = subprocess.run(
            [self.PROGRAM, *words, "--database", self.database], env=self.environment, input=input, text=True,
            capture_output=True, timeout=LONGEST_WAIT)
        check(ran.returncode == 0, f"touchstone-signin {' '.join(words)}: exit {ran.returncode}\n{ran.stdout}{ran.stderr}")
        return ran.stdout

    def add_account(self, name, password):
        self.administer("account", "add", name, input=f"{password}\n")

    def set_password(self, name, password):
        self.administer("account", "password", name, input=f"{password}\n")

    # what it said

    @property
    def log(self):
        return (self.work / "log").read_text(errors="replace")

    def failures(self):
        """Lines of the log that tell of what should not be, whatever clients send."""
        return "\n".join(
            line for line in self.log.splitlines()
            if not line.startswith("{") or json.loads(line)["level"] in ("error", "critical"))
