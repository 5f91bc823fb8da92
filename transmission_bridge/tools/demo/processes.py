# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""The two nodes of the demo as processes on their own ROS domain, ended in all cases."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
import contextlib
import json
from pathlib import Path
import signal
import socket
import subprocess
import sys

from transmission_bridge.resources import resource

#: Seconds before the next signal to a process that does not end.
_PATIENCE = 3.0

#: Lines of output shown of a process that died.
_TAIL = 20

# Domain ids that are safe on every system: ports of higher ids collide with ephemeral ports.
_DOMAINS = range(101, 0, -1)

#: Name to module.
NODES = {
    'simulated_driver': 'transmission_bridge.ros.simulated_driver_main',
    'transmission_bridge': 'transmission_bridge.ros.bridge_main',
}

# Small motors, because efforts would be implausibly large with the default inertia.
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
    move_demo: true
"""


def ros_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """
    Return variables that isolate the demo from other nodes, unless the user has set them.

    :param environment: The present environment.
    """
    added = {'ROS_AUTOMATIC_DISCOVERY_RANGE': 'LOCALHOST'}
    if not environment.get('ROS_DOMAIN_ID'):
        added['ROS_DOMAIN_ID'] = str(next(filter(_is_free, _DOMAINS), _DOMAINS[0]))
    return {name: value for name, value in added.items() if not environment.get(name)}


def _is_free(domain: int) -> bool:
    """Return whether a domain has no participants on this machine."""
    # The port of the first participant of a domain (DDSI-RTPS 9.6.1.1).
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.bind(('', 7410 + 250 * domain))
        except OSError:
            return False
    return True


class Child(subprocess.Popen[bytes]):
    """
    A running process.

    :param name: Its name.
    :param arguments: Command line after ``python -m``.
    :param environment: Its environment.
    :param log: File for its output.
    """

    def __init__(
        self, name: str, arguments: Sequence[str], environment: Mapping[str, str], log: Path
    ) -> None:
        self.name = name
        self._log = log
        with log.open('wb') as output:
            super().__init__(
                [sys.executable, '-m', *arguments],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                env=dict(environment),
            )

    @property
    def last_words(self) -> list[str]:
        """The end of its output."""
        return self._log.read_text(encoding='utf-8', errors='replace').splitlines()[-_TAIL:]


def start_nodes(children: list[Child], environment: Mapping[str, str], folder: Path) -> None:
    """
    Start both nodes on the example robot, each as a process; the driver moves it.

    :param children: They are added to these.
    :param environment: Their environment.
    :param folder: For their parameters and output; must outlive them.
    """
    description = resource('urdf', 'arm.urdf').read_text(encoding='utf-8')
    parameters = folder / 'parameters.yaml'
    # A JSON string is a valid YAML string, whatever the URDF contains.
    parameters.write_text(
        _PARAMETERS.format(description=json.dumps(description)), encoding='utf-8'
    )
    words = ('--ros-args', '--params-file', str(parameters))
    for name, module in NODES.items():
        children.append(Child(name, (module, *words), environment, folder / f'{name}.log'))


def end_processes(children: Sequence[Child]) -> None:
    """
    End every process: SIGINT, then SIGTERM, then SIGKILL, and wait for each.

    An interrupt during the wait sends the next signal.
    """
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGKILL):
        with contextlib.suppress(KeyboardInterrupt, subprocess.TimeoutExpired):
            for child in children:
                child.send_signal(number)
            for child in children:
                child.wait(_PATIENCE)
            return
