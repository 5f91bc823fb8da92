# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""The looks of links."""

from __future__ import annotations

from transmission_bridge.description.specs import Pose
from transmission_bridge.description.visuals import load_visuals, VisualSpec

BOX = '<geometry><box size="1 2 3"/></geometry>'
RED = '<material name="m"><color rgba="1 0 0 1"/></material>'
GREEN = '<material name="m"><color rgba="0 1 0 1"/></material>'


def link(*visuals, name='a'):
    """Return a link."""
    return f'<link name="{name}">' + ''.join(f'<visual>{e}</visual>' for e in visuals) + '</link>'


def load(*parts):
    """Return the looks of a robot."""
    return load_visuals('<robot name="r">' + ''.join(parts) + '</robot>')


def test_every_shape_is_read():
    """With origin, size, file and colour."""
    visuals = load(
        link(
            '<origin xyz="1 2 3" rpy="0.1 0.2 0.3"/>'
            '<geometry><mesh filename="package://p/m.stl" scale="1 1 -1"/></geometry>'
            '<material name="m"><color rgba="0.1 0.2 0.3 1.5"/></material>',
            BOX,
            '<geometry><cylinder radius="1" length="2"/></geometry>',
            '<geometry><sphere radius="1"/></geometry>',
        )
    )
    pose, color = Pose((1.0, 2.0, 3.0), (0.1, 0.2, 0.3)), (0.1, 0.2, 0.3, 1.0)
    assert visuals == (
        VisualSpec('a', 'mesh', pose, (1.0, 1.0, -1.0), 'package://p/m.stl', color),
        VisualSpec('a', 'box', Pose(), (1.0, 2.0, 3.0)),
        VisualSpec('a', 'cylinder', Pose(), (1.0, 2.0)),
        VisualSpec('a', 'sphere', Pose(), (1.0,)),
    )


def test_a_material_may_be_named_elsewhere():
    """As urdfdom has it, in any link; what the robot says itself comes first."""
    named, there = link(f'{BOX}<material name="m"/>'), link(f'{BOX}{GREEN}', name='b')
    assert load(RED, named)[0].color == (1.0, 0.0, 0.0, 1.0)
    assert [each.color for each in load(named, there)] == [(0.0, 1.0, 0.0, 1.0)] * 2
    assert load(RED, named, there)[0].color == (1.0, 0.0, 0.0, 1.0)


def test_what_cannot_be_read_is_left_out():
    """The link is then one without geometry; its others stay."""
    bad = [
        '',
        '<geometry/>',
        '<geometry><box/></geometry>',
        '<geometry><box size="1 2"/></geometry>',
        '<geometry><cylinder radius="1"/></geometry>',
        '<geometry><mesh scale="1 1 1"/></geometry>',
        '<geometry><cone/></geometry>',
        f'<origin xyz="x"/>{BOX}',
    ]
    assert len(load(link(*bad, BOX))) == 1
    assert load(link(f'{BOX}<material><color rgba="1 x 0 1"/></material>'))[0].color is None
    assert load_visuals('<sdf><model name="m"/></sdf>') == ()
