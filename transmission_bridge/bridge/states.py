# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""From actuator states to published joint states."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
import math
from typing import NamedTuple

import numpy as np

from transmission_bridge.bridge.contradictions import MotionWatch
from transmission_bridge.bridge.driver_units import DriverUnits
from transmission_bridge.bridge.inputs import Stamp
from transmission_bridge.bridge.options import BridgeOptions, RECORDED, split_pairs
from transmission_bridge.bridge.state_buffer import are_finite, StateBuffer
from transmission_bridge.bridge.turns import TurnPlan
from transmission_bridge.description.specs import JointSpec, RobotDescription
from transmission_bridge.messages.cdr import JointStateEncoder
from transmission_bridge.messages.joint_state import JointStateRecord, Layout
from transmission_bridge.transmissions import MapReport, RobotTransmissions
from transmission_bridge.transmissions.interfaces import ACTUATOR_TO_JOINT, FIELDS
from transmission_bridge.types import Array, EMPTY, Index, Mask

# -- What is known for a command -----------------------------------------------------------------


class KnownState(NamedTuple):
    """
    The known state of the robot at one moment.

    Masks have shape ``(n_actuators,)``; ``None``: no actuator.

    :param now: The time [s].
    :param position: Joint positions, shape ``(n_joints,)``, NaN if unknown or too old.
    :param velocity: Joint velocities, same shape, NaN if unknown or too old.
    :param open_turns: Actuators in an unknown turn.
    :param shift: To subtract from actuator positions for the turns of the drivers, shape
        ``(n_actuators,)``; ``None``: zero.
    :param silent: Actuators of silent drivers.
    :param returned: Actuators of drivers that are silent, or were since the last command.
    """

    now: float
    position: Array
    velocity: Array
    open_turns: Mask | None = None
    shift: Array | None = None
    silent: Mask | None = None
    returned: Mask | None = None


# -- When the joint states are published ---------------------------------------------------------


class PublishPolicy:
    """
    Decides after each message whether to publish the joint states.

    With ``publish: on_any`` after every message; with ``on_all`` if every source that has not
    timed out has sent a message since the last publication; with ``rate`` never, because a timer
    publishes. If time goes backwards, all messages are forgotten.

    :param timeout_of: Returns the timeout of a source [s]. It counts from the first message of any
        source if this source has not sent one.
    """

    def __init__(
        self,
        options: BridgeOptions,
        sources: Iterable[str],
        timeout_of: Callable[[str], float] = lambda source: math.inf,
    ) -> None:
        self._policy = options.publish
        self._sources = frozenset(sources)
        self._timeout_of = timeout_of
        self.reset()

    def reset(self) -> None:
        """Forget all messages."""
        self._heard: dict[str, float] = {}
        self._since: set[str] = set()
        self._latest = -math.inf

    def should_publish(self, source: str, now: float) -> bool:
        """
        Record a message; return whether to publish the joint states.

        :param source: Its sender.
        :param now: Time of receipt [s].
        """
        if self._policy != 'on_all':
            return self._policy == 'on_any'
        if now < self._latest:
            self.reset()
        if not self._heard:
            self._heard = dict.fromkeys(self._sources, now)
        self._latest = self._heard[source] = now
        self._since.add(source)
        missing = self._sources - self._since
        if any(now - self._heard[other] <= self._timeout_of(other) for other in missing):
            return False
        self._since.clear()
        return True


# -- Published joints and interfaces -------------------------------------------------------------
#
# A follower (URDF ``<mimic>``) is computed, never commanded: ``q = multiplier * q_followed +
# offset``, its velocity without the offset. Its effort is unknown, because the description does
# not define how the load is shared.


class JointView:
    """
    Adds followers to joint states and hides interfaces that must not be published.

    :param options: ``unknown_rates`` and ``undeclared_interfaces`` are used.
    :ivar names: The joints, then their followers.
    :ivar hidden: Mask of the values that are never published, shape ``(3, n)``; ``None``: all are
        published.
    """

    def __init__(self, robot: RobotTransmissions, options: BridgeOptions) -> None:
        self._followers = _find_followers(robot)
        self._fills = options.unknown_rates == 'zero'
        followers = self._followers.names if self._followers is not None else ()
        self.names = (*robot.joint_names, *followers)
        self.hidden = _find_hidden(robot.robot, self.names, options.undeclared_interfaces)
        #: Whether known states are published unchanged.
        self.is_plain = self._followers is None and self.hidden is None

    def __call__(self, joints: Array) -> tuple[Array, Mask]:
        """
        Return the values to publish, NaN: none, and the mask of known values, hidden or not.

        :param joints: Rows position, velocity, effort of the robot's joints, ``(..., 3, n)``.
        :returns: Two arrays ``(..., 3, len(names))``.
        """
        if self._followers is not None:
            joints = self._followers.append_followers(joints)
        # An overflow is also unknown.
        known: Mask = np.isfinite(joints)
        shown = np.where(known, joints, np.nan)
        if self._fills:
            np.copyto(shown[..., 1:, :], 0.0, where=~known[..., 1:, :])
        if self.hidden is not None:
            shown[..., self.hidden] = np.nan
        return shown, known


@dataclass(frozen=True, slots=True)
class _Followers:
    """
    The followers of a robot, with chains resolved to the bridged joint.

    :param followed: Index of the joint that each follows.
    :param multiplier: Product over the chain.
    :param offset: Offset of the chain [rad or m].
    """

    names: tuple[str, ...]
    followed: Index
    multiplier: Array
    offset: Array

    def append_followers(self, joints: Array) -> Array:
        """Append the followers to ``(..., 3, n)``."""
        followed = joints[..., self.followed]
        added = np.full(followed.shape, np.nan)
        added[..., 0, :] = self.multiplier * followed[..., 0, :] + self.offset
        added[..., 1, :] = self.multiplier * followed[..., 1, :]
        return np.concatenate([joints, added], axis=-1)


def _find_followers(robot: RobotTransmissions) -> _Followers | None:
    """
    Return the followers of bridged joints, or ``None``.

    A follower with a transmission of its own is measured, not computed. A follower is left out if
    its chain ends at a joint that is not bridged, or in a loop.
    """
    index = {name: place for place, name in enumerate(robot.joint_names)}
    joints = {joint.name: joint for joint in robot.robot.joints}
    found: list[tuple[str, int, float, float]] = []
    for joint in robot.robot.joints:
        if joint.mimic is None or not joint.is_scalar or joint.name in index:
            continue
        chain = _resolve_chain(joint, joints, index)
        if chain is not None:
            found.append((joint.name, *chain))
    if not found:
        return None
    names, followed, multiplier, offset = zip(*found, strict=True)
    return _Followers(
        names, np.array(followed, dtype=np.intp), np.array(multiplier), np.array(offset)
    )


def _resolve_chain(
    joint: JointSpec, joints: dict[str, JointSpec], index: dict[str, int]
) -> tuple[int, float, float] | None:
    multiplier, offset = 1.0, 0.0
    seen = set()
    while joint.name not in index:
        if joint.mimic is None or joint.name in seen or joint.mimic.joint not in joints:
            return None
        seen.add(joint.name)
        offset += multiplier * joint.mimic.offset
        multiplier *= joint.mimic.multiplier
        joint = joints[joint.mimic.joint]
    return index[joint.name], multiplier, offset


def _find_hidden(robot: RobotDescription, names: tuple[str, ...], choice: str) -> Mask | None:
    """Return the mask of the values to hide, shape ``(3, n)``; ``None``: nothing."""
    if choice == 'publish':
        return None
    declared: dict[str, set[str]] = {}
    for block in robot.blocks:
        if choice == 'auto' and not block.takes_joint_states:
            continue
        for component in block.components:
            if component.kind == 'joint':
                interfaces = declared.setdefault(component.name, set())
                interfaces.update(interface.name for interface in component.state_interfaces)
    hidden = np.array(
        [[field not in declared.get(name, FIELDS) for name in names] for field in FIELDS]
    ).reshape(len(FIELDS), len(names))
    return hidden if hidden.any() else None


# -- From the states of one or several drivers to the states of the joints -----------------------


class StatePath:
    """
    Merges actuator states by name and maps them to joint states; messages are in drivers' units.

    Every number is the latest from a driver; NaN and inf mean unknown. A message is used
    atomically.

    :param options: By default numbers never time out.
    :param stamp_hold: After this time with only older stamps the published stamp goes back [s]; 0,
        for recordings: at once.
    :ivar merged: The latest numbers of all drivers.
    :ivar motion: Compares their velocities with their positions.
    :ivar view: The joints and interfaces that are published.
    :ivar report: Counts of NaN in position-dependent transmissions, by reason.
    :raises TransmissionBridgeError: If an option does not fit the robot.
    """

    def __init__(
        self,
        robot: RobotTransmissions,
        options: BridgeOptions = RECORDED,
        *,
        stamp_hold: float = 0.0,
    ) -> None:
        self._omit, self._options = options.unknown_joints == 'omit', options
        turns = TurnPlan(robot, options) if options.wrap_period else None
        self.motion = MotionWatch(robot, np.nan if turns is None else turns.periods)
        self.merged = StateBuffer(
            robot.actuator_names,
            options,
            driver_names=split_pairs('actuator_names', options.actuator_names),
            units=DriverUnits(robot),
            turn_plan=turns,
            lost=robot.lost_actuators,
            stamp_hold=stamp_hold,
        )
        self.view = JointView(robot, options)

        self.report = MapReport()
        self._robot_map = robot.stream(ACTUATOR_TO_JOINT)
        self.reset()

    def replace_maps(self, robot: RobotTransmissions) -> None:
        """Replace the maps between two messages; joints and actuators must be the same."""
        self._robot_map = robot.stream(ACTUATOR_TO_JOINT)
        self.merged.replace_units(DriverUnits(robot))
        if self.merged.turn_plan is not None:
            self.merged.replace_turn_plan(TurnPlan(robot, self._options))
        self._mapped_version = -1

    def reset(self) -> None:
        """Forget all messages."""
        self.merged.reset()
        self.motion.restart()
        self._robot_map.forget_solutions()
        self._mapped_version = -1

    def merge_message(
        self, source: str, layout: Layout, data: JointStateRecord, stamp: Stamp, now: float = 0.0
    ) -> None:
        """
        Use the message of one driver.

        :param source: The driver, for example its topic.
        :param layout: Names and lengths of the message.
        :param data: The message; its numbers are copied.
        :param stamp: Its stamp, never zero.
        :param now: Time of receipt [s].
        :raises MessageError: If it is rejected. State is unchanged.
        """
        self.merged.merge_message(source, layout, data, stamp, now)
        if layout.lengths[1]:
            position, velocity, _ = self.merged.read_values(now)
            self.motion(position, velocity, now)

    def use_absolute_positions(self, positions: Array, now: float) -> None:
        """
        Use absolute positions of actuators in unknown turns.

        :param positions: In SI, shape ``(n_actuators,)``, NaN: not in this message.
        :param now: Time of receipt [s], by the clock of :meth:`merge_message`. Only readings of
            nearly the same time are compared.
        """
        self.merged.use_absolute_positions(positions, now)

    def find_joint_motion(self, now: float = 0.0) -> Array:
        """
        Return rows position and velocity, shape ``(2, n_joints)``, NaN if unknown or stale.

        **Overwritten** by the next call that maps.
        """
        values = self.merged.read_values(now)
        if self._mapped_version != self.merged.version:
            self._map_values(values)
        motion: Array = self._joints[:2]
        return motion

    def find_known_state(self, now: float) -> KnownState:
        """Return the known state for a command; it contains the return of a driver once."""
        merged = self.merged
        merged.record_time(now)
        position, velocity = self.find_joint_motion(now)
        silent, returned = merged.find_silent_actuators(now), merged.take_returned_actuators()
        if silent is not None and returned is not None:
            returned |= silent
        return KnownState(
            now,
            position,
            velocity,
            merged.find_open_actuators(now),
            merged.find_driver_shift(),
            silent,
            silent if returned is None else returned,
        )

    def make_joint_state(self, now: float = 0.0) -> JointStateRecord | None:
        """
        Return the state of every known joint, with the stamp of the latest input.

        The array of an interface is empty if it is unknown for all of these joints.

        :returns: ``None`` while nothing is known.
        """
        stamp = self.merged.find_stamp(now)
        if stamp is None:
            return None
        return self._make_partial_record(stamp, self._map_values(self.merged.read_values(now)))

    def encode_state(self, encoder: JointStateEncoder, now: float = 0.0) -> bytes | None:
        """
        Return :meth:`make_joint_state` serialised.

        If everything is known and published, numbers are copied directly to the message.
        """
        stamp = self.merged.find_stamp(now)
        if stamp is None:
            return None
        joints = self._map_values(self.merged.read_values(now))
        if self.view.is_plain and self._all_known:
            return encoder.encode_rows(self.view.names, stamp, joints)
        state = self._make_partial_record(stamp, joints)
        return None if state is None else encoder.encode_record(state)

    def _make_partial_record(self, stamp: Stamp, joints: Array) -> JointStateRecord | None:
        """Return the record if not everything is known and published."""
        shown, known = self.view(joints)
        names, hidden = self.view.names, self.view.hidden
        if self._omit and not known[0].all():
            named = known[0]
            names = tuple(name for name, is_known in zip(names, named, strict=True) if is_known)
            shown, known = shown[:, named], known[:, named]
            hidden = None if hidden is None else hidden[:, named]
        if not (known if hidden is None else known & ~hidden).any():
            return None
        return JointStateRecord(stamp, '', names, *(empty_if_unknown(row) for row in shown))

    def _map_values(self, actuators: Array) -> Array:
        joints = self._robot_map.map_state(actuators, self.report)
        if self.merged.reopen_turns(joints[0]):
            joints = self._robot_map.map_state(actuators, self.report)
        self._joints = joints
        self._all_known = are_finite(joints)
        self._mapped_version = self.merged.version
        return joints


def empty_if_unknown(values: Array) -> Array:
    """Return an empty array if no value is known."""
    return EMPTY if np.isnan(values).all() else values


# -- Absolute encoders and torque sensors --------------------------------------------------------


class SensorPath:
    """
    Maps absolute encoders or torque sensors of the actuators to the joints.

    Absolute positions are mapped like positions, torques like efforts. With
    ``ignore_absolute_encoder`` absolute positions pass to the joint of the same role.

    :param interface: ``absolute_position`` or ``torque``.
    :param field: The JointState field that contains it: ``position`` or ``effort``.
    :param options: By default numbers never time out.
    :param driver_names: Driver's name to URDF name on its topic, if they differ.
    :ivar report: Counts of NaN in position-dependent transmissions, by reason.
    """

    def __init__(
        self,
        robot: RobotTransmissions,
        interface: str,
        field: str,
        options: BridgeOptions = RECORDED,
        *,
        driver_names: Mapping[str, str] | None = None,
    ) -> None:
        self._interface = interface
        self._row = FIELDS.index(field)
        self._merged = StateBuffer(
            robot.actuator_names,
            options,
            driver_names=driver_names or {},
            units=DriverUnits(robot),
            lost=robot.lost_actuators,
        )
        self.report = MapReport()
        self.replace_maps(robot)

    def replace_maps(self, robot: RobotTransmissions) -> None:
        """Replace the maps between two messages; joints and actuators must be the same."""
        self._robot = robot
        self._merged.replace_units(DriverUnits(robot))

    def reset(self) -> None:
        """Forget all messages."""
        self._merged.reset()

    def map_sensors(
        self,
        layout: Layout,
        data: JointStateRecord,
        actuator_position: Array,
        stamp: Stamp,
        now: float = 0.0,
        source: str = '',
    ) -> JointStateRecord | None:
        """
        Use a message, and return the latest values of all sensors at the joints.

        :meth:`StatePath.merge_message` documents the other arguments and errors.

        :param actuator_position: Latest actuator positions in SI, shape ``(n_actuators,)``, NaN:
            unknown; position-dependent transmissions need them for torques.
        :returns: The known values, in the same field; ``None`` if no value is known.
        """
        self._merged.merge_message(source, layout, data, stamp, now)
        values = self._map_to_joints(self._merged.read_values(now)[self._row], actuator_position)
        known = np.isfinite(values)
        if not known.any():
            return None
        names = tuple(self._robot.joint_names[place] for place in np.flatnonzero(known))
        fields = [values[known] if row == self._row else EMPTY for row in range(len(FIELDS))]
        return JointStateRecord(stamp, '', names, *fields)

    def find_joint_values(
        self, actuator_position: Array, now: float = 0.0, max_age: float = math.inf
    ) -> Array:
        """
        Return the latest values at the joints, shape ``(n_joints,)``, NaN: unknown.

        :param actuator_position: See :meth:`map_sensors`.
        :param now: Time [s].
        :param max_age: Largest age of a number [s].
        """
        return self._map_to_joints(self.find_actuator_values(now, max_age), actuator_position)

    def find_actuator_values(self, now: float = 0.0, max_age: float = math.inf) -> Array:
        """Return the latest values at the actuators in SI, ``(n_actuators,)``, NaN: unknown."""
        values = self._merged.read_values(now)[self._row]
        is_fresh = self._merged.find_ages(now)[self._row] <= max_age
        fresh: Array = np.where(is_fresh, values, np.nan)
        return fresh

    def _map_to_joints(self, values: Array, actuator_position: Array) -> Array:
        return self._robot.actuator_to_joint(
            self._interface, values, at=actuator_position, report=self.report
        )
