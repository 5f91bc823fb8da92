# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""The whole robot as one compiled, vectorised map."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from transmission_bridge.description.control_specs import (
    MemberSpec,
    RejectedTransmission,
    TransmissionSpec,
)
from transmission_bridge.description.specs import Finding, RobotDescription
from transmission_bridge.errors import ShapeError, UnknownNameError, UnsupportedInterfaceError
from transmission_bridge.transmissions.affine_map import Array
from transmission_bridge.transmissions.binding import Binding, Built, lay_out
from transmission_bridge.transmissions.builder import build_all
from transmission_bridge.transmissions.interfaces import (
    ACTUATOR_TO_JOINT,
    Direction,
    DIRECTIONS,
    interfaces_of,
    JOINT_TO_ACTUATOR,
)
from transmission_bridge.transmissions.registry import Registry
from transmission_bridge.transmissions.report import MapReport
from transmission_bridge.transmissions.robot_map import compile_map, RobotMap
from transmission_bridge.transmissions.transmission import as_values, Transmission
from transmission_bridge.transmissions.tunable import Tunable
from transmission_bridge.transmissions.tuning import flatten, ignored_encoders, rebuilt

__all__ = ['RobotTransmissions']

_Refused: TypeAlias = TransmissionSpec | RejectedTransmission


class RobotTransmissions:
    """
    Every transmission of a robot, loaded, bound by role, and compiled into one map per interface.

    Immutable: :meth:`with_parameters` returns a new object. Joints without a transmission pass
    through to an actuator of their name, unless they are :attr:`withheld`. A transmission that
    cannot be loaded is a finding and disables its own joints; they are then absent from
    :attr:`joint_names`.

    Arrays have shape ``(..., n_actuators)`` or ``(..., n_joints)`` in the order of
    :attr:`actuator_names` and :attr:`joint_names`, any leading axes are a batch, results are new
    float64 arrays. A NaN or inf touches only the outputs that depend on it. Units are SI.

    :param robot: The description.
    :param pass_through: Whether joints without a transmission pass through.
    :param registry: Plugins to use instead of the installed ones.
    :param aliases: Type string of the robot to the type string of the plugin to use for it.
    """

    def __init__(
        self,
        robot: RobotDescription,
        *,
        pass_through: bool = True,
        registry: Registry | None = None,
        aliases: Mapping[str, str] | None = None,
    ) -> None:
        built, findings = build_all(robot.transmissions, registry or Registry(), aliases or {})
        ignored, more = ignored_encoders(built)
        self._compile(robot, built, (*findings, *more), ignored, pass_through)

    def _compile(
        self,
        robot: RobotDescription,
        built: tuple[Built, ...],
        findings: tuple[Finding, ...],
        ignore_absolute_encoder: frozenset[str],
        pass_through: bool,
    ) -> None:
        self._robot = robot
        self._built = built
        self._build_findings = findings
        self._ignore_absolute_encoder = ignore_absolute_encoder
        self._may_pass_through = pass_through
        self._layout = lay_out(robot, built, pass_through=pass_through)
        self._maps: dict[tuple[Direction, str], RobotMap] = {
            (direction, interface): compile_map(
                self._layout, interface, direction, ignore_absolute_encoder
            )
            for direction in DIRECTIONS
            for interface in interfaces_of(direction)
        }

    # -- what there is ---------------------------------------------------------------------------

    @property
    def robot(self) -> RobotDescription:
        """The description that this was built from."""
        return self._robot

    @property
    def joint_names(self) -> tuple[str, ...]:
        """Joints in the order of the URDF."""
        return self._layout.joint_names

    @property
    def actuator_names(self) -> tuple[str, ...]:
        """Actuators in the order of the transmissions, then those of pass-through joints."""
        return self._layout.actuator_names

    @property
    def pass_through(self) -> tuple[str, ...]:
        """Names of the joints that pass through."""
        return tuple(self.joint_names[joint] for joint, _ in self._layout.pass_through)

    @property
    def withheld(self) -> dict[str, str]:
        """
        Joints without a transmission that do not pass through all the same.

        A refused transmission of their ``<ros2_control>`` block names a joint that does not exist,
        and may be meant for any of them; its name by joint.
        """
        return dict(self._layout.withheld)

    @property
    def refused(self) -> tuple[_Refused, ...]:
        """The transmissions that cannot be used, in the order of the file."""
        loaded = self.transmissions
        refused: list[_Refused] = [
            *(spec for spec in self._robot.transmissions if spec.name not in loaded),
            *self._robot.rejected,
        ]
        return tuple(sorted(refused, key=lambda spec: spec.line or 0))

    @property
    def lost_joints(self) -> dict[str, str]:
        """Joints that are not bridged because a transmission is refused: the reason by name."""
        lost = self._lost(lambda spec: spec.joints, self.joint_names)
        for name, transmission in self._layout.withheld.items():
            lost.setdefault(name, f"transmission '{transmission}' may be meant for it")
        return lost

    @property
    def lost_actuators(self) -> dict[str, str]:
        """Actuators that are unknown because a transmission is refused: the reason by name."""
        return self._lost(lambda spec: spec.actuators, self.actuator_names)

    def _lost(
        self,
        members_of: Callable[[_Refused], Sequence[MemberSpec | str]],
        found: tuple[str, ...],
    ) -> dict[str, str]:
        lost: dict[str, str] = {}
        for spec in self.refused:
            for member in members_of(spec):
                name = member if isinstance(member, str) else member.name
                if name not in found:
                    lost.setdefault(name, f"its transmission '{spec.name}' is refused")
        return lost

    @property
    def transmissions(self) -> dict[str, Transmission]:
        """The loaded transmissions by name."""
        return {item.spec.name: item.transmission for item in self._built}

    @property
    def bindings(self) -> tuple[Binding, ...]:
        """Each loaded transmission with the places of its joints and actuators."""
        return self._layout.bindings

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What was odd: in the description, in building its transmissions, in binding them."""
        return (*self._robot.findings, *self._build_findings, *self._layout.findings)

    @property
    def tunables(self) -> dict[str, tuple[Tunable, ...]]:
        """The live numbers of each transmission, by its name."""
        return {item.spec.name: item.tunables for item in self._built}

    @property
    def ignore_absolute_encoder(self) -> frozenset[str]:
        """Transmissions whose absolute positions pass from actuator to joint by role."""
        return self._ignore_absolute_encoder

    def map_of(self, interface: str, direction: Direction) -> RobotMap:
        """
        Return the compiled map of an interface, for callers that hold it across many cycles.

        :raises UnsupportedInterfaceError: If the interface is not mapped in this direction.
        """
        found = self._maps.get((direction, interface))
        if found is None:
            raise UnsupportedInterfaceError(interface, direction, interfaces_of(direction))
        return found

    # -- the maps --------------------------------------------------------------------------------

    def actuator_to_joint(
        self,
        interface: str,
        values: npt.ArrayLike,
        *,
        at: npt.ArrayLike | None = None,
        rate: npt.ArrayLike | None = None,
        guess: npt.ArrayLike | None = None,
        report: MapReport | None = None,
    ) -> Array:
        """
        Map actuator values to joint values.

        :param interface: ``position``, ``velocity``, ``acceleration``, ``effort``, ``torque``,
            ``force`` or ``absolute_position``.
        :param values: Shape ``(..., n_actuators)``.
        :param at: Actuator positions, same shape; required by velocity, acceleration and effort
            where a Jacobian varies, else ignored.
        :param rate: Actuator velocities, same shape; required by acceleration where a Jacobian
            varies, else ignored.
        :param guess: Joint positions near which an iterative solution is sought.
        :param report: Collects what became NaN and why.
        :returns: Shape ``(..., n_joints)``.
        :raises ShapeError: If a last axis has another length.
        :raises UnsupportedInterfaceError: If the interface is unknown.
        :raises TransmissionError: If ``at`` or ``rate`` is required and missing.
        """
        return self._map(ACTUATOR_TO_JOINT, interface, values, at, rate, guess, report)

    def joint_to_actuator(
        self,
        interface: str,
        values: npt.ArrayLike,
        *,
        at: npt.ArrayLike | None = None,
        rate: npt.ArrayLike | None = None,
        guess: npt.ArrayLike | None = None,
        report: MapReport | None = None,
    ) -> Array:
        """
        Map joint values to actuator values.

        As :meth:`actuator_to_joint` with the spaces exchanged: ``at`` and ``rate`` are joint
        positions and velocities, ``guess`` is in actuator space. ``absolute_position`` is a
        measurement and not mapped.

        :param interface: Which quantity ``values`` are.
        :param values: Shape ``(..., n_joints)``.
        :param at: Joint positions.
        :param rate: Joint velocities.
        :param guess: Actuator positions near which an iterative solution is sought.
        :param report: Collects what became NaN and why.
        :returns: Shape ``(..., n_actuators)``.
        :raises ShapeError: If a last axis has another length.
        :raises UnsupportedInterfaceError: If the interface is not mapped in this direction.
        :raises TransmissionError: If ``at`` or ``rate`` is required and missing.
        """
        return self._map(JOINT_TO_ACTUATOR, interface, values, at, rate, guess, report)

    def _map(
        self,
        direction: Direction,
        interface: str,
        values: npt.ArrayLike,
        at: npt.ArrayLike | None,
        rate: npt.ArrayLike | None,
        guess: npt.ArrayLike | None,
        report: MapReport | None,
    ) -> Array:
        robot_map = self.map_of(interface, direction)
        n_in, n_out = robot_map.affine.n_in, robot_map.affine.n_out
        # Infinity less infinity is unknown, which the result says.
        with np.errstate(invalid='ignore'):
            return robot_map(
                as_values('values', values, n_in),
                None if at is None else as_values('at', at, n_in),
                None if rate is None else as_values('rate', rate, n_in),
                None if guess is None else as_values('guess', guess, n_out),
                report,
            )

    def jacobian(
        self, actuator_position: npt.ArrayLike, *, report: MapReport | None = None
    ) -> Array:
        """
        Return ``J = dq/da`` of the whole robot.

        :param actuator_position: Shape ``(..., n_actuators)``.
        :param report: Collects the exceptions of plugins.
        :returns: Shape ``(..., n_joints, n_actuators)``, zero where a joint does not depend on an
            actuator, NaN where a plugin raises or gives another shape.
        :raises ShapeError: If the last axis has another length.
        """
        position = as_values('actuator_position', actuator_position, len(self.actuator_names))
        jacobian = np.zeros(
            (*position.shape[:-1], len(self.joint_names), len(self.actuator_names))
        )
        for joint, actuator in self._layout.pass_through:
            jacobian[..., joint, actuator] = 1.0
        for binding in self.bindings:
            rows = np.array(binding.joints)[:, np.newaxis]
            columns = np.array(binding.actuators)
            shape = (*position.shape[:-1], len(rows), len(columns))
            try:
                block = np.asarray(binding.transmission.jacobian(position[..., columns]))
                if block.shape != shape:
                    raise ShapeError('jacobian', expected=str(shape), found=block.shape)
                jacobian[..., rows, columns] = block
            except (Exception, SystemExit):  # whatever a third party raises
                jacobian[..., rows, columns] = np.nan
                if report is not None:
                    report.add_exception(binding.spec.name)
        return jacobian

    # -- tuning ----------------------------------------------------------------------------------

    def with_parameters(self, parameters: Mapping[str, Mapping[str, Any]]) -> RobotTransmissions:
        """
        Return the same robot with other parameter values; all are accepted or none.

        ``t.with_parameters({'wrist': {'joints': {'roll': {'offset': 0.1}}}})``

        :param parameters: By transmission, then the path below it as nested mappings. Values are
            numbers; ``ignore_absolute_encoder`` is a bool.
        :raises UnknownNameError: If there is no such transmission.
        :raises ParameterError: If a parameter is unknown or a value cannot be accepted.
        """
        items = {item.spec.name: item for item in self._built}
        ignored = set(self._ignore_absolute_encoder)
        for name, nested in parameters.items():
            if name not in items:
                raise UnknownNameError('transmission', name, tuple(items))
            numbers, ignore = flatten(items[name], nested)
            if ignore is not None:
                (ignored.add if ignore else ignored.discard)(name)
            items[name] = rebuilt(items[name], numbers)
        other = object.__new__(type(self))
        other._compile(
            self._robot,
            tuple(items.values()),
            self._build_findings,
            frozenset(ignored),
            self._may_pass_through,
        )
        return other
