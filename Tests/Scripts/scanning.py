"""Looks for a secret in memory, files and `/proc`, for the tests in this directory, which are executable; this file is not, and no test."""

import base64
import contextlib
import os
import pathlib
import signal

from device import check

# So much of a value in one piece counts as found: what gives memory back may have written over a part.
PIECE = 12


class Value:
    """Bytes to look for, in each form in which a message or a program may have them."""

    def __init__(self, name, content):
        forms = {"raw": content, "hex": content.hex().encode(), "HEX": content.hex().upper().encode()}
        for shift in range(3):
            # Without the characters that depend on what stands before and behind.
            text = base64.b64encode(bytes(shift) + content)
            forms[f"base64+{shift}"] = text[(8 * shift + 5) // 6:(shift + len(content)) * 8 // 6]
        self.name, self.content = name, content
        self.pieces = {
            f"{name}, {form}, from byte {start}": text[start:start + PIECE]
            for form, text in forms.items() for start in range(0, len(text) - PIECE + 1, PIECE)}


def mappings(process):
    """(start, end, name) of what is in memory, also of what nobody may read now; without what is in a file as it is there."""
    found = []
    for line in pathlib.Path(f"/proc/{process}/smaps").read_text().splitlines():
        key, *fields = line.split(None, 5)
        if not key.endswith(":"):
            start, end = (int(part, 16) for part in key.split("-"))
            mapping = (start, end, fields[4] if len(fields) > 4 else "anonymous")
            is_own = "w" in fields[0]
        elif key in ("Rss:", "Swap:", "Anonymous:") and int(fields[0]) > 0:
            if (is_own or key != "Rss:") and mapping not in found:
                found.append(mapping)
    return [mapping for mapping in found if mapping[2] not in ("[vvar]", "[vsyscall]")]


def copied(process):
    """(start, name, contents) of each mapping; the process is stopped meanwhile, and only while its memory is copied, because who
    supervises it ends it if it does not answer."""
    pieces = []
    os.kill(process, signal.SIGSTOP)
    try:
        with open(f"/proc/{process}/mem", "rb", buffering=0) as memory:
            for start, end, name in mappings(process):
                memory.seek(start)
                content = bytearray()
                # What is no memory of its own, such as a device's, cannot be read.
                with contextlib.suppress(OSError):
                    while chunk := memory.read(min(end - start - len(content), 16 << 20)):
                        content += chunk
                pieces.append((start, name, content))
    finally:
        os.kill(process, signal.SIGCONT)
    return pieces


def scan(process, values):
    """Which pieces are in its memory, and where."""
    found, read = {}, 0
    for start, name, content in copied(process):
        read += len(content)
        for value in values:
            for what, piece in value.pieces.items():
                if (at := content.find(piece)) >= 0:
                    found.setdefault(f"{what}, in {name}", start + at)
    check(read > 1 << 20, f"{read} bytes of memory were read: too few for a daemon's")
    return found


def search(device, values, *processes, leaving=()):
    """Fails if one of the values is in a file below the device's folder (where its log is, too), in an argument or a variable of any
    process, or in the memory of these processes. `leaving` are files and processes of the test that have it rightly."""
    found = []

    def look(place, content):
        found.extend(f"{what}, in {place}" for value in values for what, piece in value.pieces.items() if piece in content)

    for folder, _, names in os.walk(device.work):
        for path in (pathlib.Path(folder, name) for name in names):
            if path.is_file() and path not in leaving:
                look(path, path.read_bytes())
    for process in pathlib.Path("/proc").glob("[0-9]*"):
        if int(process.name) in (os.getpid(), *leaving):
            continue
        for name in ("cmdline", "environ"):
            with contextlib.suppress(OSError):
                look(process / name, (process / name).read_bytes())
    for process in processes:
        found.extend(f"{line}, of process {process}" for line in scan(process, values))
    check(not found, "\n".join(found))
