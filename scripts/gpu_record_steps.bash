# SPDX-FileCopyrightText: The flotilla authors
# SPDX-License-Identifier: Apache-2.0

# The steps of gpu_record. Each step runs one program and appends its results to the record. gpu_record
# sources this file, and defines these variables: bin, out, work, devices, on_gpus, short, limit,
# program_limit, begin, and the counts.

# begin_section NAME: begins a section of the record, and sets $seconds to the time limit of the
# program. Fails if no time is left.
begin_section() {
  say "" "== $1"
  echo "gpu_record: $1" >&2
  local left=$((begin + limit - $(date +%s)))
  seconds=$((left < program_limit ? left : program_limit))
  if ((seconds <= 0)); then
    say "not run: $time_over"
    not_run=$((not_run + 1))
    return 1
  fi
}
time_over="the time limit of the whole run ($limit s) is over"

# cut_off STATUS: succeeds if the time limit of the whole run stopped the program. That is not a
# failure of the program.
cut_off() { (($1 == 124 || $1 == 137)) && ((seconds < program_limit)); }

# missing NAME: records that a program is missing. That is a failure, because the record must not say
# "passed" without this program. Exception: test_contexts_runtime may be missing on CPU devices,
# because it is built only with nvcc and would skip all its tests there.
missing() {
  if [[ $1 == test_contexts_runtime ]] && ! $on_gpus; then
    say "skipped: $1 is missing"
    skipped=$((skipped + 1))
  else
    say "FAILED: $1 is missing"
    failed=$((failed + 1))
  fi
}

# guarded COMMAND...: runs the command with its time limit. The output goes to the fifo, and the exit
# status to $status.
guarded() {
  timeout --kill-after=10 "$seconds" "$@" >"$work/fifo" 2>&1 </dev/null &
  child=$!
  status=0
  wait "$child" || status=$?
  child=
}

describe_status() {
  case $1 in
    124 | 137) echo "it was stopped after $seconds s" ;;
    *) if (($1 > 128)); then echo "signal $(($1 - 128)) ended it"; else echo "it ended with $1"; fi ;;
  esac
}

# parse_tests: reads GoogleTest's output and writes one line for each test as soon as the test ends.
# Also writes the output of failed tests, and what other tests have measured. This function does not use awk, because awk may buffer its
# input, and the record of a run that is cut off must show which tests ran. Writes to the file counts:
# passed, failed, skipped, not run, total, and the name of a test that did not end.
parse_tests() {
  local ok=0 bad=0 left_out=0 total=0 running= output=() line name time
  local ended='^\[ *(OK|SKIPPED|FAILED) *\] (.*) \(([0-9]+) ms\)$'
  while IFS= read -r line || [[ -n $line ]]; do
    if [[ $line =~ $ended ]]; then
      name=${BASH_REMATCH[2]%%, where *} time=${BASH_REMATCH[3]}
      case ${BASH_REMATCH[1]} in
        OK) ok=$((ok + 1)) && result passed "$time" "$name" && say_measured "${output[@]}" ;;
        SKIPPED) left_out=$((left_out + 1)) && result skipped "$time" "$name  (${output[*]: -1})" ;;
        FAILED) bad=$((bad + 1)) && result FAILED "$time" "$name" && say "${output[@]/#/    | }" ;;
      esac
      running=
    elif [[ $line == '[ RUN      ] '* ]]; then
      running=${line#'[ RUN      ] '} output=()
    elif ((total == 0)) && [[ $line =~ ^\[==========\]\ Running\ ([0-9]+)\ test ]]; then
      total=${BASH_REMATCH[1]}
    elif [[ -n $running ]] && ((${#output[@]} < 40)); then
      output+=("$line")
    fi
  done
  local rest=$((total - ok - bad - left_out - (${#running} > 0)))
  echo "$ok $bad $left_out $((rest > 0 ? rest : 0)) $total $running" >"$work/counts"
  if [[ -n $running ]] && ((${#output[@]})); then printf '    | %s\n' "${output[@]}" >"$work/counts.output"; fi
}

# say_measured LINE...: records the lines in which a test says what it has measured.
say_measured() {
  local line
  for line; do
    if [[ $line == 'measured: '* ]]; then say "    | $line"; fi
  done
}

result() { printf '%-8s %8s ms  %s\n' "$@" >>"$out"; }

# tests NAME PROGRAM FILTER SHORT_FILTER: runs the tests of a program that match the filter.
tests() {
  local name=$1 program=$2 filter=$3
  if $short; then filter=$4; fi
  begin_section "$name" || return 0
  if [[ ! -x $bin/$program ]]; then
    missing "$program"
    return
  fi
  local environment=(FLOTILLA_TEST_DEVICES="${devices%%:*}")
  say "\$ ${environment[*]} ./$program --gtest_filter='$filter'"
  local start reader status ok bad left_out rest total unfinished
  start=$(date +%s)
  : >"$work/counts.output"
  without_paths <"$work/fifo" | parse_tests &
  reader=$!
  guarded env "${environment[@]}" "$bin/$program" --gtest_color=no --gtest_filter="$filter"
  wait "$reader"
  read -r ok bad left_out rest total unfinished <"$work/counts"
  if cut_off "$status"; then
    say "not run: $((rest + 1)) of $total tests: $time_over"
    rest=$((rest + 1))
  elif [[ -n $unfinished ]]; then
    say "FAILED          - ms  $unfinished  (it did not end)"
    cat "$work/counts.output" >>"$out"
    say "FAILED: $(describe_status "$status")"
    bad=$((bad + 1))
  elif ((status != 0 && bad == 0)); then
    say "FAILED: $(describe_status "$status")"
    bad=1
  elif ((total == 0)); then
    say "FAILED: no test matched"
    bad=1
  fi
  passed=$((passed + ok)) failed=$((failed + bad)) skipped=$((skipped + left_out)) not_run=$((not_run + rest))
  say "result: $ok passed, $bad failed, $left_out skipped, $rest not run, $(($(date +%s) - start)) s"
}

# one NAME RESULT DETAIL: records the result of a program that counts as one test.
one() {
  case $2 in
    passed) passed=$((passed + 1)) && say "passed   $1" ;;
    skipped) skipped=$((skipped + 1)) && say "skipped  $1  ($3)" ;;
    *) failed=$((failed + 1)) && say "FAILED   $1  ($3)" ;;
  esac
}

# sample PROGRAM PATTERN [ARGUMENT...]: runs a sample. It passes if its exit status is 0 and its output
# matches the pattern. It counts as skipped if its exit status is 77, or, on CPU devices, if its output
# says that it needs a GPU.
sample() {
  local program=$1 pattern=$2 reader status
  shift 2
  [[ -x $bin/$program ]] || return 0
  begin_section "sample $program" || return 0
  say "\$ FLOTILLA_DEVICES=$devices ./$program"
  without_paths <"$work/fifo" >"$work/output" &
  reader=$!
  guarded env FLOTILLA_DEVICES="$devices" "$bin/$program" "$@"
  wait "$reader"
  tail -n 5 "$work/output" | sed 's/^/    | /; s/ *$//' >>"$out"
  if cut_off "$status"; then
    say "not run: $time_over"
    not_run=$((not_run + 1))
  elif ((status == 77)) || { ((status != 0)) && ! $on_gpus && grep -qE 'no driver|needs a GPU' "$work/output"; }; then
    one "$program" skipped "needs a GPU"
  elif ((status != 0)); then
    one "$program" FAILED "$(describe_status "$status")"
  elif ! grep -qE "$pattern" "$work/output"; then
    one "$program" FAILED "its output does not match '$pattern'"
  else
    one "$program" passed
  fi
}

# conformance: compares the driver's answers about contexts with a stored transcript. On GPUs it is
# the transcript of a GPU, on CPU devices the transcript of the CPU driver.
conformance() {
  begin_section conformance || return 0
  local program=$bin/flotilla_conformance image expected libraries=$LD_LIBRARY_PATH reader status common
  local stored=h200-conformance.txt kernels=conformance_kernels.fatbin
  $on_gpus || stored=transcript.txt kernels=conformance_kernels.so
  if ! [[ -x $program ]] || ! image=$(find_file $kernels) || ! expected=$(find_file $stored) ||
    ! common=$(find_file common.awk); then
    missing "flotilla_conformance, $kernels, $stored or common.awk"
    return
  fi
  local environment=(env)
  if ! $on_gpus; then
    local dropin
    dropin=$(find_file cpu/libcuda.so.1 || find_file libcuda.so.1) || dropin=
    libraries=$(dirname "$dropin"):$libraries
    environment=(env FLOTILLA_DEVICES=cpu:2 FLOTILLA_CPU_MEMORY=16GiB)
  fi
  say "\$ ./flotilla_conformance $kernels"
  cat <"$work/fifo" >"$work/transcript" &
  reader=$!
  guarded env LD_LIBRARY_PATH="$libraries" "${environment[@]:1}" "$program" "$image"
  wait "$reader"
  # The stored transcript has no answers of sections that crashed or that needed a second GPU.
  awk -f "$common" "$expected" "$expected" | grep -vE '^\(ended by signal|needs two devices$' >"$work/stored" || true
  awk -f "$common" "$expected" "$work/transcript" >"$work/now" || true
  diff "$work/stored" "$work/now" | grep '^[<>] ' | grep -vE '^> (# |\(ended by signal|.*needs two devices$)' |
    without_paths >"$work/differences" || true
  local lines
  lines=$(grep -c . "$work/now" || true)
  say "$lines lines; $stored has $(grep -c . "$work/stored" || true); < stored, > now:"
  sed 's/^/    | /' "$work/differences" >>"$out"
  if cut_off "$status"; then
    say "not run: $time_over"
    not_run=$((not_run + 1))
  elif ((status != 0 && status != 1)); then
    one conformance FAILED "$(describe_status "$status")"
  elif ((lines < 500)); then
    one conformance FAILED "the transcript is not complete"
  elif [[ -s $work/differences ]]; then
    one conformance FAILED "$(grep -c . "$work/differences") lines differ"
  else
    one conformance passed
  fi
}
