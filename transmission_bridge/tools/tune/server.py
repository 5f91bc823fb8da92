# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""viser behind the gate. This module alone depends on how viser opens its port."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stdout
import functools
from http import HTTPStatus
import io
import socket
from typing import Any

from transmission_bridge.tools.cli import optional, UsageError
from transmission_bridge.tools.tune.gate import HEADERS, RequestGuard

#: Seconds until the server must have answered its own request.
_PATIENCE = 5.0


def open_server(gate: RequestGuard, host: str, port: int, label: str) -> Any:
    """
    Return a running :class:`viser.ViserServer`; the gate checks every request to it.

    :param host: Address to listen on.
    :param port: Port, or the first one to try: the next free one is used.
    :param label: Title of the page.
    :raises UsageError: If viser is missing, the address is not available, or this version of
        viser opens its port in another way, so that requests would bypass the gate.
    """
    viser = optional('viser', 'tune')
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
    gui = optional('viser._gui_api', 'tune').GuiApi
    handle = gui._handle_gui_updates
    if hasattr(handle, '__wrapped__'):
        return

    @functools.wraps(handle)
    async def checked(api: Any, client: int, message: Any) -> None:
        if message.updates.keys() == {'value'}:
            await handle(api, client, message)

    gui._handle_gui_updates = checked


@contextmanager
def _guard_server(gate: RequestGuard) -> Iterator[None]:
    """Put the gate in front of a server that viser opens in this context."""
    sockets = optional('websockets.asyncio.server', 'tune')
    http = optional('websockets.http11', 'tune')
    structures = optional('websockets.datastructures', 'tune')
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
            status = HTTPStatus(reply.status)
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
