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

#: Motor positions per joint position of the robot with one joint.
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
    declared = launch_plan.list_arguments(
        params_file=str(resource('config', 'bridge.yaml')),
        description_file=str(resource('urdf', 'one_joint.urdf')),
    )
    values = {**launch_plan.collect_defaults(declared), **given}
    system.start(launch_plan.plan_driver(values), {})
    system.start(launch_plan.plan_bridge(values), parameters or {})


class Listener:
    """
    The positions of the one joint or motor of a topic, and waiting for one.

    :param peer: Who listens.
    :param topic: Where.
    """

    def __init__(self, peer, topic):
        self.peer = peer
        self.heard = peer.listen(topic)

    def at(self, position, tolerance=1e-3, meanwhile=lambda: None):
        """Return when from now on a message with this position comes."""
        del self.heard[:]
        self.peer.spin_until(
            lambda: (
                meanwhile()
                or any(abs(each.position[0] - position) <= tolerance for each in self.heard)
            ),
            f'position {position}',
        )

    def falls_silent(self):
        """Return when nothing has come for a while, after what is still on its way."""

        def is_silent():
            del self.heard[:]
            end = time.monotonic() + SILENCE
            self.peer.spin_until(lambda: time.monotonic() > end)
            return not self.heard

        self.peer.spin_until(is_silent, 'silence')


def move(joints, position, topic='joint_commands'):
    """Command the joint to a position and return when it is there."""
    peer, nothing = joints.peer, np.empty(0)
    command = JointStateRecord((0, 0), '', ('hinge',), np.array([position]), nothing, nothing)
    publisher = peer.publisher(topic)
    sent = -math.inf

    def send():
        # Again where it was lost: the bridge may not have found us when we have found it.
        nonlocal sent
        if time.monotonic() > sent + AGAIN:
            sent = time.monotonic()
            peer.send(publisher, command)

    joints.at(position, meanwhile=send)


def active(peer, node='transmission_bridge'):
    """Return when a bridge is active."""
    peer.spin_until(lambda: peer.state(node) == 'active', f'{node} active')


# -- scenarios -----------------------------------------------------------------------------------


def two_robots(system, peer):
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


def driver_and_bridge_crash(system, peer):
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


ALL = {each.__name__: each for each in (two_robots, driver_and_bridge_crash)}
