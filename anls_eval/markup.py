"""HTML of results: how notebooks show them, and the colours and marks that reports and the app share."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

# What has a colour, and that colour on a light and on a dark page.
COLOURS = {
    "page": ("#f7f7f5", "#121317"),
    "surface": ("#fff", "#1a1c21"),
    "text": ("#1b1d22", "#e7e8ec"),
    "muted": ("#5a5f6b", "#a4a9b5"),
    "line": ("#e3e3de", "#2d3038"),
    "accent": ("#2f55c4", "#8ba6ff"),
    "accent-soft": ("#a9bbee", "#4a5ea6"),
    "track": ("#ebebe6", "#282b32"),
    "zero": ("#b4b8c2", "#5c616e"),
    "code": ("#f0f0ec", "#22252b"),
    "changed": ("#fbe9b7", "#4b3b0d"),
    "changed-text": ("#553d00", "#ffe19b"),
    "lost": ("#fbdcd8", "#57221c"),
    "lost-text": ("#83180d", "#ffccc5"),
    "added": ("#d5f0dc", "#17401f"),
    "added-text": ("#0d4d22", "#c0f2ca"),
}
LIGHT, DARK = (" ".join(f"--{name}: {own[side]};" for name, own in COLOURS.items()) for side in (0, 1))
FONTS = (
    '--sans: system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif; '
    '--mono: ui-monospace, SFMono-Regular, "SF Mono", Menlo, Consolas, "Liberation Mono", monospace;'
)
MARKS = """\
.alignment { display: grid; grid-template-columns: auto minmax(0, 1fr); gap: .15rem .9rem; align-items: baseline; }
.alignment dt { color: var(--muted); font-size: .85rem; }
.alignment dd { font-family: var(--mono); font-size: .9rem; line-height: 1.7; overflow-wrap: anywhere; white-space: pre-wrap; }
mark, del, ins { border-radius: 3px; padding: .08em .12em; box-decoration-break: clone; -webkit-box-decoration-break: clone; }
mark { background: var(--changed); color: var(--changed-text); text-decoration: underline dotted 2px; text-underline-offset: 3px; }
del { background: var(--lost); color: var(--lost-text); text-decoration: line-through 1.5px; }
ins { background: var(--added); color: var(--added-text); text-decoration: underline 2px; text-underline-offset: 3px; }
.tree, .tree ul { list-style: none; font: .875rem/1.7 var(--mono); }
.tree ul { border-left: 1px solid var(--line); margin-left: .35rem; padding-left: 1rem; }
.tree .label { color: var(--muted); }
.tree .label::after { content: ":"; }
.leaf { border-radius: 4px; padding: .05rem .35rem; overflow-wrap: anywhere; }
.leaf.full { background: var(--added); color: var(--added-text); }
.leaf.part { background: var(--changed); color: var(--changed-text); }
.leaf:is(.below-threshold, .type-mismatch, .different, .scores-0-by-rule) { background: var(--lost); color: var(--lost-text); }
.leaf.missing { border: 1px dashed currentColor; color: var(--lost-text); }
.leaf.hallucinated { border: 1px solid currentColor; color: var(--lost-text); }
.what { font: .8rem var(--sans); color: var(--muted); }
"""  # noqa: E501 - a rule of CSS on each line
_NOTEBOOK = """\
background: var(--surface); color: var(--text); font: 14px/1.5 var(--sans); padding: .75rem 1rem; max-width: 60rem;
border: 1px solid var(--line); border-radius: 8px; display: grid; gap: .6rem; overflow: auto;
p, dl, dd, ul, pre { margin: 0; padding: 0; }
.score { font-size: 1.6rem; line-height: 1.1; font-weight: 650; color: var(--accent); }
.muted { color: var(--muted); }
.note { border-left: 3px solid var(--accent); padding-left: .6rem; }
.leaf :is(mark, del, ins) { padding: 0 .05em; }
table { border-collapse: collapse; margin: 0; justify-self: start; font-size: .9em; color: inherit; }
:is(thead, tbody) tr { background: none; }
th, td { text-align: left; vertical-align: top; padding: .2rem .9rem .2rem 0; border: 0; border-top: 1px solid var(--line); font-weight: 400; }
thead th { color: var(--muted); border-top: 0; }
.number { text-align: right; font-variant-numeric: tabular-nums; }
.bar { display: block; width: 8rem; height: .6rem; margin-top: .4rem; border-radius: 3px; background: var(--track); }
.bar span { display: block; height: 100%; border-radius: 3px; background: var(--accent); }
pre { background: var(--code); color: inherit; border-radius: 6px; padding: .4rem .6rem; font: .75rem/1.5 var(--mono); white-space: pre-wrap; overflow-wrap: anywhere; }
"""  # noqa: E501 - a rule of CSS on each line
_IN_DARK = ("body[data-jp-theme-light=false]", "body.vscode-dark", "html[theme=dark]", "[data-theme=dark]")
_IN_LIGHT = ("body[data-jp-theme-light=true]", "body.vscode-light", "html[theme=light]", "[data-theme=light]")


class Html(str):
    """HTML in which every text is escaped."""


# As html.escape does it; the module html has a table of all entities, which takes a while to import.
_ESCAPES = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#x27;"})


def as_html(content: object) -> Html:
    """Return HTML unchanged, and a text escaped; a character that cannot be shown becomes U+FFFD."""
    if isinstance(content, Html):
        return content
    shown = "".join(own if own.isprintable() or own in "\n\t" else "\ufffd" for own in str(content))
    return Html(shown.translate(_ESCAPES))


def element(name: str, content: object, kind: str = "") -> Html:
    """Return an element with this class."""
    start = f'{name} class="{as_html(kind)}"' if kind else name
    return Html(f"<{start}>{as_html(content)}</{name}>")


def joined(parts: Iterable[object]) -> Html:
    """Return parts one after another."""
    return Html("".join(map(as_html, parts)))


def notebook_page(*parts: Html) -> str:
    """Return the HTML of a result for a notebook, with its style, in the colours of the notebook."""
    dark, light = (", ".join(f"{own} .anls-eval" for own in names) for names in (_IN_DARK, _IN_LIGHT))
    style = (
        f".anls-eval {{ {LIGHT} {FONTS}\n{MARKS}{_NOTEBOOK}}}\n"
        f"@media (prefers-color-scheme: dark) {{ .anls-eval {{ {DARK} }} }}\n"
        f"{light} {{ {LIGHT} }}\n{dark} {{ {DARK} }}\n"
    )
    return f'<div class="anls-eval"><style>\n{style}</style>{joined(parts)}</div>'


def headline(score: float, words: object) -> Html:
    """Return a score in large, and words beside it."""
    return joined([element("p", f"{score:.4f}", "score"), element("p", words)])


def notes_html(notes: Iterable[str]) -> Html:
    """Return warnings, one a paragraph."""
    return joined(element("p", note, "note") for note in notes)


def signature_html(signature: str) -> Html:
    """Return a signature, which may break at each part."""
    return element("pre", Html("|<wbr>".join(map(as_html, signature.split("|")))))


def score_bar(score: float) -> Html:
    """Return the bar of a score from 0 to 1."""
    return Html(f'<span class="bar"><span style="width: {100 * min(max(score, 0.0), 1.0):.1f}%"></span></span>')


def table_html(heads: Sequence[str], rows: Iterable[Sequence[object]], most: int = 100) -> Html:
    """Return a table of texts, HTML, integers and floats, the last with 4 digits; None is empty. Many rows are cut."""
    lines = list(rows)
    cells = [element("tr", joined(_cell(value) for value in row)) for row in lines[:most]]
    left_out = len(lines) - len(cells)
    more = element("p", f"{left_out:,} more are not shown.", "muted") if left_out else ""
    head = element("tr", joined(element("th", name) for name in heads))
    return joined([element("table", joined([element("thead", head), element("tbody", joined(cells))])), more])


def _cell(value: object) -> Html:
    if isinstance(value, float):
        return element("td", f"{value:.4f}", "number")
    if isinstance(value, int):
        return element("td", f"{value:,}", "number")
    return element("td", "" if value is None else value)
