# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
The transmissions of a whole robot, as users and all other rooms make and call them.

Its public names, the orders of its arrays and the names of its parameters are fixed. It has what a
table lacks: the description, the findings, the rejected transmissions, and tuning.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property
from typing import Any, TYPE_CHECKING, TypeAlias

import numpy.typing as npt

from transmission_bridge.description import (
    collect_limits,
    RejectedSpec,
    RobotDescription,
    TransmissionSpec,
)
from transmission_bridge.errors import ParameterError, TransmissionError, UnknownNameError
from transmission_bridge.interfaces import ACTUATOR_TO_JOINT, Direction, JOINT_TO_ACTUATOR
from transmission_bridge.transmissions.builder import build_all, make_identity_transmissions
from transmission_bridge.transmissions.registry import Registry
from transmission_bridge.transmissions.robot.affine_map import AffineStream
from transmission_bridge.transmissions.robot.table import order_members, RobotTable
from transmission_bridge.transmissions.robot.tuning import retune_bindings
from transmission_bridge.transmissions.robot.units import ActuatorUnits, parse_driver_units
from transmission_bridge.transmissions.transmission import Transmission
from transmission_bridge.transmissions.tunable import Tunable
from transmission_bridge.types import Array

if TYPE_CHECKING:
    from transmission_bridge.transmissions.robot.program import RobotMap

_Refused: TypeAlias = TransmissionSpec | RejectedSpec


class RobotTransmissions(RobotTable):
    """
    Every transmission of a robot, loaded, bound by role, and compiled into one map per interface.

    It is immutable: :meth:`with_parameters` returns a new object. Joints without a transmission
    pass through to an actuator with their name, except :attr:`withheld` joints. A transmission
    that cannot be loaded is reported as a finding and disables its own joints; :attr:`joint_names`
    does not list them.

    Joints have the order of the URDF. Actuators have the order of the transmissions,
    followed by joints that pass through. :attr:`bindings` are the loaded transmissions, followed
    by an identity for each joint that passes through.

    Arrays have shape ``(..., n_actuators)`` or ``(..., n_joints)`` in the order of
    :attr:`actuator_names` and :attr:`joint_names`; any leading axes are a batch; results are new
    float64 arrays. A NaN or inf touches only outputs that depend on it. Units are SI, also for an
    actuator with other driver units: see :attr:`units`.

    :param robot: The description.
    :param pass_through: Whether joints without a transmission pass through.
    :param registry: Plugins to use instead of the installed ones.
    :param passive_joints: Which passive joints of linkages :attr:`joint_names` includes: ``all``
        or ``none``.
    :param actuator_units: Units of actuators of joints that pass through, by name, as
        ``position_unit:turn, velocity_unit:rpm``.
    :raises UnknownNameError: If ``actuator_units`` name an actuator that the robot does not have.
    :raises ParameterError: If ``actuator_units`` are invalid, or name an actuator of a
        transmission.
    """

    def __init__(
        self,
        robot: RobotDescription,
        *,
        pass_through: bool = True,
        registry: Registry | None = None,
        passive_joints: str = 'all',
        actuator_units: Mapping[str, str] | None = None,
    ) -> None:
        #: The description that the transmissions were built from.
        self.description = robot
        self._passive_joints = passive_joints
        built, findings = build_all(robot, registry or Registry(), passive_joints)
        #: Joints without a transmission that do not pass through: name to rejected transmission.
        #: A rejected transmission of their ``<ros2_control>`` block, or of ROS 1, names a joint
        #: that does not exist, and may refer to any of them.
        self.withheld: Mapping[str, str]
        passed, self.withheld, more = (
            make_identity_transmissions(robot) if pass_through else ((), {}, ())
        )
        super().__init__(*order_members(robot, (*built, *passed)))
        #: Findings of the description, of building its transmissions and of binding them.
        self.findings = (*robot.findings, *findings, *more)
        units = self._pass_through_units(actuator_units or {})
        self.bindings = tuple(
            replace(binding, units={name: units[name]})
            if binding.is_identity and (name := binding.spec.actuators[0].name) in units
            else binding
            for binding in self.bindings
        )

    def _pass_through_units(self, texts: Mapping[str, str]) -> dict[str, ActuatorUnits]:
        units_of, lost = {}, self.lost_actuators
        for name, text in texts.items():
            if name in lost:
                continue
            if name not in self.actuator_names:
                raise UnknownNameError(
                    'actuator', name, self.actuator_names, parameter='actuator_units'
                )
            try:
                if name not in self.pass_through:
                    expected = 'its units as <param>s of its <actuator>'
                    message = 'it belongs to a transmission'
                    raise TransmissionError(message, expected=expected, found=repr(text))
                units = parse_driver_units(text)
                slides = self.description.joint(name).type == 'prismatic'
                if units.slides not in (None, slides):
                    raise TransmissionError(
                        f'the joint {"slides" if slides else "turns"} and is directly connected '
                        'to its actuator',
                        expected='m, mm, N' if slides else 'rad, deg, turn, tick, N m',
                        found=repr(text),
                    )
            except TransmissionError as error:
                raise ParameterError(
                    f"actuator_units of '{name}': {error.message}",
                    parameter='actuator_units',
                    expected=error.expected,
                    found=error.found,
                ) from None
            units_of[name] = units
        return units_of

    # -- contents --------------------------------------------------------------------------------

    @cached_property
    def joint_limits(self) -> Array:
        """
        The limits of the joints: of the URDF, narrowed by ros2_control.

        Lower and upper bounds, shape ``(2, 4, n_joints)``, rows position, velocity, effort and
        acceleration; infinite: no bound.
        """
        return collect_limits(self.description, self.joint_names)

    @cached_property
    def urdf_limits(self) -> Array:
        """As :attr:`joint_limits`, of the URDF alone: ros2_control may narrow commands only."""
        return collect_limits(replace(self.description, blocks=()), self.joint_names)

    @property
    def pass_through(self) -> tuple[str, ...]:
        """Names of the joints that pass through."""
        return tuple(b.spec.joints[0].name for b in self.bindings if b.is_identity)

    @property
    def refused(self) -> tuple[_Refused, ...]:
        """The rejected transmissions, in the order of the file."""
        loaded = self.transmissions
        refused: list[_Refused] = [
            *(spec for spec in self.description.transmissions if spec.name not in loaded),
            *self.description.rejected,
        ]
        return tuple(sorted(refused, key=lambda spec: spec.line or 0))

    @property
    def lost_joints(self) -> dict[str, str]:
        """Joints that are not bridged because a transmission was rejected: the reason by name."""
        lost = self._list_lost_members('joints', self.joint_names)
        for name, transmission in self.withheld.items():
            lost.setdefault(name, f"transmission '{transmission}' may refer to it")
        return lost

    @property
    def lost_actuators(self) -> dict[str, str]:
        """Actuators that are unknown because a transmission was rejected: the reason by name."""
        return self._list_lost_members('actuators', self.actuator_names)

    def _list_lost_members(self, side: str, found: tuple[str, ...]) -> dict[str, str]:
        lost: dict[str, str] = {}
        for spec in self.refused:
            for member in getattr(spec, side):
                name = member if isinstance(member, str) else member.name
                if name not in found:
                    lost.setdefault(name, f"its transmission '{spec.name}' was rejected")
        return lost

    @property
    def transmissions(self) -> dict[str, Transmission]:
        """The loaded transmissions by name."""
        return {b.spec.name: b.transmission for b in self.bindings if not b.is_identity}

    @property
    def tunables(self) -> dict[str, tuple[Tunable, ...]]:
        """The live numbers of each transmission, by its name."""
        return {b.spec.name: b.tunables for b in self.bindings if not b.is_identity}

    @property
    def ignore_absolute_encoder(self) -> frozenset[str]:
        """Transmissions with absolute positions that pass from actuator to joint by role."""
        return frozenset(b.spec.name for b in self.bindings if 'absolute_position' in b.by_role)

    # -- the maps --------------------------------------------------------------------------------

    def actuator_to_joint(self, interface: str, values: npt.ArrayLike, **options: Any) -> Array:
        """
        Map actuator values to joint values; see :meth:`Transmission.map`.

        :param interface: ``position``, ``velocity``, ``acceleration``, ``effort``, ``torque``,
            ``force`` or ``absolute_position``.
        :param values: Shape ``(..., n_actuators)``.
        :param options: ``at``, ``rate``, ``guess`` and ``report``.
        :returns: Shape ``(..., n_joints)``.
        """
        return self.map(ACTUATOR_TO_JOINT, interface, values, **options)

    def joint_to_actuator(self, interface: str, values: npt.ArrayLike, **options: Any) -> Array:
        """
        Map joint values to actuator values; see :meth:`Transmission.map`.

        Arguments are as in :meth:`actuator_to_joint` with the spaces exchanged.
        ``absolute_position`` is a measurement and cannot be mapped.
        """
        return self.map(JOINT_TO_ACTUATOR, interface, values, **options)

    def stream(self, direction: Direction) -> RobotMap | AffineStream:
        """Return a map of position, velocity and effort for a stream of states."""
        if self.mechanisms(direction):
            from transmission_bridge.transmissions.robot.program import RobotMap

            return RobotMap(self, direction)
        return AffineStream(self.stack_fields(direction))

    # -- tuning ----------------------------------------------------------------------------------

    def with_parameters(self, parameters: Mapping[str, Any]) -> RobotTransmissions:
        """
        Return the same robot with other parameter values; either all are accepted or none.

        This object is unchanged. The new one shares the transmissions whose numbers stay equal.

        ``t.with_parameters({'wrist.joints.roll.offset': 0.1})``

        :param parameters: By transmission and path below it, joined by dots; any part may be a
            nested mapping. Values are numbers; ``ignore_absolute_encoder`` and
            ``ignore_torque_sensor`` are true or false.
        :returns: A new object.
        :raises UnknownNameError: If a transmission does not exist.
        :raises ParameterError: If a parameter is unknown or a value is invalid.
        """
        # A copy without the constructor: every attribute that the constructor sets is copied here.
        other = object.__new__(type(self))
        bindings = retune_bindings(self, parameters, self.description, self._passive_joints)
        RobotTable.__init__(other, self.joint_names, self.actuator_names, bindings)
        other.description, other._passive_joints = self.description, self._passive_joints
        other.withheld, other.findings = self.withheld, self.findings
        return other
