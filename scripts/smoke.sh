#!/usr/bin/env bash
# As a newcomer would: `npm start` on an empty data folder, then the printed curl line.
set -euo pipefail
cd "$(dirname "$0")/.."
work=$(mktemp -d)
# npm does not pass every signal on, so the whole group is told to stop.
trap '[ -z "${server:-}" ] || kill -TERM -- "-$server" 2>/dev/null || true; wait 2>/dev/null || true; rm -rf "$work"' EXIT
setsid npm start --silent -- --data "$work/data" --port 0 >"$work/out" 2>"$work/err" &
server=$!
# In a fresh checkout the dependencies are compiled first.
for _ in $(seq 1 4500); do
  grep -q '/docs$' "$work/out" && break
  kill -0 "$server" 2>/dev/null || break
  sleep 0.2
done
line=$(grep -o 'curl .*' "$work/out") || { cat "$work/out" "$work/err" >&2; exit 1; }
answer=$(bash -c "${line/curl /curl -sS --fail }")
case "$answer" in
  *'"name":"Starling"'*) echo "the printed call works" ;;
  *) echo "unexpected answer: $answer" >&2; exit 1 ;;
esac
[ "$(grep -c '^listening on https://' "$work/out")" = 1 ] || { echo 'no line says where it listens' >&2; exit 1; }
