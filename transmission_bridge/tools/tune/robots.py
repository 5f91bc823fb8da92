# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
The robots of the page: of a running bridge, and from a file, without ROS.

Nothing here commands the bridge: its topics and parameters are read, and numbers are set. Both
robots have the members that session and panels use, and only the thread of the session calls them.
The texts of ``describe_state`` are free to change; its kinds are classes of ``page.css``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, fields
from functools import partial
import math
import posixpath
import time
from typing import Any

import numpy as np

from transmission_bridge.bridge import DriverUnits, load_untuned_maps
from transmission_bridge.bridge.options import (
    BridgeOptions,
    HOSTED,
    PREFIX,
    split_option_pairs,
)
from transmission_bridge.bridge.states import (
    DriverStateIndex,
    list_wrap_periods,
    States,
    WrappedEncoders,
)
from transmission_bridge.description import load_description
from transmission_bridge.errors import MessageError, TransmissionBridgeError
from transmission_bridge.messages import JointStateRecord, Layout
from transmission_bridge.tools.bridge_client import (
    ACTIVE,
    BridgeClient,
    COMMANDS,
    DESCRIPTION,
    Received,
)
from transmission_bridge.tools.calibration.guide import HandGuide
from transmission_bridge.tools.calibration.hand import HandCalibration, HandDriverFeed
from transmission_bridge.tools.calibration.outcome import name_values
from transmission_bridge.tools.tune.model import TuneModel, TuneNotPossible
from transmission_bridge.transmissions import RobotTransmissions
from transmission_bridge.types import Array, Mask

#: Tolerance of a joint position that a slider requests [rad or m].
_TOLERANCE = 1e-6


@dataclass(frozen=True, eq=False)
class TuneRobotState:
    """
    State of a robot, in the order of the names of its maps.

    :param actuators: Positions, velocities, efforts at the motors in SI, shape
        ``(3, n_actuators)``, NaN if unknown. A velocity that the driver does not send is that of
        the positions.
    :param joints: Positions, velocities, efforts of the joints, shape ``(3, n_joints)``.
    :param actuator_ages: Seconds since the last message of each actuator, infinite for never.
    :param joint_ages: Seconds since the last message of each joint.
    :param commanded: Mask of the joints that are commanded now, shape ``(n_joints,)``.
    :param target: Commanded joint positions, shape ``(n_joints,)``, NaN for none.
    """

    actuators: Array
    joints: Array
    actuator_ages: Array
    joint_ages: Array
    commanded: Mask
    target: Array


#: Receives the reason if a change was rejected, else an empty text.
Done = Callable[[str], None]


def compute_tune_start_position(robot: RobotTransmissions) -> Array:
    """
    Return the actuator positions at the motors [rad or m] with the joints at zero.

    If the limits of a joint exclude zero, the nearest limit is used.
    """
    with np.errstate(all='ignore'):
        nearest = np.clip(0.0, *robot.joint_limits[:, 0])
        position = robot.joint_to_actuator('position', nearest)
    return np.nan_to_num(position, posinf=0.0, neginf=0.0)


class TuneFileRobot:
    """
    A robot from a file, moved by sliders; :class:`TuneBridgeRobot` has the same members.

    :param description: The file.
    :param robot: Its maps.
    :param numbers: Initial values by parameter.
    :ivar model: The numbers; replaced for another robot, ``None`` if no robot is known.
    :ivar visuals: The text of the description.
    :ivar n_starts: Number of times that all numbers were read.
    :ivar bridge: Empty: no bridge has these numbers.
    :ivar stops: Empty: no stops are measured.
    :ivar calibration: ``None``: nothing is calibrated.
    """

    n_starts = 1
    bridge = ''
    calibration: HandGuide | None = None
    stops: Mapping[str, tuple[float, float]] = {}

    def __init__(
        self,
        description: bytes,
        robot: RobotTransmissions,
        numbers: Mapping[str, float],
    ) -> None:
        self.model = TuneModel(description, robot)
        self.model.accept_values(numbers)
        self.visuals = description
        self._position = compute_tune_start_position(robot)

    def spin_for(self, seconds: float) -> None:
        """Wait."""
        time.sleep(seconds)

    def read_state(self) -> TuneRobotState:
        """Return the state that the sliders define."""
        n = len(self.model.robot.joint_names)
        actuators, joints = (np.full((3, count), np.nan) for count in (len(self._position), n))
        actuators[0], joints[0] = self._position, self._compute_joints(self._position)
        actuators[1] = 0.0  # a drawn robot is at rest
        ages = np.zeros_like(self._position), np.zeros(n)
        return TuneRobotState(
            actuators, joints, *ages, np.zeros(n, dtype=bool), np.full(n, np.nan)
        )

    def _compute_joints(self, position: Array) -> Array:
        with np.errstate(all='ignore'):
            return self.model.robot.actuator_to_joint('position', position)

    def describe_state(self) -> tuple[str, str]:
        """Return what the user can do, dim."""
        return 'From a file, without a robot: the sliders move it.', 'dim'

    def apply_values(self, values: Mapping[str, float], done: Done) -> None:
        """Set numbers: only :meth:`TuneModel.accept_values`, which follows, can reject them."""
        done('')

    def move_actuator(self, actuator: int, position: float) -> None:
        """Move an actuator [rad or m]; a position that is not finite is ignored."""
        if math.isfinite(position):
            self._position[actuator] = position

    def move_joint(self, joint: int, position: float) -> None:
        """
        Move a joint [rad or m] by the actuators of its transmission, without its other joints.

        :raises TuneNotPossible: If no actuator position reaches the joint position.
        """
        robot = self.model.robot
        wanted = self._compute_joints(self._position)
        wanted[joint] = position
        (binding,) = (binding for binding in robot.bindings if joint in binding.joints)
        with np.errstate(all='ignore'):
            actuators = robot.joint_to_actuator('position', wanted)[list(binding.actuators)]
        moved = self._position.copy()
        moved[list(binding.actuators)] = actuators
        if not abs(self._compute_joints(moved)[joint] - position) <= _TOLERANCE:
            name = robot.joint_names[joint]
            raise TuneNotPossible(f'no position of the motors reaches this position of {name}')
        self._position = moved

    def close(self) -> None:
        """Do nothing."""


#: Seconds between requests to a bridge that has not answered.
_PERIOD = 1.0

#: Seconds for which a joint counts as commanded after a command, as in the bridge's tuning guard.
_LIVE = 0.5


class TuneBridgeRobot(BridgeClient):
    """
    The robot of a running bridge, with its numbers and its latest states.

    It requests description and parameters from the bridge, follows ``/parameter_events``, and
    repeats the request if the bridge restarts.

    :param node: Name of the bridge with its namespace, which its topics also have.
    :ivar model: The numbers; replaced for another robot, ``None`` if no robot is known.
    :ivar visuals: The text of the description.
    :ivar n_starts: Number of times that all numbers were read.
    :ivar stored: What the bridge said when it stored the numbers of the last calibration, empty
        before, and after the user has read it.
    :ivar stops: Measured stops by joint [rad or m], see :attr:`HandGuide.stops`.
    :raises UsageError: If rclpy is not installed, ROS cannot be used, or the name is invalid.
    """

    def __init__(self, node: str) -> None:
        super().__init__('tune', node)
        self.model: TuneModel | None = None
        self.visuals = b''
        self.n_starts = 0
        #: Description, names and tunables of :attr:`model`: others in an answer replace it.
        self._loaded: object = None
        self._described = ''  # the description on the topic, for a bridge without the parameter
        self._cannot_be_read = ''  # the reason, for the head of the page
        #: Whether the numbers are those of the running bridge, the time of the last request, and
        #: the :attr:`~.BridgeDiagnostics.start` of the bridge that they belong to.
        self._is_known, self._asked = False, -_PERIOD
        self._start: int | None = None
        self.follow_description(partial(setattr, self, '_described'))
        self.follow_parameters(self._accept_parameter_changes)
        #: The calibration by hand, if one runs, and its receivers of messages.
        self.calibration: HandGuide | None = None
        self._feed: HandDriverFeed | None = None
        self.stored = ''
        self.stops: dict[str, tuple[float, float]] = {}
        self._receivers: dict[str, Received] = {}  # of the page itself

    def _accept_parameter_changes(self, values: Mapping[str, Any], others: Sequence[str]) -> None:
        if any(name.startswith(PREFIX) for name in others):
            self._is_known = False  # configured again, perhaps with another description
        elif self.model is not None:
            try:
                self.model.accept_values(_list_numbers(values))
            except TransmissionBridgeError:  # another robot
                self._is_known = False

    # -- requests --------------------------------------------------------------------------------

    def spin_for(self, seconds: float) -> None:
        """Handle callbacks for some time, and request parameters if necessary."""
        super().spin_for(seconds)
        if self.calibration is not None and self.calibration.written is not None:
            self._end_calibration(self.calibration)
        now, start = time.monotonic(), None if self.report is None else self.report.start
        if not self.is_present or start != self._start:
            self._is_known, self._start = False, start
        elif not self._is_known and now - self._asked > _PERIOD:
            self._asked = now
            options = [option.name for option in fields(BridgeOptions)]
            names = [DESCRIPTION, *options, *(HOSTED + name for name in options)]
            self.get_parameters(names, self._build_model, prefix=PREFIX)

    def _build_model(self, values: Mapping[str, Any], reason: str) -> None:
        """Make the model from the parameters of the bridge."""
        data = str(values.get(DESCRIPTION) or self._described).encode()
        numbers = _list_numbers(values)
        is_configured = bool(numbers) or (self.report is not None and self.report.state == ACTIVE)
        if reason or not data or not is_configured:
            return
        named: dict[str, Any] = {
            option.name: tuple(value) if isinstance(option.default, tuple) else value
            for option in fields(BridgeOptions)
            if (value := values.get(HOSTED + option.name, values.get(option.name))) is not None
        }
        try:
            options = BridgeOptions(**named)
            robot = load_untuned_maps(load_description(data), options)
            model = self.model
            loaded = data, robot.joint_names, robot.actuator_names, robot.tunables
            if model is not None and loaded == self._loaded:
                # Keeps the steps for undo.
                model.accept_restarted_bridge(numbers, time.monotonic())
            else:
                model = TuneModel(data, robot)
                model.accept_values(numbers)
                self.model, self.visuals, self._loaded = model, data, loaded
                self.calibration = self._feed = None
        except TransmissionBridgeError as error:
            self._cannot_be_read = f'the robot of the bridge cannot be read: {error}'
            return
        self._is_known, self._cannot_be_read = True, ''
        self.n_starts += 1
        self._follow_robot(model.robot, options)

    def _follow_robot(self, robot: RobotTransmissions, options: BridgeOptions) -> None:
        """Buffer the latest messages of joints and drivers, which :meth:`read_state` needs."""
        names = split_option_pairs('actuator_names', options.actuator_names)
        #: The maps that the plans of states and of commands count by: :meth:`read_state` replaces
        #: both after a change of numbers.
        self._options, self._counted, self._plans = options, robot, _make_plans(robot, options)
        self._actuators, self._commands = States(self._plans[0], options), States(self._plans[1])
        joints = DriverStateIndex(robot.joint_names)
        self._joints = States(joints, options)
        topics = {'joint_states': _make_receiver(self._joints, lambda: joints, '')}
        for topic in options.actuator_state_topics:
            topics[topic] = _make_receiver(self._actuators, lambda: self._plans[0], topic)
            # A driver has its own names, and then its own command topic, or all share them.
            source = topic if any(name.startswith(f'{topic}:') for name in names) else ''
            sent = _make_receiver(self._commands, lambda: self._plans[1], source)
            topics.setdefault(posixpath.join(source.rpartition('/')[0], COMMANDS), sent)
        self._receivers = topics
        self._follow_all_topics()

    # -- calibration by hand ---------------------------------------------------------------------

    def begin_calibration(self) -> None:
        """Begin a calibration of the present robot by hand."""
        if self.model is None:
            return
        robot, options = self.model.robot, self._options
        hand = HandCalibration(robot, list_wrap_periods(robot, options))
        names = {
            topic: self._plans[0].map_driver_names(topic)
            for topic in options.actuator_state_topics
        }
        self._feed = HandDriverFeed(self, hand, names)
        self.calibration = HandGuide(hand, {}, self._feed.describe_obstacle)
        self._follow_all_topics()

    def _follow_all_topics(self) -> None:
        """Follow the topics of the robot, and those of a calibration, also of a new bridge."""
        topics = dict(self._receivers)
        for topic, receive in self._feed.receivers.items() if self._feed else ():
            former = topics.get(topic)
            topics[topic] = partial(_call_all, [receive] if former is None else [former, receive])
        self.follow_topics(topics)

    def _end_calibration(self, guide: HandGuide) -> None:
        """End it; if the user wants so, as soon as the bridge has stored the numbers."""
        values = name_values(guide.written or [])

        def finish_storing(stored: str, reason: str) -> None:
            if self.calibration is not guide:
                return
            if reason:
                guide.resume(f'the bridge does not store the numbers: {reason}')
                return
            self.calibration, self._feed, self.stored = None, None, stored
            self._follow_all_topics()
            if stored:
                self.stops |= guide.stops

        if not values:
            finish_storing('', '')
            return
        guide.resume('the numbers are being stored')
        self.set_parameters(values, finish_storing, is_stored=True)

    # -- for the page ----------------------------------------------------------------------------

    def read_state(self) -> TuneRobotState:
        """Return the robot's state; joints are unknown if the bridge is not present."""
        assert self.model is not None
        now, robot = time.monotonic(), self.model.robot
        if self._counted is not robot:
            before, self._plans = self._plans, _make_plans(robot, self._options)
            self._counted = robot
            self._actuators.replace_index(before[0], self._plans[0])
            self._commands.replace_index(before[1], self._plans[1])
        ages = self._commands.compute_ages(now).min(axis=0)
        turns = self._actuators.turns
        shift = None if turns is None else turns.compute_driver_shift()
        with np.errstate(all='ignore'):
            # As in the bridge, another turn may fit the new numbers.
            actuators = self._actuators.read_values(now)
            self._actuators.reopen_turns(robot.actuator_to_joint('position', actuators[0]))
            # Commands are in the driver's own turns, as its states are.
            sent = self._commands.read_values(now)[0] + (0.0 if shift is None else shift)
            target = robot.actuator_to_joint('position', sent)
        joints = self._joints.read_values(now)
        actuators = self._actuators.read_values(now).copy()
        speeds = self._actuators.pace.estimate_speeds(now)
        np.copyto(actuators[1], speeds, where=np.isnan(actuators[1]))
        return TuneRobotState(
            actuators,
            joints if self.is_present and self._is_known else np.full_like(joints, np.nan),
            self._actuators.compute_ages(now).min(axis=0),
            self._joints.compute_ages(now).min(axis=0),
            robot.joints_of(ages < _LIVE),
            target,
        )

    def describe_state(self) -> tuple[str, str]:
        """
        Return a text for the head of the page, and its kind.

        :returns: ``bad``: why the page does not show the present robot. ``care``: the lifecycle
            state of the bridge if it is not active, and its diagnostics.
        """
        if self.report is None or not self.is_present:
            return f'the bridge {self.bridge} is not there; waiting for it', 'bad'
        if not self._is_known:
            asking = f'waiting for the parameters of {self.bridge}, which must be configured'
            return self._cannot_be_read or asking, 'bad'
        state, name = self.report.state, f'{self.report.name}: '
        warnings = [f'{self.bridge} is {state}, not active'] if state != ACTIVE else []
        warnings += [f'{e.name.removeprefix(name)}: {e.message}' for e in self.report.troubles]
        return '   '.join(warnings), 'care'

    def apply_values(self, values: Mapping[str, float], done: Done) -> None:
        """Set parameters by ``set_parameters_atomically``."""
        self.set_parameters(values, lambda _, reason: done(reason))


def _make_plans(
    robot: RobotTransmissions, options: BridgeOptions
) -> tuple[DriverStateIndex, DriverStateIndex]:
    """Return the plans of states and of commands, which are in the turns of the drivers."""
    names, units = split_option_pairs('actuator_names', options.actuator_names), DriverUnits(robot)
    turns = WrappedEncoders(robot, options) if options.wrap_period else None
    members = (robot.actuator_names, names, robot.lost_actuators, units)
    return DriverStateIndex(*members, turns), DriverStateIndex(*members)


def _call_all(receivers: Sequence[Received], *message: Any) -> None:
    for receive in receivers:
        receive(*message)


def _make_receiver(states: States, plan: Callable[[], DriverStateIndex], source: str) -> Received:
    def merge(message: JointStateRecord, layout: Layout, now: float) -> None:
        with suppress(MessageError):  # the bridge reports it in its diagnostics
            states.merge_message(plan(), source, layout, message, message.stamp, now)

    return merge


def _list_numbers(values: Mapping[str, Any]) -> dict[str, float]:
    """Select the numbers of transmissions from values of parameters."""
    return {k: v for k, v in values.items() if k.startswith(PREFIX) and isinstance(v, float)}
