# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
The base class of all types with a varying ratio; their maps are compiled functions.

Equations, tables and linkages are its subclasses: their constructors set members, domain, gears,
and ``_mechanism``, unless they define ``_build_parts``. Maps of batches, the program of a robot
and the C export call :meth:`MechanismTransmission.parts`.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import partial
from typing import Any, TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from transmission_bridge.errors import ShapeError, TransmissionError
from transmission_bridge.interfaces import ACTUATOR_TO_JOINT, Direction, Quantity
from transmission_bridge.transmissions.domain import Domain, MapReport
from transmission_bridge.transmissions.linear import as_gears
from transmission_bridge.transmissions.transmission import as_map_values, GEARS, Transmission
from transmission_bridge.types import Array

if TYPE_CHECKING:
    from transmission_bridge.transmissions.equation_mechanism import EquationMechanism
    from transmission_bridge.transmissions.mechanism.part import MechanismPart

#: Default of ``max_gain``, which decides what users receive as singular. Each mechanism in the
#: documentation loses at most 1 % of its domain.
MAX_GAIN = 50.0

#: Larger gains are dominated by rounding. The conformance suite uses it to map all positions.
LARGEST_MAX_GAIN = 1e8


class MechanismTransmission(Transmission):
    """
    A mechanism whose ratio varies, as compiled functions of one sample.

    With ``x`` in the space of the :attr:`domain`, ``y = g(x)`` in the other space and
    ``G = dg/dx``:

    ============= ============================ ======================================
    interface     ``x`` to ``y``               ``y`` to ``x``
    ============= ============================ ======================================
    position      ``y = g(x)``                 ``x = g^-1(y)``
    velocity      ``y' = G x'``                ``x' = G^-1 y'``
    acceleration  ``y'' = G x'' + G' x'``      ``x'' = G^-1 (y'' - G' x')``
    effort        ``tau_y = G^-T tau_x``       ``tau_x = G^T tau_y``
    ============= ============================ ======================================

    ``absolute_position`` is mapped as position, ``torque`` and ``force`` as effort. If the numbers
    of actuators and joints differ, inverses are pseudo-inverses, and a position with more
    equations than unknowns is solved in the least-squares sense. Fewer equations than unknowns are
    rejected when the transmission is built.

    A sample without a result is NaN and counted in ``report``; it never raises an exception:

    ``domain``
        The position is outside :attr:`domain`, or at a dead centre or beyond, so that the
        mechanism does not reach it.
    ``singular``
        The gain of a velocity, an acceleration or an effort would exceed :attr:`max_gain` times
        its median over the domain. The gain is ``|G|`` for ``G`` and ``G^T``, and ``|G^-1|`` for
        ``G^-1`` and ``G^-T``, with the Frobenius norm ``|G| = sqrt(sum G_ij^2)``. With several
        coordinates, ``G`` of an equation is scaled by the ranges of ``x`` and ``y``: units and
        reductions do not matter. In a direction that is solved, both are also lost if the rows are
        closer to dependent than 5e-5 of the pose's distance. A position is never singular.
    ``branch``
        The solution is on another assembly branch: a determinant of the equations, or of ``G``,
        has another sign than at the pose, the regular position nearest to the middle of the
        domain.
    ``no_convergence``
        No certain solution was found for another reason.

    A solution is certain if its last Newton step is below 3e-12 of the range, and its rows are at
    least 1e-6 of the pose's distance from dependent ones: nearer to a dead centre, its side is
    determined by rounding. With one actuator and one joint, a dead centre at an end of the domain
    has only one side and is accepted as that end.

    A formula is evaluated. Otherwise the solver follows the straight path from ``guess``, in a
    stream from the last solution; then the paths from the nearest entries of a table over the
    domain, which is computed when the transmission is built. Without ``guess``, and with up to
    three coordinates, it begins between solutions on a grid. In a stream, the table of a closure
    alone with several coordinates is used for the first sample only, because a position may have
    several solutions on the branch. No state is kept between calls: the caller keeps the last
    solution and passes it as ``guess``.

    A copy is built from the arguments of the constructor, which must not change afterwards.
    """

    members = (1, 1)

    domain: Domain

    #: Largest velocity or effort gain, as a multiple of its median over the domain.
    max_gain: float = MAX_GAIN

    #: The mechanism of an equation or a table; a linkage has none and defines ``_build_parts``.
    _mechanism: EquationMechanism

    #: Positional and named arguments of the constructor.
    _arguments: tuple[tuple[Any, ...], dict[str, Any]]

    #: Cache of :meth:`parts`, which alone writes it.
    _parts: dict[Direction, tuple[MechanismPart, ...]]

    def __new__(cls, *args: Any, **options: Any) -> Any:
        """Keep the arguments."""
        new = super().__new__(cls)
        new._arguments, new._parts = (args, options), {}
        return new

    def __reduce__(self) -> tuple[Any, ...]:
        """Copy by the arguments."""
        args, options = self._arguments
        return partial(type(self), *args, **options), (), {'max_gain': self.max_gain}

    @property
    def live_names(self) -> Collection[str]:
        """Names of the numbers that are live in C, as attributes; others become plain numbers."""
        return tuple(GEARS)

    def with_max_gain(self, max_gain: float) -> MechanismTransmission:
        """
        Return the same transmission with another :attr:`max_gain`.

        A description sets it by the parameter ``max_gain``, which every type has automatically.

        :param max_gain: A number from 1 to :data:`LARGEST_MAX_GAIN`.
        :returns: A new transmission.
        :raises TransmissionError: If the number is out of range.
        """
        if not 1.0 <= max_gain <= LARGEST_MAX_GAIN:
            raise TransmissionError(
                'max_gain is invalid',
                parameter='max_gain',
                expected=f'a number in [1, {LARGEST_MAX_GAIN:g}]',
                found=str(max_gain),
            )
        other = object.__new__(type(self))
        vars(other).update(vars(self), max_gain=max_gain, _parts={})
        return other

    def parts(self, direction: Direction) -> tuple[MechanismPart, ...]:
        """Return the compiled functions of independent sets of members, made once."""
        if direction not in self._parts:
            self._parts[direction] = tuple(self._build_parts(direction))
        return self._parts[direction]

    def _build_parts(self, direction: Direction) -> Sequence[MechanismPart]:
        """Return the compiled functions with their constant inputs."""
        is_forward = direction == ACTUATOR_TO_JOINT
        return (self._mechanism.make_part(is_forward, self._list_sides(), self.max_gain),)

    def _list_sides(self) -> tuple[Sequence[float], ...]:
        """Return reductions and offsets of actuators, then of joints."""
        gears = [
            values if name in self.live_names else tuple(map(float, values))
            for name, values in ((name, getattr(self, name)) for name in GEARS)
        ]
        return gears[0], (0.0,) * self.n_actuators, gears[1], gears[2]

    def _set_gears(
        self,
        actuator_reduction: Sequence[float] | None,
        joint_reduction: Sequence[float] | None,
        joint_offset: Sequence[float] | None,
    ) -> None:
        """Check and keep reductions and offsets; ``None``: ones and zeros."""
        n, m = self.members
        self.actuator_reduction = as_gears('actuator_reduction', actuator_reduction, n)
        self.joint_reduction = as_gears('joint_reduction', joint_reduction, m)
        self.joint_offset = as_gears('joint_offset', joint_offset, m, neutral=0.0)

    def _map_values(
        self, direction: Direction, quantity: Quantity, values: Array, **options: Any
    ) -> Array:
        report, guess = options['report'] or MapReport(), options['guess']
        at = values
        if quantity is not Quantity.POSITION:
            at = _require_shape('at', options['at'], values.shape)
        moving = None
        if quantity is Quantity.ACCELERATION:
            moving = _require_shape('rate', options['rate'], values.shape)
        row = {Quantity.POSITION: 0, Quantity.EFFORT: 2}.get(quantity, 1)
        rows = [at, *(np.full(values.shape, np.nan) for _ in range(2))]
        rows[row] = values
        parts, batch = self.parts(direction), values.shape[:-1]
        n_out = sum(len(part.outputs) for part in parts)
        near = None
        if guess is not None:
            near = _require_shape('guess', guess, (*batch, n_out)).reshape(-1, n_out)
        flat = [each.reshape(-1, values.shape[-1]) for each in rows]
        result = np.full((len(flat[0]), n_out), np.nan)
        for part in parts:
            given = [each[:, part.inputs] for each in flat]
            *outputs, after, status = part.map_samples(
                given, None if near is None else near[:, part.outputs]
            )
            report.count(status)
            result[:, part.outputs] = outputs[row]
            if moving is not None:
                rates = moving.reshape(flat[0].shape)[:, part.inputs]
                result[:, part.outputs] += part.compute_accelerations(given[0], rates, after)
        return result.reshape(*batch, n_out)


def _require_shape(name: str, values: npt.ArrayLike, shape: tuple[int, ...]) -> Array:
    array = as_map_values(name, values, shape[-1])
    if array.shape != shape:
        raise ShapeError(name, expected=str(shape), found=array.shape)
    return array
