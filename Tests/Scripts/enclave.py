"""What the documents say of the enclave's formats and calls, written again, for tests in this directory; no test itself."""

import base64
import hashlib
import hmac
import json
import struct
import threading

from device import LONGEST_WAIT, call, check, confirm, equal

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, utils, x25519
from cryptography.hazmat.primitives.ciphers.aead import AESGCM, ChaCha20Poly1305
from cryptography.hazmat.primitives.kdf.argon2 import Argon2id
from cryptography.hazmat.primitives.kdf.hkdf import HKDF, HKDFExpand

# Bits of SecAccessControlCreateFlags.
BIOMETRY_ANY, BIOMETRY_CURRENT_SET, PRIVATE_KEY_USAGE = 1 << 1, 1 << 3, 1 << 30


def encode(data):
    return base64.b64encode(data).decode()


def is_signature_of(point, signature, digest):
    """Whether r and s are the signature of a digest by the key with this public point."""
    key = ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), point)
    r, s = int.from_bytes(signature[:32], "big"), int.from_bytes(signature[32:], "big")
    try:
        key.verify(utils.encode_dss_signature(r, s), digest, ec.ECDSA(utils.Prehashed(hashes.SHA256())))
        return len(signature) == 64
    except InvalidSignature:
        return False


# docs/storage-format.md

def derive(key, purpose):
    return HKDF(hashes.SHA256(), 32, None, f"io.touchstone {purpose}".encode()).derive(key)


def open_sealed(key, sealed, context):
    """AES-256-GCM: nonce, ciphertext, tag."""
    return AESGCM(key).decrypt(sealed[:12], sealed[12:], context)


class Opened:
    """A device's secrets, from the files of it and its passcode."""

    def __init__(self, device, passcode):
        self.root = (device.state / "enclave/root.key").read_bytes()
        version, code, text = (device.state / "enclave/state").read_bytes().split(b"\n", 2)
        equal(version, b"touchstone-enclave-state 2", "the state's version")
        self.device_key = self.of_root("device key")
        expected = hmac.new(derive(self.device_key, "state"), text, hashlib.sha256).hexdigest()
        equal(code.decode(), expected, "the state's authentication code")
        state = json.loads(text)
        self.generation, kept = state["generation"], state["passcode"]
        cost, salt = kept["cost"], base64.b64decode(kept["salt"])
        stretched = Argon2id(
            salt=salt, length=32, iterations=cost["operations"], lanes=1, memory_cost=cost["memoryBytes"] // 1024,
        ).derive(passcode.encode())
        key = derive(stretched + self.of_root("passcode", salt), "passcode key")
        self.class_keys = {
            code: open_sealed(key, base64.b64decode(sealed), f"io.touchstone class key {code}".encode())
            for code, sealed in kept["classKeys"].items()}
        # The earlier keys of each class, the newest first.
        self.earlier = {}
        for code, sealed in state["earlierClassKeys"].items():
            if code in self.class_keys:
                keys = open_sealed(
                    self.class_keys[code], base64.b64decode(sealed), f"io.touchstone earlier class keys {code}".encode())
                self.earlier[code] = [keys[at:at + 32] for at in range(0, len(keys), 32)]

    def class_key(self, code, generation):
        return self.class_keys[code] if generation == self.generation else self.earlier[code][self.generation - 1 - generation]

    def of_root(self, label, input=b""):
        return hmac.new(self.root, f"io.touchstone root {len(label)} {label}".encode() + input, hashlib.sha256).digest()

    def private_number(self, blob, protection):
        """The number of a private key of a class, and its public point as the blob has it."""
        equal(blob[0], 2, "the blob's version")
        plain = open_sealed(derive(self.device_key, "private keys"), blob[1:], b"io.touchstone private key blob 2")
        end = 2 + 8 + 32 + 32
        fields = []
        for _ in ("access group", "public key"):
            (length,) = struct.unpack_from("<H", plain, end)
            fields.append(plain[end + 2:end + 2 + length])
            end += 2 + length
        (generation,) = struct.unpack_from("<I", plain, end)
        number = open_sealed(self.class_key(protection, generation), plain[end + 4:], plain[:end])
        return number, fields[1]


    def item_key(self, wrapped, access_group, binding):
        """The key of an item without an access control."""
        version, number = wrapped[0], wrapped[1]
        check(version in (1, 3), f"version {version} of a wrapped item key")
        generation = int.from_bytes(wrapped[2:6], "little") if version == 3 else 0
        protection = {6: "ak", 7: "ck", 8: "dk", 9: "aku", 10: "cku", 11: "dku", 12: "akpu"}[number]
        group = access_group.encode()
        words = [version, number] + ([generation] if generation else []) + [len(group)]
        context = "".join(f"{word} " for word in ["io.touchstone item key", *words]).encode() + group + binding
        plain = open_sealed(self.class_key(protection, generation), wrapped[6 if version == 3 else 2:], context)
        equal(len(plain), 32 + 8 + 32, "what a wrapped item key has inside")
        return plain[:32]


def hpke(ephemeral_secret, encapsulated, public_key, info):
    """Key and nonce of HPKE, base mode: DHKEM X25519 with HKDF-SHA256, HKDF-SHA256, ChaCha20-Poly1305 (RFC 9180)."""

    def extract(suite, salt, label, key):
        return hmac.new(salt, b"HPKE-v1" + suite + label + key, hashlib.sha256).digest()

    def expand(suite, key, label, info, length):
        labelled = struct.pack(">H", length) + b"HPKE-v1" + suite + label + info
        return HKDFExpand(hashes.SHA256(), length, labelled).derive(key)

    kem, suite = b"KEM\x00\x20", b"HPKE\x00\x20\x00\x01\x00\x03"
    shared = expand(
        kem, extract(kem, b"", b"eae_prk", ephemeral_secret), b"shared_secret", encapsulated + public_key, 32)
    schedule = b"\0" + extract(suite, b"", b"psk_id_hash", b"") + extract(suite, b"", b"info_hash", info)
    secret = extract(suite, shared, b"secret", b"")
    return expand(suite, secret, b"key", schedule, 32), expand(suite, secret, b"base_nonce", schedule, 12)


def hpke_seal(public_key, plaintext, info, context):
    """Encapsulated key and ciphertext."""
    ephemeral = x25519.X25519PrivateKey.generate()
    encapsulated = ephemeral.public_key().public_bytes_raw()
    secret = ephemeral.exchange(x25519.X25519PublicKey.from_public_bytes(public_key))
    key, nonce = hpke(secret, encapsulated, public_key, info)
    return encapsulated, ChaCha20Poly1305(key).encrypt(nonce, plaintext, context)


def hpke_open(private_key, encapsulated, ciphertext, info, context):
    secret = private_key.exchange(x25519.X25519PublicKey.from_public_bytes(encapsulated))
    key, nonce = hpke(secret, encapsulated, private_key.public_key().public_bytes_raw(), info)
    return ChaCha20Poly1305(key).decrypt(nonce, ciphertext, context)


def seal_passcodes(public_key, passcodes, context):
    payload = b"".join(
        struct.pack("<H", len(text)) + text.ljust(256, b"\0") for text in (passcode.encode() for passcode in passcodes))
    encapsulated, ciphertext = hpke_seal(public_key, payload, b"io.touchstone.passcode 1", context)
    return {"encapsulatedKey": encode(encapsulated), "ciphertext": encode(ciphertext)}


# io.touchstone.Key, as an app

def create_key(connection, protection="aku", flags=PRIVATE_KEY_USAGE | BIOMETRY_ANY):
    """(blob in base64, public point)"""
    error, reply = call(
        connection, "Key.Create", kind="p256", accessControl={"protection": protection, "flags": flags})
    equal(error, None, "the key's creation")
    return reply["key"], base64.b64decode(reply["publicKey"])


def new_context(connection):
    return call(connection, "Authentication.CreateContext")[1]["context"]


class Agent:
    """Shows the prompts, to nobody."""

    def __init__(self, device):
        self.device, self.connection, self.buffer = device, device.connect(), b""
        request = {"method": "io.touchstone.Agent.Subscribe", "parameters": {}, "more": True}
        self.connection.sendall(json.dumps(request).encode() + b"\0")
        self.wait_for("ready")

    def wait_for(self, event):
        """The next event, which must be this one."""
        while b"\0" not in self.buffer:
            chunk = self.connection.recv(65536)
            check(chunk, "the daemon closed the agent's connection")
            self.buffer += chunk
        frame, _, self.buffer = self.buffer.partition(b"\0")
        parameters = json.loads(frame)["parameters"]
        equal(parameters["event"], event, "the agent's event")
        return confirm(self.device, parameters) if event == "show" else parameters

    def close(self):
        self.connection.close()


def with_the_finger(device, connection, method, **parameters):
    """The answer to one call that has the owner asked, whose finger is the thumb."""
    agent = Agent(device)
    answers = []
    options = {"reason": "the test", "reuseDuration": 0.0, "interactionNotAllowed": False}
    asking = threading.Thread(target=lambda: answers.append(call(connection, method, options=options, **parameters)))
    asking.start()
    agent.wait_for("show")
    equal(device.client("Device").PresentFinger(finger="thumb")["touch"], "matched", "the touch")
    asking.join(LONGEST_WAIT)
    agent.close()
    return answers[0]
