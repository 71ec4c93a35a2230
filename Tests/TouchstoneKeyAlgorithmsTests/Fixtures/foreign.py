"""The same algorithms once more, on the Python package cryptography: answers a JSON list of requests with a list of results.

Bytes are hexadecimal. What cannot be done is answered with null.
"""

import functools
import hashlib
import json
import os
import sys

from cryptography.exceptions import InvalidSignature, InvalidTag
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa, utils
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

CURVES = {
    "p192": ec.SECP192R1(), "p224": ec.SECP224R1(), "p256": ec.SECP256R1(), "p384": ec.SECP384R1(), "p521": ec.SECP521R1()}
HASHES = {name: getattr(hashes, name)() for name in ("SHA1", "SHA224", "SHA256", "SHA384", "SHA512")}
POINT = (serialization.Encoding.X962, serialization.PublicFormat.UncompressedPoint)
PKCS1 = (serialization.Encoding.DER, serialization.PublicFormat.PKCS1)


def data(request, name):
    return bytes.fromhex(request[name])


def curve_key(request):
    return ec.derive_private_key(int(request["number"], 16), CURVES[request["curve"]])


def point(request, name="point"):
    return ec.EllipticCurvePublicKey.from_encoded_point(CURVES[request["curve"]], data(request, name))


@functools.cache
def loaded(key):
    return serialization.load_der_private_key(bytes.fromhex(key), None)


def rsa_key(request):
    return loaded(request["key"])


def sha(request):
    return HASHES[request["hash"]]


def derive(name, secret, length, info):
    output, counter = b"", 1
    while len(output) < length:
        output += hashlib.new(name.lower(), secret + counter.to_bytes(4, "big") + info).digest()
        counter += 1
    return output[:length]


def ecies(request, secret, ephemeral):
    key_size = 16 if CURVES[request["curve"]].key_size <= 256 else 32
    derived = derive(request["hash"], secret, key_size + (16 if request["derivesVector"] else 0), ephemeral)
    return AESGCM(derived[:key_size]), derived[key_size:] or bytes(16)


def ecies_encrypt(request):
    ephemeral = ec.generate_private_key(CURVES[request["curve"]])
    encoded = ephemeral.public_key().public_bytes(*POINT)
    cipher, vector = ecies(request, ephemeral.exchange(ec.ECDH(), point(request)), encoded)
    return encoded + cipher.encrypt(vector, data(request, "data"), None)


def ecies_decrypt(request):
    key, message = curve_key(request), data(request, "data")
    length = 1 + 2 * ((key.key_size + 7) // 8)
    ephemeral = ec.EllipticCurvePublicKey.from_encoded_point(CURVES[request["curve"]], message[:length])
    cipher, vector = ecies(request, key.exchange(ec.ECDH(), ephemeral), message[:length])
    return cipher.decrypt(vector, message[length:], None)


def agree(request):
    secret = curve_key(request).exchange(ec.ECDH(), point(request))
    return derive(request["hash"], secret, request["size"], data(request, "info")) if "hash" in request else secret


def raw(signature, size):
    r, s = utils.decode_dss_signature(signature)
    return r.to_bytes(size, "big") + s.to_bytes(size, "big")


def ecdsa_hash(request):
    return ec.ECDSA(sha(request) if request["isMessage"] else utils.Prehashed(sha(request)))


def ecdsa_sign(request):
    key = curve_key(request)
    signature = key.sign(data(request, "data"), ecdsa_hash(request))
    return raw(signature, (key.key_size + 7) // 8) if request["isRaw"] else signature


def ecdsa_verify(request):
    key, signature = point(request), data(request, "signature")
    if request["isRaw"]:
        half = len(signature) // 2
        signature = utils.encode_dss_signature(
            int.from_bytes(signature[:half], "big"), int.from_bytes(signature[half:], "big"))
    key.verify(signature, data(request, "data"), ecdsa_hash(request))
    return b""


def rsa_padding(request):
    if request["scheme"] == "pss":
        return padding.PSS(padding.MGF1(sha(request)), sha(request).digest_size)
    return padding.PKCS1v15()


def rsa_hash(request):
    return sha(request) if request["isMessage"] else utils.Prehashed(sha(request))


def rsa_sign(request):
    return rsa_key(request).sign(data(request, "data"), rsa_padding(request), rsa_hash(request))


def rsa_verify(request):
    key = rsa_key(request).public_key()
    key.verify(data(request, "signature"), data(request, "data"), rsa_padding(request), rsa_hash(request))
    return b""


def encryption_padding(request):
    if "hash" in request:
        return padding.OAEP(padding.MGF1(sha(request)), sha(request), data(request, "label") if "label" in request else None)
    return padding.PKCS1v15()


def rsa_encrypt(request):
    return rsa_key(request).public_key().encrypt(data(request, "data"), encryption_padding(request))


def rsa_decrypt(request):
    return rsa_key(request).decrypt(data(request, "data"), encryption_padding(request))


def hybrid_encrypt(request):
    public = rsa_key(request).public_key()
    key = os.urandom(16 if public.key_size < 4096 else 32)
    wrapped = public.encrypt(key, encryption_padding(request))
    return wrapped + AESGCM(key).encrypt(bytes(16), data(request, "data"), public.public_bytes(*PKCS1))


def hybrid_decrypt(request):
    private, message = rsa_key(request), data(request, "data")
    length = (private.key_size + 7) // 8
    key = private.decrypt(message[:length], encryption_padding(request))
    assert len(key) == (16 if private.key_size < 4096 else 32)
    return AESGCM(key).decrypt(bytes(16), message[length:], private.public_key().public_bytes(*PKCS1))


def rsa_generate(request):
    key = rsa.generate_private_key(65537, request["size"])
    return key.private_bytes(
        serialization.Encoding.DER, serialization.PrivateFormat.TraditionalOpenSSL, serialization.NoEncryption())


def power(request):
    modulus = data(request, "modulus")
    value = pow(int(request["base"] or "0", 16), request["exponent"], int.from_bytes(modulus, "big"))
    return value.to_bytes(len(request["base"]) // 2, "big")


def public_point(request):
    info = data(request, "data")
    load = serialization.load_pem_public_key if info.startswith(b"-----") else serialization.load_der_public_key
    return load(info).public_bytes(*POINT)


def digest(request):
    return hashlib.new(request["hash"].lower(), data(request, "data")).digest()


OPERATIONS = {
    function.__name__: function
    for function in (
        ecies_encrypt, ecies_decrypt, agree, ecdsa_sign, ecdsa_verify, rsa_sign, rsa_verify, rsa_encrypt, rsa_decrypt,
        hybrid_encrypt, hybrid_decrypt, rsa_generate, power, digest, public_point)
}


def answer(request):
    try:
        return OPERATIONS[request["operation"]](request).hex()
    except (InvalidSignature, InvalidTag, ValueError):
        return None


json.dump([answer(request) for request in json.load(sys.stdin)], sys.stdout)
