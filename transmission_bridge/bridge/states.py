# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""From actuator states to what is published of the joints."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
import math

import numpy as np

from transmission_bridge.bridge.driver_units import DriverUnits
from transmission_bridge.bridge.gate import Known
from transmission_bridge.bridge.inputs import Stamp
from transmission_bridge.bridge.options import BridgeOptions, pairs, RECORDED
from transmission_bridge.bridge.state_buffer import all_finite, StateBuffer
from transmission_bridge.bridge.turns import TurnCounter, wrap_periods
from transmission_bridge.description.specs import JointSpec, RobotDescription
from transmission_bridge.messages.cdr import JointStateEncoder
from transmission_bridge.messages.joint_state import JointStateRecord, Layout
from transmission_bridge.transmissions import MapReport, RobotTransmissions
from transmission_bridge.transmissions.interfaces import ACTUATOR_TO_JOINT, FIELDS
from transmission_bridge.types import Array, EMPTY, Index, Mask

# -- When the joint states are published ---------------------------------------------------------


class PublishPolicy:
    """
    Decides after each message whether to publish the joint states.

    Time going backwards forgets which sources have sent messages.

    With ``publish: on_any`` after every one; with ``on_all`` when every source that has not timed
    out has sent one since the last time; with ``rate`` never, a timer decides.

    :param options: The choices of the user.
    :param sources: All sources.
    :param timeout_of: Gives the seconds after which a source times out, from the first message of
        anybody if it was never heard.
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

    def heard(self, source: str, now: float) -> bool:
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
# not say how the load is shared.


class JointView:
    """
    Adds followers to joint states and hides interfaces that must not be published.

    :param robot: The maps.
    :param options: Of these ``unknown_rates`` and ``undeclared_interfaces`` count.
    :ivar names: The joints, then their followers.
    :ivar hidden: What is never published, shape ``(3, n)``; ``None`` where everything is.
    """

    def __init__(self, robot: RobotTransmissions, options: BridgeOptions) -> None:
        self._followers = _followers(robot)
        self._fills = options.unknown_rates == 'zero'
        followers = self._followers.names if self._followers is not None else ()
        self.names = (*robot.joint_names, *followers)
        self.hidden = _undeclared(robot.robot, self.names, options.undeclared_interfaces)

    @property
    def is_plain(self) -> bool:
        """Whether states that are all known are published unchanged."""
        return self._followers is None and self.hidden is None

    def __call__(self, joints: Array) -> tuple[Array, Mask]:
        """
        Return the values to publish, NaN where there is none, and which are known, hidden or not.

        :param joints: Rows position, velocity, effort of the robot's joints, ``(..., 3, n)``.
        :returns: Two arrays ``(..., 3, len(names))``.
        """
        if self._followers is not None:
            joints = self._followers.extend(joints)
        # An overflow is unknown, too.
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

    :param names: Names of the followers.
    :param followed: Index of the joint that each follows.
    :param multiplier: Of the whole chain.
    :param offset: Of the whole chain [rad or m].
    """

    names: tuple[str, ...]
    followed: Index
    multiplier: Array
    offset: Array

    def extend(self, joints: Array) -> Array:
        """Append the followers to ``(..., 3, n)``."""
        followed = joints[..., self.followed]
        added = np.full(followed.shape, np.nan)
        added[..., 0, :] = self.multiplier * followed[..., 0, :] + self.offset
        added[..., 1, :] = self.multiplier * followed[..., 1, :]
        return np.concatenate([joints, added], axis=-1)


def _followers(robot: RobotTransmissions) -> _Followers | None:
    """
    Return the followers of bridged joints, or ``None`` where there are none.

    A follower with a transmission of its own is measured, not computed. One whose chain ends at a
    joint that is not bridged, or in a loop, is left out.
    """
    index = {name: place for place, name in enumerate(robot.joint_names)}
    joints = {joint.name: joint for joint in robot.robot.joints}
    found: list[tuple[str, int, float, float]] = []
    for joint in robot.robot.joints:
        if joint.mimic is None or not joint.is_scalar or joint.name in index:
            continue
        chain = _resolve(joint, joints, index)
        if chain is not None:
            found.append((joint.name, *chain))
    if not found:
        return None
    names, followed, multiplier, offset = zip(*found, strict=True)
    return _Followers(
        names, np.array(followed, dtype=np.intp), np.array(multiplier), np.array(offset)
    )


def _resolve(
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


def _undeclared(robot: RobotDescription, names: tuple[str, ...], choice: str) -> Mask | None:
    """Return what must stay unknown, shape ``(3, n)``; ``None``: nothing."""
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

    Every number is the newest that a driver gave; NaN and inf mean unknown. A message is used
    whole or not at all.

    :param robot: The maps; replaced by :meth:`use`.
    :param options: The choices of the user; by default the defaults, and numbers stay known.
    :param stamp_hold: Seconds of only older stamps after which the published stamp goes back; 0,
        for recordings: at once.
    :ivar merged: The newest numbers of all drivers.
    :ivar view: The joints and interfaces that are published.
    :ivar report: What became NaN in position-dependent transmissions, and why.
    :raises TransmissionBridgeError: If an option does not fit the robot.
    """

    def __init__(
        self,
        robot: RobotTransmissions,
        options: BridgeOptions = RECORDED,
        *,
        stamp_hold: float = 0.0,
    ) -> None:
        self._omit = options.unknown_joints == 'omit'
        self.merged = StateBuffer(
            robot.actuator_names,
            options,
            driver_names=pairs('actuator_names', options.actuator_names),
            units=DriverUnits(robot),
            turns=TurnCounter(robot, options) if wrap_periods(robot, options) else None,
            lost=robot.lost_actuators,
            stamp_hold=stamp_hold,
        )
        self.view = JointView(robot, options)
        self._is_plain = self.view.is_plain
        self.report = MapReport()
        self.use(robot)
        self.reset()

    def use(self, robot: RobotTransmissions) -> None:
        """Replace the maps between two messages; joints and actuators must be the same."""
        self._robot_map = robot.stream(ACTUATOR_TO_JOINT)
        self.merged.use(DriverUnits(robot))
        if self.merged.turns is not None:
            self.merged.turns.use(robot)
        self._mapped_version = -1

    def reset(self) -> None:
        """Forget all messages."""
        self.merged.reset()
        self._robot_map.forget_solutions()
        self._mapped_version = -1

    def update(
        self, source: str, layout: Layout, data: JointStateRecord, stamp: Stamp, now: float = 0.0
    ) -> None:
        """
        Use the message of one driver.

        :param source: The driver, for example its topic.
        :param layout: Names and lengths of the message.
        :param data: The message; its numbers are copied.
        :param stamp: Its stamp, never zero.
        :param now: Time of receipt [s].
        :raises MessageError: If it is refused; then nothing has changed.
        """
        self.merged.update(source, layout, data, stamp, now)

    def take_absolute(self, positions: Array, now: float) -> None:
        """
        Use absolute positions of the actuators where it is not known in which turn they are.

        :param positions: In SI, shape ``(n_actuators,)``, NaN where this message has none.
        :param now: Time of receipt [s], that of :meth:`update`: both count together only if they
            are of nearly the same time.
        """
        self.merged.take_absolute(positions, now)

    def nearest_turns(self, wanted: Mapping[str, float], oldest: float) -> dict[int, float]:
        """See :meth:`TurnCounter.nearest`."""
        turns = self.merged.turns
        return {} if turns is None else turns.nearest(wanted, oldest=oldest)

    def settle_turns(self, positions: Mapping[int, float]) -> None:
        """See :meth:`StateBuffer.settle_turns`."""
        self.merged.settle_turns(positions)

    def joint_motion(self, now: float = 0.0) -> Array:
        """
        Return rows position and velocity, shape ``(2, n_joints)``, NaN where unknown or stale.

        **Overwritten** by the next call that maps.
        """
        values = self.merged.values(now)
        if self._mapped_version != self.merged.version:
            self._map(values)
        motion: Array = self._joints[:2]
        return motion

    def known(self, now: float) -> Known:
        """Return what is known of the robot for a command; a driver's return is told once."""
        merged, turns = self.merged, self.merged.turns
        merged.note_time(now)
        position, velocity = self.joint_motion(now)
        silent, returned = merged.silent(now), merged.take_returned()
        if silent is not None and returned is not None:
            returned |= silent
        return Known(
            now,
            position,
            velocity,
            None if turns is None else merged.open_turns(now),
            None if turns is None else turns.shift,
            silent,
            silent if returned is None else returned,
        )

    def joint_state(self, now: float = 0.0) -> JointStateRecord | None:
        """
        Return the state of every known joint, with the stamp of the newest input.

        An interface unknown for all of these joints is an empty array.

        :returns: ``None`` while nothing is known.
        """
        stamp = self.merged.stamp(now)
        if stamp is None:
            return None
        return self._selected(stamp, self._map(self.merged.values(now)))

    def encoded(self, encoder: JointStateEncoder, now: float = 0.0) -> bytes | None:
        """
        Return :meth:`joint_state` serialised.

        Where everything is published, the numbers are copied straight to the message.
        """
        stamp = self.merged.stamp(now)
        if stamp is None:
            return None
        joints = self._map(self.merged.values(now))
        if self._is_plain and self._all_known:
            return encoder.encode_rows(self.view.names, stamp, joints)
        state = self._selected(stamp, joints)
        return None if state is None else encoder.encode(state)

    def _selected(self, stamp: Stamp, joints: Array) -> JointStateRecord | None:
        """Return the record where not everything is published."""
        shown, known = self.view(joints)
        names, hidden = self.view.names, self.view.hidden
        if self._omit and not known[0].all():
            named = known[0]
            names = tuple(name for name, is_known in zip(names, named, strict=True) if is_known)
            shown, known = shown[:, named], known[:, named]
            hidden = None if hidden is None else hidden[:, named]
        if not (known if hidden is None else known & ~hidden).any():
            return None
        return JointStateRecord(stamp, '', names, *(known_or_empty(row) for row in shown))

    def _map(self, actuators: Array) -> Array:
        joints = self._robot_map.map_state(actuators, self.report)
        if self.merged.turns is not None and self.merged.reopen_turns(joints[0]):
            joints = self._robot_map.map_state(actuators, self.report)
        self._joints = joints
        self._all_known = all_finite(joints)
        self._mapped_version = self.merged.version
        return joints


def known_or_empty(values: Array) -> Array:
    """Return an empty array where no value is known."""
    return EMPTY if np.isnan(values).all() else values


# -- Absolute encoders and torque sensors --------------------------------------------------------


class SensorPath:
    """
    Maps absolute encoders or torque sensors of the actuators to the joints.

    Absolute positions map as positions do (or pass through to the joint of the same role, where
    the transmission ignores its absolute encoders), torques as efforts do. Messages are merged by
    :class:`~transmission_bridge.bridge.state_buffer.StateBuffer`.

    :param robot: The maps; replaced by :meth:`use`.
    :param interface: ``absolute_position`` or ``torque``.
    :param field: The JointState field that holds it: ``position`` or ``effort``.
    :param options: The choices of the user; by default the defaults, and numbers stay known.
    :param driver_names: Driver's name to URDF name on its topic, where they differ.
    :ivar report: What became NaN in position-dependent transmissions, and why.
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
        self.use(robot)

    def use(self, robot: RobotTransmissions) -> None:
        """Replace the maps between two messages; joints and actuators must be the same."""
        self._robot = robot
        self._merged.use(DriverUnits(robot))

    def reset(self) -> None:
        """Forget all messages."""
        self._merged.reset()

    def map(
        self,
        layout: Layout,
        data: JointStateRecord,
        actuator_position: Array,
        stamp: Stamp,
        now: float = 0.0,
        source: str = '',
    ) -> JointStateRecord | None:
        """
        Use a message, and return the newest values of all sensors at the joints.

        :param layout: Names and lengths of the message.
        :param data: The message; its numbers are copied.
        :param actuator_position: Newest actuator positions in SI, shape ``(n_actuators,)``, NaN
            where unknown; position-dependent transmissions need them for torques.
        :param stamp: Stamp of the message, never zero.
        :param now: Time of receipt [s].
        :param source: The driver, for example its topic.
        :returns: The joints whose value is known, in the same field; ``None`` if there are none.
        :raises MessageError: If the message is refused; then nothing has changed.
        """
        self._merged.update(source, layout, data, stamp, now)
        values = self._mapped(self._merged.values(now)[self._row], actuator_position)
        known = np.isfinite(values)
        if not known.any():
            return None
        names = tuple(self._robot.joint_names[place] for place in np.flatnonzero(known))
        fields = [values[known] if row == self._row else EMPTY for row in range(len(FIELDS))]
        return JointStateRecord(stamp, '', names, *fields)

    def newest(
        self, actuator_position: Array, now: float = 0.0, max_age: float = math.inf
    ) -> Array:
        """
        Return the newest values at the joints, shape ``(n_joints,)``, NaN where unknown.

        :param actuator_position: As in :meth:`map`.
        :param now: Time [s].
        :param max_age: Seconds after which a number is too old.
        """
        return self._mapped(self.measured(now, max_age), actuator_position)

    def measured(self, now: float = 0.0, max_age: float = math.inf) -> Array:
        """Return the newest values at the actuators in SI, shape ``(n_actuators,)``, likewise."""
        values = self._merged.values(now)[self._row]
        is_fresh = self._merged.ages(now)[self._row] <= max_age
        fresh: Array = np.where(is_fresh, values, np.nan)
        return fresh

    def _mapped(self, values: Array, actuator_position: Array) -> Array:
        return self._robot.actuator_to_joint(
            self._interface, values, at=actuator_position, report=self.report
        )
