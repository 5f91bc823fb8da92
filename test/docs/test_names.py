# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Names in the text of the documents exist, and each option is explained in one place."""

from __future__ import annotations

import argparse
import ast
from functools import cache
import re
from types import ModuleType

from documents import DOCUMENTS, ROOT
import pytest

import transmission_bridge as tb
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

#: Nodes and topics of others, and folders.
THEIR_PATHS = {'/controller_manager', '/robot_joint_commands', '/dev/shm', '/tmp', '/etc', '/proc'}

NODES = {PACKAGE, 'driver_node'}
NODE_OPTIONS = {'--urdf', '--driver', '--simulate', '--executor', '--help'}


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


CHECKS = [
    find_unknown_options,
    find_unknown_attributes,
    find_unknown_parameters,
    find_unknown_topics,
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
])  # fmt: skip
def test_a_wrong_name_is_found(check, span):
    """The checks are not blind."""
    assert check(span) != []


# -- one place for each explanation --------------------------------------------------------------
