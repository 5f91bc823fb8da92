# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""The tables of iDynTree's and RobWork's names."""

from __future__ import annotations

from pathlib import Path
import re

import pytest

from transmission_bridge.kinematics import Joint, JointDevice

TEXT = (Path(__file__).parents[2] / 'docs' / 'kinematics.md').read_text(encoding='utf-8')


def rows(heading):
    """Return the two columns of the table under a heading, without its head."""
    section = TEXT.split(f'## Coming from {heading}\n')[1].split('\n## ')[0]
    lines = [line for line in section.splitlines() if line.startswith('| ')]
    return [[cell.strip() for cell in line.strip('|').split(' | ')] for line in lines[1:]]


def test_our_names_exist():
    """Every attribute of a joint or a device in the tables is there."""
    joint = Joint('a', 'b', 'revolute', name='j')
    device = JointDevice.from_joints([joint], base='a', end='b')
    things = {'joint': joint, 'device': device, 'JointDevice': JointDevice}
    found = 0
    for _, ours in rows('iDynTree') + rows('RobWork'):
        for thing, names in re.findall(r'\b(joint|device|JointDevice)((?:\.\w+)+)', ours):
            value = things[thing]
            for name in names[1:].split('.'):
                value = getattr(value, name)
            found += 1
    assert found > 50


def test_every_member_of_ijoint_is_there():
    """The table has what the wheel of iDynTree has."""
    idyntree = pytest.importorskip(
        'idyntree.bindings', reason='the wheel idyntree is not installed'
    )
    theirs = {name for name in vars(idyntree.IJoint) if not name.startswith(('_', 'this'))}
    told = {name for peer, _ in rows('iDynTree') for name in re.findall(r'`(\w+)`', peer)}
    assert len(theirs) > 30
    assert theirs <= told
