#!/usr/bin/env python3
"""Programs of desktops and the Secret Service: Chromium, libsecret in C, and Go's order of calls."""

import concurrent.futures
import json
import os
import pathlib
import shutil
import subprocess
import time

from chromium import Chromium, Site
from device import LONGEST_WAIT, check, confirm, equal, main, wait_for
from secretservice import with_bus

# Stores, looks up and removes a password, as a program in C does.
MAIL = r"""
#include <libsecret/secret.h>
#include <stdio.h>
#include <string.h>

static const SecretSchema schema = {
    "org.example.Post", SECRET_SCHEMA_NONE,
    {{"user", SECRET_SCHEMA_ATTRIBUTE_STRING}, {"port", SECRET_SCHEMA_ATTRIBUTE_INTEGER}, {NULL, 0}}};

int main(int count, char **arguments) {
    GError *error = NULL;
    const char *verb = arguments[1], *user = arguments[2];
    gboolean done = TRUE;
    if (!strcmp(verb, "store")) {
        char password[256] = "";
        if (!fgets(password, sizeof password, stdin)) return 2;
        done = secret_password_store_sync(
            &schema, SECRET_COLLECTION_DEFAULT, "Post", password, NULL, &error, "user", user, "port", 993, NULL);
    } else if (!strcmp(verb, "lookup")) {
        gchar *password = secret_password_lookup_nonpageable_sync(&schema, NULL, &error, "user", user, "port", 993, NULL);
        done = password != NULL;
        if (password) fputs(password, stdout);
        secret_password_free(password);
    } else {
        done = secret_password_clear_sync(&schema, NULL, &error, "user", user, "port", 993, NULL);
    }
    if (error) fprintf(stderr, "%s\n", error->message);
    return error ? 3 : done ? 0 : 1;
}
"""


@with_bus
def libsecret_in_c(device, bus, person):
    """SS-2, SS-11, SS-22, SS-30: a program of its own, and a copy of it, which the owner is asked about."""
    source, program = bus.work / "post.c", bus.work / "post"
    source.write_text(MAIL)
    flags = subprocess.run(["pkg-config", "--cflags", "--libs", "libsecret-1"], check=True, capture_output=True, text=True).stdout.split()
    subprocess.run(["gcc", "-Wall", "-Werror", "-o", program, source, *flags], check=True, timeout=LONGEST_WAIT)
    bus.run(program, "lookup", "anna", status=1)
    bus.run(program, "store", "anna", input="correct horse")
    equal(bus.run(program, "lookup", "anna"), "correct horse", "its own password")
    equal(person.asked(), 0, "prompts of who made it")
    other = bus.work / "other"
    other.write_bytes(program.read_bytes() + b"another")
    other.chmod(0o755)
    equal(bus.run(other, "lookup", "anna"), "correct horse", "after the finger")
    (prompt,) = person.prompts
    person.asked()
    check(any("post" in fact["text"] for fact in prompt["facts"]), f"who stored it: {prompt['facts']}")
    equal(prompt["client"]["executable"] if "executable" in prompt["client"] else prompt["client"]["identifier"], str(other), "who asks")
    bus.run(program, "clear", "anna")
    bus.run(program, "lookup", "anna", status=1)
    equal(person.asked(), 0, "prompts for what it made")


@with_bus
def the_order_of_calls_in_go(device, bus, person):
    """SS-8, SS-42: zalando/go-keyring compares the path that Unlock answers with its own, and takes no other for success."""
    app = bus.app("go-program")
    collections = app.ask("property(ROOT, 'Collections')")
    login = "/org/freedesktop/secrets/collection/login"
    check(login in collections, f"{collections}")
    session = app.ask("open_session()")
    equal(app.ask(f"secret(ROOT, 'Unlock', '(ao)', ([{login!r}],))"), [[login], "/"], "Unlock of the collection")
    attributes = {"username": "anna", "service": "example"}
    create = (f"secret({login!r}, 'CreateItem', '(a{{sv}}(oayays)b)', ({{'org.freedesktop.Secret.Item.Label': GLib.Variant('s', "
              f"'Password for anna on example'), 'org.freedesktop.Secret.Item.Attributes': GLib.Variant('a{{ss}}', {attributes!r})}}, "
              f"({session!r}, b'', b'%s', 'text/plain; charset=utf8'), True))")
    first, prompt = app.ask(create % "correct horse")
    equal(prompt, "/", "the prompt of a new item")
    app.ask(create % "staple")
    found = app.ask(f"secret({login!r}, 'SearchItems', '(a{{ss}})', ({attributes!r},))[0]")
    equal(len(found), 1, "items after a password took another's place")
    equal(app.ask(f"secret(ROOT, 'Unlock', '(ao)', ({found!r},))"), [found, "/"], "Unlock of the item")
    equal(bytes(app.ask(f"secret({found[0]!r}, 'GetSecret', '(o)', ({session!r},))")[0][2]), b"staple", "the password")
    equal(app.ask(f"secret({found[0]!r}, 'Delete')"), ["/"], "the prompt of Delete")
    equal(app.ask(f"secret({login!r}, 'SearchItems', '(a{{ss}})', ({attributes!r},))[0]"), [], "items after Delete")
    app.ask(f"secret({session!r}, 'Close')")
    equal(person.asked(), 0, "prompts of who made it")
    # It takes whatever comes first from a prompt's path for Completed.
    person.answer = lambda prompt: confirm(device, {"prompt": prompt})
    device.run("device", "lock")
    locked = f"call({login!r}, 'org.freedesktop.DBus.Properties', 'Get', '(ss)', ('org.freedesktop.Secret.Collection', 'Locked'))"
    wait_for(lambda: app.ask(locked) == [True], "the service to hear of it")
    unlocked, prompt = app.ask(f"secret(ROOT, 'Unlock', '(ao)', ([{login!r}],))")
    equal(unlocked, [], "what is unlocked of a locked device")
    app.ask(f"listen({prompt!r}) and None")
    app.ask(f"secret({prompt!r}, 'Prompt', '(s)', ('',))")
    device.run("device", "unlock", input="271828\n")
    wait_for(lambda: app.ask("heard()"), "a signal")
    equal(app.ask("heard()"), [["Completed", [False, [login]]]], "what comes from the prompt's path")


@with_bus
def chromium_keeps_its_cookie(device, bus, person):
    """SS-7, SS-10, SS-30, SS-55: over a new start of the service, and a device that was locked."""
    browser = Chromium(bus, Site())
    equal(browser.visit(), None, "the cookie of the first visit")
    equal(browser.kind, [b"v11"], "how it is encrypted")
    equal(browser.visit(), "visit=first", "the cookie of the second visit")
    bus.restart(kill=True)
    equal(browser.visit(), "visit=first", "the cookie after a new start of the service")
    equal(browser.kind, [b"v11"], "how it is encrypted")
    equal(person.asked(), 0, "prompts of the program that stored the key")


@with_bus
def chromium_waits_for_a_device_that_is_locked(device, bus, person):
    """SS-39, SS-55: the browser waits for its key and keeps its cookie, also if the service was started anew while locked."""
    browser = Chromium(bus, Site())
    browser.visit()
    person.answer = "nothing"
    device.run("device", "lock")
    bus.restart(kill=True)
    with concurrent.futures.ThreadPoolExecutor() as pool:
        visit = pool.submit(browser.visit)
        wait_for(lambda: browser.process and browser.process.poll() is None, "Chromium to start")
        # Chromium takes its key, or finds none, about a second after its start.
        time.sleep(5)
        device.run("device", "unlock", input="271828\n")
        equal(visit.result(LONGEST_WAIT), "visit=first", "the cookie")
    equal(browser.kind, [b"v11"], "how it is encrypted")


def from_gnome_keyring(bus):
    """A browser whose key gnome-keyring had, and that is Touchstone's now: nobody was granted it."""
    bus.stop()
    keyring = bus.keyring()
    browser = Chromium(bus, Site())
    browser.visit()
    equal(browser.kind, [b"v11"], "how gnome-keyring has the cookie encrypted")
    said = bus.move("import")
    check("brought in" in said and not said.startswith("brought in 0"), said)
    bus.start("--replace")
    keyring.wait(LONGEST_WAIT)
    return browser


@with_bus
def chromium_keeps_its_cookie_over_a_change_of_the_provider(device, bus, person):
    """SS-52, SS-55: from gnome-keyring, with one prompt that names it, and back."""
    browser = from_gnome_keyring(bus)
    equal(browser.visit(), "visit=first", "the cookie after the change")
    check(all(os.path.basename(prompt["client"]["identifier"]) == "chromium" for prompt in person.prompts), f"{person.prompts}")
    check(person.asked() >= 1, "nobody was asked")
    # An upgrade of the browser and of the service: the same paths.
    bus.restart()
    equal(browser.visit(), "visit=first", "the cookie after a new start of the service")
    equal(person.asked(), 0, "prompts of a browser that was granted its key")
    bus.stop()
    bus.keyring()
    check("gave" in bus.move("export"), bus.said)
    equal(browser.visit(), "visit=first", "the cookie with gnome-keyring again")
    equal(browser.kind, [b"v11"], "how it is encrypted")


@with_bus
def chromium_keeps_passwords_that_it_saves_itself(device, bus, person):
    """SS-30, SS-55: in its own file, under the key that it has from here; over a new start, a lock, and a change of the provider."""
    browser = Chromium(bus, Site())
    browser.save("anna", "correct horse")
    equal(browser.saved, [("anna", b"v11")], "what its file has")
    login = {"user": "anna", "password": "correct horse"}
    equal(browser.sign_in(), login, "what it fills in after a new start of the browser")
    bus.restart(kill=True)
    device.run("device", "lock")
    device.run("device", "unlock", input="271828\n")
    equal(browser.sign_in(), login, "what it fills in after a new start of the service, and a lock")
    equal(person.asked(), 0, "prompts of the program that stored the key")
    bus.stop()
    keyring = bus.keyring()
    check("gave" in bus.move("export"), bus.said)
    equal(browser.sign_in(), login, "what it fills in with gnome-keyring")
    bus.move("import")
    bus.start("--replace")
    keyring.wait(LONGEST_WAIT)
    equal(browser.sign_in(), login, "what it fills in with Touchstone again")
    equal(browser.saved, [("anna", b"v11")], "what its file has")


def upgrade(path):
    """Another file by the same name, as dpkg does it: whoever runs the old one goes on."""
    new = path.with_suffix(".dpkg-new")
    shutil.copy(path, new)
    with open(new, "ab") as file:
        file.write(b"newer")
    new.rename(path)


@with_bus
def chromium_keeps_its_cookie_over_upgrades(device, bus, person):
    """SS-55, BR-31: of the service, while it runs and after a new start, of the browser's program, and of its profile."""
    bus.use(bus.work / "touchstone-secret-service")
    folder = bus.work / "chromium"
    folder.mkdir()
    for file in pathlib.Path("/usr/lib/chromium").iterdir():
        (folder / file.name).symlink_to(file)
    program = folder / "chromium"
    program.unlink()
    shutil.copy("/usr/lib/chromium/chromium", program)
    browser = Chromium(bus, Site(), program)
    browser.visit()
    browser.save("anna", "correct horse")
    upgrade(bus.program)
    equal(browser.visit(), "visit=first", "the cookie while the old service runs on")
    bus.restart()
    equal(browser.visit(), "visit=first", "the cookie with the new service")
    equal(person.asked(), 0, "prompts for an upgrade of the service")
    upgrade(program)
    # A profile of an older browser: it is brought up to date at the start.
    (browser.profile / "Last Version").write_text("150.0.0.0")
    equal(browser.visit(), "visit=first", "the cookie with the new browser")
    equal((browser.profile / "Last Version").read_text().split(".")[0], "156", "the version of the profile")
    equal(browser.sign_in(), {"user": "anna", "password": "correct horse"}, "the password with the new browser")
    equal((browser.kind, browser.saved), ([b"v11"], [("anna", b"v11")]), "how they are encrypted")


@with_bus
def a_browser_is_not_told_that_its_key_was_refused(device, bus, person):
    """SS-38: its cookie stays, the owner is asked again after the next unlock, and hears why the browser shows nothing."""
    browser = from_gnome_keyring(bus)
    bell = bus.notifications()
    person.answer = "cancel"
    with concurrent.futures.ThreadPoolExecutor() as pool:
        visit = pool.submit(browser.visit)
        wait_for(lambda: person.prompts, "the prompt")
        wait_for(bell, "the owner to be told")
        time.sleep(3)
        check(not visit.done(), "the browser went on without its key")
        equal(len(person.prompts), 1, "prompts after a cancel")
        equal(bell(), ["chromium waits for its key"], "what the owner is told")
        person.answer = "finger"
        device.run("device", "lock")
        device.run("device", "unlock", input="271828\n")
        equal(visit.result(LONGEST_WAIT), "visit=first", "the cookie")
    equal(browser.kind, [b"v11"], "how it is encrypted")


@with_bus
def a_browser_waits_for_an_agent(device, bus, person):
    """SS-39, SS-55: a browser that starts before anything shows prompts; ended meanwhile, it loses nothing either."""
    browser = from_gnome_keyring(bus)
    person.leave()
    with concurrent.futures.ThreadPoolExecutor() as pool:
        visit = pool.submit(browser.visit)
        time.sleep(5)
        check(not visit.done(), "the browser went on without its key")
        # The browser is ended: nothing was written.
        browser.process.kill()
        check(visit.exception(LONGEST_WAIT), "a page of a browser that was ended")
        visit = pool.submit(browser.visit)
        time.sleep(3)
        check(not visit.done(), "the browser went on without its key")
        person = type(person)(device)
        equal(visit.result(LONGEST_WAIT), "visit=first", "the cookie")
    equal(browser.kind, [b"v11"], "how it is encrypted")
    check(person.asked() >= 1, "nobody was asked")


@with_bus
def whoever_takes_the_browsers_key_meets_the_prompt(device, bus, person):
    """SS-31, SS-54: as importers of cookies do it, by the schema and by the attribute."""
    Chromium(bus, Site()).visit()
    thief = bus.app("thief")
    equal(thief.ask("search({'xdg:schema': 'chrome_libsecret_os_crypt_password_v2'})"), [], "what is found by the schema alone")
    ((path, locked, *_),) = thief.ask("search({'application': 'chromium'})")
    check(locked, "the key is open for another program")
    equal(person.asked(), 0, "prompts for looking")
    person.answer = "cancel"
    session = thief.ask("open_session()")
    thief.fails(f"secret({path!r}, 'GetSecret', '(o)', ({session!r},))", "org.freedesktop.Secret.Error.IsLocked")
    (prompt,) = person.prompts
    equal(os.path.basename(prompt["client"]["identifier"]), "thief", "who asks")
    check(any("chromium" in fact["text"] for fact in prompt["facts"]), f"whose it is: {prompt['facts']}")


@with_bus
def what_programs_say_when_the_owner_cancels(device, bus, person):
    """SS-38: each ends with an error of its own; none gets the password, none loses it."""
    bus.run("secret-tool", "store", "--label=Mail", "service", "mail", "username", "anna", input="correct horse", start_new_session=True)
    place = "https://registry.example/v2/"
    entry = json.dumps({"ServerURL": place, "Username": "anna", "Secret": "staple"})
    bus.run("docker-credential-secretservice", "store", input=entry, start_new_session=True)
    person.answer = "cancel"
    equal(bus.run("secret-tool", "lookup", "service", "mail", status=1, start_new_session=True), "", "secret-tool")
    # 0.6.4 reads a password that it was not given, and crashes.
    said = bus.run("docker-credential-secretservice", "get", input=place, status=None, start_new_session=True)
    check("staple" not in said and "secret_value_get: assertion" in bus.said, f"docker: {said}{bus.said}")
    script = "import keyring; print(keyring.get_password('mail', 'anna'))"
    equal(bus.run("/usr/bin/python3", "-c", script, status=1, start_new_session=True), "", "python-keyring")
    check("keyring.errors.KeyringLocked" in bus.said, bus.said)
    # Its unlock() returns True for dismissed.
    bare = """import secretstorage
collection = secretstorage.get_default_collection(secretstorage.dbus_init())
item = next(collection.search_items({"service": "mail"}))
print(item.unlock())
item.get_secret()"""
    equal(bus.run("/usr/bin/python3", "-c", bare, status=1, start_new_session=True), "True\n", "secretstorage")
    check("secretstorage.exceptions.LockedException" in bus.said, bus.said)
    equal(person.asked(), 4, "prompts")
    person.answer = "finger"
    equal(bus.run("/usr/bin/python3", "-c", script, start_new_session=True), "correct horse\n", "after the finger")


main(
    what_programs_say_when_the_owner_cancels, chromium_keeps_its_cookie_over_a_change_of_the_provider,
    a_browser_is_not_told_that_its_key_was_refused, a_browser_waits_for_an_agent,
    chromium_waits_for_a_device_that_is_locked, chromium_keeps_its_cookie, chromium_keeps_passwords_that_it_saves_itself,
    chromium_keeps_its_cookie_over_upgrades, whoever_takes_the_browsers_key_meets_the_prompt,
    libsecret_in_c, the_order_of_calls_in_go,
)
