"""Build the folder of the Hugging Face Space, and upload it.

``make space`` builds build/upload; ``make space TO=ORG/anls`` also uploads it, and with ``PR=1`` proposes it as a pull
request. docs/publishing.md says what is needed.
"""

import argparse
import re
import shutil
import subprocess
import sys
from pathlib import Path

from huggingface_hub import CommitInfo, HfApi
from huggingface_hub.errors import HfHubHTTPError

from anls_eval.version import __version__

ROOT = Path(__file__).resolve().parent.parent
FILES = [
    "CHANGELOG.md", "CITATION.cff", "LICENSE", "README.md", "anls.py", "app.py", "pyproject.toml", "requirements.txt",
    "benchmarks/RESULTS.md", "benchmarks/growth.svg", "benchmarks/results.json",
]  # fmt: skip
FOLDERS = ["anls_eval", "docs", "examples"]
# About the source repository: its tests, tools and Makefile.
UNPUBLISHED = ["docs/architecture.md", "docs/contributing.md", "docs/publishing.md"]
SOURCE_ONLY = re.compile(r"<!-- only in the source repository -->.*?<!-- up to here -->\n{0,2}", re.DOTALL)

PLACEHOLDER = "ORG/anls"
LOADED_BY_ITS_NAME_ALONE = "evaluate-metric/anls"
REMEDIES = {
    401: "Log in with `hf auth login`, or set HF_TOKEN to a token that may write to this Space.",
    403: "This account may not write there. PR=1 proposes the change as a pull request to a Space that exists.",
    404: "There is no such Space, or this account may not see it. Leave out PR=1 to create it.",
}


def build(folder: Path, to: str = PLACEHOLDER) -> None:
    """Write what the Space holds into a new folder, with its address in the pages."""
    for name in tracked():
        if not (ROOT / name).is_file():
            sys.exit(f"error: {name} was deleted: commit that, or bring it back with `git restore {name}`")
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / name, folder / name)
    for page in (folder / "README.md", *(folder / "docs").rglob("*.md")):
        page.write_text(published(page.read_text(encoding="utf-8"), to), encoding="utf-8")


def tracked() -> list[str]:
    """Return the files of the Space that git tracks, so that nothing that merely lies in a folder is published."""
    return git("ls-files", "-z", "--", *FILES, *FOLDERS, *(f":!{name}" for name in UNPUBLISHED)).split("\0")[:-1]


def changed() -> list[str]:
    """Return the tracked files that differ from the commit, whose name the upload carries."""
    return git("diff", "--name-only", "-z", "HEAD").split("\0")[:-1]


def git(*words: str) -> str:
    """Return what git prints in the source repository."""
    found = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=False)
    if found.returncode:
        sys.exit(f"error: expected a git clone of the source repository: {found.stderr.strip()}")
    return found.stdout


def published(text: str, to: str) -> str:
    """Return a page without what is marked as of the source repository, and with the address of the Space."""
    text = SOURCE_ONLY.sub("", text)
    if to not in (PLACEHOLDER, LOADED_BY_ITS_NAME_ALONE):
        text = text.replace('evaluate.load("anls"', f'evaluate.load("{to}"')
    return text.replace(PLACEHOLDER, to)


def upload(folder: Path, to: str, commit: str, create_pr: bool) -> CommitInfo:
    """Upload a built folder in one commit, which also deletes modules, pages and examples that are no more."""
    hub = HfApi()
    if not create_pr:
        hub.create_repo(to, repo_type="space", space_sdk="gradio", exist_ok=True)
    return hub.upload_folder(
        repo_id=to,
        repo_type="space",
        folder_path=folder,
        commit_message=f"anls {__version__}, from commit {commit}",
        create_pr=create_pr,
        delete_patterns=[f"{name}/*" for name in FOLDERS],
    )


def space_name(text: str) -> str:
    """Return the name of a Space as given, or raise the error that argparse shows."""
    if not re.fullmatch(r"[\w.-]+/anls", text):
        raise argparse.ArgumentTypeError(
            f"{text!r}: expected ORG/anls with your account or organisation as ORG; evaluate.load('ORG/anls') fetches "
            "anls.py, so the Space must have this name"
        )
    return text


def main() -> None:
    """Build the folder, upload it if told where, and print what was done."""
    parser = argparse.ArgumentParser(description="Build the folder of the Space, and upload it.")
    parser.add_argument("to", nargs="?", type=space_name, help="the Space, such as ORG/anls; without it: only build")
    parser.add_argument("--create-pr", action="store_true", help="propose the upload as a pull request")
    options = parser.parse_args()
    if options.create_pr and not options.to:
        parser.error("PR=1 needs TO=ORG/anls, the Space to propose the change to")

    if options.to and (names := changed()):
        more = f" and {len(names) - 3} more" if len(names) > 3 else ""
        sys.exit(
            f"error: uncommitted changes in {', '.join(names[:3])}{more}. An upload names the commit that it was built "
            "from: commit the changes or put them aside with `git stash`, then run again. `make space` without TO "
            "builds them."
        )

    folder = ROOT / "build" / "upload"
    shutil.rmtree(folder, ignore_errors=True)
    build(folder, options.to or PLACEHOLDER)
    print(f"built {folder.relative_to(ROOT)} with {sum(path.is_file() for path in folder.rglob('*'))} files")
    if not options.to:
        return
    try:
        done = upload(folder, options.to, git("rev-parse", "--short", "HEAD").strip(), options.create_pr)
    except HfHubHTTPError as error:
        remedy = REMEDIES.get(error.response.status_code, "")
        sys.exit(f"error: {options.to}: {error.server_message or str(error).splitlines()[0]}. {remedy}".rstrip())
    except Exception as error:  # what the network raises is httpx's or httpx2's, by the version of huggingface_hub
        sys.exit(f"error: {options.to}: {error}")
    print(f"uploaded {done.pr_url or done.commit_url}")


if __name__ == "__main__":
    main()
