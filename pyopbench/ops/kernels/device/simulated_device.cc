// A device of host memory that TensorFlow takes for a GPU, and that counts what is copied to it and from it.
//
// It is a plug-in of StreamExecutor, written after TensorFlow's public header alone. Streams run at once, so that events
// have always happened and nothing has to be waited for: what it does is the same every time, and how long it takes says
// nothing about any GPU. It counts and places; nothing ever times it.

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "tensorflow/c/experimental/stream_executor/stream_executor.h"

struct SP_Stream_st {};
struct SP_Event_st {};
struct SP_Timer_st {};

namespace {

enum Counter { kToDevice, kToDeviceBytes, kToHost, kToHostBytes, kCounters };

std::atomic<uint64_t> counters[kCounters];

// Reported as free and total. With 256 MB TensorFlow refuses the first tensor ("Dst tensor is not initialized").
constexpr int64_t kMemoryBytes = int64_t{4} << 30;
constexpr uint64_t kAlignmentBytes = 256;  // as that of cudaMalloc, and a multiple of what Eigen asks for

void Count(Counter copies, uint64_t size) {
  counters[copies] += 1;
  counters[copies + 1] += size;
}

void Succeed(TF_Status* status) { TF_SetStatus(status, TF_OK, ""); }

void* AllocateAligned(uint64_t size) {
  const uint64_t whole = (size + kAlignmentBytes - 1) / kAlignmentBytes * kAlignmentBytes;
  return std::aligned_alloc(kAlignmentBytes, whole == 0 ? kAlignmentBytes : whole);
}

// Memory.

void Allocate(const SP_Device*, uint64_t size, int64_t, SP_DeviceMemoryBase* memory) {
  memory->struct_size = SP_DEVICE_MEMORY_BASE_STRUCT_SIZE;
  memory->opaque = AllocateAligned(size);
  memory->size = memory->opaque == nullptr ? 0 : size;
}

void Deallocate(const SP_Device*, SP_DeviceMemoryBase* memory) {
  std::free(memory->opaque);
  memory->opaque = nullptr;
  memory->size = 0;
}

void* AllocateOnHost(const SP_Device*, uint64_t size) { return AllocateAligned(size); }
void DeallocateOnHost(const SP_Device*, void* memory) { std::free(memory); }

TF_Bool GetStatistics(const SP_Device*, SP_AllocatorStats*) { return false; }

TF_Bool GetUsage(const SP_Device*, int64_t* free, int64_t* total) {
  *free = *total = kMemoryBytes;
  return true;
}

// Copies, on a stream or at once.

void CopyToHost(const SP_Device*, SP_Stream, void* to, const SP_DeviceMemoryBase* from, uint64_t size, TF_Status* status) {
  Count(kToHost, size);
  std::memcpy(to, from->opaque, size);
  Succeed(status);
}

void CopyToDevice(const SP_Device*, SP_Stream, SP_DeviceMemoryBase* to, const void* from, uint64_t size, TF_Status* status) {
  Count(kToDevice, size);
  std::memcpy(to->opaque, from, size);
  Succeed(status);
}

void CopyOnDevice(const SP_Device*, SP_Stream, SP_DeviceMemoryBase* to, const SP_DeviceMemoryBase* from, uint64_t size,
                  TF_Status* status) {
  std::memmove(to->opaque, from->opaque, size);
  Succeed(status);
}

void CopyToHostNow(const SP_Device* device, void* to, const SP_DeviceMemoryBase* from, uint64_t size, TF_Status* status) {
  CopyToHost(device, nullptr, to, from, size, status);
}

void CopyToDeviceNow(const SP_Device* device, SP_DeviceMemoryBase* to, const void* from, uint64_t size, TF_Status* status) {
  CopyToDevice(device, nullptr, to, from, size, status);
}

void CopyOnDeviceNow(const SP_Device* device, SP_DeviceMemoryBase* to, const SP_DeviceMemoryBase* from, uint64_t size,
                     TF_Status* status) {
  CopyOnDevice(device, nullptr, to, from, size, status);
}

void Fill(const SP_Device*, SP_Stream, SP_DeviceMemoryBase* memory, uint8_t pattern, uint64_t size, TF_Status* status) {
  std::memset(memory->opaque, pattern, size);
  Succeed(status);
}

void FillWithZeros(const SP_Device* device, SP_Stream stream, SP_DeviceMemoryBase* memory, uint64_t size, TF_Status* status) {
  Fill(device, stream, memory, 0, size, status);
}

void Fill32(const SP_Device*, SP_Stream, SP_DeviceMemoryBase* memory, uint32_t pattern, uint64_t size, TF_Status* status) {
  auto* words = static_cast<uint32_t*>(memory->opaque);
  for (uint64_t i = 0; i < size / sizeof(pattern); ++i) words[i] = pattern;
  Succeed(status);
}

// Streams, events and timers, which hold nothing.

void CreateStream(const SP_Device*, SP_Stream* stream, TF_Status* status) {
  *stream = new SP_Stream_st;
  Succeed(status);
}
void DestroyStream(const SP_Device*, SP_Stream stream) { delete stream; }
void DependOnStream(const SP_Device*, SP_Stream, SP_Stream, TF_Status* status) { Succeed(status); }
void DoForStream(const SP_Device*, SP_Stream, TF_Status* status) { Succeed(status); }

void CreateEvent(const SP_Device*, SP_Event* event, TF_Status* status) {
  *event = new SP_Event_st;
  Succeed(status);
}
void DestroyEvent(const SP_Device*, SP_Event event) { delete event; }
SE_EventStatus GetEventStatus(const SP_Device*, SP_Event) { return SE_EVENT_COMPLETE; }
void RecordEvent(const SP_Device*, SP_Stream, SP_Event, TF_Status* status) { Succeed(status); }
void WaitForEvent(const SP_Device* const, SP_Stream, SP_Event, TF_Status* const status) { Succeed(status); }
void BlockForEvent(const SP_Device*, SP_Event, TF_Status* status) { Succeed(status); }

void CreateTimer(const SP_Device*, SP_Timer* timer, TF_Status* status) {
  *timer = new SP_Timer_st;
  Succeed(status);
}
void DestroyTimer(const SP_Device*, SP_Timer timer) { delete timer; }
void UseTimer(const SP_Device*, SP_Stream, SP_Timer, TF_Status* status) { Succeed(status); }
uint64_t Nanoseconds(SP_Timer) { return 0; }

void Synchronize(const SP_Device*, TF_Status* status) { Succeed(status); }

TF_Bool CallOnHost(const SP_Device*, SP_Stream, SE_StatusCallbackFn callback, void* argument) {
  TF_Status* status = TF_NewStatus();
  callback(argument, status);
  TF_DeleteStatus(status);
  return true;
}

// The platform, with its one device.

void CountDevices(const SP_Platform*, int* count, TF_Status* status) {
  *count = 1;
  Succeed(status);
}

void CreateDevice(const SP_Platform*, SE_CreateDeviceParams* parameters, TF_Status* status) {
  SP_Device* device = parameters->device;
  device->struct_size = SP_DEVICE_STRUCT_SIZE;
  device->ordinal = parameters->ordinal;
  device->hardware_name = "simulated";
  device->device_vendor = "pyopbench";
  device->pci_bus_id = "0000:00:00.0";
  Succeed(status);
}
void DestroyDevice(const SP_Platform*, SP_Device*) {}

int32_t GetNode(const SP_Device*) { return 0; }

void CreateDeviceFunctions(const SP_Platform*, SE_CreateDeviceFnsParams* parameters, TF_Status* status) {
  parameters->device_fns->struct_size = SP_DEVICE_FNS_STRUCT_SIZE;
  parameters->device_fns->get_numa_node = GetNode;
  parameters->device_fns->get_memory_bandwidth = [](const SP_Device*) -> int64_t { return -1; };
  parameters->device_fns->get_gflops = [](const SP_Device*) { return -1.0; };
  Succeed(status);
}
void DestroyDeviceFunctions(const SP_Platform*, SP_DeviceFns*) {}

void CreateStreamExecutor(const SP_Platform*, SE_CreateStreamExecutorParams* parameters, TF_Status* status) {
  SP_StreamExecutor* executor = parameters->stream_executor;
  executor->struct_size = SP_STREAMEXECUTOR_STRUCT_SIZE;
  executor->allocate = Allocate;
  executor->deallocate = Deallocate;
  executor->host_memory_allocate = AllocateOnHost;
  executor->host_memory_deallocate = DeallocateOnHost;
  executor->unified_memory_allocate = AllocateOnHost;
  executor->unified_memory_deallocate = DeallocateOnHost;
  executor->get_allocator_stats = GetStatistics;
  executor->device_memory_usage = GetUsage;
  executor->create_stream = CreateStream;
  executor->destroy_stream = DestroyStream;
  executor->create_stream_dependency = DependOnStream;
  executor->get_stream_status = DoForStream;
  executor->create_event = CreateEvent;
  executor->destroy_event = DestroyEvent;
  executor->get_event_status = GetEventStatus;
  executor->record_event = RecordEvent;
  executor->wait_for_event = WaitForEvent;
  executor->create_timer = CreateTimer;
  executor->destroy_timer = DestroyTimer;
  executor->start_timer = UseTimer;
  executor->stop_timer = UseTimer;
  executor->memcpy_dtoh = CopyToHost;
  executor->memcpy_htod = CopyToDevice;
  executor->memcpy_dtod = CopyOnDevice;
  executor->sync_memcpy_dtoh = CopyToHostNow;
  executor->sync_memcpy_htod = CopyToDeviceNow;
  executor->sync_memcpy_dtod = CopyOnDeviceNow;
  executor->block_host_for_event = BlockForEvent;
  executor->block_host_until_done = DoForStream;
  executor->synchronize_all_activity = Synchronize;
  executor->mem_zero = FillWithZeros;
  executor->memset = Fill;
  executor->memset32 = Fill32;
  executor->host_callback = CallOnHost;
  Succeed(status);
}
void DestroyStreamExecutor(const SP_Platform*, SP_StreamExecutor*) {}

void CreateTimerFunctions(const SP_Platform*, SP_TimerFns* functions, TF_Status* status) {
  functions->struct_size = SP_TIMER_FNS_STRUCT_SIZE;
  functions->nanoseconds = Nanoseconds;
  Succeed(status);
}
void DestroyTimerFunctions(const SP_Platform*, SP_TimerFns*) {}

void DestroyPlatform(SP_Platform*) {}
void DestroyPlatformFunctions(SP_PlatformFns*) {}

}  // namespace

extern "C" {

// Fills `values` with the counters in the order of the enumeration; returns how many there are.
int pyopbench_simulated_counters(uint64_t* values) {
  for (int i = 0; i < kCounters; ++i) values[i] = counters[i].load();
  return kCounters;
}

void SE_InitPlugin(SE_PlatformRegistrationParams* parameters, TF_Status* status) {
  parameters->struct_size = SE_PLATFORM_REGISTRATION_PARAMS_STRUCT_SIZE;
  parameters->major_version = SE_MAJOR;
  parameters->minor_version = SE_MINOR;
  parameters->patch_version = SE_PATCH;
  SP_Platform* platform = parameters->platform;
  platform->struct_size = SP_PLATFORM_STRUCT_SIZE;
  platform->name = "PYOPBENCH";
  platform->type = "GPU";
  platform->use_bfc_allocator = false;  // or else most tensors would be cut from memory that was asked for earlier
  SP_PlatformFns* functions = parameters->platform_fns;
  functions->struct_size = SP_PLATFORM_FNS_STRUCT_SIZE;
  functions->get_device_count = CountDevices;
  functions->create_device = CreateDevice;
  functions->destroy_device = DestroyDevice;
  functions->create_device_fns = CreateDeviceFunctions;
  functions->destroy_device_fns = DestroyDeviceFunctions;
  functions->create_stream_executor = CreateStreamExecutor;
  functions->destroy_stream_executor = DestroyStreamExecutor;
  functions->create_timer_fns = CreateTimerFunctions;
  functions->destroy_timer_fns = DestroyTimerFunctions;
  parameters->destroy_platform = DestroyPlatform;
  parameters->destroy_platform_fns = DestroyPlatformFunctions;
  Succeed(status);
}

// TensorFlow asks every plug-in for it. This one's kernels are in simulated_kernels.cc.
void TF_InitKernel() {}

}  // extern "C"
