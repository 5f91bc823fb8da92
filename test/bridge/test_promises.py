# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""The promises of docs/commands_and_states.md, whatever may happen to whichever robot."""

from collections import Counter
import math
from random import Random

import numpy as np
from promises import clamp, Promises
import pytest
from state_paths import record
from world import MODES, spread, way
from zoo.mechanics import Mechanics, No
from zoo.robots import maps, ROBOTS

from transmission_bridge.bridge.bridge import Bridge
from transmission_bridge.bridge.options.options import BridgeOptions
from transmission_bridge.errors import MessageError, TransmissionBridgeError
from transmission_bridge.messages.cdr import JointStateReader
from transmission_bridge.messages.records import MessageLayoutTable

#: How often each promise was put to the test, by its number in the model, and how many steps.
COUNTS = Counter()
PROMISES = ('1', '2', '3', '4', '5', '7', '8', '9', '10', '11', 'exact', 'open')

#: Rows of the arrays of a waypoint.
FIELDS = {'positions': 0, 'velocities': 1, 'accelerations': 3, 'effort': 2}

#: Of each message, and of each trajectory.
STAMP, BEGIN = (1, 0), (7, 8)

#: Rows of joints' limits that apply to those of a waypoint.
LIMIT = (0, 1, 2, 1)

LAYOUTS = MessageLayoutTable()


class Found:
    """
    What the drivers were sent, in SI at the motor.

    :ivar numbers: Of commands, by actuator and row.
    :ivar arrays: Numbers by actuator, by namespace and row.
    :ivar ways: Waypoints by actuator: times, and numbers by row.
    """

    def __init__(self, outgoing, facts, units, shift, is_merged):
        self._rest = facts, units, shift, is_merged
        self._outgoing = outgoing
        self.numbers, self.arrays, self.ways = {}, {}, {}
        names = {facts.place(name): name for name in facts.motors}

        def si(name, row, value):
            unit = units[name][1 if row == 3 else row]
            return float(value) * unit + (shift.get(name, 0.0) if row == 0 else 0.0)

        forms = Counter()
        for full_topic, content in outgoing:
            topic = full_topic.rpartition('/')[2]
            space = full_topic.removesuffix(topic)
            if topic == 'actuator_commands':
                forms[space] += 1
                content = JointStateReader().read_message(content).copy_record()
                assert content.stamp == STAMP
                places = [facts.places.index(names[space, name]) for name in content.names]
                assert places == sorted(places), 'not in the order of the robot'
                assert not is_merged or forms[space] == 1, 'one message for all modes'
                for row, mode in enumerate(MODES):
                    values = getattr(content, mode)
                    assert len(values) in (0, len(content.names))
                    assert is_merged or not np.isnan(values).any()
                    for driver_name, value in zip(content.names, values, strict=False):
                        name = names[space, driver_name]
                        if not math.isnan(value):
                            assert (name, row) not in self.numbers, 'sent twice'
                            self.numbers[name, row] = si(name, row, value)
            elif topic == 'actuator_trajectory':
                assert (content.stamp, content.frame_id) == (BEGIN, 'base')
                for place, driver_name in enumerate(content.names):
                    name = names[space, driver_name]
                    waypoints = self.ways[name] = []
                    for point in content.points:
                        rows = {row: getattr(point, field) for field, row in FIELDS.items()}
                        given = {row: si(name, row, x[place]) for row, x in rows.items() if len(x)}
                        waypoints.append((point.time[0] + 1e-9 * point.time[1], given))
            else:
                row = MODES.index(topic.split('_')[1])
                order = facts.order[space]
                assert len(content) == len(order)
                self.arrays[space, row] = {
                    name: si(name, row, value) for name, value in zip(order, content, strict=True)
                }

    def __add__(self, other):
        """Return what both are."""
        return Found([*self._outgoing, *other._outgoing], *self._rest)


def random_options(facts, dice):
    """Return options that matter to what is sent."""
    order = dice.choice(facts.orders)
    joints = [joint for joint in facts.joints if dice.random() < 0.8]
    dice.shuffle(joints)
    return BridgeOptions(
        **facts.options,
        limits=dice.choice(['clamp', 'clamp', 'reject', 'off']),
        mixed_commands=dice.choice(['split', 'nan']),
        partial_commands=dice.choice(['hold', 'hold', 'hold', 'reject']),
        command_timeout=dice.choice([-1.0, -1.0, 0.25, 1.0, 0.0]),
        state_timeout=dice.choice([0.5, 1.0, 2.0] if facts.is_wrapped else [0.0, 0.5, 1.0]),
        zero_effort=dice.random() < 0.5,
        on_stop=dice.choice(['zero_rates', 'zero_rates', 'zero_rates', 'nothing']),
        command_actuators=order,
        command_joints=tuple(joints),
        tuning_guard=dice.random() < 0.8,
        max_step=dice.choice(['off', 'warn', 'reject']),
        several_interfaces=dice.choice(['together', 'together', 'latest', 'reject']),
    )


class _Machine:
    """A bridge, a model of what it promises, and drivers."""

    # -- the world -------------------------------------------------------------------------------

    def __init__(self, name, dice):
        is_divided = dice.random() < 0.5
        self.facts, self.robot = ROBOTS[name], maps(name, is_divided=is_divided)
        self.options = random_options(self.facts, dice)
        self.facts.places = self.robot.actuator_names
        self.order = self.facts.order = {}
        for actuator in self.options.command_actuators:
            self.order.setdefault(self.facts.place(actuator)[0], []).append(actuator)
        age = self.options.state_timeout or math.inf
        self.mechanics = Mechanics(self.facts, self.robot, age, self.options.limits != 'off')
        given = self.facts, self.mechanics, self.options, self.order, COUNTS, is_divided
        self.model = Promises(*given, self.find_turn)
        self.outbox, self.fails, self.beyond = [], False, 0.25
        # Motors that the messages of their drivers leave out, and those without a position.
        self.left_out, self.blind = set(), set()
        self.bridge = Bridge(self.robot, self.options, self.send)
        self.gate = self.bridge.gate
        self.now = 1000.0
        timeout = self.model.timeout
        self.tick_period = timeout / 4 if timeout < math.inf else 0.125
        self.next_tick = self.now + self.tick_period
        self.shift, self.known = {}, dict.fromkeys(self.facts.motors, True)
        self.wrapped = [name for name, motor in self.facts.motors.items() if motor.period]
        self.frame, self.read_at, self.moved_at = {}, {}, {}
        self.truth = {
            name: dice.uniform(joint.lower, joint.upper) if joint.upper < math.inf else 0.0
            for name, joint in self.facts.joints.items()
        }
        self.known |= dict.fromkeys(self.wrapped, False)
        ends = self.gate.ledger.endless_joints
        assert set(ends) == (set() if timeout < math.inf else set(self.robot.joint_names))

    def send(self, outgoing):
        """Receive what is sent, or fail once."""
        if self.fails and outgoing:
            self.fails = False
            raise ConnectionError
        self.outbox.append(outgoing)

    def find_turn(self, name):
        """
        Return a number that changes with the turn of an actuator, ``None`` while it is unknown.

        If the turn may be unknown, the bridge knows.
        """
        if name not in self.wrapped:
            return 0.0
        plan, states = self.bridge.plan.state_map, self.bridge.states
        spells = states.compute_known_state(plan, self.now).spells[0]
        found = float(spells[self.robot.actuator_names.index(name)])
        is_known = self.mechanics.spell(name, self.now) is not None
        if self.known[name] is None or not is_known:
            assert is_known or math.isnan(found), 'a turn without readings'
            return None if math.isnan(found) else found
        assert self.known[name] is not math.isnan(found), f'the turn of {name}'
        return found if self.known[name] else None

    def turn(self, name):
        """Tell whether the turn of an actuator is known."""
        return self.find_turn(name) is not None

    def found(self, begin=0, end=None):
        """Return what was sent by the calls since the last action, and forget it."""
        outgoing = [each for part in self.outbox[begin:end] for each in part]
        del self.outbox[begin:end]
        is_merged = self.options.mixed_commands == 'nan'
        return Found(outgoing, self.facts, self.mechanics.unit, self.shift, is_merged)

    def act(self, action):
        """Do something; return why it is rejected, if it is."""
        self.model.look(self.now)
        try:
            action()
        except MessageError as error:
            return error.reason
        return None

    def count(self):
        """Count the steps, and compare what is counted with what happened."""
        COUNTS['steps'] += 1
        gate, model = self.bridge.gate, self.model
        unsent = {f'{s}actuator_{MODES[r]}_commands': n for (s, r), n in model.unsent.items()}
        assert gate.arrays.unsent == unsent
        for (space, row), names in model.missing.items():
            assert set(gate.arrays.missing[f'{space}actuator_{MODES[row]}_commands']) == names
        assert len(gate.arrays.missing) == len(model.missing)
        counts = gate.ledger.counts.values()
        jumped = sum((each.jumped for each in counts), Counter())
        assert jumped == model.jumped, 'joints that jumped'
        rejected = Counter()
        for each in counts:
            for key, count in each.rejected.items():
                rejected[key.split()[0]] += count
        del rejected["'stranger'"]
        assert rejected == model.rejected, 'joints rejected alone'

    def pass_time(self, seconds):
        """Let time pass, with the ticks that are due."""
        until = self.now + seconds
        while self.next_tick <= until:
            self.now = self.next_tick
            self.next_tick += self.tick_period
            self.tick()
        self.now = until
        self.note_age()

    def tick(self):
        """Look for commands that are over, as the timer does."""
        self.note_age()
        try:
            self.act(lambda: self.gate.end_expired_commands(STAMP, self.now))
        except ConnectionError:
            self.found()
            return
        self.model.judge_ends(self.found(), self.turn)
        assert set(self.gate.ledger.kept_efforts) == self.model.kept, 'kept efforts'

    def note_age(self):
        """After a while without readings it is not certain in which turn an actuator is."""
        for name in self.wrapped:
            age = self.now - self.read_at.get(name, -math.inf)
            if self.known[name] and not 0 <= age <= 1 / 16:
                self.known[name] = None

    # -- commands --------------------------------------------------------------------------------

    def draw(self, dice, joint, row):
        """Return a value for a joint, mostly within its limits."""
        it = self.facts.joints[joint]
        if row == 0 and self.options.max_step == 'reject' and dice.random() < 0.8:
            at = self.model.held[joint].get(0, self.truth[joint])
            return at + dice.uniform(-0.16, 0.16) * min(it.velocity, 10.0)
        upper = (it.upper, it.velocity, it.effort)[row]
        lower = it.lower if row == 0 else -upper
        if upper == math.inf:
            return dice.choice([0.0, 0.5, -1.0, dice.uniform(-1.5, 1.5)])
        kind = dice.random()
        if kind < 0.05:
            return dice.choice([lower, upper])
        if kind < 0.12:
            return dice.choice([1.5 * lower, 1.5 * upper, 40.0])
        if kind < 0.2:
            return 0.0 if row else self.truth[joint]
        return dice.uniform(lower, upper)

    def choose(self, dice):
        every = self.facts.groups
        groups = dice.sample(every, dice.choice([1, 1, min(2, len(every))]))
        groups = every if dice.random() < 0.1 else groups
        joints = [joint for group in groups for joint in group.joints]
        if dice.random() < 0.35:
            joints = dice.sample(joints, dice.randint(1, len(joints)))
        return joints

    def bend(self, command):
        """Move the second joint of the bent finger with the first one."""
        if {'near', 'far'} <= command.keys() and 'bender' in self.facts.motors:
            near, far = command['near'], command['far']
            if 0 in near and 0 in far:
                near[0] = min(max(near[0], 0.15), 1.15)
                far[0] = math.sin(near[0])

    def send_command(self, command, stranger=False):
        """
        Command joints by a JointState, and judge it.

        :param stranger: Whether it names a joint of another robot as well.
        """
        rows = sorted({row for values in command.values() for row in values})
        given = command | ({'stranger': dict.fromkeys(rows, 0.0)} if stranger else {})
        by_row = {row: {n: x[row] for n, x in given.items() if row in x} for row in rows}
        message = spread({MODES[row]: numbers for row, numbers in by_row.items()})
        given = LAYOUTS.find_layout(message.names, message.lengths), message, STAMP, self.now
        refused = self.act(lambda: self.gate.send_joint_command(*given))
        found, ends = self.found(0, 1), self.found()
        if stranger and not self.model.divides:
            is_right = refused == 'unknown_joint' and not found.numbers and not ends.numbers
            self.model.hold('11', is_right, f'{refused}: {command}')
        else:
            self.model.judge_command(command, self.turn, refused, found, ends)
        return refused, found

    def command(self, dice):
        self.pass_time(dice.choice([0, 0, 1 / 64, 1 / 16, 1 / 8]))
        joints = self.choose(dice)
        modes = [(0,), (0,), (1,), (1,), (1,), (2,), (2,), (0, 1), (1, 2), (0, 1, 2)]
        rows = dice.choice(modes)
        command = {}
        for group in dict.fromkeys(self.model.group(joint) for joint in joints):
            rows = dice.choice(modes) if dice.random() < 0.1 else rows
            for joint in group.joints:
                if joint in joints:
                    command[joint] = {row: self.draw(dice, joint, row) for row in rows}
        if dice.random() < 0.04:
            joint = dice.choice(joints)
            row = dice.choice((0, 1, 2))
            command[joint] = {row: self.draw(dice, joint, row)}
        self.bend(command)
        if dice.random() < 0.3:
            for joint, values in command.items():
                row = dice.choice((0, 1))
                if row in values and row in self.model.values.get(joint, {}):
                    values[row] = self.model.values[joint][row]
        self.send_command(command, dice.random() < 0.03)

    def interface_that_stays(self, dice):
        group, rows = dice.choice(self.facts.groups), dice.choice([(0, 1), (0, 1), (1, 2), (0, 2)])
        command = {j: {row: self.draw(dice, j, row) for row in rows} for j in group.joints}
        self.bend(command)
        for _ in range(dice.choice([2, 3])):
            self.send_command({joint: dict(values) for joint, values in command.items()})
            self.pass_time(dice.choice([0.25, 0.55, 0.55]))
            row = dice.choice(rows)
            for joint, values in command.items():
                values[row] = self.draw(dice, joint, row)
        self.send_command(command)

    def array(self, dice):
        names = self.options.command_joints
        if not names:
            return
        self.pass_time(dice.choice([0, 1 / 64, 1 / 8]))
        row = dice.choice((0, 1, 1, 2))
        command = {name: {row: self.draw(dice, name, row)} for name in names}
        self.bend(command)
        values = np.array([command[name][row] for name in names])
        given = f'{MODES[row]}_commands', MODES[row], values, STAMP, self.now
        refused = self.act(lambda: self.gate.send_interface_command(*given))
        found, ends = self.found(0, 1), self.found()
        self.model.judge_command(command, self.turn, refused, found, ends)

    def trajectory(self, dice):
        self.pass_time(dice.choice([0, 0, 1 / 64, 1 / 8]))
        names = self.choose(dice)
        forms = (0,), (0, 1), (0, 1, 3), (1,), (1,), (1, 2), (3,), (0, 2), (0, 1, 2, 3)
        rows = dice.choice(forms)
        gap = dice.choice([1 / 64, 1 / 4, 1 / 2, 2.0])
        points, before = [], {}
        for number in range(dice.choice([1, 2, 3])):
            mine = dice.choice([(0,), (1,), (0, 1)]) if dice.random() < 0.1 else rows
            given = {n: {row: self.draw(dice, n, LIMIT[row]) for row in mine} for n in names}
            if 0 in before.get(names[0], ()) and 0 in mine and dice.random() < 0.7:
                for name in names:
                    given[name][0] = before[name][0] + dice.uniform(-0.1, 0.1)
            self.bend(given)
            points.append(((number + 1) * gap, given))
            before = given
        start = dice.choice([None, None, self.now + 0.25, self.now + 1.0, self.now - 0.125])
        self.send_trajectory(points, start)

    def send_trajectory(self, points, start):
        """
        Send a trajectory to joints, and judge it.

        :param points: Times, and values by joint and row.
        """
        names = [*points[0][1]]
        sent = []
        for time, given in points:
            fields = [(field, row) for field, row in FIELDS.items() if row in given[names[0]]]
            sent.append((time, {field: [given[n][row] for n in names] for field, row in fields}))
        message = way(names, sent, BEGIN, 'base')
        refused = self.act(lambda: self.gate.send_joint_trajectory(message, self.now, start))
        begins = self.now if start is None else start
        self.model.judge_trajectory(points, begins, self.turn, refused, self.found())

    # -- drivers ---------------------------------------------------------------------------------

    def publish(self, dice, space):
        here = [name for name in self.facts.motors if self.facts.place(name)[0] == space]
        own = [name for name in here if name not in self.left_out]
        if not own:
            return
        values, names = [[], []], []
        has_velocity, readings = dice.random() < 0.85, {}
        for group in self.facts.groups:
            if not set(own) & {*group.actuators}:
                continue
            position, velocity = self.move(dice, group)
            for name in own:
                if name not in group.actuators:
                    continue
                total, speed = position[name], velocity[name] if has_velocity else None
                if name in self.blind or (dice.random() < 0.01 and name not in self.wrapped):
                    total = None
                reading = total
                if name in self.wrapped and total is not None:
                    reading, total = self.read(name, total)
                if total is not None:
                    self.shift[name] = total - reading
                readings[name] = (total, speed)
                names.append(self.facts.place(name)[1])
                unit = self.facts.motors[name].unit
                values[0].append(math.nan if reading is None else reading / unit[0])
                values[1].append(math.nan if speed is None else speed / unit[1])
        message = record(names, values[0], values[1] if has_velocity else ())
        layout = LAYOUTS.find_layout(message.names, message.lengths)
        self.mechanics.hear(space, readings, self.now)
        self.bridge.states.merge_message(
            self.bridge.plan.state_map, f'{space}actuator_states', layout, message, STAMP, self.now
        )

    def move(self, dice, group):
        """Return positions and velocities of the actuators of a group."""
        still = dice.random() < 0.3
        for joint in group.joints:
            it = self.facts.joints[joint]
            if any(name in self.wrapped for name in group.actuators):
                # Also while its motor is left out of the messages.
                gap = self.now - self.moved_at.get(joint, -math.inf)
                self.moved_at[joint] = self.now
                reach = min(it.velocity * max(gap, 0.0), 10.0)
                if it.velocity == math.inf:
                    reach = 0.5 if gap <= self.options.state_timeout else 10.0
                low, high = self.truth[joint] - reach, self.truth[joint] + reach
                self.truth[joint] = dice.uniform(max(low, it.lower), min(high, it.upper))
            elif it.upper == math.inf:
                self.truth[joint] += dice.uniform(-0.3, 0.3)
            elif dice.random() < self.beyond:
                self.truth[joint] = dice.choice([it.lower - 0.01, it.upper + 0.02])
            else:
                self.truth[joint] = dice.uniform(it.lower, it.upper)
        told = {name: self.model.told[name].get(0) for name in group.actuators}
        given = {n: self.truth[n] for n in group.joints}
        if group.is_few and group.name in self.mechanics.formula:
            given = {group.joints[0]: self.truth[group.joints[0]]}
        self.bend_truth(given)
        try:
            position = self.mechanics.to_actuators(group, given, 0)
        except No:
            position = dict.fromkeys(group.actuators)
        if still and None not in told.values() and not {*self.wrapped} & {*group.actuators}:
            ends = [
                abs(at - end)
                for joint, at in self.mechanics.to_joints(group, told, 0).items()
                for end in (self.facts.joints[joint].lower, self.facts.joints[joint].upper)
                if at is not None
            ]
            # At a limit, rounding decides whether it is beyond.
            position = told if min(ends, default=0.0) > 1e-6 else position
        speeds = {name: dice.choice([0.0, 0.005, dice.uniform(-1, 1)]) for name in group.actuators}
        return position, speeds

    def bend_truth(self, given):
        """Move the second joint of the bent finger with the first one."""
        if given.keys() >= {'near', 'far'} and 'bender' in self.facts.motors:
            given['near'] = min(max(given['near'], 0.12), 1.19)
            given['far'] = math.sin(given['near'])

    def read(self, name, total):
        """Return the reading of a single-turn encoder, and what it means."""
        period = self.facts.motors[name].period * self.facts.motors[name].unit[0]
        if name not in self.frame:
            self.frame[name] = period * math.floor(total / period)
        reading = total - self.frame[name]
        if self.frame.get((name, 'wraps'), True):
            reading %= period
        gap = self.now - self.read_at.get(name, -math.inf)
        if name == 'turner':
            self.known[name] = True  # its limits leave one turn
        elif not self.known[name] or gap > 1 / 16:
            self.known[name] = None
        self.read_at[name] = self.now
        return reading, total

    def states(self, dice):
        self.pass_time(dice.choice([0, 1 / 64, 1 / 64, 1 / 16, 1 / 4]))
        if dice.random() < 0.3:
            self.publish(dice, dice.choice(['', 'left/', 'right/']))
        else:
            self.publish_all(dice)

    def publish_all(self, dice):
        """Have each driver send its states."""
        for space in ('', 'left/', 'right/'):
            self.publish(dice, space)

    def absolute(self, dice):
        if not self.wrapped:
            return
        self.pass_time(1 / 64)
        self.publish_all(dice)
        positions = np.full(len(self.robot.actuator_names), math.nan)
        for name in self.wrapped:
            if dice.random() < 0.7:
                positions[self.robot.actuator_names.index(name)] = self.mechanics.readings[name][0]
                self.known[name] = True
        self.bridge.states.use_absolute_positions(positions, self.now)

    def one_drops_out(self, dice):
        """Let a driver leave out one motor, or its position, while its joints are commanded."""
        group = self.whole_group(dice) if dice.random() < 0.7 else dice.choice(self.facts.groups)
        group = group or dice.choice(self.facts.groups)
        self.publish_all(dice)
        row = dice.choice((0, 0, 1, 2))
        command = {joint: {row: self.draw(dice, joint, row)} for joint in group.joints}
        self.bend(command)
        self.send_command(command)
        out = {dice.choice(group.actuators)}
        if dice.random() < 0.5:
            self.left_out = out
        else:
            self.blind = out
        for _ in range(dice.choice([1, 2, 5, 9])):
            self.pass_time(dice.choice([0.125, 0.25, 0.5]))
            self.publish_all(dice)
            if dice.random() < 0.3:
                one = dice.choice(group.joints)
                self.send_command({one: {row: self.draw(dice, one, row)}})
        self.left_out, self.blind = set(), set()
        if dice.random() < 0.7:
            self.publish_all(dice)
        one, row = dice.choice(group.joints), dice.choice((row, row, 0, 1, 2))
        self.send_command({one: {row: self.draw(dice, one, row)}})

    def silence(self, dice):
        self.pass_time(dice.choice([0.25, 0.5, 0.5, 1.25, 2.5]))

    def restart(self, dice):
        self.pass_time(2.5)
        for name in self.wrapped:
            self.frame.pop(name, None)
            self.frame[name, 'wraps'] = dice.random() < 0.5
        self.publish(dice, dice.choice(['', 'left/', 'right/']))

    def stall(self, dice):
        """Stand still, and then receive commands, some of them before the next tick."""
        self.now += dice.choice([0.3, 0.7, 2.2, 6.0])
        self.next_tick = self.now + dice.choice([0.0, self.tick_period])
        self.note_age()
        for _ in range(3):
            self.pass_time(dice.choice([0.0, 1 / 64, 0.25, 1.0]))
            self.send_command({j: {1: self.draw(dice, j, 1)} for j in self.choose(dice)})

    def whole_group(self, dice):
        """Return a group of two joints and two actuators, or ``None``."""
        groups = [g for g in self.facts.groups if len(g.joints) > 1 and not g.is_few]
        return dice.choice(groups) if groups else None

    def one_goes_on(self, dice):
        """Command two coupled joints, and then only one of them until the other one ends."""
        group = self.whole_group(dice)
        if group is None or self.model.timeout > 1.0:
            return
        row = dice.choice((1, 1, 2))
        self.send_command({joint: {row: self.draw(dice, joint, row)} for joint in group.joints})
        one = dice.choice(group.joints)
        for _ in range(dice.choice([3, 6])):
            self.pass_time(self.model.timeout / 4)
            self.send_command({one: {row: self.draw(dice, one, row)}})
        self.pass_time(dice.choice([0.0, 2 * self.model.timeout]))

    def interrupt(self, dice):
        """Interrupt the trajectory of two coupled joints by a command to one of them."""
        group = self.whole_group(dice)
        if group is None:
            return
        self.publish_all(dice)
        given = {joint: {0: self.draw(dice, joint, 0)} for joint in group.joints}
        self.send_trajectory([(dice.choice([0.25, 5.0]), given)], None)
        self.pass_time(dice.choice([0.125, 0.25, 0.375]))
        self.publish_all(dice)
        one, row = dice.choice(group.joints), dice.choice((0, 0, 1))
        self.send_command({one: {row: self.draw(dice, one, row)}})

    def at_the_speed_limit(self, dice):
        """Send a trajectory that is about as fast as it may be."""
        groups = [g for g in self.facts.groups if self.model.motors[g.actuators[0]][1][1] < 1e9]
        groups = [group for group in groups if group.is_single]
        if not groups:
            return
        group = dice.choice(groups)
        (joint,), (motor,) = group.joints, group.actuators
        it = self.facts.joints[joint]
        ends = [dice.uniform(max(it.lower, -1.0), min(it.upper, 1.0)) for _ in range(2)]
        try:
            sent = [self.mechanics.to_actuators(group, {joint: end}, 0)[motor] for end in ends]
        except No:
            return
        seconds = abs(sent[1] - sent[0]) / self.model.motors[motor][1][1]
        seconds = max(seconds, abs(ends[1] - ends[0]) / it.velocity) * dice.uniform(0.9, 1.1)
        times = [0.5, 0.5 + max(round(seconds, 3), 0.001)]
        points = [(time, {joint: {0: end}}) for time, end in zip(times, ends, strict=True)]
        self.send_trajectory(points, None)

    def one_is_beyond(self, dice):
        """Command the members of an array, and one again when others are beyond their limits."""
        orders = list(self.order.values()) or [list(self.facts.motors)]
        groups = dict.fromkeys(map(self.model.group, dice.choice(orders)))
        row = dice.choice((1, 1, 2))
        command = {j: {row: self.draw(dice, j, row)} for g in groups for j in g.joints}
        self.publish_all(dice)
        self.send_command(command)
        self.pass_time(1 / 64)
        self.beyond = 0.75
        self.publish_all(dice)
        self.beyond = 0.25
        one = dice.choice([*groups])
        self.send_command({j: {row: self.draw(dice, j, row)} for j in one.joints})

    def time_goes_back(self, dice):
        if dice.random() < 0.3:
            names, row = self.choose(dice), dice.choice((0, 1, 1))
            given = {name: {row: self.draw(dice, name, row)} for name in names}
            self.send_trajectory([(0.5, given)], self.now + 5.0)
        self.now -= dice.choice([0.25, 5.0, 100.0])
        self.next_tick = self.now + self.tick_period
        self.read_at, self.moved_at = {}, {}
        self.known |= dict.fromkeys(self.wrapped, False)
        self.tick()

    def fail(self, dice):
        self.fails = True
        self.pass_time(self.tick_period)
        self.fails = False

    def tune(self, dice):
        group = dice.choice(self.facts.groups)
        found = self.robot.tunables.get(group.name, ())
        if self.model.group(group.actuators[0]) in map(self.model.group, self.wrapped):
            found = [each for each in found if not each.shapes_map]
        if not found or group.kind not in ('Simple', 'Differential', 'FourBarLinkage', 'Coupled'):
            return
        if dice.random() < 0.6:
            rows = dice.choice([(0,), (0,), (1,), (1,), (2,), (0, 1)])
            command = {j: {row: self.draw(dice, j, row) for row in rows} for j in group.joints}
            self.send_command(command)
            if self.model.timeout == math.inf:
                self.pass_time(dice.choice([0.0, 1.0, 1.0]))
        changes, mine = {}, {}
        for tunable in dice.sample(found, min(len(found), dice.choice([1, 1, 2, 3]))):
            new = self.other(dice, tunable, group)
            if new is not None:
                changes['.'.join((group.name, *tunable.path))] = new
                mine['.'.join(tunable.path)] = new
        try:
            robot = self.robot.with_parameters(changes)
        except TransmissionBridgeError:
            return
        try:
            self.bridge.guard_tuning(robot, self.now)
        except TransmissionBridgeError:
            return
        told = {name: dict(self.model.told[name]) for name in group.actuators}
        matrix = self.mechanics.formula[group.name][0]
        command = self.command_in_force(group)
        self.robot = robot
        self.bridge.replace_robot(robot)
        before = {name: unit[2] for name, unit in self.mechanics.unit.items()}
        self.mechanics.tune(group, robot, mine)
        units = {name: self.mechanics.unit[name][2] / before[name] for name in group.actuators}
        self.model.tuned(units)
        if command and all(told.values()) and self.options.tuning_guard and dice.random() < 0.8:
            refused, found = self.send_command(command)
            if refused is None:
                self.model.judge_tuning(group, told, matrix, found)

        elif len(group.joints) > 1 and not group.is_few:
            one = dice.choice(group.joints)
            self.send_command({one: {0: self.draw(dice, one, 0)}})

    def command_in_force(self, group):
        """Return the command of a group that is still repeated, or an empty one."""
        model = self.model
        command = {joint: dict(model.held[joint]) for joint in group.joints}
        # A partner that is held as measured beyond its limit is not commanded there.
        if any(clamp(model.joints[j][0], x[0]) != x[0] for j, x in command.items() if 0 in x):
            return {}
        timeout = model.timeout if model.timeout < math.inf else 0.5
        ends = [model.since.get(joint, -math.inf) + timeout for joint in command]
        is_one = len({*map(tuple, command.values())}) == 1 and command[group.joints[0]]
        moves = any(values.get(1) for values in command.values())
        is_live = model.since.keys() >= command.keys() and (moves or min(ends) > self.now)
        return command if is_one and is_live and not group.is_few else {}

    def other(self, dice, tunable, group):
        """Return another value of a number, mostly a close one."""
        value, leaf = tunable.value, tunable.path[-1]
        if leaf == 'offset':
            return value + dice.choice([0.02, -0.05, 0.09, -0.1, 0.3])
        if not tunable.is_actuator_limit:
            return value * dice.choice([1.01, 0.98, 1.5, 0.55, 2.2, -1.0])
        told = self.model.told[tunable.path[1]]
        row = {'velocity': 1, 'effort': 2}.get(leaf, 0)
        about = told.get(row, 0.5)
        if row:
            return abs(about) * dice.choice([0.9, 1.1, 0.4, 2.0]) or 1.0
        step = dice.choice([0.02, 0.1, 0.3, 1.0, 3.0])
        return about + step if leaf == 'upper' else about - step * dice.choice([1, 1, 1, -1])

    def stop(self, dice):
        assert set(self.gate.list_left_trajectories(self.now)) == self.left()
        self.model.look(self.now)
        self.outbox = []
        self.gate.send_stop(STAMP, self.now)
        self.model.judge_stop(self.found(), self.turn)
        self.bridge.reset()
        self.mechanics.forget()
        self.known |= {n: self.known[n] and None for n in self.wrapped}

    def left(self):
        """Return the actuators that execute a trajectory to positions, or will."""
        model = self.model
        under_way = {n for n in self.facts.motors if model.arrival.get(n, -math.inf) > self.now}
        left = {n for n in under_way if 0 in model.told[n]}
        return left | {n for e in model.coming for n, values in e['told'].items() if 0 in values}


#: What may happen; frequent things are there three times.
_EVENTS = (
    *(_Machine.command, _Machine.states, _Machine.tune) * 3,
    _Machine.interface_that_stays,
    _Machine.array,
    _Machine.trajectory,
    _Machine.absolute,
    _Machine.silence,
    _Machine.one_drops_out,
    _Machine.one_drops_out,
    _Machine.restart,
    _Machine.stall,
    _Machine.one_goes_on,
    _Machine.interrupt,
    _Machine.at_the_speed_limit,
    _Machine.one_is_beyond,
    _Machine.time_goes_back,
    _Machine.fail,
    _Machine.stop,
)


@pytest.mark.parametrize('seed', range(1, 11))
def test_promises_are_kept(seed, campaign):
    """Whatever happens to whichever robot, and each promise is often put to the test."""
    dice = Random(seed)
    COUNTS.clear()
    for _ in range(5 * campaign):
        for name in ROBOTS:
            machine = _Machine(name, dice)
            events = dice.sample(_EVENTS, dice.randint(4, len(_EVENTS)))
            for _ in range(100):
                dice.choice(events)(machine, dice)
                machine.count()
    rare = {each: COUNTS[each] for each in PROMISES if COUNTS[each] < 0.003 * COUNTS['steps']}
    assert not rare
