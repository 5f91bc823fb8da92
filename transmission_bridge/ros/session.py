# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
What exists between configure and cleanup: the two paths, their topics and their timers.

The node's life cycle decides when a session is made, opened, closed and destroyed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
import math
import time
import traceback
from typing import Any

from rclpy.clock import Clock
from rclpy.duration import Duration
from rclpy.lifecycle import LifecycleNode
from sensor_msgs.msg import JointState

from transmission_bridge.bridge.commands import CommandPath
from transmission_bridge.bridge.inputs import Stamp, StampJudge
from transmission_bridge.bridge.options import BridgeOptions, pairs
from transmission_bridge.bridge.outputs import DriverNames
from transmission_bridge.bridge.state_buffer import wrap_periods
from transmission_bridge.bridge.states import PublishPolicy, StatePath
from transmission_bridge.bridge.trajectories import TrajectoryPath
from transmission_bridge.errors import MessageError
from transmission_bridge.messages.cdr import JointStateEncoder
from transmission_bridge.messages.joint_state import JointStateData, JointStateRecord, Layout
from transmission_bridge.ros.channels import (
    check_separate,
    COMMAND_INPUT,
    Inputs,
    Outputs,
    publish_unchecked,
    STATE_INPUT,
)
from transmission_bridge.ros.optional_topics import (
    ActuatorArrayOutputs,
    JointArrayInputs,
    Sensors,
    Tips,
    Trajectories,
    TRAJECTORY_TOPIC,
)
from transmission_bridge.ros.receipt_clock import ReceiptClock
from transmission_bridge.ros.throttled_log import ThrottledLog
from transmission_bridge.transmissions import MapReport, RobotTransmissions
from transmission_bridge.types import Array

__all__ = ['Session']

#: Seconds that stopping waits for drivers to acknowledge the last command.
_ACKNOWLEDGE_PERIOD = 0.3

#: How often within a command timeout it is looked whether one has run out.
_TIMEOUT_CHECKS = 4

#: Seconds for which nothing but older stamps has to come before joint_states takes one.
_STAMP_HOLD = 1.0


class Session:
    """
    A configured bridge; closed when made.

    :param node: The node to create topics and timers with.
    :param robot: The maps.
    :param options: The choices.
    :param log: For messages that are refused.
    :ivar robot: The maps in use.
    :ivar time: Gives the time of receipt [s].
    :ivar state_topics: Topics of the drivers.
    :ivar command_topics: Topics that command joints.
    :ivar drivers: Divides what is sent to actuators.
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
            timeout=options.state_timeout,
            stamp_hold=_STAMP_HOLD,
        )
        self.commands = CommandPath(
            robot,
            mixed_commands=options.mixed_commands,
            partial_commands=options.partial_commands,
            limits=options.limits,
            on_stop=options.on_stop,
            zero_effort=options.zero_effort,
            timeout=options.command_timeout,
        )
        self._trajectory_path = TrajectoryPath(
            robot, self.commands, partial_commands=options.partial_commands
        )
        self._publishes_any = options.publish == 'on_any'
        self._trigger = PublishPolicy(options.publish, self.state_topics, options.state_timeout)
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
        self._publish_states = publish_unchecked(self.outputs.add(JointState, 'joint_states'))
        self._actuator_commands = self.outputs.add_for_drivers(
            JointState, 'actuator_commands', self.drivers.namespaces
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
            self.inputs.joint_state(topic, STATE_INPUT, take, self._clock.at_state)
        self.inputs.joint_state('joint_commands', COMMAND_INPUT, self._take_command)
        arrays = JointArrayInputs(
            self.inputs, self.robot, self.options.command_joints, self._take_array
        )
        self.command_topics = ('joint_commands', *arrays.topics, TRAJECTORY_TOPIC)
        self._tips = Tips(self.outputs, self.robot, self.options)
        self._sensors = Sensors(
            self.inputs,
            self.outputs,
            self.robot,
            self.options,
            self.drivers,
            actuator_position=lambda now: self.states.merged.values(now)[0],
            stamp=self._stamp,
        )
        Trajectories(
            self.inputs,
            self.outputs,
            self._trajectory_path,
            self.states.joint_position,
            self._now,
            self._arrays.end_at,
            self.drivers,
        )

    @property
    def reports(self) -> tuple[MapReport, ...]:
        """What became NaN in the maps of states, commands and sensors."""
        sensors = (path.report for path in self._sensors.paths.values())
        return (self.states.report, self.commands.report, *sensors)

    @property
    def is_open(self) -> bool:
        """Whether messages are taken and published."""
        return self.inputs.is_open

    @property
    def endpoints(self) -> str:
        """What it listens to and publishes, by the names that are in use, in words."""
        listens = [each.topic_name for each in self.inputs.subscriptions.values()]
        publishes = [each.topic_name for each in self.outputs.publishers.values()]
        return f'listens to {", ".join(listens)}; publishes {", ".join(publishes)}'

    # -- life ------------------------------------------------------------------------------------

    def open(self) -> None:
        """Begin to listen and to publish, with nothing known."""
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
        if self.options.command_timeout:
            for clock in self._clock.watch_clocks:
                self._every(self.options.command_timeout / _TIMEOUT_CHECKS, self._expire, clock)

    def close(self) -> None:
        """Send what ``on_stop`` says, then be silent. Publishers must still be active."""
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

    def use(self, robot: RobotTransmissions) -> None:
        """Exchange the maps between two messages."""
        self.robot = robot
        self.states.use(robot)
        self.commands.use(robot)
        self._trajectory_path.use(robot)
        self._sensors.use(robot)

    # -- messages --------------------------------------------------------------------------------

    def _take_state(self, topic: str, layout: Layout, data: JointStateData, now: float) -> None:
        self.states.update(topic, layout, data, self._stamp(topic, data.stamp, now), now)
        if self._publishes_any or self._trigger.heard(topic, now):
            self._publish(now)

    def _publish(self, now: float) -> None:
        if self.options.tip_frames:
            state = self.states.joint_state(now)
            if state is not None:
                self._publish_states(self._encoder.encode(state))
                self._tips.publish(state)
            return
        message = self.states.encoded(self._encoder, now)
        if message is not None:
            self._publish_states(message)

    def _publish_state(self) -> None:
        self._publish(self.time())

    def _take_command(self, layout: Layout, data: JointStateData, now: float) -> None:
        position = self.states.joint_position(now)
        stamp = self._stamp('joint_commands', data.stamp, now)
        self._send(self.commands.command(layout, data, position, stamp, now=now), now)

    def _take_array(self, topic: str, interface: str, values: Array, now: float) -> None:
        self._send(
            self.commands.command_interface(
                interface,
                self.options.command_joints,
                values,
                self.states.joint_position(now),
                self._now(),
                source=topic,
                now=now,
            ),
            now,
        )

    def _expire(self) -> None:
        now = self.time()
        self._send(self.commands.expire(self.states.joint_position(now), self._now(), now), now)

    def _send(self, commands: Sequence[JointStateRecord], now: float) -> None:
        for command in commands:
            for namespace, part in self.drivers.commands(command):
                self._publish_commands[namespace](self._encoder.encode(part))
        self._arrays.send(commands, now)

    # -- helpers ---------------------------------------------------------------------------------

    def _every(self, period: float, action: Callable[[], None], clock: Clock) -> None:
        def guarded() -> None:
            try:
                action()
            except MessageError as error:
                self._log.warning(('timer', error.reason), str(error))
            except Exception:  # a bug must not cost the executor
                self._log.error(('timer', 'bug'), f'bug\n{traceback.format_exc()}')

        self._timers.append(self._node.create_timer(period, guarded, clock=clock))

    def _now(self) -> Stamp:
        now: Stamp = self._node.get_clock().now().seconds_nanoseconds()
        return now
