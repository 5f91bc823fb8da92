# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
The only way to the drivers: every motion passes its rules, is recorded, and leaves by outlets.

The numbered promises at the top of docs/commands_and_states.md name the rules that keep them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from transmission_bridge.bridge.arrays import Arrays, make_array_message
from transmission_bridge.bridge.inputs import MOST_UNKNOWN, Stamp
from transmission_bridge.bridge.interface_history import (
    InterfaceHistory,
    mask_several_interfaces,
)
from transmission_bridge.bridge.ledger import Ledger
from transmission_bridge.bridge.motion import COMMAND, END, Motion, VELOCITY
from transmission_bridge.bridge.outlets import Outgoing, Outlets
from transmission_bridge.bridge.plan import Plan
from transmission_bridge.bridge.readers import SINGLE_TOPICS
from transmission_bridge.bridge.rules.rule import list_names, Verdict
from transmission_bridge.bridge.states.states import KnownState
from transmission_bridge.errors import MessageError, shortened
from transmission_bridge.types import Array, Mask


class Gate:
    """
    Passes motions to the drivers, and remembers what it sent.

    :param plan: The first plan; names and members stay the same in later ones.
    :param send: Receives the messages of one motion. If it raises an error, an end is not recorded
        and is repeated.
    :ivar ledger: The active commands.
    :ivar arrays: The plain arrays.
    :ivar reached: Namespaces with sent commands, and namespaces with sent trajectories.
    """

    def __init__(self, plan: Plan, send: Callable[[Sequence[Outgoing]], object]) -> None:
        self._send = send
        self.ledger = Ledger(plan)
        self.arrays = Arrays()
        self._history = InterfaceHistory(len(plan.robot.joint_names))
        # A single driver that uses the names of the URDF counts as reached.
        is_plain = all(name == other for name, other in plan.drivers.driver_names.items())
        self.reached = ({''}, {''}) if is_plain else (set[str](), set[str]())
        self._outlets: Outlets = ()

    def reset(self) -> None:
        """Forget every command; the counts stay."""
        self.ledger.reset()
        self.arrays.reset()
        self._history.reset()

    def send_motion(self, plan: Plan, motion: Motion, known: KnownState, stamp: Stamp) -> None:
        """
        Send a command or a trajectory.

        :raises MessageError: If it is rejected. State is unchanged, except that joints rejected
            alone, and joints that cannot be mapped, end active velocities and efforts.
        """
        try:
            if plan.chooses and motion.trajectory is None:
                self._choose_interfaces(plan, motion, known)
            for rule in plan.find_rules(motion.pattern):
                verdict = rule.apply(motion, known, self.ledger)
                if verdict is not None:
                    self._use_verdict(plan, motion, verdict)
            if motion.changes:
                self._count_changes(motion.route, motion.changes)
                self.ledger.counts[motion.route].shares.update(motion.shares)
            outlets = plan.find_outlets(motion.pattern)
            if outlets:
                if motion.trajectory is None:
                    self.ledger.record_command(motion, known.now)
                else:
                    self.ledger.record_trajectory(motion, known.now)
                self._deliver(plan, motion, known, stamp, outlets)
        finally:
            if motion.over is not None:
                self.ledger.expire_rates(motion.over)
                self.end_expired_commands(plan, known, stamp)

    def _choose_interfaces(self, plan: Plan, motion: Motion, known: KnownState) -> None:
        """Remove interfaces from a command, before the rules that follow from its pattern."""
        policy, command = plan.options.several_interfaces, motion.values
        if policy == 'latest':
            is_single = motion.route in SINGLE_TOPICS
            several = self._history.choose_interfaces(command, known.now, is_single=is_single)
        else:
            several = mask_several_interfaces(command)
        if several is not None and several.any():
            names = shortened(list_names(plan.robot.joint_names, several))
            why = 'and it is not known which one changed last ' if policy == 'latest' else ''
            sentence = f'{names} commanded by several interfaces {why}'
            sentence += f'(several_interfaces is {policy})'
            self._use_verdict(plan, motion, Verdict('several_interfaces', sentence, several))
        motion.pattern = plan.find_pattern(COMMAND, np.isfinite(command).tobytes())

    def _use_verdict(self, plan: Plan, motion: Motion, verdict: Verdict) -> None:
        """
        Keep changes; reject the message, or joints alone. Only this method decides which.

        :raises MessageError: If the message is rejected.
        """
        changes = {(kind, name) for kind, names in verdict.changes for name in names}
        if not verdict.reason:
            motion.changes |= changes
            motion.shares |= verdict.shares
            return
        self._count_changes(motion.route, changes)
        error = MessageError(verdict.reason, verdict.sentence)
        if motion.trajectory is not None:
            raise error
        robot, named, ends = plan.robot, motion.pattern.named, verdict.ends
        mine = named
        if plan.divides and verdict.joints is not None:
            mine = ends = verdict.joints | robot.joints_of(robot.actuators_of(verdict.joints))
        self.ledger.record_rejection(mine)
        if ends is not None:
            motion.over = ends if motion.over is None else motion.over | ends
        if not (named & ~mine).any():
            raise error
        names = list_names(robot.joint_names, named & mine)
        rejected = {('rejected', f'{name} ({verdict.reason})') for name in names}
        self._count_changes(motion.route, rejected)
        names = list_names(robot.joint_names, mine)
        motion.changes = {each for each in motion.changes if each[1] not in names}
        motion.values[:, mine] = np.nan
        if motion.sent.size:
            motion.sent[:, robot.actuators_of(mine)] = np.nan
        motion.pattern = plan.find_pattern(COMMAND, (motion.pattern.mask & ~mine).tobytes())

    def _count_changes(self, route: str, changes: set[tuple[str, str]]) -> None:
        for kind, key in changes:
            counts = getattr(self.ledger.counts[route], kind)
            # Senders choose the names of unknown joints.
            if key in counts or len(counts) < MOST_UNKNOWN or '(unknown_joint)' not in key:
                counts[key] += 1

    # -- ends ------------------------------------------------------------------------------------

    def end_expired_commands(self, plan: Plan, known: KnownState, stamp: Stamp) -> tuple[str, ...]:
        """
        End expired commands; repeat ends that were not sent.

        Velocity becomes zero, and effort with ``zero_effort``; otherwise the last effort stays
        active. Positions are held. Coupled joints keep their commands, or end if these cannot be
        mapped.

        :returns: The actuators that were sent an end.
        """
        ledger, names = self.ledger, tuple[str, ...]()
        due = ledger.mask_expired_joints(known.now)
        if due.any():
            for joints in plan.together:
                due[joints] |= due[joints].any()
            given = plan.ending_rows & due & ledger.mask_active_joints()
            motion = self._make_end(plan, np.where(given, 0.0, np.nan), due)
            for rule in plan.find_rules(motion.pattern):
                rule.apply(motion, known, ledger)
            names = self._send_end(plan, motion, known, stamp)
            ledger.close_entries(motion)
        self._end_replaced_velocities(plan, known, stamp)
        return names

    def send_stop(self, plan: Plan, known: KnownState, stamp: Stamp) -> tuple[str, ...]:
        """
        Send the messages of ``on_stop``, and forget every command.

        Interfaces with an active command receive zero. A trajectory with positions stays with its
        driver.

        :returns: The actuators that were sent an end.
        """
        names: tuple[str, ...] = ()
        if plan.options.on_stop == 'zero_rates':
            motion = self._make_end(plan, plan.nothing)
            motion.sent[plan.ending_rows & self.ledger.mask_last_numbers()] = 0.0
            names = self._send_end(plan, motion, known, stamp)
            self._end_replaced_velocities(plan, known, stamp)
        self.reset()
        return names

    def _make_end(self, plan: Plan, values: Array, due: Mask | None = None) -> Motion:
        pattern = plan.find_pattern(END, np.isfinite(values).tobytes())
        return Motion('', pattern, values, np.full(self.ledger.actuators.shape, np.nan), due=due)

    def _send_end(
        self, plan: Plan, motion: Motion, known: KnownState, stamp: Stamp
    ) -> tuple[str, ...]:
        given = ~np.isnan(motion.sent)
        if given.any():
            self._deliver(plan, motion, known, stamp, plan.find_command_outlets(given.tobytes()))
        return list_names(plan.robot.actuator_names, given)

    def _end_replaced_velocities(self, plan: Plan, known: KnownState, stamp: Stamp) -> None:
        """End velocities of the last array to a driver that other modes replaced without one."""
        replaced = self.ledger.list_replaced_velocities() if plan.orders else []
        if replaced:
            motion = self._make_end(plan, plan.nothing)
            motion.sent[VELOCITY, replaced] = 0.0
            self._deliver(plan, motion, known, stamp, ())

    # -- what is sent ----------------------------------------------------------------------------

    def _deliver(
        self, plan: Plan, motion: Motion, known: KnownState, stamp: Stamp, outlets: Outlets
    ) -> None:
        """Send the messages of outlets, and plain arrays."""
        if outlets is not self._outlets:
            self._outlets = outlets
            self.reached[motion.trajectory is not None].update(each.namespace for each in outlets)
        outgoing = [outlet.make_message(motion, known.shift, stamp) for outlet in outlets]
        if plan.orders and motion.trajectory is None:
            arrays = self.arrays.make_arrays(plan, motion, self.ledger, known)
            messages = (make_array_message(plan, array, known.shift) for array in arrays)
            self._send([*outgoing, *messages])
            for row, namespace, numbers in arrays:
                self.ledger.record_array(row, plan.orders[namespace], numbers)
        else:
            self._send(outgoing)
