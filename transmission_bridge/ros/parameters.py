# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
Declare, check and tune the parameters of the nodes.

``bridge_node`` and ``driver_node`` declare by this module, the first its options, then at
configure the numbers of transmissions. Names, types and descriptions are public. Live parameters
remember the numbers that were set since the start.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import fields
import math
from typing import Any, TypeAlias

from rcl_interfaces.msg import FloatingPointRange, ParameterDescriptor, SetParametersResult
from rclpy.exceptions import InvalidParameterValueException, InvalidTopicNameException
from rclpy.node import Node
from rclpy.parameter import Parameter
from rclpy.validate_topic_name import validate_topic_name

from transmission_bridge.bridge.options import (
    BridgeOptions,
    list_parameter_names,
    PREFIX,
    strip_prefixes,
)
from transmission_bridge.errors import (
    closest,
    counted,
    ParameterError,
    shortened,
    TransmissionBridgeError,
)
from transmission_bridge.ros.process import read_start_parameters
from transmission_bridge.transmissions import RobotTransmissions, Tunable

#: Parameters of one request, as rclpy passes them to its callbacks.
Parameters: TypeAlias = 'Sequence[Parameter[Any]]'

# -- Declaring and setting: an invalid value is an error; ``10`` is read as ``10.0`` --------------


_EXPECTED = {
    bool: 'true or false',
    float: 'a number',
    int: 'an integer',
    str: "text, in quotes if YAML would read another type: '1'",
    list: 'a list of texts',
    tuple: 'a list of numbers',
}

#: Maximum length of an invalid value in an error.
_LONGEST = 100

#: Doubles represent every integer up to this.
_LARGEST_EXACT = 2**53

_LISTS = [kind for kind in Parameter.Type if kind.name.endswith('_ARRAY')]


def declare_parameter(
    node: Node,
    name: str,
    default: Any,
    description: str,
    choices: Sequence[str] = (),
    **details: Any,
) -> None:
    """
    Declare a parameter with the type of its default.

    :param default: A boolean, a number, a text, a list of texts, or a tuple of numbers.
    :param choices: Allowed words; a word that YAML reads as another type needs no quotes.
    :param details: Further fields of its descriptor.
    :raises ParameterError: If the given value has another type.
    """
    given = read_start_parameters(node).get(name)
    value, descriptor = default, ParameterDescriptor(description=description, **details)
    if given is not None:  # an empty list arrives as no value
        if 'nan' in choices and isinstance(given, float) and math.isnan(given):
            given = 'nan'
        elif 'off' in choices and given is False:
            given = 'off'
        value = check_parameter(name, given, default)
    if value in ([], ()):
        # rclpy would infer a list of bytes. Without a value, requests for several parameters with
        # this one would fail, and so would ``ros2 param dump``.
        kind = Parameter.Type.STRING_ARRAY if value == [] else Parameter.Type.DOUBLE_ARRAY
        node.declare_parameter(name, kind, ignore_override=True)
        node.set_parameters([Parameter(name, kind, [])])
        descriptor.type = kind.value
        node.set_descriptor(name, descriptor)
        return
    try:
        node.declare_parameter(name, value, descriptor, ignore_override=True)
    except InvalidParameterValueException as error:
        raise ParameterError(f'parameter {name}: {error}', parameter=name) from error


def check_parameter(name: str, value: Any, default: Any) -> Any:
    """
    Return a value of the type of the parameter; an integer becomes a float if that is the type.

    :param default: A value of this type, see :func:`declare_parameter`.

    :raises ParameterError: If it has another type, or is an integer that no double represents.
    """
    is_list = isinstance(value, Sequence) and not isinstance(value, str | bytes)
    if isinstance(default, list):
        if is_list and all(type(item) is str for item in value):
            return list(value)
    elif isinstance(default, tuple):
        if is_list and all(type(item) in (int, float) for item in value):
            return [_convert_exactly(name, item) for item in value]
    elif isinstance(default, float) and type(value) in (int, float):
        return _convert_exactly(name, value)
    elif type(value) is type(default):
        return value
    raise ParameterError(
        f'parameter {name} has the wrong type',
        parameter=name,
        expected=_EXPECTED[type(default)],
        found=repr(value)[:_LONGEST],
    )


def _convert_exactly(name: str, value: float) -> float:
    """
    Convert a number to a float.

    :raises ParameterError: If it is an integer that could be rounded.
    """
    if isinstance(value, int) and abs(value) > _LARGEST_EXACT:
        raise ParameterError(
            f'parameter {name} would be rounded',
            parameter=name,
            expected='an integer up to 2**53, or a number with a decimal point',
            found=repr(value),
        )
    return float(value)


def accept_integer_parameters(node: Node) -> None:
    """
    Let ``ros2 param set NAME 1`` set a double, and ``[]`` any list; rclpy would reject both.

    A value of another type raises :class:`ParameterError`, because the error of rclpy has the
    types as numbers; :func:`guard_service_requests` answers it.
    """

    def convert_value(parameter: Parameter[Any]) -> Parameter[Any]:
        name, value = parameter.name, parameter.value
        given, wanted = parameter.type_, node.get_parameter_or(name).type_
        if given is wanted or Parameter.Type.NOT_SET in (given, wanted):
            return parameter
        if wanted in _LISTS and given in _LISTS and len(value) == 0:
            return Parameter(name, wanted, [])
        if node.describe_parameter(name).read_only:
            return parameter
        default: Any = ()
        if wanted is not Parameter.Type.DOUBLE_ARRAY:
            default = node.get_parameter(name).value
        return Parameter(name, wanted, check_parameter(name, value, default))

    node.add_pre_set_parameters_callback(lambda parameters: list(map(convert_value, parameters)))


def reject_parameters(node: Node, check: Callable[[Parameters], None]) -> None:
    """Let a check reject parameters before they are set, by an error of this package."""

    def check_safely(parameters: Parameters) -> SetParametersResult:
        try:
            check(parameters)
        except TransmissionBridgeError as error:
            return SetParametersResult(successful=False, reason=str(error))
        return SetParametersResult(successful=True)

    node.add_on_set_parameters_callback(check_safely)


# -- Structural parameters of the bridge, from the table of options ------------------------------


def declare_options(node: Node) -> None:
    """
    Declare a read-only parameter for every field of :class:`BridgeOptions`.

    :raises ParameterError: If a given value cannot be used.
    """
    for option in fields(BridgeOptions):
        choices, span = option.metadata['choices'], option.metadata['span']
        # Not as a range of the descriptor, which has no special values.
        allowed = f'Range: {span}' if span else ''
        if choices:
            allowed = f'One of: {", ".join(choices)}'
        details = {'additional_constraints': allowed, 'read_only': True}
        default = list(option.default) if isinstance(option.default, tuple) else option.default
        text = option.metadata['description']
        declare_parameter(node, option.name, default, text, choices, **details)
    # No later value could mend them, because they are read-only.
    read_bridge_options(node)


def read_bridge_options(node: Node) -> BridgeOptions:
    """
    Return the values of the structural parameters.

    :raises ParameterError: If a value cannot be used.
    """
    values: dict[str, Any] = {}
    for option in fields(BridgeOptions):
        value = node.get_parameter(option.name).value
        values[option.name] = tuple(value) if isinstance(option.default, tuple) else value
    options = BridgeOptions(**values)
    for topic in options.actuator_state_topics:
        try:
            validate_topic_name(topic)
        except InvalidTopicNameException as error:
            raise ParameterError(
                'actuator_state_topics cannot be accepted',
                parameter='actuator_state_topics',
                expected='names of topics',
                found=f'{topic!r}: {str(error).splitlines()[0]}',
            ) from error
    return options


def fix_use_sim_time(node: Node) -> None:
    """Make ``use_sim_time``, which rclpy has declared, read-only."""
    text, kind = (
        'Whether ROS time comes from /clock; fixed when the node starts.',
        Parameter.Type.BOOL,
    )
    descriptor = ParameterDescriptor(description=text, type=kind.value, read_only=True)
    node.set_descriptor('use_sim_time', descriptor)


# -- Parameters of the transmissions -------------------------------------------------------------
#
# Declared at configure, tuned while active, undeclared at cleanup. Values of the URDF, of
# ``tuned_file``, of the parameter file and those set since the start override each other in this
# order. All values are
# validated as one set.


#: Ranges for tools if the transmission has no range; wider if the given values need it.
_RATIO_RANGE = 1e6
_OFFSET_RANGE = 1e3

#: Prefixes of parameters that are declared when the node is configured.
_DECLARED_LATE = (PREFIX, 'qos_overrides.')


class LiveNodeParameters:
    """
    The link between ROS parameters and :meth:`RobotTransmissions.with_parameters`.

    The node calls :meth:`declare_tunables` at configure and :meth:`undeclare_tunables` at cleanup.
    Between them rclpy calls :meth:`check_values` before, and :meth:`commit_values` after, each set
    of values, in one thread; both ignore parameters that are not declared here.

    :param node: The node of the parameters.
    :param apply: Called with the new maps after parameters have changed.
    :param guard: Called with the new maps before; raises :class:`ParameterError` to reject them.
    :ivar given: Values of the parameter file by parameter, from the last configure.
    """

    def __init__(
        self,
        node: Node,
        apply: Callable[[RobotTransmissions], None],
        guard: Callable[[RobotTransmissions], None],
    ) -> None:
        self._node, self._apply, self._guard = node, apply, guard
        # The maps with the present values, ``None``: nothing is declared; and the declared
        # numbers.
        self._robot: RobotTransmissions | None = None
        self._tunables: Mapping[str, Tunable] = {}
        # Kept from one configure to the next.
        self._set_since_start: dict[str, float | bool] = {}
        self.given: dict[str, float | bool] = {}
        # The last accepted values and their maps, until they are committed.
        self._checked: tuple[dict[str, Any], RobotTransmissions] | None = None

    # -- life ------------------------------------------------------------------------------------

    def declare_tunables(
        self,
        robot: RobotTransmissions,
        in_tuned_file: Callable[[dict[str, float | bool]], Mapping[str, float]],
    ) -> RobotTransmissions:
        """
        Declare the parameters of a robot and return it with their values.

        :param robot: The robot with the numbers of its URDF.
        :param in_tuned_file: Is called with the numbers of the parameter file, and returns those
            of ``tuned_file``.
        :raises ParameterError: If a value cannot be used. Then nothing is declared.
        """
        names = list_parameter_names(robot)
        for finding in names.findings:
            self._node.get_logger().warning(finding.text)
        tunables = self._tunables = names.tunables
        self.given = {
            name: check_parameter(name, value, tunables[name].value)
            for name, value in read_start_parameters(self._node).items()
            if name in tunables
        }
        from_file = {
            name: value for name, value in self.given.items() if name not in self._set_since_start
        }
        from_tuned = in_tuned_file(from_file)
        from_files = {**from_tuned, **from_file}
        values = from_files | self._list_remembered(robot, from_files)
        tuned = robot.with_parameters(strip_prefixes(values))
        for name, tunable in tunables.items():
            value = values.get(name, tunable.value)
            descriptor = _describe_tunable(tunable, value)
            self._node.declare_parameter(name, value, descriptor, ignore_override=True)
        # Only now, because the callbacks below are also called for each declared parameter.
        self._robot = tuned
        self._log_differences('tuned_file', from_tuned)
        self._log_differences('the parameter file', from_file)
        return tuned

    def _log_differences(self, file: str, numbers: Mapping[str, float | bool]) -> None:
        """Log the numbers of a file that override the URDF, because the URDF may be newer."""
        differences = [
            f'{name.removeprefix(PREFIX)} {_format_number(value)} (URDF {_format_number(urdf)})'
            for name, value in numbers.items()
            if value != (urdf := self._tunables[name].value)
        ]
        if differences:
            numbers_differ = f'{counted(len(differences), "number")} of {file} '
            numbers_differ += 'differs' if len(differences) == 1 else 'differ'
            what = shortened(differences, show=str)
            self._node.get_logger().info(f'{numbers_differ} from the URDF: {what}')

    def _list_remembered(
        self, robot: RobotTransmissions, from_files: dict[str, float | bool]
    ) -> dict[str, float | bool]:
        """
        Return the values that were set since the start and fit this robot.

        If a value does not fit the mechanism of a new description, all values of that
        transmission are forgotten. They could not be changed before the next configure, and each
        configure would fail.
        """
        kept: dict[str, float | bool] = {}
        for transmission in robot.transmissions:
            names = {n for n, one in self._tunables.items() if one.transmission == transmission}
            ours = {n: value for n, value in self._set_since_start.items() if n in names}
            others = {n: value for n, value in from_files.items() if n in names}
            if not ours:
                continue
            try:
                robot.with_parameters(strip_prefixes(others | ours))
            except TransmissionBridgeError as error:
                self._node.get_logger().warning(
                    'the parameters that were set since the start no longer fit transmission '
                    f"'{transmission}' and are forgotten: {error}"
                )
                for name in ours:
                    del self._set_since_start[name]
            else:
                kept |= ours
        return kept

    def undeclare_tunables(self) -> None:
        """Undeclare the parameters; values that were set are kept for the next configure."""
        for name in self._tunables:
            if self._node.has_parameter(name):
                self._node.undeclare_parameter(name)
        self._tunables = {}
        self._robot = None
        self._checked = None

    def describe_unmatched_overrides(self) -> Iterator[str]:
        """
        Yield a sentence for each name in the parameter file that matches no parameter.

        Before configure, only for names that configure does not declare: a misspelt name may be
        the reason why the node is unconfigured. After configure, for the others.
        """
        robot, declared = self._robot, self._node.get_parameters_by_prefix('')
        for name in read_start_parameters(self._node):
            is_late = name.startswith(_DECLARED_LATE)
            if self._node.has_parameter(name) or is_late != (robot is not None):
                continue
            reason = closest(name, declared, most=1)
            for spec in robot.refused if robot is not None else ():
                if name.startswith(f'{PREFIX}{spec.name}.'):
                    reason = f", because transmission '{spec.name}' is rejected"
            yield f"parameter file: '{name}' matches no parameter{reason}"

    # -- callbacks -------------------------------------------------------------------------------

    def check_values(self, parameters: Parameters) -> None:
        """
        Check parameters before they are set; parameters of others are accepted.

        :raises TransmissionBridgeError: If the maps cannot have these values.
        """
        values = self._select_tunables(parameters)
        if self._robot is not None and values:
            tuned = self._robot.with_parameters(strip_prefixes(values))
            self._guard(tuned)
            self._checked = values, tuned

    def commit_values(self, parameters: Parameters) -> None:
        """Apply parameters that have been set."""
        values = self._select_tunables(parameters)
        if self._robot is None or not values:
            return
        if self._checked is not None and self._checked[0] == values:
            self._robot = self._checked[1]
        else:  # the check of another request was later
            self._robot = self._robot.with_parameters(strip_prefixes(values))
        self._checked = None
        self._set_since_start.update(values)
        self._apply(self._robot)

    @contextmanager
    def apply_together(self) -> Iterator[None]:
        """
        Apply the changes of the block once, at its end, because building maps is slow.

        Requests to set several parameters one after the other use it; blocks are not nested.
        """
        apply, before = self._apply, self._robot
        self._apply = lambda _: None
        try:
            yield
        finally:
            self._apply = apply
            if self._robot is not None and self._robot is not before:
                apply(self._robot)

    # -- names -----------------------------------------------------------------------------------

    def _select_tunables(self, parameters: Parameters) -> dict[str, Any]:
        return {
            parameter.name: parameter.value
            for parameter in parameters
            if parameter.name in self._tunables
        }


def _describe_tunable(tunable: Tunable, value: float) -> ParameterDescriptor:
    if tunable.is_flag:
        return ParameterDescriptor(description=tunable.description)
    widest = _OFFSET_RANGE if tunable.path[-1] == 'offset' else _RATIO_RANGE
    widest = max(widest, abs(tunable.default), abs(value))
    if tunable.is_actuator_limit:
        # rclpy rejects values outside the range.
        widest = math.inf
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


def _format_number(value: float) -> str:
    """Return a number with all digits, without a trailing ``.0``."""
    return repr(value).removesuffix('.0')
