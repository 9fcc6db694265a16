// Chat completions over llama.cpp's CPU engine: what an endpoint at home looks like, a JSON schema held by grammar.
// server.mjs MODEL.gguf PORT_FILE: serves on a free port, which it writes into the file.
import http from "node:http";
import fs from "node:fs";
import {getLlama, LlamaChatSession, GeneralChatWrapper} from "node-llama-cpp";

const [modelPath, portFile] = process.argv.slice(2);
const llama = await getLlama({gpu: false, build: "never", logLevel: "error"});
const model = await llama.loadModel({modelPath});

// One question at a time, each with a fresh state: equal questions get equal answers.
let turn = Promise.resolve();
const inTurn = (work) => (turn = turn.then(work, work));

async function answer(body) {
  const context = await model.createContext({contextSize: 16384, threads: 1});
  try {
    const text = (role) => body.messages.filter((m) => m.role === role).map((m) => m.content).join("\n");
    const session = new LlamaChatSession({
      contextSequence: context.getSequence(),
      chatWrapper: new GeneralChatWrapper(),
      systemPrompt: text("system"),
    });
    const schema = body.response_format?.json_schema?.schema;
    const grammar = schema ? await llama.createGrammarForJsonSchema(schema) : undefined;
    const most = body.max_completion_tokens ?? body.max_tokens ?? 512;
    const said = await session.promptWithMeta(text("user"), {grammar, maxTokens: most, temperature: 0.8, seed: 1});
    const prompt = model.tokenize(text("system") + text("user")).length;
    return {
      object: "chat.completion",
      model: body.model,
      choices: [{index: 0, message: {role: "assistant", content: said.responseText},
                 finish_reason: said.stopReason === "maxTokens" ? "length" : "stop"}],
      usage: {prompt_tokens: prompt, completion_tokens: model.tokenize(said.responseText).length},
    };
  } finally {
    await context.dispose();
  }
}

const server = http.createServer((request, response) => {
  let text = "";
  request.on("data", (piece) => (text += piece));
  request.on("end", () => inTurn(async () => {
    const send = (status, object) => {
      response.writeHead(status, {"content-type": "application/json"});
      response.end(JSON.stringify(object));
    };
    try {
      send(200, await answer(JSON.parse(text)));
    } catch (fault) {
      console.error(fault);
      send(500, {error: {message: String(fault)}});
    }
  }));
});
server.listen(0, "127.0.0.1", () => fs.writeFileSync(portFile, String(server.address().port)));
