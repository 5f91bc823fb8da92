# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
The parameters of the transmissions: declared at configure, tuned while active, gone at cleanup.

Values are those of the URDF, then of the parameter file, then what was set since the node started;
they are validated as one set.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from rcl_interfaces.msg import FloatingPointRange, ParameterDescriptor, SetParametersResult
from rclpy.node import Node
from rclpy.parameter import Parameter

from transmission_bridge.bridge.parameter_names import by_number, parameter_names, PREFIX
from transmission_bridge.errors import closest, shortened, TransmissionBridgeError
from transmission_bridge.ros.declaring import checked_type
from transmission_bridge.transmissions import RobotTransmissions
from transmission_bridge.transmissions.tunable import ParameterPath, Tunable
from transmission_bridge.transmissions.tuning import IGNORE_ABSOLUTE_ENCODER

__all__ = ['LiveParameters']

#: Ranges shown to tools where the transmission states none; widened to hold the values given.
_RATIO_RANGE = 1e6
_OFFSET_RANGE = 1e3

#: What the names begin with of parameters that are declared when the node is configured.
_DECLARED_LATE = (PREFIX, 'qos_overrides.')


class LiveParameters:
    """
    The link between ROS parameters and :meth:`RobotTransmissions.with_parameters`.

    :param node: The node that the parameters belong to.
    :param apply: Called with the new maps after parameters have changed.
    """

    def __init__(self, node: Node, apply: Callable[[RobotTransmissions], None]) -> None:
        self._node = node
        self._apply = apply
        self._robot: RobotTransmissions | None = None
        self._places: dict[str, tuple[str, ParameterPath]] = {}
        self._set_since_start: dict[str, float | bool] = {}
        self._declaring = False
        self._checked: tuple[dict[str, Any], RobotTransmissions] | None = None

    # -- life ------------------------------------------------------------------------------------

    def configure(self, robot: RobotTransmissions) -> RobotTransmissions:
        """
        Declare the parameters of a robot and return it with their values.

        :raises ParameterError: If a value cannot be accepted; nothing is declared then.
        """
        declarations = self._declarations(robot)
        overrides = self._node._parameter_overrides  # rclpy has no public access to them
        values: dict[str, float | bool] = {
            name: checked_type(name, overrides[name].value, default)
            for name, (default, _) in declarations.items()
            if name in overrides and name not in self._set_since_start
        }
        values |= self._remembered(robot, values)
        tuned = robot.with_parameters(by_number(values))
        self._declaring = True
        try:
            for name, (default, tunable) in declarations.items():
                value = values.get(name, default)
                self._node.declare_parameter(
                    name, value, _descriptor(tunable, value), ignore_override=True
                )
        finally:
            self._declaring = False
        self._robot = tuned
        self._tell_differences(declarations, values)
        return tuned

    def _tell_differences(
        self,
        declarations: Mapping[str, tuple[float | bool, Tunable | None]],
        values: Mapping[str, float],
    ) -> None:
        """Log which numbers of the file stand above others of the URDF, which may be newer."""
        differences = [
            f'{name.removeprefix(PREFIX)} {_digits(values[name])} (URDF {_digits(default)})'
            for name, (default, _) in declarations.items()
            if name in self._node._parameter_overrides
            and name not in self._set_since_start
            and values[name] != default
        ]
        if differences:
            one = len(differences) == 1
            self._node.get_logger().info(
                f'{len(differences)} number{"" if one else "s"} of the parameter file '
                f'differ{"s" if one else ""} from the URDF: {shortened(differences, show=str)}'
            )

    def _remembered(
        self, robot: RobotTransmissions, from_file: dict[str, float | bool]
    ) -> dict[str, float | bool]:
        """
        Return what was set since the start.

        What another description's mechanism cannot have is forgotten, all of that transmission:
        it could not be set otherwise before the next configure, which would fail for ever.
        """
        kept: dict[str, float | bool] = {}
        for transmission in robot.transmissions:
            names = [name for name, place in self._places.items() if place[0] == transmission]
            ours = {
                name: self._set_since_start[name]
                for name in names
                if name in self._set_since_start
            }
            if not ours:
                continue
            others = {name: from_file[name] for name in names if name in from_file}
            try:
                robot.with_parameters(by_number(others | ours))
            except TransmissionBridgeError as error:
                self._node.get_logger().warning(
                    f"what was set since the start does not fit transmission '{transmission}' "
                    f'any more and is forgotten: {error}'
                )
                for name in ours:
                    del self._set_since_start[name]
            else:
                kept |= ours
        return kept

    def cleanup(self) -> None:
        """Undeclare the parameters; what was set is remembered for the next configure."""
        for name in self._places:
            if self._node.has_parameter(name):
                self._node.undeclare_parameter(name)
        self._places = {}
        self._robot = None
        self._checked = None

    def unmatched_overrides(self) -> tuple[str, ...]:
        """
        Return a sentence for each name in the parameter file that matches no parameter.

        Before configuring, for those that it does not declare either: a misspelt one may be why
        it never comes to that. Afterwards, for the others.
        """
        node = self._node
        return tuple(
            f"parameter file: '{name}' matches no parameter{self._hint(name)}"
            for name in node._parameter_overrides
            if not node.has_parameter(name)
            and name.startswith(_DECLARED_LATE) == (self._robot is not None)
        )

    def _hint(self, name: str) -> str:
        for spec in self._robot.refused if self._robot is not None else ():
            if name.startswith(f'{PREFIX}{spec.name}.'):
                return f", because transmission '{spec.name}' is refused"
        return closest(name, self._node._parameters, most=1)

    # -- callbacks -------------------------------------------------------------------------------

    def check(self, parameters: Sequence[Parameter[Any]]) -> SetParametersResult:
        """Accept or refuse parameters that are about to be set; others than ours are accepted."""
        values = self._ours(parameters)
        if self._declaring or self._robot is None or not values:
            return SetParametersResult(successful=True)
        try:
            tuned = self._robot.with_parameters(by_number(values))
        except TransmissionBridgeError as error:
            return SetParametersResult(successful=False, reason=str(error))
        self._checked = values, tuned
        return SetParametersResult(successful=True)

    def commit(self, parameters: Sequence[Parameter[Any]]) -> None:
        """Take over parameters that have been set."""
        values = self._ours(parameters)
        if self._declaring or self._robot is None or not values:
            return
        if self._checked is not None and self._checked[0] == values:
            self._robot = self._checked[1]
        else:  # another callback's check came between
            self._robot = self._robot.with_parameters(by_number(values))
        self._checked = None
        self._set_since_start.update(values)
        self._apply(self._robot)

    # -- names -----------------------------------------------------------------------------------

    def _ours(self, parameters: Sequence[Parameter[Any]]) -> dict[str, Any]:
        return {
            parameter.name: parameter.value
            for parameter in parameters
            if parameter.name in self._places
        }

    def _declarations(
        self, robot: RobotTransmissions
    ) -> dict[str, tuple[float | bool, Tunable | None]]:
        """
        Return the default of every parameter, and remember what its name means.

        With the tunable where it is a number; the one parameter that is not comes with ``None``.
        """
        names = parameter_names(robot)
        for finding in names.findings:
            self._node.get_logger().warning(finding.text)
        self._places = dict(names.places)
        return {
            name: _default(robot, transmission, path)
            for name, (transmission, path) in self._places.items()
        }


def _default(
    robot: RobotTransmissions, transmission: str, path: ParameterPath
) -> tuple[float | bool, Tunable | None]:
    if path == (IGNORE_ABSOLUTE_ENCODER,):
        return transmission in robot.ignore_absolute_encoder, None
    (tunable,) = (each for each in robot.tunables[transmission] if each.path == path)
    return tunable.value, tunable


def _descriptor(tunable: Tunable | None, value: float) -> ParameterDescriptor:
    if tunable is None:
        return ParameterDescriptor(
            description='Whether absolute positions pass from actuator to joint by role, unmapped.'
        )
    widest = _OFFSET_RANGE if tunable.path[-1] == 'offset' else _RATIO_RANGE
    widest = max(widest, abs(tunable.default), abs(value))
    return ParameterDescriptor(
        description=tunable.description,
        additional_constraints='Not zero.' if tunable.nonzero else '',
        floating_point_range=[
            FloatingPointRange(
                from_value=-widest if tunable.minimum is None else tunable.minimum,
                to_value=widest if tunable.maximum is None else tunable.maximum,
                step=0.0,
            )
        ],
    )


def _digits(value: float) -> str:
    """Return every digit of a number, and no more."""
    return repr(value).removesuffix('.0')
