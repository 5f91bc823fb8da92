# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""From joint commands to actuator commands; a message is applied whole or not at all."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from transmission_bridge.bridge.command_plan import (
    actuator_messages,
    array_command,
    command_names,
    CommandPattern,
    CommandPatterns,
    owned_actuators,
    plan_command,
)
from transmission_bridge.bridge.inputs import CommandCounts, PlanCache, Stamp
from transmission_bridge.bridge.limits import ActuatorLimits, CommandLimits, LimitEffects
from transmission_bridge.bridge.options import AUTO, COMMAND_TIMEOUT
from transmission_bridge.errors import MessageError, shortened
from transmission_bridge.messages.joint_state import JointStateData, JointStateRecord, Layout
from transmission_bridge.transmissions import MapReport, RobotTransmissions
from transmission_bridge.transmissions.binding import Binding
from transmission_bridge.transmissions.interfaces import FIELDS, JOINT_TO_ACTUATOR
from transmission_bridge.types import Array, Index, Mask

__all__ = [
    'ArrivalTimes',
    'CommandPath',
    'CommandSources',
    'CommandWatchdog',
    'HeldCommands',
    'TrajectoryEnd',
    'command_timeouts',
]


# -- Who commanded each joint last ---------------------------------------------------------------


class CommandSources:
    """
    The newest source of commands of each joint.

    :param joint_names: The joints.
    :ivar contested: Commands to a joint that another source had commanded before, by joint.
    :ivar counts: What became of the commands of each source.
    """

    def __init__(self, joint_names: Sequence[str]) -> None:
        self._joint_names = tuple(joint_names)
        self.contested: Counter[str] = Counter()
        self.counts: defaultdict[str, CommandCounts] = defaultdict(CommandCounts)
        self.reset()

    def reset(self) -> None:
        """Forget the sources; the counts stay."""
        self._newest = [''] * len(self._joint_names)
        self._last_joints: Index | None = None
        self._last_source = ''

    def record_source(self, joints: Index, source: str) -> None:
        """
        Record the source of a command.

        :param joints: Indices of the joints commanded; must not be changed afterwards. A call with
            the same array and source as the last, as in a controller's stream, returns at once.
        """
        if joints is self._last_joints and source == self._last_source:
            return
        self._last_joints, self._last_source = joints, source
        for joint in joints:
            if self._newest[joint] not in ('', source):
                name = self._joint_names[joint]
                self.contested[name] += 1
                self.counts[source].contested[name] += 1
            self._newest[joint] = source


# -- How long ago each joint was commanded -------------------------------------------------------


#: The row of efforts.
_EFFORT = FIELDS.index('effort')

#: Time of a command that does not exist, and of one from before time went backwards.
_NONE, _BEFORE = np.inf, -np.inf


def command_timeouts(robot: RobotTransmissions, timeout: float) -> list[float]:
    """
    Return the seconds after which the command of each joint is over; 0: never.

    :param timeout: Of all joints; -1: 0.5 s, and never for joints of a topic-based component,
        which is silent at its target.
    """
    if timeout != AUTO:
        return [timeout] * len(robot.joint_names)
    silent = {
        component.name
        for block in robot.robot.blocks
        if block.takes_joint_states
        for component in block.components
    }
    return [0.0 if name in silent else COMMAND_TIMEOUT for name in robot.joint_names]


class CommandWatchdog:
    """
    Finds commands that are older than a timeout. Time going backwards ends every command.

    :param timeout: Seconds after which the command of each joint expires; infinite: never.
    """

    def __init__(self, timeout: Array) -> None:
        self._timeout = timeout
        #: Whether commands expire at all.
        self.is_enabled = bool(np.isfinite(timeout).any())
        self.reset()

    def reset(self) -> None:
        """Forget every command."""
        self._received: Array = np.full(len(self._timeout), _NONE)
        self._latest = -np.inf

    def update_clock(self, now: float) -> bool:
        """Set the time [s]; return whether it went backwards."""
        is_earlier = now < self._latest
        if is_earlier:
            self._received[np.isfinite(self._received)] = _BEFORE
        self._latest = now
        return is_earlier

    def renew(self, joints: Index | Mask, time: float) -> None:
        """Set when joints were commanded; in the future for a trajectory, which ends then."""
        self._received[joints] = time

    def take_expired(self, now: float) -> Mask:
        """Return which joints' commands expired, shape ``(n_joints,)``; each is reported once."""
        expired: Mask = (now - self._received > self._timeout) | (self._received == _BEFORE)
        self._received[expired] = _NONE
        return expired

    def end(self, joints: Index) -> None:
        """Let the commands of joints expire at once, whatever their timeout."""
        self._received[joints] = _BEFORE

    @property
    def has_ended(self) -> bool:
        """Whether a command is to expire at once."""
        return bool((self._received == _BEFORE).any())

    def active(self, now: float, period: float) -> Mask:
        """Return which joints were commanded in the last seconds, or have to arrive yet."""
        active: Mask = (self._received != _NONE) & (now - self._received <= period)
        return active


# -- Trajectories that are executed, or will be --------------------------------------------------


#: Arrival time of joints that do not move along a trajectory.
_ARRIVED = -np.inf


class ArrivalTimes:
    """
    Arrival times of joints or actuators that execute a trajectory; at first none does.

    :param count: Number of joints or actuators.
    :ivar is_used: Whether any ever did.
    """

    def __init__(self, count: int) -> None:
        self._times: Array = np.full(count, _ARRIVED)
        self.is_used = False

    def mark_moving(self, indices: Mask | Index | Sequence[int], until: float) -> None:
        """Mark these as moving until a time [s]."""
        self._times[indices] = until
        self.is_used = True

    def clear(self, indices: Mask | Index | Sequence[int] | slice = slice(None)) -> None:
        """Mark these, by default all, as not moving along a trajectory."""
        self._times[indices] = _ARRIVED

    def moving(self, now: float) -> Mask:
        """Return which have not arrived at a time [s], shape ``(count,)``."""
        moving: Mask = self._times > now
        return moving


@dataclass(frozen=True, slots=True, eq=False)
class TrajectoryEnd:
    """
    Where a trajectory leaves the robot.

    :param named: The joints that it names, shape ``(n_joints,)``.
    :param joints: These and the coupled ones that hold meanwhile: it ends their former commands.
    :param joint_position: Where the joints stay, NaN where that is unknown.
    :param actuators: The actuators that move them, shape ``(n_actuators,)``.
    :param actuator_position: Where the actuators stay, NaN where that is unknown.
    :param start: When it starts [s]; former commands hold until then.
    :param until: When it ends [s].
    """

    named: Mask
    joints: Mask
    joint_position: Array
    actuators: Mask
    actuator_position: Array
    start: float
    until: float


# -- Commands in force ---------------------------------------------------------------------------


class HeldCommands:
    """
    The last command of each joint and actuator; a new one replaces all modes of its joint.

    :param n_joints: Number of joints.
    :param n_actuators: Number of actuators.
    :ivar joints: Rows position, velocity, effort, shape ``(3, n_joints)``, NaN where there is
        none. Of a joint that executes a trajectory it is the end of that.
    :ivar actuators: What was sent for these, shape ``(3, n_actuators)``.
    :ivar upcoming: Trajectories that have not started.
    """

    def __init__(self, n_joints: int, n_actuators: int) -> None:
        self.joints: Array = np.full((len(FIELDS), n_joints), np.nan)
        self.actuators: Array = np.full((len(FIELDS), n_actuators), np.nan)
        self.upcoming: list[TrajectoryEnd] = []
        self._arrivals = ArrivalTimes(n_joints)

    @property
    def positions(self) -> Mask:
        """Which joints hold a position command or have a trajectory, shape ``(n_joints,)``."""
        held: Mask = ~np.isnan(self.joints[0])
        for end in self.upcoming:
            held |= end.joints
        return held

    def at(self, now: float) -> Array:
        """
        Return the joint commands, without the positions of joints that execute a trajectory.

        Where such a joint is commanded to be at a time, only the driver knows.

        :param now: Time [s].
        :returns: As :attr:`joints`; must not be changed.
        """
        if not self._arrivals.is_used:
            return self.joints
        held: Array = self.joints.copy()
        held[0, self._arrivals.moving(now)] = np.nan
        return held

    def replace(self, command: Array, sent: Array, pattern: CommandPattern) -> None:
        """
        Hold a command from now on; it cancels trajectories of its joints.

        :param command: Shape ``(3, n_joints)``; may be kept.
        :param sent: Shape ``(3, n_actuators)``; is copied.
        :param pattern: Which joints and actuators it is for.
        """
        if self._arrivals.is_used:
            self._arrivals.clear(pattern.joints)
        if self.upcoming:
            self._cancel_upcoming(pattern.joints)
        if pattern.is_full:
            self.joints, self.actuators[...] = command, sent
        else:
            np.copyto(self.joints, command, where=pattern.joints)
            np.copyto(self.actuators, sent, where=pattern.actuators)

    def end(self, command: Array, sent: Array) -> None:
        """Hold what ends commands; other modes of its joints stay."""
        np.copyto(self.joints, command, where=~np.isnan(command))
        np.copyto(self.actuators, sent, where=~np.isnan(sent))

    def schedule(self, end: TrajectoryEnd) -> None:
        """Add a trajectory; it cancels those of its joints that have not started."""
        self._cancel_upcoming(end.joints)
        self.upcoming.append(end)

    def start_trajectories(self, now: float) -> list[TrajectoryEnd]:
        """Hold the ends of the trajectories whose start [s] has come, and return these."""
        started = [end for end in self.upcoming if end.start <= now]
        for end in started:
            self.upcoming.remove(end)
            self.joints[:, end.joints] = np.nan
            self.joints[0, end.joints] = end.joint_position[end.joints]
            self.actuators[:, end.actuators] = np.nan
            self.actuators[0, end.actuators] = end.actuator_position[end.actuators]
            self._arrivals.mark_moving(end.joints, end.until)
        return started

    def _cancel_upcoming(self, joints: Mask) -> None:
        self.upcoming = [end for end in self.upcoming if not (end.joints & joints).any()]

    def forget(self, rows: Sequence[int], joints: Mask | Index) -> None:
        """Forget commands of these interfaces; what was sent to the actuators stays."""
        for row in rows:
            self.joints[row, joints] = np.nan

    def keep_actuators(self, robot: RobotTransmissions, joints: Index) -> None:
        """Hold joints where, by other maps, the actuators were sent."""
        places = [(self.joints[0], self.actuators[0])]
        places += [(end.joint_position, end.actuator_position) for end in self.upcoming]
        for positions, sent in places:
            found = robot.actuator_to_joint('position', sent)[joints]
            is_held = np.isfinite(positions[joints]) & np.isfinite(found)
            positions[joints[is_held]] = found[is_held]

    def forget_positions(self, *, rates: bool) -> None:
        """Forget all position commands and trajectories, and velocity and effort if asked."""
        self.joints[: len(FIELDS) if rates else 1] = np.nan
        self._arrivals.clear()
        self.upcoming = []


# -- Commands that cannot be mapped, being infinite or out of a mechanism's domain ---------------


def _refuse_infinite(robot: RobotTransmissions, command: Array) -> None:
    joints = np.flatnonzero(np.isinf(command).any(axis=0))
    names = [robot.joint_names[joint] for joint in joints]
    raise MessageError('infinite', f'infinite command for {shortened(names)}')


def _zero_rates_or_reject(
    robot: RobotTransmissions, command: Array, sent: Array, mapped: Mask, expected: bytes
) -> None:
    """
    Map rates of zero, which are zero at every position, and refuse what is still not mapped.

    :param sent: The actuator command, shape ``(3, n_actuators)``; changed in place, as is
        ``mapped``: which of it is finite.
    :param expected: Which of it has to be finite, as :attr:`CommandPattern.result`.
    """
    for binding in robot.bindings:
        still = (command[:, list(binding.joints)] == 0.0).all(axis=1)
        still[0] = False
        sent[np.ix_(still, owned_actuators(binding))] = 0.0
    if np.isfinite(sent, mapped).tobytes() != expected:
        lost = [binding.spec.name for binding in _unmapped_by(robot, command, mapped)]
        raise MessageError(
            'unmapped',
            f'a command cannot be mapped by {shortened(lost)}: out of its domain, singular, too '
            'large, or its position is unknown',
        )


def _unmapped_by(robot: RobotTransmissions, command: Array, mapped: Mask) -> list[Binding]:
    """Return the transmissions that did not map their part of a command."""
    lost = []
    for binding in robot.bindings:
        given = ~np.isnan(command[:, list(binding.joints)]).all(axis=1)
        is_mapped = mapped[:, list(binding.actuators)].all(axis=1)
        if (given & ~is_mapped).any():
            lost.append(binding)
    return lost


# -- From joint commands to actuator commands ----------------------------------------------------


class CommandPath:
    """
    Checks, completes and maps joint commands.

    Position, velocity and effort of a message are commands, NaN means no command. A message that
    is refused changes nothing. Time going backwards ends every command. See
    :class:`~transmission_bridge.bridge.options.BridgeOptions` for the choices.

    :param robot: The maps; replaced by :meth:`use`.
    :param mixed_commands: ``split``, ``nan`` or ``reject``.
    :param partial_commands: ``hold``, ``zero`` or ``reject``.
    :param limits: ``clamp``, ``reject`` or ``off``.
    :param on_stop: ``zero_rates`` or ``nothing``.
    :param zero_effort: Whether stopping, and the timeout, also send effort zero.
    :param timeout: Seconds after which the command of a joint is over, of all or of each; 0:
        never.
    :param zero_max_velocity: Speed above which a joint moves, as of a joint that leaves its
        position limits.
    :ivar report: What became NaN in position-dependent transmissions, and why.
    :ivar open_turns: Actuators of which it is not known in which turn they are, shape
        ``(n_actuators,)``; ``None``: none. Commands that would move them to a position are
        refused.
    :ivar limits: The limits, with counts of the commands that they changed and refused.
    :ivar actuator_limits: Those of the actuators.
    :ivar contested: Commands to a joint that another source had commanded before, by joint.
    :ivar counts: What limits did to commands, and contested ones, by source and joint.
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
        timeout: float | Sequence[float] = 0.0,
        zero_max_velocity: float = 0.01,
    ) -> None:
        self._mixed = mixed_commands
        self._partial = partial_commands
        self._limits_policy = limits
        #: Rows that the timeout ends.
        self._ended_rows = (1, 2) if zero_effort else (1,)
        stops = ('velocity', 'effort') if zero_effort else ('velocity',)
        self._stopped_fields = [
            on_stop == 'zero_rates' and interface in stops for interface in FIELDS
        ]
        timeouts = np.broadcast_to(np.asarray(timeout, dtype=float), len(robot.joint_names))
        self._watchdog = CommandWatchdog(np.where(timeouts > 0.0, timeouts, np.inf))
        self.report = MapReport()
        self.open_turns: Mask | None = None
        self.limits = CommandLimits(robot, limits, zero_max_velocity)
        self._sources = CommandSources(robot.joint_names)
        self.contested, self.counts = self._sources.contested, self._sources.counts
        self._robot = robot
        self.use(robot)
        known = self._known = command_names(robot)
        self._plans = PlanCache(lambda layout: plan_command(layout, known))
        self.reset()

    def use(self, robot: RobotTransmissions) -> None:
        """
        Replace the maps between two messages; joints and actuators must be the same.

        A joint that holds a position goes on holding that of its actuators.
        """
        former = self._robot.transmissions
        self._robot = robot
        self._mapper = robot.stream(JOINT_TO_ACTUATOR)
        self._patterns = CommandPatterns(robot, merged=self._mixed == 'nan')
        self.actuator_limits = ActuatorLimits(robot, self._limits_policy)
        changed = [
            joint
            for binding in robot.bindings
            for joint in binding.joints
            if former[binding.spec.name] is not binding.transmission
        ]
        if changed:
            self._held.keep_actuators(robot, np.array(changed))

    def reset(self) -> None:
        """Forget every command."""
        self._mapper.forget()
        self._held = HeldCommands(len(self._robot.joint_names), len(self._robot.actuator_names))
        #: Joints whose next position command is the first one.
        self._is_first: Mask = np.ones(len(self._robot.joint_names), dtype=bool)
        self._any_first = True
        #: Joints of which the last effort stays in force though nobody commands it.
        self._is_left: Mask = np.zeros(len(self._robot.joint_names), dtype=bool)
        self._watchdog.reset()
        self._sources.reset()
        self._given: Mask = np.empty(self._held.joints.shape, dtype=bool)
        self._mapped: Mask = np.empty(self._held.actuators.shape, dtype=bool)

    @property
    def held(self) -> Array:
        """Commands held, rows position, velocity, effort, shape ``(3, n_joints)``; a copy."""
        held: Array = self._held.joints.copy()
        return held

    def held_at(self, now: float) -> Array:
        """See :meth:`HeldCommands.at`."""
        return self._held.at(now)

    @property
    def sent_position(self) -> Array:
        """Positions sent to the actuators, shape ``(n_actuators,)``, NaN where there is none."""
        sent: Array = self._held.actuators[0]
        return sent

    @property
    def held_positions(self) -> Mask:
        """See :attr:`HeldCommands.positions`."""
        return self._held.positions

    @property
    def left_efforts(self) -> tuple[str, ...]:
        """Joints of which the last effort stays in force, though its timeout is over."""
        return tuple(self._robot.joint_names[joint] for joint in np.flatnonzero(self._is_left))

    @property
    def has_ended(self) -> bool:
        """Whether a refused command ended another one, so that :meth:`expire` is due."""
        return self._watchdog.has_ended

    def live(self, now: float, period: float) -> Mask:
        """
        Return which joints are commanded, shape ``(n_joints,)``.

        :param period: Seconds for which a command counts.
        :returns: Those that were commanded, or that execute a trajectory or will.
        """
        live = self._watchdog.active(now, period)
        for end in self._held.upcoming:
            live |= end.joints
        return live

    def driver_was_silent(self, actuators: Mask) -> None:
        """
        Forget the positions held by joints whose driver was silent: it may have been moved.

        :param actuators: Those of that driver, shape ``(n_actuators,)``.
        """
        moved: Mask = np.zeros(len(self._robot.joint_names), dtype=bool)
        for binding in self._robot.bindings:
            moved[list(binding.joints)] |= actuators[list(binding.actuators)].any()
        for name in self._robot.pass_through:
            place = self._robot.actuator_names.index(name)
            moved[self._robot.joint_names.index(name)] = actuators[place]
        self._held.forget([0], moved)
        self._is_first |= moved
        self._any_first = True

    # -- commands --------------------------------------------------------------------------------

    def command(
        self,
        layout: Layout,
        data: JointStateData,
        measured_position: Array,
        stamp: Stamp,
        *,
        measured_velocity: Array | None = None,
        source: str = 'joint_commands',
        now: float = 0.0,
    ) -> list[JointStateRecord]:
        """
        Return the actuator commands that a joint command means.

        :param layout: Names and lengths of the message.
        :param data: The message.
        :param measured_position: Joint positions, shape ``(n_joints,)``, NaN where unknown.
        :param stamp: Stamp of the result.
        :param measured_velocity: Of the joints, likewise; ``None``: unknown.
        :param source: Topic of the command.
        :param now: Time of receipt [s].
        :returns: Messages that name only actuators with a finite command, and have an empty array
            for an interface that is not commanded. No message if nothing was commanded.
        :raises MessageError: If the message is refused; then nothing has changed, but that the
            velocity or effort in force is over where the new one cannot be mapped
            (:attr:`has_ended`).
        """
        self.update_clock(now)
        command = self._plans.get(layout).read(data)
        return self._apply(command, measured_position, measured_velocity, stamp, source, now)

    def command_interface(
        self,
        interface: str,
        names: Sequence[str],
        values: Array,
        measured_position: Array,
        stamp: Stamp,
        *,
        measured_velocity: Array | None = None,
        source: str,
        now: float = 0.0,
    ) -> list[JointStateRecord]:
        """
        Return the actuator commands that a plain array of one interface means.

        For ``interface``, ``names`` and ``values`` see :func:`array_command`, for the rest see
        :meth:`command`.

        :raises MessageError: If it is refused; then nothing has changed.
        """
        self.update_clock(now)
        command = array_command(interface, names, values, self._known)
        return self._apply(command, measured_position, measured_velocity, stamp, source, now)

    def _apply(
        self,
        command: Array,
        measured_position: Array,
        measured_velocity: Array | None,
        stamp: Stamp,
        source: str,
        now: float,
    ) -> list[JointStateRecord]:
        pattern = self._patterns.get(np.isfinite(command, self._given))
        if not pattern.is_full and np.isinf(command).any():
            _refuse_infinite(self._robot, command)
        if not len(pattern.given):
            return []
        if pattern.is_mixed and self._mixed == 'reject':
            raise MessageError(
                'mixed', 'joints commanded in different modes (mixed_commands is reject)'
            )
        counts = self.counts[source]
        changed = self.limits.apply(command, counts=counts)
        effects = LimitEffects.none()
        for group in pattern.partial:
            group.complete(command, self._held.at(now), measured_position, self._partial)
        if pattern.has_rates:
            self.limits.stop_outward(
                command, measured_position, measured_velocity, effects, counts
            )
        try:
            sent = self._map(command, pattern, measured_position, effects)
        except MessageError as error:
            if error.reason == 'unmapped':
                self._end_rates(command)
            raise
        self._held.replace(command, sent, pattern)
        self.limits.count_clamped(changed, counts)
        effects.count(counts)
        if self._any_first and pattern.has_positions:
            self._look_for_jumps(command, measured_position, counts)
        self._is_left[pattern.given] = False
        self._watchdog.renew(pattern.given, now)
        self._sources.record_source(pattern.given, source)
        return pattern.records(sent, stamp)

    def _look_for_jumps(self, command: Array, position: Array, counts: CommandCounts) -> None:
        """Count first position commands that ask for more than half the range of a joint."""
        given = ~np.isnan(command[0])
        far = self._is_first & (np.abs(command[0] - position) > self.limits.half_range)
        counts.jumped.update(self._robot.joint_names[joint] for joint in np.flatnonzero(far))
        self._is_first &= ~given
        self._any_first = bool(self._is_first.any())

    def _end_rates(self, command: Array) -> None:
        """End what is in force where new velocities or efforts cannot be mapped."""
        for binding in _unmapped_by(self._robot, command, self._mapped):
            joints = np.array(binding.joints)
            if not np.isnan(command[1:, joints]).all():
                self._watchdog.end(joints[~np.isnan(self._held.joints[1:, joints]).all(axis=0)])

    def _map(
        self,
        command: Array,
        pattern: CommandPattern,
        measured_position: Array,
        effects: LimitEffects,
        *,
        is_new: bool = True,
    ) -> Array:
        """Map a command that is complete; one that ends others is not refused for a limit."""
        sent = self._mapper.map_command(command, measured_position, self.report)
        if np.isfinite(sent, self._mapped).tobytes() != pattern.result:
            _zero_rates_or_reject(self._robot, command, sent, self._mapped, pattern.result)
        if is_new:
            self.check_turns(sent[0])
        self.actuator_limits.apply(sent, effects, may_refuse=is_new)
        return sent

    def check_turns(self, positions: Array) -> None:
        """
        Check that it is known in which turn the actuators are that are sent to positions.

        :param positions: Shape ``(..., n_actuators)``, NaN where none is sent.
        :raises MessageError: If it is not (``unknown_turn``): it could be whole turns away.
        """
        if self.open_turns is None:
            return
        sent = np.isfinite(positions).reshape(-1, positions.shape[-1]).any(axis=0)
        places = np.flatnonzero(sent & self.open_turns)
        if len(places):
            names = [self._robot.actuator_names[place] for place in places]
            raise MessageError(
                'unknown_turn',
                f'it is not known in which turn {shortened(names)} is, so that no position can be '
                'sent there: see diagnostics',
            )

    def adopt(self, end: TrajectoryEnd, *, source: str, now: float) -> None:
        """
        Hold the end of a trajectory that was sent to the drivers.

        It replaces the commands of its joints when it starts, and times out only after it has
        ended. While it is executed, a partner that has to hold holds its measured position, not
        the end. A newer command for one of its joints cancels a trajectory that has not started.

        :param now: Time [s].
        """
        self._sources.record_source(np.flatnonzero(end.named), source)
        self._is_first &= ~end.named
        self._is_left &= ~end.named
        self._held.schedule(end)
        self._start_trajectories(now)

    def _start_trajectories(self, now: float) -> None:
        for end in self._held.start_trajectories(now):
            self._watchdog.renew(end.named, end.until)

    # -- ends of commands ------------------------------------------------------------------------

    def update_clock(self, now: float) -> None:
        """
        End the commands from before time went backwards, and start trajectories that are due.

        Where there is a timeout, velocity and effort are left for :meth:`expire` to end. Commands
        do this first; before :meth:`held_at` the caller does it.

        :param now: Time [s].
        """
        if self._watchdog.update_clock(now):
            self._held.forget_positions(rates=not self._watchdog.is_enabled)
        elif self._held.upcoming:
            self._start_trajectories(now)

    def expire(self, measured_position: Array, stamp: Stamp, now: float) -> list[JointStateRecord]:
        """
        Return the messages that end the commands older than the timeout; each is ended once.

        Velocity becomes zero, and with ``zero_effort`` effort too; else the last effort stays
        (:attr:`left_efforts`). A position command is still held. Joints coupled to these keep
        their commands, or end too where that cannot be mapped.

        :param now: Time [s], of the clock that gave the times of receipt.
        """
        self.update_clock(now)
        expired = self._watchdog.take_expired(now)
        if not expired.any():
            return []
        in_force = expired & ~np.isnan(self._held.joints)
        ending = np.full(in_force.shape, np.nan)
        for row in self._ended_rows:
            ending[row, in_force[row]] = 0.0
        if _EFFORT not in self._ended_rows:
            self._is_left |= in_force[_EFFORT]
        for group in self._patterns.groups:
            group.keep_partners(ending, self._held.joints)
        pattern = self._patterns.get(np.isfinite(ending))
        sent = np.full(self._held.actuators.shape, np.nan)
        if len(pattern.given):
            effects = LimitEffects.none()
            self.limits.stop_outward(ending, measured_position, None, effects, None)
            try:
                sent = self._map(ending, pattern, measured_position, effects, is_new=False)
            except MessageError:
                # A partner whose position is unknown cannot keep its command: it ends as well.
                for binding in _unmapped_by(self._robot, ending, self._mapped):
                    ending[:, list(binding.joints)] *= 0.0
                sent = self._map(ending, pattern, measured_position, effects, is_new=False)
            self._held.end(ending, sent)
        self._held.forget(self._ended_rows, expired)
        return pattern.records(sent, stamp)

    def stop(self, stamp: Stamp) -> list[JointStateRecord]:
        """
        Return the messages to send before falling silent, and forget every command.

        Zero is sent only for the interface that an actuator was last commanded in.
        """
        zeros = np.where(np.isnan(self._held.actuators), np.nan, 0.0)
        zeros[~np.array(self._stopped_fields)] = np.nan
        self.reset()
        return actuator_messages(
            self._robot.actuator_names, zeros, stamp, merged=self._mixed == 'nan'
        )
