# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
Ways to start the processes of a scenario.

A system has ``start(plan, parameters)``, and by the name of a node, with its namespace where it
has one, ``output(name)`` and ``crash(name)``.
"""

from __future__ import annotations

import json
import threading

#: Seconds before a process is started again, as in the launch files.
RESPAWN_DELAY = 1.0

#: Seconds between looks whether a process still runs.
LOOK = 0.02

MODULES = {
    'bridge_node': 'transmission_bridge.ros.bridge_main',
    'simulated_driver': 'transmission_bridge.ros.simulated_driver_main',
}


def command_line(plan):
    """
    Return the arguments of an executable that start what launch would start.

    :param plan: A plan of texts, its description a URDF file.
    """
    line = ['--urdf', plan.description_file] if plan.description_file else []
    line += ['--ros-args', '-r', f'__node:={plan.name}', '--log-level', plan.log_level]
    if plan.namespace:
        line += ['-r', f'__ns:=/{plan.namespace.strip("/")}']
    for old, new in plan.remappings:
        line += ['-r', f'{old}:={new}']
    if plan.params_file:
        line += ['--params-file', plan.params_file]
    for name, value in plan.switches.items():
        line += ['-p', f'{name}:={value}']
    return line


def name_of(plan):
    """Return the name of a node with its namespace."""
    return f'{plan.namespace}/{plan.name}' if plan.namespace else plan.name


class Respawned:
    """
    A process that is started again when it ends, as launch does it.

    :param make: Starts the process.
    :param respawn: Whether it is started again.
    """

    def __init__(self, make, respawn):
        self._make = make
        self.processes = [make()]
        self.stopping = threading.Event()
        self._watch = threading.Thread(target=self._respawn, daemon=True)
        if respawn:
            self._watch.start()

    @property
    def current(self):
        """The one that was started last."""
        return self.processes[-1]

    def clean_up(self):
        """End by force whatever is left; no other follows."""
        self.stopping.set()
        self.current.clean_up()
        if self._watch.is_alive():
            self._watch.join()
        for process in self.processes:
            process.clean_up()

    def _respawn(self):
        while not self.stopping.wait(LOOK):
            if self.current._child.poll() is not None:
                if self.stopping.wait(RESPAWN_DELAY):
                    return
                self.processes.append(self._make())


class Processes:
    """
    Plain child processes of the test, with the command lines that launch would give them.

    :param harness: The tests' harness.
    :param folder: Where parameter files go.
    """

    def __init__(self, harness, folder):
        self._harness = harness
        self._folder = folder
        self._nodes = {}
        self._crashed = []

    def start(self, plan, parameters=None):
        """Start a node, with further parameters that override its plan."""
        name = name_of(plan)
        line = command_line(plan)
        if parameters:
            file = self._folder / f'{name.replace("/", "_")}.yaml'
            # JSON is YAML.
            file.write_text(json.dumps({'/**': {'ros__parameters': parameters}}), encoding='utf-8')
            line += ['--params-file', str(file)]
        self._nodes[name] = Respawned(
            lambda: self._harness.Process(MODULES[plan.executable], line), plan.respawn == 'true'
        )

    def output(self, name):
        """Return everything that a node has said, in all its lives."""
        return ''.join(process.output for process in self._nodes[name].processes)

    def crash(self, name):
        """Kill a node."""
        process = self._nodes[name].current
        self._crashed.append(process)
        process.stop(9)

    def interrupt(self):
        """End all by SIGINT; return exit code and output of each process that did not crash."""
        for node in self._nodes.values():
            node.stopping.set()
        processes = [process for node in self._nodes.values() for process in node.processes]
        return [
            (process.stop(), process.output)
            for process in processes
            if process not in self._crashed
        ]

    def clean_up(self):
        """End by force whatever is left."""
        for node in self._nodes.values():
            node.stopping.set()
        for node in self._nodes.values():
            node.clean_up()
