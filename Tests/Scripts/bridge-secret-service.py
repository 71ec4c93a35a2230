#!/usr/bin/env python3
"""The Secret Service: the real secret-tool and libsecret on a bus of their own, who is asked, and what a second program gets."""

import json
import os
import pathlib
import queue
import shutil
import subprocess
import threading
import time

from bridges import BRIDGES, Person
from device import LONGEST_WAIT, Device, check, equal, main, wait_for

PROGRAM = BRIDGES / "touchstone-secret-service"
check(os.access(PROGRAM, os.X_OK), f"{PROGRAM} is not there: run swift build --package-path Bridges")

BUS = """<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
 "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
<busconfig><type>session</type><listen>unix:path={path}</listen><auth>EXTERNAL</auth>
<policy context="default"><allow send_destination="*" eavesdrop="true"/><allow eavesdrop="true"/><allow own="*"/></policy></busconfig>
"""

# A program with libsecret in it, which does what it is told, one line after the other.
APP = r"""
import json, sys, gi
gi.require_version("Secret", "1")
from gi.repository import Gio, GLib, Secret
SCHEMA = Secret.Schema.new("org.example.Mail", Secret.SchemaFlags.NONE, {"user": Secret.SchemaAttributeType.STRING})
NAME, ROOT = "org.freedesktop.secrets", "/org/freedesktop/secrets"
BUS = Gio.bus_get_sync(Gio.BusType.SESSION)
def store(user, password, collection=None, label="Mail of a user"):
    return Secret.password_store_sync(SCHEMA, {"user": user}, collection, label, password, None)
def lookup(user): return Secret.password_lookup_sync(SCHEMA, {"user": user}, None)
def clear(user): return Secret.password_clear_sync(SCHEMA, {"user": user}, None)
def search(attributes):
    service = Secret.Service.get_sync(Secret.ServiceFlags.NONE, None)
    return [[item.get_object_path(), item.get_locked(), item.get_label(), item.get_attributes()]
            for item in service.search_sync(None, attributes, Secret.SearchFlags.ALL, None)]
def call(path, interface, member, signature=None, arguments=(), milliseconds=60000):
    body = GLib.Variant(signature, tuple(arguments)) if signature else None
    reply = BUS.call_sync(NAME, path, interface, member, body, None, Gio.DBusCallFlags.NONE, milliseconds, None)
    return reply.unpack()
def secret(path, member, signature=None, arguments=()):
    kind = "Service" if path == ROOT else path[len(ROOT):].split("/")[1]
    kind = {"collection": "Collection", "aliases": "Collection", "session": "Session", "prompt": "Prompt"}.get(kind, kind)
    if kind == "Collection" and path.count("/") == 6: kind = "Item"
    return call(path, "org.freedesktop.Secret." + kind, member, signature, arguments)
for line in sys.stdin:
    try:
        answer = {"value": eval(line)}
    except GLib.Error as error:
        answer = {"error": Gio.DBusError.get_remote_error(error) or error.message}
    except Exception as error:
        answer = {"error": repr(error)}
    print(json.dumps(answer), flush=True)
"""


class Bus:
    """A private bus, the Secret Service on it, and programs."""

    def __init__(self, device, is_bridge=True):
        self.device, self.work, self.apps = device, device.work, []
        path = self.work / "bus"
        configuration = self.work / "bus.conf"
        configuration.write_text(BUS.format(path=path))
        self.daemon = subprocess.Popen(["dbus-daemon", f"--config-file={configuration}", "--nofork", "--print-address=1"],
                                       stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.address = self.daemon.stdout.readline().strip()
        check(self.address, "dbus-daemon does not start")
        self.environment = device.environment | {"DBUS_SESSION_BUS_ADDRESS": self.address, "LC_ALL": "C.UTF-8"}
        if is_bridge:
            manifests = device.state / "apps.d"
            manifests.mkdir(mode=0o700, exist_ok=True)
            (manifests / "secret-service.conf").write_text(
                f"[Application]\nIdentity={PROGRAM}\nName=Touchstone's Secret Service\nActsForClients=true\n")
        self.start()

    def start(self):
        self.errors = open(self.work / "secret-service.log", "a+")
        self.service = subprocess.Popen([PROGRAM, "--bus", self.address], env=self.device.environment,
                                        stdout=subprocess.PIPE, stderr=self.errors, text=True)
        line = self.service.stdout.readline()
        check(line.startswith("ready"), f"touchstone-secret-service: {line!r} {self.log}")

    @property
    def log(self):
        return pathlib.Path(self.errors.name).read_text()

    def restart(self, kill=False):
        (self.service.kill if kill else self.service.terminate)()
        self.service.wait(LONGEST_WAIT)
        self.start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for process in (*self.apps, self.service, self.daemon):
            process.kill()
            process.wait(LONGEST_WAIT)

    def run(self, *arguments, input="", status=0, **settings):
        """A program of Debian's: its standard output."""
        done = subprocess.run([str(argument) for argument in arguments], env=self.environment, input=input.encode(),
                              capture_output=True, timeout=LONGEST_WAIT, **settings)
        self.said = done.stderr.decode(errors="replace")
        check(status is None or done.returncode == status,
              f"{arguments}: exit {done.returncode}, expected {status}\n{done.stdout}\n{self.said}{self.log}")
        return done.stdout.decode()

    def app(self, name):
        """A program of its own, by this name, with libsecret in it."""
        return App(self, name)


class App:
    def __init__(self, bus, name):
        path = bus.work / name
        if not path.exists():
            shutil.copy(os.path.realpath("/usr/bin/python3"), path)
            # Others than root may write it, also where root runs the tests: then its content counts, too.
            path.chmod(0o775)
        self.path = path
        self.process = subprocess.Popen([path, "-c", APP], env=bus.environment, stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True)
        bus.apps.append(self.process)
        self.answers = queue.Queue()
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        for line in self.process.stdout:
            self.answers.put(json.loads(line))

    def say(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def answer(self):
        return self.answers.get(timeout=LONGEST_WAIT)

    def ask(self, line):
        """What an expression gives."""
        self.say(line)
        answer = self.answer()
        check("value" in answer, f"{line}: {answer}")
        return answer["value"]

    def fails(self, line, error):
        self.say(line)
        equal(self.answer(), {"error": error}, line)

    def quit(self):
        self.process.kill()
        self.process.wait(LONGEST_WAIT)


def with_bus(body):
    """A device with a passcode and a finger, the Secret Service, and a person."""

    def run():
        with Device() as device:
            device.set_up("271828", "thumb")
            with Bus(device) as bus:
                body(device, bus, Person(device))

    run.__name__ = body.__name__
    return run


def tool(bus, *arguments, **settings):
    return bus.run("secret-tool", *arguments, **settings)


@with_bus
def secret_tool_stores_and_finds(device, bus, person):
    """SS-7, SS-11, SS-22, SS-23, SS-30: its own session is not asked."""
    tool(bus, "store", "--label=A label", "user", "ü", "host", "example", input="correct horse")
    equal(tool(bus, "lookup", "user", "ü"), "correct horse", "the password")
    equal(tool(bus, "lookup", "user", "ü", "host", "example"), "correct horse", "the password, by both")
    equal(tool(bus, "lookup", "user", "u", status=1), "", "of another user")
    tool(bus, "store", "--label=Another", "user", "ü", "host", "example", input="staple")
    equal(tool(bus, "lookup", "user", "ü"), "staple", "the password that took its place")
    tool(bus, "store", "--label=Third", "user", "ü", input="")
    found = tool(bus, "search", "--all", "user", "ü")
    check("label = Another" in found and "label = Third" in found and "secret = staple" in found, found)
    check("A label" not in found, found)
    tool(bus, "clear", "user", "ü")
    equal(tool(bus, "lookup", "user", "ü", status=1), "", "after clear")
    equal(person.asked(), 0, "prompts for what the same session made")


@with_bus
def a_session_of_secret_tool_is_asked_once(device, bus, person):
    """BR-13, SS-35, SS-37, SS-40: secret-tool says nothing about who asks, so that its grants lapse."""
    tool(bus, "store", "--label=A label", "user", "x", input="correct horse", start_new_session=True)
    # One terminal's loop.
    loop = "for n in 1 2 3 4; do secret-tool lookup user x; done"
    equal(bus.run("bash", "-c", loop, start_new_session=True), "correct horse" * 4, "a loop")
    prompt = person.prompts[0]
    equal(person.asked(), 1, "prompts of a loop")
    equal(os.path.basename(prompt["client"]["identifier"]), "secret-tool", "who asks")
    check("“A label”" in prompt["reason"] and prompt["reason"].startswith("read a password"), prompt["reason"])
    check(any(fact["kind"] == "item" and "secret-tool" in fact["text"] for fact in prompt["facts"]), f"{prompt['facts']}")
    # Lock ends what this session was granted, and nothing else.
    equal(bus.run("bash", "-c", "secret-tool lookup user x; secret-tool lock; secret-tool lookup user x", start_new_session=True),
          "correct horse" * 2, "after lock")
    equal(person.asked(), 2, "prompts before and after lock")
    person.answer = "cancel"
    equal(bus.run("bash", "-c", "secret-tool lookup user x", start_new_session=True, status=1), "", "after a cancel")
    equal(person.asked(), 1, "prompts")


@with_bus
def another_program_gets_nothing_without_a_prompt_that_names_both(device, bus, person):
    """SS-30, SS-31, SS-33, SS-34, SS-37, SS-54."""
    mailer, thief = bus.app("mailer"), bus.app("thief")
    equal(mailer.ask("store('anna', 'correct horse')"), True, "stored")
    equal(mailer.ask("lookup('anna')"), "correct horse", "its own")
    equal(person.asked(), 0, "prompts of who made it")
    # Nobody lists what there is.
    equal(thief.ask("search({})"), [], "all items")
    equal(thief.ask("search({'xdg:schema': 'org.example.Mail'})"), [], "all items of a schema")
    items = "call('/org/freedesktop/secrets/aliases/default', 'org.freedesktop.DBus.Properties', 'Get', '(ss)', ('org.freedesktop.Secret.Collection', 'Items'))"
    equal(thief.ask(items), [[]], "the collection's items")
    (path, *_), = mailer.ask("search({'user': 'anna'})")
    equal(mailer.ask(items), [[path]], "the collection's items, of who made them")
    thief.fails(f"call({path!r}, 'org.freedesktop.DBus.Properties', 'GetAll', '(s)', ('org.freedesktop.Secret.Item',))",
                "org.freedesktop.Secret.Error.NoSuchObject")
    thief.fails(f"secret({path!r}, 'Delete')", "org.freedesktop.Secret.Error.NoSuchObject")
    # Who names the account finds it, locked.
    (found, locked, label, attributes), = thief.ask("search({'user': 'anna'})")
    equal((found, locked, label), (path, True, "Mail of a user"), "what another program finds")
    equal(mailer.ask("search({'user': 'anna'})")[0][1], False, "locked for who made it")
    equal(person.asked(), 0, "prompts for searching")
    person.answer = "cancel"
    equal(thief.ask("lookup('anna')"), None, "after a cancel")
    prompt = person.prompts[0]
    equal(person.asked(), 1, "prompts")
    equal(prompt["client"]["identifier"], str(thief.path), "who asks")
    check(any(str(mailer.path) in fact["text"] and "“Mail of a user”" in fact["text"] for fact in prompt["facts"]), f"{prompt['facts']}")
    equal(mailer.ask("lookup('anna')"), "correct horse", "its own, after another one's cancel")
    # A second one, with the finger: from then on it is not asked.
    person.answer = "finger"
    other = bus.app("other")
    equal(other.ask("lookup('anna')"), "correct horse", "with the finger")
    equal(other.ask("lookup('anna')"), "correct horse", "again")
    equal(person.asked(), 1, "prompts")
    bus.restart()
    mailer, other = bus.app("mailer"), bus.app("other")
    equal(mailer.ask("lookup('anna')"), "correct horse", "after a new start")
    equal(other.ask("lookup('anna')"), "correct horse", "a grant after a new start")
    equal(person.asked(), 0, "prompts after a new start")
    # Another file at its place is another program.
    other.quit()
    other.path.unlink()
    shutil.copy(mailer.path, other.path)
    with open(other.path, "ab") as file:
        file.write(b"\0")
    person.answer = "cancel"
    equal(bus.app("other").ask("lookup('anna')"), None, "another file of the same name")
    equal(person.asked(), 1, "prompts for it")


@with_bus
def nobody_else_changes_it(device, bus, person):
    """SS-32, SS-36, SS-5, SS-14, SS-22, SS-42."""
    mailer, thief = bus.app("mailer"), bus.app("thief")
    mailer.ask("store('anna', 'correct horse')")
    (path, *_), = thief.ask("search({'user': 'anna'})")
    session = mailer.ask("secret(ROOT, 'OpenSession', '(sv)', ('plain', GLib.Variant('s', '')))")[1]
    # A session of somebody else's.
    thief.fails(f"secret({path!r}, 'GetSecret', '(o)', ({session!r},))", "org.freedesktop.Secret.Error.NoSession")
    thief.fails(f"secret({session!r}, 'Close')", "org.freedesktop.Secret.Error.NoSession")
    own = thief.ask("secret(ROOT, 'OpenSession', '(sv)', ('plain', GLib.Variant('s', '')))")[1]
    person.answer = "cancel"
    value = f"(({own!r}, b'', b'mine', 'text/plain'),)"
    thief.fails(f"secret({path!r}, 'SetSecret', '((oayays))', {value})", "org.freedesktop.Secret.Error.IsLocked")
    equal(person.prompts[-1]["reason"].split(" “")[0], "change a password:", "the verb")
    thief.fails(
        f"call({path!r}, 'org.freedesktop.DBus.Properties', 'Set', '(ssv)', ('org.freedesktop.Secret.Item', 'Label', GLib.Variant('s', 'x')))",
        "org.freedesktop.Secret.Error.IsLocked")
    thief.say("store('anna', 'mine')")
    check("error" in thief.answer(), "a program stores over another's item")
    prompt = thief.ask(f"secret({path!r}, 'Delete')")[0]
    check("/prompt/" in prompt, prompt)
    mailer.fails(f"secret({prompt!r}, 'Prompt', '(s)', ('',))", "org.freedesktop.DBus.Error.UnknownObject")
    mailer.fails(f"secret({prompt!r}, 'Dismiss')", "org.freedesktop.DBus.Error.UnknownObject")
    # A prompt is dismissed once, and is then gone.
    thief.ask(f"secret({prompt!r}, 'Dismiss')")
    thief.fails(f"secret({prompt!r}, 'Dismiss')", "org.freedesktop.DBus.Error.UnknownObject")
    equal(mailer.ask("lookup('anna')"), "correct horse", "its password")
    # Below the alias it is the same, and what comes back is its own path.
    alias = path.replace("/collection/login/", "/aliases/default/")
    equal(mailer.ask(f"secret({alias!r}, 'GetSecret', '(o)', ({session!r},))")[0][2], list(b"correct horse"), "at the alias")
    # With the finger somebody else may.
    person.answer = "finger"
    third = bus.app("third")
    third.ask("search({'user': 'anna'})")
    prompt = third.ask(f"secret({path!r}, 'Delete')")[0]
    person.asked()
    third.ask(f"secret({prompt!r}, 'Prompt', '(s)', ('',))")
    found = "secret(ROOT, 'SearchItems', '(a{ss})', ({'user': 'anna'},))"
    wait_for(lambda: mailer.ask(found) == [[], []], "the item to be deleted")
    equal([prompt["reason"].split()[0] for prompt in person.prompts], ["delete"], "the prompts")
    equal(mailer.ask("lookup('anna')"), None, "what was deleted")


@with_bus
def what_is_stored_over_is_a_new_item(device, bus, person):
    """SS-22, SS-30: who could read the earlier item does not read the new one."""
    planter, mailer = bus.app("planter"), bus.app("mailer")
    planter.ask("store('anna', 'planted')")
    person.answer = "finger"
    equal(mailer.ask("store('anna', 'correct horse')"), True, "stored over")
    equal([prompt["reason"].split(" “")[0] for prompt in person.prompts], ["store over a password:"], "what was asked")
    person.asked()
    equal(mailer.ask("lookup('anna')"), "correct horse", "what it stored")
    equal(len(mailer.ask("search({'user': 'anna'})")), 1, "how many items there are")
    equal(person.asked(), 0, "prompts of who stored it")
    person.answer = "cancel"
    equal(planter.ask("lookup('anna')"), None, "the new secret, for who made the earlier item")
    equal(person.asked(), 1, "prompts of who made the earlier item")
    bus.restart()
    equal(bus.app("mailer").ask("lookup('anna')"), "correct horse", "what it stored, after a new start")
    equal(person.asked(), 0, "prompts after a new start")


@with_bus
def a_search_waits_until_it_can_look(device, bus, person):
    """SS-24, SS-39, SS-41, SS-44: never "nothing" because it could not look."""
    mailer = bus.app("mailer")
    mailer.ask("store('anna', 'correct horse')")
    person.answer = "nothing"
    device.run("device", "lock")
    # Known items are found while the device is locked.
    wait_for(lambda: mailer.ask("search({'user': 'anna'})")[0][1], "the item to be locked")
    bus.restart(kill=True)
    mailer = bus.app("mailer")
    equal(mailer.ask("secret(ROOT, 'ReadAlias', '(s)', ('default',))"), ["/org/freedesktop/secrets/collection/login"], "at once")
    started = time.monotonic()
    mailer.fails("secret(ROOT, 'SearchItems', '(a{ss})', ({'user': 'anna'},))", "org.freedesktop.Secret.Error.IsLocked")
    check(time.monotonic() - started < 25, "the answer comes after clients gave up")
    mailer.say("secret(ROOT, 'SearchItems', '(a{ss})', ({'user': 'anna'},))")
    time.sleep(1)
    check(mailer.answers.empty(), "an answer without a look")
    device.run("device", "unlock", input="271828\n")
    found, locked = mailer.answer()["value"]
    equal((len(found), locked), (1, []), "what is found after unlocking")
    equal(mailer.ask("lookup('anna')"), "correct horse", "the password")
    equal([prompt["reason"] for prompt in person.prompts if "read a password" in prompt["reason"]], [], "prompts")


@with_bus
def what_is_malformed_is_refused(device, bus, person):
    """SS-4, SS-10, SS-12, SS-14, SS-22."""
    app = bus.app("mailer")
    app.fails("secret(ROOT, 'OpenSession', '(sv)', ('rot13', GLib.Variant('s', '')))", "org.freedesktop.DBus.Error.NotSupported")
    algorithm = "dh-ietf1024-sha256-aes128-cbc-pkcs7"
    for value in ("b''", "b'\\0'", "b'\\1'", "b'\\xff' * 128", "b'\\1' * 129"):
        app.fails(f"secret(ROOT, 'OpenSession', '(sv)', ({algorithm!r}, GLib.Variant('ay', {value})))", "org.freedesktop.DBus.Error.InvalidArgs")
    app.fails("secret(ROOT, 'OpenSession', '(ss)', ('plain', ''))", "org.freedesktop.DBus.Error.InvalidArgs")
    app.fails("secret(ROOT, 'Nonsense')", "org.freedesktop.DBus.Error.UnknownMethod")
    app.fails("call('/org/freedesktop/secrets/x', 'org.freedesktop.Secret.Service', 'ReadAlias', '(s)', ('default',))",
              "org.freedesktop.DBus.Error.UnknownObject")
    app.fails("secret(ROOT + '/collection/none', 'Delete')", "org.freedesktop.Secret.Error.NoSuchObject")
    app.fails("secret(ROOT + '/session/none', 'Close')", "org.freedesktop.Secret.Error.NoSession")
    app.fails("secret(ROOT + '/collection/login', 'Delete')", "org.freedesktop.DBus.Error.NotSupported")
    app.fails("secret(ROOT, 'SetAlias', '(so)', ('default', '/'))", "org.freedesktop.DBus.Error.AccessDenied")
    equal(app.ask("secret(ROOT, 'ReadAlias', '(s)', ('nothing',))"), ["/"], "an alias that is not set")
    session = app.ask("secret(ROOT, 'OpenSession', '(sv)', ('plain', GLib.Variant('s', '')))")[1]
    make = "secret(ROOT + '/collection/login', 'CreateItem', '(a{sv}(oayays)b)', ({%s}, (%r, b'', %s, 'text/plain'), False))"
    attributes = "'org.freedesktop.Secret.Item.Attributes': GLib.Variant('a{ss}', %s)"
    app.fails(make % (attributes % "{'a': 'x' * 1025}", session, "b'x'"), "org.freedesktop.DBus.Error.LimitsExceeded")
    app.fails(make % (attributes % "{str(n): '' for n in range(65)}", session, "b'x'"), "org.freedesktop.DBus.Error.LimitsExceeded")
    app.fails(make % ("", session, "b'x' * (300 << 10)"), "org.freedesktop.DBus.Error.LimitsExceeded")
    app.fails(make % ("", "/org/freedesktop/secrets/session/x", "b'x'"), "org.freedesktop.Secret.Error.NoSession")
    app.ask(make % (attributes % "{'a': 'x' * 1024}", session, "b'x' * (256 << 10)"))
    # A program keeps 4 MiB in memory, and takes the place of no other.
    keep = "secret(ROOT + '/collection/session', 'CreateItem', '(a{sv}(oayays)b)', ({}, (%r, b'', b'x' * (256 << 10), 'text/plain'), False))"
    for _ in range(16):
        app.ask(keep % session)
    app.fails(keep % session, "org.freedesktop.DBus.Error.LimitsExceeded")
    other = bus.app("other")
    other.ask(keep % other.ask("secret(ROOT, 'OpenSession', '(sv)', ('plain', GLib.Variant('s', '')))")[1])
    # One connection has 64 sessions; closed ones do not count.
    for _ in range(63):
        app.ask("secret(ROOT, 'OpenSession', '(sv)', ('plain', GLib.Variant('s', '')))")
    app.fails("secret(ROOT, 'OpenSession', '(sv)', ('plain', GLib.Variant('s', '')))", "org.freedesktop.DBus.Error.LimitsExceeded")
    app.ask(f"secret({session!r}, 'Close')")
    app.ask("secret(ROOT, 'OpenSession', '(sv)', ('plain', GLib.Variant('s', '')))")


@with_bus
def the_collections_that_programs_expect(device, bus, person):
    """SS-1, SS-2, SS-6, SS-7, SS-8, SS-40."""
    app, other = bus.app("mailer"), bus.app("other")
    root = "/org/freedesktop/secrets"
    for alias, name in (("default", "login"), ("login", "login"), ("session", "session")):
        equal(app.ask(f"secret(ROOT, 'ReadAlias', '(s)', ({alias!r},))"), [f"{root}/collection/{name}"], alias)
    for path in (f"{root}/collection/login", f"{root}/aliases/default"):
        equal(app.ask(f"secret(ROOT, 'Unlock', '(ao)', ([{path!r}],))"), [[path], "/"], "Unlock of what is open")
        properties = app.ask(f"call({path!r}, 'org.freedesktop.DBus.Properties', 'GetAll', '(s)', ('org.freedesktop.Secret.Collection',))")[0]
        equal((properties["Label"], properties["Locked"]), ("Login", False), path)
    # The session's items are their program's, and gone with the service.
    equal(app.ask("store('anna', 'correct horse', 'session')"), True, "stored for the session")
    equal(app.ask("lookup('anna')"), "correct horse", "of the session")
    equal(other.ask("lookup('anna')"), None, "of the session, for another program")
    bus.restart()
    app = bus.app("mailer")
    equal(app.ask("lookup('anna')"), None, "of the session, after a new start")
    path, prompt = app.ask("secret(ROOT, 'CreateCollection', '(a{sv}s)', ({'org.freedesktop.Secret.Collection.Label': GLib.Variant('s', 'Mine')}, ''))")
    equal(prompt, "/", "the prompt of a new collection")
    bus.restart()
    app = bus.app("mailer")
    check(path in app.ask("call(ROOT, 'org.freedesktop.DBus.Properties', 'Get', '(ss)', ('org.freedesktop.Secret.Service', 'Collections'))")[0], "the collection")
    equal(app.ask(f"secret({path!r}, 'Delete')"), ["/"], "deleting an empty collection")
    found = bus.run("busctl", f"--address={bus.address}", "introspect", "org.freedesktop.secrets", root)
    for line in ("OpenSession", "sv", "vo", "a{o(oayays)}", "CollectionCreated", ".Collections", "ao"):
        check(line in found, f"{line} is not in\n{found}")


# python-keyring's own tests of a backend.
KEYRING = """
from keyring.backends.SecretService import Keyring
from keyring.testing.backend import BackendBasicTests

class TestCollection(BackendBasicTests):
    def init_keyring(self):
        keyring = Keyring()
        keyring.preferred_collection = "/org/freedesktop/secrets/collection/{}"
        return keyring
"""


@with_bus
def python_keyring_and_its_own_tests(device, bus, person):
    """SS-5, SS-6, SS-22, SS-30: the suite of Debian's python3-keyring, through secretstorage, in both collections."""
    for collection in ("login", "session"):
        tests = bus.work / f"test_{collection}.py"
        tests.write_text(KEYRING.format(collection))
        said = bus.run("/usr/bin/python3", "-m", "pytest", "-q", "-p", "no:cacheprovider", tests, status=None)
        check(" passed" in said and " failed" not in said and " error" not in said, f"{collection}: {said}{bus.said}{bus.log}")
    equal(person.asked(), 0, "prompts")


main(
    python_keyring_and_its_own_tests,
    secret_tool_stores_and_finds,
    a_session_of_secret_tool_is_asked_once,
    another_program_gets_nothing_without_a_prompt_that_names_both,
    nobody_else_changes_it, what_is_stored_over_is_a_new_item,
    a_search_waits_until_it_can_look,
    what_is_malformed_is_refused,
    the_collections_that_programs_expect,
)
