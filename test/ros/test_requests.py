# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Any request to any service is answered in the way of that service, and the node goes on."""

import importlib
import math
from random import Random

from bugs import BUG, put_bug
import pytest

pytest.importorskip('rclpy', reason='rclpy is not installed')

from rcl_interfaces import srv
from rcl_interfaces.msg import ListParametersResult, Parameter, ParameterValue

pytestmark = pytest.mark.versions

LIFT = 'transmissions.hoist.joints.lift.offset'
ROLL = 'transmissions.wrist.joints.roll.offset'
RATIO = 'transmissions.hoist.joints.lift.mechanical_reduction'


#: Types that are no type of a parameter.
UNKNOWN_TYPES = (10, 99, 255)


def typed(name, kind, **fields):
    """Return a parameter message of this type, whatever its other fields hold."""
    return Parameter(name=name, value=ParameterValue(type=kind, **fields))


def ask(peer, name, node='transmission_bridge', **fields):
    """Return the response of a service of rcl_interfaces."""
    kind = getattr(srv, name.title().replace('_', ''))
    return peer.call(kind, f'{node}/{name}', kind.Request(**fields))


def set_each(peer, parameters):
    """Return the results of ``set_parameters``."""
    return ask(peer, 'set_parameters', parameters=parameters).results


def set_together(peer, parameters):
    """Return the result of ``set_parameters_atomically``."""
    return ask(peer, 'set_parameters_atomically', parameters=parameters).result


def services_of(peer, node, count):
    """Return the services of a node in the root namespace as name to type, once there are all."""

    def found():
        kinds = {
            name: kind.split('/') for name, kind in peer.list_entities(f'/{node}')['services']
        }
        return kinds if len(kinds) == count else None

    return {
        name: getattr(importlib.import_module(f'{package}.srv'), service)
        for name, (package, _, service) in peer.spin_until(found, 'discovery').items()
    }


#: Those of shutting down are left out: what comes after them would be refused without a look.
TRANSITIONS = (0, 1, 2, 3, 4, 8, 9, 10, 60, 99, 255)
LABELS = ('', 'configure', 'activate', 'deactivate', 'cleanup', 'none', '\x1b[31mred')
INTEGERS = (0, 1, -1, 7, 2**53, 2**53 + 1, 2**63 - 1, -(2**63))
DOUBLES = (0.0, -0.0, 1.0, -3.0, 1e300, -1e300, 5e-324, math.nan, math.inf, -math.inf)
NAMES = ('nope', '', 'a\0b', '.', 'transmissions', 'é' * 5000, '\x1b[31mred\nline')
NAMES += ('qos_overrides./joint_states.publisher.depth',)


def fill(request, random, names):
    """Fill a request at random, with names of parameters among others."""

    def several(values, counts=(0, 0, 1, 2, 300)):
        return random.choices(values, k=random.choice(counts))

    def parameter():
        return typed(
            random.choice(names),
            random.choice((*range(10), *range(10), *UNKNOWN_TYPES)),
            bool_value=random.random() < 0.5,
            integer_value=random.choice(INTEGERS),
            double_value=random.choice(DOUBLES),
            string_value=random.choice(names),
            byte_array_value=several([bytes([k]) for k in range(256)]),
            bool_array_value=several([False, True]),
            integer_array_value=several(INTEGERS),
            double_array_value=several(DOUBLES),
            string_array_value=several(names),
        )

    for field, kind in request.get_fields_and_field_types().items():
        if field == 'parameters':
            value = [parameter() for _ in range(random.choice((0, 1, 1, 2, 5, 40)))]
        elif field == 'transition':
            value = request.transition
            value.id, value.label = random.choice(TRANSITIONS), random.choice(LABELS)
        elif kind == 'sequence<string>':
            value = several(names, (0, 1, 2, 3000))
        else:
            value = random.choice({
                'string': names,
                'boolean': (False, True),
                'uint64': (0, 1, 2, 2**63, 2**64 - 1),
                'uint8': (0,),
            }[kind])  # fmt: skip
        setattr(request, field, value)


def check_answer(request, response):
    """Check that a response has the form required by its request, and the reason."""
    if hasattr(response, 'results'):
        assert len(response.results) == len(request.parameters)
        assert all(result.successful or result.reason for result in response.results)
    elif hasattr(response, 'result') and hasattr(response.result, 'successful'):
        assert response.result.successful or response.result.reason
    for field in ('values', 'types', 'descriptors'):
        if hasattr(response, field):
            assert len(getattr(response, field)) in (0, len(request.names))


def test_attacked_node(peer, active_bridge, reference, campaign, capfd):
    """Requests of every kind are answered, and what the node then has is what it then does."""
    node = active_bridge()
    services = services_of(peer, node.get_name(), len(list(node.services)))
    assert {service.service_name for service in node.services} == set(services)
    random, names, every = Random(0), (*peer.parameter_names(), *NAMES), sorted(services)
    setting = [each for each in every if '/set_' in each]
    for number in range(250 * campaign):
        # Each service has its turn; what sets parameters has many.
        name = random.choice(setting) if random.random() < 0.4 else every[number % len(every)]
        request = services[name].Request()
        fill(request, random, names)
        check_answer(request, peer.call(services[name], name, request))
    # The parameters can be listed, got and described, and are of sense.
    names = peer.parameter_names()
    assert '' not in names
    assert len(peer.describe(names)) == len(names)
    values = peer.parameters(names)
    for name, value in values.items():
        for each in value if isinstance(value, list) else [value]:
            assert not isinstance(each, float) or math.isfinite(each), name
    if peer.state() in ('active', 'inactive'):
        for transmission, tunables in node._session.robot.tunables.items():
            for tunable in tunables:
                name = '.'.join(('transmissions', transmission, *tunable.path))
                assert values[name] == tunable.value, name
    output = capfd.readouterr().err
    assert 'bug' not in output
    assert '\x1b' not in output


#: Parameters that cannot be set, and the reason.
WRONG = LIFT.replace('offset', 'ofset')
BAD = (
    *((typed(ROLL, kind, double_value=0.5), f'unknown type {kind}') for kind in UNKNOWN_TYPES),
    (typed(WRONG, 3), f"there is no parameter '{WRONG}' (closest: '{LIFT}'"),
    (typed('', 3), 'a parameter without a name cannot be set'),
    (typed(RATIO, 3), 'zero'),
    (typed(RATIO, 2, integer_value=2**53 + 1), 'decimal point'),
    (typed(ROLL, 1, bool_value=True), '(expected a number, found True)'),
    (typed('zero_positions', 9, string_array_value=['a']), "a list of numbers, found ['a'])"),
    (typed('zero_positions', 8, double_array_value=[0.0, math.nan]), '-1000000 to 1000000'),
    (typed('on_stop', 4, string_value='nothing'), 'read-only'),
    (typed('use_sim_time', 1, bool_value=True), 'read-only'),
)


def test_parameters_that_cannot_be_set(peer, active_bridge, log):
    """Each costs itself, in a set together the set, with a reason; so do too many at once."""
    node = active_bridge()
    before = peer.parameter_names()
    good, other = (typed(LIFT, 3, double_value=value) for value in (0.25, 0.5))
    for bad, words in BAD:
        results = set_each(peer, [bad, good, bad])
        assert [result.successful for result in results] == [False, True, False]
        together = [set_together(peer, each) for each in ([other, bad], [bad, other])]
        for result in (results[0], results[2], *together):
            assert not result.successful
            assert all(word in result.reason for word in words.rsplit(' ', 1))
    assert peer.parameters([LIFT, ROLL, RATIO]) == {LIFT: 0.25, ROLL: 0.1, RATIO: -4.0}
    assert node._session.robot.parameters['hoist.joints.lift.mechanical_reduction'].value == -4.0
    assert not node.get_clock().ros_time_is_active
    assert peer.parameter_names() == before
    assert log('unknown type') > 0
    assert set_each(peer, []) == []
    assert set_together(peer, []).successful
    # Commands and timeouts would wait.
    many = [typed(LIFT, 3, double_value=0.01 * k) for k in range(1001)]
    results = set_each(peer, many[:101])
    assert len(results) == 101
    for result in (results[0], results[-1], set_together(peer, many)):
        assert not result.successful
        assert 'parameters in one request, expected' in result.reason
    assert peer.parameters([LIFT]) == {LIFT: 0.25}
    assert all(result.successful for result in set_each(peer, many[:100]))
    assert peer.parameters([LIFT]) == {LIFT: 0.99}
    assert set_together(peer, [many[3]]).successful
    assert list(ask(peer, 'describe_parameters', names=[LIFT] * 10_001).descriptors) == []


@pytest.mark.parametrize('broken', ['check_values', 'commit_values', '_apply'])
def test_bug_in_a_callback(peer, active_bridge, monkeypatch, capfd, broken):
    """A callback that raises has the request refused; the log has the traceback, once."""
    node = active_bridge()
    with monkeypatch.context() as patch:
        patch.setattr(node._live, broken, put_bug)
        for _ in range(3):
            (result,) = set_each(peer, [typed(ROLL, 3, double_value=0.2)])
            assert not result.successful
            assert BUG in result.reason
            assert not set_together(peer, [typed(ROLL, 3, double_value=0.2)]).successful
    assert capfd.readouterr().err.count('Traceback') == 2  # one for each service
    assert set_together(peer, [typed(ROLL, 3, double_value=0.3)]).successful
    assert peer.parameters([ROLL]) == {ROLL: 0.3}
    assert node._session.robot.transmissions['wrist'].joint_offset[0] == 0.3


def test_an_answer_that_cannot_be_sent(peer, active_bridge, monkeypatch, capfd):
    """A response that cannot be encoded is replaced by the empty response."""
    node = active_bridge()
    with monkeypatch.context() as patch:
        patch.setattr(
            node, 'list_parameters', lambda *_: ListParametersResult(names=['a', '\ud800'])
        )
        assert peer.parameter_names() == []
    assert 'surrogates not allowed' in capfd.readouterr().err
    assert ROLL in peer.parameter_names()
