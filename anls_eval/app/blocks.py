"""The page with all tabs, and the server."""

from __future__ import annotations

import signal

import gradio as gr

from anls_eval.app import about, answer, compare, document, submission
from anls_eval.app.examples import DOCVQA, DUDE
from anls_eval.app.limits import MAX_UPLOAD_BYTES
from anls_eval.app.page import style

_INTRODUCTION = """# ANLS and ANLS\\*
The scores of DocVQA, ST-VQA, InfographicVQA and extracted JSON, as each leaderboard computes them, with the reason for
every lost point."""

_TABS = {
    "answer": ("Answer", answer.build),
    "document": ("Document", document.build),
    "submission": ("Submission", submission.build),
    "compare": ("Compare", compare.build),
}

_TAB_OF_LINK_JS = f"""() => {{
    const selected = new URLSearchParams(location.search).get("tab");
    return {[*_TABS, "about"]}.includes(selected) ? [{{ __type__: "update", selected }}] : [];
}}"""


def build() -> gr.Blocks:
    """Build the page with the endpoints of all tabs."""
    gr.set_static_paths([DOCVQA, DUDE])
    with gr.Blocks(title="ANLS and ANLS*", analytics_enabled=False) as page:
        gr.Markdown(_INTRODUCTION, elem_classes="introduction")
        with gr.Tabs() as tabs:
            for name, (label, add) in _TABS.items():
                with gr.Tab(label, id=name):
                    add(page)
            with gr.Tab("About", id="about"):
                about.build()
        page.load(None, None, tabs, js=_TAB_OF_LINK_JS)
    page.queue(max_size=200, default_concurrency_limit=8)
    return page  # type: ignore[no-any-return]


def launch() -> None:
    """Serve the page, also as an MCP server, until the process is terminated."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # so that launch returns
    build().launch(
        theme=_theme(),
        head=f"{_HEAD}<style>{style()}</style>",
        max_file_size=MAX_UPLOAD_BYTES,
        mcp_server=True,
        run_history=False,
        show_error=False,
        footer_links=["api"],
    )


_HEAD = '<meta name="description" content="ANLS and ANLS*: paste an answer, see its score and the reason.">'


def _theme() -> gr.Theme:
    # Not gradio's default font: it comes with only two of its bold letters, A and B.
    theme = gr.themes.Default(
        primary_hue=gr.themes.colors.indigo,
        neutral_hue=gr.themes.colors.zinc,
        radius_size=gr.themes.sizes.radius_md,
        font="system-ui, sans-serif",
        font_mono="ui-monospace, Menlo, Consolas, monospace",
    )
    return theme.set(
        body_background_fill="#f7f7f5",
        body_background_fill_dark="#121317",
        block_background_fill="#fff",
        block_background_fill_dark="#1a1c21",
        block_border_color="#e3e3de",
        block_border_color_dark="#2d3038",
        block_info_text_color="#5a5f6b",
        block_info_text_color_dark="#a4a9b5",
        block_label_text_color="#5a5f6b",
        block_label_text_color_dark="#a4a9b5",
        body_text_color_subdued="#5a5f6b",
        body_text_color_subdued_dark="#a4a9b5",
        color_accent="#2f55c4",
        input_placeholder_color="#6b7079",
        input_placeholder_color_dark="#9196a1",
        link_text_color="#2f55c4",
        link_text_color_dark="#8ba6ff",
        button_primary_background_fill="#2f55c4",
        button_primary_background_fill_hover="#26469f",
        button_primary_background_fill_dark="#3d62d0",
        button_primary_background_fill_hover_dark="#4a6ee0",
    )
