"""A client of p11-kit's protocol for the tests in this directory: as much as it takes to say what real clients do not say."""

import socket
import struct

HANDSHAKE = b"PRIVATE-GNOME-KEYRING-PKCS11-PROTOCOL-V-1"
ECDSA, ECDSA_SHA256, EC_KEY_PAIR_GEN = 0x1041, 0x1044, 0x1040
CURVE = bytes.fromhex("06082a8648ce3d030107")
SIGNATURES = {1: "ayyay", 2: "", 10: "uu", 18: "uuay", 24: "uufA", 26: "uaA", 27: "ufu", 28: "u", 42: "uMu", 43: "uayfy", 44: "uay", 45: "ufy",
              59: "uMaAaA", 0x54530001: "ay"}


def word(value):
    return struct.pack(">I", value)


def number(value):
    return struct.pack(">Q", value)


def string(data):
    return word(len(data)) + data


def array(data):
    return b"\1" + string(data)


def attribute(kind, value):
    """A number, a truth value, or bytes."""
    if isinstance(value, bool):
        return word(kind) + b"\1" + word(1) + bytes([value])
    if isinstance(value, int):
        return word(kind) + b"\1" + word(8) + number(value)
    return word(kind) + b"\1" + word(len(value)) + string(value)


def template(*attributes):
    return word(len(attributes)) + b"".join(attribute(kind, value) for kind, value in attributes)


class Refused(Exception):
    """An error of the other side: its CKR number."""

    @property
    def code(self):
        return self.args[0]


class Client:
    """A connection that has not begun, or that has with `begin`."""

    def __init__(self, path, begins=True, version=0, wait=90):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(wait)
        self.socket.connect(str(path))
        self.code = 15
        self.version = None
        if begins:
            self.begin(version)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    def begin(self, version=0):
        self.socket.sendall(bytes([version]))
        self.version = self.read(1)[0]
        self.call(1, array(HANDSHAKE), b"\0", array(b"\0"))
        self.session = self.call(10, number(0), number(6), reads="u")

    def read(self, count):
        data = b""
        while len(data) < count:
            more = self.socket.recv(count - len(data))
            if not more:
                raise ConnectionError("closed")
            data += more
        return data

    def send(self, call, *parts):
        self.code += 1
        body = word(call) + string(SIGNATURES.get(call, "").encode()) + b"".join(parts)
        self.socket.sendall(word(self.code) + word(6) + word(len(body)) + b"client" + body)

    def answer(self, call):
        """The answer's values, as bytes."""
        code, options, length = struct.unpack(">III", self.read(12))
        assert code == self.code, f"the answer to {code}, not to {self.code}"
        self.read(options)
        body = self.read(length)
        answered, signature = struct.unpack_from(">II", body)
        values = body[8 + signature:]
        if answered == 0:
            raise Refused(struct.unpack(">Q", values)[0])
        assert answered == call, f"an answer of {answered}, not of {call}"
        return values

    def call(self, call, *parts, reads=None):
        self.send(call, *parts)
        values = self.answer(call)
        return struct.unpack_from(">Q", values)[0] if reads == "u" else values

    def find(self, *attributes):
        self.call(26, number(self.session), template(*attributes))
        values = self.call(27, number(self.session), word(100))
        self.call(28, number(self.session))
        count = struct.unpack_from(">I", values, 1)[0]
        return list(struct.unpack_from(f">{count}Q", values, 5))

    def private_key(self, label):
        return self.find((0, 3), (3, label.encode()))[0]

    def sign_init(self, key, mechanism=ECDSA):
        self.call(42, number(self.session), word(mechanism), word(0xFFFFFFFF), number(key))

    def sign(self, key, data, mechanism=ECDSA):
        self.sign_init(key, mechanism)
        return self.call(43, number(self.session), array(data), word(64))[5:]
