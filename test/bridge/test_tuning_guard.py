# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""The guard of tuning under load: no commanded joint moves suddenly."""

from hypothesis import given, strategies as st
import numpy as np
import pytest
from world import check_ratios, World
from zoo import elements
from zoo.elements import load, pair, params, transmission
from zoo.robots import maps

from transmission_bridge.errors import ParameterError


@pytest.mark.parametrize(
    ('name', 'value', 'words'),
    [
        ('hoist.joints.lift.mechanical_reduction', 4.0, 'move in the opposite direction'),
        ('hoist.joints.lift.mechanical_reduction', -8.1, 'instead of -0.25'),
        ('hoist.joints.lift.mechanical_reduction', -1.9, 'instead of -0.25'),
        ('hoist.joints.lift.mechanical_reduction', -4.1, 'shift by 0.122 m'),
        ('hoist.joints.lift.offset', 0.31, 'shift by 0.06 m'),
        ('wrist.joints.roll.offset', -0.01, 'shift by 0.11 rad'),
        ('hoist.joints.lift.mechanical_reduction', -4.03, ''),
        ('hoist.joints.lift.offset', 0.29, ''),
        ('wrist.joints.roll.offset', 0.19, ''),
    ],
)
def test_tuning_under_load(name, value, words):
    """Refused is what would turn, stretch or shift the motion of a commanded joint at once."""
    before = maps('wrist')
    after = before.with_parameters({name: value})
    at = 20.0 * (np.array(before.actuator_names) == 'winch')
    every = np.ones(len(before.joint_names), dtype=bool)
    if words:
        with pytest.raises(ParameterError, match=words) as caught:
            check_ratios(before, after, at, every)
        assert 'tuning_guard' in str(caught.value)
    else:
        check_ratios(before, after, at, every)
    check_ratios(before, after, at, ~every)
    own = ('lift',) if name.startswith('hoist') else ('roll', 'pitch')
    check_ratios(before, after, at, np.isin(before.joint_names, own, invert=True))


def test_a_shift_that_is_unknown_is_refused():
    """After the change the mechanism does not reach the position where it is."""
    bounds = {'a': 'revolute lower="-9" upper="9" velocity="3" effort="9"'}
    curve = params(actuator='0 1 2', joint='0 1 2')
    before = elements.maps(bounds, transmission('cam', 'Tabulated', 'a', ['m'], curve))
    after = before.with_parameters({'cam.actuators.m.mechanical_reduction': 0.9})
    with pytest.raises(ParameterError, match='shift by an unknown distance'):
        check_ratios(before, after, np.array([1.9]), np.ones(1, dtype=bool))


@pytest.mark.parametrize(
    ('name', 'value'), [('wrist.joints.roll.offset', 0.2), ('hoist.joints.lift.offset', 0.3)]
)
@given(place=st.floats(-100.0, 100.0))
def test_tuning_by_as_much_as_is_allowed(name, value, place):
    """It is accepted wherever the joint is, whatever its position is rounded to."""
    before = maps('wrist')
    after = before.with_parameters({name: value})
    check_ratios(before, after, np.full(4, place), np.ones(4, dtype=bool))


@pytest.mark.parametrize('value', [1e-7, -1e-7, 1e7])
def test_ratios_out_of_all_reason(value):
    """They are a slip of the hand, also where nothing is commanded."""
    with pytest.raises(ParameterError, match='1e-06'):
        maps('wrist').with_parameters({'hoist.joints.lift.mechanical_reduction': value})


@pytest.mark.parametrize('name', ['four_bar_knee', 'five_bar', 'push_rod_ankle'])
def test_only_the_commanded_joints_of_a_linkage_are_looked_at(linkages, name):
    """A small change passes, a sudden one is refused; passive joints only follow."""
    robot = load(linkages[name], strict=True)
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


def test_a_tuned_limit_does_not_move_a_commanded_joint():
    """A limit that would move what is commanded, or what was clamped, is refused."""
    world = World(pair('<limit lower="-1" upper="1" velocity="5" effort="5"/>'))
    world.state(position=(0.0, 0.0))
    for command, limit, value, words in (
        ({'position': 0.0}, 'lower', 0.5, r'j1 would shift by 0\.5 rad'),
        ({'position': 0.0}, 'upper', -0.5, r'j1 would shift by 0\.5 rad'),
        ({'position': 1.4}, 'upper', 2.0, r'j1 would shift by 0\.4 rad'),
        ({'effort': 5.0}, 'effort', 1.0, 'effort 1 instead of 5'),
    ):
        world.command(**{mode: {'j1': number} for mode, number in command.items()})
        with pytest.raises(ParameterError, match=words):
            world.tune({f't1.actuators.m1.limit.{limit}': value})
    world.command(velocity={'j1': 15.0})
    world.tune({'t1.actuators.m1.limit.velocity': 1.0})
    with pytest.raises(ParameterError, match='velocity 10 instead of 1'):
        world.tune({'t1.actuators.m1.limit.velocity': 10.0})
    world.wait(1.0)
    world.tune({'t1.actuators.m1.limit.velocity': 10.0})
    # A joint that keeps an effort has no command, and its motor still has the effort.
    world.command(effort={'j1': 5.0})
    world.wait(1.0)
    assert world.gate.ledger.kept_efforts == ('j1',)
    with pytest.raises(ParameterError, match='effort 1 instead of 5'):
        world.tune({'t1.actuators.m1.limit.effort': 1.0})


@pytest.mark.parametrize('change', [{'actuators.m1.limit.upper': 0.5}, {'joints.j1.offset': 0.3}])
@pytest.mark.parametrize('start', [0.0, 9.0])
def test_the_end_of_a_trajectory_is_guarded(change, start):
    """A change that would move its last position is rejected, while it runs or waits."""
    world = World(pair('<limit lower="-1" upper="1"/>'))
    world.state(position=(0.0, 0.0))
    world.trajectory('j1', (9.0, {'positions': 0.9}), start=world.now + start)
    world.wait(1.0)
    with pytest.raises(ParameterError, match='would shift by'):
        world.tune({'t1': change})
    world.tune({'t0.joints.j0.offset': 0.3})


def test_tuning_does_not_move_joints_to_the_limit_of_one_that_follows():
    """A change by which the limit of one joint would move another joint too far is rejected."""
    pair = transmission('pair', 'Coupled', ('j0', 'j1'), ('m0',), params(matrix='1; 0.2'))
    limits = {'j0': 'revolute lower="-9" upper="9"', 'j1': 'revolute lower="-1" upper="1"'}
    world = World(elements.maps(limits, pair))
    world.state(position=(4.9,))
    world.command(position={'j0': 4.9})  # j1 is at 0.98
    with pytest.raises(ParameterError):
        world.tune({'pair.joints.j1.offset': 0.05})
    world.tune({'pair.joints.j1.offset': 0.03})
    assert world.command(position={'j0': 4.9}) == {'position': {'m0': pytest.approx(4.85)}}
