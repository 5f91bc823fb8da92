# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""From messages with joint commands to complete commands for the gate."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from transmission_bridge.bridge.command_plan import array_command, command_names, plan_command
from transmission_bridge.bridge.gate import Gate, Known
from transmission_bridge.bridge.inputs import CommandCounts, PlanCache, Stamp
from transmission_bridge.bridge.limits import LimitEffects
from transmission_bridge.bridge.options import BridgeOptions
from transmission_bridge.errors import MessageError, shortened
from transmission_bridge.messages.joint_state import JointStateData, JointStateRecord, Layout
from transmission_bridge.transmissions import RobotTransmissions
from transmission_bridge.types import Array, Mask


class CommandPath:
    """
    Reads, checks and completes joint commands, and passes them to the gate.

    Position, velocity and effort of a message are commands, NaN means no command. A message that
    is rejected changes nothing, except that an active velocity or effort ends if its replacement
    cannot be mapped.

    :param robot: Gives the names and their interfaces, which tuning does not change.
    :param gate: Maps and sends the commands.
    :param options: The choices of the user.
    """

    def __init__(
        self, robot: RobotTransmissions, gate: Gate, options: BridgeOptions | None = None
    ) -> None:
        self._options = options or BridgeOptions()
        self._robot = robot
        self._gate = gate
        known = self._names = command_names(robot)
        self._plans = PlanCache(lambda layout: plan_command(layout, known))
        self._given: Mask = np.empty(gate.ledger.joints.shape, dtype=bool)

    def command(
        self,
        layout: Layout,
        data: JointStateData,
        known: Known,
        stamp: Stamp,
        *,
        source: str = 'joint_commands',
    ) -> list[JointStateRecord]:
        """
        Send the actuator commands that a joint command means.

        :param layout: Names and lengths of the message.
        :param data: The message.
        :param known: What is known now.
        :param stamp: Stamp of the result.
        :param source: Topic of the command.
        :returns: Messages that name only actuators with a finite command, and have an empty array
            for an interface that is not commanded. No message if nothing was commanded.
        :raises MessageError: If the message is rejected.
        """
        self._gate.look(known)
        return self._apply(self._plans.get(layout).read(data), known, stamp, source)

    def command_interface(
        self,
        interface: str,
        names: Sequence[str],
        values: Array,
        known: Known,
        stamp: Stamp,
        *,
        source: str,
    ) -> list[JointStateRecord]:
        """
        Send the actuator commands that a plain array of one interface means.

        For ``interface``, ``names`` and ``values`` see :func:`array_command`, for the rest see
        :meth:`command`.
        """
        self._gate.look(known)
        command = array_command(interface, names, values, self._names)
        return self._apply(command, known, stamp, source)

    def _apply(
        self, command: Array, known: Known, stamp: Stamp, source: str
    ) -> list[JointStateRecord]:
        gate, ledger = self._gate, self._gate.ledger
        pattern = gate.patterns.get(np.isfinite(command, self._given))
        if not pattern.is_full and np.isinf(command).any():
            infinite = np.flatnonzero(np.isinf(command).any(axis=0))
            names = [self._robot.joint_names[joint] for joint in infinite]
            raise MessageError('infinite', f'infinite command for {shortened(names)}')
        if not len(pattern.given):
            return []
        if pattern.is_mixed and self._options.mixed_commands == 'reject':
            raise MessageError(
                'mixed', 'joints commanded in different modes (mixed_commands is reject)'
            )
        counts = ledger.counts[source]
        effects = LimitEffects(counts)
        gate.limits.apply(command, effects)
        for group in pattern.partial:
            group.complete(
                command,
                ledger.held(known.now),
                known.position,
                self._options.partial_commands,
            )
        records = gate.send_command(command, pattern, known, stamp, source, effects)
        if pattern.has_positions and ledger.has_first:
            self._count_jumps(command, known.position, counts)
        return records

    def _count_jumps(self, command: Array, position: Array, counts: CommandCounts) -> None:
        """Count first position commands that ask for more than half the range of a joint."""
        far = np.abs(command[0] - position) > self._gate.limits.half_range
        jumped = np.flatnonzero(self._gate.ledger.take_first(~np.isnan(command[0])) & far)
        counts.jumped.update(self._robot.joint_names[joint] for joint in jumped)
