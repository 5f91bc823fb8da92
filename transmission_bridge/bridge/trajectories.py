# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""From joint trajectories to actuator trajectories; each is mapped whole or not at all."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from transmission_bridge.bridge.command_plan import (
    check_names,
    command_names,
    commanded_actuators,
    CommandNames,
    owned_actuators,
)
from transmission_bridge.bridge.commands import CommandPath, TrajectoryEnd
from transmission_bridge.bridge.inputs import is_possible
from transmission_bridge.bridge.limits import LimitEffects
from transmission_bridge.errors import MessageError, shortened
from transmission_bridge.messages.trajectory import POINT_FIELDS, TrajectoryRecord, Waypoint
from transmission_bridge.transmissions import RobotTransmissions
from transmission_bridge.transmissions.binding import Binding
from transmission_bridge.types import Array, EMPTY, Index, Mask

__all__ = ['TrajectoryPath', 'TrajectoryValues', 'read_trajectory']


# -- The waypoints of a joint trajectory as arrays -----------------------------------------------
#
# Positions, velocities, accelerations and effort of a waypoint are each given for all joints named
# or for none; one of the first three has to be. Times from the start increase strictly. Every
# number is finite.


_MOTION = ('positions', 'velocities', 'accelerations')


@dataclass(frozen=True, slots=True)
class TrajectoryValues:
    """
    All waypoints in the order of the robot's joints.

    :param named: The joints that the trajectory names, shape ``(n_joints,)``.
    :param values: Positions, velocities, accelerations, effort: shape ``(4, n_points,
        n_joints)``, NaN where there is none.
    :param given: Which of the four each waypoint has, shape ``(4, n_points)``.
    """

    named: Mask
    values: Array
    given: Mask


def read_trajectory(
    record: TrajectoryRecord, known: CommandNames, n_joints: int
) -> TrajectoryValues:
    """
    Check a trajectory and stack its waypoints.

    :param known: The joint names that commands may use.
    :raises MessageError: If the stamp is impossible (``bad_stamp``), there are no names
        (``no_names``) or waypoints (``no_points``), a name is unknown (``unknown_joint``), given
        twice (``duplicate_name``) or of a joint that may not be commanded (``not_commandable``),
        an array has the wrong length (``size``), a waypoint has no motion (``empty_point``),
        times do not increase (``times``), or a number is not finite (``not_finite``).
    """
    if not is_possible(record.stamp):
        raise MessageError(
            'bad_stamp',
            'header.stamp is when the trajectory starts: expected zero (now), or seconds >= 0 and '
            f'nanoseconds < 10^9, found {record.stamp[0]} s and {record.stamp[1]} ns',
        )
    places = _places(record.names, known)
    _check_times(record)
    shape = (len(POINT_FIELDS), len(record.points))
    values = np.full((*shape, n_joints), np.nan)
    given = np.zeros(shape, dtype=bool)
    for row, field in enumerate(POINT_FIELDS):
        arrays = [getattr(point, field) for point in record.points]
        for number, numbers in enumerate(arrays):
            if len(numbers) not in (0, len(places)):
                raise MessageError(
                    'size',
                    f'waypoint {number} has {len(numbers)} {field}, expected {len(places)} or '
                    'none',
                )
        given[row] = [len(numbers) > 0 for numbers in arrays]
        if given[row].any():
            stacked = np.array([numbers for numbers in arrays if len(numbers)])
            wrong = ~np.isfinite(stacked)
            if wrong.any():
                names = [record.names[place] for place in np.flatnonzero(wrong.any(axis=0))]
                raise MessageError('not_finite', f'{field} not finite: {shortened(names)}')
            values[row][np.ix_(given[row], places)] = stacked
    still = ~given[: len(_MOTION)].any(axis=0)
    if still.any():
        raise MessageError(
            'empty_point',
            f'waypoint {int(np.argmax(still))} has none of {", ".join(_MOTION)}',
        )
    named = np.zeros(n_joints, dtype=bool)
    named[places] = True
    return TrajectoryValues(named, values, given)


def _places(names: tuple[str, ...], known: CommandNames) -> list[int]:
    if not names:
        raise MessageError('no_names', 'a trajectory without joint names')
    check_names(names, known)
    barred = [f'{name} ({known.barred[name]})' for name in names if name in known.barred]
    if barred:
        raise MessageError('not_commandable', f'trajectory for {shortened(barred, show=str)}')
    return [known.commandable[name] for name in names]


def _check_times(record: TrajectoryRecord) -> None:
    if not record.points:
        raise MessageError('no_points', 'a trajectory without waypoints')
    times = [
        seconds * 10**9 + nanoseconds
        for seconds, nanoseconds in (point.time for point in record.points)
    ]
    for number, (before, after) in enumerate(pairwise(times), start=1):
        if after <= before:
            raise MessageError('times', f'waypoint {number} is not later than the one before it')


# -- From joint trajectories to actuator trajectories --------------------------------------------


#: Interfaces of the arrays of a waypoint.
_INTERFACES = ('position', 'velocity', 'acceleration', 'effort')
_POSITION, _VELOCITY, _ACCELERATION, _EFFORT = range(4)

#: The row of a command, and of its limits, for each array of a waypoint.
_COMMAND_ROWS = {_POSITION: 0, _VELOCITY: 1, _EFFORT: 2}


class TrajectoryPath:
    """
    Maps joint trajectories, sharing limits, held commands and counts with the command path.

    Header and times are copied, and arrays that a waypoint omits stay omitted. Where a mechanism
    depends on position, a waypoint needs positions, because rates and effort are mapped there,
    and velocities for its accelerations.

    If a trajectory names only some joints of a coupled transmission, the others hold: their last
    commanded, else measured position, zero rates, and their last commanded effort.

    :param robot: The maps; replaced by :meth:`use`.
    :param commands: Its limits apply; the end of the trajectory becomes its held command.
    :param partial_commands: ``hold``, ``zero`` (as ``hold``) or ``reject``.
    :param max_waypoints: A trajectory with more is refused.
    """

    def __init__(
        self,
        robot: RobotTransmissions,
        commands: CommandPath,
        *,
        partial_commands: str,
        max_waypoints: int = 2000,
    ) -> None:
        self.commands = commands
        self.max_waypoints = max_waypoints
        self._hold = partial_commands != 'reject'
        self._known = command_names(robot)
        self.use(robot)

    def use(self, robot: RobotTransmissions) -> None:
        """Replace the maps between two messages; joints and actuators must be the same."""
        self._robot = robot

    def check_length(self, count: int) -> None:
        """
        Refuse a trajectory that would take too long to map.

        :param count: Its waypoints.
        :raises MessageError: If there are too many (``too_many_points``).
        """
        if count > self.max_waypoints:
            raise MessageError(
                'too_many_points', f'{count} waypoints, max_waypoints is {self.max_waypoints}'
            )

    def map(
        self,
        trajectory: TrajectoryRecord,
        measured_position: Array,
        *,
        source: str = 'joint_trajectory',
        now: float = 0.0,
        start: float | None = None,
    ) -> TrajectoryRecord:
        """
        Return the trajectory of the actuators that move the joints named.

        :param trajectory: The trajectory of any joints that may be commanded.
        :param measured_position: Joint positions, shape ``(n_joints,)``, NaN where unknown.
        :param source: Its topic.
        :param now: Time of receipt [s].
        :param start: When it starts [s], of the same clock; ``None``: now.
        :raises MessageError: If it is refused; then nothing has changed. Reasons are those of
            :func:`read_trajectory`, ``too_many_points``, ``limit``, ``actuator_limit``,
            ``partial``, ``no_position``, ``no_velocity``, ``unknown_turn`` and ``unmapped``.
        """
        self.check_length(len(trajectory.points))
        self.commands.update_clock(now)
        read = read_trajectory(trajectory, self._known, len(self._robot.joint_names))
        counts = self.commands.counts[source]
        limits = self.commands.limits
        changed = [
            limits.apply(read.values[field], row, counts=counts)
            for field, row in _COMMAND_ROWS.items()
        ]
        joints = read.named.copy()
        moved = [b for b in self._robot.bindings if read.named[list(b.joints)].any()]
        for binding in moved:
            self._complete(binding, read, measured_position, now)
            _check_dependence(binding, read)
            joints[list(binding.joints)] = True
        actuators = commanded_actuators(self._robot, read.named)
        mapped = self._map(read)
        self._check_mapped(mapped, read.given, moved)
        self.commands.check_turns(mapped[_POSITION])
        effects = LimitEffects.none()
        for field, row in _COMMAND_ROWS.items():
            self.commands.actuator_limits.apply_row(mapped[field], row, effects)
        for each in changed:
            limits.count_clamped(each, counts)
        effects.count(counts)
        starts = now if start is None else start
        end = TrajectoryEnd(
            named=read.named,
            joints=joints,
            joint_position=read.values[_POSITION, -1],
            actuators=actuators,
            actuator_position=mapped[_POSITION, -1],
            start=starts,
            until=starts + trajectory.duration,
        )
        self.commands.adopt(end, source=source, now=now)
        return self._record(trajectory, mapped, read.given, np.flatnonzero(actuators))

    def _complete(
        self, binding: Binding, read: TrajectoryValues, measured_position: Array, now: float
    ) -> None:
        """Fill in, in place, the joints that are coupled to those named."""
        places = np.array(binding.joints)
        missing = places[~read.named[places]]
        if not len(missing):
            return
        names = ', '.join(self._robot.joint_names[place] for place in missing)
        about = f'{names}, coupled by {binding.spec.name} to a joint of the trajectory'
        if not self._hold:
            raise MessageError(
                'partial', f'no trajectory for {about} (partial_commands is reject)'
            )
        if len(binding.actuators) < len(binding.joints):
            raise MessageError(
                'partial', f'no trajectory for {about}: it has too few actuators to hold them'
            )
        held = self.commands.held_at(now)[:, missing]
        position = np.where(np.isnan(held[0]), measured_position[missing], held[0])
        rest = np.zeros(len(missing))
        for field, filler in (
            (_POSITION, position),
            (_VELOCITY, rest),
            (_ACCELERATION, rest),
            (_EFFORT, held[2]),
        ):
            given = read.given[field]
            if given.any() and np.isnan(filler).any():
                raise MessageError(
                    'partial', f'no {POINT_FIELDS[field]} for {about}, and nothing to hold'
                )
            read.values[field][np.ix_(given, missing)] = filler

    def _map(self, read: TrajectoryValues) -> Array:
        shape = (*read.given.shape, len(self._robot.actuator_names))
        mapped = np.full(shape, np.nan)
        for field, interface in enumerate(_INTERFACES):
            rows = read.given[field]
            if rows.any():
                mapped[field, rows] = self._robot.joint_to_actuator(
                    interface,
                    read.values[field, rows],
                    at=read.values[_POSITION, rows],
                    rate=read.values[_VELOCITY, rows],
                    report=self.commands.report,
                )
        return mapped

    def _check_mapped(self, mapped: Array, given: Mask, moved: list[Binding]) -> None:
        for binding in moved:
            lost = given & ~np.isfinite(mapped[:, :, owned_actuators(binding)]).all(axis=-1)
            if lost.any():
                field, point = np.argwhere(lost)[0]
                raise MessageError(
                    'unmapped',
                    f'{POINT_FIELDS[field]} of waypoint {point} cannot be mapped by '
                    f'{binding.spec.name}: out of its domain, singular, or not supported',
                )

    def _record(
        self,
        trajectory: TrajectoryRecord,
        mapped: Array,
        given: Mask,
        actuators: Index,
    ) -> TrajectoryRecord:
        chosen = mapped[:, :, actuators]
        return TrajectoryRecord(
            trajectory.stamp,
            trajectory.frame_id,
            tuple(self._robot.actuator_names[place] for place in actuators),
            tuple(
                Waypoint(
                    point.time,
                    *(
                        chosen[field, number] if given[field, number] else EMPTY
                        for field in range(len(POINT_FIELDS))
                    ),
                )
                for number, point in enumerate(trajectory.points)
            ),
        )


def _check_dependence(binding: Binding, read: TrajectoryValues) -> None:
    """Refuse waypoints without the arrays that a position-dependent mechanism needs."""
    if binding.transmission.is_constant:
        return
    missing = ~read.given[_POSITION]
    if missing.any():
        raise MessageError(
            'no_position',
            f'waypoint {int(np.argmax(missing))} has no positions, which {binding.spec.name} '
            'depends on',
        )
    missing = read.given[_ACCELERATION] & ~read.given[_VELOCITY]
    if missing.any():
        raise MessageError(
            'no_velocity',
            f'waypoint {int(np.argmax(missing))} has accelerations without velocities, which '
            f'{binding.spec.name} depends on',
        )
