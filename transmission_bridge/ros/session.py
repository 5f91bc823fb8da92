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

from rclpy.clock import Clock, ROSClock
from rclpy.clock_type import ClockType
from rclpy.duration import Duration
from rclpy.lifecycle import LifecycleNode
from rclpy.node import Node

from transmission_bridge.bridge.bridge import Bridge
from transmission_bridge.bridge.gate import Outgoing
from transmission_bridge.bridge.inputs import check_command_age, Stamp, StampFilter
from transmission_bridge.bridge.options import AUTO, BridgeOptions, COMMAND_TIMEOUT
from transmission_bridge.bridge.stalls import StallWatch
from transmission_bridge.bridge.states import PublishPolicy
from transmission_bridge.errors import MessageError, shortened
from transmission_bridge.messages.cdr import JointStateEncoder
from transmission_bridge.messages.joint_state import JointStateRecord, Layout
from transmission_bridge.ros.channels import check_separate, Inputs, Outputs
from transmission_bridge.ros.optional_topics import (
    array_publishers,
    read_joint_arrays,
    read_joint_commands,
    read_trajectories,
    Sensors,
    trajectory_publishers,
    TRAJECTORY_TOPIC,
)
from transmission_bridge.ros.throttled_log import ThrottledLog
from transmission_bridge.transmissions import MapReport, RobotTransmissions
from transmission_bridge.types import Array

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
    :ivar missing: A sentence that names what to install to read all commands; empty: nothing.
    :ivar bridge: The bridge without a node; ``states`` and ``gate`` are its parts.
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
        self.bridge = Bridge(robot, options, self._publish_outgoing, _STAMP_HOLD)
        self.states = self.bridge.states
        self.gate = self.bridge.gate
        self.drivers = self.gate.drivers
        self._stall = self._stall_watch()
        self._publishes_any = options.publish == 'on_any'
        timeout_of = self.states.merged.find_driver_timeout
        self._trigger = PublishPolicy(options, self.state_topics, timeout_of)
        self._encoder = JointStateEncoder()
        self._clock = ReceiptClock(node)
        self.time = self._clock.now
        self.outputs = Outputs(node)
        names = (*robot.actuator_names, *robot.joint_names)
        self.inputs = Inputs(node, self.time, log, names, self._stall.check_source_time)
        forget_stamps = self.states.merged.forget_stamps
        self._stamp = StampFilter(self._now, self.inputs.note_stamp, forget_stamps).replace_stamp
        try:
            self._make_topics()
        except BaseException:
            self.destroy()
            raise

    def _make_topics(self) -> None:
        self._publish_states = self.outputs.add('joint_states').publish
        self._command_publishers = self.outputs.add_for_drivers(
            'actuator_commands', self.drivers.namespaces
        )
        # A session is open only while the node is active.
        self._publishers: dict[tuple[str, str], Callable[[Any], object]] = {}
        for namespace, publisher in self._command_publishers.items():
            self._publishers['actuator_commands', namespace] = partial(
                self._publish_command, publisher.publish
            )
        self._publishers |= array_publishers(self.outputs, tuple(self.gate.orders))
        self._publishers |= trajectory_publishers(self.outputs, self.drivers.namespaces)
        check_separate(self._node, self.state_topics)
        for topic in self.state_topics:
            take = partial(self._take_state, topic)
            self.inputs.joint_state('actuator_states', take, name=topic, time=self._clock.at_state)
        self.inputs.joint_state(
            'joint_commands', partial(self._take_command, 'joint_commands'), commands=True
        )
        singles, self.missing = read_joint_commands(self.inputs, self.robot, self._take_command)
        arrays = read_joint_arrays(
            self.inputs, self.robot, self.options.command_joints, self._take_array
        )
        self.command_topics = (
            'joint_commands',
            *singles,
            *arrays,
            TRAJECTORY_TOPIC,
        )
        self._sensors = Sensors(
            self.inputs,
            self.outputs,
            self.robot,
            self.options,
            self.drivers,
            actuator_position=lambda now: self.states.merged.read_values(now)[0],
            stamp=self._stamp,
            take_absolute=self.states.use_absolute_positions,
        )
        read_trajectories(self.inputs, self.bridge, self._now)

    @property
    def reports(self) -> tuple[MapReport, ...]:
        """Which values the maps of states, commands and sensors could not compute, and why."""
        sensors = (path.report for path in self._sensors.paths.values())
        return (self.states.report, self.gate.report, *sensors)

    def absolute_positions(self, now: float, max_age: float) -> Array:
        """Return absolute joint positions; see :meth:`SensorPath.find_joint_values`."""
        return self._sensors.absolute_positions(now, max_age)

    @property
    def misplaced_encoders(self) -> dict[str, str]:
        """By transmission, see :meth:`EncoderPlaces.find_misplaced_encoders`."""
        return self._sensors.encoder_places.find_misplaced_encoders()

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
        self.bridge.reset()
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
        now = self.time()
        if left := self.gate.find_left_trajectories(now):
            self._log.warning('stop', f'trajectories of {shortened(left)} stay with their drivers')
        if self.bridge.send_stop(self._now(), now):
            self._wait_for_drivers()

    def _wait_for_drivers(self) -> None:
        deadline = time.monotonic() + _ACKNOWLEDGE_PERIOD
        for publisher in self._command_publishers.values():
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
        if self.is_open:
            self.bridge.guard_tuning(robot, self.time())

    def _stall_watch(self) -> StallWatch:
        """Return what notices stalls; log which joints have no timeout by default."""
        timeouts = self.gate.timeouts
        endless = self.gate.ledger.endless_joints
        if endless and self.options.command_timeout == AUTO:
            self._node.get_logger().info(
                f'command_timeout is 0 for {shortened(endless)}, whose component is topic-based '
                'and silent at its target'
            )
        return StallWatch(min((each for each in timeouts if each), default=COMMAND_TIMEOUT))

    def use(self, robot: RobotTransmissions) -> None:
        """Replace the maps, between two messages."""
        self.robot = robot
        self.bridge.replace_maps(robot)
        self._sensors.use(robot)

    # -- messages --------------------------------------------------------------------------------

    def _take_state(self, topic: str, layout: Layout, data: JointStateRecord, now: float) -> None:
        self._stall.notice_stall()
        self.states.merge_message(topic, layout, data, self._stamp(topic, data.stamp, now), now)
        if self._publishes_any or self._trigger.should_publish(topic, now):
            self._publish(now)

    def _publish(self, now: float) -> None:
        message = self.states.encode_state(self._encoder, now)
        if message is not None:
            self._publish_states(message)

    def _publish_state(self) -> None:
        self._publish(self.time())

    def _take_command(
        self, topic: str, layout: Layout, data: JointStateRecord, now: float
    ) -> None:
        if self.options.max_command_age:  # to ask rclpy for the time costs as much as to map
            check_command_age(data.stamp, self._now(), self.options.max_command_age)
        stamp = self._stamp(topic, data.stamp, now)
        self.bridge.send_joint_command(layout, data, stamp, now, topic)

    def _take_array(self, topic: str, interface: str, values: Array, now: float) -> None:
        self.bridge.send_interface_command(topic, interface, values, self._now(), now)

    def _watch(self) -> None:
        self._stall.notice_stall()
        ended = self.bridge.end_expired_commands(self._now(), self.time())
        if ended:
            names = [name for command in ended for name in command.names]
            self._log.info(
                'command_timeout',
                f'{shortened(names)} stopped: no new velocity or effort within command_timeout',
            )

    def _publish_command(
        self, publish: Callable[[bytes], object], record: JointStateRecord
    ) -> None:
        publish(self._encoder.encode_record(record))

    def _publish_outgoing(self, outgoing: Sequence[Outgoing]) -> None:
        for topic, namespace, content in outgoing:
            self._publishers[topic, namespace](content)

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
