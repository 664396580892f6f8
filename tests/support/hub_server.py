"""A stand-in for the Hugging Face Hub: the routes with which huggingface_hub uploads a folder, on this machine.

``python tests/support/hub_server.py ORG`` runs it for the account ORG until Ctrl-C and prints the settings to use it.
"""

import argparse
import base64
import contextlib
import hashlib
import http.server
import json
import re
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, urlsplit

import yaml

MAX_SHORT_DESCRIPTION = 60


@dataclass
class Space:
    """The files of a Space, and the commits and pull requests that it received."""

    sdk: str
    files: dict[str, bytes] = field(default_factory=dict)
    commits: list[str] = field(default_factory=list)
    pull_requests: list[dict[str, bytes]] = field(default_factory=list)


class Hub(http.server.ThreadingHTTPServer):
    """Spaces by name, the accounts whose tokens may write to them, and the objects that were sent as LFS files."""

    def __init__(self, tokens: dict[str, str]) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.tokens = tokens
        self.spaces: dict[str, Space] = {}
        self.objects: dict[str, bytes] = {}
        self.lock = threading.Lock()

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class _Handler(http.server.BaseHTTPRequestHandler):
    server: Hub
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        path, query = urlsplit(self.path).path, parse_qs(urlsplit(self.path).query)
        if found := re.fullmatch(r"/api/spaces/([\w-]+/[\w-]+)(?:/revision/main)?", path):
            self._of_space(found[1], lambda space: self._send(200, {"id": found[1], "sha": "0" * 40}))
        elif found := re.fullmatch(r"/api/spaces/([\w-]+/[\w-]+)/tree/main", path):
            assert query["recursive"] == ["true"]
            self._of_space(found[1], lambda space: self._send(200, _tree(space)))
        elif found := re.fullmatch(r"/spaces/([\w-]+/[\w-]+)/resolve/main/(.+)", path):
            self._of_space(found[1], lambda space: self._send_file(space.files.get(found[2])))
        else:
            self._refuse(404, "Not found", "EntryNotFound")

    def do_HEAD(self) -> None:
        self.do_GET()

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        path, query = urlsplit(self.path).path, parse_qs(urlsplit(self.path).query)
        if path == "/api/validate-yaml":
            self._validate(json.loads(body)["content"])
        elif self._account is None:
            self._refuse(401, "Invalid username or password")
        elif path == "/api/repos/create":
            self._create(json.loads(body))
        elif found := re.fullmatch(r"/api/spaces/([\w-]+/[\w-]+)/preupload/main", path):
            self._of_space(found[1], lambda space: self._send(200, {"files": _modes(json.loads(body))}))
        elif found := re.fullmatch(r"/api/spaces/([\w-]+/[\w-]+)/commit/main", path):
            self._of_space(found[1], lambda space: self._commit(found[1], space, body, "create_pr" in query))
        elif re.fullmatch(r"/spaces/([\w-]+/[\w-]+)\.git/info/lfs/objects/batch", path):
            self._send(200, self._lfs_batch(json.loads(body)))
        else:
            self._refuse(404, "Not found")

    def do_PUT(self) -> None:
        content = self.rfile.read(int(self.headers["Content-Length"]))
        assert hashlib.sha256(content).hexdigest() == self.path.removeprefix("/lfs/")
        self.server.objects[self.path.removeprefix("/lfs/")] = content
        self._send(200, {})

    @property
    def _account(self) -> str | None:
        """The owner of the token that was sent."""
        return self.server.tokens.get((self.headers["Authorization"] or "").removeprefix("Bearer "))

    def _of_space(self, name: str, answer: Any) -> None:
        if name in self.server.spaces:
            with self.server.lock:
                answer(self.server.spaces[name])
        else:
            self._refuse(404, "Repository not found", "RepoNotFound")

    def _create(self, asked: dict[str, str]) -> None:
        name = f"{asked['organization']}/{asked['name']}"
        url = {"url": f"{self.server.address}/spaces/{name}"}
        assert asked["type"] == "space"
        if asked["organization"] != self._account:
            self._refuse(403, f'You don\'t have the rights to create a space under the namespace "{name}"')
        elif name in self.server.spaces:
            self._send(409, {"error": "You already created this space repo", **url})
        else:
            self.server.spaces[name] = Space(asked["sdk"])
            self._send(200, {"name": name, **url})

    def _validate(self, readme: str) -> None:
        front = yaml.safe_load(readme.split("---\n")[1])
        errors = [f'"{name}" is required' for name in ("title", "emoji", "sdk") if name not in front]
        if len(front.get("short_description", "")) > MAX_SHORT_DESCRIPTION:
            errors.append(
                f'"short_description" length must be less than or equal to {MAX_SHORT_DESCRIPTION} characters long'
            )
        self._send(400 if errors else 200, {"errors": [{"message": own} for own in errors], "warnings": []})

    def _commit(self, name: str, space: Space, body: bytes, create_pr: bool) -> None:
        if not create_pr and not name.startswith(f"{self._account}/"):
            self._refuse(403, "You don't have write access to this repo")
            return
        header, *operations = [json.loads(line) for line in body.splitlines()]
        files = dict(space.files)
        for operation in operations:
            value = operation["value"]
            if operation["key"] == "deletedFile":
                del files[value["path"]]
            elif operation["key"] == "lfsFile":
                files[value["path"]] = self.server.objects[value["oid"]]
            else:
                files[value["path"]] = base64.b64decode(value["content"])
        address = f"{self.server.address}/spaces/{name}"
        answer = {"commitUrl": f"{address}/commit/{'0' * 40}", "commitOid": "0" * 40}
        if create_pr:
            space.pull_requests.append(files)
            answer["pullRequestUrl"] = f"{address}/discussions/{len(space.pull_requests)}"
        else:
            space.files = files
            space.commits.append(header["value"]["summary"])
        self._send(200, answer)

    def _lfs_batch(self, asked: dict[str, Any]) -> dict[str, Any]:
        return {
            "transfer": "basic",
            "objects": [
                {**own, "actions": {"upload": {"href": f"{self.server.address}/lfs/{own['oid']}"}}}
                for own in asked["objects"]
            ],
        }

    def _send(self, status: int, answer: Any) -> None:
        self._send_bytes(status, json.dumps(answer).encode(), {"Content-Type": "application/json"})

    def _send_file(self, content: bytes | None) -> None:
        if content is None:
            self._refuse(404, "Entry not found", "EntryNotFound")
        else:
            self._send_bytes(200, content, {"ETag": f'"{_git_oid(content)}"', "X-Repo-Commit": "0" * 40})

    def _refuse(self, status: int, message: str, code: str = "") -> None:
        headers = {"Content-Type": "application/json", "X-Error-Message": message, "X-Error-Code": code}
        self._send_bytes(status, json.dumps({"error": message}).encode(), headers)

    def _send_bytes(self, status: int, content: bytes, headers: dict[str, str]) -> None:
        self.send_response(status)
        for name, value in (headers | {"Content-Length": str(len(content))}).items():
            if value:
                self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    def log_message(self, format: str, *arguments: object) -> None:  # noqa: A002  # the name in the base class
        """Keep the test output quiet."""


def _tree(space: Space) -> list[dict[str, Any]]:
    return [
        {"type": "file", "path": path, "oid": _git_oid(content), "size": len(content)}
        for path, content in sorted(space.files.items())
    ]


def _modes(asked: dict[str, Any]) -> list[dict[str, Any]]:
    """How each file is to be sent; what looks binary, as an LFS file."""
    return [
        {
            "path": own["path"],
            "uploadMode": "lfs" if b"\0" in base64.b64decode(own["sample"]) else "regular",
            "shouldIgnore": False,
        }
        for own in asked["files"]
    ]


def _git_oid(content: bytes) -> str:
    return hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()


@contextlib.contextmanager
def serve_hub(*accounts: str) -> Iterator[Hub]:
    """Run a Hub for these accounts, each with the token "token-of-" and its name."""
    with Hub({f"token-of-{name}": name for name in accounts}) as hub:
        thread = threading.Thread(target=hub.serve_forever, daemon=True)
        thread.start()
        yield hub
        hub.shutdown()
        thread.join()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Run a stand-in for the Hub on this machine until Ctrl-C.")
    parser.add_argument("account", metavar="ORG", help="the account that may write: ORG in TO=ORG/anls")
    account = parser.parse_args().account
    with serve_hub(account) as hub, contextlib.suppress(KeyboardInterrupt):
        print(f"export HF_ENDPOINT={hub.address} HF_TOKEN=token-of-{account} HF_HUB_DISABLE_XET=1", flush=True)
        threading.Event().wait()
