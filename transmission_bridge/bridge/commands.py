# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""From joint commands to actuator commands: whole messages or nothing, and nothing invented."""

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
    plan_command,
)
from transmission_bridge.bridge.inputs import CommandCounts, PlanCache, Stamp
from transmission_bridge.bridge.limits import CommandLimits
from transmission_bridge.errors import MessageError, shortened
from transmission_bridge.messages.joint_state import JointStateData, JointStateRecord, Layout
from transmission_bridge.transmissions import MapReport, RobotTransmissions
from transmission_bridge.transmissions.binding import Binding
from transmission_bridge.transmissions.interfaces import FIELDS, JOINT_TO_ACTUATOR
from transmission_bridge.types import Array, Index, Mask

__all__ = [
    'Arrivals',
    'CommandPath',
    'CommandSources',
    'CommandWatchdog',
    'HeldCommands',
    'TrajectoryEnd',
    'refuse_infinite',
    'unmapped_by',
    'zero_rates_or_reject',
]


# -- Who commanded each joint last, and how often that had been another --------------------------


class CommandSources:
    """
    The sources of commands; the newest of a joint counts.

    :param joint_names: The joints.
    :ivar contested: Commands to a joint that another source had commanded, by joint.
    :ivar counts: What became of the commands of each source.
    """

    def __init__(self, joint_names: Sequence[str]) -> None:
        self._joint_names = tuple(joint_names)
        self.contested: Counter[str] = Counter()
        self.counts: defaultdict[str, CommandCounts] = defaultdict(CommandCounts)
        self.reset()

    def reset(self) -> None:
        """Forget who commanded what; what was counted stays."""
        self._newest = [''] * len(self._joint_names)
        self._last_joints: Index | None = None
        self._last_source = ''

    def credit(self, joints: Index, source: str) -> None:
        """
        Note who commands joints now.

        :param joints: Their places; not to be changed. The very same array from the same source
            again, which is what a controller's stream comes to, says nothing new.
        """
        if joints is self._last_joints and source == self._last_source:
            return
        self._last_joints, self._last_source = joints, source
        for place in joints:
            if self._newest[place] not in ('', source):
                name = self._joint_names[place]
                self.contested[name] += 1
                self.counts[source].contested[name] += 1
            self._newest[place] = source


# -- When each joint was commanded last, and whether that was too long ago -----------------------


#: Time of a command that is not there, and of one from before time went backwards.
_NONE, _BEFORE = np.inf, -np.inf


class CommandWatchdog:
    """
    The watchdog of commands; with time going backwards all of them are too old.

    :param n_joints: Number of joints.
    :param timeout: Seconds; 0: commands never grow too old by themselves.
    """

    def __init__(self, n_joints: int, timeout: float) -> None:
        self._n_joints = n_joints
        self._timeout = timeout
        self.reset()

    def reset(self) -> None:
        """Forget every command."""
        self._received: Array = np.full(self._n_joints, _NONE)
        self._latest = -np.inf

    @property
    def matter(self) -> bool:
        """Whether commands grow too old at all."""
        return self._timeout > 0.0

    def went_back(self, now: float) -> bool:
        """Take note of the time [s]; return whether it is earlier than it was."""
        is_earlier = now < self._latest
        if is_earlier:
            self._received[np.isfinite(self._received)] = _BEFORE
        self._latest = now
        return is_earlier

    def renew(self, joints: Index | Mask, time: float) -> None:
        """Take note of a command; ``time`` may be to come, as the end of a trajectory is."""
        self._received[joints] = time

    def take_old(self, now: float) -> Mask:
        """Return which joints' commands are too old, shape ``(n_joints,)``; each is told once."""
        old: Mask = now - self._received > self._timeout
        self._received[old] = _NONE
        return old

    def is_any_alive(self, joints: Index) -> bool:
        """Return whether one of these joints has a command that is not over."""
        return not bool((self._received[joints] == _NONE).all())


# -- What trajectories have on its way, and when it arrives --------------------------------------


#: When something arrives that is not on its way.
_ARRIVED = -np.inf


class Arrivals:
    """
    When joints or actuators arrive; at first nothing is on its way.

    :param count: How many there are.
    :ivar are_there: Whether anything ever was on its way; where not, there is nothing to ask.
    """

    def __init__(self, count: int) -> None:
        self._times: Array = np.full(count, _ARRIVED)
        self.are_there = False

    def expect(self, places: Mask | Index | Sequence[int], time: float) -> None:
        """Have these under way until a time [s]."""
        self._times[places] = time
        self.are_there = True

    def cancel(self, places: Mask | Index | Sequence[int]) -> None:
        """Have these not under way any more: something else counts instead."""
        self._times[places] = _ARRIVED

    def cancel_all(self) -> None:
        """Have nothing under way any more, as when time goes backwards."""
        self._times[:] = _ARRIVED

    def under_way(self, now: float) -> Mask:
        """Return which are on their way at a time [s], shape ``(count,)``."""
        under_way: Mask = self._times > now
        return under_way


# -- What remains of a trajectory when it is over ------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class TrajectoryEnd:
    """
    Where a trajectory leaves the robot.

    :param named: The joints that it names, shape ``(n_joints,)``.
    :param joints: These and the coupled ones that hold meanwhile: their former commands are over.
    :param joint_position: Where they stay, NaN where that is not known.
    :param actuators: The actuators that move them, shape ``(n_actuators,)``.
    :param actuator_position: Where these stay, NaN where that is not known.
    :param start: When it starts [s]; former commands go on until then.
    :param until: When it is over [s].
    """

    named: Mask
    joints: Mask
    joint_position: Array
    actuators: Mask
    actuator_position: Array
    start: float
    until: float


# -- What was commanded last, to joints and to actuators, and what trajectories will command -----


class HeldCommands:
    """
    The memory of the command path; a new command replaces all modes of its joint.

    :param n_joints: Number of joints.
    :param n_actuators: Number of actuators.
    :ivar joints: Rows position, velocity, effort, shape ``(3, n_joints)``, NaN where there is
        none. Of a joint that a trajectory moves it is where that leads.
    :ivar actuators: What was sent for these, shape ``(3, n_actuators)``.
    :ivar upcoming: Trajectories that are to start.
    """

    def __init__(self, n_joints: int, n_actuators: int) -> None:
        self.joints: Array = np.full((len(FIELDS), n_joints), np.nan)
        self.actuators: Array = np.full((len(FIELDS), n_actuators), np.nan)
        self.upcoming: list[TrajectoryEnd] = []
        self._arrivals = Arrivals(n_joints)

    @property
    def positions(self) -> Mask:
        """Which joints hold a position command, or will by a trajectory, shape ``(n_joints,)``."""
        held: Mask = ~np.isnan(self.joints[0])
        for end in self.upcoming:
            held |= end.joints
        return held

    def at(self, now: float) -> Array:
        """
        Return the commands of joints, but for the positions they are still on their way to.

        Where such a joint is at a time is known to nobody but the driver.

        :param now: Time [s].
        :returns: As :attr:`joints`; not to be changed.
        """
        if not self._arrivals.are_there:
            return self.joints
        held: Array = self.joints.copy()
        held[0, self._arrivals.under_way(now)] = np.nan
        return held

    def replace(self, command: Array, sent: Array, shape: CommandPattern) -> None:
        """
        Hold a command from now on; it counts instead of trajectories that are to start.

        :param command: Shape ``(3, n_joints)``; may be kept.
        :param sent: Shape ``(3, n_actuators)``; is copied.
        :param shape: Which joints and actuators it is for.
        """
        if self._arrivals.are_there:
            self._arrivals.cancel(shape.joints)
        if self.upcoming:
            self._call_off(shape.joints)
        if shape.is_full:
            self.joints, self.actuators[...] = command, sent
        else:
            np.copyto(self.joints, command, where=shape.joints)
            np.copyto(self.actuators, sent, where=shape.actuators)

    def await_start(self, end: TrajectoryEnd) -> None:
        """Take a trajectory that is to start instead of others for one of its joints."""
        self._call_off(end.joints)
        self.upcoming.append(end)

    def start_trajectories(self, now: float) -> list[TrajectoryEnd]:
        """Hold where trajectories lead whose start [s] has come, and return these."""
        started = [end for end in self.upcoming if end.start <= now]
        for end in started:
            self.upcoming.remove(end)
            self._adopt(end)
        return started

    def _call_off(self, joints: Mask) -> None:
        """Forget trajectories that are to start, where they are for one of these joints."""
        self.upcoming = [end for end in self.upcoming if not (end.joints & joints).any()]

    def _adopt(self, end: TrajectoryEnd) -> None:
        """Hold where a trajectory leads that starts now, once it is over."""
        self.joints[:, end.joints] = np.nan
        self.joints[0, end.joints] = end.joint_position[end.joints]
        self.actuators[:, end.actuators] = np.nan
        self.actuators[0, end.actuators] = end.actuator_position[end.actuators]
        self._arrivals.expect(end.joints, end.until)

    def forget(self, joints: Mask | Index) -> None:
        """Hold no command of these joints; what was sent for them is still known."""
        self.joints[:, joints] = np.nan

    def forget_positions(self, *, rates: bool) -> None:
        """Hold no position of any joint, nor where it was to go, nor rates if asked."""
        self.joints[: len(FIELDS) if rates else 1] = np.nan
        self._arrivals.cancel_all()
        self.upcoming = []


# -- Commands that cannot be mapped, being infinite or out of a mechanism's domain ---------------


def refuse_infinite(robot: RobotTransmissions, command: Array) -> None:
    """
    Refuse a command that is infinite for some joints.

    :param command: Shape ``(3, n_joints)``, NaN: no command.
    :raises MessageError: In any case (``infinite``).
    """
    places = np.flatnonzero(np.isinf(command).any(axis=0))
    names = [robot.joint_names[place] for place in places]
    raise MessageError('infinite', f'infinite command for {shortened(names)}')


def zero_rates_or_reject(
    robot: RobotTransmissions, command: Array, sent: Array, mapped: Mask, expected: bytes
) -> None:
    """
    Map rates of zero, which are zero at every position, and refuse what is still not mapped.

    :param command: Shape ``(3, n_joints)``, NaN: no command.
    :param sent: What the map gave for it, shape ``(3, n_actuators)``; changed in place.
    :param mapped: Which of that is finite, likewise.
    :param expected: Which has to be, as :attr:`CommandPattern.result`.
    :raises MessageError: If a transmission has no answer (``unmapped``): the command must not be
        half applied.
    """
    _stand_still(robot, command, sent)
    if np.isfinite(sent, mapped).tobytes() != expected:
        lost = [binding.spec.name for binding in unmapped_by(robot, command, mapped)]
        raise MessageError(
            'unmapped',
            f'a command cannot be mapped by {shortened(lost)}: out of its domain, singular, too '
            'large, or its position is unknown',
        )


def _stand_still(robot: RobotTransmissions, command: Array, sent: Array) -> None:
    for binding in robot.bindings:
        still = (command[:, list(binding.joints)] == 0.0).all(axis=1)
        still[0] = False
        owned = np.array(binding.actuators)[np.array(binding.owned)]
        sent[np.ix_(still, owned)] = 0.0


def unmapped_by(robot: RobotTransmissions, command: Array, mapped: Mask) -> list[Binding]:
    """
    Return the transmissions that could not map their part of a command.

    :param command: Shape ``(3, n_joints)``, NaN: no command.
    :param mapped: For which actuators the map gave numbers, shape ``(3, n_actuators)``.
    """
    lost = []
    for binding in robot.bindings:
        asked = ~np.isnan(command[:, list(binding.joints)]).all(axis=1)
        answered = mapped[:, list(binding.actuators)].all(axis=1)
        if (asked & ~answered).any():
            lost.append(binding)
    return lost


# -- From joint commands to actuator commands ----------------------------------------------------
#
# Whole messages or nothing, and nothing invented.


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
        self._ages = CommandWatchdog(len(robot.joint_names), timeout)
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
        self._shapes = CommandPatterns(robot, merged=self._mixed == 'nan')

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
        shape: CommandPattern,
        measured_position: Array,
        now: float,
        *,
        hold: bool,
    ) -> Array:
        """Complete, map and remember a command; nothing is remembered of one that is refused."""
        for group in shape.partial:
            group.complete(command, self._held.at(now), measured_position, hold=hold)
        sent = self._mapper.map_command(command, measured_position, self.report)
        if np.isfinite(sent, self._mapped).tobytes() != shape.result:
            zero_rates_or_reject(self._robot, command, sent, self._mapped, shape.result)
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
