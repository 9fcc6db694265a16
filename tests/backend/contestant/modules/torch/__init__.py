"""As much of PyTorch as the contestant uses, over memory of the host. FAKE_TORCH in the environment says how it misbehaves."""
import ctypes
import os
import struct
import time
from types import SimpleNamespace

HOW = os.environ.get("FAKE_TORCH", "")
if HOW == "absent":
    raise ImportError("No module named 'torch'")

__version__ = "9.9.9"
version = SimpleNamespace(cuda="99.0")
channels_last, channels_last_3d = "channels_last", "channels_last_3d"


class Dtype:
    def __init__(self, code):
        self.code, self.size = code, struct.calcsize("<" + code)


float32, float64, int64, int32, uint8, bool = map(Dtype, "fdqiB?")


class Memory:
    def __init__(self, address=None, size=0):
        self.own = ctypes.create_string_buffer(size) if address is None else None
        self.address = ctypes.addressof(self.own) if address is None else address


def product(shape):
    count = 1
    for extent in shape:
        count *= extent
    return count


class Tensor:
    def __init__(self, memory, dtype, shape, strides=None):
        self.memory, self.dtype, self.shape = memory, dtype, tuple(shape)
        self.strides = tuple(strides) if strides is not None else tuple(
            product(shape[i + 1:]) for i in range(len(shape)))

    def places(self):
        places = [0]
        for extent, stride in zip(self.shape, self.strides):
            places = [place + i * stride for place in places for i in range(extent)]
        return places

    def tolist(self):
        return [self.load(place) for place in self.places()]

    def load(self, place):
        text = ctypes.string_at(self.memory.address + place * self.dtype.size, self.dtype.size)
        return struct.unpack("<" + self.dtype.code, text)[0]

    def store(self, place, value):
        text = struct.pack("<" + self.dtype.code, value)
        ctypes.memmove(self.memory.address + place * self.dtype.size, text, self.dtype.size)

    def view(self, dtype):
        return Tensor(self.memory, dtype, [product(self.shape) * self.dtype.size // dtype.size])

    def as_strided(self, shape, strides):
        return Tensor(self.memory, self.dtype, shape, strides)

    def reshape(self, shape):
        return made(self.tolist(), self.dtype, shape)

    def __getitem__(self, places):
        return made([self.load(place) for place in places.tolist()], self.dtype, places.shape)

    def copy_(self, other):
        for place, value in zip(self.places(), other.tolist()):
            self.store(place, value)
        return self

    def clone(self):
        return made(self.tolist(), self.dtype, self.shape)

    def contiguous(self, memory_format=None):
        return self.clone()

    def cpu(self):
        return self

    def sum(self):
        return 0

    def dim(self):
        return len(self.shape)

    def data_ptr(self):
        return self.memory.address


def made(values, dtype, shape):
    tensor = Tensor(Memory(size=max(1, len(values) * dtype.size)), dtype, shape)
    for place, value in enumerate(values):
        tensor.store(place, value)
    return tensor


def tensor(values, device=None):
    return made(values, int64, [len(values)])


def zeros(count, device=None):
    return made([0.0] * min(count, 16), float32, [min(count, 16)])


def as_tensor(raw, device=None):
    described = raw.__cuda_array_interface__
    return Tensor(Memory(described["data"][0]), uint8, described["shape"])


def relu(x):
    if HOW == "dies":
        os._exit(3)
    if HOW == "hangs":
        time.sleep(60)
    if HOW == "fails":
        raise RuntimeError("cuDNN error: no such algorithm")
    if HOW == "fault":
        raise RuntimeError("CUDA error: an illegal memory access was encountered")
    if HOW == "writes":
        x.store(0, 99.0)
    return made([max(0.0, value) for value in x.tolist()], x.dtype, x.shape)


def compile(graph, dynamic, mode):
    assert dynamic is False
    return graph


def set_grad_enabled(_):
    pass


class Event:
    def __init__(self, enable_timing):
        self.at = 0.0

    def record(self):
        self.at = time.perf_counter()

    def elapsed_time(self, end):
        return (end.at - self.at) * 1e3


cuda = SimpleNamespace(is_available=lambda: HOW != "no_device", set_device=lambda device: None, synchronize=lambda: None,
                       get_device_name=lambda device: "a fake", _sleep=lambda cycles: None, empty_cache=lambda: None,
                       get_device_properties=lambda device: SimpleNamespace(L2_cache_size=1024), Event=Event)
backends = SimpleNamespace(cudnn=SimpleNamespace(version=lambda: 99, allow_tf32=True, benchmark=False),
                           cuda=SimpleNamespace(matmul=SimpleNamespace(allow_tf32=False)))
nn = SimpleNamespace(functional=SimpleNamespace())
_dynamo = SimpleNamespace(reset=lambda: None)
