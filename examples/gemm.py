"""Evolves a GEMM through the C ABI: python3 gemm.py LIBCUPILOT_C [DEVICE]."""
import ctypes
import sys


class Error(ctypes.Structure):
    _fields_ = [("code", ctypes.c_int32), ("message", ctypes.c_char * 1020), ("hint", ctypes.c_char * 512)]


class Options(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("seed", ctypes.c_uint64), ("max_evaluations", ctypes.c_int64)]


cupilot = ctypes.CDLL(sys.argv[1])
cupilot.cupilot_task_from_words.restype = cupilot.cupilot_evolve.restype = ctypes.c_void_p
cupilot.cupilot_evolve.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p, ctypes.c_void_p]
cupilot.cupilot_report_time_us.restype = ctypes.c_double
for name in ("description", "provenance", "time_us"):
    getattr(cupilot, "cupilot_report_" + name).argtypes = [ctypes.c_void_p]
cupilot.cupilot_report_description.restype = cupilot.cupilot_report_provenance.restype = ctypes.c_char_p

error, options = Error(), Options(ctypes.sizeof(Options), 1, 8)
task = cupilot.cupilot_task_from_words(b"gemm m=64 n=64 k=64 dtype=fp32", ctypes.byref(error))
device = sys.argv[2].encode() if len(sys.argv) > 2 else b"auto"
report = cupilot.cupilot_evolve(task, device, ctypes.byref(options), ctypes.byref(error))
if not report:
    sys.exit(f"{error.message.decode()}\n  next: {error.hint.decode()}")
print(cupilot.cupilot_report_description(report).decode())
print(f"{cupilot.cupilot_report_time_us(report):.2f} us", cupilot.cupilot_report_provenance(report).decode())
