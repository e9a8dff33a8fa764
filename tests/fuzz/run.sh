#!/usr/bin/env bash
# Runs fuzz targets: run.sh FOLDER_OF_PROGRAMS SECONDS [NAME ...]. What is found lies in FOLDER/findings; the corpus in
# the repository is only read. Two run at once.
set -euo pipefail

programs=$1 seconds=$2
shift 2
corpora=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)/corpus
findings=$programs/findings
names=("$@")
mkdir -p "$findings"
if [[ ${#names[@]} -eq 0 ]]; then
  for program in "$programs"/*_fuzz; do names+=("$(basename "$program" _fuzz)"); done
fi

run_one() {
  local name=$1 grown=$programs/grown/$1 log=$programs/$1.log
  mkdir -p "$grown"
  # hwloc's own plug-ins leak; leaks of ours are found by the address sanitizer's run of the unit tests.
  if ASAN_OPTIONS=detect_leaks=0 "$programs/${name}_fuzz" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 \
    -max_len=65536 -print_final_stats=1 -artifact_prefix="$findings/$name-" "$grown" "$corpora/$name" >"$log" 2>&1; then
    echo "fuzz: $name: $(awk '/stat::number_of_executed_units/ {print $2}' "$log") executions in $seconds s, no finding"
  else
    tail -40 "$log"
    echo "fuzz: $name: a finding, see $findings"
    return 1
  fi
}

failed=0
for ((i = 0; i < ${#names[@]}; i += 2)); do
  run_one "${names[i]}" & first=$!
  second=
  if ((i + 1 < ${#names[@]})); then
    run_one "${names[i + 1]}" & second=$!
  fi
  wait "$first" || failed=1
  [[ -z $second ]] || wait "$second" || failed=1
done
exit "$failed"
