# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Offsets from calibration marks and absolute encoders."""

from __future__ import annotations

import numpy as np
import pytest

from transmission_bridge.bridge.homing import (
    find_absolute_targets,
    find_calibration_offsets,
    find_double_offsets,
)
from transmission_bridge.description import load_description
from transmission_bridge.errors import MessageError
from transmission_bridge.transmissions import RobotTransmissions

JOINT = """
  <joint name="{name}" type="revolute"><parent link="base"/><child link="{name}_link"/>
    <limit lower="-3" upper="3" velocity="1" effort="1"/>{mark}</joint>
  <link name="{name}_link"/>"""
TRANSMISSION = """
    <transmission name="{name}_gear">
      <plugin>transmission_interface/SimpleTransmission</plugin>
      <actuator name="{name}_motor" role="actuator1"/>
      <joint name="{name}" role="joint1"><mechanical_reduction>10</mechanical_reduction>{offset}
      </joint>
    </transmission>"""


def robot(**joints):
    """Return a robot of these joints: mark, offset, and whether the encoder is the joint's."""
    urdf = '<robot name="r"><link name="base"/>'
    for name, (mark, _, _) in joints.items():
        rising = '' if mark is None else f'<calibration rising="{mark}"/>'
        urdf += JOINT.format(name=name, mark=rising)
    urdf += '<ros2_control name="h" type="system">'
    urdf += ''.join(f'<joint name="{name}"/>' for name in joints)
    for name, (_, offset, _) in joints.items():
        if offset is not None:
            text = f'<offset>{offset}</offset>' if offset else ''
            urdf += TRANSMISSION.format(name=name, offset=text)
    whole = RobotTransmissions(load_description(urdf + '</ros2_control></robot>'))
    own = [name for name, (_, _, is_own) in joints.items() if is_own]
    return whole.with_parameters({f'{name}_gear.ignore_absolute_encoder': True for name in own})


def test_mark_is_the_offset_where_there_is_none():
    """The joint is at its mark while its motor reads zero; an offset of its own counts alone."""
    mapped = robot(a=(0.3, 0.0, False), b=(0.4, 0.25, False), c=(None, 0.0, False))
    offsets, findings = find_calibration_offsets(mapped)
    tuned = mapped.with_parameters(offsets)
    assert tuned.actuator_to_joint('position', np.zeros(3)) == pytest.approx([0.3, 0.25, 0.0])
    (finding,) = findings
    assert finding == find_double_offsets(mapped)[0]
    assert (finding.severity, finding.subject) == ('warning', 'b')
    assert 'rising="0.4"' in finding.text
    assert '0.25' in finding.text
    assert finding.line


def test_mark_of_a_joint_without_an_offset_is_said():
    """A joint that passes through has none."""
    offsets, (finding,) = find_calibration_offsets(robot(a=(0.3, None, False)))
    assert offsets == {}
    assert "of 'a' is not used" in finding.text


def test_joints_with_an_encoder_of_their_own():
    """By default those that have one and a reading, else those that are named."""
    mapped = robot(a=(None, 0.5, True), b=(None, 0.5, False), c=(None, 0.5, True))
    absolute = np.array([0.1, 0.2, np.nan])
    assert find_absolute_targets(mapped, (), absolute) == {'a': 0.1}
    assert find_absolute_targets(mapped, ('a',), absolute) == {'a': 0.1}


@pytest.mark.parametrize(
    ('names', 'reason'), [(('b',), 'mapped_absolute'), (('a', 'c'), 'no_absolute')]
)
def test_joint_that_cannot_have_its_absolute_position(names, reason):
    """A joint with an encoder mapped with the same offset, and a joint without a reading."""
    mapped = robot(a=(None, 0.5, True), b=(None, 0.5, False), c=(None, 0.5, True))
    with pytest.raises(MessageError) as caught:
        find_absolute_targets(mapped, names, np.array([0.1, 0.2, np.nan]))
    assert caught.value.reason == reason


def test_no_absolute_position_at_all():
    """It is rejected instead of changing no joint."""
    with pytest.raises(MessageError) as caught:
        find_absolute_targets(robot(a=(None, 0.5, False)), (), np.array([0.1]))
    assert caught.value.reason == 'no_absolute'
