#!/usr/bin/env python3
"""CTAP 2.1 at touchstone-fido: tokens and credential management, with libfido2's programs, OpenSSH's, python-fido2 and a client of our own."""

import base64
import hashlib
import hmac
import json
import pathlib
import shutil
import subprocess
import tempfile

from bridges import Person
from device import LONGEST_WAIT, Device, check, equal, main, wait_for
from fido import (
    CANCEL,
    DESCRIPTOR,
    HASH,
    Channel,
    Service,
    SocketConnection,
    Typist,
    get_request,
    make_request,
    with_fido,
)
from sshserver import Server

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from fido2 import cbor
from fido2.cose import ES256
from fido2.ctap import CtapError
from fido2.ctap2 import Ctap2
from fido2.ctap2.credman import CredentialManagement
from fido2.ctap2.pin import ClientPin, PinProtocolV1, PinProtocolV2
from fido2.hid import CtapHidDevice
from fido2.webauthn import AuthenticatorData

MC, GA, CM = 1, 2, 4
STRANGER = " for a program on this computer (browsers do this)"


class Token:
    """What a channel gets with protocol two, by the standard alone; its status is 0 if it got it."""

    def __init__(self, channel, permissions, site="example.com"):
        self.channel, own = channel, ec.generate_private_key(ec.SECP256R1())
        theirs = channel.call(6, {1: 2, 2: 2})[1][1]
        point = ec.EllipticCurvePublicNumbers(int.from_bytes(theirs[-2], "big"), int.from_bytes(theirs[-3], "big"), ec.SECP256R1())
        agreed = own.exchange(ec.ECDH(), point.public_key())
        key = HKDF(algorithm=hashes.SHA256(), length=32, salt=bytes(32), info=b"CTAP2 AES key").derive(agreed)
        numbers = own.public_key().public_numbers()
        share = {1: 2, 3: -25, -1: 1, -2: numbers.x.to_bytes(32, "big"), -3: numbers.y.to_bytes(32, "big")}
        channel.ask(6, {1: 2, 2: 6, 3: share, 9: permissions} | ({10: site} if site else {}))
        self.key = key

    def got(self):
        self.status, answer = self.channel.answer()
        if self.status == 0:
            sealed = answer[2]
            equal(len(sealed), 48, "the length of a sealed token")
            decryptor = Cipher(algorithms.AES(self.key), modes.CBC(sealed[:16])).decryptor()
            self.secret = decryptor.update(sealed[16:]) + decryptor.finalize()
        return self

    def code(self, message=HASH):
        return hmac.digest(self.secret, message, "sha256")

    def make(self, site="example.com", options=None):
        return self.channel.call(1, make_request(site, options=options or {"rk": True}, _8=self.code(), _9=2))

    def get(self, site="example.com", options=None, allowed=None):
        return self.channel.call(2, get_request(site, options=options, allowed=allowed, _6=self.code(), _7=2))

    def manage(self, number, parameters=None):
        message = bytes([number]) + (cbor.encode(parameters) if parameters else b"")
        return self.channel.call(0x0A, {1: number} | ({2: parameters} if parameters else {}) | {3: 2, 4: self.code(message)})


def flags(answer):
    status, fields = answer
    return status, AuthenticatorData(fields[2]).flags if status == 0 else None


@with_fido
def every_token_is_one_verification(device, service, person):
    """FD-30, FD-35, FD-42, FD-55: each permission with a finger; one prompt, its words, and one passkey."""
    channel = Channel(service)
    for site in ("example.com", "two.example"):
        equal(channel.call(1, make_request(site, options={"rk": True}))[0], 0, "make")
    person.asked()
    rows = (
        (MC, "new.example", "create a passkey for “new.example”", lambda token: token.make("new.example"), 0x45),
        (MC, "two.example", "create a passkey for “two.example”, which may take the place of one that is here",
         lambda token: token.make("two.example"), 0x45),
        (GA, "example.com", "sign you in to “example.com”", lambda token: token.get(), 0x05),
        (GA, "example.com", "sign you in to “example.com”", lambda token: token.get(options={"up": True, "uv": False}), 0x05),
        (MC | GA, "two.example", "create a passkey for “two.example”, which may take the place of one that is here, or sign you in to “two.example”",
         lambda token: token.get("two.example"), 0x05))
    for permissions, site, words, use, wanted in rows:
        token = Token(channel, permissions, site).got()
        equal(token.status, 0, f"{permissions} at {site}")
        equal(person.prompts[0]["reason"], words + STRANGER, "the words")
        equal(person.prompts[0]["facts"][0], {"kind": "site", "text": f"“{site}”"}, "the site")
        equal(flags(use(token)), (0, wanted), f"{permissions} at {site}")
        equal(use(token)[0], 0x33, "once more")
        equal(person.asked(), 1, f"prompts for {permissions} at {site}")


@with_fido
def no_token_without_the_owner(device, service, person):
    """FD-33, FD-42, FD-55: a no, and wrong fingers. Three noes in all, because the device asks nobody after them."""
    channel = Channel(service)
    equal(channel.call(1, make_request(options={"rk": True}))[0], 0, "make")

    person.answer = "cancel"
    for permissions, site, request in ((MC, "other.example", (1, make_request("other.example"))), (CM, None, None)):
        person.asked()
        equal(Token(channel, permissions, site).got().status, 0x27, f"a no to {permissions}")
        equal(Token(channel, permissions, site).got().status, 0x27, f"right after a no to {permissions}")
        if request:
            equal(channel.call(*request)[0], 0x27, "the request that the token was for")
        equal(person.asked(), 1, "prompts")

    def misses(prompt):
        device.client("Agent").ConfirmShown(prompt=prompt["identifier"])
        for _ in range(3):
            device.client("Device").PresentFinger(finger="somebody's")

    person.answer, person.prompts = misses, []
    waiting = Token(channel, GA)
    # The finger counts no more, and the prompt wants the passcode.
    wait_for(lambda: len(person.prompts) > 1, "the prompt")
    device.client("Agent").Cancel(prompt=person.prompts[-1]["identifier"])
    equal(waiting.got().status, 0x27, "wrong fingers, and no passcode")


def a_cancel_takes_the_prompt_of_a_token():
    """FD-7, FD-55: the prompt goes, and so does the request; the next one gets its token."""
    with Device() as device:
        device.set_up("271828", "thumb")
        with Service(device) as service:
            person, channel = Person(device, "nothing"), Channel(service)
            waiting = Token(channel, MC)
            wait_for(lambda: person.prompts, "the prompt")
            channel.send(CANCEL)
            equal(waiting.got().status, 0x2D, "the request")
            check(any(payload == b"\2" for _, payload in channel.keepalives), "it hears that a person is waited for")
            wait_for(lambda: not device.status["hasPrompt"], "the prompt to go")
            person.answer = "finger"
            equal(flags(Token(channel, MC).got().make()), (0, 0x45), "the next one")


@with_fido
def a_lock_and_time_end_what_was_proven(device, service, person):
    """FD-30, FD-56: the enclave signs nothing with a token once the device was locked or 30 seconds are over, and nothing is kept."""
    channel = Channel(service)
    equal(channel.call(1, make_request(options={"rk": True}))[0], 0, "make")
    for permissions, use in ((GA, Token.get), (MC, Token.make)):
        token = Token(channel, permissions).got()
        equal(token.status, 0, "the token")
        kept = service.command("list", "--json")
        device.run("device", "lock")
        person.answer = "nothing"
        equal(use(token)[0], 0x33, "after a lock")
        equal(service.command("list", "--json"), kept, "what is kept")
        device.run("device", "unlock", input="271828\n")
        person.answer = "finger"
        equal(use(token)[0], 0x33, "the token is over")
    # So does time, by the enclave's own clock: touchstone-fido's says that a moment has passed.
    for seconds, wanted in ((31, (0x33, None)), (20, (0, 0x05))):
        token = Token(channel, GA).got()
        device.client("Device").AdvanceClock(seconds=seconds)
        equal(flags(token.get()), wanted, f"after {seconds} seconds")
    check("a token was not good any more" in service.log, service.log)


@with_fido
def what_does_not_fit_is_refused(device, service, person):
    """FD-56, FD-57: other codes, channels, sites and permissions; an older token; a flood; and then it works as before."""
    channel, other = Channel(service), Channel(service)
    equal(channel.call(1, make_request(options={"rk": True}))[0], 0, "make")
    token = Token(channel, GA).got()
    equal(token.make()[0], 0x33, "another permission")
    equal(token.get("two.example")[0], 0x33, "another site")
    equal(token.manage(1)[0], 0x33, "a list")
    equal(other.call(2, get_request(_6=token.code(), _7=2))[0], 0x33, "another channel")
    for number in range(100):
        code = hashlib.sha512(str(number).encode()).digest()[:1 + number % 64]
        equal(channel.call(2, get_request(_6=code, _7=1 + number % 2))[0], 0x33, "a wrong code")
    equal(channel.call(0x0A, {1: 3})[0], 0x30, "the next site of no list")
    equal(channel.call(0x0A, {1: 5})[0], 0x30, "the next passkey of no list")
    equal(channel.call(0x0A, {1: 2})[0], 0x36, "a list without a token")
    equal(person.asked(), 2, "prompts")
    equal(flags(token.get()), (0, 0x05), "the token is still good")
    older = Token(channel, GA).got()
    newer = Token(channel, GA).got()
    equal(older.get()[0], 0x33, "an older token")
    equal(flags(newer.get()), (0, 0x05), "the newest one")


def the_passcode_where_only_that_counts():
    """FD-31, FD-42, FD-55: --strict-uv, and a weak sensor; tokens and lists want the passcode, and wrong ones are 0x3F."""
    services = pathlib.Path(tempfile.mkdtemp(prefix="touchstone-pam."))
    try:
        (services / "camera").write_text("auth required pam_permit.so\n")
        for create, options in (((), ("--strict-uv",)), (("--sensor", "pam:camera", "--services", str(services)), ())):
            with Device(create=create) as device:
                device.set_up("271828")
                with Service(device, *options) as service:
                    channel = Channel(service)
                    with Typist(device, *["271828"] * 4):
                        equal(flags(Token(channel, MC).got().make()), (0, 0x45), "make")
                        equal(flags(Token(channel, GA).got().get()), (0, 0x05), "get")
                        listing = Token(channel, CM, None).got()
                        equal(listing.manage(1), (0, {1: 1, 2: 999}), "how many")
                        found = listing.manage(4, {1: hashlib.sha256(b"example.com").digest()})[1]
                        # The fourth passcode is for the removal.
                        equal(listing.manage(6, {2: found[7]})[0], 0, "removed")
                        equal(listing.manage(2)[0], 0x2E, "nothing is left")
    finally:
        shutil.rmtree(services)


@with_fido
def python_fido2_gets_tokens(device, service, person):
    """FD-55, FD-57: ClientPin and CredentialManagement, with both protocols."""
    for protocol in (PinProtocolV1(), PinProtocolV2()):
        ctap = Ctap2(CtapHidDevice(DESCRIPTOR, SocketConnection(service)))
        client, user = ClientPin(ctap, protocol), {"id": bytes([protocol.VERSION]), "name": "ada"}
        equal(client.get_uv_retries(), 25, "how often the owner may miss")

        def proof(permission, site, client=client, protocol=protocol):
            token = client.get_uv_token(permission, site)
            return {"pin_uv_param": protocol.authenticate(token, HASH), "pin_uv_protocol": protocol.VERSION}

        made = ctap.make_credential(
            HASH, {"id": "example.com"}, user, [{"type": "public-key", "alg": -7}], options={"rk": True},
            **proof(ClientPin.PERMISSION.MAKE_CREDENTIAL, "example.com"))
        equal(int(made.auth_data.flags), 0x45, "made")
        signed = ctap.get_assertion("example.com", HASH, **proof(ClientPin.PERMISSION.GET_ASSERTION, "example.com"))
        signed.verify(HASH, ES256(made.auth_data.credential_data.public_key))
        equal(int(signed.auth_data.flags), 0x05, "signed in")
        equal(person.asked(), 2, "prompts")
        management = CredentialManagement(ctap, protocol, client.get_uv_token(ClientPin.PERMISSION.CREDENTIAL_MGMT))
        equal(person.prompts[0]["reason"], "list your passkeys and change the names of their accounts" + STRANGER, "the words")
        sites = management.enumerate_rps()
        equal([site[3]["id"] for site in sites], ["example.com"], "sites")
        found = management.enumerate_creds(sites[0][4])
        check({"id": user["id"], "name": "ada"} in [each[6] for each in found], f"{found}")
        name = next(each[7] for each in found if each[6]["id"] == user["id"])
        management.update_user_info(name, {"id": user["id"], "name": "lovelace"})
        check({"id": user["id"], "name": "lovelace"} in [each[6] for each in management.enumerate_creds(sites[0][4])], "renamed")
        equal(person.asked(), 1, "one prompt for the list, and none for a name")
    # Only the one that has a token and the passcode removes.
    person.answer = "cancel"
    try:
        management.delete_cred(name)
    except CtapError as error:
        equal(error.code, CtapError.ERR.OPERATION_DENIED, "a no")
    else:
        raise AssertionError("it was removed without the passcode")
    equal((person.prompts[0]["phase"], person.prompts[0]["reason"]),
          ("passcode", "delete the passkey for “example.com” for ever" + STRANGER), "what is asked for")
    equal([each["account"] for each in json.loads(service.command("list", "--json"))], ["lovelace"] * 2, "what the owner's own list says")


class Programs:
    """libfido2's and OpenSSH's own programs, with the socket in the place of a device."""

    DEVICE = "/dev/hidraw-of-the-test"

    def __init__(self, device, service):
        self.device, library = device, device.work / "fido_socket.so"
        subprocess.run(["gcc", "-Wall", "-Werror", "-shared", "-fPIC", "-O1", "-o", library, pathlib.Path(__file__).parent / "fido_socket.c",
                        "-lfido2", "-ldl"], check=True)
        self.environment = device.environment | {"LD_PRELOAD": str(library), "FIDO_PACKETS": str(service.packets)}

    def run(self, *arguments, input="", status=0):
        done = subprocess.run([str(each) for each in arguments], env=self.environment, input=input, capture_output=True, text=True, timeout=LONGEST_WAIT)
        check(done.returncode == status, f"{arguments}: exit {done.returncode}, expected {status}\n{done.stdout}{done.stderr}")
        return done.stdout


@with_fido
def libfido2s_programs_use_tokens(device, service, person):
    """FD-11, FD-41, FD-55, FD-57: fido2-token, fido2-cred and fido2-assert of Debian, none of which asks for a PIN."""
    programs = Programs(device, service)
    node, run = programs.DEVICE, programs.run
    said = run("fido2-token", "-I", node)
    for wanted in ("version strings: FIDO_2_0, FIDO_2_1\n", "options: rk, up, uv, noplat, alwaysUv, credMgmt, pinUvAuthToken\n", "uv retries: 25\n"):
        check(wanted in said, f"{wanted}: {said}")
    equal(run("fido2-token", "-L").split(":")[0], node, "what is found")
    equal(person.asked(), 0, "prompts")
    data = base64.b64encode(HASH).decode()
    made = run("fido2-cred", "-M", "-r", "-v", node, input=f"{data}\nexample.com\nada\ndXNlcg==\n")
    equal([prompt["reason"] for prompt in person.prompts], ["create a passkey for “example.com”" + STRANGER], "one prompt, for the token")
    name, public = run("fido2-cred", "-V", "-v", input=made).split("\n", 1)
    (device.work / "public.pem").write_text(public)
    for options in (["-t", "uv=true"], []):
        signed = run("fido2-assert", "-G", "-r", *options, node, input=f"{data}\nexample.com\n")
        run("fido2-assert", "-V", "-p", "-v", device.work / "public.pem", "es256", input="\n".join(signed.splitlines()[:4]) + "\n")
    equal(person.asked(), 3, "one prompt for each")
    check("existing rk(s): 1\nremaining rk(s): 999" in run("fido2-token", "-I", "-c", node), "how many there are")
    site = base64.b64encode(hashlib.sha256(b"example.com").digest()).decode()
    equal(run("fido2-token", "-L", "-r", node).split()[1:], [site, "example.com"], "sites")
    equal(run("fido2-token", "-L", "-k", "example.com", node).split()[1:], [name, "(null)", "dXNlcg==", "es256", "uvopt"], "passkeys")
    run("fido2-token", "-S", "-c", "-i", name, "-k", "dXNlcg==", "-n", "lovelace", "-p", "Ada", node)
    equal(run("fido2-token", "-L", "-k", "example.com", node).split()[2], "Ada", "the name that it shows")
    check("lovelace" in service.command("list"), "the name in the owner's own list")
    equal({prompt["phase"] for prompt in person.prompts}, {"biometry"}, "what the prompts want")


def fido2_token_removes_after_the_passcode():
    """FD-17, FD-58: fido2-token -D -i, with a token and the passcode for this passkey; not without it."""
    with Device() as device:
        device.set_up("271828")
        with Service(device) as service:
            programs, channel = Programs(device, service), Channel(service)
            with Typist(device, *["271828"] * 4):
                status, made = channel.call(1, make_request("one.example", options={"rk": True}))
                equal(status, 0, "make")
                name = base64.b64encode(AuthenticatorData(made[2]).credential_data.credential_id).decode()
                programs.run("fido2-token", "-D", "-i", name, programs.DEVICE)
                equal(json.loads(service.command("list", "--json")), [], "what is left")


@with_fido
def openssh_with_tokens(device, service, person):
    """FD-14, FD-32, FD-41, FD-55: ssh-keygen makes keys, resident and with verify-required too, and ssh logs in with them."""
    programs = Programs(device, service)

    class Bench:
        run = staticmethod(programs.run)

    Bench.device = device
    kinds = (("plain", [], 1), ("resident", ["-O", "resident", "-O", "application=ssh:other"], 2),
             ("verified", ["-O", "resident", "-O", "verify-required"], 2))
    for kind, options, prompts in kinds:
        programs.run("ssh-keygen", "-q", "-t", "ecdsa-sk", "-N", "", *options, "-f", device.work / kind)
        # Where a key may be there already, ssh-keygen looks for it with a token first.
        equal(person.asked(), prompts, f"prompts for {kind}")
    with Server(Bench, "sshd-keys") as server:
        server.authorized.write_text("".join((device.work / f"{kind}.pub").read_text() for kind, _, _ in kinds))
        for kind, _, _ in kinds:
            said = programs.run(
                "ssh", "-F", "none", "-p", server.port, "-o", "StrictHostKeyChecking=no", "-o", "UserKnownHostsFile=/dev/null", "-o", "IdentitiesOnly=yes",
                "-o", "BatchMode=yes", "-i", device.work / kind, "root@127.0.0.1", "echo in")
            equal((said, person.asked()), ("in\n", 1), f"a login with {kind}")


main(
    every_token_is_one_verification, no_token_without_the_owner, a_cancel_takes_the_prompt_of_a_token, a_lock_and_time_end_what_was_proven,
    what_does_not_fit_is_refused, the_passcode_where_only_that_counts, python_fido2_gets_tokens, libfido2s_programs_use_tokens,
    fido2_token_removes_after_the_passcode, openssh_with_tokens)
