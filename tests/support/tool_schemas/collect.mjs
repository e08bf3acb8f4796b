// Writes the input schemas of the tools of MCP servers to mcp.json: node collect.mjs [NAME ...]
//
// Each server of servers.json is installed into a folder of its own, started over stdio with invented
// credentials, and asked for its list of tools only (Model Context Protocol, "tools/list"). Descriptions are left
// out. A server without a version there is installed in its newest one, which is then written down.
import { execFileSync, spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const INSTALL_MS = 120_000;
const ANSWER_MS = 20_000;
const read = (name) => JSON.parse(readFileSync(join(here, name), "utf8"));
const write = (name, value) => writeFileSync(join(here, name), JSON.stringify(value, null, 1) + "\n");

function plain(value) {
  if (Array.isArray(value)) return value.map(plain);
  if (value === null || typeof value !== "object") return value;
  const kept = Object.entries(value).filter(([key, part]) => !(key === "description" && typeof part === "string"));
  return Object.fromEntries(kept.map(([key, part]) => [key, plain(part)]));
}

function program(folder, name, version) {
  const options = ["--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error", "--prefix", folder];
  execFileSync("npm", ["install", ...options, version ? `${name}@${version}` : name], { timeout: INSTALL_MS });
  const installed = join(folder, "node_modules", name);
  const { bin, version: found } = JSON.parse(readFileSync(join(installed, "package.json"), "utf8"));
  return [join(installed, typeof bin === "string" ? bin : Object.values(bin)[0]), found];
}

function listed(path, args, env) {
  const server = spawn(process.execPath, [path, ...args], { env, stdio: ["pipe", "pipe", "ignore"] });
  return new Promise((resolve, reject) => {
    const tools = {};
    const send = (message) => server.stdin.write(JSON.stringify({ jsonrpc: "2.0", ...message }) + "\n");
    setTimeout(() => reject(new Error("did not answer in time")), ANSWER_MS).unref();
    server.on("exit", () => reject(new Error("ended")));
    server.stdin.on("error", () => {});
    let rest = "";
    server.stdout.on("data", (data) => {
      const lines = (rest + data).split("\n");
      rest = lines.pop();
      for (const line of lines.filter((text) => text.startsWith("{"))) {
        const { id, result, error } = JSON.parse(line);
        if (error) return reject(new Error(error.message));
        if (id === 1) {
          send({ method: "notifications/initialized" });
          send({ id: 2, method: "tools/list" });
        } else if (id >= 2 && result) {
          for (const tool of result.tools) tools[tool.name] = plain(tool.inputSchema);
          if (!result.nextCursor) return resolve(tools);
          send({ id: id + 1, method: "tools/list", params: { cursor: result.nextCursor } });
        }
      }
    });
    const clientInfo = { name: "collect", version: "1" };
    send({ id: 1, method: "initialize", params: { protocolVersion: "2025-06-18", capabilities: {}, clientInfo } });
  }).finally(() => server.kill("SIGKILL"));
}

const config = read("servers.json");
let found = {};
try { found = read("mcp.json"); } catch { /* the first time */ }
const names = process.argv.length > 2 ? process.argv.slice(2) : Object.keys(config.servers);
for (const name of names) {
  const folder = mkdtempSync(join(tmpdir(), "mcp-"));
  const env = { PATH: process.env.PATH, HOME: folder, NO_COLOR: "1" };
  for (const key of config.keys) env[key] = "invented";
  try {
    const { version, arguments: args } = config.servers[name];
    const [path, installed] = program(folder, name, version);
    found[name] = await listed(path, args, env);
    config.servers[name].version = installed;
    console.error("ok", name, Object.keys(found[name]).length);
    write("mcp.json", found);
    write("servers.json", config);
  } catch (error) {
    console.error("left out", name, error.message.split("\n")[0]);
  } finally {
    rmSync(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 });
  }
}
process.exit(0);
