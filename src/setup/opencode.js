// Written by `codeskim setup opencode --hook`, and taken out by `codeskim setup opencode --remove`.
// What read, grep and bash return comes pruned to what the agent just said; whatever goes wrong, it comes as it is.

import { spawn } from "node:child_process"

const COMMAND = []
const TOOLS = ["read", "grep", "bash"]
const LARGE = 0 // lines
const MESSAGES = 100
const PATIENCE = 1000 // milliseconds

function ask(event) {
  return new Promise((resolve) => {
    const child = spawn(COMMAND[0], COMMAND.slice(1), { stdio: ["pipe", "pipe", "ignore"], timeout: PATIENCE })
    let said = ""
    child.stdout.setEncoding("utf8").on("data", (text) => (said += text))
    child.stdin.on("error", () => {})
    child.on("error", () => resolve({}))
    child.on("close", () => {
      try {
        resolve(JSON.parse(said))
      } catch {
        resolve({})
      }
    })
    child.stdin.end(JSON.stringify(event))
  })
}

const part = ({ type, text, tool, callID, state }) => ({ type, text, tool, callID, input: state?.input })

// Sessions in which something came pruned: what is read there again is told, however short it is by then.
const pruned = new Set()

export const Codeskim = async ({ client, directory }) => ({
  "tool.execute.before": async ({ tool, sessionID }, { args }) => {
    if (tool !== "write") return
    const event = { hook_event_name: "tool.execute.before", session_id: sessionID, cwd: directory, tool_name: tool, tool_input: args }
    const { deny } = await ask(event)
    if (deny) throw new Error(deny)
  },
  "tool.execute.after": async ({ tool, sessionID, callID, args }, result) => {
    const text = result.output
    if (!TOOLS.includes(tool) || typeof text !== "string") return
    const isShort = text.split("\n", LARGE).length < LARGE
    if (isShort && !(tool === "read" && pruned.has(sessionID))) return
    if (tool !== "grep" && result.metadata?.truncated) return
    const { data } = await client.session.messages({ path: { id: sessionID } }).catch(() => ({}))
    if (!data) return
    const messages = data.slice(-MESSAGES).map(({ info, parts }) => ({ role: info.role, parts: parts.map(part) }))
    const event = { hook_event_name: "tool.execute.after", session_id: sessionID, cwd: directory, tool_name: tool, tool_input: args }
    const { output } = await ask({ ...event, tool_response: text, tool_use_id: callID, messages })
    if (!output) return
    pruned.add(sessionID)
    result.output = output
  },
})
