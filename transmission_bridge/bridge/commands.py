# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""From joint commands to actuator commands: whole messages or nothing, and nothing invented."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from transmission_bridge.bridge.actuator_messages import actuator_messages
from transmission_bridge.bridge.command_ages import CommandAges
from transmission_bridge.bridge.command_plan import array_command, command_names, plan_command
from transmission_bridge.bridge.command_shape import CommandShape, CommandShapes
from transmission_bridge.bridge.command_sources import CommandSources
from transmission_bridge.bridge.held_commands import HeldCommands
from transmission_bridge.bridge.limits import CommandLimits
from transmission_bridge.bridge.places import PlanCache
from transmission_bridge.bridge.stamps import Stamp
from transmission_bridge.bridge.trajectory_end import TrajectoryEnd
from transmission_bridge.bridge.unmapped import mend_or_refuse, refuse_infinite, unmapped_by
from transmission_bridge.errors import MessageError
from transmission_bridge.messages.joint_state import JointStateData, JointStateRecord
from transmission_bridge.messages.layout import Layout
from transmission_bridge.transmissions import MapReport, RobotTransmissions
from transmission_bridge.transmissions.affine_map import Array
from transmission_bridge.transmissions.interfaces import FIELDS, JOINT_TO_ACTUATOR

__all__ = ['CommandPath']

Mask = npt.NDArray[np.bool_]


class CommandPath:
    """
    Checks, completes and maps joint commands.

    Position, velocity and effort of a message are commands, NaN is no command. A message that
    cannot be used is refused as a whole and changes nothing. Time going backwards ends every
    command. See :class:`~transmission_bridge.bridge.options.BridgeOptions` for the choices.

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
        self._ages = CommandAges(len(robot.joint_names), timeout)
        self.report = MapReport()
        self.limits = CommandLimits(robot, limits)
        self._sources = CommandSources(robot.joint_names)
        self.contested, self.counts = self._sources.contested, self._sources.counts
        self.use(robot)
        known = self._known = command_names(robot)
        self._plans = PlanCache(lambda layout: plan_command(layout, known))
        self.reset()

    def use(self, robot: RobotTransmissions) -> None:
        """Exchange the maps between two messages; joints and actuators must be the same."""
        self._robot = robot
        self._mapper = robot.stream(JOINT_TO_ACTUATOR)
        self._shapes = CommandShapes(robot, merged=self._mixed == 'nan')

    def reset(self) -> None:
        """Forget every command."""
        self._mapper.forget()
        self._held = HeldCommands(len(self._robot.joint_names), len(self._robot.actuator_names))
        self._ages.reset()
        self._sources.reset()
        self._given: Mask = np.empty(self._held.joints.shape, dtype=bool)
        self._mapped: Mask = np.empty(self._held.actuators.shape, dtype=bool)

    @property
    def held(self) -> Array:
        """Commands held, rows position, velocity, effort, shape ``(3, n_joints)``; a copy."""
        held: Array = self._held.joints.copy()
        return held

    def held_at(self, now: float) -> Array:
        """See :meth:`HeldCommands.at`; not to be changed."""
        return self._held.at(now)

    @property
    def held_positions(self) -> Mask:
        """See :attr:`HeldCommands.positions`."""
        return self._held.positions

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
        self.notice(now)
        command = self._plans.get(layout).read(data)
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

        For ``interface``, ``names`` and ``values`` see :func:`array_command`, for the rest see
        :meth:`command`.

        :raises MessageError: If it is refused; then nothing has changed.
        """
        self.notice(now)
        command = array_command(interface, names, values, self._known)
        return self._apply(command, measured_position, stamp, source, now)

    def _apply(
        self, command: Array, measured_position: Array, stamp: Stamp, source: str, now: float
    ) -> list[JointStateRecord]:
        """Do to a command, which is changed, all that is done to commands."""
        shape = self._shapes.get(np.isfinite(command, self._given))
        if not shape.is_full and np.isinf(command).any():
            refuse_infinite(self._robot, command)
        if not len(shape.given):
            return []
        if shape.is_mixed and self._mixed == 'reject':
            raise MessageError(
                'mixed', 'joints commanded in different modes (mixed_commands is reject)'
            )
        counts = self.counts[source]
        changed = self.limits.apply(command, counts=counts)
        sent = self._complete(command, shape, measured_position, now, hold=self._hold)
        self.limits.count_clamped(changed, counts)
        if self._ages.matter:
            self._ages.renew(shape.given, now)
        self._sources.credit(shape.given, source)
        return shape.records(sent, stamp)

    def _complete(
        self,
        command: Array,
        shape: CommandShape,
        measured_position: Array,
        now: float,
        *,
        hold: bool,
    ) -> Array:
        """Complete, map and remember a command; nothing is remembered of one that is refused."""
        for group in shape.partial:
            group.complete(command, self._held.at(now), measured_position, hold=hold)
        sent = self._mapper.of_command(command, measured_position, self.report)
        if np.isfinite(sent, self._mapped).tobytes() != shape.result:
            mend_or_refuse(self._robot, command, sent, self._mapped, shape.result)
        self._held.replace(command, sent, shape)
        return sent

    def adopt(self, end: TrajectoryEnd, *, source: str, now: float) -> None:
        """
        Take over where a trajectory ends that was sent elsewhere.

        From its start on it is what its joints do; it times out only after its end. Before that, a
        joint that is not commanded is held where it is measured, and not sent to the end at once.
        A newer command for one of its joints counts instead of a trajectory that is to start.

        :param now: Time [s].
        """
        self._sources.credit(np.flatnonzero(end.named), source)
        self._held.await_start(end)
        self._start_trajectories(now)

    def _start_trajectories(self, now: float) -> None:
        for end in self._held.start_trajectories(now):
            self._ages.renew(end.named, end.until)

    # -- ends of commands ------------------------------------------------------------------------

    def notice(self, now: float) -> None:
        """
        Look whether time went backwards, so that what was commanded before is over.

        And whether a trajectory starts, so that it is what its joints do.

        Rates are still to be ended by :meth:`expire`, where there is a timeout. Every command
        begins with it; before :meth:`held_at` the caller has to.

        :param now: Time [s].
        """
        if self._ages.went_back(now):
            self._held.forget_positions(rates=not self._ages.matter)
        elif self._held.upcoming:
            self._start_trajectories(now)

    def expire(self, measured_position: Array, stamp: Stamp, now: float) -> list[JointStateRecord]:
        """
        Return what ends the commands that are older than the timeout; each is ended once.

        Velocity and effort become zero; a position command is no longer held. Joints coupled to
        these go on as they were commanded, or end too where that cannot be mapped.

        :param now: Time [s], of the clock that gave the times of receipt.
        """
        self.notice(now)
        if not self._ages.matter:
            return []
        over = self._ages.take_old(now)
        if not over.any():
            return []
        ending = np.where(over & ~np.isnan(self._held.joints), 0.0, np.nan)
        ending[0] = np.nan
        for group in self._shapes.groups:
            group.keep_partners(ending, self._held.joints)
        shape = self._shapes.get(np.isfinite(ending))
        try:
            sent = self._complete(ending, shape, measured_position, now, hold=True)
        except MessageError:
            # A partner cannot go on where its position is not known: it ends as well.
            for binding in unmapped_by(self._robot, ending, self._mapped):
                ending[:, list(binding.joints)] *= 0.0
            sent = self._complete(ending, shape, measured_position, now, hold=True)
        self._held.forget(over)
        # What coupled joints were made to hold is over once no command of theirs is alive.
        for group in self._shapes.groups:
            if not self._ages.is_any_alive(group.joints):
                self._held.forget(group.joints)
        return shape.records(sent, stamp)

    def stop(self, stamp: Stamp) -> list[JointStateRecord]:
        """
        Return what is to be sent before falling silent, and forget every command.

        Only an interface that an actuator was commanded last is set to zero.
        """
        zeros = np.where(np.isnan(self._held.actuators), np.nan, 0.0)
        zeros[~np.array(self._stopped_fields)] = np.nan
        self.reset()
        return actuator_messages(
            self._robot.actuator_names, zeros, stamp, merged=self._mixed == 'nan'
        )
