#!/usr/bin/env python3
"""Writes a language model of a few thousand random weights as GGUF: it says nothing sensible, but what a grammar lets it say.

make_model.py FILE: one layer of llama's form, its vocabulary the bytes and the printable characters."""
import random
import struct
import sys

U32, I32, F32, STRING, ARRAY = 4, 5, 6, 8, 9
WIDTH, HEADS, INNER, CONTEXT = 32, 2, 64, 16384


def text(value):
    raw = value.encode()
    return struct.pack("<Q", len(raw)) + raw


def value_of(kind, value):
    if kind == STRING:
        return text(value)
    if kind == ARRAY:
        element, items = value
        return struct.pack("<IQ", element, len(items)) + b"".join(value_of(element, item) for item in items)
    return struct.pack({U32: "<I", I32: "<i", F32: "<f"}[kind], value)


def vocabulary():
    """(text, score, type): 2 unknown, 3 control, 6 byte, 1 ordinary."""
    rows = [("<unk>", 0.0, 2), ("<s>", 0.0, 3), ("</s>", 0.0, 3)]
    rows += [(f"<0x{byte:02X}>", 0.0, 6) for byte in range(256)]
    rows += [("\u2581", -1.0, 1)] + [(chr(code), -1.0, 1) for code in range(33, 127)]
    return rows


def tensors(tokens, rng):
    def drawn(count):
        return [rng.gauss(0.0, 0.4) for _ in range(count)]

    shapes = {"token_embd.weight": (WIDTH, tokens), "output.weight": (WIDTH, tokens), "output_norm.weight": (WIDTH,),
              "blk.0.attn_norm.weight": (WIDTH,), "blk.0.ffn_norm.weight": (WIDTH,),
              "blk.0.ffn_gate.weight": (WIDTH, INNER), "blk.0.ffn_up.weight": (WIDTH, INNER), "blk.0.ffn_down.weight": (INNER, WIDTH)}
    shapes |= {f"blk.0.attn_{name}.weight": (WIDTH, WIDTH) for name in ("q", "k", "v", "output")}
    for name, shape in shapes.items():
        count = shape[0] * (shape[1] if len(shape) > 1 else 1)
        yield name, shape, [1.0] * count if len(shape) == 1 else drawn(count)


def main():
    words = vocabulary()
    keys = [("general.architecture", STRING, "llama"), ("general.name", STRING, "random"),
            ("llama.context_length", U32, CONTEXT), ("llama.embedding_length", U32, WIDTH), ("llama.block_count", U32, 1),
            ("llama.feed_forward_length", U32, INNER), ("llama.attention.head_count", U32, HEADS),
            ("llama.attention.head_count_kv", U32, HEADS), ("llama.attention.layer_norm_rms_epsilon", F32, 1e-5),
            ("llama.rope.dimension_count", U32, WIDTH // HEADS), ("general.file_type", U32, 0),
            ("tokenizer.ggml.model", STRING, "llama"),
            ("tokenizer.ggml.tokens", ARRAY, (STRING, [word for word, _, _ in words])),
            ("tokenizer.ggml.scores", ARRAY, (F32, [score for _, score, _ in words])),
            ("tokenizer.ggml.token_type", ARRAY, (I32, [kind for _, _, kind in words])),
            ("tokenizer.ggml.bos_token_id", U32, 1), ("tokenizer.ggml.eos_token_id", U32, 2),
            ("tokenizer.ggml.unknown_token_id", U32, 0)]
    infos, data = b"", b""
    all_tensors = list(tensors(len(words), random.Random(1)))
    for name, shape, numbers in all_tensors:
        infos += text(name) + struct.pack("<I", len(shape)) + b"".join(struct.pack("<Q", extent) for extent in shape)
        infos += struct.pack("<IQ", 0, len(data))
        data += struct.pack(f"<{len(numbers)}f", *numbers)
        data += b"\0" * (-len(data) % 32)
    head = b"GGUF" + struct.pack("<IQQ", 3, len(all_tensors), len(keys))
    head += b"".join(text(key) + struct.pack("<I", kind) + value_of(kind, value) for key, kind, value in keys) + infos
    with open(sys.argv[1], "wb") as out:
        out.write(head + b"\0" * (-len(head) % 32) + data)


main()
