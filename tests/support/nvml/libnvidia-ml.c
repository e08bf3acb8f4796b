/* A simulated GPU driver: the part of NVML that nvidia-ml-py and Stoker use.
 *
 * The used memory of a GPU is the resident memory beyond BARE_MIB of each engine of the stub backend on it: of each
 * process that runs "engine/bootstrap.py stub" (its guard does not count) with this GPU in its CUDA_VISIBLE_DEVICES, by
 * index, UUID or the beginning of a UUID. An engine with several GPUs has an equal share on each. Only engines with
 * the same LD_LIBRARY_PATH as the caller count. These environment variables are read at each call:
 *
 *   FAKE_NVML_GPUS          number of GPUs (1)
 *   FAKE_NVML_TOTAL_MIB     memory of each (8192)
 *   FAKE_NVML_BASE_MIB      memory of each that other processes hold (0)
 *   FAKE_NVML_RESERVED_MIB  memory of each that the driver reserves; version 1 of the figure counts it as used (0)
 *   FAKE_NVML_PARTS         number of equal parts of the first GPU, which is then in MIG mode; odd indices are gaps (0)
 *   FAKE_NVML_UTILIZATION   percentage of the time in which each computes (0)
 *   FAKE_NVML_CUDA          the newest supported CUDA version (13000)
 *   FAKE_NVML_CAPABILITY    the compute capability of the first GPU, times 10; each further one has 10 more (90)
 *   FAKE_NVML_NO_PROCESSES  when set, there are no figures for single processes
 *   FAKE_NVML_ERROR         when set, all calls return this code, and the driver must be initialized again
 */

#include <ctype.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define API __attribute__((visibility("default"))) int
#define MIB (1ULL << 20)
#define BARE_MIB 12 /* of an interpreter without modules */
#define MAX_GPUS 16
#define MAX_PROCESSES 256
#define NOT_AVAILABLE (~0ULL)

enum { SUCCESS, UNINITIALIZED, INVALID_ARGUMENT, NOT_SUPPORTED, NOT_FOUND = 6, INSUFFICIENT_SIZE = 7 };

typedef struct { int index, part; } Device; /* part: -1 of a whole GPU */
typedef struct { unsigned long long total, free, used; } Memory;
typedef struct { unsigned version; unsigned long long total, reserved, free, used; } MemoryV2;
typedef struct { unsigned pid; unsigned long long used; unsigned gpu_instance, compute_instance; } Process;
typedef struct { unsigned gpu, memory; } Utilization;

static Device devices[MAX_GPUS], parts[MAX_GPUS];
static int users = 0;

static long setting(const char *name, long fallback) {
    const char *value = getenv(name);
    return value && *value ? atol(value) : fallback;
}

static unsigned count_gpus(void) {
    long count = setting("FAKE_NVML_GPUS", 1);
    return count < 0 ? 0 : count > MAX_GPUS ? MAX_GPUS : (unsigned)count;
}

static int state(void) {
    int error = (int)setting("FAKE_NVML_ERROR", SUCCESS);
    if (error) users = 0;
    return error ? error : users ? SUCCESS : UNINITIALIZED;
}

#define RETURN_UNLESS_READY do { int error = state(); if (error) return error; } while (0)

static unsigned count_parts(int index) {
    long count = index ? 0 : setting("FAKE_NVML_PARTS", 0);
    return count < 0 ? 0 : count > MAX_GPUS / 2 ? MAX_GPUS / 2 : (unsigned)count;
}

static void uuid_of(const Device *device, char *into, unsigned size) {
    unsigned number = 0xa0000000u + 0x01000000u * (unsigned)device->index;
    if (device->part < 0) snprintf(into, size, "GPU-%08x-5a1d-4c0e-9b7f-000000000000", number);
    else snprintf(into, size, "MIG-%08x-5a1d-4c0e-9b7f-000000000000", number + (unsigned)device->part);
}

/* Read a file of /proc/<pid>: at most size - 2 bytes, followed by two zeros. Returns the length. */
static size_t read_proc(const char *pid, const char *name, char *into, size_t size) {
    char path[300];
    snprintf(path, sizeof path, "/proc/%s/%s", pid, name);
    FILE *file = fopen(path, "r");
    size_t length = file ? fread(into, 1, size - 2, file) : 0;
    if (file) fclose(file);
    into[length] = into[length + 1] = 0;
    return length;
}

static int is_engine(const char *pid) {
    char line[16384];
    size_t length = read_proc(pid, "cmdline", line, sizeof line);
    for (size_t i = 0; i < length; i++) /* its arguments have zeros between them */
        if (!line[i]) line[i] = ' ';
    return strstr(line, "engine/bootstrap.py stub") && !strstr(line, "guard.py");
}

/* Whether a process with this environment uses this driver, not that of a concurrent test. */
static int uses_this_driver(const char *environment, size_t length) {
    static const char name[] = "LD_LIBRARY_PATH=";
    const char *path = getenv("LD_LIBRARY_PATH");
    for (const char *entry = environment; entry < environment + length; entry += strlen(entry) + 1)
        if (!strncmp(entry, name, sizeof name - 1)) return path && !strcmp(entry + sizeof name - 1, path);
    return !path;
}

/* The number of GPUs that a process uses, if this one is among them; else 0. */
static unsigned long long shared_among(const char *pid, const Device *device) {
    static const char name[] = "CUDA_VISIBLE_DEVICES=";
    char environment[65536], number[16], uuid[64];
    size_t length = read_proc(pid, "environ", environment, sizeof environment);
    snprintf(number, sizeof number, "%d", device->index);
    uuid_of(device, uuid, sizeof uuid);
    if (!uses_this_driver(environment, length)) return 0;
    for (char *entry = environment; entry < environment + length; entry += strlen(entry) + 1) {
        unsigned long long count = 0, found = 0;
        if (strncmp(entry, name, sizeof name - 1)) continue;
        char *rest, *part = strtok_r(entry + sizeof name - 1, ", ", &rest);
        for (; part; part = strtok_r(NULL, ", ", &rest), count++)
            found |= (device->part <= 0 && !strcmp(part, number)) ||
                     (!strncmp(part, uuid, 4) && !strncmp(part, uuid, strlen(part)));
        return found ? count : 0;
    }
    return 0;
}

static unsigned long long resident(const char *pid) {
    char status[8192];
    read_proc(pid, "status", status, sizeof status);
    char *line = strstr(status, "VmRSS:");
    unsigned long long bytes = line ? strtoull(line + 6, NULL, 10) * 1024 : 0;
    return bytes > BARE_MIB * MIB ? bytes - BARE_MIB * MIB : 0;
}

/* Write the engines on a GPU into an array of MAX_PROCESSES. Returns their number. */
static unsigned engines(const Device *device, Process *into) {
    unsigned count = 0;
    DIR *proc = opendir("/proc");
    for (struct dirent *entry; proc && count < MAX_PROCESSES && (entry = readdir(proc));) {
        const char *pid = entry->d_name;
        unsigned long long share = isdigit((unsigned char)*pid) && is_engine(pid) ? shared_among(pid, device) : 0;
        if (share) into[count++] = (Process){(unsigned)atoi(pid), resident(pid) / share, ~0u, ~0u};
    }
    if (proc) closedir(proc);
    return count;
}

static Memory memory_of(const Device *device) {
    Process found[MAX_PROCESSES];
    unsigned share = device->part < 0 ? 1 : count_parts(device->index);
    Memory memory = {(unsigned long long)setting("FAKE_NVML_TOTAL_MIB", 8192) * MIB / share, 0, 0};
    memory.used = (unsigned long long)setting("FAKE_NVML_BASE_MIB", 0) * MIB;
    for (unsigned i = engines(device, found); i-- > 0;) memory.used += found[i].used;
    if (memory.used > memory.total) memory.used = memory.total;
    memory.free = memory.total - memory.used;
    return memory;
}

API nvmlInitWithFlags(unsigned flags) {
    (void)flags;
    users++;
    return state();
}

API nvmlInit_v2(void) { return nvmlInitWithFlags(0); }

API nvmlShutdown(void) {
    RETURN_UNLESS_READY;
    users--;
    return SUCCESS;
}

__attribute__((visibility("default"))) const char *nvmlErrorString(int code) {
    return code ? "Simulated Error" : "Success";
}

API nvmlSystemGetCudaDriverVersion_v2(int *version) {
    RETURN_UNLESS_READY;
    *version = (int)setting("FAKE_NVML_CUDA", 13000);
    return SUCCESS;
}

API nvmlDeviceGetCount_v2(unsigned *count) {
    RETURN_UNLESS_READY;
    *count = count_gpus();
    return SUCCESS;
}

API nvmlDeviceGetHandleByIndex_v2(unsigned index, Device **device) {
    RETURN_UNLESS_READY;
    if (index >= count_gpus()) return INVALID_ARGUMENT;
    devices[index] = (Device){(int)index, -1};
    *device = &devices[index];
    return SUCCESS;
}

API nvmlDeviceGetMigMode(Device *device, unsigned *current, unsigned *pending) {
    RETURN_UNLESS_READY;
    if (device->index || device->part >= 0) return NOT_SUPPORTED;
    *current = *pending = count_parts(0) > 0;
    return SUCCESS;
}

API nvmlDeviceGetMaxMigDeviceCount(Device *device, unsigned *count) {
    RETURN_UNLESS_READY;
    *count = 2 * count_parts(device->index);
    return SUCCESS;
}

API nvmlDeviceGetMigDeviceHandleByIndex(Device *device, unsigned part, Device **into) {
    RETURN_UNLESS_READY;
    if (part % 2 || part >= 2 * count_parts(device->index)) return NOT_FOUND;
    parts[part] = (Device){device->index, (int)part};
    *into = &parts[part];
    return SUCCESS;
}

API nvmlDeviceGetHandleByUUID(const char *uuid, Device **device) {
    RETURN_UNLESS_READY;
    char candidate[64];
    for (unsigned index = 0; index < count_gpus(); index++) {
        nvmlDeviceGetHandleByIndex_v2(index, device);
        uuid_of(*device, candidate, sizeof candidate);
        if (!strcmp(candidate, uuid)) return SUCCESS;
    }
    for (unsigned part = 0; count_gpus() && part < 2 * count_parts(0); part += 2) {
        nvmlDeviceGetMigDeviceHandleByIndex(&devices[0], part, device);
        uuid_of(*device, candidate, sizeof candidate);
        if (!strcmp(candidate, uuid)) return SUCCESS;
    }
    return NOT_FOUND;
}

API nvmlDeviceGetIndex(Device *device, unsigned *index) {
    RETURN_UNLESS_READY;
    *index = (unsigned)(device->part < 0 ? device->index : device->part);
    return SUCCESS;
}

API nvmlDeviceGetUUID(Device *device, char *uuid, unsigned size) {
    RETURN_UNLESS_READY;
    uuid_of(device, uuid, size);
    return SUCCESS;
}

API nvmlDeviceGetName(Device *device, char *name, unsigned size) {
    RETURN_UNLESS_READY;
    snprintf(name, size, "Simulated GPU %d", device->index);
    return SUCCESS;
}

API nvmlDeviceGetMemoryInfo(Device *device, Memory *memory) {
    RETURN_UNLESS_READY;
    unsigned long long reserved = (unsigned long long)setting("FAKE_NVML_RESERVED_MIB", 0) * MIB;
    *memory = memory_of(device);
    memory->used += reserved;
    memory->free -= reserved < memory->free ? reserved : memory->free;
    return SUCCESS;
}

API nvmlDeviceGetMemoryInfo_v2(Device *device, MemoryV2 *memory) {
    RETURN_UNLESS_READY;
    Memory plain = memory_of(device);
    unsigned long long reserved = (unsigned long long)setting("FAKE_NVML_RESERVED_MIB", 0) * MIB;
    if (reserved > plain.free) reserved = plain.free;
    *memory = (MemoryV2){memory->version, plain.total, reserved, plain.free - reserved, plain.used};
    return SUCCESS;
}

API nvmlDeviceGetComputeRunningProcesses_v3(Device *device, unsigned *count, Process *into) {
    RETURN_UNLESS_READY;
    Process found[MAX_PROCESSES];
    unsigned capacity = *count;
    *count = engines(device, found);
    if (*count > capacity) return INSUFFICIENT_SIZE;
    for (unsigned i = 0; i < *count; i++) {
        into[i] = found[i];
        if (setting("FAKE_NVML_NO_PROCESSES", 0)) into[i].used = NOT_AVAILABLE;
    }
    return SUCCESS;
}

API nvmlDeviceGetCudaComputeCapability(Device *device, int *major, int *minor) {
    RETURN_UNLESS_READY;
    int capability = (int)setting("FAKE_NVML_CAPABILITY", 90) + 10 * device->index;
    *major = capability / 10;
    *minor = capability % 10;
    return SUCCESS;
}

API nvmlDeviceGetUtilizationRates(Device *device, Utilization *rates) {
    RETURN_UNLESS_READY;
    (void)device;
    *rates = (Utilization){(unsigned)setting("FAKE_NVML_UTILIZATION", 0), 0};
    return SUCCESS;
}

API nvmlDeviceGetTemperature(Device *device, unsigned sensor, unsigned *celsius) {
    RETURN_UNLESS_READY;
    (void)device;
    (void)sensor;
    *celsius = (unsigned)setting("FAKE_NVML_TEMPERATURE", 40);
    return SUCCESS;
}

API nvmlDeviceGetPowerUsage(Device *device, unsigned *milliwatts) {
    RETURN_UNLESS_READY;
    (void)device;
    *milliwatts = (unsigned)setting("FAKE_NVML_MILLIWATTS", 120400);
    return SUCCESS;
}

API nvmlSystemGetDriverVersion(char *version, unsigned size) {
    RETURN_UNLESS_READY;
    snprintf(version, size, "570.00");
    return SUCCESS;
}
