"""A chat-completions endpoint on port 8099 whose answers a script draws: no model is asked.

For measuring prompts, budgets and tapes over long runs of a plain fp32 GEMM (docs/results/model-prompts.json).
"""
import json
import random
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

draws = random.Random(7)

KERNEL = """Rows by columns.

```cuda
// cupilot: {"plan":{"launches":[{"entry":"gemm","grid":["cdiv(n,WIDE)","cdiv(m,HIGH)"],"block":[WIDE,HIGH],"args":["A","B","D",{"i32":"m"},{"i32":"n"},{"i32":"k"}]}]}}
extern "C" __global__ void gemm(const float* a, const float* b, float* d, int m, int n, int k) {
  const int column = blockIdx.x * WIDE + threadIdx.x, row = blockIdx.y * HIGH + threadIdx.y;
  if (row >= m || column >= n) return;
  float sum = FIRST;
#pragma unroll UNROLL
  for (int i = 0; i < k; ++i) sum = fmaf(a[row * k + i], b[i * n + column], sum);
  d[row * n + column] = sum;
}
```
"""


def kernel():
    """One in three does not compile."""
    words = {"WIDE": draws.choice([8, 16, 32]), "HIGH": draws.choice([4, 8]), "UNROLL": draws.choice([1, 2, 4, 8, 16]),
             "FIRST": draws.choice(["0.0f", "0.0f", "undeclared"])}
    text = KERNEL
    for word, value in words.items():
        text = text.replace(word, str(value))
    return text


def strategy():
    techniques = [{"name": "unroll", "settings": [{"name": "unroll_k", "value": draws.choice([2, 4, 8, 16])}], "text": ""}]
    if draws.random() < 0.7:
        techniques.append({"name": "free", "settings": [], "text": f"A thread an element, number {draws.randrange(10**6)}."})
    return json.dumps({"strategies": [{"techniques": techniques, "rationale": "Scripted: it says nothing of the limit."}]})


class Endpoint(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers["content-length"])))
        text = strategy() if "response_format" in request else kernel()
        asked = sum(len(str(message["content"])) for message in request["messages"]) // 4
        usage = {"prompt_tokens": asked, "completion_tokens": len(text) // 4, "total_tokens": asked + len(text) // 4}
        choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}
        reply = json.dumps({"object": "chat.completion", "model": request["model"], "choices": [choice], "usage": usage}).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(reply)))
        self.end_headers()
        self.wfile.write(reply)


ThreadingHTTPServer(("127.0.0.1", 8099), Endpoint).serve_forever()
