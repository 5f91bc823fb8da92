# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""A mechanism that is its equation: what a type states, and what is made of it."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
import math
from types import SimpleNamespace
from typing import Any, ClassVar, Literal

import numpy as np

from transmission_bridge.errors import TransmissionError
from transmission_bridge.transmissions.domain import Domain
from transmission_bridge.transmissions.equations import flat, Numbers, shape_of, system_of
from transmission_bridge.transmissions.linear import ratios
from transmission_bridge.transmissions.position_dependent import PositionDependentTransmission
from transmission_bridge.transmissions.spec_reader import SpecReader
from transmission_bridge.transmissions.system import map_samples, System
from transmission_bridge.types import Array

#: What a subclass may define with numpy.
_GIVEN = ('evaluate', 'inverse', 'slope_rate')

_EQUATIONS = ('joint_position', 'actuator_position', 'closure')


@dataclass(frozen=True)
class Parameter:
    """
    A number of a mechanism that its description gives, and that is live.

    :param name: Its name in the description, and in ``p``.
    :param description: What it is, for the user.
    :param unit: Its unit, empty for a number that has none.
    :param default: Its value where it is not given; ``None``: it has to be.
    :param minimum: Smallest value allowed.
    :param maximum: Largest value allowed.
    :param nonzero: Whether zero is refused.
    """

    name: str
    description: str
    unit: str = ''
    default: float | None = None
    minimum: float | None = None
    maximum: float | None = None
    nonzero: bool = False

    def read(self, reader: SpecReader) -> float:
        """Return the value in use."""
        unit = f' [{self.unit}]' if self.unit else ''
        return reader.number(
            self.name,
            description=f'{self.description}{unit}.',
            default=self.default,
            minimum=self.minimum,
            maximum=self.maximum,
            nonzero=self.nonzero,
        )


class EquationTransmission(PositionDependentTransmission):
    """
    A mechanism that is its equation: Jacobians, their rates and the way back are derived from it.

    A type states its members, its :attr:`parameters` and its :meth:`range`, and one of

    * ``joint_position(a, p)``: ``q = f(a)``,
    * ``actuator_position(q, p)``: ``a = f^-1(q)``,
    * both, where both are known,
    * ``closure(a, q, p)``, which is zero where the mechanism closes, with a :meth:`pose`,

    as static methods that give expressions of CasADi (``import casadi as ca``).
    Beside one of the first two a closure may help to solve the other direction: it often has fewer
    roots and arc tangents.

    ``a`` and ``q`` are bare: between them and the robot are the reductions and offsets, which are
    this class's, ``a = ar a_bare`` and ``q = q_bare / jr + off``. They are vectors with one
    element for each member, in role order. ``p`` has the numbers by name. An equation is
    evaluated once for all mechanisms of its type: it may not ask ``if`` of a number, only of a
    choice.

    Everything else is that of :class:`PositionDependentTransmission`.

    :param numbers: The numbers of ``p`` by name: a number, a vector, or a tuple of vectors. Those
        of :attr:`parameters` that have a default may be left out.
    :param choices: What is not a number, by name, also in ``p``: as an equation may ask it, each
        combination is compiled for itself.
    :param actuator_reduction: ``ar``, ones by default.
    :param joint_reduction: ``jr``, ones by default.
    :param joint_offset: ``off`` [rad or m], zeros by default.
    :raises TransmissionError: If a number cannot be used, no position of the range can be reached,
        or the equations do not fit together.
    """

    #: Numbers of actuators and joints.
    members: ClassVar[tuple[int, int]] = (1, 1)

    #: The numbers that the description gives.
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
        n_actuators, n_joints = self.members
        defaults = {each.name: each.default for each in self.parameters}
        numbers = {
            **{name: default for name, default in defaults.items() if default is not None},
            **(numbers or {}),
        }
        self._actuator_reduction = ratios(
            'actuator_reduction', _given(actuator_reduction, 1.0, n_actuators), n_actuators
        )
        self._joint_reduction = ratios(
            'joint_reduction', _given(joint_reduction, 1.0, n_joints), n_joints
        )
        self._joint_offset = tuple(map(float, _given(joint_offset, 0.0, n_joints)))
        if len(self._joint_offset) != n_joints:
            raise TransmissionError(
                'wrong number of values for joint_offset',
                parameter='joint_offset',
                expected=str(n_joints),
                found=f'{len(self._joint_offset)}: {self._joint_offset}',
            )
        everything: dict[str, Numbers] = {
            'actuator_reduction': self._actuator_reduction,
            'joint_reduction': self._joint_reduction,
            'joint_offset': self._joint_offset,
            **numbers,
        }
        #: The numbers and choices, as the equations have them.
        self.p = SimpleNamespace(**numbers, **(choices or {}))
        self._numbers = tuple(flat(everything))
        if not all(map(math.isfinite, self._numbers)):
            raise TransmissionError(
                'the dimensions of the mechanism cannot be used',
                expected='finite numbers',
                found=str(everything),
            )
        self._structure = shape_of(everything), tuple((choices or {}).items())
        super().__init__(self.range())

    @property
    def numbers(self) -> tuple[float, ...]:
        """The numbers one after the other, reductions and offsets first."""
        return self._numbers

    @property
    def equations(self) -> System:
        """What CasADi made of the equations, once for each structure."""
        return _compiled(type(self), self._domain.space, *self._structure)

    def _make_system(self) -> System:
        # A subclass that gives one of these by itself is more than its equations.
        if any(getattr(type(self), n) is not getattr(EquationTransmission, n) for n in _GIVEN):
            return super()._make_system()
        return self.equations

    def evaluate(self, x: Array) -> tuple[Array, Array]:
        """Return ``y`` and ``G`` by the equation; see :class:`PositionDependentTransmission`."""
        y, slope = map_samples(self.equations.value, [x], [self.numbers])
        shape = len(x), self.equations.n_x, self.equations.n_y
        return y, slope.reshape(shape).swapaxes(1, 2)

    def inverse(self, y: Array) -> Array | None:
        """Return ``x`` by its equation, ``None`` where it has to be solved for."""
        function = self.equations.forms.inverse
        return None if function is None else map_samples(function, [y], [self.numbers])[0]

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
        """Return the positions that are mapped; every type says so, see :meth:`bare_range`."""

    def bare_range(
        self,
        space: Literal['actuator', 'joint'],
        lower: Sequence[float],
        upper: Sequence[float],
    ) -> Domain:
        """
        Return bare positions as the domain that they are for the robot.

        :param space: ``actuator`` or ``joint``.
        :param lower: Lower ends, in the coordinates of the equations.
        :param upper: Upper ends.
        """
        ends = np.array([lower, upper], dtype=np.float64)
        if space == 'actuator':
            ends = ends * self._actuator_reduction
        else:
            ends = ends / self._joint_reduction + self._joint_offset
        ends.sort(axis=0)
        return Domain(space, tuple(ends[0].tolist()), tuple(ends[1].tolist()))

    def pose(self) -> tuple[Sequence[float], Sequence[float]]:
        """
        Return bare positions of actuators and joints at which the mechanism closes.

        They say which of a closure's solutions is meant, and are needed by a closure alone. The
        one of the range's space is taken as it is, and has to be in the range; the other one may
        be rough. It must not be at a dead centre.
        """
        raise TransmissionError(
            f'{type(self).__name__} has a closure alone and does not say how it is assembled',
            expected='pose(), positions of actuators and joints at which it closes',
            found='none',
        )

    def _pose(self) -> tuple[Array, Array] | None:
        if not self.system.is_implicit:
            return None
        actuators, joints = (np.asarray(each, dtype=np.float64) for each in self.pose())
        if (actuators.shape, joints.shape) != tuple((count,) for count in self.members):
            raise TransmissionError(
                f'{type(self).__name__}.pose gives another number of positions',
                expected=f'{self.members[0]} of actuators, {self.members[1]} of joints',
                found=f'{actuators.tolist()} and {joints.tolist()}',
            )
        actuators = actuators * self._actuator_reduction
        joints = joints / self._joint_reduction + self._joint_offset
        return (joints, actuators) if self._starts_at_joint else (actuators, joints)

    def __repr__(self) -> str:
        """Return the class with its numbers."""
        names = ('actuator_reduction', 'joint_reduction', 'joint_offset')
        everything = {**vars(self.p), **{name: getattr(self, name) for name in names}}
        numbers = ', '.join(f'{name}={value}' for name, value in everything.items())
        return f'{type(self).__name__}({numbers})'


def _given(values: Sequence[float] | None, default: float, count: int) -> Sequence[float]:
    return (default,) * count if values is None else values


@lru_cache(maxsize=256)
def _compiled(
    cls: type[EquationTransmission],
    space: Literal['actuator', 'joint'],
    shape: tuple[tuple[str, Any], ...],
    choices: tuple[tuple[str, str], ...],
) -> System:
    # ``None`` is how a subclass does without an equation of its parent.
    equations = {name: getattr(cls, name, None) for name in _EQUATIONS}
    functions = {name: each for name, each in equations.items() if each is not None}
    needed = 'actuator_position' if space == 'joint' else 'joint_position'
    if needed not in functions and 'closure' not in functions:
        raise TransmissionError(
            f'{cls.__name__} does not say how its range is mapped',
            expected=f'{needed}, as the range is one of {space} positions, or a closure',
            found=', '.join(functions) or 'no equation',
        )
    return system_of(functions, space == 'joint', cls.members, shape, choices)
