"""The page with all tabs, and the server."""

from __future__ import annotations

import signal

import gradio as gr

from anls_eval.app import about, answer, compare, document, submission
from anls_eval.app.examples import DOCVQA, DUDE
from anls_eval.app.limits import MAX_UPLOAD_BYTES
from anls_eval.app.page import style
from anls_eval.markup import COLOURS

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
    own = {
        "body_background_fill": "page",
        "block_background_fill": "surface",
        "block_border_color": "line",
        "block_info_text_color": "muted",
        "block_label_text_color": "muted",
        "body_text_color_subdued": "muted",
        "link_text_color": "accent",
    }
    light = {name: COLOURS[colour][0] for name, colour in own.items()}
    dark = {f"{name}_dark": COLOURS[colour][1] for name, colour in own.items()}
    accent = COLOURS["accent"][0]
    return theme.set(
        **light,
        **dark,
        color_accent=accent,
        input_placeholder_color="#6b7079",
        input_placeholder_color_dark="#9196a1",
        button_primary_background_fill=accent,
        button_primary_background_fill_hover="#26469f",
        button_primary_background_fill_dark="#3d62d0",
        button_primary_background_fill_hover_dark="#4a6ee0",
    )
