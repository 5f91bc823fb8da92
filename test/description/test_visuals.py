# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""The looks of links."""

from __future__ import annotations

from transmission_bridge.description.specs import Pose
from transmission_bridge.description.visuals import load_visuals, VisualSpec


def link(visual: str) -> str:
    """Return a robot with one link."""
    return f'<robot name="r"><link name="a">{visual}</link></robot>'


def test_every_shape_is_read():
    """With origin, size, file and colour."""
    visuals = load_visuals(
        link(
            '<visual><origin xyz="1 2 3" rpy="0.1 0.2 0.3"/>'
            '<geometry><mesh filename="package://p/m.stl" scale="1 1 -1"/></geometry>'
            '<material name="m"><color rgba="0.1 0.2 0.3 1.5"/></material></visual>'
            '<visual><geometry><box size="1 2 3"/></geometry></visual>'
            '<visual><geometry><cylinder radius="1" length="2"/></geometry></visual>'
            '<visual><geometry><sphere radius="1"/></geometry></visual>'
        )
    )
    assert visuals == (
        VisualSpec(
            'a',
            'mesh',
            Pose((1.0, 2.0, 3.0), (0.1, 0.2, 0.3)),
            (1.0, 1.0, -1.0),
            'package://p/m.stl',
            (0.1, 0.2, 0.3, 1.0),
        ),
        VisualSpec('a', 'box', Pose(), (1.0, 2.0, 3.0)),
        VisualSpec('a', 'cylinder', Pose(), (1.0, 2.0)),
        VisualSpec('a', 'sphere', Pose(), (1.0,)),
    )


def test_a_material_may_be_named_elsewhere():
    """Those of the robot are known to all links."""
    text = link(
        '<visual><geometry><box size="1 1 1"/></geometry><material name="m"/></visual>'
    ).replace('<link', '<material name="m"><color rgba="1 0 0 1"/></material><link')
    assert load_visuals(text)[0].color == (1.0, 0.0, 0.0, 1.0)


def test_a_material_may_be_named_in_another_link():
    """As urdfdom has it, wherever that link stands; what the robot says itself comes first."""
    box = '<geometry><box size="1 1 1"/></geometry>'
    named = f'<visual>{box}<material name="m"/></visual>'
    text = link(named).replace(
        '</robot>',
        f'<link name="b"><visual>{box}<material name="m"><color rgba="0 1 0 1"/></material>'
        '</visual></link></robot>',
    )
    assert [each.color for each in load_visuals(text)] == [(0.0, 1.0, 0.0, 1.0)] * 2
    above = text.replace('<link', '<material name="m"><color rgba="1 0 0 1"/></material><link', 1)
    assert load_visuals(above)[0].color == (1.0, 0.0, 0.0, 1.0)


def test_what_cannot_be_read_is_left_out():
    """The link is then one without geometry; its others stay."""
    bad = (
        '<visual/>',
        '<visual><geometry/></visual>',
        '<visual><geometry><box/></geometry></visual>',
        '<visual><geometry><box size="1 2"/></geometry></visual>',
        '<visual><geometry><cylinder radius="1"/></geometry></visual>',
        '<visual><geometry><mesh scale="1 1 1"/></geometry></visual>',
        '<visual><origin xyz="x"/><geometry><box size="1 2 3"/></geometry></visual>',
        '<visual><geometry><cone/></geometry></visual>',
    )
    good = '<visual><geometry><box size="1 1 1"/></geometry></visual>'
    assert len(load_visuals(link(''.join(bad) + good))) == 1
    odd = good.replace('</visual>', '<material><color rgba="1 x 0 1"/></material></visual>')
    assert load_visuals(link(odd))[0].color is None
    assert load_visuals('<sdf><model name="m"/></sdf>') == ()
