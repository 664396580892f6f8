"""What the tabs have in common: examples, links, work in another process, and errors in words."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlencode

import gradio as gr
from gradio.processing_utils import save_base64_to_cache, ssrf_protected_download
from gradio.utils import get_upload_folder

from anls_eval.app import child
from anls_eval.errors import AnlsError

_LONGEST_LINK = 4_000

_Result = TypeVar("_Result")


_LABELS = {"protocol": "Protocol", "threshold": "Threshold", "dataset_id": "Data set on the Hub"}


def in_page_words(error: Exception, choices: Mapping[str, str] | None = None) -> str:
    """Return the message of an error with options as the page labels them, and only remedies that the page has.

    Args:
        error: The error.
        choices: The labels of the tab's further controls, by the option that they set.
    """
    labels = _LABELS | dict(choices or {})

    def words(option: str, value: object) -> str | None:
        if option == "columns" and isinstance(value, dict):
            return _columns_of_file(value)
        label = labels.get(option)
        return label and (f"\u201c{label}\u201d" if option in (choices or ()) else f"{label} \u201c{value}\u201d")

    return error.told(words, verb="use") if isinstance(error, AnlsError) else str(error)


def _columns_of_file(columns: Mapping[str, str]) -> str:
    """Return what to do without an option for columns."""
    [role] = columns
    return f"a file with only one such column, named \u201c{role.rpartition('.')[2]}\u201d"


def _in_words_of_endpoints(option: str, value: object) -> str | None:
    """Endpoints take what they refuse as Python does, but have no options for missing ids and columns."""
    return _columns_of_file(value) if option == "columns" and isinstance(value, dict) else None


@contextlib.contextmanager
def refusals() -> Iterator[None]:
    """Show users of an endpoint the message of a ValueError or TypeError as a gr.Error, without a traceback."""
    try:
        yield
    except (ValueError, TypeError) as error:
        message = error.told(_in_words_of_endpoints, verb="use") if isinstance(error, AnlsError) else str(error)
        raise gr.Error(message, print_exception=False) from None


def work(
    task: Callable[..., _Result],
    *arguments: Any,
    seconds: float,
    files: Sequence[str | None] = (),
    progress: gr.Progress | None = None,
) -> _Result:
    """Run a task as `child.run` does; its errors name uploaded files as their users do.

    Args:
        task: As in `child.run`.
        arguments: Its arguments.
        seconds: The time limit.
        files: The paths of uploaded files.
        progress: Shows the progress.

    Raises:
        AnlsError: What `child.run` raises.
    """

    def show(share: float, what: str) -> None:
        if progress is not None:
            progress(share, desc=what)

    try:
        return child.run(task, *arguments, seconds=seconds, on_progress=show)
    except AnlsError as error:
        for path in filter(None, files):
            error.where, error.problem = (part.replace(path, Path(path).name) for part in (error.where, error.problem))
        raise


def uploaded(file: Any, number: int = 1) -> str:
    """Give the path of a file that came to an endpoint.

    Args:
        file: What gradio makes of an uploaded file, or the address of one as ``https:`` or ``data:``. Gradio itself
            fetches addresses that programs send through MCP, but for those in a list.
        number: For the name of a file that has none.

    Raises:
        ValueError: Something else, or a file that cannot be fetched.
    """
    if isinstance(file, dict) and file.get("meta") == {"_type": "gradio.FileData"}:
        return str(file["path"])  # gradio has refused all files that were not uploaded
    if not isinstance(file, str) or not file.startswith(("https:", "http:", "data:")):
        raise ValueError("expected an uploaded file, or the address of one")
    try:
        if file.startswith("data:"):
            return save_base64_to_cache(file, get_upload_folder(), f"file-{number}")
        return ssrf_protected_download(file, get_upload_folder())
    except Exception as error:  # of any kind: gradio raises what the network raises, and its own
        raise ValueError(f"{file[:200]} cannot be fetched: {error}") from None


def example_buttons(examples: Mapping[str, Sequence[Any]], fields: Sequence[Any]) -> list[Any]:
    """Add a button for each example, which puts its values into the fields.

    Args:
        examples: The values of the fields, by the name of the example.
        fields: As many components as an example has values.

    Returns:
        The events of the buttons.
    """
    gr.Markdown("Examples", elem_classes="examples-label")
    with gr.Row(elem_classes="examples"):
        buttons = [gr.Button(name, size="sm", min_width=80) for name in examples]
    return [
        button.click(_giving(values), None, list(fields), show_progress="hidden", api_visibility="private")
        for button, values in zip(buttons, examples.values(), strict=True)
    ]


def _giving(values: Sequence[Any]) -> Callable[[], list[Any]]:
    return lambda: list(values)


def link(tab: str, **fields: Any) -> str:
    """Give the address that opens a tab with these values, or nothing if browsers would not take it.

    Example:
        >>> link("answer", prediction="a b", threshold=None)
        '?tab=answer&prediction=a+b'
    """
    try:
        address = "?" + urlencode({"tab": tab, **{name: value for name, value in fields.items() if value is not None}})
    except UnicodeEncodeError:  # half a character, which no address can hold
        return ""
    return address if len(address) <= _LONGEST_LINK else ""
