# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
Set numbers of transmissions and keep them, by the service ``~/store_numbers``.

``~/zero`` has the same conditions: an active bridge, fresh states, and joints at rest.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
import math
from typing import Any, TypeAlias

import numpy as np
from rcl_interfaces.srv import SetParametersAtomically
from rclpy.lifecycle import LifecycleNode
from rclpy.parameter import parameter_value_to_python

from transmission_bridge.bridge.options import list_parameter_names
from transmission_bridge.bridge.zeroing import check_at_rest, MAX_AGE
from transmission_bridge.errors import (
    MessageError,
    ParameterError,
    shortened,
    TransmissionBridgeError,
)
from transmission_bridge.ros.parameters import check_type
from transmission_bridge.ros.session import BridgeSession
from transmission_bridge.types import Array

#: Context that sets numbers by parameter, and writes them for the next start if its block
#: succeeds. It returns a sentence about what is stored.
Store: TypeAlias = Callable[[Mapping[str, float]], AbstractContextManager[str]]


class StoreService:
    """
    The service.

    :param node: The node of the service.
    :param session: Returns the present session, ``None`` while unconfigured.
    :param store: Sets and keeps numbers.
    """

    def __init__(
        self, node: LifecycleNode, session: Callable[[], BridgeSession | None], store: Store
    ) -> None:
        self._node = node
        self._session = session
        self._store = store
        self._service = node.create_service(
            SetParametersAtomically, '~/store_numbers', self._serve
        )

    def _serve(self, request: Any, response: Any) -> Any:
        try:
            response.result.reason = self._store_numbers(request.parameters)
            response.result.successful = True
        except TransmissionBridgeError as error:
            call = '/store_numbers rcl_interfaces/srv/SetParametersAtomically ...'
            response.result.reason = explain_refusal(self._node, error, call)
        return response

    def _store_numbers(self, parameters: Sequence[Any]) -> str:
        """
        Set numbers, and return a sentence about what is stored.

        :param parameters: Messages ``rcl_interfaces/Parameter``.
        :raises TransmissionBridgeError: If they cannot be set or kept, a driver has sent no state,
            or a joint of one of the transmissions moves or holds a position; nothing has changed.
        """
        session, now, actuators = read_fresh_state(self._session())
        tunables = list_parameter_names(session.robot).tunables
        numbers = {name: each for name, each in tunables.items() if not each.is_flag}
        others = [each.name for each in parameters if each.name not in numbers]
        if others or not parameters:
            raise ParameterError(
                'the list of ~/store_numbers cannot be accepted',
                expected='numbers of transmissions',
                found=shortened(others) or 'an empty list',
            )
        values: dict[str, float] = {}
        for each in parameters:
            value = check_type(each.name, parameter_value_to_python(each.value), 0.0)
            values[each.name] = numbers[each.name].check_value(value)
        concerned = {numbers[name].transmission for name in values}
        bindings = [each for each in session.robot.bindings if each.spec.name in concerned]
        # Positions may be unknown, because a wrong number can be the reason.
        ages = session.states.compute_ages(now)[0]
        for place in (place for binding in bindings for place in binding.actuators):
            if not math.isfinite(ages[place]):
                name = session.robot.actuator_names[place]
                raise MessageError('unknown', f'no state of {name} was received')
        check_at_rest(
            session.robot,
            [session.robot.joint_names[place] for each in bindings for place in each.joints],
            actuators,
            held=session.gate.ledger.mask_position_joints(),
            max_velocity=session.options.zero_max_velocity,
        )
        with self._store(values) as stored:
            return stored


def read_fresh_state(session: BridgeSession | None) -> tuple[BridgeSession, float, Array]:
    """
    Return the session, the time [s], and the actuators' values; too old positions are unknown.

    :raises MessageError: If the session is not open (``inactive``), or a driver is stale
        (``stale``).
    """
    if session is None or not session.is_open:
        raise MessageError('inactive', 'the bridge is not active')
    now = session.time()
    _check_driver_ages(session, now)
    return session, now, _read_fresh_values(session, now)


def explain_refusal(node: LifecycleNode, error: TransmissionBridgeError, call: str) -> str:
    """
    Return the error in words, and for a held position the commands that cancel it.

    :param call: The service behind the name of the node, with its type.
    """
    if getattr(error, 'reason', '') != 'held':
        return str(error)
    name = node.get_fully_qualified_name()
    return (
        f'{error}: stop the node that commands it, then "ros2 lifecycle set {name} deactivate", '
        f'"ros2 lifecycle set {name} activate", and after the first state of the driver '
        f'"ros2 service call {name}{call}" (without ros2: end the bridge and start it '
        'again with -p autostart:=true)'
    )


def _check_driver_ages(session: BridgeSession, now: float) -> None:
    """
    Check the age of the states of each driver, even without a ``state_timeout``.

    :raises MessageError: If a driver is stale.
    """
    for topic in session.state_topics:
        age = now - session.inputs.statistics[topic].used
        if age < 0.0:
            raise MessageError(
                'stale', f'{topic} is stale: no usable message since time went backwards'
            )
        if MAX_AGE < age < math.inf:
            raise MessageError(
                'stale',
                f'{topic} is stale: no usable message for {age:.1f} s, expected {MAX_AGE:g} s at '
                'most',
            )


def _read_fresh_values(session: BridgeSession, now: float) -> Array:
    """
    Return the actuators' values; positions that are too old are unknown.

    One of several drivers on a topic may be stale while the topic is not.
    """
    states = session.states
    values: Array = states.read_values(now).copy()
    values[0, states.compute_ages(now)[0] > MAX_AGE] = math.nan
    # A driver may send no velocities.
    np.copyto(values[1], states.estimate_speeds(now), where=np.isnan(values[1]))
    return values
