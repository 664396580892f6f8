"""The command line: ``anls`` or ``python -m anls_eval``.

The metric is imported where a command runs, so that the help is there at once.
"""

from __future__ import annotations

import json
import warnings
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

if TYPE_CHECKING:
    pass

app = typer.Typer(
    help="ANLS and ANLS*: score answers and submissions, by the protocol of any leaderboard.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
out = Console(highlight=False, soft_wrap=True)
err = Console(stderr=True, highlight=False, soft_wrap=True)

ProtocolOption = Annotated[str, typer.Option("--protocol", "-p", help="A name of `anls protocols`.")]
ThresholdOption = Annotated[
    str | None, typer.Option("--threshold", help="The least similarity that counts, in place of the protocol's.")
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]


def main() -> None:
    """Run the command line: what is wrong goes to stderr in words, with exit status 2."""
    warnings.showwarning = _show_note
    warnings.simplefilter("always", UserWarning)
    try:
        app()
    except (ValueError, TypeError, OSError) as error:
        err.print(f"error: {error}", markup=False)
        raise SystemExit(2) from None


def _show_note(message: Warning | str, *_: Any, **__: Any) -> None:
    err.print(f"note: {message}", markup=False)


def _print_json(value: Any) -> None:
    out.out(json.dumps(value, ensure_ascii=False, indent=2))
