# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Where the links of a robot are."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
import numpy as np
import pytest
from zoo.elements import chain

from transmission_bridge.description import load_description
from transmission_bridge.kinematics import JointDevice
from transmission_bridge.tools.tune import pose
from transmission_bridge.tools.tune.pose import LinkPoses

TREE = """<robot name="tree">
  <link name="root"/><link name="a"/><link name="b"/><link name="c"/><link name="d"/>
  <joint name="turns" type="revolute">
    <parent link="root"/><child link="a"/><origin xyz="0.1 0 0.2" rpy="0.3 -0.2 0.5"/>
    <axis xyz="1 2 -1"/><limit lower="-1" upper="1" velocity="1" effort="1"/>
  </joint>
  <joint name="slides" type="prismatic">
    <parent link="a"/><child link="b"/><origin xyz="0 0.3 0" rpy="0 1.2 0"/>
    <axis xyz="0 0 -1"/><limit lower="-1" upper="1" velocity="1" effort="1"/>
  </joint>
  <joint name="follows" type="continuous">
    <parent link="a"/><child link="c"/><origin xyz="0 0 0.4"/><axis xyz="0 1 0"/>
    <mimic joint="slides" multiplier="-2.5" offset="0.3"/>
  </joint>
  <joint name="fixed" type="fixed"><parent link="c"/><child link="d"/><origin xyz="1 0 0"/></joint>
</robot>"""

ANGLES = st.floats(-7.0, 7.0)


@given(ANGLES, ANGLES)
def test_links_are_where_the_joint_device_has_them(turn, slide):
    """All types of joints, mimics included, as the kinematics of the package."""
    robot = load_description(TREE)
    poses = LinkPoses(robot)
    assert poses.joints == ('turns', 'slides')
    found, unknown = poses({'turns': turn, 'slides': slide})
    device = JointDevice.from_description(robot, base='root', end='d', joints=['turns', 'slides'])
    assert not unknown.any()
    for link, place in zip(poses.links, found, strict=True):
        np.testing.assert_allclose(place, device.base_t_frame(link, [turn, slide]), atol=1e-12)


def test_what_is_behind_a_joint_of_unknown_position_is_unknown():
    """Drawn as if it were at zero, and said to be unknown; what is beside it is not."""
    poses = LinkPoses(load_description(TREE))
    for given_ in ({'turns': 0.5}, {'turns': 0.5, 'slides': np.nan}):
        found, unknown = poses(given_)
        at_zero, _ = poses({'turns': 0.5, 'slides': 0.0})
        np.testing.assert_array_equal(found, at_zero)
        # The joint that follows has no position either.
        assert {link for link, is_not in zip(poses.links, unknown, strict=True) if is_not} == {
            'b', 'c', 'd',
        }  # fmt: skip


def test_a_robot_of_very_many_joints_is_drawn_in_part(monkeypatch):
    """And says how much is left out."""
    monkeypatch.setattr(pose, 'MOST_LINKS', 5)
    poses = LinkPoses(
        load_description(chain({}, **dict.fromkeys('abcdefgh', 'continuous 0 0 1 1')))
    )
    assert (len(poses.links), poses.n_left_out) == (5, 4)
    found, _ = poses(dict.fromkeys(poses.joints, 0.0))
    assert found.shape == (5, 4, 4)


LOOP = '<joint name="x" type="fixed"><parent link="d"/><child link="root"/></joint></robot>'


@pytest.mark.parametrize(
    'text',
    [
        TREE.replace('</robot>', LOOP),
        '<robot name="empty"/>',
        TREE.replace('joint="slides"', 'joint="follows"'),
        TREE.replace('<child link="d"/>', '<child link="b"/>'),
        TREE.replace('type="continuous"', 'type="floating"'),
    ],
)
def test_what_is_no_tree_is_drawn_as_far_as_it_is_one(text):
    """Loops, several parents, mimics of themselves: nothing raises, and all numbers are finite."""
    poses = LinkPoses(load_description(text))
    found, _ = poses({})
    assert found.shape == (len(poses.links), 4, 4)
    assert np.isfinite(found).all()
