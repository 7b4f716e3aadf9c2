// The whole story of an editor on a real repository, told with the JSON-RPC library that editor
// extensions use. Its stock reader wants Content-Length headers, so lines are read and written here.
//
//   node story.mjs RUNTIME ROOT DATA_DIR     prints one JSON object with what it saw
import { spawn } from "node:child_process";
import { appendFileSync } from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import readline from "node:readline";

const require = createRequire(process.env.NODE_PATH + "/x.js");
const rpc = require("vscode-jsonrpc/node");
const [runtime, root, dataDir] = process.argv.slice(2);

class LineReader extends rpc.AbstractMessageReader {
  constructor(stream) {
    super();
    this.lines = readline.createInterface({ input: stream, crlfDelay: Infinity });
    this.lines.on("close", () => this.fireClose());
  }
  listen(callback) {
    this.lines.on("line", (line) => callback(JSON.parse(line)));
    return { dispose: () => this.lines.close() };
  }
}

class LineWriter extends rpc.AbstractMessageWriter {
  constructor(stream) {
    super();
    this.stream = stream;
  }
  write(message) {
    return new Promise((resolve) => this.stream.write(JSON.stringify(message) + "\n", resolve));
  }
  end() {}
}

const child = spawn(runtime, [], { stdio: ["pipe", "pipe", "pipe"] });
let stderr = "";
child.stderr.on("data", (chunk) => (stderr += chunk));
const exited = new Promise((resolve) => child.on("exit", (code, signal) => resolve({ code, signal })));
const connection = rpc.createMessageConnection(new LineReader(child.stdout), new LineWriter(child.stdin));

const phases = [];
const waiting = [];
connection.onNotification("workspace/progress", (event) => {
  phases.push(event.phase);
  for (const wait of waiting.splice(0)) wait.phase === event.phase ? wait.resolve(event) : waiting.push(wait);
});
const phase = (name) => new Promise((resolve) => waiting.push({ phase: name, resolve }));
connection.listen();

const seen = {};
seen.initialize = await connection.sendRequest("initialize", {
  protocolVersion: 1,
  clientInfo: { name: "story", version: "1" },
  dataDir,
});
const ready = phase("ready");
seen.open = (await connection.sendRequest("workspace/open", { root })).stats;
seen.ready = await ready;
seen.inspect = (await connection.sendRequest("context/inspect")).stats;

const ask = (query) => connection.sendRequest("context/retrieve", { query, budgetTokens: 4000 });
seen.first = (await ask("how does the session middleware save the session")).retrieval.snippets.map((s) => s.path);
for (const level of ["file", "module"]) {
  const graph = await connection.sendRequest("graph/project", { level });
  seen[level] = { nodes: graph.nodes.length, edges: graph.edges.length, stats: graph.stats };
}
seen.dependencies = await connection.sendRequest("graph/file", { path: "django/contrib/sessions/middleware.py" });

const file = path.join(root, "django/contrib/sessions/middleware.py");
appendFileSync(file, "\n\ndef quokka_counter(visits):\n    return visits + 1\n");
const updated = phase("updated");
connection.sendNotification("workspace/filesChanged", { paths: [file] });
await updated;
seen.second = (await ask("quokka_counter")).retrieval.snippets.slice(0, 1);

const source = new rpc.CancellationTokenSource();
const cancelled = connection.sendRequest("workspace/refresh", source.token);
source.cancel();
seen.cancelled = await cancelled.then(() => "finished", (error) => ({ code: error.code, data: error.data }));

seen.shutdown = await connection.sendRequest("shutdown");
seen.rejected = await connection.sendRequest("context/inspect").then(() => null, (error) => error.code);
connection.sendNotification("exit");
seen.exit = await exited;
seen.phases = [...new Set(phases)];
seen.stderr = stderr;
console.log(JSON.stringify(seen));
process.exit(0);
