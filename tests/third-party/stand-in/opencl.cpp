// A library in front of the loader of OpenCL (libOpenCL.so.1): calls go on to it, unless they are told to fail. So tests
// meet the errors of a device that works.
//
//     g++ -std=c++17 -O1 -shared -fPIC opencl.cpp -o libopencl-faults.so
//     OPENCL_DYLIB_PATH=/…/libopencl-faults.so …
//
// `tapewright_fail(name, nth, code)` lets the nth call of a function fail, counted from now; -nth that one and those that
// follow. After the code of a device that is lost all calls fail. The name "a line that is no C" adds one to a source.
// `tapewright_fail("", 0, 0)` ends that.
//
// Environment variables change what the device says of itself: TAPEWRIGHT_NO_DOUBLE, and TAPEWRIGHT_LARGEST_GROUP, a
// number of work items. A kernel that is run in larger groups fails.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <mutex>
#include <string>

#define EXPORT extern "C" __attribute__((visibility("default")))

namespace {

// Codes of OpenCL.
enum Code : int {
    SUCCESS = 0,
    DEVICE_NOT_AVAILABLE = -2,
    INVALID_WORK_GROUP_SIZE = -54,
};

// What is asked of devices, and of kernels.
enum Question : unsigned {
    DEVICE_MAX_WORK_GROUP_SIZE = 0x1004,
    DEVICE_DOUBLE_FP_CONFIG = 0x1032,
    KERNEL_WORK_GROUP_SIZE = 0x11B0,
};

using Object = struct Opaque *;
using Notify = void (*)(Object, void *);

std::mutex lock;

struct {
    std::string function;
    int calls_left = 0;
    bool again = false;
    int code = SUCCESS, forever = SUCCESS;
} fault;

// Counts a call; returns what it fails with.
int failure(const char *function) {
    std::lock_guard<std::mutex> guard(lock);
    if (fault.forever) return fault.forever;
    if (fault.calls_left == 0 || fault.function != function || --fault.calls_left > 0) return SUCCESS;
    if (fault.again) fault.calls_left = 1;
    if (fault.code == DEVICE_NOT_AVAILABLE) fault.forever = fault.code;
    return fault.code;
}

// The function of the loader, of the same type as a function of this library.
template <class F> F *real(const char *name, F *) {
    static void *loader = dlopen("libOpenCL.so.1", RTLD_NOW | RTLD_LOCAL);
    return loader ? reinterpret_cast<F *>(dlsym(loader, name)) : nullptr;
}

size_t largest_group() {
    const char *size = getenv("TAPEWRIGHT_LARGEST_GROUP");
    return size ? strtoul(size, nullptr, 10) : SIZE_MAX;
}

template <class T> int answer(T found, size_t size, void *to, size_t *needed) {
    if (needed) *needed = sizeof found;
    if (to && size >= sizeof found) memcpy(to, &found, sizeof found);
    return SUCCESS;
}

} // namespace

// Defines a function that returns a code.
#define CODE(name, parameters, ...) \
    EXPORT int name parameters { \
        static auto *const next = real(#name, &name); \
        if (int code = next ? failure(#name) : DEVICE_NOT_AVAILABLE) return code; \
        return next(__VA_ARGS__); \
    }
// Defines a function that returns an object; its last parameter is where the code goes.
#define OBJECT(name, parameters, ...) \
    EXPORT Object name parameters { \
        static auto *const next = real(#name, &name); \
        if (int failed = next ? failure(#name) : DEVICE_NOT_AVAILABLE) { \
            if (code) *code = failed; \
            return nullptr; \
        } \
        return next(__VA_ARGS__, code); \
    }

EXPORT void tapewright_fail(const char *function, int nth, int code) {
    std::lock_guard<std::mutex> guard(lock);
    fault.function = function;
    fault.calls_left = std::abs(nth), fault.again = nth < 0;
    fault.code = code, fault.forever = SUCCESS;
}

CODE(clGetPlatformIDs, (unsigned count, Object *all, unsigned *found), count, all, found)
CODE(clGetPlatformInfo, (Object platform, unsigned what, size_t size, void *to, size_t *needed), platform, what, size, to,
     needed)
CODE(clGetDeviceIDs, (Object platform, uint64_t kind, unsigned count, Object *all, unsigned *found), platform, kind, count,
     all, found)

EXPORT int clGetDeviceInfo(Object device, unsigned what, size_t size, void *to, size_t *needed) {
    static auto *const next = real("clGetDeviceInfo", &clGetDeviceInfo);
    if (int code = next ? failure("clGetDeviceInfo") : DEVICE_NOT_AVAILABLE) return code;
    const bool is_asked_for_double = what == DEVICE_DOUBLE_FP_CONFIG && getenv("TAPEWRIGHT_NO_DOUBLE");
    if (is_asked_for_double) return answer(uint64_t(0), size, to, needed);
    if (what == DEVICE_MAX_WORK_GROUP_SIZE && largest_group() < SIZE_MAX) return answer(largest_group(), size, to, needed);
    return next(device, what, size, to, needed);
}

CODE(clRetainDevice, (Object device), device)
CODE(clReleaseDevice, (Object device), device)
OBJECT(clCreateContext,
       (const intptr_t *properties, unsigned count, const Object *devices, Notify notify, void *data, int *code), properties,
       count, devices, notify, data)
CODE(clGetContextInfo, (Object context, unsigned what, size_t size, void *to, size_t *needed), context, what, size, to,
     needed)
CODE(clReleaseContext, (Object context), context)
OBJECT(clCreateCommandQueue, (Object context, Object device, uint64_t properties, int *code), context, device, properties)
CODE(clGetCommandQueueInfo, (Object queue, unsigned what, size_t size, void *to, size_t *needed), queue, what, size, to,
     needed)
CODE(clReleaseCommandQueue, (Object queue), queue)

OBJECT(clCreateBuffer, (Object context, uint64_t flags, size_t size, void *host, int *code), context, flags, size, host)
CODE(clReleaseMemObject, (Object memory), memory)
CODE(clEnqueueReadBuffer,
     (Object queue, Object from, unsigned waits, size_t offset, size_t size, void *to, unsigned count, const Object *events,
      Object *event),
     queue, from, waits, offset, size, to, count, events, event)
CODE(clEnqueueWriteBuffer,
     (Object queue, Object to, unsigned waits, size_t offset, size_t size, const void *from, unsigned count,
      const Object *events, Object *event),
     queue, to, waits, offset, size, from, count, events, event)
CODE(clEnqueueCopyBuffer,
     (Object queue, Object from, Object to, size_t start, size_t offset, size_t size, unsigned count, const Object *events,
      Object *event),
     queue, from, to, start, offset, size, count, events, event)
CODE(clEnqueueFillBuffer,
     (Object queue, Object to, const void *pattern, size_t length, size_t offset, size_t size, unsigned count,
      const Object *events, Object *event),
     queue, to, pattern, length, offset, size, count, events, event)
CODE(clReleaseEvent, (Object event), event)

EXPORT Object clCreateProgramWithSource(Object context, unsigned count, const char **texts, const size_t *lengths,
                                        int *code) {
    static auto *const next = real("clCreateProgramWithSource", &clCreateProgramWithSource);
    if (int failed = next ? failure("clCreateProgramWithSource") : DEVICE_NOT_AVAILABLE) {
        if (code) *code = failed;
        return nullptr;
    }
    if (!failure("a line that is no C")) return next(context, count, texts, lengths, code);
    std::string text;
    for (unsigned k = 0; k < count; k++) text += lengths && lengths[k] ? std::string(texts[k], lengths[k]) : texts[k];
    const char *broken = (text += "this is no C\n").c_str();
    return next(context, 1, &broken, nullptr, code);
}

OBJECT(clCreateProgramWithBinary,
       (Object context, unsigned count, const Object *devices, const size_t *lengths, const unsigned char **binaries,
        int *status, int *code),
       context, count, devices, lengths, binaries, status)
CODE(clBuildProgram,
     (Object program, unsigned count, const Object *devices, const char *options, Notify notify, void *data), program, count,
     devices, options, notify, data)
CODE(clGetProgramInfo, (Object program, unsigned what, size_t size, void *to, size_t *needed), program, what, size, to,
     needed)
CODE(clGetProgramBuildInfo, (Object program, Object device, unsigned what, size_t size, void *to, size_t *needed), program,
     device, what, size, to, needed)
CODE(clReleaseProgram, (Object program), program)

OBJECT(clCreateKernel, (Object program, const char *name, int *code), program, name)
CODE(clGetKernelInfo, (Object kernel, unsigned what, size_t size, void *to, size_t *needed), kernel, what, size, to, needed)

EXPORT int clGetKernelWorkGroupInfo(Object kernel, Object device, unsigned what, size_t size, void *to, size_t *needed) {
    static auto *const next = real("clGetKernelWorkGroupInfo", &clGetKernelWorkGroupInfo);
    if (int code = next ? failure("clGetKernelWorkGroupInfo") : DEVICE_NOT_AVAILABLE) return code;
    if (what == KERNEL_WORK_GROUP_SIZE && largest_group() < SIZE_MAX) return answer(largest_group(), size, to, needed);
    return next(kernel, device, what, size, to, needed);
}

CODE(clSetKernelArg, (Object kernel, unsigned index, size_t size, const void *value), kernel, index, size, value)
CODE(clReleaseKernel, (Object kernel), kernel)

EXPORT int clEnqueueNDRangeKernel(Object queue, Object kernel, unsigned dimensions, const size_t *offset,
                                  const size_t *items, const size_t *group, unsigned count, const Object *events,
                                  Object *event) {
    static auto *const next = real("clEnqueueNDRangeKernel", &clEnqueueNDRangeKernel);
    if (int code = next ? failure("clEnqueueNDRangeKernel") : DEVICE_NOT_AVAILABLE) return code;
    size_t size = 1;
    for (unsigned d = 0; group && d < dimensions; d++) size *= group[d];
    if (size > largest_group()) return INVALID_WORK_GROUP_SIZE;
    return next(queue, kernel, dimensions, offset, items, group, count, events, event);
}
