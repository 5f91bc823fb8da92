# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
Access control of the page, checked at each HTTP request (files and WebSockets).

- **Code.** The printed address has a random code, which becomes a cookie that browsers do not
  send from other sites (``SameSite=Strict``). Without it the server returns a form to type it.
- **Host.** Host names other than that of this machine are rejected, because a foreign page may
  let its own name point to this machine (DNS rebinding). An IP address cannot be rebound.
- **Origin.** A request from a page of another origin is rejected. Browsers send the origin with
  every WebSocket, and let every page open one to any address.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
import hmac
from http import HTTPStatus
from http.cookies import CookieError, SimpleCookie
import ipaddress
import re
import secrets
from urllib.parse import parse_qs, urlsplit

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

_FORM = """<!doctype html><meta charset="utf-8"><title>transmission_bridge tune</title>
<body style="font-family:sans-serif;margin:3em"><p>{words}
<form><label>Code from the terminal: <input name="code" autofocus autocomplete="off"></label>
<button>Open</button></form>"""

#: A page that forwards to the main page. An HTTP redirect would not send the cookie if the first
#: request came from another site, such as a chat.
_WELCOME = """<!doctype html><meta charset="utf-8"><meta http-equiv="refresh" content="0; url=/">
<title>transmission_bridge tune</title>"""


@dataclass(frozen=True, slots=True)
class Reply:
    """
    A reply instead of the page.

    :param status: The HTTP status.
    :param body: HTML.
    :param cookie: Value of ``Set-Cookie``, empty for none.
    """

    status: HTTPStatus
    body: str
    cookie: str = ''


class RequestGuard:
    """
    Accepts or rejects requests.

    :param host: Name or address by which other machines reach the server.
    :ivar code: The random code, 64 bits.
    """

    def __init__(self, host: str) -> None:
        self.code = secrets.token_hex(8)
        self._names = {'localhost', host.lower()}

    def describe_rejection(
        self, target: str, headers: Mapping[str, str], port: int
    ) -> Reply | None:
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
            return _make_forbidden_page('This server has another name.')
        origin = headers.get('Origin')
        if origin is not None and origin.lower() != f'http://{host.lower()}':
            return _make_forbidden_page('Requests from pages of other origins are rejected.')
        query = parse_qs(urlsplit(target).query)
        is_socket = headers.get('Upgrade', '').lower() == 'websocket'
        if 'code' in query and not is_socket:
            if not self._is_code(query['code'][0]):
                return _ask_for_code('This is not the code.')
            cookie = f'{cookie_name}={self.code}; HttpOnly; SameSite=Strict; Path=/'
            return Reply(HTTPStatus.OK, _WELCOME, cookie)
        try:
            cookies = SimpleCookie(headers.get('Cookie', ''))
        except CookieError:
            cookies = SimpleCookie()
        if cookie_name not in cookies or not self._is_code(cookies[cookie_name].value):
            return _ask_for_code('This page can change how a robot moves. It opens with a code.')
        if query:
            # The page would use some parameters, such as the source of its data.
            return _make_forbidden_page(
                'The address has an unknown query (after the question mark).'
            )
        return None

    def _is_ours(self, host: str) -> bool:
        matched = _HOST.fullmatch(host)
        if matched is None:
            return False
        name = matched['name'].strip('[]')
        try:
            ipaddress.ip_address(name)
        except ValueError:
            return name.lower() in self._names
        return True

    def _is_code(self, text: str) -> bool:
        return hmac.compare_digest(text.strip().encode(), self.code.encode())


def _ask_for_code(words: str) -> Reply:
    return Reply(HTTPStatus.FORBIDDEN, _FORM.format(words=words))


def _make_forbidden_page(words: str) -> Reply:
    return Reply(HTTPStatus.FORBIDDEN, f'<!doctype html><meta charset="utf-8"><p>{words}')
