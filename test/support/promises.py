# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
The promises of docs/commands_and_states.md as a model of the messages to the drivers.

It shares no code with the gate: dictionaries by joint and actuator, and loops. What has to be
sent is found from the events, and compared with every message in both directions. Counts are by
the number of the promise; ``exact`` and ``open`` are the two against a gate that changes numbers
or rejects everything. Rows are 0: position, 1: velocity, 2: effort, 3: acceleration.
"""

from __future__ import annotations

from collections import Counter
import itertools
import math

from zoo.mechanics import No

_INF = math.inf


class Broken(AssertionError):
    """A promise is broken."""


def slack(value):
    """Return what rounding may add."""
    return 0.0 if math.isinf(value) else 1e-9 * (1 + abs(value))


def is_within(bounds, value):
    """Tell whether a value is within bounds, up to rounding."""
    return bounds[0] - slack(bounds[0]) <= value <= bounds[1] + slack(bounds[1])


def clamp(bounds, value):
    """Hold a value within bounds."""
    return min(max(value, bounds[0]), bounds[1])


class Part(No):
    """Only these transmissions have to be rejected; the first argument is the reason."""


class Promises:
    """The messages that drivers received, and the messages that they have to receive next."""

    def __init__(self, facts, mechanics, options, orders, counts, divides, find_turn):
        # Returns the number of times that the turn of an actuator was found, ``None``: unknown.
        self.find_turn = find_turn
        self.facts, self.mechanics, self.options = facts, mechanics, options
        self.orders, self.counts, self.unsent = orders, counts, {}
        self.divides = divides
        self.jumped, self.rejected = Counter(), Counter()
        self.rejects, self.group = options.limits == 'reject', mechanics.group_of.__getitem__
        self.joints, self.motors = mechanics.joints, mechanics.motors
        timeout = options.command_timeout
        self.timeout = {-1.0: 0.5, 0.0: _INF}.get(timeout, timeout)
        self.reset()

    def reset(self):
        """Forget every command: a deactivation."""
        self.told = {name: {} for name in self.motors}  # what it still follows, by row
        self.held = {name: {} for name in self.joints}
        self.efforts = dict.fromkeys(self.motors, 0.0)  # the last that it was sent
        self.since, self.coming, self.arrival = {}, [], {}
        self.kept, self.missing, self.now = set(), {}, -_INF
        self.bases = {}  # the spells in which each number was sent, by joint or actuator and row
        self.last = {}  # the velocities of the last array to each driver
        self.running = []  # until when joints execute a trajectory
        self.astray, self.values, self.changes, self.noted = set(), {}, {}, -_INF

    def hold(self, promise, is_kept, what):
        """Check one promise."""
        self.counts[promise] += 1
        if not is_kept:
            raise Broken(f'promise {promise}: {what}')

    # -- time, silence, tuning, stalls -----------------------------------------------------------

    def look(self, now):
        """Let time pass."""
        self.mechanics.note_time(now)
        if now < self.now:  # every command has expired, and no number exists
            self.coming = [end for end in self.coming if end['has_rates']]
            self.begin(_INF)
            self.since = dict.fromkeys(self.since, -_INF)
            self.arrival = {}
        self.begin(now)
        for name in self.told:
            spells = self.spells(name, 2)
            lasts = spells is not None and spells == self.bases.get((name, 'effort'))
            self.efforts[name] = self.efforts[name] if lasts else 0.0

    # -- memory ends with knowledge --------------------------------------------------------------

    def spells(self, name, row):
        """Return the spells of the actuators of a joint, or of one actuator; ``None``: a gap."""
        names = self.group(name).actuators if name in self.joints else (name,)
        found = [self.mechanics.spell(each, self.now) for each in names]
        if row == 0:
            found += [self.find_turn(each) for each in names]
        return None if None in found else tuple(found)

    def base(self, names):
        """Return the spells in which numbers are sent now."""
        return {(name, row): self.spells(name, row) for name in names for row in (0, 1, 2)}

    def exists(self, name, row, value):
        """
        Tell whether a number that was sent still exists; a velocity of zero moves nothing.

        The numbers of a trajectory exist when it has ended.
        """
        if self.is_under_way(self.group(name)):
            return False
        if value is None or (row == 1 and value == 0.0):
            return value is not None
        now = self.spells(name, row)
        return now is not None and now == self.bases.get((name, row))

    def lasting(self, values, name, row):
        """Return a number of a joint or an actuator that still exists, else ``None``."""
        value = values[name].get(row)
        return value if self.exists(name, row, value) else None

    def is_under_way(self, group):
        """Tell whether a group executes a trajectory."""
        return any(self.arrival.get(n, -_INF) > self.now for n in group.actuators)

    def begin(self, now):
        """Start trajectories that are due."""
        self.now = now
        for until, joints in self.running:
            self.astray -= joints if until <= now else set()
        self.running = [each for each in self.running if each[0] > now]
        for end in [each for each in self.coming if each['start'] <= now]:
            self.coming.remove(end)
            self.held |= end['held']
            self.told |= end['told']
            self.arrival |= dict.fromkeys(end['told'], end['until'])
            self.forget_running(end['held'])
            self.running.append((end['until'], {*end['held']}))
            for name in end['told']:
                for last in self.last.values():
                    last.pop(name, None)
            names = end['held'].keys() | end['told'].keys()
            self.bases |= {key: base for key, base in end['bases'].items() if key[0] in names}
            self.since = {n: t for n, t in self.since.items() if n not in end['held']}
            self.since |= dict.fromkeys(end['named'], end['until'])

    def forget_running(self, joints):
        """Leave trajectories that run to the other joints."""
        self.running = [(until, own - joints.keys()) for until, own in self.running]

    def interrupt(self, joints, actuators):
        """Leave trajectories that have not started to the other joints."""
        for end in self.coming:
            for key, others in (('held', joints), ('told', actuators)):
                end[key] = {n: values for n, values in end[key].items() if n not in others}
            end['named'] = end['named'] - joints.keys()
        self.coming = [end for end in self.coming if end['held']]

    def tuned(self, units):
        """Let joints hold where their actuators were sent; the same number is another effort."""
        for held, told in [(self.held, self.told), *((e['held'], e['told']) for e in self.coming)]:
            for group in self.facts.groups:
                sent = {name: told.get(name, {}).get(0) for name in group.actuators}
                for joint, value in self.mechanics.to_joints(group, sent, 0).items():
                    if 0 in held.get(joint, {}) and value is not None:
                        held[joint][0] = value
            for name in units.keys() & told.keys():
                told[name] |= {2: told[name][2] * units[name]} if 2 in told[name] else {}
        self.efforts |= {name: self.efforts[name] * factor for name, factor in units.items()}

    def judge_tuning(self, group, told, matrix, found):
        """Check that the same command moves no joint by more than the guard allows (8)."""
        for row in (0, 1, 2):
            if any(row not in told[n] or (n, row) not in found.numbers for n in group.actuators):
                continue
            old = {name: told[name][row] for name in group.actuators}
            new = {name: found.numbers[name, row] for name in old}
            ends = [self.mechanics.to_joints(group, each, 0) for each in (old, new)]
            for joint, line in () if row else zip(group.joints, matrix, strict=True):
                most = 0.05 if self.facts.joints[joint].slides else 0.1
                for name, ratio in zip(group.actuators, line, strict=True):
                    # A ratio may change by a factor of two around the measured position.
                    at = self.mechanics.fresh(name, self.now)
                    most += abs(ratio * (old[name] - (old[name] if at is None else at)))
                moved = abs(ends[0][joint] - ends[1][joint])
                self.hold('8', moved <= most * (1 + 1e-6), f'{joint} moved by {moved} > {most}')
            if row and group.is_single:
                (before,), (after,) = old.values(), new.values()
                sizes = (abs(after), abs(before))
                high, low = sizes if row == 1 else (max(sizes), min(sizes))
                is_close = high <= 2 * (1 + 1e-6) * low and before * after >= 0
                # A rate of a joint that the change puts beyond its limit ends (7).
                (joint,) = group.joints
                at, limits = self.measured(group)[joint], self.joints[joint][0]
                is_ended = after == 0 and at is not None and at != clamp(limits, at)
                self.hold('8', is_close or is_ended, f'{row}: {before} became {after}')

    # -- what may be sent ------------------------------------------------------------------------

    def measured(self, group, row=0):
        """Return what is known of joints: nothing older than the timeout (2)."""
        return self.mechanics.measured(group, self.now, row)

    def outward(self, group, values, may_refuse=True):
        """End outward rates beyond a position limit (7); return whether there were any."""
        stops, position = set(), self.measured(group)
        for joint, own in values.items():
            (lower, upper), at = self.joints[joint][0], position[joint]
            sense = 0 if at is None else (at > upper) - (at < lower)
            if own.get(1, 0) * sense > 0:
                stops |= {(name, 1) for name in (values if group.is_few else [joint])}
            if own.get(2, 0) * sense > 0:
                speed = self.measured(group, 1)[joint]
                if speed is None or speed * sense > self.options.zero_max_velocity:
                    stops.add((joint, 2))
            self.counts['7'] += any(own.get(row, 0) * sense > 0 for row in (1, 2))
        if stops and self.rejects and may_refuse:
            raise No('7')
        for joint, row in stops:
            values[joint][row] = 0.0
        return bool(stops)

    def limit(self, group, told, may_refuse=True):
        """Keep the numbers for the actuators of a transmission within limits, in place (1)."""
        for row in {0, 1, 2} & told[group.actuators[0]].keys():
            share = 1.0
            for name in group.actuators:
                value, bounds = told[name][row], self.motors[name][row]
                if is_within(bounds, value):
                    continue
                if may_refuse and (self.rejects or (row == 0 and not group.is_single)):
                    raise No('1')
                share = min(share, bounds[1] / abs(value)) if row else share
                told[name][row] = value if row else clamp(bounds, value)
            for name in group.actuators:
                told[name][row] *= share

    def follow(self, group, own):
        """Set joints that fewer motors move, by name and row, to what these give them (1)."""
        places, at = self.measured(group), None
        for row in sorted({*next(iter(own.values()))}):
            given = found = {joint: values[row] for joint, values in own.items() if row in values}
            if row < 2:
                try:
                    if row == 1 and at is None and group.name not in self.mechanics.formula:
                        at = self.mechanics.to_actuators(group, places, 0)
                    sent = self.mechanics.to_actuators(group, given, row, places)
                except No:  # it cannot be mapped
                    for values in own.values():
                        values[row] = 0.0 if row and values[row] == 0.0 else math.nan
                    continue
                sent = self.within(group, sent, row, at)
                found = self.mechanics.to_joints(group, sent, row, at)
                places, at = (found, sent) if row == 0 else (places, at)
            for joint in group.joints:
                own.setdefault(joint, {})[row] = found.get(joint, 0.0)

    def within(self, group, sent, row, at):
        """Return what motors are sent so that all joints stay within their limits (1)."""

        def beyond(numbers):
            found = self.mechanics.to_joints(group, numbers, row, at).items()
            return {j: value for j, value in found if not is_within(self.joints[j][row], value)}

        over = beyond(sent)
        if not over:
            return sent
        is_varying = group.name not in self.mechanics.formula
        if self.rejects or (row == 0 and (len(sent) > 1 or is_varying)):
            raise No('1')
        if row:
            share = min(self.joints[joint][row][1] / abs(value) for joint, value in over.items())
            return {name: share * value for name, value in sent.items()}
        # The nearest motor position is one at which a joint is at its limit.
        ((name, value),) = sent.items()
        matrix, offset, _ = self.mechanics.formula[group.name]
        places = []
        for joint, line, bias in zip(group.joints, matrix, offset, strict=True):
            ends = (end for end in self.joints[joint][0] if not math.isinf(end))
            places += [(end - bias) / line[0] for end in ends]
        places = [place for place in places if not beyond({name: place})]
        if not places:
            raise No('1')
        return {name: min(places, key=lambda place: abs(place - value))}

    def partner(self, group, joint, row, is_way=False):
        """Return what a joint that a command leaves out goes on doing (2, 3)."""
        if is_way and row % 2:
            return 0.0
        found = self.lasting(self.held, joint, row)
        if found is None and row == 0:
            found = self.measured(group)[joint]
        if found is None:
            raise Part('3' if row else '2', [group])
        return found

    def note_changes(self, command):
        """Note which interfaces of the joints of a command changed last."""
        if self.now < self.noted:
            self.values, self.changes = {}, {}
        self.noted = self.now
        for joint, given in command.items():
            former = self.values.get(joint, {})
            changed = {row for row, value in given.items() if former.get(row) != value}
            self.changes[joint] = changed or self.changes[joint]
            self.values[joint] = dict(given)

    def choose(self, command):
        """Return a command without the interfaces that another one has replaced (10)."""
        policy = self.options.several_interfaces
        if policy == 'together':
            return command
        lost, chosen = [], {}
        for joint, given in command.items():
            changed = self.changes[joint]
            is_unknown = len(changed) > 1 or changed.isdisjoint(given)
            if len(given) > 1 and (policy == 'reject' or is_unknown):
                lost.append(self.group(joint))
            is_one = len(given) == 1
            chosen[joint] = {r: v for r, v in given.items() if is_one or r == 2 or r in changed}
            self.counts['10'] += len(given) > 1
        if lost:
            raise Part('10', lost)
        return chosen

    def check_steps(self, targets, turn, seconds=None):
        """Return the joints with steps that are too large (9), by whether it is a warning."""
        far, unknown = set(), set()
        for joint, target in targets.items() if self.options.max_step != 'off' else ():
            group, speed = self.group(joint), self.facts.joints[joint].velocity
            origin = self.lasting(self.held, joint, 0)
            # Joints that fewer motors move are one.
            one = group.joints if group.is_few else (joint,)
            if origin is None or not self.astray.isdisjoint(one):
                is_known = all(turn(name) for name in group.actuators)
                origin = self.measured(group)[joint] if is_known else None
            time = min(0.1, *(abs(self.now - self.since.get(each, _INF)) for each in one))
            most = speed * ((time if seconds is None else seconds) + 0.05)
            self.counts['9'] += speed < _INF
            if speed < _INF and origin is None:
                unknown.add(joint)
            elif abs(target - (origin or 0.0)) > most + slack(most) and speed < _INF:
                far.add(joint)
        if self.options.max_step == 'reject' and far | unknown:
            raise Part('9', [self.group(joint) for joint in far | unknown])
        return far

    def expect(self, command, turn, is_way=False):
        """
        Return the numbers of joints and actuators for a command, by name and row.

        :param is_way: Whether it is a waypoint.
        """
        if not is_way:
            self.chosen = command
            self.chosen = command = self.choose(command)
        # Of several that are rejected, the first in the order of the robot is the first.
        groups = [each for each in self.facts.groups if not command.keys().isdisjoint(each.joints)]
        own, told, lost = {}, {}, []
        for joint, values in command.items():
            own[joint] = {row: clamp(self.joints[joint][row], values[row]) for row in values}
            if self.rejects and own[joint] != values:
                raise No('1')
        for group in groups:
            mine = {joint: own[joint] for joint in group.joints if joint in own}
            rows = {*next(iter(mine.values()))}
            if any({*values} != rows for values in mine.values()):
                raise Part('3', [group])
            missing = [joint for joint in group.joints if joint not in mine]
            varies = group.name not in self.mechanics.formula
            follows = group.is_few and not varies
            rejects = group.is_few or self.options.partial_commands == 'reject'
            if missing and rejects and (is_way or not follows):
                raise Part('3', [group])
            if is_way and varies and (0 not in rows or (3 in rows and 1 not in rows)):
                raise No('2')
            for joint in missing if not group.is_few else ():
                own[joint] = {row: self.partner(group, joint, row, is_way) for row in rows}
        for group in groups:
            if group.is_few:
                mine = {joint: own.pop(joint) for joint in group.joints if joint in own}
                self.follow(group, mine)
                own |= mine
        if not is_way:
            moved = {j for g in groups for j in g.joints if g.is_few or j in command}
            targets = {joint: own[joint][0] for joint in moved if 0 in own[joint]}
            self.far = self.check_steps(targets, turn)
        for group in groups:
            self.outward(group, {joint: own[joint] for joint in group.joints})
        for group in groups:
            mine = {joint: own[joint] for joint in group.joints}
            try:
                told |= self.mechanics.map(group, mine, None if is_way else self.measured(group))
            except No:
                lost.append(group)
        if lost:
            raise No('open', lost)
        lost = [self.group(name) for name in told if 0 in told[name] and not turn(name)]
        if lost:
            raise Part('2', lost)
        for group in groups:
            self.limit(group, told)
        return own, told

    # -- what is sent ----------------------------------------------------------------------------

    def judge_command(self, command, turn, refused, found, ends):
        """
        Compare the messages of a command, or its rejection, with the expected ones.

        :param found: The first messages.
        :param ends: The messages after it.
        """
        self.note_changes(command)
        command, over = dict(command), set()
        while command:
            try:
                joints, sent = self.expect(command, turn)
                break
            except No as no:
                is_alone = isinstance(no, Part) and self.divides
                mine = {j for group in no.args[1] for j in group.joints} if is_alone else command
                self.astray |= {*mine}
                if is_alone:
                    self.counts['11'] += 1
                    over |= mine
                    if command.keys() - over:
                        self.rejected.update(command.keys() & over)
                        command = {j: values for j, values in command.items() if j not in over}
                        continue
                self.hold(no.args[0], refused is not None, f'accepted {command}')
                lost = no.args[1] if no.args[0] == 'open' else []
                rates = {joint for joint, values in self.chosen.items() if {*values} & {1, 2}}
                over |= {j for group in lost if rates & {*group.joints} for j in group.joints}
                return self.judge_ends(found + ends, turn, over, bool(over or lost))
        self.hold('open', refused is None, f'rejected as {refused}: {command}')
        self.compare('exact', found, sent)
        self.jumped.update(self.far)
        self.astray -= joints.keys()
        self.forget_running(joints)
        self.interrupt(joints, sent)
        self.held |= joints
        # As they were received: rounding decides whether a number is zero.
        for name, values in sent.items():
            self.told[name] = {row: found.numbers[name, row] for row in values}
        self.bases |= self.base(joints) | self.base(sent)
        self.arrival = {name: time for name, time in self.arrival.items() if name not in sent}
        for joint in joints:
            if self.group(joint).is_few:
                self.since.pop(joint, None)
                self.astray.discard(joint)
        self.since |= dict.fromkeys(command, self.now)
        self.kept -= command.keys()
        self.judge_arrays(found, turn)
        return self.judge_ends(ends, turn, over, bool(over))

    def compare(self, promise, found, expected):
        """Compare numbers by actuator and row: no more, no less, the same, and within limits."""
        expected = {(name, row): v for name in expected for row, v in expected[name].items()}
        self.hold('3', found.numbers.keys() == expected.keys(), f'{found.numbers} for {expected}')
        for (name, row), value in found.numbers.items():
            self.same(promise, name, row, value, expected[name, row])

    def same(self, promise, name, row, value, expected):
        """Compare a number that was sent."""
        tolerance = 1e-9 if self.group(name).name in self.mechanics.formula else 1e-6
        is_same = abs(value - expected) <= tolerance * (1 + abs(expected))
        self.hold(promise, is_same, f'{name} was sent {row}: {value} for {expected}')
        bounds = self.motors[name][row]
        if bounds != (-_INF, _INF):
            self.hold('1', is_within(bounds, value), f'{name} was sent {row}: {value}')
        if row == 0 and self.facts.motors[name].period:
            self.counts['2'] += 1

    def rows(self, space, rows, are_ended):
        """Yield rows, then the velocities that other modes replaced without an array (4)."""
        yield from sorted(rows)
        for name, value in self.last.get(space, {}).items() if are_ended else ():
            if value and 1 not in self.told[name]:
                return (yield 1)

    def judge_arrays(self, found, turn, ends=False, replaced=False):
        """Compare arrays with the numbers of each member (3)."""
        for space, order in self.orders.items():
            for row in self.rows(space, {r for n, r in found.numbers if n in order}, replaced):
                told, lacking = {}, set()
                for name in order:
                    bounds, value = self.motors[name][row], self.lasting(self.told, name, row)
                    if ends and row == 1:  # as the driver was told
                        last = self.last.get(space, {}).get(name, 0.0)
                        value = last if abs((value or 0.0) - last) <= slack(last) else 0.0
                    elif ends:
                        value = self.efforts[name]
                    if value and (name, row) not in found.numbers:
                        value *= not self.leads_out(self.group(name), row)
                    told[name] = value
                    if ends:
                        told[name] = clamp(bounds, found.numbers.get((name, row), value))
                    elif value is None or abs(clamp(bounds, value) - value) > slack(value):
                        lacking.add(name)
                array = found.arrays.pop((space, row), None)
                is_right = (array is None) == bool(lacking)
                self.hold('3', is_right, f'array {row} of {space!r}: {array}, {lacking}')
                if array is None:
                    self.unsent[space, row] = self.unsent.get((space, row), 0) + 1
                    self.missing[space, row] = lacking
                elif not ends:
                    self.missing.pop((space, row), None)
                if array is not None:
                    self.last[space] = dict(array) if row == 1 else {}
                    for name, value in array.items() if row == 2 else ():
                        self.efforts[name] = value
                        self.bases[name, 'effort'] = self.spells(name, 2)
                for name, value in (array or {}).items():
                    self.same('3', name, row, value, told[name])
        self.hold('3', not found.arrays, f'unexpected arrays: {found.arrays}')

    def leads_out(self, group, row):
        """Tell whether what a group is still told leads further out beyond a limit (7)."""
        held = {j: {row: self.lasting(self.held, j, row) or 0.0} for j in group.joints}
        return self.outward(group, held, False)

    def judge_ends(self, found, turn, cancelled=(), are_due=True):
        """Check that every velocity (and effort) ends in time, and nothing else does (4)."""
        sent, rows = {}, {1, 2} if self.options.zero_effort else {1}
        due = {j for j, t in self.since.items() if t == -_INF or self.now - t > self.timeout}
        due |= {j for j in cancelled if j in self.since and {*self.held[j]} & {1, 2}}
        for group in self.facts.groups if are_due else ():
            over = due & {*group.joints}
            if not over:
                continue
            over = {*group.joints} if group.is_few else over
            ending = rows & {row for joint in over for row in self.held[joint]}
            own = {
                j: {r: 0.0 if j in over else self.lasting(self.held, j, r) or 0.0 for r in ending}
                for j in group.joints
            }
            self.outward(group, own, False)
            try:
                told = self.mechanics.map(group, own, self.measured(group))
                self.limit(group, told, False)
            except No:
                over = {*group.joints}
                told = {n: dict.fromkeys(rows & {*self.told[n]}, 0.0) for n in group.actuators}
            sent |= told
            self.kept |= {joint for joint in over if 2 in self.held[joint] and 2 not in ending}
            self.since = {joint: t for joint, t in self.since.items() if joint not in over}
            if over >= {*group.joints}:
                # What is left of the trajectory never came to its last numbers.
                members = (*group.joints, *group.actuators) if self.is_under_way(group) else ()
                for key in itertools.product(members, (0, 1, 2)):
                    self.bases.pop(key, None)
                for name in group.actuators:
                    self.arrival.pop(name, None)
            for joint in group.joints:
                self.held[joint] |= own[joint]
                self.bases |= {(joint, row): self.spells(joint, row) for row in own[joint]}
        self.compare('4', found, sent)
        for (name, row), value in found.numbers.items():
            self.told[name].pop(row, None)
            self.told[name] |= {row: value} if value else {}
            self.bases[name, row] = self.spells(name, row)
        return self.judge_arrays(found, turn, ends=True, replaced=are_due)

    def judge_stop(self, found, turn):
        """Check that stopping ends every active velocity, and nothing else (5)."""
        rows = {1, 2} if self.options.zero_effort else {1}
        rows = rows if self.options.on_stop == 'zero_rates' else set()
        ends = {name: {} for name in self.motors}
        for told in (self.told, *(end['told'] for end in self.coming)):
            for name, values in told.items():
                ends[name] |= dict.fromkeys(rows & {*values}, 0.0)
        self.compare('5', found, ends)
        self.judge_arrays(found, turn, ends=True, replaced=bool(rows))
        self.reset()

    # -- trajectories ----------------------------------------------------------------------------

    def judge_trajectory(self, points, start, turn, refused, found):
        """Compare a trajectory that was sent, or why it was rejected, with what must be."""
        try:
            points = [each for each in points if start + each[0] >= self.now]
            if not points:
                raise No('9')
            told = [(time, *self.expect(given, turn, is_way=True)) for time, given in points]
            placed = [each for each in told if 0 in next(iter(each[1].values()))]
            speeds = [self.mechanics.speed(*each) for each in itertools.pairwise(placed)]
            if any(speed > 1 + 1e-9 for speed in speeds):
                raise No('1')
            if placed:
                time, first, _ = placed[0]
                targets = {joint: first[joint][0] for joint in points[-1][1]}
                far = self.check_steps(targets, turn, max(start - self.now + time, 0.0))
        except No as no:
            return self.hold(no.args[0], refused is not None, f'accepted {points}')
        _, joints, sent = told[-1]
        self.jumped.update(far if placed else ())
        self.astray -= points[-1][1].keys()
        self.hold('open', refused is None, f'rejected as {refused}: {points}')
        self.hold('3', found.ways.keys() == sent.keys() and not found.numbers, f'{found.ways}')
        for name, way in found.ways.items():
            for (time, _, expected), (at, values) in zip(told, way, strict=True):
                self.hold('exact', abs(at - time) < 1e-8, f'{name} at {at} s for {time} s')
                self.hold('exact', values.keys() == expected[name].keys(), f'{values}')
                for row, value in values.items():
                    self.same('exact', name, row, value, expected[name][row])
        end = {'start': start, 'until': start + points[-1][0], 'named': {*points[-1][1]}}
        end['bases'] = self.base(joints) | self.base(sent)
        end['has_rates'] = 0 not in next(iter(joints.values()))
        for key, last in (('held', joints), ('told', sent)):
            # A last waypoint leaves a position, or else rates that have to end: acceleration leads
            # to a velocity, whatever it is.
            end[key] = {
                name: {0: own[0]} if 0 in own else {1: 0.0} | {r: own[r] for r in {1, 2} & {*own}}
                for name, own in last.items()
            }
        self.interrupt(joints, sent)
        self.coming.append(end)
        self.kept -= end['named']
        return self.begin(self.now)
