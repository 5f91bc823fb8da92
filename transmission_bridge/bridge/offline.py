# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
Recorded JointState messages, mapped one by one by the same code as live messages.

``convert`` in tools makes one for each topic to write, and calls it in the order of the recording.
From actuators to joints its bytes have to be the bytes that the node publishes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from itertools import compress

import numpy as np

from transmission_bridge.bridge.actuator_drivers import DriverUnits
from transmission_bridge.bridge.inputs import is_valid_stamp
from transmission_bridge.bridge.options.options import BridgeOptions, RECORDED
from transmission_bridge.bridge.states.state_map import (
    DriverStateIndex,
    empty_if_unknown,
    StateMap,
)
from transmission_bridge.bridge.states.states import States
from transmission_bridge.errors import MessageError
from transmission_bridge.interfaces import Direction, JOINT_TO_ACTUATOR
from transmission_bridge.messages import JointStateEncoder, JointStateRecord, MessageLayoutTable
from transmission_bridge.transmissions import RobotTransmissions


class ReverseStateMap(DriverStateIndex):
    """
    What follows from the robot for joint states that are mapped to actuator states.

    The inverse of :meth:`States.encode_state`, for recordings. States are not commands: nothing is
    limited, completed or held. Followers (``<mimic>``) are ignored, because the joint that they
    follow determines the actuators.

    :param names: URDF name to driver's name of the driver's actuators; others are left out.
    """

    def __init__(self, robot: RobotTransmissions, names: Mapping[str, str]) -> None:
        super().__init__(robot.joint_names)
        self._is_own = np.array([name in names for name in robot.actuator_names], dtype=bool)
        self._driver_names = tuple(names[name] for name in robot.actuator_names if name in names)
        self._map_state = robot.stream(JOINT_TO_ACTUATOR).map_state
        self._units = DriverUnits(robot)
        self._encoder = JointStateEncoder()

    def encode_state(self, states: States) -> bytes | None:
        """
        Return the serialised state of every actuator with a known number.

        The array of an interface is empty if it is unknown for all of these actuators.

        :param states: The latest numbers of the joints.
        :returns: ``None`` while nothing is known.
        """
        stamp = states.choose_stamp(0.0)
        if stamp is None:
            return None
        mapped = self._map_state(states.read_values(0.0), states.report)
        mapped = self._units.of_drivers(mapped)[:, self._is_own]
        # An overflow is also unknown.
        mapped[~np.isfinite(mapped)] = np.nan
        is_known = ~np.isnan(mapped).all(axis=0)
        if not is_known.any():
            return None
        names = tuple(compress(self._driver_names, is_known))
        fields = (empty_if_unknown(row) for row in mapped[:, is_known])
        return self._encoder.encode_record(JointStateRecord(stamp, '', names, *fields))


class OfflineBridge:
    """
    The bridge of one or several drivers, with messages in the order of receipt.

    No time passes: nothing times out, and no clock is set back. The turns of single-turn encoders
    count from the first reading.

    :param direction: ``actuator_to_joint`` or ``joint_to_actuator``.
    :param read: Decodes a message; raises :class:`MessageError` if it cannot.
    :param options: Options for the content of states; options for the time of publication and for
        timeouts are ignored.
    :param driver: Topic of the driver for ``joint_to_actuator``.
    :raises TransmissionBridgeError: If an option does not fit the robot.
    :ivar plan: The map of states, not a whole :class:`Plan`.
    :ivar states: The latest numbers, of actuators or, in the other direction, of joints.
    :ivar rejected: Number of rejected messages, by source and reason.
    :ivar sentences: The error of the first of them, by source and reason.
    """

    def __init__(
        self,
        robot: RobotTransmissions,
        direction: Direction,
        read: Callable[[bytes], JointStateRecord],
        options: BridgeOptions = RECORDED,
        driver: str = '',
    ) -> None:
        # Topics in a recording start with a slash, which options may omit.
        self._drivers = {topic.strip('/'): topic for topic in options.actuator_state_topics}
        # Needed in both directions, because it checks the options.
        plan = StateMap(robot, options, resolves_turns=False)
        options = replace(options, state_timeout=0.0)
        self.plan: StateMap | ReverseStateMap = plan
        self.states = States(plan, options)
        self._encode_state = partial(self.states.encode_state, plan)
        if direction == JOINT_TO_ACTUATOR:
            names = plan.map_driver_names(self._find_driver(driver))
            # Use the first of several names of an actuator.
            by_actuator = {actuator: name for name, actuator in reversed(names.items())}
            reverse = self.plan = ReverseStateMap(robot, by_actuator)
            self.states = States(reverse)
            self._encode_state = partial(reverse.encode_state, self.states)
        self._read, self._layouts = read, MessageLayoutTable()
        self.rejected: Counter[tuple[str, str]] = Counter()
        self.sentences: dict[tuple[str, str], str] = {}

    def map_message(self, source: str, received: int, message: bytes) -> bytes | None:
        """
        Return the message that the bridge publishes after a message, or ``None``.

        :param source: Topic of the message.
        :param received: Time of receipt [ns], which replaces a stamp that is missing.
        """
        driver = self._find_driver(source)
        try:
            data = self._read(message)
            layout = self._layouts.find_layout(data.names, data.lengths)
            is_given = data.stamp != (0, 0) and is_valid_stamp(data.stamp)
            stamp = data.stamp if is_given else divmod(received, 10**9)
            self.states.merge_message(self.plan, driver, layout, data, stamp)
            return self._encode_state()
        except MessageError as error:
            self.rejected[source, error.reason] += 1
            self.sentences.setdefault((source, error.reason), str(error))
            return None

    def _find_driver(self, topic: str) -> str:
        return self._drivers.get(topic.strip('/'), topic)
