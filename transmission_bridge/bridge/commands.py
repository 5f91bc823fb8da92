# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""From joint commands to actuator commands: whole messages or nothing, and nothing invented."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from transmission_bridge.bridge.actuator_messages import actuator_messages
from transmission_bridge.bridge.command_plan import command_names, CommandPlan, plan_command
from transmission_bridge.bridge.coupled import coupled_joints
from transmission_bridge.bridge.limits import CommandLimits
from transmission_bridge.bridge.merged_states import Stamp
from transmission_bridge.bridge.places import FIELDS, PlanCache
from transmission_bridge.bridge.statistics import CommandCounts
from transmission_bridge.bridge.trajectory_end import TrajectoryEnd
from transmission_bridge.errors import MessageError
from transmission_bridge.messages.joint_state import JointStateData, JointStateRecord
from transmission_bridge.messages.layout import Layout
from transmission_bridge.transmissions import MapReport, RobotTransmissions
from transmission_bridge.transmissions.affine_map import Array

__all__ = ['CommandPath']

Mask = npt.NDArray[np.bool_]


class CommandPath:
    """
    Checks, completes and maps joint commands.

    Position, velocity and effort of a message are commands, NaN is no command. A message that
    cannot be used is refused as a whole and changes nothing. See
    :class:`~transmission_bridge.bridge.options.BridgeOptions` for the choices.

    :param robot: The maps; exchanged by :meth:`use`.
    :param mixed_commands: ``split``, ``nan`` or ``reject``.
    :param partial_commands: ``hold`` or ``reject``.
    :param limits: ``clamp``, ``reject`` or ``off``.
    :param on_stop: ``zero_rates`` or ``nothing``.
    :param zero_effort: Whether stopping also sends effort zero.
    :param timeout: Seconds after which a joint's command is over; 0: never.
    :ivar report: What became NaN in position-dependent transmissions, and why.
    :ivar limits: The limits, with the counts of what they changed and refused.
    :ivar contested: Commands to a joint that another source had commanded, by joint.
    :ivar counts: What was clamped, refused for a limit, and contested, by source and joint.
    """

    def __init__(
        self,
        robot: RobotTransmissions,
        *,
        mixed_commands: str = 'split',
        partial_commands: str = 'hold',
        limits: str = 'clamp',
        on_stop: str = 'zero_rates',
        zero_effort: bool = False,
        timeout: float = 0.0,
    ) -> None:
        self._mixed = mixed_commands
        self._hold = partial_commands == 'hold'
        stops = ('velocity', 'effort') if zero_effort else ('velocity',)
        self._stopped_fields = [
            on_stop == 'zero_rates' and interface in stops for interface in FIELDS
        ]
        self._timeout = timeout
        self.report = MapReport()
        self.limits = CommandLimits(robot, limits)
        self.contested: Counter[str] = Counter()
        self.counts: defaultdict[str, CommandCounts] = defaultdict(CommandCounts)
        self.use(robot)
        known = command_names(robot)
        self._index = known.commandable
        self._plans: PlanCache[CommandPlan] = PlanCache(lambda layout: plan_command(layout, known))
        self.reset()

    def use(self, robot: RobotTransmissions) -> None:
        """Exchange the maps between two messages; joints and actuators must be the same."""
        self._robot = robot
        self._groups = coupled_joints(robot)

    def reset(self) -> None:
        """Forget every command."""
        n_joints = len(self._robot.joint_names)
        self._held: Array = np.full((len(FIELDS), n_joints), np.nan)
        self._sent: Array = np.full((len(FIELDS), len(self._robot.actuator_names)), np.nan)
        self._received: Array = np.full(n_joints, np.inf)
        self._commanded_by: list[str] = [''] * n_joints

    @property
    def held(self) -> Array:
        """Commands held, rows position, velocity, effort, shape ``(3, n_joints)``; a copy."""
        held: Array = self._held.copy()
        return held

    @property
    def held_positions(self) -> Mask:
        """Which joints hold a position command, shape ``(n_joints,)``."""
        held: Mask = ~np.isnan(self._held[0])
        return held

    # -- commands --------------------------------------------------------------------------------

    def command(
        self,
        layout: Layout,
        data: JointStateData,
        measured_position: Array,
        stamp: Stamp,
        *,
        source: str = 'joint_commands',
        now: float = 0.0,
    ) -> list[JointStateRecord]:
        """
        Return the actuator commands that a joint command means.

        :param layout: Names and lengths of the message.
        :param data: The message.
        :param measured_position: Joint positions, shape ``(n_joints,)``, NaN where unknown.
        :param stamp: Stamp of the result.
        :param source: Where the command comes from.
        :param now: Time of receipt [s].
        :returns: Messages that hold only actuators with a finite command, interfaces not
            commanded being empty arrays. Empty if nothing was commanded.
        :raises MessageError: If the message is refused; then nothing has changed.
        """
        command = self._plans.get(layout).read(data, len(self._robot.joint_names))
        return self._apply(command, measured_position, stamp, source, now)

    def command_interface(
        self,
        interface: str,
        names: Sequence[str],
        values: Array,
        measured_position: Array,
        stamp: Stamp,
        *,
        source: str,
        now: float = 0.0,
    ) -> list[JointStateRecord]:
        """
        Return the actuator commands that a plain array of one interface means.

        A wrong size or any value that is not finite drops it all, as ros2_control's
        forward_command_controller does. For the rest see :meth:`command`.

        :param interface: ``position``, ``velocity`` or ``effort``.
        :param names: The joints that the values are for, each commandable.
        :param values: One per joint.
        :raises MessageError: If it is refused; then nothing has changed.
        """
        if len(values) != len(names):
            raise MessageError('size', f'expected {len(names)} values, found {len(values)}')
        if not np.isfinite(values).all():
            raise MessageError('not_finite', 'a value is not finite')
        command = np.full(self._held.shape, np.nan)
        command[FIELDS.index(interface), [self._index[name] for name in names]] = values
        return self._apply(command, measured_position, stamp, source, now)

    def _apply(
        self, command: Array, measured_position: Array, stamp: Stamp, source: str, now: float
    ) -> list[JointStateRecord]:
        given: Mask = ~np.isnan(command)
        if not given.any():
            return []
        self._refuse_mixed(given)
        self.limits.apply(command, counts=self.counts[source])
        for group in self._groups:
            group.complete(command, self._held, measured_position, hold=self._hold)
        sent = self._map(command, measured_position)
        self._remember(command, sent)
        self._credit(np.any(given, axis=0), source, now)
        return self._messages(sent, stamp)

    def _refuse_mixed(self, given: Mask) -> None:
        modes = given[:, given.any(axis=0)]
        if self._mixed == 'reject' and not (modes == modes[:, :1]).all():
            raise MessageError(
                'mixed', 'joints commanded in different modes (mixed_commands is reject)'
            )

    def _map(self, command: Array, measured_position: Array) -> Array:
        """Map all interfaces; velocities use the commanded position, else the measured one."""
        sent = np.full(self._sent.shape, np.nan)
        for row, interface in enumerate(FIELDS):
            if np.isnan(command[row]).all():
                continue
            at = measured_position
            if interface == 'velocity':
                at = np.where(np.isnan(command[0]), measured_position, command[0])
            sent[row] = self._robot.joint_to_actuator(
                interface, command[row], at=at, guess=self._sent[0], report=self.report
            )
        self._refuse_unmapped(command, sent)
        return sent

    def _refuse_unmapped(self, command: Array, sent: Array) -> None:
        """Refuse a command that a transmission could not map: it must not be half applied."""
        for binding in self._robot.bindings:
            joints, actuators = list(binding.joints), list(binding.actuators)
            asked = ~np.isnan(command[:, joints]).all(axis=1)
            lost = asked & ~np.isfinite(sent[:, actuators]).all(axis=1)
            if lost.any():
                fields = ', '.join(FIELDS[row] for row in np.flatnonzero(lost))
                raise MessageError(
                    'unmapped',
                    f'{fields} commands cannot be mapped by {binding.spec.name}: out of its '
                    'domain, singular, or its position is unknown',
                )

    def _remember(self, command: Array, sent: Array) -> None:
        """A new command replaces all modes of its joint, so that no old mode is held."""
        for held, new in ((self._held, command), (self._sent, sent)):
            commanded = ~np.isnan(new).all(axis=0)
            held[:, commanded] = new[:, commanded]

    def _credit(self, commanded: Mask, source: str, now: float) -> None:
        """Note who commanded joints and when; the newest wins."""
        for place in np.flatnonzero(commanded):
            if self._commanded_by[place] not in ('', source):
                name = self._robot.joint_names[place]
                self.contested[name] += 1
                self.counts[source].contested[name] += 1
            self._commanded_by[place] = source
        self._received[commanded] = now

    def adopt(self, end: TrajectoryEnd, *, source: str, until: float) -> None:
        """
        Take over where a trajectory ends that was sent elsewhere.

        :param until: When it ends [s]; its commands time out from then on.
        """
        self._held[:, end.joints] = np.nan
        self._held[0, end.joints] = end.joint_position[end.joints]
        self._sent[:, end.actuators] = np.nan
        self._sent[0, end.actuators] = end.actuator_position[end.actuators]
        self._credit(end.named, source, until)

    # -- ends of commands ------------------------------------------------------------------------

    def expire(self, measured_position: Array, stamp: Stamp, now: float) -> list[JointStateRecord]:
        """
        Return what ends the commands that are older than the timeout; each is ended once.

        Velocity and effort become zero; a position command is no longer held.

        :param now: Time [s], of the clock that gave the times of receipt.
        """
        if not self._timeout:
            return []
        over: Mask = now - self._received > self._timeout
        if not over.any():
            return []
        self._received[over] = np.inf
        ending = np.where(over & ~np.isnan(self._held), 0.0, np.nan)
        ending[0] = np.nan
        self._held[0, over] = np.nan
        try:
            return self._end(ending, measured_position, stamp)
        finally:
            self._held[:, over] = np.nan

    def _end(
        self, ending: Array, measured_position: Array, stamp: Stamp
    ) -> list[JointStateRecord]:
        for group in self._groups:
            group.complete(ending, self._held, measured_position, hold=True)
        sent = self._map(ending, measured_position)
        self._remember(ending, sent)
        return self._messages(sent, stamp)

    def stop(self, stamp: Stamp) -> list[JointStateRecord]:
        """
        Return what is to be sent before falling silent, and forget every command.

        Only an interface that an actuator was commanded last is set to zero.
        """
        zeros = np.where(np.isnan(self._sent), np.nan, 0.0)
        zeros[~np.array(self._stopped_fields)] = np.nan
        self.reset()
        return self._messages(zeros, stamp)

    def _messages(self, sent: Array, stamp: Stamp) -> list[JointStateRecord]:
        return actuator_messages(
            self._robot.actuator_names, sent, stamp, merged=self._mixed == 'nan'
        )
