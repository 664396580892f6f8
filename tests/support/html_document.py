"""An HTML document as a list of its elements, to look at what a browser would build from it."""

import dataclasses
import html.parser

_VOID = {"br", "input", "link", "meta", "wbr"}


@dataclasses.dataclass
class Element:
    tag: str
    attributes: dict[str, str | None]
    text: str = ""  # with that of the elements inside


class _Parser(html.parser.HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.elements: list[Element] = []
        self.open: list[Element] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert len({name for name, _ in attrs}) == len(attrs), attrs
        element = Element(tag, dict(attrs))
        self.elements.append(element)
        if tag not in _VOID:
            self.open.append(element)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append(Element(tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open, tag
        assert self.open.pop().tag == tag

    def handle_data(self, data: str) -> None:
        for element in self.open:
            element.text += data


def parse(document: str) -> list[Element]:
    """The elements in order; every one must be closed where it should."""
    parser = _Parser()
    parser.feed(document)
    parser.close()
    assert not parser.open
    return parser.elements


def find(elements: list[Element], tag: str, **attributes: str) -> list[Element]:
    wanted = {name.rstrip("_"): value for name, value in attributes.items()}
    return [own for own in elements if own.tag == tag and wanted.items() <= own.attributes.items()]
