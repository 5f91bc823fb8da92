# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
Find the data files of the package: example robots, parameter files, launch files.

They are found without the ament index, and so without ROS. In a checkout (also with an editable
install) they are next to the package, else in ``share/transmission_bridge`` of some prefix.
"""

from __future__ import annotations

from collections.abc import Iterator
import importlib.metadata
from pathlib import Path
import sys

from transmission_bridge.errors import UnknownNameError

_NAME = 'transmission_bridge'
_SHARE = Path('share', _NAME)

#: A file in that folder, in a checkout and in an installation.
_MARK = 'package.xml'


def resource(*parts: str) -> Path:
    """
    Return the path of a data file of the package.

    ``resource('urdf', 'arm.urdf')``

    :param parts: Its path in the folder, in parts or with slashes.
    :raises UnknownNameError: If the file does not exist; ``known`` has the existing files.
    """
    folders = [folder for folder in _find_folders() if (folder / _MARK).is_file()]
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


def _find_folders() -> Iterator[Path]:
    """Yield the possible folders of the files, the most specific first."""
    package = Path(__file__).resolve().parent
    yield package.parent
    yield from _find_recorded_folder()
    # A colcon prefix, a virtual environment, --user, --target: the package is inside the prefix.
    for prefix in package.parents:
        yield prefix / _SHARE
    yield Path(sys.prefix) / _SHARE


def _find_recorded_folder() -> Iterator[Path]:
    """Yield the folder in the record of the installer, if there is a record."""
    try:
        files = importlib.metadata.files(_NAME)
    except importlib.metadata.PackageNotFoundError:
        return
    for file in files or ():
        if file.name == _MARK and file.parent.parts[-2:] == _SHARE.parts:
            yield Path(str(file.locate())).resolve().parent
