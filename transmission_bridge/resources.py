# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
Find the data files of the package: example robots, parameter files, launch files.

They are found without the ament index, and so without ROS. In a checkout (also with an editable
install) they are next to the package, else in ``share/transmission_bridge`` of some prefix.

The demo and the tests call :func:`resource`. The folders ``config``, ``launch`` and ``urdf`` are
installed by ``setup.py``; a file is found by its path below them.
"""

from __future__ import annotations

from pathlib import Path
import sys

from transmission_bridge.errors import UnknownNameError


def resource(*parts: str) -> Path:
    """
    Return the path of a data file of the package.

    ``resource('urdf', 'arm.urdf')``

    :param parts: Its path in the folder, in parts or with slashes.
    :raises UnknownNameError: If the file does not exist; ``known`` has the existing files.
    """
    package = Path(__file__).resolve().parent
    # A colcon prefix, a virtual environment, --user, --target: the package is inside the prefix.
    prefixes = [*package.parents, Path(sys.prefix)]
    places = [package.parent, *(prefix / 'share/transmission_bridge' for prefix in prefixes)]
    # The folder has this file in a checkout and in an installation.
    folders = [folder for folder in places if (folder / 'package.xml').is_file()]
    for folder in folders:
        path = folder.joinpath(*parts)
        if path.exists():
            return path
    known = {
        path.relative_to(folder).as_posix()
        for folder in folders
        for kind in ('config', 'launch', 'urdf')
        for path in folder.glob(f'{kind}/*.*')
    }
    raise UnknownNameError('resource', '/'.join(parts), tuple(sorted(known)))
