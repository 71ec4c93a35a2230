"""A throw-away PostgreSQL and an S3 server for the tests of the package Sync; no test itself.

    .build-python/bin/python Tests/Scripts/sync_servers.py

Prints one line of JSON when both work, and ends with its input. Each line of input is a command, and gets a line as an
answer: "database" (a new one: its address), "restart" (PostgreSQL, as after a loss of power), "query DATABASE SQL", or "s3 stop"
and "s3 start" (what it has stays).

The S3 server is moto. In front of it each request's signature is made again by botocore and compared. moto looks at the
conditions of a put and then puts, which is no single step if two requests come at once. So one thread serves all.
A test makes its bucket, and says which faults it has, by POST /-/BUCKET with JSON:

    "lose": n          of n requests one is done, and its answer is lost
    "busy": n          of n requests one is not done, and answered with 503
    "twice": n         of n requests one is done twice
    "stale": n         of n lists one is as it was before
    "clock": hours     how much the server's clock is ahead
    "unconditional"    conditions of puts are ignored, as older servers do
    "answer": [status, text]     what every request gets; "redirect": address
GET /-/BUCKET says how many requests it had, by their method, and how many bytes.
"""
import datetime
import hashlib
import io
import json
import logging
import os
import socket
import ssl
import sys
import tempfile
import threading
import time
from email.utils import formatdate
from urllib.parse import urlsplit

from postgresql import PostgreSQL

from botocore.auth import S3SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from moto.server import create_backend_app
from werkzeug.serving import WSGIRequestHandler, make_server

KEY, SECRET, REGION = "AKIDTOUCHSTONE", "s3cret/of+the=tests", "eu-test-1"
LONGEST_SKEW = 15 * 60


class Refused(Exception):
    def __init__(self, status, code):
        self.status, self.code = status, code


class FaultyServer:
    """A WSGI application around moto."""

    def __init__(self, app):
        self.app, self.buckets = app, {}

    def __call__(self, environ, start_response):
        path = environ["PATH_INFO"].split("/")
        length = int(environ.get("CONTENT_LENGTH") or 0)
        body = environ["wsgi.input"].read(length)
        if path[1] == "-":
            return self.control(environ, start_response, path[2], body)
        bucket = self.buckets.get(path[1])
        if bucket is None:
            return self.answer(start_response, 404, "<Error><Code>NoSuchBucket</Code></Error>")
        faults, count = bucket["faults"], bucket["requests"]
        kind = environ["REQUEST_METHOD"] + (" list" if "list-type=2" in environ.get("QUERY_STRING", "") else "")
        count[kind] = count.get(kind, 0) + 1
        count["bytes"] = count.get("bytes", 0) + len(body)
        bucket["turn"] += 1
        self.now = time.time() + faults.get("clock", 0) * 3600
        try:
            self.check(environ, body)
        except Refused as refused:
            return self.answer(start_response, refused.status, f"<Error><Code>{refused.code}</Code></Error>")

        def is_turn(fault):
            return fault in faults and bucket["turn"] % faults[fault] == 0

        if "answer" in faults:
            return self.answer(start_response, *faults["answer"])
        if "redirect" in faults:
            start_response("307 Moved", [("Location", faults["redirect"]), ("Content-Length", "0")])
            return [b""]
        if is_turn("busy"):
            return self.answer(start_response, 503, "<Error><Code>SlowDown</Code></Error>")
        if "unconditional" in faults:
            environ.pop("HTTP_IF_NONE_MATCH", None)
            environ.pop("HTTP_IF_MATCH", None)
        if is_turn("twice"):
            self.forward(environ, body)
        status, headers, content = self.forward(environ, body)
        if kind == "GET list":
            where = environ["PATH_INFO"] + environ["QUERY_STRING"]
            old = bucket["lists"].get(where)
            bucket["lists"][where] = (status, headers, content)
            if is_turn("stale") and old:
                status, headers, content = old
        if is_turn("lose"):
            environ["werkzeug.socket"].shutdown(socket.SHUT_RDWR)
            raise ConnectionResetError("the answer is lost")
        count["bytes"] += len(content)
        start_response(status, [h for h in headers if h[0].lower() != "date"] + [self.date()])
        return [] if environ["REQUEST_METHOD"] == "HEAD" else [content]

    def forward(self, environ, body):
        answer = {}

        def started(status, headers, exc_info=None):
            answer["status"], answer["headers"] = status, headers

        content = b"".join(self.app({**environ, "wsgi.input": io.BytesIO(body)}, started))
        return answer["status"], answer["headers"], content

    def check(self, environ, body):
        """The signature, by another implementation than ours."""
        header = environ.get("HTTP_AUTHORIZATION", "")
        signed = dict(part.split("=", 1) for part in header.partition(" ")[2].replace(" ", "").split(",") if "=" in part)
        names = signed.get("SignedHeaders", "").split(";")
        date = environ.get("HTTP_X_AMZ_DATE", "")
        if hashlib.sha256(body).hexdigest() != environ.get("HTTP_X_AMZ_CONTENT_SHA256"):
            raise Refused(400, "XAmzContentSHA256Mismatch")
        query = environ.get("QUERY_STRING", "")
        request = AWSRequest(
            method=environ["REQUEST_METHOD"],
            url=f"http://{environ['HTTP_HOST']}{environ['REQUEST_URI'].split('?')[0]}" + (f"?{query}" if query else ""),
            data=body)
        for name in names:
            request.headers[name] = environ.get("HTTP_" + name.upper().replace("-", "_"), "")
        request.context["timestamp"] = date
        auth = S3SigV4Auth(Credentials(KEY, SECRET), "s3", REGION)
        wanted = auth.signature(auth.string_to_sign(request, auth.canonical_request(request)), request)
        if not {"host", "x-amz-content-sha256", "x-amz-date"} <= set(names) or signed.get("Signature") != wanted:
            raise Refused(403, "SignatureDoesNotMatch")
        if signed.get("Credential", "").split("/")[0] != KEY:
            raise Refused(403, "InvalidAccessKeyId")
        then = time.strptime(date, "%Y%m%dT%H%M%SZ")
        if abs(self.now - (time.mktime(then) - time.timezone)) > LONGEST_SKEW:
            raise Refused(403, "RequestTimeTooSkewed")

    def control(self, environ, start_response, name, body):
        if environ["REQUEST_METHOD"] == "POST":
            faults = json.loads(body or b"{}")
            if name in self.buckets:
                self.buckets[name]["faults"] = faults
            else:
                self.buckets[name] = {"faults": faults, "requests": {}, "turn": 0, "lists": {}}
                status, _, content = self.forward(
                    {**environ, "REQUEST_METHOD": "PUT", "PATH_INFO": f"/{name}", "RAW_URI": f"/{name}",
                     "REQUEST_URI": f"/{name}", "CONTENT_LENGTH": "0", "CONTENT_TYPE": ""}, b"")
                if not status.startswith("200"):
                    return self.answer(start_response, 500, f"no bucket: {status} {content}")
        start_response("200 OK", [("Content-Type", "application/json"), self.date()])
        return [json.dumps(self.buckets[name]["requests"]).encode()]

    def date(self):
        return ("Date", formatdate(getattr(self, "now", time.time()), usegmt=True))

    def answer(self, start_response, status, text):
        content = text.encode()
        start_response(f"{status} -", [("Content-Length", str(len(content))), self.date()])
        return [content]


class OneDate(WSGIRequestHandler):
    """The application says the date."""

    def send_response(self, code, message=None):
        self.send_response_only(code, message)


def s3_server():
    os.environ.update(AWS_ACCESS_KEY_ID=KEY, AWS_SECRET_ACCESS_KEY=SECRET, AWS_DEFAULT_REGION=REGION)
    logging.getLogger("werkzeug").setLevel(logging.CRITICAL)
    return S3Server(FaultyServer(create_backend_app("s3")))


class S3Server:
    def __init__(self, app):
        self.app, self.port = app, 0
        self.start()

    def start(self):
        self.server = make_server("127.0.0.1", self.port, self.app, threaded=False, request_handler=OneDate)
        self.server.log = lambda *_: None
        self.port = self.server.server_port
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def stop(self):
        self.server.shutdown()
        self.server.server_close()


def tls_server():
    """Its certificate is for localhost, and nobody vouches for it."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "localhost")])
    now = datetime.datetime.now(datetime.UTC)
    certificate = (
        x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key()).serial_number(1)
        .not_valid_before(now - datetime.timedelta(days=1)).not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
        .sign(key, hashes.SHA256()))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    with tempfile.NamedTemporaryFile() as file:
        file.write(key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()))
        file.write(certificate.public_bytes(serialization.Encoding.PEM))
        file.flush()
        context.load_cert_chain(file.name)
    server = make_server("127.0.0.1", 0, lambda *_: [], threaded=True, ssl_context=context)
    server.log = lambda *_: None
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server.server_port


def main():
    # What ends with an error on purpose writes nothing.
    s3 = s3_server()
    with PostgreSQL() as postgresql:
        def address(database):
            return f"postgresql://{postgresql.USER}@/{database.rpartition('=')[2]}?host={postgresql.work}"

        say = lambda answer: print(json.dumps(answer), flush=True)
        say({"port": s3.port, "tls": tls_server(), "password": postgresql.password, "key": KEY, "secret": SECRET, "region": REGION})
        for line in sys.stdin:
            command, _, rest = line.strip().partition(" ")
            if command == "database":
                say(address(postgresql.new_database()))
            elif command == "restart":
                postgresql.stop("immediate")
                postgresql.start()
                say("ready")
            elif command == "s3":
                (s3.stop if rest == "stop" else s3.start)()
                say("ready")
            elif command == "query":
                database, _, statement = rest.partition(" ")
                database = urlsplit(database).path.strip("/")
                say(postgresql.query(
                    f"x:host={postgresql.work} user={postgresql.USER} dbname={database}", statement))


main()
