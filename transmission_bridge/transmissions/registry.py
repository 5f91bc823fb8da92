# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
From a type string in a URDF to a transmission class, through entry points.

The entry-point group is ``transmission_bridge.transmissions``; the entry's name is the type
string. Built-in types are registered in the same way as third-party types. A plugin is imported at
the first use of its type. If it fails, the failure is kept with its traceback and raised for this
type only. A URDF can only cause imports of registered entry points.

A type has one provider. If two packages provide a type, neither is used, built in or not: nothing
says which ratio is right.

URDFs spell the type strings, and plugins the group, so both are fixed; ``setup.py`` has the
built-in ones with their classes, which may move. The builder, ``plugins`` and the fingerprint of
compiled robots use the registry.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
import importlib.metadata
import inspect
import traceback

from transmission_bridge.errors import find_closest_names, PluginError, shown
from transmission_bridge.transmissions.linear import LinearTransmission
from transmission_bridge.transmissions.mechanism_transmission import MechanismTransmission
from transmission_bridge.transmissions.transmission import (
    API_VERSION,
    list_overrides,
    Transmission,
)

#: The group that plugins name in their ``setup.py``.
ENTRY_POINT_GROUP = 'transmission_bridge.transmissions'
_PACKAGE = 'transmission_bridge'

#: How to install CasADi, even if the distribution manages the system's Python (PEP 668).
INSTALL_CASADI = (
    "python3 -m pip install --user --break-system-packages 'casadi>=3.6' "
    '(in a virtual environment without the two options)'
)

#: The problem of a class that has none of the three forms, for messages.
_NO_KIND = (
    'is not a matrix, an equation or a table; subclass LinearTransmission, EquationTransmission '
    'or TabulatedTransmission, as docs/writing_a_transmission.md describes'
)


@dataclass(frozen=True, slots=True)
class PluginInfo:
    """
    An installed plugin.

    :param type_name: Type string of the URDF.
    :param target: ``module:Class``.
    :param package: Distribution that provides it.
    :param version: Version of that distribution.
    :param description: First line of the class's docstring; empty if it failed to load.
    :param error: Why it cannot be used; empty if it can.
    :param details: Traceback of the failure.
    """

    type_name: str
    target: str
    package: str
    version: str
    description: str = ''
    error: str = ''
    details: str = ''


class Registry:
    """
    The transmission types installed on this machine.

    :param entry_points: Entry points to use instead of the installed ones.
    """

    def __init__(
        self, entry_points: Iterable[importlib.metadata.EntryPoint] | None = None
    ) -> None:
        if entry_points is None:
            entry_points = importlib.metadata.entry_points(group=ENTRY_POINT_GROUP)
        self._entry_points: dict[str, list[importlib.metadata.EntryPoint]] = {}
        for entry_point in entry_points:
            providers = self._entry_points.setdefault(entry_point.name, [])
            # An overlaid workspace lists the same plugin twice; this is not a conflict.
            if entry_point.value not in [other.value for other in providers]:
                providers.append(entry_point)
        #: Class or failure of each type that was asked for; :meth:`load` writes it.
        self._loaded: dict[str, type[Transmission] | PluginError] = {}

    @property
    def type_names(self) -> tuple[str, ...]:
        """The installed type strings, sorted."""
        return tuple(sorted(self._entry_points))

    def load(self, type_name: str) -> type[Transmission]:
        """
        Return the class for a type string.

        :param type_name: Type string of the URDF.
        :returns: The class.
        :raises PluginError: If the type is not installed, is installed twice, fails to import, is
            not a matrix, an equation or a table, or has another contract version.
        """
        if type_name not in self._loaded:
            try:
                self._loaded[type_name] = self._import_type(type_name)
            except PluginError as error:
                self._loaded[type_name] = error
        result = self._loaded[type_name]
        if isinstance(result, PluginError):
            raise result
        return result

    def find_provider(self, type_name: str) -> str:
        """
        Return the distribution, version and class of a type: ``package 1.0 (module:Class)``.

        :param type_name: A type that :meth:`load` has returned, so that it has one provider.
        """
        (entry_point,) = self._entry_points[type_name]
        return f'{" ".join(_distribution_of(entry_point))} ({entry_point.value})'

    def describe(self) -> tuple[PluginInfo, ...]:
        """Load every installed plugin and describe it, sorted by type."""
        plugins: list[PluginInfo] = []
        for type_name in self.type_names:
            try:
                documentation = inspect.cleandoc(self.load(type_name).__doc__ or '')
                texts = {'description': documentation.partition('\n')[0]}
            except PluginError as failure:
                texts = {'error': str(failure), 'details': failure.details}
            for entry_point in self._entry_points[type_name]:
                package = _distribution_of(entry_point)
                plugins.append(PluginInfo(type_name, entry_point.value, *package, **texts))
        return tuple(plugins)

    def _import_type(self, type_name: str) -> type[Transmission]:
        entry_points = self._entry_points.get(type_name, [])
        if not entry_points:
            types = {_shorten_type(name): name for name in self.type_names}
            close = find_closest_names(_shorten_type(type_name), types, 1)
            similar = ''.join(types[name] for name in close)
            said = ' is not installed' + (f' (closest: {shown(similar)})' if similar else '')
            installed = ', '.join(self.type_names) or f'none (is {_PACKAGE} installed?)'
            said += f'; installed: {installed}'
        elif len(entry_points) > 1:
            providers = [
                f'{point.value} ({" ".join(_distribution_of(point))})' for point in entry_points
            ]
            said = f' is provided more than once: {", ".join(providers)}; remove all but one'
        else:
            try:
                loaded: type[Transmission] = entry_points[0].load()
            except (Exception, SystemExit) as error:  # affects the types of the module only
                said = f'failed to import: {type(error).__name__}: {error}'
                details = traceback.format_exc()
                missing = error.name or '' if isinstance(error, ImportError) else ''
                if missing == 'casadi':
                    said, details = f'needs CasADi, which is not installed: {INSTALL_CASADI}', ''
                elif missing.partition('.')[0] == _PACKAGE:
                    said += f'; install a version of the plugin for this version of {_PACKAGE}'
                said = f"transmission type '{type_name}' ({entry_points[0].value}) {said}"
                raise PluginError(said, type_name=type_name, details=details) from None
            problem = _describe_problem(loaded)
            if not problem:
                return loaded
            said = f': {entry_points[0].value} {problem}'
        raise PluginError(f"transmission type '{type_name}'{said}", type_name=type_name)


def _shorten_type(type_name: str) -> str:
    """Return the part that distinguishes types: packages may differ for the same class."""
    return type_name.rpartition('/')[2].lower().removesuffix('transmission')


def _describe_problem(loaded: object) -> str:
    """Return why a plugin's class cannot be used; empty if it can."""
    kinds = LinearTransmission, MechanismTransmission
    if not (isinstance(loaded, type) and issubclass(loaded, kinds)):
        return _NO_KIND
    if derived := list_overrides(loaded):
        return f'defines {" and ".join(derived)} and therefore {_NO_KIND}'
    version = getattr(loaded, 'api_version', None)
    if version != API_VERSION:
        return (
            f'states api_version {version!r}, this transmission_bridge has {API_VERSION}; install '
            'a matching version of the plugin'
        )
    undefined = set(loaded.__abstractmethods__)
    if inspect.getattr_static(loaded, 'from_spec') is Transmission.__dict__['from_spec']:
        undefined.add('from_spec')
    return f'does not define {", ".join(sorted(undefined))}' if undefined else ''


def _distribution_of(entry_point: importlib.metadata.EntryPoint) -> tuple[str, str]:
    distribution = entry_point.dist
    if distribution is None:
        return 'unknown', ''
    return distribution.metadata['Name'] or 'unknown', distribution.version
