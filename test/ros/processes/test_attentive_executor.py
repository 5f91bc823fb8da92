# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""The executor that attends to messages: it does all else that the one of rclpy does."""

from __future__ import annotations

import pytest

pytest.importorskip('rclpy', reason='rclpy is not installed')
pytestmark = [pytest.mark.ros, pytest.mark.versions]

PRELUDE = """
import threading
from types import SimpleNamespace

import rclpy
from std_msgs.msg import String
from std_srvs.srv import Trigger
from transmission_bridge.ros import process

rclpy.init()
node = rclpy.create_node('child')
executor = process.make_attentive_executor()
executor.add_node(node)
ROUNDS = 100

def other_thread(work):
    # Comes as often while the executor waits as while it does not.
    threading.Thread(target=work, daemon=True).start()
"""
END = """
executor.shutdown()
node.destroy_node()
rclpy.shutdown()
print('done')
"""


@pytest.fixture
def run(start):
    """Run a script with a node and its executor; whatever hangs is ended."""

    def run_script(code):
        child = start('-c', PRELUDE + code + END)
        assert child.ended() == 0, child.output
        assert 'done' in child.output

    return run_script


def test_slow_callbacks_keep_nothing_waiting(run):
    """Entities other than messages are served even if slow and quick messages are always ready."""
    run("""
clock, heard, seen = [0.0], [0, 0], []
process.time = SimpleNamespace(monotonic=lambda: clock[0])

def slow(message):
    heard[0] += 1
    clock[0] += 0.025

def quick(message):
    heard[1] += 1

publishers = []
for topic, callback in (('slow', slow), ('quick', quick)):
    node.create_subscription(String, topic, callback, 1000)
    publishers.append(node.create_publisher(String, topic, 1000))
guard = node.create_guard_condition(lambda: seen.append(True))
for _ in range(200):
    for publisher in publishers:
        publisher.publish(String())
while min(heard) < 20:
    executor.spin_once()
guard.trigger()
before = heard[0]
while not seen:
    executor.spin_once()
    assert heard[0] - before < 10, heard
""")


def test_answer_to_a_call_amid_messages(run):
    """Spinning until a service has answered ends with the answer, whatever came before."""
    run("""
node.create_service(Trigger, 'ask', lambda request, response: response)
client = node.create_client(Trigger, 'ask')
heard = []
node.create_subscription(String, 'topic', heard.append, 10)
publisher = node.create_publisher(String, 'topic', 10)
assert client.wait_for_service(20.0)
for _ in range(3):
    publisher.publish(String())
while len(heard) < 3:
    executor.spin_once()
future = client.call_async(Trigger.Request())
executor.spin_until_future_complete(future, timeout_sec=20.0)
assert future.done()
""")


def test_task_made_by_a_task(run):
    """A task that another one makes runs without anything else happening."""
    run("""
done = threading.Event()

def work():
    for _ in range(ROUNDS):
        executor.create_task(lambda: executor.create_task(step))
        done.wait()
        done.clear()

rounds = []

def step():
    rounds.append(True)
    done.set()

other_thread(work)
while len(rounds) < ROUNDS:
    executor.spin_once()
""")


def test_look_without_waiting_after_a_task(run):
    """A limit of zero is kept after a wait without a limit that ended with a task."""
    run("""
go, rounds = threading.Event(), []

def work():
    for _ in range(ROUNDS):
        go.wait()
        go.clear()
        executor.create_task(lambda: rounds.append(True))

other_thread(work)
for wanted in range(1, ROUNDS + 1):
    go.set()
    while len(rounds) < wanted:
        executor.spin_once()
    executor.spin_once(0.0)
    executor.spin_once(0.0)
""")


def test_no_limit_is_no_limit(run):
    """Without a limit a wait ends with a callback, also just after the last of many messages."""
    run("""
calls = []
node.create_subscription(String, 'topic', lambda message: calls.append('message'), 10)
publisher = node.create_publisher(String, 'topic', 10)
for _ in range(3):
    publisher.publish(String())
while len(calls) < 3:
    executor.spin_once()
node.create_timer(0.2, lambda: calls.append('timer'))
executor.spin_once()
assert calls[3:] == ['timer'], calls
""")
