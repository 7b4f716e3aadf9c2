"""Checks, package managers and frameworks that the manifests of one package declare.

One function an ecosystem. Each looks only at names in `package.files` and reads the few it needs.
"""

from __future__ import annotations

import re
from typing import Any

from .manifests import table
from .packages import Package, kind_of, kind_of_command

_NODE_FRAMEWORKS = {
    "react": "react", "next": "next", "vue": "vue", "nuxt": "nuxt", "svelte": "svelte",
    "@sveltejs/kit": "sveltekit", "@angular/core": "angular", "solid-js": "solid",
    "preact": "preact", "astro": "astro", "express": "express", "fastify": "fastify",
    "koa": "koa", "hono": "hono", "@nestjs/core": "nestjs", "@trpc/server": "trpc",
    "electron": "electron", "react-native": "react-native", "vite": "vite", "webpack": "webpack",
    "jest": "jest", "vitest": "vitest", "mocha": "mocha", "@playwright/test": "playwright",
    "cypress": "cypress", "tailwindcss": "tailwind", "prisma": "prisma", "typeorm": "typeorm",
}  # fmt: skip
_PYTHON_FRAMEWORKS = {
    "django": "django", "flask": "flask", "fastapi": "fastapi", "starlette": "starlette",
    "aiohttp": "aiohttp", "tornado": "tornado", "sanic": "sanic", "celery": "celery",
    "sqlalchemy": "sqlalchemy", "pydantic": "pydantic", "pytest": "pytest", "numpy": "numpy",
    "pandas": "pandas", "torch": "pytorch", "tensorflow": "tensorflow", "scrapy": "scrapy",
    "streamlit": "streamlit", "click": "click", "typer": "typer",
}  # fmt: skip
_RUST_FRAMEWORKS = {
    "tokio": "tokio", "axum": "axum", "actix-web": "actix", "rocket": "rocket", "warp": "warp",
    "bevy": "bevy", "tauri": "tauri", "clap": "clap", "serde": "serde", "diesel": "diesel",
    "sqlx": "sqlx", "leptos": "leptos", "yew": "yew", "tonic": "tonic",
}  # fmt: skip
_GO_FRAMEWORKS = {
    "github.com/gin-gonic/gin": "gin", "github.com/labstack/echo": "echo",
    "github.com/gofiber/fiber": "fiber", "github.com/go-chi/chi": "chi",
    "google.golang.org/grpc": "grpc", "gorm.io/gorm": "gorm", "github.com/spf13/cobra": "cobra",
    "github.com/stretchr/testify": "testify", "k8s.io/client-go": "kubernetes",
}  # fmt: skip
_RUBY_FRAMEWORKS = ("rails", "sinatra", "hanami", "rspec", "minitest", "sidekiq", "roda", "grape")
_PHP_FRAMEWORKS = {
    "laravel/framework": "laravel", "symfony/framework-bundle": "symfony", "slim/slim": "slim",
    "phpunit/phpunit": "phpunit", "pestphp/pest": "pest", "doctrine/orm": "doctrine",
}  # fmt: skip
_ELIXIR_FRAMEWORKS = ("phoenix", "ecto", "plug", "absinthe", "nerves", "ash", "oban")
_JVM_FRAMEWORKS = {
    "spring-boot": "spring-boot", "org.springframework": "spring", "quarkus": "quarkus",
    "micronaut": "micronaut", "ktor": "ktor", "junit": "junit", "kotest": "kotest",
    "akka": "akka", "com.android": "android", "hibernate": "hibernate",
}  # fmt: skip


def node(package: Package) -> None:
    if "package.json" not in package.files:
        return
    data = package.reader.json(package.path("package.json"))
    manager = _node_manager(package, data)
    findings = package.findings
    findings.managers[manager] = None
    if not package.folder and isinstance(data.get("name"), str):
        findings.name = findings.name or data["name"]
    for group in ("dependencies", "devDependencies", "peerDependencies"):
        for name in table(data, group):
            if name in _NODE_FRAMEWORKS:
                findings.uses(_NODE_FRAMEWORKS[name])
    for name, script in table(data, "scripts").items():
        kind = kind_of(name)
        if kind is not None and isinstance(script, str) and "no test specified" not in script:
            package.add(kind, f"{manager}:{name}", f"{manager} run {name}", "package.json")


def _node_manager(package: Package, data: dict[str, Any]) -> str:
    declared = data.get("packageManager")
    if isinstance(declared, str) and declared.partition("@")[0] in {"npm", "pnpm", "yarn", "bun"}:
        return declared.partition("@")[0]
    if package.somewhere("pnpm-lock.yaml", "pnpm-workspace.yaml"):
        return "pnpm"
    if package.somewhere("yarn.lock"):
        return "yarn"
    return "bun" if package.somewhere("bun.lock", "bun.lockb") else "npm"


def deno(package: Package) -> None:
    name = package.first("deno.json", "deno.jsonc")
    if name is None:
        return
    package.findings.managers["deno"] = None
    for task in table(package.reader.json(package.path(name)), "tasks"):
        kind = kind_of(task)
        if kind is not None:
            package.add(kind, f"deno:{task}", f"deno task {task}", name)


def python(package: Package) -> None:
    names = ("pyproject.toml", "setup.py", "setup.cfg", "tox.ini", "noxfile.py", "Pipfile",
             "requirements.txt", "pytest.ini")  # fmt: skip
    if package.first(*names) is None:
        return
    data = package.reader.toml(package.path("pyproject.toml"))
    tools = table(data, "tool")
    setup = package.reader.text(package.path("setup.cfg")) if "setup.cfg" in package.files else ""
    tox = package.reader.text(package.path("tox.ini")) if "tox.ini" in package.files else ""
    manager, run = _python_manager(package, data, tools)
    package.findings.managers[manager] = None
    name = table(data, "project").get("name") or table(tools, "poetry").get("name")
    if not package.folder and isinstance(name, str):
        package.findings.name = package.findings.name or name
    _python_frameworks(package, data, tools)

    def declared(tool: str, *files: str, sections: tuple[str, ...] = ()) -> str | None:
        """The file that configures a tool, None when none does."""
        found = package.first(*files)
        if found is not None:
            return found
        if tool in tools:
            return "pyproject.toml"
        for file, text in (("setup.cfg", setup), ("tox.ini", tox)):
            if any(f"[{section}]" in text for section in sections):
                return file
        return None

    if source := declared("pytest", "pytest.ini", sections=("tool:pytest", "pytest")):
        package.add("test", "pytest", f"{run}pytest", source)
        package.findings.uses("pytest")
    if "[tox" in tox or "[testenv" in tox or "tox" in tools:
        package.add("test", "tox", f"{run}tox", "tox.ini" if tox else "pyproject.toml")
    if "noxfile.py" in package.files:
        package.add("test", "nox", f"{run}nox", "noxfile.py")
    if source := declared("mypy", "mypy.ini", ".mypy.ini", sections=("mypy",)):
        named = {"files", "packages", "modules"} & set(table(tools, "mypy"))
        package.add("typecheck", "mypy", f"{run}mypy" if named else f"{run}mypy .", source)
    if source := declared("pyright", "pyrightconfig.json"):
        package.add("typecheck", "pyright", f"{run}pyright", source)
    if source := declared("ruff", "ruff.toml", ".ruff.toml"):
        package.add("lint", "ruff", f"{run}ruff check .", source)
        if "format" in table(tools, "ruff"):
            package.add("format", "ruff-format", f"{run}ruff format --check .", source)
    if source := declared("flake8", ".flake8", sections=("flake8",)):
        package.add("lint", "flake8", f"{run}flake8", source)
    if source := declared("black"):
        package.add("format", "black", f"{run}black --check .", source)
    _python_scripts(package, tools)
    if "build-system" in data and "project" in data:
        package.add("build", "python-build", _python_build(manager), "pyproject.toml")


def _python_build(manager: str) -> str:
    own = manager in {"uv", "poetry", "pdm", "hatch"}
    return f"{manager} build" if own else "python -m build"


def _python_manager(
    package: Package, data: dict[str, Any], tools: dict[str, Any]
) -> tuple[str, str]:
    """(name, what goes in front of a command)."""
    if package.somewhere("uv.lock") or "uv" in tools:
        return "uv", "uv run "
    if package.somewhere("poetry.lock") or "poetry" in tools:
        return "poetry", "poetry run "
    if package.somewhere("pdm.lock") or "pdm" in tools:
        return "pdm", "pdm run "
    if package.somewhere("Pipfile"):
        return "pipenv", "pipenv run "
    if table(tools, "hatch", "envs"):
        return "hatch", ""
    return "pip", ""


def _python_frameworks(package: Package, data: dict[str, Any], tools: dict[str, Any]) -> None:
    project = table(data, "project")
    listed: list[Any] = []
    for group in (project.get("dependencies"), *table(project, "optional-dependencies").values(),
                  *table(data, "dependency-groups").values()):  # fmt: skip
        listed += group if isinstance(group, list) else []
    listed += list(table(tools, "poetry", "dependencies"))
    for name in ("requirements.txt",):
        if name in package.files:
            listed += package.reader.text(package.path(name)).splitlines()
    for requirement in listed:
        match = re.match(r"[A-Za-z0-9._-]+", requirement) if isinstance(requirement, str) else None
        if match and match[0].lower() in _PYTHON_FRAMEWORKS:
            package.findings.uses(_PYTHON_FRAMEWORKS[match[0].lower()])


def _python_scripts(package: Package, tools: dict[str, Any]) -> None:
    groups = [
        ("pdm", "pdm run", table(tools, "pdm", "scripts")),
        ("poe", "poe", table(tools, "poe", "tasks")),
        ("task", "task", table(tools, "taskipy", "tasks")),
    ]
    for env, settings in table(tools, "hatch", "envs").items():
        prefix = "hatch run" if env == "default" else f"hatch run {env}:"
        groups.append(("hatch", prefix, table(settings, "scripts")))
    for label, command, scripts in groups:
        for name in scripts:
            kind = kind_of(name)
            if kind is not None:
                space = "" if command.endswith(":") else " "
                package.add(kind, f"{label}:{name}", f"{command}{space}{name}", "pyproject.toml")


_TARGET = re.compile(r"^([A-Za-z][\w./-]*)[ \t]*(?:[ \t][\w./ -]*)?:(?!=|:=)", re.MULTILINE)
_RECIPE = re.compile(r"^@?([A-Za-z][\w-]*)(?:[ \t][^:=\n]*)?:(?!=)", re.MULTILINE)
_TASK = re.compile(r"^  ([A-Za-z][\w:-]*):", re.MULTILINE)


def make(package: Package) -> None:
    for names, pattern, tool in (
        (("GNUmakefile", "makefile", "Makefile"), _TARGET, "make"),
        (("justfile", "Justfile", ".justfile"), _RECIPE, "just"),
        (("Taskfile.yml", "Taskfile.yaml"), _TASK, "task"),
    ):
        name = package.first(*names)
        # Makefiles below others are parts of them, unless they stand beside a package's manifest.
        if name is None or (package.above & set(names) and len(package.files) == 1):
            continue
        for target in dict.fromkeys(pattern.findall(package.reader.text(package.path(name)))):
            kind = kind_of(target, check_is_test=True)
            if kind is not None and "/" not in target and "." not in target:
                package.add(kind, f"{tool}:{target}", f"{tool} {target}", name)


def rust(package: Package) -> None:
    if "Cargo.toml" not in package.files:
        return
    data = package.reader.toml(package.path("Cargo.toml"))
    findings = package.findings
    findings.managers["cargo"] = None
    name = table(data, "package").get("name")
    if not package.folder and isinstance(name, str):
        findings.name = findings.name or name
    for group in ("dependencies", "dev-dependencies"):
        for crate in [*table(data, group), *table(data, "workspace", group)]:
            if crate in _RUST_FRAMEWORKS:
                findings.uses(_RUST_FRAMEWORKS[crate])
    extra = " --workspace" if "workspace" in data else ""
    package.add("build", "cargo:build", f"cargo build{extra}", "Cargo.toml")
    package.add("test", "cargo:test", f"cargo test{extra}", "Cargo.toml")
    lints = "lints" in data or "lints" in table(data, "workspace")
    source = package.first("clippy.toml", ".clippy.toml") or ("Cargo.toml" if lints else None)
    if source is not None:
        package.add("lint", "cargo:clippy", f"cargo clippy{extra}", source)
    if source := package.first("rustfmt.toml", ".rustfmt.toml"):
        package.add("format", "cargo:fmt", "cargo fmt --check", source)


def go(package: Package) -> None:
    if "go.mod" not in package.files:
        return
    text = package.reader.text(package.path("go.mod"))
    package.findings.managers["go"] = None
    module = re.search(r"^module\s+(\S+)", text, re.MULTILINE)
    if module and not package.folder:
        package.findings.name = package.findings.name or module[1]
    for path, name in _GO_FRAMEWORKS.items():
        if path in text and not (module and module[1].startswith(path)):
            package.findings.uses(name)
    package.add("build", "go:build", "go build ./...", "go.mod")
    package.add("test", "go:test", "go test ./...", "go.mod")
    package.add("lint", "go:vet", "go vet ./...", "go.mod")
    if source := package.first(".golangci.yml", ".golangci.yaml", ".golangci.toml"):
        package.add("lint", "golangci", "golangci-lint run", source)


def jvm(package: Package) -> None:
    if "pom.xml" in package.files:
        text = package.reader.text(package.path("pom.xml"))
        package.findings.managers["maven"] = None
        _jvm_frameworks(package, text)
        if "pom.xml" not in package.above:
            maven = "./mvnw" if "mvnw" in package.files else "mvn"
            package.add("build", "maven:compile", f"{maven} -B compile", "pom.xml")
            package.add("test", "maven:test", f"{maven} -B test", "pom.xml")
    builds = ("build.gradle.kts", "build.gradle", "settings.gradle.kts", "settings.gradle")
    name = package.first(*builds)
    if name is not None:
        package.findings.managers["gradle"] = None
        _jvm_frameworks(package, package.reader.text(package.path(name)))
        if not package.above & set(builds):
            gradle = "./gradlew" if "gradlew" in package.files else "gradle"
            package.add("build", "gradle:assemble", f"{gradle} assemble", name)
            package.add("test", "gradle:test", f"{gradle} test", name)
    if "build.sbt" in package.files and "build.sbt" not in package.above:
        package.findings.managers["sbt"] = None
        _jvm_frameworks(package, package.reader.text(package.path("build.sbt")))
        package.add("build", "sbt:compile", "sbt compile", "build.sbt")
        package.add("test", "sbt:test", "sbt test", "build.sbt")


def _jvm_frameworks(package: Package, text: str) -> None:
    package.findings.uses(*(name for word, name in _JVM_FRAMEWORKS.items() if word in text))


def php(package: Package) -> None:
    if "composer.json" not in package.files:
        return
    data = package.reader.json(package.path("composer.json"))
    package.findings.managers["composer"] = None
    if not package.folder and isinstance(data.get("name"), str):
        package.findings.name = package.findings.name or data["name"]
    for group in ("require", "require-dev"):
        for name in table(data, group):
            if name in _PHP_FRAMEWORKS:
                package.findings.uses(_PHP_FRAMEWORKS[name])
    for name in table(data, "scripts"):
        kind = kind_of(name)
        if kind is not None:
            command = f"composer run-script {name}"
            package.add(kind, f"composer:{name}", command, "composer.json")
    if source := package.first("phpunit.xml", "phpunit.xml.dist"):
        package.add("test", "phpunit", "vendor/bin/phpunit", source)
    if source := package.first("phpstan.neon", "phpstan.neon.dist"):
        package.add("typecheck", "phpstan", "vendor/bin/phpstan analyse", source)


def ruby(package: Package) -> None:
    spec = next((name for name in sorted(package.files) if name.endswith(".gemspec")), None)
    if not (package.files & {"Gemfile", "Rakefile"} or spec):
        return
    package.findings.managers["bundler"] = None
    if spec is not None and not package.folder:
        package.findings.name = package.findings.name or spec.removesuffix(".gemspec")
    gems = "".join(
        package.reader.text(package.path(name)) for name in ("Gemfile", spec) if name
        and name in package.files
    )  # fmt: skip
    for name in _RUBY_FRAMEWORKS:
        if re.search(rf"""(?:gem|dependency)\s*\(?\s*['"]{name}['"]""", gems):
            package.findings.uses(name)
    if ".rspec" in package.files:
        package.add("test", "rspec", "bundle exec rspec", ".rspec")
    if ".rubocop.yml" in package.files:
        package.add("lint", "rubocop", "bundle exec rubocop", ".rubocop.yml")
    if "Rakefile" in package.files:
        text = package.reader.text(package.path("Rakefile"))
        tasks = re.findall(r"""^\s*task[\s(]+['":]*([a-z_]\w*)""", text, re.MULTILINE)
        if "Rake::TestTask" in text:
            tasks.append("test")
        if "RSpec::Core::RakeTask" in text:
            tasks.append("spec")
        for task in dict.fromkeys(tasks):
            kind = kind_of(task)
            if kind is not None:
                package.add(kind, f"rake:{task}", f"bundle exec rake {task}", "Rakefile")


def elixir(package: Package) -> None:
    if "mix.exs" not in package.files:
        return
    text = package.reader.text(package.path("mix.exs"))
    package.findings.managers["mix"] = None
    app = re.search(r"\bapp:\s*:(\w+)", text)
    if app and not package.folder:
        package.findings.name = package.findings.name or app[1]
    for name in _ELIXIR_FRAMEWORKS:
        if re.search(rf"\{{:{name}\w*,", text) and not (app and app[1] == name):
            package.findings.uses(name)
    package.add("build", "mix:compile", "mix compile", "mix.exs")
    package.add("test", "mix:test", "mix test", "mix.exs")
    if ".formatter.exs" in package.files:
        package.add("format", "mix:format", "mix format --check-formatted", ".formatter.exs")
    if "{:credo" in text:
        package.add("lint", "mix:credo", "mix credo", "mix.exs")
    if "{:dialyxir" in text:
        package.add("typecheck", "mix:dialyzer", "mix dialyzer", "mix.exs")


def native(package: Package) -> None:
    if "CMakeLists.txt" in package.files and "CMakeLists.txt" not in package.above:
        text = package.reader.text(package.path("CMakeLists.txt"))
        package.findings.managers["cmake"] = None
        build = "cmake -S . -B build && cmake --build build"
        package.add("build", "cmake:build", build, "CMakeLists.txt")
        if re.search(r"^\s*(?:enable_testing|include\s*\(\s*CTest)", text, re.M | re.I):
            package.add("test", "ctest", "ctest --test-dir build", "CMakeLists.txt")
    if "meson.build" in package.files and "meson.build" not in package.above:
        package.findings.managers["meson"] = None
        build = "meson setup build && meson compile -C build"
        package.add("build", "meson:compile", build, "meson.build")
        package.add("test", "meson:test", "meson test -C build", "meson.build")


def others(package: Package) -> None:
    """Ecosystems whose tool has fixed commands."""
    solution = next((name for name in sorted(package.files) if name.endswith(".sln")), None)
    project = next((name for name in sorted(package.files) if name.endswith("proj")), None)
    cabal = next((name for name in sorted(package.files) if name.endswith(".cabal")), None)
    zig = package.reader.text(package.path("build.zig")) if "build.zig" in package.files else ""
    rows: list[tuple[str | None, str, str, bool]] = [
        (solution or project, "dotnet", "dotnet", True),
        (package.first("Package.swift"), "swift", "swift", True),
        (package.first("stack.yaml"), "stack", "stack", True),
        (package.first("cabal.project") or cabal, "cabal", "cabal", True),
        (package.first("build.zig"), "zig", "zig build", 'step("test"' in zig),
    ]
    for source, manager, tool, tests in rows:
        if source is None:
            continue
        package.findings.managers[manager] = None
        if manager == "dotnet" and any(name.endswith(".sln") for name in package.above):
            continue
        build = "zig build" if manager == "zig" else f"{tool} build"
        package.add("build", f"{manager}:build", build, source)
        if tests:
            package.add("test", f"{manager}:test", f"{tool} test", source)
    if "pubspec.yaml" in package.files:
        flutter = "sdk: flutter" in package.reader.text(package.path("pubspec.yaml"))
        package.findings.managers["flutter" if flutter else "dart"] = None
        test = "flutter test" if flutter else "dart test"
        package.add("test", "dart:test", test, "pubspec.yaml")


_STEP = re.compile(r"^([ \t]*)(?:-[ \t]+)?run:[ \t]*(.*)$", re.MULTILINE)
_ITEM = re.compile(r"^[ \t]*-[ \t]+(.+)$", re.MULTILINE)


def continuous(package: Package, path: str) -> None:
    """Checks that a CI file runs at the root, where no manifest has declared them."""
    text = package.reader.text(path)
    lines: list[str] = []
    if path.startswith((".github/", ".circleci/")):
        for step in _STEP.finditer(text):
            if step[2][:1] in "|>":
                lines += _block(text, step.end(), len(step[1]))
            else:
                lines.append(step[2])
    else:
        lines = _ITEM.findall(text)
    for line in lines:
        command = line.strip().strip("'\"")
        kind = kind_of_command(command)
        if kind is None or "${{" in command or "$(" in command or len(command) > 200:
            continue
        label = re.sub(r"[^A-Za-z0-9]+", "-", command)[:40].strip("-")
        package.findings.add(kind, f"ci:{label}", command, "", path)


def _block(text: str, start: int, indent: int) -> list[str]:
    """Lines of a block that are indented deeper than its key."""
    found: list[str] = []
    for line in text[start:].splitlines()[1:]:
        if line.strip() and len(line) - len(line.lstrip()) <= indent:
            break
        found.append(line)
    return found


ECOSYSTEMS = (node, deno, python, rust, go, jvm, php, ruby, elixir, native, others, make)


def read_package(package: Package) -> None:
    for ecosystem in ECOSYSTEMS:
        ecosystem(package)


def ci_files(package: Package) -> list[str]:
    """CI files of the root, in order."""
    found = [
        f".github/workflows/{name}"
        for name in package.reader.list_folder(".github/workflows")
        if name.endswith((".yml", ".yaml"))
    ]
    if "config.yml" in package.reader.list_folder(".circleci"):
        found.append(".circleci/config.yml")
    known = (".gitlab-ci.yml", ".travis.yml", "azure-pipelines.yml")
    return found + [name for name in known if name in package.files]
