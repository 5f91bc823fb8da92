# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Child processes and a node to talk to them, every wait bounded and on a condition."""

from __future__ import annotations

import os
import queue
import subprocess
import sys
import threading
import time
from types import SimpleNamespace
import warnings

import pytest

#: Longest wait for anything that is bound to happen [s].
PATIENCE = 60.0


class Child:
    """A child process with its output read as it comes."""

    def __init__(self, args, domain):
        self.process = subprocess.Popen(
            [sys.executable, '-u', *args],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env={
                **os.environ,
                'ROS_AUTOMATIC_DISCOVERY_RANGE': 'LOCALHOST',
                'ROS_DOMAIN_ID': str(domain),
            },
        )
        self.output = ''
        self._lines = queue.SimpleQueue()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self):
        for line in self.process.stdout:
            self.output += line
            self._lines.put(line)
        self._lines.put(None)

    def wait_for(self, text):
        """Return when a line with this text has come."""
        deadline = time.monotonic() + PATIENCE
        while True:
            try:
                line = self._lines.get(timeout=max(deadline - time.monotonic(), 0.01))
            except queue.Empty:
                pytest.fail(f'no {text!r} in time:\n{self.output}')
            assert line is not None, f'ended without {text!r}:\n{self.output}'
            if text in line:
                return

    def say(self, text):
        """Send a line to its standard input."""
        self.process.stdin.write(text + '\n')
        self.process.stdin.flush()

    def signal(self, number):
        """Send a signal."""
        self.process.send_signal(number)

    def ended(self, within=PATIENCE):
        """Return the exit code; the output is complete then."""
        code = self.process.wait(timeout=within)
        self._reader.join(timeout=PATIENCE)
        return code


@pytest.fixture
def start(harness):
    """Start ``python <args>`` in the tests' domain; what is left of it ends with the test."""
    children = []

    def start_child(*args):
        children.append(Child([str(arg) for arg in args], harness.DOMAIN))
        return children[-1]

    yield start_child
    for child in children:
        if child.process.poll() is None:
            child.process.kill()
        child.process.wait(timeout=PATIENCE)
        child._reader.join(timeout=PATIENCE)
        child.process.stdin.close()
        child.process.stdout.close()


@pytest.fixture
def peer(monkeypatch, harness):
    """Node in the tests' domain, with ``spin_until(condition)``."""
    monkeypatch.setenv('ROS_AUTOMATIC_DISCOVERY_RANGE', 'LOCALHOST')
    with warnings.catch_warnings():
        # rclpy's parser of message definitions imports modules that Python has deprecated.
        warnings.simplefilter('ignore', DeprecationWarning)
        rclpy = pytest.importorskip('rclpy', reason='rclpy is not installed')
        from rclpy.executors import SingleThreadedExecutor

        context = rclpy.Context()
        rclpy.init(context=context, domain_id=harness.DOMAIN)
        node = rclpy.create_node('peer', context=context)
    executor = SingleThreadedExecutor(context=context)
    executor.add_node(node)

    def spin_until(condition):
        deadline = time.monotonic() + PATIENCE
        while not condition():
            assert time.monotonic() < deadline, 'it did not happen in time'
            executor.spin_once(timeout_sec=0.05)

    yield SimpleNamespace(node=node, spin_until=spin_until)
    executor.shutdown()
    node.destroy_node()
    rclpy.shutdown(context=context)
