# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""The compiled system of one equation or table, with its numbers and its table of starts."""

from __future__ import annotations

import numpy as np

from transmission_bridge.transmissions.calls import map_samples
from transmission_bridge.transmissions.domain import Domain
from transmission_bridge.transmissions.interfaces import ACTUATOR_TO_JOINT, Direction
from transmission_bridge.transmissions.mechanism_transmission import CompiledPart
from transmission_bridge.transmissions.seeds import Seeds
from transmission_bridge.transmissions.system import System
from transmission_bridge.types import Array


class EquationMechanism:
    """
    A system with everything that it needs to map a sample.

    :param numbers: The numbers that are inputs of the compiled functions.
    :param choices: Indices of the numbers that only choose among several solutions.
    :param pose: For a closure alone, ``x`` and an approximate ``y`` of the assembly.
    :raises TransmissionError: If no position of the domain can be reached.
    """

    def __init__(
        self,
        system: System,
        domain: Domain,
        numbers: tuple[float, ...],
        choices: tuple[int, ...] = (),
        pose: tuple[Array, Array] | None = None,
    ) -> None:
        self.system, self.domain, self.numbers, self.choices = system, domain, numbers, choices
        self.seeds = Seeds.from_domain(system, domain, numbers, pose)

    def make_part(self, direction: Direction, max_gain: float) -> CompiledPart:
        """Return the compiled function of a direction with its constant inputs."""
        system, seeds = self.system, self.seeds
        along = (self.domain.space == 'joint') != (direction == ACTUATOR_TO_JOINT)
        n_x, n_y = system.n_x, system.n_y
        n_start = system.n_start(along)
        numbers = [*seeds.list_bounds(self.domain, max_gain), *self.numbers]
        step = system.compile_step(along, seeds.table.shape[1])
        table = seeds.table.T.ravel()

        def find_starts(given: Array, guess: Array | None) -> Array:
            if not n_start:
                return np.zeros((len(given), 0))
            if guess is None:
                with np.errstate(all='ignore'):
                    return seeds.find_starts(given, n_x, along=along)
            start = np.zeros((len(given), n_start))
            start[:, : n_x + n_y] = np.concatenate([guess, given], axis=1)
            return start

        def find_bend(at: Array, rate: Array, place: Array, speed: Array, after: Array) -> Array:
            given = (at, place, rate) if along else (place, at, speed)
            (bent,) = map_samples(system.forms.bend, given, [self.numbers])
            if along:
                return bent
            return -map_samples(step, [at, bent, np.nan * bent, after], [numbers, table])[1]

        return CompiledPart(
            system.compile_near(along),
            step,
            n_start,
            numbers,
            table,
            range(n_x if along else n_y),
            range(n_y if along else n_x),
            [*range(system.n_watch), *(system.n_watch + k for k in self.choices)],
            system.unknown_bounds,
            find_starts,
            find_bend,
        )
