# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Build description for pip and colcon."""

from glob import glob

from setuptools import setup

PACKAGE = 'my_robot'

setup(
    name=PACKAGE,
    version='0.1.0',
    packages=[PACKAGE],
    data_files=[
        ('share/ament_index/resource_index/packages', [f'resource/{PACKAGE}']),
        (f'share/{PACKAGE}', ['package.xml']),
        # The launch file expects the URDF in the folder next to its own.
        (f'share/{PACKAGE}/launch', sorted(glob('launch/*.launch.py'))),
        (f'share/{PACKAGE}/urdf', sorted(glob('urdf/*.urdf'))),
    ],
    python_requires='>=3.10',
    install_requires=['setuptools', 'transmission_bridge'],
    extras_require={'test': ['pytest']},
    zip_safe=True,
    author='The transmission_bridge authors',
    maintainer='The transmission_bridge authors',
    maintainer_email='maintainers@transmission-bridge.invalid',
    description='A robot of one joint with a driver of its own, on transmission_bridge',
    license='Apache-2.0',
    # The name is the text of <plugin> in the URDF.
    entry_points={
        'transmission_bridge.drivers': [f'{PACKAGE}/Motors = {PACKAGE}.my_robot:Motors'],
    },
)
