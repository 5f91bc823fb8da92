# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
Random power-ups of random robots with single-turn encoders, and what a bridge makes of them.

By hand, all of them: ``PYTHONPATH=test/support python test/bridge/power_ups.py 100000``
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
import itertools
import math
import sys

import numpy as np
from state_paths import record, StatePath
from zoo.elements import ankle, params, ratio, transmission, urdf

from transmission_bridge.bridge.options import BridgeOptions
from transmission_bridge.description import load_description
from transmission_bridge.messages.joint_state import Layout
from transmission_bridge.transmissions import RobotTransmissions
from transmission_bridge.transmissions.registry import Registry

#: How far a reading is off, in periods, and by that a joint beyond its limits.
NOISE = 1e-3

#: Turns to both sides that the oracle looks at.
SEEN = 40

#: How far, in periods, actuators that are more than the joints may disagree.
AGREEMENT = 0.1

REGISTRY = Registry()


# -- random robots -------------------------------------------------------------------------------


@dataclass
class Robot:
    """
    A transmission with the limits of its joints.

    :param kind: Its type.
    :param maps: Its maps.
    :param periods: By actuator.
    :param limits: Lower and upper position of each joint; infinite: continuous.
    """

    kind: str
    maps: RobotTransmissions
    periods: dict[str, float]
    limits: np.ndarray


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


def make(kind, rng):
    """Return a robot of a kind, all its numbers drawn."""
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
    rows = rng.uniform(-0.6, 0.6, (2, 2))
    np.fill_diagonal(rows, 1.0)
    if kind == 'redundant':
        rows = rng.uniform(0.3, 1.0, (1, 2))
    elif kind == 'slider':
        ratios *= 20.0
    elif kind == 'ankle':
        periods *= 0.2
    matrix = ';'.join(' '.join(map(repr, row)) for row in (rows / np.abs(ratios)).tolist())
    more = {'Coupled': params(matrix=matrix), 'CrankSlider': SLIDER}.get(PLUGINS[kind], '')
    joints = {f'j{n}': f'<offset>{offsets[n]}</offset>' for n in range(n_joints)}
    actuators = {f'a{n}': ratio(ratios[n]) for n in range(n_actuators)}
    if kind in ('simple', 'coupled', 'redundant'):
        actuators = dict.fromkeys(actuators, '')
    if kind == 'simple':
        joints['j0'] = ratio(ratios[0], offsets[0])
    block = ankle(joints, actuators) if kind == 'ankle' else ''
    if PLUGINS[kind]:
        block = transmission('t', PLUGINS[kind], joints, actuators, more)

    def mapped(limits):
        ends = {}
        for name, each, (lower, upper) in zip(joints, types, limits, strict=True):
            limit = f'lower="{lower!r}" upper="{upper!r}"' if math.isfinite(lower) else ''
            ends[name] = f'{each} {limit} velocity="1" effort="1"'
        maps = RobotTransmissions(load_description(urdf(ends, block)), registry=REGISTRY)
        assert len(maps.actuator_names) == n_actuators, maps.findings
        return maps

    periods = periods[:n_actuators]
    if kind in DOMAINS:
        low, high = np.array(DOMAINS[kind]).T
        limits = np.sort(rng.uniform(low, high, (2, n_joints)), axis=0).T
    else:
        jacobian = mapped([(-1e3, 1e3)] * n_joints).jacobian(np.zeros(n_actuators))
        travels = np.abs(jacobian) @ periods
        half = 0.5 * travels * rng.uniform(0.2, 1.6, n_joints)
        limits = rng.uniform(-3.0, 3.0, n_joints)[:, np.newaxis] + np.outer(half, [-1, 1])
    limits[[each == 'continuous' for each in types]] = -math.inf, math.inf
    maps = mapped(limits.tolist())
    return Robot(kind, maps, dict(zip(maps.actuator_names, periods.tolist(), strict=True)), limits)


# -- power-ups -----------------------------------------------------------------------------------


def inside(robot, joints, margin):
    """Return which joint positions, ``(n, n_joints)``, are within the limits, all of them."""
    low, high = robot.limits.T
    with np.errstate(invalid='ignore'):
        return ((joints >= low - margin) & (joints <= high + margin)).all(axis=1)


def draw(robot, rng):
    """Return joint positions: anywhere within the limits, often on one of them."""
    low = np.where(np.isfinite(robot.limits[:, 0]), robot.limits[:, 0], -math.pi)
    high = np.where(np.isfinite(robot.limits[:, 1]), robot.limits[:, 1], math.pi)
    share = rng.uniform(0.0, 1.0, len(low))
    on_limit = rng.random(len(low)) < 0.1
    share[on_limit] = np.round(share[on_limit])
    return low + share * (high - low)


def fitting(robot, actuators):
    """
    Return the joints' positions in every turn that fits, by looking at all of them.

    Those that are the same but for whole turns of a continuous joint are one.
    """
    periods = np.array(list(robot.periods.values()))
    seen = SEEN if len(periods) == 1 else SEEN // 4
    shifts = np.array(list(itertools.product(range(-seen, seen + 1), repeat=len(periods))))
    turns = actuators + shifts * periods
    joints = robot.maps.actuator_to_joint('position', turns)
    ok = inside(robot, joints, 0.0)
    if len(periods) > joints.shape[1]:
        back = robot.maps.joint_to_actuator('position', joints)
        ok &= (np.abs(turns - back) < AGREEMENT * periods).all(axis=1)
    continuous = ~np.isfinite(robot.limits[:, 0])
    joints = joints[ok]
    joints[:, continuous] %= 2.0 * math.pi
    kept = []
    for each in joints:
        away = np.abs(each - kept) if kept else np.empty((0, len(each)))
        away[:, continuous] = np.minimum(away, 2.0 * math.pi - away)[:, continuous]
        if not (away < 1e-3).all(axis=1).any():
            kept.append(each)
    return np.array(kept).reshape(-1, joints.shape[1])


def power_up(robot, path, rng, counts):
    """Power a robot up with a new state path, and count the results."""
    truth = draw(robot, rng)[np.newaxis]
    actuators = robot.maps.joint_to_actuator('position', truth)[0]
    if not np.isfinite(actuators).all():
        counts['out of reach'] += 1
        return
    names = robot.maps.actuator_names
    periods = np.array([robot.periods[name] for name in names])
    noise = NOISE * rng.uniform(-1.0, 1.0, len(periods)) * periods
    # It counts turns from its power-up position.
    there = robot.maps.joint_to_actuator('position', draw(robot, rng)[np.newaxis])[0]
    there = np.where(np.isfinite(there), there, actuators)
    readings = (actuators + noise) - periods * np.floor(there / periods)
    path.reset()
    path.states.turns.forget_turns(path.plan.turns)
    for name, reading in sorted(zip(names, readings, strict=True), key=lambda _: rng.random()):
        message = record((name,), [reading])
        layout = Layout(message.names, message.lengths)
        path.merge_message('driver', layout, message, (1, 0), 1.0)
    fit = fitting(robot, actuators + noise)
    measured = robot.maps.actuator_to_joint('position', (actuators + noise)[np.newaxis])
    is_boundary = not inside(robot, measured, 0.0)[0]
    found = path.find_joint_motion(1.0)[0]
    known = np.isfinite(found).all()
    case = 'one' if len(fit) == 1 and not is_boundary else 'boundary' if is_boundary else 'several'
    counts[case] += 1
    counts[f'{case} resolved'] += int(known)
    if known:
        counts['wrong'] += not agrees(robot, found, truth[0])
        return
    (turn,) = path.states.turns.list_open_turns(path.plan.turns)
    counts['accused'] += turn.reason == 'wrong'
    counts['not named'] += turn.reason == 'several' and not named(robot, turn, truth[0])
    counts[f'open, {turn.reason}'] += 1
    for name in names:
        assert (turn.reason == 'none') == ('no turn keeps' in str(turn))
        counts['not said'] += name not in str(turn)
    path.states.use_absolute_positions(
        path.plan, actuators + 0.05 * periods * rng.uniform(-1.0, 1.0, len(periods)), 1.0
    )
    found = path.find_joint_motion(1.0)[0]
    counts['absolute'] += 1
    counts['absolute resolved'] += bool(np.isfinite(found).all())
    counts['wrong'] += bool(np.isfinite(found).all()) and not agrees(robot, found, truth[0])


def agrees(robot, found, truth):
    """Return whether positions are right up to noise and whole turns."""
    away = np.abs(found - truth)
    continuous = ~np.isfinite(robot.limits[:, 0])
    away[continuous] = np.abs((away[continuous] + math.pi) % (2.0 * math.pi) - math.pi)
    periods = np.array(list(robot.periods.values()))
    jacobian = robot.maps.jacobian(robot.maps.joint_to_actuator('position', truth))
    return bool((away <= 3.0 * NOISE * np.abs(jacobian) @ periods + 1e-9).all())


def named(robot, turn, truth):
    """Tell whether the truth is among the candidates."""
    return any(agrees(robot, np.array(each), truth) for each in turn.candidates)


def run(count, seed=0, each=25):
    """Return what became of a number of power-ups, some of each robot, by kind."""
    rng = np.random.default_rng(seed)
    counts = {kind: Counter() for kind in PLUGINS}
    for number in range(count // each):
        kind = KINDS[number % len(KINDS)]
        robot = make(kind, rng)
        periods = tuple(f'{name}={period}' for name, period in robot.periods.items())
        path = StatePath(robot.maps, BridgeOptions(state_timeout=0.0, wrap_period=periods))
        for _ in range(each):
            power_up(robot, path, rng, counts[kind])
    return counts


def main():
    """Print the counts by kind, and the totals after each tenth."""
    count = int(sys.argv[1])
    total = Counter()
    for tenth in range(10):
        for counts in run(count // 10, seed=tenth).values():
            total.update(counts)
        share = total['one resolved'] / total['one']
        print(f'{tenth + 1}/10: {dict(total)}, {share:.3%} of one resolved', flush=True)


if __name__ == '__main__':
    main()
