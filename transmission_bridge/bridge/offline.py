# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Recorded JointState messages through the live path, one after the other."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np

from transmission_bridge.bridge.driver_units import DriverUnits
from transmission_bridge.bridge.inputs import is_possible
from transmission_bridge.bridge.options import BridgeOptions, RECORDED
from transmission_bridge.bridge.state_buffer import StateBuffer
from transmission_bridge.bridge.states import known_or_empty, StatePath
from transmission_bridge.errors import MessageError
from transmission_bridge.messages.cdr import (
    JointStateEncoder,
    JointStateReader,
    UnusualMessageError,
)
from transmission_bridge.messages.joint_state import JointStateRecord
from transmission_bridge.transmissions import MapReport, RobotTransmissions
from transmission_bridge.transmissions.interfaces import Direction, JOINT_TO_ACTUATOR

Recorded = TypeVar('Recorded', bound=tuple[Any, int, bytes])


class ReverseStatePath:
    """
    Merges joint states by name and maps them to actuator states.

    The counterpart of :class:`~transmission_bridge.bridge.states.StatePath`, for recordings.
    States are not commands: nothing is limited, completed or held. Followers (``<mimic>``) are
    ignored, because the joint that they follow determines the actuators.

    :param robot: The maps.
    :param names: URDF name to driver's name of the driver's actuators; others are left out.
    :ivar names: The driver's names of its actuators.
    :ivar merged: The newest numbers of the joints.
    :ivar update: Uses a message; see :meth:`StateBuffer.update`.
    :ivar report: What became NaN in position-dependent transmissions, and why.
    """

    def __init__(self, robot: RobotTransmissions, names: Mapping[str, str]) -> None:
        self._is_own = np.array([name in names for name in robot.actuator_names], dtype=bool)
        self.names = tuple(names[name] for name in robot.actuator_names if name in names)
        self._robot_map = robot.stream(JOINT_TO_ACTUATOR)
        self._units = DriverUnits(robot)
        self.merged = StateBuffer(robot.joint_names, RECORDED)
        self.update = self.merged.update
        self.report = MapReport()

    def encoded(self, encoder: JointStateEncoder, now: float) -> bytes | None:
        """
        Return the serialised state of every actuator of which any number is known.

        An interface unknown for all of these actuators is an empty array.

        :returns: ``None`` while nothing is known.
        """
        stamp = self.merged.stamp(now)
        if stamp is None:
            return None
        mapped = self._robot_map.map_state(self.merged.values(now), self.report)
        mapped = self._units.of_drivers(mapped)[:, self._is_own]
        if np.isfinite(mapped).all() and self.names:
            return encoder.encode_rows(self.names, stamp, mapped)
        # An overflow is unknown, too.
        mapped[~np.isfinite(mapped)] = np.nan
        known = ~np.isnan(mapped).all(axis=0)
        if not known.any():
            return None
        names = tuple(name for name, is_known in zip(self.names, known, strict=True) if is_known)
        fields = (known_or_empty(row) for row in mapped[:, known])
        return encoder.encode(JointStateRecord(stamp, '', names, *fields))


class OfflineBridge:
    """
    The bridge of one or several drivers, whose messages come in the order of receipt.

    :param robot: The maps.
    :param direction: ``actuator_to_joint`` or ``joint_to_actuator``.
    :param read_unusual: Decodes messages that the fast reader does not (big endian, for example);
        raises :class:`MessageError` if it cannot.
    :param options: Those for the content of states are used, not those for when a state is
        published or how long it is valid; the defaults by default.
    :param driver: Topic of the driver whose actuators are mapped from joint states.
    :raises TransmissionBridgeError: If an option does not fit the robot.
    :ivar path: The live path.
    :ivar names: All names that can be published, in order.
    :ivar refused: Number of refused messages, by source and reason.
    :ivar sentences: The error of the first of them, by source and reason.
    """

    def __init__(
        self,
        robot: RobotTransmissions,
        direction: Direction,
        read_unusual: Callable[[bytes], JointStateRecord],
        options: BridgeOptions | None = None,
        driver: str = '',
    ) -> None:
        options = options or BridgeOptions()
        # Topics in a recording start with a slash, which options may omit.
        self._drivers = {topic.strip('/'): topic for topic in options.actuator_state_topics}
        # In both directions, because it checks the options.
        path = StatePath(robot, replace(options, state_timeout=0.0))
        self.path: StatePath | ReverseStatePath = path
        self.names = path.view.names
        if direction == JOINT_TO_ACTUATOR:
            names = path.merged.names_of_driver(self._driver(driver))
            # The first of several names of an actuator counts.
            own = {actuator: name for name, actuator in reversed(names.items())}
            self.path = ReverseStatePath(robot, own)
            self.names = self.path.names
        self._read_unusual = read_unusual
        self._reader = JointStateReader()
        self._encoder = JointStateEncoder()
        self.refused: Counter[tuple[str, str]] = Counter()
        self.sentences: dict[tuple[str, str], str] = {}

    def _publish(self, source: str, received: int, message: bytes) -> bytes | None:
        data: JointStateRecord
        try:
            try:
                data = view = self._reader.read(message)
                layout = view.layout
            except UnusualMessageError:
                data = record = self._read_unusual(message)
                layout = self._reader.layouts.get(record.names, record.lengths)
            is_given = data.stamp != (0, 0) and is_possible(data.stamp)
            stamp = data.stamp if is_given else divmod(received, 10**9)
            self.path.update(self._driver(source), layout, data, stamp, 0.0)
            return self.path.encoded(self._encoder, 0.0)
        except MessageError as error:
            key = (source, error.reason)
            self.refused[key] += 1
            self.sentences.setdefault(key, str(error))
            return None

    def _driver(self, topic: str) -> str:
        return self._drivers.get(topic.strip('/'), topic)


def bridged(
    messages: Iterable[Recorded], bridges: Mapping[Any, OfflineBridge]
) -> Iterator[tuple[Recorded, bytes | None]]:
    """
    Yield each message, and what its bridge publishes when it comes, ``None`` if nothing.

    No time passes in these bridges: nothing times out, and no clock is set back.

    :param messages: Source, time of receipt [ns], and the serialised message. The time is used if
        the message has no stamp.
    :param bridges: By source. A source is a topic, or an object that becomes its name as text.
    """
    for message in messages:
        source, received, data = message
        bridge = bridges.get(source)
        published = None if bridge is None else bridge._publish(str(source), received, data)
        yield message, published
