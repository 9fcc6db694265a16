"""A search in a Python host's hands, through the C ABI: python3 ask_tell.py LIBCUPILOT_C."""
import ctypes
import sys

cupilot = ctypes.CDLL(sys.argv[1])
handle, text, number = ctypes.c_void_p, ctypes.c_char_p, ctypes.c_uint64
for name, result, arguments in [
    ("task_from_words", handle, [text, handle]),
    ("begin", handle, [handle, text, handle, handle]),
    ("ask", ctypes.c_int32, [handle, ctypes.POINTER(handle), handle]),
    ("tell", ctypes.c_int32, [handle, number, ctypes.c_double, text, handle]),
    ("save", handle, [handle, handle]),
    ("load", handle, [handle, handle]),
    ("best", number, [handle, ctypes.POINTER(ctypes.c_double)]),
    ("job_of", handle, [handle, number, handle]),
    ("job_id", number, [handle]),
    ("job_constant", ctypes.c_int64, [handle, text, ctypes.c_int64]),
    ("job_description", text, [handle]),
    ("job_free", None, [handle]),
    ("free_text", None, [handle]),
    ("evolution_free", None, [handle]),
    ("task_free", None, [handle]),
]:
    function = getattr(cupilot, "cupilot_" + name)
    function.restype, function.argtypes = result, arguments


def toy_time_us(job):  # a host would compile, run and time cupilot_job_source(job)
    sides = [cupilot.cupilot_job_constant(job, name, 8) for name in (b"BLOCK_M", b"BLOCK_N")]
    return 60.0 + abs(sides[0] - 128) + abs(sides[1] - 64)


task = cupilot.cupilot_task_from_words(b"gemm m=1024 n=1024 k=1024 dtype=fp32", None)
search, job, answers = cupilot.cupilot_begin(task, b"h200", None, None), handle(), 0
while cupilot.cupilot_ask(search, ctypes.byref(job), None) == 0:
    cupilot.cupilot_tell(search, cupilot.cupilot_job_id(job), toy_time_us(job), None, None)
    cupilot.cupilot_job_free(job)
    answers += 1
    if answers == 50:  # saved text is UTF-8 and works in any process
        saved = cupilot.cupilot_save(search, None)
        cupilot.cupilot_evolution_free(search)
        search = cupilot.cupilot_load(saved, None)
        cupilot.cupilot_free_text(saved)
us = ctypes.c_double()
best = cupilot.cupilot_job_of(search, cupilot.cupilot_best(search, ctypes.byref(us)), None)
print(cupilot.cupilot_job_description(best).decode(), f"\n{us.value:.1f} us reported, after {answers} answers")
cupilot.cupilot_job_free(best)
cupilot.cupilot_evolution_free(search)
cupilot.cupilot_task_free(task)
