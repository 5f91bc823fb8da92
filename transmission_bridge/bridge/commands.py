# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""From messages with joint commands to complete commands for the gate."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from transmission_bridge.bridge.command_plan import find_command_names, plan_command, read_array
from transmission_bridge.bridge.gate import Gate
from transmission_bridge.bridge.inputs import JointRejection, MOST_UNKNOWN, PlanCache, Stamp
from transmission_bridge.bridge.interface_history import (
    find_several_interfaces,
    InterfaceHistory,
)
from transmission_bridge.bridge.limits import LimitEffects
from transmission_bridge.bridge.options import BridgeOptions
from transmission_bridge.bridge.states import KnownState
from transmission_bridge.errors import MessageError, shortened
from transmission_bridge.messages.joint_state import JointStateRecord, Layout
from transmission_bridge.transmissions import RobotTransmissions
from transmission_bridge.transmissions.interfaces import FIELDS
from transmission_bridge.types import Array, Mask

#: Topics for commands of one interface; other interfaces have topics of their own.
SINGLE_TOPICS = {f'joint_commands/{interface}': interface for interface in FIELDS}


class CommandPath:
    """
    Reads, checks and completes joint commands, and passes them to the gate.

    Position, velocity and effort of a message are commands, NaN means no command. A message that
    is rejected changes nothing, except that an active velocity or effort ends if its replacement
    cannot be mapped. With ``rejects: transmission`` some reasons reject only the joints of the
    transmission concerned; their active velocities end.

    :param robot: Provides names and interfaces, which tuning does not change.
    :param gate: Maps and sends the commands.
    """

    def __init__(
        self, robot: RobotTransmissions, gate: Gate, options: BridgeOptions | None = None
    ) -> None:
        self._options = options or BridgeOptions()
        self._robot = robot
        self._gate = gate
        names = self._names = find_command_names(robot)
        choice = self._options.rejects
        self._divides = choice == 'transmission' or (
            choice == 'auto' and any(block.takes_joint_states for block in robot.robot.blocks)
        )
        self._plans = PlanCache(
            lambda layout: plan_command(layout, names, may_be_unknown=self._divides)
        )
        self._history = InterfaceHistory(len(robot.joint_names))
        self._undecided: Mask | None = None
        self._given: Mask = np.empty(gate.ledger.joints.shape, dtype=bool)

    def reset(self) -> None:
        """Forget which interfaces of the joints were commanded."""
        self._history.reset()

    def send_message(
        self,
        layout: Layout,
        data: JointStateRecord,
        known: KnownState,
        stamp: Stamp,
        *,
        source: str = 'joint_commands',
    ) -> list[JointStateRecord]:
        """
        Map a joint command and send the result.

        :param source: Topic of the command.
        :returns: Messages that name only actuators with a finite command. The array of an
            interface without a command is empty. No message if there is no command.
        :raises MessageError: If the message is rejected.
        """
        self._gate.update_ledger(known)
        plan = self._plans.find_plan(layout)
        rejected: list[tuple[str, str]] = []
        command = plan.extract_command(data, rejected if self._divides else None)
        if rejected:
            if np.isnan(command).all():  # reject the message
                plan_command(layout, self._names).extract_command(data)
            self._count_rejections(source, rejected)
        self._choose_interfaces(command, known.now, is_single=source in SINGLE_TOPICS)
        return self._send_acceptable(command, known, stamp, source)

    def send_array(
        self,
        interface: str,
        names: Sequence[str],
        values: Array,
        known: KnownState,
        stamp: Stamp,
        *,
        source: str,
    ) -> list[JointStateRecord]:
        """
        Map a plain array of one interface and send the result.

        :func:`read_array` documents ``interface``, ``names`` and ``values``,
        :meth:`send_message` the rest.
        """
        self._gate.update_ledger(known)
        command = read_array(interface, names, values, self._names)
        self._choose_interfaces(command, known.now)
        return self._send_acceptable(command, known, stamp, source)

    def _choose_interfaces(self, command: Array, now: float, *, is_single: bool = False) -> None:
        policy, self._undecided = self._options.several_interfaces, None
        if policy == 'latest':
            self._undecided = self._history.choose_interfaces(command, now, is_single=is_single)
        elif policy == 'reject':
            self._undecided = find_several_interfaces(command)

    def _send_acceptable(
        self, command: Array, known: KnownState, stamp: Stamp, source: str
    ) -> list[JointStateRecord]:
        """Send a command; joints rejected alone end, the others are sent."""
        ledger, robot = self._gate.ledger, self._robot
        over: Mask | None = None
        try:
            while True:
                try:
                    return self._complete_and_send(command.copy(), known, stamp, source)
                except MessageError as error:
                    named = ~np.isnan(command).all(axis=0)
                    if not (self._divides and isinstance(error, JointRejection)):
                        ledger.record_rejection(named)
                        raise
                    # Reject all joints of the transmission, named or not.
                    mine = error.joints | robot.joints_of(robot.actuators_of(error.joints))
                    assert (named & mine).any(), 'else this loop would not end'
                    ledger.record_rejection(mine)
                    over = mine if over is None else over | mine
                    command[:, mine] = np.nan
                    if not (named & ~mine).any():
                        raise
                    names = (self._robot.joint_names[j] for j in np.flatnonzero(named & mine))
                    self._count_rejections(source, ((name, error.reason) for name in names))
        finally:
            if over is not None:
                ledger.expire_rates(over)
                self._gate.end_expired_commands(known, stamp)

    def _count_rejections(self, source: str, rejected: Iterable[tuple[str, str]]) -> None:
        counts = self._gate.ledger.counts[source].rejected
        for name, reason in rejected:
            key = f'{name} ({reason})'
            if key in counts or reason != 'unknown_joint' or len(counts) < MOST_UNKNOWN:
                counts[key] += 1

    def _complete_and_send(
        self, command: Array, known: KnownState, stamp: Stamp, source: str
    ) -> list[JointStateRecord]:
        if self._undecided is not None:
            several = self._undecided & ~np.isnan(command).all(axis=0)
            if several.any():
                policy = self._options.several_interfaces
                names = [self._robot.joint_names[joint] for joint in np.flatnonzero(several)]
                why = 'and it is not known which one changed last ' if policy == 'latest' else ''
                raise JointRejection(
                    'several_interfaces',
                    f'{shortened(names)} commanded by several interfaces {why}'
                    f'(several_interfaces is {policy})',
                    several,
                )
        gate, ledger = self._gate, self._gate.ledger
        pattern = gate.patterns.find_pattern(np.isfinite(command, self._given))
        if np.isinf(command).any():
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
        gate.limits.limit_joints(command, effects)
        for group in pattern.partial:
            group.complete_command(
                command,
                ledger.find_held_commands(known.now),
                known.position,
                self._options.partial_commands,
            )
        return gate.send_command(command, pattern, known, stamp, source, effects)
