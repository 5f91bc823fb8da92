# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""The drivers of an arm that is moved by hand. Nothing here commands them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import partial
import time

import numpy as np

from transmission_bridge.errors import shortened
from transmission_bridge.messages import JointStateRecord, Layout
from transmission_bridge.tools.bridge_client import BridgeClient, Received
from transmission_bridge.tools.calibration.hand import HandCalibration
from transmission_bridge.transmissions import RobotTransmissions

_COMMANDS = 'actuator_commands'

#: Seconds without a state after which the drivers are silent, and after a command in which the
#: arm is commanded.
_SILENT, _COMMANDED = 1.0, 2.0


def list_scales(robot: RobotTransmissions) -> dict[str, float]:
    """Return the position at the motor [rad or m] per unit of the driver, by actuator."""
    return {name: units.position.scale for name, units in robot.units.items()}


def make_hand(
    robot: RobotTransmissions,
    periods: Mapping[str, float],
    *,
    is_free: bool = False,
    only: Collection[str] = (),
) -> HandCalibration:
    """
    Return the arm.

    :param periods: Periods of single-turn encoders in the units of their drivers, by actuator.
    """
    scales = list_scales(robot)
    at_motor = {name: abs(period * scales.get(name, 1.0)) for name, period in periods.items()}
    return HandCalibration(robot, at_motor, is_free=is_free, only=only)


class DriverFeed:
    """
    Fills a :class:`HandCalibration` from the topics of drivers.

    :param client: The node that listens.
    :param hand: The arm.
    :param topics: Topics of the drivers' states, and the URDF name of each name in them.
    :ivar receivers: What has to be called for a message, by topic.
    """

    def __init__(
        self, client: BridgeClient, hand: HandCalibration, topics: Mapping[str, Mapping[str, str]]
    ) -> None:
        self._client, self._hand = client, hand
        self._scales = list_scales(hand.robot)
        self._places = {name: n for n, name in enumerate(hand.robot.actuator_names)}
        self._last_state = self._last_command = -np.inf
        namespaces = dict.fromkeys(['', *(topic.rpartition('/')[0] for topic in topics)])
        self._commands = [f'{each}/{_COMMANDS}' if each else _COMMANDS for each in namespaces]
        stores = {topic: partial(self._store_state, names) for topic, names in topics.items()}
        self.receivers: dict[str, Received] = {
            **stores, **dict.fromkeys(self._commands, self._store_command)
        }  # fmt: skip

    def _store_state(
        self, names: Mapping[str, str], message: JointStateRecord, layout: Layout, now: float
    ) -> None:
        positions = np.full(len(self._places), np.nan)
        if len(message.position) == len(message.names):
            for name, position in zip(message.names, message.position.tolist(), strict=True):
                if (own := names.get(name)) in self._places:
                    positions[self._places[own]] = position * self._scales.get(own, 1.0)
        if np.isfinite(positions).any():
            self._last_state = now
            self._hand.add_reading(positions, now)

    def _store_command(self, message: JointStateRecord, layout: Layout, now: float) -> None:
        self._last_command = now

    def describe_obstacle(self) -> str:
        """Return why the arm must not be calibrated now, empty if it may."""
        now = time.monotonic()
        node, bridge = self._client.node, self._client.bridge
        publishers = [
            f'{info.node_namespace.rstrip("/")}/{info.node_name}'
            for topic in map(node.resolve_topic_name, self._commands)
            for info in node.get_publishers_info_by_topic(topic)
        ]
        strangers = tuple(dict.fromkeys(each for each in publishers if each != bridge))
        if strangers:
            return f'{shortened(strangers)} publishes {_COMMANDS}: end it first'
        if now - self._last_command < _COMMANDED:
            return f'{bridge} commands the arm: end what commands joints first'
        if now - self._last_state > _SILENT:
            others: Sequence[str] = self._client.list_other_topics()
            seen = f'; other topics with joint states: {", ".join(others)}' if others else ''
            return f'no positions of actuators arrive (--actuators, --actuator-names){seen}'
        return ''
