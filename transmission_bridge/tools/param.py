# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
``transmission_bridge param``: read, set and dump parameters of a running bridge.

Nodes and scripts read its output, which is YAML with the types of ROS. ``set`` reads a value as
``ros2 param set`` does. Errors and notes are free to change.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

from transmission_bridge.bridge.options import PREFIX
from transmission_bridge.errors import closest
from transmission_bridge.tools.bridge_client import (
    ACTIVE,
    BridgeClient,
    open_bridge_client,
    parse_parameter_value,
    require_answer,
)
from transmission_bridge.tools.cli import (
    Console,
    Exit,
    import_optional,
    ToolFailedError,
    UsageError,
)
from transmission_bridge.tools.files import (
    check_output_path,
    format_parameter_file,
    format_parameters,
    write_output,
)


def run(options: argparse.Namespace, console: Console) -> Exit:
    """Run the command."""
    import_optional('yaml', 'cli')
    verb, words = options.verb, options.words
    is_good, expected = {
        'get': (bool(words), 'NAME ...'),
        'set': (bool(words) and len(words) % 2 == 0, 'NAME VALUE [NAME VALUE ...]'),
        'dump': (len(words) < 2, 'at most one PREFIX'),
    }[verb]
    if not is_good:
        raise UsageError(f"param {verb}: expected {expected}, found '{' '.join(words)}'")
    if options.output:
        if verb != 'dump':
            raise UsageError(f'--output: expected param dump, found param {verb}')
        check_output_path(options.output, force=options.force)
    values: dict[str, Any] = {}
    for name, value in zip(words[::2], words[1::2], strict=True) if verb == 'set' else ():
        if name in values:
            raise UsageError(f"'{name}' is given twice")
        values[name] = parse_parameter_value(value)
    with open_bridge_client('param', options.node, console) as client:
        available = require_answer(client, client.send_request, 'list_parameters')
        if verb == 'dump':
            prefix = words[0] if words else PREFIX
            dumped = require_answer(client, client.get_parameters, [], prefix=prefix)
            if not dumped:
                raise ToolFailedError(
                    f"{client.bridge} has no parameters that begin with '{prefix}'"
                    + _explain_absence(client, prefix, available)
                )
            text = format_parameter_file(((*each, '') for each in dumped.items()), client.bridge)
        else:
            names = words if verb == 'get' else [*values]
            for name in names:
                if name not in available:
                    raise UsageError(
                        f"{client.bridge} has no parameter '{name}'{closest(name, available)}"
                        + _explain_absence(client, name, available)
                    )
            if verb == 'set':
                require_answer(client, client.set_parameters, values)
            answer = require_answer(client, client.get_parameters, names)
            # In the order of the arguments.
            lines = format_parameters((name, answer.get(name), '') for name in names)
            text = ''.join(f'{line}\n' for line in lines)
    if options.output:
        write_output(options.output, text.encode(), force=options.force)
        console.err.line(f'written to {options.output}')
    else:
        console.out.write(text)
    return Exit.OK


def _explain_absence(client: BridgeClient, name: str, available: Sequence[str]) -> str:
    """Return why a bridge has no numbers of transmissions, empty if it has some."""
    has_none = not any(parameter.startswith(PREFIX) for parameter in available)
    state = '' if client.report is None else client.report.state
    if not (has_none and name.startswith(PREFIX)) or state == ACTIVE:
        return ''
    return f': it is {state}, and has numbers of transmissions after configure'
