# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
The only way to the drivers: every message is made, checked and recorded here.

Numbers are in SI until a message is made.

The numbered promises at the top of docs/commands_and_states.md name the methods that keep them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, NoReturn

import numpy as np

from transmission_bridge.bridge.command_plan import (
    CommandPattern,
    CommandPatterns,
    list_owned_actuators,
    make_actuator_messages,
)
from transmission_bridge.bridge.driver_units import DriverUnits
from transmission_bridge.bridge.follower_limits import FollowerLimits
from transmission_bridge.bridge.inputs import JointRejection, Stamp
from transmission_bridge.bridge.ledger import Ledger, TrajectoryEnd
from transmission_bridge.bridge.limits import ActuatorLimits, CommandLimits, LimitEffects
from transmission_bridge.bridge.options import AUTO, BridgeOptions, COMMAND_TIMEOUT
from transmission_bridge.bridge.outputs import check_array_order, DriverNames
from transmission_bridge.bridge.states import KnownState
from transmission_bridge.errors import MessageError, shortened
from transmission_bridge.messages.joint_state import JointStateRecord
from transmission_bridge.messages.trajectory import POINT_FIELDS, TrajectoryRecord, Waypoint
from transmission_bridge.transmissions import MapReport, RobotTransmissions
from transmission_bridge.transmissions.binding import Binding
from transmission_bridge.transmissions.interfaces import FIELDS, JOINT_TO_ACTUATOR
from transmission_bridge.types import Array, EMPTY, Mask

_POSITION, _VELOCITY, _EFFORT = range(len(FIELDS))

#: Longest time since the last command that counts for a step [s].
_LONGEST_STEP = 0.1

#: The rows of a command among the arrays of waypoints.
_ROWS_OF_WAYPOINTS = [0, 1, 3]


class Outgoing(NamedTuple):
    """A message to a driver: a record, or the numbers of a plain array."""

    topic: str
    namespace: str
    content: JointStateRecord | TrajectoryRecord | Array


@dataclass(frozen=True, slots=True)
class TrajectoryValues:
    """
    All waypoints in the order of the robot's joints.

    :param named: Mask of the joints that the trajectory names, shape ``(n_joints,)``.
    :param values: Positions, velocities, accelerations, effort: shape ``(4, n_points,
        n_joints)``, NaN: no value.
    :param given: Mask of the arrays of each waypoint, shape ``(4, n_points)``.
    """

    named: Mask
    values: Array
    given: Mask


def find_command_timeouts(robot: RobotTransmissions, timeout: float) -> list[float]:
    """
    Return the command timeout of each joint [s]; 0: never.

    :param timeout: For all joints; -1: 0.5 s, and 0 for joints of a topic-based component that is
        silent at its target.
    """
    if timeout != AUTO:
        return [timeout] * len(robot.joint_names)
    silent = {
        component.name
        for block in robot.robot.blocks
        if block.is_silent_at_target
        for component in block.components
    }
    return [0.0 if name in silent else COMMAND_TIMEOUT for name in robot.joint_names]


class Gate:
    """
    Maps joint commands, checks the result, records it, and sends it to the drivers.

    :param send: Receives the messages of one command. If it raises an error, an end is not
        recorded and is repeated.
    :ivar report: Counts of NaN in position-dependent transmissions, by reason.
    :ivar drivers: Divides messages among the drivers.
    :ivar orders: Indices of the actuators in plain arrays, by the namespace of their driver.
    :ivar unsent_arrays: Number of arrays that were not sent, by topic.
    :ivar missing: Actuators without a command in the last unsent array, by topic.
    :raises ParameterError: If ``command_actuators`` repeat or misspell an actuator.
    """

    def __init__(
        self,
        robot: RobotTransmissions,
        options: BridgeOptions | None = None,
        *,
        drivers: DriverNames | None = None,
        send: Callable[[Sequence[Outgoing]], object] = len,
    ) -> None:
        options = self._options = options or BridgeOptions()
        self._send = send
        self.drivers = drivers or DriverNames({}, robot.actuator_names)
        self.timeouts = find_command_timeouts(robot, options.command_timeout)
        self.ledger = Ledger(robot, self.timeouts)
        self.limits = CommandLimits(robot, options)
        self.report = MapReport()
        self._ending_rows = [_VELOCITY, _EFFORT] if options.zero_effort else [_VELOCITY]
        names, order = robot.actuator_names, options.command_actuators
        kind = 'an actuator of the robot'
        check_array_order('command_actuators', order, names, kind, robot.lost_actuators)
        self.orders: dict[str, list[int]] = {}
        for name in order:
            self.orders.setdefault(self.drivers.find_namespace(name), []).append(names.index(name))
        self.unsent_arrays: Counter[str] = Counter()
        self.missing: dict[str, tuple[str, ...]] = {}
        self._robot = robot
        self.replace_maps(robot)
        self.reset()

    def replace_maps(self, robot: RobotTransmissions) -> None:
        """
        Replace the maps between two messages; joints and actuators must be the same.

        A joint that holds a position keeps the position of its actuators.
        """
        self._robot = robot
        self._robot_map = robot.stream(JOINT_TO_ACTUATOR)
        self._units = DriverUnits(robot)
        self.patterns = CommandPatterns(robot, self._options)
        self._follower_limits = FollowerLimits(robot, self._options)
        self.actuator_limits = ActuatorLimits(robot, self._options)
        self.ledger.hold_actuators(robot)

    def reset(self) -> None:
        """Forget every command."""
        self._robot_map.forget_solutions()
        self.ledger.reset()
        self.missing = {}
        self._last_velocities: dict[str, Array] = {}
        self._finite: Mask = np.empty(self.ledger.actuators.shape, dtype=bool)

    def update_ledger(self, known: KnownState) -> None:
        """Update the ledger by the known state; call it first for each message."""
        self.ledger.update_clock(known.now)
        if known.returned is not None:
            joints = self._robot.joints_of(known.returned)
            self.ledger.forget_positions(joints, known.returned)

    # -- commands --------------------------------------------------------------------------------

    def send_command(
        self,
        command: Array,
        pattern: CommandPattern,
        known: KnownState,
        stamp: Stamp,
        route: str,
        effects: LimitEffects,
    ) -> list[JointStateRecord]:
        """
        Send a joint command.

        :param command: Rows position, velocity, effort of complete groups of joints, shape ``(3,
            n_joints)``, within the limits of the joints; may be kept.
        :param effects: Changes made by these limits.
        :returns: The messages with the names of the URDF and the units of the drivers.
        :raises MessageError: If it is rejected (``limit``, ``actuator_limit``, ``jumped``,
            ``unknown_turn``, ``unmapped``). If its replacement cannot be mapped, an active
            velocity or effort ends.
        """
        self._follower_limits.limit_motion(command, known.position, effects)
        if pattern.has_positions and self._options.max_step != 'off':
            self._check_command_step(command[_POSITION], pattern, known, effects)
        if pattern.has_rates:
            self.limits.zero_outward_rates(command, known.position, known.velocity, effects)
        sent = self._robot_map.map_command(command, known.position, self.report)
        if np.isfinite(sent, self._finite).tobytes() != pattern.result:
            lost = self._map_zero_rates(command, sent, pattern)
            if lost:
                self._reject_unmapped(lost, pattern, known, stamp)
        if known.open_turns is not None:
            self._check_turns(sent[_POSITION], known.open_turns)
        self.actuator_limits.limit_actuators(sent, effects)
        numbers = self._units.of_drivers(sent)
        if numbers is not sent and 1 in np.isinf(numbers).tobytes():  # too large for its unit
            lost = [b for b in self._robot.bindings if np.isinf(numbers[:, b.actuators]).any()]
            self._reject_unmapped(lost, pattern, known, stamp)
        effects.count_changes()
        self.ledger.record_command(command, sent, pattern, route, known.now)
        records = pattern.make_records(numbers, stamp)
        self._deliver(records, sent, known)
        return records

    def _check_command_step(
        self, positions: Array, pattern: CommandPattern, known: KnownState, effects: LimitEffects
    ) -> None:
        """Compare the distance to commanded positions with the velocity limits of the joints."""
        origin = self.ledger.find_step_origins(known.position, known.now)
        if self.limits.are_near(positions, origin, pattern.positions):
            return
        time = np.minimum(self.ledger.find_command_ages(known.now), _LONGEST_STEP)
        target = np.full(positions.shape, np.nan)
        for joints in (pattern.given, pattern.following):  # other partners hold
            if joints is not None:
                target[joints] = positions[joints]
        self.limits.check_step_size(target, origin, time, effects)

    def _map_zero_rates(
        self, command: Array, sent: Array, pattern: CommandPattern
    ) -> list[Binding]:
        """Map rates of zero to zero; return the transmissions that still have no result."""
        lost = []
        expected = np.frombuffer(pattern.result, dtype=bool).reshape(sent.shape)
        for binding in self._robot.bindings:
            own = list_owned_actuators(binding)
            still = (command[:, list(binding.joints)] == 0.0).all(axis=1)
            still[_POSITION] = False
            sent[np.ix_(still, own)] = 0.0
            if not np.isfinite(sent[:, own])[expected[:, own]].all():
                lost.append(binding)
        np.isfinite(sent, self._finite)
        return lost

    def _reject_unmapped(
        self, lost: list[Binding], pattern: CommandPattern, known: KnownState, stamp: Stamp
    ) -> NoReturn:
        """Reject a command that cannot be mapped, and end the rates that it should replace."""
        over = np.zeros(len(pattern.joints), dtype=bool)
        rates = np.frombuffer(pattern.result, dtype=bool).reshape(self._finite.shape)[_VELOCITY:]
        for binding in lost:
            over[list(binding.joints)] = rates[:, list_owned_actuators(binding)].any()
        self.ledger.expire_rates(over)
        self.end_expired_commands(known, stamp)
        raise MessageError(
            'unmapped',
            f'a command cannot be mapped by {shortened([b.spec.name for b in lost])}: out '
            'of its domain, singular, too large, or its position is unknown',
        )

    def _check_turns(self, positions: Array, open_turns: Mask) -> None:
        """Reject positions for actuators in an unknown turn: they could be whole turns away."""
        sent = np.isfinite(positions).reshape(-1, positions.shape[-1]).any(axis=0)
        places = np.flatnonzero(sent & open_turns)
        if len(places):
            names = [self._robot.actuator_names[place] for place in places]
            raise JointRejection(
                'unknown_turn',
                f'the turn of {shortened(names)} is unknown, or its driver has sent no position; '
                'positions cannot be sent: see diagnostics',
                self._robot.joints_of(places),
            )

    # -- ends ------------------------------------------------------------------------------------

    def end_expired_commands(self, known: KnownState, stamp: Stamp) -> list[JointStateRecord]:
        """
        End expired commands; repeat ends that were not sent.

        Velocity becomes zero, and effort with ``zero_effort``; otherwise the last effort stays
        active. Positions are held. Coupled joints keep their commands, or end if these cannot be
        mapped.
        """
        ledger, sent, records = self.ledger, np.full(self.ledger.actuators.shape, np.nan), []
        due = ledger.find_expired_joints(known.now)
        ending = np.full(ledger.joints.shape, np.nan)
        for row in self._ending_rows:
            ending[row, due & ~np.isnan(ledger.joints[row])] = 0.0
        for group in self.patterns.groups:
            group.keep_partners(ending, ledger.joints)
            if not group.can_hold and due[group.joints].any():
                due[group.joints] = True
        if not np.isnan(ending).all():
            sent = self._map_ending(ending, due, known)
            records = self._make_messages(sent, stamp)
            self._deliver(records, sent, known, ends=True)
        ledger.close_entries(due, ending, sent)
        self._end_replaced_velocities(known)
        return records

    def _map_ending(self, ending: Array, due: Mask, known: KnownState) -> Array:
        """
        Map zeros and the commands of partners; send zero to the motors if that is not possible.

        :param ending: Changed in place: zero for partners that end.
        :param due: Changed in place: includes partners that end.
        """
        effects = LimitEffects()
        self.limits.zero_outward_rates(ending, known.position, known.velocity, effects)
        pattern = self.patterns.find_pattern(np.isfinite(ending))
        sent = self._robot_map.map_command(ending, known.position, self.report)
        if np.isfinite(sent, self._finite).tobytes() != pattern.result:
            for binding in self._map_zero_rates(ending, sent, pattern):
                joints, own = np.array(binding.joints), list_owned_actuators(binding)
                rows = np.flatnonzero(~np.isnan(ending[:, joints]).all(axis=1))
                active = ~np.isnan(self.ledger.actuators[np.ix_(rows, own)])
                sent[np.ix_(rows, own)] = np.where(active, 0.0, np.nan)
                ending[np.ix_(rows, joints)] = 0.0
                due[joints] = True
        self.actuator_limits.limit_actuators(sent, effects)
        return sent

    def send_stop(self, known: KnownState, stamp: Stamp) -> list[JointStateRecord]:
        """
        Send the messages of ``on_stop``, and forget every command.

        Interfaces with an active command receive zero. A trajectory with positions stays with its
        driver.
        """
        active = ~np.isnan(self.ledger.actuators)
        for end in self.ledger.upcoming:
            active |= ~np.isnan(end.actuator_command) & end.actuators
        zeros = np.full(active.shape, np.nan)
        for row in self._ending_rows if self._options.on_stop == 'zero_rates' else ():
            zeros[row, active[row]] = 0.0
        records = self._make_messages(zeros, stamp)
        self._deliver(records, zeros, known, ends=True)
        if self._options.on_stop == 'zero_rates':
            self._end_replaced_velocities(known)
        self.reset()
        return records

    def find_left_trajectories(self, now: float) -> tuple[str, ...]:
        """Return the actuators with a trajectory of positions, started or not."""
        left = self.ledger.find_moving_actuators(now) & ~np.isnan(self.ledger.actuators[_POSITION])
        for end in self.ledger.upcoming:
            left |= ~np.isnan(end.actuator_command[_POSITION]) & end.actuators
        return tuple(self._robot.actuator_names[place] for place in np.flatnonzero(left))

    # -- trajectories ----------------------------------------------------------------------------

    def send_trajectory(
        self,
        trajectory: TrajectoryRecord,
        read: TrajectoryValues,
        known: KnownState,
        route: str,
        start: float,
        effects: LimitEffects,
    ) -> TrajectoryRecord:
        """
        Send a joint trajectory.

        :param read: Waypoints of complete groups of joints, within the limits of the joints.
        :param start: When it starts [s].
        :returns: The message sent, with the names of the URDF and the turns and units of drivers.
        :raises MessageError: If it is rejected; see :meth:`send_command`.
        """
        robot, values, given, named = self._robot, read.values, read.given, read.named
        rates = values[_ROWS_OF_WAYPOINTS]
        self._follower_limits.limit_motion(rates, known.position, effects)
        self.limits.zero_outward_rates(rates, known.position, known.velocity, effects)
        values[_ROWS_OF_WAYPOINTS] = rates
        if given[_POSITION].any() and self._options.max_step != 'off':
            first = int(np.argmax(given[_POSITION]))
            seconds, nanoseconds = trajectory.points[first].time
            time = max(start - known.now + seconds + 1e-9 * nanoseconds, 0.0)
            target = np.where(named, values[_POSITION, first], np.nan)
            origin = self.ledger.find_step_origins(known.position, known.now)
            self.limits.check_step_size(target, origin, time, effects)
        mapped = self._map_waypoints(values, given)
        is_finite = np.isfinite(self._convert_waypoints(mapped))
        for binding in robot.bindings:
            if not named[list(binding.joints)].any():
                continue
            lost = given & ~is_finite[:, :, list_owned_actuators(binding)].all(axis=-1)
            if lost.any():
                field, point = np.argwhere(lost)[0]
                raise MessageError(
                    'unmapped',
                    f'{POINT_FIELDS[field]} of waypoint {point} cannot be mapped by '
                    f'{binding.spec.name}: out of its domain, singular, or not supported',
                )
        if known.open_turns is not None:
            self._check_turns(mapped[_POSITION], known.open_turns)
        for row, field in enumerate(_ROWS_OF_WAYPOINTS):
            self.actuator_limits.limit_row(mapped[field], row, effects)
        self._check_trajectory_speed(trajectory, values[_POSITION], mapped[_POSITION])
        effects.count_changes()
        actuators = robot.actuators_of(named)
        self.ledger.record_trajectory(
            TrajectoryEnd(
                named=named,
                joints=named | robot.joints_of(actuators),
                joint_command=_find_final_command(values, given),
                actuators=actuators,
                actuator_command=_find_final_command(mapped, given),
                start=start,
                until=start + trajectory.duration,
            ),
            route,
            known.now,
        )
        if known.shift is not None:
            mapped[_POSITION] -= known.shift
        numbers = self._convert_waypoints(mapped)
        record = _make_trajectory(trajectory, numbers, given, actuators, robot.actuator_names)
        self._send(
            [
                Outgoing('actuator_trajectory', namespace, part)
                for namespace, part in self.drivers.divide_trajectory(record)
            ]
        )
        return record

    def _map_waypoints(self, values: Array, given: Mask) -> Array:
        mapped = np.full((*given.shape, len(self._robot.actuator_names)), np.nan)
        for field, interface in enumerate(('position', 'velocity', 'acceleration', 'effort')):
            rows = given[field]
            if rows.any():
                mapped[field, rows] = self._robot.joint_to_actuator(
                    interface,
                    values[field, rows],
                    at=values[_POSITION, rows],
                    rate=values[_VELOCITY, rows],
                    report=self.report,
                )
        return mapped

    def _convert_waypoints(self, mapped: Array) -> Array:
        rows = zip(mapped, (_POSITION, _VELOCITY, _VELOCITY, _EFFORT), strict=True)
        return np.array([self._units.of_drivers(values, row) for values, row in rows])

    def _check_trajectory_speed(
        self, trajectory: TrajectoryRecord, joints: Array, actuators: Array
    ) -> None:
        """
        Reject a trajectory that is faster than a velocity limit between two waypoints.

        If a ratio varies, the midpoint is also checked.
        """
        rows = np.flatnonzero(~np.isnan(joints).all(axis=1))
        if self._options.limits == 'off' or len(rows) < 2:
            return
        joints, actuators = joints[rows], actuators[rows]
        # Subtract integers, because floats of seconds would lose nanoseconds.
        instants = [(s * 10**9 + ns) for s, ns in (point.time for point in trajectory.points)]
        times = 1e-9 * np.array([each - instants[0] for each in instants])[rows]
        self.limits.check_mean_speed(times, joints)
        if any(not binding.transmission.is_constant for binding in self._robot.bindings):
            middle = self._robot.joint_to_actuator('position', 0.5 * (joints[1:] + joints[:-1]))
            halves = np.empty((2 * len(rows) - 1, actuators.shape[1]))
            halves[::2], halves[1::2] = actuators, middle
            times = np.interp(np.arange(len(halves)), 2.0 * np.arange(len(rows)), times)
            actuators = halves
        self.actuator_limits.check_mean_speed(times, actuators)

    # -- what is sent ----------------------------------------------------------------------------

    def _make_messages(self, sent: Array, stamp: Stamp) -> list[JointStateRecord]:
        names, numbers = self._robot.actuator_names, self._units.of_drivers(sent)
        return make_actuator_messages(names, numbers, stamp, self._options)

    def _deliver(
        self,
        records: Sequence[JointStateRecord],
        sent: Array,
        known: KnownState,
        *,
        ends: bool = False,
    ) -> None:
        """
        Send records, with the turns and names of the drivers, and plain arrays.

        :param records: In the units of the drivers.
        :param sent: Their numbers in SI, shape ``(3, n_actuators)``.
        """
        outgoing: list[Outgoing] = []
        velocities: dict[str, Array] = {}
        for record in records:
            if known.shift is not None and len(record.position):
                shift = self._units.of_drivers(known.shift, _POSITION)
                places = [self._robot.actuator_names.index(name) for name in record.names]
                record = replace(record, position=record.position - shift[places])
            outgoing += [
                Outgoing('actuator_commands', namespace, part)
                for namespace, part in self.drivers.divide_command(record)
            ]
        for namespace, order in self.orders.items():
            for row in np.flatnonzero(~np.isnan(sent[:, order]).all(axis=1)).tolist():
                topic = f'actuator_{FIELDS[row]}_commands'
                values = (
                    self._make_ending_array(row, order, sent, known)
                    if ends
                    else self._make_whole_array(row, order, known, f'{namespace}{topic}')
                )
                if values is not None:
                    values = self._units.of_drivers(values, row, order)
                    outgoing.append(Outgoing(topic, namespace, values))
                    velocities[namespace] = values if row == _VELOCITY else 0.0 * values
        self._send(outgoing)
        if self.orders:
            np.copyto(self.ledger.last_effort, sent[_EFFORT], where=~np.isnan(sent[_EFFORT]))
            self._last_velocities |= velocities

    def _make_whole_array(
        self, row: int, order: list[int], known: KnownState, topic: str
    ) -> Array | None:
        """
        Return the array if each member has an active command of its mode, else count it.

        Its members also need a driver that is not silent, and, for positions, a known turn.
        """
        values: Array = self._stop_outward_values(self.ledger.actuators[row], row, known)[order]
        lacking = np.isnan(values) | self.ledger.find_moving_actuators(known.now)[order]
        lacking |= self.actuator_limits.find_outside(values, row, order)
        if known.silent is not None:
            lacking |= known.silent[order]
        if row == _POSITION and known.open_turns is not None:
            lacking |= known.open_turns[order]
        if lacking.any():
            self.unsent_arrays[topic] += 1
            self.missing[topic] = tuple(
                self._robot.actuator_names[order[place]] for place in np.flatnonzero(lacking)
            )
            return None
        self.missing.pop(topic, None)
        if row == _POSITION and known.shift is not None:
            values = values - known.shift[order]
        return values

    def _stop_outward_values(self, values: Array, row: int, known: KnownState) -> Array:
        """Return active numbers of actuators, zero if they lead further beyond a limit."""
        former = self.ledger.joints
        command = former.copy()
        self.limits.zero_outward_rates(command, known.position, known.velocity, LimitEffects())
        stopped = self._robot.actuators_of((command[row] == 0.0) & (former[row] != 0.0))
        return np.where(stopped & ~np.isnan(values), 0.0, values)

    def _end_replaced_velocities(self, known: KnownState) -> None:
        """
        End velocities of the last array to a driver if other modes replaced them without an array.

        A driver that receives only arrays would keep them. Actuators that execute a trajectory
        are left out, because their driver received it.
        """
        for namespace, values in list(self._last_velocities.items()):
            order = np.array(self.orders[namespace])
            kept = (values != 0.0) & np.isnan(self.ledger.actuators[_VELOCITY, order])
            places = order[kept & ~self.ledger.find_moving_actuators(known.now)[order]]
            if len(places):
                sent = np.full(self.ledger.actuators.shape, np.nan)
                sent[_VELOCITY, places] = 0.0
                self._deliver([], sent, known, ends=True)

    def _make_ending_array(
        self, row: int, order: list[int], sent: Array, known: KnownState
    ) -> Array:
        """Return the array that ends rates; other members keep their rate, or are zero."""
        going_on = self.ledger.last_effort
        if row == _VELOCITY:
            going_on = np.nan_to_num(self.ledger.actuators[row])
            going_on[self.ledger.find_moving_actuators(known.now)] = 0.0
        going_on = self._stop_outward_values(going_on, row, known)
        values = np.where(np.isnan(sent[row]), going_on, sent[row])[order]
        return self.actuator_limits.clip_values(values, row, order)


def _find_final_command(values: Array, given: Mask) -> Array:
    """Return the command after a trajectory: its last positions, or rates without positions."""
    last = values[_ROWS_OF_WAYPOINTS, -1]
    if given[_POSITION, -1]:
        last[_VELOCITY:] = np.nan
    elif not given[_VELOCITY, -1]:
        # Accelerations alone lead to an unknown velocity that has to end.
        last[_VELOCITY] = np.where(np.isnan(values[2, -1]), np.nan, 0.0)
    return last


def _make_trajectory(
    trajectory: TrajectoryRecord,
    mapped: Array,
    given: Mask,
    actuators: Mask,
    names: tuple[str, ...],
) -> TrajectoryRecord:
    chosen = mapped[:, :, actuators]
    return TrajectoryRecord(
        trajectory.stamp,
        trajectory.frame_id,
        tuple(names[place] for place in np.flatnonzero(actuators)),
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
