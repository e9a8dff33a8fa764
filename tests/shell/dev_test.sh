#!/usr/bin/env bash
# `./dev` in a small world of its own: its PATH holds stand-ins for apt-get, dpkg-query, pip and the compilers, which
# write down each call.
# shellcheck disable=SC2016  # what stands in single quotes is expanded by the stand-ins
set -euo pipefail

tree=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
world=$(mktemp -d)
trap 'rm -rf "$world"' EXIT
calls=$world/calls installed=$world/installed
code=0 said=''

main() {
  help_lists_every_verb
  an_unknown_word_ends_with_the_list_of_good_ones
  only_what_is_missing_is_installed
  a_second_setup_does_nothing
  a_changed_system_is_looked_at_again
  a_missing_essential_is_named_and_ends_it
  a_missing_extra_is_named_and_goes_on
  without_root_and_sudo_it_says_what_to_install
  sudo_is_used_when_not_root
  elsewhere_it_names_the_packages_once
  no_toolkit_and_no_pip_offers_no_cuda
  an_nvcc_that_cannot_compile_is_passed_over
  ci_ends_with_the_code_of_the_tests
  echo "dev_test: ./dev keeps its word"
}

help_lists_every_verb() {
  fresh_world
  dev help
  expect_code 0
  local verb
  for verb in setup demo build test gpu-test bench fuzz lint format help; do
    grep -qE "^  $verb( |$)" <<<"$said" || fail "help does not list $verb"
    sed -n '/^main() {/,/^}/p' "$tree/dev" | grep -qE "^    $verb( \||\))" || fail "dev has no verb $verb"
  done
}

an_unknown_word_ends_with_the_list_of_good_ones() {
  fresh_world
  dev biuld
  expect_code 2 "there is no verb 'biuld'" "  gpu-test "
  dev build fast
  expect_code 2 "no preset 'fast'" "release debug asan tsan no-cuda"
  dev test release fast
  expect_code 2 "no preset 'fast'"
  dev setup everything
  expect_code 2 "no package set 'everything'" "build test lint"
  expect_calls ''
}

only_what_is_missing_is_installed() {
  fresh_world
  forget libfmt-dev librapidcheck-dev
  dev setup
  expect_code 0
  expect_calls 'apt-get update
apt-get install libfmt-dev
apt-get update
apt-get install librapidcheck-dev'
}

a_second_setup_does_nothing() {
  fresh_world
  dev setup
  expect_code 0
  : >"$calls"
  dev setup
  expect_code 0
  [[ -z $said ]] || fail "a second setup said: $said"
  [[ ! -s $calls ]] || fail "a second setup called: $(<"$calls")"
  [[ $(fastest_of_five_ms) -lt 200 ]] || fail "a second setup takes 0.2 s or more"
}

a_changed_system_is_looked_at_again() {
  fresh_world
  dev setup
  sed -i 's/libfmt-dev/libfmt-dev libnew-dev/' "$world/tree/dev"
  dev setup
  expect_code 0
  grep -qx 'apt-get install libnew-dev' "$calls" || fail "a package new in the list was not installed"
}

a_missing_essential_is_named_and_ends_it() {
  fresh_world
  forget libfmt-dev libcli11-dev libhwloc-dev
  apt_is_offline
  dev setup
  expect_code 1 "could not be installed: libfmt-dev libcli11-dev
" "without libhwloc-dev the PCI and NUMA tree"
}

a_missing_extra_is_named_and_goes_on() {
  fresh_world
  forget libhwloc-dev valgrind
  apt_is_offline
  dev setup
  expect_code 0 "without libhwloc-dev the PCI and NUMA tree" "without valgrind"
}

without_root_and_sudo_it_says_what_to_install() {
  fresh_world
  forget libfmt-dev
  stand_in id 'echo 1000'
  dev setup
  expect_code 1 "could not be installed: libfmt-dev" "apt-get install libfmt-dev"
  expect_calls ''
}

sudo_is_used_when_not_root() {
  fresh_world
  forget libfmt-dev
  stand_in id 'echo 1000'
  stand_in sudo 'echo sudo >>"$calls"; "$@"'
  dev setup
  expect_code 0
  expect_calls 'sudo
apt-get update
sudo
apt-get install libfmt-dev'
}

elsewhere_it_names_the_packages_once() {
  fresh_world
  rm "$world/bin/dpkg-query" "$world/bin/apt-get"
  dev setup
  expect_code 0 "neither Debian nor Ubuntu" libfmt-dev librapidcheck-dev
  dev setup
  expect_code 0
  [[ -z $said ]] || fail "a second setup said: $said"
}

no_toolkit_and_no_pip_offers_no_cuda() {
  fresh_world
  break_compilers
  stand_in python3 'mkdir -p "$3/bin" && printf "#!/bin/sh\necho no route to anywhere; exit 1\n" >"$3/bin/pip" && chmod +x "$3/bin/pip"'
  dev setup
  expect_code 7 "pip could not install" "no route to anywhere" "./dev build no-cuda"
}

an_nvcc_that_cannot_compile_is_passed_over() {
  fresh_world
  break_compilers
  mkdir -p "$world/toolkit/bin"
  printf '#!/bin/sh\n' >"$world/toolkit/bin/nvcc"
  chmod +x "$world/toolkit/bin/nvcc"
  CUDA_PATH=$world/toolkit dev setup
  expect_code 0 "$world/bin/nvcc cannot compile C++20"
  [[ $(cat "$world"/tree/build/.setup/nvcc-*) == "$world/toolkit/bin/nvcc" ]] || fail "the good nvcc was not taken"
}

ci_ends_with_the_code_of_the_tests() {
  fresh_world
  printf '#!/bin/sh\necho "dev $*"; exit 5\n' >"$world/tree/dev"
  mkdir "$world/tree/.ci"
  cp "$tree/.ci/run" "$world/tree/.ci/"
  code=0
  said=$(bash "$world/tree/.ci/run") || code=$?
  [[ $code -eq 5 && $said == "dev test" ]] || fail ".ci/run ended with $code and said: $said"
}

# ---- the world --------------------------------------------------------------------------------------------------

fresh_world() {
  rm -rf "${world:?}"/*
  mkdir -p "$world/bin" "$world/tree"
  cp "$tree/dev" "$tree/CMakePresets.json" "$world/tree/"
  : >"$calls"
  tr ' ' '\n' <<<"$(sed -n '/^packages_of() {/,/^}/p' "$tree/dev")" | grep -E '^[a-z].*[a-z+-]$' | sort -u >"$installed"
  local tool
  for tool in bash cat cut dirname env grep head id mkdir paste sed sha256sum tail touch tr xargs chmod; do
    ln -s "$(command -v "$tool")" "$world/bin/$tool"
  done
  stand_in dpkg-query 'echo dpkg-query >>"$calls.queries"; shift 3; for p; do grep -qx "$p" "$installed" && echo "$p installed"; done; true'
  stand_in apt-get 'name=$1; [ "$1" = update ] || { shift 5; name="$name $*"; printf "%s\n" "$@" >>"$installed"; }; echo "apt-get $name" >>"$calls"'
  stand_in python3 'echo python3 >>"$calls"; exit 1'
  stand_in g++ 'echo 12.2.0'
  stand_in nvcc 'exit 0'
}

stand_in() {
  rm -f "$world/bin/$1"
  printf '#!/bin/bash\ncalls=%q installed=%q\n%s\n' "$calls" "$installed" "$2" >"$world/bin/$1"
  chmod +x "$world/bin/$1"
}

forget() {
  local package
  for package in "$@"; do
    sed -i "/^$package\$/d" "$installed"
  done
}

apt_is_offline() { stand_in apt-get 'echo "no route to anywhere"; exit 100'; }

# A toolkit of this machine at its usual place fails too, for want of a compiler.
break_compilers() {
  stand_in nvcc 'exit 1'
  stand_in g++ '[ "$1" = -dumpfullversion ] && echo 12.2.0'
}

dev() {
  code=0
  said=$(PATH=$world/bin CUDA_PATH=${CUDA_PATH:-} "$world/tree/dev" "$@" 2>&1) || code=$?
}

fastest_of_five_ms() {
  local start fastest=100000 took
  for _ in 1 2 3 4 5; do
    start=${EPOCHREALTIME/./}
    dev setup
    took=$(((${EPOCHREALTIME/./} - start) / 1000))
    [[ $took -ge $fastest ]] || fastest=$took
  done
  echo "$fastest"
}

# expect_code CODE SENTENCE...
expect_code() {
  [[ $code -eq $1 ]] || fail "expected exit code $1, got $code: $said"
  local sentence
  for sentence in "${@:2}"; do
    [[ $said == *"$sentence"* ]] || fail "expected to hear '$sentence', heard: $said"
  done
}

expect_calls() {
  [[ $(<"$calls") == "$1" ]] || fail "expected the calls '$1', got: $(<"$calls")"
}

fail() {
  printf 'dev_test: %s: %s\n' "${FUNCNAME[-2]}" "$*" >&2
  printf '  in %s\n' "${FUNCNAME[@]:1}" >&2
  exit 1
}

main
