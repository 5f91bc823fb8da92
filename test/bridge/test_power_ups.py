# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Random power-ups of random robots with single-turn encoders, and what a bridge makes of them."""

from collections import Counter
import itertools
import math

import numpy as np
from state_paths import record, state_path
from zoo.elements import ankle, maps, params, ratio, transmission

#: How far a reading is off, in periods, and by that a joint beyond its limits.
NOISE = 1e-3
#: Turns to both sides that the oracle looks at.
SEEN = 40
#: How far, in periods, actuators that are more than the joints may disagree.
AGREEMENT = 0.1


# -- random robots -------------------------------------------------------------------------------

#: The kinds in turn, with the classes of some; one that takes as long as fifty others is rarer.
PLUGINS = {
    'simple': 'Simple',
    'passed': '',
    'differential': 'Differential',
    'four_bar': 'FourBarLinkage',
    'coupled': 'Coupled',
    'redundant': 'Coupled',
    'slider': 'CrankSlider',
    'ankle': '',
}
KINDS = (*6 * [each for each in PLUGINS if each != 'ankle'], 'ankle')
#: Mechanisms of which limits determine no turn.
UNSEARCHED = {'redundant', 'slider', 'ankle'}
#: Widest limits of the joints of mechanisms with a variable ratio.
DOMAINS = {'slider': [(-1.3, 1.2)], 'ankle': [(-0.85, 0.55), (-0.38, 0.38)]}
SLIDER = params(
    crank_radius=0.04, rod_length=0.12, offset=0.015, crank_angle=1.6, stroke_at_zero=0.08
)


class Robot:
    """
    A transmission of a kind with limits of its joints, all numbers drawn.

    :ivar periods: Of the actuators.
    :ivar limits: Lower and upper position of each joint; infinite: continuous.
    """

    def __init__(self, kind, rng):
        n_joints = 1 if kind in ('simple', 'passed', 'slider', 'redundant') else 2
        n_actuators = 2 if kind == 'redundant' else n_joints
        ratios = rng.choice([-1, 1], 2) * np.exp(rng.uniform(math.log(0.4), math.log(12.0), 2))
        offsets = rng.uniform(-2.0, 2.0, 2) * (kind not in DOMAINS)
        periods = rng.choice([2.0 * math.pi, math.pi, 1.0, rng.uniform(0.5, 9.0)], 2)
        types = ['revolute'] * n_joints
        if kind not in (*DOMAINS, 'redundant') and rng.random() < 0.2:
            types[0] = 'continuous'
            # Such as gears have: else every turn is another position.
            ratios = rng.choice([-1, 1], 2) * rng.choice([1.0, 2.0, 3.0, 0.5, 1.0 / 3.0], 2)
            periods = 2.0 * math.pi * rng.choice([1.0, 1.0, 2.0, 0.5], 2)
        ratios *= 20.0 if kind == 'slider' else 1.0
        periods *= 0.2 if kind == 'ankle' else 1.0
        self.periods = periods[:n_actuators]
        block = _block(kind, n_joints, n_actuators, ratios, offsets, rng)

        def mapped(limits):
            ends = {}
            for place, (each, (lower, upper)) in enumerate(zip(types, limits, strict=True)):
                limit = f'lower="{lower!r}" upper="{upper!r}"' if math.isfinite(lower) else ''
                ends[f'j{place}'] = f'{each} {limit} velocity="1" effort="1"'
            found = maps(ends, block)
            assert len(found.actuator_names) == n_actuators, found.findings
            return found

        if kind in DOMAINS:
            low, high = np.array(DOMAINS[kind]).T
            self.limits = np.sort(rng.uniform(low, high, (2, n_joints)), axis=0).T
        else:
            jacobian = mapped([(-1e3, 1e3)] * n_joints).jacobian(np.zeros(n_actuators))
            half = 0.5 * np.abs(jacobian) @ self.periods * rng.uniform(0.2, 1.6, n_joints)
            middle = rng.uniform(-3.0, 3.0, n_joints)
            self.limits = middle[:, np.newaxis] + np.outer(half, [-1, 1])
        self.continuous = np.array(types) == 'continuous'
        self.limits[self.continuous] = -math.inf, math.inf
        self.maps = mapped(self.limits.tolist())

    def is_inside(self, joints):
        """Return which joint positions, ``(n, n_joints)``, are within the limits, all of them."""
        low, high = self.limits.T
        with np.errstate(invalid='ignore'):
            return ((joints >= low) & (joints <= high)).all(axis=1)

    def draw(self, rng):
        """Return positions of joints within the limits, often on one, and of the actuators."""
        low = np.where(self.continuous, -math.pi, self.limits[:, 0])
        high = np.where(self.continuous, math.pi, self.limits[:, 1])
        share = rng.uniform(0.0, 1.0, len(low))
        on_limit = rng.random(len(low)) < 0.1
        share[on_limit] = np.round(share[on_limit])
        joints = low + share * (high - low)
        return joints, self.maps.joint_to_actuator('position', joints)

    def find_fitting(self, actuators):
        """
        Return the joints' positions in every turn that fits, by looking at all of them.

        Those that are the same but for whole turns of a continuous joint are one.
        """
        seen = SEEN if len(self.periods) == 1 else SEEN // 4
        shifts = list(itertools.product(range(-seen, seen + 1), repeat=len(self.periods)))
        turns = actuators + np.array(shifts) * self.periods
        joints = self.maps.actuator_to_joint('position', turns)
        ok = self.is_inside(joints)
        if len(self.periods) > joints.shape[1]:
            back = self.maps.joint_to_actuator('position', joints)
            ok &= (np.abs(turns - back) < AGREEMENT * self.periods).all(axis=1)
        kept = []
        for each in joints[ok]:
            if not any((self._distance(each, other) < 1e-3).all() for other in kept):
                kept.append(each)
        return kept

    def _distance(self, one, other):
        away = np.abs(one - other)
        away[self.continuous] = np.abs((away[self.continuous] + math.pi) % math.tau - math.pi)
        return away

    def agrees(self, found, truth):
        """Return whether positions are right up to noise and whole turns."""
        jacobian = self.maps.jacobian(self.maps.joint_to_actuator('position', truth))
        allowed = 3.0 * NOISE * np.abs(jacobian) @ self.periods + 1e-9
        return bool((self._distance(found, truth) <= allowed).all())


def _block(kind, n_joints, n_actuators, ratios, offsets, rng):
    """Return the transmission of a kind."""
    rows = rng.uniform(-0.6, 0.6, (2, 2))
    np.fill_diagonal(rows, 1.0)
    if kind == 'redundant':
        rows = rng.uniform(0.3, 1.0, (1, 2))
    joints = {f'j{n}': f'<offset>{offsets[n]}</offset>' for n in range(n_joints)}
    actuators = {f'a{n}': ratio(ratios[n]) for n in range(n_actuators)}
    if kind in ('simple', 'coupled', 'redundant'):
        actuators = dict.fromkeys(actuators, '')
    if kind == 'simple':
        joints['j0'] = ratio(ratios[0], offsets[0])
    if kind == 'ankle':
        return ankle(joints, actuators)
    matrix = ';'.join(' '.join(map(repr, row)) for row in (rows / np.abs(ratios)).tolist())
    more = {'Coupled': params(matrix=matrix), 'CrankSlider': SLIDER}.get(PLUGINS[kind], '')
    return transmission('t', PLUGINS[kind], joints, actuators, more) if PLUGINS[kind] else ''


# -- power-ups -----------------------------------------------------------------------------------


def power_up(robot, path, rng, counts):
    """Power a robot up with a new state path, and count the results."""
    truth, actuators = robot.draw(rng)
    if not np.isfinite(actuators).all():
        counts['out of reach'] += 1
        return
    periods, names = robot.periods, robot.maps.actuator_names
    noisy = actuators + NOISE * rng.uniform(-1.0, 1.0, len(periods)) * periods
    # It counts turns from its power-up position.
    _, there = robot.draw(rng)
    there = np.where(np.isfinite(there), there, actuators)
    readings = noisy - periods * np.floor(there / periods)
    path.reset()
    path.states.turns.forget_turns()
    for name, reading in sorted(zip(names, readings, strict=True), key=lambda _: rng.random()):
        path.feed(record((name,), [reading]), now=1.0)
    case = 'one' if len(robot.find_fitting(noisy)) == 1 else 'several'
    if not robot.is_inside(robot.maps.actuator_to_joint('position', noisy[np.newaxis]))[0]:
        case = 'boundary'

    def resolve(case):
        counts[case] += 1
        found = path.compute_joint_motion(1.0)[0]
        known = bool(np.isfinite(found).all())
        counts[f'{case} resolved'] += known
        counts['wrong'] += known and not robot.agrees(found, truth)
        return known

    if resolve(case):
        return
    (turn,) = path.states.turns.list_open_turns()
    is_named = any(robot.agrees(np.array(each), truth) for each in turn.candidates)
    counts['accused'] += turn.reason == 'wrong'
    counts['not named'] += turn.reason == 'several' and not is_named
    counts['not said'] += sum(name not in str(turn) for name in names)
    counts[f'open, {turn.reason}'] += 1
    assert (turn.reason == 'none') == ('no turn keeps' in str(turn))
    absolute = actuators + 0.05 * periods * rng.uniform(-1.0, 1.0, len(periods))
    path.states.use_absolute_positions(absolute, 1.0)
    resolve('absolute')


def test_random_power_ups(campaign):
    """No turn is wrong; a single candidate is used, several candidates are named."""
    rng, counts = np.random.default_rng(5), {kind: Counter() for kind in PLUGINS}
    for kind in itertools.islice(itertools.cycle(KINDS), 44 * campaign):
        robot = Robot(kind, rng)
        periods = dict(zip(robot.maps.actuator_names, robot.periods.tolist(), strict=True))
        path = state_path(robot.maps, wrap_period=periods)
        for _ in range(15):
            power_up(robot, path, rng, counts[kind])
    total = sum(counts.values(), Counter())
    for kind in UNSEARCHED:
        assert counts[kind]['one resolved'] == 0 < counts[kind]['open, unlimited']
        total['one'] -= counts[kind]['one']
    assert (total['wrong'], total['not named'], total['not said'], total['accused']) == (0,) * 4
    assert total['one resolved'] >= 0.98 * total['one'] > 100
    assert total['several'] > 100
    assert total['several resolved'] == 0
    assert total['absolute resolved'] == total['absolute'] > 100
