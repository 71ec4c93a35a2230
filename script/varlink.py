"""Reads interface files: what script/interface-pages and script/interfaces write from."""
import dataclasses
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
MEMBER = re.compile(r"^(method|type|error) ([A-Z]\w*)\s*(\((?:[^()#]|#.*)*\))(?:\s*->\s*(\((?:[^()#]|#.*)*\)))?", re.M)
FIELD = re.compile(r"^([A-Za-z]\w*): (.+)$")


@dataclasses.dataclass
class Field:
    name: str
    type: str
    # What stands above it.
    comment: list[str]


@dataclasses.dataclass
class Body:
    """What stands between parentheses: fields, or the words of an enumeration."""
    fields: list[Field]
    words: list[str]


@dataclasses.dataclass
class Member:
    # method, type or error.
    kind: str
    name: str
    body: Body
    # Of a method.
    reply: Body | None
    # Paragraphs.
    comment: list[str]


@dataclasses.dataclass
class Interface:
    path: pathlib.Path
    name: str
    intro: list[str]
    members: list[Member]


def paragraphs(lines):
    """Comment lines as paragraphs: an empty one parts them."""
    found, current = [], []
    for line in lines + [""]:
        if line:
            current.append(line)
        elif current:
            found.append(" ".join(current))
            current = []
    return found


def body(text):
    inside = text[1:-1]
    if ":" not in re.sub(r"#.*", "", inside):
        return Body([], re.findall(r"[A-Za-z]\w*", re.sub(r"#.*", "", inside)))
    fields, comment = [], []
    for line in inside.split("\n"):
        line = line.strip()
        if line.startswith("#"):
            comment.append(line.lstrip("#").strip())
            continue
        for field in re.split(r",\s*", line):
            if match := FIELD.match(field):
                fields.append(Field(match.group(1), match.group(2), paragraphs(comment)))
                comment = []
    return Body(fields, [])


def read(path, source):
    head, rest = source.split("\ninterface ", 1)
    name, rest = rest.split("\n", 1)
    members = []
    for match in MEMBER.finditer(rest):
        kind, member, parameters, reply = match.groups()
        comment = []
        for line in reversed(rest[: match.start()].rstrip("\n").split("\n")):
            if not line.startswith("#"):
                break
            comment.insert(0, line.lstrip("#").strip())
        members.append(Member(kind, member, body(parameters), body(reply) if reply else None, paragraphs(comment)))
    if not members or len(members) != len(re.findall(r"^(?:method|type|error) ", rest, re.M)):
        sys.exit(f"{path} has members that were not understood")
    return Interface(path, name, paragraphs([line.lstrip("#").strip() for line in head.split("\n")]), members)


def sources():
    """The text of every interface file, by its path."""
    files = sorted(ROOT.glob("Sources/*/*.varlink"))
    if not files:
        sys.exit("no interface file found")
    return {file: file.read_text() for file in files}


def every():
    return [read(path, source) for path, source in sources().items()]
