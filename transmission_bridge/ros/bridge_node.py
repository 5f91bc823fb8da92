# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""The life-cycle node of the bridge: transitions, description and parameters."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
import functools
from functools import partial
import traceback
from typing import Any

from rcl_interfaces.msg import ParameterDescriptor, SetParametersResult
from rclpy.lifecycle import LifecycleNode, LifecycleState, TransitionCallbackReturn
from rclpy.parameter import Parameter

from transmission_bridge.bridge.implausible_numbers import find_implausible_numbers
from transmission_bridge.bridge.options import (
    BridgeOptions,
    find_lost_names,
    find_unused_aliases,
    split_pairs,
)
from transmission_bridge.bridge.robot import make_robot_maps
from transmission_bridge.bridge.topic_based import find_endless_commands
from transmission_bridge.description import Finding
from transmission_bridge.errors import (
    clipped,
    DescriptionError,
    shortened,
    shown,
    TransmissionBridgeError,
)
from transmission_bridge.ros import description_source
from transmission_bridge.ros.description_source import DescriptionSource
from transmission_bridge.ros.diagnostics import Diagnostics, NodeFacts
from transmission_bridge.ros.parameters import (
    declare,
    declare_options,
    fix_use_sim_time,
    LiveParameters,
    read_options,
    take_integers,
)
from transmission_bridge.ros.requests import guard_requests
from transmission_bridge.ros.session import Session, STEADY
from transmission_bridge.ros.throttled_log import ThrottledLog
from transmission_bridge.ros.tuned_file import TunedFile
from transmission_bridge.ros.zero_service import ZeroService
from transmission_bridge.transmissions import RobotTransmissions

# -- Transitions that never lose an error --------------------------------------------------------


Step = Callable[[Any, LifecycleState], TransitionCallbackReturn]

#: States that each step leads to with success and with failure (design.ros2.org, *Managed nodes*).
_STATES = {
    'configure': ('inactive', 'unconfigured'),
    'activate': ('active', 'inactive'),
    'deactivate': ('inactive', 'active'),
    'cleanup': ('unconfigured', 'inactive'),
    'shutdown': ('finalized', 'finalized'),
    'error': ('unconfigured', 'finalized'),
}

#: Steps whose success clears the failure of an earlier one.
_ENDING_FAILURE = ('configure', 'activate', 'shutdown')


def transition(step: Step) -> Step:
    """
    Decorate a life-cycle callback: a mistake of the user is FAILURE, a bug is ERROR.

    Both are logged with their reason, because rclpy discards exceptions of these callbacks. The
    node keeps the reason as ``failure`` until it is configured or activated, and the state that
    follows as ``life_state``, because rclpy has no public access to its own.
    """

    @functools.wraps(step)
    def guarded(self: Any, state: LifecycleState) -> TransitionCallbackReturn:
        name = step.__name__.removeprefix('on_')
        try:
            result = step(self, state)
        except TransmissionBridgeError as error:
            result = TransitionCallbackReturn.FAILURE
            self.failure = f'{name} failed: {error}'
            self.get_logger().error(self.failure)
        except Exception as error:  # nothing may disappear in rclpy's own handler
            result = TransitionCallbackReturn.ERROR
            self.failure = f'{name} met a bug, see the log: {error!r}'
            self.get_logger().error(f'{name} met a bug:\n{traceback.format_exc()}')
        success, failure = _STATES[name]
        if result == TransitionCallbackReturn.SUCCESS:
            self.life_state = success
            if name in _ENDING_FAILURE:
                self.failure = ''
        elif result == TransitionCallbackReturn.FAILURE or name == 'error':
            self.life_state = failure
        return result

    return guarded


# -- The node ------------------------------------------------------------------------------------


class TransmissionBridge(LifecycleNode):
    """
    Republishes actuator states as joint states and joint commands as actuator commands.

    :param kwargs: What :class:`rclpy.node.Node` takes, for example ``namespace`` or
        ``parameter_overrides``.
    :ivar life_state: ``unconfigured``, ``inactive``, ``active`` or ``finalized``; changes at the
        end of each transition.
    :ivar failure: Why the last transition failed, empty if it succeeded.
    :ivar tuned_findings: What was refused of ``tuned_file`` when it was configured.
    :raises ParameterError: If a parameter was given a value of the wrong type.
    """

    def __init__(self, **kwargs: Any) -> None:
        super().__init__('transmission_bridge', **kwargs)
        fix_use_sim_time(self)
        self._log = ThrottledLog(self)
        self._session: Session | None = None
        self.life_state = 'unconfigured'
        self.failure = ''
        self._was_active = False
        declare_options(self)
        declare(
            self,
            'autostart',
            False,
            ParameterDescriptor(
                description='Whether the node configures and activates itself when a description '
                'is there.',
                read_only=True,
            ),
        )
        self._autostart = bool(self.get_parameter('autostart').value)
        self._live = LiveParameters(self, self._use, self._guard)
        self._description = DescriptionSource(self, self._description_arrived)
        self.tuned_findings: tuple[Finding, ...] = ()
        self._zero = ZeroService(self, lambda: self._session, self._keeping)
        self._diagnostics = Diagnostics(
            self, self._known_facts, lambda: self._session, self._description, self._log
        )
        take_integers(self)
        self.add_on_set_parameters_callback(self._check_parameters)
        self.add_post_set_parameters_callback(self._apply_parameters)
        guard_requests(self, self._live.together)
        self._tell_unmatched()
        self._starter: Any = None
        if self._autostart:
            self._start_soon()

    # -- life cycle ------------------------------------------------------------------------------

    @transition
    def on_configure(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Read the description, load the plugins, declare the parameters, create the topics."""
        text = self._description.text
        if not text:
            raise DescriptionError(self._description.absence)
        options = read_options(self)
        aliases = split_pairs('plugin_aliases', options.plugin_aliases)
        robot, marks = make_robot_maps(description_source.read_description(text), options)
        lost = robot.lost_actuators
        self._log_findings(
            (
                *robot.findings,
                *marks,
                *find_implausible_numbers(robot),
                *find_endless_commands(robot.robot, options.command_timeout),
                *find_unused_aliases(robot.robot, aliases),
                *find_lost_names(
                    'actuator_names',
                    split_pairs('actuator_names', options.actuator_names).values(),
                    lost,
                ),
                *find_lost_names(
                    'wrap_period', split_pairs('wrap_period', options.wrap_period), lost
                ),
                *find_lost_names(
                    'actuator_units', split_pairs('actuator_units', options.actuator_units), lost
                ),
            )
        )
        if not robot.joint_names:
            errors = [str(finding) for finding in robot.findings if finding.severity == 'error']
            raise DescriptionError(
                f'nothing to bridge in robot {shown(robot.robot.name)} '
                f'({self._description.place}): no usable transmission and no joint to pass through'
                + (f'; {shortened(errors, 1, show=str)}' if errors else '')
            )
        try:
            tuned = self._live.configure(robot, partial(self._tuned_values, options, robot))
            self._session = Session(self, tuned, options, self._log)
        except BaseException:
            self._release()
            raise
        self._tell_unmatched()
        self.get_logger().info(
            f'robot {shown(robot.robot.name)}: {len(robot.joint_names)} joints, '
            f'{len(robot.actuator_names)} actuators, {len(robot.transmissions)} transmissions, '
            f'{len(robot.pass_through)} joints passed through'
        )
        return TransitionCallbackReturn.SUCCESS

    @transition
    def on_activate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Activate the publishers, then open the session."""
        result = super().on_activate(state)
        if self._session is not None and result == TransitionCallbackReturn.SUCCESS:
            self._session.open()
            self._was_active = True
            self.get_logger().info(clipped(f'active: {self._session.endpoints}'))
        return result

    @transition
    def on_deactivate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Send what ``on_stop`` says, then be silent."""
        self._close()
        return super().on_deactivate(state)

    @transition
    def on_cleanup(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Remove the topics and the parameters of the transmissions."""
        self._release()
        return super().on_cleanup(state)

    @transition
    def on_shutdown(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Stop and release everything, from any state; autostart ends too."""
        self._autostart = False
        self._cancel_start()
        self._close()
        self._release()
        return super().on_shutdown(state)

    @transition
    def on_error(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Release everything; the node is unconfigured afterwards and can be configured again."""
        self._close()
        self._release()
        return TransitionCallbackReturn.SUCCESS

    def end(self) -> None:
        """Shut the life cycle down, unless it has ended already."""
        if self.life_state != 'finalized':
            self.trigger_shutdown()

    def _close(self) -> None:
        if self._session is not None:
            self._session.close()

    def _release(self) -> None:
        self._live.cleanup()
        session, self._session = self._session, None
        if session is not None:
            session.destroy()

    def _log_findings(self, findings: Sequence[Finding]) -> None:
        # One line each: rclpy allows one severity per line of code.
        for finding in findings:
            text = clipped(str(finding))
            if finding.severity == 'error':
                self.get_logger().error(text)
            elif finding.severity == 'warning':
                self.get_logger().warning(text)
            else:
                self.get_logger().info(text)

    # -- parameters ------------------------------------------------------------------------------

    def _check_parameters(self, parameters: Sequence[Parameter[Any]]) -> SetParametersResult:
        if self._session is not None and any(
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

    def _tell_unmatched(self) -> None:
        for sentence in self._live.unmatched_overrides():
            self.get_logger().warning(sentence)

    def _tuned_values(
        self, options: BridgeOptions, robot: RobotTransmissions, urdf: Mapping[str, float | bool]
    ) -> dict[str, float]:
        """Return the numbers of ``tuned_file`` that count, and log the others."""
        values: dict[str, float] = {}
        self.tuned_findings = ()
        if options.tuned_file:
            values, self.tuned_findings = TunedFile(options.tuned_file).values(robot, urdf)
            self._log_findings(self.tuned_findings)
        return values

    @contextmanager
    def _keeping(self, values: Mapping[str, float]) -> Iterator[Sequence[str]]:
        """Write numbers to ``tuned_file`` when the block has ended well, if there is one."""
        session = self._session
        if session is None or not session.options.tuned_file:
            yield ()
            return
        urdf = self._live.urdf_values
        changes = {name: (value, float(urdf[name])) for name, value in values.items()}
        with TunedFile(session.options.tuned_file).keeping(changes):
            yield tuple(name for name in values if name in self._live.given)

    def _guard(self, robot: RobotTransmissions) -> None:
        if self._session is not None:
            self._session.check_tuning(robot)

    def _use(self, robot: RobotTransmissions) -> None:
        if self._session is not None:
            self._session.use(robot)

    # -- starting by itself ----------------------------------------------------------------------

    def _description_arrived(self) -> None:
        if self._session is not None:
            self._log.warning(
                'description',
                'another robot_description arrived; it is used at the next configure',
            )
        elif self._autostart:
            self._start_soon()

    def _start_soon(self) -> None:
        self._cancel_start()
        # Not the node's clock: simulated time may stand still.
        self._starter = self.create_timer(0.0, self._start, clock=STEADY)

    def _cancel_start(self) -> None:
        if self._starter is not None:
            self.destroy_timer(self._starter)
            self._starter = None

    def _start(self) -> None:
        """Configure and activate, or log that a description is awaited."""
        # Under load the events executor calls a timer once more that is destroyed by then.
        is_late = self._starter is None
        self._cancel_start()
        if is_late or self._session is not None:
            return
        if not self._description.text:
            self.get_logger().info(
                f'waiting for a description on {self._description.place} or in parameter '
                f'{description_source.PARAMETER}'
            )
        elif self.trigger_configure() == TransitionCallbackReturn.SUCCESS:
            self.trigger_activate()

    def _known_facts(self) -> NodeFacts:
        missing = self.start_missing()
        return NodeFacts(self.life_state, self.failure, self.tuned_findings, missing)

    def start_missing(self) -> str:
        """
        Return a sentence on what a bridge that was never active waits for.

        Empty if it was active before, because somebody stopped it on purpose, and if its start
        failed, because ``failure`` says why.
        """
        state = self.life_state
        if self.failure or self._was_active or state not in ('unconfigured', 'inactive'):
            return ''
        name = self.get_fully_qualified_name()
        absence = '' if self._session or self._description.text else self._description.absence
        if self._autostart:
            return absence
        steps = ('configure', 'activate') if state == 'unconfigured' else ('activate',)
        commands = ', then '.join(f'"ros2 lifecycle set {name} {step}"' for step in steps)
        how = f'nothing has started the bridge: {commands}, or start it with autostart:=true'
        return f'{how}; {absence}' if absence else how
