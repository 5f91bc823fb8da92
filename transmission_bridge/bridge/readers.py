# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
From messages with commands of joints to motions; each names its joints and checks its form.

The gate calls the reader of its plan. Senders rely on the forms of messages, and on the reasons of
errors, which are keys of diagnostics and words of docs/commands_and_states.md; sentences may
change.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from transmission_bridge.bridge.inputs import as_slice, BILLION, is_valid_stamp, LayoutCache
from transmission_bridge.bridge.motion import (
    ACCELERATION,
    ARRAYS,
    COMMAND,
    Motion,
    Pattern,
    POSITION,
    TRAJECTORY,
    Trajectory,
    VELOCITY,
)
from transmission_bridge.bridge.robot_facts import RobotFacts
from transmission_bridge.bridge.rules.rule import list_masked
from transmission_bridge.errors import closest, counted, MessageError, shortened, shown
from transmission_bridge.interfaces import FIELDS
from transmission_bridge.messages import (
    JointStateRecord,
    Layout,
    make_ragged_error,
    TrajectoryRecord,
)
from transmission_bridge.transmissions import RobotTransmissions
from transmission_bridge.types import Array, EMPTY, Index

# -- Names in joint commands ---------------------------------------------------------------------
#
# ros2_control's topic-based hardware names every joint in ``name``, but fills each array only for
# the joints that declare the command interface: arrays are shorter than the names and misaligned.
# The declarations decide how to read such a message if they are unambiguous.


#: Number of unknown names in an error with a suggestion of the closest known name.
_MOST_SOUGHT = 3


@dataclass(frozen=True, slots=True)
class CommandNames:
    """
    The joint names that commands may use.

    :param commandable: Index of each joint that may be commanded.
    :param barred: Joints that must not be commanded, with the reason.
    :param declared: By interface, the joints that declare it as a command interface in a
        ``<ros2_control>`` block.
    """

    commandable: Mapping[str, int]
    barred: Mapping[str, str]
    declared: Mapping[str, frozenset[str]]

    def list_unknown(self, names: Sequence[str]) -> list[str]:
        """Return the names that the robot does not have."""
        return [n for n in names if n not in self.commandable and n not in self.barred]


def check_command_names(
    names: Sequence[str], of_robot: CommandNames, *, accepts_unknown: bool
) -> None:
    """
    Check the joint names of a command.

    :param of_robot: The names that commands may use.
    :raises MessageError: If a name is unknown (``unknown_joint``) and this is not accepted, or is
        repeated (``duplicate_name``).
    """
    unknown = of_robot.list_unknown(names)
    if unknown and not accepts_unknown:
        sought = [f'{shown(n)}{closest(n, of_robot.commandable)}' for n in unknown[:_MOST_SOUGHT]]
        more = len(unknown) - len(sought)
        raise MessageError(
            'unknown_joint',
            f'the robot has no joint {", ".join(sought)}{f" and {more} more" if more else ""}; '
            'nothing was moved',
            about=shortened(unknown, _MOST_SOUGHT),
        )
    if len(set(names)) < len(names):
        repeated = [name for name, count in Counter(names).items() if count > 1]
        raise MessageError('duplicate_name', f'given more than once: {shortened(repeated)}')


def list_command_names(robot: RobotTransmissions) -> CommandNames:
    """Return the joint names that commands to a robot may use."""
    reading: dict[str, str] = {}
    for binding in robot.bindings:
        spec = binding.spec
        only_reads = any(member.read_only for member in (*spec.joints, *spec.actuators))
        # If a block declares no interface, its joints may be commanded.
        declares = any(joint.command_interfaces or joint.state_interfaces for joint in spec.joints)
        if only_reads or not all(binding.owned) or (declares and not spec.can_command):
            reading |= {joint.name: 'its transmission only reads' for joint in spec.joints}
        why = f"passive, it is moved by transmission '{spec.name}'"
        reading |= {robot.joint_names[joint]: why for joint in binding.passive}
    reasons = {name: f'not bridged, {reason}' for name, reason in robot.lost_joints.items()}
    reasons |= {j.name: f'it follows {j.mimic.joint}' for j in robot.description.joints if j.mimic}
    joints = [joint for block in robot.description.blocks for joint in block.joints]
    others = [joint.name for joint in robot.description.joints]
    others += [joint.name for joint in joints]
    barred = reading | {
        name: reasons.get(name, 'not bridged') for name in others if name not in robot.joint_names
    }
    declared = {
        interface: frozenset(
            joint.name
            for joint in joints
            if any(command.name == interface for command in joint.command_interfaces)
        )
        for interface in FIELDS
    }
    return CommandNames(
        {name: joint for joint, name in enumerate(robot.joint_names) if name not in reading},
        barred,
        declared,
    )


# -- Messages ------------------------------------------------------------------------------------

#: Largest number of waypoints of a trajectory: mapping them takes time.
MOST_WAYPOINTS = 2000

#: Topics for commands of one interface; other interfaces have topics of their own.
SINGLE_TOPICS = {f'joint_commands/{interface}': interface for interface in FIELDS}


class _Reading(NamedTuple):
    """
    How to read JointStates of one layout.

    :param arrays: Row of each array, indices of its joints, and of their values; ``None``: all.
    :param barred: Row, index and name of each value for a joint that may not be commanded.
    """

    arrays: Sequence[tuple[int, Index | slice, Index | None]]
    barred: Sequence[tuple[int, int, str]]


class CommandReader:
    """
    Reads messages with commands of joints; names are looked up once per layout.

    Position, velocity and effort of a message are commands, NaN means no command. Each motion has
    arrays of its own. The readings of layouts are caches.

    :param find_pattern: Returns the pattern of a kind of motion and a mask as bytes.
    :ivar names: The joint names that commands may use.
    """

    def __init__(self, facts: RobotFacts, find_pattern: Callable[[str, bytes], Pattern]) -> None:
        self._facts, self._find_pattern = facts, find_pattern
        self.names = list_command_names(facts.robot)
        self._nothing = facts.nothing
        self._readings = LayoutCache(self._plan_layout)
        # The last layout, and how to read it.
        self._layout: Layout | None = None
        self._reading = _Reading((), ())

    def read_command(self, layout: Layout, data: JointStateRecord, route: str) -> Motion:
        """
        Return the command of a JointState.

        If joints may be rejected alone (:attr:`RobotFacts.divides`), those that may not be
        commanded are left out and counted, unless no other joint is commanded.

        :param route: Topic of the message.
        :raises MessageError: If a name is unknown (``unknown_joint``) or repeated
            (``duplicate_name``), a joint may not be commanded (``not_commandable``), an array fits
            neither the names nor the declarations (``ragged``), or a value is infinite
            (``infinite``).
        """
        reading = self._reading
        if layout is not self._layout:
            reading = self._readings.look_up(layout)
            if layout.is_kept:
                self._layout, self._reading = layout, reading
        values, numbers = self._nothing.copy(), (data.position, data.velocity, data.effort)
        for row, places, picks in reading.arrays:
            values[row, places] = numbers[row] if picks is None else numbers[row][picks]
        motion = self._make_command(values, route)
        if not reading.barred:
            return motion
        reasons = self.names.barred
        barred = [value for value in reading.barred if not np.isnan(numbers[value[0]][value[1]])]
        if barred and not (self._facts.divides and motion.pattern.named.any()):
            check_command_names(layout.names, self.names, accepts_unknown=False)
            first = barred[0][0]
            sentences = [f'{name} ({reasons[name]})' for row, _, name in barred if row == first]
            what = f'{FIELDS[first]} command for {shortened(sentences, show=str)}'
            raise MessageError('not_commandable', what)
        for _, _, name in barred:
            is_ours = name in reasons
            key = f'{name} (not_commandable)' if is_ours else f'{shown(name)} (unknown_joint)'
            motion.changes.add(('rejected', key))
        return motion

    def read_array(
        self, interface: str, names: Sequence[str], numbers: Array, route: str
    ) -> Motion:
        """
        Return the command in a plain array of one interface.

        As in ros2_control's forward_command_controller, an array is rejected if its size is wrong
        or a value is not finite.

        :param interface: ``position``, ``velocity`` or ``effort``.
        :param names: The joint of each value; all are commandable.
        :param route: Topic of the message.
        :raises MessageError: If the number of values is wrong (``size``), or a value is NaN or
            infinite (``not_finite``).
        """
        if len(numbers) != len(names):
            raise MessageError(
                'size', f'expected {counted(len(names), "value")}, found {len(numbers)}'
            )
        finite = np.isfinite(numbers)
        if not finite.all():
            wrong = [name for name, is_finite in zip(names, finite, strict=True) if not is_finite]
            raise MessageError('not_finite', f'no finite {interface} for {shortened(wrong)}')
        values, commandable = self._nothing.copy(), self.names.commandable
        values[FIELDS.index(interface), [commandable[name] for name in names]] = numbers
        return self._make_command(values, route)

    def read_trajectory(
        self, record: TrajectoryRecord, start: float, now: float, route: str
    ) -> Motion:
        """
        Return the waypoints of a trajectory that were not due before now.

        Each array of a waypoint (positions, velocities, accelerations, effort) has a value for
        every named joint or is empty; one of the first three has values. Times from the start
        increase strictly. Every number is finite.

        :param start: Time at which it starts [s].
        :param now: The time [s].
        :param route: Topic of the message.
        :raises MessageError: If there are too many waypoints (``too_many_points``), the stamp is
            impossible (``bad_stamp``), there are no names (``no_names``) or waypoints
            (``no_points``), a name is unknown (``unknown_joint``) or repeated
            (``duplicate_name``), a joint may not be commanded (``not_commandable``), an array has
            the wrong length (``size``), a waypoint has no motion (``empty_point``), times do not
            increase (``times``), all waypoints are in the past (``too_old``), or a number is not
            finite (``not_finite``).
        """
        self.check_waypoint_count(len(record.points))
        if not is_valid_stamp(record.stamp):
            raise MessageError(
                'bad_stamp',
                'header.stamp is the start time of the trajectory: expected zero (now), or '
                f'seconds >= 0 and nanoseconds < 10^9, found {record.stamp[0]} s and '
                f'{record.stamp[1]} ns',
            )
        if not record.names:
            raise MessageError('no_names', 'a trajectory without joint names')
        check_command_names(record.names, self.names, accepts_unknown=False)
        reasons = self.names.barred
        barred = [f'{name} ({reasons[name]})' for name in record.names if name in reasons]
        if barred:
            raise MessageError('not_commandable', f'trajectory for {shortened(barred, show=str)}')
        joints = [self.names.commandable[name] for name in record.names]
        record = drop_due_points(record, start, now)
        values = np.full((len(ARRAYS), len(record.points), self._nothing.shape[1]), np.nan)
        filled = np.zeros(values.shape[:2], dtype=bool)
        for row, field in enumerate(ARRAYS):
            arrays = [getattr(point, field) for point in record.points]
            for number, numbers in enumerate(arrays):
                if len(numbers) not in (0, len(joints)):
                    expected = f'expected {len(joints)} or none'
                    sentence = f'waypoint {number} has {len(numbers)} {field}, {expected}'
                    raise MessageError('size', sentence)
            filled[row] = [len(numbers) > 0 for numbers in arrays]
            if filled[row].any():
                stacked = np.array([numbers for numbers in arrays if len(numbers)])
                wrong = ~np.isfinite(stacked)
                if wrong.any():
                    names = list_masked(record.names, wrong)
                    raise MessageError('not_finite', f'{field} not finite: {shortened(names)}')
                values[row][np.ix_(filled[row], joints)] = stacked
        still = ~filled[[POSITION, VELOCITY, ACCELERATION]].any(axis=0)
        if still.any():
            raise MessageError(
                'empty_point',
                f'waypoint {int(np.argmax(still))} has no positions, velocities, accelerations',
            )
        mask = filled.any(axis=1, keepdims=True) & self._facts.make_mask(np.array(joints))
        trajectory = Trajectory(record, filled, start)
        pattern = self._find_pattern(TRAJECTORY, mask.tobytes())
        return Motion(route, pattern, values, EMPTY, trajectory)

    @staticmethod
    def check_waypoint_count(count: int) -> None:
        """
        Reject a trajectory that would take too long to map; channels check it before the decoding.

        :param count: Number of its waypoints.
        :raises MessageError: If there are too many (``too_many_points``).
        """
        if count > MOST_WAYPOINTS:
            waypoints, most = counted(count, 'waypoint'), f'{MOST_WAYPOINTS} at most'
            raise MessageError('too_many_points', f'{waypoints}, expected {most}')

    def _make_command(self, values: Array, route: str) -> Motion:
        finite = np.isfinite(values).tobytes()
        if 0 in finite and 1 in np.isinf(values).tobytes():
            names = list_masked(self._facts.robot.joint_names, np.isinf(values))
            raise MessageError('infinite', f'infinite command for {shortened(names)}')
        return Motion(route, self._find_pattern(COMMAND, finite), values, EMPTY)

    def _plan_layout(self, layout: Layout) -> _Reading:
        arrays: list[tuple[int, Index | slice, Index | None]] = []
        barred: list[tuple[int, int, str]] = []
        names, commandable = layout.names, self.names.commandable
        check_command_names(names, self.names, accepts_unknown=self._facts.divides)
        # An unknown joint may have a value in a shorter array, or not.
        unknown = self.names.list_unknown(names)
        for row, (interface, length) in enumerate(zip(FIELDS, layout.lengths, strict=True)):
            if not length:
                continue
            declared = self.names.declared[interface]
            named = names if length == len(names) else tuple(n for n in names if n in declared)
            if length != len(named) or (unknown and length != len(names)):
                otherwise = ''
                if 0 < len(named) < len(names):
                    otherwise = f'; or one for each joint that declares the {interface} command '
                    otherwise += f'interface ({shortened(named)})'
                if unknown:
                    otherwise += f'. The robot has no joint {shortened(unknown)}: the sender has '
                    otherwise += 'another description'
                raise make_ragged_error(names, {interface: length}, otherwise=otherwise)
            picks = [pick for pick, name in enumerate(named) if name in commandable]
            joints = as_slice([commandable[named[pick]] for pick in picks])
            is_all = len(picks) == len(named)
            arrays.append((row, joints, None if is_all else np.array(picks, dtype=np.intp)))
            barred += [(row, k, name) for k, name in enumerate(named) if name not in commandable]
        return _Reading(arrays, barred)


def drop_due_points(record: TrajectoryRecord, start: float, now: float) -> TrajectoryRecord:
    """
    Return a trajectory without the waypoints that were due before now.

    Its driver moves from where it is to the first waypoint that remains.

    :param start: Start time [s].
    :raises MessageError: If it has none (``no_points``), its times do not increase (``times``), or
        no waypoint remains (``too_old``).
    """
    if not record.points:
        raise MessageError('no_points', 'a trajectory without waypoints')
    instants = [seconds * BILLION + ns for seconds, ns in (point.time for point in record.points)]
    for number, (before, after) in enumerate(pairwise(instants), start=1):
        if after <= before:
            raise MessageError('times', f'waypoint {number} is not later than the one before it')
    times = [start + point.time[0] + 1e-9 * point.time[1] for point in record.points]
    count = sum(time < now for time in times)
    if count == len(times):
        late = f'its last waypoint was due {now - max(times):.3f} s ago'
        raise MessageError('too_old', f'a trajectory in the past: {late}')
    return replace(record, points=record.points[count:]) if count else record
