# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""``transmission_bridge card``: numbers of joints from those of their motors."""

from __future__ import annotations

import math
import xml.etree.ElementTree as ElementTree

from documents import DOCUMENTS
import numpy as np
import pytest
from zoo.elements import ankle, leg, load, numbered, params, ratio, transmission, urdf, WRIST

from transmission_bridge.tools.card.cards import CardMotor, CURVE, make_card, NUMBERS
from transmission_bridge.transmissions.known_names import find_known_name

#: A motor with every number; ``N`` is the ratio of the knee.
N = 50.0
MOTOR = {
    'rotor_inertia': 2e-5, 'torque_constant': 0.1, 'coulomb_friction': 0.02,
    'viscous_friction': 1e-4, 'kp': 0.3, 'kd': 0.004,
}  # fmt: skip
LIMIT = '<limit effort="1.5" velocity="200"/>'
TURNS = 'revolute lower="-0.3" upper="0.3" velocity="9" effort="99"'
KNEE = urdf(
    {'knee': TURNS},
    transmission('leg', 'Simple', {'knee': ratio(-N)}, {'motor': LIMIT + params(**MOTOR)}),
)
FOOT = urdf({'pitch': TURNS, 'roll': TURNS}, ankle())
FOOT_MOTORS = 'actuators: {upper: &m {rotor_inertia: 1e-4, effort: 60, velocity: 15}, lower: *m}'


@pytest.fixture
def card(run, save):
    """Return a function that runs the command with the text of a file of motors."""

    def call(description, motors='', *options, code=0):
        given = ['--motors', save(motors, 'motors.yaml')] if motors else []
        result = run('card', '-', *given, *options, stdin=description.encode())
        assert result.code == code, result
        return result

    return call


@pytest.fixture
def numbers(card):
    """Return a function that gives the only transmission of the JSON."""

    def call(description, motors=''):
        (found,) = card(description, motors, '--json').json['transmissions']
        return found

    return call


# -- what follows --------------------------------------------------------------------------------


def test_a_gear_multiplies_inertia_and_gains_by_its_square(numbers):
    """Limits and friction go with the ratio, whose sign is only in the ratio."""
    found = numbers(KNEE)
    assert found['joints'] == [
        {
            'name': 'knee', 'unit': 'rad', 'position': 0.0,
            'velocity': pytest.approx(200.0 / N), 'effort': pytest.approx(1.5 * N),
            'friction': pytest.approx(0.02 * N), 'armature': pytest.approx(2e-5 * N**2),
            'damping': pytest.approx(1e-4 * N**2),
            'kp': pytest.approx(0.3 * N**2), 'kd': pytest.approx(0.004 * N**2),
        }
    ]  # fmt: skip
    (motor,) = found['actuators']
    assert motor['ratio'] == {'knee': pytest.approx(-N)}
    assert (motor['kp'], motor['current']) == (0.3, pytest.approx(15.0))


def test_two_equal_motors_give_each_joint_of_an_ankle_twice_the_inertia_of_one(numbers):
    """Pitch has ``2 N² I``, not ``N² I``, by a differential and by push-rods alike."""
    motor = ratio(N) + params(rotor_inertia=1e-5)
    both = transmission('wrist', 'Differential', ('j0', 'j1'), dict.fromkeys(('m0', 'm1'), motor))
    found = numbers(numbered(both))
    assert [each['armature'] for each in found['joints']] == pytest.approx([2e-5 * N**2] * 2)
    assert found['lost']['armature'] == pytest.approx(0.0, abs=1e-12)
    at_zero = np.array(numbers(FOOT, FOOT_MOTORS)['matrices']['armature'])
    np.testing.assert_allclose(at_zero, 2e-4 * np.eye(2), atol=1e-9)


def test_terms_beside_the_diagonal_are_given_and_their_share(card, numbers):
    """Motors of different inertia couple the joints: ``M_01 = N² (I_0 − I_1)``."""
    motors = 'actuators: {m0: {rotor_inertia: 3e-5}, m1: {rotor_inertia: 1e-5}}'
    found = numbers(numbered(WRIST), motors)
    matrix = np.array([[4e-5, 2e-5], [2e-5, 4e-5]])
    np.testing.assert_allclose(found['matrices']['armature'], matrix)
    share = math.sqrt(2 * 2.0**2 / (2 * 4.0**2 + 2 * 2.0**2))
    assert found['lost']['armature'] == pytest.approx(share)
    assert f'{share:.1%} of armature' in card(numbered(WRIST), motors).out


def test_kinetic_energy_and_efforts_are_those_of_the_motors():
    """At every sample; the effort limit is reached by a motor at its own one."""
    robot, rng = load(FOOT), np.random.default_rng(1)
    motors = {
        name: CardMotor(name, rotor_inertia=1e-4, effort=60.0) for name in robot.actuator_names
    }
    card = make_card(robot, robot.bindings[0], motors, {})
    for sample in range(0, len(card.position), len(card.position) // 7):
        q, rate = card.position[sample], rng.normal(size=2)
        a_rate = robot.joint_to_actuator('velocity', rate, at=q)
        assert rate @ card.matrices['armature'][sample] @ rate == pytest.approx(
            1e-4 * a_rate @ a_rate
        )
        # The other joint's effort is free: the best one leaves both motors at their limit.
        jacobian = np.stack([robot.joint_to_actuator('effort', e, at=q) for e in np.eye(2)], -1)
        best = np.abs([np.linalg.solve(jacobian, [60.0, s * 60.0]) for s in (1, -1)]).max(axis=0)
        np.testing.assert_allclose(card.per_joint['effort'][sample], best)


def test_wanted_gains_of_joints_become_those_of_the_motors(numbers):
    """They do the same work, and the share beside the diagonal is what the motors lose."""
    found = numbers(numbered(WRIST), 'joints: {j0: {kp: 80, kd: 2}, j1: {kp: 20, kd: 1}}')
    jacobian = load(numbered(WRIST)).jacobian([0.0, 0.0])
    kp, kd = (jacobian.T @ np.diag(gains) @ jacobian for gains in ([80.0, 20.0], [2.0, 1.0]))
    np.testing.assert_allclose(found['matrices']['actuator_kp'], kp)
    np.testing.assert_allclose(found['matrices']['actuator_kd'], kd)
    lost = np.linalg.norm(kp - np.diag(np.diag(kp))) / np.linalg.norm(kp)
    assert found['lost']['actuator_kp'] == pytest.approx(lost)
    assert [each['kp'] for each in found['joints']] == [80.0, 20.0]


def test_without_as_many_motors_as_joints_inertia_stays_at_the_motors(card, numbers):
    """A sentence says so, and limits still follow."""
    finger = transmission('finger', 'Coupled', ('j0', 'j1'), ['m0'], params(matrix='1; 2'))
    motors = 'actuators: {m0: {rotor_inertia: 1e-5, velocity: 4}}'
    found = numbers(numbered(finger), motors)
    assert [each['armature'] for each in found['joints']] == [None, None]
    assert [each['velocity'] for each in found['joints']] == [4.0, 8.0]
    assert '1 motors move 2 joints: inertia' in card(numbered(finger), motors).out


def test_a_crank_in_the_model_has_the_armature_alone(numbers, card, linkages):
    """A linkage names the joint of each motor; it has ``N² I``, whatever the position."""
    motors = 'actuators: {upper_motor: {rotor_inertia: 1e-4, kp: 2}, lower_motor: {kp: 2}}'
    upper, _ = numbers(linkages['push_rod_ankle'], motors)['cranks']
    assert (upper['joint'], upper['armature']) == ('upper_motor', pytest.approx(1e-4 * 15**2))
    model = ElementTree.fromstring(card(linkages['push_rod_ankle'], motors, '--mjcf').out)
    (only,) = model.findall('default/default')
    assert only.get('class') == 'upper_motor'


def test_a_curve_of_torque_over_speed_limits_both(numbers):
    """Its largest values are the limits, and it is given at the joint."""
    motors = f'actuators: {{motor: {{{CURVE}: [[0, 1.2], [100, 1.0], [150, 0]]}}}}'
    found = numbers(KNEE.replace(LIMIT, ''), motors)
    assert (found['joints'][0]['velocity'], found['joints'][0]['effort']) == (3.0, 60.0)
    curve = np.array([[0.0, 60.0], [2.0, 50.0], [3.0, 0.0]])
    np.testing.assert_allclose(found['torque_speed_curve'], curve)


# -- formats -------------------------------------------------------------------------------------


def test_mjcf_has_motors_at_their_joints_tendons_and_equalities(card):
    """A constant coupling is tendons, which lose nothing; mimic joints are equalities."""
    model = ElementTree.fromstring(card(KNEE, '', '--mjcf').out)
    joint, motor = model.find('default/default/joint').attrib, model.find('actuator/*')
    assert {k: float(v) for k, v in joint.items()} == pytest.approx(
        {'armature': 0.05, 'damping': 0.25, 'frictionloss': 1.0}
    )
    assert motor.tag == 'position'
    assert motor.attrib == {
        'name': 'motor', 'joint': 'knee', 'gear': '-50', 'kp': '0.3', 'kv': '0.004',
        'forcerange': '-1.5 1.5',
    }  # fmt: skip
    motors = 'actuators: {m0: {rotor_inertia: 3e-5, effort: 2}, m1: {rotor_inertia: 1e-5}}'
    robot = numbered(WRIST, count=3, mimic={'j2': 'joint="j0" multiplier="-2" offset="0.1"'})
    model = ElementTree.fromstring(card(robot, motors, '--mjcf').out)
    first, second = model.findall('tendon/fixed')
    assert (first.get('armature'), second.get('armature')) == ('3e-05', '1e-05')
    assert [each.get('coef') for each in second] == ['1', '-1']
    assert model.find('actuator/motor[@tendon="m0"]').get('forcerange') == '-2 2'
    assert model.find('equality/joint').attrib == {
        'joint1': 'j2', 'joint2': 'j0', 'polycoef': '0.1 -2 0 0 0',
    }  # fmt: skip


def test_mjcf_of_one_motor_for_two_joints_has_an_equality(card):
    """The joint that moves most leads, with the inertia of the motor."""
    finger = transmission('finger', 'Coupled', ('j0', 'j1'), ['m0'], params(matrix='1; 5'))
    motors = 'actuators: {m0: {rotor_inertia: 25e-5}}'
    model = ElementTree.fromstring(card(numbered(finger), motors, '--mjcf').out)
    assert model.find('default/default[@class="j1"]/joint').get('armature') == '1e-05'
    assert model.find('equality/joint').get('polycoef') == '0 0.2 0 0 0'


def test_isaac_lab_has_a_table_where_the_ratio_varies(card):
    """Angle, motor per joint, and largest effort; constant ratios need none."""
    text = urdf({'knee': TURNS}, leg(actuator='<limit effort="900"/>' + params(kp=1e5)))
    isaac, kinds = {}, ('ImplicitActuatorCfg', 'RemotizedPDActuatorCfg')
    names = {kind: lambda kind=kind, **given: {'kind': kind, **given} for kind in kinds}
    for robot in (text, KNEE):
        exec(card(robot, '', '--isaaclab').out.partition('\n')[2], names, found := {})
        isaac[robot] = found['ACTUATORS']['leg']
    table = np.array(isaac[text]['joint_parameter_lookup'])
    assert isaac[text]['kind'] == 'RemotizedPDActuatorCfg'
    np.testing.assert_allclose(table[[0, -1], 0], [-0.3, 0.3], atol=1e-9)
    robot = load(text)
    for angle, per_joint, effort in table[::10]:
        moved = robot.joint_to_actuator('velocity', [1.0], at=[angle])
        np.testing.assert_allclose([per_joint, effort], [*moved, 900.0 * abs(moved[0])], rtol=1e-6)
    assert isaac[KNEE]['kind'] == 'ImplicitActuatorCfg'
    assert isaac[KNEE]['armature'] == {'knee': pytest.approx(0.05)}


# -- input ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(('motors', 'words'), [
    ('actuators: {moter: {kp: 1}}', "actuators: expected one of motor, found 'moter' ("),
    ('actuators: {motor: {kpp: 1}}', "actuator 'motor': expected one of rotor_inertia, "),
    ('actuators: {motor: {kp: fast}}', "'motor': kp: expected a decimal number such as"),
    ('actuators: {motor: {kp: -1}}', "kp: expected a positive number, found '-1'"),
    ('actuators: {motor: {kp: [1]}}', 'kp: expected a number, found'),
    (f'actuators: {{motor: {{{CURVE}: [[0, 1]]}}}}', 'expected two or more pairs of speed'),
    (f'actuators: {{motor: {{{CURVE}: [[0, 1], [0, 2]]}}}}', 'expected rising speeds'),
    ('joints: {knee: {rotor_inertia: 1}}', "joint 'knee': expected one of kp, kd, found"),
    ('joints: {knee: {kp: 1}}', 'expected gains of its motors or of its joints, found both'),
    ('motors: {}', 'expected one of actuators, joints, found'),
    ('- motor', 'expected names with values'),
    ('{', 'expected YAML, found: '),
])  # fmt: skip
def test_a_wrong_number_is_named_with_file_motor_expectation_and_finding(
    card, tmp_path, motors, words
):
    """One sentence, exit code 2."""
    error = card(KNEE, motors, code=2).err
    assert words in error
    assert str(tmp_path) in error or 'both' in words
    assert error.count('\n') == 1
    text = KNEE.replace('>0.3<', '>x<')
    assert "actuator 'motor': kp: expected a decimal number" in card(text, code=2).err


def test_names_of_params_are_the_drivers_and_documented(run):
    """No name means a reduction, an offset or a limit, so ``check`` lists it as information."""
    assert {row.split('`')[1] for row in DOCUMENTS['compile.md'].rows('The card')} == {*NUMBERS}
    assert [find_known_name(name) for name in {*MOTOR, CURVE}] == [''] * 7
    findings = run('check', '-', '--json', stdin=KNEE.encode()).json['findings']
    left = [each['severity'] for each in findings if 'left to the driver' in each['message']]
    assert left == ['info'] * len(MOTOR)


def test_a_transmission_without_a_card_is_named(card, mixed_robot):
    """The others have one, and the exit code is 1."""
    result = card(mixed_robot.read_text(), '', code=1)
    assert "transmission 'broken_transmission' has no card" in result.out
    assert 'good_motor' in result.out
    assert 'has no card' in card(mixed_robot.read_text(), '', '--mjcf', code=1).err
    assert 'expected one format' in card(KNEE, '', '--isaaclab', '--mjcf', code=2).err


def test_a_line_break_in_a_name_ends_no_comment(card):
    """What is printed as Python has no other statements than its own."""
    robot = FOOT.replace('"roll"', '"roll&#10;import os"')
    code = card(robot, 'joints: {pitch: {kp: 1}}', '--isaaclab').out
    assert 'has no wanted gains' in code
    assert not any(line.startswith('import os') for line in code.splitlines())
