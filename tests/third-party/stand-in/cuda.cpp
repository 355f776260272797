// A stand-in for two libraries of NVIDIA, so that tests run without a card: the CUDA driver, and its compiler NVRTC.
//
//     g++ -std=c++17 -O1 -shared -fPIC cuda.cpp -o libcuda.so && ln -s libcuda.so libnvrtc.so
//
// The only device is the processor. NVRTC gives a kernel to g++; its "PTX" names the library that comes out. The driver
// is stricter than a card: new memory is full of NaN, addresses outside arrays are errors, and so are calls without a
// context; a write beside an array ends the program. The threads of a launch run one after another, the last one first.
//
// `tapewright_fail(name, nth, code)` lets the nth call of a function fail, counted from now; -nth that one and those that
// follow. After codes of a broken context, 700 to 719, all calls fail. `tapewright_fail("", 0, 0)` ends that.

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <fstream>
#include <map>
#include <mutex>
#include <sstream>
#include <string>
#include <sys/stat.h>
#include <unistd.h>

#define EXPORT extern "C" __attribute__((visibility("default")))
// Begins a function of the driver, which may fail.
#define BEGIN(check) \
    std::lock_guard<std::mutex> guard(lock); \
    if (int code = check(__func__)) return code

namespace {

// Codes of the driver and of NVRTC.
enum Code : int {
    SUCCESS = 0,
    INVALID_VALUE = 1,
    OUT_OF_MEMORY = 2,
    NOT_INITIALIZED = 3,
    INVALID_DEVICE = 101,
    INVALID_IMAGE = 200,
    INVALID_CONTEXT = 201,
    NOT_FOUND = 500,
    BROKEN = 700,
    LAST_BROKEN = 719,
    NVRTC_NO_PROGRAM = 4,
    NVRTC_WRONG_OPTION = 5,
    NVRTC_REFUSED = 6,
};

// One call of the driver at a time.
std::mutex lock;

struct {
    std::string function;
    int calls_left = 0;
    bool again = false;
    int code = SUCCESS, forever = SUCCESS;
} fault;

// Counts a call; returns what it fails with.
int any_time(const char *function) {
    if (fault.forever) return fault.forever;
    if (fault.calls_left == 0 || fault.function != function || --fault.calls_left > 0) return SUCCESS;
    if (fault.again) fault.calls_left = 1;
    if (fault.code >= BROKEN && fault.code <= LAST_BROKEN) fault.forever = fault.code;
    return fault.code;
}

bool is_initialized = false;
int the_context;
thread_local void *current = nullptr;

int after_init(const char *function) {
    int code = any_time(function);
    return code ? code : is_initialized ? SUCCESS : NOT_INITIALIZED;
}

int in_context(const char *function) {
    int code = after_init(function);
    return code ? code : current == &the_context ? SUCCESS : INVALID_CONTEXT;
}

// Most threads of a block, and along its last dimension.
constexpr int THREADS = 1024, LAST_THREADS = 64;
constexpr size_t MEMORY = size_t(4) << 30;
// Bytes in front of and behind each array, which nobody may change.
constexpr size_t MARGIN = 64;
constexpr int UNTOUCHED = 0xa5;
// Lengths of the arrays, by address.
std::map<uintptr_t, size_t> arrays;
size_t used = 0;

// Returns true if so many bytes from this address on are in an array.
bool is_inside(uintptr_t address, size_t bytes) {
    auto next = arrays.upper_bound(address);
    if (next == arrays.begin()) return false;
    const auto [start, length] = *std::prev(next);
    return address - start <= length && bytes <= length - (address - start);
}

unsigned char *at(uintptr_t address) { return reinterpret_cast<unsigned char *>(address); }

void check_margins(uintptr_t address, size_t length) {
    for (size_t k = 0; k < MARGIN; k++) {
        if (at(address)[k - MARGIN] == UNTOUCHED && at(address)[length + k] == UNTOUCHED) continue;
        fprintf(stderr, "a kernel has written beside an array of %zu bytes\n", length);
        abort();
    }
}

struct Dimensions {
    unsigned x, y, z;
};

// A kernel with its loops, as `RUN` below makes it. Returns false if a pointer does not point to an array.
using Entry = bool (*)(Dimensions grid, Dimensions block, void **parameters, bool (*is_inside)(uintptr_t, size_t));

// In front of every kernel: the words of CUDA, and loops over all threads.
const char *PRELUDE = R"(
#include <math.h>
#include <stdint.h>
#include <utility>
#define __device__
#define __global__
struct Dimensions { unsigned x, y, z; };
static Dimensions gridDim, blockDim, blockIdx, threadIdx;
static inline float __int_as_float(int bits) { float x; __builtin_memcpy(&x, &bits, sizeof x); return x; }
using IsInside = bool (*)(uintptr_t, size_t);
template <class T> bool is_valid(const T &, IsInside) { return true; }
template <class T> bool is_valid(T *p, IsInside is_inside) { return !p || is_inside(uintptr_t(p), sizeof(T)); }
template <class F> void downwards(unsigned count, unsigned &k, F f) { for (k = count; k-- > 0;) f(); }
template <class F> void everywhere(Dimensions count, Dimensions &id, F f) {
    downwards(count.z, id.z, [&] { downwards(count.y, id.y, [&] { downwards(count.x, id.x, f); }); });
}
template <class... P, size_t... K>
bool run(void (*kernel)(P...), void **parameters, IsInside is_inside, std::index_sequence<K...>) {
    for (bool valid : {is_valid(*static_cast<P *>(parameters[K]), is_inside)...}) if (!valid) return false;
    everywhere(gridDim, blockIdx, [&] {
        everywhere(blockDim, threadIdx, [&] { kernel(*static_cast<P *>(parameters[K])...); });
    });
    return true;
}
template <class... P> bool run_all(void (*kernel)(P...), void **parameters, IsInside is_inside) {
    return run(kernel, parameters, is_inside, std::index_sequence_for<P...>());
}
#define RUN(kernel) extern "C" bool kernel##_run(Dimensions grid, Dimensions block, void **p, IsInside is_inside) { \
    gridDim = grid; blockDim = block; return run_all(kernel, p, is_inside); }
#line 1
)";

// Returns the source with an entry for each kernel.
std::string with_entries(const std::string &source) {
    const std::string words = "__global__ void ";
    std::string entries;
    for (size_t k = source.find(words); k != std::string::npos; k = source.find(words, k)) {
        k += words.size();
        entries += "RUN(" + source.substr(k, source.find('(', k) - k) + ")\n";
    }
    return PRELUDE + source + entries;
}

// Folder of the libraries of kernels, beside this library.
std::string folder() {
    Dl_info info;
    dladdr(reinterpret_cast<void *>(folder), &info);
    const std::string path = info.dli_fname;
    const std::string folder = path.substr(0, path.rfind('/')) + "/kernels";
    mkdir(folder.c_str(), 0777);
    return folder;
}

std::string contents(const std::string &path) {
    std::stringstream text;
    text << std::ifstream(path).rdbuf();
    return text.str();
}

struct Program {
    std::string source, log, ptx;
};

} // namespace

EXPORT void tapewright_fail(const char *function, int nth, int code) {
    std::lock_guard<std::mutex> guard(lock);
    fault = {function, std::abs(nth), nth < 0, code, SUCCESS};
}

// The driver.

EXPORT int cuInit(unsigned) {
    BEGIN(any_time);
    is_initialized = true;
    return SUCCESS;
}

EXPORT int cuDriverGetVersion(int *version) {
    *version = 12000;
    return SUCCESS;
}

EXPORT int cuGetErrorName(int code, const char **text) {
    static std::map<int, std::string> names;
    std::lock_guard<std::mutex> guard(lock);
    *text = names.emplace(code, "error " + std::to_string(code)).first->second.c_str();
    return SUCCESS;
}

EXPORT int cuGetErrorString(int code, const char **text) { return cuGetErrorName(code, text); }

EXPORT int cuDeviceGetCount(int *count) {
    BEGIN(after_init);
    *count = 1;
    return SUCCESS;
}

EXPORT int cuDeviceGet(int *device, int ordinal) {
    BEGIN(after_init);
    *device = ordinal;
    return ordinal == 0 ? SUCCESS : INVALID_DEVICE;
}

EXPORT int cuDeviceGetName(char *name, int length, int) {
    BEGIN(after_init);
    snprintf(name, length, "stand-in for a card");
    return SUCCESS;
}

EXPORT int cuDeviceTotalMem_v2(size_t *bytes, int) {
    BEGIN(after_init);
    *bytes = MEMORY;
    return SUCCESS;
}

EXPORT int cuDeviceGetAttribute(int *value, int attribute, int) {
    BEGIN(after_init);
    // Threads of a block, and along its dimensions; compute capability.
    const std::map<int, int> known = {{1, THREADS}, {2, THREADS}, {3, THREADS}, {4, LAST_THREADS}, {75, 8}, {76, 0}};
    const auto found = known.find(attribute);
    if (found == known.end()) return INVALID_VALUE;
    *value = found->second;
    return SUCCESS;
}

EXPORT int cuDevicePrimaryCtxRetain(void **context, int) {
    BEGIN(after_init);
    *context = &the_context;
    return SUCCESS;
}

EXPORT int cuCtxSetCurrent(void *context) {
    BEGIN(after_init);
    current = context;
    return SUCCESS;
}

EXPORT int cuMemAlloc_v2(uintptr_t *address, size_t bytes) {
    BEGIN(in_context);
    if (bytes == 0) return INVALID_VALUE;
    auto *start = bytes <= MEMORY - used ? static_cast<unsigned char *>(malloc(bytes + 2 * MARGIN)) : nullptr;
    if (!start) return OUT_OF_MEMORY;
    memset(start, UNTOUCHED, bytes + 2 * MARGIN);
    memset(start + MARGIN, 0xff, bytes);
    *address = reinterpret_cast<uintptr_t>(start + MARGIN);
    arrays[*address] = bytes;
    used += bytes;
    return SUCCESS;
}

EXPORT int cuMemFree_v2(uintptr_t address) {
    BEGIN(in_context);
    const auto found = arrays.find(address);
    if (found == arrays.end()) return INVALID_VALUE;
    check_margins(address, found->second);
    used -= found->second;
    arrays.erase(found);
    free(at(address) - MARGIN);
    return SUCCESS;
}

EXPORT int cuMemcpyDtoH_v2(void *to, uintptr_t from, size_t bytes) {
    BEGIN(in_context);
    if (!is_inside(from, bytes)) return INVALID_VALUE;
    memcpy(to, at(from), bytes);
    return SUCCESS;
}

EXPORT int cuMemcpyHtoD_v2(uintptr_t to, const void *from, size_t bytes) {
    BEGIN(in_context);
    if (!is_inside(to, bytes)) return INVALID_VALUE;
    memcpy(at(to), from, bytes);
    return SUCCESS;
}

EXPORT int cuMemcpyDtoDAsync_v2(uintptr_t to, uintptr_t from, size_t bytes, void *) {
    BEGIN(in_context);
    if (!is_inside(to, bytes) || !is_inside(from, bytes)) return INVALID_VALUE;
    memcpy(at(to), at(from), bytes);
    return SUCCESS;
}

EXPORT int cuMemsetD8Async(uintptr_t to, unsigned char byte, size_t bytes, void *) {
    BEGIN(in_context);
    if (!is_inside(to, bytes)) return INVALID_VALUE;
    memset(at(to), byte, bytes);
    return SUCCESS;
}

EXPORT int cuModuleLoadData(void **module, const char *ptx) {
    BEGIN(in_context);
    *module = dlopen(ptx, RTLD_NOW | RTLD_LOCAL);
    return *module ? SUCCESS : INVALID_IMAGE;
}

EXPORT int cuModuleUnload(void *module) {
    BEGIN(in_context);
    dlclose(module);
    return SUCCESS;
}

EXPORT int cuModuleGetFunction(void **function, void *module, const char *name) {
    BEGIN(in_context);
    *function = dlsym(module, (std::string(name) + "_run").c_str());
    return *function ? SUCCESS : NOT_FOUND;
}

EXPORT int cuFuncGetAttribute(int *value, int attribute, void *) {
    BEGIN(in_context);
    *value = THREADS;
    return attribute == 0 ? SUCCESS : INVALID_VALUE;
}

EXPORT int cuLaunchKernel(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                          unsigned, void *, void **parameters, void **) {
    BEGIN(in_context);
    const bool has_items = gx && gy && gz && bx && by && bz;
    if (!has_items || gx > 0x7fffffff || gy > 65535 || gz > 65535) return INVALID_VALUE;
    if (bx > THREADS || by > THREADS || bz > LAST_THREADS) return INVALID_VALUE;
    if (uint64_t(bx) * by * bz > THREADS) return INVALID_VALUE;
    const auto entry = reinterpret_cast<Entry>(function);
    return entry({gx, gy, gz}, {bx, by, bz}, parameters, is_inside) ? SUCCESS : INVALID_VALUE;
}

// The compiler.

EXPORT int nvrtcVersion(int *major, int *minor) {
    *major = 12;
    *minor = 0;
    return SUCCESS;
}

EXPORT const char *nvrtcGetErrorString(int) { return "error of NVRTC"; }

EXPORT int nvrtcCreateProgram(Program **program, const char *source, const char *, int, const char *const *,
                              const char *const *) {
    BEGIN(any_time);
    *program = new Program{source, "", ""};
    return SUCCESS;
}

EXPORT int nvrtcCompileProgram(Program *program, int count, const char *const *options) {
    program->log = "told to fail";
    {
        BEGIN(any_time);
    }
    std::string flags = "-std=c++17 -O1 -w -shared -fPIC -Wl,-Bsymbolic -x c++";
    bool has_architecture = false;
    for (int k = 0; k < count; k++) {
        const std::string option = options[k];
        const bool names_architecture = option.rfind("--gpu-architecture=compute_", 0) == 0;
        has_architecture |= names_architecture;
        if (option == "--fmad=false") flags += " -ffp-contract=off";
        else if (!names_architecture) return NVRTC_WRONG_OPTION;
    }
    if (!has_architecture) return NVRTC_WRONG_OPTION;
    const std::string source = with_entries(program->source);
    // Another process may compile the same kernel.
    const auto hash = std::hash<std::string>()(source + flags);
    const std::string library = folder() + "/" + std::to_string(hash) + ".so";
    program->ptx = library;
    if (access(library.c_str(), R_OK) == 0) return SUCCESS;
    std::stringstream own;
    own << library << '.' << getpid() << '.' << program;
    const std::string begun = own.str(), text = begun + ".cu", log = begun + ".log";
    std::ofstream(text) << source;
    const int status = system(("g++ " + flags + " '" + text + "' -o '" + begun + "' 2> '" + log + "'").c_str());
    program->log = contents(log);
    if (status == 0) rename(begun.c_str(), library.c_str());
    for (const std::string &path : {text, log}) unlink(path.c_str());
    return status == 0 ? SUCCESS : NVRTC_REFUSED;
}

EXPORT int nvrtcGetProgramLogSize(Program *program, size_t *size) {
    *size = program->log.size() + 1;
    return SUCCESS;
}

EXPORT int nvrtcGetProgramLog(Program *program, char *log) {
    strcpy(log, program->log.c_str());
    return SUCCESS;
}

EXPORT int nvrtcGetPTXSize(Program *program, size_t *size) {
    *size = program->ptx.size() + 1;
    return program->ptx.empty() ? NVRTC_NO_PROGRAM : SUCCESS;
}

EXPORT int nvrtcGetPTX(Program *program, char *ptx) {
    strcpy(ptx, program->ptx.c_str());
    return SUCCESS;
}

EXPORT int nvrtcDestroyProgram(Program **program) {
    delete *program;
    *program = nullptr;
    return SUCCESS;
}
