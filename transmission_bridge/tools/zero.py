# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
``transmission_bridge zero``: set the offsets of a running bridge from its present positions.

The bridge computes and stores the offsets, and defines the names of services and parameters. This
module asks, and restores ``zero_joints`` and ``zero_positions`` also after an error. Sentences are
free to change.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Mapping
import sys
from typing import Any

from transmission_bridge.bridge.options import PREFIX
from transmission_bridge.tools.bridge_client import (
    BridgeClient,
    open_bridge_client,
    require_answer,
)
from transmission_bridge.tools.cli import Console, Exit, parse_values, printable, UsageError

#: Parameters of the bridge: the joints, and their positions.
_JOINTS, _POSITIONS = 'zero_joints', 'zero_positions'


def run(options: argparse.Namespace, console: Console) -> Exit:
    """Run the command."""
    targets = parse_values(options.joints, None, 'joint', {})
    if targets and (options.all or options.absolute):
        raise UsageError('expected JOINT=POSITION without --all and --absolute')
    is_asked = not (targets or options.all)
    if is_asked and not sys.stdin.isatty():
        raise UsageError('expected JOINT=POSITION, or --all for all joints without a question')
    with open_bridge_client('zero', options.node, console) as client:
        if is_asked and not _confirm(client, console, absolute=options.absolute):
            console.err.line('nothing is changed')
            return Exit.INTERRUPTED
        stored = _zero_joints(client, targets, absolute=options.absolute)
    console.out.line(printable(stored))
    return Exit.OK


def _confirm(client: BridgeClient, console: Console, *, absolute: bool) -> bool:
    """List the offsets that would change, and return whether the user wants it."""
    asked = require_answer(client, client.get_parameters, [_JOINTS], prefix=PREFIX)
    offsets = list_offsets(asked, asked.pop(_JOINTS, None) or ())
    source = 'as their absolute encoders measure' if absolute else f'as {_POSITIONS} says'
    console.err.line(f'the present positions of these joints become those {source}:')
    for name, value in offsets.items():
        console.err.line(printable(f'  {name}: {value:.6g}'))
    console.err.line('change all of them? y, or a single one by JOINT=POSITION [N]')
    return sys.stdin.readline().strip().lower() in ('y', 'yes')


def list_offsets(numbers: Mapping[str, Any], joints: Iterable[str]) -> dict[str, Any]:
    """Return offsets of some joints, or of all; an actuator may be of the linkage of any joint."""
    ends = tuple(f'.{joint}.offset' for joint in joints) or '.offset'
    return {
        name: value
        for name, value in numbers.items()
        if name.endswith(ends) or (name.endswith('.offset') and '.actuators.' in name)
    }


def _zero_joints(client: BridgeClient, targets: Mapping[str, float], *, absolute: bool) -> str:
    """
    Set the offsets of some joints, or of those in the parameters; these stay as they are.

    :raises ToolFailedError: If the bridge rejects it, or has no such joint.
    """
    request = client.send_request, 'zero_from_absolute' if absolute else 'zero'
    if not targets:
        return str(require_answer(client, *request))
    before = require_answer(client, client.get_parameters, [_JOINTS, _POSITIONS])
    try:
        _set_targets(client, [*targets], [*targets.values()])
        return str(require_answer(client, *request))
    finally:
        _set_targets(client, *(before.get(name) or () for name in (_JOINTS, _POSITIONS)))


def _set_targets(client: BridgeClient, joints: Any, positions: Any) -> None:
    from rclpy.parameter import Parameter  # not at import: arguments are checked without ROS

    # An empty list has no type of its own.
    values = (
        Parameter(_JOINTS, Parameter.Type.STRING_ARRAY, list(joints)),
        Parameter(_POSITIONS, Parameter.Type.DOUBLE_ARRAY, list(positions)),
    )
    messages = {parameter.name: parameter.get_parameter_value() for parameter in values}
    require_answer(client, client.set_parameters, messages)
