#!/usr/bin/env bash
# Measures kernels on a machine with a graphics processor, which needs no Rust: builds `examples/devices` here, carries
# it there, runs it, and JAX's gradients of the same functions beside it if JAX is there, and prints both tables.
#
#     benches/device.sh user@machine      by ssh and scp
#     benches/device.sh --here            on this machine
#     benches/device.sh --pack FOLDER     only builds, into a folder that is carried by other means; `run.sh` is in it
set -euo pipefail
cd "$(dirname "$0")/.."
[ $# -ge 1 ] || { sed -n '2,9s/^# \{0,1\}//p' "$0"; exit 2; }

cargo build --release -p tapewright-examples --features cuda --example devices
folder=$(mktemp -d)
if [ "$1" = --pack ]; then folder=$2; mkdir -p "$folder"; fi
cp "${CARGO_TARGET_DIR:-target}/release/examples/devices" benches/device_jax.py "$folder"
cat > "$folder/run.sh" << 'RUN'
#!/bin/sh
# Prints a row for each target and problem: target, problem, values and gradient in ms, ratio, share of equal bits, bytes.
cd "$(dirname "$0")"
nvidia-smi -L 2> /dev/null | sed 's/^/# /'
./devices --csv
if python3 -c 'import jax' 2> /dev/null; then python3 device_jax.py; else echo '# JAX is not installed here'; fi
RUN
chmod +x "$folder/run.sh"
case $1 in
--pack) echo "$folder/run.sh" ;;
--here) "$folder/run.sh" ;;
*)
    there=$(ssh "$1" mktemp -d)
    scp -q "$folder"/* "$1:$there"
    ssh "$1" "$there/run.sh; rm -r $there"
    ;;
esac
