# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
Where the files that come with the package are: example robots, parameter file, launch files.

Found without the ament index, so that they are there without ROS: in a checkout (editable installs
included) they lie beside the package, else in ``share/transmission_bridge`` of some prefix.
"""

from __future__ import annotations

from collections.abc import Iterator
import importlib.metadata
from pathlib import Path
import sys

from transmission_bridge.errors import UnknownNameError

__all__ = ['resource']

_NAME = 'transmission_bridge'
_SHARE = Path('share', _NAME)

#: Lies in the folder that is looked for, in a checkout as in an installation.
_MARK = 'package.xml'


def resource(*parts: str) -> Path:
    """
    Return the path of a file that comes with the package.

    ``resource('urdf', 'arm.urdf')``

    :param parts: Its path below the folder, in parts or with slashes.
    :raises UnknownNameError: If there is no such file, with the files that there are.
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
    """Yield the folders in which the files may be, the most specific first."""
    package = Path(__file__).resolve().parent
    yield package.parent
    yield from _find_recorded_folder()
    # A colcon prefix, a virtual environment, --user, --target: the package lies somewhere below.
    for prefix in package.parents:
        yield prefix / _SHARE
    yield Path(sys.prefix) / _SHARE


def _find_recorded_folder() -> Iterator[Path]:
    """Yield the folder that the installer wrote down, if it did."""
    try:
        files = importlib.metadata.files(_NAME)
    except importlib.metadata.PackageNotFoundError:
        return
    for file in files or ():
        if file.name == _MARK and file.parent.parts[-2:] == _SHARE.parts:
            yield Path(str(file.locate())).resolve().parent
