"""An identity provider of a few lines: keys of every kind, their JWKS, tokens, and an address where the keys are."""

from __future__ import annotations

import json
import ssl
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import jwt
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from stud_service.signing_keys import PrivateKey, algorithm_of

RSA_KEY = rsa.generate_private_key(65537, 2048)
EC_KEY = ec.generate_private_key(ec.SECP256R1())
ED_KEY = Ed25519PrivateKey.generate()
ED_KEY_2 = Ed25519PrivateKey.generate()


def jwk(key: PrivateKey, kid: str | None, **more: Any) -> dict[str, Any]:
    """A public key as an issuer lists it."""
    made = dict(jwt.get_algorithm_by_name(algorithm_of(key)).to_jwk(key.public_key(), as_dict=True))
    return {
        **{name: value for name, value in made.items() if name != "key_ops"},
        **({} if kid is None else {"kid": kid}),
        **more,
    }


def jwks(*keys: dict[str, Any]) -> bytes:
    return json.dumps({"keys": keys}).encode()


def signed(key: PrivateKey, kid: str | None, **claims: Any) -> str:
    """A token of an issuer elsewhere: it names its key, or does not."""
    now = int(time.time())
    made = {"sub": "alice", "roles": ["player"], "iss": "stud", "aud": "stud", "iat": now, "exp": now + 600, **claims}
    return jwt.encode(made, key, algorithm=algorithm_of(key), headers={} if kid is None else {"kid": kid})


class Site:
    """What is at the address. `hold` makes it answer nothing until it is set."""

    def __init__(self) -> None:
        self.body = b""
        self.status = 200
        self.asked = 0
        self.elsewhere = ""
        """Where a redirect leads."""
        self.go_on = threading.Event()
        self.go_on.set()
        self.url = ""


@contextmanager
def publishing(context: ssl.SSLContext | None = None) -> Iterator[Site]:
    """A web server for the time of a test, in threads; over TLS with a context."""
    site = Site()

    class Answers(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            site.asked += 1
            site.go_on.wait(30)
            self.send_response(site.status)
            if site.elsewhere:
                self.send_header("Location", site.elsewhere)
            self.send_header("Content-Length", str(len(site.body)))
            self.end_headers()
            self.wfile.write(site.body)

        def log_message(self, *_: Any) -> None:
            """Says nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Answers)
    server.handle_error = lambda *_: None  # type: ignore[method-assign]  # clients that hang up are part of the tests
    if context is not None:
        server.socket = context.wrap_socket(server.socket, server_side=True)
    site.url = f"{'https' if context else 'http'}://127.0.0.1:{server.server_address[1]}/jwks"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield site
    finally:
        site.go_on.set()
        server.shutdown()
        server.server_close()
        thread.join()
