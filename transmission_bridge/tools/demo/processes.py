# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""The two nodes of the demo as processes on a domain of their own, ended whatever happens."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
import contextlib
import json
from pathlib import Path
import signal
import socket
import subprocess
import sys
from types import TracebackType

from transmission_bridge.resources import resource

__all__ = ['NODES', 'Child', 'Children', 'ros_environment', 'start_nodes']

#: Seconds before the next signal to a process that does not end.
_PATIENCE = 3.0

#: Lines of output shown of a process that died.
_TAIL = 20

# Domain ids that are safe on every system (the ports of higher ones collide with ephemeral ones).
_DOMAINS = range(1, 102)


def ros_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """
    Return variables that isolate the demo from other nodes, unless the user has set them.

    :param environment: The present environment.
    """
    added = {}
    if not environment.get('ROS_DOMAIN_ID'):
        added['ROS_DOMAIN_ID'] = str(_free_domain())
    if not environment.get('ROS_AUTOMATIC_DISCOVERY_RANGE'):
        added['ROS_AUTOMATIC_DISCOVERY_RANGE'] = 'LOCALHOST'
    return added


def _free_domain() -> int:
    """Return a domain without participants on this machine."""
    for domain in reversed(_DOMAINS):
        # The port on which the first participant of a domain listens (DDSI-RTPS 9.6.1.1).
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            try:
                probe.bind(('', 7410 + 250 * domain))
            except OSError:
                continue
            return domain
    return _DOMAINS[-1]


class Child:
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
            self._process = subprocess.Popen(
                [sys.executable, '-m', *arguments],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                env=dict(environment),
            )

    @property
    def exit_code(self) -> int | None:
        """The exit code, ``None`` while it runs."""
        return self._process.poll()

    @property
    def last_words(self) -> str:
        """The end of its output."""
        text = self._log.read_text(encoding='utf-8', errors='replace')
        return '\n'.join(text.splitlines()[-_TAIL:])

    def ask(self, number: signal.Signals) -> None:
        """Send a signal, unless it has ended."""
        self._process.send_signal(number)

    def has_ended(self, within: float) -> bool:
        """Wait for its end; return whether it has ended."""
        try:
            self._process.wait(within)
        except subprocess.TimeoutExpired:
            return False
        return True


class Children:
    """Context manager for processes, which end with the block."""

    def __init__(self) -> None:
        self._all: list[Child] = []

    def start(
        self, name: str, arguments: Sequence[str], environment: Mapping[str, str], log: Path
    ) -> None:
        """Start a process, see :class:`Child`."""
        self._all.append(Child(name, arguments, environment, log))

    def __iter__(self) -> Iterator[Child]:
        """Iterate over the processes."""
        return iter(self._all)

    def dead(self) -> Child | None:
        """Return a process that has ended, if there is one."""
        return next((child for child in self._all if child.exit_code is not None), None)

    def __enter__(self) -> Children:
        """Return itself."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """
        End every process: SIGINT, then SIGTERM, then SIGKILL, and wait for each.

        An interrupt meanwhile sends the next signal.
        """
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGKILL):
            with contextlib.suppress(KeyboardInterrupt):
                for child in self._all:
                    child.ask(number)
                ended = [child.has_ended(_PATIENCE) for child in self._all]
                if all(ended):
                    return


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
"""


def start_nodes(children: Children, environment: Mapping[str, str], folder: Path) -> None:
    """
    Start both nodes on the example robot, each as a process.

    :param children: They are added to these.
    :param environment: Their environment.
    :param folder: For their parameters and output; must outlive them.
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
