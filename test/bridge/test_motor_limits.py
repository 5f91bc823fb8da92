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

from transmission_bridge.bridge.inputs import check_command_age, CommandCounts
from transmission_bridge.bridge.limits import ActuatorLimits, LimitEffects
from transmission_bridge.bridge.options import BridgeOptions
from transmission_bridge.description import load_description
from transmission_bridge.errors import MessageError, ParameterError
from transmission_bridge.messages.joint_state import LayoutTable
from transmission_bridge.transmissions import RobotTransmissions

DIAL = """<link name="d"/><joint name="dial" type="continuous"><parent link="base"/>
<child link="d"/></joint>"""
URDF = """<robot name="r"><link name="base"/><link name="a"/><link name="b"/><link name="c"/>
<joint name="lift" type="prismatic"><parent link="base"/><child link="a"/>
  <limit lower="-1" upper="1" velocity="100" effort="1e6"/></joint>
<joint name="pitch" type="revolute"><parent link="a"/><child link="b"/>
  <limit lower="-1" upper="1" velocity="100" effort="1e6"/></joint>
<joint name="roll" type="continuous"><parent link="b"/><child link="c"/>
  <limit velocity="100" effort="1e6"/></joint>
<ros2_control name="drives" type="system"><hardware><plugin>{plugin}</plugin></hardware>
  <joint name="lift"/><joint name="pitch"/><joint name="roll"/>
  <transmission name="hoist"><plugin>transmission_interface/SimpleTransmission</plugin>
    <joint name="lift" role="joint1"><mechanical_reduction>50</mechanical_reduction></joint>
    <actuator name="winch" role="actuator1">{winch}</actuator></transmission>
  <transmission name="wrist"><plugin>transmission_interface/DifferentialTransmission</plugin>
    <joint name="pitch" role="joint1"><mechanical_reduction>2</mechanical_reduction></joint>
    <joint name="roll" role="joint2"><offset>{offset}</offset></joint>
    <actuator name="left" role="actuator1"><mechanical_reduction>10</mechanical_reduction>
      {left}</actuator>
    <actuator name="right" role="actuator2"><mechanical_reduction>-10</mechanical_reduction>
      {right}</actuator></transmission></ros2_control></robot>"""


def robot(winch: str = '', left: str = '', right: str = '', **more: object) -> RobotTransmissions:
    """Return the robot with ``<limit>`` attributes of its actuators."""
    limits = {
        name: f'<limit {text}/>' if text else ''
        for name, text in (('winch', winch), ('left', left), ('right', right))
    }
    numbers = {'plugin': 'some/Driver', 'offset': 0.0, **more}
    made = RobotTransmissions(load_description(URDF.format(**limits, **numbers)))
    assert [each for each in made.findings if each.severity != 'info'] == []
    return made


class Path:
    """A command path in plain terms, with the measured positions of the robot."""

    def __init__(self, made: RobotTransmissions, **options: object) -> None:
        self.robot = made
        self.commands = Commands(made, **options)
        self.position = np.zeros(len(made.joint_names))
        self.velocity = np.zeros(len(made.joint_names))
        self._layouts = LayoutTable()

    def __call__(self, now: float = 0.0, **modes: dict[str, float]) -> dict:
        """Command ``mode={joint: value}``, and return ``{mode: {actuator: value}}``."""
        found = {}
        for mode, values in modes.items():
            for message in self.commands.command_interface(
                mode,
                list(values),
                np.array(list(values.values())),
                self.position,
                (1, 0),
                measured_velocity=self.velocity,
                source='joint_commands',
                now=now,
            ):
                numbers = getattr(message, mode).tolist()
                found[mode] = dict(zip(message.names, numbers, strict=True))
        return found

    @property
    def counts(self):
        """The counts of the commands."""
        return self.commands.counts['joint_commands']


# -- actuator limits -----------------------------------------------------------------------------


def test_position_of_a_coupled_actuator_is_refused() -> None:
    """The bridge cannot choose between two joints; the last command stays active."""
    path = Path(robot(left='upper="8"'))
    inside = path(position={'pitch': 0.1, 'roll': 0.2})
    held = path.commands.held
    with pytest.raises(MessageError, match=r'left: 10 is not in \[-inf, 8\]') as caught:
        path(position={'pitch': 0.25, 'roll': 0.5})
    assert caught.value.reason == 'actuator_limit'
    assert np.array_equal(path.commands.held, held, equal_nan=True)
    assert path(position={'pitch': 0.1, 'roll': 0.2}) == inside


@pytest.mark.parametrize('mode', ['velocity', 'effort'])
def test_rates_are_scaled_together(mode: str) -> None:
    """The actuators of a transmission share one factor, so that the direction stays."""
    limit = 3.0 if mode == 'velocity' else 0.03
    free, path = Path(robot()), Path(robot(left=f'{mode}="{limit}"', right=f'{mode}="100"'))
    wanted = {mode: {'pitch': 1.0, 'roll': 0.5}}
    before, after = free(**wanted)[mode], path(**wanted)[mode]
    scale = limit / abs(before['left'])
    assert scale < 1.0
    assert after == pytest.approx({name: scale * value for name, value in before.items()})
    assert abs(after['left']) <= limit
    assert path.counts.scaled == {'pitch': 1, 'roll': 1}
    shares = {'pitch': pytest.approx(scale), 'roll': pytest.approx(scale)}
    assert path.counts.shares == (shares if mode == 'effort' else {})


def test_limits_are_live() -> None:
    """A limit is a parameter of the transmission, and infinity takes it away."""
    made = robot(winch='velocity="1"')
    path = Path(made)
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
def test_a_limit_that_cannot_be_read(text: str, words: str) -> None:
    """It disables its transmission: a motor without its limit is no less dangerous."""
    urdf = URDF.format(
        winch=f'<limit {text}/>', left='', right='', plugin='some/Driver', offset=0.0
    )
    made = RobotTransmissions(load_description(urdf))
    (finding,) = (each for each in made.findings if each.severity == 'error')
    assert finding.subject == 'hoist'
    assert re.search(words, f'{finding.message} {finding.expected} {finding.found}')
    assert 'lift' in made.lost_joints


def test_params_are_limits_as_well() -> None:
    """``<param>``s of these names count like ``<limit>``, unless the type itself reads them."""
    urdf = URDF.format(
        winch='<param name="velocity">1</param>', left='', right='', plugin='a/B', offset=0.0
    )
    made = RobotTransmissions(load_description(urdf))
    assert not made.findings
    assert Path(made)(velocity={'lift': 1.0}) == {'velocity': {'winch': 1.0}}


#: One motor for one joint, two for two, three for two, and one for two.
SHAPES = ((0,), (1, 2), (3, 4, 5), (6,))
TENDONS = """<transmission name="{0}"><plugin>transmission_bridge/CoupledTransmission</plugin>
<param name="matrix">{1}</param><joint name="{0}1" role="joint1"/>
<joint name="{0}2" role="joint2"/>{2}</transmission>"""
numbers = st.floats(-1e3, 1e3)
magnitudes = st.one_of(
    st.floats(0.0, 1e3, allow_subnormal=False), st.sampled_from([0.0, 1.0, math.inf])
)


@cache
def shapes() -> RobotTransmissions:
    """Return a robot with limits of seven motors, in the order of :data:`SHAPES`."""
    every = 'lower="-1" upper="1" velocity="1" effort="1"'
    text = URDF.format(plugin='a/B', offset=0.0, **dict.fromkeys(
        ('winch', 'left', 'right'), f'<limit {every}/>'))  # fmt: skip
    more = ''
    for name, matrix in (('t', '1 0.5 -0.2; 0.3 -1 0.6'), ('f', '1; 0.5')):
        motors = ''.join(
            f'<actuator name="{name}m{k}" role="actuator{k}"><limit {every}/></actuator>'
            for k in range(1, 4 if name == 't' else 2)
        )
        more += ''.join(f'<joint name="{name}{k}"/>' for k in (1, 2))
        more += TENDONS.format(name, matrix, motors)
    links = ''.join(
        f'<link name="l{name}"/><joint name="{name}" type="continuous"><parent link="base"/>'
        f'<child link="l{name}"/></joint>'
        for name in ('t1', 't2', 'f1', 'f2')
    )
    text = text.replace('<ros2_control', f'{links}<ros2_control')
    made = RobotTransmissions(
        load_description(text.replace('</ros2_control>', f'{more}</ros2_control>'))
    )
    assert [tuple(binding.actuators) for binding in made.bindings] == [*SHAPES]
    return made


@settings(max_examples=200)
@given(
    row=st.sampled_from([0, 1, 2]),
    values=st.tuples(*[numbers] * 7),
    ends=st.tuples(*[st.tuples(numbers, numbers, magnitudes, magnitudes)] * 7),
    policy=st.sampled_from(['clamp', 'clamp', 'reject', 'ends']),
)
def test_no_actuator_beyond_a_limit(row: int, values: tuple, ends: tuple, policy: str) -> None:
    """Whatever is sent, what is inside is not touched, and the others keep their direction."""
    limits = ActuatorLimits(
        shapes(), BridgeOptions(limits='reject' if policy != 'clamp' else 'clamp')
    )
    one, other, velocity, effort = np.array(ends).T
    limits.bounds[0] = np.minimum(one, other), -velocity, -effort
    limits.bounds[1] = np.maximum(one, other), velocity, effort
    sent = np.full((3, 7), math.nan)
    sent[row] = values
    (lower, upper), before = limits.bounds[:, row], np.array(values)
    beyond = (before < lower - 1e-9 * (1 + abs(lower))) | (
        before > upper + 1e-9 * (1 + abs(upper))
    )
    coupled = np.isin(range(7), (0, 6), invert=True)
    # What ends a command is never rejected.
    rejected = beyond & (policy == 'reject' or (row == 0 and coupled)) & (policy != 'ends')
    effects = LimitEffects(None if policy == 'ends' else CommandCounts())
    if rejected.any():
        with pytest.raises(MessageError) as caught:
            limits.limit_actuators(sent, effects)
        assert caught.value.reason == 'actuator_limit'
        return
    limits.limit_actuators(sent, effects)
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


def test_rounding_is_not_refused() -> None:
    """A limit of a joint may equal the motor's; the product may differ in the last digit."""
    for place in range(1, 60):
        q = place / 61.0
        made = robot(left=f'upper="{20.0 * q!r}"', winch=f'upper="{50.0 * q!r}"')
        for policy in ('clamp', 'reject'):
            path = Path(made, limits=policy)
            sent = path(position={'lift': q, 'pitch': q / 3.0, 'roll': q - 2.0 * (q / 3.0) + q})
            assert sent['position']['left'] <= 20.0 * q
            assert sent['position']['winch'] <= 50.0 * q
            assert path.counts.clamped == {}


def test_an_actuator_that_two_transmissions_read_has_the_limits_of_both() -> None:
    """It is one motor, whichever of them commands it."""
    text = URDF.format(winch='<limit upper="30"/>', left='', right='', plugin='a/B', offset=0.0)
    text = text.replace('<link name="base"/>', f'<link name="base"/>{DIAL}')
    second = """<joint name="dial"/><transmission name="gauge">
      <plugin>transmission_interface/SimpleTransmission</plugin><joint name="dial"/>
      <actuator name="winch"><limit upper="{upper}" velocity="1"/></actuator></transmission>"""
    for upper, expected in ((20, 20.0), (40, 30.0)):
        end = f'{second.format(upper=upper)}</ros2_control>'
        made = RobotTransmissions(load_description(text.replace('</ros2_control>', end)))
        assert [each for each in made.findings if each.severity == 'error'] == []
        path = Path(made)
        assert path(position={'lift': 0.9}) == {'position': {'winch': expected}}
        assert path.counts.clamped == {'lift': 1}
        assert path(velocity={'lift': 0.9}) == {'velocity': {'winch': 1.0}}
    end = f'{second.format(upper=40)}</ros2_control>'.replace('upper', 'lower')
    made = RobotTransmissions(load_description(text.replace('</ros2_control>', end)))
    assert set(made.lost_joints) == {'lift', 'dial'}


def test_what_is_too_large_is_said_so() -> None:
    """A product beyond double precision is no number to be clamped or scaled."""
    path = Path(robot(winch='upper="30" velocity="5"', left='velocity="1"'))
    path.commands.limits.limit_joints = lambda *_, **__: None  # joints without limits
    for mode in ({'position': {'lift': 1e308}}, {'velocity': {'lift': -1e308}},
                 {'velocity': {'pitch': 1e308, 'roll': 1.0}}):  # fmt: skip
        with np.errstate(over='ignore'), pytest.raises(MessageError) as caught:
            path(**mode)
        assert caught.value.reason == 'unmapped'


# -- beyond a position limit ---------------------------------------------------------------------


def test_outward_commands_are_counted() -> None:
    """An effort that moves nothing outward may hold a load: it passes and is counted."""
    path = Path(robot())
    path.position[0] = 1.1
    assert path(velocity={'lift': 0.5}) == {'velocity': {'winch': 0.0}}
    assert path.counts.stopped == {'lift': 1}
    for velocity, is_ended in ((0.0, False), (0.005, False), (math.nan, False), (0.02, True)):
        path.velocity[0] = velocity
        sent = path(effort={'lift': 100.0})['effort']['winch']
        assert sent == (0.0 if is_ended else 2.0)
    assert path.counts.outward == {'lift': 3}
    assert path.counts.stopped == {'lift': 2}
    path = Path(robot(), limits='reject')
    path.position[0] = 1.1
    with pytest.raises(MessageError, match='further out'):
        path(velocity={'lift': 0.5})


# -- times ---------------------------------------------------------------------------------------


def test_the_age_of_a_command() -> None:
    """Refused is what is older by its stamp than it may be; a stamp of zero has no age."""
    check_command_age((10, 0), (10, 600_000_000), 0.0)
    check_command_age((0, 0), (10, 600_000_000), 0.5)
    check_command_age((10, 200_000_000), (10, 600_000_000), 0.5)
    with pytest.raises(MessageError, match=r'0\.600 s') as caught:
        check_command_age((10, 0), (10, 600_000_000), 0.5)
    assert caught.value.reason == 'too_old'
    check_command_age((10, 500_000_000), (10, 0), 0.2)


def test_a_command_from_the_future_is_rejected_where_age_counts() -> None:
    """A stamp more than half a second ahead of the clock gives no age."""
    check_command_age((11, 0), (10, 0), 0.0)
    with pytest.raises(MessageError, match=r'0\.501 s ahead') as caught:
        check_command_age((10, 501_000_000), (10, 0), 5.0)
    assert caught.value.reason == 'future_stamp'


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
def test_tuning_under_load(name: str, value: float, words: str) -> None:
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
def test_tuning_by_as_much_as_is_allowed(place: float) -> None:
    """It is accepted wherever the joint is, whatever its position is rounded to."""
    before = robot()
    for name, value in (('wrist.joints.roll.offset', 0.1), ('hoist.joints.lift.offset', 0.05)):
        check_ratios(before, before.with_parameters({name: value}), np.full(3, place), ALL)


@pytest.mark.parametrize('value', [1e-7, -1e-7, 1e7])
def test_ratios_out_of_all_reason(value: float) -> None:
    """They are a slip of the hand, also where nothing is commanded."""
    with pytest.raises(ParameterError, match='1e-06'):
        robot().with_parameters({'hoist.joints.lift.mechanical_reduction': value})
