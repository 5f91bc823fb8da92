# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
Who may reach the page: who has the code of the printed address, from the page itself.

Everything is decided at the HTTP request, of files and of WebSockets alike:

- **The code.** The printed address has a random code, which becomes a cookie that browsers do not
  send from other sites (``SameSite=Strict``). Without it nothing is served but a form to type it.
- **Host.** Names other than that of this machine are refused, because a foreign page may let its
  own name point to this machine (DNS rebinding). An address is none that can be rebound.
- **Origin.** A request from a page of another origin is refused. Browsers name the origin of every
  WebSocket, and let every page open one to any address.
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

__all__ = ['HEADERS', 'Gate', 'Reply']

#: Headers of every reply. The page's own program needs eval for a part that is not used here; it
#: may talk to this server only, and no other page may frame it.
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

#: A name, or an address with an IPv6 one in brackets, and a port; and nothing else.
_HOST = re.compile(r'(?P<name>\[[0-9a-fA-F:.]+\]|[^][:@/\s]+)(:[0-9]+)?')

_FORM = """<!doctype html><meta charset="utf-8"><title>transmission_bridge tune</title>
<body style="font-family:sans-serif;margin:3em"><p>{words}
<form><label>Code from the terminal: <input name="code" autofocus autocomplete="off"></label>
<button>Open</button></form>"""

#: A page of our own that leads to the other: behind a redirect the cookie would not be sent where
#: the first request came from another site, as from a chat.
_WELCOME = """<!doctype html><meta charset="utf-8"><meta http-equiv="refresh" content="0; url=/">
<title>transmission_bridge tune</title>"""


@dataclass(frozen=True, slots=True)
class Reply:
    """
    What is answered instead of the page.

    :param status: The HTTP status.
    :param body: HTML.
    :param cookie: Value of ``Set-Cookie``, empty for none.
    """

    status: HTTPStatus
    body: str
    cookie: str = ''


class Gate:
    """
    Decides on requests.

    :param host: Name or address by which other machines reach the server.
    :ivar code: The random code, 64 bits.
    """

    def __init__(self, host: str) -> None:
        self.code = secrets.token_hex(8)
        self._names = {'localhost', host.lower()}

    def refusal(self, target: str, headers: Mapping[str, str], port: int) -> Reply | None:
        """
        Return the reply to a request that is not to be served, ``None`` where it is.

        :param target: Path and query of the request.
        :param headers: Its headers; names in any case.
        :param port: The port of the server, which the name of the cookie has: cookies are those of
            a host, and two of these pages may be open.
        """
        host = headers.get('Host', '')
        if not self._is_ours(host):
            return _refused('This server has another name.')
        origin = headers.get('Origin')
        if origin is not None and origin.lower() != f'http://{host.lower()}':
            return _refused('Pages of other origins are refused.')
        query = parse_qs(urlsplit(target).query)
        is_socket = headers.get('Upgrade', '').lower() == 'websocket'
        if 'code' in query and not is_socket:
            if not self._is_code(query['code'][0]):
                return _asked('This is not the code.')
            cookie = f'{_cookie(port)}={self.code}; HttpOnly; SameSite=Strict; Path=/'
            return Reply(HTTPStatus.OK, _WELCOME, cookie)
        if not self._is_code(_cookies(headers).get(_cookie(port), '')):
            return _asked('This page can change how a robot moves. It opens with a code.')
        if query:
            # The page would follow some: where its data come from, for one.
            return _refused('The address has something behind it that is not known here.')
        return None

    def _is_ours(self, host: str) -> bool:
        found = _HOST.fullmatch(host)
        if found is None:
            return False
        name = found['name'].strip('[]')
        try:
            ipaddress.ip_address(name)
        except ValueError:
            return name.lower() in self._names
        return True

    def _is_code(self, text: str) -> bool:
        return hmac.compare_digest(text.strip().encode(), self.code.encode())


def _cookie(port: int) -> str:
    return f'transmission_bridge_tune_{port}'


def _cookies(headers: Mapping[str, str]) -> dict[str, str]:
    try:
        cookies = SimpleCookie(headers.get('Cookie', ''))
    except CookieError:
        return {}
    return {name: morsel.value for name, morsel in cookies.items()}


def _asked(words: str) -> Reply:
    return Reply(HTTPStatus.FORBIDDEN, _FORM.format(words=words))


def _refused(words: str) -> Reply:
    return Reply(HTTPStatus.FORBIDDEN, f'<!doctype html><meta charset="utf-8"><p>{words}')
