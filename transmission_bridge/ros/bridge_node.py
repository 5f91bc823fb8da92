# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
The life-cycle node of the bridge: transitions, description and parameters.

``bridge_node`` in ``ros.main`` makes it, and runs it by an executor of one thread: transitions,
services, messages and timers never overlap. Names of parameters, services and states are public; a
session has everything else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
import functools
from functools import partial
import traceback
from typing import Any

from rclpy.lifecycle import LifecycleNode, LifecycleState, TransitionCallbackReturn
from rclpy.parameter import Parameter

from transmission_bridge.bridge import (
    load_untuned_maps,
    warn_of_endless_commands,
    warn_of_implausible_numbers,
    warn_of_other_topics,
)
from transmission_bridge.bridge.options import (
    BridgeOptions,
    HOSTED,
    TunedFile,
    warn_of_unbridged_options,
)
from transmission_bridge.description import Finding
from transmission_bridge.errors import (
    clipped,
    counted,
    DescriptionError,
    MessageError,
    ParameterError,
    shortened,
    shown,
    TransmissionBridgeError,
)
from transmission_bridge.ros import description_source
from transmission_bridge.ros.calibration_services import CalibrationServices
from transmission_bridge.ros.description_source import DescriptionSource
from transmission_bridge.ros.diagnostics import DiagnosticsPublisher, NodeDiagnosticFacts
from transmission_bridge.ros.parameters import (
    accept_integer_parameters,
    declare_options,
    declare_parameter,
    fix_use_sim_time,
    LiveNodeParameters,
    Parameters,
    read_bridge_options,
    reject_parameters,
)
from transmission_bridge.ros.requests import guard_service_requests
from transmission_bridge.ros.session import BridgeNodeSession, STEADY
from transmission_bridge.ros.throttled_log import log_node_text, ThrottledLog
from transmission_bridge.transmissions import RobotTransmissions

# -- Transitions that never lose an error --------------------------------------------------------


Step = Callable[[Any, LifecycleState], TransitionCallbackReturn]

#: State after each step, with success and with failure (design.ros2.org, *Managed nodes*).
_STATES = {
    'configure': ('inactive', 'unconfigured'),
    'activate': ('active', 'inactive'),
    'deactivate': ('inactive', 'active'),
    'cleanup': ('unconfigured', 'inactive'),
    'shutdown': ('finalized', 'finalized'),
    'error': ('unconfigured', 'finalized'),
}

#: Steps that clear an earlier failure if they succeed.
_ENDING_FAILURE = ('configure', 'activate', 'shutdown')


def guard_transition(step: Step) -> Step:
    """
    Decorate a life-cycle callback: a mistake of the user is FAILURE, a bug is ERROR.

    Both are logged with their reason, because rclpy discards exceptions of these callbacks. The
    node keeps the reason as ``failure`` until it is configured or activated, and the new state as
    ``life_state``, because rclpy has no public access to its own. Nothing else writes these two.
    The name of the callback is ``on_`` and a key of ``_STATES``.
    """

    @functools.wraps(step)
    def guarded_step(self: Any, state: LifecycleState) -> TransitionCallbackReturn:
        name = step.__name__.removeprefix('on_')
        try:
            result = step(self, state)
        except TransmissionBridgeError as error:
            result = TransitionCallbackReturn.FAILURE
            self.failure = f'{name} failed: {error}'
            self.get_logger().error(self.failure)
        except Exception as error:  # rclpy's own handler would discard it
            result = TransitionCallbackReturn.ERROR
            self.failure = f'bug in {name}, see the log: {error!r}'
            self.get_logger().error(f'bug in {name}:\n{traceback.format_exc()}')
        success, failure = _STATES[name]
        if result == TransitionCallbackReturn.SUCCESS:
            self.life_state = success
            if name in _ENDING_FAILURE:
                self.failure = ''
        elif result == TransitionCallbackReturn.FAILURE or name == 'error':
            self.life_state = failure
        return result

    return guarded_step


#: Longest wait at configure for a description that is latched [s].
_DISCOVERY = 1.0

#: Options that follow from hosted drivers.
_HOSTED = ('actuator_state_topics', 'actuator_names', 'wrap_period')


# -- The node ------------------------------------------------------------------------------------


class TransmissionBridge(LifecycleNode):
    """
    Republishes actuator states as joint states and joint commands as actuator commands.

    :param autostart: Default of the parameter ``autostart``.
    :param kwargs: Arguments of :class:`rclpy.node.Node`, for example ``namespace`` or
        ``parameter_overrides``.
    :ivar life_state: ``unconfigured``, ``inactive``, ``active`` or ``finalized``; changes at the
        end of each transition.
    :ivar failure: Reason why the last transition failed, until it is configured or activated.
    :ivar tuned_findings: Numbers of ``tuned_file`` that were rejected at configure.
    :raises ParameterError: If a parameter has a value of the wrong type.
    """

    def __init__(self, *, autostart: bool = False, **kwargs: Any) -> None:
        super().__init__('transmission_bridge', **kwargs)
        fix_use_sim_time(self)
        self._log = ThrottledLog(self)
        self._session: BridgeNodeSession | None = None
        self.life_state = 'unconfigured'
        self.failure = ''
        #: Whether it was active once; written at activation, see _explain_waiting.
        self._was_active = False
        declare_options(self)
        text = 'Whether the node configures and activates itself when it has a description.'
        declare_parameter(self, 'autostart', autostart, text, read_only=True)
        self._autostart = bool(self.get_parameter('autostart').value)
        self._live = LiveNodeParameters(self, self._use_tuned_maps, self._check_tuned_maps)
        self._description = DescriptionSource(self, self._handle_description)
        self.tuned_findings: tuple[Finding, ...] = ()
        #: Warnings about the present numbers, which were logged.
        self._implausible: tuple[Finding, ...] = ()
        self._calibration = CalibrationServices(self, lambda: self._session, self._store_numbers)
        self._diagnostics = DiagnosticsPublisher(self, self.list_facts, self._log)
        accept_integer_parameters(self)
        reject_parameters(self, self._check_bridge_parameters)
        self.add_post_set_parameters_callback(self._apply_bridge_parameters)
        # After the last service.
        guard_service_requests(self, self._live.apply_together)
        self._warn_of_unmatched()
        #: The timer of the next automatic start, ``None``: none.
        self._starter: Any = None
        if self._autostart:
            self._start_soon()

    # -- life cycle ------------------------------------------------------------------------------

    @guard_transition
    def on_configure(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Read the description, load the plugins, declare the parameters, create the topics."""
        if not self._description.urdf:
            self._description.wait_for_message(_DISCOVERY)
        text = self._description.urdf
        if not text:
            raise DescriptionError(self._description.absence)
        options = read_bridge_options(self)
        robot = load_untuned_maps(description_source.read_description_text(text), options)
        self._log_findings(finding for finding in robot.findings if finding.severity != 'info')
        self._log_findings(warn_of_endless_commands(robot.description, options.command_timeout))
        self._log_findings(warn_of_unbridged_options(options, robot.lost_actuators))
        if not robot.joint_names:
            errors = [str(finding) for finding in robot.findings if finding.severity == 'error']
            raise DescriptionError(
                f'nothing to bridge in robot {shown(robot.description.name)} '
                f'({self._description.origin}): no usable transmission, and no joint to pass '
                'through' + (f'; {shortened(errors, 1, show=str)}' if errors else '')
            )
        try:
            tuned = self._live.declare_tunables(robot, partial(self._read_tuned, options, robot))
            self._implausible = ()
            self._warn_of_numbers(tuned)
            session = BridgeNodeSession(self, tuned, options, self._log)
            blocks = {driver.host.hardware.name for driver in session.hosted}
            for name in _HOSTED if blocks else ():
                # rclpy undeclares no read-only parameter, so its changes are rejected below.
                text = f'The value of {name} with the drivers in the node. Read only.'
                declare_parameter(self, HOSTED + name, [*getattr(session.options, name)], text)
            self._session = session
            # Parameters of a hosted driver are not left over.
            specs = robot.description.transmissions
            hosted = [spec.name for spec in specs if spec.block in blocks]
            infos = [finding for finding in robot.findings if finding.severity == 'info']
            self._log_findings(info for info in infos if info.subject not in hosted)
            self._log_findings(warn_of_other_topics(robot.description, self.resolve_topic_name))
        except BaseException:
            self._release_session()
            raise
        self._warn_of_unmatched()
        self.get_logger().info(
            f'robot {shown(robot.description.name)}: {counted(len(robot.joint_names), "joint")}, '
            f'{counted(len(robot.actuator_names), "actuator")}, '
            f'{counted(len(robot.transmissions), "transmission")}, '
            f'{counted(len(robot.pass_through), "joint")} passed through'
        )
        return TransitionCallbackReturn.SUCCESS

    @guard_transition
    def on_activate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Activate the publishers, then open the session."""
        result = super().on_activate(state)
        if self._session is not None and result == TransitionCallbackReturn.SUCCESS:
            try:
                self._session.open_session()
            except BaseException:
                super().on_deactivate(state)
                raise
            self._was_active = True
            self.get_logger().info(clipped(f'active: {self._session.endpoints}'))
        return result

    @guard_transition
    def on_deactivate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Send the last commands (``on_stop``), then stop publishing."""
        if self._session is not None:
            self._session.close_session()
        return super().on_deactivate(state)

    @guard_transition
    def on_cleanup(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Remove the topics and the parameters of the transmissions."""
        self._release_session()
        return super().on_cleanup(state)

    @guard_transition
    def on_shutdown(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Stop and release everything, from any state, and end autostart."""
        self._autostart = False
        self._cancel_start()
        self._release_session()
        return super().on_shutdown(state)

    @guard_transition
    def on_error(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Release everything; the unconfigured node can be configured again."""
        self._release_session()
        return TransitionCallbackReturn.SUCCESS

    def shut_down(self) -> None:
        """Shut the life cycle down, unless it is finalized; the program calls it at its end."""
        if self.life_state != 'finalized':
            self.trigger_shutdown()

    def _release_session(self) -> None:
        """Stop and remove the session, and the parameters that it has declared."""
        if self._session is not None:
            self._session.close_session()
        self._live.undeclare_tunables()
        for name in _HOSTED:
            if self.has_parameter(HOSTED + name):
                self.undeclare_parameter(HOSTED + name)
        session, self._session = self._session, None
        if session is not None:
            session.destroy_session()

    def _log_findings(self, findings: Iterable[Finding]) -> None:
        for finding in findings:
            log_node_text(self, finding.severity, str(finding))

    # -- parameters ------------------------------------------------------------------------------

    def _check_bridge_parameters(self, parameters: Parameters) -> None:
        for parameter in parameters if self._session is not None else ():
            if parameter.name.startswith(HOSTED):
                raise ParameterError('the parameter is read only')
            if parameter.name == description_source.PARAMETER:
                reason = 'robot_description can be set only while the node is unconfigured: '
                raise ParameterError(reason + 'deactivate and clean up the node first')
        self._live.check_values(parameters)

    def _apply_bridge_parameters(self, parameters: Parameters) -> None:
        self._live.commit_values(parameters)
        if any(parameter.name == description_source.PARAMETER for parameter in parameters):
            self._handle_description()

    def _warn_of_unmatched(self) -> None:
        for sentence in self._live.describe_unmatched_overrides():
            self.get_logger().warning(sentence)

    def _read_tuned(
        self, options: BridgeOptions, robot: RobotTransmissions, given: Mapping[str, float | bool]
    ) -> dict[str, float]:
        """Return the valid numbers of ``tuned_file``, and log the others."""
        values: dict[str, float] = {}
        self.tuned_findings = ()
        if options.tuned_file:
            file = TunedFile(options.tuned_file, self.get_fully_qualified_name())
            values, self.tuned_findings = file.read_tuned_numbers(robot, given)
            self._log_findings(self.tuned_findings)
        return values

    @contextmanager
    def _store_numbers(self, changes: Mapping[str, float]) -> Iterator[str]:
        """
        Set numbers at once, and keep them if the block succeeds.

        :returns: What is stored, in a sentence.
        :raises TransmissionBridgeError: If they cannot be set or kept.
        """
        session = self._session
        keeping: AbstractContextManager[str] = nullcontext(
            'not stored for the next start, because tuned_file is empty'
        )
        if session is not None and session.options.tuned_file:
            file = TunedFile(session.options.tuned_file, self.get_fully_qualified_name())
            keeping = file.keep_numbers(session.robot, changes, self._live.given)
        with keeping as stored:
            result = self.set_parameters_atomically(
                [Parameter(name, value=value) for name, value in changes.items()]
            )
            if not result.successful:
                raise MessageError('refused', result.reason)
            yield stored

    def _check_tuned_maps(self, robot: RobotTransmissions) -> None:
        if self._session is not None and self._session.is_open:
            self._session.bridge.guard_tuning(robot, self._session.time())

    def _use_tuned_maps(self, robot: RobotTransmissions) -> None:
        if self._session is not None:
            self._session.replace_maps(robot)
            self._warn_of_numbers(robot)

    def _warn_of_numbers(self, robot: RobotTransmissions) -> None:
        """Log the implausible numbers that were not logged before."""
        before, self._implausible = self._implausible, warn_of_implausible_numbers(robot)
        self._log_findings([finding for finding in self._implausible if finding not in before])

    # -- autostart -------------------------------------------------------------------------------

    def _handle_description(self) -> None:
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
        if not self._description.urdf:
            self.get_logger().info(
                f'waiting for a description on {self._description.origin} or in parameter '
                f'{description_source.PARAMETER}'
            )
        elif self.trigger_configure() == TransitionCallbackReturn.SUCCESS:
            self.trigger_activate()

    def list_facts(self) -> NodeDiagnosticFacts:
        """Return the facts about the node itself; the publisher of diagnostics calls it."""
        waiting, origin = self._explain_waiting(), self._description.origin
        about = self.life_state, self.failure, self.tuned_findings, waiting, origin
        return NodeDiagnosticFacts(*about, self._session)

    def _explain_waiting(self) -> str:
        """
        Explain in one sentence why the bridge was never active.

        Empty if it was active before, because it was stopped on purpose, and if its start failed,
        because ``failure`` has the reason.
        """
        state = self.life_state
        if self.failure or self._was_active or state not in ('unconfigured', 'inactive'):
            return ''
        name = self.get_fully_qualified_name()
        absence = '' if self._session or self._description.urdf else self._description.absence
        if self._autostart:
            return absence
        steps = ('configure', 'activate') if state == 'unconfigured' else ('activate',)
        commands = ', then '.join(f'"ros2 lifecycle set {name} {step}"' for step in steps)
        how = f'nothing has started the bridge: {commands}, or start it with autostart:=true'
        return f'{how}; {absence}' if absence else how
