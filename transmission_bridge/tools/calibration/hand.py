# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
An arm that is moved by hand, and its drivers, which nothing here commands.

A joint is moved towards positive once, which gives the signs of reductions, and then to its stops
or into a known pose.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import partial
import time

import numpy as np

from transmission_bridge.bridge.states import unwrap_positions
from transmission_bridge.errors import shortened, UnknownNameError
from transmission_bridge.messages import JointStateRecord, Layout
from transmission_bridge.tools.bridge_client import BridgeClient, Received
from transmission_bridge.tools.calibration.moved import FAST, MovedTransmission
from transmission_bridge.tools.calibration.outcome import judge_transmission, Outcome
from transmission_bridge.transmissions import RobotTransmissions
from transmission_bridge.types import Array

_COMMANDS = 'actuator_commands'

#: Seconds without a state after which the drivers are silent, and after a command in which the
#: arm is commanded.
_SILENT, _COMMANDED = 1.0, 2.0


class HandCalibration:
    """
    An arm that is moved by hand.

    :param robot: Its maps.
    :param periods: Periods of single-turn encoders by actuator, in the units of their drivers.
    :param is_free: Whether reductions are unknown.
    :param only: The transmissions to calibrate, all by default.
    :ivar scales: Position at the motor [rad or m] per unit of its driver, by actuator.
    :ivar joints: Each joint as its transmission and its place there.
    :ivar is_confirmed: Whether the user confirmed that the limits of the joints are the stops;
        ``None`` before an answer.
    :raises UnknownNameError: If the robot lacks one of them.
    """

    def __init__(
        self,
        robot: RobotTransmissions,
        periods: Mapping[str, float],
        *,
        is_free: bool = False,
        only: Collection[str] = (),
    ) -> None:
        for name in only:
            if name not in robot.transmissions:
                raise UnknownNameError('transmission', name, tuple(robot.transmissions))
        self.robot, scales = robot, dict.fromkeys(robot.actuator_names, 1.0)
        self.scales = scales | {name: each.position.scale for name, each in robot.units.items()}
        self._periods = np.array([
            abs(periods.get(name, np.nan) * self.scales[name]) for name in robot.actuator_names
        ])  # fmt: skip
        self.transmissions = [
            MovedTransmission(
                binding, robot, is_free=is_free, periods=self._periods[list(binding.actuators)]
            )
            for binding in robot.bindings
            if not binding.is_identity and binding.spec.name in (only or robot.transmissions)
        ]
        self.joints = [
            (moved, joint) for moved in self.transmissions for joint in range(len(moved.tracks))
        ]
        self.is_confirmed: bool | None = None
        self._totals = np.full(len(self._periods), np.nan)

    def add_reading(self, positions: Array, time: float) -> None:
        """
        Store a message of the drivers.

        :param positions: Positions of all actuators [rad or m at the motor], NaN: not in it.
        :param time: Time of receipt [s].
        """
        with np.errstate(invalid='ignore'):
            steps, _ = unwrap_positions(positions, self._totals, self._periods)
            is_fast = np.abs(steps) > FAST * self._periods
        for moved in self.transmissions:
            actuators = list(moved.binding.actuators)
            if not np.isfinite(positions[actuators]).any():
                continue
            has_jumped = moved.add_reading(self._totals[actuators].copy(), time)
            if has_jumped or is_fast[actuators].any():
                moved.forget()
                moved.trouble = (
                    f'{moved.joined_names} moved too fast for the readings, or they stopped: the '
                    'stops are forgotten'
                )
                if np.isnan(moved.periods).any():
                    moved.trouble += '. An encoder of one turn needs its wrap_period'

    def mark_pose(self, positions: Mapping[str, float]) -> str:
        """
        Take the arm as in a pose [rad or m by joint]; joints that are missing are at zero.

        :returns: What is wrong, or empty.
        """
        heard = [moved for moved in self.transmissions if np.isfinite(moved.now).all()]
        moving = [moved.name for moved in heard if not moved.is_still]
        if moving:
            return f'{moving[0]} moves: hold the arm still, and repeat'
        for moved in heard:
            joints = np.array([positions.get(track.name, 0.0) for track in moved.tracks])
            moved.poses = [*moved.poses, (moved.now.copy(), joints, np.zeros(len(joints)))]
        return ''

    def judge(self, moved: MovedTransmission) -> Outcome:
        """Return what is known of a transmission."""
        return judge_transmission(moved, is_confirmed=bool(self.is_confirmed))


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
                if (actuator := names.get(name)) in self._places:
                    scale = self._hand.scales[actuator]
                    positions[self._places[actuator]] = position * scale
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
            others = self._client.list_other_topics()
            seen = f'; other topics with joint states: {", ".join(others)}' if others else ''
            return f'no positions of actuators arrive (--actuators, --actuator-names){seen}'
        return ''
