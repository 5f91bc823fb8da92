# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""The whole robot as one map: its values, and its names and places."""

import dataclasses
from functools import partial
import pickle

from hypothesis import given, settings, strategies as st
import numpy as np
import pytest
from zoo import elements
from zoo.elements import ratio, transmission
from zoo.robots import maps

from transmission_bridge import load_description, RobotTransmissions
from transmission_bridge.errors import ShapeError, UnsupportedInterfaceError
from transmission_bridge.interfaces import DIRECTIONS, list_mapped_interfaces


def one(name, joint, actuator='m', kind='Simple', number=50):
    """Return a transmission of a joint and an actuator."""
    return transmission(name, kind, {joint: ratio(number)}, (actuator,))


MAPS = [
    (direction, name) for direction in DIRECTIONS for name in list_mapped_interfaces(direction)
]


def expected_of(t, direction, interface, x):
    """Return what each transmission alone gives for one sample, and what passes through."""
    is_forward = direction == 'actuator_to_joint'
    given = dict(zip(t.actuator_names if is_forward else t.joint_names, x, strict=True))
    outputs = {name: given[name] for name in t.pass_through}
    for spec in t.description.transmissions:
        sides = [[member.name for member in side] for side in (spec.actuators, spec.joints)]
        inputs, found = sides if is_forward else sides[::-1]
        values = [given[name] for name in inputs]
        mapped = t.transmissions[spec.name].map(direction, interface, values)
        outputs |= zip(found, mapped, strict=True)
    return [outputs[name] for name in (t.joint_names if is_forward else t.actuator_names)]


@pytest.mark.parametrize('name', ['wrist', 'arm', 'hand', 'encoders'])
@settings(max_examples=25)
@given(st.data(), st.lists(st.integers(0, 3), max_size=2))
def test_the_robot_equals_its_transmissions_in_any_order(name, data, leading):
    """
    Each joint and actuator has the value that its transmission alone gives, bit for bit.

    Joints stand in the order of the URDF, actuators in that of the transmissions. So it is for a
    batch of any shape, for values that are unknown, and for a copy of the robot.
    """
    robot = maps(name).description
    # A hand's finger adds three terms: the last bit of their sum depends on their order.
    robot = dataclasses.replace(
        robot,
        joints=tuple(robot.joints if name == 'hand' else data.draw(st.permutations(robot.joints))),
        transmissions=tuple(data.draw(st.permutations(robot.transmissions))),
    )
    t = RobotTransmissions(robot)
    assert t.joint_names == tuple(joint.name for joint in robot.joints)
    driven = [member.name for spec in robot.transmissions for member in spec.actuators]
    assert t.actuator_names == (*driven, *t.pass_through)
    copy = pickle.loads(pickle.dumps(t))
    assert (copy.joint_names, copy.actuator_names) == (t.joint_names, t.actuator_names)
    assert (copy.findings, copy.description) == (t.findings, t.description)
    random, n, m = np.random.default_rng(1), len(t.joint_names), len(t.actuator_names)
    for direction, interface in MAPS:
        n_in, n_out = (m, n) if direction == 'actuator_to_joint' else (n, m)
        x = random.normal(scale=10.0, size=(*leading, n_in))
        unknown = st.sampled_from([np.nan, np.inf, -np.inf])
        places = st.dictionaries(st.integers(0, max(0, x.size - 1)), unknown, max_size=3)
        for place, value in (data.draw(places) if x.size else {}).items():
            x.flat[place] = value
        before = x.copy()
        rows = [expected_of(t, direction, interface, row) for row in x.reshape(-1, n_in)]
        expected = np.array(rows).reshape(*leading, n_out)
        for each in (t, copy, copy.with_parameters({})):
            result = getattr(each, direction)(interface, x)
            assert result.dtype == np.float64
            assert np.array_equal(result, expected, equal_nan=True)
            assert not np.shares_memory(result, x)
        assert x.tobytes() == before.tobytes()
    velocities = t.actuator_to_joint('velocity', np.eye(m)).T
    jacobian = t.jacobian(np.zeros((*leading, m)))
    assert np.array_equal(jacobian, np.broadcast_to(velocities, (*leading, n, m)))


@pytest.mark.parametrize('direction', DIRECTIONS)
def test_another_shape_is_refused(direction):
    """Values, at, rate and guess of another last axis are refused by name."""
    t = elements.maps('j', one('t', 'j'))
    function = getattr(t, direction)
    for shape in ((), (0,), (2,), (1, 2)):
        with pytest.raises(ShapeError, match=r'^values: '):
            function('position', np.zeros(shape))
        for name in ('at', 'rate', 'guess'):
            with pytest.raises(ShapeError, match=rf'^{name}: '):
                function('position', [1.0], **{name: np.zeros(shape)})
    with pytest.raises(ShapeError, match='actuator_position'):
        t.jacobian([1.0, 2.0])


@pytest.mark.parametrize(('interface', 'direction'), [
    ('current', 'actuator_to_joint'),
    ('', 'actuator_to_joint'),
    ('Position', 'joint_to_actuator'),
    ('absolute_position', 'joint_to_actuator'),
])  # fmt: skip
def test_an_interface_that_is_not_mapped_is_refused(interface, direction):
    """The error names those that there are; ``base_checks`` asks each transmission."""
    t = elements.maps('j', one('t', 'j'))
    for refused in (partial(t.map, values=[1.0]), t.affine):
        with pytest.raises(UnsupportedInterfaceError) as caught:
            refused(direction, interface)
        error = pickle.loads(pickle.dumps(caught.value))
        assert (error.interface, error.direction) == (interface, direction)
        assert error.supported == list_mapped_interfaces(direction)


# -- names and places ----------------------------------------------------------------------------


def test_joints_without_a_transmission_pass_through():
    """Scalar joints that nothing drives get an actuator of their name; mimic joints do not."""
    kinds = {'slider': 'prismatic', 'b': 'revolute', 'weld': 'fixed', 'free': 'floating'}
    kinds |= {'finger': 'revolute', 'wheel': 'continuous'}
    text = elements.urdf(kinds, one('t', 'b', number=2), {'finger': 'joint="b"'})
    t = elements.load(text)
    assert t.joint_names == ('slider', 'b', 'wheel')
    assert t.actuator_names == ('m', 'slider', 'wheel')
    assert t.pass_through == ('slider', 'wheel')
    assert t.actuator_to_joint('velocity', [0.0, 5.0, 7.0]).tolist() == [5.0, 0.0, 7.0]
    assert t.joint_to_actuator('effort', [5.0, 0.0, 7.0]).tolist() == [0.0, 5.0, 7.0]
    without = elements.load(text, pass_through=False)
    assert (without.joint_names, without.actuator_names) == (('b',), ('m',))
    assert without.with_parameters({}).joint_names == ('b',)


def test_a_joint_that_passes_through_has_a_binding_of_its_own_name():
    """An identity stands behind the transmissions, of a name that none of these has."""
    t = elements.maps('bac', one('b', 'a'))
    found = [(each.spec.name, each.joints, each.actuators) for each in t.bindings]
    assert found == [('b', (1,), (0,)), ("b'", (0,), (1,)), ('c', (2,), (2,))]
    assert t.pass_through == ('b', 'c')
    assert list(t.transmissions) == list(t.tunables) == ['b']


#: Joints, transmissions, the joints that are bridged, their actuators, and the findings.
GOOD_A = one('good', 'a')
# fmt: off
LAYOUTS = [
    ('a b e', GOOD_A + one('what', 'b', 'mb', 'you/What'), 'a e', 'm e', {'what': 'error'}),
    ('a b e', GOOD_A + one('pair', 'b', 'mb', 'Differential'), 'a e', 'm e', {'pair': 'error'}),
    ('a b e', GOOD_A + one('bad', 'b', 'mb', number='ten'), 'a e', 'm e', {'bad': 'error'}),
    # An actuator has the name of a free joint.
    ('a free', one('good', 'a', 'free'), 'a', 'free', {'free': 'warning'}),
    ('a b free', GOOD_A + one('what', 'b', 'free', 'you/What'), 'a', 'm', {'what': 'error', 'free': 'warning'}),  # noqa: E501
    ('a b free', GOOD_A + one('bad', 'b', 'free', number='ten'), 'a', 'm', {'bad': 'error', 'free': 'warning'}),  # noqa: E501
]
# fmt: on


@pytest.mark.parametrize(('names', 'transmissions', 'joints', 'actuators', 'found'), LAYOUTS)
def test_what_is_refused_or_taken_does_not_pass_through(
    names, transmissions, joints, actuators, found
):
    """No ratio is invented for a joint of a refused transmission or of a taken actuator's name."""
    t = elements.maps(names.split(), transmissions)
    assert (t.joint_names, t.actuator_names) == (tuple(joints.split()), tuple(actuators.split()))
    assert {each.subject: each.severity for each in t.findings} == found


# -- several transmissions at one actuator -------------------------------------------------------


def with_command(joint, joints, text):
    """Return the maps of joints of which one has a command interface."""
    command = f'<joint name="{joint}"><command_interface name="position"/></joint>'
    return elements.load(elements.urdf(joints, text).replace(f'<joint name="{joint}"/>', command))


@pytest.mark.parametrize('reader_first', [True, False])
def test_an_actuator_is_commanded_by_the_one_that_may(reader_first):
    """Several transmissions read an actuator; the one that can command it gives its value."""
    pair = one('drive', 'joint', number=10), one('gauge', 'needle', number=2)
    t = with_command('joint', ('joint', 'needle'), ''.join(pair[:: -1 if reader_first else 1]))
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


def test_a_reader_gives_what_nobody_commands():
    """A pair that only reads gives the value of the actuator that no other transmission has."""
    gauge = transmission('gauge', 'Differential', 'pq', 'mn')
    t = with_command('j', 'pqj', gauge + one('drive', 'j', number=10))
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


GOOD = one('good', 'j1')
BAD = one('bad', 'j2', 'm2')
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
    (in_block(GOOD, one('bad', 'j22', 'm2')), 'j2 j3', 'free', "'j22'"),
    (in_block(GOOD, one('bad', 'free', 'm2')), 'j2 j3', '', "'free'"),
    (in_block(GOOD, BAD.replace(' name="j2"', ' nam="j2"')), 'j2 j3', 'free', 'none'),
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
