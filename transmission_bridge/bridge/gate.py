# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
The only way to the drivers: every motion passes its rules, is recorded, and leaves by outlets.

Channels and the session of the node call it in one thread; a bridge resets it and replaces its
plan. The gate alone writes the ledger and calls ``send``. The numbered promises at the top of
docs/commands_and_states.md name the rules that keep them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from transmission_bridge.bridge.arrays import DriverArrays
from transmission_bridge.bridge.inputs import Stamp
from transmission_bridge.bridge.ledger import Ledger
from transmission_bridge.bridge.motion import COMMAND, END, Motion, VELOCITY
from transmission_bridge.bridge.outlets import Outgoing, Outlets
from transmission_bridge.bridge.plan import Plan
from transmission_bridge.bridge.readers import SINGLE_TOPICS
from transmission_bridge.bridge.rules.rule import list_masked, RuleVerdict
from transmission_bridge.bridge.states.states import KnownState, States
from transmission_bridge.errors import MessageError, shortened
from transmission_bridge.interfaces import FIELDS
from transmission_bridge.messages import JointStateRecord, Layout, TrajectoryRecord
from transmission_bridge.types import Array, Mask

# -- The choice between several command interfaces of a joint ------------------------------------


#: Time without a message after which a topic expires if another one of its joint continues [s].
_EXPIRY = 1.0

#: Rows that another interface may replace; a constant effort is still a command.
_MAY_BE_LEFT_OUT = np.array([[True], [True], [False]])


class CommandInterfaceHistory:
    """
    The interface of each joint that changed last (``several_interfaces: latest``).

    With this option the gate passes each command, except trajectories, in the order of receipt.

    ros2_control never clears an interface that its controller released: an old position remains
    beside the velocity of the next controller. The interface that changed last counts. It is
    unknown if several interfaces changed in one message, also in the first one, and if a topic of
    one interface begins beside another one, because first messages arrive in any order.
    """

    def __init__(self, n_joints: int) -> None:
        self._shape = len(FIELDS), n_joints
        self.reset()

    def reset(self) -> None:
        """Forget all commands."""
        self._now = -np.inf
        # The last number of each interface, and the time of its last message [s].
        self._last, self._heard = np.full((2, *self._shape), np.nan)
        # Time of the last message that named a joint, by any interface [s].
        self._named: Array = np.full(self._shape[1], np.nan)
        # No row of a joint: unknown.
        self._latest: Mask = np.zeros(self._shape, dtype=bool)

    def choose_interfaces(
        self, command: Array, now: float, *, is_single: bool = False
    ) -> Mask | None:
        """
        Record a command, and remove positions and velocities that are not the latest, in place.

        :param command: Rows position, velocity, effort, shape ``(3, n_joints)``, NaN: none.
        :param now: The time [s]; if it goes backwards, everything is forgotten.
        :param is_single: Whether the message has one interface and leaves the others unchanged.
        :returns: Joints with several interfaces of which the latest is unknown, shape
            ``(n_joints,)``; they are not changed. ``None``: no joint.
        """
        if now < self._now:
            self.reset()
        self._now = now
        given = ~np.isnan(command)
        named = given.any(axis=0)
        noted = given
        if is_single:
            self._last[named & ~given & (self._named - self._heard >= _EXPIRY)] = np.nan
        else:
            noted = np.broadcast_to(named, given.shape)
        changed = given & (command != self._last)
        is_known = changed.sum(axis=0) == 1
        if is_single:
            begins = changed & np.isnan(self._last)
            is_known &= ~begins.any(axis=0) | np.isnan(self._last).all(axis=0)
        np.copyto(self._latest, changed & is_known, where=changed.any(axis=0))
        np.copyto(self._last, command, where=noted)
        self._heard[noted] = now
        self._named[named] = now
        active = ~np.isnan(self._last)
        several = named & (active.sum(axis=0) > 1)
        if not several.any():
            return None
        is_lost: Mask = several & ~(active & self._latest).any(axis=0)
        command[several & ~is_lost & ~self._latest & _MAY_BE_LEFT_OUT] = np.nan
        return is_lost if is_lost.any() else None


# -- The gate ------------------------------------------------------------------------------------


class Gate:
    """
    Passes commands and ends to the drivers, and remembers what it sent.

    Times ``now`` [s] are of any clock, the same one for all methods and for the states; if it goes
    backwards, every command ends. A command that is rejected
    changes nothing, except that joints rejected alone and joints that cannot be mapped end their
    active velocities and efforts.

    :param plan: The first plan; names and members stay the same in later ones.
    :param states: What is known of the actuators.
    :param send: Receives the messages of one motion. If it raises an error, an end is not recorded
        and is repeated.
    :ivar plan: The plan in use; :meth:`replace_plan` alone sets it.
    :ivar ledger: The active commands, for others to read.
    :ivar arrays: The plain arrays.
    :ivar reached: Namespaces with sent commands, and namespaces with sent trajectories, which
        diagnostics read.
    """

    def __init__(
        self, plan: Plan, states: States, send: Callable[[Sequence[Outgoing]], object]
    ) -> None:
        self.plan, self._states, self._send = plan, states, send
        self.ledger = Ledger(plan)
        self.arrays = DriverArrays()
        self._history = CommandInterfaceHistory(len(plan.robot.joint_names))
        # A single driver that uses the names of the URDF counts as reached.
        is_plain = all(name == other for name, other in plan.drivers.driver_names.items())
        self.reached = ({''}, {''}) if is_plain else (set[str](), set[str]())
        # Outlets of the last message: a stream repeats them, and ``reached`` then stays as it is.
        self._outlets: Outlets = ()

    def reset(self) -> None:
        """Forget every command; the counts stay."""
        self.ledger.reset()
        self.arrays.reset()
        self._history.reset()
        self.plan.stream.forget_solutions()

    def replace_plan(self, plan: Plan) -> None:
        """
        Use another plan for the next message; see :meth:`Ledger.replace_facts`.

        Only for :meth:`Bridge.replace_robot`, which also converts the states.
        """
        self.ledger.replace_facts(self.plan, plan)
        self.plan = plan

    # -- commands: CommandReader documents errors of messages, the rules other rejections --------

    def send_joint_command(
        self,
        layout: Layout,
        data: JointStateRecord,
        stamp: Stamp,
        now: float,
        topic: str = 'joint_commands',
    ) -> None:
        """
        Map a joint command and send the result.

        :raises MessageError: If it is rejected.
        """
        state = self._update_time(now)
        self.send_motion(self.plan.reader.read_command(layout, data, topic), state, stamp)

    def send_interface_command(
        self, topic: str, interface: str, values: Array, stamp: Stamp, now: float
    ) -> None:
        """
        Map a plain array for ``command_joints`` and send the result.

        :raises MessageError: If it is rejected.
        """
        state, names = self._update_time(now), self.plan.options.command_joints
        motion = self.plan.reader.read_array(interface, names, values, topic)
        self.send_motion(motion, state, stamp)

    def send_joint_trajectory(
        self, trajectory: TrajectoryRecord, now: float, start: float | None = None
    ) -> None:
        """
        Map a joint trajectory and send the result; header and times are copied.

        Waypoints that were due before now are left out.

        :param start: Start time [s]; ``None``: now.
        :raises MessageError: If it is rejected.
        """
        state, start = self._update_time(now), now if start is None else start
        motion = self.plan.reader.read_trajectory(trajectory, start, now, 'joint_trajectory')
        self.send_motion(motion, state, trajectory.stamp)

    def list_left_trajectories(self, now: float) -> tuple[str, ...]:
        """Return the actuators with a trajectory of positions, started or not."""
        self._update_time(now)
        left = self.ledger.trajectories.mask_left_actuators()
        return list_masked(self.plan.robot.actuator_names, left)

    def _update_time(self, now: float) -> KnownState:
        """Let the ledger note the time and what is known now; return the latter."""
        state = self._states.compute_known_state(self.plan.state_map, now)
        self.ledger.update_clock(state)
        return state

    # -- rules -----------------------------------------------------------------------------------

    def send_motion(self, motion: Motion, state: KnownState, stamp: Stamp) -> None:
        """
        Send a command or a trajectory that a reader of the plan has made.

        :param motion: Changed in place.
        :param state: The known state now; the ledger has noted its time.
        :raises MessageError: If it is rejected. State is unchanged, except that joints rejected
            alone, and joints that cannot be mapped, end active velocities and efforts.
        """
        plan, ledger = self.plan, self.ledger
        try:
            if plan.chooses and motion.trajectory is None:
                self._choose_interfaces(motion, state)
            for rule in plan.find_rules(motion.pattern):
                verdict = rule.apply(motion, state, ledger)
                if verdict is not None:
                    self._use_verdict(motion, verdict)
            if motion.changes:
                ledger.count_changes(motion.route, motion.changes, motion.shares)
            outlets = plan.find_outlets(motion.pattern.result, motion.trajectory is not None)
            if outlets:
                if motion.trajectory is None:
                    ledger.record_command(motion, state.now)
                else:
                    ledger.record_trajectory(motion, state.now)
                self._deliver(motion, state, stamp, outlets)
        finally:
            if motion.expiring is not None:
                ledger.expire_rates(motion.expiring)
                self._send_expired_ends(state, stamp)

    def _choose_interfaces(self, motion: Motion, state: KnownState) -> None:
        """Remove interfaces from a command, before the rules that follow from its pattern."""
        plan, command = self.plan, motion.values
        policy = plan.options.several_interfaces
        if policy == 'latest':
            is_single = motion.route in SINGLE_TOPICS
            several = self._history.choose_interfaces(command, state.now, is_single=is_single)
        else:
            several = (~np.isnan(command)).sum(axis=0) > 1
        if several is not None and several.any():
            names = shortened(list_masked(plan.robot.joint_names, several))
            why = 'and it is not known which one changed last ' if policy == 'latest' else ''
            sentence = f'{names} commanded by several interfaces {why}'
            sentence += f'(several_interfaces is {policy})'
            self._use_verdict(motion, RuleVerdict('several_interfaces', sentence, several))
        motion.pattern = plan.find_pattern(COMMAND, np.isfinite(command).tobytes())

    def _use_verdict(self, motion: Motion, verdict: RuleVerdict) -> None:
        """
        Keep changes; reject the message, or joints alone. Only this method decides which.

        :raises MessageError: If the message is rejected.
        """
        changes = {(kind, name) for kind, names in verdict.changes for name in names}
        if not verdict.reason:
            motion.changes |= changes
            motion.shares |= verdict.shares
            return
        self.ledger.count_changes(motion.route, changes)
        error = MessageError(verdict.reason, verdict.sentence)
        if motion.trajectory is not None:
            raise error
        robot, named, expiring = self.plan.robot, motion.pattern.named, verdict.expiring
        # Joints that lose their numbers of this message.
        lost = named
        if self.plan.divides and verdict.joints is not None:
            lost = expiring = verdict.joints | robot.joints_of(robot.actuators_of(verdict.joints))
        self.ledger.record_rejection(lost)
        if expiring is not None:
            others = motion.expiring
            motion.expiring = expiring if others is None else others | expiring
        if not (named & ~lost).any():
            raise error
        names = list_masked(robot.joint_names, named & lost)
        rejected = {('rejected', f'{name} ({verdict.reason})') for name in names}
        self.ledger.count_changes(motion.route, rejected)
        names = list_masked(robot.joint_names, lost)
        motion.changes = {change for change in motion.changes if change[1] not in names}
        motion.values[:, lost] = np.nan
        if motion.sent.size:
            motion.sent[:, robot.actuators_of(lost)] = np.nan
        motion.pattern = self.plan.find_pattern(COMMAND, (motion.pattern.mask & ~lost).tobytes())

    # -- ends ------------------------------------------------------------------------------------

    def end_expired_commands(self, stamp: Stamp, now: float) -> tuple[str, ...]:
        """
        End expired commands; repeat ends that were not sent.

        Velocity becomes zero, and effort with ``zero_effort``; otherwise the last effort stays
        active. Positions are held. Coupled joints keep their commands, or end if these cannot be
        mapped.

        :returns: The actuators that were sent an end.
        """
        return self._send_expired_ends(self._update_time(now), stamp)

    def _send_expired_ends(self, state: KnownState, stamp: Stamp) -> tuple[str, ...]:
        plan, ledger, names = self.plan, self.ledger, tuple[str, ...]()
        due = ledger.mask_expired_joints(state.now)
        if due.any():
            for joints in plan.together:
                due[joints] |= due[joints].any()
            is_ending = plan.ending_rows & due & ledger.mask_active_joints()
            motion = self._make_end(np.where(is_ending, 0.0, np.nan), due)
            for rule in plan.find_rules(motion.pattern):
                rule.apply(motion, state, ledger)
            names = self._send_end(motion, state, stamp)
            ledger.close_entries(motion)
        self._end_replaced_velocities(state, stamp)
        return names

    def send_stop(self, stamp: Stamp, now: float) -> tuple[str, ...]:
        """
        Send the messages of ``on_stop``, and forget every command.

        Interfaces with an active command receive zero. A trajectory with positions stays with its
        driver.

        :returns: The actuators that were sent an end.
        """
        plan, state, names = self.plan, self._update_time(now), tuple[str, ...]()
        if plan.options.on_stop == 'zero_rates':
            motion = self._make_end(plan.nothing)
            motion.sent[plan.ending_rows & self.ledger.mask_last_numbers()] = 0.0
            names = self._send_end(motion, state, stamp)
            self._end_replaced_velocities(state, stamp)
        self.reset()
        return names

    def _make_end(self, values: Array, due: Mask | None = None) -> Motion:
        pattern = self.plan.find_pattern(END, np.isfinite(values).tobytes())
        return Motion('', pattern, values, np.full_like(self.ledger.actuators, np.nan), due=due)

    def _send_end(self, motion: Motion, state: KnownState, stamp: Stamp) -> tuple[str, ...]:
        is_sent = ~np.isnan(motion.sent)
        if is_sent.any():
            self._deliver(motion, state, stamp, self.plan.find_outlets(is_sent.tobytes(), False))
        return list_masked(self.plan.robot.actuator_names, is_sent)

    def _end_replaced_velocities(self, state: KnownState, stamp: Stamp) -> None:
        """End velocities of the last array to a driver that other modes replaced without one."""
        replaced = self.ledger.list_replaced_velocities() if self.plan.orders else []
        if replaced:
            motion = self._make_end(self.plan.nothing)
            motion.sent[VELOCITY, replaced] = 0.0
            self._deliver(motion, state, stamp, ())

    # -- what is sent ----------------------------------------------------------------------------

    def _deliver(self, motion: Motion, state: KnownState, stamp: Stamp, outlets: Outlets) -> None:
        """Send the messages of outlets, and plain arrays."""
        plan, is_trajectory = self.plan, motion.trajectory is not None
        if outlets is not self._outlets:
            self._outlets = outlets
            self.reached[is_trajectory].update(outlet.namespace for outlet in outlets)
        messages = [outlet.make_message(motion, state.shift, stamp) for outlet in outlets]
        arrays = []
        if plan.orders and not is_trajectory:
            arrays = self.arrays.make_arrays(plan, motion, self.ledger, state)
            messages += [array.make_message(plan.units, state.shift) for array in arrays]
        self._send(messages)
        for array in arrays:
            self.ledger.record_sent_array(array.row, array.order, array.numbers)
