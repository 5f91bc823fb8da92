# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Ways through the tree, and descriptions that are no tree."""

from __future__ import annotations

import pytest

from transmission_bridge.description import JointSpec, LinkSpec, RobotDescription
from transmission_bridge.errors import DescriptionError, UnknownNameError
from transmission_bridge.kinematics import JointDevice
from transmission_bridge.kinematics.tree import KinematicTree


def robot(*pairs, links=()):
    """Return a robot of revolute joints between pairs of links, named parent_child."""
    joints = tuple(
        JointSpec(f'{parent}_{child}', 'revolute', parent, child, line=7)
        for parent, child in pairs
    )
    return RobotDescription('r', links=tuple(map(LinkSpec, links)), joints=joints)


def names(way):
    """Return the joints of a way with their directions."""
    return [('+' if each.downward else '-') + each.joint.name for each in way]


def test_way_goes_up_and_down():
    """A way leads up to the nearest common link and down from there."""
    tree = KinematicTree.from_description(robot('ab', 'bc', 'cd', 'be', 'ef'))
    assert names(tree.find_route('a', 'd')) == ['+a_b', '+b_c', '+c_d']
    assert names(tree.find_route('d', 'f')) == ['-c_d', '-b_c', '+b_e', '+e_f']
    assert names(tree.find_route('f', 'b')) == ['-e_f', '-b_e']
    assert tree.find_route('e', 'e') == ()
    assert tree.find_root('f') == tree.find_root('a') == 'a'
    assert tree.links == ('a', 'b', 'c', 'd', 'e', 'f')


def test_links_of_different_trees_are_not_joined():
    """Between two trees there is no way, and an error says between which links."""
    tree = KinematicTree.from_description(robot('ab', 'cd', links=('x',)))
    for start, goal in (('a', 'd'), ('x', 'b'), ('b', 'x')):
        with pytest.raises(DescriptionError, match=f"from link '{start}' to link '{goal}'"):
            tree.find_route(start, goal)
    assert tree.find_root('d') == 'c'
    assert tree.find_route('x', 'x') == ()
    with pytest.raises(UnknownNameError, match='nowhere'):
        tree.find_root('nowhere')


def test_what_is_no_tree_costs_only_its_own_ways():
    """A link with two parents and a loop are errors with a line, elsewhere ways are found."""
    tree = KinematicTree.from_description(robot('ab', 'bc', 'ax', 'bx', 'xy', 'pq', 'qp'))
    assert names(tree.find_route('a', 'c')) == ['+a_b', '+b_c']
    with pytest.raises(DescriptionError, match="line 7: link 'x' has two parent links"):
        tree.find_route('a', 'y')
    with pytest.raises(DescriptionError, match='is in a loop'):
        tree.find_route('p', 'a')
    with pytest.raises(DescriptionError, match='is in a loop'):
        JointDevice.from_description(robot('pq', 'qp'), base='p', end='q')
