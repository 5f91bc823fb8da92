# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
A configured bridge: the paths of states and commands, their topics and their timers.

The life cycle of the node decides when a session is made (configure), opened, closed and destroyed
(cleanup). The session owns the bridge and every topic; diagnostics and services read its public
attributes. All calls, messages and timers have the one thread of the node's executor, which is why
maps are replaced between two messages.
"""

from __future__ import annotations

from collections.abc import Callable
import math
import time
from typing import Any

import numpy as np
from rclpy.clock import Clock, ROSClock
from rclpy.clock_type import ClockType
from rclpy.duration import Duration
from rclpy.lifecycle import LifecycleNode
from rclpy.node import Node

from transmission_bridge.bridge import Bridge, StallWatch, Stamp
from transmission_bridge.bridge.diagnostics import BridgeInspector
from transmission_bridge.bridge.options import AUTO, BridgeOptions, COMMAND_TIMEOUT
from transmission_bridge.errors import shortened
from transmission_bridge.messages import JointStateRecord, Layout
from transmission_bridge.ros.channels import (
    add_driver_senders,
    check_separate_topics,
    connect_sensors,
    InputTopics,
    OutputTopics,
    subscribe_joint_arrays,
    subscribe_joint_commands,
    subscribe_trajectories,
    TRAJECTORY_TOPIC,
)
from transmission_bridge.ros.hosting import (
    COMMANDS,
    find_hosted_drivers,
    HostedDriver,
    HostedDrivers,
    Sample,
    STATES,
    TRAJECTORY,
)
from transmission_bridge.ros.throttled_log import ThrottledLog
from transmission_bridge.ros.topics import RELIABLE
from transmission_bridge.transmissions import RobotTransmissions

# -- The clock of times of receipt: the steady clock, or simulated ROS time ---------------------


#: Longest gap between two messages [s] that is counted; a longer one is a pause.
_GAP = 0.1

#: Longest time [s] for which ROS time may stand still while messages come. Not shorter than a
#: gap, so that a single message after a pause, before the clock resumes, ages nothing.
_PATIENCE = 0.1

#: Fraction of ROS time by which this time slows down until ROS time has caught up.
_MAKING_UP = 0.1

#: Clock of timers that must not stop or jump with ROS time.
STEADY = Clock(clock_type=ClockType.STEADY_TIME)


class SimulatedRosTime:
    """
    ROS time that continues by the steady clock if it stands still while drivers send states.

    This happens if the simulator hangs or ends and a driver does not. Timeouts would never expire.
    This time then advances from state to state, at most 0.1 s per gap, after the first 0.1 s
    without progress of ROS time. A paused simulator sends no states, so nothing ages. When ROS
    time resumes, this time runs a tenth slower until ROS time has caught up, so that the gaps of a
    slow ``/clock`` do not add up.

    A session calls :meth:`at_state` for each state of a driver, and :meth:`read_time` for all
    else.

    :param ros_time: Returns ROS time [ns].
    :param steady_time: Returns the time of the steady clock [s].
    """

    def __init__(
        self, ros_time: Callable[[], int], steady_time: Callable[[], float] = time.monotonic
    ) -> None:
        self._ros_time, self._steady_time = ros_time, steady_time
        # Last ROS time [ns]; time with states since it changed, and lead of this time [s].
        self._last = -1
        self._stood = self._ahead = 0.0
        # Steady time of the last state [s].
        self._heard = -math.inf

    def read_time(self) -> float:
        """Return the time [s]; it goes backwards only if ROS time does."""
        return self._advance(0.0)

    def at_state(self) -> float:
        """Record that a driver sent a state, and return the time [s]."""
        steady = self._steady_time()
        gap, self._heard = min(steady - self._heard, _GAP), steady
        return self._advance(gap)

    def _advance(self, gap: float) -> float:
        ros_time = self._ros_time()
        if ros_time == self._last:
            self._stood += gap
            self._ahead = max(self._ahead, self._stood - _PATIENCE)
        else:
            made_up = _MAKING_UP * 1e-9 * (ros_time - self._last)
            self._ahead = max(self._ahead - made_up, 0.0) if made_up > 0.0 else 0.0
            self._last, self._stood = ros_time, 0.0
        return float(ros_time) * 1e-9 + self._ahead


def is_ros_time_simulated(node: Node) -> bool:
    """Whether the node's time comes from ``/clock``."""
    clock = node.get_clock()
    return isinstance(clock, ROSClock) and clock.ros_time_is_active


# -- The two paths, their topics and their timers ------------------------------------------------


#: Longest wait [s] for drivers to acknowledge the last command.
_ACKNOWLEDGE_PERIOD = 0.3

#: Time [s] with only older stamps after which joint_states accepts an older stamp.
_STAMP_HOLD = 1.0


class BridgeNodeSession:
    """
    A configured bridge; closed at first.

    It can be opened and closed again until :meth:`destroy_session`, which follows a close.

    :param node: The node of the topics and timers.
    :param robot: The maps.
    :param options: The values of the structural parameters.
    :param log: Receives rejected messages.
    :ivar robot: The maps in use; :meth:`replace_maps` alone sets them.
    :ivar options: The options with what follows from hosted drivers.
    :ivar hosted: The drivers in this process.
    :ivar inputs: The subscriptions; ``outputs``: the publishers.
    :ivar time: Returns the time of receipt [s], the clock of bridge and diagnostics: the steady
        clock, or simulated ROS time.
    :ivar state_topics: Topics of the drivers.
    :ivar command_topics: Topics that command joints; true for trajectories.
    :ivar missing: A sentence with the package to install to read all commands; empty: nothing is
        missing.
    :ivar bridge: The bridge without a node; ``states`` and ``gate`` are its parts.
    :ivar drivers: Divides commands among the drivers.
    :ivar sensors: The paths of absolute encoders and torque sensors, by input topic.
    :ivar watch: Inspects the bridge for diagnostics.
    :ivar opened: Time of the last opening [s], as ``time``.
    :raises TransmissionBridgeError: If an option does not fit the robot. All topics are removed.
    """

    def __init__(
        self,
        node: LifecycleNode,
        robot: RobotTransmissions,
        options: BridgeOptions,
        log: ThrottledLog,
    ) -> None:
        self._node, self._log = node, log
        self._timers: list[Any] = []
        # Clocks of the timers that check timeouts; the timer of publication uses the last one.
        self._clocks = [STEADY]
        self._topics: list[InputTopics | OutputTopics] = []
        self.opened = -math.inf
        self.robot = robot
        drivers, self.options = find_hosted_drivers(robot, options)
        self.hosted = HostedDrivers(node, log, drivers, zero_effort=options.zero_effort)
        self.state_topics = tuple(dict.fromkeys(self.options.actuator_state_topics))
        try:
            self._make_bridge(robot, log)
            self.hosted.start('configure')
        except BaseException:
            self.destroy_session()
            raise

    def _make_bridge(self, robot: RobotTransmissions, log: ThrottledLog) -> None:
        node, options = self._node, self.options
        self.outputs = OutputTopics(node)
        self.bridge = Bridge(robot, options, self.outputs.send_messages, _STAMP_HOLD)
        self.states = self.bridge.states
        self.gate = self.bridge.gate
        self.drivers = self.bridge.plan.drivers
        limit = min(filter(None, self.bridge.plan.timeouts), default=COMMAND_TIMEOUT)
        self._stall = StallWatch(limit)
        endless = self.gate.ledger.endless_joints
        if endless and options.command_timeout == AUTO:
            node.get_logger().info(
                f'command_timeout is 0 for {shortened(endless)}, because their topic-based '
                'component is silent at its target'
            )
        # Not the system's clock, because that may be set back.
        self.time = self._state_time = time.monotonic
        if is_ros_time_simulated(node):
            clock = node.get_clock()
            simulated = SimulatedRosTime(lambda: clock.now().nanoseconds)
            self.time, self._state_time = simulated.read_time, simulated.at_state
            # Both, because simulated time may be faster or stand still.
            self._clocks.append(clock)
        forget_stamps = self.states.forget_stamps
        self.inputs = InputTopics(node, self.time, log, robot, self._stall, forget_stamps)
        self._topics = [self.inputs, self.outputs]
        self._publish_states = self.outputs.add_publisher('joint_states').publish
        # A session is open only while the node is active.
        add_driver_senders(node, self.outputs, self.bridge)
        hosted = {driver.topic: driver for driver in self.hosted}
        for driver in self.hosted:
            self.outputs.senders[f'{driver.namespace}{COMMANDS}'] = driver.send_command
            self.outputs.senders[f'{driver.namespace}{TRAJECTORY}'] = driver.send_trajectory
        check_separate_topics(self._node, self.state_topics)
        inputs, at_state = self.inputs, self._state_time
        for topic in self.state_topics:
            if topic in hosted:
                self._connect_driver(hosted[topic])
            else:
                inputs.subscribe_joint_states(STATES, self._use_state, name=topic, time=at_state)
        take = self.gate.send_joint_command
        inputs.subscribe_joint_states('joint_commands', take, commands=True)
        singles, self.missing = subscribe_joint_commands(inputs, robot, take)
        arrays = subscribe_joint_arrays(inputs, self.bridge)
        self.command_topics = dict.fromkeys(('joint_commands', *singles, *arrays), False)
        self.command_topics[TRAJECTORY_TOPIC] = True
        self.sensors = connect_sensors(inputs, self.outputs, robot, self.bridge)
        subscribe_trajectories(inputs, self.bridge)
        reports = [path.report for path in self.sensors.values()]
        topics = inputs.statistics, self.state_topics, self.command_topics
        self.watch = BridgeInspector(self.bridge, *topics, reports)

    def _connect_driver(self, hosted: HostedDriver) -> None:
        names, topic = self.robot.actuator_names, hosted.topic
        places = np.array([names.index(name) for name in hosted.host.names])

        def take_sample(sample: Sample, now: float) -> None:
            record, layout, forgotten = sample
            if forgotten.any():
                lost = np.zeros(len(names), dtype=bool)
                lost[places[forgotten]] = True
                self.states.spells.restart_spells(lost)
            stamp = self.inputs.replace_stamp(topic, record.stamp, now)
            self._use_state(layout, record, stamp, now, topic)

        hosted.receive = self.inputs.make_receiver(topic, take_sample, self._state_time)
        commands = self.outputs.publishers[f'{hosted.namespace}{COMMANDS}']
        states = self.outputs.add_publisher(STATES, name=topic, quality=RELIABLE)
        hosted.copies = {STATES: states, COMMANDS: commands}

    @property
    def is_open(self) -> bool:
        """Whether messages are accepted and published."""
        return self.inputs.is_open

    @property
    def endpoints(self) -> str:
        """A sentence with its subscriptions and publishers, after remapping."""
        inputs = [topic.topic_name for topic in self.inputs.subscriptions.values()]
        outputs = [topic.topic_name for topic in self.outputs.publishers.values()]
        return f'subscribes to {", ".join(inputs)}; publishes {", ".join(outputs)}'

    # -- life ------------------------------------------------------------------------------------

    def open_session(self) -> None:
        """Clear the state and accept messages."""
        self.bridge.reset()
        for path in self.sensors.values():
            path.reset()
        self.opened = self.time()
        self.inputs.open_topics()
        if rate := self.options.publish_rate:
            self._start_timer(1.0 / rate, self._publish_at_rate, self._clocks[-1])
        self._stall.reset()
        # One timer for stalls and timeouts, because each timer costs every message a little.
        for clock in self._clocks:
            self._start_timer(self._stall.period, self._expire_commands, clock)
        try:
            self.hosted.start('activate')
        except BaseException:
            self.close_session()
            raise

    def close_session(self) -> None:
        """Send the commands of ``on_stop``, then stop. Publishers must still be active."""
        if not self.is_open:
            return
        self.inputs.is_open = False
        for timer in self._timers:
            self._node.destroy_timer(timer)
        self._timers = []
        now = self.time()
        if left := self.gate.list_left_trajectories(now):
            self._log.warning('stop', f'trajectories of {shortened(left)} continue in the drivers')
        ended = self.gate.send_stop(self.inputs.read_stamp(), now)
        deadline = time.monotonic() + _ACKNOWLEDGE_PERIOD
        for namespace in self.drivers.namespaces if ended else ():
            remaining = max(deadline - time.monotonic(), 0.0)
            publisher = self.outputs.publishers[f'{namespace}actuator_commands']
            publisher.wait_for_all_acked(Duration(seconds=remaining))
        self.hosted.deactivate()

    def destroy_session(self) -> None:
        """End the hosted drivers, and remove every topic."""
        self.hosted.end()
        for topics in self._topics:
            topics.destroy_topics()

    def replace_maps(self, robot: RobotTransmissions) -> None:
        """Replace all maps; while it is open, the node has called :meth:`Bridge.guard_tuning`."""
        self.robot = robot
        self.bridge.replace_robot(robot)
        for path in self.sensors.values():
            path.replace_robot(robot)

    # -- messages --------------------------------------------------------------------------------

    def _use_state(
        self, layout: Layout, data: JointStateRecord, stamp: Stamp, now: float, topic: str
    ) -> None:
        plan = self.gate.plan.state_map
        self.states.merge_message(plan, topic, layout, data, stamp, now)
        if not self.options.publish_rate and (message := self.states.encode_state(plan, now)):
            self._publish_states(message)

    def _publish_at_rate(self) -> None:
        if message := self.states.encode_state(self.gate.plan.state_map, self.time()):
            self._publish_states(message)

    def _expire_commands(self) -> None:
        self._stall.record_tick()
        now = self.time()
        # Sensors may be silent: their numbers must not become fresh again.
        for path in self.sensors.values():
            path.record_time(now)
        if ended := self.gate.end_expired_commands(self.inputs.read_stamp(), now):
            why = 'no new velocity or effort within command_timeout'
            self._log.info('command_timeout', f'{shortened(ended)} stopped: {why}')

    # -- helpers ---------------------------------------------------------------------------------

    def _start_timer(self, period: float, action: Callable[[], object], clock: Clock) -> None:
        act_safely = self._log.guard('timer', action)
        self._timers.append(self._node.create_timer(period, act_safely, clock=clock))
