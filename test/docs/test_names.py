# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Names in the text of the documents exist, and each option is explained in one place."""

from __future__ import annotations

import argparse
import ast
from collections import Counter
from dataclasses import fields
from functools import cache
import re
from types import ModuleType, SimpleNamespace

from documents import DOCUMENTS, ROOT
import pytest

import transmission_bridge as tb
from transmission_bridge.bridge.options.options import BridgeOptions
from transmission_bridge.resources import resource
from transmission_bridge.ros.topics import TOPICS
from transmission_bridge.tools.commands import COMMANDS

PACKAGE = 'transmission_bridge'

#: Options of other programs.
FOREIGN_OPTIONS = {
    'ros2 and rclpy': ['--ros-args', '--params-file', '--remap', '--show-args', '--once'],
    'ros2 bag': ['--clock', '--loop'],
    'pip': ['--user', '--break-system-packages', '--editable', '--system-site-packages'],
    'controller_manager': ['--controller-manager', '--inactive'],
    'colcon': ['--symlink-install', '--packages-select'],
    'g++ and cmake': ['--std', '--build'],
}

#: Names of others that the text mentions, by owner.
FOREIGN_NAMES = {
    'ros2_control': ['enforce_command_limits', 'joint_limits', 'odrive_ros2_control'],
    'messages and rclpy': ['best_effort', 'describe_parameters', 'qos_event'],
    'robot_state_publisher': ['frame_prefix', 'joint_state_publisher'],
    'launch_ros': ['set_remap'],
    'Fast DDS': ['process_data_frag_msg'],
    'nav2': ['bond_timeout'],
    'mistakes in descriptions': ['max_motor_torque', 'mechanical_reducton'],
}  # fmt: skip

#: Nodes and topics of others, and folders.
THEIR_PATHS = {'/controller_manager', '/robot_joint_commands', '/dev/shm', '/tmp', '/etc', '/proc'}

#: How names of an example robot with two arms begin.
SIDES = ('left_', 'right_')

#: Parameters of the node that are no options of the bridge.
NODE_PARAMETERS = {'robot_description', 'autostart', 'zero_joints', 'zero_positions'}
NODES = {PACKAGE, 'simulated_driver'}
NODE_OPTIONS = {'--urdf', '--executor', '--help'}


@cache
def spans_of(name):
    """Return the code spans of a document outside of its fences, on one line each."""
    text = re.sub(r'^```.*?^```$', '', DOCUMENTS[name].text, flags=re.DOTALL | re.MULTILINE)
    return [' '.join(span.split()) for span in re.findall(r'(?<!`)`([^`]+)`(?!`)', text)]


@cache
def options_by_command():
    """Return the options of each command."""
    found = {}
    for name, command in COMMANDS.items():
        parser = argparse.ArgumentParser(add_help=False, conflict_handler='resolve')
        command.add_arguments(parser)
        shown = [each for each in parser._actions if each.help is not argparse.SUPPRESS]
        options = {option for each in shown for option in each.option_strings}
        found[name] = options | {'--help'}
    return found


@cache
def words_of_file(path):
    """Return every identifier of a Python file, and every word of its texts."""
    found = {path.stem, path.name, path.parent.name}
    for node in ast.walk(ast.parse(path.read_text(encoding='utf-8'))):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            found.update(re.findall(r'\w+', node.value))
        for field in ('id', 'attr', 'arg', 'name', 'module', 'asname'):
            value = getattr(node, field, None)
            if isinstance(value, str):
                found.update(value.split('.'))
    return found


@cache
def words_of_code():
    """Return the words of the package, and of all that its documents are about."""
    found = set()
    for folder in (PACKAGE, 'launch', 'examples'):
        for path in (ROOT / folder).rglob('*.py'):
            found |= words_of_file(path)
    for folder in ('benchmarks', 'test'):
        for path in (ROOT / folder).rglob('*.py'):
            text = path.read_text(encoding='utf-8')
            found.update([path.stem, path.parent.name, *re.findall(r'(?:def|class) (\w+)', text)])
    for pattern in ('config/*', 'urdf/*', 'examples/**/*', 'package.xml', 'Makefile', '*.toml',
                    'transmission_bridge/**/templates/*', 'test/data/**/*.urdf'):  # fmt: skip
        for path in ROOT.glob(pattern):
            found.update([path.name, path.stem])
            if path.is_file() and path.suffix != '.pyc':
                found.update(re.findall(r'\w+', path.read_text(encoding='utf-8', errors='ignore')))
    for document in DOCUMENTS.values():  # what fenced code defines is tested where it runs
        for block in document.blocks:
            found.update(re.findall(r'\w+', f'{block.file} {block.text}'))
    return found


@cache
def foreign_names():
    """Return the names of others."""
    return {name for names in FOREIGN_NAMES.values() for name in names}


# -- what a span may be --------------------------------------------------------------------------


def find_unknown_options(span):
    """Return the options in a span that no program has, or not the command that it names."""
    command = re.match(r'(?:transmission_bridge )?(\w+)', span)
    known = options_by_command()
    others = {each for options in FOREIGN_OPTIONS.values() for each in options} | NODE_OPTIONS
    if command and command[1] in known and not span.startswith('ros2'):
        allowed = known[command[1]]
    else:
        allowed = {each for options in known.values() for each in options} | others
    return [each for each in re.findall(r'(?<![\w-])--[a-z][\w-]*', span) if each not in allowed]


def find_unknown_attributes(span):
    """Return the dotted names of the package in a span that do not exist."""
    names = re.findall(r'(?<![\w./-])[A-Za-z_]\w*(?:\.\w+)+', span)
    return [name for name in names if not is_attribute(*name.split('.'))]


def is_attribute(first, *rest):
    """Return whether a dotted name exists; names of other packages do."""
    if first == PACKAGE:
        path = ROOT / PACKAGE
        while rest and (path / rest[0]).is_dir():
            path, rest = path / rest[0], rest[1:]
        if rest and (path / f'{rest[0]}.py').exists():
            path, rest = path / f'{rest[0]}.py', rest[1:]
        elif path.is_dir():
            path = path / '__init__.py'
        return all(name in words_of_file(path) for name in rest)
    thing = tb if first == 'tb' else getattr(tb, first, getattr(tb.kinematics, first, None))
    if thing is None or (isinstance(thing, ModuleType) and thing is not tb):
        return True
    for name in rest:
        # Fields of a class have no value there, but an annotation.
        if not hasattr(thing, name):
            classes = getattr(thing, '__mro__', ())
            return any(name in getattr(each, '__annotations__', ()) for each in classes)
        thing = getattr(thing, name)
    return True


def find_unknown_parameters(span):
    """Return the live parameters in a span of a form that the node does not declare."""
    member = r'(joints|actuators)\.[^.]+'
    number = r'(?!(?:joint|actuator)s?\.)[a-z<]\w*>?(\.[\w<>]+)*'
    form = rf'transmissions\.([*]|[^.]+(\.(({member}\.)?{number}|[*]))?)'
    texts = re.findall(r'(?<![\w.])transmissions\.[^\s=:,]*[^\s=:,.]', span)
    return [each for each in texts if not re.fullmatch(form, each) and '.md' not in each
            and '.svg' not in each and 'README' not in each]  # fmt: skip


def find_unknown_topics(span):
    """Return the topic or service that a span is, if no node has it."""
    is_of_an_arm = span.startswith(('/left/', '/right/')) and 'controller' in span
    if not re.fullmatch(r'[~/][a-z_/]+', span) or span in THEIR_PATHS or is_of_an_arm:
        return []
    policy = resource('config', 'sros2', 'transmission_bridge.policy.xml').read_text('utf-8')
    known = {*TOPICS, *re.findall(r'>([~\w/]+)<', policy)}
    names = {each.lstrip('/') if each.startswith('/') else each for each in known}
    plain = span.lstrip('/') if span.startswith('/') else span
    names |= NODES  # a namespace may stand before each
    is_known = any(plain == name or plain.endswith(f'/{name}') for name in names)
    return [] if is_known else [span]


def find_unknown_words(span):
    """Return the identifiers in a span that neither the package nor a known owner has."""
    # Parts of one letter are mathematics; names with a side are examples.
    names = re.findall(r'(?<![\w/])[a-z]{2,}(?:_[a-z0-9]{2,})+(?![\w/])', span)
    known = words_of_code() | foreign_names() | {field.name for field in fields(BridgeOptions)}
    return [name for name in names if name not in known and not name.startswith(SIDES)]


CHECKS = [
    find_unknown_options,
    find_unknown_attributes,
    find_unknown_parameters,
    find_unknown_topics,
    find_unknown_words,
]


@pytest.mark.parametrize('name', DOCUMENTS)
def test_the_names_of_a_document_exist(name):
    """Options, methods, parameters, topics and other names in its code spans."""
    unknown = [
        f'{each} (in `{span}`)'
        for span in spans_of(name)
        for check in CHECKS
        for each in check(span)
    ]
    assert unknown == []


@pytest.mark.parametrize(('check', 'span'), [
    (find_unknown_options, 'transmission_bridge check --ouptut x'),
    (find_unknown_options, 'watch --store'),
    (find_unknown_options, '--name-space left'),
    (find_unknown_attributes, 'RobotTransmissions.with_parameter'),
    (find_unknown_attributes, 'tb.load_descriptions'),
    (find_unknown_attributes, 'transmission_bridge.kinematics.JointDevices'),
    (find_unknown_attributes, 'JointDevice.from_urdf'),
    (find_unknown_parameters, 'transmissions.wrist.joint.roll.offset'),
    (find_unknown_parameters, 'transmissions..offset'),
    (find_unknown_topics, '/joint_comands'),
    (find_unknown_topics, '~/zeros'),
    (find_unknown_words, 'state_timeouts'),
    (find_unknown_words, 'tunning_guard:=false'),
])  # fmt: skip
def test_a_wrong_name_is_found(check, span):
    """The checks are not blind."""
    assert check(span) != []


# -- one place for each explanation --------------------------------------------------------------


#: A member of a plugin, not the parameter.
SAME_NAMES = {('writing_a_transmission.md', 'passive_joints')}


def find_explanations(name):
    """
    Yield section and name of each explanation in a document.

    It is a row of a table of meanings with the name in its first cell, or a list item or a
    paragraph that begins with the name and a colon. Values for a purpose are none.
    """
    text = re.sub(r'^```.*?^```$', '', DOCUMENTS[name].text, flags=re.DOTALL | re.MULTILINE)
    section, head, before = '', '', ''
    for line in text.splitlines():
        if heading := re.match(r'#+ (.*)', line):
            section = heading[1]
        if line.startswith('|') and not before.startswith('|'):
            head = line
        cell = re.match(r'\| ((?:\**`[^`|]+`\**,? ?)+) \|', line)
        item = re.match(r'(?:[-*] )?(\**`[^`]+`\**):(?: |$)', line)
        if (cell and 'meaning' in head) or (item and (line[0] in '-*' or not before.strip())):
            for span in re.findall(r'`([^`]+)`', (cell or item)[1]):
                if (name, span) not in SAME_NAMES:
                    yield section, span
        before = line


def test_each_parameter_is_explained_in_one_place():
    """That is the table of docs/interface.md; other pages link to it."""
    parameters = {field.name for field in fields(BridgeOptions)} | NODE_PARAMETERS
    places = Counter()
    found = []
    for name in DOCUMENTS:
        for section, span in find_explanations(name):
            is_topic = span in TOPICS and section != 'Parameters'
            if span in parameters and not is_topic:
                places[span] += 1
                found.append(f'{span}: {name}, {section}')
    assert [each for each in found if places[each.partition(':')[0]] > 1] == []
    assert places.keys() == parameters


def test_a_second_explanation_is_found(monkeypatch):
    """In each form; a link, and a value for a purpose, are none."""
    text = """
| name | meaning |
|---|---|
| `limits`, `pass_through` | x |

- `state_timeout`: x
- [`max_step`](interface.md#parameters): x

**`on_stop`**: x

| parameter | value |
|---|---|
| `zero_effort` | `true` |
"""
    monkeypatch.setitem(DOCUMENTS, 'x.md', SimpleNamespace(text=text))
    found = [span for _, span in find_explanations('x.md')]
    assert found == ['limits', 'pass_through', 'state_timeout', 'on_stop']


def test_each_option_is_explained_in_one_place():
    """That is docs/command_line.md, once for each command or once for several."""
    found = {}
    for name in DOCUMENTS:
        for section, span in find_explanations(name):
            option = span.split()[0]
            is_ours = any(option in options for options in options_by_command().values())
            if option.startswith('--') and (is_ours or option in NODE_OPTIONS):
                found.setdefault((option, section), []).append(name)
    assert {key: names for key, names in found.items() if names != ['command_line.md']} == {}
    explained = {option for option, _ in found}
    for options in options_by_command().values():
        assert options - explained == {'--help'}
