"""Import edges of small trees that once broke tools of this kind, one row per kind of trap.

The number in a row's name is its number in the project's list of such cases.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.workspace.graph.trees import edges, graph_of, pairs

X = "export const x = 1\n"
DECORATORS = 'export * from "./decorators"'
FILE = 'export * from "./file"'

TYPESCRIPT = {
    "01_js_written_ts_meant": (
        {"m.ts": 'import "./x.js"; import "./y.mjs"; import "./z.cjs"; import "./w.jsx"',
         "x.ts": X, "x.js": X, "y.mts": X, "z.cts": X, "w.tsx": X},
        "m.ts -> x.ts, y.mts, z.cts, w.tsx",
    ),
    "02_component_only_when_named": (
        {"m.ts": 'import "./card"', "n.ts": 'import "./card.vue"', "card.ts": X,
         "card.vue": "<script>export default {}</script>"},
        "m.ts -> card.ts\nn.ts -> card.vue",
    ),
    "03_tsx_without_extension": (
        {"m.ts": 'import "./view"', "view.tsx": X}, "m.ts -> view.tsx"
    ),
    "05_declaration_files": (
        {"a.d.ts": 'import {B} from "./b"; export type A = B', "b.d.ts": "export type B = 1"},
        "a.d.ts -> b.d.ts",
    ),
    "06_source_beats_everything": (
        {"m.ts": 'import "./both"', "both.ts": X, "both.js": X, "both.d.ts": X, "both/index.ts": X},
        "m.ts -> both.ts",
    ),
    "07_paths_in_jsonc_with_extends": (
        {"tsconfig.json": '// c\n{"extends": "./conf/base.json", /* x */ "include": ["src",],}',
         "conf/base.json":
             '{"compilerOptions": {"paths": {"@/*": ["../gone/*", "../src/*",],},},}',
         "src/m.ts": 'import "@/lib/x"', "src/lib/x.ts": X},
        "src/m.ts -> src/lib/x.ts",
    ),
    "08_aliases_of_a_referenced_config": (
        {"tsconfig.json": '{"files": [], "references": [{"path": "./tsconfig.app.json"}]}',
         "tsconfig.app.json":
             '{"include": ["src"], "compilerOptions": {"paths": {"@/*": ["./src/*"]}}}',
         "src/m.ts": 'import "@/x"', "src/x.ts": X},
        "src/m.ts -> src/x.ts",
    ),
    "10_folder_is_no_package": (
        {"tsconfig.json": '{"compilerOptions": {"paths": {"~/*": ["./src/*"]}}}',
         "src/m.ts": 'import "redux"; import "~/x"', "redux/index.ts": X, "src/x.ts": X},
        "src/m.ts -> src/x.ts",
    ),
    "11_workspace_package_not_built": (
        {"package.json": '{"workspaces": ["packages/*"]}',
         "packages/a/package.json": '{"name": "@x/a", "dependencies": {"@x/b": "*"}}',
         "packages/a/src/m.ts": 'import "@x/b"; import "@x/b/deep"',
         "packages/b/package.json":
             '{"name": "@x/b", "exports": {".": "./dist/index.js", "./deep": "./dist/deep.mjs"}}',
         "packages/b/src/index.ts": X, "packages/b/src/deep.ts": X},
        "packages/a/src/m.ts -> packages/b/src/index.ts, packages/b/src/deep.ts",
    ),
    "13_source_condition_not_types": (
        {"ui/package.json": '{"name": "@x/ui", "exports": {"./button": {"types": "./dist/b.d.ts",'
                            ' "source": "./src/button.tsx", "import": "./dist/b.js"}}}',
         "ui/src/button.tsx": X, "ui/dist/b.d.ts": X, "app/m.ts": 'import "@x/ui/button"'},
        "app/m.ts -> ui/src/button.tsx",
    ),
    "15_export_star_as": (
        {"m.ts": 'export * as ns from "./x"', "x.ts": X}, "m.ts -> x.ts"
    ),
    "16_barrel_chain": (
        {"m.ts": 'import { deco } from "./index"; deco()', "index.ts": DECORATORS,
         "decorators/index.ts": 'export * from "../core"', "core/index.ts": FILE,
         "core/file.ts": "export function deco() {}"},
        "m.ts -> index.ts\nindex.ts -> decorators/index.ts\ndecorators/index.ts -> core/index.ts\n"
        "core/index.ts -> core/file.ts",
    ),
    "20_component_folder": (
        {"tsconfig.json": '{"compilerOptions": {"paths": {"@/*": ["./src/*"]}}}',
         "src/m.ts": 'import "@/components/btn"', "src/components/btn/index.vue": "<template/>"},
        "src/m.ts -> src/components/btn/index.vue",
    ),
    "21_query_is_stripped": (
        {"m.ts": 'import W from "./w?worker"; import a from "./a.svg?raw"', "w.ts": X,
         "a.svg": "<svg/>"},
        "m.ts -> w.ts, a.svg",
    ),
    "22_every_way_to_import": (
        {"m.ts": 'import type { T } from "./t"\ntype Q = import("./u").T\n'
                 'import q = require("./c")\nconst r = require("./d")\nimport "./side.css"\n'
                 'async function f() { await import("./e") }\n'
                 'export type { V } from "./v"\nexport type * from "./w"\n',
         **{f"{n}.ts": "export type T = 1; export type V = 1\n" for n in "tucdevw"},
         "side.css": "a {}"},
        "m.ts -> t.ts, u.ts, c.ts, d.ts, side.css, e.ts, v.ts, w.ts",
    ),
    "package_imports": (
        {"package.json": '{"name": "p", "imports": {"#in/*": "./src/in/*.js"}}',
         "src/m.ts": 'import "#in/x"', "src/in/x.ts": X},
        "src/m.ts -> src/in/x.ts",
    ),
}  # fmt: skip

PYTHON = {
    "24_name_is_a_module": (
        {"pkg/__init__.py": "", "pkg/mod.py": "", "pkg/sub/__init__.py": "",
         "pkg/sub/a.py": "from pkg import mod\nfrom . import b\nfrom .. import mod\n",
         "pkg/sub/b.py": ""},
        "pkg/sub/a.py -> pkg/mod.py, pkg/sub/b.py",
    ),
    "25_name_is_an_attribute": (
        {"pkg/__init__.py": "def f(): pass\n", "pkg/sub/__init__.py": "",
         "pkg/sub/a.py": "from .. import f\n"},
        "pkg/sub/a.py -> pkg/__init__.py",
    ),
    "26_relative_levels": (
        {"a/__init__.py": "", "a/top.py": "", "a/b/__init__.py": "", "a/b/scoring.py": "",
         "a/b/c.py": "from .scoring import f\nfrom ..top import g\nimport a.b.scoring\n",
         "a/b/d/__init__.py": "", "a/b/d/e.py": "from ...top import g\n"},
        "a/b/c.py -> a/b/scoring.py, a/top.py\na/b/d/e.py -> a/top.py",
    ),
    "27_src_layout": (
        {"pyproject.toml": "", "src/demo/__init__.py": "", "src/demo/core.py": "def f(): pass\n",
         "tests/test_core.py": "from demo.core import f\n"},
        "tests/test_core.py -> src/demo/core.py",
    ),
    "28_each_service_its_own": (
        {f"{s}/app/{n}.py": t for s in ("one", "two")
         for n, t in (("__init__", ""), ("config", "X = 1\n"), ("main", "import app.config\n"))},
        "one/app/main.py -> one/app/config.py\ntwo/app/main.py -> two/app/config.py",
    ),
    "30_namespace_package": (
        {"ns/local.py": "", "main.py": "from ns import local\nfrom ns import elsewhere\n"
                                       "import ns.other\n"},
        "main.py -> ns/local.py",
    ),
    "32_plain_imports": (
        {"lib.py": "def f(): pass\n", "a.py": "", "b.py": "",
         "m.py": "import lib as L\nimport a, b\nL.f()\n"},
        "m.py -> lib.py, a.py, b.py",
    ),
    "33_conditional_imports": (
        {**{f"{n}.py": "" for n in "abcd"},
         "m.py": "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import a\n"
                 "try:\n    import b\nexcept ImportError:\n    import gone\n"
                 "if False:\n    import c\ndef f():\n    import d\n"},
        "m.py -> a.py, b.py, c.py, d.py",
    ),
    "declared_root": (
        {"pyproject.toml": '[tool.setuptools.packages.find]\nwhere = ["code"]\n',
         "code/demo/__init__.py": "", "code/demo/x.py": "", "tests/t.py": "import demo.x\n"},
        "tests/t.py -> code/demo/x.py",
    ),
    "standard_library_is_not_shadowed": (
        {"app/__init__.py": "", "app/main.py": "import json\n", "fixtures/json.py": ""}, ""
    ),
}  # fmt: skip

GO = {
    "35_replace": (
        {"app/go.mod": "module app\nreplace foo => ../src/foo\n",
         "app/main.go": 'package main\nimport "foo"\nfunc main() { foo.F() }\n',
         "src/foo/go.mod": "module foo\n", "src/foo/a.go": "package foo\nfunc F() {}\n",
         "src/foo/b.go": "package foo\n", "src/foo/a_test.go": "package foo\n"},
        "app/main.go -> src/foo/a.go, src/foo/b.go",
    ),
    "36_workspace_and_nested_modules": (
        {"go.work": "go 1.19\nuse (\n ./x\n ./x/inner\n)\n", "x/go.mod": "module example.com/x\n",
         "x/inner/go.mod": "module example.com/x/inner\n", "x/inner/p/p.go": "package p\n",
         "x/other/go.mod": "module else.org/other\n", "x/other/q/q.go": "package q\n",
         "x/m.go": 'package x\nimport (\n"example.com/x/inner/p"\n"example.com/x/other/q"\n'
                   '"else.org/other/q"\n)\n'},
        "x/m.go -> x/inner/p/p.go, x/other/q/q.go",
    ),
    "38_root_package_and_major_version": (
        {"go.mod": "module github.com/g/gin/v2\n", "gin.go": "package gin\n",
         "ginS/s.go": 'package ginS\nimport "github.com/g/gin/v2"\n'},
        "ginS/s.go -> gin.go",
    ),
    "40_vendor_internal_external_test": (
        {"go.mod": "module m\n", "vendor/golang.org/x/net/http.go": "package net\n",
         "internal/i/i.go": "package i\n", "p/p.go": 'package p\nimport "golang.org/x/net"\n',
         "p/p_test.go": 'package p_test\nimport (\n"m/p"\n"m/internal/i"\n)\n'},
        "p/p.go -> vendor/golang.org/x/net/http.go\np/p_test.go -> p/p.go, internal/i/i.go",
    ),
}  # fmt: skip

CARGO = '[package]\nname = "c"\nedition = "2021"\n'
RUST = {
    "41_path_in_an_inline_module": (
        {"Cargo.toml": CARGO, "src/shared/m.rs": "",
         "src/lib.rs": 'mod x86 { #[path = "../shared/m.rs"] mod m; }\n'},
        "src/lib.rs -> src/shared/m.rs",
    ),
    "42_modules_beside_a_path_file": (
        {"Cargo.toml": CARGO, "src/lib.rs": '#[path="module/module.rs"] mod module;\n',
         "src/module/module.rs": "pub mod sub;\n", "src/module/sub.rs": ""},
        "src/lib.rs -> src/module/module.rs\nsrc/module/module.rs -> src/module/sub.rs",
    ),
    "44_two_conditional_paths": (
        {"Cargo.toml": CARGO, "src/u.rs": "", "src/w.rs": "",
         "src/lib.rs": '#[cfg_attr(unix, path = "u.rs")]\n#[cfg_attr(windows, path = "w.rs")]\n'
                       "mod os;\n"},
        "src/lib.rs -> src/u.rs, src/w.rs",
    ),
    "46_use_forms": (
        {"Cargo.toml": CARGO, "src/lib.rs": "mod ast; mod a; pub fn f() {}\n",
         "src/ast.rs": "pub struct Ast;\n", "src/a.rs": "mod b;\n", "src/a/b.rs": "mod c;\n",
         "src/a/b/c.rs": "use crate::ast::{self, Ast};\nuse super::super::x;\n"
                         "fn g() { use crate::f; }\n"},
        "src/lib.rs -> src/ast.rs, src/a.rs\nsrc/a.rs -> src/a/b.rs\nsrc/a/b.rs -> src/a/b/c.rs\n"
        "src/a/b/c.rs -> src/ast.rs, src/a.rs, src/lib.rs",
    ),
    "49_external_crate": (
        {"Cargo.toml": CARGO, "src/lib.rs": "mod m;\n", "src/m.rs": "use anyhow::Result;\n"},
        "src/lib.rs -> src/m.rs",
    ),
    "50_workspace_members": (
        {"Cargo.toml": '[workspace]\nmembers = ["a", "b"]\n',
         "a/Cargo.toml": '[package]\nname = "a-one"\n[lib]\npath = "code/root.rs"\n'
                         'edition = "2021"\n',
         "a/code/root.rs": "pub mod n;\npub struct R;\n", "a/code/n/mod.rs": "use crate::R;\n",
         "b/Cargo.toml": '[package]\nname = "b"\nedition = "2021"\n', "b/src/lib.rs": "mod n;\n",
         "b/src/n.rs": "use a_one::n;\nuse crate::X;\n"},
        "a/code/root.rs -> a/code/n/mod.rs\na/code/n/mod.rs -> a/code/root.rs\n"
        "b/src/lib.rs -> b/src/n.rs\nb/src/n.rs -> a/code/n/mod.rs, b/src/lib.rs",
    ),
}  # fmt: skip

OTHERS = {
    "c_include_roots": (
        {"src/m.c": '#include "near.h"\n#include <lib/far.h>\n#include <stdio.h>\n',
         "src/near.h": "", "include/lib/far.h": "", "third/compat/stdio.h": ""},
        "src/m.c -> src/near.h, include/lib/far.h",
    ),
    "java_by_package": (
        {"a/src/org/x/A.java": "package org.x;\nimport org.y.B;\nclass A { B b; C c; }\n",
         "a/src/org/x/C.java": "package org.x;\nclass C {}\n",
         "b/src/org/y/B.java": "package org.y;\npublic class B {}\n"},
        "a/src/org/x/A.java -> b/src/org/y/B.java",
    ),
    "ruby_require": (
        {"lib/g.rb": "require 'g/part'\nrequire_relative 'g/other'\n", "lib/g/part.rb": "",
         "lib/g/other.rb": ""},
        "lib/g.rb -> lib/g/part.rb, lib/g/other.rb",
    ),
    "lua_require": (
        {"lua/mod/init.lua": "return {}\n", "lua/mod/x.lua": "local m = require('mod')\n"},
        "lua/mod/x.lua -> lua/mod/init.lua",
    ),
}  # fmt: skip

CASES = [
    pytest.param(files, expected, id=f"{language}-{name}")
    for language, table in (
        ("typescript", TYPESCRIPT),
        ("python", PYTHON),
        ("go", GO),
        ("rust", RUST),
        ("other", OTHERS),
    )
    for name, (files, expected) in table.items()
]


@pytest.mark.parametrize(("files", "expected"), CASES)
def test_W08_I7_import_edges(tmp_path: Path, files: dict[str, str], expected: str) -> None:
    assert edges(graph_of(tmp_path, files), "import") == pairs(expected)
