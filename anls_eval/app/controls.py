"""What the tabs share: examples, links, work in another process, and errors shown to the user."""

from __future__ import annotations

import contextlib
import functools
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlencode

import gradio as gr
from gradio.processing_utils import save_base64_to_cache, ssrf_protected_download
from gradio.utils import get_upload_folder

from anls_eval.app import child
from anls_eval.app.limits import SUBMISSION_SECONDS
from anls_eval.app.options import Options
from anls_eval.app.page import alert
from anls_eval.app.results import Handler, as_sent
from anls_eval.app.words import in_page_words
from anls_eval.errors import AnlsError

_MAX_LINK_CHARACTERS = 4_000

_Result = TypeVar("_Result")


@contextlib.contextmanager
def endpoint_errors() -> Iterator[None]:
    """Turn a ValueError or TypeError of an endpoint, which takes options as Python does, into a `gr.Error`."""
    try:
        yield
    except (ValueError, TypeError) as error:
        raise gr.Error(str(error), print_exception=False) from None


def shows_errors(outputs: int) -> Callable[[Handler], Handler]:
    """Let a handler of this many outputs show a ValueError in the first."""

    def decorate(handler: Handler) -> Handler:
        @functools.wraps(handler)
        def guarded(*arguments: Any) -> tuple[Any, ...]:
            try:
                return handler(*arguments)
            except ValueError as error:
                return alert(in_page_words(error)), *[""] * (outputs - 1)

        return guarded

    return decorate


def work_on_files(
    task: Callable[..., _Result], predictions: str | Sequence[str], references: str | None, *options: Any
) -> _Result:
    """Run a task on uploaded files in a separate process; errors name the files without their folders."""
    progress = gr.Progress()
    try:
        return child.run(
            task,
            predictions,
            references,
            *options,
            seconds=SUBMISSION_SECONDS,
            on_progress=lambda share, what: progress(share, desc=what),
        )
    except AnlsError as error:
        paths = [predictions] if isinstance(predictions, str) else [*predictions]
        rules = [own.fields for own in options if isinstance(own, Options)]
        for path in [own for own in (*paths, references, *rules) if isinstance(own, str)]:
            error.where, error.problem = (part.replace(path, Path(path).name) for part in (error.where, error.problem))
        raise


def uploaded(file: Any, number: int = 1) -> str:
    """Return the path of a file that an endpoint received; the number names a file that has no name."""
    if isinstance(file, dict) and file.get("meta") == {"_type": "gradio.FileData"}:
        return str(file["path"])  # gradio has refused all files that were not uploaded
    if not isinstance(file, str) or not file.startswith(("https:", "http:", "data:")):
        raise ValueError("expected an uploaded file, or the address of one")
    try:  # gradio fetches the addresses that programs send through MCP, except those in a list
        if file.startswith("data:"):
            return save_base64_to_cache(file, get_upload_folder(), f"file-{number}")
        return ssrf_protected_download(file, get_upload_folder())
    except Exception as error:  # of any kind: gradio raises what the network raises, and its own
        raise ValueError(f"{file[:200]} cannot be fetched: {error}") from None


def new_folder() -> str:
    """Return a new folder whose files users can download until they are deleted as old."""
    folder = Path(get_upload_folder())
    folder.mkdir(parents=True, exist_ok=True)
    return tempfile.mkdtemp(dir=folder)


def example_buttons(examples: Mapping[str, Sequence[Any]], fields: Sequence[Any]) -> list[Any]:
    """Add a button for each example that puts its values into the fields; return the click events."""
    gr.Markdown("Examples", elem_classes="examples-label")
    with gr.Row(elem_classes="examples"):
        buttons = [gr.Button(name, size="sm", min_width=80) for name in examples]
    values = [list(map(as_sent, fields, example)) for example in examples.values()]
    source = gr.JSON(values, visible=False)  # on the page: the server could answer after another choice of the user
    return [
        button.click(None, source, list(fields), js=f"(examples) => examples[{number}]")
        for number, button in enumerate(buttons)
    ]


def link(tab: str, **fields: Any) -> str:
    """Return the address that opens a tab with these values, or "" if it is too long for browsers."""
    try:
        address = "?" + urlencode({"tab": tab, **{name: value for name, value in fields.items() if value is not None}})
    except UnicodeEncodeError:  # a lone surrogate, which no address can hold
        return ""
    return address if len(address) <= _MAX_LINK_CHARACTERS else ""
