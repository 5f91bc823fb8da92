# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Who is let in to the page."""

from __future__ import annotations

from http import HTTPStatus
import re

from hypothesis import given
from hypothesis import strategies as st
import pytest

from transmission_bridge.tools.tune.gate import Gate

PORT = 8080
OURS = f'127.0.0.1:{PORT}'
SOCKET = {'Upgrade': 'websocket', 'Connection': 'Upgrade'}


def headers(gate: Gate, host: str = OURS, **more: str) -> dict[str, str]:
    """Return the headers of somebody who has the code."""
    return {'Host': host, 'Cookie': f'transmission_bridge_tune_{PORT}={gate.code}', **more}


def test_the_code_of_the_address_becomes_a_cookie_that_other_sites_do_not_send():
    """With the cookie the page and its socket are served."""
    gate = Gate('127.0.0.1')
    reply = gate.find_rejection(f'/?code={gate.code}', {'Host': OURS}, PORT)
    assert reply.status == HTTPStatus.OK
    assert {'HttpOnly', 'SameSite=Strict', 'Path=/'} <= set(re.split('; ', reply.cookie))
    cookie = reply.cookie.partition(';')[0]
    for more in ({}, SOCKET, {'Origin': f'http://{OURS}'}, {**SOCKET, 'Origin': f'http://{OURS}'}):
        assert gate.find_rejection('/', {'Host': OURS, 'Cookie': cookie, **more}, PORT) is None


@given(st.text(max_size=40), st.booleans())
def test_without_the_code_there_is_nothing_but_a_question_for_it(guess, is_socket):
    """A guess, in the address or in the cookie, opens neither page nor socket."""
    gate = Gate('127.0.0.1')
    more = SOCKET if is_socket else {}
    for target, cookie in (
        ('/', ''),
        ('/', f'transmission_bridge_tune_{PORT}={guess!r}'),
        ('/', guess),
        (f'/?code={guess!r}', ''),
    ):
        reply = gate.find_rejection(target, {'Host': OURS, 'Cookie': cookie, **more}, PORT)
        assert reply.status == HTTPStatus.FORBIDDEN
        assert not reply.cookie
        assert gate.code not in reply.body


def test_a_socket_opens_by_the_cookie_only():
    """An address with the code must not be enough: pages can make sockets to any address."""
    gate = Gate('127.0.0.1')
    reply = gate.find_rejection(f'/?code={gate.code}', {'Host': OURS, **SOCKET}, PORT)
    assert reply.status == HTTPStatus.FORBIDDEN


@pytest.mark.parametrize(
    'origin',
    [
        'http://elsewhere.example',
        'null',
        f'https://{OURS}',
        'http://127.0.0.1:9',
        'http://127.0.0.1',
    ],
)
def test_a_page_of_another_origin_is_refused_though_it_has_the_cookie(origin):
    """The browser says where a socket is opened from."""
    gate = Gate('127.0.0.1')
    for more in ({}, SOCKET):
        reply = gate.find_rejection('/', headers(gate, Origin=origin, **more), PORT)
        assert reply.status == HTTPStatus.FORBIDDEN


@pytest.mark.parametrize(
    'host',
    [
        *('elsewhere.example:8080', 'elsewhere.example', '', '[', 'a@b', '[::1'),
        *(
            '[::1].evil.com',
            '[::1].evil.com:8080',
            '[::1]:8080.evil.com',
            '127.0.0.1:8080@evil.com',
        ),
    ],
)
def test_another_name_of_this_machine_is_refused(host):
    """A foreign page whose name was pointed to this machine has its own name as host."""
    gate = Gate('127.0.0.1')
    reply = gate.find_rejection('/', headers(gate, host, Origin=f'http://{host}'), PORT)
    assert reply.status == HTTPStatus.FORBIDDEN


@pytest.mark.parametrize('host', [OURS, 'localhost:8080', '[::1]:8080', '192.168.1.7:8080'])
def test_addresses_and_the_name_of_this_machine_are_its_own(host):
    """No name of others stands for them."""
    gate = Gate('127.0.0.1')
    assert gate.find_rejection('/', headers(gate, host, Origin=f'http://{host}'), PORT) is None


def test_the_name_that_is_listened_on_is_its_own():
    """As --host gives it."""
    gate = Gate('robot.local')
    assert gate.find_rejection('/', headers(gate, 'Robot.local:8080'), PORT) is None


@pytest.mark.parametrize('query', ['playbackPath=http://x.example/a', 'websocket=ws://x.example'])
def test_an_address_that_would_bring_in_something_foreign_is_refused(query):
    """Viser's page follows what is behind its address."""
    gate = Gate('127.0.0.1')
    assert gate.find_rejection(f'/?{query}', headers(gate), PORT).status == HTTPStatus.FORBIDDEN


def test_each_page_has_its_own_code_and_cookie():
    """Two pages on two ports do not open each other."""
    one, two = Gate('127.0.0.1'), Gate('127.0.0.1')
    assert one.code != two.code
    assert one.find_rejection('/', headers(two), PORT) is not None
    assert one.find_rejection('/', headers(one), PORT + 1) is not None
