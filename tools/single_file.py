"""Make anls.py, the one file that `evaluate.load` fetches, from the modules of the package that the metric needs.

Run ``make anls.py``. ``python tools/single_file.py --check`` fails if the committed file differs from what is made.
"""

import ast
import functools
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TARGET = ROOT / "anls.py"
# In the order in which a reader wants them; what they need comes before them.
ENTRIES = [f"anls_eval.{name}" for name in ("version", "registry", "text.measure", "tree.scores", "scoring", "metric")]

HEAD = '''"""ANLS and ANLS*: the score of DocVQA, ST-VQA and InfographicVQA in every variant, and of trees.

Made from the package anls_eval by ``make anls.py``: change it there, not here.

This one file is the whole metric. It works as ``evaluate.load("anls")``, from a folder, offline, and copied alone into
another project. It needs evaluate, datasets, rapidfuzz, scipy, numpy and pyarrow.
"""

from __future__ import annotations

'''
EXPORTS = """
__all__ = [
    "ANLS", "PROTOCOLS", "Explanation", "Match", "Protocol", "ScoreNode", "anls_score", "anls_scores",
    "anls_star_score", "anls_star_scores", "explain", "get_protocol", "one_of", "protocol_from_signature", "signature",
]  # fmt: skip
"""


@functools.cache
def read(module: str) -> tuple[str, ast.Module]:
    """Return the source of a module and its syntax tree."""
    path = ROOT / (module.replace(".", "/") + ".py")
    source = path.read_text(encoding="utf-8")
    return source, ast.parse(source)


def imports_of(tree: ast.Module) -> list[ast.Import | ast.ImportFrom]:
    """Return the imports at the top of a module."""
    return [node for node in tree.body if isinstance(node, (ast.Import, ast.ImportFrom))]


def in_order() -> list[str]:
    """Return the modules that the entries need, each after those that it imports."""
    found: list[str] = []

    @functools.cache  # else a module would be visited by every path of imports to it: 30,000 times
    def visit(module: str) -> None:
        for node in imports_of(read(module)[1]):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("anls_eval."):
                visit(str(node.module))
        found.append(module)

    for entry in ENTRIES:
        visit(entry)
    return found


def body_of(module: str) -> str:
    """Return a module without its docstring and imports, under a line that names it."""
    source, tree = read(module)
    lines = source.splitlines()
    dropped = {
        line
        for node in (tree.body[0], *imports_of(tree))
        for line in range(node.lineno, (node.end_lineno or node.lineno) + 1)
    }
    rest = [line for number, line in enumerate(lines, start=1) if number not in dropped]
    path, about = module.replace(".", "/") + ".py", ast.get_docstring(tree) or ""
    banner = ["# " + "-" * 99, f"# {path}", *(f"# {line}".rstrip() for line in about.splitlines()), "# " + "-" * 99]
    return "\n".join(banner) + "\n\n" + re.sub(r"\n{4,}", "\n\n\n", "\n".join(rest).strip("\n")) + "\n"


def header(modules: list[str]) -> str:
    """Return the imports of all modules but those of one another, sorted: standard library first."""
    whole: set[str] = {"scipy"}  # imported where it is used, and named here so that evaluate says if it is lacking
    parts: dict[str, set[str]] = {}
    for module in modules:
        for node in imports_of(read(module)[1]):
            if isinstance(node, ast.Import):
                whole |= {alias.name + (f" as {alias.asname}" if alias.asname else "") for alias in node.names}
            elif node.module != "__future__" and not str(node.module).startswith("anls_eval."):
                parts.setdefault(str(node.module), set()).update(alias.name for alias in node.names)
    lines = [(name, f"import {name}") for name in sorted(whole)]
    lines += [(name, f"from {name} import {', '.join(sorted(parts[name], key=rank))}") for name in sorted(parts)]
    sections = [[line for name, line in lines if is_standard(name) == own] for own in (True, False)]
    return "\n\n".join("\n".join(section) for section in sections) + "\n"


def rank(name: str) -> tuple[bool, bool, str]:
    """Return the place of an imported name: constants first, then classes, then functions."""
    return not name.isupper(), name.islower(), name.lower()


def is_standard(name: str) -> bool:
    """Return whether a module belongs to Python's standard library."""
    return re.split(r"[. ]", name)[0] in sys.stdlib_module_names


def check_names(modules: list[str]) -> None:
    """Refuse two modules that define one name: in one file, the second would replace the first."""
    owners: dict[str, str] = {}
    for module in modules:
        for node in read(module)[1].body:
            targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
            names = [node.name] if isinstance(node, (ast.FunctionDef, ast.ClassDef)) else []
            names += [part.id for own in targets if own for part in ast.walk(own) if isinstance(part, ast.Name)]
            for name in names:
                if owners.setdefault(name, module) != module:
                    sys.exit(f"{name} is defined in {owners[name]} and in {module}: give one of them another name")


def made() -> str:
    """Return the text of anls.py."""
    modules = in_order()
    check_names(modules)
    return HEAD + header(modules) + EXPORTS + "\n" + "\n\n".join(map(body_of, modules))


if __name__ == "__main__":
    if "--check" in sys.argv:
        if TARGET.read_text(encoding="utf-8") != made():
            sys.exit("anls.py is not what the package makes: run make anls.py")
    else:
        TARGET.write_text(made(), encoding="utf-8")
