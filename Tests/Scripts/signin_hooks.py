"""
What schemathesis does with each request before it is sent: an address of its own, so that no limit ends the run, and, where the
test says so, a session's token with a proof for this very request. Loaded by schemathesis, no test itself.
"""

import os
import pathlib
import random
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

from signin import RunningServer, User

import schemathesis

user = None
addresses = random.Random(1)


@schemathesis.hook
def before_call(context, case, kwargs):
    case.headers["X-Forwarded-For"] = ".".join(str(addresses.randrange(1, 255)) for _ in range(4))
    if "SIGNIN_ACCOUNT" in os.environ and case.path.startswith(("/v1/transactions", "/v1/devices", "/v1/web/")):
        session = signed_in()
        good = session.headers(case.method.upper(), case.formatted_path) | {"Origin": session.user.server.origin}
        # What is left out stays so: that is what is tried.
        case.headers.update({name: value for name, value in good.items() if name in case.headers})


def signed_in():
    """The account's session, made when it is first asked for and again when a request has ended it."""
    global user
    if user is None:
        name, port, origin, audience = os.environ["SIGNIN_ACCOUNT"].split(" ")
        user = User(RunningServer(int(port), origin, audience), name=name)
    if user.session is None:
        user.sign_in()
    return user.session
