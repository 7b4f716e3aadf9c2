"""The guard that keeps edits out of the shell: what it blocks, and what it lets through."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from taskx.process import shell_edits


@pytest.mark.parametrize(
    "command",
    [
        "x=$(sed -i s/a/b/ f)",
        "sed -n 'w f' g",
        "sed --in-plac s/a/b/ f",
        "sed -Ei.bak s/a/b/ f",
        "sed -n -i s/a/b/ f",
        "sed -e 's/a/b/w f' g",
        "sed 's/a/b/e' g",
        "sed '1e touch f' g",
        "sed '/a/w f' g",
        "sed -f script g",
        "perl -pi -e s/a/b/ f",
        "perl -i.bak -pe 1 f",
        "perl -0777 -pi -e 1 f",
        "ruby -pi -e 1 f",
        "python3 - <<E\nopen('f','w').write('x')\nE",
        "cat<<E>f\nhello\nE\n",
        "cat <<E > f\nx\nE\n",
        "cat > f <<'E'\nx\nE\n",
        "cat <<E\nx\nE\n",
        "cat a > f",
        "cat a >> f",
        "dd of=f",
        "dd if=a of=f bs=1",
        "cp /dev/stdin f",
        "cp /dev/fd/3 f",
        "cp <(echo x) f",
        "install a b",
        "git apply p",
        "git -C d apply p",
        "git apply < p",
        "ed f",
        "ex -s f",
        "vim -es f",
        "awk '{print > \"f\"}' g",
        "awk '{ print $1 >> \"f\" }' g",
        "gawk -i inplace '{print}' f",
        "awk '{print | \"cat > f\"}' g",
        "awk 'BEGIN { system(\"sed -i s/a/b/ f\") }'",
        ">|f",
        "> f",
        "exec 3>f",
        "echo x > f",
        "printf x >> f",
        "echo x | tee f",
        "tee -a f < g",
        "echo x | sudo tee f",
        "true && sed -i s/a/b/ f",
        "ls | xargs sed -i s/a/b/",
        "env X=1 sed -i s/a/b/ f",
        "bash -c 'sed -i s/a/b/ f'",
        "(sed -i s/a/b/ f)",
        "echo `sed -i s/a/b/ f`",
        "find . -exec sed -i s/a/b/ {} +",
        "s=sed; $s -i s/a/b/ f",
        "sh <<E\nsed -i s/a/b/ f\nE\n",
        "echo 'sed -i s/a/b/ f' | sh",
        "eval 'sed -i s/a/b/ f'",
        "\\sed -i s/a/b/ f",
        's"e"d -i s/a/b/ f',
        "patch -p1 < p",
        "make > build.log",
        "pytest >out.txt 2>&1",
        "sed s/a/b/ f > g && mv g f",
        "sed s/a/b/ f > /tmp/g && cp /tmp/g f",
        "mv /tmp/x src/x",
        "base64 -d <<< eA== > f",
        "sort -o f f",
        "yq -i .a=1 f",
        "truncate -s 0 f",
        'node -e \'require("fs").writeFileSync("f","x")\'',
        'node -e \'fs.promises.rename("a","b")\'',
        'python3 -c \'open("f","w")\'',
        'python3 -c \'from pathlib import Path; Path("f").write_text("x")\'',
        'python3 -c \'import shutil; shutil.copy("a","b")\'',
        "python3 -c 'import os; os.remove(\"f\")'",
        'python3 -c \'open("f", mode="a")\'',
        "python -c 'import os; os.system(\"sed -i s/a/b/ f\")'",
        'python3 -c \'import pathlib; pathlib.Path("f").open("w")\'',
        'python3 -c "$X"',
        'python3 -c \'m="w"; open("f", m)\'',
        'echo \'open("f","w")\' | python3',
        "ruby -e 'File.write(\"f\", 1)'",
        "php -r 'file_put_contents(\"f\", 1);'",
        "perl -e 'open(F, \">f\")'",
        'lua -e \'io.open("f","w")\'',
        'deno eval \'Deno.writeTextFile("f","")\'',
        "python3 <<'E'\nfrom pathlib import Path\np = Path('a')\np.write_text(p.read_text().replace('a','b'))\nE",  # noqa: E501
        "curl x | python3",
        "find . -fprint f",
        "cat f | tee g > /dev/null",
        "echo x &> f",
        "echo x <> f",
        "busybox sed -i s/a/b/ f",
        "timeout 5 sed -i s/a/b/ f",
        "if sed -i s/a/b/ f; then :; fi",
        "source <(echo 'sed -i s/a/b/ f')",
        "bash /dev/stdin <<E\nsed -i s/a/b/ f\nE",
        "echo 'sed -i s/a/b/ f' | sudo bash",
        "{ echo x; echo y; } > f",
        "for i in 1; do echo $i; done > f",
        "perl -Mstrict -i -pe 1 f",
        "mv <(echo x) f",
        "git am < p",
    ],
)
def test_S2_C04_shell_edits_are_blocked(command: str) -> None:
    assert shell_edits.reason(command) is not None


@pytest.mark.parametrize(
    "command",
    [
        "python3 -c 'print(open(\"f\").read())'",
        'grep "sed -i" f',
        "grep -rn 'tee ' .",
        "git commit -m \"$(cat <<'EOF'\nuse sed -i and tee\nEOF\n)\"",
        "git commit -m 'sed -i'",
        "sed -n 1,5p f",
        "sed s/a/b/ f",
        "sed -n '/w/p' f",
        "sed 's/w/e/g' f",
        "sed -n '$=' f",
        "sed '/^$/d' f",
        "sed -e 's/i/w/' -e 's|a|w|' f",
        "awk '{print $1}' f",
        "awk '$1 > 3 {print $2}' f",
        "awk '{ if (a > b) print }' f",
        "awk '/>/ {print}' f",
        "ls > /dev/null",
        "make 2>&1 | tail",
        "cmd >/dev/null 2>&1",
        "pytest > /tmp/log 2>&1; tail /tmp/log",
        "echo x | tee /dev/stderr",
        "cat f",
        "cat < f",
        "cat f | grep x",
        "cp a b",
        "mv a b",
        "python3 script.py",
        "python3 -m pytest",
        "node -e 'console.log(1)'",
        'node -e \'console.log(require("fs").readFileSync("f","utf8"))\'',
        "perl -ne 'print if /x/' f",
        "perl -pe 's/a/b/' f",
        "ruby -e 'puts 1'",
        "git apply --check p",
        "git diff | git apply --stat",
        "npm install",
        "pip install x",
        "python3 - <<E\nprint(1)\nE",
        'python3 -c \'print("a".replace("a","b"))\'',
        "python3 -c 'import json; print(json.load(open(\"f\")))'",
        'python3 -c \'open("f", "rb")\'',
        'python3 -c \'open("f", encoding="utf8").read()\'',
        "python3 -c 'import re; re.compile(\"x\")'",
        "$PYTHON -m pytest",
        "jq . f",
        "echo sed -i",
        "echo 'a > b'",
        "test a \\> b",
        "[ 1 -gt 0 ] && echo ok",
        'for f in *.py; do wc -l "$f"; done',
        "x=$(git rev-parse HEAD); echo $x",
        "docker run -i x",
        "grep -i x f",
        "sort f | uniq",
        "find . -name '*.py' -print",
        "cat script.py | python3",
        "diff <(a) <(b)",
        "bash run.sh",
        "python3 -c 'import os; print(os.listdir(\".\"))'",
        "echo $((1 > 2))",
        "[[ a > b ]]",
        "xargs -I{} echo {}",
    ],
)
def test_S2_C04_what_only_reads_goes_on(command: str) -> None:
    assert shell_edits.reason(command) is None


@pytest.mark.parametrize(
    ("call", "code", "denied"),
    [
        ({"tool_name": "Bash", "tool_input": {"command": "sed -i s/a/b/ f"}}, 0, True),
        ({"tool_name": "Bash", "tool_input": {"command": "ls"}}, 0, False),
        ({"tool_name": "Read", "tool_input": {"file_path": "sed -i"}}, 0, False),
        (
            {
                "tool_name": "Bash",
                "tool_input": {"command": "ls", "dangerouslyDisableSandbox": True},
            },
            0,
            True,
        ),
        ("not json", 2, False),
    ],
)
def test_C04_the_hook_as_a_process(call: object, code: int, denied: bool) -> None:
    given = call if isinstance(call, str) else json.dumps(call)
    done = subprocess.run(
        [sys.executable, "-m", "taskx", "--hook-shell-edit"],
        input=given, capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip
    assert done.returncode == code
    if not denied:
        assert done.stdout == ""
        return
    answer = json.loads(done.stdout)["hookSpecificOutput"]
    assert answer["hookEventName"] == "PreToolUse"
    assert answer["permissionDecision"] == "deny"
    assert answer["permissionDecisionReason"]
