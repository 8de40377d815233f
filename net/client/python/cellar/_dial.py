"""What a connection needs before its first byte: TLS, token, hint. Shared by both clients."""
from __future__ import annotations

import ipaddress
import secrets
import ssl

from cellar._frames import HINT_BYTES
from cellar._session import Session
from cellar.errors import Applied, CellarError, Code, error_of
from cellar._steps import Unreachable
from cellar.options import ClientOptions, address_of
from cellar.retry import worth_it

CLIENT_ID_BYTES = 16
MAX_TOKEN_FILE_BYTES = 4096


class Identity:
    """Who a client is: the same in all its connections."""

    def __init__(self, options: ClientOptions) -> None:
        self.options = options
        self.client_id = options.client_id or secrets.token_bytes(CLIENT_ID_BYTES)
        self._hint = options.routing_hint or secrets.token_bytes(HINT_BYTES)
        self.tls = ssl.create_default_context() if options.tls is True else (options.tls or None)

    def server_name(self, address: str) -> str:
        return self.options.server_name or address_of(address)[0]

    def session(self, peer_host: str) -> Session:
        """A session for a connection to `peer_host`. FAILED_PRECONDITION: a token would be sent in plain text to
        another machine."""
        token = self._token()
        if token and self.tls is None and not is_loopback(peer_host):
            raise error_of(
                Code.FAILED_PRECONDITION,
                f"a token is never sent in plain text to another machine ({peer_host}): use TLS",
            )
        return Session(self._hint, self.options.client_name, self.client_id, token)

    def _token(self) -> bytes:
        path = self.options.token_file
        if not path:
            return self.options.token.encode()
        try:
            with open(path, "rb") as file:
                token = file.readline(MAX_TOKEN_FILE_BYTES).strip()
        except OSError as error:
            raise error_of(Code.NOT_FOUND, f"cannot read the token file {path!r}: {error.strerror}") from error
        if not token:
            raise error_of(Code.INVALID_ARGUMENT, f"the token file {path!r} is empty")
        return token


def is_loopback(host: str) -> bool:
    """Whether a numeric address is of this machine alone."""
    try:
        address = ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return False
    mapped = getattr(address, "ipv4_mapped", None)
    return (mapped or address).is_loopback


def no_connection(address: str, error: Exception, wait: bool) -> Exception:
    """What a failed attempt to connect is: a certificate that is not trusted is final, the rest may pass. Nothing was
    applied, because no request was sent. wait: as `wait_for_connection`: the loss of a connection during the hello is
    waited out too."""
    if isinstance(error, CellarError):
        error.applied = Applied.NOT_APPLIED
        return Unreachable(error) if wait and error.code is Code.UNAVAILABLE and worth_it(error) else error
    if isinstance(error, ssl.SSLCertVerificationError):
        return error_of(Code.UNAUTHENTICATED, f"{address} is not trusted: {error.verify_message}")
    reason = "the connection was not ready in time" if isinstance(error, TimeoutError) else str(error)
    return Unreachable(
        error_of(Code.UNAVAILABLE, f"cannot connect to {address}: {reason or type(error).__name__}", retry_after_ms=0)
    )
