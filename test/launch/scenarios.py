# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
What users do with the launch files, each as one function of a running system and a peer.

They know nothing of how the processes are started: see ``systems.py`` for both ways. That every
process ends on SIGINT with exit code 0 and without a traceback is asked of each of them.
"""

from __future__ import annotations

import math
import time

import numpy as np

from transmission_bridge.messages.joint_state import JointStateRecord
from transmission_bridge.resources import resource
from transmission_bridge.ros import launch_plan

ROBOT = str(resource('urdf', 'one_joint.urdf'))
CONFIG = str(resource('config', 'bridge.yaml'))

#: Joint position per motor position, and initial position of the simulated driver.
REDUCTION = 50.0

OFFSET = 'transmissions.hinge_transmission.joints.hinge.offset'
RATIO = 'transmissions.hinge_transmission.joints.hinge.mechanical_reduction'

#: Seconds after which a command that has shown no effect is sent again.
AGAIN = 2.0

#: Long enough for two hundred messages of the driver [s].
SILENCE = 0.5


def values(**given):
    """Return the values of ``bridge.launch.py``'s arguments, of the robot with one joint."""
    declared = launch_plan.list_arguments(params_file=CONFIG, description_file=ROBOT)
    known = launch_plan.collect_defaults(declared)
    assert set(given) <= set(known)
    return {**known, **given}


def start(system, driver=None, bridge=None, **given):
    """Start a driver and a bridge of the same arguments, with parameters of their own."""
    chosen = values(**given)
    system.start(launch_plan.plan_driver(chosen), driver)
    system.start(launch_plan.plan_bridge(chosen), bridge)


def move(joints, position, topic='joint_commands', joint='hinge'):
    """Command a joint to a position and return the state in which it is there."""
    peer, nothing = joints.peer, np.empty(0)
    command = JointStateRecord((0, 0), '', (joint,), np.array([position]), nothing, nothing)
    publisher = peer.publisher(topic)
    sent = -math.inf

    def send():
        # Again where it was lost: the bridge may not have found us when we have found it.
        nonlocal sent
        if time.monotonic() > sent + AGAIN:
            sent = time.monotonic()
            peer.send(publisher, command)

    return joints.at(position, meanwhile=send, joint=joint)


class Listener:
    """
    The messages of a topic, and waiting for one.

    :param peer: Who listens.
    :param topic: Where.
    """

    def __init__(self, peer, topic):
        self.peer = peer
        self.heard = peer.listen(topic)

    def next(self, what, condition=lambda record: True, meanwhile=lambda: None):
        """Return the first message from now on for which a condition holds."""
        del self.heard[:]
        return self.peer.spin_until(
            lambda: meanwhile() or next(filter(condition, self.heard), None), what
        )

    def at(self, position, tolerance=1e-3, meanwhile=lambda: None, joint=None):
        """Return the first state in which a joint, or the one motor, has this position."""

        def is_there(record):
            positions = dict(zip(record.names, record.position, strict=False))
            (first,) = positions.values() if joint is None else (positions.get(joint, math.nan),)
            return abs(first - position) <= tolerance

        return self.next(f'position {position}', is_there, meanwhile)

    def is_silent(self):
        """Tell whether nothing comes for a while, after what is still on its way."""
        for _ in range(2):
            del self.heard[:]
            end = time.monotonic() + SILENCE
            self.peer.spin_until(lambda end=end: time.monotonic() > end)
        return not self.heard

    def falls_silent(self):
        """Return when nothing has come for a while."""
        self.peer.spin_until(self.is_silent, 'silence')


def active(peer, node='transmission_bridge'):
    """Return when a bridge is active."""
    peer.spin_until(lambda: peer.state(node) == 'active', f'{node} active')


# -- scenarios -----------------------------------------------------------------------------------


def whole_life_cycle(system, peer, folder):
    """Through every state and back, data flowing while active and only then."""
    start(system, autostart='false')
    assert peer.state() == 'unconfigured'
    joints, motors = Listener(peer, 'joint_states'), Listener(peer, 'actuator_states')
    motors.next('a driver')
    assert peer.change_state('configure')
    assert peer.state() == 'inactive'
    assert joints.is_silent()
    assert peer.change_state('activate')
    assert move(joints, 0.5).names == ('hinge',)
    motors.at(0.5 * REDUCTION, tolerance=0.05)
    assert peer.change_state('deactivate')
    assert joints.is_silent()
    assert peer.change_state('cleanup')
    assert peer.state() == 'unconfigured'
    peer.start()
    joints.at(0.5)
    assert peer.change_state('deactivate')
    assert peer.change_state('cleanup')
    assert peer.change_state('unconfigured_shutdown')
    assert peer.state() == 'finalized'


def parameters_from_file(system, peer, folder):
    """The numbers of a parameter file hold; the arguments of the launch file stand above it."""
    file = folder / 'parameters.yaml'
    file.write_text(
        '/**: {ros__parameters: {autostart: false, command_joints: [hinge], transmissions: '
        '{hinge_transmission: {joints: {hinge: {offset: 0.125, mechanical_reduction: -20.0}}}}}}',
        encoding='utf-8',
    )
    start(system, params_file=str(file))
    active(peer)
    assert peer.parameters(['autostart', 'command_joints', OFFSET, RATIO]) == {
        'autostart': True,
        'command_joints': ['hinge'],
        OFFSET: 0.125,
        RATIO: -20.0,
    }
    # As ros2 param dump asks: one parameter that cannot be had would cost all the others.
    names = peer.parameter_names()
    assert None not in peer.parameters(names).values()
    joints, motors = Listener(peer, 'joint_states'), Listener(peer, 'actuator_states')
    joints.at(0.125)
    move(joints, 0.625)
    motors.at(-10.0, tolerance=0.02)


def two_robots(system, peer, folder):
    """Two robots side by side do not hear each other, and are tuned apart."""
    names = 'actuator_states:=motors/measured actuator_commands:=motors/wanted'
    for side in ('left', 'right'):
        start(system, namespace=side, remappings=names)
    for side in ('left', 'right'):
        active(peer, f'{side}/transmission_bridge')
    left, right = Listener(peer, 'left/joint_states'), Listener(peer, 'right/joint_states')
    move(left, 0.75, 'left/joint_commands')
    right.at(0.0)
    assert peer.set_parameters({OFFSET: -0.5}, 'right/transmission_bridge').successful
    right.at(-0.5)
    left.at(0.75)
    Listener(peer, 'left/motors/measured').at(0.75 * REDUCTION, tolerance=0.05)
    topics = {name for name, _ in peer.node.get_topic_names_and_types()}
    ours = {'joint_states', 'joint_commands', 'actuator_states', 'actuator_commands'}
    assert not topics & {f'/{name}' for name in ours}
    assert not topics & {f'/left/{name}' for name in ('actuator_states', 'actuator_commands')}


def two_topic_based_robots(system, peer, folder):
    """A command of one robot's hardware component moves no motor of the other robot."""
    for side in ('left', 'right'):
        start(
            system,
            namespace=side,
            robot_description_file=str(resource('urdf', 'topic_based.urdf')),
            params_file=str(resource('config', 'topic_based.yaml')),
            remappings=launch_plan.TOPIC_BASED,
        )
    for side in ('left', 'right'):
        active(peer, f'{side}/transmission_bridge')
    left, right = (Listener(peer, f'{side}/robot_joint_states') for side in ('left', 'right'))
    # Within the step that max_step allows, from the offset: the motor is at zero.
    move(left, 0.3, 'left/robot_joint_commands', joint='shoulder')
    right.at(0.1, joint='shoulder')
    topics = {name for name, _ in peer.node.get_topic_names_and_types()}
    assert not topics & {f'/{name}' for name in launch_plan.TOPIC_BASED.values()}


def driver_and_bridge_crash(system, peer, folder):
    """Without its driver joints are unknown; respawned, each is as good as new, and still."""
    # At a rate: it is the bridge that falls silent, because nothing is known any more.
    start(system, bridge={'publish': 'rate', 'state_timeout': 0.4}, respawn='true')
    active(peer)
    joints, orders = Listener(peer, 'joint_states'), Listener(peer, 'actuator_commands')
    move(joints, 0.5)
    system.crash('simulated_driver')
    joints.falls_silent()
    # The new one stands at zero and is not sent elsewhere: a command is not repeated for it.
    joints.at(0.0)
    assert peer.state() == 'active'
    move(joints, 0.5)
    system.crash('transmission_bridge')
    joints.falls_silent()
    del orders.heard[:]
    joints.at(0.5)
    assert not orders.heard
    move(joints, 0.25)


ALL = {
    scenario.__name__: scenario
    for scenario in (
        whole_life_cycle, parameters_from_file, two_robots,
        two_topic_based_robots, driver_and_bridge_crash,
    )
}  # fmt: skip
