#!/usr/bin/env bash
# Proves the rules of the house (ARCHITECTURE.md, who may include whom) with grep. `house.sh [ROOT]`, default: this tree.
set -euo pipefail

cd "${1:-$(dirname "${BASH_SOURCE[0]}")/../..}"
broken=0

main() {
  rooms_include_only_what_stands_below_them
  a_lane_includes_no_other_lane
  public_headers_include_only_public_headers
  only_vendor_sim_and_kernels_know_cuda_headers
  the_environment_is_read_at_the_top_only
  the_process_belongs_to_the_caller
  files_are_short
  nothing_is_left_for_later
  [[ $broken -eq 0 ]] && echo "house: every rule holds"
}

rooms_include_only_what_stands_below_them() {
  only base
  only machine base
  only importers machine base
  only draw machine base
  only plan machine base
  only cluster plan machine base
  only vendor base
  only sim machine vendor base
  only discover machine vendor base
  only memory machine vendor base
  only kernels memory machine vendor base
  only lanes kernels plan discover memory machine vendor base
  only engine lanes kernels plan discover memory machine vendor base
  none session verify measure doctor cli
  none verify cli
  none measure cli
  none doctor cli
}

# only ROOM BELOW...: of our rooms it includes itself and these.
only() {
  local allowed
  allowed=$(IFS='|' && echo "$*")
  refuse "$1 may include only: $*" "$(includes_of_rooms "src/$1/" | grep -vE "\"($allowed)/")"
}

# none ROOM ABOVE...: it includes none of these.
none() {
  local above
  above=$(shift && IFS='|' && echo "$*")
  refuse "$1 includes what stands above it" "$(includes_of_rooms "src/$1/" | grep -E "\"($above)/")"
}

includes_of_rooms() {
  search '^[[:space:]]*#[[:space:]]*include "[a-z_]+/' "$1" | grep -v '"peerlane/'
}

a_lane_includes_no_other_lane() {
  refuse "a lane includes another lane" "$(search '#[[:space:]]*include "lanes/[a-z_]+/' src/lanes/ |
    grep -E '^src/lanes/[a-z_]+/' | grep -vE '^src/lanes/([a-z_]+)/.*"lanes/\1/')"
}

public_headers_include_only_public_headers() {
  refuse "a public header includes a private one" "$(search '#[[:space:]]*include "' include/ | grep -v '"peerlane/')"
}

only_vendor_sim_and_kernels_know_cuda_headers() {
  refuse "a header of CUDA outside vendor, sim and the kernels" \
    "$(search '#[[:space:]]*include [<"](cuda|cuda_runtime|cuda_runtime_api|nvml|cufile|nccl)\.h' src/ include/ cli/ |
      grep -vE '^src/(vendor|sim)/|^[^:]*\.cuh?:')"
}

the_environment_is_read_at_the_top_only() {
  refuse "the environment is read below session" \
    "$(search '(^|[^[:alnum:]_])(secure_)?getenv\(' src/ include/ | grep -vE '^src/(base|session|discover|doctor)/')"
}

# peerlane-probe is a process of its own.
the_process_belongs_to_the_caller() {
  refuse "the library ends the process, takes its signals or changes its environment" \
    "$(search '(^|[^[:alnum:]_.>])(exit|quick_exit|signal|sigaction|setenv|unsetenv|putenv|system)\(' src/ include/ |
      grep -v '^src/probe/')"
}

files_are_short() {
  refuse "longer than 500 lines" "$(files_under src/ include/ cli/ | xargs -0 -r wc -l | awk '$2 != "total" && $1 > 500')"
}

nothing_is_left_for_later() {
  refuse "left for later" "$(search '(^|[^[:alnum:]_])(TO''DO|FIX''ME|X''XX|HA''CK)([^[:alnum:]_]|$)' .)"
}

# refuse SENTENCE LINES: a rule is broken when there are lines.
refuse() {
  [[ -n $2 ]] || return 0
  broken=1
  printf 'house: %s\n' "$1" >&2
  printf '%s\n' "$2" | sed 's/^/  /' >&2
}

# search PATTERN PATHS...: FILE:LINE:TEXT; finding nothing is no error.
search() {
  local pattern=$1
  shift
  files_under "$@" | xargs -0 -r grep -nHIE -e "$pattern" -- || true
}

# Rooms that are not built yet have no files; what is hidden or built is not ours.
files_under() {
  local place
  for place in "$@"; do
    [[ ! -d $place ]] || find "$place" \( -name build -o -name '.?*' \) -prune -o -type f -printf '%P\0' |
      sed -z "s|^|${place%/}/|; s|^\./||"
  done
}

main
