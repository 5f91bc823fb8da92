# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
A campaign of faults: real processes over real DDS, killed, confused and tuned under load.

Whatever happens, each message that is published is one that the slow model of ``reference.py``
makes of the messages before it; nothing crashes; and the bridge comes back by itself.
"""

from __future__ import annotations

from collections import Counter
import itertools
import math
from pathlib import Path
import signal
import time
from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip('rclpy', reason='rclpy is not installed')
pytestmark = pytest.mark.ros

BRIDGE = 'transmission_bridge.ros.bridge_main'
DRIVER = Path(__file__).parents[1] / 'support' / 'faulty_driver.py'
NODE, DRIVE = 'transmission_bridge', 'simulated_driver'

#: Queues that lose nothing of a test's traffic, whoever is kept waiting.
LOSSLESS = {
    module: {
        f'qos_overrides.{{}}/{end}.{policy}': value
        for end in ends
        for policy, value in (('reliability', 'reliable'), ('depth', 1000))
    }
    for module, ends in (
        (DRIVER, ('actuator_states.publisher', 'actuator_commands.subscription')),
        (
            BRIDGE,
            (
                *('actuator_states.subscription', 'joint_states.publisher'),
                *('joint_commands.subscription', 'actuator_commands.publisher'),
            ),
        ),
    )
}

#: Options of a bridge in which nothing ends by itself and everything may be tuned. A test does not
#: last for that timeout, so that a machine which stands still drops no command as ``stalled``.
LASTING = {'command_timeout': 3600.0, 'state_timeout': 0.0, 'tuning_guard': 'false'}

#: Seconds between messages of a stream.
PERIOD = 0.005

#: Sets of parameters, and messages of each kind of traffic between two of them.
TUNINGS = 6
BETWEEN = 30


@pytest.fixture(scope='session')
def parts(load, reference):
    """Return what the campaign is made of, by module."""
    here = Path(__file__).parent
    return SimpleNamespace(
        faults=load('campaign_faults', here / 'campaign_faults.py'),
        replay=load('campaign_replay', here / 'campaign_replay.py'),
    )


@pytest.fixture
def launch(harness, start_process, tmp_path):
    """Return a function that starts a node of a robot as a process, with lossless topics."""
    numbers = itertools.count()

    def start(module, urdf, *args, namespace='', **parameters):
        topics = {key.format(namespace): value for key, value in LOSSLESS[module].items()}
        path = harness.parameter_file(
            tmp_path / f'{next(numbers)}.yaml',
            {'robot_description': harness.quoted(urdf), **topics, **parameters},
            '/**',
        )
        remap = ('-r', f'__ns:={namespace}') if namespace else ()
        return start_process(module, *args, '--ros-args', '--params-file', path, *remap)

    return start


def ended_well(process):
    """Stop a process that must still run and have no bug in its log."""
    assert process._child.poll() is None, process.output
    assert process.stop(signal.SIGINT) == 0
    assert 'Traceback' not in process.output
    assert 'bug' not in process.output


def kill(process):
    """End a process as no process can prevent."""
    assert process._child.poll() is None, process.output
    process.stop(signal.SIGKILL)


class Reports:
    """The newest diagnostics of a node."""

    def __init__(self, peer, node=NODE):
        from diagnostic_msgs.msg import DiagnosticArray

        self._peer = peer
        self._prefix = f'{node}: '
        self.newest = {}
        self.stamp = 0
        peer.node.create_subscription(DiagnosticArray, '/diagnostics', self._take, 100)

    def _take(self, message):
        found = {
            each.name.removeprefix(self._prefix): each
            for each in message.status
            if each.name.startswith(self._prefix)
        }
        if found:
            self.newest = found
            self.stamp = message.header.stamp.sec

    def values(self, name):
        """Return the values of a status as a dictionary."""
        return {each.key: each.value for each in self.newest[name].values}

    def counts(self, name):
        """Return those values of a status that are counts."""
        return {key: int(value) for key, value in self.values(name).items() if value.isdecimal()}

    def wait(self, condition, what):
        """Return when a report fulfils a condition."""
        self._peer.spin_until(lambda: self.newest and condition(self), what)

    def wait_for_next(self):
        """Return when there is a report that was made after now."""
        self.newest = {}
        self._peer.spin_until(lambda: self.newest, 'a report')


class Stream:
    """
    Injected messages, sent one by one as they are released.

    :param publisher: Where to.
    """

    def __init__(self, peer, publisher):
        self.sent = []
        self._peer = peer
        self._publisher = publisher
        self._waiting, self._next = iter(()), None
        self._timer = peer.node.create_timer(PERIOD, self._tick)

    def release(self, injected):
        """Have further messages sent; each is made when the one before is sent."""
        self._waiting = itertools.chain(self._waiting, injected)
        self._next = self._next or next(self._waiting, None)

    @property
    def is_done(self):
        """Whether all that was released is sent."""
        return self._next is None

    def _tick(self):
        each = self._next
        if each is None:
            return
        self._next = next(self._waiting, None)
        if each.cut:
            from rclpy.serialization import serialize_message
            from sensor_msgs.msg import JointState

            from transmission_bridge.messages.joint_state import fill_message

            typed = JointState()
            fill_message(typed, each.message.record)
            data = serialize_message(typed)
            self._publisher.publish(data[: len(data) // 2])
        else:
            self._peer.send(self._publisher, each.message)
        self.sent.append(each)


def connect(peer, harness, reference, prefix=''):
    """
    Join a bridge from both sides; return publishers and what is heard, from a clean slate.

    Nothing is known or held afterwards: the bridge was deactivated and activated.
    """
    node = f'{prefix}{NODE}'
    peer.start(node)
    joints = peer.listen(f'{prefix}joint_states')
    actuators = peer.listen(f'{prefix}actuator_commands')
    driver = peer.publisher(f'{prefix}actuator_states', harness.LISTENER)
    controller = peer.publisher(f'{prefix}joint_commands', harness.LISTENER)
    state = reference.Message(reference.ACTUATORS, position=(1.0,) * 6, stamp=(1, 1))
    command = reference.Message(reference.COMMANDABLE, position=(0.5,) * 6, stamp=(1, 2))
    peer.exchange(driver, state, joints)
    peer.exchange(controller, command, actuators)
    assert peer.change_state('deactivate', node)
    assert peer.change_state('activate', node)
    del joints[:], actuators[:]
    return SimpleNamespace(
        driver=driver, controller=controller, joints=joints, actuators=actuators
    )


def refused_sets(good):
    """Return sets of parameters that must be refused whole, each beside good values."""
    first = next(iter(good))
    spoiled = {name: 2.0 * value for name, value in good.items()}
    return (
        {**spoiled, first: 0.0},
        {**spoiled, first: math.nan},
        {**spoiled, first: 2**53 + 1},
        {**spoiled, 'transmissions.nobody.joints.lift.offset': 1.0},
        {**spoiled, 'limits': 'off'},
        {**spoiled, 'robot_description': '<robot name="other"/>'},
    )


def test_injection_and_parameter_storm(
    meet, harness, reference, parts, launch, executor, campaign
):
    """
    Every message is answered as the model answers it, under one set of parameters, and counted.

    Of thousands of names and of none, ragged, cut, doubled, not finite, in any order and with
    stamps that are late, impossible or ahead, while sets of parameters come that are valid and
    that are not.
    """
    tunings = TUNINGS * campaign
    process = launch(BRIDGE, reference.limited_urdf(), f'--executor={executor}', **LASTING)
    peer = meet(NODE)
    reports = Reports(peer)
    ends = connect(peer, harness, reference)
    reports.wait_for_next()
    before = {
        name: reports.counts(name) for name in ('actuator_states', 'joint_commands', 'actuators')
    }
    random = np.random.default_rng(4)
    states = Stream(peer, ends.driver)
    commands = Stream(peer, ends.controller)
    numbers = [reference.Numbers()]
    state_faults = parts.faults.StateFaults(random)
    command_faults = parts.faults.CommandFaults(random)

    def storm(release, numbered, answers):
        for tuning in numbered:
            release()
            wait_for_more(peer, answers, 'answers', BETWEEN // 4)
            changes = reference.tuning_of(tuning)
            numbers.append(numbers[-1].tuned(changes))
            values = {reference.parameter_name(key): value for key, value in changes.items()}
            assert peer.set_parameters(values).successful
            refused = refused_sets(values)
            assert not peer.set_parameters(refused[tuning % len(refused)]).successful
            assert peer.parameters(list(values)) == values
        release()
        peer.spin_until(lambda: states.is_done and commands.is_done, 'the last message')

    rest = state_faults.sequence((tunings + 1) * BETWEEN)
    storm(
        lambda: states.release(itertools.islice(rest, BETWEEN)),
        range(1, tunings + 1),
        ends.joints,
    )
    # From here on drivers report their positions, so that a partner can hold.
    standing = state_faults._good()
    states.release([standing])
    # Its stamp may be older than the time of receipt of the message before it.
    finger = standing.message.position[reference.ACTUATORS.index('finger')]
    peer.spin_until(lambda: finger in ends.joints[-1].position, 'the last state')
    more = command_faults.sequence((tunings + 1) * BETWEEN)

    def release_both():
        commands.release(itertools.islice(more, BETWEEN))
        states.release(state_faults._frozen() for _ in range(BETWEEN))

    storm(release_both, range(tunings + 1, 2 * tunings + 1), ends.actuators)

    def all_taken(reports):
        return all(
            reports.counts(topic)['received'] - before[topic]['received'] >= len(stream.sent)
            for topic, stream in (('actuator_states', states), ('joint_commands', commands))
        )

    reports.wait(all_taken, 'the last message in diagnostics')
    reports.wait_for_next()
    drain(peer, ends.joints, ends.actuators)
    positions = dict(zip(reference.ACTUATORS, standing.message.position, strict=True))
    by_states = parts.replay.replay_states(states.sent, ends.joints, numbers)
    by_commands, model = parts.replay.replay_commands(
        commands.sent, ends.actuators, numbers, positions
    )
    assert min(by_states) >= 1
    assert min(by_commands[tunings + 1 :]) >= 1
    for topic, stream in (('actuator_states', states), ('joint_commands', commands)):
        check_counts(reference, reports.counts(topic), before[topic], stream.sent)
    check_joint_counts(reports.counts('commands of joint_commands'), model)
    check_not_finite(parts.replay.not_finite(states.sent), reports, reference)
    ended_well(process)


def check_counts(reference, found, before, sent):
    """Compare the counts of a topic with what was injected, by reason."""
    reasons = [each.reason for each in sent if each.reason is not None]
    expected = {
        'received': len(sent),
        'accepted': len(sent) - len(reasons),
        'rejected': len(reasons),
        **{f'rejected {reason}': reasons.count(reason) for reason in set(reasons)},
        **replaced_stamps(reference, sent),
    }
    grown = {key: count - before.get(key, 0) for key, count in found.items()}
    keys = [
        key for key in grown if key.startswith(('received', 'accepted', 'rejected', 'replaced'))
    ]
    assert {key: grown[key] for key in keys} == expected
    assert len(expected) > 5, 'hardly anything was wrong'


def replaced_stamps(reference, sent):
    """Return the counts of stamps that did not count, in the words of diagnostics."""
    reasons = Counter(
        reference.stamp_that_counts(each.message.stamp, time.time_ns())[1]
        for each in sent
        if not each.cut
    )
    del reasons[None]
    return {
        'replaced stamps': reasons.total(),
        **{f'replaced stamps {reason}': count for reason, count in reasons.items()},
    }


def check_joint_counts(found, model):
    """Compare what was clamped, by joint, with the model."""
    clamped = {f'clamped {joint}': count for (_, joint), count in model.clamped.items()}
    assert {key: found[key] for key in found if key.startswith('clamped ')} == clamped
    assert found['clamped'] == sum(clamped.values()) > 0
    assert found['contested'] == found['outside limits'] == 0


def check_not_finite(injected, reports, reference):
    """Compare the counts of invalid numbers and unknown names with the injected ones."""
    found = reports.counts('actuators')
    expected = {f'not finite {name} {field}': n for (name, field), n in injected.items()}
    assert {key: found[key] for key in found if key.startswith('not finite')} == expected
    assert len(expected) == 18
    drives = {
        'hoist': ('winch',),
        'gauge': ('winch',),
        'wrist': ('left', 'right'),
        'arm': ('hip', 'crank'),
    }
    for transmission, actuators in drives.items():
        found_here = reports.counts(f'transmission {transmission}')
        for field in reference.FIELDS:
            count = sum(injected[name, field] for name in actuators)
            assert found_here[f'NaN {field}'] == count
    strangers = [key for key in found if key.startswith('unknown name ')]
    assert {"unknown name 'ghost'", "unknown name 'phantom'"} <= set(strangers)
    assert len(strangers) == 64


# -- processes that come and go ------------------------------------------------------------------


class Controller:
    """Commands every joint, over and over, in position and velocity."""

    def __init__(self, peer, reference, publisher, second=300):
        self.sent = {}
        self.goes = True
        self._peer, self._reference, self._publisher = peer, reference, publisher
        self._second = second
        self._random = np.random.default_rng(second)
        peer.node.create_timer(0.02, self._tick)

    def _tick(self):
        if not self.goes:
            return
        names = self._reference.COMMANDABLE
        values = self._random.uniform(-1.0, 1.0, (2, len(names))).tolist()
        message = self._reference.Message(
            names, *map(tuple, values), stamp=(self._second, 1 + len(self.sent))
        )
        self.sent[message.stamp] = message
        self._peer.send(self._publisher, message)


def check_commands(reference, controller, found, stops):
    """Each command was answered once at most, rightly; all else is the zero of a stop."""
    answered = [each for each in found if each.stamp in controller.sent]
    assert len({each.stamp for each in answered}) == len(answered) > 0
    for each in answered:
        model = reference.ReferenceCommands(reference.Numbers())
        (expected,) = model.command(controller.sent[each.stamp], {})
        expected.check(each)
    others = [each for each in found if each.stamp not in controller.sent]
    assert len(others) <= stops
    for each in others:
        assert each.names == reference.ACTUATORS
        assert each.velocity.tolist() == [0.0] * 6
        assert each.position.tolist() == each.effort.tolist() == []


def seconds_since(stamp):
    """Return the age of a stamp of the system's clock."""
    return time.time() - stamp[0] - 1e-9 * stamp[1]


def drain(peer, *heard):
    """Read the received messages; no node sends any more."""
    counts = []

    def is_quiet():
        counts.append([len(each) for each in heard])
        return counts[-40:] == 40 * counts[-1:]

    peer.spin_until(is_quiet, 'silence')


def wait_for_more(peer, heard, what, count=20):
    """Return when so many more were heard."""
    before = len(heard)
    peer.spin_until(lambda: len(heard) >= before + count, what)


def visible_faults(sent, names):
    """Return the faults that show in messages of a moving driver of these actuators."""
    orders = [sorted(each.names, key=names.index) for each in sent]
    shows = {
        'faults.nan': any(np.isnan(each.position).any() for each in sent),
        'faults.subset': any(len(each.names) < len(names) for each in sent),
        'faults.duplicate': any(len(each.names) > len(names) for each in sent),
        'faults.shuffle': [list(each.names) for each in sent] != orders,
        'faults.freeze': np.array_equal(sent[-1].position, sent[-2].position),
    }
    return {name for name, is_visible in shows.items() if is_visible}


def test_processes_that_come_and_go(
    meet, harness, reference, parts, launch, record_property, capsys
):
    """
    Driver and bridge are killed and come back, and the bridge is reconfigured, under load.

    Joint states go on by themselves, none is wrong, and no command is sent that nobody gave.
    """
    options = {**LASTING, 'autostart': 'true', 'state_timeout': 0.5}
    driver = launch(DRIVER, reference.URDF, rate=100.0)
    peer = meet(DRIVE)
    heard = peer.listen('actuator_states')
    peer.spin_until(lambda: heard, 'the driver')
    bridge = launch(BRIDGE, reference.URDF, **options)
    joints, actuators = peer.listen('joint_states'), peer.listen('actuator_commands')
    reports = Reports(peer)
    wait_for_more(peer, joints, 'the bridge')
    controller = Controller(peer, reference, peer.publisher('joint_commands', harness.LISTENER))
    wait_for_more(peer, actuators, 'commands')

    for faults in (
        {'faults.nan': 0.2},
        {'faults.subset': 0.3, 'faults.shuffle': True},
        {'faults.duplicate': 0.1},
        {'faults.freeze': True, 'faults.drop': 0.3},
    ):
        assert peer.set_parameters(faults, DRIVE).successful
        wait_for_more(peer, heard, 'faulty states', 40)
        assert faults.keys() - visible_faults(heard[-40:], heard[0].names) <= {'faults.drop'}
        off = {name: False if value is True else 0.0 for name, value in faults.items()}
        assert peer.set_parameters(off, DRIVE).successful
    wait_for_more(peer, heard, 'whole states')

    # The driver ends and restarts: no states, an error, then states; and no command between.
    controller.goes = False
    peer.spin_until(lambda: actuators[-1].stamp == max(controller.sent), 'the last answer')
    commands = len(actuators)
    kill(driver)
    reports.wait(lambda reports: reports.newest['actuators'].level == b'\x02', 'an error')
    drain(peer, heard, joints)
    if joints[-1].stamp not in {each.stamp for each in heard}:
        del joints[-1]  # The driver was killed when it had told the bridge and not yet us.
    states = len(joints)
    driver = launch(DRIVER, reference.URDF, rate=100.0)
    peer.spin_until(lambda: len(joints) > states, 'states of the new driver')
    recoveries = {'driver': seconds_since(joints[states].stamp)}
    # Nothing of the new driver may be missed here once it moves.
    wait_for_more(peer, heard, 'the new driver')
    reports.wait(lambda reports: reports.newest['actuators'].level == b'\x00', 'an end of it')
    assert len(actuators) == commands
    controller.goes = True
    wait_for_more(peer, actuators, 'commands')

    # The bridge dies and comes back.
    kill(bridge)
    wait_for_more(peer, heard, 'states that nobody takes')
    states, commands = len(joints), len(actuators)
    bridge = launch(BRIDGE, reference.URDF, **options)
    peer.spin_until(lambda: len(joints) > states, 'states of the new bridge')
    recoveries['bridge'] = seconds_since(joints[states].stamp)
    peer.spin_until(lambda: len(actuators) > commands, 'commands of the new bridge')

    # It is reconfigured as fast as it can be asked.
    reconfigurations = 3
    for number in range(1, reconfigurations + 1):
        for transition in ('deactivate', 'cleanup', 'configure', 'activate'):
            assert peer.change_state(transition)
        states, commands = len(joints), len(actuators)
        peer.spin_until(lambda: len(joints) > states, 'states')
        recoveries[f'reconfiguration {number}'] = seconds_since(joints[states].stamp)
        peer.spin_until(lambda: len(actuators) > commands, 'commands')
    controller.goes = False
    ended_well(driver)
    drain(peer, heard, joints, actuators)
    assert joints[-1].stamp == heard[-1].stamp
    ended_well(bridge)
    drain(peer, heard, joints, actuators)
    begun = parts.replay.replay_driver(
        heard, joints, reference.Numbers(), gaps=2 + reconfigurations
    )
    assert len(begun) > reconfigurations
    check_commands(reference, controller, actuators, stops=reconfigurations + 1)
    for what, seconds in recoveries.items():
        record_property(f'recovery of {what} [s]', seconds)
        with capsys.disabled():
            print(f'\n{what}: the first state that was matched came back in {seconds:.3f} s')


# -- clocks that jump ----------------------------------------------------------------------------


class Clock:
    """
    The clock of a simulation.

    :param start: Its first time [s].
    """

    def __init__(self, peer, start):
        from rosgraph_msgs.msg import Clock as Message

        self._peer = peer
        self._message = Message()
        self._publisher = peer.node.create_publisher(Message, '/clock', 10)
        peer.spin_until(self._publisher.get_subscription_count, 'a reader of the clock')
        self.set(start)
        # Best effort: said again and again, as simulators do.
        peer.node.create_timer(0.01, self._publish)

    def set(self, seconds):
        """Let it jump."""
        self.nanoseconds = round(seconds * 1e9)
        stamp = self._message.clock
        stamp.sec, stamp.nanosec = divmod(self.nanoseconds, 1_000_000_000)
        self._publish()

    def run(self, seconds):
        """Let it go on."""
        self.set(1e-9 * self.nanoseconds + seconds)

    def _publish(self):
        self._publisher.publish(self._message)


def test_clock_that_jumps(meet, harness, reference, parts, launch, executor):
    """
    States grow stale by simulated time, and are forgotten when it goes backwards.

    Messages are not stamped, so that each answer tells at what time the bridge took the message.
    """
    timeout, command_timeout = 0.45, 0.95
    process = launch(
        BRIDGE,
        reference.URDF,
        f'--executor={executor}',
        use_sim_time='true',
        state_timeout=timeout,
        command_timeout=command_timeout,
    )
    peer = meet(NODE)
    clock = Clock(peer, 100.0)
    ends = connect(peer, harness, reference)
    random = np.random.default_rng(6)
    sent = []

    def send_until_answered_at(now):
        """Send states of some actuators until the bridge is seen to have the time."""
        stamp = divmod(now, 1_000_000_000)

        def is_there():
            if ends.joints and ends.joints[-1].stamp == stamp:
                return True
            if len(sent) - len(ends.joints) < 3:
                names = ['finger', *random.permutation(reference.ACTUATORS[:-1])[:2].tolist()]
                values = tuple(random.uniform(0.5, 2.0, len(names)).tolist())
                sent.append(reference.Message(tuple(names), values, stamp=(0, 0)))
                peer.send(ends.driver, sent[-1])
            return False

        peer.spin_until(is_there, f'the time {now}')

    for jump in (0.0, 1000.0, -900.0, 2.0, -0.05, -150.0):
        clock.run(jump)
        for _ in range(10):
            send_until_answered_at(clock.nanoseconds)
            clock.run(0.1)
    send_until_answered_at(clock.nanoseconds)
    peer.spin_until(lambda: len(ends.joints) == len(sent), 'the last answer')
    model = reference.ReferenceStates(reference.Numbers(), timeout=timeout)
    sizes = set()
    for message, answer in zip(sent, ends.joints, strict=True):
        now = float(answer.stamp[0] * 1_000_000_000 + answer.stamp[1]) * 1e-9
        stamped = reference.Message(message.names, message.position, stamp=answer.stamp)
        assert model.update('driver', stamped, now) is None
        model.now = now
        model.joint_state().check(answer)
        sizes.add(len(answer.names))
    assert len(sizes) > 3, 'hardly anything grew stale'

    def end_of_command(message):
        """Return what is sent when a command has timed out, once."""
        (_,) = peer.exchange(ends.controller, message, ends.actuators)
        yield
        del ends.actuators[:]
        for _ in range(20):
            clock.run(0.1)
            send_until_answered_at(clock.nanoseconds)
        (end,) = ends.actuators
        assert end.names == ('winch',)
        assert end.velocity.tolist() == [0.0]

    for number, jump in enumerate((0.0, -30.0, 30.0)):
        ending = end_of_command(
            reference.Message(('lift',), velocity=(1.0,), stamp=(7, 1 + number))
        )
        next(ending)
        clock.run(jump)
        assert next(ending, 'done') == 'done'
    ended_well(process)


# -- two robots ----------------------------------------------------------------------------------


def test_two_robots(meet, harness, reference, parts, launch):
    """Two robots in two namespaces share nothing: no state, command, parameter, count or death."""
    names = ('one', 'two')
    processes = {
        name: launch(BRIDGE, reference.URDF, namespace=f'/{name}', **LASTING) for name in names
    }
    peer = meet(NODE)
    peer.spin_until(
        lambda: peer.node.get_node_names().count(NODE) == len(names), 'the other robot'
    )
    ends = {name: connect(peer, harness, reference, f'{name}/') for name in names}
    reports = {name: Reports(peer, f'{name}/{NODE}') for name in names}
    before = {}
    for name, report in reports.items():
        report.wait_for_next()
        before[name] = report.counts('actuator_states')
    numbers = {name: [reference.Numbers()] for name in names}
    streams, controllers = {}, {}
    for seed, name in enumerate(names):
        faults = parts.faults.StateFaults(np.random.default_rng(seed))
        streams[name] = Stream(peer, ends[name].driver), faults.sequence(10_000)
        controllers[name] = Controller(peer, reference, ends[name].controller, second=400 + seed)

    def release(name):
        stream, injected = streams[name]
        stream.release(itertools.islice(injected, BETWEEN))

    def tune(name, number):
        changes = reference.tuning_of(number)
        values = {reference.parameter_name(key): value for key, value in changes.items()}
        assert peer.set_parameters(values, f'{name}/{NODE}').successful
        numbers[name].append(numbers[name][-1].tuned(changes))

    for tuning, name in enumerate(names, start=1):
        for each in names:
            release(each)
        tune(name, tuning)
        for each in names:
            peer.spin_until(lambda: streams[each][0].is_done, 'states')

    def all_answered(name):
        stream, heard = streams[name][0], ends[name]
        accepted = [each for each in stream.sent if each.reason is None]
        return (
            stream.is_done
            and len(heard.joints) >= len(accepted)
            and len(heard.actuators) >= len(controllers[name].sent)
        )

    controllers['one'].goes = False
    peer.spin_until(lambda: all_answered('one'), 'the last answer')
    release('two')
    kill(processes['one'])
    tune('two', 3)
    controllers['two'].goes = False
    peer.spin_until(lambda: all_answered('two'), 'the last answer of the other robot')
    reports['two'].wait_for_next()
    found = reports['two'].counts('actuator_states')
    check_counts(reference, found, before['two'], streams['two'][0].sent)
    drain(peer, *(heard for each in ends.values() for heard in (each.joints, each.actuators)))
    for name in names:
        stream, _ = streams[name]
        parts.replay.replay_states(stream.sent, ends[name].joints, numbers[name])
        answered = [each.stamp for each in ends[name].actuators]
        assert answered == list(controllers[name].sent)
        assert len(answered) > 5
    ended_well(processes['two'])
