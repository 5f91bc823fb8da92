# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Names and places of a robot: what passes through, what is lost, who commands an actuator."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from zoo import elements
from zoo.elements import ratio, transmission

from transmission_bridge import load_description, RobotTransmissions
from transmission_bridge.description import JointSpec, MimicSpec, RejectedTransmission
from transmission_bridge.transmissions.interfaces import DIRECTIONS, interfaces_of


def test_joints_without_a_transmission_pass_through(make_spec, make_robot):
    """Scalar joints that nothing drives get an actuator of their name; mimic joints do not."""
    robot = make_robot(make_spec('t', 'simple', ('b',), ('m',), joint_reduction=(2.0,)))
    robot = dataclasses.replace(
        robot,
        joints=(
            JointSpec('slider', 'prismatic', 'l', 'l'),
            *robot.joints,
            JointSpec('weld', 'fixed', 'l', 'l'),
            JointSpec('free', 'floating', 'l', 'l'),
            JointSpec('finger', 'revolute', 'l', 'l', mimic=MimicSpec('b')),
            JointSpec('wheel', 'continuous', 'l', 'l'),
        ),
    )
    t = RobotTransmissions(robot)
    assert t.joint_names == ('slider', 'b', 'wheel')
    assert t.actuator_names == ('m', 'slider', 'wheel')
    assert t.pass_through == ('slider', 'wheel')
    assert t.actuator_to_joint('velocity', [0.0, 5.0, 7.0]).tolist() == [5.0, 0.0, 7.0]
    assert t.joint_to_actuator('effort', [5.0, 0.0, 7.0]).tolist() == [0.0, 5.0, 7.0]
    without = RobotTransmissions(robot, pass_through=False)
    assert (without.joint_names, without.actuator_names) == (('b',), ('m',))
    assert without.with_parameters({}).joint_names == ('b',)


def test_a_joint_that_passes_through_has_a_binding_of_its_own_name(make_spec, make_robot):
    """An identity stands behind the transmissions, of a name that none of these has."""
    robot = make_robot(make_spec('b', 'simple', ('a',), ('m',)), joints=('b', 'a', 'c'))
    t = RobotTransmissions(robot)
    found = [(each.spec.name, each.joints, each.actuators) for each in t.bindings]
    assert found == [('b', (1,), (0,)), ("b'", (0,), (1,)), ('c', (2,), (2,))]
    assert t.pass_through == ('b', 'c')
    assert list(t.transmissions) == list(t.tunables) == ['b']


def test_joints_of_refused_transmissions_are_absent(make_spec, make_robot):
    """A joint whose transmission was refused, here or by the description, is not invented."""
    robot = make_robot(
        make_spec('unknown', 'you/What', ('a',), ('ma',)),
        make_spec('wrong', 'differential', ('b',), ('mb',)),
        make_spec('good', 'simple', ('c',), ('mc',)),
        joints=('a', 'b', 'c', 'd', 'e'),
        rejected=(RejectedTransmission('bad', 'x/Y', 'ros2_control', ('d',), ('md',)),),
    )
    t = RobotTransmissions(robot)
    assert (t.joint_names, t.actuator_names) == (('c', 'e'), ('mc', 'e'))
    found = {each.subject: each for each in t.findings}
    assert {name: each.severity for name, each in found.items()} == dict.fromkeys(
        ('unknown', 'wrong'), 'error'
    )
    assert found['wrong'].expected == '2 joints and 2 actuators'
    assert found['wrong'].found == '1 joint and 1 actuator'


@pytest.mark.parametrize('owner', ['good', 'refused', 'rejected'])
def test_a_joint_does_not_pass_through_to_an_actuator_of_another(make_spec, make_robot, owner):
    """Where an actuator of a transmission has a free joint's name, the joint is left out."""
    specs, rejected = [make_spec('good', 'simple', ('a',), ('m',))], ()
    if owner == 'good':
        specs = [make_spec('good', 'simple', ('a',), ('free',))]
    if owner == 'refused':
        specs.append(make_spec('refused', 'you/What', ('b',), ('free',)))
    if owner == 'rejected':
        rejected = (RejectedTransmission('rejected', 'x/Y', 'ros2_control', ('b',), ('free',)),)
    t = RobotTransmissions(make_robot(*specs, joints=('a', 'b', 'free'), rejected=rejected))
    assert 'free' not in t.joint_names
    (finding,) = (finding for finding in t.findings if finding.subject == 'free')
    assert finding.severity == 'warning'
    assert 'free' in finding.message


def test_a_fragment_has_the_joints_of_its_transmissions(make_spec, make_robot):
    """Without any <joint>, joints stand in the order of the transmissions."""
    pair = make_spec('d', 'differential', ('z', 'y'), ('m1', 'm2'))
    t = RobotTransmissions(make_robot(pair, make_spec('s', 'simple', ('a',), ('m3',)), joints=()))
    assert t.joint_names == ('z', 'y', 'a')
    assert t.actuator_names == ('m1', 'm2', 'm3')


def test_an_empty_robot_maps_nothing(make_robot):
    """A robot without joints maps arrays of no columns, of any number of samples."""
    t = RobotTransmissions(make_robot())
    assert (t.joint_names, t.actuator_names) == ((), ())
    for leading in ((), (0,), (5,), (2, 3)):
        empty = np.zeros((*leading, 0))
        for direction in DIRECTIONS:
            for interface in interfaces_of(direction):
                assert getattr(t, direction)(interface, empty).shape == empty.shape
        assert t.jacobian(empty).shape == (*leading, 0, 0)


# -- several transmissions at one actuator -------------------------------------------------------


@pytest.mark.parametrize('reader_first', [True, False])
def test_an_actuator_is_commanded_by_the_one_that_may(make_spec, make_robot, reader_first):
    """Several transmissions read an actuator; the one that can command it gives its value."""
    drive = make_spec('drive', 'simple', ('joint',), ('m',), joint_reduction=(10.0,))
    gauge = make_spec(
        'gauge', 'simple', ('needle',), ('m',), joint_reduction=(2.0,), can_command=False
    )
    t = RobotTransmissions(make_robot(*((gauge, drive) if reader_first else (drive, gauge))))
    assert t.actuator_names == ('m',)

    def by_name(values):
        return dict(zip(t.joint_names, values, strict=True))

    assert by_name(t.actuator_to_joint('position', [20.0])) == {'joint': 2.0, 'needle': 10.0}
    # What the reader does not know costs nothing.
    for needle in (77.0, np.nan):
        given = {'joint': 3.0, 'needle': needle}
        commands = t.joint_to_actuator('position', [given[name] for name in t.joint_names])
        assert commands.tolist() == [30.0]
    owned = {binding.spec.name: binding.owned for binding in t.bindings}
    assert owned == {'drive': (True,), 'gauge': (False,)}
    assert by_name(t.reached_actuators.tolist()) == {'joint': [True], 'needle': [False]}
    joint = np.array([name == 'joint' for name in t.joint_names])
    assert t.joints_of(np.array([True])).tolist() == joint.tolist()
    assert t.actuators_of(np.array([joint, ~joint])).tolist() == [[True], [False]]


def test_a_reader_gives_what_nobody_commands(make_spec, make_robot):
    """A pair that only reads gives the value of the actuator that no other transmission has."""
    gauge = make_spec('gauge', 'differential', ('p', 'q'), ('m', 'n'), can_command=False)
    drive = make_spec('drive', 'simple', ('j',), ('m',), joint_reduction=(10.0,))
    t = RobotTransmissions(make_robot(gauge, drive))
    assert t.actuator_names == ('m', 'n')
    assert t.joint_names == ('p', 'q', 'j')
    assert t.joint_to_actuator('position', [5.0, 2.0, 1.0]).tolist() == [10.0, 3.0]
    assert t.joint_to_actuator('position', [5.0, np.nan, 1.0]).tolist()[0] == 10.0


# -- joints that a refused transmission may mean -------------------------------------------------


def in_block(*inside, lacks='', extra=''):
    """Return a robot of joints j1 to j3 and free, which is not in the block, nor ``lacks``."""
    text = elements.urdf(('j1', 'j2', 'j3', 'free'), ''.join(inside))
    for name in ('free', lacks):
        text = text.replace(f'<joint name="{name}"/>', '')
    return load_description(text.replace('</robot>', f'{extra}</robot>'))


def one(name, joint):
    """Return a transmission of a joint."""
    return transmission(name, 'Simple', {joint: ratio(50)}, (f'{name}_motor',))


GOOD = one('good', 'j1')
BAD = one('bad', 'j2')
OLD = (
    '<transmission name="bad"><type>transmission_interface/SimpleTransmission</type>{}'
    '<actuator name="m"><mechanicalReduction>2</mechanicalReduction></actuator></transmission>'
)
OTHER_BLOCK = (
    '<ros2_control name="other" type="system"><hardware><plugin>p</plugin></hardware>'
    f'<joint name="free"/>{one("bad", "fre")}</ros2_control>'
)
TWICE = BAD.replace('</transmission>', '<joint name="{}" role="joint1"/></transmission>')

#: A robot, which joints are withheld, which pass through, and what the finding found.
# fmt: off
MISNAMED = [
    (in_block(GOOD, one('bad', 'j22')), 'j2 j3', 'free', "'j22'"),
    (in_block(GOOD, one('bad', 'free')), 'j2 j3', '', "'free'"),
    (in_block(GOOD, one('bad', '').replace(' name=""', ' nam="j2"')), 'j2 j3', 'free', 'none'),
    (in_block(GOOD, BAD.replace('<joint', '<Joint').replace('/joint>', '/Joint>')), 'j2 j3', 'free', 'none'),  # noqa: E501
    # Misspelt twice, in the block and in its transmission, it is as unknown as once.
    (in_block('<joint name="j4"/>', one('bad', 'j4'), lacks='j2'), 'j1 j3', 'j2 free', None),
    # A misnamed joint concerns its own block only.
    (in_block(extra=OTHER_BLOCK), 'free', 'j1 j2 j3', None),
    # In ROS 1 there is no block, so that any joint without a transmission may be meant.
    (in_block(GOOD, lacks='j2', extra=OLD.format('<joint name="j22"/>')), 'j2 j3 free', '', None),
    (in_block(GOOD, lacks='j2', extra=OLD.format('<joint/>')), 'j2 j3 free', '', None),
    (in_block(GOOD, lacks='j2', extra=OLD.format('')), 'j2 j3 free', '', None),
    # Where the joints are known, the others of the block pass through.
    (in_block(GOOD, BAD.replace('>50<', '>fifty<')), '', 'j3 free', None),
    (in_block(GOOD, TWICE.format('j2')), '', 'j3 free', None),
    (in_block(GOOD, TWICE.format('j3')), '', 'free', None),
    (in_block(GOOD, BAD.replace('mechanical_', 'mechanic_')), '', 'j3 free', None),
]
# fmt: on


@pytest.mark.parametrize(('robot', 'withheld', 'through', 'found'), MISNAMED)
def test_a_misnamed_joint_does_not_pass_through(robot, withheld, through, found):
    """Which joint was meant is open, and it would run at 1:1; the finding names all of them."""
    t = RobotTransmissions(robot)
    assert t.pass_through == tuple(through.split())
    assert t.withheld == dict.fromkeys(withheld.split(), 'bad')
    assert t.with_parameters({}).withheld == t.withheld
    said = [each for each in t.findings if 'not passed through' in each.message]
    assert len(said) == bool(withheld)
    for finding in said:
        assert (finding.severity, finding.subject) == ('error', 'bad')
        assert all(f"'{name}'" in finding.message for name in withheld.split())
        assert found is None or finding.found == found
        assert finding.line == robot.rejected[0].line
        assert t.lost_joints[withheld.split()[0]] == "transmission 'bad' may refer to it"
    without = RobotTransmissions(robot, pass_through=False)
    assert (without.withheld, without.pass_through) == ({}, ())
    assert not withheld or without.findings == robot.findings
