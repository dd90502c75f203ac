#!/usr/bin/env bash
# Runs every example of examples/frameworks unchanged on a case, against a model that is a script on loopback, each in an
# environment of its own, and writes what came out into docs/frameworks.md. Ends with 1 when one of them fails.
# Usage: scripts/frameworks.sh [--latest] [NAME...]; PYTHON names the interpreter that has the project's test extra.
# --latest makes the environments anew, with the newest packages.
set -uo pipefail
python=${PYTHON:-python}
[[ $python == */* ]] && python=$(cd "$(dirname "$python")" && pwd)/$(basename "$python")
cd "$(dirname "$0")/.."
page=docs/frameworks.md
rows=$(mktemp)
trap 'rm -f "$rows"' EXIT
[[ ${1:-} == --latest ]] && { shift; (cd tests && "$python" -m fronts.frameworks --forget); }

names=("$@")
[[ ${#names[@]} -gt 0 ]] || mapfile -t names < <(cd examples/frameworks && ls ./*.py | sed 's|^\./||')
failed=0
for name in "${names[@]}"; do
    if "$python" -m pytest tests/fronts/test_frameworks.py -q --tb=line --show-capture=no -p no:cacheprovider -k "unchanged and $name"; then
        result=served
    else
        result="**failed**" failed=1
    fi
    versions=$(cd tests && "$python" -m fronts.frameworks "$name") || versions="not installed"
    printf '| `%s` | %s | %s | %s | %s |\n' "$name" "$versions" "$result" "$(date -u +%Y-%m-%d)" \
        "$("$python" -c 'import platform; print(platform.python_version())')" >>"$rows"
done

"$python" - "$page" "$rows" <<'PY'
import re
import sys
from pathlib import Path

page, rows = Path(sys.argv[1]), Path(sys.argv[2]).read_text(encoding="utf-8")
text = page.read_text(encoding="utf-8")
kept = re.search(r"<!-- last run -->\n(.*?)<!-- /last run -->", text, re.DOTALL)
assert kept is not None, f"{page}: found no part `last run`"
name = re.compile(r"\| `([^`]+)`")
lines = {name.match(line)[1]: line for line in (kept[1] + rows).splitlines() if name.match(line)}
head = "| example | tried with | result | on | Python |\n| --- | --- | --- | --- | --- |\n"
table = head + "".join(f"{lines[key]}\n" for key in sorted(lines))
page.write_text(text[: kept.start(1)] + table + text[kept.end(1) :], encoding="utf-8")
PY
exit "$failed"
