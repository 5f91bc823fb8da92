# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
The promises of docs/commands_and_states.md as a model of what the drivers are sent.

It shares no code with the gate: dictionaries by joint and actuator, and loops. What has to be
sent is found from the events, and compared with every message in both directions. Counts are by
the number of the promise; ``exact`` and ``open`` are the two against a gate that changes numbers
or rejects everything.
"""

from __future__ import annotations

from itertools import pairwise
import math
from types import SimpleNamespace

from promise_robots import No

MODES = ('position', 'velocity', 'effort')
FIELDS = {'positions': 0, 'velocities': 1, 'accelerations': 3, 'effort': 2}


class Broken(AssertionError):
    """A promise is broken."""


class Promises:
    """What the drivers were told, and what they have to be told next."""

    def __init__(self, facts, mechanics, options, counts):
        self.facts, self.mechanics, self.options, self.counts = facts, mechanics, options, counts
        self.limits = {name: dict(motor.limits) for name, motor in facts.motors.items()}
        self.actuators = {facts.place(name): name for name in facts.motors}
        timeout = options.command_timeout
        self.timeout = {-1.0: 0.5, 0.0: math.inf}.get(timeout, timeout)
        self.shift, self.unsent = {}, {}
        self.reset()

    def reset(self):
        """Forget every command: a deactivation."""
        self.told = {name: {} for name in self.facts.motors}  # what it still follows, by mode
        self.held = {name: {} for name in self.facts.joints}
        self.efforts = dict.fromkeys(self.facts.motors, 0.0)  # the last that it was sent
        self.since, self.coming, self.arrival = {}, [], {}
        self.returned, self.kept, self.now = set(), set(), -math.inf

    def hold(self, promise, is_kept, what):
        """Check one promise."""
        self.counts[promise] += 1
        if not is_kept:
            raise Broken(f'promise {promise}: {what}')

    def group(self, name):
        """Return the joints and actuators that move together."""
        return self.mechanics.group_of[name]

    # -- time, silence, tuning -------------------------------------------------------------------

    def look(self, now):
        """Let time pass."""
        self.mechanics.note_time(now)
        if now < self.now:  # every command is over, and nobody knows where anything is
            self.begin(math.inf)
            self.since = dict.fromkeys(self.since, -math.inf)
            self.forget(self.facts.motors)
        self.begin(now)
        silent = self.mechanics.silent(now) | self.returned
        self.forget([name for name in self.facts.motors if self.facts.place(name)[0] in silent])
        self.returned = set()

    def begin(self, now):
        """Start trajectories that are due."""
        self.now = now
        for end in [each for each in self.coming if each['start'] <= now]:
            self.coming.remove(end)
            self.held |= end['held']
            self.told |= end['told']
            self.arrival |= dict.fromkeys(end['told'], end['until'])
            self.since = {n: t for n, t in self.since.items() if n not in end['held']}
            self.since |= dict.fromkeys(end['named'], end['until'])

    def forget(self, actuators):
        """Forget positions: somebody may have moved the actuators."""
        for name in actuators:
            self.told[name].pop(0, None)
            self.arrival.pop(name, None)
            for joint in self.group(name).joints:
                self.held[joint].pop(0, None)

    def tuned(self, group, robot, changes):
        """Use other numbers; joints go on holding where their actuators were sent."""
        for key, value in changes.items():
            if '.limit.' in key:
                _, name, _, leaf = key.split('.')
                self.limits[name][leaf] = value
            elif key.endswith('torque_constant'):
                self.mechanics.unit[key.split('.')[1]][2] = value
            else:
                self.mechanics.numbers[group.name][key] = value
        self.mechanics.use(robot)
        places = [(self.held, self.told), *((end['held'], end['told']) for end in self.coming)]
        for held, told in places:
            sent = {name: told.get(name, {}).get(0) for name in group.actuators}
            for joint, value in self.mechanics.to_joints(group, sent, 0).items():
                if 0 in held.get(joint, {}) and value is not None:
                    held[joint][0] = value

    def before_tuning(self, group):
        """Return the command in force of a group and what it means, ``None``: there is none."""
        mine = {joint: dict(self.held[joint]) for joint in group.joints}
        live = all(self.since.get(joint, math.inf) + self.timeout > self.now for joint in mine)
        if not live or len({*map(tuple, mine.values())}) > 1 or not mine[group.joints[0]]:
            return None
        if not self.since.keys() >= mine.keys() or group.is_few:
            return None
        if any(not self.told[name] for name in group.actuators):
            return None
        told = {name: dict(self.told[name]) for name in group.actuators}
        measured = {name: self.mechanics.readings.get(name, (None,))[0] for name in told}
        return SimpleNamespace(
            command=mine,
            told=told,
            measured=measured,
            matrix=self.mechanics.formula[group.name][0],
        )

    def judge_tuning(self, group, before, refused, found):
        """Check that the same command moves no joint by more than the guard allows (8)."""
        if refused:
            return
        rows = before.told[group.actuators[0]].keys()
        now = {row: {n: found.numbers[n, row] for n in group.actuators} for row in rows}
        if 0 in rows:
            old = {name: values[0] for name, values in before.told.items()}
            ends = [self.mechanics.to_joints(group, each, 0) for each in (old, now[0])]
            for joint, line in zip(group.joints, before.matrix, strict=True):
                # A ratio may change by a factor of two about where the joint is measured.
                about = [before.measured[name] for name in group.actuators]
                away = [
                    0.0 if at is None else abs(factor * (old[name] - at))
                    for factor, name, at in zip(line, group.actuators, about, strict=True)
                ]
                most = (0.05 if self.facts.joints[joint].slides else 0.1) + sum(away)
                moved = abs(ends[0][joint] - ends[1][joint])
                self.hold('8', moved <= most * (1 + 1e-6), f'{joint} moved by {moved}, {most}')
        for row in rows & {1, 2} if group.is_single else ():
            (old,), (new,) = ({values[row] for values in before.told.values()}, now[row].values())
            grown = abs(new) > 2 * (1 + 1e-6) * abs(old)
            fell = row == 2 and abs(old) > 2 * (1 + 1e-6) * abs(new)
            self.hold('8', not grown and not fell and old * new >= 0, f'{row}: {old} became {new}')

    # -- what may be sent ------------------------------------------------------------------------

    def measured(self, group, row=0):
        """Return what is known of joints: nothing older than the timeout (2)."""
        return self.mechanics.measured(group, self.now, row)

    def clamp(self, joint, row, value):
        """Hold a joint's value within its limits (1)."""
        it = self.facts.joints[joint]
        upper = (it.upper, it.velocity, it.effort, math.inf)[row]
        lower = -upper if row else it.lower
        if self.options.limits == 'reject' and not lower <= value <= upper:
            raise No('1')
        return value if self.options.limits == 'off' else min(max(value, lower), upper)

    def outward(self, group, values, may_refuse=True):
        """End what leads further out beyond a position limit (7); values by joint and row."""
        stops, off = set(), self.options.limits == 'off'
        if off or not any(own.get(row) for own in values.values() for row in (1, 2)):
            return
        position = self.measured(group)
        for joint, own in values.items():
            it, at = self.facts.joints[joint], position[joint]
            sense = 0 if at is None else (at > it.upper) - (at < it.lower)
            if own.get(1, 0) * sense > 0:
                stops |= {(name, 1) for name in (values if group.is_few else [joint])}
            if own.get(2, 0) * sense > 0:
                speed = self.measured(group, 1)[joint]
                if speed is not None and speed * sense > self.options.zero_max_velocity:
                    stops.add((joint, 2))
            self.counts['7'] += any(own.get(row, 0) * sense > 0 for row in (1, 2))
        if stops and self.options.limits == 'reject' and may_refuse:
            raise No('7')
        for joint, row in stops:
            if row in values[joint]:
                values[joint][row] = 0.0

    def within(self, group, row, values, may_refuse=True):
        """Hold values of the actuators of a transmission within their limits (1)."""
        share = 1.0
        for name, value in values.items():
            upper = self.limits[name].get(('upper', 'velocity', 'effort')[row], math.inf)
            lower = -upper if row else self.limits[name].get('lower', -math.inf)
            slack = [1e-9 * (1 + abs(bound)) for bound in (lower, upper)]
            if self.options.limits == 'off' or lower - slack[0] <= value <= upper + slack[1]:
                continue
            if may_refuse and (
                self.options.limits == 'reject' or (not row and not group.is_single)
            ):
                raise No('1')
            if not row:
                return {name: min(max(value, lower), upper)}
            share = min(share, upper / abs(value))
        return {name: value * share for name, value in values.items()}

    def partner(self, group, joint, row, may_be_zero=True):
        """Return what a joint that a command leaves out goes on doing (2, 3)."""
        if row and may_be_zero and self.options.partial_commands == 'zero':
            return 0.0
        is_under_way = any(self.arrival.get(n, -math.inf) > self.now for n in group.actuators)
        found = None if is_under_way else self.held[joint].get(row)
        if found is None and row == 0:
            found = self.measured(group)[joint]
        if found is None:
            raise No('3' if row else '2')
        return found

    def complete(self, group, own, rows):
        """Fill in the joints that a command leaves out (3), and apply 7."""
        missing = [joint for joint in group.joints if joint not in own]
        follows = group.is_few and group.name in self.mechanics.formula
        if missing and not follows:
            if group.is_few or self.options.partial_commands == 'reject':
                raise No('3')
            for joint in missing:
                own[joint] = {row: self.partner(group, joint, row) for row in rows}
        if follows:
            self.follow(group, own, rows)
        self.outward(group, own)

    def follow(self, group, own, rows):
        """Set joints that one motor moves to what it gives them."""
        for row in rows:
            given = {joint: values[row] for joint, values in own.items() if row in values}
            sent = self.mechanics.to_actuators(group, given, row)
            found = self.mechanics.to_joints(group, sent, row) if row < 2 else given
            for joint in group.joints:
                own.setdefault(joint, {})[row] = found.get(joint, 0.0)

    def mapped(self, group, own, rows):
        """Return what the actuators of a group are told, by name and row."""
        result = {name: {} for name in group.actuators}
        varies = group.name not in self.mechanics.formula
        for row in rows:
            at = self.measured(group) if varies else None
            if row == 1 and 0 in rows:
                at = {joint: values[0] for joint, values in own.items()}
            values = {joint: each[row] for joint, each in own.items()}
            values = self.mechanics.to_actuators(group, values, row, at)
            for name, value in values.items():
                result[name][row] = value
        return result

    # -- commands --------------------------------------------------------------------------------

    def expect(self, command, turn):
        """Return what joints and actuators are told by a command, by name and row."""
        groups = list(dict.fromkeys(map(self.group, command)))
        if self.options.mixed_commands == 'reject' and len({*map(tuple, command.values())}) > 1:
            raise No('3')
        own = {
            group: {j: dict(command[j]) for j in group.joints if j in command} for group in groups
        }
        for joint, values in (each for joints in own.values() for each in joints.items()):
            for row in values:
                values[row] = self.clamp(joint, row, values[row])
        for joints in own.values():
            if len({*map(tuple, joints.values())}) > 1:
                raise No('3')
        rows = {group: [*next(iter(own[group].values()))] for group in groups}
        for group in groups:
            self.complete(group, own[group], rows[group])
        told, lost = {}, []
        for group in groups:
            try:
                told |= self.mapped(group, own[group], rows[group])
            except No:
                lost.append(group)
        if lost:
            raise No('open', lost)
        for name, values in told.items():
            if 0 in values and turn(name) is False:
                raise No('2')
        for group in groups:
            self.limit(group, told)
        return {joint: values for joints in own.values() for joint, values in joints.items()}, told

    def limit(self, group, told, may_refuse=True):
        """Hold what actuators of a group are told within their limits, in place."""
        for row in {0, 1, 2} & told[group.actuators[0]].keys():
            values = {name: told[name][row] for name in group.actuators}
            for name, value in self.within(group, row, values, may_refuse).items():
                told[name][row] = value

    def judge_command(self, command, turn, refused, found):
        """Compare what was sent by a command, or why it was rejected, with what must be."""
        try:
            joints, sent = self.expect(command, turn)
        except No as no:
            self.hold(no.args[0], refused is not None, f'accepted {command}')
            lost = no.args[1] if len(no.args) > 1 else []
            rates = {j for j, values in command.items() if values.keys() & {1, 2}}
            over = {j for g in lost if rates & {*g.joints} for j in g.joints}
            return self.judge_ends(
                found, turn, {j for j in over if self.held[j].keys() & {1, 2}}, bool(lost)
            )
        if refused == 'unknown_turn' and any(turn(name) is None for name in sent):
            return None
        self.hold('open', refused is None, f'rejected as {refused}: {command}')
        self.compare('exact', found, sent)
        self.coming = [end for end in self.coming if not end['held'].keys() & joints.keys()]
        self.held |= joints
        self.told |= sent
        for name, values in sent.items():
            self.arrival.pop(name, None)
            self.efforts[name] = values.get(2, self.efforts[name])
        for joint in joints:
            if self.group(joint).is_few:
                self.since.pop(joint, None)
        self.since |= dict.fromkeys(command, self.now)
        self.kept -= command.keys()
        return self.judge_arrays(found, turn)

    def compare(self, promise, found, expected):
        """Compare numbers by actuator and row: no more, no less, the same, and within limits."""
        expected = {(name, row): v for name in expected for row, v in expected[name].items()}
        self.hold('3', found.numbers.keys() == expected.keys(), f'{found.numbers} for {expected}')
        for key, value in found.numbers.items():
            self.same(promise, key, value, expected[key])

    def same(self, promise, key, value, expected):
        """Compare a number that was sent."""
        name, row = key
        tolerance = 1e-9 if self.group(name).name in self.mechanics.formula else 1e-6
        is_same = abs(value - expected) <= tolerance * (1 + abs(expected))
        self.hold(promise, is_same, f'{name} was sent {row}: {value} for {expected}')
        limits = self.limits[name]
        upper = limits.get(('upper', 'velocity', 'effort', '')[row], math.inf)
        lower = -upper if row else limits.get('lower', -math.inf)
        if self.options.limits != 'off' and (upper < math.inf or lower > -math.inf):
            is_within = lower - 1e-9 * (1 + abs(lower)) <= value <= upper + 1e-9 * (1 + abs(upper))
            self.hold('1', is_within, f'{name} was sent {row}: {value}')
        if row == 0 and self.facts.motors[name].period:
            self.counts['2'] += 1

    def judge_arrays(self, found, turn, ends=False):
        """Compare arrays with what each member is told (3)."""
        for space, order in self.orders.items():
            for row in {r for name, r in found.numbers if name in order}:
                told = {name: self.told[name].get(row) for name in order}
                way = {n for n in order if self.arrival.get(n, -math.inf) > self.now}
                lacking = {n for n in order if told[n] is None or n in way}
                if ends:
                    rest = {
                        n: self.efforts[n] if row == 2 else (told[n] or 0.0) * (n not in way)
                        for n in order
                    }
                    told = {n: found.numbers.get((n, row), rest[n]) for n in order}
                    told |= {n: self.clip(n, row, v) for n, v in told.items()}
                    lacking = set()
                else:
                    lacking |= {
                        n
                        for n in order
                        if n not in lacking
                        and abs(self.clip(n, row, told[n]) - told[n]) > 1e-9 * (1 + abs(told[n]))
                    }
                    lacking |= {n for n in order if space in self.mechanics.silent(self.now)}
                    lacking |= {n for n in order if row == 0 and turn(n) is False}
                array = found.arrays.pop((space, row), None)
                unsure = not ends and row == 0 and any(turn(n) is None for n in order)
                if not (unsure and array is None):
                    is_right = (array is None) == bool(lacking)
                    self.hold('3', is_right, f'array {row} of {space!r}: {array}, {lacking}')
                if lacking:
                    self.unsent[space, row] = self.unsent.get((space, row), 0) + 1
                for name, value in (array or {}).items():
                    self.same('3', (name, row), value, told[name])
        self.hold('3', not found.arrays, f'arrays nobody asked for: {found.arrays}')

    def clip(self, name, row, value):
        """Return a number of an actuator within its limits."""
        upper = self.limits[name].get(('upper', 'velocity', 'effort')[row], math.inf)
        lower = -upper if row else self.limits[name].get('lower', -math.inf)
        return value if self.options.limits == 'off' else min(max(value, lower), upper)

    # -- ends ------------------------------------------------------------------------------------

    def judge_ends(self, found, turn, cancelled=(), are_due=True):
        """Check that every velocity (and effort) ends in time, and nothing else does (4)."""
        due = {j for j, t in self.since.items() if self.now - t > self.timeout or t == -math.inf}
        due = due | (self.since.keys() & cancelled) if are_due else set()
        rows, sent, before = (1, 2) if self.options.zero_effort else (1,), {}, self.told
        for group in self.facts.groups:
            over = due & {*group.joints}
            if not over:
                continue
            over = {*group.joints} if group.is_few else over
            own = {joint: {} for joint in group.joints}
            for row in rows:
                if any(row in self.held[joint] for joint in over):
                    for joint in group.joints:
                        own[joint][row] = 0.0 if joint in over else self.held[joint].get(row, 0.0)
            self.outward(group, own, False)
            try:
                told = self.mapped(group, own, [*own[group.joints[0]]])
                self.limit(group, told, False)
            except No:
                over = {*group.joints}
                told = {n: {r: 0.0 for r in self.told[n] if r in rows} for n in group.actuators}
            sent |= told
            for joint in over:
                if 2 in self.held[joint] and 2 not in own[joint]:
                    self.kept.add(joint)
                self.since.pop(joint, None)
            for joint in group.joints:
                self.held[joint] |= own[joint]
        self.compare('4', found, sent)
        for (name, row), value in found.numbers.items():
            self.told[name].pop(row, None)
            if value:
                self.told[name][row] = value
            if row == 2:
                self.efforts[name] = value
        return self.judge_arrays(found, turn, ends=True)

    def judge_stop(self, found, turn):
        """Check that stopping ends every active velocity, and nothing else (5)."""
        told = {name: {*values} for name, values in self.told.items()}
        for end in self.coming:
            for name, values in end['told'].items():
                told[name] |= values.keys()
        rows = {1, 2} if self.options.zero_effort else {1}
        rows = rows if self.options.on_stop == 'zero_rates' else set()
        self.compare('5', found, {n: dict.fromkeys(told[n] & rows, 0.0) for n in told})
        self.judge_arrays(found, turn, ends=True)
        self.reset()

    # -- trajectories ----------------------------------------------------------------------------

    def expect_trajectory(self, names, points, turn):
        """Return what the waypoints tell joints and actuators, each by name and row."""
        joints, sent = [{} for _ in points], [{} for _ in points]
        for group in dict.fromkeys(map(self.group, names)):
            missing = [joint for joint in group.joints if joint not in names]
            if missing and (group.is_few or self.options.partial_commands == 'reject'):
                raise No('3')
            rows = {row for _, given in points for row in given}
            rest = {
                j: {0: self.partner(group, j, 0) if 0 in rows else 0, 1: 0.0, 3: 0.0}
                for j in missing
            }
            for joint in missing if 2 in rows else ():
                rest[joint][2] = self.partner(group, joint, 2, may_be_zero=False)
            varies = group.name not in self.mechanics.formula
            for number, (_, given) in enumerate(points):
                own = joints[number]
                for joint in group.joints:
                    own[joint] = {
                        r: rest[joint][r]
                        if joint in missing
                        else self.clamp(joint, r, given[r][joint])
                        for r in given
                    }
                if varies and (0 not in given or (3 in given and 1 not in given)):
                    raise No('2')
                mine = {joint: own[joint] for joint in group.joints}
                if group.is_few and not varies:
                    self.follow(group, mine, given.keys() & {1})
                self.outward(group, mine)
                at, rate = ({j: v.get(row) for j, v in mine.items()} for row in (0, 1))
                told = {name: {} for name in group.actuators}
                for row in given:
                    values = {joint: each[row] for joint, each in mine.items()}
                    for name, value in self.mechanics.to_actuators(
                        group, values, row, at, rate
                    ).items():
                        told[name][row] = value
                if 0 in given and any(turn(name) is False for name in told):
                    raise No('2')
                self.limit(group, told)
                sent[number] |= told
            self.check_speed(group, [t for t, _ in points], joints, sent, varies)
        return joints, sent

    def check_speed(self, group, times, joints, sent, varies):
        """Reject what is too fast between two waypoints (1)."""
        if self.options.limits == 'off':
            return
        steps = [
            (t, j, a)
            for t, j, a in zip(times, joints, sent, strict=True)
            if 0 in j[group.joints[0]]
        ]
        for (t0, j0, a0), (t1, j1, a1) in pairwise(steps):
            way = [a0, a1]
            if varies:
                middle = {j: (j0[j][0] + j1[j][0]) / 2 for j in group.joints}
                way.insert(
                    1,
                    {n: {0: v} for n, v in self.mechanics.to_actuators(group, middle, 0).items()},
                )
            seconds = (t1 - t0) / (len(way) - 1)
            speeds = [
                (abs(j1[j][0] - j0[j][0]) / (t1 - t0), self.facts.joints[j].velocity)
                for j in group.joints
            ]
            speeds += [
                (abs(y[n][0] - x[n][0]) / seconds, self.limits[n].get('velocity', math.inf))
                for x, y in pairwise(way)
                for n in group.actuators
            ]
            if any(speed > limit * (1 + 1e-9) for speed, limit in speeds):
                raise No('1')

    def judge_trajectory(self, names, points, start, turn, refused, found):
        """Compare a trajectory that was sent, or why it was rejected, with what must be."""
        try:
            joints, sent = self.expect_trajectory(names, points, turn)
        except No as no:
            return self.hold(no.args[0], refused is not None, f'accepted {points}')
        if refused == 'unknown_turn' and any(turn(name) is None for name in sent[0]):
            return None
        self.hold('open', refused is None, f'rejected as {refused}: {points}')
        self.hold('3', found.ways.keys() == sent[0].keys() and not found.numbers, f'{found.ways}')
        for name, way in found.ways.items():
            for (time, given), values, (_, expected) in zip(points, sent, way, strict=True):
                self.hold('exact', values[name].keys() == expected.keys(), f'{expected}')
                for row, value in expected.items():
                    self.same('exact', (name, row), value, values[name][row])
        left = [{0} if 0 in points[-1][1] else {1, 2, 3}]
        until = start + points[-1][0]
        end = {'start': start, 'until': until, 'named': names}
        for key, last in (('held', joints[-1]), ('told', sent[-1])):
            end[key] = {
                n: {r: v for r, v in values.items() if r in left[0]} for n, values in last.items()
            }
            for values in end[key].values():
                if values.pop(3, None) is not None:  # it leads to a velocity, whatever it is
                    values.setdefault(1, 0.0)
        self.coming = [e for e in self.coming if not e['held'].keys() & joints[-1].keys()] + [end]
        self.kept -= {*names}
        return self.begin(self.now)
