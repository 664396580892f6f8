"""What the tabs share: examples, links, work in another process, and errors shown to the user."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ParamSpec, TypeVar, cast
from urllib.parse import urlencode

import gradio as gr
from gradio.processing_utils import save_base64_to_cache, save_file_to_cache, ssrf_protected_download
from gradio.utils import get_upload_folder

from anls_eval.app import child
from anls_eval.app.limits import SUBMISSION_SECONDS
from anls_eval.app.page import alert
from anls_eval.errors import AnlsError

_MAX_LINK_CHARACTERS = 4_000

_Arguments = ParamSpec("_Arguments")
_Result = TypeVar("_Result")


_LABELS = {"protocol": "Protocol", "threshold": "Threshold", "dataset_id": "Dataset on the Hub"}


def in_page_words(error: Exception, choices: Mapping[str, str] | None = None) -> str:
    """Return the message of an error with options as the page labels them, and only remedies that the page has.

    `choices` are the labels of the tab's further controls, by the option that they set.
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
def endpoint_errors() -> Iterator[None]:
    """Turn a ValueError or TypeError of an endpoint into a `gr.Error` without a traceback."""
    try:
        yield
    except (ValueError, TypeError) as error:
        message = error.told(_in_words_of_endpoints, verb="use") if isinstance(error, AnlsError) else str(error)
        raise gr.Error(message, print_exception=False) from None


def shows_errors(
    other_outputs: Callable[[], tuple[Any, ...]] = tuple, choices: Mapping[str, str] | None = None
) -> Callable[[Callable[_Arguments, _Result]], Callable[_Arguments, _Result]]:
    """Decorate an event handler: it shows a ValueError in its first output and sets the others to these.

    `choices` are the labels of the tab's controls that set other options, for `in_page_words`.
    """

    def decorate(handler: Callable[_Arguments, _Result]) -> Callable[_Arguments, _Result]:
        @functools.wraps(handler)
        def guarded(*arguments: _Arguments.args, **options: _Arguments.kwargs) -> _Result:
            try:
                return handler(*arguments, **options)
            except ValueError as error:
                message, others = alert(in_page_words(error, choices)), other_outputs()
                return cast(_Result, (message, *others) if others else message)

        return guarded

    return decorate


def work_on_files(
    task: Callable[..., _Result],
    predictions: str | Sequence[str],
    references: str | None,
    *options: Any,
    progress: gr.Progress | None = None,
) -> _Result:
    """Run a task on uploaded files in a separate process; errors name the files without their folders."""

    def show(share: float, what: str) -> None:
        if progress is not None:
            progress(share, desc=what)

    try:
        return child.run(task, predictions, references, *options, seconds=SUBMISSION_SECONDS, on_progress=show)
    except AnlsError as error:
        paths = (predictions, references) if isinstance(predictions, str) else (*predictions, references)
        for path in filter(None, paths):
            error.where, error.problem = (part.replace(path, Path(path).name) for part in (error.where, error.problem))
        raise


def uploaded(file: Any, number: int = 1) -> str:
    """Return the path of a file that an endpoint received: an upload, or an address, which is fetched.

    Gradio itself fetches the addresses that programs send through MCP, except those in a list. The number names a file
    that has no name.
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


def downloads(paths: Sequence[str] = ()) -> Any:
    """Return a `gr.File` with copies of these files, hidden without any; the originals may be deleted."""
    copies = [save_file_to_cache(path, get_upload_folder()) for path in paths]
    return gr.File(value=copies or None, visible=bool(copies))


def example_buttons(examples: Mapping[str, Sequence[Any]], fields: Sequence[Any]) -> list[Any]:
    """Add a button for each example that puts its values into the fields; return the click events."""
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
    """Return the address that opens a tab with these values, or "" if it is too long for browsers.

    Example:
        >>> link("answer", prediction="a b", threshold=None)
        '?tab=answer&prediction=a+b'
    """
    try:
        address = "?" + urlencode({"tab": tab, **{name: value for name, value in fields.items() if value is not None}})
    except UnicodeEncodeError:  # a lone surrogate, which no address can hold
        return ""
    return address if len(address) <= _MAX_LINK_CHARACTERS else ""
