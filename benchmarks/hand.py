# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
What calibration by hand finds: arms with hidden zeros, signs and turns, and hands that miss stops.

Each arm is moved jerkily, with pauses, each joint towards positive and then to its stops, each of
which is missed by up to 2 degrees. Where stops are too close together, they are approached again,
as the command says, at most :data:`MOST` times. An answer is wrong if a joint is off by more than
0.5 degrees; an uncertainty holds if the truth is within it. Then limits are measured after a pose
with stops up to 5 degrees beyond the limits, by a hand that does what the guide asks and often
turns back elsewhere: none may be outside of the true stops. A hand that does what the guide asks,
of which half of the joints start at a stop, shows how many presses of buttons that needs.
"""

from __future__ import annotations

import argparse
import math
from pathlib import Path
import sys
import time

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / 'test' / 'support'))

from moved_arm import ANKLE, GEARED, GuidedHand, MovedArm, SERVOS

from transmission_bridge.tools.calibration.guide import HandGuide

#: Approaches of a stop that are told to be repeated.
MOST = 6
#: The accepted error, with the resolution of an encoder [rad].
BOUND, TICK = math.radians(0.5), 2.0 * math.pi / 4096

#: Title, description, ends, approaches at first, and settings of the arm.
SITUATIONS = (
    ('six servos, both stops', SERVOS, (-1, 1), 1, {}),
    ('differential, four-bar, both stops', GEARED, (-1, 1), 1, {'wraps': False}),
    ('parallel ankle, both stops', ANKLE, (-1, 1), 1, {'wraps': False}),
    ('six servos, one stop', SERVOS, (1,), 2, {}),
    ('six servos, one stop, three times', SERVOS, (1,), 3, {}),
    ('differential, four-bar, one stop', GEARED, (-1,), 2, {'wraps': False}),
    (
        'geared, unknown reductions',
        GEARED,
        (-1, 1),
        3,
        {'wraps': False, 'scale': 0.1, 'is_free': True},
    ),
)


def main() -> None:
    """Print a row for each situation."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--arms', type=int, default=200)
    parser.add_argument('--only', default='')
    parser.add_argument('--seed', type=int, default=0)
    options = parser.parse_args()
    print('| situation | transmissions | answered | first time | wrong | holds | ± median | s |')
    print('|' + '---|' * 8)
    for number, (title, text, ends, times, settings) in enumerate(SITUATIONS):
        if options.only not in title:
            continue
        begin, errors, bounds, count, first = time.monotonic(), [], [], 0, 0
        for seed in range(options.arms):
            arm = MovedArm(text, np.random.default_rng([number, options.seed + seed]), **settings)
            arm.show_directions()
            arm.hand.is_confirmed = True
            for each, place in arm.hand.joints:
                each.tracks[place].sides = ends
                for _ in range(times):
                    for side in ends:
                        arm.approach(each.tracks[place].name, side)
            for each in arm.hand.transmissions:
                outcome, count = arm.hand.judge(each), count + 1
                first += not outcome.refusal
                for _ in range(MOST):
                    if not outcome.refusal:
                        break
                    for track in each.tracks:
                        for side in ends:
                            arm.approach(track.name, side)
                    outcome = arm.hand.judge(each)
                if outcome.refusal:
                    continue
                found = arm.compute_errors(outcome)
                errors.append(max(found.values()))
                bounds += [(found[name], away) for name, away in outcome.uncertainty.items()]
        wrong = sum(error > BOUND + TICK for error in errors)
        holds = np.mean([error <= away + TICK for error, away in bounds])
        median = math.degrees(np.median([away for _, away in bounds]))
        print(
            f'| {title} | {count} | {len(errors) / count:.0%} | {first / count:.0%} | {wrong} | '
            f'{holds:.1%} | {median:.2f} deg | {time.monotonic() - begin:.0f} |',
            flush=True,
        )
    seeds = range(options.seed, options.seed + options.arms)
    if options.only in 'guided':
        for has_pose in (False, True):
            measure_guide(seeds, has_pose=has_pose)
    if options.only in 'limits':
        measure_limits(seeds)


def measure_guide(seeds: range, *, has_pose: bool) -> None:
    """Print how much an arm costs whose joints often start at their stops, and what is wrong."""
    presses, seconds, wrong, joints = [], [], 0, 0
    for seed in seeds:
        arm = MovedArm(SERVOS, np.random.default_rng([98, seed]), at_stops=0.5)
        guide = HandGuide(arm.hand, {})
        hand = GuidedHand(arm, guide)
        hand.press()
        hand.press(guide.step.second if has_pose else guide.step.primary)
        hand.run()
        presses.append(hand.presses)
        seconds.append(arm.seconds)
        for outcome in guide.written or ():
            errors = arm.compute_errors(outcome)
            joints += len(errors)
            wrong += sum(error > BOUND + TICK for error in errors.values())
    print(
        f'guided by {"a pose" if has_pose else "stops"}, {len(seeds)} arms of six servos: '
        f'{joints} joints written, {wrong} silently wrong, presses {np.median(presses):g} (most '
        f'{max(presses)}), seconds of motion {np.median(seconds):g} (most {max(seconds):g})',
        flush=True,
    )


def measure_limits(seeds: range) -> None:
    """Print how far measured limits are inside of the true stops."""
    losses, missing = [], 0
    for seed in seeds:
        arm = MovedArm(
            SERVOS, np.random.default_rng([99, seed]), beyond=math.radians(5.0), slips=0.3
        )
        guide = HandGuide(arm.hand, {})
        guide.wants_limits = True
        hand = GuidedHand(arm, guide)
        hand.press()
        hand.press(guide.step.second)
        hand.run()
        missing += len(arm.stops) - len(guide.stops)
        for name, (lower, upper) in guide.stops.items():
            losses += [lower - arm.stops[name][0], arm.stops[name][1] - upper]
    degrees = np.degrees(losses)
    print(
        f'measured limits of {len(seeds)} arms: {len(losses)}, joints without {missing}, '
        f'outside {(degrees < 0.0).sum()}, loss in degrees: median {np.median(degrees):.2f}, '
        f'95 % {np.quantile(degrees, 0.95):.2f}, worst {degrees.max():.2f}',
        flush=True,
    )


if __name__ == '__main__':
    main()
