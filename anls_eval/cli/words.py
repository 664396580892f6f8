"""Errors as the command line words them: ``--missing zero`` for ``missing="zero"``."""

from __future__ import annotations

import functools
import itertools
import json
import shlex
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from anls_eval.errors import Explained, Note

_UsageError: type[Exception] = typer.BadParameter.__mro__[1]  # of click, or of a Typer that has click inside


# The options of the command that runs; None before that, for advice about all commands.
_offered: frozenset[str] | None = None


def forget_command() -> None:
    """Say of no option any more that a command lacks it."""
    global _offered
    _offered = None


def in_options(message: BaseException | str | None) -> str:
    """Return the message of an error, note or warning with its options as the command line takes them."""
    told = message.args[0] if isinstance(message, Warning) and message.args else message
    return told.told(_words) if isinstance(told, (Explained, Note)) else str(told or "")


def _words(option: str, value: object) -> str | None:
    if not option.isidentifier():
        return None
    flag = "--" + option.replace("_", "-")
    if _offered is not None and flag not in _offered:
        return None
    if option == "options":  # those of a benchmark are in a file
        return f"{flag} FILE.json, a file with {json.dumps(value)}" if isinstance(value, dict) else flag
    if value is None or value is True:
        return flag
    texts = [f"{role}={name}" for role, name in value.items()] if isinstance(value, dict) else [str(value)]
    return " ".join(f"{flag} {_quoted(text)}" for text in texts)


def _quoted(text: str) -> str:
    return shlex.quote(text) if len(text) < 80 else f"{shlex.quote(text[:76])}..."


class _Light:
    """A command that leaves texts and defaults as they are. Typer would import pydantic (0.05 s) to convert them."""

    def get_params(self, ctx: Any) -> Any:
        """Return the arguments and options, also --help."""
        params = super().get_params(ctx)  # type: ignore[misc]
        for own in params:
            own.process_value = functools.partial(_value, own)
        return params


def _value(param: Any, ctx: Any, value: Any) -> Any:
    """Return the value of an argument or option, converted by Typer where it must be."""
    several = param.multiple or param.nargs == -1
    if value is param.default and not param.required:
        value = () if several and value is None else value
        return value if param.callback is None else param.callback(ctx, param, value)
    what = getattr(param, "type_descriptor", None)  # of the versions that import pydantic
    if value and what is not None and what.annotation == (list[str] if several else str) and param.callback is None:
        return value
    return type(param).process_value(param, ctx, value)


class Command(_Light, TyperCommand):
    """A command, whose errors advise only options that it has."""

    def invoke(self, ctx: Any) -> Any:
        """Run the command."""
        global _offered
        _offered = frozenset(itertools.chain.from_iterable(own.opts for own in self.params))
        return super().invoke(ctx)


class Commands(_Light, TyperGroup):
    """A group of commands that raises ValueError on wrong usage, so that it is reported like any other error."""

    def make_context(self, *arguments: Any, **options: Any) -> Any:
        """Parse the options before the command."""
        try:
            return super().make_context(*arguments, **options)
        except _UsageError as error:
            raise ValueError(_usage(error)) from None

    def invoke(self, ctx: Any) -> Any:
        """Find the command, parse its options and run it."""
        try:
            return super().invoke(ctx)
        except _UsageError as error:
            raise ValueError(_usage(error)) from None


def _usage(error: Any) -> str:
    """Return which option, argument or command is wrong, and what was expected."""
    param = getattr(error, "param", None)
    if param is not None:
        name: str = param.name.upper() if param.param_type_name == "argument" else max(param.opts, key=len)
        return f"{name} {error.message}" if error.message else f"{name} is missing. {param.help}"
    wrong: str = error.message[:1].lower() + error.message[1:] + ("" if error.message.endswith((".", "?")) else ".")
    if error.ctx is None:
        return wrong
    if isinstance(error.ctx.command, TyperGroup) and not hasattr(error, "option_name"):
        return f"{wrong} Expected one of {', '.join(error.ctx.command.commands)}."
    return f"{wrong} `{error.ctx.command_path} --help` lists what it takes."


def whole_number(minimum: int) -> Any:
    """Return a parser of whole numbers of at least `minimum`."""

    def parse(text: str) -> int:
        try:
            number = int(text)
        except ValueError:
            number = minimum - 1
        if number < minimum:
            raise typer.BadParameter(f"{_quoted(text)}: expected a whole number of at least {minimum}.")
        return number

    return parse


def number(example: str) -> Any:
    """Return a parser of numbers, of which the message shows one."""

    def parse(text: str) -> float:
        try:
            return float(text)
        except ValueError:
            raise typer.BadParameter(f"{_quoted(text)}: expected a number, such as {example}.") from None

    return parse
