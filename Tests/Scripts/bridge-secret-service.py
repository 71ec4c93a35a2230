#!/usr/bin/env python3
"""The Secret Service: the real secret-tool and libsecret on a bus of their own, who is asked, and what a second program gets."""

import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import time

from device import LONGEST_WAIT, check, equal, main, wait_for
from secretservice import BUS, PROGRAM, tool, with_bus


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
              "org.freedesktop.Secret.Error.NoSuchObject")
    app.fails("secret(ROOT + '/collection/none', 'Delete')", "org.freedesktop.Secret.Error.NoSuchObject")
    app.fails("secret(ROOT + '/session/none', 'Close')", "org.freedesktop.Secret.Error.NoSession")
    app.fails("secret(ROOT + '/collection/login', 'Delete')", "org.freedesktop.DBus.Error.NotSupported")
    app.fails("secret(ROOT, 'SetAlias', '(so)', ('default', '/'))", "org.freedesktop.DBus.Error.AccessDenied")
    equal(app.ask("secret(ROOT, 'ReadAlias', '(s)', ('nothing',))"), ["/"], "an alias that is not set")
    session = app.ask("secret(ROOT, 'OpenSession', '(sv)', ('plain', GLib.Variant('s', '')))")[1]
    make = "create(ROOT + '/collection/login', properties={%s}, session=%r, secret=%s)"
    attributes = "'org.freedesktop.Secret.Item.Attributes': GLib.Variant('a{ss}', %s)"
    app.fails(make % (attributes % "{'a': 'x' * 1025}", session, "b'x'"), "org.freedesktop.DBus.Error.LimitsExceeded")
    app.fails(make % (attributes % "{str(n): '' for n in range(65)}", session, "b'x'"), "org.freedesktop.DBus.Error.LimitsExceeded")
    app.fails(make % ("", session, "b'x' * (300 << 10)"), "org.freedesktop.DBus.Error.LimitsExceeded")
    app.fails(make % ("", "/org/freedesktop/secrets/session/x", "b'x'"), "org.freedesktop.Secret.Error.NoSession")
    app.ask(make % (attributes % "{'a': 'x' * 1024}", session, "b'x' * (256 << 10)"))
    # A program keeps 4 MiB in memory, and takes the place of no other.
    keep = "create(ROOT + '/collection/session', %r, b'x' * (256 << 10))"
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
    # The label of the first collection lasts; that of the session is not kept.
    label = "call(%r, 'org.freedesktop.DBus.Properties', %r, %r, ('org.freedesktop.Secret.Collection', 'Label', *%s))"
    login, session = f"{root}/collection/login", f"{root}/collection/session"
    app.ask(label % (login, "Set", "(ssv)", "[GLib.Variant('s', 'Mine')]"))
    bus.restart()
    app, other = bus.app("mailer"), bus.app("other")
    app.ask("search({})")
    equal(app.ask(label % (login, "Get", "(ss)", "[]")), ["Mine"], "the label after a new start")
    app.fails(label % (session, "Set", "(ssv)", "[GLib.Variant('s', 'Mine')]"), "org.freedesktop.DBus.Error.AccessDenied")
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


@with_bus
def one_program_holds_up_no_other(device, bus, person):
    """SS-44, SS-65, BR-26: calls that wait for the owner are one question, and have limits for each process."""
    mailer, greedy = bus.app("mailer"), bus.app("greedy")
    mailer.ask("store('anna', 'correct horse')")
    greedy.ask("[globals().update(S=open_session(), C=connect()), globals().update(T=open_session(C))][0] and None")
    make = "send(ROOT + '/collection/login', 'CreateItem', '(a{sv}(oayays)b)', ({}, (%s, b'', b'x' * %d, 'text/plain'), False), %s)"
    person.answer = "nothing"
    device.run("device", "lock")
    wait_for(lambda: mailer.ask("search({'user': 'anna'})")[0][1], "the item to be locked")
    # 256 calls of a process wait, on whichever connection.
    greedy.ask(f"[{make % ('S', 1, 'BUS')} for _ in range(200)] and None")
    greedy.ask(f"[{make % ('T', 1, 'C')} for _ in range(100)] and None")
    equal(greedy.ask("answers(44)"), ["org.freedesktop.DBus.Error.LimitsExceeded"] * 44, "more than 256 calls of a process")
    threads = len(os.listdir(f"/proc/{bus.service.pid}/task"))
    check(threads < 64, f"{threads} threads for 256 calls that wait")
    equal(mailer.ask("secret(ROOT, 'ReadAlias', '(s)', ('login',))"), ["/org/freedesktop/secrets/collection/login"], "another program")
    device.run("device", "unlock", input="271828\n")
    equal(mailer.ask("lookup('anna')"), "correct horse", "another program's password")


@with_bus
def a_program_with_many_accounts_is_refused_none(device, bus, person):
    """BR-29, SS-44: it asks for ten passwords at once, as after an import; each is a question of its own, and five of them wait at a time."""
    mailer, other = bus.app("mailer"), bus.app("other")
    mailer.ask("[store(f'user{number}', f'secret {number}') for number in range(10)]")
    paths = [other.ask(f"search({{'user': 'user{number}'}})")[0][0] for number in range(10)]
    other.ask("globals().update(S=open_session())")
    other.ask(f"[send(path, 'GetSecret', '(o)', (S,)) for path in {paths[:5]!r}] and None")
    other.ask(f"[send(prompt, 'Prompt', '(s)', ('',)) for prompt in [secret(ROOT, 'Unlock', '(ao)', ([path],))[1] for path in {paths[5:]!r}]] and None")
    answers = other.ask("answers(10)")
    check(not any(isinstance(answer, str) for answer in answers), f"{answers}")
    wait_for(lambda: all(other.ask(f"property({path!r}, 'Locked')") is False for path in paths), "all of them to be open")
    equal(person.asked(), 10, "prompts")


@with_bus
def questions_that_fail_at_once_rest(device, bus, person):
    """SS-39, SS-65: without an agent they are asked again after some seconds, and two of them do not wake each other."""
    mailer, other = bus.app("mailer"), bus.app("other")
    mailer.ask("store('anna', 'correct horse'), store('bert', 'staple')")
    paths = [other.ask(f"search({{'user': {user!r}}})")[0][0] for user in ("anna", "bert")]
    prompts = [other.ask(f"secret(ROOT, 'Unlock', '(ao)', ([{path!r}],))")[1] for path in paths]
    person.leave()
    other.ask(f"[send(prompt, 'Prompt', '(s)', ('',)) for prompt in {prompts!r}] and None")

    def seconds_of_processor():
        fields = pathlib.Path(f"/proc/{bus.service.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    before = seconds_of_processor()
    time.sleep(6)
    used = seconds_of_processor() - before
    check(used < 0.3, f"{used} s of processor time while nobody can be asked")


@with_bus
def large_calls_that_wait_are_few(device, bus, person):
    """SS-65: 8 MiB of one process wait."""
    bus.app("mailer").ask("store('anna', 'correct horse')")
    person.answer = "nothing"
    device.run("device", "lock")
    bus.restart(kill=True)
    mailer, greedy = bus.app("mailer"), bus.app("greedy")
    greedy.ask("globals().update(S=open_session(), P=[f'{ROOT}/collection/login/{n:0200}' for n in range(4096)])")
    greedy.ask("[send(ROOT, 'GetSecrets', '(aoo)', (P, S)) for _ in range(12)] and None")
    equal(greedy.ask("answers(4)"), ["org.freedesktop.DBus.Error.LimitsExceeded"] * 4, "more than 8 MiB of a process")
    mailer.say("lookup('anna')")
    device.run("device", "unlock", input="271828\n")
    # A busy machine unlocks it after they gave up (SS-44).
    locked = "org.freedesktop.Secret.Error.IsLocked"
    waited = greedy.ask("answers(8)")
    check(all(answer in ([{}], locked) for answer in waited), f"those that waited: {waited}")
    answer = mailer.answer()
    if answer == {"error": locked}:
        answer = {"value": mailer.ask("lookup('anna')")}
    equal(answer, {"value": "correct horse"}, "another program's password")


@with_bus
def another_set_is_no_way_around_a_cancel(device, bus, person):
    """SS-36, BR-29: the pause is for each item."""
    mailer, thief = bus.app("mailer"), bus.app("thief")
    mailer.ask("store('anna', 'correct horse'), store('bert', 'staple')")
    paths = {user: thief.ask("search({'user': %r})" % user)[0][0] for user in ("anna", "bert")}
    session = thief.ask("open_session()")
    read = "secret(ROOT, 'GetSecrets', '(aoo)', (%r, %r))"
    person.answer = "cancel"
    thief.fails(read % ([paths["anna"]], session), "org.freedesktop.Secret.Error.IsLocked")
    equal(person.asked(), 1, "prompts")
    thief.fails(read % ([paths["anna"], paths["bert"]], session), "org.freedesktop.Secret.Error.IsLocked")
    equal(person.asked(), 0, "prompts for a set with the same item")
    person.answer = "finger"
    equal(len(thief.ask(read % ([paths["bert"]], session))[0]), 1, "what was not cancelled")
    equal(person.asked(), 1, "prompts for another item")


@with_bus
def a_collection_goes_with_what_was_approved(device, bus, person):
    """SS-36: what comes into it while the owner is asked is asked for, too."""
    mailer, thief = bus.app("mailer"), bus.app("thief")
    label = "{'org.freedesktop.Secret.Collection.Label': GLib.Variant('s', 'Mine')}"
    collection, _ = mailer.ask(f"secret(ROOT, 'CreateCollection', '(a{{sv}}s)', ({label}, ''))")
    mailer.ask(f"store('anna', 'correct horse', {collection!r})")

    def amid(prompt):
        if len(person.prompts) > 1:
            return "cancel"
        mailer.ask(f"store('bert', 'staple', {collection!r})")
        return "finger"

    person.answer = amid
    path = thief.ask(f"secret({collection!r}, 'Delete')")[0]
    equal(thief.ask(f"prompt({path!r})"), True, "dismissed")
    equal([prompt["reason"].split(":")[0] for prompt in person.prompts], ["delete a password"] * 2, "the prompts")
    equal([mailer.ask(f"lookup({user!r})") for user in ("anna", "bert")], ["correct horse", "staple"], "what is still there")
    # Cancelled: the same is asked again after 10 seconds at the earliest. Another program, with the finger:
    person.asked()
    person.answer = "finger"
    other = bus.app("other")
    path = other.ask(f"secret({collection!r}, 'Delete')")[0]
    equal(other.ask(f"prompt({path!r})"), False, "dismissed")
    equal(len(person.prompts), 1, "prompts")
    mailer.fails(f"secret({collection!r}, 'SearchItems', '(a{{ss}})', ({{}},))", "org.freedesktop.Secret.Error.NoSuchObject")


@with_bus
def aliases_last(device, bus, person):
    """SS-6: over a new start, until they are removed or their collection is."""
    app = bus.app("mailer")
    made = [app.ask("secret(ROOT, 'CreateCollection', '(a{sv}s)', ({}, %r))" % name)[0] for name in ("one", "")]
    app.ask(f"secret(ROOT, 'SetAlias', '(so)', ('two', {made[1]!r}))")
    app.ask(f"secret(ROOT, 'SetAlias', '(so)', ('three', {made[1]!r}))")
    app.ask("secret(ROOT, 'SetAlias', '(so)', ('three', '/'))")
    read = "[secret(ROOT, 'ReadAlias', '(s)', (name,))[0] for name in ('one', 'two', 'three', 'default')]"
    login = "/org/freedesktop/secrets/collection/login"
    bus.restart(kill=True)
    app = bus.app("mailer")
    app.ask("search({})")
    equal(app.ask(read), [*made, "/", login], "aliases after a new start")
    app.ask(f"secret({made[0]!r}, 'Delete')")
    bus.restart()
    app = bus.app("mailer")
    app.ask("search({})")
    equal(app.ask(read), ["/", made[1], "/", login], "an alias of a collection that is gone")


@with_bus
def one_of_them_works_on_a_device(device, bus, person):
    """SS-20: on another bus, too; the first one's half-written rows are not the second one's to remove."""
    path = device.work / "second"
    configuration = device.work / "second.conf"
    configuration.write_text(BUS.format(path=path))
    daemon = subprocess.Popen(["dbus-daemon", f"--config-file={configuration}", "--nofork", "--print-address=1"],
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        address = daemon.stdout.readline().strip()
        second = subprocess.run([PROGRAM, "--bus", address], env=device.environment, capture_output=True, text=True, timeout=LONGEST_WAIT)
        check(second.returncode != 0 and "works on the device" in second.stderr, f"the second one: {second}")
    finally:
        daemon.kill()
        daemon.wait(LONGEST_WAIT)


@with_bus
def what_is_stored_after_a_new_passcode_has_a_key_of_the_owners(device, bus, person):
    """SS-20, AC-51: with the passcode goes the owner's key, and so nobody can approve what was stored before."""
    mailer, other = bus.app("mailer"), bus.app("other")
    mailer.ask("store('anna', 'before')")
    device.run("device", "passcode", "remove", input="271828\n")
    device.set_up("314159")
    wait_for(lambda: "value" in (mailer.say("store('berta', 'after')") or mailer.answer()), "a store after the passcode was set")
    equal(other.ask("lookup('berta')"), "after", "what was stored since then, with the finger")
    equal(person.asked(), 1, "prompts")
    equal(mailer.ask("lookup('anna')"), "before", "what was stored before, for who stored it")
    bus.restart()
    mailer, other = bus.app("mailer"), bus.app("other")
    mailer.ask("store('clara', 'later')")
    equal(other.ask("lookup('clara')"), "later", "after a new start, with the finger")
    equal(person.asked(), 1, "prompts after a new start")


@with_bus
def one_program_takes_nobodys_place(device, bus, person):
    """SS-6, SS-7, SS-22: its items, their bytes, its collections and its aliases are limited, also after a new start."""
    greedy, mailer = bus.app("greedy"), bus.app("mailer")
    exceeded = "org.freedesktop.DBus.Error.LimitsExceeded"
    many = "create(ALIAS, S, {secret}, {{'org.freedesktop.Secret.Item.Attributes': GLib.Variant('a{{ss}}', {{'user': str({n})}})}})"
    large, small = "b'x' * (256 << 10)", "b'x'"

    def begins(app):
        app.ask("globals().update(S=open_session())")
        return app

    # Bytes: 16 MiB are fewer than 64 of them, with what is kept beside.
    begins(greedy).ask(f"[{many.format(secret=large, n='n')} for n in range(63)] and None")
    greedy.fails(many.format(secret=large, n=63), exceeded)
    last = greedy.ask(many.format(secret=small, n=63))[0]
    grow = f"secret({last!r}, 'SetSecret', '((oayays))', ((S, b'', b'x' * {{bytes}}, 'text/plain'),))"
    greedy.fails(grow.format(bytes=256 << 10), exceeded)
    equal(greedy.ask(grow.format(bytes=4096)), [], "a change within the share")
    begins(mailer).ask(many.format(secret=large, n=0))
    bus.restart()
    greedy, mailer = begins(bus.app("greedy")), bus.app("mailer")
    greedy.fails(many.format(secret=large, n=63), exceeded)
    greedy.ask("[secret(path, 'Delete') for path, *_ in search({}) if path != %r] and None" % last)
    # Items.
    for first in range(0, 2000, 250):
        greedy.ask(f"[{many.format(secret=small, n='n')} for n in range({first}, {min(first + 250, 1999)})] and None")
    greedy.fails(many.format(secret=small, n=1999), exceeded)
    equal(greedy.ask(f"secret({last!r}, 'Delete')"), ["/"], "a deletion")
    greedy.ask(many.format(secret=small, n=1999))
    equal(mailer.ask("store('anna', 'correct horse')"), True, "another program's item")
    # Collections, and aliases of them.
    make = "secret(ROOT, 'CreateCollection', '(a{sv}s)', ({}, %r))[0]"
    name = "secret(ROOT, 'SetAlias', '(so)', (%r, %r))"
    made = [greedy.ask(make % alias) for alias in ("one", "two", "three", "")]
    greedy.fails(make % "", exceeded)
    equal(greedy.ask(name % ("four", made[3])), [], "a fourth alias")
    bus.restart()
    greedy, mailer = bus.app("greedy"), bus.app("mailer")
    greedy.fails(make % "", exceeded)
    greedy.fails(name % ("five", made[3]), exceeded)
    equal(greedy.ask(name % ("four", made[0])), [], "a change of an alias")
    mailer.ask(make % "mine")
    greedy.ask(f"secret({made[3]!r}, 'Delete')")
    greedy.ask(name % ("four", "/"))
    greedy.ask(make % "five")


@with_bus
def an_alias_is_never_lost_on_its_way(device, bus, person):
    """SS-6, SS-20: it is changed in its place, also where there is no room for another row."""
    app = bus.app("app")
    first, second = (app.ask("secret(ROOT, 'CreateCollection', '(a{sv}s)', ({}, %r))" % name)[0] for name in ("mine", ""))
    read = "secret(ROOT, 'ReadAlias', '(s)', ('mine',))[0]"
    device.run("keychain", "quota", str(bus.program), "--items", "0")
    app.say(f"secret(ROOT, 'SetAlias', '(so)', ('mine', {second!r}))")
    equal(app.answer(), {"value": []}, "the change")
    app.say(f"secret(ROOT, 'SetAlias', '(so)', ('yours', {first!r}))")
    check("error" in app.answer(), "there was room for another one")
    bus.restart()
    equal(bus.app("app").ask(read), second, "the alias after a new start")


@with_bus
def more_than_one_answer_is_read(device, bus, person):
    """SS-21, SS-22: 640 items with the most attributes are more than 64 MiB as the device writes them."""
    attributes = "{**{chr(97 + n): '\\1' * 1023 for n in range(14)}, 'user': str(n)}"
    make = ("secret(ROOT + '/collection/login', 'CreateItem', '(a{sv}(oayays)b)', ({'org.freedesktop.Secret.Item.Attributes': "
            f"GLib.Variant('a{{ss}}', {attributes})}}, (S, b'', str(n).encode(), 'text/plain'), False))")
    # One program may not have so many.
    for start in range(0, 640, 128):
        app = bus.app(f"mailer{start}")
        app.ask("globals().update(S=open_session())")
        app.ask(f"[{make} for n in range({start}, {start + 128})] and None")
    bus.restart()
    mailer = bus.app("mailer512")
    # A busy machine reads them for longer than one call waits (SS-44).
    wait_for(lambda: "value" in (mailer.say("secret(ROOT, 'SearchItems', '(a{ss})', ({'no': 'such'},))") or mailer.answer()), "what is kept")
    found = mailer.ask("secret(ROOT, 'SearchItems', '(a{ss})', ({'a': '\\1' * 1023},))")
    equal([len(paths) for paths in found], [128, 512], "what is found after a new start")
    session = mailer.ask("open_session()")
    (found,), _ = mailer.ask("secret(ROOT, 'SearchItems', '(a{ss})', ({'user': '639'},))")
    equal(mailer.ask(f"secret({found!r}, 'GetSecret', '(o)', ({session!r},))")[0][2], list(b"639"), "the last one's secret")


@with_bus
def what_gnome_keyring_keeps_comes_in_and_goes_back(device, bus, person):
    """SS-52, SS-51: with the real one; no program has a grant to what came in, and nothing is lost on the way back."""
    bus.stop()
    keyring = bus.keyring()
    equal(bus.move("import"), "brought in 0 of 0 items of /usr/bin/gnome-keyring-daemon\n", "of an empty one")
    for user, password in (("anna", "correct horse"), ("bert", ""), ("ü", "staple\n\t")):
        tool(bus, "store", f"--label=Mail of {user}", "user", user, "xdg:schema", "org.example.Mail", input=password)
    created = "call(search({'user': 'anna'})[0][0], 'org.freedesktop.DBus.Properties', 'Get', '(ss)', ('org.freedesktop.Secret.Item', 'Created'))[0]"
    then = bus.app("before").ask(created)
    equal(bus.move("import"), "brought in 3 of 3 items of /usr/bin/gnome-keyring-daemon\n", "what was brought in")
    equal(bus.move("import"), "brought in 0 of 3 items of /usr/bin/gnome-keyring-daemon\n", "the second time")
    # Its place is taken only where that was asked for.
    refused = subprocess.run([PROGRAM, "--bus", bus.address], env=device.environment, capture_output=True, text=True, timeout=LONGEST_WAIT)
    check(refused.returncode != 0 and "/usr/bin/gnome-keyring-daemon is org.freedesktop.secrets" in refused.stderr, f"{refused}")
    equal(keyring.poll(), None, "gnome-keyring's end")
    bus.start("--replace")
    keyring.wait(LONGEST_WAIT)
    equal(person.asked(), 0, "prompts")
    mailer = bus.app("mailer")
    equal(mailer.ask(created), then, "when it was made")
    equal([mailer.ask(f"lookup({user!r})") for user in ("anna", "bert", "ü")], ["correct horse", "", "staple\n\t"], "what came in")
    check(all("gnome-keyring-daemon" in prompt["facts"][0]["text"] for prompt in person.prompts), f"{person.prompts}")
    equal(person.asked(), 3, "prompts for what came in")
    mailer.ask("store('anna', 'changed'), store('carl', 'new')")
    bus.stop()
    # Nobody takes them: they stay.
    check("no other program" in bus.move("export", status=64), bus.said)
    keyring = bus.keyring()
    person.answer = "cancel"
    check("did not agree" in bus.move("export", status=64), bus.said)
    equal(person.asked(), 1, "prompts")
    equal(tool(bus, "lookup", "user", "anna"), "correct horse", "after a cancel")
    person.answer = "finger"
    equal(bus.move("export"), "gave 4 of 4 items to /usr/bin/gnome-keyring-daemon\n", "what was given back")
    equal([prompt["reason"][:24] for prompt in person.prompts], ["read all 4 passwords, to"], "the prompt")
    keyring.terminate()
    keyring.wait(LONGEST_WAIT)
    keyring = bus.keyring()
    equal([tool(bus, "lookup", "user", user) for user in ("anna", "bert", "ü", "carl")], ["changed", "", "staple\n\t", "new"], "what gnome-keyring has")
    equal(tool(bus, "search", "--all", "user", "anna").count("secret = "), 1, "items of anna")
    # What was changed there later is what counts the next time.
    time.sleep(1.1)
    tool(bus, "store", "--label=Mail of anna", "user", "anna", "xdg:schema", "org.example.Mail", input="changed there")
    # Dates count seconds: what was given back within the second of its last change is not newer there.
    said = bus.move("import")
    check(" of 4 items" in said and not said.startswith("brought in 0"), said)
    bus.start("--replace")
    person.asked()
    other = bus.app("other")
    equal(other.ask("lookup('anna')"), "changed there", "what was changed there")
    equal(len(other.ask("search({'user': 'anna'})")), 1, "items of anna")


@with_bus
def items_that_share_attributes_go_there_and_back(device, bus, person):
    """SS-52: gnome-keyring would replace each item that has at least the attributes of a new one."""
    bus.stop()
    keyring = bus.keyring()
    other = bus.app("other")
    items = [({"user": "anna", "domain": "mail"}, "Mail"), ({"user": "anna"}, "Anna"), ({}, "Note"), ({}, "Other note")]
    for attributes, label in items:
        check(other.ask(f"make({attributes!r}, {label!r}, 'first {label}')"), f"{label} in gnome-keyring")

    def there():
        return sorted(map(tuple, other.ask("everything()")))

    before = there()
    equal(len(before), 4, f"items in gnome-keyring: {before}")
    equal(bus.move("import"), "brought in 4 of 4 items of /usr/bin/gnome-keyring-daemon\n", "what was brought in")
    equal(bus.move("import"), "brought in 0 of 4 items of /usr/bin/gnome-keyring-daemon\n", "the second time")
    equal(bus.move("export"), "gave 4 of 4 items to /usr/bin/gnome-keyring-daemon\n", "what was given back")
    equal(there(), before, "gnome-keyring after what it has was given back")
    # Into one that has nothing, where the most special one is first.
    keyring.terminate()
    keyring.wait(LONGEST_WAIT)
    shutil.rmtree(bus.work / "data")
    keyring = bus.keyring()
    other = bus.app("other")
    equal(bus.move("export"), "gave 4 of 4 items to /usr/bin/gnome-keyring-daemon\n", "what was given to an empty one")
    equal(there(), before, "what an empty one has then")
    # What was changed there later stays; what is changed here later goes.
    time.sleep(1.1)
    check(other.ask("change('Anna', 'changed there')"), "the change")
    changed = there()
    equal(bus.move("export"), "gave 4 of 4 items to /usr/bin/gnome-keyring-daemon\n", "what was given once more")
    equal(there(), changed, "what was changed there")


@with_bus
def an_import_is_of_everything_or_nothing(device, bus, person):
    """SS-52: a keyring that stays locked."""
    bus.stop()
    keyring = bus.keyring()
    tool(bus, "store", "--label=Mail", "user", "anna", input="correct horse")
    keyring.terminate()
    keyring.wait(LONGEST_WAIT)
    bus.keyring(password="")
    said = bus.move("import", status=1)
    check("not read: everything in “Login”" in said and "nothing was brought in" in said, said)


@with_bus
def an_upgraded_program_keeps_its_passwords(device, bus, person):
    """BR-11: an upgrade takes the path of a program that runs; another program is still another one."""
    mailer = bus.app("mailer")
    mailer.ask("store('anna', 'correct horse')")
    person.asked()
    new = shutil.copy(mailer.path, bus.work / "mailer.new")
    os.rename(new, mailer.path)
    check(os.readlink(f"/proc/{mailer.process.pid}/exe").endswith(" (deleted)"), "the upgrade")
    equal(mailer.ask("lookup('anna')"), "correct horse", "what the program stored before the upgrade")
    equal(person.asked(), 0, "prompts")


@with_bus
def a_descriptor_that_takes_an_hour_to_close_holds_up_nobody(device, bus, person):
    """DEC-595: whether the call is one of sd-bus's own, one that takes no descriptor, or one that takes one."""
    program = """
import socket, struct, sys
from gi.repository import Gio, GLib
bus = Gio.bus_get_sync(Gio.BusType.SESSION)
def lingering():
    one = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
    one.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 3600))
    one.setblocking(False)
    try:
        while True: one.send(bytes(65536))
    except BlockingIOError: return one
def call(path, interface, member, body):
    descriptors = Gio.UnixFDList()
    for _ in range(4):
        with lingering() as one: descriptors.append(one.fileno())
    message = Gio.DBusMessage.new_method_call("org.freedesktop.secrets", path, interface, member)
    if body: message.set_body(body)
    message.set_unix_fd_list(descriptors)
    bus.send_message(message, Gio.DBusSendMessageFlags.NONE)
call("/", "org.freedesktop.DBus.Peer", "Ping", None)
call("/org/freedesktop/secrets", "org.freedesktop.Secret.Service", "OpenSession", GLib.Variant("(sv)", ("plain", GLib.Variant("s", ""))))
call("/org/freedesktop/portal/desktop", "org.freedesktop.impl.portal.Secret", "RetrieveSecret",
     GLib.Variant("(osha{sv})", ("/a", "org.example.App", 0, {})))
# When the bus has answered this, it has passed on all of them, and closed its own.
bus.call_sync("org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus", "GetId", None, None, Gio.DBusCallFlags.NONE, -1, None)
print("sent", flush=True)
sys.stdin.read()
"""
    with socket.create_server(("127.0.0.1", 0), backlog=16) as listener:
        # The receiver is the last to close each one, because it gets them after the others have closed theirs.
        bus.service.send_signal(signal.SIGSTOP)
        sender = subprocess.Popen(["/usr/bin/python3", "-c", program, str(listener.getsockname()[1])], env=bus.environment,
                                  stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        bus.apps.append(sender)
        equal(sender.stdout.readline(), "sent\n", "what the sender says")
        bus.service.send_signal(signal.SIGCONT)
        bus.run("secret-tool", "store", "--label=Mail", "user", "anna", input="correct horse")
        equal(bus.run("secret-tool", "lookup", "user", "anna"), "correct horse", "what another program gets")


@with_bus
def nobody_answers_in_the_place_of_the_bus(device, bus, person):
    """BR-10: a bus delivers answers that nobody has asked for; one of them says that a connection is the mailer's."""
    program = """
import sys
from gi.repository import Gio, GLib
address, process, user = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
def connect():
    flags = Gio.DBusConnectionFlags.AUTHENTICATION_CLIENT | Gio.DBusConnectionFlags.MESSAGE_BUS_CONNECTION
    return Gio.DBusConnection.new_for_address_sync(address, flags, None, None)
def call(connection, name, path, interface, member, body=None):
    return connection.call_sync(name, path, interface, member, body, None, Gio.DBusCallFlags.NONE, 60000, None).unpack()
def ask(member, body=None):
    return call(forger, "org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus", member, body)[0]
def secrets(path, kind, member, body):
    return call(reader, "org.freedesktop.secrets", path, "org.freedesktop.Secret." + kind, member, body)
forger = connect()
service = ask("GetNameOwner", GLib.Variant("(s)", ("org.freedesktop.secrets",)))
reader = connect()
for number in range(1, 3000):
    message = Gio.DBusMessage()
    message.set_message_type(Gio.DBusMessageType.METHOD_RETURN)
    message.set_destination(service)
    message.set_reply_serial(number)
    who = {"ProcessID": GLib.Variant("u", process), "UnixUserID": GLib.Variant("u", user)}
    message.set_body(GLib.Variant("(a{sv})", (who,)))
    forger.send_message(message, Gio.DBusSendMessageFlags.NONE)
ask("GetId")
print("sent", flush=True)
try:
    session = secrets("/org/freedesktop/secrets", "Service", "OpenSession", GLib.Variant("(sv)", ("plain", GLib.Variant("s", ""))))[1]
    found = secrets("/org/freedesktop/secrets", "Service", "SearchItems", GLib.Variant("(a{ss})", ({"user": "anna"},)))
    print(bytes(secrets((found[0] + found[1])[0], "Item", "GetSecret", GLib.Variant("(o)", (session,)))[0][2]).decode())
except GLib.Error as error:
    print(Gio.DBusError.get_remote_error(error))
"""
    mailer = bus.app("mailer")
    mailer.ask("store('anna', 'correct horse')")
    person.answer = "cancel"
    # All of it waits for the service behind the news that the connection is there.
    bus.service.send_signal(signal.SIGSTOP)
    forger = subprocess.Popen(["/usr/bin/python3", "-c", program, bus.address, str(mailer.process.pid), str(os.geteuid())],
                              stdout=subprocess.PIPE, text=True)
    bus.apps.append(forger)
    equal(forger.stdout.readline(), "sent\n", "what the forger says")
    bus.service.send_signal(signal.SIGCONT)
    equal(forger.stdout.readline().strip(), "org.freedesktop.Secret.Error.IsLocked", "what the forger gets")
    equal(person.asked(), 1, "prompts for the forger")
    equal(mailer.ask("lookup('anna')"), "correct horse", "what the mailer gets")


@with_bus
def a_connection_whose_process_is_gone_gets_nothing(device, bus, person):
    """BR-7: nobody can tell whether the process that made it was in a sandbox; what its maker does itself is served."""
    program = """
import os, socket, sys
from gi.repository import Gio, GLib
connection = socket.socket(socket.AF_UNIX)
def connect():
    connection.connect(sys.argv[1])
if sys.argv[2] == "child":
    child = os.fork()
    if child == 0:
        connect()
        os._exit(0)
    os.waitpid(child, 0)
else:
    connect()
stream = Gio.Socket.new_from_fd(connection.fileno()).connection_factory_create_connection()
flags = Gio.DBusConnectionFlags.AUTHENTICATION_CLIENT | Gio.DBusConnectionFlags.MESSAGE_BUS_CONNECTION
made = Gio.DBusConnection.new_sync(stream, None, flags, None, None)
arguments = GLib.Variant("(sv)", ("plain", GLib.Variant("s", "")))
try:
    made.call_sync("org.freedesktop.secrets", "/org/freedesktop/secrets", "org.freedesktop.Secret.Service", "OpenSession",
                   arguments, None, Gio.DBusCallFlags.NONE, 60000, None)
    print("a session")
except GLib.Error as error:
    print(Gio.DBusError.get_remote_error(error))
"""
    path = bus.address.split("path=")[1].split(",")[0]
    for maker, answer in [("child", "org.freedesktop.DBus.Error.AccessDenied"), ("itself", "a session")]:
        equal(bus.run("/usr/bin/python3", "-c", program, path, maker).strip(), answer, f"a connection made by {maker}")


@with_bus
def an_upgraded_service_takes_nothing_for_empty(device, bus, person):
    """SS-24: for touchstoned a program whose file is gone is another one, which has kept nothing."""
    bus.use(bus.work / "touchstone-secret-service")
    bus.run("secret-tool", "store", "--label=Mail", "user", "anna", input="correct horse")

    def upgrade():
        os.rename(shutil.copy(bus.program, bus.work / "new"), bus.program)

    def goes_on():
        equal(bus.service.wait(LONGEST_WAIT), 75, "how the old program ended")
        bus.start()
        equal(bus.run("secret-tool", "lookup", "user", "anna"), "correct horse", "what the new program has")

    upgrade()
    equal(bus.run("secret-tool", "lookup", "user", "anna"), "correct horse", "while its connection lasts")
    device.run("device", "lock")
    bus.service.wait(LONGEST_WAIT)
    device.run("device", "unlock", input="271828\n")
    goes_on()
    upgrade()
    # Longer than it keeps a connection on which nothing is said.
    time.sleep(21)
    bus.run("secret-tool", "store", "--label=Mail", "user", "bert", input="staple", status=1)
    goes_on()


@with_bus
def grants_are_listed_and_taken_back(device, bus, person):
    """BR-30, BR-31, BR-33: the owner is asked before they read the list; taking away needs nobody."""
    mailer, other = bus.app("mailer"), bus.app("other")
    mailer.ask("store('anna', 'correct horse', label='Mail of Anna'), store('bert', 'staple', label='Mail of Bert')")
    other.ask("lookup('anna'), lookup('bert')")
    equal(person.asked(), 2, "prompts of the other program")

    def grants(verb, *words, **settings):
        return bus.run(PROGRAM, "grants", verb, *(["--bus", bus.address] if verb == "revoke" else []), *words, **settings)

    def listed():
        return {(grant["program"], grant["secret"], grant["isOwn"]) for grant in json.loads(grants("list", "--json"))}

    own = {(str(mailer.path), label, True) for label in ("Mail of Anna", "Mail of Bert")}
    given = {(str(other.path), label, False) for label in ("Mail of Anna", "Mail of Bert")}
    equal(listed(), own | given, "the grants")
    equal([prompt["reason"] for prompt in person.prompts], ["list which passwords programs read without asking you"], "the prompt")
    check(f"{other.path} reads “Mail of Anna”, which you approved, since 20" in grants("list"), "the list")
    check("while its file is the same" in grants("list"), "the list")
    person.asked()
    person.answer = "cancel"
    check("Mail of" not in grants("list", status=64) and "did not agree" in bus.said, bus.said)
    equal(person.asked(), 1, "prompts for a list that was refused")
    grants("revoke", other.path, "Mail of Anna")
    grants("revoke", other.path, "Mail of Anna", status=1)
    equal(person.asked(), 0, "prompts for taking away")
    equal([other.ask(f"lookup({user!r})") for user in ("anna", "bert")], [None, "staple"], "what the other program still reads")
    equal(person.asked(), 1, "prompts of the other program")
    grants("revoke", other.path)
    bus.restart()
    mailer, other = bus.app("mailer"), bus.app("other")
    equal(other.ask("lookup('bert')"), None, "what the other program reads after a new start")
    equal(person.asked(), 1, "prompts of the other program")
    equal(mailer.ask("lookup('anna')"), "correct horse", "what the first one stored itself")
    person.answer = "finger"
    equal(listed(), own, "the grants that are left")


@with_bus
def docker_keeps_its_passwords(device, bus, person):
    """SS-8: Debian's docker-credential-secretservice, 0.6.4."""
    def docker(verb, input="", status=0):
        return bus.run("docker-credential-secretservice", verb, input=input, status=status)

    place = "https://registry.example/v2/"
    docker("store", json.dumps({"ServerURL": place, "Username": "anna", "Secret": "correct horse"}))
    docker("store", json.dumps({"ServerURL": place, "Username": "anna", "Secret": "staple"}))
    equal(json.loads(docker("get", place)), {"ServerURL": place, "Username": "anna", "Secret": "staple"}, "what docker gets")
    equal(json.loads(docker("list")), {place: "anna"}, "what docker lists")
    docker("erase", place)
    docker("get", place, status=1)
    equal(person.asked(), 0, "prompts of the session that stored it")


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
        said = bus.run("/usr/bin/python3", "-m", "pytest", "-q", "-p", "no:cacheprovider", tests, status=None, timeout=5 * LONGEST_WAIT)
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
    grants_are_listed_and_taken_back, docker_keeps_its_passwords, what_gnome_keyring_keeps_comes_in_and_goes_back, items_that_share_attributes_go_there_and_back,
    an_upgraded_program_keeps_its_passwords, a_descriptor_that_takes_an_hour_to_close_holds_up_nobody, nobody_answers_in_the_place_of_the_bus,
    a_connection_whose_process_is_gone_gets_nothing, an_upgraded_service_takes_nothing_for_empty, an_import_is_of_everything_or_nothing,
    one_program_holds_up_no_other, questions_that_fail_at_once_rest, large_calls_that_wait_are_few, a_program_with_many_accounts_is_refused_none, another_set_is_no_way_around_a_cancel,
    a_collection_goes_with_what_was_approved, aliases_last, one_of_them_works_on_a_device,
    what_is_stored_after_a_new_passcode_has_a_key_of_the_owners, one_program_takes_nobodys_place, an_alias_is_never_lost_on_its_way, more_than_one_answer_is_read,
    the_collections_that_programs_expect,
)
