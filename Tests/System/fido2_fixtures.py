"""Fixtures for python-fido2's device tests, in the place of its own: those set a PIN, reset the device before, and run on no device that verifies
its owner by itself. Copied beside its tests as conftest.py; no test itself."""

import pytest

from fido2.client import DefaultClientDataCollector, Fido2Client, UserInteraction
from fido2.cose import CoseKey
from fido2.ctap2 import Ctap2
from fido2.ctap2.pin import ClientPin, PinProtocolV1, PinProtocolV2
from fido2.hid import CtapHidDevice


class Interaction(UserInteraction):
    """The owner is asked by the device. A PIN is asked for by nobody."""

    def request_pin(self, permissions, rp_id):
        raise AssertionError("a PIN is asked for")


class Manager:
    def __init__(self):
        self.device = next(CtapHidDevice.list_devices())

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
    return Manager()


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
