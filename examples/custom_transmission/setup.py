# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Build description for pip and colcon."""

from glob import glob

from setuptools import setup

PACKAGE = 'custom_transmission'

setup(
    name=PACKAGE,
    version='0.1.0',
    packages=[PACKAGE],
    data_files=[
        ('share/ament_index/resource_index/packages', [f'resource/{PACKAGE}']),
        (f'share/{PACKAGE}', ['package.xml']),
        (f'share/{PACKAGE}/urdf', sorted(glob('urdf/*.urdf'))),
    ],
    python_requires='>=3.10',
    # An equation needs CasADi, which this extra installs.
    install_requires=['setuptools', 'transmission_bridge[mechanisms]'],
    extras_require={'test': ['pytest']},
    zip_safe=True,
    author='The transmission_bridge authors',
    maintainer='The transmission_bridge authors',
    maintainer_email='maintainers@transmission-bridge.invalid',
    description='A universal joint as a transmission type for transmission_bridge',
    license='Apache-2.0',
    entry_points={
        # The name on the left is the text of <plugin> in the URDF.
        'transmission_bridge.transmissions': [
            f'custom_transmission/CardanTransmission = {PACKAGE}.cardan:CardanTransmission',
        ],
    },
)
