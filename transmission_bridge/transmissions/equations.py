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
from threading import RLock
from types import SimpleNamespace
from typing import Any, TypeAlias
import warnings

import casadi as ca
import numpy as np

from transmission_bridge.errors import TransmissionError
from transmission_bridge.transmissions.sparsity import inverse_pattern
from transmission_bridge.transmissions.system import Forms, solve_linear, System
from transmission_bridge.types import Mask

#: A number of a mechanism, a vector of numbers, or a tuple of vectors.
Numbers: TypeAlias = 'float | Sequence[float] | Sequence[Sequence[float]]'

Expression: TypeAlias = Any


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
        return [float(value)]

    return [number for value in numbers.values() for number in flatten_value(value)]


def build_system(
    functions: Mapping[str, Callable[..., Any]],
    starts_at_joint: bool,
    n: tuple[int, int],
    shape: tuple[tuple[str, Any], ...],
    choices: tuple[tuple[str, str], ...],
) -> System:
    """
    Return the system of mechanisms of one structure; their numbers are inputs.

    ``functions`` are ``joint_position``, ``actuator_position`` and ``closure``, if defined, in
    bare coordinates. ``n`` are the numbers of actuators and joints.

    :raises TransmissionError: If an equation returns a wrong number of positions or calls a
        function of ``math`` or numpy, or a closure does not determine every member.
    """
    n_actuators, n_joints = n
    symbols: list[Expression] = []

    def make_symbol(name: str, counts: Any) -> Expression:
        if counts is None or all(count is None for count in counts):
            symbols.append(ca.SX.sym(name, 1 if counts is None else len(counts)))
            return symbols[-1]
        return tuple(make_symbol(name, part) for part in counts)

    own = {name: make_symbol(name, counts) for name, counts in shape}
    actuator_reduction, joint_reduction, joint_offset = (
        own.pop(name) for name in ('actuator_reduction', 'joint_reduction', 'joint_offset')
    )
    p = SimpleNamespace(**own, **dict(choices))
    numbers = ca.vertcat(*symbols)
    actuators = ca.SX.sym('a', n_actuators)
    joints = ca.SX.sym('q', n_joints)
    bare_actuators = actuators / actuator_reduction
    bare_joints = joint_reduction * (joints - joint_offset)

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

    to_joints = call_equation('joint_position', n_joints, bare_actuators)
    if to_joints is not None:
        to_joints = to_joints / joint_reduction + joint_offset
    to_actuators = call_equation('actuator_position', n_actuators, bare_joints)
    if to_actuators is not None:
        to_actuators = to_actuators * actuator_reduction
    x, y = (joints, actuators) if starts_at_joint else (actuators, joints)
    value, inverse = (to_actuators, to_joints) if starts_at_joint else (to_joints, to_actuators)
    n_closures = y.numel() if value is None else min(n)
    closure = call_equation('closure', n_closures, bare_actuators, bare_joints)
    return System(_derive_forms(x, y, numbers, value, inverse, closure), numbers.numel())


def _derive_forms(
    x: Expression,
    y: Expression,
    numbers: Expression,
    value: Expression,
    inverse: Expression,
    closure: Expression,
) -> Forms:
    rate = ca.SX.sym('rate', x.numel())
    by_x, by_y = (None if closure is None else ca.jacobian(closure, each) for each in (x, y))  # type: tuple[Expression, Expression]
    if value is None:
        if ca.sprank(by_y) < y.numel():
            raise TransmissionError(
                'closure does not determine every member',
                expected=f'{y.numel()} equations that determine {y}',
                found=str(closure),
            )
        slope = -solve_linear(by_y, by_x)
        pattern = inverse_pattern(_nonzero_pattern(by_y).astype(float)) @ _nonzero_pattern(by_x)
    else:
        slope = ca.jacobian(value, x)
        pattern = _nonzero_pattern(slope)
    place, along = (x, rate)
    if value is None:
        place, along = ca.vertcat(x, y), ca.vertcat(rate, ca.mtimes(slope, rate))
    bent = ca.jtimes(ca.mtimes(slope, rate), place, along)
    options = {'cse': True}
    return Forms(
        value=None
        if value is None
        else ca.Function('value', [x, numbers], [value, slope], options),
        inverse=None if inverse is None else ca.Function('inverse', [y, numbers], [inverse]),
        closure=None
        if closure is None
        else ca.Function('closure', [x, y, numbers], [closure, by_x, by_y], options),
        bend=ca.Function('bend', [x, y, rate, numbers], [ca.densify(bent)], options),
        pattern=pattern,
    )


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


def _nonzero_pattern(matrix: Expression) -> Mask:
    return np.asarray(ca.DM(matrix.sparsity(), 1).full() != 0.0)
