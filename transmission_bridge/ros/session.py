# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
What exists between configure and cleanup: the two paths, their topics and their timers.

The node's life cycle decides when a session is made, opened, closed and destroyed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
import math
import time
import traceback
from typing import Any

import numpy as np
from rclpy.clock import Clock, ROSClock
from rclpy.clock_type import ClockType
from rclpy.duration import Duration
from rclpy.lifecycle import LifecycleNode
from rclpy.node import Node

from transmission_bridge.bridge.commands import command_timeouts, CommandPath
from transmission_bridge.bridge.inputs import check_age, StallWatch, Stamp, StampJudge
from transmission_bridge.bridge.options import AUTO, BridgeOptions, COMMAND_TIMEOUT, pairs
from transmission_bridge.bridge.outputs import DriverNames
from transmission_bridge.bridge.states import PublishPolicy, StatePath
from transmission_bridge.bridge.trajectories import TrajectoryPath
from transmission_bridge.bridge.tuning_guard import check_tuning
from transmission_bridge.bridge.turns import wrap_periods
from transmission_bridge.errors import MessageError, shortened
from transmission_bridge.messages.cdr import JointStateEncoder
from transmission_bridge.messages.joint_state import JointStateData, JointStateRecord, Layout
from transmission_bridge.ros.channels import check_separate, Inputs, Outputs
from transmission_bridge.ros.optional_topics import (
    ActuatorArrayOutputs,
    JointArrayInputs,
    Sensors,
    Trajectories,
    TRAJECTORY_TOPIC,
)
from transmission_bridge.ros.rclpy_internals import publish_unchecked
from transmission_bridge.ros.throttled_log import ThrottledLog
from transmission_bridge.transmissions import MapReport, RobotTransmissions
from transmission_bridge.types import Array

__all__ = ['STEADY', 'ReceiptClock', 'Session', 'SimulatedTime', 'is_simulated']

# -- The clock of times of receipt ---------------------------------------------------------------


#: Longest gap between two messages [s] that counts in full; a longer one is a pause.
_GAP = 0.1

#: Seconds that ROS time may stand still while messages come. Not less than a gap, so that a single
#: message after a pause, before the clock goes on, makes nothing older.
_PATIENCE = 0.1

#: Share of ROS time by which it catches up after it stood still.
_MAKING_UP = 0.1

#: Clock of timers that must not stop or jump with ROS time.
STEADY = Clock(clock_type=ClockType.STEADY_TIME)


class SimulatedTime:
    """
    ROS time that goes on by the steady clock while it stands still but drivers send states.

    This happens if the simulator hangs or ends and a driver does not; timeouts would never expire.
    Counted is the time from state to state since ROS time last advanced: at most 0.1 s of each
    gap, less the first 0.1 s. A simulator that pauses sends no states, so that nothing grows
    older. Once ROS time goes on, this time runs a tenth slower until ROS time has caught up, so
    that the gaps of a slow ``/clock`` do not add up.

    :param ros_time: Returns ROS time [ns].
    :param steady_time: Returns the time of the steady clock [s].
    """

    def __init__(
        self, ros_time: Callable[[], int], steady_time: Callable[[], float] = time.monotonic
    ) -> None:
        self._ros_time = ros_time
        self._steady_time = steady_time
        self._last = -1
        self._stood = self._ahead = 0.0
        self._heard = -math.inf

    def now(self) -> float:
        """Return the time [s]; it goes back only when ROS time does."""
        return self._after(0.0)

    def at_state(self) -> float:
        """Record that a driver sent a state, and return the time [s]."""
        steady = self._steady_time()
        gap, self._heard = min(steady - self._heard, _GAP), steady
        return self._after(gap)

    def _after(self, gap: float) -> float:
        ros_time = self._ros_time()
        if ros_time == self._last:
            self._stood += gap
            self._ahead = max(self._ahead, self._stood - _PATIENCE)
        else:
            made_up = _MAKING_UP * 1e-9 * (ros_time - self._last)
            self._ahead = max(self._ahead - made_up, 0.0) if made_up > 0.0 else 0.0
            self._last, self._stood = ros_time, 0.0
        return float(ros_time) * 1e-9 + self._ahead


def is_simulated(node: Node) -> bool:
    """Tell whether the node's time is that of ``/clock``."""
    clock = node.get_clock()
    return isinstance(clock, ROSClock) and clock.ros_time_is_active


class ReceiptClock:
    """
    The clock that times of receipt are taken from: the steady clock, or simulated ROS time.

    :param node: The node whose time it is; its ``use_sim_time`` must not change any more.
    :ivar now: Returns the time [s].
    :ivar at_state: Returns the time [s] at which the state of a driver was received.
    :ivar watch_clocks: Clocks of timers that check timeouts.
    :ivar rate_clock: Clock of the timer that publishes at a rate.
    """

    def __init__(self, node: LifecycleNode) -> None:
        # Not the system's clock: it may be set back, and timers with it.
        self.watch_clocks = [STEADY]
        self.rate_clock = STEADY
        self.now: Callable[[], float] = time.monotonic
        self.at_state: Callable[[], float] = time.monotonic
        if is_simulated(node):
            clock = node.get_clock()
            simulated = SimulatedTime(lambda: clock.now().nanoseconds)
            self.now, self.at_state = simulated.now, simulated.at_state
            # Both: simulated time may be the faster one, or stand still.
            self.watch_clocks.append(clock)
            self.rate_clock = clock


# -- The two paths, their topics and their timers ------------------------------------------------


#: Seconds that stopping waits for drivers to acknowledge the last command.
_ACKNOWLEDGE_PERIOD = 0.3

#: Seconds of nothing but older stamps after which joint_states accepts one.
_STAMP_HOLD = 1.0


class Session:
    """
    A configured bridge; closed at first.

    :param node: The node to create topics and timers with.
    :param robot: The maps.
    :param options: The values of the structural parameters.
    :param log: Where refused messages are reported.
    :ivar robot: The maps in use.
    :ivar time: Returns the time of receipt [s].
    :ivar state_topics: Topics of the drivers.
    :ivar command_topics: Topics that command joints.
    :ivar drivers: Divides commands among the drivers.
    :ivar opened: When it was opened last, by the steady clock [s].
    :raises TransmissionBridgeError: If an option does not fit the robot; nothing is left behind.
    """

    def __init__(
        self,
        node: LifecycleNode,
        robot: RobotTransmissions,
        options: BridgeOptions,
        log: ThrottledLog,
    ) -> None:
        self._node = node
        self._log = log
        self._timers: list[Any] = []
        self.opened = -math.inf
        self.robot = robot
        self.options = options
        self.state_topics = tuple(dict.fromkeys(options.actuator_state_topics))
        actuator_names = pairs('actuator_names', options.actuator_names)
        self.states = StatePath(
            robot,
            unknown_joints=options.unknown_joints,
            unknown_rates=options.unknown_rates,
            undeclared=options.undeclared_interfaces,
            actuator_names=actuator_names,
            wrap_period=wrap_periods(
                pairs('wrap_period', options.wrap_period),
                robot.actuator_names,
                robot.lost_actuators,
            ),
            unknown_turn=options.unknown_turn,
            timeout=options.state_timeout,
            stamp_hold=_STAMP_HOLD,
        )
        self._turns = self.states.merged.turns
        self.commands = CommandPath(
            robot,
            mixed_commands=options.mixed_commands,
            partial_commands=options.partial_commands,
            limits=options.limits,
            on_stop=options.on_stop,
            zero_effort=options.zero_effort,
            timeout=self._command_timeouts(),
            zero_max_velocity=options.zero_max_velocity,
        )
        self._trajectory_path = TrajectoryPath(
            robot,
            self.commands,
            partial_commands=options.partial_commands,
            max_waypoints=options.max_waypoints,
        )
        self._publishes_any = options.publish == 'on_any'
        self._trigger = PublishPolicy(
            options.publish, self.state_topics, self.states.merged.timeout_of
        )
        self._encoder = JointStateEncoder()
        self.drivers = DriverNames(actuator_names, robot.actuator_names)
        self._clock = ReceiptClock(node)
        self.time = self._clock.now
        self.outputs = Outputs(node)
        self.inputs = Inputs(node, self.time, log, (*robot.actuator_names, *robot.joint_names))
        forget_stamps = self.states.merged.forget_stamps
        self._stamp = StampJudge(self._now, self.inputs.note_stamp, forget_stamps).judge
        try:
            self._make_topics()
        except BaseException:
            self.destroy()
            raise

    def _make_topics(self) -> None:
        self._publish_states = publish_unchecked(self.outputs.add('joint_states'))
        self._actuator_commands = self.outputs.add_for_drivers(
            'actuator_commands', self.drivers.namespaces
        )
        # A session is open only while the node is active.
        self._publish_commands = {
            namespace: publish_unchecked(publisher)
            for namespace, publisher in self._actuator_commands.items()
        }
        self._arrays = ActuatorArrayOutputs(
            self.outputs, self.robot, self.options.command_actuators, self.drivers
        )
        check_separate(self._node, self.state_topics)
        for topic in self.state_topics:
            take = partial(self._take_state, topic)
            self.inputs.joint_state('actuator_states', take, name=topic, time=self._clock.at_state)
        self.inputs.joint_state('joint_commands', self._take_command)
        arrays = JointArrayInputs(
            self.inputs, self.robot, self.options.command_joints, self._take_array
        )
        self.command_topics = ('joint_commands', *arrays.topics, TRAJECTORY_TOPIC)
        self._sensors = Sensors(
            self.inputs,
            self.outputs,
            self.robot,
            self.options,
            self.drivers,
            actuator_position=lambda now: self.states.merged.values(now)[0],
            stamp=self._stamp,
            take_absolute=self.states.take_absolute,
        )
        Trajectories(
            self.inputs,
            self.outputs,
            self._trajectory_path,
            self.states.joint_position,
            self._now,
            self._arrays.end_at,
            self.drivers,
            self._stall,
            self._look_at_drivers,
            self._turns,
        )

    @property
    def reports(self) -> tuple[MapReport, ...]:
        """Which values the maps of states, commands and sensors could not compute, and why."""
        sensors = (path.report for path in self._sensors.paths.values())
        return (self.states.report, self.commands.report, *sensors)

    def absolute_positions(self, now: float, max_age: float) -> Array:
        """Return the joints' positions by absolute encoders; see :meth:`SensorPath.newest`."""
        return self._sensors.absolute_positions(now, max_age)

    @property
    def is_open(self) -> bool:
        """Whether messages are accepted and published."""
        return self.inputs.is_open

    @property
    def endpoints(self) -> str:
        """A sentence with the topics that it listens to and publishes, after remapping."""
        listens = [each.topic_name for each in self.inputs.subscriptions.values()]
        publishes = [each.topic_name for each in self.outputs.publishers.values()]
        return f'listens to {", ".join(listens)}; publishes {", ".join(publishes)}'

    # -- life ------------------------------------------------------------------------------------

    def open(self) -> None:
        """Clear the state and start."""
        self.states.reset()
        self.commands.reset()
        self._arrays.reset()
        self._sensors.reset()
        self._trigger.reset()
        self.opened = time.monotonic()
        self.inputs.open()
        if self.options.publish == 'rate':
            self._every(
                1.0 / self.options.publish_rate, self._publish_state, self._clock.rate_clock
            )
        self._stall.reset()
        # One timer for both, as each costs every message a little.
        for clock in self._clock.watch_clocks:
            self._every(self._stall.period, self._watch, clock)

    def close(self) -> None:
        """Send the commands of ``on_stop``, then stop. Publishers must still be active."""
        if not self.is_open:
            return
        self.inputs.is_open = False
        for timer in self._timers:
            self._node.destroy_timer(timer)
        self._timers = []
        last = self.commands.stop(self._now())
        self._send(last, self.time())
        if last:
            self._wait_for_drivers()

    def _wait_for_drivers(self) -> None:
        deadline = time.monotonic() + _ACKNOWLEDGE_PERIOD
        for publisher in self._actuator_commands.values():
            left = max(deadline - time.monotonic(), 0.0)
            publisher.wait_for_all_acked(Duration(seconds=left))

    def destroy(self) -> None:
        """Remove every topic."""
        self.inputs.destroy()
        self.outputs.destroy()

    def check_tuning(self, robot: RobotTransmissions) -> None:
        """
        Check maps that are to be used.

        :raises ParameterError: If they would move commanded joints suddenly (``tuning_guard``).
        """
        if not (self.is_open and self.options.tuning_guard):
            return
        now = self.time()
        measured = self.states.merged.values(now)[0]
        check_tuning(
            self.robot,
            robot,
            np.where(np.isnan(measured), self.commands.sent_position, measured),
            self.commands.live(now, max(self._timeouts, default=COMMAND_TIMEOUT)),
        )

    def _command_timeouts(self) -> list[float]:
        """Return the timeout of each joint, and say where there is none by default."""
        timeouts = command_timeouts(self.robot, self.options.command_timeout)
        names = [
            name for name, each in zip(self.robot.joint_names, timeouts, strict=True) if not each
        ]
        if names and self.options.command_timeout == AUTO:
            self._node.get_logger().info(
                f'command_timeout is 0 for {shortened(names)}, whose component is topic-based and '
                'silent at its target'
            )
        self._timeouts = sorted({each for each in timeouts if each})
        self._stall = StallWatch(self._timeouts[0] if self._timeouts else COMMAND_TIMEOUT)
        return timeouts

    def use(self, robot: RobotTransmissions) -> None:
        """Replace the maps, between two messages."""
        self.robot = robot
        self.states.use(robot)
        self.commands.use(robot)
        self._trajectory_path.use(robot)
        self._sensors.use(robot)

    # -- messages --------------------------------------------------------------------------------

    def _take_state(self, topic: str, layout: Layout, data: JointStateData, now: float) -> None:
        self._stall.look()
        self.states.update(topic, layout, data, self._stamp(topic, data.stamp, now), now)
        if self._publishes_any or self._trigger.heard(topic, now):
            self._publish(now)

    def _publish(self, now: float) -> None:
        message = self.states.encoded(self._encoder, now)
        if message is not None:
            self._publish_states(message)

    def _publish_state(self) -> None:
        self._publish(self.time())

    def _take_command(self, layout: Layout, data: JointStateData, now: float) -> None:
        position, velocity = self._measured(now)
        if self.options.max_command_age:  # to ask rclpy for the time costs as much as to map
            check_age(data.stamp, self._now(), self.options.max_command_age)
        stamp = self._stamp('joint_commands', data.stamp, now)
        with self._ending_rates():
            commands = self.commands.command(
                layout, data, position, stamp, measured_velocity=velocity, now=now
            )
        self._send(commands, now)

    def _take_array(self, topic: str, interface: str, values: Array, now: float) -> None:
        position, velocity = self._measured(now)
        with self._ending_rates():
            commands = self.commands.command_interface(
                interface,
                self.options.command_joints,
                values,
                position,
                self._now(),
                measured_velocity=velocity,
                source=topic,
                now=now,
            )
        self._send(commands, now)

    def _measured(self, now: float) -> Array:
        """Return the joints' positions and velocities for a command that is not out of date."""
        self._stall.check()
        self._look_at_drivers(now)
        return self.states.joint_motion(now)

    def _look_at_drivers(self, now: float) -> None:
        """Tell the command path what can be known of the actuators at the time of a command."""
        silent = self.states.merged.take_silent(now)
        if silent is not None:
            self.commands.driver_was_silent(silent)
        if self._turns is not None:
            self.commands.open_turns = self.states.merged.open_turns(now)

    @contextmanager
    def _ending_rates(self) -> Iterator[None]:
        """End a velocity or effort in force if the new one is refused as unmapped."""
        try:
            yield
        except MessageError:
            if self.commands.has_ended:
                self._expire()
            raise

    def _watch(self) -> None:
        self._stall.look()
        if self._timeouts:
            ended = [name for command in self._expire() for name in command.names]
            if ended:
                self._log.info(
                    'command_timeout',
                    f'{shortened(ended)} stopped: no new velocity or effort within '
                    'command_timeout',
                )

    def _expire(self) -> list[JointStateRecord]:
        now = self.time()
        commands = self.commands.expire(self.states.joint_position(now), self._now(), now)
        self._send(commands, now)
        return commands

    def _send(self, commands: Sequence[JointStateRecord], now: float) -> None:
        for command in commands:
            sent = command if self._turns is None else self._turns.in_turns_of_driver(command)
            for namespace, part in self.drivers.commands(sent):
                self._publish_commands[namespace](self._encoder.encode(part))
        self._arrays.send(commands, now, self._turns)

    # -- helpers ---------------------------------------------------------------------------------

    def _every(self, period: float, action: Callable[[], object], clock: Clock) -> None:
        def guarded() -> None:
            try:
                action()
            except MessageError as error:
                self._log.warning(('timer', error.reason), str(error))
            except Exception:  # a bug must not end the executor
                self._log.error(('timer', 'bug'), f'bug\n{traceback.format_exc()}')

        self._timers.append(self._node.create_timer(period, guarded, clock=clock))

    def _now(self) -> Stamp:
        now: Stamp = self._node.get_clock().now().seconds_nanoseconds()
        return now
