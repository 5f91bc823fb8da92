# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Limits of actuators, beyond position limits, partners at zero, tuning."""

from __future__ import annotations

import math
import re

from command_paths import check_ratios, Commands, Trajectories
from hypothesis import given, settings
from hypothesis import strategies as st
import numpy as np
import pytest

from transmission_bridge.bridge.gate import find_command_timeouts
from transmission_bridge.bridge.inputs import check_command_age
from transmission_bridge.bridge.limits import ActuatorLimits, LimitEffects
from transmission_bridge.bridge.options import BridgeOptions
from transmission_bridge.description import load_description
from transmission_bridge.errors import MessageError, ParameterError
from transmission_bridge.messages.joint_state import LayoutTable
from transmission_bridge.messages.trajectory import TrajectoryRecord, Waypoint
from transmission_bridge.transmissions import RobotTransmissions
from transmission_bridge.types import EMPTY

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


def test_position_of_one_actuator_is_clamped() -> None:
    """If one actuator moves one joint, it stops at its limit without a measurement."""
    path = Path(robot(winch='lower="-20" upper="30"'))
    path.position[:] = math.nan
    assert path(position={'lift': 0.9}) == {'position': {'winch': 30.0}}
    assert path(position={'lift': -0.9}) == {'position': {'winch': -20.0}}
    assert path(position={'lift': 0.5}) == {'position': {'winch': 25.0}}
    assert path.counts.clamped == {'lift': 2}


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


@pytest.mark.parametrize('mode', ['position', 'velocity', 'effort'])
def test_reject_refuses(mode: str) -> None:
    """With limits: reject nothing is changed, and the last command stays in force."""
    path = Path(robot(winch='upper="1" velocity="1" effort="1"'), limits='reject')
    held = path.commands.held
    with pytest.raises(MessageError) as caught:
        path(**{mode: {'lift': 0.9 if mode != 'effort' else 90.0}})
    assert caught.value.reason == 'actuator_limit'
    assert np.array_equal(path.commands.held, held, equal_nan=True)
    off = Path(robot(winch='upper="1" velocity="1" effort="1"'), limits='off')
    assert off(**{mode: {'lift': 0.9}}) == Path(robot())(**{mode: {'lift': 0.9}})


def test_what_ends_is_never_refused() -> None:
    """A partner that would exceed a limit alone is slowed, so that the other joint does end."""
    path = Path(robot(left='velocity="15"'), limits='reject', timeout=1.0)
    path(now=0.0, velocity={'pitch': 1.0, 'roll': -1.0})
    path(now=0.9, velocity={'pitch': 1.0, 'roll': -1.0})
    path(now=1.0, velocity={'pitch': 1.0})
    (ended,) = path.commands.expire(path.position, (1, 0), 1.95)
    sent = dict(zip(ended.names, ended.velocity.tolist(), strict=True))
    assert sent == pytest.approx({'left': 15.0, 'right': -15.0})
    assert path.commands.held[1].tolist()[1:] == [1.0, 0.0]


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


def trajectory(joint: str, *points: tuple[float, float]) -> TrajectoryRecord:
    """Return positions and velocities, a second apart."""
    return TrajectoryRecord(
        (0, 0),
        '',
        (joint,),
        tuple(
            Waypoint((number + 1, 0), np.array([q]), np.array([v]), EMPTY, EMPTY)
            for number, (q, v) in enumerate(points)
        ),
    )


def test_trajectories_keep_them_too() -> None:
    """Each waypoint is held within the limits of the actuator."""
    made = robot(winch='upper="30" velocity="10"')
    path = Trajectories(made, Commands(made), partial_commands='hold')
    found = path.map(trajectory('lift', (0.45, 0.1), (0.9, 0.9)), np.zeros(3))
    assert [point.positions[0] for point in found.points] == [22.5, 30.0]
    assert [point.velocities[0] for point in found.points] == [5.0, 10.0]


def test_a_trajectory_that_is_too_long() -> None:
    """Mapping it would keep everything else waiting."""
    made = robot()
    path = Trajectories(made, Commands(made), partial_commands='hold', max_waypoints=3)
    path.map(trajectory('lift', *[(0.0, 0.0)] * 3), np.zeros(3))
    with pytest.raises(MessageError, match='4 waypoints') as caught:
        path.map(trajectory('lift', *[(0.0, 0.0)] * 4), np.zeros(3))
    assert caught.value.reason == 'too_many_points'


numbers = st.floats(-1e3, 1e3)


@given(st.tuples(numbers, numbers, numbers), st.tuples(*[st.floats(0.0, 1e3)] * 3))
def test_no_actuator_beyond_a_limit(values: tuple, bounds: tuple) -> None:
    """Whatever is sent, the last stage keeps its direction and leaves what is inside alone."""
    made = robot(*(f'velocity="{bound!r}" effort="{bound!r}"' for bound in bounds))
    limits = ActuatorLimits(made, BridgeOptions())
    for row in (1, 2):
        sent = np.full((3, 3), math.nan)
        sent[row] = values
        before, effects = sent.copy(), LimitEffects()
        limits.limit_actuators(sent, effects)
        assert (np.abs(sent[row]) <= bounds).all()
        assert np.isnan(sent[[0, 3 - row]]).all()
        for own in ([0], [1, 2]):
            old, new = before[row, own], sent[row, own]
            if (np.abs(old) <= np.array(bounds)[own]).all():
                assert np.array_equal(old, new)
                continue
            largest = np.abs(old).max()
            share = np.abs(new).max() / largest
            assert np.abs(new - share * old).max() <= 1e-12 * largest * max(share, 1e-3)


def test_what_ends_a_command_is_never_refused() -> None:
    """Also with limits: reject, a partner that continues alone is scaled."""
    path = Path(robot(left='velocity="1"'), limits='reject', timeout=0.5)
    path(velocity={'pitch': 0.5, 'roll': -1.0})  # which nearly cancel at the left motor
    path.commands.command_interface(
        'velocity', ['roll'], np.array([-1.0]), path.position, (0, 0), source='me', now=0.4
    )
    (message,) = path.commands.expire(path.position, (0, 0), 0.6)
    assert dict(zip(message.names, message.velocity.tolist(), strict=True)) == pytest.approx(
        {'left': -1.0, 'right': -1.0}
    )


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


def test_outward_velocity_becomes_zero() -> None:
    """Inward rates pass, and nothing changes if the position is unknown."""
    path = Path(robot())
    for position, outward in ((1.1, 1.0), (-1.1, -1.0)):
        path.position[0] = position
        assert path(velocity={'lift': 0.5 * outward}) == {'velocity': {'winch': 0.0}}
        assert path(velocity={'lift': -0.5 * outward}) == {'velocity': {'winch': -25.0 * outward}}
    assert path.counts.stopped == {'lift': 2}
    for position in (math.nan, 1.0):
        path.position[0] = position
        assert path(velocity={'lift': 0.5}) == {'velocity': {'winch': 25.0}}


def test_what_cannot_stop_alone_stops_together() -> None:
    """A finger has one motor: it stops if one of its joints has left its limits."""
    limit = '<limit lower="-1" upper="1" velocity="9" effort="9"/>'
    joints = ''.join(
        f'<joint name="{name}" type="revolute"><parent link="base"/><child link="{name}"/>'
        f'{limit}</joint><link name="{name}"/>'
        for name in ('near', 'far')
    )
    text = f"""<robot name="r"><link name="base"/>{joints}
    <ros2_control name="b" type="system"><joint name="near"/><joint name="far"/>
    <transmission name="finger"><plugin>transmission_bridge/CoupledTransmission</plugin>
      <param name="joint1">1.0</param><param name="joint2">0.5</param>
      <joint name="near" role="joint1"/><joint name="far" role="joint2"/>
      <actuator name="motor" role="actuator1"/></transmission></ros2_control></robot>"""
    path = Path(RobotTransmissions(load_description(text)))
    path.position, path.velocity = np.array([0.5, 1.1]), np.zeros(2)
    for names in (('near',), ('near', 'far')):
        for speed, expected in ((0.5, 0.0), (-0.5, -0.5)):
            ratio = {'near': 1.0, 'far': 0.5}
            sent = path(velocity={name: speed * ratio[name] for name in names})
            assert sent['velocity'] == {'motor': pytest.approx(expected)}


def test_a_partner_stops_too() -> None:
    """A velocity that a partner keeps ends if the partner has left its limits."""
    path = Path(robot())
    path(velocity={'pitch': 0.5, 'roll': 0.25})
    path.position[1] = 1.1
    partial = path(velocity={'roll': 0.25})
    path.position[1] = 0.0
    assert partial == path(velocity={'pitch': 0.0, 'roll': 0.25})


def test_outward_effort_ends_only_if_it_moves_out() -> None:
    """Else it may hold a load: it passes and is counted."""
    path = Path(robot())
    path.position[0] = 1.1
    for velocity, is_ended in ((0.0, False), (0.005, False), (math.nan, False), (0.02, True)):
        path.velocity[0] = velocity
        sent = path(effort={'lift': 100.0})['effort']['winch']
        assert sent == (0.0 if is_ended else 2.0)
    assert path.counts.outward == {'lift': 3}
    assert path.counts.stopped == {'lift': 1}
    path.velocity[0] = 0.02
    assert path(effort={'lift': -100.0})['effort']['winch'] == -2.0


def test_reject_and_off_beyond_a_limit() -> None:
    """``reject`` refuses what would become zero, ``off`` lets it pass."""
    path = Path(robot(), limits='reject')
    path.position[0] = 1.1
    with pytest.raises(MessageError, match='further out'):
        path(velocity={'lift': 0.5})
    path(velocity={'lift': -0.5})
    off = Path(robot(), limits='off')
    off.position[0] = 1.1
    assert off(velocity={'lift': 0.5}) == {'velocity': {'winch': 25.0}}


# -- partners, times -----------------------------------------------------------


@pytest.mark.parametrize('mode', ['velocity', 'effort'])
def test_a_partner_at_zero(mode: str) -> None:
    """With partial_commands: zero a partner has no velocity or effort, whatever it had before."""
    path = Path(robot(), partial_commands='zero')
    path(**{mode: {'pitch': 2.0, 'roll': 1.0}})
    assert path(**{mode: {'roll': 1.0}}) == path(**{mode: {'pitch': 0.0, 'roll': 1.0}})
    held = path(position={'roll': 0.1})
    assert held == path(position={'pitch': 0.0, 'roll': 0.1})


def test_timeouts_of_joints() -> None:
    """Half a second, and never if the component is silent at its target."""
    assert find_command_timeouts(robot(), -1.0) == [0.5] * 3
    topic_based = robot(plugin='joint_state_topic_hardware_interface/JointStateTopicSystem')
    assert find_command_timeouts(topic_based, -1.0) == [0.0] * 3
    assert find_command_timeouts(topic_based, 2.0) == [2.0] * 3
    assert find_command_timeouts(robot(), 0.0) == [0.0] * 3


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


@settings(max_examples=30)
@given(st.floats(-1.0, 1.0), st.floats(-0.5, 0.5))
def test_a_held_partner_keeps_its_actuators(roll: float, offset: float) -> None:
    """After its offset is tuned a partner holds its sent position, by the new numbers."""
    path = Path(robot())
    sent = path(position={'pitch': 0.25, 'roll': roll})
    tuned = path.robot.with_parameters({'wrist.joints.roll.offset': offset})
    path.commands.use(tuned)
    again = path(position={'pitch': 0.25})
    assert again['position'] == pytest.approx(sent['position'], abs=1e-12)
