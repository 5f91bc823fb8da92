# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""The linkages of the documents: what is said of them, and the ankle by its own type."""

from __future__ import annotations

import re

import numpy as np
import pytest

from transmission_bridge import load_description, RobotTransmissions
from transmission_bridge.transmissions import Transmission
from transmission_bridge.transmissions.interfaces import (
    ACTUATOR_TO_JOINT,
    DIRECTIONS,
    JOINT_TO_ACTUATOR,
)
from transmission_bridge.transmissions.parallel_ankle import AnkleLeg, ParallelAnkleTransmission

NAMES = ('four_bar_knee', 'five_bar', 'push_rod_ankle')


def transmission(text: str, passive_joints: str = 'none') -> Transmission:
    """Return the linkage of a URDF, of which nothing is found to be odd."""
    robot = RobotTransmissions(load_description(text, strict=True), passive_joints=passive_joints)
    assert list(map(str, robot.findings)) == []
    (linkage,) = robot.transmissions.values()
    return linkage


@pytest.mark.parametrize('name', NAMES)
def test_a_worked_linkage_loads_and_is_closed(linkages: dict[str, str], name: str) -> None:
    """Nothing is odd, and no joint is idle."""
    facts = '\n'.join(transmission(linkages[name], 'all').facts())
    assert 'of which 0 idle' in facts


def test_a_range_away_from_zero_has_its_start_within(linkages: dict[str, str]) -> None:
    """Motors are moved from zero where no assembly with them there is within the limits."""
    text = linkages['push_rod_ankle'].replace(
        'lower="-0.9" upper="0.6"', 'lower="0.3" upper="0.6"'
    )
    assert transmission(text).doubts() == ()


@pytest.mark.parametrize('name', ['four_bar_knee', 'five_bar'])
def test_limits_that_allow_two_assemblies_ask_for_a_start(
    linkages: dict[str, str], name: str
) -> None:
    """The warning names a joint that is elsewhere in the other one; its start is the answer."""
    text = linkages[name].replace('<start joint="knee" position="0"/>', '')
    for limit in (
        'lower="-0.9" upper="0.9"',
        'lower="-0.7" upper="0.7"',
        'lower="-2.0" upper="2.0"',
    ):
        text = text.replace(limit, 'lower="-3.1" upper="3.1"')
    robot = RobotTransmissions(load_description(text))
    (finding,) = robot.findings
    assert finding.severity == 'warning'
    found = re.search(r"another assembly within the limits has '(\w+)' at", finding.message)
    assert found is not None
    start = f'<start joint="{found[1]}" position="0.0"/>'
    text = text.replace('</transmission>', start + '</transmission>')
    assert RobotTransmissions(load_description(text)).findings == ()


def test_a_forgotten_motor_leaves_a_warning(linkages: dict[str, str]) -> None:
    """The joint that it would move is idle, and hardware commands it."""
    motor = linkages['five_bar'].index('<actuator name="knee_motor"')
    end = linkages['five_bar'].index('</actuator>', motor) + len('</actuator>')
    text = linkages['five_bar'][:motor] + linkages['five_bar'][end:]
    text = text.replace('<joint name="knee" role="joint2"/>', '')
    robot = RobotTransmissions(load_description(text))
    (finding,) = robot.findings
    assert finding.severity == 'warning'
    assert 'do not determine joints that the hardware commands: knee; check' in finding.message


@pytest.mark.parametrize('name', NAMES)
def test_beyond_dead_centres_nothing_is_answered_that_does_not_come_back(
    linkages: dict[str, str], name: str
) -> None:
    """Two motors that are both beyond theirs leave the determinant of all the same sign."""
    linkage = transmission(
        linkages[name].replace('<loop', '<param name="max_gain">1e6</param><loop', 1)
    )
    domain = linkage.domain
    actuators = np.random.default_rng(0).uniform(
        domain.lower, domain.upper, (300, linkage.n_actuators)
    )
    joints = linkage.map(ACTUATOR_TO_JOINT, 'position', actuators)
    answered = np.isfinite(joints).all(axis=1)
    assert answered.sum() > 50
    back = linkage.map(JOINT_TO_ACTUATOR, 'position', joints[answered])
    assert np.allclose(back, actuators[answered], rtol=0.0, atol=1e-7)


LOOP = '<loop type="hinge" frame1="rod_tip" frame2="shin_pin" axis="0 1 0"/>'


@pytest.mark.parametrize(
    ('before', 'after', 'words'),
    [
        ('frame2="shin_pin"', 'frame2="shinpin"', "(closest: 'shin', 'shin_pin')"),
        ('frame2="shin_pin"', 'frame2="shin_lever"', "its child link 'shin_pin'"),
        ('axis="0 1 0"/>\n    </t', 'axis="1 0 0"/>\n    </t', 'a wrong axis'),
        (
            LOOP,
            '<loop type="weld" frame1="rod_tip" frame2="shin_pin"/>',
            'block the driven joints hip, knee_crank',
        ),
        ('axis="0 1 0"/>\n    </t', 'length="0.3"/>\n    </t', 'expected no length'),
        ('>knee_crank</param>', '>knee_krank</param>', "(closest: 'knee_crank')"),
        ('<param name="joint">knee_crank</param>', '', '<param name="joint"> in its actuator'),
        ('>knee_crank</param>', '>rod_end</param>', "joint 'rod_end' is fixed"),
        ('>hip</param>', '>knee_crank</param>', 'driven by two actuators'),
        (
            '<joint name="knee" type="revolute">',
            '<joint name="knee" type="revolute"><mimic joint="hip"/>',
            "commanded joint 'knee' mimics 'hip'",
        ),
        (LOOP, '', "commanded joint 'knee' is in no loop"),
        (LOOP, LOOP + '<start joint="nee" position="0"/>', "(closest: 'knee'"),
        (LOOP, LOOP + '<start joint="knee" position="9deg"/>', 'position of <start> (line'),
        ('xyz="0 0 -0.38"', 'xyz="0 0 -3.8"', "loop hinge 'rod_tip' - 'shin_pin' stays open"),
    ],
)
def test_a_mistake_is_said_with_what_to_try(
    linkages: dict[str, str], before: str, after: str, words: str
) -> None:
    """One error, which names the loop or the joint, and nothing is bridged in its place."""
    text = linkages['five_bar']
    assert before in text
    robot = RobotTransmissions(load_description(text.replace(before, after)))
    (error,) = (str(each) for each in robot.findings if each.severity == 'error')
    assert words in error
    assert {'hip', 'knee', 'knee_crank'}.isdisjoint(robot.joint_names)


@pytest.fixture(scope='module')
def ankle() -> ParallelAnkleTransmission:
    """Return the ankle of the section about this type, whose numbers the linkage has."""
    legs = [
        AnkleLeg(motor=(0.0, y, z), crank=0.05, rod=z, foot=(0.05, y, 0.0))
        for y, z in ((0.05, 0.24), (-0.05, 0.15))
    ]
    return ParallelAnkleTransmission(
        (legs[0], legs[1]), lower=(-0.9, -0.4), upper=(0.6, 0.4), actuator_reduction=(15.0, 15.0)
    )


@pytest.mark.parametrize('interface', ['position', 'velocity', 'acceleration', 'effort'])
@pytest.mark.parametrize('direction', DIRECTIONS)
def test_the_push_rod_ankle_is_the_parallel_ankle(
    linkages: dict[str, str],
    ankle: ParallelAnkleTransmission,
    direction: str,
    interface: str,
) -> None:
    """Joints of a URDF and an equation of its own agree all over their ranges."""
    linkage = transmission(linkages['push_rod_ankle'])
    random = np.random.default_rng(0)
    at = joints = random.uniform((-0.9, -0.4), (0.6, 0.4), (2_010, 2))
    if direction != JOINT_TO_ACTUATOR:
        at = ankle.joint_to_actuator('position', joints)
    values, rate = random.normal(size=(2, *at.shape))
    if interface == 'position':
        values = at
    expected, found = (
        each.map(direction, interface, values, at=at, rate=rate)  # type: ignore[arg-type]
        for each in (ankle, linkage)
    )
    known = np.isfinite(expected).all(axis=1)
    assert known.sum() >= 2_000
    assert np.array_equal(np.isfinite(found).all(axis=1), known)  # beyond the reach of a rod
    scale = np.maximum(1.0, np.abs(expected[known]).max(axis=1, keepdims=True))
    assert (np.abs(found - expected)[known] / scale).max() < 1e-9
