# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""From joint commands to actuator commands: whole messages or nothing, and nothing invented."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from transmission_bridge.bridge.coupled import coupled_joints
from transmission_bridge.bridge.places import FIELDS, find_places, Places, PlanCache, shortened
from transmission_bridge.bridge.states import Stamp
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
    names a joint that cannot be commanded, holds an infinite number, or leaves a coupled joint
    without anything to hold, is refused as a whole.

    :param robot: The maps; exchanged by :meth:`use`.
    :param mixed_commands: ``split`` or ``nan``, see
        :class:`~transmission_bridge.bridge.options.BridgeOptions`.
    :param partial_commands: ``hold`` or ``reject``.
    :param on_stop: ``zero_rates`` or ``nothing``.
    :param zero_effort: Whether stopping also sends effort zero.
    :ivar report: What became NaN in position-dependent transmissions, and why.
    """

    def __init__(
        self,
        robot: RobotTransmissions,
        *,
        mixed_commands: str = 'split',
        partial_commands: str = 'hold',
        on_stop: str = 'zero_rates',
        zero_effort: bool = False,
    ) -> None:
        self._split = mixed_commands == 'split'
        self._hold = partial_commands == 'hold'
        self._stops = {'velocity', *(['effort'] if zero_effort else [])}
        if on_stop == 'nothing':
            self._stops = set()
        self.report = MapReport()
        self.use(robot)
        self._index = _commandable(robot)
        self._plans: PlanCache[Places] = PlanCache(self._plan)
        self.reset()

    def use(self, robot: RobotTransmissions) -> None:
        """Exchange the maps between two messages; joints and actuators must be the same."""
        self._robot = robot
        self._groups = coupled_joints(robot)

    def reset(self) -> None:
        """Forget every command."""
        self._held: Array = np.full((len(FIELDS), len(self._robot.joint_names)), np.nan)
        self._sent: Array = np.full((len(FIELDS), len(self._robot.actuator_names)), np.nan)

    def command(
        self, layout: Layout, data: JointStateData, measured_position: Array, stamp: Stamp
    ) -> list[JointStateRecord]:
        """
        Return the actuator commands that a joint command means.

        :param layout: Names and lengths of the message.
        :param data: The message.
        :param measured_position: Joint positions, shape ``(n_joints,)``, NaN where unknown.
        :param stamp: Stamp of the result.
        :returns: Messages that hold only actuators with a finite command, interfaces not
            commanded being empty arrays. Empty if nothing was commanded.
        :raises MessageError: If the message is refused; then nothing has changed.
        """
        plan = self._plans.get(layout)
        command = np.full(self._held.shape, np.nan)
        for field, numbers in enumerate((data.position, data.velocity, data.effort)):
            if len(numbers):
                command[field, plan.places] = numbers
        if np.isnan(command).all():
            return []
        self._refuse_infinite(command)
        for group in self._groups:
            group.complete(command, self._held, measured_position, hold=self._hold)
        sent = self._map(command, measured_position)
        self._remember(command, sent)
        return self._messages(sent, stamp)

    def stop(self, stamp: Stamp) -> list[JointStateRecord]:
        """
        Return what is to be sent before falling silent, and forget every command.

        Only an interface that an actuator was commanded last is set to zero.
        """
        zeros = np.where(np.isnan(self._sent), np.nan, 0.0)
        for field, interface in enumerate(FIELDS):
            if interface not in self._stops:
                zeros[field] = np.nan
        self.reset()
        return self._messages(zeros, stamp)

    def _plan(self, layout: Layout) -> Places:
        plan = find_places(layout, self._index)
        if plan.unknown:
            raise MessageError(
                'unknown_joint',
                f'joints that cannot be commanded: {shortened(plan.unknown)}',
            )
        return plan

    def _refuse_infinite(self, command: Array) -> None:
        infinite = np.isinf(command).any(axis=0)
        if infinite.any():
            names = [self._robot.joint_names[place] for place in np.flatnonzero(infinite)]
            raise MessageError('infinite', f'infinite commands for {", ".join(names)}')

    def _map(self, command: Array, measured_position: Array) -> Array:
        """Map all interfaces; rates use the commanded position, else the measured one."""
        position = self._robot.joint_to_actuator('position', command[0], report=self.report)
        at = np.where(np.isnan(command[0]), measured_position, command[0])
        velocity = self._robot.joint_to_actuator('velocity', command[1], at=at, report=self.report)
        effort = self._robot.joint_to_actuator(
            'effort', command[2], at=measured_position, report=self.report
        )
        sent = np.stack([position, velocity, effort])
        self._refuse_unmapped(command, sent)
        return sent

    def _refuse_unmapped(self, command: Array, sent: Array) -> None:
        """Refuse a command that a transmission could not map: it must not be half applied."""
        for binding in self._robot.bindings:
            joints, actuators = list(binding.joints), list(binding.actuators)
            owned = [place for place, own in zip(actuators, binding.owned, strict=True) if own]
            asked = ~np.isnan(command[:, joints]).all(axis=1)
            lost = asked & ~np.isfinite(sent[:, owned]).all(axis=1)
            if lost.any():
                fields = ', '.join(FIELDS[field] for field in np.flatnonzero(lost))
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

    def _messages(self, sent: Array, stamp: Stamp) -> list[JointStateRecord]:
        given: Mask = ~np.isnan(sent)
        commanded: Mask = np.any(given, axis=0)
        fields: Mask = np.any(given, axis=1)
        if not commanded.any():
            return []
        modes = given[:, commanded]
        if not self._split or (modes == modes[:, :1]).all():
            return [self._message(sent, commanded, fields, stamp)]
        return [
            self._message(sent, given[field], np.arange(len(FIELDS)) == field, stamp)
            for field in range(len(FIELDS))
            if given[field].any()
        ]

    def _message(
        self, sent: Array, actuators: Mask, fields: Mask, stamp: Stamp
    ) -> JointStateRecord:
        names = self._robot.actuator_names
        position, velocity, effort = (
            sent[field][actuators] if fields[field] else np.empty(0)
            for field in range(len(FIELDS))
        )
        return JointStateRecord(
            stamp,
            '',
            tuple(names[place] for place in np.flatnonzero(actuators)),
            position,
            velocity,
            effort,
        )


def _commandable(robot: RobotTransmissions) -> dict[str, int]:
    """
    Return the places of the joints that may be commanded.

    Not those whose transmission only reads: an actuator of it is commanded through another one,
    or the description says ``read_only``.
    """
    barred = {
        member.name
        for binding in robot.bindings
        for member in binding.spec.joints
        if not all(binding.owned)
        or any(member.read_only for member in (*binding.spec.joints, *binding.spec.actuators))
    }
    return {name: place for place, name in enumerate(robot.joint_names) if name not in barred}
