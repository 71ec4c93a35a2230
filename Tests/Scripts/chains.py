"""Chains of certificates with one fault each, and their twins without it.

    python3 Tests/Scripts/chains.py    writes chains.json and responses.json of Tests/TouchstoneTrustTests/Fixtures again

`trust-verifiers.py` makes the same chains around today for the verifiers of OpenSSL and GnuTLS. Needs
python3-cryptography.
"""
import base64
import datetime
import ipaddress
import json
import pathlib
import subprocess

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa
from cryptography.x509 import ocsp
from cryptography.x509.oid import ExtendedKeyUsageOID as Usage
from cryptography.x509.oid import NameOID

DAY = datetime.timedelta(days=1)
HOST = "www.example.org"
SERVER = [Usage.SERVER_AUTH]
# Object identifiers of RSA's signatures, of one length: with SHA-256, SHA-1 and MD5.
RSA_SHA256, RSA_SHA1, RSA_MD5 = (bytes.fromhex("2a864886f70d0101" + last) for last in ["0b", "05", "04"])


class Party:
    """A key with a certificate."""

    def __init__(self, key, certificate):
        self.key, self.certificate = key, certificate

    @property
    def der(self):
        return self.certificate.public_bytes(serialization.Encoding.DER)


class PublicKey:
    """A key too short to be made in Python."""

    def __init__(self, bits):
        private = subprocess.run(["openssl", "genrsa", str(bits)], capture_output=True, check=True).stdout
        public = subprocess.run(["openssl", "rsa", "-pubout"], input=private, capture_output=True, check=True).stdout
        self.public = serialization.load_pem_public_key(public)

    def public_key(self):
        return self.public


class Raw:
    """A certificate that was put together by hand."""

    def __init__(self, der):
        self.der = der


def name(text):
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)] if text else [])


class Maker:
    def __init__(self, today):
        self.today = today
        self.serial = 1000
        self.cases = []

    def certificate(
        self, subject, issuer=None, *, key=None, ca=False, constraints=True, path_length=None, days=(-30, 60), usage=None,
        key_usage=None, names=None, linked=True, issuer_name=None, extensions=(), signing_key=None, critical_names=False,
    ):
        """A certificate. Without an issuer it signs itself. `days` are those of its validity, from today."""
        key = key or ec.generate_private_key(ec.SECP256R1())
        self.serial += 1
        signer = signing_key or (issuer.key if issuer else key)
        builder = (
            x509.CertificateBuilder().serial_number(self.serial).public_key(key.public_key())
            .subject_name(name(subject)).issuer_name(issuer_name or (issuer.certificate.subject if issuer else name(subject)))
            .not_valid_before(self.today + days[0] * DAY).not_valid_after(self.today + days[1] * DAY)
        )
        if constraints:
            builder = builder.add_extension(x509.BasicConstraints(ca, path_length), critical=True)
        if linked:
            builder = builder.add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
            builder = builder.add_extension(
                x509.AuthorityKeyIdentifier.from_issuer_public_key(signer.public_key()), critical=False)
        if usage:
            builder = builder.add_extension(x509.ExtendedKeyUsage(usage), critical=False)
        if key_usage is None:
            key_usage = ["key_cert_sign", "crl_sign"] if ca else ["digital_signature"]
        if key_usage:
            every = [
                "digital_signature", "content_commitment", "key_encipherment", "data_encipherment", "key_agreement",
                "key_cert_sign", "crl_sign", "encipher_only", "decipher_only",
            ]
            builder = builder.add_extension(x509.KeyUsage(**{bit: bit in key_usage for bit in every}), critical=True)
        if names:
            builder = builder.add_extension(x509.SubjectAlternativeName(names), critical=critical_names)
        for extension, critical in extensions:
            builder = builder.add_extension(extension, critical=critical)
        return Party(key, builder.sign(signer, hashes.SHA256()))

    def authority(self, subject, issuer=None, **options):
        return self.certificate(subject, issuer, ca=True, **{"days": (-1000, 2000), **options})

    def server(self, issuer=None, host=HOST, **options):
        return self.certificate("Server", issuer, **{"usage": SERVER, "names": [x509.DNSName(host)], **options})

    def resigned(self, party, issuer, algorithm, digest):
        """The same certificate, signed with RSA and another hash."""
        old = party.certificate.tbs_certificate_bytes
        inner = old.replace(RSA_SHA256, algorithm, 1)
        signature = issuer.key.sign(inner, padding.PKCS1v15(), digest)
        outer = bytes.fromhex("300d0609") + algorithm + bytes.fromhex("0500")
        content = inner + outer.replace(algorithm, algorithm, 1) + sequence(0x03, b"\x00" + signature)
        return Raw(sequence(0x30, content))

    def case(self, title, certificates, anchors, *failures, policy="ssl", name=HOST, openssl=None, gnutls=None, day=0):
        """`failures` are pairs of a place and a rule. What the others say is given if it differs from ours."""
        accepted = not failures
        self.cases.append({
            "title": title,
            "certificates": [base64.b64encode(one.der).decode() for one in certificates],
            "anchors": [base64.b64encode(one.der).decode() for one in anchors],
            "policy": policy, "name": name,
            "date": int((self.today + day * DAY).replace(tzinfo=datetime.timezone.utc).timestamp()),
            "failures": [list(failure) for failure in failures],
            "openssl": accepted if openssl is None else openssl,
            "gnutls": accepted if gnutls is None else gnutls,
        })


def sequence(tag, content):
    length = len(content)
    if length < 128:
        return bytes([tag, length]) + content
    size = length.to_bytes((length.bit_length() + 7) // 8, "big")
    return bytes([tag, 0x80 | len(size)]) + size + content


def names(m, root, middle):
    m.case("a host that is named", [m.server(middle), middle], [root])
    m.case("a host in other capitals, with a dot at its end", [m.server(middle), middle], [root], name="WWW.Example.ORG.",
           openssl=False, gnutls=False)
    m.case("another host", [m.server(middle), middle], [root], (0, "hostName"), name="example.org")
    m.case("a host with a dot at its beginning", [m.server(middle), middle], [root], (0, "hostName"), name=".example.org",
           openssl=True)
    m.case("a host with two dots at its end", [m.server(middle), middle], [root], (0, "hostName"), name=f"{HOST}..")
    coded = m.server(middle, "xn--bcher-kva.example.org")
    m.case("a host in Punycode", [coded, middle], [root], name="xn--bcher-kva.example.org")
    m.case("the same host in Unicode", [coded, middle], [root], (0, "hostName"), name="b\u00fccher.example.org",
           gnutls=True)
    wild = m.server(middle, "*.example.org")
    m.case("a wildcard for one label", [wild, middle], [root])
    m.case("a wildcard for two labels", [wild, middle], [root], (0, "hostName"), name="a.b.example.org")
    m.case("a wildcard for a part of a label", [m.server(middle, "w*.example.org"), middle], [root], (0, "hostName"),
           openssl=True)
    m.case("a wildcard for a host in Punycode", [wild, middle], [root], name="xn--bcher-kva.example.org")
    m.case("a wildcard for a top-level domain", [m.server(middle, "*.org"), middle], [root], (0, "hostName"),
           name="example.org")
    m.case("a wildcard behind a label", [m.server(middle, "www.*.org"), middle], [root], (0, "hostName"))
    m.case("a wildcard for everything", [m.server(middle, "*"), middle], [root], (0, "hostName"), name="localhost")
    common = m.certificate(HOST, middle, usage=SERVER)
    m.case("a host in the common name alone", [common, middle], [root], (0, "hostName"), openssl=True, gnutls=True)
    address = m.certificate("Server", middle, usage=SERVER, names=[x509.IPAddress(ipaddress.ip_address("192.0.2.1"))])
    m.case("an address that is named", [address, middle], [root], name="192.0.2.1")
    m.case("another address", [address, middle], [root], (0, "hostName"), name="192.0.2.2")
    longer = m.certificate("Server", middle, usage=SERVER, names=[x509.IPAddress(ipaddress.ip_address("2001:db8::1"))])
    m.case("an address of IPv6 that is written otherwise", [longer, middle], [root], name="2001:0DB8:0:0::0001")
    m.case("another address of IPv6", [longer, middle], [root], (0, "hostName"), name="2001:db8::2")
    m.case("an address of IPv4 as one of IPv6", [address, middle], [root], (0, "hostName"), name="::ffff:192.0.2.1")
    m.case("an address among the host names", [m.server(middle, "192.0.2.1"), middle], [root], (0, "hostName"),
           name="192.0.2.1")


def dates(m, root, middle):
    m.case("a certificate that ended", [m.server(middle, days=(-60, -1)), middle], [root], (0, "validity"))
    m.case("a certificate that begins later", [m.server(middle, days=(1, 60)), middle], [root], (0, "validity"))
    old = m.authority("Old Intermediate", root, days=(-60, -1))
    m.case("an intermediate that ended", [m.server(old), old], [root], (1, "validity"))
    gone = m.authority("Old Root", days=(-60, -1))
    m.case("a root that ended", [m.server(gone)], [gone], (1, "validity"))


def constraints(m, root, middle):
    short = m.authority("Short Root", path_length=0)
    below = m.authority("Below Short", short)
    m.case("one intermediate more than the path length", [m.server(below), below], [short], (2, "pathLength"))
    longer = m.authority("Longer Root", path_length=1)
    below = m.authority("Below Longer", longer)
    m.case("as many intermediates as the path length", [m.server(below), below], [longer])
    plain = m.certificate("Not An Authority", root, days=(-100, 100))
    m.case("an issuer that is no authority", [m.server(plain), plain], [root], (1, "basicConstraints"))
    bare = m.certificate("Without Constraints", root, constraints=False, key_usage=False, days=(-100, 100))
    m.case("an issuer without basic constraints", [m.server(bare), bare], [root], (1, "basicConstraints"))
    unsigning = m.authority("Not Signing", root, key_usage=["digital_signature"])
    m.case("an issuer whose key may not sign certificates", [m.server(unsigning), unsigning], [root],
           (1, "basicConstraints"))
    dns = x509.DNSName("example.org")
    permitted = m.authority("Permitted", root, extensions=[(x509.NameConstraints([dns], None), True)])
    m.case("a name that is permitted", [m.server(permitted), permitted], [root])
    m.case("a name that is not permitted", [m.server(permitted, "www.example.net"), permitted], [root],
           (0, "nameConstraints"), name="www.example.net")
    excluded = m.authority("Excluded", root, extensions=[(x509.NameConstraints(None, [dns]), True)])
    m.case("a name that is excluded", [m.server(excluded), excluded], [root], (0, "nameConstraints"))
    m.case("a name that is not excluded", [m.server(excluded, "www.example.net"), excluded], [root],
           name="www.example.net")
    net = x509.IPAddress(ipaddress.ip_network("192.0.2.0/24"))
    network = m.authority("Network", root, extensions=[(x509.NameConstraints([net], None), True)])
    for title, text, failures in (
        ("an address that is permitted", "192.0.2.1", []), ("an address that is not permitted", "198.51.100.1", [(0, "nameConstraints")]),
    ):
        numbered = m.certificate("Server", network, usage=SERVER, names=[x509.IPAddress(ipaddress.ip_address(text))])
        m.case(title, [numbered, network], [root], *failures, name=text)
    policy = x509.CertificatePolicies([x509.PolicyInformation(x509.ObjectIdentifier("1.3.6.1.4.1.99999.1"), None)])
    demand = (x509.PolicyConstraints(require_explicit_policy=0, inhibit_policy_mapping=None), True)
    explicit = m.authority("Explicit", root, extensions=[(policy, False), demand])
    m.case("a policy that is demanded and there", [m.server(explicit, extensions=[(policy, False)]), explicit], [root],
           gnutls=False)
    m.case("a policy that is demanded and missing", [m.server(explicit), explicit], [root], (0, "policyConstraints"),
           openssl=True)
    unknown = x509.UnrecognizedExtension(x509.ObjectIdentifier("1.3.6.1.4.1.99999.2"), b"\x05\x00")
    m.case("an unknown extension that is critical", [m.server(middle, extensions=[(unknown, True)]), middle], [root],
           (0, "criticalExtension"))
    m.case("an unknown extension that is not", [m.server(middle, extensions=[(unknown, False)]), middle], [root])
    nameless = m.certificate("", middle, usage=SERVER, names=[x509.DNSName(HOST)], critical_names=True)
    m.case("no subject, with other names", [nameless, middle], [root])
    m.case("no subject, and no other name", [m.certificate("", middle), middle], [root], (0, "emptySubject"),
           policy="basic", openssl=True, gnutls=True)


def usages(m, root, middle):
    client = [Usage.CLIENT_AUTH]
    m.case("a server with the usage of clients", [m.server(middle, usage=client), middle], [root],
           (0, "extendedKeyUsage"), (0, "serverExtendedKeyUsage"))
    m.case("a client with the usage of clients", [m.server(middle, usage=client), middle], [root], policy="client")
    m.case("a client with the usage of servers", [m.server(middle), middle], [root], (0, "extendedKeyUsage"),
           policy="client")
    m.case("a server of today without a usage", [m.server(middle, usage=None), middle], [root],
           (0, "serverExtendedKeyUsage"), openssl=True, gnutls=True)
    m.case("a server of today with any usage", [m.server(middle, usage=[Usage.ANY_EXTENDED_KEY_USAGE]), middle], [root],
           (0, "serverExtendedKeyUsage"), openssl=False, gnutls=True)
    limited = m.authority("For Clients", root, usage=client)
    m.case("an intermediate that is not for servers", [m.server(limited), limited], [root], (1, "extendedKeyUsage"))
    fitting = m.authority("For Servers", root, usage=SERVER)
    m.case("an intermediate that is for servers", [m.server(fitting), fitting], [root])
    m.case("a server whose key may only sign certificates", [m.server(middle, key_usage=["key_cert_sign"]), middle],
           [root], openssl=False, gnutls=True)
    mail = m.certificate("Mail", middle, usage=[Usage.EMAIL_PROTECTION], names=[x509.RFC822Name("a@example.org")])
    m.case("a mail address that is named", [mail, middle], [root], policy="email", name="a@example.org")
    m.case("another mail address", [mail, middle], [root], (0, "emailAddress"), policy="email", name="b@example.org")
    m.case("mail with the usage of servers", [m.server(middle), middle], [root], (0, "extendedKeyUsage"), policy="email",
           name="")
    code = m.certificate("Code", middle, usage=[Usage.CODE_SIGNING])
    m.case("code with its usage", [code, middle], [root], policy="code", name="")
    m.case("code without a usage", [m.certificate("Code", middle), middle], [root], (0, "extendedKeyUsage"),
           policy="code", name="", openssl=True, gnutls=True)


def algorithms(m, root, middle, rsa_root):
    small = rsa.generate_private_key(65537, 1024)
    m.case("a server with RSA of 1024 bits", [m.server(middle, key=small), middle], [root], (0, "serverKeySize"),
           openssl=True, gnutls=True)
    m.case("RSA of 1024 bits for another use", [m.server(middle, key=small), middle], [root], policy="basic")
    m.case("RSA of 768 bits for any use", [m.server(middle, key=PublicKey(768)), middle], [root], (0, "weakKey"),
           policy="basic", openssl=True, gnutls=True)
    m.case("a server with RSA of 2048 bits", [m.server(middle, key=rsa_root.key), middle], [root])
    curve = ec.generate_private_key(ec.SECP192R1())
    m.case("a server with a curve of 192 bits", [m.server(middle, key=curve), middle], [root], (0, "serverKeySize"),
           openssl=True, gnutls=True)
    strong = m.server(rsa_root)
    m.case("a server with RSA and SHA-256", [strong], [rsa_root])
    sha1 = m.resigned(strong, rsa_root, RSA_SHA1, hashes.SHA1())
    m.case("a server with RSA and SHA-1", [sha1], [rsa_root], (0, "serverSignatureHash"), openssl=True)
    m.case("RSA and SHA-1 for another use", [sha1], [rsa_root], policy="basic", gnutls=False)
    md5 = m.resigned(strong, rsa_root, RSA_MD5, hashes.MD5())
    m.case("RSA and MD5 for any use", [md5], [rsa_root], (0, "weakSignature"), policy="basic", openssl=True)
    between = m.authority("RSA Intermediate", rsa_root)
    m.case("an intermediate with RSA and SHA-1", [m.server(between), m.resigned(between, rsa_root, RSA_SHA1, hashes.SHA1())],
           [rsa_root], (1, "serverSignatureHash"), openssl=True)
    m.case("a server for 825 days", [m.server(middle, days=(-400, 425)), middle], [root])
    m.case("a server for 826 days", [m.server(middle, days=(-400, 426)), middle], [root], (0, "validityPeriod"),
           openssl=True, gnutls=True)
    m.case("a client for 826 days", [m.server(middle, days=(-400, 426), usage=None), middle], [root], policy="client")


def paths(m, root, middle):
    alone = m.server()
    m.case("a certificate that signed itself", [alone], [root], (0, "untrustedRoot"))
    m.case("a certificate that signed itself, and is the anchor", [alone], [alone], gnutls=False)
    m.case("a certificate that is the anchor itself", [m.server(middle)], [m.server(middle)], (0, "missingIssuer"))
    pinned = m.server(middle)
    m.case("the anchor is the server's certificate", [pinned, middle], [pinned], gnutls=False)
    m.case("the anchor is the intermediate", [m.server(middle)], [middle])
    m.case("no intermediate", [m.server(middle)], [root], (0, "missingIssuer"))
    stranger = m.authority("Stranger")
    m.case("a root that nobody trusts", [m.server(stranger), stranger], [root], (1, "untrustedRoot"))
    m.case("certificates in any order, and strangers among them", [m.server(middle), stranger, root, middle], [root])

    forged = m.certificate("Server", middle, usage=SERVER, names=[x509.DNSName(HOST)], linked=False,
                           signing_key=stranger.key)
    m.case("a signature of somebody else", [forged, middle], [root], (0, "signature"))

    key = ec.generate_private_key(ec.SECP256R1())
    by_root = m.authority("Cross", root, key=key)
    by_stranger = m.authority("Cross", stranger, key=key)
    leaf = m.server(by_root)
    m.case("cross-signed, the way without an anchor first", [leaf, by_stranger, stranger, by_root], [root],
           openssl=False, gnutls=False)
    m.case("cross-signed, the other way first", [leaf, by_root, by_stranger], [root])
    ended = m.authority("Cross", root, key=key, days=(-60, -1))
    m.case("cross-signed, one way ended", [leaf, ended, by_root], [root], gnutls=False)
    m.case("cross-signed, the only way ended", [leaf, ended, by_stranger], [root], (1, "validity"), gnutls=False)

    # Two anchors of one name, and nothing in the certificate that tells them apart.
    first, second = m.authority("Twin", linked=False), m.authority("Twin", linked=False)
    m.case("two anchors of one name, the second is meant", [m.server(second, linked=False)], [first, second],
           openssl=False)
    m.case("two anchors of one name, the first is meant", [m.server(first, linked=False)], [first, second],
           gnutls=False)

    one_key, two_key = (ec.generate_private_key(ec.SECP256R1()) for _ in range(2))
    one = Party(one_key, m.authority("One", key=one_key, issuer_name=name("Two"), signing_key=two_key).certificate)
    two = Party(two_key, m.authority("Two", key=two_key, issuer_name=name("One"), signing_key=one_key).certificate)
    m.case("a loop", [m.server(one), one, two], [root], (2, "missingIssuer"))
    m.case("a loop beside the way", [m.server(middle), one, two, middle], [root])

    for count, failures in [(16, []), (18, [(17, "chainLength")])]:
        chain = [m.authority("Link 0", root)]
        for number in range(1, count):
            chain.append(m.authority(f"Link {number}", chain[-1]))
        title = f"{count} intermediates"
        m.case(title, [m.server(chain[-1]), *reversed(chain)], [root], *failures, openssl=True, gnutls=True)


def make(today):
    """All cases, on a day."""
    m = Maker(today)
    root = m.authority("Root")
    middle = m.authority("Intermediate", root)
    rsa_root = m.authority("RSA Root", key=rsa.generate_private_key(65537, 2048))
    names(m, root, middle)
    dates(m, root, middle)
    constraints(m, root, middle)
    usages(m, root, middle)
    algorithms(m, root, middle, rsa_root)
    paths(m, root, middle)
    # Issued before the rules of 2019.
    before = Maker(datetime.datetime(2019, 6, 1))
    old_root = before.authority("Root", key=root.key)
    before.case("a server from May 2019 without a usage", [before.server(old_root, usage=None)], [old_root])
    before.case("a server from May 2019 for 1000 days", [before.server(old_root, days=(-30, 970))], [old_root])
    return m.cases, before.cases


def make_responses(today):
    """OCSP responses about one server, and what each says of it: good, revoked, or nothing."""
    m = Maker(today)
    root = m.authority("Root")
    middle = m.authority("Intermediate", root)
    stranger = m.authority("Stranger")
    server = m.server(middle)
    other = m.server(middle)
    for_ocsp = m.certificate("Responder", middle, usage=[Usage.OCSP_SIGNING])
    not_for_ocsp = m.certificate("No Responder", middle, usage=SERVER)
    by_root = m.certificate("Responder Of The Root", root, usage=[Usage.OCSP_SIGNING])
    ended = m.certificate("Old Responder", middle, usage=[Usage.OCSP_SIGNING], days=(-60, -1))
    good, revoked, unknown = ocsp.OCSPCertStatus.GOOD, ocsp.OCSPCertStatus.REVOKED, ocsp.OCSPCertStatus.UNKNOWN

    def response(status=good, signer=middle, about=server, issuer=middle, days=(-1, 6), digest=hashes.SHA1(), shown=True):
        builder = ocsp.OCSPResponseBuilder().add_response(
            cert=about.certificate, issuer=issuer.certificate, algorithm=digest, cert_status=status,
            this_update=today + days[0] * DAY, next_update=None if days[1] is None else today + days[1] * DAY,
            revocation_time=today - 10 * DAY if status == revoked else None, revocation_reason=None,
        ).responder_id(ocsp.OCSPResponderEncoding.HASH, signer.certificate)
        if shown and signer is not middle:
            builder = builder.certificates([signer.certificate])
        return builder.sign(signer.key, hashes.SHA256()).public_bytes(serialization.Encoding.DER)

    whole = response()
    cases = [
        ("good, by the issuer", "good", whole),
        ("good, named with SHA-256", "good", response(digest=hashes.SHA256())),
        ("good, by a responder of the issuer's", "good", response(signer=for_ocsp)),
        ("good, of today and without an end", "good", response(days=(-0.5, None))),
        ("revoked, by the issuer", "revoked", response(revoked)),
        ("revoked, by a responder of the issuer's", "revoked", response(revoked, signer=for_ocsp)),
        ("unknown to the issuer", "nothing", response(unknown)),
        ("good, by a certificate that is not for it", "nothing", response(signer=not_for_ocsp)),
        ("good, by a responder of the root's", "nothing", response(signer=by_root)),
        ("good, by a responder that ended", "nothing", response(signer=ended)),
        ("good, by a responder that is not shown", "nothing", response(signer=for_ocsp, shown=False)),
        ("good, by a stranger", "nothing", response(signer=stranger)),
        ("revoked, by a stranger", "nothing", response(revoked, signer=stranger)),
        ("good, of another certificate", "nothing", response(about=other)),
        ("good, of last month", "nothing", response(days=(-30, -20))),
        ("good, of next week", "nothing", response(days=(7, 14))),
        ("good, of last week and without an end", "nothing", response(days=(-7, None))),
        ("good, with another signature", "nothing", whole[:-1] + bytes([whole[-1] ^ 1])),
        ("cut off", "nothing", whole[:-10]),
        ("the responder is busy", "nothing",
         ocsp.OCSPResponseBuilder.build_unsuccessful(ocsp.OCSPResponseStatus.TRY_LATER).public_bytes(
             serialization.Encoding.DER)),
        ("empty", "nothing", b""),
    ]
    return {
        "certificates": [base64.b64encode(one.der).decode() for one in [server, middle]],
        "anchors": [base64.b64encode(root.der).decode()],
        "date": int(today.replace(tzinfo=datetime.timezone.utc).timestamp()),
        "ofIntermediate": base64.b64encode(response(signer=root, about=middle, issuer=root, shown=False)).decode(),
        "responses": [
            {"title": title, "says": says, "der": base64.b64encode(der).decode()} for title, says, der in cases],
    }


if __name__ == "__main__":
    fixtures = pathlib.Path(__file__).parent.parent / "TouchstoneTrustTests/Fixtures"
    today, before = make(datetime.datetime(2026, 6, 1))
    (fixtures / "chains.json").write_text(json.dumps(today + before, indent=1) + "\n")
    responses = make_responses(datetime.datetime(2026, 6, 1))
    (fixtures / "responses.json").write_text(json.dumps(responses, indent=1) + "\n")
    print(f"{len(today) + len(before)} chains and {len(responses['responses'])} responses in {fixtures}")
