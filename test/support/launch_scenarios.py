# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
What users do with the launch files, each as one function of a running system and a peer.

They know nothing of how the processes are started: ``test/launch`` has both ways, as a system
with ``start(plan, parameters)`` and ``crash(name)``. That every process ends on SIGINT with exit
code 0 and without a traceback is asked of each of them.
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

#: Seconds after which a command that has shown no effect is sent again.
AGAIN = 2.0

#: Long enough for two hundred messages of the driver [s].
SILENCE = 0.5


def name_of(plan):
    """Return the name of a node with its namespace."""
    return f'{plan.namespace}/{plan.name}' if plan.namespace else plan.name


def start(system, parameters=None, **given):
    """
    Start a driver and a bridge of the robot with one joint.

    :param parameters: Further parameters of the bridge.
    :param given: Arguments of ``bridge.launch.py``.
    """
    declared = launch_plan.list_arguments(params_file=CONFIG, description_file=ROBOT)
    known = launch_plan.collect_defaults(declared)
    assert set(given) <= set(known)
    system.start(launch_plan.plan_driver({**known, **given}))
    system.start(launch_plan.plan_bridge({**known, **given}), parameters)


def move(joints, position, topic='joint_commands', joint='hinge'):
    """Command a joint to a position and return when it is there."""
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

    joints.at(position, meanwhile=send, joint=joint)


class Listener:
    """
    The messages of a topic, and waiting for one.

    :param peer: Who listens.
    :param topic: Where.
    """

    def __init__(self, peer, topic):
        self.peer = peer
        self.heard = peer.listen(topic)

    def at(self, position, tolerance=1e-3, meanwhile=lambda: None, joint=None):
        """Return when from now on a joint, or the one motor, has this position."""

        def is_there(record):
            positions = dict(zip(record.names, record.position, strict=False))
            (first,) = positions.values() if joint is None else (positions.get(joint, math.nan),)
            return abs(first - position) <= tolerance

        del self.heard[:]
        self.peer.spin_until(
            lambda: meanwhile() or any(map(is_there, self.heard)), f'position {position}'
        )

    def falls_silent(self):
        """Return when nothing has come for a while, after what is still on its way."""

        def is_silent():
            del self.heard[:]
            end = time.monotonic() + SILENCE
            self.peer.spin_until(lambda: time.monotonic() > end)
            return not self.heard

        self.peer.spin_until(is_silent, 'silence')


def active(peer, node='transmission_bridge'):
    """Return when a bridge is active."""
    peer.spin_until(lambda: peer.state(node) == 'active', f'{node} active')


# -- scenarios -----------------------------------------------------------------------------------


SIDES = ('left', 'right')


def start_side_by_side(system, peer, **given):
    """Start a robot in the namespace of each side."""
    for side in SIDES:
        start(system, namespace=side, **given)
    for side in SIDES:
        active(peer, f'{side}/transmission_bridge')


def two_robots(system, peer, folder):
    """Two robots side by side do not hear each other, and are tuned apart."""
    names = 'actuator_states:=motors/measured actuator_commands:=motors/wanted'
    start_side_by_side(system, peer, remappings=names)
    left, right = (Listener(peer, f'{side}/joint_states') for side in SIDES)
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
    start_side_by_side(
        system,
        peer,
        robot_description_file=str(resource('urdf', 'topic_based.urdf')),
        params_file=str(resource('config', 'topic_based.yaml')),
        remappings=launch_plan.TOPIC_BASED,
    )
    left, right = (Listener(peer, f'{side}/robot_joint_states') for side in SIDES)
    # Within the step that max_step allows, from the offset: the motor is at zero.
    move(left, 0.3, 'left/robot_joint_commands', joint='shoulder')
    right.at(0.1, joint='shoulder')
    topics = {name for name, _ in peer.node.get_topic_names_and_types()}
    assert not topics & {f'/{name}' for name in launch_plan.TOPIC_BASED.values()}


def driver_and_bridge_crash(system, peer, folder):
    """Without its driver joints are unknown; respawned, each is as good as new, and still."""
    # At a rate: it is the bridge that falls silent, because nothing is known any more.
    start(system, {'publish': 'rate', 'state_timeout': 0.4}, respawn='true')
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
    for scenario in (two_robots, two_topic_based_robots, driver_and_bridge_crash)
}
