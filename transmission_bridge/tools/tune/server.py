# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
viser behind access control, which is checked at each HTTP request (files and WebSockets).

- **Code.** The printed address has a random code, which becomes a cookie that browsers do not
  send from other sites (``SameSite=Strict``). Without it the server returns a form to type it.
- **Host.** Host names other than that of this machine are rejected, because a foreign page may
  let its own name point to this machine (DNS rebinding). An IP address cannot be rebound.
- **Origin.** A request from a page of another origin is rejected. Browsers send the origin with
  every WebSocket, and let every page open one to any address.

``command`` opens one server, and viser's thread calls the guard, which has no mutable data. This
module alone depends on how viser opens its port. These three rules must stay; texts are free to
change.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, redirect_stdout, suppress
from dataclasses import dataclass
import functools
import hmac
from http import HTTPStatus
from http.cookies import CookieError, SimpleCookie
import io
import ipaddress
import re
import secrets
import socket
from typing import Any
from urllib.parse import parse_qs, urlsplit

from transmission_bridge.tools.cli import import_optional, UsageError

#: Headers of every reply. The page's own program needs eval for a part that is not used here. It
#: may connect to this server only, and no other page may frame it.
HEADERS = {
    'Content-Security-Policy': (
        "default-src 'self' blob: data:; script-src 'self' 'unsafe-inline' 'unsafe-eval' blob:; "
        "style-src 'self' 'unsafe-inline'; connect-src 'self' blob: data:; "
        "frame-ancestors 'none'; form-action 'self'; base-uri 'none'"
    ),
    'X-Frame-Options': 'DENY',
    'Referrer-Policy': 'no-referrer',
    'Cache-Control': 'no-store',
    'X-Content-Type-Options': 'nosniff',
}

#: A name or an address (IPv6 in brackets), and optionally a port.
_HOST = re.compile(r'(?P<name>\[[0-9a-fA-F:.]+\]|[^][:@/\s]+)(:[0-9]+)?')

_PAGE = """<!doctype html><meta charset="utf-8"><title>transmission_bridge tune</title>
<body style="font-family:sans-serif;margin:3em"><p>{words}"""
_FORM = """
<form><label>Code from the terminal: <input name="code" autofocus autocomplete="off"></label>
<button>Open</button></form>"""

#: A page that forwards to the main page. An HTTP redirect would not send the cookie if the first
#: request came from another site, such as a chat.
_WELCOME = """<!doctype html><meta charset="utf-8"><meta http-equiv="refresh" content="0; url=/">
<title>transmission_bridge tune</title>"""


@dataclass(frozen=True, slots=True)
class PageReply:
    """
    A reply instead of the page.

    :param status: The HTTP status.
    :param body: HTML.
    :param cookie: Value of ``Set-Cookie``, empty for none.
    """

    status: HTTPStatus
    body: str
    cookie: str = ''


class PageRequestGuard:
    """
    Accepts or rejects requests by the three rules.

    :param host: Name or address by which other machines reach the server.
    :ivar code: The random code, 64 bits.
    """

    def __init__(self, host: str) -> None:
        self.code = secrets.token_hex(8)
        self._names = {'localhost', host.lower()}

    def describe_rejection(
        self, target: str, headers: Mapping[str, str], port: int
    ) -> PageReply | None:
        """
        Return the reply to a rejected request, ``None`` if the request is accepted.

        :param target: Path and query of the request.
        :param headers: Its headers; names in any case.
        :param port: Port of the server. It is part of the cookie's name, because browsers share
            cookies between the ports of a host, and two of these pages may be open.
        """
        cookie_name = f'transmission_bridge_tune_{port}'
        host = headers.get('Host', '')
        if not self._is_ours(host):
            return _forbid('This server has another name.')
        origin = headers.get('Origin')
        if origin is not None and origin.lower() != f'http://{host.lower()}':
            return _forbid('Requests from pages of other origins are rejected.')
        query = parse_qs(urlsplit(target).query)
        is_socket = headers.get('Upgrade', '').lower() == 'websocket'
        if 'code' in query and not is_socket:
            if not self._is_code(query['code'][0]):
                return _forbid('This is not the code.', _FORM)
            cookie = f'{cookie_name}={self.code}; HttpOnly; SameSite=Strict; Path=/'
            return PageReply(HTTPStatus.OK, _WELCOME, cookie)
        try:
            cookies = SimpleCookie(headers.get('Cookie', ''))
        except CookieError:
            cookies = SimpleCookie()
        if cookie_name not in cookies or not self._is_code(cookies[cookie_name].value):
            words = 'This page can change how a robot moves. It opens with a code.'
            return _forbid(words, _FORM)
        if query:
            # The page would use some parameters, such as the source of its data.
            return _forbid('The address has an unknown query (after the question mark).')
        return None

    def _is_ours(self, host: str) -> bool:
        matched = _HOST.fullmatch(host)
        if matched is None:
            return False
        name = matched['name'].strip('[]')
        with suppress(ValueError):
            ipaddress.ip_address(name)
            return True
        return name.lower() in self._names

    def _is_code(self, text: str) -> bool:
        return hmac.compare_digest(text.strip().encode(), self.code.encode())


def _forbid(words: str, form: str = '') -> PageReply:
    return PageReply(HTTPStatus.FORBIDDEN, _PAGE.format(words=words) + form)


#: Seconds until the server must have answered its own request.
_PATIENCE = 5.0


def open_server(gate: PageRequestGuard, host: str, port: int, label: str) -> Any:
    """
    Return a running :class:`viser.ViserServer`; the gate checks every request to it.

    :param host: Address to listen on.
    :param port: Port, or the first one to try: the next free one is used.
    :param label: Title of the page.
    :raises UsageError: If viser is missing, the address is not available, or this version of
        viser opens its port in another way, so that requests would bypass the gate.
    """
    viser = import_optional('viser', 'tune')
    family = socket.AF_INET6 if ':' in host else socket.AF_INET
    try:  # viser would try ports for ever
        socket.create_server((host, 0), family=family).close()
    except OSError as error:
        raise UsageError(f"cannot listen on '{host}': {error.strerror or error}") from None

    class Server(viser.ViserServer):  # type: ignore[misc, name-defined]
        """A server that is never shared: any client could request a public tunnel to it."""

        def request_share_url(self, verbose: bool = True) -> None:
            return None

        def stop(self) -> None:
            # viser prints that it has stopped.
            with redirect_stdout(io.StringIO()):
                super().stop()

    _accept_values_only()
    # viser prints its address without the code.
    with _guard_server(gate), redirect_stdout(io.StringIO()):
        server = Server(host=host, port=port, label=label, verbose=False)
    try:
        _check_guarded(host, server.get_port())
    except UsageError:
        server.stop()
        raise
    server.gui.configure_theme(show_logo=False, show_share_button=False, control_width='large')
    return server


def _accept_values_only() -> None:
    """Make viser ignore messages from a browser that set more of a widget than its value."""
    gui = import_optional('viser._gui_api', 'tune').GuiApi
    handle = gui._handle_gui_updates
    if hasattr(handle, '__wrapped__'):
        return

    @functools.wraps(handle)
    async def checked(api: Any, client: int, message: Any) -> None:
        if message.updates.keys() == {'value'}:
            await handle(api, client, message)

    gui._handle_gui_updates = checked


@contextmanager
def _guard_server(gate: PageRequestGuard) -> Iterator[None]:
    """Put the gate in front of a server that viser opens in this context."""
    sockets = import_optional('websockets.asyncio.server', 'tune')
    http = import_optional('websockets.http11', 'tune')
    structures = import_optional('websockets.datastructures', 'tune')
    serve = sockets.serve

    def serve_gated(*arguments: Any, process_request: Callable[..., Any], **options: Any) -> Any:
        def checked(connection: Any, request: Any) -> Any:
            port = connection.local_address[1]
            reply = gate.describe_rejection(request.path, request.headers, port)
            if reply is None:
                response = process_request(connection, request)
                if response is not None:
                    response.headers.update(HEADERS)
                return response
            body = reply.body.encode()
            headers = {**HEADERS, 'Content-Type': 'text/html; charset=utf-8'}
            headers['Content-Length'] = str(len(body))
            if reply.cookie:
                headers['Set-Cookie'] = reply.cookie
            status = reply.status
            return http.Response(status.value, status.phrase, structures.Headers(**headers), body)

        return serve(*arguments, process_request=checked, **options)

    sockets.serve = serve_gated
    try:
        yield
    finally:
        sockets.serve = serve


def _check_guarded(host: str, port: int) -> None:
    """Check that a request from a foreign origin is rejected."""
    place = {'0.0.0.0': '127.0.0.1', '::': '::1'}.get(host, host)
    request = (
        f'GET / HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nOrigin: http://elsewhere.invalid\r\n'
        'Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n'
        'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n'
    )
    try:
        with socket.create_connection((place, port), _PATIENCE) as link:
            link.sendall(request.encode())
            answer = link.recv(1024)
    except OSError as error:
        raise UsageError(f"no answer on '{host}' port {port}: {error}") from None
    if not answer.startswith(f'HTTP/1.1 {HTTPStatus.FORBIDDEN.value} '.encode()):
        raise UsageError(
            'access to this version of viser cannot be restricted: install the version that '
            'the extra tune requires'
        )
