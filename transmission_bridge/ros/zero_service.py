# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
``~/zero`` sets offsets such that the present actuator positions mean wanted joint positions.

``~/zero_from_absolute`` takes these positions from the joints' absolute encoders. The offsets are
set as parameters, atomically, so that others are notified and ``ros2 param dump`` saves them, and
written to ``tuned_file``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from functools import partial
import math
from typing import Any, TypeAlias

from lifecycle_msgs.msg import Transition
from rcl_interfaces.msg import ParameterDescriptor, SetParametersResult
from rclpy.lifecycle import LifecycleNode
from rclpy.parameter import Parameter
from std_srvs.srv import Trigger

from transmission_bridge.bridge.homing import find_absolute_targets
from transmission_bridge.bridge.options import PREFIX, Range
from transmission_bridge.bridge.zeroing import find_wanted_positions, find_zero_offsets
from transmission_bridge.errors import (
    MessageError,
    ParameterError,
    shortened,
    TransmissionBridgeError,
)
from transmission_bridge.ros.parameters import exact_number
from transmission_bridge.ros.session import Session
from transmission_bridge.types import Array

_JOINTS, _POSITIONS = 'zero_joints', 'zero_positions'

_DESCRIPTIONS = {
    _JOINTS: 'Joints whose offset ~/zero or ~/zero_from_absolute sets, of a linkage those of its '
    'actuators; empty: all that have one (and an absolute encoder).',
    _POSITIONS: 'Positions [rad or m] that these joints have after ~/zero; empty: zero for each.',
}

_TYPES = {
    _JOINTS: Parameter.Type.STRING_ARRAY,
    _POSITIONS: Parameter.Type.DOUBLE_ARRAY,
}

_POSITION_RANGE = Range(-1e6, 1e6)

#: Returns the position [rad or m] that each joint is to have, at a time [s].
Wanted: TypeAlias = Callable[[Session, float], dict[str, float]]


class ZeroService:
    """
    The two services and their two parameters, which can be set at any time.

    :param node: The node that they belong to.
    :param session: Returns the present session, ``None`` while unconfigured.
    :param keep: Keeps numbers for the next start when a block has ended well; takes their values
        by parameter, and returns which of them the parameter file will override.
    :raises ParameterError: If a parameter was given a value that cannot be accepted.
    """

    def __init__(
        self,
        node: LifecycleNode,
        session: Callable[[], Session | None],
        keep: Callable[[Mapping[str, float]], AbstractContextManager[Sequence[str]]],
    ) -> None:
        self._node = node
        self._session = session
        self._keep = keep
        for name, description in _DESCRIPTIONS.items():
            # An empty list has no type of its own in YAML, so the type must be left open.
            descriptor = ParameterDescriptor(
                description=description,
                additional_constraints=f'Range: {_POSITION_RANGE}' if name == _POSITIONS else '',
                dynamic_typing=True,
            )
            value = _checked(name, node.declare_parameter(name, None, descriptor).value)
            # One without a value is dumped as a word that cannot be loaded again.
            node.set_parameters([Parameter(name, _TYPES[name], list(value))])
        node.add_on_set_parameters_callback(self._check_parameters)
        self._services = [
            node.create_service(Trigger, name, partial(self._serve, name, wanted))
            for name, wanted in (
                ('~/zero', self._given_positions),
                ('~/zero_from_absolute', self._absolute_positions),
            )
        ]

    def _check_parameters(self, parameters: Sequence[Parameter[Any]]) -> SetParametersResult:
        try:
            for parameter in parameters:
                if parameter.name in _DESCRIPTIONS:
                    _checked(parameter.name, parameter.value)
                    if parameter.type_ == Parameter.Type.NOT_SET:
                        # rclpy undeclares what is open in its type: it would be gone.
                        return SetParametersResult(
                            successful=False,
                            reason=f'{parameter.name} cannot be deleted; set it to an empty list',
                        )
        except ParameterError as error:
            return SetParametersResult(successful=False, reason=str(error))
        return SetParametersResult(successful=True)

    def _serve(
        self,
        name: str,
        wanted: Wanted,
        request: Trigger.Request,
        response: Trigger.Response,
    ) -> Trigger.Response:
        try:
            response.message = self._zero(wanted)
            response.success = True
        except TransmissionBridgeError as error:
            response.message = str(error) + self._remedy(name, error)
            response.success = False
        return response

    def _given_positions(self, session: Session, now: float) -> dict[str, float]:
        return find_wanted_positions(session.robot, self._value(_JOINTS), self._value(_POSITIONS))

    def _absolute_positions(self, session: Session, now: float) -> dict[str, float]:
        absolute = session.absolute_positions(now, session.options.zero_max_age or math.inf)
        return find_absolute_targets(session.robot, self._value(_JOINTS), absolute)

    def _zero(self, wanted: Wanted) -> str:
        """
        Set the offsets, and return a sentence with old and new values.

        :raises MessageError: If they cannot be set; then nothing has changed.
        """
        session = self._session()
        if session is None or not session.is_open:
            raise MessageError('inactive', 'the bridge is not active')
        now = session.time()
        _check_fresh(session, now)
        targets, values = wanted(session, now), _fresh_values(session, now)
        oldest = now - (session.options.zero_max_age or math.inf)
        # Where the turn is open, the one that comes nearest: the offset does the rest.
        settled = session.states.find_nearest_turns(targets, oldest)
        for place, position in settled.items():
            values[0, place] = position
        changes = find_zero_offsets(
            session.robot,
            targets,
            values,
            held=session.gate.ledger.find_position_joints(),
            max_velocity=session.options.zero_max_velocity,
        )
        offsets = {PREFIX + change.tunable.name: change for change in changes}
        for name, change in offsets.items():
            if not self._node.has_parameter(name):
                raise MessageError(
                    'no_parameter',
                    f"'{name}', the offset of {change.member_name}, cannot be "
                    'a parameter; see the warning at configure',
                )
        with self._keep({name: change.new for name, change in offsets.items()}) as overridden:
            result = self._node.set_parameters_atomically(
                [Parameter(name, value=change.new) for name, change in offsets.items()]
            )
            if not result.successful:
                raise MessageError('refused', result.reason)
            session.states.merged.settle_turns(settled)
        said = '; '.join(str(change) for change in changes)
        if overridden:
            said += (
                '; at the next start the parameter file counts, not tuned_file, for '
                f'{shortened(overridden)}'
            )
        return said

    def _remedy(self, service: str, error: TransmissionBridgeError) -> str:
        """Return a sentence with the commands that end a held position."""
        if getattr(error, 'reason', '') != 'held':
            return ''
        name = self._node.get_fully_qualified_name()
        return (
            f': stop what commands it, then "ros2 lifecycle set {name} deactivate", '
            f'"ros2 lifecycle set {name} activate", and once the driver has been heard '
            f'"ros2 service call {name}{service.lstrip("~")} std_srvs/srv/Trigger" (without '
            f'ros2: service {name}/change_state of type lifecycle_msgs/srv/ChangeState, '
            'transitions '
            f'{Transition.TRANSITION_DEACTIVATE} and {Transition.TRANSITION_ACTIVATE})'
        )

    def _value(self, name: str) -> tuple[Any, ...]:
        return _checked(name, self._node.get_parameter(name).value)


def _check_fresh(session: Session, now: float) -> None:
    """Refuse if a driver has fallen silent, also without a ``state_timeout``."""
    limit = session.options.zero_max_age
    for topic in session.state_topics:
        age = now - session.inputs.statistics[topic].used
        if limit and age < 0.0:
            raise MessageError(
                'stale', f'{topic} is stale: no usable message since time went backwards'
            )
        if limit and limit < age < float('inf'):
            raise MessageError(
                'stale', f'{topic} is stale: no usable message for {age:.1f} s (zero_max_age)'
            )


def _fresh_values(session: Session, now: float) -> Array:
    """
    Return the actuators' values; positions that are too old are unknown.

    One of several drivers on a topic may have fallen silent, while the topic as a whole has not.
    """
    merged = session.states.merged
    values: Array = merged.read_values(now).copy()
    limit = session.options.zero_max_age
    if limit:
        values[0, merged.find_ages(now)[0] > limit] = math.nan
    return values


def _checked(name: str, value: Any) -> tuple[Any, ...]:
    """
    Return the value of a parameter as a tuple, empty if it has none; integers become floats.

    :raises ParameterError: If it has the wrong type, or a number is out of range.
    """
    values = () if value is None else value
    kinds, words = ((str,), 'texts') if name == _JOINTS else ((float, int), 'numbers')
    if (
        isinstance(values, (str, bytes))
        or not isinstance(values, Sequence)
        or not all(type(each) in kinds for each in values)
    ):
        raise ParameterError(
            f'{name} cannot be accepted',
            parameter=name,
            expected=f'a list of {words}',
            found=repr(value),
        )
    if name == _JOINTS:
        return tuple(values)
    numbers = tuple(exact_number(name, each) for each in values)
    for number in numbers:
        _POSITION_RANGE.check_option(name, number)
    return numbers
