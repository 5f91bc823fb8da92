# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
A mechanism written as its equation, with functions of CasADi; everything else is derived from it.

It is stated as ``q = f(a)``, as ``a = f^-1(q)``, as both, or as a closure ``g(a, q) = 0``, alone
or with one of them. Slopes and their rates are derived.

Plugins of others subclass the class, so its public names and the three equations are fixed.
Functions are compiled once per class and structure of the numbers, and shared by all instances.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, lru_cache
import math
from threading import RLock
from types import SimpleNamespace
from typing import Any, ClassVar, Literal, TypeAlias
import warnings

import casadi as ca
import numpy as np

from transmission_bridge.errors import counted, TransmissionError
from transmission_bridge.transmissions.compiled import Expression
from transmission_bridge.transmissions.domain import Domain
from transmission_bridge.transmissions.equation_mechanism import EquationMechanism, Equations
from transmission_bridge.transmissions.mechanism.block_system import make_solver
from transmission_bridge.transmissions.mechanism_transmission import MechanismTransmission
from transmission_bridge.transmissions.spec_reader import SpecReader
from transmission_bridge.transmissions.transmission import GEARS
from transmission_bridge.transmissions.tunable import as_floats, LiveNumber

#: A number of a mechanism, a vector of numbers, or a tuple of vectors.
Numbers: TypeAlias = 'float | Sequence[float] | Sequence[Sequence[float]]'

#: Names of the static methods of a type that state its equations.
_EQUATIONS = ('joint_position', 'actuator_position', 'closure')


@dataclass(frozen=True)
class Parameter:
    """
    A live number of a mechanism that the description sets.

    Plugins of others make it. Fields other than ``unit`` are arguments of
    :meth:`SpecReader.number`.

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
        #: The domain that :meth:`bare_range` returned; it writes it when ``range`` calls it below.
        self._bare: Domain | None = None
        self.domain = self.range()
        space, structure = (
            self.domain.space,
            find_equation_structure({**self._list_inner_gears(), **numbers}),
        )
        equations = _compile_equations(
            type(self), space, structure, tuple((choices or {}).items())
        )
        live = self.live_names
        flat = [float(each) for each in flatten_equation(tuple(self._list_inner_gears().values()))]
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
        if equations.is_implicit:
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
        self._mechanism = EquationMechanism(equations, flat, bare, pose)

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
        return [(name, number) for name, x in numbers for number in flatten_equation(x)]

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


# -- the functions of an equation ----------------------------------------------------------------


def find_equation_structure(numbers: Mapping[str, Numbers]) -> tuple[tuple[str, Any], ...]:
    """
    Return the common structure of mechanisms of an equation: names and counts of numbers.

    It is a key of the cache of compiled functions. The numbers are in the order of
    :func:`flatten_equation`.
    """

    def count_values(value: Numbers) -> Any:
        return tuple(map(count_values, value)) if isinstance(value, Sequence) else None

    return tuple((name, count_values(value)) for name, value in numbers.items())


def flatten_equation(numbers: Numbers) -> list[float]:
    """Return the numbers one after the other."""
    if isinstance(numbers, Sequence):
        return [number for part in numbers for number in flatten_equation(part)]
    return [*as_floats([numbers])]


@lru_cache(maxsize=256)
def _compile_equations(
    cls: type[EquationTransmission],
    space: Literal['actuator', 'joint'],
    shape: tuple[tuple[str, Any], ...],
    choices: tuple[tuple[str, str], ...],
) -> Equations:
    """
    Return the functions of mechanisms of one structure.

    Equations have the coordinates of the robot if :data:`GEARS` are among the numbers, else bare
    ones. The slopes follow from the closure, else from the formula of the side of the range,
    because the other one often has roots and branches.

    :raises TransmissionError: If an equation is missing, returns a wrong number of positions or
        calls a function of ``math`` or numpy, or the equations do not determine every member.
    """
    # A subclass sets an equation of its parent to ``None`` to remove it.
    stated_names = [name for name in _EQUATIONS if getattr(cls, name, None) is not None]
    n, starts_at_joint = cls.members, space == 'joint'
    needed = 'actuator_position' if starts_at_joint else 'joint_position'
    if needed not in stated_names and 'closure' not in stated_names:
        raise TransmissionError(
            f'{cls.__name__} does not define the map of its range',
            expected=f'{needed}, because the range is one of {space} positions, or a closure',
            found=', '.join(stated_names) or 'no equation',
        )
    symbols: list[Expression] = []

    def make_symbol(name: str, counts: Any) -> Expression:
        if counts is None or all(count is None for count in counts):
            symbols.append(ca.SX.sym(name, 1 if counts is None else len(counts)))
            return symbols[-1]
        return tuple(make_symbol(name, part) for part in counts)

    by_name = {name: make_symbol(name, counts) for name, counts in shape}
    actuator_reduction, joint_reduction, joint_offset = (
        by_name.pop(name, neutral) for name, neutral in GEARS.items()
    )
    p, numbers = SimpleNamespace(**by_name, **dict(choices)), ca.vertcat(*symbols)
    a, q = sides = ca.SX.sym('a', n[0]), ca.SX.sym('q', n[1])
    bare = a / actuator_reduction, joint_reduction * (q - joint_offset)

    found = [
        _evaluate_equation(cls, 'joint_position', n[1], bare[0], p),
        _evaluate_equation(cls, 'actuator_position', n[0], bare[1], p),
    ]
    if found[0] is not None:
        found[0] = found[0] / joint_reduction + joint_offset
    if found[1] is not None:
        found[1] = found[1] * actuator_reduction
    stated = [
        other - output for other, output in zip((q, a), found, strict=True) if output is not None
    ]
    count = min(n) if stated else n[0 if starts_at_joint else 1]
    closure = _evaluate_equation(cls, 'closure', count, *bare, p)
    stated = stated[:: -1 if starts_at_joint else 1]
    stated = ([] if closure is None else [closure]) + stated
    made = []
    for unknown, output in zip((1, 0), found, strict=True):
        p_and_factors = ca.vertcat(numbers, ca.SX.sym('factor', n[unknown]))
        given = sides[1 - unknown]
        formula = None
        if output is not None:
            formula = ca.Function('formula', [given, p_and_factors], [output])
        made.append((formula, *_derive_rows(stated, sides, p_and_factors, unknown)))
    formulas, rows, bends = zip(*made, strict=True)
    return Equations(starts_at_joint, n, formulas, rows, bends, closure is not None)


def _evaluate_equation(cls: type, name: str, count: int, *arguments: Any) -> Expression:
    """Return the symbols of an equation, ``None`` if it is not stated."""
    equation = getattr(cls, name, None)
    if equation is None:
        return None
    with _symbols_only(name):
        found = equation(*arguments)
    found = ca.vertcat(*found) if isinstance(found, tuple | list) else ca.SX(found)
    if found.shape != (count, 1):
        raise TransmissionError(
            f'{name} returns a wrong number of equations',
            expected=str(count),
            found=str(found.numel()),
        )
    return found


def _derive_rows(
    stated: Sequence[Expression],
    sides: Sequence[Expression],
    numbers: Expression,
    unknown: int,
) -> tuple[Any, Any]:
    """
    Return the rows for the unknown side and their second derivative, from the first that fit.

    More rows than unknowns are solved in the sense of least squares of the given side, with
    derivatives by the pseudo-inverse.
    """
    z, rate = ca.vertcat(*sides), ca.SX.sym('rate', sum(side.numel() for side in sides))
    count = sides[unknown].numel()
    factors = numbers[numbers.numel() - count :]
    fitting = [rows for rows in stated if rows.numel() == count]
    fitting += [rows for rows in stated if rows.numel() > count]
    by_unknown = None if not fitting else ca.jacobian(fitting[0], sides[unknown])
    if by_unknown is None or ca.sprank(by_unknown) < count:
        raise TransmissionError(
            f'the equations do not determine every {("actuator", "joint")[unknown]}',
            expected=f'{counted(count, "independent equation")}, one for each',
            found='; '.join(map(str, stated)),
        )
    (rows, *_), squares = fitting, fitting[0].numel() > count
    slopes = [ca.jacobian(rows, z)]
    rates, gains = [*ca.vertsplit(rate, [0, sides[0].numel(), z.numel()])], ca.SX(1.0)
    solve: Any = ca.SX
    stated_slope = slopes[0]
    if squares:
        # On the given side y: e = y - g(x), G = dg/dx, G' e = 0. It moves with y' = G x'.
        solve = make_solver(ca.jacobian(rows, sides[1 - unknown]))
        gains = -solve(by_unknown)
        rates[1 - unknown] = ca.mtimes(gains, rates[unknown])
        rows = ca.mtimes(gains.T, solve(rows))
        slopes = [ca.jacobian(rows, z), ca.mtimes(gains.T, solve(slopes[0]))]
    slopes = [ca.mtimes(ca.diag(factors), slope) for slope in slopes]

    @cache
    def make_bend() -> Any:
        bent = ca.jtimes(ca.mtimes(stated_slope, rate), z, rate)
        bent = ca.substitute(bent, rate, ca.vertcat(*rates))
        bent = factors * ca.mtimes(gains.T, solve(bent))
        return ca.Function('bend', [z, rate, numbers], [ca.densify(bent)], {'cse': True})

    made = [ca.densify(factors * rows), *slopes]
    return ca.Function('rows', [z, numbers], made, {'cse': True}), make_bend


#: While an equation is evaluated, CasADi's class is modified for all threads.
_ONE_EQUATION = RLock()


@contextmanager
def _symbols_only(name: str) -> Iterator[None]:
    """
    Raise an error if a symbol is converted to a number: CasADi silently returns NaN.

    Functions of numpy are also rejected; only some versions of CasADi warn about them.
    """
    said = TransmissionError(
        f"{name} calls a function that is not CasADi's",
        expected="casadi's cos, as in ca.cos(a), and its other functions",
        found='math.cos, np.cos or a similar function of a symbol',
    )
    with _ONE_EQUATION, warnings.catch_warnings():
        warnings.filterwarnings('error', r'\s*casadi: a numpy function', FutureWarning)
        number_of = ca.SX.__float__

        def reject_conversion(symbol: Expression) -> float:
            if symbol.is_constant():
                return number_of(symbol)
            raise said

        ca.SX.__float__ = reject_conversion  # type: ignore[method-assign]
        try:
            yield
        except FutureWarning as warning:
            raise said from warning
        finally:
            ca.SX.__float__ = number_of  # type: ignore[method-assign]
