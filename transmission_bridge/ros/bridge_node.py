# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
The life-cycle node: a thin shell around the state path and the command path.

It reads bytes, hands them to :mod:`transmission_bridge.bridge`, and publishes bytes. Names of
topics and parameters are tables in the README.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from rcl_interfaces.msg import ParameterDescriptor, SetParametersResult
from rclpy.duration import Duration
from rclpy.lifecycle import LifecycleNode, LifecycleState, TransitionCallbackReturn
from rclpy.parameter import Parameter
from rclpy.qos_overriding_options import QoSOverridingOptions
from sensor_msgs.msg import JointState

from transmission_bridge.bridge.commands import CommandPath
from transmission_bridge.bridge.encoder import JointStateEncoder
from transmission_bridge.bridge.options import BridgeOptions, pairs
from transmission_bridge.bridge.states import Stamp, StatePath
from transmission_bridge.description import Finding, load_description
from transmission_bridge.errors import DescriptionError
from transmission_bridge.messages.joint_state import JointStateData, JointStateRecord
from transmission_bridge.messages.layout import Layout
from transmission_bridge.ros import description_source
from transmission_bridge.ros.description_source import DescriptionSource
from transmission_bridge.ros.inputs import Inputs
from transmission_bridge.ros.live_parameters import LiveParameters
from transmission_bridge.ros.options import declare_options, read_options
from transmission_bridge.ros.qos import COMMAND_INPUT, OUTPUT, STATE_INPUT
from transmission_bridge.ros.throttled_log import ThrottledLog
from transmission_bridge.ros.transitions import transition
from transmission_bridge.transmissions import RobotTransmissions

__all__ = ['TransmissionBridge']

#: Seconds between reminders that there is no description yet.
_REMINDER_PERIOD = 5.0

#: Seconds that stopping waits for drivers to acknowledge the last command.
_ACKNOWLEDGE_PERIOD = 0.3


class TransmissionBridge(LifecycleNode):
    """
    Republishes actuator states as joint states and joint commands as actuator commands.

    :param kwargs: What :class:`rclpy.node.Node` takes, for example ``namespace`` or
        ``parameter_overrides``.
    """

    def __init__(self, **kwargs: Any) -> None:
        super().__init__('transmission_bridge', **kwargs)
        self._log = ThrottledLog(self)
        self._is_configured = False
        self._is_active = False
        self._inputs = Inputs(self, lambda: self._is_active, self._log)
        self._outputs: list[Any] = []
        declare_options(self)
        self._autostart = bool(
            self.declare_parameter(
                'autostart',
                False,
                ParameterDescriptor(
                    description='Whether the node configures and activates itself when a '
                    'description is there.',
                    read_only=True,
                ),
            ).value
        )
        self._live = LiveParameters(self, self._use)
        self._description = DescriptionSource(self, self._description_arrived)
        self.add_on_set_parameters_callback(self._check_parameters)
        self.add_post_set_parameters_callback(self._apply_parameters)
        self._starter = self.create_timer(0.0, self._start) if self._autostart else None

    # -- life cycle ------------------------------------------------------------------------------

    @transition
    def on_configure(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Read the description, load the plugins, declare the parameters, create the topics."""
        text = self._description.text
        if not text:
            raise DescriptionError(
                'there is no robot_description: set the parameter, or publish the topic'
            )
        options = read_options(self)
        robot = load_description(text)
        transmissions = RobotTransmissions(
            robot,
            pass_through=options.pass_through,
            aliases=pairs('plugin_aliases', options.plugin_aliases),
        )
        self._log_findings(transmissions.findings)
        if not transmissions.joint_names:
            raise DescriptionError(
                f"nothing to bridge in robot '{robot.name}': no usable transmission and no joint "
                f'to pass through, see the findings above ({self._description.place})'
            )
        transmissions = self._live.configure(transmissions)
        try:
            self._create(transmissions, options)
        except BaseException:
            self._release()
            raise
        for name in self._live.unmatched_overrides():
            self.get_logger().warning(f"parameter file: '{name}' matches no parameter")
        self._is_configured = True
        self.get_logger().info(
            f"robot '{robot.name}': {len(transmissions.joint_names)} joints, "
            f'{len(transmissions.actuator_names)} actuators, '
            f'{len(transmissions.transmissions)} transmissions, '
            f'{len(transmissions.pass_through)} joints passed through'
        )
        return TransitionCallbackReturn.SUCCESS

    @transition
    def on_activate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Begin with nothing known, then open the gate."""
        self._states.reset()
        self._commands.reset()
        result = super().on_activate(state)
        self._is_active = result == TransitionCallbackReturn.SUCCESS
        return result

    @transition
    def on_deactivate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Send what ``on_stop`` says, then be silent."""
        self._stop()
        return super().on_deactivate(state)

    @transition
    def on_cleanup(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Undo what configuring did."""
        self._release()
        return super().on_cleanup(state)

    @transition
    def on_shutdown(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Stop and release, from whatever state."""
        self._stop()
        self._release()
        return super().on_shutdown(state)

    @transition
    def on_error(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Release everything; the node is unconfigured afterwards and can be configured again."""
        self._stop()
        self._release()
        return TransitionCallbackReturn.SUCCESS

    def _log_findings(self, findings: Sequence[Finding]) -> None:
        # One line each: rclpy allows one severity per line of code.
        for finding in findings:
            if finding.severity == 'error':
                self.get_logger().error(str(finding))
            elif finding.severity == 'warning':
                self.get_logger().warning(str(finding))
            else:
                self.get_logger().info(str(finding))

    def _create(self, robot: RobotTransmissions, options: BridgeOptions) -> None:
        self._states = StatePath(
            robot,
            unknown_joints=options.unknown_joints,
            actuator_names=pairs('actuator_names', options.actuator_names),
        )
        self._commands = CommandPath(
            robot,
            mixed_commands=options.mixed_commands,
            partial_commands=options.partial_commands,
            on_stop=options.on_stop,
            zero_effort=options.zero_effort,
        )
        self._encoder = JointStateEncoder()
        overridable = QoSOverridingOptions.with_default_policies()
        self._joint_states = self.create_lifecycle_publisher(
            JointState, 'joint_states', OUTPUT, qos_overriding_options=overridable
        )
        self._actuator_commands = self.create_lifecycle_publisher(
            JointState, 'actuator_commands', OUTPUT, qos_overriding_options=overridable
        )
        self._outputs = [self._joint_states, self._actuator_commands]
        self._inputs = Inputs(self, lambda: self._is_active, self._log)
        for topic in dict.fromkeys(options.actuator_state_topics):
            self._inputs.joint_state(topic, STATE_INPUT, partial(self._take_state, topic))
        self._inputs.joint_state('joint_commands', COMMAND_INPUT, self._take_command)

    def _release(self) -> None:
        self._is_configured = False
        self._live.cleanup()
        self._inputs.destroy()
        for publisher in self._outputs:
            self.destroy_lifecycle_publisher(publisher)
        self._outputs = []

    def _stop(self) -> None:
        if not self._is_active:
            return
        self._is_active = False
        last = self._commands.stop(self._now())
        self._send(last)
        if last:
            self._actuator_commands.wait_for_all_acked(Duration(seconds=_ACKNOWLEDGE_PERIOD))

    # -- messages --------------------------------------------------------------------------------

    def _take_state(self, topic: str, layout: Layout, data: JointStateData) -> None:
        self._states.update(topic, layout, data, self._stamp(data.stamp))
        state = self._states.joint_state()
        if state is not None:
            self._joint_states.publish(self._encoder.encode(state))

    def _take_command(self, layout: Layout, data: JointStateData) -> None:
        self._send(
            self._commands.command(
                layout, data, self._states.joint_position, self._stamp(data.stamp)
            )
        )

    def _send(self, commands: Sequence[JointStateRecord]) -> None:
        for command in commands:
            self._actuator_commands.publish(self._encoder.encode(command))

    def _stamp(self, stamp: Stamp) -> Stamp:
        return stamp if stamp != (0, 0) else self._now()

    def _now(self) -> Stamp:
        now: Stamp = self.get_clock().now().seconds_nanoseconds()
        return now

    # -- parameters and description --------------------------------------------------------------

    def _check_parameters(self, parameters: Sequence[Parameter[Any]]) -> SetParametersResult:
        if self._is_configured and any(
            parameter.name == description_source.PARAMETER for parameter in parameters
        ):
            return SetParametersResult(
                successful=False,
                reason='robot_description can be set while the node is unconfigured: '
                'deactivate it and clean it up first',
            )
        return self._live.check(parameters)

    def _apply_parameters(self, parameters: Sequence[Parameter[Any]]) -> None:
        self._live.commit(parameters)
        if any(parameter.name == description_source.PARAMETER for parameter in parameters):
            self._description_arrived()

    def _use(self, robot: RobotTransmissions) -> None:
        """Exchange the maps between two messages."""
        self._states.use(robot)
        self._commands.use(robot)

    def _description_arrived(self) -> None:
        if self._is_configured:
            self.get_logger().warning(
                'another robot_description arrived; it is used at the next configure'
            )
        elif self._autostart and self._starter is None:
            self._starter = self.create_timer(0.0, self._start)

    def _start(self) -> None:
        """Configure and activate; while there is no description, say so and look again."""
        if self._starter is not None:
            self.destroy_timer(self._starter)
            self._starter = None
        if self._is_configured:
            return
        if not self._description.text:
            self.get_logger().info(
                f'waiting for a description on {self._description.place} or in parameter '
                f'{description_source.PARAMETER}'
            )
            self._starter = self.create_timer(_REMINDER_PERIOD, self._start)
        elif self.trigger_configure() == TransitionCallbackReturn.SUCCESS:
            self.trigger_activate()
