# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""``transmission_bridge watch``: the running system as a live table."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
import math
import os
import time

from transmission_bridge.errors import shortened
from transmission_bridge.messages.joint_state import JointStateRecord, Layout
from transmission_bridge.tools.bags.model import JOINT_STATE
from transmission_bridge.tools.bridge_client import ACTIVE, BridgeClient, Received
from transmission_bridge.tools.cli import clean_end, Console, Exit, printable
from transmission_bridge.tools.watch_screen import live_screen, plain_lines
from transmission_bridge.tools.watch_state import (
    ARRAYS,
    Bridge,
    JOINT_STATES,
    WatchState,
)

__all__ = ['is_idle', 'missing_sides', 'run', 'waiting_for']

#: How to activate a bridge, by its lifecycle state.
_REMEDIES = {
    'unconfigured': "'ros2 lifecycle set {name} configure', then '... activate' start it; with "
    'the parameter autostart it starts by itself',
    'inactive': "'ros2 lifecycle set {name} activate' starts it",
    'finalized': 'it has been shut down; start it again',
}


def waiting_for(state: WatchState) -> str:
    """Return a sentence about what is awaited."""
    topics = ', '.join([*state.driver_topics, JOINT_STATES])
    return f'waiting for {topics} and diagnostics of a bridge {_place(state)}'


def is_idle(state: WatchState) -> bool:
    """Whether there are bridges, and none of them is active."""
    return bool(state.bridges) and all(each.state != ACTIVE for each in state.bridges)


def missing_sides(state: WatchState, now: float) -> list[str]:
    """Return a sentence with advice for each side that is missing or does not work."""
    return list(_missing(state, now))


def _missing(state: WatchState, now: float) -> Iterator[str]:
    present = [bridge for bridge in state.bridges if not state.is_gone(bridge, now)]
    if state.bridges and not present:
        bridge = max(state.bridges, key=lambda each: each.heard)
        yield (
            f'the bridge {bridge.name} has gone: its diagnostics fell silent '
            f'{now - bridge.heard:.0f} s ago; start it again'
        )
    elif not present:
        yield from _without_bridge(state)
    elif not any(bridge.state == ACTIVE for bridge in present):
        for bridge in present:
            yield _not_active(bridge)
        if not state.has_driver:
            yield _no_driver(state, 'the driver is missing as well')
    elif not state.has_driver:
        yield _no_driver(state, f'the driver is missing: {present[0].name} is active, but')
    elif not state.has_joint_states:
        yield (
            f'{present[0].name} is active and the driver is heard, but no {JOINT_STATES} arrive '
            f'{_place(state)}: diagnostics say why, or the topic has another name'
        )
    else:
        for topic, age, timeout in state.silent(now):
            nodes = state.publishers.get(topic, ())
            remedy = f'check whether {_nodes(nodes)} hangs' if nodes else 'start it again'
            yield (
                f'the driver on {topic} is silent: nothing for {age:.1f} s, '
                f'and its numbers are unknown after {timeout:g} s; {remedy}'
            )


def _without_bridge(state: WatchState) -> Iterator[str]:
    others = ', '.join(bridge.name for bridge in state.other_bridges)
    if state.has_driver and state.has_joint_states:
        return
    if state.other_bridges:
        yield (
            f'no bridge {state.node} {_place(state)}, but others: {others}; --node '
            f'{state.other_bridges[0].name} shows that one'
        )
    elif state.has_driver:
        yield (
            f'the bridge is missing: {_heard(state)} arrive, but neither {JOINT_STATES} nor '
            f'diagnostics of a bridge {_place(state)}; '
            "'ros2 launch transmission_bridge bridge.launch.py' starts one"
        )
    elif state.has_joint_states:
        yield (
            f'driver and bridge are missing: {JOINT_STATES} come from '
            f'{_nodes(state.publishers.get(JOINT_STATES, ()))}, but nothing on '
            f'{", ".join(state.driver_topics)}, and no diagnostics of a bridge {_place(state)}'
        )
    else:
        yield (
            f'no states have arrived on {", ".join(state.driver_topics)} or {JOINT_STATES}, and '
            f'no diagnostics of a bridge: start driver and bridge {_place(state)}'
            + _elsewhere(state)
        )


def _not_active(bridge: Bridge) -> str:
    remedy = _REMEDIES.get(bridge.state, 'a change of its state is under way')
    return (
        f'the bridge {bridge.name} is {bridge.state}, not active: '
        f'{remedy.format(name=f"/{bridge.name}")}'
    )


def _no_driver(state: WatchState, words: str) -> str:
    counts = [
        f'{topic} ({len(nodes)} publishers{": " if nodes else ""}{_nodes(nodes) if nodes else ""})'
        for topic in state.driver_topics
        for nodes in [state.publishers.get(topic, ())]
    ]
    separator = '' if words.endswith('but') else ':'
    return (
        f'{words}{separator} nothing has arrived on {", ".join(counts)}; start the driver, or '
        f'name its topic in the parameter actuator_state_topics{_elsewhere(state)}'
    )


def _heard(state: WatchState) -> str:
    return ', '.join(topic for topic in state.driver_topics if state.age(topic, 0.0) is not None)


def _elsewhere(state: WatchState) -> str:
    if not state.elsewhere:
        return ''
    return f'; other topics of joint states: {shortened(state.elsewhere, show=str)}'


def _nodes(names: Sequence[str]) -> str:
    return shortened(names, show=str) or 'nobody that is known'


def _place(state: WatchState) -> str:
    domain = os.environ.get('ROS_DOMAIN_ID') or '0'
    return f'in namespace /{state.namespace.strip("/")}, ROS domain {domain}'


#: Seconds between updates on a terminal, and between snapshots elsewhere.
_LIVE_PERIOD, _PLAIN_PERIOD = 0.2, 1.0

#: Seconds that --once waits for states of both sides, and then for everything else.
_PATIENCE, _SETTLING = 5.0, 1.2

#: Seconds until every running node has been heard: discovery takes time, and diagnostics come once
#: a second.
_MEETING = 3.0

#: Seconds of silence after which a note says what is awaited.
_SILENCE = 2.0


class WatchClient(BridgeClient):
    """
    Fills a :class:`WatchState`.

    :raises UsageError: If rclpy is not installed, ROS cannot be used, or the namespace is invalid.
    """

    def __init__(self, state: WatchState) -> None:
        super().__init__('transmission_bridge_watch', state.node)
        self._state = state
        self._names: dict[str, str] = {}
        self._follow()

    def spin_for(self, seconds: float) -> None:
        """Handle callbacks for some time, then subscribe to new topics."""
        super().spin_for(seconds)
        self._state.take_reports(self.reports)
        self._follow()

    def _follow(self) -> None:
        """Subscribe to the topics of the bridge, and find their publishers."""
        self._names |= {topic: self.node.resolve_topic_name(topic) for topic in self._state.topics}
        self.follow({topic: self._listener(topic) for topic in self._names})
        self._state.publishers = {topic: self.publishers(topic) for topic in self._names}
        bridges = {f'/{bridge.name}' for bridge in self._state.bridges}
        self._state.elsewhere = [
            name
            for name, types in self.node.get_topic_names_and_types()
            if JOINT_STATE in types
            and name not in self._names.values()
            and not bridges.issuperset(self.publishers(name))
        ]

    def _listener(self, topic: str) -> Received:
        def take(message: JointStateRecord, layout: Layout, now: float) -> None:
            arrays = {name: getattr(message, name).tolist() for name in ARRAYS}
            self._state.take(topic, message.names, arrays, now)

        return take


def run(options: argparse.Namespace, console: Console) -> Exit:
    """Run the command."""
    node = options.node.strip('/')
    state = WatchState(node.rpartition('/')[0], node)
    client = WatchClient(state)
    watch = _Watch(state, client.spin_for, console, options.filter)
    try:
        with clean_end(as_interrupt=True):
            if options.once:
                watch.once(options.seconds or _PATIENCE)
            else:
                watch.until(options.seconds, plain=options.plain)
    except KeyboardInterrupt:
        pass  # the usual end
    finally:
        client.close()
    missing = missing_sides(state, time.monotonic())
    for sentence in missing:
        console.err.line(f'transmission_bridge: {printable(sentence)}')
    return Exit.ERRORS if missing else Exit.OK


class _Watch:
    """
    Shows the system.

    :param spin_for: Updates the state from messages for some time [s].
    :param pattern: Which rows are shown.
    """

    def __init__(
        self, state: WatchState, spin_for: Callable[[float], None], console: Console, pattern: str
    ) -> None:
        self._state = state
        self._spin_for = spin_for
        self._console = console
        self._pattern = pattern
        self._start = time.monotonic()
        self._has_said = False

    @property
    def _waited(self) -> float:
        return time.monotonic() - self._start

    def once(self, patience: float) -> None:
        """Print one snapshot when both sides have been heard, or after some time."""
        state = self._state
        while not (state.has_driver and state.has_joint_states) and self._waited < patience:
            self._spin_for(0.05)
            self._say_what_for()
        self._spin_for(_SETTLING)
        if not state.is_empty:
            self._print([])

    def until(self, seconds: float | None, *, plain: bool) -> None:
        """Show the state repeatedly, for some time or until Ctrl-C."""
        with live_screen(self._console, self._pattern) if not plain else nullcontext() as screen:
            while True:
                period = _PLAIN_PERIOD if screen is None else _LIVE_PERIOD
                left = math.inf if seconds is None else seconds - self._waited
                self._spin_for(max(min(period, left), 0.0))
                missing = self._missing()
                if screen is not None:
                    screen.show(self._state, time.monotonic(), missing)
                elif self._waited >= _MEETING or not self._state.is_empty:
                    self._print(missing)
                else:
                    self._say_what_for()
                if left <= period or (screen is not None and screen.pager.is_over):
                    return

    def _missing(self) -> list[str]:
        """Return what is missing, or what is awaited while nodes are being discovered."""
        missing = missing_sides(self._state, time.monotonic())
        is_sure = self._waited >= _MEETING or is_idle(self._state)
        return missing if is_sure or not missing else [waiting_for(self._state)]

    def _say_what_for(self) -> None:
        """Report once what is awaited, if it takes long."""
        if self._state.is_empty and self._waited >= _SILENCE and not self._has_said:
            self._has_said = True
            self._console.err.line(printable(waiting_for(self._state)))
            self._console.err.flush()

    def _print(self, missing: Sequence[str]) -> None:
        lines = plain_lines(self._state, time.monotonic(), missing, self._pattern)
        for line in (*lines, ''):
            self._console.out.line(line)
        self._console.out.flush()
