# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""A mechanism written as its equation; everything else is derived from it."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
import math
from types import SimpleNamespace
from typing import Any, ClassVar, Literal

import numpy as np

from transmission_bridge.errors import TransmissionError
from transmission_bridge.transmissions.domain import Domain
from transmission_bridge.transmissions.equation_mechanism import EquationMechanism, EquationSteps
from transmission_bridge.transmissions.equations import build_equations, flatten, Numbers, shape_of
from transmission_bridge.transmissions.mechanism_transmission import MechanismTransmission
from transmission_bridge.transmissions.spec_reader import SpecReader
from transmission_bridge.transmissions.transmission import GEARS
from transmission_bridge.transmissions.tunable import LiveNumber

_EQUATIONS = ('joint_position', 'actuator_position', 'closure')


@dataclass(frozen=True)
class Parameter:
    """
    A live number of a mechanism that the description sets.

    :param name: Its name in the description, and in ``p``.
    :param description: Its meaning, for the user.
    :param unit: Its unit, empty for a number without a unit.
    :param default: Its value if it is not given; ``None``: it is required.
    :param minimum: Smallest allowed value.
    :param maximum: Largest allowed value.
    :param nonzero: Whether zero is invalid.
    """

    name: str
    description: str
    unit: str = ''
    default: float | None = None
    minimum: float | None = None
    maximum: float | None = None
    nonzero: bool = False

    def read(self, reader: SpecReader) -> float:
        """Return the current value."""
        options = vars(self).copy()
        unit = f' [{unit}]' if (unit := options.pop('unit')) else ''
        return reader.number(**{**options, 'description': f'{self.description}{unit}.'})


class EquationTransmission(MechanismTransmission):
    """
    A mechanism that is its equation: Jacobians, their rates and the inverse are derived from it.

    A type states its members, its :attr:`parameters`, its :meth:`range`, and one of these:

    * ``joint_position(a, p)``: ``q = f(a)``,
    * ``actuator_position(q, p)``: ``a = f^-1(q)``,
    * both, if both are known,
    * ``closure(a, q, p)``, which is zero if the mechanism is closed, with a :meth:`pose`.

    They are static methods that return expressions of CasADi (``import casadi as ca``). A closure
    may also be given together with one of the first two: the other direction is then solved from
    the closure, which often has fewer roots and arc tangents.

    ``a`` and ``q`` are bare coordinates. This class applies the reductions and offsets of the
    robot, ``a = ar a_bare`` and ``q = q_bare / jr + off``. ``a`` and ``q`` are vectors with one
    element per member, in role order. ``p`` holds the numbers by name. An equation is evaluated
    once for all mechanisms of its type, so it may branch (``if``) on a choice but not on a number.

    For everything else see :class:`MechanismTransmission`.

    :param numbers: The numbers of ``p`` by name: a number, a vector, or a tuple of vectors.
        Numbers of :attr:`parameters` with a default may be left out.
    :param choices: Values of ``p`` that are not numbers, by name. An equation may branch on them:
        each combination is compiled separately.
    :param actuator_reduction: ``ar``, ones by default.
    :param joint_reduction: ``jr``, ones by default.
    :param joint_offset: ``off`` [rad or m], zeros by default.
    :raises TransmissionError: If a number is invalid, no position of the range can be reached, or
        the equations contradict each other.
    """

    #: The numbers that the description sets.
    parameters: ClassVar[tuple[Parameter, ...]] = ()

    def __init__(
        self,
        numbers: Mapping[str, Numbers] | None = None,
        *,
        choices: Mapping[str, str] | None = None,
        actuator_reduction: Sequence[float] | None = None,
        joint_reduction: Sequence[float] | None = None,
        joint_offset: Sequence[float] | None = None,
    ) -> None:
        self._set_gears(actuator_reduction, joint_reduction, joint_offset)
        defaults = {x.name: x.default for x in self.parameters if x.default is not None}
        numbers = {**defaults, **(numbers or {})}
        #: The numbers and choices, as passed to the equations.
        self.p = SimpleNamespace(**numbers, **(choices or {}))
        if not all(math.isfinite(each) for _, each in self._list_own_numbers()):
            raise TransmissionError(
                'the dimensions of the mechanism are invalid',
                expected='finite numbers',
                found=str(numbers),
            )
        self._bare: Domain | None = None
        self.domain = self.range()
        space, structure = self.domain.space, shape_of({**self._list_inner_gears(), **numbers})
        solvers = _compile_equations(type(self), space, structure, tuple((choices or {}).items()))
        live = self.live_names
        flat = [float(each) for each in flatten(self._list_inner_gears())]
        flat += [x if name in live else float(x) for name, x in self._list_own_numbers()]
        # The range in the coordinates of the equations.
        bare, ends = self.domain, np.array([self.domain.lower, self.domain.upper])
        if not self._list_inner_gears():
            if space == 'actuator':
                ends = ends / self.actuator_reduction
            else:
                ends = np.array(self.joint_reduction) * (ends - self.joint_offset)
            bare = Domain.between(space, ends)
        pose = None
        if solvers.is_implicit:
            actuators, joints = (np.asarray(side, dtype=np.float64) for side in self.pose())
            if (actuators.shape, joints.shape) != tuple((count,) for count in self.members):
                raise TransmissionError(
                    f'{type(self).__name__}.pose returns a wrong number of positions',
                    expected=f'{self.members[0]} of actuators, {self.members[1]} of joints',
                    found=f'{actuators.tolist()} and {joints.tolist()}',
                )
            if self._list_inner_gears():
                actuators = actuators * self.actuator_reduction
                joints = joints / self.joint_reduction + self.joint_offset
            pose = actuators, joints
        self._mechanism = EquationMechanism(solvers, flat, bare, pose)

    def _list_inner_gears(self) -> dict[str, tuple[float, ...]]:
        """Return the gears that the equations contain: least squares are those of the robot."""
        is_square = self.n_actuators == self.n_joints
        return {} if is_square else {name: getattr(self, name) for name in GEARS}

    def _list_sides(self) -> tuple[Sequence[float], ...]:
        if self._list_inner_gears():
            n, m = self.members
            return (1.0,) * n, (0.0,) * n, (1.0,) * m, (0.0,) * m
        return super()._list_sides()

    @property
    def live_names(self) -> Collection[str]:
        """
        Names of the numbers that are live in C: of ``p``, ``actuator_reduction`` and so on.

        The range in bare coordinates must not depend on them, nor another number of ``p``. By
        default these are reductions and offsets, on the side of the range only if this is a
        :meth:`bare_range`; and the numbers of ``p``, if each of them is one of the description.
        """
        is_bare, numbers = self.domain is self._bare, self._list_own_numbers()
        is_read = all(isinstance(number, LiveNumber) for _, number in numbers)
        gears = (x for x in super().live_names if is_bare or not x.startswith(self.domain.space))
        return [*gears, *(name for name, _ in numbers if is_read)]

    def _list_own_numbers(self) -> list[tuple[str, float]]:
        """Return the numbers of ``p`` one after the other, with their names."""
        numbers = ((name, x) for name, x in vars(self.p).items() if not isinstance(x, str))
        return [(name, number) for name, x in numbers for number in flatten({name: x})]

    @classmethod
    def from_spec(cls, reader: SpecReader) -> EquationTransmission:
        """Build from the parameters, the reductions and the offsets of a description."""
        n_actuators, n_joints = cls.members
        reader.require_members(joints=n_joints, actuators=n_actuators)
        return cls(
            {parameter.name: parameter.read(reader) for parameter in cls.parameters},
            actuator_reduction=reader.actuator_reductions(),
            joint_reduction=reader.joint_reductions(),
            joint_offset=reader.joint_offsets(),
        )

    @abstractmethod
    def range(self) -> Domain:
        """Return the mapped positions; every type defines this, see :meth:`bare_range`."""

    def bare_range(
        self,
        space: Literal['actuator', 'joint'],
        lower: Sequence[float],
        upper: Sequence[float],
    ) -> Domain:
        """
        Return the domain of a range of bare positions.

        :param space: ``actuator`` or ``joint``.
        :param lower: Lower ends, in the coordinates of the equations.
        :param upper: Upper ends.
        :returns: The domain, in the coordinates of the robot.
        :raises TransmissionError: If a bound is not finite, or a lower end is not below the upper.
        """
        Domain(space, tuple(lower), tuple(upper))
        ends = np.array([lower, upper], dtype=np.float64)
        if space == 'actuator':
            ends = ends * self.actuator_reduction
        else:
            ends = ends / self.joint_reduction + self.joint_offset
        self._bare = Domain.between(space, ends)
        return self._bare

    def pose(self) -> tuple[Sequence[float], Sequence[float]]:
        """
        Return bare positions of actuators and joints at which the mechanism is closed.

        A type with a closure alone needs a pose to select one of the solutions. The position in
        the space of the range is used exactly and must be in the range; the other one may be
        approximate. The pose must not be at a dead centre.
        """
        raise TransmissionError(
            f'{type(self).__name__} has a closure alone and does not define how it is assembled',
            expected='pose(), positions of actuators and joints at which it is closed',
            found='no pose',
        )


@lru_cache(maxsize=256)
def _compile_equations(
    cls: type[EquationTransmission],
    space: Literal['actuator', 'joint'],
    shape: tuple[tuple[str, Any], ...],
    choices: tuple[tuple[str, str], ...],
) -> EquationSteps:
    # A subclass sets an equation of its parent to ``None`` to remove it.
    equations = {name: getattr(cls, name, None) for name in _EQUATIONS}
    functions = {name: equation for name, equation in equations.items() if equation is not None}
    needed = 'actuator_position' if space == 'joint' else 'joint_position'
    if needed not in functions and 'closure' not in functions:
        raise TransmissionError(
            f'{cls.__name__} does not define the map of its range',
            expected=f'{needed}, because the range is one of {space} positions, or a closure',
            found=', '.join(functions) or 'no equation',
        )
    starts_at_joint = space == 'joint'
    built = build_equations(functions, starts_at_joint, cls.members, shape, choices)
    return EquationSteps(built, starts_at_joint)
