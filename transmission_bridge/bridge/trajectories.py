# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""From joint trajectories to actuator trajectories; each is mapped atomically."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from transmission_bridge.bridge.command_plan import check_names, CommandNames, find_command_names
from transmission_bridge.bridge.gate import Gate, TrajectoryValues
from transmission_bridge.bridge.inputs import is_possible
from transmission_bridge.bridge.limits import LimitEffects
from transmission_bridge.bridge.options import BridgeOptions
from transmission_bridge.bridge.states import KnownState
from transmission_bridge.errors import MessageError, shortened
from transmission_bridge.messages.trajectory import POINT_FIELDS, TrajectoryRecord
from transmission_bridge.transmissions import RobotTransmissions
from transmission_bridge.transmissions.binding import Binding

# -- The waypoints of a joint trajectory as arrays -----------------------------------------------
#
# Each array of a waypoint (positions, velocities, accelerations, effort) has a value for every
# named joint or is empty; one of the first three has values. Times from the start increase
# strictly. Every number is finite.


_MOTION = ('positions', 'velocities', 'accelerations')


def read_trajectory(
    record: TrajectoryRecord, known: CommandNames, n_joints: int
) -> TrajectoryValues:
    """
    Check a trajectory and stack its waypoints.

    :param known: The joint names that commands may use.
    :raises MessageError: If the stamp is impossible (``bad_stamp``), there are no names
        (``no_names``) or waypoints (``no_points``), a name is unknown (``unknown_joint``) or
        repeated (``duplicate_name``), a joint may not be commanded (``not_commandable``), an array
        has the wrong length (``size``), a waypoint has no motion (``empty_point``), times do not
        increase (``times``), or a number is not finite (``not_finite``).
    """
    if not is_possible(record.stamp):
        raise MessageError(
            'bad_stamp',
            'header.stamp is the start time of the trajectory: expected zero (now), or seconds '
            f'>= 0 and nanoseconds < 10^9, found {record.stamp[0]} s and {record.stamp[1]} ns',
        )
    if not record.names:
        raise MessageError('no_names', 'a trajectory without joint names')
    check_names(record.names, known)
    barred = [f'{name} ({known.barred[name]})' for name in record.names if name in known.barred]
    if barred:
        raise MessageError('not_commandable', f'trajectory for {shortened(barred, show=str)}')
    places = [known.commandable[name] for name in record.names]
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
            f'waypoint {int(np.argmax(still))} has no {", ".join(_MOTION)}',
        )
    named = np.zeros(n_joints, dtype=bool)
    named[places] = True
    return TrajectoryValues(named, values, given)


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


_POSITION, _VELOCITY, _ACCELERATION, _EFFORT = range(len(POINT_FIELDS))

#: The row of a command, and of its limits, for each array of a waypoint.
_COMMAND_ROWS = {_POSITION: 0, _VELOCITY: 1, _EFFORT: 2}


class TrajectoryPath:
    """
    Reads, checks and completes joint trajectories, and passes them to the gate.

    Header and times are copied, and empty arrays of a waypoint stay empty. If the ratio of a
    mechanism depends on position, a waypoint needs positions, and accelerations also need
    velocities.

    If a trajectory names only some joints of a coupled transmission, the others hold their last
    commanded, else measured position, with zero rates and their last commanded effort.

    :param robot: Provides joints and types of transmissions, which tuning does not change.
    :param gate: Maps and sends trajectories.
    """

    def __init__(
        self, robot: RobotTransmissions, gate: Gate, options: BridgeOptions | None = None
    ) -> None:
        self._options = options or BridgeOptions()
        self._robot = robot
        self._gate = gate
        self._known = find_command_names(robot)

    def check_waypoint_count(self, count: int) -> None:
        """
        Reject a trajectory that would take too long to map.

        :param count: Number of its waypoints.
        :raises MessageError: If there are too many (``too_many_points``).
        """
        most = self._options.max_waypoints
        if count > most:
            raise MessageError('too_many_points', f'{count} waypoints, max_waypoints is {most}')

    def send_message(
        self,
        trajectory: TrajectoryRecord,
        known: KnownState,
        *,
        source: str = 'joint_trajectory',
        start: float | None = None,
    ) -> TrajectoryRecord:
        """
        Map a joint trajectory and send the result.

        :param trajectory: For any joints that may be commanded.
        :param source: Its topic.
        :param start: Start time [s]; ``None``: now.
        :returns: The message sent, with the names of the URDF and the turns of the drivers.
        :raises MessageError: If it is rejected. State is unchanged. Reasons: see
            :func:`read_trajectory` and :meth:`Gate.send_trajectory`; also ``too_many_points``,
            ``limit``, ``partial``, ``no_position`` and ``no_velocity``.
        """
        self.check_waypoint_count(len(trajectory.points))
        gate = self._gate
        gate.update_ledger(known)
        read = read_trajectory(trajectory, self._known, len(self._robot.joint_names))
        effects = LimitEffects(gate.ledger.counts[source])
        for field, row in _COMMAND_ROWS.items():
            gate.limits.limit_joints(read.values[field], effects, row)
        for binding in self._robot.bindings:
            if read.named[list(binding.joints)].any():
                self._hold_partners(binding, read, known)
                _check_needed_arrays(binding, read)
        start = known.now if start is None else start
        return gate.send_trajectory(trajectory, read, known, source, start, effects)

    def _hold_partners(self, binding: Binding, read: TrajectoryValues, known: KnownState) -> None:
        """Fill in the joints that are coupled to named joints, in place."""
        places = np.array(binding.joints)
        missing = places[~read.named[places]]
        if not len(missing):
            return
        names = ', '.join(self._robot.joint_names[place] for place in missing)
        about = f'{names}, coupled by {binding.spec.name} to a joint of the trajectory'
        if self._options.partial_commands == 'reject':
            raise MessageError(
                'partial', f'no trajectory for {about} (partial_commands is reject)'
            )
        if len(binding.actuators) < len(binding.joints):
            raise MessageError(
                'partial', f'no trajectory for {about}: it has too few actuators to hold them'
            )
        held = self._gate.ledger.find_held_commands(known.now)[:, missing]
        position = np.where(np.isnan(held[0]), known.position[missing], held[0])
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


def _check_needed_arrays(binding: Binding, read: TrajectoryValues) -> None:
    """Reject waypoints without the arrays that a position-dependent mechanism needs."""
    if binding.transmission.is_constant:
        return
    missing = ~read.given[_POSITION]
    if missing.any():
        raise MessageError(
            'no_position',
            f'waypoint {int(np.argmax(missing))} has no positions: {binding.spec.name} depends on '
            'position',
        )
    missing = read.given[_ACCELERATION] & ~read.given[_VELOCITY]
    if missing.any():
        raise MessageError(
            'no_velocity',
            f'waypoint {int(np.argmax(missing))} has accelerations without velocities: '
            f'{binding.spec.name} depends on position',
        )
