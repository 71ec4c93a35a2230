"""A throw-away PostgreSQL for the tests, on a Unix socket in a directory of its own; no test itself."""

import contextlib
import glob
import os
import pathlib
import secrets
import shutil
import subprocess
import sys
import tempfile

# Seconds; only a failing test takes so long. No word of device.py, which wants the device's programs built.
LONGEST_WAIT = 90
PROGRAMS_OF_POSTGRESQL = sorted(glob.glob("/usr/lib/postgresql/*/bin"))
if not PROGRAMS_OF_POSTGRESQL:
    sys.exit("PostgreSQL is not there: run script/install-packages signin")


class PostgreSQL:
    """A cluster of its own, removed at the end of `with`. `new_database` makes a database in it."""

    USER = "signin"

    def __init__(self, *settings):
        """settings: such as "fsync=off", which is right where only programs are killed, not the machine."""
        self.settings = settings
        self.password = secrets.token_hex(16)
        self.databases = 0

    def __enter__(self):
        self.work = pathlib.Path(tempfile.mkdtemp(prefix="touchstone-postgresql."))
        try:
            if os.geteuid() == 0:
                # It refuses to run as root.
                shutil.chown(self.work, "postgres", "postgres")
            password = self.work / "password"
            password.touch(0o600)
            password.write_text(self.password)
            if os.geteuid() == 0:
                shutil.chown(password, "postgres", "postgres")
            self.run(
                "initdb", "-D", self.work / "data", "-A", "scram-sha-256", "-U", self.USER, f"--pwfile={password}",
                "--encoding=UTF8", "--locale=C", "--no-sync")
            self.start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        with contextlib.suppress(Exception):
            self.stop("immediate")
        shutil.rmtree(self.work, ignore_errors=True)

    def start(self):
        options = [
            "listen_addresses=''", f"unix_socket_directories={self.work}",
            "max_connections=50", *self.settings]
        self.run(
            "pg_ctl", "-D", self.work / "data", "-o", " ".join(f"-c {option}" for option in options),
            "-l", self.work / "log", "-w", "-t", str(LONGEST_WAIT), "start")

    def stop(self, mode="fast"):
        """mode: "fast" ends connections, "immediate" is as good as a crash."""
        self.run("pg_ctl", "-D", self.work / "data", "-m", mode, "-w", "-t", str(LONGEST_WAIT), "stop")

    def new_database(self):
        """Another, empty database, as `touchstone-signin` is told of it; its password is in `environment`."""
        self.databases += 1
        name = f"signin{self.databases}"
        self.run("createdb", "-h", self.work, "-U", self.USER, name)
        return f"postgresql:host={self.work} user={self.USER} dbname={name}"

    @property
    def environment(self):
        return {"PGPASSWORD": self.password}

    def query(self, database, statement):
        """Its rows, as text."""
        return self.run("psql", database.partition(":")[2], "-X", "-A", "-t", "-c", statement).stdout.splitlines()

    def run(self, program, *arguments):
        environment = {"PATH": os.environ["PATH"], "LC_ALL": "C", **self.environment}
        as_postgres = {"user": "postgres", "group": "postgres", "extra_groups": []} if os.geteuid() == 0 else {}
        # The server keeps what pg_ctl writes to: a file, where a pipe would never end.
        with tempfile.TemporaryFile("w+") as output:
            result = subprocess.run(
                [f"{PROGRAMS_OF_POSTGRESQL[-1]}/{program}", *map(str, arguments)], env=environment, cwd=self.work,
                stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT, text=True, timeout=60, **as_postgres)
            output.seek(0)
            result.stdout = output.read()
        if result.returncode != 0:
            raise AssertionError(f"{program}: exit {result.returncode}\n{result.stdout}")
        return result
