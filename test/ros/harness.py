# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
Real processes and a peer that talks to them over real DDS.

Every wait is for a fact, by :func:`wait`; if it does not come, that says what all sides knew.

Nodes of the package can also run inside the test's own process, next to the peer, where a test
wants to look inside or to break something.
"""

import atexit
from contextlib import suppress
from dataclasses import replace
import gc
from importlib.metadata import version
import math
import os
from pathlib import Path
import re
import signal
import socket
import subprocess
import sys
import threading
import time

from diagnostic_msgs.msg import DiagnosticArray
from lifecycle_msgs.msg import Transition
from lifecycle_msgs.srv import ChangeState, GetState
from rcl_interfaces.msg import Parameter as ParameterMessage
from rcl_interfaces.srv import (
    DescribeParameters,
    GetParameters,
    ListParameters,
    SetParameters,
    SetParametersAtomically,
)
import rclpy
from rclpy.executors import SingleThreadedExecutor
from rclpy.parameter import Parameter, parameter_value_to_python
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from sensor_msgs.msg import JointState
from std_msgs.msg import String
import waiting
from waiting import PATIENCE

from transmission_bridge.messages.records import fill_joint_state_message, record_from_joint_state

#: Seconds after which a message or a request is sent again, twice as many each time: DDS may have
#: lost a best-effort message, and what comes before a side has discovered the other one.
AGAIN = 1.0

#: Characters of each process' output in the report of a fact that did not come.
TAIL = 5000

#: What reports then: the processes and peers that are not cleaned up.
_PRESENT = []


def present(each):
    """Add something with a method ``report``; return the list, to remove it from."""
    _PRESENT.append(each)
    return _PRESENT


def wait(fact, what, meanwhile):
    """Wait for a fact as :func:`waiting.wait`; if it does not come, report what is there."""
    reports = (each.report() for each in _PRESENT)
    return waiting.wait(fact, what, meanwhile, lambda: '\n\n'.join(reports))


def repeat(act):
    """Return a function that acts when it is called, not before twice as long as the last time."""
    due, pause = -math.inf, AGAIN

    def act_if_due():
        nonlocal due, pause
        if time.monotonic() > due:
            act()
            due = time.monotonic() + pause
            pause *= 2.0

    return act_if_due


def _claim_domain():
    """
    Return a domain of this test run's own, out of which a socket keeps other runs.

    Two runs in one domain would answer each other's requests. The highest domains are left to the
    demo, which chooses its own.
    """
    for number in range(90):
        domain = 1 + (os.getpid() + number) % 90
        claim = socket.socket()
        try:
            claim.bind(('127.0.0.1', _CLAIM_PORT + domain))
            _check_deserted(domain)
        except OSError:
            claim.close()
        else:
            atexit.register(claim.close)
            _remove_locks(domain)
            return domain
    raise RuntimeError('all domains are taken')


def _check_deserted(domain):
    """Raise OSError if processes of a run that was killed are still in a domain."""
    for number in range(20):
        # The port of a participant (DDSI-RTPS 9.6.1.1).
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            probe.bind(('', _first_port(domain) + 10 + 2 * number))


def _remove_locks(domain):
    """Remove the shared memory that killed processes have left in a domain, see ``KILLED``."""
    ports = range(_first_port(domain), _first_port(domain + 1))
    for path in Path('/dev/shm').glob('*fast*_port*'):
        if int(re.search(r'_port(\d+)', path.name)[1]) in ports:
            path.unlink(missing_ok=True)


def _first_port(domain):
    return 7400 + 250 * domain


#: Ports of the claims, one per domain, beyond those that the system gives away.
_CLAIM_PORT = 61_000

DOMAIN = _claim_domain()
# Every process that a test starts, also one that knows nothing of this module, talks in it.
os.environ['ROS_DOMAIN_ID'] = str(DOMAIN)

BEST_EFFORT = QoSProfile(depth=10, reliability=ReliabilityPolicy.BEST_EFFORT)
RELIABLE = QoSProfile(depth=10, reliability=ReliabilityPolicy.RELIABLE)
#: Deep enough that a listener loses nothing of a test's traffic.
LISTENER = QoSProfile(depth=1000, reliability=ReliabilityPolicy.RELIABLE)
LATCHED = QoSProfile(
    depth=1, reliability=ReliabilityPolicy.RELIABLE, durability=DurabilityPolicy.TRANSIENT_LOCAL
)

#: Variable of Fast DDS 3, which Kilted has with rclpy 9, and of Fast DDS 2.
_PROFILES = (
    'FASTDDS_DEFAULT_PROFILES_FILE'
    if int(version('rclpy').partition('.')[0]) >= 9
    else 'FASTRTPS_DEFAULT_PROFILES_FILE'
)
#: Environment of a process that a test kills, without shared memory: the locks that it would leave
#: there crash Fast DDS when another participant ends (SharedMemChannelResource::release(), below
#: rclpy's destroy_when_not_in_use()). rmw_fastrtps uses it whenever the range is LOCALHOST.
KILLED = {
    'ROS_AUTOMATIC_DISCOVERY_RANGE': 'SYSTEM_DEFAULT',
    _PROFILES: str(Path(__file__).with_name('loopback.xml')),
}

#: Options of a bridge that forgets no state and ends or drops no command when the machine stands
#: still, as a loaded one does for seconds.
PATIENT = {'state_timeout': 0.0, 'command_timeout': 3600.0}

BRIDGE = 'transmission_bridge'

#: State after each transition that does not shut down.
GOALS = {
    'configure': 'inactive',
    'activate': 'active',
    'deactivate': 'inactive',
    'cleanup': 'unconfigured',
}


def new_context():
    """Return a context in the domain of this test run, which is a participant of its own."""
    context = rclpy.Context()
    rclpy.init(context=context, domain_id=DOMAIN)
    return context


class Process:
    """
    A node as a process of its own, whose output is read as it comes.

    :param module: For example ``transmission_bridge.ros.main bridge_node``, or the path of a
        script; ``None``: ``args`` has it.
    :param args: The command line behind it.
    :param stdin: Its standard input.
    :param env: Further variables of its environment.
    """

    def __init__(self, module, args, *, stdin=subprocess.DEVNULL, env=None):
        program = (
            ['-m', *module.split()] if isinstance(module, str) else [str(module)] if module else []
        )
        self._child = subprocess.Popen(
            [sys.executable, '-u', *program, *map(str, args)],
            stdin=stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env={**os.environ, **(env or {})},
        )
        self.output = ''
        self._line = ' '.join([*program, *map(str, args)])
        _PRESENT.append(self)
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self):
        for line in self._child.stdout:
            self.output += line

    def report(self):
        """Return what it is, and the end of what it said."""
        state = 'runs' if self.exit_code is None else f'ended with {self.exit_code}'
        return f'--- {self._line} {state} ---\n{self.output[-TAIL:]}'

    @property
    def pid(self):
        """Its number."""
        return self._child.pid

    def say(self, text):
        """Send a line to its standard input, which has to be a pipe."""
        self._child.stdin.write(text + '\n')
        self._child.stdin.flush()

    @property
    def exit_code(self):
        """Its exit code, ``None`` while it runs."""
        return self._child.poll()

    def wait_for(self, text, times=1):
        """Return when the output holds this text, or holds it so many times."""

        def is_said():
            has_ended = not self._reader.is_alive()
            is_there = self.output.count(text) >= times
            assert is_there or not has_ended, f'ended without {text!r}\n{self.report()}'
            return is_there

        self.wait(is_said, repr(text))

    def wait(self, fact, what):
        """Wait for a fact that comes while it runs."""
        return wait(fact, what, lambda: self._reader.join(timeout=0.02))

    def send_signal(self, number):
        """Send a signal."""
        self._child.send_signal(number)

    def stop(self, number=signal.SIGINT, within=PATIENCE):
        """Send a signal if it still runs; return the exit code, the output being complete."""
        if self._child.poll() is None:
            self._child.send_signal(number)
        return self.ended(within)

    def ends_well(self, number=signal.SIGINT, within=PATIENCE):
        """Stop it; it must still run, end with 0 and have no bug in its log."""
        assert self.exit_code is None, self.output
        assert self.stop(number, within) == 0
        assert 'Traceback' not in self.output
        assert 'bug' not in self.output

    def ended(self, within=PATIENCE):
        """Return the exit code when it has ended."""
        code = self._child.wait(timeout=within)
        self._reader.join(timeout=PATIENCE)
        return code

    def clean_up(self):
        """End it, by force if it does not obey: see ``KILLED``."""
        with suppress(subprocess.TimeoutExpired):
            self.stop(signal.SIGTERM, within=10.0)
        if self._child.poll() is None:
            self._child.kill()
        self.ended()
        _PRESENT.remove(self)
        self._child.stdout.close()
        if self._child.stdin is not None:
            self._child.stdin.close()


class Peer:
    """
    The other side: drivers, controllers and operators, all in one node.

    :param context: Where its node lives; one of its own if not given.
    :param name: Name of its node.
    """

    def __init__(self, context=None, name='peer'):
        self._owns_context = context is None
        self.context = context or new_context()
        self.node = rclpy.create_node(name, context=self.context, use_global_arguments=False)
        self.executor = SingleThreadedExecutor(context=self.context)
        self.executor.add_node(self.node)
        self._clients = {}
        _PRESENT.append(self)

    def destroy(self, *nodes):
        """
        Leave the graph, with other nodes that its executor has spun.

        The executor ends first: it keeps what it last waited for, entities of these nodes, which
        would be destroyed after them.
        """
        _PRESENT.remove(self)
        self.executor.shutdown()
        for node in (*nodes, self.node):
            node.destroy_node()
            # A node of the life cycle keeps its services as long as anything refers to it, for
            # example the traceback of a test that failed; the next test would meet them.
            vars(node).clear()
        gc.collect()
        if self._owns_context:
            rclpy.shutdown(context=self.context)

    # -- waiting ---------------------------------------------------------------------------------

    def spin_until(self, condition, what='it'):
        """Run callbacks until the condition holds; return what it returned."""
        return wait(condition, what, lambda: self.executor.spin_once(timeout_sec=0.05))

    def report(self):
        """Return the graph as its node sees it."""
        graph = self.node
        lines = [f'--- the graph of {graph.get_fully_qualified_name()} ---']
        lines += map(str, graph.get_node_names_and_namespaces())
        for topic, _ in graph.get_topic_names_and_types():
            publishers = graph.get_publishers_info_by_topic(topic)
            for end in (*publishers, *graph.get_subscriptions_info_by_topic(topic)):
                policy = end.qos_profile.reliability.name
                lines.append(f'{topic}: {end.endpoint_type.name} of {end.node_name}, {policy}')
        lines += [f'service {name}' for name, _ in graph.get_service_names_and_types()]
        return '\n'.join(lines)

    # -- topics ----------------------------------------------------------------------------------

    def list_entities(self, node):
        """
        Return publishers, subscribers and services of a node with a full name, by kind.

        Not by rclpy's lists of a node's entities: an ended process of the same name may stay in
        the graph without any (see ``diagnostics``), and they would be its.
        """
        graph = self.node
        topics = [topic for topic, _ in graph.get_topic_names_and_types()]

        def list_topics(find_ends):
            ends = [(topic, end) for topic in topics for end in find_ends(topic)]
            return sorted(
                (topic, end.topic_type)
                for topic, end in ends
                if f'{end.node_namespace.rstrip("/")}/{end.node_name}' == node
            )

        services = graph.get_service_names_and_types()
        return {
            'publishers': list_topics(graph.get_publishers_info_by_topic),
            'subscribers': list_topics(graph.get_subscriptions_info_by_topic),
            'services': sorted((n, kind) for n, (kind,) in services if n.startswith(f'{node}/')),
        }

    def listen(self, topic, qos=LISTENER):
        """Return a list that grows by a record for every JointState on a topic."""
        records = []
        self.node.create_subscription(
            JointState,
            topic,
            lambda message: records.append(record_from_joint_state(message)),
            qos,
        )
        return records

    def publisher(self, topic, qos=RELIABLE, readers=1, kind=JointState):
        """Return a publisher that has found this many readers."""
        publisher = self.node.create_publisher(kind, topic, qos)
        count = publisher.get_subscription_count
        self.spin_until(lambda: count() >= readers, f'a reader of {topic}')
        return publisher

    def send(self, publisher, message):
        """Publish a message (one of the reference model, or a record)."""
        typed = JointState()
        fill_joint_state_message(typed, getattr(message, 'record', message))
        publisher.publish(typed)

    def exchange(self, publisher, message, heard, answers=1):
        """
        Send a message until answers with its stamp come; return these.

        A message may be lost and is repeated: topics are best effort, and the other side may not
        have discovered ours when we have discovered its. Each copy has a stamp of its own, a
        nanosecond later, and the last one is waited for: no answer comes afterwards.
        """
        del heard[:]
        sec, nanosec = message.stamp
        copies = []

        def send_copy():
            copies.append((sec, nanosec + len(copies)))
            self.send(publisher, replace(message, stamp=copies[-1]))

        send = repeat(send_copy)
        return self.spin_until(
            lambda: send() or found(heard, copies[-1], answers), f'an answer to {message}'
        )

    def latch(self, text, topic='robot_description'):
        """Publish a description as robot_state_publisher does; return the publisher."""
        publisher = self.node.create_publisher(String, topic, LATCHED)
        publisher.publish(String(data=text))
        return publisher

    # -- services --------------------------------------------------------------------------------

    def call(self, service_type, name, request):
        """
        Return the response of a service.

        The request is sent again if there is no response: a client may find a service that has
        not found the client yet, which then cannot answer. So it must bear repeating.
        """
        return self._ask(service_type, name, request)[0]

    def _ask(self, service_type, name, request):
        """Return the response, and whether it was asked for more than once."""
        if name not in self._clients:
            self._clients[name] = self.node.create_client(service_type, name)
        client, futures = self._clients[name], []
        self.spin_until(client.service_is_ready, f'the service {name}')
        # Through the same client: one that is destroyed could not be answered any more.
        ask = repeat(lambda: futures.append(client.call_async(request)))

        def answered():
            ask()
            return next((each for each in futures if each.done()), None)

        response = self.spin_until(answered, f'an answer of {name}').result()
        for each in futures:
            client.remove_pending_request(each)
        return response, len(futures) > 1

    def change_state(self, transition, node=BRIDGE):
        """Ask for a transition, for example ``configure``; return whether it succeeded."""
        before = self.state(node)
        number = getattr(Transition, f'TRANSITION_{transition.upper()}')
        request = ChangeState.Request(transition=Transition(id=number))
        response, again = self._ask(ChangeState, f'{node}/change_state', request)
        # The request that was not answered may have been obeyed.
        goal = GOALS.get(transition, 'finalized')
        return response.success or (again and before != self.state(node) == goal)

    def state(self, node=BRIDGE):
        """Return the state of the life cycle, for example ``inactive``."""
        return self.call(GetState, f'{node}/get_state', GetState.Request()).current_state.label

    def pass_through(self, *transitions, node=BRIDGE):
        """Make transitions, which must succeed."""
        for transition in transitions:
            assert self.change_state(transition, node), transition

    def start(self, node=BRIDGE):
        """Configure and activate."""
        self.pass_through('configure', 'activate', node=node)

    def set_parameters(self, values, node=BRIDGE):
        """Set several at once; return the one result of ``set_parameters_atomically``."""
        request = SetParametersAtomically.Request(parameters=parameter_messages(values))
        service = f'{node}/set_parameters_atomically'
        return self.call(SetParametersAtomically, service, request).result

    def set_each_parameter(self, values, node=BRIDGE):
        """Set them one by one as ``ros2 param set`` does; return the results."""
        request = SetParameters.Request(parameters=parameter_messages(values))
        return self.call(SetParameters, f'{node}/set_parameters', request).results

    def parameters(self, names, node=BRIDGE):
        """Return the values of parameters, ``None`` for one that is not declared."""
        request = GetParameters.Request(names=list(names))
        values = self.call(GetParameters, f'{node}/get_parameters', request).values
        if len(values) != len(names):
            # One name that is not there costs the whole answer.
            if len(names) == 1:
                return {names[0]: None}
            return {key: self.parameters([key], node)[key] for key in names}
        return dict(zip(names, map(parameter_value_to_python, values), strict=True))

    def parameter_names(self, prefix='', node=BRIDGE):
        """Return the names of all declared parameters that begin with this."""
        response = self.call(ListParameters, f'{node}/list_parameters', ListParameters.Request())
        return [name for name in response.result.names if name.startswith(prefix)]

    def describe(self, names, node=BRIDGE):
        """Return the descriptors of parameters by name."""
        request = DescribeParameters.Request(names=list(names))
        found_ = self.call(DescribeParameters, f'{node}/describe_parameters', request)
        return {each.name: each for each in found_.descriptors}


class Diagnostics:
    """
    The newest diagnostics of a node.

    :param node: Its full name, without the first slash.
    :ivar statuses: By name without the node's.
    :ivar reports: How many there were.
    """

    def __init__(self, peer, node=BRIDGE):
        self.statuses, self.stamp, self.reports = {}, None, 0
        self._peer, self._prefix = peer, f'{node}: '
        peer.node.create_subscription(DiagnosticArray, '/diagnostics', self._take, 100)

    def _take(self, message):
        found = {
            each.name.removeprefix(self._prefix): each
            for each in message.status
            if each.name.startswith(self._prefix)
        }
        if found:
            self.statuses, self.stamp = found, message.header.stamp
            self.reports += 1

    def values(self, name):
        """Return the values of a status as a dictionary."""
        status = self.statuses.get(name)
        return {each.key: each.value for each in status.values} if status else {}

    def said(self, name, *words, level=None, act=lambda: None):
        """Wait for a status from now on, with one of the levels and with words; return it."""
        self.statuses = {}

        def find():
            act()
            status = self.statuses.get(name)
            is_it = status is not None and (level is None or status.level in level)
            return status if is_it and all(word in status.message for word in words) else None

        try:
            return self._peer.spin_until(find, f'{words} of {name}')
        finally:
            print(name, self.statuses.get(name))


def found(heard, stamp, answers):
    """Return the first so many messages with a stamp, nothing if there are fewer."""
    those = [each for each in heard if each.stamp == stamp]
    return those[:answers] if len(those) >= answers else []


def parameter_messages(values):
    """Return rcl_interfaces parameters of plain values."""
    return [
        ParameterMessage(name=name, value=Parameter(name, value=value).get_parameter_value())
        for name, value in values.items()
    ]


def overrides(values):
    """Return what ``parameter_overrides`` of a node takes."""
    return [Parameter(name, value=value) for name, value in values.items()]


def parameter_file(path, values, node=BRIDGE):
    """Write values as a parameter file, each as the text that is given; return its path."""
    lines = [f'{node}:', '  ros__parameters:']
    for name, text in values.items():
        lines.append(f'    {name}: {text}')
    path.write_text('\n'.join(lines) + '\n', encoding='utf-8')
    return path


def quoted(text):
    """Return a text as a YAML string that nothing is guessed from."""
    return "'" + text.replace("'", "''").replace('\n', ' ') + "'"
