#!/usr/bin/env python3
"""`touchstone bridge`: ssh, git and docker ask Touchstone after one command each, and as before after another.

With a real systemd of the user's, in mounts, processes and control groups of its own: as root.
"""

import contextlib
import glob
import json
import os
import pathlib
import shutil
import stat
import subprocess

import usersystemd
from bridges import BRIDGES, Person
from device import LONGEST_WAIT, REPOSITORY, Device, check, equal, main, wait_for

usersystemd.enter(__file__)

PASSWORD = "protocol=https\nhost=git.example\nusername=octocat\npassword=correct horse\n"
GITCONFIG = "# mine\n[user]\n\tname = Ann\n[credential]\n\tusername = octocat\n[alias]\n\tst = status"
SSH_CONFIG = "Host old\n    User ann\n    IdentityAgent /somewhere/else"


class Home:
    """A device, and a home that has settings of its own."""

    def __init__(self, device):
        self.device, self.path = device, device.work / "home"
        self.path.mkdir(mode=0o700)
        device.environment.pop("XDG_CONFIG_HOME")
        device.environment |= {
            # The bus would take the home of the user's database.
            "HOME": str(self.path), "XDG_DATA_HOME": str(self.path / ".local/share"), "PATH": f"{BRIDGES}:{device.programs}:{os.environ['PATH']}", "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_TERMINAL_PROMPT": "0", "GIT_ASKPASS": "/bin/false"}
        self.sockets = device.work / "run/touchstone"

    def put(self, name, text, mode=0o644):
        file = self.path / name
        file.parent.mkdir(mode=0o700, exist_ok=True)
        file.write_text(text)
        file.chmod(mode)
        return file

    @property
    def everything(self):
        """Each file and directory of the home and of what the device is told, with mode and bytes."""
        found = {}
        for top in (self.path, self.device.work / "state/touchstone", self.device.state / "apps.d"):
            for path in [top, *(top.iterdir() if top != self.path else top.rglob("*"))] if top.exists() else []:
                facts = path.lstat()
                found[str(path)] = (stat.filemode(facts.st_mode), path.read_bytes() if stat.S_ISREG(facts.st_mode) else b"")
        return found

    def bridge(self, *words, status=0):
        done = self.device.run("bridge", *words, status=status)
        return done.stdout + done.stderr

    def states(self, status=0):
        return {each["name"]: each["state"] for each in json.loads(self.device.run("bridge", "status", "--json", status=status).stdout)}

    def wait_for_answers(self, *names):
        """Waits for these bridges, which have just been started."""
        def answer():
            states = {each["name"]: each["state"] for each in json.loads(self.device.touchstone("bridge", "status", "--json").stdout)}
            return all(states[name] == "answers" for name in names)

        wait_for(answer, f"{names} to answer")

    def row(self, name, status=None):
        report = json.loads(self.device.touchstone("doctor", "--json").stdout)
        (found,) = [each for each in report["findings"] if each["topic"] == f"{name} bridge"]
        return found

    def mend(self, found):
        subprocess.run(found["fix"], shell=True, check=True, env=self.device.environment, stdout=subprocess.DEVNULL, timeout=LONGEST_WAIT)

    def run(self, *command, input="", status=0, **environment):
        done = subprocess.run(
            [str(word) for word in command], env=self.device.environment | environment, input=input, capture_output=True, text=True,
            timeout=LONGEST_WAIT)
        check(done.returncode == status, f"{command}: exit {done.returncode}, expected {status}\n{done.stdout}{done.stderr}")
        return done.stdout + done.stderr

    def systemctl(self, *words, status=0):
        return self.run("systemctl", "--user", *words, status=status)


@contextlib.contextmanager
def home(manager=True):
    with Device() as device:
        device.set_up("271828", "thumb")
        place = Home(device)
        with usersystemd.running(device.environment) if manager else contextlib.nullcontext():
            yield place


def ssh_and_git_are_enabled_and_disabled():
    """BR-5, ND-2: their sockets start them, prompts name who asks, and everything is put back byte for byte."""
    with home() as place:
        device = place.device
        place.put(".gitconfig", GITCONFIG, 0o640)
        place.put(".ssh/config", SSH_CONFIG, 0o600)
        before = place.everything
        equal(set(place.states().values()), {"notEnabled"}, "the bridges before")
        said = place.bridge("enable", "ssh", "--yes")
        for words in ("writes ~/.config/systemd/user/touchstone-ssh-agent.socket", "adds to ~/.ssh/config", "bridge disable ssh", "touchstone-ssh create"):
            check(words in said, f"{words!r} in {said}")
        agent = {"SSH_AUTH_SOCK": str(place.sockets / "ssh-agent.sock")}
        equal(stat.S_IMODE((place.sockets / "ssh-agent.sock").stat().st_mode), 0o600, "the mode of the socket")
        place.systemctl("stop", "touchstone-ssh-agent.service")
        place.systemctl("is-active", "touchstone-ssh-agent.service", status=3)
        check("no identities" in place.run("ssh-add", "-l", status=1, **agent), "the agent has a key")
        place.systemctl("is-active", "touchstone-ssh-agent.service")
        person = Person(device)
        place.run("touchstone-ssh", "create", "laptop", **agent)
        check("laptop" in place.run("ssh-add", "-l", **agent), "the new key")
        person.asked()
        signed = place.put("message", "text")
        place.run("ssh-keygen", "-Y", "sign", "-n", "git", "-f", place.path / ".config/touchstone/ssh/laptop.pub", signed, **agent)
        equal([os.path.basename(prompt["client"]["identifier"]) for prompt in person.prompts], ["ssh-keygen"], "who asks for a signature")
        person.asked()
        config = place.path / ".ssh/config"
        check(f"identityagent {place.sockets}/ssh-agent.sock" in place.run("ssh", "-F", config, "-G", "new.example"), config.read_text())
        check("identityagent /somewhere/else" in place.run("ssh", "-F", config, "-G", "old"), "the agent of one host stays")

        place.bridge("enable", "git", "--yes")
        place.run("git", "credential", "approve", input=PASSWORD)
        check("password=correct horse" in place.run("git", "credential", "fill", input="protocol=https\nhost=git.example\n"), "git's password")
        equal([os.path.basename(prompt["client"]["identifier"]) for prompt in person.prompts], ["git"], "who asks for a password")
        place.systemctl("is-active", "touchstone-credentials.service")
        place.wait_for_answers("ssh", "credentials", "git")
        equal(place.states(), {"ssh": "answers", "credentials": "answers", "git": "answers", "docker": "notEnabled",
                               "secret-service": "notEnabled", "pkcs11": "notEnabled", "fido": "notEnabled"}, "the bridges")
        for name in ("ssh", "credentials", "git"):
            equal(place.row(name)["state"], "good", f"the doctor's row: {place.row(name)}")
            check("answers at" in place.row(name)["text"] and "act as it" in place.row(name)["text"], place.row(name))
        check("not enabled" in place.row("docker")["text"], place.row("docker"))
        # What programs read unattended is said, and taken away (BR-33).
        program = shutil.copy(os.path.realpath("/usr/bin/python3"), device.work / "deploy")
        check("without asking" not in place.row("credentials")["text"], place.row("credentials"))
        place.run("touchstone-security", "add-generic-password", "-s", "ci", "-a", "bot", "-T", program, "-w", input="swordfish")
        check("1 program reads passwords without asking you" in place.row("credentials")["text"], place.row("credentials"))
        place.bridge("grants", "revoke", str(program))
        check("without asking" not in place.row("credentials")["text"], place.row("credentials"))
        # Once more changes nothing.
        during = place.everything
        for name in ("ssh", "git"):
            check("nothing was changed" in place.bridge("enable", name, "--yes"), f"{name} enabled once more")
        equal(place.everything, during, "the files after the second time")
        # The other lines of what was changed meanwhile stay.
        signed.unlink()
        (place.path / "message.sig").unlink()
        place.run("git", "config", "--global", "user.email", "ann@example.org")
        place.bridge("disable", "git", "--yes")
        place.systemctl("is-active", "touchstone-credentials.socket", status=3)
        equal(place.run("git", "config", "--global", "--get-all", "credential.helper", status=1), "", "git's helpers")
        equal(place.run("git", "config", "--global", "user.email").strip(), "ann@example.org", "a setting that was made meanwhile")
        place.put(".gitconfig", GITCONFIG, 0o640)
        place.bridge("disable", "ssh", "--yes")
        equal(set(place.states().values()), {"notEnabled"}, "the bridges after")
        # What touchstone-ssh wrote is the owner's own.
        made = {str(place.path / part) for part in (".config", ".config/touchstone", ".config/touchstone/ssh", ".config/touchstone/ssh/laptop.pub")}
        equal({path: file for path, file in place.everything.items() if path not in made}, before, "the files after all")
        check("nothing was changed" in place.bridge("disable", "ssh", "--yes"), "disabled once more")


def a_pkcs11_token_is_enabled_and_disabled():
    """BR-5, PK-3: p11-kit finds it by both ways, and everything is put back byte for byte."""
    (module,) = glob.glob("/usr/lib/*/pkcs11/p11-kit-client.so")
    with home() as place:
        (place.path / ".config/pkcs11").mkdir(mode=0o700, parents=True)
        place.put(".config/pkcs11/modules/other.module", "module: /nowhere/other.so\n")
        # Somebody's own file of this name.
        file = place.put(".config/pkcs11/modules/touchstone.module", "# mine", 0o640)
        before = place.everything
        said = place.bridge("enable", "pkcs11", "--yes")
        address = f"unix:path={place.sockets}/pkcs11.sock"
        for words in ("~/.config/pkcs11/modules/touchstone.module", "writes ~/.config/environment.d/touchstone-pkcs11.conf",
                      "touchstone-pkcs11 create", f"export P11_KIT_SERVER_ADDRESS={address}"):
            check(words in said, f"{words!r} in {said}")
        equal(file.read_text().splitlines()[-1], f"remote: {address}", "the module")
        equal((place.path / ".config/environment.d/touchstone-pkcs11.conf").read_text(), f"P11_KIT_SERVER_ADDRESS={address}\n", "the variable")
        place.systemctl("is-active", "touchstone-pkcs11.socket")
        place.run("touchstone-pkcs11", "create", "work")
        place.systemctl("is-active", "touchstone-pkcs11.service")
        check("label:      work" in place.run("pkcs11-tool", "--module", module, "-O", P11_KIT_SERVER_ADDRESS=address), "by the variable")
        # p11-kit reads no settings of root's own, so it takes this one for another user's.
        found = place.run("unshare", "--user", "--map-user=1000", "p11-kit", "list-modules")
        check("touchstone: " in found and "token: Touchstone" in found, found)
        person = Person(place.device)
        place.put("digest", "d" * 32)
        place.run("pkcs11-tool", "--module", module, "--sign", "-m", "ECDSA", "--label", "work", "-i", place.path / "digest", "-o", place.path / "signature",
                  P11_KIT_SERVER_ADDRESS=address)
        equal([os.path.basename(prompt["client"]["identifier"]) for prompt in person.prompts], ["pkcs11-tool"], "who asks")
        (place.path / "digest").unlink()
        (place.path / "signature").unlink()
        place.wait_for_answers("pkcs11")
        equal(place.row("pkcs11")["state"], "good", "the doctor's row")
        check("nothing was changed" in place.bridge("enable", "pkcs11", "--yes"), "enabled once more")
        place.systemctl("stop", "touchstone-pkcs11.socket", "touchstone-pkcs11.service")
        equal(place.states(status=1)["pkcs11"], "broken", "the state of one that was stopped")
        place.mend(place.row("pkcs11"))
        place.wait_for_answers("pkcs11")
        place.bridge("disable", "pkcs11", "--yes")
        place.systemctl("is-active", "touchstone-pkcs11.socket", status=3)
        equal(place.everything, before, "the files after all")
        # Another token in the session stays.
        place.device.environment["P11_KIT_SERVER_ADDRESS"] = "unix:path=/other"
        check("names another token, and stays" in place.bridge("enable", "pkcs11", "--yes"), "what is said of the other token")
        check(not (place.path / ".config/environment.d").exists(), "the variable is set all the same")
        place.bridge("disable", "pkcs11", "--yes")
        equal(place.everything, before, "the files after that")


def what_is_broken_is_said_and_mended():
    with home() as place:
        place.bridge("enable", "git", "--yes")
        place.bridge("enable", "ssh", "--yes")
        place.systemctl("stop", "touchstone-ssh-agent.socket", "touchstone-ssh-agent.service")
        found = place.row("ssh")
        equal(found["state"], "bad", f"the row of an agent that was stopped: {found}")
        equal(place.states(status=1)["ssh"], "broken", "the state of an agent that was stopped")
        place.mend(found)
        place.wait_for_answers("ssh")
        equal(place.row("ssh")["state"], "good", "the row after that command")
        place.run("git", "config", "--global", "--unset-all", "credential.helper")
        found = place.row("git")
        check(found["state"] == "bad" and "git does not ask it" in found["text"], found)
        place.mend(found)
        equal(place.row("git")["state"], "good", "git's row after that command")
        place.run("git", "config", "--global", "--replace-all", "credential.helper", "store")
        found = place.row("git")
        check(found["fix"].endswith("--replace"), found)
        place.mend(found)
        equal(place.row("git")["state"], "good", "git's row after the other helper went")


def what_has_the_place_is_not_replaced_silently():
    """BR-5."""
    with home() as place:
        git = place.put(".gitconfig", "[credential]\n\thelper = store\n\thelper = cache\n")
        docker = place.put(".docker/config.json", '{"auths": {}, "credsStore": "pass"}', 0o600)
        ssh = place.put(".ssh/config", "IdentityAgent /other\n", 0o600)
        before = place.everything
        for name, words in (("git", "store, cache"), ("docker", "'pass'"), ("ssh", "line 1")):
            said = place.bridge("enable", name, "--yes", status=5)
            check(words in said, f"{words!r} in {said}")
            equal(place.everything, before, f"the files after {name} was refused")
        for name in ("git", "docker"):
            place.bridge("enable", name, "--yes", "--replace")
        place.wait_for_answers("credentials", "git", "docker")
        equal(place.states(), {"ssh": "notEnabled", "credentials": "answers", "git": "answers", "docker": "answers",
                               "secret-service": "notEnabled", "pkcs11": "notEnabled", "fido": "notEnabled"}, "the bridges")
        equal(json.loads(docker.read_text()), {"auths": {}, "credsStore": "touchstone"}, "docker's settings")
        check("touchstone" in git.read_text() and "store" not in git.read_text(), git.read_text())
        # The program that both need stays until the last one goes.
        check("still runs" in place.bridge("disable", "git", "--yes"), "git disabled before docker")
        place.systemctl("is-active", "touchstone-credentials.socket")
        place.bridge("disable", "docker", "--yes")
        equal(place.everything, before, "the files after all")
        ssh.write_text("Host one\n    IdentityAgent /other\n")
        place.bridge("enable", "ssh", "--yes")
        # Another agent in the session stays, too.
        place.bridge("disable", "ssh", "--yes")
        place.device.environment["SSH_AUTH_SOCK"] = "/other"
        check("SSH_AUTH_SOCK names another agent, and stays" in place.bridge("enable", "ssh", "--yes"), "what is said of the other agent")
        check(not (place.path / ".config/environment.d").exists(), "SSH_AUTH_SOCK is set all the same")


def gits_helpers_of_the_machine_and_of_single_places_are_seen():
    """BR-5: git would ask the machine's helpers first, and give them each password to keep."""
    with home() as place:
        machine = place.put("machine", "[credential]\n\thelper = store\n")
        place.device.environment |= {"GIT_CONFIG_SYSTEM": str(machine), "GIT_CONFIG_NOSYSTEM": "0"}
        git = place.put(".gitconfig", '[credential "https://git.work"]\n\thelper = cache\n[credential "https://own.example"]\n\thelper =\n')
        before = place.everything

        def helpers():
            return place.run("git", "-C", "/", "config", "--get-all", "credential.helper").splitlines()

        said = place.bridge("enable", "git", "--yes", status=5)
        check("'store'" in said and "~/machine" in said, said)
        equal(place.everything, before, "the files after it was refused")
        said = place.bridge("enable", "git", "--yes", "--replace")
        check("gives passwords of https://git.work to 'cache'" in said, said)
        check("does not ask Touchstone for https://own.example" in said, said)
        equal(helpers()[:2], ["store", ""], "the machine's helper, and what turns it off")
        equal(len(helpers()), 3, "git's helpers")
        place.run("git", "credential", "approve", input=PASSWORD)
        check(not (place.path / ".git-credentials").exists(), "the machine's helper has the password")
        check("helper = cache" in git.read_text(), "the helper of one place")
        check("nothing was changed" in place.bridge("enable", "git", "--yes"), "enabled once more")
        equal(place.row("git")["state"], "good", "the doctor's row")
        place.bridge("disable", "git", "--yes")
        (place.path / ".git-credentials").unlink(missing_ok=True)
        equal(place.everything, before, "the files after all")
        # Without one the same settings need no --replace.
        place.device.environment["GIT_CONFIG_SYSTEM"] = "/dev/null"
        place.bridge("enable", "git", "--yes")
        equal(len(helpers()), 1, "git's helpers without one of the machine's")


def nothing_is_done_without_a_device_or_a_yes():
    with home(manager=False) as place:
        before = place.everything
        check("--yes" in place.bridge("enable", "ssh", status=64), "without a terminal")
        place.device.shutdown()
        place.bridge("enable", "ssh", "--yes", status=69)
        place.bridge("enable", "git", "--yes", "--device", "another", status=69)
        equal(place.everything, before, "the files")
        equal(set(place.states().values()), {"notEnabled"}, "the bridges")


def the_systems_service_is_not_taken_for_a_device_of_ones_own():
    """BR-5; root enabled it, and the owner's own device stays with what is the owner's."""
    with home() as place:
        before = place.everything
        service = pathlib.Path(f"/run/touchstone/{os.getuid()}")
        service.mkdir(parents=True)
        for name in ("ssh-agent", "credentials"):
            (service / f"{name}.sock").touch()
        said = place.bridge("enable", "ssh", "--yes")
        config = (place.path / ".ssh/config").read_text()
        check(str(place.sockets / "ssh-agent.sock") in config and str(service) not in config, config)
        check(str(service) not in said, said)
        equal(place.row("ssh")["state"], "good", f"the doctor's row: {place.row('ssh')}")
        # Programs ask the system's for passwords first, so one's own would never be asked.
        check("sudo systemctl disable --now touchstone-credentials@" in place.bridge("enable", "git", "--yes", status=5), "git")
        said = place.bridge("disable", "ssh", "--yes")
        check("still runs" in said and "sudo systemctl disable --now touchstone-ssh-agent@" in said, said)
        for unit in ("touchstone-ssh-agent.socket", "touchstone-ssh-agent.service"):
            place.systemctl("is-active", unit, status=3)
        equal(place.everything, before, "the files after all")
        shutil.rmtree(service)


def an_erased_device_says_which_bridges_ask_it():
    with home() as place:
        place.bridge("enable", "ssh", "--yes")
        said = place.device.run("device", "erase", "test", "--force").stderr
        check("touchstone bridge disable ssh" in said and "disable git" not in said, said)


def without_systemd_it_says_what_to_start():
    """BR-5; the same program in the foreground answers."""
    with home(manager=False) as place:
        before = place.everything
        said = place.bridge("enable", "ssh", "--yes")
        socket = place.sockets / "ssh-agent.sock"
        check(f"touchstone-ssh-agent --socket {socket}" in said, said)
        check(not (place.path / ".config").exists(), "units that nobody reads")
        found = place.row("ssh")
        equal((found["state"], found["fix"]), ("bad", f"touchstone-ssh-agent --socket {socket}"), "the row before it is started")
        program = subprocess.Popen(
            found["fix"].split(), env=place.device.environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        try:
            check(program.stdout.readline().startswith("ready"), "its first line")
            equal(place.row("ssh")["state"], "good", "the row while it runs")
            check("nothing was changed" in place.bridge("enable", "ssh", "--yes"), "enabled once more")
        finally:
            program.terminate()
            program.wait(LONGEST_WAIT)
        place.bridge("disable", "ssh", "--yes")
        equal(place.everything, before, "the files after all")


@contextlib.contextmanager
def desktop():
    """A home whose session has a bus, and in it gnome-keyring as a login starts it: unlocked, and on the bus when it is asked."""
    with home() as place:
        place.device.environment["DBUS_SESSION_BUS_ADDRESS"] = f"unix:path={place.device.work}/run/bus"
        place.systemctl("start", "dbus.socket")
        yield place


def keyring(place, password="its own"):
    place.run("gnome-keyring-daemon", "--daemonize", "--login", input=password)


def passwords(place, *users):
    return [place.run("secret-tool", "lookup", "user", user) for user in users]


def the_secret_service_is_enabled_and_disabled():
    """SS-45, SS-50, SS-52: what gnome-keyring keeps comes in and goes back, and every file is as it was."""
    with desktop() as place:
        person = Person(place.device)
        keyring(place)
        for user, password in (("anna", "correct horse"), ("bert", "staple")):
            place.run("secret-tool", "store", "--label=Mail", "user", user, input=password)
        before = {path: what for path, what in place.everything.items() if "/keyrings" not in path}
        said = place.bridge("enable", "secret-service", "--yes")
        for words in ("brings in the passwords of gnome-keyring", "brought in 2 of 2 items of /usr/bin/gnome-keyring-daemon",
                      "writes ~/.local/share/dbus-1/services/org.freedesktop.secrets.service", "bridge disable secret-service",
                      "answers Flatpak apps, too"):
            check(words in said, f"{words!r} in {said}")
        equal(person.asked(), 0, "prompts for bringing them in")
        equal(passwords(place, "anna", "bert"), ["correct horse", "staple"], "what came in")
        check(person.asked() > 0, "nobody was asked")
        place.wait_for_answers("secret-service")
        equal(place.row("secret-service")["state"], "good", "the doctor's row")
        check("is enabled already" in place.bridge("enable", "secret-service", "--yes"), "the second time")
        # It comes back by itself.
        pid = place.systemctl("show", "--property=MainPID", "--value", "touchstone-secret-service.service").strip()
        os.kill(int(pid), 9)
        place.run("secret-tool", "store", "--label=Mail", "user", "carl", input="new")
        place.wait_for_answers("secret-service")
        place.systemctl("stop", "touchstone-secret-service.service")
        equal(place.states(status=1)["secret-service"], "broken", "the state of one that is stopped")
        place.mend(place.row("secret-service"))
        place.wait_for_answers("secret-service")
        keyring(place)
        person.asked()
        said = place.bridge("disable", "secret-service", "--yes")
        check("gave 3 of 3 items to /usr/bin/gnome-keyring-daemon" in said, said)
        equal(person.asked(), 1, "prompts for giving them back")
        equal(passwords(place, "anna", "bert", "carl"), ["correct horse", "staple", "new"], "what gnome-keyring has")
        equal({path: what for path, what in place.everything.items() if "/keyrings" not in path}, before, "the files")
        equal(place.states()["secret-service"], "notEnabled", "its state")


def nothing_changes_where_it_is_not_enabled():
    """BR-5, PO-7, DEC-350: with the program built, its unit installed, a device that runs and an agent."""
    with desktop() as place:
        person = Person(place.device)
        units = place.device.work / "run/systemd/user"
        units.mkdir(parents=True, exist_ok=True)
        shutil.copy(REPOSITORY / "system/systemd-user/touchstone-secret-service.service", units)
        place.systemctl("daemon-reload")
        keyring(place)
        # gnome-keyring makes its directories.
        place.run("secret-tool", "store", "--label=Mail", "user", "anna", input="correct horse")
        before = {path: what for path, what in place.everything.items() if "/keyrings" not in path}
        place.run("secret-tool", "store", "--label=Mail", "user", "bert", input="staple")
        equal(passwords(place, "anna", "bert"), ["correct horse", "staple"], "what a program gets")
        check("gnome-keyring" in place.run("busctl", "--user", "status", "org.freedesktop.secrets"), "who keeps it")
        names = place.run("busctl", "--user", "list", "--activatable")
        check("touchstone" not in names, f"what the bus starts: {names}")
        equal(place.states()["secret-service"], "notEnabled", "its state")
        place.systemctl("is-active", "touchstone-secret-service.service", status=3)
        equal({path: what for path, what in place.everything.items() if "/keyrings" not in path}, before, "the files")
        equal(person.asked(), 0, "prompts")
    # Nothing that a package installs takes a program's way to its passwords.
    installed = (REPOSITORY / "script/stage").read_text() + (REPOSITORY / "debian/rules").read_text()
    for directory in ("dbus-1/services", "xdg-desktop-portal"):
        check(directory not in installed, f"the packages install into {directory}")


def the_portal_needs_root_where_no_file_leads_to_it():
    """PO-7, DEC-350."""
    with desktop() as place:
        portals = place.device.work / "portals"
        portals.mkdir()
        place.device.environment |= {"XDG_DESKTOP_PORTAL_DIR": str(portals), "XDG_CURRENT_DESKTOP": "Sway:wlroots"}
        said = place.bridge("enable", "secret-service", "--yes")
        command = said.split("your next login: ")[1].splitlines()[0].replace("sudo ", "")
        subprocess.run(command, shell=True, check=True, timeout=LONGEST_WAIT)
        equal((portals / "touchstone.portal").read_text().splitlines(),
              ["[portal]", "DBusName=org.freedesktop.secrets", "Interfaces=org.freedesktop.impl.portal.Secret", "UseIn=sway;wlroots"], "the file")
        check("Flatpak" not in place.bridge("enable", "secret-service", "--yes"), "what is said with the file")
        (portals / "other.portal").write_text(
            "[portal]\nDBusName=org.kde.secretportal\nInterfaces=org.freedesktop.impl.portal.Secret\nUseIn=sway\n")
        said = place.bridge("enable", "secret-service", "--yes")
        check("'other' has that place" in said and "Secret=touchstone" in said, said)


def a_keyring_that_stays_locked_changes_nothing():
    """SS-50, SS-52, BR-5."""
    with desktop() as place:
        keyring(place)
        place.run("secret-tool", "store", "--label=Mail", "user", "anna", input="correct horse")
        place.run("gdbus", "call", "--session", "--dest=org.freedesktop.secrets", "--object-path=/org/freedesktop/secrets",
                  "--method=org.freedesktop.Secret.Service.Lock", "['/org/freedesktop/secrets/collection/login']")
        before = place.everything
        said = place.bridge("enable", "secret-service", "--yes", status=5)
        check("not read: everything in “Login”" in said and "no setting was changed" in said, said)
        equal(place.everything, before, "the files")
        equal(place.states()["secret-service"], "notEnabled", "its state")


def a_disable_that_fails_leaves_the_service():
    """SS-50: programs that do not find their passwords may throw away what they had encrypted."""
    with desktop() as place:
        person = Person(place.device)
        keyring(place)
        place.run("secret-tool", "store", "--label=Mail", "user", "anna", input="correct horse")
        place.bridge("enable", "secret-service", "--yes")
        equal(passwords(place, "anna"), ["correct horse"], "what came in")
        during = place.everything
        place.device.run("device", "lock")
        check("the device is locked" in place.bridge("disable", "secret-service", "--yes", status=5), "disable while it is locked")
        equal(place.everything, during, "the files after it was refused")
        equal(place.states()["secret-service"], "answers", "its state after it was refused")
        place.device.run("device", "unlock", input="271828\n")
        # The owner says no.
        person.answer = "cancel"
        check("is still enabled" in place.bridge("disable", "secret-service", "--yes", status=1), "disable with a cancel")
        person.answer = "finger"
        equal({path: what for path, what in place.everything.items() if "/keyrings" not in path},
              {path: what for path, what in during.items() if "/keyrings" not in path}, "the files after a cancel")
        place.wait_for_answers("secret-service")
        equal(passwords(place, "anna"), ["correct horse"], "after a cancel")
        # Who starts it is gone, and it runs: that is put back without another program's passwords.
        (place.path / ".local/share/dbus-1/services/org.freedesktop.secrets.service").unlink()
        place.mend(place.row("secret-service"))
        place.wait_for_answers("secret-service")


def another_provider_is_not_replaced():
    """BR-5: only gnome-keyring gives way."""
    with desktop() as place:
        before = place.everything
        program = subprocess.Popen(
            ["/usr/bin/python3", "-c", "from gi.repository import Gio\nGio.bus_own_name(Gio.BusType.SESSION, 'org.freedesktop.secrets', 0, None, "
             "lambda *_: print('ready', flush=True), None)\nfrom gi.repository import GLib\nGLib.MainLoop().run()"],
            env=place.device.environment, stdout=subprocess.PIPE, text=True)
        try:
            equal(program.stdout.readline(), "ready\n", "the other provider")
            said = place.bridge("enable", "secret-service", "--yes", status=5)
            check("python3" in said and "keeps the passwords of desktop programs now" in said, said)
            equal(place.everything, before, "the files")
        finally:
            program.kill()
            program.wait(LONGEST_WAIT)


main(
    nothing_changes_where_it_is_not_enabled, the_portal_needs_root_where_no_file_leads_to_it,
    a_disable_that_fails_leaves_the_service, another_provider_is_not_replaced,
    the_secret_service_is_enabled_and_disabled, a_keyring_that_stays_locked_changes_nothing,
    ssh_and_git_are_enabled_and_disabled, a_pkcs11_token_is_enabled_and_disabled, what_is_broken_is_said_and_mended, what_has_the_place_is_not_replaced_silently,
    gits_helpers_of_the_machine_and_of_single_places_are_seen, nothing_is_done_without_a_device_or_a_yes,
    the_systems_service_is_not_taken_for_a_device_of_ones_own, an_erased_device_says_which_bridges_ask_it,
    without_systemd_it_says_what_to_start)
