# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""``transmission_bridge watch``: the running system as a live table."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
import math
import os
import time
from typing import Any

from transmission_bridge.bridge.diagnostics import ERROR, Status, WARN
from transmission_bridge.errors import shortened
from transmission_bridge.tools.bags.model import JOINT_STATE
from transmission_bridge.tools.cli import (
    aligned,
    clean_end,
    Console,
    Exit,
    live_table,
    optional,
    printable,
)
from transmission_bridge.tools.ros_client import ros_module, RosClient
from transmission_bridge.tools.watch_state import (
    ACTIVE,
    ARRAYS,
    Bridge,
    JOINT_STATES,
    Row,
    WatchState,
)

__all__ = ['is_idle', 'live_screen', 'missing_sides', 'plain_lines', 'run', 'waiting_for']

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


def _without_bridge(state: WatchState) -> Iterator[str]:
    others = ', '.join(bridge.name for bridge in state.other_bridges)
    if state.has_driver and state.has_joint_states:
        return
    if state.other_bridges:
        namespace = state.other_bridges[0].namespace
        option = f'--namespace {namespace}' if namespace else 'watch without --namespace'
        yield (
            f'no bridge {_place(state)}, but in another namespace: {others}; {option} shows that '
            'one'
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


#: Seconds without a message after which a row is dimmed.
STALE = 0.5

HEADINGS = ('POS', 'VEL', 'EFF', 'CMD POS', 'CMD VEL', 'CMD EFF', 'AGE [s]', 'CLAMPED')

#: Text of an unknown cell.
NOTHING = '-'

#: Least width of a name and of a number, and the gap between columns.
_NAME, _NUMBER, _GAP = 18, 9, 2

#: Words of levels, as ROS has them.
LEVELS = {WARN: 'WARN', ERROR: 'ERROR'}

_RIGHT = tuple(range(1, len(HEADINGS) + 1))


#: Shows the state at a time, below sentences about what is missing.
Show = Callable[[WatchState, float, Sequence[str]], None]


def plain_lines(state: WatchState, now: float, missing: Sequence[str] = ()) -> list[str]:
    """
    Return lines: what is missing, warnings of diagnostics, the table, and the topics.

    :param missing: Sentences about what is missing.
    """
    rows = state.rows(now)
    lines = [printable(sentence) for sentence in missing]
    lines += [_trouble(each) for each in state.troubles()]
    lines += [''] if lines else []
    for kind in ('actuator', 'joint'):
        chosen = [row for row in rows if row.kind == kind]
        if chosen:
            table = [(kind.upper(), *HEADINGS), *((row.name, *_cells(row)) for row in chosen)]
            lines += [*aligned(table, right=_RIGHT), '']
    return lines + [_topic(state, topic, now) for topic in state.topics]


@contextmanager
def live_screen(console: Console) -> Iterator[Show | None]:
    """Give a function that shows the state in place, ``None`` where there is no live table."""
    with live_table(console) as live:
        yield live and (
            lambda state, now, missing: live.update(
                _rich_view(state, now, missing, live.console.width), refresh=True
            )
        )


def _rich_view(state: WatchState, now: float, missing: Sequence[str], width: int) -> Any:
    rich_table, rich_text = optional('rich.table', 'cli'), optional('rich.text', 'cli')
    group = optional('rich.console', 'cli').Group
    rows = state.rows(now)
    # At the top, because the screen is cut off at the bottom.
    parts: list[Any] = [
        rich_text.Text(printable(sentence), style='bold red') for sentence in missing
    ]
    for trouble in state.troubles():
        style = 'red' if trouble.level >= ERROR else 'yellow'
        parts.append(rich_text.Text(_trouble(trouble), style=style))
    parts += [''] if parts else []
    for kind in ('actuator', 'joint'):
        chosen = [(row, _cells(row)) for row in rows if row.kind == kind]
        if not chosen:
            continue
        table = rich_table.Table(box=None, pad_edge=False, padding=(0, _GAP, 0, 0))
        table.add_column(kind.upper(), no_wrap=True, min_width=_NAME)
        shown = _shown_columns([cells for _, cells in chosen], width)
        for place in shown:
            # As Text: a unit in brackets would be read as a style.
            heading = rich_text.Text(HEADINGS[place])
            table.add_column(heading, justify='right', no_wrap=True, min_width=_NUMBER)
        for row, cells in chosen:
            name = rich_text.Text(printable(row.name), style='bold')
            texts = [rich_text.Text(cells[place]) for place in shown]
            if row.clamped:
                texts[-1].stylize('yellow')
            stale = row.age is None or row.age > STALE
            table.add_row(name, *texts, style='dim' if stale else None)
        parts += [table, '']
    parts += [rich_text.Text(_topic(state, topic, now), style='dim') for topic in state.topics]
    parts.append(rich_text.Text('Ctrl-C ends', style='dim'))
    return group(*parts)


def _shown_columns(rows: Sequence[Sequence[str]], width: int) -> list[int]:
    """Return all columns, or on a narrow screen those with known values."""
    places = range(len(HEADINGS))
    if width >= _NAME + len(HEADINGS) * (_GAP + _NUMBER):
        return list(places)
    return [place for place in places if any(cells[place] != NOTHING for cells in rows)]


def _trouble(status: Status) -> str:
    level = LEVELS.get(status.level, 'STALE')
    return f'{level} {printable(status.name)}: {printable(status.message)}'


def _cells(row: Row) -> tuple[str, ...]:
    numbers = (*row.state, *row.command)
    age = NOTHING if row.age is None else f'{row.age:.2f}'
    return (*map(_number, numbers), age, str(row.clamped) if row.clamped else NOTHING)


def _number(value: float | None) -> str:
    return NOTHING if value is None else f'{value:.4f}'


def _topic(state: WatchState, topic: str, now: float) -> str:
    age = state.age(topic, now)
    if age is None:
        return f'{topic}: never heard'
    return f'{topic}: {state.rate(topic, now):.0f} Hz, {age:.2f} s ago'


#: Seconds between updates on a terminal, and between snapshots elsewhere.
_LIVE_PERIOD, _PLAIN_PERIOD = 0.2, 1.0

#: Seconds that --once waits for states of both sides, and then for everything else.
_PATIENCE, _SETTLING = 5.0, 1.2

#: Seconds until every running node has been heard: discovery takes time, and diagnostics come once
#: a second.
_MEETING = 3.0

#: Seconds of silence after which a note says what is awaited.
_SILENCE = 2.0


#: Queue depth of a topic.
_DEPTH = 50


class WatchClient(RosClient):
    """
    Fills a :class:`WatchState`.

    :raises UsageError: If rclpy is not installed, ROS cannot be used, or the namespace is invalid.
    """

    def __init__(self, state: WatchState) -> None:
        super().__init__('transmission_bridge_watch', state.namespace)
        self._state = state
        qos = ros_module('rclpy.qos')
        # Best effort is compatible with every publisher.
        self._profile = qos.QoSProfile(depth=_DEPTH, reliability=qos.ReliabilityPolicy.BEST_EFFORT)
        self._message_type = ros_module('sensor_msgs.msg').JointState
        self._topics: dict[str, str] = {}
        self._follow()
        self.node.create_subscription(
            ros_module('diagnostic_msgs.msg').DiagnosticArray,
            '/diagnostics',
            self._diagnosed,
            self._profile,
        )

    def spin_for(self, seconds: float) -> None:
        """Handle callbacks for some time, then subscribe to new topics."""
        super().spin_for(seconds)
        self._follow()

    def _follow(self) -> None:
        """Subscribe to the topics of the bridge, and find their publishers."""
        for topic in self._state.topics:
            if topic not in self._topics:
                self._topics[topic] = self.node.resolve_topic_name(topic)
                self.node.create_subscription(
                    self._message_type, topic, self._listener(topic), self._profile
                )
        self._state.publishers = {topic: self._publishers(topic) for topic in self._topics}
        bridges = {f'/{bridge.name}' for bridge in self._state.bridges}
        self._state.elsewhere = [
            name
            for name, types in self.node.get_topic_names_and_types()
            if JOINT_STATE in types
            and name not in self._topics.values()
            and not bridges.issuperset(self._publishers(name))
        ]

    def _publishers(self, topic: str) -> list[str]:
        return [
            f'{peer.node_namespace.rstrip("/")}/{peer.node_name}'
            for peer in self.node.get_publishers_info_by_topic(topic)
        ]

    def _listener(self, topic: str) -> Callable[[Any], None]:
        def take(message: Any) -> None:
            arrays = {name: getattr(message, name) for name in ARRAYS}
            self._state.take(topic, message.name, arrays, time.monotonic())

        return take

    def _diagnosed(self, message: Any) -> None:
        statuses = (
            Status(
                status.name,
                status.level[0] if isinstance(status.level, bytes) else int(status.level),
                status.message,
                tuple((value.key, value.value) for value in status.values),
            )
            for status in message.status
        )
        self._state.take_diagnostics(statuses, time.monotonic())


def run(options: argparse.Namespace, console: Console) -> Exit:
    """Run the command."""
    state = WatchState(options.namespace)
    client = WatchClient(state)
    watch = _Watch(state, client.spin_for, console)
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
    """

    def __init__(
        self, state: WatchState, spin_for: Callable[[float], None], console: Console
    ) -> None:
        self._state = state
        self._spin_for = spin_for
        self._console = console
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
        with live_screen(self._console) if not plain else nullcontext() as show:
            while True:
                period = _PLAIN_PERIOD if show is None else _LIVE_PERIOD
                left = math.inf if seconds is None else seconds - self._waited
                self._spin_for(max(min(period, left), 0.0))
                missing = self._missing()
                if show is not None:
                    show(self._state, time.monotonic(), missing)
                elif self._waited >= _MEETING or not self._state.is_empty:
                    self._print(missing)
                else:
                    self._say_what_for()
                if left <= period:
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
        for line in (*plain_lines(self._state, time.monotonic(), missing), ''):
            self._console.out.line(line)
        self._console.out.flush()
