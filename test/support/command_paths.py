# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""The commands of a bridge, given plain arrays of what is measured."""

from __future__ import annotations

import numpy as np
import pytest

from transmission_bridge.bridge.bridge import Bridge
from transmission_bridge.bridge.ledger import Ledger
from transmission_bridge.bridge.options import BridgeOptions
from transmission_bridge.bridge.plan import Plan
from transmission_bridge.bridge.states import KnownState
from transmission_bridge.bridge.tuning_guard import check_tuning
from transmission_bridge.errors import MessageError
from transmission_bridge.messages.cdr import JointStateReader
from transmission_bridge.messages.joint_state import Layout


def reason(act, *given, **more):
    """Return why something is rejected."""
    with pytest.raises(MessageError) as caught:
        act(*given, **more)
    return caught.value.reason


def read_sent(outgoing):
    """Return a message to a driver with its JointState as a record."""
    if isinstance(outgoing.content, bytes):
        return outgoing._replace(
            content=JointStateReader().read_message(outgoing.content).copy_record()
        )
    return outgoing


class Commands:
    """
    A bridge that is told what is known of the robot.

    :param timeout: ``command_timeout``; here nothing expires by default.
    :param options: Other options of the bridge.
    :ivar sent: What was sent to the drivers.
    :ivar open_turns: Actuators in an unknown turn, ``None``: none.
    """

    def __init__(self, robot, *, timeout=0.0, **options):
        self.sent = []
        self.bridge = Bridge(robot, BridgeOptions(command_timeout=timeout, **options), self._send)
        self.bridge.states = self
        self.gate, self.ledger = self.bridge.gate, self.bridge.gate.ledger
        self.open_turns = self.shift = self.silent = None
        self._known = ()
        self.reset = self.gate.reset

    def _send(self, outgoing):
        self.sent += map(read_sent, outgoing)

    def find_known_state(self, plan, now):
        """Return what is known, as the states of the bridge do."""
        position, velocity, returned = self._known
        unknown = np.full(len(self.held[0]), np.nan)
        return KnownState(
            now,
            unknown if position is None else position,
            unknown if velocity is None else velocity,
            self.open_turns,
            self.shift,
            self.silent,
            returned,
        )

    def replace_plan(self, before, after):
        """Have no maps of states."""

    def _act(self, known, act, *given):
        """Do something while something is known; return the JointStates that are sent."""
        before, self._known = len(self.sent), known
        act(*given)
        messages = self.sent[before:]
        return [each.content for each in messages if each.topic == 'actuator_commands']

    def command(
        self, layout, data, position, stamp, *, measured_velocity=None, now=0.0, source=None
    ):
        """Command joints by a JointState."""
        known = position, measured_velocity, None
        given = layout, data, stamp, now, source or 'joint_commands'
        return self._act(known, self.bridge.send_joint_command, *given)

    def send(self, record, position=None, **more):
        """Command joints by a record; by default no position is known."""
        layout = Layout(record.names, record.lengths)
        return self.command(layout, record, position, record.stamp, **more)

    def map(self, trajectory, position, *, now=0.0, velocity=None, start=None):
        """Send a trajectory; return it as it is sent to the first driver."""
        known, before = (position, velocity, None), len(self.sent)
        self._act(known, self.bridge.send_joint_trajectory, trajectory, now, start)
        return self.sent[before].content

    def stop(self, stamp, now=0.0):
        """Fall silent."""
        return self._act((None, None, None), self.bridge.send_stop, stamp, now)

    @property
    def held(self):
        """The joint commands."""
        return self.ledger.joints.copy()

    @property
    def counts(self):
        """Counts of the commands of each topic."""
        return self.ledger.counts


def check_ratios(before, after, position, live):
    """Check tuned maps while joints without an active position, velocity or effort are live."""
    plans = [Plan(robot, BridgeOptions()) for robot in (before, after)]
    check_tuning(*plans, position, live, Ledger(plans[0]))
