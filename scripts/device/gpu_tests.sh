#!/bin/sh
# Runs the GPU tests on a machine that has a GPU and nothing of ours: programs and libraries lie in .carry (built elsewhere).
cd "$(dirname "$0")/../.." || exit 1
export LD_LIBRARY_PATH="$PWD/.carry/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}" CUPILOT_WORKER="$PWD/.carry/cupilot-worker"
out="${OUT:-/tmp}"
nvidia-smi --query-gpu=name,driver_version,clocks.sm,power.draw --format=csv,noheader
ls -d /usr/local/cuda* 2>/dev/null
for group in "${@:-*}"; do
  echo "== $group"
  timeout 150 .carry/test_gpu "$group" -d yes >"$out/log" 2>&1
  echo "rc $?"
  cat "$out/log" >>"$out/gpu_tests.log"
  grep -v '^\.*$' "$out/log" | grep -v '^-*$' | tail -c 6000
done
