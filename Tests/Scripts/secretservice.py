"""The Secret Service on a bus of its own for the tests in this directory, which are executable; this file is not, and no test."""

import json
import os
import pathlib
import queue
import shutil
import subprocess
import threading

from bridges import BRIDGES, Person
from device import LONGEST_WAIT, Device, check, equal, wait_for

PROGRAM = BRIDGES / "touchstone-secret-service"
check(os.access(PROGRAM, os.X_OK), f"{PROGRAM} is not there: run make bridges")

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
def kind_of(path):
    kind = "Service" if path == ROOT else path[len(ROOT):].split("/")[1]
    kind = {"collection": "Collection", "aliases": "Collection", "session": "Session", "prompt": "Prompt"}.get(kind, kind)
    if kind == "Collection" and path.count("/") == 6: kind = "Item"
    return "org.freedesktop.Secret." + kind
def secret(path, member, signature=None, arguments=()):
    return call(path, kind_of(path), member, signature, arguments)
ALIAS = ROOT + "/aliases/default"
def create(path, session, secret, properties={}):
    # A secret is given whole, because GLib takes seconds for one that is given byte by byte.
    whole = lambda data: GLib.Variant.new_from_bytes(GLib.VariantType("ay"), GLib.Bytes.new(data), True)
    parts = GLib.Variant("o", session), whole(b""), whole(secret), GLib.Variant("s", "text/plain")
    body = GLib.Variant.new_tuple(GLib.Variant("a{sv}", properties), GLib.Variant.new_tuple(*parts), GLib.Variant("b", False))
    return BUS.call_sync(NAME, path, kind_of(path), "CreateItem", body, None, Gio.DBusCallFlags.NONE, 60000, None).unpack()
def make(attributes, label, password):
    named = {"org.freedesktop.Secret.Item.Label": GLib.Variant("s", label), "org.freedesktop.Secret.Item.Attributes": GLib.Variant("a{ss}", attributes)}
    return secret(ALIAS, "CreateItem", "(a{sv}(oayays)b)", (named, (open_session(), b"", password.encode(), "text/plain"), False))[0] != "/"
def items():
    return call(ALIAS, "org.freedesktop.DBus.Properties", "Get", "(ss)", (kind_of(ALIAS), "Items"))[0]
def property(path, name):
    return call(path, "org.freedesktop.DBus.Properties", "Get", "(ss)", (kind_of(path), name))[0]
def everything():
    session = open_session()
    # gnome-keyring adds this kind by itself to some of them.
    added = ("xdg:schema", "org.freedesktop.Secret.Generic")
    return [[str(sorted(set(property(path, "Attributes").items()) - {added})), property(path, "Label"), bytes(secret(path, "GetSecret", "(o)", (session,))[0][2]).decode()]
            for path in items()]
def change(label, password):
    changed = [path for path in items() if property(path, "Label") == label]
    for path in changed: secret(path, "SetSecret", "((oayays))", ((open_session(), b"", password.encode(), "text/plain"),))
    return len(changed) == 1
ANSWERS = []
def send(path, member, signature, arguments, connection=BUS):
    def done(connection, result):
        try: ANSWERS.append(connection.call_finish(result).unpack())
        except GLib.Error as error: ANSWERS.append(Gio.DBusError.get_remote_error(error) or error.message)
    connection.call(NAME, path, kind_of(path), member, GLib.Variant(signature, tuple(arguments)), None, Gio.DBusCallFlags.NONE, 600000, None, done)
def answers(count):
    while len(ANSWERS) < count: GLib.MainContext.default().iteration(True)
    return [ANSWERS.pop(0) for _ in range(count)]
HEARD = []
def listen(path):
    BUS.signal_subscribe(NAME, None, None, path, None, Gio.DBusSignalFlags.NONE, lambda *signal: HEARD.append([signal[4], signal[5].unpack()]))
def heard():
    while GLib.MainContext.default().iteration(False): pass
    return HEARD
def connect():
    flags = Gio.DBusConnectionFlags.AUTHENTICATION_CLIENT | Gio.DBusConnectionFlags.MESSAGE_BUS_CONNECTION
    return Gio.DBusConnection.new_for_address_sync(Gio.dbus_address_get_for_bus_sync(Gio.BusType.SESSION, None), flags, None, None)
def open_session(connection=BUS):
    arguments = GLib.Variant("(sv)", ("plain", GLib.Variant("s", "")))
    return connection.call_sync(NAME, ROOT, kind_of(ROOT), "OpenSession", arguments, None, Gio.DBusCallFlags.NONE, 60000, None).unpack()[1]
def prompt(path):
    ended, loop = [], GLib.MainLoop()
    def completed(*signal):
        ended.append(signal[5].unpack()[0])
        loop.quit()
    BUS.signal_subscribe(NAME, "org.freedesktop.Secret.Prompt", "Completed", path, None, Gio.DBusSignalFlags.NONE, completed)
    secret(path, "Prompt", "(s)", ("",))
    loop.run()
    return ended[0]
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
    """A private bus, the Secret Service on it unless `serves` is false, and programs."""

    def __init__(self, device, is_bridge=True, name="bus", serves=True):
        self.device, self.work, self.apps = device, device.work, []
        path = self.work / name
        configuration = self.work / f"{name}.conf"
        configuration.write_text(BUS.format(path=path))
        self.daemon = subprocess.Popen(["dbus-daemon", f"--config-file={configuration}", "--nofork", "--print-address=1"],
                                       stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.address = self.daemon.stdout.readline().strip()
        check(self.address, "dbus-daemon does not start")
        self.environment = device.environment | {"DBUS_SESSION_BUS_ADDRESS": self.address, "LC_ALL": "C.UTF-8"}
        self.program, self.service = PROGRAM, None
        if is_bridge:
            self.introduce()
        if serves:
            self.start()

    def introduce(self):
        """Tells the device that the program is a bridge."""
        manifests = self.device.state / "apps.d"
        manifests.mkdir(mode=0o700, exist_ok=True)
        (manifests / "secret-service.conf").write_text(
            f"[Application]\nIdentity={self.program}\nName=Touchstone's Secret Service\nActsForClients=true\n")

    def use(self, program):
        """Goes on with a copy by this path, which a test may change."""
        self.stop()
        shutil.copy(self.program, program)
        self.program = program
        self.introduce()
        self.start()

    def start(self, *options):
        self.errors = open(self.work / "secret-service.log", "a+")
        self.service = subprocess.Popen([self.program, "--bus", self.address, *options], env=self.device.environment,
                                        stdout=subprocess.PIPE, stderr=self.errors, text=True)
        line = self.service.stdout.readline()
        check(line.startswith("ready"), f"touchstone-secret-service: {line!r} {self.log}")

    @property
    def log(self):
        return pathlib.Path(self.errors.name).read_text() if self.service else ""

    def stop(self, kill=False):
        (self.service.kill if kill else self.service.terminate)()
        self.service.wait(LONGEST_WAIT)

    def restart(self, kill=False):
        self.stop(kill)
        self.start()

    def keyring(self, password="its own"):
        """gnome-keyring as it is in Debian, unlocked, or locked for an empty password."""
        process = subprocess.Popen(
            ["gnome-keyring-daemon", "--foreground", "--components=secrets", f"--control-directory={self.work / 'control'}",
             *(["--unlock"] if password else [])],
            env=self.environment | {"XDG_DATA_HOME": str(self.work / "data")}, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL)
        self.apps.append(process)
        process.stdin.write(password.encode())
        process.stdin.close()
        wait_for(lambda: "gnome-keyring" in self.run("busctl", f"--address={self.address}", "status", "org.freedesktop.secrets", status=None),
                 "gnome-keyring to be on the bus")
        return process

    def notifications(self):
        """A notification daemon: gives the titles that came."""
        program = """
import sys
from gi.repository import Gio, GLib
node = Gio.DBusNodeInfo.new_for_xml('<node><interface name="org.freedesktop.Notifications"><method name="Notify">'
    + ''.join(f'<arg type="{kind}" direction="in"/>' for kind in ('s', 'u', 's', 's', 's', 'as', 'a{sv}', 'i'))
    + '<arg type="u" direction="out"/></method></interface></node>')
def called(connection, sender, path, interface, method, parameters, invocation):
    print(parameters.unpack()[3], flush=True)
    invocation.return_value(GLib.Variant('(u)', (1,)))
Gio.bus_own_name(Gio.BusType.SESSION, 'org.freedesktop.Notifications', 0,
    lambda bus, name: bus.register_object('/org/freedesktop/Notifications', node.interfaces[0], called, None, None),
    lambda *_: print('ready', flush=True), None)
GLib.MainLoop().run()
"""
        process = subprocess.Popen(["/usr/bin/python3", "-c", program], env=self.environment, stdout=subprocess.PIPE, text=True)
        self.apps.append(process)
        equal(process.stdout.readline(), "ready\n", "the notification daemon")
        came = []
        threading.Thread(target=lambda: came.extend(line.strip() for line in process.stdout), daemon=True).start()
        return lambda: list(came)

    def move(self, verb, status=0):
        """`import` or `export`: what it says."""
        said = self.run(self.program, verb, "--bus", self.address, status=status)
        return said + self.said

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for process in (*self.apps, *([self.service] if self.service else []), self.daemon):
            process.kill()
            process.wait(LONGEST_WAIT)

    def run(self, *arguments, input="", status=0, timeout=LONGEST_WAIT, **settings):
        """A program of Debian's: its standard output."""
        done = subprocess.run([str(argument) for argument in arguments], env=self.environment, input=input.encode(),
                              capture_output=True, timeout=timeout, **settings)
        self.said = done.stderr.decode(errors="replace")
        check(status is None or done.returncode == status,
              f"{arguments}: exit {done.returncode}, expected {status}\n{done.stdout}\n{self.said}{self.log}")
        return done.stdout.decode()

    def copy(self, program, name):
        """A copy of a program by another name, which is another program; others than root may write it, so that its content counts, too."""
        path = self.work / name
        if not path.exists():
            shutil.copy(os.path.realpath(f"/usr/bin/{program}"), path)
            path.chmod(0o775)
        return path

    def app(self, name):
        """A program of its own, by this name, with libsecret in it."""
        return App(self, name)


class App:
    def __init__(self, bus, name):
        self.path = bus.copy("python3", name)
        self.process = subprocess.Popen([self.path, "-c", APP], env=bus.environment, stdin=subprocess.PIPE,
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
