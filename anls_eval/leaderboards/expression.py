"""The value of a Python expression in a model's output: constants and operators alone, with limits, nothing called."""

from __future__ import annotations

import ast
import builtins
import operator
import warnings
from collections.abc import Callable, Mapping
from typing import Any

_MAX_TEXT = 10_000  # characters
_MAX_BITS = 10_000

_BINARY: Mapping[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv, ast.Mod: operator.mod, ast.Pow: operator.pow,
    ast.BitOr: operator.or_, ast.BitAnd: operator.and_, ast.BitXor: operator.xor,
}  # fmt: skip
_COMPARISONS: Mapping[type[ast.cmpop], Callable[[Any, Any], bool]] = {
    ast.Eq: operator.eq, ast.NotEq: operator.ne, ast.Lt: operator.lt, ast.LtE: operator.le,
    ast.Gt: operator.gt, ast.GtE: operator.ge,
    ast.In: lambda left, right: left in right, ast.NotIn: lambda left, right: left not in right,
}  # fmt: skip
_UNARY: Mapping[type[ast.unaryop], Callable[[Any], Any]] = {
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
    ast.Invert: operator.invert,
    ast.Not: operator.not_,
}


def evaluate_expression(text: str) -> Any:
    """Return the value of a text that holds constants, lists and operators; raise a ValueError for anything else.

    The name of a built-in, which Python evaluates too, becomes the text that Python shows for it.
    """
    if len(text) > _MAX_TEXT:
        raise ValueError(f"it has {len(text)} characters, over the limit of {_MAX_TEXT}")
    try:
        with warnings.catch_warnings():  # about invalid escapes in the text
            warnings.simplefilter("ignore")
            return _value(ast.parse(text.lstrip(" \t"), mode="eval").body)
    except (SyntaxError, TypeError, ArithmeticError, MemoryError, RecursionError) as error:
        raise ValueError(str(error) or type(error).__name__) from None


def _value(node: ast.expr) -> Any:
    match node:
        case ast.Constant(value=value):
            return value
        case ast.List(elts=items):
            return list(map(_value, items))
        case ast.Tuple(elts=items):
            return tuple(map(_value, items))
        case ast.Set(elts=items):
            return set(map(_value, items))
        case ast.Dict(keys=keys, values=values) if None not in keys:
            return {_value(key): _value(value) for key, value in zip(keys, values, strict=True) if key is not None}
        case ast.UnaryOp(op=op, operand=operand):
            return _UNARY[type(op)](_value(operand))
        case ast.BoolOp(op=op, values=operands):
            return _first_deciding(operands, stops_at=isinstance(op, ast.Or))
        case ast.Compare(left=first, ops=ops, comparators=others) if all(type(op) in _COMPARISONS for op in ops):
            return _compared(first, ops, others)
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _BINARY:
            return _bounded(type(op), _value(left), _value(right))
        case ast.Name(id=name) if hasattr(builtins, name):
            return str(getattr(builtins, name))
    raise ValueError(f"{type(node).__name__} is not evaluated")


def _first_deciding(operands: list[ast.expr], stops_at: bool) -> Any:
    """Return the first operand that decides an `and` or `or`, else the last; those behind it are not looked at."""
    value = None
    for operand in operands:
        value = _value(operand)
        if bool(value) is stops_at:
            break
    return value


def _compared(first: ast.expr, ops: list[ast.cmpop], others: list[ast.expr]) -> Any:
    """Return whether each neighbouring pair compares; pairs behind the first that does not are not looked at."""
    left = _value(first)
    for op, other in zip(ops, others, strict=True):
        right = _value(other)
        if not _COMPARISONS[type(op)](left, right):
            return False
        left = right
    return True


def _bounded(kind: type[ast.operator], left: Any, right: Any) -> Any:
    """Return the result of an operation on two numbers, or the sum of two texts or lists."""
    if isinstance(left, (int, float)) and isinstance(right, (int, float)):
        if kind is ast.Pow and isinstance(left, int) and left.bit_length() * abs(right) > _MAX_BITS:
            raise ValueError("its value is too big")
    elif kind is not ast.Add or not isinstance(left, (str, list, tuple)):
        raise ValueError("only numbers are calculated with")
    return _BINARY[kind](left, right)
