# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Services of a node: every request is answered, and none ends the process."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from functools import partial
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
    shortened,
    shown,
    TransmissionBridgeError,
)
from transmission_bridge.ros.process import intercept_service, Send, Serve
from transmission_bridge.ros.throttled_log import ThrottledLog

#: Characters of a label; those of all transitions are shorter.
_LONGEST_LABEL = 64

#: Parameters of one request: set one by one, set together, and looked up. The first take 0.1 s
#: with 100 joints and 0.03 s with 7 joints, the others less.
_MOST_EACH, _MOST_TOGETHER, _MOST_NAMES = 100, 1000, 10_000

_TYPES = frozenset(kind.value for kind in Parameter.Type)

#: Requests for parameters by their names.
_BY_NAME = (DescribeParameters.Request, GetParameters.Request, GetParameterTypes.Request)

_TYPE_HASH = re.compile('RIHS[0-9a-fA-F]{2}_[0-9a-fA-F]{64}')


def guard_requests(
    node: Node, together: Callable[[], AbstractContextManager[None]] = nullcontext
) -> None:
    """
    Make every service that a node has by now answer all requests.

    An exception in the callback of a service ends the executor and with it the process. rclpy's
    own callbacks raise for a parameter of an unknown type, they pass on what the node's parameter
    callbacks raise, and rclpy 7.1 (Jazzy) raises for a transition that is not possible. rclpy
    (7.1.10, 9.1.5 and newer) logs names of parameters that are not declared unbounded.

    A request that raises is refused as its service can: with a reason for each parameter, else
    with an empty response, in which ``success`` is false and a field for words has the reason. The
    log says why.

    :param node: The node; its services of rclpy, for example for parameters, are included.
    :param together: The parameters of one request are set in this context, one after the other.
    """
    log = ThrottledLog(node)
    exposed = [
        service.srv_name
        for service in node.services
        if not intercept_service(service, partial(_guard_service, service, node, log, together))
    ]
    if exposed:
        node.get_logger().warning(
            'this rclpy does not let requests be checked: one that it raises for ends the node '
            f'(services {shortened(exposed, show=str)})'
        )


def _guard_service(
    service: Service[Any, Any],
    node: Node,
    log: ThrottledLog,
    together: Callable[[], AbstractContextManager[None]],
    serve: Serve,
    send: Send,
) -> tuple[Serve, Send]:
    """Return what serves a request and sends its response, in place of rclpy's functions."""
    name, srv_type = service.srv_name, service.srv_type

    def serve_guarded(request: Any, response: Any) -> Any:
        try:
            _check_request_size(request)
            if srv_type is SetParameters and len(request.parameters) > 1:
                return set_each(request, response)
            _check_request(request, node)
            if srv_type is SetParametersAtomically and not request.parameters:
                response.result.successful = True  # rclpy refuses to set nothing
                return response
            return serve(request, response)
        except Exception as error:
            return _make_rejection(srv_type, request, _log_rejection(error, name, log))

    def set_each(request: Any, response: Any) -> Any:
        # Each has its result: a refused one must not keep the others from being set.
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

    return serve_guarded, send_guarded


def _check_request_size(request: Any) -> None:
    """
    Refuse a request that would keep messages and timeouts waiting.

    :raises MessageError: If it is for too many parameters.
    """
    if isinstance(request, SetParameters.Request):
        count, most = len(request.parameters), _MOST_EACH
    elif isinstance(request, SetParametersAtomically.Request):
        count, most = len(request.parameters), _MOST_TOGETHER
    else:
        count, most = len(getattr(request, 'names', ())), _MOST_NAMES
    if count > most:
        raise MessageError(
            'size', f'{count} parameters in one request, expected {most} at most: divide it'
        )


def _check_request(request: Any, node: Node) -> None:
    """
    Refuse requests that rclpy raises for or overlooks, and texts that it would log unbounded.

    :raises ParameterError: If a parameter has no name, is not declared, or has a type that rclpy
        does not know.
    :raises MessageError: If a label is not one of a transition, or a hash not one of a type.
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
    if not node.has_parameter(name):  # rclpy answers with nothing, or logs the name unbounded
        raise ParameterError(
            f'there is no parameter {shown(name)}'
            f'{closest(name, node.get_parameters_by_prefix(""))}'
        )


def _make_rejection(srv_type: Any, request: Any, reason: str) -> Any:
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


def _log_rejection(error: Exception, service: str, log: ThrottledLog) -> str:
    """Log why a request is refused, and return the reason for the client."""
    kind = ('request', service, type(error))
    # What rcl refuses is a class of rclpy's half in C++, which has no public name.
    is_rcl_error = type(error).__module__.startswith('rclpy')
    if isinstance(error, TransmissionBridgeError) or is_rcl_error:
        log.warning(kind, f'{service}: request refused: {error}')
        return str(error)
    log.error(kind, f'{service}: request met a bug:\n{traceback.format_exc()}')
    return f'bug: {error!r}; see the log'
