# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""The gate with its command and trajectory path, given plain arrays of what is measured."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from transmission_bridge.bridge.commands import CommandPath
from transmission_bridge.bridge.gate import Gate, KnownState
from transmission_bridge.bridge.options import BridgeOptions
from transmission_bridge.bridge.trajectories import TrajectoryPath
from transmission_bridge.bridge.tuning_guard import check_tuning
from transmission_bridge.errors import MessageError
from transmission_bridge.messages.joint_state import Layout


def reason(act, *given, **more):
    """Return why something is rejected."""
    with pytest.raises(MessageError) as caught:
        act(*given, **more)
    return caught.value.reason


class Commands:
    """
    A gate and a command path.

    :param timeout: ``command_timeout``; here nothing expires by default.
    :param options: Other options of the bridge.
    :ivar sent: What was sent to the drivers.
    :ivar open_turns: Actuators in an unknown turn, ``None``: none.
    """

    def __init__(self, robot, *, timeout=0.0, drivers=None, **options):
        self.options = BridgeOptions(command_timeout=timeout, **options)
        self.sent = []
        self.gate = Gate(robot, self.options, drivers=drivers, send=self.sent.extend)
        self.path = CommandPath(robot, self.gate, self.options)
        self.open_turns = None
        self.shift = self.silent = None
        self.use = self.gate.replace_maps
        self.reset = self.gate.reset

    def known(self, position, now, velocity=None):
        """Return what is known if joints were measured at positions, and at velocities."""
        unknown = np.full(len(position), np.nan)
        return KnownState(
            now,
            position,
            unknown if velocity is None else velocity,
            self.open_turns,
            self.shift,
            self.silent,
        )

    def command(self, layout, data, position, stamp, *, measured_velocity=None, now=0.0, **more):
        """Command joints by a JointState."""
        known = self.known(position, now, measured_velocity)
        return self.path.send_message(layout, data, known, stamp, **more)

    def send(self, record, position=None, **more):
        """Command joints by a record; by default no position is known."""
        if position is None:
            position = np.full(self.held.shape[1], np.nan)
        layout = Layout(record.names, record.lengths)
        return self.command(layout, record, position, record.stamp, **more)

    def command_interface(
        self, interface, names, values, position, stamp, *, source, measured_velocity=None, now=0.0
    ):
        """Command joints by a plain array."""
        known = self.known(position, now, measured_velocity)
        return self.path.send_array(interface, names, values, known, stamp, source=source)

    def look(self, position, now):
        """Have the gate note the time; return what is known."""
        known = self.known(position, now)
        self.gate.update_ledger(known)
        return known

    def expire(self, position, stamp, now):
        """End the commands whose time is over."""
        return self.gate.end_expired_commands(self.look(position, now), stamp)

    def stop(self, stamp, now=None):
        """Fall silent."""
        now = self.gate.ledger._latest if now is None else now
        unknown = np.full(len(self.held[0]), np.nan)
        return self.gate.send_stop(self.look(unknown, now), stamp)

    def driver_was_silent(self, actuators):
        """Have the driver of actuators come back from silence."""
        unknown = np.full(len(self.held[0]), np.nan)
        known = self.known(unknown, self.gate.ledger._latest)
        self.gate.update_ledger(known._replace(returned=actuators))

    def update_clock(self, now):
        """Let time pass."""
        self.gate.ledger.update_clock(now)

    def held_at(self, now):
        """Return the joint commands without joints that execute a trajectory."""
        return self.gate.ledger.find_held_commands(now)

    @property
    def held(self):
        """The joint commands."""
        return self.gate.ledger.joints.copy()

    @property
    def held_positions(self):
        """The joints that hold a position."""
        return self.gate.ledger.find_position_joints()

    @property
    def left_efforts(self):
        """The joints that keep their last effort."""
        return self.gate.ledger.kept_efforts

    @property
    def limits(self):
        """The limits of the joints."""
        return self.gate.limits

    @property
    def counts(self):
        """Counts of the commands of each topic."""
        return self.gate.ledger.counts

    @property
    def report(self):
        """What became NaN, and why."""
        return self.gate.report


class Trajectories:
    """
    A trajectory path beside a command path.

    :param options: Options of the bridge that are not those of the commands.
    """

    def __init__(self, robot, commands, **options):
        self._commands = commands
        self.path = TrajectoryPath(robot, commands.gate, replace(commands.options, **options))
        self.use = commands.gate.replace_maps

    def map(self, trajectory, position, *, now=0.0, velocity=None, **more):
        """Send a trajectory."""
        return self.path.send_message(
            trajectory, self._commands.known(position, now, velocity), **more
        )


def check_ratios(before, after, position, live):
    """Check tuned maps while joints without an active position, velocity or effort are live."""
    nothing = np.full((3, len(live)), np.nan)
    check_tuning(before, after, position, live, nothing, BridgeOptions())
