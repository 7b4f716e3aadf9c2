"""Project detection: what repositories declare of themselves."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import pytest

from taskx.protocol.project import LanguageCount, Project
from taskx.workspace.files import manifests, project
from taskx.workspace.files.packages import kind_of, kind_of_command
from taskx.workspace.files.scan import ScanOptions, scan

from .trees import environ, make

Files = Mapping[str, str]
Row = tuple[str, str, str, str, str]


def detected(root: Path) -> Project:
    found = scan(os.fsencode(root), ScanOptions((), environ(root)))
    picked = manifests.pick(found.paths, found.path_off)
    return project.detect(os.fsencode(root), picked, [], None)


def rows(found: Project) -> list[Row]:
    return [(c.id, c.kind, c.command, c.dir, c.source) for c in found.checks]


CASES: dict[str, tuple[Files, str, list[str], list[str], list[Row]]] = {
    "node": (
        {
            "package.json": '{"name": "shop", "scripts": {"test": "vitest", "lint:fix": "x", '
            '"typecheck": "tsc", "dev": "vite", "build": "vite build", "format:check": "x"}, '
            '"dependencies": {"react": "1"}, "devDependencies": {"vitest": "1"}}',
            "package-lock.json": "{}",
        },
        "shop",
        ["npm"],
        ["react", "vitest"],
        [
            ("npm:test", "test", "npm run test", ".", "package.json"),
            ("npm:typecheck", "typecheck", "npm run typecheck", ".", "package.json"),
            ("npm:build", "build", "npm run build", ".", "package.json"),
            ("npm:format:check", "format", "npm run format:check", ".", "package.json"),
        ],
    ),
    "a monorepo": (
        {
            "package.json": '{"name": "root", "packageManager": "pnpm@9.0.0"}',
            "packages/ui/package.json": '{"scripts": {"test": "jest"}}',
            "packages/ui/node_modules/x/package.json": '{"scripts": {"test": "x"}}',
            "services/api/pyproject.toml": "[tool.pytest.ini_options]\n",
            "pnpm-lock.yaml": "",
            "tests/fixtures/p/package.json": '{"scripts": {"test": "x"}}',
        },
        "a monorepo",
        ["pnpm", "pip"],
        ["pytest"],
        [
            (
                "packages/ui:pnpm:test",
                "test",
                "pnpm run test",
                "packages/ui",
                "packages/ui/package.json",
            ),
            (
                "services/api:pytest",
                "test",
                "pytest",
                "services/api",
                "services/api/pyproject.toml",
            ),
        ],
    ),
    "python": (
        {
            "pyproject.toml": '[project]\nname = "lib"\ndependencies = ["Django>=4", "click"]\n'
            '[build-system]\nrequires = []\n[tool.ruff.format]\nquote-style = "double"\n'
            '[tool.mypy]\nfiles = ["src"]\n[tool.poe.tasks]\nlint-docs = "x"\n',
            "uv.lock": "",
            "tox.ini": "[testenv]\n",
            "setup.cfg": "[tool:pytest]\n[flake8]\n",
        },
        "lib",
        ["uv"],
        ["click", "django", "pytest"],
        [
            ("pytest", "test", "uv run pytest", ".", "setup.cfg"),
            ("tox", "test", "uv run tox", ".", "tox.ini"),
            ("mypy", "typecheck", "uv run mypy", ".", "pyproject.toml"),
            ("ruff", "lint", "uv run ruff check .", ".", "pyproject.toml"),
            ("ruff-format", "format", "uv run ruff format --check .", ".", "pyproject.toml"),
            ("flake8", "lint", "uv run flake8", ".", "setup.cfg"),
            ("python-build", "build", "uv build", ".", "pyproject.toml"),
        ],
    ),
    "make": (
        {
            "Makefile": "X := 1\nall: lib\ncheck test:\n\techo\nlint-all:\nclean:\n%.o: %.c\n",
            "drivers/Makefile": "all:\n",
            "a.c": "",
        },
        "make",
        [],
        [],
        [
            ("make:all", "build", "make all", ".", "Makefile"),
            ("make:check", "test", "make check", ".", "Makefile"),
            ("make:lint-all", "lint", "make lint-all", ".", "Makefile"),
        ],
    ),
    "just": (
        {"justfile": "default:\n  x\ntest *args:\n  x\n@fmt:\n  x\nv := '1'\n"},
        "just",
        [],
        [],
        [
            ("just:test", "test", "just test", ".", "justfile"),
            ("just:fmt", "format", "just fmt", ".", "justfile"),
        ],
    ),
    "rust": (
        {
            "Cargo.toml": '[workspace]\nmembers = ["a"]\n[workspace.dependencies]\ntokio = "1"\n',
            "a/Cargo.toml": '[package]\nname = "a"\n[lints]\nworkspace = true\n',
            "rustfmt.toml": "",
        },
        "rust",
        ["cargo"],
        ["tokio"],
        [
            ("cargo:build", "build", "cargo build --workspace", ".", "Cargo.toml"),
            ("cargo:test", "test", "cargo test --workspace", ".", "Cargo.toml"),
            ("cargo:fmt", "format", "cargo fmt --check", ".", "rustfmt.toml"),
            ("a:cargo:build", "build", "cargo build", "a", "a/Cargo.toml"),
            ("a:cargo:test", "test", "cargo test", "a", "a/Cargo.toml"),
            ("a:cargo:clippy", "lint", "cargo clippy", "a", "a/Cargo.toml"),
        ],
    ),
    "go": (
        {
            "go.mod": "module example.org/x\nrequire github.com/gin-gonic/gin v1\n",
            ".golangci.yml": "",
        },
        "example.org/x",
        ["go"],
        ["gin"],
        [
            ("go:build", "build", "go build ./...", ".", "go.mod"),
            ("go:test", "test", "go test ./...", ".", "go.mod"),
            ("go:vet", "lint", "go vet ./...", ".", "go.mod"),
            ("golangci", "lint", "golangci-lint run", ".", ".golangci.yml"),
        ],
    ),
    "maven": (
        {"pom.xml": "<x>spring-boot junit</x>", "mod/pom.xml": "<x/>", "mvnw": ""},
        "maven",
        ["maven"],
        ["junit", "spring-boot"],
        [
            ("maven:compile", "build", "./mvnw -B compile", ".", "pom.xml"),
            ("maven:test", "test", "./mvnw -B test", ".", "pom.xml"),
        ],
    ),
    "gradle": (
        {"settings.gradle.kts": "", "app/build.gradle.kts": "ktor", "gradlew": ""},
        "gradle",
        ["gradle"],
        ["ktor"],
        [
            ("gradle:assemble", "build", "./gradlew assemble", ".", "settings.gradle.kts"),
            ("gradle:test", "test", "./gradlew test", ".", "settings.gradle.kts"),
        ],
    ),
    "php": (
        {
            "composer.json": '{"name": "v/p", "require": {"laravel/framework": "1"}, '
            '"scripts": {"lint": "x", "post-install-cmd": "x"}}',
            "phpunit.xml.dist": "",
        },
        "v/p",
        ["composer"],
        ["laravel"],
        [
            ("composer:lint", "lint", "composer run-script lint", ".", "composer.json"),
            ("phpunit", "test", "vendor/bin/phpunit", ".", "phpunit.xml.dist"),
        ],
    ),
    "ruby": (
        {
            "Gemfile": 'gem "rails"\n',
            "x.gemspec": "",
            "Rakefile": "RSpec::Core::RakeTask.new\ntask :build do\nend\ntask default: :spec\n",
            ".rubocop.yml": "",
        },
        "x",
        ["bundler"],
        ["rails"],
        [
            ("rubocop", "lint", "bundle exec rubocop", ".", ".rubocop.yml"),
            ("rake:build", "build", "bundle exec rake build", ".", "Rakefile"),
            ("rake:spec", "test", "bundle exec rake spec", ".", "Rakefile"),
        ],
    ),
    "elixir": (
        {"mix.exs": "app: :shop,\n{:phoenix, x}, {:credo, x}", ".formatter.exs": ""},
        "shop",
        ["mix"],
        ["phoenix"],
        [
            ("mix:compile", "build", "mix compile", ".", "mix.exs"),
            ("mix:test", "test", "mix test", ".", "mix.exs"),
            ("mix:format", "format", "mix format --check-formatted", ".", ".formatter.exs"),
            ("mix:credo", "lint", "mix credo", ".", "mix.exs"),
        ],
    ),
    "cmake": (
        {"CMakeLists.txt": "include(CTest)\n", "src/CMakeLists.txt": "enable_testing()"},
        "cmake",
        ["cmake"],
        [],
        [
            (
                "cmake:build",
                "build",
                "cmake -S . -B build && cmake --build build",
                ".",
                "CMakeLists.txt",
            ),
            ("ctest", "test", "ctest --test-dir build", ".", "CMakeLists.txt"),
        ],
    ),
    "others": (
        {"x.sln": "", "a/a.csproj": "", "Package.swift": "", "build.zig": 'b.step("test", x)'},
        "others",
        ["dotnet", "swift", "zig"],
        [],
        [
            ("dotnet:build", "build", "dotnet build", ".", "x.sln"),
            ("dotnet:test", "test", "dotnet test", ".", "x.sln"),
            ("swift:build", "build", "swift build", ".", "Package.swift"),
            ("swift:test", "test", "swift test", ".", "Package.swift"),
            ("zig:build", "build", "zig build", ".", "build.zig"),
            ("zig:test", "test", "zig build test", ".", "build.zig"),
        ],
    ),
    "ci": (
        {
            ".github/workflows/ci.yml": "steps:\n  - run: pytest -q\n  - run: |\n"
            "      pip install x\n      ruff check src\n"
            "  - run: pytest ${{ matrix.x }}\n  - name: x\n"
            "    run: 'cargo test --all'\n",
            ".gitlab-ci.yml": "test:\n  script:\n    - go test ./...\n    - pytest -q\n",
        },
        "ci",
        [],
        [],
        [
            ("ci:pytest-q", "test", "pytest -q", ".", ".github/workflows/ci.yml"),
            ("ci:ruff-check-src", "lint", "ruff check src", ".", ".github/workflows/ci.yml"),
            ("ci:cargo-test-all", "test", "cargo test --all", ".", ".github/workflows/ci.yml"),
            ("ci:go-test", "test", "go test ./...", ".", ".gitlab-ci.yml"),
        ],
    ),
    "broken manifests": (
        {
            "package.json": '{"scripts": ["test"], "name": 3}',
            "pyproject.toml": "[tool\n",
            "Cargo.toml": "\x00",
            "composer.json": "[" * 100_000,
            "deno.json": '{"tasks": {"test": "x"}, // comment\n}',
        },
        "broken manifests",
        ["npm", "deno", "pip", "cargo", "composer"],
        [],
        [
            ("deno:test", "test", "deno task test", ".", "deno.json"),
            ("cargo:build", "build", "cargo build", ".", "Cargo.toml"),
            ("cargo:test", "test", "cargo test", ".", "Cargo.toml"),
        ],
    ),
    "nothing": ({"a.txt": ""}, "nothing", [], [], []),
}


@pytest.mark.parametrize("name", CASES)
def test_W01_a_project_is_what_it_declares(name: str, tmp_path: Path) -> None:
    files, called, managers, frameworks, checks = CASES[name]
    found = detected(make(tmp_path / name, files))
    assert rows(found) == checks
    assert (found.name, found.package_managers, found.frameworks) == (called, managers, frameworks)


def test_manifests_are_listed_and_bounded(tmp_path: Path) -> None:
    files = {f"p{i:04}/package.json": '{"scripts": {"test": "x"}}' for i in range(700)}
    root = make(tmp_path / "many", {**files, "package.json": "{}", "Makefile": "all:\n"})
    make(root, {f"p{i:04}/sub/Makefile": "all:\n" for i in range(50)})
    found = detected(root)
    assert found.manifests[:3] == ["Makefile", "package.json", "p0000/package.json"]
    assert len(found.manifests) == manifests.MAX_MANIFESTS
    assert len({check.id for check in found.checks}) == len(found.checks) <= 200


def test_languages_and_git_are_passed_on(tmp_path: Path) -> None:
    languages = [LanguageCount(language="python", files=1, bytes=2)]
    found = project.detect(os.fsencode(tmp_path), [], languages, None)
    assert (found.languages, found.git) == (languages, None)


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("test", "test"),
        ("test:unit", "test"),
        ("unit-tests", "test"),
        ("check:types", "typecheck"),
        ("type-check", "typecheck"),
        ("check:format", "format"),
        ("eslint", "lint"),
        ("lint:watch", None),
        ("prebuild", None),
        ("postinstall", None),
        ("deploy", None),
        ("start", None),
        ("check", None),
        ("latest", None),
    ],
)
def test_a_script_name_tells_its_kind(name: str, kind: str | None) -> None:
    assert kind_of(name) == kind


@pytest.mark.parametrize(
    ("command", "kind"),
    [
        ("python -m pytest tests", "test"),
        ("uv run mypy src", "typecheck"),
        ("make -j4 check", "test"),
        ("npm run test:unit", None),
        ("pip install pytest", None),
        ("echo pytest", None),
        ("npx tsc -p . --noEmit", "typecheck"),
    ],
)
def test_a_command_tells_its_kind(command: str, kind: str | None) -> None:
    assert kind_of_command(command) == kind


@pytest.mark.parametrize(
    ("path", "verdict"),
    [
        (b"a/package.json", True),
        (b"CLAUDE.md", True),
        (b"deep/x.gemspec", True),
        (b".github/workflows/x.yml", True),
        (b"src/a.py", False),
        (b"package.json/a", False),
    ],
)
def test_a_path_matters_or_not(path: bytes, verdict: bool) -> None:
    assert manifests.matters(path) is verdict
