# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Which side is missing, the driver or the bridge, in words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
import os

from transmission_bridge.errors import shortened
from transmission_bridge.tools.watch_state import ACTIVE, Bridge, JOINT_STATES, WatchState

__all__ = ['is_idle', 'missing_sides', 'waiting_for']

#: What brings a bridge to work, by the state of life that it is in.
_REMEDIES = {
    'unconfigured': "'ros2 lifecycle set {name} configure', then '... activate' start it; with "
    'the parameter autostart it starts by itself',
    'inactive': "'ros2 lifecycle set {name} activate' starts it",
    'finalized': 'it has been shut down; start it again',
}


def waiting_for(state: WatchState) -> str:
    """Return what is waited for, in words."""
    topics = ', '.join([*state.driver_topics, JOINT_STATES])
    return f'waiting for {topics} and diagnostics of a bridge {_place(state)}'


def is_idle(state: WatchState) -> bool:
    """Whether there are bridges, and none of them is active."""
    return bool(state.bridges) and all(each.state != ACTIVE for each in state.bridges)


def missing_sides(state: WatchState, now: float) -> list[str]:
    """Return a sentence for each side that is not there or does not work, and what to do."""
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
