# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
What ``tune`` costs beside a bridge: processor time of both, with and without three browsers.

A driver publishes all motors of a robot of 60 joints at 100 Hz, each moving. Prints the share of a
processor that the bridge and ``tune`` take. Needs rclpy, viser, playwright and chromium.

The browsers draw three pictures a second: without a graphics card they would take the machine for
themselves. What is sent to them is the same.
"""

from __future__ import annotations

import argparse
import json
import math
import os
from pathlib import Path
import shutil
import subprocess
import sys
import tempfile
import threading
import time

from playwright.sync_api import sync_playwright
import rclpy
from sensor_msgs.msg import JointState

from transmission_bridge.description import load_description
from transmission_bridge.transmissions import RobotTransmissions

SLOW = (
    'const now = window.requestAnimationFrame.bind(window);'
    'window.requestAnimationFrame = draw => setTimeout(() => now(draw), 300);'
)


def robot_urdf(n_joints: int) -> str:
    """Return chains of ten joints with geometry, each joint behind a gear."""
    parts = ['<robot name="load"><link name="root"/>']
    for number in range(n_joints):
        parent = 'root' if number % 10 == 0 else f'l{number - 1}'
        origin = f'{0.3 * (number // 10)} 0 0.1' if number % 10 == 0 else '0 0 0.1'
        parts.append(
            f'<link name="l{number}"><visual><geometry><box size="0.05 0.05 0.1"/></geometry>'
            f'</visual></link><joint name="j{number}" type="revolute"><parent link="{parent}"/>'
            f'<child link="l{number}"/><origin xyz="{origin}"/><axis xyz="0 1 0"/>'
            '<limit lower="-2" upper="2" velocity="5" effort="9"/></joint>'
            f'<transmission name="t{number}">'
            '<type>transmission_interface/SimpleTransmission</type>'
            f'<joint name="j{number}"><hardwareInterface>x</hardwareInterface></joint>'
            f'<actuator name="m{number}"><mechanicalReduction>100</mechanicalReduction></actuator>'
            '</transmission>'
        )
    return ''.join([*parts, '</robot>'])


def used(pid: int) -> float:
    """Return the processor time of a process so far [s]."""
    fields = Path(f'/proc/{pid}/stat').read_text().rpartition(')')[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf('SC_CLK_TCK')


def shares(pids: dict[str, int], seconds: float) -> dict[str, float]:
    """Return the shares of a processor that processes take."""
    begin, before = time.monotonic(), {name: used(pid) for name, pid in pids.items()}
    time.sleep(seconds)
    passed = time.monotonic() - begin
    return {name: (used(pid) - before[name]) / passed for name, pid in pids.items()}


def drive(names: list[str], rate: float, end: threading.Event) -> None:
    """Publish where the motors are, all of them moving."""
    rclpy.init()
    node = rclpy.create_node('load')
    publisher = node.create_publisher(JointState, 'actuator_states', 10)
    begin = time.monotonic()
    while not end.wait(max(0.0, 1.0 / rate - 1e-4)):
        angle = 50.0 * math.sin(time.monotonic() - begin)
        values = [angle] * len(names)
        publisher.publish(JointState(name=names, position=values, velocity=values, effort=values))
    node.destroy_node()
    rclpy.shutdown()


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--seconds', type=float, default=15.0)
    parser.add_argument('--joints', type=int, default=60)
    parser.add_argument('--browsers', type=int, default=3)
    options = parser.parse_args()
    text = robot_urdf(options.joints)
    names = list(RobotTransmissions(load_description(text)).actuator_names)
    end = threading.Event()
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        file = Path(folder, 'bridge.yaml')
        file.write_text(
            '/**:\n  ros__parameters:\n    autostart: true\n'
            f'    robot_description: {json.dumps(text)}\n'
        )
        bridge = subprocess.Popen(
            [
                *(sys.executable, '-m', 'transmission_bridge.ros.bridge_main'),
                *('--ros-args', '--params-file', str(file)),
            ],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        thread = threading.Thread(target=drive, args=(names, 100.0, end))
        thread.start()
        tune = None
        browser = playwright.chromium.launch(
            executable_path=shutil.which('chromium'),
            args=['--no-sandbox', '--use-angle=swiftshader', '--enable-unsafe-swiftshader'],
        )
        try:
            time.sleep(5.0)
            print('alone         ', shares({'bridge': bridge.pid}, options.seconds))
            tune = subprocess.Popen(
                [sys.executable, '-m', 'transmission_bridge', 'tune'],
                stdout=subprocess.PIPE,
                text=True,
            )
            assert tune.stdout is not None
            address = tune.stdout.readline().split()[1]
            context = browser.new_context(viewport={'width': 800, 'height': 600})
            context.add_init_script(SLOW)
            time.sleep(5.0)
            pids = {'bridge': bridge.pid, 'tune': tune.pid}
            print('nobody looking', shares(pids, options.seconds))
            for _ in range(options.browsers):
                page = context.new_page()
                page.goto(address)
                page.get_by_text('reduction').first.wait_for(timeout=120_000)
            print(f'{options.browsers} browsers    ', shares(pids, options.seconds))
        finally:
            browser.close()
            end.set()
            thread.join()
            for process in filter(None, (tune, bridge)):
                process.terminate()
                process.wait()


if __name__ == '__main__':
    main()
