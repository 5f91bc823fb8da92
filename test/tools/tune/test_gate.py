# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Who is let in to the page."""

from __future__ import annotations

from http import HTTPStatus
import re

from hypothesis import given, strategies as st
import pytest

from transmission_bridge.tools.tune.server import PageRequestGuard

PORT = 8080
OURS = f'127.0.0.1:{PORT}'
SOCKET = {'Upgrade': 'websocket', 'Connection': 'Upgrade'}


def headers(gate: PageRequestGuard, host: str = OURS, **more: str) -> dict[str, str]:
    """Return the headers of somebody who has the code."""
    return {'Host': host, 'Cookie': f'transmission_bridge_tune_{PORT}={gate.code}', **more}


def test_the_code_of_the_address_becomes_a_cookie_that_other_sites_do_not_send():
    """With the cookie page and socket are served, with the address no socket: anybody makes it."""
    gate = PageRequestGuard('127.0.0.1')
    reply = gate.describe_rejection(f'/?code={gate.code}', {'Host': OURS}, PORT)
    assert reply.status == HTTPStatus.OK
    assert {'HttpOnly', 'SameSite=Strict', 'Path=/'} <= set(re.split('; ', reply.cookie))
    cookie = reply.cookie.partition(';')[0]
    for more in ({}, SOCKET, {'Origin': f'http://{OURS}'}, {**SOCKET, 'Origin': f'http://{OURS}'}):
        assert gate.describe_rejection('/', {'Host': OURS, 'Cookie': cookie, **more}, PORT) is None
    reply = gate.describe_rejection(f'/?code={gate.code}', {'Host': OURS, **SOCKET}, PORT)
    assert reply.status == HTTPStatus.FORBIDDEN


@given(st.text(max_size=40), st.booleans())
def test_without_the_code_there_is_nothing_but_a_question_for_it(guess, is_socket):
    """A guess, in the address or in the cookie, opens neither page nor socket."""
    gate, other = PageRequestGuard('127.0.0.1'), PageRequestGuard('127.0.0.1')
    for target, cookie in (
        ('/', ''),
        ('/', f'transmission_bridge_tune_{PORT}={guess!r}'),
        ('/', guess),
        (f'/?code={guess!r}', ''),
        # Two pages on two ports do not open each other.
        ('/', headers(other)['Cookie']),
        ('/', headers(gate)['Cookie'].replace('8080', '8081')),
    ):
        sent = {'Host': OURS, 'Cookie': cookie, **(SOCKET if is_socket else {})}
        reply = gate.describe_rejection(target, sent, PORT)
        assert reply.status == HTTPStatus.FORBIDDEN
        assert not reply.cookie
        assert gate.code not in reply.body


@pytest.mark.parametrize(('hosts', 'is_ours'), [
    (f'{OURS} localhost:8080 [::1]:8080 192.168.1.7:8080 robot.local:8080 Robot.local:8080', True),
    # A foreign page whose name was pointed to this machine has its own name as host.
    ('elsewhere.example:8080 elsewhere.example [ a@b [::1 [::1].evil.com', False),
    ('[::1].evil.com:8080 [::1]:8080.evil.com 127.0.0.1:8080@evil.com', False),
])  # fmt: skip
def test_addresses_and_the_name_that_is_listened_on_are_its_own_and_no_others(hosts, is_ours):
    """As --host gives it."""
    gate = PageRequestGuard('robot.local')
    for host in (*hosts.split(), *[''] * (not is_ours)):
        reply = gate.describe_rejection('/', headers(gate, host, Origin=f'http://{host}'), PORT)
        assert (reply is None) == is_ours, host
        assert is_ours or reply.status == HTTPStatus.FORBIDDEN


@pytest.mark.parametrize(('target', 'origin'), [
    ('/', 'http://elsewhere.example'),
    ('/', 'null'),
    ('/', f'https://{OURS}'),
    ('/', 'http://127.0.0.1:9'),
    ('/', 'http://127.0.0.1'),
    # Viser's page follows what is behind its address.
    ('/?playbackPath=http://x.example/a', ''),
    ('/?websocket=ws://x.example', ''),
])  # fmt: skip
def test_what_is_foreign_is_refused_though_it_has_the_cookie(target, origin):
    """The browser says where a socket is opened from."""
    gate = PageRequestGuard('127.0.0.1')
    for more in ({}, SOCKET):
        sent = headers(gate, **({'Origin': origin} if origin else {}), **more)
        assert gate.describe_rejection(target, sent, PORT).status == HTTPStatus.FORBIDDEN
