# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
Services that set numbers of transmissions and keep them.

``~/zero`` sets the offsets so that the present actuator positions correspond to the target joint
positions. ``~/zero_from_absolute`` uses the joints' absolute encoders as target positions.
``~/store_numbers`` sets given numbers. Each needs an active bridge, fresh states, and joints at
rest. The numbers are set as parameters, atomically, so that other nodes are notified and
``ros2 param dump`` saves them, and written to ``tuned_file``.

A node makes the services before it guards its requests. Each request runs as a whole in the thread
of the node, so that no message comes between reading states and setting numbers. Names of services
and parameters are public; their answers are sentences, which may change.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from functools import partial
import math
from typing import Any, TypeAlias

import numpy as np
from rcl_interfaces.srv import SetParametersAtomically
from rclpy.lifecycle import LifecycleNode
from rclpy.parameter import parameter_value_to_python
from std_srvs.srv import Trigger

from transmission_bridge.bridge import (
    check_zero_at_rest,
    compute_absolute_zeros,
    compute_zero_offsets,
    list_joints_at_zero,
    list_zero_positions,
)
from transmission_bridge.bridge.options import list_parameter_names, OptionRange, PREFIX
from transmission_bridge.errors import (
    MessageError,
    ParameterError,
    shortened,
    TransmissionBridgeError,
)
from transmission_bridge.ros.channels import ABSOLUTE
from transmission_bridge.ros.parameters import (
    check_parameter,
    declare_parameter,
    Parameters,
    reject_parameters,
)
from transmission_bridge.ros.session import BridgeNodeSession
from transmission_bridge.types import Array

#: Largest age of a state of which the services use the numbers [s].
MAX_AGE = 5.0

_JOINTS, _POSITIONS = 'zero_joints', 'zero_positions'
_ZERO, _FROM_ABSOLUTE = '/zero', '/zero_from_absolute'

_POSITION_RANGE = OptionRange(-1e6, 1e6)

#: Context that sets numbers by parameter, and writes them for the next start if its block
#: succeeds. It returns a sentence about what is stored.
Store: TypeAlias = Callable[[Mapping[str, float]], AbstractContextManager[str]]


def check_positions(parameters: Parameters) -> None:
    """
    Check ``zero_positions`` among parameters.

    :raises ParameterError: If a number is out of range.
    """
    for parameter in parameters:
        for number in parameter.value if parameter.name == _POSITIONS else ():
            _POSITION_RANGE.check_option(_POSITIONS, number)


class CalibrationServices:
    """
    The three services, and the two parameters of ``~/zero``, which can be set at any time.

    :param node: The node of the services.
    :param session: Returns the present session, ``None`` while unconfigured.
    :param store: Sets and keeps numbers.
    :raises ParameterError: If a given value is invalid.
    """

    def __init__(
        self, node: LifecycleNode, session: Callable[[], BridgeNodeSession | None], store: Store
    ) -> None:
        self._node, self._session, self._store = node, session, store
        text = (
            'Joints for ~/zero and ~/zero_from_absolute, in a linkage the joints with actuators; '
            'empty: all joints with an offset (and an absolute encoder).'
        )
        declare_parameter(node, _JOINTS, [], text)
        text = 'Positions of these joints after ~/zero [rad or m]; empty: zero for each.'
        allowed = f'Range: {_POSITION_RANGE}'
        declare_parameter(node, _POSITIONS, (), text, additional_constraints=allowed)
        check_positions(node.get_parameters([_POSITIONS]))
        reject_parameters(node, check_positions)
        for name in (_ZERO, _FROM_ABSOLUTE):
            node.create_service(Trigger, f'~{name}', partial(self._serve_zero, name))
        node.create_service(SetParametersAtomically, '~/store_numbers', self._serve_numbers)

    # -- requests --------------------------------------------------------------------------------

    def _serve_zero(
        self, name: str, request: Trigger.Request, response: Trigger.Response
    ) -> Trigger.Response:
        act = partial(self._set_offsets, from_absolute=name == _FROM_ABSOLUTE)
        answer = self._answer_request(act, f'{name} std_srvs/srv/Trigger')
        response.success, response.message = answer
        return response

    def _serve_numbers(self, request: Any, response: Any) -> Any:
        act = partial(self._store_numbers, request.parameters)
        call = '/store_numbers rcl_interfaces/srv/SetParametersAtomically ...'
        response.result.successful, response.result.reason = self._answer_request(act, call)
        return response

    def _answer_request(self, act: Callable[[], str], call: str) -> tuple[bool, str]:
        """
        Return whether an act succeeds, and its result or the reason.

        The reason for a held position has the commands that cancel it.

        :param call: The service behind the name of the node, with its type.
        """
        try:
            return True, act()
        except TransmissionBridgeError as error:
            if getattr(error, 'reason', '') != 'held':
                return False, str(error)
            name = self._node.get_fully_qualified_name()
            return False, (
                f'{error}: stop the node that commands it, then "ros2 lifecycle set {name} '
                f'deactivate", "ros2 lifecycle set {name} activate", and after the first state of '
                f'the driver "ros2 service call {name}{call}" (without ros2: end the bridge and '
                'start it again with -p autostart:=true)'
            )

    def _read_fresh_state(self) -> tuple[BridgeNodeSession, float, Array]:
        """
        Return the session, the time [s], and the actuators' values; too old positions are unknown.

        The age of each driver counts even without a ``state_timeout``. One of several drivers on a
        topic may be stale while the topic is not.

        :raises MessageError: If the session is not open (``inactive``), or a driver is stale
            (``stale``).
        """
        session = self._session()
        if session is None or not session.is_open:
            raise MessageError('inactive', 'the bridge is not active')
        now, states = session.time(), session.states
        for topic in session.state_topics:
            age, words = now - session.inputs.statistics[topic].used, ''
            if age < 0.0:
                words = 'since time went backwards'
            elif MAX_AGE < age < math.inf:
                words = f'for {age:.1f} s, expected {MAX_AGE:g} s at most'
            if words:
                raise MessageError('stale', f'{topic} is stale: no usable message {words}')
        values: Array = states.read_values(now).copy()
        values[0, states.compute_ages(now)[0] > MAX_AGE] = math.nan
        # A driver may send no velocities.
        np.copyto(values[1], states.pace.estimate_speeds(now), where=np.isnan(values[1]))
        return session, now, values

    # -- zero ------------------------------------------------------------------------------------

    def _set_offsets(self, *, from_absolute: bool) -> str:
        """
        Set the offsets, and return a sentence with old and new values, and what is stored.

        :raises MessageError: If they cannot be set; nothing has changed.
        """
        session, now, values = self._read_fresh_state()
        lists = self._node.get_parameters([_JOINTS, _POSITIONS])
        joints, positions = (tuple(parameter.value) for parameter in lists)
        if from_absolute:
            path = session.sensors[ABSOLUTE]
            absolute = path.find_joint_values(session.states.read_values(now)[0], now, MAX_AGE)
            targets = compute_absolute_zeros(session.robot, joints, absolute)
        else:
            targets = list_zero_positions(session.robot, joints, positions)
        # If a turn is unknown, use the closest one; an offset compensates a larger difference.
        states, encoders = session.states, session.bridge.plan.state_map.encoders
        turned = states.compute_nearest_turns(targets, now, MAX_AGE)
        is_open = np.isfinite(turned)
        np.copyto(values[0], turned, where=is_open)
        settled: tuple[str, ...] = ()
        if encoders is not None:
            travels = encoders.travels
            settled = list_joints_at_zero(session.robot, targets, values[0], is_open, travels)
        changes = compute_zero_offsets(
            session.robot,
            targets,
            values,
            held=session.gate.ledger.mask_position_joints(),
            max_velocity=session.options.zero_max_velocity,
            settled=settled,
        )
        kept = [f'{joint}: the turn is known, its offset is kept' for joint in settled]
        if not changes:
            states.settle_turns(turned)
            return '; '.join(kept)
        offsets = {PREFIX + change.tunable.name: change for change in changes}
        for name, change in offsets.items():
            if not self._node.has_parameter(name):
                what = f"'{name}', the offset of {change.tunable.path[1]}, cannot be a parameter"
                raise MessageError('no_parameter', f'{what}; see the warning at configure')
        with self._store({name: change.new for name, change in offsets.items()}) as stored:
            states.settle_turns(turned)
        return '; '.join([*kept, *map(str, changes), stored])

    # -- store_numbers ---------------------------------------------------------------------------

    def _store_numbers(self, parameters: Sequence[Any]) -> str:
        """
        Set numbers, and return a sentence about what is stored.

        :param parameters: Messages ``rcl_interfaces/Parameter``.
        :raises TransmissionBridgeError: If they cannot be set or kept, a driver has sent no state,
            or a joint of one of the transmissions moves or holds a position; nothing has changed.
        """
        session, now, actuators = self._read_fresh_state()
        tunables = list_parameter_names(session.robot).tunables
        numbers = {name: tunable for name, tunable in tunables.items() if not tunable.is_flag}
        others = [parameter.name for parameter in parameters if parameter.name not in numbers]
        if others or not parameters:
            raise ParameterError(
                'the list of ~/store_numbers cannot be accepted',
                expected='numbers of transmissions',
                found=shortened(others) or 'an empty list',
            )
        values: dict[str, float] = {}
        for parameter in parameters:
            value = check_parameter(
                parameter.name, parameter_value_to_python(parameter.value), 0.0
            )
            values[parameter.name] = numbers[parameter.name].check_value(value)
        concerned = {numbers[name].transmission for name in values}
        robot = session.robot
        bindings = [binding for binding in robot.bindings if binding.spec.name in concerned]
        # Positions may be unknown, because a wrong number can be the reason.
        ages = session.states.compute_ages(now)[0]
        for actuator in (index for binding in bindings for index in binding.actuators):
            if not math.isfinite(ages[actuator]):
                name = robot.actuator_names[actuator]
                raise MessageError('unknown', f'no state of {name} was received')
        check_zero_at_rest(
            robot,
            [robot.joint_names[joint] for binding in bindings for joint in binding.joints],
            actuators,
            held=session.gate.ledger.mask_position_joints(),
            max_velocity=session.options.zero_max_velocity,
        )
        with self._store(values) as stored:
            return stored
