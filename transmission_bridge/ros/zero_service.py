# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
Set offsets from the present actuator positions, by the services ``~/zero`` and others.

``~/zero`` sets the offsets so that the present actuator positions correspond to the target joint
positions. ``~/zero_from_absolute`` uses the joints' absolute encoders as target positions. The
offsets are set as parameters, atomically, so that other nodes are notified and ``ros2 param dump``
saves them, and written to ``tuned_file``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, TypeAlias

import numpy as np
from rcl_interfaces.msg import ParameterDescriptor, SetParametersResult
from rclpy.lifecycle import LifecycleNode
from rclpy.parameter import Parameter
from std_srvs.srv import Trigger

from transmission_bridge.bridge.options import PREFIX, Range
from transmission_bridge.bridge.zeroing import (
    compute_absolute_targets,
    compute_zero_offsets,
    list_settled_joints,
    list_wanted_positions,
    MAX_AGE,
)
from transmission_bridge.errors import (
    make_option_error,
    MessageError,
    ParameterError,
    TransmissionBridgeError,
)
from transmission_bridge.ros.parameters import convert_exactly, Parameters
from transmission_bridge.ros.session import BridgeSession
from transmission_bridge.ros.store_service import explain_refusal, read_fresh_state, Store

_JOINTS, _POSITIONS = 'zero_joints', 'zero_positions'

_DESCRIPTIONS = {
    _JOINTS: 'Joints for ~/zero and ~/zero_from_absolute, in a linkage the joints with actuators; '
    'empty: all joints with an offset (and an absolute encoder).',
    _POSITIONS: 'Positions of these joints after ~/zero [rad or m]; empty: zero for each.',
}

_TYPES = {
    _JOINTS: Parameter.Type.STRING_ARRAY,
    _POSITIONS: Parameter.Type.DOUBLE_ARRAY,
}

_POSITION_RANGE = Range(-1e6, 1e6)

#: Returns the target position [rad or m] of each joint, at a time [s].
Wanted: TypeAlias = Callable[[BridgeSession, float], dict[str, float]]


class ZeroService:
    """
    The two services and their two parameters, which can be set at any time.

    :param node: The node of the services.
    :param session: Returns the present session, ``None`` while unconfigured.
    :param store: Sets and keeps offsets.
    :raises ParameterError: If a given value is invalid.
    """

    def __init__(
        self, node: LifecycleNode, session: Callable[[], BridgeSession | None], store: Store
    ) -> None:
        self._node = node
        self._session = session
        self._store = store
        for name, description in _DESCRIPTIONS.items():
            # An empty list has no type in YAML, so the type must be dynamic.
            descriptor = ParameterDescriptor(
                description=description,
                additional_constraints=f'Range: {_POSITION_RANGE}' if name == _POSITIONS else '',
                dynamic_typing=True,
            )
            value = _check_list(name, node.declare_parameter(name, None, descriptor).value)
            # A dump of a parameter without a value could not be loaded.
            node.set_parameters([Parameter(name, _TYPES[name], list(value))])
        node.add_on_set_parameters_callback(self._check_zero_parameters)
        self._services = [
            node.create_service(Trigger, name, partial(self._serve_zero, name, wanted))
            for name, wanted in (
                ('~/zero', self._read_given_targets),
                ('~/zero_from_absolute', self._read_absolute_targets),
            )
        ]

    def _check_zero_parameters(self, parameters: Parameters) -> SetParametersResult:
        try:
            for parameter in parameters:
                if parameter.name in _DESCRIPTIONS:
                    _check_list(parameter.name, parameter.value)
                    if parameter.type_ == Parameter.Type.NOT_SET:
                        # rclpy would undeclare a parameter with a dynamic type.
                        return SetParametersResult(
                            successful=False,
                            reason=f'{parameter.name} cannot be deleted; set it to an empty list',
                        )
        except ParameterError as error:
            return SetParametersResult(successful=False, reason=str(error))
        return SetParametersResult(successful=True)

    def _serve_zero(
        self, name: str, wanted: Wanted, request: Trigger.Request, response: Trigger.Response
    ) -> Trigger.Response:
        try:
            response.message = self._set_offsets(wanted)
            response.success = True
        except TransmissionBridgeError as error:
            call = f'{name.lstrip("~")} std_srvs/srv/Trigger'
            response.message = explain_refusal(self._node, error, call)
            response.success = False
        return response

    def _read_given_targets(self, session: BridgeSession, now: float) -> dict[str, float]:
        return list_wanted_positions(
            session.robot, self._get_list(_JOINTS), self._get_list(_POSITIONS)
        )

    def _read_absolute_targets(self, session: BridgeSession, now: float) -> dict[str, float]:
        absolute = session.read_absolute_positions(now, MAX_AGE)
        return compute_absolute_targets(session.robot, self._get_list(_JOINTS), absolute)

    def _set_offsets(self, wanted: Wanted) -> str:
        """
        Set the offsets, and return a sentence with old and new values, and what is stored.

        :raises MessageError: If they cannot be set; nothing has changed.
        """
        session, now, values = read_fresh_state(self._session())
        targets = wanted(session, now)
        # If a turn is unknown, use the closest one; an offset compensates a larger difference.
        states, encoders = session.states, session.bridge.plan.state_map.encoders
        turned = states.compute_nearest_turns(targets, now, MAX_AGE)
        is_open = np.isfinite(turned)
        np.copyto(values[0], turned, where=is_open)
        settled: tuple[str, ...] = ()
        if encoders is not None:
            travels = encoders.travels
            settled = list_settled_joints(session.robot, targets, values[0], is_open, travels)
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
                raise MessageError(
                    'no_parameter',
                    f"'{name}', the offset of {change.member_name}, cannot be "
                    'a parameter; see the warning at configure',
                )
        with self._store({name: change.new for name, change in offsets.items()}) as stored:
            states.settle_turns(turned)
        return '; '.join([*kept, *map(str, changes), stored])

    def _get_list(self, name: str) -> tuple[Any, ...]:
        return _check_list(name, self._node.get_parameter(name).value)


def _check_list(name: str, value: Any) -> tuple[Any, ...]:
    """
    Return the value of a parameter as a tuple, empty without a value; integers become floats.

    :raises ParameterError: If it has the wrong type, or a number is out of range.
    """
    values = () if value is None else value
    kinds, words = ((str,), 'texts') if name == _JOINTS else ((float, int), 'numbers')
    if (
        isinstance(values, (str, bytes))
        or not isinstance(values, Sequence)
        or not all(type(each) in kinds for each in values)
    ):
        raise make_option_error(name, f'a list of {words}', value)
    if name == _JOINTS:
        return tuple(values)
    numbers = tuple(convert_exactly(name, each) for each in values)
    for number in numbers:
        _POSITION_RANGE.check_option(name, number)
    return numbers
