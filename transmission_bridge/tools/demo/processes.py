# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""The two nodes of the demo as processes on their own ROS domain, ended in all cases."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
import contextlib
import json
from pathlib import Path
import signal
import socket
import subprocess
import sys

from transmission_bridge.resources import resource
from transmission_bridge.signals import SIGNALS
from transmission_bridge.tools.cli import UsageError

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


@contextlib.contextmanager
def isolate_network(environment: Mapping[str, str]) -> Iterator[dict[str, str]]:
    """
    Return variables that isolate the demo from other nodes, unless the user has set them.

    A domain that it chooses belongs to this demo during the block.

    :param environment: The present environment.
    :raises UsageError: If every domain has participants or belongs to another demo.
    """
    added = {'ROS_AUTOMATIC_DISCOVERY_RANGE': 'LOCALHOST'}
    with contextlib.ExitStack() as stack:
        if not environment.get('ROS_DOMAIN_ID'):
            added['ROS_DOMAIN_ID'] = str(_claim_domain(stack))
        yield {name: value for name, value in added.items() if not environment.get(name)}


def _claim_domain(stack: contextlib.ExitStack) -> int:
    """
    Return a domain without participants on this machine, of which no other demo has the claim.

    :param stack: Ends the claim.
    """
    for domain in _DOMAINS:
        first = 7400 + 250 * domain
        # DDS uses no port between the first one of a domain and those of its participants, from 10
        # on (DDSI-RTPS 9.6.1.1). So one of them is the claim, which ends with this process.
        claim = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        with contextlib.ExitStack() as sockets:
            try:
                sockets.enter_context(claim).bind(('127.0.0.1', first + 5))
                with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
                    probe.bind(('', first + 10))
            except OSError:
                continue
            stack.enter_context(sockets.pop_all())
            return domain
    raise UsageError('every ROS domain is in use on this machine: set ROS_DOMAIN_ID')


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
                # The parent blocks them, see start_nodes.
                preexec_fn=lambda: signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS),
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
        # An exception of a signal between the fork and the end of Popen would lose the process.
        signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
        try:
            children.append(Child(name, (module, *words), environment, folder / f'{name}.log'))
        finally:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)


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
