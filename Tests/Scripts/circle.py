"""A store of a circle, and its owner, for the tests in this directory, which are executable; this file is not, and no test."""

import base64
import hashlib

from device import call, check, equal, wait_for
from enclave import seal_passcodes

PASSCODE = "271828"


def encode(data):
    return base64.b64encode(data).decode()


def decode(text):
    return base64.b64decode(text)


# What the owner's program computes (docs/decisions/DEC-460.md).

def purpose_hash(purpose, data):
    return hashlib.sha256(f"io.touchstone circle {purpose} 1".encode() + b"\0" + data).digest()


def digits(challenge, reveal):
    """The six digits that both devices show."""
    return f"{int.from_bytes(purpose_hash('digits', challenge + reveal)[:8], 'big') % 1_000_000:06}"


def digest(application, challenge, reveal):
    """What the passcode is sealed for."""
    return purpose_hash("change", purpose_hash("application", application) + challenge + reveal).hex()


# One device's owner

def sync(device, method, /, **parameters):
    """(error or None, parameters)"""
    error, reply = call(device.connect(), f"Sync.{method}", **parameters)
    return error and error.removeprefix("io.touchstone.Sync."), reply


def done(device, method, /, **parameters):
    error, reply = sync(device, method, **parameters)
    equal((error, reply if error else {}), (None, {}), method)
    return reply


def with_passcode(device, method, purpose, passcode=PASSCODE, /, **parameters):
    """A call with the passcode that was sealed for this."""
    connection = device.connect()
    nonce = decode(call(connection, "Sync.GetNonce")[1]["nonce"])
    public_key = (device.state / "enclave/passcode.pub").read_bytes()
    sealed = seal_passcodes(public_key, [passcode], nonce + purpose.encode())
    error, reply = call(connection, f"Sync.{method}", passcode=sealed, **parameters)
    return error and error.removeprefix("io.touchstone.Sync."), reply


def agreed(*arguments, **parameters):
    equal(with_passcode(*arguments, **parameters), (None, {}), arguments[1])


def found(device, name):
    agreed(device, "Found", f"found circle {name}", name=name)


def status(device):
    return done(device, "GetStatus")


def members(device):
    return {member["name"]: member for member in status(device)["members"]}


class Store:
    """What is trusted with nothing: it keeps what devices give it, and gives it to them."""

    def __init__(self):
        self.objects, self.links, self.cursors = {}, [], {}
        self.taken = {}

    def put(self, device, after=None):
        """Takes what a device has for it, from where the device was last."""
        after = self.cursors.get(device.name) if after is None else after
        while True:
            reply = done(device, "ListObjects", **({} if after is None else {"after": after}))
            for item in reply["objects"]:
                self.objects.setdefault((item["kind"], item["member"], item["counter"]), item)
            for item in reply["dropped"]:
                self.objects.pop((item["kind"], item["member"], item["counter"]), None)
            if reply["next"] == (after or 0):
                break
            after = reply["next"]
        self.cursors[device.name] = after
        links = done(device, "ListLinks")["links"]
        self.links += links[len(self.links):]

    def get(self, device, chosen=None):
        """Gives a device the links, and all objects or the chosen ones; answers the verdicts by object."""
        error, _ = sync(device, "AddLinks", links=self.links)
        equal(error, None, "AddLinks")
        if sync(device, "ListObjects")[0] == "NoCircle":
            return {}
        known = self.taken.setdefault(device.name, set())
        chosen = [key for key in self.objects if key not in known] if chosen is None else chosen
        verdicts = {}
        for start in range(0, len(chosen), 1000):
            some = chosen[start:start + 1000]
            reply = done(device, "AddObjects", objects=[self.objects[key] for key in some])
            verdicts |= dict(zip(some, reply["verdicts"]))
        known |= {key for key, verdict in verdicts.items() if verdict != "waiting"}
        return verdicts

    def carry(self, *devices):
        """As long as anything is new."""
        for _ in range(12):
            before = (len(self.links), set(self.objects))
            for device in devices:
                if status(device).get("circle"):
                    self.put(device)
            for device in devices:
                if status(device).get("circle"):
                    self.get(device)
            if before == (len(self.links), set(self.objects)):
                return
        raise AssertionError("the devices do not come to rest")

    def carry_until(self, condition, what, *devices):
        """Carries until it is so: a record is made soon after an app's call, and not by it (SY-23)."""

        def carried():
            self.carry(*devices)
            return condition()

        return wait_for(carried, what)


def meet(member, applicant, name, store):
    """Application, challenge and reveal of two devices, carried; both show the same digits."""
    application = decode(done(applicant, "Apply", name=name)["application"])
    challenge = decode(done(member, "Challenge", application=encode(application))["challenge"])
    reveal = decode(done(applicant, "Reveal", challenge=encode(challenge))["reveal"])
    check(len(digits(challenge, reveal)) == 6, "six digits")
    return application, challenge, reveal


def join(member, applicant, name, store):
    application, challenge, reveal = meet(member, applicant, name, store)
    said = digest(application, challenge, reveal)
    agreed(
        member, "Approve", f"approve device {said}", application=encode(application), reveal=encode(reveal))
    store.put(member)
    store.get(member)
    agreed(applicant, "Join", f"join circle {said}", links=store.links)


# Apps

def item(account, secret=None, **more):
    attributes = {"class": {"string": "genp"}, "acct": {"string": account}, "svce": {"string": "sync"}}
    if secret is not None:
        attributes["v_Data"] = {"data": encode(secret.encode())}
    return attributes | more


SYNCHRONIZABLE = {"sync": {"boolean": True}}


def app_add(device, account, secret, **more):
    attributes = item(account, secret, **{**SYNCHRONIZABLE, "pdmn": {"string": "ak"}, **more})
    equal(call(device.connect(), "Keychain.Add", attributes=attributes)[0], None, f"add {account}")


def app_read(device, account):
    """The secret; None if there is no such item."""
    query = item(account, **SYNCHRONIZABLE, r_Data={"boolean": True})
    error, reply = call(device.connect(), "Keychain.CopyMatching", query=query)
    return None if error else decode(reply["items"][0]["data"]).decode()


def app_update(device, account, secret, **more):
    attributes = {"v_Data": {"data": encode(secret.encode())}, **more}
    error, reply = call(
        device.connect(), "Keychain.Update", query=item(account, **SYNCHRONIZABLE), attributes=attributes)
    equal((error, reply if error else {}), (None, {}), f"update {account}")


def app_delete(device, account):
    equal(call(device.connect(), "Keychain.Delete", query=item(account, **SYNCHRONIZABLE))[0], None, f"delete {account}")
