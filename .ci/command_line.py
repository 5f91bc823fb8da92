#!/usr/bin/env python3
# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
Print docs/command_line.md from the help of the commands.

    PYTHONPATH=. python3 .ci/command_line.py > docs/command_line.md

The text of a command is its docstring in ``transmission_bridge/tools/commands.py``; only the
introduction below stands here. A test compares the file with the output of this script.
"""

from __future__ import annotations

import argparse
from collections import Counter
import re
import textwrap

from transmission_bridge.tools.commands import COMMANDS, EXIT_CODES, PROGRAM, ToolCommand

#: Columns of the page.
WIDTH = 125

INTRODUCTION = """\
# Command line

Every command of `transmission_bridge` with its arguments. `transmission_bridge COMMAND --help`
also explains it, with exit codes and examples.

A robot is read from a file, from standard input (`-`), or through a pipe: `transmission_bridge
check <(xacro robot.xacro)`. Values of actuators are in the units of their
[drivers](drivers.md#units), values of joints in SI.
{exits}
`eval "$(register-python-argcomplete transmission_bridge)"` (extra `cli`) completes commands and
files.

## Nodes

`bridge_node` and [`driver_node`](drivers.md) accept these arguments;
[parameters](commands_and_states.md#parameters) follow behind `--ros-args`.

- `--urdf FILE`: the robot description, in place of the parameter or topic `robot_description`; the
  bridge then starts by itself (`autostart`)
- `--driver FILE.py`: a file with [drivers](drivers.md): class `Servos` in `arm.py` becomes the
  plugin `arm/Servos`
- `--simulate`: [simulated motors](drivers.md#simulated-motors), `bridge_node` only
- `--executor NAME`: `events`, `single_threaded`, or `auto`: the first of these that rclpy has

## Arguments of several commands

{common}
"""


def read_arguments(command: ToolCommand) -> dict[str, str]:
    """Return the arguments of a command with their texts."""
    parser = argparse.ArgumentParser(prog=f'{PROGRAM} COMMAND', add_help=False)
    command.add_arguments(parser)
    arguments = {}
    for action in parser._actions:
        if action.help in (None, argparse.SUPPRESS):
            continue
        label = ' '.join([*action.option_strings, *list_values(action)])
        text = str(action.help) % {**vars(action), 'prog': parser.prog}
        arguments[label] = ' '.join(text.split())
    return arguments


def list_values(action: argparse.Action) -> list[str]:
    """Return what follows an option, or the name of a positional argument."""
    if action.nargs == 0:
        return []
    choices = '|'.join(map(str, action.choices or ()))
    value = choices or str(action.metavar or action.dest)
    return [value + ' ...' * (action.nargs in ('+', '*'))]


def mark_code(text: str) -> str:
    """Return a text of the help with options, elements and quoted commands in code type."""
    text = re.sub(r"'([^'\s][^']*)'(?!\w)", r'`\1`', text)
    parts = re.split(r'(`[^`]*`)', text)
    code = r'(?<![\w/.-])(--[a-z][\w-]*\w|<[a-z0-9_]+(?: [^<>]*)?>|[\w/.:]*_[\w/.:]*\w)'
    parts[::2] = [re.sub(code, r'`\1`', part) for part in parts[::2]]
    return ''.join(parts)


def list_items(arguments: dict[str, str]) -> str:
    """Return a list of arguments with their meanings."""
    return '\n'.join(
        wrap_line(f'- `{label}`: {mark_code(text)}', '  ') for label, text in arguments.items()
    )


def wrap_line(text: str, indent: str = '') -> str:
    """Return a line in lines of the page's width; code stays on one line."""
    whole = re.sub('`[^`]*`', lambda code: code[0].replace(' ', '\N{NO-BREAK SPACE}'), text)
    lines = textwrap.wrap(
        whole, WIDTH, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    )
    return '\n'.join(lines).replace('\N{NO-BREAK SPACE}', ' ')


def render_page() -> str:
    """Return the page."""
    read = {name: read_arguments(command) for name, command in COMMANDS.items()}
    entries = [entry for arguments in read.values() for entry in arguments.items()]
    commands_with = Counter(label.split()[0] for label, _ in entries)
    # What most of the commands with an argument say of it is said once.
    common = {
        label: text
        for (label, text), count in Counter(entries).items()
        if count > 1 and 2 * count > commands_with[label.split()[0]]
    }
    listed = list_items(dict(sorted(common.items())))
    parts = [INTRODUCTION.format(common=listed, exits=EXIT_CODES)]
    for name, arguments in read.items():
        # A text that begins as that of the other commands is continued.
        own = {
            label: text.removeprefix(f'{common.get(label)}; ')
            for label, text in arguments.items()
            if common.get(label) != text
        }
        shared = ', '.join(f'`{each.split()[0]}`' for each in arguments if each not in own)
        summary = COMMANDS[name].summary
        sections = [f'## {name}', f'{summary[:1].upper()}{summary[1:]}.']
        sections += [list_items(own)] * bool(own) + [wrap_line(f'Also {shared}.')] * bool(shared)
        parts.append('\n\n'.join(sections) + '\n')
    return '\n'.join(parts)


if __name__ == '__main__':
    print(render_page(), end='')
