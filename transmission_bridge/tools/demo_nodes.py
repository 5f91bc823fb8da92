# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""The two nodes of the demo: which they are, and with which parameters they run."""

from __future__ import annotations

from collections.abc import Mapping
import json
from pathlib import Path

from transmission_bridge.tools.demo_processes import Children
from transmission_bridge.tools.resources import resource

__all__ = ['NODES', 'start_nodes']

#: Name to module.
NODES = {
    'simulated_driver': 'transmission_bridge.ros.simulated_driver_main',
    'transmission_bridge': 'transmission_bridge.ros.bridge_main',
}

# Small motors: with the default inertia the efforts would be those of a crane.
_PARAMETERS = """\
/**:
  ros__parameters:
    robot_description: {description}
transmission_bridge:
  ros__parameters:
    autostart: true
simulated_driver:
  ros__parameters:
    inertia: 0.00001
    damping: 0.001
"""


def start_nodes(children: Children, environment: Mapping[str, str], folder: Path) -> None:
    """
    Start both nodes on the example robot, each as a process.

    :param children: Which they are added to.
    :param environment: Theirs.
    :param folder: Where their parameters and output go; must outlive them.
    """
    description = resource('urdf', 'arm.urdf').read_text(encoding='utf-8')
    parameters = folder / 'parameters.yaml'
    # A JSON string is a YAML string, so nothing in a URDF can be misread.
    parameters.write_text(
        _PARAMETERS.format(description=json.dumps(description)), encoding='utf-8'
    )
    for name, module in NODES.items():
        arguments = (module, '--ros-args', '--params-file', str(parameters))
        children.start(name, arguments, environment, folder / f'{name}.log')
