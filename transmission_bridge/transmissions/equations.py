# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
A mechanism written once, as functions of CasADi; its slopes and their rates are derived.

It is stated as ``q = f(a)``, as ``a = f^-1(q)``, as both, or as a closure ``g(a, q) = 0``, alone
or with one of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from threading import RLock
from types import SimpleNamespace
from typing import Any, TypeAlias
import warnings

import casadi as ca

from transmission_bridge.errors import counted, TransmissionError
from transmission_bridge.transmissions.compiled import Expression
from transmission_bridge.transmissions.mechanism.block_system import make_solver
from transmission_bridge.transmissions.transmission import GEARS
from transmission_bridge.transmissions.tunable import as_floats

#: A number of a mechanism, a vector of numbers, or a tuple of vectors.
Numbers: TypeAlias = 'float | Sequence[float] | Sequence[Sequence[float]]'


def shape_of(numbers: Mapping[str, Numbers]) -> tuple[tuple[str, Any], ...]:
    """Return the common structure of mechanisms of an equation: names and counts of numbers."""

    def count_values(value: Numbers) -> Any:
        return tuple(map(count_values, value)) if isinstance(value, Sequence) else None

    return tuple((name, count_values(value)) for name, value in numbers.items())


def flatten(numbers: Mapping[str, Numbers]) -> list[float]:
    """Return the numbers one after the other."""

    def flatten_value(value: Numbers) -> list[float]:
        if isinstance(value, Sequence):
            return [number for part in value for number in flatten_value(part)]
        return [*as_floats([value])]

    return [number for value in numbers.values() for number in flatten_value(value)]


@dataclass(frozen=True, eq=False)
class Equations:
    """
    The functions of the mechanisms of one structure, for both directions; numbers are inputs.

    Coordinates ``z`` are those of actuators, then those of joints. The numbers ``p`` of a
    direction are followed by a factor of each row.

    :param n: Numbers of actuators and joints.
    :param formulas: For each direction ``(given, p) -> wanted``, or ``None``.
    :param rows: For each direction ``(z, p) -> r, R`` with as many rows as unknowns.
    :param bends: For each direction, returns the function ``(z, z', p) -> r''`` along a motion.
    :param is_closed: Whether the rows are a closure, which may have more solutions than a formula.
    """

    n: tuple[int, int]
    formulas: tuple[Any, Any]
    rows: tuple[Any, Any]
    bends: tuple[Any, Any]
    is_closed: bool = False


def build_equations(
    functions: Mapping[str, Callable[..., Any]],
    starts_at_joint: bool,
    n: tuple[int, int],
    shape: tuple[tuple[str, Any], ...],
    choices: tuple[tuple[str, str], ...],
) -> Equations:
    """
    Return the functions of mechanisms of one structure.

    Equations have the coordinates of the robot if :data:`GEARS` are among the numbers, else bare
    ones. ``functions`` are ``joint_position``, ``actuator_position`` and ``closure``, if defined.
    The slopes follow from the closure, else from the formula of the side of the range, because the
    other one often has roots and branches. ``n`` are the numbers of actuators and joints.

    :raises TransmissionError: If an equation returns a wrong number of positions or calls a
        function of ``math`` or numpy, or the equations do not determine every member.
    """
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

    def call_equation(name: str, count: int, *arguments: Expression) -> Expression:
        if name not in functions:
            return None
        with _symbols_only(name):
            found = functions[name](*arguments, p)
        found = ca.vertcat(*found) if isinstance(found, tuple | list) else ca.SX(found)
        if found.shape != (count, 1):
            raise TransmissionError(
                f'{name} returns a wrong number of equations',
                expected=str(count),
                found=str(found.numel()),
            )
        return found

    found = [
        call_equation('joint_position', n[1], bare[0]),
        call_equation('actuator_position', n[0], bare[1]),
    ]
    if found[0] is not None:
        found[0] = found[0] / joint_reduction + joint_offset
    if found[1] is not None:
        found[1] = found[1] * actuator_reduction
    stated = [
        other - output for other, output in zip((q, a), found, strict=True) if output is not None
    ]
    closure = call_equation('closure', min(n) if stated else n[0 if starts_at_joint else 1], *bare)
    stated = stated[:: -1 if starts_at_joint else 1]
    stated = ([] if closure is None else [closure]) + stated
    made = []
    for unknown, output in zip((1, 0), found, strict=True):
        p_and_factors = ca.vertcat(numbers, ca.SX.sym('factor', n[unknown]))
        given = sides[1 - unknown]
        formula = (
            None if output is None else ca.Function('formula', [given, p_and_factors], [output])
        )
        made.append((formula, *_derive_rows(stated, sides, p_and_factors, unknown)))
    formulas, rows, bends = zip(*made, strict=True)
    return Equations(n, formulas, rows, bends, closure is not None)


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
