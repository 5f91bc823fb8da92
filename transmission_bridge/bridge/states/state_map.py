# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
What follows from robot and options for states: names, units, maps, published joints.

Plans, recordings and tools make it for a robot. States write its working memory, in one thread.
Names, NaN and empty arrays of joint states are public; docs/commands_and_states.md has the rules.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from itertools import compress

import numpy as np

from transmission_bridge.bridge.actuator_drivers import DriverUnits
from transmission_bridge.bridge.inputs import (
    find_message_entries,
    LayoutCache,
    MessageEntries,
    Stamp,
)
from transmission_bridge.bridge.options.options import (
    BridgeOptions,
    RECORDED,
    split_driver_topic,
    split_option_pairs,
)
from transmission_bridge.bridge.states.encoders import WrappedEncoders
from transmission_bridge.errors import make_option_error, shortened, shown, UnknownNameError
from transmission_bridge.interfaces import ACTUATOR_TO_JOINT, FIELDS
from transmission_bridge.messages import (
    JointStateEncoder,
    JointStateRecord,
    JointStateWriter,
    Layout,
)
from transmission_bridge.transmissions import RobotTransmissions
from transmission_bridge.types import Array, EMPTY, Index, Mask

# -- Names and units of the numbers of drivers ---------------------------------------------------


#: Largest number of entries in an advice.
_MOST_NAMES = 32


class DriverStateIndex:
    """
    Names and units of the numbers that drivers send; immutable, with caches.

    :param names: The actuators, or the joints.
    :param driver_names: Driver's name to URDF name, if they differ; ``None``: names are not
        translated. An entry ``source:name`` is for one source, which has no other actuators.
    :param lost: Actuators of rejected transmissions, with the reason; ``driver_names`` may contain
        them.
    :param units: Units of the drivers; ``None``: SI.
    :param encoders: Single-turn encoders; ``None``: there are none.
    :ivar count: Number of names.
    :ivar scales: Scales of the numbers to SI, shape ``(3, n)``; ``None``: SI.
    :raises UnknownNameError: If ``driver_names`` name an actuator that is neither in ``names`` nor
        lost.
    :raises ParameterError: If an actuator gets the name that another one keeps.
    """

    def __init__(
        self,
        names: tuple[str, ...],
        driver_names: Mapping[str, str] | None = None,
        lost: Mapping[str, str] | None = None,
        units: DriverUnits | None = None,
        encoders: WrappedEncoders | None = None,
    ) -> None:
        renamed, self._lost = driver_names or {}, dict(lost or {})
        self.encoders, self.count = encoders, len(names)
        self._names, self._indexes = names, _make_indexes(names, renamed, self._lost)
        for driver_name, name in renamed.items():
            if name in self._lost:
                self._lost.setdefault(split_driver_topic(driver_name)[1], self._lost[name])
        self._translates = driver_names is not None
        self.scales = scales = None if units is None else units.scales
        self._caches = {
            source: LayoutCache(partial(find_message_entries, index=index, scales=scales))
            for source, index in self._indexes.items()
        }

    def find_entries(self, source: str, layout: Layout) -> MessageEntries:
        """
        Return the indices and scales of a driver's message.

        :raises MessageError: If it is rejected.
        """
        return self._caches.get(source, self._caches['']).look_up(layout)

    def map_driver_names(self, source: str = '') -> dict[str, str]:
        """
        Return the URDF name of each name that a driver may use.

        :param source: The driver; by default one without names of its own.
        """
        index = self._indexes.get(source, self._indexes[''])
        return {name: self._names[number] for name, number in index.items()}

    def describe_foreign(self, source: str, names: tuple[str, ...]) -> str:
        """Return the error for a message that names nothing of this robot."""
        lost = [f'{shown(name)} ({self._lost[name]})' for name in names if name in self._lost]
        if lost:
            return f'no name is bridged: {shortened(lost, show=str)}'
        urdf_names = self.map_driver_names(source)
        sentence = (
            f'no name is known: expected some of {shortened(tuple(urdf_names))}, '
            f'found {shortened(names) or "none"}'
        )
        if not self._translates or not names:
            return sentence
        topic = f'{source}:' if source in self._indexes else ''
        # The user has to assign several names: a guess could move the wrong joint.
        urdf_name = next(iter(urdf_names.values())) if len(urdf_names) == len(names) == 1 else '?'
        entries = [f'{topic}{name}={urdf_name}' for name in names]
        return (
            f'{sentence}; check that the topic and the description are of this robot, or give the '
            f"driver's names by actuator_names: [{shortened(entries, _MOST_NAMES)}]"
        )


def _make_indexes(
    names: tuple[str, ...], driver_names: Mapping[str, str], lost: Mapping[str, str]
) -> dict[str, dict[str, int]]:
    """
    Return the index of every name that a driver may use, by source.

    A renamed actuator has only the driver's name, because its URDF name may mean another actuator
    of the driver. A source with names of its own has no other actuators; ``''``: other sources.
    """
    index = {name: number for number, name in enumerate(names)}
    entries: dict[str, dict[str, str]] = {'': {}}
    for driver_name, name in driver_names.items():
        if name not in index and name not in lost:
            raise UnknownNameError('actuator', name, (*names, *lost), parameter='actuator_names')
        source, new_name = split_driver_topic(driver_name)
        entries.setdefault(source, {})[new_name] = name
    renamed = set(entries[''].values())
    for new_name, name in entries[''].items():
        if new_name in index and new_name not in renamed:
            why = 'two actuators would have one name'
            expected = f"also a driver's name for {new_name}"
            raise make_option_error('actuator_names', expected, f'{new_name}={name}', why)
    indexes = {
        source: {new_name: index[name] for new_name, name in renamed_here.items() if name in index}
        for source, renamed_here in entries.items()
    }
    kept = {name: number for name, number in index.items() if name not in renamed}
    return indexes | {'': kept | indexes['']}


# -- Published joints and interfaces -------------------------------------------------------------
#
# A follower (URDF ``<mimic>``) is computed, never commanded: ``q = multiplier * q_followed +
# offset``, its velocity without the offset. Its effort is unknown, because the description does
# not define how the load is shared.


class StateMap(DriverStateIndex):
    """
    What follows from robot and options for the states of drivers and joints; immutable.

    Its map and its writer contain working memory: one thread uses them.

    :param options: By default those of recordings.
    :param resolves_turns: See :class:`WrappedEncoders`.
    :ivar map_state: Maps numbers of the actuators; see :meth:`~.program.RobotMap.map_state`.
    :ivar names: The published joints: the robot's, then their followers.
    :ivar forget_solutions: Discards the last solutions of the map.
    :ivar is_plain: Whether known states are published unchanged.
    :ivar writer: Writes them.
    :ivar rows: Its numbers, shape ``(3, n)``.
    :ivar is_finite: Working memory for the mask of the finite numbers of the joints.
    :ivar finite_bytes: The same memory as bytes.
    :raises TransmissionBridgeError: If an option does not fit the robot.
    """

    def __init__(
        self,
        robot: RobotTransmissions,
        options: BridgeOptions = RECORDED,
        *,
        resolves_turns: bool = True,
    ) -> None:
        renamed = split_option_pairs('actuator_names', options.actuator_names)
        encoders = None
        if options.wrap_period:
            encoders = WrappedEncoders(robot, options, resolves=resolves_turns)
        lost, units = robot.lost_actuators, DriverUnits(robot)
        super().__init__(robot.actuator_names, renamed, lost, units, encoders)
        stream = robot.stream(ACTUATOR_TO_JOINT)
        self.map_state, self.forget_solutions = stream.map_state, stream.forget_solutions
        # Index of the joint that each follower follows, and rows multiplier and offset.
        followers, self._followed, self._chains = list_mimic_followers(robot)
        self.names = (*robot.joint_names, *followers)
        self._encoder = JointStateEncoder()
        self.writer = JointStateWriter(self.names)
        self.rows = EMPTY if self.writer.rows is None else self.writer.rows
        # Testing the bytes takes half the time of all().
        self.finite_bytes = bytearray(len(FIELDS) * len(robot.joint_names))
        self.is_finite = np.frombuffer(self.finite_bytes, dtype=bool).reshape(len(FIELDS), -1)
        # A topic-based component fails on a state interface that a joint does not declare.
        declared: dict[str, set[str]] = {}
        for block in robot.description.blocks:
            for joint in block.joints if block.takes_joint_states else ():
                interfaces = (interface.name for interface in joint.state_interfaces)
                declared.setdefault(joint.name, set()).update(interfaces)
        given = [declared.get(name, FIELDS) for name in self.names]
        hidden = [[field not in interfaces for interfaces in given] for field in FIELDS]
        # Numbers that are not published, because the joint does not declare their interface.
        self._hidden: Mask = np.array(hidden, dtype=bool)
        self._fills = options.unknown_rates == 'zero'
        self._omits = options.unknown_joints == 'omit'
        self.is_plain = bool(self.names) and not followers and not self._hidden.any()
        # Writers of states with whole rows known, by their mask.
        self._writers: dict[bytes, JointStateWriter] = {}
        for rows in ([0], [0, 1], [0, 2]) if self.is_plain else ():
            is_known = np.zeros_like(self.is_finite)
            is_known[rows] = True
            position, velocity, effort = (is_known.any(axis=1) | self._fills).tolist()
            writer = JointStateWriter(self.names, fields=(position, velocity, effort))
            self._writers[is_known.tobytes()] = writer

    def encode_partial_state(self, stamp: Stamp, joints: Array) -> bytes | None:
        """
        Return the serialised state of every known joint.

        The array of an interface is empty if it is unknown for all of these joints. The caller has
        written :attr:`is_finite`.

        :param joints: Rows position, velocity, effort of the robot's joints, shape ``(3, n)``;
            :attr:`is_finite` is their mask.
        :returns: ``None`` if nothing is known.
        """
        if writer := self._writers.get(bytes(self.finite_bytes)):
            for row, numbers in enumerate((writer.position, writer.velocity, writer.effort)):
                if self.is_finite[row, 0]:
                    numbers[:] = joints[row]
            return writer.write_message(*stamp)
        if len(self._followed):
            followers = np.full((len(joints), len(self._followed)), np.nan)
            followers[:2] = self._chains[0] * joints[:2, self._followed]
            followers[0] += self._chains[1]
            joints = np.hstack([joints, followers])
        # An overflow is also unknown.
        is_known: Mask = np.isfinite(joints)
        published, names = np.where(is_known, joints, np.nan), self.names
        if self._fills:
            np.copyto(published[1:], 0.0, where=~is_known[1:])
        published[self._hidden] = np.nan
        visible = is_known & ~self._hidden
        if self._omits and not is_known[0].all():
            names = tuple(compress(names, is_known[0]))
            published, visible = published[:, is_known[0]], visible[:, is_known[0]]
        if not visible.any():
            return None
        record = JointStateRecord(stamp, '', names, *map(empty_if_unknown, published))
        return self._encoder.encode_record(record)


def empty_if_unknown(values: Array) -> Array:
    """Return an empty array if no value is known."""
    return EMPTY if np.isnan(values).all() else values


def list_mimic_followers(robot: RobotTransmissions) -> tuple[tuple[str, ...], Index, Array]:
    """
    Return the followers of bridged joints, with chains resolved.

    A follower with a transmission of its own is measured, not computed. A follower is left out if
    its chain ends at a joint that is not bridged, or in a loop.

    :returns: Their names, the index of the joint that each follows, and rows multiplier and offset
        [rad or m] of the chain.
    """
    index = {name: number for number, name in enumerate(robot.joint_names)}
    joints = {joint.name: joint for joint in robot.description.joints if joint.name not in index}
    followers: list[tuple[str, int, float, float]] = []
    for name, joint in joints.items():
        multiplier, offset, mimic = 1.0, 0.0, joint.mimic
        for _ in joints:
            if mimic is None:
                break
            offset += multiplier * mimic.offset
            multiplier *= mimic.multiplier
            if mimic.joint in index:
                followers.append((name, index[mimic.joint], multiplier, offset))
                break
            mimic = joints[mimic.joint].mimic if mimic.joint in joints else None
    followers = [follower for follower in followers if joints[follower[0]].is_scalar]
    numbers = np.array([follower[2:] for follower in followers]).reshape(-1, 2).T
    return (
        tuple(follower[0] for follower in followers),
        np.array([follower[1] for follower in followers], int),
        numbers,
    )
