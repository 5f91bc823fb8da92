# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""The hardware component that maps, in ros2_control's controller manager, cycle by cycle."""

from __future__ import annotations

import math
import os
from pathlib import Path

from component_manager import find_missing, install
from mapped_scene import near, SCENE, SceneManager
import numpy as np
import pytest

pytest.importorskip('casadi', reason='CasADi is not installed (extra mechanisms)')
from transmission_bridge.description import load_description
from transmission_bridge.tools.main import main
from transmission_bridge.transmissions import RobotTransmissions

HERE = Path(__file__).parent
EXAMPLE = HERE.parents[2] / 'examples' / 'mapped_system'
MORE = '<!-- The other parameters'
EXAMPLE_URDF = EXAMPLE / 'urdf' / 'mapped.urdf'
NAN = math.nan
POSITIONS = ('pitch', 'roll', 'lift', 'finger', 'knee')

#: The controllers of ros2_controllers, and their parameters.
NAMES = ('broadcaster', 'arm', 'forward', 'push')
CONTROLLERS = """
arm:
  ros__parameters:
    joints: [pitch, roll, lift]
    command_interfaces: [position]
    state_interfaces: [position, velocity]
forward:
  ros__parameters: {joints: [pitch, roll], interface_name: velocity}
push:
  ros__parameters: {joints: [pitch, roll]}
"""

MISSING = find_missing('controller_manager')
needs_ros = pytest.mark.skipif(bool(MISSING), reason=MISSING)


@pytest.fixture(scope='session', params=['small', pytest.param('ros', marks=needs_ros)])
def workspace(request, tmp_path_factory):
    """Build the component of the scene, and the drivers and the manager of these tests."""
    root = tmp_path_factory.mktemp('workspace')
    if request.param == 'small':
        return root, None
    (root / 'scene.urdf').write_text(SCENE, encoding='utf-8')
    for robot, name in ((root / 'scene.urdf', 'scene_map'), (EXAMPLE_URDF, 'mapped_map')):
        assert main(['compile', str(robot), '--output', str(root / name), '--ros2-control']) == 0
        install(root / name, root)
    install(HERE, root)
    install(EXAMPLE, root)
    return root, root / 'install'


def start_ros(root, prefix, urdf, active, parameters):
    """Return the manager of ros2_control."""
    file = root / 'parameters.yaml'
    own = ''.join(f'    {name}: {{params_file: [{file}]}}\n' for name in NAMES)
    head = f'controller_manager:\n  ros__parameters:\n{own}'
    file.write_text(head + parameters, encoding='utf-8')
    env = dict(os.environ)
    env['AMENT_PREFIX_PATH'] = os.pathsep.join((str(prefix), env['AMENT_PREFIX_PATH']))
    env['LD_LIBRARY_PATH'] = os.pathsep.join((str(prefix / 'lib'), env.get('LD_LIBRARY_PATH', '')))
    if preload := env.pop('PRELOAD_OF_ROS', ''):
        env['LD_PRELOAD'] = preload
    program = prefix / 'lib' / 'test_motors' / 'manager'
    return SceneManager((program, '--ros-args', '--params-file', file), urdf, root, active, env)


@pytest.fixture
def manage(workspace, build_once):
    """Return a function that starts a manager; each has to end well."""
    (root, prefix), started = workspace, []

    def start(urdf=SCENE, active='active', parameters='', compiled=SCENE):
        if prefix:
            started.append(start_ros(root, prefix, urdf, active, parameters))
        else:
            name, more = 'scene_map', []
            if compiled != SCENE:
                name, more = 'mapped_map', [EXAMPLE / 'src' / 'motors.cpp']
            program = build_once(compiled, name, 'new', more)
            started.append(SceneManager([program], urdf, root, active))
        return started[-1]

    yield start
    for each in started:
        assert each.end() == 0, each.log


@pytest.fixture
def manager(manage):
    """Return the manager of the scene, active, with controllers."""
    it = manage()
    assert it('components') == {'scene': 'active'}
    return it


def test_the_driver_gets_motors_and_its_own_parameters(manager):
    """Parameters of an actuator, or of its only joint; none of the component."""
    assert manager('parameters') == {
        'm1.id': '1',
        'm2.id': '2',
        'winch.id': '7',
        'port': '/dev/ttyUSB0',
        'winch.position_unit': 'deg',
    }
    assert not manager.complaints
    assert manager('calls') == ['init', 'configure', 'activate']


def test_states_and_commands_are_those_of_the_maps(manager):
    """In each cycle of a walk, position and velocity of all transmissions."""
    manager.script('all', *(f'{name}/position' for name in POSITIONS))
    manager('switch +all')
    random = np.random.default_rng(45)
    place = dict.fromkeys(POSITIONS, 0.0)
    for _ in range(100):
        place = {name: x + random.uniform(-0.02, 0.02) for name, x in place.items()}
        goal = {name: x + random.uniform(-0.01, 0.01) for name, x in place.items()}
        manager.measure('position', **place, free=0.25)
        manager.move('all', *goal.values())
        states = manager('states')
        assert manager.is_sent('position', **goal)
        found = {n: states[f'{n}/position'] for n in (*place, 'free', 'thumb')}
        assert found == near(**place, free=0.25, thumb=-2.0 * place['finger'] + 0.1)


def test_half_a_pair_cannot_start_and_stops_the_pair(manager):
    """A start is refused with a sentence; a stop is accepted, and the rates of both end."""
    assert manager('switch +pitch') == 'refused'
    assert "transmission 'wrist': expected position commands of all its 2 joints" in manager.log
    assert manager('switch +pitch_rate +roll_rate') == 'ok'
    manager('calls', 'set pitch_rate 0.1')
    manager.move('roll_rate', 0.2)
    assert manager('motors')['m1/velocity'] == pytest.approx(15.0)
    assert manager('switch -pitch_rate') == 'ok'
    assert manager('calls') == [f'{x} -m1/velocity -m2/velocity' for x in ('prepare', 'perform')]
    manager('cycle 2')
    assert manager.is_sent('velocity', pitch=0.0, roll=0.0)
    assert manager('states')['wrist/status'] == 64


def test_modes_are_switched_in_motion(manager):
    """What is released is not written, velocities end with zero, old numbers have no effect."""
    manager.activate('wrist', 0.7, 0.1)
    manager.measure('position', pitch=0.6, roll=0.05)
    assert manager('switch -wrist +rates') == 'ok'
    manager.move('rates', 0.1, -0.1, cycles=2)
    assert manager.is_sent('position', pitch=0.7, roll=0.1)
    assert manager('motors')['m2/velocity'] == pytest.approx(-10.0)
    assert manager('switch -rates +wrist') == 'ok'
    manager('cycle 1')
    assert manager.is_sent('velocity', pitch=0.0, roll=0.0)
    assert manager.is_sent('position', pitch=0.6, roll=0.05)
    manager('switch -wrist')
    manager.activate('efforts', 1.0, 0.5)
    assert manager.is_sent('effort', pitch=1.0, roll=0.5)


def test_a_controller_that_fails_in_the_cycle_stops_its_motors(manager):
    """The manager stops interfaces in the cycle; the rates end."""
    manager.activate('rates', 0.1, 0.2)
    assert manager('fail rates', 'cycle 3', 'controllers')['rates'] != 'active'
    assert manager.is_sent('velocity', pitch=0.0, roll=0.0)
    assert manager('components') == {'scene': 'active'}


def test_a_command_without_a_result_holds_and_ends(manage):
    """Positions hold and velocities are zero at once; then the component is deactivated."""
    manager = manage(SCENE.replace('lower="-0.8" upper="0.8"', 'lower="-4" upper="4"'))
    manager.measure('position', knee=0.1)
    manager.activate('bend', 0.2, 0.5)
    good = manager('motors')
    assert good['cylinder/velocity'] != 0.0
    manager.move('bend', 3.0, 0.5)
    motors = manager('motors')
    assert motors['cylinder/position'] == good['cylinder/position']
    assert motors['cylinder/velocity'] == 0.0
    assert manager('cycle 1', 'states')['leg/status'] == 1
    assert manager('cycle 60', 'components') == {'scene': 'inactive'}
    manager.wait_for("'leg' of joint 'knee': no result, its actuators hold: outside of the range")


def test_nothing_is_written_without_a_number(manager):
    """NaN is no command."""
    assert manager('switch +lift', 'cycle 2', 'motors')['winch/position'] == 0.0
    assert math.isnan(manager('motors')['screw/position'])


def test_what_the_map_does_not_know_passes(manager):
    """By role of the joint, and GPIO by name."""
    manager('measure m1/temperature 40', 'measure winch/temperature 50')
    manager.activate('gain', 3.0, 1.0, cycles=2)
    motors, states = manager('motors'), manager('states')
    assert motors['winch/gain'] == 3.0
    assert (states['pitch/temperature'], states['lift/temperature']) == (40.0, 50.0)


@pytest.mark.parametrize(
    ('fault', 'state', 'calls'),
    [
        ('read', 'unconfigured', ['error', 'configure', 'activate']),
        ('write', 'unconfigured', ['error', 'configure', 'activate']),
        ('write_deactivate', 'inactive', ['deactivate', 'activate']),
    ],
)
def test_a_driver_that_fails_takes_the_component_with_it_once(manager, fault, state, calls):
    """Its on_error has run once; configure and activate recover both."""
    manager('calls', f'fault {fault}', 'cycle 3')
    assert manager('components') == {'scene': state}
    assert manager('component scene active') == 'ok'
    assert manager('calls') == calls


@pytest.mark.parametrize('how', ['shutdown', 'component scene finalized'])
def test_a_shutdown_in_motion_ends_the_rates(manager, how):
    """At Ctrl-C, or on request, the motors have the zero, and the driver is shut down."""
    manager.activate('rates', 0.1, 0.2)
    assert manager('motors')['m1/velocity'] == pytest.approx(15.0)
    manager(how)
    assert 'the motors are shut down' in manager.log
    assert manager('motors')['m1/velocity'] == 0.0


def test_a_dry_run_never_writes(manage):
    """States are mapped, the motors stay off."""
    it = manage(SCENE.replace('<!-- more -->', '<param name="dry_run">true</param>'))
    assert it('components') == {'scene': 'active'}
    it.activate('rates', 0.1, 0.2, cycles=3)
    it.measure('position', pitch=0.2, roll=0.1)
    assert it('cycle 1', 'calls') == ['init', 'configure']
    assert all(map(math.isnan, it('motors').values()))
    it.wait_for('dry run: m1/velocity would be ')
    assert it('states')['pitch/position'] == pytest.approx(0.2)


def test_an_old_driver(manage):
    """With the exports of former versions."""
    it = manage(SCENE.replace('test_motors/Motors', 'test_motors/OldMotors'))
    it.measure('position', pitch=0.2, roll=0.1)
    it.activate('wrist', 0.3, 0.1, cycles=2)
    assert it.is_sent('position', pitch=0.3, roll=0.1)
    assert it('states')['pitch/position'] == pytest.approx(0.2)


def test_the_turn_of_a_single_turn_encoder(manage):
    """The limits of its joint determine it; a motion is counted on."""
    it = manage(
        SCENE.replace('<!-- more -->', '<param name="wrap_period">screw=7</param>').replace(
            'lower="-0.5" upper="0.5"', 'lower="-0.3" upper="0.3"'
        ),
        'inactive',
    )
    assert it('measure screw/position 5', 'cycle 2', 'component scene active') == 'ok'
    assert it('cycle 1', 'states')['finger/position'] == pytest.approx(-0.2)
    it.activate('grip', -0.1)
    assert it('motors')['screw/position'] == pytest.approx(6.0)
    it('measure screw/position 0.5', 'cycle 2')
    assert it('states')['finger/position'] == pytest.approx(0.05)
    # Where no turn fits, activation fails.
    it('component scene inactive', 'component scene unconfigured', 'measure screw/position 3.5')
    it('component scene inactive', 'component scene active')
    assert it('components') == {'scene': 'inactive'}
    assert "the turn of actuator 'screw' is unknown" in it.log


@needs_ros
def test_the_controllers_of_ros2_controllers(manage, workspace):
    """Broadcaster, trajectories, forwarded velocities and efforts, one after the other."""
    if not workspace[1]:
        pytest.skip('the small manager has no controllers')
    it = manage(SCENE, parameters=CONTROLLERS)
    for name, kind in (
        ('broadcaster', 'joint_state_broadcaster/JointStateBroadcaster'),
        ('arm', 'joint_trajectory_controller/JointTrajectoryController'),
        ('forward', 'forward_command_controller/ForwardCommandController'),
        ('push', 'effort_controllers/JointGroupEffortController'),
    ):
        assert it(f'load {name} {kind}') == '0', it.log
    goal = {'pitch': 0.6, 'roll': 0.1, 'lift': 0.2}
    assert it('switch +broadcaster +arm') == 'ok'
    it('cycle 5')
    words = ' '.join(f'{name} {value}' for name, value in goal.items())
    trajectory = f'trajectory /arm/joint_trajectory {words}'
    it.wait_until(lambda: it.is_sent('position', **goal), 'the goal', trajectory, 'wait 0.2')
    it.measure('position', **goal)
    it('wait 0.3')
    assert {n: it('joint_states')[n] for n in goal} == near(**goal)
    assert it('switch -arm +forward') == 'ok'
    rates, efforts = {'pitch': 0.1, 'roll': -0.1}, {'pitch': 1.0, 'roll': 0.5}
    publish = 'publish /forward/commands 0.1 -0.1'
    it.wait_until(lambda: it.is_sent('velocity', **rates), 'the velocities', publish)
    assert it('switch -forward +push') == 'ok'
    assert it('motors')['m2/velocity'] == 0.0
    publish = 'publish /push/commands 1.0 0.5'
    it.wait_until(lambda: it.is_sent('effort', **efforts), 'the efforts', publish)
    assert not it.complaints


def test_an_asynchronous_component(manage):
    """Its thread reads and writes beside the cycle and the switches."""
    it = manage(SCENE.replace('type="system"', 'type="system" is_async="true"'))
    it.measure('position', pitch=0.2, roll=0.1)
    for _ in range(5):
        assert it('switch +wrist') == 'ok'
        it('set wrist 0.3 0.1', 'wait 0.3')
        assert it.is_sent('position', pitch=0.3, roll=0.1)
        assert it('switch -wrist +rates') == 'ok'
        it('set rates 0.1 -0.1', 'wait 0.3')
        assert it('motors')['m2/velocity'] == pytest.approx(-10.0)
        assert it('switch -rates') == 'ok'
        assert it('wait 0.3', 'motors')['m2/velocity'] == 0.0
    assert it('states')['pitch/position'] == pytest.approx(0.2)


def test_two_components_and_the_driver_of_ros2_control(manage):
    """Each has its own transmissions; names of the other one have no effect on a switch."""
    start, middle = SCENE.index('    <joint name="finger"><command'), '<transmission name="wrist">'
    part = SCENE[start : SCENE.index('    <gpio')]
    grip = SCENE[SCENE.index('    <transmission name="grip">') : SCENE.index('  </ros2_control>')]
    assert middle in SCENE
    second = f"""
  <ros2_control name="hand" type="system">
    <hardware>
      <plugin>scene_map/MappedSystem</plugin>
      <param name="driver_plugin">mock_components/GenericSystem</param>
    </hardware>
{part}{grip}  </ros2_control>
</robot>"""
    it = manage(SCENE.replace(part, '').replace(grip, '').replace('\n</robot>', second))
    it.script('both', 'pitch/position', 'roll/position', 'finger/position')
    assert it('components') == {'scene': 'active', 'hand': 'active'}
    assert it('switch +both') == 'ok'
    it('set both 0.6 0.1 0.1', 'cycle 3')
    # The mock follows at once, the other driver stands still.
    states = it('states')
    assert (states['finger/position'], states['thumb/position']) == pytest.approx((0.1, -0.1))
    assert states['pitch/position'] == pytest.approx(0.5)
    assert it.is_sent('position', pitch=0.6, roll=0.1)


def test_the_example_moves_as_its_readme_says(manage):
    """The joints reach the goal, also those that the rod moves, and each status is 0."""
    text = EXAMPLE_URDF.read_text(encoding='utf-8')
    it = manage(text.replace(MORE, f'<param name="max_step">off</param>{MORE}'), compiled=text)
    goal = {'hip': 0.2, 'knee': -0.3, 'shoulder': 0.4, 'elbow': -0.2, 'wrist_pitch': 0.3}
    goal['wrist_roll'] = 0.5
    it.script('all', *(f'{name}/position' for name in goal))
    assert it('switch +all') == 'ok'
    it(f'set all {" ".join(map(str, goal.values()))}')

    def find_joints(names):
        states = it('states')
        return {name: states[f'{name}/position'] for name in names}

    it.wait_until(lambda: find_joints(goal) == near(**goal), 'the goal')
    robot = RobotTransmissions(load_description(EXAMPLE_URDF))
    motors = robot.joint_to_actuator(
        'position', np.array([goal.get(name, NAN) for name in robot.joint_names])
    )
    joints = dict(zip(robot.joint_names, robot.actuator_to_joint('position', motors), strict=True))
    passive = {name: float(joints[name]) for name in ('knee_crank', 'knee_rod')}
    assert find_joints(passive) == near(**passive)
    states = it('states')
    assert [states[f'{name}/status'] for name in ('leg', 'arm', 'wrist')] == [0, 0, 0]
    assert not it.complaints
