#!/usr/bin/env bash
# Runs the tests of kernels on an OpenCL device: that of this machine, or pocl, which is one on the processor. Passes
# the source code of every kernel that is compiled there through NVRTC, too, which needs no card. Then runs them on a
# stand-in for the CUDA driver, which compiles their source code with g++.
set -euo pipefail
cd "$(dirname "$0")/.."

skipped() {
    echo "devices: SKIPPED, $1"
    exit 0
}

has_opencl() { ldconfig -p | grep libOpenCL && ls /etc/OpenCL/vendors/*.icd; }
packages=(pocl-opencl-icd ocl-icd-libopencl1)
if ! has_opencl > /dev/null 2>&1 && [ "$(id -u)" = 0 ] && command -v apt-get > /dev/null; then
    apt-get install -y -qq "${packages[@]}" > /dev/null 2>&1 \
        || { apt-get update -qq && apt-get install -y -qq "${packages[@]}"; } > /dev/null 2>&1 || true
fi
has_opencl > /dev/null 2>&1 || skipped "this machine has no driver of OpenCL (apt-get install ${packages[*]})"

# The compiler of CUDA, from a Python package.
nvrtc=target/nvrtc
if [ ! -d "$nvrtc" ]; then
    { python3 -m venv "$nvrtc" && "$nvrtc/bin/pip" install -q nvidia-cuda-nvrtc-cu12; } > /dev/null 2>&1 || rm -rf "$nvrtc"
fi
libraries=$(find "$PWD/$nvrtc" -type d -path '*cuda_nvrtc/lib' 2> /dev/null | head -n 1)
[ -n "$libraries" ] || echo "NVRTC: SKIPPED, the Python package nvidia-cuda-nvrtc-cu12 cannot be installed here"

rm -rf target/stand-in && mkdir -p target/stand-in
export RUST_BACKTRACE=0
stand_in=$PWD/target/stand-in
if command -v g++ > /dev/null; then
    g++ -std=c++17 -O1 -shared -fPIC tests/third-party/stand-in/cuda.cpp -o "$stand_in/libcuda.so"
    ln -sf libcuda.so "$stand_in/libnvrtc.so"
    g++ -std=c++17 -O1 -shared -fPIC tests/third-party/stand-in/opencl.cpp -o "$stand_in/libopencl-faults.so"
else
    echo "CUDA: SKIPPED, this machine has no g++" && stand_in=
fi
# For one test the library is not optimized.
cargo test -q -p tapewright-strategies --features opencl --config profile.test.package.tapewright-strategies.opt-level=0 \
    --lib the_driver_runs_a_kernel \
    || skipped "the driver of OpenCL does not run a kernel of its manual here"
LD_LIBRARY_PATH="$stand_in${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}" \
    OPENCL_DYLIB_PATH="${stand_in:+$stand_in/libopencl-faults.so}" \
    cargo test -q -p tapewright-third-party --features opencl,cuda

# Views on the host are on the device here. What is left out: functions whose last digits differ there, rules in Rust,
# which devices do not have, and counts of the loops of the host.
others=(
    functions:: joined:: scans::functions numbers::k15 numbers::launches_in_lanes panics:: tangents::tangents_of_rows
    literature::k6_ literature::k10_ literature::k17_ along::a_loop_and_a_region
    trees::coordinates_between_rows trees::functions_of_three_arguments trees::single_precision trees::the_same_new_value
)
# Runs the tests with libraries of a folder.
kernels() {
    LD_LIBRARY_PATH="$1${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}" RUSTFLAGS="--cfg tapewright_on_device" \
        CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-target}/devices" \
        cargo test -q -p tapewright-kernel-tests --test kernels --features tapewright/opencl,tapewright/cuda \
        -- "${others[@]/#/--skip=}" --nocapture > target/devices.log 2>&1 || { tail -n 200 target/devices.log; exit 1; }
    tail -n 3 target/devices.log
}
kernels "$libraries"
passed=$(grep -c 'has passed NVRTC' target/devices.log || true)
echo "NVRTC: $passed kernels for compute_80 and compute_90"
if [ -n "$libraries" ] && [ "$passed" = 0 ]; then
    echo "NVRTC: SKIPPED, its library cannot be loaded here"
elif [ -n "$libraries" ] && [ "$passed" -le 100 ]; then
    echo "more than 100 kernels should have passed NVRTC"
    exit 1
fi

if [ -n "$stand_in" ]; then
    TAPEWRIGHT_TESTS=cuda kernels "$stand_in"
    compiled=$(find "$stand_in/kernels" -name '*.so' | wc -l)
    echo "CUDA: $compiled kernels on a stand-in for the driver"
    [ "$compiled" -gt 100 ] || { echo "more than 100 kernels should have run there"; exit 1; }
fi
