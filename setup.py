# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Build description, read by pip and by colcon alike (hence no ``[project]`` table)."""

from glob import glob
from pathlib import Path

from setuptools import find_packages, setup

PACKAGE = 'transmission_bridge'

JAZZY = ['rclpy[fastrtps]==7.1.*'] + [
    f'{name}==5.3.*'
    for name in ('sensor-msgs', 'std-msgs', 'std-srvs', 'trajectory-msgs', 'diagnostic-msgs')
]
KILTED = ['rclpy[fastrtps]==9.1.*'] + [
    requirement.replace('==5.3.*', '==5.5.*') for requirement in JAZZY[1:]
]
PLOT = ['matplotlib>=3.6']
CLI = ['rich>=10', 'argcomplete>=3', 'PyYAML']
BAGS = ['rosbags>=0.11']
CALIBRATE = ['scipy>=1.8']
SERVOS = ['rustypot>=1.11,<2']
#: pycollada reads meshes in .dae; trimesh comes with viser.
TUNE = ['viser>=1.1,<1.2', 'pycollada>=0.8']
MECHANISMS = ['casadi>=3.6']
#: TinyXML2 builds the component of ros2_control in tests.
TEST_CORE = ['pytest>=7', 'pytest-xdist', 'hypothesis>=6', 'cmeel-tinyxml2', *MECHANISMS]
#: Peers that some tests compare with; those tests are skipped where a wheel is missing.
PEERS = ['mujoco', 'pin', 'idyntree', 'mcap>=1.2']
TEST = [
    *(*TEST_CORE, 'ruff==0.17.*', 'playwright', 'catkin_pkg'),
    *(*PLOT, *CLI, *BAGS, *CALIBRATE, *SERVOS, *TUNE, *PEERS),
]

BUILT_IN = {
    'transmission_interface/SimpleTransmission': 'linear:SimpleTransmission',
    'transmission_interface/DifferentialTransmission': 'linear:DifferentialTransmission',
    'transmission_interface/FourBarLinkageTransmission': 'linear:FourBarLinkageTransmission',
    'transmission_bridge/CoupledTransmission': 'linear:CoupledTransmission',
    'transmission_bridge/CrankSliderTransmission': 'equation_types:CrankSliderTransmission',
    'transmission_bridge/LinkageTransmission': (
        'linkage.linkage_transmission:LinkageTransmission'
    ),
    'transmission_bridge/ParallelAnkleTransmission': 'equation_types:ParallelAnkleTransmission',
    'transmission_bridge/ScrewTransmission': 'linear:ScrewTransmission',
    'transmission_bridge/TabulatedTransmission': 'tabulated:TabulatedTransmission',
}

setup(
    name=PACKAGE,
    version='0.1.0',
    packages=find_packages(include=[PACKAGE, f'{PACKAGE}.*']),
    package_data={
        PACKAGE: [
            'py.typed',
            'ros/fast_dds.xml',
            'tools/tune/page.css',
            'tools/compiler/mapped/*.[ch]pp',
            'tools/compiler/templates/*',
        ]
    },
    data_files=[
        ('share/ament_index/resource_index/packages', [f'resource/{PACKAGE}']),
        (f'share/{PACKAGE}', ['package.xml']),
        (f'share/{PACKAGE}/launch', sorted(glob('launch/*.launch.py'))),
        (f'share/{PACKAGE}/config', sorted(glob('config/*.yaml'))),
        (f'share/{PACKAGE}/config/sros2', sorted(glob('config/sros2/*.xml'))),
        (f'share/{PACKAGE}/urdf', sorted(glob('urdf/*.urdf'))),
    ],
    python_requires='>=3.10',
    install_requires=['setuptools', 'numpy>=1.21', 'lxml>=4.8'],
    extras_require={
        'jazzy': [f'ros-{requirement}' for requirement in JAZZY],
        'kilted': [f'ros-{requirement}' for requirement in KILTED],
        'plot': PLOT,
        'cli': CLI,
        'bags': BAGS,
        'calibrate': CALIBRATE,
        'mechanisms': MECHANISMS,
        'servos': SERVOS,
        'tune': TUNE,
        'test': TEST,
        'test-core': TEST_CORE,
    },
    zip_safe=True,
    author='The transmission_bridge authors',
    author_email='maintainers@transmission-bridge.invalid',
    maintainer='The transmission_bridge authors',
    maintainer_email='maintainers@transmission-bridge.invalid',
    description=(
        'A joint-space interface for any actuator-space robot driver, '
        'from the <transmission> tags in its URDF'
    ),
    long_description=Path(__file__).with_name('README.md').read_text(encoding='utf-8'),
    long_description_content_type='text/markdown',
    license='Apache-2.0',
    license_files=['LICENSE'],
    keywords=['ROS', 'ROS 2', 'transmission', 'URDF', 'ros2_control', 'robotics'],
    classifiers=[
        'Development Status :: 4 - Beta',
        'Intended Audience :: Developers',
        'Operating System :: POSIX :: Linux',
        'Programming Language :: Python :: 3',
        'Programming Language :: Python :: 3.10',
        'Programming Language :: Python :: 3.11',
        'Programming Language :: Python :: 3.12',
        'Programming Language :: Python :: 3.13',
        'Topic :: Scientific/Engineering',
        'Typing :: Typed',
    ],
    entry_points={
        'console_scripts': [
            f'transmission_bridge = {PACKAGE}.tools.main:main',
            f'bridge_node = {PACKAGE}.ros.main:run_bridge',
            f'driver_node = {PACKAGE}.ros.main:run_driver',
        ],
        f'{PACKAGE}.drivers': [
            f'{PACKAGE}/SerialServos = {PACKAGE}.drivers.servos:SerialServos',
            f'{PACKAGE}/SimulatedDriver = {PACKAGE}.drivers.simulated:SimulatedDriver',
        ],
        f'{PACKAGE}.transmissions': [
            f'{type_name} = {PACKAGE}.transmissions.{target}'
            for type_name, target in BUILT_IN.items()
        ],
    },
)
