"""Fixtures for python-fido2's device tests, in the place of its own: those set a PIN, reset the device before, and run on no device that verifies
its owner by itself. Copied beside its tests as conftest.py; no test itself. The device is a socket, whose path is in the environment."""

import os
import socket

import pytest
from fido2.client import DefaultClientDataCollector, Fido2Client, UserInteraction
from fido2.cose import CoseKey
from fido2.ctap2 import Ctap2
from fido2.ctap2.pin import ClientPin, PinProtocolV1, PinProtocolV2
from fido2.hid import CtapHidDevice
from fido2.hid.base import CtapHidConnection, HidDescriptor


class Interaction(UserInteraction):
    """The owner is asked by the device. A PIN is asked for by nobody."""

    def request_pin(self, permissions, rp_id):
        raise AssertionError("a PIN is asked for")


class Packets(CtapHidConnection):
    def __init__(self, path):
        self.connection = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.connection.connect(path)

    def read_packet(self):
        return self.connection.recv(64)

    def write_packet(self, data):
        self.connection.sendall(data)

    def close(self):
        self.connection.close()


class Authenticator:
    def __init__(self):
        descriptor = HidDescriptor("socket", 0xF1D0, 0x7053, 64, 64, "Touchstone passkeys", None)
        self.device = CtapHidDevice(descriptor, Packets(os.environ["TOUCHSTONE_FIDO_PACKETS"]))

    @property
    def ctap2(self):
        return Ctap2(self.device)

    @property
    def info(self):
        return self.ctap2.info

    @property
    def client(self):
        return Fido2Client(
            self.device, client_data_collector=DefaultClientDataCollector("https://example.com"), user_interaction=Interaction())

    @staticmethod
    def has_ctap2():
        return True


@pytest.fixture(scope="session", autouse=True)
def dev_manager():
    # Where its tests have a token by a PIN, ours is by the owner.
    ClientPin.get_pin_token = lambda self, _, permissions=None, site=None: self.get_uv_token(permissions, site)
    return Authenticator()


@pytest.fixture(scope="session")
def factory_reset():
    """Passkeys of a test stay, because their owner alone removes them."""
    return lambda **_: None


@pytest.fixture
def device(dev_manager):
    return dev_manager.device


@pytest.fixture
def ctap2(dev_manager):
    return dev_manager.ctap2


@pytest.fixture
def client(dev_manager):
    return dev_manager.client


@pytest.fixture
def info(dev_manager):
    return dev_manager.info


@pytest.fixture
def printer():
    """What its interaction says goes nowhere."""
    class Silent:
        def print(self, *_):
            pass

        touch = print

    return Silent()


@pytest.fixture(params=[CoseKey.for_alg(number) for number in CoseKey.supported_algorithms()])
def algorithm(request, info):
    wanted = {"alg": request.param.ALGORITHM, "type": "public-key"}
    if wanted not in info.algorithms:
        pytest.skip(f"{request.param.__name__} is not offered")
    return wanted


@pytest.fixture(params=[PinProtocolV1, PinProtocolV2])
def pin_protocol(request, monkeypatch):
    monkeypatch.setattr(ClientPin, "PROTOCOLS", [request.param])
    return request.param()
