"""`context/retrieve`, `workspace/symbols` and `workspace/outline` of a real process."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.process.client import Runtime

FILES = {
    "shop/cart.py": '''"""The cart of a customer."""


class Cart:
    """Holds what a customer wants to buy."""

    def __init__(self):
        self.lines = []

    def add_line(self, product, amount):
        """Puts a product into the cart, or more of one that is there."""
        for line in self.lines:
            if line.product == product:
                line.amount += amount
                return line
        self.lines.append((product, amount))

    def total_price(self):
        """Sums the prices of all lines."""
        return sum(product.price * amount for product, amount in self.lines)
''',
    "shop/checkout.py": '''"""From a cart to an order."""

from shop.cart import Cart
from shop.payment import charge


def checkout(cart: Cart, card):
    """Charges the card and empties the cart."""
    receipt = charge(card, cart.total_price())
    cart.lines.clear()
    return receipt
''',
    "shop/payment.py": '''"""Talks to the bank."""


class PaymentError(Exception):
    """The bank refused the card."""


def charge(card, amount):
    """Takes money from a credit card; raises PaymentError when the bank refuses."""
    if not card.valid:
        raise PaymentError("card refused: " + card.number)
    return card.take(amount)
''',
    "tests/test_cart.py": """from shop.cart import Cart


def test_total_price_of_a_cart():
    cart = Cart()
    cart.add_line(None, 2)
    assert cart.total_price() == 0
""",
    "docs/cart.md": "# The cart\n\nA cart holds what a customer wants to buy: the total price.\n",
    "AGENTS.md": "Write tests first.\n",
    "shop/AGENTS.md": "Money is in cents.\n",
    "docs/AGENTS.md": "Write short sentences.\n",
    "web/größe.js": "// Größe und Länge\nexport function größe(x) {\n  return x.length;\n}\n",
    "empty.py": "",
    "latin.py": "# caf\xe9 preise\ndef menu():\n    return 1\n",
}


def make_shop(root: Path) -> Path:
    for path, text in FILES.items():
        file = root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text.encode("latin-1" if path == "latin.py" else "utf-8"))
    return root


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A shop that no test changes."""
    return make_shop(tmp_path_factory.mktemp("kept") / "shop")


@pytest.fixture(scope="module")
def runtime(shop: Path) -> Iterator[Runtime]:
    yield from serve(shop)


@pytest.fixture
def changing(tmp_path: Path) -> Path:
    return make_shop(tmp_path / "shop")


@pytest.fixture
def runtime_of_changing(changing: Path) -> Iterator[Runtime]:
    yield from serve(changing)


def serve(shop: Path) -> Iterator[Runtime]:
    with Runtime() as process:
        process.initialize()
        assert "result" in process.request("workspace/open", {"root": str(shop)})
        yield process


def retrieve(runtime: Runtime, query: str, **more: Any) -> dict[str, Any]:
    reply = runtime.request("context/retrieve", {"query": query, **more})
    assert "result" in reply, reply
    result: dict[str, Any] = reply["result"]
    return result


def lines_of(root: Path, snippet: dict[str, Any]) -> str:
    data = (root / snippet["path"]).read_bytes()
    text = data.decode("latin-1" if snippet["path"] == "latin.py" else "utf-8")
    return "\n".join(text.split("\n")[snippet["startLine"] - 1 : snippet["endLine"]])


QUESTIONS = [
    ("how is the total price summed", "shop/cart.py"),
    ("PaymentError", "shop/payment.py"),
    ("Cart", "shop/cart.py"),
    ("Cart.add_line", "shop/cart.py"),
    ("add line to cart", "shop/cart.py"),
    ("charging a credit card", "shop/payment.py"),
    ("checkout", "shop/checkout.py"),
    ("shop/payment.py", "shop/payment.py"),
    ("payment.py", "shop/payment.py"),
    ('File "/srv/app/shop/payment.py", line 11, in charge', "shop/payment.py"),
    ("shop/checkout.py:9: in checkout", "shop/checkout.py"),
    ("card refused: 4711", "shop/payment.py"),
    ("where do the tests check the cart", "tests/test_cart.py"),
    ("Größe", "web/größe.js"),
    ("wie wird der Fehler der Bank gemeldet", "shop/payment.py"),
    ("documentation of the cart", "docs/cart.md"),
]


@pytest.mark.parametrize(("query", "first"), QUESTIONS)
def test_W06_the_file_that_answers_comes_first(runtime: Runtime, query: str, first: str) -> None:
    snippets = retrieve(runtime, query)["retrieval"]["snippets"]
    assert snippets
    assert snippets[0]["path"] == first


@pytest.mark.parametrize("budget", [1, 7, 40, 100, 8000, 200_000])
@pytest.mark.parametrize("query", ["cart total price", "charge", "shop/cart.py"])
def test_W06_snippets_are_whole_lines_of_the_files_best_first_within_the_budget(
    runtime: Runtime, shop: Path, query: str, budget: int
) -> None:
    retrieval = retrieve(runtime, query, budgetTokens=budget)["retrieval"]
    assert set(retrieval) == {
        "terms", "snippets", "filesConsidered", "budgetTokens", "usedTokens",
    }  # fmt: skip
    snippets = retrieval["snippets"]
    assert retrieval["budgetTokens"] == budget
    assert retrieval["usedTokens"] <= budget
    assert retrieval["usedTokens"] == -(-sum(len(s["text"]) for s in snippets) // 4)
    assert [s["score"] for s in snippets] == sorted((s["score"] for s in snippets), reverse=True)
    seen: set[tuple[str, int]] = set()
    for snippet in snippets:
        assert set(snippet) == {"path", "startLine", "endLine", "text", "score", "reason"}
        assert snippet["text"] == lines_of(shop, snippet)
        covered = {
            (snippet["path"], line) for line in range(snippet["startLine"], snippet["endLine"] + 1)
        }
        assert not covered & seen
        seen |= covered


def check_reason(snippet: dict[str, Any], terms: list[str]) -> str:
    """Fails when a reason is not true of its snippet. Returns its kind."""
    reason, text = snippet["reason"], snippet["text"]
    if match := re.fullmatch(r"defines [a-z ]+ `(.+)`", reason):
        name = re.escape(match[1])
        assert re.search(rf"\b(?:class|def|function)\s+{name}\b", text)
        return "defines"
    if match := re.fullmatch(r"uses `(.+)`", reason):
        assert match[1] in text
        return "uses"
    if match := re.fullmatch(r"matches text: (\d+) terms?", reason):
        assert 1 <= int(match[1]) <= len(terms)
        return "text"
    assert reason in ("matches path", "in focus")
    return str(reason)


@pytest.mark.parametrize(
    ("query", "more", "kinds"),
    [
        ("Cart", {}, {"defines", "uses"}),
        ("how much do all lines of a customer cost", {}, {"text"}),
        ("docs/cart.md", {}, {"matches path"}),
        ("refused", {"focusPaths": ["web"]}, {"in focus"}),
    ],
)
def test_W06_reasons_are_true(
    runtime: Runtime, query: str, more: dict[str, Any], kinds: set[str]
) -> None:
    retrieval = retrieve(runtime, query, **more)["retrieval"]
    found = {check_reason(snippet, retrieval["terms"]) for snippet in retrieval["snippets"]}
    assert kinds <= found


def test_W06_an_empty_query_is_invalid_params_and_no_match_is_an_empty_list(
    runtime: Runtime,
) -> None:
    for query in ("", "  \n\t "):
        reply = runtime.request("context/retrieve", {"query": query})
        assert reply["error"]["code"] == -32602
        assert "query" in reply["error"]["message"]
    retrieval = retrieve(runtime, "xylophone zebra")["retrieval"]
    assert retrieval["snippets"] == []
    assert retrieval["usedTokens"] == 0


@pytest.mark.parametrize("budget", [0, -1, 200_001, 1.5, "8000", None])
def test_W06_budgets_out_of_range_are_invalid_params(runtime: Runtime, budget: Any) -> None:
    reply = runtime.request("context/retrieve", {"query": "cart", "budgetTokens": budget})
    assert reply["error"]["code"] == -32602


def test_W06_the_default_budget_is_8000(runtime: Runtime) -> None:
    assert retrieve(runtime, "cart")["retrieval"]["budgetTokens"] == 8000


def test_W06_two_processes_answer_with_the_same_bytes(runtime: Runtime, shop: Path) -> None:
    queries = [query for query, _ in QUESTIONS]
    first = [json.dumps(retrieve(runtime, query)) for query in queries]
    assert [json.dumps(retrieve(runtime, query)) for query in queries] == first
    with Runtime(environment={"PYTHONHASHSEED": "7"}) as other:
        other.initialize()
        other.request("workspace/open", {"root": str(shop)})
        assert [json.dumps(retrieve(other, query)) for query in queries] == first


def test_W06_a_file_that_changed_since_indexing_is_quoted_as_it_is(
    runtime_of_changing: Runtime, changing: Path
) -> None:
    text = FILES["shop/cart.py"].replace("total_price", "overall_sum")
    (changing / "shop/cart.py").write_text("# new\n# lines\n# above\n\n" + text)
    for snippet in retrieve(runtime_of_changing, "Cart")["retrieval"]["snippets"]:
        assert snippet["text"] == lines_of(changing, snippet)
        assert "total_price" not in snippet["text"] or snippet["path"] != "shop/cart.py"


@pytest.mark.parametrize("what", ["removed", "fifo", "link"])
def test_W06_a_file_that_is_no_file_any_more_is_left_out(
    runtime_of_changing: Runtime, changing: Path, what: str
) -> None:
    path = changing / "shop/payment.py"
    path.unlink()
    if what == "fifo":
        os.mkfifo(path)
    elif what == "link":
        (changing.parent / "secret").write_text("def charge(card): secret\n")
        path.symlink_to(changing.parent / "secret")
    snippets = retrieve(runtime_of_changing, "charge PaymentError")["retrieval"]["snippets"]
    assert "shop/payment.py" not in {snippet["path"] for snippet in snippets}


def test_W06_instructions_are_those_of_the_snippets_folders(runtime: Runtime) -> None:
    result = retrieve(runtime, "PaymentError", budgetTokens=60)
    assert {snippet["path"] for snippet in result["retrieval"]["snippets"]} == {"shop/payment.py"}
    assert [(i["source"], i["scope"], i["dir"], i["content"]) for i in result["instructions"]] == [
        ("AGENTS.md", "workspace", "", "Write tests first.\n"),
        ("shop/AGENTS.md", "directory", "shop", "Money is in cents.\n"),
    ]
    focused = retrieve(runtime, "PaymentError", budgetTokens=60, focusPaths=["docs/cart.md"])
    assert "docs/AGENTS.md" in {i["source"] for i in focused["instructions"]}


def test_W06_focus_puts_a_file_before_its_equals(runtime: Runtime) -> None:
    def rank(**more: Any) -> int:
        snippets = retrieve(runtime, "cart", **more)["retrieval"]["snippets"]
        paths = [snippet["path"] for snippet in snippets]
        return paths.index("shop/checkout.py") if "shop/checkout.py" in paths else len(paths)

    assert 0 < rank(focusPaths=["shop/checkout.py"]) + 1 <= rank()


def test_W06_needs_an_open_workspace() -> None:
    with Runtime() as process:
        process.initialize()
        for method, params in (
            ("context/retrieve", {"query": "x"}),
            ("workspace/symbols", {"query": "x"}),
            ("workspace/outline", {"path": "x"}),
        ):
            assert process.request(method, params)["error"]["code"] == -32004


SYMBOLS = [
    ("Cart", "Cart"),
    ("cart", "Cart"),
    ("add_l", "add_line"),
    ("addLine", "add_line"),
    ("tp", "total_price"),
    ("price", "total_price"),
    ("PaymntError", "PaymentError"),
    ("chekout", "checkout"),
    ("Cart.total_price", "total_price"),
    ("Cart::add_line", "add_line"),
]


@pytest.mark.parametrize(("query", "name"), SYMBOLS)
def test_symbols_are_found_by_exact_prefix_subword_and_fuzzy_name(
    runtime: Runtime, query: str, name: str
) -> None:
    symbols = runtime.request("workspace/symbols", {"query": query})["result"]["symbols"]
    assert symbols[0]["name"] == name


def test_symbols_keep_to_a_kind_and_a_limit(runtime: Runtime) -> None:
    only = runtime.request("workspace/symbols", {"query": "cart", "kind": "class", "limit": 1})
    assert only["result"]["symbols"] == [
        {
            "name": "Cart", "kind": "class", "path": "shop/cart.py", "startLine": 4,
            "endLine": 20, "score": 0.95,
        }
    ]  # fmt: skip
    for params in ({"query": " "}, {"query": "x", "kind": "nonsense"}, {"query": "x", "limit": 0}):
        assert runtime.request("workspace/symbols", params)["error"]["code"] == -32602


def test_outline_is_the_tree_of_a_files_symbols(runtime: Runtime) -> None:
    outline = runtime.request("workspace/outline", {"path": "shop/payment.py"})["result"]
    assert outline == {
        "path": "shop/payment.py",
        "language": "python",
        "symbols": [
            {
                "name": "PaymentError", "kind": "class", "startLine": 4, "endLine": 5,
                "children": [],
            },
            {"name": "charge", "kind": "function", "startLine": 8, "endLine": 12, "children": []},
        ],
    }  # fmt: skip
    methods = runtime.request("workspace/outline", {"path": "shop/cart.py"})["result"]["symbols"]
    assert [child["name"] for child in methods[0]["children"]] == [
        "__init__", "lines", "add_line", "total_price",
    ] or [child["name"] for child in methods[0]["children"]] == [
        "__init__", "add_line", "total_price",
    ]  # fmt: skip
    gone = runtime.request("workspace/outline", {"path": "nowhere.py"})
    assert gone["error"]["code"] == -32602


def test_W06_a_long_question_is_answered_at_once(tmp_path: Path) -> None:
    """Time grew with the square of a run of characters; within the client's patience it may not."""
    (tmp_path / "a.py").write_text("def foo():\n    return 1\n")
    with Runtime() as runtime:
        runtime.initialize()
        runtime.result("workspace/open", {"root": str(tmp_path)})
        for query in ("x" * 90_000, "a/" * 45_000, "x.y" * 30_000, "\u7f13" * 90_000):
            runtime.result("context/retrieve", {"query": query})


def test_case_55_a_decorated_definition_starts_at_its_name(
    runtime: Runtime, tmp_path: Path
) -> None:
    sources = {
        "a.py": "@x.deco\n@x.more(\n    1)\ndef wanted_py():\n    pass\n",
        "A.java": "package p;\n@Deprecated\n@Foo(1)\npublic class WantedJava {\n}\n",
        "a.ts": "@Component({\n  a: 1,\n})\nexport class WantedTs {\n}\n",
        "a.rs": "#[derive(Debug)]\n#[cfg(x)]\n\npub struct WantedRs {\n}\n",
        "a.kt": "package p\n@Foo\n@Bar\nclass WantedKt {\n}\n",
        "a.cs": "using A;\n[Foo]\n[Bar]\npublic class WantedCs {\n}\n",
        "a.php": "<?php\n#[A]\n#[B]\nclass WantedPhp {\n}\n",
        "a.swift": "import A\n@objc\n@b\npublic class WantedSwift {\n}\n",
        "a.scala": "package p\n@foo\n@bar\nclass WantedScala {\n}\n",
    }
    for name, text in sources.items():
        (tmp_path / name).write_text(text)
    runtime.result("workspace/open", {"root": str(tmp_path)})
    found = runtime.result("workspace/symbols", {"query": "wanted"})["symbols"]
    assert {symbol["path"]: symbol["startLine"] for symbol in found} == dict.fromkeys(sources, 4)
    for name in sources:
        (outline,) = runtime.result("workspace/outline", {"path": name})["symbols"]
        assert outline["startLine"] == 4, name
