# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""A ROS domain of its own for each benchmark with nodes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
import contextlib
import socket

# Domain ids that are safe on every system: ports of higher ids collide with ephemeral ports.
_DOMAINS = range(101, 0, -1)


@contextlib.contextmanager
def isolate_network(environment: Mapping[str, str]) -> Iterator[dict[str, str]]:
    """
    Return variables that isolate a benchmark from other nodes, unless the user has set them.

    A domain that it chooses belongs to this benchmark during the block.

    :param environment: The present environment.
    """
    added = {'ROS_AUTOMATIC_DISCOVERY_RANGE': 'LOCALHOST'}
    with contextlib.ExitStack() as stack:
        if not environment.get('ROS_DOMAIN_ID'):
            added['ROS_DOMAIN_ID'] = str(_claim_domain(stack))
        yield {name: value for name, value in added.items() if not environment.get(name)}


def _claim_domain(stack: contextlib.ExitStack) -> int:
    """
    Return a domain without participants on this machine, that no other benchmark has claimed.

    :param stack: Ends the claim.
    """
    for domain in _DOMAINS:
        first = 7400 + 250 * domain
        # DDS uses no port between the first one of a domain and those of its participants, from 10
        # on (DDSI-RTPS 9.6.1.1). So one of them is the claim, which ends with this process.
        claim = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        with contextlib.ExitStack() as sockets:
            try:
                sockets.enter_context(claim).bind(('127.0.0.1', first + 5))
                with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
                    probe.bind(('', first + 10))
            except OSError:
                continue
            stack.enter_context(sockets.pop_all())
            return domain
    raise SystemExit('every ROS domain is in use on this machine: set ROS_DOMAIN_ID')
