# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
Scenarios as data: what happens to a bridge, and what the drivers and listeners are sent.

One table, three runners: ``test/bridge/test_scenarios.py`` runs all without a node,
``test/ros/test_scenarios.py`` those with ``nodes`` by a node in the test's own process, and those
with ``processes`` by a process over DDS.

Numbers are given by mode and name: ``{'velocity': {'m0': 1.0}}``; what goes to a plain array is a
list by its topic: ``{'actuator_velocity_commands': [1.0, 0.0]}``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from zoo.elements import NARROW, numbered, pair, simple, WRIST

#: Numbers by mode and name, and lists by topic.
Sent = Mapping[str, Any]

MODES = ('position', 'velocity', 'effort')

#: How often a bridge looks whether a command has ended, if no node says otherwise [s].
TICK = 0.125


@dataclass(frozen=True)
class State:
    """A driver gives numbers of its actuators; ``joints``: what is published, if compared."""

    actuators: Sent
    joints: Sent | None = None
    topic: str = 'actuator_states'


@dataclass(frozen=True)
class Command:
    """A controller commands joints; ``sent``: to the actuators, or why it is rejected."""

    joints: Sent
    sent: Sent | str
    topic: str = 'joint_commands'


@dataclass(frozen=True)
class Wait:
    """Time passes [s]; ``sent``: what the bridge sends by itself."""

    seconds: float
    sent: Sent = field(default_factory=dict)


@dataclass(frozen=True)
class Tune:
    """Parameters below ``transmissions.`` are set; ``refused``: a pattern of the refusal."""

    values: Mapping[str, float]
    refused: str = ''


@dataclass(frozen=True)
class Deactivate:
    """The node is deactivated and activated again."""

    sent: Sent


Step = State | Command | Wait | Tune | Deactivate


@dataclass(frozen=True)
class Scenario:
    """
    What happens, step by step.

    :param says: The behaviour in one sentence.
    :param robot: The description.
    :param options: Parameters of the bridge.
    :param runners: ``nodes``: also by a node; ``processes``: by a node, and over DDS.
    """

    name: str
    says: str
    robot: str
    steps: Sequence[Step]
    options: Mapping[str, Any] = field(default_factory=dict)
    runners: str = ''


# fmt: off
SCENARIOS = (
    Scenario(
        'a wrist is mapped both ways',
        'States and commands follow j0 = (m0 + m1) / 2, j1 = (m0 - m1) / 2; efforts keep power.',
        numbered(WRIST), (
            State({'position': {'m0': 0.5, 'm1': 0.25}, 'velocity': {'m0': 1.0, 'm1': 3.0}},
                  {'position': {'j0': 0.375, 'j1': 0.125}, 'velocity': {'j0': 2.0, 'j1': -1.0}}),
            Command({'position': {'j0': 0.5, 'j1': 0.25}}, {'position': {'m0': 0.75, 'm1': 0.25}}),
            Command({'effort': {'j0': 3.0, 'j1': 1.0}}, {'effort': {'m0': 2.0, 'm1': 1.0}}),
        ),
        runners='processes',
    ),
    Scenario(
        'a velocity ends',
        'A velocity without a new command becomes zero after command_timeout, once.',
        pair(), (
            Command({'velocity': {'j0': 1.0}}, {'velocity': {'m0': 1.0}}),
            Wait(0.5),
            Wait(TICK, {'velocity': {'m0': 0.0}}),
            Wait(5.0),
        ),
        runners='processes',
    ),
    Scenario(
        'half a wrist',
        'A joint that a command leaves out holds its measured position, if that is known.',
        numbered(WRIST), (
            Command({'position': {'j0': 0.1}}, 'partial'),
            State({'position': {'m0': 0.5, 'm1': 0.25}}),
            Command({'position': {'j0': 0.5}}, {'position': {'m0': 0.625, 'm1': 0.375}}),
        ),
        runners='processes',
    ),
    Scenario(
        'what ends a velocity is an array too',
        'Zero for the member that ends, the active velocity of each other, zero for the rest.',
        pair(), (
            Command({'velocity': {'j0': 1.0}}, {'velocity': {'m0': 1.0}}),
            Command({'position': {'j1': 0.5}}, {'position': {'m1': 0.5}}),
            Wait(0.75, {'velocity': {'m0': 0.0}, 'actuator_velocity_commands': [0.0, 0.0]}),
        ),
        {'command_actuators': ('m0', 'm1')},
        runners='nodes',
    ),
    Scenario(
        'deactivation',
        'Leaving the active state ends what was commanded a rate, and forgets every command.',
        numbered(WRIST + simple(2), NARROW, count=3), (
            State({'position': {'m0': 0.0, 'm1': 0.0, 'm2': 0.0}}),
            Command({'velocity': {'j2': 1.0}}, {'velocity': {'m2': 1.0}}),
            Deactivate({'velocity': {'m2': 0.0}}),
            Command({'position': {'j0': 0.1}}, 'partial'),
        ),
        runners='nodes',
    ),

    # -- of the node: tuning while joints are commanded -------------------------------------------
    Scenario(
        'tuning under load',
        'A change that reverses a commanded joint is refused until its command is forgotten.',
        pair('<limit velocity="20" effort="10"/>'), (
            Command({'effort': {'j1': 80.0}}, {'effort': {'m1': 10.0}}),
            Command({'velocity': {'j1': 1.0}}, {'velocity': {'m1': 1.0}}),
            Tune({'t1.joints.j1.mechanical_reduction': -1.0}, 'would move in the opposite'),
            Tune({'t1.joints.j1.mechanical_reduction': 1.5}),
            Deactivate({'velocity': {'m1': 0.0}}),
            Tune({'t1.joints.j1.mechanical_reduction': -1.0}),
            Command({'velocity': {'j1': 1.0}}, {'velocity': {'m1': -1.0}}),
        ),
        {'command_timeout': 0.0},
        runners='nodes',
    ),
    Scenario(
        'a motor drops out',
        'After a gap in the readings of its motor a joint is held where it is measured.',
        numbered(WRIST), (
            State({'position': {'m0': 1.0, 'm1': 0.0}}),
            Command({'position': {'j0': 0.5, 'j1': 0.5}}, {'position': {'m0': 1.0, 'm1': 0.0}}),
            Wait(0.75),
            State({'position': {'m0': 1.0}}),
            Wait(0.75),
            State({'position': {'m0': -1.5, 'm1': 2.5}}),
            Command({'position': {'j0': 0.5}}, {'position': {'m0': -1.5, 'm1': 2.5}}),
        ),
        {'state_timeout': 1.0},
        runners='processes',
    ),
    Scenario(
        'an effort of ten minutes ago',
        'A driver that was off is not sent the effort of a partner again.',
        numbered(WRIST), (
            State({'position': {'m0': 0.0, 'm1': 0.0}}),
            Command({'effort': {'j0': 0.0, 'j1': 8.0}}, {'effort': {'m0': 4.0, 'm1': -4.0}}),
            Wait(600.0),
            State({'position': {'m0': 0.0, 'm1': 0.0}}),
            Command({'effort': {'j0': 0.1}}, 'partial'),
        ),
        {'state_timeout': 1.0},
        runners='processes',
    ),
)
# fmt: on
