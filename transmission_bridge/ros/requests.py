# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
Guard the services of a node: every request is answered, and no request ends the process.

Each node calls it once, after all of its services exist: later services are not guarded. Clients
receive a reason for each rejection; its words may change.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
import re
import traceback
from typing import Any

from lifecycle_msgs.srv import ChangeState
from rcl_interfaces.msg import SetParametersResult
from rcl_interfaces.srv import (
    DescribeParameters,
    GetParameters,
    GetParameterTypes,
    SetParameters,
    SetParametersAtomically,
)
from rclpy.node import Node
from rclpy.parameter import Parameter
from rclpy.service import Service

from transmission_bridge.errors import (
    closest,
    MessageError,
    ParameterError,
    shown,
    TransmissionBridgeError,
)
from transmission_bridge.ros.throttled_log import ThrottledLog

#: Maximum length of a label; the labels of all transitions are shorter.
_LONGEST_LABEL = 64

#: Field and maximum number of parameters in one request that sets them. The first takes 0.1 s
#: with 100 joints and 0.03 s with 7 joints, the other less.
_MOST: dict[type, tuple[str, int]] = {
    SetParameters.Request: ('parameters', 100),
    SetParametersAtomically.Request: ('parameters', 1000),
}

_TYPES = frozenset(kind.value for kind in Parameter.Type)

#: Requests for parameters by their names.
_BY_NAME = (DescribeParameters.Request, GetParameters.Request, GetParameterTypes.Request)

_TYPE_HASH = re.compile('RIHS[0-9a-fA-F]{2}_[0-9a-fA-F]{64}')


def guard_service_requests(
    node: Node, together: Callable[[], AbstractContextManager[None]] = nullcontext
) -> None:
    """
    Make every present service of a node answer all requests.

    An exception in the callback of a service ends the executor and so the process. rclpy's own
    callbacks raise for a parameter of an unknown type, pass on exceptions of the node's parameter
    callbacks, and raise for an impossible transition (rclpy 7.1, Jazzy). rclpy (7.1.10, 9.1.5 and
    newer) logs names of undeclared parameters in full length.

    If a request raises an exception, it is rejected: with a reason for each parameter, else with
    an empty response, in which ``success`` is false and a text field has the reason. The log has
    the reason, too.

    :param node: The node; the services of rclpy, for example for parameters, are included.
    :param together: Context in which the parameters of one request are set one after the other.
    """
    log = ThrottledLog(node)
    for service in node.services:
        _guard_service(service, node, log, together)


def _guard_service(
    service: Service[Any, Any],
    node: Node,
    log: ThrottledLog,
    together: Callable[[], AbstractContextManager[None]],
) -> None:
    """Replace the functions of a service that serve a request and send its response."""
    name, srv_type = service.srv_name, service.srv_type
    serve, send = service.callback, service.send_response

    def serve_guarded(request: Any, response: Any) -> Any:
        try:
            # A request must not delay messages and timeouts.
            field, most = _MOST.get(type(request), ('names', 10_000))
            if (count := len(getattr(request, field, ()))) > most:
                sentence = f'{count} parameters in one request, expected at most {most}: divide it'
                raise MessageError('size', sentence)
            if srv_type is SetParameters and len(request.parameters) > 1:
                return set_each(request, response)
            _check_request(request, node)
            if name.endswith('/set_parameters_atomically') and not request.parameters:
                response.result.successful = True  # rclpy rejects an empty request
                return response
            return serve(request, response)
        except Exception as error:
            reason = _log_rejection(error, name, log)
            if srv_type is SetParameters:
                result = SetParametersResult(successful=False, reason=reason)
                return SetParameters.Response(results=[result] * len(request.parameters))
            response = srv_type.Response()
            if srv_type is SetParametersAtomically:
                response.result.reason = reason
            for field in ('failure_reason', 'message'):
                if hasattr(response, field):
                    setattr(response, field, reason)
            return response

    def set_each(request: Any, response: Any) -> Any:
        # Each parameter has its own result: the others are set even if one is rejected.
        with together():
            for parameter in request.parameters:
                alone = SetParameters.Request(parameters=[parameter])
                response.results.extend(serve_guarded(alone, SetParameters.Response()).results)
        return response

    def send_guarded(response: Any, header: Any) -> None:
        try:
            send(response, header)
        except Exception as error:
            _log_rejection(error, name, log)
            send(srv_type.Response(), header)

    vars(service).update(callback=serve_guarded, send_response=send_guarded)


def _check_request(request: Any, node: Node) -> None:
    """
    Check for requests that rclpy does not handle, and for texts that it would log in full length.

    :raises ParameterError: If a parameter has no name, is not declared, or has an unknown type.
    :raises MessageError: If a label is not a transition's, or a hash is not a type's.
    """
    if isinstance(request, ChangeState.Request):
        label = request.transition.label
        is_word = label.isascii() and label.isidentifier()
        if label and not (is_word and len(label) <= _LONGEST_LABEL):
            raise MessageError('label', f'there is no transition {shown(label)}')
    elif hasattr(request, 'type_hash'):
        if not _TYPE_HASH.fullmatch(request.type_hash):
            raise MessageError('hash', f'{shown(request.type_hash)} is not the hash of a type')
    elif isinstance(request, _BY_NAME):
        for name in request.names:
            _check_declared(name, node)
    elif isinstance(request, (SetParameters.Request, SetParametersAtomically.Request)):
        for parameter in request.parameters:
            if not parameter.name:  # rclpy would declare it
                raise ParameterError('a parameter without a name cannot be set')
            _check_declared(parameter.name, node)
            if parameter.value.type not in _TYPES:
                raise ParameterError(
                    f'parameter {shown(parameter.name)} has an unknown type',
                    parameter=parameter.name,
                    expected='a type of rcl_interfaces/msg/ParameterType',
                    found=str(parameter.value.type),
                )


def _check_declared(name: str, node: Node) -> None:
    if not node.has_parameter(name):  # rclpy does not answer, or logs the name in full length
        hint = closest(name, node.get_parameters_by_prefix(''))
        raise ParameterError(f'there is no parameter {shown(name)}{hint}')


def _log_rejection(error: Exception, service: str, log: ThrottledLog) -> str:
    """Log the reason why a request is rejected, and return it for the client."""
    kind = ('request', service, type(error))
    # Errors of rcl are a class of rclpy's half in C++, which has no public name.
    is_rcl_error = type(error).__module__.startswith('rclpy')
    if isinstance(error, TransmissionBridgeError) or is_rcl_error:
        log.warning(kind, f'{service}: request rejected: {error}')
        return str(error)
    log.error(kind, f'{service}: bug in a request:\n{traceback.format_exc()}')
    return f'bug: {error!r}; see the log'
