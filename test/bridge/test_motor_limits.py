# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Limits of actuators, beyond position limits, partners at zero, tuning."""

from __future__ import annotations

from functools import cache
import math
import re

from command_paths import check_ratios, Commands
from hypothesis import given, settings
from hypothesis import strategies as st
import numpy as np
import pytest
from state_paths import record
from zoo.elements import maps, params, ratio, transmission

from transmission_bridge.bridge.actuator_rules import ActuatorLimits
from transmission_bridge.bridge.inputs import check_command_age
from transmission_bridge.bridge.motion import COMMAND, END, Motion
from transmission_bridge.bridge.options import BridgeOptions
from transmission_bridge.bridge.plan import Plan
from transmission_bridge.description import load_description
from transmission_bridge.errors import MessageError, ParameterError
from transmission_bridge.transmissions import RobotTransmissions

LIMIT = 'lower="-1" upper="1" velocity="100" effort="1e6"'
JOINTS = {'lift': f'prismatic {LIMIT}', 'pitch': f'revolute {LIMIT}'}
JOINTS['roll'] = 'continuous velocity="100" effort="1e6"'


def text_of(winch='', left='', right=''):
    """Return the transmissions with what stands in their actuators."""
    hoist = transmission('hoist', 'Simple', {'lift': ratio(50)}, {'winch': winch})
    motors = {'left': ratio(10) + left, 'right': ratio(-10) + right}
    return hoist + transmission('wrist', 'Differential', {'pitch': ratio(2), 'roll': ''}, motors)


def robot(**limits):
    """Return the robot with ``<limit>`` attributes of its actuators."""
    made = maps(JOINTS, text_of(**{name: f'<limit {text}/>' for name, text in limits.items()}))
    assert [each for each in made.findings if each.severity != 'info'] == []
    return made


class _Path:
    """A command path in plain terms, with the measured positions of the robot."""

    def __init__(self, made, **options):
        self.robot = made
        self.commands = Commands(made, **options)
        self.position = np.zeros(len(made.joint_names))
        self.velocity = np.zeros(len(made.joint_names))

    def __call__(self, **modes):
        """Command ``mode={joint: value}``, and return ``{mode: {actuator: value}}``."""
        found = {}
        for mode, values in modes.items():
            message = record(values, **{mode: [*values.values()]})
            more = {'measured_velocity': self.velocity}
            for sent in self.commands.send(message, self.position, **more):
                numbers = getattr(sent, mode).tolist()
                found[mode] = dict(zip(sent.names, numbers, strict=True))
        return found

    @property
    def counts(self):
        return self.commands.counts['joint_commands']


# -- actuator limits -----------------------------------------------------------------------------


@pytest.mark.parametrize('mode', ['velocity', 'effort'])
def test_rates_are_scaled_together(mode):
    """The actuators of a transmission share one factor, so that the direction stays."""
    limit = 3.0 if mode == 'velocity' else 0.03
    free, path = _Path(robot()), _Path(robot(left=f'{mode}="{limit}"', right=f'{mode}="100"'))
    wanted = {mode: {'pitch': 1.0, 'roll': 0.5}}
    before, after = free(**wanted)[mode], path(**wanted)[mode]
    scale = limit / abs(before['left'])
    assert scale < 1.0
    assert after == pytest.approx({name: scale * value for name, value in before.items()})
    assert abs(after['left']) <= limit
    assert path.counts.scaled == {'pitch': 1, 'roll': 1}
    shares = {'pitch': pytest.approx(scale), 'roll': pytest.approx(scale)}
    assert path.counts.shares == (shares if mode == 'effort' else {})


@pytest.mark.parametrize('winch', ['<limit velocity="1"/>', params(velocity=1)])
def test_limits_are_live(winch):
    """A limit or ``<param>`` is a parameter of the transmission, infinity takes it away."""
    made = maps(JOINTS, text_of(winch))
    assert [each for each in made.findings if each.severity != 'info'] == []
    path = _Path(made)
    assert path(velocity={'lift': 1.0}) == {'velocity': {'winch': 1.0}}
    name = 'hoist.actuators.winch.limit.velocity'
    path.commands.use(made.with_parameters({name: 2.0}))
    assert path(velocity={'lift': 1.0}) == {'velocity': {'winch': 2.0}}
    path.commands.use(made.with_parameters({name: math.inf}))
    assert path(velocity={'lift': 1.0}) == {'velocity': {'winch': 50.0}}
    for wrong in (-1.0, math.nan):
        with pytest.raises(ParameterError):
            made.with_parameters({name: wrong})
    with pytest.raises(ParameterError, match='exclude each other'):
        made.with_parameters({'hoist.actuators.winch.limit.lower': math.inf})


@pytest.mark.parametrize(
    ('text', 'words'),
    [
        ('lower="a"', 'not a number'),
        ('lower="2" upper="1"', 'exclude each other'),
        ('velocity="-1"', r'\[0, inf\]'),
        ('speed="1"', "speed='1'"),
    ],
)
def test_a_limit_that_cannot_be_read(text, words):
    """It disables its transmission: a motor without its limit is no less dangerous."""
    made = maps(JOINTS, text_of(winch=f'<limit {text}/>'))
    (finding,) = (each for each in made.findings if each.severity == 'error')
    assert finding.subject == 'hoist'
    assert re.search(words, f'{finding.message} {finding.expected} {finding.found}')
    assert 'lift' in made.lost_joints


#: One motor for one joint, two for two, three for two, and one for two.
SHAPES = ((0,), (1, 2), (3, 4, 5), (6,))
numbers = st.floats(-1e3, 1e3)
magnitudes = st.one_of(
    st.floats(0.0, 1e3, allow_subnormal=False), st.sampled_from([0.0, 1.0, math.inf])
)


@cache
def shapes():
    """Return a robot with limits of seven motors, in the order of :data:`SHAPES`."""
    every = '<limit lower="-1" upper="1" velocity="1" effort="1"/>'
    text, joints = text_of(every, every, every), dict(JOINTS)
    for name, matrix, count in (('t', '1 0.5 -0.2; 0.3 -1 0.6', 3), ('f', '1; 0.5', 1)):
        motors = {f'{name}m{k}': every for k in range(count)}
        own = (f'{name}1', f'{name}2')
        joints |= dict.fromkeys(own, 'continuous')
        text += transmission(name, 'Coupled', own, motors, params(matrix=matrix))
    made = maps(joints, text)
    assert [tuple(binding.actuators) for binding in made.bindings] == [*SHAPES]
    return made


@settings(max_examples=200)
@given(
    row=st.sampled_from([0, 1, 2]),
    values=st.tuples(*[numbers] * 7),
    ends=st.tuples(*[st.tuples(numbers, numbers, magnitudes, magnitudes)] * 7),
    policy=st.sampled_from(['clamp', 'clamp', 'reject', 'ends']),
)
def test_no_actuator_beyond_a_limit(row, values, ends, policy):
    """Whatever is sent, what is inside is not touched, and the others keep their direction."""
    plan = Plan(shapes(), BridgeOptions(limits='reject' if policy != 'clamp' else 'clamp'))
    one, other, velocity, effort = np.array(ends).T
    plan.motor_bounds[0, :3] = np.minimum(one, other), -velocity, -effort
    plan.motor_bounds[1, :3] = np.maximum(one, other), velocity, effort
    sent = np.full((3, 7), math.nan)
    sent[row] = values
    given = np.zeros((3, len(plan.robot.joint_names)), dtype=bool)
    given[row] = True
    pattern = plan.find_pattern(END if policy == 'ends' else COMMAND, given.tobytes())
    motion = Motion('', pattern, np.empty(0), sent)
    (lower, upper), before = plan.motor_bounds[:, row], np.array(values)
    beyond = (before < lower - 1e-9 * (1 + abs(lower))) | (
        before > upper + 1e-9 * (1 + abs(upper))
    )
    coupled = np.isin(range(7), (0, 6), invert=True)
    # What ends a command is never rejected.
    rejected = beyond & (policy == 'reject' or (row == 0 and coupled)) & (policy != 'ends')
    verdicts = [rule.apply(motion, None, None) for rule in ActuatorLimits.make(plan, pattern)]
    if rejected.any():
        ((reason, sentence, *_),) = verdicts
        assert reason == 'actuator_limit'
        assert re.search(r': [-\d.e+]+ is not in \[', sentence)
        return
    assert not any(verdict.reason for verdict in verdicts if verdict)
    assert np.isnan(np.delete(sent, row, axis=0)).all()
    after = sent[row]
    assert not ((after < lower) | (after > upper)).any()
    for own in map(list, SHAPES):
        old, new = before[own], after[own]
        if not ((old < lower[own]) | (old > upper[own])).any():
            assert np.array_equal(old, new)
        elif row == 0:
            assert np.array_equal(new, np.clip(old, lower[own], upper[own]))
        else:
            # By one factor, and by no more than one actuator needs.
            outside = np.abs(old) > upper[own]
            share = (upper[own][outside] / np.abs(old[outside])).min()
            assert np.abs(new - share * old).max() <= 1e-12 * np.abs(new).max()


def test_rounding_is_not_refused():
    """A limit of a joint may equal the motor's; the product may differ in the last digit."""
    for place in range(1, 60, 4):
        q = place / 61.0
        made = robot(left=f'upper="{20.0 * q!r}"', winch=f'upper="{50.0 * q!r}"')
        for policy in ('clamp', 'reject'):
            path = _Path(made, limits=policy)
            sent = path(position={'lift': q, 'pitch': q / 3.0, 'roll': q - 2.0 * (q / 3.0) + q})
            assert sent['position']['left'] <= 20.0 * q
            assert sent['position']['winch'] <= 50.0 * q
            assert path.counts.clamped == {}


def test_an_actuator_that_two_transmissions_read_has_the_limits_of_both():
    """It is one motor, whichever of them commands it."""
    joints = JOINTS | {'dial': 'continuous'}

    def both(end, upper):
        limit = f'<limit {end}="{upper}" velocity="1"/>'
        gauge = transmission('gauge', 'Simple', ('dial',), {'winch': limit})
        return maps(joints, text_of('<limit upper="30"/>') + gauge)

    for upper, expected in ((20, 20.0), (40, 30.0)):
        made = both('upper', upper)
        assert [each for each in made.findings if each.severity == 'error'] == []
        path = _Path(made)
        assert path(position={'lift': 0.9}) == {'position': {'winch': expected}}
        assert path.counts.clamped == {'lift': 1}
        assert path(velocity={'lift': 0.9}) == {'velocity': {'winch': 1.0}}
    assert set(both('lower', 40).lost_joints) == {'lift', 'dial'}


def test_what_is_too_large_is_said_so():
    """A product beyond double precision is no number to be clamped or scaled."""
    path = _Path(robot(winch='upper="30" velocity="5"', left='velocity="1"'))
    # Joints without limits.
    path.commands.bridge.plan.joint_bounds[:] = [[[-math.inf]], [[math.inf]]]
    for mode in ({'position': {'lift': 1e308}}, {'velocity': {'lift': -1e308}},
                 {'velocity': {'pitch': 1e308, 'roll': 1.0}}):  # fmt: skip
        with np.errstate(over='ignore'), pytest.raises(MessageError) as caught:
            path(**mode)
        assert caught.value.reason == 'unmapped'


# -- beyond a position limit ---------------------------------------------------------------------


def test_outward_commands_are_counted():
    """An effort that moves nothing outward may hold a load: it passes and is counted."""
    path = _Path(robot())
    path.position[0] = 1.1
    assert path(velocity={'lift': 0.5}) == {'velocity': {'winch': 0.0}}
    assert path.counts.stopped == {'lift': 1}
    for velocity, is_ended in ((0.0, False), (0.005, False), (math.nan, False), (0.02, True)):
        path.velocity[0] = velocity
        sent = path(effort={'lift': 100.0})['effort']['winch']
        assert sent == (0.0 if is_ended else 2.0)
    assert path.counts.outward == {'lift': 3}
    assert path.counts.stopped == {'lift': 2}
    path = _Path(robot(), limits='reject')
    path.position[0] = 1.1
    with pytest.raises(MessageError, match='further out'):
        path(velocity={'lift': 0.5})


# -- times ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ('stamp', 'most', 'why', 'words'),
    [
        ((10, 0), 0.0, None, ''),
        ((0, 0), 0.5, None, ''),
        ((10, 200_000_000), 0.5, None, ''),
        ((10, 0), 0.5, 'too_old', r'0\.600 s'),
        # A stamp more than half a second ahead of the clock gives no age.
        ((11, 200_000_000), 0.0, None, ''),
        ((11, 100_000_000), 0.2, None, ''),
        ((11, 101_000_000), 5.0, 'future_stamp', r'0\.501 s ahead'),
    ],
)
def test_the_age_of_a_command(stamp, most, why, words):
    """Refused is what is older by its stamp than it may be; a stamp of zero has no age."""
    if why is None:
        check_command_age(stamp, (10, 600_000_000), most)
        return
    with pytest.raises(MessageError, match=words) as caught:
        check_command_age(stamp, (10, 600_000_000), most)
    assert caught.value.reason == why


# -- tuning under load ---------------------------------------------------------------------------


ALL = np.ones(3, dtype=bool)


@pytest.mark.parametrize(
    ('name', 'value', 'words'),
    [
        ('hoist.joints.lift.mechanical_reduction', -50.0, 'move in the opposite direction'),
        ('hoist.joints.lift.mechanical_reduction', 101.0, 'instead of 0.02'),
        ('hoist.joints.lift.mechanical_reduction', 24.0, 'instead of 0.02'),
        ('hoist.joints.lift.mechanical_reduction', 60.0, 'shift by 0.0667 m'),
        ('hoist.joints.lift.offset', 0.06, 'shift by 0.06 m'),
        ('wrist.joints.roll.offset', -0.11, 'shift by 0.11 rad'),
        ('hoist.joints.lift.mechanical_reduction', 51.0, ''),
        ('hoist.joints.lift.offset', 0.04, ''),
        ('wrist.joints.roll.offset', 0.09, ''),
    ],
)
def test_tuning_under_load(name, value, words):
    """Refused is what would turn, stretch or shift the motion of a commanded joint at once."""
    before = robot()
    after = before.with_parameters({name: value})
    at = np.array([20.0, 0.0, 0.0])
    if words:
        with pytest.raises(ParameterError, match=words) as caught:
            check_ratios(before, after, at, ALL)
        assert 'tuning_guard' in str(caught.value)
    else:
        check_ratios(before, after, at, ALL)
    check_ratios(before, after, at, ~ALL)
    only_others = np.array([name.startswith('wrist'), *[name.startswith('hoist')] * 2])
    check_ratios(before, after, at, only_others)


@given(st.floats(-100.0, 100.0))
def test_tuning_by_as_much_as_is_allowed(place):
    """It is accepted wherever the joint is, whatever its position is rounded to."""
    before = robot()
    for name, value in (('wrist.joints.roll.offset', 0.1), ('hoist.joints.lift.offset', 0.05)):
        check_ratios(before, before.with_parameters({name: value}), np.full(3, place), ALL)


@pytest.mark.parametrize('value', [1e-7, -1e-7, 1e7])
def test_ratios_out_of_all_reason(value):
    """They are a slip of the hand, also where nothing is commanded."""
    with pytest.raises(ParameterError, match='1e-06'):
        robot().with_parameters({'hoist.joints.lift.mechanical_reduction': value})


@pytest.mark.parametrize('name', ['four_bar_knee', 'five_bar', 'push_rod_ankle'])
def test_only_the_commanded_joints_of_a_linkage_are_looked_at(linkages, name):
    """A small change passes, a sudden one is refused; passive joints only follow."""
    robot = RobotTransmissions(load_description(linkages[name], strict=True))
    (binding,) = robot.bindings
    actuator = f'{binding.spec.name}.actuators.{robot.actuator_names[-1]}'
    live = np.zeros(len(robot.joint_names), dtype=bool)
    live[binding.joints[0]] = True

    def change(number, value):
        after = robot.with_parameters({f'{actuator}.{number}': value})
        check_ratios(robot, after, np.zeros(len(robot.actuator_names)), live)

    change('offset', 0.02)
    with pytest.raises(ParameterError, match='would shift by'):
        change('offset', 0.4)
    with pytest.raises(ParameterError, match='would move in the opposite direction'):
        change('mechanical_reduction', -5.0)
    live[:] = False
    change('offset', 0.4)
