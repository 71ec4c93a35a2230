#!/usr/bin/env python3
"""touchstone-pkcs11 with the programs that speak PKCS#11, through p11-kit's client, and with programs that speak nonsense.

Written for p11-kit 0.24.1, OpenSC 0.23, GnuTLS 3.7, libp11's engine 0.4.12, NSS 3.87, curl 7.88 and OpenSSH 9.2. Servers are on loopback.
"""

import glob
import hashlib
import os
import re
import shutil
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
from contextlib import contextmanager

import p11rpc
from bridges import BRIDGES, Person
from completing import completions
from device import LONGEST_WAIT, Device, check, confirm, equal, main, wait_for
from p11rpc import CURVE, Client, Refused, array, number, template, word
from sshserver import Server

PROGRAM = BRIDGES / "touchstone-pkcs11"
FINGER, PIN = "thumb", "swordfish-7312"
VERSIONS = {
    "p11-kit-modules": "0.24.1", "opensc": "0.23.0", "gnutls-bin": "3.7.9", "libengine-pkcs11-openssl": "0.4.12", "libnss3-tools": "3.87",
    "curl": "7.88.1", "openssl": "3.0", "openssh-client": "9.2"}
CANCELED, FAILED, NOT_LOGGED_IN, DEVICE_ERROR, PROHIBITED, NOT_SUPPORTED = 0x50, 0x6, 0x101, 0x30, 0x1B, 0x54
MODULES = "/usr/share/p11-kit/modules"

if not os.access(PROGRAM, os.X_OK):
    sys.exit(f"{PROGRAM} is not there: run make bridges")
MODULE = next(iter(glob.glob("/usr/lib/*/pkcs11/p11-kit-client.so")), None)
if MODULE is None:
    sys.exit("p11-kit-client.so is not there: install p11-kit-modules (script/install-packages test does)")
# p11-kit reads no settings of root's own: root sees the module as one of the machine, in mounts that nobody else has.
if os.geteuid() == 0 and "TOUCHSTONE_TEST_MOUNTS" not in os.environ:
    os.execvpe("unshare", ["unshare", "--mount", "--propagation", "private", sys.executable, *sys.argv], os.environ | {"TOUCHSTONE_TEST_MOUNTS": "1"})


class Bench:
    """A device with a finger, its owner, and the token."""

    def __init__(self, device):
        self.device, self.work = device, device.work
        self.socket = device.work / "pkcs11.sock"
        apps = device.state / "apps.d"
        apps.mkdir(mode=0o700, exist_ok=True)
        (apps / "touchstone-pkcs11.conf").write_text(f"[Application]\nIdentity={PROGRAM}\nName=PKCS#11 token\nActsForClients=true\n")
        self.environment = device.environment | {
            "P11_KIT_SERVER_ADDRESS": f"unix:path={self.socket}", "TOUCHSTONE_PKCS11_SOCKET": str(self.socket), "LC_ALL": "C.UTF-8"}
        # For those that load libp11's engine.
        self.engine = self.environment | {"OPENSSL_CONF": str(device.work / "openssl.cnf")}
        # What 'touchstone bridge enable pkcs11' writes.
        modules = device.work / "config/pkcs11/modules"
        modules.mkdir(parents=True)
        (modules / "touchstone.module").write_text(f"remote: unix:path={self.socket}\n")
        if os.geteuid() == 0:
            subprocess.run(["mount", "--bind", modules, MODULES], check=True)
        (device.work / "openssl.cnf").write_text(
            "openssl_conf = all\n[all]\nengines = engines\n[engines]\npkcs11 = pkcs11\n[pkcs11]\nengine_id = pkcs11\n"
            f"MODULE_PATH = {MODULE}\ninit = 0\n[req]\ndistinguished_name = name\n[name]\n")
        self.owner = Person(device)
        self.bridge = subprocess.Popen(
            [str(PROGRAM), "--socket", str(self.socket)], env=device.environment, stdout=subprocess.PIPE,
            stderr=open(device.work / "bridge.log", "wb"), text=True)
        check(self.bridge.stdout.readline().startswith("ready: "), f"the bridge's first line: {self.log}")

    @property
    def log(self):
        return (self.work / "bridge.log").read_text()

    def run(self, *command, status=0, input=None, text=True, **settings):
        settings.setdefault("cwd", self.work)
        result = subprocess.run(
            [str(each) for each in command], env=settings.pop("env", self.environment), input=input, capture_output=True, text=text,
            timeout=LONGEST_WAIT, **settings)
        if status is not None:
            equal(result.returncode, status, f"{command}: {result.stdout}{result.stderr}\n{self.log}")
        return result

    def command(self, *arguments, **options):
        return self.run(PROGRAM, *arguments, **options)

    def tool(self, *arguments, **options):
        return self.run("pkcs11-tool", "--module", MODULE, *arguments, **options)

    def took(self, body, answer="finger"):
        """What `body` returns, and the prompts that it took."""
        self.owner.answer, before = answer, len(self.owner.prompts)
        try:
            return body(), self.owner.prompts[before:]
        finally:
            self.owner.answer = "finger"

    def public_key(self, name):
        """The file with a key's public half, as `show` says it."""
        text = self.command("show", name).stdout
        file = self.work / f"{name}.public.pem"
        file.write_text(text[text.index("-----BEGIN PUBLIC KEY-----"):].split("-----END PUBLIC KEY-----")[0] + "-----END PUBLIC KEY-----\n")
        return file

    def verify(self, name, digest, signature):
        """Whether openssl takes r and s for a signature of the digest."""
        def integer(data):
            data = data.lstrip(b"\0")
            data = b"\0" + data if not data or data[0] & 0x80 else data
            return b"\x02" + bytes([len(data)]) + data
        equal(len(signature), 64, "bytes of a signature")
        body = integer(signature[:32]) + integer(signature[32:])
        (self.work / "check.sig").write_bytes(b"\x30" + bytes([len(body)]) + body)
        (self.work / "check.digest").write_bytes(digest)
        return self.run(
            "openssl", "pkeyutl", "-verify", "-pubin", "-inkey", self.public_key(name), "-in", "check.digest", "-sigfile", "check.sig",
            status=None).returncode == 0

    def certify(self, name):
        """A certificate for the key, from an authority of the test's own; returns the authority's file."""
        authority = self.work / "authority.pem"
        if not authority.exists():
            self.run("openssl", "ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", "authority.key")
            self.run("openssl", "req", "-x509", "-new", "-key", "authority.key", "-subj", "/CN=Authority", "-days", "30", "-out", authority,
                     "-addext", "basicConstraints=critical,CA:true")
        request = self.work / f"{name}.csr"
        self.run(
            "openssl", "req", "-new", "-engine", "pkcs11", "-keyform", "engine", "-key", f"pkcs11:token=Touchstone;object={name};type=private",
            "-subj", f"/CN={name}", "-out", request, env=self.engine)
        certificate = self.work / f"{name}.pem"
        self.run("openssl", "x509", "-req", "-in", request, "-CA", authority, "-CAkey", "authority.key", "-CAcreateserial", "-days", "30",
                 "-out", certificate)
        self.command("add", name, certificate)
        return authority

    def clear(self):
        for line in self.command("list").stdout.splitlines():
            if not line.startswith(" "):
                self.command("remove", line)


def port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def the_versions_are_those_it_was_written_for(bench):
    # TB-1: said, and no failure.
    for package, version in VERSIONS.items():
        found = bench.run("dpkg-query", "--show", "--showformat", "${Version}", package, status=None).stdout
        if version not in found:
            print(f"    {package} is {found or 'not installed'}, the test was written for {version}")


def keys_are_made_shown_and_removed(bench):
    # PK-11, PK-20.
    equal(bench.command("list").stdout, "", "the keys before")
    said = bench.command("create", "work certificate").stdout
    check("pkcs11:token=Touchstone;object=work%20certificate" in said and "userPresence" in said, said)
    equal(bench.command("list").stdout, said, "the list")
    listed = bench.tool("-O").stdout
    check(listed.count("label:      work certificate") == 2 and "Private Key Object; EC" in listed, listed)
    identifier = re.search(r"ID: +([0-9a-f]{40})", said)[1]
    check(listed.count(identifier) == 2, f"{identifier} in {listed}")
    point = bytes.fromhex(re.search(r"EC_POINT: +0441([0-9a-f]{130})", listed)[1])
    equal(hashlib.sha1(point).hexdigest(), identifier, "the ID is the SHA-1 of the point")
    text = bench.run("openssl", "pkey", "-pubin", "-in", bench.public_key("work certificate"), "-text", "-noout").stdout
    check(point.hex() in re.sub(r"[\s:]", "", text), text)
    bench.command("create", "laptop")
    offered = completions(PROGRAM, "touchstone-pkcs11", "remove", "--socket", str(bench.socket), "lap", environment=bench.device.environment)
    equal(offered, ["laptop"], "what the Tab key offers after touchstone-pkcs11 remove")
    bench.command("remove", "laptop")
    # And their twins.
    check("already" in bench.command("create", "work certificate", status=1).stderr, "a second one of this name")
    for name in ("", "-x", " x", "x" * 65, "a\x1b[2Jb"):
        bench.command("create", "--", name, status=64)
    check("no key" in bench.command("show", "nobody", status=1).stderr, "a key that is not there")
    check("no key" in bench.command("remove", "nobody", status=1).stderr, "a key that is not there")
    bench.command("set", "work certificate", "--reuse", "301", status=64)
    bench.command("remove", "work certificate")
    equal(bench.command("list").stdout, "", "the keys after")
    check("Private Key" not in bench.tool("-O").stdout, "the objects after")
    equal(oct(os.stat(bench.socket).st_mode & 0o777), "0o600", "the socket's mode")
    check("listens there already" in bench.run(PROGRAM, "--socket", bench.socket, status=64).stderr, "a second bridge")


def only_the_owners_command_manages(bench):
    # PK-20: the same request of another program.
    bench.command("create", "mine")
    with Client(bench.socket) as client:
        for request in (b'{"list":{}}', b'{"remove":{"name":"mine"}}'):
            refused(lambda request=request: client.call(0x54530001, array(request)), NOT_SUPPORTED, "management by another program")
    check("mine" in bench.command("list").stdout, "the key is there")


def refused(body, code, what):
    try:
        body()
    except Refused as error:
        equal(hex(error.code), hex(code), what)
    else:
        raise AssertionError(f"{what}: not refused")


def digests_are_signed_with_the_finger(bench):
    # PK-14, PK-17: of any length, and the prompt names who asks.
    bench.command("create", "signer")
    for count in (20, 32, 48, 64):
        data = os.urandom(count)
        (bench.work / "digest").write_bytes(data)
        def sign(status=0):
            return bench.tool("--sign", "-m", "ECDSA", "--label", "signer", "-i", "digest", "-o", "signature", status=status)
        _, prompts = bench.took(sign)
        equal([prompt["client"]["identifier"] for prompt in prompts], [shutil.which("pkcs11-tool")], "who asks")
        check("“signer”" in prompts[0]["reason"] and "digest" in prompts[0]["reason"], prompts[0]["reason"])
        equal(prompts[0]["facts"], [{"kind": "item", "text": "key signer"}], "the facts")
        signature = (bench.work / "signature").read_bytes()
        check(bench.verify("signer", data[:32].rjust(32, b"\0"), signature), f"the signature of {count} bytes")
        check(not bench.verify("signer", os.urandom(32), signature), "a signature of other bytes")
    # Cancelled: no signature, and no second prompt at once (BR-29).
    os.unlink(bench.work / "signature")
    began = time.monotonic()
    result, prompts = bench.took(lambda: sign(status=1), "cancel")
    equal(len(prompts), 1, "prompts of the cancelled one")
    # Whatever C_Sign answers, pkcs11-tool tries once more in parts, which plain ECDSA does not have.
    check("C_SignUpdate failed: rv = CKR_FUNCTION_NOT_SUPPORTED" in result.stderr, f"{result.stdout}{result.stderr}")
    check(not (bench.work / "signature").exists() or not (bench.work / "signature").read_bytes(), "no signature")
    result, prompts = bench.took(lambda: sign(status=None))
    # The device asks again after 10 seconds.
    if time.monotonic() - began < 8:
        equal((result.returncode, prompts), (1, []), "right after a cancel")
        check(not (bench.work / "signature").exists() or not (bench.work / "signature").read_bytes(), "no signature")
    check("no signature: cancelled" in bench.log, bench.log)
    with Client(bench.socket) as client:
        key = client.private_key("signer")
        for data in (b"", b"x" * 65):
            _, prompts = bench.took(lambda data=data: refused(lambda: client.sign(key, data), 0x21, f"{len(data)} bytes"))
            equal(prompts, [], "prompts for what cannot be signed")
        # What p11-kit 0.24 does not let through, and later ones do.
        signature, prompts = bench.took(lambda: client.sign(key, b"the text itself", p11rpc.ECDSA_SHA256))
        equal(len(prompts), 1, "prompts of ECDSA with SHA-256")
        check(bench.verify("signer", hashlib.sha256(b"the text itself").digest(), signature), "the signature with SHA-256")


def an_approval_is_good_for_the_same_program_alone(bench):
    # PK-17: 0 seconds, unless its owner says more.
    bench.command("create", "again")
    (bench.work / "digest").write_bytes(b"d" * 32)
    def sign():
        bench.tool("--sign", "-m", "ECDSA", "--label", "again", "-i", "digest", "-o", "signature")
    def twice():
        sign()
        sign()
    equal(len(bench.took(twice)[1]), 2, "prompts of two without reuse")
    bench.command("set", "again", "--reuse", "60")
    equal(len(bench.took(twice)[1]), 1, "prompts of two with reuse")
    def another():
        with Client(bench.socket) as client:
            client.sign(client.private_key("again"), b"d" * 32)
    equal(len(bench.took(another)[1]), 1, "prompts of another program")
    bench.command("set", "again", "--reuse", "0")
    equal(len(bench.took(sign)[1]), 1, "prompts after it was taken back")


def a_locked_device_is_unlocked_first(bench):
    # PK-16: asked once to unlock, then to approve; who does neither is not logged in.
    bench.command("create", "locked")
    def sign():
        with Client(bench.socket) as client:
            # Keys are listed while it is locked.
            return client.sign(client.private_key("locked"), b"d" * 32)
    bench.device.run("device", "lock")
    _, prompts = bench.took(lambda: refused(sign, CANCELED, "a cancelled unlock"), "cancel")
    equal([prompt.get("phase") for prompt in prompts], ["unlock"], "prompts of the cancelled unlock")
    def unlock(prompt):
        if prompt.get("phase") == "unlock":
            confirm(bench.device, {"prompt": prompt})
            bench.device.run("device", "unlock", input="271828\n")
            return None
        return "finger"
    time.sleep(10.5)  # After a cancel the same is refused for ten seconds (BR-29).
    signature, prompts = bench.took(sign, unlock)
    equal((len(signature), prompts[0].get("phase"), len(prompts)), (64, "unlock", 2), "the signature of one that was unlocked")


def pkcs11_tools_own_tests_pass(bench):
    # PK-2: what p11-kit's client passes on of our mechanisms.
    names = re.findall(r"^  ([\w-]+),", bench.tool("--list-mechanisms").stdout, re.M)
    equal(sorted(names), ["ECDSA", "ECDSA-KEY-PAIR-GEN"], "mechanisms")
    # PK-30: with the refusals that are right.
    bench.command("create", "tests")
    said = bench.tool("--test", "--login", "--pin", PIN).stdout
    for line in ("RNG not available", "Signatures: not implemented", "Verify: not implemented", "Decrypt: not implemented", "No errors"):
        check(line in said, f"{line} in {said}")
    result = bench.tool(
        "--test-ec", "--login", "--pin", PIN, "--id", "77", "--label", "made by a test", "--key-type", "EC:prime256v1", "--session-rw", status=1)
    check("Key pair generated" in result.stdout and "never extractable" in result.stdout, result.stdout)
    # Refused: another ID for a key that is there (PK-15), and SHA-1, which p11-kit's client keeps to itself.
    for line in ("C_SetAttributeValue(priv_key) failed: rv = unknown PKCS11 error (0x1b)", "C_SignInit failed: rv = CKR_MECHANISM_INVALID"):
        check(line in result.stderr, f"{line} in {result.stderr}")
    said = bench.tool("--test-fork").stdout
    check("Calling C_Initialize in forked child" in said, said)
    # It waits 30 seconds for threads that are not done when the rest is: the finger takes its time.
    (bench.work / "digest").write_bytes(b"d" * 32)
    result, _ = bench.took(lambda: bench.tool(
        "--test-threads", "ILGISLT0", "--test-threads", "ILGISLT0", "--sign", "-m", "ECDSA", "--label", "tests", "-i", "digest", "-o", "signature"))
    check("all threads have ended with CKR_OK" in result.stdout + result.stderr, result.stdout + result.stderr)


def programs_make_keys_that_the_enclave_keeps(bench):
    # PK-14, PK-15: made for the client, found by its ID, and not to be destroyed by it.
    said = bench.tool("--keypairgen", "--key-type", "EC:prime256v1", "--label", "made", "--id", "0102").stdout
    check("label:      made" in said and "ID:         0102" in said, said)
    listed = bench.command("list").stdout
    check(f"made by:      {shutil.which('pkcs11-tool')}" in listed and "ID:           0102" in listed, listed)
    (bench.work / "digest").write_bytes(b"d" * 32)
    _, prompts = bench.took(lambda: bench.tool("--sign", "-m", "ECDSA", "--id", "0102", "-i", "digest", "-o", "signature"))
    equal(len(prompts), 1, "prompts for the key that was made")
    check(bench.verify("made", b"d" * 32, (bench.work / "signature").read_bytes()), "the signature")
    for kind in ("privkey", "pubkey"):
        result = bench.tool("--delete-object", "--type", kind, "--id", "0102", status=1)
        check("(0x1b)" in result.stderr, f"{result.stdout}{result.stderr}")
    check("made" in bench.command("list").stdout, "the key is there")
    result = bench.tool("--keypairgen", "--key-type", "EC:secp384r1", "--label", "other", status=1)
    check("(0x140)" in result.stderr, f"{result.stdout}{result.stderr}")
    result = bench.tool("--init-token", "--label", "x", "--so-pin", PIN, status=1)
    check("CKR_FUNCTION_NOT_SUPPORTED" in result.stdout + result.stderr, f"{result.stdout}{result.stderr}")
    with Client(bench.socket) as client:
        # The owner's command has room for its own, whatever programs make.
        def make(label):
            return client.call(
                59, number(client.session), word(p11rpc.EC_KEY_PAIR_GEN), word(0xFFFFFFFF), template((0x180, CURVE)),
                template((1, True), (3, label.encode())))
        refused(lambda: make("made"), 0x13, "a second key of this name")
        for index in range(63):
            make(f"flood {index}")
        refused(lambda: make("one too many"), 0x31, "the 65th key of programs")
        key = client.private_key("made")
        refused(lambda: client.call(22, number(client.session), number(key)), PROHIBITED, "C_DestroyObject")
        refused(lambda: client.call(20, number(client.session), template((0, 3))), PROHIBITED, "C_CreateObject")
        refused(lambda: client.call(25, number(client.session), number(key), template((3, b"x"))), PROHIBITED, "C_SetAttributeValue")
        values = client.call(24, number(client.session), number(key), word(1), word(0x11), word(0))
        equal(struct.unpack(">Q", values[-8:])[0], 0x11, "CKA_VALUE of a private key is sensitive")
    bench.command("create", "owner's own")


def gnutls_and_nss_see_the_token(bench):
    # PK-3, PK-30: through p11-kit's modules, of which none is ours.
    bench.command("create", "seen")
    bench.certify("seen")
    listed = bench.run("p11tool", "--list-tokens").stdout
    check("Label: Touchstone" in listed, listed)
    url = re.search(r"URL: (pkcs11:\S*Touchstone\S*)", listed)[1]
    listed = bench.run("p11tool", "--list-all", url).stdout
    for kind in ("X.509 Certificate (EC/ECDSA-SECP256R1)", "Private key (EC/ECDSA-SECP256R1)", "Public key (EC/ECDSA-SECP256R1)"):
        check(kind in listed, f"{kind} in {listed}")
    _, prompts = bench.took(lambda: bench.run("p11tool", "--test-sign", f"{url};object=seen"))
    equal([prompt["client"]["identifier"] for prompt in prompts], [shutil.which("p11tool")], "who asks")
    bench.took(lambda: bench.run("p11tool", "--test-sign", f"{url};object=seen", status=1), "cancel")
    database = bench.work / "nss"
    database.mkdir()
    bench.run("certutil", "-N", "-d", f"sql:{database}", "--empty-password")
    bench.run("modutil", "-force", "-dbdir", f"sql:{database}", "-add", "Touchstone", "-libfile", MODULE)
    listed = bench.run("modutil", "-dbdir", f"sql:{database}", "-list", "Touchstone", status=None)
    check("Token Name: Touchstone" in listed.stdout, f"{listed.stdout}{listed.stderr}")
    listed = bench.run("certutil", "-L", "-d", f"sql:{database}", "-h", "Touchstone")
    check("Touchstone:seen" in listed.stdout, f"{listed.stdout}{listed.stderr}")
    keys = bench.run("certutil", "-K", "-d", f"sql:{database}", "-h", "Touchstone", status=None)
    check("seen" in keys.stdout, f"{keys.stdout}{keys.stderr}")


@contextmanager
def tls_server(bench, authority):
    """`openssl s_server` that wants a client's certificate, and says of whom it got one."""
    where = port()
    bench.run("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-subj", "/CN=localhost",
              "-addext", "subjectAltName=IP:127.0.0.1", "-days", "30", "-keyout", "server.key", "-out", "server.pem")
    log = open(bench.work / "server.log", "wb")
    server = subprocess.Popen(
        ["openssl", "s_server", "-accept", f"127.0.0.1:{where}", "-cert", "server.pem", "-key", "server.key", "-Verify", "1",
         "-verify_return_error", "-CAfile", str(authority), "-www"], cwd=bench.work, env=bench.device.environment, stdout=log, stderr=log,
        stdin=subprocess.DEVNULL)
    try:
        wait_for(lambda: b"ACCEPT" in (bench.work / "server.log").read_bytes(), "s_server")
        yield where
    finally:
        server.kill()
        server.wait()


def tls_clients_show_a_certificate_of_the_enclave(bench):
    # PK-30: request and certificate by openssl, then curl and gnutls-cli with them; and nobody gets in who is refused.
    bench.command("create", "tls")
    authority = bench.certify("tls")
    check("yes" in bench.command("list").stdout and "BEGIN CERTIFICATE" in bench.command("show", "tls").stdout, "the certificate is kept")
    check("tls" in bench.run("openssl", "verify", "-CAfile", authority, "tls.pem").stdout, "openssl verify")
    # Another key's certificate is refused.
    bench.command("create", "stranger")
    check("is for this key" in bench.command("add", "stranger", "tls.pem", status=1).stderr, "a certificate of another key")
    check("none" in bench.command("show", "stranger").stdout, "no certificate was kept")
    chain = bench.work / "chain.pem"
    chain.write_text(authority.read_text() + (bench.work / "tls.pem").read_text())
    check("1 more" in bench.command("add", "tls", chain).stdout, "a file of two")
    uri = "pkcs11:token=Touchstone;object=tls"
    with tls_server(bench, authority) as where:
        def curl(status=0):
            return bench.run(
                "curl", "-sS", "--max-time", "30", "--cacert", "server.pem", "--engine", "pkcs11", "--key-type", "ENG", "--cert-type", "ENG",
                "--key", f"{uri};type=private", "--cert", f"{uri};type=cert", f"https://127.0.0.1:{where}/", status=status, env=bench.engine)
        page, prompts = bench.took(curl)
        check("CN = tls" in page.stdout or "CN=tls" in page.stdout, page.stdout)
        equal([os.path.basename(prompt["client"]["identifier"]) for prompt in prompts], ["curl"], "who asks")
        result, prompts = bench.took(lambda: curl(status=None), "cancel")
        check(result.returncode != 0 and "CN" not in result.stdout, f"curl of one who is refused: {result}")
        equal(len(prompts), 1, "prompts of the refused one")
        def gnutls(status=0):
            return bench.run(
                "gnutls-cli", "--x509cafile", "server.pem", "--x509certfile", f"{uri};type=cert", "--x509keyfile", f"{uri};type=private",
                "-p", where, "127.0.0.1", input="GET / HTTP/1.0\r\n\r\n", status=status)
        page, prompts = bench.took(gnutls)
        check("CN = tls" in page.stdout or "CN=tls" in page.stdout, f"{page.stdout}{page.stderr}")
        equal([os.path.basename(prompt["client"]["identifier"]) for prompt in prompts], ["gnutls-cli"], "who asks")
        result, prompts = bench.took(lambda: gnutls(status=None), "cancel")
        check(result.returncode != 0, f"gnutls-cli of one who is refused: {result.stdout}")


def openssl_signs_with_the_engine(bench):
    # PK-30.
    bench.command("create", "engine")
    (bench.work / "text").write_text("to be signed\n")
    def sign(status=0):
        return bench.run(
            "openssl", "dgst", "-sha256", "-engine", "pkcs11", "-keyform", "engine", "-sign",
            "pkcs11:token=Touchstone;object=engine;type=private", "-out", "text.sig", "text", status=status, env=bench.engine)
    _, prompts = bench.took(sign)
    equal([os.path.basename(prompt["client"]["identifier"]) for prompt in prompts], ["openssl"], "who asks")
    public = bench.public_key("engine")
    check("Verified OK" in bench.run("openssl", "dgst", "-sha256", "-verify", public, "-signature", "text.sig", "text").stdout, "the signature")
    (bench.work / "text").write_text("something else\n")
    bench.run("openssl", "dgst", "-sha256", "-verify", public, "-signature", "text.sig", "text", status=1)
    os.unlink(bench.work / "text.sig")
    bench.took(lambda: sign(status=1), "cancel")


def ssh_signs_in_by_the_module(bench):
    # PK-12, PK-30: ssh itself loads p11-kit's client.
    check(os.geteuid() == 0, "sshd has a place of its own here, which only root can make")
    bench.command("create", "login")
    public = bench.run("ssh-keygen", "-D", MODULE).stdout
    check(public.startswith("ecdsa-sha2-nistp256 ") and "login" in public, public)
    with Server(bench, "sshd") as server:
        server.authorized.write_text(public)
        options = ("-o", f"PKCS11Provider={MODULE}", "-o", "IdentityAgent=none")
        result, prompts = bench.took(lambda: server.login(options=options))
        equal((result.stdout, len(prompts)), ("in\n", 1), "the login")
        equal(prompts[0]["client"]["identifier"], shutil.which("ssh"), "who asks")
        _, prompts = bench.took(lambda: server.login(options=options, status=255), "cancel")
        equal(len(prompts), 1, "prompts of the cancelled login")
        # ssh-agent loads it in a helper that can ask nobody for a PIN.
        agent = subprocess.Popen(
            ["ssh-agent", "-D", "-a", bench.work / "agent.sock", "-P", f"{os.path.dirname(MODULE)}/*"], stdout=subprocess.DEVNULL, env=bench.environment)
        try:
            with socket.socket(socket.AF_UNIX) as probe:
                wait_for(lambda: probe.connect_ex(str(bench.work / "agent.sock")) == 0, "ssh-agent")
            environment = bench.environment | {"SSH_AUTH_SOCK": str(bench.work / "agent.sock"), "SSH_ASKPASS": "/bin/echo", "SSH_ASKPASS_REQUIRE": "force"}
            bench.run("ssh-add", "-s", MODULE, env=environment)
            check("login" in bench.run("ssh-add", "-L", env=environment).stdout, "ssh-add -L")
        finally:
            agent.terminate()
            agent.wait(LONGEST_WAIT)


def an_explicit_login_is_wanted_where_its_owner_says_so(bench):
    # PK-12.
    bench.command("create", "hooked", "--explicit-login")
    bench.command("create", "plain")
    with Client(bench.socket) as client:
        hooked, plain = client.private_key("hooked"), client.private_key("plain")
        _, prompts = bench.took(lambda: refused(lambda: client.sign(hooked, b"d" * 32), NOT_LOGGED_IN, "without a login"))
        equal(prompts, [], "prompts without a login")
        def sign():
            client.sign_init(hooked)
            client.call(18, number(client.session), number(2), array(b"anything"))
            return client.call(43, number(client.session), array(b"d" * 32), word(64))
        equal(len(bench.took(sign)[1]), 1, "prompts with a login")
        equal(len(bench.took(lambda: client.sign(plain, b"d" * 32))[1]), 1, "prompts of a key without it")


def a_program_forks_after_it_began(bench):
    # PK-1: the child has to begin anew, and then has a connection, and prompts, of its own.
    bench.command("create", "forked")
    program = bench.work / "forking.py"
    program.write_text(f"""
import ctypes, os, sys
module = ctypes.CDLL({MODULE!r})
functions = ctypes.POINTER(ctypes.c_void_p)()
assert module.C_GetFunctionList(ctypes.byref(functions)) == 0
def function(index, *types):
    # CK_VERSION stands before them.
    return ctypes.CFUNCTYPE(ctypes.c_ulong, *types)(functions[1 + index])
initialize, info = function(0, ctypes.c_void_p), function(2, ctypes.c_void_p)
buffer = ctypes.create_string_buffer(128)
assert initialize(None) == 0 and info(buffer) == 0
child = os.fork()
if child == 0:
    before = info(buffer)
    os._exit(0 if (before, initialize(None), info(buffer)) == (0x190, 0, 0) else 1)
assert os.waitpid(child, 0)[1] == 0, "the child"
assert info(buffer) == 0, "the parent, afterwards"
print("both")
""")
    equal(bench.run(sys.executable, program).stdout, "both\n", "parent and child")


def a_pin_leaves_no_trace(bench):
    # PK-13: any PIN is right, and it is found nowhere afterwards.
    bench.command("create", "pinned")
    for pin in (PIN, PIN + "-other"):
        bench.tool("--login", "--pin", pin, "-O")
    pid = bench.bridge.pid
    found = []
    with open(f"/proc/{pid}/maps") as maps, open(f"/proc/{pid}/mem", "rb", 0) as memory:
        regions = [line.split() for line in maps]
        check(len(regions) > 10, "the regions of its memory")
        marker = False
        for region in regions:
            begin, end = (int(part, 16) for part in region[0].split("-"))
            if "r" not in region[1] or region[-1] in ("[vvar]", "[vsyscall]"):
                continue
            memory.seek(begin)
            try:
                data = memory.read(end - begin)
            except OSError:
                continue
            marker = marker or b"Touchstone's keys" in data
            if PIN.encode() in data:
                found.append(region[0])
        check(marker, "what is in its memory is found there")
    equal(found, [], "the PIN in its memory")
    check(PIN not in bench.log, "the PIN in its log")
    files = [path for path in bench.device.state.rglob("*") if path.is_file() and PIN.encode() in path.read_bytes()]
    equal(files, [], "files of the device with the PIN")


def hostile_clients_get_nothing(bench):
    # PK-4, BR-51.
    bench.command("create", "attacked")
    header = struct.Struct(">III")
    for name, data in {
            "no code": header.pack(0, 0, 4) + b"\0\0\0\3", "too long": header.pack(1, 0, 1 << 20), "long options": header.pack(1, 5000, 0),
            "longest": header.pack(0xFFFFFFFF, 0xFFFFFFFF, 0xFFFFFFFF), "HTTP": b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"}.items():
        with Client(bench.socket) as client:
            client.socket.sendall(data)
            equal(client.socket.recv(1), b"", f"{name}: closed")
    with Client(bench.socket) as client:
        # Bodies that are no request: an error, and the connection goes on.
        for body in (b"", b"\0\0", word(10), word(10) + word(2) + b"xx", word(10) + word(2) + b"uu", word(26) + word(3) + b"uaA" + number(1) + word(0xFFFFFFFF),
                     word(43) + word(5) + b"uayfy" + number(1) + b"\1" + word(0x7FFFFFFF)):
            client.code += 1
            client.socket.sendall(header.pack(client.code, 0, len(body)) + body)
            refused(lambda: client.answer(0), DEVICE_ERROR, f"the body {body}")
        for call in (0, 68, 0xFFFFFFFF):
            refused(lambda call=call: client.call(call), NOT_SUPPORTED, f"the call {call}")
        client.find((0, 3))
        # 64 sessions, and no more (PK-10).
        for _ in range(63):
            client.call(10, number(0), number(4))
        refused(lambda: client.call(10, number(0), number(4)), 0xB1, "the 65th session")
    # A newer client is answered with the version that is spoken here.
    for version in (1, 2, 255):
        with Client(bench.socket, version=version) as client:
            equal(client.version, 0, f"the version for one who speaks {version}")
    # Without C_Initialize there is no answer. Another handshake is not C_Initialize.
    with Client(bench.socket, begins=False) as client:
        client.socket.sendall(b"\0")
        client.read(1)
        refused(lambda: client.call(10, number(0), number(4)), 0x190, "before C_Initialize")
        refused(lambda: client.call(1, array(b"something else"), b"\0", array(b"\0")), DEVICE_ERROR, "another handshake")
    # Cut in the middle of everything: the next one is served.
    whole = b"\0" + header.pack(16, 6, 66) + b"client" + word(1) + word(5) + b"ayyay" + array(p11rpc.HANDSHAKE) + b"\0" + array(b"\0")
    for count in range(0, len(whole), 7):
        with Client(bench.socket, begins=False) as client:
            client.socket.sendall(whole[:count])
    # One process has 32 connections; the others are closed, and the bridge goes on.
    held = [Client(bench.socket, begins=False) for _ in range(40)]
    answered = 0
    for client in held:
        try:
            client.begin()
            answered += 1
        except OSError:
            pass
    for client in held:
        client.socket.close()
    check(0 < answered <= 32, f"{answered} connections of one process were served")
    def served():
        try:
            with Client(bench.socket) as client:
                return client.private_key("attacked")
        except OSError:
            return None
    key = wait_for(served, "the bridge to serve again")
    # A flood after a cancel asks nobody (BR-29).
    def flood():
        with Client(bench.socket) as client:
            for _ in range(200):
                refused(lambda: client.sign(key, b"d" * 32), CANCELED, "a signature after a cancel")
    _, prompts = bench.took(flood, "cancel")
    check(len(prompts) <= 3, f"{len(prompts)} prompts of a flood")
    wait_for(lambda: "refused 199 more signatures of the same connection" in bench.log, "the one line about the rest")


def a_client_that_leaves_takes_its_prompt_along(bench):
    # PK-16, BR-28.
    bench.command("create", "left")
    bench.owner.answer = None
    before = len(bench.owner.prompts)
    client = Client(bench.socket)
    client.sign_init(client.private_key("left"))
    client.send(43, number(client.session), array(b"d" * 32), word(64))
    wait_for(lambda: len(bench.owner.prompts) > before, "the prompt")
    client.socket.close()
    # Another one comes up at once: the first one is in nobody's way.
    with Client(bench.socket) as client:
        signature, prompts = bench.took(lambda: client.sign(client.private_key("left"), b"d" * 32))
    equal((len(signature), len(prompts)), (64, 1), "the signature of the next one")


def two_connections_at_once_are_both_served(bench):
    # PK-18.
    bench.command("create", "both", "--no-prompt")
    failures = []
    def use():
        try:
            with Client(bench.socket) as client:
                key = client.private_key("both")
                for _ in range(20):
                    equal(len(client.sign(key, os.urandom(32))), 64, "a signature")
        except Exception as error:
            failures.append(error)
    threads = [threading.Thread(target=use) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(LONGEST_WAIT)
    equal(failures, [], "what failed")


def without_an_agent_a_signature_fails_at_once(bench):
    # PK-16: nobody could be asked, and a device that is off is said to be so.
    with Device("other") as device:
        device.set_up("271828", FINGER)
        path = device.work / "p.sock"
        bridge = subprocess.Popen([PROGRAM, "--socket", path], env=device.environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        try:
            check(bridge.stdout.readline().startswith("ready"), "the bridge of the other device")
            bench.command("create", "alone", "--socket", path, env=device.environment)
            with Client(path) as client:
                key = client.private_key("alone")
                begin = time.monotonic()
                refused(lambda: client.sign(key, b"d" * 32), FAILED, "without an agent")
                check(time.monotonic() - begin < 25, "it waited for nobody")
                device.shutdown()
                refused(lambda: client.sign(key, b"d" * 32), DEVICE_ERROR, "without the device")
        finally:
            bridge.terminate()
            equal(bridge.wait(LONGEST_WAIT), 0, "the end by SIGTERM")
        check(not path.exists(), "the socket is removed")


def a_key_of_fingers_dies_with_them(bench):
    # PK-16: dead, and still listed until its owner removes it.
    bench.command("create", "mortal", "--current-fingers")
    with Client(bench.socket) as client:
        key = client.private_key("mortal")
        equal(len(bench.took(lambda: client.sign(key, b"d" * 32))[1]), 1, "prompts while it lives")
        bench.device.run("device", "enroll", "left-index")
        _, prompts = bench.took(lambda: refused(lambda: client.sign(key, b"d" * 32), 0x68, "after another finger was enrolled"))
        equal(prompts, [], "prompts for a dead key")
    check("mortal" in bench.command("list").stdout, "the key is still listed")


def the_bridge_ends_with_sigterm(bench):
    bench.bridge.send_signal(signal.SIGTERM)
    equal(bench.bridge.wait(LONGEST_WAIT), 0, "the bridge's end by SIGTERM")
    check(not bench.socket.exists(), "the socket is removed")


TESTS = [
    the_versions_are_those_it_was_written_for, keys_are_made_shown_and_removed, only_the_owners_command_manages,
    digests_are_signed_with_the_finger, an_approval_is_good_for_the_same_program_alone, pkcs11_tools_own_tests_pass,
    programs_make_keys_that_the_enclave_keeps, openssl_signs_with_the_engine, tls_clients_show_a_certificate_of_the_enclave,
    gnutls_and_nss_see_the_token, ssh_signs_in_by_the_module, an_explicit_login_is_wanted_where_its_owner_says_so,
    a_program_forks_after_it_began, a_pin_leaves_no_trace, two_connections_at_once_are_both_served,
    a_client_that_leaves_takes_its_prompt_along, a_locked_device_is_unlocked_first, hostile_clients_get_nothing,
    without_an_agent_a_signature_fails_at_once, a_key_of_fingers_dies_with_them,
]

with Device() as device:
    device.set_up("271828", FINGER)
    bench = Bench(device)

    def named(test):
        def run():
            if bench.bridge.poll() is None:
                bench.clear()
            test(bench)

        run.__name__ = test.__name__
        return run

    try:
        main(*map(named, [*TESTS, the_bridge_ends_with_sigterm]))
    finally:
        if bench.bridge.poll() is None:
            bench.bridge.kill()
            print(bench.log)
