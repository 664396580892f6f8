"""What MkDocs does beyond its settings: pages link to files outside docs/, which the site has at the same place."""

import posixpath
import re
from pathlib import Path
from typing import Any

import griffe
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).resolve().parent.parent
PAGES = ["CHANGELOG.md", "benchmarks/RESULTS.md"]  # those outside docs/
LINK = re.compile(r"(?<=\]\()(?!\w+:)([^)#]+)")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages and linked files that are outside docs/."""
    for name in PAGES:
        files.append(File.generated(config, name, abs_src_path=str(ROOT / name)))
    for page in files.documentation_pages():
        source = in_repository(page.src_uri)
        targets = {target(source, link) for link in LINK.findall((ROOT / source).read_text(encoding="utf-8"))}
        for name in sorted(targets):
            if not files.get_file_from_path(in_site(name)) and (ROOT / name).is_file():
                files.append(File.generated(config, name, abs_src_path=str(ROOT / name)))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Let links lead to where the site has their targets."""
    source, folder = in_repository(page.file.src_uri), posixpath.dirname(page.file.src_uri) or "."
    return LINK.sub(lambda link: posixpath.relpath(in_site(target(source, link[0])), folder), markdown)


def in_repository(name: str) -> str:
    """Return the path in the repository of a page of the site."""
    return name if name in PAGES else f"docs/{name}"


def in_site(name: str) -> str:
    """Return the path in the site of a file of the repository."""
    return name.removeprefix("docs/")


def target(source: str, link: str) -> str:
    """Return the path in the repository that a link of a file means."""
    return posixpath.normpath(posixpath.join(posixpath.dirname(source), link))


class DocstringExamples(griffe.Extension):
    """Lets griffe read the example of a docstring as code, which it does under the title "Examples" alone."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Change the title."""
        if obj.docstring:
            obj.docstring.value = re.sub(r"(?m)^Example:$", "Examples:", obj.docstring.value)
