"""A member of a circle by docs/sync-format.md alone, for the tests in this directory; no test itself.

It shares no code with the product, and can write what no device writes.
"""

import hashlib
import hmac
import json
import os
import pathlib
import secrets
import struct
import time
from dataclasses import dataclass, field, replace

from circle import decode, digits, encode, purpose_hash
from device import LONGEST_WAIT, check, equal, wait_for
from enclave import hpke_open, hpke_seal, is_signature_of

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, utils, x25519
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

FOUND, ADD, REMOVE, EPOCH = 1, 2, 3, 4
MAXIMUM_COUNTER = 1 << 53
DAY = 24 * 3600 * 1000


def purpose(name):
    return f"io.touchstone circle {name} 1".encode() + b"\0"


def derive(key, name, more=b""):
    return HKDF(hashes.SHA256(), 32, None, purpose(name) + more).derive(key)


def aes(key, plain, context):
    nonce = secrets.token_bytes(12)
    return nonce + AESGCM(key).encrypt(nonce, plain, context)


def un_aes(key, sealed, context):
    return AESGCM(key).decrypt(sealed[:12], sealed[12:], context)


def short(data, width):
    """A list: its length in so many bytes, and the bytes."""
    return len(data).to_bytes(width, "little") + data


def now():
    return int(time.time() * 1000)


class Reader:
    def __init__(self, data):
        self.data = data

    def take(self, count):
        check(len(self.data) >= count, "it is too short")
        taken, self.data = self.data[:count], self.data[count:]
        return taken

    def number(self, width):
        return int.from_bytes(self.take(width), "little")

    def list(self, width):
        return self.take(self.number(width))


class Directory:
    """A directory store, as docs/sync-format.md says."""

    def __init__(self, path, circle="keychain"):
        self.path = pathlib.Path(path) / circle

    @staticmethod
    def base32(member):
        bits = f"{int.from_bytes(member, 'big'):0256b}0000"
        return "".join("abcdefghijklmnopqrstuvwxyz234567"[int(bits[n:n + 5], 2)] for n in range(0, 260, 5))

    def name(self, kind, member, number):
        """Of a link, whose member is None, of a record or of a head."""
        writer = "chain" if kind == "link" else kind[0] + self.base32(member)
        return self.path / "records" / writer / f"{number:016x}-{kind}"

    @staticmethod
    def padded(data):
        padded = short(data, 4)
        return padded + bytes(-len(padded) % 256)

    def put(self, kind, member, number, data, replaces=False):
        """False if there is something of this name."""
        name = self.name(kind, member, number)
        name.parent.mkdir(parents=True, exist_ok=True)
        return self.make(name, data if kind == "record" else self.padded(data), replaces)

    @staticmethod
    def make(name, content, replaces=False):
        draft = name.parent / f".{secrets.token_hex(8)}.new"
        draft.write_bytes(b"touchstone-sync1" + hashlib.sha256(content).digest() + content)
        try:
            if replaces:
                draft.rename(name)
            else:
                os.link(draft, name)
            return True
        except FileExistsError:
            return False
        finally:
            draft.unlink(missing_ok=True)

    def get(self, kind, member, number):
        """None for what is not there."""
        try:
            content = self.content(self.name(kind, member, number))
        except FileNotFoundError:
            return None
        return content if kind == "record" else Reader(content).list(4)

    @staticmethod
    def content(path):
        file = path.read_bytes()
        equal((file[:16], file[16:48]), (b"touchstone-sync1", hashlib.sha256(file[48:]).digest()), f"{path}")
        return file[48:]

    def links(self):
        links = []
        while link := self.get("link", None, len(links)):
            links.append(link)
        return links

    def objects(self, member):
        """The newest head of a member, and its records."""
        folders = [self.path / "records" / (letter + self.base32(member)) for letter in "hr"]
        heads, records = [[self.content(path) for path in sorted(folder.glob("*-*"))] for folder in folders]
        return [Reader(head).list(4) for head in heads], records

    def board(self, change=None):
        """What is on it; with a change as often as it takes."""
        while True:
            files = sorted((self.path / "heads").glob("[0-9a-f]" * 16))
            board = json.loads(self.content(files[-1])) if files else {}
            if change is None:
                return board
            change(board)
            board["change"] = secrets.token_hex(8)
            number = int(files[-1].name, 16) + 1 if files else 1
            if self.make(self.path / "heads" / f"{number:016x}", json.dumps(board).encode()):
                return board


class Keys:
    """A member's own keys, its name and its identifier."""

    def __init__(self, name):
        self.name = name
        self.signing = ec.generate_private_key(ec.SECP256R1())
        self.sealing = x25519.X25519PrivateKey.generate()
        numbers = self.signing.public_key().public_numbers()
        self.identity = (
            numbers.x.to_bytes(32, "big") + numbers.y.to_bytes(32, "big") + self.sealing.public_key().public_bytes_raw())
        self.member = purpose_hash("member", self.identity)

    def sign(self, name, data):
        r, s = utils.decode_dss_signature(self.signing.sign(purpose(name) + data, ec.ECDSA(hashes.SHA256())))
        return r.to_bytes(32, "big") + s.to_bytes(32, "big")

    def signed(self, name, data):
        return data + self.sign(name, data)


@dataclass
class Chain:
    """What the links so far say; each is checked as far as an honest member has to."""

    links: list = field(default_factory=list)
    members: dict = field(default_factory=dict)
    """Identity and name by identifier."""
    epochs: list = field(default_factory=list)
    """Commitment, earlier epoch, its sealed key, and boxes by member, of each."""

    def __init__(self, links):
        self.links, self.members, self.epochs = [], {}, []
        for link in links:
            self.append(link)

    @property
    def circle(self):
        return self.hash(0)

    def hash(self, number):
        return purpose_hash("link", self.links[number][:-64])

    @property
    def previous(self):
        return self.hash(len(self.links) - 1) if self.links else bytes(32)

    def append(self, link):
        head = Reader(link[:-64])
        version, kind, number, previous, signer = (
            head.number(1), head.number(1), head.number(4), head.take(32), head.take(32))
        equal((version, number, previous), (1, len(self.links), self.previous), "the link's place")
        body = Reader(head.list(2))
        equal(head.data, b"", "nothing is left over")
        if kind == FOUND:
            self.nonce = body.take(32)
            self.add(body)
        check(signer in self.members, "the signer is a member")
        digest = hashlib.sha256(purpose("link") + link[:-64]).digest()
        check(is_signature_of(b"\4" + self.members[signer][0][:64], link[-64:], digest), "the signature")
        if kind == ADD:
            member = self.add(body)
            body.take(1)
            self.epochs[-1][3][member] = body.take(80)
        if kind == REMOVE:
            del self.members[body.take(32)]
            body.take(8)
        if kind in (FOUND, EPOCH) or kind == REMOVE and body.data:
            commitment, earlier, sealed = body.take(32), None, None
            if body.number(1):
                earlier, sealed = body.number(4), body.take(60)
            self.epochs.append((commitment, earlier, sealed, {body.take(32): body.take(80) for _ in range(body.number(1))}))
            equal(list(self.epochs[-1][3]), sorted(self.members), "boxes for the members")
        equal(body.data, b"", "nothing is left over of the body")
        self.links.append(link)

    def add(self, body):
        identity = body.take(96)
        member = purpose_hash("member", identity)
        self.members[member] = (identity, body.list(1).decode())
        return member

    def context(self, epoch):
        return self.nonce + struct.pack("<I", epoch)

    def keys(self, me):
        """The keys of the epochs that a member can open, by number."""
        keys = {}
        for number in reversed(range(len(self.epochs))):
            commitment, earlier, sealed, boxes = self.epochs[number]
            if number not in keys and me.member in boxes:
                box = boxes[me.member]
                keys[number] = hpke_open(
                    me.sealing, box[:32], box[32:], purpose("epoch key"), self.context(number) + me.member)
            if number in keys:
                equal(derive(keys[number], "epoch commitment"), commitment, "the epoch's commitment")
                if earlier is not None:
                    keys[earlier] = un_aes(
                        derive(keys[number], "earlier epoch"), sealed, self.context(number) + self.context(earlier))
        return keys

    # links, by whoever signs them

    def link(self, signer, kind, body, number=None, previous=None, name=None):
        head = struct.pack("<BBI", 1, kind, len(self.links) if number is None else number)
        head += (self.previous if previous is None else previous) + (signer.member if name is None else name)
        return signer.signed("link", head + short(body, 2))

    def box(self, key, epoch, identity):
        member = purpose_hash("member", identity)
        return b"".join(hpke_seal(identity[64:], key, purpose("epoch key"), self.context(epoch) + member))

    def adding(self, signer, new, name=None, is_recovery_key=0):
        epoch = len(self.epochs) - 1
        name = new.name.encode() if name is None else name
        body = new.identity + short(name, 1) + bytes([is_recovery_key])
        return self.link(signer, ADD, body + self.box(self.keys(signer)[epoch], epoch, new.identity))

    def start(self, signer, without, earlier=None, boxes=None):
        """A new epoch, without this member."""
        number, key = len(self.epochs), secrets.token_bytes(32)
        earlier = number - 1 if earlier is None else earlier
        sealed = aes(
            derive(key, "earlier epoch"), self.keys(signer)[number - 1], self.context(number) + self.context(earlier))
        left = sorted(member for member in self.members if member != without)
        boxes = [member + self.box(key, number, self.members[member][0]) for member in left] if boxes is None else boxes
        return derive(key, "epoch commitment") + struct.pack("<BI", 1, earlier) + sealed + bytes([len(boxes)]) + b"".join(boxes)

    def removing(self, signer, member, last, start=None):
        start = self.start(signer, member) if start is None else start
        return self.link(signer, REMOVE, member + struct.pack("<Q", last) + start)


@dataclass
class Item:
    """The content of a record; `value` None makes a tombstone."""

    account: str
    value: bytes
    group: bytes
    service: str = "sync test"
    item_class: str = "genp"
    protection: int = 6
    code: str = "ak"
    key: bytes = field(default_factory=lambda: secrets.token_bytes(32))
    binding: bytes = None
    attributes: bytes = None
    """Encoded; None: as the item has them."""
    more: bytes = b""
    secret: bytes = None
    name: tuple = None
    """Of the primary key: account, service; None: its own."""

    def __post_init__(self):
        if self.binding is None:
            self.binding = self.item_class.encode() + secrets.token_bytes(32)

    @staticmethod
    def attribute(key, kind, value):
        return short(key.encode(), 1) + bytes([kind]) + short(value, 4)

    @property
    def encoded(self):
        if self.attributes is not None:
            return self.attributes
        text = {"acct": self.account, "svce": self.service}
        return b"".join(self.attribute(key, 0, value.encode()) for key, value in text.items()) + self.attribute(
            "agrp", 0, self.group) + self.attribute("sync", 2, struct.pack("<q", 1)) + self.attribute(
            "accc", 6, bytes(8) + self.code.encode()) + self.more

    @property
    def content(self):
        if self.value is None:
            return b"\0"
        return bytes([1, self.protection]) + short(self.group, 2) + short(self.encoded, 4) + short(self.binding, 2) + self.key

    @property
    def ciphertext(self):
        if self.value is None:
            return secrets.token_bytes(48)
        if self.secret is not None:
            return self.secret
        plain = short(self.value, 4)
        return aes(self.key, plain + bytes(-len(plain) % 20), b"secret" + self.binding)

    def record_name(self, first_key):
        account, service = self.name or (self.account, self.service)
        message = short(self.item_class.encode(), 1) + b"".join(
            short(value, 4) for value in (account.encode(), service.encode(), self.group, b"1", b"", b""))
        return hmac.digest(derive(first_key, "name"), message, "sha256")


@dataclass
class Version:
    """What a sum has of a record."""

    name: bytes
    counter: int
    clock: int
    is_tombstone: bool
    bytes: bytes


class Member(Keys):
    """A member with what it wrote."""

    def __init__(self, name, chain):
        super().__init__(name)
        self.chain, self.written, self.counter, self.sequence = chain, [], 0, 0

    def epoch_key(self, epoch=None):
        keys = self.chain.keys(self)
        return keys[max(keys) if epoch is None else epoch]

    def write(self, item, clock=None, counter=None, epoch=None, key=None, member=None, name=None, context=None, kept=True):
        """A record, which is remembered if it is `kept`."""
        if counter is None:
            self.counter += 1
            counter = self.counter
        epoch = max(self.chain.keys(self)) if epoch is None else epoch
        key = self.epoch_key(epoch) if key is None else key
        clock = now() if clock is None else clock
        name = item.record_name(self.epoch_key(0)) if name is None else name
        member = self.member if member is None else member
        header = name + struct.pack("<I", epoch) + member + struct.pack("<QQ", counter, clock << 16)
        secret, content = item.ciphertext, item.content
        whole = 1 + len(header) + 4 + 28 + len(content) + 4 + len(secret) + 64
        content += bytes(max(-whole % 256, 1024 - whole))
        sealed = aes(
            derive(key, "record", member + struct.pack("<Q", counter)), content,
            (header if context is None else context) + hashlib.sha256(secret).digest())
        record = self.signed("record", b"\1" + header + short(sealed, 4) + short(secret, 4))
        if kept:
            self.written.append(Version(name, counter, clock << 16, item.value is None, record))
        return record

    def sum(self, versions):
        data = b"".join(
            one.name + struct.pack("<QQB", one.counter, one.clock, one.is_tombstone)
            for one in sorted(versions, key=lambda one: one.counter))
        return hmac.digest(derive(self.epoch_key(), "sum"), data, "sha256")

    def newest(self):
        """Of each name that it wrote: it has seen nothing of others."""
        newest = {}
        for one in sorted(self.written, key=lambda one: (one.clock, one.counter)):
            newest[one.name] = one
        return newest.values()

    def head(self, **lies):
        """The next head. What it says can be told by name: member, sequence, counter, time, epoch, link, link_hash, sum, newest_sum, seen, stable."""
        if "sequence" not in lies:
            self.sequence += 1
        says = {
            "member": self.member, "sequence": self.sequence, "counter": self.counter, "time": now(),
            "epoch": max(self.chain.keys(self)), "link": len(self.chain.links) - 1, "link_hash": self.chain.previous,
            "seen": {self.member: self.counter}, "stable": {},
        } | lies
        sums = says.get("sum", self.sum(self.written)) + says.get("newest_sum", self.sum(self.newest()))
        counters = b"".join(
            struct.pack("<H", len(some)) + b"".join(member + struct.pack("<Q", counter) for member, counter in some)
            for some in (says[key] if isinstance(says[key], list) else sorted(says[key].items()) for key in ("seen", "stable")))
        return self.signed("head", b"\1" + says["member"] + struct.pack(
            "<QQQII", says["sequence"], says["counter"], says["time"], says["epoch"], says["link"]) + says["link_hash"]
            + sums + counters)

    def object(self, kind, data, counter=None, member=None):
        """As io.touchstone.Sync has it."""
        number = int.from_bytes(data[69:77] if kind == "record" else data[33:41], "little") if counter is None else counter
        return {"kind": kind, "member": (member or self.member).hex(), "counter": number, "bytes": encode(data)}

    def open(self, record):
        """Header, attributes by key, and the value, which is None for a tombstone."""
        reader = Reader(record[1:-64])
        header = reader.take(84)
        name, epoch, member = header[:32], int.from_bytes(header[32:36], "little"), header[36:68]
        content, secret = reader.list(4), reader.list(4)
        digest = hashlib.sha256(purpose("record") + record[:-64]).digest()
        check(is_signature_of(b"\4" + self.chain.members[member][0][:64], record[-64:], digest), "the record's signature")
        key = derive(self.epoch_key(epoch), "record", member + header[68:76])
        plain = Reader(un_aes(key, content, header + hashlib.sha256(secret).digest()))
        if plain.number(1) == 0:
            return name, {}, None
        plain.take(1)
        plain.list(2)
        rest, attributes = Reader(plain.list(4)), {}
        while rest.data:
            attribute, _, value = rest.list(1).decode(), rest.number(1), rest.list(4)
            attributes[attribute] = value
        binding, item_key = plain.list(2), plain.take(32)
        value = Reader(un_aes(item_key, secret, b"secret" + binding)).list(4) if secret else b""
        return name, attributes, value

    # joining

    @classmethod
    def joins(cls, name, store, approve):
        """A new member. `approve` is told the digits, and has a real device's owner approve it."""
        me, number = cls(name, None), secrets.token_bytes(32)
        application = b"\1" + me.identity + purpose_hash("commitment", number + me.member) + short(name.encode(), 1)

        def put(board):
            board["joining"] = {"application": encode(application)}

        store.board(put)
        with approve() as approval:
            challenge = decode(wait_for(lambda: store.board().get("joining", {}).get("challenge"), "a challenge"))
            equal(challenge[:33], b"\1" + purpose_hash("application", application), "what is challenged")
            store.board(lambda board: board["joining"].update(reveal=encode(number)))
            approval(digits(challenge, number))
        link = wait_for(lambda: store.board().get("joining", {}).get("link"), "the link", LONGEST_WAIT)
        me.chain = Chain(store.links())
        equal(me.chain.circle, challenge[33:65], "the circle of the challenge")
        equal(me.chain.links[link][38:70], challenge[65:97], "the approver of the challenge")
        check(me.member in me.chain.members, "it is a member")
        store.board(lambda board: board.pop("joining"))
        return me


def changed(item, **changes):
    return replace(item, **changes)
