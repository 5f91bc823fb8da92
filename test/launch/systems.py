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


class Processes:
    """
    Plain child processes of the test, with the command lines that launch would give them.

    :param harness: The tests' harness.
    :param folder: Where parameter files go.
    """

    def __init__(self, harness, folder):
        self._harness, self._folder = harness, folder
        self._nodes, self._crashed, self._watches = {}, [], []
        self._stopping = threading.Event()

    def start(self, plan, parameters=None):
        """Start a node, with further parameters that override its plan."""
        name = name_of(plan)
        line = command_line(plan)
        if parameters:
            file = self._folder / f'{name.replace("/", "_")}.yaml'
            # JSON is YAML.
            file.write_text(json.dumps({'/**': {'ros__parameters': parameters}}), encoding='utf-8')
            line += ['--params-file', str(file)]

        def make():
            lives.append(self._harness.Process(MODULES[plan.executable], line))

        def respawn():
            while not self._stopping.wait(LOOK):
                if lives[-1].exit_code is not None and not self._stopping.wait(RESPAWN_DELAY):
                    make()

        lives = self._nodes[name] = []
        make()
        if plan.respawn == 'true':
            self._watches.append(threading.Thread(target=respawn, daemon=True))
            self._watches[-1].start()

    def output(self, name):
        """Return everything that a node has said, in all its lives."""
        return ''.join(process.output for process in self._nodes[name])

    def crash(self, name):
        """Kill a node."""
        self._crashed.append(self._nodes[name][-1])
        self._crashed[-1].stop(9)

    def _all(self):
        """Return all processes; no other follows."""
        self._stopping.set()
        for watch in self._watches:
            watch.join()
        return [process for lives in self._nodes.values() for process in lives]

    def interrupt(self):
        """End all by SIGINT; return exit code and output of each process that did not crash."""
        return [
            (process.stop(), process.output)
            for process in self._all()
            if process not in self._crashed
        ]

    def clean_up(self):
        """End by force whatever is left."""
        for process in self._all():
            process.clean_up()
