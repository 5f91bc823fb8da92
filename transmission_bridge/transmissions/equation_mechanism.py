# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
The mechanism of an equation: its positions over the range, and both directions.

Types that are equations or tables make one in their constructor and call ``make_part``. All is
fixed after construction, except the compiled directions in :class:`Equations`, which mechanisms of
a structure share. Constants decide which descriptions are accepted and the last bits of solutions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
import math
from typing import Any

import casadi as ca
import numpy as np

from transmission_bridge.errors import TransmissionError
from transmission_bridge.transmissions.compiled import call_for_samples
from transmission_bridge.transmissions.domain import Domain, SLACK
from transmission_bridge.transmissions.mechanism.block_system import Mechanism
from transmission_bridge.transmissions.mechanism.corrector import Corrector
from transmission_bridge.transmissions.mechanism.part import Assembly, MechanismPart
from transmission_bridge.transmissions.mechanism.solver import Solver
from transmission_bridge.types import Array

#: Largest number of damped steps.
STEPS = 60

#: Largest change of a coordinate in a damped step [rad or m].
LONGEST = 0.7


@np.errstate(over='ignore', invalid='ignore')  # residuals may overflow
def iterate_damped(
    evaluate: Callable[[Array], tuple[Array, Array]],
    z: Array,
    free: Sequence[int],
) -> Array:
    """
    Return a position with a small residual, by the steps of Levenberg and Marquardt.

    Linkages also close their loops by it. The caller checks whether the residual is small enough.

    :param evaluate: Returns the residuals at a position and their derivatives by the free
        coordinates, shapes ``(m,)`` and ``(m, n_free)``.
    :param z: The start.
    :param free: Indices of the coordinates that may change.
    """
    damping = 1e-2
    miss, jacobian = evaluate(z)
    size, stalled = float(miss @ miss), 0
    for _ in range(STEPS):
        if not np.isfinite(size) or size < 1e-30:
            break
        normal = jacobian.T @ jacobian
        normal += damping * (np.trace(normal) / len(free) + 1e-12) * np.eye(len(free))
        step = -np.linalg.solve(normal, jacobian.T @ miss)
        longest = np.abs(step).max()
        trial = z.copy()
        trial[free] += step * min(1.0, LONGEST / longest) if longest > 0.0 else 0.0
        next_miss, next_jacobian = evaluate(trial)
        next_size = float(next_miss @ next_miss)
        if next_size < size:
            stalled = stalled + 1 if next_size > 0.98 * size else 0
            z, miss, jacobian, size = trial, next_miss, next_jacobian, next_size
            damping = max(0.1 * damping, 1e-12)
            if longest < 1e-14:
                break
        else:
            damping *= 10.0
            stalled += 1
            if longest < 1e-13 or size < 1e-26:
                break
        if stalled > 6:
            break
    return z


#: Points of the grid per coordinate, by the number of coordinates; for more coordinates.
POINTS, FEWEST = {1: 65, 2: 17, 3: 9, 4: 5}, 3

#: Distances from a dead centre at an end of the range, as shares of it, that the table has.
NEAR_ENDS = 3.0 ** -np.arange(4.0, 12.0)

#: Largest size of a coordinate of a closure alone [rad or m]: a wide range has several assemblies.
LARGEST_SIZE = 1.0

#: Largest difference of equations of one mechanism, as a share of the range.
AGREEMENT = 1e-5

#: Largest difference of a formula from a solution of the closure [rad or m]; another solution is
#: far away.
CONTRADICTION = 1e-4

#: A position is singular if a gain is this many times the reciprocal of the other direction's.
SURE = 1e8


@dataclass(frozen=True, eq=False)
class Equations:
    """
    The functions of the mechanisms of one structure, for both directions; numbers are inputs.

    Coordinates ``z`` are those of actuators, then those of joints. The numbers ``p`` of a
    direction are followed by a factor of each row. Of pairs by direction, the first is from
    actuators to joints. Directions are compiled at their first use.

    :param starts_at_joint: Whether the range is one of joint positions.
    :param n: Numbers of actuators and joints.
    :param formulas: For each direction ``(given, p) -> wanted``, or ``None``.
    :param rows: For each direction ``(z, p) -> r, R`` with as many rows as unknowns.
    :param bends: For each direction, returns the function ``(z, z', p) -> r''`` along a motion.
    :param is_closed: Whether the rows are a closure, which may have more solutions than a formula.
    """

    starts_at_joint: bool
    n: tuple[int, int]
    formulas: tuple[Any, Any]
    rows: tuple[Any, Any]
    bends: tuple[Any, Any]
    is_closed: bool = False
    #: Solvers to actuators, and to joints; :meth:`compile_direction` adds to them.
    _solvers: tuple[list[Solver], list[Solver]] = field(default_factory=lambda: ([], []))

    @property
    def sides(self) -> tuple[list[int], list[int]]:
        """Indices of the coordinates of actuators and joints."""
        return [*range(self.n[0])], [*range(self.n[0], sum(self.n))]

    @property
    def is_implicit(self) -> bool:
        """Whether the map of the range is a closure alone."""
        return self.formulas[self.starts_at_joint] is None

    def compile_direction(self, is_forward: bool, pose: Array, p: Sequence[float]) -> Solver:
        """Return a compiled direction, another one if no order of elimination suits the pose."""
        made = self._solvers[is_forward]
        solver = next((one for one in made if one.corrector.suits(pose, p)), None)
        if solver is None:
            number, back = (0, 1) if is_forward else (1, 0)
            actuators, joints = self.sides
            given, wanted = (actuators, joints) if is_forward else (joints, actuators)
            rows = self.rows[number]
            names = [f'a{k}' for k in actuators] + [f'q{k}' for k in joints]
            z, numbers = ca.SX.sym('z', len(names)), ca.SX.sym('p', rows.numel_in(1))
            signs = ca.SX(0, 1)
            if self.is_closed and (formula := self.formulas[back]) is not None:
                # Positive if a solution of the closure also obeys the other formula.
                others = numbers[: numbers.numel() - len(wanted)]
                inverse = formula(z[wanted], ca.vertcat(others, ca.SX.ones(len(given))))
                signs = CONTRADICTION**2 - ca.sumsqr(inverse - z[given])
            # On the line of one coordinate, a path from the pose to a position is the only one.
            is_unique = not self.is_implicit or self.n == (1, 1)
            mechanism = Mechanism(
                names=tuple(names),
                given=tuple(given),
                wanted=tuple(wanted),
                rows=rows,
                signs=ca.Function('signs', [z, numbers], [signs]),
                kept=tuple(range(rows.size1_out(0))),
                formula=self.formulas[number],
                make_bend=self.bends[number],
                pose=pose,
                p=p,
                has_sizes=True,
                is_unique=lambda rows, places: is_unique,
                what=('the joints', 'the actuators')[is_forward],
            )
            solver = Solver(Corrector(mechanism), is_forward)
            made.append(solver)
        return solver


class EquationMechanism:
    """
    The mechanism of one equation, in bare coordinates: its positions over the range.

    With a pose they are on its branch, else on the branch of the one nearest the middle.

    :param equations: The functions of its structure.
    :param numbers: The numbers of the equations.
    :param domain: The range in bare coordinates.
    :param pose: For a closure alone, positions of actuators and joints; those on the side of the
        range are exact, the others approximate.
    :raises TransmissionError: If no position of the range can be reached, or each is singular; or
        if the pose does not determine the assembly.
    """

    def __init__(
        self,
        equations: Equations,
        numbers: Sequence[float],
        domain: Domain,
        pose: tuple[Array, Array] | None,
    ) -> None:
        self._equations, self._numbers, self._domain = equations, numbers, domain
        starts_at_joint = equations.starts_at_joint
        #: Indices of the coordinates of the range, and of the others.
        self._columns, self._other = equations.sides[:: -1 if starts_at_joint else 1]
        #: The rows of the direction that starts at the range.
        self._rows = self._equations.rows[starts_at_joint]
        with np.errstate(all='ignore'):
            if pose is None:
                points = POINTS.get(len(self._columns), FEWEST)
                z = self._evaluate_formula(domain.grid(points))
            else:
                z = self._walk_from_pose(np.concatenate(pose))
            #: Its positions and what follows from them.
            self.assembly = self._assemble(z, pose is not None)
            is_end = np.isfinite(self.assembly.ends[:, self._columns[0]])
            if pose is None and is_end.any():
                # The closer a position is to a dead centre at an end of the range, the closer a
                # search has to begin.
                rest = self.assembly.positions
                ends = np.array([[domain.lower[0], 1.0], [domain.upper[0], -1.0]])[is_end]
                x = (ends[:, :1] + ends[:, 1:] * domain.span * NEAR_ENDS).reshape(-1, 1)
                near = self._evaluate_formula(x)
                near = near[np.isfinite(near).all(axis=1)]
                positions = np.concatenate([rest[:1], near, rest[1::4]])
                self.assembly = self.assembly._replace(positions=positions)
            self._require_agreement()

    def make_part(
        self, is_forward: bool, sides: Sequence[Sequence[float]], max_gain: float
    ) -> MechanismPart:
        """Return a direction with its numbers; see :meth:`MechanismPart.build`."""
        assembly = self.assembly
        p = self._scale_rows(assembly.pose, assembly.size, is_forward)
        solver = self._equations.compile_direction(is_forward, assembly.pose, p)
        n = self._equations.n if is_forward else self._equations.n[::-1]
        return MechanismPart.build(
            solver, assembly, p, sides, max_gain, (range(n[0]), range(n[1]))
        )

    def _evaluate_formula(self, x: Array) -> Array:
        """Return positions of all coordinates by the formula of the range."""
        formula = self._equations.formulas[self._equations.starts_at_joint]
        (y,) = call_for_samples(formula, [x], [self._add_factors(len(self._other))])
        z = np.empty((len(x), len(self._columns) + len(self._other)))
        z[:, self._columns], z[:, self._other] = x, y
        return z

    def _assemble(self, z: Array, has_pose: bool) -> Assembly:
        """
        Return what follows from positions over the range; with a pose, it is the first one.

        Ends of the side without a range follow from the positions. They are exact with one
        coordinate on each side and the whole range on the branch, because the map is then
        monotone. Otherwise half of the width is added. Gains are in shares of the sizes, so that
        units do not affect the choice between several unknowns.
        """
        columns, other, domain = self._columns, self._other, self._domain
        is_line, at_pose = len(columns) == len(other) == 1, 0
        if is_line:
            order = np.argsort(z[:, columns[0]], kind='stable')
            z, at_pose = z[order], int(np.flatnonzero(order == 0)[0])
        slope = self._compute_slopes(z)
        reachable = np.isfinite(z).all(axis=1) & np.isfinite(slope).all(axis=(1, 2))
        slope = np.where(reachable[:, np.newaxis, np.newaxis], slope, 0.0)
        regular = reachable & (np.linalg.svd(slope, compute_uv=False)[:, -1] > 0.0)
        if not regular.any():
            raise TransmissionError(
                'no position of the domain can be reached; check the dimensions',
                expected='a closed mechanism',
                found=f'no {domain.space} position from {domain.lower} to {domain.upper}',
            )
        middle = np.add(domain.lower, 0.5 * domain.span)
        apart = np.abs((z[:, columns] - middle) / domain.span).sum(axis=1)
        at_pose = at_pose if has_pose else int(np.argmin(np.where(regular, apart, np.inf)))
        on_branch = regular
        if len(columns) == len(other):
            side = np.sign(np.linalg.det(slope))
            on_branch = regular & (side == side[at_pose])
        size = np.empty(z.shape[1])
        reach = np.ptp(z[on_branch][:, other], axis=0)
        size[columns], size[other] = domain.span, np.where(reach > 0.0, reach, 1.0)
        if has_pose:
            size = np.minimum(size, LARGEST_SIZE)
        values = np.linalg.svd(slope * size[columns] / size[other, np.newaxis], compute_uv=False)
        gains = [np.linalg.norm(values, axis=1), np.linalg.norm(1.0 / values, axis=1)]
        typical = [float(np.median(gain[on_branch])) for gain in gains]
        # Rounding gives a singular position either sign, for example at the ends of a full stroke.
        singular = reachable & ~(np.fmax(gains[0], 1.0 / typical[1]) * gains[1] <= SURE)
        seeds = on_branch & ~singular
        if not seeds.any():
            raise TransmissionError(
                'every position of the domain is a dead centre',
                expected='positions with a regular map in both directions',
                found=f'gains of at most {gains[0][on_branch].max():g} and at least '
                f'{gains[1][on_branch].min():g} in the other direction',
            )
        lower, upper = np.empty(z.shape[1]), np.empty(z.shape[1])
        lower[columns], upper[columns] = domain.bounds
        mapped = on_branch | singular
        low, high = z[mapped][:, other].min(axis=0), z[mapped][:, other].max(axis=0)
        is_whole = np.allclose(z[[0, -1]][:, columns], [domain.lower, domain.upper], 1e-9)
        is_monotone = is_line and is_whole and bool(mapped.all())
        margin = (SLACK if is_monotone else 0.5) * (high - low)
        lower[other], upper[other] = low - margin, high + margin
        at_pose = at_pose if seeds[at_pose] else int(np.argmin(np.where(seeds, apart, np.inf)))
        first = [at_pose, *(k for k in np.flatnonzero(seeds).tolist() if k != at_pose)]
        typical = typical[:: -1 if self._equations.starts_at_joint else 1]
        is_exact = np.isin(np.arange(len(size)), columns)
        # A dead centre at an end is one of the branch if the position beside it is.
        is_end = is_monotone & ~seeds[[0, -1]] & seeds[[min(1, len(z) - 1), -2 % len(z)]]
        ends = np.where(is_end[:, np.newaxis], z[[0, -1]], np.nan)
        return Assembly(
            z[at_pose], size, lower, upper, is_exact, [*typical, math.inf], z[first], ends
        )

    def _require_agreement(self) -> None:
        """Raise an error if another equation contradicts the formula of the range."""
        columns, z, size = self._columns, self.assembly.positions, self.assembly.size
        starts_at_joint = self._equations.starts_at_joint
        back = self._equations.formulas[not starts_at_joint]
        if self._equations.is_implicit or (back is None and not self._equations.is_closed):
            return
        if self._equations.is_closed:
            what, p = 'closure', self._scale_rows(z[0], size, not starts_at_joint)
            apart = np.abs(call_for_samples(self._rows, [z], [p])[0])
        else:
            what, p = 'inverse', self._add_factors(len(columns))
            apart = np.abs(call_for_samples(back, [z[:, self._other]], [p])[0] - z[:, columns])
            apart = apart / size[columns]
        worst = int(np.argmax(apart.max(axis=1)))
        # Close to a dead centre, rounding of a position is magnified to its root.
        rounding = math.sqrt(1e-15 * np.abs(z / size).max())
        if rounding <= AGREEMENT and not apart[worst].max() <= AGREEMENT:
            actuators, joints = (z[worst][side].tolist() for side in self._equations.sides)
            raise TransmissionError(
                f'the {what} contradicts the formula of the range',
                expected='equations of one mechanism',
                found=f'a difference of {apart[worst].max():.3g} of the range at actuators '
                f'{actuators} and joints {joints}',
            )

    def _add_factors(self, count: int) -> list[float]:
        """Return the numbers of a direction with neutral factors of its rows."""
        return [*self._numbers, *(1.0,) * count]

    def _scale_rows(self, pose: Array, size: Array, is_forward: bool) -> list[float]:
        """Return numbers with factors of the rows: their slopes by shares have length one."""
        rows = self._equations.rows[0 if is_forward else 1]
        p = self._add_factors(rows.size1_out(0))
        length = np.linalg.norm(rows(pose, p)[1].full() * size, axis=1)
        return [*self._numbers, *(1.0 / np.where(length > 0.0, length, 1.0)).tolist()]

    def _compute_slopes(self, z: Array) -> Array:
        """Return ``dy/dx`` at positions, from the side of the range; NaN if it is unknown."""
        given = self._rows.mx_in()
        whole = ca.Function('slope', given, [ca.densify(self._rows(*given)[-1])])
        (entries,) = call_for_samples(whole, [z], [self._add_factors(len(self._other))])
        jacobian = entries.reshape(len(z), z.shape[1], -1).swapaxes(1, 2)
        is_finite = np.isfinite(jacobian).all(axis=(1, 2), keepdims=True)
        jacobian = np.where(is_finite, jacobian, np.eye(*jacobian.shape[1:]))
        slope = -np.linalg.pinv(jacobian[:, :, self._other]) @ jacobian[:, :, self._columns]
        return np.where(is_finite, slope, np.nan)

    def _walk_from_pose(self, pose: Array) -> Array:
        """Return positions over the range on paths from a pose, which is the first one."""
        columns, other, domain = self._columns, self._other, self._domain
        is_forward, p = not self._equations.starts_at_joint, self._add_factors(len(other))

        def evaluate(z: Array) -> tuple[Array, Array]:
            miss, jacobian, *_ = (output.full() for output in self._rows(z, p))
            return miss.ravel(), jacobian[:, other]

        z = iterate_damped(evaluate, pose, other)
        slope = self._compute_slopes(z[np.newaxis])[0]
        size = np.empty(len(z))
        size[columns] = domain.span
        size[other] = np.abs(pose[other]) + 1e-3 * domain.span.max() + np.abs(slope) @ domain.span
        size = np.minimum(size, LARGEST_SIZE)
        states: Any = []
        if domain.contains(z[columns]) and np.isfinite(z).all() and np.isfinite(slope).all():
            p = self._scale_rows(z, size, is_forward)
            solver = self._equations.compile_direction(is_forward, z, p)
            fixed = np.zeros(0), solver.corrector.collect_numbers(z, p, size)
            paths = solver.continuation
            states = paths.grow_states(fixed, z, *np.array([domain.lower, domain.upper]))
        if not states:
            raise TransmissionError(
                'the pose does not determine how the mechanism is assembled',
                expected=f'a {domain.space} position within {domain.lower} to {domain.upper} '
                'at which it is closed, and not at a dead centre',
                found=f'{pose[columns].tolist()} with {pose[other].tolist()} in the other space',
            )
        if len(states) == 1 or (len(columns) > 1 and not paths.are_consistent(fixed, states)):
            raise TransmissionError(
                'the closure changes its assembly within the range',
                expected=f'one assembly over the {domain.space} positions from {domain.lower} to '
                f'{domain.upper}; narrow the range',
                found='no path from the pose, or two assemblies on different paths to one '
                'position',
            )
        return np.array([solver.joints_of_state(state, fixed[0]) for state in states])
