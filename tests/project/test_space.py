"""The Space: its folder is built, uploaded to a stand-in of the Hub, loaded from there, installed and run."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import space
import yaml
from gradio_client import handle_file  # type: ignore[import-untyped]
from hub_server import Hub, Space, serve_hub
from places import EXAMPLES, ROOT
from space_server import client_of, serve

from anls_eval.version import __version__

PAGES = ("README.md", "docs/*.md", "docs/protocols/*.md", "examples/*/*.md", "benchmarks/*.md")
RUNS = EXAMPLES / "docvqa"


@pytest.fixture
def hub() -> Iterator[Hub]:
    with serve_hub("lab", "guest") as hub:
        yield hub


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The last commit alone: an upload with uncommitted changes is refused."""
    folder = tmp_path_factory.mktemp("clone")
    clone = ["git", "clone", "--quiet", str(ROOT), str(folder)]
    subprocess.run(clone, check=True)
    return folder


def run_space(clone: Path, hub: Hub | None, *words: str, account: str = "") -> subprocess.CompletedProcess[str]:
    """Run the tool with the stand-in in place of the Hub."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("HF_")}
    environment |= {"HF_ENDPOINT": hub.address if hub else "http://127.0.0.1:9", "HF_HUB_DISABLE_XET": "1"}
    environment |= {"HF_HOME": os.environ["HF_HOME"], "PYTHONPATH": str(clone)}
    environment |= {"HF_TOKEN": f"token-of-{account}"} if account else {}
    command = [sys.executable, str(clone / "tools" / "space.py"), *words]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    ("settings", "words"),
    [([], ""), (["TO=lab/anls"], "lab/anls"), (["TO=lab/anls", "PR=1"], "lab/anls --create-pr")],
)
def test_make_runs_the_tool(settings: list[str], words: str) -> None:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
    make = ["make", "--dry-run", "space", *settings]
    shown = subprocess.run(make, cwd=ROOT, env=environment, capture_output=True, text=True, check=True).stdout
    assert shown.splitlines()[-1].split() == [".venv/bin/python", "tools/space.py", *words.split()]


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the Space lab/anls."""
    folder = tmp_path_factory.mktemp("space")
    space.build(folder, "lab/anls")
    return folder


class TestFolder:
    def test_holds_what_is_tracked_and_nothing_else(self, built: Path) -> None:
        files = {path.relative_to(built).as_posix() for path in built.rglob("*") if path.is_file()}
        git = ["git", "ls-files"]
        assert files <= set(subprocess.run(git, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split())
        assert {name.partition("/")[0] for name in files} == {
            "CHANGELOG.md", "CITATION.cff", "LICENSE", "README.md", "anls.py", "anls_eval", "app.py", "benchmarks",
            "docs", "examples", "pyproject.toml", "requirements.txt",
        }  # fmt: skip

    def test_what_merely_lies_there_is_not_published(self, tmp_path: Path) -> None:
        stray = ROOT / "examples" / f"stray-{os.getpid()}.json"
        stray.touch()
        try:
            space.build(tmp_path / "built")
        finally:
            stray.unlink()
        assert (tmp_path / "built" / "examples" / "receipts.jsonl").exists()
        assert not (tmp_path / "built" / "examples" / stray.name).exists()

    def test_pages_have_its_address(self, built: Path) -> None:
        pages = [path for pattern in PAGES for path in built.glob(pattern)]
        texts = {path.relative_to(built).as_posix(): path.read_text(encoding="utf-8") for path in pages}
        assert not [name for name, text in texts.items() if re.search(r"\bORG\b", text)]
        assert 'evaluate.load("lab/anls")' in texts["README.md"]
        assert 'evaluate.load("lab/anls", "rrc")' in texts["docs/researchers.md"]
        assert "git+https://huggingface.co/spaces/lab/anls" in texts["docs/ci.md"]
        front = yaml.safe_load(texts["README.md"].split("---\n")[1])
        assert front["thumbnail"] == "https://huggingface.co/spaces/lab/anls/resolve/main/docs/thumbnail.png"

    def test_pages_are_for_its_users(self, built: Path) -> None:
        """What works only in the source repository is left out, or said to be there."""
        names = {path.name for path in (built / "docs").glob("*.md")}
        assert not names & {"architecture.md", "contributing.md", "publishing.md"}
        for pattern in PAGES:
            for path in built.glob(pattern):
                text = path.read_text(encoding="utf-8")
                assert "<!-- only in" not in text
                if re.search(r"`make [a-z]|`tests/|`tools/|benchmarks/\w+\.py", text):
                    assert "source repository" in " ".join(text.split()), path.name

    def test_links_lead_to_files_that_it_holds(self, built: Path) -> None:
        for pattern in PAGES:
            for path in built.glob(pattern):
                for link in re.findall(r"\]\((?!https?:)([^)#\s]+)", path.read_text(encoding="utf-8")):
                    assert (path.parent / link).exists(), f"{path.name}: {link}"

    def test_the_page_about_fields_runs_in_its_clone(self, built: Path) -> None:
        command = [sys.executable, "-m", "doctest", "docs/fields.md"]
        done = subprocess.run(command, cwd=built, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr

    def test_data_of_others_has_its_licence(self, built: Path) -> None:
        sources = list(built.glob("examples/*/SOURCE.md"))
        assert len(sources) == 3
        for source in sources:
            text = source.read_text(encoding="utf-8")
            notice = text.partition("\nMIT License\n")[2]
            assert "\nCopyright (c) " in notice
            assert "shall be included in all\ncopies" in notice


class TestUpload:
    def test_creates_the_space_and_evaluate_loads_it(self, hub: Hub, clone: Path, tmp_path: Path) -> None:
        done = run_space(clone, hub, "lab/anls", account="lab")
        assert done.returncode == 0, done.stderr
        assert done.stdout.splitlines()[-1].startswith(f"uploaded {hub.address}/spaces/lab/anls/commit/")
        found = hub.spaces["lab/anls"]
        revision = ["git", "rev-parse", "--short", "HEAD"]
        commit = subprocess.run(revision, cwd=clone, capture_output=True, text=True, check=True).stdout.strip()
        assert (found.sdk, found.commits) == ("gradio", [f"anls {__version__}, from commit {commit}"])
        built = clone / "build" / "upload"
        assert found.files == {
            path.relative_to(built).as_posix(): path.read_bytes() for path in built.rglob("*") if path.is_file()
        }
        script = """
import evaluate
metric = evaluate.load("lab/anls", "paper")
print(metric.compute(predictions=["ab", "abc"], references=[["ac"], ["abd"]]))
"""
        environment = {name: value for name, value in os.environ.items() if not name.startswith(("HF_", "PYTHON"))}
        environment |= {"HF_ENDPOINT": hub.address, "HF_HOME": str(tmp_path), "HF_UPDATE_DOWNLOAD_COUNTS": "FALSE"}
        command = [sys.executable, "-c", script]
        loaded = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
        assert loaded.stdout == "{'anls_score': 0.33333333333333337}\n", loaded.stderr

    def test_replaces_its_files_and_leaves_others_alone(self, hub: Hub, clone: Path) -> None:
        old = {".gitattributes": b"*.bin lfs", "notes.txt": b"mine", "anls_eval/gone.py": b"", "app.py": b"old"}
        hub.spaces["lab/anls"] = Space("gradio", dict(old))
        assert run_space(clone, hub, "lab/anls", account="lab").returncode == 0
        files = hub.spaces["lab/anls"].files
        assert {".gitattributes", "notes.txt"} <= set(files)
        assert "anls_eval/gone.py" not in files
        assert files["app.py"] == (clone / "app.py").read_bytes()

    def test_a_pull_request_where_one_may_not_write(self, hub: Hub, clone: Path) -> None:
        hub.spaces["lab/anls"] = Space("gradio", {"app.py": b"old"})
        refused = run_space(clone, hub, "lab/anls", account="guest")
        assert (refused.returncode, refused.stdout.count("\n")) == (1, 1)
        assert "lab/anls" in refused.stderr
        assert "PR=1 proposes the change as a pull request" in refused.stderr
        done = run_space(clone, hub, "lab/anls", "--create-pr", account="guest")
        assert done.stdout.splitlines()[-1] == f"uploaded {hub.address}/spaces/lab/anls/discussions/1"
        found = hub.spaces["lab/anls"]
        assert (found.files, found.commits) == ({"app.py": b"old"}, [])
        assert found.pull_requests[0]["anls.py"] == (clone / "anls.py").read_bytes()

    @pytest.mark.parametrize(
        ("words", "account", "message"),
        [
            (["lab/anls"], "", "Log in with `hf auth login`, or set HF_TOKEN"),
            (["lab/anls"], "nobody", "Log in with `hf auth login`, or set HF_TOKEN"),
            (["other/anls"], "lab", "This account may not write there."),
            (["lab/anls", "--create-pr"], "lab", "There is no such Space"),
            (["lab/metric"], "lab", "expected ORG/anls"),
            (["lab"], "lab", "expected ORG/anls"),
            (["--create-pr"], "lab", "PR=1 needs TO=ORG/anls"),
        ],
    )
    def test_errors_say_what_to_do(self, hub: Hub, clone: Path, words: list[str], account: str, message: str) -> None:
        done = run_space(clone, hub, *words, account=account)
        assert done.returncode in (1, 2)
        assert message in done.stderr
        assert "Traceback" not in done.stderr
        assert hub.spaces == {}

    def test_uncommitted_changes_are_refused(self, hub: Hub, clone: Path) -> None:
        page = clone / "docs" / "app.md"
        text = page.read_bytes()
        try:
            page.write_bytes(text + b"new")
            done = run_space(clone, hub, "lab/anls", account="lab")
            assert (done.returncode, hub.spaces) == (1, {})
            assert "error: uncommitted changes in docs/app.md." in done.stderr
            assert "`git stash`" in done.stderr
            assert run_space(clone, hub).returncode == 0
            page.unlink()
            done = run_space(clone, hub)
            assert done.stderr == (
                "error: docs/app.md was deleted: commit that, or bring it back with `git restore docs/app.md`\n"
            )
        finally:
            page.write_bytes(text)

    def test_a_hub_that_cannot_be_reached(self, clone: Path) -> None:
        done = run_space(clone, None, "lab/anls", account="lab")
        assert (done.returncode, "error: lab/anls: " in done.stderr, "Traceback" in done.stderr) == (1, True, False)


def test_the_stand_in_explains_itself() -> None:
    """For docs/publishing.md: a wrong call ends with a sentence, and --help starts nothing."""
    stand_in = [sys.executable, str(ROOT / "tests" / "support" / "hub_server.py")]
    asked = subprocess.run([*stand_in, "--help"], capture_output=True, text=True, check=True, timeout=60)
    assert "ORG" in asked.stdout
    wrong = subprocess.run(stand_in, capture_output=True, text=True, check=False, timeout=60)
    assert (wrong.returncode, wrong.stderr.splitlines()[-1].endswith("required: ORG")) == (2, True)


def test_the_workflow_tests_each_version_and_publishes() -> None:
    jobs = yaml.safe_load((ROOT / ".github" / "workflows" / "space.yml").read_text(encoding="utf-8"))["jobs"]
    [step] = [step for step in jobs["publish"]["steps"] if step.get("name") == "Publish"]
    assert step["run"] == 'make space TO="${SPACE:?set the repository variable SPACE}"'
    assert step["env"] == {"HF_TOKEN": "${{ secrets.HF_TOKEN }}", "SPACE": "${{ vars.SPACE }}"}
    assert jobs["publish"]["needs"] == "test"
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    classified = re.findall(r'"Programming Language :: Python :: (3\.\d+)"', project)
    assert jobs["test"]["strategy"]["matrix"]["python"] == classified


@pytest.mark.long
def test_requirements_suffice_and_pip_installs_it(
    built: Path, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """As the Hub does, and as docs/ci.md says: a fresh environment from requirements.txt, and pip from a repository."""
    python = tmp_path / "venv" / "bin" / "python"
    subprocess.run([sys.executable, "-m", "venv", tmp_path / "venv"], check=True)
    pip: list[str | Path] = [python, "-m", "pip", "--disable-pip-version-check", "install", "--quiet"]
    subprocess.run([*pip, "--requirement", built / "requirements.txt"], check=True, cwd=tmp_path)
    short = tmp_path_factory.mktemp("app")  # holds sockets, whose paths are limited
    with serve(short, built, python) as address:
        client = client_of(address)
        assert client.predict("ab", "ac", api_name="/score_answer")["score"] == 0.5
        run, gold = RUNS / "pred_qwen2_vl_7b_instruct.json", RUNS / "references.json"
        found = client.predict(handle_file(run), handle_file(gold), api_name="/score_submission")
        assert found["n"] == 1_000

    address_on_the_hub = "git+https://huggingface.co/spaces/lab/anls"
    [line] = re.findall(rf'pip install "(.*{re.escape(address_on_the_hub)})"', (built / "docs" / "ci.md").read_text())
    git = ["git", "-c", "user.name=lab", "-c", "user.email=lab@example.org"]
    for words in (["init", "--quiet"], ["add", "--all"], ["commit", "--quiet", "--message", "the Space"]):
        subprocess.run([*git, *words], cwd=built, check=True)
    subprocess.run([*pip, line.replace(address_on_the_hub, f"git+file://localhost{built}")], check=True, cwd=tmp_path)
    command = [str(tmp_path / "venv" / "bin" / "anls"), "--version"]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == f"anls {__version__}\n"
