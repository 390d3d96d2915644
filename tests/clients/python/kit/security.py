"""What a client trusts, and what it shows: the environment says it, where no list of processes shows a password.

Without `SKEIN_CLIENT_PROTOCOL` there is none of it.
"""

import base64
import json
import os
import ssl
import urllib.parse
import urllib.request

SECONDS = 20


def said(name):
    """`PROTOCOL`, `MECHANISM`, `USERNAME`, `PASSWORD`, `CA`, `CERTIFICATE`, `KEY`, `TOKEN_FILE` or `TOKEN_ENDPOINT`."""
    return os.environ.get("SKEIN_CLIENT_" + name)


def context():
    """What Python's own TLS needs to know, if there is TLS."""
    if not said("CA"):
        return None
    made = ssl.create_default_context(cafile=said("CA"))
    if said("CERTIFICATE"):
        made.load_cert_chain(said("CERTIFICATE"), said("KEY"))
    return made


def token():
    """A token: that of the file, or a new one from the endpoint."""
    if said("TOKEN_FILE"):
        with open(said("TOKEN_FILE")) as file:
            return file.read().strip()
    form = {"grant_type": "client_credentials", "client_id": said("USERNAME"), "client_secret": said("PASSWORD")}
    with urllib.request.urlopen(said("TOKEN_ENDPOINT"), urllib.parse.urlencode(form).encode(), SECONDS) as answer:
        return json.load(answer)["access_token"]


def expiry(token):
    """When a token expires, in seconds since 1970."""
    claims = token.split(".")[1]
    return json.loads(base64.urlsafe_b64decode(claims + "=" * (-len(claims) % 4)))["exp"]
