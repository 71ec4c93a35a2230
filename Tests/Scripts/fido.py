"""A device with touchstone-fido and clients of it for bridge-fido, which is executable; this file is not, and no test."""

import contextlib
import ctypes
import os
import pathlib
import select
import socket
import struct
import subprocess
import sys
import time

from bridges import BRIDGES, Person
from device import LONGEST_WAIT, REPOSITORY, Device, check, wait_for

from fido2 import cbor
from fido2.hid.base import CtapHidConnection, HidDescriptor

if not os.access(BRIDGES / "touchstone-fido", os.X_OK):
    raise SystemExit(f"{BRIDGES / 'touchstone-fido'} is not there: run make bridges")


class Service:
    """`touchstone-fido` in the foreground, with a socket in the place of the kernel's device."""

    def __init__(self, device, *options, is_bridge=True, appears=True):
        self.device, self.packets, self.socket = device, device.work / "packets.sock", device.work / "fido.sock"
        if is_bridge:
            manifests = device.state / "apps.d"
            manifests.mkdir(mode=0o700, exist_ok=True)
            (manifests / "fido.conf").write_text(
                f"[Application]\nIdentity={BRIDGES}/touchstone-fido\nName=Touchstone's passkeys\nActsForClients=true\n")
        self.errors = open(device.work / "fido.log", "w+")
        self.process = subprocess.Popen(
            [BRIDGES / "touchstone-fido", "serve", "--packets", self.packets, "--socket", self.socket, *options],
            env=device.environment, stdin=subprocess.DEVNULL, stderr=self.errors)
        wait_for(lambda: "ready" in self.log or self.process.poll() is not None, "touchstone-fido")
        check(self.process.poll() is None, self.log)
        if appears:
            wait_for(self.is_there, "the authenticator to appear")

    @property
    def log(self):
        return pathlib.Path(self.errors.name).read_text()

    def is_there(self):
        """Whether a connection stays: without a passcode it is closed at once."""
        with contextlib.closing(self.connect()) as connection:
            # A channel that was not given out is refused.
            with contextlib.suppress(OSError):
                connection.sendall(bytes([0, 0, 0, 0, 0x81]).ljust(64, b"\0"))
            return self.received(connection)

    @staticmethod
    def received(connection):
        try:
            return connection.recv(64)
        except OSError:
            return b""

    def connect(self):
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        connection.settimeout(LONGEST_WAIT)
        connection.connect(str(self.packets))
        return connection

    def command(self, *arguments, status=0):
        done = subprocess.run(
            [BRIDGES / "touchstone-fido", *arguments], env=self.device.environment | {"TOUCHSTONE_FIDO": str(self.socket)},
            capture_output=True, text=True, timeout=LONGEST_WAIT)
        check(done.returncode == status, f"{arguments}: exit {done.returncode}, expected {status}\n{done.stdout}{done.stderr}{self.log}")
        return done.stdout + done.stderr

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait(LONGEST_WAIT)


def with_fido(body):
    """A device with a passcode and a finger, touchstone-fido, and a person."""

    def run():
        with Device() as device:
            device.set_up("271828", "thumb")
            with Service(device) as service:
                body(device, service, Person(device))

    run.__name__ = body.__name__
    return run


class Typist:
    """The agent of docs/agents.md, which types these lines where a passcode is wanted."""

    def __init__(self, device, *lines):
        self.process = subprocess.Popen(
            [sys.executable, REPOSITORY / "docs/agent.py", device.socket, device.state / "enclave/passcode.pub"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.process.stdin.write("".join(f"{line}\n" for line in lines))
        self.process.stdin.flush()
        check(self.process.stdout.readline() == "ready\n", "the agent is not ready")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait(LONGEST_WAIT)


BROADCAST = 0xFFFFFFFF
KEEPALIVE, ERROR, CBOR, CANCEL, PING = 0x3B, 0x3F, 0x10, 0x11, 0x01


def packets(channel, command, payload, length=None):
    """A message of CTAPHID, written from the standard alone."""
    length = len(payload) if length is None else length
    yield struct.pack(">IBH", channel, command | 0x80, length) + payload[:57].ljust(57, b"\0")
    rest, number = payload[57:], 0
    while rest:
        yield struct.pack(">IB", channel, number) + rest[:59].ljust(59, b"\0")
        rest, number = rest[59:], number + 1


class Channel:
    """A client of our own: one channel, over a connection that others may share."""

    def __init__(self, service, connection=None):
        self.connection = connection or service.connect()
        nonce = os.urandom(8)
        self.write(BROADCAST, 0x06, nonce)
        while True:
            channel, command, answer = self.receive(BROADCAST)
            if command == 0x06 and answer[:8] == nonce:
                break
        self.number = struct.unpack(">I", answer[8:12])[0]
        self.keepalives = []

    def write(self, channel, command, payload, length=None):
        for packet in packets(channel, command, payload, length):
            self.connection.sendall(packet)

    def send(self, command, payload=b"", length=None):
        self.write(self.number, command, payload, length)

    def receive(self, number):
        """The next whole message of a channel; those of others are skipped, as every client of a real one does."""
        while True:
            packet = self.connection.recv(64)
            if not packet:
                raise ConnectionError("closed")
            channel, command, length = struct.unpack(">IBH", packet[:7])
            if channel != number or not command & 0x80:
                continue
            payload, count = packet[7:], 0
            while len(payload) < length:
                packet = self.connection.recv(64)
                if struct.unpack(">I", packet[:4])[0] != number:
                    continue
                check(packet[4] == count, f"packet {packet[4]} in the place of {count}")
                payload, count = payload + packet[5:], count + 1
            return channel, command & 0x7F, payload[:length]

    def message(self):
        """Command and payload of the next message that is no keepalive."""
        while True:
            _, command, payload = self.receive(self.number)
            if command != KEEPALIVE:
                return command, payload
            self.keepalives.append((time.monotonic(), payload))

    def answer(self):
        """Status and map of the answer to a request."""
        command, payload = self.message()
        check(command == CBOR, f"command {command:#x}: {payload.hex()}")
        return payload[0], cbor.decode(payload[1:]) if len(payload) > 1 else {}

    def ask(self, command, parameters=None):
        self.send(CBOR, bytes([command]) + (cbor.encode(parameters) if parameters is not None else b""))

    def call(self, command, parameters=None):
        self.ask(command, parameters)
        return self.answer()

    def close(self):
        self.connection.close()


HASH = bytes(range(32))


def make_request(site="example.com", user=b"user", name="ada@example.com", options=None, **more):
    request = {1: HASH, 2: {"id": site, "name": site}, 3: {"id": user, "name": name, "displayName": name},
               4: [{"alg": -7, "type": "public-key"}]}
    if options:
        request[7] = options
    return request | {int(key[1:]): value for key, value in more.items()}


def get_request(site="example.com", allowed=None, options=None, **more):
    request = {1: site, 2: HASH}
    if allowed is not None:
        request[3] = [{"id": each, "type": "public-key"} for each in allowed]
    if options:
        request[5] = options
    return request | {int(key[1:]): value for key, value in more.items()}


class SocketConnection(CtapHidConnection):
    """python-fido2's way to packets, over our socket."""

    def __init__(self, service):
        self.connection = service.connect()

    def read_packet(self):
        return self.connection.recv(64)

    def write_packet(self, data):
        self.connection.sendall(data)

    def close(self):
        self.connection.close()


DESCRIPTOR = HidDescriptor("socket", 0xF1D0, 0x7053, 64, 64, "Touchstone passkeys", None)


# libfido2, by its own I/O functions.
OPEN = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_char_p)
CLOSE = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
READ = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.POINTER(ctypes.c_ubyte), ctypes.c_size_t, ctypes.c_int)
WRITE = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.POINTER(ctypes.c_ubyte), ctypes.c_size_t)


class Functions(ctypes.Structure):
    _fields_ = [("open", OPEN), ("close", CLOSE), ("read", READ), ("write", WRITE)]


class LibFIDO2:
    """One device of libfido2's, and what its programs do with it."""

    OMIT, FALSE, TRUE = 0, 1, 2
    HMAC_SECRET = 1

    def __init__(self, service):
        self.library = library = ctypes.CDLL("libfido2.so.1")
        for name in ("fido_dev_new", "fido_cred_new", "fido_assert_new", "es256_pk_new"):
            getattr(library, name).restype = ctypes.c_void_p
        for name in ("id", "pubkey", "authdata_raw", "sig", "x5c"):
            getattr(library, f"fido_cred_{name}_ptr").restype = ctypes.c_void_p
            getattr(library, f"fido_cred_{name}_len").restype = ctypes.c_size_t
        for name in ("id", "hmac_secret", "user_id"):
            getattr(library, f"fido_assert_{name}_ptr").restype = ctypes.c_void_p
            getattr(library, f"fido_assert_{name}_len").restype = ctypes.c_size_t
        library.fido_assert_count.restype = ctypes.c_size_t
        library.fido_assert_flags.restype = library.fido_cred_flags.restype = ctypes.c_uint8
        library.fido_strerr.restype = library.fido_assert_user_name.restype = ctypes.c_char_p
        library.fido_init(0)
        self.connection = None

        def opened(_):
            self.connection = service.connect()
            return 1

        def closed(_):
            self.connection.close()

        def read(_, buffer, count, milliseconds):
            if not select.select([self.connection], [], [], None if milliseconds < 0 else milliseconds / 1000)[0]:
                return -1
            packet = self.connection.recv(64)
            ctypes.memmove(buffer, packet, len(packet))
            return len(packet) or -1

        def write(_, buffer, count):
            # The number of the report stands in front.
            self.connection.sendall(bytes(buffer[1:count]))
            return count

        self.functions = Functions(OPEN(opened), CLOSE(closed), READ(read), WRITE(write))
        self.device = ctypes.c_void_p(library.fido_dev_new())
        self.must("fido_dev_set_io_functions", self.device, ctypes.byref(self.functions))
        self.must("fido_dev_open", self.device, b"touchstone")

    def call(self, name, *arguments):
        return getattr(self.library, name)(*arguments)

    def must(self, name, *arguments):
        code = self.call(name, *arguments)
        check(code == 0, f"{name}: {self.library.fido_strerr(code)} ({code:#x})")

    def bytes(self, name, handle, *which):
        count = getattr(self.library, f"{name}_len")(handle, *which)
        return ctypes.string_at(getattr(self.library, f"{name}_ptr")(handle, *which), count)

    def make(self, site=b"example.com", user=b"user", name=b"ada", rk=0, uv=0, extensions=0, protection=0, excluded=()):
        """libfido2's error, and where that is 0 the credential, which has verified."""
        credential = ctypes.c_void_p(self.library.fido_cred_new())
        self.must("fido_cred_set_type", credential, -7)
        self.must("fido_cred_set_clientdata_hash", credential, HASH, 32)
        self.must("fido_cred_set_rp", credential, site, site)
        self.must("fido_cred_set_user", credential, user, len(user), name, name, None)
        self.must("fido_cred_set_extensions", credential, extensions)
        if protection:
            self.must("fido_cred_set_prot", credential, protection)
        self.must("fido_cred_set_rk", credential, rk)
        self.must("fido_cred_set_uv", credential, uv)
        for each in excluded:
            self.must("fido_cred_exclude", credential, each, len(each))
        error = self.call("fido_dev_make_cred", self.device, credential, None)
        if error == 0:
            self.must("fido_cred_verify_self", credential)
        return error, credential

    def get(self, site=b"example.com", allowed=(), up=0, uv=0, salt=None):
        """libfido2's error, and the assertions."""
        assertion = ctypes.c_void_p(self.library.fido_assert_new())
        self.must("fido_assert_set_clientdata_hash", assertion, HASH, 32)
        self.must("fido_assert_set_rp", assertion, site)
        for each in allowed:
            self.must("fido_assert_allow_cred", assertion, each, len(each))
        self.must("fido_assert_set_up", assertion, up)
        self.must("fido_assert_set_uv", assertion, uv)
        if salt:
            self.must("fido_assert_set_extensions", assertion, self.HMAC_SECRET)
            self.must("fido_assert_set_hmac_salt", assertion, salt, len(salt))
        return self.call("fido_dev_get_assert", self.device, assertion, None), assertion

    def verify(self, assertion, index, credential):
        key = ctypes.c_void_p(self.library.es256_pk_new())
        point = self.bytes("fido_cred_pubkey", credential)
        self.must("es256_pk_from_ptr", key, point, len(point))
        return self.call("fido_assert_verify", assertion, index, -7, key)
