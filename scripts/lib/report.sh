# Phases and their results, for scripts/test, scripts/check and .ci/run; sourced by bash scripts with `set -u`.
# One line a phase: name, seconds, passed, failed, skipped. A script that is called by another one (HONE_RESULTS set)
# adds its lines there and leaves the report to the caller.

if [ -n "${HONE_RESULTS:-}" ]; then
  report_owner=0
else
  report_owner=1
  HONE_RESULTS=$(mktemp "${TMPDIR:-/tmp}/hone-results-XXXXXX")
  export HONE_RESULTS
  trap 'rm -f "$HONE_RESULTS"' EXIT
fi

record() { printf '%s\t%s\t%s\t%s\t%s\n' "$@" >>"$HONE_RESULTS"; }

# step NAME COMMAND...: a phase that prepares; only its failure counts.
step() {
  local name=$1 start=$SECONDS status=0
  shift
  echo "=== $name"
  "$@" </dev/null || status=$?
  record "$name" $((SECONDS - start)) 0 $((status != 0)) 0
  [ "$status" = 0 ] || echo "$name: FAILED (exit status $status)"
  return "$status"
}

# check NAME COMMAND...: a phase that is one check.
check() {
  local name=$1 start=$SECONDS status=0
  shift
  echo "=== $name"
  "$@" </dev/null || status=$?
  record "$name" $((SECONDS - start)) $((status == 0)) $((status != 0)) 0
  return "$status"
}

# report: the table of minutes and the closing line, unless a caller prints them; fails if anything failed or nothing ran.
report() {
  if [ "$report_owner" = 1 ]; then
    echo
    awk -F'\t' 'BEGIN { printf "%-28s %8s %8s %8s %8s\n", "phase", "minutes", "passed", "failed", "skipped" }
      { printf "%-28s %8.1f %8d %8d %8d\n", $1, $2 / 60, $3, $4, $5; s += $2; p += $3; f += $4; k += $5 }
      END { printf "%-28s %8.1f %8d %8d %8d\n", "total", s / 60, p, f, k; printf "%d passed, %d failed\n", p, f }' "$HONE_RESULTS"
  fi
  awk -F'\t' '{ p += $3; f += $4 } END { exit !(f == 0 && p > 0) }' "$HONE_RESULTS"
}
